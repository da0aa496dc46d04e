/* Aligned allocation charged to a budget, and the arena. */
#include "base/alloc.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define ALIGNMENT 64

/* Under AddressSanitizer what lies behind a block, up to its rounded size, and between the pieces
 * of an arena may not be touched. */
#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define GAP_BYTES 16
#define FORBID(start, bytes) ASAN_POISON_MEMORY_REGION(start, bytes)
#define ALLOW(start, bytes) ASAN_UNPOISON_MEMORY_REGION(start, bytes)
#else
#define GAP_BYTES 0
#define FORBID(start, bytes) ((void)0)
#define ALLOW(start, bytes) ((void)0)
#endif

/* Lies in the ALIGNMENT bytes before each block handed out. */
struct header {
    struct ulp_budget *budget;
    size_t bytes;    /* charged */
    size_t capacity; /* of the whole block; more than bytes when it was another's before */
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

/* Smaller blocks come cheap from malloc, which does not give their pages back. */
#define KEPT_BYTES_MIN ((size_t)64 << 10)

/* Held for a walk over ULP_BUDGET_BLOCKS entries at most. */
static void lock(struct ulp_budget *budget)
{
    while (atomic_exchange_explicit(&budget->locked, true, memory_order_acquire))
        sched_yield();
}

static void unlock(struct ulp_budget *budget)
{
    atomic_store_explicit(&budget->locked, false, memory_order_release);
}

static struct ulp_kept_block remove_kept(struct ulp_budget *budget, size_t index)
{
    struct ulp_kept_block removed = budget->kept[index];
    budget->kept_count--;
    budget->kept_bytes -= removed.bytes;
    memmove(&budget->kept[index], &budget->kept[index + 1],
            (budget->kept_count - index) * sizeof removed);
    return removed;
}

/* The smallest kept block that holds total bytes and wastes at most a quarter of them; else NULL,
 * and the oldest blocks are freed until a new one fits below the peak. The new bytes are charged
 * already. */
static void *take_kept(struct ulp_budget *budget, size_t total, size_t *capacity)
{
    struct ulp_kept_block found = {.block = NULL};
    size_t best = SIZE_MAX;
    lock(budget);
    for (size_t i = 0; i < budget->kept_count; i++)
        if (budget->kept[i].bytes >= total && budget->kept[i].bytes - total <= total / 4 &&
            (best == SIZE_MAX || budget->kept[i].bytes < budget->kept[best].bytes))
            best = i;
    if (best != SIZE_MAX)
        found = remove_kept(budget, best);
    while (!found.block && budget->kept_count &&
           atomic_load(&budget->used_bytes) + budget->kept_bytes > atomic_load(&budget->peak_bytes))
        free(remove_kept(budget, 0).block);
    unlock(budget);
    *capacity = found.block ? found.bytes : total;
    return found.block;
}

/* Keep a block that is charged no longer; false: it does not fit below the peak. */
static bool keep_block(struct ulp_budget *budget, void *block, size_t capacity)
{
    lock(budget);
    if (budget->kept_count == ULP_BUDGET_BLOCKS)
        free(remove_kept(budget, 0).block);
    bool keep = atomic_load(&budget->used_bytes) + budget->kept_bytes + capacity <=
                atomic_load(&budget->peak_bytes);
    if (keep) {
        budget->kept[budget->kept_count++] = (struct ulp_kept_block){block, capacity};
        budget->kept_bytes += capacity;
    }
    unlock(budget);
    return keep;
}

void ulp_budget_clear(struct ulp_budget *budget)
{
    while (budget->kept_count)
        free(remove_kept(budget, budget->kept_count - 1).block);
}

enum ulp_status ulp_allocate(void **out, size_t count, size_t element_bytes,
                             struct ulp_budget *budget, const char *what, struct ulp_error *error)
{
    size_t bytes, total;
    *out = NULL;
    if (!ulp_size_mul(count, element_bytes, &bytes) ||
        !ulp_size_add(bytes, 2 * ALIGNMENT - 1, &total))
        return ulp_fail(error, ULP_ERROR_MEMORY,
                        "%s: %zu elements of %zu bytes are more than memory can address", what,
                        count, element_bytes);
    total = total / ALIGNMENT * ALIGNMENT;
    if (budget && !charge(budget, total) &&
        !(budget->reclaim && budget->reclaim(budget->reclaim_owner) && charge(budget, total)))
        return ulp_fail(error, ULP_ERROR_MEMORY,
                        "%s: %zu bytes more would exceed the memory limit of %zu bytes (%zu in "
                        "use); raise --max-memory",
                        what, bytes, budget->limit_bytes, atomic_load(&budget->used_bytes));
    size_t capacity = total;
    char *block = budget && budget->keeps_blocks && total >= KEPT_BYTES_MIN
                      ? take_kept(budget, total, &capacity)
                      : NULL;
    if (!block)
        block = aligned_alloc(ALIGNMENT, total);
    if (!block) {
        if (budget)
            atomic_fetch_sub(&budget->used_bytes, total);
        return ulp_fail(error, ULP_ERROR_MEMORY, "%s: out of memory for %zu bytes", what, bytes);
    }
    *(struct header *)block =
        (struct header){.budget = budget, .bytes = total, .capacity = capacity};
    *out = block + ALIGNMENT;
    FORBID(block + ALIGNMENT + bytes, capacity - ALIGNMENT - bytes);
    return ULP_OK;
}

enum ulp_status ulp_allocate_zero(void **out, size_t count, size_t element_bytes,
                                  struct ulp_budget *budget, const char *what,
                                  struct ulp_error *error)
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
    ALLOW(block, header.capacity);
    if (header.budget)
        atomic_fetch_sub(&header.budget->used_bytes, header.bytes);
    if (!header.budget || !header.budget->keeps_blocks || header.capacity < KEPT_BYTES_MIN ||
        !keep_block(header.budget, block, header.capacity))
        free(block);
}

/* Blocks double in size up to a limit, so that small graphs stay small. */
#define ARENA_FIRST_BYTES 512
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
        ALLOW(block->data, block->size);
        free(block);
    }
    free(arena);
}

void *ulp_arena_take(struct ulp_arena *arena, size_t count, size_t element_bytes)
{
    size_t wanted, bytes;
    if (!ulp_size_mul(count, element_bytes, &wanted) ||
        !ulp_size_add(wanted, 15 + GAP_BYTES, &bytes))
        return NULL;
    bytes = bytes / 16 * 16;
    struct arena_block *block = arena->first;
    if (!block || block->size - block->used < bytes) {
        size_t size = !block                            ? ARENA_FIRST_BYTES
                      : block->size < ARENA_BLOCK_BYTES ? 2 * block->size
                                                        : ARENA_BLOCK_BYTES;
        size_t total;
        if (size < bytes)
            size = bytes;
        if (!ulp_size_add(size, sizeof *block, &total) || !(block = calloc(1, total)))
            return NULL;
        *block = (struct arena_block){.next = arena->first, .size = size};
        FORBID(block->data, size);
        arena->first = block;
    }
    void *taken = block->data + block->used;
    ALLOW(taken, wanted);
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
