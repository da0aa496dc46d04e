/* Outputs of a sample that may be one of a list's (measure/objects.h): they are judged when all of
 * them are there. */
#pragma once

#include <ulpscope/audit.h>

struct ulp_auditor;
struct ulp_listed_output;
struct ulp_tensor;

/* Copies of the graph's output `index`, which is output o of the node; judged: by itself. */
enum ulp_status ulp_listed_keep(struct ulp_auditor *auditor, size_t lane, size_t index, size_t node,
                                size_t o, const struct ulp_tensor *value,
                                const struct ulp_tensor *truth, const struct ulp_judged *judged,
                                struct ulp_error *error);
/* The sample is over: what was kept is judged, and forgotten. */
enum ulp_status ulp_listed_settle(struct ulp_auditor *auditor, struct ulp_error *error);
void ulp_listed_clear(struct ulp_listed_output **listed, const struct ulp_auditor *auditor);
