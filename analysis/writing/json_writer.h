/* Writing a JSON document as it is made: one value of it at a time is in memory. Or the same calls
 * make it in memory. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/text/text.h"

enum { ULP_JSON_DEPTH = 16 }; /* of a document that is made in memory */

struct ulp_struct;

/* What is open: the writer stands in an object or array at that depth. */
struct ulp_json_writer {
    struct ulp_text *out; /* NULL: into root */
    int depth;
    bool empty;      /* nothing is in it yet */
    bool failed;     /* out of memory */
    unsigned digits; /* of figures, in a text; 0: all that doubles have */
    /* the result that is written, whose lists indexes are into */
    const struct ulp_struct *type;
    const void *result;
    json_t *root, *open[ULP_JSON_DEPTH]; /* without `out`: what is made, and what is open in it */
};

/* An object ('{') or array ('['); key: in an object, else NULL. */
void ulp_json_open(struct ulp_json_writer *writer, const char *key, char bracket);
void ulp_json_close(struct ulp_json_writer *writer, char bracket);
/* Write a value and free it; NULL: there was no memory for it. */
void ulp_json_put(struct ulp_json_writer *writer, const char *key, json_t *value);
/* What was made in memory; NULL: there was none for it. */
json_t *ulp_json_made(struct ulp_json_writer *writer);
