/* Rounding values to a format, once, in every mode. The rules shared by all code here and by the
 * oracle: |x| is rounded on the format's grid as if max_finite did not exist; then a result beyond
 * max_finite becomes what IEEE 754 section 7.4 says for the mode (with the format's overflow value
 * in the place of infinity), and, without subnormals, a result below 2^emin becomes zero. What the
 * format lacks is replaced as enum ulp_lack says. Stochastic rounding goes up when the
 * fraction cut off exceeds the element's uniform number of 53 bits, so the probability of "up" is
 * the fraction rounded up to a multiple of 2^-53. */
#include "number/round/round.h"

#include <math.h>

#include "base/machine/cpu.h"
#include "base/machine/environment.h"
#include "base/random.h"

/* The next element's place in the stochastic stream. Two elements share a Philox block: counter
 * (index / 2, stream). */
struct draw {
    uint64_t seed, stream, index;
    bool filled;
    uint32_t words[4];
};

static double draw_uniform(struct draw *draw)
{
    if (!draw->filled || draw->index % 2 == 0)
        ulp_philox(draw->words, draw->seed, draw->index / 2, draw->stream);
    draw->filled = true;
    const uint32_t *pair = draw->words + draw->index++ % 2 * 2;
    return (double)(((uint64_t)pair[0] << 32 | pair[1]) >> 11) * 0x1p-53;
}

/* What a finite magnitude beyond max_finite becomes. */
static double find_overflow(const struct ulp_format *format, enum ulp_rounding rounding,
                            bool negative)
{
    const bool stays = rounding == ULP_ROUND_TOWARD_ZERO ||
                       (rounding == ULP_ROUND_UP && negative) ||
                       (rounding == ULP_ROUND_DOWN && !negative);
    if (stays || format->overflow == ULP_OVERFLOW_SATURATE)
        return format->max_finite;
    return format->overflow == ULP_OVERFLOW_NAN ? NAN : INFINITY;
}

/* What an infinite operand becomes. */
static double find_infinite(const struct ulp_format *format)
{
    return find_overflow(format, ULP_ROUND_NEAREST_EVEN, false);
}

/* How format and carrier lie to each other: round_template.h. */
enum round_kind { ROUND_ALIGNED, ROUND_FULL, ROUND_BITWISE };
enum { ROUND_BLOCK = 64 };
/* Fewer elements than this draw one by one: a block of draws would take longer. */
#define DRAWN_APART 8

#if ULP_X86_VECTORS
#define ROUND_AVX512 "avx512f,avx512bw,avx512dq,avx512vl" ULP_VECTOR_WIDTH(512)
#endif

#define REAL float
#define BITS uint32_t
#define DIGITS 24
#define LOWEST (-126)
#define SUFFIX(name) name##_float
#include "number/round/round_template.h"
#undef REAL
#undef BITS
#undef DIGITS
#undef LOWEST
#undef SUFFIX

#define REAL double
#define BITS uint64_t
#define DIGITS 53
#define LOWEST (-1022)
#define SUFFIX(name) name##_double
#include "number/round/round_template.h"

/* From the definition, one element of any format and either carrier. Scaling by powers of two is
 * exact here: the exponent is that of x or, below 2^emin, scaling goes up. */
static bool goes_away(enum ulp_rounding rounding, bool negative, double fraction, bool odd,
                      double uniform)
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

static double round_one(const struct ulp_format *format, enum ulp_rounding rounding, double x,
                        double uniform)
{
    if (isnan(x) || (format->carrier == ULP_CARRIER_MPFR && format->precision >= 53))
        return x;
    const bool negative = signbit(x);
    double magnitude = fabs(x);
    if (isinf(x)) {
        magnitude = find_infinite(format);
    } else if (magnitude != 0) {
        int exponent = format->emin;
        if (magnitude >= ldexp(1.0, format->emin)) {
            frexp(magnitude, &exponent);
            exponent--;
        }
        const double scaled = ldexp(magnitude, format->precision - 1 - exponent);
        const double kept = trunc(scaled), fraction = scaled - kept;
        const bool away =
            fraction != 0 && goes_away(rounding, negative, fraction, fmod(kept, 2) != 0, uniform);
        magnitude = ldexp(kept + away, exponent - format->precision + 1);
        if (magnitude > format->max_finite)
            magnitude = find_overflow(format, rounding, negative);
        if (!format->subnormals && magnitude < ldexp(1.0, format->emin))
            magnitude = 0;
    }
    return negative && (magnitude != 0 || format->signed_zero) ? -magnitude : magnitude;
}

/* What stands for x before it is rounded to a format without zero and sign, whose smallest number
 * is 2^emin. */
