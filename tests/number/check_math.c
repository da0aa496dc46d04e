/* number/function/math.h against the C library's functions of long double, which have 11 or more
 * bits in reserve: where theirs lies further from the middle of two doubles than it can err, its
 * rounding is the answer. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "number/function/math.h"
#include "tests/support/test.h"

/* What glibc and musl say of theirs is some units in the last place. */
#define ERROR 64

static const struct function {
    const char *name;
    double (*ours)(double);
    long double (*theirs)(long double);
    double low, high;
} functions[] = {
    {"exp", ulp_math_exp, expl, -760, 720},      {"exp2", ulp_math_exp2, exp2l, -1080, 1030},
    {"expm1", ulp_math_expm1, expm1l, -50, 720}, {"log", ulp_math_log, logl, 0, 1e300},
    {"log1p", ulp_math_log1p, log1pl, -1, 10},   {"log2", ulp_math_log2, log2l, 0, 5},
    {"log10", ulp_math_log10, log10l, 0, 1e4},   {"erfc", ulp_math_erfc, erfcl, -6, 28},
};

/* Not decided, or the same double. */
static bool agrees(double ours, long double theirs)
{
    const long double margin = fabsl(theirs) * LDBL_EPSILON * ERROR + 0x1p-1090L;
    const double low = (double)(theirs - margin), high = (double)(theirs + margin);
    return isnan(theirs)                  ? isnan(ours)
           : low == high || isinf(theirs) ? ours == (double)theirs
                                          : ours == low || ours == high;
}

static double draw(double low, double high, uint64_t i)
{
    return low + (high - low) * ulp_random_uniform(20, i);
}

START_TEST(one_argument)
{
    const struct function *f = &functions[_i];
    for (uint64_t i = 0; i < 3000; i++) {
        const double x = draw(f->low, f->high, i);
        ck_expect(agrees(f->ours(x), f->theirs(x)), "%s(%a) is %a, not %La", f->name, x, f->ours(x),
                  f->theirs(x));
    }
    const double ends[] = {0, -0.0, 1, INFINITY, NAN};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        ck_expect(agrees(f->ours(ends[i]), f->theirs(ends[i])), "%s(%a) is %a", f->name, ends[i],
                  f->ours(ends[i]));
}
END_TEST

START_TEST(two_arguments)
{
    for (uint64_t i = 0; i < 3000; i++) {
        const double x = draw(0, 100, 2 * i), y = draw(-160, 160, 2 * i + 1);
        ck_expect(agrees(ulp_math_pow(x, y), powl(x, y)), "pow(%a, %a) is %a", x, y,
                  ulp_math_pow(x, y));
        ck_expect(agrees(ulp_math_hypot(x, y), hypotl(x, y)), "hypot(%a, %a) is %a", x, y,
                  ulp_math_hypot(x, y));
    }
    ck_assert_double_eq(ulp_math_hypot(3e300, 4e300), 5e300);
    ck_assert_double_eq(ulp_math_hypot(3 * 0x1p-1074, 4 * 0x1p-1074), 5 * 0x1p-1074);
    ck_assert_double_eq(ulp_math_pow(10, -2), 0.01);
    ck_assert_double_eq(ulp_math_pow(2, -1074), 0x1p-1074);
    ck_assert(ulp_math_pow(10, 400) == INFINITY && ulp_math_pow(10, -400) == 0);
}
END_TEST

START_TEST(log_gamma)
{
    for (uint64_t i = 0; i < 3000; i++) {
        const double x = i % 2 ? draw(0.01, 20, i) : draw(0, 1e6, i);
        const long double theirs = lgammal(x), off = fabsl(ulp_math_log_gamma(x) - theirs);
        ck_expect(off <= 1e-12L * (1 + fabsl(x * logl(x)) / 1000), "%a: off by %Lg", x, off);
    }
}
END_TEST

/* Results that are exact, at powers of the base. */
START_TEST(exact_results)
{
    for (int k = -1074; k < 1024; k++) {
        ck_assert_double_eq(ulp_math_exp2(k), ldexp(1, k));
        ck_assert_double_eq(ulp_math_log2(ldexp(1, k)), k);
    }
    double power = 1;
    for (int k = 0; k <= 22; k++, power *= 10)
        ck_assert_double_eq(ulp_math_log10(power), k);
}
END_TEST

/* By the order of the numbers, which their places in the list are; of equals the second. */
START_TEST(least_and_greatest)
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
END_TEST

int main(void)
{
    Suite *suite = suite_create("math");
    TCase *tests = tcase_create("math");
    tcase_add_loop_test(tests, one_argument, 0, sizeof functions / sizeof functions[0]);
    tcase_add_test(tests, two_arguments);
    tcase_add_test(tests, log_gamma);
    tcase_add_test(tests, exact_results);
    tcase_add_test(tests, least_and_greatest);
    suite_add_tcase(suite, tests);
    return test_run(suite, NULL);
}
