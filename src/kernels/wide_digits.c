/* Cutting lines of a factor into digits: see wide_digits.h. */
#include "kernels/wide_digits.h"

#include "kernels/wide_number.h"

#define EXPONENT_MAX ((int64_t)1 << 60)
/* k's that are packed for all lines of a panel in turn, so that the cache lines written stay near. */
#define PACK_RUN 32

size_t ulp_wide_panel_data_bytes(const struct ulp_wide_plan *plan, size_t width)
{
    return (size_t)plan->positions * plan->k * width * sizeof(uint64_t);
}

size_t ulp_wide_panel_half_bytes(const struct ulp_wide_plan *plan)
{
    return (size_t)(plan->positions + 2) * ULP_WIDE_COLUMNS_MAX * sizeof(int64_t);
}

struct ulp_wide_line ulp_wide_scan(const struct ulp_factor *factor, size_t batch, size_t line, size_t k)
{
    int64_t base = ulp_wide_line(factor, batch, line);
    struct ulp_wide_line result = {.exponent = INT64_MIN, .lowest = INT64_MAX};
    for (size_t i = 0; i < k; i++) {
        struct ulp_wide_number x;
        ulp_wide_read(&x, factor->tensor, base + factor->k_offset[i]);
        if (x.kind == MPFR_REGULAR_KIND) {
            int64_t lowest = ulp_wide_lowest_bit(&x);
            result.exponent = x.exponent > result.exponent ? x.exponent : result.exponent;
            result.lowest = lowest < result.lowest ? lowest : result.lowest;
        } else if (x.kind != MPFR_ZERO_KIND) {
            result.irregular = true;
        }
    }
    result.zero = result.exponent == INT64_MIN;
    if (result.zero)
        result.exponent = result.lowest = 0;
    result.irregular |= result.exponent > EXPONENT_MAX || result.lowest < -EXPONENT_MAX;
    return result;
}

/* 64 bits of 0.L from bit `offset` after the point on; zeros outside. */
static inline uint64_t window(const struct ulp_wide_number *x, int64_t offset)
{
    int64_t word = offset >> 6, count = x->limb_count;
    unsigned bit = offset & 63;
    uint64_t high = (uint64_t)word < (uint64_t)count ? x->limbs[count - 1 - word] : 0;
    uint64_t low = (uint64_t)(word + 1) < (uint64_t)count ? x->limbs[count - 2 - word] : 0;
    return bit ? high << bit | low >> (64 - bit) : high;
}

/* Digits of (f + 1) / 2, f = x * 2^-exponent cut off toward zero; digit i to digits[i * stride]. */
static inline void cut_integer(uint64_t *digits, size_t stride, int count, const struct ulp_wide_number *x,
                               int64_t exponent)
{
    const uint64_t mask = ((uint64_t)1 << 52) - 1, half = (uint64_t)1 << 51;
    int64_t offset = 52 * (int64_t)(count - 1) - 1 - (exponent - x->exponent);
    if (x->negative) {
        uint64_t borrow = 0;
        for (int i = count - 1; i > 0; i--, offset -= 52) {
            uint64_t digit = -(window(x, offset) >> 12) - borrow;
            digits[(size_t)i * stride] = digit & mask;
            borrow = digit >> 63;
        }
        digits[0] = half - (window(x, offset) >> 12) - borrow;
    } else {
        for (int i = count - 1; i > 0; i--, offset -= 52)
            digits[(size_t)i * stride] = window(x, offset) >> 12;
        digits[0] = half + (window(x, offset) >> 12);
    }
}

/* Signed digits of f, cut off toward zero: f = sum of digit i * 2^(1 - bits * (i + 1)), |digit| <= 2^(bits - 1). */
static inline void cut_double(uint64_t *digits, size_t stride, int count, int bits, const struct ulp_wide_number *x,
                              int64_t exponent)
{
    int64_t offset = bits * (int64_t)(count - 1) - 1 - (exponent - x->exponent), carry = 0;
    const int64_t half = (int64_t)1 << (bits - 1);
    for (int i = count - 1; i >= 0; i--, offset -= bits) {
        int64_t digit = (int64_t)(window(x, offset) >> (64 - bits)) + carry;
        carry = i > 0 && digit >= half;
        digit -= carry << bits;
        double value = (double)(x->negative ? -digit : digit);
        memcpy(digits + (size_t)i * stride, &value, sizeof value);
    }
}

static void cut_zero(uint64_t *digits, size_t stride, int count, bool integer)
{
    for (int i = 0; i < count; i++)
        digits[(size_t)i * stride] = integer && i == 0 ? (uint64_t)1 << 51 : 0;
}

