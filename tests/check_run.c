/* run: whole networks. Recorded outputs, a lane alone against the same lane in an audit, threads and instruction sets, the identity
 * introduced + carried = entire. Tests loop over tests/support/networks.c; data that is not there is skipped. */
#include "test.h"

#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "load/load.h"
#include "networks.h"
#include "number/mpfr_record.h"
#include "proto.h"
#include "tensor/tensor.h"

/* A hash of the bits of every node output of every lane, in order. */
struct hashes {
    unsigned long long lane[8];
};

static void hash_tensor(unsigned long long *hash, const struct ulp_tensor *tensor)
{
    unsigned long long parts[3] = {*hash, ulp_hash(tensor->data, tensor->count * tensor->element_bytes),
                                   ulp_hash(tensor->dims, (size_t)tensor->rank * sizeof *tensor->dims)};
    *hash = ulp_hash(parts, sizeof parts);
}

static enum ulp_status hash_node(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    struct hashes *hashes = context;
    (void)error;
    for (size_t l = 0; l < event->lane_count; l++)
        for (size_t o = 0; o < event->output_count; o++)
            hash_tensor(&hashes->lane[l], event->values[l * event->output_count + o].entire);
    return ULP_OK;
}

static void find_lanes(struct ulp_arithmetic *lanes, const char *const *names, size_t count)
{
    struct ulp_error error;
    for (size_t l = 0; l < count; l++)
        ck_ulp_ok(ulp_arithmetic_find(names[l], &lanes[l], &error), error);
}

static void run_network(const struct ulp_model *model, const struct ulp_tensor_set *inputs, const char *const *names, size_t count,
                        const struct ulp_run_options *options, struct ulp_observer observer, struct ulp_tensor_set *outputs)
{
    struct ulp_arithmetic lanes[8];
    struct ulp_plan *plan;
    struct ulp_error error;
    struct ulp_plan_options plan_options = {.inputs = inputs};
    find_lanes(lanes, names, count);
    ck_ulp_ok(ulp_plan_create(model, lanes, count, &plan_options, &plan, &error), error);
    ck_ulp_ok(ulp_plan_run(plan, inputs, options, &observer, 1, outputs, NULL, &error), error);
    ulp_plan_free(plan);
}

static struct hashes hash_network(const struct ulp_model *model, const struct ulp_tensor_set *inputs, const char *const *names,
                                  size_t count, int threads, bool audit)
{
    struct hashes hashes = {{0}};
    struct ulp_run_options options = {.thread_count = threads, .audit = audit};
    run_network(model, inputs, names, count, &options, (struct ulp_observer){.context = &hashes, .node_done = hash_node}, NULL);
    return hashes;
}

static const char *const audited[] = {"mpfr:128", "fp32", "fp16", "fp16-strict", "tf32", "tf32-trunc", "bf16"};
#define AUDITED (sizeof audited / sizeof *audited)

