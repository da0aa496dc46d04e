/* The fast path of matrix units: what the vectors of fast_template.h leave, which are sums that are
 * not finite and those outside of the limits. */
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
