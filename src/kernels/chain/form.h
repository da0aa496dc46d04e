/* Panels of a factor that stay from call to call: see operand/packed.h. */
#pragma once

#include "kernels/chain/job.h"

/* Sets job->forms to the panels that earlier calls have left, or makes them where the factor stays
 * as it is, there is memory and it pays. The job's sides, tile and k_block are set. */
void ulp_chains_forms_open(struct ulp_chains_job *job);
void ulp_chains_forms_close(struct ulp_chains_job *job);

/* The panels of a batch: for each block of k all lines, padded to whole tiles. */
const char *ulp_chains_form_panels(const struct ulp_chains_form *form, int64_t batch_offset);
size_t ulp_chains_form_lines(const struct ulp_chains_form *form);
