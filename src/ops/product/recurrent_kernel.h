/* Where a recurrence rounds: as the operator is written, or as cuDNN's kernels keep their numbers.
 */
#pragma once

#include "ops/call.h"

/* What is not stored is in the accumulator's format (sums) or that of compute (states). */
struct ulp_recurrent_kernel {
    bool input_stored; /* the sums over the input, one product for all steps */
    bool biased;       /* GRU: and stored again with the biases, but the one that r multiplies */
    bool sums_stored;  /* the sums over the state */
    bool h_stored;     /* between steps; false: products of h are chains in FP32 */
    bool c_stored;
    bool tanh_rounded; /* correctly to FP32, not CUDA's */
    /* every step of the cell: a sigmoid is 1 / (1 + exp(-x)), tanh 2 sigmoid(2 x) - 1, and the
     * last product of a sum is added to it unrounded */
    bool stepped;
};

struct ulp_recurrent_shape {
    size_t gates, directions, batch, input, hidden;
};

/* That of the call's arithmetic for this shape; static storage. */
const struct ulp_recurrent_kernel *ulp_recurrent_kernel_find(
    const struct ulp_call *call, const struct ulp_recurrent_shape *shape);
