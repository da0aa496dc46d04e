/* A problem close by a given one: its float inputs and constants are changed by random factors of
 * about an ulp, so that every rounding on the way is drawn anew while exact results hardly move. */
#pragma once

#include <ulpscope/run.h>

/* The change of the seed for an arithmetic: in the bits in which its coarsest roundings are drawn.
 * A plan with it has the constants (ulp_program_options). */
struct ulp_perturbation ulp_redraw(const struct ulp_arithmetic *arithmetic, uint64_t seed);
/* The inputs, changed; freed by the caller, also after a failure. */
enum ulp_status ulp_redraw_inputs(const struct ulp_tensor_set *inputs,
                                  const struct ulp_perturbation *perturbation,
                                  struct ulp_budget *budget, struct ulp_tensor_set *out,
                                  struct ulp_error *error);
/* The reference beside a redrawn arithmetic: FP64 where that is exact beside it, and fast; else the
 * one given. plan: of the model. */
enum ulp_status ulp_redraw_reference(const struct ulp_program *program,
                                     const struct ulp_arithmetic *reference,
                                     const struct ulp_arithmetic *arithmetic,
                                     struct ulp_arithmetic *out, struct ulp_error *error);
