/* Which of a run's outputs is worst. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "analysis/measure/metrics.h"
#include "analysis/session/advise.h"

/* The lane's output of that name; an input or a constant that the graph returns has none. */
static size_t find_output(const struct ulp_audit_node *outputs, const char *name)
{
    size_t o = 0;
    while (o < outputs->output_count && strcmp(outputs->outputs[o].name, name) != 0)
        o++;
    return o;
}

enum ulp_status ulp_session_worst(const struct ulp_audit_lane *lane,
                                  const struct ulp_tensor_set *values,
                                  const struct ulp_tensor_set *truth, double *db, size_t *output,
                                  struct ulp_error *error)
{
    *db = INFINITY;
    *output = 0;
    for (size_t i = 0; i < values->count; i++) {
        const struct ulp_tensor *value = &values->items[i].tensor,
                                *other = ulp_tensor_set_find(truth, values->items[i].name);
        const size_t o = find_output(&lane->outputs, values->items[i].name);
        struct ulp_metrics metrics;
        if (o == lane->outputs.output_count || !other || !ulp_type_is_float(value->type) ||
            lane->outputs.outputs[o].entire.diverged)
            continue;
        ULP_TRY(ulp_metrics_measure(value, other, &lane->arithmetic.storage, &metrics, error));
        const double own = metrics.diverged ? -INFINITY : ulp_decibels(&metrics, metrics.sqnr_db);
        if (own < *db) {
            *db = own;
            *output = o;
        }
    }
    return ULP_OK;
}
