/* Elementary functions of pairs of doubles: within the bound that is said with each of them, judged
 * by MPFR at 400 bits, and with the same bits on every instruction set. */
#include "base/machine/cpu.h"
#include "number/function/pair.h"
#include "strip_oracle.h"
#include "tests/support/test.h"

static const enum ulp_primitive functions[] = {
#define ROW(NAME) ULP_PRIMITIVE_##NAME,
    ULP_UNARY_FUNCTIONS(ROW) ULP_PRIMITIVE_POW
#undef ROW
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0], ORACLE_BITS = 400 };

struct pairs {
    double high[ULP_STRIP], low[ULP_STRIP];
};
struct results {
    struct pairs value;
    double error[ULP_STRIP];
};

static void compute(enum ulp_primitive primitive, struct results *y, const struct pairs *a,
                    const struct pairs *b, size_t n)
{
    ulp_function_pairs(primitive, y->value.high, y->value.low, y->error, a->high, a->low, b->high,
                       b->low, n);
}

/* Each instruction set's results, of which all bits must be the same where something is said. */
static void compute_everywhere(enum ulp_primitive primitive, struct results *y,
                               const struct pairs *a, const struct pairs *b, size_t n)
{
    static const char *const disabled[] = {"avx512", "avx2"};
    const unsigned present = ulp_cpu_features();
    compute(primitive, y, a, b, n);
    for (int s = 0; s < 2; s++) {
        static struct results other;
        ulp_cpu_found = ulp_cpu_without(present, disabled[s]);
        compute(primitive, &other, a, b, n);
        for (size_t i = 0; i < n; i++)
            ck_expect((isnan(y->error[i]) && isnan(other.error[i])) ||
                          (!memcmp(&y->error[i], &other.error[i], 8) &&
                           !memcmp(&y->value.high[i], &other.value.high[i], 8) &&
                           !memcmp(&y->value.low[i], &other.value.low[i], 8)),
                      "%s(%a + %a) is %a + %a without %s, not %a + %a",
                      ulp_primitive_rows[primitive].name, a->high[i], a->low[i],
                      other.value.high[i], other.value.low[i], disabled[s], y->value.high[i],
                      y->value.low[i]);
    }
    ulp_cpu_found = present;
}

struct oracle {
    mpfr_t a, b, want;
    double worst; /* relative, of what has no part that is absolute */
};

static void begin_oracle(struct oracle *oracle)
{
    mpfr_inits2(ORACLE_BITS, oracle->a, oracle->b, oracle->want, (mpfr_ptr)0);
    oracle->worst = 0;
}
static void end_oracle(struct oracle *oracle)
{
    mpfr_clears(oracle->a, oracle->b, oracle->want, (mpfr_ptr)0);
}

/* high + low must be exact. */
static void set_pair(mpfr_t out, double high, double low)
{
    mpfr_set_prec(out, low == 0 ? 53 : fabs(low) < fabs(high) * 0x1p-290 ? 1200 : ORACLE_BITS);
    mpfr_set_d(out, high, MPFR_RNDN);
    ck_assert_int_eq(mpfr_add_d(out, out, low, MPFR_RNDN), 0);
}

/* Whether something is said of element i, which must be right then. */
static bool expect_within(enum ulp_primitive primitive, struct oracle *oracle,
                          const struct results *y, const struct pairs *a, const struct pairs *b,
                          size_t i)
{
    const double high = y->value.high[i], low = y->value.low[i], error = y->error[i];
    if (isnan(error))
        return false;
    set_pair(oracle->a, a->high[i], a->low[i]);
    set_pair(oracle->b, b->high[i], b->low[i]);
    ulp_function_mpfr(primitive, oracle->want, oracle->a, oracle->b, MPFR_RNDN);
    mpfr_sub_d(oracle->want, oracle->want, high, MPFR_RNDN);
    mpfr_sub_d(oracle->want, oracle->want, low, MPFR_RNDN);
    const double off = fabs(mpfr_get_d(oracle->want, MPFR_RNDN));
    ck_expect(off <= error * 0.25 && high + low == high,
              "%s(%a + %a, %a + %a) = %a + %a errs by 2^%.2f, bound 2^%.2f",
              ulp_primitive_rows[primitive].name, a->high[i], a->low[i], b->high[i], b->low[i],
              high, low, log2(off), log2(error));
    if (off > oracle->worst * fabs(high) && error <= fabs(high) * 0x1p-89)
        oracle->worst = off / fabs(high);
    return true;
}

