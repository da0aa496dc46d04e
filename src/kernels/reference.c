/* Wide contractions: checks, the choice of a method, and the split over threads. */
#include "kernels/digit/digit_form.h"

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/machine/cpu.h"
#include "kernels/operand/pack.h"
#include "number/round/round.h"

ULP_FREES(ulp_wide_kulisch_free, struct ulp_wide_kulisch)

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

ULP_WORK(sum_rows_exactly)
{
    const struct ulp_wide_call *call = context;
    ULP_SCOPED(ulp_wide_kulisch_free_of) struct ulp_wide_kulisch *kulisch = NULL;
    ULP_TRY(ulp_wide_kulisch_create(&kulisch, ulp_pool_scratch(call->pool), error));
    for (size_t row = first; row < last; row++)
        for (size_t j = 0; j < call->problem.n; j++)
            ULP_TRY(ulp_wide_kulisch_element(kulisch, call,
                                             (struct ulp_wide_place){row / call->problem.m,
                                                                     row % call->problem.m, j},
                                             error));
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
    ULP_TRY(ulp_tensor_describe(out, in->type, ULP_ELEMENT_WIDE, pack->format.precision, in->rank,
                                in->dims, error));
    ULP_TRY(ulp_tensor_allocate(out, ulp_pool_scratch(pool), error));
    struct rounding rounding = {pack, out};
    factor->tensor = out;
    return ulp_parallel_for(pool, in->count, 256, round_elements, &rounding, error);
}

/* Is exact summation of each output faster than the digits' overheads? In nanoseconds, measured on
 * a 3 GHz Xeon: 25 a product for the one; for the other 20,000 a call, 6 an element packed and 6
 * one looked at to plan, 25 an output more, and products nearly free. */
static bool is_small(const struct ulp_wide_call *call)
{
    const struct ulp_contraction *problem = &call->problem;
    const size_t lines = (call->kept[0] ? 0 : problem->m) + (call->kept[1] ? 0 : problem->n);
    double outputs = (double)problem->batch_count * (double)problem->m * (double)problem->n;
    double packed = (double)problem->batch_count * (double)lines * (double)problem->k;
    double looked_at = 2 * (double)problem->k * (double)ulp_wide_sample_count(problem);
    return 25 * outputs * (double)problem->k < 20000 + 6 * (packed + looked_at) + 25 * outputs;
}

/* a and b change places. */
static void swap_sides(struct ulp_wide_call *call)
{
    struct ulp_contraction *problem = &call->problem;
    bool kept = call->kept[0];
    call->kept[0] = call->kept[1];
    call->kept[1] = kept;
    struct ulp_factor a = problem->a;
    size_t m = problem->m;
    const int64_t *row = problem->out_row_offset;
    problem->a = problem->b;
    problem->b = a;
    problem->m = problem->n;
    problem->n = m;
    problem->out_row_offset = problem->out_column_offset;
    problem->out_column_offset = row;
}

/* *done: the call's columns were cut as they were met. */
static enum ulp_status run_vector(struct ulp_wide_call *call, const struct ulp_wide_tile *tile,
                                  bool *done, struct ulp_pool *pool, struct ulp_error *error)
{
    struct ulp_wide_plan plan;
    enum ulp_status status = ULP_OK;
    call->regular = ulp_wide_vector_serves(call, tile);
    if (call->regular && ulp_wide_plan_make(&plan, call, tile))
        status = ulp_wide_run_vector(&plan, call, done, pool, error);
    call->regular = false;
    return status;
}

static enum ulp_status run_tile(struct ulp_wide_call *call, const struct ulp_wide_tile *tile,
                                struct ulp_pool *pool, struct ulp_error *error)
{
    struct ulp_contraction *problem = &call->problem;
    /* Lines of b fill vectors; few of them would leave lanes empty. */
    if (problem->n < (size_t)(tile->lanes * tile->vectors_max) && problem->m > problem->n)
        swap_sides(call);
    struct ulp_wide_plan plan;
    bool done = false;
    ULP_TRY(run_vector(call, tile, &done, pool, error));
    if (done)
        return ULP_OK;
    ulp_wide_forms_find(call, tile);
    enum ulp_status status = ULP_OK;
    if (ulp_wide_forms_plan(&plan, call) || ulp_wide_plan_make(&plan, call, tile)) {
        ulp_wide_forms_make(call, &plan, pool);
        status = ulp_wide_run_digits(&plan, call, pool, error);
    } else {
        plan.positions = 0;
        status = ulp_parallel_for(pool, problem->batch_count * problem->m, 1, sum_rows_exactly,
                                  call, error);
    }
    ulp_wide_forms_end(call, &plan, call->counts->exact <= call->counts->digits / 64);
    return status;
}

