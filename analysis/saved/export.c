/* A saved report in the formats of other tools. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/figure.h"
#include "analysis/report/json_value.h"
#include "analysis/report/report.h"
#include "analysis/saved/saved.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/machine/file.h"
#include "base/text/suggest.h"

struct exporting {
    const struct ulp_saved *saved;
    const json_t *lane; /* of a format that takes one */
    const char *figure; /* NULL: share or introduced */
    struct ulp_text *out;
};

/* ---- csv ---- */

static double get_share(const json_t *node)
{
    return ulp_saved_number(node, "share");
}
static double get_introduced(const json_t *node)
{
    return ulp_saved_worst(node, "introduced");
}
static double get_entire(const json_t *node)
{
    return ulp_saved_worst(node, "entire");
}
static double get_headroom(const json_t *node)
{
    const json_t *output;
    size_t o;
    double least = NAN;
    json_array_foreach(json_object_get(node, "outputs"), o, output) least =
        fmin(least, ulp_saved_number(json_object_get(output, "range"), "headroom_bits"));
    return least;
}
static double get_nonfinite(const json_t *node)
{
    const json_t *output;
    size_t o;
    double sum = 0;
    json_array_foreach(json_object_get(node, "outputs"), o, output) sum +=
        fmax(0, ulp_saved_number(json_object_get(output, "entire"), "nonfinite"));
    return sum;
}

/* Figures of a node in one arithmetic; those of outputs are of its worst. */
static const struct node_figure {
    const char *name;
    double (*get)(const json_t *node);
} node_figures[] = {{"share", get_share},
                    {"introduced", get_introduced},
                    {"entire", get_entire},
                    {"headroom", get_headroom},
                    {"nonfinite", get_nonfinite}};
enum { NODE_FIGURES = sizeof node_figures / sizeof *node_figures };

static void add_table(const struct exporting *e)
{
    const json_t *lanes = e->saved->arithmetics, *lane, *node;
    const json_t *nodes = json_object_get(json_array_get(lanes, 0), "nodes");
    struct ulp_text name = {0};
    size_t n, l;
    ulp_text_add(e->out, "index,name,type,output,shape,ref_rms,ref_max");
    json_array_foreach(lanes, l, lane) for (int f = 0; f < NODE_FIGURES; f++)
    {
        name.length = 0;
        ulp_text_show(&name, "%s %s", ulp_saved_text(lane, "name"), node_figures[f].name);
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
        json_array_foreach(lanes, l, lane) for (int f = 0; f < NODE_FIGURES; f++)
            ulp_csv_number(e->out,
                           node_figures[f].get(json_array_get(json_object_get(lane, "nodes"), n)));
        ulp_text_add(e->out, "\n");
    }
    e->out->failed |= name.failed;
    ulp_text_free(&name);
}

/* ---- jsonl ---- */

/* {"arithmetic", "node" (null: the graph), "op", "output", "ref_rms", "entire_rms", ...} */
static void add_line(const struct exporting *e, const json_t *lane, const json_t *node,
                     const json_t *output)
{
    json_t *line = json_object();
    char key[64];
    ulp_json_set(&line, "model",
                 ulp_json_text(ulp_saved_text(json_object_get(e->saved->root, "model"), "path")));
    ulp_json_set(&line, "arithmetic", ulp_json_text(ulp_saved_text(lane, "name")));
    ulp_json_set(&line, "node", node ? ulp_json_text(ulp_saved_text(node, "name")) : json_null());
    ulp_json_set(&line, "op", node ? ulp_json_text(ulp_saved_text(node, "op")) : json_null());
    ulp_json_set(&line, "output", ulp_json_text(ulp_saved_text(output, "name")));
    if (node)
        ulp_json_set(&line, "share", ulp_json_number(ulp_saved_number(node, "share")));
    const json_t *range = json_object_get(output, "range");
    ulp_json_set(&line, "ref_rms", ulp_json_number(ulp_saved_number(range, "ref_rms")));
    ulp_json_set(&line, "headroom_bits", ulp_json_number(ulp_saved_number(range, "headroom_bits")));
    for (int v = 0; v < ULP_VIEW_COUNT; v++) {
        const json_t *view = json_object_get(output, ulp_view_names[v]);
        for (int f = 0; f < ULP_FIGURE_COUNT; f++) {
            snprintf(key, sizeof key, "%s_%s", ulp_view_names[v], ulp_figure_rows[f].name);
            ulp_json_set(&line, key,
                         ulp_json_number(ulp_saved_number(view, ulp_figure_rows[f].name)));
        }
        snprintf(key, sizeof key, "%s_nonfinite", ulp_view_names[v]);
        ulp_json_set(&line, key, ulp_json_number(ulp_saved_number(view, "nonfinite")));
    }
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    json_decref(line);
    if (text)
        ulp_json_put_escaped(e->out, text, strlen(text), false);
    ulp_text_put(e->out, "\n", 1);
    e->out->failed |= !text;
    free(text);
}

