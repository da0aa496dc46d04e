/* Judging outputs by the tolerances. */
#include "analysis/audit/auditor.h"
#include "analysis/measure/judge.h"
#include "analysis/measure/judged.h"
#include "analysis/measure/metrics.h"
#include "analysis/measure/objects.h"
#include "analysis/emulation/emulation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "run/lane.h"
#include "number/function/math.h"

enum ulp_status ulp_emulation_limits(struct ulp_emulation *emulation, struct ulp_error *error)
{
    const struct ulp_emulated *given = &emulation->given;
    ULP_TAKE(emulation->limits, emulation->memory, given->tolerance_count + 1, error);
    const size_t outputs = ulp_model_output_count(given->model) + 1;
    ULP_TAKE(emulation->decided, emulation->memory, outputs, error);
    ULP_TAKE(emulation->left, emulation->memory, outputs, error);
    if (!given->tolerance_count)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s needs a tolerance, as sqnr_db=60", given->what);
    for (size_t t = 0; t < given->tolerance_count; t++)
        ULP_TRY(ulp_limit_read(given->tolerances[t], emulation->program->model,
                               &emulation->limits[t], error));
    emulation->limit_count = given->tolerance_count;
    return ULP_OK;
}

/* How many times too large the error is. */
static double find_ratio(const struct ulp_limit *limit, double value)
{
    double ratio;
    if (limit->figure == ULP_FIGURE_sqnr_db)
        ratio = ulp_math_pow(10, (limit->value - value) / 20);
    else if (limit->figure == ULP_FIGURE_cosine)
        ratio = sqrt(ulp_math_max(1 - value, 0) /
                     (1 - limit->value)); /* 1 - cosine goes by its square */
    else
        ratio = value == 0 ? 0 : fabs(value) / limit->value;
    if (isnan(ratio))
        return INFINITY;
    /* What the limit itself says is not left to rounding. */
    return ulp_limit_is_beyond(limit->figure, value, limit->value) ? ulp_math_max(ratio, 1 + 1e-12)
                                                                   : ulp_math_min(ratio, 1);
}

static void keep_worst_ratio(struct ulp_judgement *out, double ratio, const char *output,
                             const char *metric, double value)
{
    if (out->output && !(ratio > out->ratio))
        return;
    *out =
        (struct ulp_judgement){.ratio = ratio, .output = output, .metric = metric, .value = value};
}

static const char *name_of(const struct ulp_emulation *emulation, size_t o)
{
    return ulp_model_output(emulation->program->model, o).name;
}

static bool is_meant(const struct ulp_limit *limit, const char *output)
{
    return !limit->output || strcmp(limit->output, output) == 0;
}

static bool is_judged(const struct ulp_emulation *emulation, size_t o)
{
    const struct ulp_block *main = emulation->program->main;
    bool meant = false;
    for (size_t t = 0; t < emulation->limit_count; t++)
        meant |= is_meant(&emulation->limits[t], name_of(emulation, o));
    return meant && ulp_block_computes(main, main->outputs[o]);
}

/* Every limit needs an output that a node computes. */
static enum ulp_status check_limits(const struct ulp_emulation *emulation, struct ulp_error *error)
{
    for (size_t t = 0; t < emulation->limit_count; t++) {
        const struct ulp_limit *limit = &emulation->limits[t];
        bool any = false;
        for (size_t o = 0; o < ulp_model_output_count(emulation->program->model); o++)
            any |= is_meant(limit, name_of(emulation, o)) && is_judged(emulation, o);
        if (!any)
            return ulp_judge_fail(
                &(struct ulp_unjudged){.name = limit->output,
                                       .reason = limit->output
                                                     ? "is computed by no node"
                                                     : ulp_judge_reason(ULP_CROSSED_NO_OUTPUT)},
                error);
    }
    return ULP_OK;
}

