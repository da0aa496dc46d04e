/* Limits for exit codes in CI. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope/analysis.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/text.h"
#include "analysis/figure.h"

/* Not a figure but a count, and of every node: an overflow may be hidden from the outputs (1 / Inf
 * is 0). */
enum { NONFINITE = ULP_FIGURE_COUNT, UNKNOWN };

/* A limit, and what of an arithmetic does not meet it so far. */
struct check {
    enum ulp_view view;
    int figure; /* enum ulp_figure, or one of the following */
    double limit;
    struct ulp_crossing worst;
    bool crossed;
};

static double read_value(const struct ulp_metrics *metrics, int figure)
{
    return figure == NONFINITE ? (double)metrics->nonfinite : ulp_figure_get(metrics, figure);
}

/* Written so that NaN crosses: a figure that does not exist meets no limit. */
static bool is_beyond(int figure, double value, double limit)
{
    return figure != NONFINITE && ulp_figure_rows[figure].worst == ULP_WORST_SMALLEST
               ? !(value >= limit)
               : !(fabs(value) <= limit);
}

/* Of nodes that overflow the first is the cause. */
static bool is_worse(int figure, double value, double than)
{
    return figure != NONFINITE && ulp_figure_worse(figure, value, than);
}

static void add_crossing(struct check *check, enum ulp_crossing_kind kind, double value,
                         const struct ulp_audit_output *output, const char *node)
{
    struct ulp_crossing *worst = &check->worst;
    const size_t more = worst->more + check->crossed;
    if (!check->crossed || kind > worst->kind ||
        (kind == worst->kind && is_worse(check->figure, value, worst->value)))
        *worst = (struct ulp_crossing){.kind = kind,
                                       .arithmetic = worst->arithmetic,
                                       .output = output->name,
                                       .node = node,
                                       .value = value,
                                       .limit = check->limit};
    worst->more = more;
    check->crossed = true;
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
        const struct ulp_metrics *metrics = ulp_view_limit_get(output, check->view);
        const double value = read_value(metrics, check->figure);
        const bool has_figures = metrics->count || metrics->nonfinite;
        const bool is_other_model =
            check->view == ULP_VIEW_ENTIRE || check->view == ULP_VIEW_CARRIED;
        enum ulp_crossing_kind kind = ULP_CROSSED_VALUE;
        if (metrics->diverged)
            kind = ULP_CROSSED_DIVERGED;
        else if (output->unpaired && is_other_model)
            kind = ULP_CROSSED_UNPAIRED;
        else if (!has_figures && metrics->unmeasured)
            kind = ULP_CROSSED_NOTHING;
        any |= has_figures || kind != ULP_CROSSED_VALUE;
        if (kind != ULP_CROSSED_VALUE ||
            (values && has_figures && is_beyond(check->figure, value, check->limit)))
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
            const double value = read_value(ulp_view_limit_get(output, check->view), check->figure);
            if (is_beyond(check->figure, value, check->limit))
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
    check.worst.arithmetic = lane->name;
    check.worst.limit = check.limit;
    if (check.figure == NONFINITE)
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

static enum ulp_status fail_limit(const char *limit, struct ulp_error *error)
{
    struct ulp_text text = {0};
    for (int f = 0; f < ULP_FIGURE_COUNT; f++)
        ulp_text_add(&text, "%s, ", ulp_figure_rows[f].name);
    ulp_text_add(&text, "nonfinite, alone or after ");
    for (int v = 0; v < ULP_VIEW_COUNT; v++)
        ulp_text_add(&text, "%s%s.",
                     v == 0                   ? ""
                     : v + 1 < ULP_VIEW_COUNT ? ", "
                                              : " or ",
                     ulp_view_names[v]);
    ulp_fail(error, ULP_ERROR_USAGE, "limit '%s': expected METRIC=NUMBER with METRIC one of %s",
             limit, text.failed ? "those of ulpscope audit --help" : text.data);
    ulp_text_free(&text);
    return ULP_ERROR_USAGE;
}

/* The word that `text` begins with, when `end` follows it: how long it is, 0: another. */
static size_t match(const char *text, const char *word, char end)
{
    const size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && text[length] == end ? length + 1 : 0;
}

/* "METRIC=VALUE", perhaps after "VIEW.". */
static enum ulp_status read_limit(const char *limit, struct check *out, struct ulp_error *error)
{
    const char *name = limit, *value = NULL;
    char *end = NULL;
    out->view = ULP_VIEW_ENTIRE;
    out->figure = UNKNOWN;
    for (int v = 0; v < ULP_VIEW_COUNT; v++)
        if (match(limit, ulp_view_names[v], '.')) {
            out->view = (enum ulp_view)v;
            name = limit + match(limit, ulp_view_names[v], '.');
        }
    for (int f = 0; f <= NONFINITE; f++) {
        const size_t length =
            match(name, f == NONFINITE ? "nonfinite" : ulp_figure_rows[f].name, '=');
        if (length) {
            out->figure = f;
            value = name + length;
        }
    }
    out->limit = value ? strtod(value, &end) : NAN;
    return value && end != value && !*end && !isnan(out->limit) ? ULP_OK : fail_limit(limit, error);
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
