/* ulp_comparison_run: the whole comparison, step by step. */
#include <stdlib.h>

#include "analysis/compare/comparing.h"
#include "analysis/audit/birth.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/memory/budget.h"
#include "base/error.h"
#include "base/options.h"

/* With neighbours; where these cannot be computed, within the limit of memory too, or take an index
 * out of its axis, without them. A
 * machine without memory is no such reason: what is found does not depend on it. */
static enum ulp_status measure_near(struct ulp_comparing *comparing,
                                    const struct ulp_compare_options *near, struct ulp_error *error)
{
    struct ulp_comparing plain = *comparing;
    const struct ulp_budget *const budget = ulp_model_budget(comparing->model);
    const size_t refusals = ulp_budget_refusals(budget);
    comparing->options = near;
    enum ulp_status status = ulp_comparing_measure(comparing, error);
    if (status != ULP_ERROR_UNSUPPORTED && status != ULP_ERROR_USAGE && status != ULP_ERROR_INPUT &&
        !ulp_budget_refused(budget, refusals, status))
        return status;
    const struct ulp_error why = *error;
    ulp_comparing_free(comparing);
    ulp_comparison_free(comparing->out);
    *comparing = plain;
    status = ulp_comparing_measure(comparing, error);
    if (status == ULP_OK &&
        !(comparing->out->unranked = ulp_comparing_text(comparing, why.message)))
        status = ulp_out_of_memory(error);
    return status;
}

/* The recording may hold the same NaN, or what is left of the same sum: nothing that it explains is
 * fine. */
static enum ulp_status judge_reference(const struct ulp_comparing *comparing,
                                       struct ulp_error *error)
{
    const struct ulp_compare_options *options = comparing->options;
    struct ulp_comparison *out = comparing->out;
    struct ulp_birth_watch watch = {.memory = out->memory};
    struct ulp_certificate certificate = {0};
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    const enum ulp_status status =
        ulp_birth_find(&watch, comparing->model, &options->reference, comparing->inputs,
                       options->thread_count, &certificate, error);
    free(certificate.node);
    ULP_TRY(status);
    if (ulp_certificate_is_lost(&certificate))
        ulp_certificate_say(&text, &certificate, out->places[certificate.lost_at].name,
                            out->places[certificate.lost_at].op, out->reference);
    else if (watch.count)
        ulp_birth_say(&text, ulp_birth_of(watch.items, watch.count, NULL), true);
    else
        return ULP_OK;
    out->ill = ulp_text_keep(&text, out->memory);
    out->lost = ulp_certificate_is_lost(&certificate);
    return ulp_taken(out->ill, error);
}

static enum ulp_status find_causes(struct ulp_comparing *comparing, struct ulp_error *error)
{
    ULP_TRY(ulp_compare_power(comparing, error));
    for (size_t f = 0; f < comparing->recording_count; f++)
        ULP_TRY(ulp_compare_cause(comparing, f, error));
    return judge_reference(comparing, error);
}

enum ulp_status ulp_comparison_run(const struct ulp_model *model,
                                   const struct ulp_tensor_set *inputs,
                                   const struct ulp_recording *recordings, size_t recording_count,
                                   const struct ulp_compare_options *options,
                                   struct ulp_comparison *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = (struct ulp_comparison){0};
    ULP_OPTIONS_TAKE(ulp_compare_options, options, error);
    struct ulp_comparing comparing = {.model = model,
                                      .inputs = inputs,
                                      .recordings = recordings,
                                      .recording_count = recording_count,
                                      .options = options,
                                      .asked = options->arithmetic_count,
                                      .trials =
                                          options->trials ? options->trials : ULP_TRIALS_DEFAULT,
                                      .out = out,
                                      .started = ulp_seconds_now(),
                                      .computed = ulp_seconds_computed()};
    if (!recording_count || !options->arithmetic_count)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a comparison needs a recording and an arithmetic at least");
    if (!options->allow_nonfinite_inputs) {
        const enum ulp_status judged = ulp_judge_inputs(inputs, NULL, error);
        if (judged != ULP_OK)
            return judged;
    }
    struct ulp_compare_options near;
    struct ulp_tensor_set held = {0};
    enum ulp_status status = ULP_OK;
    struct ulp_arena *near_memory = NULL;
    if (!options->no_cause)
        status = ulp_compare_add_neighbours(&comparing, &near, &near_memory, error);
    const bool measures = status == ULP_OK;
    if (measures) {
        status = near_memory ? measure_near(&comparing, &near, error)
                             : ulp_comparing_measure(&comparing, error);
        if (status == ULP_OK && !options->no_cause)
            status = ulp_compare_replay(&comparing, &held, error);
        if (status == ULP_OK && !options->no_cause)
            status = find_causes(&comparing, error);
        ulp_comparing_free(&comparing);
    }
    ulp_tensor_set_free(&held);
    ulp_arena_free(near_memory);
    out->seconds = ulp_seconds_now() - comparing.started;
    if (status != ULP_OK)
        ulp_comparison_free(out);
    return status;
}
