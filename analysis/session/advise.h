/* What helps most (struct ulp_audit_remedy). */
#ifndef ULP_ANALYSIS_ADVISE_H
#define ULP_ANALYSIS_ADVISE_H

#include "analysis/session/session.h"

/* The remedies of all lanes that have shares, found in runs of samples of the first plan's shapes.
 * truths: the reference's outputs of each; where they are empty it runs for them. */
enum ulp_status ulp_session_advise(const struct ulp_session *session, struct ulp_audit *audit,
                                   const struct ulp_samples *samples,
                                   struct ulp_tensor_set *const *truths, struct ulp_error *error);

#endif
