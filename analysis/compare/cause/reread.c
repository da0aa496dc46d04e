/* Models whose nodes are read otherwise. */
#include "analysis/compare/cause/reread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "number/function/math.h"
#include "tensor/tensor.h"

/* Values that a change may add to a node, constants and results of nodes that it puts in front. */
#define ADDED_MAX 8
#define TWO_OVER_ROOT_PI 1.1283791670955126

enum ulp_status ulp_reread_open(const struct ulp_program *program, size_t most,
                                struct ulp_reread *out, struct ulp_error *error)
{
    const struct ulp_graph *graph = program->model->graph;
    struct ulp_value *values;
    *out = (struct ulp_reread){.model = *program->model, .graph = *graph, .program = program};
    ULP_TRY(ulp_arena_create(&out->arena, ulp_model_budget(program->model), error));
    ULP_TAKE(out->nodes, out->arena, graph->node_count + ADDED_MAX * most, error);
    ULP_TAKE(values, out->arena, graph->value_count + ADDED_MAX * most, error);
    memcpy(out->nodes, graph->nodes, graph->node_count * sizeof *out->nodes);
    memcpy(values, graph->values, graph->value_count * sizeof *values);
    out->graph.nodes = out->nodes;
    out->graph.values = values;
    return ULP_OK;
}

/* ---- constants ---- */

static enum ulp_status map_constant(struct ulp_reread *reread, struct ulp_node *node,
                                    const char *name, size_t input, bool *changed,
                                    struct ulp_error *error)
{
    const struct ulp_tensor *from = ulp_reread_constant(reread, node, input);
    const ulp_reread_map map = from && from->data ? ulp_reread_map_find(name, from) : NULL;
    struct ulp_tensor to;
    double *numbers;
    if (!map)
        return ULP_OK;
    ULP_TRY(ulp_reread_make_constant(reread, from, from->rank, from->dims, &to, &numbers, error));
    for (size_t i = 0; i < to.count; i++)
        numbers[i] = map(from, i);
    *changed = true;
    return ulp_reread_fill_constant(reread, node, input, &to, numbers, error);
}

/* Blocks along axis 1 in another order: as many as the order has digits, in a bias twice. */
static enum ulp_status order_gates(struct ulp_reread *reread, struct ulp_node *node, size_t input,
                                   const char *order, bool *changed, struct ulp_error *error)
{
    const struct ulp_tensor *from = ulp_reread_constant(reread, node, input);
    const size_t gates = strlen(order), block = (size_t)ulp_node_int(node, "hidden_size", 0);
    struct ulp_tensor to;
    double *numbers;
    if (!from || from->rank < 2 || !block || (size_t)from->dims[1] % (gates * block))
        return ULP_OK;
    const size_t rows = (size_t)from->dims[1], each = from->rank > 2 ? (size_t)from->dims[2] : 1;
    ULP_TRY(ulp_reread_make_constant(reread, from, from->rank, from->dims, &to, &numbers, error));
    for (size_t i = 0; i < to.count; i++) {
        const size_t row = i / each % rows, gate = row / block % gates,
                     other = (size_t)(order[gate] - '0');
        numbers[i] = ulp_tensor_get(from, i - (row - (row - gate * block + other * block)) * each);
    }
    *changed = true;
    return ulp_reread_fill_constant(reread, node, input, &to, numbers, error);
}

/* ---- what follows from shapes ---- */

static enum ulp_status give_sizes(struct ulp_reread *reread, struct ulp_node *node, bool *changed,
                                  struct ulp_error *error)
{
    const struct ulp_tensor *out = ulp_reread_shape(reread, node, -1),
                            like = {.type = ULP_TYPE_INT64};
    struct ulp_tensor sizes;
    double *numbers;
    if (!out || node->input_count != 3 || ulp_node_attribute(node, "axes") ||
        strcmp(node->op_type, "Resize") != 0)
        return ULP_OK;
    const int64_t rank = out->rank;
    ULP_TRY(ulp_reread_make_constant(reread, &like, 1, &rank, &sizes, &numbers, error));
    for (int d = 0; d < out->rank; d++)
        numbers[d] = (double)out->dims[d];
    *changed = true;
    ULP_TRY(ulp_reread_set_input(reread, node, 2, -1, error));
    return ulp_reread_fill_constant(reread, node, 3, &sizes, numbers, error);
}

