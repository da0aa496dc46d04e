/* What was found, as ulpscope/search.h has it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <ulpscope/doctor.h>

#include "analysis/audit/place.h"
#include "analysis/writing/columns.h"
#include "analysis/measure/judged.h"
#include "analysis/measure/quantile.h"
#include "analysis/search/written/search_text.h"
#include "analysis/search/searcher.h"
#include "base/error.h"
#include "base/text/text.h"
#include "number/function/math.h"

enum ulp_status ulp_search_copy(struct ulp_arena *memory, const char *text, char **out,
                                struct ulp_error *error)
{
    *out = ulp_arena_text(memory, text ? text : "", text ? strlen(text) : 0);
    return ulp_taken(*out, error);
}

enum ulp_status ulp_search_sample_set(struct ulp_search_sample *out, const char *name,
                                      const struct ulp_judgement *judgement,
                                      struct ulp_arena *memory, struct ulp_error *error)
{
    *out = (struct ulp_search_sample){.value = judgement->value, .ratio = judgement->ratio};
    ULP_TRY(ulp_search_copy(memory, name, &out->name, error));
    ULP_TRY(ulp_search_copy(memory, judgement->output, &out->output, error));
    return ulp_search_copy(memory, judgement->metric, &out->metric, error);
}

/* The model's words, and those that say what a search of formats with scales is besides. */
static enum ulp_status report_arguments(const struct ulp_searcher *search, struct ulp_search *out,
                                        struct ulp_error *error)
{
    const struct ulp_search_options *options = search->options;
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    out->arguments = ulp_model_words(out->memory, search->emulation.given.model);
    ULP_TRY(ulp_taken(out->arguments, error));
    ulp_text_add(&text, "%s", "");
    for (size_t p = 0; p < options->never_count + options->always_count && !options->by_node; p++) {
        const bool never = p < options->never_count;
        ulp_text_add(&text, never ? " --never" : " --always");
        ulp_word_add(&text, never ? options->never[p] : options->always[p - options->never_count]);
    }
    if (!options->by_node && options->cost && strcmp(options->cost, "macs") != 0)
        ulp_option_add(&text, " --cost", options->cost);
    return text.failed ? ulp_out_of_memory(error)
                       : ulp_search_copy(out->memory, text.data, &out->asked, error);
}

enum ulp_status ulp_search_report_options(const struct ulp_searcher *search, struct ulp_search *out,
                                          struct ulp_error *error)
{
    const struct ulp_search_options *options = search->options;
    out->by_node = options->by_node;
    out->scored = options->scorer;
    out->budget =
        !options->by_node && options->budget > 0 ? search->limit / search->total_weight : 0;
    for (size_t s = 0; s < search->emulation.given.sample_count; s++)
        out->drawn |= search->emulation.given.samples[s].inputs->drawn;
    ULP_TAKE(out->tolerances, out->memory, options->tolerance_count + 1, error);
    ULP_TRY(report_arguments(search, out, error));
    if (!options->by_node && options->target_count)
        ULP_TRY(ulp_search_copy(out->memory, options->targets[0], &out->target, error));
    ULP_TRY(ulp_search_copy(out->memory, ulp_model_path(search->emulation.given.model),
                            &out->model_path, error));
    ULP_TRY(ulp_search_copy(out->memory, options->reference.name, &out->reference, error));
    ULP_TRY(ulp_search_copy(out->memory, search->choices[search->base].arithmetic.name, &out->base,
                            error));
    ULP_TRY(ulp_search_copy(out->memory, ulp_search_cost_used(search), &out->cost, error));
    for (size_t t = 0; t < options->tolerance_count; t++)
        ULP_TRY(ulp_search_copy(out->memory, options->tolerances[t],
                                &out->tolerances[out->tolerance_count++], error));
    return ULP_OK;
}

/* Is choice a reported before b: of fewer bits? The two of a plan
 * stay in their order, the narrower one first, whatever they store in. */
static bool is_before(const struct ulp_searcher *search, size_t a, size_t b)
{
    const struct ulp_search_choice *x = &search->choices[a], *y = &search->choices[b];
    return search->options->by_node ? a > b : x->bits != y->bits ? x->bits < y->bits : a < b;
}

