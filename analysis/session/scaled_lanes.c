/* What formats with scales do to the tensors of each lane (struct ulp_scaled_tensor). */
#include "analysis/scales/scales.h"
#include "analysis/session/advise.h"
#include "base/error.h"

static bool has_scales(const struct ulp_programs *programs, const struct ulp_audit_lane *lane)
{
    bool has = ulp_scaling_is_used(&lane->arithmetic) ||
               ulp_model_has_operator(programs->model, "QuantizeLinear");
    for (size_t k = 0; k < lane->kept_count; k++)
        has |= ulp_scaling_is_used(&lane->kept[k]);
    return has;
}

enum ulp_status ulp_session_scaled(const struct ulp_session *session, struct ulp_audit *audit,
                                   const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    const struct ulp_programs *programs = session->programs;
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < audit->lane_count && status == ULP_OK; l++) {
        struct ulp_audit_lane *lane = &audit->lanes[l];
        const struct ulp_scales_options options = {.arithmetic = programs->lanes[l + 1],
                                                   .thread_count = session->options->thread_count,
                                                   .progress = session->options->progress};
        struct ulp_scales_lane own = {{0}, {0}};
        struct ulp_scales scales = {.memory = audit->memory};
        if (!has_scales(programs, lane))
            continue;
        if (programs->options.keeps)
            own.keeps = programs->options.keeps[l + 1];
        if (programs->options.groups)
            own.groups = programs->options.groups[l + 1];
        status = ulp_scales_list(programs->model, inputs, &options, &own, &scales, error);
        lane->scaled = scales.tensors;
        lane->scaled_count = scales.tensor_count;
    }
    return ulp_fail_at(error, status, "tensors with scales");
}