/* Each lane of an audit computes what it computes alone: lanes do not see each other. And for any number of threads. */
START_TEST(lanes_are_independent_of_each_other_and_of_threads)
{
    struct ulp_model *model;
    struct ulp_tensor_set inputs;
    if (!network_load(_i, &model, &inputs))
        return;
    struct hashes together = hash_network(model, &inputs, audited, AUDITED, 2, true);
    for (size_t l = 0; l < AUDITED; l++)
        for (int threads = 1; threads <= 7; threads += 6) {
            struct hashes alone = hash_network(model, &inputs, &audited[l], 1, threads, false);
            ck_assert_msg(alone.lane[0] == together.lane[l], "%s in %s: alone with %d threads the bits differ from those in the audit",
                          networks[_i].name, audited[l], threads);
        }
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* FP32 agrees with the recorded outputs (rtol 1e-3, atol 1e-5: the bound the data's makers give), and with mpfr:53 to FP32 accuracy. How
 * much a network amplifies rounding is its own (a sigmoid of -21 turns the logit's absolute error into a relative one), so it is measured:
 * fp32,nofma is another correct FP32 evaluation with roundings of its own, and the error of fp32 may be at most 8 times its error (the
 * largest of n errors of one distribution rarely differs by more) plus an ulp; and at most 1e-3 of the output's rms in any case. */
START_TEST(outputs_agree_with_the_recorded_ones)
{
    struct ulp_model *model;
    struct ulp_tensor_set inputs, nominal, expected, outputs[3];
    if (!network_load(_i, &model, &nominal))
        return;
    bool recorded = network_outputs(_i, model, &inputs, &expected);
    if (!recorded)
        inputs = nominal;
    static const char *const names[] = {"mpfr:53", "fp32", "fp32,nofma"};
    struct ulp_run_options options = {.thread_count = 2};
    run_network(model, &inputs, names, 3, &options, (struct ulp_observer){0}, outputs);
    for (size_t i = 0; i < outputs[1].count; i++) {
        const struct ulp_tensor *got = &outputs[1].items[i].tensor, *reference = &outputs[0].items[i].tensor;
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
                ck_assert_msg(fabs(x - w) <= 1e-5 + 1e-3 * fabs(w), "%s %s[%zu]: %.9g, recorded %.9g", networks[_i].name,
                              outputs[1].items[i].name, e, x, w);
            }
        }
        double rms = sqrt(sum / (double)got->count);
        ck_assert_msg(worst <= 8 * other + 0x1p-23 * largest && worst <= 1e-3 * rms,
                      "%s %s: fp32 is %.3g from mpfr:53, fp32,nofma %.3g, with rms %.3g", networks[_i].name,
                      outputs[1].items[i].name, worst, other, rms);
    }
    ulp_tensor_set_free(&outputs[0]);
    ulp_tensor_set_free(&outputs[1]);
    ulp_tensor_set_free(&outputs[2]);
    if (recorded) {
        ulp_tensor_set_free(&expected);
        ulp_tensor_set_free(&inputs);
    }
    ulp_tensor_set_free(&nominal);
    ulp_model_free(model);
}
END_TEST

static void set_exact(mpfr_t x, const struct ulp_tensor *tensor, size_t i)
{
    if (tensor->element == ULP_ELEMENT_WIDE) {
        mpfr_t record;
        ulp_record_open_const(record, ulp_record_at_const(tensor->data, i, tensor->precision), tensor->precision);
        mpfr_set(x, record, MPFR_RNDN);
    } else {
        mpfr_set_d(x, ulp_tensor_get(tensor, i), MPFR_RNDN);
    }
}

/* What the identity test keeps: the auditor measures the same run. */
struct identity {
    struct ulp_auditor *auditor;
    double *sums; /* [node * lanes + lane]: exact sums of introduced and carried over output 0, as doubles */
    size_t elements;
};

/* entire - introduced - carried, each difference held exactly (600 bits hold any difference of FP32 values and 128-bit values of
 * magnitudes 2^-149 .. 2^300), is zero for every element; inexact operations would raise MPFR's flag. */
static enum ulp_status check_identity(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    struct identity *identity = context;
    mpfr_t p, r, h, introduced, carried, entire;
    mpfr_inits2(600, p, r, h, introduced, carried, entire, (mpfr_ptr)0);
    for (size_t l = 1; l < event->lane_count; l++)
        for (size_t o = 0; o < event->output_count; o++) {
            const struct ulp_lane_value *value = &event->values[l * event->output_count + o];
            const struct ulp_tensor *reference = event->values[o].entire;
            if (!ulp_tensor_same_shape(value->entire, reference) || !ulp_tensor_same_shape(value->here, reference))
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
                identity->elements++;
                ck_assert_msg(mpfr_equal_p(introduced, entire), "node %s output %zu lane %s element %zu", event->name, o,
                              event->arithmetics[l].name, i);
            }
        }
    mpfr_clears(p, r, h, introduced, carried, entire, (mpfr_ptr)0);
    struct ulp_observer auditor = ulp_auditor_observer(identity->auditor);
    return auditor.node_done(auditor.context, event, error);
}

/* The means are linear: mean(introduced) + mean(carried) = mean(entire) in the audit's own figures, so these are the
 * differences of the very tensors. Tolerance: each mean is a double sum of n terms of at most max_abs. */
