/* See views.h. Lanes are measured side by side, so that the reference is read once for as many as
 * fit; views of the same pair of tensors are measured once. */
#include "analysis/audit/views.h"

#include "analysis/measure/difference.h"
#include "analysis/measure/figure.h"

#define LANES_MAX (ULP_METRICS_PAIRS / ULP_VIEW_COUNT)

/* Whether the node added nothing: where its results are the reference's on its inputs, number by
 * number (but for differences that no double tells from 0), what it carried is its whole error,
 * figure by figure. */
static bool is_exact(const struct ulp_metrics *introduced, const struct ulp_tensor *value)
{
    return introduced->count == value->count && introduced->max_abs == 0 && !introduced->diverged;
}

/* Of one lane. */
struct viewing {
    struct ulp_metrics_pair pairs[ULP_VIEW_COUNT];
    int first[ULP_VIEW_COUNT]; /* the first view of the same pair; -1: one of it is not there */
    bool waits;                /* carried, for introduced: the node's first elements only move */
};

static struct viewing look_at_lane(const struct ulp_viewed *lane, const struct ulp_tensor *own,
                                   const struct ulp_tensor *truth)
{
    const struct ulp_lane_value *value = lane->value;
    struct ulp_metrics *views = lane->views;
    struct viewing v = {
        .pairs = {
            [ULP_VIEW_SINGLE] = {value->single, own, lane->format, .out = &views[ULP_VIEW_SINGLE]},
            [ULP_VIEW_ENTIRE] = {value->entire, truth, lane->format,
                                 .out = &views[ULP_VIEW_ENTIRE]},
            [ULP_VIEW_INTRODUCED] = {value->entire, value->here, lane->format,
                                     .out = &views[ULP_VIEW_INTRODUCED]},
            [ULP_VIEW_CARRIED] = {value->here, truth, lane->format,
                                  .out = &views[ULP_VIEW_CARRIED]},
        }};
    for (int i = 0; i < ULP_VIEW_COUNT; i++) {
        const struct ulp_metrics_pair *pair = &v.pairs[i];
        views[i] = ulp_metrics_undefined();
        v.first[i] = -1;
        for (int j = 0; j <= i && pair->value && pair->base && v.first[i] < 0; j++)
            if (v.pairs[j].value == pair->value && v.pairs[j].base == pair->base)
                v.first[i] = j;
    }
    v.waits = v.first[ULP_VIEW_CARRIED] == ULP_VIEW_CARRIED && value->entire &&
              ulp_sides_begin_equal(value->entire, value->here);
    return v;
}

static enum ulp_status measure_lanes(const struct ulp_viewed *lanes, size_t lane_count,
                                     const struct ulp_tensor *own, const struct ulp_tensor *truth,
                                     struct ulp_pool *pool, struct ulp_error *error)
{
    struct viewing viewings[LANES_MAX];
    struct ulp_metrics_pair pairs[ULP_METRICS_PAIRS];
    size_t count = 0;
    for (size_t l = 0; l < lane_count; l++) {
        const struct viewing *v = &viewings[l];
        viewings[l] = look_at_lane(&lanes[l], own, truth);
        for (int i = 0; i < ULP_VIEW_COUNT; i++)
            if (v->first[i] == i && !(i == ULP_VIEW_CARRIED && v->waits))
                pairs[count++] = v->pairs[i];
    }
    ULP_TRY(ulp_metrics_measure_pairs(pairs, count, pool, error));
    count = 0;
    for (size_t l = 0; l < lane_count; l++) {
        const struct viewing *v = &viewings[l];
        struct ulp_metrics *views = lanes[l].views;
        for (int i = 0; i < ULP_VIEW_COUNT; i++)
            if (v->first[i] >= 0)
                views[i] = views[v->first[i]];
        if (v->waits && is_exact(&views[ULP_VIEW_INTRODUCED], lanes[l].value->entire))
            views[ULP_VIEW_CARRIED] = views[ULP_VIEW_ENTIRE];
        else if (v->waits)
            pairs[count++] = v->pairs[ULP_VIEW_CARRIED];
    }
    return ulp_metrics_measure_pairs(pairs, count, pool, error);
}

enum ulp_status ulp_views_measure(const struct ulp_viewed *lanes, size_t lane_count,
                                  const struct ulp_tensor *own, const struct ulp_tensor *truth,
                                  struct ulp_pool *pool, struct ulp_error *error)
{
    struct ulp_viewed open[LANES_MAX];
    enum ulp_status status = ULP_OK;
    for (size_t l = 0, count = 0; l < lane_count && status == ULP_OK; l++) {
        if (lanes[l].value->entire)
            open[count++] = lanes[l];
        if (count == LANES_MAX || l + 1 == lane_count) {
            status = measure_lanes(open, count, own, truth, pool, error);
            count = 0;
        }
    }
    return status;
}
