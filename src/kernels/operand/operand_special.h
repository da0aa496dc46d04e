/* Looking for values that arithmetic treats separately: NaN, infinities, numbers that a format
 * cannot hold. */
#pragma once

#include "base/machine/thread.h"
#include "tensor/tensor.h"

/* Is an element of the floating-point tensor NaN or infinite or, unless the elements are records,
 * above `limit` >= 0 in magnitude? */
bool ulp_any_beyond(const struct ulp_tensor *tensor, double limit, struct ulp_pool *pool);
