/* How models come out in the arithmetic, judged by the exact results of the one that is given. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <ulpscope/doctor.h>
#include <ulpscope/verdict.h>

#include "analysis/fix/fixing.h"
#include "analysis/measure/judge.h"
#include "analysis/measure/judged.h"
#include "analysis/search/search_tf32.h"
#include "base/error.h"
#include "base/machine/file.h"
#include "number/function/math.h"

static bool is_named(const struct ulp_judgement *judgement, enum ulp_crossing_kind kind)
{
    return judgement->metric && strcmp(judgement->metric, ulp_judge_name(kind)) == 0;
}

/* Where no output can say what is better, how far values stay finite does. */
struct counting {
    const struct ulp_fixing *x;
    size_t count;
};

static enum ulp_status count_nonfinite(void *context, const struct ulp_event *event,
                                       struct ulp_error *error)
{
    struct counting *counting = context;
    (void)error;
    for (size_t o = 0; o < event->output_count; o++) {
        const struct ulp_tensor *value = event->values[o].entire;
        counting->count += value &&
                           ulp_names_find(&counting->x->shared, event->output_names[o]) >= 0 &&
                           ulp_judge_count_nonfinite(value);
    }
    return ULP_OK;
}

enum ulp_status ulp_fix_open(struct ulp_fixing *x, struct ulp_fix_judged *out,
                             struct ulp_error *error)
{
    const struct ulp_emulated given = {.model = x->model,
                                       .reference = &x->options->reference,
                                       .arithmetic = &x->arithmetic,
                                       .samples = x->samples,
                                       .sample_count = x->sample_count,
                                       .tolerances = (const char *const *)x->fix->tolerances,
                                       .tolerance_count = x->fix->tolerance_count,
                                       .thread_count = x->options->thread_count,
                                       .allow_nonfinite_inputs = x->options->allow_nonfinite_inputs,
                                       .progress = x->options->progress,
                                       .task = x->options->task,
                                       .what = "a fix"};
    ULP_TRY(ulp_emulation_open(&x->emulation, &given, error));
    ULP_TAKE(x->emulation.judged, x->emulation.memory, ulp_model_output_count(x->model) + 1, error);
    ULP_TRY(ulp_emulation_truths(&x->emulation, error));
    ULP_TRY(ulp_fix_judge(x, x->model, NULL, out, error));
    x->fix->runs = 0; /* of what is tried */
    return ULP_OK;
}

enum ulp_status ulp_fix_judge(struct ulp_fixing *x, const struct ulp_model *model,
                              const struct ulp_keeps *keeps, struct ulp_fix_judged *out,
                              struct ulp_error *error)
{
    struct counting counting = {.x = x};
    const struct ulp_observer looking = {.context = &counting,
                                         .node_done = x->shared.count ? count_nonfinite : NULL,
                                         .modes_unused = true};
    ULP_SCOPED(ulp_programs_free)
    struct ulp_programs programs = {.model = model,
                                    .lanes = &x->arithmetic,
                                    .lane_count = 1,
                                    .options = {.keeps = keeps}};
    *out = (struct ulp_fix_judged){0};
    memset(x->emulation.judged, 0, ulp_model_output_count(x->model) * sizeof *x->emulation.judged);
    ULP_TRY(ulp_emulation_judge_lane(&x->emulation, &programs, &looking, &out->worst, error));
    out->nonfinite = counting.count;
    x->fix->runs += x->sample_count;
    out->grade = ulp_emulation_grade(&x->emulation, &out->worst);
    return ULP_OK;
}

/* ---- as the doctor judges ---- */

enum ulp_status ulp_fix_judged_in(const struct ulp_fixing *x, const struct ulp_model *model,
                                  const char *arithmetic, struct ulp_arithmetic *out,
                                  struct ulp_error *error)
{
    const char *target = x->options->target;
    char name[ULP_JUDGED_IN_BYTES], named[80];
    const bool forbidden = target && x->fix->plan && ulp_tf32_is_forbidden(x->fix->plan) &&
                           x->fix->plan->tf32_forbidden_by && !strchr(target, ',');
    snprintf(named, sizeof named, "%.60s%s", target ? target : "", forbidden ? ",tf32=off" : "");
    return ulp_judged_in_worse(model, target ? named : NULL, arithmetic, name, out, error);
}

