/* NaN and infinities in the graph's inputs, as opposed to those that the model computes. */
#pragma once

#include <ulpscope/audit.h>

#include "base/text/names.h"
#include "run/program/program.h"

/* The graph's inputs, and which have been looked at in this sample. */
struct ulp_given {
    struct ulp_names names;
    size_t count, capacity; /* inputs; room in the audit's list */
    bool *seen;
};
enum ulp_status ulp_given_create(struct ulp_given *out, const struct ulp_program *program,
                                 struct ulp_error *error);
void ulp_given_free(struct ulp_given *given);
void ulp_given_start(struct ulp_given *given);
/* Look at the graph's inputs among those of the event's node, and add to the audit's list. */
enum ulp_status ulp_given_look(struct ulp_given *given, struct ulp_audit *audit, size_t sample,
                               const struct ulp_event *event, struct ulp_error *error);
