/* Which products of bytes may saturate: rows of operators, and the pairs of weights that a kernel
 * multiplies side by side. */
#include "ops/product/saturating.h"

#include <stdlib.h>
#include <string.h>

enum layout { MATRIX, GEMM, CONV };
#define MS "com.microsoft"

/* Inputs: the first factor and its zero point (-1: it is quantised inside), the weights and their
 * zero points. qdq: both factors come from DequantizeLinear, and signed activations become
 * unsigned.
 */
static const struct product_row {
    const char *domain, *op;
    int x, x_zero, w, w_zero;
    enum layout layout;
    bool qdq;
} rows[] = {
    {"", "Conv", 0, -1, 1, -1, CONV, true},
    {"", "Gemm", 0, -1, 1, -1, GEMM, true},
    {"", "MatMul", 0, -1, 1, -1, MATRIX, true},
    {"", "MatMulInteger", 0, 2, 1, 3, MATRIX, false},
    {"", "QLinearConv", 0, 2, 3, 5, CONV, false},
    {"", "QLinearMatMul", 0, 2, 3, 5, MATRIX, false},
    {MS, "DynamicQuantizeLSTM", -1, -1, 1, 9, MATRIX, false},
    {MS, "DynamicQuantizeLSTM", -1, -1, 2, 11, MATRIX, false},
    {MS, "DynamicQuantizeMatMul", -1, -1, 1, 3, MATRIX, false},
    {MS, "MatMulIntegerToFloat", 0, 4, 1, 5, MATRIX, false},
    {MS, "QAttention", 0, 6, 1, 7, MATRIX, false},
    {MS, "QGemm", 0, 2, 3, 5, GEMM, false},
    {MS, "QLinearConv", 0, 2, 3, 5, CONV, false},
};

struct finding {
    struct ulp_saturating *out;
    const struct ulp_graph *graph;
    const struct ulp_node *node;
    const struct product_row *row;
};

/* A value of the graph or of one around it. */
struct held {
    const struct ulp_graph *graph;
    int value; /* negative: it is omitted */
};

static struct held find_input(const struct ulp_graph *graph, const struct ulp_node *node, int i)
{
    int number = i >= 0 && (size_t)i < node->input_count ? node->inputs[i] : -1;
    while (number >= 0 && graph->values[number].outer >= 0 && graph->parent) {
        number = graph->values[number].outer;
        graph = graph->parent;
    }
    return (struct held){graph, number};
}

static const struct ulp_tensor *find_constant(struct held held)
{
    const struct ulp_node *node = ulp_value_producer(held.graph, held.value);
    for (int depth = 0; node && strcmp(node->op_type, "Identity") == 0 && depth < 8; depth++) {
        held = find_input(held.graph, node, 0);
        node = ulp_value_producer(held.graph, held.value);
    }
    return ulp_value_constant(held.graph, held.value);
}

static enum ulp_type type_of(struct held held)
{
    const struct ulp_tensor *constant = find_constant(held);
    return constant         ? constant->type
           : held.value < 0 ? ULP_TYPE_UNDEFINED
                            : held.graph->values[held.value].info.type;
}

static bool is_dequantize(const struct ulp_node *node)
{
    return node && strcmp(node->op_type, "DequantizeLinear") == 0;
}

/* Neighbours of one sign, of a line of k weights `step` apart whose channels (of a Conv) are the
 * inner ones: the largest sum of their magnitudes. */
