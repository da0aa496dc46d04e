/* Limits kept in an audit, with the sentences on what crosses them. */
#include <stdlib.h>

#include <ulpscope/audit.h>
#include <ulpscope/limit.h>

#include "base/error.h"
#include "base/machine/environment.h"
#include "base/memory/alloc.h"

static enum ulp_status keep_crossings(const struct ulp_audit *audit,
                                      const struct ulp_crossing_list *crossings,
                                      struct ulp_audit_limit *out, struct ulp_error *error)
{
    ULP_TAKE(out->crossings, audit->memory, crossings->count + 1, error);
    for (size_t c = 0; c < crossings->count; c++) {
        ULP_SCOPED(ulp_scoped_free) char *text = NULL;
        ULP_TRY(ulp_crossing_text(&crossings->items[c], out->limit, &text, error));
        out->crossings[out->crossing_count++] =
            (struct ulp_audit_crossing){.arithmetic = crossings->items[c].arithmetic,
                                        .output = crossings->items[c].output,
                                        .text = ulp_arena_copy(audit->memory, text)};
        ULP_TRY(ulp_taken(out->crossings[c].text, error));
    }
    return ULP_OK;
}

enum ulp_status ulp_audit_keep_limits(struct ulp_audit *audit, const char *const *limits,
                                      size_t count, bool allow_nonfinite_inputs,
                                      struct ulp_error *error)
{
    ULP_ENTER(error);
    enum ulp_status status = ULP_OK;
    audit->limit_count = 0;
    ULP_TAKE(audit->limits, audit->memory, count + 1, error);
    for (size_t i = 0; i < count && status == ULP_OK; i++) {
        struct ulp_audit_limit *kept = &audit->limits[i];
        struct ulp_crossing_list crossings;
        status = ulp_audit_check(audit, limits[i], allow_nonfinite_inputs, &crossings, error);
        if (status != ULP_OK)
            break;
        kept->limit = ulp_arena_copy(audit->memory, limits[i]);
        status =
            kept->limit ? keep_crossings(audit, &crossings, kept, error) : ulp_out_of_memory(error);
        free(crossings.items);
        audit->limit_count += status == ULP_OK;
    }
    return status;
}
