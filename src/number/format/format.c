/* The table of number formats, formats by name, and their bit patterns.
 * Adding a format is adding a row: the layout of its encoding follows from precision, exponents and
 * max_finite. */
#include <ulpscope/format.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/machine/environment.h"
#include "base/error.h"
#include "number/double_pair.h"
#include "number/format/base.h"
#include "number/round/round.h"

/* clang-format off */
#define IEEE \
    .overflow = ULP_OVERFLOW_INFINITY, .subnormals = true, .signed_zero = true, \
    .carrier = ULP_CARRIER_FLOAT
/* ONNX's FNUZ types: no infinity, no -0, whose pattern is the only NaN. */
#define FNUZ .overflow = ULP_OVERFLOW_NAN, .subnormals = true, .carrier = ULP_CARRIER_FLOAT
/* All patterns are numbers. */
#define ALL_NUMBERS \
    .overflow = ULP_OVERFLOW_SATURATE, .subnormals = true, .signed_zero = true, \
    .lacks = ULP_LACKS_NAN, .carrier = ULP_CARRIER_FLOAT
static const struct ulp_format formats[] = {
    {.name = "fp64", .precision = 53, .emin = -1022, .emax = 1023,
     .max_finite = 0x1.fffffffffffffp1023,
     .overflow = ULP_OVERFLOW_INFINITY, .subnormals = true, .signed_zero = true,
     .carrier = ULP_CARRIER_DOUBLE, .storage_bits = 64},
    {.name = "fp32", .precision = 24, .emin = -126, .emax = 127, .max_finite = 0x1.fffffep127,
     IEEE, .storage_bits = 32},
    {.name = "fp16", .precision = 11, .emin = -14, .emax = 15, .max_finite = 65504,
     IEEE, .storage_bits = 16},
    {.name = "bf16", .precision = 8, .emin = -126, .emax = 127, .max_finite = 0x1.fep127,
     IEEE, .storage_bits = 16},
    /* 19 bits, kept in the upper bits of an FP32 pattern. */
    {.name = "tf32", .precision = 11, .emin = -126, .emax = 127, .max_finite = 0x1.ffcp127,
     IEEE, .storage_bits = 32},
    /* OCP E4M3: no infinity, one NaN a sign, so that 480 is lost and 448 is the largest. */
    {.name = "fp8-e4m3", .precision = 4, .emin = -6, .emax = 8, .max_finite = 448,
     .overflow = ULP_OVERFLOW_NAN, .subnormals = true, .signed_zero = true,
     .carrier = ULP_CARRIER_FLOAT, .storage_bits = 8},
    {.name = "fp8-e5m2", .precision = 3, .emin = -14, .emax = 15, .max_finite = 57344,
     IEEE, .storage_bits = 8},
    {.name = "fp8-e4m3fnuz", .precision = 4, .emin = -7, .emax = 7, .max_finite = 240,
     FNUZ, .storage_bits = 8},
    {.name = "fp8-e5m2fnuz", .precision = 3, .emin = -15, .emax = 15, .max_finite = 57344,
     FNUZ, .storage_bits = 8},
    /* OCP's scales of blocks: 2^-127 to 2^127 and NaN. */
    {.name = "fp8-e8m0", .precision = 1, .emin = -127, .emax = 127, .max_finite = 0x1p127,
     .overflow = ULP_OVERFLOW_NAN, .lacks = ULP_LACKS_ZERO_AND_SIGN, .carrier = ULP_CARRIER_FLOAT,
     .storage_bits = 8},
    {.name = "fp4-e2m1", .precision = 2, .emin = 0, .emax = 2, .max_finite = 6,
     ALL_NUMBERS, .storage_bits = 4},
    /* OCP's FP6. The names e2m3 and e3m2 are IEEE-like formats. */
    {.name = "fp6-e2m3", .precision = 4, .emin = 0, .emax = 2, .max_finite = 7.5,
     ALL_NUMBERS, .storage_bits = 6},
    {.name = "fp6-e3m2", .precision = 3, .emin = -2, .emax = 4, .max_finite = 28,
     ALL_NUMBERS, .storage_bits = 6},
};
/* clang-format on */
enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

const struct ulp_format *ulp_format_row(size_t index)
{
    return index < FORMAT_COUNT ? &formats[index] : NULL;
}

/* A decimal number without sign, leading zero or more than 9 digits, at *text, which is moved
 * behind it; -1: none. */
static int read_number(const char **text)
{
    int value = 0, digits = 0;
    while (**text >= '0' && **text <= '9' && digits < 9 && !(digits == 1 && value == 0)) {
        value = value * 10 + (*(*text)++ - '0');
        digits++;
    }
    return digits > 0 ? value : -1;
}

/* MPFR's default exponent range: 0.5 <= m < 1 there, 1 <= m < 2 here, hence the differences of
 * one. */
