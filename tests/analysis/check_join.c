/* Lanes of one sample in several processes. The oracle is the audit of all lanes in one: joined,
 * the parts are its bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/text_model.h"

#define LANES 6
#define PROCESSES 4

static const char *const names[LANES] = {"mpfr:128",         "fp16", "fp32", "bf16",
                                         "fp32,qdq=integer", "e4m3"};
/* An index is picked from what overflows in FP16 (big^2). */
static const struct text_graph graph = {
    "x",
    "y i_order",
    {NODE("MatMul", "product", "x w", "p"), NODE("Softmax", "soft", "p", "s"),
     NODE("Mul", "huge", "big big", "h"), NODE("Mul", "scaled", "s h", "t"),
     NODE("ArgMax", "order", "t", "i_order"), NODE("Sigmoid", "gate", "p", "g"),
     NODE("Mul", "gated", "g t", "y")}};

struct bench {
    struct ulp_model *model;
    struct ulp_tensor_set inputs;
    struct ulp_arithmetic lanes[LANES];
    struct ulp_plan *plan; /* of all lanes */
    struct ulp_auditor *sum;
};

static struct bench open_bench(void)
{
    struct ulp_error error;
    struct bench bench = {.model = text_load(&graph)};
    bench.inputs = text_inputs(bench.model, 1, NAN, true);
    for (size_t l = 0; l < LANES; l++)
        bench.lanes[l] = test_arithmetic(names[l]);
    const struct ulp_plan_options options = {.inputs = &bench.inputs};
    ck_ulp_ok(ulp_plan_create(bench.model, bench.lanes, LANES, &options, &bench.plan, &error),
              error);
    ck_ulp_ok(ulp_auditor_create(bench.plan, &bench.sum, &error), error);
    return bench;
}

static void close_bench(struct bench *bench)
{
    ulp_auditor_free(bench->sum);
    ulp_plan_free(bench->plan);
    ulp_tensor_set_free(&bench->inputs);
    ulp_model_free(bench->model);
}

struct part {
    unsigned char *bytes;
    size_t count;
};

/* The part of an audit of these lanes, with shares; it took `seconds` and `peak` bytes. */
static struct part make_part(const struct bench *bench, const struct ulp_arithmetic *lanes,
                             size_t lane_count, const struct ulp_tensor_set *inputs,
                             const char *sample, double seconds, size_t peak)
{
    struct ulp_error error;
    const struct ulp_plan_options options = {.inputs = inputs};
    const struct ulp_run_options run = {.thread_count = 1, .audit = true},
                                 follow = {.thread_count = 1, .follow = true};
    struct ulp_plan *plan;
    struct ulp_auditor *auditor;
    struct ulp_attributor *attributor;
    struct ulp_audit audit;
    struct part part;
    ck_ulp_ok(ulp_plan_create(bench->model, lanes, lane_count, &options, &plan, &error), error);
    ck_ulp_ok(ulp_auditor_create(plan, &auditor, &error), error);
    ck_ulp_ok(ulp_attributor_create(plan, NULL, 1, &attributor, &error), error);
    ulp_attributor_verify(attributor, 2);
    ck_ulp_ok(ulp_auditor_sample(auditor, sample, &error), error);
    ck_ulp_ok(ulp_attributor_sample(attributor, inputs, &error), error);
    const struct ulp_observer observers[] = {ulp_auditor_observer(auditor),
                                             ulp_attributor_observer(attributor)};
    ck_ulp_ok(ulp_plan_run(plan, inputs, &run, observers, 2, NULL, NULL, &error), error);
    ck_ulp_ok(ulp_attributor_sweep(attributor, &error), error);
    const struct ulp_observer follower = ulp_auditor_follower(auditor);
    if (ulp_auditor_has_diverged(auditor))
        ck_ulp_ok(ulp_plan_run(plan, inputs, &follow, &follower, 1, NULL, NULL, &error), error);
    ck_ulp_ok(ulp_auditor_finish(auditor, &audit, &error), error);
    ck_ulp_ok(ulp_attributor_finish(attributor, &audit, &error), error);
    audit.seconds = seconds;
    audit.peak_bytes = peak;
    ck_ulp_ok(ulp_part_encode(&audit, &part.bytes, &part.count, &error), error);
    ulp_audit_free(&audit);
    ulp_attributor_free(attributor);
    ulp_auditor_free(auditor);
    ulp_plan_free(plan);
    return part;
}

static struct part make_own_part(const struct bench *bench, size_t process, size_t process_count,
                                 const struct ulp_tensor_set *inputs, const char *sample)
{
    struct ulp_arithmetic own[LANES];
    size_t count = 0;
    own[count++] = bench->lanes[0];
    for (size_t l = 1; l < LANES; l++)
        if (ulp_part_owner(bench->lanes, LANES, l, process_count) == process)
            own[count++] = bench->lanes[l];
    return make_part(bench, own, count, inputs, sample, 1.5, 100 + process);
}

