/* Operators that change the element type. */

#include "base/bits.h"
#include "base/error.h"
#include "number/round/round.h"
#include "ops/ops_move.h"

static enum ulp_status describe_cast(struct ulp_call *call, int64_t type)
{
    const struct ulp_tensor *in = call->in[0];
    if (type <= ULP_TYPE_UNDEFINED || type >= ULP_TYPE_COUNT)
        return ULP_REFUSE(call, "to %lld is not an element type", (long long)type);
    return ulp_call_describe(call, 0, (enum ulp_type)type, in->rank, in->dims);
}

static enum ulp_status infer_cast(struct ulp_call *call)
{
    return describe_cast(call, ulp_call_int(call, "to"));
}

static enum ulp_status infer_cast_like(struct ulp_call *call)
{
    return describe_cast(call, call->in[1]->type);
}

static enum ulp_status run_cast(struct ulp_call *call)
{
    return ulp_call_convert(call, &call->out[0], call->in[0]);
}

/* Floats beyond a 4- or 2-bit integer's range, which the text leaves undefined: ONNX's test cases
 * take the nearest end before opset 25 and the low bits of the 8-bit integer from then on. */
static enum ulp_status run_cast_low_bits(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    const enum ulp_type to = call->out[0].type;
    if (!ulp_type_is_float(in->type) || ulp_type_is_float(to) || ulp_type_rows[to].file_bits > 4)
        return run_cast(call);
    struct ulp_tensor whole;
    ULP_TRY(ulp_call_make_here(call, &whole, ULP_TYPE_INT8, in->rank, in->dims));
    ULP_TRY(ulp_call_convert(call, &whole, in));
    return ulp_call_convert(call, &call->out[0], &whole);
}

/* ---- BitCast: the pattern of the model's type, whatever form the lane holds the value in ---- */

static int width_of(enum ulp_type type)
{
    return ulp_type_rows[type].file_bits;
}

static enum ulp_status infer_bit_cast(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    const int64_t to = ulp_call_int(call, "to");
    if (to <= ULP_TYPE_UNDEFINED || to >= ULP_TYPE_COUNT ||
        width_of((enum ulp_type)to) != width_of(in->type))
        return ULP_REFUSE(call, "to %lld is not a type as wide as %s", (long long)to,
                          ulp_type_name(in->type));
    return describe_cast(call, to);
}

static uint64_t read_pattern(const struct ulp_tensor *in, const struct ulp_format *format, size_t i)
{
    if (!format)
        return (uint64_t)ulp_tensor_get_int(in, i);
    const double value = ulp_tensor_read(in, i);
    return format->storage_bits == 64 ? ulp_double_pattern(value)
                                      : ulp_format_encode(format, value);
}

static double write_pattern(const struct ulp_format *format, uint64_t bits)
{
    return format->storage_bits == 64 ? ulp_double_from(bits)
                                      : ulp_format_decode(format, (uint32_t)bits);
}

static enum ulp_status run_bit_cast(struct ulp_call *call)
{
    struct ulp_tensor own = *call->in[0], values = call->out[0];
    const bool from_float = ulp_type_is_float(own.type), to_float = ulp_type_is_float(values.type);
    struct ulp_format from, to;
    if (from_float) {
        ULP_TRY(ulp_format_find(ulp_type_rows[own.type].format, &from, call->error));
        ULP_TRY(ulp_tensor_describe(&own, call->in[0]->type, ULP_ELEMENT_COUNT, 0,
                                    call->in[0]->rank, call->in[0]->dims, call->error));
        ULP_TRY(ulp_call_temporary(call, &own));
        ULP_TRY(ulp_tensor_convert(&own, call->in[0], &from, ULP_ROUND_NEAREST_EVEN, 0, call->pool,
                                   call->error));
    }
    if (to_float) {
        ULP_TRY(ulp_format_find(ulp_type_rows[values.type].format, &to, call->error));
        ULP_TRY(ulp_tensor_describe(&values, ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, own.rank,
                                    own.dims, call->error));
        ULP_TRY(ulp_call_temporary(call, &values));
    }
    for (size_t i = 0; i < own.count; i++) {
        uint64_t bits = read_pattern(&own, from_float ? &from : NULL, i);
        if (to_float)
            ((double *)values.data)[i] = write_pattern(&to, bits);
        else
            ulp_tensor_set_int(&values, i, (int64_t)bits);
    }
    return to_float ? ulp_call_convert(call, &call->out[0], &values) : ULP_OK;
}

#define CAST                                                                               \
    .inputs = "input:*m", .outputs = "output", .infer = infer_cast, .work = ULP_WORK_MOVE, \
    .route = ULP_ROUTE_SAME
#define CAST_LIKE                                                                       \
    .inputs = "input:*m target_type:*m", .outputs = "output", .infer = infer_cast_like, \
    .work = ULP_WORK_MOVE, .route = ULP_ROUTE_SAME

/* clang-format off */
const struct ulp_operator ulp_ops_cast[] = {
    {.name = "BitCast", .since = 26, .inputs = "input:*n", .outputs = "output",
     .attributes = "to:!int",
     .infer = infer_bit_cast, .run = run_bit_cast, .work = ULP_WORK_MOVE},
    {.name = "Cast", .since = 6, CAST, .run = run_cast, .attributes = "to:!int"},
    {.name = "Cast", .since = 19, CAST, .run = run_cast, .attributes = "saturate:int=1; to:!int"},
    {.name = "Cast", .since = 24, CAST, .run = run_cast,
     .attributes = "round_mode:string=up; saturate:int=1; to:!int"},
    {.name = "Cast", .since = 25, CAST, .run = run_cast_low_bits,
     .attributes = "round_mode:string=up; saturate:int=1; to:!int"},
    {.name = "CastLike", .since = 15, CAST_LIKE, .run = run_cast},
    {.name = "CastLike", .since = 19, CAST_LIKE, .run = run_cast, .attributes = "saturate:int=1"},
    {.name = "CastLike", .since = 24, CAST_LIKE, .run = run_cast,
     .attributes = "round_mode:string=up; saturate:int=1"},
    {.name = "CastLike", .since = 25, CAST_LIKE, .run = run_cast_low_bits,
     .attributes = "round_mode:string=up; saturate:int=1"},
    {0},
};
/* clang-format on */
