/* Attention as a GPU's kernels go through its keys. */
#pragma once

#include "ops/attention/scores.h"

/* Does the call's arithmetic name a kernel that can compute this? Sinks and shown scores are the
 * whole rows'. */
bool ulp_attention_is_tiled(const struct ulp_call *call, const struct ulp_attention *a);
/* The second half: acc are the sums of products of queries and keys, *second the product of
 * probabilities and values that makes `weighted`, sums, heads first. */
enum ulp_status ulp_attend_tiles(struct ulp_call *call, const struct ulp_attention *a,
                                 int64_t total, const struct ulp_tensor *acc,
                                 const struct ulp_tensor *allowed,
                                 struct ulp_attention_product *second);
