/* Rules about the scales of quantised constants. */
#include "analysis/lint/lint.h"

#include <math.h>
#include <string.h>

#include "number/function/math.h"
#include "number/round/round.h"
#include "tensor/tensor.h"

static bool is_mxfp8(struct ulp_lint_place place)
{
    return strcmp(place.node->op_type, "TRT_MXFP8DequantizeLinear") == 0;
}

/* TensorRT's operators have the names and inputs of the standard's, behind TRT_. */
static bool is_back(struct ulp_lint_place place)
{
    const char *end = strstr(place.node->op_type, "DequantizeLinear");
    return end && strcmp(end, "DequantizeLinear") == 0;
}

static const struct ulp_tensor *find_scale(struct ulp_lint_place place)
{
    return is_back(place) || strstr(place.node->op_type, "QuantizeLinear")
               ? ulp_lint_constant(place.graph, ulp_lint_input(place, 1))
               : NULL;
}

/* The number that a stored scale stands for: codes of E8M0 in UINT8 are powers of two. */
static double scale_at(struct ulp_lint_place place, const struct ulp_tensor *scale, size_t i)
{
    const double x = ulp_tensor_get(scale, i);
    if (!is_mxfp8(place) || scale->type != ULP_TYPE_UINT8)
        return x;
    return x == 255 ? NAN : ldexp(1, (int)x - 127);
}

/* What is dequantised, with its scales: `after` elements lie behind the axis, `length` along it,
 * and `run` of these share a scale. */
struct quantized {
    const struct ulp_tensor *codes, *scale;
    int axis; /* -1: one scale for all */
    bool blocked;
    size_t length, after, run, scales_along;
};

static bool read_quantized(struct ulp_lint_place place, struct quantized *out)
{
    *out = (struct quantized){.axis = -1, .scale = find_scale(place)};
    out->codes = is_back(place) ? ulp_lint_constant(place.graph, ulp_lint_input(place, 0)) : NULL;
    if (!out->codes || !out->scale || out->codes->count == 0 || out->scale->count == 0)
        return false;
    out->length = out->codes->count;
    out->run = out->length;
    out->after = out->scales_along = 1;
    if (out->scale->count == 1 || out->codes->rank == 0)
        return true;
    const int64_t block = ulp_lint_int(place, "block_size", is_mxfp8(place) ? 32 : 0);
    const int64_t axis = ulp_lint_int(place, "axis", is_mxfp8(place) ? -1 : 1),
                  from = axis < 0 ? axis + out->codes->rank : axis;
    if (from < 0 || from >= out->codes->rank)
        return false;
    out->axis = (int)from;
    out->blocked = block > 0 && out->scale->rank == out->codes->rank;
    out->length = (size_t)out->codes->dims[from];
    for (int d = out->axis + 1; d < out->codes->rank; d++)
        out->after *= (size_t)out->codes->dims[d];
    out->run = out->blocked ? (size_t)block : 1;
    out->scales_along = out->blocked ? (size_t)out->scale->dims[from] : out->scale->count;
    /* else the plan refuses it */
    return out->length && (out->length + out->run - 1) / out->run == out->scales_along &&
           (!out->blocked ||
            out->codes->count / out->length * out->scales_along == out->scale->count);
}

static size_t find_scale_of(const struct quantized *q, size_t i)
{
    if (q->axis < 0)
        return 0;
    const size_t along = i / q->after % q->length / q->run;
    return q->blocked
               ? (i / q->after / q->length * q->scales_along + along) * q->after + i % q->after
               : along;
}

void ulp_lint_scale_nan(struct ulp_lint *lint, struct ulp_lint_place place)
{
    const struct ulp_tensor *scale = find_scale(place);
    size_t count = 0, first = 0;
    for (size_t i = 0; scale && i < scale->count; i++)
        if (!isfinite(scale_at(place, scale, i)) && count++ == 0)
            first = i;
    const struct ulp_tensor *codes =
        is_back(place) ? ulp_lint_constant(place.graph, ulp_lint_input(place, 0)) : NULL;
    size_t stored = 0, at = 0; /* FP8 numbers, which are scales themselves in two levels */
    for (size_t i = 0; codes && ulp_type_is_float(codes->type) && i < codes->count; i++)
        if (!isfinite(ulp_tensor_get(codes, i)) && stored++ == 0)
            at = i;
    if (stored)
        ulp_lint_add(lint, place, NULL,
                     "%zu of %zu stored numbers %s NaN or infinite, the first is number %zu",
                     stored, codes->count, stored == 1 ? "is" : "are", at);
    if (count)
        ulp_lint_add(lint, place, NULL,
                     "%zu of %zu scales %s NaN or infinite, the first is number %zu: all that they "
                     "scale becomes NaN",
                     count, scale->count, count == 1 ? "is" : "are", first);
}

