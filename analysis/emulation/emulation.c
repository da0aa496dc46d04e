#include "analysis/emulation/emulation.h"

#include "base/error.h"

static enum ulp_status out_of_memory(const struct ulp_emulation *emulation, struct ulp_error *error)
{
    return ulp_fail_memory(error, "out of memory for %s", emulation->given.what);
}

static enum ulp_status take_memory(struct ulp_emulation *emulation, struct ulp_error *error)
{
    const size_t samples = emulation->given.sample_count;
    struct ulp_arena *memory = emulation->memory;
    emulation->truths = ulp_arena_take(memory, samples + 1, sizeof *emulation->truths);
    emulation->integers = ulp_arena_take(memory, samples + 1, sizeof *emulation->integers);
    if (!emulation->truths || !emulation->integers)
        return out_of_memory(emulation, error);
    for (size_t s = 0; s < samples; s++) {
        emulation->integers[s] = ulp_arena_take(memory, emulation->plan->main->slot_count + 1,
                                                sizeof **emulation->integers);
        if (!emulation->integers[s])
            return out_of_memory(emulation, error);
    }
    return ULP_OK;
}

enum ulp_status ulp_emulation_open(struct ulp_emulation *emulation,
                                   const struct ulp_emulated *given, struct ulp_error *error)
{
    *emulation = (struct ulp_emulation){.given = *given};
    if (!given->sample_count)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s needs a sample", given->what);
    const struct ulp_arithmetic lanes[] = {*given->reference, *given->arithmetic};
    const struct ulp_plan_options options = {.inputs = given->samples[0].inputs};
    enum ulp_status status =
        ulp_plan_create(given->model, lanes, 2, &options, &emulation->plan, error);
    if (status == ULP_OK)
        status = ulp_arena_create(&emulation->memory, ulp_model_budget(given->model), error);
    if (status == ULP_OK)
        status = take_memory(emulation, error);
    return status == ULP_OK ? ulp_emulation_limits(emulation, error) : status;
}

void ulp_emulation_close(struct ulp_emulation *emulation)
{
    for (size_t s = 0; emulation->truths && s < emulation->given.sample_count; s++)
        ulp_tensor_set_free(&emulation->truths[s]);
    for (size_t s = 0; emulation->integers && s < emulation->given.sample_count; s++)
        for (size_t v = 0; emulation->integers[s] && v < emulation->plan->main->slot_count; v++)
            ulp_tensor_free(&emulation->integers[s][v]);
    ulp_trial_free(emulation->trial);
    ulp_plan_free(emulation->plan);
    ulp_arena_free(emulation->memory);
}

enum ulp_status ulp_emulation_choices(struct ulp_emulation *emulation,
                                      const struct ulp_arithmetic *keep_in, size_t count,
                                      struct ulp_error *error)
{
    const struct ulp_emulated *given = &emulation->given;
    enum ulp_status status =
        ulp_trial_create(emulation->plan, 1, keep_in, count, given->sample_count,
                         given->thread_count, &emulation->trial, error);
    for (size_t s = 0; s < given->sample_count && status == ULP_OK; s++)
        status = ulp_trial_add(emulation->trial, given->samples[s].inputs, error);
    return status;
}

void ulp_emulation_follow(struct ulp_emulation *emulation)
{
    emulation->follows = true;
    for (size_t s = 0; s < emulation->given.sample_count; s++)
        ulp_trial_follow(emulation->trial, s, emulation->integers[s]);
}
