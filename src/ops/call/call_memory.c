/* Tensors as the lane of a call holds them: formats, temporaries, conversions. */

#include "base/error.h"
#include "ops/call.h"
#include "ops/trace/trace.h"
#include "tensor/lower.h"

static bool is_narrow(enum ulp_type type)
{
    return ulp_type_rows[type].file_bits <= 8;
}

bool ulp_call_stores_alike(const struct ulp_call *call, enum ulp_type type)
{
    return !is_narrow(type) && !call->arithmetic->as_declared;
}

enum ulp_status ulp_call_storage(const struct ulp_call *call, enum ulp_type type,
                                 struct ulp_format *out)
{
    if (ulp_call_stores_alike(call, type)) {
        *out = call->arithmetic->storage;
        return ULP_OK;
    }
    enum ulp_status status =
        ulp_format_find(ulp_type_format(call->arithmetic, type), out, call->error);
    if (status == ULP_OK && !is_narrow(type))
        return ULP_OK;
    if (status != ULP_OK)
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED, "tensors of type %s are not supported",
                        ulp_type_name(type));
    const struct ulp_attribute_value *saturate = ulp_call_attribute(call, "saturate");
    if (!saturate->present || saturate->i)
        out->overflow = ULP_OVERFLOW_SATURATE;
    return ULP_OK;
}

static enum ulp_status describe_in(struct ulp_tensor *out, enum ulp_type type,
                                   const struct ulp_format *format, int rank, const int64_t *dims,
                                   struct ulp_error *error)
{
    return ulp_tensor_describe(out, type, ulp_storage_element(format), format->precision, rank,
                               dims, error);
}

enum ulp_status ulp_call_describe_tensor(const struct ulp_call *call, struct ulp_tensor *out,
                                         enum ulp_type type, int rank, const int64_t *dims)
{
    if (ulp_type_is_float(type) && !call->arithmetic->as_declared)
        return describe_in(out, type, &call->arithmetic->storage, rank, dims, call->error);
    return ulp_tensor_describe(out, type, ULP_ELEMENT_COUNT, 0, rank, dims, call->error);
}

enum ulp_status ulp_call_describe(struct ulp_call *call, size_t index, enum ulp_type type, int rank,
                                  const int64_t *dims)
{
    if (index >= call->output_count)
        return ULP_OK;
    return ulp_call_describe_tensor(call, &call->out[index], type, rank, dims);
}

/* Its memory is not the scratch's, which may be a step's alone. */
struct ulp_temporary {
    struct ulp_tensor tensor;
    struct ulp_temporary *next;
};

enum ulp_status ulp_call_temporary(struct ulp_call *call, struct ulp_tensor *tensor)
{
    struct ulp_temporary *temporary;
    ULP_TRY(ulp_tensor_allocate(tensor, call->budget, call->error));
    enum ulp_status status = ulp_allocate(&temporary, 1, sizeof(struct ulp_temporary), call->budget,
                                          "what a node keeps while it runs", call->error);
    if (status != ULP_OK) {
        ulp_tensor_free(tensor);
        return status;
    }
    *temporary = (struct ulp_temporary){.tensor = *tensor, .next = *call->temporaries};
    *call->temporaries = temporary;
    tensor->owned = false;
    return ULP_OK;
}

enum ulp_status ulp_call_make_here(struct ulp_call *call, struct ulp_tensor *tensor,
                                   enum ulp_type type, int rank, const int64_t *dims)
{
    ULP_TRY(ulp_call_describe_tensor(call, tensor, type, rank, dims));
    return ulp_call_temporary(call, tensor);
}

enum ulp_status ulp_call_make(struct ulp_call *call, enum ulp_type type, int rank,
                              const int64_t *dims, struct ulp_tensor **out)
{
    ULP_TRY(ulp_call_take(call, 1, sizeof **out, out));
    return ulp_call_make_here(call, *out, type, rank, dims);
}

void ulp_call_free_temporaries(struct ulp_temporary *list)
{
    for (struct ulp_temporary *next; list; list = next) {
        next = list->next;
        ulp_tensor_free(&list->tensor);
        ulp_free(list);
    }
}

enum ulp_status ulp_call_temporary_in(struct ulp_call *call, struct ulp_tensor *tensor,
                                      const struct ulp_format *format, int rank,
                                      const int64_t *dims)
{
    ULP_TRY(describe_in(tensor, ULP_TYPE_FLOAT, format, rank, dims, call->error));
    return ulp_call_temporary(call, tensor);
}

