/* Operators that make tensors from little or nothing: constants, ranges, windows, random
 * numbers. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "ops/ops_move.h"

/* The type an attribute names, `fallback` when it is absent or 0. */
static enum ulp_status read_type(const struct ulp_call *call, const char *name,
                                 enum ulp_type fallback, enum ulp_type *out)
{
    int64_t type = ulp_call_int(call, name);
    *out = type ? (enum ulp_type)type : fallback;
    return type >= 0 && type < ULP_TYPE_COUNT
               ? ULP_OK
               : ULP_REFUSE(call, "%s %lld is not an element type", name, (long long)type);
}

/* ---- Constant, ConstantOfShape ---- */

/* The attribute that is given, as a tensor over the model's memory. */
static enum ulp_status read_constant(const struct ulp_call *call, struct ulp_tensor *out)
{
    const struct ulp_attribute_value *value = ulp_call_attribute(call, "value"),
                                     *sparse = ulp_call_attribute(call, "sparse_value");
    const struct ulp_attribute_value *one_float = ulp_call_attribute(call, "value_float"),
                                     *floats = ulp_call_attribute(call, "value_floats"),
                                     *one_int = ulp_call_attribute(call, "value_int"),
                                     *ints = ulp_call_attribute(call, "value_ints");
    const struct ulp_attribute_value *list = floats->present ? floats : ints;
    if (value->tensor || sparse->tensor) {
        *out = ulp_tensor_view(value->tensor ? value->tensor : sparse->tensor);
        return ULP_OK;
    }
    if (!one_float->present && !one_int->present && !list->present)
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "the node has no value, or one of strings");
    bool is_float = one_float->present || floats->present,
         is_list = !one_float->present && !one_int->present;
    ULP_TRY(ulp_tensor_describe(out, is_float ? ULP_TYPE_FLOAT : ULP_TYPE_INT64, ULP_ELEMENT_COUNT,
                                0, is_list, (int64_t[]){(int64_t)list->count}, call->error));
    const void *data = one_float->present ? (const void *)&one_float->f
                       : one_int->present ? (const void *)&one_int->i
                       : is_float         ? (const void *)floats->floats
                                          : (const void *)ints->ints;
    memcpy(&out->data, &data, sizeof data);
    return ULP_OK;
}

static enum ulp_status infer_constant(struct ulp_call *call)
{
    struct ulp_tensor value;
    ULP_TRY(read_constant(call, &value));
    return ulp_call_describe(call, 0, value.type, value.rank, value.dims);
}

static enum ulp_status run_constant(struct ulp_call *call)
{
    struct ulp_tensor value;
    ULP_TRY(read_constant(call, &value));
    return ulp_call_lower(call, &call->out[0], &value);
}

static enum ulp_status infer_constant_of_shape(struct ulp_call *call)
{
    const struct ulp_attribute_value *value = ulp_call_attribute(call, "value");
    struct ulp_list shape;
    ULP_TRY(ulp_call_list(call, "input", &shape));
    if (!shape.known)
        return ULP_OK;
    ULP_TRY(ulp_check_rank(shape.count, call->error));
    if (value->tensor && value->tensor->count != 1)
        return ULP_REFUSE(call, "value has %zu elements: expected 1", value->tensor->count);
    return ulp_call_describe(call, 0, value->tensor ? value->tensor->type : ULP_TYPE_FLOAT,
                             (int)shape.count, shape.values);
}

static enum ulp_status run_constant_of_shape(struct ulp_call *call)
{
    const struct ulp_attribute_value *value = ulp_call_attribute(call, "value");
    struct ulp_tensor element;
    ULP_TRY(ulp_call_scalar(call, &element, call->out[0].type, 0));
    if (value->tensor)
        ULP_TRY(ulp_call_lower(call, &element, value->tensor));
    ulp_move_fill(&call->out[0], 0, call->out[0].count, element.data);
    return ULP_OK;
}

/* ---- EyeLike, OneHot ---- */

static enum ulp_status infer_like(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    enum ulp_type type;
    ULP_TRY(read_type(call, "dtype", in->type, &type));
    return ulp_call_describe(call, 0, type, in->rank, in->dims);
}

