/* Factors of products as ONNX's integers: QuantizeLinear and DequantizeLinear with scales and zero
 * points that are constants, weights as integers with a scale of each output channel or of blocks,
 * and the bias as INT32 at the product of both scales, as QLinearConv and its like take it. */
#include <math.h>
#include <string.h>

#include "kernels/operand/scaled_round.h"
#include "load/mixed/quantising.h"

static bool has_channels(const struct ulp_quantised *item)
{
    return item->scaling->k == 0 && item->scaling->lines == 1;
}

/* Any scale is that of weights that are all zero; the bias, at its product with the values', needs
 * a fine one: of 2^18 steps times the values' scale. */
static bool is_empty(const struct ulp_quantised *item, const struct quantising_lines *lines,
                     size_t line)
{
    for (size_t k = 0; k < lines->k; k++)
        if (ulp_tensor_get(item->constant,
                           (size_t)(lines->line_offset[line] + lines->k_offset[k])) != 0)
            return false;
    return true;
}

static void gather(struct quantising *q, const struct ulp_quantised *item,
                   struct quantising_lines *out)
{
    quantising_gather(q, item, has_channels(item), out);
    for (size_t l = 0; q->status == ULP_OK && item->bias && has_channels(item) && l < out->count;
         l++)
        if (is_empty(item, out, l) && l < item->bias->count) {
            const float fine = fabsf((float)ulp_tensor_get(item->bias, l)) * 0x1p-18F;
            float *scale = &out->scaled.scale[ulp_scaled_block(&out->scaled, 0, l, 0)];
            *scale = fine >= 0x1p-126F && fine < *scale ? fine : *scale;
        }
}

/* What codes have of their own: elements lie around 0. */
static float find_middle(const struct ulp_quantised *item)
{
    return item->as_unsigned && !item->scaling->zero_point
               ? (float)(1 << (item->scaling->element.storage_bits - 1))
               : 0;
}

static enum ulp_type find_type(const struct ulp_quantised *item)
{
    const enum ulp_type type = quantising_type(&item->scaling->element);
    return find_middle(item) == 0   ? type
           : type == ULP_TYPE_INT8  ? ULP_TYPE_UINT8
           : type == ULP_TYPE_INT16 ? ULP_TYPE_UINT16
                                    : ULP_TYPE_UINT4;
}

/* Minus the zero point of a block: of one for the tensor, of all of it. */
static float find_low(const struct ulp_quantised *item, const struct quantising_lines *lines,
                      size_t line, size_t block)
{
    const bool whole = !item->scaling->k && !has_channels(item);
    const size_t first = block * lines->scaled.block,
                 count = whole ? item->constant->count
                               : ulp_size_min(lines->k - first, lines->scaled.block);
    float least = 0, largest = 0, low;
    if (!item->scaling->zero_point)
        return -find_middle(item);
    for (size_t i = 0; i < count; i++) {
        const int64_t at =
            whole ? (int64_t)i : lines->line_offset[line] + lines->k_offset[first + i];
        const float x = (float)ulp_tensor_get(item->constant, (size_t)at);
        ulp_scaled_ends(&x, 1, &least, &largest);
    }
    ulp_scaled_scale(item->scaling, least, largest, &low);
    return low;
}

/* Two's complement. */
static void put_code(uint8_t *raw, int bits, size_t at, float code)
{
    quantising_put(raw, bits, at, (uint32_t)(int32_t)code);
}

static uint8_t *take_codes(struct quantising *q, size_t count, int bits, size_t *bytes)
{
    *bytes = (count * (size_t)bits + 7) / 8;
    return quantising_bytes(q, *bytes);
}

static const char *put_elements(struct quantising *q, const struct ulp_quantised *item,
                                const struct quantising_lines *lines)
{
    const int bits = item->scaling->element.storage_bits;
    const float *elements = lines->scaled.elements.data;
    size_t bytes;
    uint8_t *raw = take_codes(q, item->constant->count, bits, &bytes);
    float low = 0;
    for (size_t l = 0; q->status == ULP_OK && l < lines->count; l++)
        for (size_t k = 0; k < lines->k; k++) {
            const float x = elements[lines->scaled.line_offset[l] + lines->scaled.k_offset[k]];
            if (k % lines->scaled.block == 0 && (l == 0 || item->scaling->lines == 1))
                low = find_low(item, lines, l, k / lines->scaled.block);
            put_code(raw, bits, (size_t)(lines->line_offset[l] + lines->k_offset[k]),
                     isnan(x) ? 0 : x - low);
        }
    return quantising_raw(q, find_type(item), item->constant, raw, bytes, "elements");
}

/* Scales, or zero points, as DequantizeLinear reads them: one, of channels, of blocks. */
static const char *put_blocks(struct quantising *q, const struct ulp_quantised *item,
                              const struct quantising_lines *lines, bool zeros)
{
    const enum ulp_type type = zeros ? find_type(item) : ULP_TYPE_FLOAT;
    const int bits = zeros ? item->scaling->element.storage_bits : 32;
    struct ulp_tensor shape = ulp_tensor_view(item->constant);
    size_t bytes;
    const size_t count = item->scaling->k || has_channels(item) ? lines->count : 1;
    uint8_t *raw = take_codes(q, count * lines->blocks, bits, &bytes);
    for (size_t l = 0; q->status == ULP_OK && l < count; l++)
        for (size_t b = 0; b < lines->blocks; b++) {
            const size_t at = quantising_block(lines, l, b);
            const float scale = lines->scaled.scale[ulp_scaled_block(&lines->scaled, 0, l, b)];
            if (zeros)
                put_code(raw, bits, at, -find_low(item, lines, l, b));
            else
                memcpy(raw + 4 * at, &scale, sizeof scale);
        }
    if (item->scaling->k == 0) { /* of the tensor one */
        shape.rank = has_channels(item);
        shape.dims[0] = (int64_t)lines->count;
    } else {
        shape.dims[item->axis] = (int64_t)lines->blocks;
    }
    return quantising_raw(q, type, &shape, raw, bytes, zeros ? "zero_points" : "scales");
}

