/* Finding an allocation: the audit, the layers, the search, the held-out samples. */
#include <math.h>
#include <string.h>

#include "analysis/bits/allocation.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"

static const char *const weight_names[ULP_BITS_WEIGHT_COUNT] = {"layers", "weights", "memory",
                                                                "work"};

const char *ulp_bits_weight_name(size_t weight)
{
    return weight < ULP_BITS_WEIGHT_COUNT ? weight_names[weight] : NULL;
}

/* Shares are measured where errors are well above those of FP32, and no range is left. */
static const char probe_name[] = "e8m10," ULP_BITS_PARTS;

static enum ulp_status audit_layers(struct ulp_bits_search *search, struct ulp_error *error)
{
    struct ulp_plan *plan = search->emulation.plan;
    struct ulp_audit audit = {0};
    struct ulp_keep keep = {0};
    size_t *nodes = ulp_arena_take(search->emulation.memory, plan->node_count + 1, sizeof *nodes);
    if (!nodes)
        return ulp_out_of_memory(error);
    for (size_t n = 0; n < plan->node_count; n++)
        if (!plan->nodes[n].step->folded && !plan->nodes[n].step->constant)
            nodes[keep.node_count++] = n;
    keep.nodes = nodes;
    enum ulp_status status = ulp_arithmetic_find(probe_name, &keep.arithmetic, error);
    const struct ulp_keeps keeps = {.count = keep.node_count > 0, .items = &keep};
    if (status == ULP_OK)
        status = ulp_emulation_keep(&search->emulation, &keeps, error);
    if (status == ULP_OK)
        status = ulp_emulation_audit(&search->emulation, NULL, &audit, error);
    if (status == ULP_OK)
        status = ulp_bits_layers(search, &audit, &keep.arithmetic, error);
    ulp_audit_free(&audit);
    return status;
}

static enum ulp_status take_memory(struct ulp_bits_search *search, struct ulp_error *error)
{
    struct ulp_arena *memory = search->emulation.memory;
    const size_t layers = search->layer_count + 1;
    search->kept =
        ulp_arena_take(memory, search->emulation.plan->node_count + 1, sizeof *search->kept);
    search->best = ulp_arena_take(memory, layers, sizeof *search->best);
    search->without = ulp_arena_take(memory, layers, sizeof *search->without);
    search->fewer = ulp_arena_take(memory, layers, sizeof *search->fewer);
    if (!search->kept || !search->best || !search->without || !search->fewer)
        return ulp_out_of_memory(error);
    for (size_t l = 0; l < layers; l++) {
        search->without[l] = NAN;
        search->fewer[l] = -1;
    }
    return ULP_OK;
}

/* ---- held-out samples ---- */

/* The second lane keeps what was found. */
static enum ulp_status keep_found(struct ulp_bits_search *search, struct ulp_error *error)
{
    const struct ulp_plan *plan = search->emulation.plan;
    struct ulp_arena *memory = search->emulation.memory;
    size_t *nodes = ulp_arena_take(memory, plan->node_count + 1, sizeof *nodes), count = 0;
    struct ulp_keep *keeps = ulp_arena_take(memory, plan->node_count + 1, sizeof *keeps);
    if (!nodes || !keeps)
        return ulp_out_of_memory(error);
    for (size_t n = 0; n < plan->node_count; n++)
        if (search->layer_of[n] >= 0) {
            nodes[count] = n;
            keeps[count] = (struct ulp_keep){
                .nodes = &nodes[count],
                .node_count = 1,
                .arithmetic = search->choices[search->best[search->layer_of[n]]].arithmetic};
            count++;
        }
    const struct ulp_keeps all = {.count = count, .items = keeps};
    return ulp_emulation_keep(&search->emulation, &all, error);
}

static enum ulp_status validate(struct ulp_bits_search *search, const struct ulp_sample *held_out,
                                size_t count, struct ulp_bits *out, struct ulp_error *error)
{
    out->validated = ulp_arena_take(out->memory, count + 1, sizeof *out->validated);
    enum ulp_status status = out->validated ? ULP_OK : ulp_out_of_memory(error);
    if (status == ULP_OK && count)
        status = keep_found(search, error);
    for (size_t s = 0; s < count && status == ULP_OK; s++) {
        struct ulp_judgement judgement;
        status = ulp_emulation_held_out(&search->emulation, &held_out[s], &judgement, error);
        if (status == ULP_OK)
            status = ulp_bits_sample_set(&out->validated[s], held_out[s].name, &judgement,
                                         out->memory, error);
        out->validated_count += status == ULP_OK;
        out->validated_met += status == ULP_OK && judgement.ratio <= 1;
    }
    return status;
}

/* ---- all of it ---- */

static enum ulp_status find(struct ulp_bits_search *search, const struct ulp_emulated *given,
                            const struct ulp_sample *held_out, size_t held_count,
                            struct ulp_bits *out, struct ulp_error *error)
{
    struct ulp_emulated emulated = *given;
    emulated.arithmetic = &search->choices[0].arithmetic;
    enum ulp_status status = ulp_emulation_open(&search->emulation, &emulated, error);
    if (status == ULP_OK)
        status = ulp_emulation_check_inputs(given, held_out, held_count, error);
    if (status == ULP_OK)
        status = audit_layers(search, error);
    if (status == ULP_OK)
        status = take_memory(search, error);
    if (status == ULP_OK) {
        struct ulp_arithmetic *others =
            ulp_arena_take(search->emulation.memory, search->choice_count, sizeof *others);
        for (size_t c = 1; others && c < search->choice_count; c++)
            others[c - 1] = search->choices[c].arithmetic;
        status = others ? ulp_emulation_choices(&search->emulation, others,
                                                search->choice_count - 1, error)
                        : ulp_out_of_memory(error);
    }
    if (status == ULP_OK)
        status = ulp_bits_run(search, out, error);
    if (status == ULP_OK)
        status = ulp_bits_report(search, out, error);
    return status == ULP_OK && search->given ? validate(search, held_out, held_count, out, error)
                                             : status;
}

enum ulp_status ulp_bits_find(const struct ulp_model *model, const struct ulp_bits_options *options,
                              const struct ulp_sample *samples, size_t sample_count,
                              const struct ulp_sample *held_out, size_t held_count,
                              struct ulp_bits *out, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    const double started = ulp_seconds_now();
    struct ulp_bits_search search = {.options = options,
                                     .deadline = options->seconds > 0 ? started + options->seconds
                                                                      : INFINITY};
    const struct ulp_emulated given = {.model = model,
                                       .reference = &options->reference,
                                       .samples = samples,
                                       .sample_count = sample_count,
                                       .tolerances = options->tolerances,
                                       .tolerance_count = options->tolerance_count,
                                       .allow_nonfinite_inputs = options->allow_nonfinite_inputs,
                                       .thread_count = options->thread_count,
                                       .progress = options->progress,
                                       .what = "an allocation of bits"};
    *out = (struct ulp_bits){0};
    enum ulp_status status = ulp_arena_create(&out->memory, ulp_model_budget(model), error);
    if (status == ULP_OK)
        status = ulp_bits_choose(&search, out->memory, error);
    if (status == ULP_OK)
        status = find(&search, &given, held_out, held_count, out, error);
    ulp_emulation_close(&search.emulation);
    out->seconds = ulp_seconds_now() - started;
    if (status != ULP_OK)
        ulp_bits_free(out);
    return status;
}

void ulp_bits_free(struct ulp_bits *bits)
{
    ulp_arena_free(bits->memory);
    *bits = (struct ulp_bits){0};
}
