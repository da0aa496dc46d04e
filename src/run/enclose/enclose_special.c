/* Bounds that gates do not give: of a Cast or CastLike of integers, of a Gather with any index, and
 * of normalisations that the graph writes out as several nodes. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "number/function/math.h"
#include "number/round/round.h"
#include "run/enclose/enclosed.h"
#include "run/idiom/idiom.h"
#include "run/idiom/idiom_read.h"

static enum ulp_status new_range(struct ulp_enclosing_walk *w, int slot,
                                 const struct ulp_tensor *shape, size_t joints)
{
    struct ulp_slot_bounds *value = &w->values[slot];
    value->shape = *shape;
    value->shape.data = NULL;
    const enum ulp_status status =
        ulp_enclosure_create(&value->range, shape->count, joints, w->from->budget, w->error);
    value->is_range = status == ULP_OK;
    return status;
}

/* ---- Cast, CastLike ---- */

static enum ulp_status enclose_cast(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                    bool *done)
{
    const struct ulp_slot_bounds *in = &w->values[step->inputs[0]];
    const struct ulp_tensor *out = &w->block->slots[step->outputs[0]].shape;
    if (!in->is_range || out->type == ULP_TYPE_UNDEFINED ||
        (ulp_type_is_float(in->shape.type) && ulp_type_is_float(out->type)) ||
        (ulp_type_is_float(out->type) && ulp_type_rows[out->type].file_bits <= 8))
        return ULP_OK;
    const enum ulp_status status = new_range(w, step->outputs[0], out, 0);
    struct ulp_enclosure *range = &w->values[step->outputs[0]].range;
    double least, most;
    ulp_integer_range(out->type, &least, &most);
    for (size_t i = 0; status == ULP_OK && i < range->count; i++) {
        ulp_interval_copy(&range->at, i, &in->range.at, i);
        if (ulp_type_is_float(out->type))
            ulp_interval_store(w->arithmetic, &w->arithmetic->storage, &range->at, i);
        else if (out->type == ULP_TYPE_BOOL)
            ulp_interval_set(&range->at, i, 0, 1, 0);
        else if (range->at.may[i] || range->at.lo[i] < least || range->at.hi[i] > most)
            /* what the type does not have wraps around, or becomes the nearest end */
            ulp_interval_set(&range->at, i, least, most, 0);
        else
            ulp_interval_set(&range->at, i, floor(range->at.lo[i]), ceil(range->at.hi[i]), 0);
    }
    *done = status == ULP_OK;
    return status;
}

/* ---- Gather ---- */

/* data as [outer][choices][inner]. */
struct table {
    size_t outer, choices, inner;
    const struct ulp_enclosure *range;
    const struct ulp_tensor *numbers;
};

static void widen_by(const struct table *table, size_t at, const struct ulp_intervals *hull,
                     double *square, double *sum)
{
    double lo, hi;
    uint8_t may;
    struct ulp_intervals x = {&lo, &hi, &may};
    if (table->range)
        ulp_interval_copy(&x, 0, &table->range->at, at);
    else
        ulp_interval_set_element(&x, 0, table->numbers, at);
    hull->lo[0] = ulp_math_min(hull->lo[0], lo);
    hull->hi[0] = ulp_math_max(hull->hi[0], hi);
    hull->may[0] |= may;
    const double magnitude = may ? INFINITY : ulp_interval_magnitude(&x, 0);
    *square += ulp_interval_square(magnitude);
    *sum += magnitude;
}

/* Whatever the index: each element the hull over all choices, each slice the largest norm. */
static void choose_any(const struct table *table, size_t picks, struct ulp_enclosure *out)
{
    for (size_t o = 0; o < table->outer; o++) {
        double l1 = 0, l2 = 0;
        const size_t first = o * picks * table->inner;
        for (size_t n = 0; n < table->inner; n++)
            ulp_interval_set(&out->at, first + n, INFINITY, -INFINITY, 0);
        for (size_t c = 0; c < table->choices; c++) {
            double square = 0, sum = 0;
            for (size_t n = 0; n < table->inner; n++) {
                const struct ulp_intervals hull = {out->at.lo + first + n, out->at.hi + first + n,
                                                   out->at.may + first + n};
                widen_by(table, (o * table->choices + c) * table->inner + n, &hull, &square, &sum);
            }
            l1 = ulp_math_max(l1, sum);
            l2 = ulp_math_max(l2, sqrt(square));
        }
        const double slack = 1 + (double)table->inner * 0x1p-50;
        for (size_t p = 0; p < picks; p++) {
            const size_t joint = o * picks + p;
            out->joints[joint] = (struct ulp_joint){l1 * slack, l2 * slack};
            for (size_t n = 0; n < table->inner; n++) {
                ulp_interval_copy(&out->at, joint * table->inner + n, &out->at, first + n);
                out->joint[joint * table->inner + n] = (uint32_t)joint;
            }
        }
    }
}

