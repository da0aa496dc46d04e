/* What a result says, said once: blocks, made of its JSON by the rows of document.def, which
 * terminal, page, Markdown and CSV show alike. A saved result gives the same document as one that
 * was just made. */
#pragma once

#include <jansson.h>

#include "analysis/writing/columns.h"
#include "analysis/writing/first_screen.h"
#include "base/memory/alloc.h"

enum ulp_block_kind {
    ULP_BLOCK_HEADLINE, /* what, why and what to do of one result */
    ULP_BLOCK_TABLE,
    ULP_BLOCK_MARK,  /* what nodes of the graph are coloured by: rows of a node and a value */
    ULP_BLOCK_CURVE, /* what the lines behind it are drawn in */
    ULP_BLOCK_LINE,  /* rows of x and y */
    ULP_BLOCK_NOTE,  /* what else is said: a term and text */
    ULP_BLOCK_HOW    /* how figures were obtained: a term and lines of text; not on a terminal */
};

/* How a cell is written. Those up to NODE are texts. */
enum ulp_cell_as {
    ULP_AS_TEXT,
    ULP_AS_NAME, /* may be long */
    ULP_AS_NODE, /* a name that leads to the node, by its number where the cell has one */
    ULP_AS_WHOLE,
    ULP_AS_FIGURE,
    ULP_AS_TENTHS,
    ULP_AS_SHARE /* of 1 */
};
struct ulp_document_cell {
    const char *text; /* NULL: the number, NaN where there is none */
    double number;
    enum ulp_tile_level level;
    ptrdiff_t node; /* -1: not known */
};
struct ulp_document_column {
    const char *title;
    enum ulp_cell_as as;
    bool wide; /* not on a terminal, which has no room for it */
};
/* The cell as text and Markdown have it; out may be used for it. */
struct ulp_document_cell;
const char *ulp_document_cell_say(char *out, size_t bytes, const struct ulp_document_column *column,
                                  const struct ulp_document_cell *cell);

struct ulp_document_block {
    enum ulp_block_kind kind;
    enum ulp_tile_level level;
    /* Of a headline the name of what it is about, what, why, what to do and what stands beside it;
     * of a table the section, its title and note; of a mark the lane that it is of, key, title,
     * hint, scale, words and their colours, with | between them; of a curve title, unit and note;
     * of a line its name; of how the term and its text. NULL: none */
    const char *text[7];
    bool page;           /* of a table: not on a terminal */
    bool listed;         /* of a table: not on the page, whose list of nodes has it */
    size_t most;         /* of a table: rows of the largest, which are all that is meant; 0: all */
    const json_t *tiles; /* of a headline, borrowed */
    struct ulp_document_column *columns;
    size_t column_count, row_count;
    struct ulp_document_cell *cells; /* row by row */
};

struct ulp_document {
    const char *title, *model; /* "Overflow forecast"; the path of the model */
    struct ulp_document_block *blocks;
    size_t block_count, room;
    struct ulp_arena *memory; /* NULL: there was not enough */
};

/* The document of a result of that kind; free it with ulp_document_free. It refers to the root. */
enum ulp_status ulp_document_make(const char *kind, const json_t *root, struct ulp_document *out,
                                  struct ulp_error *error);
void ulp_document_free(struct ulp_document *document);
/* The kind of result that a file has, by its members; NULL: none that is known. */
const char *ulp_document_kind(const json_t *root);

/* {title, model, blocks} for the page's script. NULL: out of memory. */
json_t *ulp_document_page(const struct ulp_document *document);
/* As a comment on a pull request has it: the headlines, then a table for each. */
void ulp_document_markdown(const struct ulp_document *document, struct ulp_text *out);
/* What a terminal shows: headlines, notes, and of each table at most so many rows (0: all). Frees
 * the JSON; NULL: out of memory. */
enum { ULP_DOCUMENT_ROWS = 12 };
void ulp_page_document(const struct ulp_page *page, const char *kind, json_t *root, size_t most);
/* The same as a text, which the caller frees. */
enum ulp_status ulp_document_text(const char *kind, json_t *root, size_t most, int width,
                                  bool colour, char **out, struct ulp_error *error);

/* ---- document_path.c: what stands at a path in JSON ---- */

/* A value, and the one that it was found in; NULL: it is the root. */
struct ulp_json_place {
    const json_t *value;
    const struct ulp_json_place *up;
};
/* Calls `use` for each value at the path: members with dots between them, of lists each element's;
 * before them / for the root, or ^ for each place further up. Ends where `use` returns false. */
typedef bool ulp_use_place(const struct ulp_json_place *place, void *context);
bool ulp_json_visit(const struct ulp_json_place *place, const char *path, ulp_use_place *use,
                    void *context);
/* The first of them; of "A / B" the quotient. NaN, NULL: there is none, or of another kind. */
double ulp_json_number_at(const struct ulp_json_place *place, const char *path);
const char *ulp_json_text_at(const struct ulp_json_place *place, const char *path);
/* Is any value there true, not 0 and not empty; of "path=word" that word, of "path=@other" the text
 * at the other path; "path<1": is the number less; and "!path": is there none? */
bool ulp_json_holds(const struct ulp_json_place *place, const char *condition);
/* The text with what stands at {path} in its place, at {path%} in per cent, lists with `between`,
 * at most 20 of them. False: one of the paths leads to nothing. */
bool ulp_json_expand(struct ulp_text *out, const struct ulp_json_place *place, const char *text,
                     const char *between);
