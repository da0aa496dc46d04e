/* Scales and elements of cells: doc/scales.md states the rules. Blocks are worked on many at once,
 * so that each step is a loop over many elements. */
#include "kernels/operand/scaled_round.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/machine/cpu.h"
#include "base/memory/alloc.h"
#include "base/vectorise.h"
#include "number/format/scaling.h"
#include "number/function/math.h"
#include "number/round/round.h"

enum { INFINITE = 0x7F800000 };

/* The bits of the largest magnitude; those of finite numbers are ordered as they are. */
static inline __attribute__((always_inline)) int32_t find_bits(const float *x, size_t count)
{
    int32_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        const int32_t bits = (int32_t)(ulp_float_bits(x[i]) & 0x7FFFFFFF);
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

/* Blocks' largest magnitudes as bits; and elements over a scale. Blocks' lengths are constants
 * after inlining, where they are the usual ones. */
static inline __attribute__((always_inline)) void measure_blocks(float *out, const float *x,
                                                                 size_t count, const size_t block)
{
    for (size_t b = 0; b < count; b++)
        out[b] = ulp_float_from((uint32_t)find_bits(x + b * block, block));
}
static inline __attribute__((always_inline)) void divide_blocks(float *x, const float *by,
                                                                size_t count, const size_t block)
{
    for (size_t b = 0; b < count; b++)
        for (size_t i = 0; i < block; i++)
            x[b * block + i] /= by[b];
}
#define OF_BLOCK(FUNCTION, ...)                  \
    switch (block) {                             \
    case 1: FUNCTION(__VA_ARGS__, 1); break;     \
    case 16: FUNCTION(__VA_ARGS__, 16); break;   \
    case 32: FUNCTION(__VA_ARGS__, 32); break;   \
    case 128: FUNCTION(__VA_ARGS__, 128); break; \
    default: FUNCTION(__VA_ARGS__, block);       \
    }
#define DEFINE(SUFFIX, ATTRIBUTES)                                                          \
    ATTRIBUTES static void measure_##SUFFIX(float *out, const float *x, size_t count,       \
                                            size_t block){                                  \
        OF_BLOCK(measure_blocks, out, x,                                                    \
                 count)} ATTRIBUTES static void divide_##SUFFIX(float *x, const float *by,  \
                                                                size_t count, size_t block) \
    {                                                                                       \
        OF_BLOCK(divide_blocks, x, by, count)                                               \
    }
DEFINE(c, ULP_VECTORISE)
#if defined(__x86_64__) && defined(__GNUC__)
DEFINE(avx2, ULP_VECTORISE __attribute__((target("avx2"))))
#endif

static void measure(float *out, const float *x, size_t count, size_t block)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (ulp_cpu_features() & ULP_CPU_AVX2) {
        measure_avx2(out, x, count, block);
        return;
    }
#endif
    measure_c(out, x, count, block);
}

static void divide(float *x, const float *by, size_t count, size_t block)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (ulp_cpu_features() & ULP_CPU_AVX2) {
        divide_avx2(x, by, count, block);
        return;
    }
#endif
    divide_c(x, by, count, block);
}

