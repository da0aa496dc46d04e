/* engine.json: doc/fields.md has its schema. */

#include "analysis/audit/place.h"
#include "analysis/engine/words.h"
#include "analysis/html/html.h"
#include "analysis/audit/audit_json.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/first_screen.h"
#include "analysis/writing/structs.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/text/text.h"

static json_t *make_verdict(const struct ulp_engine_map *built, const struct ulp_wishes *wishes)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    if (wishes && wishes->count)
        ulp_wishes_say(&text, wishes);
    ulp_engine_verdict(built, &text);
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

struct document {
    const struct ulp_engine_map *built;
    const struct ulp_wishes *wishes;
    const struct ulp_engine_map_changes *changes;
};

static const char *name_node(const void *context, size_t index)
{
    return ((const struct document *)context)->built->nodes[index].name;
}

/* Of two engines the file of the first, too. */
static void add_first(struct ulp_json_writer *writer, const void *changes, const void *context)
{
    (void)context;
    ulp_json_put(writer, "good",
                 ulp_json_text(
                     ((const struct ulp_engine_map_changes *)changes)->good->engine->path));
}

static json_t *make_tiles(const struct ulp_engine_map *built, const struct ulp_wishes *wishes)
{
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
static void add_rest(struct ulp_json_writer *writer, const void *built, const void *context)
{
    const struct document *d = context;
    static const struct ulp_json_hook hooks[] = {{&ulp_struct_engine_map_changes, add_first, NULL}};
    const struct ulp_json_how how = {hooks, sizeof hooks / sizeof *hooks, context, name_node};
    struct ulp_headline head = {0};
    ulp_engine_headline(built, d->wishes, &head);
    ulp_tiles_put(writer, &head, make_tiles(built, d->wishes));
    if (d->wishes)
        ulp_json_struct(writer, "wishes", &ulp_struct_wishes, d->wishes, &how);
    if (d->changes)
        ulp_json_struct(writer, "changes", &ulp_struct_engine_map_changes, d->changes, &how);
    ulp_json_put(writer, "graph", make_graph(((const struct ulp_engine_map *)built)->program));
}

static json_t *make_engine_document(const struct ulp_engine_map *built,
                                    const struct ulp_wishes *wishes,
                                    const struct ulp_engine_map_changes *changes)
{
    const struct document document = {built, wishes, changes};
    static const struct ulp_json_hook hooks[] = {{&ulp_struct_engine_map, add_rest, NULL}};
    const struct ulp_json_how how = {hooks, sizeof hooks / sizeof *hooks, &document, name_node};
    return ulp_json_document(&ulp_struct_engine_map, built, &how, make_verdict(built, wishes));
}

enum ulp_status ulp_engine_map_write(const struct ulp_engine_map *built,
                                     const struct ulp_wishes *wishes,
                                     const struct ulp_engine_map_changes *changes,
                                     enum ulp_output_kind as, const char *path,
                                     struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    return ulp_html_write_as("engine", as, make_engine_document(built, wishes, changes), path,
                             error);
}
