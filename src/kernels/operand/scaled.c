/* Factors with scales: doc/scales.md states the rules. */
#include "kernels/operand/scaled.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "number/function/math.h"
#include "number/round/round.h"

/* What the workers share. */
struct making {
    struct ulp_scaled *out;
    const struct ulp_factor *factor;
    size_t k_count, block; /* block: places of a line that share a scale */
    size_t tile;           /* lines that share one */
    float largest;         /* of the tensor, where that matters */
    enum ulp_rounding rounding;
};

static float *line_of(const struct ulp_scaled *s, size_t group, size_t line)
{
    return (float *)s->elements.data + (group * s->line_count + line) * s->stride;
}

static float *scales_of(const struct ulp_scaled *s, size_t group, size_t line)
{
    return s->scale + (group * s->line_count + line) * s->block_count;
}

/* The largest magnitude; NaN: not all are finite. */
static float find_largest(const float *x, size_t count)
{
    float largest = 0;
    bool finite = true;
    for (size_t i = 0; i < count; i++) {
        const float magnitude = fabsf(x[i]);
        largest = magnitude > largest ? magnitude : largest;
        finite &= magnitude < INFINITY;
    }
    return finite ? largest : NAN;
}

static float find_largest_finite(const float *x, size_t count)
{
    float largest = 0;
    for (size_t i = 0; i < count; i++) {
        const float magnitude = fabsf(x[i]);
        largest = magnitude > largest && magnitude < INFINITY ? magnitude : largest;
    }
    return largest;
}

