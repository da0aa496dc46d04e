/* What was found, as ulpscope/bits.h has it. */
#include <math.h>
#include <string.h>

#include "analysis/bits/allocation.h"
#include "base/error.h"
#include "number/function/math.h"

static enum ulp_status copy_text(struct ulp_arena *memory, const char *text, char **out,
                                 struct ulp_error *error)
{
    *out = ulp_arena_text(memory, text ? text : "", text ? strlen(text) : 0);
    return *out ? ULP_OK : ulp_out_of_memory(error);
}

enum ulp_status ulp_bits_sample_set(struct ulp_bits_sample *out, const char *name,
                                    const struct ulp_judgement *judgement, struct ulp_arena *memory,
                                    struct ulp_error *error)
{
    *out = (struct ulp_bits_sample){.value = judgement->value, .ratio = judgement->ratio};
    enum ulp_status status = copy_text(memory, name, &out->name, error);
    if (status == ULP_OK)
        status = copy_text(memory, judgement->output, &out->output, error);
    return status == ULP_OK ? copy_text(memory, judgement->metric, &out->metric, error) : status;
}

static enum ulp_status report_options(const struct ulp_bits_search *search, struct ulp_bits *out,
                                      struct ulp_error *error)
{
    const struct ulp_bits_options *options = search->options;
    out->weight = options->weight;
    out->headroom = options->headroom;
    out->tolerances =
        ulp_arena_take(out->memory, options->tolerance_count + 1, sizeof *out->tolerances);
    if (!out->tolerances)
        return ulp_out_of_memory(error);
    enum ulp_status status = copy_text(out->memory, ulp_model_path(search->emulation.given.model),
                                       &out->model_path, error);
    if (status == ULP_OK)
        status = copy_text(out->memory, options->reference.name, &out->reference, error);
    if (status == ULP_OK)
        status = copy_text(out->memory, search->choices[0].arithmetic.name, &out->base, error);
    for (size_t t = 0; t < options->tolerance_count && status == ULP_OK; t++)
        status = copy_text(out->memory, options->tolerances[t],
                           &out->tolerances[out->tolerance_count++], error);
    return status;
}

/* Index into out->formats of each choice that is used by a layer, a uniform or a move. */
static enum ulp_status report_formats(const struct ulp_bits_search *search, struct ulp_bits *out,
                                      size_t *place, struct ulp_error *error)
{
    bool *used = ulp_arena_take(search->emulation.memory, search->choice_count, sizeof *used);
    out->formats = ulp_arena_take(out->memory, search->choice_count, sizeof *out->formats);
    if (!used || !out->formats)
        return ulp_out_of_memory(error);
    for (size_t l = 0; l < search->layer_count && search->given; l++) {
        used[search->best[l]] = true;
        if (search->fewer[l] >= 0)
            used[search->fewer[l]] = true;
    }
    for (size_t u = 0; u < out->uniform_count; u++)
        used[out->uniforms[u].format] = true;
    enum ulp_status status = ULP_OK;
    for (int bits = 1; bits <= 64 && status == ULP_OK; bits++)
        for (size_t c = 0; c < search->choice_count && status == ULP_OK; c++) {
            const struct ulp_bits_choice *choice = &search->choices[c];
            if (!used[c] || 1 + choice->exponent + choice->mantissa != bits)
                continue;
            place[c] = out->format_count;
            struct ulp_bits_format *format = &out->formats[out->format_count++];
            *format = (struct ulp_bits_format){.exponent = choice->exponent,
                                               .mantissa = choice->mantissa,
                                               .bits = bits};
            status = copy_text(out->memory, choice->name, &format->name, error);
            if (status == ULP_OK)
                status =
                    copy_text(out->memory, choice->arithmetic.name, &format->arithmetic, error);
        }
    for (size_t u = 0; u < out->uniform_count; u++)
        out->uniforms[u].format = place[out->uniforms[u].format];
    return status;
}

/* Of eXmY; of a list the bits of the narrowest that has enough. */
static int find_needed(const struct ulp_bits_search *search, const struct ulp_bits_room *room)
{
    int least = 0;
    for (size_t c = 0; c < search->choice_count; c++) {
        const bool holds = room->largest * ulp_math_exp2(search->options->headroom) <=
                           search->choices[c].arithmetic.storage.max_finite;
        if (holds && (!least || search->choices[c].exponent < least))
            least = search->choices[c].exponent;
    }
    return least;
}

