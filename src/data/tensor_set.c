/* Sets of named tensors. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/text/names.h"
#include "data/data.h"

void ulp_tensor_set_free(struct ulp_tensor_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++) {
        free(set->items[i].name);
        ulp_tensor_free(&set->items[i].tensor);
    }
    free(set->items);
    if (set->names)
        ulp_names_free(set->names);
    free(set->names);
    *set = (struct ulp_tensor_set){0};
}

static bool grow(struct ulp_tensor_set *set)
{
    if (!set->names && !(set->names = calloc(1, sizeof *set->names)))
        return false;
    if ((set->count & (set->count - 1)) != 0) /* full at 0, 1, 2, 4, ... */
        return true;
    size_t capacity = set->count ? 2 * set->count : 1;
    struct ulp_named_tensor *items = realloc(set->items, capacity * sizeof *items);
    if (items)
        set->items = items;
    return items != NULL;
}

enum ulp_status ulp_tensor_set_add(struct ulp_tensor_set *set, const char *name,
                                   struct ulp_tensor *tensor, struct ulp_error *error)
{
    char *copy = strdup(name);
    if (!copy || set->count > INT_MAX || !grow(set) ||
        (ulp_names_find(set->names, copy) < 0 &&
         !ulp_names_add(set->names, copy, (int)set->count))) {
        free(copy);
        return ulp_out_of_memory(error);
    }
    set->items[set->count++] = (struct ulp_named_tensor){.name = copy, .tensor = *tensor};
    *tensor = (struct ulp_tensor){0};
    return ULP_OK;
}

const struct ulp_tensor *ulp_tensor_set_find(const struct ulp_tensor_set *set, const char *name)
{
    int at = set->names ? ulp_names_find(set->names, name) : -1;
    return at < 0 ? NULL : &set->items[at].tensor;
}
