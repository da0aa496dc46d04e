#include "formula/enclose/enclose.h"
#include "number/function/math.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct walk {
    const struct ulp_tape *tape;
    const struct ulp_interval_rule *rule;
    size_t n;
    const struct ulp_intervals *values;
    const int *same;
    double *largest, *l1, *l2;
};

static const struct ulp_instruction *at(const struct walk *w, int i)
{
    return &w->tape->instructions[i];
}
static bool is_primitive(const struct walk *w, int i, enum ulp_primitive primitive)
{
    return at(w, i)->kind == ULP_TAPE_PRIMITIVE && at(w, i)->primitive == primitive;
}
static bool is_reduction(const struct walk *w, int i, enum ulp_reduction kind)
{
    return at(w, i)->kind == ULP_TAPE_REDUCTION && at(w, i)->reduction == kind;
}

static bool is_anything(const struct walk *w, int i, size_t p)
{
    return w->values[i].may[p] & ULP_MAY_BE_ANYTHING;
}

static void spread(const struct walk *w, int i)
{
    for (size_t p = 1; p < w->n; p++)
        ulp_interval_copy(&w->values[i], p, &w->values[i], 0);
}

/* ---- shapes ---- */

/* x - row_max(x): the instruction x, or -1. */
static int below_its_largest(const struct walk *w, int i)
{
    if (!is_primitive(w, i, ULP_PRIMITIVE_SUB) ||
        !is_reduction(w, at(w, i)->arguments[1], ULP_REDUCTION_MAX))
        return -1;
    const int x = at(w, i)->arguments[0];
    return at(w, at(w, i)->arguments[1])->arguments[0] == x ? x : -1;
}

/* row_sum(exp(x - row_max(x))) */
static bool is_sum_of_softmax(const struct walk *w, int i)
{
    const int e = is_reduction(w, i, ULP_REDUCTION_SUM) ? at(w, i)->arguments[0] : -1;
    return e >= 0 && is_primitive(w, e, ULP_PRIMITIVE_EXP) &&
           below_its_largest(w, at(w, e)->arguments[0]) >= 0;
}

/* e / row_sum(e) */
static bool is_share(const struct walk *w, int i)
{
    if (!is_primitive(w, i, ULP_PRIMITIVE_DIV))
        return false;
    const int e = at(w, i)->arguments[0], s = at(w, i)->arguments[1];
    if (!is_reduction(w, s, ULP_REDUCTION_SUM) || at(w, s)->arguments[0] != e)
        return false;
    for (size_t p = 0; p < w->n; p++)
        if (w->values[e].may[p] || !(w->values[e].lo[p] >= 0))
            return false;
    return !w->values[s].may[0] && w->values[s].lo[0] > 0;
}

/* row_mean(d * d): the instruction d, or -1. */
static int mean_square_of(const struct walk *w, int i)
{
    if (!is_primitive(w, i, ULP_PRIMITIVE_DIV) ||
        at(w, at(w, i)->arguments[1])->kind != ULP_TAPE_ROW_SIZE ||
        !is_reduction(w, at(w, i)->arguments[0], ULP_REDUCTION_SUM))
        return -1;
    const int q = at(w, at(w, i)->arguments[0])->arguments[0];
    return is_primitive(w, q, ULP_PRIMITIVE_MUL) && at(w, q)->arguments[0] == at(w, q)->arguments[1]
               ? at(w, q)->arguments[0]
               : -1;
}

/* d or k * d over sqrt(row_mean(d * d) + epsilon): epsilon is so large that squares too small for
 * the format do not matter; *k: -1, or the instruction k. */
static bool is_normalised(const struct walk *w, int i, int *k)
{
    if (!is_primitive(w, i, ULP_PRIMITIVE_DIV) ||
        !is_primitive(w, at(w, i)->arguments[1], ULP_PRIMITIVE_SQRT))
        return false;
    const int above = at(w, i)->arguments[0], sum = at(w, at(w, i)->arguments[1])->arguments[0];
    if (!is_primitive(w, sum, ULP_PRIMITIVE_ADD))
        return false;
    for (int side = 0; side < 2; side++) {
        const int d = mean_square_of(w, at(w, sum)->arguments[side]),
                  e = at(w, sum)->arguments[!side];
        if (d < 0 || w->values[e].may[0] || !(w->values[e].lo[0] >= w->rule->tiny * 0x1p30))
            continue;
        const struct ulp_instruction *product = at(w, above);
        const bool scaled = is_primitive(w, above, ULP_PRIMITIVE_MUL) &&
                            (product->arguments[0] == d || product->arguments[1] == d);
        *k = scaled ? product->arguments[product->arguments[0] == d] : -1;
        if (above == d || scaled)
            return true;
    }
    return false;
}

