/* Choosing digits' lengths: see digit/scheme.h. */
#include "kernels/digit/scheme.h"

#include <math.h>

#define BITS_MIN 12
#define BITS_MAX 30
/* Digits of different lengths have as many positions as pairs. */
#define UNEQUAL_PAIRS_MAX 48
#define DIGITS_MAX (ULP_WIDE_POSITIONS_MAX - 4)
/* What it costs to empty a tile's registers, in products. */
#define FLUSH_PRODUCTS 10

/* A unit is 2^(share - 53) of the largest product, whose tails are rounded, each by less than
 * 2^-53 (1 + 2^-7) of the largest (cut.h): of a product one factor, of s_D b both; and where there
 * is no fused multiply-add the product by 2^-53. With c = 2^-share (1 + 2^-6) that is c (2 tails +
 * 1) for each k.
 *
 * A call of the tile adds up to `chain` products to a sum, the n-th with an error of 2^-53 n
 * 2^(53 - share) (1 + 2^-9): in all k tails (chain + 1) / 2 of these, for 2^share >= 2 chain less
 * than k tails (1 / 4 + c). Its end rounds to a unit, by half of one. */
uint64_t ulp_wide_scheme_error(const struct ulp_wide_scheme *scheme, int tails, size_t k,
                               size_t k_block)
{
    const uint64_t products = (uint64_t)k * (uint64_t)tails;
    const uint64_t calls = k / k_block + 1, in_block = k_block / (size_t)scheme->chain + 1;
    const uint64_t ends = calls * in_block * (uint64_t)tails;
    return products / 4 + ends / 2 + ((5 * (products + k)) >> scheme->share) + 2;
}

static int divide_up(int x, int y)
{
    return (x + y - 1) / y;
}

static int ceil_log2(size_t x)
{
    return x <= 1 ? 0 : 64 - __builtin_clzll(x - 1);
}

/* The digits that hold a line of `width` bits and its sign. */
static int digits_of(int width, int bits)
{
    return divide_up(width + 1, bits);
}

/* The m_i; returns their sum. */
static int set_met(struct ulp_wide_scheme *scheme)
{
    const int deep = scheme->bits[scheme->deep], shallow = scheme->bits[!scheme->deep];
    const int digits = divide_up(scheme->reach, deep);
    int sum = 0;
    scheme->digits[scheme->deep] = digits;
    scheme->digits[!scheme->deep] = divide_up(scheme->reach, shallow);
    for (int i = 0; i < digits; i++) {
        scheme->met[i] = (uint8_t)divide_up(scheme->reach - deep * i, shallow);
        sum += scheme->met[i];
    }
    scheme->met[digits] = 0;
    return sum;
}

/* Tails of lines of the expected widths, when a line of the deep side has `digits`. */
static int expect_tails(const struct ulp_wide_scheme *scheme, const struct ulp_wide_need *need,
                        int digits)
{
    const int deep = scheme->bits[scheme->deep], shallow = scheme->bits[!scheme->deep],
              short_digits = digits_of(need->widths[!scheme->deep], shallow);
    int tails = 1;
    for (int i = 0; i < digits; i++)
        tails += short_digits > divide_up(need->bits - deep * i, shallow);
    return tails;
}

/* Sets all of a scheme from its bits, chain and deep; false: it does not serve. Exact sums are at
 * most k D 2^(bits_a + bits_b - 2), which must not pass 2^61, as the tails' k (D + 1) 2^(53 -
 * share). bits_a + bits_b <= 56 - share keeps the last weight from being less than those of the
 * digits, which are below reach. */
