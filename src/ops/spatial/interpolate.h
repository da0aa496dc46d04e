/* Interpolation at real coordinates, as Resize, GridSample and RoiAlign do it: coordinates by a
 * formula, the elements around each with weights by a formula, and their weighted sum by a formula.
 *
 * Coordinates and weights follow the lane's compute arithmetic, but never one narrower than FP32:
 * GPU kernels compute positions in FP32 whatever the tensors are. */
#pragma once

#include "ops/ops_move.h"

/* The arithmetic of coordinates; values are kept in its storage format. */
enum ulp_status ulp_coordinate_arithmetic(const struct ulp_call *call, struct ulp_arithmetic *out);

/* Of elements around a point: each is a term of a formula. */
#define ULP_CORNERS_MAX 4096

enum ulp_kernel { ULP_KERNEL_LINEAR, ULP_KERNEL_CUBIC };

/* Elements around coordinates: tap t of coordinate p is element position[p * count + t] of the axis
 * (which may lie outside it), and counts weights[ulp_taps_place]. */
struct ulp_taps {
    size_t coordinate_count, count;
    int64_t *position;
    struct ulp_tensor weights;
    int64_t point_step, tap_step; /* one of them is 1: what is read side by side */
};
static inline size_t ulp_taps_place(const struct ulp_taps *taps, size_t point, size_t tap)
{
    return point * (size_t)taps->point_step + tap * (size_t)taps->tap_step;
}
struct ulp_tap_options {
    enum ulp_kernel kernel;
    double cubic_a; /* of the cubic kernel: exact */
    /* below 1: the kernel is 1 / stretch as wide (antialiasing) and weights are made to add up to
     * 1 */
    double stretch;
    /* > 0: elements outside 0 .. inside - 1 weigh 0, and weights are made to add up to 1 */
    int64_t inside;
};
/* coordinates: one axis, any number of them. */
enum ulp_status ulp_taps_make(struct ulp_call *call, const struct ulp_arithmetic *arithmetic,
                              const struct ulp_tensor *coordinates,
                              const struct ulp_tap_options *options, struct ulp_taps *out);
/* A tensor of coordinates (temporary) for ulp_call_formula's output, and 0, 1, ... as integers. */
enum ulp_status ulp_coordinates_make(struct ulp_call *call, const struct ulp_arithmetic *arithmetic,
                                     size_t count, struct ulp_tensor *out);
enum ulp_status ulp_positions_make(struct ulp_call *call, size_t count, struct ulp_tensor *out);

/* floor(coordinate p) within +-2^40; NaN gives -2^40. */
int64_t ulp_coordinate_floor(const struct ulp_tensor *coordinates, size_t p);
