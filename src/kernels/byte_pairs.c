/* vpmaddubsw multiplies unsigned by signed bytes and adds the products of neighbours with
 * saturation to 16 bits; MLAS adds these sums in 32 bits, where processors have no VNNI
 * (qgemm_kernel_avx2.cpp, convsym.cpp). The exact sum is formed elsewhere: here is the difference,
 * which is 0 for most lines of weights. */
#include "kernels/byte_pairs.h"

#include "base/memory/alloc.h"
#include "base/vectorise.h"

enum { ROWS = 64, COLUMNS = 32 }; /* of a block: lines of a, and of b, which are read again */

/* Lines as INT16, even k in front of odd k: `half` of each, zeros where there is no k. */
struct pairs {
    const struct ulp_contraction *problem;
    size_t half, row_blocks, column_blocks;
    struct ulp_budget *scratch;
};

static int64_t offset_at(const int64_t *table, size_t i)
{
    return table ? table[i] : 0;
}

static void pack_line(int16_t *out, const struct pairs *p, const struct ulp_factor *factor,
                      int64_t first, int32_t zero)
{
    const int32_t *data = factor->tensor->data;
    const size_t count = p->problem->k;
    out[p->half - 1] = out[2 * p->half - 1] = 0;
    for (size_t k = 0; k < count; k++)
        out[k % 2 * p->half + k / 2] = (int16_t)(data[first + factor->k_offset[k]] + zero);
}

/* Can a pair of this line, signed bytes, leave 16 bits beside bytes of 255? */
static bool may_saturate(const int16_t *line, size_t half)
{
    int32_t low = 0, high = 0;
    for (size_t i = 0; i < half; i++) {
        const int32_t x = line[i], y = line[half + i];
        const int32_t most = (x > 0 ? x : 0) + (y > 0 ? y : 0),
                      least = (x < 0 ? x : 0) + (y < 0 ? y : 0);
        high = most > high ? most : high;
        low = least < low ? least : low;
    }
    return 255 * high > INT16_MAX || 255 * low < INT16_MIN;
}

ULP_VECTORISE static int32_t find_excess(const int16_t *x, const int16_t *y, size_t half)
{
    int32_t excess = 0;
    for (size_t i = 0; i < half; i++) {
        const int32_t sum = x[i] * y[i] + x[half + i] * y[half + i];
        const int32_t least = sum < INT16_MIN ? INT16_MIN : sum;
        excess += (least > INT16_MAX ? INT16_MAX : least) - sum;
    }
    return excess;
}

/* One line of a by the block's lines of b. */
static void add_line(const struct pairs *p, size_t batch, size_t row, const int16_t *line,
                     const int16_t *columns, const bool *wanted, size_t first, size_t count)
{
    const struct ulp_contraction *c = p->problem;
    int32_t *out =
        (int32_t *)c->out->data + offset_at(c->out_batch_offset, batch) + c->out_row_offset[row];
    for (size_t j = 0; j < count; j++)
        if (wanted[j])
            out[c->out_column_offset[first + j]] +=
                find_excess(line, columns + 2 * p->half * j, p->half);
}

ULP_WORK(add_blocks)
{
    const struct pairs *p = context;
    const struct ulp_contraction *c = p->problem;
    const bool unsigned_b = c->pairs->b_is_unsigned;
    const int32_t zero = c->pairs->zero;
    ULP_SCOPED(ulp_free_of) int16_t *lines = NULL;
    ULP_TRY(ulp_allocate(&lines, 2 * p->half * (COLUMNS + 1), sizeof(int16_t), p->scratch,
                         "pairs of bytes", error));
    for (size_t item = first; item < last; item++) {
        const size_t row = item % p->row_blocks * ROWS, rest = item / p->row_blocks,
                     column = rest % p->column_blocks * COLUMNS, batch = rest / p->column_blocks,
                     rows = ulp_size_min(ROWS, c->m - row),
                     columns = ulp_size_min(COLUMNS, c->n - column);
        int16_t *const line = lines + 2 * p->half * COLUMNS;
        bool wanted[COLUMNS];
        for (size_t j = 0; j < columns; j++) {
            int16_t *const packed = lines + 2 * p->half * j;
            pack_line(packed, p, &c->b,
                      offset_at(c->b.batch_offset, batch) + c->b.line_offset[column + j],
                      unsigned_b ? zero : 0);
            wanted[j] = unsigned_b || may_saturate(packed, p->half);
        }
        for (size_t i = 0; i < rows; i++) {
            pack_line(line, p, &c->a,
                      offset_at(c->a.batch_offset, batch) + c->a.line_offset[row + i],
                      unsigned_b ? 0 : zero);
            if (!unsigned_b || may_saturate(line, p->half))
                add_line(p, batch, row + i, line, lines, wanted, column, columns);
        }
    }
    return ULP_OK;
}

enum ulp_status ulp_contract_pairs(const struct ulp_contraction *problem, struct ulp_pool *pool,
                                   struct ulp_error *error)
{
    struct pairs p = {.problem = problem,
                      .half = ulp_size_divide_up(problem->k, 2),
                      .row_blocks = ulp_size_divide_up(problem->m, ROWS),
                      .column_blocks = ulp_size_divide_up(problem->n, COLUMNS),
                      .scratch = ulp_pool_scratch(pool)};
    if (!problem->k)
        return ULP_OK;
    return ulp_parallel_for(pool, problem->batch_count * p.row_blocks * p.column_blocks, 1,
                            add_blocks, &p, error);
}
