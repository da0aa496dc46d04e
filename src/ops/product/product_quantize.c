/* Quantisation: scales and zero points as formulas, products as sums of 32-bit integers. */
#include <string.h>

#include "base/error.h"
#include "ops/contraction.h"
#include "ops/ops_move.h"
#include "ops/product/quantize_rows.h"

/* ---- QuantizeLinear, DequantizeLinear ---- */

enum ulp_status ulp_quantize_check(struct ulp_call *call)
{
    const int64_t block = ulp_call_int(call, "block_size"),
                  precision = ulp_call_int(call, "precision");
    if (precision && precision != ULP_TYPE_FLOAT && precision != ULP_TYPE_FLOAT16 &&
        precision != ULP_TYPE_BFLOAT16)
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "precision is %lld: expected 1 (FLOAT), 10 (FLOAT16) or 16 (BFLOAT16)",
                        (long long)precision);
    return block >= 0
               ? ULP_OK
               : ULP_REFUSE(call, "block_size is %lld: expected how many elements share a scale",
                            (long long)block);
}

enum ulp_status ulp_quantize_type(const struct ulp_call *call, enum ulp_type fallback,
                                  enum ulp_type *out)
{
    int64_t type = ulp_call_int(call, "output_dtype");
    *out = type ? (enum ulp_type)type : fallback;
    return type >= 0 && type < ULP_TYPE_COUNT
               ? ULP_OK
               : ULP_REFUSE(call, "output_dtype %lld is not an element type", (long long)type);
}

enum ulp_status ulp_quantize_infer(struct ulp_call *call)
{
    const struct ulp_tensor *x = call->in[0], *zero = ulp_call_in(call, 2);
    enum ulp_type type;
    ULP_TRY(ulp_quantize_type(call, zero ? zero->type : ULP_TYPE_UINT8, &type));
    if (zero && zero->type != type)
        return ULP_REFUSE(call, "output_dtype is %s, but y_zero_point has type %s: they must agree",
                          ulp_type_name(type), ulp_type_name(zero->type));
    return ulp_call_describe(call, 0, type, x->rank, x->dims);
}

enum ulp_status ulp_dequantize_infer(struct ulp_call *call)
{
    const struct ulp_tensor *x = call->in[0];
    enum ulp_type type;
    ULP_TRY(ulp_quantize_type(call, call->in[1]->type, &type));
    return ulp_call_describe(call, 0, type, x->rank, x->dims);
}

/* With its axis as two, of blocks and of what is in one: a parameter has 1 there. */
static enum ulp_status split_axis(const struct ulp_call *call, struct ulp_operand *operand,
                                  int axis, int64_t block)
{
    const struct ulp_tensor *in = operand->tensor;
    int64_t dims[ULP_RANK_MAX];
    if (!in || in->rank != call->in[0]->rank)
        return ULP_OK; /* one for the tensor */
    for (int d = 0; d < in->rank; d++)
        dims[d + (d > axis)] = in->dims[d];
    const bool whole = in->dims[axis] == call->in[0]->dims[axis];
    dims[axis] = whole ? in->dims[axis] / block : in->dims[axis];
    dims[axis + 1] = whole ? block : 1;
    operand->tensor = ulp_layout_view(call->scratch, in, in->rank + 1, dims);
    return ulp_taken(operand->tensor, call->error);
}

/* A scale or zero point with one entry a block: entry i / block of the axis, for every element of
 * x. */
static enum ulp_status spread_blocks(struct ulp_call *call, struct ulp_operand *operand, int axis,
                                     int64_t block)
{
    const struct ulp_tensor *x = call->in[0], *in = operand->tensor;
    int64_t strides[ULP_RANK_MAX], *tables[ULP_RANK_MAX];
    ULP_CALL_TAKE(struct ulp_tensor, out, call, 1);
    ULP_TRY(ulp_tensor_describe(out, in->type, in->element, in->precision, x->rank, x->dims,
                                call->error));
    ULP_TRY(ulp_call_temporary(call, out));
    ulp_strides(in, strides);
    for (int d = 0; d < x->rank; d++) {
        ULP_TRY(ulp_move_table(call, &tables[d], (size_t)x->dims[d], 0, strides[d]));
        for (int64_t i = 0; d == axis && i < x->dims[d]; i++)
            tables[d][i] = i / block * strides[d];
    }
    operand->tensor = out;
    return ulp_move_axes(out, in, (const int64_t *const *)tables, NULL, call->pool, call->error);
}

