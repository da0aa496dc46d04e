/* Elementary functions in 53 bits: correctly rounded to nearest and to odd, on every instruction
 * set. Everything is compared with MPFR. */
#include "number/function/function.h"
#include "strip_oracle.h"
#include "tests/support/test.h"

static const enum ulp_primitive functions[] = {
#define ROW(NAME) ULP_PRIMITIVE_##NAME,
    ULP_UNARY_FUNCTIONS(ROW) ULP_PRIMITIVE_POW
#undef ROW
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* Instruction sets switched off; the tests run in processes of their own, before which no feature
 * was asked for. */
static const char *const disabled[] = {"", "avx512", "avx2"};
enum { DISABLED = sizeof disabled / sizeof disabled[0] };

static enum ulp_primitive begin(int number)
{
    setenv("ULPSCOPE_DISABLE_CPU", disabled[number / FUNCTIONS], 1);
    return functions[number % FUNCTIONS];
}

static bool same_double(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

/* f(a[, b]) to odd at `precision` bits; from 320 mpfr_get_d is the single rounding, also where the
 * result is subnormal. */
static double compute_by_mpfr(enum ulp_primitive primitive, double a, double b, int precision)
{
    scoped_mpfr x, y, z;
    mpfr_init2(z, precision);
    mpfr_inits2(53, x, y, (mpfr_ptr)0);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(y, b, MPFR_RNDN);
    oracle_compute(primitive, z, x, y, y);
    const double result = mpfr_get_d(z, MPFR_RNDN);
    return result;
}

/* n <= ULP_STRIP elements, in place as well. */
static void expect_rounded(enum ulp_primitive primitive, const double *x, const double *power,
                           size_t n)
{
    double got[ULP_STRIP], in_place[ULP_STRIP];
    memcpy(in_place, x, n * sizeof *x);
    ulp_function_binary64(primitive, got, x, power, n);
    ulp_function_binary64(primitive, in_place, in_place, power, n);
    for (size_t i = 0; i < n; i++) {
        const double want = compute_by_mpfr(primitive, x[i], power[i], ORACLE_FUNCTION_PRECISION);
        ck_expect(same_double(got[i], want) && same_double(in_place[i], want),
                  "%s(%a[, %a]) = %a and in place %a, expected %a",
                  ulp_primitive_rows[primitive].name, x[i], power[i], got[i], in_place[i], want);
    }
}

/* Specials, then doubles of any exponent (most results are 0, infinite, NaN or subnormal, and go to
 * MPFR between others that do not), then about 1, where results have many different bits. */
static double draw_double(uint64_t *state, size_t i)
{
    static const double specials[] = {0,
                                      -0.0,
                                      INFINITY,
                                      -INFINITY,
                                      NAN,
                                      1,
                                      -1,
                                      0x1p-1074,
                                      -0x1p-1074,
                                      0x1p-1022,
                                      DBL_MAX,
                                      709.78,
                                      -745.1,
                                      -708.5,
                                      0x1.0000000000001p0,
                                      0x1.fffffffffffffp-1,
                                      2,
                                      3,
                                      0.5,
                                      -0.5,
                                      -746.5,
                                      710.5,
                                      22.5,
                                      -6.5,
                                      41,
                                      -60.5,
                                      649.9,
                                      -650.1,
                                      0x1p15,
                                      0x1.921fb54442d18p14};
    double x;
    uint64_t bits = oracle_random(state);
    if (i < sizeof specials / sizeof *specials)
        return specials[i];
    if (i % 3)
        bits = (bits & ~(UINT64_C(0x7ff) << 52)) | (1013 + bits % 21) << 52;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Powers y of x: squares and cubes, any, and such that x^y is a double. */
static double draw_power(uint64_t *state, size_t i, size_t strip, double x)
{
    switch (strip % 6) {
    case 0: return 2;
    case 1: return 3;
    case 2: return (double)(int64_t)(oracle_random(state) % 64) / 4 - 6;
    case 3: return draw_double(state, i + ULP_STRIP);
    default:
        return (double)(int64_t)oracle_random(state) * 0x1p-63 * 700 / (fabs(log(fabs(x))) + 1e-9);
    }
}

TEST_LOOP(correctly_rounded, 0, FUNCTIONS *DISABLED)
{
    const enum ulp_primitive primitive = begin(_i);
    const size_t strips = test_long() ? 2000 : 6;
    uint64_t state = 64 + (uint64_t)_i;
    double x[ULP_STRIP], power[ULP_STRIP];
    for (size_t s = 0; s < strips; s++) {
        const size_t n = s % 2 ? ULP_STRIP : ULP_STRIP - 5; /* a rest behind whole vectors, too */
        for (size_t i = 0; i < n; i++) {
            x[i] = draw_double(&state, s ? i + ULP_STRIP : i);
            power[i] = draw_power(&state, i, s, x[i]);
        }
        expect_rounded(primitive, x, power, n);
    }
}

/* Results on ties and on doubles: powers of small numbers with exponents of few bits; 3^34 and
 * 5^23 have 54 bits. */
TEST_LOOP(exact_powers, 0, DISABLED)
{
    double x[ULP_STRIP], power[ULP_STRIP];
    size_t n = 0;
    setenv("ULPSCOPE_DISABLE_CPU", disabled[_i], 1);
    for (int base = -9; base <= 225; base++)
        for (int quarter = -16; quarter <= 160; quarter += base > 16 ? 2 : 4) {
            x[n] = base;
            power[n++] = 0.25 * quarter;
            if (n == ULP_STRIP || (base == 225 && quarter == 160)) {
                expect_rounded(ULP_PRIMITIVE_POW, x, power, n);
                n = 0;
            }
        }
}

/* f(x) in units of the last place of f(x0), x = x0 + k ulp(x0): a parabola through three values,
 * modulo 1. */
struct parabola {
    double value, slope, bend;
};

static bool find_parabola(struct parabola *p, enum ulp_primitive primitive, double x0, double power,
                          int reach)
{
    const double step = nextafter(x0, INFINITY) - x0;
    mpfr_t x, y, f[3], whole;
    mpfr_inits2(53, x, y, (mpfr_ptr)0);
    mpfr_inits2(300, f[0], f[1], f[2], whole, (mpfr_ptr)0);
    mpfr_set_d(y, power, MPFR_RNDN);
    for (int i = 0; i < 3; i++) {
        mpfr_set_d(x, x0 + (i - 1) * reach * step, MPFR_RNDN);
        ulp_function_mpfr(primitive, f[i], x, y, MPFR_RNDN);
    }
    const bool fine = mpfr_regular_p(f[0]) && mpfr_regular_p(f[1]) && mpfr_regular_p(f[2]) &&
                      mpfr_get_exp(f[0]) == mpfr_get_exp(f[2]);
    if (fine) {
        const long unit = mpfr_get_exp(f[1]) - 53;
        for (int i = 0; i < 3; i++)
            mpfr_mul_2si(f[i], f[i], -unit, MPFR_RNDN);
        mpfr_sub(whole, f[2], f[0], MPFR_RNDN);
        mpfr_div_si(whole, whole, 2L * reach, MPFR_RNDN);
        mpfr_frac(whole, whole, MPFR_RNDN);
        p->slope = mpfr_get_d(whole, MPFR_RNDN);
        mpfr_add(whole, f[2], f[0], MPFR_RNDN);
        mpfr_sub(whole, whole, f[1], MPFR_RNDN);
        mpfr_sub(whole, whole, f[1], MPFR_RNDN);
        p->bend = mpfr_get_d(whole, MPFR_RNDN) / (2.0 * reach * reach);
        mpfr_frac(whole, f[1], MPFR_RNDN);
        p->value = mpfr_get_d(whole, MPFR_RNDN);
    }
    mpfr_clears(x, y, f[0], f[1], f[2], whole, (mpfr_ptr)0);
    return fine;
}

/* Hard cases: of 2^14 neighbours the one whose result the parabola puts nearest to a tie, about
 * 2^-14 units away, where the pair leaves both choices and the slower paths decide; and one about
 * 2^-9 away, at the edge of what it decides. */
TEST_LOOP(hard_cases, 0, FUNCTIONS *DISABLED)
{
    const enum ulp_primitive primitive = begin(_i);
    const int reach = 1 << 13;
    const size_t count = test_long() ? 20 * ULP_STRIP : 48;
    uint64_t state = 99 + (uint64_t)_i;
    double x[ULP_STRIP], power[ULP_STRIP];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        double x0 = draw_double(&state, 3 * i + 1001);
        struct parabola p;
        if (primitive == ULP_PRIMITIVE_ACOSH)
            x0 = 1 + fabs(x0);
        if (primitive == ULP_PRIMITIVE_POW)
            x0 = fabs(x0);
        const double exponent = draw_power(&state, i, 4, x0);
        if (!find_parabola(&p, primitive, x0, exponent, reach))
            continue;
        int nearest = 0, edge = 0;
        double least = 1, least_edge = 1;
        for (int k = -reach; k <= reach; k++) {
            const double f = p.value + k * p.slope + (double)k * k * p.bend,
                         away = fabs(f - floor(f) - 0.5), from_edge = fabs(away - 0x1p-9);
            if (away < least)
                least = away, nearest = k;
            if (from_edge < least_edge)
                least_edge = from_edge, edge = k;
        }
        const double step = nextafter(x0, INFINITY) - x0;
        x[n] = x0 + nearest * step;
        power[n++] = exponent;
        x[n] = x0 + edge * step;
        power[n++] = exponent;
        if (n == ULP_STRIP || n == 96) {
            expect_rounded(primitive, x, power, n);
            n = 0;
        }
    }
    if (n)
        expect_rounded(primitive, x, power, n);
}

/* Where results are normal numbers; MPFR's toward zero at 53 bits, made odd. */
TEST_LOOP(to_odd, 0, FUNCTIONS *DISABLED)
{
    const enum ulp_primitive primitive = begin(_i);
    uint64_t state = 640 + (uint64_t)_i;
    double x[ULP_STRIP], power[ULP_STRIP], got[ULP_STRIP];
    for (size_t s = 0; s < (test_long() ? 200 : 3); s++) {
        for (size_t i = 0; i < ULP_STRIP; i++) {
            x[i] = draw_double(&state, s ? i + ULP_STRIP : i);
            power[i] = draw_power(&state, i, s + 2, x[i]);
        }
        ulp_function_to_odd(primitive, NULL, got, x, power, ULP_STRIP);
        for (size_t i = 0; i < ULP_STRIP; i++) {
            const double want = compute_by_mpfr(primitive, x[i], power[i], 53);
            if (fabs(want) <= DBL_MIN || fabs(want) > DBL_MAX)
                continue;
            ck_expect(same_double(got[i], want), "%s(%a[, %a]) to odd = %a, expected %a",
                      ulp_primitive_rows[primitive].name, x[i], power[i], got[i], want);
        }
    }
}

TEST_SUITE("functions in 53 bits", 3600)
