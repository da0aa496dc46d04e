/* The rows of wide_function.h that are + - * / sqrt, and squares; their operands and results need
 * no tables. */
#ifndef ULP_NUMBER_WIDE_ARITHMETIC_H
#define ULP_NUMBER_WIDE_ARITHMETIC_H

#include "number/wide_function.h"

/* NULL: not one of them. */
ulp_wide_fn *ulp_wide_arithmetic(enum ulp_primitive primitive, int precision);

#endif
