/* Contractions of factors with scales: doc/scales.md states how each is computed. */
#include "kernels/scaled_contract.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/machine/cpu.h"
#include "base/memory/alloc.h"
#include "kernels/operand/output.h"
#include "kernels/unit/fast.h"
#include "kernels/unit/fp4.h"
#include "kernels/unit/unit.h"

/* What the workers that apply FP32 scales share. */
struct epilogue {
    const struct ulp_contraction *problem;
    const struct ulp_scaled *sides;
    float *sums, *chain; /* [batch][m][n] */
    size_t block;        /* whose sums `chain` holds */
    const struct ulp_output *output;
};

static float scale_at(const struct ulp_scaled *s, size_t batch, size_t line, size_t block)
{
    return s->scale[ulp_scaled_block(s, batch, line, block)];
}

/* sums += chain * scales, as an H200's kernels were recorded (doc/scales.md). */
ULP_WORK(add_block)
{
    const struct epilogue *e = context;
    const struct ulp_contraction *p = e->problem;
    for (size_t row = first; row < last; row++) {
        const float a = scale_at(&e->sides[0], row / p->m, row % p->m, e->block);
        for (size_t j = 0; j < p->n; j++) {
            float *sum = &e->sums[row * p->n + j];
            *sum = fmaf(e->chain[row * p->n + j] * a,
                        scale_at(&e->sides[1], row / p->m, j, e->block), *sum);
        }
    }
    return ULP_OK;
}

ULP_WORK(store_rows)
{
    const struct epilogue *e = context;
    const struct ulp_contraction *p = e->problem;
    const struct ulp_scaling *scaling = e->sides[0].scaling;
    for (size_t row = first; row < last; row++) {
        const size_t batch = row / p->m;
        const int64_t base =
            (p->out_batch_offset ? p->out_batch_offset[batch] : 0) + p->out_row_offset[row % p->m];
        const float a = scale_at(&e->sides[0], batch, row % p->m, 0);
        for (size_t j = 0; j < p->n; j += 64) {
            const size_t count = ulp_size_min(64, p->n - j);
            float strip[64];
            for (size_t i = 0; i < count; i++) {
                const float sum = e->sums[row * p->n + j + i],
                            b = scale_at(&e->sides[1], batch, j + i, 0);
                strip[i] = scaling->k ? sum : scaling->lines ? sum * b * a : sum * (a * b);
            }
            ulp_output_strip(e->output, base, p->out_column_offset + j, false, strip, count,
                             (struct ulp_draw){0});
        }
    }
    return ULP_OK;
}

/* The unit's sums of elements go to `out`, [batch][m][n], of places [first, first + count). */
static enum ulp_status sum_elements(const struct ulp_arithmetic *arithmetic,
                                    const struct ulp_contraction *problem,
                                    const struct ulp_scaled sides[2], struct ulp_tensor *out,
                                    size_t first, size_t count, struct ulp_pool *pool,
                                    struct ulp_error *error)
{
    struct ulp_contraction sub = *problem;
    ULP_SCOPED(ulp_free_of) int64_t *batch = NULL;
    ULP_TRY(ulp_allocate(&batch, problem->batch_count + problem->m + problem->n, sizeof *batch,
                         ulp_pool_scratch(pool), "scaled sums", error));
    int64_t *row = batch + problem->batch_count, *column = row + problem->m;
    for (size_t g = 0; g < problem->batch_count; g++)
        batch[g] = (int64_t)(g * problem->m * problem->n);
    for (size_t i = 0; i < problem->m; i++)
        row[i] = (int64_t)(i * problem->n);
    for (size_t j = 0; j < problem->n; j++)
        column[j] = (int64_t)j;
    sub.a = ulp_scaled_factor(&sides[0]);
    sub.b = ulp_scaled_factor(&sides[1]);
    sub.a.k_offset += first;
    sub.b.k_offset += first;
    sub.k = count;
    sub.out = out;
    sub.out_batch_offset = batch;
    sub.out_row_offset = row;
    sub.out_column_offset = column;
    sub.store = false;
    return ulp_contract_unit(arithmetic, &sub, pool, error);
}

/* FP8 elements on the unit, FP32 scales in an epilogue: of blocks after each block of k. */
static enum ulp_status contract_outside(const struct ulp_arithmetic *arithmetic,
                                        const struct ulp_contraction *problem,
                                        const struct ulp_scaled sides[2], struct ulp_pool *pool,
                                        struct ulp_error *error)
{
    const size_t block = (size_t)sides[0].scaling->k;
    const int64_t dims[] = {block ? 2 : 1, (int64_t)problem->batch_count, (int64_t)problem->m,
                            (int64_t)problem->n};
    struct ulp_tensor chain;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor sums = {0};
    struct ulp_format fp32;
    struct ulp_output output;
    ULP_TRY(ulp_format_find("fp32", &fp32, error));
    ULP_TRY(ulp_output_make(&output, arithmetic, problem, &fp32, ULP_ELEMENT_F32, error));
    ULP_TRY(ulp_tensor_describe(&sums, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 4, dims, error));
    ULP_TRY(ulp_tensor_allocate(&sums, ulp_pool_scratch(pool), error));
    const size_t rows = problem->batch_count * problem->m, count = rows * problem->n;
    struct epilogue epilogue = {.problem = problem,
                                .sides = sides,
                                .sums = sums.data,
                                .chain = (float *)sums.data + (block ? count : 0),
                                .output = &output};
    chain = ulp_tensor_view(&sums);
    chain.data = epilogue.chain;
    chain.count = count;
    if (block)
        memset(sums.data, 0, count * sizeof(float));
    else
        ULP_TRY(sum_elements(arithmetic, problem, sides, &chain, 0, problem->k, pool, error));
    for (size_t b = 0; block && b < sides[0].block_count; b++) {
        epilogue.block = b;
        const size_t in_run = b % sides[0].run_blocks * block;
        ULP_TRY(sum_elements(arithmetic, problem, sides, &chain,
                             b / sides[0].run_blocks * sides[0].run + in_run,
                             ulp_size_min(block, sides[0].run - in_run), pool, error));
        ULP_TRY(ulp_parallel_for(pool, rows, ulp_grain((double)problem->n), add_block, &epilogue,
                                 error));
    }
    return ulp_parallel_for(pool, rows, ulp_grain((double)problem->n), store_rows, &epilogue,
                            error);
}

