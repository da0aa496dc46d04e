/* What one step of a reverse sweep (backward.h) hands on to its inputs. */
#pragma once

#include "run/pass/backward.h"

/* What a step hands on to its inputs in one sweep, all points on the way together. */
struct ulp_handed {
    const struct ulp_reverse *sweep;
    double **owed; /* by input; NULL: it is no float */
    bool derived;
    /* as shares: what the step introduces, what its inputs' errors make of its results', what is
     * handed on of that */
    double introduced, wanted, carried;
    struct ulp_handed *middle; /* of a mean over the way: what derivatives at its middle hand on */
};

/* What each of `count` owes by the slopes of an elementwise step (by input; NULL: none), which then
 * go. An input of another size than the result has none: it is not read. */
enum ulp_status ulp_handed_apply_slopes(const struct ulp_step *step, double **slopes,
                                        struct ulp_handed *handed, size_t count,
                                        struct ulp_error *error);
/* handed->carried, where there are errors. A derivative that is infinite (of a root at 0), or that
 * times 0, says nothing of an error: such an element hands nothing on, and what is not explained so
 * is missing at this step alone. */
void ulp_handed_measure(const struct ulp_step *step, struct ulp_handed *handed);
void ulp_handed_free(const struct ulp_step *step, struct ulp_handed *handed);
enum ulp_status ulp_handed_copy(const struct ulp_step *step, struct ulp_handed *handed,
                                struct ulp_error *error);
/* What is wanted and what is carried. */
enum ulp_status ulp_handed_weigh(const struct ulp_step *step, struct ulp_handed *handed,
                                 struct ulp_error *error);
/* Into the sweep: to the inputs' cotangents, and what is left of the step's. */
void ulp_handed_finish(const struct ulp_step *step, struct ulp_handed *handed);
