/* Rounding values to a format: once, correctly, in every mode. */
#pragma once

#include <mpfr.h>
#include <string.h>
#include <ulpscope/format.h>

/* Exponent of the lowest bit any value of the format has. */
static inline int ulp_format_lowest_bit(const struct ulp_format *format)
{
    return format->emin - format->precision + 1;
}

/* Is it IEEE's format of so many bits and that largest exponent, as a processor computes in it? */
static inline bool ulp_format_is_ieee(const struct ulp_format *format, int precision, int emax)
{
    return format->precision == precision && format->emax == emax && format->emin == 1 - emax &&
           format->subnormals && format->signed_zero && format->overflow == ULP_OVERFLOW_INFINITY;
}

/* x (any double; NaN stays NaN) to the format, in place, branch-free where the format and mode
 * allow. Element i draws stochastic number (seed, stream, first + i). The result is exact in
 * `float`. */
void ulp_round_floats(const struct ulp_format *format, enum ulp_rounding rounding, float *x,
                      size_t n, uint64_t seed, uint64_t stream, uint64_t first);
/* As above for doubles. x must be the exact value, or a value rounded to odd at 53 bits (then the
 * result is still the single correct rounding for every precision <= 51). */
void ulp_round_doubles(const struct ulp_format *format, enum ulp_rounding rounding, double *x,
                       size_t n, uint64_t seed, uint64_t stream, uint64_t first);

/* out = x rounded to the format: the oracle, by mpfr_subnormalize. out has any precision >= the
 * format's. */
void ulp_round_mpfr(const struct ulp_format *format, enum ulp_rounding rounding, mpfr_t out,
                    const mpfr_t x, uint64_t seed, uint64_t stream, uint64_t index);

/* The bit pattern of a representable value and back, for formats with storage_bits <= 32. Patterns
 * are those of ONNX's types of that name; NaN encodes as the canonical quiet NaN. */
uint32_t ulp_format_encode(const struct ulp_format *format, double x);
double ulp_format_decode(const struct ulp_format *format, uint32_t bits);

/* Every value of `narrow` (infinities and -0 included) is a value of `wide`: rounding to wide
 * changes nothing. */
bool ulp_format_holds(const struct ulp_format *wide, const struct ulp_format *narrow);
/* Are both one format, also in what is beyond its largest and smallest normal numbers? */
static inline bool ulp_format_same(const struct ulp_format *a, const struct ulp_format *b)
{
    return strcmp(a->name, b->name) == 0 && a->subnormals == b->subnormals &&
           a->overflow == b->overflow;
}
/* a where it holds b, else b. */
static inline const struct ulp_format *ulp_wider_format(const struct ulp_format *a,
                                                        const struct ulp_format *b)
{
    return ulp_format_holds(a, b) ? a : b;
}
bool ulp_format_has_infinity(const struct ulp_format *format);
