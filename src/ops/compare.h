/* The order of elements of one tensor, in any lane: exact, NaN above everything, -0 equal to 0. */
#pragma once

#include "tensor/tensor.h"

/* Below, at or above 0 as element i is below, equal to or above element j. */
int ulp_compare(const struct ulp_tensor *tensor, size_t i, size_t j);
/* Is element i zero (BOOL: false)? NaN is not. */
bool ulp_is_zero(const struct ulp_tensor *tensor, size_t i);
