/* Trials: the arithmetic and the reference run on slightly changed problems, so that every
 * rounding is drawn anew. */
#include <math.h>

#include "analysis/compare/comparing.h"
#include "analysis/measure/metrics.h"
#include "analysis/schedule/redraw.h"
#include "base/error.h"
#include "number/function/math.h"
#include "run/program/program.h"

/* Of the time in which an answer is wanted: trials of neighbours but the first two are begun until
 * then. */
#define TRIALS_PART 0.4

struct trying {
    struct ulp_comparing *comparing;
    size_t arithmetic, trial;
    bool first; /* of those that follow one another */
};

/* Errors of one trial at one tensor. */
struct trial_error {
    struct ulp_error_size size;
    double square, previous_square, product; /* over elements that are finite in both trials */
    double moved_square, moved_max;
    size_t finite, moved_finite;
};

static struct trial_error measure_errors(struct ulp_compared_work *work,
                                         const struct ulp_tensor *value,
                                         const struct ulp_tensor *truth)
{
    struct trial_error error = {0};
    double sum = 0;
    for (size_t i = 0; i < truth->count; i++) {
        const double r = ulp_tensor_get(truth, i), d = ulp_tensor_get(value, i) - r,
                     moved = r - work->reference[i];
        if (isfinite(moved)) {
            error.moved_square += moved * moved;
            error.moved_max = ulp_math_max(error.moved_max, fabs(moved));
            error.moved_finite++;
        }
        if (!isfinite(d)) {
            error.size.nonfinite += isfinite(r) != 0;
            work->previous[i] = NAN;
            continue;
        }
        sum += d * d;
        error.size.max_abs = ulp_math_max(error.size.max_abs, fabs(d));
        error.finite++;
        const double before = (double)work->previous[i];
        if (isfinite(before)) {
            error.square += d * d;
            error.previous_square += before * before;
            error.product += d * before;
        }
        work->previous[i] = (float)d;
    }
    error.size.rms = error.finite ? sqrt(sum / (double)error.finite) : 0;
    return error;
}

/* The first trial has no errors before it to compare with. */
static enum ulp_status prepare_previous(struct ulp_compared_work *work, bool first,
                                        struct ulp_error *error)
{
    if (!work->previous) {
        void *previous;
        ULP_TRY(ulp_allocate(&previous, work->count, sizeof *work->previous,
                             ulp_charged(work->reference), "errors of a trial", error));
        work->previous = previous;
    }
    for (size_t i = 0; i < work->count && first; i++)
        work->previous[i] = NAN;
    return ULP_OK;
}

static enum ulp_status add_trial(const struct trying *trying, struct ulp_compared_work *work,
                                 const struct ulp_tensor *value, const struct ulp_tensor *truth,
                                 struct ulp_error *error)
{
    struct ulp_members *members = &work->members[trying->arithmetic];
    ULP_TRY(prepare_previous(work, trying->first, error));
    struct trial_error trial = measure_errors(work, value, truth);
    /* Doubles hold a difference from a wide reference only roughly. */
    enum ulp_status status = ULP_OK;
    if (truth->element == ULP_ELEMENT_WIDE || truth->element == ULP_ELEMENT_PAIR) {
        struct ulp_metrics metrics;
        status =
            ulp_metrics_measure_on(value, truth, &trying->comparing->options->reference.storage,
                                   trying->comparing->pool, &metrics, error);
        if (status != ULP_OK)
            return status;
        trial.size.rms = metrics.count ? metrics.rms : 0;
        trial.size.max_abs = metrics.count ? metrics.max_abs : 0;
    }
    if (trial.size.nonfinite)
        status = ulp_compare_note_kinds(trying->comparing, work, members, value, error);
    if (status != ULP_OK)
        return status;
    members->trials++;
    const double small = ulp_small_rms(work, value, truth);
    members->small_squares += small * small;
    members->square_sum += trial.size.rms * trial.size.rms;
    if (!work->chosen)
        ulp_matched_add(&members->matched, trial.size.rms);
    members->max_abs = ulp_math_max(members->max_abs, trial.size.max_abs);
    members->nonfinite =
        trial.size.nonfinite > members->nonfinite ? trial.size.nonfinite : members->nonfinite;
    if (trial.square > 0 && trial.previous_square > 0) {
        members->pairs++;
        members->cosine_squares +=
            trial.product / trial.square * (trial.product / trial.previous_square);
    }
    if (trial.moved_finite)
        members->moved_rms =
            ulp_math_max(members->moved_rms, sqrt(trial.moved_square / (double)trial.moved_finite));
    members->moved_max = ulp_math_max(members->moved_max, trial.moved_max);
    return ULP_OK;
}

