/* The model of --reference-model. */
#include <string.h>

#include "base/error.h"
#include "cli/command/audit.h"

enum ulp_status open_original(const struct audit_options *options, struct original *out,
                              struct ulp_error *error)
{
    enum ulp_status status =
        load_model(options->reference_model, options->common.budget, &out->model, error);
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

void close_original(struct original *original)
{
    ulp_truth_free(original->truth);
    ulp_model_free(original->model);
}

enum ulp_status run_original(const struct original *original,
                             const struct ulp_arithmetic *reference,
                             const struct ulp_tensor_set *inputs, const struct ulp_run_options *run,
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
