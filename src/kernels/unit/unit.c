/* The oracle of every matrix unit, in integers, written to be read beside its statement. For
 * NVIDIA's units:
 *
 * For a finite x of a format whose smallest normal exponent is emin, Exp(x) = max(floor(log2 |x|),
 * emin) (the exponent field: subnormals read emin) and Sig(x) = x / 2^Exp(x), never normalised. A
 * block of L products and an accumulator c:
 * 1. Specials first: NaN among the operands, Inf * 0, or infinities of both signs give NaN; else an
 *    infinite term gives that infinity.
 * 2. Products are exact: significand Sig(a) Sig(b), exponent Exp(a) + Exp(b). c is one more term.
 *    Zero terms take no part in 3.
 * 3. e = max(floor, exponents of the terms).
 * 4. Each term's magnitude is truncated to a multiple of 2^(e - F).
 * 5. These integers are added exactly; an exact zero is +0.
 * 6. One conversion of the sum to the output. One that converts to zero is +0, whatever its sign:
 *    measured on an H200, where no sum of mma.sync or wgmma is -0.
 * 7. Blocks follow each other in increasing k, each result the next one's c. */
#include "kernels/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MAX 64

/* value = (-1)^negative * significand * 2^(exponent - fraction), with Sig = significand *
 * 2^-fraction. */
struct term {
    bool negative, cancelled; /* cancelled: a sum of products that is zero, though they are not */
    int exponent, fraction;
    uint64_t significand;
};

static struct term split(double x, int precision, int emin)
{
    int exponent; /* x = m * 2^exponent with 1/2 <= |m| < 1 */
    double m = frexp(x, &exponent);
    int field = exponent - 1 > emin ? exponent - 1 : emin;
    return (struct term){.negative = signbit(x),
                         .exponent = field,
                         .fraction = precision - 1,
                         .significand =
                             x == 0 ? 0
                                    : (uint64_t)ldexp(fabs(m), exponent - field + precision - 1)};
}

static struct term multiply_terms(struct term a, struct term b)
{
    return (struct term){.negative = a.negative != b.negative,
                         .exponent = a.exponent + b.exponent,
                         .fraction = a.fraction + b.fraction,
                         .significand = a.significand * b.significand};
}

/* Rule 1 by IEEE addition: every finite nonzero value becomes 1 or -1, so that only specials make
 * the sum special. */
static double add_special(double sum, double a, double b)
{
    double x = isfinite(a) && a != 0 ? copysign(1, a) : a;
    double y = isfinite(b) && b != 0 ? copysign(1, b) : b;
    return sum + x * y;
}

/* The term's magnitude in multiples of 2^(e - fraction_bits), cut off. */
static int64_t align(struct term term, int e, int fraction_bits)
{
    int shift = fraction_bits - term.fraction - (e - term.exponent);
    uint64_t magnitude = shift >= 0    ? term.significand << shift
                         : shift > -64 ? term.significand >> -shift
                                       : 0;
    return term.negative ? -(int64_t)magnitude : (int64_t)magnitude;
}

struct output {
    int precision, smallest; /* bits kept; exponent of the smallest subnormal */
    int emax;
    bool nearest;
};

static const struct output outputs[] = {
    [ULP_UNIT_RZ_FP32] = {.precision = 24, .smallest = -149, .emax = 127, .nearest = false},
    [ULP_UNIT_RZ_E8M13] = {.precision = 14, .smallest = -149, .emax = 127, .nearest = false},
    [ULP_UNIT_RNE_FP16] = {.precision = 11, .smallest = -24, .emax = 15, .nearest = true},
};

/* sum * 2^exponent converted (rule 6). */
static double convert(int64_t sum, int exponent, enum ulp_unit_output output)
{
    const struct output *to = &outputs[output];
    uint64_t magnitude = sum < 0 ? -(uint64_t)sum : (uint64_t)sum;
    if (magnitude == 0)
        return 0;
    int top = exponent + 63 - __builtin_clzll(magnitude);
    int unit = top - to->precision + 1 > to->smallest ? top - to->precision + 1 : to->smallest;
    int drop = unit - exponent;
    /* far below the smallest number: every unit's floor keeps sums above half of it */
    if (drop >= 64) {
        magnitude = 0;
    } else if (drop > 0) {
        uint64_t rest = magnitude & (((uint64_t)1 << drop) - 1), half = (uint64_t)1 << (drop - 1);
        magnitude >>= drop;
        if (to->nearest && (rest > half || (rest == half && (magnitude & 1))))
            magnitude++;
    }
    double value = ldexp((double)magnitude, drop > 0 ? unit : exponent);
    if (value >= ldexp(1, to->emax + 1))
        value = INFINITY;
    return sum < 0 && value != 0 ? -value : value;
}

