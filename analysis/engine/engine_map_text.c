/* An engine as JSON and in words: the verdict, what was wished, what ran, what became of the nodes.
 */
#include <string.h>

#include "analysis/audit/audit_json.h"
#include "analysis/audit/place.h"
#include "analysis/engine/words.h"
#include "analysis/html/said.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "base/machine/environment.h"
#include "base/memory/alloc.h"
#include "run/program/program.h"

/* ---- the head ---- */

static void say_read(struct ulp_text *out, const struct ulp_engine_map *built)
{
    const struct ulp_engine *engine = built->engine;
    size_t helpers = 0;
    for (size_t l = 0; l < built->layer_count; l++)
        helpers += built->layers[l].helper;
    ulp_text_show_whole(out, engine->path);
    ulp_text_add(out, ": %zu layers, %zu of them the runtime's own", built->layer_count, helpers);
    if (*engine->version)
        ulp_text_show(out, "; %s", engine->version);
    if (engine->profile_count > 1)
        ulp_text_add(out, "; the first of %zu profiles", engine->profile_count);
    ulp_text_add(out, "; emulated on: %s", *built->gpu ? built->gpu : "a CPU");
    if (built->numbered)
        ulp_text_add(out, "; its names are operator and index: nodes were numbered");
}

struct document {
    const struct ulp_engine_map *built;
    const struct ulp_wishes *wishes;
};

static void conclude(struct ulp_headline *head, const void *result, size_t part)
{
    const struct ulp_engine_map *built = ((const struct document *)result)->built;
    const struct ulp_wishes *wishes = ((const struct document *)result)->wishes;
    (void)part;
    const bool wished = wishes && wishes->count,
               disobeyed = wished && wishes->counts[ULP_WISH_OBEYED] < wishes->count;
    const char *arguments = built->program->model->arguments;
    if (wished)
        ulp_wishes_say(&head->what, wishes);
    ulp_engine_verdict(built, &head->what);
    say_read(&head->why, built);
    ulp_text_add(&head->todo, "ulpscope audit");
    ulp_word_add(&head->todo, built->model_path);
    ulp_option_add(&head->todo, " --engine", built->engine->path);
    ulp_text_add(&head->todo, "%s # %s", arguments ? arguments : "",
                 disobeyed ? "what runs instead, and what that costs at the outputs"
                           : "what that costs at the outputs");
}

bool ulp_wishes_say(struct ulp_text *out, const struct ulp_wishes *wishes)
{
    const size_t *counts = wishes->counts;
    const bool well = counts[ULP_WISH_OBEYED] == wishes->count;
    if (well)
        ulp_text_add(out, "All %zu constraints were obeyed", wishes->count);
    else
        ulp_text_add(out, "%zu of %zu constraints were obeyed", counts[ULP_WISH_OBEYED],
                     wishes->count);
    for (int v = ULP_WISH_PARTLY; v <= ULP_WISH_UNKNOWABLE; v++)
        if (counts[v])
            ulp_text_add(out, ", %zu %s", counts[v],
                         v == ULP_WISH_NO_MATCH
                             ? counts[v] == 1 ? "matches nothing" : "match nothing"
                             : ulp_wish_verdict_name((enum ulp_wish_verdict)v));
    ulp_text_add(out, ". ");
    return well;
}

/* ---- beside the tables ---- */

static json_t *make_notes(const void *result)
{
    const struct ulp_engine_map *built = ((const struct document *)result)->built;
    const struct ulp_wishes *wishes = ((const struct document *)result)->wishes;
    struct ulp_text kinds = {0};
    size_t disobeyed = 0, quantised = 0;
    json_t *notes = json_array();
    for (int k = 0; k <= ULP_BUILT_LOST; k++)
        if (built->kinds[k])
            ulp_text_add(&kinds, "%s%zu %s", kinds.length ? ", " : "", built->kinds[k],
                         ulp_engine_map_kind_name((enum ulp_engine_map_kind)k));
    ulp_note_text(&notes, "nodes", &kinds);
    for (size_t w = 0; wishes && w < wishes->count; w++)
        if (wishes->items[w].disobeyed)
            ++*(strcmp(wishes->items[w].ran, "int8") == 0 ? &quantised : &disobeyed);
    if (quantised)
        ulp_note_add(&notes, "quantised",
                     "nodes between Q/DQ run in INT8: take QuantizeLinear and DequantizeLinear "
                     "away, of the values that they read and of their weights, where another type "
                     "is wanted");
    if (disobeyed)
        ulp_note_add(&notes, "obeying",
                     "trtexec takes constraints for hints without --precisionConstraints=obey, "
                     "and a node needs both --layerPrecisions and --layerOutputTypes; or put the "
                     "types into the graph (ulpscope plan writes it)");
    for (size_t l = 0; l < built->layer_count; l++) {
        const char *assumed = built->layers[l].assumed;
        size_t count = 0, first = 0;
        while (first < l && strcmp(built->layers[first].assumed, assumed) != 0)
            first++;
        for (size_t k = l; k < built->layer_count; k++)
            count += strcmp(built->layers[k].assumed, assumed) == 0;
        if (*assumed && first == l)
            ulp_note_add(&notes, "assumed", "or emulated otherwise, %zu layer%s: %s", count,
                         count == 1 ? "" : "s", assumed);
    }
    return notes;
}

