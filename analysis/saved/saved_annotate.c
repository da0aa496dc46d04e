/* A saved report in a copy of its model: figures of each node in its metadata_props, the same in
 * words in its doc_string. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope.h>

#include "analysis/saved/export.h"
#include "base/error.h"
#include "base/text/names.h"
#include "load/mixed/annotate.h"
#include "number/function/math.h"

#define CALL_DEPTH_MAX 64

struct named {
    const char *name;
    const json_t *node; /* in the first arithmetic */
    size_t place;
    const struct ulp_node *is; /* in the model; NULL: not found */
};

struct describing {
    const struct ulp_saved *saved;
    const struct ulp_model *model;
    struct named *nodes; /* by name, then place; once all are found: by what they are */
    size_t count;
    struct ulp_arena *arena;
    struct ulp_names followed; /* calls */
    bool starved;
};

static int by_name(const void *x, const void *y)
{
    const struct named *a = x, *b = y;
    const int order = strcmp(a->name, b->name);
    return order ? order : (a->place > b->place) - (a->place < b->place);
}

/* The first whose name is not before that text. */
static size_t find_first(const struct describing *d, const char *name, size_t length)
{
    size_t low = 0, high = d->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strncmp(d->nodes[middle].name, name, length) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether any node is called PREFIX/..: else the call of that name is not followed. */
static bool covers(const struct describing *d, const char *prefix)
{
    const size_t length = strlen(prefix);
    for (size_t i = find_first(d, prefix, length); i < d->count; i++) {
        const char *name = d->nodes[i].name;
        if (strncmp(name, prefix, length) != 0 || (unsigned char)name[length] > '/')
            return false;
        if (name[length] == '/')
            return true;
    }
    return false;
}

/* "sum" or "call/sum", of an output that the file calls "sum". */
static bool gives(const json_t *node, const char *output)
{
    const json_t *item;
    size_t o;
    json_array_foreach(json_object_get(node, "outputs"), o, item)
    {
        const char *name = ulp_saved_text(item, "name");
        const size_t length = strlen(name), wanted = strlen(output);
        if (length >= wanted && strcmp(name + length - wanted, output) == 0 &&
            (length == wanted || name[length - wanted - 1] == '/'))
            return true;
    }
    return false;
}

/* The report's node of that name; of several, as in both branches of an If, the one with that
 * output, else the first that is left. NULL: none. */
static struct named *find_node(struct describing *d, const char *name, const char *op,
                               const char *output)
{
    struct named *left = NULL;
    for (size_t i = find_first(d, name, strlen(name) + 1);
         i < d->count && strcmp(d->nodes[i].name, name) == 0; i++) {
        struct named *node = &d->nodes[i];
        if (node->is || strcmp(ulp_saved_text(node->node, "op"), op) != 0)
            continue;
        if (gives(node->node, output))
            return node;
        left = left ? left : node;
    }
    return left;
}

/* ---- the nodes that the report names, as run/program/expand.c does ---- */

static void find_all(struct describing *d, const struct ulp_graph *graph, const char *prefix,
                     int call_depth);

static const char *make_text(struct describing *d, const char *start, const char *separator,
                             const char *end)
{
    struct ulp_text text = {0};
    ulp_text_add(&text, "%s%s%s", start, separator, end);
    const char *made = text.failed ? NULL : ulp_arena_text(d->arena, text.data, text.length);
    ulp_text_free(&text);
    d->starved |= !made;
    return made ? made : "";
}

/* Only calls with nodes to describe are followed, and each name once, so that there are no more
 * than these. */
static void follow_call(struct describing *d, const struct ulp_function *function, const char *name,
                        int call_depth)
{
    char place[24];
    snprintf(place, sizeof place, "%zu", (size_t)(function - d->model->functions));
    if (call_depth >= CALL_DEPTH_MAX || !covers(d, name))
        return;
    const char *key = make_text(d, place, ":", name);
    if (d->starved || ulp_names_find(&d->followed, key) >= 0)
        return;
    d->starved = !ulp_names_add(&d->followed, key, 0);
    find_all(d, function->body, name, call_depth + 1);
}

static void find_all(struct describing *d, const struct ulp_graph *graph, const char *prefix,
                     int call_depth)
{
    for (size_t n = 0; n < graph->node_count && !d->starved; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        const struct ulp_function *function = ulp_function_find(d->model, node);
        const bool apart = !prefix || (!call_depth && node->name[0] == '/');
        const char *name = apart ? node->name : make_text(d, prefix, "/", node->name);
        const int output = node->output_count ? node->outputs[0] : -1;
        struct named *named =
            find_node(d, name, node->op_type, output >= 0 ? graph->values[output].name : "");
        if (named)
            named->is = node;
        for (size_t a = 0; a < node->attribute_count; a++)
            if (node->attributes[a].graph)
                find_all(d, node->attributes[a].graph, name, call_depth);
        if (function)
            follow_call(d, function, name, call_depth);
    }
}

static int by_node(const void *x, const void *y)
{
    const struct named *a = x, *b = y;
    return a->is != b->is ? ((uintptr_t)a->is > (uintptr_t)b->is ? 1 : -1)
                          : (a->place > b->place) - (a->place < b->place);
}

static enum ulp_status find_nodes(struct describing *d, struct ulp_error *error)
{
    find_all(d, d->model->graph, NULL, 0);
    ULP_TRY(ulp_taken(!d->starved, error));
    for (size_t i = 0; i < d->count; i++)
        if (!d->nodes[i].is)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "%s: its node '%s' (%s) is not in the model: is it a report of another "
                            "one? Give the audited model with --model",
                            d->saved->path, d->nodes[i].name,
                            ulp_saved_text(d->nodes[i].node, "op"));
    qsort(d->nodes, d->count, sizeof *d->nodes, by_node);
    return ULP_OK;
}

