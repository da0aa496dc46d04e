/* Models whose nodes are read otherwise. */
#include "analysis/compare/cause/reread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "number/function/math.h"
#include "tensor/tensor.h"

/* Constants and results that a change may add to a node. */
#define ADDED_MAX 4

enum ulp_status ulp_reread_open(const struct ulp_program *program, struct ulp_reread *out,
                                struct ulp_error *error)
{
    const struct ulp_graph *graph = program->model->graph;
    struct ulp_value *values;
    *out = (struct ulp_reread){.model = *program->model, .graph = *graph, .program = program};
    ULP_TRY(ulp_arena_create(&out->arena, ulp_model_budget(program->model), error));
    ULP_TAKE(out->nodes, out->arena, 2 * graph->node_count, error);
    ULP_TAKE(values, out->arena, graph->value_count + ADDED_MAX * graph->node_count, error);
    memcpy(out->nodes, graph->nodes, graph->node_count * sizeof *out->nodes);
    memcpy(values, graph->values, graph->value_count * sizeof *values);
    out->graph.nodes = out->nodes;
    out->graph.values = values;
    return ULP_OK;
}

/* ---- parts of a node ---- */

/* The graph is the copy's only now: what was copied may lie elsewhere since. */
static struct ulp_value *add_value(struct ulp_reread *reread, const char *like)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text name = {0};
    struct ulp_value *value = &reread->graph.values[reread->graph.value_count];
    ulp_text_add(&name, "%s#%zu", like, reread->graph.value_count++);
    *value = (struct ulp_value){.producer = -1, .outer = -1};
    value->name = name.failed ? NULL : ulp_arena_copy(reread->arena, name.data);
    return value->name ? value : NULL;
}

static const struct ulp_tensor *find_constant(const struct ulp_reread *reread,
                                              const struct ulp_node *node, size_t input)
{
    return input < node->input_count ? ulp_value_constant(&reread->graph, node->inputs[input])
                                     : NULL;
}

static enum ulp_status set_input(struct ulp_reread *reread, struct ulp_node *node, size_t input,
                                 int value, struct ulp_error *error)
{
    const size_t count = input < node->input_count ? node->input_count : input + 1;
    int *inputs;
    ULP_TAKE(inputs, reread->arena, count, error);
    for (size_t i = 0; i < count; i++)
        inputs[i] = i == input ? value : i < node->input_count ? node->inputs[i] : -1;
    node->inputs = inputs;
    node->input_count = count;
    return ULP_OK;
}

static enum ulp_status set_constant(struct ulp_reread *reread, struct ulp_node *node, size_t input,
                                    struct ulp_tensor *tensor, struct ulp_error *error)
{
    struct ulp_value *value = add_value(reread, node->name);
    struct ulp_tensor *kept;
    ULP_TRY(ulp_taken(value, error));
    ULP_TAKE(kept, reread->arena, 1, error);
    *kept = *tensor;
    value->initializer = kept;
    return set_input(reread, node, input, (int)(value - reread->graph.values), error);
}

/* A tensor of those numbers in the type of another. */
static enum ulp_status make_constant(struct ulp_reread *reread, const struct ulp_tensor *like,
                                     int rank, const int64_t *dims, struct ulp_tensor *out,
                                     double **numbers, struct ulp_error *error)
{
    ULP_TRY(ulp_tensor_describe(out, like->type, ulp_type_rows[like->type].element, 0, rank, dims,
                                error));
    out->data = ulp_arena_take(reread->arena, out->count + 1, out->element_bytes);
    *numbers = ulp_arena_take(reread->arena, out->count + 1, sizeof **numbers);
    return ulp_taken(out->data && *numbers, error);
}

static enum ulp_status fill_constant(struct ulp_reread *reread, struct ulp_node *node, size_t input,
                                     struct ulp_tensor *tensor, const double *numbers,
                                     struct ulp_error *error)
{
    struct ulp_tensor from;
    const int64_t count = (int64_t)tensor->count;
    ULP_TRY(ulp_tensor_describe(&from, ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, 1, &count, error));
    from.data = (void *)(uintptr_t)numbers;
    ULP_TRY(ulp_tensor_convert(tensor, &from, NULL, ULP_ROUND_NEAREST_EVEN, 0, NULL, error));
    return set_constant(reread, node, input, tensor, error);
}