/* Blocks all of one length, which are no more than another axis: *axis. */
static bool has_even_blocks(const struct ulp_call *call, int *axis)
{
    const struct ulp_tensor *x = call->in[0];
    const struct ulp_attribute_value *attribute = ulp_call_attribute(call, "axis");
    const int64_t block = ulp_call_int(call, "block_size");
    return block > 1 && x->rank > 0 && x->rank < ULP_RANK_MAX &&
           ulp_call_axis(attribute->present ? attribute->i : 1, x->rank, axis, NULL) == ULP_OK &&
           x->dims[*axis] % block == 0 && x->dims[*axis] > block;
}

/* One for the tensor, one for each index of axis, or one a block along it. */
static enum ulp_status lay_parameter(struct ulp_call *call, struct ulp_operand *operand)
{
    const struct ulp_tensor *x = call->in[0], *in = operand->tensor;
    const struct ulp_attribute_value *attribute = ulp_call_attribute(call, "axis");
    const int64_t block = ulp_call_int(call, "block_size");
    int axis = 0, split;
    if (!in || in->count == 1 || x->rank == 0)
        return in ? ulp_call_along(call, operand, x->rank, 0) : ULP_OK;
    ULP_TRY(x->rank == 1 ? ULP_OK
                         : ulp_call_axis(attribute->present ? attribute->i : 1, x->rank, &axis,
                                         call->error));
    bool blocked = block > 0 && in->rank == x->rank;
    for (int d = 0; blocked && d < x->rank; d++)
        blocked = in->dims[d] ==
                  (d == axis ? x->dims[d] / block + (x->dims[d] % block != 0) : x->dims[d]);
    if (blocked && has_even_blocks(call, &split))
        return ULP_OK; /* split with the others */
    if (blocked)
        return spread_blocks(call, operand, axis, block);
    if (block > 0 || in->rank != 1 || in->dims[0] != x->dims[axis])
        return ULP_REFUSE(call, "a scale or zero point does not fit axis %d of the input", axis);
    return ulp_call_along(call, operand, x->rank, axis);
}

enum ulp_status ulp_quantize_rows(struct ulp_call *call, const struct ulp_layout *layout)
{
    int axis;
    ULP_TRY(lay_parameter(call, &layout->operands[1]));
    ULP_TRY(lay_parameter(call, &layout->operands[2]));
    const bool split = has_even_blocks(call, &axis);
    struct ulp_operand *const all[] = {&layout->operands[0], &layout->operands[1],
                                       &layout->operands[2], &layout->outputs[0]};
    for (size_t i = 0; i < 4 && split; i++)
        ULP_TRY(split_axis(call, all[i], axis, ulp_call_int(call, "block_size")));
    ULP_TRY(ulp_call_set_range(call, layout->operands, call->out[0].type));
    return ulp_layout_elementwise(layout, call->error);
}

int ulp_output_channels(const char *op, int rank, bool transposed)
{
    return strcmp(op, "MatMul") == 0          ? (rank > 1 ? rank - 1 : -1)
           : strcmp(op, "Conv") == 0          ? 0
           : strcmp(op, "ConvTranspose") == 0 ? 1
           : strcmp(op, "Gemm") == 0          ? !transposed
                                              : -1;
}

/* ---- DynamicQuantizeLinear: one row over everything ---- */

