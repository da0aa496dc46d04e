/* Rules about quantised models. */

#include "analysis/lint/lint.h"

#include "ops/product/saturating.h"
#include "ops/product/quantize_rows.h"
#include "tensor/tensor.h"

static bool is_quantizing(struct ulp_lint_place place)
{
    return ulp_lint_is(place, "QuantizeLinear") || ulp_lint_is(place, "DequantizeLinear");
}

/* The zero point, when it is a constant. */
static const struct ulp_tensor *find_zero_point(struct ulp_lint_place place)
{
    return is_quantizing(place) ? ulp_lint_constant(place.graph, ulp_lint_input(place, 2)) : NULL;
}

/* Asymmetric quantisation is one decision: one finding, at the first of its nodes. */
void ulp_lint_qdq_asymmetric(struct ulp_lint *lint)
{
    struct ulp_lint_place first = {0};
    const struct ulp_tensor *first_zero = NULL;
    double value = 0;
    size_t count = 0;
    for (size_t n = 0; n < lint->node_count; n++) {
        const struct ulp_tensor *zero = find_zero_point(lint->places[n]);
        size_t i = 0;
        while (zero && i < zero->count && ulp_tensor_get(zero, i) == 0)
            i++;
        if (!zero || i == zero->count)
            continue;
        if (!count++) {
            first = lint->places[n];
            first_zero = zero;
            value = ulp_tensor_get(zero, i);
        }
    }
    if (count)
        ulp_lint_add(lint, first, NULL,
                     "the zero point is %g (%s), and of %zu node%s in all it is not 0", value,
                     ulp_type_name(first_zero->type), count, count == 1 ? "" : "s");
}

/* A zero point at the upper end of the type leaves no step for positive values. */
void ulp_lint_qdq_clips(struct ulp_lint *lint, struct ulp_lint_place place)
{
    double bottom, top;
    const struct ulp_tensor *zero = find_zero_point(place);
    struct ulp_lint_place source = ulp_lint_source(place, 0);
    for (int depth = 0; depth < 8 && ulp_lint_is(source, "Cast"); depth++)
        source = ulp_lint_source(source, 0);
    if (!zero || !zero->count || !source.node ||
        ulp_lint_is_any(source, "LogSoftmax Neg Min Clip") ||
        ulp_lint_constant(place.graph, ulp_lint_input(place, 0)))
        return;
    ulp_integer_range(zero->type, &bottom, &top);
    if (top > 0 && ulp_tensor_get(zero, 0) == top)
        ulp_lint_add(
            lint, place, NULL,
            "the zero point is %g, the largest %s: every positive value of '%s' (%s) becomes 0",
            top, ulp_type_name(zero->type), source.node->name, source.node->op_type);
}

/* Behind QuantizeLinear and DequantizeLinear: is it a constant? */
static const struct ulp_tensor *find_quantized_constant(struct ulp_lint_place place)
{
    for (int depth = 0; depth < 8 && is_quantizing(place); depth++) {
        const struct ulp_tensor *constant =
            ulp_lint_constant(place.graph, ulp_lint_input(place, 0));
        if (constant)
            return constant;
        place = ulp_lint_source(place, 0);
    }
    return NULL;
}

void ulp_lint_qdq_axis(struct ulp_lint *lint, struct ulp_lint_place place)
{
    const struct ulp_tensor *scale =
        is_quantizing(place) ? ulp_lint_constant(place.graph, ulp_lint_input(place, 1)) : NULL;
    if (!scale || scale->rank != 1 || scale->count < 2 || ulp_lint_int(place, "block_size", 0))
        return;
    const struct ulp_tensor *constant = find_quantized_constant(place);
    int64_t axis = ulp_lint_int(place, "axis", 1);
    if (!constant) {
        ulp_lint_add(lint, place, NULL, "an activation has %zu scales along axis %lld",
                     scale->count, (long long)axis);
        return;
    }
    axis += axis < 0 ? constant->rank : 0;
    const int out = ulp_lint_output(place, 0);
    for (size_t i = 0; i < ulp_lint_reader_count(place.graph, out); i++) {
        const struct ulp_lint_place reader = ulp_lint_reader(place.graph, out, i);
        const int wanted = ulp_lint_input(reader, 1) == out
                               ? ulp_output_channels(reader.node->op_type, constant->rank,
                                                     ulp_lint_int(reader, "transB", 0))
                               : -1;
        if (wanted >= 0 && wanted != axis) {
            ulp_lint_add(lint, place, NULL,
                         "axis %lld, while the output channels of '%s' (%s) are along axis %d",
                         (long long)axis, reader.node->name, reader.node->op_type, wanted);
            return;
        }
    }
}

