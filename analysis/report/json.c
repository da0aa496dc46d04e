/* report.json, schema in doc/report.md. JSON has no NaN or infinity: such a figure is null.
 *
 * The document is written as it is made: no more than one node's part of it is in memory. */
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope.h>

#include "base/error.h"
#include "analysis/audit/overflow.h"
#include "analysis/measure/figure.h"
#include "analysis/report/json_value.h"
#include "analysis/report/report.h"

#define SCHEMA_VERSION 1

/* What is open: the writer stands in an object or array at that depth. */
struct writer {
    struct ulp_text *out;
    int depth;
    bool empty;  /* nothing is in it yet */
    bool failed; /* out of memory */
};

/* A new line, and the key when it is in an object. */
static void start_value(struct writer *writer, const char *key)
{
    if (writer->depth)
        ulp_text_add(writer->out, "%s\n%*s", writer->empty ? "" : ",", writer->depth, "");
    if (key)
        ulp_text_add(writer->out, "\"%s\": ", key);
    writer->empty = false;
}

static void open_value(struct writer *writer, const char *key, char bracket)
{
    start_value(writer, key);
    ulp_text_add(writer->out, "%c", bracket);
    writer->depth++;
    writer->empty = true;
}

static void close_value(struct writer *writer, char bracket)
{
    writer->depth--;
    if (!writer->empty)
        ulp_text_add(writer->out, "\n%*s", writer->depth, "");
    ulp_text_add(writer->out, "%c", bracket);
    writer->empty = false;
}

/* A piece of the text as jansson writes it, moved in to the writer's depth: jansson writes line
 * ends only between values. */
static int add_piece(const char *piece, size_t size, void *context)
{
    const struct writer *writer = context;
    for (const char *end = piece + size, *line; piece < end; piece = line) {
        const char *newline = memchr(piece, '\n', (size_t)(end - piece));
        line = newline ? newline + 1 : end;
        ulp_text_put(writer->out, piece, (size_t)(line - piece));
        for (int i = 0; newline && i < writer->depth; i++)
            ulp_text_put(writer->out, " ", 1);
    }
    return writer->out->failed ? -1 : 0;
}

/* Write a value and free it. */
static void put(struct writer *writer, const char *key, json_t *value)
{
    start_value(writer, key);
    if (!value || json_dump_callback(value, add_piece, writer,
                                     JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_ENCODE_ANY) != 0)
        writer->failed = true;
    json_decref(value);
}

/* The figures of a struct, by name. */
struct figure {
    const char *name;
    size_t offset; /* of a double */
};

static void set_figures(json_t **object, const void *values, size_t count,
                        const struct figure *figures)
{
    for (size_t i = 0; i < count; i++)
        ulp_json_set(object, figures[i].name,
                     ulp_json_number(*(const double *)(const void *)((const char *)values +
                                                                     figures[i].offset)));
}

#define SET_FIGURES(object, values, figures) \
    set_figures(object, values, sizeof(figures) / sizeof *(figures), figures)
#define RANGE(NAME)                             \
    {                                           \
#NAME, offsetof(struct ulp_range, NAME) \
    }
#define SPREAD(NAME)                             \
    {                                            \
#NAME, offsetof(struct ulp_spread, NAME) \
    }

static const struct figure range_figures[] = {RANGE(ref_rms), RANGE(ref_max),
                                              RANGE(ref_min_nonzero), RANGE(headroom_bits)};
static const struct figure spread_figures[] = {SPREAD(ref_rms),   SPREAD(width_max_abs),
                                               SPREAD(width_rms), SPREAD(width_max_ulp),
                                               SPREAD(differing), SPREAD(error_rms),
                                               SPREAD(gpu_rms)};

