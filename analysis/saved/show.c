/* A saved report as text: the verdicts and outputs of all, or the figures of some nodes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/html/html.h"
#include "analysis/measure/figure.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/document.h"
#include "analysis/saved/saved.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/text/glob.h"
#include "base/text/suggest.h"

#define NODES_SHOWN 20
#define ROWS_SHOWN 5

/* A figure that does not exist is a dash. */
static void add_figure(struct ulp_text *out, const char *format, const char *dash, double value)
{
    char text[32];
    snprintf(text, sizeof text, format, value);
    ulp_text_add(out, "%s", isfinite(value) ? text : dash);
}

static void add_exponent(struct ulp_text *out, double value)
{
    add_figure(out, " %10.2e", "          -", value);
}

static void add_whole(const struct ulp_page *page, const struct ulp_saved *saved)
{
    ulp_page_document(page, saved->kind, json_incref(saved->root), ROWS_SHOWN);
    if (!saved->lanes)
        return;
    ulp_text_add(page->out,
                 "\n%zu nodes; ulpscope show REPORT NODE shows one: a name with * and "
                 "?, #12 or op:Softmax\n",
                 json_array_size(json_object_get(json_array_get(saved->lanes, 0), "nodes")));
}

/* ---- nodes ---- */

static bool is_chosen(const json_t *node, const char *pattern)
{
    const json_t *output;
    size_t o;
    bool chosen = ulp_glob_matches_name(pattern, ulp_saved_text(node, "name"));
    if (strncmp(pattern, "op:", 3) == 0)
        chosen |= ulp_glob_matches(pattern + 3, ulp_saved_text(node, "op"));
    if (*pattern == '#') {
        char *end;
        const double index = strtod(pattern + 1, &end);
        chosen |= end > pattern + 1 && !*end && index == ulp_saved_number(node, "index");
    }
    json_array_foreach(json_object_get(node, "outputs"), o, output) chosen |=
        strcmp(pattern, ulp_saved_text(output, "name")) == 0;
    return chosen;
}

/* A row for each figure, a column for each view. */
static void add_figures(const struct ulp_page *page, const json_t *output)
{
    ulp_text_add(page->out, "      %s%10s", page->dim, "");
    for (int v = 0; v < ULP_VIEW_COUNT; v++)
        ulp_text_add(page->out, " %10s", ulp_view_names[v]);
    ulp_text_add(page->out, "%s\n      rms / ref ", page->off);
    for (int v = 0; v < ULP_VIEW_COUNT; v++)
        add_exponent(page->out, ulp_saved_relative(output, ulp_view_names[v]));
    for (int f = 0; f <= ULP_FIGURE_COUNT; f++) {
        const char *name = f < ULP_FIGURE_COUNT ? ulp_figure_rows[f].name : "nonfinite";
        ulp_text_add(page->out, "\n      %-10s", name);
        for (int v = 0; v < ULP_VIEW_COUNT; v++)
            add_figure(page->out, f < ULP_FIGURE_COUNT ? " %10.3g" : " %10.0f", "          -",
                       ulp_saved_number(json_object_get(output, ulp_view_names[v]), name));
    }
    ulp_text_add(page->out, "\n");
}

/* The four views of one output in one arithmetic, and what the report says of the node there. */
static void add_views(const struct ulp_page *page, const json_t *lane, const json_t *node,
                      const json_t *output)
{
    const char *remark = ulp_saved_remark(node), *kept = ulp_saved_text(node, "arithmetic");
    const json_t *types = json_object_get(node, "types");
    const char *weights = ulp_saved_text(types, "weight"),
               *computed = ulp_saved_text(types, "compute");
    const double share = ulp_saved_number(node, "share");
    struct ulp_text text = {0};
    ulp_text_show(&text, "%s", *kept ? kept : ulp_saved_text(lane, "name"));
    if (*kept)
        ulp_text_show(&text, " (kept in %s)", ulp_saved_text(lane, "name"));
    if (*computed)
        ulp_text_show(&text, "; weights %s, computed in %s",
                      strcmp(weights, "UNDEFINED") != 0 ? weights : "computed", computed);
    if (isfinite(share))
        ulp_text_add(&text, "; share %.1f %%, without its error the outputs' falls by %.1f %%",
                     ulp_tenths(100 * share), ulp_tenths(100 * ulp_saved_number(node, "gain")));
    if (ulp_saved_number(node, "grew") > 0)
        ulp_text_add(&text, "; grew %.2g times", ulp_saved_number(node, "grew"));
    ulp_text_add(&text, "; headroom ");
    add_figure(&text, "%.1f bits", "-",
               ulp_tenths(ulp_saved_number(json_object_get(output, "range"), "headroom_bits")));
    ulp_text_add(&text, "%s%s", *remark ? "; " : "", remark);
    ulp_text_add(page->out, "    %s", page->bold);
    ulp_page_broken(page, &text, 6, 4);
    ulp_text_add(page->out, "%s", page->off);
    add_figures(page, output);
}

/* The node with that index in an arithmetic: at its own place, as the audit writes them. */
static const json_t *find_lane_node(const json_t *lane, size_t place, const char *name)
{
    const json_t *node = json_array_get(json_object_get(lane, "nodes"), place);
    return strcmp(ulp_saved_text(node, "name"), name) == 0 ? node : NULL;
}

