/* Wide contractions: checks, factors' rounding, and the split over threads. */
#include "kernels/reference.h"

#include "base/error.h"
#include "kernels/exact/parts.h"
#include "kernels/operand/pack.h"
#include "number/round/round.h"

/* Rows (batch, i), each with all its columns. */
ULP_WORK(sum_rows)
{
    const struct ulp_wide_call *call = context;
    struct ulp_wide_sum *sum;
    ULP_TRY(ulp_wide_sum_create(&sum, call, error));
    for (size_t row = first; row < last; row++)
        for (size_t j = 0; j < call->problem.n; j++)
            ulp_wide_sum_element(sum, call,
                                 (struct ulp_wide_place){row / call->problem.m,
                                                         row % call->problem.m, j});
    ulp_wide_sum_free(sum);
    return ULP_OK;
}

static enum ulp_status check_contraction(const struct ulp_arithmetic *arithmetic,
                                         const struct ulp_contraction *problem,
                                         struct ulp_error *error)
{
    int precision = arithmetic->accumulator.precision;
    if (arithmetic->accumulator.carrier != ULP_CARRIER_MPFR || precision < ULP_MPFR_PRECISION_MIN ||
        precision > ULP_MPFR_PRECISION_MAX)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "arithmetic %s: the accumulator of a wide contraction is mpfr:P",
                        arithmetic->name);
    if (!ulp_element_is_float(problem->a.tensor->element) ||
        !ulp_element_is_float(problem->b.tensor->element))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "arithmetic %s: factors of a wide contraction are floating-point",
                        arithmetic->name);
    if (problem->out->element != ULP_ELEMENT_WIDE &&
        !(problem->store && ulp_element_is_float(problem->out->element)))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "arithmetic %s: accumulators need an output of wide elements",
                        arithmetic->name);
    size_t rows, outputs;
    if (!ulp_size_mul(problem->batch_count, problem->m, &rows) ||
        !ulp_size_mul(rows, problem->n, &outputs))
        return ulp_fail(error, ULP_ERROR_MEMORY,
                        "a contraction of %zu x %zu x %zu outputs is too large",
                        problem->batch_count, problem->m, problem->n);
    return ULP_OK;
}

/* A factor rounded to the factor format, element by element, as a tensor of records. */
struct rounding {
    const struct ulp_pack *pack;
    struct ulp_tensor *out;
};

ULP_WORK(round_elements)
{
    const struct rounding *rounding = context;
    const struct ulp_pack *pack = rounding->pack;
    int precision = rounding->out->precision;
    for (size_t i = first; i < last; i++) {
        struct ulp_wide_view x;
        mpfr_t rounded;
        struct ulp_record *record = ulp_record_at(rounding->out->data, i, precision);
        ulp_wide_view_element(&x, pack->factor->tensor, (int64_t)i);
        ulp_record_begin(rounded, record, precision);
        ulp_round_mpfr(&pack->format, pack->rounding, rounded, x.value, pack->seed, pack->stream,
                       i);
        ulp_record_close(record, rounded);
    }
    return ULP_OK;
}

static enum ulp_status round_factor(struct ulp_tensor *out, struct ulp_factor *factor,
                                    const struct ulp_pack *pack, struct ulp_pool *pool,
                                    struct ulp_error *error)
{
    const struct ulp_tensor *in = pack->factor->tensor;
    ULP_TRY(ulp_tensor_create_like(out, in, ULP_ELEMENT_WIDE, pack->format.precision,
                                   ulp_pool_scratch(pool), error));
    struct rounding rounding = {pack, out};
    factor->tensor = out;
    return ulp_parallel_for(pool, in->count, 256, round_elements, &rounding, error);
}

enum ulp_status ulp_contract_wide(const struct ulp_arithmetic *arithmetic,
                                  const struct ulp_contraction *problem, struct ulp_pool *pool,
                                  struct ulp_error *error)
{
    ULP_TRY(check_contraction(arithmetic, problem, error));
    struct ulp_wide_call call = {
        .arithmetic = arithmetic,
        .problem = *problem,
        .pool = pool,
        .precision = arithmetic->accumulator.precision,
        .nearest = arithmetic->rounding == ULP_ROUND_NEAREST_EVEN,
        .same_storage = arithmetic->storage.carrier == ULP_CARRIER_MPFR &&
                        arithmetic->storage.precision == arithmetic->accumulator.precision,
    };
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor a = {0}, b = {0};
    for (int side = 0; side < 2; side++) {
        struct ulp_pack pack = ulp_pack_make(arithmetic, problem, side);
        if (pack.round)
            ULP_TRY(round_factor(side ? &b : &a, side ? &call.problem.b : &call.problem.a, &pack,
                                 pool, error));
    }
    const size_t rows = problem->n ? problem->batch_count * problem->m : 0;
    return ulp_parallel_for(pool, rows, 1, sum_rows, &call, error);
}