/* ---- instructions ---- */

/* A row's sum, of magnitudes that add up to `size`: partial sums in any order are at most that and
 * the error, and what is flushed to 0 is below `tiny` each time. */
static void round_sum(const struct walk *w, int i, const struct ulp_intervals *sum, double size)
{
    const double n = (double)w->n,
                 error = size == 0 ? 0
                                   : size * 1.01 *
                                             ulp_interval_sum_error(w->rule->rounding, n,
                                                                    w->rule->sum_unit + 0x1p-50) +
                                         n * w->rule->tiny;
    const bool positive = sum->lo[0] >= 0;
    w->largest[i] = ulp_math_max(w->largest[i], size + error);
    ulp_interval_set_step(w->rule, sum, 0, sum->lo[0] - error, sum->hi[0] + error, sum->may[0],
                          w->rule->sum_unit, &w->largest[i]);
    if (positive && !(sum->may[0] & ULP_MAY_BE_ANYTHING))
        sum->lo[0] = ulp_math_max(sum->lo[0], 0);
    if (size + error > w->rule->largest)
        ulp_interval_set(sum, 0, INFINITY, -INFINITY, ULP_MAY_BE_ANYTHING);
}

/* A row's product: a partial one in any order is at most `grown`, the product of what is above 1,
 * by which what underflows grows. */
static void round_product(const struct walk *w, int i, const struct ulp_intervals *product,
                          double grown)
{
    const double lost = (double)w->n * w->rule->tiny * grown;
    w->largest[i] = ulp_math_max(w->largest[i], grown);
    if (!(grown <= w->rule->largest))
        ulp_interval_set(product, 0, INFINITY, -INFINITY, ULP_MAY_BE_ANYTHING);
    else
        ulp_interval_set_step(w->rule, product, 0, product->lo[0] - lost, product->hi[0] + lost,
                              product->may[0], w->rule->sum_unit, &w->largest[i]);
}

static void enclose_reduction(const struct walk *w, int i)
{
    const struct ulp_instruction *in = at(w, i);
    const struct ulp_intervals *x = &w->values[in->arguments[0]], *out = &w->values[i];
    static const double empty[] = {[ULP_REDUCTION_SUM] = 0,
                                   [ULP_REDUCTION_PRODUCT] = 1,
                                   [ULP_REDUCTION_MAX] = -INFINITY,
                                   [ULP_REDUCTION_MIN] = INFINITY};
    const bool is_sum = in->reduction == ULP_REDUCTION_SUM,
               is_product = in->reduction == ULP_REDUCTION_PRODUCT;
    double lo[2], hi[2], ignored = 0, size = 0, grown = 1;
    uint8_t may[2];
    struct ulp_interval_rule exact = *w->rule;
    struct ulp_intervals one = {lo, hi, may};
    struct ulp_intervals next = {lo + 1, hi + 1, may + 1};
    exact.unit = is_product ? w->rule->sum_unit : 0;
    if (w->n == 0)
        ulp_interval_set_point(&one, 0, empty[in->reduction]);
    for (size_t p = 0; p < w->n; p++) {
        struct ulp_intervals x_p = {x->lo + p, x->hi + p, x->may + p};
        if (p == 0)
            ulp_interval_copy(&one, 0, x, 0);
        else
            ulp_interval_compute(&exact, ulp_reduction_rows[in->reduction].combine, 1, &next, &one,
                                 &x_p, NULL, is_sum ? &ignored : &w->largest[i]);
        if (p > 0)
            ulp_interval_copy(&one, 0, &next, 0);
        const double magnitude = ulp_interval_magnitude(x, p);
        size += magnitude;
        grown *= ulp_math_max(magnitude, 1) * (1 + w->rule->sum_unit + 0x1p-50);
    }
    if (is_sum && !(may[0] & ULP_MAY_BE_ANYTHING) && lo[0] <= hi[0])
        round_sum(w, i, &one, size);
    if (is_product && w->n > 1 && !(may[0] & ULP_MAY_BE_ANYTHING) && lo[0] <= hi[0])
        round_product(w, i, &one, grown);
    /* the largest term is exp(0); CUDA's may be some units below 1 */
    if (is_sum_of_softmax(w, i) && !(may[0] & ULP_MAY_BE_ANYTHING) && w->n)
        lo[0] = ulp_math_max(lo[0], 1 - 16 * w->rule->functions);
    if (w->n)
        ulp_interval_copy(out, 0, &one, 0);
    spread(w, i);
}