static void check_means(const struct ulp_audit *audit)
{
    size_t checked = 0;
    for (size_t l = 0; l < audit->lane_count; l++)
        for (size_t n = 0; n < audit->lanes[l].node_count; n++)
            for (size_t o = 0; o < audit->lanes[l].nodes[n].output_count; o++) {
                const struct ulp_audit_output *output = &audit->lanes[l].nodes[n].outputs[o];
                size_t count = output->entire.count;
                if (count == 0 || output->introduced.count != count || output->carried.count != count || output->entire.diverged)
                    continue;
                double scale = output->entire.max_abs + output->introduced.max_abs + output->carried.max_abs;
                double gap = fabs(output->introduced.mean + output->carried.mean - output->entire.mean);
                ck_assert_msg(gap <= 1e-12 * scale, "%s %s: mean %g + %g is not %g", audit->lanes[l].arithmetic.name, output->name,
                              output->introduced.mean, output->carried.mean, output->entire.mean);
                ck_assert(!(output->introduced.max_abs + output->carried.max_abs < output->entire.max_abs * (1 - 1e-15)));
                checked++;
            }
    ck_assert_uint_gt(checked, 0);
}

START_TEST(introduced_and_carried_make_entire)
{
    struct ulp_model *model;
    struct ulp_tensor_set inputs;
    struct ulp_arithmetic lanes[AUDITED];
    struct ulp_plan *plan;
    struct ulp_audit audit;
    struct ulp_error error;
    struct identity identity = {0};
    if (!network_load(_i, &model, &inputs))
        return;
    find_lanes(lanes, audited, AUDITED);
    struct ulp_plan_options plan_options = {.inputs = &inputs};
    struct ulp_run_options options = {.thread_count = 2, .audit = true};
    struct ulp_observer observer = {.context = &identity, .node_done = check_identity};
    ck_ulp_ok(ulp_plan_create(model, lanes, AUDITED, &plan_options, &plan, &error), error);
    ck_ulp_ok(ulp_auditor_create(plan, &identity.auditor, &error), error);
    ck_ulp_ok(ulp_auditor_sample(identity.auditor, "nominal", &error), error);
    ck_ulp_ok(ulp_plan_run(plan, &inputs, &options, &observer, 1, NULL, NULL, &error), error);
    ck_ulp_ok(ulp_auditor_finish(identity.auditor, &audit, &error), error);
    ck_assert_uint_gt(identity.elements, 0);
    check_means(&audit);
    ulp_audit_free(&audit);
    ulp_auditor_free(identity.auditor);
    ulp_plan_free(plan);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

static void audit_one(const struct ulp_model *model, const struct ulp_tensor_set *inputs, const char *arithmetic, struct ulp_audit *out)
{
    const char *const names[] = {"mpfr:128", arithmetic};
    struct ulp_arithmetic lanes[2];
    struct ulp_plan *plan;
    struct ulp_auditor *auditor;
    struct ulp_error error;
    struct ulp_plan_options plan_options = {.inputs = inputs};
    struct ulp_run_options options = {.thread_count = 2, .audit = true};
    find_lanes(lanes, names, 2);
    ck_ulp_ok(ulp_plan_create(model, lanes, 2, &plan_options, &plan, &error), error);
    ck_ulp_ok(ulp_auditor_create(plan, &auditor, &error), error);
    ck_ulp_ok(ulp_auditor_sample(auditor, "nominal", &error), error);
    struct ulp_observer observer = ulp_auditor_observer(auditor);
    ck_ulp_ok(ulp_plan_run(plan, inputs, &options, &observer, 1, NULL, NULL, &error), error);
    ck_ulp_ok(ulp_auditor_finish(auditor, out, &error), error);
    ulp_auditor_free(auditor);
    ulp_plan_free(plan);
}

/* As on the GPU (gpu/h200_overflow.json.gz), and in the example as its script says. */
START_TEST(overflow_is_born_where_it_is_born)
{
    static const struct { const char *network, *node; } rows[] = {
        {"examples/digits", "block/norm1/Sum"},
        {"magika_v3_3", "/LayerNorm_1/Sum_1"},
    };
    for (int n = 0; n < network_count; n++) {
        if (strcmp(networks[n].name, rows[_i].network) != 0)
            continue;
        struct ulp_model *model;
        struct ulp_tensor_set inputs;
        struct ulp_audit audit;
        if (!network_load(n, &model, &inputs))
            return;
        audit_one(model, &inputs, "fp16", &audit);
        ck_assert_int_ge(audit.lanes[0].first_born, 0);
        const char *name = audit.lanes[0].nodes[audit.lanes[0].first_born].name;
        ck_assert_msg(strlen(name) >= strlen(rows[_i].node) && strcmp(name + strlen(name) - strlen(rows[_i].node), rows[_i].node) == 0,
                      "%s: born in %s", rows[_i].network, name);
        ck_assert_uint_gt(audit.lanes[0].poisoned_count, 0);
        ulp_audit_free(&audit);
        ulp_tensor_set_free(&inputs);
        ulp_model_free(model);
    }
}
END_TEST

/* x = [1, 1 + 1e-5, 0, 0]: FP16 stores two ones, so its ArgMax is 0 where the reference's is 1, and what follows has diverged. A finite
 * wrong index is no overflow: only the graph's output crosses the limit. */
START_TEST(another_decision_is_a_divergence)
{
    static const int64_t dims[2] = {1, 4}, one[2] = {1, 1};
    static const float x[4] = {1, 1.00001f, 0, 0};
    struct proto graph = {0}, attribute = {0}, argmax = proto_node("ArgMax", "decide", "x", "index"),
                 relu = proto_node("Relu", "aside", "x", "y");
    struct proto where = proto_node("GatherElements", "follow", "x index", "z"), axis = {0};
    proto_text(&attribute, ATTRIBUTE_NAME, "axis");
    proto_int(&attribute, ATTRIBUTE_I, 1);
    proto_int(&attribute, ATTRIBUTE_TYPE, 2);
    proto_raw(&axis, attribute.data, attribute.count);
    proto_message(&argmax, NODE_ATTRIBUTE, &attribute);
    proto_message(&where, NODE_ATTRIBUTE, &axis);
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 2, dims);
    proto_value(&graph, GRAPH_OUTPUT, "z", ULP_TYPE_FLOAT, 2, one);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, 2, dims);
    proto_message(&graph, GRAPH_NODE, &argmax);
    proto_message(&graph, GRAPH_NODE, &relu);
    proto_message(&graph, GRAPH_NODE, &where);
    struct proto message = proto_model(10, 21, &graph);
    struct ulp_model *model;
    struct ulp_error error;
    struct ulp_tensor tensor;
    struct ulp_tensor_set inputs = {0};
    struct ulp_audit audit;
    bool exceeded;
    ck_ulp_ok(ulp_model_load_bytes("m.onnx", message.data, message.count, &model, &error), error);
    ck_ulp_ok(ulp_tensor_create(&tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, dims, &error), error);
    memcpy(tensor.data, x, sizeof x);
    ck_ulp_ok(ulp_tensor_set_add(&inputs, "x", &tensor, &error), error);
    audit_one(model, &inputs, "fp16", &audit);
    const struct ulp_audit_lane *lane = &audit.lanes[0];
    ck_assert_int_eq(lane->first_born, -1);
    ck_assert_int_ge(lane->first_decided, 0);
    ck_assert_str_eq(lane->nodes[lane->first_decided].name, "decide");
    ck_assert_uint_eq(lane->outputs.output_count, 2);
    ck_assert(lane->outputs.outputs[0].entire.diverged && lane->outputs.outputs[0].carried.diverged);
    ck_assert(!lane->outputs.outputs[0].introduced.diverged && !lane->outputs.outputs[1].entire.diverged);
    ck_ulp_ok(ulp_audit_exceeds(&audit, "rms=1e9", &exceeded, &error), error);
    ck_assert(exceeded);
    ulp_audit_free(&audit);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    proto_free(&message);
}
END_TEST

