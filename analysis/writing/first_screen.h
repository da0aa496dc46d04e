/* The first screen of a result, once for page, notebook and JSON: its headline, the same as the
 * terminal's first line, and tiles of figures, a list of {title, value, note, level, node}. */
#pragma once

#include <stddef.h>
#include <ulpscope/audit.h>

#include "analysis/writing/columns.h"
#include "analysis/writing/json_writer.h"

/* What a tile's colour says: how things are, with their sign. */
enum ulp_tile_level { ULP_TILE_PLAIN, ULP_TILE_GOOD, ULP_TILE_WARN, ULP_TILE_BAD };
const char *ulp_tile_level_name(enum ulp_tile_level level);
enum ulp_tile_level ulp_tile_graded(enum ulp_grade grade);

void ulp_tile_add(json_t **tiles, enum ulp_tile_level level, const char *title, const char *value,
                  ...) ULP_PRINTF(4, 5);
/* Of the last one: what stands below, and the node of the graph that it leads to, -1: none. */
void ulp_tile_note(json_t **tiles, ptrdiff_t node, const char *note, ...) ULP_PRINTF(3, 4);

/* The last two are what it was before and is; NaN: not known; -infinity: not finite, infinity:
 * equal to the reference. */
void ulp_tile_decibels(json_t **tiles, enum ulp_tile_level level, double before, double after);
void ulp_tile_grade(json_t **tiles, enum ulp_grade grade, const char *name, const char *text);
/* macs: 0: not known */
void ulp_tile_kept(json_t **tiles, size_t kept, size_t all, double kept_macs, double macs);
void ulp_tile_headroom(json_t **tiles, double bits, ptrdiff_t node, const char *name);
/* "Errors": how many of them; none is good. */
void ulp_tile_count(json_t **tiles, enum ulp_tile_level level, const char *title, size_t count);

/* Members "headline", "why" and "do" of the open object, and "tiles"; all are freed. */
void ulp_headline_put(struct ulp_json_writer *writer, struct ulp_headline *headline);
void ulp_tiles_put(struct ulp_json_writer *writer, struct ulp_headline *headline, json_t *tiles);
/* One more of a list of notes, {title, text}, which a document has beside headlines and tables. */
void ulp_note_add(json_t **notes, const char *title, const char *format, ...) ULP_PRINTF(3, 4);
/* The text, which is freed. */
void ulp_note_text(json_t **notes, const char *title, struct ulp_text *text);
