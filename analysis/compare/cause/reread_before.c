/* Nodes that are put before one that is read otherwise. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/cause/reread.h"
#include "base/error.h"

/* In steps: what is a whole number but for roundings stays it. */
#define CUT (0.5 - 0x1p-13)

/* A node in front of an input of node n, which is node n + 1 then. */
static enum ulp_status put_before(struct ulp_reread_change *change, const char *op,
                                  struct ulp_error *error)
{
    struct ulp_reread *reread = change->reread;
    const size_t n = change->n, input = change->input;
    struct ulp_value *value = ulp_reread_add_value(reread, reread->nodes[n].name);
    change->changed = true;
    ULP_TRY(ulp_taken(value, error));
    ULP_TAKE_ARRAY(int, ends, reread->arena, 2, error);
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

static const struct ulp_tensor *input_of(const struct ulp_reread_change *change)
{
    return ulp_reread_shape(change->reread, ulp_reread_at(change), (int)change->input);
}

/* Before a node that takes rows together its input has its axes in another order. */
enum ulp_status ulp_reread_layout(struct ulp_reread_change *change, struct ulp_error *error)
{
    const struct ulp_tensor *in = input_of(change),
                            *out = ulp_reread_shape(change->reread, ulp_reread_at(change), -1);
    const size_t rank = strlen(change->text);
    int64_t axes[ULP_RANK_MAX];
    if (!in || !out || (size_t)in->rank != rank || out->rank >= in->rank)
        return ULP_OK;
    for (size_t d = 0; d < rank; d++)
        axes[d] = change->text[d] - '0';
    ULP_TRY(put_before(change, "Transpose", error));
    return ulp_reread_set_ints(change->reread, ulp_reread_at(change), "perm", axes, rank, error);
}

/* An axis counted from the last one; -1: it has not two places. */
static int find_axis(const struct ulp_tensor *in, char digit)
{
    const int axis = in ? in->rank - 1 - (digit - '0') : -1;
    return axis >= 0 && in->dims[axis] > 1 ? axis : -1;
}

/* The places of axes in reverse. */
enum ulp_status ulp_reread_reverse(struct ulp_reread_change *change, struct ulp_error *error)
{
    const struct ulp_tensor *in = input_of(change);
    for (const char *axes = change->text; *axes && find_axis(in, *axes) >= 0; axes++) {
        const int axis = find_axis(in, *axes);
        ULP_TRY(put_before(change, "Gather", error));
        ULP_TRY(ulp_reread_set_list(change->reread, ulp_reread_at(change), 1, NULL, in->dims[axis],
                                    error));
        ULP_TRY(ulp_reread_set_int(change->reread, ulp_reread_at(change), "axis", axis, error));
        change->n++;
    }
    return ULP_OK;
}

/* What is true or false, the other way round. */
enum ulp_status ulp_reread_invert(struct ulp_reread_change *change, struct ulp_error *error)
{
    const struct ulp_tensor *in = input_of(change);
    return in && in->type == ULP_TYPE_BOOL ? put_before(change, "Not", error) : ULP_OK;
}

/* Two axes of as many places exchanged. */
enum ulp_status ulp_reread_exchange(struct ulp_reread_change *change, struct ulp_error *error)
{
    const struct ulp_tensor *in = input_of(change);
    const int a = find_axis(in, change->text[0]), b = find_axis(in, change->text[1]);
    int64_t order[ULP_RANK_MAX];
    if (a < 0 || b < 0 || in->dims[a] != in->dims[b])
        return ULP_OK;
    for (int d = 0; d < in->rank; d++)
        order[d] = d == a ? b : d == b ? a : d;
    ULP_TRY(put_before(change, "Transpose", error));
    return ulp_reread_set_ints(change->reread, ulp_reread_at(change), "perm", order,
                               (size_t)in->rank, error);
}

/* The operator once more, on what it reads. */
enum ulp_status ulp_reread_repeat(struct ulp_reread_change *change, struct ulp_error *error)
{
    const struct ulp_node own = *ulp_reread_at(change);
    ULP_TRY(put_before(change, own.op_type, error));
    struct ulp_node *node = ulp_reread_at(change);
    node->domain = own.domain;
    node->inputs = own.inputs;
    node->input_count = own.input_count;
    node->attributes = own.attributes;
    node->attribute_count = own.attribute_count;
    return ULP_OK;
}

/* What comes later along the last axis is hidden from what is before it along the one before. */
enum ulp_status ulp_reread_hide(struct ulp_reread_change *change, struct ulp_error *error)
{
    const struct ulp_tensor *in = input_of(change);
    const int a = find_axis(in, '0'), b = find_axis(in, '1');
    struct ulp_tensor mask;
    double *numbers;
    if (a < 0 || b < 0 || in->dims[a] != in->dims[b])
        return ULP_OK;
    ULP_TRY(put_before(change, "Add", error));
    ULP_TRY(ulp_reread_make_constant(change->reread, in, 2, &in->dims[b], &mask, &numbers, error));
    for (size_t i = 0, side = (size_t)in->dims[a]; i < mask.count; i++)
        numbers[i] = i % side > i / side ? -INFINITY : 0;
    return ulp_reread_fill_constant(change->reread, ulp_reread_at(change), 1, &mask, numbers,
                                    error);
}

/* A bias of its result, of one number for each channel, with what was recorded ahead of it. */
enum ulp_status ulp_reread_offset(struct ulp_reread_change *change, struct ulp_error *error)
{
    struct ulp_reread *reread = change->reread;
    const struct ulp_tensor *in = input_of(change);
    struct ulp_tensor to;
    double *numbers;
    if (!in || !reread->ahead_count || in->count != reread->ahead_count ||
        strcmp(ulp_reread_at(change)->name, reread->target) != 0)
        return ULP_OK;
    ULP_TRY(put_before(change, "Add", error));
    ULP_TRY(ulp_reread_make_constant(reread, in, in->rank, in->dims, &to, &numbers, error));
    memcpy(numbers, reread->ahead, to.count * sizeof *numbers);
    return ulp_reread_fill_constant(reread, ulp_reread_at(change), 1, &to, numbers, error);
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

/* What an input is changed by: the operator and the number; NULL: nothing. */
static const char *find_change(const struct ulp_reread_change *change, double *number)
{
    const struct ulp_reread *reread = change->reread;
    const struct ulp_node *node = ulp_reread_at(change),
                          *from = ulp_value_producer(&reread->graph, node->inputs[change->input]);
    const struct ulp_tensor *in = input_of(change), *first = ulp_reread_shape(reread, node, 0),
                            *step = ulp_reread_constant(reread, node, 1);
    const char *word = change->word, letter = word[1];
    const double k = first && first->rank ? (double)first->dims[first->rank - 1] : 1;
    *number = 0;
    if (!in)
        return NULL;
    if (ulp_is_word(word, "@next @previous")) {
        *number = letter == 'n' ? 1 : -1;
        return ulp_is_word(ulp_type_name(in->type), "INT64 INT32") ? "Add" : NULL;
    }
    if (ulp_is_word(word, "@positive @negative"))
        return !ulp_reread_constant(reread, node, change->input) &&
                       !(from && strcmp(from->op_type, "DequantizeLinear") == 0)
                   ? NULL
               : letter == 'p' ? "Max"
                               : "Min";
    if (strcmp(word, "@cut") == 0)
        *number = step && step->count == 1 ? -CUT * ulp_tensor_get(step, 0) : 0;
    else if (ulp_is_word(word, "@scaled @unscaled") && node->input_count > 1)
        *number = find_scale(reread, node, change->input);
    else if (k > 1)
        *number = strcmp(word, "@unbiased") != 0             ? sqrt(k)
                  : strcmp(node->op_type, "ReduceMean") == 0 ? k / (k - 1)
                                                             : sqrt((k - 1) / k);
    if (*number != 0 && ulp_is_word(word, "@unscaled @rooted"))
        *number = 1 / *number;
    return *number == 0 ? NULL : letter == 'c' ? "Add" : "Mul";
}

/* Its input with a number by that operator. */
enum ulp_status ulp_reread_scale(struct ulp_reread_change *change, struct ulp_error *error)
{
    const struct ulp_tensor *in = input_of(change);
    double number, *numbers;
    struct ulp_tensor to;
    const char *op = find_change(change, &number);
    if (!op)
        return ULP_OK;
    ULP_TRY(put_before(change, op, error));
    ULP_TRY(ulp_reread_make_constant(change->reread, in, 0, NULL, &to, &numbers, error));
    numbers[0] = number;
    return ulp_reread_fill_constant(change->reread, ulp_reread_at(change), 1, &to, numbers, error);
}

/* Of rows along the last axis. */
static enum ulp_status put_row(struct ulp_reread_change *change, const char *op,
                               struct ulp_error *error)
{
    struct ulp_reread *reread = change->reread;
    const int64_t version = ulp_opset_find(reread->model.opsets, reread->model.opset_count, ""),
                  since = strcmp(op, "ReduceSum") == 0 ? 13 : 18, last = -1;
    ULP_TRY(put_before(change, op, error));
    ULP_TRY(version < since
                ? ulp_reread_set_ints(reread, ulp_reread_at(change), "axes", &last, 1, error)
                : ulp_reread_set_list(reread, ulp_reread_at(change), 1, &last, 1, error));
    change->n++;
    return ULP_OK;
}

/* What was chosen, or weighs, divided by its sum along the last axis. */
enum ulp_status ulp_reread_sum(struct ulp_reread_change *change, struct ulp_error *error)
{
    struct ulp_reread *reread = change->reread;
    const int x = ulp_reread_at(change)->inputs[change->input];
    const struct ulp_node *from = ulp_value_producer(&reread->graph, x);
    const struct ulp_tensor *in = input_of(change);
    if (!in || !from || !ulp_type_is_float(in->type) || find_axis(in, '0') < 0 ||
        !ulp_is_word(from->op_type, "TopK Softmax Sigmoid Exp Gather GatherElements"))
        return ULP_OK;
    ULP_TRY(put_row(change, "ReduceSum", error));
    const int sum = ulp_reread_at(change)->inputs[change->input];
    ULP_TRY(put_before(change, "Div", error));
    ULP_TRY(ulp_reread_set_input(reread, ulp_reread_at(change), 0, x, error));
    return ulp_reread_set_input(reread, ulp_reread_at(change), 1, sum, error);
}

/* Exponentials are no smaller than e to the number that is fitted: a Softmax's beside the largest
 * of its row. */
enum ulp_status ulp_reread_floor(struct ulp_reread_change *change, struct ulp_error *error)
{
    struct ulp_reread *reread = change->reread;
    const struct ulp_node *node = ulp_reread_at(change);
    const struct ulp_tensor *in = input_of(change);
    const int64_t version = ulp_opset_find(reread->model.opsets, reread->model.opset_count, ""),
                  axis = ulp_node_int(node, "axis", version < 13 ? 1 : -1);
    const bool row = strcmp(node->op_type, "Exp") != 0;
    const int x = node->inputs[change->input];
    struct ulp_tensor to;
    double *numbers;
    if (!in || reread->number == 0 || (row && axis != -1 && axis != in->rank - 1))
        return ULP_OK;
    if (row)
        ULP_TRY(put_row(change, "ReduceMax", error));
    ULP_TRY(put_before(change, row ? "Add" : "Max", error));
    ULP_TRY(ulp_reread_make_constant(reread, in, 0, NULL, &to, &numbers, error));
    numbers[0] = reread->number;
    ULP_TRY(ulp_reread_fill_constant(reread, ulp_reread_at(change), 1, &to, numbers, error));
    if (!row)
        return ULP_OK;
    change->n++;
    ULP_TRY(put_before(change, "Max", error));
    return ulp_reread_set_input(reread, ulp_reread_at(change), 1, x, error);
}

/* ---- codes that wrap ---- */

/* By scale: the width of the range, and how far above its lower end 0 is, in parts of that. */
struct wrap {
    const struct ulp_tensor *like; /* what is wrapped */
    const struct ulp_tensor *scale, *zero;
    double codes, lower, half; /* lower: least code; half: numbers are rounded to codes */
    int axis;                  /* along which scales lie; -1: there is one */
};

/* A node in front with a constant for each scale: its range's width times `factor`; 0: the shift.
 */
static enum ulp_status put_each(struct ulp_reread_change *change, const char *op,
                                const struct wrap *wrap, double factor, struct ulp_error *error)
{
    int64_t dims[ULP_RANK_MAX];
    struct ulp_tensor to;
    double *numbers;
    for (int d = 0; d < wrap->like->rank; d++)
        dims[d] = d == wrap->axis ? wrap->like->dims[d] : 1;
    ULP_TRY(put_before(change, op, error));
    ULP_TRY(ulp_reread_make_constant(change->reread, wrap->like,
                                     wrap->axis < 0 ? 0 : wrap->like->rank, dims, &to, &numbers,
                                     error));
    for (size_t i = 0; i < to.count; i++) {
        const double zero = wrap->zero && wrap->half > 0
                                ? ulp_tensor_get(wrap->zero, wrap->zero->count > i ? i : 0)
                                : 0;
        numbers[i] = factor != 0 ? factor * wrap->codes * ulp_tensor_get(wrap->scale, i)
                                 : (zero - wrap->lower + wrap->half) / wrap->codes;
    }
    ULP_TRY(
        ulp_reread_fill_constant(change->reread, ulp_reread_at(change), 1, &to, numbers, error));
    change->n++;
    return ULP_OK;
}

/* x - m floor(x / m + shift), m the range's width. */
static enum ulp_status put_wrap(struct ulp_reread_change *change, const struct wrap *wrap,
                                struct ulp_error *error)
{
    const int x = ulp_reread_at(change)->inputs[change->input];
    ULP_TRY(put_each(change, "Div", wrap, 1, error));
    ULP_TRY(put_each(change, "Add", wrap, 0, error));
    ULP_TRY(put_before(change, "Floor", error));
    change->n++;
    ULP_TRY(put_each(change, "Mul", wrap, -1, error));
    ULP_TRY(put_before(change, "Add", error));
    return ulp_reread_set_input(change->reread, ulp_reread_at(change), 1, x, error);
}

/* Codes of a quantiser that lie beyond its type keep their lower bits (N: 0), or what is taken off
 * by a zero point wraps in so many bits (N: 0, 8, 16 or 32) without a sign. */
enum ulp_status ulp_reread_wrap(struct ulp_reread_change *change, struct ulp_error *error)
{
    struct ulp_reread *reread = change->reread;
    struct ulp_node *node = ulp_reread_at(change);
    const bool quantizes = strcmp(node->op_type, "QuantizeLinear") == 0;
    const struct ulp_tensor *scale = ulp_reread_constant(reread, node, 1),
                            *zero = ulp_reread_constant(reread, node, 2),
                            *in = ulp_reread_shape(reread, node, 0),
                            *out = ulp_reread_shape(reread, node, -1),
                            *codes = quantizes ? out : in;
    const char *type = codes ? ulp_type_name(codes->type) : "";
    struct wrap wrap = {.like = quantizes ? in : out, .scale = scale, .zero = zero, .axis = -1};
    if (!in || !out || !scale || !scale->data || !ulp_is_word(type, "INT8 UINT8 INT16 UINT16") ||
        ulp_node_int(node, "block_size", 0) || (!quantizes && (!zero || !zero->data)))
        return ULP_OK;
    wrap.codes = ldexp(1, quantizes ? (strstr(type, "16") ? 16 : 8) : atoi(change->text));
    wrap.lower = quantizes && *type == 'I' ? -wrap.codes / 2 : 0;
    wrap.half = quantizes ? 0.5 : 0;
    if (scale->count > 1) {
        wrap.axis = (int)ulp_node_int(node, "axis", 1);
        wrap.axis += wrap.axis < 0 ? wrap.like->rank : 0;
        if (wrap.axis < 0 || wrap.axis >= wrap.like->rank ||
            (size_t)wrap.like->dims[wrap.axis] != scale->count)
            return ULP_OK;
    }
    if (!quantizes) { /* its own result is what is read behind */
        ULP_TRY(ulp_reread_repeat(change, error));
        change->n++;
        node = ulp_reread_at(change);
        node->op_type = "Identity";
        node->domain = "";
        node->attribute_count = 0;
        node->input_count = 1;
    }
    return put_wrap(change, &wrap, error);
}
