/* npz against numpy where Python has it, and archives that are wrong. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "base/machine/file.h"
#include "tests/fuzz/fuzz_load.h"
#include "number/mpfr_record.h"
#include "npy_file.h"
#include "tests/support/test.h"

static void add_tensor(struct ulp_tensor_set *set, const char *name, enum ulp_type type,
                       enum ulp_element element, int precision, int rank, const int64_t *dims)
{
    struct ulp_tensor tensor;
    ck_ok(ulp_tensor_create(&tensor, type, element, precision, rank, dims, &why));
    for (size_t i = 0; i < tensor.count; i++) {
        uint64_t bits = ulp_random_bits(set->count, i);
        if (tensor.element == ULP_ELEMENT_F32)
            ((float *)tensor.data)[i] =
                ldexpf((float)(bits % 2048) - 1024, (int)(bits >> 60) - 8); /* FP16 has them all */
        else if (tensor.element == ULP_ELEMENT_F64)
            ((double *)tensor.data)[i] = ldexp((double)(int64_t)bits, -40);
        else if (tensor.element == ULP_ELEMENT_WIDE) {
            struct ulp_record *record = ulp_record_at(tensor.data, i, precision);
            mpfr_t x;
            ulp_record_begin(x, record, precision);
            mpfr_set_ui(x, 2 + (unsigned)i, MPFR_RNDN);
            mpfr_sqrt(x, x, MPFR_RNDN);
            ulp_record_close(record, x);
        } else
            ulp_tensor_set_int(&tensor, i, (int64_t)bits);
    }
    ck_ok(ulp_tensor_set_add(set, name, &tensor, &why));
    ck_assert_ptr_null(tensor.data);
}

static struct ulp_tensor_set every_type(void)
{
    static const int64_t dims[4] = {2, 1, 3, 4}, none[2] = {0, 5};
    struct ulp_tensor_set set = {0};
    for (size_t i = 0; i < (size_t)dtype_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "a/%c%d:0", dtypes[i].kind, dtypes[i].bytes);
        add_tensor(&set, name, dtypes[i].type, ULP_ELEMENT_COUNT, 0, 4, dims);
    }
    add_tensor(&set, "scalar", ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 0, dims);
    add_tensor(&set, "vector", ULP_TYPE_INT64, ULP_ELEMENT_COUNT, 0, 1, dims);
    add_tensor(&set, "empty", ULP_TYPE_FLOAT16, ULP_ELEMENT_COUNT, 0, 2, none);
    add_tensor(&set, "int4", ULP_TYPE_INT4, ULP_ELEMENT_COUNT, 0, 4, dims);
    add_tensor(&set, "bf16", ULP_TYPE_BFLOAT16, ULP_ELEMENT_COUNT, 0, 4, dims);
    add_tensor(&set, "wide", ULP_TYPE_FLOAT, ULP_ELEMENT_WIDE, 128, 4, dims);
    add_tensor(&set, "half in a wider lane", ULP_TYPE_FLOAT16, ULP_ELEMENT_COUNT, 0, 4, dims);
    ((float *)set.items[set.count - 1].tensor.data)[5] = 0.1f;
    add_tensor(&set, "half specials", ULP_TYPE_FLOAT16, ULP_ELEMENT_COUNT, 0, 4, dims);
    float *x = set.items[set.count - 1].tensor.data;
    x[0] = NAN;
    x[1] = -INFINITY;
    x[2] = -0.0f;
    x[3] = 0x1p-24f;
    return set;
}

static enum ulp_type written_type(const struct ulp_tensor *tensor, const char *name)
{
    if (tensor->element == ULP_ELEMENT_WIDE)
        return ULP_TYPE_DOUBLE;
    if (tensor->type == ULP_TYPE_BFLOAT16 || strcmp(name, "half in a wider lane") == 0)
        return ULP_TYPE_FLOAT;
    return tensor->type == ULP_TYPE_INT4 ? ULP_TYPE_INT8 : tensor->type;
}