static enum ulp_status infer_dynamic(struct ulp_call *call)
{
    const struct ulp_tensor *x = call->in[0];
    ULP_TRY(ulp_call_describe(call, 0, ULP_TYPE_UINT8, x->rank, x->dims));
    ULP_TRY(ulp_call_describe(call, 1, x->type, 0, NULL));
    return ulp_call_describe(call, 2, ULP_TYPE_UINT8, 0, NULL);
}

static enum ulp_status rows_all(struct ulp_call *call, const struct ulp_layout *layout)
{
    *layout->rows = (struct ulp_rows){.row_count = 1, .row_length = call->in[0]->count};
    layout->operands[0].position_stride = layout->outputs[0].position_stride = 1;
    return ULP_OK;
}

#define DYNAMIC(scale, zero)                                                                    \
    "top = max(0, row_max(x)); bottom = min(0, row_min(x)); " scale                             \
    " = top == bottom ? 1 : (top - bottom) / 255; " zero " = round(min(max(0 - bottom / " scale \
    ", 0), 255)); min(max(round(x / " scale ") + " zero ", 0), 255)"

const struct ulp_formula ulp_quantized_dynamic = {"x", "y scale zero", DYNAMIC("scale", "zero")};

enum ulp_status ulp_quantize_dynamic(struct ulp_call *call, const struct ulp_tensor *in,
                                     struct ulp_tensor *values, struct ulp_tensor *scale,
                                     struct ulp_tensor *zero)
{
    const struct {
        struct ulp_tensor *tensor;
        enum ulp_type type;
        int rank;
    } made[] = {{values, ULP_TYPE_UINT8, in->rank},
                {scale, in->type, 0},
                {zero, ULP_TYPE_UINT8, 0}};
    if (in->count == 0)
        return ULP_REFUSE(call, "what is to be quantised has no elements");
    for (int i = 0; i < 3; i++)
        ULP_TRY(ulp_call_make_here(call, made[i].tensor, made[i].type, made[i].rank, in->dims));
    const struct ulp_rows rows = {.row_count = 1, .row_length = in->count};
    const struct ulp_named_operand operand = {"x", {.tensor = in, .position_stride = 1}};
    const struct ulp_named_operand outputs[] = {{"", {.tensor = values, .position_stride = 1}},
                                                {"scale", {.tensor = scale}},
                                                {"zero", {.tensor = zero}}};
    return ulp_call_formula(call, &ulp_quantized_dynamic, call->arithmetic, &rows, 1, &operand, 3,
                            outputs);
}

/* ---- products of integers ---- */

/* Bytes less one zero point, as INT32: no difference overflows. */
struct difference {
    int32_t *out;
    const struct ulp_tensor *in;
    int32_t zero;
};

ULP_WORK(subtract_bytes)
{
    const struct difference *d = context;
    const int32_t zero = d->zero;
    if (d->in->element == ULP_ELEMENT_I8)
        for (size_t i = first; i < last; i++)
            d->out[i] = ((const int8_t *)d->in->data)[i] - zero;
    else
        for (size_t i = first; i < last; i++)
            d->out[i] = ((const uint8_t *)d->in->data)[i] - zero;
    return ULP_OK;
}

static bool is_bytes(const struct ulp_tensor *tensor)
{
    return tensor->element == ULP_ELEMENT_I8 || tensor->element == ULP_ELEMENT_U8;
}

