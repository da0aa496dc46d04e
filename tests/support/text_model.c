#include "tests/support/text_model.h"

#include "load/load.h"
#include "analysis/audit/auditor.h"

static int type_of(const char *name)
{
    return strncmp(name, "i_", 2) == 0   ? ULP_TYPE_INT64
           : strncmp(name, "b_", 2) == 0 ? ULP_TYPE_BOOL
                                         : ULP_TYPE_FLOAT;
}

/* -1: no dimensions are declared. */
const struct text_graph text_chain = {
    "x", "y q",
    "[first] a = MatMul(x, w) [sum] b = Add(a, x) [soft] c = Softmax(b) [second] d = MatMul(c, w) "
    "[bend] y = Tanh(d) [square] q = Mul(b, b)"};

const struct text_graph text_then_body = {"", "t",
                                          "[scale] s = Mul(h, x) [project] t = MatMul(s, w)"};
const struct text_graph text_else_body = {"", "e", "[power] e = Exp(h)"};
const struct text_graph text_loop_body = {
    "i_n b_c s", "b_d u r",
    "[half] p = Mul(s, h) [turn] q = MatMul(p, w) [soft] r = Softmax(q) [sum] u = Add(s, r) [go] "
    "b_d = Identity(b_c)"};
const struct text_graph text_with_bodies = {
    "x b_flag i_count",
    "y z",
    "[first] h = MatMul(x, w) [if] v = If(b_flag) [loop] y, z = Loop(i_count, b_yes, v)",
    {&text_then_body, &text_else_body, &text_loop_body}};

void text_add_values(struct proto *graph, int field, const char *names, bool shaped)
{
    char name[64];
    int used;
    for (; sscanf(names, "%63s%n", name, &used) == 1; names += used) {
        static const int64_t dims[2] = {3, 8};
        int rank = !shaped ? -1 : type_of(name) == ULP_TYPE_FLOAT ? 2 : 0;
        proto_value(graph, field, name, type_of(name), rank, dims);
    }
}

void text_add_attribute(struct proto *node, const char *name, struct proto *graph, int64_t number)
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
    text_add_values(&graph, GRAPH_INPUT, text->inputs, main);
    text_add_values(&graph, GRAPH_OUTPUT, text->outputs, false);
    const struct text_graph *const *bodies = text->bodies;
    char name[40], outputs[80], op[40], inputs[80];
    for (const char *at = text->nodes; *at; at += strspn(at, " ")) {
        int used = 0;
        long scan_inputs = 0;
        ck_assert_msg(sscanf(at, "[%39[^]]] %79[^=]= %39[A-Za-z]%n", name, outputs, op, &used) == 3,
                      "no node: %s", at);
        at += used;
        if (*at == '<')
            scan_inputs = strtol(at + 1, (char **)(uintptr_t)&at, 10);
        const bool back = *at == '-';
        at += strcspn(at, "(") + 1;
        snprintf(inputs, sizeof inputs, "%.*s", (int)strcspn(at, ")"), at);
        at += strcspn(at, ")") + 1;
        struct proto node = proto_node(op, name, inputs, outputs);
        const bool branches = strcmp(op, "If") == 0;
        const int count = branches ? 2 : strcmp(op, "Loop") == 0 || scan_inputs;
        for (int b = 0; b < count; b++) {
            struct proto body = write_graph(*bodies++, false);
            text_add_attribute(&node,
                               !branches ? "body"
                               : b       ? "else_branch"
                                         : "then_branch",
                               &body, 0);
        }
        if (scan_inputs)
            text_add_attribute(&node, "num_scan_inputs", NULL, scan_inputs);
        if (back) {
            struct proto directions = {0};
            proto_text(&directions, ATTRIBUTE_NAME, "scan_input_directions");
            proto_int(&directions, ATTRIBUTE_TYPE, 7);
            proto_int(&directions, ATTRIBUTE_INTS, 1);
            proto_message(&node, NODE_ATTRIBUTE, &directions);
        }
        proto_message(&graph, GRAPH_NODE, &node);
    }
    return graph;
}

