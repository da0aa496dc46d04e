/* The partial sums of a contraction: |A||B| bounds them in any order; only where that leaves the
 * format they are formed one by one. */
#include <math.h>

#include "base/error.h"
#include "number/function/math.h"
#include "ops/operator.h"
#include "ops/probe.h"

/* *in, floats of any element, as magnitudes in FP64; the largest of them. */
static enum ulp_status take_magnitudes(const struct ulp_call *call, const struct ulp_tensor *in,
                                       struct ulp_tensor *out, double *largest)
{
    ULP_TRY(ulp_tensor_describe(out, ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, in->rank, in->dims,
                                call->error));
    ULP_TRY(ulp_tensor_allocate(out, call->budget, call->error));
    double *data = out->data;
    *largest = 0;
    for (size_t i = 0; i < in->count; i++) {
        data[i] = fabs(ulp_tensor_read(in, i));
        *largest = ulp_math_max(*largest, data[i]);
    }
    return ULP_OK;
}

struct place {
    size_t g, i, j;
};

static int64_t offset(const int64_t *table, size_t i)
{
    return table ? table[i] : 0;
}

static size_t out_place(const struct ulp_contraction *p, struct place at)
{
    return (size_t)(offset(p->out_batch_offset, at.g) + p->out_row_offset[at.i] +
                    p->out_column_offset[at.j]);
}

/* Element k of a line, 0 where it does not exist. */
static double element(const struct ulp_factor *factor, size_t g, size_t line, size_t k)
{
    const size_t at =
        (size_t)(offset(factor->batch_offset, g) + factor->line_offset[line] + factor->k_offset[k]);
    return ulp_factor_is_padding(factor, (int64_t)at) ? 0 : ulp_tensor_read(factor->tensor, at);
}

/* The sums of one element of the result, exact in FP64 but for its own rounding, in increasing
 * k. */
static void look_at_sums(struct ulp_hidden *hidden, const struct ulp_probe *probe,
                         const struct ulp_contraction *p, struct place at)
{
    double sum = 0;
    for (size_t k = 0; k < p->k; k++) {
        sum += element(&p->a, at.g, at.i, k) * element(&p->b, at.g, at.j, k);
        if (!isfinite(sum))
            return;
        if (fabs(sum) > probe->format.max_finite &&
            (hidden->first < 0 || (ptrdiff_t)k < hidden->first))
            hidden->first = (ptrdiff_t)k;
        if (fabs(sum) > hidden->largest) {
            hidden->largest = fabs(sum);
            hidden->index = out_place(p, at);
            hidden->k = (ptrdiff_t)k;
        }
    }
}

/* Of a product so many terms are looked at, of results that are evenly spread. */
#define ADDITIONS_MAX ((size_t)1 << 16)

/* Additions of one element of the result, in increasing k, that lose their smaller term. */
static void count_absorbed(struct ulp_hidden *hidden, const struct ulp_probe *probe,
                           const struct ulp_contraction *p, struct place at)
{
    double sum = 0;
    for (size_t k = 0; k < p->k && isfinite(sum); k++) {
        const double term = element(&p->a, at.g, at.i, k) * element(&p->b, at.g, at.j, k);
        if (sum != 0 && term != 0 && isfinite(term)) {
            hidden->additions++;
            hidden->absorbed += ulp_hidden_is_absorbed(&probe->format, sum, term);
        }
        sum += term;
    }
}

static void look_at_additions(struct ulp_hidden *hidden, const struct ulp_probe *probe,
                              const struct ulp_contraction *p)
{
    const size_t all = p->batch_count * p->m * p->n, most = ADDITIONS_MAX / p->k + 1,
                 count = all < most ? all : most;
    for (size_t e = 0; e < count; e++) {
        /* the middle of the e-th of `count` parts */
        const size_t at = (size_t)(((double)e + 0.5) / (double)count * (double)all);
        count_absorbed(hidden, probe, p,
                       (struct place){at / (p->m * p->n), at / p->n % p->m, at % p->n});
    }
}

static void look_at_bounds(struct ulp_hidden *hidden, const struct ulp_probe *probe,
                           const struct ulp_contraction *p, const struct ulp_tensor *bounds)
{
    const double *data = bounds->data;
    bool exceeds = false;
    for (size_t g = 0; g < p->batch_count; g++)
        for (size_t i = 0; i < p->m; i++)
            for (size_t j = 0; j < p->n; j++) {
                const struct place at = {g, i, j};
                const double bound = data[out_place(p, at)];
                if (isfinite(bound) && bound > hidden->bound) {
                    hidden->bound = bound;
                    hidden->index = exceeds ? hidden->index : out_place(p, at);
                }
                if (bound > probe->format.max_finite && isfinite(bound)) {
                    exceeds = true;
                    look_at_sums(hidden, probe, p, at);
                }
            }
    if (!exceeds)
        hidden->largest = hidden->bound;
}

/* |A||B| itself, rounded up by what its FP64 sums may lose: k roundings of 2^-53 each. */
static enum ulp_status find_bounds(const struct ulp_call *call, const struct ulp_contraction *p,
                                   const struct ulp_tensor *a, const struct ulp_tensor *b,
                                   struct ulp_tensor *bounds)
{
    struct ulp_contraction magnitudes = *p;
    ULP_TRY(ulp_tensor_describe(bounds, ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, p->out->rank,
                                p->out->dims, call->error));
    ULP_TRY(ulp_tensor_allocate(bounds, call->budget, call->error));
    magnitudes.a.tensor = a;
    magnitudes.b.tensor = b;
    magnitudes.out = bounds;
    magnitudes.store = false;
    ULP_TRY(ulp_contract(call->arithmetic, &magnitudes, call->pool, call->error));
    double *data = bounds->data;
    for (size_t i = 0; i < bounds->count; i++)
        data[i] *= 1 + (double)p->k * 0x1p-52;
    return ULP_OK;
}

enum ulp_status ulp_probe_contract(const struct ulp_call *call,
                                   const struct ulp_contraction *problem, struct ulp_error *error)
{
    const struct ulp_probe *probe = call->probe;
    struct ulp_hidden hidden = {
        .call = call, .words = "sum over k", .sum = true, .k = -1, .first = -1};
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor a = {0}, b = {0}, bounds = {0};
    double most_a = 0, most_b = 0;
    if (!ulp_element_is_float(problem->a.tensor->element) ||
        !ulp_element_is_float(problem->b.tensor->element) || !problem->batch_count || !problem->m ||
        !problem->n || !problem->k || problem->out->element != ULP_ELEMENT_F64)
        return ULP_OK;
    if (probe->factors) {
        const enum ulp_status looked = probe->factors(probe->context, probe->node, problem, error);
        if (looked != ULP_OK || !probe->tell)
            return looked;
    }
    hidden.count = problem->batch_count * problem->m * problem->n;
    look_at_additions(&hidden, probe, problem);
    ULP_TRY(take_magnitudes(call, problem->a.tensor, &a, &most_a));
    ULP_TRY(take_magnitudes(call, problem->b.tensor, &b, &most_b));
    if (most_a * most_b * (double)problem->k <= probe->format.max_finite / 8) {
        hidden.largest = hidden.bound = most_a * most_b * (double)problem->k; /* safe, and cheap */
    } else {
        ULP_TRY(find_bounds(call, problem, &a, &b, &bounds));
        look_at_bounds(&hidden, probe, problem, &bounds);
    }
    return probe->tell(probe->context, probe->node, &hidden, false, error);
}