/* By itself, in what its types and the target make of it. */
static enum ulp_status diagnose(struct ulp_fixing *x, const struct ulp_model *model,
                                struct ulp_verdict *out, struct ulp_error *error)
{
    const struct ulp_fix_options *options = x->options;
    const char *asked = options->arithmetic && x->fix->types ? "model" : options->arithmetic;
    const struct ulp_samples samples = {.count = x->sample_count, .items = x->samples};
    struct ulp_observer progress =
        options->progress ? *options->progress : (struct ulp_observer){0};
    progress.needs = NULL; /* it is one of many runs */
    const struct ulp_audit_options wanted = {.task = options->task,
                                             .allow_nonfinite_inputs =
                                                 options->allow_nonfinite_inputs,
                                             .thread_count = options->thread_count,
                                             .progress = options->progress ? &progress : NULL};
    struct ulp_arithmetic lanes[2] = {options->reference};
    struct ulp_audit audit;
    ULP_TRY(ulp_fix_judged_in(x, model, asked, &lanes[1], error));
    ULP_TRY(ulp_audit_run(model, lanes, 2, &samples, &wanted, &audit, error));
    const enum ulp_status status =
        ulp_audit_judge(&audit, 0, options->allow_nonfinite_inputs, out, error);
    ulp_audit_free(&audit);
    x->fix->runs += x->sample_count;
    return status;
}

static bool is_well(const struct ulp_verdict *verdict)
{
    return verdict->grade == ULP_GRADE_FINE || verdict->grade == ULP_GRADE_NOT;
}

enum ulp_status ulp_fix_diagnose_given(struct ulp_fixing *x, struct ulp_error *error)
{
    ULP_SCOPED(ulp_verdict_free) struct ulp_verdict verdict = {0};
    struct ulp_fix *fix = x->fix;
    ULP_TRY(diagnose(x, x->model, &verdict, error));
    if (is_well(&verdict))
        return ULP_OK;
    x->ill = true;
    fix->before.grade = verdict.grade;
    fix->before.text = ulp_arena_copy(fix->memory, verdict.text);
    return ulp_taken(fix->before.text, error);
}

static enum ulp_status drop_file(struct ulp_fixing *x, const struct ulp_verdict *verdict,
                                 struct ulp_error *error)
{
    struct ulp_fix *fix = x->fix;
    const char *data = ulp_arena_say(fix->memory, "%s.data", fix->path);
    fix->met = false;
    fix->reason = ulp_arena_say(fix->memory, "as a file it is %s: %s",
                                ulp_grade_name(verdict->grade), verdict->text);
    ULP_TRY(ulp_taken(data && fix->reason, error));
    if (!x->options->best) {
        ulp_files_drop(fix->path);
        ulp_files_drop(data);
        fix->path = NULL;
    }
    return ULP_OK;
}

enum ulp_status ulp_fix_diagnose_file(struct ulp_fixing *x, struct ulp_error *error)
{
    ULP_SCOPED(ulp_model_free_of) struct ulp_model *model = NULL;
    ULP_SCOPED(ulp_verdict_free) struct ulp_verdict verdict = {0};
    ULP_TRY(ulp_model_load(x->fix->path, ulp_model_budget(x->model), &model, error));
    ULP_TRY(diagnose(x, model, &verdict, error));
    return is_well(&verdict) ? ULP_OK : drop_file(x, &verdict, error);
}

/* ---- what is said ---- */

/* The output that the grade is of: the worst by its error, unless another is for something worse;
 * where none can be judged, the count of outputs. */
