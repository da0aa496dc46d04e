/* Lists of objects as columns, for pages: ten thousand nodes with hundred figures each have every
 * key once.
 *
 *     a list of objects   {"n": count, "c": COLUMN}
 *     COLUMN of scalars   [1, 2, null, ...], or {"s": 1} when all are equal
 *     of objects          {"o": {"key": COLUMN, ...}}, with "p": "0110..." where some are absent
 *     of lists            {"l": [lengths, -1: absent], "e": COLUMN of all their elements}
 *     of nothing          null
 *
 * Reals keep six significant digits. Characters beside ASCII, and those that HTML gives a meaning
 * to, are written as \uXXXX, so that no text can end the element that it stands in. */
#ifndef ULP_ANALYSIS_HTML_PACK_H
#define ULP_ANALYSIS_HTML_PACK_H

#include <jansson.h>

#include "base/text/text.h"

struct ulp_html_pack;

/* Zero or more columns; NULL: out of memory. */
struct ulp_html_pack *ulp_html_pack_create(void);
void ulp_html_pack_free(struct ulp_html_pack *pack);
/* Add a value, freed here, as the next element; NULL: there was no memory for it. Elements are of
 * one kind, that of the first which is not null; others become null. */
void ulp_html_pack_add(struct ulp_html_pack *pack, json_t *value);
/* Write the list; false: memory was short at some time. */
bool ulp_html_pack_put(const struct ulp_html_pack *pack, struct ulp_text *out);

/* Any value; lists of several objects in it as columns. False: out of memory. */
bool ulp_html_pack_value(const json_t *value, struct ulp_text *out);
/* A string between quotation marks. */
bool ulp_html_pack_string(const char *text, struct ulp_text *out);

#endif
