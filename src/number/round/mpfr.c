/* Rounding an MPFR value of any precision to a format, from the definition: the value is scaled so
 * that one ulp of the format is 1, cut to an integer, and scaled back. The independent form of
 * round.c, and the oracle. */
#include "number/round/round.h"

#include "base/random.h"

/* The integer |out| next to |n| that the mode chooses. */
static void round_integer(enum ulp_rounding rounding, mpfr_t out, const mpfr_t n, uint64_t seed,
                          uint64_t stream, uint64_t index)
{
    switch (rounding) {
    case ULP_ROUND_NEAREST_EVEN: mpfr_roundeven(out, n); return;
    case ULP_ROUND_NEAREST_AWAY: mpfr_round(out, n); return;
    case ULP_ROUND_TOWARD_ZERO: mpfr_trunc(out, n); return;
    case ULP_ROUND_UP: mpfr_ceil(out, n); return;
    case ULP_ROUND_DOWN: mpfr_floor(out, n); return;
    case ULP_ROUND_STOCHASTIC: break;
    }
    mpfr_t fraction;
    mpfr_init2(fraction, mpfr_get_prec(n));
    mpfr_frac(fraction, n, MPFR_RNDZ);
    mpfr_trunc(out, n);
    uint32_t words[4];
    ulp_philox(words, seed, index / 2, stream);
    const uint32_t high = words[index % 2 * 2], low = words[index % 2 * 2 + 1];
    const double uniform = (high * 0x1p21 + (low >> 11)) * 0x1p-53;
    mpfr_abs(fraction, fraction, MPFR_RNDZ);
    if (mpfr_cmp_d(fraction, uniform) > 0) {
        if (mpfr_signbit(n))
            mpfr_sub_ui(out, out, 1, MPFR_RNDZ);
        else
            mpfr_add_ui(out, out, 1, MPFR_RNDZ);
    }
    mpfr_clear(fraction);
}

static void set_overflow(const struct ulp_format *format, mpfr_t out, bool negative, bool stays)
{
    if (stays || format->overflow == ULP_OVERFLOW_SATURATE)
        mpfr_set_d(out, negative ? -format->max_finite : format->max_finite, MPFR_RNDN);
    else if (format->overflow == ULP_OVERFLOW_NAN)
        mpfr_set_nan(out);
    else
        mpfr_set_inf(out, negative ? -1 : 1);
}

static void round_value(const struct ulp_format *format, enum ulp_rounding rounding, mpfr_t out,
                        const mpfr_t x, uint64_t seed, uint64_t stream, uint64_t index)
{
    const bool negative = mpfr_signbit(x);
    if (mpfr_nan_p(x)) {
        mpfr_set_nan(out);
    } else if (mpfr_inf_p(x)) {
        set_overflow(format, out, negative, false);
    } else if (mpfr_zero_p(x)) {
        mpfr_set_zero(out, negative && format->signed_zero ? -1 : 1);
    } else {
        mpfr_t n;
        mpfr_init2(n, mpfr_get_prec(x));
        mpfr_set(n, x, MPFR_RNDN);
        const mpfr_exp_t own = mpfr_get_exp(x) - 1,
                         exponent = own < format->emin ? format->emin : own;
        const mpfr_exp_t scale = exponent - format->precision + 1;
        mpfr_set_exp(n, mpfr_get_exp(n) - scale);
        round_integer(rounding, out, n, seed, stream, index);
        mpfr_clear(n);
        if (mpfr_zero_p(out)) {
            mpfr_set_zero(out, negative && format->signed_zero ? -1 : 1);
            return;
        }
        /* Beyond MPFR's own exponents only for mpfr:P, where the result then is MPFR's own
         * overflow. */
        mpfr_mul_2si(out, out, scale, MPFR_RNDN);
        const bool stays = rounding == ULP_ROUND_TOWARD_ZERO ||
                           (rounding == ULP_ROUND_UP && negative) ||
                           (rounding == ULP_ROUND_DOWN && !negative);
        if (format->carrier != ULP_CARRIER_MPFR) {
            mpfr_t limit;
            mpfr_init2(limit, 53);
            mpfr_set_d(limit, format->max_finite, MPFR_RNDN);
            if (mpfr_cmpabs(out, limit) > 0)
                set_overflow(format, out, negative, stays);
            mpfr_clear(limit);
        }
        if (!format->subnormals && mpfr_regular_p(out) && mpfr_get_exp(out) - 1 < format->emin)
            mpfr_set_zero(out, negative && format->signed_zero ? -1 : 1);
    }
}

void ulp_round_mpfr(const struct ulp_format *format, enum ulp_rounding rounding, mpfr_t out,
                    const mpfr_t x, uint64_t seed, uint64_t stream, uint64_t index)
{
    const bool unsigned_powers = format->lacks == ULP_LACKS_ZERO_AND_SIGN && !mpfr_nan_p(x);
    const bool nothing = mpfr_zero_p(x) && format->overflow != ULP_OVERFLOW_SATURATE;
    if (unsigned_powers && (mpfr_sgn(x) < 0 || nothing))
        mpfr_set_nan(out);
    else if (unsigned_powers && mpfr_cmp_ui_2exp(x, 1, format->emin) < 0)
        mpfr_set_ui_2exp(out, 1, format->emin, MPFR_RNDN);
    else
        round_value(format, rounding, out, x, seed, stream, index);
    if (format->lacks == ULP_LACKS_NAN && mpfr_nan_p(out))
        mpfr_set_zero(out, -1);
}
