/* Finding names that resemble a misspelt one. */
#include "base/text/suggest.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

enum { WORD_MAX = 255, NAMES_MAX = 3 };

int ulp_word_distance(const char *a, const char *b)
{
    int row[WORD_MAX + 1];
    const size_t length = strlen(b);
    if (length > WORD_MAX)
        return INT_MAX;
    for (size_t j = 0; j <= length; j++)
        row[j] = (int)j;
    for (size_t i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= length; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            best = best < row[j] + 1 ? best : row[j] + 1;
            best = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[length];
}

/* How far a name is from the word: one that holds it is nearer than any other, the shortest
 * first. */
static long measure_distance(const char *word, const char *name)
{
    const int distance = ulp_word_distance(word, name);
    if (strstr(name, word + strspn(word, "-")))
        return (long)strlen(name) - WORD_MAX * 16L;
    return distance <= 1 + (int)strlen(word) / 3 ? distance : LONG_MAX;
}

void ulp_suggest_names(struct ulp_text *out, const char *word, size_t count,
                       const char *(*name)(const void *context, size_t i), const void *context)
{
    const char *best[NAMES_MAX + 1];
    long distances[NAMES_MAX + 1];
    size_t found = 0;
    for (size_t i = 0; i < count && *word; i++) {
        const char *candidate = name(context, i);
        const long distance = measure_distance(word, candidate);
        size_t at = found;
        for (size_t k = 0; k < found; k++)
            if (strcmp(best[k], candidate) == 0)
                at = SIZE_MAX;
        if (distance == LONG_MAX || at == SIZE_MAX)
            continue;
        for (; at > 0 && distances[at - 1] > distance; at--) {
            best[at] = best[at - 1];
            distances[at] = distances[at - 1];
        }
        best[at] = candidate;
        distances[at] = distance;
        found += found < NAMES_MAX;
    }
    for (size_t k = 0; k < found; k++)
        ulp_text_add(out, "%s\"%s\"",
                     k == 0          ? " (did you mean "
                     : k + 1 < found ? ", "
                                     : " or ",
                     best[k]);
    ulp_text_add(out, found ? "?)" : "");
}