enum ulp_status ulp_integer_combine(struct ulp_call *call, struct ulp_tensor *out, const char *text,
                                    const struct ulp_tensor *in, const struct ulp_tensor *zero,
                                    int axis)
{
    const bool wide = in->type == ULP_TYPE_INT64;
    ULP_TRY(ulp_tensor_describe(out, wide ? ULP_TYPE_INT64 : ULP_TYPE_INT32,
                                wide ? ULP_ELEMENT_I64 : ULP_ELEMENT_I32, 0, in->rank, in->dims,
                                call->error));
    ULP_TRY(ulp_call_temporary(call, out));
    if (out->count == 0)
        return ULP_OK;
    if (is_bytes(in) && (!zero || (is_bytes(zero) && zero->count == 1)) &&
        strcmp(text, "x - zero") == 0) {
        struct difference difference = {out->data, in,
                                        zero ? (int32_t)ulp_tensor_get_int(zero, 0) : 0};
        return ulp_parallel_for(call->pool, in->count, 65536, subtract_bytes, &difference,
                                call->error);
    }
    struct ulp_rows rows;
    struct ulp_operand operands[2] = {{.tensor = in},
                                      {.tensor = zero, .constant = zero ? NULL : "0"}},
                       output = {.tensor = out};
    if (zero && zero->rank <= 1)
        ULP_TRY(ulp_call_along(call, &operands[1], in->rank, zero->count == 1 ? 0 : axis));
    const struct ulp_layout layout = {.rows = &rows,
                                      .operands = operands,
                                      .outputs = &output,
                                      .operand_count = 2,
                                      .output_count = 1,
                                      .arena = call->scratch};
    ULP_TRY(ulp_layout_elementwise(&layout, call->error));
    const struct ulp_named_operand named[] = {{"x", operands[0]}, {"zero", operands[1]}},
                                   result = {"y", output};
    return ulp_call_text(call, text, call->arithmetic, &rows, 2, named, 1, &result);
}

static enum ulp_status add_integers(struct ulp_call *call, const struct ulp_tensor *a,
                                    const struct ulp_tensor *b, enum ulp_product product,
                                    struct ulp_sums *sums)
{
    switch (product) {
    case ULP_PRODUCT_CONV: return ulp_conv_sums(call, a, b, sums);
    case ULP_PRODUCT_GEMM: return ulp_gemm_sums(call, a, b, sums);
    default: return ulp_matmul_sums(call, a, b, sums);
    }
}

bool ulp_pairs_find(const struct ulp_call *call, const struct ulp_tensor *a,
                    const struct ulp_tensor *zero, const struct ulp_tensor *b,
                    struct ulp_pairs *pairs)
{
    const enum ulp_pair_kind kind = call->bound->op->pairs;
    const bool is_unsigned = a->element == ULP_ELEMENT_U8;
    if (!call->arithmetic->schedule.integers_saturate || kind == ULP_PAIRS_NONE || !is_bytes(a) ||
        b->element != ULP_ELEMENT_I8 || (!is_unsigned && kind != ULP_PAIRS_ANY) ||
        (zero && zero->count != 1))
        return false;
    *pairs = (struct ulp_pairs){.zero = (zero ? (int32_t)ulp_tensor_get_int(zero, 0) : 0) +
                                        (is_unsigned ? 0 : 128)};
    return true;
}

/* What the sums lose where neighbours saturate; a: without its zero point. A Conv of one channel in
 * and out of a group has a kernel of its own, which does not. */
static enum ulp_status saturate(struct ulp_call *call, const struct ulp_tensor *const factors[2],
                                const struct ulp_tensor *zero, const struct ulp_tensor *a,
                                enum ulp_product product, struct ulp_sums *sums)
{
    struct ulp_pairs pairs;
    struct ulp_tensor b;
    const bool conv = product == ULP_PRODUCT_CONV;
    if (!ulp_pairs_find(call, factors[0], zero, factors[1], &pairs) ||
        (conv && factors[1]->rank > 1 && factors[1]->dims[1] == 1 &&
         factors[1]->dims[0] == ulp_call_int(call, "group")))
        return ULP_OK;
    pairs.b_is_unsigned = conv;
    ULP_TRY(ulp_integer_combine(call, &b, "x - zero", factors[1], NULL, 0));
    sums->pairs = &pairs;
    const enum ulp_status status = add_integers(call, a, &b, product, sums);
    sums->pairs = NULL;
    return status;
}

