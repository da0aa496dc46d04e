/* overflow.json: its schema is in doc/overflow.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <ulpscope.h>

#include "analysis/html/html.h"
#include "analysis/audit/audit_json.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/folder.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/machine/file.h"

#define SCHEMA_VERSION 1

static json_t *make_count(double count)
{
    return json_integer((json_int_t)count);
}

static json_t *make_place(const struct ulp_overflow_output *output)
{
    json_t *place = json_object();
    ulp_json_set(&place, "sample", json_integer((json_int_t)output->sample));
    ulp_json_set(&place, "index", json_integer((json_int_t)output->index));
    return place;
}

static json_t *make_effect(const struct ulp_overflow_lane *lane,
                           const struct ulp_overflow_node *node)
{
    json_t *effect = json_object();
    ulp_json_set(&effect, "kind", json_string(ulp_overflow_effect_name(node->effect)));
    for (size_t n = 0; n < lane->node_count; n++)
        if (node->effect_node == (ptrdiff_t)lane->nodes[n].index)
            ulp_json_set(&effect, "node", ulp_json_text(lane->nodes[n].name));
    return effect;
}

static json_t *make_unseen(const struct ulp_extreme *unseen)
{
    if (!unseen->count)
        return json_null();
    json_t *json = json_object();
    ulp_json_set(&json, "samples", json_integer((json_int_t)unseen->count));
    ulp_json_set(&json, "chance", ulp_json_number(unseen->chance));
    ulp_json_set(&json, "low", ulp_json_number(unseen->low));
    ulp_json_set(&json, "high", ulp_json_number(unseen->high));
    ulp_json_set(&json, "location", ulp_json_number(unseen->location));
    ulp_json_set(&json, "scale", ulp_json_number(unseen->scale));
    ulp_json_set(&json, "shape", ulp_json_number(unseen->shape));
    return json;
}

static json_t *make_output(const struct ulp_overflow_lane *lane,
                           const struct ulp_overflow_node *node,
                           const struct ulp_overflow_output *output)
{
    const bool overflows = output->verdict == ULP_OVERFLOW_HAPPENS;
    json_t *json = json_object();
    ulp_json_set(&json, "name", ulp_json_text(output->name));
    ulp_json_set(&json, "format", json_string(output->format.name));
    ulp_json_set(&json, "verdict", json_string(ulp_overflow_verdict_name(output->verdict)));
    ulp_json_set(&json, "headroom_bits", ulp_json_number(output->headroom_bits));
    ulp_json_set(&json, "largest", ulp_json_number(output->largest));
    ulp_json_set(&json, "smallest", ulp_json_number(output->smallest));
    ulp_json_set(&json, "masked", json_boolean(output->masked));
    ulp_json_set(&json, "elements", make_count(output->count));
    ulp_json_set(&json, "overflowed", make_count(output->overflowed));
    ulp_json_set(&json, "subnormal", make_count(output->subnormal));
    ulp_json_set(&json, "zero", make_count(output->zero));
    ulp_json_set(&json, "cause",
                 overflows ? json_string(ulp_overflow_cause_name(output->cause)) : json_null());
    ulp_json_set(&json, "culprit", output->culprit ? ulp_json_text(output->culprit) : json_null());
    ulp_json_set(&json, "where", make_place(output));
    ulp_json_set(&json, "effect", overflows && node->born ? make_effect(lane, node) : json_null());
    ulp_json_set(&json, "unseen", make_unseen(&output->unseen));
    return json;
}

static json_t *make_inside(const struct ulp_overflow_inside *inside)
{
    json_t *json = json_object();
    ulp_json_set(&json, "format", json_string(inside->format.name));
    ulp_json_set(&json, "verdict", json_string(ulp_overflow_verdict_name(inside->verdict)));
    ulp_json_set(&json, "headroom_bits", ulp_json_number(inside->headroom_bits));
    return json;
}

static json_t *make_hidden(const struct ulp_overflow_hidden *hidden)
{
    json_t *json = json_object(), *place = json_object();
    ulp_json_set(&json, "words", ulp_json_text(hidden->words));
    ulp_json_set(&json, "sum", json_boolean(hidden->sum));
    ulp_json_set(&json, "largest", ulp_json_number(hidden->largest));
    ulp_json_set(&json, "smallest", ulp_json_number(hidden->smallest));
    ulp_json_set(&json, "bound", ulp_json_number(hidden->bound));
    ulp_json_set(&json, "elements", make_count(hidden->count));
    ulp_json_set(&json, "subnormal", make_count(hidden->subnormal));
    ulp_json_set(&json, "zero", make_count(hidden->zero));
    ulp_json_set(&json, "own", make_inside(&hidden->own));
    ulp_json_set(&json, "narrow", make_inside(&hidden->narrow));
    ulp_json_set(&place, "sample", json_integer((json_int_t)hidden->sample));
    ulp_json_set(&place, "index", json_integer((json_int_t)hidden->index));
    ulp_json_set(&place, "k", hidden->k < 0 ? json_null() : json_integer(hidden->k));
    ulp_json_set(&place, "first_k", hidden->first < 0 ? json_null() : json_integer(hidden->first));
    ulp_json_set(&json, "where", place);
    return json;
}

static json_t *make_node(const struct ulp_overflow_lane *lane, const struct ulp_overflow_node *node)
{
    json_t *json = json_object(), *outputs = json_array(), *hidden = json_array();
    ulp_json_set(&json, "index", json_integer((json_int_t)node->index));
    ulp_json_set(&json, "name", ulp_json_text(node->name));
    ulp_json_set(&json, "op", ulp_json_text(node->op));
    ulp_json_set(&json, "verdict", json_string(ulp_overflow_verdict_name(node->verdict)));
    ulp_json_set(&json, "born", json_boolean(node->born));
    ulp_json_set(&json, "keep", json_boolean(node->keep));
    for (size_t o = 0; o < node->output_count; o++)
        ulp_json_append(&outputs, make_output(lane, node, &node->outputs[o]));
    ulp_json_set(&json, "outputs", outputs);
    for (size_t h = 0; h < node->hidden_count; h++)
        ulp_json_append(&hidden, make_hidden(&node->hidden[h]));
    ulp_json_set(&json, "hidden", hidden);
    ulp_json_set(&json, "additions", make_count(node->additions));
    ulp_json_set(&json, "absorbed", make_count(node->absorbed));
    return json;
}

static json_t *make_remedies(const struct ulp_overflow_lane *lane)
{
    json_t *list = json_array();
    for (size_t r = 0; r < lane->remedy_count; r++) {
        const struct ulp_overflow_remedy *remedy = &lane->remedies[r];
        json_t *json = json_object();
        ulp_json_set(&json, "what", ulp_json_text(remedy->what));
        ulp_json_set(&json, "nodes", json_integer((json_int_t)remedy->node_count));
        ulp_json_set(&json, "casts", json_integer((json_int_t)remedy->cast_count));
        ulp_json_set(&json, "nonfinite", json_integer((json_int_t)remedy->nonfinite));
        ulp_json_set(&json, "sqnr_db", ulp_json_number(remedy->sqnr_db));
        ulp_json_set(&json, "output", remedy->output ? ulp_json_text(remedy->output) : json_null());
        ulp_json_append(&list, json);
    }
    return list;
}

static json_t *make_lane(const struct ulp_overflow_lane *lane)
{
    static const enum ulp_overflow_verdict verdicts[] = {ULP_OVERFLOW_HAPPENS, ULP_OVERFLOW_1_BIT,
                                                         ULP_OVERFLOW_3_BITS, ULP_OVERFLOW_SAFE};
    json_t *json = json_object(), *counts = json_object(), *nodes = json_array();
    ulp_json_set(&json, "format", ulp_json_text(lane->name));
    for (size_t v = 0; v < sizeof verdicts / sizeof *verdicts; v++)
        ulp_json_set(&counts, ulp_overflow_verdict_name(verdicts[v]),
                     json_integer((json_int_t)lane->counts[verdicts[v]]));
    ulp_json_set(&json, "counts", counts);
    ulp_json_set(&json, "born", json_integer((json_int_t)lane->born_count));
    ulp_json_set(&json, "harmful", json_integer((json_int_t)lane->harmful_count));
    ulp_json_set(&json, "computed", ulp_json_number(lane->computed));
    ulp_json_set(&json, "unseen", make_unseen(&lane->unseen));
    ulp_json_set(&json, "remedies", make_remedies(lane));
    for (size_t n = 0; n < lane->node_count; n++)
        ulp_json_append(&nodes, make_node(lane, &lane->nodes[n]));
    ulp_json_set(&json, "nodes", nodes);
    return json;
}

static json_t *make_verdict(const struct ulp_overflow_forecast *forecast)
{
    struct ulp_error ignored; /* memory: NULL */
    char *text;
    ulp_overflow_summary(forecast, 0, false, &text, &ignored);
    return ulp_json_paragraph(text);
}

