/* Aligned allocation charged to a budget, and the arena. */
#include "base/memory/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/shown.h"
#include "base/text/text.h"
#include "base/tuning.h"

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

/* Lies in the ULP_ALIGNMENT bytes before each block handed out. */
struct header {
    struct ulp_budget *budget;
    size_t bytes; /* charged */
};
_Static_assert(sizeof(struct header) <= ULP_ALIGNMENT, "the header fits before an aligned block");

enum ulp_status ulp_fail_memory(struct ulp_error *error, const char *format, ...)
{
    char what[1024], why[200];
    va_list list;
    va_start(list, format);
    ulp_show_arguments(what, sizeof what, format, list);
    va_end(list);
    ulp_budget_explain(why, sizeof why);
    return ulp_fail(error, ULP_ERROR_MEMORY, "%s%s", what, why);
}

enum ulp_status ulp_allocate(void *out, size_t count, size_t element_bytes,
                             struct ulp_budget *budget, const char *what, struct ulp_error *error)
{
    size_t bytes, total;
    memset(out, 0, sizeof(void *));
    if (!ulp_size_mul(count, element_bytes, &bytes) ||
        !ulp_size_add(bytes, 2 * ULP_ALIGNMENT - 1, &total))
        return ulp_fail(error, ULP_ERROR_MEMORY,
                        "%s: %zu elements of %zu bytes are more than memory can address", what,
                        count, element_bytes);
    total = total / ULP_ALIGNMENT * ULP_ALIGNMENT;
    char *block = ulp_budget_take(budget, total);
    if (!block)
        return ulp_fail_memory(error, "%s: out of memory for %zu bytes", what, bytes);
    *(struct header *)block = (struct header){.budget = budget, .bytes = total};
    FORBID(block + ULP_ALIGNMENT + bytes, total - ULP_ALIGNMENT - bytes);
    block += ULP_ALIGNMENT;
    memcpy(out, &block, sizeof block);
    return ULP_OK;
}

enum ulp_status ulp_allocate_zero(void *out, size_t count, size_t element_bytes,
                                  struct ulp_budget *budget, const char *what,
                                  struct ulp_error *error)
{
    void *memory;
    ULP_TRY(ulp_allocate(&memory, count, element_bytes, budget, what, error));
    memset(memory, 0, count * element_bytes);
    memcpy(out, &memory, sizeof memory);
    return ULP_OK;
}

void ulp_free(void *pointer)
{
    if (!pointer)
        return;
    char *block = (char *)pointer - ULP_ALIGNMENT;
    struct header header = *(struct header *)block;
    ALLOW(block, header.bytes);
    ulp_budget_give(header.budget, block, header.bytes);
}

struct ulp_budget *ulp_charged(const void *pointer)
{
    return ((const struct header *)((const char *)pointer - ULP_ALIGNMENT))->budget;
}

enum ulp_status ulp_grow(void *array, size_t count, size_t *capacity, size_t element_bytes,
                         struct ulp_budget *budget, const char *what, struct ulp_error *error)
{
    void *old, *grown;
    if (count < *capacity)
        return ULP_OK;
    size_t wanted = *capacity ? 2 * *capacity : 16;
    ULP_TRY(ulp_allocate(&grown, wanted, element_bytes, budget, what, error));
    memcpy(&old, array, sizeof old);
    if (count)
        memcpy(grown, old, count * element_bytes);
    memcpy(array, &grown, sizeof grown);
    ulp_free(old);
    *capacity = wanted;
    return ULP_OK;
}

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(16) char data[];
};
struct ulp_arena {
    struct arena_block *first;
    struct ulp_budget *budget;
};

enum ulp_status ulp_arena_create(struct ulp_arena **out, struct ulp_budget *budget,
                                 struct ulp_error *error)
{
    *out = calloc(1, sizeof **out);
    ULP_TRY(ulp_taken(*out, error));
    (*out)->budget = budget;
    return ULP_OK;
}

void ulp_arena_free(struct ulp_arena *arena)
{
    if (!arena)
        return;
    for (struct arena_block *block = arena->first, *next; block; block = next) {
        next = block->next;
        ALLOW(block->data, block->size);
        ulp_free(block);
    }
    free(arena);
}

