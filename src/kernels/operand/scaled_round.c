/* Scales and elements of cells: doc/scales.md states the rules. Blocks are worked on many at once,
 * so that each step is a loop over many elements. */
#include "kernels/operand/scaled_round.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/memory/alloc.h"
#include "base/vectorise.h"
#include "number/format/scaling.h"
#include "number/function/math.h"
#include "number/round/round.h"

enum { INFINITE = 0x7F800000 };

/* The bits of the largest magnitude; those of finite numbers are ordered as they are. */
ULP_VECTORISE static int32_t find_bits(const float *x, size_t count)
{
    int32_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        const int32_t bits = (int32_t)(ulp_float_bits(x[i]) & 0x7FFFFFFF);
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

/* Of blocks that have a value each in `values`, and elements in x: their largest magnitudes; the
 * elements over it; and what becomes of those whose scale is zero or NaN. */
typedef void block_loop(float *values, float *x, size_t count, size_t block);

ULP_VECTORISE static void measure_blocks(float *values, float *x, size_t count, size_t block)
{
    for (size_t b = 0; b < count; b++)
        values[b] = ulp_float_from((uint32_t)find_bits(x + b * block, block));
}
ULP_VECTORISE static void divide_blocks(float *values, float *x, size_t count, size_t block)
{
    for (size_t b = 0; b < count; b++)
        for (size_t i = 0; i < block; i++)
            x[b * block + i] /= values[b];
}
ULP_VECTORISE static void mend_blocks(float *values, float *x, size_t count, size_t block)
{
    for (size_t b = 0; b < count; b++) {
        const float other = values[b] == 0 ? 0 : NAN;
        const bool kept = values[b] > 0;
        for (size_t i = 0; i < block; i++)
            x[b * block + i] = kept ? x[b * block + i] : other;
    }
}

/* The exponents of MX scales, of blocks whose largest magnitudes are m: that of m, less the
 * element's, emax, and one more where m's fraction is `more` or above. A scale is 2^-127 at least,
 * which is subnormal: so that of a subnormal m, whose fraction is another, while emax is above 0,
 * and then none is above 2^127. */
ULP_VECTORISE static void choose_powers(float *m, size_t count, int emax, int more)
{
    for (size_t i = 0; i < count; i++) {
        const int bits = (int)ulp_float_bits(m[i]),
                  field = (bits >> 23) - emax + ((bits & 0x7FFFFF) >= more);
        const uint32_t power = field > 0 ? (uint32_t)field << 23 : 0x400000;
        m[i] = ulp_float_from(bits >= INFINITE ? 0x7FC00000 : power);
    }
}
/* m over the largest element and the tensor's scale. */
ULP_VECTORISE static void choose_quotients(float *out, const float *m, size_t count, float top,
                                           float tensor)
{
    for (size_t i = 0; i < count; i++) {
        const float x = m[i] / top / tensor;
        out[i] = m[i] < INFINITY ? x : NAN;
    }
}
/* Scales with the tensor's. Is one of them zero or NaN? */
ULP_VECTORISE static bool make_whole(float *scale, size_t count, float tensor)
{
    int special = 0;
    for (size_t i = 0; i < count; i++) {
        scale[i] *= tensor;
        special |= !(scale[i] > 0);
    }
    return special;
}

float ulp_scaled_largest(const float *x, size_t count)
{
    const float all = ulp_float_from((uint32_t)find_bits(x, count));
    if (isfinite(all))
        return all;
    float largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fabsf(x[i]) > largest && isfinite(x[i]) ? fabsf(x[i]) : largest;
    return largest;
}

void ulp_scaled_ends(const float *x, size_t count, float *least, float *largest)
{
    for (size_t i = 0; i < count; i++) {
        *largest = x[i] > *largest && isfinite(x[i]) ? x[i] : *largest;
        *least = x[i] < *least && isfinite(x[i]) ? x[i] : *least;
    }
}

/* A cell's blocks; the last one of a run may be shorter. */
struct cells {
    const struct ulp_scaled_rule *rule;
    size_t count, blocks; /* of a cell */
    bool even;            /* every block is whole: they follow each other */
};

static size_t block_length(const struct cells *cells, size_t block)
{
    const struct ulp_scaled_rule *rule = cells->rule;
    return ulp_size_min(rule->block, rule->run - block * rule->block);
}

static void for_blocks(const struct cells *cells, block_loop *loop, float *values, float *x)
{
    const struct ulp_scaled_rule *rule = cells->rule;
    if (cells->even) {
        loop(values, x, cells->count * cells->blocks, rule->block);
        return;
    }
    for (size_t cell = 0; cell < cells->count; cell++) {
        const size_t at = cell * cells->blocks, last = cells->blocks - 1;
        loop(values + at, x + cell * rule->run, last, rule->block);
        loop(values + at + last, x + cell * rule->run + last * rule->block, 1,
             block_length(cells, last));
    }
}

/* ---- scales ---- */

/* The least fraction, of 23 bits, that makes a scale of MX larger. */
static int find_more(const struct ulp_scaling *scaling)
{
    const struct ulp_format *element = &scaling->element;
    return scaling->rule == ULP_SCALE_UP
               ? (int)(ulp_float_bits((float)element->max_finite) & 0x7FFFFF) + 1
           : scaling->rule == ULP_SCALE_EVEN ? 0x800000 - (1 << (23 - element->precision))
                                             : 0x800000;
}

/* NVFP4's scales of blocks whose largest magnitudes become `top`. */
static void choose_small(const struct cells *cells, float *out, const float *m, size_t count,
                         float top)
{
    struct ulp_format format = cells->rule->scaling->scale;
    format.overflow = ULP_OVERFLOW_SATURATE;
    choose_quotients(out, m, count, top, cells->rule->tensor_scale);
    ulp_round_floats(&format, ULP_ROUND_NEAREST_EVEN, out, count, 0, 0, 0);
}

float ulp_scaled_scale(const struct ulp_scaling *scaling, float least, float largest, float *low)
{
    const float top = (float)scaling->element.max_finite;
    const double most = -least > largest ? -least : largest,
                 span = scaling->zero_point ? (double)largest - (double)least : most;
    const float scale = scaling->fixed > 0               ? scaling->fixed
                        : scaling->rule == ULP_SCALE_ONE ? 1
                        : span > 0 ? (float)ulp_math_max((float)(span / (double)top), 0x1p-126)
                                   : 1;
    *low = -top;
    if (scaling->zero_point && least / scale > -top)
        *low = rintf(least / scale) + 0.0F; /* no -0 */
    return scale;
}

/* The scales of blocks, without the tensor's; `scale` holds their largest magnitudes. */
static void choose_scales(const struct cells *cells, float *scale, size_t count)
{
    const struct ulp_scaling *scaling = cells->rule->scaling;
    float low;
    if (scaling->tensor_scale)
        choose_small(cells, scale, scale, count, (float)scaling->element.max_finite);
    else if (ulp_scaling_is_power(scaling))
        choose_powers(scale, count, scaling->element.emax, find_more(scaling));
    else /* of FP32: at least the smallest normal number */
        for (size_t i = 0; i < count; i++)
            scale[i] = ulp_scaled_scale(scaling, 0, scale[i], &low);
}

/* Scales and least elements, -z, of blocks with zero points z: from the least value to the largest,
 * 0 among them, z rounded to an integer as QuantizeLinear's. */
static void choose_offsets(const struct cells *cells, const float *x, float *scale, float *low)
{
    const struct ulp_scaled_rule *rule = cells->rule;
    const bool of_tensor = rule->scaling->k + rule->scaling->lines == 0;
    for (size_t b = 0; b < cells->count * cells->blocks; b++) {
        const float *block = x + b / cells->blocks * rule->run + b % cells->blocks * rule->block;
        float least = of_tensor ? rule->least : 0, largest = of_tensor ? rule->largest : 0;
        if (!of_tensor)
            ulp_scaled_ends(block, block_length(cells, b % cells->blocks), &least, &largest);
        scale[b] = ulp_scaled_scale(rule->scaling, least, largest, &low[b]);
    }
}

/* ---- elements ---- */

/* To what the zero points of blocks leave of the elements' range. */
static void cut_elements(const struct cells *cells, float *x, const float *low)
{
    const struct ulp_scaled_rule *rule = cells->rule;
    const float top = (float)rule->scaling->element.max_finite;
    for (size_t b = 0; b < cells->count * cells->blocks; b++) {
        float *const block = x + b / cells->blocks * rule->run + b % cells->blocks * rule->block;
        const size_t length = block_length(cells, b % cells->blocks);
        const float least = low[b], most = least + top;
        for (size_t i = 0; i < length; i++)
            block[i] = block[i] < least ? least : block[i] > most ? most : block[i];
    }
}

/* x = elements of x over the whole scales; a scale of zero has elements of zero. whole: scales, and
 * the product with the tensor's after. */
ULP_VECTORISE static void round_elements(const struct cells *cells, float *x, float *whole)
{
    const struct ulp_scaled_rule *rule = cells->rule;
    const size_t count = cells->count * rule->run;
    const bool of_fp32 = rule->scaling->scale.storage_bits == 32;
    const bool special = make_whole(whole, cells->count * cells->blocks, rule->tensor_scale);
    bool finite = true;
    for (size_t i = 0; of_fp32 && i < count; i++)
        finite &= (ulp_float_bits(x[i]) & INFINITE) != INFINITE;
    for (size_t i = 0; !finite && i < count; i++) /* FP8 has NaN for what is not finite */
        x[i] = isfinite(x[i]) ? x[i] : NAN;
    for_blocks(cells, divide_blocks, whole, x);
    ulp_round_floats(&rule->scaling->element, rule->rounding, x, count, 0, 0, 0);
    if (special)
        for_blocks(cells, mend_blocks, whole, x);
}

static double sum_errors(const float *element, double whole, const float *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double d = (double)element[i] * whole - (double)x[i];
        sum += d * d;
    }
    return sum;
}