/* The ranges of static scales, with which plan.json is whole. */
static enum ulp_status report_ranges(const struct ulp_searcher *search, struct ulp_search *out,
                                     struct ulp_error *error)
{
    const struct ulp_factor_ranges *ranges = NULL;
    for (size_t c = 0; c < search->choice_count; c++)
        ranges =
            search->choices[c].arithmetic.ranges ? search->choices[c].arithmetic.ranges : ranges;
    const size_t count = ranges ? ranges->count : 0;
    ULP_TAKE(out->ranges, out->memory, count + 1, error);
    for (size_t r = 0; r < count; r++) {
        struct ulp_search_range *range = &out->ranges[out->range_count];
        if (ranges->items[r].elements) /* of a weight, which only quantised.onnx has */
            continue;
        out->range_count++;
        range->largest = (double)ranges->items[r].largest;
        range->least = (double)ranges->items[r].least;
        ULP_TRY(ulp_search_copy(out->memory, ranges->items[r].node, &range->node, error));
        ULP_TRY(ulp_search_copy(out->memory, ranges->items[r].factor, &range->factor, error));
        if (ranges->items[r].value)
            ULP_TRY(ulp_search_copy(out->memory, ranges->items[r].value, &range->value, error));
    }
    return ULP_OK;
}

/* Index into out->formats of each choice that is used by a node, a uniform or a move. */
static enum ulp_status report_formats(const struct ulp_searcher *search, struct ulp_search *out,
                                      size_t *place, struct ulp_error *error)
{
    ULP_TAKE_ARRAY(bool, used, search->emulation.memory, search->choice_count, error);
    ULP_TAKE(out->formats, out->memory, search->choice_count, error);
    for (size_t l = 0; l < search->layer_count && search->given; l++)
        if (search->fewer[l] >= 0)
            used[search->fewer[l]] = true;
    for (size_t n = 0; n < search->emulation.program->node_count && search->given; n++)
        used[ulp_search_choice_of(search, search->best, n)] = true;
    for (size_t c = 0; c < search->choice_count; c++)
        used[c] |= search->options->by_node;
    for (size_t u = 0; u < out->uniform_count; u++)
        used[out->uniforms[u].format] = true;
    for (size_t first = 0; first < search->choice_count;) {
        for (size_t c = first = 0; c < search->choice_count; c++)
            if (used[c] && (!used[first] || is_before(search, c, first)))
                first = c;
        if (!used[first])
            break;
        const struct ulp_search_choice *choice = &search->choices[first];
        struct ulp_search_format *format = &out->formats[out->format_count];
        used[first] = false;
        place[first] = out->format_count++;
        *format = (struct ulp_search_format){.bits = choice->bits};
        ULP_TRY(ulp_search_copy(out->memory, choice->name, &format->name, error));
        ULP_TRY(ulp_search_copy(out->memory, choice->arithmetic.name, &format->arithmetic, error));
    }
    for (size_t u = 0; u < out->uniform_count; u++)
        out->uniforms[u].format = place[out->uniforms[u].format];
    return ULP_OK;
}

/* Of a plan's node, or of a product with weights, which the model itself has no quantisers for. */
static enum ulp_status report_module(const struct ulp_searcher *search, size_t n,
                                     struct ulp_arena *memory, char **out, struct ulp_error *error)
{
    const bool by_node = search->options->by_node;
    const struct ulp_step *step = search->emulation.program->nodes[n].step;
    const struct ulp_block *block = search->emulation.program->nodes[n].block;
    const struct ulp_program_slot *weights =
        step->input_count > 1 && step->inputs[1] >= 0 ? &block->slots[step->inputs[1]] : NULL;
    const bool constant = weights && weights->constant;
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    const bool known = ulp_search_module(&text, step->bound.node->scopes, step->name,
                                         constant ? weights->name : "");
    if (text.failed)
        return ulp_out_of_memory(error);
    return known && (by_node || (constant && text.length))
               ? ulp_search_copy(memory, text.length ? text.data : "", out, error)
               : ULP_OK;
}

