/* The plain C steps.
 *
 * ROUNDED relies on rounding to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded
 * sums: proved algorithms using rounding to odd", 2008): a value rounded to odd at 53 bits and then
 * to p <= 51 bits, in any mode, is the single rounding of the exact value. Factors have at most 26
 * bits and exponents so small that their products are exact in double, so only sums are rounded to
 * odd. EXACT does the same at more bits in MPFR. */
#include "kernels/chain/step.h"

#include <math.h>
#include <mpfr.h>

#include "base/vectorise.h"
#include "number/round/odd.h"
#include "number/round/round.h"

#define STRIP_MAX 64

/* Binary32 (24, 127) or binary64 (53, 1023), rounded as the processor does. */
static bool is_native(const struct ulp_format *format, enum ulp_rounding rounding, int precision,
                      int emax)
{
    return rounding == ULP_ROUND_NEAREST_EVEN && ulp_format_is_ieee(format, precision, emax);
}

/* Are products of two of its values exact in double? */
static bool has_exact_products(const struct ulp_format *format)
{
    return format->precision <= 26 && 2 * ulp_format_lowest_bit(format) >= -1074 &&
           format->emax <= 511;
}

/* Does a double rounded to odd, then to the format, give the single rounding? The range keeps the
 * sums of its values and their errors away from double's own limits. */
static bool is_below_double(const struct ulp_format *format)
{
    return format->precision <= 51 && ulp_format_lowest_bit(format) >= -1000 && format->emax <= 511;
}

static bool holds_products(const struct ulp_format *format, const struct ulp_format *factor)
{
    return format->precision >= 2 * factor->precision && format->emax > 2 * factor->emax + 1 &&
           (format->subnormals ? ulp_format_lowest_bit(format) : format->emin) <=
               2 * ulp_format_lowest_bit(factor) &&
           format->signed_zero && format->overflow == ULP_OVERFLOW_INFINITY;
}

struct ulp_step_rule ulp_step_rule_make(const struct ulp_arithmetic *arithmetic)
{
    const struct ulp_format *factor = &arithmetic->factor, *product = &arithmetic->compute,
                            *sum = &arithmetic->accumulator;
    enum ulp_rounding rounding = arithmetic->rounding;
    struct ulp_step_rule rule = {.factor = *factor,
                                 .product = *product,
                                 .sum = *sum,
                                 .rounding = rounding,
                                 .seed = arithmetic->seed};
    rule.exact_products = holds_products(product, factor);
    rule.fused = arithmetic->order != ULP_ORDER_PAIRWISE &&
                 (arithmetic->schedule.fused || rule.exact_products);
    if (factor->carrier == ULP_CARRIER_FLOAT && is_native(sum, rounding, 24, 127) &&
        (rule.fused || is_native(product, rounding, 24, 127)))
        rule.step = ULP_STEP_FLOAT;
    else if (factor->carrier != ULP_CARRIER_MPFR && is_native(sum, rounding, 53, 1023) &&
             (rule.fused || is_native(product, rounding, 53, 1023)))
        rule.step = ULP_STEP_DOUBLE;
    else if (has_exact_products(factor) && is_below_double(sum) &&
             (rule.fused || rule.exact_products || is_below_double(product)))
        rule.step = ULP_STEP_ROUNDED;
    else
        rule.step = ULP_STEP_EXACT;
    return rule;
}

struct ulp_step_rule ulp_step_rule_partial(const struct ulp_step_rule *rule,
                                           const struct ulp_format *format)
{
    struct ulp_step_rule partial = *rule;
    partial.sum = *format;
    if (is_native(format, rule->rounding, 24, 127))
        partial.step = ULP_STEP_FLOAT;
    else if (is_native(format, rule->rounding, 53, 1023))
        partial.step = ULP_STEP_DOUBLE;
    else
        partial.step = is_below_double(format) ? ULP_STEP_ROUNDED : ULP_STEP_EXACT;
    return partial;
}

enum ulp_element ulp_step_element(enum ulp_step_kind step)
{
    static const enum ulp_element elements[ULP_STEP_COUNT] = {
        [ULP_STEP_FLOAT] = ULP_ELEMENT_F32,   [ULP_STEP_DOUBLE] = ULP_ELEMENT_F64,
        [ULP_STEP_ROUNDED] = ULP_ELEMENT_F64, [ULP_STEP_EXACT] = ULP_ELEMENT_F64,
        [ULP_STEP_UINT32] = ULP_ELEMENT_U32,  [ULP_STEP_UINT64] = ULP_ELEMENT_U64,
    };
    return elements[step];
}