/* ---- a node in one arithmetic ---- */

/* Over all calls of the function it is in: shares add up, of other figures the worst. */
struct figures {
    double values[ULP_SAVED_FIGURES];
    const char *remark, *kept;
};

static double join(int figure, double sum, double value)
{
    const char *name = ulp_saved_figures[figure].name;
    const bool adds = strcmp(name, "share") == 0 || strcmp(name, "nonfinite") == 0;
    if (isnan(sum) || isnan(value))
        return isnan(sum) ? value : sum;
    return adds                              ? sum + value
           : ulp_saved_figures[figure].least ? ulp_math_min(sum, value)
                                             : ulp_math_max(sum, value);
}

static struct figures read_figures(const json_t *lane, const struct named *nodes, size_t count)
{
    struct figures all = {.remark = "", .kept = ""};
    for (int f = 0; f < ULP_SAVED_FIGURES; f++)
        all.values[f] = NAN;
    for (size_t i = 0; i < count; i++) {
        const json_t *node = json_array_get(json_object_get(lane, "nodes"), nodes[i].place);
        if (strcmp(ulp_saved_text(node, "name"), nodes[i].name) != 0)
            continue;
        for (int f = 0; f < ULP_SAVED_FIGURES; f++)
            all.values[f] = join(f, all.values[f], ulp_saved_figures[f].get(node));
        all.remark = *all.remark ? all.remark : ulp_saved_remark(node);
        all.kept = ulp_saved_text(node, "arithmetic");
    }
    return all;
}

static double get(const struct figures *figures, const char *name)
{
    for (int f = 0; f < ULP_SAVED_FIGURES; f++)
        if (strcmp(ulp_saved_figures[f].name, name) == 0)
            return figures->values[f];
    return NAN;
}

/* "causes 42.1 % of the outputs' error; off by 0.0012 of its rms, 0.0004 of it introduced here;
 * headroom 3.2 bits" */
static void add_sentence(struct ulp_text *out, const struct figures *figures)
{
    const double share = get(figures, "share"), entire = get(figures, "entire"),
                 introduced = get(figures, "introduced"), headroom = get(figures, "headroom");
    if (*figures->kept)
        ulp_text_show(out, "computed in %s; ", figures->kept);
    if (*figures->remark)
        ulp_text_add(out, "%s; ", figures->remark);
    if (isfinite(share))
        ulp_text_add(out, "%s %.1f %% of the outputs' error; ", share < 0 ? "takes away" : "causes",
                     100 * fabs(share));
    if (entire == 0)
        ulp_text_add(out, "equals the reference; ");
    else if (isfinite(entire))
        ulp_text_add(out, "off by %.2g of its rms; ", entire);
    if (introduced > 0 && isfinite(introduced))
        ulp_text_add(out, "introduces %.2g; ", introduced);
    if (isfinite(headroom))
        ulp_text_add(out, "headroom %.1f bits; ", headroom);
    if (out->length >= 2 && out->data[out->length - 2] == ';')
        out->data[out->length -= 2] = '\0';
    else
        ulp_text_add(out, "nothing can be compared");
}

