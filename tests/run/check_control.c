/* If, Loop and Scan at their edges: no rounds, no items, and (a walk over small models) inputs,
 * attributes, outputs and bodies that do not fit. Whatever the model, what comes of loading,
 * planning and auditing it is a result or a refusal with one line. */
#include "load/load.h"
#include "tests/support/proto.h"
#include "tests/support/test.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum kind { IF, LOOP, SCAN, SCAN_BATCH, KINDS };

/* What a model has: each a number of the lists below, 0 being what is right. */
enum field {
    X_SHAPE,      /* the scan input, or If's other input */
    STATE_SHAPE,  /* the carried value */
    NUMBER,       /* Loop's M, Scan 8's lengths: values */
    NUMBER_SHAPE, /* of it */
    CONDITION,    /* Loop's and If's: shape and truth */
    INPUTS,       /* inputs left out */
    SCAN_INPUTS,  /* num_scan_inputs */
    IN_AXES,
    IN_DIRECTIONS,
    OUT_AXES,
    OUT_DIRECTIONS,
    OUTPUTS,  /* of the node */
    BODY,     /* inputs and outputs of the body */
    DECLARED, /* the body's outputs: with their shapes, without, or others */
    FIELDS
};

#define VALUES 8
static const int values_of[FIELDS] = {
    [X_SHAPE] = 8,        [STATE_SHAPE] = 5, [NUMBER] = 8,  [NUMBER_SHAPE] = 4,  [CONDITION] = 5,
    [INPUTS] = 4,         [SCAN_INPUTS] = 7, [IN_AXES] = 8, [IN_DIRECTIONS] = 8, [OUT_AXES] = 8,
    [OUT_DIRECTIONS] = 8, [OUTPUTS] = 8,     [BODY] = 4,    [DECLARED] = 3};

struct shape {
    int rank;
    int64_t dims[5];
};
/* batch x steps x features; without the batch but for Scan 8 */
static const struct shape x_shapes[VALUES] = {{3, {2, 3, 2}}, {3, {2, 0, 2}},   {3, {0, 3, 2}},
                                              {3, {1, 3, 2}}, {2, {2, 3}},      {1, {2}},
                                              {0, {0}},       {4, {2, 3, 2, 1}}};
static const struct shape state_shapes[VALUES] = {
    {2, {2, 2}}, {2, {0, 2}}, {2, {2, 3}}, {3, {2, 2, 2}}, {1, {2}}};
static const int64_t numbers[VALUES] = {3, 0, 1, 4, -1, INT64_MIN, INT64_MAX, 2};
static const int64_t scan_inputs[VALUES] = {1, 0, 2, 3, -1, INT64_MIN, INT64_MAX};
static const struct {
    size_t count;
    int64_t value;
} lists[VALUES] = {{0, 0},         {1, 1}, {1, -1},        {1, 2},
                   {1, INT64_MIN}, {3, 0}, {1, INT64_MAX}, {64, 1}};
static const char *const outputs[VALUES] = {"f y", "- y",   "f -",     "- -",
                                            "f",   "f y z", "f - - z", ""};

struct edge {
    enum kind kind;
    int values[FIELDS];
};

/* ---- the model ---- */

static void add_ints(struct proto *node, const char *name, int n)
{
    struct proto attribute = {0};
    if (n == 0)
        return;
    proto_text(&attribute, ATTRIBUTE_NAME, name);
    proto_int(&attribute, ATTRIBUTE_TYPE, 7);
    for (size_t i = 0; i < lists[n].count; i++)
        proto_int(&attribute, ATTRIBUTE_INTS, lists[n].value);
    proto_message(node, NODE_ATTRIBUTE, &attribute);
}

static void add_int(struct proto *node, const char *name, int64_t value)
{
    struct proto attribute = {0};
    proto_text(&attribute, ATTRIBUTE_NAME, name);
    proto_int(&attribute, ATTRIBUTE_TYPE, 2);
    proto_int(&attribute, ATTRIBUTE_I, value);
    proto_message(node, NODE_ATTRIBUTE, &attribute);
}

