/* Recomputing outputs in which padding was multiplied by infinity or NaN: padding excludes a
 * product, it is not a zero factor. */
#include "kernels/chain/block.h"

#include <string.h>

/* One output again, with the products that padding excludes left out (pack.h). */
static void repair_output(const struct ulp_chains_job *job,
                          const struct ulp_chains_scratch *scratch, double *pair, size_t batch,
                          size_t row, size_t column)
{
    size_t k_count = job->k_count, k_length;
    ulp_pack_pair(pair, pair + k_count, &job->rows, &job->columns, batch, row, column, k_count);
    for (size_t first = 0; first < k_count; first += k_length) {
        k_length = ulp_size_min(job->k_block, k_count - first);
        memset(scratch->columns, 0, k_length * job->tile_columns * job->element_bytes);
        for (size_t k = 0; k < k_length; k++) {
            size_t at = k * job->tile_columns;
            if (job->element == ULP_ELEMENT_F32) {
                ((float *)(void *)scratch->rows)[k] = (float)pair[first + k];
                ((float *)(void *)scratch->columns)[at] = (float)pair[k_count + first + k];
            } else {
                ((double *)(void *)scratch->rows)[k] = pair[first + k];
                ((double *)(void *)scratch->columns)[at] = pair[k_count + first + k];
            }
        }
        ulp_chains_run_tile(job, scratch->sums, 1, scratch->rows, scratch->columns, first,
                            first + k_length, ulp_chains_place(job, batch, row, column),
                            scratch->stack);
    }
    ulp_chains_store_tile(job, scratch->sums, batch, row, 1, column, 1);
}

struct line {
    bool padding, finite;
};

enum ulp_status ulp_chains_repair(const struct ulp_chains_job *job,
                                  const struct ulp_chains_scratch *worker,
                                  const struct ulp_chains_block *block, struct ulp_error *error)
{
    ULP_SCOPED(ulp_free_of) struct line *lines = NULL;
    ULP_SCOPED(ulp_free_of) double *pair = NULL;
    ULP_SCOPED(ulp_free_of) char *panels = NULL;
    struct ulp_chains_scratch scratch = *worker;
    const size_t line_count = block->row_count + block->column_count, k_count = job->k_count,
                 row = ulp_size_round_up(job->k_block * job->element_bytes, 64);
    struct ulp_budget *budget = ulp_pool_scratch(job->pool);
    ULP_TRY(ulp_allocate(&lines, line_count, sizeof *lines, budget, "padding flags", error));
    ULP_TRY(ulp_allocate(&panels, row, job->tile_columns + 1, budget, "panels of a repaired output",
                         error));
    ULP_TRY(ulp_allocate(&pair, 2 * k_count, sizeof *pair, budget, "a pair of lines", error));
    scratch.rows = panels;
    scratch.columns = panels + row;
    for (size_t i = 0; i < line_count; i++) {
        const struct ulp_pack *pack = i < block->row_count ? &job->rows : &job->columns;
        size_t line = i < block->row_count ? block->row + i : block->column + i - block->row_count;
        lines[i] =
            (struct line){.padding = ulp_pack_line_has_padding(pack, block->batch, line, k_count),
                          .finite = ulp_pack_line_is_finite(pack, block->batch, line, k_count)};
    }
    for (size_t i = 0; i < block->row_count; i++)
        for (size_t j = 0; j < block->column_count; j++) {
            const struct line *row_line = &lines[i], *column = &lines[block->row_count + j];
            if ((row_line->padding && !column->finite) || (column->padding && !row_line->finite))
                repair_output(job, &scratch, pair, block->batch, block->row + i, block->column + j);
        }
    return ULP_OK;
}