void ulp_lint_scale_zero(struct ulp_lint *lint, struct ulp_lint_place place)
{
    struct quantized q;
    size_t count = 0, first = 0;
    if (!read_quantized(place, &q))
        return;
    for (size_t i = 0; i < q.codes->count; i++) {
        const size_t s = find_scale_of(&q, i);
        if (scale_at(place, q.scale, s) == 0 && ulp_tensor_get(q.codes, i) != 0 && count++ == 0)
            first = s;
    }
    if (count)
        ulp_lint_add(lint, place, NULL,
                     "%zu elements that are not zero have a scale of zero, the first such scale is "
                     "number %zu: they become 0",
                     count, first);
}

void ulp_lint_scale_subnormal(struct ulp_lint *lint, struct ulp_lint_place place)
{
    const struct ulp_tensor *scale = find_scale(place);
    struct ulp_format format;
    size_t count = 0;
    if (!scale || !ulp_type_is_float(scale->type) ||
        ulp_format_find(ulp_type_rows[scale->type].format, &format, NULL) != ULP_OK ||
        !format.subnormals)
        return;
    for (size_t i = 0; i < scale->count; i++) {
        const double x = fabs(ulp_tensor_get(scale, i));
        count += x > 0 && x < ldexp(1, format.emin);
    }
    if (count)
        ulp_lint_add(lint, place, NULL, "%zu of %zu scales are below 2^%d, the smallest normal %s",
                     count, scale->count, format.emin, ulp_type_name(scale->type));
}

/* The axis of its factor along which the reader sums; -1: not known. */
static int find_sum_axis(struct ulp_lint_place reader, int value, int rank)
{
    const bool second = ulp_lint_input(reader, 1) == value;
    if (ulp_lint_is(reader, "MatMul"))
        return rank < 2 ? 0 : second ? rank - 2 : rank - 1;
    if (ulp_lint_is(reader, "Gemm"))
        return second ? (ulp_lint_int(reader, "transB", 0) ? 1 : 0)
                      : (ulp_lint_int(reader, "transA", 0) ? 0 : 1);
    return ulp_lint_is(reader, "Conv") && second ? 1 : -1;
}

void ulp_lint_scale_axis(struct ulp_lint *lint, struct ulp_lint_place place)
{
    struct quantized q;
    if (!read_quantized(place, &q) || !q.blocked || q.codes->rank < 2)
        return;
    int value = ulp_lint_output(place, 0), axis = q.axis;
    struct ulp_lint_place reader = ulp_lint_only_reader(place);
    if (reader.node && ulp_lint_is(reader, "Transpose") && q.codes->rank == 2) {
        axis = 1 - axis;
        value = ulp_lint_output(reader, 0);
        reader = ulp_lint_only_reader(reader);
    }
    const int wanted = reader.node ? find_sum_axis(reader, value, q.codes->rank) : -1;
    if (wanted >= 0 && wanted != axis)
        ulp_lint_add(lint, place, NULL,
                     "blocks of %zu lie along axis %d, and '%s' (%s) sums along the other one",
                     q.run, q.axis, reader.node->name, reader.node->op_type);
}

/* The largest number of a format of few bits; 0: of another. */
static double find_top(enum ulp_type type)
{
    static const struct {
        enum ulp_type type;
        double top;
    } tops[] = {{ULP_TYPE_INT8, 127},
                {ULP_TYPE_INT4, 7},
                {ULP_TYPE_FLOAT8E4M3FN, 448},
                {ULP_TYPE_FLOAT4E2M1, 6},
                {ULP_TYPE_FLOAT8E5M2, 57344}};
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++)
        if (tops[i].type == type)
            return tops[i].top;
    return 0;
}

/* Rounded by its own scale, a block's largest element is above half of the format's largest. */
void ulp_lint_scale_off(struct ulp_lint *lint, struct ulp_lint_place place)
{
    struct quantized q;
    if (!read_quantized(place, &q) || !q.blocked)
        return;
    const double top = find_top(q.codes->type);
    size_t low = 0, blocks = 0, first = 0;
    if (top == 0)
        return;
    for (size_t line = 0; line < q.codes->count / q.length; line++)
        for (size_t block = 0; block < q.scales_along; block++) {
            double largest = 0;
            size_t s = 0;
            for (size_t a = block * q.run; a < q.length && a < (block + 1) * q.run; a++) {
                const size_t i = (line / q.after * q.length + a) * q.after + line % q.after;
                largest = ulp_math_max(largest, fabs(ulp_tensor_get(q.codes, i)));
                s = find_scale_of(&q, i);
            }
            blocks += largest > 0;
            if (largest > 0 && largest <= top / 2 && low++ == 0)
                first = s;
        }
    if (low > 0 && low * 4 <= blocks)
        ulp_lint_add(
            lint, place, NULL,
            "in %zu of %zu blocks no element is above %g, half of the largest %s, as one is "
            "in the others; the first has scale number %zu",
            low, blocks, top / 2, ulp_type_name(q.codes->type), first);
}