static float find_largest_of(const struct ulp_tensor *tensor)
{
    float largest = 0;
    const double *x = tensor->data;
    if (tensor->element == ULP_ELEMENT_F32)
        return find_largest_finite(tensor->data, tensor->count);
    for (size_t i = 0; i < tensor->count; i++) {
        const float one = (float)x[i], magnitude = find_largest_finite(&one, 1);
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

/* The exponent of the scale of a block whose largest magnitude is m > 0. */
static int choose_power(const struct ulp_scaling *scaling, float m)
{
    const struct ulp_format *element = &scaling->element;
    int exponent; /* m = f * 2^exponent, 1/2 <= f < 1 */
    const float f = frexpf(m, &exponent);
    int power = exponent - 1 - element->emax;
    if (scaling->rule == ULP_SCALE_UP && (double)m > ldexp(element->max_finite, power))
        power++;
    if (scaling->rule == ULP_SCALE_EVEN &&
        rint(ldexp(f, element->precision)) == ldexp(1, element->precision))
        power++;
    return power < -127 ? -127 : power > 127 ? 127 : power;
}

static float round_scale(const struct ulp_scaling *scaling, float x)
{
    struct ulp_format format = scaling->scale;
    format.overflow = ULP_OVERFLOW_SATURATE;
    ulp_round_floats(&format, ULP_ROUND_NEAREST_EVEN, &x, 1, 0, 0, 0);
    return x;
}

/* out = elements of x over the whole scale; a scale of zero has elements of zero. */
static void round_elements(const struct making *making, float *out, const float *x, size_t count,
                           float whole)
{
    const struct ulp_scaling *scaling = making->out->scaling;
    const bool power = ulp_scaling_is_power(scaling);
    const float inverse = 1 / whole; /* exact of a power */
    for (size_t i = 0; i < count; i++)
        out[i] = whole == 0 ? 0 : power ? x[i] * inverse : x[i] / whole;
    /* FP8 has NaN for what is not finite; the others' blocks have a scale that is NaN */
    for (size_t i = 0; i < count && scaling->scale.storage_bits == 32; i++)
        out[i] = isfinite(x[i]) ? out[i] : NAN;
    ulp_round_floats(&scaling->element, making->rounding, out, count, 0, 0, 0);
}

/* NVFP4's four-over-six: is the block nearer with its largest at 4 than at 6? */
static bool is_four_better(const struct making *making, const float *x, size_t count,
                           const float scale[2])
{
    double error[2] = {0, 0};
    float out[32];
    for (int i = 0; i < 2; i++) {
        const float whole = scale[i] * making->out->tensor_scale;
        round_elements(making, out, x, count, whole);
        for (size_t j = 0; j < count; j++) {
            const double d = (double)out[j] * (double)whole - (double)x[j];
            error[i] += d * d;
        }
    }
    return error[1] < error[0];
}

/* The scale of a block, without the tensor's. */
static float choose_scale(const struct making *making, const float *x, float m)
{
    const struct ulp_scaling *scaling = making->out->scaling;
    const double top = scaling->element.max_finite;
    if (ulp_scaling_is_power(scaling))
        return m != m ? NAN : ldexpf(1, m == 0 ? -127 : choose_power(scaling, m));
    if (!scaling->tensor_scale) /* of FP32: at least the smallest normal number */
        return m == 0 ? 1 : (float)ulp_math_max((float)((double)m / top), 0x1p-126);
    if (m != m)
        return NAN;
    const float over = making->out->tensor_scale;
    const float scale[2] = {round_scale(scaling, m / (float)top / over),
                            round_scale(scaling, m / 4 / over)};
    if (scaling->rule == ULP_SCALE_FOUR_SIX && is_four_better(making, x, making->block, scale))
        return scale[1];
    return scale[0];
}

static void gather(const struct making *making, size_t group, size_t line)
{
    const struct ulp_factor *factor = making->factor;
    const float *in = factor->tensor->data;
    const double *wide = factor->tensor->element == ULP_ELEMENT_F64 ? factor->tensor->data : NULL;
    float *out = line_of(making->out, group, line);
    const int64_t first =
        (factor->batch_offset ? factor->batch_offset[group] : 0) + factor->line_offset[line];
    memset(out, 0, making->out->stride * sizeof *out);
    for (size_t k = 0; k < making->k_count; k++)
        out[making->out->k_offset[k]] =
            wide ? (float)wide[first + factor->k_offset[k]] : in[first + factor->k_offset[k]];
}

static void scale_block(const struct making *making, size_t group, size_t line, size_t lines,
                        size_t block)
{
    struct ulp_scaled *out = making->out;
    const struct ulp_scaling *scaling = out->scaling;
    const bool inside = scaling->scale.storage_bits == 8;
    float m = making->largest;
    for (size_t i = 0; scaling->k + scaling->lines > 0 && i < lines; i++) {
        const float *x = line_of(out, group, line + i) + block * making->block;
        const float own =
            inside ? find_largest(x, making->block) : find_largest_finite(x, making->block);
        m = i == 0 || own > m || own != own ? own : m;
    }
    const float scale = choose_scale(making, line_of(out, group, line) + block * making->block, m);
    for (size_t i = 0; i < lines; i++) {
        float *x = line_of(out, group, line + i) + block * making->block;
        const size_t at = (group * out->line_count + line + i) * out->block_count + block;
        out->scale[at] = scale;
        if (out->shift)
            out->shift[at] = (int16_t)(scale == scale ? ilogbf(scale) : 0);
        if (scale == scale)
            round_elements(making, x, x, making->block, scale * out->tensor_scale);
        else
            for (size_t k = 0; k < making->block; k++)
                x[k] = NAN;
    }
}

static enum ulp_status scale_tiles(void *context, size_t first, size_t last, int worker,
                                   struct ulp_error *error)
{
    (void)worker, (void)error;
    const struct making *making = context;
    const struct ulp_scaled *out = making->out;
    const size_t tiles = ulp_size_divide_up(out->line_count, making->tile);
    for (size_t item = first; item < last; item++) {
        const size_t group = item / tiles, line = item % tiles * making->tile;
        const size_t lines = ulp_size_min(making->tile, out->line_count - line);
        for (size_t i = 0; i < lines; i++)
            gather(making, group, line + i);
        for (size_t block = 0; block < out->block_count; block++)
            scale_block(making, group, line, lines, block);
    }
    return ULP_OK;
}

/* Batches that are all the same are one group. */
static size_t count_groups(const struct ulp_factor *factor, size_t batch_count)
{
    for (size_t g = 1; factor->batch_offset && g < batch_count; g++)
        if (factor->batch_offset[g] != factor->batch_offset[0])
            return batch_count;
    return 1;
}

static enum ulp_status allocate(struct ulp_scaled *out, size_t batch_count, size_t k_count,
                                struct ulp_budget *budget, struct ulp_error *error)
{
    const int64_t dims[] = {(int64_t)out->group_count, (int64_t)out->line_count,
                            (int64_t)out->stride};
    size_t scales;
    if (!ulp_size_mul(out->group_count, out->line_count, &scales) ||
        !ulp_size_mul(scales, out->block_count, &scales))
        return ulp_fail(error, ULP_ERROR_MEMORY, "a factor has too many blocks");
    const struct {
        void *to;
        size_t count, bytes;
    } parts[] = {{&out->scale, scales, sizeof *out->scale},
                 {&out->shift, ulp_scaling_is_power(out->scaling) ? scales : 0, sizeof *out->shift},
                 {&out->batch_offset, batch_count, sizeof *out->batch_offset},
                 {&out->line_offset, out->line_count, sizeof *out->line_offset},
                 {&out->k_offset, k_count, sizeof *out->k_offset},
                 {&out->place_offset, out->stride, sizeof *out->place_offset}};
    enum ulp_status status =
        ulp_tensor_describe(&out->elements, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 3, dims, error);
    if (status == ULP_OK)
        status = ulp_tensor_allocate(&out->elements, budget, error);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == ULP_OK; i++)
        if (parts[i].count) {
            void *memory;
            status = ulp_allocate(&memory, parts[i].count, parts[i].bytes, budget,
                                  "a factor with scales", error);
            if (status == ULP_OK)
                memcpy(parts[i].to, &memory, sizeof memory);
        }
    return status;
}

enum ulp_status ulp_scaled_make(struct ulp_scaled *out, const struct ulp_scaling *scaling,
                                const struct ulp_contraction *problem, int side,
                                enum ulp_rounding rounding, struct ulp_pool *pool,
                                struct ulp_error *error)
{
    const struct ulp_factor *factor = side ? &problem->b : &problem->a;
    const size_t k_count = problem->k,
                 run = problem->k_run && scaling->k ? problem->k_run : k_count;
    const size_t unit = scaling->k ? (size_t)scaling->k : 1;
    const size_t padded = ulp_size_divide_up(run, unit) * unit;
    *out = (struct ulp_scaled){.scaling = scaling,
                               .group_count = count_groups(factor, problem->batch_count),
                               .line_count = side ? problem->n : problem->m,
                               .tensor_scale = 1};
    out->stride = run ? k_count / run * padded : 0;
    out->block_count = scaling->k ? out->stride / unit : 1;
    if (factor->tensor->element != ULP_ELEMENT_F32 && factor->tensor->element != ULP_ELEMENT_F64)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "factors with scales (%s) are rounded from values in FP32 or narrower",
                        scaling->name);
    enum ulp_status status =
        allocate(out, problem->batch_count, k_count, ulp_pool_scratch(pool), error);
    if (status != ULP_OK)
        return status;
    for (size_t g = 0; g < problem->batch_count; g++)
        out->batch_offset[g] =
            out->group_count > 1 ? (int64_t)(g * out->line_count * out->stride) : 0;
    for (size_t i = 0; i < out->line_count; i++)
        out->line_offset[i] = (int64_t)(i * out->stride);
    for (size_t k = 0; k < k_count; k++)
        out->k_offset[k] = (int64_t)(k / run * padded + k % run);
    for (size_t k = 0; k < out->stride; k++)
        out->place_offset[k] = (int64_t)k;
    struct making making = {.out = out,
                            .factor = factor,
                            .k_count = k_count,
                            .block = scaling->k ? unit : out->stride,
                            .tile = scaling->lines ? (size_t)scaling->lines : 1,
                            .rounding = rounding};
    if (scaling->tensor_scale || scaling->k + scaling->lines == 0)
        making.largest = find_largest_of(factor->tensor);
    if (scaling->tensor_scale && making.largest > 0) {
        const float top = scaling->rule == ULP_SCALE_FOUR_SIX ? 256 : 448;
        out->tensor_scale =
            (float)ulp_math_max(making.largest / ((float)scaling->element.max_finite * top),
                                0x1p-126);
    }
    const size_t tiles = ulp_size_divide_up(out->line_count, making.tile);
    return ulp_parallel_for(pool, out->group_count * tiles,
                            ulp_grain((double)(out->stride * making.tile) * 3), scale_tiles,
                            &making, error);
}

