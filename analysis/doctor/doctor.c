/* The walk: lint, audit, forecast, comparison, plan (ulpscope/doctor.h). */
#include <math.h>
#include <string.h>

#include "analysis/search/search_remedy.h"
#include "analysis/search/written/search_text.h"
#include "analysis/doctor/doctoring.h"
#include "analysis/audit/audit_mixed.h"
#include "analysis/emulation/emulation.h"
#include "analysis/lint/proposal.h"
#include "analysis/lint/refusal.h"
#include "analysis/compare/comparing.h"
#include "analysis/measure/judge.h"
#include "analysis/measure/judged.h"
#include "analysis/report/report.h"
#include "analysis/writing/columns.h"
#include "base/error.h"
#include "base/options.h"
#include "base/machine/cpu.h"
#include "base/machine/environment.h"
#include "base/machine/clock.h"

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
    struct ulp_arithmetic lanes[4] = {options->reference, engine ? engine->arithmetic : *arithmetic,
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
    const size_t lane_count = 2 + (x->processors || x->floats) + x->has_tf32;
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
    const struct ulp_compare_options wanted = {.reference = options->reference,
                                               .arithmetics =
                                                   engine ? &engine->arithmetic : arithmetic,
                                               .arithmetic_count = 1,
                                               .keeps = engine ? &engine->keeps : NULL,
                                               .groups = engine ? &engine->groups : NULL,
                                               .no_cause = engine != NULL,
                                               .task = options->task,
                                               .allow_nonfinite_inputs =
                                                   options->allow_nonfinite_inputs,
                                               .thread_count = options->thread_count,
                                               .progress = options->progress};
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

static char *keep(struct ulp_doctoring *x, struct ulp_text *text)
{
    char *kept = text->failed || !text->data ? NULL : ulp_arena_copy(x->doctor->memory, text->data);
    x->failed |= text->failed || (text->data && !kept);
    ulp_text_free(text);
    return kept;
}

/* The audit's verdict; what is wrong in any arithmetic, and a recording that is not explained, are
 * beyond it. */
static enum ulp_status judge(struct ulp_doctoring *x, struct ulp_error *error)
{
    struct ulp_verdict verdict;
    struct ulp_doctor *doctor = x->doctor;
    ULP_TRY(ulp_audit_judge(doctor->audit, 0, x->options->allow_nonfinite_inputs, &verdict, error));
    doctor->grade = verdict.grade;
    doctor->reason = ulp_arena_copy(doctor->memory, verdict.text);
    ulp_verdict_free(&verdict);
    return ulp_taken(doctor->reason, error);
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
        doctor->processor = keep(x, &text);
        return x->failed ? ulp_out_of_memory(error) : ULP_OK;
    }
    ulp_text_add(&text, "%s it is %s: %s", x->exact_is_worse ? row->other_word : row->word,
                 ulp_grade_name(other.grade), other.text);
    doctor->processor = ulp_doctor_copy(x, x->exact_is_worse ? row->word : row->other_word);
    doctor->this_processor = ulp_doctor_copy(x, ulp_cpu_sums_bytes() ? row->word : row->other_word);
    doctor->other_processor = keep(x, &text);
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
    ulp_verdict_free(&verdict);
    x->doctor->beside = keep(x, &text);
    return ulp_taken(x->doctor->beside, error);
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
    x->doctor->remedy = keep(x, &text);
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

/* What compare says of recordings: before what the audit says, those that are not explained. */
static enum ulp_status judge_recordings(struct ulp_doctoring *x, struct ulp_error *error)
{
    struct ulp_doctor *doctor = x->doctor;
    const struct ulp_comparison *comparison = doctor->comparison;
    const enum ulp_grade own = doctor->grade;
    struct ulp_text text = {0};
    const struct ulp_page page = {.out = &text};
    for (int explained = 0; comparison && explained < 2; explained++) {
        for (size_t f = 0; f < comparison->file_count; f++) {
            const struct ulp_compared_file *file = &comparison->files[f];
            const enum ulp_grade grade = file->explained ? ULP_GRADE_FINE
                                         : file->hidden  ? ULP_GRADE_NOT
                                                         : ULP_GRADE_BROKEN;
            struct ulp_headline head = {0};
            if (file->explained != explained)
                continue;
            ulp_comparison_headline(comparison, f, &head);
            ulp_text_show(&text, explained ? "; %s" : "%s; ", head.what.data ? head.what.data : "");
            ulp_headline_free(&page, &head);
            if (ulp_grade_weigh(grade) > ulp_grade_weigh(doctor->grade))
                doctor->grade = grade;
        }
        if (!explained)
            ulp_text_show(&text, "%s%s%s", text.length ? "computed here it is " : "",
                          text.length ? ulp_grade_name(own) : "", text.length ? ": " : "");
        if (!explained)
            ulp_text_show(&text, "%s", doctor->reason);
    }
    if (comparison)
        doctor->reason = keep(x, &text);
    return ulp_taken(doctor->reason, error);
}

static void judge_causes(struct ulp_doctor *doctor)
{
    /* nothing can be compared, and the graph says why: the reference computes it, too */
    if (doctor->grade == ULP_GRADE_NOT && doctor->cause_count &&
        doctor->causes[0].reason == ULP_DOCTOR_GRAPH)
        doctor->grade = judge_cause(&doctor->causes[0]);
    for (size_t c = 0; c < doctor->cause_count; c++)
        if (judge_cause(&doctor->causes[c]) > doctor->grade)
            doctor->grade = judge_cause(&doctor->causes[c]);
}

static enum ulp_status keep_refusal(struct ulp_doctoring *x, struct ulp_error *error)
{
    const struct ulp_finding *refused = ulp_doctor_find_refused(x->doctor);
    struct ulp_text text = {0};
    if (x->forbidding_mends)
        x->doctor->tf32_forbidden_by = ulp_doctor_copy(x, ulp_target_tf32(x->target)->forbids);
    if (refused) {
        ulp_lint_say_error(&text, refused, x->doctor->target);
        x->doctor->refused = keep(x, &text);
    }
    return x->failed ? ulp_out_of_memory(error) : ULP_OK;
}

/* Is there an edit for something that the lint found, or are values that leave the format all? */
static bool may_edit(const struct ulp_doctor *doctor)
{
    bool may = doctor->cause_count > 0;
    for (size_t c = 0; c < doctor->cause_count; c++)
        may &= doctor->causes[c].reason == ULP_DOCTOR_OVERFLOW ||
               doctor->causes[c].reason == ULP_DOCTOR_ZERO;
    for (size_t f = 0; f < doctor->lint->finding_count; f++)
        may |= ulp_lint_has_edit(doctor->lint->findings[f].rule);
    return may;
}

/* The nodes that a plan keeps; of many the first. */
static void name_kept(struct ulp_text *text, const struct ulp_search *plan)
{
    enum { SHOWN = 4 };
    for (size_t k = 0; k < plan->kept_count && k < SHOWN; k++)
        ulp_text_show(text, "%s%s", k ? ", " : "; in FP32: ", plan->kept[k].name);
    if (plan->kept_count > SHOWN)
        ulp_text_add(text, " and %zu more, which the command at next writes",
                     plan->kept_count - SHOWN);
}

/* Is it wrong where no node of a file can be kept in FP32? */
static bool is_beyond(const struct ulp_doctoring *x)
{
    return x->target && x->target->keeps == ULP_KEEPS_NOTHING &&
           x->doctor->grade != ULP_GRADE_FINE && x->doctor->grade != ULP_GRADE_NOT;
}

/* Is what errs not computed in less than FP32, so that keeping it in that changes nothing? */
static bool is_single(const struct ulp_doctoring *x)
{
    const struct ulp_doctor *doctor = x->doctor;
    const struct ulp_audit_node *node = doctor->cause_count && doctor->causes[0].index >= 0
                                            ? &x->lane->nodes[doctor->causes[0].index]
                                            : NULL;
    const struct ulp_arithmetic *arithmetic =
        node ? ulp_audit_node_arithmetic(x->lane, node) : &x->lane->arithmetic;
    return (node ? ulp_audit_node_format(x->lane, node) : arithmetic->storage).precision >=
               ULP_SINGLE &&
           arithmetic->factor.precision >= ULP_SINGLE;
}

/* Are edits of the graph what is left to try? */
static bool tries_edits(const struct ulp_doctoring *x)
{
    const struct ulp_doctor *doctor = x->doctor;
    return (doctor->grade != ULP_GRADE_FINE && doctor->cause_count && is_single(x) &&
            ulp_lint_has_edit(doctor->causes[0].rule)) ||
           (may_edit(doctor) &&
            (is_beyond(x) || (doctor->plan && !ulp_doctor_mends(doctor->plan))));
}

/* Are sums of bytes what is wrong, which weights of another type mend? */
static bool edits_weights(const struct ulp_doctoring *x)
{
    return x->processors && !x->exact_is_worse && x->doctor->cause_count &&
           x->doctor->causes[0].rule && strcmp(x->doctor->causes[0].rule, "bytes-saturate") == 0;
}

/* The first line of the plan, where it is met. */
static enum ulp_status say_remedy(struct ulp_doctoring *x, struct ulp_error *error)
{
    const struct ulp_search *plan = x->doctor->plan;
    const bool edits = tries_edits(x);
    struct ulp_text text = {0};
    if (edits_weights(x) && x->doctor->other_processor) { /* exact sums are the other lane's */
        ulp_text_add(&text,
                     "session.x64quantprecision=1, with which sums are those of the other kind of "
                     "processors, at some speed: %s; or the weights that ulpscope fix writes, the "
                     "same numbers without the option",
                     x->doctor->other_processor);
        x->doctor->remedy = keep(x, &text);
        return ulp_taken(x->doctor->remedy, error);
    }
    if (is_single(x) && !is_beyond(x)) /* the causes say what to do */
        return x->doctor->grade == ULP_GRADE_FINE || x->doctor->grade == ULP_GRADE_NOT
                   ? ULP_OK
                   : ulp_doctor_try_wider(x, error);
    if (!is_beyond(x) && !edits && (!plan || !(ulp_doctor_mends(plan) || plan->full > 1)))
        return ULP_OK;
    if (edits)
        ulp_text_add(&text, "try the edits of the graph that ulpscope fix has; else ");
    const size_t start = text.length;
    if (is_beyond(x))
        ulp_remedy_add_wider(&text, x->target);
    else
        ulp_search_verdict(&text, plan, false);
    if (!text.failed) {
        if (edits && !is_beyond(x))
            text.data[start] |= 'n' ^ 'N'; /* "No plan" */
        text.data[start + strcspn(text.data + start, "\n")] = '\0';
        char *rest = is_beyond(x) || ulp_doctor_mends(plan) ? NULL : strstr(text.data, ". Keep ");
        if (rest) /* all nodes, which does not meet it either */
            rest[1] = '\0';
        text.length = strlen(text.data);
        if (!is_beyond(x) && ulp_doctor_mends(plan)) {
            text.length -= text.length && text.data[text.length - 1] == '.';
            name_kept(&text, plan);
        }
        x->doctor->remedy = ulp_arena_copy(x->doctor->memory, text.data);
    }
    ulp_text_free(&text);
    return ulp_taken(x->doctor->remedy, error);
}

static void add_lane(struct ulp_text *out, const struct ulp_doctoring *x)
{
    if (x->by_target && strncmp(x->doctor->arithmetic, "model", 5) != 0) {
        ulp_text_add(out, " --for");
        ulp_word_add(out, x->options->target);
    } else {
        ulp_text_add(out, " -a");
        ulp_word_add(out, x->doctor->arithmetic);
    }
}

/* What the judgement was asked to be by, where it is not the default. */
static void add_judging(struct ulp_text *out, const struct ulp_doctor_options *options)
{
    if (strcmp(options->reference.name, "pair") != 0) {
        ulp_text_add(out, " --reference");
        ulp_word_add(out, options->reference.name);
    }
    if (options->allow_nonfinite_inputs)
        ulp_text_add(out, " --allow-nonfinite-inputs");
    if (options->task != ULP_TASK_UNKNOWN)
        ulp_text_add(out, " --task %s", ulp_task_name(options->task));
}

/* An audit of the same; of what was built beside FP32, since a gate is of every arithmetic. */
static void add_audit(struct ulp_text *out, const struct ulp_doctoring *x, const char *arguments)
{
    ulp_text_add(out, "ulpscope audit");
    ulp_word_add(out, x->doctor->model_path);
    ulp_text_add(out, "%s", arguments);
    if (x->options->engine)
        ulp_text_add(out, "%s",
                     x->options->engine_arguments ? x->options->engine_arguments
                                                  : " --engine LAYERS");
    ulp_text_add(out, " -a");
    ulp_word_add(out, x->options->engine ? "fp32" : x->doctor->arithmetic);
    add_judging(out, x->options);
}

/* What a gate in CI may ask for where all is fine: the tolerance, or what the worst output has
 * where another figure than its error made it fine. */
static double gate_of(const struct ulp_doctor *doctor, double tolerance)
{
    double gate = tolerance;
    const struct ulp_audit_lane *lane = &doctor->audit->lanes[0];
    for (size_t o = 0; o < lane->outputs.output_count; o++)
        if (lane->outputs.outputs[o].judged.sqnr_db < gate) /* NaN: it is exact */
            gate = floor(lane->outputs.outputs[o].judged.sqnr_db);
    return gate;
}

/* Was no remedy searched, as that was asked for, where one may be found? */
static bool may_plan(const struct ulp_doctoring *x)
{
    const struct ulp_doctor *doctor = x->doctor;
    const enum ulp_doctor_reason reason =
        doctor->cause_count ? doctor->causes[0].reason : ULP_DOCTOR_ERROR;
    return x->options->no_plan && !x->options->engine && !x->options->original && !x->floats &&
           doctor->grade != ULP_GRADE_NOT && !is_beyond(x) && !is_single(x) &&
           !ulp_doctor_find_refused(doctor) &&
           (reason == ULP_DOCTOR_OVERFLOW || reason == ULP_DOCTOR_ZERO ||
            reason == ULP_DOCTOR_DECISION || reason == ULP_DOCTOR_ERROR);
}

/* Once, though causes may share readers. */
static void add_keep(struct ulp_text *out, const char *node)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text keep = {0}, word = {0};
    ulp_text_add(&keep, "%s=fp32", node);
    ulp_text_add(&word, " --keep");
    ulp_word_add(&word, keep.data ? keep.data : "");
    out->failed |= keep.failed || word.failed;
    const char *at = word.failed || out->failed ? NULL : strstr(out->data, word.data);
    if (!at || (at[word.length] && at[word.length] != ' '))
        ulp_text_add(out, "%s", word.data ? word.data : "");
}

