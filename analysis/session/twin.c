/* What a quantised or converted model's values are in its original. */
#include "base/error.h"
#include "analysis/session/twin.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/product/quantize_rows.h"
#include "run/pass/amounts.h"

const struct ulp_step *ulp_twin_quantizer(const struct ulp_block *block,
                                          const struct ulp_step *dequantizer)
{
    const struct ulp_step *at = ulp_block_producer(block, dequantizer->inputs[0]);
    while (at && (strcmp(at->bound.op->name, "Identity") == 0 || ulp_casts_amounts(block, at)))
        at = ulp_block_producer(block, at->inputs[0]);
    return at && ulp_is_quantizer(at->bound.op) ? at : NULL;
}

/* Without the ending; false: the name has another, or is too long. */
static bool cut_ending(char text[512], const char *name, const char *ending)
{
    const size_t length = name ? strlen(name) : 0, end = strlen(ending);
    if (length <= end || length - end >= 512 || strcmp(name + length - end, ending) != 0)
        return false;
    snprintf(text, 512, "%.*s", (int)(length - end), name);
    return true;
}

/* The original's value whose name the codes have, with an ending that quantisers give; -1: none. */
static int find_coded(const struct ulp_program *program, const struct ulp_program *original,
                      const struct ulp_step *dequantizer)
{
    char text[512];
    return cut_ending(text, program->main->slots[dequantizer->inputs[0]].name, "_quantized")
               ? ulp_program_find_slot(original, text)
               : -1;
}

/* The original's constant in that slot, for a value of that shape; NULL: none. */
static const struct ulp_tensor *find_constant(const struct ulp_block *other, int slot,
                                              const struct ulp_tensor *shape, bool floats)
{
    const struct ulp_tensor *constant = slot < 0 ? NULL : other->slots[slot].constant;
    return constant && (!floats || ulp_type_is_float(constant->type)) &&
                   ulp_tensor_same_shape(constant, shape)
               ? constant
               : NULL;
}

/* By pairs that were asked for, or as the original's node of the reader's name has it. */
static const struct ulp_tensor *find_weight(const struct ulp_audit_options *options,
                                            const struct ulp_program *program,
                                            const struct ulp_program *original,
                                            const struct ulp_step *dequantizer)
{
    const struct ulp_block *block = program->main, *other = original->main;
    const int slot = dequantizer->outputs[0];
    const char *own = block->slots[slot].name;
    const struct ulp_tensor *shape = &block->slots[slot].shape, *found = NULL;
    for (size_t p = 0; p < options->pair_count && own && !found; p++)
        if (strcmp(options->pairs[p].audited, own) == 0)
            found =
                find_constant(other, ulp_program_find_slot(original, options->pairs[p].original),
                              shape, false);
    const struct ulp_reading *all;
    const size_t count = ulp_block_readings(block, slot, &all);
    for (size_t r = 0; r < count && all[r].step >= 0 && !found; r++) {
        const struct ulp_step *reader = &block->steps[all[r].step];
        const char *name = reader->outputs[0] < 0 ? NULL : block->slots[reader->outputs[0]].name;
        const int made = ulp_program_find_slot(original, name);
        const struct ulp_step *twin = ulp_block_producer(other, made);
        if (twin && twin->outputs[0] == made && (size_t)all[r].input < reader->own_input_count &&
            (size_t)all[r].input < twin->own_input_count)
            found = find_constant(other, twin->inputs[all[r].input], shape, true);
    }
    return found || !program->spelled
               ? found
               : find_constant(other, find_coded(program, original, dequantizer), shape, true);
}

/* A Gemm's matrix that a quantiser turned for a MatMul: of the name before, rows as columns. */
static enum ulp_status copy_turned(const struct ulp_program *program,
                                   const struct ulp_program *original,
                                   const struct ulp_step *dequantizer, struct ulp_tensor *out,
                                   struct ulp_error *error)
{
    const struct ulp_block *block = program->main;
    const struct ulp_tensor *shape = &block->slots[dequantizer->outputs[0]].shape;
    char text[512];
    if (!program->spelled || shape->rank != 2 ||
        !cut_ending(text, block->slots[dequantizer->inputs[0]].name, "_Transposed_quantized"))
        return ULP_OK;
    struct ulp_tensor turned = ulp_tensor_view(shape);
    turned.dims[0] = shape->dims[1];
    turned.dims[1] = shape->dims[0];
    const struct ulp_tensor *weight =
        find_constant(original->main, ulp_program_find_slot(original, text), &turned, true);
    if (!weight || weight->element != ULP_ELEMENT_F32)
        return ULP_OK;
    ULP_TRY(ulp_tensor_copy(out, weight, ulp_model_budget(program->model), error));
    const size_t rows = (size_t)shape->dims[0], columns = (size_t)shape->dims[1];
    for (size_t i = 0; i < out->count; i++)
        ((float *)out->data)[i] = ((const float *)weight->data)[i % columns * rows + i / columns];
    out->dims[0] = shape->dims[0];
    out->dims[1] = shape->dims[1];
    return ULP_OK;
}

