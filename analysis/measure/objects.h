/* Outputs whose rows are objects that a detector found, the best first: two corners of a box, a
 * score and, as integers, a class. Rows behind those with a score are whatever came next: their
 * order is nobody's, and another order of what is left is no error. */
#pragma once

#include "analysis/measure/judged.h"
#include "tensor/tensor.h"

/* The columns; integers are all others. */
struct ulp_objects {
    int box, score;
};

/* Has the reference's output such columns? */
bool ulp_objects_find(const struct ulp_tensor *base, struct ulp_objects *out);

/* The object's score counts from here on: what those who draw boxes take if not told otherwise. */
#define ULP_OBJECT 0.25

/* `iou` and `score_shift` of the objects of either side, each with the other side's row of the same
 * integers whose box is nearest; NaN: there is no object. `rows`: objects of the side with more. */
void ulp_objects_judge(const struct ulp_tensor *value, const struct ulp_tensor *base,
                       const struct ulp_objects *columns, struct ulp_judged *out);

/* Of two boxes, of two corners or a centre and a size; NaN: the first has no area. */
double ulp_box_iou(const double *base, const double *value, bool corners);
