/* analysis: decisions that another rounding turns, and figures behind them. Values are chosen so
 * that FP16 rounds two of them onto others, and everything below follows by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope.h>

#include "load/load.h"
#include "tests/support/proto.h"
#include "tests/support/test.h"
#include "analysis/audit/auditor.h"

#define COUNT 6
#define TINY 0x1p-12 /* a quarter of FP16's unit at 1, an eighth at 2 */

/* 1 and 1 + TINY are one number in FP16, and 3 - TINY is 3. */
static const float values[COUNT] = {1, 1 + (float)TINY, 3 - (float)TINY, 2, 5, 4};

static void add_node(struct proto *graph, struct proto node, const char *attribute, int64_t number)
{
    if (attribute) {
        struct proto message = {0};
        proto_text(&message, ATTRIBUTE_NAME, attribute);
        proto_int(&message, ATTRIBUTE_TYPE, 2);
        proto_int(&message, ATTRIBUTE_I, number);
        proto_message(&node, NODE_ATTRIBUTE, &message);
    }
    proto_message(graph, GRAPH_NODE, &node);
}

/* top: values v and indices i of all, picked again as g; bigger c: x > 1; whole k: x cast. */
static struct ulp_model *make_model(void)
{
    static const int64_t dims[] = {1, COUNT}, one[] = {1}, all = COUNT;
    static const float threshold = 1;
    struct proto graph = {0}, k = proto_tensor("all", ULP_TYPE_INT64, 1, one),
                 t = proto_tensor("one", ULP_TYPE_FLOAT, 0, NULL);
    struct ulp_model *model;
    proto_value(&graph, GRAPH_INPUT, "x", ULP_TYPE_FLOAT, 2, dims);
    static const char *const outputs[] = {"v", "i", "g", "c", "k", "a"};
    static const int types[] = {ULP_TYPE_FLOAT, ULP_TYPE_INT64, ULP_TYPE_FLOAT,
                                ULP_TYPE_BOOL,  ULP_TYPE_INT64, ULP_TYPE_INT64};
    for (size_t o = 0; o < 6; o++)
        proto_value(&graph, GRAPH_OUTPUT, outputs[o], types[o], -1, NULL);
    proto_numbers(&k, TENSOR_RAW, &all, sizeof all);
    proto_numbers(&t, TENSOR_RAW, &threshold, sizeof threshold);
    proto_message(&graph, GRAPH_INITIALIZER, &k);
    proto_message(&graph, GRAPH_INITIALIZER, &t);
    add_node(&graph, proto_node("TopK", "top", "x all", "v i"), "axis", -1);
    add_node(&graph, proto_node("GatherElements", "again", "x i", "g"), "axis", 1);
    add_node(&graph, proto_node("Greater", "bigger", "x one", "c"), NULL, 0);
    add_node(&graph, proto_node("Cast", "whole", "x", "k"), "to", ULP_TYPE_INT64);
    add_node(&graph, proto_node("Floor", "down", "x", "d"), NULL, 0);
    add_node(&graph, proto_node("Cast", "after", "d", "a"), "to", ULP_TYPE_INT64);
    struct proto bytes = proto_model(8, 16, &graph);
    ck_ok(ulp_model_load_bytes("top.onnx", bytes.data, bytes.count, NULL, &model, &why));
    proto_free(&bytes);
    return model;
}

static struct ulp_audit audit_inputs(const struct ulp_model *model,
                                     const struct ulp_tensor_set *inputs)
{
    const struct ulp_run_options run = {.thread_count = 1, .audit = true},
                                 follow = {.thread_count = 1, .follow = true};
    struct ulp_arithmetic lanes[3];
    struct ulp_program *program;
    struct ulp_auditor *auditor;
    struct ulp_audit out;
    const struct ulp_program_options options = {.inputs = inputs};
    for (size_t l = 0; l < 3; l++)
        lanes[l] = test_arithmetic((const char *[]){"mpfr:128", "fp16", "fp32"}[l]);
    ck_ok(ulp_program_create(model, lanes, 3, &options, &program, &why));
    ck_ok(ulp_auditor_create(program, &auditor, &why));
    const struct ulp_observer first = ulp_auditor_observer(auditor),
                              second = ulp_auditor_follower(auditor);
    for (int sample = 0; sample < 2; sample++) {
        ck_ok(ulp_auditor_sample(auditor, "sample", &why));
        ck_assert(!ulp_auditor_has_diverged(auditor));
        ck_ok(ulp_program_run(program, inputs, &run, &first, 1, NULL, NULL, &why));
        ck_assert(ulp_auditor_has_diverged(auditor));
        ck_ok(ulp_program_run(program, inputs, &follow, &second, 1, NULL, NULL, &why));
    }
    ck_ok(ulp_auditor_finish(auditor, &out, &why));
    ulp_auditor_free(auditor);
    ulp_program_free(program);
    return out;
}

