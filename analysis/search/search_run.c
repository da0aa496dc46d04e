/* Searching: the audit, the layers, the course, the held-out samples. */
#include <math.h>
#include <string.h>

#include "analysis/lint/refusal.h"
#include "analysis/mixed/mixed.h"
#include "analysis/search/search_tf32.h"
#include "analysis/search/searcher.h"
#include "base/error.h"
#include "base/options.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"

#define ULP_SEARCH_EMPTY \
    ((struct ulp_search){.mixed_ratio = NAN, .unit_ratio = NAN, .declared_ratio = NAN})

static enum ulp_status take_memory(struct ulp_searcher *search, struct ulp_error *error)
{
    struct ulp_arena *memory = search->emulation.memory;
    const size_t layers = search->layer_count + 1;
    ULP_TAKE(search->kept, memory, search->emulation.program->node_count + 1, error);
    ULP_TAKE(search->best, memory, layers, error);
    ULP_TAKE(search->without, memory, layers, error);
    ULP_TAKE(search->fewer, memory, layers, error);
    ULP_TAKE(search->judged, memory, search->emulation.given.sample_count + 1, error);
    ULP_TAKE(search->judgements, memory, search->emulation.given.sample_count + 1, error);
    search->before = NAN;
    for (size_t l = 0; l < layers; l++) {
        search->without[l] = NAN;
        search->fewer[l] = -1;
    }
    return ULP_OK;
}

/* The arithmetics that runs may keep nodes in. */
static enum ulp_status offer_choices(struct ulp_searcher *search, struct ulp_error *error)
{
    struct ulp_arithmetic *others =
        ulp_arena_take(search->emulation.memory, search->choice_count, sizeof *others);
    size_t count = 0;
    for (size_t c = 0; others && c < search->choice_count; c++)
        if (c != search->base)
            others[count++] = search->choices[c].arithmetic;
    return others ? ulp_emulation_choices(&search->emulation, others, count, error)
                  : ulp_out_of_memory(error);
}

/* As any user of the allocation would run them: the second lane has what was found. */
static enum ulp_status validate(struct ulp_searcher *search, const struct ulp_sample *held_out,
                                size_t count, struct ulp_search *out, struct ulp_error *error)
{
    ULP_TAKE(out->validated, out->memory, count + 1, error);
    if (count)
        ULP_TRY(ulp_search_keep(search, search->best, error));
    for (size_t s = 0; s < count; s++) {
        struct ulp_judgement judgement;
        ULP_TRY(ulp_emulation_held_out(&search->emulation, &held_out[s], &judgement, error));
        ULP_TRY(ulp_search_sample_set(&out->validated[s], held_out[s].name, &judgement, out->memory,
                                      error));
        out->validated_count++;
        out->validated_met +=
            search->options->tolerance_count ? judgement.ratio <= 1 : !judgement.loses;
    }
    return ULP_OK;
}

/* With what is searched in: of several targets the one where that is hardest. */
static enum ulp_status open_emulation(struct ulp_searcher *search, const struct ulp_emulated *given,
                                      struct ulp_error *error)
{
    struct ulp_emulated emulated = *given;
    size_t target = 0;
    emulated.arithmetic = &search->choices[search->base].arithmetic;
    ULP_TRY(ulp_emulation_open(&search->emulation, &emulated, error));
    if (search->target_count > 1)
        ULP_TRY(ulp_search_pick_target(search, &target, error));
    if (target == 0)
        return ULP_OK;
    ulp_emulation_close(&search->emulation);
    ulp_search_set_narrow(search, target);
    return ulp_emulation_open(&search->emulation, &emulated, error);
}

/* A model of an earlier result does not stay beside one that has none. */
static enum ulp_status write_models(struct ulp_searcher *search, struct ulp_search *out,
                                    struct ulp_error *error)
{
    const struct ulp_model *model = search->emulation.given.model;
    const char *folder = search->options->mixed_folder;
    if (search->given)
        ULP_TRY(search->options->by_node ? ulp_search_write_mixed(search, out, error)
                                         : ulp_search_write_quantised(search, out, error));
    if (!out->mixed.path)
        ULP_TRY(ulp_mixed_retire(model, folder, ULP_MIXED_NAME, error));
    return !out->quantised ? ulp_mixed_retire(model, folder, ULP_SEARCH_QUANTISED, error) : ULP_OK;
}

/* Is the plan cheaper with TF32 forbidden than the rival with it, or nearer where neither is met?
 * It is a condition that may be forgotten, and FP32 products take longer: less than a fifth is no
 * gain.
 */
#define GAIN 0.8
static bool is_better(const struct ulp_search *out, const struct ulp_search *rival)
{
    if (out->met != rival->met)
        return out->met;
    return out->met ? out->total_cost < GAIN * rival->total_cost : out->full < rival->full;
}

