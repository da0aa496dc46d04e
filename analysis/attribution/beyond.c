/* What results err by beyond their rounding. */
#include <float.h>
#include <math.h>

#include "analysis/attribution/attribution.h"
#include "analysis/measure/metrics_strip.h"
#include "base/error.h"
#include "number/round/round.h"
#include "run/lane.h"

/* P(p) less R(p) as it would be stored, R(p) being P(p) less d, what the node introduces. That has
 * 24 bits, so R(p) is off by 2^-25 d: where a tie of the storage's step u is nearer, in a part
 * 2^-24 d / u of elements, the result is off by u. In the mean that is 2^-24 d, as in d itself. */
struct beyond {
    const float *value, *introduced;
    const struct ulp_format *storage;
    enum ulp_rounding rounding;
    float *out;
};

ULP_WORK(find_beyond_range)
{
    const struct beyond *job = context;
    double r[ULP_METRICS_STRIP];
    for (size_t at = first, count; at < last; at += count) {
        const float *value = job->value + at, *introduced = job->introduced + at;
        count = ulp_size_min(last - at, ULP_METRICS_STRIP);
        for (size_t i = 0; i < count; i++)
            r[i] = (double)value[i] - (double)introduced[i];
        ulp_round_doubles(job->storage, job->rounding, r, count, 0, 0, at);
        for (size_t i = 0; i < count; i++) {
            const double error_beyond = (double)value[i] - r[i];
            job->out[at + i] = introduced[i] != 0 && fabs(error_beyond) <= DBL_MAX
                                   ? ulp_kept_error(error_beyond)
                                   : 0;
        }
    }
    return ULP_OK;
}

const struct ulp_arithmetic *ulp_attribution_holder(const struct ulp_attributor *attributor,
                                                    const struct ulp_attributed *lane, size_t node)
{
    return ulp_mix_holds(&attributor->program->mixes[1 + (lane - attributor->lanes)], node);
}

enum ulp_status ulp_attribution_beyond(struct ulp_attributor *attributor,
                                       const struct ulp_attributed *lane, size_t node,
                                       const struct ulp_tensor *value, const float *introduced,
                                       float *out, struct ulp_error *error)
{
    const struct ulp_arithmetic *arithmetic = ulp_attribution_holder(attributor, lane, node);
    struct ulp_format format;
    ULP_TRY(ulp_lane_format(arithmetic, value->type, &format, error));
    struct beyond job = {value->data, introduced, &format, arithmetic->rounding, out};
    return ulp_parallel_for(attributor->pool, value->count, ulp_grain(8), find_beyond_range, &job,
                            error);
}
