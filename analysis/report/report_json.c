/* report.json, schema in doc/report.md. JSON has no NaN or infinity: such a figure is null.
 *
 * The document is written as it is made: no more than one node's part of it is in memory. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope.h>

#include "base/error.h"
#include "analysis/audit/audit_overflow.h"
#include "analysis/measure/figure.h"
#include "analysis/report/json_node.h"
#include "analysis/writing/json_writer.h"
#include "analysis/report/report.h"
#include "analysis/timings/timings.h"

#define SCHEMA_VERSION 1
#define SET(object, values, NAME) ulp_json_set(object, #NAME, ulp_json_number((values)->NAME))

/* The node's name; null for none. */
static json_t *make_node_name(const struct ulp_audit_lane *lane, ptrdiff_t node)
{
    return node < 0 ? json_null() : ulp_json_text(lane->nodes[node].name);
}

json_t *ulp_json_verdict(const struct ulp_audit *audit, const struct ulp_audit_lane *lane)
{
    struct ulp_text text = {0};
    ulp_report_verdict(audit, lane, &text);
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

static json_t *make_format(const struct ulp_format *format)
{
    json_t *object = json_object();
    ulp_json_set(&object, "format", ulp_json_text(format->name));
    ulp_json_set(&object, "precision", json_integer(format->precision));
    ulp_json_set(&object, "emin", json_integer(format->emin));
    ulp_json_set(&object, "emax", json_integer(format->emax));
    ulp_json_set(&object, "largest", ulp_json_number(format->max_finite));
    return object;
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
static void put_kept(struct ulp_json_writer *writer, const struct ulp_audit_lane *lane)
{
    ulp_json_open(writer, "kept", '[');
    for (size_t k = 0; k < lane->kept_count; k++) {
        json_t *kept = json_object();
        json_int_t nodes = 0;
        for (size_t n = 0; n < lane->node_count; n++)
            nodes += lane->nodes[n].kept == (ptrdiff_t)k;
        ulp_json_set(&kept, "arithmetic", ulp_json_text(lane->kept[k].name));
        ulp_json_set(&kept, "meaning", make_meaning(&lane->kept[k]));
        ulp_json_set(&kept, "nodes", json_integer(nodes));
        ulp_json_put(writer, NULL, kept);
    }
    ulp_json_close(writer, ']');
    ulp_json_open(writer, "borders", '[');
    for (size_t b = 0; b < lane->border_count; b++)
        ulp_json_put(writer, NULL, make_border(lane, &lane->borders[b]));
    ulp_json_close(writer, ']');
}

/* What was kept in FP32 where the arithmetic overflows. */
static json_t *make_kept(const struct ulp_attribution *attribution)
{
    json_t *object = json_object(), *nodes = json_array();
    for (size_t i = 0; i < attribution->kept_count; i++)
        ulp_json_append(&nodes, json_integer((json_int_t)attribution->kept[i]));
    ulp_json_set(&object, "nodes", nodes);
    ulp_json_set(&object, "output",
                 attribution->kept_output ? ulp_json_text(attribution->kept_output) : json_null());
    ulp_json_set(&object, "sqnr_db", ulp_json_number(attribution->kept_sqnr_db));
    return object;
}

/* One of several outputs, with the nodes that have a share in its error. */
static json_t *make_output_shares(const struct ulp_output_shares *shares, size_t node_count)
{
    json_t *object = json_object(), *nodes = json_array();
    ulp_json_set(&object, "output", ulp_json_text(shares->output));
    ulp_json_set(&object, "samples", json_integer((json_int_t)shares->sample_count));
    ulp_json_set(&object, "sum", ulp_json_number(shares->sum));
    ulp_json_set(&object, "inputs", ulp_json_number(shares->inputs));
    ulp_json_set(&object, "decisions", ulp_json_number(shares->decisions));
    for (size_t n = 0; n < node_count; n++) {
        json_t *entry;
        if (shares->nodes[n].share == 0 && shares->nodes[n].decision == 0)
            continue;
        entry = json_object();
        ulp_json_set(&entry, "node", json_integer((json_int_t)n));
        ulp_json_set(&entry, "share", ulp_json_number(shares->nodes[n].share));
        if (shares->nodes[n].decision != 0)
            ulp_json_set(&entry, "decision", ulp_json_number(shares->nodes[n].decision));
        ulp_json_append(&nodes, entry);
    }
    ulp_json_set(&object, "shares", nodes);
    return object;
}

/* Null where it was asked for and there is none: the reason is beside it. */
static json_t *make_attribution(const struct ulp_audit_lane *lane)
{
    const struct ulp_attribution *attribution = &lane->attribution;
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
    json_t *outputs = attribution->output_count ? json_array() : NULL;
    for (size_t o = 0; o < attribution->output_count; o++)
        if (attribution->outputs[o].sample_count)
            ulp_json_append(&outputs,
                            make_output_shares(&attribution->outputs[o], lane->node_count));
    if (attribution->output_count)
        ulp_json_set(&object, "outputs", outputs);
    json_t *groups = attribution->group_count ? json_array() : NULL;
    for (size_t i = 0; i < attribution->group_count; i++) {
        json_t *entry = json_object();
        ulp_json_set(&entry, "group", ulp_json_text(attribution->groups[i].name));
        ulp_json_set(&entry, "share", ulp_json_number(attribution->groups[i].share));
        ulp_json_set(&entry, "nodes", json_integer((json_int_t)attribution->groups[i].node_count));
        ulp_json_append(&groups, entry);
    }
    if (attribution->group_count)
        ulp_json_set(&object, "groups", groups);
    if (attribution->kept_count)
        ulp_json_set(&object, "kept", make_kept(attribution));
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
    if (attribution->verified_output)
        ulp_json_set(&object, "verified_output", ulp_json_text(attribution->verified_output));
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
static void put_overflows(struct ulp_json_writer *writer, const struct ulp_audit_lane *lane)
{
    ulp_json_open(writer, "constants", '[');
    for (size_t c = 0; c < lane->constant_count; c++)
        ulp_json_put(writer, NULL, make_constant(lane, &lane->constants[c]));
    ulp_json_close(writer, ']');
    ulp_json_open(writer, "overflows", '[');
    for (size_t i = 0; i < lane->overflow_count; i++)
        if (lane->overflows[i].joins < 0)
            ulp_json_put(writer, NULL, make_overflow(lane, &lane->overflows[i]));
    ulp_json_close(writer, ']');
}

static void put_lane(struct ulp_json_writer *writer, const struct ulp_audit *audit,
                     const struct ulp_audit_lane *lane)
{
    ulp_json_open(writer, NULL, '{');
    ulp_json_put(writer, "name", ulp_json_text(lane->name));
    ulp_json_put(writer, "verdict", ulp_json_verdict(audit, lane));
    ulp_json_put(writer, "meaning", make_meaning(&lane->arithmetic));
    ulp_json_put(writer, "storage", make_format(&lane->arithmetic.storage));
    if (lane->kept_count)
        put_kept(writer, lane);
    put_overflows(writer, lane);
    ulp_json_put(writer, "first_nonfinite", make_node_name(lane, lane->first_born));
    ulp_json_put(writer, "first_diverged", make_node_name(lane, lane->first_decided));
    if (lane->qdq_divergence.other >= 0)
        ulp_json_put(writer, "qdq_divergence", make_qdq_divergence(audit, lane));
    if (lane->attribution.given || lane->attribution.reason)
        ulp_json_put(writer, "attribution", make_attribution(lane));
    ulp_json_put(writer, "poisoned_nodes", json_integer((json_int_t)lane->poisoned_count));
    ulp_json_open(writer, "nodes", '[');
    for (size_t n = 0; n < lane->node_count; n++)
        ulp_json_put(writer, NULL, ulp_json_node(audit, lane, &lane->nodes[n]));
    ulp_json_close(writer, ']');
    ulp_json_put(writer, "outputs", ulp_json_outputs(audit, lane, &lane->outputs));
    ulp_json_close(writer, '}');
}

/* Those of --fail-above, and what crosses them. */
static void put_limits(struct ulp_json_writer *writer, const struct ulp_audit *audit)
{
    ulp_json_open(writer, "limits", '[');
    for (size_t i = 0; i < audit->limit_count; i++) {
        const struct ulp_audit_limit *limit = &audit->limits[i];
        json_t *object = json_object(), *crossings = json_array();
        ulp_json_set(&object, "limit", ulp_json_text(limit->limit));
        for (size_t c = 0; c < limit->crossing_count; c++) {
            const struct ulp_audit_crossing *crossing = &limit->crossings[c];
            json_t *entry = json_object();
            ulp_json_set(&entry, "arithmetic",
                         crossing->arithmetic ? ulp_json_text(crossing->arithmetic) : json_null());
            ulp_json_set(&entry, "output",
                         crossing->output ? ulp_json_text(crossing->output) : json_null());
            ulp_json_set(&entry, "text", ulp_json_text(crossing->text));
            ulp_json_append(&crossings, entry);
        }
        ulp_json_set(&object, "crossings", crossings);
        ulp_json_put(writer, NULL, object);
    }
    ulp_json_close(writer, ']');
}

static json_t *make_quick(const struct ulp_audit *audit)
{
    const struct ulp_quick_check *quick = &audit->quick;
    json_t *object = json_object();
    ulp_json_set(&object, "exact_nodes", json_integer((json_int_t)quick->exact));
    ulp_json_set(&object, "sampled_nodes", json_integer((json_int_t)quick->sampled));
    ulp_json_set(&object, "whole_nodes", json_integer((json_int_t)quick->whole));
    ulp_json_set(&object, "unjudged_nodes", json_integer((json_int_t)quick->unjudged));
    ulp_json_set(&object, "elements", json_integer((json_int_t)quick->elements));
    ulp_json_set(&object, "worst_ratio", ulp_json_number(quick->worst_ratio));
    ulp_json_set(&object, "worst_node", make_node_name(&audit->lanes[0], quick->worst_node));
    ulp_json_set(&object, "doubtful_nodes", json_integer((json_int_t)quick->doubtful));
    return object;
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
    if (audit->quick.given)
        ulp_json_set(&object, "quick", make_quick(audit));
    return object;
}

static json_t *make_spread(const struct ulp_spread *spread)
{
    json_t *node = json_object();
    ulp_json_set(&node, "index", json_integer((json_int_t)spread->index));
    ulp_json_set(&node, "name", ulp_json_text(spread->name));
    ulp_json_set(&node, "op", ulp_json_text(spread->op));
    ulp_json_set(&node, "output", ulp_json_text(spread->output));
    SET(&node, spread, ref_rms);
    SET(&node, spread, width_max_abs);
    SET(&node, spread, width_rms);
    SET(&node, spread, width_max_ulp);
    SET(&node, spread, differing);
    SET(&node, spread, error_rms);
    SET(&node, spread, gpu_rms);
    ulp_json_set(&node, "nonfinite", json_integer((json_int_t)spread->nonfinite));
    return node;
}

static void put_spreads(struct ulp_json_writer *writer, const struct ulp_spreads *spreads)
{
    ulp_json_open(writer, NULL, '{');
    ulp_json_put(writer, "base", ulp_json_text(spreads->base));
    ulp_json_open(writer, "schedules", '[');
    for (size_t s = 0; s < spreads->schedule_count; s++)
        ulp_json_put(writer, NULL, ulp_json_text(spreads->schedules[s]));
    ulp_json_close(writer, ']');
    ulp_json_put(writer, "other_gpu",
                 spreads->other_gpu < 0 ? json_null()
                                        : ulp_json_text(spreads->schedules[spreads->other_gpu]));
    ulp_json_open(writer, "nodes", '[');
    for (size_t i = 0; i < spreads->count; i++)
        ulp_json_put(writer, NULL, make_spread(&spreads->items[i]));
    ulp_json_close(writer, ']');
    ulp_json_close(writer, '}');
}

static void put_nonfinite_inputs(struct ulp_json_writer *writer, const struct ulp_audit *audit)
{
    ulp_json_open(writer, "nonfinite_inputs", '[');
    for (size_t i = 0; i < audit->nonfinite_input_count; i++) {
        const struct ulp_audit_input *input = &audit->nonfinite_inputs[i];
        ulp_json_open(writer, NULL, '{');
        ulp_json_put(writer, "input", ulp_json_text(input->name));
        ulp_json_put(writer, "sample", json_integer((json_int_t)input->sample));
        ulp_json_put(writer, "count", json_integer((json_int_t)input->count));
        ulp_json_close(writer, '}');
    }
    ulp_json_close(writer, ']');
}

enum ulp_status ulp_report_json(const struct ulp_audit *audit, struct ulp_text *out,
                                struct ulp_error *error)
{
    struct ulp_json_writer writer = {.out = out};
    ulp_json_open(&writer, NULL, '{');
    ulp_json_put(&writer, "schema", json_integer(SCHEMA_VERSION));
    ulp_json_put(&writer, "ulpscope", json_string(ulp_version()));
    ulp_json_open(&writer, "model", '{');
    ulp_json_put(&writer, "path", ulp_json_text(audit->model_path));
    ulp_json_put(&writer, "ir_version", json_integer(audit->ir_version));
    ulp_json_put(&writer, "opset", json_integer(audit->opset));
    ulp_json_close(&writer, '}');
    ulp_json_put(&writer, "reference", make_reference(audit));
    if (audit->reference_model) {
        ulp_json_open(&writer, "reference_model", '{');
        ulp_json_put(&writer, "path", ulp_json_text(audit->reference_model));
        ulp_json_put(&writer, "paired", json_integer((json_int_t)audit->paired_count));
        ulp_json_put(&writer, "unpaired", json_integer((json_int_t)audit->unpaired_count));
        ulp_json_close(&writer, '}');
    }
    ulp_json_open(&writer, "samples", '[');
    for (size_t s = 0; s < audit->sample_count; s++)
        ulp_json_put(&writer, NULL, ulp_json_text(audit->sample_names[s]));
    ulp_json_close(&writer, ']');
    put_nonfinite_inputs(&writer, audit);
    if (audit->limit_count)
        put_limits(&writer, audit);
    ulp_json_put(&writer, "seconds", ulp_json_number(audit->seconds));
    ulp_json_put(&writer, "peak_tensor_bytes", json_integer((json_int_t)audit->peak_bytes));
    if (audit->timings)
        ulp_json_put(&writer, "timings", ulp_timings_json(audit->timings));
    ulp_json_open(&writer, "arithmetics", '[');
    for (size_t l = 0; l < audit->lane_count; l++)
        put_lane(&writer, audit, &audit->lanes[l]);
    ulp_json_close(&writer, ']');
    ulp_json_open(&writer, "graph", '[');
    for (size_t n = 0; n < audit->place_count; n++)
        ulp_json_put(&writer, NULL, ulp_json_place(&audit->places[n]));
    ulp_json_close(&writer, ']');
    if (audit->spread_count) {
        ulp_json_open(&writer, "schedules", '[');
        for (size_t i = 0; i < audit->spread_count; i++)
            put_spreads(&writer, &audit->spreads[i]);
        ulp_json_close(&writer, ']');
    }
    ulp_json_close(&writer, '}');
    ulp_text_add(out, "\n");
    return writer.failed && !out->failed ? ulp_out_of_memory(error) : ULP_OK;
}
