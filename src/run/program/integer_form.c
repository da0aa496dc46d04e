/* Finding products that an INT8 kernel can compute: a MatMul, Gemm or Conv with DequantizeLinear
 * on both factors and a QuantizeLinear (perhaps after a Relu) behind it. In lanes with qdq=integer
 * such a step reads the quantised values, which become further inputs of it so that they live long
 * enough. The QuantizeLinear forms the same sum again, since its result is rounded once from it,
 * while the product's own output remains a value that can be reported. ONNX Runtime computes some
 * other operators between unsigned bytes on these, too: lanes that are it do. Other lanes compute
 * the graph as it is written. */
#include <math.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "ops/product/quantize_rows.h"
#include "run/idiom/idiom_read.h"
#include "run/program/program.h"

/* The integer operator's inputs, in its row's order; slots. */
enum {
    X,
    X_SCALE,
    X_ZERO,
    W,
    W_SCALE,
    W_ZERO,
    INTEGER_BIAS,
    BIAS,
    FACTOR_COUNT,
    Y_SCALE = FACTOR_COUNT,
    Y_ZERO,
    INPUT_COUNT
};

static const struct ulp_step *find_producer(const struct ulp_block *block, int slot, const char *op)
{
    const struct ulp_step *step = ulp_block_producer(block, slot);
    return step && strcmp(step->bound.op->name, op) == 0 ? step : NULL;
}

static bool is_byte(enum ulp_type type)
{
    return type == ULP_TYPE_INT8 || type == ULP_TYPE_UINT8;
}

static enum ulp_type type_of(const struct ulp_block *block, int slot)
{
    return block->slots[slot].shape.type;
}

/* A DequantizeLinear of integers of 8 bits (or of `other`) into FLOAT with known scales, one or
 * (axis >= 0) one for each index of that axis. */
static bool is_quantised(const struct ulp_block *block, const struct ulp_step *dequantize, int axis,
                         enum ulp_type other)
{
    if (!dequantize || ulp_node_int(dequantize->bound.node, "block_size", 0) ||
        ulp_node_int(dequantize->bound.node, "output_dtype", 0))
        return false;
    const struct ulp_tensor *scale = ulp_slot_known(block, ulp_step_input(dequantize, 1)),
                            *zero = ulp_slot_known(block, ulp_step_input(dequantize, 2));
    const struct ulp_tensor *x = &block->slots[ulp_step_input(dequantize, 0)].shape;
    if (!scale || scale->type != ULP_TYPE_FLOAT || (!is_byte(x->type) && x->type != other) ||
        (ulp_step_input(dequantize, 2) >= 0 && !zero))
        return false;
    if (scale->count == 1)
        return !zero || zero->count == 1;
    int64_t along = ulp_node_int(dequantize->bound.node, "axis", 1);
    along += along < 0 ? x->rank : 0;
    return axis >= 0 && scale->rank == 1 && along == axis && axis < x->rank &&
           scale->count == (size_t)x->dims[axis] &&
           (!zero || zero->count == 1 || zero->count == scale->count);
}

/* Which axis of the weights is the output's; -1: one this does not fuse (batches of weights, a
 * transposed or scaled Gemm). */
static int output_axis(const struct ulp_block *block, const struct ulp_step *step)
{
    const char *op = step->bound.op->name;
    const int rank = block->slots[step->inputs[1]].shape.rank;
    if (strcmp(op, "MatMul") == 0 && rank != 2)
        return -1;
    const struct ulp_attribute *alpha = ulp_node_attribute(step->bound.node, "alpha"),
                               *beta = ulp_node_attribute(step->bound.node, "beta");
    if (ulp_node_int(step->bound.node, "transA", 0) || (alpha && alpha->f != 1) ||
        (beta && beta->f != 1 && ulp_step_input(step, 2) >= 0))
        return -1;
    return ulp_output_channels(op, rank, ulp_node_int(step->bound.node, "transB", 0));
}

/* The slot of an INT32 bias whose scale is x_scale * w_scale (within two roundings, of FP32
 * products), so that it adds to the sum; -1: the bias is a float. */