static void add_input(struct ulp_tensor_set *inputs, const char *name, int rank,
                      const int64_t *dims, const float *elements)
{
    struct ulp_tensor x;
    ck_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT, ULP_ELEMENT_COUNT, 0, rank, dims, &why));
    memcpy(x.data, elements, x.count * sizeof *elements);
    ck_ok(ulp_tensor_set_add(inputs, name, &x, &why));
}

static struct ulp_audit audit(const struct ulp_model *model)
{
    struct ulp_tensor_set inputs = {0};
    add_input(&inputs, "x", 2, (const int64_t[]){1, COUNT}, values);
    struct ulp_audit out = audit_inputs(model, &inputs);
    ulp_tensor_set_free(&inputs);
    return out;
}

static const struct ulp_divergence *find(const struct ulp_audit *audit, const char *name)
{
    const struct ulp_audit_node *outputs = &audit->lanes[0].outputs;
    for (size_t o = 0; o < outputs->output_count; o++)
        if (strcmp(outputs->outputs[o].name, name) == 0)
            return outputs->outputs[o].divergence;
    ck_abort_msg("no output %s", name);
    return NULL;
}

TEST(decisions)
{
    static const struct {
        const char *name;
        size_t differing, first;
    } rows[] = {{"i", 2, 4}, {"c", 1, 1}, {"k", 1, 2}};
    struct ulp_model *model = make_model();
    struct ulp_audit result = audit(model);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct ulp_divergence *divergence = find(&result, rows[r].name);
        ck_assert_msg(divergence && divergence->count == COUNT &&
                          divergence->differing == rows[r].differing &&
                          divergence->first == rows[r].first,
                      "%s", rows[r].name);
        ck_assert_msg(divergence->margin == TINY && divergence->margin_error == TINY, "%s: %g, %g",
                      rows[r].name, divergence->margin, divergence->margin_error);
        ck_assert(divergence->followed.given && divergence->followed.metrics.rms == 0 &&
                  !divergence->followed.metrics.diverged);
    }
    /* a Cast of whole numbers decides nothing: the Floor before it does */
    const struct ulp_divergence *after = find(&result, "a");
    ck_assert(after->differing == 1 && after->first == 2 && isnan(after->margin));
    for (size_t n = 0; n < result.lanes[0].node_count; n++)
        if (strcmp(result.lanes[0].nodes[n].name, "down") == 0) {
            const struct ulp_divergence *down = result.lanes[0].nodes[n].outputs[0].divergence;
            ck_assert(down && down->differing == 1 && down->margin == TINY &&
                      down->margin_error == TINY);
        }
    for (size_t o = 0; o < result.lanes[1].outputs.output_count; o++)
        ck_assert_ptr_null(result.lanes[1].outputs.outputs[o].divergence); /* FP32 holds them */
    ulp_audit_free(&result);
    ulp_model_free(model);
}

/* Values picked by other indices have the figures of what the reference would have picked. */
TEST(what_follows)
{
    struct ulp_model *model = make_model();
    struct ulp_audit result = audit(model);
    const struct ulp_divergence *again = find(&result, "g"), *indices = find(&result, "i");
    /* x less what FP16 holds: TINY at two of six places */
    const double rms = sqrt(2 * TINY * TINY / COUNT);
    ck_assert(again->followed.given && again->followed.metrics.count == COUNT);
    ck_assert(fabs(again->followed.metrics.rms / rms - 1) < 1e-12 &&
              again->followed.metrics.max_abs == TINY);
    ck_assert(again->differing == 0 && isnan(again->margin));
    ck_assert(indices->matched.given && indices->matched.rows == COUNT &&
              indices->matched.moved == 2 && indices->matched.differing == 0 &&
              indices->matched.rms == 0);
    ck_assert(again->matched.given && again->matched.differing == 2 &&
              again->matched.max_abs == TINY);
    ulp_audit_free(&result);
    ulp_model_free(model);
}

