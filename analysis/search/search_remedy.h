/* The one search for what mends a model where it is to run, of the doctor, which promises it, and
 * of fix, which does it. */
#pragma once

#include <ulpscope/search.h>
#include <ulpscope/target.h>

#include "base/text/text.h"

#define ULP_REMEDY_KEPT_IN "fp32"

/* wanted: without formats and targets. arithmetic: that it is judged in, as it is named; named: the
 * target as it is named, of which the arithmetic is, or NULL. */
enum ulp_status ulp_remedy_search(const struct ulp_model *model,
                                  const struct ulp_search_options *wanted, const char *arithmetic,
                                  const char *named, bool for_target,
                                  const struct ulp_sample *samples, size_t sample_count,
                                  struct ulp_search *out, struct ulp_error *error);
/* What a target has that lowers every model itself, and that no file helps; NULL: out of memory. */
void ulp_remedy_add_wider(struct ulp_text *out, const struct ulp_target *target);
char *ulp_remedy_say_wider(const struct ulp_target *target, struct ulp_arena *memory);
