/* What fuzzing found, and what reaches furthest into each parser, read again: every file in
 * tests/fuzz/corpus/NAME.zip by fuzz_NAME. */
#include <zip.h>

#include "tests/fuzz/fuzz.h"
#include "tests/support/test.h"

static void read_again(const struct fuzz_target *target, zip_t *archive, zip_uint64_t index)
{
    zip_stat_t info;
    ck_assert_int_eq(zip_stat_index(archive, index, 0, &info), 0);
    unsigned char *bytes =
        malloc(info.size + !info.size); /* exact: what is read behind it is seen */
    zip_file_t *file = zip_fopen_index(archive, index, 0);
    ck_assert(bytes && file);
    ck_assert_int_eq(zip_fread(file, bytes, info.size), (zip_int64_t)info.size);
    ck_assert_int_eq(zip_fclose(file), 0);
    const char *wrong = target->run(bytes, info.size);
    ck_expect(!wrong, "%s/%s: %s", target->name, info.name, wrong);
    free(bytes);
}

static int count_targets(void)
{
    int count = 0;
    while (fuzz_target((size_t)count))
        count++;
    return count;
}

TEST_LOOP(test_corpus, 0, count_targets())
{
    const struct fuzz_target *target = fuzz_target((size_t)_i);
    char path[4096];
    int code;
    snprintf(path, sizeof path, "%s/%s.zip", test_source("tests/fuzz/corpus"), target->name);
    zip_t *archive = zip_open(path, ZIP_RDONLY, &code);
    ck_assert_msg(archive, "%s: a target without a corpus", path);
    const zip_int64_t count = zip_get_num_entries(archive, 0);
    ck_assert_msg(count > 0, "%s: an empty corpus", path);
    for (zip_int64_t i = 0; i < count; i++)
        read_again(target, archive, (zip_uint64_t)i);
    zip_discard(archive);
}

/* The tests of the functions themselves: what they exist to find, they see. */
TEST(test_failures_are_judged)
{
    struct ulp_error error = {.status = ULP_ERROR_INPUT, .message = "x.npz: is no archive"};
    ck_assert_ptr_null(fuzz_failure(ULP_ERROR_INPUT, FUZZ_FILE, &error));
    ck_assert_ptr_nonnull(fuzz_failure(ULP_ERROR_USAGE, FUZZ_FILE, &error));
    ck_assert_ptr_nonnull(fuzz_failure(ULP_ERROR_INPUT, FUZZ_ALLOW(ULP_ERROR_USAGE), &error));
    error.message[1] = '\n';
    ck_assert_ptr_nonnull(fuzz_failure(ULP_ERROR_INPUT, FUZZ_FILE, &error));
    error.message[1] = (char)0xff;
    ck_assert_ptr_nonnull(fuzz_failure(ULP_ERROR_INPUT, FUZZ_FILE, &error));
    error.message[0] = 0;
    ck_assert_ptr_nonnull(fuzz_failure(ULP_ERROR_INPUT, FUZZ_FILE, &error));
}

TEST_SUITE("corpus", 60)