static enum ulp_status enclose_gather(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                      bool *done)
{
    const int data = step->inputs[0], index = step->inputs[1];
    const struct ulp_tensor *shape = &w->block->slots[data].shape,
                            *indices = &w->block->slots[index].shape,
                            *result = &w->block->slots[step->outputs[0]].shape;
    const struct ulp_attribute *attribute = ulp_node_attribute(step->bound.node, "axis");
    struct table table = {.outer = 1, .inner = 1};
    const struct ulp_tensor *numbers = w->block->slots[data].constant;
    if (w->block->slots[index].constant || w->values[index].is_numbers ||
        shape->type == ULP_TYPE_UNDEFINED || !ulp_type_is_float(shape->type) ||
        indices->type == ULP_TYPE_UNDEFINED || result->type == ULP_TYPE_UNDEFINED ||
        (!numbers && !w->values[data].is_range) || shape->count == 0)
        return ULP_OK;
    int64_t axis = attribute ? attribute->i : 0;
    axis += axis < 0 ? shape->rank : 0;
    if (axis < 0 || axis >= shape->rank)
        return ULP_OK;
    for (int d = 0; d < shape->rank; d++)
        *(d < axis    ? &table.outer
          : d == axis ? &table.choices
                      : &table.inner) *= d == axis ? 1 : (size_t)shape->dims[d];
    table.choices = (size_t)shape->dims[axis];
    if (table.outer * indices->count * table.inner != result->count)
        return ULP_OK;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor converted = {0};
    if (numbers)
        ULP_TRY(ulp_lane_input(&w->lane, step, 0, &converted, &table.numbers, w->error));
    else
        table.range = &w->values[data].range;
    ULP_TRY(new_range(w, step->outputs[0], result, table.outer * indices->count));
    choose_any(&table, indices->count, &w->values[step->outputs[0]].range);
    if (numbers && !w->lane.converts_tables)
        ulp_enclose_store_kernel(w, &w->values[step->outputs[0]].range);
    *done = true;
    return ULP_OK;
}

enum ulp_status ulp_enclose_special(struct ulp_enclosing_walk *w, const struct ulp_step *step,
                                    bool *done)
{
    *done = false;
    if (step->output_count < 1 || step->outputs[0] < 0 || step->own_input_count < 1 ||
        step->inputs[0] < 0)
        return ULP_OK;
    if ((ulp_step_is(step, "Cast") || ulp_step_is(step, "CastLike")) &&
        !w->block->slots[step->inputs[0]].constant)
        return enclose_cast(w, step, done);
    if (ulp_step_is(step, "Gather") && step->inputs[1] >= 0)
        return enclose_gather(w, step, done);
    return ULP_OK;
}

/* ---- normalisations ---- */

/* d / sqrt(mean(d * d) + epsilon), written as nodes. */
struct ulp_written_normalisation {
    bool is;
    struct ulp_idiom idiom;
};

enum ulp_status ulp_enclose_find_normalised(struct ulp_enclosing_walk *w)
{
    static const char formula[] = "x / sqrt(mean(square(x)) + $epsilon)";
    ULP_TAKE(w->normalisations, w->arena, w->block->step_count + 1, w->error);
    ULP_TAKE_ARRAY(struct ulp_idiom_formula, parsed, w->arena, 1, w->error);
    ULP_TRY(ulp_idiom_parse(formula, parsed, w->error));
    for (size_t s = 0; s < w->block->step_count; s++) {
        struct ulp_written_normalisation *n = &w->normalisations[s];
        n->idiom = (struct ulp_idiom){.root = (int)s, .formula = formula};
        n->is = !w->block->steps[s].folded &&
                ulp_idiom_match(w->block, (int)s, parsed, &n->idiom) && n->idiom.length > 0 &&
                n->idiom.axis >= 0;
        if (n->is)
            w->keep[n->idiom.holes[ULP_IDIOM_X]] = true;
    }
    return ULP_OK;
}

/* At least what a positive constant becomes in the lane; what a kernel reads as it is is not
 * raised. */
