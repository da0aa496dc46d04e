/* A Softmax that the graph writes out: x - max(x) is never above 0, the sum of its exponentials
 * never below the largest of them, and what each has of the sum adds up to 1. Each node stores its
 * result, and every rounding is monotone: between 0 and 0 or 1 and 1 nothing is lost. */
#include <math.h>

#include "base/error.h"
#include "number/function/math.h"
#include "run/enclose/enclosed.h"
#include "run/idiom/idiom.h"
#include "run/idiom/idiom_read.h"

enum part { BELOW_MOST, SUM, SHARE, PARTS };

struct ulp_written_share {
    bool is[PARTS];
    struct ulp_idiom idiom; /* of the last part that matched */
};

static const char *const formulas[PARTS] = {[BELOW_MOST] = "x - max(x)",
                                            [SUM] = "sum(exp(x - max(x)))",
                                            [SHARE] = "e = exp(x - max(x)); e / sum(e)"};

/* A Cast may round one of two readers of a value, and not the other. */
static bool has_cast(const struct ulp_block *block, const struct ulp_idiom *idiom)
{
    for (size_t i = 0; i < idiom->step_count; i++)
        if (ulp_step_is(&block->steps[idiom->steps[i]], "Cast"))
            return true;
    return false;
}

enum ulp_status ulp_enclose_find_shares(struct ulp_enclosing_walk *w)
{
    struct ulp_idiom_formula *parsed = ulp_arena_take(w->arena, PARTS, sizeof *parsed);
    w->shares = ulp_arena_take(w->arena, w->block->step_count + 1, sizeof *w->shares);
    ULP_TRY(ulp_taken(parsed && w->shares, w->error));
    for (int part = 0; part < PARTS; part++)
        ULP_TRY(ulp_idiom_parse(formulas[part], &parsed[part], w->error));
    for (size_t s = 0; s < w->block->step_count; s++)
        for (int part = 0; part < PARTS && !w->block->steps[s].folded; part++) {
            struct ulp_idiom idiom = {.root = (int)s, .formula = formulas[part]};
            if (!ulp_idiom_match(w->block, (int)s, &parsed[part], &idiom) || !idiom.length ||
                idiom.axis < 0 || has_cast(w->block, &idiom))
                continue;
            w->shares[s].is[part] = true;
            w->shares[s].idiom = idiom;
            w->keep[idiom.holes[ULP_IDIOM_X]] = true;
        }
    return ULP_OK;
}

/* What is known, as far as it goes, never leaves [least, most]. */
static void meet(struct ulp_slot_bounds *value, double least, double most)
{
    const struct ulp_intervals *at = &value->range.at;
    for (size_t i = 0; i < value->range.count; i++)
        if (!at->may[i] && at->lo[i] <= at->hi[i]) {
            at->lo[i] = ulp_math_min(ulp_math_max(at->lo[i], least), most);
            at->hi[i] = ulp_math_max(ulp_math_min(at->hi[i], most), least);
        }
}

/* At least what the largest exponential is in a sum of them: exp(0) is 1, CUDA's some units less,
 * and is rounded as it is stored and in the sum. */
static double least_sum(const struct ulp_arithmetic *arithmetic)
{
    const double lost = 8 * (ldexp(1, 1 - arithmetic->compute.precision) +
                             ldexp(1, 1 - arithmetic->storage.precision) +
                             ldexp(1, 1 - arithmetic->rows.precision));
    return !arithmetic->cuda_functions ? 1 : ulp_math_max(1 - lost, 0);
}

/* The largest l1 norm of a row of e / s. With u an ulp of 1 of what is stored, v one of the sums
 * and eta the least positive number: s >= (sum e)(1 - n v)(1 - u), each quotient rounds once and
 * gains eta at most where it is subnormal. INFINITY: the row is too long for its sums. */
static double norm_of_row(const struct ulp_arithmetic *arithmetic, double n)
{
    const struct ulp_format *format = &arithmetic->storage;
    const double u = ldexp(1, 1 - format->precision),
                 v = ldexp(1, 1 - arithmetic->rows.precision) +
                     ldexp(1, 1 - arithmetic->compute.precision),
                 eta = ldexp(1, format->emin - (format->subnormals ? format->precision - 1 : 0));
    return n * v < 0.5 && u < 0.5 ? (1 + u) / ((1 - n * v) * (1 - u)) + n * eta : INFINITY;
}

static enum ulp_status join_rows(struct ulp_enclosing_walk *w, struct ulp_slot_bounds *y,
                                 const struct ulp_idiom *idiom, double norm)
{
    struct ulp_enclosure joined;
    const size_t rows = y->range.count / idiom->length;
    ULP_TRY(ulp_enclosure_create(&joined, y->range.count, rows, w->from->budget, w->error));
    for (size_t r = 0; r < rows; r++)
        joined.joints[r] = (struct ulp_joint){norm, norm};
    for (size_t i = 0; i < y->range.count; i++) {
        ulp_interval_copy(&joined.at, i, &y->range.at, i);
        joined.joint[i] = (uint32_t)ulp_bounds_row(&y->shape, idiom->axes, i);
    }
    ulp_enclosure_free(&y->range);
    y->range = joined;
    return ULP_OK;
}

enum ulp_status ulp_enclose_shares(struct ulp_enclosing_walk *w, size_t s)
{
    const struct ulp_written_share *share = &w->shares[s];
    const struct ulp_step *step = &w->block->steps[s];
    if ((!share->is[BELOW_MOST] && !share->is[SUM] && !share->is[SHARE]) || step->outputs[0] < 0)
        return ULP_OK;
    struct ulp_slot_bounds *y = &w->values[step->outputs[0]];
    /* an infinite or missing largest element leaves NaN */
    if (!y->is_range || !ulp_slot_bounds_finite(&w->values[share->idiom.holes[ULP_IDIOM_X]]))
        return ULP_OK;
    if (share->is[BELOW_MOST])
        meet(y, -INFINITY, 0);
    if (share->is[SUM])
        meet(y, least_sum(w->arithmetic), INFINITY);
    if (!share->is[SHARE])
        return ULP_OK;
    const double norm = norm_of_row(w->arithmetic, (double)share->idiom.length);
    if (!ulp_slot_bounds_finite(y) || !isfinite(norm))
        return ULP_OK;
    meet(y, 0, norm);
    return join_rows(w, y, &share->idiom, norm);
}
