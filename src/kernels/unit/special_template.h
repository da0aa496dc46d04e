/* Lanes that meet NaN or Inf (rule 1), decided by sets of lanes: plain C, compiled once for each
 * instance; TARGET is its function attribute. Included by unit/fast.c and unit/fast_template.h. */

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
TARGET static inline __attribute__((always_inline)) struct lost lose_lanes(
    struct lost lost, const struct ulp_unit_tile *tile, size_t row, size_t first, size_t length)
{
    const size_t plane = tile->layout->slot_count;
    const int32_t *restrict codes = tile->rows.exponent + row * tile->layout->slot_stride + first;
    const float *restrict values = tile->rows.value + row * tile->layout->slot_stride + first;
    const uint32_t *restrict b = tile->panel.kinds + first;
    uint32_t nan = 0, positive = 0, negative = 0;
    for (size_t s = 0; s < length; s++) {
        const int32_t code = (int16_t)(codes[s] & 0xFFFF);
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

/* Lanes of `slow`, bit 0 being `column` of the place: after[] becomes the oracle's result from
 * before[]. One that is infinite since an addition overflowed stays so. */
TARGET static void sum_lanes_by_oracle(const struct ulp_unit_tile *tile, size_t row, size_t block,
                                       size_t place, size_t column, uint32_t slow,
                                       const float *before, float *after)
{
    for (size_t j = 0; j < ULP_UNIT_COLUMNS; j++)
        if (slow >> j & 1)
            after[j] = before[j] - before[j] == 0
                           ? ulp_unit_sum_by_oracle(tile, row, block, place + column + j, before[j])
                           : before[j];
}
