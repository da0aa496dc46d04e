/* What changed between two saved reports, as JSON, which doc/report.md describes, as text, as a
 * page and as Markdown. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include <ulpscope.h>

#include "analysis/audit/audit_json.h"
#include "analysis/html/html.h"
#include "analysis/measure/judge.h"
#include "analysis/measure/metrics.h"
#include "analysis/writing/document.h"
#include "analysis/writing/json_value.h"
#include "analysis/saved/saved_compare.h"
#include "analysis/writing/first_screen.h"
#include "base/machine/environment.h"
#include "data/json_file.h"
#include "number/function/math.h"

/* ---- JSON ---- */

static json_t *make_name(const char *name)
{
    return name ? ulp_json_text(name) : json_null();
}

static json_t *make_count(size_t count)
{
    return json_integer((json_int_t)count);
}

static json_t *make_figures(const struct ulp_audit_output *output)
{
    if (!output)
        return json_null();
    const struct ulp_metrics *entire = &output->entire;
    return ulp_json_object("rms", ulp_json_number(entire->rms), "max_abs",
                           ulp_json_number(entire->max_abs), "sqnr_db",
                           ulp_json_number(entire->sqnr_db), "nonfinite",
                           make_count(entire->nonfinite), "exact",
                           json_boolean(ulp_metrics_exact(entire)), "diverged",
                           json_boolean(entire->diverged), NULL);
}

static json_t *make_outputs(const struct ulp_changed_lane *lane)
{
    json_t *list = json_array();
    for (size_t o = 0; o < lane->output_count; o++) {
        const struct ulp_changed_output *output = &lane->outputs[o];
        json_t *object = ulp_json_object("output", ulp_json_text(output->name), "change",
                                         json_string(ulp_change_names[output->change]), NULL);
        if (output->reason)
            ulp_json_set(&object, "reason", ulp_json_text(output->reason));
        ulp_json_set(&object, "error_ratio", ulp_json_number(output->ratio));
        ulp_json_set(&object, "before", make_figures(output->before));
        ulp_json_set(&object, "after", make_figures(output->after));
        ulp_json_append(&list, object);
    }
    return list;
}

static json_t *make_nodes(const struct ulp_changed_node *nodes, size_t count)
{
    json_t *list = json_array();
    for (size_t n = 0; n < count; n++)
        ulp_json_append(&list, ulp_json_object("index", make_count(nodes[n].node->index), "node",
                                               ulp_json_text(nodes[n].node->name), "op",
                                               ulp_json_text(nodes[n].node->op), "before",
                                               ulp_json_number(nodes[n].before), "after",
                                               ulp_json_number(nodes[n].after), NULL));
    return list;
}

static void set_counts(json_t **object, const struct ulp_saved_changes *changes)
{
    ulp_json_set(object, "worse", make_count(changes->worse));
    ulp_json_set(object, "better", make_count(changes->better));
    ulp_json_set(object, "equal", make_count(changes->equal));
}

static double find_decibels(const struct ulp_audit_output *output)
{
    const struct ulp_metrics *entire = &output->entire;
    return ulp_decibels(entire, ulp_metrics_exact(entire) ? (double)INFINITY : entire->sqnr_db);
}