/* x = [1.4999, 1.6]: FP16 stores 1.5 and quantises to [2, 2] where the reference has [1, 2]. A step of difference, also
 * after Flatten, is an error with a size (|difference| = 1 in one of two: rms sqrt(1/2)); the ArgMax of such steps is
 * another decision all the same. */
START_TEST(a_step_of_a_scale_is_an_error)
{
    static const int64_t dims[2] = {1, 2}, one[2] = {1, 1};
    static const float x[2] = {1.4999f, 1.6f}, scale = 1;
    struct proto graph = {0}, attribute = {0}, axis = {0};
    struct proto nodes[] = {proto_node("QuantizeLinear", "q", "x s p", "steps"), proto_node("Flatten", "flat", "steps", "flat"),
                            proto_node("DequantizeLinear", "dq", "flat s p", "y"), proto_node("ArgMax", "decide", "flat", "index")};
    proto_text(&attribute, ATTRIBUTE_NAME, "axis");
    proto_int(&attribute, ATTRIBUTE_I, 1);
    proto_int(&attribute, ATTRIBUTE_TYPE, 2);
    proto_raw(&axis, attribute.data, attribute.count);
    proto_message(&nodes[3], NODE_ATTRIBUTE, &axis);
    proto_free(&attribute);
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 2, dims);
    proto_value(&graph, GRAPH_INPUT, "s", ULP_TYPE_FLOAT, 0, NULL);
    proto_value(&graph, GRAPH_INPUT, "p", ULP_TYPE_UINT8, 0, NULL);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, 2, dims);
    proto_value(&graph, GRAPH_OUTPUT, "flat", ULP_TYPE_UINT8, 2, dims);
    proto_value(&graph, GRAPH_OUTPUT, "index", ULP_TYPE_INT64, 2, one);
    for (size_t n = 0; n < 4; n++)
        proto_message(&graph, GRAPH_NODE, &nodes[n]);
    struct proto message = proto_model(10, 21, &graph);
    struct ulp_model *model;
    struct ulp_error error;
    struct ulp_tensor values[3];
    struct ulp_tensor_set inputs = {0};
    struct ulp_audit audit;
    ck_ulp_ok(ulp_model_load_bytes("m.onnx", message.data, message.count, &model, &error), error);
    ck_ulp_ok(ulp_tensor_create(&values[0], ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, dims, &error), error);
    ck_ulp_ok(ulp_tensor_create(&values[1], ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 0, NULL, &error), error);
    ck_ulp_ok(ulp_tensor_create(&values[2], ULP_TYPE_UINT8, ULP_ELEMENT_COUNT, 0, 0, NULL, &error), error);
    memcpy(values[0].data, x, sizeof x);
    memcpy(values[1].data, &scale, sizeof scale);
    memset(values[2].data, 0, values[2].element_bytes);
    static const char *const names[] = {"x", "s", "p"};
    for (size_t i = 0; i < 3; i++)
        ck_ulp_ok(ulp_tensor_set_add(&inputs, names[i], &values[i], &error), error);
    audit_one(model, &inputs, "fp16", &audit);
    const struct ulp_audit_lane *lane = &audit.lanes[0];
    const struct ulp_audit_output *outputs = lane->outputs.outputs;
    for (size_t o = 0; o < 2; o++) {
        ck_assert(!outputs[o].entire.diverged && outputs[o].entire.max_abs == 1);
        ck_assert(fabs(outputs[o].entire.rms - sqrt(0.5)) <= 1e-15); /* a few roundings of doubles */
    }
    ck_assert(outputs[2].entire.diverged);
    ck_assert_int_ge(lane->first_decided, 0);
    ck_assert_str_eq(lane->nodes[lane->first_decided].name, "decide");
    ulp_audit_free(&audit);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    proto_free(&message);
}
END_TEST

