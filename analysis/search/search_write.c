/* What was found as files. */
#include "analysis/search/search_text.h"

#include <jansson.h>
#include <math.h>

#include "analysis/html/html.h"
#include "analysis/search/picture.h"
#include "analysis/search/trt_files.h"
#include "analysis/writing/folder.h"
#include "analysis/writing/json_value.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/machine/file.h"
#include "number/function/math.h"
#include <ulpscope/report.h>

static json_t *verdict_json(const struct ulp_search *found)
{
    struct ulp_text text = {0};
    ulp_search_verdict(&text, found, found->by_node);
    return ulp_json_lines(&text);
}

static json_t *keep_json(const struct ulp_search *found)
{
    json_t *keep = json_array();
    for (size_t e = 0; e < found->entry_count; e++)
        ulp_json_keep(&keep, found->entries[e].pattern, found->entries[e].arithmetic);
    return keep;
}

static json_t *samples_json(const struct ulp_search_sample *samples, size_t count)
{
    json_t *list = json_array();
    for (size_t s = 0; s < count; s++) {
        json_t *object = json_object();
        ulp_json_set(&object, "sample", ulp_json_text(samples[s].name));
        ulp_json_set(&object, "output", ulp_json_text(samples[s].output));
        ulp_json_set(&object, "metric", ulp_json_text(samples[s].metric));
        ulp_json_set(&object, "value", ulp_json_number(samples[s].value));
        ulp_json_set(&object, "ratio", ulp_json_number(samples[s].ratio));
        ulp_json_append(&list, object);
    }
    return list;
}

/* The worst, and each sample's. */
static json_t *figures_json(const struct ulp_search_sample *samples, size_t count)
{
    json_t *object = json_object();
    double worst = count ? 0 : NAN;
    for (size_t s = 0; s < count; s++)
        worst = ulp_math_max(worst, samples[s].ratio);
    ulp_json_set(&object, "ratio", ulp_json_number(worst));
    ulp_json_set(&object, "samples", samples_json(samples, count));
    return object;
}

static json_t *layers_json(const struct ulp_search *found)
{
    json_t *list = json_array();
    for (size_t l = 0; l < found->layer_count; l++) {
        const struct ulp_search_layer *layer = &found->layers[l];
        const struct ulp_search_format *format = &found->formats[layer->format];
        json_t *object = json_object();
        ulp_json_set(&object, "index", json_integer((json_int_t)layer->index));
        ulp_json_set(&object, "name", ulp_json_text(layer->name));
        ulp_json_set(&object, "op", ulp_json_text(layer->op));
        ulp_json_set(&object, "nodes", json_integer((json_int_t)layer->node_count));
        ulp_json_set(&object, "format", ulp_json_text(format->name));
        ulp_json_set(&object, "mantissa", json_integer(layer->bits - 1 - format->exponent));
        ulp_json_set(&object, "exponent", json_integer(format->exponent));
        ulp_json_set(&object, "exponent_needed", json_integer(layer->exponent_needed));
        ulp_json_set(&object, "bits", json_integer(layer->bits));
        ulp_json_set(&object, "weight", ulp_json_number(layer->weight));
        ulp_json_set(&object, "cost", ulp_json_number(layer->cost));
        ulp_json_set(&object, "largest", ulp_json_number(layer->largest));
        ulp_json_set(&object, "smallest", ulp_json_number(layer->smallest));
        ulp_json_set(&object, "share", ulp_json_number(layer->share));
        ulp_json_set(&object, "expected", ulp_json_number(layer->predicted));
        ulp_json_set(&object, "without", ulp_json_number(layer->without));
        ulp_json_set(&object, "fewer",
                     layer->fewer < 0 ? json_null()
                                      : ulp_json_text(found->formats[layer->fewer].name));
        ulp_json_append(&list, object);
    }
    return list;
}

static json_t *uniforms_json(const struct ulp_search *found)
{
    json_t *list = json_array();
    for (size_t u = 0; u < found->uniform_count; u++) {
        json_t *object = json_object();
        ulp_json_set(&object, "format",
                     ulp_json_text(found->formats[found->uniforms[u].format].name));
        ulp_json_set(&object, "bits", ulp_json_number(found->uniforms[u].bits));
        ulp_json_set(&object, "ratio", ulp_json_number(found->uniforms[u].ratio));
        ulp_json_append(&list, object);
    }
    return list;
}

static json_t *frontier_json(const struct ulp_search *found)
{
    json_t *list = json_array();
    for (size_t p = 0; p < found->point_count; p++) {
        json_t *object = json_object();
        ulp_json_set(&object, "allowed", ulp_json_number(found->frontier[p].allowed));
        ulp_json_set(&object, "ratio", ulp_json_number(found->frontier[p].ratio));
        ulp_json_set(&object, "cost", ulp_json_number(found->frontier[p].cost));
        ulp_json_set(&object, "bits", ulp_json_number(found->frontier[p].bits));
        ulp_json_set(&object, "mantissa", ulp_json_number(found->frontier[p].mantissa));
        ulp_json_set(&object, "uniform_bits", ulp_json_number(found->frontier[p].uniform_bits));
        ulp_json_append(&list, object);
    }
    return list;
}

static json_t *validated_json(const struct ulp_search *found)
{
    json_t *object = figures_json(found->validated, found->validated_count);
    ulp_json_set(&object, "count", json_integer((json_int_t)found->validated_count));
    ulp_json_set(&object, "met", json_integer((json_int_t)found->validated_met));
    return object;
}

