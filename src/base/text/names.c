#include "base/text/names.h"

#include <stdint.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/random.h"

struct ulp_names_slot {
    const char *name; /* NULL: free */
    uint64_t hash;
    int number;
};

/* Eight bytes at a time through Philox. Names come from files, and a simpler hash lets a file be
 * written whose names all meet in one slot, which makes loading it quadratic. */
static uint64_t hash_name(const char *name)
{
    uint64_t hash = 0;
    for (size_t left = strlen(name) + 1; left;) {
        uint64_t word = 0;
        size_t count = left < sizeof word ? left : sizeof word;
        memcpy(&word, name, count);
        hash = ulp_random_bits(hash, word);
        name += count;
        left -= count;
    }
    return hash;
}

static struct ulp_names_slot *find_slot(const struct ulp_names *names, const char *name,
                                        uint64_t hash)
{
    size_t mask = names->capacity - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        struct ulp_names_slot *slot = &names->slots[i];
        if (!slot->name || (slot->hash == hash && strcmp(slot->name, name) == 0))
            return slot;
    }
}

void ulp_names_free(struct ulp_names *names)
{
    ulp_free(names->slots);
    *names = (struct ulp_names){.budget = names->budget};
}

int ulp_names_find(const struct ulp_names *names, const char *name)
{
    if (!names->count)
        return -1;
    const struct ulp_names_slot *slot = find_slot(names, name, hash_name(name));
    return slot->name ? slot->number : -1;
}

static bool grow(struct ulp_names *names)
{
    struct ulp_names larger = {.capacity = names->capacity ? 2 * names->capacity : 16,
                               .count = names->count,
                               .budget = names->budget};
    if (ulp_allocate_zero(&larger.slots, larger.capacity, sizeof *larger.slots, names->budget,
                          "a table of names", NULL) != ULP_OK)
        return false;
    for (size_t i = 0; i < names->capacity; i++)
        if (names->slots[i].name)
            *find_slot(&larger, names->slots[i].name, names->slots[i].hash) = names->slots[i];
    ulp_free(names->slots);
    *names = larger;
    return true;
}

bool ulp_names_add(struct ulp_names *names, const char *name, int number)
{
    if (2 * names->count >= names->capacity && !grow(names))
        return false;
    uint64_t hash = hash_name(name);
    *find_slot(names, name, hash) =
        (struct ulp_names_slot){.name = name, .hash = hash, .number = number};
    names->count++;
    return true;
}
