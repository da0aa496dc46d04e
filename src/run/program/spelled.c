/* Operators on quantised values as the nodes that they stand for: DequantizeLinear of what they
 * read, the operator on floats, QuantizeLinear of its result. A call of a function that is made
 * here, so that each is reported under the operator's name. */
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "run/program/program.h"
#include "tensor/tensor.h"

enum { DATA_MAX = 2, VALUES_MAX = 24, NODES_MAX = 8, OPSET = 13 };

/* data: inputs that a scale and a zero point follow; y: the scale of the result, its zero point
 * next; bias: INT32 at the product of both scales. */
static const struct spelling {
    const char *domain, *op, *on_floats;
    int data_count, data[DATA_MAX], y, bias;
} spellings[] = {
    {"", "QLinearConv", "Conv", 2, {0, 3}, 6, 8},
    {"", "QLinearMatMul", "MatMul", 2, {0, 3}, 6, -1},
    {"com.microsoft", "QGemm", "Gemm", 2, {0, 3}, 7, 6},
    {"com.microsoft", "QLinearAdd", "Add", 2, {0, 3}, 6, -1},
    {"com.microsoft", "QLinearAveragePool", "AveragePool", 1, {0}, 3, -1},
    {"com.microsoft", "QLinearGlobalAveragePool", "GlobalAveragePool", 1, {0}, 3, -1},
    {"com.microsoft", "QLinearLeakyRelu", "LeakyRelu", 1, {0}, 3, -1},
    {"com.microsoft", "QLinearMul", "Mul", 2, {0, 3}, 6, -1},
    {"com.microsoft", "QLinearSigmoid", "Sigmoid", 1, {0}, 3, -1},
    {"com.microsoft", "QLinearSoftmax", "Softmax", 1, {0}, 3, -1},
};

struct writing {
    struct ulp_arena *arena;
    const struct ulp_graph *graph; /* the node's */
    const struct ulp_node *node;
    struct ulp_graph *body;
    struct ulp_value *values;
    struct ulp_node *nodes;
    bool failed;
};

static int add_value(struct writing *w, const char *name, const struct ulp_tensor *constant)
{
    const int number = (int)w->body->value_count++;
    w->values[number] = (struct ulp_value){
        .name = name, .info = {.rank = -1}, .initializer = constant, .producer = -1, .outer = -1};
    return number;
}

static int add_node(struct writing *w, const char *op, const char *name, const int *inputs,
                    size_t count, const struct ulp_attribute *attributes, size_t attribute_count)
{
    struct ulp_node *node = &w->nodes[w->body->node_count];
    int *numbers = ulp_arena_take(w->arena, count + 1, sizeof *numbers);
    const int result = add_value(w, name, NULL);
    w->failed |= !numbers;
    if (!numbers)
        return result;
    const size_t end = count;
    memcpy(numbers, inputs, count * sizeof *numbers);
    numbers[end] = result;
    while (count > 1 && numbers[count - 1] < 0)
        count--; /* what is omitted at the end */
    *node = (struct ulp_node){.index = (int)w->body->node_count,
                              .position = (int)w->body->node_count,
                              .name = name,
                              .named = true,
                              .op_type = op,
                              .domain = "",
                              .overload = "",
                              .scopes = "",
                              .input_count = count,
                              .inputs = numbers,
                              .output_count = 1,
                              .outputs = numbers + end,
                              .attributes = attributes,
                              .attribute_count = attribute_count};
    w->values[result].producer = node->index;
    w->body->node_count++;
    return result;
}

static int read_input(const struct ulp_node *node, int i)
{
    return i >= 0 && (size_t)i < node->input_count ? node->inputs[i] : -1;
}

/* The call's input i as the body's value; -1: it is omitted. */
static int parameter(const struct ulp_node *node, int i)
{
    return read_input(node, i) < 0 ? -1 : i;
}

/* The scales of a bias: products of both factors', rounded to FLOAT as quantisers do. */
static const struct ulp_tensor *multiply_scales(struct ulp_arena *arena, const struct ulp_tensor *a,
                                                const struct ulp_tensor *b)
{
    struct ulp_tensor *out = ulp_arena_take(arena, 1, sizeof *out);
    float *data = b ? ulp_arena_take(arena, b->count + 1, sizeof *data) : NULL;
    if (!a || !b || !out || !data || a->count != 1 || b->rank > 1)
        return NULL;
    *out = ulp_tensor_view(b);
    for (size_t i = 0; i < b->count; i++)
        data[i] = (float)ulp_tensor_read(a, 0) * (float)ulp_tensor_read(b, i);
    out->data = data;
    return out;
}

static const struct spelling *find_spelling(const struct ulp_node *node)
{
    for (size_t s = 0; s < sizeof spellings / sizeof *spellings; s++)
        if (strcmp(spellings[s].op, node->op_type) == 0 &&
            (strcmp(spellings[s].domain, node->domain) == 0 ||
             strcmp(node->op_type, "QLinearConv") == 0))
            return &spellings[s];
    return NULL;
}

