/* fix.json, and the same as one page. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/fix/fixing.h"
#include "analysis/html/said.h"
#include "analysis/search/search_tf32.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "base/machine/environment.h"

static double decibels_of(const struct ulp_fix_state *state)
{
    return state->metric && strcmp(state->metric, "sqnr_db") == 0 ? state->value : (double)NAN;
}

static json_t *make_tiles(const void *result)
{
    const struct ulp_fix *fix = result;
    const struct ulp_fix_state *after = &fix->after;
    json_t *tiles = json_array();
    if (after->text)
        ulp_tile_grade(&tiles, after->grade, ulp_grade_name(after->grade), after->text);
    if (isfinite(decibels_of(after))) {
        const bool same = strcmp(fix->before.output, after->output) == 0;
        ulp_tile_decibels(&tiles, fix->met ? ULP_TILE_GOOD : ULP_TILE_BAD,
                          same ? decibels_of(&fix->before) : (double)NAN, decibels_of(after));
        ulp_tile_note(&tiles, -1, "of %s", after->output);
    }
    ulp_tile_add(&tiles, ULP_TILE_PLAIN, "Edits made", "%zu of %zu", fix->made_count,
                 fix->edit_count);
    ulp_tile_note(&tiles, -1, "others gain nothing, or are not allowed");
    if (fix->node_count)
        ulp_tile_kept(&tiles, fix->kept_count, fix->node_count, fix->kept_macs, fix->macs);
    return tiles;
}

static void add_rest(struct ulp_json_writer *writer, const void *result)
{
    const struct ulp_fix *fix = result;
    if (fix->plan && ulp_tf32_is_forbidden(fix->plan) && fix->plan->tf32_forbidden_by)
        ulp_json_put(writer, "tf32_forbidden_by", ulp_json_text(fix->plan->tf32_forbidden_by));
    ulp_json_put(writer, "notes", ulp_fix_notes(fix));
}

/* The gain in words: an output that is not finite has no decibels. */
static void add_gain(struct ulp_json_writer *writer, const void *of, const void *context)
{
    const struct ulp_fix_edit *edit = of;
    char text[32] = "";
    (void)context;
    if (isinf(edit->gain))
        snprintf(text, sizeof text, edit->gain > 0 ? "only with it finite" : "less is finite");
    else if (!isnan(edit->gain))
        snprintf(text, sizeof text, "%+.1f dB", ulp_tenths(edit->gain));
    ulp_json_put(writer, "gains", json_string(text));
}

static const struct ulp_json_hook hooks[] = {{&ulp_struct_fix_edit, add_gain, NULL}};
static const struct ulp_said said = {
    "fix",          &ulp_struct_fix,     .conclude = ulp_fix_conclude,
    .brief = true,  .tiles = make_tiles, .rest = add_rest,
    .hooks = hooks, .hook_count = 1};
ULP_SAID_TEXT(fix, ulp_fix, said, 2 * ULP_DOCUMENT_ROWS)
ULP_SAID_WRITE(fix, ulp_fix, said)