/* A mixed graph as its types say: the sum of squares is kept in FP32 and finite, and what overflows is the Cast back to FP16. Lowered to
 * fp16 as a converter would, it is the sum itself. */
START_TEST(declared_types_are_obeyed)
{
    const char *path = test_shared("mixed/magika_v3_3_mixed/model.onnx");
    static const char *const expected[][2] = {{"model", "Cast"}, {"fp16", "ReduceSum"}};
    if (!path)
        return;
    for (int i = 0; i < 2; i++) {
        struct ulp_model *model;
        struct ulp_tensor_set inputs;
        struct ulp_audit audit;
        struct ulp_error error;
        ck_ulp_ok(ulp_model_load(path, &model, &error), error);
        ck_ulp_ok(ulp_tensor_set_read(test_shared("models/magika_v3_3/inputs.npz"), &inputs, &error), error);
        audit_one(model, &inputs, expected[i][0], &audit);
        ck_assert_int_ge(audit.lanes[0].first_born, 0);
        ck_assert_str_eq(audit.lanes[0].nodes[audit.lanes[0].first_born].op, expected[i][1]);
        ulp_audit_free(&audit);
        ulp_tensor_set_free(&inputs);
        ulp_model_free(model);
    }
}
END_TEST

/* The reference audited against itself introduces and carries nothing. */
START_TEST(the_reference_has_no_error)
{
    struct ulp_model *model;
    struct ulp_tensor_set inputs;
    struct ulp_audit audit;
    if (!network_load(0, &model, &inputs))
        return;
    audit_one(model, &inputs, "mpfr:128", &audit);
    for (size_t n = 0; n < audit.lanes[0].node_count; n++)
        for (size_t o = 0; o < audit.lanes[0].nodes[n].output_count; o++) {
            const struct ulp_audit_output *output = &audit.lanes[0].nodes[n].outputs[o];
            ck_assert(output->single.max_abs == 0 && output->introduced.max_abs == 0 && output->carried.max_abs == 0);
        }
    ulp_audit_free(&audit);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* The sum is 1 + 3 * 2^-13, FP16's neighbours are 2^-10 apart, the bias is 2^-12: together 1 + 5 * 2^-13, which is nearer to
 * 1 + 2^-10; the sum rounded first is 1, and 1 + 2^-12 is nearer to 1. */
START_TEST(rounded_epilogues_round_twice)
{
    static const struct {
        const char *arithmetic;
        double wanted;
    } cases[] = {{"fp16", 1 + 0x1p-10}, {"fp16,epilogue=rounded", 1}, {"fp16,epilogue=rounded,unit=none", 1},
                 {"fp16,unit=none", 1 + 0x1p-10}, {"fp16,epilogue=rounded,compute=fp64,acc=fp64,unit=none", 1},
                 {"fp16,epilogue=rounded,round=ru", 1 + 0x1p-9}, {"fp32", 1 + 5 * 0x1p-13}};
    static const float a[] = {1, 0x1p-7f}, b[] = {1, 3 * 0x1p-6f}, bias = 0x1p-12f;
    /* Gemm's a and b are 1 x 2 and 2 x 1; Conv's have two channels of one pixel */
    const struct {
        const char *name;
        int rank;
        int64_t dims[4];
        const float *values;
    } constants[] = {{"a", _i ? 4 : 2, {1, 2, 1, 1}, a}, {"b", _i ? 4 : 2, {_i ? 1 : 2, _i ? 2 : 1, 1, 1}, b}, {"bias", 1, {1}, &bias}};
    struct proto graph = {0}, node = proto_node(_i ? "Conv" : "Gemm", "node", "a b bias", "y");
    for (int i = 0; i < 3; i++) {
        struct proto tensor = proto_tensor(constants[i].name, ULP_TYPE_FLOAT, constants[i].rank, constants[i].dims);
        proto_bytes(&tensor, TENSOR_RAW, constants[i].values, (i < 2 ? 2 : 1) * sizeof(float));
        proto_message(&graph, GRAPH_INITIALIZER, &tensor);
    }
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_FLOAT, _i ? 4 : 2, (const int64_t[]){1, 1, 1, 1});
    proto_message(&graph, GRAPH_NODE, &node);
    struct proto bytes = proto_model(8, 13, &graph);
    struct ulp_model *model;
    struct ulp_error error;
    ck_ulp_ok(ulp_model_load_bytes("epilogue.onnx", bytes.data, bytes.count, &model, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ulp_tensor_set inputs = {0}, outputs = {0};
        const struct ulp_run_options options = {.thread_count = 1};
        run_network(model, &inputs, &cases[i].arithmetic, 1, &options, (struct ulp_observer){0}, &outputs);
        ck_assert_uint_eq(outputs.count, 1);
        const double y = ulp_tensor_get(&outputs.items[0].tensor, 0);
        ck_assert_msg(y == cases[i].wanted, "%s: %a, expected %a", cases[i].arithmetic, y, cases[i].wanted);
        ulp_tensor_set_free(&outputs);
    }
    ulp_model_free(model);
    proto_free(&bytes);
}
END_TEST

/* A scale that is an input of the graph keeps its value in every lane: 240 / 1.3 is 185 (nearest), 240 / 1.25 would be 192 and
 * 240 / 1.375 would be 175. Used as data too, it is rounded. */
START_TEST(parameters_keep_their_values)
{
    static const char *const arithmetics[] = {"fp32", "fp8-e4m3", "mpfr:128", "fp16-strict"};
    struct proto graph = {0}, quantize = proto_node("QuantizeLinear", "", "x scale", "y"), copy = proto_node("Neg", "", "scale", "z");
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 1, (const int64_t[]){1});
    proto_value(&graph, GRAPH_INPUT, "scale", ULP_TYPE_FLOAT, 0, NULL);
    proto_value(&graph, GRAPH_OUTPUT, "y", ULP_TYPE_UINT8, 1, (const int64_t[]){1});
    proto_message(&graph, GRAPH_NODE, &quantize);
    if (_i)
        proto_message(&graph, GRAPH_NODE, &copy);
    else
        proto_free(&copy);
    struct proto bytes = proto_model(8, 13, &graph);
    struct ulp_model *model;
    struct ulp_error error;
    ck_ulp_ok(ulp_model_load_bytes("parameter.onnx", bytes.data, bytes.count, &model, &error), error);
    struct ulp_tensor_set inputs = {0};
    for (int i = 0; i < 2; i++) {
        struct ulp_tensor tensor;
        ck_ulp_ok(ulp_tensor_create(&tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, 1 - i, (const int64_t[]){1}, &error), error);
        *(float *)tensor.data = i ? 1.3f : 240;
        ck_ulp_ok(ulp_tensor_set_add(&inputs, i ? "scale" : "x", &tensor, &error), error);
    }
    for (size_t i = 0; i < sizeof arithmetics / sizeof *arithmetics; i++) {
        struct ulp_tensor_set outputs = {0};
        const struct ulp_run_options options = {.thread_count = 1};
        run_network(model, &inputs, &arithmetics[i], 1, &options, (struct ulp_observer){0}, &outputs);
        const double y = ulp_tensor_get(&outputs.items[0].tensor, 0), wanted = _i && i == 1 ? 192 : 185;
        ck_assert_msg(y == wanted, "%s: %g, expected %g", arithmetics[i], y, wanted);
        ulp_tensor_set_free(&outputs);
    }
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    proto_free(&bytes);
}
END_TEST