void ulp_arena_clear(struct ulp_arena *arena)
{
    struct arena_block *kept = NULL;
    for (struct arena_block *block = arena->first, *next; block; block = next) {
        next = block->next;
        if (!kept && (!next || block->size <= ULP_TUNE_ARENA_KEPT_BYTES)) {
            kept = block;
            continue;
        }
        ALLOW(block->data, block->size);
        ulp_free(block);
    }
    arena->first = kept;
    if (!kept)
        return;
    kept->next = NULL;
    kept->used = 0;
    FORBID(kept->data, kept->size);
}

void ulp_arena_take_over(struct ulp_arena *arena, struct ulp_arena *other)
{
    struct arena_block **end = &arena->first; /* the first block stays, as it has room */
    while (*end)
        end = &(*end)->next;
    *end = other->first;
    other->first = NULL;
}

struct ulp_arena_mark ulp_arena_mark(const struct ulp_arena *arena)
{
    return (struct ulp_arena_mark){arena->first, arena->first ? arena->first->used : 0};
}

void ulp_arena_release(struct ulp_arena *arena, struct ulp_arena_mark mark)
{
    if (!mark.used) {
        ulp_arena_clear(arena);
        return;
    }
    for (struct arena_block *block = arena->first; block != mark.block; block = arena->first) {
        arena->first = block->next;
        ALLOW(block->data, block->size);
        ulp_free(block);
    }
    arena->first->used = mark.used;
    FORBID(arena->first->data + mark.used, arena->first->size - mark.used);
}

struct ulp_budget *ulp_arena_budget(const struct ulp_arena *arena)
{
    return arena->budget;
}

static struct arena_block *add_block(struct ulp_arena *arena, size_t bytes)
{
    const struct arena_block *last = arena->first;
    size_t size = !last                                         ? ULP_TUNE_ARENA_FIRST_BYTES
                  : last->size < ULP_TUNE_ARENA_BLOCK_BYTES / 4 ? 4 * last->size
                                                                : ULP_TUNE_ARENA_BLOCK_BYTES;
    size_t total;
    struct arena_block *block;
    if (size < bytes)
        size = bytes;
    if (!ulp_size_add(size, sizeof *last, &total) ||
        ulp_allocate(&block, 1, total, arena->budget, "an arena", NULL) != ULP_OK)
        return NULL;
    *block = (struct arena_block){.next = arena->first, .size = size};
    FORBID(block->data, size);
    return arena->first = block;
}

void *ulp_arena_room(struct ulp_arena *arena, size_t count, size_t element_bytes)
{
    size_t wanted, bytes;
    if (!ulp_size_mul(count, element_bytes, &wanted) ||
        !ulp_size_add(wanted, 15 + GAP_BYTES, &bytes))
        return NULL;
    bytes = bytes / 16 * 16;
    struct arena_block *block = arena->first;
    if (!block || block->size - block->used < bytes)
        block = add_block(arena, bytes);
    if (!block)
        return NULL;
    void *taken = block->data + block->used;
    ALLOW(taken, wanted);
    block->used += bytes;
    return taken;
}

void *ulp_arena_take(struct ulp_arena *arena, size_t count, size_t element_bytes)
{
    void *taken = ulp_arena_room(arena, count, element_bytes);
    return taken ? memset(taken, 0, count * element_bytes) : NULL;
}

bool ulp_arena_grow(struct ulp_arena *arena, void *array, size_t count, size_t *capacity,
                    size_t element_bytes)
{
    if (count < *capacity)
        return true;
    const size_t wanted = *capacity ? 2 * *capacity : 16;
    void *grown = ulp_arena_take(arena, wanted, element_bytes), *old;
    if (!grown)
        return false;
    memcpy(&old, array, sizeof old);
    if (count)
        memcpy(grown, old, count * element_bytes);
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return true;
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

char *ulp_text_keep(struct ulp_text *text, struct ulp_arena *arena)
{
    char *kept = text->failed ? NULL : ulp_arena_text(arena, text->data, text->length);
    ulp_text_free(text);
    return kept;
}

char *ulp_arena_say(struct ulp_arena *arena, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    const int length = vsnprintf(NULL, 0, format, list);
    char *said = length < 0 ? NULL : ulp_arena_take(arena, (size_t)length + 1, 1);
    if (said)
        vsnprintf(said, (size_t)length + 1, format, again);
    va_end(list);
    va_end(again);
    return said;
}