static int integer_bias(const struct ulp_block *block, const struct ulp_step *step,
                        const int slots[INPUT_COUNT])
{
    const struct ulp_step *dequantize =
        find_producer(block, ulp_step_input(step, 2), "DequantizeLinear");
    const struct ulp_tensor *scale =
        dequantize ? ulp_slot_known(block, ulp_step_input(dequantize, 1)) : NULL;
    const struct ulp_tensor *bias =
        dequantize ? &block->slots[ulp_step_input(dequantize, 0)].shape : NULL;
    const struct ulp_tensor *zero =
        dequantize ? ulp_slot_known(block, ulp_step_input(dequantize, 2)) : NULL;
    const struct ulp_tensor *x = ulp_slot_known(block, slots[X_SCALE]),
                            *w = ulp_slot_known(block, slots[W_SCALE]);
    if (!scale || bias->type != ULP_TYPE_INT32 || bias->rank != 1 ||
        (ulp_step_input(dequantize, 2) >= 0 && !zero) ||
        (scale->count != 1 && scale->count != (size_t)bias->dims[0]))
        return -1;
    for (size_t i = 0; zero && i < zero->count; i++)
        if (ulp_tensor_get(zero, i) != 0)
            return -1;
    for (size_t i = 0; i < (size_t)bias->dims[0]; i++) {
        const double product =
            ulp_tensor_get(x, 0) * ulp_tensor_get(w, w->count == 1 ? 0 : i % w->count);
        if (!(fabs(ulp_tensor_get(scale, scale->count == 1 ? 0 : i) - product) <=
              0x1p-22 * fabs(product)))
            return -1;
    }
    return ulp_step_input(dequantize, 0);
}

static struct ulp_attribute integer_attribute(const char *name, int64_t value)
{
    return (struct ulp_attribute){.name = name, .kind = ULP_ATTRIBUTE_INT, .i = value};
}

static enum ulp_status rename_node(struct ulp_program *program, struct ulp_node *node,
                                   const struct ulp_own_operator *own, struct ulp_error *error)
{
    const size_t kept = own->keeps ? node->attribute_count : 0;
    ULP_TAKE_ARRAY(struct ulp_attribute, attributes, program->arena, kept + own->count, error);
    if (kept)
        memcpy(attributes, node->attributes, kept * sizeof *attributes);
    memcpy(attributes + kept, own->attributes, own->count * sizeof *attributes);
    node->attributes = attributes;
    node->attribute_count = kept + own->count;
    node->op_type = own->op;
    node->domain = own->opset ? "" : "com.microsoft";
    return ULP_OK;
}

enum ulp_status ulp_step_add_form(struct ulp_program *program, const struct ulp_block *block,
                                  struct ulp_step *step, const struct ulp_step *product,
                                  const struct ulp_operator *row,
                                  const struct ulp_own_operator *own, unsigned lanes,
                                  const int *slots, size_t count, struct ulp_error *error)
{
    struct ulp_arena *arena = program->arena;
    struct ulp_integer_form *form = ulp_arena_take(arena, 1, sizeof *form);
    struct ulp_node *node = ulp_arena_take(arena, 1, sizeof *node);
    int *inputs = ulp_arena_take(arena, step->input_count + count, sizeof *inputs),
        *from = ulp_arena_take(arena, count, sizeof *from);
    int *numbers = ulp_arena_take(arena, count, sizeof *numbers);
    ULP_TRY(ulp_taken(form && node && inputs && from && numbers, error));
    memcpy(inputs, step->inputs, step->input_count * sizeof *inputs);
    size_t used = step->input_count;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < used && inputs[at] != slots[i])
            at++;
        numbers[i] = slots[i] < 0 ? -1 : (int)i;
        from[i] = slots[i] < 0 ? -1 : (int)at;
        if (slots[i] >= 0 && at == used)
            inputs[used++] = slots[i];
    }
    *node = *product->bound.node;
    node->name = step->bound.node->name;
    node->input_count = count;
    node->inputs = numbers;
    node->output_count = 1;
    if (own)
        ULP_TRY(rename_node(program, node, own, error));
    *form = (struct ulp_integer_form){.product = (int)(product - block->steps),
                                      .lanes = lanes,
                                      .next = step->integer,
                                      .input_count = count,
                                      .from = from};
    ULP_TRY(ulp_bind_row(&form->bound, row, node,
                         row          ? product->opset
                         : own->opset ? own->opset
                                      : 1,
                         arena, error));
    ulp_program_charge_prepared(program, &form->bound);
    form->bound.key = step->bound.key;
    step->integer = form;
    step->inputs = inputs;
    step->input_count = used;
    return ULP_OK;
}

