/* Contractions of factors with scales. */
#pragma once

#include "kernels/operand/scaled.h"

/* Of an arithmetic whose unit multiplies elements. */
enum ulp_status ulp_contract_scaled(const struct ulp_arithmetic *arithmetic,
                                    const struct ulp_contraction *problem, struct ulp_pool *pool,
                                    struct ulp_error *error);
/* The product of factors that are rounded: what follows ulp_scaled_make. Their elements may become
 * their products with scales. */
enum ulp_status ulp_contract_elements(const struct ulp_arithmetic *arithmetic,
                                      const struct ulp_contraction *problem,
                                      struct ulp_scaled sides[2], struct ulp_pool *pool,
                                      struct ulp_error *error);
