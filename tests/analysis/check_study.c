/* What a study is made of: sweeps against bash's own braces, quantiles against values that mpmath
 * found with 30 digits, laws against points that follow them and against scipy's regression. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ulpscope.h>

#include "analysis/measure/judged.h"
#include "analysis/measure/quantile.h"
#include "base/random.h"
#include "tests/support/test.h"

/* ---- sweeps ---- */

/* As bash has them, one a line. */
static const char *const texts[] = {"e5m{4..12}",
                                    "fp16,round={rne,rz,ru,rd,sr}",
                                    "{a,b}{1..3}x{c,d}",
                                    "x{10..1..4}y",
                                    "{-2..2..2}",
                                    "e{2..4}m{3,7},order={sequential,blocked:64}",
                                    "no_braces"};

START_TEST(as_bash_expands)
{
    char command[600], line[300];
    struct ulp_sweep sweep;
    struct ulp_error error;
    const char *text = texts[_i];
    ck_ulp_ok(ulp_sweep_expand(text, &sweep, &error), error);
    snprintf(command, sizeof command, "bash -c 'printf \"%%s\\n\" %s'", text);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    size_t count = 0;
    while (fgets(line, sizeof line, pipe)) {
        line[strcspn(line, "\n")] = 0;
        ck_assert_uint_lt(count, sweep.count);
        ck_assert_str_eq(sweep.names[count], line);
        count++;
    }
    ck_assert_int_eq(pclose(pipe), 0);
    ck_assert_uint_eq(count, sweep.count);
    size_t product = 1;
    for (size_t b = 0; b < sweep.brace_count; b++)
        product *= sweep.choice_counts[b];
    ck_assert_uint_eq(product, count);
    for (size_t i = 0; i < count; i++) { /* the last braces change fastest */
        size_t place = 0;
        for (size_t b = 0; b < sweep.brace_count; b++)
            place = place * sweep.choice_counts[b] + sweep.choices[i * sweep.brace_count + b];
        ck_assert_uint_eq(place, i);
    }
    ulp_sweep_free(&sweep);
}
END_TEST

START_TEST(hostile_sweeps)
{
    static const char *const wrong[] = {"a{b",
                                        "a}b",
                                        "a{}",
                                        "a{b,}",
                                        "a{,b}",
                                        "a{b,,c}",
                                        "a{b{c}}",
                                        "{1..}",
                                        "{..2}",
                                        "{1..2..}",
                                        "{1..2..0}",
                                        "{1..2..-1}",
                                        "{1..9999999}",
                                        "{1..99999999999999999999999}",
                                        "{1..1001}",
                                        "{1..100}{1..100}{1..100}{1..100}",
                                        "{a}{b}{c}{d}{e}{f}{g}{h}{i}",
                                        "{1...3}",
                                        "{1.5..2}"};
    struct ulp_sweep sweep;
    struct ulp_error error;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(ulp_sweep_expand(wrong[i], &sweep, &error) == ULP_ERROR_USAGE, "%s",
                      wrong[i]);
        ck_assert_msg(strncmp(error.message, "sweep ", 6) == 0 && !strchr(error.message, '\n'),
                      "%s", error.message);
        ck_assert_ptr_null(sweep.memory);
    }
    char *text = malloc(100001);
    memset(text, '{', 100000);
    text[100000] = 0;
    ck_assert_int_eq(ulp_sweep_expand(text, &sweep, &error), ULP_ERROR_USAGE);
    free(text);
    ck_ulp_ok(ulp_sweep_expand("{1..1000}", &sweep, &error), error);
    ck_assert_uint_eq(sweep.count, ULP_STUDY_SETTINGS_MAX);
    ulp_sweep_free(&sweep);
}
END_TEST

