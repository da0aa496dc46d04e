/* What is judged: what crosses the limits of --fail-above, and what cannot be judged. */
#include <stdlib.h>

#include "cli/command.h"

enum ulp_status say_crossings(FILE *stream, const struct ulp_audit *audit, struct ulp_error *error)
{
    size_t crossed = 0;
    for (size_t l = 0; l < audit->limit_count; l++) {
        const struct ulp_audit_limit *limit = &audit->limits[l];
        for (size_t c = 0; c < limit->crossing_count; c++)
            say(stream, "limit crossed: %s: %s\n", limit->limit, limit->crossings[c].text);
        crossed += limit->crossing_count;
    }
    if (audit->limit_count == 1 && !crossed)
        say(stream, "the limit is met: %s\n", audit->limits[0].limit);
    else if (audit->limit_count && !crossed)
        say(stream, "all %zu limits are met\n", audit->limit_count);
    return judge(!crossed, error);
}

void forget_meant(struct ulp_unjudged_list *list)
{
    size_t kept = 0;
    for (size_t u = 0; u < list->count; u++)
        if (!list->items[u].is_input)
            list->items[kept++] = list->items[u];
    list->count = kept;
}

bool say_unjudged(FILE *stream, const char *before, const struct ulp_unjudged_list *list)
{
    struct ulp_error error;
    bool all = true;
    for (size_t u = 0; u < list->count; u++) {
        char *text = NULL;
        all = false;
        if (ulp_unjudged_text(&list->items[u], &text, &error) == ULP_OK)
            say(stream, "%scannot be judged: %s\n", before, text);
        free(text);
    }
    return all;
}
