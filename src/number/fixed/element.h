/* The rows of fixed/fixed_function.h that are functions, one element after the other on every
 * processor. */
#pragma once

#include "number/fixed/fixed_function.h"

/* NULL: not one of them. */
ulp_wide_fn *ulp_wide_element(enum ulp_primitive primitive, int precision);
