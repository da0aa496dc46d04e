/* The walk: lint, audit, forecast, comparison, plan (ulpscope/doctor.h). */
#include <math.h>
#include <string.h>

#include "analysis/doctor/doctoring.h"
#include "analysis/emulation/emulation.h"
#include "analysis/lint/refusal.h"
#include "analysis/compare/comparing.h"
#include "analysis/measure/judged.h"
#include "analysis/report/report.h"
#include "base/options.h"
#include "base/machine/cpu.h"
#include "base/machine/environment.h"
#include "base/machine/clock.h"
#include "base/error.h"
#include "number/function/math.h"

/* A graph in FP32 is judged as the target computes it, beside what a conversion would make of it;
 * and the other way around where the conversion's arithmetic was named. */
static enum ulp_status choose_floats(struct ulp_doctoring *x, struct ulp_arithmetic *out,
                                     struct ulp_error *error)
{
    struct ulp_target_name named;
    struct ulp_arithmetic floats;
    x->floats = x->by_target && !x->options->engine && ulp_target_leaves_floats(x->target) &&
                !out->types_declared && ulp_target_read(x->options->target, &named);
    if (!x->floats)
        return ULP_OK;
    ULP_TRY(ulp_target_floats(&named, &floats, error));
    x->converts = x->options->arithmetic != NULL;
    x->has_tf32 = !x->converts && strcmp(floats.factor.name, "tf32") == 0;
    named.tf32 = ULP_TF32_FORBIDDEN;
    ULP_TRY(ulp_target_floats(&named, &x->forbidden, error));
    x->beside = x->converts ? floats : *out;
    if (!x->converts)
        *out = floats;
    return ULP_OK;
}

static enum ulp_status choose_arithmetic(struct ulp_doctoring *x, struct ulp_arithmetic *out,
                                         struct ulp_error *error)
{
    struct ulp_doctor *doctor = x->doctor;
    const struct ulp_doctor_options *options = x->options;
    const char *asked = options->arithmetic,
               *engine = options->engine ? options->engine->name : NULL;
    char name[ULP_JUDGED_IN_BYTES];
    struct ulp_arithmetic own;
    if (!asked && !engine)
        x->processors = ulp_judged_processors(x->model, x->target);
    ULP_TRY((x->processors ? ulp_judged_in_worse : ulp_judged_in)(x->model, options->target, asked,
                                                                  name, out, error));
    x->by_target = x->target && !asked;
    if (x->target && asked) {
        ULP_TRY(ulp_judged_in(x->model, options->target, NULL, name, &own, error));
        x->by_target = strcmp(own.name, out->name) == 0;
    }
    ULP_TRY(choose_floats(x, out, error));
    ulp_doctor_choose_sums(x, asked ? asked : name);
    x->sums_of = x->floats && !x->converts;
    doctor->arithmetic = ulp_arena_copy(doctor->memory, engine      ? engine
                                                        : asked     ? asked
                                                        : x->floats ? out->asked
                                                                    : name);
    return ulp_taken(doctor->arithmetic, error);
}

/* ---- steps ---- */

static void *take(struct ulp_doctoring *x, size_t bytes)
{
    return ulp_arena_take(x->doctor->memory, 1, bytes);
}

static enum ulp_status run_lint(struct ulp_doctoring *x, struct ulp_error *error)
{
    const struct ulp_doctor_options *options = x->options;
    const struct ulp_lint_options wanted = {.targets = x->target ? x->target->bit : 0,
                                            .dims = options->dims,
                                            .dim_count = options->dim_count,
                                            .original = options->original,
                                            .inputs =
                                                x->sample_count ? x->samples[0].inputs : NULL};
    struct ulp_lint_result *lint = take(x, sizeof *lint);
    ulp_doctor_begin(x, "lint", 0);
    ULP_TRY(ulp_taken(lint, error));
    ULP_TRY(ulp_lint_run(x->model, &wanted, lint, error));
    x->doctor->lint = lint;
    return ULP_OK;
}

