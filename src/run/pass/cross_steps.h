#pragma once

#include "run/pass/backward.h"

/* Quantised amounts: an error of a step and more is handed on by the slope of the chord between
 * both ends, clipping included. Smaller ones cross a step by chance, with the derivative of the
 * scale on average, where the amounts are not at the end of their type; all together they hand on
 * no more than was crossed, and the rest of that is a decision. owed: what the derivative hands on
 * to input 0; NULL: nothing. */
enum ulp_status ulp_cross_steps(const struct ulp_reverse *sweep, const struct ulp_step *step,
                                double *owed, struct ulp_error *error);
