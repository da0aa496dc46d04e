/* Aligned allocation charged to a budget, and the arena. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define ALIGNMENT 64

/* Lies in the ALIGNMENT bytes before each block handed out. */
struct header {
    struct ulp_budget *budget;
    size_t bytes;
};
_Static_assert(sizeof(struct header) <= ALIGNMENT, "the header fits before an aligned block");

static bool charge(struct ulp_budget *budget, size_t bytes)
{
    size_t used = atomic_fetch_add(&budget->used_bytes, bytes) + bytes;
    if (budget->limit_bytes && used > budget->limit_bytes) {
        atomic_fetch_sub(&budget->used_bytes, bytes);
        return false;
    }
    size_t peak = atomic_load(&budget->peak_bytes);
    while (used > peak && !atomic_compare_exchange_weak(&budget->peak_bytes, &peak, used))
        ;
    return true;
}

enum ulp_status ulp_allocate(void **out, size_t count, size_t element_bytes, struct ulp_budget *budget,
                             const char *what, struct ulp_error *error)
{
    size_t bytes, total;
    *out = NULL;
    if (!ulp_size_mul(count, element_bytes, &bytes) || !ulp_size_add(bytes, 2 * ALIGNMENT - 1, &total))
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s: %zu elements of %zu bytes are more than memory can address", what,
                        count, element_bytes);
    total = total / ALIGNMENT * ALIGNMENT;
    if (budget && !charge(budget, total))
        return ulp_fail(error, ULP_ERROR_MEMORY,
                        "%s: %zu bytes more would exceed the memory limit of %zu bytes (%zu in use); raise --max-memory",
                        what, bytes, budget->limit_bytes, atomic_load(&budget->used_bytes));
    char *block = aligned_alloc(ALIGNMENT, total);
    if (!block) {
        if (budget)
            atomic_fetch_sub(&budget->used_bytes, total);
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s: out of memory for %zu bytes", what, bytes);
    }
    *(struct header *)block = (struct header){.budget = budget, .bytes = total};
    *out = block + ALIGNMENT;
    return ULP_OK;
}

enum ulp_status ulp_allocate_zero(void **out, size_t count, size_t element_bytes, struct ulp_budget *budget,
                                  const char *what, struct ulp_error *error)
{
    enum ulp_status status = ulp_allocate(out, count, element_bytes, budget, what, error);
    if (status == ULP_OK)
        memset(*out, 0, count * element_bytes);
    return status;
}

void ulp_free(void *pointer)
{
    if (!pointer)
        return;
    char *block = (char *)pointer - ALIGNMENT;
    struct header header = *(struct header *)block;
    free(block);
    if (header.budget)
        atomic_fetch_sub(&header.budget->used_bytes, header.bytes);
}

/* Blocks double in size up to a limit, so that small graphs stay small. */
#define ARENA_FIRST_BYTES 4096
#define ARENA_BLOCK_BYTES (1u << 20)

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(16) char data[];
};
struct ulp_arena {
    struct arena_block *first;
};

enum ulp_status ulp_arena_create(struct ulp_arena **out, struct ulp_error *error)
{
    *out = calloc(1, sizeof **out);
    return *out ? ULP_OK : ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
}

void ulp_arena_free(struct ulp_arena *arena)
{
    if (!arena)
        return;
    for (struct arena_block *block = arena->first, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(arena);
}

void *ulp_arena_take(struct ulp_arena *arena, size_t count, size_t element_bytes)
{
    size_t bytes;
    if (!ulp_size_mul(count, element_bytes, &bytes) || !ulp_size_add(bytes, 15, &bytes))
        return NULL;
    bytes = bytes / 16 * 16;
    struct arena_block *block = arena->first;
    if (!block || block->size - block->used < bytes) {
        size_t size = !block ? ARENA_FIRST_BYTES : block->size < ARENA_BLOCK_BYTES ? 2 * block->size : ARENA_BLOCK_BYTES;
        size_t total;
        if (size < bytes)
            size = bytes;
        if (!ulp_size_add(size, sizeof *block, &total) || !(block = calloc(1, total)))
            return NULL;
        *block = (struct arena_block){.next = arena->first, .size = size};
        arena->first = block;
    }
    void *taken = block->data + block->used;
    block->used += bytes;
    return taken;
}

char *ulp_arena_text(struct ulp_arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX)
        return NULL;
    char *copy = ulp_arena_take(arena, length + 1, 1);
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}
