/* What OpenVINO's CPU plugin computes in a product's kernel, and what it leaves in FP32. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "run/idiom/idiom_read.h"
#include "run/program/program.h"

/* Of one block: by step whose product's kernel computes it; -1: none's. */
struct taking {
    const struct ulp_block *block;
    int *taken;
};

static bool is_elementwise(const struct ulp_step *step)
{
    return step->bound.op->formula && step->bound.tape &&
           step->bound.op->work != ULP_WORK_CONTRACTION && !ulp_tape_reduces(step->bound.tape);
}

static bool is_view(const struct ulp_step *step)
{
    const enum ulp_route route = step->bound.op->route;
    return step->bound.op->work == ULP_WORK_MOVE && !step->bound.blocks &&
           (route == ULP_ROUTE_SAME || ulp_step_is(step, "Transpose"));
}

/* The product in whose kernel the slot's value is made, which so many inputs read. */
static int find_product(const struct taking *t, int slot, size_t readers)
{
    const struct ulp_reading *all;
    const struct ulp_step *from = ulp_block_producer(t->block, slot);
    return from && !from->folded && ulp_block_readings(t->block, slot, &all) == readers
               ? t->taken[from - t->block->steps]
               : -1;
}

/* Work by numbers alone is done before elements change places. */
static int find_behind_views(const struct taking *t, int slot)
{
    const struct ulp_block *block = t->block;
    const struct ulp_step *from = ulp_block_producer(block, slot);
    int at = slot;
    while (from && !from->folded && is_view(from) && ulp_block_is_own(block, at)) {
        at = from->inputs[0];
        from = ulp_block_producer(block, at);
    }
    const int product = at == slot ? -1 : find_product(t, at, 1);
    for (; product >= 0 && slot != at; slot = from->inputs[0]) {
        from = ulp_block_producer(block, slot);
        t->taken[from - block->steps] = product;
    }
    return product;
}

/* The value of which alone, beside constants, the step works; -1: none. */
static int find_value(const struct ulp_block *block, const struct ulp_step *step)
{
    int value = -1;
    for (size_t i = 0; i < step->own_input_count; i++) {
        const int slot = step->inputs[i];
        if (slot < 0 || block->slots[slot].constant)
            continue;
        if (value >= 0)
            return -1;
        value = slot;
    }
    return value;
}

/* x * f(x), as of SiLU, HardSwish and Gelu, written out: all of it is the kernel's. */
static int find_gated(const struct taking *t, const struct ulp_step *step)
{
    enum { STEPS_MAX = 4 };
    for (size_t i = 0; ulp_step_is(step, "Mul") && i < 2; i++) {
        const struct ulp_step *gate[STEPS_MAX];
        const int product = find_product(t, step->inputs[!i], 2);
        size_t count = 0;
        int at = step->inputs[i];
        while (product >= 0 && count < STEPS_MAX && at >= 0 && at != step->inputs[!i]) {
            gate[count] = ulp_block_is_own(t->block, at) ? ulp_block_producer(t->block, at) : NULL;
            at = gate[count] && !gate[count]->folded && is_elementwise(gate[count])
                     ? find_value(t->block, gate[count])
                     : -1;
            count += at >= 0;
        }
        if (product < 0 || at != step->inputs[!i] || !count)
            continue;
        while (count-- > 0)
            t->taken[gate[count] - t->block->steps] = product;
        return product;
    }
    return -1;
}

static int find_taken(const struct taking *t, const struct ulp_step *step)
{
    const struct ulp_program_slot *slots = t->block->slots;
    const bool adds = ulp_step_is(step, "Add") || ulp_step_is(step, "Sum");
    int values[2] = {-1, -1};
    size_t count = 0;
    bool numbers = true;
    for (size_t i = 0; i < step->own_input_count; i++) {
        const int slot = step->inputs[i];
        if (slot < 0)
            continue;
        if (slots[slot].constant)
            numbers &= slots[slot].constant->count == 1;
        else if (count < 2)
            values[count++] = slot;
        else
            return -1;
    }
    for (size_t i = 0; i < count && adds && count == 2; i++) {
        const int product = find_product(t, values[i], 1);
        if (product >= 0 && ulp_step_is(&t->block->steps[product], "Conv"))
            return product;
    }
    if (count != 1)
        return find_gated(t, step);
    const int product = find_product(t, values[0], 1);
    return product < 0 && numbers ? find_behind_views(t, values[0]) : product;
}