void ulp_scaled_free(struct ulp_scaled *scaled)
{
    void *const parts[] = {scaled->scale,       scaled->shift,    scaled->batch_offset,
                           scaled->line_offset, scaled->k_offset, scaled->place_offset};
    ulp_tensor_free(&scaled->elements);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ulp_free(parts[i]);
    *scaled = (struct ulp_scaled){0};
}

struct back {
    struct ulp_scaled *scaled;
    const struct ulp_format *format;
    double *wide; /* NULL: in place */
};

static enum ulp_status scale_back(void *context, size_t first, size_t last, int worker,
                                  struct ulp_error *error)
{
    (void)worker, (void)error;
    const struct back *back = context;
    const struct ulp_scaled *s = back->scaled;
    const size_t block = s->block_count ? s->stride / s->block_count : 0;
    for (size_t line = first; line < last; line++) {
        float *x = line_of(s, 0, line);
        double *wide = back->wide ? back->wide + line * s->stride : NULL;
        const float *scale = scales_of(s, 0, line);
        for (size_t k = 0; k < s->stride; k++) {
            const float whole = scale[k / block] * s->tensor_scale;
            if (wide)
                wide[k] = (double)x[k] * (double)whole;
            else
                x[k] *= whole;
        }
        if (wide)
            ulp_round_doubles(back->format, ULP_ROUND_NEAREST_EVEN, wide, s->stride, 0, 0, 0);
        else
            ulp_round_floats(back->format, ULP_ROUND_NEAREST_EVEN, x, s->stride, 0, 0, 0);
    }
    return ULP_OK;
}

enum ulp_status ulp_scaled_back(struct ulp_scaled *scaled, const struct ulp_format *format,
                                enum ulp_element element, struct ulp_pool *pool,
                                struct ulp_error *error)
{
    struct back back = {scaled, format, NULL};
    struct ulp_tensor wide = {0};
    enum ulp_status status = ULP_OK;
    if (element == ULP_ELEMENT_F64) {
        status = ulp_tensor_describe(&wide, ULP_TYPE_DOUBLE, element, 0, 3, scaled->elements.dims,
                                     error);
        if (status == ULP_OK)
            status = ulp_tensor_allocate(&wide, ulp_pool_scratch(pool), error);
        back.wide = wide.data;
    }
    if (status == ULP_OK)
        status = ulp_parallel_for(pool, scaled->group_count * scaled->line_count,
                                  ulp_grain((double)scaled->stride * 2), scale_back, &back, error);
    if (element == ULP_ELEMENT_F64) {
        ulp_tensor_free(&scaled->elements);
        scaled->elements = wide;
    }
    return status;
}
