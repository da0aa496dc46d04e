/* run: whole networks. Recorded outputs, a lane alone against the same lane in an audit, threads
 * and instruction sets, the identity introduced + carried = entire. Tests loop over
 * tests/support/networks.c; data that is not there is skipped. Graphs of a few nodes: tests/run. */

#include "tests/support/networks.h"
#include "number/mpfr_record.h"
#include "tests/support/test.h"

/* A hash of the bits of every node output of every lane, in order. */
struct hashes {
    unsigned long long lane[8];
};

static void hash_tensor(unsigned long long *hash, const struct ulp_tensor *tensor)
{
    unsigned long long parts[3] = {*hash,
                                   ulp_hash(tensor->data, tensor->count * tensor->element_bytes),
                                   ulp_hash(tensor->dims,
                                            (size_t)tensor->rank * sizeof *tensor->dims)};
    *hash = ulp_hash(parts, sizeof parts);
}

static enum ulp_status hash_node(void *context, const struct ulp_event *event,
                                 struct ulp_error *error)
{
    struct hashes *hashes = context;
    (void)error;
    for (size_t l = 0; l < event->lane_count; l++)
        for (size_t o = 0; o < event->output_count; o++)
            hash_tensor(&hashes->lane[l], event->values[l * event->output_count + o].entire);
    return ULP_OK;
}

static struct hashes hash_network(const struct ulp_model *model,
                                  const struct ulp_tensor_set *inputs, const char *const *names,
                                  size_t count, int threads, bool audit)
{
    struct hashes hashes = {{0}};
    struct ulp_run_options options = {.thread_count = threads, .audit = audit};
    const struct ulp_observer observer = {.context = &hashes, .node_done = hash_node};
    scoped_program *program = test_plan_names(model, inputs, names, count);
    ck_ok(ulp_program_run(program, inputs, &options, &observer, 1, NULL, NULL, &why));
    return hashes;
}

static const char *const audited[] = {"pair", "fp32",       "fp16", "fp16-strict",
                                      "tf32", "tf32-trunc", "bf16"};
#define AUDITED (sizeof audited / sizeof *audited)

/* Each lane of an audit computes what it computes alone: lanes do not see each other. And for any
 * number of threads. */
TEST_LOOP(lanes_are_independent_of_each_other_and_of_threads, 0, network_count)
{
    scoped_model *model = NULL;
    scoped_tensor_set inputs = {0};
    if (!network_load(_i, &model, &inputs))
        return;
    struct hashes together = hash_network(model, &inputs, audited, AUDITED, 2, true);
    for (size_t l = 0; l < AUDITED; l++)
        for (int threads = 1; threads <= 7; threads += 6) {
            struct hashes alone = hash_network(model, &inputs, &audited[l], 1, threads, false);
            ck_assert_msg(alone.lane[0] == together.lane[l],
                          "%s in %s: alone with %d threads the bits differ from those in the audit",
                          networks[_i].name, audited[l], threads);
        }
}

/* FP32 agrees with the recorded outputs (rtol 1e-3, atol 1e-5: the bound the data's makers give),
 * and with pairs to FP32 accuracy. How much a network amplifies rounding is its own (a sigmoid of
 * -21 turns the logit's absolute error into a relative one), so it is measured: fp32,nofma is
 * another correct FP32 evaluation with roundings of its own, and the error of fp32 may be at most 8
 * times its error (the largest of n errors of one distribution rarely differs by more) plus an ulp;
 * and at most 1e-3 of the output's rms in any case. */
