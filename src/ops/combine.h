/* Combining updates into a tensor (ScatterElements, ...) where several may go to one place, in
 * their order. */
#pragma once

#include "ops/call.h"

/* For each update u, a block of `run` elements of `updates`, in order: the block of out that starts
 * at places[u] becomes the formula of the operands "old update", rounded to arithmetic->storage; a
 * negative place is skipped. */
enum ulp_status ulp_combine(struct ulp_call *call, const struct ulp_formula *formula,
                            const struct ulp_arithmetic *arithmetic, struct ulp_tensor *out,
                            const struct ulp_tensor *updates, const int64_t *places,
                            size_t update_count, size_t run);
