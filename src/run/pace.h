/* The seconds that the rest of a walk takes, of those that its steps of each operator have taken so
 * far for their estimated costs: rates of the machine, the arithmetics and the load at hand. */
#pragma once

#include "run/program/program.h"

struct ulp_pace {
    /* of the main graph's steps; seconds and cost: of those that are done */
    struct ulp_paced {
        const struct ulp_operator *op;
        double seconds, cost, left;
    } * operators;
    size_t count;
    double left; /* NaN: of more than a tenth nothing like it has been computed */
};

enum ulp_status ulp_pace_begin(struct ulp_pace *pace, const struct ulp_block *main,
                               struct ulp_arena *memory, struct ulp_error *error);
/* A step of the main graph is done, after so many seconds. */
void ulp_pace_step(struct ulp_pace *pace, const struct ulp_step *step, double seconds);