/* What is left of the error with the nodes that are named in FP32, where that is what they lack,
 * and what reads them: a result that is rounded between two kept nodes is rounded all the same. */
static void add_keeps(struct ulp_text *out, const struct ulp_doctoring *x)
{
    const struct ulp_doctor *doctor = x->doctor;
    enum { READERS = 2 };
    if (is_single(x)) {
        if (x->is_wide)
            ulp_text_add(out, " --keep '#%zu-%zu=fp64'", x->wide_first, x->wide_last);
        return;
    }
    for (size_t c = 0; c < doctor->cause_count; c++) {
        const struct ulp_doctor_cause *cause = &doctor->causes[c];
        size_t readers = 0;
        if (!cause->node || cause->index < 0 ||
            (cause->reason != ULP_DOCTOR_OVERFLOW && cause->reason != ULP_DOCTOR_ZERO &&
             cause->reason != ULP_DOCTOR_ERROR))
            continue;
        add_keep(out, cause->node);
        for (size_t n = 0; n < doctor->audit->place_count && readers < READERS; n++) {
            const struct ulp_place *place = &doctor->audit->places[n];
            bool reads = false;
            for (size_t i = 0; i < place->input_count; i++)
                reads |= place->inputs[i].node == cause->index;
            if (reads)
                add_keep(out, place->name);
            readers += reads;
        }
    }
}

