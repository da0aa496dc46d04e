/* Affine forms: sums of them, what intervals say beside them, their unknowns. */
#include "base/error.h"
#include "ops/trace/affine.h"
#include "number/function/math.h"
#include "number/round/round.h"

#include <string.h>

/* A rest of more than this part of the spread becomes an unknown of its own. */
#define REST_SHARE 0.125
/* A form whose radius is so many times the interval's is dropped; what max makes of an interval
 * around 0 has 1.5 times. */
#define WORTH 2

static const struct ulp_affine none = {.rest = INFINITY};

struct ulp_affine ulp_affine_of_interval(const struct ulp_intervals *x, size_t i)
{
    if (x->may[i] || !(x->lo[i] <= x->hi[i]))
        return none;
    const double centre = x->lo[i] / 2 + x->hi[i] / 2;
    return (struct ulp_affine){.centre = centre,
                               .rest = x->lo[i] == x->hi[i]
                                           ? 0
                                           : ulp_math_max(x->hi[i] - centre, centre - x->lo[i]) *
                                                 (1 + 0x1p-51)};
}

/* ---- sums ---- */

void ulp_affine_span(struct ulp_affine_sum *sum, const struct ulp_affine *x)
{
    if (!x->count)
        return;
    const uint32_t end = x->first + x->count;
    sum->first = sum->end == 0 || x->first < sum->first ? x->first : sum->first;
    sum->end = end > sum->end ? end : sum->end;
}

void ulp_affine_begin(struct ulp_affine_sum *sum, double *row)
{
    sum->row = row;
    sum->centre = sum->rest = sum->size = sum->steps = 0;
}

static void add_terms(struct ulp_affine_sum *sum, double weight, const struct ulp_affine *x)
{
    double *row = sum->row + (x->first - sum->first);
    const double *terms = x->terms;
    for (uint32_t s = 0; s < x->count && weight != 0; s++)
        row[s] += weight * terms[s];
}

void ulp_affine_add(struct ulp_affine_sum *sum, double weight, const struct ulp_affine *x)
{
    add_terms(sum, weight, x);
    sum->centre += weight * x->centre;
    sum->rest += fabs(weight) * x->rest;
    sum->size += fabs(weight) * ulp_affine_magnitude(x);
    sum->steps++;
}

void ulp_affine_add_product(struct ulp_affine_sum *sum, const struct ulp_affine *a,
                            const struct ulp_affine *b)
{
    add_terms(sum, b->centre, a);
    add_terms(sum, a->centre, b);
    sum->centre += a->centre * b->centre;
    sum->rest += fabs(b->centre) * a->rest + fabs(a->centre) * b->rest +
                 ulp_affine_radius(a) * ulp_affine_radius(b);
    sum->size += ulp_affine_magnitude(a) * ulp_affine_magnitude(b);
    sum->steps += 2;
}

struct ulp_affine ulp_affine_finish(const struct ulp_affine_sum *sum, double error)
{
    const uint32_t count = sum->end - sum->first;
    struct ulp_affine out = {.centre = sum->centre,
                             .first = sum->first,
                             .count = count,
                             .terms = sum->row};
    for (uint32_t s = 0; s < count; s++)
        out.spread += fabs(sum->row[s]);
    out.spread *= 1 + ((double)count + 4) * 0x1p-52;
    /* steps + 8 units of 2^-53 of the sums' magnitudes; rest itself is a sum of that many */
    out.rest = (sum->rest + error) * (1 + (sum->steps + 8) * 0x1p-52) +
               sum->size * (sum->steps + 8) * 0x1p-52 + 0x1p-1000;
    return ulp_affine_magnitude(&out) < 0x1p1000 ? out : none;
}

/* ---- numbers ---- */

struct ulp_affine ulp_affine_meet(const struct ulp_affine *form, const struct ulp_intervals *x,
                                  size_t i)
{
    if (!ulp_affine_is(form) || (x->may[i] && !(x->may[i] & ULP_MAY_BE_ANYTHING)))
        return none;
    const double radius = ulp_affine_radius(form), slack = 0x1p-51 * (fabs(form->centre) + radius),
                 low = form->centre - radius - slack, high = form->centre + radius + slack;
    if (x->may[i])
        ulp_interval_set(x, i, low, high, 0);
    else if (low <= x->hi[i] && high >= x->lo[i])
        ulp_interval_set(x, i, ulp_math_max(x->lo[i], low), ulp_math_min(x->hi[i], high), 0);
    return radius <= WORTH * (x->hi[i] / 2 - x->lo[i] / 2) ? *form : none;
}

void ulp_affine_store(struct ulp_affine *form, const struct ulp_format *format)
{
    const double tiny = ldexp(1, format->subnormals ? ulp_format_lowest_bit(format) : format->emin);
    if (ulp_affine_is(form))
        ulp_affine_loosen(form,
                          ldexp(1, 1 - format->precision) * ulp_affine_magnitude(form) + tiny);
}

