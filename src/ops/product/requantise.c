/* The kernels are those of TensorFlow Lite, TFLite Micro and CMSIS-NN, which have gemmlowp's
 * rounding: a scale is an integer of 31 bits and a shift. */
#include "ops/product/requantise.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

/* ---- numbers ---- */

struct ulp_fixed_scale ulp_fixed_scale_of(double scale)
{
    struct ulp_fixed_scale out = {0};
    int shift;
    const double q = round(ldexp(frexp(scale, &shift), 31)); /* half of the range at least */
    if (!(scale > 0) || shift < -31)
        return out;
    out.shift = q == 0x1p31 ? shift + 1 : shift;
    out.multiplier = (int32_t)(q == 0x1p31 ? 0x1p30 : q);
    if (out.shift > 30)
        out = (struct ulp_fixed_scale){INT32_MAX, 30};
    return out;
}

/* x / 2^n, rounded down. */
static int64_t shift_down(int64_t x, int n)
{
    return x >= 0 ? x >> n : ~(~x >> n);
}

static int64_t shift_half_up(int64_t x, int n)
{
    return shift_down(x + ((int64_t)1 << (n - 1)), n);
}

static int64_t shift_half_away(int64_t x, int n)
{
    return n == 0 ? x : x >= 0 ? shift_half_up(x, n) : -shift_half_up(-x, n);
}

int32_t ulp_requantise(int32_t sum, struct ulp_fixed_scale scale, enum ulp_requant requant)
{
    const int left = scale.shift > 0 ? scale.shift : 0, right = left - scale.shift;
    if (requant == ULP_REQUANT_SINGLE)
        return (int32_t)shift_half_up((int64_t)sum * scale.multiplier, 31 - scale.shift);
    const int32_t shifted = (int32_t)((uint32_t)sum << left); /* of 32 bits: what leaves is lost */
    return (int32_t)shift_half_away(shift_half_up((int64_t)shifted * scale.multiplier, 31), right);
}

int32_t ulp_requantise_wide(int64_t sum, struct ulp_fixed_scale scale, enum ulp_requant requant)
{
    const int shift = scale.shift < 14 ? scale.shift : 14;
    if (requant == ULP_REQUANT_SINGLE) {
        const int64_t high = shift_down(sum, 16), low = sum - high * (1 << 16);
        const int64_t rest = low * scale.multiplier + ((int64_t)1 << (30 - shift));
        return (int32_t)shift_down(high * scale.multiplier + shift_down(rest, 16), 15 - shift);
    }
    const int32_t reduced =
        scale.multiplier < 0x7FFF0000 ? (scale.multiplier + (1 << 15)) >> 16 : 0x7FFF;
    return (int32_t)shift_half_up(sum * reduced, 15 - shift);
}

/* ---- rows ---- */

enum kind { NONE, PRODUCT, ADD, MULTIPLY };

static enum kind find_kind(const struct ulp_operator *op)
{
    return op->integer_sums                      ? PRODUCT
           : !op->domain                         ? NONE
           : strcmp(op->name, "QLinearAdd") == 0 ? ADD
           : strcmp(op->name, "QLinearMul") == 0 ? MULTIPLY
                                                 : NONE;
}

/* What the rule is given, by operand. Scales of a product are of every pair of its factors'. */
struct requantising {
    enum kind kind;
    enum ulp_requant requant;
    const struct ulp_rows *rows;
    const struct ulp_operand *a, *b; /* the sum, or both factors */
    const struct ulp_operand *a_zero, *b_zero, *scale[3], *zero, *bias;
    const struct ulp_operand *out;
    struct ulp_fixed_scale *fixed; /* of ADD: of a, of b, of their sum */
    double *exact;                 /* scales of the factors' products, by which biases are made */
    double low, high;
};

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

bool ulp_requantises(const struct ulp_call *call)
{
    const struct ulp_operator *op = call->bound->op;
    return call->arithmetic->schedule.requant && !ulp_type_is_float(call->out[0].type) &&
           find_kind(op) != NONE && ulp_call_input_index(call, "y_scale") >= 0;
}

static void find_operands(const struct ulp_call *call, const struct ulp_operand *operands,
                          struct requantising *r)
{
    const struct ulp_bound *bound = call->bound;
    const struct ulp_operand *of = operands + (r->kind == PRODUCT); /* the sum is before them */
    int scales = 0, zeros = 0;
    r->a = &operands[0];
    for (size_t i = 0; i < bound->input_slot_count; i++) {
        const char *name = bound->inputs[i].name;
        const bool is_output = name[0] == 'y';
        if (ends_in(name, "_scale"))
            r->scale[is_output ? 2 : scales++] = &of[i];
        else if (ends_in(name, "_zero_point") && is_output)
            r->zero = &of[i];
        else if (ends_in(name, "_zero_point"))
            *(zeros++ ? &r->b_zero : &r->a_zero) = &of[i];
        else if (r->kind != PRODUCT && strcmp(name, "b") == 0)
            r->b = &of[i];
        else if (r->kind == PRODUCT && (strcmp(name, "bias") == 0 || strcmp(name, "c") == 0))
            r->bias = &of[i];
    }
}

static double read_first(const struct ulp_operand *operand)
{
    return ulp_tensor_read(operand->tensor, 0);
}

/* The kernels' own roundings on the way: TFLite Micro multiplies the scales of FullyConnected and
 * BatchMatMul in FP32, all do of Mul; others are multiplied in FP64. */
