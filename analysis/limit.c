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

/* A limit, and what of an arithmetic does not meet it so far. */
struct check {
    const struct view_row *view;
    const struct metric_row *metric;
    double limit;
    struct ulp_crossing worst;
    bool crossed;
};

static double read_value(const struct ulp_metrics *metrics, const struct metric_row *row)
{
    if (row->everywhere)
        return (double)metrics->nonfinite;
    double value;
    memcpy(&value, (const char *)metrics + row->offset, sizeof value);
    return value;
}

/* Written so that NaN crosses: a figure that does not exist meets no limit. */
static bool is_beyond(const struct metric_row *row, double value, double limit)
{
    return row->falls ? !(value >= limit) : !(fabs(value) <= limit);
}

/* Of nodes that overflow the first is the cause. */
static bool is_worse(const struct metric_row *row, double value, double than)
{
    if (row->everywhere || isnan(than))
        return false;
    return isnan(value) || (row->falls ? value < than : fabs(value) > fabs(than));
}

static void add_crossing(struct check *check, enum ulp_crossing_kind kind, double value,
                         const struct ulp_audit_output *output, const char *node)
{
    struct ulp_crossing *worst = &check->worst;
    const size_t more = worst->more + check->crossed;
    if (!check->crossed || kind > worst->kind ||
        (kind == worst->kind && is_worse(check->metric, value, worst->value)))
        *worst = (struct ulp_crossing){.kind = kind,
                                       .arithmetic = worst->arithmetic,
                                       .output = output->name,
                                       .node = node,
                                       .value = value,
                                       .limit = check->limit};
    worst->more = more;
    check->crossed = true;
}

static const struct ulp_metrics *find_metrics(const struct ulp_audit_output *output,
                                              const struct view_row *view)
{
    const char *at = output->samples ? (const char *)output->samples + view->samples
                                     : (const char *)output + view->offset;
    return (const void *)at;
}

/* The node that computes a value; names of values are unique in a graph. */
static const char *find_node(const struct ulp_audit_lane *lane, const char *output)
{
    for (size_t n = lane->node_count; n-- > 0;)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            if (strcmp(lane->nodes[n].outputs[o].name, output) == 0)
                return lane->nodes[n].name;
    return NULL;
}

/* Whether there was anything to compare in the graph's outputs. values false: their figures have
 * been checked among the nodes'. */
static bool check_outputs(struct check *check, const struct ulp_audit_lane *lane, bool values)
{
    bool any = false;
    for (size_t o = 0; o < lane->outputs.output_count; o++) {
        const struct ulp_audit_output *output = &lane->outputs.outputs[o];
        const struct ulp_metrics *metrics = find_metrics(output, check->view);
        const double value = read_value(metrics, check->metric);
        const bool has_figures = metrics->count || metrics->nonfinite;
        const bool is_other_model =
            strcmp(check->view->name, "entire.") == 0 || strcmp(check->view->name, "carried.") == 0;
        enum ulp_crossing_kind kind = ULP_CROSSED_VALUE;
        if (metrics->diverged)
            kind = ULP_CROSSED_DIVERGED;
        else if (output->unpaired && is_other_model)
            kind = ULP_CROSSED_UNPAIRED;
        else if (!has_figures && metrics->unmeasured)
            kind = ULP_CROSSED_NOTHING;
        any |= has_figures || kind != ULP_CROSSED_VALUE;
        if (kind != ULP_CROSSED_VALUE ||
            (values && has_figures && is_beyond(check->metric, value, check->limit)))
            add_crossing(check, kind, value, output, find_node(lane, output->name));
    }
    return any;
}

/* An overflow inside may be hidden from the outputs. A node may decide otherwise than the reference
 * and be finite all the same. */
