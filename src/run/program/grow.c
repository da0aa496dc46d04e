/* Growing the arrays of a program that is being built. */
#include <string.h>

#include "run/program/program.h"

bool ulp_program_grow(struct ulp_arena *arena, void *array_pointer, size_t count, size_t *capacity,
                      size_t bytes)
{
    if (count < *capacity)
        return true;
    size_t wanted = *capacity ? 2 * *capacity : 16;
    void *grown = ulp_arena_take(arena, wanted, bytes), *old;
    if (!grown)
        return false;
    memcpy(&old, array_pointer, sizeof old);
    if (count)
        memcpy(grown, old, count * bytes);
    memcpy(array_pointer, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}