/* NVFP4's four-over-six: each block with its largest at 6 or at 4, whichever is nearer. */
static void round_four_or_six(const struct cells *cells, float *x, float *scale, float *spare)
{
    const struct ulp_scaled_rule *rule = cells->rule;
    const size_t count = cells->count * rule->run, blocks = cells->count * cells->blocks;
    float *const four = spare, *const six = four + count, *const four_scale = six + count,
                 *const four_whole = four_scale + blocks, *const six_whole = four_whole + blocks;
    choose_small(cells, four_scale, scale, blocks, 4);
    choose_small(cells, scale, scale, blocks, (float)rule->scaling->element.max_finite);
    memcpy(four, x, count * sizeof *x);
    memcpy(six, x, count * sizeof *x);
    memcpy(four_whole, four_scale, blocks * sizeof *scale);
    memcpy(six_whole, scale, blocks * sizeof *scale);
    round_elements(cells, four, four_whole);
    round_elements(cells, six, six_whole);
    for (size_t b = 0; b < blocks; b++) {
        const size_t at = b / cells->blocks * rule->run + b % cells->blocks * rule->block,
                     length = block_length(cells, b % cells->blocks);
        const bool is_four = sum_errors(four + at, (double)four_whole[b], x + at, length) <
                             sum_errors(six + at, (double)six_whole[b], x + at, length);
        memcpy(x + at, (is_four ? four : six) + at, length * sizeof *x);
        scale[b] = is_four ? four_scale[b] : scale[b];
    }
}

