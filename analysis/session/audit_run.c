/* An audit in one call (ulpscope/audit.h): a session of all samples, and what is asked of them
 * together. */
#include <stdlib.h>

#include "analysis/audit/certify.h"
#include "analysis/schedule/schedule.h"
#include "analysis/session/advise.h"
#include "base/error.h"
#include "base/options.h"
#include "base/machine/environment.h"

/* Arithmetics that overflow are run once more, with what overflows kept in FP32, on at most so many
 * samples of the first one's shapes. They lie evenly among all: a data set may be in the order of
 * its classes. */
#define OVERFLOWING_SAMPLES 16

/* Of samples [from, until) the first that the program takes, opened; SIZE_MAX: none. */
static enum ulp_status open_taken(const struct ulp_session *session, size_t from, size_t until,
                                  size_t *index, const struct ulp_tensor_set **out,
                                  struct ulp_error *error)
{
    *index = SIZE_MAX;
    for (size_t s = from; s < until; s++) {
        ULP_TRY(ulp_samples_open(session->samples, s, out, error));
        if (ulp_program_takes(session->programs->first, *out)) {
            *index = s;
            return ULP_OK;
        }
        ulp_samples_close(session->samples, s);
    }
    return ULP_OK;
}

static bool any_overflows(const struct ulp_audit *audit)
{
    bool any = false;
    for (size_t l = 0; l < audit->lane_count; l++)
        any |= !audit->lanes[l].attribution.given && audit->lanes[l].attribution.reason;
    return any;
}

/* The reference's outputs of the samples that may be run again. */
struct kept_truths {
    const struct ulp_session *session;
    struct ulp_audit_score *scores; /* by lane without the reference; NULL: none are asked for */
    struct ulp_tensor_set items[OVERFLOWING_SAMPLES];
};

/* The first sample of a part of all. */
static size_t part_begin(const struct ulp_samples *samples, size_t part)
{
    return part * samples->count / OVERFLOWING_SAMPLES;
}

static bool keeps_truths(const struct ulp_audit_options *options)
{
    return options->shares && !options->original;
}

static enum ulp_status add_scores(const struct kept_truths *truths,
                                  const struct ulp_tensor_set *lanes, struct ulp_error *error)
{
    const struct ulp_scorer *scorer = truths->session->options->scorer;
    double reference = 0;
    for (size_t l = 0; scorer && l < truths->session->programs->lane_count; l++) {
        double own;
        struct ulp_environment *paused = ulp_environment_pause();
        const enum ulp_status status = scorer->score(scorer->context, &lanes[l], &own, error);
        ulp_environment_resume(paused);
        ULP_TRY(ulp_fail_at(error, status, "in %s",
                            l ? truths->session->programs->lanes[l].name : "the reference"));
        if (l == 0 && !isfinite(own))
            return ulp_fail(error, ULP_ERROR_INPUT, "--metric: %g of the reference's outputs", own);
        if (l == 0) {
            reference = own;
            continue;
        }
        const double lost = isfinite(own) ? reference - own : INFINITY;
        struct ulp_audit_score *score = &truths->scores[l - 1];
        score->lost = score->sample_count++ && score->lost > lost ? score->lost : lost;
        score->mean += (own - score->mean) / (double)score->sample_count;
        score->reference += (reference - score->reference) / (double)score->sample_count;
        score->allowed = scorer->loss;
    }
    return ULP_OK;
}

static enum ulp_status show_outputs(const struct ulp_audit_options *options, size_t sample,
                                    const struct ulp_tensor_set *outputs, struct ulp_error *error)
{
    if (!options->outputs)
        return ULP_OK;
    struct ulp_environment *paused = ulp_environment_pause();
    const enum ulp_status status = options->outputs(options->context, sample, outputs, error);
    ulp_environment_resume(paused);
    return status;
}

static enum ulp_status take_outputs(void *context, size_t sample, struct ulp_tensor_set *outputs,
                                    struct ulp_error *error)
{
    struct kept_truths *truths = context;
    enum ulp_status status = show_outputs(truths->session->options, sample, outputs, error);
    ULP_THEN(status, add_scores(truths, outputs, error));
    for (size_t part = 0; keeps_truths(truths->session->options) && part < OVERFLOWING_SAMPLES;
         part++)
        if (part_begin(truths->session->samples, part) == sample &&
            part_begin(truths->session->samples, part + 1) > sample) {
            truths->items[part] = outputs[0];
            outputs[0] = (struct ulp_tensor_set){0};
        }
    for (size_t l = 0; l < truths->session->programs->lane_count; l++)
        ulp_tensor_set_free(&outputs[l]);
    return status;
}

/* What arithmetics do otherwise: those that overflow without it, and all with what helps most. */
static enum ulp_status run_again(const struct ulp_session *session, struct kept_truths *kept,
                                 struct ulp_audit *audit, struct ulp_error *error)
{
    struct ulp_sample items[OVERFLOWING_SAMPLES];
    struct ulp_tensor_set *truths[OVERFLOWING_SAMPLES];
    struct ulp_samples samples = {.items = items};
    size_t taken[OVERFLOWING_SAMPLES];
    enum ulp_status status = ULP_OK;
    for (size_t part = 0; part < OVERFLOWING_SAMPLES && status == ULP_OK; part++) {
        struct ulp_sample *item = &items[samples.count];
        size_t *index = &taken[samples.count];
        status = open_taken(session, part_begin(session->samples, part),
                            part_begin(session->samples, part + 1), index, &item->inputs, error);
        if (status != ULP_OK || *index == SIZE_MAX)
            continue;
        item->name = session->samples->items[*index].name;
        if (*index != part_begin(session->samples, part))
            ulp_tensor_set_free(&kept->items[part]);
        truths[samples.count++] = &kept->items[part];
    }
    if (status == ULP_OK && any_overflows(audit))
        status = ulp_session_fix_overflowing(session, audit, &samples, error);
    ULP_THEN(status, ulp_session_advise(session, audit, &samples, truths, error));
    for (size_t s = 0; s < samples.count; s++)
        ulp_samples_close(session->samples, taken[s]);
    return status;
}

