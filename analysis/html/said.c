/* A result's document: see said.h. */
#include "analysis/html/said.h"

#include <ulpscope.h>

#include "analysis/writing/json_value.h"
#include "base/machine/environment.h"
#include "data/json_file.h"

/* The headline of each part in a paragraph. */
static json_t *make_verdict(const struct ulp_said *said, const void *result)
{
    struct ulp_text text = {0};
    const struct ulp_page prose = ulp_page_make(&text, ULP_PAGE_PROSE, false);
    const size_t parts = said->parts ? said->parts(result) : 1;
    for (size_t part = 0; part < parts; part++) {
        struct ulp_headline head = {0};
        said->conclude(&head, result, part);
        if (!said->brief)
            ulp_page_headline(&prose, "", &head);
        else
            ulp_headline_join(&text, &head);
        ulp_headline_free(&prose, &head);
    }
    return ulp_json_lines(&text);
}

json_t *ulp_said_document(const struct ulp_said *said, const void *result)
{
    ULP_ENTER_ENVIRONMENT;
    const void *object = said->object ? said->object(result) : result;
    struct ulp_json_writer writer = {.type = said->type, .result = object};
    const struct ulp_json_how how = {said->hooks, said->hook_count, result, said->node};
    ulp_json_open(&writer, NULL, '{');
    ulp_json_put(&writer, "schema", json_integer(ULP_JSON_SCHEMA));
    ulp_json_put(&writer, "ulpscope", json_string(ulp_version()));
    ulp_json_put(&writer, "verdict",
                 said->verdict ? said->verdict(result) : make_verdict(said, result));
    ulp_json_members(&writer, said->type, object, &how);
    if (!said->parts) {
        struct ulp_headline head = {0};
        said->conclude(&head, result, 0);
        ulp_headline_put(&writer, &head);
    }
    if (said->tiles)
        ulp_json_put(&writer, "tiles", said->tiles(result));
    if (said->notes)
        ulp_json_put(&writer, "notes", said->notes(result));
    if (said->rest)
        said->rest(&writer, result);
    ulp_json_close(&writer, '}');
    return ulp_json_made(&writer);
}

static const char *kind_of(const struct ulp_said *said, const void *result)
{
    return said->kind_of ? said->kind_of(result) : said->kind;
}

struct ulp_html_report ulp_said_page(const struct ulp_said *said, const void *result)
{
    return (struct ulp_html_report){.kind = kind_of(said, result),
                                    .root = ulp_said_document(said, result)};
}

enum ulp_status ulp_said_text(const struct ulp_said *said, const void *result, size_t most,
                              int width, bool colour, char **out, struct ulp_error *error)
{
    return ulp_document_text(kind_of(said, result), ulp_said_document(said, result), most, width,
                             colour, out, error);
}

enum ulp_status ulp_said_write(const struct ulp_said *said, const void *result,
                               enum ulp_output_kind as, const char *path, struct ulp_error *error)
{
    return ulp_html_write_as(kind_of(said, result), as, ulp_said_document(said, result), path,
                             error);
}
