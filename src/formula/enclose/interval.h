/* Primitives on intervals: sets that hold every value which the computation can have, whatever the
 * inputs are. Endpoints are doubles, always moved outward: by the error of the double operation
 * that makes them, and by the rounding of the arithmetic whose values they enclose. No rounding
 * mode of the processor is changed. */
#pragma once

#include "number/strip.h"
#include "tensor/tensor.h"

/* What a value may be besides a number of [lo, hi]. */
enum ulp_may {
    ULP_MAY_BE_LOW = 1,  /* -infinity, as the model itself writes it (a mask) */
    ULP_MAY_BE_HIGH = 2, /* +infinity, in the same way */
    /* anything, NaN too: nothing is known. An overflow ends here. lo and hi have no meaning */
    ULP_MAY_BE_ANYTHING = 4,
};

/* n sets, by member. lo > hi: no finite number. */
struct ulp_intervals {
    double *lo, *hi;
    uint8_t *may;
};

/* The rounding of steps. */
struct ulp_interval_rule {
    double unit;      /* relative error of one step, at most */
    double functions; /* of one elementary function */
    double sum_unit;  /* of one addition in a row's sum */
    double tiny;      /* absolute error of results below the normal range, at most */
    double largest;   /* finite values of a step; beyond it anything may be */
    double infinity;  /* what an infinite constant becomes: in a format without infinity NaN, or the
                       * largest number */
    enum ulp_rounding rounding;
    bool infinite;    /* a positive result of a step or sum that is too large becomes infinity */
};
/* Does a positive number that is too large for the format become infinity? Directed roundings and
 * formats that saturate give its largest number. */
bool ulp_interval_overflows(const struct ulp_format *format, enum ulp_rounding rounding);
/* What a sum errs by at most in so many additions, of the sum of magnitudes: to nearest (Jeannerod
 * and Rump 2013) and towards zero `unit` for each; other roundings make each partial sum larger. */
double ulp_interval_sum_error(enum ulp_rounding rounding, double steps, double unit);
struct ulp_interval_rule ulp_interval_rule_make(const struct ulp_arithmetic *arithmetic);

/* out[i] = primitive(a[i], b[i], c[i]) for i < n; operands that it does not have are not read. out
 * is none of them. largest: raised to the largest magnitude that a result can have, also where it
 * is too large. */
void ulp_interval_compute(const struct ulp_interval_rule *rule, enum ulp_primitive primitive,
                          size_t n, const struct ulp_intervals *out, const struct ulp_intervals *a,
                          const struct ulp_intervals *b, const struct ulp_intervals *c,
                          double *largest);

/* One set at place i. */
static inline void ulp_interval_set(const struct ulp_intervals *x, size_t i, double lo, double hi,
                                    uint8_t may)
{
    x->lo[i] = lo;
    x->hi[i] = hi;
    x->may[i] = may;
}
static inline void ulp_interval_copy(const struct ulp_intervals *to, size_t i,
                                     const struct ulp_intervals *from, size_t j)
{
    ulp_interval_set(to, i, from->lo[j], from->hi[j], from->may[j]);
}
/* The set of one double: a number, an infinity of the model's, or (NaN) anything. */
void ulp_interval_set_point(const struct ulp_intervals *x, size_t i, double value);
/* The set of a tensor's element, which a double need not hold: of more bits, or an integer. */
void ulp_interval_set_element(const struct ulp_intervals *x, size_t i,
                              const struct ulp_tensor *tensor, size_t element);
/* [lo, hi] after one step that errs by `unit` relatively; outside `largest`: anything. */
void ulp_interval_set_step(const struct ulp_interval_rule *rule, const struct ulp_intervals *x,
                           size_t i, double lo, double hi, uint8_t may, double unit,
                           double *largest);
/* x * x or more: a square that underflows must not make a norm 0. */
static inline double ulp_interval_square(double x)
{
    const double square = x * x;
    return square >= 0x1p-1000 || x == 0 ? square : 0x1p-1000;
}
/* The largest magnitude of its finite numbers; INFINITY: anything. */
double ulp_interval_magnitude(const struct ulp_intervals *x, size_t i);
