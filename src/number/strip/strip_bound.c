/* Bounds of errors as powers of two, for records that stand for what pairs leave open. Slopes are
 * doubled, which takes their change over an error that is small beside what they change over; where
 * it is not small, nothing is known. */
#include "number/strip/strip_bound.h"

#include <stdbool.h>

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
/* The sum of two errors. */
static int64_t sum_of(int64_t a, int64_t b)
{
    return a == ULP_BOUND_NONE || b == ULP_BOUND_NONE ? larger(a, b) : larger(a, b) + 1;
}
/* An error grown by a slope below 2^slope. */
static int64_t grown(int64_t error, int64_t slope)
{
    return error == ULP_BOUND_NONE ? error : error + slope;
}
static int64_t if_small(bool small, int64_t error)
{
    return small ? error : ULP_BOUND_UNKNOWN;
}

static int64_t carried_product(const struct ulp_bounded *a, const struct ulp_bounded *b)
{
    if ((a->size == ULP_BOUND_NONE && a->error == ULP_BOUND_NONE) ||
        (b->size == ULP_BOUND_NONE && b->error == ULP_BOUND_NONE))
        return ULP_BOUND_NONE;
    const int64_t by_a = grown(a->error, larger(b->size, b->error)),
                  by_b = grown(b->error, a->size);
    return sum_of(by_a, a->size == ULP_BOUND_NONE ? ULP_BOUND_NONE : by_b);
}

/* Errors of the dividend and the divisor, of which 2^(size - 2) is left: a / b moves by at most
 * (e_a + |a / b| e_b) / 2^(size - 2). */
static int64_t carried_quotient(int64_t size, const struct ulp_bounded *a,
                                const struct ulp_bounded *b)
{
    const int64_t by_b = size == ULP_BOUND_NONE ? ULP_BOUND_NONE : grown(b->error, size);
    return if_small(b->error <= b->size - 3, grown(sum_of(a->error, by_b), 2 - b->size));
}

static int64_t carried_function(enum ulp_primitive primitive, int64_t size,
                                const struct ulp_bounded *a, int64_t edge)
{
    const int64_t error = a->error, relative = error - a->size + 1;
    const bool near = error <= -2, apart = error <= edge - 3;
    switch (primitive) {
    case ULP_PRIMITIVE_EXP: return if_small(near, size + error + 1);
    case ULP_PRIMITIVE_EXPM1:
    case ULP_PRIMITIVE_SINH:
    case ULP_PRIMITIVE_COSH: return if_small(near, larger(size, 0) + error + 2);
    case ULP_PRIMITIVE_LOG: return if_small(relative <= -2, relative + 1);
    case ULP_PRIMITIVE_LOG1P: return if_small(apart, error - edge + 2);
    case ULP_PRIMITIVE_TAN: {
        const int64_t slope = 1 + 2 * larger(size, 0);
        return if_small(error + slope <= -4, error + slope + 1);
    }
    case ULP_PRIMITIVE_ASIN:
    case ULP_PRIMITIVE_ACOS:
    case ULP_PRIMITIVE_ACOSH: return if_small(apart, error + 2 - edge / 2);
    case ULP_PRIMITIVE_ATANH: return if_small(apart, error - edge + 2);
    case ULP_PRIMITIVE_SQRT:
    case ULP_PRIMITIVE_RSQRT: return if_small(relative <= -2, size + relative + 1);
    /* the slope is below the value, and below 1 */
    case ULP_PRIMITIVE_SIGMOID:
    case ULP_PRIMITIVE_SOFTPLUS: return error + 1 + (near ? smaller(size, 0) : 0);
    case ULP_PRIMITIVE_SIN:
    case ULP_PRIMITIVE_COS:
    case ULP_PRIMITIVE_TANH:
    case ULP_PRIMITIVE_ATAN:
    case ULP_PRIMITIVE_ASINH:
    case ULP_PRIMITIVE_ERF: return error + 1;
    default: return ULP_BOUND_UNKNOWN;
    }
}

