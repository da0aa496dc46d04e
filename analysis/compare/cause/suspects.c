/* The nodes between explained tensors and the first one that is not. */

#include "analysis/compare/comparing.h"
#include "run/program/program.h"

struct searching {
    const struct ulp_comparing *comparing;
    size_t file;
    const struct ulp_block *block;
    bool *seen;     /* by slot */
    bool *suspects; /* by step */
    int *queue;     /* slots */
    size_t queued;
    struct ulp_suspects *out;
};

/* Is the value recorded, and explained? Inputs that were not recorded are not. */
static bool is_cleared(const struct searching *searching, const char *name)
{
    const ptrdiff_t number = name ? ulp_compared_find(searching->comparing, name, 0) : -1;
    const struct ulp_compared_value *value =
        number < 0 ? NULL : &searching->comparing->out->tensors[number].values[searching->file];
    return value && value->recorded && value->explained;
}

static void look_at_inputs(struct searching *searching, const struct ulp_step *step)
{
    for (size_t i = 0; i < step->input_count; i++) {
        const int slot = step->inputs[i];
        if (slot < 0 || searching->seen[slot] || searching->block->slots[slot].constant)
            continue;
        searching->seen[slot] = true;
        if (!is_cleared(searching, searching->block->slots[slot].name))
            searching->queue[searching->queued++] = slot;
    }
}

static void search(struct searching *searching, const struct ulp_step *first)
{
    const struct ulp_block *block = searching->block;
    searching->suspects[first - block->steps] = true;
    look_at_inputs(searching, first);
    for (size_t q = 0; q < searching->queued; q++) {
        const int slot = searching->queue[q];
        const struct ulp_step *step = ulp_block_producer(block, slot);
        if (step) {
            searching->suspects[step - block->steps] = true;
            look_at_inputs(searching, step);
        } else if (block->slots[slot].outer < 0) {
            searching->out->inputs[searching->out->input_count++] = block->slots[slot].name;
        }
    }
}

static void collect_steps(struct searching *searching)
{
    struct ulp_suspects *out = searching->out;
    for (size_t s = 0; s < searching->block->step_count; s++)
        if (searching->suspects[s] && !searching->block->steps[s].folded)
            out->steps[out->count++] = &searching->block->steps[s];
}

enum ulp_status ulp_suspects_find(const struct ulp_comparing *comparing, size_t file, size_t tensor,
                                  struct ulp_suspects *out, struct ulp_error *error)
{
    const ptrdiff_t index = comparing->out->tensors[tensor].index;
    const struct ulp_program_node *node = &comparing->program->nodes[index];
    const struct ulp_block *block = node->block;
    struct searching searching = {.comparing = comparing, .file = file, .block = block, .out = out};
    struct ulp_arena *const arena = comparing->arena;
    const size_t steps = block->step_count + 1, slots = block->slot_count + 1;
    *out = (struct ulp_suspects){0};
    ULP_TAKE(out->steps, arena, steps, error);
    ULP_TAKE(out->inputs, arena, slots, error);
    ULP_TAKE(searching.seen, arena, slots, error);
    ULP_TAKE(searching.suspects, arena, steps, error);
    ULP_TAKE(searching.queue, arena, slots, error);
    search(&searching, node->step);
    collect_steps(&searching);
    return ULP_OK;
}
