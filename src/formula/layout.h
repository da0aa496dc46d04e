/* Laying tensors over the rows of a tape. The caller sets `tensor` (or `constant`) of every operand
 * and `tensor` of every wanted output (NULL: not wanted); these functions fill *rows and the
 * strides and tables. Tables and contexts come from the arena and must live until the run. An
 * operand whose shape is not broadcast from the right (a channel scale) is given as a view with
 * more dimensions: ulp_layout_view. Errors: ULP_ERROR_INPUT when a shape does not fit,
 * ULP_ERROR_MEMORY. */
#pragma once

#include "base/memory/alloc.h"
#include "formula/tape.h"

struct ulp_layout {
    struct ulp_rows *rows;
    struct ulp_operand *operands, *outputs;
    int operand_count, output_count;
    struct ulp_arena *arena;
};

/* One value per element of the first wanted output, operands broadcast to its shape (numpy's rule).
 * Rows are as long and contiguous as the shapes allow. */
enum ulp_status ulp_layout_elementwise(const struct ulp_layout *layout, struct ulp_error *error);

/* Rows along the axes of the shape dims that are marked in `reduced`, in row-major order of those
 * axes; one row for each index of the others, also row-major. Operands are broadcast to dims. An
 * output holds either every element (count as dims) or one per row (count as the axes that are not
 * reduced), whatever its rank. */
enum ulp_status ulp_layout_reduce(const struct ulp_layout *layout, int rank, const int64_t *dims,
                                  const bool *reduced, struct ulp_error *error);

/* A sliding window over the last spatial_rank dimensions of an input; all dimensions before those
 * are one: outer_count. Output index o covers inputs o * stride - pad + k * dilation, 0 <= k <
 * kernel, as far as they exist. */
struct ulp_window_shape {
    int spatial_rank;
    int64_t outer_count;
    int64_t in[ULP_RANK_MAX], out[ULP_RANK_MAX], kernel[ULP_RANK_MAX];
    int64_t strides[ULP_RANK_MAX], dilations[ULP_RANK_MAX];
    /* at the beginning; the end needs none, `out` says where windows stop */
    int64_t pads[ULP_RANK_MAX];
};

/* One row per output element (outer, out...), positions are the kernel's elements in row-major
 * order, those outside the input left out. Operand 0 is the input; others have one element, one per
 * row, or one per window of a single outer index, repeated for every outer index
 * (ulp_layout_window_counts). Outputs: one per row. */
enum ulp_status ulp_layout_window(const struct ulp_layout *layout,
                                  const struct ulp_window_shape *shape, struct ulp_error *error);

/* INT64[out...] from the arena into *out: how many kernel elements of each window lie in the input
 * or its padding, pads_end being the padding behind it: what AveragePool divides by with
 * count_include_pad. */
enum ulp_status ulp_layout_window_counts(struct ulp_tensor *out,
                                         const struct ulp_window_shape *shape,
                                         const int64_t *pads_end, struct ulp_arena *arena,
                                         struct ulp_error *error);

/* A view of tensor with other dimensions of the same count, from the arena; NULL when memory is out
 * or counts differ. */
const struct ulp_tensor *ulp_layout_view(struct ulp_arena *arena, const struct ulp_tensor *tensor,
                                         int rank, const int64_t *dims);