static void check_equal_sets(const struct ulp_tensor_set *read, const struct ulp_tensor_set *set)
{
    ck_assert_uint_eq(read->count, set->count);
    for (size_t t = 0; t < set->count; t++) {
        const struct ulp_tensor *a = &set->items[t].tensor,
                                *b = ulp_tensor_set_find(read, set->items[t].name);
        ck_assert_msg(b && ulp_tensor_same_shape(a, b) &&
                          b->type == written_type(a, set->items[t].name),
                      "%s", set->items[t].name);
        ck_assert_str_eq(read->items[t].name, set->items[t].name);
        for (size_t i = 0; i < a->count; i++) {
            double x = ulp_tensor_get(a, i), y = ulp_tensor_get(b, i);
            ck_assert_msg((isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y)),
                          "%s[%zu]: %a, expected %a", set->items[t].name, i, y, x);
            if (!ulp_element_is_float(a->element))
                ck_assert_int_eq(ulp_tensor_get_int(a, i), ulp_tensor_get_int(b, i));
        }
    }
}

TEST(npz_comes_back)
{
    struct ulp_tensor_set set = every_type(), read;
    unsigned char *first, *second;
    size_t first_count, second_count;
    const char *path = test_folder("a.npz");
    ck_ok(ulp_tensor_set_write_npz(path, &set, &why));
    ck_ok(ulp_tensor_set_read(path, NULL, &read, &why));
    check_equal_sets(&read, &set);
    ulp_tensor_set_free(&read);
    ck_ok(ulp_file_read(path, 1 << 20, NULL, &first, &first_count, &why));
    /* over the old one, and the same bytes */
    ck_ok(ulp_tensor_set_write_npz(path, &set, &why));
    ck_ok(ulp_file_read(path, 1 << 20, NULL, &second, &second_count, &why));
    ck_assert_uint_eq(first_count, second_count);
    ck_assert_mem_eq(first, second, first_count);
    ulp_free(first);
    ulp_free(second);
    struct ulp_tensor_set none = {0};
    ck_ok(ulp_tensor_set_write_npz(path, &none, &why));
    ck_ok(ulp_tensor_set_read(path, NULL, &read, &why));
    ck_assert_uint_eq(read.count, 0);
    ck_fails(ULP_ERROR_INPUT, "no/such/a.npz",
             ulp_tensor_set_write_npz(test_folder("no/such/a.npz"), &set, &why));
    ulp_tensor_set_free(&set);
}

/* What is not whole has no name, which a killed process would leave. */
TEST(nothing_stands_beside_an_npz)
{
    scoped_tensor_set set = every_type();
    char events[4096] __attribute__((aligned(8)));
    const int probe = open(test_folder(""), O_TMPFILE | O_RDWR, 0600), watch = inotify_init();
    if (probe >= 0 && watch >= 0 &&
        inotify_add_watch(watch, test_folder(""), IN_CREATE | IN_MOVED_TO) >= 0) {
        ck_ok(ulp_tensor_set_write_npz(test_folder("a.npz"), &set, &why));
        const ssize_t count = read(watch, events, sizeof events);
        const struct inotify_event *event = (const void *)events;
        ck_assert_str_eq(event->name, "a.npz");
        ck_assert_int_eq(count, (ssize_t)(sizeof *event + event->len));
    }
    close(probe);
    close(watch);
}

/* More members than 16 bits count; libzip and Python read them. */
TEST(many_arrays_come_back)
{
    enum { MANY = 70000 };
    const int64_t dims[] = {3};
    scoped_tensor_set set = {0}, read = {0};
    char command[1024];
    for (size_t i = 0; i < MANY; i++) {
        char name[20];
        snprintf(name, sizeof name, "x%zu", i);
        add_tensor(&set, name, ULP_TYPE_INT64, ULP_ELEMENT_I64, 0, 1, dims);
        ((int64_t *)set.items[i].tensor.data)[2] = (int64_t)i;
    }
    const char *path = test_folder("many.npz");
    ck_ok(ulp_tensor_set_write_npz(path, &set, &why));
    ck_ok(ulp_tensor_set_read(path, NULL, &read, &why));
    ck_assert_uint_eq(read.count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        ck_expect(strcmp(read.items[i].name, set.items[i].name) == 0 &&
                      ulp_tensor_get_int(&read.items[i].tensor, 2) == (int64_t)i,
                  "%s", set.items[i].name);
    }
    snprintf(command, sizeof command,
             "if python3 -c 'import zipfile' 2>/dev/null; then python3 -c 'import sys, zipfile; "
             "sys.exit(len(zipfile.ZipFile(sys.argv[1]).namelist()) != %d)' '%s'; fi",
             MANY, path);
    ck_assert_int_eq(system(command), 0);
}