struct ulp_format ulp_format_mpfr(int precision)
{
    struct ulp_format format = {.precision = precision,
                                .emin = -(1 << 30),
                                .emax = (1 << 30) - 2,
                                .max_finite = INFINITY,
                                .overflow = ULP_OVERFLOW_INFINITY,
                                .subnormals = false,
                                .signed_zero = true,
                                .carrier = ULP_CARRIER_MPFR,
                                .storage_bits = 0};
    snprintf(format.name, sizeof format.name, "mpfr:%d", precision);
    return format;
}

static struct ulp_format make_custom(int exponent_bits, int fraction_bits)
{
    const int emax = (1 << (exponent_bits - 1)) - 1;
    const bool in_float = exponent_bits <= 8 && fraction_bits <= 23;
    struct ulp_format format = {.precision = fraction_bits + 1,
                                .emin = 1 - emax,
                                .emax = emax,
                                .max_finite = ldexp(2.0 - ldexp(1.0, -fraction_bits), emax),
                                .overflow = ULP_OVERFLOW_INFINITY,
                                .subnormals = true,
                                .signed_zero = true,
                                .carrier = in_float ? ULP_CARRIER_FLOAT : ULP_CARRIER_DOUBLE,
                                .storage_bits = 1 + exponent_bits + fraction_bits};
    snprintf(format.name, sizeof format.name, "e%dm%d", exponent_bits, fraction_bits);
    return format;
}

enum ulp_status ulp_format_find(const char *name, struct ulp_format *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(name, formats[i].name) == 0) {
            *out = formats[i];
            return ULP_OK;
        }
    if (strcmp(name, "pair") == 0) {
        *out = ulp_format_mpfr(ULP_PAIR_RECORD_BITS);
        snprintf(out->name, sizeof out->name, "%s", name);
        out->pairs = true;
        return ULP_OK;
    }
    if (strncmp(name, "mpfr:", 5) == 0) {
        const char *rest = name + 5;
        const int precision = read_number(&rest);
        if (precision < ULP_MPFR_PRECISION_MIN || precision > ULP_MPFR_PRECISION_MAX || *rest)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "number format \"%.40s\": mpfr:P needs a precision P of %d to %d bits",
                            name, ULP_MPFR_PRECISION_MIN, ULP_MPFR_PRECISION_MAX);
        *out = ulp_format_mpfr(precision);
        return ULP_OK;
    }
    if (name[0] == 'e' && name[1] >= '0' && name[1] <= '9') {
        const char *rest = name + 1;
        const int exponent_bits = read_number(&rest);
        const int fraction_bits = *rest == 'm' ? (rest++, read_number(&rest)) : -1;
        if (exponent_bits < 2 || exponent_bits > 11 || fraction_bits < 1 || fraction_bits > 52 ||
            *rest)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "number format \"%.40s\": eXmY needs X of 2 to 11 exponent bits and Y "
                            "of 1 to 52 stored significand bits",
                            name);
        *out = make_custom(exponent_bits, fraction_bits);
        return ULP_OK;
    }
    return ulp_fail(
        error, ULP_ERROR_USAGE,
        "unknown number format \"%.40s\"; known: fp64, fp32, fp16, bf16, tf32, fp8-e4m3, fp8-e5m2, "
        "fp8-e4m3fnuz, fp8-e5m2fnuz, fp8-e8m0, fp4-e2m1, fp6-e2m3, fp6-e3m2, eXmY (X exponent "
        "bits, Y stored significand bits, IEEE-like, as e5m7), mpfr:P (P bits of precision, as "
        "mpfr:128)",
        name);
}

double ulp_format_ulp(const struct ulp_format *format, double x)
{
    if (!isfinite(x))
        return NAN;
    struct ulp_float_mode caller;
    ulp_float_mode_enter(&caller);
    int exponent = format->emin;
    ULP_COMPUTED_HERE(x);
    if (x != 0) {
        int e;
        frexp(x, &e);
        if (e - 1 > exponent)
            exponent = e - 1;
    }
    double ulp = ldexp(1.0, exponent - format->precision + 1);
    ULP_COMPUTED_HERE(ulp);
    ulp_float_mode_leave(&caller);
    return ulp;
}

/* Where the parts of a pattern lie: sign, `exponent_bits`, precision - 1 bits of fraction, `unused`
 * bits. The top exponent field is Inf and NaN (IEEE), or holds numbers too: then NaN is the last
 * pattern, or that of -0, or there is none. E8M0, one exponent field, is apart. */
struct layout {
    int fraction_bits, exponent_bits, bias, unused;
    bool ieee, nan_is_minus_zero;
};

