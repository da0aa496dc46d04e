/* The schedules of its sums that a library might pick for an arithmetic. */
#ifndef ULP_ANALYSIS_SCHEDULES_H
#define ULP_ANALYSIS_SCHEDULES_H

#include <ulpscope/format.h>

#define ULP_SCHEDULES_MAX 12

/* Fills in `set` (ULP_SCHEDULES_MAX), the base first, and returns how many there are. A name that
 * does not exist (a unit the other GPU lacks, parts that contradict) is no member. *other_gpu:
 * index of the base on the other GPU of a pair; -1: none. */
size_t ulp_schedules_make(const struct ulp_arithmetic *base, struct ulp_arithmetic *set,
                          ptrdiff_t *other_gpu);

#endif
