/* An allocation as files. */
#include "analysis/bits/bits_write.h"

#include <jansson.h>
#include <math.h>

#include "analysis/html/html.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/folder.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/machine/file.h"

static json_t *verdict_json(const struct ulp_bits *bits)
{
    struct ulp_text text = {0};
    ulp_bits_verdict(&text, bits);
    return ulp_json_lines(&text);
}

static json_t *keep_json(const struct ulp_bits *bits)
{
    json_t *keep = json_array();
    for (size_t e = 0; e < bits->entry_count; e++)
        ulp_json_keep(&keep, bits->entries[e].pattern, bits->entries[e].arithmetic);
    return keep;
}

static json_t *samples_json(const struct ulp_bits_sample *samples, size_t count)
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

static json_t *layers_json(const struct ulp_bits *bits)
{
    json_t *list = json_array();
    for (size_t l = 0; l < bits->layer_count; l++) {
        const struct ulp_bits_layer *layer = &bits->layers[l];
        const struct ulp_bits_format *format = &bits->formats[layer->format];
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
        ulp_json_set(&object, "largest", ulp_json_number(layer->largest));
        ulp_json_set(&object, "smallest", ulp_json_number(layer->smallest));
        ulp_json_set(&object, "share", ulp_json_number(layer->share));
        ulp_json_set(&object, "expected", ulp_json_number(layer->predicted));
        ulp_json_set(&object, "without", ulp_json_number(layer->without));
        ulp_json_set(&object, "fewer",
                     layer->fewer < 0 ? json_null()
                                      : ulp_json_text(bits->formats[layer->fewer].name));
        ulp_json_append(&list, object);
    }
    return list;
}

static json_t *uniforms_json(const struct ulp_bits *bits)
{
    json_t *list = json_array();
    for (size_t u = 0; u < bits->uniform_count; u++) {
        json_t *object = json_object();
        ulp_json_set(&object, "format",
                     ulp_json_text(bits->formats[bits->uniforms[u].format].name));
        ulp_json_set(&object, "bits", ulp_json_number(bits->uniforms[u].bits));
        ulp_json_set(&object, "ratio", ulp_json_number(bits->uniforms[u].ratio));
        ulp_json_append(&list, object);
    }
    return list;
}

static json_t *frontier_json(const struct ulp_bits *bits)
{
    json_t *list = json_array();
    for (size_t p = 0; p < bits->point_count; p++) {
        json_t *object = json_object();
        ulp_json_set(&object, "allowed", ulp_json_number(bits->frontier[p].allowed));
        ulp_json_set(&object, "ratio", ulp_json_number(bits->frontier[p].ratio));
        ulp_json_set(&object, "bits", ulp_json_number(bits->frontier[p].bits));
        ulp_json_set(&object, "mantissa", ulp_json_number(bits->frontier[p].mantissa));
        ulp_json_set(&object, "uniform_bits", ulp_json_number(bits->frontier[p].uniform_bits));
        ulp_json_append(&list, object);
    }
    return list;
}

static json_t *validated_json(const struct ulp_bits *bits)
{
    json_t *object = json_object();
    ulp_json_set(&object, "count", json_integer((json_int_t)bits->validated_count));
    ulp_json_set(&object, "met", json_integer((json_int_t)bits->validated_met));
    ulp_json_set(&object, "samples", samples_json(bits->validated, bits->validated_count));
    return object;
}

static void set_figures(json_t **root, const struct ulp_bits *bits)
{
    const struct {
        const char *key;
        double value;
    } figures[] = {{"full", bits->full},
                   {"ratio", bits->ratio},
                   {"expected", bits->predicted},
                   {"bits", bits->bits},
                   {"mantissa", bits->mantissa},
                   {"exponent", bits->exponent},
                   {"relaxed", bits->relaxed},
                   {"total_bits", bits->total_bits},
                   {"total_weight", bits->total_weight},
                   {"headroom", bits->headroom}};
    for (size_t f = 0; f < sizeof figures / sizeof *figures; f++)
        ulp_json_set(root, figures[f].key, ulp_json_number(figures[f].value));
}

static json_t *bits_json(const struct ulp_bits *bits)
{
    json_t *root = json_object(), *tolerances = json_array();
    ulp_json_set(&root, "verdict", verdict_json(bits));
    ulp_json_set(&root, "model", ulp_json_text(bits->model_path));
    ulp_json_set(&root, "arithmetic", ulp_json_text(bits->base));
    ulp_json_set(&root, "keep", keep_json(bits));
    ulp_json_set(&root, "reference", ulp_json_text(bits->reference));
    for (size_t t = 0; t < bits->tolerance_count; t++)
        ulp_json_append(&tolerances, ulp_json_text(bits->tolerances[t]));
    ulp_json_set(&root, "tolerance", tolerances);
    ulp_json_set(&root, "weight", ulp_json_text(ulp_bits_weight_name(bits->weight)));
    ulp_json_set(&root, "met", json_boolean(bits->met));
    ulp_json_set(&root, "minimal", json_boolean(bits->minimal));
    ulp_json_set(&root, "timed_out", json_boolean(bits->timed_out));
    ulp_json_set(&root, "follows", json_boolean(bits->follows));
    set_figures(&root, bits);
    ulp_json_set(&root, "uniform",
                 bits->uniform < 0
                     ? json_null()
                     : ulp_json_text(bits->formats[bits->uniforms[bits->uniform].format].name));
    ulp_json_set(&root, "uniforms", uniforms_json(bits));
    ulp_json_set(&root, "layers", layers_json(bits));
    ulp_json_set(&root, "frontier", frontier_json(bits));
    ulp_json_set(&root, "samples", samples_json(bits->samples, bits->sample_count));
    ulp_json_set(&root, "validated", validated_json(bits));
    ulp_json_set(&root, "runs", json_integer((json_int_t)bits->runs));
    ulp_json_set(&root, "tried", json_integer((json_int_t)bits->tried));
    return root;
}

static void add_csv(const struct ulp_bits *bits, struct ulp_text *out)
{
    ulp_text_add(out, "tolerance,error,bits,mantissa,uniform_bits\n");
    for (size_t p = 0; p < bits->point_count; p++) {
        const struct ulp_bits_point *point = &bits->frontier[p];
        ulp_text_add(out, "%.9g,%.9g,%.9g,%.9g,", point->allowed, point->ratio, point->bits,
                     point->mantissa);
        if (!isnan(point->uniform_bits))
            ulp_text_add(out, "%.9g", point->uniform_bits);
        ulp_text_add(out, "\n");
    }
}

static const char *const files[] = {"bits.json", "frontier.csv"};

const char *ulp_bits_file_name(size_t index)
{
    return index < sizeof files / sizeof *files ? files[index] : NULL;
}

enum ulp_status ulp_bits_write(const struct ulp_bits *bits, const char *folder,
                               struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_text csv;
    enum ulp_status status = ulp_report_write_json(bits_json(bits), folder, files[0], error);
    if (status == ULP_OK)
        status = ulp_report_open(folder, files[1], &csv, error);
    if (status != ULP_OK)
        return status;
    add_csv(bits, &csv);
    return ulp_text_close(&csv, true, error);
}

enum ulp_status ulp_bits_html(const struct ulp_bits *bits, const char *path,
                              struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return ulp_html_write_root("bits", bits_json(bits), path, error);
}
