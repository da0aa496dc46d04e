/* Reading steps and slots of a block: operators, constants, axes. */
#pragma once

#include "run/program/program.h"

/* Is it ai.onnx's operator of that name? */
bool ulp_step_is(const struct ulp_step *step, const char *name);
/* Input i of the node itself; -1: it has none. */
int ulp_step_input(const struct ulp_step *step, size_t i);
/* What compiling knows of the slot's value; NULL: nothing. */
const struct ulp_tensor *ulp_slot_known(const struct ulp_block *block, int slot);
/* Is it a constant of one element? */
bool ulp_slot_is_scalar(const struct ulp_block *block, int slot, double *out);
/* The axes that a reduction of a tensor of that rank goes over, as bits; 0: not known. */
uint32_t ulp_step_axes(const struct ulp_block *block, const struct ulp_step *step, int rank);
bool ulp_step_keeps_dims(const struct ulp_step *step);
/* Is it a Reshape or Expand that only adds or takes away dimensions of 1? */
bool ulp_step_same_elements(const struct ulp_block *block, const struct ulp_step *step);
