/* Checking that arrays have the names, types and shapes that the model takes, and taking those that
 * differ in form alone. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/text/names.h"
#include "base/text/text.h"
#include "data/data.h"
#include "graph/graph.h"
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

/* which: what is said of the array behind it. */
static enum ulp_status check_shape(const struct ulp_value_info *info,
                                   const struct ulp_tensor *given, const char *which,
                                   struct ulp_error *error)
{
    if (info->rank >= 0 && given->rank != info->rank)
        return refuse_given(info, given, which, error);
    for (int d = 0; d < info->rank; d++)
        if (info->dims[d] >= 0 && given->dims[d] != info->dims[d]) {
            char where[200];
            snprintf(where, sizeof where, " (dimension %d)%s", d, which);
            return refuse_given(info, given, where, error);
        }
    return ULP_OK;
}

/* As it lies, or to be rounded by who runs the model. */
static bool is_taken_as_given(const struct ulp_value_info *info, const struct ulp_tensor *given)
{
    return info->type == ULP_TYPE_UNDEFINED || given->type == info->type ||
           is_bytes_of(given, info->type) ||
           (ulp_type_is_float(given->type) && ulp_type_is_float(info->type));
}

static enum ulp_status check_input(const struct ulp_value_info *info,
                                   const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    const struct ulp_tensor *given = ulp_tensor_set_find(inputs, info->name);
    if (!given)
        return refuse_missing(info, inputs, error);
    if (!is_taken_as_given(info, given))
        return refuse_given(info, given, "; convert it first", error);
    ULP_TRY(check_shape(info, given, "", error));
    return is_bytes_of(given, info->type) ? check_range(info->name, given, info->type, error)
                                          : ULP_OK;
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
    ULP_ENTER(error);
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        ULP_TRY(check_input(&info, inputs, error));
    }
    if (inputs->count != ulp_model_input_count(model))
        ULP_TRY(refuse_other(model, inputs, error));
    return ULP_OK;
}

/* "arr_12": its number, and how long what stands before it is; -1: none. */
static long number_of(const char *name, size_t *stem)
{
    *stem = strlen(name);
    while (*stem && name[*stem - 1] >= '0' && name[*stem - 1] <= '9')
        --*stem;
    return name[*stem] && strlen(name + *stem) < 10 ? atol(name + *stem) : -1;
}

/* Names that say no more than the place, from 0 or 1 on: arr_0, arr_1, ... as numpy.savez gives
 * them, input_0 and the like. order: where each place is. */
static bool are_places(const struct ulp_tensor_set *arrays, size_t *order)
{
    const char *first = arrays->items[0].name;
    long least = LONG_MAX;
    for (size_t i = 0; i < arrays->count; i++) {
        size_t length, stem;
        const long number = number_of(arrays->items[i].name, &stem);
        number_of(first, &length);
        if (number < 0 || stem != length || strncmp(arrays->items[i].name, first, stem) != 0)
            return false;
        least = number < least ? number : least;
        order[i] = SIZE_MAX;
    }
    for (size_t i = 0; i < arrays->count; i++) {
        size_t stem;
        const size_t place = (size_t)(number_of(arrays->items[i].name, &stem) - least);
        if (place >= arrays->count || order[place] != SIZE_MAX)
            return false;
        order[place] = i;
    }
    return least <= 1;
}

static bool are_named(const struct ulp_model *model, const struct ulp_tensor_set *arrays)
{
    for (size_t i = 0; i < ulp_model_input_count(model); i++)
        if (!ulp_tensor_set_find(arrays, ulp_model_input(model, i).name))
            return false;
    return true;
}

/* Whether a tensor of the model has these elements: its weights are in some files of inputs, too.
 */
static bool is_constant(const struct ulp_model *model, const struct ulp_tensor *array)
{
    for (size_t t = 0; t < model->tensor_count; t++) {
        const struct ulp_tensor *own = model->tensors[t];
        size_t i = 0;
        if (own->element == ULP_ELEMENT_COUNT || !ulp_tensor_same_shape(own, array))
            continue;
        while (i < array->count && ulp_tensor_read(own, i) == ulp_tensor_read(array, i))
            i++;
        if (i == array->count)
            return true;
    }
    return false;
}

