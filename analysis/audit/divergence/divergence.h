/* What is said of outputs that differ from the reference in kind, not in size. */
#pragma once

#include <ulpscope/audit.h>

#include "base/machine/thread.h"

/* Output o of the event's node in that lane (index into the audit's) has diverged; `decides`: here,
 * and not before. Fills in *output's divergence unless an earlier sample has. */
enum ulp_status ulp_divergence_look(struct ulp_audit_output *output,
                                    const struct ulp_program *program,
                                    const struct ulp_event *event, size_t lane, size_t o,
                                    bool decides, struct ulp_arena *memory,
                                    struct ulp_error *error);

/* first, margin and margin_error where NonMaxSuppression's lists part, also when one is longer. */
void ulp_divergence_suppression(struct ulp_divergence *out, const struct ulp_program *program,
                                const struct ulp_event *event, size_t lane,
                                const struct ulp_tensor *value, const struct ulp_tensor *truth);

/* Of a run in which lanes decide as the reference does: the figures of an output that has diverged
 * in some sample. */
enum ulp_status ulp_divergence_follow(struct ulp_audit_output *output,
                                      const struct ulp_tensor *value,
                                      const struct ulp_tensor *truth,
                                      const struct ulp_format *format, struct ulp_pool *pool,
                                      struct ulp_error *error);