float ulp_scaled_largest(const float *x, size_t count)
{
    float all;
    measure(&all, x, 1, count);
    if (isfinite(all))
        return all;
    float largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fabsf(x[i]) > largest && isfinite(x[i]) ? fabsf(x[i]) : largest;
    return largest;
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

static void measure_cells(const struct cells *cells, float *out, const float *x)
{
    const struct ulp_scaled_rule *rule = cells->rule;
    if (cells->even) {
        measure(out, x, cells->count * cells->blocks, rule->block);
        return;
    }
    for (size_t cell = 0; cell < cells->count; cell++) {
        const size_t at = cell * cells->blocks, last = cells->blocks - 1;
        measure(out + at, x + cell * rule->run, last, rule->block);
        measure(out + at + last, x + cell * rule->run + last * rule->block, 1,
                block_length(cells, last));
    }
}

static void divide_cells(const struct cells *cells, float *x, const float *by)
{
    const struct ulp_scaled_rule *rule = cells->rule;
    if (cells->even) {
        divide(x, by, cells->count * cells->blocks, rule->block);
        return;
    }
    for (size_t cell = 0; cell < cells->count; cell++) {
        const size_t at = cell * cells->blocks, last = cells->blocks - 1;
        divide(x + cell * rule->run, by + at, last, rule->block);
        divide(x + cell * rule->run + last * rule->block, by + at + last, 1,
               block_length(cells, last));
    }
}

/* ---- scales ---- */

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

/* 2^power, power >= -127 */
static float make_power(int power)
{
    return ulp_float_from(power < -126 ? UINT32_C(0x00400000) : (uint32_t)(power + 127) << 23);
}

/* NVFP4's scales of blocks whose largest magnitudes become `top`. */
ULP_VECTORISE static void choose_small(const struct ulp_scaled_rule *rule, float *out,
                                       const float *m, size_t count, float top)
{
    struct ulp_format format = rule->scaling->scale;
    format.overflow = ULP_OVERFLOW_SATURATE;
    for (size_t i = 0; i < count; i++)
        out[i] = isfinite(m[i]) ? m[i] / top / rule->tensor_scale : NAN;
    ulp_round_floats(&format, ULP_ROUND_NEAREST_EVEN, out, count, 0, 0, 0);
}

/* The scales of blocks, without the tensor's; `scale` holds their largest magnitudes. */
static void choose_scales(const struct ulp_scaled_rule *rule, float *scale, size_t count)
{
    const struct ulp_scaling *scaling = rule->scaling;
    const double top = scaling->element.max_finite;
    if (scaling->tensor_scale) {
        choose_small(rule, scale, scale, count, (float)top);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const float m = scale[i];
        if (!ulp_scaling_is_power(scaling)) /* of FP32: at least the smallest normal number */
            scale[i] = m == 0 ? 1 : (float)ulp_math_max((float)((double)m / top), 0x1p-126);
        else
            scale[i] = isfinite(m) ? make_power(m == 0 ? -127 : choose_power(scaling, m)) : NAN;
    }
}

/* ---- elements ---- */

/* x = elements of x over the whole scales; a scale of zero has elements of zero. whole: scales, and
 * the product with the tensor's after. */
ULP_VECTORISE static void round_elements(const struct cells *cells, float *x, float *whole)
{
    const struct ulp_scaled_rule *rule = cells->rule;
    const size_t count = cells->count * rule->run;
    const bool of_fp32 = rule->scaling->scale.storage_bits == 32;
    bool finite = true, special = false;
    for (size_t b = 0; b < cells->count * cells->blocks; b++) {
        whole[b] *= rule->tensor_scale;
        special |= !(whole[b] > 0);
    }
    for (size_t i = 0; of_fp32 && i < count; i++)
        finite &= (ulp_float_bits(x[i]) & INFINITE) != INFINITE;
    for (size_t i = 0; !finite && i < count; i++) /* FP8 has NaN for what is not finite */
        x[i] = isfinite(x[i]) ? x[i] : NAN;
    divide_cells(cells, x, whole);
    ulp_round_floats(&rule->scaling->element, rule->rounding, x, count, 0, 0, 0);
    for (size_t b = 0; special && b < cells->count * cells->blocks; b++) {
        float *const at = x + b / cells->blocks * rule->run + b % cells->blocks * rule->block;
        for (size_t i = 0; !(whole[b] > 0) && i < block_length(cells, b % cells->blocks); i++)
            at[i] = whole[b] == 0 ? 0 : NAN;
    }
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
    choose_small(rule, four_scale, scale, blocks, 4);
    choose_small(rule, scale, scale, blocks, (float)rule->scaling->element.max_finite);
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
                                                     : blocks;
}

void ulp_scaled_round(const struct ulp_scaled_rule *rule, float *x, float *scale, size_t cell_count,
                      size_t line_count, float *spare)
{
    const struct ulp_scaling *scaling = rule->scaling;
    const struct cells cells = {rule, cell_count, ulp_size_divide_up(rule->run, rule->block),
                                rule->run % rule->block == 0};
    const size_t blocks = cell_count * cells.blocks;
    if (scaling->k + scaling->lines == 0)
        for (size_t b = 0; b < blocks; b++)
            scale[b] = rule->largest;
    else
        measure_cells(&cells, scale, x);
    if (scaling->scale.storage_bits == 32)
        measure_finite(&cells, scale, x);
    if (line_count > 0)
        share_largest(scale, line_count, blocks / line_count);
    if (scaling->rule == ULP_SCALE_FOUR_SIX) {
        round_four_or_six(&cells, x, scale, spare);
        return;
    }
    choose_scales(rule, scale, blocks);
    memcpy(spare, scale, blocks * sizeof *scale);
    round_elements(&cells, x, spare);
}