static void add_graph(struct proto *node, const char *name, struct proto *graph)
{
    struct proto attribute = {0};
    proto_text(&attribute, ATTRIBUTE_NAME, name);
    proto_int(&attribute, ATTRIBUTE_TYPE, 5);
    proto_message(&attribute, ATTRIBUTE_G, graph);
    proto_message(node, NODE_ATTRIBUTE, &attribute);
}

static void add_node(struct proto *graph, const char *op, const char *in, const char *out)
{
    struct proto node = proto_node(op, out, in, out);
    proto_message(graph, GRAPH_NODE, &node);
}

/* The next state s + x and a copy of it; Loop's condition is i < 2. */
static struct proto make_body(const struct edge *e)
{
    static const int64_t right[] = {2}, other[] = {2, 5};
    struct proto body = {0};
    const int declared = e->values[DECLARED], change = e->values[BODY];
    const int rank = declared == 0 ? 1 : declared == 1 ? -1 : 2;
    proto_text(&body, GRAPH_NAME, "body");
    if (e->kind == LOOP) {
        proto_value(&body, GRAPH_INPUT, "i", ULP_TYPE_INT64, 0, NULL);
        proto_value(&body, GRAPH_INPUT, "c", ULP_TYPE_BOOL, 0, NULL);
    }
    if (e->kind != IF && change != 1)
        proto_value(&body, GRAPH_INPUT, "s", ULP_TYPE_FLOAT, -1, NULL);
    if ((e->kind == SCAN || e->kind == SCAN_BATCH) && change != 2)
        proto_value(&body, GRAPH_INPUT, "a", ULP_TYPE_FLOAT, -1, NULL);
    const char *own = e->kind == IF || change == 1 ? "s0" : "s",
               *taken = (e->kind == SCAN || e->kind == SCAN_BATCH) && change != 2 ? "a" : "one";
    char names[8];
    snprintf(names, sizeof names, "%s %s", own, taken);
    add_node(&body, "Add", names, "t");
    add_node(&body, "Identity", "t", "u");
    if (e->kind == LOOP) {
        add_node(&body, "Less", "i two", "go");
        proto_value(&body, GRAPH_OUTPUT, "go", ULP_TYPE_BOOL, 0, NULL);
    }
    proto_value(&body, GRAPH_OUTPUT, "t", ULP_TYPE_FLOAT, rank, declared == 2 ? other : right);
    if (change != 3)
        proto_value(&body, GRAPH_OUTPUT, "u", ULP_TYPE_FLOAT, rank, declared == 2 ? other : right);
    return body;
}

static struct shape shape_of(const struct edge *e, const char *name)
{
    struct shape shape = {0};
    if (strcmp(name, "x") == 0 || strcmp(name, "s0") == 0) {
        shape = *name == 'x' ? x_shapes[e->values[X_SHAPE]] : state_shapes[e->values[STATE_SHAPE]];
        if (e->kind != SCAN_BATCH && shape.rank > 0) /* without the batch */
            memmove(shape.dims, shape.dims + 1, 4 * sizeof *shape.dims), shape.rank--;
    } else if (strcmp(name, "number") == 0) {
        const int n = e->values[NUMBER_SHAPE];
        const int64_t size = n == 1 ? 0 : n == 2 ? 3 : 1;
        shape = (struct shape){e->kind == SCAN_BATCH || n > 0,
                               {e->kind == SCAN_BATCH && n == 0 ? 2 : size}};
    } else if (strcmp(name, "cond") == 0) {
        const int n = e->values[CONDITION];
        shape = (struct shape){n > 1, {n == 2 ? 0 : n == 3 ? 2 : 1}};
    }
    return shape;
}