int64_t ulp_bound_carried(enum ulp_primitive primitive, int64_t size, const struct ulp_bounded x[3],
                          int64_t edge)
{
    const struct ulp_bounded *const a = &x[0], *const b = &x[1];
    switch (primitive) {
    case ULP_PRIMITIVE_ADD:
    case ULP_PRIMITIVE_SUB: return sum_of(a->error, b->error);
    case ULP_PRIMITIVE_MUL: return carried_product(a, b);
    case ULP_PRIMITIVE_FMA: return sum_of(carried_product(a, b), x[2].error);
    case ULP_PRIMITIVE_DIV: return carried_quotient(size, a, b);
    case ULP_PRIMITIVE_POW: {
        const int64_t relative = b->size + a->error - a->size + 1;
        return if_small(b->error == ULP_BOUND_NONE && a->error <= a->size - 3 && relative <= -3,
                        size + relative + 1);
    }
    default: return carried_function(primitive, size, a, edge);
    }
}

int64_t ulp_bound_edge(enum ulp_primitive primitive, const mpfr_t a)
{
    mp_limb_t limb[1];
    mpfr_t edge;
    mpfr_custom_init_set(edge, MPFR_NAN_KIND, 0, 64, limb);
    switch (primitive) {
    case ULP_PRIMITIVE_LOG1P: mpfr_add_ui(edge, a, 1, MPFR_RNDZ); break;
    case ULP_PRIMITIVE_ASIN:
    case ULP_PRIMITIVE_ACOS:
    case ULP_PRIMITIVE_ATANH:
        if (mpfr_signbit(a))
            mpfr_add_ui(edge, a, 1, MPFR_RNDZ);
        else
            mpfr_ui_sub(edge, 1, a, MPFR_RNDZ);
        break;
    case ULP_PRIMITIVE_ACOSH: mpfr_sub_ui(edge, a, 1, MPFR_RNDZ); break;
    default: return 0;
    }
    return mpfr_sgn(edge) > 0 ? ulp_bound_size(edge) : ULP_BOUND_NONE;
}

/* ---- exact primitives: whether the errors leave the decision open ---- */

/* Is x surely no zero, or surely one? */
static bool has_truth(const mpfr_t x, int64_t error)
{
    return error == ULP_BOUND_NONE ||
           (error != ULP_BOUND_UNKNOWN && (!mpfr_regular_p(x) || mpfr_get_exp(x) - 1 > error) &&
            !mpfr_zero_p(x));
}

static bool are_apart(const mpfr_srcptr x[3], int64_t error)
{
    mp_limb_t limb[1];
    mpfr_t apart;
    mpfr_custom_init_set(apart, MPFR_NAN_KIND, 0, 64, limb);
    mpfr_sub(apart, x[0], x[1], MPFR_RNDZ);
    return !mpfr_number_p(apart) || (!mpfr_zero_p(apart) && mpfr_get_exp(apart) - 1 > error);
}

typedef int round_fn(mpfr_t, mpfr_srcptr, mpfr_rnd_t);

/* Are all numbers within the error of x rounded alike? */
static bool is_rounded_alike(round_fn *function, const mpfr_t x, int64_t error)
{
    mpfr_t low, high, step;
    mpfr_inits2(mpfr_get_prec(x), low, high, (mpfr_ptr)0);
    mpfr_init2(step, 2);
    mpfr_set_ui_2exp(step, 1, (mpfr_exp_t)error, MPFR_RNDU);
    mpfr_sub(low, x, step, MPFR_RNDD);
    mpfr_add(high, x, step, MPFR_RNDU);
    function(low, low, MPFR_RNDN);
    function(high, high, MPFR_RNDN);
    const bool alike = !mpfr_number_p(x) || mpfr_equal_p(low, high);
    mpfr_clears(low, high, step, (mpfr_ptr)0);
    return alike;
}

static int64_t bound_of_integer(round_fn *function, const mpfr_t x, int64_t error)
{
    return if_small(error != ULP_BOUND_UNKNOWN && is_rounded_alike(function, x, error),
                    ULP_BOUND_NONE);
}

