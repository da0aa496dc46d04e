/* Two engines in words. */
#include <math.h>
#include <stdlib.h>

#include "analysis/engine/words.h"
#include "analysis/writing/columns.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/memory/alloc.h"

/* How much of the squared error goes with the change undone; negative: undone, it grows. */
static double share(const struct ulp_engine_map_changes *changes,
                    const struct ulp_engine_map_change *change)
{
    const double ratio = change->without / changes->second;
    return changes->second > 0 ? 1 - ratio * ratio : 0;
}

static bool is_computed(const struct ulp_engine_map_changes *changes)
{
    return !isnan(changes->second);
}

static void add_kinds(struct ulp_text *out, const struct ulp_engine_map_change *change)
{
    const struct {
        bool differs;
        const char *word;
    } kinds[] = {{change->type, "type"},
                 {change->accumulator, "accumulator"},
                 {change->fusion, "fusion"},
                 {change->kernel, "kernel"}};
    bool any = false;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (!kinds[k].differs)
            continue;
        ulp_text_add(out, "%s%s", any ? ", " : "", kinds[k].word);
        any = true;
    }
}

static void add_change_verdict(const struct ulp_page *page,
                               const struct ulp_engine_map_changes *changes)
{
    size_t types = 0, accumulators = 0, fusions = 0;
    const struct ulp_engine_map_change *most = NULL;
    for (size_t c = 0; c < changes->count; c++) {
        const struct ulp_engine_map_change *change = &changes->items[c];
        types += change->type;
        accumulators += change->accumulator;
        fusions += change->fusion;
        if (is_computed(changes) && (!most || change->without < most->without))
            most = change;
    }
    ulp_text_add(page->out, "%s", page->bold);
    if (is_computed(changes) && changes->first > 0)
        ulp_text_show(page->out,
                      "The second engine's error at %s is %.2e of its size, %.3g times the "
                      "first's. ",
                      changes->output, changes->second, changes->second / changes->first);
    else if (is_computed(changes))
        ulp_text_show(page->out,
                      "The second engine's error at %s is %.2e of its size, the first's %.2e. ",
                      changes->output, changes->second, changes->first);
    ulp_text_add(page->out,
                 "%zu layers differ: %zu in a type, %zu in the accumulator, %zu in fusion, the "
                 "others in the kernel alone.",
                 changes->count, types, accumulators, fusions);
    if (most && share(changes, most) > 0.01)
        ulp_text_show(page->out, " Most of it goes with %s as in the first: %.0f %%.",
                      changes->bad->layers[most->layer].layer->name, 100 * share(changes, most));
    ulp_text_add(page->out, "%s\n", page->off);
}

struct place {
    const struct ulp_engine_map_change *change;
    size_t index;
};

/* The largest share first; without figures the order of the engine. */
static int by_share(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->change->without < y->change->without)
        return -1;
    if (x->change->without > y->change->without)
        return 1;
    return x->index < y->index ? -1 : 1;
}

static void add_change(const struct ulp_page *page, const struct ulp_engine_map_changes *changes,
                       const struct ulp_engine_map_change *change)
{
    ulp_text_add(page->out, "  ");
    if (is_computed(changes))
        ulp_text_add(page->out, " %5.1f %%  ", 100 * share(changes, change));
    ulp_page_name(page, changes->bad->layers[change->layer].layer->name,
                  is_computed(changes) ? 12 : 2);
    ulp_text_add(page->out, "\n      ");
    add_kinds(page->out, change);
    ulp_text_add(page->out, ": %s; was %s\n", change->is, change->was);
}

static enum ulp_status add_changes(const struct ulp_page *page,
                                   const struct ulp_engine_map_changes *changes, size_t shown,
                                   struct ulp_error *error)
{
    void *memory;
    ULP_TRY(
        ulp_allocate(&memory, changes->count, sizeof(struct place), NULL, "the changes", error));
    struct place *places = memory;
    for (size_t c = 0; c < changes->count; c++)
        places[c] = (struct place){&changes->items[c], c};
    qsort(places, changes->count, sizeof *places, by_share);
    ulp_text_add(page->out, "\n%slayers of the second that differ%s%s\n", page->bold, page->off,
                 is_computed(changes) ? ": how much of its squared error goes when they are as in "
                                        "the first"
                                      : "");
    for (size_t c = 0; c < changes->count && (!shown || c < shown); c++)
        add_change(page, changes, places[c].change);
    if (shown && changes->count > shown)
        ulp_text_add(page->out, "  ... and %zu more (--show 0 lists all)\n",
                     changes->count - shown);
    ulp_free(memory);
    return ULP_OK;
}

enum ulp_status ulp_engine_map_changes_text(const struct ulp_engine_map_changes *changes,
                                            size_t shown, int width, bool colour, char **out,
                                            struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_text text = {0};
    const struct ulp_page page = ulp_page_make(&text, width, colour);
    enum ulp_status status = ULP_OK;
    if (changes->count == 0) {
        ulp_text_add(&text, "%sBoth engines compute every node by the same kernels.%s\n", page.bold,
                     page.off);
    } else {
        add_change_verdict(&page, changes);
        status = add_changes(&page, changes, shown, error);
    }
    return ulp_page_take(&text, status, out, error);
}