static enum ulp_status run_method(enum ulp_wide_method method, struct ulp_wide_call *call,
                                  struct ulp_pool *pool, struct ulp_error *error)
{
    const struct ulp_contraction *problem = &call->problem;
    const size_t rows = problem->batch_count * problem->m;
    const struct ulp_wide_tile *tile = NULL;
    if (rows * problem->n == 0)
        return ULP_OK;
    if (method == ULP_WIDE_SUM)
        return ulp_parallel_for(pool, rows, 1, sum_rows, call, error);
    bool one_by_one = method == ULP_WIDE_AUTO && (is_small(call) || !call->nearest);
    if (method == ULP_WIDE_KULISCH || problem->k == 0 || one_by_one)
        return ulp_parallel_for(pool, rows, 1, sum_rows_exactly, call, error);
    unsigned features = ulp_cpu_features();
    if (method == ULP_WIDE_AUTO) {
        for (size_t i = 0; !tile || (tile->features & features) != tile->features; i++)
            tile = ulp_wide_tile_row(i); /* the last one needs nothing */
    } else {
        tile = ulp_wide_tile_row((size_t)(method - ULP_WIDE_DIGITS));
        if (!tile || (tile->features & features) != tile->features)
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "this processor has no wide tile %d",
                            (int)(method - ULP_WIDE_DIGITS));
    }
    return run_tile(call, tile, pool, error);
}

enum ulp_status ulp_contract_wide_by(enum ulp_wide_method method,
                                     const struct ulp_arithmetic *arithmetic,
                                     const struct ulp_contraction *problem,
                                     struct ulp_wide_counts *counts, struct ulp_pool *pool,
                                     struct ulp_error *error)
{
    ULP_TRY(check_contraction(arithmetic, problem, error));
    struct ulp_wide_counts own_counts = {0, 0};
    struct ulp_wide_call call = {
        .arithmetic = arithmetic,
        .problem = *problem,
        .counts = &own_counts,
        .pool = pool,
        .precision = arithmetic->accumulator.precision,
        .nearest = arithmetic->rounding == ULP_ROUND_NEAREST_EVEN,
        .same_storage = arithmetic->storage.carrier == ULP_CARRIER_MPFR &&
                        arithmetic->storage.precision == arithmetic->accumulator.precision,
    };
    call.as_records = call.nearest && call.same_storage &&
                      problem->out->element == ULP_ELEMENT_WIDE &&
                      problem->out->precision == call.precision;
    struct ulp_tensor rounded[2] = {{0}};
    struct ulp_factor *factors[2] = {&call.problem.a, &call.problem.b};
    enum ulp_status status = ULP_OK;
    for (int side = 0; side < 2 && status == ULP_OK; side++) {
        struct ulp_pack pack = ulp_pack_make(arithmetic, problem, side);
        if (pack.round)
            status = round_factor(&rounded[side], factors[side], &pack, pool, error);
        else
            call.kept[side] =
                ulp_packed_is_kept(problem->packed,
                                   &(struct ulp_packed_view){factors[side], problem->batch_count,
                                                             side ? problem->n : problem->m,
                                                             problem->k});
    }
    if (status == ULP_OK)
        status = run_method(method, &call, pool, error);
    ulp_tensor_free(&rounded[0]);
    ulp_tensor_free(&rounded[1]);
    if (counts) {
        counts->digits += own_counts.digits;
        counts->exact += own_counts.exact;
    }
    return status;
}

enum ulp_status ulp_contract_wide(const struct ulp_arithmetic *arithmetic,
                                  const struct ulp_contraction *problem, struct ulp_pool *pool,
                                  struct ulp_error *error)
{
    return ulp_contract_wide_by(ULP_WIDE_AUTO, arithmetic, problem, NULL, pool, error);
}
