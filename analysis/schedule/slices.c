/* Products compared bit for bit with recorded ones, under one schedule after the other. */
#include "analysis/schedule/slices.h"

#include <math.h>
#include <stdio.h>

#include <ulpscope/array.h>

#include "base/error.h"
#include "base/machine/environment.h"

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

static enum ulp_status check_shapes(const struct ulp_tensor *a, const struct ulp_tensor *b,
                                    const struct ulp_tensor *d, struct ulp_error *error)
{
    if (a->rank != 2 || b->rank != 2 || d->rank != 2 || a->dims[1] != b->dims[0] ||
        d->dims[0] != a->dims[0] || d->dims[1] != b->dims[1])
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a product is compared of matrices a [m, k], b [k, n] and d [m, n]");
    if (!ulp_type_is_float(a->type) || !ulp_type_is_float(b->type) || !ulp_type_is_float(d->type))
        return ulp_fail(error, ULP_ERROR_USAGE, "a product is compared of floats");
    return ULP_OK;
}

enum ulp_status ulp_product_compare(const struct ulp_arithmetic *arithmetic,
                                    const struct ulp_tensor *a, const struct ulp_tensor *b,
                                    const struct ulp_tensor *d, int thread_count, size_t *equal,
                                    struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor out = {0};
    *equal = 0;
    ULP_TRY(check_shapes(a, b, d, error));
    ULP_TRY(ulp_array_matmul(&out, arithmetic, a, b, thread_count, error));
    *equal = ulp_equal_elements(&out, d);
    return ULP_OK;
}

enum ulp_status ulp_slices_find(const struct ulp_arithmetic *arithmetic, const struct ulp_tensor *a,
                                const struct ulp_tensor *b, const struct ulp_tensor *d,
                                int thread_count, struct ulp_slices *out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    *out = (struct ulp_slices){.elements = d->count};
    for (size_t i = 0; ulp_slices_tried(i); i++) {
        struct ulp_arithmetic one;
        ULP_TRY(ulp_slices_arithmetic(&one, arithmetic, ulp_slices_tried(i), error));
        ULP_TRY(ulp_product_compare(&one, a, b, d, thread_count, &out->equal[i], error));
        if (!out->found && out->equal[i] == out->elements)
            out->found = ulp_slices_tried(i);
    }
    return ULP_OK;
}
