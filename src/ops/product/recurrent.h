/* A run of RNN, GRU or LSTM. */
#pragma once

#include "ops/product/recurrent_cell.h"
#include "ops/product/recurrent_codes.h"
#include "ops/product/recurrent_kernel.h"

struct ulp_recurrent {
    size_t gates, directions, steps, batch, input, hidden;
    bool batch_first;
    bool coded; /* weights are codes: directions x k x lines, transposed */
    struct ulp_coded_weights coded_w, coded_r; /* of the direction */
    const struct ulp_cell *cell;
    const struct ulp_recurrent_kernel *kernel;
    struct ulp_chosen_activation activations[6];
    const struct ulp_tensor *x, *w, *r, *b, *lengths, *initial_h, *initial_c, *p;
    /* of all steps' inputs, of the state, of GRU's reset state */
    struct ulp_tensor sums_x, sums_h, sums_r;
    struct ulp_tensor h, c, new_h, new_c, reset; /* batch x hidden */
    struct ulp_tensor stored;                    /* a state on its way in or out */
};

/* The node's inputs and attributes, their shapes checked. */
enum ulp_status ulp_recurrent_read(const struct ulp_call *call, struct ulp_recurrent *s);
/* All that is kept while it runs, in the formats that the kernel says. */
enum ulp_status ulp_recurrent_make_buffers(struct ulp_call *call, struct ulp_recurrent *s);