struct joining {
    const struct ulp_scaled *scaled;
    int emin; /* of elements */
};

/* Elements become their products with scales, powers of two, and get exponents: those of element
 * and scale. The products are exact, as the values that elements were rounded from had FP32's
 * range. */
ULP_WORK(join_rows)
{
    enum { PIECE = 512 };
    const struct joining *joining = context;
    const struct ulp_scaled *s = joining->scaled;
    const size_t length = ulp_scaled_row_length(s);
    for (size_t row = first; row < last; row++)
        for (size_t at = 0; at < length; at += PIECE) {
            const size_t count = ulp_size_min(PIECE, length - at);
            float *x = (float *)s->elements.data + row * length + at, scale[PIECE];
            int16_t *exponent = s->exponent + row * length + at;
            ulp_scaled_row_scales(s, row, at, count, scale);
            for (size_t i = 0; i < count; i++) {
                const int own = (int)(ulp_float_bits(x[i]) >> 23 & 255) - 127,
                          field = (int)(ulp_float_bits(scale[i]) >> 23 & 255);
                const int whole = (own > joining->emin ? own : joining->emin) + field - 127;
                exponent[i] = (int16_t)(x[i] == 0 ? ULP_UNIT_ZERO : whole);
                x[i] *= scale[i];
            }
        }
    return ULP_OK;
}

static enum ulp_status join_scales(struct ulp_scaled *scaled, int emin, struct ulp_pool *pool,
                                   struct ulp_error *error)
{
    struct joining joining = {scaled, emin};
    ULP_TAKE(scaled->exponent, scaled->memory, scaled->elements.count, error);
    return ulp_parallel_for(pool, ulp_scaled_row_count(scaled),
                            ulp_grain((double)ulp_scaled_row_length(scaled)), join_rows, &joining,
                            error);
}

/* On a unit that reads scales beside the elements. */
static enum ulp_status contract_inside(const struct ulp_arithmetic *arithmetic,
                                       const struct ulp_contraction *problem,
                                       struct ulp_scaled sides[2], struct ulp_pool *pool,
                                       struct ulp_error *error)
{
    const struct ulp_unit *unit = ulp_unit_of(arithmetic, error);
    struct ulp_contraction sub = *problem;
    if (!unit)
        return ULP_ERROR_UNSUPPORTED;
    if (unit->kind == ULP_UNIT_SCALED_GROUPS)
        return ulp_unit_run_fp4(ulp_cpu_features(), arithmetic, problem, sides, pool, error);
    for (int side = 0; side < 2; side++)
        ULP_TRY(join_scales(&sides[side], ulp_unit_input(unit, side)->emin, pool, error));
    sub.a = ulp_scaled_factor(&sides[0]);
    sub.b = ulp_scaled_factor(&sides[1]);
    return ulp_contract_unit(arithmetic, &sub, pool, error);
}

enum ulp_status ulp_contract_elements(const struct ulp_arithmetic *arithmetic,
                                      const struct ulp_contraction *problem,
                                      struct ulp_scaled sides[2], struct ulp_pool *pool,
                                      struct ulp_error *error)
{
    return ulp_scaling_is_inside(&arithmetic->scaling[0])
               ? contract_inside(arithmetic, problem, sides, pool, error)
               : contract_outside(arithmetic, problem, sides, pool, error);
}

enum ulp_status ulp_contract_scaled(const struct ulp_arithmetic *arithmetic,
                                    const struct ulp_contraction *problem, struct ulp_pool *pool,
                                    struct ulp_error *error)
{
    struct ulp_arithmetic own = *arithmetic;
    ULP_SCOPED(ulp_scaled_free_sides) struct ulp_scaled sides[2] = {{0}};
    if (problem->batch_count == 0 || problem->m == 0 || problem->n == 0)
        return ULP_OK;
    for (int side = 0; side < 2; side++)
        own.scaling[side] = *ulp_scaled_choose(arithmetic, problem, side);
    own.factor = own.scaling[0].element;
    for (int side = 0; side < 2; side++)
        ULP_TRY(ulp_scaled_make(&sides[side], &own.scaling[side], problem, side, false,
                                arithmetic->schedule.operand_rounding, pool, error));
    return ulp_contract_elements(&own, problem, sides, pool, error);
}