/* Zero points of 0, given where they are left out. */
static enum ulp_status give_zeros(struct ulp_reread *reread, struct ulp_node *node, size_t input,
                                  bool *changed, struct ulp_error *error)
{
    const bool gathers = strcmp(node->op_type, "GatherBlockQuantized") == 0;
    const size_t codes = gathers ? 0 : 1, scales = 2;
    const struct ulp_tensor *code = ulp_value_constant(&reread->graph, node->inputs[codes]),
                            *scale = ulp_value_constant(&reread->graph, node->inputs[scales]);
    const int64_t bits = ulp_node_int(node, "bits", 4), block = ulp_node_int(node, "block_size", 0);
    int64_t dims[ULP_RANK_MAX] = {0};
    struct ulp_tensor zeros;
    double *numbers;
    if (!code || !scale || code->type != ULP_TYPE_UINT8 || !block || !scale->rank ||
        (input < node->input_count && node->inputs[input] >= 0))
        return ULP_OK;
    memcpy(dims, scale->dims, sizeof dims);
    int rank = scale->rank;
    if (gathers) {
        dims[rank - 1] = (dims[rank - 1] * bits + 7) / 8;
    } else {
        const int64_t blocks = (ulp_node_int(node, "K", 0) + block - 1) / block;
        dims[0] = ulp_node_int(node, "N", 0) * ((blocks * bits + 7) / 8);
        rank = 1;
    }
    ULP_TRY(ulp_reread_make_constant(reread, code, rank, dims, &zeros, &numbers, error));
    *changed = true;
    return ulp_reread_fill_constant(reread, node, input, &zeros, numbers, error);
}

/* A quantiser of what lies between 0 and 1 by that range. */
static enum ulp_status fix_scale(struct ulp_reread *reread, struct ulp_node *node, bool *changed,
                                 struct ulp_error *error)
{
    const struct ulp_node *from = ulp_value_producer(&reread->graph, node->inputs[0]);
    const struct ulp_tensor *scale = ulp_value_constant(&reread->graph, node->inputs[1]),
                            *zero = node->input_count > 2
                                        ? ulp_value_constant(&reread->graph, node->inputs[2])
                                        : NULL;
    double low, high, *numbers;
    struct ulp_tensor to;
    if (!from || !ulp_is_word(from->op_type, "Sigmoid HardSigmoid Softmax") || !scale || !zero ||
        scale->count != 1 || zero->count != 1)
        return ULP_OK;
    ulp_integer_range(zero->type, &low, &high);
    ULP_TRY(
        ulp_reread_make_constant(reread, scale, scale->rank, scale->dims, &to, &numbers, error));
    numbers[0] = 1 / (high - low + 1);
    *changed = true;
    ULP_TRY(ulp_reread_fill_constant(reread, node, 1, &to, numbers, error));
    ULP_TRY(ulp_reread_make_constant(reread, zero, zero->rank, zero->dims, &to, &numbers, error));
    numbers[0] = low;
    return ulp_reread_fill_constant(reread, node, 2, &to, numbers, error);
}

/* A node in front of an input of node n, which is node n + 1 then. */
static enum ulp_status put_before(struct ulp_reread *reread, size_t n, size_t input, const char *op,
                                  struct ulp_error *error)
{
    struct ulp_value *value = ulp_reread_add_value(reread, reread->nodes[n].name);
    int *ends;
    ULP_TRY(ulp_taken(value, error));
    ULP_TAKE(ends, reread->arena, 2, error);
    memmove(&reread->nodes[n + 1], &reread->nodes[n],
            (reread->graph.node_count++ - n) * sizeof *reread->nodes);
    for (size_t v = 0; v < reread->graph.value_count; v++)
        reread->graph.values[v].producer += reread->graph.values[v].producer >= (int)n;
    for (size_t i = n + 1; i < reread->graph.node_count; i++)
        reread->nodes[i].index++;
    ends[0] = reread->nodes[n + 1].inputs[input];
    ends[1] = (int)(value - reread->graph.values);
    value->producer = (int)n;
    struct ulp_node *node = &reread->nodes[n];
    node->name = value->name;
    node->op_type = op;
    node->domain = "";
    node->inputs = &ends[0];
    node->outputs = &ends[1];
    node->input_count = node->output_count = 1;
    node->attribute_count = 0;
    return ulp_reread_set_input(reread, &reread->nodes[n + 1], input, ends[1], error);
}

