/* From sums of digits' products to outputs: the bound on what the positions left out are worth, and
 * the carries and the rounding at the end.
 *
 * Let n(s) be the number of pairs of digits i + j = s, D the positions kept, and K the number of
 * products.
 *
 * Integer digits. a', b' in (0, 1), digit i of weight 2^(-52 (i + 1)); a pair's product is split
 * into its upper half, at position i + j, and its lower, at position i + j + 1; position p has
 * weight 2^(-52 (p + 1)). In units of the last kept position, 2^(-52 D), each dropped half is in
 * [0, 1): n(D - 1) lower and n(D) upper ones, and all deeper ones together are less than 1. Adding
 * half of this range makes the error symmetric. A line whose bits go on beyond its D digits was cut
 * off by less than 2^(1 - 52 D) in f, that is by half a unit in a' b', as |f| < 1. Halving the sums
 * of digits drops less than half a unit each.
 *
 * Double digits. Position p has weight 2^(2 - bits_a - bits_b - weight[p]). All but the tails'
 * products are exact, and they are left out only where a tail holds them (scheme.h); the tails'
 * errors are bounded in scheme.c, where one line's are zero too. */
#include "kernels/digit/digits.h"

#include "base/error.h"

/* Limbs of a sum: its digits, and the top position's 64 bits. */
#define SUM_LIMBS (ULP_WIDE_POSITIONS_MAX * 52 / 64 + 4)

static int count_pairs(int a_digits, int b_digits, int position)
{
    int first = position - b_digits + 1 > 0 ? position - b_digits + 1 : 0;
    int last = position < a_digits - 1 ? position : a_digits - 1;
    return last >= first ? last - first + 1 : 0;
}

/* What all outputs of a tile share. */
struct ending {
    size_t limb_count;
    uint64_t error; /* in units of the last position */
    int64_t lsb;    /* the unit is 2^(lsb + exponents of both lines) */
    int64_t constant[ULP_WIDE_POSITIONS_MAX + 2]; /* added at each position + 1 */
};

static void end_integers(struct ending *ending, const struct ulp_wide_plan *plan, int last,
                         const struct ulp_wide_panel *a, const struct ulp_wide_panel *b)
{
    const uint64_t k = plan->k, cut = (uint64_t)!a->exact + (uint64_t)!b->exact;
    uint64_t dropped = 0;
    if (last != ulp_wide_full_positions(a, b) || cut) {
        dropped = (uint64_t)(count_pairs(a->digits, b->digits, last - 1) +
                             count_pairs(a->digits, b->digits, last) + 1);
        ending->error = (k * (dropped + cut) + 1) / 2 + 2;
    }
    ending->lsb = 2 - 52 * (int64_t)last;
    memset(ending->constant, 0, sizeof ending->constant);
    ending->constant[0] = (int64_t)(k >> 2);
    ending->constant[1] = (int64_t)(k & 3) << 50;
    ending->constant[last] += (int64_t)(k * dropped / 2);
}

static void end_doubles(struct ending *ending, const struct ulp_wide_plan *plan,
                        const struct ulp_wide_layout *layout)
{
    const struct ulp_wide_scheme *scheme = &plan->scheme;
    if (layout->tails)
        ending->error = ulp_wide_scheme_error(scheme, layout->tails, plan->k, plan->k_block) +
                        layout->ends / 2 + 1;
    ending->lsb = 2 - scheme->bits[0] - scheme->bits[1] - layout->weights[layout->positions - 1];
}

static void make_ending(struct ending *ending, const struct ulp_wide_plan *plan,
                        const struct ulp_wide_layout *layout, const struct ulp_wide_panel *a,
                        const struct ulp_wide_panel *b)
{
    size_t bits = 0;
    ending->error = 0;
    for (int p = 0; p < layout->positions; p++)
        bits += layout->gaps[p];
    ending->limb_count = bits / 64 + 2;
    if (plan->tile->integer)
        end_integers(ending, plan, layout->positions, a, b);
    else
        end_doubles(ending, plan, layout);
}

/* Rounds and stores one output, from its column of the row's limbs; false: it must be computed
 * exactly. */
static inline bool store_output(const struct ulp_wide_call *call, int64_t element,
                                const struct ending *ending, const uint64_t *row_limbs,
                                size_t columns, const struct ulp_wide_line *a,
                                const struct ulp_wide_line *b)
{
    if (a->irregular || b->irregular)
        return false;
    if (a->zero || b->zero) {
        ulp_wide_store_special(call, element, MPFR_ZERO_KIND);
        return true;
    }
    mp_limb_t limbs[SUM_LIMBS];
    const size_t count = ending->limb_count;
    bool negative = row_limbs[(count - 1) * columns] >> 63;
    uint64_t flip = -(uint64_t)negative, carry = negative;
    for (size_t i = 0; i < count; i++)
        carry = __builtin_add_overflow(row_limbs[i * columns] ^ flip, carry, &limbs[i]);
    return ulp_wide_round(call, element, limbs, count, ending->lsb + a->exponent + b->exponent,
                          negative, ending->error);
}

