/* What is judged: what crosses the limits of --fail-above, and what cannot be judged. */
#include <stdlib.h>

#include "cli/command.h"

enum ulp_status say_crossings(FILE *stream, const struct ulp_audit *audit,
                              const char *const *limits, size_t count, bool allow_nonfinite_inputs,
                              struct ulp_error *error)
{
    bool met = true;
    for (size_t i = 0; i < count; i++) {
        struct ulp_crossing_list crossings;
        ULP_TRY(ulp_audit_check(audit, limits[i], allow_nonfinite_inputs, &crossings, error));
        for (size_t c = 0; c < crossings.count; c++) {
            char *text = NULL;
            if (ulp_crossing_text(&crossings.items[c], limits[i], &text, error) == ULP_OK)
                say(stream, "limit crossed: %s: %s\n", limits[i], text);
            free(text);
        }
        met &= !crossings.count;
        free(crossings.items);
    }
    if (count == 1 && met)
        say(stream, "the limit is met: %s\n", limits[0]);
    else if (count && met)
        say(stream, "all %zu limits are met\n", count);
    return judge(met, error);
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
