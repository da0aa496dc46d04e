/* Which arithmetics are near those asked about: with one thing changed, so that a recording made
 * otherwise than was asked for is told by what it was made with. */
#include <string.h>

#include "analysis/compare/comparing.h"
#include "ops/product/saturating.h"
#include "base/error.h"

/* More than there can be of one arithmetic: formats, accumulators, partial sums, fusion, factors,
 * integers. */
#define NEIGHBOURS_MAX 24

struct neighbours {
    struct ulp_arithmetic *items; /* those asked about first */
    size_t count, capacity;
};

/* The name read again: what is refused as meaningless, or is there, is no neighbour. */
static void add_named(struct neighbours *all, struct ulp_text *name)
{
    struct ulp_arithmetic found;
    struct ulp_error ignored;
    bool is_new = !name->failed && all->count < all->capacity &&
                  ulp_arithmetic_find(name->data, &found, &ignored) == ULP_OK;
    for (size_t a = 0; a < all->count && is_new; a++)
        is_new = strcmp(all->items[a].name, found.name) != 0;
    if (is_new)
        all->items[all->count++] = found;
    ulp_text_free(name);
}

/* The name without the part that begins so, and with `more` behind it. */
static void add_changed(struct neighbours *all, const char *name, const char *part,
                        const char *more)
{
    struct ulp_text text = {0};
    const char *at = part ? strstr(name, part) : NULL;
    const size_t before = at ? (size_t)(at - name) : strlen(name);
    const char *rest = at ? strchr(at + 1, ',') : NULL;
    ulp_text_add(&text, "%.*s%s%s", (int)before, name, rest ? rest : "", more);
    add_named(all, &text);
}

/* The usual formats in the place of the name's, with the parts that still mean something. */
static void add_formats(struct neighbours *all, const char *name)
{
    static const char *const formats[] = {"fp32", "tf32", "bf16", "fp16"};
    const char *colon = strchr(name, ':'), *word = colon ? colon + 1 : name;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        const bool has_one = strncmp(word, formats[f], 4) == 0;
        for (size_t o = 0; o < sizeof formats / sizeof *formats && has_one; o++) {
            struct ulp_text text = {0};
            ulp_text_add(&text, "%.*s%s%s", (int)(word - name), name, formats[o], word + 4);
            add_named(all, &text);
        }
    }
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        add_changed(all, formats[f], NULL, "");
}

static void add_near(struct neighbours *all, const struct ulp_arithmetic *asked, bool quantised,
                     bool saturating)
{
    const char *name = asked->name;
    add_formats(all, name);
    add_changed(all, "fp16-strict", NULL, "");
    add_changed(all, "fp16,acc=fp16", NULL, "");
    add_changed(all, name, ",acc=", "");
    if (strcmp(asked->storage.name, "fp16") == 0)
        add_changed(all, name, ",acc=", ",acc=fp16");
    add_changed(all, name, ",fuse=", "");
    add_changed(all, name, ",fuse=", ",fuse=reduce");
    if (strstr(name, ",split-k=")) { /* Ampere's and Ada's, and back */
        add_changed(all, name, ",partials=", "");
        add_changed(all, name, ",partials=", ",partials=workspace");
        add_changed(all, name, ",partials=", ",partials=serial");
        add_changed(all, name, ",partials=", ",partials=rounded");
    }
    if (strstr(name, "factor=")) { /* fake quantisation, the unit, and what it would be in BF16 */
        add_changed(all, name, ",unit=", ",unit=none");
        add_changed(all, name, ",unit=", "");
        add_changed(all, name, ",factor=", ",factor=bf16");
        add_changed(all, name, ",factor=", ",factor=fp8-e4m3");
    }
    if (quantised)
        add_changed(all, name, ",qdq=", ",qdq=integer");
    if (strcmp(asked->storage.name, "fp32") == 0) /* whose functions are its own */
        add_changed(all, quantised ? "ort-cpu,qdq=integer" : "ort-cpu", NULL, "");
    if (saturating && !asked->schedule.integers_saturate) { /* on another processor */
        add_changed(all, name, ",integers=", ",integers=saturating16");
        if (quantised)
            add_changed(all, name, ",qdq=", ",qdq=integer,integers=saturating16");
    } else if (saturating) {
        add_changed(all, name, ",integers=", "");
    }
}

enum ulp_status ulp_compare_add_neighbours(const struct ulp_comparing *comparing,
                                           struct ulp_compare_options *changed,
                                           struct ulp_arena **memory, struct ulp_error *error)
{
    const struct ulp_compare_options *options = comparing->options;
    if (options->keeps)
        return ULP_OK;
    ULP_TRY(ulp_arena_create(memory, ulp_model_budget(comparing->model), error));
    struct neighbours all = {.capacity = options->arithmetic_count * (1 + NEIGHBOURS_MAX)};
    ULP_TAKE(all.items, *memory, all.capacity, error);
    for (; all.count < options->arithmetic_count; all.count++)
        all.items[all.count] = options->arithmetics[all.count];
    const bool quantised = ulp_model_has_operator(comparing->model, "DequantizeLinear");
    const bool saturating = ulp_saturating_any(comparing->model);
    for (size_t a = 0; a < options->arithmetic_count; a++)
        add_near(&all, &options->arithmetics[a], quantised, saturating);
    *changed = *options;
    changed->arithmetics = all.items;
    changed->arithmetic_count = all.count;
    return ULP_OK;
}
