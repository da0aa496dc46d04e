/* Cells of a factor rounded to a format with scales. */
#pragma once

#include <ulpscope/format.h>

struct ulp_scaled_rule {
    const struct ulp_scaling *scaling;
    enum ulp_rounding rounding;
    size_t run, block;  /* places of a cell, and those that share a scale */
    float tensor_scale; /* 1: none */
    float largest;      /* of the tensor, where one scale is its */
    float least;        /* of its values and 0, where that scale has a zero point, too */
};

/* x, [cell][run], becomes elements; scale, [cell][block of the run], is what they are over, but for
 * the tensor's. line_count > 0: the cells are those of so many lines, whose blocks share scales.
 * spare: ulp_scaled_spare(rule, cell_count) floats. */
void ulp_scaled_round(const struct ulp_scaled_rule *rule, float *x, float *scale, size_t cell_count,
                      size_t line_count, float *spare);
size_t ulp_scaled_spare(const struct ulp_scaled_rule *rule, size_t cell_count);
/* The largest magnitude of those that are finite. */
float ulp_scaled_largest(const float *x, size_t count);
/* The FP32 scale of a block whose finite values lie from least, at most 0, to largest, at least 0;
 * *low: its least element, which of one with a zero point is 0 less that. */
float ulp_scaled_scale(const struct ulp_scaling *scaling, float least, float largest, float *low);
/* Widens [*least, *largest] to hold the finite ones. */
void ulp_scaled_ends(const float *x, size_t count, float *least, float *largest);
