/* What the tests of strips compare with: every primitive computed on MPFR values so precisely that
 * one rounding follows, and operands that provoke trouble. Nothing here calls the strips. */
#pragma once

#include "number/strip.h"

#include <check.h>
#include <mpfr.h>

/* Bits of results before their one rounding: of sums and products enough for the widest test format
 * (fp64: 2,100), of functions enough that their last bit, which is sticky, is far below any
 * rounding's resolution. */
#define ORACLE_PRECISION 2200
#define ORACLE_FUNCTION_PRECISION 320

/* A generator of its own, so that the tests do not depend on the library's. */
uint64_t oracle_random(uint64_t *state);

/* out (any precision) = a value of the format: number i of its special values while there are any,
 * then random ones. */
void oracle_operand(mpfr_t out, const struct ulp_format *format, uint64_t *state, unsigned i);
#define ORACLE_SPECIALS 24

/* out = op(a, b, c), rounded to odd at out's precision, which should be what oracle_precision
 * says. */
void oracle_compute(enum ulp_primitive primitive, mpfr_t out, const mpfr_t a, const mpfr_t b,
                    const mpfr_t c);
int oracle_precision(enum ulp_primitive primitive);
/* out = x as a step of the rule rounds it. */
void oracle_round(const struct ulp_strip_rule *rule, mpfr_t out, const mpfr_t x, uint64_t stream,
                  uint64_t index);

/* Equal, the sign of zero included; NaN equals NaN. */
bool oracle_same(const mpfr_t a, const mpfr_t b);

/* Element i of a floating-point strip. */
void strip_put(const struct ulp_strip_rule *rule, void *strip, size_t i, const mpfr_t x);
void strip_get(const struct ulp_strip_rule *rule, const void *strip, size_t i, mpfr_t x);

/* The rule of an arithmetic's compute format; fails the test when the name is unknown. */
struct ulp_strip_rule oracle_rule(const char *arithmetic);