static enum ulp_type type_of(const char *name)
{
    return strcmp(name, "number") == 0 ? ULP_TYPE_INT64
           : strcmp(name, "cond") == 0 ? ULP_TYPE_BOOL
                                       : ULP_TYPE_FLOAT;
}

static const char *node_inputs(const struct edge *e)
{
    static const char *const texts[KINDS][VALUES] = {
        [IF] = {"cond", "-", "cond cond", ""},
        [LOOP] = {"number cond s0", "- cond s0", "number - s0", "number cond -"},
        [SCAN] = {"s0 x", "s0", "x x", "- x"},
        [SCAN_BATCH] = {"number s0 x", "- s0 x", "number s0", "number - x"},
    };
    return texts[e->kind][e->values[INPUTS]];
}

static struct proto make_model(const struct edge *e)
{
    static const char *const ops[] = {"If", "Loop", "Scan", "Scan"};
    static const char *const given[] = {"number", "cond", "s0", "x"};
    struct proto graph = {0},
                 node =
                     proto_node(ops[e->kind], "node", node_inputs(e), outputs[e->values[OUTPUTS]]),
                 body = make_body(e);
    proto_text(&graph, GRAPH_NAME, "g");
    for (size_t i = 0; i < COUNT(given); i++) {
        const struct shape shape = shape_of(e, given[i]);
        proto_value(&graph, GRAPH_INPUT, given[i], type_of(given[i]), shape.rank, shape.dims);
    }
    struct proto one = proto_tensor("one", ULP_TYPE_FLOAT, 0, NULL),
                 two = proto_tensor("two", ULP_TYPE_INT64, 0, NULL);
    proto_numbers(&one, TENSOR_RAW, (const float[]){1}, sizeof(float));
    proto_numbers(&two, TENSOR_RAW, (const int64_t[]){2}, sizeof(int64_t));
    proto_message(&graph, GRAPH_INITIALIZER, &one);
    proto_message(&graph, GRAPH_INITIALIZER, &two);
    if (e->kind == IF) {
        struct proto other = make_body(e);
        add_graph(&node, "then_branch", &body);
        add_graph(&node, "else_branch", &other);
    } else {
        add_graph(&node, "body", &body);
    }
    if (e->kind == SCAN || e->kind == SCAN_BATCH)
        add_int(&node, "num_scan_inputs", scan_inputs[e->values[SCAN_INPUTS]]);
    add_ints(&node, "scan_input_axes", e->values[IN_AXES]);
    add_ints(&node, e->kind == SCAN_BATCH ? "directions" : "scan_input_directions",
             e->values[IN_DIRECTIONS]);
    add_ints(&node, "scan_output_axes", e->values[OUT_AXES]);
    add_ints(&node, "scan_output_directions", e->values[OUT_DIRECTIONS]);
    proto_message(&graph, GRAPH_NODE, &node);
    for (const char *p = outputs[e->values[OUTPUTS]]; *p; p += *p != 0)
        if (strchr("fyz", *p))
            proto_value(&graph, GRAPH_OUTPUT, (char[]){*p, 0}, ULP_TYPE_FLOAT, -1, NULL);
    return proto_model(8, e->kind == SCAN_BATCH ? 8 : 16, &graph);
}

static struct ulp_tensor_set make_inputs(const struct edge *e)
{
    static const char *const given[] = {"number", "cond", "s0", "x"};
    struct ulp_tensor_set inputs = {0};
    for (size_t i = 0; i < COUNT(given); i++) {
        const struct shape shape = shape_of(e, given[i]);
        struct ulp_tensor tensor;
        ck_ok(ulp_tensor_create(&tensor, type_of(given[i]), ULP_ELEMENT_COUNT, 0, shape.rank,
                                shape.dims, &why));
        for (size_t k = 0; k < tensor.count; k++)
            if (tensor.type == ULP_TYPE_FLOAT)
                ((float *)tensor.data)[k] = 0.5F * (float)k + 1;
            else
                ulp_tensor_set_int(&tensor, k,
                                   tensor.type == ULP_TYPE_INT64 ? numbers[e->values[NUMBER]]
                                                                 : e->values[CONDITION] != 1);
        ck_ok(ulp_tensor_set_add(&inputs, given[i], &tensor, &why));
    }
    return inputs;
}

