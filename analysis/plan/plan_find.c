/* Finding a plan: the audit, the search, the held-out samples, and what is reported of them. */
#include "analysis/plan/plan_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/error.h"

/* Nodes that compute something. */
static bool computes(const struct ulp_plan_node *node)
{
    return !node->step->folded && !node->step->constant;
}

static enum ulp_status choose(struct ulp_search *search, struct ulp_error *error)
{
    const struct ulp_find_options *options = search->options;
    const size_t nodes = search->emulation.plan->node_count;
    bool *chosen = ulp_arena_take(search->emulation.memory, nodes + 1, sizeof *chosen);
    enum ulp_status status = chosen ? ULP_OK : ulp_out_of_memory(error);
    for (size_t n = 0; n < nodes; n++)
        search->free[n] = computes(&search->emulation.plan->nodes[n]);
    for (size_t p = 0; p < options->never_count + options->always_count && status == ULP_OK; p++) {
        const bool never = p < options->never_count;
        const char *pattern = never ? options->never[p] : options->always[p - options->never_count];
        memset(chosen, 0, nodes * sizeof *chosen);
        status = ulp_pattern_choose(search->emulation.plan, pattern, chosen,
                                    search->emulation.memory, error);
        for (size_t n = 0; n < nodes && status == ULP_OK; n++)
            if (chosen[n] && computes(&search->emulation.plan->nodes[n])) {
                search->free[n] = false;
                search->always[n] = !never;
            }
    }
    return status;
}

static enum ulp_status take_memory(struct ulp_search *search, struct ulp_error *error)
{
    struct ulp_arena *memory = search->emulation.memory;
    const size_t nodes = search->emulation.plan->node_count + 1,
                 samples = search->emulation.given.sample_count + 1;
    bool **const flags[] = {&search->always, &search->free, &search->required, &search->kept,
                            &search->passes};
    double **const numbers[] = {&search->without, &search->seen};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!(*flags[i] = ulp_arena_take(memory, nodes, sizeof **flags[i])))
            return ulp_out_of_memory(error);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(*numbers[i] = ulp_arena_take(memory, nodes, sizeof **numbers[i])))
            return ulp_out_of_memory(error);
    for (size_t e = 0; e < ULP_ESTIMATE_COUNT; e++) {
        search->own[e] = ulp_arena_take(memory, nodes, sizeof **search->own);
        search->stored[e] = ulp_arena_take(memory, nodes, sizeof **search->stored);
        if (!search->own[e] || !search->stored[e])
            return ulp_out_of_memory(error);
    }
    for (size_t n = 0; n < nodes; n++)
        search->without[n] = search->seen[n] = NAN;
    search->runs_with = ulp_arena_take(memory, nodes, sizeof *search->runs_with);
    search->before = ulp_arena_take(memory, samples, sizeof *search->before);
    search->after = ulp_arena_take(memory, samples, sizeof *search->after);
    return search->runs_with && search->before && search->after ? ULP_OK : ulp_out_of_memory(error);
}

/* ---- the report ---- */

static char *copy_text(struct ulp_found *found, const char *text)
{
    return ulp_arena_text(found->memory, text, strlen(text));
}

static enum ulp_status report_nodes(const struct ulp_search *search, struct ulp_found *found,
                                    struct ulp_error *error)
{
    const struct ulp_plan *plan = search->emulation.plan;
    found->kept = ulp_arena_take(found->memory, plan->node_count + 1, sizeof *found->kept);
    if (!found->kept)
        return ulp_out_of_memory(error);
    for (size_t n = 0; n < plan->node_count; n++) {
        found->node_count += computes(&plan->nodes[n]);
        if (!search->kept[n])
            continue;
        struct ulp_found_node *node = &found->kept[found->kept_count++];
        *node = (struct ulp_found_node){.index = n,
                                        .name = copy_text(found, ulp_plan_node_name(plan, n)),
                                        .op = copy_text(found, ulp_plan_node_op(plan, n)),
                                        .always = search->always[n],
                                        .without = search->always[n] ? NAN : search->without[n]};
        if (!node->name || !node->op)
            return ulp_out_of_memory(error);
    }
    return ULP_OK;
}

