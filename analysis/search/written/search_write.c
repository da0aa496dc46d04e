/* What was found as text and files. */
#include "analysis/search/written/search_text.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "analysis/html/said.h"
#include "analysis/search/written/search_files.h"
#include "analysis/search/search_tf32.h"
#include "analysis/writing/folder.h"
#include "analysis/writing/json_value.h"
#include "analysis/writing/structs.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/machine/file.h"
#include <ulpscope/report.h>

static json_t *make_verdict(const void *found)
{
    struct ulp_headline head = {0};
    struct ulp_text text = {0}, notes = {0};
    ulp_search_conclude(&head, &notes, found);
    ulp_search_say_basis(&notes, found);
    ulp_headline_join(&text, &head);
    ulp_text_add(&text, "\n%s", notes.data ? notes.data : "");
    text.failed |= notes.failed;
    ulp_text_free(&notes);
    return ulp_json_lines(&text);
}

static json_t *keep_json(const struct ulp_search *found)
{
    json_t *keep = json_array();
    for (size_t e = 0; e < found->entry_count; e++)
        ulp_json_keep(&keep, found->entries[e].pattern, found->entries[e].arithmetic);
    return keep;
}

/* What draws of a plan held. */
static void add_draws(json_t **tiles, const struct ulp_search *found)
{
    size_t drawn = 0, held = 0;
    for (size_t t = 0; t < found->target_count; t++) {
        drawn += found->targets[t].draw_count;
        held += found->targets[t].held_count;
    }
    if (!drawn)
        return;
    ulp_tile_add(tiles, held == drawn ? ULP_TILE_GOOD : ULP_TILE_BAD, "Other roundings",
                 "%zu of %zu", held, drawn);
    ulp_tile_note(tiles, -1, "draws in which the plan holds");
}

static void add_bits(json_t **tiles, const struct ulp_search *found)
{
    ulp_tile_add(tiles, ULP_TILE_PLAIN, "Mean bits", "%s", ULP_FIGURE("%.1f", found->bits));
    ulp_tile_note(tiles, -1, "of a factor's value, scales included");
    ulp_tile_add(tiles, found->met ? ULP_TILE_GOOD : ULP_TILE_BAD, "Of the error allowed", "%s %%",
                 ULP_FIGURE("%.3g", 100 * found->ratio));
    ulp_tile_note(tiles, -1, "in the worst sample");
    ulp_tile_add(tiles, ULP_TILE_PLAIN, "Products", "%zu", found->layer_count);
}

static json_t *make_tiles(const void *result)
{
    const struct ulp_search *found = result;
    const struct ulp_search_sample *before =
                                       ulp_search_worst(found->before_samples, found->before_count),
                                   *after = ulp_search_worst(found->samples, found->sample_count);
    const enum ulp_tile_level level = found->met ? ULP_TILE_GOOD : ULP_TILE_BAD;
    const char *why = found->grade_text ? strchr(found->grade_text, '(') : NULL;
    json_t *tiles = json_array();
    if (found->grade_text)
        ulp_tile_grade(&tiles, found->grade, ulp_grade_name(found->grade), NULL);
    if (why)
        ulp_tile_note(&tiles, -1, "%.*s", (int)strlen(why + 1) - 1, why + 1);
    /* before there may have been elements that are not finite, which are counted */
    const bool same = before && after && strcmp(before->metric, after->metric) == 0 &&
                      strcmp(before->output, after->output) == 0,
               finite = !before || strcmp(before->metric, "nonfinite") != 0;
    if (after && strcmp(after->metric, "sqnr_db") == 0)
        ulp_tile_decibels(&tiles, level,
                          same     ? before->value
                          : finite ? (double)NAN
                                   : -(double)INFINITY,
                          after->value);
    else if (same)
        ulp_tile_add(&tiles, level, after->metric, "%.3g → %.3g", before->value, after->value);
    else if (after)
        ulp_tile_add(&tiles, level, after->metric, "%.3g", after->value);
    if (after)
        ulp_tile_note(&tiles, -1, "of %s", after->output);
    if (!found->by_node) {
        add_bits(&tiles, found);
        return tiles;
    }
    ulp_tile_kept(&tiles, found->kept_count, found->node_count, found->kept_macs, found->macs);
    add_draws(&tiles, found);
    ulp_tile_add(&tiles, ULP_TILE_PLAIN, "Casts", "%zu", found->cast_count);
    ulp_tile_note(&tiles, -1, "%zu elements are converted", found->cast_elements);
    return tiles;
}