static void show_node(const struct ulp_page *page, const struct ulp_saved *saved, size_t place,
                      const json_t *node)
{
    const json_t *output, *lane;
    size_t o, l;
    ulp_text_show(page->out, "%snode %.0f %s (%s)%s\n", page->bold, ulp_saved_number(node, "index"),
                  ulp_saved_text(node, "name"), ulp_saved_text(node, "op"), page->off);
    if (!json_object_get(node, "outputs")) /* of two arithmetics there are shares alone */
        ulp_text_add(page->out, "  share %.3g %%\n", 100 * ulp_saved_number(node, "share"));
    json_array_foreach(json_object_get(node, "outputs"), o, output)
    {
        const json_t *range = json_object_get(output, "range");
        struct ulp_text text = {0};
        ulp_text_show(&text, "output %s ", ulp_saved_text(output, "name"));
        ulp_saved_add_shape(&text, output);
        ulp_text_add(&text, ": reference rms %.3g, largest %.3g",
                     ulp_saved_number(range, "ref_rms"), ulp_saved_number(range, "ref_max"));
        ulp_text_add(page->out, "  ");
        ulp_page_broken(page, &text, 4, 2);
        json_array_foreach(saved->lanes, l, lane)
        {
            const json_t *own = find_lane_node(lane, place, ulp_saved_text(node, "name"));
            if (own)
                add_views(page, lane, own, json_array_get(json_object_get(own, "outputs"), o));
        }
    }
}

static const char *name_node(const void *context, size_t i)
{
    return ulp_saved_text(json_array_get(context, i), "name");
}

static enum ulp_status fail_to_find(const struct ulp_saved *saved, const json_t *nodes,
                                    const char *pattern, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text hint = {0};
    ulp_suggest_names(&hint, pattern, json_array_size(nodes), name_node, nodes);
    ulp_fail(error, ULP_ERROR_USAGE, "%s: no node is called '%s'%s", saved->path, pattern,
             hint.data ? hint.data : "");
    return ULP_ERROR_USAGE;
}

static enum ulp_status show_nodes(const struct ulp_page *page, const struct ulp_saved *saved,
                                  const char *pattern, struct ulp_error *error)
{
    const json_t *nodes = json_object_get(json_array_get(saved->lanes, 0), "nodes"), *node;
    size_t n, found = 0;
    ULP_TRY(ulp_saved_check_lanes(saved, error));
    json_array_foreach(nodes, n, node)
    {
        if (!is_chosen(node, pattern))
            continue;
        if (found++ >= NODES_SHOWN)
            continue;
        if (found > 1)
            ulp_text_add(page->out, "\n");
        show_node(page, saved, n, node);
    }
    if (found > NODES_SHOWN)
        ulp_text_add(page->out, "\n... and %zu more node%s: ask for fewer\n", found - NODES_SHOWN,
                     found == NODES_SHOWN + 1 ? "" : "s");
    return found ? ULP_OK : fail_to_find(saved, nodes, pattern, error);
}

enum ulp_status ulp_saved_show(const struct ulp_saved *saved, const char *pattern, int width,
                               bool colour, char **out, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_text text = {0};
    const struct ulp_page page = ulp_page_make(&text, width, colour);
    enum ulp_status status = ULP_OK;
    if (pattern)
        status = show_nodes(&page, saved, pattern, error);
    else
        add_whole(&page, saved);
    return ulp_page_take(&text, status, out, error);
}

/* The arithmetic with only the nodes that are chosen (pattern NULL: none), a new reference; NULL:
 * out of memory. */
static json_t *copy_lane(const json_t *lane, const char *pattern, size_t *found)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)lane), *chosen = json_array();
    const json_t *node;
    size_t n;
    json_array_foreach(json_object_get(lane, "nodes"), n,
                       node) if (pattern && is_chosen(node, pattern))
    {
        ulp_json_append(&chosen, json_incref((json_t *)(uintptr_t)node));
        (*found)++;
    }
    ulp_json_set(&copy, "nodes", chosen);
    return copy;
}

enum ulp_status ulp_saved_show_as(const struct ulp_saved *saved, const char *pattern,
                                  enum ulp_output_kind as, const char *path,
                                  struct ulp_error *error)
{
    ULP_ENTER(error);
    const json_t *lane;
    size_t l, found = 0;
    if (!saved->lanes && !pattern)
        return ulp_html_write_as(saved->kind, as, json_incref(saved->root), path, error);
    ULP_TRY(ulp_saved_check_lanes(saved, error));
    json_t *root = json_copy(saved->root), *lanes = json_array();
    json_array_foreach(saved->lanes, l, lane)
        ulp_json_append(&lanes, copy_lane(lane, pattern, &found));
    ulp_json_set(&root, "lanes", lanes);
    if (pattern && !found) {
        json_decref(root);
        return fail_to_find(saved, json_object_get(json_array_get(saved->lanes, 0), "nodes"),
                            pattern, error);
    }
    return ulp_html_write_as(saved->kind, as, root, path, error);
}
