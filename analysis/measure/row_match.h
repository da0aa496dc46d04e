/* Rows that stand behind a decision, such as a detector's boxes: another order, or another choice
 * among near ones, is no error of those that are in both. Rows are matched before they are
 * compared. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct ulp_budget;

/* That have weights of their own; rows of more have one. */
enum { ULP_MATCH_COLUMNS = 64 };
/* One over the mean square of each of `width` columns in the base's rows, which begin `stride`
 * apart: of numbers less their mean (spread), or as they are; of a column that is constant, 1. */
void ulp_match_weigh(const double *base, size_t count, size_t stride, size_t width, bool spread,
                     double *out);

struct ulp_match {
    size_t of;       /* row of the base; SIZE_MAX: none is finite */
    double distance; /* rms over the columns, each over its spread in the base; or infinite */
};

/* The nearest row of the base for each of `count` rows, all of `width` numbers. A column that is
 * constant in the base counts as it is. */
void ulp_match_rows(const double *rows, size_t count, const double *base, size_t base_count,
                    size_t width, struct ulp_match *out);

/* The median of the rows' distances, of which those of one number are matched by their order where
 * there are as many: another order, and fewer than half of them chosen otherwise, leave it as
 * it is. 0 without rows, infinite where one side alone has some. */
enum ulp_status ulp_match_median(const double *rows, size_t count, const double *base,
                                 size_t base_count, size_t width, struct ulp_budget *budget,
                                 double *out, struct ulp_error *error);

/* The part of integers, at least one, that have no partner of the same value on the other side:
 * lists of classes or of indices in any order. Both are sorted. */
double ulp_match_integers(double *values, size_t count, double *base, size_t base_count);
