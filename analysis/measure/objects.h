/* Outputs whose rows are objects: what a detector lists, each row a box or other numbers, a score
 * and integers. What is compared is what was found, not where it stands: another order, or other
 * rows at the list's end, is no error. */
#pragma once

#include "analysis/measure/judged.h"
#include "tensor/tensor.h"

struct ulp_program;

/* What of an output of the graph is a list's. */
struct ulp_object_rows {
    int list; /* those of one are read side by side; -1: it is no list */
    int axis; /* of rows; those before it are of the batch */
};

/* Of every output of the main graph. The rows of several are one list's that a TopK,
 * NonMaxSuppression or NonZero makes, whose number they keep, and one of them has more than a
 * number in each: lists of classes or of scores are read in their order. An output may also be a
 * list by its columns alone. truths: of the reference, NULL where it has none. */
void ulp_objects_find(const struct ulp_program *program, const struct ulp_tensor *const *truths,
                      struct ulp_object_rows *out);
/* The columns of a list that is one output; integers are all others. */
struct ulp_objects {
    int box, score;
};
/* Do the output's columns say that its rows are objects? */
bool ulp_objects_columns(const struct ulp_tensor *base, struct ulp_objects *out);
/* May the output be one of a list's, as far as the graph tells? */
bool ulp_objects_may_list(const struct ulp_program *program, size_t output);

/* Elements of a row. */
static inline size_t ulp_objects_width(const struct ulp_tensor *tensor, int axis)
{
    size_t width = 1;
    for (int d = axis + 1; d < tensor->rank; d++)
        width *= (size_t)tensor->dims[d];
    return width;
}

/* One output of a list. */
struct ulp_object_part {
    const char *name;
    const struct ulp_tensor *value, *base;
    int axis;
};

/* The object's score counts from here on: what those who draw boxes take if not told otherwise. */
#define ULP_OBJECT 0.25
/* Each object is compared with all rows. */
enum { ULP_OBJECTS_MAX = 4096 };

/* A list by all outputs that are its; rows 0: there is no object. */
enum ulp_status ulp_objects_judge(const struct ulp_object_part *parts, size_t count,
                                  struct ulp_budget *budget, struct ulp_judged *out,
                                  struct ulp_error *error);
/* Of several outputs, unless something else is asked of them: each that is one of a list's gets
 * what is said of the list. judged: of each by itself, UNKNOWN where it is not asked about. */
enum ulp_status ulp_objects_judge_all(const struct ulp_program *program, enum ulp_task asked,
                                      const struct ulp_tensor *const *values,
                                      const struct ulp_tensor *const *truths,
                                      struct ulp_budget *budget, struct ulp_judged *judged,
                                      struct ulp_error *error);

/* Of two boxes, of two corners or a centre and a size; NaN: the first has no area. */
double ulp_box_iou(const double *base, const double *value, bool corners);