/* Behind the reference the arithmetic, and what was built. */
static enum ulp_status run_audit(struct ulp_doctoring *x, const struct ulp_arithmetic *arithmetic,
                                 struct ulp_error *error)
{
    const struct ulp_doctor_options *options = x->options;
    const struct ulp_engine_map_lane *engine = options->engine;
    struct ulp_arithmetic lanes[4 + ULP_DOCTOR_SUMS] = {options->reference,
                                                        engine ? engine->arithmetic : *arithmetic,
                                                        x->beside, x->forbidden};
    if (x->processors)
        ULP_TRY(ulp_arithmetic_find(x->processors->arithmetic, &lanes[2], error));
    const struct ulp_keeps keeps[] = {{0}, engine ? engine->keeps : (struct ulp_keeps){0}};
    const struct ulp_groups groups[] = {{0}, engine ? engine->groups : (struct ulp_groups){0}};
    const char *const names[] = {NULL, engine ? engine->name : NULL};
    const struct ulp_samples samples = {.count = x->sample_count, .items = x->samples};
    const struct ulp_program_options planning = {.dims = options->dims,
                                                 .dim_count = options->dim_count,
                                                 .keeps = engine ? keeps : NULL,
                                                 .groups = engine ? groups : NULL,
                                                 .names = engine ? names : NULL};
    const struct ulp_audit_options wanted = {.plan = &planning,
                                             .shares = true,
                                             .original = options->original,
                                             .no_pairs = true,
                                             .task = options->task,
                                             .scorer = options->scorer,
                                             .allow_nonfinite_inputs =
                                                 options->allow_nonfinite_inputs,
                                             .thread_count = options->thread_count,
                                             .progress = options->progress};
    struct ulp_audit *audit = take(x, sizeof *audit);
    ulp_doctor_begin(x, "audit", 1);
    ULP_TRY(ulp_taken(audit, error));
    size_t lane_count = 2 + (x->processors || x->floats) + x->has_tf32;
    for (size_t i = 0; i < x->sum_count; i++)
        lanes[lane_count++] = x->sums[i].arithmetic;
    ULP_TRY(ulp_audit_run(x->model, lanes, lane_count, &samples, &wanted, audit, error));
    x->doctor->audit = audit;
    x->lane = &audit->lanes[0];
    return ULP_OK;
}

static enum ulp_status run_compare(struct ulp_doctoring *x, const struct ulp_arithmetic *arithmetic,
                                   struct ulp_error *error)
{
    const struct ulp_doctor_options *options = x->options;
    const struct ulp_engine_map_lane *engine = options->engine;
    const double left = options->seconds - (ulp_seconds_now() - x->started);
    const struct ulp_compare_options wanted = {
        .reference = options->reference,
        .arithmetics = engine ? &engine->arithmetic : arithmetic,
        .arithmetic_count = 1,
        .keeps = engine ? &engine->keeps : NULL,
        .groups = engine ? &engine->groups : NULL,
        .no_cause = engine != NULL,
        .task = options->task,
        .allow_nonfinite_inputs = options->allow_nonfinite_inputs,
        .thread_count = options->thread_count,
        .progress = options->progress,
        .seconds = options->seconds > 0 ? ulp_math_max(left / 2, 1e-3) : 0,
        .patience = ULP_DOCTOR_SECONDS};
    struct ulp_comparison *comparison = take(x, sizeof *comparison);
    if (!options->recording_count)
        return ULP_OK;
    ulp_doctor_begin(x, "compare", 3);
    ULP_TRY(ulp_taken(comparison, error));
    ULP_TRY(ulp_comparison_run(x->model, x->samples[0].inputs, options->recordings,
                               options->recording_count, &wanted, comparison, error));
    x->doctor->comparison = comparison;
    return ULP_OK;
}

/* ---- conclusions ---- */

/* The audit's verdict; what is wrong in any arithmetic, and a recording that is not explained, are
 * beyond it. */
static enum ulp_status judge(struct ulp_doctoring *x, struct ulp_error *error)
{
    struct ulp_verdict verdict;
    struct ulp_doctor *doctor = x->doctor;
    ULP_TRY(ulp_audit_judge(doctor->audit, 0, x->options->allow_nonfinite_inputs, &verdict, error));
    struct ulp_text text = {0};
    ulp_text_show(&text, "%s", verdict.text);
    doctor->grade = verdict.grade;
    ulp_verdict_free(&verdict);
    const enum ulp_status status = ulp_doctor_weigh_sums(x, 0, doctor->grade, &text, error);
    x->only_inside = x->adds && doctor->grade == ULP_GRADE_FINE;
    if (x->only_inside)
        doctor->grade = ULP_GRADE_BORDERLINE;
    doctor->reason = ulp_doctor_keep(x, &text);
    return status == ULP_OK ? ulp_taken(doctor->reason, error) : status;
}

/* Is that of the other kind of processors worse? */
static bool is_worse(const struct ulp_verdict *other, const struct ulp_verdict *judged)
{
    return other->grade != ULP_GRADE_NOT &&
           (other->grade > judged->grade ||
            (other->grade == judged->grade && other->sqnr_db < judged->sqnr_db));
}

/* Saturated sums are a cause where as much of the error is theirs as of a node that is named, a
 * fifth: a decibel. */
