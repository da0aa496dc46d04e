/* Which of a run's outputs is worst. */
#include "base/error.h"
#include "analysis/tried/tried.h"
#include "analysis/session/advise.h"

enum ulp_status ulp_session_worst(const struct ulp_audit_lane *lane,
                                  const struct ulp_tensor_set *values,
                                  const struct ulp_tensor_set *truth, double *db, size_t *output,
                                  struct ulp_error *error)
{
    struct ulp_outcome outcome = {.any = true, .sqnr_db = *db, .output = *output};
    /* an input or a constant that the graph returns is none of the lane's */
    for (size_t o = 0; o < lane->outputs.output_count; o++) {
        const struct ulp_audit_output *own = &lane->outputs.outputs[o];
        const struct ulp_tensor *value = ulp_tensor_set_find(values, own->name),
                                *other = ulp_tensor_set_find(truth, own->name);
        if (value && other && ulp_type_is_float(value->type) && !own->entire.diverged)
            ULP_TRY(ulp_outcome_add(&outcome, o, value, other, &lane->arithmetic.storage, error));
    }
    *db = outcome.sqnr_db;
    *output = outcome.output;
    return ULP_OK;
}
