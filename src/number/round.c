/* Rounding values to a format, once, in every mode. The rules shared by all code here and by the oracle:
 * |x| is rounded on the format's grid as if max_finite did not exist; then a result beyond max_finite becomes what
 * IEEE 754 section 7.4 says for the mode (with the format's overflow value in the place of infinity), and, without
 * subnormals, a result below 2^emin becomes zero. Stochastic rounding goes up when the fraction cut off exceeds the
 * element's uniform number of 53 bits, so the probability of "up" is the fraction rounded up to a multiple of 2^-53. */
#include "number/round.h"

#include <math.h>

#include "base/random.h"

/* Two elements share a Philox block: counter (index / 2, stream). */
static double draw_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t words[4];
    ulp_philox(words, seed, index >> 1, stream);
    const uint32_t *pair = words + 2 * (index & 1);
    return (double)(((uint64_t)pair[0] << 32 | pair[1]) >> 11) * 0x1p-53;
}

/* Is a result that was cut off moved away from zero? fraction: what was cut off, in ulps, in (0, 1). */
static bool goes_away(enum ulp_rounding rounding, bool negative, double fraction, bool odd, double uniform)
{
    switch (rounding) {
    case ULP_ROUND_NEAREST_EVEN: return fraction > 0.5 || (fraction == 0.5 && odd);
    case ULP_ROUND_NEAREST_AWAY: return fraction >= 0.5;
    case ULP_ROUND_TOWARD_ZERO: return false;
    case ULP_ROUND_UP: return !negative;
    case ULP_ROUND_DOWN: return negative;
    case ULP_ROUND_STOCHASTIC: return uniform < fraction;
    }
    return false;
}

/* What a finite value beyond max_finite (magnitude only) becomes. */
static double overflow_value(const struct ulp_format *format, enum ulp_rounding rounding, bool negative)
{
    const bool stays = rounding == ULP_ROUND_TOWARD_ZERO || (rounding == ULP_ROUND_UP && negative) ||
                       (rounding == ULP_ROUND_DOWN && !negative);
    if (stays || format->overflow == ULP_OVERFLOW_SATURATE)
        return format->max_finite;
    return format->overflow == ULP_OVERFLOW_NAN ? NAN : INFINITY;
}

static double infinite_value(const struct ulp_format *format)
{
    return format->overflow == ULP_OVERFLOW_SATURATE ? format->max_finite
           : format->overflow == ULP_OVERFLOW_NAN    ? NAN
                                                     : INFINITY;
}

/* Scaling by powers of two is exact here: the exponent is that of x or, below 2^emin, scaling goes up. */
static double round_one(const struct ulp_format *format, enum ulp_rounding rounding, double x, double uniform)
{
    if (isnan(x))
        return x;
    const bool negative = signbit(x);
    double magnitude = fabs(x);
    if (isinf(x)) {
        magnitude = infinite_value(format);
    } else if (magnitude != 0) {
        int exponent = format->emin;
        if (magnitude >= ldexp(1.0, format->emin)) {
            frexp(magnitude, &exponent);
            exponent--;
        }
        const double scaled = ldexp(magnitude, format->precision - 1 - exponent);
        const double kept = trunc(scaled), fraction = scaled - kept;
        const bool away = fraction != 0 && goes_away(rounding, negative, fraction, fmod(kept, 2) != 0, uniform);
        magnitude = ldexp(kept + away, exponent - format->precision + 1);
        if (magnitude > format->max_finite)
            magnitude = overflow_value(format, rounding, negative);
        if (!format->subnormals && magnitude < ldexp(1.0, format->emin))
            magnitude = 0;
    }
    return negative && (magnitude != 0 || format->signed_zero) ? -magnitude : magnitude;
}

void ulp_round_doubles(const struct ulp_format *format, enum ulp_rounding rounding, double *x, size_t n, uint64_t seed,
                       uint64_t stream, uint64_t first)
{
    for (size_t i = 0; i < n; i++) {
        const double uniform = rounding == ULP_ROUND_STOCHASTIC ? draw_uniform(seed, stream, first + i) : 0;
        x[i] = round_one(format, rounding, x[i], uniform);
    }
}

void ulp_round_floats(const struct ulp_format *format, enum ulp_rounding rounding, float *x, size_t n, uint64_t seed,
                      uint64_t stream, uint64_t first)
{
    for (size_t i = 0; i < n; i++) {
        const double uniform = rounding == ULP_ROUND_STOCHASTIC ? draw_uniform(seed, stream, first + i) : 0;
        x[i] = (float)round_one(format, rounding, x[i], uniform);
    }
}

double ulp_format_round(const struct ulp_format *format, enum ulp_rounding rounding, double x, uint64_t seed,
                        uint64_t index)
{
    ulp_round_doubles(format, rounding, &x, 1, seed, 0, index);
    return x;
}
