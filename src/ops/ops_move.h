/* Moving elements: every operator that only rearranges elements is one of these calls. Elements are
 * moved as bytes, so nothing is rounded in any arithmetic. */
#pragma once

#include "ops/infer.h"

/* A place that does not exist: the element is `fill` there. */
#define ULP_NOWHERE INT64_MIN

/* out[i0, i1, ...] = in[table[0][i0] + table[1][i1] + ...] for all indices of out; `fill` (one
 * element) where a table says ULP_NOWHERE. rank is out's. A NULL table is all zeros. */
enum ulp_status ulp_move_axes(struct ulp_tensor *out, const struct ulp_tensor *in,
                              const int64_t *const *tables, const void *fill, struct ulp_pool *pool,
                              struct ulp_error *error);

/* in seen with `rank` dimensions `dims`, its axes in the order perm, into out (Transpose). */
enum ulp_status ulp_move_permuted(struct ulp_call *call, struct ulp_tensor *out,
                                  const struct ulp_tensor *in, int rank, const int64_t *dims,
                                  const int *perm);
/* *out = in with its axes in the order perm, a temporary tensor of the call; shape_only: described,
 * without elements. */
enum ulp_status ulp_move_transposed(struct ulp_call *call, struct ulp_tensor *out,
                                    const struct ulp_tensor *in, const int *perm, bool shape_only);

/* Blocks of `run` elements: block b of out is the one that starts at element from[b] of in. */
enum ulp_status ulp_move_blocks(struct ulp_tensor *out, const struct ulp_tensor *in,
                                const int64_t *from, size_t run, const void *fill,
                                struct ulp_pool *pool, struct ulp_error *error);

/* All elements in order; the counts are equal. */
void ulp_move_all(struct ulp_tensor *out, const struct ulp_tensor *in);

/* `count` runs of `run` elements each, the first ones at elements `to` and `from`, the others
 * to_step and from_step behind the one before. */
enum ulp_status ulp_move_runs(struct ulp_tensor *out, size_t to, size_t to_step,
                              const struct ulp_tensor *in, size_t from, size_t from_step,
                              size_t count, size_t run, struct ulp_pool *pool,
                              struct ulp_error *error);

/* `count` neighbours, from element `from` of in on to element `to` of out on. */
void ulp_move_run(struct ulp_tensor *out, size_t to, const struct ulp_tensor *in, size_t from,
                  size_t count);

/* count copies of one element from `first` on. */
void ulp_move_fill(struct ulp_tensor *out, size_t first, size_t count, const void *element);

/* For ulp_move_axes: table[i] = start + i * step for count entries, from call->scratch. */
enum ulp_status ulp_move_table(const struct ulp_call *call, int64_t **table, size_t count,
                               int64_t start, int64_t step);

/* indices[i] as 0 <= *out < size, counted from the end when negative. */
enum ulp_status ulp_read_index(const struct ulp_tensor *indices, size_t i, int64_t size,
                               int64_t *out, struct ulp_error *error);

/* The element of an axis of n > 0 that padding shows at index i, outside or inside. reflect turns
 * at the outer elements' centres, symmetric at their outer edges. */
typedef int64_t ulp_pad_fn(int64_t i, int64_t n);
ulp_pad_fn ulp_pad_constant; /* ULP_NOWHERE outside; n may be 0 */
ulp_pad_fn ulp_pad_edge, ulp_pad_reflect, ulp_pad_symmetric, ulp_pad_wrap;

static inline int64_t ulp_clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static inline void *ulp_element_at(const struct ulp_tensor *tensor, size_t i)
{
    return (char *)tensor->data + i * tensor->element_bytes;
}