static enum ulp_status set_attribute(struct ulp_reread *reread, struct ulp_node *node,
                                     const struct ulp_attribute *attribute, struct ulp_error *error)
{
    struct ulp_attribute *all;
    size_t count = 0;
    ULP_TAKE(all, reread->arena, node->attribute_count + 1, error);
    for (size_t a = 0; a < node->attribute_count; a++)
        if (strcmp(node->attributes[a].name, attribute->name) != 0)
            all[count++] = node->attributes[a];
    all[count++] = *attribute;
    node->attributes = all;
    node->attribute_count = count;
    return ULP_OK;
}

static enum ulp_status set_ints(struct ulp_reread *reread, struct ulp_node *node, const char *name,
                                const int64_t *values, size_t count, struct ulp_error *error)
{
    int64_t *kept;
    ULP_TAKE(kept, reread->arena, count, error);
    memcpy(kept, values, count * sizeof *kept);
    const struct ulp_attribute attribute = {.name = name,
                                            .kind = ULP_ATTRIBUTE_INTS,
                                            .ints = kept,
                                            .count = count};
    return set_attribute(reread, node, &attribute, error);
}

static enum ulp_status set_int(struct ulp_reread *reread, struct ulp_node *node, const char *name,
                               int64_t i, struct ulp_error *error)
{
    const struct ulp_attribute attribute = {.name = name, .kind = ULP_ATTRIBUTE_INT, .i = i};
    return set_attribute(reread, node, &attribute, error);
}

/* ---- constants ---- */

static enum ulp_status map_constant(struct ulp_reread *reread, struct ulp_node *node,
                                    const char *name, size_t input, bool *changed,
                                    struct ulp_error *error)
{
    const struct ulp_tensor *from = find_constant(reread, node, input);
    const ulp_reread_map map = from && from->data ? ulp_reread_map_find(name, from) : NULL;
    struct ulp_tensor to;
    double *numbers;
    if (!map)
        return ULP_OK;
    ULP_TRY(make_constant(reread, from, from->rank, from->dims, &to, &numbers, error));
    for (size_t i = 0; i < to.count; i++)
        numbers[i] = map(from, i);
    *changed = true;
    return fill_constant(reread, node, input, &to, numbers, error);
}

/* Blocks along axis 1 in another order: as many as the order has digits, in a bias twice. */
static enum ulp_status order_gates(struct ulp_reread *reread, struct ulp_node *node, size_t input,
                                   const char *order, bool *changed, struct ulp_error *error)
{
    const struct ulp_tensor *from = find_constant(reread, node, input);
    const size_t gates = strlen(order), block = (size_t)ulp_node_int(node, "hidden_size", 0);
    struct ulp_tensor to;
    double *numbers;
    if (!from || from->rank < 2 || !block || (size_t)from->dims[1] % (gates * block))
        return ULP_OK;
    const size_t rows = (size_t)from->dims[1], each = from->rank > 2 ? (size_t)from->dims[2] : 1;
    ULP_TRY(make_constant(reread, from, from->rank, from->dims, &to, &numbers, error));
    for (size_t i = 0; i < to.count; i++) {
        const size_t row = i / each % rows, gate = row / block % gates,
                     other = (size_t)(order[gate] - '0');
        numbers[i] = ulp_tensor_get(from, i - (row - (row - gate * block + other * block)) * each);
    }
    *changed = true;
    return fill_constant(reread, node, input, &to, numbers, error);
}

/* ---- what follows from shapes ---- */

static const struct ulp_step *find_step(const struct ulp_reread *reread,
                                        const struct ulp_node *node)
{
    const struct ulp_block *block = reread->program->main;
    for (size_t s = 0; s < block->step_count; s++)
        if (strcmp(block->steps[s].name, node->name) == 0)
            return &block->steps[s];
    return NULL;
}

/* Of an input, or of the result (-1); NULL: it is not known. */
static const struct ulp_tensor *find_shape(const struct ulp_reread *reread,
                                           const struct ulp_node *node, int input)
{
    const struct ulp_step *step = find_step(reread, node);
    const int slot = !step                               ? -1
                     : input < 0                         ? step->outputs[0]
                     : (size_t)input < step->input_count ? step->inputs[input]
                                                         : -1;
    const struct ulp_tensor *shape = slot < 0 ? NULL : &reread->program->main->slots[slot].shape;
    bool known = shape && shape->type != ULP_TYPE_UNDEFINED;
    for (int d = 0; known && d < shape->rank; d++)
        known = shape->dims[d] >= 0;
    return known ? shape : NULL;
}