static void set_axis(struct quantising *q, const struct ulp_quantised *item)
{
    const struct ulp_scaling *scaling = item->scaling;
    if (scaling->k == 0 && scaling->lines == 0)
        return;
    quantising_int(q, "axis", has_channels(item) ? item->channel : item->axis);
    if (scaling->k)
        quantising_int(q, "block_size", scaling->k);
}

static const char *put_constant(struct quantising *q, const struct ulp_quantised *item,
                                const char *name)
{
    struct quantising_lines lines = {0};
    const char *elements, *scales, *zeros = NULL, *out = "";
    gather(q, item, &lines);
    if (q->status == ULP_OK) {
        scales = put_blocks(q, item, &lines, false);
        if (item->scaling->zero_point || item->as_unsigned || item->overridable)
            zeros = put_blocks(q, item, &lines, true);
        elements = item->overridable
                       ? quantising_node(q, "QuantizeLinear", name, scales, zeros, "elements")
                       : put_elements(q, item, &lines);
        if (item->overridable)
            set_axis(q, item);
        out = quantising_node(q, "DequantizeLinear", elements, scales, zeros, "back");
        set_axis(q, item);
    }
    ulp_scaled_free(&lines.scaled);
    q->written->constants++;
    return out;
}

static const char *put_value(struct quantising *q, const struct ulp_quantised *item,
                             const char *name)
{
    const int bits = item->scaling->element.storage_bits;
    const struct ulp_tensor one = {.count = 1};
    float low;
    const float scale = ulp_scaled_scale(item->scaling, item->least, item->largest, &low);
    size_t bytes;
    uint8_t *raw = take_codes(q, 1, bits, &bytes);
    if (q->status == ULP_OK)
        put_code(raw, bits, 0, item->scaling->zero_point ? -low : find_middle(item));
    const char *scales = quantising_float(q, (double)scale),
               *zero = quantising_raw(q, find_type(item), &one, raw, bytes, "zero_point"),
               *elements = quantising_node(q, "QuantizeLinear", name, scales, zero, "elements");
    q->written->values++;
    return quantising_node(q, "DequantizeLinear", elements, scales, zero, "back");
}

const char *quantise_integer(struct quantising *q, const struct ulp_quantised *item,
                             const char *name)
{
    if (q->status != ULP_OK)
        return "";
    return item->constant ? put_constant(q, item, name) : put_value(q, item, name);
}

/* ---- the bias ---- */

/* The scale of sum i: of the values times of the channel. */
static float sum_scale(const struct ulp_quantised *value, const struct quantising_lines *lines,
                       size_t i)
{
    float low;
    return ulp_scaled_scale(value->scaling, value->least, value->largest, &low) *
           lines->scaled.scale[ulp_scaled_block(&lines->scaled, 0, i, 0)];
}

static const char *put_bias(struct quantising *q, const struct ulp_quantised *value,
                            const struct ulp_quantised *weights,
                            const struct quantising_lines *lines)
{
    const struct ulp_tensor *bias = weights->bias;
    const bool each = has_channels(weights);
    const size_t scales = each ? bias->count : 1;
    const struct ulp_tensor shape = {.rank = each, .dims = {(int64_t)scales}, .count = scales};
    uint8_t *codes = quantising_bytes(q, 4 * bias->count), *scale = quantising_bytes(q, 4 * scales);
    bool fits = true;
    for (size_t i = 0; q->status == ULP_OK && fits && i < bias->count; i++) {
        const float own = sum_scale(value, lines, each ? i : 0);
        const double code = rint(ulp_tensor_get(bias, i) / (double)own);
        const int32_t written = (fits = fabs(code) < 0x1p31) ? (int32_t)code : 0;
        memcpy(codes + 4 * i, &written, sizeof written);
        memcpy(scale + 4 * (each ? i : 0), &own, sizeof own);
    }
    if (q->status == ULP_OK && !fits) {
        ulp_free(codes);
        ulp_free(scale);
        return NULL;
    }
    const char *elements = quantising_raw(q, ULP_TYPE_INT32, bias, codes, 4 * bias->count, "bias"),
               *of_bias =
                   quantising_raw(q, ULP_TYPE_FLOAT, &shape, scale, 4 * scales, "bias_scales"),
               *out = quantising_node(q, "DequantizeLinear", elements, of_bias, NULL, "bias_back");
    if (each)
        quantising_int(q, "axis", 0);
    return out;
}

const char *quantise_bias(struct quantising *q, const struct ulp_quantised *value,
                          const struct ulp_quantised *weights)
{
    struct quantising_lines lines = {0};
    const char *out = NULL;
    if (q->status == ULP_OK)
        gather(q, weights, &lines);
    if (q->status == ULP_OK && lines.count >= weights->bias->count)
        out = put_bias(q, value, weights, &lines);
    ulp_scaled_free(&lines.scaled);
    return out;
}