/* A Clip's bound, as input or attribute; NAN: unknown. */
static double clip_bound(const struct ulp_block *block, const struct ulp_step *clip, size_t input,
                         const char *name, double none)
{
    const struct ulp_attribute *given = ulp_node_attribute(clip->bound.node, name);
    const struct ulp_tensor *known = ulp_slot_known(block, ulp_step_input(clip, input));
    return given                             ? given->f
           : ulp_step_input(clip, input) < 0 ? none
           : known                           ? ulp_tensor_get(known, 0)
                                             : NAN;
}

/* Has the Relu or Clip no effect before that step, since it quantises to a narrower range? */
static bool is_redundant(const struct ulp_block *block, const struct ulp_step *clip,
                         const struct ulp_step *next)
{
    const bool relu = strcmp(clip->bound.op->name, "Relu") == 0;
    const struct ulp_tensor *scale = ulp_slot_known(block, ulp_step_input(next, 1)),
                            *zero = ulp_slot_known(block, ulp_step_input(next, 2));
    double low, high;
    if (strcmp(next->bound.op->name, "QuantizeLinear") != 0 || !scale || scale->count != 1 ||
        !zero || zero->count != 1 || ulp_element_is_float(zero->element))
        return false;
    ulp_integer_range(zero->type, &low, &high);
    const double by = ulp_tensor_get(scale, 0), from = ulp_tensor_get(zero, 0);
    return (relu ? 0 : clip_bound(block, clip, 1, "min", -INFINITY)) <= (low - from) * by &&
           (relu ? INFINITY : clip_bound(block, clip, 2, "max", INFINITY)) >= (high - from) * by;
}

/* Where a Relu or Clip alone reads the slot, whose own result one step reads and no output is, ONNX
 * Runtime looks for QuantizeLinear behind it: the slot there, if it takes that one out, -1 if it
 * leaves the product as it is. */
static int find_unclipped(const struct ulp_block *block, int slot)
{
    const struct ulp_step *clip = ulp_block_only_reader(block, slot);
    if (!clip || !ulp_is_word(clip->bound.op->name, "Clip Relu"))
        return slot;
    const int behind = clip->outputs[0];
    const struct ulp_step *next = ulp_block_only_reader(block, behind);
    return !next || !ulp_block_is_own(block, behind) ? slot
           : is_redundant(block, clip, next)         ? behind
                                                     : -1;
}

/* A MatMul, Gemm or Conv of two dequantised factors. */
static enum ulp_status fuse_product(struct ulp_program *program, const struct ulp_block *block,
                                    struct ulp_step *step, struct ulp_error *error)
{
    int slots[INPUT_COUNT];
    if ((step->bound.op->domain && *step->bound.op->domain) ||
        !ulp_operator_integer(step->bound.op->name, ULP_INTEGER_FLOAT))
        return ULP_OK;
    const struct ulp_step *x = find_producer(block, ulp_step_input(step, 0), "DequantizeLinear");
    const struct ulp_step *w = find_producer(block, ulp_step_input(step, 1), "DequantizeLinear");
    const int axis = w ? output_axis(block, step) : -1;
    if (axis < 0 || !is_quantised(block, x, -1, ULP_TYPE_INT16) ||
        !is_quantised(block, w, axis, ULP_TYPE_INT4))
        return ULP_OK;
    /* other kernels of INT16 and of INT4 are not known */
    unsigned lanes = is_byte(type_of(block, ulp_step_input(x, 0))) &&
                             is_byte(type_of(block, ulp_step_input(w, 0)))
                         ? ULP_INTEGER_LANES
                         : ULP_INTEGER_FIXED;
    if (find_unclipped(block, step->outputs[0]) < 0)
        lanes &= ~(unsigned)ULP_INTEGER_ORT;
    for (size_t i = 0; i < 3; i++) {
        slots[X + i] = ulp_step_input(x, i);
        slots[W + i] = ulp_step_input(w, i);
    }
    slots[INTEGER_BIAS] = integer_bias(block, step, slots);
    slots[BIAS] = slots[INTEGER_BIAS] < 0 ? ulp_step_input(step, 2) : -1;
    return ulp_step_add_form(program, block, step, step,
                             ulp_operator_integer(step->bound.op->name, ULP_INTEGER_FLOAT), NULL,
                             lanes, slots, FACTOR_COUNT, error);
}

