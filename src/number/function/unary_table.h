/* Tables of unary functions over all values of a small format. */
#pragma once

#include "number/strip.h"

/* y[i] = f(x[i]) rounded by the rule (each_step, not stochastic), by looking it up in the table of
 * (format, rounding, function), which is filled on its first use and lives as long as the process.
 * Thread-safe. false, with nothing written, when there is no table: the format needs more than 16
 * bits or values outside float, rounding is stochastic, some x[i] is not a value of the format, or
 * memory ran out. The caller then computes element by element. y may be x. */
bool ulp_unary_table_apply(const struct ulp_strip_rule *rule, enum ulp_primitive function, float *y,
                           const float *x, size_t n);