/* Which arrays are the inputs, in their order, and behind them the others; false: cannot tell. */
static bool find_order(const struct ulp_model *model, const struct ulp_tensor_set *arrays,
                       size_t *order)
{
    const size_t count = ulp_model_input_count(model);
    size_t others = count;
    if (!are_named(model, arrays))
        return are_places(arrays, order);
    for (size_t a = 0; a < arrays->count; a++)
        order[a] = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        order[i] = (size_t)ulp_names_find(arrays->names, ulp_model_input(model, i).name);
    for (size_t a = 0; a < arrays->count; a++) {
        bool is_input = false;
        for (size_t i = 0; i < count; i++)
            is_input |= order[i] == a;
        if (!is_input)
            order[others++] = a;
    }
    return true;
}

/* The first `count` arrays in `order` get the names of the model's inputs or outputs; the others
 * go. An output's shape is for whoever compares it. */
static enum ulp_status take_in_order(const struct ulp_model *model, bool are_inputs, size_t count,
                                     const size_t *order, struct ulp_tensor_set *arrays,
                                     struct ulp_text *notes, struct ulp_error *error)
{
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set named = {0};
    const size_t start = notes->length;
    for (size_t i = 0; i < count; i++) {
        const struct ulp_value_info info =
            are_inputs ? ulp_model_input(model, i) : ulp_model_output(model, i);
        struct ulp_named_tensor *array = &arrays->items[order[i]];
        const bool is_other = strcmp(array->name, info.name) != 0;
        char which[120] = "";
        if (is_other) {
            snprintf(which, sizeof which, "; '%.60s' is taken for it by its position", array->name);
            ulp_text_add(notes, "%s'%s' is %s %s",
                         notes->length > start ? ", " : "by position: ", array->name,
                         are_inputs ? "input" : "output", info.name);
        }
        if (are_inputs)
            ULP_TRY(check_shape(&info, &array->tensor, which, error));
        ULP_TRY(ulp_tensor_set_add(&named, info.name, &array->tensor, error));
    }
    ulp_text_add(notes, notes->length > start ? "\n" : "");
    const struct ulp_tensor_set before = *arrays;
    *arrays = named;
    named = before;
    return ULP_OK;
}

/* Arrays of other names, or more than there are inputs. */
static enum ulp_status name_arrays(const struct ulp_model *model, struct ulp_tensor_set *arrays,
                                   struct ulp_text *notes, struct ulp_error *error)
{
    const size_t count = ulp_model_input_count(model), more = arrays->count - count;
    ULP_SCOPED(ulp_free_of) size_t *order = NULL;
    if (!count || arrays->count < count || (!more && are_named(model, arrays)))
        return ULP_OK;
    ULP_TRY(ulp_allocate(&order, arrays->count, sizeof(size_t), ulp_model_budget(model),
                         "the order of inputs", error));
    if (!find_order(model, arrays, order))
        return ULP_OK;
    for (size_t a = count; a < arrays->count; a++)
        if (!is_constant(model, &arrays->items[order[a]].tensor))
            return ULP_OK;
    if (more)
        ulp_text_add(notes,
                     more == 1 ? "%zu array is a constant of the model, and is left out\n"
                               : "%zu arrays are constants of the model, and are left out\n",
                     more);
    return take_in_order(model, true, count, order, arrays, notes, error);
}