static bool is_clearly_worse(const struct ulp_verdict *one, const struct ulp_verdict *other)
{
    return one->grade > other->grade || !(one->sqnr_db > other->sqnr_db - 1);
}

static void swap(struct ulp_audit_lane *lanes)
{
    const struct ulp_audit_lane first = lanes[0];
    lanes[0] = lanes[1];
    lanes[1] = first;
}

/* Of two kinds of processors the worse is the audit's first lane, and what the other gives is said
 * beside it. */
static enum ulp_status weigh_processors(struct ulp_doctoring *x, struct ulp_arithmetic *arithmetic,
                                        struct ulp_error *error)
{
    ULP_SCOPED(ulp_verdict_free) struct ulp_verdict judged = {0};
    ULP_SCOPED(ulp_verdict_free) struct ulp_verdict other = {0};
    struct ulp_doctor *doctor = x->doctor;
    const struct ulp_target_choice *row = x->processors;
    const bool lax = x->options->allow_nonfinite_inputs;
    struct ulp_text text = {0};
    ULP_TRY(ulp_audit_judge(doctor->audit, 0, lax, &judged, error));
    ULP_TRY(ulp_audit_judge(doctor->audit, 1, lax, &other, error));
    x->sums_alike = !is_worse(&other, &judged) && !is_clearly_worse(&judged, &other);
    if (!x->exact_is_worse && is_worse(&other, &judged)) {
        x->exact_is_worse = true;
        ULP_TRY(ulp_arithmetic_find(row->arithmetic, arithmetic, error));
        doctor->arithmetic = ulp_doctor_copy(x, arithmetic->name);
        swap(doctor->audit->lanes);
        return weigh_processors(x, arithmetic, error);
    }
    if (judged.grade == other.grade && strcmp(judged.text, other.text) == 0) {
        ulp_text_add(&text, "%s and %s alike", row->word, row->other_word);
        doctor->processor = ulp_doctor_keep(x, &text);
        return x->failed ? ulp_out_of_memory(error) : ULP_OK;
    }
    ulp_text_add(&text, "%s it is %s: %s", x->exact_is_worse ? row->other_word : row->word,
                 ulp_grade_name(other.grade), other.text);
    doctor->processor = ulp_doctor_copy(x, x->exact_is_worse ? row->word : row->other_word);
    doctor->this_processor = ulp_doctor_copy(x, ulp_cpu_sums_bytes() ? row->word : row->other_word);
    doctor->other_processor = ulp_doctor_keep(x, &text);
    return x->failed ? ulp_out_of_memory(error) : ULP_OK;
}

/* What comes of the graph converted, or, where that is judged, as it is. */
static enum ulp_status judge_beside(struct ulp_doctoring *x, struct ulp_error *error)
{
    struct ulp_verdict verdict;
    struct ulp_text text = {0};
    if (!x->floats)
        return ULP_OK;
    ULP_TRY(
        ulp_audit_judge(x->doctor->audit, 1, x->options->allow_nonfinite_inputs, &verdict, error));
    x->doctor->as_is = !x->converts;
    x->doctor->fine_beside = verdict.grade == ULP_GRADE_FINE;
    ulp_text_add(&text, "%s: %s in %s",
                 x->converts ? "as the graph is" : "if you convert it to FP16",
                 ulp_grade_name(verdict.grade), x->beside.asked);
    if (!x->converts || !x->doctor->fine_beside)
        ulp_text_add(&text, ": %s", verdict.text);
    if (!x->converts && !x->doctor->fine_beside && verdict.grade != ULP_GRADE_NOT) {
        struct ulp_headline why = {0};
        ulp_report_conclude(x->doctor->audit, &x->doctor->audit->lanes[1], &why);
        ulp_text_add(&text, "; ");
        ulp_text_show_whole(&text, why.why.data ? why.why.data : "");
        ulp_text_add(&text, " (with -a %s doctor judges that)", x->beside.asked);
        ulp_headline_free(&(struct ulp_page){.out = &text}, &why);
    }
    const enum ulp_status status = ulp_doctor_weigh_sums(x, 1, verdict.grade, &text, error);
    ulp_verdict_free(&verdict);
    x->doctor->beside = ulp_doctor_keep(x, &text);
    return status == ULP_OK ? ulp_taken(x->doctor->beside, error) : status;
}

