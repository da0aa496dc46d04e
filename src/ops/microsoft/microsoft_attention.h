/* What the attention operators of com.microsoft share. */
#pragma once

#include "ops/attention/attention.h"
#include "ops/attention/rotary.h"

/* 1 / sqrt(H) unless the node says otherwise; 0 is the attribute's default. */
float ulp_microsoft_scale(const struct ulp_call *call);
/* Refuse inputs of the node from `first` on, and attributes (a list closed by NULL) that are not
 * 0. */
enum ulp_status ulp_microsoft_refuse(const struct ulp_call *call, size_t first,
                                     const char *const *attributes);
/* A view of tensor from element `first` on, for ulp_heads with gaps. */
enum ulp_status ulp_microsoft_view(const struct ulp_call *call, const struct ulp_tensor *tensor,
                                   int64_t first, const struct ulp_tensor **out);

/* mask_index or key_padding_mask: INT32 of B (the end of the keys), 2B (ends, then starts), 3B + 2
 * (ends, then sums of lengths), B x T or B x S x T (0 hides). The
 * keys that it hides go into a. */
enum ulp_status ulp_microsoft_hide(struct ulp_call *call, const struct ulp_tensor *mask,
                                   struct ulp_attention *a);

/* Query, key and value by num_heads and kv_num_heads: one tensor each, or the three side by side in
 * query. */
enum ulp_status ulp_grouped_heads(const struct ulp_call *call, struct ulp_attention *a);
/* Query and key turned by their places among the keys, or by the position ids that are given (a
 * prompt's first entry counts alone). cosine: the input of cosines, the next one is of sines. */
enum ulp_status ulp_grouped_rotate(struct ulp_call *call, struct ulp_attention *a, size_t cosine,
                                   const struct ulp_tensor *given, bool prompt);
