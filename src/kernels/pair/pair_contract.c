/* Contractions of pairs: by the tile, and output by output as exact sums where that says nothing.
 */
#include "kernels/pair/pair_contract.h"

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
    ULP_TRY(ulp_tensor_describe(out, in->type, ULP_ELEMENT_PAIR, 0, in->rank, in->dims, error));
    ULP_TRY(ulp_tensor_allocate(out, ulp_pool_scratch(pool), error));
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
    ULP_TRY(narrow(&a, &narrowed.a, problem->b.tensor, &exact, &small, pool, error));
    ULP_TRY(narrow(&b, &narrowed.b, problem->a.tensor, &exact, &small, pool, error));
    if (!exact) {
        ULP_TRY(ulp_allocate(&exceptions, count + 1, 1, ulp_pool_scratch(pool),
                             "which sums are exceptions", error));
        memset(exceptions, 0, count + 1);
        ULP_TRY(ulp_pair_tile(&narrowed, exceptions, pool, error));
        if (small)
            except_small(&narrowed, exceptions, count);
        if (!memchr(exceptions, 1, count))
            return ULP_OK;
    }
    const struct summing summing = {.call = {.arithmetic = arithmetic,
                                             .problem = *problem,
                                             .pool = pool,
                                             .precision = ULP_PAIR_RECORD_BITS,
                                             .nearest = true,
                                             .same_storage = true},
                                    .exceptions = exceptions};
    return ulp_parallel_for(pool, count, ulp_grain(100 * (double)(problem->k + 1)), sum_exceptions,
                            (void *)(uintptr_t)&summing, error);
}
