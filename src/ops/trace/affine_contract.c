/* The affine forms of sums of products. */
#include "ops/trace/affine.h"

struct contraction {
    const struct ulp_contraction *p;
    const struct ulp_affine *a, *b;
    struct ulp_affine_sum *sums; /* [batch][m][n] */
    struct ulp_affine *out;
};

static size_t place_of(const struct ulp_factor *factor, size_t batch, size_t line, size_t k)
{
    return (size_t)((factor->batch_offset ? factor->batch_offset[batch] : 0) +
                    factor->line_offset[line] + factor->k_offset[k]);
}

/* The terms that a line's elements have, and how many these are; false: some element has no form.
 */
static bool span_line(const struct ulp_factor *factor, const struct ulp_affine *forms, size_t batch,
                      size_t line, size_t k, struct ulp_affine_sum *span, double *terms)
{
    *span = (struct ulp_affine_sum){0};
    for (size_t n = 0; n < k; n++) {
        const size_t place = place_of(factor, batch, line, n);
        if (ulp_factor_is_padding(factor, (int64_t)place))
            continue;
        if (!ulp_affine_is(&forms[place]))
            return false;
        ulp_affine_span(span, &forms[place]);
        *terms += forms[place].count;
    }
    return true;
}

/* Of each result the terms it will have: false: there are too many, or none at all. */
static bool span_results(struct ulp_trace *trace, struct contraction *c, size_t *terms)
{
    const struct ulp_contraction *p = c->p;
    struct ulp_affine_sum *lines[2];
    double products = 0;
    bool *known[2];
    const size_t counts[2] = {p->m, p->n};
    for (int side = 0; side < 2; side++)
        if (!ulp_enclosing_take(trace, counts[side], sizeof **lines, &lines[side]) ||
            !ulp_enclosing_take(trace, counts[side], 1, &known[side]))
            return false;
    *terms = 0;
    for (size_t g = 0; g < p->batch_count; g++) {
        double of_lines[2] = {0, 0};
        for (int side = 0; side < 2; side++)
            for (size_t i = 0; i < counts[side]; i++)
                known[side][i] = span_line(side ? &p->b : &p->a, side ? c->b : c->a, g, i, p->k,
                                           &lines[side][i], &of_lines[side]);
        products += of_lines[0] * (double)p->n + of_lines[1] * (double)p->m;
        for (size_t i = 0; i < p->m; i++)
            for (size_t j = 0; j < p->n; j++) {
                struct ulp_affine_sum *sum = &c->sums[(g * p->m + i) * p->n + j];
                *sum = lines[0][i];
                if (lines[1][j].end) {
                    const struct ulp_affine other = {.first = lines[1][j].first,
                                                     .count = lines[1][j].end - lines[1][j].first};
                    ulp_affine_span(sum, &other);
                }
                if (!known[0][i] || !known[1][j])
                    *sum = (struct ulp_affine_sum){0};
                *terms += sum->end - sum->first;
            }
        if (products > ULP_AFFINE_PRODUCTS_MAX || *terms > ULP_AFFINE_TERMS_MAX)
            return false;
    }
    return *terms > 0;
}

ULP_WORK(sum_lines)
{
    const struct contraction *c = context;
    const struct ulp_contraction *p = c->p;
    for (size_t line = first; line < last; line++)
        for (size_t j = 0; j < p->n; j++) {
            struct ulp_affine_sum *sum = &c->sums[line * p->n + j];
            c->out[line * p->n + j].rest = INFINITY;
            if (!sum->end)
                continue;
            for (size_t k = 0; k < p->k; k++) {
                const size_t a = place_of(&p->a, line / p->m, line % p->m, k),
                             b = place_of(&p->b, line / p->m, j, k);
                if (!ulp_factor_is_padding(&p->a, (int64_t)a) &&
                    !ulp_factor_is_padding(&p->b, (int64_t)b))
                    ulp_affine_add_product(sum, &c->a[a], &c->b[b]);
            }
            c->out[line * p->n + j] = ulp_affine_finish(sum, 0);
        }
    return ULP_OK;
}

struct ulp_affine *ulp_affine_contract(struct ulp_trace *trace, const struct ulp_contraction *p,
                                       const struct ulp_affine *a, const struct ulp_affine *b,
                                       struct ulp_pool *pool)
{
    struct contraction c = {.p = p, .a = a, .b = b};
    const size_t lines = p->batch_count * p->m, count = lines * p->n;
    size_t terms;
    double *rows;
    if (!ulp_enclosing_take(trace, count, sizeof *c.sums, &c.sums) ||
        !ulp_enclosing_take(trace, count, sizeof *c.out, &c.out) ||
        !span_results(trace, &c, &terms) || !ulp_enclosing_take(trace, terms, sizeof *rows, &rows))
        return NULL;
    for (size_t s = 0; s < count; s++) {
        ulp_affine_begin(&c.sums[s], rows);
        rows += c.sums[s].end - c.sums[s].first;
    }
    const double work = (double)terms * (double)p->k / (double)lines; /* of a line, at most */
    return ulp_parallel_for(pool, lines, ulp_grain(work), sum_lines, &c, NULL) == ULP_OK ? c.out
                                                                                         : NULL;
}
