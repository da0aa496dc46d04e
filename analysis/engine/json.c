/* engine.json: doc/engine.md has its schema. */
#include <string.h>

#include <ulpscope.h>

#include "analysis/audit/place.h"
#include "analysis/engine/words.h"
#include "analysis/html/html.h"
#include "analysis/audit/audit_json.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/folder.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/text/text.h"

#define SCHEMA_VERSION 1

static json_t *make_count(size_t count)
{
    return json_integer((json_int_t)count);
}

/* null for what is not told. */
static json_t *make_word(const char *text)
{
    return *text ? ulp_json_text(text) : json_null();
}

static json_t *make_type(enum ulp_type type)
{
    return type == ULP_TYPE_UNDEFINED ? json_null() : json_string(ulp_engine_type_word(type));
}

static json_t *make_nodes(const struct ulp_plan *plan, const size_t *nodes, size_t count)
{
    json_t *json = json_array();
    for (size_t i = 0; i < count; i++)
        ulp_json_append(&json, ulp_json_text(ulp_plan_node_name(plan, nodes[i])));
    return json;
}

static json_t *make_layer(const struct ulp_engine_map *built,
                          const struct ulp_engine_map_layer *layer)
{
    json_t *json = json_object();
    ulp_json_set(&json, "name", ulp_json_text(layer->layer->name));
    ulp_json_set(&json, "kind", make_word(layer->layer->kind));
    ulp_json_set(&json, "kernel", make_word(layer->layer->kernel));
    ulp_json_set(&json, "mapped_by", json_string(ulp_mapped_by_name(layer->by)));
    ulp_json_set(&json, "nodes", make_nodes(built->plan, layer->nodes, layer->node_count));
    ulp_json_set(&json, "helper", json_boolean(layer->helper));
    ulp_json_set(&json, "product", json_boolean(layer->product));
    ulp_json_set(&json, "input", make_type(layer->input));
    ulp_json_set(&json, "weights", make_type(layer->weights));
    ulp_json_set(&json, "output", make_type(layer->output));
    ulp_json_set(&json, "converts", json_boolean(ulp_layer_converts(layer)));
    ulp_json_set(&json, "arithmetic", make_word(layer->arithmetic));
    ulp_json_set(&json, "assumed", make_word(layer->assumed));
    if (!layer->product)
        return json;
    ulp_json_set(&json, "multiply", make_word(layer->multiply));
    ulp_json_set(&json, "accumulate", make_word(layer->accumulator));
    ulp_json_set(&json, "certainty", json_string(ulp_certainty_name(layer->certainty)));
    ulp_json_set(&json, "source", make_word(layer->kernel.source));
    ulp_json_set(&json, "unit", json_boolean(layer->kernel.unit));
    ulp_json_set(&json, "winograd", json_boolean(layer->kernel.winograd));
    ulp_json_set(&json, "slices", json_integer(layer->kernel.slices));
    return json;
}

static json_t *make_node(const struct ulp_engine_map *built, size_t n)
{
    const struct ulp_engine_map_node *node = &built->nodes[n];
    json_t *json = json_object();
    ulp_json_set(&json, "name", ulp_json_text(ulp_plan_node_name(built->plan, n)));
    ulp_json_set(&json, "op", ulp_json_text(ulp_plan_node_op(built->plan, n)));
    ulp_json_set(&json, "fate", json_string(ulp_engine_map_kind_name(node->kind)));
    ulp_json_set(&json, "layer", node->layer >= 0 ? json_integer(node->layer) : json_null());
    ulp_json_set(&json, "layer_count", make_count(node->layer_count));
    return json;
}

static json_t *make_wish(const struct ulp_engine_map *built, const struct ulp_wish *wish)
{
    json_t *json = json_object();
    ulp_json_set(&json, "pattern", ulp_json_text(wish->pattern));
    ulp_json_set(&json, "type", ulp_json_text(wish->type));
    ulp_json_set(&json, "verdict", json_string(ulp_wish_verdict_name(wish->verdict)));
    ulp_json_set(&json, "nodes", make_count(wish->node_count));
    ulp_json_set(&json, "obeyed", make_count(wish->obeyed));
    ulp_json_set(&json, "disobeyed", make_count(wish->disobeyed));
    ulp_json_set(&json, "unknown", make_count(wish->unknown));
    ulp_json_set(&json, "node",
                 wish->node >= 0
                     ? ulp_json_text(ulp_plan_node_name(built->plan, (size_t)wish->node))
                     : json_null());
    ulp_json_set(&json, "layer", wish->layer >= 0 ? json_integer(wish->layer) : json_null());
    ulp_json_set(&json, "ran", make_word(wish->ran));
    ulp_json_set(&json, "hint", make_word(wish->hint));
    return json;
}

static json_t *make_counts(const struct ulp_engine_map *built)
{
    const struct {
        const char *name;
        size_t count;
    } counts[] = {{"products", built->products},
                  {"accumulate_fp16", built->fp16_accumulators},
                  {"accumulate_fp32", built->fp32_accumulators},
                  {"accumulate_int32", built->int32_accumulators},
                  {"accumulate_unknown", built->unknown_accumulators},
                  {"multiply_fp16", built->fp16_products},
                  {"multiply_bf16", built->bf16_products},
                  {"multiply_fp8", built->fp8_products},
                  {"multiply_int8", built->int8_products},
                  {"multiply_tf32", built->tf32_products},
                  {"multiply_fp32", built->fp32_products},
                  {"winograd", built->winograd},
                  {"sliced", built->sliced}};
    json_t *json = json_object();
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        ulp_json_set(&json, counts[c].name, make_count(counts[c].count));
    for (int k = ULP_BUILT_MAPPED; k <= ULP_BUILT_LOST; k++) {
        struct ulp_text name = {0};
        ulp_text_add(&name, "nodes_%s", ulp_engine_map_kind_name((enum ulp_engine_map_kind)k));
        ulp_json_set(&json, name.failed ? NULL : name.data, make_count(built->kinds[k]));
        ulp_text_free(&name);
    }
    return json;
}