enum ulp_status ulp_emulation_check_inputs(const struct ulp_emulated *given,
                                           const struct ulp_sample *samples, size_t count,
                                           struct ulp_error *error)
{
    for (size_t s = 0; s < count && !given->allow_nonfinite_inputs; s++)
        ULP_TRY(ulp_judge_inputs(samples[s].inputs, samples[s].name, error));
    return ULP_OK;
}

/* Of one sample: its outputs in the reference, and where that stops being finite. */
static enum ulp_status check_truth(const struct ulp_emulation *emulation,
                                   const struct ulp_sample *sample,
                                   const struct ulp_tensor_set *truth,
                                   const struct ulp_birth *births, size_t birth_count,
                                   struct ulp_error *error)
{
    const struct ulp_birth *hidden = ulp_birth_of(births, birth_count, NULL);
    for (size_t o = 0; o < truth->count; o++) {
        const struct ulp_birth *birth = ulp_birth_of(births, birth_count, name_of(emulation, o));
        enum ulp_crossing_kind kind = ulp_judge_reference(&truth->items[o].tensor, sample->inputs);
        if (birth && kind == ULP_CROSSED_VALUE)
            kind = ULP_CROSSED_REFERENCE;
        if (is_judged(emulation, o) && kind != ULP_CROSSED_VALUE)
            return ulp_judge_fail_birth(kind, birth, name_of(emulation, o), sample->name, error);
    }
    return hidden && !hidden->output_count
               ? ulp_judge_fail_birth(ULP_CROSSED_HIDDEN, hidden, NULL, sample->name, error)
               : ULP_OK;
}

static void free_certificate(struct ulp_certificate *certificate)
{
    free(certificate->node);
}

/* Is the reference a judge? */
static enum ulp_status check_digits(const struct ulp_emulation *emulation,
                                    const struct ulp_certificate *certificate,
                                    struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    const size_t at = certificate->lost ? certificate->lost_at : 0;
    if (!ulp_certificate_is_lost(certificate))
        return ULP_OK;
    ulp_certificate_say(&text, certificate, ulp_program_node_name(emulation->program, at),
                        ulp_program_node_op(emulation->program, at),
                        emulation->given.reference->name);
    return text.failed ? ulp_out_of_memory(error)
                       : ulp_judge_fail(&(struct ulp_unjudged){.reason = text.data}, error);
}

enum ulp_status ulp_emulation_check_sample(const struct ulp_emulation *emulation,
                                           const struct ulp_sample *sample,
                                           const struct ulp_tensor_set *truth,
                                           struct ulp_error *error)
{
    const struct ulp_emulated *given = &emulation->given;
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    ULP_TRY(ulp_arena_create(&arena, ulp_model_budget(given->model), error));
    struct ulp_birth_watch watch = {.memory = arena};
    ULP_SCOPED(free_certificate) struct ulp_certificate certificate = {0};
    ULP_TRY(ulp_birth_find(&watch, given->model, given->reference, sample->inputs,
                           given->thread_count, &certificate, error));
    ULP_TRY(check_digits(emulation, &certificate, error));
    return check_truth(emulation, sample, truth, watch.items, watch.count, error);
}

enum ulp_status ulp_emulation_check_truths(const struct ulp_emulation *emulation,
                                           const struct ulp_audit *audit, struct ulp_error *error)
{
    const struct ulp_emulated *given = &emulation->given;
    ULP_TRY(check_limits(emulation, error));
    ULP_TRY(audit ? check_digits(emulation, &audit->certificate, error) : ULP_OK);
    for (size_t s = 0, first = 0; s < given->sample_count; s++) {
        size_t end = first; /* of the sample's, which come in its order */
        while (audit && end < audit->birth_count && audit->births[end].sample == s)
            end++;
        ULP_TRY(audit ? check_truth(emulation, &given->samples[s], &emulation->truths[s],
                                    &audit->births[first], end - first, error)
                      : ulp_emulation_check_sample(emulation, &given->samples[s],
                                                   &emulation->truths[s], error));
        first = end;
    }
    return ULP_OK;
}

