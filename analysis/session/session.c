/* All samples of a session. */
#include "analysis/session/session.h"

#include "analysis/attribution/attribution.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "number/function/math.h"

static enum ulp_status open_truth(struct ulp_session *session, struct ulp_error *error)
{
    const struct ulp_audit_options *options = session->options;
    if (!options->original)
        return ULP_OK;
    ULP_TRY(ulp_truth_create(ulp_model_budget(options->original), &session->truth, error));
    for (size_t p = 0; p < options->pair_count; p++)
        ULP_TRY(ulp_truth_pair(session->truth, options->pairs[p].audited,
                               options->pairs[p].original, error));
    return ULP_OK;
}

/* Going back from the outputs beside the run, for each of the lanes that it has beside the
 * reference: measured on decoders of 0.2 to 23 seconds a run, within a quarter of itself. */
#define SWEPT_LANE 0.12
#define SWEPT_OUTPUT 0.06

static double count_runs(const struct ulp_audit_options *options, const struct ulp_program *program,
                         size_t samples)
{
    const size_t all = program->main->output_count;
    const double lanes = (double)program->lane_count - 1,
                 outputs = options->output         ? 1
                           : options->every_output ? (double)all
                                                   : (double)ulp_size_min(all, ULP_EXPLAINED_MAX);
    if (options->original || options->certify || options->verify)
        return NAN;
    return (double)samples * (1 + (options->shares ? 1.5 * lanes / (lanes + 0.5) *
                                                         (SWEPT_LANE + SWEPT_OUTPUT * outputs)
                                                   : 0));
}

/* A step that is more than a third of the run's work tells by nothing before it how long it takes:
 * its weights are mapped anew, and an output is judged. So much longer the whole took at most, of
 * decoders whose head is most of them. */
#define ALONE_SHARE 3
#define ALONE_TAKES 1.5

static double find_spread(const struct ulp_block *main)
{
    double largest = 0;
    for (size_t s = 0; s < main->step_count; s++)
        largest = ulp_math_max(largest, main->steps[s].cost);
    return largest * ALONE_SHARE > main->cost ? ALONE_TAKES : 1;
}

static enum ulp_status tell_compiled(const struct ulp_session *session,
                                     const struct ulp_program *program, struct ulp_error *error)
{
    const struct ulp_audit_options *options = session->options;
    const struct ulp_attribution_need need = ulp_attribution_need(program);
    const double limit = (double)ulp_budget_limit(ulp_model_budget(program->model)),
                 values = ulp_program_peak(program, !options->entire_only, NULL),
                 kept = ulp_math_min(need.kept, (double)ulp_attribution_limit(program)),
                 least = kept + ulp_math_max(values, need.swept),
                 lacking = ulp_math_max(options->spill ? 0 : need.kept - kept,
                                        limit != 0 ? least - limit : 0);
    const double runs = count_runs(options, program, session->samples->count);
    struct ulp_environment *paused = ulp_environment_pause();
    const enum ulp_status status =
        options->compiled ? options->compiled(options->context, program, error) : ULP_OK;
    if (status == ULP_OK && options->progress && options->progress->needs)
        options->progress->needs(options->progress->context, values,
                                 options->shares ? least : values, options->shares ? lacking : 0,
                                 runs, runs * find_spread(program->main));
    ulp_environment_resume(paused);
    return status;
}

static enum ulp_status open_sum(struct ulp_session *session, struct ulp_error *error)
{
    const struct ulp_audit_options *options = session->options;
    const struct ulp_checkpoint *checkpoint = options->checkpoint;
    const struct ulp_tensor_set *inputs;
    struct ulp_program *program;
    ULP_TRY(ulp_samples_open(session->samples, 0, &inputs, error));
    enum ulp_status status = ulp_programs_choose(session->programs, inputs, &program, error);
    ulp_samples_close(session->samples, 0);
    ULP_TRY(status == ULP_OK ? tell_compiled(session, program, error) : status);
    if (!(checkpoint && checkpoint->ranks && checkpoint->ranks->self))
        ULP_TRY(ulp_auditor_create(program, &session->sum, error));
    return session->sum && session->truth
               ? ulp_auditor_truth(session->sum, session->truth, ulp_model_path(options->original),
                                   error)
               : ULP_OK;
}

enum ulp_status ulp_session_run(struct ulp_session *session, struct ulp_audit *out,
                                struct ulp_error *error)
{
    bool whole = false;
    *out = (struct ulp_audit){0};
    enum ulp_status status = session->samples->count
                                 ? open_truth(session, error)
                                 : ulp_fail(error, ULP_ERROR_USAGE, "an audit needs a sample");
    ULP_THEN(status, open_sum(session, error));
    ULP_THEN(status, ulp_session_parts(session, &whole, error));
    ulp_programs_drop(session->programs);
    if (status == ULP_OK && whole)
        status = ulp_auditor_finish(session->sum, out, error);
    ulp_auditor_free(session->sum);
    ulp_truth_free(session->truth);
    session->sum = NULL;
    session->truth = NULL;
    if (status != ULP_OK)
        ulp_audit_free(out);
    return status;
}
