/* Heads of attention: batch, heads, positions and features of a tensor, packed in its last axis or
 * an axis of their own. */
#pragma once

#include "ops/call.h"

/* Heads are fewer, so that their number times a dimension fits int64. */
#define ULP_HEADS_MAX (1 << 20)

/* Where element (batch, head, position, feature) lies: the steps count elements. */
struct ulp_heads {
    int64_t batch, heads, length, size;
    int64_t batch_step, head_step, step;
    int64_t across; /* from feature to feature; 0: they are neighbours */
};
/* batch x heads x length x size without gaps, and batch x length x heads x size. */
struct ulp_heads ulp_heads_first(int64_t batch, int64_t heads, int64_t length, int64_t size);
struct ulp_heads ulp_heads_packed(int64_t batch, int64_t heads, int64_t length, int64_t size);
/* A 4-D (heads first) or 3-D (heads packed in the features) tensor; `heads` counts those of the
 * latter. */
enum ulp_status ulp_heads_read(const struct ulp_tensor *tensor, int64_t heads,
                               struct ulp_heads *out, struct ulp_error *error);
/* Offsets of the rows (batch, head, position) in a tensor. */
enum ulp_status ulp_heads_rows(struct ulp_call *call, const struct ulp_heads *heads, int64_t **out);
