/* Operators that change the element type. */
#include <string.h>

#include "base/error.h"
#include "ops/move.h"

static enum ulp_status describe_cast(struct ulp_call *call, int64_t type, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0];
    if (type <= ULP_TYPE_UNDEFINED || type >= ULP_TYPE_COUNT)
        return ulp_fail(error, ULP_ERROR_INPUT, "to %lld is not an element type", (long long)type);
    return ulp_call_describe(call, 0, (enum ulp_type)type, in->rank, in->dims, error);
}

static enum ulp_status infer_cast(struct ulp_call *call, struct ulp_error *error)
{
    return describe_cast(call, ulp_call_int(call, "to"), error);
}

static enum ulp_status infer_cast_like(struct ulp_call *call, struct ulp_error *error)
{
    return describe_cast(call, call->in[1]->type, error);
}

static enum ulp_status run_cast(struct ulp_call *call, struct ulp_error *error)
{
    return ulp_call_convert(call, &call->out[0], call->in[0], error);
}

/* Floats beyond a 4- or 2-bit integer's range, which the text leaves undefined: ONNX's test cases take the nearest end before
 * opset 25 and the low bits of the 8-bit integer from then on. */
static enum ulp_status run_cast_low_bits(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_tensor *in = call->in[0];
    if (!ulp_type_is_float(in->type) || ulp_type_rows[call->out[0].type].file_bits > 4)
        return run_cast(call, error);
    struct ulp_tensor whole;
    enum ulp_status status = ulp_call_describe_tensor(call, &whole, ULP_TYPE_INT8, in->rank, in->dims, error);
    if (status == ULP_OK)
        status = ulp_call_temporary(call, &whole, error);
    if (status == ULP_OK)
        status = ulp_call_convert(call, &whole, in, error);
    return status == ULP_OK ? ulp_call_convert(call, &call->out[0], &whole, error) : status;
}

#define CAST .inputs = "input:*", .outputs = "output", .infer = infer_cast, .mixed = true
#define CAST_LIKE .inputs = "input:* target_type:*", .outputs = "output", .infer = infer_cast_like, .mixed = true

const struct ulp_operator ulp_ops_cast[] = {
    {.name = "Cast", .since = 6, CAST, .run = run_cast, .attributes = "to:!int"},
    {.name = "Cast", .since = 19, CAST, .run = run_cast, .attributes = "saturate:int=1; to:!int"},
    {.name = "Cast", .since = 24, CAST, .run = run_cast, .attributes = "round_mode:string=up; saturate:int=1; to:!int"},
    {.name = "Cast", .since = 25, CAST, .run = run_cast_low_bits, .attributes = "round_mode:string=up; saturate:int=1; to:!int"},
    {.name = "CastLike", .since = 15, CAST_LIKE, .run = run_cast},
    {.name = "CastLike", .since = 19, CAST_LIKE, .run = run_cast, .attributes = "saturate:int=1"},
    {.name = "CastLike", .since = 24, CAST_LIKE, .run = run_cast, .attributes = "round_mode:string=up; saturate:int=1"},
    {.name = "CastLike", .since = 25, CAST_LIKE, .run = run_cast_low_bits, .attributes = "round_mode:string=up; saturate:int=1"},
    {0},
};