static json_t *make_tiles(const struct ulp_changed_lane *lane)
{
    const struct ulp_changed_output *most = NULL; /* that became worse, else any, by its error */
    json_t *tiles = json_array();
    size_t better = 0, worse = 0;
    for (size_t o = 0; o < lane->output_count; o++) {
        const struct ulp_changed_output *output = &lane->outputs[o];
        const bool bad = output->change == ULP_WORSE,
                   bad_before = most && most->change == ULP_WORSE;
        if (output->before && output->after &&
            (!most || bad > bad_before ||
             (bad == bad_before &&
              fabs(ulp_math_log2(output->ratio)) > fabs(ulp_math_log2(most->ratio)))))
            most = output;
    }
    for (size_t n = 0; n < lane->node_count; n++) {
        better += lane->nodes[n].change == ULP_BETTER;
        worse += lane->nodes[n].change == ULP_WORSE;
    }
    if (most) {
        ulp_tile_decibels(&tiles,
                          most->change == ULP_WORSE    ? ULP_TILE_BAD
                          : most->change == ULP_BETTER ? ULP_TILE_GOOD
                                                       : ULP_TILE_PLAIN,
                          find_decibels(most->before), find_decibels(most->after));
        ulp_tile_note(&tiles, -1, "of %s", most->name);
    }
    ulp_tile_add(&tiles, lane->changes.worse ? ULP_TILE_BAD : ULP_TILE_GOOD, "Outputs worse",
                 "%zu of %zu", lane->changes.worse, lane->output_count);
    if (lane->changes.better)
        ulp_tile_note(&tiles, -1, "%zu better", lane->changes.better);
    if (lane->node_count) {
        ulp_tile_add(&tiles, worse ? ULP_TILE_WARN : ULP_TILE_GOOD, "Nodes that add more error",
                     "%zu of %zu", worse, lane->node_count);
        ulp_tile_note(&tiles, -1, "%zu add%s less", better, better == 1 ? "s" : "");
    }
    if (lane->born_count) {
        const struct ulp_audit_node *first = lane->born[0].node;
        ulp_tile_add(&tiles, ULP_TILE_BAD, "Newly Inf or NaN", "%zu node%s", lane->born_count,
                     lane->born_count == 1 ? "" : "s");
        ulp_tile_note(&tiles, (ptrdiff_t)first->index, "first %s", first->name);
    }
    return tiles;
}

/* "fp16 -> bf16: worse at 1 of 2 outputs" */
static json_t *make_headline(const struct ulp_changed_lane *lane)
{
    struct ulp_text text = {0};
    const bool same = lane->before && lane->after && strcmp(lane->before, lane->after) == 0;
    if (!lane->before || !lane->after) {
        ulp_text_show(&text, "%s: only in the %s report, nothing to compare",
                      lane->before ? lane->before : lane->after, lane->before ? "first" : "second");
        return ulp_json_lines(&text);
    }
    ulp_text_show(&text, "%s%s%s: ", same ? "" : lane->before, same ? "" : " -> ", lane->after);
    ulp_changed_verdict(&lane->changes, &text);
    return ulp_json_lines(&text);
}

static json_t *make_notes(const struct ulp_changed_lane *lane)
{
    json_t *notes = json_array();
    if (!lane->before || !lane->after)
        return notes;
    for (size_t o = 0; o < lane->output_count; o++)
        if (lane->outputs[o].reason)
            ulp_note_add(&notes, "", "cannot be judged: output %s %s", lane->outputs[o].name,
                         lane->outputs[o].reason);
    if (!lane->output_count)
        ulp_note_add(&notes, "", "cannot be judged: %s", ulp_judge_reason(ULP_CROSSED_NO_OUTPUT));
    if (lane->unpaired_count)
        ulp_note_add(&notes, "", "not in the first report: %zu node%s of the second, by name",
                     lane->unpaired_count, lane->unpaired_count == 1 ? "" : "s");
    return notes;
}

static void add_inputs(json_t **notes, const struct ulp_audit *audit)
{
    for (size_t i = 0; i < audit->nonfinite_input_count; i++) {
        const struct ulp_audit_input *input = &audit->nonfinite_inputs[i];
        struct ulp_text text = {0};
        ulp_unjudged_say(&text,
                         &(struct ulp_unjudged){.is_input = true,
                                                .name = input->name,
                                                .sample = input->sample < audit->sample_count
                                                              ? audit->sample_names[input->sample]
                                                              : NULL,
                                                .reason = ulp_judge_reason(ULP_CROSSED_INPUT)});
        ulp_note_text(notes, "", &text);
    }
}

static json_t *make_lane(const struct ulp_changed_lane *lane)
{
    struct ulp_text verdict = {0};
    ulp_changed_verdict(&lane->changes, &verdict);
    json_t *object =
        ulp_json_object("before", make_name(lane->before), "after", make_name(lane->after),
                        "verdict", ulp_json_lines(&verdict), "tiles", make_tiles(lane), NULL);
    set_counts(&object, &lane->changes);
    ulp_json_set(&object, "outputs", make_outputs(lane));
    ulp_json_set(&object, "introduce_more", make_nodes(lane->grown, lane->grown_count));
    ulp_json_set(&object, "newly_nonfinite", make_nodes(lane->born, lane->born_count));
    ulp_json_set(&object, "unpaired_nodes", make_count(lane->unpaired_count));
    ulp_json_set(&object, "headline", make_headline(lane));
    ulp_json_set(&object, "why", json_string(""));
    ulp_json_set(&object, "notes", make_notes(lane));
    return object;
}