static double draw_unit(uint64_t *state)
{
    return (double)(int64_t)oracle_random(state) * 0x1p-63;
}

/* Of any exponent; beside 1; beside the tables' points and the middles between them; of ordinary
 * size. */
static double draw_high(uint64_t *state)
{
    const uint64_t bits = oracle_random(state);
    const double unit = draw_unit(state), part = 1 + unit * 0x1p-30,
                 number = (double)(int64_t)(bits >> 8 & 0xffff) - 0x8000;
    switch (bits % 8) {
    case 0: return ldexp(unit, (int)(bits >> 8 & 2047) - 1023);
    case 1: return copysign(1 + ldexp(unit, -(int)(bits >> 8 & 63)), unit);
    case 2: return number * 0x1p-10 * part;
    case 3: return number * 0x1.62e42fefa39efp-11 * part;
    case 4: return number * 0x1.921fb54442d18p-7 * part;
    default: return ldexp(unit, (int)(bits >> 8 & 31) - 23);
    }
}

/* A low part of high. */
static double draw_low(uint64_t *state, double high)
{
    const uint64_t bits = oracle_random(state);
    const double ulp = nextafter(fabs(high), INFINITY) - fabs(high),
                 low = ulp * 0.5 * draw_unit(state) * ldexp(1, -(int)(bits >> 8 & 127) / 4);
    return bits % 8 == 0 || fabs(high) < 0x1p-900 || high + low != high ? 0 : low;
}

/* Within the function's domain, but for some. */
static double bring_inside(enum ulp_primitive primitive, double x)
{
    switch (primitive) {
    case ULP_PRIMITIVE_LOG:
    case ULP_PRIMITIVE_RSQRT:
    case ULP_PRIMITIVE_POW: return fabs(x);
    case ULP_PRIMITIVE_LOG1P: return x < -1 ? -x : x;
    case ULP_PRIMITIVE_ASIN:
    case ULP_PRIMITIVE_ACOS:
    case ULP_PRIMITIVE_ATANH: return fabs(x) > 1 ? 1 / x : x;
    case ULP_PRIMITIVE_ACOSH: return fabs(x) < 1 ? 1 + fabs(x) : fabs(x);
    case ULP_PRIMITIVE_ERF: return fabs(x) > 16 ? x * 0x1p-10 : x;
    default: return x;
    }
}

TEST_LOOP(keep_their_bound, 0, FUNCTIONS)
{
    const enum ulp_primitive primitive = functions[_i];
    const char *wanted = getenv("ULPSCOPE_TEST_LONG");
    const bool full = wanted && !strcmp(wanted, "full");
    const size_t strips = full ? 10000 : test_count(16, 2000);
    uint64_t state = 400 + (uint64_t)_i;
    static struct pairs a, b;
    static struct results y;
    struct oracle oracle;
    begin_oracle(&oracle);
    size_t said = 0;
    for (size_t s = 0; s < strips; s++) {
        const size_t n = s % 2 ? ULP_STRIP : ULP_STRIP - 5; /* a rest behind whole vectors, too */
        for (size_t i = 0; i < n; i++) {
            a.high[i] = bring_inside(primitive, draw_high(&state));
            a.low[i] = draw_low(&state, a.high[i]);
            b.high[i] = i % 4 ? draw_unit(&state) * 700 / (fabs(log(fabs(a.high[i]))) + 1e-3)
                              : (double)(oracle_random(&state) % 64) / 4 - 6;
            b.low[i] = draw_low(&state, b.high[i]);
        }
        compute_everywhere(primitive, &y, &a, &b, n);
        for (size_t i = 0; i < n; i++)
            said += expect_within(primitive, &oracle, &y, &a, &b, i);
    }
    printf("%s: largest relative error 2^%.2f, %zu of %zu\n", ulp_primitive_rows[primitive].name,
           log2(oracle.worst), said, strips * ULP_STRIP);
    /* arguments of any exponent, of exp and its like those of results beyond 2^900 */
    ck_assert_uint_ge(said, strips * ULP_STRIP * 3 / 4);
    end_oracle(&oracle);
}

