/* Factors' digits that stay from call to call: side 0 of a call gives the rows, side 1 the
 * columns. */
#pragma once

#include "kernels/operand/packed.h"
#include "kernels/digit/digits.h"

/* Sets call->forms to what earlier calls have left of the sides that call->kept says stay as they
 * are. */
void ulp_wide_forms_find(struct ulp_wide_call *call, const struct ulp_wide_tile *tile);
/* The plan that served well with one of them at this precision; false: there is none. */
bool ulp_wide_forms_plan(struct ulp_wide_plan *plan, const struct ulp_wide_call *call);
/* Makes the forms that are missing or do not serve the plan, where there is memory. */
void ulp_wide_forms_make(struct ulp_wide_call *call, const struct ulp_wide_plan *plan,
                         struct ulp_pool *pool);
/* After the call: it is remembered how the plan served, and forms may be given up. */
void ulp_wide_forms_end(struct ulp_wide_call *call, const struct ulp_wide_plan *plan,
                        bool served_well);

/* The panels of a batch, in order. */
const struct ulp_wide_panel *ulp_wide_form_panels(const struct ulp_wide_form *form,
                                                  int64_t batch_offset);

/* Does a side of the call hold an infinity or NaN? */
bool ulp_wide_is_special_side(const struct ulp_wide_call *call, int side);
