/* GMP's allocation functions over a reserve. Pieces in use are few and short-lived, so free pieces
 * are a list in order of address that is searched from its start. */
#include "base/memory/reserve.h"

#include <gmp.h>
#include <mpfr.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/memory/spin.h"
#include "base/error.h"

#define PIECE_ALIGNMENT 16

/* Before the memory of each piece. */
struct piece {
    size_t bytes;       /* this included */
    struct piece *next; /* while it is free */
};
_Static_assert(sizeof(struct piece) % PIECE_ALIGNMENT == 0, "what follows a piece is aligned");

static char *first, *end; /* of the reserve; NULL: there is none */
static struct piece *free_pieces;
static atomic_size_t draws;
static ulp_spin spin;
static void *(*allocate_before)(size_t);

static bool is_reserved(const void *pointer)
{
    return (const char *)pointer >= first && (const char *)pointer < end;
}

static struct piece *cut_piece(size_t bytes)
{
    struct piece **at = &free_pieces;
    while (*at && (*at)->bytes < bytes)
        at = &(*at)->next;
    struct piece *piece = *at;
    if (!piece)
        return NULL;
    *at = piece->next;
    if (piece->bytes - bytes > sizeof *piece) {
        struct piece *rest = (struct piece *)(void *)((char *)piece + bytes);
        *rest = (struct piece){.bytes = piece->bytes - bytes, .next = piece->next};
        *at = rest;
        piece->bytes = bytes;
    }
    return piece;
}

static void *take_reserved(size_t size)
{
    size_t bytes;
    if (!ulp_size_add(size, sizeof(struct piece) + PIECE_ALIGNMENT - 1, &bytes))
        return NULL;
    atomic_fetch_add(&draws, 1);
    ulp_spin_lock(&spin);
    struct piece *piece = cut_piece(bytes / PIECE_ALIGNMENT * PIECE_ALIGNMENT);
    ulp_spin_unlock(&spin);
    return piece ? piece + 1 : NULL;
}

static bool touches(const struct piece *piece, const struct piece *next)
{
    return next && (const char *)piece + piece->bytes == (const char *)next;
}

static void give_reserved(void *pointer)
{
    struct piece *piece = (struct piece *)pointer - 1, *before = NULL;
    ulp_spin_lock(&spin);
    for (struct piece *at = free_pieces; at && at < piece; at = at->next)
        before = at;
    piece->next = before ? before->next : free_pieces;
    if (before)
        before->next = piece;
    else
        free_pieces = piece;
    if (touches(piece, piece->next)) {
        piece->bytes += piece->next->bytes;
        piece->next = piece->next->next;
    }
    if (before && touches(before, piece)) {
        before->bytes += piece->bytes;
        before->next = piece->next;
    }
    ulp_spin_unlock(&spin);
}

static void *allocate(size_t size)
{
    void *block = malloc(size);
    if (!block)
        block = take_reserved(size);
    return block ? block : allocate_before(size);
}

static void release(void *block, size_t size)
{
    (void)size;
    if (is_reserved(block))
        give_reserved(block);
    else
        free(block);
}

static void *reallocate(void *block, size_t old_size, size_t size)
{
    void *moved = is_reserved(block) ? NULL : realloc(block, size);
    if (moved)
        return moved;
    moved = allocate(size);
    memcpy(moved, block, old_size < size ? old_size : size);
    release(block, old_size);
    return moved;
}

enum ulp_status ulp_memory_reserve(size_t bytes, struct ulp_error *error)
{
    void *(*reallocate_before)(void *, size_t, size_t);
    void (*release_before)(void *, size_t);
    if (first)
        return ulp_fail(error, ULP_ERROR_USAGE, "there is a reserve of memory already");
    bytes = bytes / PIECE_ALIGNMENT * PIECE_ALIGNMENT;
    if (bytes < sizeof(struct piece))
        return ulp_fail(error, ULP_ERROR_USAGE, "a reserve of %zu bytes is none", bytes);
    free_pieces = malloc(bytes);
    if (!free_pieces)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for a reserve of %zu bytes", bytes);
    *free_pieces = (struct piece){.bytes = bytes};
    first = (char *)free_pieces;
    end = first + bytes;
    mp_get_memory_functions(&allocate_before, &reallocate_before, &release_before);
    mp_set_memory_functions(allocate, reallocate, release);
    return ULP_OK;
}

size_t ulp_reserve_draws(void)
{
    return atomic_load(&draws);
}

enum ulp_status ulp_reserve_check(size_t draws_before, struct ulp_error *error)
{
    if (ulp_reserve_draws() == draws_before)
        return ULP_OK;
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
    return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory in MPFR");
}