/* Ends of domains and of ranges, and pairs whose low part says on which side they lie. */
TEST_LOOP(edges, 0, FUNCTIONS)
{
    static const double highs[] = {
        0.0,     1,       0.5,    2,      0x1p-900, 0x1p900, 0x1p-1022, DBL_MAX,
        0x1p-30, 0x1p-60, 22,     40,     50,       100,     600,       623,
        650,     75,      6,      8,      0x1p15,   0x1p440, 0x1p300,   0x1.921fb54442d18p0,
        0x1p-10, 0x1p-11, 0x1p-6, 0x1p-7, INFINITY, NAN,     0x1p-450,  0x1.921fb54442d18p14,
    };
    static const double lows[] = {0, 0x1p-54, -0x1p-54, 0x1p-590, -0x1p-590, 0x1p-700, -0x1p-700};
    const enum ulp_primitive primitive = functions[_i];
    static struct pairs a, b;
    static struct results y;
    struct oracle oracle;
    size_t n = 0;
    for (size_t i = 0; i < sizeof highs / sizeof *highs; i++)
        for (size_t j = 0; j < sizeof lows / sizeof *lows; j++)
            for (int sign = -1; sign <= 1; sign += 2) {
                const double high = sign * highs[i], low = lows[j] * highs[i];
                const bool fits =
                    fabs(low) >= 0x1p-1022 && fabs(high) <= 0x1p900 && high + low == high;
                a.high[n] = high;
                a.low[n] = fits ? low : 0;
                b.high[n] = (double)(j % 3) - 1.5;
                b.low[n++] = 0;
            }
    begin_oracle(&oracle);
    compute_everywhere(primitive, &y, &a, &b, n);
    for (size_t i = 0; i < n; i++)
        expect_within(primitive, &oracle, &y, &a, &b, i);
    end_oracle(&oracle);
    /* what is exact says so, with MPFR's zeros */
    a.high[0] = -0.0, a.high[1] = 0.0, a.high[2] = 1;
    a.low[0] = a.low[1] = a.low[2] = 0;
    compute(primitive, &y, &a, &b, 3);
    for (int i = 0; i < 3; i++) {
        mpfr_t x;
        mpfr_init2(x, 53);
        mpfr_set_d(x, a.high[i], MPFR_RNDN);
        const int ternary = ulp_function_mpfr(primitive, x, x, x, MPFR_RNDN);
        const double want = mpfr_get_d(x, MPFR_RNDN);
        mpfr_clear(x);
        if (primitive == ULP_PRIMITIVE_POW || ternary != 0 || !isfinite(want))
            continue;
        ck_expect(y.error[i] == 0 && y.value.high[i] == want && y.value.low[i] == 0 &&
                      !signbit(y.value.high[i]) == !signbit(want),
                  "%s(%g) is %a + %a, error %a, not exactly %g", ulp_primitive_rows[primitive].name,
                  a.high[i], y.value.high[i], y.value.low[i], y.error[i], want);
    }
}

/* Arguments are read before results are written over them; no low parts are zeros. */
TEST_LOOP(in_place, 0, FUNCTIONS)
{
    static struct pairs a, b, zeros;
    static struct results y, again;
    uint64_t state = 7;
    for (size_t i = 0; i < ULP_STRIP; i++) {
        a.high[i] = bring_inside(functions[_i], draw_high(&state));
        b.high[i] = draw_unit(&state);
    }
    compute(functions[_i], &y, &a, &b, ULP_STRIP);
    ulp_function_pairs(functions[_i], again.value.high, again.value.low, again.error, a.high, NULL,
                       b.high, NULL, ULP_STRIP);
    ulp_function_pairs(functions[_i], a.high, zeros.low, b.high, a.high, zeros.low, b.high, NULL,
                       ULP_STRIP);
    for (size_t i = 0; i < ULP_STRIP; i++)
        ck_expect(isnan(y.error[i]) ||
                      (y.value.high[i] == a.high[i] && y.error[i] == b.high[i] &&
                       y.value.low[i] == zeros.low[i] && y.value.high[i] == again.value.high[i] &&
                       y.value.low[i] == again.value.low[i]),
                  "element %zu is %a + %a and in place %a + %a", i, y.value.high[i], y.value.low[i],
                  a.high[i], zeros.low[i]);
}

TEST_SUITE("functions of pairs", 36000)
