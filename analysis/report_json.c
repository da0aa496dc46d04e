/* report.json, schema in doc/report.md. JSON has no NaN or infinity: such a figure is null. */
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include <ulpscope.h>

#include "base/error.h"
#include "report_internal.h"

#define SCHEMA_VERSION 1

static json_t *make_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Names from a hostile model may not be UTF-8; such bytes are shown as "?". */
static json_t *make_text(const char *text)
{
    json_t *value = json_string(text);
    if (value)
        return value;
    struct ulp_text clean = {0};
    for (; *text; text++)
        ulp_text_add(&clean, "%c", (unsigned char)*text < 0x80 ? *text : '?');
    value = json_string(clean.data ? clean.data : "");
    ulp_text_free(&clean);
    return value;
}

/* The figures of a struct, by name. */
struct figure {
    const char *name;
    size_t offset; /* of a double */
};

static void set_figures(json_t *object, const void *values, size_t count, const struct figure *figures)
{
    for (size_t i = 0; i < count; i++)
        json_object_set_new(object, figures[i].name,
                            make_number(*(const double *)(const void *)((const char *)values + figures[i].offset)));
}

#define SET_FIGURES(object, values, figures) set_figures(object, values, sizeof(figures) / sizeof *(figures), figures)
#define METRIC(NAME) {#NAME, offsetof(struct ulp_metrics, NAME)}
#define RANGE(NAME) {#NAME, offsetof(struct ulp_range, NAME)}
#define SPREAD(NAME) {#NAME, offsetof(struct ulp_spread, NAME)}

static const struct figure metric_figures[] = {METRIC(max_abs), METRIC(rms),        METRIC(mean),   METRIC(max_rel),
                                               METRIC(max_ulp), METRIC(median_ulp), METRIC(cosine), METRIC(sqnr_db)};
static const struct figure range_figures[] = {RANGE(ref_rms), RANGE(ref_max), RANGE(ref_min_nonzero), RANGE(headroom_bits)};
static const struct figure spread_figures[] = {SPREAD(ref_rms),   SPREAD(width_max_abs), SPREAD(width_rms), SPREAD(width_max_ulp),
                                               SPREAD(differing), SPREAD(error_rms),     SPREAD(gpu_rms)};

static json_t *make_metrics(const struct ulp_metrics *m)
{
    json_t *object = json_object();
    SET_FIGURES(object, m, metric_figures);
    json_object_set_new(object, "nonfinite", json_integer((json_int_t)m->nonfinite));
    json_object_set_new(object, "worst_index", json_integer((json_int_t)m->worst_index));
    if (m->diverged)
        json_object_set_new(object, "diverged", json_true());
    return object;
}

static json_t *make_output(const struct ulp_audit *audit, const struct ulp_audit_output *output)
{
    json_t *object = json_object(), *shape = json_array(), *range = json_object();
    json_object_set_new(object, "name", make_text(output->name));
    json_object_set_new(object, "type", json_string(ulp_type_name(output->type)));
    for (int d = 0; d < output->rank; d++)
        json_array_append_new(shape, json_integer(output->dims[d]));
    json_object_set_new(object, "shape", shape);
    json_object_set_new(object, "single", make_metrics(&output->single));
    json_object_set_new(object, "entire", make_metrics(&output->entire));
    json_object_set_new(object, "introduced", make_metrics(&output->introduced));
    json_object_set_new(object, "carried", make_metrics(&output->carried));
    SET_FIGURES(range, &output->range, range_figures);
    json_object_set_new(object, "range", range);
    if (audit->sample_count > 1) {
        json_t *mean = json_object();
        json_object_set_new(mean, "single", make_metrics(&output->single_mean));
        json_object_set_new(mean, "entire", make_metrics(&output->entire_mean));
        json_object_set_new(mean, "introduced", make_metrics(&output->introduced_mean));
        json_object_set_new(mean, "carried", make_metrics(&output->carried_mean));
        json_object_set_new(object, "mean_over_samples", mean);
        json_object_set_new(object, "worst_sample", make_text(audit->sample_names[output->worst_sample]));
    }
    return object;
}

static json_t *make_outputs(const struct ulp_audit *audit, const struct ulp_audit_node *node)
{
    json_t *array = json_array();
    for (size_t o = 0; o < node->output_count; o++)
        json_array_append_new(array, make_output(audit, &node->outputs[o]));
    return array;
}