/* Of a primitive whose result is an operand, an integer or a truth; another: false. */
static bool find_choice(int64_t *out, enum ulp_primitive primitive, const mpfr_srcptr x[3],
                        const int64_t errors[3])
{
    const int64_t known = ULP_BOUND_NONE;
    switch (primitive) {
    case ULP_PRIMITIVE_COPY:
    case ULP_PRIMITIVE_NEG:
    case ULP_PRIMITIVE_ABS: *out = errors[0]; return true;
    case ULP_PRIMITIVE_MIN:
    case ULP_PRIMITIVE_MAX: *out = larger(errors[0], errors[1]); return true;
    case ULP_PRIMITIVE_SELECT:
        *out = if_small(has_truth(x[0], errors[0]), mpfr_zero_p(x[0]) ? errors[2] : errors[1]);
        return true;
    case ULP_PRIMITIVE_SIGN:
    case ULP_PRIMITIVE_NOT: *out = if_small(has_truth(x[0], errors[0]), known); return true;
    case ULP_PRIMITIVE_AND:
    case ULP_PRIMITIVE_OR:
    case ULP_PRIMITIVE_XOR:
        *out = if_small(has_truth(x[0], errors[0]) && has_truth(x[1], errors[1]), known);
        return true;
    case ULP_PRIMITIVE_IS_NAN:
    case ULP_PRIMITIVE_IS_INF: *out = if_small(errors[0] != ULP_BOUND_UNKNOWN, known); return true;
    case ULP_PRIMITIVE_LESS:
    case ULP_PRIMITIVE_LESS_EQUAL:
    case ULP_PRIMITIVE_EQUAL: {
        const int64_t error = sum_of(errors[0], errors[1]);
        *out = if_small(error < ULP_BOUND_UNKNOWN && are_apart(x, error), known);
        return true;
    }
    case ULP_PRIMITIVE_FLOOR:
        *out = bound_of_integer(mpfr_rint_floor, x[0], errors[0]);
        return true;
    case ULP_PRIMITIVE_CEIL: *out = bound_of_integer(mpfr_rint_ceil, x[0], errors[0]); return true;
    case ULP_PRIMITIVE_TRUNC:
        *out = bound_of_integer(mpfr_rint_trunc, x[0], errors[0]);
        return true;
    case ULP_PRIMITIVE_ROUND:
        *out = bound_of_integer(mpfr_rint_roundeven, x[0], errors[0]);
        return true;
    default: return false;
    }
}

int64_t ulp_bound_of(enum ulp_primitive primitive, const mpfr_t y, int ternary,
                     const mpfr_srcptr x[3], const int64_t errors[3], int arity)
{
    struct ulp_bounded operands[3];
    bool exact = true, unknown = false, finite = true, sure = true;
    for (int k = 0; k < arity; k++) {
        operands[k] = (struct ulp_bounded){ulp_bound_size(x[k]), errors[k]};
        exact = exact && errors[k] == ULP_BOUND_NONE;
        unknown = unknown || errors[k] == ULP_BOUND_UNKNOWN;
        finite = finite && mpfr_number_p(x[k]);
        sure = sure && has_truth(x[k], errors[k]);
    }
    const bool jumps = primitive == ULP_PRIMITIVE_MOD || primitive == ULP_PRIMITIVE_FMOD,
               /* an infinite operand alone decides */
        alone = !finite && sure && primitive != ULP_PRIMITIVE_POW;
    int64_t carried = ULP_BOUND_NONE;
    if (!exact && find_choice(&carried, primitive, x, errors))
        return carried;
    if (!exact && (unknown || jumps || !(alone || (finite && mpfr_number_p(y)))))
        return ULP_BOUND_UNKNOWN;
    if (!exact && finite)
        carried = ulp_bound_carried(primitive, ulp_bound_size(y), operands,
                                    ulp_bound_edge(primitive, x[0]));
    if (ternary == 0)
        return smaller(carried, ULP_BOUND_UNKNOWN);
    if (!mpfr_regular_p(y))
        return ULP_BOUND_UNKNOWN;
    return smaller(sum_of(carried, mpfr_get_exp(y) - mpfr_get_prec(y)), ULP_BOUND_UNKNOWN);
}