/* Stores what tile->round decides of a row, and adds the columns to `stored`, a bit each. */
static uint32_t round_row(const struct ulp_wide_plan *plan, const struct ulp_wide_call *call,
                          const struct ending *ending, const uint64_t *limbs, size_t batch,
                          size_t row, const struct ulp_wide_line *a, const struct ulp_wide_panel *b,
                          const int64_t *exponents, uint32_t regular)
{
    const struct ulp_contraction *problem = &call->problem;
    const struct ulp_wide_place place = {batch, row, b->first};
    const int64_t first = ulp_wide_out(problem, place) - problem->out_column_offset[b->first];
    const struct ulp_wide_rounding rounding = {.limbs = limbs,
                                               .columns = b->width,
                                               .limb_count = ending->limb_count,
                                               .exponents = exponents,
                                               .offset = problem->out_column_offset + b->first,
                                               .lsb = ending->lsb + a->exponent,
                                               .error = ending->error,
                                               .kept = call->precision / 64,
                                               .row =
                                                   ulp_record_at(problem->out->data, (size_t)first,
                                                                 call->precision)};
    uint32_t stored = 0;
    if (a->irregular || a->zero)
        return 0;
    for (size_t column = 0; column < b->count; column += 8)
        stored |= (uint32_t)plan->tile->round(&rounding, column, regular >> column & 0xff)
                  << column;
    return stored;
}

/* Is the rounding one that tile->round does? */
static bool rounds_lanes(const struct ulp_wide_plan *plan, const struct ulp_wide_call *call,
                         const struct ending *ending)
{
    return plan->tile->round && call->as_records && call->precision % 64 == 0 &&
           call->precision <= 256 && ending->limb_count <= ULP_WIDE_ROUND_LIMBS_MAX;
}

enum ulp_status ulp_wide_tile_store(const int64_t *sums, const struct ulp_wide_plan *plan,
                                    const struct ulp_wide_call *call, size_t batch,
                                    const struct ulp_wide_layout *layout,
                                    const struct ulp_wide_panel *a, const struct ulp_wide_panel *b,
                                    struct ulp_wide_kulisch *kulisch, struct ulp_error *error)
{
    uint64_t limbs[SUM_LIMBS * ULP_WIDE_COLUMNS_MAX];
    int64_t constants[ULP_WIDE_POSITIONS_MAX + 2], exponents[ULP_WIDE_COLUMNS_MAX] = {0};
    struct ending ending;
    size_t exact_count = 0;
    uint32_t regular = 0; /* columns, a bit each */
    make_ending(&ending, plan, layout, a, b);
    const bool irregular = a->irregular || b->irregular,
               lanes = !irregular && rounds_lanes(plan, call, &ending);
    for (size_t column = 0; column < b->count; column++) {
        exponents[column] = b->lines[column].exponent;
        regular |= (uint32_t) !(b->lines[column].irregular || b->lines[column].zero) << column;
    }
    for (size_t row = 0; row < a->count; row++) {
        uint32_t stored = 0;
        if (plan->tile->integer)
            for (int p = 0; p <= layout->positions; p++)
                constants[p] = ending.constant[p] - a->half_sums[(size_t)p * a->width + row];
        if (!irregular)
            plan->tile->carry(limbs, sums + row * b->width, a->width * b->width,
                              plan->tile->integer ? constants : NULL, b->half_sums,
                              layout->positions, layout->gaps, b->width);
        if (lanes)
            stored = round_row(plan, call, &ending, limbs, batch, a->first + row, &a->lines[row], b,
                               exponents, regular);
        if (stored == ((uint64_t)1 << b->count) - 1)
            continue;
        for (size_t column = 0; column < b->count; column++) {
            struct ulp_wide_place place = {batch, a->first + row, b->first + column};
            if (stored >> column & 1)
                continue;
            if (store_output(call, ulp_wide_out(&call->problem, place), &ending, limbs + column,
                             b->width, &a->lines[row], &b->lines[column]))
                continue;
            if (plan->special &&
                ulp_wide_store_sorted(plan, call, ulp_wide_out(&call->problem, place), a, row, b,
                                      column))
                continue;
            exact_count++;
            ULP_TRY(ulp_wide_kulisch_element(kulisch, call, place, error));
        }
    }
    call->counts->exact += exact_count;
    call->counts->digits += a->count * b->count - exact_count;
    return ULP_OK;
}