static double replace_before(const struct ulp_format *format, double x)
{
    const double smallest = ldexp(1.0, format->emin);
    if (x < 0 || (x == 0 && format->overflow != ULP_OVERFLOW_SATURATE))
        return NAN;
    return x < smallest ? smallest : x; /* NaN stays */
}

/* What a rounded value becomes in a format without NaN. */
static double replace_after(double x)
{
    return isnan(x) ? -0.0 : x;
}

/* Is every value of a carrier with these parameters, of either sign, a value of the format,
 * whatever its size? */
static bool holds_carrier(const struct ulp_format *format, int digits, int lowest, double largest)
{
    return format->precision >= digits &&
           (format->subnormals ? format->emin <= lowest : format->emin <= lowest - digits + 1) &&
           format->max_finite >= largest && format->overflow == ULP_OVERFLOW_INFINITY &&
           format->signed_zero;
}

/* Fewer elements than this do not pay for making a plan. */
static bool are_few(size_t n, enum ulp_rounding rounding)
{
    return n < 8 && rounding != ULP_ROUND_STOCHASTIC;
}

static void round_floats(const struct ulp_format *format, enum ulp_rounding rounding, float *x,
                         size_t n, uint64_t seed, uint64_t stream, uint64_t first)
{
    if (holds_carrier(format, 24, -126, 0x1.fffffep127))
        return;
    if (format->carrier != ULP_CARRIER_FLOAT || format->precision == 1 || are_few(n, rounding)) {
        struct draw draw = {.seed = seed, .stream = stream, .index = first};
        for (size_t i = 0; i < n; i++)
            x[i] = (float)round_one(format, rounding, x[i],
                                    rounding == ULP_ROUND_STOCHASTIC ? draw_uniform(&draw) : 0);
        return;
    }
    const struct plan_float plan = make_plan_float(format, rounding);
    if (rounding == ULP_ROUND_STOCHASTIC)
        round_stochastic_float(&plan, x, n,
                               (struct draw){.seed = seed, .stream = stream, .index = first});
    else
        round_array_float(&plan, rounding, x, n);
}

static void round_doubles(const struct ulp_format *format, enum ulp_rounding rounding, double *x,
                          size_t n, uint64_t seed, uint64_t stream, uint64_t first)
{
    if (holds_carrier(format, 53, -1022, 0x1.fffffffffffffp1023))
        return;
    if (format->carrier == ULP_CARRIER_MPFR || format->precision == 1 || are_few(n, rounding)) {
        struct draw draw = {.seed = seed, .stream = stream, .index = first};
        for (size_t i = 0; i < n; i++)
            x[i] = round_one(format, rounding, x[i],
                             rounding == ULP_ROUND_STOCHASTIC ? draw_uniform(&draw) : 0);
        return;
    }
    const struct plan_double plan = make_plan_double(format, rounding);
    if (rounding == ULP_ROUND_STOCHASTIC)
        round_stochastic_double(&plan, x, n,
                                (struct draw){.seed = seed, .stream = stream, .index = first});
    else
        round_array_double(&plan, rounding, x, n);
}

void ulp_round_floats(const struct ulp_format *format, enum ulp_rounding rounding, float *x,
                      size_t n, uint64_t seed, uint64_t stream, uint64_t first)
{
    for (size_t i = 0; format->lacks == ULP_LACKS_ZERO_AND_SIGN && i < n; i++)
        x[i] = (float)replace_before(format, x[i]);
    round_floats(format, rounding, x, n, seed, stream, first);
    for (size_t i = 0; format->lacks == ULP_LACKS_NAN && i < n; i++)
        x[i] = x[i] == x[i] ? x[i] : -0.0F;
}

void ulp_round_doubles(const struct ulp_format *format, enum ulp_rounding rounding, double *x,
                       size_t n, uint64_t seed, uint64_t stream, uint64_t first)
{
    for (size_t i = 0; format->lacks == ULP_LACKS_ZERO_AND_SIGN && i < n; i++)
        x[i] = replace_before(format, x[i]);
    round_doubles(format, rounding, x, n, seed, stream, first);
    for (size_t i = 0; format->lacks == ULP_LACKS_NAN && i < n; i++)
        x[i] = replace_after(x[i]);
}

double ulp_format_round(const struct ulp_format *format, enum ulp_rounding rounding, double x,
                        uint64_t seed, uint64_t index)
{
    struct ulp_float_mode caller;
    ulp_float_mode_enter(&caller);
    ULP_COMPUTED_HERE(x);
    ulp_round_doubles(format, rounding, &x, 1, seed, 0, index);
    ULP_COMPUTED_HERE(x);
    ulp_float_mode_leave(&caller);
    return x;
}
