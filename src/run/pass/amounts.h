/* Quantised values through which derivatives pass (backward.h). */
#pragma once

#include "run/program/program.h"

/* amounts[slot] becomes true of the results of QuantizeLinear in the block, moved or not, that only
 * moves and DequantizeLinear read: those take floats in their place, so that a step of the scale is
 * an error like others. */
void ulp_find_amounts(const struct ulp_block *block, bool *amounts);
/* Is it a Cast from integers to integers? It hands amounts on as they are. */
bool ulp_casts_amounts(const struct ulp_block *block, const struct ulp_step *step);