static enum ulp_status report_layer(const struct ulp_searcher *search, size_t l,
                                    const size_t *place, double power, struct ulp_search *out,
                                    struct ulp_error *error)
{
    const struct ulp_searched_layer *layer = &search->layers[l];
    const struct ulp_program *program = search->emulation.program;
    const ulp_pick choice = search->best[l];
    struct ulp_search_layer *reported = &out->layers[out->layer_count++];
    *reported =
        (struct ulp_search_layer){.index = layer->first,
                                  .weight = layer->weight,
                                  .cost = layer->cost[choice],
                                  .format = place[choice],
                                  .bits = layer->bits[choice],
                                  .share =
                                      power != 0 ? ulp_search_power(search, l, choice) / power : 0,
                                  .predicted = NAN,
                                  .without = search->without[l],
                                  .fewer = -1};
    if (search->fewer[l] >= 0) {
        const double more =
            layer->prior * (layer->relative[search->fewer[l]] - layer->relative[choice]);
        reported->predicted = sqrt(ulp_math_max(0, search->best_ratio * search->best_ratio + more));
        reported->fewer = (ptrdiff_t)place[search->fewer[l]];
    }
    reported->predicted = search->options->by_node ? NAN : reported->predicted;
    out->formats[reported->format].layer_count++;
    out->tried += search->fewer[l] >= 0;
    ULP_TRY(ulp_search_copy(out->memory, ulp_program_node_name(program, layer->first),
                            &reported->name, error));
    if (!search->options->by_node)
        ULP_TRY(report_module(search, layer->first, out->memory, &reported->module, error));
    return ulp_search_copy(out->memory, ulp_program_node_op(program, layer->first), &reported->op,
                           error);
}

static void report_nearly(const struct ulp_searcher *search, struct ulp_search *out)
{
    if (out->kept_count < out->node_count || search->nearly.kept >= out->node_count)
        return; /* fewer held */
    out->nearly_kept = search->nearly.kept;
    out->nearly_held = search->nearly.held;
    out->nearly_drawn = search->nearly.drawn;
}

static enum ulp_status report_layers(const struct ulp_searcher *search, const size_t *place,
                                     struct ulp_search *out, struct ulp_error *error)
{
    const double none = (double)search->layer_count * ULP_SEARCH_NO_POWER * (1 + 0x1p-30);
    const bool known = search->options->by_node || search->measured;
    double power = known ? 0 : NAN, prior = 0;
    ULP_TAKE(out->layers, out->memory, search->layer_count + 1, error);
    for (size_t l = 0; l < search->layer_count; l++) {
        power += ulp_search_power(search, l, search->best[l]);
        prior += search->layers[l].prior * search->layers[l].relative[search->best[l]];
    }
    for (size_t l = 0; l < search->layer_count; l++)
        ULP_TRY(report_layer(search, l, place, power <= none ? 0 : power, out, error));
    out->total_cost = search->best_cost;
    out->total_weight = search->total_weight;
    out->minimal = search->minimal;
    if (!search->layer_count)
        return ULP_OK;
    out->bits = ulp_search_mean_bits(search, search->best);
    if (search->options->by_node || !known)
        return ULP_OK; /* no model of it was made, or the time was over before */
    out->predicted = prior > none ? sqrt(prior) : 0;
    return ULP_OK;
}

/* ---- nodes ---- */

/* The nodes that have a format: of a plan all that compute, else not those of integers alone. */
static enum ulp_status report_nodes(const struct ulp_searcher *search, const size_t *place,
                                    struct ulp_search *out, struct ulp_error *error)
{
    const struct ulp_program *program = search->emulation.program;
    ULP_TAKE(out->nodes, out->memory, program->node_count + 1, error);
    for (size_t n = 0; n < program->node_count; n++) {
        if (search->layer_of[n] < 0 && search->fixed[n] < 0)
            continue;
        struct ulp_search_node *node = &out->nodes[out->node_count++];
        if (!search->given)
            continue;
        const ptrdiff_t layer = search->layer_of[n];
        *node =
            (struct ulp_search_node){.index = n,
                                     .format = place[ulp_search_choice_of(search, search->best, n)],
                                     .always = search->fixed[n] == 0,
                                     .never = search->fixed[n] > 0,
                                     .without = layer < 0 ? NAN : search->without[layer]};
        out->formats[node->format].node_count++;
        ULP_TRY(
            ulp_search_copy(out->memory, ulp_program_node_name(program, n), &node->name, error));
        ULP_TRY(ulp_search_copy(out->memory, ulp_program_node_op(program, n), &node->op, error));
        if (search->options->by_node)
            ULP_TRY(report_module(search, n, out->memory, &node->module, error));
    }
    while (out->narrow + 1 < out->format_count && !out->formats[out->narrow].node_count &&
           !search->options->by_node)
        out->narrow++;
    ULP_TAKE(out->kept, out->memory, out->node_count + 1, error);
    for (size_t n = 0; n < out->node_count && search->given; n++)
        if (out->nodes[n].format != out->narrow)
            out->kept[out->kept_count++] = out->nodes[n];
    return ULP_OK;
}

