/* An audit and the shares of one plan's runs, together. */
#include "analysis/attribution/audited.h"

#include <ulpscope/attribution.h>
#include <ulpscope/part.h>
#include "base/error.h"

enum { OBSERVERS_MAX = 8 };

static enum ulp_status run_sample(const struct ulp_audited *given, size_t sample,
                                  struct ulp_auditor *auditor, struct ulp_attributor *attributor,
                                  struct ulp_error *error)
{
    const struct ulp_run_options run = {.thread_count = given->thread_count, .audit = true};
    struct ulp_observer observers[OBSERVERS_MAX] = {ulp_auditor_observer(auditor),
                                                    ulp_attributor_observer(attributor)};
    struct ulp_tensor_set outputs[2];
    for (size_t i = 0; i < given->observer_count; i++)
        observers[2 + i] = given->observers[i];
    enum ulp_status status = ulp_auditor_sample(auditor, given->samples[sample].name, error);
    if (status == ULP_OK)
        status = ulp_attributor_sample(attributor, given->samples[sample].inputs, error);
    if (status == ULP_OK && given->begins)
        given->begins(given->context, sample, given->plan);
    if (status == ULP_OK)
        status = ulp_plan_run(given->plan, given->samples[sample].inputs, &run, observers,
                              2 + given->observer_count, given->ends ? outputs : NULL, NULL, error);
    if (status == ULP_OK && given->ends)
        given->ends(given->context, sample, outputs);
    return status == ULP_OK ? ulp_attributor_sweep(attributor, error) : status;
}

static enum ulp_status open_attributor(const struct ulp_audited *given, struct ulp_attributor **out,
                                       struct ulp_error *error)
{
    enum ulp_status status =
        ulp_attributor_create(given->plan, given->output, given->thread_count, out, error);
    if (status == ULP_OK && given->causes)
        ulp_attributor_causes(*out);
    if (status == ULP_OK && given->verify)
        ulp_attributor_verify(*out, given->verify);
    if (status == ULP_OK && given->folder)
        status = ulp_attributor_spill(*out, given->folder, error);
    return status;
}

/* Samples [first, first + count), which have the plan's shapes. */
static enum ulp_status audit_samples(const struct ulp_audited *given, size_t first, size_t count,
                                     struct ulp_audit *out, struct ulp_error *error)
{
    struct ulp_auditor *auditor = NULL;
    struct ulp_attributor *attributor = NULL;
    enum ulp_status status = ulp_auditor_create(given->plan, &auditor, error);
    if (status == ULP_OK)
        status = ulp_auditor_threads(auditor, given->thread_count, error);
    if (status == ULP_OK)
        status = open_attributor(given, &attributor, error);
    for (size_t s = first; s < first + count && status == ULP_OK; s++)
        status = run_sample(given, s, auditor, attributor, error);
    if (status == ULP_OK)
        status = ulp_auditor_finish(auditor, out, error);
    if (status == ULP_OK)
        status = ulp_attributor_finish(attributor, out, error);
    ulp_attributor_free(attributor);
    ulp_auditor_free(auditor);
    return status;
}

static enum ulp_status add_sample(const struct ulp_audited *given, size_t sample,
                                  struct ulp_auditor *sum, struct ulp_error *error)
{
    struct ulp_audited one = *given;
    struct ulp_plan *plan;
    struct ulp_audit audit;
    enum ulp_status status =
        ulp_plans_choose(given->plans, given->samples[sample].inputs, &plan, error);
    one.plan = plan;
    if (status == ULP_OK)
        status = audit_samples(&one, sample, 1, &audit, error);
    if (status != ULP_OK)
        return status;
    status = ulp_auditor_add(sum, &audit, error);
    ulp_audit_free(&audit);
    return status;
}

static bool same_shapes(const struct ulp_audited *given)
{
    bool same = true;
    for (size_t s = 0; s < given->sample_count && given->plans && same; s++)
        same = ulp_plan_takes(given->plan, given->samples[s].inputs);
    return same;
}

enum ulp_status ulp_audited_run(const struct ulp_audited *given, struct ulp_audit *out,
                                struct ulp_error *error)
{
    struct ulp_auditor *sum = NULL;
    if (given->observer_count + 2 > OBSERVERS_MAX)
        return ulp_fail(error, ULP_ERROR_USAGE, "%zu observers of an audit with shares: at most %d",
                        given->observer_count, OBSERVERS_MAX - 2);
    if (same_shapes(given))
        return audit_samples(given, 0, given->sample_count, out, error);
    enum ulp_status status = ulp_auditor_create(given->plan, &sum, error);
    for (size_t s = 0; s < given->sample_count && status == ULP_OK; s++)
        status = add_sample(given, s, sum, error);
    if (status == ULP_OK)
        status = ulp_auditor_finish(sum, out, error);
    ulp_auditor_free(sum);
    return status;
}