/* The blocks of a matrix of 2 to 8 bits with known scales, of which alone ONNX Runtime's CPU
 * provider makes MatMulNBits; 0: it does not. columns: the axis of what is computed. */
static int64_t find_blocks(const struct ulp_block *block, const struct ulp_step *w, int64_t columns)
{
    enum { USUAL = 32, LEAST = 16 };
    const struct ulp_tensor *codes = ulp_slot_known(block, ulp_step_input(w, 0)),
                            *scale = ulp_slot_known(block, ulp_step_input(w, 1));
    const int64_t size = ulp_node_int(w->bound.node, "block_size", 0);
    const int zero = ulp_step_input(w, 2);
    int64_t axis = ulp_node_int(w->bound.node, "axis", 1);
    if (!codes || !scale || codes->rank != 2 || ulp_element_is_float(codes->element) ||
        ulp_type_rows[codes->type].file_bits > 8 || (zero >= 0 && !ulp_slot_known(block, zero)) ||
        block->slots[w->outputs[0]].of_default || !ulp_block_is_own(block, w->outputs[0]))
        return 0;
    axis += axis < 0 ? 2 : 0;
    if (size)
        return axis != columns && size >= LEAST && !(size & (size - 1)) &&
                       (size > LEAST || ulp_type_rows[codes->type].file_bits > 2)
                   ? size
                   : 0; /* it has no such kernel for 2 bits in blocks of 16 */
    return scale->count == 1 || axis == columns ? USUAL : 0;
}

/* The same of a product's second factor, which a MatMul may have turned where it has no blocks of
 * its own. */
static int64_t find_weight_blocks(const struct ulp_block *block, int slot, bool gemm)
{
    const struct ulp_step *turned = gemm ? NULL : find_producer(block, slot, "Transpose"),
                          *w = find_producer(block, turned ? turned->inputs[0] : slot,
                                             "DequantizeLinear");
    if (!w || (turned &&
               (!ulp_block_is_own(block, slot) || ulp_node_int(w->bound.node, "block_size", 0))))
        return 0;
    return find_blocks(block, w, !turned);
}

/* Is the slot quantised again, to bytes, or to any integers in FP16? */
static bool is_requantised(const struct ulp_block *block, int slot, bool half)
{
    const struct ulp_reading *all;
    const size_t count = ulp_block_readings(block, slot, &all);
    bool is = false;
    for (size_t r = 0; r < count && all[r].step >= 0; r++) {
        const struct ulp_step *reader = &block->steps[all[r].step];
        if (all[r].input == 0 && strcmp(reader->bound.op->name, "QuantizeLinear") == 0)
            is |= half || is_byte(block->slots[reader->outputs[0]].shape.type);
    }
    return is;
}