static enum ulp_status report_layer(const struct ulp_bits_search *search, size_t l,
                                    const size_t *place, double power, struct ulp_bits *out,
                                    struct ulp_error *error)
{
    const struct ulp_bits_room *room = &search->layers[l];
    const struct ulp_plan *plan = search->emulation.plan;
    const ulp_bits_of choice = search->best[l];
    struct ulp_bits_layer *layer = &out->layers[out->layer_count++];
    *layer =
        (struct ulp_bits_layer){.index = room->first,
                                .node_count = room->node_count,
                                .weight = room->weight,
                                .format = place[choice],
                                .bits = room->bits[choice],
                                .largest = room->largest,
                                .smallest = room->smallest,
                                .exponent_needed = find_needed(search, room),
                                .share = power > 0 ? ulp_bits_power(search, l, choice) / power : 0,
                                .predicted = NAN,
                                .without = search->without[l],
                                .fewer = -1};
    if (search->fewer[l] >= 0) {
        const double more =
            room->prior * (room->relative[search->fewer[l]] - room->relative[choice]);
        layer->predicted = sqrt(ulp_math_max(0, search->best_ratio * search->best_ratio + more));
        layer->fewer = (ptrdiff_t)place[search->fewer[l]];
    }
    out->formats[layer->format].layer_count++;
    out->exponent += room->weight * search->choices[choice].exponent / search->total_weight;
    out->tried += search->fewer[l] >= 0;
    enum ulp_status status =
        copy_text(out->memory, ulp_plan_node_name(plan, room->first), &layer->name, error);
    return status == ULP_OK
               ? copy_text(out->memory, ulp_plan_node_op(plan, room->first), &layer->op, error)
               : status;
}

static enum ulp_status report_layers(const struct ulp_bits_search *search, const size_t *place,
                                     struct ulp_bits *out, struct ulp_error *error)
{
    double power = 0, prior = 0;
    out->layers = ulp_arena_take(out->memory, search->layer_count + 1, sizeof *out->layers);
    if (!out->layers)
        return ulp_out_of_memory(error);
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < search->layer_count; l++) {
        power += ulp_bits_power(search, l, search->best[l]);
        prior += search->layers[l].prior * search->layers[l].relative[search->best[l]];
    }
    for (size_t l = 0; l < search->layer_count && status == ULP_OK; l++)
        status = report_layer(search, l, place, power, out, error);
    out->predicted = sqrt(prior);
    out->total_bits = search->best_cost;
    out->total_weight = search->total_weight;
    if (!search->layer_count)
        return status;
    out->bits = search->best_cost / search->total_weight;
    out->mantissa = ulp_bits_mean_mantissa(search, search->best);
    out->relaxed = ulp_bits_relaxed(search);
    return status;
}

/* ---- the allocation, once more ---- */

static enum ulp_status report_entries(struct ulp_bits_search *search, struct ulp_bits *out,
                                      struct ulp_error *error)
{
    struct ulp_entry *entries;
    size_t count = 0;
    for (size_t n = 0; n < search->emulation.plan->node_count; n++)
        search->kept[n] = search->layer_of[n] < 0 ? 0 : search->best[search->layer_of[n]];
    enum ulp_status status = ulp_emulation_entries(&search->emulation, search->kept, out->memory,
                                                   &entries, &count, error);
    out->entries = ulp_arena_take(out->memory, count + 1, sizeof *out->entries);
    if (status == ULP_OK && !out->entries)
        status = ulp_out_of_memory(error);
    for (size_t e = 0; e < count && status == ULP_OK; e++) {
        char *name;
        status =
            copy_text(out->memory, search->choices[entries[e].kept].arithmetic.name, &name, error);
        out->entries[out->entry_count++] = (struct ulp_bits_entry){entries[e].pattern, name};
    }
    return status;
}

/* Each sample's figures are of a run of its own. */
static enum ulp_status report_samples(struct ulp_bits_search *search, struct ulp_bits *out,
                                      struct ulp_error *error)
{
    const struct ulp_emulated *given = &search->emulation.given;
    struct ulp_judgement *judgements =
        ulp_arena_take(search->emulation.memory, given->sample_count + 1, sizeof *judgements);
    out->samples = ulp_arena_take(out->memory, given->sample_count + 1, sizeof *out->samples);
    if (!judgements || !out->samples)
        return ulp_out_of_memory(error);
    enum ulp_status status =
        ulp_emulation_judge_all(&search->emulation, search->kept, judgements, &out->ratio, error);
    for (size_t s = 0; s < given->sample_count && status == ULP_OK; s++) {
        status = ulp_bits_sample_set(&out->samples[s], given->samples[s].name, &judgements[s],
                                     out->memory, error);
        out->sample_count += status == ULP_OK;
    }
    out->met = out->ratio <= 1;
    return status;
}

enum ulp_status ulp_bits_report(struct ulp_bits_search *search, struct ulp_bits *out,
                                struct ulp_error *error)
{
    size_t *place = ulp_arena_take(search->emulation.memory, search->choice_count, sizeof *place);
    out->full = search->full;
    out->ratio = out->predicted = out->bits = out->mantissa = out->relaxed = NAN;
    out->follows = search->emulation.follows;
    out->timed_out = search->over;
    out->minimal = search->given && search->minimal;
    enum ulp_status status = place ? report_options(search, out, error) : ulp_out_of_memory(error);
    if (status == ULP_OK)
        status = report_formats(search, out, place, error);
    if (status == ULP_OK && search->given)
        status = report_layers(search, place, out, error);
    if (status == ULP_OK && search->given)
        status = report_entries(search, out, error);
    if (status == ULP_OK && search->given)
        status = report_samples(search, out, error);
    out->runs = search->emulation.runs;
    return status;
}