static bool complete(struct ulp_wide_scheme *scheme, const struct ulp_wide_need *need)
{
    const int deep = scheme->bits[scheme->deep], shallow = scheme->bits[!scheme->deep];
    int digits = divide_up(need->bits, deep);
    const int even = ceil_log2(2 * (size_t)scheme->chain),
              room = ceil_log2(need->k * (size_t)(digits + 2)) - 8;
    scheme->share = even > room ? even : room;
    if (deep + shallow > 56 - scheme->share)
        return false;
    const uint64_t error =
        ulp_wide_scheme_error(scheme, expect_tails(scheme, need, digits), need->k, need->k_block);
    scheme->reach = need->bits + ceil_log2(error) + scheme->share - 53;
    scheme->reach = scheme->reach < 1 ? 1 : scheme->reach;
    digits = divide_up(scheme->reach, deep);
    if (digits > DIGITS_MAX || divide_up(scheme->reach, shallow) > DIGITS_MAX ||
        ceil_log2(need->k * (size_t)digits) + deep + shallow - 2 > 61 ||
        ceil_log2(need->k * (size_t)(digits + 1)) + 53 - scheme->share > 61)
        return false;
    /* as far as the same products reach */
    const int products = set_met(scheme);
    do
        scheme->reach++;
    while (divide_up(scheme->reach, deep) == digits && set_met(scheme) == products);
    scheme->reach--;
    set_met(scheme);
    return true;
}

/* Positions of the sums of lines of the most digits, the last one included. */
static int count_positions(const struct ulp_wide_scheme *scheme)
{
    const int digits = scheme->digits[scheme->deep];
    int pairs = 0, most = 0;
    for (int i = 0; i < digits; i++) {
        pairs += scheme->met[i];
        most = i + scheme->met[i] > most ? i + scheme->met[i] : most;
    }
    if (scheme->bits[0] == scheme->bits[1])
        return most + 1;
    return pairs <= UNEQUAL_PAIRS_MAX ? pairs + 1 : ULP_WIDE_POSITIONS_MAX;
}

/* Emptying a tile's registers, in products of a sum, when that is done every `addends`. */
static double flush_cost(double addends, size_t k_block)
{
    return FLUSH_PRODUCTS / (addends < (double)k_block ? addends : (double)k_block);
}

/* In products, for lines of the expected widths. */
static double cost_of(const struct ulp_wide_scheme *scheme, const struct ulp_wide_need *need)
{
    const int deep = scheme->deep, d = digits_of(need->widths[deep], scheme->bits[deep]),
              s = digits_of(need->widths[!deep], scheme->bits[!deep]);
    const bool exact = d <= scheme->digits[deep];
    const bool equal = scheme->bits[0] == scheme->bits[1];
    const double addends = ldexp(1, 55 - scheme->bits[0] - scheme->bits[1]);
    /* products of one position follow each other */
    const double one = 1 + flush_cost(addends, equal ? SIZE_MAX : need->k_block),
                 tail = 1 + flush_cost(scheme->chain, need->k_block);
    double cost = exact ? 0 : tail;
    for (int i = 0; i < (exact ? d : scheme->digits[deep]); i++)
        cost += s <= scheme->met[i] ? s * one : scheme->met[i] * one + tail;
    return cost;
}

int ulp_wide_scheme_choose(struct ulp_wide_scheme *scheme, const struct ulp_wide_need *need)
{
    double least = HUGE_VAL;
    int positions = 0;
    for (int deep = 0; deep < 2; deep++)
        for (int bits = BITS_MIN; bits <= BITS_MAX; bits++)
            for (int chain = 32; chain <= 256; chain *= 2) {
                /* the other side's: as long as can be, the same, or what cuts its lines evenly */
                const int longest = 55 - ceil_log2((size_t)chain) - bits,
                          width = need->widths[!deep] + 1;
                const int lengths[] = {longest, bits, width, divide_up(width, 2)};
                for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
                    struct ulp_wide_scheme tried = {.deep = deep, .chain = chain};
                    tried.bits[deep] = bits;
                    tried.bits[!deep] = lengths[i] < BITS_MAX ? lengths[i] : BITS_MAX;
                    if (tried.bits[!deep] < BITS_MIN || !complete(&tried, need))
                        continue;
                    const int count = count_positions(&tried);
                    const double cost = cost_of(&tried, need);
                    if (count >= ULP_WIDE_POSITIONS_MAX - 2 || cost >= least)
                        continue;
                    least = cost;
                    positions = count;
                    *scheme = tried;
                }
            }
    return positions;
}