/* The command to go on with: in CI where all is fine, the mended model where there is a plan (its
 * files, of a format that is no type of a graph) or edits alone may do, else what says more of the
 * first cause. */
static void say_next(struct ulp_doctoring *x)
{
    const struct ulp_doctor *doctor = x->doctor;
    const struct ulp_doctor_cause *first = doctor->cause_count ? doctor->causes : NULL;
    const char *arguments = x->model->arguments ? x->model->arguments : "";
    const double tolerance = ulp_doctor_tolerance(x);
    /* what keeps layers by options has them from a plan's files */
    const bool fixes = tries_edits(x) || ((x->typed || edits_weights(x)) &&
                                          !(x->target && x->target->keeps == ULP_KEEPS_LAYERS));
    char plain[80];
    struct ulp_text text = {0};
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(doctor->target ? doctor->target : "", ","),
             doctor->target ? doctor->target : "");
    if (doctor->grade == ULP_GRADE_FINE) {
        add_audit(&text, x, arguments);
        const double gate = gate_of(doctor, tolerance);
        if (isfinite(gate)) /* not of --task none, of what has no rms */
            ulp_text_add(&text, " --fail-above sqnr_db=%g", gate);
    } else if (x->forbidding_mends) {
        ulp_text_add(&text, "ulpscope doctor");
        ulp_word_add(&text, doctor->model_path);
        ulp_text_add(&text, "%s --for %s,tf32=off", arguments, plain);
        add_judging(&text, x->options);
    } else if ((doctor->plan && ulp_doctor_mends(doctor->plan)) || doctor->stopped > 0 ||
               tries_edits(x) || edits_weights(x) || may_plan(x)) {
        ulp_text_add(&text, fixes ? "ulpscope fix" : "ulpscope plan");
        ulp_word_add(&text, doctor->model_path);
        ulp_text_add(&text, "%s", arguments);
        add_lane(&text, x);
        add_judging(&text, x->options);
        if (!fixes || x->options->tolerance > 0)
            ulp_text_add(&text, " --tolerance sqnr_db=%g", tolerance);
        ulp_text_add(&text, "%s%s", fixes ? " -o fixed.onnx" : " --out plan/",
                     doctor->stopped > 0 ? " # searches to the end" : "");
    } else if (first && first->reason == ULP_DOCTOR_GRAPH && !x->options->original) {
        ulp_text_add(&text, "ulpscope lint");
        ulp_word_add(&text, doctor->model_path);
        ulp_text_add(&text, "%s%s%s", arguments, *plain ? " --for " : "", plain);
    } else if (first && first->reason == ULP_DOCTOR_RECORDING && !x->options->engine) {
        ulp_text_add(&text, "ulpscope compare");
        ulp_word_add(&text, doctor->model_path);
        for (size_t r = 0; r < x->options->recording_count; r++) { /* a file has several */
            const struct ulp_recording *recording = &x->options->recordings[r];
            const char *runner = strstr(recording->name, ".json:");
            char *path = ulp_arena_text(x->doctor->memory, recording->name,
                                        runner ? (size_t)(runner + 5 - recording->name)
                                               : strlen(recording->name));
            if (path && !strstr(text.data, path))
                ulp_word_add(&text, path);
            x->failed |= !path;
        }
        ulp_text_add(&text, "%s -a", arguments);
        ulp_word_add(&text, doctor->arithmetic);
    } else {
        add_audit(&text, x, arguments);
        if (x->options->original) {
            ulp_text_add(&text, " --reference-model");
            ulp_word_add(&text, ulp_model_path(x->options->original));
        } else
            add_keeps(&text, x);
        ulp_text_add(&text, " --html audit.html");
    }
    x->doctor->next = keep(x, &text);
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
    ULP_TRY(ulp_doctor_forecast(x, &arithmetic, error));
    ULP_TRY(run_compare(x, &arithmetic, error));
    ULP_TRY(ulp_doctor_plan(x, error));
    ULP_TRY(judge_beside(x, error));
    ULP_TRY(try_forbidding(x, error));
    ULP_TRY(ulp_doctor_find_causes(x, error));
    judge_causes(doctor);
    ULP_TRY(keep_refusal(x, error));
    ULP_TRY(judge_recordings(x, error));
    ULP_TRY(ulp_judged_rests(x->model, doctor->arithmetic, doctor->target, &rests_on, error));
    doctor->rests_on = ulp_doctor_copy(x, rests_on);
    ULP_TRY(say_remedy(x, error));
    say_next(x);
    return x->failed ? ulp_out_of_memory(error) : ULP_OK;
}

enum ulp_status ulp_doctor_run(const struct ulp_model *model,
                               const struct ulp_doctor_options *options,
                               const struct ulp_sample *samples, size_t sample_count,
                               struct ulp_doctor *out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
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
    if (status == ULP_OK)
        status = walk(&x, error);
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
