/* Options as callers of other versions hand them in: shorter and longer structs, and what begins
 * with no size. */
#include "base/options.h"
#include "tests/support/test.h"

struct later {
    size_t size;
    int first, second;
    double third;
};

TEST(sizes)
{
    static const struct {
        size_t size, first;
        int wanted[3];
    } cases[] = {{sizeof(struct later), sizeof(struct later), {1, 2, 3}},
                 {offsetof(struct later, third), sizeof(struct later), {1, 2, 0}},
                 {offsetof(struct later, second), sizeof(struct later), {1, 0, 0}},
                 {sizeof(size_t), sizeof(struct later), {0, 0, 0}},
                 {0, sizeof(struct later), {1, 2, 3}},           /* nothing was added since */
                 {0, offsetof(struct later, third), {1, 2, 0}}}; /* `third` was */
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct later given = {cases[c].size, 1, 2, 3};
        struct later taken;
        /* no byte behind the caller's struct is there to be read */
        const size_t bytes = cases[c].size ? cases[c].size : cases[c].first;
        SCOPED_MEMORY void *exact = malloc(bytes);
        memcpy(exact, &given, bytes);
        ck_ok(ulp_options_read(&taken, sizeof taken, cases[c].first, exact, &why));
        ck_assert_uint_eq(taken.size, sizeof taken);
        ck_assert_int_eq(taken.first, cases[c].wanted[0]);
        ck_assert_int_eq(taken.second, cases[c].wanted[1]);
        ck_assert(taken.third == cases[c].wanted[2]);
    }
}

TEST(unknown_members)
{
    struct {
        struct later known;
        size_t unknown[2];
    } given = {{sizeof given, 1, 2, 3}, {0, 0}};
    struct later taken;
    struct ulp_error error;
    ck_ok(ulp_options_read(&taken, sizeof taken, sizeof taken, &given, &why));
    ck_assert(taken.third == 3);
    given.unknown[1] = 1;
    ck_fails(ULP_ERROR_USAGE, "of a later version",
             ulp_options_read(&taken, sizeof taken, sizeof taken, &given, &why));
    for (given.known.size = 1; given.known.size < sizeof(size_t); given.known.size++)
        ck_assert_int_eq(ulp_options_read(&taken, sizeof taken, sizeof taken, &given, &error),
                         ULP_ERROR_USAGE);
    ck_ok(ulp_options_read(&taken, sizeof taken, sizeof taken, NULL, &why));
    ck_assert(taken.first == 0 && taken.third == 0);
}

/* Every function that takes options refuses a member that it does not know before it looks at
 * anything else. */
TEST(every_function)
{
    struct ulp_error error;
#define REFUSES(type, call)                                                                 \
    {                                                                                       \
        struct {                                                                            \
            struct type known;                                                              \
            size_t unknown;                                                                 \
        } longer = {{.size = sizeof longer}, 1};                                            \
        const struct type *options = &longer.known;                                         \
        memset(&error, 0, sizeof error);                                                    \
        ck_assert_int_eq(call, ULP_ERROR_USAGE);                                            \
        ck_assert_msg(strstr(error.message, "of a later version") != NULL, "%s: %s", #call, \
                      error.message);                                                       \
        count++;                                                                            \
    }
    size_t count = 0;
    struct ulp_program *program;
    struct ulp_tensor_set set;
    struct ulp_audit audit;
    struct ulp_comparison comparison;
    struct ulp_doctor doctor;
    struct ulp_engine_map map;
    struct ulp_extracted extracted;
    struct ulp_lint_result lint;
    struct ulp_mixed mixed;
    struct ulp_overflow_forecast forecast;
    struct ulp_search search;
    struct ulp_tolerance tolerance;
    REFUSES(ulp_program_options, ulp_program_create(NULL, NULL, 1, options, &program, &error))
    REFUSES(ulp_run_options, ulp_program_run(NULL, NULL, options, NULL, 0, NULL, NULL, &error))
    REFUSES(ulp_random_options, ulp_model_random_inputs(NULL, options, &set, &error))
    REFUSES(ulp_audit_options, ulp_audit_run(NULL, NULL, 1, NULL, options, &audit, &error))
    REFUSES(ulp_compare_options,
            ulp_comparison_run(NULL, NULL, NULL, 1, options, &comparison, &error))
    REFUSES(ulp_doctor_options, ulp_doctor_run(NULL, options, NULL, 1, &doctor, &error))
    REFUSES(ulp_engine_map_options, ulp_engine_map_make(NULL, NULL, options, &map, &error))
    REFUSES(ulp_overflow_options, ulp_overflow_run(NULL, NULL, 2, NULL, options, &forecast, &error))
    REFUSES(ulp_extract_options, ulp_extract(NULL, options, NULL, NULL, &extracted, &error))
    REFUSES(ulp_lint_options, ulp_lint_run(NULL, options, &lint, &error))
    REFUSES(ulp_mixed_options, ulp_mixed_write(NULL, options, NULL, 1, NULL, &mixed, &error))
    REFUSES(ulp_search_options, ulp_search_run(NULL, options, NULL, 1, NULL, 0, &search, &error))
    REFUSES(ulp_tolerance_options, ulp_tolerance_run(NULL, NULL, 1, options, &tolerance, &error))
    ck_assert_uint_eq(count, 13);
}

/* The caller of an earlier version has a shorter struct, behind which anything may lie. */
TEST(an_earlier_caller)
{
    struct ulp_random_options options;
    memset(&options, 0xff, sizeof options);
    options.size = offsetof(struct ulp_random_options, dims);
    options.seed = 3;
    scoped_model *model = NULL;
    scoped_tensor_set inputs = {0}, same = {0};
    ck_ok(ulp_model_load(test_source("examples/digits/model.onnx"), NULL, &model, &why));
    ck_ok(ulp_model_random_inputs(model, &options, &inputs, &why));
    ck_ok(ulp_model_random_inputs(model,
                                  &(struct ulp_random_options){ULP_OPTIONS(ulp_random_options),
                                                               .seed = 3},
                                  &same, &why));
    ck_assert_uint_eq(inputs.items[0].tensor.count, same.items[0].tensor.count);
    ck_assert_mem_eq(inputs.items[0].tensor.data, same.items[0].tensor.data,
                     inputs.items[0].tensor.count * sizeof(float));
}

TEST_SUITE("options", 0)
