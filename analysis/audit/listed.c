#include "analysis/audit/listed.h"

#include "analysis/audit/auditor.h"
#include "analysis/measure/objects.h"
#include "base/error.h"
#include "base/memory/alloc.h"

struct ulp_listed_output {
    struct ulp_tensor value, truth; /* type UNDEFINED: not kept */
    struct ulp_judged judged;
    size_t node, output;
};

enum ulp_status ulp_listed_keep(struct ulp_auditor *auditor, size_t lane, size_t index, size_t node,
                                size_t o, const struct ulp_tensor *value,
                                const struct ulp_tensor *truth, const struct ulp_judged *judged,
                                struct ulp_error *error)
{
    struct ulp_listed_output **outputs = &auditor->listed[lane];
    struct ulp_budget *budget = ulp_model_budget(auditor->program->model);
    if (!*outputs)
        ULP_TRY(ulp_allocate_zero(outputs, auditor->program->main->output_count, sizeof **outputs,
                                  budget, "lists of objects", error));
    struct ulp_listed_output *kept = &(*outputs)[index];
    ulp_tensor_free(&kept->value);
    ulp_tensor_free(&kept->truth);
    kept->judged = *judged;
    kept->node = node;
    kept->output = o;
    ULP_TRY(ulp_tensor_copy(&kept->value, value, budget, error));
    return ulp_tensor_copy(&kept->truth, truth, budget, error);
}

static enum ulp_status settle_lane(struct ulp_auditor *auditor, size_t lane,
                                   const struct ulp_tensor **values,
                                   const struct ulp_tensor **truths, struct ulp_judged *judged,
                                   struct ulp_error *error)
{
    struct ulp_listed_output *outputs = auditor->listed[lane];
    const size_t count = auditor->program->main->output_count;
    for (size_t o = 0; o < count; o++) {
        const bool kept = outputs[o].truth.type != ULP_TYPE_UNDEFINED;
        values[o] = kept ? &outputs[o].value : NULL;
        truths[o] = kept ? &outputs[o].truth : NULL;
        judged[o] = outputs[o].judged;
    }
    ULP_TRY(ulp_objects_judge_all(auditor->program, auditor->task, values, truths,
                                  ulp_model_budget(auditor->program->model), judged, error));
    for (size_t o = 0; o < count; o++)
        if (values[o])
            ulp_judged_add(&auditor->audit.lanes[lane]
                                .nodes[outputs[o].node]
                                .outputs[outputs[o].output]
                                .judged,
                           &judged[o]);
    return ULP_OK;
}

enum ulp_status ulp_listed_settle(struct ulp_auditor *auditor, struct ulp_error *error)
{
    const size_t count = auditor->program->main->output_count;
    struct ulp_budget *budget = ulp_model_budget(auditor->program->model);
    for (size_t l = 0; auditor->listed && l < auditor->audit.lane_count; l++) {
        ULP_SCOPED(ulp_free_of) const struct ulp_tensor **tensors = NULL;
        ULP_SCOPED(ulp_free_of) struct ulp_judged *judged = NULL;
        if (!auditor->listed[l])
            continue;
        ULP_TRY(ulp_allocate(&tensors, 2 * count, sizeof(struct ulp_tensor *), budget,
                             "lists of objects", error));
        ULP_TRY(ulp_allocate(&judged, count, sizeof *judged, budget, "lists of objects", error));
        ULP_TRY(settle_lane(auditor, l, tensors, tensors + count, judged, error));
        ulp_listed_clear(&auditor->listed[l], auditor);
    }
    return ULP_OK;
}

void ulp_listed_clear(struct ulp_listed_output **listed, const struct ulp_auditor *auditor)
{
    for (size_t o = 0; *listed && o < auditor->program->main->output_count; o++) {
        ulp_tensor_free(&(*listed)[o].value);
        ulp_tensor_free(&(*listed)[o].truth);
    }
    ulp_free(*listed);
    *listed = NULL;
}
