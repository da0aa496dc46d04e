/* Settling what the fast path cannot: lanes that meet NaN or Inf (rule 1) and lanes for the oracle. Plain C, compiled once for each
 * instance; TARGET is its function attribute. Included by unit_fast.c and unit_fast_template.h. */
#include <math.h>
#include <string.h>

/* yes where the condition holds, else no; masks, so that loops over lanes become vectors. */
TARGET static inline __attribute__((always_inline)) uint32_t choose_bits(bool condition, uint32_t yes, uint32_t no)
{
    const uint32_t mask = 0 - (uint32_t)condition;
    return (yes & mask) | (no & ~mask);
}

/* What rule 1 sees of an operand, as the bits of a float: NaN, an infinity, zero, or 1 with a finite number's sign. */
TARGET static inline __attribute__((always_inline)) uint32_t special_image(int32_t code, uint32_t value)
{
    uint32_t image = 0x3F800000 | (value & 0x80000000);
    image = choose_bits(code == ULP_UNIT_ZERO, 0, image);
    image = choose_bits(code == ULP_UNIT_POSITIVE_INFINITY, 0x7F800000, image);
    image = choose_bits(code == ULP_UNIT_NEGATIVE_INFINITY, 0xFF800000, image);
    return choose_bits(code == ULP_UNIT_NAN, 0x7FC00000, image);
}

/* Rule 1 for every lane of a block: sum[] holds c (finite ones as 0) and gets NaN, an infinity, or a finite number. Once NaN, a sum
 * stays NaN. Products with padding do not exist: their bits are cleared. */
TARGET static void settle_specials(const struct ulp_unit_tile *tile, size_t row, size_t block, float *restrict sum)
{
    const size_t length = (size_t)tile->layout->unit.block, first = block * length;
    const int32_t *a_code = tile->rows.exponent + row * tile->layout->slot_stride;
    const float *a_value = tile->rows.value + row * tile->layout->slot_stride;
    for (size_t s = first; s < first + length; s++) {
        const int32_t code = (int16_t)(a_code[s] & 0xFFFF);
        const float a = ulp_unit_float(special_image(code, ulp_unit_bits(a_value[s])));
        const int16_t *restrict b_code = tile->panel.exponent + s * ULP_UNIT_COLUMNS;
        uint32_t bits[ULP_UNIT_COLUMNS];
        float products[ULP_UNIT_COLUMNS];
        if (code == ULP_UNIT_PADDING)
            continue;
        memcpy(bits, tile->panel.value + s * ULP_UNIT_COLUMNS, sizeof bits);
        for (size_t j = 0; j < ULP_UNIT_COLUMNS; j++)
            bits[j] = special_image(b_code[j], bits[j]);
        memcpy(products, bits, sizeof products);
        for (size_t j = 0; j < ULP_UNIT_COLUMNS; j++)
            products[j] *= a;
        memcpy(bits, products, sizeof bits);
        for (size_t j = 0; j < ULP_UNIT_COLUMNS; j++)
            bits[j] = choose_bits(b_code[j] == ULP_UNIT_PADDING, 0, bits[j]);
        memcpy(products, bits, sizeof products);
        for (size_t j = 0; j < ULP_UNIT_COLUMNS; j++)
            sum[j] += products[j];
    }
}

/* after[] of one row and block, `count` columns from `column` on: replace the lanes of `slow` by the oracle's results
 * from before[], and, where the row's or the panel's block is special, give special lanes theirs. True when all are NaN
 * now, which no later block changes. */
TARGET static bool settle_lanes(const struct ulp_unit_tile *tile, size_t row, size_t block, size_t column, size_t count,
                                uint32_t slow, const float *before, float *after)
{
    const bool special = tile->rows.special[row * tile->layout->block_count + block] || tile->panel.special[block];
    float sums[ULP_UNIT_COLUMNS] = {0};
    bool open = false; /* some lane is not NaN yet */
    for (size_t j = 0; j < count; j++) {
        sums[column + j] = isfinite(before[j]) ? 0 : before[j];
        open |= before[j] == before[j];
    }
    if (special && open)
        settle_specials(tile, row, block, sums);
    for (size_t j = 0; j < count; j++) {
        const float sum = sums[column + j];
        if (!special && !(slow >> j & 1))
            continue;
        if (sum != sum)
            after[j] = ulp_unit_float(0x7FFFFFFF); /* the canonical NaN */
        else if (isinf(sum))
            after[j] = sum;
        else if (slow >> j & 1)
            after[j] = ulp_unit_settle_by_oracle(tile, row, block, column + j, before[j]);
    }
    bool numbers = false;
    for (size_t j = 0; j < count; j++)
        numbers |= after[j] == after[j];
    return !numbers;
}

