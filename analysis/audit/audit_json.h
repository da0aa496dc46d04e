/* What JSON has of the structs of an audit beside their members. */
#pragma once

#include <ulpscope/audit.h>

#include "analysis/writing/structs.h"

/* Nothing differs, so that sqnr_db is infinite. */
static inline bool ulp_metrics_exact(const struct ulp_metrics *m)
{
    return m->count && m->rms == 0 && !m->nonfinite && !m->diverged;
}
/* "exact" of struct ulp_metrics. */
void ulp_json_add_exact(struct ulp_json_writer *writer, const void *metrics, const void *context);
/* Instead of struct ulp_unjudged_list: {"kind": "input" or "output", "name", "sample", "reason"} of
 * each. */
void ulp_json_put_unjudged(struct ulp_json_writer *writer, const char *key, const void *list,
                           const void *context);
/* Figures and places in results that have nothing else to add. */
extern const struct ulp_json_how ulp_json_plain;
