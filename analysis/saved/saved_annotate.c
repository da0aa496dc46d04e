/* A saved report in a copy of its model: figures of each node in its metadata_props, the same in
 * words in its doc_string. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope.h>

#include "analysis/saved/export.h"
#include "base/error.h"
#include "load/annotate/annotate.h"
#include "number/function/math.h"

struct named {
    const char *name;
    const json_t *node; /* in the first arithmetic */
    size_t place;
    bool found;
};

struct describing {
    const struct ulp_saved *saved;
    struct named *nodes; /* by name, then place */
    size_t count;
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

static bool covers(void *context, const char *prefix)
{
    const struct describing *d = context;
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
        if (node->found || strcmp(ulp_saved_text(node->node, "op"), op) != 0)
            continue;
        if (gives(node->node, output))
            return node;
        left = left ? left : node;
    }
    return left;
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

static struct figures read_figures(const json_t *lane, struct named *const nodes[], size_t count)
{
    struct figures all = {.remark = "", .kept = ""};
    for (int f = 0; f < ULP_SAVED_FIGURES; f++)
        all.values[f] = NAN;
    for (size_t i = 0; i < count; i++) {
        const json_t *node = json_array_get(json_object_get(lane, "nodes"), nodes[i]->place);
        if (strcmp(ulp_saved_text(node, "name"), nodes[i]->name) != 0)
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
    struct ulp_text key = {0};
    ulp_text_show(&key, "%s%s.%s", ULP_ANNOTATION_KEY, lane, figure);
    out->entries.failed |= key.failed;
    if (!key.failed)
        ulp_annotation_add(out, key.data, value);
    ulp_text_free(&key);
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
    struct ulp_text sentence = {0};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        char text[32];
        const double value = get(figures, entries[i].figure);
        snprintf(text, sizeof text, "%.9g", value + 0.0); /* no -0 */
        if (isfinite(value))
            add_entry(out, lane, entries[i].key, text);
    }
    add_sentence(&sentence, figures);
    out->doc.failed |= sentence.failed;
    if (!sentence.failed) {
        add_entry(out, lane, "verdict", sentence.data);
        ulp_text_show(&out->doc, "\n%s: ", lane);
        ulp_text_put(&out->doc, sentence.data, sentence.length);
    }
    ulp_text_free(&sentence);
}

/* Of an arithmetic that is audited twice the first counts: keys are unique. */
static bool is_first(const struct ulp_saved *saved, const json_t *lane)
{
    return ulp_saved_arithmetic(saved, ulp_saved_text(lane, "name")) == lane;
}

static void describe(void *context, const struct ulp_annotated_node *node,
                     struct ulp_annotation *out)
{
    struct describing *d = context;
    struct named **found = malloc((node->count + 1) * sizeof *found);
    const json_t *lane;
    size_t l, count = 0;
    out->entries.failed |= !found;
    for (size_t i = 0; found && i < node->count; i++)
        if ((found[count] = find_node(d, node->names[i], node->op, node->output)) != NULL)
            found[count++]->found = true;
    if (count) {
        ulp_text_add(&out->doc, "%s %s", ULP_ANNOTATION_MARK, ulp_version());
        if (count > 1)
            ulp_text_add(&out->doc, " in %zu calls: shares added up, of other figures the worst",
                         count);
        json_array_foreach(d->saved->arithmetics, l, lane) if (is_first(d->saved, lane))
        {
            const struct figures figures = read_figures(lane, found, count);
            describe_lane(out, ulp_saved_text(lane, "name"), &figures);
        }
    }
    free(found);
}

static void describe_model(void *context, struct ulp_annotation *out)
{
    const struct describing *d = context;
    const json_t *lane;
    size_t l;
    ulp_annotation_add(out, ULP_ANNOTATION_KEY "version", ulp_version());
    ulp_annotation_add(out, ULP_ANNOTATION_KEY "reference",
                       ulp_saved_text(json_object_get(d->saved->root, "reference"), "name"));
    json_array_foreach(d->saved->arithmetics, l, lane) if (is_first(d->saved, lane))
        add_entry(out, ulp_saved_text(lane, "name"), "verdict", ulp_saved_text(lane, "verdict"));
}

static enum ulp_status accept(void *context, struct ulp_error *error)
{
    const struct describing *d = context;
    for (size_t i = 0; i < d->count; i++)
        if (!d->nodes[i].found)
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "%s: its node '%s' (%s) is not in the model: is it a report of another "
                            "one? Give the audited model with --model",
                            d->saved->path, d->nodes[i].name,
                            ulp_saved_text(d->nodes[i].node, "op"));
    return ULP_OK;
}

enum ulp_status ulp_export_onnx(struct ulp_saved *saved, const struct ulp_saved_request *request,
                                const char *path, struct ulp_error *error)
{
    const char *own = ulp_saved_text(json_object_get(saved->root, "model"), "path");
    const json_t *nodes = json_object_get(json_array_get(saved->arithmetics, 0), "nodes"), *node;
    struct describing d = {.saved = saved};
    void *memory;
    size_t n;
    enum ulp_status status = ulp_allocate(&memory, json_array_size(nodes), sizeof *d.nodes,
                                          saved->budget, "names of nodes", error);
    if (status != ULP_OK)
        return status;
    d.nodes = memory;
    json_array_foreach(nodes, n, node) d.nodes[d.count++] =
        (struct named){ulp_saved_text(node, "name"), node, n, false};
    qsort(d.nodes, d.count, sizeof *d.nodes, by_name);
    const struct ulp_annotator annotator = {&d, covers, describe, describe_model, accept};
    status = ulp_annotate_file(request->model ? request->model : own, path, &annotator,
                               saved->budget, error);
    ulp_free(memory);
    return status;
}
