/* run and analysis: nodes inside If, Loop and Scan. Their figures are, bit for bit, those of the same graph written without control
 * flow; rounds are one row; a lane that decides otherwise than the reference says so; joined figures against concatenated tensors. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ulpscope.h>

#include "base/random.h"
#include "load/load.h"
#include "metrics.h"
#include "proto.h"

/* A graph as text. A name that starts with i_ is INT64, with b_ BOOL, others FLOAT. */
struct text_node {
    const char *op, *name, *inputs, *outputs;
    const struct text_graph *bodies[2]; /* then and else, or the body */
    int64_t scan_inputs;
};
struct text_graph {
    const char *inputs, *outputs;
    struct text_node nodes[16];
};

#define NODE(OP, NAME, INPUTS, OUTPUTS) {.op = OP, .name = NAME, .inputs = INPUTS, .outputs = OUTPUTS}
#define CONTROL(OP, NAME, INPUTS, OUTPUTS, ...) {.op = OP, .name = NAME, .inputs = INPUTS, .outputs = OUTPUTS, .bodies = {__VA_ARGS__}}
#define SCAN(OP, NAME, INPUTS, OUTPUTS, BODY, COUNT) \
    {.op = OP, .name = NAME, .inputs = INPUTS, .outputs = OUTPUTS, .bodies = {BODY}, .scan_inputs = COUNT}

static int type_of(const char *name)
{
    return strncmp(name, "i_", 2) == 0 ? ULP_TYPE_INT64 : strncmp(name, "b_", 2) == 0 ? ULP_TYPE_BOOL : ULP_TYPE_FLOAT;
}

/* -1: no dimensions are declared. */
static void add_values(struct proto *graph, int field, const char *names, bool shaped)
{
    char name[64];
    int used;
    for (; sscanf(names, "%63s%n", name, &used) == 1; names += used) {
        static const int64_t dims[2] = {3, 8};
        int rank = !shaped ? -1 : type_of(name) == ULP_TYPE_FLOAT ? 2 : 0;
        proto_value(graph, field, name, type_of(name), rank, dims);
    }
}

static void add_attribute(struct proto *node, const char *name, struct proto *graph, int64_t number)
{
    struct proto attribute = {0};
    proto_text(&attribute, ATTRIBUTE_NAME, name);
    proto_int(&attribute, ATTRIBUTE_TYPE, graph ? 5 : 2);
    if (graph)
        proto_message(&attribute, ATTRIBUTE_G, graph);
    else
        proto_int(&attribute, ATTRIBUTE_I, number);
    proto_message(node, NODE_ATTRIBUTE, &attribute);
}

static struct proto write_graph(const struct text_graph *text, bool main)
{
    struct proto graph = {0};
    proto_text(&graph, GRAPH_NAME, "g");
    add_values(&graph, GRAPH_INPUT, text->inputs, main);
    add_values(&graph, GRAPH_OUTPUT, text->outputs, false);
    for (const struct text_node *from = text->nodes; from->op; from++) {
        struct proto node = proto_node(from->op, from->name, from->inputs, from->outputs);
        for (int b = 0; b < 2 && from->bodies[b]; b++) {
            struct proto body = write_graph(from->bodies[b], false);
            add_attribute(&node, strcmp(from->op, "If") != 0 ? "body" : b ? "else_branch" : "then_branch", &body, 0);
        }
        if (from->scan_inputs)
            add_attribute(&node, "num_scan_inputs", NULL, from->scan_inputs);
        proto_message(&graph, GRAPH_NODE, &node);
    }
    return graph;
}

static void add_floats(struct proto *graph, const char *name, int rank, const int64_t *dims, const float *values)
{
    struct proto tensor = proto_tensor(name, ULP_TYPE_FLOAT, rank, dims);
    size_t count = 1;
    for (int d = 0; d < rank; d++)
        count *= (size_t)dims[d];
    proto_bytes(&tensor, TENSOR_RAW, values, count * sizeof *values);
    proto_message(graph, GRAPH_INITIALIZER, &tensor);
}

/* The text's model, with the constants w [8,8], two, big (scalars), b_yes, and i_0, i_1, i_2. */
static struct ulp_model *load_text(const struct text_graph *text)
{
    struct proto graph = write_graph(text, true), yes = proto_tensor("b_yes", ULP_TYPE_BOOL, 0, NULL);
    struct ulp_model *model;
    struct ulp_error error;
    float w[64];
    for (size_t i = 0; i < 64; i++)
        w[i] = (float)(ulp_random_uniform(7, i) - 0.5);
    add_floats(&graph, "w", 2, (const int64_t[]){8, 8}, w);
    add_floats(&graph, "two", 0, NULL, (const float[]){2});
    add_floats(&graph, "big", 0, NULL, (const float[]){300});
    proto_bytes(&yes, TENSOR_RAW, "\1", 1);
    proto_message(&graph, GRAPH_INITIALIZER, &yes);
    for (int64_t i = 0; i < 3; i++) {
        struct proto number = proto_tensor((const char *[]){"i_0", "i_1", "i_2"}[i], ULP_TYPE_INT64, 0, NULL);
        proto_bytes(&number, TENSOR_RAW, &i, sizeof i);
        proto_message(&graph, GRAPH_INITIALIZER, &number);
    }
    struct proto bytes = proto_model(8, 16, &graph);
    ck_ulp_ok(ulp_model_load_bytes("bodies.onnx", bytes.data, bytes.count, &model, &error), error);
    proto_free(&bytes);
    return model;
}

/* x random (or all x0), integers 3, truth as told. */
static struct ulp_tensor_set make_inputs(const struct ulp_model *model, uint64_t seed, double x0, bool truth)
{
    struct ulp_tensor_set inputs = {0};
    struct ulp_error error;
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        struct ulp_value_info info = ulp_model_input(model, i);
        struct ulp_tensor tensor;
        ck_ulp_ok(ulp_tensor_create(&tensor, info.type, ULP_ELEMENT_COUNT, 0, info.rank, info.dims, &error), error);
        for (size_t e = 0; e < tensor.count; e++) {
            if (info.type == ULP_TYPE_FLOAT)
                ((float *)tensor.data)[e] = x0 > 0 ? (float)x0 : (float)(4 * ulp_random_uniform(seed + i, e) - 2);
            else if (info.type == ULP_TYPE_INT64)
                ((int64_t *)tensor.data)[e] = 3;
            else
                ((uint8_t *)tensor.data)[e] = truth;
        }
        ck_ulp_ok(ulp_tensor_set_add(&inputs, info.name, &tensor, &error), error);
    }
    return inputs;
}