/* One line, k in [first, first + count) of a block of block_count, to out + digit * block_count * width + k * width. */
static void cut_line(uint64_t *out, const struct ulp_wide_plan *plan, const struct ulp_wide_panel *panel,
                     const struct ulp_factor *factor, int64_t base, const struct ulp_wide_line *line, size_t first,
                     size_t count, size_t block_count)
{
    size_t stride = block_count * panel->width;
    for (size_t k = first; k < first + count; k++, out += panel->width) {
        struct ulp_wide_number x;
        ulp_wide_read(&x, factor->tensor, base + factor->k_offset[k]);
        if (x.kind != MPFR_REGULAR_KIND || line->irregular)
            cut_zero(out, stride, panel->digits, plan->tile->integer);
        else if (plan->tile->integer)
            cut_integer(out, stride, panel->digits, &x, line->exponent);
        else
            cut_double(out, stride, panel->digits, plan->digit_bits, &x, line->exponent);
    }
}

/* sums[line][1 + digit] += the block's digits, carried into 52 bits each; sums[line][0] takes the rest. */
static void sum_digits(int64_t sums[][ULP_WIDE_POSITIONS_MAX + 2], const struct ulp_wide_panel *panel,
                       const uint64_t *block, size_t block_count)
{
    for (int digit = panel->digits - 1; digit >= 0; digit--) {
        uint64_t total[ULP_WIDE_COLUMNS_MAX] = {0};
        const uint64_t *row = block + (size_t)digit * block_count * panel->width;
        for (size_t k = 0; k < block_count; k++, row += panel->width)
            for (size_t line = 0; line < panel->width; line++)
                total[line] += row[line];
        for (size_t line = 0; line < panel->width; line++)
            sums[line][1 + digit] += (int64_t)total[line];
    }
    for (size_t line = 0; line < panel->width; line++)
        for (int i = panel->digits; i > 0; i--) {
            sums[line][i - 1] += sums[line][i] >> 52;
            sums[line][i] &= ((int64_t)1 << 52) - 1;
        }
}

/* Halves of the sums, into positions. What falls below the last kept position is dropped: less than one of its units. */
static void halve(struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan,
                  int64_t sums[][ULP_WIDE_POSITIONS_MAX + 2])
{
    for (int i = 0; i <= plan->positions + 1; i++)
        for (size_t line = 0; line < panel->width; line++) {
            int64_t own = i <= panel->digits ? sums[line][i] >> 1 : 0;
            int64_t above = i > 0 && i - 1 <= panel->digits ? (sums[line][i - 1] & 1) << 51 : 0;
            panel->half_sums[(size_t)i * panel->width + line] = own + above;
        }
}

/* How many digits hold every bit of the panel's lines, if that is no more than the plan keeps. */
static void choose_digits(struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan)
{
    int64_t bits = 1;
    for (size_t i = 0; i < panel->count; i++)
        if (!panel->lines[i].irregular && panel->lines[i].exponent - panel->lines[i].lowest > bits)
            bits = panel->lines[i].exponent - panel->lines[i].lowest;
    int64_t digits = (bits + 1 + plan->digit_bits - 1) / plan->digit_bits; /* one bit is the sign's */
    panel->exact = digits <= plan->positions;
    panel->digits = panel->exact ? (int)digits : plan->positions;
}

void ulp_wide_pack(struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan, const struct ulp_factor *factor,
                   size_t batch)
{
    int64_t sums[ULP_WIDE_COLUMNS_MAX][ULP_WIDE_POSITIONS_MAX + 2] = {{0}};
    for (size_t i = 0; i < panel->count; i++)
        panel->lines[i] = ulp_wide_scan(factor, batch, panel->first + i, plan->k);
    choose_digits(panel, plan);
    uint64_t *block = panel->data;
    for (size_t first = 0; first < plan->k; first += plan->k_block) {
        size_t block_count = plan->k - first < plan->k_block ? plan->k - first : plan->k_block;
        if (panel->count < panel->width)
            memset(block, 0, (size_t)panel->digits * block_count * panel->width * sizeof *block);
        for (size_t run = 0; run < block_count; run += PACK_RUN)
            for (size_t i = 0; i < panel->count; i++)
                cut_line(block + run * panel->width + i, plan, panel, factor, ulp_wide_line(factor, batch, panel->first + i),
                         &panel->lines[i], first + run, block_count - run < PACK_RUN ? block_count - run : PACK_RUN,
                         block_count);
        if (plan->tile->integer)
            sum_digits(sums, panel, block, block_count);
        block += (size_t)panel->digits * block_count * panel->width;
    }
    if (plan->tile->integer)
        halve(panel, plan, sums);
}
