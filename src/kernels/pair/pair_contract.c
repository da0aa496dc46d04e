/* Contractions of pairs: by the tile, and output by output as exact sums where that says nothing.
 */
#include "kernels/pair/pair_contract.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernels/exact/parts.h"
#include "kernels/pair/pair_tile.h"
#include "number/double_pair.h"
#include "tensor/tensor.h"

/* A factor with values that pairs do not hold, as pairs: what is below their least is 0, which a
 * sum of at least this much does not feel: 2^20 products of less than 2^-900 by at most 2^100. */
#define FELT_BELOW 0x1p-680
#define OTHER_MOST 0x1p100

struct narrowing {
    struct ulp_tensor *out;
    const struct ulp_tensor *in;
    _Atomic bool small, lost; /* some were too small; some too large */
};

ULP_WORK(narrow_elements)
{
    struct narrowing *narrowing = context;
    struct ulp_double_pair *out = narrowing->out->data;
    for (size_t i = first; i < last; i++) {
        mpfr_t x;
        bool exact;
        ulp_record_open_const(x,
                              ulp_record_at_const(narrowing->in->data, i, narrowing->in->precision),
                              narrowing->in->precision);
        if (ulp_pair_set(&out[i], x, &exact))
            continue;
        if (mpfr_get_exp(x) > 0)
            narrowing->lost = true;
        else
            narrowing->small = true;
        out[i] = (struct ulp_double_pair){0, 0};
    }
    return ULP_OK;
}

/* *exact: the factor's sums are exact ones; *small: those are that are below FELT_BELOW. */
static enum ulp_status narrow(struct ulp_tensor *out, struct ulp_factor *factor,
                              const struct ulp_tensor *other, bool *exact, bool *small,
                              struct ulp_pool *pool, struct ulp_error *error)
{
    struct narrowing narrowing = {out, factor->tensor, false, false};
    const struct ulp_tensor *in = factor->tensor;
    if (in->element != ULP_ELEMENT_WIDE)
        return ULP_OK;
    ULP_TRY(ulp_tensor_create_like(out, in, ULP_ELEMENT_PAIR, 0, ulp_pool_scratch(pool), error));
    ULP_TRY(ulp_parallel_for(pool, in->count, 256, narrow_elements, &narrowing, error));
    factor->tensor = out;
    for (size_t i = 0; i < other->count && narrowing.small && !narrowing.lost; i++)
        narrowing.lost = !(fabs(ulp_tensor_read(other, i)) <= OTHER_MOST);
    *exact = *exact || narrowing.lost;
    *small = *small || narrowing.small;
    return ULP_OK;
}

struct summing {
    struct ulp_wide_call call;
    const unsigned char *exceptions; /* NULL: all are */
};

ULP_WORK(sum_exceptions)
{
    const struct summing *summing = context;
    const struct ulp_contraction *problem = &summing->call.problem;
    struct ulp_wide_sum *sum = NULL;
    for (size_t i = first; i < last; i++) {
        const size_t row = i / problem->n;
        if (summing->exceptions && !summing->exceptions[i])
            continue;
        if (!sum)
            ULP_TRY(ulp_wide_sum_create(&sum, &summing->call, error));
        ulp_wide_sum_element(sum, &summing->call,
                             (struct ulp_wide_place){row / problem->m, row % problem->m,
                                                     i % problem->n});
    }
    ulp_wide_sum_free(sum);
    return ULP_OK;
}

/* Sums that are so small that products which were left out may show. */
static void except_small(const struct ulp_contraction *problem, unsigned char *exceptions,
                         size_t count)
{
    const struct ulp_double_pair *out = problem->out->data;
    for (size_t i = 0; i < count; i++) {
        const size_t row = i / problem->n;
        const struct ulp_wide_place place = {row / problem->m, row % problem->m, i % problem->n};
        if (!(fabs(out[ulp_wide_out(problem, place)].high) >= FELT_BELOW))
            exceptions[i] = 1;
    }
}

static enum ulp_status sum_exactly(const struct ulp_arithmetic *arithmetic,
                                   const struct ulp_contraction *problem, int precision,
                                   const unsigned char *exceptions, struct ulp_pool *pool,
                                   struct ulp_error *error)
{
    const size_t count = problem->batch_count * problem->m * problem->n;
    const struct summing summing = {.call = {.arithmetic = arithmetic,
                                             .problem = *problem,
                                             .pool = pool,
                                             .precision = precision,
                                             .nearest = true,
                                             .same_storage = true},
                                    .exceptions = exceptions};
    if (exceptions && !memchr(exceptions, 1, count))
        return ULP_OK;
    return ulp_parallel_for(pool, count, ulp_grain(100 * (double)(problem->k + 1)), sum_exceptions,
                            (void *)(uintptr_t)&summing, error);
}

/* ---- triples ---- */

struct splitting {
    double *out;
    const struct ulp_tensor *in;
};

