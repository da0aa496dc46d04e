/* What TF32 is to a plan, and how it is forbidden. */
#pragma once

#include <ulpscope/search.h>

#include "base/text/text.h"

/* Products are kept in FP32, and TF32 would be another result; or they are TF32 in what was judged.
 */
bool ulp_tf32_is_forbidden(const struct ulp_search *found);
bool ulp_tf32_is_allowed(const struct ulp_search *found);
/* The lines of Python that forbid it to the targets. */
bool ulp_tf32_has_python(const struct ulp_search *found);
enum ulp_status ulp_tf32_python(const struct ulp_search *found, struct ulp_text *out,
                                struct ulp_error *error);
/* ", with TF32 forbidden (use_tf32=0)", or nothing. */
void ulp_tf32_say(struct ulp_text *out, const struct ulp_search *found);
