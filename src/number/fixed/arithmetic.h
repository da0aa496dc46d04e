/* The rows of fixed/fixed_function.h that are + - * / sqrt, min and max; their operands and results need
 * no tables. */
#ifndef ULP_NUMBER_FIXED_ARITHMETIC_H
#define ULP_NUMBER_FIXED_ARITHMETIC_H

#include "number/fixed/fixed_function.h"

/* NULL: not one of them. */
ulp_wide_fn *ulp_wide_arithmetic(enum ulp_primitive primitive, int precision);

#endif
