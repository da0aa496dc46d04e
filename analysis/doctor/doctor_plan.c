/* What a diagnosis searches to keep in FP32, and how long: the verdict is there before, and is said
 * in time. */
#include <stdio.h>

#include "analysis/doctor/doctoring.h"
#include "analysis/emulation/emulation.h"
#include "analysis/measure/judge.h"
#include "analysis/search/search_remedy.h"
#include "analysis/search/search_tf32.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "run/program/program.h"

/* What a plan is to meet where nothing else is asked: the bound of "fine". */
#define FINE_DB 40.0
/* Of the time that is left a search ends by itself after the first part, with the best so far, and
 * is cancelled after the second, where a run takes longer; the rest is for saying what is known. */
#define SEARCHED 0.75
#define CANCELLED 0.9

double ulp_doctor_tolerance(const struct ulp_doctoring *x)
{
    return x->options->tolerance > 0 ? x->options->tolerance : FINE_DB;
}

bool ulp_doctor_mends(const struct ulp_search *plan)
{
    return plan->met && (plan->kept_count || ulp_tf32_is_forbidden(plan)) &&
           plan->kept_count < plan->node_count &&
           (!plan->grade_text || plan->grade == ULP_GRADE_FINE || plan->grade == ULP_GRADE_NOT);
}

/* The caller's progress, until a time. */
struct timed {
    const struct ulp_observer *given;
    double until;
};

static enum ulp_status hand_on(void *context, const struct ulp_event *event,
                               struct ulp_error *error)
{
    const struct ulp_observer *given = ((const struct timed *)context)->given;
    return given && given->node_done ? given->node_done(given->context, event, error) : ULP_OK;
}

static bool is_over(void *context)
{
    const struct timed *timed = context;
    const struct ulp_observer *given = timed->given;
    if (given && given->cancelled && given->cancelled(given->context))
        return true;
    ULP_ENTER_ENVIRONMENT; /* apart from the caller's function, which is called in his */
    return ulp_seconds_now() > timed->until;
}

static enum ulp_status search(struct ulp_doctoring *x, double left, struct ulp_search *plan,
                              struct ulp_error *error)
{
    const struct ulp_doctor_options *options = x->options;
    const struct ulp_observer *given = options->progress;
    struct timed timed = {given, ulp_seconds_now() + CANCELLED * left};
    const struct ulp_observer observer = {.context = &timed,
                                          .node_done = hand_on,
                                          .cancelled = is_over,
                                          .values_unused = !given || given->values_unused,
                                          .modes_unused = !given || given->modes_unused};
    char tolerance[40];
    const char *const tolerances[] = {tolerance};
    const struct ulp_search_options wanted = {.reference = options->reference,
                                              .tolerances = tolerances,
                                              .tolerance_count = options->tolerance > 0,
                                              .allow_nonfinite_inputs =
                                                  options->allow_nonfinite_inputs,
                                              .thread_count = options->thread_count,
                                              .task = options->task,
                                              .scorer = options->scorer,
                                              .progress = &observer,
                                              .seconds = SEARCHED * left};
    snprintf(tolerance, sizeof tolerance, "sqnr_db=%.17g", ulp_doctor_tolerance(x));
    enum ulp_status status =
        ulp_remedy_search(x->model, &wanted, x->doctor->arithmetic,
                          x->by_target ? options->target : NULL, x->target != NULL, x->samples,
                          x->sample_count, plan, error);
    if (status == ULP_OK && plan->timed_out && !ulp_doctor_mends(plan)) {
        ulp_search_free(plan);
        status = ULP_ERROR_CANCELLED;
    }
    return status;
}

/* What to keep in FP32, as fix searches it. A search that the model or its tolerance does not allow
 * is left out, and so is one for a target that keeps nothing, or where all is FP32. */
enum ulp_status ulp_doctor_plan(struct ulp_doctoring *x, struct ulp_error *error)
{
    const struct ulp_doctor_options *options = x->options;
    struct ulp_doctor *doctor = x->doctor;
    struct ulp_search *plan = ulp_arena_take(doctor->memory, 1, sizeof *plan);
    if (options->no_plan || options->original || options->engine || (x->floats && !x->converts) ||
        doctor->audit->birth_count || ulp_doctor_find_refused(doctor) ||
        ulp_certificate_is_lost(&doctor->audit->certificate) || doctor->grade == ULP_GRADE_FINE ||
        x->only_inside || doctor->grade == ULP_GRADE_NOT ||
        ulp_judged_deaf(x->target, doctor->arithmetic))
        return ULP_OK;
    ulp_doctor_begin(x, "plan", 4);
    ULP_TRY(ulp_taken(plan, error));
    const double limit = options->seconds > 0 ? options->seconds : ULP_DOCTOR_SECONDS,
                 left = limit - (ulp_seconds_now() - x->started);
    const enum ulp_status status = left > 0 ? search(x, left, plan, error) : ULP_ERROR_CANCELLED;
    doctor->plan = status == ULP_OK ? plan : NULL;
    if (status == ULP_ERROR_CANCELLED && !ulp_observer_cancels(options->progress)) {
        doctor->stopped = ulp_seconds_now() - x->started;
        return ULP_OK;
    }
    return status == ULP_ERROR_MEMORY || status == ULP_ERROR_CANCELLED ? status : ULP_OK;
}
