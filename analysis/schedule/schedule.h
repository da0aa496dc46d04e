/* The schedules of its sums that a library might pick for an arithmetic. */
#pragma once

#include <ulpscope/audit.h>

#define ULP_SCHEDULES_MAX 12

/* Fills in `set` (ULP_SCHEDULES_MAX), the base first, and returns how many there are. A name that
 * does not exist (a unit the other GPU lacks, parts that contradict) is no member. *other_gpu:
 * index of the base on the other GPU of a pair; -1: none. */
size_t ulp_schedules_make(const struct ulp_arithmetic *base, struct ulp_arithmetic *set,
                          ptrdiff_t *other_gpu);

/* Run the contractions of a model under several schedules of `base` on one sample, and measure the
 * spread of the results. The set: base; its sum cut into 2, 4, 8 and 16 slices; with a matrix unit
 * also base on another GPU (A100 for Hopper and later, else H200), where that has the unit; without
 * one also product and sum rounded separately. progress may be NULL. Free with ulp_spreads_free. */
enum ulp_status ulp_spreads_measure(const struct ulp_model *model,
                                    const struct ulp_arithmetic *reference,
                                    const struct ulp_arithmetic *base,
                                    const struct ulp_tensor_set *inputs,
                                    const struct ulp_run_options *options,
                                    const struct ulp_observer *progress, struct ulp_spreads *out,
                                    struct ulp_error *error);
void ulp_spreads_free(struct ulp_spreads *spreads);
