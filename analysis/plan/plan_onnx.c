/* What was found as a model with types. */
#include <math.h>
#include <string.h>

#include "analysis/plan/plan_search.h"
#include "base/error.h"

/* A node that ONNX cannot have in the type is in FLOAT, and the plan with it runs once more. */
static enum ulp_status judge_widened(struct ulp_search *search, struct ulp_found *found,
                                     struct ulp_error *error)
{
    const size_t nodes = search->emulation.plan->node_count;
    bool *kept = ulp_arena_take(search->emulation.memory, nodes + 1, sizeof *kept);
    struct ulp_judgement *judgements =
        ulp_arena_take(search->emulation.memory, search->emulation.given.sample_count + 1,
                       sizeof *judgements);
    if (!kept || !judgements)
        return ulp_out_of_memory(error);
    memcpy(kept, search->kept, nodes * sizeof *kept);
    for (size_t w = 0; w < found->mixed.widened_count; w++)
        kept[found->mixed.widened[w].index] = true;
    return ulp_search_judge_all(search, kept, judgements, &found->mixed_ratio, error);
}

enum ulp_status ulp_search_mixed(struct ulp_search *search, struct ulp_found *found,
                                 struct ulp_error *error)
{
    size_t *nodes = ulp_arena_take(search->emulation.memory, search->emulation.plan->node_count + 1,
                                   sizeof *nodes);
    if (!nodes)
        return ulp_out_of_memory(error);
    struct ulp_keep keep = {.nodes = nodes, .arithmetic = search->options->keep_in};
    for (size_t n = 0; n < search->emulation.plan->node_count; n++)
        if (search->kept[n])
            nodes[keep.node_count++] = n;
    const struct ulp_mixed_options options = {.arithmetic = search->options->arithmetic,
                                              .keeps = {.count = keep.node_count > 0,
                                                        .items = &keep},
                                              .lower_io = search->options->lower_io,
                                              .thread_count = search->options->thread_count,
                                              .progress = search->options->progress};
    enum ulp_status status =
        ulp_mixed_write(search->emulation.plan->model, &options, search->emulation.given.samples,
                        search->emulation.given.sample_count, search->options->mixed_folder,
                        &found->mixed, error);
    if (status != ULP_OK)
        return ulp_fail_at(error, status, "mixed.onnx");
    if (!found->mixed.widened_count)
        found->mixed_ratio = found->after;
    else if (strcmp(search->options->keep_in.storage.name, "fp32") == 0)
        status = judge_widened(search, found, error);
    return status;
}