static enum ulp_status turn_input(struct ulp_reread *reread, size_t n, size_t input,
                                  const char *order, bool *changed, struct ulp_error *error)
{
    const struct ulp_tensor *in = ulp_reread_shape(reread, &reread->nodes[n], (int)input),
                            *out = ulp_reread_shape(reread, &reread->nodes[n], -1);
    const size_t rank = strlen(order);
    int64_t axes[ULP_RANK_MAX];
    if (!in || !out || (size_t)in->rank != rank || out->rank >= in->rank)
        return ULP_OK;
    for (size_t d = 0; d < rank; d++)
        axes[d] = order[d] - '0';
    *changed = true;
    ULP_TRY(put_before(reread, n, input, "Transpose", error));
    return ulp_reread_set_ints(reread, &reread->nodes[n], "perm", axes, rank, error);
}

/* The scale that the other input of a node was multiplied by; 0: none. */
static double find_scale(const struct ulp_reread *reread, const struct ulp_node *node, size_t input)
{
    const struct ulp_node *other = ulp_value_producer(&reread->graph, node->inputs[!input]);
    double scale = 0;
    for (size_t i = 0; other && i < other->input_count && scale == 0; i++) {
        const struct ulp_tensor *one = ulp_reread_constant(reread, other, i);
        if (one && one->count == 1)
            scale = strcmp(other->op_type, "Mul") == 0        ? ulp_tensor_get(one, 0)
                    : strcmp(other->op_type, "Div") == 0 && i ? 1 / ulp_tensor_get(one, 0)
                                                              : 0;
    }
    return scale;
}

/* What an input is changed by: the operator and the number; op NULL: by nothing. */
static const char *find_change(const struct ulp_reread *reread, const struct ulp_node *node,
                               size_t input, const char *change, double *number)
{
    const struct ulp_tensor *in = ulp_reread_shape(reread, node, 0);
    const struct ulp_node *from = ulp_value_producer(&reread->graph, node->inputs[input]);
    *number = 0;
    if (ulp_is_word(change, "@positive @negative"))
        return !ulp_reread_constant(reread, node, input) &&
                       !(from && strcmp(from->op_type, "DequantizeLinear") == 0)
                   ? NULL
               : change[1] == 'p' ? "Max"
                                  : "Min";
    if (ulp_is_word(change, "@scaled @unscaled")) {
        *number = find_scale(reread, node, input);
        if (*number != 0 && change[1] == 'u')
            *number = 1 / *number;
    } else if (in && in->rank && in->dims[in->rank - 1] > 1) {
        *number = sqrt((double)in->dims[in->rank - 1]);
        if (change[1] == 'r')
            *number = 1 / *number;
    }
    return *number != 0 ? "Mul" : NULL;
}

static enum ulp_status set_number(struct ulp_reread *reread, size_t n,
                                  const struct ulp_tensor *like, double number,
                                  struct ulp_error *error)
{
    struct ulp_tensor to;
    double *numbers;
    ULP_TRY(ulp_reread_make_constant(reread, like, 0, NULL, &to, &numbers, error));
    numbers[0] = number;
    return ulp_reread_fill_constant(reread, &reread->nodes[n], 1, &to, numbers, error);
}

