#include "analysis/audit/audit_json.h"

#include <ulpscope.h>

void ulp_json_add_exact(struct ulp_json_writer *writer, const void *metrics, const void *context)
{
    const struct ulp_metrics *m = metrics;
    (void)context;
    if (m->count && m->rms == 0 && !m->nonfinite && !m->diverged)
        ulp_json_put(writer, "exact", json_true());
}

static const struct ulp_json_hook hooks[] = {{&ulp_struct_metrics, ulp_json_add_exact, NULL}};
const struct ulp_json_how ulp_json_plain = {hooks, sizeof hooks / sizeof *hooks, NULL, NULL};