/* Any text is refused, or gives names without braces, within the bound. */
START_TEST(random_sweeps)
{
    static const char letters[] = "{},..19-ax";
    size_t expanded = 0;
    for (uint64_t n = 0; n < 20000; n++) {
        char text[24];
        const size_t length = ulp_random_bits(1, n) % (sizeof text - 1);
        struct ulp_sweep sweep;
        struct ulp_error error;
        for (size_t i = 0; i < length; i++)
            text[i] = letters[ulp_random_bits(2 + i, n) % (sizeof letters - 1)];
        text[length] = 0;
        if (ulp_sweep_expand(text, &sweep, &error) != ULP_OK)
            continue;
        expanded += sweep.brace_count > 0;
        ck_expect(sweep.count >= 1 && sweep.count <= ULP_STUDY_SETTINGS_MAX, "%s", text);
        for (size_t i = 0; i < sweep.count; i++)
            ck_expect(!strpbrk(sweep.names[i], "{}"), "%s: %s", text, sweep.names[i]);
        ulp_sweep_free(&sweep);
    }
    ck_assert_uint_gt(expanded, 100);
}
END_TEST

/* ---- quantiles ---- */

static const struct {
    double probability;
    size_t freedom;
    double student, chi_squared;
} quantiles[] = {
    {0.975, 1, 12.706204736174705, 5.023886187314889},
    {0.975, 2, 4.3026527297494639, 7.3777589082278726},
    {0.975, 3, 3.1824463052837096, 9.3484036044961478},
    {0.975, 10, 2.2281388519862747, 20.483177350807397},
    {0.975, 29, 2.0452296421327043, 45.722285804174543},
    {0.975, 999, 1.96234146113345, 1088.4870677259353},
    {0.995, 1, 63.656741162871581, 7.8794385766224174},
    {0.995, 2, 9.9248432009182931, 10.596634733096073},
    {0.995, 3, 5.8409093097333573, 12.838156466598652},
    {0.995, 10, 3.1692726726169512, 25.188179571971172},
    {0.995, 29, 2.7563859036706055, 52.33561778593362},
    {0.995, 999, 2.5807596372676368, 1117.890452678641},
    {0.9, 1, 3.0776835371752534, 2.7055434540954146},
    {0.9, 2, 1.8856180831641267, 4.6051701859880914},
    {0.9, 3, 1.6377443536962101, 6.2513886311703232},
    {0.9, 10, 1.3721836411103356, 15.987179172105261},
    {0.9, 29, 1.3114336473015511, 39.087469770693954},
    {0.9, 999, 1.2823995700373973, 1056.6952292962342},
    {0.025, 1, -12.706204736174705, 0.00098206911717525591},
    {0.025, 2, -4.3026527297494639, 0.050635615968579751},
    {0.025, 3, -3.1824463052837096, 0.21579528262389787},
    {0.025, 10, -2.2281388519862747, 3.2469727802368411},
    {0.025, 29, -2.0452296421327043, 16.047071695364885},
    {0.025, 999, -1.96234146113345, 913.30099830211337},
};

/* Both sides round the probability to a double, and 1 - p once more: 1e-16 of a tail of 0.005 at
 * least, times at most 1 / (x density / tail), which is 1 for freedom 1: 1e-13, and the functions
 * themselves are good to 1e-13. */
static void expect_near(double value, double exact, const char *what, size_t i)
{
    ck_assert_msg(fabs(value - exact) <= 1e-11 * fabs(exact), "%s %zu: %.17g, exactly %.17g", what,
                  i, value, exact);
}

START_TEST(quantiles_of_thirty_digits)
{
    static const double normal[][2] = {{0.75, 0.67448975019608174},
                                       {0.975, 1.9599639845400542},
                                       {0.995, 2.5758293035489008},
                                       {0.9999, 3.7190164854556806},
                                       {0.001, -3.0902323061678135}};
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        const double p = quantiles[i].probability;
        const size_t n = quantiles[i].freedom;
        expect_near(ulp_quantile_student(p, n), quantiles[i].student, "student", i);
        expect_near(ulp_quantile_chi_squared(p, n), quantiles[i].chi_squared, "chi squared", i);
    }
    for (size_t i = 0; i < sizeof normal / sizeof *normal; i++)
        expect_near(ulp_quantile_normal(normal[i][0]), normal[i][1], "normal", i);
    ck_assert_double_eq(ulp_quantile_normal(0.5), 0);
    ck_assert_double_eq(ulp_quantile_student(0.5, 7), 0);
    ck_assert_double_nan(ulp_quantile_normal(0));
    ck_assert_double_nan(ulp_quantile_normal(1));
    ck_assert_double_nan(ulp_quantile_normal(NAN));
    ck_assert_double_nan(ulp_quantile_student(0.9, 0));
    ck_assert_double_nan(ulp_quantile_chi_squared(1.5, 3));
}
END_TEST

