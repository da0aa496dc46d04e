/* Contractions whose values are pairs of doubles: every output is within 2^-91 of the sum of the
 * products' magnitudes (number/README.md, section 9.3), or the exact sum rounded to a pair. */
#pragma once

#include "kernels/contract.h"

/* As ulp_contract, where the accumulators are pairs. Sums that no pair holds are noted
 * (ulp_note). */
enum ulp_status ulp_contract_by_pairs(const struct ulp_arithmetic *arithmetic,
                                      const struct ulp_contraction *problem, struct ulp_pool *pool,
                                      struct ulp_error *error);
