/* What processors without VNNI lose in sums of unsigned by signed bytes (integers=saturating16). */
#pragma once

#include "kernels/contract.h"

/* problem->out (INT32) gains, for each pair of neighbours in k, its sum saturated to 16 bits less
 * its sum. An odd last k has no neighbour. */
enum ulp_status ulp_contract_pairs(const struct ulp_contraction *problem, struct ulp_pool *pool,
                                   struct ulp_error *error);
