/* The fast path of matrix units: rows one by one in plain C, which decides what the vectors of
 * fast_template.h leave. */
#include "kernels/unit/fast.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/machine/cpu.h"
#include "base/vectorise.h"

#if ULP_X86_VECTORS
#include <immintrin.h>
#endif

enum {
    COLUMNS = ULP_UNIT_COLUMNS,
    TERMS = 16, /* stay inside of int32 */
    ROWS = 2,   /* whose chains run side by side: one waits for itself */
};

struct ulp_unit_limits ulp_unit_limits(const struct ulp_unit *unit)
{
    const int scalable = unit->fraction_bits - 125;
    return (struct ulp_unit_limits){
        .fraction_bits = unit->fraction_bits,
        .lowest = unit->floor > scalable ? unit->floor : scalable,
        .low = unit->floor > scalable ? ULP_UNIT_NO_TERM : scalable,
        .high =
            109, /* converted sums are below 2^(109 - 13 + 31): finite however they are rounded */
        .c_field = unit->output == ULP_UNIT_RNE_FP16 ? 127 - 14 : 1,
    };
}

/* One lane's block by the oracle. */
static float sum_by_oracle(const struct ulp_unit_tile *tile, size_t row, size_t block, size_t lane,
                           float before)
{
    const size_t length = (size_t)tile->layout->unit.block, first = block * length;
    struct ulp_unit_factor a[32], b[32];
    const size_t count = tile->layout->block_used[block];
    for (size_t s = 0; s < count; s++) {
        const size_t at = row * tile->layout->slot_stride + first + s,
                     column = (first + s) * COLUMNS + lane;
        a[s] = (struct ulp_unit_factor){tile->rows.value[at], tile->rows.exponent[at]};
        b[s] = (struct ulp_unit_factor){tile->panel.value[column], tile->panel.exponent[column]};
    }
    return (float)ulp_unit_sum_factors(&tile->layout->unit, a, b, count, before);
}

/* The lanes whose sum is not finite. No lane is in two sets. */
struct lost {
    uint32_t nan, positive, negative;
};

static inline uint32_t lost_lanes(struct lost lost)
{
    return lost.nan | lost.positive | lost.negative;
}

/* All ones if the condition holds: a set of all lanes. */
static inline __attribute__((always_inline)) uint32_t fill_lanes(bool condition)
{
    return 0 - (uint32_t)condition;
}

/* What the products of one row and block add to the lost lanes of the panel's columns. A product
 * with NaN is NaN, an infinity's is NaN with zero and else an infinity; two infinities of opposite
 * signs make NaN. Products with padding do not exist. The loop is over slots, so that it becomes
 * vectors. */
static struct lost lose_lanes(struct lost lost, const struct ulp_unit_tile *tile, size_t row,
                              size_t first, size_t length)
{
    const size_t plane = tile->layout->slot_count;
    const int16_t *restrict codes = tile->rows.exponent + row * tile->layout->slot_stride + first;
    const float *restrict values = tile->rows.value + row * tile->layout->slot_stride + first;
    const uint32_t *restrict b = tile->panel.kinds + first;
    uint32_t nan = 0, positive = 0, negative = 0;
    for (size_t s = 0; s < length; s++) {
        const int16_t code = codes[s];
        const uint32_t a_nan = fill_lanes(code == ULP_UNIT_NAN),
                       a_zero = fill_lanes(code == ULP_UNIT_ZERO);
        const uint32_t a_minus = fill_lanes(code == ULP_UNIT_NEGATIVE_INFINITY);
        const uint32_t a_infinity = a_minus | fill_lanes(code == ULP_UNIT_POSITIVE_INFINITY);
        const uint32_t a_negative = a_minus | fill_lanes(values[s] < 0);
        const uint32_t b_infinity = b[ULP_UNIT_SET_INFINITY * plane + s];
        const uint32_t exists =
            ~(b[ULP_UNIT_SET_PADDING * plane + s] | fill_lanes(code == ULP_UNIT_PADDING));
        const uint32_t infinity = exists & (a_infinity | b_infinity);
        const uint32_t sign = a_negative ^ b[ULP_UNIT_SET_NEGATIVE * plane + s];
        nan |= exists & (a_nan | b[ULP_UNIT_SET_NAN * plane + s] |
                         (a_infinity & b[ULP_UNIT_SET_ZERO * plane + s]) | (a_zero & b_infinity));
        positive |= infinity & ~sign;
        negative |= infinity & sign;
    }
    positive |= lost.positive;
    negative |= lost.negative;
    nan |= lost.nan | (positive & negative);
    return (struct lost){nan, positive & ~nan, negative & ~nan};
}