/* Rules 3 to 6. */
static double add_terms(const struct ulp_unit *unit, const struct term *terms, size_t count)
{
    int e = unit->floor;
    for (size_t i = 0; i < count; i++)
        if ((terms[i].significand != 0 || terms[i].cancelled) && terms[i].exponent > e)
            e = terms[i].exponent;
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        if (terms[i].significand != 0)
            sum += align(terms[i], e, unit->fraction_bits);
    return convert(sum, e - unit->fraction_bits, unit->output);
}

/* How operands, the accumulator and block scales are read. */
struct reading {
    int precision[2], emin[2], accumulator_precision, accumulator_emin, scale_precision, scale_emin;
};

static struct reading read_as(const struct ulp_unit *unit)
{
    const struct ulp_unit_input *a = ulp_unit_input(unit, 0), *b = ulp_unit_input(unit, 1);
    bool half = unit->output == ULP_UNIT_RNE_FP16, e8m0 = strcmp(a->scale, "fp8-e8m0") == 0;
    struct reading reading = {
        .precision = {a->precision, b->precision},
        .emin = {a->emin, b->emin},
        .accumulator_precision = half ? 11 : 24,
        .accumulator_emin = half ? -14 : -126,
        .scale_precision = e8m0 ? 1 : 4,
        .scale_emin = e8m0 ? -127 : -6,
    };
    if (unit->kind == ULP_UNIT_HALVES) /* the operands have been converted to FP16 */
        for (int side = 0; side < 2; side++) {
            reading.precision[side] = 11;
            reading.emin[side] = -14;
        }
    return reading;
}

/* Operands a[index], a[index + stride], ... of one sum. */
struct block {
    const double *a, *b, *scale_a, *scale_b; /* scales: of the whole chain */
    size_t first, count;                     /* k of the first product, and how many */
};

/* One block of a unit without groups. Scales, where there are any, add to the exponents. */
static double sum_block(const struct ulp_unit *unit, const struct block *block, double c)
{
    const struct reading reading = read_as(unit);
    struct term terms[BLOCK_MAX + 1];
    double special = isfinite(c) ? 0 : c;
    for (size_t i = 0; i < block->count; i++) {
        double a = block->a[i], b = block->b[i];
        special = add_special(special, a, b);
        if (!isfinite(a) || !isfinite(b))
            continue;
        terms[i] = multiply_terms(split(a, reading.precision[0], reading.emin[0]),
                                  split(b, reading.precision[1], reading.emin[1]));
        if (unit->scale_block) {
            size_t scale = (block->first + i) / (size_t)unit->scale_block;
            double sa = block->scale_a[scale], sb = block->scale_b[scale];
            special += (sa - sa) + (sb - sb); /* a NaN scale */
            if (special == special)
                terms[i].exponent += ilogb(sa) + ilogb(sb);
        }
    }
    if (!isfinite(special))
        return special;
    terms[block->count] = split(c, reading.accumulator_precision, reading.accumulator_emin);
    return add_terms(unit, terms, block->count + 1);
}

/* |x| < 2^(exponent + 1), a multiple of 2^(exponent - 23): no operand is longer than FP32. */
static struct term split_factor(struct ulp_unit_factor x)
{
    return (struct term){.negative = signbit(x.value),
                         .exponent = x.exponent,
                         .fraction = 23,
                         .significand = (uint64_t)ldexp(fabs((double)x.value), 23 - x.exponent)};
}

double ulp_unit_sum_factors(const struct ulp_unit *unit, const struct ulp_unit_factor *a,
                            const struct ulp_unit_factor *b, size_t count, double c)
{
    const struct reading reading = read_as(unit);
    struct term terms[BLOCK_MAX + 1];
    size_t used = 0;
    if (!isfinite(c))
        return c;
    for (size_t i = 0; i < count; i++)
        if (a[i].value != 0 && b[i].value != 0)
            terms[used++] = multiply_terms(split_factor(a[i]), split_factor(b[i]));
    terms[used++] = split(c, reading.accumulator_precision, reading.accumulator_emin);
    return add_terms(unit, terms, used);
}

/* One block of an FP4 unit: groups of 16 products are added exactly (in quarters: FP4 products are
 * multiples of 1/4), and a group is a term, which aligns the others even when its products cancel.
 * FP4 has no specials; a scale can be NaN. */
