#include "analysis/emulation/emulation.h"

#include <string.h>

#include "base/error.h"

static enum ulp_status take_memory(struct ulp_emulation *emulation, struct ulp_error *error)
{
    const size_t problems = emulation->given.sample_count + ULP_DRAWN_MAX;
    struct ulp_arena *memory = emulation->memory;
    ULP_TAKE(emulation->inputs, memory, problems, error);
    ULP_TAKE(emulation->truths, memory, problems, error);
    ULP_TAKE(emulation->scored, memory, problems, error);
    ULP_TAKE(emulation->scores, memory, problems, error);
    ULP_TAKE(emulation->integers, memory, problems, error);
    ULP_TAKE(emulation->shapes, memory, problems, error);
    ULP_TAKE(emulation->shape_of, memory, problems, error);
    ULP_TAKE(emulation->place, memory, problems, error);
    for (size_t p = 0; p < problems; p++) {
        emulation->integers[p] = ulp_arena_take(memory, emulation->program->main->slot_count + 1,
                                                sizeof **emulation->integers);
        ULP_TRY(ulp_taken(emulation->integers[p], error));
    }
    for (size_t s = 0; s < emulation->given.sample_count; s++)
        emulation->inputs[emulation->problem_count++] = emulation->given.samples[s].inputs;
    return ULP_OK;
}

enum ulp_status ulp_emulation_open(struct ulp_emulation *emulation,
                                   const struct ulp_emulated *given, struct ulp_error *error)
{
    *emulation = (struct ulp_emulation){.given = *given};
    struct ulp_budget *budget = ulp_model_budget(given->model);
    if (!given->sample_count)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s needs a sample", given->what);
    ULP_TRY(ulp_emulation_check_inputs(given, given->samples, given->sample_count, error));
    emulation->lanes[0] = *given->reference;
    emulation->lanes[1] = *given->arithmetic;
    emulation->programs =
        (struct ulp_programs){.model = given->model, .lanes = emulation->lanes, .lane_count = 2};
    ULP_TRY(ulp_programs_choose(&emulation->programs, given->samples[0].inputs, &emulation->program,
                                error));
    ULP_TRY(ulp_arena_create(&emulation->memory, budget, error));
    ULP_TRY(take_memory(emulation, error));
    ULP_TRY(ulp_emulation_shapes(emulation, error));
    ULP_TRY(ulp_pool_create(&emulation->pool, given->thread_count, error));
    ulp_pool_set_root(emulation->pool, budget);
    return ulp_emulation_limits(emulation, error);
}

void ulp_emulation_close(struct ulp_emulation *emulation)
{
    ulp_emulation_close_trials(emulation, SIZE_MAX);
    for (size_t p = 0; p < emulation->problem_count; p++) {
        ulp_tensor_set_free(&emulation->truths[p]);
        ulp_tensors_free(emulation->integers[p], emulation->program->main->slot_count);
    }
    for (size_t d = 0; d < ULP_DRAWN_MAX; d++)
        ulp_tensor_set_free(&emulation->drawn[d]);
    ulp_programs_free(&emulation->programs);
    ulp_pool_free(emulation->pool);
    ulp_arena_free(emulation->memory);
}

enum ulp_status ulp_emulation_keep(struct ulp_emulation *emulation, const struct ulp_keeps *keeps,
                                   struct ulp_error *error)
{
    struct ulp_keep *items =
        ulp_arena_take(emulation->memory, keeps->count + 1, sizeof *emulation->keeps[1].items);
    ULP_TRY(ulp_taken(items, error));
    for (size_t k = 0; k < keeps->count; k++) {
        const struct ulp_keep *from = &keeps->items[k];
        ULP_TAKE_ARRAY(size_t, nodes, emulation->memory, from->node_count + 1, error);
        if (from->node_count)
            memcpy(nodes, from->nodes, from->node_count * sizeof *nodes);
        items[k] = *from;
        items[k].nodes = nodes;
    }
    emulation->keeps[1] = *keeps;
    emulation->keeps[1].items = items;
    emulation->programs.options.keeps = emulation->keeps;
    ulp_programs_drop(&emulation->programs);
    return ulp_program_keep(emulation->program, 1, &emulation->keeps[1], error);
}

enum ulp_status ulp_emulation_choices(struct ulp_emulation *emulation,
                                      const struct ulp_arithmetic *keep_in, size_t count,
                                      struct ulp_error *error)
{
    emulation->keep_in = keep_in;
    emulation->keep_count = count;
    return ulp_emulation_open_trial(emulation, 0, error);
}

void ulp_emulation_follow(struct ulp_emulation *emulation)
{
    emulation->follows = true;
    for (size_t p = 0; p < emulation->problem_count; p++) {
        struct ulp_trial *trial = emulation->shapes[emulation->shape_of[p]].trial;
        if (trial)
            ulp_trial_follow(trial, emulation->place[p], emulation->integers[p]);
    }
}