enum ulp_status ulp_affine_allocate(size_t count, size_t terms, struct ulp_budget *budget,
                                    struct ulp_affine **forms, double **row,
                                    struct ulp_error *error)
{
    size_t bytes, more;
    if (!ulp_size_mul(count, sizeof **forms, &bytes) || !ulp_size_mul(terms, sizeof **row, &more) ||
        !ulp_size_add(bytes, more, &bytes))
        return ulp_trace_fail(error);
    ULP_TRY(ulp_allocate_zero(forms, bytes + 1, 1, budget, "affine forms of a tensor", error));
    *row = (double *)(*forms + count);
    for (size_t i = 0; i < count; i++)
        (*forms)[i] = none;
    return ULP_OK;
}

struct ulp_affine ulp_affine_copy(const struct ulp_affine *form, double **row)
{
    struct ulp_affine out = *form;
    if (form->count)
        memcpy(*row, form->terms, form->count * sizeof **row);
    out.terms = *row;
    *row += form->count;
    return out;
}

/* ---- unknowns ---- */

/* What an element's form shall be: as it is, with its rest as an unknown, or a new one. */
enum change { KEEP, GIVE_REST, NEW };

/* Unknowns are given as far as there is room: to what is not known together with others, and to
 * large rests; to the first alone; to none but new forms. */
enum giving { ALL_RESTS, NO_RESTS, NEW_FORMS, GIVING_COUNT };

static enum change change_of(const struct ulp_enclosure *x, size_t i, enum giving giving)
{
    const struct ulp_affine *form = x->affine ? &x->affine[i] : &none;
    if (x->at.may[i] || !(x->at.lo[i] < x->at.hi[i]))
        return KEEP;
    if (!ulp_affine_is(form) || giving == NEW_FORMS)
        return NEW;
    return giving == ALL_RESTS && form->rest > REST_SHARE * form->spread ? GIVE_REST : KEEP;
}

static size_t terms_after(const struct ulp_enclosure *x, size_t i, enum change change,
                          uint32_t symbol)
{
    const struct ulp_affine *form = x->affine ? &x->affine[i] : &none;
    if (change == NEW)
        return 1;
    if (!ulp_affine_is(form))
        return 0;
    return change == KEEP ? form->count : form->count ? symbol + 1 - form->first : 1;
}

static struct ulp_affine change_form(const struct ulp_enclosure *x, size_t i, enum change change,
                                     uint32_t symbol, double *terms)
{
    struct ulp_affine out = x->affine ? x->affine[i] : none;
    if (change == NEW)
        out = ulp_affine_of_interval(&x->at, i);
    else if (out.count)
        memcpy(terms, out.terms, out.count * sizeof *terms);
    out.terms = terms;
    if (change == KEEP)
        return out;
    if (!out.count)
        out.first = symbol;
    out.count = symbol + 1 - out.first;
    terms[out.count - 1] = out.rest;
    out.spread = (out.spread + out.rest) * (1 + 0x1p-51);
    out.rest = 0;
    return out;
}

/* How many terms that makes; *symbols: with how many unknowns. */
static size_t count_terms(const struct ulp_enclosure *x, enum giving giving, uint32_t *symbols)
{
    size_t terms = 0;
    for (size_t i = 0; i < x->count; i++) {
        const enum change change = change_of(x, i, giving);
        terms += terms_after(x, i, change, *symbols);
        *symbols += change != KEEP;
    }
    return terms;
}

enum ulp_status ulp_trace_give_symbols(struct ulp_trace *trace, struct ulp_enclosure *x,
                                       struct ulp_error *error)
{
    struct ulp_enclosing *e = trace->enclosing;
    enum giving giving = ALL_RESTS;
    uint32_t symbols;
    size_t terms = 0;
    struct ulp_affine *forms = NULL;
    double *row = NULL;
    for (; giving < GIVING_COUNT; giving++) {
        symbols = e->symbol_count;
        terms = count_terms(x, giving, &symbols);
        if (symbols <= e->symbols_max && terms <= ULP_AFFINE_TERMS_MAX)
            break;
    }
    if (giving == GIVING_COUNT)
        return ULP_OK;
    ULP_TRY(ulp_affine_allocate(x->count, terms, trace->budget, &forms, &row, error));
    symbols = e->symbol_count;
    for (size_t i = 0; i < x->count; i++) {
        const enum change change = change_of(x, i, giving);
        const size_t count = terms_after(x, i, change, symbols);
        forms[i] = change_form(x, i, change, symbols, row);
        symbols += change != KEEP;
        row += count;
    }
    ulp_free(x->affine_memory);
    x->affine = x->affine_memory = forms;
    e->symbol_count = symbols;
    return ULP_OK;
}
