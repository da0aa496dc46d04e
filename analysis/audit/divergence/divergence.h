/* What is said of outputs that differ from the reference in kind, not in size. */
#pragma once

#include <ulpscope/audit.h>

#include "analysis/audit/divergence/turned.h"
#include "base/machine/thread.h"

/* Output o of the event's node in that lane (index into the audit's) has diverged. Fills in
 * *output's divergence unless an earlier sample has; but for the margin, which the first of those
 * gives that turn (ulp_deciding.turned; context: the divergence, or NULL). */
enum ulp_status ulp_divergence_look(struct ulp_audit_output *output,
                                    const struct ulp_program *program,
                                    const struct ulp_event *event, size_t lane, size_t o,
                                    struct ulp_arena *memory, struct ulp_error *error);
enum ulp_status ulp_divergence_margin(void *context, const struct ulp_turned *turned,
                                      struct ulp_error *error);

/* Of a run in which lanes decide as the reference does: the figures of an output that has diverged
 * in some sample. */
enum ulp_status ulp_divergence_follow(struct ulp_audit_output *output,
                                      const struct ulp_tensor *value,
                                      const struct ulp_tensor *truth,
                                      const struct ulp_format *format, struct ulp_pool *pool,
                                      struct ulp_error *error);