/* A product of quantised factors, to whose sum a kernel adds the other branch. */
static bool is_fused_product(struct ulp_lint_place place)
{
    static const char products[] = "Conv ConvTranspose Gemm MatMul";
    if (ulp_lint_is_any(place, "BatchNormalization Add")) /* a bias */
        place = ulp_lint_is_any(ulp_lint_source(place, 0), products) ? ulp_lint_source(place, 0)
                                                                     : ulp_lint_source(place, 1);
    return ulp_lint_is_any(place, products) &&
           ulp_lint_is(ulp_lint_source(place, 0), "DequantizeLinear");
}

void ulp_lint_qdq_branch(struct ulp_lint *lint, struct ulp_lint_place place)
{
    const bool add = ulp_lint_is(place, "Add");
    struct ulp_lint_place quantized = {0}, other = {0};
    for (size_t i = 0; i < place.node->input_count; i++) {
        const int input = place.node->inputs[i];
        const struct ulp_lint_place source = ulp_lint_source(place, i);
        if (input < 0 || ulp_lint_constant(place.graph, input))
            continue;
        if (ulp_lint_is(source, "DequantizeLinear")) {
            if (!find_quantized_constant(source))
                quantized = source;
        } else if (!add || !is_fused_product(source)) {
            other = source.node ? source : place;
        }
    }
    if (quantized.node && other.node)
        ulp_lint_add(lint, place, NULL, "'%s' is quantised, '%s' is not", quantized.node->name,
                     other.node == place.node ? "an input" : other.node->name);
}

void ulp_lint_qdq_unfused(struct ulp_lint *lint, struct ulp_lint_place place)
{
    static const char integer[] =
        "Conv ConvTranspose Gemm MatMul Add Mul Sub Concat AveragePool GlobalAveragePool MaxPool "
        "Resize Upsample Relu LeakyRelu Clip Sigmoid HardSigmoid HardSwish Tanh Softmax "
        "QuantizeLinear ReduceMean Where Div Sum PRelu";
    const int out = ulp_lint_output(place, 0);
    if (find_quantized_constant(place) || place.graph->is_output[out >= 0 ? out : 0] ||
        !ulp_lint_is(ulp_lint_source(place, 0), "QuantizeLinear"))
        return;
    const size_t count = ulp_lint_reader_count(place.graph, out);
    for (size_t i = 0; i < count; i++) {
        const struct ulp_lint_place reader = ulp_lint_reader(place.graph, out, i);
        if (ulp_lint_is_any(reader, integer) || ulp_lint_moves(reader))
            return;
    }
    if (count) {
        const struct ulp_lint_place reader = ulp_lint_reader(place.graph, out, 0);
        ulp_lint_add(lint, place, NULL, "read by '%s' (%s)%s", reader.node->name,
                     reader.node->op_type, count > 1 ? " and others like it" : "");
    }
}

static bool same_numbers(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    bool same = (!a && !b) || (a && b && a->count == b->count);
    for (size_t i = 0; same && a && i < a->count; i++)
        same = ulp_tensor_get(a, i) == ulp_tensor_get(b, i);
    return same;
}

void ulp_lint_qdq_twice(struct ulp_lint *lint, struct ulp_lint_place place)
{
    const struct ulp_lint_place before = ulp_lint_source(place, 0);
    if (!ulp_lint_is(before, "DequantizeLinear") || !find_quantized_constant(before))
        return;
    for (size_t i = 1; i < 3; i++)
        if (!same_numbers(ulp_lint_constant(place.graph, ulp_lint_input(place, i)),
                          ulp_lint_constant(before.graph, ulp_lint_input(before, i)))) {
            ulp_lint_add(lint, place, NULL, "what '%s' dequantises is quantised again",
                         before.node->name);
            return;
        }
}

/* Which processor runs a model is one question: one finding, at the first of its products. */
void ulp_lint_bytes_saturate(struct ulp_lint *lint)
{
    struct ulp_saturating found;
    struct ulp_lint_place place = {0};
    ulp_saturating_find(lint->model, &found);
    for (size_t n = 0; n < lint->node_count && !place.node; n++)
        if (lint->places[n].node == found.node)
            place = lint->places[n];
    if (found.reaching)
        ulp_lint_add(lint, place, NULL,
                     "neighbouring weights add up to %d, more than %d, in %zu of %zu product%s of "
                     "unsigned by signed bytes",
                     found.largest, ULP_PAIR_FITS, found.reaching, found.product_count,
                     found.product_count == 1 ? "" : "s");
}

/* Does anything but QuantizeLinear read the node's result? */
static bool is_read_plain(struct ulp_lint_place place)
{
    const int out = ulp_lint_output(place, 0);
    bool plain = place.graph->is_output[out];
    for (size_t i = 0; i < ulp_lint_reader_count(place.graph, out); i++)
        plain |= !ulp_lint_is(ulp_lint_reader(place.graph, out, i), "QuantizeLinear");
    return plain;
}

