/* The cells of RNN, GRU and LSTM as formulas: their activations, and what a step computes of the
 * products' sums.
 *
 * Names in a formula: x_G, h_G: gate G's sums over the input and over the state; v_G, r_G: its two
 * biases; p_G: its peephole; h, c: the state; q: GRU's sum over the reset state. */
#pragma once

#include "base/text/text.h"
#include "ops/call.h"

/* An operator's parameter: its number of gates. */
enum { ULP_RNN_GATES = 1, ULP_GRU_GATES = 3, ULP_LSTM_GATES = 4 };

/* An activation and its parameters, as texts. */
struct ulp_chosen_activation {
    const struct ulp_activation *activation;
    char alpha[40], beta[40];
    bool stepped; /* as of struct ulp_recurrent_kernel: of Sigmoid and Tanh */
};

struct ulp_cell {
    const char *gates, *peepholes; /* in the order of w, r, b and of p */
    size_t activation_count;       /* of one direction */
    const char *defaults[3];
    void (*write)(struct ulp_text *text, const struct ulp_call *call,
                  const struct ulp_chosen_activation *chosen);
};
const struct ulp_cell *ulp_cell_of(const struct ulp_call *call);

/* Is GRU's state multiplied by the reset gate before it meets its weights? Then a step has two
 * formulas. */
bool ulp_cell_resets_before(const struct ulp_call *call);

/* The activations of all directions, one direction's after the other; parameters are consumed in
 * order by the functions that have them. */
enum ulp_status ulp_cell_activations(const struct ulp_call *call, size_t directions, bool stepped,
                                     struct ulp_chosen_activation *out);

/* Add the formulas of a direction with these activations: of GRU's reset state, and of the new
 * state (LSTM: its "n" is the new c). The texts are the caller's to free, also after a failure. */
enum ulp_status ulp_cell_write(const struct ulp_call *call,
                               const struct ulp_chosen_activation *chosen,
                               struct ulp_text formulas[2]);
/* Only what cuDNN has: no peepholes, clipping or other functions; GRU's reset gate multiplies the
 * sums. Of the call it reads bound, input_count and in. */
bool ulp_cell_is_cudnns(const struct ulp_call *call);