/* Limits are of the figures with the reference's decisions; reports hold them. */
TEST(limits_and_reports)
{
    struct ulp_model *model = make_model();
    struct ulp_audit result = audit(model);
    char *summary;
    ck_assert(test_crosses(&result, "diverged=0") && !test_crosses(&result, "fp32:diverged=0"));
    ck_assert(!test_crosses(&result, "g:max_abs=0.000245") &&
              test_crosses(&result, "g:max_abs=0.000244"));
    /* indices are the decision itself: with the reference's they would be compared with themselves
     */
    ck_assert(test_crosses(&result, "i:max_abs=9") && test_crosses(&result, "max_abs=0.000245"));
    ck_assert(!test_crosses(&result, "fp32:i:max_abs=0"));
    ck_ok(ulp_report_text(&result, 100, false, &summary, &why));
    ck_assert_ptr_nonnull(strstr(summary, "ahead by 0.000244"));
    free(summary);
    ulp_audit_free(&result);
    ulp_model_free(model);
}

#define BOXES 3

static struct ulp_model *make_detector(float iou, float least)
{
    static const int64_t box_dims[] = {1, BOXES, 4}, score_dims[] = {1, 1, BOXES}, most = BOXES;
    struct proto graph = {0}, k = proto_tensor("most", ULP_TYPE_INT64, 0, NULL),
                 t = proto_tensor("iou", ULP_TYPE_FLOAT, 0, NULL),
                 s = proto_tensor("least", ULP_TYPE_FLOAT, 0, NULL);
    struct ulp_model *model;
    proto_value(&graph, GRAPH_INPUT, "boxes", ULP_TYPE_FLOAT, 3, box_dims);
    proto_value(&graph, GRAPH_INPUT, "scores", ULP_TYPE_FLOAT, 3, score_dims);
    proto_value(&graph, GRAPH_OUTPUT, "kept", ULP_TYPE_INT64, -1, NULL);
    proto_numbers(&k, TENSOR_RAW, &most, sizeof most);
    proto_numbers(&t, TENSOR_RAW, &iou, sizeof iou);
    proto_numbers(&s, TENSOR_RAW, &least, sizeof least);
    proto_message(&graph, GRAPH_INITIALIZER, &k);
    proto_message(&graph, GRAPH_INITIALIZER, &t);
    proto_message(&graph, GRAPH_INITIALIZER, &s);
    add_node(&graph, proto_node("NonMaxSuppression", "nms", "boxes scores most iou least", "kept"),
             NULL, 0);
    struct proto bytes = proto_model(8, 16, &graph);
    ck_ok(ulp_model_load_bytes("nms.onnx", bytes.data, bytes.count, NULL, &model, &why));
    proto_free(&bytes);
    return model;
}

/* Which comparison FP16 turns: of two scores, of an overlap (of 1 x 1 in 1 x 2 - TINY), of a score
 * with the threshold. The last two make the list longer or shorter. */
TEST(suppression)
{
    const float two = 2 - (float)TINY;
    const struct {
        float boxes[4 * BOXES], scores[BOXES], least;
        size_t row;
        double margin;
    } rows[] = {
        {{0, 0, 1, 1, 5, 5, 6, 6, 8, 8, 9, 9}, {1, 1 + (float)TINY, 4}, 0, 1, TINY},
        {{0, 0, 1, 1, 0, 0, 1, two, 8, 8, 9, 9}, {2, 3, 4}, 0, 2, 1 / (double)two - 0.5},
        {{0, 0, 1, 1, 5, 5, 6, 6, 8, 8, 9, 9}, {1 + (float)TINY, 3, 4}, 1, 2, TINY},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct ulp_model *model = make_detector(0.5f, rows[r].least);
        struct ulp_tensor_set inputs = {0};
        add_input(&inputs, "boxes", 3, (const int64_t[]){1, BOXES, 4}, rows[r].boxes);
        add_input(&inputs, "scores", 3, (const int64_t[]){1, 1, BOXES}, rows[r].scores);
        struct ulp_audit result = audit_inputs(model, &inputs);
        const struct ulp_divergence *divergence = find(&result, "kept");
        ck_assert_ptr_nonnull(divergence);
        ck_assert_msg(divergence->reshaped == (r > 0) && divergence->first == 3 * rows[r].row &&
                          divergence->margin == rows[r].margin &&
                          divergence->margin_error == rows[r].margin,
                      "%zu: first %zu, margin %g, error %g", r, divergence->first,
                      divergence->margin, divergence->margin_error);
        ulp_audit_free(&result);
        ulp_tensor_set_free(&inputs);
        ulp_model_free(model);
    }
}

TEST_SUITE("divergence", 0)
