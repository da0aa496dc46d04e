/* What changed between two saved reports, as JSON, as a page and as Markdown; doc/report.md
 * describes them. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include <ulpscope.h>

#include "analysis/audit/audit_json.h"
#include "analysis/html/html.h"
#include "analysis/measure/metrics.h"
#include "analysis/writing/json_value.h"
#include "analysis/saved/saved_compare.h"
#include "analysis/writing/first_screen.h"
#include "base/error.h"
#include "base/text/shown.h"
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

static json_t *make_lane(const struct ulp_changed_lane *lane)
{
    struct ulp_text verdict = {0};
    ulp_changed_verdict(&lane->changes, "", "", &verdict);
    json_t *object =
        ulp_json_object("before", make_name(lane->before), "after", make_name(lane->after),
                        "verdict", ulp_json_lines(&verdict), "tiles", make_tiles(lane), NULL);
    set_counts(&object, &lane->changes);
    ulp_json_set(&object, "outputs", make_outputs(lane));
    ulp_json_set(&object, "introduce_more", make_nodes(lane->grown, lane->grown_count));
    ulp_json_set(&object, "newly_nonfinite", make_nodes(lane->born, lane->born_count));
    ulp_json_set(&object, "unpaired_nodes", make_count(lane->unpaired_count));
    return object;
}

static json_t *make_diff_document(const struct ulp_changed *changed)
{
    json_t *lanes = json_array();
    for (size_t l = 0; l < changed->lane_count; l++)
        ulp_json_append(&lanes, make_lane(&changed->lanes[l]));
    json_t *root =
        ulp_json_object("schema", json_integer(ULP_JSON_SCHEMA), "ulpscope",
                        ulp_json_text(ulp_version()), "before", ulp_json_text(changed->paths[0]),
                        "after", ulp_json_text(changed->paths[1]), "factor",
                        ulp_json_number(changed->factor), NULL);
    set_counts(&root, &changed->changes);
    ulp_json_set(&root, "arithmetics", lanes);
    return root;
}

enum ulp_status ulp_changed_json(const struct ulp_changed *changed, const char *path,
                                 struct ulp_error *error)
{
    return ulp_json_write(make_diff_document(changed), path, error);
}

/* ---- the page ---- */

/* What the nodes of both reports were: lists, since there may be many. */
static json_t *make_were(const struct ulp_changed_lane *lane)
{
    json_t *list = json_array();
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_changed_node *node = &lane->nodes[n];
        json_t *row = json_array();
        ulp_json_append(&row, make_count(node->node->index));
        ulp_json_append(&row, json_integer(node->change));
        ulp_json_append(&row, ulp_json_number(node->before));
        ulp_json_append(&row, ulp_json_number(node->after));
        ulp_json_append(&row, ulp_json_number(node->was->share));
        ulp_json_append(&list, row);
    }
    return list;
}

enum ulp_status ulp_changed_html(const struct ulp_changed *changed, const struct ulp_saved *after,
                                 const char *path, struct ulp_error *error)
{
    json_t *root = make_diff_document(changed), *were = json_array();
    struct ulp_text verdict = {0};
    struct stat info = {0};
    for (size_t l = 0; l < changed->lane_count; l++)
        ulp_json_append(&were, make_were(&changed->lanes[l]));
    ulp_changed_verdict(&changed->changes, "", "", &verdict);
    ulp_json_set(&root, "verdict", ulp_json_lines(&verdict));
    ulp_json_set(&root, "model_path", ulp_json_text(ulp_saved_text(after->root, "model_path")));
    ulp_json_set(&root, "were", were);
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

/* ---- Markdown ---- */

#define NODES_SHOWN 10

/* As code in a table: nothing in it is Markdown's or HTML's, and no line ends. */
static void add_code(struct ulp_text *out, const char *text)
{
    size_t run = 0, longest = 0;
    ULP_SCOPED(ulp_text_free) struct ulp_text shown = {0};
    struct ulp_shown character;
    for (const char *end = text + strlen(text); text < end;) {
        text = ulp_show_character(&character, text, end);
        run = *character.text == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
        ulp_text_add(&shown, strcmp(character.text, "|") == 0 ? "\\|" : "%s", character.text);
    }
    out->failed |= shown.failed;
    for (size_t i = 0; i < longest + 1; i++)
        ulp_text_put(out, "`", 1);
    ulp_text_put(out, longest || !shown.length ? " " : "", longest || !shown.length);
    ulp_text_put(out, shown.data ? shown.data : "", shown.length);
    ulp_text_put(out, longest ? " " : "", longest != 0);
    for (size_t i = 0; i < longest + 1; i++)
        ulp_text_put(out, "`", 1);
}

static void add_lane_rows(struct ulp_text *out, const struct ulp_changed_lane *lane)
{
    for (size_t o = 0; o < lane->output_count; o++) {
        const struct ulp_changed_output *output = &lane->outputs[o];
        char was[32], is[32];
        ulp_text_add(out, "| ");
        add_code(out, lane->after ? lane->after : lane->before);
        ulp_text_add(out, " | ");
        add_code(out, output->name);
        ulp_text_add(out, " | %s | %s | ", ulp_changed_say(was, output->before),
                     ulp_changed_say(is, output->after));
        if (isfinite(output->ratio))
            ulp_text_add(out, "%.2f", output->ratio);
        ulp_text_add(out, " | %s |\n",
                     output->change == ULP_WORSE ? "**worse**" : ulp_change_names[output->change]);
    }
}

static void add_node_items(struct ulp_text *out, const struct ulp_changed_lane *lane)
{
    for (size_t i = 0; i < lane->born_count && i < NODES_SHOWN; i++) {
        ulp_text_add(out, "- ");
        add_code(out, lane->after);
        ulp_text_add(out, ": ");
        add_code(out, lane->born[i].node->name);
        ulp_text_add(out, " newly makes Inf or NaN\n");
    }
    for (size_t i = 0; i < lane->grown_count && i < NODES_SHOWN; i++) {
        ulp_text_add(out, "- ");
        add_code(out, lane->after);
        ulp_text_add(out, ": ");
        add_code(out, lane->grown[i].node->name);
        ulp_text_add(out, " introduces %.2e of its rms, before %.2e\n", lane->grown[i].after,
                     lane->grown[i].before);
    }
    if (lane->grown_count > NODES_SHOWN)
        ulp_text_add(out, "- and %zu more node%s more\n", lane->grown_count - NODES_SHOWN,
                     lane->grown_count == NODES_SHOWN + 1 ? " that introduces"
                                                          : "s that introduce");
}

void ulp_changed_markdown(const struct ulp_changed *changed, struct ulp_text *out)
{
    bool nodes = false;
    ulp_text_add(out, "**Accuracy: ");
    ulp_changed_verdict(&changed->changes, "", "", out);
    ulp_text_add(out, "**\n\n");
    ulp_text_add(out, "| arithmetic | output | before | after | error × | |\n"
                      "|---|---|--:|--:|--:|---|\n");
    for (size_t l = 0; l < changed->lane_count; l++) {
        const struct ulp_changed_lane *lane = &changed->lanes[l];
        add_lane_rows(out, lane);
        nodes |= lane->born_count || lane->grown_count;
    }
    ulp_text_add(out, nodes ? "\n<details><summary>Nodes</summary>\n\n" : "");
    for (size_t l = 0; l < changed->lane_count; l++)
        add_node_items(out, &changed->lanes[l]);
    ulp_text_add(out, nodes ? "\n</details>\n" : "");
}
