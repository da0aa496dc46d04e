/* The runs of `ulpscope audit`: every sample through all lanes, observed by the auditor, and where
 * asked for also by the attributor; the original's values, the certificate, other schedules. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command/audit.h"

/* The model whose values are the truth, planned for one sample after another. */
struct original {
    struct ulp_model *model;
    struct ulp_truth *truth;
};

static enum ulp_status open_original(const struct audit_options *options, struct original *out,
                                     struct ulp_error *error)
{
    enum ulp_status status =
        ulp_model_load(options->reference_model, options->common.budget, &out->model, error);
    if (status == ULP_OK)
        status = ulp_truth_create(options->common.budget, &out->truth, error);
    for (size_t i = 0; i < options->pair_count && status == ULP_OK; i++) {
        char *equals = strchr(options->pairs[i], '=');
        *equals = '\0';
        status = ulp_truth_pair(out->truth, options->pairs[i], equals + 1, error);
        *equals = '=';
    }
    return status;
}

static void close_original(struct original *original)
{
    ulp_truth_free(original->truth);
    ulp_model_free(original->model);
}

/* The original's values for one sample. */
static enum ulp_status run_original(const struct original *original,
                                    const struct ulp_arithmetic *reference,
                                    const struct ulp_tensor_set *inputs,
                                    const struct ulp_run_options *run,
                                    const struct ulp_observer *progress, struct ulp_error *error)
{
    const struct ulp_plan_options options = {.inputs = inputs};
    const struct ulp_run_options alone = {.thread_count = run->thread_count};
    const struct ulp_observer observers[] = {ulp_truth_observer(original->truth), *progress};
    struct ulp_plan *plan;
    ulp_truth_clear(original->truth);
    enum ulp_status status = ulp_plan_create(original->model, reference, 1, &options, &plan, error);
    if (status == ULP_OK)
        status = ulp_plan_run(plan, inputs, &alone, observers, 2, NULL, NULL, error);
    ulp_plan_free(plan);
    return status == ULP_OK ? ULP_OK : ulp_fail_at(error, status, "--reference-model");
}

/* What the samples of one audit share. */
struct session {
    const struct audit_options *options;
    const struct ulp_model *model;
    const struct ulp_arithmetic *reference;
    struct ulp_plan *plan;
    struct ulp_auditor *auditor;
    struct ulp_attributor *attributor; /* NULL: --no-attribute */
    struct original original;
    struct ulp_certificate certificate;
    struct progress progress;
    double seconds;
    size_t peak_bytes;
};

/* NULL: values are kept in memory alone. */
static const char *spill_folder(const struct audit_options *options)
{
    return options->attribute != ATTRIBUTE_YES ? NULL
           : getenv("TMPDIR")                  ? getenv("TMPDIR")
                                               : "/tmp";
}

static enum ulp_status open_session(struct session *session, const struct lane_list *lanes,
                                    const struct sample_list *samples, struct ulp_error *error)
{
    const struct audit_options *options = session->options;
    const struct ulp_plan_options plan_options = {.inputs = &samples->items[0].inputs,
                                                  .keeps = lanes->keeps,
                                                  .groups = lanes->groups};
    const int threads = options->common.threads;
    progress_init(&session->progress, options->common.quiet,
                  samples->count * (1 + options->certify + (options->reference_model != NULL)));
    enum ulp_status status = ulp_plan_create(session->model, lanes->arithmetics, lanes->count,
                                             &plan_options, &session->plan, error);
    for (size_t i = 0; i < options->limit_count && status == ULP_OK; i++)
        status = ulp_limit_check(options->limits[i], session->model, session->plan, error);
    if (status == ULP_OK)
        status = ulp_auditor_create(session->plan, &session->auditor, error);
    if (status == ULP_OK)
        status = ulp_auditor_threads(session->auditor, threads, error);
    if (status == ULP_OK && options->attribute != ATTRIBUTE_NO)
        status = ulp_attributor_create(session->plan, options->output, threads,
                                       &session->attributor, error);
    if (status == ULP_OK && spill_folder(options))
        status = ulp_attributor_spill(session->attributor, spill_folder(options), error);
    if (session->attributor) {
        ulp_attributor_causes(session->attributor);
        ulp_attributor_verify(session->attributor, options->verify);
    }
    if (status == ULP_OK && options->reference_model)
        status = open_original(options, &session->original, error);
    if (status == ULP_OK && options->reference_model)
        status = ulp_auditor_truth(session->auditor, session->original.truth,
                                   options->reference_model, error);
    return status;
}

static void close_session(struct session *session)
{
    progress_clear(&session->progress);
    free(session->certificate.node);
    ulp_attributor_free(session->attributor);
    ulp_auditor_free(session->auditor);
    ulp_plan_free(session->plan);
    close_original(&session->original);
}