/* NaN, so that sums are exact ones, where three doubles are not it. */
ULP_WORK(split_pairs)
{
    const struct splitting *splitting = context;
    const struct ulp_double_pair *in = splitting->in->data;
    for (size_t i = first; i < last; i++) {
        double *const out = splitting->out + 3 * i;
        const double size = fabs(in[i].high);
        out[0] = size == 0 || (size < 0x1p900 && size >= 0x1p-700) ? in[i].high : NAN;
        out[1] = in[i].low;
        out[2] = 0;
    }
    return ULP_OK;
}

/* The same of records. */
ULP_WORK(split_elements)
{
    const struct splitting *splitting = context;
    mp_limb_t limbs[(ULP_TRIPLE_RECORD_BITS + 63) / 64];
    for (size_t i = first; i < last; i++) {
        double *const out = splitting->out + 3 * i;
        mpfr_t x, rest;
        ulp_record_open_const(x,
                              ulp_record_at_const(splitting->in->data, i, splitting->in->precision),
                              splitting->in->precision);
        mpfr_custom_init_set(rest, MPFR_NAN_KIND, 0, ULP_TRIPLE_RECORD_BITS, limbs);
        memset(out, 0, 3 * sizeof *out);
        if (mpfr_zero_p(x))
            continue;
        if (!mpfr_regular_p(x) || mpfr_get_exp(x) > 900 || mpfr_get_exp(x) < -700) {
            out[0] = NAN;
            continue;
        }
        out[0] = mpfr_get_d(x, MPFR_RNDN);
        mpfr_sub_d(rest, x, out[0], MPFR_RNDN);
        out[1] = mpfr_get_d(rest, MPFR_RNDN);
        mpfr_sub_d(rest, rest, out[1], MPFR_RNDN);
        out[2] = mpfr_get_d(rest, MPFR_RNDN);
    }
    return ULP_OK;
}

static enum ulp_status split(struct ulp_tensor *out, void **memory, struct ulp_factor *factor,
                             struct ulp_pool *pool, struct ulp_error *error)
{
    const struct ulp_tensor *in = factor->tensor;
    const bool pairs = in->element == ULP_ELEMENT_PAIR;
    if (in->element != ULP_ELEMENT_WIDE && !pairs)
        return ULP_OK;
    ULP_TRY(ulp_allocate(memory, in->count, 3 * sizeof(double), ulp_pool_scratch(pool),
                         "a factor as triples", error));
    struct splitting splitting = {*memory, in};
    ULP_TRY(ulp_parallel_for(pool, in->count, 256, pairs ? split_pairs : split_elements, &splitting,
                             error));
    *out = *in;
    out->data = *memory;
    out->element_bytes = 3 * sizeof(double);
    factor->tensor = out;
    return ULP_OK;
}

static enum ulp_status contract_by_triples(const struct ulp_arithmetic *arithmetic,
                                           const struct ulp_contraction *problem,
                                           struct ulp_pool *pool, struct ulp_error *error)
{
    ULP_SCOPED(ulp_free_of) void *a_memory = NULL;
    ULP_SCOPED(ulp_free_of) void *b_memory = NULL;
    ULP_SCOPED(ulp_free_of) void *exceptions = NULL;
    struct ulp_tensor a, b;
    struct ulp_contraction split_up = *problem;
    const size_t count = problem->batch_count * problem->m * problem->n;
    ULP_TRY(split(&a, &a_memory, &split_up.a, pool, error));
    ULP_TRY(split(&b, &b_memory, &split_up.b, pool, error));
    ULP_TRY(ulp_allocate(&exceptions, count + 1, 1, ulp_pool_scratch(pool),
                         "which sums are exceptions", error));
    memset(exceptions, 0, count + 1);
    ULP_TRY(ulp_triple_tile(&split_up, exceptions, pool, error));
    return sum_exactly(arithmetic, problem, problem->out->precision, exceptions, pool, error);
}

enum ulp_status ulp_contract_by_pairs(const struct ulp_arithmetic *arithmetic,
                                      const struct ulp_contraction *problem, struct ulp_pool *pool,
                                      struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor a = {0};
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor b = {0};
    ULP_SCOPED(ulp_free_of) void *exceptions = NULL;
    struct ulp_contraction narrowed = *problem;
    const size_t count = problem->batch_count * problem->m * problem->n;
    bool exact = problem->out->element != ULP_ELEMENT_PAIR, small = false;
    if (!arithmetic->storage.pairs && problem->out->element == ULP_ELEMENT_WIDE)
        return contract_by_triples(arithmetic, problem, pool, error);
    ULP_TRY(narrow(&a, &narrowed.a, problem->b.tensor, &exact, &small, pool, error));
    ULP_TRY(narrow(&b, &narrowed.b, problem->a.tensor, &exact, &small, pool, error));
    if (!exact) {
        ULP_TRY(ulp_allocate(&exceptions, count + 1, 1, ulp_pool_scratch(pool),
                             "which sums are exceptions", error));
        memset(exceptions, 0, count + 1);
        ULP_TRY(ulp_pair_tile(&narrowed, exceptions, pool, error));
        if (small)
            except_small(&narrowed, exceptions, count);
    }
    return sum_exactly(arithmetic, problem, ULP_PAIR_RECORD_BITS, exceptions, pool, error);
}