TEST_LOOP(outputs_agree_with_the_recorded_ones, 0, network_count)
{
    scoped_model *model = NULL;
    struct ulp_tensor_set inputs, nominal, expected, outputs[3];
    if (!network_load(_i, &model, &nominal))
        return;
    bool recorded = network_outputs(_i, model, &inputs, &expected);
    if (!recorded)
        inputs = nominal;
    static const char *const names[] = {"pair", "fp32", "fp32,nofma"};
    struct ulp_run_options options = {.thread_count = 2};
    scoped_program *program = test_plan_names(model, &inputs, names, 3);
    ck_ok(ulp_program_run(program, &inputs, &options, NULL, 0, outputs, NULL, &why));
    for (size_t i = 0; i < outputs[1].count; i++) {
        const struct ulp_tensor *got = &outputs[1].items[i].tensor,
                                *reference = &outputs[0].items[i].tensor;
        const struct ulp_tensor *want = recorded ? &expected.items[i].tensor : NULL;
        double sum = 0, worst = 0, other = 0, largest = 0;
        ck_assert_uint_eq(got->count, reference->count);
        for (size_t e = 0; e < got->count; e++) {
            double x = ulp_tensor_get(got, e), r = ulp_tensor_get(reference, e);
            sum += r * r;
            worst = fmax(worst, fabs(x - r));
            other = fmax(other, fabs(ulp_tensor_get(&outputs[2].items[i].tensor, e) - r));
            largest = fmax(largest, fabs(r));
            ck_assert(!isnan(x));
            if (want) {
                double w = ulp_tensor_get(want, e);
                ck_assert_msg(fabs(x - w) <= 1e-5 + 1e-3 * fabs(w),
                              "%s %s[%zu]: %.9g, recorded %.9g", networks[_i].name,
                              outputs[1].items[i].name, e, x, w);
            }
        }
        double rms = sqrt(sum / (double)got->count);
        ck_assert_msg(worst <= 8 * other + 0x1p-23 * largest && worst <= 1e-3 * rms,
                      "%s %s: fp32 is %.3g from pair, fp32,nofma %.3g, with rms %.3g",
                      networks[_i].name, outputs[1].items[i].name, worst, other, rms);
    }
    ulp_tensor_set_free(&outputs[0]);
    ulp_tensor_set_free(&outputs[1]);
    ulp_tensor_set_free(&outputs[2]);
    if (recorded) {
        ulp_tensor_set_free(&expected);
        ulp_tensor_set_free(&inputs);
    }
    ulp_tensor_set_free(&nominal);
}

static void set_exact(mpfr_t x, const struct ulp_tensor *tensor, size_t i)
{
    if (tensor->element == ULP_ELEMENT_WIDE) {
        mpfr_t record;
        ulp_record_open_const(record, ulp_record_at_const(tensor->data, i, tensor->precision),
                              tensor->precision);
        mpfr_set(x, record, MPFR_RNDN);
    } else {
        mpfr_set_d(x, ulp_tensor_get(tensor, i), MPFR_RNDN);
    }
}

/* entire - introduced - carried, each difference held exactly (600 bits hold any difference of FP32
 * values and 128-bit values of magnitudes 2^-149 .. 2^300), is zero for every element; inexact
 * operations would raise MPFR's flag. */
static enum ulp_status check_identity(void *context, const struct ulp_event *event,
                                      struct ulp_error *error)
{
    size_t *elements = context;
    (void)error;
    scoped_mpfr p, r, h, introduced, carried, entire;
    mpfr_inits2(600, p, r, h, introduced, carried, entire, (mpfr_ptr)0);
    for (size_t l = 1; l < event->lane_count; l++)
        for (size_t o = 0; o < event->output_count; o++) {
            const struct ulp_lane_value *value = &event->values[l * event->output_count + o];
            const struct ulp_tensor *reference = event->values[o].entire;
            if (!ulp_tensor_same_shape(value->entire, reference) ||
                !ulp_tensor_same_shape(value->here, reference))
                continue;
            for (size_t i = 0; i < reference->count; i++) {
                set_exact(p, value->entire, i);
                set_exact(r, reference, i);
                set_exact(h, value->here, i);
                if (!mpfr_number_p(p) || !mpfr_number_p(r) || !mpfr_number_p(h))
                    continue;
                mpfr_clear_flags();
                mpfr_sub(introduced, p, h, MPFR_RNDN);
                mpfr_sub(carried, h, r, MPFR_RNDN);
                mpfr_sub(entire, p, r, MPFR_RNDN);
                mpfr_add(introduced, introduced, carried, MPFR_RNDN);
                if (mpfr_inexflag_p())
                    continue;
                ++*elements;
                ck_assert_msg(mpfr_equal_p(introduced, entire),
                              "node %s output %zu lane %s element %zu", event->name, o,
                              event->arithmetics[l].name, i);
            }
        }
    return ULP_OK;
}

/* The means are linear: mean(introduced) + mean(carried) = mean(entire) in the audit's own figures,
 * so these are the differences of the very tensors. Tolerance: each mean is a double sum of n terms
 * of at most max_abs. */