#define SUFFIX float
#define TYPE float
#define FUSE(a, b, c) fmaf(a, b, c)
#include "kernels/chain/step_template.h"
#define SUFFIX double
#define TYPE double
#define FUSE(a, b, c) fma(a, b, c)
#include "kernels/chain/step_template.h"
#define SUFFIX uint32
#define TYPE uint32_t
#define FUSE(a, b, c) ((a) * (b) + (c))
#include "kernels/chain/step_template.h"
#define SUFFIX uint64
#define TYPE uint64_t
#define FUSE(a, b, c) ((a) * (b) + (c))
#include "kernels/chain/step_template.h"

static void round_strip(const struct ulp_step_rule *rule, const struct ulp_format *format,
                        double *x, size_t n, struct ulp_draw draw)
{
    ulp_round_doubles(format, rule->rounding, x, n, rule->seed, rule->stream + draw.number,
                      draw.first);
}

static void multiply_rounded(const struct ulp_step_rule *rule, void *out, const void *a,
                             const void *b, size_t n, struct ulp_draw draw)
{
    multiply_double(rule, out, a, b, n, draw);
    if (!rule->exact_products)
        round_strip(rule, &rule->product, out, n, draw);
}

ULP_VECTORISE static void add_odd(double *out, const double *x, const double *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = ulp_odd_add(x[i], y[i]);
}

static void add_rounded(const struct ulp_step_rule *rule, void *out, const void *x, const void *y,
                        size_t n, struct ulp_draw draw)
{
    add_odd(out, x, y, n);
    round_strip(rule, &rule->sum, out, n, draw);
}

static void multiply_add_rounded(const struct ulp_step_rule *rule, void *sum, const void *a,
                                 const void *b, size_t n, struct ulp_draw draw)
{
    double product[STRIP_MAX];
    multiply_double(rule, product, a, b, n, draw);
    add_rounded(rule, sum, sum, product, n, draw);
}

/* EXACT: every double is exact in MPFR, products are exact at 106 bits. Sums are truncated at
 * ODD_BITS, a multiple of the limb, and their last bit is set when something was cut off: rounding
 * to odd for every format up to 53 bits. */
#define ODD_BITS 128

static void set_odd(mpfr_t x, int ternary)
{
    if (ternary != 0 && mpfr_regular_p(x))
        *(mp_limb_t *)mpfr_custom_get_significand(x) |= 1;
}

/* out[i] = a[0] * b[i], or c[i] + that, or (no a) c[i] + b[i]; no c: none is added. Each is rounded
 * once, to the format. */
static void run_exact(const struct ulp_step_rule *rule, const struct ulp_format *format,
                      double *out, const double *a, const double *b, const double *c, size_t n,
                      struct ulp_draw draw)
{
    mpfr_t x, y, z;
    mpfr_inits2(ODD_BITS, x, y, z, (mpfr_ptr)0);
    for (size_t i = 0; i < n; i++, draw.first++) {
        mpfr_set_d(x, a ? *a : 1, MPFR_RNDN);
        mpfr_set_d(y, b[i], MPFR_RNDN);
        if (c) {
            mpfr_set_d(z, c[i], MPFR_RNDN);
            set_odd(x, mpfr_fma(x, x, y, z, MPFR_RNDZ));
        } else {
            mpfr_mul(x, x, y, MPFR_RNDN);
        }
        ulp_round_mpfr(format, rule->rounding, y, x, rule->seed, rule->stream + draw.number,
                       draw.first);
        out[i] = mpfr_get_d(y, MPFR_RNDN);
    }
    mpfr_clears(x, y, z, (mpfr_ptr)0);
}

static void multiply_exact(const struct ulp_step_rule *rule, void *out, const void *a,
                           const void *b, size_t n, struct ulp_draw draw)
{
    run_exact(rule, &rule->product, out, a, b, NULL, n, draw);
}

static void add_exact(const struct ulp_step_rule *rule, void *out, const void *x, const void *y,
                      size_t n, struct ulp_draw draw)
{
    run_exact(rule, &rule->sum, out, NULL, y, x, n, draw);
}

static void multiply_add_exact(const struct ulp_step_rule *rule, void *sum, const void *a,
                               const void *b, size_t n, struct ulp_draw draw)
{
    run_exact(rule, &rule->sum, sum, a, b, sum, n, draw);
}

/* clang-format off */
const struct ulp_step_row ulp_step_rows[ULP_STEP_COUNT] = {
    [ULP_STEP_FLOAT] = {multiply_float, add_float, multiply_add_float},
    [ULP_STEP_DOUBLE] = {multiply_double, add_double, multiply_add_double},
    [ULP_STEP_ROUNDED] = {multiply_rounded, add_rounded, multiply_add_rounded},
    [ULP_STEP_EXACT] = {multiply_exact, add_exact, multiply_add_exact},
    [ULP_STEP_UINT32] = {multiply_uint32, add_uint32, multiply_add_uint32},
    [ULP_STEP_UINT64] = {multiply_uint64, add_uint64, multiply_add_uint64},
};
/* clang-format on */
