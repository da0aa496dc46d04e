/* Rules about the scales of quantised constants. */
#include "analysis/lint/lint.h"

#include <math.h>
#include <string.h>

#include "analysis/scales/scales_stored.h"
#include "tensor/tensor.h"

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

/* A constant that is dequantised, with its scales. */
static bool read_stored(struct ulp_lint_place place, struct ulp_stored *out)
{
    const struct ulp_tensor *scale = find_scale(place),
                            *codes = is_back(place)
                                         ? ulp_lint_constant(place.graph, ulp_lint_input(place, 0))
                                         : NULL;
    return codes && scale && ulp_stored_read(place.node, codes, scale, out);
}

void ulp_lint_scale_nan(struct ulp_lint *lint, struct ulp_lint_place place)
{
    const struct ulp_tensor *scale = find_scale(place);
    const struct ulp_tensor *codes =
        is_back(place) ? ulp_lint_constant(place.graph, ulp_lint_input(place, 0)) : NULL;
    const struct ulp_stored scales = {.scale = scale,
                                      .powers = scale && ulp_stored_has_powers(place.node, scale)};
    size_t count = 0, first = 0;
    for (size_t i = 0; scale && i < scale->count; i++)
        if (!isfinite(ulp_stored_scale(&scales, i)) && count++ == 0)
            first = i;
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
    struct ulp_stored q;
    size_t count = 0, first = 0;
    if (!read_stored(place, &q))
        return;
    for (size_t i = 0; i < q.values->count; i++) {
        const size_t s = ulp_stored_find(&q, i);
        if (ulp_stored_scale(&q, s) == 0 && ulp_tensor_get(q.values, i) != 0 && count++ == 0)
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

void ulp_lint_scale_axis(struct ulp_lint *lint, struct ulp_lint_place place)
{
    struct ulp_stored q;
    if (!read_stored(place, &q))
        return;
    int value = ulp_lint_output(place, 0);
    struct ulp_lint_place reader = ulp_lint_only_reader(place);
    const bool transposed = ulp_lint_is(reader, "Transpose");
    if (transposed) {
        value = ulp_lint_output(reader, 0);
        reader = ulp_lint_only_reader(reader);
    }
    size_t input = 0;
    while (reader.node && input < reader.node->input_count &&
           ulp_lint_input(reader, input) != value)
        input++;
    if (reader.node && ulp_stored_astray(&q, reader.node, input, transposed) >= 0)
        ulp_lint_add(lint, place, NULL,
                     "blocks of %zu lie along axis %d, and '%s' (%s) sums along the other one",
                     q.run, q.axis, reader.node->name, reader.node->op_type);
}

void ulp_lint_scale_off(struct ulp_lint *lint, struct ulp_lint_place place)
{
    struct ulp_stored q;
    struct ulp_stored_loose loose;
    if (read_stored(place, &q) &&
        ulp_stored_is_loose(&q, ulp_lint_constant(place.graph, ulp_lint_input(place, 2)), &loose))
        ulp_lint_add(
            lint, place, NULL,
            "in %zu of %zu blocks no element is above %g, half of the largest %s, as one is "
            "in the others; the first has scale number %zu",
            loose.count, loose.blocks, loose.half, ulp_type_name(q.values->type), loose.first);
}
