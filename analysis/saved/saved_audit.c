/* The audit that a report.json is of, for what limits hold against. */
#include <math.h>

#include "analysis/measure/figure.h"
#include "analysis/saved/saved.h"
#include "analysis/writing/structs.h"
#include "base/machine/environment.h"

/* Infinite figures are null in JSON, as those that are not defined: the sqnr of what is equal, and
 * of errors where the reference is 0. */
static void sign_metrics(struct ulp_metrics *m)
{
    if (isnan(m->sqnr_db) && !isnan(m->rms))
        m->sqnr_db = m->rms == 0 ? (double)INFINITY : (double)-INFINITY;
}

static void name(char **text)
{
    static char none[] = "";
    *text = *text ? *text : none;
}

/* Also, what has no name in a damaged report is called "". */
static void mend(struct ulp_audit_node *node)
{
    name(&node->name);
    name(&node->op);
    for (size_t o = 0; o < node->output_count; o++) {
        struct ulp_audit_output *output = &node->outputs[o];
        name(&output->name);
        for (int v = 0; v < ULP_VIEW_COUNT; v++) {
            sign_metrics(ulp_view(output, v));
            if (output->samples)
                sign_metrics(ulp_view_limit(output->samples, v));
        }
        if (output->divergence)
            sign_metrics(&output->divergence->followed.metrics);
    }
}

static bool read_audit(const struct ulp_saved *saved, struct ulp_audit *audit)
{
    const json_t *lane;
    size_t l;
    if (!ulp_json_read(saved->root, &ulp_struct_audit, audit, saved->arena))
        return false;
    for (size_t i = 0; i < audit->nonfinite_input_count; i++)
        name(&audit->nonfinite_inputs[i].name);
    json_array_foreach(saved->lanes, l, lane)
    {
        struct ulp_audit_node outputs = {0}; /* the graph's: the lane's other members are none */
        if (!ulp_json_read(lane, &ulp_struct_audit_node, &outputs, saved->arena))
            return false;
        audit->lanes[l].outputs.outputs = outputs.outputs;
        audit->lanes[l].outputs.output_count = outputs.output_count;
        mend(&outputs);
        name(&audit->lanes[l].name);
        for (size_t n = 0; n < audit->lanes[l].node_count; n++)
            mend(&audit->lanes[l].nodes[n]);
    }
    return true;
}

enum ulp_status ulp_saved_audit(struct ulp_saved *saved, const struct ulp_audit **out,
                                struct ulp_error *error)
{
    ULP_ENTER(error);
    ULP_TRY(ulp_saved_check_lanes(saved, error));
    if (!saved->arena)
        ULP_TRY(ulp_arena_create(&saved->arena, saved->budget, error));
    if (!saved->audit) {
        struct ulp_audit *audit = ulp_arena_take(saved->arena, 1, sizeof *audit);
        if (audit && read_audit(saved, audit))
            saved->audit = audit;
        else
            return ulp_fail_memory(error, "%s: out of memory for its figures", saved->path);
    }
    *out = saved->audit;
    return ULP_OK;
}