/* Lanes of `slow`: after[] becomes the oracle's result from before[]. One that is infinite since an
 * addition overflowed stays so. */
static void sum_lanes_by_oracle(const struct ulp_unit_tile *tile, size_t row, size_t block,
                                uint32_t slow, const float *before, float *after)
{
    for (size_t j = 0; j < COLUMNS; j++)
        if (slow >> j & 1)
            after[j] = before[j] - before[j] == 0 ? sum_by_oracle(tile, row, block, j, before[j])
                                                  : before[j];
}

/* The sum truncated to 24 bits. Clearing the half bit (and some below it) makes rounding to nearest
 * truncate; the leading bit, when it is bit 24 or above, is what finds the half bit. */
static inline float truncate_sum(int32_t sum)
{
    uint32_t magnitude = sum < 0 ? 0 - (uint32_t)sum : (uint32_t)sum;
    float x = (float)(int32_t)(magnitude & ~(magnitude >> 24));
    return ulp_float_from((ulp_float_bits(x) & 0x7FFFFFFF) | ((uint32_t)sum & 0x80000000));
}

/* To FP16, nearest even, by adding 1.5 * 2^(13 + Exp(x)), whose last bit is worth 2^(Exp(x) -
 * 10); zero is +0. */
static inline float round_to_half(float x)
{
    uint32_t field = ulp_float_bits(x) >> 23 & 255;
    float magic = ulp_float_from((((field > 113 ? field : 113) + 13) << 23) | 0x400000);
    float rounded = fabsf(x) + magic - magic;
    return copysignf(fabsf(x) < 65520 ? rounded : INFINITY, x) + 0.0f;
}

/* sum * 2^(e - F) converted. */
static inline float convert_sum(int32_t sum, float scale, enum ulp_unit_output output)
{
    float x = truncate_sum(sum);
    if (output == ULP_UNIT_RZ_FP32)
        return x * scale;
    if (output == ULP_UNIT_RZ_E8M13)
        return ulp_float_from(ulp_float_bits(x) & 0xFFFFFC00) * scale;
    /* rounded to odd at 24 bits first, so that rounding to 11 rounds once */
    return round_to_half(ulp_float_from(ulp_float_bits(x) | ((int32_t)x != sum)) * scale);
}

/* A term as an integer. Lanes left to the oracle may hold anything here: what C does not define
 * is kept away, and 16 such terms stay inside int32. */
static inline int32_t truncate_term(float x)
{
    const float bound = 134217720; /* below 2^27 and above every term */
    x = x < bound ? x : bound;
    x = x > -bound ? x : -bound;
    return (int32_t)x;
}

/* What a block needs of each lane. */
struct lanes {
    int32_t e[COLUMNS];
    float up[COLUMNS], down[COLUMNS]; /* 2^(F - e), 2^(e - F) */
    int32_t sum[COLUMNS];
    uint32_t slow; /* lanes left to the oracle */
};

static void raise_exponents(int16_t *restrict top, int16_t a, const int16_t *restrict b)
{
    for (size_t j = 0; j < COLUMNS; j++) {
        const int16_t e = (int16_t)(a + b[j]);
        top[j] = e > top[j] ? e : top[j];
    }
}

static void raise_lanes(struct lanes *lanes, const struct ulp_unit_limits *limits,
                        const int16_t *restrict a_exponent, const int16_t *restrict b_exponent,
                        size_t count, const float *restrict c)
{
    int16_t top[COLUMNS];
    memset(top, 0x80, sizeof top);
    for (size_t s = 0; s < count; s++)
        raise_exponents(top, a_exponent[s], b_exponent + s * COLUMNS);
    uint32_t outside = 0;
    for (size_t j = 0; j < COLUMNS; j++) {
        const uint32_t bits = ulp_float_bits(c[j]) & 0x7FFFFFFF;
        const int field = (int)(bits >> 23) > limits->c_field ? (int)(bits >> 23) : limits->c_field;
        const int c_e = bits == 0 ? ULP_UNIT_ZERO : field - 127;
        int e = top[j] > c_e ? top[j] : c_e;
        lanes->sum[j] = (e > ULP_UNIT_NO_TERM && e < limits->low) || e > limits->high;
        outside |= (uint32_t)lanes->sum[j];
        e = e < limits->lowest ? limits->lowest : e > limits->high ? limits->high : e;
        lanes->up[j] = ulp_float_from((uint32_t)(127 + limits->fraction_bits - e) << 23);
        lanes->down[j] = ulp_float_from((uint32_t)(127 - limits->fraction_bits + e) << 23);
    }
    lanes->slow = 0;
    for (size_t j = 0; outside && j < COLUMNS; j++)
        lanes->slow |= (uint32_t)lanes->sum[j] << j;
}

