/* Who reads each slot of a block, so that a pattern of steps is found in time linear in them. */
#include "base/error.h"
#include "run/program/program.h"

enum ulp_status ulp_block_find_readers(struct ulp_program *program, struct ulp_block *block,
                                       struct ulp_error *error)
{
    size_t *first = ulp_arena_take(program->arena, block->slot_count + 2, sizeof *first);
    struct ulp_reading *all = NULL;
    ULP_TRY(ulp_taken(first, error));
    block->readers = (struct ulp_readers){block->slot_count, first, NULL};
    /* first[v + 2] counts those of slot v, then first[v + 1] is where its next one goes */
    for (int fill = 0; fill < 2; fill++) {
        for (size_t s = 0; s <= block->step_count; s++) {
            const bool end = s == block->step_count;
            const size_t count = end ? block->output_count : block->steps[s].input_count;
            const int *slots = end ? block->outputs : block->steps[s].inputs;
            for (size_t i = 0; i < count; i++)
                if (slots[i] >= 0 && fill)
                    all[first[slots[i] + 1]++] = (struct ulp_reading){end ? -1 : (int)s, (int)i};
                else if (slots[i] >= 0)
                    first[slots[i] + 2]++;
        }
        for (size_t v = 0; v < block->slot_count && !fill; v++)
            first[v + 2] += first[v + 1];
        if (!fill)
            ULP_TAKE(all, program->arena, first[block->slot_count + 1] + 1, error);
    }
    block->readers.all = all;
    return ULP_OK;
}

bool ulp_block_read_within(const struct ulp_block *block, int slot, const int *steps, size_t count)
{
    const struct ulp_reading *all;
    bool within = true;
    for (size_t r = ulp_block_readings(block, slot, &all); r-- > 0 && within;) {
        within = false;
        for (size_t i = 0; i < count && !within; i++)
            within = all[r].step == steps[i];
    }
    return within;
}

const struct ulp_step *ulp_block_only_reader(const struct ulp_block *block, int slot)
{
    const struct ulp_reading *all;
    const size_t count = ulp_block_readings(block, slot, &all);
    return count && all->step >= 0 && (count == 1 || all[1].step < 0) ? &block->steps[all->step]
                                                                      : NULL;
}
