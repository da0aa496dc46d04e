/* Parts of tensors that bodies take and make: slices of scan inputs, items of a batch, and results
 * gathered into one tensor. */
#pragma once

#include "ops/control/control.h"

/* The part becomes the last of those gathered, which own it. */
enum ulp_status ulp_part_gather(struct ulp_call *call, struct ulp_gathered *gathered,
                                struct ulp_tensor *part);
/* Stack the parts along a new axis; without parts the shape is what the body declares, unknown
 * sizes 0. */
enum ulp_status ulp_parts_stack(struct ulp_call *call, struct ulp_tensor *out,
                                const struct ulp_gathered *gathered, int64_t axis, bool reverse,
                                const struct ulp_value_info *declared);
/* Slice number `at` of `in` along an axis, as a temporary that the next call overwrites. */
enum ulp_status ulp_part_slice(struct ulp_call *call, struct ulp_tensor *out,
                               const struct ulp_tensor *in, int axis, size_t at);
/* Item b of a batch, a view. */
struct ulp_tensor ulp_part_item(const struct ulp_tensor *in, size_t b);
