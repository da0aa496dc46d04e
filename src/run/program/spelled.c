/* Operators on quantised values as the nodes that they stand for: DequantizeLinear of what they
 * read, the operator on floats, QuantizeLinear of its result. A call of a function that is made
 * here, so that each is reported under the operator's name. MatMulInteger and ConvInteger of a
 * DynamicQuantizeLinear, whose sums the graph scales later, are such products divided by scales. */
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "run/program/program.h"
#include "tensor/tensor.h"

enum { DATA_MAX = 2, VALUES_MAX = 24, NODES_MAX = 8, OUTPUTS_MAX = 3, OPSET = 13 };
/* Where a call of MatMulInteger or ConvInteger has the first factor's scale. */
enum { SCALE_AT = 4 };

/* Of every body that is made here. */
static const char written_here[] = "spelled";

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
    int *outputs;
    bool failed;
};

static int add_value(struct writing *w, const char *name, const struct ulp_tensor *constant)
{
    const int number = (int)w->body->value_count++;
    w->values[number] = (struct ulp_value){
        .name = name, .info = {.rank = -1}, .initializer = constant, .producer = -1, .outer = -1};
    return number;
}

/* The last value that it gives; those before it have the numbers before. */
static int add_node(struct writing *w, const char *op, const char *name, const int *inputs,
                    size_t count, const struct ulp_attribute *attributes, size_t attribute_count)
{
    const size_t end = count;
    const size_t outputs = strcmp(op, "DynamicQuantizeLinear") == 0 ? OUTPUTS_MAX : 1;
    struct ulp_node *node = &w->nodes[w->body->node_count];
    int *numbers = ulp_arena_take(w->arena, count + outputs, sizeof *numbers), result = -1;
    w->failed |= !numbers;
    if (!numbers)
        return result;
    memcpy(numbers, inputs, count * sizeof *numbers);
    for (size_t o = 0; o < outputs; o++) {
        result = numbers[end + o] = add_value(w, name, NULL);
        w->values[result].producer = (int)w->body->node_count;
    }
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
                              .output_count = outputs,
                              .outputs = numbers + end,
                              .attributes = attributes,
                              .attribute_count = attribute_count};
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

/* ---- dynamic forms ---- */

/* Is it ONNX's operator, with so many inputs and outputs? Nothing has checked the node yet. */
static bool is_plain(const struct ulp_node *node, const char *op, size_t inputs, size_t outputs)
{
    return node && strcmp(node->domain, "") == 0 && strcmp(node->op_type, op) == 0 &&
           node->input_count == inputs && node->output_count == outputs;
}

/* The node that alone reads the value, and nobody else does; NULL: there is none. */
static const struct ulp_node *find_only_reader(const struct ulp_graph *graph, int value)
{
    const struct ulp_node *found = NULL;
    size_t count = 0;
    for (size_t o = 0; o < graph->output_count; o++)
        count += graph->outputs[o] == value;
    for (size_t n = 0; n < graph->node_count; n++)
        for (size_t i = 0; i < graph->nodes[n].input_count; i++)
            if (graph->nodes[n].inputs[i] == value) {
                found = &graph->nodes[n];
                count++;
            }
    return count == 1 ? found : NULL;
}

/* What the node multiplies the value by; -1: it is no Mul of it. */
static int find_factor(const struct ulp_node *node, int value)
{
    return !is_plain(node, "Mul", 2, 1) ? -1
           : node->inputs[0] == value   ? node->inputs[1]
           : node->inputs[1] == value   ? node->inputs[0]
                                        : -1;
}

/* What the product's sums, as floats, are multiplied by besides the first factor's scale, together
 * with it or before or behind it; NULL: no constant, or nothing that is known. */
static const struct ulp_tensor *find_second_scale(const struct ulp_graph *graph,
                                                  const struct ulp_node *product, int first)
{
    const struct ulp_node *reader = find_only_reader(graph, product->outputs[0]);
    int second = -1, factors = 0;
    if (!is_plain(reader, "Cast", 1, 1) || ulp_node_int(reader, "to", 0) != ULP_TYPE_FLOAT)
        return NULL;
    for (; factors < 2; factors++) {
        const int value = reader->outputs[0];
        reader = find_only_reader(graph, value);
        const int by = find_factor(reader, value);
        const int inside = by < 0 ? -1 : find_factor(ulp_value_producer(graph, by), first);
        if (inside >= 0)
            return ulp_value_constant(graph, inside);
        if (by < 0 || (factors && by != first && second != first))
            return NULL;
        second = second < 0 || by != first ? by : second;
    }
    return ulp_value_constant(graph, second);
}

/* A scale of the second factor in the one dimension that DequantizeLinear takes; NULL: it has
 * none, or divides by 0. */
