/* Distributions against values that mpmath found with 30 digits, and first choices. */
#include "analysis/measure/judged.h"
#include "analysis/measure/quantile.h"
#include "tests/support/test.h"

/* Quantiles of Student's t: P(|T| > t) is I of n / (n + t^2) with n / 2 and 1/2. */
static const struct {
    double probability, freedom, student;
} quantiles[] = {
    {0.975, 1, 12.706204736174705},  {0.975, 2, 4.3026527297494639},
    {0.975, 3, 3.1824463052837096},  {0.975, 10, 2.2281388519862747},
    {0.975, 29, 2.0452296421327043}, {0.975, 999, 1.96234146113345},
    {0.995, 1, 63.656741162871581},  {0.995, 2, 9.9248432009182931},
    {0.995, 3, 5.8409093097333573},  {0.995, 10, 3.1692726726169512},
    {0.995, 29, 2.7563859036706055}, {0.995, 999, 2.5807596372676368},
    {0.9, 1, 3.0776835371752534},    {0.9, 2, 1.8856180831641267},
    {0.9, 3, 1.6377443536962101},    {0.9, 10, 1.3721836411103356},
    {0.9, 29, 1.3114336473015511},   {0.9, 999, 1.2823995700373973},
};

/* The functions are good to 1e-13, and their arguments round by 1e-16 times at most their
 * derivative, which is below 1000 here. */
TEST(incomplete_betas)
{
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        const double n = quantiles[i].freedom, t = quantiles[i].student,
                     exact = 2 * (1 - quantiles[i].probability),
                     found = ulp_incomplete_beta(n / 2, 0.5, n / (n + t * t));
        ck_assert_msg(fabs(found - exact) <= 1e-11 * exact, "%zu: %.17g, exactly %.17g", i, found,
                      exact);
        ck_assert_double_eq_tol(ulp_incomplete_beta(0.5, n / 2, t * t / (n + t * t)), 1 - exact,
                                1e-12);
    }
    ck_assert_double_eq(ulp_incomplete_beta(2, 3, 0), 0);
    ck_assert_double_eq(ulp_incomplete_beta(2, 3, 1), 1);
}

TEST(normal_quantiles)
{
    static const double normal[][2] = {{0.75, 0.67448975019608174},
                                       {0.975, 1.9599639845400542},
                                       {0.995, 2.5758293035489008},
                                       {0.9999, 3.7190164854556806},
                                       {0.001, -3.0902323061678135}};
    for (size_t i = 0; i < sizeof normal / sizeof *normal; i++)
        ck_assert_double_eq_tol(ulp_quantile_normal(normal[i][0]), normal[i][1],
                                1e-11 * fabs(normal[i][1]));
    ck_assert_double_eq(ulp_quantile_normal(0.5), 0);
    ck_assert_double_nan(ulp_quantile_normal(0));
    ck_assert_double_nan(ulp_quantile_normal(1));
    ck_assert_double_nan(ulp_quantile_normal(NAN));
}

/* NaN, also the first, is no choice where there is another. */
TEST(first_choices)
{
    const double rows[][3] = {
        {1, 2, 2}, {NAN, 1, 2}, {3, NAN, 2}, {NAN, NAN, NAN}, {-INFINITY, 0, -1}};
    const size_t choices[] = {1, 2, 0, 0, 1};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        ck_assert_uint_eq(ulp_first_choice(rows[i], 3), choices[i]);
}

TEST_SUITE("quantiles", 0)