/* ---- running it ---- */

#define LANES 2

/* Of all models; lives as long as the process, since results are charged to it. */
static struct ulp_budget *budget;

/* Load, compile and audit. Outputs, of lane 0, are the caller's. */
static enum ulp_status audit(const struct edge *e, struct ulp_tensor_set *out,
                             struct ulp_error *error)
{
    const struct ulp_arithmetic lanes[LANES] = {test_arithmetic("mpfr:128"),
                                                test_arithmetic("fp16")};
    scoped_model *model = NULL;
    scoped_program *program = NULL;
    struct ulp_tensor_set results[LANES] = {{0}};
    scoped_tensor_set inputs = make_inputs(e);
    scoped_proto bytes = make_model(e);
    const struct ulp_program_options options = {.inputs = &inputs};
    const struct ulp_run_options run = {.thread_count = 1, .audit = true};
    if (!budget)
        ck_assert_int_eq(ulp_budget_create(64 << 20, &budget, error), ULP_OK);
    enum ulp_status status =
        ulp_model_load_bytes("edge.onnx", bytes.data, bytes.count, budget, &model, error);
    if (status == ULP_OK)
        status = ulp_program_create(model, lanes, LANES, &options, &program, error);
    if (status == ULP_OK)
        status = ulp_program_run(program, &inputs, &run, NULL, 0, results, NULL, error);
    ulp_tensor_set_free(&results[1]);
    *out = results[0];
    return status;
}

static const char *write_edge(const struct edge *e)
{
    static char text[200];
    int used = snprintf(text, sizeof text, "kind %d", (int)e->kind);
    for (int f = 0; f < FIELDS; f++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %d", e->values[f]);
    return text;
}

static struct {
    size_t models, results, refusals;
} totals;

/* One in 23 of them but in a long test. */
static void try(const struct edge *e)
{
    scoped_tensor_set out = {0};
    struct ulp_error error = {0};
    if (totals.models++ % (test_long() ? 1 : 23))
        return;
    const enum ulp_status status = audit(e, &out, &error);
    ++*(status == ULP_OK ? &totals.results : &totals.refusals);
    ck_expect(status == ULP_OK || status == ULP_ERROR_INPUT || status == ULP_ERROR_UNSUPPORTED ||
                  status == ULP_ERROR_MEMORY,
              "%s: status %d: %s", write_edge(e), (int)status, error.message);
    ck_expect(status == ULP_OK || *error.message, "%s: no message: %s", write_edge(e),
              error.message);
    for (size_t i = 0; i < out.count; i++)
        for (size_t k = 0; k < out.items[i].tensor.count; k++)
            ck_expect(ulp_tensor_get(&out.items[i].tensor, k) != 0x1.5p1000, "an unlikely value");
    ulp_tensor_set_free(&out);
    ck_expect(!ulp_budget_used(budget), "%s: %zu bytes are still held", write_edge(e),
              ulp_budget_used(budget));
}

/* Every model with one or two of its fields changed. */
TEST(what_does_not_fit_is_refused)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int a = 0; a < FIELDS; a++)
            for (int u = 1; u < values_of[a]; u++)
                for (int b = a; b < FIELDS; b++)
                    for (int v = b == a ? u : 1; v < (b == a ? u + 1 : values_of[b]); v++) {
                        struct edge e = {.kind = (enum kind)kind};
                        e.values[a] = u;
                        e.values[b] = v;
                        try(&e);
                    }
    printf("%zu models: %zu gave a result, %zu were refused\n", totals.models, totals.results,
           totals.refusals);
}

/* ---- nothing to go through ---- */