/* rival: what was found before, which stays where this is no better: then nothing is written. */
static enum ulp_status find_plan(struct ulp_searcher *search, const struct ulp_emulated *given,
                                 const struct ulp_sample *held_out, size_t held_count,
                                 const struct ulp_search *rival, struct ulp_search *out,
                                 struct ulp_error *error)
{
    ULP_TRY(open_emulation(search, given, error));
    ULP_TRY(ulp_emulation_check_inputs(given, held_out, held_count, error));
    ULP_TRY(ulp_search_fix(search, error));
    ULP_TRY(ulp_search_audit(search, error));
    ULP_TRY(take_memory(search, error));
    ULP_TRY(ulp_search_prepare_draws(search, error));
    ULP_TRY(offer_choices(search, error));
    out->uniform = -1;
    ULP_TRY(search->options->by_node   ? ulp_search_surely(search, out, error)
            : search->limit < INFINITY ? ulp_search_within(search, out, error)
                                       : ulp_search_by_model(search, out, error));
    ULP_TRY(ulp_search_report(search, out, error));
    if (rival && !is_better(out, rival))
        return ULP_OK;
    if (search->given)
        ULP_TRY(ulp_search_report_decided(search, out, error));
    if (search->given && !search->options->by_node)
        ULP_TRY(ulp_search_judge_unit(search, out, error));
    if (search->given)
        ULP_TRY(validate(search, held_out, held_count, out, error));
    return search->options->mixed_folder ? write_models(search, out, error) : ULP_OK;
}

static enum ulp_status check_search_options(const struct ulp_search_options *options,
                                            struct ulp_error *error)
{
    if (!(options->confidence >= 0 && options->confidence < 1))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "confidence %g: expected a share of draws, above 0 and below 1",
                        options->confidence);
    size_t cost = 0;
    while (options->cost && ulp_search_cost_name(cost) &&
           strcmp(options->cost, ulp_search_cost_name(cost)) != 0)
        cost++;
    if (!ulp_search_cost_name(cost))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a cost is nodes, nodes+macs, bits, macs, bytes or weights: %s",
                        options->cost);
    if ((options->confidence > 0 || options->target_count > 1) && !options->by_node)
        return ulp_fail(error, ULP_ERROR_USAGE, "confidence and several targets are of a plan");
    return ULP_OK;
}

/* A plan for a target that refuses the model, or computes it wrongly, is none, nor one of another
 * model than its original. */
static enum ulp_status find_refusal(const struct ulp_searcher *search,
                                    const struct ulp_emulated *given, struct ulp_search *out,
                                    struct ulp_error *error)
{
    const struct ulp_search_options *options = search->options;
    for (size_t t = 0; t == 0 || (t < options->target_count && !out->refused); t++) {
        const char *target = options->target_count ? options->targets[t] : NULL;
        const struct ulp_lint_options sizes = {.inputs = given->samples[0].inputs,
                                               .original = options->original};
        ULP_SCOPED(ulp_refusal_free) struct ulp_refusal found = {0};
        ULP_TRY(ulp_lint_refusal(given->model, target, &sizes, &found, error));
        if (!found.refuses && !found.there)
            continue;
        ULP_TRY(ulp_search_copy(out->memory, found.what, &out->refused, error));
        ULP_TRY(ulp_search_copy(out->memory, found.why, &out->refused_why, error));
        ULP_TRY(ulp_search_copy(out->memory, found.fix, &out->refused_fix, error));
        out->before = out->full = out->ratio = out->predicted = out->bits = NAN;
        out->uniform = -1;
        out->grade = ULP_GRADE_NOT;
        ULP_TRY(ulp_search_report_options(search, out, error));
    }
    return ULP_OK;
}

/* One search, with what is not asked of the targets' TF32 set so. */
static enum ulp_status search_with(enum ulp_tf32 tf32, double deadline,
                                   const struct ulp_search_options *options,
                                   const struct ulp_emulated *given,
                                   const struct ulp_sample *held_out, size_t held_count,
                                   const struct ulp_search *rival, struct ulp_search *out,
                                   struct ulp_error *error)
{
    struct ulp_searcher search = {.options = options,
                                  .tf32 = tf32,
                                  .limit = INFINITY,
                                  .most = INFINITY,
                                  .deadline = deadline};
    enum ulp_status status = ulp_arena_create(&out->memory, ulp_model_budget(given->model), error);
    search.emulation.given = *given;
    ULP_THEN(status, ulp_search_choose(&search, out->memory, error));
    ULP_THEN(status, find_refusal(&search, given, out, error));
    if (status == ULP_OK && !out->refused)
        status = find_plan(&search, given, held_out, held_count, rival, out, error);
    ulp_emulation_close(&search.emulation);
    return status;
}