static int find_largest_pair(const int8_t *line, size_t channels, size_t positions, size_t step)
{
    const size_t k = channels * positions;
    int largest = 0;
    for (size_t i = 0; i + 1 < k + k % 2; i += 2) {
        int high = 0, low = 0;
        for (size_t t = i; t < i + 2 && t < k; t++) {
            const int w = line[(t % channels * positions + t / channels) * step];
            high += w > 0 ? w : 0;
            low += w < 0 ? -w : 0;
        }
        largest = high > largest ? high : largest;
        largest = low > largest ? low : largest;
    }
    return largest;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int find_in_weights(const struct finding *f, const struct ulp_tensor *w)
{
    const int8_t *data = w->data;
    int largest = 0;
    if (w->rank < 2 || !w->count || w->element != ULP_ELEMENT_I8)
        return 0;
    if (f->row->layout == CONV) {
        const size_t line = w->count / (size_t)w->dims[0], channels = (size_t)w->dims[1];
        for (size_t at = 0; at < w->count; at += line)
            largest = larger(largest, find_largest_pair(data + at, channels, line / channels, 1));
        return largest;
    }
    const bool turned = f->row->layout == GEMM && ulp_node_int(f->node, "transB", 0);
    const size_t rows_ = (size_t)w->dims[w->rank - 2], columns = (size_t)w->dims[w->rank - 1];
    for (size_t at = 0; at < w->count; at += rows_ * columns)
        for (size_t i = 0; i < (turned ? rows_ : columns); i++)
            largest =
                larger(largest, turned ? find_largest_pair(data + at + i * columns, columns, 1, 1)
                                       : find_largest_pair(data + at + i, rows_, 1, columns));
    return largest;
}

/* A Conv of one channel in and out of a group is exact. */
static bool is_depthwise(const struct finding *f, const struct ulp_tensor *w)
{
    return f->row->layout == CONV && w->rank > 1 && w->dims[1] == 1 &&
           w->dims[0] == ulp_node_int(f->node, "group", 1);
}

static bool is_about(const struct product_row *row, const struct ulp_node *node)
{
    return strcmp(node->op_type, row->op) == 0 && strcmp(node->domain, row->domain) == 0;
}

/* Is the first factor signed, where such sums do not saturate? */
static bool is_signed(const struct ulp_graph *graph, const struct ulp_node *node,
                      const struct product_row *row)
{
    const struct held x = find_input(graph, node, row->x);
    const struct ulp_node *from = ulp_value_producer(x.graph, x.value);
    const bool quantized = from && strcmp(from->op_type, "QuantizeLinear") == 0;
    return type_of(x) == ULP_TYPE_INT8 ||
           type_of(find_input(graph, node, row->x_zero)) == ULP_TYPE_INT8 ||
           (quantized && type_of(find_input(x.graph, from, 2)) == ULP_TYPE_INT8);
}

static void look_at_product(const struct finding *f)
{
    struct ulp_saturating *out = f->out;
    struct held x = find_input(f->graph, f->node, f->row->x),
                w = find_input(f->graph, f->node, f->row->w);
    const struct ulp_node *dequantize = ulp_value_producer(w.graph, w.value);
    if (f->row->qdq) {
        if (!is_dequantize(ulp_value_producer(x.graph, x.value)) || !is_dequantize(dequantize))
            return;
        w = find_input(w.graph, dequantize, 0);
    } else if (is_signed(f->graph, f->node, f->row)) {
        return;
    }
    const struct ulp_tensor *weights = find_constant(w);
    const enum ulp_type type = type_of(w);
    if ((type != ULP_TYPE_INT8 && type != ULP_TYPE_UNDEFINED) ||
        (weights && is_depthwise(f, weights)))
        return;
    const int largest = weights ? find_in_weights(f, weights) : 0;
    out->product_count++;
    out->unknown += !weights;
    out->largest = larger(out->largest, largest);
    if (largest <= ULP_PAIR_FITS)
        return;
    out->reaching++;
    if (!out->node)
        out->node = f->node;
}

bool ulp_saturating_weights(const struct ulp_graph *graph, const struct ulp_node *node, size_t i,
                            int *weights, int *zero)
{
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        if (rows[r].qdq || !is_about(&rows[r], node) || is_signed(graph, node, &rows[r]) || i--)
            continue;
        *weights = rows[r].w;
        *zero = rows[r].w_zero;
        return true;
    }
    return false;
}

static void walk(struct ulp_saturating *out, const struct ulp_graph *graph)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            if (is_about(&rows[r], node))
                look_at_product(&(struct finding){out, graph, node, &rows[r]});
        for (size_t a = 0; a < node->attribute_count; a++)
            if (node->attributes[a].kind == ULP_ATTRIBUTE_GRAPH && node->attributes[a].graph)
                walk(out, node->attributes[a].graph);
    }
}

void ulp_saturating_find(const struct ulp_model *model, struct ulp_saturating *out)
{
    *out = (struct ulp_saturating){0};
    walk(out, model->graph);
    for (size_t f = 0; f < model->function_count; f++)
        walk(out, model->functions[f].body);
}