static void enclose_scan(const struct walk *w, int i)
{
    const struct ulp_instruction *in = at(w, i);
    const struct ulp_intervals *x = &w->values[in->arguments[0]], *out = &w->values[i];
    struct ulp_interval_rule rule = *w->rule;
    rule.unit = w->rule->sum_unit;
    for (size_t p = 0; p < w->n; p++) {
        struct ulp_intervals o = {out->lo + p, out->hi + p, out->may + p},
                             b = {x->lo + p, x->hi + p, x->may + p};
        if (p == 0) {
            ulp_interval_copy(out, 0, x, 0);
            continue;
        }
        const struct ulp_intervals a = {out->lo + p - 1, out->hi + p - 1, out->may + p - 1};
        ulp_interval_compute(&rule, ulp_reduction_rows[in->reduction].combine, 1, &o, &a, &b, NULL,
                             &w->largest[i]);
    }
}

static void enclose_constant(const struct walk *w, int i, double value)
{
    /* integers of no more bits than the format has are exact */
    const bool rounded = value != floor(value) ||
                         fabs(value) > ulp_math_min(256, 2 / w->rule->unit) ||
                         fabs(value) > w->rule->largest;
    if (w->n == 0)
        return;
    if (isinf(value))
        value = copysign(w->rule->infinity, value);
    ulp_interval_set_point(&w->values[i], 0, value);
    if (isfinite(value) && rounded)
        ulp_interval_set_step(w->rule, &w->values[i], 0, value, value, 0, w->rule->unit,
                              &w->largest[i]);
    spread(w, i);
}

static void square(const struct walk *w, int i)
{
    const struct ulp_intervals *x = &w->values[at(w, i)->arguments[0]], *y = &w->values[i];
    for (size_t p = 0; p < w->n; p++)
        if (!(y->may[p] & ULP_MAY_BE_ANYTHING) && !x->may[p] && x->lo[p] <= 0 && x->hi[p] >= 0)
            y->lo[p] = 0;
        else if (!(y->may[p] & ULP_MAY_BE_ANYTHING))
            y->lo[p] = ulp_math_max(y->lo[p], 0);
}

/* No better than it was: the intersection with [least, most]. */
static void meet(const struct walk *w, int i, size_t p, double least, double most)
{
    const struct ulp_intervals *y = &w->values[i];
    if (is_anything(w, i, p)) {
        ulp_interval_set(y, p, least, most, 0);
        w->largest[i] = isfinite(w->largest[i]) ? w->largest[i] : 0;
        w->largest[i] = ulp_math_max(w->largest[i], ulp_math_max(fabs(least), fabs(most)));
    } else if (y->lo[p] <= y->hi[p]) {
        y->lo[p] = ulp_math_min(ulp_math_max(y->lo[p], least), most);
        y->hi[p] = ulp_math_max(ulp_math_min(y->hi[p], most), least);
    }
}

static void use_shapes(const struct walk *w, int i)
{
    const struct ulp_instruction *in = at(w, i);
    const double n = (double)w->n, slack = 1 + (n + 24) * (w->rule->sum_unit + w->rule->unit) * 2;
    int k;
    if (in->primitive == ULP_PRIMITIVE_MUL &&
        w->same[in->arguments[0]] == w->same[in->arguments[1]])
        square(w, i);
    if (below_its_largest(w, i) >= 0)
        for (size_t p = 0; p < w->n; p++)
            if (!is_anything(w, i, p) && w->values[i].lo[p] <= w->values[i].hi[p])
                meet(w, i, p, ulp_math_min(w->values[i].lo[p], 0), 0);
    if (is_share(w, i)) {
        for (size_t p = 0; p < w->n; p++)
            meet(w, i, p, 0, 1 + 4 * w->rule->unit);
        w->l1[i] = w->l2[i] = slack;
    }
    if (is_normalised(w, i, &k)) {
        const int d = in->arguments[0];
        double most = 0;
        /* whatever d is when it is finite (no infinity of the model's, either): a square that
         * becomes infinite makes the quotient 0 */
        for (size_t p = 0; p < w->n; p++) {
            const double scale = k < 0 ? 1 : ulp_interval_magnitude(&w->values[k], p);
            if (w->values[d].may[p] || !isfinite(scale) ||
                (!w->rule->infinite && is_anything(w, in->arguments[1], p)))
                return;
            most = ulp_math_max(most, scale);
        }
        for (size_t p = 0; p < w->n; p++) {
            const double scale = k < 0 ? 1 : ulp_interval_magnitude(&w->values[k], p);
            meet(w, i, p, -scale * sqrt(n) * slack, scale * sqrt(n) * slack);
        }
        w->l2[i] = ulp_math_min(w->l2[i], most * sqrt(n) * slack);
    }
}

/* ---- norms ---- */

