/* Which keys a query sees, and what is added to its scores. */
#pragma once

#include "ops/attention/attention.h"

/* allowed[b, h, i, j] as BOOL; of a float mask only -inf counts here. keys: a->k with the past in
 * front. */
enum ulp_status ulp_attention_allowed(struct ulp_call *call, const struct ulp_attention *a,
                                      const struct ulp_heads *keys, struct ulp_tensor *allowed);
/* A mask's place for every row, as an operand; a bool mask or none: 0. */
enum ulp_status ulp_attention_lay_mask(struct ulp_call *call, const struct ulp_attention *a,
                                       int64_t total, const struct ulp_tensor *mask,
                                       struct ulp_operand *out);
/* The sink of each row's head; 0 when `smooth`. */
enum ulp_status ulp_attention_lay_sink(struct ulp_call *call, const struct ulp_attention *a,
                                       struct ulp_operand *out);