/* Is the output nothing but a decision that is taken otherwise even where nothing is lowered? Then
 * it is the reference's own, with which it would be compared. */
static bool is_left(const struct ulp_emulation *emulation, size_t o,
                    const struct ulp_metrics *metrics)
{
    if (!emulation->follows && metrics->diverged)
        emulation->decided[o] = true;
    return emulation->follows && emulation->decided[o] && !(metrics->max_abs > 0);
}

/* The o-th output's metrics by all limits on it. */
static void judge_metrics(const struct ulp_emulation *emulation, size_t o,
                          const struct ulp_metrics *metrics, bool is_float,
                          struct ulp_judgement *out)
{
    const char *name = name_of(emulation, o); /* outlives both */
    const enum ulp_crossing_kind kind = ulp_judge_metrics(metrics);
    if (kind != ULP_CROSSED_VALUE) {
        keep_worst_ratio(out, INFINITY, name, ulp_judge_name(kind),
                         kind == ULP_CROSSED_NONFINITE ? (double)metrics->nonfinite : 1);
        return;
    }
    for (size_t t = 0; t < emulation->limit_count; t++) {
        const struct ulp_limit *limit = &emulation->limits[t];
        const double figure = ulp_figure_get(metrics, limit->figure);
        if (is_meant(limit, name))
            keep_worst_ratio(out, is_float ? find_ratio(limit, figure) : 0, name,
                             ulp_figure_rows[limit->figure].name, figure);
    }
}

/* The output as the graph hands it on: of a type that it declares, or is to declare, and that holds
 * less than the node that computes it. *format: of its elements. */
static enum ulp_status hand_on_declared(const struct ulp_emulation *emulation, size_t o,
                                        const struct ulp_tensor *value, struct ulp_format *format,
                                        struct ulp_tensor *out, struct ulp_error *error)
{
    const struct ulp_arithmetic *own = &emulation->program->lanes[1];
    const enum ulp_type type = ulp_model_output(emulation->program->model, o).type;
    struct ulp_format declared;
    *out = ulp_tensor_view(value);
    ULP_TRY(ulp_lane_format(own, value->type, format, error));
    if (own->as_declared)
        return ULP_OK;
    if (type == ULP_TYPE_FLOAT16 || type == ULP_TYPE_BFLOAT16)
        ULP_TRY(ulp_format_find(ulp_type_rows[type].format, &declared, error));
    else if (emulation->given.lower_outputs && type == ULP_TYPE_FLOAT)
        declared = own->storage;
    else
        return ULP_OK;
    *format = declared;
    ULP_TRY(ulp_tensor_create_like(out, value, value->element, value->precision,
                                   ulp_model_budget(emulation->given.model), error));
    return ulp_tensor_convert(out, value, &declared, own->rounding, own->seed, emulation->pool,
                              error);
}

struct ulp_purpose ulp_emulation_purpose(const struct ulp_emulation *emulation, size_t output,
                                         const struct ulp_tensor *truth)
{
    return ulp_audit_purpose(emulation->program, output, emulation->given.task, truth);
}

enum ulp_status ulp_emulation_lists(const struct ulp_emulation *emulation,
                                    const struct ulp_tensor_set *outputs,
                                    const struct ulp_tensor_set *truth, struct ulp_judged **judged,
                                    struct ulp_error *error)
{
    const size_t count = emulation->program->main->output_count;
    struct ulp_budget *const budget = ulp_model_budget(emulation->given.model);
    ULP_SCOPED(ulp_free_of) const struct ulp_tensor **tensors = NULL;
    ULP_TRY(ulp_allocate_zero(&tensors, 2 * count + 1, sizeof(struct ulp_tensor *), budget,
                              "lists of objects", error));
    ULP_TRY(
        ulp_allocate_zero(judged, count + 1, sizeof **judged, budget, "lists of objects", error));
    for (size_t o = 0; o < count; o++) {
        tensors[o] = ulp_tensor_set_find(outputs, name_of(emulation, o));
        tensors[count + o] = tensors[o] ? ulp_tensor_set_find(truth, name_of(emulation, o)) : NULL;
    }
    return ulp_objects_judge_all(emulation->program, emulation->given.task, tensors,
                                 tensors + count, budget, *judged, error);
}