static const char *name_of(const struct ulp_searcher *search, uint16_t kept)
{
    const size_t choice = kept == 0 ? search->base : kept - (size_t)(kept <= search->base);
    return search->choices[choice].arithmetic.name;
}

/* The allocation as patterns. */
static enum ulp_status report_entries(struct ulp_searcher *search, struct ulp_search *out,
                                      struct ulp_error *error)
{
    struct ulp_entry *entries;
    size_t count = 0;
    ULP_TRY(ulp_emulation_entries(&search->emulation, ulp_search_as_run(search, search->best),
                                  out->memory, &entries, &count, error));
    ULP_TAKE(out->entries, out->memory, count + 1, error);
    for (size_t e = 0; e < count; e++) {
        char *name;
        ULP_TRY(ulp_search_copy(out->memory, name_of(search, entries[e].kept), &name, error));
        out->entries[out->entry_count++] = (struct ulp_search_entry){entries[e].pattern, name};
    }
    return ULP_OK;
}

/* ---- inputs ---- */

/* 'x' between the dimensions; of a scalar "". */
static enum ulp_status copy_shape(const int64_t *dims, int rank, struct ulp_arena *memory,
                                  char **out, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    for (int d = 0; d < rank; d++)
        ulp_text_add(&text, "%s%" PRId64, d ? "x" : "", dims[d]);
    return text.failed ? ulp_out_of_memory(error) : ulp_search_copy(memory, text.data, out, error);
}

static enum ulp_status report_input(const struct ulp_emulated *given, const char *name,
                                    struct ulp_search_input *out, struct ulp_arena *memory,
                                    struct ulp_error *error)
{
    const struct ulp_tensor *first = ulp_tensor_set_find(given->samples[0].inputs, name);
    int64_t least[ULP_RANK_MAX], largest[ULP_RANK_MAX];
    memcpy(least, first->dims, sizeof least);
    memcpy(largest, first->dims, sizeof largest);
    for (size_t s = 1; s < given->sample_count; s++) {
        const struct ulp_tensor *tensor = ulp_tensor_set_find(given->samples[s].inputs, name);
        for (int d = 0; tensor && d < tensor->rank; d++) {
            least[d] = tensor->dims[d] < least[d] ? tensor->dims[d] : least[d];
            largest[d] = tensor->dims[d] > largest[d] ? tensor->dims[d] : largest[d];
        }
    }
    ULP_TRY(ulp_search_copy(memory, name, &out->name, error));
    ULP_TRY(copy_shape(least, first->rank, memory, &out->least, error));
    ULP_TRY(copy_shape(first->dims, first->rank, memory, &out->first, error));
    return copy_shape(largest, first->rank, memory, &out->largest, error);
}

static enum ulp_status report_inputs(const struct ulp_searcher *search, struct ulp_search *out,
                                     struct ulp_error *error)
{
    const struct ulp_emulated *given = &search->emulation.given;
    const size_t count = ulp_model_input_count(given->model);
    ULP_TAKE(out->inputs, out->memory, count + 1, error);
    for (size_t i = 0; i < count; i++) {
        const struct ulp_value_info info = ulp_model_input(given->model, i);
        bool is_free = info.rank < 0;
        for (int d = 0; d < info.rank; d++)
            is_free |= info.dims[d] < 0;
        if (is_free && ulp_tensor_set_find(given->samples[0].inputs, info.name))
            ULP_TRY(report_input(given, info.name, &out->inputs[out->input_count++], out->memory,
                                 error));
    }
    return ULP_OK;
}

/* ---- draws and the price ---- */

