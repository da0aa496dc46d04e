/* + - * / sqrt, min and max, and at two limbs most functions, on eight records at a time with
 * AVX-512 (IFMA), to the same bits as one by one. */
#pragma once

#include "number/fixed/fixed_function.h"

/* NULL: not one of them, or not on this processor. */
ulp_wide_fn *ulp_wide_batch(enum ulp_primitive primitive, int precision);
