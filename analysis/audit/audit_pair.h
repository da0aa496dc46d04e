/* An input of a node as the reference and as a lane have it. */
#pragma once

#include "run/program/program.h"

struct ulp_pair {
    const struct ulp_tensor *reference, *lane;
};
/* Input i of the event's node; NULL in both: it is not there. */
struct ulp_pair ulp_pair_find(const struct ulp_program *program, const struct ulp_event *event,
                              size_t lane, size_t i);
/* Does the tensor broadcast to the other's shape, or has it its elements in the same order? */
bool ulp_pair_reaches(const struct ulp_tensor *small, const struct ulp_tensor *large);
/* The element of a term that is broadcast to element i of the sum, or has its place. */
size_t ulp_pair_element(const struct ulp_tensor *term, const struct ulp_tensor *sum, size_t i);
