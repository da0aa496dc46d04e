/* Hints for misspelt words. */
#pragma once

#include <stddef.h>

#include "base/text/text.h"

/* Levenshtein's distance between two words; INT_MAX when b is longer than 255 characters. */
int ulp_word_distance(const char *a, const char *b);

/* Add ` (did you mean "A", "B" or "C"?)` with the nearest of count names, name(context, i), or
 * nothing. Names that hold the word are near, and those a third of it away. */
void ulp_suggest_names(struct ulp_text *out, const char *word, size_t count,
                       const char *(*name)(const void *context, size_t i), const void *context);
