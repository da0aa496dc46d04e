/* Elements as doubles rounded to odd: truncated, the last bit set when anything was cut. */
#pragma once

#include <stddef.h>

struct ulp_tensor;

/* Elements first, first + 1, ... of any tensor that is no stored or packed one. NaN and infinities
 * are themselves; what is below double's least becomes that, with its sign. */
void ulp_odd_read(const struct ulp_tensor *in, size_t first, size_t count, double *out);