#define LANES 6
static const char *const lane_names[LANES] = {"mpfr:128", "fp16", "fp32", "bf16-strict", "tf32", "model"};

static struct ulp_plan *make_plan(const struct ulp_model *model, const struct ulp_tensor_set *inputs, size_t first, size_t count)
{
    struct ulp_arithmetic lanes[LANES];
    const struct ulp_plan_options options = {.inputs = inputs};
    struct ulp_plan *plan;
    struct ulp_error error;
    for (size_t l = 0; l < count; l++)
        ck_ulp_ok(ulp_arithmetic_find(lane_names[first + l], &lanes[l], &error), error);
    ck_ulp_ok(ulp_plan_create(model, lanes, count, &options, &plan, &error), error);
    return plan;
}

/* Audit with the samples; what outputs the lanes gave for the last one must be those each lane gives alone. */
static void audit(const struct ulp_model *model, const struct ulp_tensor_set *samples, size_t sample_count, int threads,
                  struct ulp_audit *out)
{
    const struct ulp_run_options options = {.thread_count = threads, .audit = true}, alone = {.thread_count = 1};
    struct ulp_plan *plan = make_plan(model, &samples[0], 0, LANES);
    struct ulp_auditor *auditor;
    struct ulp_tensor_set outputs[LANES];
    struct ulp_error error;
    ck_ulp_ok(ulp_auditor_create(plan, &auditor, &error), error);
    const struct ulp_observer observer = ulp_auditor_observer(auditor);
    for (size_t s = 0; s < sample_count; s++) {
        ck_ulp_ok(ulp_auditor_sample(auditor, "sample", &error), error);
        ck_ulp_ok(ulp_plan_run(plan, &samples[s], &options, &observer, 1, outputs, NULL, &error), error);
        for (size_t l = 0; l < LANES; l++) {
            struct ulp_plan *single = make_plan(model, &samples[s], l, 1);
            struct ulp_tensor_set wanted;
            ck_ulp_ok(ulp_plan_run(single, &samples[s], &alone, NULL, 0, &wanted, NULL, &error), error);
            for (size_t o = 0; o < wanted.count; o++) {
                const struct ulp_tensor *a = &wanted.items[o].tensor, *b = &outputs[l].items[o].tensor;
                ck_assert_msg(a->count == b->count && a->element == b->element &&
                              memcmp(a->data, b->data, a->count * a->element_bytes) == 0, "%s of %s differs when %s is alone",
                              wanted.items[o].name, lane_names[l], lane_names[l]);
            }
            ulp_tensor_set_free(&wanted);
            ulp_tensor_set_free(&outputs[l]);
            ulp_plan_free(single);
        }
    }
    ck_ulp_ok(ulp_auditor_finish(auditor, out, &error), error);
    ulp_auditor_free(auditor);
    ulp_plan_free(plan);
}

static void audit_text(const struct text_graph *text, uint64_t seed, double x0, bool truth, int threads, struct ulp_audit *out)
{
    struct ulp_model *model = load_text(text);
    struct ulp_tensor_set inputs = make_inputs(model, seed, x0, truth);
    audit(model, &inputs, 1, threads, out);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}

static const struct ulp_audit_node *find_node(const struct ulp_audit *audit, size_t lane, const char *name)
{
    for (size_t n = 0; n < audit->lanes[lane].node_count; n++)
        if (strcmp(audit->lanes[lane].nodes[n].name, name) == 0)
            return &audit->lanes[lane].nodes[n];
    ck_abort_msg("no node %s", name);
    return NULL;
}