static json_t *make_metrics(const struct ulp_metrics *m)
{
    json_t *object = json_object();
    for (int f = 0; f < ULP_FIGURE_COUNT; f++)
        ulp_json_set(&object, ulp_figure_rows[f].name, ulp_json_number(ulp_figure_get(m, f)));
    ulp_json_set(&object, "nonfinite", json_integer((json_int_t)m->nonfinite));
    ulp_json_set(&object, "worst_index", json_integer((json_int_t)m->worst_index));
    if (m->count && m->rms == 0 && !m->nonfinite && !m->diverged)
        ulp_json_set(&object, "exact", json_true()); /* sqnr_db is infinite: null */
    if (m->diverged)
        ulp_json_set(&object, "diverged", json_true());
    return object;
}

static json_t *make_divergence(const struct ulp_divergence *divergence)
{
    json_t *object = json_object(), *matched = json_object();
    if (divergence->reshaped)
        ulp_json_set(&object, "reshaped", json_true());
    if (divergence->count) {
        ulp_json_set(&object, "differing", json_integer((json_int_t)divergence->differing));
        ulp_json_set(&object, "count", json_integer((json_int_t)divergence->count));
        ulp_json_set(&object, "first",
                     divergence->differing ? json_integer((json_int_t)divergence->first)
                                           : json_null());
    }
    if (!isnan(divergence->margin)) {
        ulp_json_set(&object, "margin", ulp_json_number(divergence->margin));
        ulp_json_set(&object, "margin_error", ulp_json_number(divergence->margin_error));
    }
    if (divergence->followed.given)
        ulp_json_set(&object, "followed", make_metrics(&divergence->followed.metrics));
    ulp_json_set(&matched, "rms", ulp_json_number(divergence->matched.rms));
    ulp_json_set(&matched, "max_abs", ulp_json_number(divergence->matched.max_abs));
    ulp_json_set(&matched, "rows", json_integer((json_int_t)divergence->matched.rows));
    ulp_json_set(&matched, "moved", json_integer((json_int_t)divergence->matched.moved));
    ulp_json_set(&matched, "differing", json_integer((json_int_t)divergence->matched.differing));
    if (divergence->matched.given)
        ulp_json_set(&object, "matched", matched);
    else
        json_decref(matched);
    return object;
}

static json_t *make_output(const struct ulp_audit *audit, const struct ulp_audit_output *output)
{
    json_t *object = json_object(), *shape = json_array(), *range = json_object();
    ulp_json_set(&object, "name", ulp_json_text(output->name));
    ulp_json_set(&object, "type", json_string(ulp_type_name(output->type)));
    for (int d = 0; d < output->rank; d++)
        ulp_json_append(&shape, json_integer(output->dims[d]));
    ulp_json_set(&object, "shape", shape);
    if (output->unpaired)
        ulp_json_set(&object, "unpaired", json_true());
    for (int v = 0; v < ULP_VIEW_COUNT; v++)
        ulp_json_set(&object, ulp_view_names[v], make_metrics(ulp_view_get(output, v)));
    if (output->divergence)
        ulp_json_set(&object, "divergence", make_divergence(output->divergence));
    SET_FIGURES(&range, &output->range, range_figures);
    ulp_json_set(&object, "range", range);
    if (audit->sample_count > 1) {
        json_t *mean = json_object();
        for (int v = 0; v < ULP_VIEW_COUNT; v++)
            ulp_json_set(&mean, ulp_view_names[v], make_metrics(ulp_view_mean_get(output, v)));
        ulp_json_set(&object, "mean_over_samples", mean);
        ulp_json_set(&object, "worst_sample",
                     ulp_json_text(audit->sample_names[output->worst_sample]));
    }
    return object;
}

static json_t *make_outputs(const struct ulp_audit *audit, const struct ulp_audit_node *node)
{
    json_t *array = json_array();
    for (size_t o = 0; o < node->output_count; o++)
        ulp_json_append(&array, make_output(audit, &node->outputs[o]));
    return array;
}

