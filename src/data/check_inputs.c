/* Checking that arrays have the names, types and shapes that the model takes. */
#include <stdio.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/text/names.h"
#include "base/text/text.h"
#include "data/data.h"
#include "tensor/tensor.h"

/* "FLOAT[batch,3,224,224]" as the model declares it. */
static const char *declared_text(const struct ulp_value_info *info, char *buffer, size_t size)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ulp_text_add(&text, "%s[", ulp_type_name(info->type));
    for (int d = 0; d < info->rank; d++) {
        if (info->dims[d] >= 0)
            ulp_text_add(&text, d ? ",%lld" : "%lld", (long long)info->dims[d]);
        else
            ulp_text_add(&text, d ? ",%s" : "%s", info->dim_names[d] ? info->dim_names[d] : "?");
    }
    ulp_text_add(&text, info->rank < 0 ? "...]" : "]");
    size_t length = text.failed ? 0 : text.length < size - 1 ? text.length : size - 1;
    memcpy(buffer, text.data ? text.data : "", length);
    buffer[length] = '\0';
    return buffer;
}

/* Integers of 4 or 2 bits are bytes in arrays of numpy's, which has no such types. */
static bool is_bytes_of(const struct ulp_tensor *given, enum ulp_type declared)
{
    return (given->type == ULP_TYPE_INT8 || given->type == ULP_TYPE_UINT8) &&
           given->element == ulp_type_rows[declared].element &&
           ulp_type_rows[declared].file_bits < 8;
}

static enum ulp_status check_range(const char *name, const struct ulp_tensor *given,
                                   enum ulp_type declared, struct ulp_error *error)
{
    double low, high;
    ulp_integer_range(declared, &low, &high);
    for (size_t i = 0; i < given->count; i++) {
        const double x = ulp_tensor_get(given, i);
        if (x < low || x > high)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "input '%s': the model declares %s, from %g to %g, and element %zu of "
                            "the array is %g",
                            name, ulp_type_name(declared), low, high, i, x);
    }
    return ULP_OK;
}

/* The array is not what the model declares. */
static enum ulp_status refuse_given(const struct ulp_value_info *info,
                                    const struct ulp_tensor *given, const char *advice,
                                    struct ulp_error *error)
{
    char declared[400], found[200];
    return ulp_fail(error, ULP_ERROR_INPUT, "input '%s': the model declares %s, the array is %s%s",
                    info->name, declared_text(info, declared, sizeof declared),
                    ulp_tensor_describe_text(given, found, sizeof found), advice);
}

static enum ulp_status refuse_missing(const struct ulp_value_info *info,
                                      const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    char declared[400];
    ULP_SCOPED(ulp_text_free) struct ulp_text names = {0};
    for (size_t i = 0; i < inputs->count; i++)
        ulp_text_add(&names, "%s'%s'", i ? ", " : "", inputs->items[i].name);
    return ulp_fail(error, ULP_ERROR_INPUT, "input '%s' (%s) is not among the arrays given: %s",
                    info->name, declared_text(info, declared, sizeof declared),
                    names.length ? names.data : "none");
}

static enum ulp_status check_input(const struct ulp_value_info *info,
                                   const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    const struct ulp_tensor *given = ulp_tensor_set_find(inputs, info->name);
    if (!given)
        return refuse_missing(info, inputs, error);
    const bool bytes = is_bytes_of(given, info->type);
    if (info->type != ULP_TYPE_UNDEFINED && given->type != info->type && !bytes &&
        !(ulp_type_is_float(given->type) && ulp_type_is_float(info->type)))
        return refuse_given(info, given, "; convert it first", error);
    if (info->rank >= 0 && given->rank != info->rank)
        return refuse_given(info, given, "", error);
    for (int d = 0; d < info->rank; d++)
        if (info->dims[d] >= 0 && given->dims[d] != info->dims[d]) {
            char which[40];
            snprintf(which, sizeof which, " (dimension %d)", d);
            return refuse_given(info, given, which, error);
        }
    return bytes ? check_range(info->name, given, info->type, error) : ULP_OK;
}

/* An array that is no input; inputs and arrays both have each name once, and every input is among
 * the arrays. */
static enum ulp_status refuse_other(const struct ulp_model *model,
                                    const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    const size_t count = ulp_model_input_count(model);
    ULP_SCOPED(ulp_names_free) struct ulp_names names = {.budget = ulp_model_budget(model)};
    for (size_t i = 0; i < count; i++)
        if (!ulp_names_add(&names, ulp_model_input(model, i).name, (int)i))
            return ulp_out_of_memory(error);
    for (size_t n = 0; n < inputs->count; n++)
        if (ulp_names_find(&names, inputs->items[n].name) < 0)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "array '%s' is not an input of the model (its first input is '%s')",
                            inputs->items[n].name,
                            count ? ulp_model_input(model, 0).name : "none: it has no inputs");
    return ULP_OK;
}

enum ulp_status ulp_model_check_inputs(const struct ulp_model *model,
                                       const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        ULP_TRY(check_input(&info, inputs, error));
    }
    if (inputs->count != ulp_model_input_count(model))
        ULP_TRY(refuse_other(model, inputs, error));
    return ULP_OK;
}
