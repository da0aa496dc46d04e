/* A hash table of values by the address of their name, with open addressing; entries are never
 * removed singly. */
#include "analysis/audit/taint.h"

#include <stdint.h>

#include "base/memory/alloc.h"

struct ulp_taint *ulp_taint_find(const struct ulp_taint_set *set, const char *name)
{
    if (!set->capacity)
        return NULL;
    for (size_t i = (uintptr_t)name * 0x9E3779B97F4A7C15u >> 20;; i++) {
        struct ulp_taint *slot = &set->slots[i % set->capacity];
        if (slot->name == name)
            return slot;
        if (!slot->name)
            return NULL;
    }
}

bool ulp_taint_add(struct ulp_taint_set *set, struct ulp_taint taint)
{
    if (2 * (set->count + 1) > set->capacity) {
        struct ulp_taint_set grown = {.capacity = set->capacity ? 2 * set->capacity : 64,
                                      .budget = set->budget};
        void *slots;
        if (ulp_allocate_zero(&slots, grown.capacity, sizeof *grown.slots, set->budget,
                              "what is known of values", NULL) != ULP_OK)
            return false;
        grown.slots = slots;
        for (size_t i = 0; i < set->capacity; i++)
            if (set->slots[i].name)
                ulp_taint_add(&grown, set->slots[i]);
        ulp_free(set->slots);
        *set = grown;
    }
    size_t i = (uintptr_t)taint.name * 0x9E3779B97F4A7C15u >> 20;
    while (set->slots[i % set->capacity].name && set->slots[i % set->capacity].name != taint.name)
        i++;
    set->count += !set->slots[i % set->capacity].name;
    set->slots[i % set->capacity] = taint;
    return true;
}

void ulp_taint_clear(struct ulp_taint_set *set)
{
    ulp_free(set->slots);
    *set = (struct ulp_taint_set){.budget = set->budget};
}