enum ulp_status ulp_twin_weight(const struct ulp_audit_options *options,
                                const struct ulp_program *program,
                                const struct ulp_program *original,
                                const struct ulp_step *dequantizer, struct ulp_tensor *out,
                                struct ulp_error *error)
{
    const struct ulp_tensor *found = find_weight(options, program, original, dequantizer);
    return found ? ulp_tensor_copy(out, found, ulp_model_budget(program->model), error)
                 : copy_turned(program, original, dequantizer, out, error);
}

/* ---- activations that quantisers took in ---- */

static bool is_activation(const struct ulp_step *step)
{
    return strcmp(step->bound.op->name, "Relu") == 0 || strcmp(step->bound.op->name, "Clip") == 0;
}

const struct ulp_step *ulp_twin_folded(const struct ulp_program *program,
                                       const struct ulp_program *original,
                                       const struct ulp_step *dequantizer)
{
    const struct ulp_block *block = program->main, *other = original->main;
    const struct ulp_step *quantizer = ulp_twin_quantizer(block, dequantizer);
    const int read = quantizer ? quantizer->inputs[0] : -1;
    int slot = read < 0 ? -1 : ulp_program_find_slot(original, block->slots[read].name);
    if (slot < 0 && read >= 0 && program->spelled)
        slot = find_coded(program, original, dequantizer);
    if (slot < 0)
        return NULL;
    const struct ulp_step *made = ulp_block_producer(other, slot),
                          *own = ulp_block_producer(block, read),
                          *reader = ulp_block_is_own(other, slot)
                                        ? ulp_block_only_reader(other, slot)
                                        : NULL;
    if (made && is_activation(made))
        return own && strcmp(own->bound.op->name, made->bound.op->name) == 0 ? NULL : made;
    return reader && is_activation(reader) && reader->inputs[0] == slot &&
                   reader->outputs[0] >= 0 &&
                   ulp_program_find_slot(program, other->slots[reader->outputs[0]].name) < 0
               ? reader
               : NULL;
}

enum ulp_status ulp_twin_pair_folded(const struct ulp_program *program,
                                     const struct ulp_program *original, struct ulp_truth *truth,
                                     struct ulp_error *error)
{
    const struct ulp_block *block = program->main;
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        const struct ulp_step *folded =
            !step->folded && ulp_is_dequantizer(step->bound.op) && step->outputs[0] >= 0
                ? ulp_twin_folded(program, original, step)
                : NULL;
        const char *name = folded ? block->slots[step->outputs[0]].name : NULL;
        if (name && !ulp_truth_is_paired(truth, name))
            ULP_TRY(
                ulp_truth_pair(truth, name, original->main->slots[folded->outputs[0]].name, error));
        name = step->outputs[0] < 0 ? NULL : block->slots[step->outputs[0]].name;
        const int coded = program->spelled && name && ulp_is_dequantizer(step->bound.op)
                              ? find_coded(program, original, step)
                              : -1;
        if (coded >= 0 && ulp_block_producer(original->main, coded) &&
            !ulp_truth_is_paired(truth, name))
            ULP_TRY(ulp_truth_pair(truth, name, original->main->slots[coded].name, error));
    }
    return ULP_OK;
}

/* Input i of a Clip, or in the opsets before 11 its attribute. */
static double bound_of(const struct ulp_program *original, const struct ulp_step *step, size_t i,
                       const char *name, double otherwise)
{
    const struct ulp_attribute *attribute = ulp_node_attribute(step->bound.node, name);
    const struct ulp_tensor *constant = i < step->own_input_count && step->inputs[i] >= 0
                                            ? original->main->slots[step->inputs[i]].constant
                                            : NULL;
    return constant && constant->count == 1 ? ulp_tensor_read(constant, 0)
           : attribute                      ? (double)attribute->f
                                            : otherwise;
}

void ulp_twin_activate(const struct ulp_program *original, const struct ulp_step *step,
                       struct ulp_tensor *floats)
{
    const bool clips = strcmp(step->bound.op->name, "Clip") == 0;
    const double low = clips ? bound_of(original, step, 1, "min", -INFINITY) : 0,
                 high = clips ? bound_of(original, step, 2, "max", INFINITY) : INFINITY;
    for (size_t i = 0; i < floats->count; i++) {
        const double x = ulp_tensor_read(floats, i), y = x < low ? low : x > high ? high : x;
        if (floats->element == ULP_ELEMENT_F32)
            ((float *)floats->data)[i] = (float)y;
        else if (floats->element == ULP_ELEMENT_F64)
            ((double *)floats->data)[i] = y;
    }
}

