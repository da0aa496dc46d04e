/* BatchNormalization behind a Conv as ONNX Runtime's optimiser folds it: into the Conv's weights
 * and bias, step by step in the type that these have. Lanes with fuse=ort read the new weights and
 * take the multiplier out of the sums again (ops/product/product_conv.c), which are then the Conv's
 * values, held in FP32, without what the multiplier rounds; the BatchNormalization multiplies by it
 * and adds. What leaves the kernel is what the runtime's one Conv gives. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "run/idiom/idiom_read.h"
#include "run/program/program.h"
#include "tensor/stored.h"

enum { SCALE, SHIFT, MEAN, VARIANCE };
enum { WEIGHTS, UNSCALE = ULP_JOINED_UNSCALE };

/* A type's rounding, and how its converter lowers constants before. */
struct rounding {
    bool half;
    struct ulp_format format;
};

static float rounded(const struct rounding *r, float x)
{
    return r->half ? (float)ulp_format_round(&r->format, ULP_ROUND_NEAREST_EVEN, x, 0, 0) : x;
}

/* A constant of the model as onnxruntime.transformers.float16 has it in the type. */
static float lowered(const struct rounding *r, float x)
{
    const float most = (float)r->format.max_finite, least = (float)ldexp(1, -24);
    if (!r->half || !isfinite(x) || x == 0)
        return x;
    const float size = fabsf(x) > most ? most : fabsf(x) < least ? least : fabsf(x);
    return rounded(r, copysignf(size, x));
}

/* A constant, and no input of the graph that the runtime might be given otherwise; OpenVINO takes
 * these as they are. */
static bool is_fixed(const struct ulp_block *block, int slot, int type)
{
    return block->slots[slot].constant &&
           (!block->slots[slot].overridable || type == ULP_FOLD_GIVEN);
}

/* Weights are folded as floats, which no DOUBLE is. */
static bool is_folded_type(enum ulp_type type)
{
    const int bits = ulp_type_is_float(type) ? ulp_type_rows[type].file_bits : 0;
    return bits > 8 && bits <= 32;
}

/* The Conv whose sums the step normalises and nothing else reads; -1: none. */
static int find_conv(const struct ulp_block *block, const struct ulp_step *norm, int type)
{
    const struct ulp_step *conv = norm->norm ? ulp_block_producer(block, norm->inputs[0]) : NULL;
    if (!conv || !ulp_is_word(conv->bound.op->name, "Conv ConvTranspose") || conv->folded ||
        block->slots[norm->inputs[0]].constant)
        return -1;
    for (size_t i = 1; i < conv->own_input_count; i++)
        if (conv->inputs[i] >= 0 && !is_fixed(block, conv->inputs[i], type))
            return -1;
    for (int p = 1; p <= ULP_NORM_PARAMETERS; p++)
        if (!is_fixed(block, norm->inputs[p], type))
            return -1;
    const struct ulp_tensor *weights = block->slots[conv->inputs[1]].constant;
    const bool turned = conv->bound.op->name[4] == 'T';
    const int64_t channels = turned
                                 ? weights->dims[1] * ulp_bound_attribute(&conv->bound, "group")->i
                                 : weights->dims[0];
    return ulp_block_is_own(block, norm->inputs[0]) && weights->rank > 2 &&
                   is_folded_type(weights->type) &&
                   channels == (int64_t)block->slots[norm->inputs[1]].constant->count
               ? (int)(conv - block->steps)
               : -1;
}

/* What is folded, of one pair in one type. */
struct fold {
    struct ulp_program *program;
    struct ulp_block *block;
    struct rounding rounding;
    struct ulp_step *conv, *norm;
    int type; /* which of the places of `joined` */
};

static enum ulp_status add_slot(const struct fold *fold, const struct ulp_step *step,
                                const char *word, const struct ulp_tensor *like, int *out,
                                struct ulp_error *error)
{
    return ulp_fold_add_slot(fold->program, fold->block, step, word, ", folded", like, out, error);
}

/* ONNX Runtime's CPU provider has the one Conv: with a bias, in FP32. */
static enum ulp_status add_form(const struct fold *fold, struct ulp_error *error)
{
    const struct ulp_own_operator own = {.op = "FusedConv", .keeps = true};
    struct ulp_step *norm = fold->norm, *conv = fold->conv;
    const int slots[] = {conv->inputs[0], conv->joined[fold->type][WEIGHTS],
                         norm->joined[fold->type][SHIFT]};
    if (conv->integer || fold->block->slots[norm->outputs[0]].shape.type != ULP_TYPE_FLOAT)
        return ULP_OK;
    ULP_TRY(ulp_step_add_form(fold->program, fold->block, norm, conv, NULL, &own, ULP_FORM_CPU,
                              slots, 3, error));
    norm->integer->taken[norm->integer->taken_count++] = (int)(conv - fold->block->steps);
    return ULP_OK;
}