static struct layout find_layout(const struct ulp_format *format)
{
    struct layout layout = {.fraction_bits = format->precision - 1,
                            .bias = 1 - format->emin,
                            .nan_is_minus_zero = !format->signed_zero};
    const int top = format->emax + layout.bias;
    while ((1 << layout.exponent_bits) - 1 < top)
        layout.exponent_bits++;
    layout.ieee = (1 << layout.exponent_bits) - 1 > top;
    layout.unused = format->storage_bits - 1 - layout.exponent_bits - layout.fraction_bits;
    return layout;
}

bool ulp_format_has_infinity(const struct ulp_format *format)
{
    return format->carrier == ULP_CARRIER_MPFR || find_layout(format).ieee;
}

bool ulp_format_holds(const struct ulp_format *wide, const struct ulp_format *narrow)
{
    if (wide->carrier == ULP_CARRIER_MPFR || narrow->carrier == ULP_CARRIER_MPFR)
        return wide->carrier == ULP_CARRIER_MPFR && wide->precision >= narrow->precision;
    /* The finest grid must hold narrow's; without subnormals there must be no narrow value below
     * its end. */
    const int wide_grid = wide->emin - wide->precision,
              narrow_grid = narrow->emin - narrow->precision;
    const bool low = wide->subnormals
                         ? wide_grid <= narrow_grid
                         : wide->emin <= (narrow->subnormals ? narrow_grid + 1 : narrow->emin);
    return wide->precision >= narrow->precision && wide->max_finite >= narrow->max_finite && low &&
           (wide->overflow == ULP_OVERFLOW_INFINITY || narrow->overflow != ULP_OVERFLOW_INFINITY) &&
           (wide->signed_zero || !narrow->signed_zero) &&
           (wide->lacks == ULP_LACKS_NOTHING || wide->lacks == narrow->lacks);
}

/* E8M0: the exponent, from -127 on; 255 is NaN. */
static uint32_t encode_power(double x)
{
    int exponent;
    frexp(x, &exponent);
    return isfinite(x) && x > 0 ? (uint32_t)(exponent + 126) : 0xff;
}

uint32_t ulp_format_encode(const struct ulp_format *format, double x)
{
    if (format->lacks == ULP_LACKS_ZERO_AND_SIGN)
        return encode_power(x);
    const struct layout layout = find_layout(format);
    const uint32_t sign = (uint32_t)1 << (layout.exponent_bits + layout.fraction_bits);
    const uint32_t infinity = sign - ((uint32_t)1 << layout.fraction_bits);
    uint32_t bits;
    if (isnan(x) && format->lacks == ULP_LACKS_NAN)
        x = -0.0;
    if (isnan(x) || (isinf(x) && !layout.ieee)) {
        bits = layout.ieee                ? infinity | (uint32_t)1 << (layout.fraction_bits - 1)
               : layout.nan_is_minus_zero ? sign
                                          : sign - 1;
        return bits << layout.unused;
    }
    if (isinf(x)) {
        bits = infinity;
    } else {
        /* |x| is fraction * 2^(exponent - fraction_bits); a subnormal's fraction lacks the hidden
         * bit that would carry into exponent field 1, so one addition serves both. */
        int exponent = format->emin;
        if (fabs(x) >= ldexp(1.0, format->emin)) {
            frexp(x, &exponent);
            exponent--;
        }
        const uint32_t fraction = (uint32_t)ldexp(fabs(x), layout.fraction_bits - exponent);
        bits = fraction + ((uint32_t)(exponent - format->emin) << layout.fraction_bits);
    }
    if (signbit(x) && !(bits == 0 && layout.nan_is_minus_zero))
        bits |= sign;
    return bits << layout.unused;
}

double ulp_format_decode(const struct ulp_format *format, uint32_t bits)
{
    if (format->lacks == ULP_LACKS_ZERO_AND_SIGN)
        return bits == 0xff ? NAN : ldexp(1.0, (int)bits - 127);
    const struct layout layout = find_layout(format);
    bits >>= layout.unused;
    const uint32_t sign = (uint32_t)1 << (layout.exponent_bits + layout.fraction_bits);
    const uint32_t magnitude = bits & (sign - 1);
    const uint32_t fraction = magnitude & (((uint32_t)1 << layout.fraction_bits) - 1);
    const int field = (int)(magnitude >> layout.fraction_bits);
    const bool top = field == (1 << layout.exponent_bits) - 1;
    double x;
    const bool last_is_nan = !layout.ieee && format->lacks != ULP_LACKS_NAN;
    if (layout.nan_is_minus_zero ? (bits & (2 * sign - 1)) == sign
                                 : last_is_nan && magnitude == sign - 1)
        x = NAN;
    else if (layout.ieee && top)
        x = fraction ? NAN : INFINITY;
    else if (field == 0)
        x = ldexp((double)fraction, format->emin - layout.fraction_bits);
    else
        x = ldexp((double)(fraction + ((uint32_t)1 << layout.fraction_bits)),
                  field - layout.bias - layout.fraction_bits);
    return bits & sign ? -x : x;
}
