/* Sets of named tensors. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
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
    *set = (struct ulp_tensor_set){0};
}

enum ulp_status ulp_tensor_set_add(struct ulp_tensor_set *set, const char *name,
                                   struct ulp_tensor *tensor, struct ulp_error *error)
{
    if ((set->count & (set->count - 1)) == 0) { /* full at 0, 1, 2, 4, ... */
        size_t capacity = set->count ? 2 * set->count : 1;
        struct ulp_named_tensor *items = realloc(set->items, capacity * sizeof *items);
        if (!items)
            return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
        set->items = items;
    }
    char *copy = strdup(name);
    if (!copy)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
    set->items[set->count++] = (struct ulp_named_tensor){.name = copy, .tensor = *tensor};
    *tensor = (struct ulp_tensor){0};
    return ULP_OK;
}

const struct ulp_tensor *ulp_tensor_set_find(const struct ulp_tensor_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].name, name) == 0)
            return &set->items[i].tensor;
    return NULL;
}