static void add_entry(struct ulp_annotation *out, const char *lane, const char *figure,
                      const char *value)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text key = {0};
    ulp_text_show(&key, "%s%s.%s", ULP_ANNOTATION_KEY, lane, figure);
    ulp_annotation_add(out, key.failed ? NULL : key.data, value);
}

/* The metadata's keys and the report's figures. */
static const struct {
    const char *key, *figure;
} entries[] = {{"share", "share"},
               {"error", "entire"},
               {"introduced", "introduced"},
               {"headroom_bits", "headroom"},
               {"nonfinite", "nonfinite"}};

static void describe_lane(struct ulp_annotation *out, const char *lane,
                          const struct figures *figures)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text sentence = {0};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        char text[32];
        const double value = get(figures, entries[i].figure);
        snprintf(text, sizeof text, "%.9g", value + 0.0); /* no -0 */
        if (isfinite(value))
            add_entry(out, lane, entries[i].key, text);
    }
    add_sentence(&sentence, figures);
    add_entry(out, lane, "verdict", sentence.failed ? NULL : sentence.data);
    ulp_text_show(ulp_annotation_doc(out), "\n%s: ", lane);
    ulp_text_put(ulp_annotation_doc(out), sentence.data, sentence.length);
}

/* Of an arithmetic that is audited twice the first counts: keys are unique. */
static bool is_first(const struct ulp_saved *saved, const json_t *lane)
{
    return ulp_saved_arithmetic(saved, ulp_saved_text(lane, "name")) == lane;
}

/* The model's node, and what the report has of it in each call. */
static void describe(void *context, const struct ulp_node *node, struct ulp_annotation *out)
{
    const struct describing *d = context;
    const json_t *lane;
    size_t l, low = 0, high = d->count, count = 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)d->nodes[middle].is < (uintptr_t)node)
            low = middle + 1;
        else
            high = middle;
    }
    while (low + count < d->count && d->nodes[low + count].is == node)
        count++;
    if (!count)
        return;
    ulp_text_add(ulp_annotation_doc(out), "%s %s", ULP_ANNOTATION_MARK, ulp_version());
    if (count > 1)
        ulp_text_add(ulp_annotation_doc(out),
                     " in %zu calls: shares added up, of other figures the worst", count);
    json_array_foreach(d->saved->lanes, l, lane) if (is_first(d->saved, lane))
    {
        const struct figures figures = read_figures(lane, &d->nodes[low], count);
        describe_lane(out, ulp_saved_text(lane, "name"), &figures);
    }
}

static void describe_model(void *context, struct ulp_annotation *out)
{
    const struct describing *d = context;
    const json_t *lane;
    size_t l;
    ulp_annotation_add(out, ULP_ANNOTATION_KEY "version", ulp_version());
    ulp_annotation_add(out, ULP_ANNOTATION_KEY "reference",
                       ulp_saved_text(d->saved->root, "reference"));
    json_array_foreach(d->saved->lanes, l, lane) if (is_first(d->saved, lane))
        add_entry(out, ulp_saved_text(lane, "name"), "verdict", ulp_saved_text(lane, "verdict"));
}

static enum ulp_status annotate(struct describing *d, const char *path, struct ulp_error *error)
{
    const json_t *nodes = json_object_get(json_array_get(d->saved->lanes, 0), "nodes"), *node;
    const struct ulp_annotator annotator = {d, describe, describe_model};
    size_t n;
    ULP_TRY(ulp_arena_create(&d->arena, d->saved->budget, error));
    ULP_TAKE(d->nodes, d->arena, json_array_size(nodes), error);
    json_array_foreach(nodes, n, node) d->nodes[d->count++] =
        (struct named){ulp_saved_text(node, "name"), node, n, NULL};
    qsort(d->nodes, d->count, sizeof *d->nodes, by_name);
    ULP_TRY(find_nodes(d, error));
    return ulp_annotate_file(d->model, path, &annotator, error);
}

enum ulp_status ulp_export_onnx(struct ulp_saved *saved, const struct ulp_saved_request *request,
                                const char *path, struct ulp_error *error)
{
    const char *own = ulp_saved_text(saved->root, "model_path");
    struct describing d = {.saved = saved, .followed = {.budget = saved->budget}};
    struct ulp_model *model;
    enum ulp_status status =
        ulp_model_load(request->model ? request->model : own, saved->budget, &model, error);
    d.model = model;
    if (status == ULP_OK)
        status = annotate(&d, path, error);
    ulp_names_free(&d.followed);
    ulp_arena_free(d.arena);
    ulp_model_free(model);
    return status;
}