static bool same_range(const struct ulp_range *a, const struct ulp_range *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* memcmp of structs with padding: these come from the same assignments, but compare what is named. */
static bool same_metrics(const struct ulp_metrics *a, const struct ulp_metrics *b)
{
    return memcmp(a, b, offsetof(struct ulp_metrics, nonfinite)) == 0 && a->nonfinite == b->nonfinite &&
           a->worst_index == b->worst_index && a->count == b->count && a->diverged == b->diverged;
}

static bool same_samples(const struct ulp_audit_samples *a, const struct ulp_audit_samples *b)
{
    return !a == !b && (!a || (same_metrics(&a->single_mean, &b->single_mean) && same_metrics(&a->entire_limit, &b->entire_limit)));
}

static void expect_same_node(const struct ulp_audit_node *a, const struct ulp_audit_node *b)
{
    ck_assert_uint_eq(a->output_count, b->output_count);
    ck_assert_msg(a->born == b->born && a->poisoned == b->poisoned && a->decided == b->decided, "%s is judged otherwise", a->name);
    for (size_t o = 0; o < a->output_count; o++) {
        const struct ulp_audit_output *p = &a->outputs[o], *q = &b->outputs[o];
        ck_assert_msg(same_metrics(&p->single, &q->single) && same_metrics(&p->entire, &q->entire) &&
                      same_metrics(&p->introduced, &q->introduced) && same_metrics(&p->carried, &q->carried) &&
                      same_samples(p->samples, q->samples) && same_range(&p->range, &q->range), "output %zu of %s differs from that of %s: rms %g and %g", o, a->name, b->name,
                      p->introduced.rms, q->introduced.rms);
    }
}

/* Every node of `flat` is in `nested` under its name after one of the prefixes, with the same figures. */
static void expect_flat(const struct ulp_audit *nested, const struct ulp_audit *flat, const char *const *prefixes)
{
    for (size_t l = 0; l < flat->lane_count; l++)
        for (size_t n = 0; n < flat->lanes[l].node_count; n++) {
            const struct ulp_audit_node *wanted = &flat->lanes[l].nodes[n], *found = NULL;
            for (size_t i = 0; i < nested->lanes[l].node_count && !found; i++)
                for (const char *const *prefix = prefixes; *prefix && !found; prefix++) {
                    const char *name = nested->lanes[l].nodes[i].name;
                    size_t length = strlen(*prefix);
                    if (strncmp(name, *prefix, length) == 0 && strcmp(name + length, wanted->name) == 0)
                        found = &nested->lanes[l].nodes[i];
                }
            ck_assert_msg(found, "%s is not there", wanted->name);
            ck_assert_uint_eq(found->rounds, wanted->rounds);
            expect_same_node(found, wanted);
        }
}

/* ---- If ---- */

static const struct text_graph inner_then = {"", "p", {NODE("Mul", "scale", "a x", "s"), NODE("MatMul", "project", "s w", "p")}};
static const struct text_graph inner_else = {"", "q", {NODE("Neg", "minus", "a", "q")}};
static const struct text_graph outer_then = {"", "t",
    {NODE("Sigmoid", "gate", "h", "a"), CONTROL("If", "inner", "b_flag", "r", &inner_then, &inner_else), NODE("Softmax", "soft", "r", "t")}};
static const struct text_graph outer_else = {"", "e", {NODE("Exp", "power", "h", "e")}};
static const struct text_graph nested_if = {"x b_flag", "y",
    {NODE("MatMul", "first", "x w", "h"), CONTROL("If", "if", "b_flag", "z", &outer_then, &outer_else), NODE("Mul", "last", "z x", "y")}};
static const struct text_graph flat_then = {"x b_flag", "y",
    {NODE("MatMul", "first", "x w", "h"), NODE("Sigmoid", "gate", "h", "a"), NODE("Mul", "scale", "a x", "s"), NODE("MatMul", "project", "s w", "r"),
     NODE("Softmax", "soft", "r", "z"), NODE("Mul", "last", "z x", "y")}};
static const struct text_graph flat_else = {"x b_flag", "y",
    {NODE("MatMul", "first", "x w", "h"), NODE("Exp", "power", "h", "z"), NODE("Mul", "last", "z x", "y")}};
/* the same with a condition that planning knows */
static const struct text_graph known_then = {"", "t",
    {NODE("Sigmoid", "gate", "h", "a"), CONTROL("If", "inner", "b_yes", "r", &inner_then, &inner_else), NODE("Softmax", "soft", "r", "t")}};
static const struct text_graph known_if = {"x b_flag", "y",
    {NODE("MatMul", "first", "x w", "h"), CONTROL("If", "if", "b_yes", "z", &known_then, &outer_else), NODE("Mul", "last", "z x", "y")}};

static const char *const if_prefixes[] = {"", "if/", "if/inner/", NULL};

START_TEST(nodes_of_branches_are_those_of_the_flat_graph)
{
    struct ulp_audit nested, flat;
    const bool truth = _i % 2 == 0;
    audit_text(&nested_if, 1, 0, truth, _i < 2 ? 1 : 3, &nested);
    audit_text(truth ? &flat_then : &flat_else, 1, 0, truth, 1, &flat);
    expect_flat(&nested, &flat, if_prefixes);
    for (size_t l = 0; l < nested.lane_count; l++) {
        const struct ulp_audit_node *node = find_node(&nested, l, "if"), *idle = find_node(&nested, l, truth ? "if/power" : "if/gate");
        const struct ulp_audit_node *last = find_node(&nested, l, truth ? "if/soft" : "if/power");
        ck_assert(idle->rounds == 0 && idle->output_count == 0);
        ck_assert(node->rounds == 1 && node->outputs[0].introduced.max_abs == 0);
        ck_assert(same_metrics(&node->outputs[0].entire, &last->outputs[0].entire));
        ck_assert(same_metrics(&node->outputs[0].entire, &node->outputs[0].carried));
        ck_assert(last->index < node->index && nested.lanes[l].first_decided < 0);
        ck_assert_str_eq(nested.lanes[l].outputs.outputs[0].name, "y");
    }
    ulp_audit_free(&flat);
    ulp_audit_free(&nested);
}
END_TEST

START_TEST(an_if_with_a_known_condition_is_its_branch)
{
    struct ulp_audit known, flat;
    audit_text(&known_if, 1, 0, true, 1, &known);
    audit_text(&flat_then, 1, 0, true, 1, &flat);
    expect_flat(&known, &flat, if_prefixes);
    ck_assert_uint_eq(known.lanes[0].node_count, flat.lanes[0].node_count);
    ck_assert_str_eq(find_node(&known, 0, "if/soft")->outputs[0].name, "z");
    ulp_audit_free(&flat);
    ulp_audit_free(&known);
}
END_TEST

/* Branches that give a captured value, a constant, and one value twice; straight to the graph's outputs, and into other bodies. */
static const struct text_graph aliases_then = {"", "h w d d", {NODE("Relu", "relu", "h", "d")}};
static const struct text_graph aliases_else = {"", "h h h h", {NODE("Relu", "other", "h", "unused")}};
static const struct text_graph uses_then = {"", "u", {NODE("Add", "add", "p r", "u")}};
static const struct text_graph uses_else = {"", "v", {NODE("Sub", "subtract", "p s", "v")}};
#define ALIASES(CONDITION)                                                                                                \
    {"x b_flag", "p q r s y",                                                                                             \
     {NODE("MatMul", "first", "x w", "h"), CONTROL("If", "if", CONDITION, "p q r s", &aliases_then, &aliases_else),       \
      CONTROL("If", "uses", "b_flag", "v", &uses_then, &uses_else), NODE("MatMul", "last", "v q", "y")}}
static const struct text_graph aliases[] = {ALIASES("b_yes"), ALIASES("b_flag")};

START_TEST(branches_may_give_what_is_not_theirs)
{
    struct ulp_tensor_set outputs[2];
    struct ulp_error error;
    for (int known = 0; known < 2; known++) {
        struct ulp_model *model = load_text(&aliases[known]);
        struct ulp_tensor_set inputs = make_inputs(model, 3, 0, true);
        struct ulp_plan *plan = make_plan(model, &inputs, 1, 1);
        ck_ulp_ok(ulp_plan_run(plan, &inputs, NULL, NULL, 0, &outputs[known], NULL, &error), error);
        ck_assert_uint_eq(outputs[known].count, 5);
        ulp_plan_free(plan);
        struct ulp_audit result;
        audit(model, &inputs, 1, 1, &result);
        ulp_audit_free(&result);
        ulp_tensor_set_free(&inputs);
        ulp_model_free(model);
    }
    for (size_t o = 0; o < 5; o++) {
        const struct ulp_tensor *a = &outputs[0].items[o].tensor, *b = &outputs[1].items[o].tensor;
        ck_assert(a->count == b->count && memcmp(a->data, b->data, a->count * a->element_bytes) == 0);
    }
    ulp_tensor_set_free(&outputs[0]);
    ulp_tensor_set_free(&outputs[1]);
}
END_TEST

/* ---- Loop and Scan ---- */

static const struct text_graph loop_body = {"i_n b_c s", "b_d t r",
    {NODE("MatMul", "step", "s w", "m"), NODE("Add", "add", "m x", "a"), NODE("Tanh", "bend", "a", "t"), NODE("Mul", "square", "t t", "r"),
     NODE("Identity", "go", "b_c", "b_d")}};
static const struct text_graph looped = {"x i_count", "y z", {CONTROL("Loop", "loop", "i_count b_yes x", "y z", &loop_body)}};
static const struct text_graph unrolled = {"x i_count", "t2 z",
    {NODE("MatMul", "0/step", "x w", "m0"), NODE("Add", "0/add", "m0 x", "a0"), NODE("Tanh", "0/bend", "a0", "t0"), NODE("Mul", "0/square", "t0 t0", "r0"),
     NODE("MatMul", "1/step", "t0 w", "m1"), NODE("Add", "1/add", "m1 x", "a1"), NODE("Tanh", "1/bend", "a1", "t1"), NODE("Mul", "1/square", "t1 t1", "r1"),
     NODE("MatMul", "2/step", "t1 w", "m2"), NODE("Add", "2/add", "m2 x", "a2"), NODE("Tanh", "2/bend", "a2", "t2"), NODE("Mul", "2/square", "t2 t2", "r2"),
     NODE("Concat", "z", "r0 r1 r2", "z")}};

static const struct text_graph scan_body = {"s e", "t r",
    {NODE("Add", "add", "s e", "a"), NODE("Sigmoid", "bend", "a", "t"), NODE("MatMul", "step", "t w", "r")}};
static const struct text_graph scanned = {"x", "y z", {NODE("Gather", "initial", "x i_1", "s"), SCAN("Scan", "loop", "s x", "y z", &scan_body, 1)}};
static const struct text_graph scan_unrolled = {"x", "t2",
    {NODE("Gather", "initial", "x i_1", "s"), NODE("Gather", "e0", "x i_0", "e0"), NODE("Gather", "e1", "x i_1", "e1"), NODE("Gather", "e2", "x i_2", "e2"),
     NODE("Add", "0/add", "s e0", "a0"), NODE("Sigmoid", "0/bend", "a0", "t0"), NODE("MatMul", "0/step", "t0 w", "r0"),
     NODE("Add", "1/add", "t0 e1", "a1"), NODE("Sigmoid", "1/bend", "a1", "t1"), NODE("MatMul", "1/step", "t1 w", "r1"),
     NODE("Add", "2/add", "t1 e2", "a2"), NODE("Sigmoid", "2/bend", "a2", "t2"), NODE("MatMul", "2/step", "t2 w", "r2")}};

START_TEST(rounds_are_one_row)
{
    const struct text_graph *texts[][2] = {{&looped, &unrolled}, {&scanned, &scan_unrolled}};
    static const char *const names[][4] = {{"step", "add", "bend", "square"}, {"step", "add", "bend", NULL}};
    struct ulp_audit nested, flat;
    struct text_graph by_hand = *texts[_i % 2][1];
    if (_i % 2 == 0) /* Concat needs its axis; the rows do not need Concat */
        by_hand.outputs = "t2", by_hand.nodes[12] = (struct text_node){0};
    audit_text(texts[_i % 2][0], 5, 0, true, _i < 2 ? 1 : 3, &nested);
    audit_text(&by_hand, 5, 0, true, 1, &flat);
    for (size_t l = 0; l < nested.lane_count; l++) {
        for (int i = 0; i < 4 && names[_i % 2][i]; i++) {
            struct ulp_audit_output joined = {0};
            char name[40];
            for (int round = 0; round < 3; round++) {
                snprintf(name, sizeof name, "%d/%s", round, names[_i % 2][i]);
                const struct ulp_audit_output *output = find_node(&flat, l, name)->outputs;
                if (round == 0) {
                    joined = *output;
                    continue;
                }
                ulp_metrics_join(&joined.single, &output->single);
                ulp_metrics_join(&joined.entire, &output->entire);
                ulp_metrics_join(&joined.introduced, &output->introduced);
                ulp_metrics_join(&joined.carried, &output->carried);
                joined.range.ref_max = fmax(joined.range.ref_max, output->range.ref_max);
            }
            snprintf(name, sizeof name, "loop/%s", names[_i % 2][i]);
            const struct ulp_audit_node *row = find_node(&nested, l, name);
            ck_assert_uint_eq(row->rounds, 3);
            ck_assert_uint_eq(row->output_count, 1);
            ck_assert_msg(same_metrics(&row->outputs[0].single, &joined.single) && same_metrics(&row->outputs[0].entire, &joined.entire) &&
                          same_metrics(&row->outputs[0].introduced, &joined.introduced) &&
                          same_metrics(&row->outputs[0].carried, &joined.carried), "%s of %s", name, lane_names[l + 1]);
            ck_assert(row->outputs[0].range.ref_max == joined.range.ref_max);
        }
        const struct ulp_audit_node *loop = find_node(&nested, l, "loop"), *last = find_node(&flat, l, "2/bend");
        ck_assert(loop->rounds == 1 && same_metrics(&loop->outputs[0].entire, &last->outputs[0].entire));
        ck_assert(loop->outputs[0].introduced.max_abs == 0 && loop->outputs[1].introduced.max_abs == 0);
        ck_assert(nested.lanes[l].first_decided < 0 && nested.lanes[l].first_born < 0);
    }
    ulp_audit_free(&flat);
    ulp_audit_free(&nested);
}
END_TEST

/* Samples that take different branches, and several samples of a loop: means and worst over those that ran a node. */
START_TEST(samples_may_take_different_branches)
{
    struct ulp_model *model = load_text(&nested_if);
    struct ulp_tensor_set samples[] = {make_inputs(model, 1, 0, true), make_inputs(model, 2, 0, false), make_inputs(model, 3, 0, true)};
    struct ulp_audit all, one[3];
    audit(model, samples, 3, 1, &all);
    for (int s = 0; s < 3; s++)
        audit(model, &samples[s], 1, 1, &one[s]);
    for (size_t l = 0; l < all.lane_count; l++) {
        const struct ulp_audit_output *gate = find_node(&all, l, "if/gate")->outputs;
        const struct ulp_audit_output *a = find_node(&one[0], l, "if/gate")->outputs, *c = find_node(&one[2], l, "if/gate")->outputs;
        ck_assert_uint_eq(find_node(&all, l, "if/gate")->rounds, 2);
        ck_assert_uint_eq(find_node(&all, l, "first")->rounds, 3);
        ck_assert(gate->samples->entire_mean.rms == (a->entire.rms + c->entire.rms) / 2);
        ck_assert(gate->entire.rms == fmax(a->entire.rms, c->entire.rms));
        ck_assert_uint_eq(gate->worst_sample, a->entire.rms >= c->entire.rms ? 0 : 2);
        const struct ulp_audit_node *power = find_node(&all, l, "if/power");
        ck_assert(power->rounds == 1 && power->outputs[0].worst_sample == 1);
        ck_assert(same_metrics(&power->outputs[0].entire, &find_node(&one[1], l, "if/power")->outputs[0].entire));
    }
    for (int s = 0; s < 3; s++) {
        ulp_audit_free(&one[s]);
        ulp_tensor_set_free(&samples[s]);
    }
    ulp_audit_free(&all);
    ulp_model_free(model);
}
END_TEST

static const struct text_graph negated = {"", "e", {NODE("Neg", "minus", "x", "e")}};

/* A Loop in a branch planning knows, an If in the Loop that is taken in rounds 0 and 2, a Scan in that If; values are captured from
 * every level. */
static const struct text_graph deep_scan = {"c e", "d f", {NODE("Add", "sum", "c e", "d"), NODE("Mul", "weigh", "d k", "f")}};
static const struct text_graph deep_then = {"", "t",
    {NODE("Gather", "row", "s i_0", "g"), SCAN("Scan", "scan", "g s", "last t", &deep_scan, 1)}};
static const struct text_graph deep_else = {"", "e", {NODE("MatMul", "turn", "s w", "e")}};
static const struct text_graph deep_body = {"i_n b_c s", "b_d u",
    {NODE("Equal", "odd", "i_n i_1", "b_o"), NODE("Not", "even", "b_o", "b_e"), CONTROL("If", "if", "b_e", "v", &deep_then, &deep_else),
     NODE("Tanh", "bend", "v", "u"), NODE("Identity", "go", "b_c", "b_d")}};
static const struct text_graph deep_branch = {"", "o",
    {NODE("Sigmoid", "gate", "h", "k8"), NODE("ReduceMax", "most", "k8", "k"), CONTROL("Loop", "loop", "i_count b_yes h", "o", &deep_body)}};
static const struct text_graph deep = {"x i_count", "y",
    {NODE("MatMul", "first", "x w", "h"), CONTROL("If", "if", "b_yes", "z", &deep_branch, &negated), NODE("Mul", "last", "z x", "y")}};
/* the first round by hand, as far as the Scan's sums */
static const struct text_graph deep_flat = {"x i_count", "ff2",
    {NODE("MatMul", "first", "x w", "h"), NODE("Sigmoid", "if/gate", "h", "k8"), NODE("ReduceMax", "if/most", "k8", "k1"),
     NODE("Gather", "row", "h i_0", "g"), NODE("Gather", "e1", "h i_1", "e1"), NODE("Gather", "e2", "h i_2", "e2"),
     NODE("Add", "0/sum", "g g", "d0"), NODE("Add", "1/sum", "d0 e1", "d1"), NODE("Add", "2/sum", "d1 e2", "ff2")}};

struct watched {
    double progress;
    size_t events, *rounds, sums;
    size_t cancel_at; /* 0: never */
    struct ulp_metrics sum[3];
};

static enum ulp_status watch(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    struct watched *watched = context;
    ck_assert(event->index < event->node_count && event->progress >= watched->progress && event->progress <= 1 + 1e-12);
    ck_assert(event->seconds >= 0);
    ck_assert_uint_eq(event->round, watched->rounds[event->index]++);
    watched->progress = event->progress;
    watched->events++;
    const char *end = strrchr(event->name, '/');
    if (end && strcmp(end, "/sum") == 0 && watched->sums < 3)
        return ulp_metrics_measure(event->values[event->output_count].entire, event->values[0].entire, &event->arithmetics[1].storage,
                                   &watched->sum[watched->sums++], error);
    return ULP_OK;
}

static bool is_late(void *context)
{
    const struct watched *watched = context;
    return watched->cancel_at && watched->events >= watched->cancel_at;
}

START_TEST(control_flow_nests)
{
    struct ulp_model *model = load_text(&deep);
    struct ulp_tensor_set inputs = make_inputs(model, 9, 0, true);
    struct ulp_plan *plan = make_plan(model, &inputs, 0, LANES);
    const struct ulp_run_options options = {.thread_count = 1, .audit = true};
    struct watched watched = {.rounds = calloc(ulp_plan_node_count(plan), sizeof(size_t))};
    const struct ulp_observer observer = {.context = &watched, .node_done = watch, .cancelled = is_late};
    struct ulp_audit nested, flat;
    struct ulp_error error;
    ck_ulp_ok(ulp_plan_run(plan, &inputs, &options, &observer, 1, NULL, NULL, &error), error);
    ck_assert(fabs(watched.progress - 1) < 1e-12);
    audit(model, &inputs, 1, 1, &nested);
    audit_text(&deep_flat, 9, 0, true, 1, &flat);
    static const struct {
        const char *name;
        size_t rounds;
    } wanted[] = {{"first", 1}, {"if/gate", 1}, {"if/loop", 1}, {"if/loop/even", 3}, {"if/loop/if", 3}, {"if/loop/if/turn", 1},
                  {"if/loop/if/row", 2}, {"if/loop/if/scan", 2}, {"if/loop/if/scan/weigh", 6}, {"if/loop/bend", 3}, {"last", 1}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct ulp_audit_node *node = find_node(&nested, 0, wanted[i].name);
        ck_assert_msg(node->rounds == wanted[i].rounds, "%s: %zu rounds", node->name, node->rounds);
        ck_assert_uint_eq(watched.rounds[node->index], wanted[i].rounds);
    }
    for (size_t i = 0; i < 3; i++) {
        char name[] = "0/sum";
        name[0] = (char)('0' + i);
        ck_assert(same_metrics(&watched.sum[i], &find_node(&flat, 0, name)->outputs[0].entire));
    }
    expect_same_node(find_node(&nested, 2, "if/gate"), find_node(&flat, 2, "if/gate"));
    /* ended at every step, and by every limit of memory */
    for (watched.cancel_at = watched.events; watched.cancel_at-- > 1;) {
        memset(watched.rounds, 0, ulp_plan_node_count(plan) * sizeof(size_t));
        watched.events = 0, watched.progress = 0;
        ck_assert_int_eq(ulp_plan_run(plan, &inputs, &options, &observer, 1, NULL, NULL, &error), ULP_ERROR_CANCELLED);
    }
    int failures = 0;
    for (size_t limit = 1000; limit < 100000; limit += 500) {
        struct ulp_run_options limited = {.thread_count = 1, .audit = true, .max_memory_bytes = limit};
        enum ulp_status status = ulp_plan_run(plan, &inputs, &limited, NULL, 0, NULL, NULL, &error);
        ck_assert(status == ULP_OK || status == ULP_ERROR_MEMORY);
        failures += status != ULP_OK;
    }
    ck_assert_int_gt(failures, 10);
    free(watched.rounds);
    ulp_audit_free(&nested);
    ulp_audit_free(&flat);
    ulp_plan_free(plan);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

START_TEST(reports_say_rounds)
{
    struct ulp_audit result;
    struct ulp_error error;
    char text[100];
    size_t found = 0, lines = 0;
    audit_text(&looped, 5, 0, true, 1, &result);
    ck_ulp_ok(ulp_report_write(&result, test_folder(""), &error), error);
    FILE *file = fopen(test_folder("report.json"), "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(text, sizeof text, file))
        found += strstr(text, "\"rounds\": 3") != NULL;
    fclose(file);
    ck_assert_uint_eq(found, 5 * result.lane_count);
    char *line = NULL;
    size_t room = 0;
    file = fopen(test_folder("layers.csv"), "r");
    ck_assert_ptr_nonnull(file);
    for (found = 0; getline(&line, &room, file) > 0; lines++) {
        const char *last = strrchr(line, ',');
        found += strstr(line, "\"loop/") && strcmp(last, ",3\n") == 0;
        ck_assert(lines == 0 ? strcmp(last, ",rounds\n") == 0 : strcmp(last, ",3\n") == 0 || strcmp(last, ",1\n") == 0);
    }
    fclose(file);
    free(line);
    ck_assert_uint_eq(found, 5 * result.lane_count);
    char *summary;
    ck_ulp_ok(ulp_report_summary(&result, false, &summary, &error), error);
    ck_assert_ptr_nonnull(strstr(summary, "MatMul x3 "));
    for (const char *start = summary; *start; start += strcspn(start, "\n") + 1)
        ck_assert_uint_le(strcspn(start, "\n"), 100);
    free(summary);
    ulp_audit_free(&result);
}
END_TEST

/* A body that captures a parameter of its function which the call omits: absent as an input, refused as a result. */
START_TEST(omitted_parameters_are_absent_in_bodies)
{
    struct proto graph = {0}, function = {0}, call = proto_node("F", "call", "x - b_flag", "y");
    struct proto node = proto_node("If", "if", "c", "r"), minus = {0}, clip = {0};
    add_values(&clip, GRAPH_OUTPUT, _i ? "limit" : "t", false);
    add_values(&minus, GRAPH_OUTPUT, "e", false);
    struct proto clipping = proto_node("Clip", "clip", "a - limit", "t"), negating = proto_node("Neg", "minus", "a", "e");
    proto_message(&clip, GRAPH_NODE, &clipping);
    proto_message(&minus, GRAPH_NODE, &negating);
    add_attribute(&node, "then_branch", &clip, 0);
    add_attribute(&node, "else_branch", &minus, 0);
    proto_text(&function, FUNCTION_NAME, "F");
    proto_text(&function, FUNCTION_DOMAIN, "d");
    proto_text(&function, FUNCTION_INPUT, "a");
    proto_text(&function, FUNCTION_INPUT, "limit");
    proto_text(&function, FUNCTION_INPUT, "c");
    proto_text(&function, FUNCTION_OUTPUT, "r");
    proto_message(&function, FUNCTION_NODE, &node);
    struct proto opset = {0};
    proto_int(&opset, 2, 16);
    proto_message(&function, FUNCTION_OPSET, &opset);
    proto_text(&call, NODE_DOMAIN, "d");
    proto_text(&graph, GRAPH_NAME, "g");
    add_values(&graph, GRAPH_INPUT, "x b_flag", true);
    add_values(&graph, GRAPH_OUTPUT, "y", true);
    proto_message(&graph, GRAPH_NODE, &call);
    struct proto bytes = proto_model(8, 16, &graph);
    proto_opset(&bytes, "d", 1);
    proto_message(&bytes, MODEL_FUNCTION, &function);
    struct ulp_model *model;
    struct ulp_error error;
    ck_ulp_ok(ulp_model_load_bytes("omitted.onnx", bytes.data, bytes.count, &model, &error), error);
    proto_free(&bytes);
    struct ulp_tensor_set inputs = make_inputs(model, 3, 0, true), outputs;
    if (_i) {
        struct ulp_arithmetic lane;
        struct ulp_plan *plan;
        ck_ulp_ok(ulp_arithmetic_find("fp32", &lane, &error), error);
        ck_assert_int_eq(ulp_plan_create(model, &lane, 1, NULL, &plan, &error), ULP_ERROR_INPUT);
        ck_assert_ptr_nonnull(strstr(error.message, "'limit' is an input that the call omits"));
    } else {
        struct ulp_plan *plan = make_plan(model, &inputs, 2, 1);
        ck_ulp_ok(ulp_plan_run(plan, &inputs, NULL, NULL, 0, &outputs, NULL, &error), error);
        ck_assert_int_eq(memcmp(outputs.items[0].tensor.data, inputs.items[0].tensor.data, 24 * sizeof(float)), 0);
        ulp_tensor_set_free(&outputs);
        ulp_plan_free(plan);
    }
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* ---- lanes that part from the reference ---- */

static const struct text_graph twice = {"", "t", {NODE("Mul", "double", "x two", "t")}};
/* 0.3f + 300 - 300 is 0.3f in the reference, so not less; FP32 gives 0.29998779 and FP16 0.25, which are. */
static const struct text_graph decided = {"x", "y",
    {NODE("ReduceMax", "most", "x", "m"), NODE("Add", "there", "m big", "m1"), NODE("Sub", "back", "m1 big", "m2"),
     NODE("Less", "compare", "m2 m", "b_less"), CONTROL("If", "if", "b_less", "y", &twice, &negated)}};

START_TEST(another_branch_is_said)
{
    struct ulp_audit result;
    audit_text(&decided, 1, 0.3, true, 1, &result);
    for (size_t l = 0; l < result.lane_count; l++) {
        const char *lane = lane_names[l + 1];
        const struct ulp_audit_node *node = find_node(&result, l, "if"), *inside = find_node(&result, l, "if/minus");
        ck_assert_msg(node->outputs[0].entire.diverged, "%s", lane);
        ck_assert_uint_eq(find_node(&result, l, "if/double")->rounds, 0);
        ck_assert(inside->rounds == 0 && inside->output_count == 0 && node->rounds == 1);
        ck_assert_str_eq(result.lanes[l].nodes[result.lanes[l].first_decided].name, "compare");
        ck_assert(!node->decided && !find_node(&result, l, "back")->outputs[0].entire.diverged);
        /* one node in this lane: 2 x on its own inputs, -x on the reference's; neither has much of an error of its own */
        ck_assert(node->outputs[0].entire.max_abs > 0.8 && node->outputs[0].carried.max_abs > 0.8);
        ck_assert(node->outputs[0].single.max_abs < 0.01 && node->outputs[0].introduced.max_abs < 0.01);
        ck_assert(result.lanes[l].outputs.outputs[0].entire.diverged);
    }
    bool exceeded;
    struct ulp_error error;
    char *summary;
    ck_ulp_ok(ulp_audit_exceeds(&result, "max_abs=1000", &exceeded, &error), error);
    ck_assert(exceeded);
    ck_ulp_ok(ulp_report_summary(&result, false, &summary, &error), error);
    ck_assert_ptr_nonnull(strstr(summary, "2 nodes are in branches"));
    free(summary);
    ulp_audit_free(&result);
}
END_TEST

/* s grows by a half each round until it reaches a bound. */
static const struct text_graph grow_body = {"i_n b_c s", "b_d t",
    {NODE("Div", "half", "s two", "h"), NODE("Add", "grow", "s h", "t"), NODE("ReduceMax", "most", "t", "m"), NODE("Less", "go", "m bound", "b_d")}};

START_TEST(other_rounds_are_said)
{
    static const struct text_graph text = {"x limit", "y",
        {NODE("ReduceMax", "top", "limit", "bound"), CONTROL("Loop", "loop", "- b_yes x", "y", &grow_body)}};
    struct ulp_model *model = load_text(&text);
    struct ulp_tensor_set inputs = make_inputs(model, 1, 1.1, true);
    struct ulp_audit result;
    /* 1.1f * 1.5^10 is 63.4325...: FP32's own value is the limit, the reference's the least bit above or below it */
    float s = 1.1f, most = 0;
    double exact = 1.1f;
    for (int i = 0; i < 10; i++, most = s) {
        s = s + s / 2;
        exact *= 1.5;
    }
    struct ulp_tensor *limit = &inputs.items[1].tensor;
    ck_assert((double)most != exact);
    for (size_t e = 0; e < limit->count; e++)
        ((float *)limit->data)[e] = most > exact ? most : nextafterf(most, 1000);
    audit(model, &inputs, 1, 1, &result);
    const struct ulp_audit_node *loop = find_node(&result, 1, "loop"), *grow = find_node(&result, 1, "loop/grow");
    ck_assert_str_eq(result.lanes[1].arithmetic.name, "fp32");
    ck_assert(loop->outputs[0].entire.diverged && !loop->decided);
    ck_assert_uint_eq(grow->rounds, 10);
    ck_assert_str_eq(result.lanes[1].nodes[result.lanes[1].first_decided].name, "loop/go");
    ulp_audit_free(&result);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* ---- overflow, schedules, certificates ---- */

static const struct text_graph blow_body = {"i_n b_c s", "b_d t r",
    {NODE("Mul", "blow", "s big", "t"), NODE("Add", "shift", "t two", "r"), NODE("Identity", "go", "b_c", "b_d")}};

START_TEST(overflow_is_born_inside)
{
    static const struct text_graph text = {"x i_count", "y z", {CONTROL("Loop", "loop", "i_count b_yes x", "y z", &blow_body)}};
    struct ulp_audit result;
    bool exceeded;
    struct ulp_error error;
    audit_text(&text, 1, 1, true, 1, &result);
    const struct ulp_audit_lane *fp16 = &result.lanes[0];
    ck_assert_str_eq(fp16->nodes[fp16->first_born].name, "loop/blow");
    const struct ulp_audit_node *blow = find_node(&result, 0, "loop/blow"), *loop = find_node(&result, 0, "loop");
    ck_assert(blow->born && !loop->born && loop->poisoned);
    ck_assert(find_node(&result, 0, "loop/shift")->poisoned && !find_node(&result, 0, "loop/shift")->born);
    /* 300, 90,000 and 27,000,000: two rounds of 24 elements are beyond 65504 */
    ck_assert_uint_eq(blow->outputs[0].entire.nonfinite, 48);
    ck_assert_uint_eq(blow->outputs[0].entire.count, 24);
    ck_assert(blow->outputs[0].range.ref_max == 27000000);
    ck_assert_uint_eq(loop->outputs[1].entire.nonfinite, 48);
    ck_assert_int_eq(result.lanes[1].first_born, -1);
    ck_ulp_ok(ulp_audit_exceeds(&result, "nonfinite=0", &exceeded, &error), error);
    ck_assert(exceeded);
    ulp_audit_free(&result);
}
END_TEST

static struct ulp_spreads measure_spreads(const struct text_graph *text, const char *base_name)
{
    struct ulp_model *model = load_text(text);
    struct ulp_tensor_set inputs = make_inputs(model, 5, 0, true);
    const struct ulp_run_options options = {.thread_count = 1};
    struct ulp_arithmetic reference, base;
    struct ulp_spreads spreads;
    struct ulp_error error;
    ck_ulp_ok(ulp_arithmetic_find("mpfr:128", &reference, &error), error);
    ck_ulp_ok(ulp_arithmetic_find(base_name, &base, &error), error);
    ck_ulp_ok(ulp_spreads_measure(model, &reference, &base, &inputs, &options, NULL, &spreads, &error), error);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
    return spreads;
}

START_TEST(schedules_reach_products_inside)
{
    struct ulp_spreads nested = measure_spreads(&nested_if, "fp32"), flat = measure_spreads(&flat_then, "fp32");
    ck_assert_uint_eq(nested.count, flat.count);
    for (size_t i = 0; i < flat.count; i++)
        ck_assert(nested.items[i].width_rms == flat.items[i].width_rms && nested.items[i].ref_rms == flat.items[i].ref_rms &&
                  flat.items[i].width_rms > 0);
    ulp_spreads_free(&nested);
    ulp_spreads_free(&flat);
    struct text_graph by_hand = unrolled;
    by_hand.outputs = "t2", by_hand.nodes[12] = (struct text_node){0};
    nested = measure_spreads(&looped, "fp32"), flat = measure_spreads(&by_hand, "fp32");
    ck_assert_uint_eq(nested.count, 1);
    ck_assert_uint_eq(flat.count, 3);
    double most = 0, sum2 = 0;
    for (size_t i = 0; i < 3; i++) {
        most = fmax(most, flat.items[i].width_max_abs);
        sum2 += flat.items[i].width_rms * flat.items[i].width_rms;
    }
    ck_assert(nested.items[0].width_max_abs == most && fabs(nested.items[0].width_rms - sqrt(sum2 / 3)) <= 1e-14 * sqrt(sum2 / 3));
    ulp_spreads_free(&nested);
    ulp_spreads_free(&flat);
}
END_TEST

/* Where digits cancel: x / 300 + 300 - 300. */
static const struct text_graph lossy_branch = {"", "t",
    {NODE("Div", "part", "x big", "p"), NODE("Add", "there", "p big", "a"), NODE("Sub", "back", "a big", "t")}};
static const struct text_graph lossy_body = {"i_n b_c s", "b_d u",
    {NODE("Div", "part", "x big", "p"), NODE("Add", "there", "p big", "a"), NODE("Sub", "back", "a big", "t"), NODE("Add", "sum", "s t", "u"),
     NODE("Identity", "go", "b_c", "b_d")}};
static const struct text_graph lossy[] = {
    {"x b_flag", "y", {CONTROL("If", "if", "b_flag", "y", &lossy_branch, &negated)}},
    {"x i_count", "y", {CONTROL("Loop", "loop", "i_count b_yes x", "y", &lossy_body)}}};

START_TEST(certificates_cover_what_is_inside)
{
    struct ulp_model *model = load_text(&lossy[_i]);
    struct ulp_tensor_set inputs = make_inputs(model, 5, 0, true);
    const struct ulp_run_options options = {.thread_count = 1};
    struct ulp_certificate certificate = {0};
    struct ulp_arithmetic reference;
    struct ulp_error error;
    ck_ulp_ok(ulp_arithmetic_find("mpfr:64", &reference, &error), error);
    ck_ulp_ok(ulp_certify(model, &reference, &inputs, &options, NULL, &certificate, &error), error);
    ck_assert_str_eq(certificate.node, _i ? "loop/back" : "if/back");
    /* 300 is some 2^16 times x / 300 (rms 2^-8): 16 of 64 bits, 4.8 of 19.3 digits, and one more or less */
    ck_assert_msg(certificate.node_digits > 13.5 && certificate.node_digits < 15.5, "%g", certificate.node_digits);
    ck_assert(certificate.output_digits >= certificate.node_digits && (_i || certificate.output_digits == certificate.node_digits));
    free(certificate.node);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* ---- joined figures ---- */

static void fill(struct ulp_tensor *t, int64_t count, uint64_t seed, double scale)
{
    struct ulp_error error;
    ck_ulp_ok(ulp_tensor_create(t, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, &count, &error), error);
    for (size_t i = 0; i < t->count; i++)
        ((float *)t->data)[i] = (float)(scale * (ulp_random_uniform(seed, i) - 0.3));
}

/* The same sums in another order: a few 2^-53 for each of 300 terms. */
#define CLOSE(a, b) ck_assert_msg(fabs((a) - (b)) <= 1e-13 * fabs(b), #a " %.17g expected %.17g", (double)(a), (double)(b))

START_TEST(joined_figures_are_those_of_one_tensor)
{
    static const int64_t counts[] = {1, 100, 0, 57, 3};
    struct ulp_format format;
    struct ulp_error error;
    struct ulp_metrics joined, whole;
    struct ulp_tensor all_values, all_bases;
    size_t used = 0;
    double median = 0;
    ck_ulp_ok(ulp_format_find("fp16", &format, &error), error);
    fill(&all_values, 161, 1, 0);
    fill(&all_bases, 161, 1, 0);
    for (size_t part = 0; part < sizeof counts / sizeof *counts; part++) {
        struct ulp_tensor value, base;
        struct ulp_metrics metrics;
        fill(&base, counts[part], 10 + part, ldexp(1, (int)part * 3));
        fill(&value, counts[part], 20 + part, ldexp(0.01, (int)part * 3));
        for (size_t i = 0; i < base.count; i++, used++) {
            ((float *)value.data)[i] += ((float *)base.data)[i];
            if (_i && used % 37 == 5)
                ((float *)value.data)[i] = INFINITY;
            ((float *)all_values.data)[used] = ((float *)value.data)[i];
            ((float *)all_bases.data)[used] = ((float *)base.data)[i];
        }
        ck_ulp_ok(ulp_metrics_measure(&value, &base, &format, &metrics, &error), error);
        if (part)
            ulp_metrics_join(&joined, &metrics);
        else
            joined = metrics;
        median = fmax(median, metrics.median_ulp);
        ulp_tensor_free(&value);
        ulp_tensor_free(&base);
    }
    ck_ulp_ok(ulp_metrics_measure(&all_values, &all_bases, &format, &whole, &error), error);
    ck_assert(joined.max_abs == whole.max_abs && joined.max_rel == whole.max_rel && joined.max_ulp == whole.max_ulp);
    ck_assert(joined.count == whole.count && joined.nonfinite == whole.nonfinite && joined.median_ulp == median);
    CLOSE(joined.rms, whole.rms);
    CLOSE(joined.mean, whole.mean);
    CLOSE(joined.cosine, whole.cosine);
    CLOSE(joined.sqnr_db, whole.sqnr_db);
    CLOSE(joined.base_norm, whole.base_norm);
    CLOSE(joined.value_norm, whole.value_norm);
    ck_assert_uint_eq(whole.nonfinite, _i ? 5 : 0);
    ulp_tensor_free(&all_values);
    ulp_tensor_free(&all_bases);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bodies");
    TCase *tests = tcase_create("bodies");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, nodes_of_branches_are_those_of_the_flat_graph, 0, 4);
    tcase_add_test(tests, an_if_with_a_known_condition_is_its_branch);
    tcase_add_test(tests, branches_may_give_what_is_not_theirs);
    tcase_add_loop_test(tests, rounds_are_one_row, 0, 4);
    tcase_add_test(tests, samples_may_take_different_branches);
    tcase_add_test(tests, another_branch_is_said);
    tcase_add_test(tests, other_rounds_are_said);
    tcase_add_test(tests, overflow_is_born_inside);
    tcase_add_test(tests, schedules_reach_products_inside);
    tcase_add_loop_test(tests, certificates_cover_what_is_inside, 0, 2);
    tcase_add_loop_test(tests, joined_figures_are_those_of_one_tensor, 0, 2);
    tcase_add_test(tests, control_flow_nests);
    tcase_add_loop_test(tests, omitted_parameters_are_absent_in_bodies, 0, 2);
    suite_add_tcase(suite, tests);
    TCase *reports = tcase_create("reports");
    tcase_add_checked_fixture(reports, test_folder_create, test_folder_remove);
    tcase_add_test(reports, reports_say_rounds);
    suite_add_tcase(suite, reports);
    return test_run(suite, NULL);
}
