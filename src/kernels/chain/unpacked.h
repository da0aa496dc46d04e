/* Contractions of one or two rows without packing. */
#pragma once

#include "kernels/operand/output.h"
#include "kernels/operand/pack.h"
#include "kernels/chain/tile.h"

/* Rows and columns as chains.c has chosen them; one uncut chain an output. */
struct ulp_unpacked_problem {
    const struct ulp_step_rule *rule;
    const struct ulp_pack *rows, *columns;
    const struct ulp_output *output;
    const int64_t *out_batch, *out_row, *out_column;
    size_t batch_count, row_count, column_count, k_count;
};

/* Is this the better way for the problem? */
bool ulp_unpacked_serves(const struct ulp_unpacked_problem *problem, const struct ulp_tile *tile);
enum ulp_status ulp_unpacked_run(const struct ulp_unpacked_problem *problem,
                                 const struct ulp_tile *tile, struct ulp_pool *pool,
                                 struct ulp_error *error);