static void expect_shape(const struct ulp_tensor_set *set, const char *name, int rank,
                         const int64_t *dims)
{
    const struct ulp_tensor *tensor = ulp_tensor_set_find(set, name);
    char text[200];
    ck_assert_ptr_nonnull(tensor);
    ck_assert_msg(tensor->type == ULP_TYPE_FLOAT && tensor->rank == rank &&
                      memcmp(tensor->dims, dims, (size_t)rank * sizeof *dims) == 0,
                  "%s is %s", name, ulp_tensor_describe_text(tensor, text, sizeof text));
}

static struct ulp_tensor_set run_edge(const struct edge *e)
{
    struct ulp_tensor_set out;
    ck_ok(audit(e, &out, &why));
    return out;
}

static void expect_state(const struct ulp_tensor_set *set, size_t count)
{
    const struct ulp_tensor *state = ulp_tensor_set_find(set, "f");
    ck_assert_uint_eq(state->count, count);
    for (size_t k = 0; k < count; k++) /* as it came */
        ck_assert(ulp_tensor_get(state, k) == 0.5 * (double)k + 1);
}

TEST(no_rounds_give_empty_outputs)
{
    struct ulp_tensor_set out = run_edge(&(struct edge){SCAN, {[X_SHAPE] = 1}});
    expect_shape(&out, "y", 2, (const int64_t[]){0, 2});
    expect_state(&out, 2);
    ulp_tensor_set_free(&out);

    out = run_edge(&(struct edge){SCAN, {[X_SHAPE] = 1, [OUT_AXES] = 1}});
    expect_shape(&out, "y", 2, (const int64_t[]){2, 0});
    ulp_tensor_set_free(&out);

    out = run_edge(&(struct edge){LOOP, {[NUMBER] = 1}});
    expect_shape(&out, "y", 2, (const int64_t[]){0, 2});
    expect_state(&out, 2);
    ulp_tensor_set_free(&out);

    out = run_edge(&(struct edge){LOOP, {[CONDITION] = 1}});
    expect_shape(&out, "y", 2, (const int64_t[]){0, 2});
    ulp_tensor_set_free(&out);

    out = run_edge(&(struct edge){SCAN_BATCH, {[X_SHAPE] = 1, [INPUTS] = 1}});
    expect_shape(&out, "y", 3, (const int64_t[]){2, 0, 2});
    expect_state(&out, 4);
    ulp_tensor_set_free(&out);

    out = run_edge(&(struct edge){SCAN_BATCH, {[X_SHAPE] = 2, [STATE_SHAPE] = 1, [INPUTS] = 1}});
    expect_shape(&out, "y", 3, (const int64_t[]){0, 3, 2});
    expect_shape(&out, "f", 2, (const int64_t[]){0, 2});
    ulp_tensor_set_free(&out);
}

/* The same models with something to do. */
TEST(rounds_give_what_they_should)
{
    struct ulp_tensor_set out = run_edge(&(struct edge){.kind = SCAN});
    expect_shape(&out, "y", 2, (const int64_t[]){3, 2});
    ulp_tensor_set_free(&out);
    out = run_edge(&(struct edge){.kind = LOOP});
    expect_shape(&out, "y", 2, (const int64_t[]){3, 2});
    ulp_tensor_set_free(&out);
    out = run_edge(&(struct edge){.kind = SCAN_BATCH});
    expect_shape(&out, "y", 3, (const int64_t[]){2, 3, 2});
    ulp_tensor_set_free(&out);
    out = run_edge(&(struct edge){.kind = IF});
    expect_shape(&out, "y", 1, (const int64_t[]){2});
    ulp_tensor_set_free(&out);
    /* outputs that are not wanted */
    for (int kind = 0; kind < KINDS; kind++)
        for (int n = 1; n < 4; n++) {
            out = run_edge(&(struct edge){(enum kind)kind, {[OUTPUTS] = n}});
            ck_assert_uint_eq(out.count, n < 3);
            ulp_tensor_set_free(&out);
        }
}

TEST_SUITE("control", 120)
