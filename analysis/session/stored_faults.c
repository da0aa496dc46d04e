/* Weights in blocks whose stored scales are not those that their values ask for. */
#include <string.h>

#include "analysis/scales/scales_stored.h"
#include "analysis/session/advise.h"
#include "base/error.h"
#include "ops/product/quantize_rows.h"

/* The only step that reads the slot, and by which input; NULL: none, or several. */
static const struct ulp_step *find_reader(const struct ulp_block *block, int slot, size_t *input)
{
    const struct ulp_reading *all;
    const struct ulp_step *only = ulp_block_only_reader(block, slot);
    if (only && ulp_block_readings(block, slot, &all))
        *input = (size_t)all->input;
    return only;
}

/* True: there is a fault. */
static bool look_for_fault(const struct ulp_block *block, const struct ulp_step *step,
                           struct ulp_stored_fault *out)
{
    const struct ulp_tensor *codes = block->slots[step->inputs[0]].constant,
                            *scale = block->slots[step->inputs[1]].constant,
                            *zero = step->own_input_count > 2 && step->inputs[2] >= 0
                                        ? block->slots[step->inputs[2]].constant
                                        : NULL;
    struct ulp_stored stored;
    struct ulp_stored_loose loose;
    size_t input = 0;
    bool transposed = false;
    if (!codes || !scale || !ulp_stored_read(step->bound.node, codes, scale, &stored))
        return false;
    if (ulp_stored_is_loose(&stored, zero, &loose)) {
        out->loose = loose.count;
        out->first_loose = loose.first;
    }
    out->blocks = loose.blocks;
    out->axis = stored.axis;
    out->summed = out->reader = -1;
    const struct ulp_step *reader = find_reader(block, step->outputs[0], &input);
    if (reader && strcmp(reader->bound.op->name, "Transpose") == 0) {
        transposed = true;
        reader = find_reader(block, reader->outputs[0], &input);
    }
    if (reader) {
        out->reader = (ptrdiff_t)reader->number;
        out->summed = ulp_stored_astray(&stored, reader->bound.node, input, transposed);
    }
    return out->loose || out->summed >= 0;
}

enum ulp_status ulp_session_stored(const struct ulp_session *session, struct ulp_audit *audit,
                                   struct ulp_error *error)
{
    const struct ulp_block *block =
        session->programs->first ? session->programs->first->main : NULL;
    size_t capacity = 0;
    for (size_t s = 0; block && s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        struct ulp_stored_fault fault = {.dequantizer = step->number};
        if (!ulp_is_dequantizer(step->bound.op) || step->outputs[0] < 0 ||
            !look_for_fault(block, step, &fault))
            continue;
        fault.value = ulp_arena_copy(audit->memory, block->slots[step->outputs[0]].name);
        ULP_TRY(ulp_taken(fault.value, error));
        ULP_GROW(audit->stored_faults, audit->memory, audit->stored_fault_count, capacity, error);
        audit->stored_faults[audit->stored_fault_count++] = fault;
    }
    return ULP_OK;
}
