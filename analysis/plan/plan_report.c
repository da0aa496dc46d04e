/* A plan found, as text and as plan.json. */
#include "analysis/measure/judge.h"
#include "analysis/plan/plan_search.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/html/html.h"
#include "analysis/plan/engine.h"
#include "analysis/plan/picture.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/columns.h"
#include "analysis/writing/folder.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/machine/file.h"
#include "number/function/math.h"
#include <ulpscope/report.h>

/* ---- the verdict ---- */

static const struct ulp_found_figure *find_worst(const struct ulp_found *found, bool after,
                                                 const char **sample)
{
    const struct ulp_found_figure *worst = NULL;
    for (size_t s = 0; s < found->sample_count; s++) {
        const struct ulp_found_figure *figure =
            after ? &found->samples[s].after : &found->samples[s].before;
        if (!worst || figure->ratio > worst->ratio) {
            worst = figure;
            *sample = found->samples[s].name;
        }
    }
    return worst;
}

static void add_tolerances(struct ulp_text *out, const struct ulp_found *found)
{
    for (size_t t = 0; t < found->tolerance_count; t++)
        ulp_text_show(out, "%s%s", t ? " and " : "", found->tolerances[t]);
}

/* "logits is at sqnr_db 63.1", "logits has no element to compare" */
static void add_figure(struct ulp_text *out, const struct ulp_found_figure *figure)
{
    const char *reason = ulp_judge_find_reason(figure->metric);
    if (reason)
        ulp_text_show(out, "%s %s", figure->output, reason);
    else
        ulp_text_show(out, "%s is at %s %.4g", figure->output, figure->metric, figure->value);
}

static void add_ratio(struct ulp_text *out, double ratio)
{
    if (isfinite(ratio))
        ulp_text_add(out, " (%.3g of the error allowed)", ratio);
}

static void add_plan(struct ulp_text *out, const struct ulp_found *found)
{
    const char *sample = "";
    const struct ulp_found_figure *before = find_worst(found, false, &sample),
                                  *after = find_worst(found, true, &sample);
    ulp_text_show(out, "Keep %zu of %zu nodes in %s: %s then %s ", found->kept_count,
                  found->node_count, found->keep_in.name, found->arithmetic.name,
                  found->met ? "meets" : "does not meet");
    add_tolerances(out, found);
    ulp_text_add(out, "; ");
    add_figure(out, after);
    add_ratio(out, after->ratio);
    ulp_text_add(out, ", and without them ");
    add_figure(out, before);
    ulp_text_add(out, ".\n");
    if (found->minimal && found->kept_count)
        ulp_text_add(out, "Without any single one of them it is not met: each was tried.\n");
    if (found->cast_count)
        ulp_text_add(out, "%zu Casts convert %zu elements (%zu bytes read and written).\n",
                     found->cast_count, found->cast_elements, found->cast_bytes);
}

static void add_verdict(struct ulp_text *out, const struct ulp_found *found)
{
    const char *sample = "";
    if (found->before <= 1) {
        if (found->kept_count) /* before is with these */
            ulp_text_add(out, "Keep the %zu node%s that had to be kept, and no more: ",
                         found->kept_count, found->kept_count == 1 ? "" : "s");
        else
            ulp_text_add(out, "Keep nothing: ");
        ulp_text_show(out, "%s %smeets ", found->arithmetic.name, found->kept_count ? "then " : "");
        add_tolerances(out, found);
        ulp_text_add(out, found->kept_count ? "; " : " as it is; ");
        add_figure(out, find_worst(found, true, &sample));
        add_ratio(out, found->after);
        ulp_text_add(out, ".\n");
    } else if (!found->reaches && found->kept_count == 0) {
        ulp_text_show(out, "No node may be kept.\n");
    } else if (!found->reaches && isnan(found->full)) {
        ulp_text_add(out, "No plan was found.\n");
    } else {
        if (!found->reaches) {
            ulp_text_show(out, "No plan meets ");
            add_tolerances(out, found);
            ulp_text_show(out, ": with every node in %s the error is ", found->keep_in.name);
            if (isfinite(found->full))
                ulp_text_add(out, "%.3g times what is allowed.\n", found->full);
            else
                ulp_text_add(out, "no finite number.\n");
        }
        add_plan(out, found);
    }
}

static void add_basis(struct ulp_text *out, const struct ulp_found *found)
{
    ulp_text_add(out, "Rests on %zu sample%s, %zu runs of the mixed arithmetic",
                 found->sample_count, found->sample_count == 1 ? "" : "s", found->runs);
    if (found->validated_count)
        ulp_text_add(out, "; %zu of %zu held-out samples meet the tolerance", found->validated_met,
                     found->validated_count);
    ulp_text_add(out, ".\n");
    for (size_t s = 0; s < found->validated_count; s++) {
        const struct ulp_found_figure *figure = &found->validated[s].after;
        const char *reason = ulp_judge_find_reason(figure->metric);
        if (reason)
            ulp_text_show(out, "Held-out %s: output %s %s.\n", found->validated[s].name,
                          figure->output, reason);
    }
    if (found->follows)
        ulp_text_add(out, "With every node kept, too, something is decided otherwise than by the "
                          "reference: figures are with the reference's decisions.\n");
    if (found->met && found->validated_met < found->validated_count)
        ulp_text_add(out,
                     "The plan fits its samples too closely: give those that fail as --inputs, "
                     "too.\n");
    else if (!found->validated_count && found->kept_count)
        ulp_text_add(out, "Other inputs round otherwise: give several as --inputs, and others as "
                          "--validate.\n");
}