static enum ulp_status add_slots(const struct fold *fold, struct ulp_error *error)
{
    static const char *const words[] = {"multiplier", "shift", "mean", "variance"};
    int *slots[2];
    for (int i = 0; i < 2; i++)
        ULP_TAKE(slots[i], fold->program->arena, ULP_NORM_PARAMETERS, error);
    const struct ulp_tensor *scale = fold->block->slots[fold->norm->inputs[1]].constant;
    for (int p = 0; p < ULP_NORM_PARAMETERS; p++) {
        slots[0][p] = -1;
        ULP_TRY(add_slot(fold, fold->norm, words[p], scale, &slots[1][p], error));
    }
    ULP_TRY(add_slot(fold, fold->conv, "weights",
                     fold->block->slots[fold->conv->inputs[1]].constant, &slots[0][WEIGHTS],
                     error));
    ULP_TRY(add_slot(fold, fold->conv, "unscaled", scale, &slots[0][UNSCALE], error));
    fold->conv->joined[fold->type] = slots[0];
    fold->norm->joined[fold->type] = slots[1];
    return fold->type == ULP_FOLD_SINGLE && fold->conv->bound.op->name[4] != 'T'
               ? add_form(fold, error)
               : ULP_OK;
}

/* A folded slot's values, which are the lanes' constant from now on. */
static float *open_slot(const struct fold *fold, int slot)
{
    fold->block->slots[slot].constant = fold->block->slots[slot].folded;
    return fold->block->slots[slot].folded->data;
}

/* Without a bias the shift is another: the mean times the multiplier is taken from it. */
static void fold_channels(const struct fold *fold, const struct ulp_tensor *const in[],
                          const struct ulp_tensor *bias, float epsilon)
{
    const struct rounding *r = &fold->rounding;
    const int *slots = fold->norm->joined[fold->type];
    float *k = open_slot(fold, slots[SCALE]), *shift = open_slot(fold, slots[SHIFT]),
          *mean = open_slot(fold, slots[MEAN]), *variance = open_slot(fold, slots[VARIANCE]),
          *unscale = open_slot(fold, fold->conv->joined[fold->type][UNSCALE]);
    for (size_t c = 0; c < in[SCALE]->count; c++) {
        const float centre = lowered(r, (float)ulp_tensor_read(in[MEAN], c)),
                    beta = lowered(r, (float)ulp_tensor_read(in[SHIFT], c)),
                    spread =
                        rounded(r, lowered(r, (float)ulp_tensor_read(in[VARIANCE], c)) + epsilon);
        mean[c] = bias ? lowered(r, (float)ulp_tensor_read(bias, c)) : 0;
        k[c] = rounded(r, lowered(r, (float)ulp_tensor_read(in[SCALE], c)) /
                              rounded(r, sqrtf(spread)));
        shift[c] = bias ? rounded(r, rounded(r, rounded(r, mean[c] - centre) * k[c]) + beta)
                        : rounded(r, beta - rounded(r, centre * k[c]));
        variance[c] = 1 - epsilon;
        unscale[c] = isfinite(1 / k[c]) ? 1 / k[c] : 0; /* products of nothing, as it were */
    }
}

static void fold_weights(const struct fold *fold, const struct ulp_tensor *weights, const float *k,
                         size_t channels)
{
    const struct rounding *r = &fold->rounding;
    float *out = open_slot(fold, fold->conv->joined[fold->type][WEIGHTS]);
    const bool turned = strcmp(fold->conv->bound.op->name, "ConvTranspose") == 0;
    const size_t lines = (size_t)(weights->dims[0] * (turned ? weights->dims[1] : 1)),
                 own = weights->count / (lines ? lines : 1),
                 columns = turned ? (size_t)weights->dims[1] : lines,
                 group = turned && columns ? lines / (channels / columns) : lines;
    ulp_floats_read(weights, 0, weights->count, out);
    for (size_t i = 0; i < weights->count; i++) { /* of a transposed one: by group, then column */
        const size_t line = i / own, channel = line / group * columns + line % columns;
        out[i] = rounded(r, lowered(r, out[i]) * k[channel]);
    }
}

