/* number/function/math.h against MPFR with 300 bits: that value, rounded to double once more, is
 * the answer. (C libraries' functions of long double are no oracle: musl's expm1l is off by half a
 * unit of double.) */

#include "number/function/math.h"
#include "tests/support/test.h"

typedef int unary(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int binary(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

static const struct function {
    const char *name;
    double (*ours)(double);
    unary *exact;
    double low, high;
} functions[] = {
    {"exp", ulp_math_exp, mpfr_exp, -760, 720},
    {"exp2", ulp_math_exp2, mpfr_exp2, -1080, 1030},
    {"expm1", ulp_math_expm1, mpfr_expm1, -50, 720},
    {"log", ulp_math_log, mpfr_log, 0, 1e300},
    {"log1p", ulp_math_log1p, mpfr_log1p, -1, 10},
    {"log2", ulp_math_log2, mpfr_log2, 0, 5},
    {"log2, large", ulp_math_log2, mpfr_log2, 0, 1e300},
    {"log2, near 1", ulp_math_log2, mpfr_log2, 1 - 0x1p-30, 1 + 0x1p-30},
    {"log10", ulp_math_log10, mpfr_log10, 0, 1e4},
    {"log10, large", ulp_math_log10, mpfr_log10, 0, 1e300},
    {"log10, small", ulp_math_log10, mpfr_log10, 0, 1e-300},
    {"log10, near 1", ulp_math_log10, mpfr_log10, 1 - 0x1p-30, 1 + 0x1p-30},
    {"erfc", ulp_math_erfc, mpfr_erfc, -6, 28},
};

/* mpfr_get_d rounds to subnormals, too. */
static double round_unary(unary *exact, double x)
{
    scoped_mpfr in, out;
    mpfr_init2(in, 53);
    mpfr_init2(out, 300);
    mpfr_set_d(in, x, MPFR_RNDN);
    exact(out, in, MPFR_RNDN);
    const double rounded = mpfr_get_d(out, MPFR_RNDN);
    return rounded;
}

static double round_binary(binary *exact, double x, double y)
{
    scoped_mpfr a, b, out;
    mpfr_inits2(53, a, b, (mpfr_ptr)0);
    mpfr_init2(out, 300);
    mpfr_set_d(a, x, MPFR_RNDN);
    mpfr_set_d(b, y, MPFR_RNDN);
    exact(out, a, b, MPFR_RNDN);
    const double rounded = mpfr_get_d(out, MPFR_RNDN);
    return rounded;
}

static bool is_same(double a, double b)
{
    return isnan(b) ? isnan(a) : a == b && !signbit(a) == !signbit(b);
}

static double draw(double low, double high, uint64_t i)
{
    return low + (high - low) * ulp_random_uniform(20, i);
}

TEST_LOOP(one_argument, 0, sizeof functions / sizeof functions[0])
{
    const struct function *f = &functions[_i];
    const double ends[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0x1p-1074, 0x1p-30};
    enum { ENDS = sizeof ends / sizeof ends[0] };
    for (uint64_t i = 0; i < 3000 + ENDS; i++) {
        const double x = i < ENDS ? ends[i] : draw(f->low, f->high, i),
                     expected = round_unary(f->exact, x);
        ck_expect(is_same(f->ours(x), expected), "%s(%a) is %a, not %a", f->name, x, f->ours(x),
                  expected);
    }
}

TEST(two_arguments)
{
    for (uint64_t i = 0; i < 3000; i++) {
        const double x = draw(0, 100, 2 * i), y = draw(-160, 160, 2 * i + 1);
        ck_expect(is_same(ulp_math_pow(x, y), round_binary(mpfr_pow, x, y)), "pow(%a, %a) is %a", x,
                  y, ulp_math_pow(x, y));
        ck_expect(is_same(ulp_math_hypot(x, y), round_binary(mpfr_hypot, x, y)),
                  "hypot(%a, %a) is %a", x, y, ulp_math_hypot(x, y));
    }
    ck_assert_double_eq(ulp_math_hypot(3e300, 4e300), 5e300);
    ck_assert_double_eq(ulp_math_hypot(3 * 0x1p-1074, 4 * 0x1p-1074), 5 * 0x1p-1074);
    ck_assert_double_eq(ulp_math_pow(10, -2), 0.01);
    ck_assert_double_eq(ulp_math_pow(2, -1074), 0x1p-1074);
    ck_assert(ulp_math_pow(10, 400) == INFINITY && ulp_math_pow(10, -400) == 0);
}

TEST(log_gamma)
{
    for (uint64_t i = 0; i < 3000; i++) {
        const double x = i % 2 ? draw(0.01, 20, i) : draw(0, 1e6, i);
        const double off = fabs(ulp_math_log_gamma(x) - round_unary(mpfr_lngamma, x)),
                     bound = 1e-12 * (1 + fabs(x * log(x)) / 1000);
        /* the expected value and the difference are rounded, half a unit of their last places each
         */
        ck_expect(off <= bound + 0x1p-52 * fabs(ulp_math_log_gamma(x)), "%a: off by %g", x, off);
    }
}

/* Results that are exact, at powers of the base. */
TEST(exact_results)
{
    for (int k = -1074; k < 1024; k++) {
        ck_assert_double_eq(ulp_math_exp2(k), ldexp(1, k));
        ck_assert_double_eq(ulp_math_log2(ldexp(1, k)), k);
    }
    double power = 1;
    for (int k = 0; k <= 22; k++, power *= 10)
        ck_assert_double_eq(ulp_math_log10(power), k);
}

/* By the order of the numbers, which their places in the list are; of equals the second. */
TEST(least_and_greatest)
{
    static const double values[] = {-INFINITY, -1, -0x1p-1074, -0.0, 0.0, 0x1p-1074, 1, INFINITY};
    static const int places[] = {0, 1, 2, 3, 3, 4, 5, 6};
    for (int i = 0; i < 8; i++) {
        const double x = values[i];
        for (int j = 0; j < 8; j++) {
            const double y = values[j], high = ulp_math_max(x, y), low = ulp_math_min(x, y),
                         higher = places[i] > places[j] ? x : y,
                         lower = places[i] < places[j] ? x : y;
            ck_assert_msg(memcmp(&high, &higher, 8) == 0, "max(%a, %a) = %a", x, y, high);
            ck_assert_msg(memcmp(&low, &lower, 8) == 0, "min(%a, %a) = %a", x, y, low);
        }
        ck_assert_double_eq(ulp_math_max(x, NAN), x);
        ck_assert_double_eq(ulp_math_max(NAN, x), x);
        ck_assert_double_eq(ulp_math_min(x, NAN), x);
        ck_assert_double_eq(ulp_math_min(NAN, x), x);
    }
    ck_assert(isnan(ulp_math_max(NAN, NAN)) && isnan(ulp_math_min(NAN, NAN)));
}

TEST_SUITE("math", 0)
