/* Rounding elementary functions to FP32 and to the other formats carried by double: the estimate where it decides,
 * MPFR where it does not. */
#include "number/function.h"
#include "number/round.h"

#define OPERAND_BITS 53

/* The operands of element i as MPFR values of 53 bits, without allocation. */
struct operands {
    mpfr_t a, b, out;
    mp_limb_t limbs[3][(64 + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS];
};

static void init_on_limbs(mpfr_t x, mp_limb_t *limbs, int precision)
{
    mpfr_custom_init_set(x, MPFR_NAN_KIND, 0, precision, limbs);
}

static int compute_exactly(struct operands *o, enum ulp_primitive primitive, double a, double b, int precision,
                           mpfr_rnd_t rounding)
{
    init_on_limbs(o->a, o->limbs[0], OPERAND_BITS);
    init_on_limbs(o->b, o->limbs[1], OPERAND_BITS);
    init_on_limbs(o->out, o->limbs[2], precision);
    mpfr_set_d(o->a, a, MPFR_RNDN);
    mpfr_set_d(o->b, b, MPFR_RNDN);
    return ulp_function_mpfr(primitive, o->out, o->a, o->b, rounding);
}

/* f(a[, b]) rounded to odd at 53 bits. */
static double compute_to_odd(enum ulp_primitive primitive, double a, double b)
{
    struct operands o;
    const int ternary = compute_exactly(&o, primitive, a, b, 64, MPFR_RNDZ);
    return ulp_double_to_odd(o.out, ternary);
}

void ulp_function_floats(enum ulp_primitive primitive, float *out, const float *a, const float *b, size_t n)
{
    /* From 53 bits rounded to odd the conversion to float is the single rounding: 53 >= 24 + 2. */
    for (size_t i = 0; i < n; i++)
        out[i] = (float)compute_to_odd(primitive, a[i], b ? b[i] : 0);
}

void ulp_function_doubles(const struct ulp_format *format, enum ulp_rounding rounding, enum ulp_primitive primitive,
                          double *out, const double *a, const double *b, size_t n, uint64_t seed, uint64_t stream,
                          uint64_t first)
{
    for (size_t i = 0; i < n; i++)
        out[i] = compute_to_odd(primitive, a[i], b ? b[i] : 0);
    ulp_round_doubles(format, rounding, out, n, seed, stream, first);
}

void ulp_function_binary64(enum ulp_primitive primitive, double *out, const double *a, const double *b, size_t n)
{
    /* 64 bits truncated and then rounded to odd would need 2 more bits than binary64 has; so odd at 64 bits: the last
     * bit of the truncated value becomes sticky, and one conversion to double, subnormal or not, rounds it. */
    for (size_t i = 0; i < n; i++) {
        struct operands o;
        const int ternary = compute_exactly(&o, primitive, a[i], b ? b[i] : 0, 64, MPFR_RNDZ);
        if (ternary != 0 && mpfr_regular_p(o.out)) {
            mp_limb_t *limbs = mpfr_custom_get_significand(o.out);
            limbs[0] |= 1;
        }
        out[i] = mpfr_get_d(o.out, MPFR_RNDN);
    }
}