static json_t *make_node(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                         const struct ulp_audit_node *node)
{
    json_t *entry = json_object();
    ulp_json_set(&entry, "index", json_integer((json_int_t)node->index));
    ulp_json_set(&entry, "name", ulp_json_text(node->name));
    ulp_json_set(&entry, "op", ulp_json_text(node->op));
    if (node->kept >= 0)
        ulp_json_set(&entry, "arithmetic", ulp_json_text(lane->kept[node->kept].name));
    if (ulp_audit_is_absorbed(lane, node))
        ulp_json_set(&entry, "overflow_absorbed", json_true());
    if (node->types.product) {
        ulp_json_set(&entry, "weight_type",
                     node->types.weight == ULP_TYPE_UNDEFINED
                         ? json_null()
                         : ulp_json_text(ulp_type_name(node->types.weight)));
        ulp_json_set(&entry, "compute_type", ulp_json_text(node->types.compute));
    }
    if (node->executions != audit->sample_count)
        ulp_json_set(&entry, "executions", json_integer((json_int_t)node->executions));
    if (node->born)
        ulp_json_set(&entry, "nonfinite_born", json_true());
    if (node->poisoned)
        ulp_json_set(&entry, "nonfinite_poisoned", json_true());
    if (isfinite(node->grew))
        ulp_json_set(&entry, "grew", ulp_json_number(node->grew));
    if (lane->attribution.given) {
        ulp_json_set(&entry, "share", ulp_json_number(node->share));
        ulp_json_set(&entry, "gain", ulp_json_number(node->gain));
        ulp_json_set(&entry, "condition", ulp_json_number(node->condition));
        if (lane->attribution.sample_count > 1)
            ulp_json_set(&entry, "share_worst", ulp_json_number(node->share_worst));
        if (node->decision != 0)
            ulp_json_set(&entry, "decision", ulp_json_number(node->decision));
        if (node->stops)
            ulp_json_set(&entry, "derivative_stops", json_true());
    }
    ulp_json_set(&entry, "outputs", make_outputs(audit, node));
    return entry;
}

/* The node's name; null for none. */
static json_t *make_node_name(const struct ulp_audit_lane *lane, ptrdiff_t node)
{
    return node < 0 ? json_null() : ulp_json_text(lane->nodes[node].name);
}

static json_t *make_verdict(const struct ulp_audit_lane *lane)
{
    struct ulp_text text = {0};
    ulp_report_verdict(lane, &text);
    struct ulp_text hint = {0};
    ulp_report_hint(lane, &hint);
    if (hint.length)
        ulp_text_add(&text, ". %s", hint.data);
    text.failed |= hint.failed;
    ulp_text_free(&hint);
    json_t *verdict = text.failed ? NULL : ulp_json_text(text.data ? text.data : "");
    ulp_text_free(&text);
    return verdict;
}

static json_t *make_meaning(const struct ulp_arithmetic *arithmetic)
{
    json_t *meaning = json_array();
    char text[4096];
    ulp_arithmetic_describe(arithmetic, text, sizeof text);
    for (char *line = text, *end; *line; line = end) {
        for (end = line; *end && *end != '\n'; end++)
            ;
        ulp_json_append(&meaning, json_stringn(line, (size_t)(end - line)));
        end += *end == '\n';
    }
    return meaning;
}

static json_t *make_qdq_divergence(const struct ulp_audit *audit, const struct ulp_audit_lane *lane)
{
    const struct ulp_qdq_divergence *divergence = &lane->qdq_divergence;
    json_t *object = json_object();
    ulp_json_set(&object, "from", ulp_json_text(audit->lanes[divergence->other].name));
    ulp_json_set(&object, "first", make_node_name(lane, divergence->first));
    ulp_json_set(&object, "first_step", make_node_name(lane, divergence->first_step));
    ulp_json_set(&object, "steps", json_integer((json_int_t)divergence->steps));
    ulp_json_set(&object, "count", json_integer((json_int_t)divergence->count));
    return object;
}

static json_t *make_border(const struct ulp_audit_lane *lane, const struct ulp_audit_border *border)
{
    json_t *object = json_object();
    ulp_json_set(&object, "value", ulp_json_text(border->value));
    ulp_json_set(&object, "producer", ulp_json_text(lane->nodes[border->producer].name));
    ulp_json_set(&object, "from", ulp_json_text(border->from));
    ulp_json_set(&object, "to", ulp_json_text(border->to));
    ulp_json_set(&object, "readers", json_integer((json_int_t)border->reader_count));
    ulp_json_set(&object, "first_reader", ulp_json_text(lane->nodes[border->first_reader].name));
    ulp_json_set(&object, "elements",
                 border->elements ? json_integer((json_int_t)border->elements) : json_null());
    return object;
}