/* What is looked at in the first sample that the program takes. */
typedef enum ulp_status look_at_sample(const struct ulp_session *session, struct ulp_audit *audit,
                                       const struct ulp_tensor_set *inputs,
                                       struct ulp_error *error);
static enum ulp_status look_at_first(const struct ulp_session *session, struct ulp_audit *audit,
                                     look_at_sample *look, struct ulp_error *error)
{
    const struct ulp_tensor_set *inputs;
    size_t index;
    ULP_TRY(open_taken(session, 0, session->samples->count, &index, &inputs, error));
    if (index == SIZE_MAX)
        return ULP_OK;
    enum ulp_status status = look(session, audit, inputs, error);
    ulp_samples_close(session->samples, index);
    return status;
}

static enum ulp_status measure_spreads(const struct ulp_session *session, struct ulp_audit *audit,
                                       struct ulp_error *error)
{
    const struct ulp_run_options run = {.thread_count = session->options->thread_count};
    const struct ulp_programs *programs = session->programs;
    const struct ulp_tensor_set *inputs;
    audit->spreads = calloc(programs->lane_count, sizeof *audit->spreads);
    ULP_TRY(ulp_taken(audit->spreads, error));
    ULP_TRY(ulp_samples_open(session->samples, 0, &inputs, error));
    enum ulp_status status = ULP_OK;
    for (size_t l = 1; l < programs->lane_count && status == ULP_OK; l++) {
        ulp_session_begin_run(session, SIZE_MAX, l - 1, programs->lane_count - 1);
        status = ulp_spreads_measure(programs->model, &programs->lanes[0], &programs->lanes[l],
                                     inputs, &run, session->options->progress,
                                     &audit->spreads[audit->spread_count], error);
        audit->spread_count += status == ULP_OK;
    }
    ulp_samples_close(session->samples, 0);
    return status;
}

/* What is asked of all samples together. */
static enum ulp_status finish_audit(const struct ulp_session *session, struct kept_truths *truths,
                                    struct ulp_audit *out, struct ulp_error *error)
{
    const struct ulp_audit_options *options = session->options;
    if (keeps_truths(options))
        ULP_TRY(run_again(session, truths, out, error));
    ULP_TRY(ulp_session_stored(session, out, error));
    if (options->original && !options->no_pairs)
        ULP_TRY(look_at_first(session, out, ulp_session_pairs, error));
    if (options->shares)
        ULP_TRY(look_at_first(session, out, ulp_session_scaled, error));
    if (options->group)
        ULP_TRY(ulp_audit_group_shares(out, options->group, error));
    if (options->schedules)
        ULP_TRY(measure_spreads(session, out, error));
    return ULP_OK;
}

static enum ulp_status check_audit_options(const struct ulp_audit_options *options,
                                           const struct ulp_arithmetic *reference,
                                           struct ulp_error *error)
{
    if (options->entire_only && (options->shares || options->certify))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "shares and a certificate need what nodes introduce: not entire_only");
    if (options->verify && options->original)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "shares are verified against the model's own reference: without a "
                        "reference model");
    return options->certify ? ulp_certify_check(reference, error) : ULP_OK;
}

enum ulp_status ulp_audit_run(const struct ulp_model *model, const struct ulp_arithmetic *lanes,
                              size_t lane_count, const struct ulp_samples *samples,
                              const struct ulp_audit_options *options, struct ulp_audit *out,
                              struct ulp_error *error)
{
    ULP_ENTER(error);
    *out = (struct ulp_audit){0};
    ULP_OPTIONS_TAKE(ulp_audit_options, options, error);
    ULP_SCOPED(ulp_programs_free)
    struct ulp_programs programs = {.model = model, .lanes = lanes, .lane_count = lane_count};
    struct kept_truths truths = {0};
    struct ulp_session session = {
        .programs = &programs,
        .samples = samples,
        .options = options,
        .follows = true,
        .context = &truths,
        .ends = keeps_truths(options) || options->scorer || options->outputs ? take_outputs : NULL};
    truths.session = &session;
    enum ulp_status status = ulp_options_read(&programs.options, sizeof programs.options,
                                              sizeof programs.options, options->plan, error);
    programs.options.spelled = options->original && !options->certify;
    if (options->scorer) {
        truths.scores = calloc(lane_count, sizeof *truths.scores);
        ULP_TRY(ulp_taken(truths.scores, error));
    }
    ULP_THEN(status, check_audit_options(options, &lanes[0], error));
    ULP_THEN(status, ulp_session_run(&session, out, error));
    out->nonfinite_inputs_meant = options->allow_nonfinite_inputs;
    for (size_t l = 0; status == ULP_OK && truths.scores && l < out->lane_count; l++)
        out->lanes[l].score = truths.scores[l];
    free(truths.scores);
    if (status == ULP_OK && out->sample_count) {
        status = finish_audit(&session, &truths, out, error);
        if (status != ULP_OK)
            ulp_audit_free(out);
    }
    for (size_t part = 0; part < OVERFLOWING_SAMPLES; part++)
        ulp_tensor_set_free(&truths.items[part]);
    return status;
}