enum ulp_status ulp_found_text(const struct ulp_found *found, char **out, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_text text = {0};
    *out = NULL;
    add_verdict(&text, found);
    if (found->kept_count)
        ulp_text_add(&text, "\n   node  without  op               name\n");
    for (size_t k = 0; k < found->kept_count; k++) {
        const struct ulp_found_node *node = &found->kept[k];
        ulp_text_add(&text, "%7zu  ", node->index);
        if (node->always)
            ulp_text_add(&text, " always");
        else if (isnan(node->without))
            ulp_text_add(&text, "      -");
        else if (isinf(node->without))
            ulp_text_add(&text, "    inf");
        else
            ulp_text_add(&text, "%7.3g", node->without);
        ulp_text_show(&text, "  %-15s  %s\n", node->op, node->name);
    }
    if (found->kept_count)
        ulp_text_add(&text,
                     "\nwithout: the error, in units of what is allowed, when this node alone "
                     "is not kept\n\n");
    add_basis(&text, found);
    return ulp_page_take(&text, out, error);
}

/* ---- plan.json ---- */

static json_t *figure_json(const struct ulp_found_figure *figure)
{
    json_t *object = json_object();
    ulp_json_set(&object, "output", ulp_json_text(figure->output));
    ulp_json_set(&object, "metric", ulp_json_text(figure->metric));
    ulp_json_set(&object, "value", ulp_json_number(figure->value));
    ulp_json_set(&object, "ratio", ulp_json_number(figure->ratio));
    return object;
}

/* The worst, and each sample's. */
static json_t *figures_json(const struct ulp_found_sample *samples, size_t count, bool after)
{
    json_t *object = json_object(), *list = json_array();
    double worst = count ? 0 : NAN;
    for (size_t s = 0; s < count; s++) {
        const struct ulp_found_figure *figure = after ? &samples[s].after : &samples[s].before;
        json_t *sample = figure_json(figure);
        ulp_json_set(&sample, "sample", ulp_json_text(samples[s].name));
        ulp_json_append(&list, sample);
        worst = ulp_math_max(worst, figure->ratio);
    }
    ulp_json_set(&object, "ratio", ulp_json_number(worst));
    ulp_json_set(&object, "samples", list);
    return object;
}

static json_t *keep_json(const struct ulp_found *found)
{
    json_t *keep = json_array();
    for (size_t e = 0; e < found->entry_count; e++)
        ulp_json_keep(&keep, found->entries[e].pattern,
                      found->entries[e].keep ? found->keep_in.name : found->arithmetic.name);
    return keep;
}

static json_t *nodes_json(const struct ulp_found *found)
{
    json_t *nodes = json_array();
    for (size_t k = 0; k < found->kept_count; k++) {
        const struct ulp_found_node *node = &found->kept[k];
        json_t *object = json_object();
        ulp_json_set(&object, "index", json_integer((json_int_t)node->index));
        ulp_json_set(&object, "name", ulp_json_text(node->name));
        ulp_json_set(&object, "op", ulp_json_text(node->op));
        ulp_json_set(&object, "always", json_boolean(node->always));
        ulp_json_set(&object, "without", ulp_json_number(node->without));
        ulp_json_append(&nodes, object);
    }
    return nodes;
}

static json_t *casts_json(const struct ulp_found *found)
{
    json_t *object = json_object();
    ulp_json_set(&object, "count", json_integer((json_int_t)found->cast_count));
    ulp_json_set(&object, "elements", json_integer((json_int_t)found->cast_elements));
    ulp_json_set(&object, "bytes", json_integer((json_int_t)found->cast_bytes));
    return object;
}

static json_t *mixed_json(const struct ulp_found *found)
{
    const struct ulp_mixed *mixed = &found->mixed;
    json_t *object = json_object(), *widened = json_array();
    if (mixed->reason) {
        ulp_json_set(&object, "reason", ulp_json_text(mixed->reason));
        json_decref(widened);
        return object;
    }
    ulp_json_set(&object, "type", ulp_json_text(mixed->low_type));
    ulp_json_set(&object, "low", json_integer((json_int_t)mixed->low_count));
    ulp_json_set(&object, "float", json_integer((json_int_t)mixed->float_count));
    ulp_json_set(&object, "casts", json_integer((json_int_t)mixed->cast_count));
    ulp_json_set(&object, "samples", json_integer((json_int_t)mixed->sample_count));
    ulp_json_set(&object, "ratio", ulp_json_number(found->mixed_ratio));
    for (size_t w = 0; w < mixed->widened_count; w++) {
        json_t *node = json_object();
        ulp_json_set(&node, "index", json_integer((json_int_t)mixed->widened[w].index));
        ulp_json_set(&node, "name", ulp_json_text(mixed->widened[w].name));
        ulp_json_set(&node, "op", ulp_json_text(mixed->widened[w].op));
        ulp_json_set(&node, "why", ulp_json_text(ulp_widened_name(mixed->widened[w].why)));
        ulp_json_append(&widened, node);
    }
    ulp_json_set(&object, "widened", widened);
    return object;
}

