/* The rows of fixed/fixed_function.h that are + - * / sqrt, min and max; their operands and results
 * need no tables. */
#pragma once

#include "number/fixed/fixed_function.h"

/* NULL: not one of them. */
ulp_wide_fn *ulp_wide_arithmetic(enum ulp_primitive primitive, int precision);