/* The terms of one slot onto part[]: 16 of them stay inside int32. */
static void add_terms(int32_t *restrict part, const float *restrict up, float a,
                      const float *restrict b)
{
    for (size_t j = 0; j < COLUMNS; j++)
        part[j] += truncate_term(a * b[j] * up[j]);
}

/* sum += part, noting overflow. */
static void add_checked(struct lanes *lanes, const int32_t *restrict part)
{
    uint32_t overflow = 0;
    for (size_t j = 0; j < COLUMNS; j++) {
        const uint32_t x = (uint32_t)lanes->sum[j], y = (uint32_t)part[j], z = x + y;
        overflow |= (x ^ z) & (y ^ z);
        lanes->sum[j] = (int32_t)z;
    }
    if (overflow >> 31) /* rare: which lanes does not matter, the oracle is right for all */
        lanes->slow = 0xFFFFFFFF;
}

static struct lost read_lost(const float *c)
{
    struct lost lost = {0};
    for (size_t j = 0; j < COLUMNS; j++) {
        lost.nan |= (uint32_t)(c[j] != c[j]) << j;
        lost.positive |= (uint32_t)(c[j] == INFINITY) << j;
        lost.negative |= (uint32_t)(c[j] == -INFINITY) << j;
    }
    return lost;
}

static void write_lost(float *c, struct lost lost)
{
    for (size_t j = 0; lost_lanes(lost) && j < COLUMNS; j++)
        c[j] = lost.nan >> j & 1        ? ulp_float_from(0x7FFFFFFF) /* the canonical NaN */
               : lost.positive >> j & 1 ? INFINITY
               : lost.negative >> j & 1 ? -INFINITY
                                        : c[j];
}

/* The chain of the tile's blocks for one row. */
static void run_row(const struct ulp_unit_tile *tile, size_t row)
{
    const struct ulp_unit_layout *layout = tile->layout;
    const size_t length = (size_t)layout->unit.block;
    float *c = tile->c + row * COLUMNS;
    struct lost lost = read_lost(c); /* all that are not finite, unless the last sum overflowed */
    for (size_t block = tile->block_first; block < tile->block_last; block++) {
        const size_t slot = block * length, at = row * layout->slot_stride + slot,
                     used = layout->block_used[block];
        const float *b = tile->panel.value + slot * COLUMNS;
        struct lanes lanes;
        int32_t part[COLUMNS];
        float after[COLUMNS];
        if (tile->rows.special[row * layout->block_count + block] || tile->panel.special[block]) {
            lost = lose_lanes(read_lost(c), tile, row, slot, length);
            write_lost(c, lost);
        }
        if (lost.nan == UINT32_MAX)
            break;
        if (lost_lanes(lost) == UINT32_MAX)
            continue;
        raise_lanes(&lanes, &layout->limits, tile->rows.exponent + at,
                    tile->panel.exponent + slot * COLUMNS, used, c);
        for (size_t j = 0; j < COLUMNS; j++)
            lanes.sum[j] = truncate_term(c[j] * lanes.up[j]);
        for (size_t first = 0; first < used; first += TERMS) {
            memset(part, 0, sizeof part);
            for (size_t s = first; s < used && s < first + TERMS; s++)
                add_terms(part, lanes.up, tile->rows.value[at + s], b + s * COLUMNS);
            add_checked(&lanes, part);
        }
        for (size_t j = 0; j < COLUMNS; j++)
            after[j] = convert_sum(lanes.sum[j], lanes.down[j], layout->unit.output);
        write_lost(after, lost);
        lanes.slow &= ~lost_lanes(lost);
        if (lanes.slow) {
            sum_lanes_by_oracle(tile, row, block, lanes.slow, c, after);
            lost = read_lost(after);
        }
        memcpy(c, after, sizeof after);
    }
}

/* Is there NaN or Inf in the tile's blocks of a row or of the columns? */
static bool is_special(const struct ulp_unit_tile *tile, size_t row)
{
    const uint8_t *a = tile->rows.special + row * tile->layout->block_count;
    unsigned special = 0;
    for (size_t block = tile->block_first; block < tile->block_last; block++)
        special |= a[block] | tile->panel.special[block];
    return special;
}

#define TEMPLATE "kernels/unit/fast_template.h"
#include "base/machine/each_cpu_template.h"

const struct ulp_unit_instance *ulp_unit_choose(unsigned cpu)
{
    return ULP_BY_FEATURES(cpu, &instance_avx512, &instance_avx2, &instance_portable);
}
