/* overflow.json: its schema is in doc/fields.md. */
#include <math.h>

#include "analysis/audit/audit_json.h"
#include "analysis/html/html.h"
#include "analysis/overflow/meter.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "analysis/writing/first_screen.h"

/* A node of the program, of which a lane has those that were computed. */
static const char *name_node(const void *context, size_t index)
{
    const struct ulp_overflow_forecast *forecast = context;
    for (size_t l = 0; l < forecast->lane_count; l++)
        for (size_t n = 0; n < forecast->lanes[l].node_count; n++)
            if (forecast->lanes[l].nodes[n].index == index)
                return forecast->lanes[l].nodes[n].name;
    return "";
}

static json_t *make_tiles(const struct ulp_overflow_lane *lane)
{
    const struct ulp_overflow_node *least = NULL;
    const struct ulp_overflow_remedy *remedies = lane->remedies;
    double bits = INFINITY;
    json_t *tiles = json_array();
    ulp_tile_add(&tiles,
                 lane->harmful_count ? ULP_TILE_BAD
                 : lane->born_count  ? ULP_TILE_WARN
                                     : ULP_TILE_GOOD,
                 "Nodes that overflow", "%zu", lane->born_count);
    if (lane->harmful_count)
        ulp_tile_note(&tiles, -1, "%zu make%s results wrong", lane->harmful_count,
                      lane->harmful_count == 1 ? "s" : "");
    else
        ulp_tile_note(&tiles, -1, "none makes a result wrong");
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            if (lane->nodes[n].outputs[o].headroom_bits < bits) {
                least = &lane->nodes[n];
                bits = least->outputs[o].headroom_bits;
            }
    if (least)
        ulp_tile_headroom(&tiles, bits, (ptrdiff_t)least->index, least->name);
    if (lane->remedy_count > 1 && isfinite(remedies[1].sqnr_db)) {
        ulp_tile_decibels(&tiles, ULP_TILE_PLAIN,
                          remedies[0].nonfinite ? (double)NAN : remedies[0].sqnr_db,
                          remedies[1].sqnr_db);
        ulp_tile_note(&tiles, -1, "%s: %s", remedies[1].what,
                      remedies[1].output ? remedies[1].output : "");
    }
    if (lane->keep_count) {
        ulp_tile_kept(&tiles, lane->keep_count, lane->node_count, 0, 0);
        ulp_tile_note(&tiles, -1, "enough for the range");
    }
    return tiles;
}

static void add_tiles(struct ulp_json_writer *writer, const void *lane, const void *context)
{
    struct ulp_headline headline = {0};
    ulp_overflow_headline(context, lane, &headline);
    ulp_tiles_put(writer, &headline, make_tiles(lane));
}

json_t *ulp_overflow_document(const struct ulp_overflow_forecast *forecast)
{
    static const struct ulp_json_hook hooks[] = {{&ulp_struct_overflow_lane, add_tiles, NULL},
                                                 {&ulp_struct_unjudged_list, NULL,
                                                  ulp_json_put_unjudged}};
    const struct ulp_json_how how = {hooks, sizeof hooks / sizeof *hooks, forecast, name_node};
    struct ulp_error ignored; /* memory: NULL */
    char *text;
    ulp_overflow_text(forecast, ULP_PAGE_PROSE, false, &text, &ignored);
    return ulp_json_document(&ulp_struct_overflow_forecast, forecast, &how,
                             ulp_json_paragraph(text));
}

ULP_DOCUMENT_WRITE(ulp_overflow_write, ulp_overflow_forecast, "overflow", ulp_overflow_document)