/* Lines' blocks at the same places share what is the largest of them. */
static void share_largest(float *m, size_t line_count, size_t blocks)
{
    for (size_t b = 0; b < blocks; b++) {
        float largest = 0;
        for (size_t l = 0; l < line_count; l++)
            largest = m[l * blocks + b] > largest ? m[l * blocks + b] : largest;
        for (size_t l = 0; l < line_count; l++)
            m[l * blocks + b] = largest;
    }
}

/* Largest magnitudes of the finite ones alone, where scales are FP32 numbers. */
static void measure_finite(const struct cells *cells, float *m, const float *x)
{
    const struct ulp_scaled_rule *rule = cells->rule;
    for (size_t b = 0; b < cells->count * cells->blocks; b++)
        if (!isfinite(m[b]))
            m[b] = ulp_scaled_largest(x + b / cells->blocks * rule->run +
                                          b % cells->blocks * rule->block,
                                      block_length(cells, b % cells->blocks));
}

size_t ulp_scaled_spare(const struct ulp_scaled_rule *rule, size_t cell_count)
{
    const size_t blocks = cell_count * ulp_size_divide_up(rule->run, rule->block);
    return rule->scaling->rule == ULP_SCALE_FOUR_SIX ? 2 * cell_count * rule->run + 3 * blocks
           : rule->scaling->zero_point               ? 2 * blocks
                                                     : blocks;
}

void ulp_scaled_round(const struct ulp_scaled_rule *rule, float *x, float *scale, size_t cell_count,
                      size_t line_count, float *spare)
{
    const struct ulp_scaling *scaling = rule->scaling;
    const struct cells cells = {rule, cell_count, ulp_size_divide_up(rule->run, rule->block),
                                rule->run % rule->block == 0};
    const size_t blocks = cell_count * cells.blocks;
    if (scaling->zero_point) {
        choose_offsets(&cells, x, scale, spare + blocks);
        memcpy(spare, scale, blocks * sizeof *scale);
        round_elements(&cells, x, spare);
        cut_elements(&cells, x, spare + blocks);
        return;
    }
    if (scaling->k + scaling->lines == 0)
        for (size_t b = 0; b < blocks; b++)
            scale[b] = rule->largest;
    else
        for_blocks(&cells, measure_blocks, scale, x);
    if (scaling->scale.storage_bits == 32)
        measure_finite(&cells, scale, x);
    if (line_count > 0)
        share_largest(scale, line_count, blocks / line_count);
    if (scaling->rule == ULP_SCALE_FOUR_SIX) {
        round_four_or_six(&cells, x, scale, spare);
        return;
    }
    choose_scales(&cells, scale, blocks);
    memcpy(spare, scale, blocks * sizeof *scale);
    round_elements(&cells, x, spare);
}
