/* Parts of an output: rows, columns (along the last axis), channels (of axis 1), which may be lost
 * or become constant while the whole hardly changes. */
#pragma once

#include "analysis/measure/judged.h"

enum { ULP_GROUP_WINDOWS = 8 };

/* Elements of one so far. */
struct ulp_judged_part {
    double least, most, base_least, base_most;
    double squares, errors, off; /* of the reference; sum of squares and largest of the errors */
    bool finite;
    size_t count;
};

struct ulp_judged_groups {
    double rms; /* of the reference's finite elements: given before rows are added */
    size_t rows, length;
    size_t column_count;                           /* 0: they are not looked at */
    size_t second_count, rows_each, channel_count; /* of axis 1; of those that may be constant */
    bool has_columns, has_seconds, has_windows;    /* that are judged by themselves */
    bool own_rows, own_columns;                    /* each is a quantity of its own */
    struct ulp_judged_part *columns, *seconds, windows[ULP_GROUP_WINDOWS];
};

/* *parts: memory, to be freed (ulp_free_of) after all. */
enum ulp_status ulp_groups_open(struct ulp_judged_groups *groups, const struct ulp_tensor *base,
                                void **parts, struct ulp_budget *budget, struct ulp_error *error);
/* The first of the largest; NaN is no choice where there is another. */
size_t ulp_first_choice(const double *row, size_t length);
/* All but a twentieth. */
static inline bool ulp_groups_are_most(size_t count, size_t of)
{
    return count * 20 >= of * 19;
}
/* Figures, of rows and of groups, that are none yet. */
void ulp_groups_prepare(struct ulp_judged *out);
/* A row of both; constant ones are counted. */
void ulp_groups_add(struct ulp_judged_groups *groups, size_t row, const double *value,
                    const double *base, struct ulp_judged *out);
/* After all rows. shares: probabilities that choose or are compared with a threshold, which are
 * judged by that: a column of them that never wins is nothing. */
void ulp_groups_judge(const struct ulp_judged_groups *groups, bool shares, struct ulp_judged *out);
/* Does what has this rms carry anything of the output? */
bool ulp_groups_are_something(const struct ulp_judged_groups *groups, double rms);