static void add_floats(struct proto *graph, const char *name, int rank, const int64_t *dims,
                       const float *values)
{
    struct proto tensor = proto_tensor(name, ULP_TYPE_FLOAT, rank, dims);
    size_t count = 1;
    for (int d = 0; d < rank; d++)
        count *= (size_t)dims[d];
    proto_numbers(&tensor, TENSOR_RAW, values, count * sizeof *values);
    proto_message(graph, GRAPH_INITIALIZER, &tensor);
}

struct ulp_model *text_load(const struct text_graph *text)
{
    return text_load_within(text, NULL);
}

struct proto text_message(const struct text_graph *text)
{
    struct proto graph = write_graph(text, true),
                 yes = proto_tensor("b_yes", ULP_TYPE_BOOL, 0, NULL);
    float w[64];
    for (size_t i = 0; i < 64; i++)
        w[i] = (float)(ulp_random_uniform(7, i) - 0.5);
    add_floats(&graph, "w", 2, (const int64_t[]){8, 8}, w);
    add_floats(&graph, "row", 1, (const int64_t[]){8}, w);
    add_floats(&graph, "two", 0, NULL, (const float[]){2});
    add_floats(&graph, "big", 0, NULL, (const float[]){300});
    proto_bytes(&yes, TENSOR_RAW, "\1", 1);
    proto_message(&graph, GRAPH_INITIALIZER, &yes);
    for (int64_t i = 0; i < 3; i++) {
        struct proto number =
            proto_tensor((const char *[]){"i_0", "i_1", "i_2"}[i], ULP_TYPE_INT64, 0, NULL);
        proto_numbers(&number, TENSOR_RAW, &i, sizeof i);
        proto_message(&graph, GRAPH_INITIALIZER, &number);
    }
    return proto_model(8, 16, &graph);
}

struct ulp_model *text_load_within(const struct text_graph *text, struct ulp_budget *budget)
{
    scoped_proto bytes = text_message(text);
    struct ulp_model *model;
    ck_ok(ulp_model_load_bytes("bodies.onnx", bytes.data, bytes.count, budget, &model, &why));
    return model;
}

struct ulp_tensor_set text_inputs(const struct ulp_model *model, uint64_t seed, double x0,
                                  bool truth)
{
    struct ulp_tensor_set inputs = {0};
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        struct ulp_value_info info = ulp_model_input(model, i);
        struct ulp_tensor tensor;
        ck_ok(ulp_tensor_create(&tensor, info.type, ULP_ELEMENT_COUNT, 0, info.rank, info.dims,
                                &why));
        for (size_t e = 0; e < tensor.count; e++) {
            if (info.type == ULP_TYPE_FLOAT)
                ((float *)tensor.data)[e] =
                    x0 > 0 ? (float)x0 : (float)(4 * ulp_random_uniform(seed + i, e) - 2);
            else if (info.type == ULP_TYPE_INT64)
                ((int64_t *)tensor.data)[e] = 3;
            else
                ((uint8_t *)tensor.data)[e] = truth;
        }
        ck_ok(ulp_tensor_set_add(&inputs, info.name, &tensor, &why));
    }
    return inputs;
}

const char *const text_lanes[TEXT_LANES] = {"mpfr:128",    "fp16", "fp32",
                                            "bf16-strict", "tf32", "model"};

struct ulp_program *text_plan(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                              size_t first, size_t count)
{
    struct ulp_arithmetic lanes[TEXT_LANES];
    for (size_t l = 0; l < count; l++)
        lanes[l] = test_arithmetic(text_lanes[first + l]);
    struct ulp_program *program = test_plan_lanes(model, inputs, lanes, count);
    return program;
}

