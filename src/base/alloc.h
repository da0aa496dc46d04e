/* Allocation: sizes come from files, so every product is checked before it is used, and a budget
 * (the user's --max-memory) is charged before memory is taken. */
#ifndef ULP_BASE_ALLOC_H
#define ULP_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ulpscope/status.h>

/* a * b and a + b into *out; false when the result does not fit size_t. */
static inline bool ulp_size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool ulp_size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* A memory budget shared by the tensors of one run. limit_bytes 0: no limit. Thread-safe.
 *
 * A budget that keeps blocks (keeps_blocks, set before it is used) holds freed blocks for the next
 * allocation of about their size, so that a run does not ask the system for zeroed pages at every
 * node. What is in use and what is kept never exceed the peak of what was in use, so the peak stays
 * the truth. Such a budget ends with ulp_budget_clear. */
#define ULP_BUDGET_BLOCKS 32
struct ulp_budget {
    size_t limit_bytes;
    _Atomic size_t used_bytes;
    _Atomic size_t peak_bytes;
    bool keeps_blocks;
    /* Asked before an allocation fails for the limit: frees memory charged here that its owner can
     * do without; false: there is none.
     * NULL: nobody has such memory. */
    bool (*reclaim)(void *owner);
    void *reclaim_owner;
    _Atomic bool locked; /* guards the rest */
    size_t kept_bytes, kept_count;
    struct ulp_kept_block {
        void *block;
        size_t bytes;
    } kept[ULP_BUDGET_BLOCKS]; /* oldest first */
};
/* Gives kept blocks back to the system. */
void ulp_budget_clear(struct ulp_budget *budget);

/* 64-byte aligned memory for count elements of element_bytes, not cleared; freed with ulp_free.
 * budget may be NULL. `what` names the thing for the message. count 0 gives a valid pointer. */
enum ulp_status ulp_allocate(void **out, size_t count, size_t element_bytes,
                             struct ulp_budget *budget, const char *what, struct ulp_error *error);
/* As ulp_allocate, cleared to zero. */
enum ulp_status ulp_allocate_zero(void **out, size_t count, size_t element_bytes,
                                  struct ulp_budget *budget, const char *what,
                                  struct ulp_error *error);
/* Frees what ulp_allocate gave and returns its bytes to the budget it was charged to. NULL is
 * fine. */
void ulp_free(void *pointer);

/* An arena: many small allocations freed at once. Blocks are zeroed and 16-byte aligned. */
struct ulp_arena;
enum ulp_status ulp_arena_create(struct ulp_arena **out, struct ulp_error *error);
void ulp_arena_free(struct ulp_arena *arena);
/* NULL on failure (out of memory or overflow of count * element_bytes). */
void *ulp_arena_take(struct ulp_arena *arena, size_t count, size_t element_bytes);
/* A copy of length bytes of text with a final zero byte; NULL on failure. */
char *ulp_arena_text(struct ulp_arena *arena, const char *text, size_t length);

#endif