static json_t *make_lane(const struct ulp_audit *audit, const struct ulp_audit_lane *lane)
{
    json_t *object = json_object(), *nodes = json_array(), *meaning = json_array();
    char text[4096];
    ulp_arithmetic_describe(&lane->arithmetic, text, sizeof text);
    for (char *line = text, *end; *line; line = end) {
        for (end = line; *end && *end != '\n'; end++)
            ;
        json_array_append_new(meaning, json_stringn(line, (size_t)(end - line)));
        end += *end == '\n';
    }
    json_object_set_new(object, "name", make_text(lane->arithmetic.name));
    json_object_set_new(object, "meaning", meaning);
    json_object_set_new(object, "first_nonfinite",
                        lane->first_born < 0 ? json_null() : make_text(lane->nodes[lane->first_born].name));
    json_object_set_new(object, "first_diverged",
                        lane->first_decided < 0 ? json_null() : make_text(lane->nodes[lane->first_decided].name));
    if (lane->parting.other >= 0) {
        const struct ulp_parting *parting = &lane->parting;
        json_t *parts = json_object();
        json_object_set_new(parts, "from", make_text(audit->lanes[parting->other].arithmetic.name));
        json_object_set_new(parts, "first", parting->first < 0 ? json_null() : make_text(lane->nodes[parting->first].name));
        json_object_set_new(parts, "first_step", parting->first_step < 0 ? json_null() : make_text(lane->nodes[parting->first_step].name));
        json_object_set_new(parts, "steps", json_integer((json_int_t)parting->steps));
        json_object_set_new(parts, "count", json_integer((json_int_t)parting->count));
        json_object_set_new(object, "parts", parts);
    }
    json_object_set_new(object, "poisoned_nodes", json_integer((json_int_t)lane->poisoned_count));
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_audit_node *node = &lane->nodes[n];
        json_t *entry = json_object();
        json_object_set_new(entry, "index", json_integer((json_int_t)node->index));
        json_object_set_new(entry, "name", make_text(node->name));
        json_object_set_new(entry, "op", make_text(node->op));
        if (node->types.product) {
            json_object_set_new(entry, "weight_type",
                                node->types.weight == ULP_TYPE_UNDEFINED ? json_null() : make_text(ulp_type_name(node->types.weight)));
            json_object_set_new(entry, "compute_type", make_text(node->types.compute));
        }
        if (node->born)
            json_object_set_new(entry, "nonfinite_born", json_true());
        if (node->poisoned)
            json_object_set_new(entry, "nonfinite_poisoned", json_true());
        json_object_set_new(entry, "outputs", make_outputs(audit, node));
        json_array_append_new(nodes, entry);
    }
    json_object_set_new(object, "nodes", nodes);
    json_object_set_new(object, "outputs", make_outputs(audit, &lane->outputs));
    return object;
}

static json_t *make_reference(const struct ulp_audit *audit)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", make_text(audit->reference));
    if (audit->certificate.given) {
        json_t *certificate = json_object();
        json_object_set_new(certificate, "output_digits", make_number(audit->certificate.output_digits));
        json_object_set_new(certificate, "node_digits", make_number(audit->certificate.node_digits));
        json_object_set_new(certificate, "worst_node", audit->certificate.node ? make_text(audit->certificate.node) : json_null());
        json_object_set_new(object, "certificate", certificate);
    } else {
        json_object_set_new(object, "certificate", json_null());
    }
    return object;
}

static json_t *make_spreads(const struct ulp_spreads *spreads)
{
    json_t *object = json_object(), *schedules = json_array(), *nodes = json_array();
    json_object_set_new(object, "base", make_text(spreads->base));
    for (size_t s = 0; s < spreads->schedule_count; s++)
        json_array_append_new(schedules, make_text(spreads->schedules[s]));
    json_object_set_new(object, "schedules", schedules);
    json_object_set_new(object, "other_gpu", spreads->other_gpu < 0 ? json_null() : make_text(spreads->schedules[spreads->other_gpu]));
    for (size_t i = 0; i < spreads->count; i++) {
        const struct ulp_spread *spread = &spreads->items[i];
        json_t *node = json_object();
        json_object_set_new(node, "index", json_integer((json_int_t)spread->index));
        json_object_set_new(node, "name", make_text(spread->name));
        json_object_set_new(node, "op", make_text(spread->op));
        json_object_set_new(node, "output", make_text(spread->output));
        SET_FIGURES(node, spread, spread_figures);
        json_object_set_new(node, "nonfinite", json_integer((json_int_t)spread->nonfinite));
        json_array_append_new(nodes, node);
    }
    json_object_set_new(object, "nodes", nodes);
    return object;
}

/* A piece of the text as jansson writes it. */
static int add_text(const char *piece, size_t size, void *out)
{
    ulp_text_add(out, "%.*s", (int)size, piece);
    return ((const struct ulp_text *)out)->failed ? -1 : 0;
}

enum ulp_status ulp_report_json(const struct ulp_audit *audit, struct ulp_text *out, struct ulp_error *error)
{
    json_t *root = json_object(), *model = json_object(), *samples = json_array(), *lanes = json_array();
    json_object_set_new(root, "schema", json_integer(SCHEMA_VERSION));
    json_object_set_new(root, "ulpscope", json_string(ulp_version()));
    json_object_set_new(model, "path", make_text(audit->model_path));
    json_object_set_new(model, "ir_version", json_integer(audit->ir_version));
    json_object_set_new(model, "opset", json_integer(audit->opset));
    json_object_set_new(root, "model", model);
    json_object_set_new(root, "reference", make_reference(audit));
    for (size_t s = 0; s < audit->sample_count; s++)
        json_array_append_new(samples, make_text(audit->sample_names[s]));
    json_object_set_new(root, "samples", samples);
    json_object_set_new(root, "seconds", make_number(audit->seconds));
    json_object_set_new(root, "peak_tensor_bytes", json_integer((json_int_t)audit->peak_bytes));
    for (size_t l = 0; l < audit->lane_count; l++)
        json_array_append_new(lanes, make_lane(audit, &audit->lanes[l]));
    json_object_set_new(root, "arithmetics", lanes);
    if (audit->spread_count) {
        json_t *spreads = json_array();
        for (size_t i = 0; i < audit->spread_count; i++)
            json_array_append_new(spreads, make_spreads(&audit->spreads[i]));
        json_object_set_new(root, "schedules", spreads);
    }
    int failed = json_dump_callback(root, add_text, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    json_decref(root);
    if (failed || out->failed)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for report.json");
    ulp_text_add(out, "\n");
    return ULP_OK;
}
