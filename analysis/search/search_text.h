/* What was found as text. */
#ifndef ULP_ANALYSIS_SEARCH_TEXT_H
#define ULP_ANALYSIS_SEARCH_TEXT_H

#include <jansson.h>
#include <string.h>
#include <ulpscope/search.h>

#include "base/text/text.h"

/* What plan.json and bits.json have as their verdict, too; with_basis: and what it rests on. */
void ulp_search_verdict(struct ulp_text *out, const struct ulp_search *found, bool with_basis);
/* search_write.c: the result as a document; NULL: out of memory. */
json_t *ulp_search_document(const struct ulp_search *found);

/* Are a result's means weighted by its costs? */
static inline bool ulp_search_is_weighted(const struct ulp_search *found)
{
    return strcmp(found->cost, "bits") != 0;
}
/* search_tables.c: kept nodes; or layers, and the frontier. */
enum ulp_status ulp_search_tables(struct ulp_text *out, const struct ulp_search *found,
                                  struct ulp_error *error);

#endif
