/* What was found as text. */
#ifndef ULP_ANALYSIS_SEARCH_TEXT_H
#define ULP_ANALYSIS_SEARCH_TEXT_H

#include <ulpscope/search.h>

#include "base/text/text.h"

/* What plan.json and bits.json have as their verdict, too; with_basis: and what it rests on. */
void ulp_search_verdict(struct ulp_text *out, const struct ulp_search *found, bool with_basis);

#endif