static enum ulp_status give_sizes(struct ulp_reread *reread, struct ulp_node *node, bool *changed,
                                  struct ulp_error *error)
{
    const struct ulp_tensor *out = find_shape(reread, node, -1), like = {.type = ULP_TYPE_INT64};
    struct ulp_tensor sizes;
    double *numbers;
    if (!out || node->input_count != 3 || ulp_node_attribute(node, "axes") ||
        strcmp(node->op_type, "Resize") != 0)
        return ULP_OK;
    const int64_t rank = out->rank;
    ULP_TRY(make_constant(reread, &like, 1, &rank, &sizes, &numbers, error));
    for (int d = 0; d < out->rank; d++)
        numbers[d] = (double)out->dims[d];
    *changed = true;
    ULP_TRY(set_input(reread, node, 2, -1, error));
    return fill_constant(reread, node, 3, &sizes, numbers, error);
}

static int64_t list_int(const struct ulp_node *node, const char *name, size_t i, int64_t fallback)
{
    const struct ulp_attribute *list = ulp_node_attribute(node, name);
    return list && i < list->count ? list->ints[i] : fallback;
}

/* How many places the windows of axis d take beyond the input, before and behind it together. */
static int64_t reach(const struct ulp_reread *reread, const struct ulp_node *node, size_t d)
{
    const struct ulp_tensor *in = find_shape(reread, node, 0), *out = find_shape(reread, node, -1),
                            *weights = find_shape(reread, node, 1);
    const int64_t kernel = list_int(node, "kernel_shape", d, weights ? weights->dims[d + 2] : 1);
    return (out->dims[d + 2] - 1) * list_int(node, "strides", d, 1) +
           (kernel - 1) * list_int(node, "dilations", d, 1) + 1 - in->dims[d + 2];
}

/* Padding that follows from the shapes: of ceil_mode, whose places beyond the end count, or SAME.
 */
static enum ulp_status pad_otherwise(struct ulp_reread *reread, struct ulp_node *node,
                                     const char *change, bool *changed, struct ulp_error *error)
{
    const struct ulp_tensor *in = find_shape(reread, node, 0), *out = find_shape(reread, node, -1);
    const bool counted = strcmp(change, "@counted") == 0, lower = strcmp(change, "@lower") == 0;
    int64_t pads[2 * ULP_RANK_MAX] = {0};
    if (!in || !out || in->rank < 3 || out->rank != in->rank)
        return ULP_OK;
    const size_t axes = (size_t)in->rank - 2;
    for (size_t d = 0; d < axes; d++) {
        const int64_t all = reach(reread, node, d), total = all > 0 ? all : 0;
        pads[d] = counted ? list_int(node, "pads", d, 0) : (total + lower) / 2;
        pads[axes + d] = total - pads[d];
        *changed |= pads[axes + d] != list_int(node, "pads", axes + d, 0) ||
                    pads[d] != list_int(node, "pads", d, 0);
        if (pads[axes + d] < 0)
            pads[axes + d] = 0;
    }
    if (!*changed)
        return ULP_OK;
    const struct ulp_attribute none = {.name = "auto_pad",
                                       .kind = ULP_ATTRIBUTE_STRING,
                                       .s = "NOTSET"};
    ULP_TRY(set_attribute(reread, node, &none, error));
    ULP_TRY(set_ints(reread, node, "pads", pads, 2 * axes, error));
    if (counted) {
        ULP_TRY(set_int(reread, node, "ceil_mode", 0, error));
        ULP_TRY(set_int(reread, node, "count_include_pad", 1, error));
    }
    return ULP_OK;
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
    ULP_TRY(make_constant(reread, code, rank, dims, &zeros, &numbers, error));
    *changed = true;
    return fill_constant(reread, node, input, &zeros, numbers, error);
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
    ULP_TRY(make_constant(reread, scale, scale->rank, scale->dims, &to, &numbers, error));
    numbers[0] = 1 / (high - low + 1);
    *changed = true;
    ULP_TRY(fill_constant(reread, node, 1, &to, numbers, error));
    ULP_TRY(make_constant(reread, zero, zero->rank, zero->dims, &to, &numbers, error));
    numbers[0] = low;
    return fill_constant(reread, node, 2, &to, numbers, error);
}

/* A node in front of an input of node n, which is node n + 1 then. */
static enum ulp_status put_before(struct ulp_reread *reread, size_t n, size_t input, const char *op,
                                  struct ulp_error *error)
{
    struct ulp_value *value = add_value(reread, reread->nodes[n].name);
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
    return set_input(reread, &reread->nodes[n + 1], input, ends[1], error);
}