int64_t ulp_step_coded_block(const struct ulp_block *block, const struct ulp_step *step)
{
    const char *op = step->bound.op->name;
    const bool gemm = strcmp(op, "Gemm") == 0;
    if ((step->bound.op->domain && *step->bound.op->domain) ||
        (!gemm && strcmp(op, "MatMul") != 0) || output_axis(block, step) != 1)
        return 0;
    const struct ulp_tensor *w = &block->slots[step->inputs[1]].shape;
    const struct ulp_step *x = find_producer(block, step->inputs[0], "DequantizeLinear");
    const enum ulp_type from = x ? block->slots[x->inputs[0]].shape.type : ULP_TYPE_UINT16;
    const bool half = block->slots[step->inputs[0]].shape.type == ULP_TYPE_FLOAT16;
    const struct ulp_tensor *bias =
        ulp_step_input(step, 2) < 0 ? NULL : &block->slots[ulp_step_input(step, 2)].shape;
    const int64_t found = find_weight_blocks(block, step->inputs[1], gemm);
    const int result = found ? find_unclipped(block, step->outputs[0]) : -1;
    if (result < 0 || (half && x) || (from != ULP_TYPE_INT16 && from != ULP_TYPE_UINT16) ||
        (bias && (bias->rank != 1 || bias->count != (size_t)w->dims[1])) ||
        is_requantised(block, result, half))
        return 0;
    return found;
}

static enum ulp_status fuse_weights(struct ulp_program *program, const struct ulp_block *block,
                                    struct ulp_step *step, struct ulp_error *error)
{
    const int64_t size = ulp_step_coded_block(block, step);
    const struct ulp_own_operator own = {.op = "DequantizedMatMul",
                                         .count = 1,
                                         .attributes = {integer_attribute("block_size", size)}};
    const int slots[] = {step->inputs[0], step->inputs[1], ulp_step_input(step, 2)};
    return size ? ulp_step_add_form(program, block, step, step, NULL, &own, ULP_INTEGER_ORT, slots,
                                    slots[2] < 0 ? 2 : 3, error)
                : ULP_OK;
}

/* A QuantizeLinear to 8 bits or INT16 with one known scale. */
static bool is_quantising(const struct ulp_block *block, const struct ulp_step *step)
{
    if (strcmp(step->bound.op->name, "QuantizeLinear") != 0)
        return false;
    const struct ulp_tensor *scale = ulp_slot_known(block, ulp_step_input(step, 1)),
                            *zero = ulp_slot_known(block, ulp_step_input(step, 2));
    const enum ulp_type type = block->slots[step->outputs[0]].shape.type;
    return scale && scale->count == 1 && scale->type == ULP_TYPE_FLOAT &&
           (ulp_step_input(step, 2) < 0 || (zero && zero->count == 1)) &&
           !ulp_node_int(step->bound.node, "block_size", 0) &&
           !ulp_node_int(step->bound.node, "output_dtype", 0) &&
           (is_byte(type) || type == ULP_TYPE_INT16);
}

/* A QuantizeLinear behind what ONNX Runtime's CPU provider has an operator of its own for, on
 * UINT8, or on INT8 that is no constant, of which it makes UINT8. Those whose floats round to the
 * same are left out (Concat, LeakyRelu, Sigmoid, Where). With requant= sums and products of bytes,
 * with a Relu behind them or not. */