enum ulp_status ulp_call_convert(struct ulp_call *call, struct ulp_tensor *out,
                                 const struct ulp_tensor *in)
{
    struct ulp_format storage;
    const bool is_float = ulp_type_is_float(out->type);
    ULP_TRY(is_float ? ulp_call_storage(call, out->type, &storage) : ULP_OK);
    /* floats that stay as wide as they are keep their names */
    if (call->trace &&
        (!is_float || out->element != in->element || ulp_type_rows[out->type].file_bits <= 8))
        ULP_TRY(ulp_trace_numbers(call->trace, &in, call->error));
    enum ulp_rounding rounding = call->arithmetic->rounding;
    if (out->type == ULP_TYPE_FLOAT8E8M0)
        rounding = ulp_call_is(call, "round_mode", "nearest") ? ULP_ROUND_NEAREST_AWAY
                   : ulp_call_is(call, "round_mode", "down")  ? ULP_ROUND_TOWARD_ZERO
                                                              : ULP_ROUND_UP;
    return ulp_tensor_convert(out, in, is_float ? &storage : NULL, rounding,
                              call->arithmetic->seed ^ call->bound->key, call->pool, call->error);
}

enum ulp_status ulp_call_lower(struct ulp_call *call, struct ulp_tensor *out,
                               const struct ulp_tensor *in)
{
    struct ulp_format storage;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor bounded = ulp_tensor_view(in);
    if (ulp_type_is_float(out->type))
        ULP_TRY(ulp_call_storage(call, out->type, &storage));
    if (ulp_type_is_float(out->type))
        ULP_TRY(ulp_tensor_lower(&bounded, in, &storage, call->arithmetic->constants, NULL,
                                 call->budget, call->error));
    return ulp_call_convert(call, out, &bounded);
}

enum ulp_status ulp_call_taken(struct ulp_call *call, struct ulp_tensor *taken,
                               const struct ulp_tensor *data)
{
    const struct ulp_tensor *out = &call->out[0];
    ULP_TRY(ulp_tensor_describe(taken, data->type, data->element, data->precision, out->rank,
                                out->dims, call->error));
    return ulp_call_temporary(call, taken);
}

enum ulp_status ulp_call_lower_taken(struct ulp_call *call, const struct ulp_tensor *taken)
{
    const struct ulp_arithmetic *as = call->lowering;
    const bool narrow = ulp_type_rows[taken->type].file_bits <= 8;
    struct ulp_format storage = as->storage;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor bounded = ulp_tensor_view(taken);
    if (as->as_declared)
        ULP_TRY(ulp_format_find(ulp_type_format(as, taken->type), &storage, call->error));
    ULP_TRY(ulp_tensor_lower(&bounded, taken, &storage, as->constants, NULL, call->budget,
                             call->error));
    return ulp_tensor_convert(&call->out[0], &bounded, narrow ? NULL : &storage, as->rounding,
                              as->seed, call->pool, call->error);
}

enum ulp_status ulp_call_numbers_of(const struct ulp_call *call, const struct ulp_tensor **tensor)
{
    return call->trace && *tensor ? ulp_trace_numbers(call->trace, tensor, call->error) : ULP_OK;
}

enum ulp_status ulp_call_as(struct ulp_call *call, const struct ulp_tensor **tensor,
                            enum ulp_type type)
{
    if (!*tensor)
        return ULP_OK;
    ULP_CALL_TAKE(struct ulp_tensor, out, call, 1);
    ULP_TRY(ulp_call_describe_tensor(call, out, type, (*tensor)->rank, (*tensor)->dims));
    if (out->element == (*tensor)->element && out->precision == (*tensor)->precision)
        return ULP_OK;
    ULP_TRY(ulp_call_temporary(call, out));
    ULP_TRY(ulp_call_convert(call, out, *tensor));
    *tensor = out;
    return ULP_OK;
}

enum ulp_status ulp_call_scalar(struct ulp_call *call, struct ulp_tensor *tensor,
                                enum ulp_type type, float value)
{
    const struct ulp_tensor in = ulp_tensor_list(ULP_TYPE_FLOAT, &value, 0, 1);
    ULP_TRY(ulp_call_describe_tensor(call, tensor, type, 0, NULL));
    ULP_TRY(ulp_call_temporary(call, tensor));
    return ulp_call_convert(call, tensor, &in);
}
