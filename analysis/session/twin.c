/* What a quantised or converted model's values are in its original. */
#include "base/error.h"
#include "analysis/session/twin.h"

#include <math.h>
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

/* The original's value whose name the codes have, with an ending that quantisers give; -1: none. */
static int find_coded(const struct ulp_block *block, const struct ulp_block *other,
                      const struct ulp_step *dequantizer)
{
    static const char ending[] = "_quantized";
    const char *codes = block->slots[dequantizer->inputs[0]].name;
    const size_t length = codes ? strlen(codes) : 0, end = sizeof ending - 1;
    for (size_t s = 0; s < other->slot_count && length > end; s++)
        if (other->slots[s].name && strcmp(codes + length - end, ending) == 0 &&
            strlen(other->slots[s].name) == length - end &&
            strncmp(other->slots[s].name, codes, length - end) == 0)
            return (int)s;
    return -1;
}

/* The original's constant that options.pairs say; NULL: none. */
static const struct ulp_tensor *find_named(const struct ulp_audit_options *options,
                                           const struct ulp_block *block,
                                           const struct ulp_block *other, int slot)
{
    for (size_t p = 0; p < options->pair_count; p++)
        for (size_t s = 0; s < other->slot_count; s++)
            if (block->slots[slot].name && other->slots[s].name && other->slots[s].constant &&
                strcmp(options->pairs[p].audited, block->slots[slot].name) == 0 &&
                strcmp(options->pairs[p].original, other->slots[s].name) == 0 &&
                ulp_tensor_same_shape(other->slots[s].constant, &block->slots[slot].shape))
                return other->slots[s].constant;
    return NULL;
}

const struct ulp_tensor *ulp_twin_weight(const struct ulp_audit_options *options,
                                         const struct ulp_program *program,
                                         const struct ulp_program *original,
                                         const struct ulp_step *dequantizer)
{
    const struct ulp_block *block = program->main, *other = original->main;
    const int slot = dequantizer->outputs[0];
    const struct ulp_tensor *named = find_named(options, block, other, slot);
    if (named)
        return named;
    for (size_t s = 0; s < block->step_count; s++)
        for (size_t i = 0; i < block->steps[s].own_input_count; i++) {
            const struct ulp_step *reader = &block->steps[s];
            if (reader->inputs[i] != slot || reader->outputs[0] < 0)
                continue;
            const char *name = block->slots[reader->outputs[0]].name;
            for (size_t t = 0; name && t < other->step_count; t++) {
                const struct ulp_step *twin = &other->steps[t];
                if (!twin->output_count || twin->outputs[0] < 0 || i >= twin->own_input_count ||
                    twin->inputs[i] < 0 || !other->slots[twin->outputs[0]].name ||
                    strcmp(other->slots[twin->outputs[0]].name, name) != 0)
                    continue;
                const struct ulp_tensor *constant = other->slots[twin->inputs[i]].constant;
                if (constant && ulp_type_is_float(constant->type) &&
                    ulp_tensor_same_shape(constant, &block->slots[slot].shape))
                    return constant;
            }
        }
    const int coded = program->spelled ? find_coded(block, other, dequantizer) : -1;
    const struct ulp_tensor *constant = coded < 0 ? NULL : other->slots[coded].constant;
    return constant && ulp_type_is_float(constant->type) &&
                   ulp_tensor_same_shape(constant, &block->slots[slot].shape)
               ? constant
               : NULL;
}

/* ---- activations that quantisers took in ---- */

static int find_slot(const struct ulp_block *block, const char *name)
{
    for (size_t s = 0; name && s < block->slot_count; s++)
        if (block->slots[s].name && strcmp(block->slots[s].name, name) == 0)
            return (int)s;
    return -1;
}

static bool is_activation(const struct ulp_step *step)
{
    return strcmp(step->bound.op->name, "Relu") == 0 || strcmp(step->bound.op->name, "Clip") == 0;
}

/* The only reader of the slot, which is no output; NULL: there is none, or several. */
static const struct ulp_step *only_reader(const struct ulp_block *block, int slot)
{
    const struct ulp_step *reader = NULL;
    size_t count = 0;
    for (size_t o = 0; o < block->output_count; o++)
        count += block->outputs[o] == slot;
    for (size_t s = 0; s < block->step_count; s++)
        for (size_t i = 0; i < block->steps[s].input_count; i++)
            if (block->steps[s].inputs[i] == slot) {
                reader = &block->steps[s];
                count++;
            }
    return count == 1 ? reader : NULL;
}

const struct ulp_step *ulp_twin_folded(const struct ulp_program *program,
                                       const struct ulp_program *original,
                                       const struct ulp_step *dequantizer)
{
    const struct ulp_block *block = program->main, *other = original->main;
    const struct ulp_step *quantizer = ulp_twin_quantizer(block, dequantizer);
    const int read = quantizer ? quantizer->inputs[0] : -1;
    int slot = read < 0 ? -1 : find_slot(other, block->slots[read].name);
    if (slot < 0 && read >= 0 && program->spelled)
        slot = find_coded(block, other, dequantizer);
    if (slot < 0)
        return NULL;
    const struct ulp_step *made = ulp_block_producer(other, slot),
                          *own = ulp_block_producer(block, read),
                          *reader = only_reader(other, slot);
    if (made && is_activation(made))
        return own && strcmp(own->bound.op->name, made->bound.op->name) == 0 ? NULL : made;
    return reader && is_activation(reader) && reader->inputs[0] == slot &&
                   reader->outputs[0] >= 0 &&
                   find_slot(block, other->slots[reader->outputs[0]].name) < 0
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
                              ? find_coded(block, original->main, step)
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
        const struct ulp_tensor *weight = ulp_twin_weight(options, program, original, step);
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor copy = {0};
        if (!weight)
            continue;
        ULP_TRY(ulp_tensor_copy(&copy, weight, ulp_model_budget(program->model), error));
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
    for (size_t s = 0; s < block->step_count && !value; s++) {
        const struct ulp_step *step = &block->steps[s];
        const int result = step->output_count ? step->outputs[0] : -1;
        if (result >= 0 && step->own_input_count && step->inputs[0] == slot &&
            strcmp(step->bound.op->name, "Cast") == 0)
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
