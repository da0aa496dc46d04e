/* Results into a folder, as JSON and as a page: what is written is whole, and where it cannot be
 * written the files are those that were there. */
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

#include "tests/support/text_model.h"

static const struct text_graph product = {"x", "y", "[y] y = MatMul(x, w)"};

/* NULL: there is none. */
static char *read_file(const char *name)
{
    FILE *file = fopen(test_folder(name), "rb");
    char *text = NULL;
    if (!file)
        return NULL;
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    text = calloc(size + 1, 1);
    ck_assert(text && fread(text, 1, size, file) == size);
    fclose(file);
    return text;
}

/* So many files lie in that folder, and nothing else. */
static void expect_files(const char *folder, int expected)
{
    DIR *list = opendir(test_folder(folder));
    int count = 0;
    ck_assert_ptr_nonnull(list);
    for (const struct dirent *entry; (entry = readdir(list));)
        count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(list);
    ck_assert_int_eq(count, expected);
}

static void fill_disk(bool full)
{
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){full ? 100 : RLIM_INFINITY, RLIM_INFINITY});
}

static void expect_same(const char *name, const char *expected)
{
    SCOPED_MEMORY char *text = read_file(name);
    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, expected);
}

typedef enum ulp_status write_result(const void *of, enum ulp_output_kind as, const char *path,
                                     struct ulp_error *error);
#define WRITES(name, function)                                                             \
    static enum ulp_status name(const void *of, enum ulp_output_kind as, const char *path, \
                                struct ulp_error *error)                                   \
    {                                                                                      \
        return function(of, as, path, error);                                              \
    }
WRITES(write_fix, ulp_fix_write)
WRITES(write_scales, ulp_scales_write)
WRITES(write_proof, ulp_proof_write)

/* Where a file can not be, and where the disk is full after some bytes. */
static void expect_refused(write_result *write, const void *of, enum ulp_output_kind as,
                           const char *path, const char *full)
{
    struct ulp_error error;
    ck_fails(ULP_ERROR_INPUT, test_folder(""), write(of, as, test_folder(path), &why));
    fill_disk(true);
    ck_assert_int_eq(write(of, as, test_folder(full), &error), ULP_ERROR_INPUT);
    fill_disk(false);
    ck_assert_msg(strstr(error.message, "cannot write"), "%s", error.message);
}

/* `own`: the name of its file in a folder. */
static void expect_written(write_result *write, const void *of, const char *own)
{
    char name[40];
    snprintf(name, sizeof name, "out/%s", own);
    ck_ok(write(of, ULP_OUTPUT_FOLDER, test_folder("out"), &why));
    ck_ok(write(of, ULP_OUTPUT_JSON, test_folder("out/alone"), &why));
    ck_ok(write(of, ULP_OUTPUT_HTML, test_folder("out/page"), &why));
    expect_files("out", 3);
    SCOPED_MEMORY char *inside = read_file(name), *page = read_file("out/page");
    ck_assert(inside && strncmp(inside, "{\n \"schema\": ", 13) == 0);
    ck_assert(strlen(inside) > 200 && strcmp(inside + strlen(inside) - 2, "}\n") == 0);
    expect_same("out/alone", inside);
    ck_assert(page && strncmp(page, "<!DOCTYPE html>", 15) == 0);
    ck_assert_str_eq(page + strlen(page) - 8, "</html>\n");
    expect_refused(write, of, ULP_OUTPUT_FOLDER, "out/page/below", "out");
    expect_refused(write, of, ULP_OUTPUT_JSON, "none/alone", "out/new");
    expect_refused(write, of, ULP_OUTPUT_HTML, "none/page", "out/page");
    expect_files("out", 3);
    expect_same(name, inside);
    expect_same("out/page", page);
}

struct given {
    struct ulp_model *model;
    struct ulp_tensor_set inputs;
    struct ulp_arithmetic reference, fp16, scaled;
};

static struct given open_model(void)
{
    struct given given = {.model = text_load(&product),
                          .reference = test_arithmetic("mpfr:128"),
                          .fp16 = test_arithmetic("fp16"),
                          .scaled = test_arithmetic("bf16,factor=fp8-tensor")};
    given.inputs = text_inputs(given.model, 5, 0, true);
    return given;
}

static void close_model(struct given *given)
{
    ulp_tensor_set_free(&given->inputs);
    ulp_model_free(given->model);
}

TEST(a_fix)
{
    static const char *const tolerances[] = {"sqnr_db=60"};
    struct given given = open_model();
    const struct ulp_sample sample = {.name = "0", .inputs = &given.inputs};
    const struct ulp_fix_options options = {.path = test_folder("fixed.onnx"),
                                            .arithmetic = "fp16",
                                            .reference = given.reference,
                                            .tolerances = tolerances,
                                            .tolerance_count = 1,
                                            .best = true,
                                            .thread_count = 1};
    struct ulp_fix fix;
    ck_ok(ulp_fix_run(given.model, &options, &sample, 1, &fix, &why));
    expect_written(write_fix, &fix, "fix.json");
    ck_assert_msg(strstr(fix.reason, "was loaded from bytes"), "%s", fix.reason);
    ulp_fix_free(&fix);
    /* a target that lowers every model itself needs no types, so that nothing is lacking */
    const struct ulp_fix_options lowered = {.path = test_folder("lowered.onnx"),
                                            .target = "qnn",
                                            .reference = given.reference,
                                            .thread_count = 1};
    ck_ok(ulp_fix_run(given.model, &lowered, &sample, 1, &fix, &why));
    ck_assert(fix.met && fix.lowered && !fix.path);
    ck_assert_msg(!fix.reason, "%s", fix.reason);
    ulp_fix_free(&fix);
    close_model(&given);
}

TEST(some_scales)
{
    struct given given = open_model();
    const struct ulp_scales_options options = {.arithmetic = given.scaled, .thread_count = 1};
    struct ulp_scales scales;
    ck_ok(ulp_scales_run(given.model, &given.inputs, &options, &scales, &why));
    expect_written(write_scales, &scales, "scales.json");
    ulp_scales_free(&scales);
    close_model(&given);
}

TEST(a_proof)
{
    struct given given = open_model();
    const struct ulp_program_options options = {.inputs = &given.inputs};
    const struct ulp_input_range range = {NULL, -1, 1};
    const struct ulp_prove_box box = {.ranges = &range, .range_count = 1};
    struct ulp_program *program;
    struct ulp_proof proof;
    ck_ok(ulp_program_create(given.model, &given.fp16, 1, &options, &program, &why));
    ck_ok(ulp_proof_run(given.model, program, &box, 1, &proof, &why));
    expect_written(write_proof, &proof, "proof.json");
    ulp_proof_free(&proof);
    ulp_program_free(program);
    close_model(&given);
}

TEST_MAIN("written", 60)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
}