/* Every element as it is, in the declared type; refused where that does not hold one. */
static enum ulp_status convert_exactly(const struct ulp_value_info *info, struct ulp_tensor *tensor,
                                       struct ulp_budget *budget, struct ulp_text *notes,
                                       struct ulp_error *error)
{
    const struct ulp_type_row *row = &ulp_type_rows[info->type];
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor out = {0};
    struct ulp_format format;
    double low = -INFINITY, high = INFINITY;
    ULP_TRY(
        ulp_tensor_describe(&out, info->type, row->element, 0, tensor->rank, tensor->dims, error));
    ULP_TRY(ulp_tensor_allocate(&out, budget, error));
    if (row->format)
        ULP_TRY(ulp_format_find(row->format, &format, error));
    else
        ulp_integer_range(info->type, &low, &high);
    ULP_TRY(ulp_tensor_convert(&out, tensor, row->format ? &format : NULL, ULP_ROUND_NEAREST_EVEN,
                               0, NULL, error));
    for (size_t i = 0; i < tensor->count; i++) {
        const double x = ulp_tensor_read(tensor, i);
        /* as doubles, and where those round, as integers; a UINT64 beyond INT64 is no float's */
        if (!(x >= low && x <= high) || ulp_tensor_read(&out, i) != x ||
            ulp_tensor_get_int(&out, i) != ulp_tensor_get_int(tensor, i))
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "input '%s': the model declares %s, which does not hold element %zu of "
                            "the %s array, %.10g",
                            info->name, row->name, i, ulp_type_name(tensor->type), x);
    }
    ulp_text_add(notes, "input %s: %s values taken as %s, which holds each\n", info->name,
                 ulp_type_name(tensor->type), row->name);
    const struct ulp_tensor before = *tensor;
    *tensor = out;
    out = before;
    return ULP_OK;
}

/* Of inputs that are rounded the first is noted, and all are counted: a decoder's caches are many.
 */
static enum ulp_status take_form(const struct ulp_value_info *info, struct ulp_tensor *given,
                                 struct ulp_budget *budget, struct ulp_text *notes, size_t *rounded,
                                 struct ulp_error *error)
{
    if (!is_taken_as_given(info, given))
        return ulp_type_rows[info->type].file_bits && ulp_type_rows[given->type].file_bits
                   ? convert_exactly(info, given, budget, notes, error)
                   : ULP_OK;
    if (given->type != info->type && ulp_type_is_float(given->type) &&
        ulp_type_is_float(info->type) && !(*rounded)++)
        ulp_text_add(notes, "input %s: %s values rounded to %s, as the model declares\n",
                     info->name, ulp_type_name(given->type), ulp_type_name(info->type));
    return ULP_OK;
}

/* The notes to who asked for them. */
static enum ulp_status hand_on_notes(struct ulp_text *text, char **notes, struct ulp_error *error)
{
    if (text->failed)
        return ulp_out_of_memory(error);
    if (notes) {
        *notes = text->data;
        text->data = NULL;
    }
    return ULP_OK;
}

enum ulp_status ulp_model_take_inputs(const struct ulp_model *model, struct ulp_tensor_set *arrays,
                                      char **notes, struct ulp_error *error)
{
    ULP_ENTER(error);
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    size_t rounded = 0;
    ULP_TRY(name_arrays(model, arrays, &text, error));
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        const int at = arrays->names ? ulp_names_find(arrays->names, info.name) : -1;
        if (at >= 0)
            ULP_TRY(take_form(&info, &arrays->items[at].tensor, ulp_model_budget(model), &text,
                              &rounded, error));
    }
    if (rounded > 1)
        ulp_text_add(&text, "%zu more input%s likewise\n", rounded - 1, rounded > 2 ? "s" : "");
    return hand_on_notes(&text, notes, error);
}

enum ulp_status ulp_model_take_outputs(const struct ulp_model *model, struct ulp_tensor_set *arrays,
                                       char **notes, struct ulp_error *error)
{
    ULP_ENTER(error);
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ULP_SCOPED(ulp_free_of) void *order = NULL;
    const size_t count = ulp_model_output_count(model);
    bool known = false;
    for (size_t v = 0; v < model->graph->value_count; v++)
        known |= ulp_tensor_set_find(arrays, model->graph->values[v].name) != NULL;
    if (count && arrays->count == count && !known) {
        ULP_TRY(ulp_allocate(&order, count, sizeof(size_t), ulp_model_budget(model),
                             "the order of outputs", error));
        if (are_places(arrays, order))
            ULP_TRY(take_in_order(model, false, count, order, arrays, &text, error));
    }
    return hand_on_notes(&text, notes, error);
}