static enum ulp_status turn_input(struct ulp_reread *reread, size_t n, size_t input,
                                  const char *order, bool *changed, struct ulp_error *error)
{
    const struct ulp_tensor *in = find_shape(reread, &reread->nodes[n], (int)input),
                            *out = find_shape(reread, &reread->nodes[n], -1);
    const size_t rank = strlen(order);
    int64_t axes[ULP_RANK_MAX];
    if (!in || !out || (size_t)in->rank != rank || out->rank >= in->rank)
        return ULP_OK;
    for (size_t d = 0; d < rank; d++)
        axes[d] = order[d] - '0';
    *changed = true;
    ULP_TRY(put_before(reread, n, input, "Transpose", error));
    return set_ints(reread, &reread->nodes[n], "perm", axes, rank, error);
}

/* The scale that the other input of a node was multiplied by; 0: none. */
static double find_scale(const struct ulp_reread *reread, const struct ulp_node *node, size_t input)
{
    const struct ulp_node *other = ulp_value_producer(&reread->graph, node->inputs[!input]);
    double scale = 0;
    for (size_t i = 0; other && i < other->input_count && scale == 0; i++) {
        const struct ulp_tensor *one = find_constant(reread, other, i);
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
    const struct ulp_tensor *in = find_shape(reread, node, 0);
    const struct ulp_node *from = ulp_value_producer(&reread->graph, node->inputs[input]);
    *number = 0;
    if (ulp_is_word(change, "@positive @negative"))
        return !find_constant(reread, node, input) &&
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

static enum ulp_status change_input(struct ulp_reread *reread, size_t n, size_t input,
                                    const char *change, bool *changed, struct ulp_error *error)
{
    const struct ulp_node *node = &reread->nodes[n];
    const struct ulp_tensor *in =
        input < node->input_count ? find_shape(reread, node, (int)input) : NULL;
    double number, *numbers;
    const char *op =
        in && node->input_count > 1 ? find_change(reread, node, input, change, &number) : NULL;
    struct ulp_tensor to;
    if (!op)
        return ULP_OK;
    *changed = true;
    ULP_TRY(put_before(reread, n, input, op, error));
    ULP_TRY(make_constant(reread, in, 0, NULL, &to, &numbers, error));
    numbers[0] = number;
    return fill_constant(reread, &reread->nodes[n], 1, &to, numbers, error);
}

/* Codes and zero point with the same bits in the type of the other sign. */
static enum ulp_status retype(struct ulp_reread *reread, struct ulp_node *node, bool *changed,
                              struct ulp_error *error)
{
    for (size_t input = 0; input < 3; input += 2) {
        const struct ulp_tensor *from = find_constant(reread, node, input);
        if (!from)
            continue;
        const bool is_signed = from->type == ULP_TYPE_INT8;
        const struct ulp_tensor like = {.type = is_signed ? ULP_TYPE_UINT8 : ULP_TYPE_INT8};
        struct ulp_tensor to;
        double *numbers;
        if (!is_signed && from->type != ULP_TYPE_UINT8)
            return ULP_OK;
        ULP_TRY(make_constant(reread, &like, from->rank, from->dims, &to, &numbers, error));
        for (size_t i = 0; i < to.count; i++) {
            const double x = ulp_tensor_get(from, i);
            numbers[i] = x + (x < 0 ? 256 : !is_signed && x > 127 ? -256 : 0);
        }
        *changed = true;
        ULP_TRY(fill_constant(reread, node, input, &to, numbers, error));
    }
    return ULP_OK;
}

/* A constant of one axis, along the last one in place of the first. */
static enum ulp_status move_axis(struct ulp_reread *reread, struct ulp_node *node, size_t input,
                                 bool *changed, struct ulp_error *error)
{
    const struct ulp_tensor *from = find_constant(reread, node, input);
    if (!from || from->rank < 2 || from->count < 2 || from->count != (size_t)from->dims[0])
        return ULP_OK;
    struct ulp_tensor to = ulp_tensor_view(from);
    to.dims[0] = 1;
    to.dims[to.rank - 1] = from->dims[0];
    *changed = true;
    return set_constant(reread, node, input, &to, error);
}

enum ulp_status ulp_reread_wire(struct ulp_reread *reread, size_t n, size_t input, int value,
                                struct ulp_error *error)
{
    return set_input(reread, &reread->nodes[n], input, value, error);
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
    return set_attribute(reread, node, &attribute, error);
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
        node->op_type = left ? "Identity" : text;
        node->domain = left ? "" : node->domain;
        node->attribute_count = left ? 0 : node->attribute_count;
        node->inputs += input;
        node->input_count = left ? 1 : node->input_count;
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
        return pad_otherwise(reread, node, word, changed, error);
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