static enum ulp_status match_trial(const struct trying *trying, size_t number,
                                   const struct ulp_tensor *value, const struct ulp_tensor *truth,
                                   struct ulp_error *error)
{
    struct ulp_members *members = &trying->comparing->work[number].members[trying->arithmetic];
    double distance;
    ULP_TRY(ulp_matched_distance(trying->comparing, number, value, truth, &distance, error));
    ulp_matched_add(&members->matched, distance);
    members->resized = ulp_math_max(members->resized,
                                    ulp_matched_resized(trying->comparing, number, value, truth));
    return ULP_OK;
}

static enum ulp_status try_node(void *context, const struct ulp_event *event,
                                struct ulp_error *error)
{
    const struct trying *trying = context;
    struct ulp_comparing *comparing = trying->comparing;
    ULP_TRY(ulp_decisions_follow(comparing, trying->arithmetic, event, 1, 2, false, error));
    for (size_t o = 0; o < event->output_count; o++) {
        const struct ulp_tensor *truth = event->values[o].entire,
                                *value = event->values[event->output_count + o].entire;
        const ptrdiff_t number =
            ulp_compared_find(comparing, event->output_names[o], event->execution);
        if (number < 0)
            continue;
        struct ulp_compared_work *work = &comparing->work[number];
        work->members[trying->arithmetic].reached = trying->trial + 1;
        work->members[trying->arithmetic].open |=
            ulp_is_open(comparing, trying->arithmetic, event->output_names[o]);
        if (value && work->chosen)
            ULP_TRY(match_trial(trying, (size_t)number, value, truth, error));
        if (!value || value->count != work->count || truth->count != work->count)
            work->members[trying->arithmetic].shapeless = true;
        else
            ULP_TRY(add_trial(trying, work, value, truth, error));
    }
    return ULP_OK;
}

/* A rounding that was drawn otherwise sent an index out of its axis, or made a shape that does not
 * fit: what lies behind has no value in this trial, as behind any decision that falls otherwise. */
static enum ulp_status note_end(const struct trying *trying, const struct ulp_error *why)
{
    const struct ulp_comparing *comparing = trying->comparing;
    struct ulp_comparison *out = comparing->out;
    for (size_t t = 0; t < out->tensor_count; t++) {
        struct ulp_members *members = &comparing->work[t].members[trying->arithmetic];
        members->open |= members->reached != trying->trial + 1;
        members->shapeless |= members->reached != trying->trial + 1;
    }
    if (!out->ended++ && !(out->ended_by = ulp_comparing_text(comparing, why->message)))
        return ULP_ERROR_MEMORY;
    return ULP_OK;
}

static enum ulp_status run_trial(const struct trying *trying, struct ulp_error *error)
{
    const struct ulp_comparing *comparing = trying->comparing;
    const struct ulp_compare_options *options = comparing->options;
    const struct ulp_arithmetic *arithmetic = &options->arithmetics[trying->arithmetic];
    struct ulp_arithmetic lanes[2] = {options->reference, *arithmetic};
    const struct ulp_keeps keeps[2] = {{0},
                                       options->keeps ? options->keeps[trying->arithmetic]
                                                      : (struct ulp_keeps){0}};
    const struct ulp_groups groups[2] = {{0},
                                         options->groups ? options->groups[trying->arithmetic]
                                                         : (struct ulp_groups){0}};
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set inputs = {0};
    ULP_SCOPED(ulp_program_free_of) struct ulp_program *program = NULL;
    struct ulp_program_options plan_options = {.inputs = comparing->inputs,
                                               .keeps = keeps,
                                               .groups = options->groups ? groups : NULL,
                                               .perturbation =
                                                   ulp_redraw(arithmetic, trying->trial + 1)};
    plan_options.perturbation.held = true;
    ULP_TRY(ulp_redraw_reference(comparing->program, &options->reference, arithmetic, &lanes[0],
                                 error));
    ULP_TRY(ulp_redraw_inputs(comparing->inputs, &plan_options.perturbation,
                              ulp_comparing_budget(comparing), &inputs, error));
    ULP_TRY(ulp_program_create(comparing->model, lanes, 2, &plan_options, &program, error));
    const struct ulp_observer looking = {.context = (void *)(uintptr_t)trying,
                                         .node_done = try_node,
                                         .modes_unused = true};
    const struct ulp_run_options run = ulp_comparing_runs(comparing);
    const enum ulp_status status =
        ulp_program_look(program, &inputs, &run, &looking, options->progress, NULL, error);
    return status == ULP_ERROR_INPUT ? note_end(trying, error) : status;
}

enum ulp_status ulp_compare_try(struct ulp_comparing *comparing, size_t arithmetic, size_t from,
                                size_t to, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t t = from; t < to && status == ULP_OK; t++) {
        /* those asked about have all of theirs, by which a recording is explained or not */
        if (t > from + 1 && arithmetic >= comparing->asked && !comparing->again &&
            ulp_compare_is_late(comparing, TRIALS_PART))
            break;
        const struct trying trying = {comparing, arithmetic, t, t == from};
        ulp_comparing_begins(comparing);
        status = run_trial(&trying, error);
        ulp_fail_at(error, status, "trial %zu", t);
    }
    return status;
}
