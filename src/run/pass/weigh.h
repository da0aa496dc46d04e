/* What errors make of the outputs': sums of products of cotangents with them, in FP64. The order in
 * which a sum is formed follows from its length alone: parts, and in each eight sums side by side.
 */
#pragma once

#include "base/machine/thread.h"

/* The sum of elements [first, last); a part begins at a multiple of ULP_WEIGH_STEP. */
#define ULP_WEIGH_STEP 512
typedef double ulp_weigh_fn(const void *context, size_t first, size_t last);
double ulp_weigh(struct ulp_pool *pool, size_t count, ulp_weigh_fn *part, const void *context);

/* NULL: 0. */
double ulp_weigh_errors(struct ulp_pool *pool, const double *cotangents, const float *errors,
                        size_t count);
/* The sum of the products' magnitudes. */
double ulp_weigh_magnitudes(struct ulp_pool *pool, const double *cotangents, const float *errors,
                            size_t count);
/* The sum of the squares of products with the values less half of their errors that are finite. */
double ulp_weigh_squares(struct ulp_pool *pool, const double *cotangents, const float *values,
                         const float *errors, size_t count);

/* Eight sums that were formed side by side. */
static inline double ulp_weigh_eight(const double *s)
{
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}