START_TEST(bits_lost_to_few_trials)
{
    static const struct {
        size_t trials;
        double probability, confidence, loss;
    } rows[] = {{30, 0.95, 0.95, 1.3976985667429185},
                {3, 0.95, 0.95, 3.6226789883030603},
                {2, 0.99, 0.9, 5.3602717894818517},
                {1000, 0.9, 0.99, 0.80322953538591558}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_near(ulp_significant_loss(rows[i].trials, rows[i].probability, rows[i].confidence),
                    rows[i].loss, "loss", i);
    ck_assert_double_nan(ulp_significant_loss(1, 0.95, 0.95));
}
END_TEST

/* ---- laws ---- */

/* numpy 2 and scipy 1.17: linregress(x, log2(e)), and its slope -+ stderr * t.ppf(.975, 5). */
START_TEST(as_linregress)
{
    static const double x[] = {4, 5, 6, 7, 8, 9, 10},
                        e[] = {0.11, 0.049, 0.031, 0.0136, 0.0061, 0.0037, 0.00151};
    struct ulp_study_fit fit;
    ulp_study_fit(x, e, 7, false, &fit);
    expect_near(fit.slope, -1.0128639180850538, "slope", 0);
    expect_near(fit.intercept, 0.8680750958414603, "intercept", 0);
    expect_near(fit.slope_error, 0.0291958911793786, "error", 0);
    expect_near(fit.residual, 0.13056799468155955, "residual", 0);
    expect_near(fit.slope_low, -1.087914345625979, "low", 0);
    expect_near(fit.slope_high, -0.9378134905441287, "high", 0);
    ck_assert_int_eq(fit.law, ULP_LAW_LINEAR);
    ck_assert_uint_eq(fit.count, 7);
}
END_TEST

/* Exact laws; every kind. */
START_TEST(laws_of_their_own)
{
    static const struct {
        bool lengths;
        double slope;
        enum ulp_study_law law;
    } rows[] = {{false, -1, ULP_LAW_LINEAR}, {false, -0.5, ULP_LAW_POWER},
                {false, 0, ULP_LAW_FLAT},    {false, -2, ULP_LAW_POWER},
                {true, 1, ULP_LAW_LINEAR},   {true, 0.5, ULP_LAW_ROOT},
                {true, 0, ULP_LAW_FLAT},     {true, 2, ULP_LAW_POWER},
                {true, -0.5, ULP_LAW_POWER}, {false, 1, ULP_LAW_POWER}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        double x[8], e[8];
        struct ulp_study_fit fit;
        for (int i = 0; i < 8; i++) {
            x[i] = rows[r].lengths ? ldexp(1, i) : i + 3;
            e[i] = exp2(-12 + rows[r].slope * (i + (rows[r].lengths ? 0 : 3)));
        }
        ulp_study_fit(x, e, 8, rows[r].lengths, &fit);
        ck_assert_msg(fit.law == rows[r].law, "%zu: %s", r, ulp_study_law_name(fit.law));
        ck_assert_double_eq_tol(fit.slope, rows[r].slope, 1e-12);
        ck_assert_double_eq_tol(fit.residual, 0, 1e-12);
        ck_assert_uint_eq(fit.floored, 0);
    }
}
END_TEST

/* What cannot follow a law is left out and said. */
START_TEST(limits_of_laws)
{
    const double nan = NAN;
    const double x[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct ulp_study_fit fit;
    /* lost, then 2^-x, then a floor of 1.1e-3 */
    double e[] = {0.9, 3, 0x1p-4, 0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8, 1.1e-3, 1.2e-3, 1e-3, 1.1e-3};
    ulp_study_fit(x, e, 11, false, &fit);
    ck_assert_int_eq(fit.law, ULP_LAW_LINEAR);
    ck_assert_double_eq_tol(fit.slope, -1, 1e-12);
    ck_assert_uint_eq(fit.lost, 2);
    ck_assert_uint_eq(fit.floored, 4);
    ck_assert_uint_eq(fit.count, 5);
    ck_assert_uint_eq(fit.first, 2);
    ck_assert_uint_eq(fit.last, 6);
    ck_assert_double_eq_tol(fit.floor, sqrt((1.21 + 1.44 + 1 + 1.21) / 4) * 1e-3, 1e-15);
    /* the same from the other end */
    double back_x[11], back_e[11];
    for (int i = 0; i < 11; i++)
        back_x[i] = x[10 - i], back_e[i] = e[10 - i];
    ulp_study_fit(back_x, back_e, 11, false, &fit);
    ck_assert_int_eq(fit.law, ULP_LAW_LINEAR);
    ck_assert_double_eq_tol(fit.slope, -1, 1e-12);
    ck_assert_uint_eq(fit.floored, 4);
    ck_assert_uint_eq(fit.first, 4);
    ck_assert_uint_eq(fit.last, 8);
    /* no law: scattered, lost, unusable, too few */
    const double scattered[] = {0.1, 0.001, 0.1, 0.001, 0.1, 0.001};
    ulp_study_fit(x, scattered, 6, false, &fit);
    ck_assert_int_eq(fit.law, ULP_LAW_NONE);
    ck_assert_ptr_nonnull(strstr(fit.reason, "beside a line"));
    const double lost[] = {2, 3, 0.7, 0.6, 0.51};
    ulp_study_fit(x, lost, 5, false, &fit);
    ck_assert_int_eq(fit.law, ULP_LAW_NONE);
    ck_assert_uint_eq(fit.lost, 5);
    ck_assert_ptr_nonnull(strstr(fit.reason, "as large as the values"));
    const double unusable[] = {nan, 0, INFINITY, -1, 0.1};
    ulp_study_fit(x, unusable, 5, false, &fit);
    ck_assert_int_eq(fit.law, ULP_LAW_NONE);
    ck_assert_uint_eq(fit.unusable, 4);
    ck_assert_double_nan(fit.slope);
    const double two[] = {0.1, 0.05};
    ulp_study_fit(x, two, 2, false, &fit);
    ck_assert_int_eq(fit.law, ULP_LAW_NONE);
    ck_assert_double_eq_tol(fit.slope, -1, 1e-12);
    ck_assert_double_nan(fit.slope_error);
    ulp_study_fit(x, two, 0, false, &fit);
    ck_assert_int_eq(fit.law, ULP_LAW_NONE);
}
END_TEST

/* NaN, also the first, is no choice where there is another. */
START_TEST(first_choices)
{
    const double rows[][3] = {
        {1, 2, 2}, {NAN, 1, 2}, {3, NAN, 2}, {NAN, NAN, NAN}, {-INFINITY, 0, -1}};
    const size_t choices[] = {1, 2, 0, 0, 1};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        ck_assert_uint_eq(ulp_first_choice(rows[i], 3), choices[i]);
}
END_TEST

/* Numbers of rows as text. */
START_TEST(rows_as_text)
{
    static const char *const wrong[] = {"",    "1",   "8,1",  "0,1",  "1..1",      "3..2",
                                        "1..", "..8", "1,8,", "a..b", "1..2000000"};
    struct ulp_error error;
    size_t rows[ULP_STUDY_ROWS_MAX], count;
    ck_ulp_ok(ulp_study_rows_read("1,8,64", rows, &count, &error), error);
    ck_assert(count == 3 && rows[0] == 1 && rows[1] == 8 && rows[2] == 64);
    ck_ulp_ok(ulp_study_rows_read("2..10", rows, &count, &error), error);
    ck_assert(count == 4 && rows[0] == 2 && rows[1] == 8 && rows[2] == 9 && rows[3] == 10);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(ulp_study_rows_read(wrong[i], rows, &count, &error), ULP_ERROR_USAGE);
}
END_TEST

TEST_MAIN("study", 0)
{
    tcase_add_loop_test(tests, as_bash_expands, 0, sizeof texts / sizeof *texts);
    tcase_add_test(tests, hostile_sweeps);
    tcase_add_test(tests, random_sweeps);
    tcase_add_test(tests, quantiles_of_thirty_digits);
    tcase_add_test(tests, bits_lost_to_few_trials);
    tcase_add_test(tests, as_linregress);
    tcase_add_test(tests, laws_of_their_own);
    tcase_add_test(tests, limits_of_laws);
    tcase_add_test(tests, first_choices);
    tcase_add_test(tests, rows_as_text);
}