/* Kept products are TF32 in what was found, which may be why it keeps more, or fails. */
static enum ulp_status forbid(double deadline, const struct ulp_search_options *options,
                              const struct ulp_emulated *given, const struct ulp_sample *held_out,
                              size_t held_count, struct ulp_search *out, struct ulp_error *error)
{
    struct ulp_search other = ULP_SEARCH_EMPTY;
    other.by_default = out->by_default;
    const bool is_open = options->by_node && !options->formats[0];
    if (!is_open || !ulp_tf32_is_allowed(out) || (out->met && !out->kept_count) || out->timed_out)
        return ULP_OK;
    enum ulp_status status = search_with(ULP_TF32_FORBIDDEN, deadline, options, given, held_out,
                                         held_count, out, &other, error);
    if (status == ULP_ERROR_CANCELLED && out->met && options->seconds > 0)
        status = ULP_OK; /* the time is over: what was found stands */
    else if (status == ULP_OK && is_better(&other, out)) {
        const struct ulp_search first = *out;
        *out = other;
        other = first;
    }
    out->runs += other.runs;
    out->work += other.work;
    ulp_search_free(&other);
    return status;
}

static enum ulp_status search_both(double deadline, const struct ulp_search_options *options,
                                   const struct ulp_emulated *given,
                                   const struct ulp_sample *held_out, size_t held_count,
                                   struct ulp_search *out, struct ulp_error *error)
{
    ULP_TRY(search_with(ULP_TF32_USUAL, deadline, options, given, held_out, held_count, NULL, out,
                        error));
    return forbid(deadline, options, given, held_out, held_count, out, error);
}

/* The default tolerance may leave outputs that are not fine for what they are for, as a score that
 * crosses its threshold: then finer ones are tried. */
static enum ulp_status refine(double deadline, const struct ulp_search_options *options,
                              const struct ulp_emulated *given, const struct ulp_sample *held_out,
                              size_t held_count, struct ulp_search *out, struct ulp_error *error)
{
    static const char *const finer[] = {"sqnr_db=60", "sqnr_db=80", "sqnr_db=100"};
    struct ulp_search_options wanted = *options;
    struct ulp_emulated again = *given;
    enum ulp_status status = ULP_OK;
    for (size_t f = 0; f < sizeof finer / sizeof *finer && status == ULP_OK; f++) {
        struct ulp_search other = ULP_SEARCH_EMPTY;
        if (!out->by_default || !out->met || !out->grade_text || out->timed_out ||
            out->grade == ULP_GRADE_FINE || out->grade == ULP_GRADE_NOT)
            return ULP_OK;
        wanted.tolerances = again.tolerances = &finer[f];
        status = search_both(deadline, &wanted, &again, held_out, held_count, &other, error);
        if (status == ULP_OK && other.met && other.grade == ULP_GRADE_FINE) {
            const struct ulp_search first = *out;
            *out = other;
            other = first;
        }
        out->runs += other.runs;
        out->work += other.work;
        ulp_search_free(&other);
    }
    return status == ULP_ERROR_CANCELLED && options->seconds > 0 ? ULP_OK : status;
}

enum ulp_status ulp_search_run(const struct ulp_model *model,
                               const struct ulp_search_options *options,
                               const struct ulp_sample *samples, size_t sample_count,
                               const struct ulp_sample *held_out, size_t held_count,
                               struct ulp_search *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = ULP_SEARCH_EMPTY;
    ULP_OPTIONS_TAKE(ulp_search_options, options, error);
    const double started = ulp_seconds_now(),
                 deadline = options->seconds > 0 ? started + options->seconds : INFINITY;
    /* what the least error for a budget is measured by */
    const bool any = options->budget > 0 && !options->by_node && !options->tolerance_count;
    static const char *const any_error = ULP_SEARCH_ANY_ERROR, *const fine = ULP_SEARCH_FINE;
    if (options->by_node && options->confidence == 0)
        options_here.confidence = ULP_SEARCH_CONFIDENCE;
    out->by_default = options->by_node && !options->tolerance_count;
    if (out->by_default) {
        options_here.tolerances = &fine;
        options_here.tolerance_count = 1;
    }
    const struct ulp_emulated given = {.model = model,
                                       .reference = &options->reference,
                                       .samples = samples,
                                       .sample_count = sample_count,
                                       .tolerances = any ? &any_error : options->tolerances,
                                       .tolerance_count = any ? 1 : options->tolerance_count,
                                       .allow_nonfinite_inputs = options->allow_nonfinite_inputs,
                                       .lower_outputs = options->lower_io,
                                       .thread_count = options->thread_count,
                                       .progress = options->progress,
                                       .task = options->task,
                                       .scorer = options->scorer,
                                       .what =
                                           options->by_node ? "a plan" : "an allocation of bits"};
    enum ulp_status status = check_search_options(options, error);
    ULP_THEN(status, search_both(deadline, options, &given, held_out, held_count, out, error));
    ULP_THEN(status, refine(deadline, options, &given, held_out, held_count, out, error));
    out->seconds = ulp_seconds_now() - started;
    if (status != ULP_OK)
        ulp_search_free(out);
    return status;
}

void ulp_search_free(struct ulp_search *search)
{
    ulp_mixed_free(&search->mixed);
    ulp_arena_free(search->memory);
    *search = (struct ulp_search){0};
}