/* The set as patterns. */
static enum ulp_status report_entries(const struct ulp_search *search, struct ulp_found *found,
                                      struct ulp_error *error)
{
    struct ulp_entry *entries;
    size_t count = 0;
    enum ulp_status status =
        ulp_emulation_entries(&search->emulation, ulp_search_as_run(search, search->kept),
                              found->memory, &entries, &count, error);
    found->entries = ulp_arena_take(found->memory, count + 1, sizeof *found->entries);
    if (status == ULP_OK && !found->entries)
        status = ulp_out_of_memory(error);
    for (size_t e = 0; e < count && status == ULP_OK; e++)
        found->entries[found->entry_count++] =
            (struct ulp_found_entry){entries[e].pattern, entries[e].kept != 0};
    return status;
}

/* What the plan's lane, which keeps what was found, converts. */
static enum ulp_status report_casts(const struct ulp_search *search, struct ulp_found *found,
                                    struct ulp_error *error)
{
    struct ulp_border *borders;
    enum ulp_status status =
        ulp_plan_borders(search->emulation.plan, 1, &borders, &found->cast_count, error);
    found->casts = ulp_arena_take(found->memory, found->cast_count + 1, sizeof *found->casts);
    if (status == ULP_OK && !found->casts)
        status = ulp_out_of_memory(error);
    for (size_t b = 0; b < found->cast_count && status == ULP_OK; b++) {
        found->casts[b] =
            (struct ulp_found_cast){.value = copy_text(found, borders[b].value),
                                    .up = strcmp(borders[b].to->name, found->keep_in.name) == 0,
                                    .elements = borders[b].elements,
                                    .reader_count = borders[b].reader_count};
        if (!found->casts[b].value)
            status = ulp_out_of_memory(error);
        const int bits =
            borders[b].from->storage.storage_bits + borders[b].to->storage.storage_bits;
        found->cast_elements += borders[b].elements;
        found->cast_bytes += borders[b].elements * (size_t)bits / 8;
    }
    ulp_borders_free(borders);
    return status;
}

static enum ulp_status report_samples(const struct ulp_search *search, struct ulp_found *found,
                                      struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    found->samples = ulp_arena_take(found->memory, search->emulation.given.sample_count + 1,
                                    sizeof *found->samples);
    if (!found->samples)
        return ulp_out_of_memory(error);
    for (size_t s = 0; s < search->emulation.given.sample_count && status == ULP_OK; s++) {
        struct ulp_found_sample *to = &found->samples[found->sample_count++];
        if (!(to->name = copy_text(found, search->emulation.given.samples[s].name)))
            return ulp_out_of_memory(error);
        status = ulp_found_figure_set(&to->before, &search->before[s], found->memory, error);
        if (status == ULP_OK)
            status = ulp_found_figure_set(&to->after, &search->after[s], found->memory, error);
    }
    return status;
}

/* More nodes with a larger error are no point of the frontier. */
static enum ulp_status report_frontier(const struct ulp_search *search, struct ulp_found *found,
                                       struct ulp_error *error)
{
    double least = INFINITY;
    found->frontier = ulp_arena_take(found->memory, search->emulation.plan->node_count + 2,
                                     sizeof *found->frontier);
    if (!found->frontier)
        return ulp_out_of_memory(error);
    for (size_t n = 0; n <= search->emulation.plan->node_count; n++)
        if (search->seen[n] < least || (!found->frontier_count && !isnan(search->seen[n]))) {
            least = search->seen[n];
            found->frontier[found->frontier_count++] = (struct ulp_frontier_point){n, least};
        }
    return ULP_OK;
}

static enum ulp_status report_options(const struct ulp_model *model,
                                      const struct ulp_find_options *options,
                                      struct ulp_found *found, struct ulp_error *error)
{
    *found = (struct ulp_found){.arithmetic = options->arithmetic,
                                .keep_in = options->keep_in,
                                .mixed_ratio = NAN,
                                .reference = options->reference};
    enum ulp_status status = ulp_arena_create(&found->memory, ulp_model_budget(model), error);
    if (status != ULP_OK)
        return status;
    found->model_path = copy_text(found, ulp_model_path(model));
    found->tolerances =
        ulp_arena_take(found->memory, options->tolerance_count + 1, sizeof *found->tolerances);
    if (!found->model_path || !found->tolerances)
        return ulp_out_of_memory(error);
    for (size_t t = 0; t < options->tolerance_count; t++)
        if (!(found->tolerances[found->tolerance_count++] =
                  copy_text(found, options->tolerances[t])))
            return ulp_out_of_memory(error);
    return ULP_OK;
}

