/* Figures as bytes, the same on every machine, and back. One function for each structure calls
 * these for its fields, and so writes or reads it. Numbers are eight bytes, the low one first; a
 * double is its bits. What is read comes from a file: counts and indexes are checked before they
 * are used. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/alloc.h"
#include "base/text/text.h"

struct ulp_coder {
    struct ulp_text *out; /* NULL: reading */
    const unsigned char *at, *end;
    struct ulp_arena *arena; /* of what is read */
    bool wrong, no_memory;   /* further calls read zeros */
    size_t index_count;      /* of what indexes point to: the reader's own */
};
void ulp_code_number(struct ulp_coder *coder, uint64_t *number);
void ulp_code_double(struct ulp_coder *coder, double *value);
void ulp_code_size(struct ulp_coder *coder, size_t *size);
void ulp_code_flag(struct ulp_coder *coder, bool *flag);
/* -1, or below count. */
void ulp_code_index(struct ulp_coder *coder, ptrdiff_t *index, size_t count);
/* A count of things of which each takes eight bytes at least. */
void ulp_code_count(struct ulp_coder *coder, size_t *count);
/* NULL is kept apart from the empty text. */
void ulp_code_text(struct ulp_coder *coder, char **text);
/* Memory of the arena for count things that are read, and one more; NULL: no_memory. */
void *ulp_code_take(struct ulp_coder *coder, size_t count, size_t bytes);
