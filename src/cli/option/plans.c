/* Plans for samples of any shapes: the first sample's, and those of the last two others. */
#include "base/error.h"
#include "cli/command.h"

static enum ulp_status make_plan(const struct sample_plans *plans,
                                 const struct ulp_tensor_set *inputs, struct ulp_plan **out,
                                 struct ulp_error *error)
{
    const struct lane_list *lanes = plans->lanes;
    const struct ulp_plan_options options = {.inputs = inputs,
                                             .keeps = lanes->keeps,
                                             .groups = lanes->groups,
                                             .names = lanes->names};
    return ulp_plan_create(plans->model, lanes->arithmetics, lanes->count, &options, out, error);
}

enum ulp_status choose_plan(struct sample_plans *plans, const struct ulp_tensor_set *inputs,
                            struct ulp_plan **out, struct ulp_error *error)
{
    *out = NULL;
    if (!plans->first) {
        const enum ulp_status status = make_plan(plans, inputs, &plans->first, error);
        if (status != ULP_OK)
            return status;
    }
    if (ulp_plan_takes(plans->first, inputs)) {
        *out = plans->first;
        return ULP_OK;
    }
    for (int i = 0; i < 2; i++)
        if (plans->others[i] && ulp_plan_takes(plans->others[i], inputs))
            *out = plans->others[plans->last = i];
    if (*out)
        return ULP_OK;
    plans->last = !plans->last;
    struct ulp_plan **other = &plans->others[plans->last];
    ulp_plan_free(*other);
    *other = NULL;
    enum ulp_status status = make_plan(plans, inputs, other, error);
    if (status == ULP_OK && !ulp_plan_same_nodes(plans->first, *other))
        status = ulp_fail(error, ULP_ERROR_INPUT,
                          "its shapes leave other nodes to compute than the first sample's; run "
                          "samples of such shapes by themselves");
    *out = *other;
    return status;
}

void free_other_plans(struct sample_plans *plans)
{
    for (int i = 0; i < 2; i++) {
        ulp_plan_free(plans->others[i]);
        plans->others[i] = NULL;
    }
}

void free_plans(struct sample_plans *plans)
{
    free_other_plans(plans);
    ulp_plan_free(plans->first);
    plans->first = NULL;
}
