/* The outputs of a formula of intervals, as they are stored: numbers, of which an element holds the
 * name, and integers that are known only when there is one. */
#include "number/function/math.h"
#include "ops/trace/enclose_tape.h"

/* A truth value or integer: known only when there is one. */
static void store_integer(struct ulp_enclose_tape *v, const struct ulp_tensor *tensor,
                          int64_t place, const struct ulp_intervals *x, size_t k)
{
    const bool known = !x->may[k] && x->lo[k] == x->hi[k];
    if (!known)
        v->trace->enclosing->unknown_integers = true;
    if (tensor->type == ULP_TYPE_BOOL)
        ((uint8_t *)tensor->data)[place] = known && x->lo[k] != 0;
    else if (tensor->element_bytes == sizeof(int64_t))
        ((int64_t *)tensor->data)[place] = known && fabs(x->lo[k]) < 0x1p62 ? (int64_t)x->lo[k] : 0;
    else
        v->trace->enclosing->unknown_integers = true;
}

/* The element's number: a new one, or that which it has been given in this call. What stands in an
 * element before is memory of whatever came before, also of another trace: a name proves nothing
 * unless it was given to this very element. */
static void store_element(struct ulp_enclose_tape *v, double *element,
                          const struct ulp_intervals *x, size_t k, const struct ulp_affine *affine,
                          const struct ulp_format *format, uint32_t joint)
{
    struct ulp_enclosing *e = v->trace->enclosing;
    const size_t met = ulp_enclosing_number(e, *element);
    const size_t number = e->count;
    struct ulp_affine form = {.rest = INFINITY};
    ulp_interval_copy(&e->at, number, x, k);
    if (affine)
        form = ulp_affine_meet(affine, &e->at, number);
    ulp_affine_store(&form, format);
    ulp_interval_store(&v->arithmetic, format, &e->at, number);
    if (e->at.may[number])
        form.rest = INFINITY;
    if (met != ULP_NO_NUMBER && met >= v->first && v->given[met - v->first] == element) {
        const double lo = ulp_math_min(e->at.lo[met], e->at.lo[number]),
                     hi = ulp_math_max(e->at.hi[met], e->at.hi[number]);
        ulp_interval_set(&e->at, met, lo, hi, e->at.may[met] | e->at.may[number]);
        e->joint[met] = ULP_NO_JOINT;
        form.rest = INFINITY;
        ulp_enclosing_set_affine(v->trace, met, &form);
        return;
    }
    e->joint[number] = joint;
    e->stamp[number] = 0;
    ulp_enclosing_set_affine(v->trace, number, &form);
    v->given[number - v->first] = element;
    *element = ulp_enclosing_name(e, e->count++);
}

/* A joint for the results, when more is known than their intervals say. Of elements that may be
 * anything there is none: such an element is taken as finite by what reads it, and norms that follow
 * from a formula's steps say nothing of what a step made that was too large. */
static uint32_t join_results(struct ulp_enclose_tape *v, int i, size_t n,
                             const struct ulp_format *format)
{
    const double unit = ldexp(1, 1 - format->precision), tiny = ldexp(1, format->emin);
    double sum = 0, squares = 0;
    for (size_t k = 0; k < n; k++) {
        const double x = ulp_interval_magnitude(&v->values[i], k);
        if (v->values[i].may[k])
            return ULP_NO_JOINT;
        sum += x;
        squares += ulp_interval_square(x);
    }
    const struct ulp_joint joint = {v->l1[i] * (1 + unit) + (double)n * tiny,
                                    v->l2[i] * (1 + unit) + sqrt((double)n) * tiny};
    if (n < 2 || !(joint.l1 < 0.99 * sum || joint.l2 < 0.99 * sqrt(squares)))
        return ULP_NO_JOINT;
    return ulp_enclosing_add_joint(v->trace, joint);
}

void ulp_enclose_open_output(struct ulp_enclose_tape *v, int o, size_t n,
                             struct ulp_enclose_output *out)
{
    const struct ulp_tape *tape = v->call->tape;
    const struct ulp_operand *to = &v->call->outputs[o];
    const int i = tape->outputs[o];
    *out = (struct ulp_enclose_output){.to = to, .instruction = i};
    if (!ulp_enclose_is_stored(v, o))
        return;
    out->one = ulp_enclose_is_one(tape, i, to);
    out->named = ulp_operand_is_named(to);
    out->format = to->storage ? ulp_enclosing_format(v->trace->enclosing, to->storage)
                              : v->arithmetic.storage;
    out->joint = out->named && !out->one ? join_results(v, i, n, &out->format) : ULP_NO_JOINT;
}

void ulp_enclose_store_output(struct ulp_enclose_tape *v, const struct ulp_enclose_output *output,
                              size_t k)
{
    const struct ulp_operand *to = output->to;
    const size_t i = (size_t)output->instruction;
    if (!to->tensor || output->instruction < 0 || (output->one && k > 0))
        return;
    const int64_t place = ulp_operand_place(to, v->rows[k], output->one ? 0 : v->positions[k]);
    if (!output->named)
        store_integer(v, to->tensor, place, &v->values[i], k);
    else
        store_element(v, &((double *)to->tensor->data)[place], &v->values[i], k,
                      v->has_terms ? &v->affine.results[i * v->affine.stride + k] : NULL,
                      &output->format, output->joint);
}

/* A row without elements: its result may be a sum of nothing, or a mean, which is NaN. It has one
 * where the output has no positions, whatever else the formula reads for it (a running mean, the
 * count of a window). */
void ulp_enclose_store_empty(struct ulp_enclose_tape *v, size_t row)
{
    const struct ulp_tape *tape = v->call->tape;
    double lo, hi;
    uint8_t may;
    const struct ulp_intervals anything = {&lo, &hi, &may};
    ulp_interval_set(&anything, 0, INFINITY, -INFINITY, ULP_MAY_BE_ANYTHING);
    for (int o = 0; o < tape->output_count; o++) {
        const struct ulp_operand *to = &v->call->outputs[o];
        if (!ulp_enclose_is_stored(v, o) || ulp_gate_has_positions(to) || !to->tensor->count)
            continue;
        const int64_t place = ulp_operand_place(to, row, 0);
        if (!ulp_operand_is_named(to))
            store_integer(v, to->tensor, place, &anything, 0);
        else
            store_element(v, &((double *)to->tensor->data)[place], &anything, 0, NULL,
                          &v->arithmetic.storage, ULP_NO_JOINT);
    }
}
