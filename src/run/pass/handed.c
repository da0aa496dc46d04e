#include "run/pass/handed.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "number/function/math.h"
#include "ops/product/quantize_rows.h"
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
            handed[h].derived = true;
            if (!add)
                status = (read ? ulp_allocate
                               : ulp_allocate_zero)(&handed[h].owed[i], elements, sizeof(double),
                                                    sweep->budget, "cotangents", error);
            double *owed = handed[h].owed[i];
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

/* Quantised amounts: an error of a step and more is handed on by the slope of the chord between
 * both ends, clipping included. Smaller ones cross a step by chance, with the derivative of the
 * scale on average, where the amounts are not at the end of their type; all together they hand on
 * no more than was crossed, and the rest of that is a decision. owed: what the derivative hands on
 * to input 0; NULL: nothing. */
static enum ulp_status cross_steps(const struct ulp_reverse *sweep, const struct ulp_step *step,
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
        introduced = sweep->introduced(sweep->context, step);
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

enum ulp_status ulp_handed_weigh(const struct ulp_step *step, struct ulp_handed *handed,
                                 struct ulp_error *error)
{
    const struct ulp_reverse *sweep = handed->sweep;
    enum ulp_status status = ULP_OK;
    ulp_handed_measure(step, handed);
    if (ulp_is_quantizer(step->bound.op)) {
        status = cross_steps(handed->sweep, step, handed->owed[0], error);
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

static void hand_on_slots(const struct ulp_step *step, struct ulp_handed *handed)
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
    hand_on_slots(step, handed);
}
