/* The fast path of matrix units: portable tile, and what its instances share. */
#include "kernels/unit/fast.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"

enum { COLUMNS = ULP_UNIT_COLUMNS };

/* With emin -14 or more, products that are not zero have exponents from -28 to 30. So a block's sum
 * is 0, or c itself, or a multiple of 2^(-28 - F); and it is c from c = 2^60 on, where products are
 * truncated to 0. Sums in FP16 become infinite. */
static bool stays_inside(const struct ulp_unit *unit)
{
    return unit->kind != ULP_UNIT_SCALED && ulp_unit_input(unit, 0)->emin >= -14 &&
           ulp_unit_input(unit, 1)->emin >= -14 && unit->output != ULP_UNIT_RNE_FP16;
}

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
        .narrow = stays_inside(unit),
    };
}

float ulp_unit_sum_by_oracle(const struct ulp_unit_tile *tile, size_t row, size_t block,
                             size_t lane, float before)
{
    const size_t length = (size_t)tile->layout->unit.block, first = block * length;
    struct ulp_unit_factor a[32], b[32];
    const size_t count = tile->layout->block_used[block];
    for (size_t s = 0; s < count; s++) {
        const size_t at = row * tile->layout->slot_stride + first + s,
                     column = (size_t)tile->slot_offset[first + s] + lane;
        a[s] = (struct ulp_unit_factor){tile->rows.value[at],
                                        (int16_t)(tile->rows.exponent[at] & 0xFFFF)};
        b[s] = (struct ulp_unit_factor){tile->panel.value[column], tile->panel.exponent[column]};
    }
    return (float)ulp_unit_sum_factors(&tile->layout->unit, a, b, count, before);
}

#define TARGET
#include "kernels/unit/special_template.h"

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
                        const int32_t *restrict a_exponent, const int16_t *restrict b_exponent,
                        const int64_t *restrict offset, size_t count, const float *restrict c)
{
    int16_t top[COLUMNS];
    memset(top, 0x80, sizeof top);
    for (size_t s = 0; s < count; s++)
        raise_exponents(top, (int16_t)(a_exponent[s] & 0xFFFF), b_exponent + offset[s]);
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

/* The chain of the tile's blocks for one row and place. */
static void run_place(const struct ulp_unit_tile *tile, const struct ulp_unit_limits *limits,
                      size_t row, size_t place)
{
    const struct ulp_unit_layout *layout = tile->layout;
    const size_t length = (size_t)layout->unit.block, lane = (size_t)tile->place[place];
    float *c = tile->c + (row * tile->place_count + place) * COLUMNS;
    struct lost lost = read_lost(c); /* all that are not finite, unless the last sum overflowed */
    for (size_t block = tile->block_first; block < tile->block_last; block++) {
        const size_t slot = block * length, at = row * layout->slot_stride + slot,
                     used = layout->block_used[block];
        const int64_t *offset = tile->slot_offset + slot;
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
        raise_lanes(&lanes, limits, tile->rows.exponent + at, tile->panel.exponent + lane, offset,
                    used, c);
        for (size_t j = 0; j < COLUMNS; j++)
            lanes.sum[j] = truncate_term(c[j] * lanes.up[j]);
        for (size_t first = 0; first < used; first += 16) {
            memset(part, 0, sizeof part);
            for (size_t s = first; s < used && s < first + 16; s++)
                add_terms(part, lanes.up, tile->rows.value[at + s],
                          tile->panel.value + lane + offset[s]);
            add_checked(&lanes, part);
        }
        for (size_t j = 0; j < COLUMNS; j++)
            after[j] = convert_sum(lanes.sum[j], lanes.down[j], layout->unit.output);
        write_lost(after, lost);
        lanes.slow &= ~lost_lanes(lost);
        if (lanes.slow) {
            sum_lanes_by_oracle(tile, row, block, lane, 0, lanes.slow, c, after);
            lost = read_lost(after);
        }
        memcpy(c, after, sizeof after);
    }
}

static void run_tile(const struct ulp_unit_tile *tile)
{
    const struct ulp_unit_limits limits = tile->layout->limits;
    if (tile->fresh)
        memset(tile->c, 0, tile->row_count * tile->place_count * COLUMNS * sizeof *tile->c);
    for (size_t row = 0; row < tile->row_count; row++)
        for (size_t place = 0; place < tile->place_count; place++)
            run_place(tile, &limits, row, place);
}

static struct ulp_unit_kinds decode(float *restrict value, int16_t *restrict exponent,
                                    const float *restrict x, int emin)
{
    struct ulp_unit_kinds kinds = {0};
    for (size_t i = 0; i < COLUMNS; i++) {
        const uint32_t magnitude = ulp_float_bits(x[i]) & 0x7FFFFFFF;
        const int field = (int)(magnitude >> 23), e = field - 127 > emin ? field - 127 : emin;
        kinds.nan |= (uint32_t)(magnitude > 0x7F800000) << i;
        kinds.infinity |= (uint32_t)(magnitude == 0x7F800000) << i;
        kinds.zero |= (uint32_t)(magnitude == 0) << i;
        kinds.negative |= (ulp_float_bits(x[i]) >> 31) << i;
        value[i] = x[i];
        exponent[i] = (int16_t)(magnitude == 0 ? ULP_UNIT_ZERO : e);
    }
    return kinds;
}

static bool find_exponents(int16_t *restrict exponent, const float *restrict x, size_t count,
                           int emin)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t magnitude = ulp_float_bits(x[i]) & 0x7FFFFFFF;
        const int field = (int)(magnitude >> 23), e = field - 127 > emin ? field - 127 : emin;
        largest = magnitude > largest ? magnitude : largest;
        exponent[i] = (int16_t)(magnitude == 0 ? ULP_UNIT_ZERO : e);
    }
    return largest < 0x7F800000;
}

const struct ulp_unit_instance ulp_unit_c = {run_tile, decode, find_exponents};
