/* A saved report as tables, lines and data of other tools. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "analysis/writing/json_value.h"
#include "analysis/saved/export.h"
#include "analysis/writing/csv.h"
#include "data/json_file.h"

/* ---- csv ---- */

void ulp_export_csv(const struct ulp_exporting *e)
{
    const json_t *lanes = e->saved->lanes, *lane, *node;
    const json_t *nodes = json_object_get(json_array_get(lanes, 0), "nodes");
    ULP_SCOPED(ulp_text_free) struct ulp_text name = {0};
    size_t n, l;
    ulp_text_add(e->out, "index,name,type,output,shape,ref_rms,ref_max");
    json_array_foreach(lanes, l, lane) for (int f = 0; f < ULP_SAVED_FIGURES; f++)
    {
        name.length = 0;
        ulp_text_show(&name, "%s %s", ulp_saved_text(lane, "name"), ulp_saved_figures[f].name);
        ulp_text_add(e->out, ",");
        ulp_csv_text(e->out, name.data ? name.data : "");
    }
    ulp_text_add(e->out, "\n");
    json_array_foreach(nodes, n, node)
    {
        const json_t *output = json_array_get(json_object_get(node, "outputs"), 0),
                     *range = json_object_get(output, "range");
        name.length = 0;
        ulp_saved_add_shape(&name, output);
        ulp_text_add(e->out, "%.0f,", ulp_saved_number(node, "index"));
        ulp_csv_text(e->out, ulp_saved_text(node, "name"));
        ulp_text_add(e->out, ",");
        ulp_csv_text(e->out, ulp_saved_text(node, "op"));
        ulp_text_add(e->out, ",");
        ulp_csv_text(e->out, ulp_saved_text(output, "name"));
        ulp_text_add(e->out, ",");
        ulp_csv_text(e->out, name.data ? name.data : "");
        ulp_csv_number(e->out, ulp_saved_number(range, "ref_rms"));
        ulp_csv_number(e->out, ulp_saved_number(range, "ref_max"));
        json_array_foreach(lanes, l, lane) for (int f = 0; f < ULP_SAVED_FIGURES; f++)
            ulp_csv_number(e->out, ulp_saved_figures[f].get(
                                       json_array_get(json_object_get(lane, "nodes"), n)));
        ulp_text_add(e->out, "\n");
    }
    e->out->failed |= name.failed;
}

/* ---- Model Explorer ---- */

/* A node without a name is OP_INDEX here and <node_INDEX> there, INDEX being its place in the file.
 */
static void add_unnamed(json_t **results, const json_t *node, json_t *result)
{
    const char *name = ulp_saved_text(node, "name"), *op = ulp_saved_text(node, "op");
    const size_t length = strlen(op);
    char key[40];
    if (strncmp(name, op, length) != 0 || name[length] != '_' || strlen(name + length) > 20 ||
        !name[length + 1] || strspn(name + length + 1, "0123456789") != strlen(name + length + 1))
        return;
    snprintf(key, sizeof key, "<node_%s>", name + length + 1);
    if (!json_object_get(*results, key))
        ulp_json_set(results, key, json_incref(result));
}

static const char *choose_figure(const struct ulp_exporting *e)
{
    const json_t *node;
    size_t n;
    if (e->request->figure)
        return e->request->figure;
    json_array_foreach(json_object_get(e->lane, "nodes"), n,
                       node) if (!isnan(ulp_saved_number(node, "share"))) return "share";
    return "introduced";
}

/* Keys are names of nodes, as its ONNX adapter has them; colours go from white to red over the
 * values of this report. */
void ulp_export_model_explorer(const struct ulp_exporting *e)
{
    const struct ulp_saved_figure *figure = NULL;
    const json_t *nodes = json_object_get(e->lane, "nodes"), *node;
    const char *wanted = choose_figure(e);
    json_t *results = json_object(), *gradient = json_array();
    ULP_SCOPED(ulp_text_free) struct ulp_text name = {0};
    size_t n;
    for (int f = 0; f < ULP_SAVED_FIGURES; f++)
        if (strcmp(ulp_saved_figures[f].name, wanted) == 0)
            figure = &ulp_saved_figures[f];
    json_array_foreach(nodes, n, node)
    {
        const double value = figure->get(node);
        if (!isfinite(value))
            continue;
        json_t *result = json_incref(ulp_json_object("value", ulp_json_number(value), NULL));
        ulp_json_set(&results, ulp_saved_text(node, "name"), result);
        add_unnamed(&results, node, result);
        json_decref(result);
    }
    for (int end = 0; end < 2; end++) {
        const bool red = end == (!figure->least); /* little headroom is what is bad */
        ulp_json_append(&gradient, ulp_json_object("stop", json_integer(end), "bgColor",
                                                   json_string(red ? "#d32f2f" : "#ffffff"), NULL));
    }
    ulp_text_show(&name, "%s %s", ulp_saved_text(e->lane, "name"), wanted);
    json_t *root =
        ulp_json_object("results", results, "name", name.failed ? NULL : ulp_json_text(name.data),
                        "gradient", gradient, NULL);
    char *text = root ? ulp_json_dump(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER) : NULL;
    if (text)
        ulp_json_put_escaped(e->out, text, strlen(text), false);
    ulp_text_put(e->out, "\n", 1);
    e->out->failed |= !text;
    free(text);
    json_decref(root);
}