/* A MatMul and an Add of a row, which become a Gemm: a value of three dimensions or more is
 * reshaped in front of it. */
static bool becomes_gemm(struct ulp_lint *lint, struct ulp_lint_place product, int value)
{
    const int out = ulp_lint_output(product, 0);
    if (!ulp_lint_is(product, "MatMul") || ulp_lint_input(product, 0) != value ||
        product.graph->is_output[out] || ulp_lint_reader_count(product.graph, out) != 1)
        return false;
    const struct ulp_lint_place sum = ulp_lint_reader(product.graph, out, 0);
    if (!ulp_lint_is(sum, "Add"))
        return false;
    const struct ulp_tensor *row =
        ulp_lint_constant(sum.graph, ulp_lint_input(sum, ulp_lint_input(sum, 0) == out ? 1 : 0));
    ulp_lint_plan(lint);
    const struct ulp_tensor *x =
        lint->planned ? ulp_lint_shape_of(lint, 0, product.graph, value) : NULL;
    return row && row->rank == 1 && x && x->rank >= 3;
}

void ulp_lint_qdq_passed(struct ulp_lint *lint, struct ulp_lint_place place)
{
    const struct ulp_tensor *zero = find_zero_point(place);
    const int out = ulp_lint_output(place, 0);
    if (ulp_lint_opset(place) < 21 || !zero || zero->type != ULP_TYPE_INT8 ||
        !ulp_lint_is(ulp_lint_source(place, 0), "QuantizeLinear"))
        return;
    for (size_t i = 0; i < ulp_lint_reader_count(place.graph, out); i++) {
        const struct ulp_lint_place reader = ulp_lint_reader(place.graph, out, i);
        if (becomes_gemm(lint, reader, out)) {
            ulp_lint_add(lint, place, NULL,
                         "of INT8, and '%s' (%s) behind it becomes a Gemm behind a Reshape",
                         reader.node->name, reader.node->op_type);
            return;
        }
        if (!ulp_lint_is_any(reader, "MaxPool Reshape Slice Squeeze Transpose Unsqueeze") ||
            ulp_lint_input(reader, 0) != out || !is_read_plain(reader))
            continue;
        ulp_lint_add(lint, place, NULL, "of INT8, and '%s' (%s) behind it is not quantised again",
                     reader.node->name, reader.node->op_type);
        return;
    }
}

static bool is_dequantised_byte(struct ulp_lint_place dequantize)
{
    const enum ulp_type type = ulp_lint_is(dequantize, "DequantizeLinear")
                                   ? ulp_lint_type(dequantize.graph, ulp_lint_input(dequantize, 0))
                                   : ULP_TYPE_UNDEFINED;
    return type == ULP_TYPE_INT8 || type == ULP_TYPE_UINT8;
}

static bool is_quantised(struct ulp_lint_place place)
{
    const int out = ulp_lint_output(place, 0);
    bool is = false;
    for (size_t i = 0; i < ulp_lint_reader_count(place.graph, out); i++)
        is |= ulp_lint_is(ulp_lint_reader(place.graph, out, i), "QuantizeLinear");
    return is;
}

/* Perhaps behind a Relu. */
static bool is_quantised_again(struct ulp_lint_place place)
{
    const int out = ulp_lint_output(place, 0);
    bool again = is_quantised(place);
    for (size_t i = 0; i < ulp_lint_reader_count(place.graph, out); i++) {
        const struct ulp_lint_place reader = ulp_lint_reader(place.graph, out, i);
        again |= ulp_lint_is(reader, "Relu") && is_quantised(reader);
    }
    return again;
}

void ulp_lint_qdq_rows(struct ulp_lint *lint, struct ulp_lint_place place)
{
    const struct ulp_lint_place x = ulp_lint_source(place, 0), w = ulp_lint_source(place, 1);
    if (!is_dequantised_byte(x) || !is_dequantised_byte(w) || is_quantised_again(place))
        return;
    const struct ulp_tensor *codes = ulp_lint_constant(w.graph, ulp_lint_input(w, 0)),
                            *scale = ulp_lint_constant(w.graph, ulp_lint_input(w, 1));
    const int64_t axis = ulp_lint_int(w, "axis", 1), block = ulp_lint_int(w, "block_size", 0);
    if (codes && scale && codes->rank == 2 && scale->count > 1 &&
        (block || axis == 0 || axis == -2))
        ulp_lint_add(lint, place, NULL, "its weights have %s",
                     block ? "scales of blocks" : "a scale for each row");
}
