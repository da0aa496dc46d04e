/* Rules about shapes. */
#include "analysis/lint/lint.h"

#include <math.h>
#include <string.h>

#include <ulpscope/run.h>

#include "base/error.h"
#include "run/program/program.h"

void ulp_lint_reshape(struct ulp_lint *lint, struct ulp_lint_place place)
{
    const struct ulp_tensor *shape = ulp_lint_constant(place.graph, ulp_lint_input(place, 1));
    if (!shape || !ulp_lint_int(place, "allowzero", 0))
        return;
    for (size_t i = 0; i < shape->count; i++)
        if (ulp_tensor_get_int(shape, i) == 0) {
            ulp_lint_add(lint, place, NULL, "dimension %zu of the new shape is 0", i);
            return;
        }
}

/* A normalisation by the batch's own mean and variance, or a Dropout that drops: as in training. */
void ulp_lint_training(struct ulp_lint *lint, struct ulp_lint_place place)
{
    const bool batch = ulp_lint_is(place, "BatchNormalization"),
               dropout = ulp_lint_is(place, "Dropout");
    double drops = 0, part = 0.5;
    if (dropout) {
        ulp_lint_scalar(place.graph, ulp_lint_input(place, 1), &part);
        ulp_lint_scalar(place.graph, ulp_lint_input(place, 2), &drops);
    }
    if (batch && ulp_lint_int(place, "training_mode", 0))
        ulp_lint_add(lint, place, NULL,
                     "it takes mean and variance of what it reads, not the recorded ones");
    else if (drops != 0 && part > 0)
        ulp_lint_add(lint, place, NULL, "it drops %.3g %% of what it reads, others in every run",
                     100 * part);
}

/* Plan the model with these sizes of its free dimensions. */
static enum ulp_status plan_with(const struct ulp_lint *lint, struct ulp_dim_value *dims,
                                 size_t count, struct ulp_error *error)
{
    struct ulp_arithmetic arithmetic;
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    const struct ulp_program_options options = {.dims = dims, .dim_count = count};
    ULP_TRY(ulp_arithmetic_find("model", &arithmetic, error));
    return ulp_program_create(lint->model, &arithmetic, 1, &options, &program, error);
}

static void set_all(struct ulp_dim_value *dims, size_t count, int64_t size)
{
    for (size_t d = 0; d < count; d++)
        dims[d].value = size;
}

/* The names of the inputs' dimensions at one position, which are not in the list. */
static void add_dims(const struct ulp_lint *lint, int position, struct ulp_dim_value *dims,
                     size_t *count)
{
    for (size_t i = 0; i < ulp_model_input_count(lint->model); i++) {
        const struct ulp_value_info info = ulp_model_input(lint->model, i);
        size_t d = 0;
        if (position >= info.rank || info.dims[position] >= 0 || !info.dim_names[position])
            continue;
        while (d < *count && strcmp(dims[d].name, info.dim_names[position]) != 0)
            d++;
        if (d == *count)
            dims[(*count)++].name = info.dim_names[position];
    }
}

/* What exporters fix is a batch of 1 in the target of a Reshape. Dimensions may depend on each
 * other, so one is named only where neither it alone nor all of them can be 2; first dimensions
 * first. */
void ulp_lint_shape(struct ulp_lint *lint)
{
    const struct ulp_lint_place nowhere = {0};
    const size_t most = ulp_model_input_count(lint->model) * ULP_RANK_MAX;
    struct ulp_dim_value *dims = ulp_arena_take(lint->arena, most + 1, sizeof *dims);
    struct ulp_error two, one;
    size_t count = 0;
    if (!dims) {
        lint->failed = true;
        return;
    }
    for (int position = 0; position < ULP_RANK_MAX; position++)
        add_dims(lint, position, dims, &count);
    set_all(dims, count, 2);
    if (!count || plan_with(lint, dims, count, &two) != ULP_ERROR_INPUT)
        return;
    set_all(dims, count, 1);
    if (plan_with(lint, dims, count, &one) != ULP_OK)
        return;
    for (size_t d = 0; d < count; d++) {
        dims[d].value = 2;
        if (plan_with(lint, dims, count, &two) == ULP_ERROR_INPUT) {
            ulp_lint_add(lint, nowhere, dims[d].name, "'%s' can be 1, and cannot be 2: %.300s",
                         dims[d].name, two.message);
            return;
        }
        dims[d].value = 1;
    }
}

