/* What of a node is the same in every lane: its formula, where its inputs come from, and how the
 * reference's values of its outputs lie. */
#pragma once

#include <ulpscope/audit.h>

#include "analysis/measure/histogram.h"
#include "run/program/program.h"

/* The places of all nodes, without values. */
enum ulp_status ulp_places_make(const struct ulp_program *program, struct ulp_arena *memory,
                                struct ulp_place **out, struct ulp_error *error);
/* Add the counts of the reference's values of output o of the event's node. */
enum ulp_status ulp_place_count(struct ulp_audit *audit, const struct ulp_event *event, size_t o,
                                const struct ulp_exponents *counts, struct ulp_error *error);
/* Add the counts of another audit, whose nodes have as many outputs. */
enum ulp_status ulp_places_add(struct ulp_audit *audit, const struct ulp_audit *sample,
                               struct ulp_error *error);
