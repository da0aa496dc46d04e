/* The formats that a saved report is handed on in: choosing one, and what it is of. */
#include <string.h>

#include "analysis/saved/export.h"
#include "analysis/writing/columns.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/machine/file.h"

static const struct row {
    struct ulp_saved_format format;
    void (*add)(const struct ulp_exporting *e);
} rows[] = {
#define FORMAT(name, function, meaning) {{name, meaning}, function},
#include "analysis/saved/export.def"
#undef FORMAT
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

const struct ulp_saved_format *ulp_saved_format_row(size_t index)
{
    return index < ROW_COUNT ? &rows[index].format : NULL;
}

static const char *name_format(const void *context, size_t i)
{
    (void)context;
    return rows[i].format.name;
}

static const char *name_figure(const void *context, size_t i)
{
    (void)context;
    return ulp_saved_figures[i].name;
}

static const char *name_lane(const void *context, size_t i)
{
    return ulp_saved_text(json_array_get(context, i), "name");
}

/* The index of the word among the names; or "WHAT 'word' is not known; known: A, B". */
static enum ulp_status choose_word(const char *what, const char *word, size_t count,
                                   const char *(*name)(const void *context, size_t i),
                                   const void *context, size_t *chosen, struct ulp_error *error)
{
    struct ulp_text known = {0};
    for (*chosen = 0; *chosen < count; (*chosen)++)
        if (strcmp(word, name(context, *chosen)) == 0)
            return ULP_OK;
    for (size_t i = 0; i < count; i++)
        ulp_text_show(&known, "%s%s", i ? ", " : "", name(context, i));
    ulp_fail(error, ULP_ERROR_USAGE, "%s '%s' is not known; known: %s", what, word,
             known.data ? known.data : "");
    ulp_text_free(&known);
    return ULP_ERROR_USAGE;
}

/* What the request names. */
static enum ulp_status find_requested(const struct ulp_saved *saved,
                                      const struct ulp_saved_request *request,
                                      const struct row **row, size_t *lane, struct ulp_error *error)
{
    size_t chosen = 0, figure;
    ULP_TRY(ulp_saved_check_lanes(saved, error));
    ULP_TRY(choose_word("format", request->format, ROW_COUNT, name_format, NULL, &chosen, error));
    *lane = 0;
    *row = &rows[chosen < ROW_COUNT ? chosen : 0];
    if (request->arithmetic)
        ULP_TRY(choose_word("arithmetic", request->arithmetic, json_array_size(saved->lanes),
                            name_lane, saved->lanes, lane, error));
    if (request->figure)
        ULP_TRY(choose_word("figure", request->figure, ULP_SAVED_FIGURES, name_figure, NULL,
                            &figure, error));
    return ULP_OK;
}

static void add_figures(struct ulp_saved *saved, const struct ulp_saved_request *request,
                        const struct row *row, size_t lane, struct ulp_text *out)
{
    row->add(&(struct ulp_exporting){saved, request, json_array_get(saved->lanes, lane), out});
}

enum ulp_status ulp_saved_export(struct ulp_saved *saved, const struct ulp_saved_request *request,
                                 char **out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_text text = {0};
    const struct row *row;
    size_t lane;
    const enum ulp_status status = find_requested(saved, request, &row, &lane, error);
    if (status == ULP_OK)
        add_figures(saved, request, row, lane, &text);
    return ulp_page_take(&text, status, out, error);
}

enum ulp_status ulp_saved_write(struct ulp_saved *saved, const struct ulp_saved_request *request,
                                const char *path, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_text file;
    const struct row *row;
    size_t lane;
    ULP_TRY(find_requested(saved, request, &row, &lane, error));
    ULP_TRY(ulp_text_open(&file, path, error));
    add_figures(saved, request, row, lane, &file);
    return ulp_text_close(&file, true, error);
}