static enum ulp_status run_eye(struct ulp_call *call)
{
    struct ulp_tensor *out = &call->out[0], zero, one;
    if (out->rank != 2)
        return ULP_REFUSE(call, "the input has rank %d: expected 2", out->rank);
    ULP_TRY(ulp_call_scalar(call, &zero, out->type, 0));
    ULP_TRY(ulp_call_scalar(call, &one, out->type, 1));
    int64_t columns = out->dims[1], k = ulp_clamp(ulp_call_int(call, "k"), -out->dims[0], columns);
    ulp_move_fill(out, 0, out->count, zero.data);
    for (int64_t row = 0; row < out->dims[0]; row++)
        if (row + k >= 0 && row + k < columns)
            ulp_move_fill(out, (size_t)(row * columns + row + k), 1, one.data);
    return ULP_OK;
}

static enum ulp_status infer_one_hot(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0], *values = call->in[2];
    int64_t dims[ULP_RANK_MAX + 1], depth;
    int axis;
    bool known;
    ULP_TRY(ulp_call_axis(ulp_call_int(call, "axis"), in->rank + 1, &axis, call->error));
    ULP_TRY(ulp_call_number(call, "depth", 0, &known, &depth));
    if (!known)
        return ULP_OK;
    if (values->count != 2)
        return ULP_REFUSE(call, "values has %zu elements: expected 2", values->count);
    memcpy(dims, in->dims, (size_t)axis * sizeof *dims);
    dims[axis] = depth;
    memcpy(dims + axis + 1, in->dims + axis, (size_t)(in->rank - axis) * sizeof *dims);
    return ulp_call_describe(call, 0, values->type, in->rank + 1, dims);
}

static enum ulp_status run_one_hot(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0], *values = call->in[2];
    struct ulp_tensor *out = &call->out[0];
    int axis;
    ULP_TRY(ulp_call_axis(ulp_call_int(call, "axis"), out->rank, &axis, call->error));
    const struct ulp_split split = ulp_split_at(out, axis);
    ulp_move_fill(out, 0, out->count, ulp_element_at(values, 0));
    for (size_t i = 0; i < in->count; i++) {
        int64_t index = ulp_tensor_get_int(in, i), depth = (int64_t)split.size;
        index += index < 0 ? depth : 0;
        if (index >= 0 && index < depth)
            ulp_move_fill(out,
                          (i / split.inner * split.size + (size_t)index) * split.inner +
                              i % split.inner,
                          1, ulp_element_at(values, 1));
    }
    return ULP_OK;
}

/* ---- Range and windows: formulas of the position i ---- */

/* Derived operand `index`: 0, 1, 2, ... along the output. */
static enum ulp_status set_positions(struct ulp_call *call, struct ulp_operand *operand)
{
    ULP_CALL_TAKE(struct ulp_tensor, positions, call, 1);
    ULP_TRY(ulp_call_make_here(call, positions, ULP_TYPE_INT64, 1, call->out[0].dims));
    for (size_t i = 0; i < positions->count; i++)
        ulp_tensor_set_int(positions, i, (int64_t)i);
    operand->tensor = positions;
    return ULP_OK;
}

static enum ulp_status infer_range(struct ulp_call *call)
{
    double value[3], count;
    for (int i = 0; i < 3; i++) {
        if (call->in[i]->count != 1)
            return ULP_REFUSE(call, "input %d has %zu elements: expected 1", i, call->in[i]->count);
        if (!call->in[i]->data)
            return ULP_OK;
        value[i] = ulp_tensor_read(call->in[i], 0);
        if (isnan(value[i]))
            return ULP_REFUSE(call, "its input %d is NaN: a limit or step of a range is a number",
                              i);
    }
    count = ceil((value[1] - value[0]) / value[2]);
    if (!(fabs(count) < 0x1p40))
        return ULP_REFUSE(call, "from %g to %g by %g is no range", value[0], value[1], value[2]);
    return ulp_call_describe(call, 0, call->in[0]->type, 1,
                             (int64_t[]){count > 0 ? (int64_t)count : 0});
}

static enum ulp_status rows_range(struct ulp_call *call, const struct ulp_layout *layout)
{
    ULP_TRY(set_positions(call, &layout->operands[call->bound->tape->operand_count - 1]));
    return ulp_layout_elementwise(layout, call->error);
}

static enum ulp_status infer_window(struct ulp_call *call)
{
    enum ulp_type type;
    int64_t size;
    bool known;
    ULP_TRY(read_type(call, "output_datatype", ULP_TYPE_FLOAT, &type));
    ULP_TRY(ulp_call_number(call, "size", 0, &known, &size));
    return known ? ulp_call_describe(call, 0, type, 1, (int64_t[]){size}) : ULP_OK;
}