/* Of a graph in FP32 that comes out wrong in TF32: does it help to forbid that? */
static enum ulp_status try_forbidding(struct ulp_doctoring *x, struct ulp_error *error)
{
    struct ulp_verdict verdict;
    struct ulp_text text = {0};
    const enum ulp_grade grade = x->doctor->grade;
    if (!x->has_tf32 || grade == ULP_GRADE_FINE || grade == ULP_GRADE_NOT)
        return ULP_OK;
    ULP_TRY(
        ulp_audit_judge(x->doctor->audit, 2, x->options->allow_nonfinite_inputs, &verdict, error));
    x->forbidding_mends = verdict.grade == ULP_GRADE_FINE;
    ulp_text_add(&text, "%s%s: %s in %s: %s", x->forbidding_mends ? "forbid TF32, " : "",
                 ulp_target_tf32(x->target)->forbids, ulp_grade_name(verdict.grade),
                 x->forbidden.asked, verdict.text);
    if (!x->forbidding_mends)
        ulp_text_add(&text, ", so that it is not TF32 alone; the command at next goes on");
    ulp_verdict_free(&verdict);
    x->doctor->remedy = ulp_doctor_keep(x, &text);
    return ulp_taken(x->doctor->remedy, error);
}

static enum ulp_grade judge_cause(const struct ulp_doctor_cause *cause)
{
    struct ulp_lint_rule rule;
    if (cause->reason != ULP_DOCTOR_GRAPH || !cause->rule)
        return ULP_GRADE_FINE;
    ulp_lint_rule((size_t)ulp_lint_rule_find(cause->rule), &rule);
    return rule.severity == ULP_SEVERITY_ERROR ? ULP_GRADE_BROKEN : ULP_GRADE_BORDERLINE;
}

/* A graph that is wrong, or a node that a runtime computes wrongly, is beyond what was computed:
 * the cause; NULL: there is none, or what the target refuses is said before all. */
static const struct ulp_doctor_cause *judge_causes(struct ulp_doctor *doctor)
{
    const bool told = doctor->grade == ULP_GRADE_NOT || ulp_doctor_find_refused(doctor);
    const struct ulp_doctor_cause *worst = NULL;
    /* nothing can be compared, and the graph says why: the reference computes it, too */
    if (doctor->grade == ULP_GRADE_NOT && doctor->cause_count &&
        doctor->causes[0].reason == ULP_DOCTOR_GRAPH)
        doctor->grade = judge_cause(&doctor->causes[0]);
    for (size_t c = 0; c < doctor->cause_count; c++)
        if (judge_cause(&doctor->causes[c]) > doctor->grade) {
            worst = &doctor->causes[c];
            doctor->grade = judge_cause(worst);
        }
    return told ? NULL : worst;
}

/* What compare says of the recordings that are explained, or of those that are not. */
static void judge_recordings(struct ulp_doctor *doctor, bool explained, struct ulp_text *text)
{
    const struct ulp_comparison *comparison = doctor->comparison;
    const struct ulp_page page = {.out = text};
    for (size_t f = 0; comparison && f < comparison->file_count; f++) {
        const struct ulp_compared_file *file = &comparison->files[f];
        const enum ulp_grade grade = explained      ? ULP_GRADE_FINE
                                     : file->hidden ? ULP_GRADE_NOT
                                                    : ULP_GRADE_BROKEN;
        struct ulp_headline head = {0};
        if (file->explained != explained)
            continue;
        ulp_comparison_headline(comparison, f, &head);
        ulp_text_show(text, explained ? "; %s" : "%s; ", head.what.data ? head.what.data : "");
        ulp_headline_free(&page, &head);
        if (ulp_grade_weigh(grade) > ulp_grade_weigh(doctor->grade))
            doctor->grade = grade;
    }
}

/* Before what the audit says what is beyond it. */
static enum ulp_status judge_beyond(struct ulp_doctoring *x, struct ulp_error *error)
{
    struct ulp_doctor *doctor = x->doctor;
    const enum ulp_grade computed = doctor->grade;
    const struct ulp_doctor_cause *beyond = judge_causes(doctor);
    struct ulp_text text = {0};
    struct ulp_lint_rule rule;
    judge_recordings(doctor, false, &text);
    if (beyond && ulp_lint_rule((size_t)ulp_lint_rule_find(beyond->rule), &rule))
        ulp_text_add(&text, "%s (%s); ", rule.what, rule.id);
    if (text.length)
        ulp_text_add(&text, "by its figures alone it is %s: ", ulp_grade_name(computed));
    ulp_text_add(&text, "%s", doctor->reason);
    judge_recordings(doctor, true, &text);
    doctor->reason = ulp_doctor_keep(x, &text);
    return ulp_taken(doctor->reason, error);
}