static size_t find_graded(const struct ulp_fixing *x, const struct ulp_fix_judged *judged)
{
    const size_t count = ulp_model_output_count(x->model);
    size_t graded = count;
    for (size_t o = 0; o < count; o++) {
        if (x->emulation.judged[o].task == ULP_TASK_UNKNOWN)
            continue;
        const bool is = x->emulation.judged[o].grade == judged->grade,
                   worst = strcmp(ulp_model_output(x->model, o).name, judged->worst.output) == 0;
        if (worst && (is || is_named(&judged->worst, ULP_CROSSED_NONFINITE)))
            return o;
        graded = is && graded == count ? o : graded;
    }
    return graded;
}

/* "output logits: 12 elements are not finite where the reference is" */
static void say(const struct ulp_fixing *x, const struct ulp_fix_judged *judged,
                struct ulp_text *out)
{
    struct ulp_judgement named = judged->worst, *worst = &named;
    ULP_SCOPED(ulp_text_free) struct ulp_text why = {0};
    const size_t graded = find_graded(x, judged);
    if (graded < ulp_model_output_count(x->model)) {
        const struct ulp_judged *of = &x->emulation.judged[graded];
        const char *name = ulp_model_output(x->model, graded).name;
        ulp_judged_grade(of, &why);
        if (strcmp(name, worst->output) != 0)
            named = (struct ulp_judgement){.output = name,
                                           .metric = ulp_figure_rows[ULP_FIGURE_sqnr_db].name,
                                           .value = of->sqnr_db};
        named.value = ulp_judged_decibels(of, named.value);
    }
    ulp_text_show(out, "output %s: ", worst->output);
    if (is_named(worst, ULP_CROSSED_NONFINITE))
        ulp_text_add(out, "%.0f element%s not finite where the reference is", worst->value,
                     worst->value == 1 ? " is" : "s are");
    else
        ulp_text_add(out, "%s", why.data ? why.data : worst->metric);
    if (strcmp(worst->metric, ulp_figure_rows[ULP_FIGURE_sqnr_db].name) == 0)
        ulp_judged_say_whole(out, why.data ? why.data : "", worst->value);
    out->failed |= why.failed;
}

enum ulp_status ulp_fix_report(const struct ulp_fixing *x, const struct ulp_fix_judged *judged,
                               struct ulp_fix_state *out, struct ulp_error *error)
{
    struct ulp_arena *memory = x->fix->memory;
    struct ulp_text text = {0};
    say(x, judged, &text);
    *out = (struct ulp_fix_state){.output = ulp_arena_copy(memory, judged->worst.output),
                                  .metric = ulp_arena_copy(memory, judged->worst.metric),
                                  .value = judged->worst.value,
                                  .ratio = judged->worst.ratio,
                                  .grade = judged->grade,
                                  .text = ulp_text_keep(&text, memory)};
    return ulp_taken(out->output && out->metric && out->text, error);
}

bool ulp_fix_is_met(const struct ulp_fixing *x, const struct ulp_fix_judged *judged)
{
    return x->options->tolerance_count ? judged->worst.ratio <= 1 : judged->grade == ULP_GRADE_FINE;
}

double ulp_fix_gain(const struct ulp_fix_judged *without, const struct ulp_fix_judged *with)
{
    const double before = without->worst.ratio, after = with->worst.ratio;
    if (isinf(before) && isinf(after))
        return without->nonfinite == with->nonfinite  ? 0
               : without->nonfinite > with->nonfinite ? INFINITY
                                                      : -INFINITY;
    if (isinf(before) || isinf(after))
        return isinf(before) ? INFINITY : -INFINITY;
    return before == after ? 0 : 20 * (ulp_math_log10(before) - ulp_math_log10(after));
}

enum ulp_status ulp_fix_change(struct ulp_fixing *x, const struct ulp_model *model,
                               struct ulp_altered *out, struct ulp_error *error)
{
    *out = (struct ulp_altered){0};
    if (!x->is_resized)
        ULP_TRY(ulp_resized_find(&x->given, &x->resized, error));
    x->is_resized = true;
    return ulp_altered_measure(&x->given, x->emulation.truths, &x->resized, model,
                               x->emulation.pool, out, error);
}
