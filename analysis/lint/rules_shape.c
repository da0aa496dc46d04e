/* Rules about shapes. */
#include "analysis/lint/lint.h"

#include <ulpscope/run.h>

#include "tensor/tensor.h"

void ulp_lint_reshape(struct ulp_lint *lint, struct ulp_lint_place place)
{
    const struct ulp_tensor *shape = ulp_lint_is(place, "Reshape")
                                         ? ulp_lint_constant(place.graph, ulp_lint_input(place, 1))
                                         : NULL;
    if (!shape || !ulp_lint_int(place, "allowzero", 0))
        return;
    for (size_t i = 0; i < shape->count; i++)
        if (ulp_tensor_get_int(shape, i) == 0) {
            ulp_lint_add(lint, place, NULL, "dimension %zu of the new shape is 0", i);
            return;
        }
}

/* Plan the model with that size of every free first dimension. */
static enum ulp_status plan_with(const struct ulp_lint *lint, int64_t size,
                                 struct ulp_dim_value *dims, size_t count, struct ulp_error *error)
{
    struct ulp_arithmetic arithmetic;
    struct ulp_plan *plan = NULL;
    const struct ulp_plan_options options = {.dims = dims, .dim_count = count};
    for (size_t d = 0; d < count; d++)
        dims[d].value = size;
    enum ulp_status status = ulp_arithmetic_find("model", &arithmetic, error);
    if (status == ULP_OK)
        status = ulp_plan_create(lint->model, &arithmetic, 1, &options, &plan, error);
    ulp_plan_free(plan);
    return status;
}

/* The first dimension is what exporters fix: a batch of 1 in the target of a Reshape. */
void ulp_lint_shape(struct ulp_lint *lint)
{
    const struct ulp_lint_place nowhere = {0};
    const size_t inputs = ulp_model_input_count(lint->model);
    struct ulp_dim_value *dims = ulp_arena_take(lint->arena, inputs + 1, sizeof *dims);
    size_t count = 0;
    if (!dims) {
        lint->failed = true;
        return;
    }
    for (size_t i = 0; i < inputs; i++) {
        const struct ulp_value_info info = ulp_model_input(lint->model, i);
        if (info.rank > 0 && info.dims[0] < 0 && info.dim_names[0])
            dims[count++].name = info.dim_names[0];
    }
    struct ulp_error two, one;
    if (count && plan_with(lint, 2, dims, count, &two) == ULP_ERROR_INPUT &&
        plan_with(lint, 1, dims, count, &one) == ULP_OK)
        ulp_lint_add(lint, nowhere, dims[0].name, "'%s' can be 1, and cannot be 2: %.300s",
                     dims[0].name, two.message);
}