enum ulp_status ulp_integer_product(struct ulp_call *call,
                                    const struct ulp_tensor *const factors[2],
                                    const struct ulp_tensor *const zeros[2],
                                    enum ulp_product product, bool with_epilogue,
                                    struct ulp_sums *sums)
{
    const bool channels = product == ULP_PRODUCT_CONV ||
                          (product == ULP_PRODUCT_GEMM && ulp_call_int(call, "transB"));
    struct ulp_tensor a, b;
    ULP_TRY(ulp_integer_combine(call, &a, "x - zero", factors[0], zeros[0],
                                product == ULP_PRODUCT_MATMUL ? factors[0]->rank - 2 : 0));
    ULP_TRY(ulp_integer_combine(call, &b, "x - zero", factors[1], zeros[1],
                                channels ? 0 : factors[1]->rank - 1));
    ULP_TRY(ulp_sums_begin(call,
                           factors[0]->type == ULP_TYPE_INT16 ? ULP_TYPE_INT64 : ULP_TYPE_INT32,
                           with_epilogue, sums));
    ULP_TRY(add_integers(call, &a, &b, product, sums));
    return saturate(call, factors, zeros[0], &a, product, sums);
}

enum ulp_status ulp_integer_sums(struct ulp_call *call, const struct ulp_tensor *const factors[2],
                                 const struct ulp_tensor *const zeros[2], enum ulp_product product,
                                 const char *places)
{
    struct ulp_sums sums;
    ULP_TRY(ulp_integer_product(call, factors, zeros, product, places != NULL, &sums));
    return ulp_sums_end(call, &sums, places);
}

/* The same of the row's slots: a, b (or x, w) and the zero points. */
static enum ulp_status multiply_integers(struct ulp_call *call, size_t a, size_t a_zero, size_t b,
                                         size_t b_zero, enum ulp_product product,
                                         const char *places)
{
    return ulp_integer_sums(call, (const struct ulp_tensor *[]){call->in[a], call->in[b]},
                            (const struct ulp_tensor *[]){ulp_call_in(call, a_zero),
                                                          ulp_call_in(call, b_zero)},
                            product, places);
}

static enum ulp_status infer_matmul_integer(struct ulp_call *call)
{
    return ulp_matmul_infer(call, call->in[0], call->in[1], ULP_TYPE_INT32);
}
static enum ulp_status run_matmul_integer(struct ulp_call *call)
{
    return multiply_integers(call, 0, 2, 1, 3, ULP_PRODUCT_MATMUL, NULL);
}

static enum ulp_status infer_conv_integer(struct ulp_call *call)
{
    return ulp_conv_infer(call, call->in[0], call->in[1], ULP_TYPE_INT32);
}
static enum ulp_status run_conv_integer(struct ulp_call *call)
{
    return multiply_integers(call, 0, 2, 1, 3, ULP_PRODUCT_CONV, NULL);
}

static enum ulp_status infer_qlinear_matmul(struct ulp_call *call)
{
    return ulp_matmul_infer(call, call->in[0], call->in[3], call->in[7]->type);
}
static enum ulp_status run_qlinear_matmul(struct ulp_call *call)
{
    return multiply_integers(call, 0, 2, 3, 5, ULP_PRODUCT_MATMUL, "-r--b-bb");
}

static enum ulp_status infer_qlinear_conv(struct ulp_call *call)
{
    return ulp_conv_infer(call, call->in[0], call->in[3], call->in[7]->type);
}
static enum ulp_status run_qlinear_conv(struct ulp_call *call)
{
    return multiply_integers(call, 0, 2, 3, 5, ULP_PRODUCT_CONV, "-b--c-bbc");
}

#define QUANTIZE ULP_QUANTIZE, .infer = ulp_quantize_infer
#define DEQUANTIZE ULP_DEQUANTIZE, .infer = ulp_dequantize_infer
#define GEOMETRY                                                                          \
    "auto_pad:string=NOTSET; dilations:ints; group:int=1; kernel_shape:ints; pads:ints; " \
    "strides:ints"
#define REQUANTIZE(sum, scale) \
    "q = round(" sum " * (" scale ")) + y_zero_point; min(max(q, low), high)"