static json_t *make_diff(const struct ulp_changed *changed)
{
    json_t *lanes = json_array(), *notes = json_array();
    add_inputs(&notes, changed->before);
    add_inputs(&notes, changed->after);
    for (size_t l = 0; l < changed->lane_count; l++)
        ulp_json_append(&lanes, make_lane(&changed->lanes[l]));
    json_t *root =
        ulp_json_object("schema", json_integer(ULP_JSON_SCHEMA), "ulpscope",
                        ulp_json_text(ulp_version()), "before", ulp_json_text(changed->paths[0]),
                        "after", ulp_json_text(changed->paths[1]), "factor",
                        ulp_json_number(changed->factor), NULL);
    set_counts(&root, &changed->changes);
    ulp_json_set(&root, "arithmetics", lanes);
    ulp_json_set(&root, "notes", notes);
    return root;
}

/* ---- the page ---- */

/* What the nodes of both reports were, and by how much those moved that changed. */
static json_t *make_were(const struct ulp_changed_lane *lane)
{
    json_t *list = json_array();
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_changed_node *node = &lane->nodes[n];
        json_t *row =
            ulp_json_object("index", make_count(node->node->index), "name",
                            ulp_json_text(node->node->name), "op", ulp_json_text(node->node->op),
                            "change", json_string(ulp_change_names[node->change]), "before",
                            ulp_json_number(node->before), "after", ulp_json_number(node->after),
                            "share_before", ulp_json_number(node->was->share), "share",
                            ulp_json_number(node->node->share), NULL);
        if (node->change != ULP_EQUAL)
            ulp_json_set(&row, "moved", ulp_json_number(fabs(node->after - node->before)));
        ulp_json_append(&list, row);
    }
    return list;
}

static enum ulp_status write_page(const struct ulp_changed *changed, const struct ulp_saved *after,
                                  const char *path, struct ulp_error *error)
{
    json_t *root = make_diff(changed);
    struct stat info = {0};
    ulp_json_set(&root, "model_path", ulp_json_text(ulp_saved_text(after->root, "model_path")));
    for (size_t l = 0; root && l < changed->lane_count; l++)
        if (json_object_set_new(json_array_get(json_object_get(root, "arithmetics"), l), "were",
                                make_were(&changed->lanes[l])) != 0) {
            json_decref(root);
            root = NULL;
        }
    stat(after->path, &info);
    const struct ulp_html_report reports[] = {{.kind = "diff",
                                               .saved = info.st_mtime ? info.st_mtime : 1,
                                               .root = root},
                                              {.kind = "audit", .root = after->root}};
    const enum ulp_status status =
        root ? ulp_html_write(reports, 2, path, error) : ulp_out_of_memory(error);
    json_decref(root);
    return status;
}

enum ulp_status ulp_saved_compare(struct ulp_saved *before, struct ulp_saved *after,
                                  const struct ulp_saved_comparison *how,
                                  struct ulp_saved_changes *changes, char **out,
                                  struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_changed changed;
    enum ulp_status status = ulp_saved_find_changes(before, after, how->factor, &changed, error);
    *out = NULL;
    *changes = changed.changes;
    if (how->json)
        ULP_THEN(status, ulp_json_write(make_diff(&changed), how->json, error));
    if (how->page)
        ULP_THEN(status, write_page(&changed, after, how->page, error));
    if (how->markdown)
        ULP_THEN(status, ulp_html_write_as("diff", ULP_OUTPUT_MARKDOWN, make_diff(&changed),
                                           how->markdown, error));
    ULP_THEN(status, ulp_document_text("diff", make_diff(&changed), ULP_DOCUMENT_ROWS, how->width,
                                       how->colour, out, error));
    ulp_arena_free(changed.memory);
    return status;
}
