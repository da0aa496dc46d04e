/* Judging outputs by the tolerances. */
#include "analysis/measure/metrics.h"
#include "analysis/emulation/emulation.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "run/lane.h"
#include "number/function/math.h"

enum ulp_status ulp_emulation_limits(struct ulp_emulation *emulation, struct ulp_error *error)
{
    const struct ulp_emulated *given = &emulation->given;
    emulation->limits =
        ulp_arena_take(emulation->memory, given->tolerance_count + 1, sizeof *emulation->limits);
    if (!emulation->limits)
        return ulp_fail_memory(error, "out of memory for tolerances");
    if (!given->tolerance_count)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s needs a tolerance, as sqnr_db=60", given->what);
    enum ulp_status status = ULP_OK;
    for (size_t t = 0; t < given->tolerance_count && status == ULP_OK; t++)
        status = ulp_limit_read(given->tolerances[t], emulation->plan->model, &emulation->limits[t],
                                error);
    emulation->limit_count = given->tolerance_count;
    return status;
}

/* How many times too large the error is. */
static double find_ratio(const struct ulp_limit *limit, double value)
{
    double ratio;
    if (limit->figure == ULP_FIGURE_sqnr_db)
        ratio = ulp_math_pow(10, (limit->value - value) / 20);
    else if (limit->figure == ULP_FIGURE_cosine)
        ratio = sqrt(ulp_math_max(1 - value, 0) /
                     (1 - limit->value)); /* 1 - cosine goes by its square */
    else
        ratio = value == 0 ? 0 : fabs(value) / limit->value;
    if (isnan(ratio))
        return INFINITY;
    /* What the limit itself says is not left to rounding. */
    return ulp_limit_is_beyond(limit->figure, value, limit->value) ? ulp_math_max(ratio, 1 + 1e-12)
                                                                   : ulp_math_min(ratio, 1);
}

static void add(struct ulp_judgement *out, double ratio, const char *output, const char *metric,
                double value)
{
    if (out->output && !(ratio > out->ratio))
        return;
    *out = (struct ulp_judgement){ratio, output, metric, value};
}

static enum ulp_status judge_output(const struct ulp_emulation *emulation, const char *name,
                                    const struct ulp_limit *limit, const struct ulp_tensor *value,
                                    const struct ulp_tensor *truth, struct ulp_judgement *out,
                                    struct ulp_error *error)
{
    struct ulp_metrics metrics;
    struct ulp_format format = {0};
    enum ulp_status status = ULP_OK;
    if (ulp_element_is_float(truth->element))
        status = ulp_lane_format(&emulation->plan->lanes[1], truth->type, &format, error);
    if (status == ULP_OK)
        status = ulp_metrics_measure_on(value, truth, &format, emulation->pool, &metrics, error);
    if (status != ULP_OK)
        return status;
    const double figure = ulp_figure_get(&metrics, limit->figure);
    if (metrics.diverged)
        add(out, INFINITY, name, "diverged", 1);
    else if (metrics.nonfinite)
        add(out, INFINITY, name, "nonfinite", (double)metrics.nonfinite);
    else if (!ulp_element_is_float(truth->element) || !metrics.count)
        add(out, 0, name, ulp_figure_rows[limit->figure].name, figure);
    else
        add(out, find_ratio(limit, figure), name, ulp_figure_rows[limit->figure].name, figure);
    return ULP_OK;
}

enum ulp_status ulp_emulation_judge(const struct ulp_emulation *emulation,
                                    const struct ulp_tensor_set *outputs,
                                    const struct ulp_tensor_set *truth, struct ulp_judgement *out,
                                    struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    *out = (struct ulp_judgement){0};
    for (size_t o = 0; o < truth->count; o++)
        for (size_t t = 0; t < emulation->limit_count && status == ULP_OK; t++) {
            const struct ulp_limit *limit = &emulation->limits[t];
            const char *name = ulp_model_output(emulation->plan->model, o).name; /* outlives both */
            if (!limit->output || strcmp(limit->output, name) == 0)
                status = judge_output(emulation, name, limit, ulp_tensor_set_find(outputs, name),
                                      &truth->items[o].tensor, out, error);
        }
    return status;
}

bool ulp_emulation_diverged(const struct ulp_emulation *emulation,
                            const struct ulp_judgement *judgements)
{
    bool any = false;
    for (size_t s = 0; s < emulation->given.sample_count; s++)
        any |= judgements[s].metric && strcmp(judgements[s].metric, "diverged") == 0;
    return any;
}