/* ---- engine.json: doc/fields.md has its schema ---- */

static json_t *make_verdict(const void *result)
{
    const struct document *d = result;
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    if (d->wishes && d->wishes->count)
        ulp_wishes_say(&text, d->wishes);
    ulp_engine_verdict(d->built, &text);
    return text.failed ? NULL : ulp_json_text(text.data);
}

/* NULL: out of memory. */
static json_t *make_graph(const struct ulp_program *program)
{
    struct ulp_error ignored;
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    struct ulp_place *places;
    json_t *graph = NULL;
    if (ulp_arena_create(&memory, NULL, &ignored) == ULP_OK &&
        ulp_places_make(program, memory, &places, &ignored) == ULP_OK) {
        graph = json_array();
        for (size_t n = 0; n < ulp_program_node_count(program); n++)
            ulp_json_append(&graph, ulp_json_value(&ulp_struct_place, &places[n], &ulp_json_plain));
    }
    return graph;
}

static const char *name_node(const void *context, size_t index)
{
    return ((const struct document *)context)->built->nodes[index].name;
}

static void add_layer(struct ulp_json_writer *writer, const struct ulp_engine_map *built,
                      ptrdiff_t layer)
{
    if (layer >= 0)
        ulp_json_put(writer, "in_layer", ulp_json_text(built->layers[layer].layer->name));
}

static void add_wish(struct ulp_json_writer *writer, const void *wish, const void *context)
{
    const struct ulp_wish *it = wish;
    add_layer(writer, ((const struct document *)context)->built, it->node >= 0 ? it->layer : -1);
}

static json_t *make_tiles(const void *result)
{
    const struct ulp_engine_map *built = ((const struct document *)result)->built;
    const struct ulp_wishes *wishes = ((const struct document *)result)->wishes;
    const size_t found = built->node_count - built->kinds[ULP_BUILT_LOST];
    json_t *tiles = json_array();
    ulp_tile_add(&tiles, ULP_TILE_PLAIN, "Layers", "%zu", built->layer_count);
    ulp_tile_note(&tiles, -1, "of %zu node%s, %zu found in them", built->node_count,
                  built->node_count == 1 ? "" : "s", found);
    ulp_tile_add(&tiles, built->fp16_accumulators ? ULP_TILE_WARN : ULP_TILE_PLAIN,
                 "Products in FP16", "%zu of %zu", built->fp16_products, built->products);
    ulp_tile_note(&tiles, -1, "%zu accumulate%s in FP16", built->fp16_accumulators,
                  built->fp16_accumulators == 1 ? "s" : "");
    if (wishes && wishes->count) {
        const size_t obeyed = wishes->counts[ULP_WISH_OBEYED];
        ulp_tile_add(&tiles, obeyed == wishes->count ? ULP_TILE_GOOD : ULP_TILE_BAD,
                     "Constraints obeyed", "%zu of %zu", obeyed, wishes->count);
    }
    return tiles;
}

/* The other parts of the document, and the graph. */
static void add_rest(struct ulp_json_writer *writer, const void *result)
{
    const struct document *d = result;
    static const struct ulp_json_hook hooks[] = {{&ulp_struct_wish, add_wish, NULL}};
    const struct ulp_json_how how = {hooks, sizeof hooks / sizeof *hooks, result, name_node};
    if (d->wishes)
        ulp_json_struct(writer, "wishes", &ulp_struct_wishes, d->wishes, &how);
    ulp_json_put(writer, "graph", make_graph(d->built->program));
}

static const void *get_built(const void *result)
{
    return ((const struct document *)result)->built;
}

static const struct ulp_said said = {"engine",
                                     .type = &ulp_struct_engine_map,
                                     .object = get_built,
                                     .conclude = conclude,
                                     .verdict = make_verdict,
                                     .tiles = make_tiles,
                                     .notes = make_notes,
                                     .rest = add_rest,
                                     .node = name_node};

/* ---- all of it ---- */

enum ulp_status ulp_engine_map_text(const struct ulp_engine_map *built,
                                    const struct ulp_wishes *wishes, size_t shown, int width,
                                    bool colour, char **out, struct ulp_error *error)
{
    ULP_ENTER(error);
    return ulp_said_text(&said, &(struct document){built, wishes}, shown, width, colour, out,
                         error);
}

enum ulp_status ulp_engine_map_verdict(const struct ulp_engine_map *built, char **out,
                                       struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_text text = {0};
    ulp_engine_verdict(built, &text);
    ulp_text_add(&text, "\n");
    return ulp_page_take(&text, ULP_OK, out, error);
}

enum ulp_status ulp_engine_map_write(const struct ulp_engine_map *built,
                                     const struct ulp_wishes *wishes, enum ulp_output_kind as,
                                     const char *path, struct ulp_error *error)
{
    ULP_ENTER(error);
    return ulp_said_write(&said, &(struct document){built, wishes}, as, path, error);
}