void text_audit_samples(const struct ulp_model *model, const struct ulp_tensor_set *samples,
                        size_t sample_count, int threads, struct ulp_audit *out)
{
    const struct ulp_run_options options = {.thread_count = threads, .audit = true},
                                 alone = {.thread_count = 1};
    scoped_program *program = text_plan(model, &samples[0], 0, TEXT_LANES);
    struct ulp_auditor *auditor;
    struct ulp_tensor_set outputs[TEXT_LANES];
    ck_ok(ulp_auditor_create(program, &auditor, &why));
    const struct ulp_observer observer = ulp_auditor_observer(auditor);
    for (size_t s = 0; s < sample_count; s++) {
        ck_ok(ulp_auditor_sample(auditor, "sample", &why));
        ck_ok(ulp_program_run(program, &samples[s], &options, &observer, 1, outputs, NULL, &why));
        for (size_t l = 0; l < TEXT_LANES; l++) {
            scoped_program *single = text_plan(model, &samples[s], l, 1);
            scoped_tensor_set wanted = {0};
            ck_ok(ulp_program_run(single, &samples[s], &alone, NULL, 0, &wanted, NULL, &why));
            for (size_t o = 0; o < wanted.count; o++) {
                const struct ulp_tensor *a = &wanted.items[o].tensor,
                                        *b = &outputs[l].items[o].tensor;
                ck_assert_msg(test_same_bits(a, b), "%s of %s differs when %s is alone",
                              wanted.items[o].name, text_lanes[l], text_lanes[l]);
            }
            ulp_tensor_set_free(&outputs[l]);
        }
    }
    ck_ok(ulp_auditor_finish(auditor, out, &why));
    ulp_auditor_free(auditor);
}

void text_audit(const struct text_graph *text, uint64_t seed, double x0, bool truth, int threads,
                struct ulp_audit *out)
{
    scoped_model *model = text_load(text);
    scoped_tensor_set inputs = text_inputs(model, seed, x0, truth);
    text_audit_samples(model, &inputs, 1, threads, out);
}

const struct ulp_audit_node *audit_node(const struct ulp_audit *audit, size_t lane,
                                        const char *name)
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

/* memcmp of structs with padding: these come from the same assignments, but compare what is
 * named. */
bool audit_same_metrics(const struct ulp_metrics *a, const struct ulp_metrics *b)
{
    return memcmp(a, b, offsetof(struct ulp_metrics, nonfinite)) == 0 &&
           a->nonfinite == b->nonfinite && a->worst_index == b->worst_index &&
           a->count == b->count && a->diverged == b->diverged;
}

static bool same_samples(const struct ulp_audit_samples *a, const struct ulp_audit_samples *b)
{
    return !a == !b && (!a || (audit_same_metrics(&a->single_mean, &b->single_mean) &&
                               audit_same_metrics(&a->entire_limit, &b->entire_limit)));
}

void audit_expect_same(const struct ulp_audit_node *a, const struct ulp_audit_node *b)
{
    ck_assert_uint_eq(a->output_count, b->output_count);
    ck_assert_msg(a->born == b->born && a->poisoned == b->poisoned && a->decided == b->decided,
                  "%s is judged otherwise", a->name);
    for (size_t o = 0; o < a->output_count; o++) {
        const struct ulp_audit_output *p = &a->outputs[o], *q = &b->outputs[o];
        ck_assert_msg(audit_same_metrics(&p->single, &q->single) &&
                          audit_same_metrics(&p->entire, &q->entire) &&
                          audit_same_metrics(&p->introduced, &q->introduced) &&
                          audit_same_metrics(&p->carried, &q->carried) &&
                          same_samples(p->samples, q->samples) && same_range(&p->range, &q->range),
                      "output %zu of %s differs from that of %s: rms %g and %g", o, a->name,
                      b->name, p->introduced.rms, q->introduced.rms);
    }
}
