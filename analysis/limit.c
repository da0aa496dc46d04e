/* Limits for exit codes in CI. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope/analysis.h>

#include "base/environment.h"
#include "base/error.h"

struct metric_row {
    const char *name;
    size_t offset;
    bool falls;      /* worse when smaller */
    bool everywhere; /* of every node: an overflow may be hidden from the outputs (1 / Inf is 0) */
};
#define ROW(metric) .name = #metric, .offset = offsetof(struct ulp_metrics, metric)
static const struct metric_row metric_rows[] = {
    {ROW(max_abs)},
    {ROW(rms)},
    {ROW(mean)},
    {ROW(max_rel)},
    {ROW(max_ulp)},
    {ROW(median_ulp)},
    {ROW(cosine), .falls = true},
    {ROW(sqnr_db), .falls = true},
    {ROW(nonfinite), .everywhere = true},
};
static const struct view_row {
    const char *name;
    size_t offset;  /* in the output */
    size_t samples; /* in what it has of several samples */
} view_rows[] = {
    {"entire.", offsetof(struct ulp_audit_output, entire),
     offsetof(struct ulp_audit_samples, entire_limit)},
    {"single.", offsetof(struct ulp_audit_output, single),
     offsetof(struct ulp_audit_samples, single_limit)},
    {"introduced.", offsetof(struct ulp_audit_output, introduced),
     offsetof(struct ulp_audit_samples, introduced_limit)},
    {"carried.", offsetof(struct ulp_audit_output, carried),
     offsetof(struct ulp_audit_samples, carried_limit)},
};

static bool crosses(const struct ulp_metrics *metrics, const struct metric_row *row, double limit)
{
    if (strcmp(row->name, "nonfinite") == 0)
        return !((double)metrics->nonfinite <= limit);
    double value;
    memcpy(&value, (const char *)metrics + row->offset, sizeof value);
    /* Written so that NaN crosses: a figure that does not exist meets no limit. An empty tensor has
     * nothing to fail. */
    if (metrics->count == 0 && !metrics->nonfinite)
        return false;
    return row->falls ? !(value >= limit) : !(fabs(value) <= limit);
}

/* graph_output: one that diverged meets no limit. Inside the network a node may decide otherwise
 * and be finite all the same. */
static bool node_crosses(const struct ulp_audit_node *node, const struct view_row *view,
                         const struct metric_row *row, double limit, bool graph_output)
{
    bool any = false;
    for (size_t o = 0; o < node->output_count; o++) {
        const struct ulp_audit_output *output = &node->outputs[o];
        const char *at = output->samples ? (const char *)output->samples + view->samples
                                         : (const char *)output + view->offset;
        const struct ulp_metrics *metrics = (const void *)at;
        any |= (graph_output && metrics->diverged) || crosses(metrics, row, limit);
    }
    return any;
}

enum ulp_status ulp_audit_exceeds(const struct ulp_audit *audit, const char *limit, bool *exceeded,
                                  struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    const struct view_row *view = &view_rows[0];
    const char *name = limit, *equals = strchr(limit, '=');
    for (size_t v = 0; v < sizeof view_rows / sizeof *view_rows; v++)
        if (strncmp(limit, view_rows[v].name, strlen(view_rows[v].name)) == 0) {
            view = &view_rows[v];
            name = limit + strlen(view_rows[v].name);
        }
    const struct metric_row *row = NULL;
    for (size_t m = 0; equals && m < sizeof metric_rows / sizeof *metric_rows; m++)
        if (strlen(metric_rows[m].name) == (size_t)(equals - name) &&
            strncmp(metric_rows[m].name, name, (size_t)(equals - name)) == 0)
            row = &metric_rows[m];
    char *end = NULL;
    double value = equals ? strtod(equals + 1, &end) : NAN;
    if (!row || !end || end == equals + 1 || *end || isnan(value))
        return ulp_fail(
            error, ULP_ERROR_USAGE,
            "limit '%s': expected METRIC=NUMBER with METRIC one of max_abs, rms, mean, max_rel, "
            "max_ulp, median_ulp, cosine, "
            "sqnr_db, nonfinite, alone or after single., entire., introduced. or carried.",
            limit);
    *exceeded = false;
    for (size_t l = 0; audit && l < audit->lane_count; l++) {
        const struct ulp_audit_lane *lane = &audit->lanes[l];
        *exceeded |= node_crosses(&lane->outputs, view, row, value, true);
        for (size_t n = 0; row->everywhere && n < lane->node_count; n++)
            *exceeded |= node_crosses(&lane->nodes[n], view, row, value, false);
    }
    return ULP_OK;
}
