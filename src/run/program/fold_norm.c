/* BatchNormalization as converters fold it. Scale, bias, mean and variance that are constants
 * become a multiplier scale / sqrt(variance + epsilon) and a shift bias - mean * multiplier, in
 * FP32, before anything is lowered: a variance that FP16 does not hold is then never stored in it.
 * Lanes with batchnorm=folded read these in place of what the model has, under a mean of 0 and a
 * variance that is 1 once epsilon is added, so that the operator's formula stays the one of all
 * lanes. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"
#include "run/program/program.h"

enum { SCALE, BIAS, MEAN, VARIANCE };
static const char *const words[ULP_NORM_PARAMETERS] = {
    [SCALE] = "multiplier", [BIAS] = "shift", [MEAN] = "mean", [VARIANCE] = "variance"};

/* A parameter that is a constant; NULL: it is none, or not one number for each channel. */
static const struct ulp_tensor *find_parameter(const struct ulp_block *block,
                                               const struct ulp_step *step, int p, size_t channels)
{
    const struct ulp_tensor *value = block->slots[step->inputs[1 + p]].constant;
    return value && ulp_type_is_float(value->type) && value->rank == 1 &&
                   value->count == channels && ulp_type_rows[value->type].file_bits > 8
               ? value
               : NULL;
}

static float find_epsilon(const struct ulp_step *step)
{
    return (float)ulp_node_float(step->bound.node, "epsilon", 1e-5F);
}

/* For inference, by channels, with parameters that are constants. An epsilon beyond 1 would leave
 * nothing of the 1 that it is added up to. */
static bool is_foldable(const struct ulp_block *block, const struct ulp_step *step)
{
    const struct ulp_operator *op = step->bound.op;
    if (strcmp(op->name, "BatchNormalization") != 0 || op->parameter || !op->rows || step->folded ||
        step->own_input_count != 1 + ULP_NORM_PARAMETERS || !(find_epsilon(step) <= 1))
        return false;
    for (int p = 0; p <= ULP_NORM_PARAMETERS; p++)
        if (step->inputs[p] < 0)
            return false;
    const struct ulp_tensor *first = block->slots[step->inputs[1]].constant;
    for (int p = 0; p < ULP_NORM_PARAMETERS; p++)
        if (!first || !find_parameter(block, step, p, first->count))
            return false;
    return true;
}

/* In FP32, step by step, as the converter's loop over the channels. */
static void fold_channels(const struct ulp_tensor *const in[ULP_NORM_PARAMETERS],
                          float *const out[ULP_NORM_PARAMETERS], float epsilon)
{
    for (size_t c = 0; c < in[SCALE]->count; c++) {
        const float variance = (float)ulp_tensor_read(in[VARIANCE], c) + epsilon;
        const float multiplier = (float)ulp_tensor_read(in[SCALE], c) / sqrtf(variance);
        const float moved = (float)ulp_tensor_read(in[MEAN], c) * multiplier;
        out[SCALE][c] = multiplier;
        out[BIAS][c] = (float)ulp_tensor_read(in[BIAS], c) - moved;
        out[MEAN][c] = 0;
        out[VARIANCE][c] = 1 - epsilon;
    }
}

/* The values of the step's folded slots, from what the model's slots hold now. */
static void compute(struct ulp_block *block, const struct ulp_step *step)
{
    const struct ulp_tensor *in[ULP_NORM_PARAMETERS];
    float *out[ULP_NORM_PARAMETERS];
    for (int p = 0; p < ULP_NORM_PARAMETERS; p++) {
        struct ulp_program_slot *slot = &block->slots[step->norm[p]];
        in[p] = block->slots[step->inputs[1 + p]].constant;
        out[p] = slot->folded->data;
        slot->constant = slot->folded;
    }
    fold_channels(in, out, find_epsilon(step));
}

enum ulp_status ulp_fold_add_slot(struct ulp_program *program, struct ulp_block *block,
                                  const struct ulp_step *step, const char *word, const char *how,
                                  const struct ulp_tensor *like, int *out, struct ulp_error *error)
{
    const char *name = ulp_arena_say(program->arena, "%s (%s%s)", step->name, word, how);
    struct ulp_tensor *value = ulp_arena_take(program->arena, 1, sizeof *value);
    *out = name && value ? ulp_block_add_slot(program, block, name) : -1;
    if (*out < 0)
        return ulp_out_of_memory(error);
    ULP_TRY(ulp_tensor_create_like(value, like, ULP_ELEMENT_F32, 0, &program->constants, error));
    block->slots[*out].folded = value;
    block->slots[*out].wide = true;
    ulp_slot_set_constant(&block->slots[*out], value);
    return ULP_OK;
}

static enum ulp_status add_slots(struct ulp_program *program, struct ulp_block *block,
                                 struct ulp_step *step, struct ulp_error *error)
{
    ULP_TAKE_ARRAY(int, slots, program->arena, ULP_NORM_PARAMETERS, error);
    for (int p = 0; p < ULP_NORM_PARAMETERS; p++) /* of the type that the operator asks for */
        ULP_TRY(ulp_fold_add_slot(program, block, step, words[p], "",
                                  block->slots[step->inputs[1 + p]].constant, &slots[p], error));
    step->norm = slots;
    return ULP_OK;
}

enum ulp_status ulp_program_fold_norms(struct ulp_program *program, struct ulp_block *block,
                                       struct ulp_error *error)
{
    for (size_t s = 0; s < block->step_count; s++) {
        struct ulp_step *step = &block->steps[s];
        if (!step->norm && is_foldable(block, step))
            ULP_TRY(add_slots(program, block, step, error));
        if (step->norm)
            compute(block, step);
    }
    return ULP_OK;
}