static double lowered(const struct ulp_arithmetic *arithmetic, double constant)
{
    const struct ulp_format *format = &arithmetic->storage;
    if (arithmetic->inner_constants)
        return ulp_format_round(format, ULP_ROUND_TOWARD_ZERO, constant, 0, 0);
    if (arithmetic->constants == ULP_CONSTANTS_ONNXCONVERTER && constant > 0)
        constant = ulp_math_max(constant, 1e-7);
    const double rounded = ulp_format_round(format, ULP_ROUND_TOWARD_ZERO, constant, 0, 0);
    return arithmetic->constants == ULP_CONSTANTS_TENSORRT && constant > 0 && rounded == 0 &&
                   format->subnormals
               ? ldexp(1, ulp_format_lowest_bit(format))
               : rounded;
}

/* The largest ||y||_2 of a row y = d / s, in the lane. With T = sum d_i^2, u an ulp of 1 and eta
 * the least positive number of the format, each of square, mean, sum, root and quotient rounds
 * once; the square and the mean lose eta / 2 at most where they are subnormal, a sum that is
 * subnormal is exact, a root is never subnormal: s^2 >= (T / n)(1 - 6 u - gamma) + (epsilon -
 * eta)(1 - 3 u), gamma the error of the sum of n terms inside ReduceMean. Where epsilon >= eta, T /
 * s^2 <= n / (1 - 6 u - gamma). Where subnormal numbers are flushed, or the mean's quotient is
 * rounded apart from its sum, up to four such steps lose eta. INFINITY: epsilon is too small. */
static double norm_of_row(const struct ulp_enclosing_walk *w, const struct ulp_idiom *idiom)
{
    const struct ulp_format *format = &w->arithmetic->storage;
    const double n = (double)idiom->length, u = ldexp(1, 1 - format->precision),
                 eta = ldexp(1, format->subnormals ? ulp_format_lowest_bit(format) : format->emin),
                 gamma = n * 2 * ldexp(1, 1 - w->arithmetic->rows.precision),
                 epsilon = lowered(w->arithmetic, idiom->epsilon);
    const double lost =
        !format->subnormals || w->arithmetic->place == ULP_ROUND_EACH_STEP ? 4 * eta : eta;
    if (!(6 * u + gamma < 0.5) || !(epsilon >= lost))
        return INFINITY;
    return sqrt(n / (1 - 6 * u - gamma)) * (1 + 3 * u) + sqrt(n) * eta;
}

const char *ulp_enclose_normalised(struct ulp_enclosing_walk *w, size_t s, bool *assumed, char *why,
                                   size_t size)
{
    const struct ulp_written_normalisation *normalisation = &w->normalisations[s];
    const struct ulp_step *step = &w->block->steps[s];
    if (!normalisation->is || step->outputs[0] < 0)
        return NULL;
    const struct ulp_idiom *idiom = &normalisation->idiom;
    struct ulp_slot_bounds *y = &w->values[step->outputs[0]];
    const struct ulp_slot_bounds *d = &w->values[idiom->holes[ULP_IDIOM_X]];
    const double norm = norm_of_row(w, idiom);
    if (!isfinite(norm))
        snprintf(why, size, "epsilon %g is too small for %s: nothing keeps the divisor from 0",
                 idiom->epsilon, w->arithmetic->storage.name);
    /* what makes the quotient 0 where a square or the sum is too large */
    const struct ulp_arithmetic *a = w->arithmetic;
    const bool infinite = ulp_interval_overflows(&a->storage, a->rounding) &&
                          ulp_interval_overflows(&a->compute, a->rounding) &&
                          ulp_interval_overflows(&a->rows, a->rounding);
    if (!y->is_range || !ulp_slot_bounds_finite(d) || !infinite || !isfinite(norm))
        return NULL;
    struct ulp_enclosure joined;
    const size_t rows = y->range.count / idiom->length;
    if (ulp_enclosure_create(&joined, y->range.count, rows, w->from->budget, NULL) != ULP_OK) {
        w->starved = true;
        return NULL;
    }
    for (size_t r = 0; r < rows; r++)
        joined.joints[r] = (struct ulp_joint){norm * sqrt((double)idiom->length), norm};
    for (size_t i = 0; i < y->range.count; i++) {
        const struct ulp_intervals *at = &y->range.at;
        if (at->may[i])
            ulp_interval_set(&joined.at, i, -norm, norm, 0);
        else
            ulp_interval_set(&joined.at, i, ulp_math_max(at->lo[i], -norm),
                             ulp_math_min(at->hi[i], norm), 0);
        joined.joint[i] = (uint32_t)ulp_bounds_row(&y->shape, idiom->axes, i);
    }
    ulp_enclosure_free(&y->range);
    y->range = joined;
    *assumed = d->assumed;
    return "normalisation";
}