/* What the output is for, and how well it does it; listed: UNKNOWN, or what is known of it. */
static enum ulp_status judge_task(const struct ulp_emulation *emulation, size_t o,
                                  const struct ulp_tensor *value, const struct ulp_tensor *exact,
                                  const struct ulp_metrics *metrics,
                                  const struct ulp_judged *listed, struct ulp_error *error)
{
    struct ulp_judged *sum = &emulation->judged[o], one = *listed;
    if (one.task == ULP_TASK_UNKNOWN && !ulp_tensor_same_shape(value, exact))
        return ULP_OK;
    if (one.task == ULP_TASK_UNKNOWN)
        ULP_TRY(ulp_judged_measure(value, exact, ulp_emulation_purpose(emulation, o, exact),
                                   ulp_model_budget(emulation->given.model), &one, error));
    const bool first = sum->task == ULP_TASK_UNKNOWN;
    const double before = sum->sqnr_db, own = ulp_judged_decibels(&one, metrics->sqnr_db);
    ulp_judged_add(sum, &one);
    sum->sqnr_db = first || !(own >= before) ? own : before;
    return ULP_OK;
}

static bool is_named(const struct ulp_judgement *judgement, enum ulp_crossing_kind kind)
{
    return judgement->metric && strcmp(judgement->metric, ulp_judge_name(kind)) == 0;
}

enum ulp_grade ulp_emulation_grade(const struct ulp_emulation *emulation,
                                   const struct ulp_judgement *worst)
{
    const struct ulp_model *model = emulation->given.model;
    struct ulp_judged *judged = emulation->judged;
    const size_t count = ulp_model_output_count(model), graded = ulp_judged_worst(judged, count);
    bool broken = is_named(worst, ULP_CROSSED_NONFINITE);
    for (size_t o = 0; o < count; o++)
        broken |= judged[o].task == ULP_TASK_UNKNOWN && is_named(worst, ULP_CROSSED_DIVERGED) &&
                  strcmp(worst->output, ulp_model_output(model, o).name) == 0;
    return broken ? ULP_GRADE_BROKEN : graded < count ? judged[graded].grade : ULP_GRADE_FINE;
}

/* Of a problem's truth it is asked for once. */
static enum ulp_status score_truth(const struct ulp_emulation *emulation,
                                   const struct ulp_tensor_set *truth, double *out,
                                   struct ulp_error *error)
{
    const struct ulp_scorer *scorer = emulation->given.scorer;
    for (size_t p = 0; p < emulation->problem_count; p++)
        if (truth == &emulation->truths[p]) {
            if (!emulation->scored[p])
                ULP_TRY(scorer->score(scorer->context, truth, &emulation->scores[p], error));
            emulation->scored[p] = true;
            *out = emulation->scores[p];
            return ULP_OK;
        }
    return scorer->score(scorer->context, truth, out, error);
}

/* Besides, the task's own figure. A loss where none is allowed is too much by its part of the
 * figure. */
