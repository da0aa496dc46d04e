/* What helps most (struct ulp_audit_remedy). */
#pragma once

#include "analysis/session/session.h"

/* The remedies of all lanes that have shares, found in runs of samples of the first program's
 * shapes. truths: the reference's outputs of each; where they are empty it runs for them. */
enum ulp_status ulp_session_advise(const struct ulp_session *session, struct ulp_audit *audit,
                                   const struct ulp_samples *samples,
                                   struct ulp_tensor_set *const *truths, struct ulp_error *error);

/* worst_output.c. The worst float output that the audit's lane can compare, where it is worse than
 * *db: its sqnr_db beside the output of its name; -infinity: not finite. */
enum ulp_status ulp_session_worst(const struct ulp_audit_lane *lane,
                                  const struct ulp_tensor_set *values,
                                  const struct ulp_tensor_set *truth, double *db, size_t *output,
                                  struct ulp_error *error);

/* pairs.c, with an original: struct ulp_qdq_pair of every lane, in runs of one sample. */
enum ulp_status ulp_session_pairs(const struct ulp_session *session, struct ulp_audit *audit,
                                  const struct ulp_tensor_set *inputs, struct ulp_error *error);

/* stored_faults.c: struct ulp_stored_fault of the model. */
enum ulp_status ulp_session_stored(const struct ulp_session *session, struct ulp_audit *audit,
                                   struct ulp_error *error);

/* scaled_lanes.c: what formats with scales do to the tensors of every lane, in one sample. */
enum ulp_status ulp_session_scaled(const struct ulp_session *session, struct ulp_audit *audit,
                                   const struct ulp_tensor_set *inputs, struct ulp_error *error);
