/* Counts of slices that are tried, and bits compared with recorded ones. */
#include "analysis/schedule/slices.h"

#include <math.h>
#include <stdio.h>

/* Libraries choose so that the slices fill the GPU: an H200's cuBLAS took 2 to 32, also 22. */
static const int tried[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
                            14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
                            27, 28, 29, 30, 31, 32, 36, 40, 44, 48, 56, 64};
_Static_assert(sizeof tried / sizeof *tried <= ULP_SLICES_TRIED_MAX, "counts of slices");

int ulp_slices_tried(size_t index)
{
    return index < sizeof tried / sizeof *tried ? tried[index] : 0;
}

enum ulp_status ulp_slices_arithmetic(struct ulp_arithmetic *out,
                                      const struct ulp_arithmetic *arithmetic, int slices,
                                      struct ulp_error *error)
{
    char part[32];
    snprintf(part, sizeof part, "split-k=%d", slices);
    return ulp_arithmetic_change(out, arithmetic, part, error);
}

size_t ulp_equal_elements(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    size_t equal = 0;
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        const double x = ulp_tensor_get(a, i), y = ulp_tensor_get(b, i);
        equal += isnan(x) ? isnan(y) != 0 : x == y && signbit(x) == signbit(y);
    }
    return equal;
}
