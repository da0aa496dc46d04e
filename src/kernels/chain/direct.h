/* Chains whose rows are read where they lie. */
#ifndef ULP_KERNELS_CHAIN_DIRECT_H
#define ULP_KERNELS_CHAIN_DIRECT_H

#include "kernels/chain/job.h"

/* Is this the better way for the problem? Then b's lines become the job's rows. *job has its
 * tile, chains and output, its sides are not chosen. */
bool ulp_direct_serves(const struct ulp_chains_job *job, const struct ulp_arithmetic *arithmetic,
                       const struct ulp_contraction *problem);
/* All outputs. *nan: one of them is NaN (looked at only if the job meets padding). The job's sides
 * are set. */
enum ulp_status ulp_direct_run(const struct ulp_chains_job *job, bool *nan,
                               struct ulp_error *error);

#endif
