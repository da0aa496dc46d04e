/* Samples that the plan was not searched by, as any user of the plan would run them. */
#include "analysis/plan/plan_search.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

enum ulp_status ulp_found_figure_set(struct ulp_found_figure *out,
                                     const struct ulp_judgement *judgement,
                                     struct ulp_arena *memory, struct ulp_error *error)
{
    const char *output = judgement->output ? judgement->output : "",
               *metric = judgement->metric ? judgement->metric : "";
    *out = (struct ulp_found_figure){.output = ulp_arena_text(memory, output, strlen(output)),
                                     .metric = ulp_arena_text(memory, metric, strlen(metric)),
                                     .value = judgement->value,
                                     .ratio = judgement->ratio};
    return out->output && out->metric ? ULP_OK : ulp_out_of_memory(error);
}

enum ulp_status ulp_search_validate(struct ulp_search *search, const struct ulp_sample *held_out,
                                    size_t count, struct ulp_found *found, struct ulp_error *error)
{
    found->validated = ulp_arena_take(found->memory, count + 1, sizeof *found->validated);
    if (!found->validated)
        return ulp_out_of_memory(error);
    enum ulp_status status = ulp_search_keep(search, search->kept, error);
    for (size_t s = 0; s < count && status == ULP_OK; s++) {
        struct ulp_found_sample *to = &found->validated[s];
        struct ulp_judgement after;
        to->name = ulp_arena_text(found->memory, held_out[s].name, strlen(held_out[s].name));
        if (!to->name)
            return ulp_out_of_memory(error);
        status = ulp_emulation_held_out(&search->emulation, &held_out[s], &after, error);
        if (status == ULP_OK)
            status = ulp_found_figure_set(&to->after, &after, found->memory, error);
        found->validated_count += status == ULP_OK;
        found->validated_met += status == ULP_OK && after.ratio <= 1;
    }
    return status;
}