static double sum_groups(const struct ulp_unit *unit, const struct block *block, double c)
{
    const struct reading reading = read_as(unit);
    struct term terms[BLOCK_MAX / 16 + 1];
    double special = isfinite(c) ? 0 : c;
    size_t count = 0;
    for (size_t i = 0; i < block->count; i += 16) {
        int64_t quarters = 0;
        bool any = false;
        for (size_t j = i; j < i + 16 && j < block->count; j++) {
            quarters += (int64_t)(4 * block->a[j] * block->b[j]);
            any |= block->a[j] * block->b[j] != 0;
        }
        size_t scale = (block->first + i) / (size_t)unit->scale_block;
        double sa = block->scale_a[scale], sb = block->scale_b[scale];
        special += (sa - sa) + (sb - sb);
        if (special != special)
            return special;
        struct term group = {.negative = quarters < 0,
                             .fraction = 2,
                             .significand = (uint64_t)llabs(quarters)};
        struct term scales = multiply_terms(split(sa, reading.scale_precision, reading.scale_emin),
                                            split(sb, reading.scale_precision, reading.scale_emin));
        terms[count] = multiply_terms(group, scales);
        terms[count].cancelled = any && quarters == 0 && scales.significand != 0;
        count++;
    }
    if (!isfinite(special))
        return special;
    terms[count++] = split(c, reading.accumulator_precision, reading.accumulator_emin);
    return add_terms(unit, terms, count);
}

/* FP8 where there is no unit for it: both operands become FP16 (exactly) and the FP16 unit adds the
 * products whose k mod 4 is 0 or 1, then onto that those whose k mod 4 is 2 or 3; c is added by an
 * ordinary addition in the accumulator's format. */
static double sum_halves(const struct ulp_unit *unit, const struct block *block, double c)
{
    double d = 0;
    for (size_t half = 0; half < 2; half++) {
        double a[BLOCK_MAX], b[BLOCK_MAX];
        struct block part = {.a = a, .b = b};
        for (size_t i = 0; i < block->count; i++)
            if ((block->first + i) % 4 / 2 == half) {
                a[part.count] = block->a[i];
                b[part.count++] = block->b[i];
            }
        d = sum_block(unit, &part, d);
    }
    if (unit->output != ULP_UNIT_RNE_FP16)
        return (float)d + (float)c;
    if (!isfinite(c + d))
        return c + d;
    /* FP16 numbers are multiples of 2^-24 */
    return convert((int64_t)ldexp(c + d, 24), -24, ULP_UNIT_RNE_FP16);
}

typedef double sum_fn(const struct ulp_unit *unit, const struct block *block, double c);

static double chain_blocks(const struct ulp_unit *unit, sum_fn *sum, const double *a,
                           const double *b, const double *scale_a, const double *scale_b, size_t k,
                           double c)
{
    for (size_t first = 0; first < k; first += (size_t)unit->block) {
        size_t count = k - first < (size_t)unit->block ? k - first : (size_t)unit->block;
        struct block block = {a + first, b + first, scale_a, scale_b, first, count};
        c = sum(unit, &block, c);
    }
    return c;
}

static double chain_fma(const double *a, const double *b, size_t k, double c)
{
    for (size_t i = 0; i < k; i++)
        c = fma(a[i], b[i], c);
    return c;
}

static double chain_integers(const double *a, const double *b, size_t k, double c)
{
    uint32_t sum = (uint32_t)(int32_t)c;
    for (size_t i = 0; i < k; i++)
        sum += (uint32_t)((int32_t)a[i] * (int32_t)b[i]);
    return (int32_t)sum;
}

double ulp_unit_chain(const struct ulp_unit *unit, const double *a, const double *b,
                      const double *scale_a, const double *scale_b, size_t k, double c)
{
    switch (unit->kind) {
    case ULP_UNIT_TRUNCATED:
    case ULP_UNIT_SCALED: return chain_blocks(unit, sum_block, a, b, scale_a, scale_b, k, c);
    case ULP_UNIT_HALVES: return chain_blocks(unit, sum_halves, a, b, scale_a, scale_b, k, c);
    case ULP_UNIT_SCALED_GROUPS:
        return chain_blocks(unit, sum_groups, a, b, scale_a, scale_b, k, c);
    case ULP_UNIT_FMA: return chain_fma(a, b, k, c);
    case ULP_UNIT_INTEGER: return chain_integers(a, b, k, c);
    }
    return NAN;
}

size_t ulp_unit_slice_length(const struct ulp_unit *unit, size_t k,
                             const struct ulp_schedule *schedule)
{
    const size_t count = schedule->split_k > 1 ? (size_t)schedule->split_k : 1,
                 tile = (size_t)schedule->slice_tile;
    if (k % count == 0 && (tile == 0 || count == 1))
        return k / count;
    return ulp_size_round_up(ulp_size_divide_up(k, count), tile ? tile : (size_t)unit->block);
}
