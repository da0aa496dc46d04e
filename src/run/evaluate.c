/* One step in one lane: on its own inputs, on the reference's, and in the reference's arithmetic on
 * the lane's. */
#include <string.h>

#include "base/error.h"
#include "run/walk.h"

static enum ulp_status out_of_memory(struct ulp_error *error)
{
    return ulp_fail_memory(error, "out of memory");
}

enum ulp_status ulp_own_inputs(struct ulp_lane *lane, const struct ulp_step *step,
                               const struct ulp_tensor **inputs, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < step->input_count && status == ULP_OK; i++)
        status = ulp_lane_input(lane, step, i, &inputs[i], error);
    return status;
}

/* Is the value one of the model's inputs, used as a parameter alone? Every lane has such a one as
 * it was given. */
static bool is_as_given(const struct ulp_block *block, int slot)
{
    for (; block->slots[slot].outer >= 0; block = block->parent)
        slot = block->slots[slot].outer;
    for (size_t i = 0; !block->parent && !block->slots[slot].data && i < block->input_count; i++)
        if (block->inputs[i] == slot)
            return true;
    return false;
}

/* The inputs of `source` for a step run in the arithmetic of `lane`: constants are lane's own.
 * Conversions are kept in temporaries. */
static enum ulp_status foreign_inputs(struct ulp_lane *lane, struct ulp_lane *source,
                                      const struct ulp_step *step, struct ulp_tensor *temporaries,
                                      const struct ulp_tensor **inputs, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < step->input_count && status == ULP_OK; i++) {
        int slot = step->inputs[i];
        if (slot < 0 || lane->block->slots[slot].constant) {
            status = ulp_lane_input(lane, step, i, &inputs[i], error);
            continue;
        }
        const struct ulp_tensor *value = &source->values[slot];
        struct ulp_format from = {0};
        if (is_as_given(lane->block, slot)) {
            inputs[i] = value;
            continue;
        }
        if (ulp_element_is_float(value->element))
            status = ulp_lane_format(source->arithmetic, value->type, &from, error);
        if (status == ULP_OK)
            status = ulp_adapt(&temporaries[i], value, &from, lane->arithmetic,
                               ulp_takes_mixed(step, i), lane->budget, lane->pool, error);
        inputs[i] = &temporaries[i];
    }
    return status;
}

static void free_tensors(struct ulp_tensor *tensors, size_t count)
{
    for (size_t i = 0; tensors && i < count; i++)
        ulp_tensor_free(&tensors[i]);
}

static bool same_bits(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    return a == b ||
           (a && b && a->element == b->element && a->precision == b->precision &&
            ulp_tensor_same_shape(a, b) &&
            (a->data == b->data || memcmp(a->data, b->data, a->count * a->element_bytes) == 0));
}

static bool all_same(const struct ulp_tensor *const *a, const struct ulp_tensor *const *b,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!same_bits(a[i], b[i]))
            return false;
    return true;
}

static bool any_float_computed(const struct ulp_step *step, const struct ulp_tensor *const *inputs,
                               const struct ulp_block *block)
{
    for (size_t i = 0; i < step->input_count; i++)
        if (inputs[i] && ulp_element_is_float(inputs[i]->element) &&
            !block->slots[step->inputs[i]].constant)
            return true;
    return false;
}

enum ulp_status ulp_evaluation_create(struct ulp_evaluation *out, const struct ulp_step *step,
                                      struct ulp_arena *arena, struct ulp_error *error)
{
    struct ulp_tensor *tensors = ulp_arena_take(arena, 3 * step->output_count + 1, sizeof *tensors);
    if (!tensors)
        return out_of_memory(error);
    *out = (struct ulp_evaluation){.entire = tensors,
                                   .single = tensors + step->output_count,
                                   .here = tensors + 2 * step->output_count};
    return ULP_OK;
}

enum ulp_status ulp_evaluate(struct ulp_walk *walk, const struct ulp_frame *frame,
                             const struct ulp_step *step, size_t lane_index,
                             const struct ulp_tensor *const *reference_inputs,
                             struct ulp_evaluation *out, struct ulp_arena *arena,
                             struct ulp_error *error)
{
    const struct ulp_tensor **own = ulp_arena_take(arena, step->input_count + 1, sizeof *own);
    const struct ulp_tensor **foreign =
        ulp_arena_take(arena, step->input_count + 1, sizeof *foreign);
    struct ulp_tensor *temporaries =
        ulp_arena_take(arena, step->input_count + 1, sizeof *temporaries);
    if (!own || !foreign || !temporaries)
        return out_of_memory(error);
    struct ulp_lane *reference = &frame->lanes[0], *lane = &frame->lanes[lane_index];
    if (walk->options->isolated && lane != reference) {
        out->skipped = step->bound.op->work != ULP_WORK_CONTRACTION;
        if (out->skipped)
            return ULP_OK;
        enum ulp_status status = foreign_inputs(lane, reference, step, temporaries, foreign, error);
        if (status == ULP_OK)
            status = ulp_step_run(step, lane, foreign, out->entire, error);
        free_tensors(temporaries, step->input_count);
        return status;
    }
    enum ulp_status status = ulp_own_inputs(lane, step, own, error);
    if (status == ULP_OK)
        status = ulp_step_run(step, lane, own, out->entire, error);
    if (status != ULP_OK || lane == reference || !walk->options->audit)
        return status;

    status = foreign_inputs(lane, reference, step, temporaries, foreign, error);
    out->single_is_entire = status == ULP_OK && all_same(own, foreign, step->input_count);
    if (status == ULP_OK && !out->single_is_entire)
        status = ulp_step_run(step, lane, foreign, out->single, error);
    free_tensors(temporaries, step->input_count);
    if (status != ULP_OK)
        return status;

    /* With integer inputs only, equal to the reference's, R(p) is R(r). */
    if (!any_float_computed(step, own, lane->block)) {
        bool equal = true;
        for (size_t i = 0; i < step->input_count; i++)
            equal = equal && (step->inputs[i] < 0 || lane->block->slots[step->inputs[i]].constant ||
                              same_bits(own[i], reference_inputs[i]));
        out->here_is_reference = equal;
    }
    if (!out->here_is_reference) {
        status = foreign_inputs(reference, lane, step, temporaries, foreign, error);
        if (status == ULP_OK)
            status = ulp_step_run(step, reference, foreign, out->here, error);
        free_tensors(temporaries, step->input_count);
    }
    return status;
}
