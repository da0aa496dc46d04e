/* A last check before elements are read: every place that a layout or a contraction names lies
 * inside its tensor. Operators check the shapes of their inputs and report what does not fit; this
 * check holds even where one forgot to. */
#pragma once

#include "formula/tape.h"
#include "kernels/contract.h"

/* The least and the greatest sum of offsets; `fits` becomes false when they leave int64. Begin with
 * {.fits = true}. */
struct ulp_offset_range {
    int64_t low, high;
    bool fits;
};
/* One of `count` offsets more, of a table or (NULL) in steps; without any the range stays. */
void ulp_offsets_add(struct ulp_offset_range *range, const int64_t *table, int64_t step,
                     size_t count);
/* The same of an operand's rows. */
void ulp_offsets_add_rows(struct ulp_offset_range *range, const struct ulp_operand *operand,
                          size_t row_count);

/* Of operands or outputs, with (or without) a tensor, over rows. Windows name fewer places than
 * their rows have: they are not looked at. */
enum ulp_status ulp_bounds_check_rows(const struct ulp_rows *rows,
                                      const struct ulp_operand *operands, size_t count,
                                      struct ulp_error *error);
enum ulp_status ulp_bounds_check_contraction(const struct ulp_contraction *problem,
                                             struct ulp_error *error);
