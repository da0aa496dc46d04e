/* Chains of which one side is read where it lies. */
#pragma once

#include "kernels/chain/job.h"

/* The better way for the problem: b's lines become the job's rows, or its columns, or nothing is
 * read where it lies. *job has its tile, chains and output, its sides are not chosen. */
enum ulp_direct ulp_direct_find(const struct ulp_chains_job *job,
                                const struct ulp_arithmetic *arithmetic,
                                const struct ulp_contraction *problem);
/* All outputs. *nan: one of them is NaN (looked at only if the job meets padding). The job's sides
 * are set. */
enum ulp_status ulp_direct_run(const struct ulp_chains_job *job, enum ulp_direct way, bool *nan,
                               struct ulp_error *error);
