/* Outputs whose products include infinities or NaN, decided 64 products at a time from bit sets
 * that say which kind each element of a line is. In a network that has overflowed, every later sum
 * has such products. */
#include "kernels/digit/digits.h"

#include "kernels/exact/number.h"

/* Sets of elements, a bit each, that are not padding. Infinities are among the positive and the
 * negative ones. */
enum { EXISTING, POSITIVE, NEGATIVE, INFINITE, NAN_ONES, SET_COUNT };

static size_t word_count(const struct ulp_wide_plan *plan)
{
    return (plan->k + 63) / 64;
}

size_t ulp_wide_panel_set_bytes(const struct ulp_wide_plan *plan)
{
    return plan->special ? word_count(plan) * SET_COUNT * ULP_WIDE_COLUMNS_MAX * sizeof(uint64_t)
                         : 0;
}

static void sort_line(uint64_t *sets, const struct ulp_factor *factor, int64_t line, size_t k,
                      size_t words)
{
    for (size_t word = 0; word < words; word++) {
        uint64_t found[SET_COUNT] = {0};
        for (size_t i = 64 * word; i < k && i < 64 * (word + 1); i++) {
            const int64_t element = line + factor->k_offset[i];
            const uint64_t bit = (uint64_t)1 << i % 64;
            struct ulp_wide_number x;
            if (ulp_factor_is_padding(factor, element))
                continue;
            ulp_wide_read(&x, factor->tensor, element);
            found[EXISTING] |= bit;
            if (x.kind == MPFR_NAN_KIND)
                found[NAN_ONES] |= bit;
            else if (x.kind != MPFR_ZERO_KIND)
                found[x.negative ? NEGATIVE : POSITIVE] |= bit;
            if (x.kind == MPFR_INF_KIND)
                found[INFINITE] |= bit;
        }
        for (size_t set = 0; set < SET_COUNT; set++)
            sets[set * words + word] = found[set];
    }
}

void ulp_wide_sort(struct ulp_wide_panel *panel, const struct ulp_wide_plan *plan,
                   const struct ulp_factor *factor, size_t batch)
{
    const size_t words = word_count(plan);
    for (size_t i = 0; i < panel->count; i++)
        sort_line(panel->sets + i * SET_COUNT * words, factor,
                  ulp_wide_line(factor, batch, panel->first + i), plan->k, words);
}

bool ulp_wide_store_sorted(const struct ulp_wide_plan *plan, const struct ulp_wide_call *call,
                           int64_t element, const struct ulp_wide_panel *a, size_t row,
                           const struct ulp_wide_panel *b, size_t column)
{
    const size_t words = word_count(plan);
    const uint64_t *x = a->sets + row * SET_COUNT * words,
                   *y = b->sets + column * SET_COUNT * words;
    uint64_t plus = 0, minus = 0, nan = 0;
    for (size_t i = 0; i < words && !(nan || (plus && minus)); i++) {
        uint64_t u[SET_COUNT], v[SET_COUNT];
        for (size_t set = 0; set < SET_COUNT; set++) {
            u[set] = x[set * words + i];
            v[set] = y[set * words + i];
        }
        const uint64_t u_some = u[POSITIVE] | u[NEGATIVE], v_some = v[POSITIVE] | v[NEGATIVE];
        const uint64_t infinite = (u[INFINITE] & v_some) | (v[INFINITE] & u_some);
        const uint64_t u_zero = u[EXISTING] & ~u_some & ~u[NAN_ONES],
                       v_zero = v[EXISTING] & ~v_some & ~v[NAN_ONES];
        nan |= (u[NAN_ONES] & v[EXISTING]) | (v[NAN_ONES] & u[EXISTING]);
        nan |= (u[INFINITE] & v_zero) | (v[INFINITE] & u_zero);
        plus |= infinite & ((u[POSITIVE] & v[POSITIVE]) | (u[NEGATIVE] & v[NEGATIVE]));
        minus |= infinite & ((u[POSITIVE] & v[NEGATIVE]) | (u[NEGATIVE] & v[POSITIVE]));
    }
    if (nan || (plus && minus))
        ulp_wide_store_special(call, element, MPFR_NAN_KIND);
    else if (plus || minus)
        ulp_wide_store_special(call, element, plus ? MPFR_INF_KIND : -MPFR_INF_KIND);
    return nan || plus || minus;
}