/* Of a lane whose nodes differ: how many are kept in what, and the borders. */
static void put_kept(struct writer *writer, const struct ulp_audit_lane *lane)
{
    open_value(writer, "kept", '[');
    for (size_t k = 0; k < lane->kept_count; k++) {
        json_t *kept = json_object();
        json_int_t nodes = 0;
        for (size_t n = 0; n < lane->node_count; n++)
            nodes += lane->nodes[n].kept == (ptrdiff_t)k;
        ulp_json_set(&kept, "arithmetic", ulp_json_text(lane->kept[k].name));
        ulp_json_set(&kept, "meaning", make_meaning(&lane->kept[k]));
        ulp_json_set(&kept, "nodes", json_integer(nodes));
        put(writer, NULL, kept);
    }
    close_value(writer, ']');
    open_value(writer, "borders", '[');
    for (size_t b = 0; b < lane->border_count; b++)
        put(writer, NULL, make_border(lane, &lane->borders[b]));
    close_value(writer, ']');
}

/* Null where it was asked for and there is none: the reason is beside it. */
static json_t *make_attribution(const struct ulp_attribution *attribution)
{
    json_t *object = json_object();
    ulp_json_set(&object, "output",
                 attribution->output ? ulp_json_text(attribution->output) : json_null());
    if (!attribution->given) {
        ulp_json_set(&object, "reason", ulp_json_text(attribution->reason));
        return object;
    }
    ulp_json_set(&object, "sum", ulp_json_number(attribution->sum));
    ulp_json_set(&object, "residual", ulp_json_number(attribution->residual));
    ulp_json_set(&object, "inputs", ulp_json_number(attribution->inputs));
    ulp_json_set(&object, "decisions", ulp_json_number(attribution->decisions));
    ulp_json_set(&object, "samples", json_integer((json_int_t)attribution->sample_count));
    if (attribution->sample_count > 1)
        ulp_json_set(&object, "residual_worst", ulp_json_number(attribution->worst));
    json_t *groups = attribution->group_count ? json_array() : NULL;
    for (size_t i = 0; i < attribution->group_count; i++) {
        json_t *entry = json_object();
        ulp_json_set(&entry, "group", ulp_json_text(attribution->groups[i].name));
        ulp_json_set(&entry, "share", ulp_json_number(attribution->groups[i].share));
        ulp_json_set(&entry, "nodes", json_integer((json_int_t)attribution->groups[i].node_count));
        ulp_json_append(&groups, entry);
    }
    if (groups)
        ulp_json_set(&object, "groups", groups);
    json_t *verified = attribution->verified_count ? json_array() : NULL;
    for (size_t i = 0; i < attribution->verified_count; i++) {
        json_t *entry = json_object();
        ulp_json_set(&entry, "node", json_integer((json_int_t)attribution->verified[i].node));
        ulp_json_set(&entry, "share", ulp_json_number(attribution->verified[i].share));
        ulp_json_set(&entry, "held", ulp_json_number(attribution->verified[i].held));
        ulp_json_set(&entry, "gain", ulp_json_number(attribution->verified[i].gain));
        ulp_json_set(&entry, "kept", ulp_json_number(attribution->verified[i].kept));
        ulp_json_append(&verified, entry);
    }
    if (attribution->verified_count)
        ulp_json_set(&object, "verified", verified);
    return object;
}

static json_t *make_constant(const struct ulp_audit_lane *lane,
                             const struct ulp_audit_constant *constant)
{
    json_t *object = json_object();
    ulp_json_set(&object, "name", ulp_json_text(constant->name));
    ulp_json_set(&object, "arithmetic", ulp_json_text(constant->in));
    ulp_json_set(&object, "elements", json_integer((json_int_t)constant->elements));
    ulp_json_set(&object, "overflowed", json_integer((json_int_t)constant->overflowed));
    ulp_json_set(&object, "underflowed", json_integer((json_int_t)constant->underflowed));
    ulp_json_set(&object, "largest", ulp_json_number(constant->largest));
    ulp_json_set(&object, "first_reader", ulp_json_text(lane->nodes[constant->first_reader].name));
    ulp_json_set(&object, "readers", json_integer((json_int_t)constant->reader_count));
    return object;
}