/* clang-format off */
const struct ulp_operator ulp_ops_quantize[] = {
    {.name = "ConvInteger", .since = 10, .quantizes = true,
     .inputs = "x:i w:i x_zero_point:i? w_zero_point:i?", .outputs = "y",
     .attributes = GEOMETRY, .infer = infer_conv_integer, .run = run_conv_integer,
     .work = ULP_WORK_CONTRACTION, .weights = "w", .integer_sums = true},
    {.name = "DequantizeLinear", .since = 10, DEQUANTIZE},
    {.name = "DequantizeLinear", .since = 13, DEQUANTIZE, .attributes = "axis:int=1"},
    {.name = "DequantizeLinear", .since = 21, DEQUANTIZE,
     .attributes = "axis:int=1; block_size:int=0"},
    {.name = "DequantizeLinear", .since = 23, DEQUANTIZE,
     .attributes = "axis:int=1; block_size:int=0; output_dtype:int=0"},
    {.name = "DequantizeLinear", .domain = "com.microsoft", .since = 1, DEQUANTIZE,
     .attributes = "axis:int=1; block_size:int=0"},
    {.name = "DynamicQuantizeLinear", .since = 11, .quantizes = true, .inputs = "x",
     .outputs = "y y_scale y_zero_point",
     .infer = infer_dynamic, .rows = rows_all,
     .formula = DYNAMIC("y_scale", "y_zero_point")},
    {.name = "MatMulInteger", .since = 10, .quantizes = true,
     .inputs = "a:i b:i a_zero_point:i? b_zero_point:i?", .outputs = "y",
     .infer = infer_matmul_integer, .run = run_matmul_integer, .work = ULP_WORK_CONTRACTION,
     .weights = "b", .integer_sums = true, .pairs = ULP_PAIRS_UNSIGNED},
    {.name = "QLinearConv", .since = 10, .quantizes = true,
     .inputs = "x:i x_scale:p x_zero_point:i w:i w_scale:p w_zero_point:i y_scale:p "
               "y_zero_point:i bias:i?=0",
     .outputs = "y", .attributes = GEOMETRY, .derived = "low high", .infer = infer_qlinear_conv,
     .run = run_qlinear_conv, .work = ULP_WORK_CONTRACTION, .weights = "w", .integer_sums = true, .pairs = ULP_PAIRS_UNSIGNED,
     .epilogue = REQUANTIZE("(acc + bias)",
     "x_scale * w_scale / y_scale")},
    {.name = "QLinearMatMul", .since = 10, .quantizes = true,
     .inputs = "a:i a_scale:p a_zero_point:i b:i b_scale:p b_zero_point:i y_scale:p "
               "y_zero_point:i", .outputs = "y",
     .derived = "low high", .infer = infer_qlinear_matmul, .run = run_qlinear_matmul,
     .work = ULP_WORK_CONTRACTION, .weights = "b", .integer_sums = true, .pairs = ULP_PAIRS_UNSIGNED,
     .epilogue = REQUANTIZE("acc", "a_scale * b_scale / y_scale")},
    {.name = "QuantizeLinear", .since = 10, QUANTIZE},
    {.name = "QuantizeLinear", .since = 13, QUANTIZE, .attributes = "axis:int=1"},
    {.name = "QuantizeLinear", .since = 19, QUANTIZE, .attributes = "axis:int=1; saturate:int=1"},
    {.name = "QuantizeLinear", .since = 21, QUANTIZE,
     .attributes = "axis:int=1; block_size:int=0; output_dtype:int=0; saturate:int=1"},
    {.name = "QuantizeLinear", .since = 23, QUANTIZE, .steps_as = 1,
     .attributes = "axis:int=1; block_size:int=0; output_dtype:int=0; precision:int=0; "
                   "saturate:int=1"},
    {.name = "QuantizeLinear", .domain = "com.microsoft", .since = 1, QUANTIZE,
     .attributes = "axis:int=1; block_size:int=0"},
    {0},
};
/* clang-format on */
