/* Products compared bit for bit with recorded ones, under one schedule after the other. */
#include "analysis/slices.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/machine/environment.h"
#include "base/memory/alloc.h"
#include "kernels/contract.h"
#include "tensor/tensor.h"

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

/* A matrix in the arithmetic's storage, and where its lines and their elements are. */
struct side {
    struct ulp_tensor tensor;
    int64_t *line, *k;
};

static enum ulp_status open_side(struct side *out, const struct ulp_tensor *matrix,
                                 const struct ulp_arithmetic *arithmetic, bool by_columns,
                                 struct ulp_pool *pool, struct ulp_error *error)
{
    const size_t rows = (size_t)matrix->dims[0], columns = (size_t)matrix->dims[1];
    const size_t lines = by_columns ? columns : rows, length = by_columns ? rows : columns;
    void *line = NULL, *k = NULL;
    enum ulp_status status =
        ulp_tensor_describe(&out->tensor, matrix->type, ulp_storage_element(&arithmetic->storage),
                            arithmetic->storage.precision, matrix->rank, matrix->dims, error);
    if (status == ULP_OK)
        status = ulp_tensor_allocate(&out->tensor, NULL, error);
    if (status == ULP_OK)
        status = ulp_tensor_convert(&out->tensor, matrix, &arithmetic->storage,
                                    ULP_ROUND_NEAREST_EVEN, 0, pool, error);
    if (status == ULP_OK)
        status = ulp_allocate(&line, lines + 1, sizeof *out->line, NULL, "offsets", error);
    if (status == ULP_OK)
        status = ulp_allocate(&k, length + 1, sizeof *out->k, NULL, "offsets", error);
    out->line = line;
    out->k = k;
    if (status != ULP_OK)
        return status;
    for (size_t i = 0; i < lines; i++)
        out->line[i] = (int64_t)(by_columns ? i : i * columns);
    for (size_t i = 0; i < length; i++)
        out->k[i] = (int64_t)(by_columns ? i * columns : i);
    return ULP_OK;
}

static void close_side(struct side *side)
{
    ulp_tensor_free(&side->tensor);
    ulp_free(side->line);
    ulp_free(side->k);
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

/* All elements of `out`, which is as d in the arithmetic's storage. */
static enum ulp_status multiply(const struct ulp_arithmetic *arithmetic, const struct side *a,
                                const struct side *b, const struct ulp_tensor *d,
                                struct ulp_pool *pool, struct ulp_tensor *out,
                                struct ulp_error *error)
{
    const size_t m = (size_t)d->dims[0], n = (size_t)d->dims[1];
    void *row = NULL, *column = NULL;
    enum ulp_status status =
        ulp_tensor_describe(out, d->type, ulp_storage_element(&arithmetic->storage),
                            arithmetic->storage.precision, d->rank, d->dims, error);
    if (status == ULP_OK)
        status = ulp_tensor_allocate(out, NULL, error);
    if (status == ULP_OK)
        status = ulp_allocate(&row, m + 1, sizeof(int64_t), NULL, "offsets", error);
    if (status == ULP_OK)
        status = ulp_allocate(&column, n + 1, sizeof(int64_t), NULL, "offsets", error);
    if (status == ULP_OK) {
        for (size_t i = 0; i < m; i++)
            ((int64_t *)row)[i] = (int64_t)(i * n);
        for (size_t j = 0; j < n; j++)
            ((int64_t *)column)[j] = (int64_t)j;
        const struct ulp_contraction problem = {
            .batch_count = 1,
            .m = m,
            .n = n,
            .k = (size_t)(a->tensor.dims[1]),
            .a = {.tensor = &a->tensor, .line_offset = a->line, .k_offset = a->k},
            .b = {.tensor = &b->tensor, .line_offset = b->line, .k_offset = b->k},
            .out = out,
            .out_row_offset = row,
            .out_column_offset = column,
            .store = true};
        status = ulp_contract(arithmetic, &problem, pool, error);
    }
    ulp_free(row);
    ulp_free(column);
    return status;
}

enum ulp_status ulp_product_compare(const struct ulp_arithmetic *arithmetic,
                                    const struct ulp_tensor *a, const struct ulp_tensor *b,
                                    const struct ulp_tensor *d, int thread_count, size_t *equal,
                                    struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct side left = {0}, right = {0};
    struct ulp_tensor out = {0};
    struct ulp_pool *pool = NULL;
    *equal = 0;
    if (arithmetic->schedule.split_k == ULP_SPLIT_AUTO || arithmetic->as_declared)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s: a product needs one schedule",
                        arithmetic->name);
    enum ulp_status status = check_shapes(a, b, d, error);
    if (status == ULP_OK)
        status = ulp_pool_create(&pool, thread_count, error);
    if (status == ULP_OK)
        status = open_side(&left, a, arithmetic, false, pool, error);
    if (status == ULP_OK)
        status = open_side(&right, b, arithmetic, true, pool, error);
    if (status == ULP_OK)
        status = multiply(arithmetic, &left, &right, d, pool, &out, error);
    if (status == ULP_OK)
        *equal = ulp_equal_elements(&out, d);
    ulp_tensor_free(&out);
    close_side(&left);
    close_side(&right);
    ulp_pool_free(pool);
    return status;
}

enum ulp_status ulp_slices_find(const struct ulp_arithmetic *arithmetic, const struct ulp_tensor *a,
                                const struct ulp_tensor *b, const struct ulp_tensor *d,
                                int thread_count, struct ulp_slices *out, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    enum ulp_status status = ULP_OK;
    *out = (struct ulp_slices){.elements = d->count};
    for (size_t i = 0; ulp_slices_tried(i) && status == ULP_OK; i++) {
        struct ulp_arithmetic one;
        status = ulp_slices_arithmetic(&one, arithmetic, ulp_slices_tried(i), error);
        if (status == ULP_OK)
            status = ulp_product_compare(&one, a, b, d, thread_count, &out->equal[i], error);
        if (status == ULP_OK && !out->found && out->equal[i] == out->elements)
            out->found = ulp_slices_tried(i);
    }
    return status;
}