static void add_lines(const struct exporting *e)
{
    const json_t *lane, *node, *output;
    size_t l, n, o;
    json_array_foreach(e->saved->arithmetics, l, lane)
    {
        json_array_foreach(json_object_get(lane, "outputs"), o, output)
            add_line(e, lane, NULL, output);
        json_array_foreach(json_object_get(lane, "nodes"), n, node)
            json_array_foreach(json_object_get(node, "outputs"), o, output)
                add_line(e, lane, node, output);
    }
}

/* ---- prometheus ---- */

/* The exposition format: a label's value has \\, \" and \n for these; other characters that are not
 * visible are shown as everywhere. */
static void add_label(struct ulp_text *out, const char *name, const char *value)
{
    ulp_text_add(out, "%s=\"", name);
    for (const char *end = value + strlen(value); value < end;) {
        struct ulp_shown shown;
        value = ulp_show_character(&shown, value, end);
        for (const char *c = shown.text; *c; c++)
            ulp_text_add(out, *c == '\\' ? "\\\\" : *c == '"' ? "\\\"" : "%c", *c);
    }
    ulp_text_add(out, "\"");
}

static void add_samples(const struct exporting *e)
{
    static const struct {
        const char *key, *name, *help;
    } rows[] = {{"sqnr_db", "ulpscope_output_sqnr_db", "signal to error of an output in decibels"},
                {"rms", "ulpscope_output_error_rms", "root mean square of an output's error"},
                {"max_abs", "ulpscope_output_error_max", "largest error of an output"},
                {"nonfinite", "ulpscope_output_nonfinite",
                 "elements of an output that are not finite where the reference is"}};
    const char *model = ulp_saved_text(json_object_get(e->saved->root, "model"), "path");
    const json_t *lane, *output;
    size_t l, o;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        ulp_text_add(e->out, "# HELP %s %s\n# TYPE %s gauge\n", rows[r].name, rows[r].help,
                     rows[r].name);
        json_array_foreach(e->saved->arithmetics, l, lane)
            json_array_foreach(json_object_get(lane, "outputs"), o, output)
        {
            const json_t *entire = json_object_get(output, "entire");
            const double value = ulp_saved_number(entire, rows[r].key);
            const bool exact =
                strcmp(rows[r].key, "sqnr_db") == 0 && ulp_saved_true(entire, "exact");
            ulp_text_add(e->out, "%s{", rows[r].name);
            add_label(e->out, "model", model);
            ulp_text_add(e->out, ",");
            add_label(e->out, "arithmetic", ulp_saved_text(lane, "name"));
            ulp_text_add(e->out, ",");
            add_label(e->out, "output", ulp_saved_text(output, "name"));
            ulp_text_add(e->out, exact ? "} +Inf\n" : isnan(value) ? "} NaN\n" : "} %.9g\n", value);
        }
    }
}

/* ---- Model Explorer ---- */

/* Keys are names of nodes, as its ONNX adapter has them; colours go from white to red over the
 * values of this report. */
