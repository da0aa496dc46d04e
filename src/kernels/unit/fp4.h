/* Contractions on block-scaled units of FP4. */
#pragma once

#include "kernels/operand/scaled.h"

/* sides: the problem's factors, in formats of FP4 elements with the same kind of scales. */
enum ulp_status ulp_unit_run_fp4(unsigned cpu, const struct ulp_arithmetic *arithmetic,
                                 const struct ulp_contraction *problem,
                                 const struct ulp_scaled sides[2], struct ulp_pool *pool,
                                 struct ulp_error *error);