static json_t *verdict_json(const struct ulp_found *found)
{
    struct ulp_text text = {0};
    add_verdict(&text, found);
    add_basis(&text, found);
    return ulp_json_lines(&text);
}

static json_t *plan_json(const struct ulp_found *found)
{
    json_t *root = json_object(), *tolerances = json_array();
    ulp_json_set(&root, "verdict", verdict_json(found));
    ulp_json_set(&root, "model", ulp_json_text(found->model_path));
    ulp_json_set(&root, "arithmetic", ulp_json_text(found->arithmetic.name));
    ulp_json_set(&root, "keep", keep_json(found));
    ulp_json_set(&root, "reference", ulp_json_text(found->reference.name));
    for (size_t t = 0; t < found->tolerance_count; t++)
        ulp_json_append(&tolerances, ulp_json_text(found->tolerances[t]));
    ulp_json_set(&root, "tolerance", tolerances);
    ulp_json_set(&root, "met", json_boolean(found->met));
    ulp_json_set(&root, "minimal", json_boolean(found->minimal));
    ulp_json_set(&root, "follows", json_boolean(found->follows));
    ulp_json_set(&root, "before", figures_json(found->samples, found->sample_count, false));
    ulp_json_set(&root, "after", figures_json(found->samples, found->sample_count, true));
    ulp_json_set(&root, "casts", casts_json(found));
    json_t *validated = figures_json(found->validated, found->validated_count, true);
    ulp_json_set(&validated, "count", json_integer((json_int_t)found->validated_count));
    ulp_json_set(&validated, "met", json_integer((json_int_t)found->validated_met));
    ulp_json_set(&root, "validated", validated);
    if (found->mixed.path || found->mixed.reason)
        ulp_json_set(&root, "mixed", mixed_json(found));
    ulp_json_set(&root, "nodes", nodes_json(found));
    ulp_json_set(&root, "node_count", json_integer((json_int_t)found->node_count));
    ulp_json_set(&root, "runs", json_integer((json_int_t)found->runs));
    return root;
}

static enum ulp_status write_json(const struct ulp_found *found, struct ulp_text *out,
                                  struct ulp_error *error)
{
    return ulp_json_put_document(plan_json(found), out, "plan.json", error);
}

/* ---- files ---- */

static bool always(const struct ulp_found *found)
{
    (void)found;
    return true;
}

static bool has_frontier(const struct ulp_found *found)
{
    return found->frontier_count > 0;
}

static const struct {
    const char *name;
    bool (*applies)(const struct ulp_found *);
    enum ulp_status (*write)(const struct ulp_found *, struct ulp_text *, struct ulp_error *);
} files[] = {{"plan.json", always, write_json},
             {"frontier.csv", has_frontier, ulp_frontier_csv},
             {"frontier.svg", has_frontier, ulp_frontier_svg},
             {"trtexec.txt", ulp_engine_has_formats, ulp_engine_trtexec},
             {"npps.py", ulp_engine_has_formats, ulp_engine_polygraphy},
             {"autocast.txt", ulp_engine_has_formats, ulp_engine_autocast},
             {"strongly_typed.txt", ulp_engine_has_formats, ulp_engine_strongly_typed}};

const char *ulp_found_file_name(size_t index)
{
    return index < sizeof files / sizeof *files ? files[index].name : NULL;
}

static enum ulp_status write_file(const struct ulp_found *found, const char *folder, size_t index,
                                  struct ulp_error *error)
{
    struct ulp_text text;
    enum ulp_status status = ulp_report_open(folder, files[index].name, &text, error);
    if (status != ULP_OK)
        return status;
    status = files[index].write(found, &text, error);
    const enum ulp_status closed = ulp_text_close(&text, status == ULP_OK, error);
    return status == ULP_OK ? closed : status;
}

enum ulp_status ulp_found_write(const struct ulp_found *found, const char *folder,
                                struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    enum ulp_status status = ulp_report_prepare(folder, error);
    const bool begun = ulp_files_hold();
    for (size_t f = 0; f < sizeof files / sizeof *files && status == ULP_OK; f++)
        if (files[f].applies(found))
            status = write_file(found, folder, f, error);
    return ulp_files_release(begun, status, error);
}

enum ulp_status ulp_found_html(const struct ulp_found *found, const char *path,
                               struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return ulp_html_write_root("plan", plan_json(found), path, error);
}
