/* One MatMul without a model: its operands are given to a lane as a model's inputs are, and the
 * operator's row computes it. */
#include <ulpscope/array.h>

#include "base/error.h"
#include "base/machine/environment.h"
#include "ops/operator.h"
#include "run/lane.h"

/* Of MatMul's newest meaning. */
#define MATMUL_OPSET 13

static enum ulp_status check_operands(const struct ulp_arithmetic *arithmetic,
                                      const struct ulp_tensor *a, const struct ulp_tensor *b,
                                      struct ulp_error *error)
{
    if (arithmetic->as_declared)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "'%s' takes its types from a model: name an arithmetic, such as fp16@h200",
                        arithmetic->name);
    if (a->type != b->type)
        return ulp_fail(error, ULP_ERROR_USAGE, "a is %s and b is %s: expected one type",
                        ulp_type_name(a->type), ulp_type_name(b->type));
    switch (a->type) {
    case ULP_TYPE_FLOAT:
    case ULP_TYPE_FLOAT16:
    case ULP_TYPE_BFLOAT16:
    case ULP_TYPE_DOUBLE:
    case ULP_TYPE_INT32:
    case ULP_TYPE_UINT32:
    case ULP_TYPE_INT64:
    case ULP_TYPE_UINT64: break;
    default:
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a and b are %s: expected FLOAT, FLOAT16, BFLOAT16, DOUBLE, or integers "
                        "of 32 or 64 bits",
                        ulp_type_name(a->type));
    }
    if ((a->count && !a->data) || (b->count && !b->data))
        return ulp_fail(error, ULP_ERROR_USAGE, "a or b has no memory");
    return ULP_OK;
}

/* An operand as the model's type declares it, then as the arithmetic stores it. */
static enum ulp_status store(struct ulp_tensor *out, const struct ulp_tensor *given,
                             const struct ulp_arithmetic *arithmetic, struct ulp_pool *pool,
                             struct ulp_error *error)
{
    struct ulp_format from = {0};
    if (ulp_element_is_float(given->element))
        ULP_TRY(ulp_format_find(ulp_type_rows[given->type].format, &from, error));
    return ulp_adapt(out, given, &from, arithmetic, false, NULL, pool, error);
}

static enum ulp_status run_node(struct ulp_tensor *out, const struct ulp_arithmetic *arithmetic,
                                const struct ulp_tensor *const in[2], struct ulp_pool *pool,
                                struct ulp_error *error)
{
    static const int numbers[] = {0, 1, 2};
    const struct ulp_node node = {.name = "MatMul",
                                  .op_type = "MatMul",
                                  .domain = "",
                                  .overload = "",
                                  .input_count = 2,
                                  .inputs = numbers,
                                  .output_count = 1,
                                  .outputs = numbers + 2};
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    ULP_SCOPED(ulp_unbind) struct ulp_bound bound = {0};
    ULP_TRY(ulp_arena_create(&arena, NULL, error));
    ULP_TRY(ulp_bind(&bound, &node, MATMUL_OPSET, arena, error));
    struct ulp_call call = {.bound = &bound,
                            .arithmetic = arithmetic,
                            .input_count = 2,
                            .output_count = 1,
                            .in = in,
                            .out = out,
                            .scratch = arena,
                            .pool = pool};
    return ulp_call_run(&call, error);
}

enum ulp_status ulp_array_matmul(struct ulp_tensor *out, const struct ulp_arithmetic *arithmetic,
                                 const struct ulp_tensor *a, const struct ulp_tensor *b,
                                 int thread_count, struct ulp_error *error)
{
    ULP_ENTER(error);
    ULP_SCOPED(ulp_pool_free_of) struct ulp_pool *pool = NULL;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor left = {0}, right = {0};
    *out = (struct ulp_tensor){0};
    ULP_TRY(check_operands(arithmetic, a, b, error));
    ULP_TRY(ulp_pool_create(&pool, thread_count, error));
    ULP_TRY(store(&left, a, arithmetic, pool, error));
    ULP_TRY(store(&right, b, arithmetic, pool, error));
    const enum ulp_status status =
        run_node(out, arithmetic, (const struct ulp_tensor *[]){&left, &right}, pool, error);
    if (status != ULP_OK)
        ulp_tensor_free(out);
    return status;
}
