/* The rows of fixed/fixed_function.h that are functions, one element after the other on every processor.
 */
#ifndef ULP_NUMBER_FIXED_ELEMENT_H
#define ULP_NUMBER_FIXED_ELEMENT_H

#include "number/fixed/fixed_function.h"

/* NULL: not one of them. */
ulp_wide_fn *ulp_wide_element(enum ulp_primitive primitive, int precision);

#endif
