/* Contractions on a matrix unit: the kernel's schedule around the unit's chains. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernels/pack.h"
#include "kernels/unit.h"
#include "number/round.h"

size_t ulp_unit_slice_length(const struct ulp_unit *unit, size_t k, int split)
{
    size_t count = split > 1 ? (size_t)split : 1, block = (size_t)unit->block;
    if (k % count == 0)
        return k / count;
    size_t length = k / count + 1;
    return (length + block - 1) / block * block;
}

float ulp_unit_schedule(const struct ulp_unit *unit, const struct ulp_schedule *schedule, const double *a,
                        const double *b, size_t k)
{
    size_t length = ulp_unit_slice_length(unit, k, schedule->split_k);
    float total = 0;
    for (size_t first = 0; first < k; first += length) {
        size_t last = k - first < length ? k : first + length;
        size_t interval = schedule->promote > 0 ? (size_t)schedule->promote : length;
        float sum = 0;
        for (size_t start = first; start < last; start += interval) {
            size_t count = last - start < interval ? last - start : interval;
            sum += (float)ulp_unit_chain(unit, a + start, b + start, NULL, NULL, count, 0);
        }
        total += sum;
    }
    return total;
}

struct work {
    const struct ulp_arithmetic *arithmetic;
    const struct ulp_contraction *problem;
    const struct ulp_unit *unit;
    struct ulp_pack a_pack, b_pack;
    bool meets_padding;
    size_t batch;
    double *a, *b; /* lines of one batch; a [m][k], b [n][k] */
    double *pairs; /* 2 * k for each worker */
};

static enum ulp_status contract_rows(void *context, size_t first, size_t last, int worker, struct ulp_error *error)
{
    (void)error;
    const struct work *work = context;
    const struct ulp_contraction *p = work->problem;
    const struct ulp_arithmetic *arithmetic = work->arithmetic;
    double *pair = work->pairs + 2 * p->k * (size_t)worker;
    int64_t batch_offset = p->out_batch_offset ? p->out_batch_offset[work->batch] : 0;
    for (size_t i = first; i < last; i++)
        for (size_t j = 0; j < p->n; j++) {
            const double *a = work->a + i * p->k, *b = work->b + j * p->k;
            if (work->meets_padding) {
                ulp_pack_pair(pair, pair + p->k, &work->a_pack, &work->b_pack, work->batch, i, j, p->k);
                a = pair;
                b = pair + p->k;
            }
            float value = ulp_unit_schedule(work->unit, &arithmetic->schedule, a, b, p->k);
            int64_t offset = batch_offset + p->out_row_offset[i] + p->out_column_offset[j];
            if (p->store)
                ulp_round_floats(&arithmetic->storage, arithmetic->rounding, &value, 1, arithmetic->seed, 0,
                                 (uint64_t)offset);
            ((float *)p->out->data)[offset] = value;
        }
    return ULP_OK;
}

static enum ulp_status contract_batches(struct work *work, struct ulp_pool *pool, struct ulp_error *error)
{
    const struct ulp_contraction *p = work->problem;
    for (size_t g = 0; g < p->batch_count; g++) {
        work->batch = g;
        ulp_pack_rows_double(work->a, &work->a_pack, (struct ulp_pack_range){g, 0, p->m, 0, p->k}, p->k);
        ulp_pack_rows_double(work->b, &work->b_pack, (struct ulp_pack_range){g, 0, p->n, 0, p->k}, p->k);
        enum ulp_status status = ulp_parallel_for(pool, p->m, 1, contract_rows, work, error);
        if (status != ULP_OK)
            return status;
    }
    return ULP_OK;
}

enum ulp_status ulp_contract_unit(const struct ulp_arithmetic *arithmetic, const struct ulp_contraction *problem,
                                  struct ulp_pool *pool, struct ulp_error *error)
{
    struct work work = {.arithmetic = arithmetic, .problem = problem, .unit = ulp_unit_of(arithmetic, error)};
    if (!work.unit)
        return ULP_ERROR_UNSUPPORTED;
    if (problem->out->element != ULP_ELEMENT_F32)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "arithmetic %s: results of a matrix unit are FP32 elements",
                        arithmetic->name);
    work.a_pack = ulp_pack_make(arithmetic, problem, 0);
    work.b_pack = ulp_pack_make(arithmetic, problem, 1);
    work.meets_padding = ulp_pack_meets_padding(&work.a_pack, &work.b_pack);
    void *a = NULL, *b = NULL, *pairs = NULL;
    size_t a_count = 0, b_count = 0;
    enum ulp_status status = ULP_OK;
    if (!ulp_size_mul(problem->m, problem->k, &a_count) || !ulp_size_mul(problem->n, problem->k, &b_count))
        status = ulp_fail(error, ULP_ERROR_MEMORY, "the operands have more elements than memory can address");
    if (status == ULP_OK)
        status = ulp_allocate(&a, a_count, sizeof(double), NULL, "packed left factor", error);
    if (status == ULP_OK)
        status = ulp_allocate(&b, b_count, sizeof(double), NULL, "packed right factor", error);
    if (status == ULP_OK)
        status = ulp_allocate(&pairs, 2 * problem->k * (size_t)(pool ? ulp_pool_thread_count(pool) : 1), sizeof(double),
                              NULL, "scratch of a contraction", error);
    work.a = a;
    work.b = b;
    work.pairs = pairs;
    if (status == ULP_OK)
        status = contract_batches(&work, pool, error);
    ulp_free(a);
    ulp_free(b);
    ulp_free(pairs);
    return status;
}