static enum ulp_status change_input(struct ulp_reread *reread, size_t n, size_t input,
                                    const char *change, bool *changed, struct ulp_error *error)
{
    const struct ulp_node *node = &reread->nodes[n];
    const struct ulp_tensor *in =
        input < node->input_count ? ulp_reread_shape(reread, node, (int)input) : NULL;
    double number;
    const char *op =
        in && node->input_count > 1 ? find_change(reread, node, input, change, &number) : NULL;
    if (!op)
        return ULP_OK;
    *changed = true;
    ULP_TRY(put_before(reread, n, input, op, error));
    return set_number(reread, n, in, number, error);
}

/* erf(z) by what the two usual approximations of Gelu make of it: tanh(a z + b z^3), and of
 * x sigmoid(1.702 x) tanh(c z). */
static enum ulp_status approximate_erf(struct ulp_reread *reread, size_t n, bool quick,
                                       bool *changed, struct ulp_error *error)
{
    const struct ulp_tensor *in = ulp_reread_shape(reread, &reread->nodes[n], 0);
    const int z = reread->nodes[n].inputs[0];
    if (!in)
        return ULP_OK;
    *changed = true;
    reread->nodes[n].op_type = "Tanh";
    ULP_TRY(put_before(reread, n, 0, "Mul", error));
    if (quick)
        return set_number(reread, n, in, 1.702 * 0.70710678118654752, error);
    ULP_TRY(ulp_reread_set_input(reread, &reread->nodes[n], 1, z, error));
    ULP_TRY(put_before(reread, n, 1, "Add", error));
    ULP_TRY(set_number(reread, n, in, TWO_OVER_ROOT_PI, error));
    ULP_TRY(put_before(reread, n, 0, "Mul", error));
    ULP_TRY(set_number(reread, n, in, 2 * 0.044715 * TWO_OVER_ROOT_PI, error));
    ULP_TRY(put_before(reread, n, 0, "Mul", error));
    return ulp_reread_set_input(reread, &reread->nodes[n], 1, z, error);
}

/* Codes and zero point with the same bits in the type of the other sign. */
static enum ulp_status retype(struct ulp_reread *reread, struct ulp_node *node, bool *changed,
                              struct ulp_error *error)
{
    for (size_t input = 0; input < 3; input += 2) {
        const struct ulp_tensor *from = ulp_reread_constant(reread, node, input);
        if (!from)
            continue;
        const bool is_signed = from->type == ULP_TYPE_INT8;
        const struct ulp_tensor like = {.type = is_signed ? ULP_TYPE_UINT8 : ULP_TYPE_INT8};
        struct ulp_tensor to;
        double *numbers;
        if (!is_signed && from->type != ULP_TYPE_UINT8)
            return ULP_OK;
        ULP_TRY(
            ulp_reread_make_constant(reread, &like, from->rank, from->dims, &to, &numbers, error));
        for (size_t i = 0; i < to.count; i++) {
            const double x = ulp_tensor_get(from, i);
            numbers[i] = x + (x < 0 ? 256 : !is_signed && x > 127 ? -256 : 0);
        }
        *changed = true;
        ULP_TRY(ulp_reread_fill_constant(reread, node, input, &to, numbers, error));
    }
    return ULP_OK;
}

/* A constant of one axis, along the last one in place of the first. */
static enum ulp_status move_axis(struct ulp_reread *reread, struct ulp_node *node, size_t input,
                                 bool *changed, struct ulp_error *error)
{
    const struct ulp_tensor *from = ulp_reread_constant(reread, node, input);
    if (!from || from->rank < 2 || from->count < 2 || from->count != (size_t)from->dims[0])
        return ULP_OK;
    struct ulp_tensor to = ulp_tensor_view(from);
    to.dims[0] = 1;
    to.dims[to.rank - 1] = from->dims[0];
    *changed = true;
    return ulp_reread_set_constant(reread, node, input, &to, error);
}

enum ulp_status ulp_reread_wire(struct ulp_reread *reread, size_t n, size_t input, int value,
                                struct ulp_error *error)
{
    return ulp_reread_set_input(reread, &reread->nodes[n], input, value, error);
}

/* ---- one word of a change ---- */