/* All lanes; a second time along the reference's decisions where a lane has left them. */
static enum ulp_status run_lanes(struct session *session, const struct sample *sample,
                                 struct ulp_error *error)
{
    const int threads = session->options->common.threads;
    const struct ulp_run_options run = {.thread_count = threads, .audit = true},
                                 follow = {.thread_count = threads, .follow = true};
    struct ulp_attributor *attributor = session->attributor;
    struct ulp_observer observers[3] = {ulp_auditor_observer(session->auditor),
                                        progress_observer(&session->progress)};
    struct ulp_run_cost cost = {0};
    enum ulp_status status = ulp_auditor_sample(session->auditor, sample->name, error);
    if (status == ULP_OK && attributor) {
        observers[2] = ulp_attributor_observer(attributor);
        status = ulp_attributor_sample(attributor, &sample->inputs, error);
    }
    if (status == ULP_OK)
        status = ulp_plan_run(session->plan, &sample->inputs, &run, observers, attributor ? 3 : 2,
                              NULL, &cost, error);
    if (status == ULP_OK && attributor)
        status = ulp_attributor_sweep(attributor, error);
    if (status == ULP_OK && ulp_auditor_has_diverged(session->auditor)) {
        observers[0] = ulp_auditor_follower(session->auditor);
        status =
            ulp_plan_run(session->plan, &sample->inputs, &follow, observers, 2, NULL, NULL, error);
    }
    session->seconds += cost.seconds;
    session->peak_bytes =
        cost.peak_bytes > session->peak_bytes ? cost.peak_bytes : session->peak_bytes;
    return status;
}

/* Each run is a part of the progress. */
static enum ulp_status run_sample(struct session *session, const struct sample *sample,
                                  struct ulp_error *error)
{
    const struct audit_options *options = session->options;
    const struct ulp_run_options run = {.thread_count = options->common.threads, .audit = true};
    const struct ulp_observer progress = progress_observer(&session->progress);
    enum ulp_status status = ULP_OK;
    if (options->reference_model) {
        status = run_original(&session->original, session->reference, &sample->inputs, &run,
                              &progress, error);
        session->progress.part++;
    }
    if (status == ULP_OK)
        status = run_lanes(session, sample, error);
    session->progress.part++;
    if (status == ULP_OK && options->certify) {
        status = ulp_certify(session->model, session->reference, &sample->inputs, &run, &progress,
                             &session->certificate, error);
        session->progress.part++;
    }
    return status;
}

/* Arithmetics that overflow: once more with what overflows kept in FP32. */
static enum ulp_status attribute_overflowing(struct session *session,
                                             const struct sample_list *samples,
                                             struct ulp_audit *audit, struct ulp_error *error)
{
    const struct audit_options *options = session->options;
    progress_init(&session->progress, options->common.quiet, samples->count);
    const struct ulp_observer progress = progress_observer(&session->progress);
    const struct ulp_attribution_options shares = {.output = options->output,
                                                   .folder = spill_folder(options),
                                                   .verify = options->verify,
                                                   .thread_count = options->common.threads,
                                                   .progress = &progress};
    const struct ulp_tensor_set **inputs = calloc(samples->count, sizeof *inputs);
    if (!inputs)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    for (size_t s = 0; s < samples->count; s++)
        inputs[s] = &samples->items[s].inputs;
    const enum ulp_status status = ulp_audit_attribute_overflowing(audit, session->plan, inputs,
                                                                   samples->count, &shares, error);
    progress_clear(&session->progress);
    free(inputs);
    return status;
}

static enum ulp_status finish_session(struct session *session, const struct sample_list *samples,
                                      struct ulp_audit *audit, struct ulp_error *error)
{
    progress_clear(&session->progress);
    enum ulp_status status = ulp_auditor_finish(session->auditor, audit, error);
    if (status == ULP_OK && session->attributor)
        status = ulp_attributor_finish(session->attributor, audit, error);
    if (status == ULP_OK && session->attributor)
        status = attribute_overflowing(session, samples, audit, error);
    if (status == ULP_OK && session->options->group)
        status = ulp_audit_group_shares(audit, session->options->group, error);
    if (status != ULP_OK)
        return status;
    audit->certificate = session->certificate;
    session->certificate = (struct ulp_certificate){0};
    audit->seconds = session->seconds;
    audit->peak_bytes = session->peak_bytes;
    return ULP_OK;
}

/* The spread over schedules of every audited arithmetic, on the first sample. */
static enum ulp_status run_schedules(const struct audit_options *options,
                                     const struct ulp_model *model,
                                     const struct ulp_arithmetic *lanes, size_t lane_count,
                                     const struct sample_list *samples, struct ulp_audit *audit,
                                     struct ulp_error *error)
{
    struct ulp_run_options run = {.thread_count = options->common.threads};
    struct progress progress;
    enum ulp_status status = ULP_OK;
    progress_init(&progress, options->common.quiet, lane_count - 1);
    struct ulp_observer observer = progress_observer(&progress);
    audit->spreads = calloc(lane_count, sizeof *audit->spreads);
    if (!audit->spreads)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    for (size_t l = 1; l < lane_count && status == ULP_OK; l++) {
        status = ulp_spreads_measure(model, &lanes[0], &lanes[l], &samples->items[0].inputs, &run,
                                     &observer, &audit->spreads[audit->spread_count], error);
        audit->spread_count += status == ULP_OK;
        progress.part++;
    }
    progress_clear(&progress);
    return status;
}

enum ulp_status audit_samples(const struct audit_options *options, const struct ulp_model *model,
                              const struct lane_list *lanes, const struct sample_list *samples,
                              struct ulp_audit *audit, struct ulp_error *error)
{
    struct session session = {.options = options,
                              .model = model,
                              .reference = &lanes->arithmetics[0]};
    enum ulp_status status = open_session(&session, lanes, samples, error);
    for (size_t s = 0; s < samples->count && status == ULP_OK; s++)
        status = run_sample(&session, &samples->items[s], error);
    if (status == ULP_OK)
        status = finish_session(&session, samples, audit, error);
    close_session(&session);
    if (status == ULP_OK && options->schedules)
        status =
            run_schedules(options, model, lanes->arithmetics, lanes->count, samples, audit, error);
    return status;
}
