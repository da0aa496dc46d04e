/* Tiles of figures: see first_screen.h. */
#include "analysis/writing/first_screen.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "analysis/writing/json_value.h"

static json_t *make_text(const char *format, va_list arguments)
{
    struct ulp_text text = {0};
    ulp_text_show_list(&text, format, arguments);
    return ulp_json_lines(&text);
}

enum ulp_tile_level ulp_tile_graded(enum ulp_grade grade)
{
    return grade == ULP_GRADE_FINE         ? ULP_TILE_GOOD
           : grade == ULP_GRADE_BORDERLINE ? ULP_TILE_WARN
           : grade == ULP_GRADE_BROKEN     ? ULP_TILE_BAD
                                           : ULP_TILE_PLAIN;
}

ULP_NAMES(ulp_tile_level_name, enum ulp_tile_level, "plain", "good", "warn", "bad")

void ulp_tile_add(json_t **tiles, enum ulp_tile_level level, const char *title, const char *value,
                  ...)
{
    va_list arguments;
    va_start(arguments, value);
    ulp_json_append(tiles, ulp_json_object("title", json_string(title), "value",
                                           make_text(value, arguments), "note", json_string(""),
                                           "level", json_string(ulp_tile_level_name(level)), NULL));
    va_end(arguments);
}

void ulp_tile_note(json_t **tiles, ptrdiff_t node, const char *note, ...)
{
    json_t *tile = json_incref(json_array_get(*tiles, json_array_size(*tiles) - 1));
    va_list arguments;
    va_start(arguments, note);
    ulp_json_set(&tile, "note", make_text(note, arguments));
    if (node >= 0)
        ulp_json_set(&tile, "node", json_integer(node));
    va_end(arguments);
    if (!tile) { /* no memory */
        json_decref(*tiles);
        *tiles = NULL;
    }
    json_decref(tile);
}

static void write_decibels(char *out, size_t bytes, double decibels, const char *unit)
{
    if (isfinite(decibels))
        snprintf(out, bytes, "%.1f%s", ulp_tenths(decibels), unit);
    else
        snprintf(out, bytes, "%s", isnan(decibels) ? "-" : decibels > 0 ? "equal" : "not finite");
}

void ulp_tile_decibels(json_t **tiles, enum ulp_tile_level level, double before, double after)
{
    char was[32], is[32];
    const double last = isnan(after) ? before : after;
    if (level == ULP_TILE_GOOD && isinf(last) && last < 0) /* better, and not finite */
        level = ULP_TILE_WARN;
    write_decibels(was, sizeof was, before, isfinite(after) ? "" : " dB");
    write_decibels(is, sizeof is, last, " dB");
    if (isnan(before) || isnan(after) || before == after)
        ulp_tile_add(tiles, level, "Signal to error", "%s", is);
    else
        ulp_tile_add(tiles, level, "Signal to error", "%s → %s", was, is);
}

void ulp_tile_grade(json_t **tiles, enum ulp_grade grade, const char *name, const char *text)
{
    ulp_tile_add(tiles, ulp_tile_graded(grade), "Verdict", "%s", name);
    ulp_tile_note(tiles, -1, "%s", text ? text : "");
}

void ulp_tile_kept(json_t **tiles, size_t kept, size_t all, double kept_macs, double macs)
{
    ulp_tile_add(tiles, ULP_TILE_PLAIN, "Kept in the wider format", "%zu of %zu node%s", kept, all,
                 all == 1 ? "" : "s");
    if (macs > 0)
        ulp_tile_note(tiles, -1, "%.3g %% of the multiply-adds", 100 * kept_macs / macs);
}

void ulp_tile_headroom(json_t **tiles, double bits, ptrdiff_t node, const char *name)
{
    ulp_tile_add(tiles,
                 bits >= 1   ? ULP_TILE_GOOD
                 : bits >= 0 ? ULP_TILE_WARN
                             : ULP_TILE_BAD, /* and where it is not known */
                 "Least headroom", "%s bits", ULP_FIGURE("%.1f", bits));
    ulp_tile_note(tiles, node, bits < 0 ? "overflows at %s" : "at %s", name);
}

void ulp_tile_count(json_t **tiles, enum ulp_tile_level level, const char *title, size_t count)
{
    ulp_tile_add(tiles, count ? level : ULP_TILE_GOOD, title, "%zu", count);
}

void ulp_headline_put(struct ulp_json_writer *writer, struct ulp_headline *headline)
{
    ulp_json_put(writer, "headline", ulp_json_lines(&headline->what));
    if (headline->beside.length || headline->beside.failed)
        ulp_json_put(writer, "beside", ulp_json_lines(&headline->beside));
    ulp_json_put(writer, "why", ulp_json_lines(&headline->why));
    ulp_json_put(writer, "do", ulp_json_lines(&headline->todo));
}

void ulp_tiles_put(struct ulp_json_writer *writer, struct ulp_headline *headline, json_t *tiles)
{
    if (headline)
        ulp_headline_put(writer, headline);
    ulp_json_put(writer, "tiles", tiles);
}

void ulp_note_text(json_t **notes, const char *title, struct ulp_text *text)
{
    ulp_json_append(notes, ulp_json_object("title", json_string(title), "text",
                                           ulp_json_lines(text), NULL));
}

void ulp_note_add(json_t **notes, const char *title, const char *format, ...)
{
    struct ulp_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    ulp_text_show_list(&text, format, arguments);
    va_end(arguments);
    ulp_note_text(notes, title, &text);
}
