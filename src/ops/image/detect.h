/* What NonMaxSuppression decides by: boxes and limits. */
#pragma once

#include <stdbool.h>
#include <ulpscope/tensor.h>

/* Box `index` of a tensor of boxes x 4, as corners or (center_point_box) as centre, width and
 * height. */
struct ulp_box {
    double top, left, bottom, right;
};
struct ulp_box ulp_box_read(const struct ulp_tensor *boxes, size_t index, bool centre);
/* Intersection over union, in FP64. */
double ulp_box_overlap(const struct ulp_box *a, const struct ulp_box *b);

/* Of an input with a limit of one element; `fallback` when it is left out (NULL) or empty. */
double ulp_detect_limit(const struct ulp_tensor *tensor, double fallback);