static json_t *make_overflow(const struct ulp_audit_lane *lane,
                             const struct ulp_audit_overflow *overflow)
{
    const char *fate = overflow->reaches_output     ? "reaches output"
                       : overflow->spoils >= 0      ? "spoils"
                       : overflow->absorbed_by >= 0 ? "absorbed"
                                                    : "unused";
    json_t *object = json_object();
    ulp_json_set(&object, "node", ulp_json_text(lane->nodes[overflow->node].name));
    ulp_json_set(&object, "constant",
                 overflow->constant >= 0 ? ulp_json_text(lane->constants[overflow->constant].name)
                                         : json_null());
    ulp_json_set(&object, "fate", json_string(fate));
    ulp_json_set(&object, "absorbed_by", make_node_name(lane, overflow->absorbed_by));
    ulp_json_set(&object, "absorbers", json_integer((json_int_t)overflow->absorber_count));
    ulp_json_set(&object, "spoils", make_node_name(lane, overflow->spoils));
    return object;
}

/* Constants that the storage cannot hold, and where values beyond it begin and end. */
static void put_overflows(struct writer *writer, const struct ulp_audit_lane *lane)
{
    open_value(writer, "constants", '[');
    for (size_t c = 0; c < lane->constant_count; c++)
        put(writer, NULL, make_constant(lane, &lane->constants[c]));
    close_value(writer, ']');
    open_value(writer, "overflows", '[');
    for (size_t i = 0; i < lane->overflow_count; i++)
        if (lane->overflows[i].joins < 0)
            put(writer, NULL, make_overflow(lane, &lane->overflows[i]));
    close_value(writer, ']');
}

static void put_lane(struct writer *writer, const struct ulp_audit *audit,
                     const struct ulp_audit_lane *lane)
{
    open_value(writer, NULL, '{');
    put(writer, "name", ulp_json_text(lane->name));
    put(writer, "verdict", make_verdict(lane));
    put(writer, "meaning", make_meaning(&lane->arithmetic));
    if (lane->kept_count)
        put_kept(writer, lane);
    put_overflows(writer, lane);
    put(writer, "first_nonfinite", make_node_name(lane, lane->first_born));
    put(writer, "first_diverged", make_node_name(lane, lane->first_decided));
    if (lane->qdq_divergence.other >= 0)
        put(writer, "qdq_divergence", make_qdq_divergence(audit, lane));
    if (lane->attribution.given || lane->attribution.reason)
        put(writer, "attribution", make_attribution(&lane->attribution));
    put(writer, "poisoned_nodes", json_integer((json_int_t)lane->poisoned_count));
    open_value(writer, "nodes", '[');
    for (size_t n = 0; n < lane->node_count; n++)
        put(writer, NULL, make_node(audit, lane, &lane->nodes[n]));
    close_value(writer, ']');
    put(writer, "outputs", make_outputs(audit, &lane->outputs));
    close_value(writer, '}');
}

static json_t *make_reference(const struct ulp_audit *audit)
{
    json_t *object = json_object();
    ulp_json_set(&object, "name", ulp_json_text(audit->reference));
    if (audit->certificate.given) {
        json_t *certificate = json_object();
        ulp_json_set(&certificate, "output_digits",
                     ulp_json_number(audit->certificate.output_digits));
        ulp_json_set(&certificate, "node_digits", ulp_json_number(audit->certificate.node_digits));
        ulp_json_set(&certificate, "worst_node",
                     audit->certificate.node ? ulp_json_text(audit->certificate.node)
                                             : json_null());
        ulp_json_set(&object, "certificate", certificate);
    } else {
        ulp_json_set(&object, "certificate", json_null());
    }
    return object;
}