static enum ulp_status report(struct ulp_search *search, struct ulp_found *found,
                              struct ulp_error *error)
{
    enum ulp_status status = ulp_search_keep(search, search->kept, error);
    if (status == ULP_OK)
        status = report_nodes(search, found, error);
    if (status == ULP_OK)
        status = report_entries(search, found, error);
    if (status == ULP_OK)
        status = report_casts(search, found, error);
    if (status == ULP_OK)
        status = report_samples(search, found, error);
    if (status == ULP_OK && search->options->frontier)
        status = report_frontier(search, found, error);
    found->runs = search->emulation.runs;
    found->follows = search->emulation.follows;
    found->work = ulp_emulation_work(&search->emulation);
    found->audit_seconds = search->audit_seconds;
    return status;
}

/* ---- all of it ---- */

static enum ulp_status check_options(const struct ulp_find_options *options,
                                     struct ulp_error *error)
{
    if (options->arithmetic.half_as_float || options->arithmetic.schedule.qdq_integer ||
        options->keep_in.half_as_float || options->keep_in.schedule.qdq_integer)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a plan is of one arithmetic for all nodes: not of ort-cpu or qdq=integer");
    if (options->arithmetic.fuse != ULP_FUSE_NONE || options->keep_in.fuse != ULP_FUSE_NONE)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a plan is searched node by node: search without fuse=, then set it in "
                        "the plan.json found, and audit that");
    return ULP_OK;
}

static enum ulp_status find(struct ulp_search *search, const struct ulp_emulated *given,
                            const struct ulp_sample *held_out, size_t held_count,
                            struct ulp_found *out, struct ulp_error *error)
{
    const struct ulp_find_options *options = search->options;
    enum ulp_status status = check_options(options, error);
    if (status == ULP_OK)
        status = ulp_emulation_open(&search->emulation, given, error);
    if (status == ULP_OK)
        status = ulp_emulation_check_inputs(given, held_out, held_count, error);
    if (status == ULP_OK)
        status = take_memory(search, error);
    if (status == ULP_OK)
        status = choose(search, error);
    if (status == ULP_OK)
        status = ulp_search_audit(search, error);
    if (status == ULP_OK)
        status = ulp_emulation_choices(&search->emulation, &options->keep_in, 1, error);
    if (status == ULP_OK)
        status = ulp_search_run(search, out, error);
    if (status == ULP_OK)
        status = report(search, out, error);
    if (status == ULP_OK)
        status = ulp_search_validate(search, held_out, held_count, out, error);
    return status == ULP_OK && options->mixed_folder ? ulp_search_mixed(search, out, error)
                                                     : status;
}

enum ulp_status ulp_plan_find(const struct ulp_model *model, const struct ulp_find_options *options,
                              const struct ulp_sample *samples, size_t sample_count,
                              const struct ulp_sample *held_out, size_t held_count,
                              struct ulp_found *out, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    const double started = ulp_seconds_now();
    struct ulp_search search = {.options = options};
    const struct ulp_emulated given = {.model = model,
                                       .reference = &options->reference,
                                       .arithmetic = &options->arithmetic,
                                       .samples = samples,
                                       .sample_count = sample_count,
                                       .tolerances = options->tolerances,
                                       .tolerance_count = options->tolerance_count,
                                       .allow_nonfinite_inputs = options->allow_nonfinite_inputs,
                                       .thread_count = options->thread_count,
                                       .progress = options->progress,
                                       .what = "a plan"};
    enum ulp_status status = report_options(model, options, out, error);
    if (status == ULP_OK)
        status = find(&search, &given, held_out, held_count, out, error);
    ulp_emulation_close(&search.emulation);
    out->seconds = ulp_seconds_now() - started;
    if (status != ULP_OK)
        ulp_found_free(out);
    return status;
}

void ulp_found_free(struct ulp_found *found)
{
    ulp_mixed_free(&found->mixed);
    ulp_arena_free(found->memory);
    *found = (struct ulp_found){0};
}