/* 4096 sums of 1 + 2^-11, half way between FP16's neighbours, in two nodes: each result is either neighbour, and the two nodes
 * agree in half of them; so do a sum's rounding and that of its bias, 2^-11 (epilogue=rounded): equally often both are up, one, or
 * none. Limits are five standard deviations of 4096 fair coins, 32. */
START_TEST(stochastic_roundings_draw_their_own_numbers)
{
    enum { COUNT = 4096 };
    static float a[COUNT][2];
    static const float b[] = {1, 0x1p-5f}, bias = 0x1p-11f, none = 0;
    static const char *const arithmetics[] = {"fp16,round=sr", "fp16,round=sr,epilogue=rounded", "fp16,round=sr,unit=none"};
    const char *const arithmetic = arithmetics[_i];
    const struct {
        const char *name;
        int rank;
        int64_t dims[2];
        const void *values;
        size_t bytes;
    } constants[] = {{"a", 2, {COUNT, 2}, a, sizeof a}, {"b", 2, {2, 1}, b, sizeof b}, {"bias", 1, {1}, &bias, sizeof bias},
                     {"none", 1, {1}, &none, sizeof none}};
    static const char *const names[][3] = {{"first", "a b none", "y"}, {"second", "a b none", "z"}, {"third", "a b bias", "w"}};
    for (size_t i = 0; i < COUNT; i++) {
        a[i][0] = 1;
        a[i][1] = 0x1p-6f;
    }
    struct proto graph = {0};
    for (int i = 0; i < 4; i++) {
        struct proto tensor = proto_tensor(constants[i].name, ULP_TYPE_FLOAT, constants[i].rank, constants[i].dims);
        proto_bytes(&tensor, TENSOR_RAW, constants[i].values, constants[i].bytes);
        proto_message(&graph, GRAPH_INITIALIZER, &tensor);
    }
    for (int i = 0; i < 3; i++) {
        struct proto node = proto_node("Gemm", names[i][0], names[i][1], names[i][2]);
        proto_value(&graph, GRAPH_OUTPUT, names[i][2], ULP_TYPE_FLOAT, 2, (const int64_t[]){COUNT, 1});
        proto_message(&graph, GRAPH_NODE, &node);
    }
    struct proto bytes = proto_model(8, 13, &graph);
    struct ulp_model *model;
    struct ulp_error error;
    ck_ulp_ok(ulp_model_load_bytes("stochastic.onnx", bytes.data, bytes.count, &model, &error), error);
    struct ulp_tensor_set inputs = {0}, outputs = {0};
    const struct ulp_run_options options = {.thread_count = 1};
    run_network(model, &inputs, &arithmetic, 1, &options, (struct ulp_observer){0}, &outputs);
    ck_assert_uint_eq(outputs.count, 3);
    int up = 0, equal = 0, once = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const double y = ulp_tensor_get(&outputs.items[0].tensor, i), z = ulp_tensor_get(&outputs.items[1].tensor, i),
                     w = ulp_tensor_get(&outputs.items[2].tensor, i);
        ck_assert(y == 1 || y == 1 + 0x1p-10);
        up += y > 1;
        equal += y == z;
        once += w == 1 + 0x1p-10;
    }
    ck_assert_msg(abs(up - COUNT / 2) < 160, "%s: %d up", arithmetic, up);
    ck_assert_msg(abs(equal - COUNT / 2) < 160, "%s: two nodes agree in %d", arithmetic, equal);
    if (_i == 1)
        ck_assert_msg(abs(once - COUNT / 2) < 160, "%s: sum and bias agree in %d", arithmetic, COUNT - once);
    else
        ck_assert_int_eq(once, COUNT); /* exact */
    ulp_tensor_set_free(&outputs);
    ulp_model_free(model);
    proto_free(&bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run");
    TCase *tests = tcase_create("run");
    tcase_set_timeout(tests, test_long() ? 1200 : 120);
    tcase_add_loop_test(tests, outputs_agree_with_the_recorded_ones, 0, network_count);
    tcase_add_loop_test(tests, introduced_and_carried_make_entire, 0, network_count);
    tcase_add_loop_test(tests, lanes_are_independent_of_each_other_and_of_threads, 0, network_count);
    tcase_add_loop_test(tests, overflow_is_born_where_it_is_born, 0, 2);
    tcase_add_test(tests, another_decision_is_a_divergence);
    tcase_add_test(tests, a_step_of_a_scale_is_an_error);
    tcase_add_test(tests, declared_types_are_obeyed);
    tcase_add_test(tests, the_reference_has_no_error);
    tcase_add_loop_test(tests, rounded_epilogues_round_twice, 0, 2);
    tcase_add_loop_test(tests, parameters_keep_their_values, 0, 2);
    tcase_add_loop_test(tests, stochastic_roundings_draw_their_own_numbers, 0, 3);
    suite_add_tcase(suite, tests);
    return test_run(suite, NULL);
}