static json_t *make_document(const struct ulp_overflow_forecast *forecast)
{
    json_t *root = json_object(), *samples = json_array(), *lanes = json_array(),
           *graph = json_array();
    ulp_json_set(&root, "schema", json_integer(SCHEMA_VERSION));
    ulp_json_set(&root, "ulpscope", json_string(ulp_version()));
    ulp_json_set(&root, "verdict", make_verdict(forecast));
    ulp_json_set(&root, "model", ulp_json_text(forecast->model_path));
    ulp_json_set(&root, "reference", ulp_json_text(forecast->reference));
    for (size_t s = 0; s < forecast->sample_count; s++)
        ulp_json_append(&samples, ulp_json_text(forecast->sample_names[s]));
    ulp_json_set(&root, "samples", samples);
    ulp_json_set(&root, "unjudged", ulp_json_unjudged(&forecast->unjudged));
    if (forecast->beyond_reference)
        ulp_json_set(&root, "beyond_reference", ulp_json_text(forecast->beyond_reference));
    ulp_json_set(&root, "scanned", json_integer((json_int_t)forecast->scanned_count));
    ulp_json_set(&root, "seconds", ulp_json_number(forecast->seconds));
    for (size_t l = 0; l < forecast->lane_count; l++)
        ulp_json_append(&lanes, make_lane(&forecast->lanes[l]));
    ulp_json_set(&root, "formats", lanes);
    for (size_t n = 0; n < forecast->place_count; n++)
        ulp_json_append(&graph, ulp_json_value(&ulp_struct_place, &forecast->places[n], &ulp_json_plain));
    ulp_json_set(&root, "graph", graph);
    return root;
}

enum ulp_status ulp_overflow_write(const struct ulp_overflow_forecast *forecast, const char *folder,
                                   struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return ulp_report_write_json(make_document(forecast), folder, "overflow.json", error);
}

enum ulp_status ulp_overflow_html(const struct ulp_overflow_forecast *forecast, const char *path,
                                  struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return ulp_html_write_root("overflow", make_document(forecast), path, error);
}
