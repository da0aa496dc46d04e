/* What a call is given: attributes, inputs, scratch memory. */
#include <string.h>

#include "base/error.h"
#include "ops/call.h"

const struct ulp_attribute_value *ulp_bound_attribute(const struct ulp_bound *bound,
                                                      const char *name)
{
    for (size_t i = 0; i < bound->attribute_count; i++)
        if (strcmp(bound->attribute_slots[i].name, name) == 0)
            return &bound->attributes[i];
    return NULL;
}

const struct ulp_attribute_value *ulp_call_attribute(const struct ulp_call *call, const char *name)
{
    static const struct ulp_attribute_value absent;
    const struct ulp_attribute_value *value = ulp_bound_attribute(call->bound, name);
    return value ? value : &absent;
}

int64_t ulp_call_int(const struct ulp_call *call, const char *name)
{
    return ulp_call_attribute(call, name)->i;
}

bool ulp_call_is(const struct ulp_call *call, const char *name, const char *text)
{
    const char *value = ulp_call_attribute(call, name)->s;
    return value && strcmp(value, text) == 0;
}

int ulp_call_input_index(const struct ulp_call *call, const char *name)
{
    const struct ulp_bound *bound = call->bound;
    for (size_t i = 0; i < bound->input_slot_count; i++)
        if (strcmp(bound->inputs[i].name, name) == 0)
            return (int)i;
    return -1;
}

const struct ulp_tensor *ulp_call_input(const struct ulp_call *call, const char *name)
{
    int index = ulp_call_input_index(call, name);
    return index < 0 ? NULL : ulp_call_in(call, (size_t)index);
}

enum ulp_status ulp_call_take(const struct ulp_call *call, size_t count, size_t element_bytes,
                              void *out)
{
    void *memory = ulp_arena_take(call->scratch, count ? count : 1, element_bytes);
    memcpy(out, &memory, sizeof memory);
    return memory
               ? ULP_OK
               : ulp_fail_memory(call->error, "out of memory for %zu elements of scratch", count);
}

enum ulp_status ulp_call_list(const struct ulp_call *call, const char *name, struct ulp_list *out)
{
    *out = (struct ulp_list){.known = true};
    if (ulp_call_input_index(call, name) < 0) {
        const struct ulp_attribute_value *attribute = ulp_call_attribute(call, name);
        out->given = attribute->present;
        out->count = attribute->count;
        out->values = attribute->ints;
        return ULP_OK;
    }
    const struct ulp_tensor *tensor = ulp_call_input(call, name);
    if (!tensor)
        return ULP_OK;
    if (tensor->rank > 1)
        return ULP_REFUSE(call, "input %s has rank %d: expected a list", name, tensor->rank);
    out->given = true;
    out->known = tensor->data != NULL;
    out->count = tensor->count;
    if (!out->known)
        return ULP_OK;
    ULP_CALL_TAKE(int64_t, values, call, tensor->count);
    for (size_t i = 0; i < tensor->count; i++)
        values[i] = ulp_tensor_get_int(tensor, i);
    out->values = values;
    return ULP_OK;
}

enum ulp_status ulp_call_numbers(const struct ulp_call *call, const char *name, size_t count,
                                 int64_t fallback, int64_t *values)
{
    struct ulp_list list;
    ULP_TRY(ulp_call_list(call, name, &list));
    bool given = list.given && list.known && list.count > 0;
    if (given && list.count != count)
        return ULP_REFUSE(call, "%s has %zu entries: expected %zu", name, list.count, count);
    for (size_t i = 0; i < count; i++)
        values[i] = given ? list.values[i] : fallback;
    return ULP_OK;
}

enum ulp_status ulp_call_number(const struct ulp_call *call, const char *name, int64_t fallback,
                                bool *known, int64_t *out)
{
    const struct ulp_tensor *tensor = ulp_call_input(call, name);
    *known = !tensor || tensor->data;
    if (tensor && tensor->count != 1)
        return ULP_REFUSE(call, "%s has %zu elements: expected 1", name, tensor->count);
    if (*known)
        *out = tensor ? ulp_tensor_get_int(tensor, 0) : fallback;
    return ULP_OK;
}

enum ulp_status ulp_call_int_within(const struct ulp_call *call, const char *name, int64_t low,
                                    int64_t high, int64_t *out)
{
    *out = ulp_call_int(call, name);
    return *out >= low && *out <= high
               ? ULP_OK
               : ULP_REFUSE(call, "%s is %lld: expected %lld to %lld", name, (long long)*out,
                            (long long)low, (long long)high);
}

enum ulp_status ulp_call_axis(int64_t axis, int rank, int *out, struct ulp_error *error)
{
    if (axis < -(int64_t)rank || axis >= rank)
        return ulp_fail(error, ULP_ERROR_INPUT, "axis %lld is outside a tensor of rank %d",
                        (long long)axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return ULP_OK;
}

enum ulp_status ulp_call_first_axis(const struct ulp_call *call, int *out)
{
    return ulp_call_axis(ulp_call_int(call, "axis"), call->in[0]->rank, out, call->error);
}