static enum ulp_status judge_score(const struct ulp_emulation *emulation,
                                   const struct ulp_tensor_set *outputs,
                                   const struct ulp_tensor_set *truth, struct ulp_judgement *out,
                                   struct ulp_error *error)
{
    const struct ulp_scorer *scorer = emulation->given.scorer;
    double own, reference;
    if (!scorer)
        return ULP_OK;
    ULP_TRY(scorer->score(scorer->context, outputs, &own, error));
    ULP_TRY(score_truth(emulation, truth, &reference, error));
    if (!isfinite(reference))
        return ulp_fail(error, ULP_ERROR_INPUT, "--metric: %g of the reference's outputs",
                        reference);
    const double lost = isfinite(own) ? reference - own : INFINITY;
    if (lost > scorer->loss)
        keep_worst_ratio(out,
                         scorer->loss > 0 || isinf(lost)
                             ? lost / ulp_math_max(scorer->loss, 1e-300)
                             : 1 + lost / ulp_math_max(fabs(reference), lost),
                         out->output, "score", own);
    out->loses = lost > scorer->loss;
    return ULP_OK;
}

enum ulp_status ulp_emulation_judge(const struct ulp_emulation *emulation,
                                    const struct ulp_tensor_set *outputs,
                                    const struct ulp_tensor_set *truth, struct ulp_judgement *out,
                                    struct ulp_error *error)
{
    *out = (struct ulp_judgement){.ratio = INFINITY,
                                  .output = "",
                                  .metric = ulp_judge_name(ULP_CROSSED_NO_OUTPUT)};
    bool any = false;
    const char *left = NULL; /* an output of which nothing is asked */
    ULP_SCOPED(ulp_free_of) struct ulp_judged *listed = NULL;
    if (emulation->judged)
        ULP_TRY(ulp_emulation_lists(emulation, outputs, truth, &listed, error));
    for (size_t o = 0; o < truth->count; o++) {
        const struct ulp_tensor *exact = &truth->items[o].tensor;
        const bool is_float = ulp_element_is_float(exact->element);
        const bool steps =
            !is_float && ulp_emulation_purpose(emulation, o, exact).task == ULP_TASK_SIGNAL;
        const struct ulp_tensor *given = ulp_tensor_set_find(outputs, name_of(emulation, o));
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor value = ulp_tensor_view(given);
        struct ulp_metrics metrics;
        struct ulp_format format = {0};
        if (!is_judged(emulation, o))
            continue;
        if (is_float)
            ULP_TRY(hand_on_declared(emulation, o, given, &format, &value, error));
        ULP_TRY(ulp_metrics_measure_on(&value, exact, &format, emulation->pool, &metrics, error));
        metrics.diverged &= !(steps && ulp_tensor_same_shape(&value, exact));
        const bool leaves = is_left(emulation, o, &metrics);
        if (emulation->judged && !leaves)
            ULP_TRY(judge_task(emulation, o, &value, exact, &metrics, &listed[o], error));
        emulation->left[o] = leaves;
        if (leaves) {
            left = name_of(emulation, o);
            continue;
        }
        if (!any)
            *out = (struct ulp_judgement){0};
        any = true;
        judge_metrics(emulation, o, &metrics, is_float || steps, out);
    }
    if (any || !left)
        return judge_score(emulation, outputs, truth, out, error);
    /* nothing else is there to go by */
    memset(emulation->left, 0, truth->count * sizeof *emulation->left);
    *out = (struct ulp_judgement){.ratio = INFINITY,
                                  .output = left,
                                  .metric = ulp_judge_name(ULP_CROSSED_DIVERGED),
                                  .value = 1};
    return ULP_OK;
}

void ulp_emulation_forget_decided(struct ulp_emulation *emulation)
{
    if (!emulation->follows)
        memset(emulation->decided, 0,
               ulp_model_output_count(emulation->given.model) * sizeof *emulation->decided);
}

bool ulp_emulation_diverged(const struct ulp_emulation *emulation,
                            const struct ulp_judgement *judgements)
{
    bool any = false;
    for (size_t s = 0; s < emulation->given.sample_count; s++)
        any |= judgements[s].metric &&
               strcmp(judgements[s].metric, ulp_judge_name(ULP_CROSSED_DIVERGED)) == 0;
    return any;
}