/* Not what has channels last, a scale that is computed beside a bias, or an older Softmax. */
static bool can_spell(const struct spelling *spelling, const struct ulp_graph *graph,
                      const struct ulp_node *node, int64_t opset, const struct ulp_tensor **bias,
                      struct ulp_arena *arena)
{
    const struct ulp_attribute *alpha = ulp_node_attribute(node, "alpha");
    *bias = NULL;
    if (ulp_node_int(node, "channels_last", 0) || read_input(node, spelling->y) < 0 ||
        (strcmp(node->op_type, "QGemm") == 0 && alpha && alpha->f != 1) ||
        (strcmp(node->op_type, "QLinearSoftmax") == 0 &&
         (opset < OPSET || ulp_node_int(node, "opset", OPSET) < OPSET)))
        return false;
    if (read_input(node, spelling->bias) < 0)
        return true;
    *bias = multiply_scales(arena, ulp_value_constant(graph, read_input(node, 1)),
                            ulp_value_constant(graph, read_input(node, 4)));
    return *bias;
}

static const struct ulp_attribute *make_axis(struct ulp_arena *arena, int64_t axis)
{
    struct ulp_attribute *attribute = ulp_arena_take(arena, 1, sizeof *attribute);
    if (attribute)
        *attribute = (struct ulp_attribute){.name = "axis", .kind = ULP_ATTRIBUTE_INT, .i = axis};
    return attribute;
}

static void write_body(struct writing *w, const struct spelling *spelling,
                       const struct ulp_tensor *bias_scale)
{
    const struct ulp_node *node = w->node;
    const bool conv = strcmp(spelling->on_floats, "Conv") == 0;
    int inputs[3], quantised[3];
    int *outputs = ulp_arena_take(w->arena, 1, sizeof *outputs);
    struct ulp_attribute *kept = ulp_arena_take(w->arena, node->attribute_count + 1, sizeof *kept);
    size_t kept_count = 0, count = 0;
    const int64_t axis = conv || ulp_node_int(node, "transB", 0) ? 0 : 1;
    for (int d = 0; d < spelling->data_count; d++) {
        const int at = spelling->data[d],
                  read[] = {at, parameter(node, at + 1), parameter(node, at + 2)};
        const bool constant = ulp_value_constant(w->graph, read_input(node, at));
        inputs[count++] = add_node(w, "DequantizeLinear",
                                   constant ? "weights"
                                   : d      ? "second"
                                            : "input",
                                   read, 3, make_axis(w->arena, d ? axis : 1), 1);
    }
    if (bias_scale) {
        const int read[] = {spelling->bias, add_value(w, "bias_scale", bias_scale)};
        inputs[count++] =
            add_node(w, "DequantizeLinear", "bias", read, 2, make_axis(w->arena, 0), 1);
    }
    w->failed |= !kept || !outputs;
    for (size_t a = 0; a < node->attribute_count && kept; a++)
        if (strcmp(node->attributes[a].name, "channels_last") != 0 &&
            strcmp(node->attributes[a].name, "opset") != 0)
            kept[kept_count++] = node->attributes[a];
    const int made =
        add_node(w, spelling->on_floats, spelling->on_floats, inputs, count, kept, kept_count);
    quantised[0] = made;
    quantised[1] = parameter(node, spelling->y);
    quantised[2] = parameter(node, spelling->y + 1);
    const int result = add_node(w, "QuantizeLinear", "QuantizeLinear", quantised, 3, NULL, 0);
    if (!w->failed)
        *outputs = result;
    w->body->outputs = outputs;
    w->body->output_count = 1;
}

enum ulp_status ulp_program_spell(struct ulp_arena *arena, const struct ulp_graph *graph,
                                  const struct ulp_node *node, int64_t opset,
                                  const struct ulp_function **out, struct ulp_error *error)
{
    const struct spelling *spelling = find_spelling(node);
    const struct ulp_tensor *bias_scale;
    *out = NULL;
    if (!spelling || node->input_count > VALUES_MAX / 2 || node->output_count != 1 ||
        !can_spell(spelling, graph, node, opset, &bias_scale, arena))
        return ULP_OK;
    struct ulp_function *function = ulp_arena_take(arena, 1, sizeof *function);
    struct ulp_opset *opsets = ulp_arena_take(arena, 1, sizeof *opsets);
    int *inputs = ulp_arena_take(arena, node->input_count + 1, sizeof *inputs);
    struct writing w = {.arena = arena,
                        .graph = graph,
                        .node = node,
                        .body = ulp_arena_take(arena, 1, sizeof *w.body),
                        .values = ulp_arena_take(arena, VALUES_MAX, sizeof *w.values),
                        .nodes = ulp_arena_take(arena, NODES_MAX, sizeof *w.nodes)};
    ULP_TRY(ulp_taken(function && opsets && inputs && w.body && w.values && w.nodes, error));
    *opsets = (struct ulp_opset){"", opset > OPSET ? opset : OPSET};
    for (size_t i = 0; i < node->input_count; i++)
        inputs[i] = add_value(&w, "parameter", NULL);
    w.body->inputs = inputs;
    w.body->input_count = node->input_count;
    w.body->values = w.values;
    w.body->nodes = w.nodes;
    w.body->name = node->op_type;
    write_body(&w, spelling, bias_scale);
    ULP_TRY(ulp_taken(!w.failed, error));
    *function = (struct ulp_function){.name = node->op_type,
                                      .domain = node->domain,
                                      .overload = "",
                                      .input_count = node->input_count,
                                      .output_count = 1,
                                      .opset_count = 1,
                                      .opsets = opsets,
                                      .body = w.body};
    *out = function;
    return ULP_OK;
}
