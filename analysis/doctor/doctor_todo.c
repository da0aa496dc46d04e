/* What to do: the remedy, and the command to go on with. */
#include <math.h>
#include <string.h>

#include "analysis/search/search_remedy.h"
#include "analysis/search/written/search_text.h"
#include "analysis/doctor/doctoring.h"
#include "analysis/audit/audit_mixed.h"
#include "analysis/lint/proposal.h"
#include "analysis/report/report.h"
#include "base/error.h"

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
    if (is_single(x) && !is_beyond(x)) /* what the lint says of less has nothing to mend */
        return doctor->grade != ULP_GRADE_FINE && doctor->cause_count &&
               ulp_lint_has_edit(doctor->causes[0].rule);
    return may_edit(doctor) && (is_beyond(x) || (doctor->plan && !ulp_doctor_mends(doctor->plan)));
}

/* Are sums of bytes what is wrong, which weights of another type mend? */
static bool edits_weights(const struct ulp_doctoring *x)
{
    return x->processors && !x->exact_is_worse && x->doctor->cause_count &&
           x->doctor->causes[0].rule && strcmp(x->doctor->causes[0].rule, "bytes-saturate") == 0;
}

/* What the plan says, or that there is none. */
enum ulp_status ulp_doctor_say_remedy(struct ulp_doctoring *x, struct ulp_error *error)
{
    const struct ulp_search *plan = x->doctor->plan;
    const bool edits = tries_edits(x);
    struct ulp_text text = {0};
    if (x->only_inside) /* its cause says what to do */
        return ULP_OK;
    if (x->doctor->grade == ULP_GRADE_NOT)
        ulp_report_uncompared(&text, x->lane);
    if (text.length) {
        x->doctor->remedy = ulp_doctor_keep(x, &text);
        return ulp_taken(x->doctor->remedy, error);
    }
    if (edits_weights(x) && x->doctor->other_processor) { /* exact sums are the other lane's */
        ulp_text_add(&text,
                     "session.x64quantprecision=1, with which sums are those of the other kind of "
                     "processors, at some speed: %s; or the weights that ulpscope fix writes, the "
                     "same numbers without the option",
                     x->doctor->other_processor);
        x->doctor->remedy = ulp_doctor_keep(x, &text);
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
    else if (ulp_search_fails(plan))
        ulp_search_say_none(&text, plan);
    else {
        struct ulp_headline head = {0};
        ulp_search_say(&head, plan, 0);
        ulp_text_add(&text, "%s%s%s", head.what.data ? head.what.data : "",
                     head.why.length ? "; " : "", head.why.length ? head.why.data : "");
        ulp_headline_free(&(struct ulp_page){.out = &text}, &head);
        if (ulp_doctor_mends(plan))
            name_kept(&text, plan);
        else
            ulp_text_add(&text, ".");
    }
    if (edits && !is_beyond(x) && !text.failed)
        text.data[start] |= 'n' ^ 'N'; /* "No plan" */
    x->doctor->remedy = ulp_doctor_keep(x, &text);
    return ulp_taken(x->doctor->remedy, error);
}

static void add_lane(struct ulp_text *out, const struct ulp_doctoring *x)
{
    if (x->by_target && strncmp(x->doctor->arithmetic, "model", 5) != 0)
        ulp_option_add(out, " --for", x->options->target);
    else
        ulp_option_add(out, " -a", x->doctor->arithmetic);
}

/* What the judgement was asked to be by, where it is not the default. */
static void add_judging(struct ulp_text *out, const struct ulp_doctor_options *options)
{
    if (strcmp(options->reference.name, "pair") != 0)
        ulp_option_add(out, " --reference", options->reference.name);
    if (options->allow_nonfinite_inputs)
        ulp_text_add(out, " --allow-nonfinite-inputs");
    if (options->task != ULP_TASK_UNKNOWN)
        ulp_text_add(out, " --task %s", ulp_task_name(options->task));
}

/* A command of the model. */
static void add_command(struct ulp_text *out, const struct ulp_doctoring *x, const char *command,
                        const char *arguments)
{
    ulp_option_add(out, command, x->doctor->model_path);
    ulp_text_add(out, "%s", arguments);
}

/* An audit of the same; of what was built beside FP32, since a gate is of every arithmetic. */
static void add_audit(struct ulp_text *out, const struct ulp_doctoring *x, const char *arguments)
{
    add_command(out, x, "ulpscope audit", arguments);
    if (x->options->engine)
        ulp_text_add(out, "%s",
                     x->options->engine_arguments ? x->options->engine_arguments
                                                  : " --engine LAYERS");
    ulp_option_add(out, " -a", x->options->engine ? "fp32" : x->doctor->arithmetic);
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
    ulp_option_add(&word, " --keep", keep.data ? keep.data : "");
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
        if (x->wide_in)
            ulp_text_add(out, " --keep '#%zu-%zu=%s'", x->wide_first, x->wide_last, x->wide_in);
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
void ulp_doctor_say_next(struct ulp_doctoring *x)
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
    } else if (x->only_inside) {
        add_command(&text, x, "ulpscope audit", arguments);
        ulp_text_add(&text, " -a %s,%s", doctor->arithmetic, ulp_doctor_rows(x)->arithmetic.asked);
        add_judging(&text, x->options);
    } else if (x->forbidding_mends) {
        add_command(&text, x, "ulpscope doctor", arguments);
        ulp_text_add(&text, " --for %s,tf32=off", plain);
        add_judging(&text, x->options);
    } else if ((doctor->plan && ulp_doctor_mends(doctor->plan)) || doctor->stopped > 0 ||
               tries_edits(x) || edits_weights(x) || may_plan(x)) {
        add_command(&text, x, fixes ? "ulpscope fix" : "ulpscope plan", arguments);
        add_lane(&text, x);
        add_judging(&text, x->options);
        if (!fixes || x->options->tolerance > 0)
            ulp_text_add(&text, " --tolerance sqnr_db=%g", tolerance);
        ulp_text_add(&text, "%s%s", fixes ? " -o fixed.onnx" : " --out plan/",
                     doctor->stopped > 0 ? " # searches to the end" : "");
    } else if (first && first->reason == ULP_DOCTOR_GRAPH && !x->options->original) {
        add_command(&text, x, "ulpscope lint", arguments);
        ulp_text_add(&text, "%s%s", *plain ? " --for " : "", plain);
    } else if (first && first->reason == ULP_DOCTOR_RECORDING && !x->options->engine) {
        add_command(&text, x, "ulpscope compare", "");
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
        ulp_text_add(&text, "%s", arguments);
        ulp_option_add(&text, " -a", doctor->arithmetic);
    } else {
        add_audit(&text, x, arguments);
        if (x->options->original)
            ulp_option_add(&text, " --reference-model", ulp_model_path(x->options->original));
        else if (!x->target || x->target->keeps != ULP_KEEPS_NOTHING)
            add_keeps(&text, x);
        ulp_text_add(&text, " --html audit.html");
    }
    x->doctor->next = ulp_doctor_keep(x, &text);
}