/* ---- random numbers: formulas of uniform ones, which are a function of (seed, element) in every
 * lane ---- */

static uint64_t read_key(const struct ulp_call *call)
{
    const struct ulp_attribute_value *seed = ulp_call_attribute(call, "seed");
    uint32_t bits = 0;
    memcpy(&bits, &seed->f, sizeof bits);
    return seed->present ? bits : call->bound->key;
}

/* Derived operand n: multiples of 2^-24 in [0, 1) for n = 0 and in (0, 1] for n = 1, so that FP32
 * holds them exactly. */
static enum ulp_status rows_random(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_bound *bound = call->bound;
    ULP_CALL_TAKE(struct ulp_tensor, uniform, call, bound->derived_count);
    for (size_t n = 0; n < bound->derived_count; n++) {
        ULP_TRY(ulp_tensor_describe(&uniform[n], ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0,
                                    call->out[0].rank, call->out[0].dims, call->error));
        ULP_TRY(ulp_call_temporary(call, &uniform[n]));
        for (size_t i = 0; i < uniform[n].count; i++)
            ((float *)uniform[n].data)[i] =
                (float)((ulp_random_bits(read_key(call), 2 * i + n) >> 40) + n) * 0x1p-24f;
        layout->operands[bound->input_slot_count + bound->attribute_count + n].tensor = &uniform[n];
    }
    for (size_t i = 0; i < bound->input_slot_count && bound->inputs[i].kind == '*'; i++)
        layout->operands[i] = (struct ulp_operand){0}; /* only its shape counts */
    return ulp_layout_elementwise(layout, call->error);
}

/* ---- Multinomial: classes drawn by unnormalised log-probabilities, whose sums are FP64 in every
 * lane ---- */

static enum ulp_status infer_multinomial(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    enum ulp_type type;
    ULP_TRY(read_type(call, "dtype", ULP_TYPE_INT32, &type));
    if (in->rank != 2 || in->dims[1] < 1)
        return ULP_REFUSE(call, "the input has rank %d: expected batch x classes", in->rank);
    return ulp_call_describe(call, 0, type, 2,
                             (int64_t[]){in->dims[0], ulp_call_int(call, "sample_size")});
}

static const struct ulp_formula shares_of_classes = {"x", "y",
                                                     "e = exp(x - row_max(x)); e / row_sum(e)"};

static enum ulp_status run_multinomial(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    const size_t classes = (size_t)in->dims[1], samples = (size_t)call->out[0].dims[1];
    struct ulp_arithmetic exact;
    struct ulp_tensor shares;
    ULP_TRY(ulp_arithmetic_find("fp64", &exact, call->error));
    ULP_TRY(ulp_call_temporary_in(call, &shares, &exact.storage, 2, in->dims));
    const struct ulp_rows rows = {.row_count = (size_t)in->dims[0], .row_length = classes};
    const struct ulp_named_operand x = {
        "x", {.tensor = in, .row_stride = (int64_t)classes, .position_stride = 1}};
    const struct ulp_named_operand y = {
        "y", {.tensor = &shares, .row_stride = (int64_t)classes, .position_stride = 1}};
    if (in->count)
        ULP_TRY(ulp_call_formula(call, &shares_of_classes, &exact, &rows, 1, &x, 1, &y));
    for (size_t i = 0; i < call->out[0].count; i++) {
        const double *share = (const double *)shares.data + i / samples * classes;
        double left = ulp_random_uniform(read_key(call), i);
        size_t class = 0;
        while (class + 1 < classes && left >= share[class])
            left -= share[class ++];
        ulp_tensor_set_int(&call->out[0], i, (int64_t) class);
    }
    return ULP_OK;
}

static enum ulp_status infer_random(struct ulp_call *call)
{
    struct ulp_list shape;
    enum ulp_type type;
    ULP_TRY(read_type(call, "dtype", ULP_TYPE_FLOAT, &type));
    ULP_TRY(ulp_call_list(call, "shape", &shape));
    ULP_TRY(ulp_check_rank(shape.count, call->error));
    return ulp_call_describe(call, 0, type, (int)shape.count, shape.values);
}

#define CONSTANT                                                                     \
    .inputs = "", .outputs = "output", .infer = infer_constant, .run = run_constant, \
    .work = ULP_WORK_MOVE