enum ulp_status ulp_block_find_taken(const struct ulp_block *block, struct ulp_arena *memory,
                                     int **out, struct ulp_error *error)
{
    ULP_TAKE(*out, memory, block->step_count + 1, error);
    const struct taking t = {block, *out};
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        const bool product = step->bound.op->work == ULP_WORK_CONTRACTION &&
                             !step->bound.op->formulas && !step->folded;
        t.taken[s] = product ? (int)s
                     : !step->folded && !step->bound.blocks && is_elementwise(step)
                         ? find_taken(&t, step)
                         : -1;
    }
    return ULP_OK;
}

/* What reaches an output past none of these is FP32: residual sums and their normalisations are
 * among it. */
static bool is_lowered(const struct ulp_step *step)
{
    return (step->bound.op->work == ULP_WORK_CONTRACTION && !ulp_step_is(step, "ConvTranspose")) ||
           ulp_step_is(step, "Resize") || ulp_step_is(step, "Upsample");
}

/* A product, or what becomes its weights and bias. */
static bool is_weighed(const struct ulp_block *block, const struct ulp_step *step)
{
    const struct ulp_step *from = ulp_block_producer(block, step->inputs[0]);
    return step->norm || step->bound.op->work == ULP_WORK_CONTRACTION ||
           (ulp_step_is(step, "Add") && from && from->bound.op->work == ULP_WORK_CONTRACTION &&
            block->slots[step->inputs[1]].constant);
}

enum ulp_status ulp_program_leave_ends(const struct ulp_program *program, struct ulp_mix *mix,
                                       uint16_t *of_node, struct ulp_error *error)
{
    const struct ulp_block *block = program->main;
    const struct ulp_reading *all;
    bool *ends = ulp_arena_take(mix->memory, block->step_count + 1, sizeof *ends);
    struct ulp_arithmetic wide, product;
    int *taken;
    char name[96];
    snprintf(name, sizeof name, "fp32,factor=%s,unit=none,batchnorm=folded,fuse=openvino",
             mix->items[0].factor.name);
    ULP_TRY(ulp_taken(ends, error));
    ULP_TRY(ulp_block_find_taken(block, mix->memory, &taken, error));
    ULP_TRY(ulp_arithmetic_find("fp32,unit=none,batchnorm=folded", &wide, error));
    ULP_TRY(ulp_arithmetic_find(name, &product, error));
    const uint16_t apart = (uint16_t)ulp_mix_add(mix, &wide),
                   summed = (uint16_t)ulp_mix_add(mix, &product);
    for (size_t s = block->step_count; s-- > 0;) {
        const struct ulp_step *step = &block->steps[s];
        const int kernel = taken[s];
        for (size_t o = 0; o < step->output_count; o++)
            ends[s] |= step->outputs[o] >= 0 && block->slots[step->outputs[o]].last_use == INT_MAX;
        if (kernel >= 0 && ends[s]) {
            const bool alone = ulp_block_readings(block, step->outputs[0], &all) == 1;
            if (of_node[block->steps[kernel].number] || (alone && all->step < 0) ||
                !is_weighed(block, step))
                of_node[step->number] = of_node[block->steps[kernel].number] = summed;
        } else if (ends[s] && !is_lowered(step)) {
            of_node[step->number] = apart;
        }
        for (size_t i = 0; ends[s] && !is_lowered(step) && i < step->input_count; i++) {
            const struct ulp_step *from = ulp_block_producer(block, step->inputs[i]);
            if (from)
                ends[from - block->steps] = true;
        }
    }
    return ULP_OK;
}
