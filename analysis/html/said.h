/* What a result says, for those that a document says whole: text, JSON, page and Markdown follow.
 */
#pragma once

#include "analysis/html/html.h"
#include "analysis/writing/document.h"
#include "analysis/writing/fields.h"
#include "analysis/writing/first_screen.h"
#include "base/machine/environment.h"

/* Functions may be NULL, where there is nothing of the kind. */
struct ulp_said {
    const char *kind; /* of document.def; its file in a folder is KIND.json */
    const struct ulp_struct *type;
    const char *(*kind_of)(const void *result); /* where there are several */
    const void *(*object)(const void *result);  /* of that type; NULL: the result */
    /* part: of those that have a headline each, else 0 */
    void (*conclude)(struct ulp_headline *head, const void *result, size_t part);
    size_t (*parts)(const void *result); /* NULL: one, the result itself */
    /* what the program concludes; NULL: the headlines, in a paragraph each, `brief`: without what
     * to do */
    json_t *(*verdict)(const void *result);
    bool brief;
    /* beside the headline of the result itself */
    json_t *(*tiles)(const void *result);
    json_t *(*notes)(const void *result);
    /* further members */
    void (*rest)(struct ulp_json_writer *writer, const void *result);
    const struct ulp_json_hook *hooks; /* of structs inside; their context is the result */
    size_t hook_count;
    const char *(*node)(const void *result, size_t index); /* the name of a node */
};

/* NULL: out of memory. */
json_t *ulp_said_document(const struct ulp_said *said, const void *result);
/* Its part of a page; root NULL: out of memory. */
struct ulp_html_report ulp_said_page(const struct ulp_said *said, const void *result);
/* As ulp_document_text and ulp_html_write_as make them. */
enum ulp_status ulp_said_text(const struct ulp_said *said, const void *result, size_t most,
                              int width, bool colour, char **out, struct ulp_error *error);
enum ulp_status ulp_said_write(const struct ulp_said *said, const void *result,
                               enum ulp_output_kind as, const char *path, struct ulp_error *error);

/* The public functions of a kind of results: its text, with at most so many rows of a table, and
 * its files. */
#define ULP_SAID_TEXT(NAME, TYPE, SAID, MOST)                                            \
    enum ulp_status ulp_##NAME##_text(const struct TYPE *result, int width, bool colour, \
                                      char **out, struct ulp_error *error)               \
    {                                                                                    \
        ULP_ENTER_ENVIRONMENT;                                                           \
        return ulp_said_text(&(SAID), result, MOST, width, colour, out, error);          \
    }
#define ULP_SAID_WRITE(NAME, TYPE, SAID)                                                   \
    enum ulp_status ulp_##NAME##_write(const struct TYPE *result, enum ulp_output_kind as, \
                                       const char *path, struct ulp_error *error)          \
    {                                                                                      \
        ULP_ENTER_ENVIRONMENT;                                                             \
        return ulp_said_write(&(SAID), result, as, path, error);                           \
    }