#define ONE_HOT                                                                            \
    .inputs = "indices:*n depth:*n values:*", .outputs = "output", .infer = infer_one_hot, \
    .run = run_one_hot, .work = ULP_WORK_MOVE
#define RANGE                                                                       \
    .inputs = "start:n limit:n delta:n", .outputs = "output", .infer = infer_range, \
    .rows = rows_range, .derived = "i", .formula = "start + i * delta"
#define WINDOW                                                                    \
    .inputs = "size:i", .outputs = "output",                                      \
    .attributes = "output_datatype:int=1; periodic:int=1", .infer = infer_window, \
    .rows = rows_range, .derived = "i"
#define UNIFORM "dtype:int; high:float=1; low:float=0; seed:float"
#define NORMAL "dtype:int; mean:float=0; scale:float=1; seed:float"
/* Box and Muller, "A note on the generation of random normal deviates", 1958 */
#define NORMAL_FORMULA "mean + scale * (sqrt(-2 * log(v)) * cos(2 * pi * u))"
/* The angle of position i in a window whose period is size, or size - 1 when it is symmetric. */
#define ANGLE "a = 2 * pi * i / (periodic ? size : size - 1); "

/* clang-format off */
const struct ulp_operator ulp_ops_generate[] = {
    {.name = "Bernoulli", .since = 15, .inputs = "input:f", .outputs = "output",
     .attributes = "dtype:int; seed:float",
     .infer = infer_like, .rows = rows_random, .derived = "u", .formula = "u < input"},
    {.name = "BlackmanWindow", .since = 17, WINDOW, .formula = ANGLE "0.42 - 0.5 * cos(a) + 0.08 "
                                        "* cos(2 * a)"},
    {.name = "Constant", .since = 1, CONSTANT, .attributes = "value:!tensor"},
    {.name = "Constant", .since = 11, CONSTANT, .attributes = "sparse_value:tensor; value:tensor"},
    {.name = "Constant", .since = 12, CONSTANT,
     .attributes = "sparse_value:tensor; value:tensor; value_float:float; value_floats:floats; "
                   "value_int:int; value_ints:ints"},
    {.name = "ConstantOfShape", .since = 9, .inputs = "input:i", .outputs = "output",
     .attributes = "value:tensor",
     .infer = infer_constant_of_shape, .run = run_constant_of_shape, .work = ULP_WORK_MOVE},
    {.name = "EyeLike", .since = 9, .inputs = "input:*", .outputs = "output",
     .attributes = "dtype:int; k:int=0",
     .infer = infer_like, .run = run_eye, .work = ULP_WORK_MOVE},
    {.name = "HammingWindow", .since = 17, WINDOW, .formula = ANGLE "25 / 46 - 21 / 46 * cos(a)"},
    {.name = "HannWindow", .since = 17, WINDOW, .formula = ANGLE "0.5 - 0.5 * cos(a)"},
    {.name = "Multinomial", .since = 7, .inputs = "input:fn", .outputs = "output",
     .attributes = "dtype:int=6; sample_size:int=1; seed:float", .infer = infer_multinomial,
     .run = run_multinomial, .formulas = ULP_FORMULAS(&shares_of_classes)},
    {.name = "OneHot", .since = 9, ONE_HOT, .attributes = "axis:int=-1"},
    {.name = "RandomNormal", .since = 1, .inputs = "", .outputs = "output",
     .attributes = NORMAL "; shape:!ints",
     .infer = infer_random, .rows = rows_random, .derived = "u v", .formula = NORMAL_FORMULA},
    {.name = "RandomNormalLike", .since = 1, .inputs = "input:*", .outputs = "output",
     .attributes = NORMAL,
     .infer = infer_like, .rows = rows_random, .derived = "u v", .formula = NORMAL_FORMULA},
    {.name = "RandomUniform", .since = 1, .inputs = "", .outputs = "output",
     .attributes = UNIFORM "; shape:!ints",
     .infer = infer_random, .rows = rows_random, .derived = "u",
     .formula = "low + (high - low) * u"},
    {.name = "RandomUniformLike", .since = 1, .inputs = "input:*", .outputs = "output",
     .attributes = UNIFORM,
     .infer = infer_like, .rows = rows_random, .derived = "u", .formula = "low + (high - low) * u"},
    {.name = "Range", .since = 11, RANGE},
    {.name = "Range", .since = 27, RANGE, .attributes = "stash_type:int=1"},
    {0},
};
/* clang-format on */