/* ---- what the original says of every value ---- */

enum ulp_status ulp_twin_weights(const struct ulp_audit_options *options,
                                 const struct ulp_program *program,
                                 const struct ulp_program *original, struct ulp_tensor_set *out,
                                 struct ulp_error *error)
{
    const struct ulp_block *block = program->main;
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        if (step->folded || !ulp_is_dequantizer(step->bound.op) || step->outputs[0] < 0 ||
            ulp_twin_quantizer(block, step))
            continue;
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor copy = {0};
        ULP_TRY(ulp_twin_weight(options, program, original, step, &copy, error));
        if (copy.type != ULP_TYPE_UNDEFINED)
            ULP_TRY(ulp_tensor_set_add(out, block->slots[step->outputs[0]].name, &copy, error));
    }
    return ULP_OK;
}

/* The slot's floats in the original; NULL: they are not known. */
static const struct ulp_tensor *find_source(const struct ulp_block *block,
                                            const struct ulp_tensor_set *inputs,
                                            const struct ulp_tensor_set *known, int slot)
{
    const struct ulp_program_slot *from = slot >= 0 ? &block->slots[slot] : NULL;
    return !from            ? NULL
           : from->constant ? from->constant
           : from->given    ? ulp_tensor_set_find(inputs, from->name)
                            : ulp_tensor_set_find(known, from->name);
}

/* Of a value that the original does not have: what its node would hand on if it rounded nothing. */
static const struct ulp_tensor *find_unrounded(const struct ulp_block *block,
                                               const struct ulp_step *step,
                                               const struct ulp_tensor_set *inputs,
                                               const struct ulp_tensor_set *known)
{
    const struct ulp_step *quantizer =
        ulp_is_dequantizer(step->bound.op) ? ulp_twin_quantizer(block, step) : NULL;
    return quantizer ? find_source(block, inputs, known, quantizer->inputs[0])
           : strcmp(step->bound.op->name, "Cast") == 0
               ? find_source(block, inputs, known, step->inputs[0])
               : NULL;
}

/* Of a value that a Cast reads, whose result the original has: a Cast back to a wider type makes no
 * error, and what comes into it from the nodes before is theirs. */
static const struct ulp_tensor *find_raised(const struct ulp_truth *truth,
                                            const struct ulp_block *block, int slot)
{
    const struct ulp_tensor *value = NULL;
    const struct ulp_reading *all;
    const size_t count = ulp_block_readings(block, slot, &all);
    for (size_t r = 0; r < count && all[r].step >= 0 && !value; r++) {
        const struct ulp_step *step = &block->steps[all[r].step];
        const int result = step->output_count ? step->outputs[0] : -1;
        if (result >= 0 && all[r].input == 0 && strcmp(step->bound.op->name, "Cast") == 0)
            value =
                ulp_truth_find(truth, block->slots[result].name, 0, &block->slots[result].shape);
    }
    return value;
}

static enum ulp_status add_known(const struct ulp_program_slot *slot,
                                 const struct ulp_tensor *value, struct ulp_tensor_set *out,
                                 struct ulp_error *error)
{
    struct ulp_tensor view = ulp_tensor_view(value);
    view.type = slot->shape.type; /* what the model declares rounds nothing here */
    return ulp_tensor_set_add(out, slot->name, &view, error);
}

enum ulp_status ulp_twin_values(const struct ulp_truth *truth, const struct ulp_program *program,
                                const struct ulp_tensor_set *inputs,
                                const struct ulp_tensor_set *weights, struct ulp_tensor_set *out,
                                struct ulp_error *error)
{
    const struct ulp_block *block = program->main;
    for (size_t s = 0; s < block->step_count; s++)
        for (size_t o = 0; o < block->steps[s].output_count; o++) {
            const struct ulp_step *step = &block->steps[s];
            const struct ulp_program_slot *slot =
                step->outputs[o] >= 0 ? &block->slots[step->outputs[o]] : NULL;
            if (!slot || slot->constant || !slot->name || !ulp_type_is_float(slot->shape.type))
                continue;
            const struct ulp_tensor *value = ulp_tensor_set_find(weights, slot->name);
            if (!value)
                value = ulp_truth_find(truth, slot->name, 0, &slot->shape);
            if (!value && o == 0)
                value = find_unrounded(block, step, inputs, out);
            if (!value)
                value = find_raised(truth, block, step->outputs[o]);
            if (value && ulp_type_is_float(value->type) &&
                ulp_tensor_same_shape(value, &slot->shape))
                ULP_TRY(add_known(slot, value, out, error));
        }
    return ULP_OK;
}
