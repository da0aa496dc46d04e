/* Running a set of nodes and judging it. */
#include "analysis/plan/search.h"

#include <math.h>

#include "base/machine/environment.h"
#include "base/error.h"

size_t ulp_search_count(const struct ulp_search *search, const bool *kept)
{
    size_t count = 0;
    for (size_t n = 0; n < search->plan->node_count; n++)
        count += kept[n];
    return count;
}

/* ---- trying a set ---- */

static enum ulp_status check_cancelled(const struct ulp_search *search, struct ulp_error *error)
{
    const struct ulp_observer *progress = search->options->progress;
    bool cancelled = false;
    if (progress && progress->cancelled) {
        struct ulp_environment *paused = ulp_environment_pause();
        cancelled = progress->cancelled(progress->context);
        ulp_environment_resume(paused);
    }
    return cancelled ? ulp_fail(error, ULP_ERROR_CANCELLED, "cancelled while searching a plan")
                     : ULP_OK;
}

static enum ulp_status try_sample(struct ulp_search *search, const bool *kept, size_t sample,
                                  struct ulp_judgement *out, struct ulp_error *error)
{
    struct ulp_tensor_set outputs;
    enum ulp_status status = check_cancelled(search, error);
    if (status == ULP_OK)
        status = ulp_trial_run(search->trial, sample, kept, &outputs, error);
    if (status != ULP_OK)
        return ulp_fail_at(error, status, "%s", search->samples[sample].name);
    search->runs++;
    status = ulp_search_judge(search, &outputs, &search->truths[sample], out, error);
    ulp_tensor_set_free(&outputs);
    return status;
}

static void note_seen(struct ulp_search *search, const bool *kept, double ratio)
{
    double *seen = &search->seen[ulp_search_count(search, kept)];
    if (!(*seen <= ratio))
        *seen = ratio;
}

/* A set that fails is left at its first sample that does; the sample that failed last is the
 * likeliest to fail again. */
enum ulp_status ulp_search_try(struct ulp_search *search, const bool *kept, double *ratio,
                               struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    size_t tried = 0;
    *ratio = 0;
    for (; tried < search->sample_count && status == ULP_OK && *ratio <= 1; tried++) {
        const size_t sample = (search->first_sample + tried) % search->sample_count;
        struct ulp_judgement judgement;
        status = try_sample(search, kept, sample, &judgement, error);
        if (status != ULP_OK)
            return status;
        if (judgement.ratio <= 1)
            ulp_trial_accept(search->trial);
        else
            search->first_sample = sample;
        *ratio = fmax(*ratio, judgement.ratio);
    }
    if (tried == search->sample_count)
        note_seen(search, kept, *ratio);
    return status;
}

enum ulp_status ulp_search_judge_all(struct ulp_search *search, const bool *kept,
                                     struct ulp_judgement *judgements, double *ratio,
                                     struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    *ratio = 0;
    for (size_t s = 0; s < search->sample_count && status == ULP_OK; s++) {
        status = try_sample(search, kept, s, &judgements[s], error);
        if (status == ULP_OK) {
            ulp_trial_accept(search->trial);
            *ratio = fmax(*ratio, judgements[s].ratio);
        }
    }
    if (status == ULP_OK)
        note_seen(search, kept, *ratio);
    return status;
}