static const struct ulp_tensor *lay_flat(struct ulp_arena *arena, const struct ulp_tensor *scale,
                                         const struct ulp_tensor *zero)
{
    struct ulp_tensor *flat = ulp_arena_take(arena, 1, sizeof *flat);
    if (!flat || scale->type != ULP_TYPE_FLOAT || (zero && zero->count != scale->count))
        return NULL;
    for (size_t i = 0; i < scale->count; i++)
        if (ulp_tensor_read(scale, i) == 0)
            return NULL;
    for (int d = 0; d < scale->rank; d++)
        if (scale->dims[d] != 1 && (size_t)scale->dims[d] != scale->count)
            return NULL;
    *flat = ulp_tensor_view(scale);
    flat->rank = scale->count > 1;
    flat->dims[0] = (int64_t)scale->count;
    return flat;
}

/* A MatMulInteger or ConvInteger whose second factor is a constant. */
static bool is_integer_product(const struct ulp_graph *graph, const struct ulp_node *node)
{
    const struct ulp_tensor *weights = ulp_value_constant(graph, read_input(node, 1));
    return node->input_count <= SCALE_AT && weights && weights->rank > 0 &&
           (is_plain(node, "MatMulInteger", node->input_count, 1) ||
            is_plain(node, "ConvInteger", node->input_count, 1));
}

/* The first factor's scale, which the call hands on behind its inputs, and the second's. */
struct scaling {
    int first;
    const struct ulp_tensor *second, *flat; /* flat: for DequantizeLinear */
};

static bool find_scaling(struct ulp_arena *arena, const struct ulp_graph *graph,
                         const struct ulp_node *node, struct scaling *out)
{
    const struct ulp_node *producer = ulp_value_producer(graph, read_input(node, 0));
    const int zero = read_input(node, 3);
    if (!is_integer_product(graph, node) ||
        !is_plain(producer, "DynamicQuantizeLinear", 1, OUTPUTS_MAX) ||
        producer->outputs[0] != node->inputs[0] || (out->first = producer->outputs[1]) < 0 ||
        !(out->second = find_second_scale(graph, node, out->first)) ||
        (zero >= 0 && !ulp_value_constant(graph, zero)))
        return false;
    out->flat = lay_flat(arena, out->second, ulp_value_constant(graph, zero));
    return out->flat;
}

/* Factor d on floats: codes, scale and zero point; along the axis where it is the second. */
static int write_factor(struct writing *w, int d, const int *read, int64_t axis)
{
    const bool constant = ulp_value_constant(w->graph, read_input(w->node, read[0]));
    return add_node(w, "DequantizeLinear",
                    constant ? "weights"
                    : d      ? "second"
                             : "input",
                    read, 3, make_axis(w->arena, d ? axis : 1), 1);
}

static int write_product(struct writing *w, const char *op, const int *inputs, size_t count)
{
    const struct ulp_node *node = w->node;
    struct ulp_attribute *kept = ulp_arena_take(w->arena, node->attribute_count + 1, sizeof *kept);
    size_t kept_count = 0;
    w->failed |= !kept;
    for (size_t a = 0; a < node->attribute_count && kept; a++)
        if (strcmp(node->attributes[a].name, "channels_last") != 0 &&
            strcmp(node->attributes[a].name, "opset") != 0)
            kept[kept_count++] = node->attributes[a];
    return add_node(w, op, op, inputs, count, kept, kept_count);
}

static void write_quantised(struct writing *w, const struct spelling *spelling,
                            const struct ulp_tensor *bias_scale)
{
    const struct ulp_node *node = w->node;
    int inputs[3];
    size_t count = 0;
    const bool conv = strcmp(spelling->on_floats, "Conv") == 0;
    for (int d = 0; d < spelling->data_count; d++) {
        const int at = spelling->data[d],
                  read[] = {at, parameter(node, at + 1), parameter(node, at + 2)};
        inputs[count++] = write_factor(w, d, read, conv || ulp_node_int(node, "transB", 0) ? 0 : 1);
    }
    if (bias_scale) {
        const int read[] = {spelling->bias, add_value(w, "bias_scale", bias_scale)};
        inputs[count++] =
            add_node(w, "DequantizeLinear", "bias", read, 2, make_axis(w->arena, 0), 1);
    }
    const int quantised[] = {write_product(w, spelling->on_floats, inputs, count),
                             parameter(node, spelling->y), parameter(node, spelling->y + 1)};
    w->outputs[0] = add_node(w, "QuantizeLinear", "QuantizeLinear", quantised, 3, NULL, 0);
}

