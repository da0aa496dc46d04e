#include "run/pass/handed.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "ops/product/quantize_rows.h"
#include "run/pass/cross_steps.h"
#include "run/pass/weigh.h"

enum ulp_status ulp_handed_apply_slopes(const struct ulp_step *step, double **slopes,
                                        struct ulp_handed *handed, size_t count,
                                        struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < step->input_count; i++) {
        const double *slope = slopes[i];
        for (size_t h = 0; h < count && slope && status == ULP_OK; h++) {
            const struct ulp_reverse *sweep = handed[h].sweep;
            const double *cotangents = sweep->cotangents[step->outputs[0]];
            const size_t elements = sweep->values[step->inputs[i]].count;
            const bool read = elements == sweep->values[step->outputs[0]].count,
                       add = handed[h].owed[i] != NULL;
            void *memory = handed[h].owed[i];
            handed[h].derived = true;
            if (!add)
                status =
                    (read ? ulp_allocate : ulp_allocate_zero)(&memory, elements, sizeof(double),
                                                              sweep->budget, "cotangents", error);
            double *owed = handed[h].owed[i] = memory;
            for (size_t e = 0; e < elements && read && add && status == ULP_OK; e++)
                owed[e] += slope[e] * cotangents[e];
            for (size_t e = 0; e < elements && read && !add && status == ULP_OK; e++)
                owed[e] = slope[e] * cotangents[e];
        }
        ulp_free(slopes[i]);
        slopes[i] = NULL;
    }
    return status;
}

static void drop_infinite(double *owed, size_t count)
{
    for (size_t e = 0; e < count; e++)
        owed[e] = fabs(owed[e]) <= DBL_MAX ? owed[e] : 0;
}

/* A sum of products with finite errors that is finite has no infinite one. */
void ulp_handed_measure(const struct ulp_step *step, struct ulp_handed *handed)
{
    const struct ulp_reverse *sweep = handed->sweep;
    handed->carried = 0;
    for (size_t i = 0; i < step->input_count; i++) {
        double *owed = handed->owed[i];
        if (!owed)
            continue;
        const size_t count = sweep->values[step->inputs[i]].count;
        const float *errors = sweep->plain ? NULL : sweep->errors[step->inputs[i]];
        double carried = ulp_weigh_errors(sweep->pool, owed, errors, count);
        if (!errors || !(fabs(carried) <= DBL_MAX)) {
            drop_infinite(owed, count);
            carried = ulp_weigh_errors(sweep->pool, owed, errors, count);
        }
        handed->carried += carried;
    }
}

void ulp_handed_free(const struct ulp_step *step, struct ulp_handed *handed)
{
    for (size_t i = 0; handed->owed && i < step->input_count; i++)
        ulp_free(handed->owed[i]);
}

/* Of a Cast of amounts. */
enum ulp_status ulp_handed_copy(const struct ulp_step *step, struct ulp_handed *handed,
                                struct ulp_error *error)
{
    const struct ulp_reverse *sweep = handed->sweep;
    const size_t count = sweep->values[step->outputs[0]].count;
    void *owed;
    ULP_TRY(ulp_allocate(&owed, count, sizeof(double), sweep->budget, "cotangents", error));
    if (count)
        memcpy(owed, sweep->cotangents[step->outputs[0]], count * sizeof(double));
    handed->owed[0] = owed;
    handed->derived = true;
    return ULP_OK;
}

enum ulp_status ulp_handed_weigh(const struct ulp_step *step, struct ulp_handed *handed,
                                 struct ulp_error *error)
{
    const struct ulp_reverse *sweep = handed->sweep;
    enum ulp_status status = ULP_OK;
    ulp_handed_measure(step, handed);
    if (ulp_is_quantizer(step->bound.op)) {
        status = ulp_cross_steps(handed->sweep, step, handed->owed[0], error);
        ulp_handed_measure(step, handed);
    }
    if (status != ULP_OK || sweep->plain)
        return status;
    handed->wanted = -handed->introduced;
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0)
            handed->wanted += ulp_weigh_errors(sweep->pool, sweep->cotangents[step->outputs[o]],
                                               sweep->errors[step->outputs[o]],
                                               sweep->values[step->outputs[o]].count);
    return ULP_OK;
}

static void hand_on(const struct ulp_step *step, struct ulp_handed *handed)
{
    const struct ulp_reverse *sweep = handed->sweep;
    for (size_t i = 0; i < step->input_count; i++) {
        const int slot = step->inputs[i];
        const double *from = handed->owed[i];
        if (!from)
            continue;
        const size_t count = sweep->values[slot].count;
        bool *passed = &sweep->passed[step->number];
        for (size_t e = 0; e < count && !*passed; e++)
            *passed = from[e] != 0;
        if (!sweep->cotangents[slot]) { /* the first to owe the value something */
            sweep->cotangents[slot] = handed->owed[i];
            handed->owed[i] = NULL;
            continue;
        }
        for (size_t e = 0; e < count; e++)
            sweep->cotangents[slot][e] += from[e];
    }
}

void ulp_handed_finish(const struct ulp_step *step, struct ulp_handed *handed)
{
    const struct ulp_reverse *sweep = handed->sweep;
    for (size_t i = 0; i < step->input_count; i++)
        sweep->stopped[step->number] |= !handed->derived && handed->owed[i];
    if (!sweep->plain)
        sweep->remainders[step->number] = handed->wanted - handed->carried;
    hand_on(step, handed);
}
