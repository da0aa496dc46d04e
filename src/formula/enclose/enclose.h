/* A formula over intervals: the walk over a tape that bounds all its instructions, for one row at a
 * time. What interval arithmetic alone would lose is known of the shapes that formulas have:
 *   x * x is not negative; x - row_max(x) is not positive, and row_sum(exp(x - row_max(x))) is 1 at
 *   least; e / row_sum(e) lies in [0, 1] when e >= 0;
 *   |k d / sqrt(row_mean(d * d) + epsilon)| <= |k| sqrt(n), and the row's l2 norm is sqrt(n) at
 * most. (doc/prove.md) */
#pragma once

#include "formula/enclose/interval.h"
#include "formula/tape.h"

/* values[i]: of instruction i, row_length places; those of operands are filled by the caller, at
 * every position. An instruction that is per_row has its value at every position, too. largest[i]:
 * raised to the largest magnitude that it can have. l1[i], l2[i]: bounds of the norms of the row of
 * instruction i, filled by the caller for operands (INFINITY: not known). same[i]: of an operand
 * the first instruction whose elements are the very same; else i. */
void ulp_tape_enclose(const struct ulp_tape *tape, const struct ulp_interval_rule *rule,
                      size_t row_length, const struct ulp_intervals *values, const int *same,
                      double *largest, double *l1, double *l2);