/* Each line is one. */
static json_t *make_notes(const void *found)
{
    struct ulp_headline head = {0};
    struct ulp_text text = {0};
    json_t *notes = json_array();
    ulp_search_conclude(&head, &text, found);
    ulp_search_say_basis(&text, found);
    ulp_headline_free(&(struct ulp_page){.out = &text}, &head);
    for (const char *line = text.data; line && *line; line += strcspn(line, "\n") + 1) {
        struct ulp_text note = {0};
        ulp_text_put(&note, line, strcspn(line, "\n"));
        ulp_note_text(&notes, "", &note);
        if (!line[strcspn(line, "\n")])
            break;
    }
    if (text.failed) {
        json_decref(notes);
        notes = NULL;
    }
    ulp_text_free(&text);
    return notes;
}

/* Also the plan itself, mixed.onnx, and of layers in any format these: a plan's are its nodes. */
static void add_search(struct ulp_json_writer *writer, const void *result)
{
    const struct ulp_search *found = result;
    static const struct ulp_json_how how = {NULL, 0, NULL, NULL};
    ulp_json_put(writer, "arithmetic", ulp_json_text(found->base));
    ulp_json_put(writer, "keep", keep_json(found));
    if (found->mixed.path || found->mixed.reason)
        ulp_json_struct(writer, "mixed", &ulp_struct_mixed, &found->mixed, &how);
    if (found->by_node)
        return;
    ulp_json_member(writer, &ulp_struct_search, "uniforms", found, &how);
    ulp_json_member(writer, &ulp_struct_search, "layers", found, &how);
}

static const char *kind_of(const void *found)
{
    return ((const struct ulp_search *)found)->by_node ? "plan" : "formats";
}

const struct ulp_said ulp_search_said = {.kind_of = kind_of,
                                         .type = &ulp_struct_search,
                                         .conclude = ulp_search_say,
                                         .verdict = make_verdict,
                                         .tiles = make_tiles,
                                         .notes = make_notes,
                                         .rest = add_search};
ULP_SAID_TEXT(search, ulp_search, ulp_search_said, 0)

/* ---- files ---- */

static enum ulp_status write_json(const struct ulp_search *found, struct ulp_text *out,
                                  struct ulp_error *error)
{
    return ulp_json_put_document(ulp_said_document(&ulp_search_said, found), out, "plan.json",
                                 error);
}

static bool is_any(const struct ulp_search *found)
{
    (void)found;
    return true;
}

static const struct {
    const char *name;
    bool (*applies)(const struct ulp_search *);
    enum ulp_status (*write)(const struct ulp_search *, struct ulp_text *, struct ulp_error *);
} files[] = {{"plan.json", is_any, write_json},
             {"exclude.txt", ulp_exclude_has_any, ulp_exclude_write},
             {"calibration.cache", ulp_trt_has_cache, ulp_trt_cache},
             {"modelopt.yaml", ulp_modelopt_has_modules, ulp_modelopt_write},
             {"trtexec.txt", ulp_trt_has_formats, ulp_trt_trtexec},
             {"npps.py", ulp_trt_has_formats, ulp_trt_polygraphy},
             {"autocast.txt", ulp_trt_has_two_formats, ulp_trt_autocast},
             {"strongly_typed.txt", ulp_trt_has_formats, ulp_trt_strongly_typed},
             {"tf32.py", ulp_tf32_has_python, ulp_tf32_python}};

const char *ulp_search_file_name(size_t index)
{
    return index < sizeof files / sizeof *files ? files[index].name : NULL;
}

static enum ulp_status write_file(const struct ulp_search *found, const char *folder, size_t index,
                                  struct ulp_error *error)
{
    struct ulp_text text;
    ULP_TRY(ulp_report_open(folder, files[index].name, &text, error));
    enum ulp_status status = files[index].write(found, &text, error);
    const enum ulp_status closed = ulp_text_close(&text, status == ULP_OK, error);
    return status == ULP_OK ? closed : status;
}

static enum ulp_status write_files(const struct ulp_search *found, const char *folder,
                                   struct ulp_error *error)
{
    enum ulp_status status = ulp_report_prepare(folder, error);
    const bool begun = ulp_files_hold();
    for (size_t f = 0; f < sizeof files / sizeof *files && status == ULP_OK; f++)
        if (files[f].applies(found))
            status = write_file(found, folder, f, error);
        else
            status = ulp_file_retire(folder, files[f].name, error);
    return ulp_files_release(begun, status, error);
}

enum ulp_status ulp_search_write(const struct ulp_search *found, enum ulp_output_kind as,
                                 const char *path, struct ulp_error *error)
{
    ULP_ENTER(error);
    return as == ULP_OUTPUT_FOLDER ? write_files(found, path, error)
                                   : ulp_said_write(&ulp_search_said, found, as, path, error);
}