/* Sums are whole numbers, which the graph multiplies by both scales: here they are divided. */
static void write_scaled(struct writing *w, const struct scaling *scaling)
{
    const struct ulp_node *node = w->node;
    const bool conv = strcmp(node->op_type, "ConvInteger") == 0;
    const struct ulp_tensor *weights = ulp_value_constant(w->graph, node->inputs[1]);
    const int first[] = {0, SCALE_AT, parameter(node, 2)},
              second[] = {1, add_value(w, "weight_scale", scaling->flat), parameter(node, 3)},
              factors[] = {write_factor(w, 0, first, 1),
                           write_factor(w, 1, second, conv ? 0 : weights->rank - 1)},
              product[] = {write_product(w, conv ? "Conv" : "MatMul", factors, 2), SCALE_AT},
              sums[] = {add_node(w, "Div", "sums", product, 2, NULL, 0),
                        add_value(w, "second_scale", scaling->second)};
    w->outputs[0] = add_node(w, "Div", "integers", sums, 2, NULL, 0);
}

/* The scale as the operator finds it, and codes by QuantizeLinear, through which errors go. */
static void write_dynamic(struct writing *w)
{
    const int x = 0, zero = add_node(w, "DynamicQuantizeLinear", "scale", &x, 1, NULL, 0),
              read[] = {x, zero - 1, zero};
    w->outputs[0] = add_node(w, "QuantizeLinear", "QuantizeLinear", read, 3, NULL, 0);
    w->outputs[1] = zero - 1;
    w->outputs[2] = zero;
}

static enum ulp_status begin_writing(struct writing *w, size_t input_count, struct ulp_error *error)
{
    ULP_TAKE(w->body, w->arena, 1, error);
    ULP_TAKE(w->values, w->arena, VALUES_MAX, error);
    ULP_TAKE(w->nodes, w->arena, NODES_MAX, error);
    ULP_TAKE(w->outputs, w->arena, OUTPUTS_MAX, error);
    int *inputs;
    ULP_TAKE(inputs, w->arena, input_count + 1, error);
    for (size_t i = 0; i < input_count; i++)
        inputs[i] = add_value(w, "parameter", NULL);
    w->body->inputs = inputs;
    w->body->input_count = input_count;
    w->body->outputs = w->outputs;
    w->body->output_count = w->node->output_count;
    w->body->values = w->values;
    w->body->nodes = w->nodes;
    w->body->name = written_here;
    return ULP_OK;
}

/* The call with the first factor's scale behind its inputs. */
static enum ulp_status add_scale(struct ulp_arena *arena, int scale, const struct ulp_node **node,
                                 struct ulp_error *error)
{
    struct ulp_node *call;
    int *inputs;
    ULP_TAKE(call, arena, 1, error);
    ULP_TAKE(inputs, arena, SCALE_AT + 1, error);
    *call = **node;
    for (int i = 0; i < SCALE_AT; i++)
        inputs[i] = read_input(*node, i);
    inputs[SCALE_AT] = scale;
    call->inputs = inputs;
    call->input_count = SCALE_AT + 1;
    *node = call;
    return ULP_OK;
}

enum ulp_status ulp_program_spell(struct ulp_arena *arena, const struct ulp_graph *graph,
                                  const struct ulp_node **node, int64_t opset,
                                  const struct ulp_function **out, struct ulp_error *error)
{
    const struct spelling *spelling = find_spelling(*node);
    const struct ulp_tensor *bias_scale = NULL;
    struct scaling scaling = {0};
    const bool quantises = is_plain(*node, "DynamicQuantizeLinear", 1, OUTPUTS_MAX) &&
                           read_input(*node, 0) >= 0 && graph->name != written_here,
               scaled = find_scaling(arena, graph, *node, &scaling);
    *out = NULL;
    if (!quantises && !scaled &&
        (!spelling || (*node)->input_count > VALUES_MAX / 2 || (*node)->output_count != 1 ||
         !can_spell(spelling, graph, *node, opset, &bias_scale, arena)))
        return ULP_OK;
    if (scaled)
        ULP_TRY(add_scale(arena, scaling.first, node, error));
    struct writing w = {.arena = arena, .graph = graph, .node = *node};
    ULP_TRY(begin_writing(&w, (*node)->input_count, error));
    if (spelling)
        write_quantised(&w, spelling, bias_scale);
    else if (scaled)
        write_scaled(&w, &scaling);
    else
        write_dynamic(&w);
    ULP_TRY(ulp_taken(!w.failed, error));
    struct ulp_opset *opsets;
    struct ulp_function *function;
    ULP_TAKE(opsets, arena, 1, error);
    ULP_TAKE(function, arena, 1, error);
    *opsets = (struct ulp_opset){"", opset > OPSET ? opset : OPSET};
    *function = (struct ulp_function){.name = (*node)->op_type,
                                      .domain = (*node)->domain,
                                      .overload = "",
                                      .input_count = (*node)->input_count,
                                      .output_count = (*node)->output_count,
                                      .opset_count = 1,
                                      .opsets = opsets,
                                      .body = w.body};
    *out = function;
    return ULP_OK;
}
