#include "run/idiom/idiom_read.h"

bool ulp_step_is(const struct ulp_step *step, const char *name)
{
    return strcmp(step->bound.op->name, name) == 0 && !step->bound.op->domain;
}

int ulp_step_input(const struct ulp_step *step, size_t i)
{
    return i < step->own_input_count ? step->inputs[i] : -1;
}

const struct ulp_tensor *ulp_slot_known(const struct ulp_block *block, int slot)
{
    const struct ulp_program_slot *s = slot >= 0 ? &block->slots[slot] : NULL;
    return !s ? NULL : s->constant ? s->constant : s->known;
}

/* A constant of one element, as a number. */
bool ulp_slot_is_scalar(const struct ulp_block *block, int slot, double *out)
{
    const struct ulp_tensor *value = ulp_slot_known(block, slot);
    if (!value || value->count != 1 || !value->data)
        return false;
    *out = ulp_tensor_get(value, 0);
    return true;
}

/* The axes of a reduction, as bits; 0: not known. */
uint32_t ulp_step_axes(const struct ulp_block *block, const struct ulp_step *step, int rank)
{
    const struct ulp_attribute *attribute = ulp_node_attribute(step->bound.node, "axes");
    const struct ulp_tensor *axes = ulp_slot_known(block, ulp_step_input(step, 1));
    const size_t count = attribute ? attribute->count : axes ? axes->count : 0;
    uint32_t bits = 0;
    if (!attribute && ulp_step_input(step, 1) < 0)
        return rank > 0 ? (UINT32_C(1) << rank) - 1 : 0;
    for (size_t i = 0; i < count; i++) {
        int64_t axis = attribute ? attribute->ints[i] : ulp_tensor_get_int(axes, i);
        axis += axis < 0 ? rank : 0;
        if (axis < 0 || axis >= rank)
            return 0;
        bits |= UINT32_C(1) << axis;
    }
    return bits;
}

bool ulp_step_keeps_dims(const struct ulp_step *step)
{
    const struct ulp_attribute *keep = ulp_node_attribute(step->bound.node, "keepdims");
    return !keep || keep->i == 1;
}

/* A Reshape or Expand that only adds or takes away dimensions of 1. */
bool ulp_step_same_elements(const struct ulp_block *block, const struct ulp_step *step)
{
    const struct ulp_tensor *in = &block->slots[step->inputs[0]].shape,
                            *out = &block->slots[step->outputs[0]].shape;
    int i = 0, o = 0;
    if (!(ulp_step_is(step, "Reshape") || ulp_step_is(step, "Expand")) ||
        in->type == ULP_TYPE_UNDEFINED || out->type == ULP_TYPE_UNDEFINED)
        return false;
    for (;; i++, o++) {
        while (i < in->rank && in->dims[i] == 1)
            i++;
        while (o < out->rank && out->dims[o] == 1)
            o++;
        if (i >= in->rank || o >= out->rank)
            return i >= in->rank && o >= out->rank;
        if (in->dims[i] != out->dims[o])
            return false;
    }
}
