/* Variables that are freed where their block ends, the last one first:
 * scoped_model *model = NULL; and of malloc SCOPED_MEMORY double *values = NULL; */
#pragma once

#include <mpfr.h>

#include <ulpscope.h>

#include "base/error.h"
#include "base/machine/thread.h"
#include "base/memory/alloc.h"
#include "base/text/text.h"
#include "formula/tape.h"

#define SCOPED_MEMORY ULP_SCOPED(ulp_scoped_free)
/* Of pointers. */
#define ENDS_POINTER(type)                             \
    static inline void end_##type(struct type **value) \
    {                                                  \
        type##_free(*value);                           \
    }

/* To be initialised before the block can be left. */
static inline void end_mpfr(mpfr_t *value)
{
    mpfr_clear(*value);
}
#define scoped_mpfr ULP_SCOPED(end_mpfr) mpfr_t

ENDS_POINTER(ulp_budget)
ENDS_POINTER(ulp_model)
ENDS_POINTER(ulp_pool)
ENDS_POINTER(ulp_program)
ENDS_POINTER(ulp_tape)
#define scoped_budget ULP_SCOPED(end_ulp_budget) struct ulp_budget
#define scoped_model ULP_SCOPED(end_ulp_model) struct ulp_model
#define scoped_pool ULP_SCOPED(end_ulp_pool) struct ulp_pool
#define scoped_program ULP_SCOPED(end_ulp_program) struct ulp_program
#define scoped_tape ULP_SCOPED(end_ulp_tape) struct ulp_tape
#define scoped_arena ULP_SCOPED(ulp_arena_free_of) struct ulp_arena
#define scoped_lint_result ULP_SCOPED(ulp_lint_free) struct ulp_lint_result
#define scoped_mixed ULP_SCOPED(ulp_mixed_free) struct ulp_mixed
#define scoped_overflow_forecast ULP_SCOPED(ulp_overflow_free) struct ulp_overflow_forecast
#define scoped_audit ULP_SCOPED(ulp_audit_free) struct ulp_audit
#define scoped_comparison ULP_SCOPED(ulp_comparison_free) struct ulp_comparison
#define scoped_proof ULP_SCOPED(ulp_proof_free) struct ulp_proof
#define scoped_engine ULP_SCOPED(ulp_engine_free) struct ulp_engine
#define scoped_lint_proposals ULP_SCOPED(ulp_lint_proposals_free) struct ulp_lint_proposals
#define scoped_precision_plan ULP_SCOPED(ulp_precision_plan_free) struct ulp_precision_plan
#define scoped_recording_list ULP_SCOPED(ulp_recording_list_free) struct ulp_recording_list
#define scoped_spreads ULP_SCOPED(ulp_spreads_free) struct ulp_spreads
#define scoped_scales ULP_SCOPED(ulp_scales_free) struct ulp_scales
#define scoped_search ULP_SCOPED(ulp_search_free) struct ulp_search
#define scoped_tensor ULP_SCOPED(ulp_tensor_free) struct ulp_tensor
#define scoped_tensor_set ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set
#define scoped_text ULP_SCOPED(ulp_text_free) struct ulp_text
#define scoped_tolerance ULP_SCOPED(ulp_tolerance_free) struct ulp_tolerance