/* Whether the kernel is one element, without strides or padding, or as large as the input, which
 * is not known where the shape is not. */
static bool is_product(struct ulp_lint *lint, struct ulp_lint_place place,
                       const struct ulp_tensor *weights)
{
    static const char *const lists[] = {"strides", "pads"};
    bool one = true, whole;
    for (size_t l = 0; l < 2; l++) {
        const struct ulp_attribute *list = ulp_node_attribute(place.node, lists[l]);
        for (size_t i = 0; list && i < list->count; i++)
            one &= list->ints[i] == (l ? 0 : 1);
    }
    ulp_lint_plan(lint);
    const struct ulp_tensor *x =
        lint->planned ? ulp_lint_shape_of(lint, 0, place.graph, ulp_lint_input(place, 0)) : NULL;
    whole = x && x->rank == weights->rank;
    for (int d = 2; d < weights->rank; d++) {
        whole = whole && x->dims[d] == weights->dims[d];
        one &= weights->dims[d] == 1;
    }
    return one || whole;
}

/* Is it a BatchNormalization of a matrix? */
static bool is_norm_of_matrix(struct ulp_lint *lint, struct ulp_lint_place norm)
{
    if (!ulp_lint_is(norm, "BatchNormalization"))
        return false;
    ulp_lint_plan(lint);
    const struct ulp_tensor *x =
        lint->planned ? ulp_lint_shape_of(lint, 0, norm.graph, ulp_lint_input(norm, 0)) : NULL;
    return x && x->rank == 2;
}

/* Of a MatMul, does the optimiser make a Gemm of it and the Add of a constant behind it? */
static bool becomes_gemm(struct ulp_lint_place place)
{
    const int out = ulp_lint_output(place, 0);
    if (ulp_lint_is(place, "Gemm"))
        return true;
    if (!ulp_lint_is(place, "MatMul") || ulp_lint_reader_count(place.graph, out) != 1)
        return false;
    const struct ulp_lint_place add = ulp_lint_reader(place.graph, out, 0);
    return ulp_lint_is(add, "Add") &&
           ulp_lint_constant(place.graph, ulp_lint_input(add, ulp_lint_input(add, 0) == out));
}

void ulp_lint_norm_webgpu(struct ulp_lint *lint, struct ulp_lint_place place)
{
    for (size_t i = 0; i < 2 && lint->targets == ULP_TARGET_ORT_WEBGPU && becomes_gemm(place); i++)
        if (is_norm_of_matrix(lint, ulp_lint_source(place, i))) {
            ulp_lint_add(lint, place, NULL, "its %s factor is a BatchNormalization of [n, c]",
                         i ? "second" : "first");
            return;
        }
}

void ulp_lint_hardswish_qnn(struct ulp_lint *lint, struct ulp_lint_place place)
{
    if (!ulp_lint_is(place, "HardSigmoid") || lint->targets != ULP_TARGET_QNN ||
        !place.node->named || fabs(ulp_node_float(place.node, "alpha", 0.2) - 1 / 6.0) > 1e-6 ||
        fabs(ulp_node_float(place.node, "beta", 0.5) - 0.5) > 1e-6)
        return;
    const struct ulp_lint_place product = ulp_lint_only_reader(place);
    if (ulp_lint_is(product, "Mul") && ulp_lint_input(product, 0) == ulp_lint_input(place, 0) &&
        ulp_lint_input(product, 1) == place.node->outputs[0])
        ulp_lint_add(lint, place, NULL,
                     "onnxruntime-qnn 2.7.0 multiplies x HardSigmoid(x) by x once more");
}

void ulp_lint_conv_webgpu(struct ulp_lint *lint, struct ulp_lint_place place)
{
    const struct ulp_tensor *weights =
        lint->targets == ULP_TARGET_ORT_WEBGPU
            ? ulp_lint_constant(place.graph, ulp_lint_input(place, 1))
            : NULL;
    if (!weights || weights->rank < 3 || weights->rank > 4 || ulp_lint_int(place, "group", 1) != 1)
        return;
    const int64_t channels = weights->dims[1], features = weights->dims[0];
    if (channels > 3 && channels % 3 == 0 && channels % 4 != 0 && features % 4 == 0 &&
        !is_product(lint, place, weights))
        ulp_lint_add(lint, place, NULL,
                     "the WebGPU provider computes it wrongly, of %lld input channels and %lld "
                     "output channels",
                     (long long)channels, (long long)features);
}
