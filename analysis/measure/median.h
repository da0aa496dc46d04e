/* The lower median of many numbers >= 0: exact, so with the same bits in any order. */
#pragma once

#include <stddef.h>

/* Of values, which are no NaN and not -0; below 0: left out. NaN without any; they are reordered,
 * and some of them lost. */
double ulp_median_find(double *values, size_t count);
