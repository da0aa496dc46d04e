/* How the columns of a contraction lie in their tensor: vectors of neighbouring elements that cover
 * them, so that they are read where they lie instead of packed.
 *
 * The lanes of a place are `step` elements apart in the tensor, step the greatest common divisor of
 * all distances between columns. The part of the tensor that a batch uses is kept as `step` planes
 * of every step-th element, where the lanes of a place are neighbours whatever k adds to them: a
 * convolution's stride is its step. Lanes that are no column (the padding between an image's rows)
 * are computed with and dropped. */
#pragma once

#include "kernels/unit/fast.h"

/* Columns that are neighbours in a place. */
struct ulp_unit_run {
    uint32_t lane, count;
};

struct ulp_unit_column_map {
    int64_t step;
    int64_t first;       /* the first element that a batch uses, from its offset */
    size_t extent;       /* elements from the first to the last that a batch uses */
    bool inside;         /* no place has lanes beyond the last element used */
    size_t plane_length; /* elements of a plane, whole vectors; every place can be read whole */
    size_t place_count;
    int64_t *place;       /* [place_count] */
    int64_t *slot_offset; /* [slot_stride] see ulp_unit_tile */
    size_t *column;       /* [place_count + 1] the first column of a place */
    size_t *run_first;    /* [place_count + 1] its first run */
    struct ulp_unit_run *runs;
};

/* Measures a map without allocating. False: the columns do not lie so. */
bool ulp_unit_column_map_measure(struct ulp_unit_column_map *map, const struct ulp_factor *columns,
                                 size_t column_count, size_t k_count);
/* The tables of a measured map. */
enum ulp_status ulp_unit_column_map_create(struct ulp_unit_column_map *map,
                                           const struct ulp_factor *columns, size_t column_count,
                                           const struct ulp_unit_layout *layout,
                                           struct ulp_budget *budget, struct ulp_error *error);
void ulp_unit_column_map_free(struct ulp_unit_column_map *map);
