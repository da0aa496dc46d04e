/* The affine forms of a formula's values: those that follow from operands by sums, products,
 * larger and smaller ones. */
#include "ops/trace/affine.h"
#include "number/function/math.h"

static const struct ulp_instruction *at(const struct ulp_affine_tape *w, int i)
{
    return &w->tape->instructions[i];
}

/* ---- which instructions ---- */

static bool has_rule(const struct ulp_instruction *in)
{
    if (in->kind == ULP_TAPE_REDUCTION)
        return in->reduction == ULP_REDUCTION_SUM;
    if (in->kind != ULP_TAPE_PRIMITIVE)
        return false;
    switch (in->primitive) {
    case ULP_PRIMITIVE_COPY:
    case ULP_PRIMITIVE_NEG:
    case ULP_PRIMITIVE_ADD:
    case ULP_PRIMITIVE_SUB:
    case ULP_PRIMITIVE_MUL:
    case ULP_PRIMITIVE_DIV:
    case ULP_PRIMITIVE_FMA:
    case ULP_PRIMITIVE_MAX:
    case ULP_PRIMITIVE_MIN:
    case ULP_PRIMITIVE_SELECT: return true;
    default: return false;
    }
}

bool ulp_affine_tape_leads(const struct ulp_tape *tape, bool *wanted)
{
    bool leads = false;
    for (int i = 0; i < tape->instruction_count; i++)
        wanted[i] = false;
    for (int o = 0; o < tape->output_count; o++)
        if (tape->outputs[o] >= 0)
            wanted[tape->outputs[o]] = true;
    for (int i = tape->instruction_count - 1; i >= 0; i--) {
        const struct ulp_instruction *in = &tape->instructions[i];
        leads = leads || (wanted[i] && in->kind == ULP_TAPE_OPERAND);
        for (int a = 0; a < 3 && wanted[i] && has_rule(in); a++)
            if (in->arguments[a] >= 0)
                wanted[in->arguments[a]] = true;
    }
    return leads;
}

/* ---- instructions ---- */

/* The form of instruction i at position k, or its interval as one. */
static struct ulp_affine get(const struct ulp_affine_tape *w, int i, size_t k)
{
    const struct ulp_affine *form = at(w, i)->kind == ULP_TAPE_OPERAND
                                        ? w->operands[(size_t)i * w->stride + k]
                                        : &w->results[(size_t)i * w->stride + k];
    return ulp_affine_is(form) ? *form : ulp_affine_of_interval(&w->values[i], k);
}

static bool begin(struct ulp_affine_tape *w, struct ulp_affine_sum *sum)
{
    const size_t count = sum->end - sum->first;
    if (count > w->scratch_count - w->scratch_used)
        return false;
    double *row = w->scratch + w->scratch_used;
    for (size_t s = 0; s < count; s++)
        row[s] = 0;
    w->scratch_used += count;
    ulp_affine_begin(sum, row);
    return true;
}

/* weights[0] forms[0] + ... + offset, which lies off by `error` at most. */
static struct ulp_affine combine(struct ulp_affine_tape *w, int count, const double *weights,
                                 const struct ulp_affine *forms, double offset, double error)
{
    struct ulp_affine_sum sum = {0};
    for (int t = 0; t < count; t++)
        ulp_affine_span(&sum, &forms[t]);
    if (!begin(w, &sum))
        return (struct ulp_affine){.rest = INFINITY};
    for (int t = 0; t < count; t++)
        ulp_affine_add(&sum, weights[t], &forms[t]);
    sum.centre += offset;
    sum.size += fabs(offset);
    return ulp_affine_finish(&sum, error);
}

static struct ulp_affine multiply_forms(struct ulp_affine_tape *w, const struct ulp_affine *a,
                                        const struct ulp_affine *b)
{
    struct ulp_affine_sum sum = {0};
    ulp_affine_span(&sum, a);
    ulp_affine_span(&sum, b);
    if (!begin(w, &sum))
        return (struct ulp_affine){.rest = INFINITY};
    ulp_affine_add_product(&sum, a, b);
    return ulp_affine_finish(&sum, 0);
}

