#include "run/pass/cross_steps.h"

#include <math.h>

#include "number/function/math.h"

/* The least and the largest amount of a type. */
static enum ulp_status find_limits(enum ulp_type type, double *low, double *high,
                                   struct ulp_error *error)
{
    struct ulp_format format;
    if (!ulp_type_is_float(type)) {
        ulp_integer_range(type, low, high);
        return ULP_OK;
    }
    const enum ulp_status status = ulp_format_find(ulp_type_rows[type].format, &format, error);
    *high = status == ULP_OK ? format.max_finite : INFINITY;
    *low = -*high;
    return status;
}

enum ulp_status ulp_cross_steps(const struct ulp_reverse *sweep, const struct ulp_step *step,
                                double *owed, struct ulp_error *error)
{
    const int in = step->inputs[0], out = step->outputs[0];
    const float *way = sweep->plain ? NULL : sweep->errors[in],
                *half = sweep->errors ? sweep->errors[out] : NULL,
                *crossed = sweep->plain ? NULL : half, *introduced = NULL,
                *amounts = sweep->values[out].data;
    const double *cotangents = sweep->cotangents[out];
    const size_t count = sweep->values[in].count;
    double low, high, passed = 0, passes = 0;
    if (!owed || !cotangents || !amounts || sweep->values[out].element != ULP_ELEMENT_F32)
        return ULP_OK;
    enum ulp_status status =
        find_limits(sweep->program->main->slots[out].shape.type, &low, &high, error);
    if (status == ULP_OK && way && crossed)
        status = sweep->introduced(sweep->context, step, &introduced, error);
    for (int pass = 0; pass < 2 && status == ULP_OK; pass++)
        for (size_t i = 0; i < count; i++) {
            const double steps = way ? (double)way[i] : 0,
                         carried = (crossed ? (double)crossed[i] : 0) -
                                   (introduced ? (double)introduced[i] : 0);
            if (steps != 0 && fabs(owed[i] * steps) >= fabs(cotangents[i])) {
                owed[i] = pass ? cotangents[i] * carried / steps : owed[i];
            } else if (pass) {
                owed[i] *=
                    way && passes != 0 ? ulp_math_max(0, ulp_math_min(1, passed / passes)) : 1;
            } else {
                const double middle = (double)amounts[i] - (half ? (double)half[i] / 2 : 0);
                if (middle <= low || middle >= high)
                    owed[i] = 0;
                passes += owed[i] * steps;
                passed += cotangents[i] * carried;
            }
        }
    return status;
}