static json_t *make_spread(const struct ulp_spread *spread)
{
    json_t *node = json_object();
    ulp_json_set(&node, "index", json_integer((json_int_t)spread->index));
    ulp_json_set(&node, "name", ulp_json_text(spread->name));
    ulp_json_set(&node, "op", ulp_json_text(spread->op));
    ulp_json_set(&node, "output", ulp_json_text(spread->output));
    SET_FIGURES(&node, spread, spread_figures);
    ulp_json_set(&node, "nonfinite", json_integer((json_int_t)spread->nonfinite));
    return node;
}

static void put_spreads(struct writer *writer, const struct ulp_spreads *spreads)
{
    open_value(writer, NULL, '{');
    put(writer, "base", ulp_json_text(spreads->base));
    open_value(writer, "schedules", '[');
    for (size_t s = 0; s < spreads->schedule_count; s++)
        put(writer, NULL, ulp_json_text(spreads->schedules[s]));
    close_value(writer, ']');
    put(writer, "other_gpu",
        spreads->other_gpu < 0 ? json_null()
                               : ulp_json_text(spreads->schedules[spreads->other_gpu]));
    open_value(writer, "nodes", '[');
    for (size_t i = 0; i < spreads->count; i++)
        put(writer, NULL, make_spread(&spreads->items[i]));
    close_value(writer, ']');
    close_value(writer, '}');
}

static void put_nonfinite_inputs(struct writer *writer, const struct ulp_audit *audit)
{
    open_value(writer, "nonfinite_inputs", '[');
    for (size_t i = 0; i < audit->nonfinite_input_count; i++) {
        const struct ulp_audit_input *input = &audit->nonfinite_inputs[i];
        open_value(writer, NULL, '{');
        put(writer, "input", ulp_json_text(input->name));
        put(writer, "sample", json_integer((json_int_t)input->sample));
        put(writer, "count", json_integer((json_int_t)input->count));
        close_value(writer, '}');
    }
    close_value(writer, ']');
}

enum ulp_status ulp_report_json(const struct ulp_audit *audit, struct ulp_text *out,
                                struct ulp_error *error)
{
    struct writer writer = {.out = out};
    open_value(&writer, NULL, '{');
    put(&writer, "schema", json_integer(SCHEMA_VERSION));
    put(&writer, "ulpscope", json_string(ulp_version()));
    open_value(&writer, "model", '{');
    put(&writer, "path", ulp_json_text(audit->model_path));
    put(&writer, "ir_version", json_integer(audit->ir_version));
    put(&writer, "opset", json_integer(audit->opset));
    close_value(&writer, '}');
    put(&writer, "reference", make_reference(audit));
    if (audit->reference_model) {
        open_value(&writer, "reference_model", '{');
        put(&writer, "path", ulp_json_text(audit->reference_model));
        put(&writer, "paired", json_integer((json_int_t)audit->paired_count));
        put(&writer, "unpaired", json_integer((json_int_t)audit->unpaired_count));
        close_value(&writer, '}');
    }
    open_value(&writer, "samples", '[');
    for (size_t s = 0; s < audit->sample_count; s++)
        put(&writer, NULL, ulp_json_text(audit->sample_names[s]));
    close_value(&writer, ']');
    put_nonfinite_inputs(&writer, audit);
    put(&writer, "seconds", ulp_json_number(audit->seconds));
    put(&writer, "peak_tensor_bytes", json_integer((json_int_t)audit->peak_bytes));
    open_value(&writer, "arithmetics", '[');
    for (size_t l = 0; l < audit->lane_count; l++)
        put_lane(&writer, audit, &audit->lanes[l]);
    close_value(&writer, ']');
    if (audit->spread_count) {
        open_value(&writer, "schedules", '[');
        for (size_t i = 0; i < audit->spread_count; i++)
            put_spreads(&writer, &audit->spreads[i]);
        close_value(&writer, ']');
    }
    close_value(&writer, '}');
    ulp_text_add(out, "\n");
    return writer.failed && !out->failed
               ? ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for report.json")
               : ULP_OK;
}