/* A pipe cannot be sought. */
TEST(npz_goes_through_a_pipe)
{
    scoped_tensor_set set = every_type(), read = {0};
    char command[1024];
    const char *pipe = test_folder("pipe"), *path = test_folder("a.npz");
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    snprintf(command, sizeof command, "cat '%s' >'%s'", pipe, path);
    FILE *reader = popen(command, "r");
    const int held = open(pipe, O_WRONLY); /* once cat has opened it */
    ck_ok(ulp_tensor_set_write_npz(pipe, &set, &why));
    close(held);
    ck_assert_int_eq(pclose(reader), 0);
    ck_ok(ulp_tensor_set_read(path, NULL, &read, &why));
    check_equal_sets(&read, &set);
}

TEST(names_in_an_npz_differ)
{
    const int64_t dims[] = {3};
    scoped_tensor_set set = {0};
    const char *path = test_folder("a.npz");
    for (int i = 0; i < 2; i++)
        add_tensor(&set, "x", ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 1, dims);
    ck_fails(ULP_ERROR_INPUT, "'x': a second array of this name",
             ulp_tensor_set_write_npz(path, &set, &why));
    ck_assert_int_ne(access(path, F_OK), 0);
}

/* numpy reads what was written, and what it writes compressed comes back. */
TEST(numpy_agrees)
{
    if (system("python3 -c 'import numpy' 2>/dev/null") != 0)
        return;
    scoped_tensor_set set = every_type(), read = {0};
    char command[1024];
    const char *written = test_folder("a.npz"), *copied = test_folder("b.npz");
    ck_ok(ulp_tensor_set_write_npz(written, &set, &why));
    snprintf(command, sizeof command,
             "python3 -c \"import numpy; a = numpy.load('%s', allow_pickle=False); "
             "numpy.savez_compressed('%s', **{k: numpy.asfortranarray(a[k]) if a[k].ndim else a[k] "
             "for k in a})\"",
             written, copied);
    ck_assert_int_eq(system(command), 0);
    ck_ok(ulp_tensor_set_read(copied, NULL, &read, &why));
    check_equal_sets(&read, &set);
}

/* A zip of one member. */
static void write_zip(const char *path, const char *member, const void *bytes, size_t count,
                      int method)
{
    int code;
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    ck_assert_ptr_nonnull(zip);
    zip_source_t *source = zip_source_buffer(zip, bytes, count, 0);
    zip_int64_t index = zip_file_add(zip, member, source, 0);
    ck_assert_int_eq(index, 0);
    ck_assert_int_eq(zip_set_file_compression(zip, 0, method, 0), 0);
    ck_assert_int_eq(zip_close(zip), 0);
}

static void expect_bad_npz(const char *path, const char *text)
{
    struct ulp_tensor_set read;
    struct ulp_error error = {0};
    enum ulp_status status = ulp_tensor_set_read(path, NULL, &read, &error);
    ck_assert_msg((status == ULP_ERROR_INPUT || status == ULP_ERROR_UNSUPPORTED) &&
                      strstr(error.message, text) && strstr(error.message, path),
                  "%d %s", status, error.message);
    ck_assert_uint_eq(read.count, 0);
}

/* Replace the 4 little-endian bytes of `from` everywhere by `to`: sizes and CRCs in both of zip's
 * records. */
static void patch(const char *path, uint32_t from, uint32_t to)
{
    unsigned char *bytes;
    size_t count;
    int found = 0;
    const unsigned char old[4] = {(unsigned char)from, (unsigned char)(from >> 8),
                                  (unsigned char)(from >> 16), (unsigned char)(from >> 24)},
                        new[4] = {(unsigned char)to, (unsigned char)(to >> 8),
                                  (unsigned char)(to >> 16), (unsigned char)(to >> 24)};
    ck_ok(ulp_file_read(path, 1 << 24, NULL, &bytes, &count, &why));
    for (size_t i = 0; i + 4 <= count; i++)
        if (memcmp(bytes + i, old, 4) == 0) {
            memcpy(bytes + i, new, 4);
            found++;
        }
    ck_assert_int_ge(found, 1);
    ck_ok(ulp_file_write(path, bytes, count, &why));
    ulp_free(bytes);
}