/* Those that are not in the narrowest format. */
static json_t *nodes_json(const struct ulp_search *found)
{
    json_t *nodes = json_array();
    for (size_t k = 0; k < found->kept_count; k++) {
        const struct ulp_search_node *node = &found->kept[k];
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

static json_t *casts_json(const struct ulp_search *found)
{
    json_t *object = json_object();
    ulp_json_set(&object, "count", json_integer((json_int_t)found->cast_count));
    ulp_json_set(&object, "elements", json_integer((json_int_t)found->cast_elements));
    ulp_json_set(&object, "bytes", json_integer((json_int_t)found->cast_bytes));
    return object;
}

static json_t *mixed_json(const struct ulp_search *found)
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

static void set_figures(json_t **root, const struct ulp_search *found)
{
    const struct {
        const char *key;
        double value;
    } figures[] = {{"full", found->full},
                   {"ratio", found->ratio},
                   {"expected", found->predicted},
                   {"bits", found->bits},
                   {"mantissa", found->mantissa},
                   {"exponent", found->exponent},
                   {"relaxed", found->relaxed},
                   {"total_cost", found->total_cost},
                   {"total_weight", found->total_weight},
                   {"headroom", found->headroom}};
    for (size_t f = 0; f < sizeof figures / sizeof *figures; f++)
        ulp_json_set(root, figures[f].key, ulp_json_number(figures[f].value));
}

/* Of layers in any format; a plan's are its nodes. */
static void set_layers(json_t **root, const struct ulp_search *found)
{
    ulp_json_set(root, "uniform",
                 found->uniform < 0
                     ? json_null()
                     : ulp_json_text(found->formats[found->uniforms[found->uniform].format].name));
    ulp_json_set(root, "uniforms", uniforms_json(found));
    ulp_json_set(root, "layers", layers_json(found));
    ulp_json_set(root, "tried", json_integer((json_int_t)found->tried));
}

static json_t *search_json(const struct ulp_search *found)
{
    json_t *root = json_object(), *tolerances = json_array();
    ulp_json_set(&root, "verdict", verdict_json(found));
    ulp_json_set(&root, "model", ulp_json_text(found->model_path));
    ulp_json_set(&root, "arithmetic", ulp_json_text(found->base));
    ulp_json_set(&root, "keep", keep_json(found));
    ulp_json_set(&root, "reference", ulp_json_text(found->reference));
    for (size_t t = 0; t < found->tolerance_count; t++)
        ulp_json_append(&tolerances, ulp_json_text(found->tolerances[t]));
    ulp_json_set(&root, "tolerance", tolerances);
    ulp_json_set(&root, "cost", ulp_json_text(found->cost));
    ulp_json_set(&root, "met", json_boolean(found->met));
    ulp_json_set(&root, "minimal", json_boolean(found->minimal));
    ulp_json_set(&root, "timed_out", json_boolean(found->timed_out));
    ulp_json_set(&root, "follows", json_boolean(found->follows));
    set_figures(&root, found);
    if (found->by_node)
        ulp_json_set(&root, "before", figures_json(found->before_samples, found->before_count));
    ulp_json_set(&root, "after", figures_json(found->samples, found->sample_count));
    ulp_json_set(&root, "validated", validated_json(found));
    ulp_json_set(&root, "casts", casts_json(found));
    if (found->mixed.path || found->mixed.reason)
        ulp_json_set(&root, "mixed", mixed_json(found));
    if (found->by_node)
        ulp_json_set(&root, "nodes", nodes_json(found));
    else
        set_layers(&root, found);
    if (found->point_count || !found->by_node)
        ulp_json_set(&root, "frontier", frontier_json(found));
    ulp_json_set(&root, "node_count", json_integer((json_int_t)found->node_count));
    ulp_json_set(&root, "runs", json_integer((json_int_t)found->runs));
    return root;
}

/* ---- files ---- */

static enum ulp_status write_json(const struct ulp_search *found, struct ulp_text *out,
                                  struct ulp_error *error)
{
    return ulp_json_put_document(search_json(found), out, "plan.json", error);
}

static bool is_plan(const struct ulp_search *found)
{
    return found->by_node;
}

static bool is_allocation(const struct ulp_search *found)
{
    return !found->by_node;
}

/* Of bits also where no tolerance was met. */
static bool has_points(const struct ulp_search *found)
{
    return !found->by_node || found->point_count > 0;
}

static bool has_picture(const struct ulp_search *found)
{
    return found->point_count > 0;
}

static const struct {
    const char *name;
    bool (*applies)(const struct ulp_search *);
    enum ulp_status (*write)(const struct ulp_search *, struct ulp_text *, struct ulp_error *);
} files[] = {{"plan.json", is_plan, write_json},
             {"bits.json", is_allocation, write_json},
             {"frontier.csv", has_points, ulp_frontier_csv},
             {"frontier.svg", has_picture, ulp_frontier_svg},
             {"trtexec.txt", ulp_trt_has_formats, ulp_trt_trtexec},
             {"npps.py", ulp_trt_has_formats, ulp_trt_polygraphy},
             {"autocast.txt", ulp_trt_has_two_formats, ulp_trt_autocast},
             {"strongly_typed.txt", ulp_trt_has_formats, ulp_trt_strongly_typed}};

const char *ulp_search_file_name(size_t index)
{
    return index < sizeof files / sizeof *files ? files[index].name : NULL;
}

static enum ulp_status write_file(const struct ulp_search *found, const char *folder, size_t index,
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

enum ulp_status ulp_search_write(const struct ulp_search *found, const char *folder,
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

enum ulp_status ulp_search_html(const struct ulp_search *found, const char *path,
                                struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return ulp_html_write_root(found->by_node ? "plan" : "bits", search_json(found), path, error);
}
