/* The MPFR carrier's primitives that move, compare or test records, or round them to integers, at
 * any precision: nothing is rounded to it. */
#pragma once

#include "number/strip.h"

/* NULL: not one of them. Of the rule only the precision matters. */
ulp_strip_fn *ulp_strip_move(enum ulp_primitive primitive);