/* From what the slots hold now. */
static void fold_values(const struct fold *fold)
{
    const struct ulp_program_slot *slots = fold->block->slots;
    const struct ulp_step *conv = fold->conv;
    const bool biased = conv->own_input_count > 2 && conv->inputs[2] >= 0;
    const struct ulp_tensor *in[ULP_NORM_PARAMETERS];
    for (int p = 0; p < ULP_NORM_PARAMETERS; p++)
        in[p] = slots[fold->norm->inputs[1 + p]].constant;
    fold_channels(fold, in, biased ? slots[conv->inputs[2]].constant : NULL,
                  (float)ulp_node_float(fold->norm->bound.node, "epsilon", 1e-5F));
    fold_weights(fold, slots[conv->inputs[1]].constant,
                 slots[fold->norm->joined[fold->type][SCALE]].folded->data, in[SCALE]->count);
}

int ulp_step_multiplier(const struct ulp_block *block, const struct ulp_step *mul)
{
    for (int i = 0; ulp_step_is(mul, "Mul") && !mul->folded && i < 2; i++) {
        const struct ulp_step *conv = ulp_block_producer(block, mul->inputs[!i]);
        const struct ulp_tensor *k = block->slots[mul->inputs[i]].constant,
                                *weights = conv && ulp_step_is(conv, "Conv") && !conv->folded
                                               ? block->slots[conv->inputs[1]].constant
                                               : NULL;
        const int channel = k && weights ? k->rank - weights->rank + 1 : -1;
        if (channel >= 0 && weights->rank > 2 && ulp_block_is_own(block, mul->inputs[!i]) &&
            is_folded_type(weights->type) && is_folded_type(k->type) &&
            k->dims[channel] == weights->dims[0] && k->count == (size_t)weights->dims[0])
            return i;
    }
    return -1;
}

/* The Mul goes on multiplying, by what is taken out of the sums again. */
static enum ulp_status fold_multiplier(struct fold *fold, int input, struct ulp_error *error)
{
    const struct ulp_program_slot *slots = fold->block->slots;
    const struct ulp_tensor *weights = slots[fold->conv->inputs[1]].constant,
                            *k = slots[fold->norm->inputs[input]].constant;
    int *joined;
    if (!fold->conv->joined[fold->type]) {
        const struct ulp_tensor along = {.type = k->type, .rank = 1, .dims = {(int64_t)k->count}};
        ULP_TAKE(joined, fold->program->arena, ULP_NORM_PARAMETERS, error);
        for (int p = 0; p < ULP_NORM_PARAMETERS; p++)
            joined[p] = -1;
        ULP_TRY(add_slot(fold, fold->conv, "weights", weights, &joined[WEIGHTS], error));
        ULP_TRY(add_slot(fold, fold->conv, "unscaled", &along, &joined[UNSCALE], error));
        fold->conv->joined[fold->type] = joined;
    }
    float *unscale = open_slot(fold, fold->conv->joined[fold->type][UNSCALE]), *numbers;
    ULP_TAKE(numbers, fold->program->arena, k->count, error);
    ulp_floats_read(k, 0, k->count, numbers);
    for (size_t c = 0; c < k->count; c++)
        unscale[c] = isfinite(1 / numbers[c]) ? 1 / numbers[c] : 0;
    fold_weights(fold, slots[fold->conv->inputs[1]].constant, numbers, k->count);
    return ULP_OK;
}

enum ulp_status ulp_program_fold_convs(struct ulp_program *program, struct ulp_block *block,
                                       struct ulp_error *error)
{
    for (int type = 0; type < ULP_FOLD_COUNT; type++) {
        struct fold fold = {.program = program,
                            .block = block,
                            .rounding = {.half = type == ULP_FOLD_HALF},
                            .type = type};
        ULP_TRY(ulp_format_find("fp16", &fold.rounding.format, error));
        for (size_t s = 0; s < block->step_count && program->joins_norms[type]; s++) {
            const int conv = find_conv(block, &block->steps[s], type);
            const int input =
                type == ULP_FOLD_GIVEN ? ulp_step_multiplier(block, &block->steps[s]) : -1;
            if (input >= 0) {
                fold.norm = &block->steps[s];
                fold.conv = &block->steps[ulp_block_producer(block, fold.norm->inputs[!input]) -
                                          block->steps];
                ULP_TRY(fold_multiplier(&fold, input, error));
            }
            if (conv < 0)
                continue;
            fold.norm = &block->steps[s];
            fold.conv = &block->steps[conv];
            if (!fold.norm->joined[type])
                ULP_TRY(add_slots(&fold, error));
            fold_values(&fold);
        }
    }
    return ULP_OK;
}
