/* Plans for samples of any shapes: the first sample's, and those of the last two others. */
#include "base/error.h"
#include "base/machine/environment.h"
#include "run/plan/plan.h"

static enum ulp_status make_plan(const struct ulp_plans *plans, const struct ulp_tensor_set *inputs,
                                 struct ulp_plan **out, struct ulp_error *error)
{
    struct ulp_plan_options options = plans->options;
    options.inputs = inputs;
    return ulp_plan_create(plans->model, plans->lanes, plans->lane_count, &options, out, error);
}

static struct ulp_plan *find_plan(struct ulp_plans *plans, const struct ulp_tensor_set *inputs)
{
    if (ulp_plan_takes(plans->first, inputs))
        return plans->first;
    for (int i = 0; i < 2; i++)
        if (plans->others[i] && ulp_plan_takes(plans->others[i], inputs))
            return plans->others[plans->last = i];
    return NULL;
}

/* In the place of the one that was not asked for last; where memory is short, of both. */
static enum ulp_status make_other(struct ulp_plans *plans, const struct ulp_tensor_set *inputs,
                                  struct ulp_plan **out, struct ulp_error *error)
{
    plans->last = !plans->last;
    struct ulp_plan **other = &plans->others[plans->last];
    ulp_plan_free(*other);
    *other = NULL;
    enum ulp_status status = make_plan(plans, inputs, other, error);
    if (status == ULP_ERROR_MEMORY && plans->others[!plans->last]) {
        ulp_plans_drop(plans);
        status = make_plan(plans, inputs, other, error);
    }
    if (status == ULP_OK && !ulp_plan_same_nodes(plans->first, *other))
        status = ulp_fail(error, ULP_ERROR_INPUT,
                          "its shapes leave other nodes to compute than the first sample's; run "
                          "samples of such shapes by themselves");
    *out = status == ULP_OK ? *other : NULL;
    return status;
}

enum ulp_status ulp_plans_choose(struct ulp_plans *plans, const struct ulp_tensor_set *inputs,
                                 struct ulp_plan **out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    *out = NULL;
    if (!plans->first)
        ULP_TRY(make_plan(plans, inputs, &plans->first, error));
    *out = find_plan(plans, inputs);
    return !*out ? make_other(plans, inputs, out, error) : ULP_OK;
}

void ulp_plans_drop(struct ulp_plans *plans)
{
    for (int i = 0; i < 2; i++) {
        ulp_plan_free(plans->others[i]);
        plans->others[i] = NULL;
    }
}

void ulp_plans_free(struct ulp_plans *plans)
{
    ulp_plans_drop(plans);
    ulp_plan_free(plans->first);
    plans->first = NULL;
}
