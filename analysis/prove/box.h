/* The ranges of inputs that a proof is for. */
#pragma once

#include <ulpscope/prove.h>

struct ulp_program;

/* proof->inputs, and the same by input of the program's main block; memory of the proof. */
enum ulp_status ulp_proof_set_box(struct ulp_proof *proof, const struct ulp_program *program,
                                  const struct ulp_model *model, const struct ulp_prove_box *from,
                                  struct ulp_input_range **out, struct ulp_error *error);
