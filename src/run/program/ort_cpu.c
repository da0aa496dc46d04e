/* Which nodes of a graph ONNX Runtime's CPU provider computes in FP16 (the arithmetic "ort-cpu").
 *
 * Where the provider has no kernel for FP16, it puts a Cast to FP32 before the node and one to FP16
 * behind it, and then removes pairs of Casts that meet: such nodes hand FP32 on to one another. A
 * node with a kernel that stands alone between such nodes is computed in FP32, too. A Cast of the
 * model's own to FP16 rounds only for nodes with a kernel, and where a Cast of the model's own to
 * FP32 follows it. */
#include <string.h>

#include "base/error.h"
#include "run/program/program.h"

static const struct native_row {
    const char *domain, *name;
    int first, last;
} native_rows[] = {
#define NATIVE(domain, name, first, last) {domain, name, first, last},
#include "run/program/ort_cpu.def"
#undef NATIVE
};

static bool has_kernel(const struct ulp_step *step)
{
    const char *domain = step->bound.op->domain ? step->bound.op->domain : "";
    for (size_t i = 0; i < sizeof native_rows / sizeof *native_rows; i++) {
        const struct native_row *row = &native_rows[i];
        if (strcmp(row->name, step->bound.op->name) == 0 && strcmp(row->domain, domain) == 0)
            return step->bound.opset >= row->first && step->bound.opset <= row->last;
    }
    return false;
}

static bool is_half(const struct ulp_block *block, int slot)
{
    return slot >= 0 && ulp_slot_type(&block->slots[slot]) == ULP_TYPE_FLOAT16;
}

static bool is_cast(const struct ulp_step *step)
{
    return strcmp(step->bound.op->name, "Cast") == 0;
}

/* Who reads the slot: a node with a kernel, or an output, which must have FP16; any node; a Cast to
 * a wider float. */
struct reads {
    bool with_kernel, any, widened;
};

static struct reads find_reads(const struct ulp_block *block, int slot)
{
    const struct ulp_reading *all;
    struct reads out = {false, false, false};
    for (size_t r = ulp_block_readings(block, slot, &all); r-- > 0;) {
        const struct ulp_step *step = all[r].step < 0 ? NULL : &block->steps[all[r].step];
        const enum ulp_type to = step && is_cast(step) && step->outputs[0] >= 0
                                     ? ulp_slot_type(&block->slots[step->outputs[0]])
                                     : ULP_TYPE_UNDEFINED;
        out.with_kernel |= !step || has_kernel(step);
        out.any |= step != NULL;
        out.widened |= to == ULP_TYPE_FLOAT || to == ULP_TYPE_DOUBLE;
    }
    return out;
}

/* Does a node with a kernel stand alone between nodes that compute in FP32 (`casts`, by step, so
 * far)? */
static bool is_isolated(const struct ulp_block *block, const struct ulp_step *step,
                        const bool *casts)
{
    size_t halves = 0;
    bool read = false;
    if (step->bound.blocks)
        return false;
    for (size_t i = 0; i < step->own_input_count; i++) {
        if (!is_half(block, step->inputs[i]))
            continue;
        const struct ulp_program_slot *slot = &block->slots[step->inputs[i]];
        if (slot->constant || (slot->outer < 0 && slot->producer < 0))
            continue; /* a constant or an input, which is cast as well */
        if (slot->outer >= 0 || !casts[slot->producer])
            return false;
        halves++;
    }
    for (size_t o = 0; o < step->output_count; o++) {
        if (!is_half(block, step->outputs[o]))
            continue;
        const struct reads reads = find_reads(block, step->outputs[o]);
        if (reads.with_kernel)
            return false;
        read |= reads.any;
    }
    return halves && read;
}

static enum ulp_status mark_block(const struct ulp_block *block, bool *half,
                                  struct ulp_arena *scratch, struct ulp_error *error)
{
    ULP_TAKE_ARRAY(bool, casts, scratch, block->step_count + 1, error);
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        const bool kernel = has_kernel(step);
        bool reads_half = false;
        for (size_t i = 0; i < step->input_count; i++)
            reads_half |= is_half(block, step->inputs[i]);
        const bool in_float = !kernel || is_isolated(block, step, casts);
        casts[s] = in_float && reads_half;
        half[step->number] = is_cast(step)
                                 ? step->outputs[0] >= 0 && is_half(block, step->outputs[0]) &&
                                       find_reads(block, step->outputs[0]).widened
                                 : !in_float;
    }
    return ULP_OK;
}

enum ulp_status ulp_program_ort_cpu(const struct ulp_program *program, bool *half,
                                    struct ulp_arena *scratch, struct ulp_error *error)
{
    for (size_t n = 0; n < program->node_count; n++)
        if (program->nodes[n].step == program->nodes[n].block->steps)
            ULP_TRY(mark_block(program->nodes[n].block, half, scratch, error));
    return ULP_OK;
}