/* With nothing kept, in the kernels that follow from it. */
static enum ulp_status judge_fused(struct ulp_searcher *search, const struct ulp_attempt *lane,
                                   struct ulp_arena *memory, struct ulp_search_sample *out,
                                   struct ulp_error *error)
{
    const struct ulp_emulated *given = &search->emulation.given;
    struct ulp_judgement worst = {0}, judged;
    size_t of = 0;
    for (size_t s = 0; s < given->sample_count; s++) {
        ULP_TRY(ulp_emulation_beside(&search->emulation, s, lane, 1, &judged, error));
        if (s && !(judged.ratio > worst.ratio))
            continue;
        worst = judged;
        of = s;
    }
    return ulp_search_sample_set(out, given->samples[of].name, &worst, memory, error);
}

static enum ulp_status count_fused(struct ulp_searcher *search, size_t t, struct ulp_arena *memory,
                                   struct ulp_search_target *out, struct ulp_error *error)
{
    struct ulp_attempt lane = {.arithmetic = search->targets[t]};
    if (lane.arithmetic.fuse == ULP_FUSE_NONE)
        return ULP_OK;
    out->kept_apart = !lane.arithmetic.inner_casts;
    ULP_TRY(judge_fused(search, &lane, memory, &out->fused_sample, error));
    ULP_TRY(ulp_emulation_count_fused(&search->emulation, &lane, &out->fused_before, error));
    ULP_TRY(ulp_search_keeps(search, search->best, &lane.keeps, error));
    return ulp_emulation_count_fused(&search->emulation, &lane, &out->fused_count, error);
}

static enum ulp_status report_targets(struct ulp_searcher *search, struct ulp_search *out,
                                      struct ulp_error *error)
{
    const struct ulp_search_options *options = search->options;
    ULP_TAKE(out->targets, out->memory, search->target_count + 1, error);
    for (size_t t = 0; search->verified && t < search->target_count; t++) {
        const struct ulp_search_verified *verified = &search->verified[t];
        struct ulp_search_target *target = &out->targets[out->target_count];
        ULP_SCOPED(ulp_scoped_free) char *rests_on = NULL;
        if (!verified->count)
            return ULP_OK; /* the time was over */
        ULP_TRY(ulp_judged_rests(search->emulation.given.model, search->target_names[t],
                                 options->target_count ? options->targets[t] : NULL, &rests_on,
                                 error));
        ulp_numbers_sort(verified->ratios, verified->count);
        *target = (struct ulp_search_target){.draw_count = verified->count,
                                             .held_count = verified->held,
                                             .value = verified->worst.value,
                                             .ratio = verified->worst.ratio,
                                             .median = verified->ratios[(verified->count - 1) / 2],
                                             .own = verified->own,
                                             .freedom = verified->freedom};
        ULP_TRY(count_fused(search, t, out->memory, target, error));
        ULP_TRY(ulp_search_copy(out->memory, search->target_names[t], &target->name, error));
        if (rests_on)
            ULP_TRY(ulp_search_copy(out->memory, rests_on, &target->rests_on, error));
        ULP_TRY(ulp_search_copy(out->memory, verified->worst.output, &target->output, error));
        ULP_TRY(ulp_search_copy(out->memory, verified->worst.metric, &target->metric, error));
        out->target_count++;
    }
    return ULP_OK;
}

static void report_price(const struct ulp_searcher *search, struct ulp_search *out)
{
    const struct ulp_program *program = search->emulation.program;
    for (size_t n = 0; n < out->node_count; n++) {
        double macs, bytes;
        ulp_search_price(search, &program->nodes[out->nodes[n].index], &macs, &bytes);
        out->macs += macs;
        out->bytes += bytes;
        if (out->nodes[n].format != out->narrow) {
            out->kept_macs += macs;
            out->kept_bytes += bytes;
        }
    }
}

/* ---- samples ---- */

static enum ulp_status report_judgements(const struct ulp_searcher *search,
                                         const struct ulp_judgement *judgements,
                                         struct ulp_search_sample **list, size_t *count,
                                         struct ulp_search *out, struct ulp_error *error)
{
    const struct ulp_emulated *given = &search->emulation.given;
    ULP_TAKE(*list, out->memory, given->sample_count + 1, error);
    for (; *count < given->sample_count; ++*count)
        ULP_TRY(ulp_search_sample_set(&(*list)[*count], given->samples[*count].name,
                                      &judgements[*count], out->memory, error));
    return ULP_OK;
}