static enum ulp_status find_scales(struct ulp_call *call, struct requantising *r)
{
    const struct ulp_tensor *a = r->scale[0]->tensor, *b = r->scale[1]->tensor;
    const double y = read_first(r->scale[2]);
    const struct ulp_attribute_value *alpha = ulp_call_attribute(call, "alpha");
    if (r->scale[2]->tensor->count != 1)
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "requant= with %zu scales of one result: expected one",
                        r->scale[2]->tensor->count);
    if (r->kind == ADD) {
        const double s = read_first(r->scale[0]), t = read_first(r->scale[1]),
                     twice = 2 * (s > t ? s : t);
        ULP_TRY(ulp_call_take(call, 3, sizeof *r->fixed, &r->fixed));
        r->fixed[0] = ulp_fixed_scale_of(s / twice);
        r->fixed[1] = ulp_fixed_scale_of(t / twice);
        r->fixed[2] = ulp_fixed_scale_of(twice / (0x1p20 * y));
        return ULP_OK;
    }
    ULP_TRY(ulp_call_take(call, a->count * b->count, sizeof *r->fixed, &r->fixed));
    ULP_TRY(ulp_call_take(call, a->count * b->count, sizeof *r->exact, &r->exact));
    const bool single = r->requant == ULP_REQUANT_DOUBLE && a->count == 1 && b->count == 1 &&
                        strcmp(call->bound->node->op_type, "Conv") != 0 &&
                        strcmp(call->bound->node->op_type, "QLinearConv") != 0;
    for (size_t i = 0; i < a->count * b->count; i++) {
        double product = ulp_tensor_read(a, i / b->count) * ulp_tensor_read(b, i % b->count);
        r->exact[i] = product *= alpha && alpha->present ? (double)alpha->f : 1;
        if (single)
            product = (float)product;
        r->fixed[i] = ulp_fixed_scale_of(r->kind == MULTIPLY ? (double)((float)product / (float)y)
                                                             : product / y);
    }
    return ULP_OK;
}

static int64_t read_code(const struct ulp_operand *operand, size_t row, size_t position)
{
    return operand && operand->tensor
               ? ulp_tensor_get_int(operand->tensor,
                                    (size_t)ulp_operand_place(operand, row, position))
               : 0;
}

/* A bias that is a float is made INT32, at the scale of the sums, as a converter does. */
static int64_t read_bias(const struct requantising *r, size_t row, size_t position, double scale)
{
    const struct ulp_tensor *bias = r->bias ? r->bias->tensor : NULL;
    if (!bias || !ulp_type_is_float(bias->type))
        return read_code(r->bias, row, position);
    const double code =
        round(ulp_tensor_read(bias, (size_t)ulp_operand_place(r->bias, row, position)) / scale);
    return !(code > -0x1p31) ? INT32_MIN : code >= 0x1p31 ? INT32_MAX : (int64_t)code;
}

static int64_t make_product(const struct requantising *r, size_t row, size_t position)
{
    const size_t a = (size_t)ulp_operand_place(r->scale[0], row, position),
                 b = (size_t)ulp_operand_place(r->scale[1], row, position),
                 pair = a * r->scale[1]->tensor->count + b;
    const int64_t sum =
        read_code(r->a, row, position) + read_bias(r, row, position, r->exact[pair]);
    return r->a->tensor->type == ULP_TYPE_INT64
               ? ulp_requantise_wide(sum, r->fixed[pair], r->requant)
               : ulp_requantise((int32_t)(uint32_t)sum, r->fixed[pair], r->requant);
}

static int64_t make_bytes(const struct requantising *r, size_t row, size_t position)
{
    const int64_t a = read_code(r->a, row, position) - read_code(r->a_zero, row, position),
                  b = read_code(r->b, row, position) - read_code(r->b_zero, row, position);
    if (r->kind == MULTIPLY)
        return ulp_requantise((int32_t)(a * b), r->fixed[0], r->requant);
    const int32_t sum = ulp_requantise((int32_t)(a * (1 << 20)), r->fixed[0], r->requant) +
                        ulp_requantise((int32_t)(b * (1 << 20)), r->fixed[1], r->requant);
    return ulp_requantise(sum, r->fixed[2], r->requant);
}

ULP_WORK(requantise_rows)
{
    const struct requantising *r = context;
    for (size_t row = first; row < last; row++)
        for (size_t p = 0; p < r->rows->row_length; p++) {
            const int64_t made = (r->kind == PRODUCT ? make_product : make_bytes)(r, row, p);
            double code = (double)(made + read_code(r->zero, row, p));
            code = code < r->low ? r->low : code > r->high ? r->high : code;
            ulp_tensor_set_int((struct ulp_tensor *)(uintptr_t)r->out->tensor,
                               (size_t)ulp_operand_place(r->out, row, p), (int64_t)code);
        }
    return ULP_OK;
}

enum ulp_status ulp_requantise_rows(struct ulp_call *call, const struct ulp_rows *rows,
                                    const struct ulp_operand *operands,
                                    const struct ulp_operand *output)
{
    struct requantising r = {.kind = find_kind(call->bound->op),
                             .requant = call->arithmetic->schedule.requant,
                             .rows = rows,
                             .out = output};
    ulp_integer_range(call->out[0].type, &r.low, &r.high);
    find_operands(call, operands, &r);
    ULP_TRY(find_scales(call, &r));
    if (ulp_call_int(call, "rectified") && r.low < (double)read_code(r.zero, 0, 0))
        r.low = (double)read_code(r.zero, 0, 0);
    return ulp_parallel_for(call->pool, rows->row_count, ulp_grain(8.0 * (double)rows->row_length),
                            requantise_rows, &r, call->error);
}