/* 1 / b, of its interval. */
static struct ulp_affine invert(const struct ulp_affine_tape *w, int b, size_t k)
{
    const struct ulp_intervals *x = &w->values[b];
    if (x->may[k] || !(x->lo[k] <= x->hi[k]) || (x->lo[k] <= 0 && x->hi[k] >= 0))
        return (struct ulp_affine){.rest = INFINITY};
    double lo = 1 / x->hi[k], hi = 1 / x->lo[k];
    uint8_t may = 0;
    const struct ulp_intervals inverse = {&lo, &hi, &may};
    struct ulp_affine out = ulp_affine_of_interval(&inverse, 0);
    ulp_affine_loosen(&out, ulp_math_max(fabs(lo), fabs(hi)) * 0x1p-51);
    return out;
}

/* max(a, b) = b + max(d, 0) with d = a - b in [l, u], and for any q of [0, 1] 0 <= max(d, 0) - q d
 * <= max(-q l, (1 - q) u): least for q = u / (u - l). */
static struct ulp_affine largest(struct ulp_affine_tape *w, int x, int y, size_t k)
{
    const struct ulp_affine forms[2] = {get(w, x, k), get(w, y, k)};
    static const double difference[2] = {1, -1};
    if (!ulp_affine_is(&forms[0]) || !ulp_affine_is(&forms[1]))
        return (struct ulp_affine){.rest = INFINITY};
    const size_t used = w->scratch_used;
    const struct ulp_affine d = combine(w, 2, difference, forms, 0, 0);
    w->scratch_used = used;
    if (!ulp_affine_is(&d))
        return d;
    const struct ulp_intervals *a = &w->values[x], *b = &w->values[y];
    const double slack =
        0x1p-48 * (ulp_affine_magnitude(&forms[0]) + ulp_affine_magnitude(&forms[1])) + 0x1p-1000;
    double l = d.centre - ulp_affine_radius(&d), u = d.centre + ulp_affine_radius(&d);
    if (!a->may[k] && !b->may[k] && a->lo[k] <= a->hi[k] && b->lo[k] <= b->hi[k])
        l = ulp_math_max(l, a->lo[k] - b->hi[k]), u = ulp_math_min(u, a->hi[k] - b->lo[k]);
    l -= slack, u += slack;
    if (l >= 0 || u <= 0)
        return forms[l < 0];
    const double q = u / (u - l), most = ulp_math_max(-q * l, (1 - q) * u) * (1 + 0x1p-48),
                 weights[2] = {q, 1 - q};
    return combine(w, 2, weights, forms, most / 2, most / 2);
}

/* min(a, b) = a + b - max(a, b) */
static struct ulp_affine smallest(struct ulp_affine_tape *w, int x, int y, size_t k)
{
    static const double weights[3] = {1, 1, -1};
    const struct ulp_affine forms[3] = {get(w, x, k), get(w, y, k), largest(w, x, y, k)};
    return ulp_affine_is(&forms[2]) ? combine(w, 3, weights, forms, 0, 0) : forms[2];
}

/* Either of two: their middle, give or take half of their distance. */
static struct ulp_affine choose_form(struct ulp_affine_tape *w, const int *arguments, size_t k)
{
    const struct ulp_intervals *c = &w->values[arguments[0]];
    const struct ulp_affine forms[2] = {get(w, arguments[1], k), get(w, arguments[2], k)};
    static const double difference[2] = {1, -1}, middle[2] = {0.5, 0.5};
    if (!c->may[k] && (c->lo[k] > 0 || c->hi[k] < 0))
        return forms[0];
    if (!c->may[k] && c->lo[k] == 0 && c->hi[k] == 0)
        return forms[1];
    if (!ulp_affine_is(&forms[0]) || !ulp_affine_is(&forms[1]))
        return (struct ulp_affine){.rest = INFINITY};
    const struct ulp_affine d = combine(w, 2, difference, forms, 0, 0);
    return ulp_affine_is(&d)
               ? combine(w, 2, middle, forms, 0, ulp_affine_magnitude(&d) / 2 * (1 + 0x1p-50))
               : d;
}