/* The output that is worst by what it is for. */
static enum ulp_status report_verdict(const struct ulp_searcher *search, struct ulp_search *out,
                                      struct ulp_error *error)
{
    const struct ulp_judgement *worst_of_all = search->judgements;
    for (size_t s = 1; s < search->emulation.given.sample_count; s++)
        if (search->judgements[s].ratio > worst_of_all->ratio)
            worst_of_all = &search->judgements[s];
    const struct ulp_model *model = search->emulation.given.model;
    const size_t count = ulp_model_output_count(model);
    const size_t worst = ulp_judged_worst(search->emulation.judged, count);
    struct ulp_judged *judged = &search->emulation.judged[worst];
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0}, why = {0};
    if (worst == count)
        return ULP_OK;
    out->grade = ulp_emulation_grade(&search->emulation, worst_of_all);
    if (ulp_judged_grade(judged, &why) != out->grade) { /* by what no rule is of */
        ulp_text_free(&why);
        ulp_text_add(&why, "it is not finite");
    }
    ULP_TRY(ulp_taken(!why.failed, error));
    judged->text = why.data;
    ulp_judged_say(&text, out->grade, judged,
                   count > 1 ? ulp_model_output(model, worst).name : NULL);
    judged->text = NULL;
    ULP_TRY(ulp_taken(!text.failed, error));
    return ulp_search_copy(out->memory, text.data, &out->grade_text, error);
}

/* Each sample's figures are of a run of its own. */
static enum ulp_status report_samples(struct ulp_searcher *search, struct ulp_search *out,
                                      struct ulp_error *error)
{
    struct ulp_judgement *judgements = search->judgements;
    ULP_TAKE(search->emulation.judged, search->emulation.memory,
             ulp_model_output_count(search->emulation.given.model) + 1, error);
    enum ulp_status status =
        ulp_emulation_judge_all(&search->emulation, ulp_search_as_run(search, search->best),
                                judgements, &out->ratio, error); /* of drawn ones, too */
    ULP_THEN(status, report_verdict(search, out, error));
    search->emulation.judged = NULL;
    out->ratio = 0;
    bool loses = false;
    for (size_t s = 0; s < search->emulation.given.sample_count && status == ULP_OK; s++) {
        out->ratio = ulp_math_max(out->ratio, judgements[s].ratio);
        loses |= judgements[s].loses;
    }
    ULP_THEN(status,
             report_judgements(search, judgements, &out->samples, &out->sample_count, out, error));
    if (status == ULP_OK && !isnan(search->before))
        status = report_judgements(search, search->judged, &out->before_samples, &out->before_count,
                                   out, error);
    out->met = (search->options->tolerance_count ? out->ratio <= 1 : !loses) &&
               (search->holds || !search->verified);
    out->minimal &= out->met;
    return status;
}

enum ulp_status ulp_search_report(struct ulp_searcher *search, struct ulp_search *out,
                                  struct ulp_error *error)
{
    size_t *place = ulp_arena_take(search->emulation.memory, search->choice_count, sizeof *place);
    out->before = search->before;
    out->full = search->full;
    out->ratio = out->predicted = out->bits = NAN;
    out->follows = search->emulation.follows;
    out->timed_out = search->over;
    out->confidence = search->options->confidence;
    ULP_TRY(place ? ulp_search_report_options(search, out, error) : ulp_out_of_memory(error));
    ULP_TRY(report_formats(search, out, place, error));
    ULP_TRY(report_ranges(search, out, error));
    if (search->given)
        ULP_TRY(report_layers(search, place, out, error));
    ULP_TRY(report_nodes(search, place, out, error));
    report_nearly(search, out);
    ULP_TRY(ulp_search_report_left(search, out, error));
    ULP_TRY(ulp_places_make(search->emulation.program, out->memory, &out->places, error));
    out->place_count = search->emulation.program->node_count;
    if (search->given)
        ULP_TRY(report_entries(search, out, error));
    if (search->given)
        ULP_TRY(ulp_search_report_casts(search, place, out, error));
    ULP_TRY(report_inputs(search, out, error));
    if (search->given && out->by_node) {
        report_price(search, out);
        ULP_TRY(report_targets(search, out, error));
    }
    ULP_TRY(ulp_search_report_tf32(search, out, error));
    if (search->given)
        ULP_TRY(report_samples(search, out, error));
    out->runs = search->emulation.runs;
    out->work = ulp_emulation_work(&search->emulation);
    out->audit_seconds = search->audit_seconds;
    return ULP_OK;
}
