/* Attributing the errors of small graphs in tests. */
#pragma once

#include "analysis/attribution/attribution.h"
#include "base/random.h"
#include "tests/support/text_model.h"
#include "analysis/audit/auditor.h"

#define LANES 4
static const char *lanes[LANES] = {"pair", "fp16", "tf32", "fp32"};

static const struct text_graph unrolled = {
    "x i_count", "y",
    "[0/step] m0 = MatMul(x, w) [0/add] a0 = Add(m0, x) [0/bend] t0 = Tanh(a0) [1/step] m1 = "
    "MatMul(t0, w) [1/add] a1 = Add(m1, x) [1/bend] t1 = Tanh(a1) [2/step] m2 = MatMul(t1, w) "
    "[2/add] a2 = Add(m2, x) [2/bend] y = Tanh(a2)"};

static const struct text_graph loop_body = {
    "i_n b_c s", "b_d t",
    "[step] m = MatMul(s, w) [add] a = Add(m, x) [bend] t = Tanh(a) [go] b_d = Identity(b_c)"};
static const struct text_graph looped = {"x i_count",
                                         "y",
                                         "[loop] y = Loop(i_count, b_yes, x)",
                                         {&loop_body}};

/* How the next runs keep values: at most so much in memory, and whether a file may hold the rest.
 */
static size_t kept_max = SIZE_MAX;
static bool spills;
static int thread_count = 1;
/* What models are charged to; NULL: nothing. */
static struct ulp_budget *charged;
/* By lane; NULL: nothing is kept. And whether lanes that overflow are attributed without that. */
static const struct ulp_keeps *keeps;
static bool fixes;
/* What sees the nodes in place of the attributor's own function, with its context; NULL: that. */
static enum ulp_status (*collects)(void *, const struct ulp_event *, struct ulp_error *);

static inline enum ulp_status attribute(const struct text_graph *text, const char *output,
                                        double x0, size_t samples, size_t verify,
                                        struct ulp_audit *out, struct ulp_error *error)
{
    struct ulp_model *model = text_load_within(text, charged);
    struct ulp_tensor_set inputs[2] = {text_inputs(model, 5, x0, true),
                                       text_inputs(model, 6, x0, true)};
    const struct ulp_program_options options = {.inputs = inputs, .keeps = keeps};
    const struct ulp_run_options run = {.thread_count = 1, .audit = true};
    struct ulp_arithmetic arithmetics[LANES];
    struct ulp_program *program;
    struct ulp_auditor *auditor;
    struct ulp_attributor *attributor;
    for (size_t l = 0; l < LANES; l++)
        arithmetics[l] = test_arithmetic(lanes[l]);
    ck_ulp_ok(ulp_program_create(model, arithmetics, LANES, &options, &program, error), *error);
    ck_ulp_ok(ulp_auditor_create(program, &auditor, error), *error);
    enum ulp_status status =
        ulp_attributor_create(program, output, thread_count, &attributor, error);
    if (status == ULP_OK && spills)
        status = ulp_attributor_spill(attributor, ".", error);
    if (status == ULP_OK)
        ulp_attributor_causes(attributor, true);
    if (status == ULP_OK && kept_max < attributor->kept_max)
        attributor->kept_max = kept_max;
    for (size_t s = 0; s < samples && status == ULP_OK; s++) {
        struct ulp_observer observers[] = {ulp_auditor_observer(auditor),
                                           ulp_attributor_observer(attributor)};
        if (collects)
            observers[1].node_done = collects;
        ck_ulp_ok(ulp_auditor_sample(auditor, "sample", error), *error);
        ck_ulp_ok(ulp_attributor_sample(attributor, &inputs[s], error), *error);
        ulp_attributor_verify(attributor, verify);
        ck_ulp_ok(ulp_program_run(program, &inputs[s], &run, observers, 2, NULL, NULL, error),
                  *error);
        status = ulp_attributor_sweep(attributor, error);
    }
    if (status == ULP_OK) {
        ck_ulp_ok(ulp_auditor_finish(auditor, out, error), *error);
        ck_ulp_ok(ulp_attributor_finish(attributor, out, error), *error);
    }
    if (status == ULP_OK && fixes) {
        const struct ulp_sample items[] = {{"0", &inputs[0], 0}, {"1", &inputs[1], 0}};
        const struct ulp_samples both = {.count = samples, .items = items};
        const struct ulp_program_options planning = {.keeps = keeps};
        const struct ulp_audit_options whole = {.plan = &planning,
                                                .shares = true,
                                                .output = output,
                                                .thread_count = 1};
        ulp_audit_free(out);
        ck_ulp_ok(ulp_audit_run(model, arithmetics, LANES, &both, &whole, out, error), *error);
    }
    ulp_attributor_free(attributor);
    ulp_auditor_free(auditor);
    ulp_program_free(program);
    ulp_tensor_set_free(&inputs[0]);
    ulp_tensor_set_free(&inputs[1]);
    ulp_model_free(model);
    return status;
}

/* What is left is of third order in errors of 2^-11 and less: 2 % is the promise. */
static inline void expect_whole(const struct ulp_audit *audit)
{
    for (size_t l = 0; l < audit->lane_count; l++) {
        const struct ulp_attribution *a = &audit->lanes[l].attribution;
        double sum = a->inputs, missing = 0;
        ck_assert_msg(a->given, "%s: %s", audit->lanes[l].name, a->reason);
        for (size_t n = 0; n < audit->lanes[l].node_count; n++) {
            sum += audit->lanes[l].nodes[n].share + audit->lanes[l].nodes[n].decision;
            missing += audit->lanes[l].nodes[n].missing;
        }
        ck_assert_msg(fabs(a->sum - 1) <= 0.02, "%s: sum %.4f", audit->lanes[l].name, a->sum);
        ck_assert_msg(fabs(a->sum - sum) <= 1e-12 && fabs(a->residual - (1 - sum)) <= 1e-12,
                      "%s: the sum is not that of the nodes", audit->lanes[l].name);
        /* errors are kept with 24 bits, and amplified by less than 2^6 here */
        ck_assert_msg(fabs(missing - a->residual) <= 0x1p-17, "%s: %g is missing, %g by nodes",
                      audit->lanes[l].name, a->residual, missing);
    }
}
