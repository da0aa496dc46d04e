/* Two engines in words. */
#include <math.h>

#include "analysis/engine/words.h"
#include "analysis/writing/columns.h"

/* How much of the squared error goes with the change undone; negative: undone, it grows. */
static double share(const struct ulp_engine_map_changes *changes,
                    const struct ulp_engine_map_change *change)
{
    const double ratio = change->without / changes->second;
    return changes->second > 0 ? 1 - ratio * ratio : 0;
}

void ulp_engine_changes_say(struct ulp_headline *head, const struct ulp_engine_map_changes *changes)
{
    size_t types = 0, accumulators = 0, fusions = 0;
    const struct ulp_engine_map_change *most = NULL;
    const bool computed = !isnan(changes->second);
    ulp_text_free(&head->what);
    for (size_t c = 0; c < changes->count; c++) {
        const struct ulp_engine_map_change *change = &changes->items[c];
        types += change->type;
        accumulators += change->accumulator;
        fusions += change->fusion;
        if (computed && (!most || change->without < most->without))
            most = change;
    }
    if (!changes->count) {
        ulp_text_add(&head->what, "Both engines compute every node by the same kernels.");
        return;
    }
    if (computed)
        ulp_text_show(&head->what, "The second engine's error at %s is %.2e of its size, ",
                      changes->output, changes->second);
    if (computed && changes->first > 0)
        ulp_text_add(&head->what, "%.3g times the first's. ", changes->second / changes->first);
    else if (computed)
        ulp_text_add(&head->what, "the first's %.2e. ", changes->first);
    ulp_text_add(&head->what,
                 "%zu layers differ: %zu in a type, %zu in the accumulator, %zu in fusion, the "
                 "others in the kernel alone.",
                 changes->count, types, accumulators, fusions);
    if (most && share(changes, most) > 0.01)
        ulp_text_show(&head->what, " Most of it goes with %s as in the first: %.0f %%.",
                      changes->bad->layers[most->layer].layer->name, 100 * share(changes, most));
}