static void check_means(const struct ulp_audit *audit)
{
    size_t checked = 0;
    for (size_t l = 0; l < audit->lane_count; l++)
        for (size_t n = 0; n < audit->lanes[l].node_count; n++)
            for (size_t o = 0; o < audit->lanes[l].nodes[n].output_count; o++) {
                const struct ulp_audit_output *output = &audit->lanes[l].nodes[n].outputs[o];
                size_t count = output->entire.count;
                if (count == 0 || output->introduced.count != count ||
                    output->carried.count != count || output->entire.diverged)
                    continue;
                double scale =
                    output->entire.max_abs + output->introduced.max_abs + output->carried.max_abs;
                double gap =
                    fabs(output->introduced.mean + output->carried.mean - output->entire.mean);
                ck_assert_msg(gap <= 1e-12 * scale, "%s %s: mean %g + %g is not %g",
                              audit->lanes[l].arithmetic.name, output->name,
                              output->introduced.mean, output->carried.mean, output->entire.mean);
                ck_assert(!(output->introduced.max_abs + output->carried.max_abs <
                            output->entire.max_abs * (1 - 1e-15)));
                checked++;
            }
    ck_assert_uint_gt(checked, 0);
}

TEST_LOOP(introduced_and_carried_make_entire, 0, network_count)
{
    scoped_model *model = NULL;
    scoped_tensor_set inputs = {0};
    size_t elements = 0;
    if (!network_load(_i, &model, &inputs))
        return;
    const struct ulp_observer observer = {.context = &elements, .node_done = check_identity};
    scoped_program *program = test_plan_names(model, &inputs, audited, AUDITED);
    scoped_audit audit = test_audit(program, &inputs, &observer);
    ck_assert_uint_gt(elements, 0);
    check_means(&audit);
}

/* As on the GPU (gpu/h200_overflow.json.gz), and in the example as its script says. */
TEST_LOOP(overflow_is_born_where_it_is_born, 0, 2)
{
    static const struct {
        const char *network, *node;
    } rows[] = {
        {"examples/digits", "block/norm1/Sum"},
        {"magika_v3_3", "/LayerNorm_1/Sum_1"},
    };
    for (int n = 0; n < network_count; n++) {
        if (strcmp(networks[n].name, rows[_i].network) != 0)
            continue;
        scoped_model *model = NULL;
        scoped_tensor_set inputs = {0};
        if (!network_load(n, &model, &inputs))
            return;
        scoped_program *program = test_plan(model, &inputs, "pair", "fp16");
        scoped_audit audit = test_audit(program, &inputs, NULL);
        ck_assert_int_ge(audit.lanes[0].first_born, 0);
        const char *name = audit.lanes[0].nodes[audit.lanes[0].first_born].name;
        ck_assert_msg(strlen(name) >= strlen(rows[_i].node) &&
                          strcmp(name + strlen(name) - strlen(rows[_i].node), rows[_i].node) == 0,
                      "%s: born in %s", rows[_i].network, name);
        ck_assert_uint_gt(audit.lanes[0].poisoned_count, 0);
    }
}

/* A mixed graph as its types say: the sum of squares is kept in FP32 and finite, and what overflows
 * is the Cast back to FP16. Lowered to fp16 as a converter would, it is the sum itself. */
TEST(declared_types_are_obeyed)
{
    const char *path = test_shared("mixed/magika_v3_3_mixed/model.onnx");
    static const char *const expected[][2] = {{"model", "Cast"}, {"fp16", "ReduceSum"}};
    if (!path)
        return;
    for (int i = 0; i < 2; i++) {
        scoped_model *model = NULL;
        scoped_tensor_set inputs = {0};
        ck_ok(ulp_model_load(path, NULL, &model, &why));
        ck_ok(
            ulp_tensor_set_read(test_shared("models/magika_v3_3/inputs.npz"), NULL, &inputs, &why));
        scoped_program *program = test_plan(model, &inputs, "pair", expected[i][0]);
        scoped_audit audit = test_audit(program, &inputs, NULL);
        ck_assert_int_ge(audit.lanes[0].first_born, 0);
        ck_assert_str_eq(audit.lanes[0].nodes[audit.lanes[0].first_born].op, expected[i][1]);
    }
}

/* The reference audited against itself introduces and carries nothing. */
TEST(the_reference_has_no_error)
{
    scoped_model *model = NULL;
    scoped_tensor_set inputs = {0};
    if (!network_load(0, &model, &inputs))
        return;
    scoped_program *program = test_plan(model, &inputs, "pair", "pair");
    scoped_audit audit = test_audit(program, &inputs, NULL);
    for (size_t n = 0; n < audit.lanes[0].node_count; n++)
        for (size_t o = 0; o < audit.lanes[0].nodes[n].output_count; o++) {
            const struct ulp_audit_output *output = &audit.lanes[0].nodes[n].outputs[o];
            ck_assert(output->single.max_abs == 0 && output->introduced.max_abs == 0 &&
                      output->carried.max_abs == 0);
        }
}

TEST_SUITE("run", test_long() ? 1200 : 120)