static enum ulp_status fuse_bytes(struct ulp_program *program, const struct ulp_block *block,
                                  struct ulp_step *step, struct ulp_error *error)
{
    static const struct {
        const char *name, *op;
        unsigned lanes;
    } own[] = {{"Add", "QLinearAdd", ULP_INTEGER_ORT | ULP_INTEGER_FIXED},
               {"AveragePool", "QLinearAveragePool", ULP_INTEGER_ORT},
               {"GlobalAveragePool", "QLinearGlobalAveragePool", ULP_INTEGER_ORT},
               {"Mul", "QLinearMul", ULP_INTEGER_ORT | ULP_INTEGER_FIXED},
               {"Softmax", "QLinearSoftmax", ULP_INTEGER_ORT}};
    const struct ulp_step *relu = find_producer(block, step->inputs[0], "Relu");
    const int made = relu ? relu->inputs[0] : step->inputs[0];
    const struct ulp_step *of = ulp_block_producer(block, made);
    const char *op = NULL;
    int slots[8];
    size_t count = 0;
    unsigned lanes = 0;
    const enum ulp_type type = type_of(block, step->outputs[0]);
    for (size_t i = 0; of && i < sizeof own / sizeof *own; i++)
        if (strcmp(of->bound.op->name, own[i].name) == 0) {
            op = own[i].op;
            lanes = own[i].lanes & (relu ? ULP_INTEGER_FIXED : ULP_INTEGER_LANES);
        }
    if (!op || !is_quantising(block, step) || !is_byte(type) ||
        !ulp_block_is_own(block, step->inputs[0]) || !ulp_block_is_own(block, made) ||
        ulp_node_attribute(of->bound.node, "dilations"))
        return ULP_OK;
    for (size_t i = 0; i < of->own_input_count; i++) {
        const struct ulp_step *x = find_producer(block, of->inputs[i], "DequantizeLinear");
        if (!is_quantised(block, x, -1, type) || type_of(block, x->inputs[0]) != type)
            return ULP_OK;
        if (type == ULP_TYPE_INT8 && block->slots[x->inputs[0]].constant)
            lanes &= ULP_INTEGER_FIXED;
        for (size_t k = 0; k < 3; k++)
            slots[count++] = ulp_step_input(x, k);
    }
    slots[count++] = ulp_step_input(step, 1);
    slots[count++] = ulp_step_input(step, 2);
    struct ulp_own_operator own_form = {.op = op, .keeps = true, .count = 1};
    own_form.attributes[0] = (struct ulp_attribute){.name = "raise",
                                                    .kind = ULP_ATTRIBUTE_FLOAT,
                                                    .f = type == ULP_TYPE_INT8 ? 128 : 0};
    if (strcmp(op, "QLinearSoftmax") == 0)
        own_form.attributes[own_form.count++] = integer_attribute("opset", of->opset);
    if (relu)
        own_form.attributes[own_form.count++] = integer_attribute("rectified", 1);
    return lanes ? ulp_step_add_form(program, block, step, of, NULL, &own_form, lanes, slots, count,
                                     error)
                 : ULP_OK;
}

/* A QuantizeLinear after such a product or its Relu. */
static enum ulp_status fuse_quantize(struct ulp_program *program, const struct ulp_block *block,
                                     struct ulp_step *step, struct ulp_error *error)
{
    int slots[INPUT_COUNT];
    if (!is_quantising(block, step))
        return ULP_OK;
    const struct ulp_step *relu = find_producer(block, step->inputs[0], "Relu");
    const struct ulp_step *product =
        ulp_block_producer(block, relu ? relu->inputs[0] : step->inputs[0]);
    const struct ulp_integer_form *form = product ? product->integer : NULL;
    while (form && !(form->lanes & ULP_INTEGER_FIXED))
        form = form->next;
    if (!form || (type_of(block, step->outputs[0]) == ULP_TYPE_INT16) !=
                     (type_of(block, product->inputs[form->from[X]]) == ULP_TYPE_INT16))
        return ULP_OK;
    for (size_t i = 0; i < FACTOR_COUNT; i++)
        slots[i] = form->from[i] < 0 ? -1 : product->inputs[form->from[i]];
    slots[Y_SCALE] = ulp_step_input(step, 1);
    slots[Y_ZERO] = ulp_step_input(step, 2);
    return ulp_step_add_form(program, block, step, product,
                             ulp_operator_integer(product->bound.op->name,
                                                  relu ? ULP_INTEGER_RELU : ULP_INTEGER_QUANTIZED),
                             NULL, form->lanes, slots, INPUT_COUNT, error);
}

enum ulp_status ulp_program_integer_forms(struct ulp_program *program, struct ulp_block *block,
                                          struct ulp_error *error)
{
    if (!program->wants_integers)
        return ULP_OK;
    for (size_t s = 0; s < block->step_count; s++)
        ULP_TRY(fuse_product(program, block, &block->steps[s], error));
    for (size_t s = 0; s < block->step_count; s++)
        ULP_TRY(block->steps[s].integer && block->steps[s].integer->lanes & ULP_INTEGER_ORT
                    ? ULP_OK
                    : fuse_weights(program, block, &block->steps[s], error));
    for (size_t s = 0; s < block->step_count; s++)
        ULP_TRY(fuse_quantize(program, block, &block->steps[s], error));
    for (size_t s = 0; s < block->step_count; s++)
        ULP_TRY(fuse_bytes(program, block, &block->steps[s], error));
    return ULP_OK;
}
