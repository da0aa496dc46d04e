/* Allocation: sizes come from files, so every product is checked before it is used, and a budget
 * is charged before memory is taken. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/budget.h"

/* a * b and a + b into *out; false when the result does not fit size_t. */
static inline bool ulp_size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool ulp_size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline size_t ulp_size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}
static inline size_t ulp_size_divide_up(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}
static inline size_t ulp_size_round_up(size_t a, size_t b)
{
    return ulp_size_divide_up(a, b) * b;
}

/* 64-byte aligned memory for count elements of element_bytes, not cleared, into *out, which is any
 * pointer (NULL: it failed); freed with ulp_free. budget may be NULL. `what` names the thing for
 * the message. count 0 gives a valid pointer. */
enum ulp_status ulp_allocate(void *out, size_t count, size_t element_bytes,
                             struct ulp_budget *budget, const char *what, struct ulp_error *error);
/* As ulp_allocate, cleared to zero. */
enum ulp_status ulp_allocate_zero(void *out, size_t count, size_t element_bytes,
                                  struct ulp_budget *budget, const char *what,
                                  struct ulp_error *error);
/* Frees what ulp_allocate gave and returns its bytes to the budget it was charged to. NULL is
 * fine. */
void ulp_free(void *pointer);
/* Of a variable that is any pointer. */
static inline void ulp_free_of(const void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    ulp_free(memory);
}
/* What memory from ulp_allocate is charged to, or NULL. */
struct ulp_budget *ulp_charged(const void *pointer);
/* Room for one more element in an array of such memory that doubles: *array (NULL: empty), which
 * has count elements, is moved when it is full. */
enum ulp_status ulp_grow(void *array, size_t count, size_t *capacity, size_t element_bytes,
                         struct ulp_budget *budget, const char *what, struct ulp_error *error);

/* ULP_ERROR_MEMORY for a request of this thread that has just failed: the message ("out of memory
 * while compiling") is completed by the limit when it was that. */
enum ulp_status ulp_fail_memory(struct ulp_error *error, const char *format, ...) ULP_PRINTF(2, 3);
static inline enum ulp_status ulp_out_of_memory(struct ulp_error *error)
{
    return ulp_fail_memory(error, "out of memory");
}
/* Whether memory that was asked for is there: ULP_TRY(ulp_taken(items, error)). */
static inline enum ulp_status ulp_taken(bool there, struct ulp_error *error)
{
    return there ? ULP_OK : ulp_out_of_memory(error);
}

/* An arena: many small allocations freed at once. Blocks are zeroed and 16-byte aligned. */
struct ulp_arena;
enum ulp_status ulp_arena_create(struct ulp_arena **out, struct ulp_budget *budget,
                                 struct ulp_error *error);
void ulp_arena_free(struct ulp_arena *arena);
ULP_FREES(ulp_arena_free, struct ulp_arena)
/* What was taken is gone; its first block stays. */
void ulp_arena_clear(struct ulp_arena *arena);
/* All that was taken from the other is this one's; the other is empty. */
void ulp_arena_take_over(struct ulp_arena *arena, struct ulp_arena *other);
/* Where it is; and what was taken since is gone. */
struct ulp_arena_mark {
    const void *block;
    size_t used;
};
struct ulp_arena_mark ulp_arena_mark(const struct ulp_arena *arena);
void ulp_arena_release(struct ulp_arena *arena, struct ulp_arena_mark mark);
/* What its blocks are charged to, or NULL. */
struct ulp_budget *ulp_arena_budget(const struct ulp_arena *arena);
/* NULL on failure (out of memory or overflow of count * element_bytes). */
void *ulp_arena_take(struct ulp_arena *arena, size_t count, size_t element_bytes);
/* Room for `count` elements into *place, or the function ends with ULP_ERROR_MEMORY. */
#define ULP_TAKE(place, arena, count, error) \
    ULP_TRY(ulp_taken(((place) = ulp_arena_take(arena, count, sizeof *(place))) != NULL, error))
/* The same, of a new variable: type *name. */
#define ULP_TAKE_ARRAY(type, name, arena, count, error)        \
    type *name = ulp_arena_take(arena, count, sizeof *(name)); \
    ULP_TRY(ulp_taken((name) != NULL, error))
/* As ulp_grow in the arena, where what the array had before stays; false: no memory. */
bool ulp_arena_grow(struct ulp_arena *arena, void *array, size_t count, size_t *capacity,
                    size_t element_bytes);
#define ULP_ARENA_GROWS(array, arena, count, capacity) \
    ulp_arena_grow(arena, &(array), count, &(capacity), sizeof *(array))
/* The same, or the function ends with ULP_ERROR_MEMORY. */
#define ULP_GROW(array, arena, count, capacity, error) \
    ULP_TRY(ulp_taken(ULP_ARENA_GROWS(array, arena, count, capacity), error))
/* As ulp_arena_take, not cleared: for what is written whole. */
void *ulp_arena_room(struct ulp_arena *arena, size_t count, size_t element_bytes);
/* A function that frees a result all of which is in its arena; NULL: there is none. */
#define ULP_RESULT_FREE(function, type) \
    void function(type *result)         \
    {                                   \
        if (!result)                    \
            return;                     \
        ulp_arena_free(result->memory); \
        *result = (type){0};            \
    }

/* A copy of length bytes of text with a final zero byte, or of a whole text; NULL on failure. */
char *ulp_arena_text(struct ulp_arena *arena, const char *text, size_t length);
static inline char *ulp_arena_copy(struct ulp_arena *arena, const char *text)
{
    return ulp_arena_text(arena, text, strlen(text));
}