static struct ulp_affine compute(struct ulp_affine_tape *w, int i, size_t k)
{
    const struct ulp_instruction *in = at(w, i);
    const int *a = in->arguments;
    static const double sum[2] = {1, 1}, difference[2] = {1, -1};
    struct ulp_affine forms[2] = {get(w, a[0], k)};
    if (in->primitive == ULP_PRIMITIVE_SELECT)
        return choose_form(w, a, k);
    if (!ulp_affine_is(&forms[0]))
        return forms[0];
    if (in->primitive == ULP_PRIMITIVE_DIV)
        forms[1] = invert(w, a[1], k);
    else if (a[1] >= 0)
        forms[1] = get(w, a[1], k);
    if (!ulp_affine_is(&forms[1]))
        return forms[1];
    switch (in->primitive) {
    case ULP_PRIMITIVE_COPY: return forms[0];
    case ULP_PRIMITIVE_NEG: return combine(w, 1, difference + 1, forms, 0, 0);
    case ULP_PRIMITIVE_ADD: return combine(w, 2, sum, forms, 0, 0);
    case ULP_PRIMITIVE_SUB: return combine(w, 2, difference, forms, 0, 0);
    case ULP_PRIMITIVE_MUL:
    case ULP_PRIMITIVE_DIV: return multiply_forms(w, &forms[0], &forms[1]);
    case ULP_PRIMITIVE_MAX: return largest(w, a[0], a[1], k);
    case ULP_PRIMITIVE_MIN: return smallest(w, a[0], a[1], k);
    case ULP_PRIMITIVE_FMA: {
        const struct ulp_affine both[2] = {multiply_forms(w, &forms[0], &forms[1]),
                                           get(w, a[2], k)};
        return ulp_affine_is(&both[0]) && ulp_affine_is(&both[1]) ? combine(w, 2, sum, both, 0, 0)
                                                                  : both[ulp_affine_is(&both[0])];
    }
    default: return (struct ulp_affine){.rest = INFINITY};
    }
}

/* A row's sum, in any order: each of n additions errs by a unit of the sum of magnitudes, so
 * partial sums are at most that and the errors. */
static struct ulp_affine add_row(struct ulp_affine_tape *w, int i, size_t k, size_t n)
{
    struct ulp_affine_sum sum = {0};
    const int x = at(w, i)->arguments[0];
    for (size_t p = k; p < k + n; p++) {
        const struct ulp_affine form = get(w, x, p);
        if (!ulp_affine_is(&form))
            return form;
        ulp_affine_span(&sum, &form);
    }
    if (!begin(w, &sum))
        return (struct ulp_affine){.rest = INFINITY};
    for (size_t p = k; p < k + n; p++) {
        const struct ulp_affine form = get(w, x, p);
        ulp_affine_add(&sum, 1, &form);
    }
    const double error =
        sum.size * 1.01 *
            ulp_interval_sum_error(w->rule->rounding, (double)n + 2, w->rule->sum_unit) +
        (double)n * w->rule->tiny;
    return sum.size + error <= w->rule->largest ? ulp_affine_finish(&sum, error)
                                                : (struct ulp_affine){.rest = INFINITY};
}

bool ulp_affine_tape_run(struct ulp_affine_tape *w, size_t k, size_t n)
{
    bool any = false;
    w->scratch_used = 0;
    for (int i = 0; i < w->tape->instruction_count; i++) {
        const struct ulp_instruction *in = at(w, i);
        struct ulp_affine *out = &w->results[(size_t)i * w->stride];
        for (size_t p = k; p < k + n; p++) {
            out[p] = (struct ulp_affine){.rest = INFINITY};
            if (!w->wanted[i] || !has_rule(in))
                continue;
            if (p > k && in->per_row) {
                out[p] = out[k];
                continue;
            }
            out[p] = in->kind == ULP_TAPE_REDUCTION ? add_row(w, i, k, n) : compute(w, i, p);
            const bool rounded = in->kind == ULP_TAPE_REDUCTION ||
                                 ulp_primitive_rows[in->primitive].result == ULP_RESULT_ROUNDED;
            if (rounded && ulp_affine_is(&out[p]))
                ulp_affine_loosen(&out[p],
                                  w->rule->unit * ulp_affine_magnitude(&out[p]) + w->rule->tiny);
            if (!(ulp_affine_is(&out[p]) && ulp_affine_magnitude(&out[p]) <= w->rule->largest))
                out[p].rest = INFINITY;
            any = any || ulp_affine_is(&out[p]);
        }
    }
    return any;
}