TEST(bad_archives_are_explained)
{
    const char *path = test_folder("bad.npz");
    static unsigned char elements[12000] = {0, 0, 0x80, 0x3f}; /* floats: 1, 0, 0, ... */
    expect_bad_npz(test_folder("missing.npz"), "No such file");
    ck_ok(ulp_file_write(path, "not a zip", 9, &why));
    expect_bad_npz(path, "expected an .npz");
    write_zip(path, "x.txt", "abc", 3, ZIP_CM_STORE);
    expect_bad_npz(path, "member 'x.txt' is not an .npy file");
    write_zip(path, "x.npy", "abc", 3, ZIP_CM_STORE);
    expect_bad_npz(path, "member 'x.npy': not a numpy array");
    scoped_proto file = npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3000,)}",
                            elements, sizeof elements);
    write_zip(path, "x.npy", file.data, file.count, ZIP_CM_DEFLATE);
    patch(path, (uint32_t)file.count, 0x7fffffff);
    expect_bad_npz(path, "2147483647 bytes are declared, more than the file can hold");
    write_zip(path, "x.npy", file.data, file.count, ZIP_CM_DEFLATE);
    patch(path, (uint32_t)file.count, (uint32_t)file.count + 400);
    expect_bad_npz(path, "member 'x.npy': ");
    write_zip(path, "x.npy", file.data, file.count, ZIP_CM_STORE);
    patch(path, 0x3f800000, 0x40000000); /* an element: the CRC must tell */
    expect_bad_npz(path, "member 'x.npy': ");
}

/* An archive whose directory names one compressed megabyte 40 times: each member is honest, their
 * sum is not. */
TEST(overlapping_members_are_refused)
{
    const char *path = test_folder("overlap.npz");
    static float elements[1 << 18];
    scoped_proto file = npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (262144,)}",
                            elements, sizeof elements);
    scoped_proto archive = {0};
    unsigned char *bytes;
    size_t count;
    write_zip(path, "x00.npy", file.data, file.count, ZIP_CM_DEFLATE);
    ck_ok(ulp_file_read(path, 1 << 20, NULL, &bytes, &count, &why));
    /* the end record: 22 bytes without a comment */
    ck_assert_mem_eq(bytes + count - 22, "PK\5\6", 4);
    size_t directory =
        (size_t)bytes[count - 6] | (size_t)bytes[count - 5] << 8 | (size_t)bytes[count - 4] << 16;
    proto_raw(&archive, bytes, directory);
    for (int i = 0; i < 40; i++) {
        /* the name follows 46 bytes of directory entry */
        bytes[directory + 46 + 1] = (unsigned char)('0' + i / 10);
        bytes[directory + 46 + 2] = (unsigned char)('0' + i % 10);
        proto_raw(&archive, bytes + directory, count - 22 - directory);
    }
    size_t directory_bytes = archive.count - directory;
    bytes[count - 14] = bytes[count - 12] = 40;
    bytes[count - 10] = (unsigned char)directory_bytes;
    bytes[count - 9] = (unsigned char)(directory_bytes >> 8);
    proto_raw(&archive, bytes + count - 22, 22);
    ck_ok(ulp_file_write(path, archive.data, archive.count, &why));
    expect_bad_npz(path, "bytes are declared, more than the file can hold");
    ulp_free(bytes);
}

TEST(damaged_npz)
{
    const char *path = test_folder("damaged.npz");
    struct ulp_tensor_set set = every_type(), read;
    struct ulp_error error;
    unsigned char *bytes;
    size_t count, damaged_count;
    ck_ok(ulp_tensor_set_write_npz(path, &set, &why));
    ck_ok(ulp_file_read(path, 1 << 20, NULL, &bytes, &count, &why));
    for (uint64_t seed = 0; seed < test_count(300, 5000); seed++) {
        SCOPED_MEMORY uint8_t *damaged = fuzz_mutate(bytes, count, 2 * seed, &damaged_count);
        ck_ok(ulp_file_write(path, damaged, damaged_count, &why));
        enum ulp_status status = ulp_tensor_set_read(path, NULL, &read, &error);
        ck_assert(status == ULP_OK || status == ULP_ERROR_INPUT || status == ULP_ERROR_UNSUPPORTED);
        ulp_tensor_set_free(&read);
    }
    ulp_free(bytes);
    ulp_tensor_set_free(&set);
}

TEST_MAIN("data", 60)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
}