static enum ulp_status keep_refusal(struct ulp_doctoring *x, struct ulp_error *error)
{
    const struct ulp_finding *refused = ulp_doctor_find_refused(x->doctor);
    struct ulp_text text = {0};
    if (x->forbidding_mends)
        x->doctor->tf32_forbidden_by = ulp_doctor_copy(x, ulp_target_tf32(x->target)->forbids);
    if (refused) {
        ulp_lint_say_error(&text, refused, x->doctor->target);
        x->doctor->refused = ulp_doctor_keep(x, &text);
    }
    return x->failed ? ulp_out_of_memory(error) : ULP_OK;
}

static enum ulp_status walk(struct ulp_doctoring *x, struct ulp_error *error)
{
    ULP_SCOPED(ulp_scoped_free) char *rests_on = NULL;
    struct ulp_arithmetic arithmetic;
    struct ulp_doctor *doctor = x->doctor;
    const struct ulp_doctor_options *options = x->options;
    x->target = options->target ? ulp_target_find(options->target) : NULL;
    ULP_TRY(choose_arithmetic(x, &arithmetic, error));
    x->typed = strcmp(arithmetic.storage.name, ulp_type_rows[ULP_TYPE_FLOAT16].format) == 0 ||
               strcmp(arithmetic.storage.name, ulp_type_rows[ULP_TYPE_BFLOAT16].format) == 0;
    doctor->model_path = ulp_arena_copy(doctor->memory, ulp_model_path(x->model));
    doctor->target = options->target ? ulp_arena_copy(doctor->memory, options->target) : NULL;
    doctor->reference = ulp_arena_copy(doctor->memory, options->reference.name);
    doctor->sample_count = x->sample_count;
    if (!doctor->model_path || !doctor->reference || (options->target && !doctor->target))
        return ulp_out_of_memory(error);
    ULP_TRY(run_lint(x, error));
    ULP_TRY(run_audit(x, &arithmetic, error));
    if (x->processors)
        ULP_TRY(weigh_processors(x, &arithmetic, error));
    ULP_TRY(judge(x, error));
    ULP_TRY(ulp_doctor_forecast(x, x->only_inside ? &ulp_doctor_rows(x)->arithmetic : &arithmetic,
                                error));
    ULP_TRY(run_compare(x, &arithmetic, error));
    ULP_TRY(ulp_doctor_plan(x, error));
    ULP_TRY(judge_beside(x, error));
    ULP_TRY(try_forbidding(x, error));
    ULP_TRY(ulp_doctor_find_causes(x, error));
    ULP_TRY(judge_beyond(x, error));
    ULP_TRY(keep_refusal(x, error));
    ULP_TRY(ulp_judged_rests(x->model, doctor->arithmetic, doctor->target, &rests_on, error));
    doctor->rests_on = ulp_doctor_copy(x, rests_on);
    ULP_TRY(ulp_doctor_say_remedy(x, error));
    ulp_doctor_say_next(x);
    return x->failed ? ulp_out_of_memory(error) : ULP_OK;
}

enum ulp_status ulp_doctor_run(const struct ulp_model *model,
                               const struct ulp_doctor_options *options,
                               const struct ulp_sample *samples, size_t sample_count,
                               struct ulp_doctor *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = (struct ulp_doctor){0};
    ULP_OPTIONS_TAKE(ulp_doctor_options, options, error);
    struct ulp_doctoring x = {.model = model,
                              .started = ulp_seconds_now(),
                              .options = options,
                              .samples = samples,
                              .sample_count = sample_count,
                              .doctor = out};
    if (!sample_count)
        return ulp_fail(error, ULP_ERROR_USAGE, "a doctor needs a sample of inputs");
    if (!isfinite(options->tolerance) || options->tolerance < 0)
        return ulp_fail(error, ULP_ERROR_USAGE, "tolerance %g: an sqnr_db is needed, as 40",
                        options->tolerance);
    enum ulp_status status = ulp_arena_create(&out->memory, ulp_model_budget(model), error);
    ULP_THEN(status, walk(&x, error));
    out->seconds = ulp_seconds_now() - x.started;
    if (status != ULP_OK)
        ulp_doctor_free(out);
    return status;
}

void ulp_doctor_free(struct ulp_doctor *doctor)
{
    if (doctor->lint)
        ulp_lint_free(doctor->lint);
    if (doctor->audit)
        ulp_audit_free(doctor->audit);
    if (doctor->overflow)
        ulp_overflow_free(doctor->overflow);
    if (doctor->plan)
        ulp_search_free(doctor->plan);
    if (doctor->comparison)
        ulp_comparison_free(doctor->comparison);
    ulp_arena_free(doctor->memory);
    *doctor = (struct ulp_doctor){0};
}