START_TEST(owners)
{
    struct ulp_arithmetic lanes[LANES];
    /* fp32 and fp32,qdq=integer are one share: four in all */
    static const size_t expected[PROCESSES + 1][LANES] = {
        {0}, {0, 0, 0, 0, 0, 0}, {0, 0, 1, 0, 1, 1}, {0, 0, 1, 2, 1, 0}, {0, 0, 1, 2, 1, 3}};
    for (size_t l = 0; l < LANES; l++)
        lanes[l] = test_arithmetic(names[l]);
    for (size_t count = 1; count <= PROCESSES; count++)
        for (size_t l = 1; l < LANES; l++)
            ck_assert_uint_eq(ulp_part_owner(lanes, LANES, l, count), expected[count][l]);
    ck_assert_uint_eq(ulp_part_owner_count(lanes, LANES), 4);
    ck_assert_uint_eq(ulp_part_owner_count(lanes, LANES - 2), 3);
    ck_assert_uint_eq(ulp_part_owner_count(lanes, 2), 1);
}
END_TEST

START_TEST(joined_parts_are_one_process_part)
{
    struct ulp_error error;
    struct bench bench = open_bench();
    for (size_t count = 1; count <= PROCESSES; count++) {
        struct part whole = make_part(&bench, bench.lanes, LANES, &bench.inputs, "sample",
                                      1.5 * (double)count, 99 + count),
                    parts[PROCESSES], joined;
        const void *bytes[PROCESSES];
        size_t counts[PROCESSES];
        for (size_t p = 0; p < count; p++) {
            parts[p] = make_own_part(&bench, p, count, &bench.inputs, "sample");
            bytes[p] = parts[p].bytes;
            counts[p] = parts[p].count;
        }
        ck_ulp_ok(ulp_part_join(bench.sum, bytes, counts, count, &joined.bytes, &joined.count,
                                &error),
                  error);
        ck_assert_uint_eq(joined.count, whole.count);
        ck_assert_int_eq(memcmp(joined.bytes, whole.bytes, whole.count), 0);
        ck_ulp_ok(ulp_auditor_add_part(bench.sum, joined.bytes, joined.count, &error), error);
        free(joined.bytes);
        free(whole.bytes);
        for (size_t p = 0; p < count; p++)
            free(parts[p].bytes);
    }
    close_bench(&bench);
}
END_TEST

/* Part 1 of two; what is said. */
static void expect_refusal(const struct bench *bench, const void *bytes, size_t count,
                           const char *says)
{
    struct ulp_error error;
    struct part own = make_own_part(bench, 0, 2, &bench->inputs, "sample"), joined;
    const void *const parts[] = {own.bytes, bytes};
    const size_t counts[] = {own.count, count};
    ck_assert_int_eq(ulp_part_join(bench->sum, parts, counts, 2, &joined.bytes, &joined.count,
                                   &error),
                     ULP_ERROR_INPUT);
    ck_assert_ptr_null(joined.bytes);
    ck_assert_msg(strstr(error.message, says), "%s", error.message);
    ck_assert_msg(strstr(error.message, "process 1"), "%s", error.message);
    free(own.bytes);
}

START_TEST(what_does_not_belong_together_is_refused)
{
    static const char other[] = "reference's values are not those of process 0";
    struct bench bench = open_bench();
    struct ulp_tensor_set changed = text_inputs(bench.model, 2, NAN, true);
    struct part part = make_own_part(&bench, 1, 2, &changed, "sample");
    expect_refusal(&bench, part.bytes, part.count, other);
    free(part.bytes);
    part = make_own_part(&bench, 1, 2, &bench.inputs, "another");
    expect_refusal(&bench, part.bytes, part.count, other);
    free(part.bytes);
    part = make_own_part(&bench, 2, 3, &bench.inputs, "sample"); /* one lane, not three */
    expect_refusal(&bench, part.bytes, part.count, "does not hold the figures");
    free(part.bytes);
    part = make_own_part(&bench, 1, 2, &bench.inputs, "sample");
    expect_refusal(&bench, part.bytes, part.count - 1, "does not hold the figures");
    expect_refusal(&bench, part.bytes, 0, "does not hold the figures");
    free(part.bytes);
    ulp_tensor_set_free(&changed);
    close_bench(&bench);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("join");
    TCase *tests = tcase_create("join");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, owners);
    tcase_add_test(tests, joined_parts_are_one_process_part);
    tcase_add_test(tests, what_does_not_belong_together_is_refused);
    suite_add_tcase(suite, tests);
    return test_run(suite, NULL);
}
