/* Recorded indices that their axis does not have: no arithmetic gives them. */
#include <string.h>

#include "analysis/compare/comparing.h"
#include "base/error.h"
#include "run/program/program.h"
#include "tensor/tensor.h"

/* From `low` on and below the length of each column's axis; 0: not known. */
struct range {
    int64_t low, lengths[3];
    size_t columns;
};

static int64_t length_of(const struct ulp_block *block, const struct ulp_step *step, size_t input,
                         int64_t axis)
{
    const int slot = input < step->input_count ? step->inputs[input] : -1;
    const struct ulp_tensor *shape = slot < 0 ? NULL : &block->slots[slot].shape;
    if (!shape || shape->type == ULP_TYPE_UNDEFINED || axis >= shape->rank || axis < -shape->rank)
        return 0;
    return shape->dims[axis < 0 ? axis + shape->rank : axis];
}

/* Of indices that the step gives. */
static struct range range_of(const struct ulp_block *block, const struct ulp_step *step)
{
    const char *op = step->bound.op->name;
    if (strcmp(op, "NonMaxSuppression") == 0)
        return (struct range){-1, /* some pad with it */
                              {length_of(block, step, 0, 0), length_of(block, step, 1, 1),
                               length_of(block, step, 0, 1)},
                              3};
    const int64_t axis = ulp_node_int(step->bound.node, "axis", strcmp(op, "TopK") == 0 ? -1 : 0);
    const bool indices = ulp_is_word(op, "TopK ArgMax ArgMin");
    return (struct range){0, {indices ? length_of(block, step, 0, axis) : 0}, 1};
}

/* Of indices that some step reads in place of a number: from the end on where they are negative. */
static struct range range_read(const struct ulp_block *block, int slot)
{
    struct range range = {0, {0}, 1};
    for (size_t s = 0; s < block->step_count && !range.lengths[0]; s++) {
        const struct ulp_step *step = &block->steps[s];
        if (!ulp_is_word(step->bound.op->name, "Gather GatherElements") ||
            step->own_input_count < 2 || step->inputs[1] != slot)
            continue;
        range.lengths[0] = length_of(block, step, 0, ulp_node_int(step->bound.node, "axis", 0));
        range.low = -range.lengths[0];
    }
    return range;
}

/* The first of them; the count: there is none. */
static size_t find_outside(const struct range *range, const struct ulp_tensor *recorded)
{
    size_t i = 0;
    if (range->columns > 1 && (recorded->rank != 2 || recorded->dims[1] != (int64_t)range->columns))
        return recorded->count; /* of another layout, which is what is wrong */
    for (; i < recorded->count; i++) {
        const int64_t index = ulp_tensor_get_int(recorded, i),
                      length = range->lengths[i % range->columns];
        if (length && (index < range->low || index >= length))
            break;
    }
    return i;
}

enum ulp_status ulp_explain_outside(const struct ulp_comparing *comparing, size_t file,
                                    struct ulp_compared_file *out, struct ulp_error *error)
{
    const struct ulp_block *block = comparing->program->main;
    for (size_t t = 0; t < comparing->out->tensor_count; t++) {
        const struct ulp_compared_tensor *tensor = &comparing->out->tensors[t];
        const struct ulp_tensor *recorded = ulp_recorded(&comparing->work[t], file);
        const int slot = ulp_program_find_slot(comparing->program, tensor->name);
        const struct ulp_step *step = slot < 0 ? NULL : ulp_block_producer(block, slot);
        if (!recorded || !step || ulp_type_is_float(tensor->type) ||
            ulp_element_is_float(recorded->element))
            continue;
        struct range range = range_of(block, step);
        if (step->output_count > 1 && step->outputs[0] == slot) /* what a TopK takes */
            range.lengths[0] = 0;
        if (!range.lengths[0])
            range = range_read(block, slot);
        const size_t at = find_outside(&range, recorded);
        if (at == recorded->count)
            continue;
        struct ulp_text text = {0};
        ulp_text_show(&text,
                      "the recording holds an index outside its axis: %lld at element %zu of '%s', "
                      "of an axis of %lld. No arithmetic gives it.",
                      (long long)ulp_tensor_get_int(recorded, at), at, tensor->name,
                      (long long)range.lengths[at % range.columns]);
        out->explained = out->hidden = false;
        out->first_unexplained = (ptrdiff_t)t;
        ULP_TRY(ulp_cause_set(comparing, &out->cause, ULP_CAUSE_NODE, &text, NULL, error));
        ULP_TAKE(out->cause.nodes, comparing->out->memory, 1, error);
        out->cause.nodes[out->cause.node_count++] = ulp_comparing_text(comparing, step->name);
        out->cause.todo = ulp_comparing_text(
            comparing, "look at how the framework fills or pads this tensor, and at its type: "
                       "32 bits read as 64 give such numbers");
        return ulp_taken(out->cause.nodes[0] && out->cause.todo, error);
    }
    return ULP_OK;
}