/* Largest and smallest magnitude in the row. */
static double most_of(const struct walk *w, int i)
{
    double most = 0;
    for (size_t p = 0; p < w->n; p++)
        most = ulp_math_max(most, w->values[i].may[p] ? INFINITY
                                                      : ulp_interval_magnitude(&w->values[i], p));
    return most;
}
static double least_of(const struct walk *w, int i)
{
    double least = INFINITY;
    for (size_t p = 0; p < w->n; p++) {
        const double lo = w->values[i].lo[p], hi = w->values[i].hi[p];
        least = ulp_math_min(least, is_anything(w, i, p) ? 0 : lo > 0 ? lo : hi < 0 ? -hi : 0);
    }
    return least;
}

/* By the triangle inequality and Hoelder's; NAN: no rule. */
static double norm_of(const struct walk *w, const struct ulp_instruction *in, const double *norm,
                      bool squares)
{
    const int *a = in->arguments;
    switch (in->primitive) {
    case ULP_PRIMITIVE_COPY:
    case ULP_PRIMITIVE_NEG:
    case ULP_PRIMITIVE_ABS:
    case ULP_PRIMITIVE_TANH: return norm[a[0]];
    case ULP_PRIMITIVE_ERF: return 1.1284 * norm[a[0]]; /* 2 / sqrt(pi) */
    case ULP_PRIMITIVE_ADD:
    case ULP_PRIMITIVE_SUB: return norm[a[0]] + norm[a[1]];
    case ULP_PRIMITIVE_MAX:
    case ULP_PRIMITIVE_MIN:
        return squares ? ulp_math_hypot(norm[a[0]], norm[a[1]]) : norm[a[0]] + norm[a[1]];
    case ULP_PRIMITIVE_SELECT:
        return squares ? ulp_math_hypot(norm[a[1]], norm[a[2]]) : norm[a[1]] + norm[a[2]];
    case ULP_PRIMITIVE_MUL:
        return ulp_math_min(norm[a[0]] * most_of(w, a[1]), norm[a[1]] * most_of(w, a[0]));
    case ULP_PRIMITIVE_DIV: return norm[a[0]] / least_of(w, a[1]);
    default: return NAN;
    }
}

/* What the intervals give; and of operands with a joint, and what is made of them, the rules. */
static void bound_norms(const struct walk *w, int i)
{
    const struct ulp_instruction *in = at(w, i);
    double sum = 0, squares = 0;
    for (size_t p = 0; p < w->n; p++) {
        const double x = w->values[i].may[p] ? INFINITY : ulp_interval_magnitude(&w->values[i], p);
        sum += x;
        squares += ulp_interval_square(x);
    }
    const double n = (double)w->n, slack = 1 + (n + 4) * 0x1p-50;
    w->l1[i] = ulp_math_min(w->l1[i], sum * slack);
    w->l2[i] = ulp_math_min(w->l2[i], sqrt(squares) * slack);
    if (in->kind != ULP_TAPE_PRIMITIVE)
        return;
    const double one = norm_of(w, in, w->l1, false), two = norm_of(w, in, w->l2, true),
                 error = 1 + 2 * w->rule->functions;
    if (one * error + n * w->rule->tiny < w->l1[i])
        w->l1[i] = one * error + n * w->rule->tiny;
    if (two * error + n * w->rule->tiny < w->l2[i])
        w->l2[i] = two * error + n * w->rule->tiny;
}

static double number_of(const char *text)
{
    return strcmp(text, "pi") == 0 ? 3.14159265358979323846 : strtod(text, NULL);
}

void ulp_tape_enclose(const struct ulp_tape *tape, const struct ulp_interval_rule *rule,
                      size_t row_length, const struct ulp_intervals *values, const int *same,
                      double *largest, double *l1, double *l2)
{
    const struct walk w = {tape, rule, row_length, values, same, largest, l1, l2};
    for (int i = 0; i < tape->instruction_count; i++) {
        const struct ulp_instruction *in = &tape->instructions[i];
        if (in->kind != ULP_TAPE_OPERAND)
            l1[i] = l2[i] = INFINITY;
        switch (in->kind) {
        case ULP_TAPE_OPERAND: break;
        case ULP_TAPE_CONSTANT:
            enclose_constant(&w, i, number_of(tape->constants[in->index]));
            break;
        case ULP_TAPE_ROW_SIZE: enclose_constant(&w, i, (double)row_length); break;
        case ULP_TAPE_REDUCTION: enclose_reduction(&w, i); break;
        case ULP_TAPE_SCAN: enclose_scan(&w, i); break;
        case ULP_TAPE_PRIMITIVE: {
            const int *a = in->arguments;
            ulp_interval_compute(rule, in->primitive, row_length, &values[i],
                                 a[0] < 0 ? NULL : &values[a[0]], a[1] < 0 ? NULL : &values[a[1]],
                                 a[2] < 0 ? NULL : &values[a[2]], &largest[i]);
            use_shapes(&w, i);
            break;
        }
        }
        bound_norms(&w, i);
    }
}