static enum ulp_status give_attribute(struct ulp_reread *reread, struct ulp_node *node,
                                      const char *name, const char *text, bool more, bool *changed,
                                      struct ulp_error *error)
{
    struct ulp_attribute attribute = {.name = name, .kind = ULP_ATTRIBUTE_STRING, .s = text};
    const struct ulp_attribute *old = ulp_node_attribute(node, name);
    if (strspn(text, "-0123456789") == strlen(text)) {
        attribute.kind = ULP_ATTRIBUTE_INT;
        attribute.i = strtoll(text, NULL, 10) + (more && old ? old->i : 0);
    } else if (strspn(text, "-.0123456789") == strlen(text)) {
        attribute.kind = ULP_ATTRIBUTE_FLOAT;
        attribute.f = strtof(text, NULL);
    }
    if ((more && (!old || old->i <= 0)) ||
        (old && old->kind == attribute.kind && old->i == attribute.i && old->f == attribute.f &&
         (!old->s || strcmp(old->s, text) == 0)))
        return ULP_OK;
    *changed = true;
    return ulp_reread_set_attribute(reread, node, &attribute, error);
}

static enum ulp_status change_word(struct ulp_reread *reread, size_t n, char *word, bool *changed,
                                   struct ulp_error *error)
{
    struct ulp_node *node = &reread->nodes[n];
    char *text = strchr(word, '='), *colon = text ? strchr(text, ':') : NULL;
    const bool more = text && text > word && text[-1] == '+';
    if (text) {
        text[more ? -1 : 0] = 0;
        text++;
    }
    if (colon)
        *colon++ = 0;
    if (*word != '@')
        return give_attribute(reread, node, word, text, more, changed, error);
    if (strcmp(word, "@op") == 0 || strcmp(word, "@left") == 0) {
        const bool left = word[1] == 'l';
        const size_t input = left ? (size_t)(*text - '0') : 0;
        if (input >= node->input_count || node->inputs[input] < 0)
            return ULP_OK;
        const size_t most = left || !colon ? 1 : (size_t)(*colon - '0');
        node->op_type = left ? "Identity" : text;
        node->domain = left ? "" : node->domain;
        node->attribute_count = left ? 0 : node->attribute_count;
        node->inputs += input;
        node->input_count = node->input_count < most ? node->input_count : most;
        node->output_count = left ? 1 : node->output_count;
        *changed = true;
        return ULP_OK;
    }
    const size_t input = text ? (size_t)(*text - '0') : 0;
    if (strcmp(word, "@gates") == 0)
        return order_gates(reread, node, input, colon, changed, error);
    if (strcmp(word, "@layout") == 0)
        return turn_input(reread, n, input, colon, changed, error);
    if (ulp_is_word(word, "@rooted @unrooted @scaled @unscaled @positive @negative"))
        return change_input(reread, n, input, word, changed, error);
    if (ulp_is_word(word, "@tanh @quick"))
        return approximate_erf(reread, n, word[1] == 'q', changed, error);
    if (strcmp(word, "@retyped") == 0)
        return retype(reread, node, changed, error);
    if (strcmp(word, "@moved") == 0)
        return move_axis(reread, node, input, changed, error);
    if (strcmp(word, "@none") == 0)
        return give_zeros(reread, node, input, changed, error);
    if (strcmp(word, "@sizes") == 0)
        return give_sizes(reread, node, changed, error);
    if (strcmp(word, "@fixed") == 0)
        return fix_scale(reread, node, changed, error);
    if (ulp_is_word(word, "@counted @same @lower"))
        return ulp_reread_pads(reread, node, word, changed, error);
    return map_constant(reread, node, word, input, changed, error);
}

enum ulp_status ulp_reread_node(struct ulp_reread *reread, size_t n, const char *change,
                                bool *changed, struct ulp_error *error)
{
    char *words = ulp_arena_copy(reread->arena, change), *next;
    *changed = false;
    ULP_TRY(ulp_taken(words, error));
    for (; words; words = next) {
        next = strchr(words, ' ');
        if (next)
            *next++ = 0;
        bool one = false;
        ULP_TRY(change_word(reread, n, words, &one, error));
        *changed |= one;
    }
    return ULP_OK;
}