static json_t *make_change(const struct ulp_engine_map_changes *changes, size_t c)
{
    const struct ulp_engine_map_change *change = &changes->items[c];
    json_t *json = json_object();
    ulp_json_set(&json, "layer", ulp_json_text(changes->bad->layers[change->layer].layer->name));
    ulp_json_set(&json, "nodes", make_nodes(changes->bad->plan, change->nodes, change->node_count));
    ulp_json_set(&json, "kernel", json_boolean(change->kernel));
    ulp_json_set(&json, "type", json_boolean(change->type));
    ulp_json_set(&json, "accumulator", json_boolean(change->accumulator));
    ulp_json_set(&json, "fusion", json_boolean(change->fusion));
    ulp_json_set(&json, "was", ulp_json_text(change->was));
    ulp_json_set(&json, "is", ulp_json_text(change->is));
    ulp_json_set(&json, "without", ulp_json_number(change->without));
    return json;
}

static json_t *make_changes(const struct ulp_engine_map_changes *changes)
{
    json_t *json = json_object(), *items = json_array();
    ulp_json_set(&json, "first", ulp_json_text(changes->good->engine->path));
    ulp_json_set(&json, "second", ulp_json_text(changes->bad->engine->path));
    ulp_json_set(&json, "output", make_word(changes->output));
    ulp_json_set(&json, "first_error", ulp_json_number(changes->first));
    ulp_json_set(&json, "second_error", ulp_json_number(changes->second));
    for (size_t c = 0; c < changes->count; c++)
        ulp_json_append(&items, make_change(changes, c));
    ulp_json_set(&json, "items", items);
    return json;
}

static json_t *make_verdict(const struct ulp_engine_map *built)
{
    struct ulp_text text = {0};
    ulp_engine_verdict(built, &text);
    json_t *json = text.failed ? NULL : ulp_json_text(text.data);
    ulp_text_free(&text);
    return json;
}

/* NULL: out of memory. */
static json_t *make_graph(const struct ulp_plan *plan)
{
    struct ulp_error ignored;
    struct ulp_arena *memory = NULL;
    struct ulp_place *places;
    json_t *graph = NULL;
    if (ulp_arena_create(&memory, NULL, &ignored) == ULP_OK &&
        ulp_places_make(plan, memory, &places, &ignored) == ULP_OK) {
        graph = json_array();
        for (size_t n = 0; n < ulp_plan_node_count(plan); n++)
            ulp_json_append(&graph, ulp_json_value(&ulp_struct_place, &places[n], &ulp_json_plain));
    }
    ulp_arena_free(memory);
    return graph;
}

static json_t *make_document(const struct ulp_engine_map *built, const struct ulp_wishes *wishes,
                             const struct ulp_engine_map_changes *changes)
{
    json_t *root = json_object(), *layers = json_array(), *nodes = json_array(),
           *wished = json_array();
    ulp_json_set(&root, "schema", json_integer(SCHEMA_VERSION));
    ulp_json_set(&root, "ulpscope", json_string(ulp_version()));
    ulp_json_set(&root, "model", ulp_json_text(ulp_model_path(built->plan->model)));
    ulp_json_set(&root, "engine", ulp_json_text(built->engine->path));
    ulp_json_set(&root, "version", make_word(built->engine->version));
    ulp_json_set(&root, "verdict", make_verdict(built));
    ulp_json_set(&root, "names_only", json_boolean(built->engine->names_only));
    ulp_json_set(&root, "gpu", ulp_json_text(built->gpu));
    ulp_json_set(&root, "counts", make_counts(built));
    for (size_t l = 0; l < built->layer_count; l++)
        ulp_json_append(&layers, make_layer(built, &built->layers[l]));
    ulp_json_set(&root, "layers", layers);
    for (size_t n = 0; n < built->node_count; n++)
        ulp_json_append(&nodes, make_node(built, n));
    ulp_json_set(&root, "nodes", nodes);
    for (size_t w = 0; wishes && w < wishes->count; w++)
        ulp_json_append(&wished, make_wish(built, &wishes->items[w]));
    ulp_json_set(&root, "constraints", wished);
    ulp_json_set(&root, "changes", changes ? make_changes(changes) : json_null());
    ulp_json_set(&root, "graph", make_graph(built->plan));
    return root;
}

enum ulp_status ulp_engine_map_write(const struct ulp_engine_map *built,
                                     const struct ulp_wishes *wishes,
                                     const struct ulp_engine_map_changes *changes,
                                     const char *folder, struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return ulp_report_write_json(make_document(built, wishes, changes), folder, "engine.json",
                                 error);
}

enum ulp_status ulp_engine_map_html(const struct ulp_engine_map *built,
                                    const struct ulp_wishes *wishes,
                                    const struct ulp_engine_map_changes *changes, const char *path,
                                    struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return ulp_html_write_root("engine", make_document(built, wishes, changes), path, error);
}
