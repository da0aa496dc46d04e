/* How a document is made of rows of document.def, between document.c and document_places.c. */
#pragma once

#include "analysis/writing/document.h"

enum row_kind {
    ROW_KIND,
    ROW_LEVEL,
    ROW_TABLE,
    ROW_SORT,
    ROW_SORT_WORST,
    ROW_SORT_LEAST,
    ROW_PAGE,
    ROW_MOST,
    ROW_LISTED,
    ROW_WHERE,
    ROW_GROUP,
    ROW_COLUMN,
    ROW_MARK,
    ROW_CURVE,
    ROW_LINE,
    ROW_NOTE,
    ROW_HOW,
    ROW_END
};
/* What makes a cell good or bad. */
enum rule { RULE_NONE, RULE_WORD, RULE_FLAG, RULE_OVER, RULE_ANY, RULE_BAD, RULE_GAIN };
struct row {
    enum row_kind kind;
    const char *text[9];
    int level, as, rule;
    bool wide;
};
enum { WIDE = 1 };

struct making {
    struct ulp_document *document;
    const struct row *kind;
    struct ulp_error *error;
    enum ulp_status status;
};

enum { CONDITIONS = 3 }; /* of a table */
/* The places at a path that the conditions hold for. */
struct places {
    struct making *making;
    const char *conditions[CONDITIONS];
    size_t condition_count;
    struct ulp_json_place *items;
    size_t count, room;
};

/* The text with what it names, in the document's memory; NULL: something that it names is not
 * there, or out of memory. */
const char *ulp_expand(struct making *making, const struct ulp_json_place *place, const char *text,
                       const char *between);
/* The places at the path from there for which the table's conditions (NULL: none) hold. */
struct places ulp_list_places(struct making *making, const struct ulp_json_place *from,
                              const char *path, const struct row *table);
void ulp_free_places(struct places *places);
/* By the SORT rows of the table. */
enum ulp_status ulp_sort_places(const struct row *table, struct places *places,
                                struct ulp_error *error);
const struct row *ulp_find_behind(const struct row *row);
enum ulp_tile_level ulp_level_of_word(const char *word);
