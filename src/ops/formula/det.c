/* Det: elimination with partial pivoting, each step a formula over the rows below the pivot. */
#include "base/error.h"
#include "ops/compare.h"
#include "ops/ops_move.h"

static enum ulp_status infer_det(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    if (in->rank < 2 || in->dims[in->rank - 1] != in->dims[in->rank - 2])
        return ULP_REFUSE(call, "the input is no square matrix");
    return ulp_call_describe(call, 0, in->type, in->rank - 2, in->dims);
}

static const struct ulp_formula magnitude = {"x", "y", "abs(x)"},
                                eliminated = {"x first top pivot", "x", "x - first / pivot * top"},
                                product = {"x", "y", "row_product(x)"},
                                negated = {"x", "y", "-row_product(x)"};

/* The row at or below k whose element in column k is largest; `sizes` holds the column's
 * magnitudes. */
static enum ulp_status find_pivot(struct ulp_call *call, const struct ulp_arithmetic *inner,
                                  const struct ulp_tensor *a, size_t n, size_t k,
                                  struct ulp_tensor *sizes, size_t *pivot)
{
    const struct ulp_tensor column = ulp_tensor_view_from(a, k);
    const struct ulp_rows rows = {.row_count = 1, .row_length = n};
    const struct ulp_named_operand x = {"x", {.tensor = &column, .position_stride = (int64_t)n}};
    const struct ulp_named_operand y = {"y", {.tensor = sizes, .position_stride = 1}};
    ULP_TRY(ulp_call_formula(call, &magnitude, inner, &rows, 1, &x, 1, &y));
    *pivot = k;
    for (size_t i = k + 1; i < n; i++)
        if (ulp_compare(sizes, i, *pivot) > 0)
            *pivot = i;
    return ULP_OK;
}

/* Rows below k: x - (x_k / pivot) * row k, from column k + 1 on. */
static enum ulp_status eliminate(struct ulp_call *call, const struct ulp_arithmetic *inner,
                                 struct ulp_tensor *a, size_t n, size_t k)
{
    const struct ulp_rows rows = {.row_count = n - k - 1, .row_length = n - k - 1};
    const struct ulp_tensor x = ulp_tensor_view_from(a, (k + 1) * n + k + 1),
                            first = ulp_tensor_view_from(a, (k + 1) * n + k);
    const struct ulp_tensor top = ulp_tensor_view_from(a, k * n + k + 1),
                            pivot = ulp_tensor_view_from(a, k * n + k);
    const struct ulp_named_operand operands[] = {
        {"x", {.tensor = &x, .row_stride = (int64_t)n, .position_stride = 1}},
        {"first", {.tensor = &first, .row_stride = (int64_t)n}},
        {"top", {.tensor = &top, .position_stride = 1}},
        {"pivot", {.tensor = &pivot}},
    };
    return rows.row_count
               ? ulp_call_formula(call, &eliminated, inner, &rows, 4, operands, 1, operands)
               : ULP_OK;
}

static enum ulp_status run_det(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    const size_t n = (size_t)in->dims[in->rank - 1];
    const struct ulp_arithmetic inner = ulp_call_unrounded(call);
    struct ulp_tensor a, sizes, row;
    const int64_t dims[] = {(int64_t)n, (int64_t)n};
    ULP_TRY(ulp_call_temporary_in(call, &a, &inner.storage, 2, dims));
    ULP_TRY(ulp_call_temporary_in(call, &sizes, &inner.storage, 1, dims));
    ULP_TRY(ulp_call_temporary_in(call, &row, &inner.storage, 1, dims));
    for (size_t m = 0; m < call->out[0].count; m++) {
        bool negative = false;
        const struct ulp_tensor result = ulp_tensor_view_from(&call->out[0], m);
        struct ulp_tensor matrix = ulp_tensor_view_from(in, m * n * n);
        matrix.count = n * n;
        ULP_TRY(
            ulp_tensor_convert(&a, &matrix, NULL, ULP_ROUND_NEAREST_EVEN, 0, NULL, call->error));
        for (size_t k = 0; k < n; k++) {
            size_t pivot;
            ULP_TRY(find_pivot(call, &inner, &a, n, k, &sizes, &pivot));
            if (ulp_is_zero(&sizes, pivot))
                break; /* a zero column: the diagonal keeps its 0 */
            if (pivot != k) {
                ulp_move_run(&row, 0, &a, k * n, n);
                ulp_move_run(&a, k * n, &a, pivot * n, n);
                ulp_move_run(&a, pivot * n, &row, 0, n);
                negative = !negative;
            }
            ULP_TRY(eliminate(call, &inner, &a, n, k));
        }
        const struct ulp_rows rows = {.row_count = 1, .row_length = n};
        const struct ulp_named_operand x = {"x", {.tensor = &a, .position_stride = (int64_t)n + 1}},
                                       y = {"y", {.tensor = &result}};
        ULP_TRY(ulp_call_formula(call, negative ? &negated : &product, call->arithmetic, &rows, 1,
                                 &x, 1, &y));
    }
    return ULP_OK;
}

/* clang-format off */
const struct ulp_operator ulp_ops_det[] = {
    {.name = "Det", .since = 11, .inputs = "x:n", .outputs = "y", .infer = infer_det, .run = run_det,
     .formulas = ULP_FORMULAS(&magnitude, &eliminated, &product, &negated)},
    {0},
};
/* clang-format on */
