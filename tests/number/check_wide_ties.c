/* The fast path of the MPFR carrier beside ties: arguments whose results are so near the middle of
 * two values that only the margin of their rounding (src/number/README.md, section 8) keeps them
 * from a wrong last bit. Of random ones next to none is. */
#include <stdlib.h>
#include <string.h>

#include "number/fixed/batch.h"
#include "number/fixed/element.h"
#include "number/mpfr_record.h"
#include "strip_oracle.h"
#include "tests/support/test.h"

#include <gmp.h>

#define COUNT 64
#define LIMBS_MAX 4
#define RECORD_MAX (sizeof(struct ulp_record) + LIMBS_MAX * sizeof(mp_limb_t))
#define EXPONENT (-28) /* of arguments or, of log, of what they are more than 1 */
#define TURN 200       /* results are looked at modulo 1, in units of 2^-TURN of their last bit */

/* Results begin `lost` bits behind the first bit of the fraction that they are rounded from, which
 * errs by less than 2^13 of its last bits: 64 - lost bits behind the result's. */
static const struct row {
    enum ulp_primitive primitive;
    int lost;
} rows[] = {
    {ULP_PRIMITIVE_EXP, 2},    {ULP_PRIMITIVE_EXPM1, 31}, {ULP_PRIMITIVE_SIGMOID, 0},
    {ULP_PRIMITIVE_TANH, 28},  {ULP_PRIMITIVE_ERF, 31},   {ULP_PRIMITIVE_LOG, 28},
    {ULP_PRIMITIVE_LOG1P, 28}, {ULP_PRIMITIVE_SIN, 31},   {ULP_PRIMITIVE_SOFTPLUS, 0},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* out = the result in units of its last of so many bits; returns its exponent. */
static mpfr_exp_t compute(enum ulp_primitive primitive, mpfr_t out, const mpfr_t x, int precision)
{
    oracle_compute(primitive, out, x, x, x);
    const mpfr_exp_t exponent = mpfr_get_exp(out);
    mpfr_mul_2si(out, out, precision - exponent, MPFR_RNDN);
    return exponent;
}

/* out = x modulo 1 in units of 2^-TURN. */
static void take_fraction(mpz_t out, mpfr_t x)
{
    mpfr_mul_2si(x, x, TURN, MPFR_RNDN);
    mpfr_get_z(out, x, MPFR_RNDN);
    mpz_fdiv_r_2exp(out, out, TURN);
}

/* j = the least with low <= j step mod turn <= high; 0 <= step < turn, 0 < low <= high < turn. By
 * Euclid's steps: j step is in [low, high] + i turn first where i turn mod step is in [-high, -low]
 * mod step, unless a multiple of step is in [low, high]. */
static bool find_first(mpz_t j, const mpz_t step, const mpz_t turn, const mpz_t low,
                       const mpz_t high)
{
    mpz_t rest, from, to;
    bool found = mpz_sgn(step) != 0;
    mpz_inits(rest, from, to, NULL);
    if (found) {
        mpz_cdiv_q(j, low, step);
        mpz_mul(rest, j, step);
    }
    if (found && mpz_cmp(rest, high) > 0) {
        mpz_mod(rest, turn, step);
        mpz_neg(from, high);
        mpz_mod(from, from, step);
        mpz_neg(to, low);
        mpz_mod(to, to, step);
        found = find_first(j, rest, step, from, to);
        mpz_mul(j, j, turn);
        mpz_add(j, j, low);
        mpz_cdiv_q(j, j, step);
    }
    mpz_clears(rest, from, to, NULL);
    return found;
}

static void draw(mpfr_t x, bool from_one, uint64_t *state)
{
    mpfr_set_ui(x, 1, MPFR_RNDN);
    for (int i = 0; i < 5; i++) {
        mpfr_div_2ui(x, x, 61, MPFR_RNDN);
        mpfr_add_ui(x, x, (unsigned long)(oracle_random(state) >> 3), MPFR_RNDZ);
    }
    mpfr_mul_2si(x, x, EXPONENT - mpfr_get_exp(x), MPFR_RNDN);
    mpfr_setsign(x, x, oracle_random(state) % 2 != 0, MPFR_RNDN);
    mpfr_add_ui(x, x, from_one, MPFR_RNDN);
}

/* Is x's result, in units of its last bit, within 2^-depth of a tie? */
static bool is_near_tie(mpfr_t result, int depth)
{
    mpfr_frac(result, result, MPFR_RNDN);
    mpfr_abs(result, result, MPFR_RNDN);
    mpfr_sub_d(result, result, 0.5, MPFR_RNDN);
    return mpfr_cmp_si_2exp(result, 1, -depth) < 0 && mpfr_cmp_si_2exp(result, -1, -depth) > 0;
}

/* x = an argument whose result is within 2^-depth of a tie: the first x + j ulp, as f(x + j ulp) is
 * f(x) + j (f(x + ulp) - f(x)) but for what is curved, which is looked at in the end. */
static void draw_near_tie(mpfr_t x, const struct row *row, int depth, uint64_t *state)
{
    const int precision = (int)mpfr_get_prec(x);
    mpfr_t y, next, ulp;
    mpz_t j, step, turn, low, high;
    bool near = false;
    mpz_inits(j, step, turn, low, high, NULL);
    mpfr_inits2(2 * ORACLE_FUNCTION_PRECISION, y, next, ulp, (mpfr_ptr)0);
    mpz_setbit(turn, TURN);
    while (!near) {
        draw(x, row->primitive == ULP_PRIMITIVE_LOG, state);
        mpfr_set_ui_2exp(ulp, 1, mpfr_get_exp(x) - precision, MPFR_RNDN);
        mpfr_add(next, x, ulp, MPFR_RNDN);
        if (compute(row->primitive, y, x, precision) !=
            compute(row->primitive, next, next, precision))
            continue;
        mpfr_sub(next, next, y, MPFR_RNDN);
        take_fraction(step, next);
        mpfr_ui_sub(y, 0, y, MPFR_RNDN);
        mpfr_add_d(y, y, 0.5, MPFR_RNDN);
        mpfr_set_ui_2exp(next, 1, -depth, MPFR_RNDN);
        mpfr_sub(y, y, next, MPFR_RNDN);
        take_fraction(low, y);
        mpz_set(high, low);
        mpz_set_ui(j, 0);
        mpz_setbit(j, (mp_bitcnt_t)(TURN + 1 - depth));
        mpz_add(high, high, j);
        if (mpz_sgn(low) > 0 && mpz_cmp(high, turn) < 0 && find_first(j, step, turn, low, high)) {
            mpfr_mul_z(ulp, ulp, j, MPFR_RNDN);
            near = mpfr_add(x, x, ulp, MPFR_RNDN) == 0;
            compute(row->primitive, y, x, precision);
            near = near && is_near_tie(y, depth);
        }
    }
    mpz_clears(j, step, turn, low, high, NULL);
    mpfr_clears(y, next, ulp, (mpfr_ptr)0);
}

/* Of the results that the function decides none is wrong. */
static void check_function(ulp_wide_fn *function, const struct row *row, int precision,
                           const unsigned char *a, const unsigned char *expected)
{
    static _Alignas(64) unsigned char out[COUNT * RECORD_MAX];
    const size_t bytes = ulp_record_bytes(precision);
    for (size_t i = 0, done; function && i < COUNT; i += done + 1) {
        done = function(precision, out, a + i * bytes, a + i * bytes, COUNT - i);
        for (size_t k = 0; k < done * bytes; k += bytes)
            ck_expect(memcmp(out + k, expected + i * bytes + k, bytes) == 0,
                      "%s at %d bits, argument %zu", ulp_primitive_rows[row->primitive].name,
                      precision, i + k / bytes);
    }
}

TEST_LOOP(near_ties, 0, ROWS)
{
    static _Alignas(64) unsigned char a[COUNT * RECORD_MAX], expected[COUNT * RECORD_MAX];
    const struct row *row = &rows[_i];
    uint64_t state = 4000 + (uint64_t)_i;
    for (int precision = 128; precision <= 64 * LIMBS_MAX; precision += 64)
        for (int round = 0; round < (int)test_count(4, 400); round++) {
            for (size_t i = 0; i < COUNT; i++) {
                const int depth = 64 - row->lost - (int)(i % 10) - 2;
                mpfr_t x, y, odd;
                mpfr_init2(odd, 2 * ORACLE_FUNCTION_PRECISION);
                ulp_record_begin(x, ulp_record_at(a, i, precision), precision);
                ulp_record_begin(y, ulp_record_at(expected, i, precision), precision);
                draw_near_tie(x, row, depth, &state);
                oracle_compute(row->primitive, odd, x, x, x);
                mpfr_set(y, odd, MPFR_RNDN);
                ulp_record_close(ulp_record_at(a, i, precision), x);
                ulp_record_close(ulp_record_at(expected, i, precision), y);
                mpfr_clear(odd);
            }
            check_function(ulp_wide_batch(row->primitive, precision), row, precision, a, expected);
            check_function(ulp_wide_element(row->primitive, precision), row, precision, a,
                           expected);
        }
}

TEST_SUITE("results near ties", 3600)
