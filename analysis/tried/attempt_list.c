/* Which attempts there are against a cause: rows of attempt.def. */
#include "analysis/tried/tried.h"
#include "base/error.h"

enum lane { KEEP, CHANGE };
static const struct row {
    enum lane lane;
    const char *words;
    unsigned against;
    const char *what;
    double most;
} rows[] = {
#define OVERFLOW ULP_AGAINST_OVERFLOW
#define CONSTANT ULP_AGAINST_CONSTANT
#define SINGLE ULP_AGAINST_SINGLE
#define FACTOR ULP_AGAINST_FACTOR
#define WEIGHT ULP_AGAINST_WEIGHT
#define ATTEMPT(lane, words, against, what, most) {lane, words, against, what, most},
#include "analysis/tried/attempt.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

/* out: begins as the first. *applies: it is something else. */
static enum ulp_status make(const struct ulp_trouble *trouble, const struct row *row,
                            struct ulp_arena *memory, struct ulp_text *what,
                            struct ulp_attempt *out, bool *applies, struct ulp_error *error)
{
    const struct ulp_attempt *as_is = &trouble->as_is;
    struct ulp_error ignored;
    *applies = true;
    if (row->lane == CHANGE) {
        *applies = ulp_arithmetic_change(&out->arithmetic, &as_is->arithmetic, row->words,
                                         &ignored) == ULP_OK;
        ulp_text_add(what, *row->what ? "%s %.5g" : "%s", *row->what ? row->what : row->words,
                     row->most > 0 ? row->most : as_is->arithmetic.storage.max_finite);
        return ULP_OK;
    }
    struct ulp_keep *keeps, keep = {.nodes = trouble->nodes, .node_count = trouble->node_count};
    ULP_TRY(ulp_arithmetic_find(row->words, &keep.arithmetic, error));
    *applies = keep.node_count && keep.arithmetic.storage.max_finite > trouble->largest;
    ULP_TAKE(keeps, memory, as_is->keeps.count + 1, error);
    for (size_t k = 0; k < as_is->keeps.count; k++)
        keeps[k] = as_is->keeps.items[k];
    keeps[as_is->keeps.count] = keep;
    out->keeps = (struct ulp_keeps){.count = as_is->keeps.count + 1, .items = keeps};
    out->changed = keep.node_count;
    out->in = row->what;
    ulp_text_add(what, "keep %zu node%s in %s", keep.node_count, keep.node_count == 1 ? "" : "s",
                 row->what);
    return ULP_OK;
}

static bool is_there(const struct ulp_attempt *items, size_t count, const struct ulp_attempt *one)
{
    bool there = false;
    for (size_t i = 0; i < count && !one->changed; i++)
        there |= !items[i].changed && strcmp(items[i].arithmetic.name, one->arithmetic.name) == 0;
    return there;
}

enum ulp_status ulp_attempts_list(const struct ulp_trouble *trouble, struct ulp_arena *memory,
                                  struct ulp_attempt **items, size_t *count,
                                  struct ulp_error *error)
{
    ULP_TAKE(*items, memory, 1 + ROWS, error);
    (*items)[0] = trouble->as_is;
    *count = 1;
    for (size_t r = 0; r < ROWS; r++) {
        struct ulp_attempt *item = &(*items)[*count];
        ULP_SCOPED(ulp_text_free) struct ulp_text what = {0};
        bool applies = false;
        *item = trouble->as_is;
        if (rows[r].against & trouble->against)
            ULP_TRY(make(trouble, &rows[r], memory, &what, item, &applies, error));
        if (!applies || is_there(*items, *count, item))
            continue;
        item->what = ulp_text_keep(&what, memory);
        ULP_TRY(ulp_taken(item->what, error));
        if (item->changed)
            item->keeps.name = item->what;
        ++*count;
    }
    return ULP_OK;
}