static void check_nodes(struct check *check, const struct ulp_audit_lane *lane)
{
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++) {
            const struct ulp_audit_output *output = &lane->nodes[n].outputs[o];
            const double value = read_value(find_metrics(output, check->view), check->metric);
            if (is_beyond(check->metric, value, check->limit))
                add_crossing(check, ULP_CROSSED_VALUE, value, output, lane->nodes[n].name);
        }
}

static enum ulp_status add_to_list(struct ulp_crossing_list *list, struct ulp_crossing crossing,
                                   struct ulp_error *error)
{
    struct ulp_crossing *items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (!items)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for limits");
    list->items = items;
    items[list->count++] = crossing;
    return ULP_OK;
}

static enum ulp_status check_lane(struct check check, const struct ulp_audit_lane *lane,
                                  struct ulp_crossing_list *out, struct ulp_error *error)
{
    check.worst.arithmetic = lane->arithmetic.name;
    check.worst.limit = check.limit;
    if (check.metric->everywhere)
        check_nodes(&check, lane);
    const bool any = check_outputs(&check, lane, !check.crossed);
    if (!any && !check.crossed)
        check.worst.kind = ULP_CROSSED_NOTHING;
    return any && !check.crossed ? ULP_OK : add_to_list(out, check.worst, error);
}

static enum ulp_status check_inputs(const struct ulp_audit *audit, struct ulp_crossing_list *out,
                                    struct ulp_error *error)
{
    if (!audit->nonfinite_input_count)
        return ULP_OK;
    const struct ulp_audit_input *first = &audit->nonfinite_inputs[0];
    return add_to_list(out,
                       (struct ulp_crossing){.kind = ULP_CROSSED_INPUT,
                                             .output = first->name,
                                             .sample = audit->sample_names[first->sample],
                                             .value = (double)first->count,
                                             .more = audit->nonfinite_input_count - 1},
                       error);
}

/* "METRIC=VALUE", perhaps after "VIEW.". */
static enum ulp_status read_limit(const char *limit, struct check *out, struct ulp_error *error)
{
    const char *name = limit, *equals = strchr(limit, '=');
    out->view = &view_rows[0];
    for (size_t v = 0; v < sizeof view_rows / sizeof *view_rows; v++)
        if (strncmp(limit, view_rows[v].name, strlen(view_rows[v].name)) == 0) {
            out->view = &view_rows[v];
            name = limit + strlen(view_rows[v].name);
        }
    for (size_t m = 0; equals && m < sizeof metric_rows / sizeof *metric_rows; m++)
        if (strlen(metric_rows[m].name) == (size_t)(equals - name) &&
            strncmp(metric_rows[m].name, name, (size_t)(equals - name)) == 0)
            out->metric = &metric_rows[m];
    char *end = NULL;
    out->limit = equals ? strtod(equals + 1, &end) : NAN;
    if (out->metric && end && end != equals + 1 && !*end && !isnan(out->limit))
        return ULP_OK;
    return ulp_fail(
        error, ULP_ERROR_USAGE,
        "limit '%s': expected METRIC=NUMBER with METRIC one of max_abs, rms, mean, max_rel, "
        "max_ulp, median_ulp, cosine, sqnr_db, nonfinite, alone or after single., entire., "
        "introduced. or carried.",
        limit);
}

enum ulp_status ulp_audit_check(const struct ulp_audit *audit, const char *limit,
                                bool allow_nonfinite_inputs, struct ulp_crossing_list *out,
                                struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct check check = {0};
    *out = (struct ulp_crossing_list){0};
    enum ulp_status status = read_limit(limit, &check, error);
    if (status == ULP_OK && audit && !allow_nonfinite_inputs)
        status = check_inputs(audit, out, error);
    for (size_t l = 0; audit && l < audit->lane_count && status == ULP_OK; l++)
        status = check_lane(check, &audit->lanes[l], out, error);
    if (status != ULP_OK) {
        free(out->items);
        *out = (struct ulp_crossing_list){0};
    }
    return status;
}