static void add_node_data(const struct exporting *e)
{
    const struct node_figure *figure = NULL;
    const json_t *nodes = json_object_get(e->lane, "nodes"), *node;
    const char *wanted = e->figure                                    ? e->figure
                         : isnan(get_share(json_array_get(nodes, 0))) ? "introduced"
                                                                      : "share";
    json_t *root = json_object(), *results = json_object(), *gradient = json_array();
    struct ulp_text name = {0};
    size_t n;
    for (int f = 0; f < NODE_FIGURES; f++)
        if (strcmp(node_figures[f].name, wanted) == 0)
            figure = &node_figures[f];
    json_array_foreach(nodes, n, node)
    {
        const double value = figure->get(node);
        json_t *result = json_object();
        if (!isfinite(value)) {
            json_decref(result);
            continue;
        }
        ulp_json_set(&result, "value", ulp_json_number(value));
        ulp_json_set(&results, ulp_saved_text(node, "name"), result);
    }
    for (int end = 0; end < 2; end++) {
        const bool red = end == (figure->get != get_headroom); /* little headroom is what is bad */
        json_t *stop = json_object();
        ulp_json_set(&stop, "stop", json_integer(end));
        ulp_json_set(&stop, "bgColor", json_string(red ? "#d32f2f" : "#ffffff"));
        ulp_json_append(&gradient, stop);
    }
    ulp_text_show(&name, "%s %s", ulp_saved_text(e->lane, "name"), wanted);
    ulp_json_set(&root, "results", results);
    ulp_json_set(&root, "name", name.failed ? NULL : ulp_json_text(name.data));
    ulp_json_set(&root, "gradient", gradient);
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER) : NULL;
    if (text)
        ulp_json_put_escaped(e->out, text, strlen(text), false);
    ulp_text_put(e->out, "\n", 1);
    e->out->failed |= !text;
    free(text);
    json_decref(root);
    ulp_text_free(&name);
}

/* ---- the table ---- */

static const struct {
    struct ulp_saved_format format;
    void (*add)(const struct exporting *e);
} rows[] = {
#define FORMAT(name, function, meaning) {{name, meaning}, function},
#include "analysis/saved/export.def"
#undef FORMAT
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

const struct ulp_saved_format *ulp_saved_format_row(size_t index)
{
    return index < ROW_COUNT ? &rows[index].format : NULL;
}

static const char *name_format(const void *context, size_t i)
{
    (void)context;
    return rows[i].format.name;
}
static const char *name_figure(const void *context, size_t i)
{
    (void)context;
    return node_figures[i].name;
}
static const char *name_lane(const void *context, size_t i)
{
    return ulp_saved_text(json_array_get(context, i), "name");
}

/* The index of the word among the names; or "WHAT 'word' is not known; known: A, B". */
static enum ulp_status choose(const char *what, const char *word, size_t count,
                              const char *(*name)(const void *context, size_t i),
                              const void *context, size_t *chosen, struct ulp_error *error)
{
    struct ulp_text known = {0};
    for (*chosen = 0; *chosen < count; (*chosen)++)
        if (strcmp(word, name(context, *chosen)) == 0)
            return ULP_OK;
    for (size_t i = 0; i < count; i++)
        ulp_text_show(&known, "%s%s", i ? ", " : "", name(context, i));
    ulp_fail(error, ULP_ERROR_USAGE, "%s '%s' is not known; known: %s", what, word,
             known.data ? known.data : "");
    ulp_text_free(&known);
    return ULP_ERROR_USAGE;
}

enum ulp_status ulp_saved_export(const struct ulp_saved *saved, const char *format,
                                 const char *arithmetic, const char *figure, char **out,
                                 struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_text text = {0};
    size_t row, lane = 0, ignored;
    enum ulp_status status = choose("format", format, ROW_COUNT, name_format, NULL, &row, error);
    *out = NULL;
    if (status == ULP_OK && arithmetic)
        status = choose("arithmetic", arithmetic, json_array_size(saved->arithmetics), name_lane,
                        saved->arithmetics, &lane, error);
    if (status == ULP_OK && figure)
        status = choose("figure", figure, NODE_FIGURES, name_figure, NULL, &ignored, error);
    if (status != ULP_OK)
        return status;
    rows[row].add(
        &(struct exporting){saved, json_array_get(saved->arithmetics, lane), figure, &text});
    return ulp_saved_give(&text, out, error);
}

enum ulp_status ulp_saved_write(const struct ulp_saved *saved, const char *format,
                                const char *arithmetic, const char *figure, const char *path,
                                struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    char *text = NULL;
    enum ulp_status status = ulp_saved_export(saved, format, arithmetic, figure, &text, error);
    if (status == ULP_OK)
        status = ulp_file_write(path, text, strlen(text), error);
    free(text);
    return status;
}
