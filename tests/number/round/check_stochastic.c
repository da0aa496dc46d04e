/* Stochastic rounding: how often it goes up, and that its draws follow from seed, stream and place
 * alone. */
#include "round_test.h"

/* The share of draws that go up is a mean of n independent bits of expectation f (up to 2^-53):
 * Hoeffding gives P(|share - f| > t) <= 2 exp(-2 n t^2), which is 1e-9 at t = sqrt(ln(2e9) / (2
 * n)). */
TEST(stochastic_mean)
{
    enum { N = 1 << 16 };
    static const char *const names[] = {"fp16", "bf16", "fp8-e4m3", "e5m23"};
    static const double fractions[] = {0.5, 0.25, 0.1, 0.015625, 0.9, 0.75};
    static float x[N];
    static double y[N];
    const double bound = sqrt(log(2e9) / (2.0 * N));
    for (size_t f = 0; f < sizeof names / sizeof names[0]; f++) {
        const struct ulp_format format = get_format(names[f]);
        for (size_t k = 0; k < sizeof fractions / sizeof fractions[0]; k++)
            for (int subnormal = 0; subnormal < 2; subnormal++) {
                const double low = subnormal ? 3 * ulp_format_ulp(&format, 0) : -1.5;
                const double step = copysign(ulp_format_ulp(&format, low), low);
                double in = low + fractions[k] * step, up = 0, up_float = 0;
                if (format.precision < 24)
                    in = (float)in;
                const double fraction = (in - low) / step;
                for (size_t i = 0; i < N; i++) {
                    y[i] = in;
                    x[i] = (float)in;
                }
                ulp_round_doubles(&format, ULP_ROUND_STOCHASTIC, y, N, 99 + k, f, 0);
                ulp_round_floats(&format, ULP_ROUND_STOCHASTIC, x, N, 99 + k, f, 0);
                for (size_t i = 0; i < N; i++) {
                    ck_expect(y[i] == low || y[i] == low + step, "%s: %a gives %a", format.name, in,
                              y[i]);
                    up += y[i] != low;
                    up_float += x[i] != (float)low;
                }
                ck_expect(fabs(up / N - fraction) <= bound, "%s: %g of draws of %a go up",
                          format.name, up / N, in);
                ck_assert(format.precision == 24 || up_float == up);
            }
    }
}

TEST(stochastic_is_reproducible)
{
    enum { N = 300 };
    const struct ulp_format format = get_format("fp16");
    double all[N], pieces[N], mixed[N], other[N];
    float narrow[N];
    for (size_t i = 0; i < N; i++)
        all[i] = pieces[i] = mixed[i] = other[i] = narrow[i] = (float)(1 + (double)i * 0x1.357p-14);
    ulp_round_doubles(&format, ULP_ROUND_STOCHASTIC, all, N, 3, 4, 11);
    ulp_round_floats(&format, ULP_ROUND_STOCHASTIC, narrow, N, 3, 4, 11);
    for (size_t i = 0, n; i < N; i += n) {
        n = i % 7 + 1 < N - i ? i % 7 + 1 : N - i;
        ulp_round_doubles(&format, ULP_ROUND_STOCHASTIC, pieces + i, n, 3, 4, 11 + i);
    }
    for (size_t i = 0, n; i < N; i += n) { /* also parts of blocks, from odd places on */
        n = i * 5 % 43 + 1 < N - i ? i * 5 % 43 + 1 : N - i;
        ulp_round_doubles(&format, ULP_ROUND_STOCHASTIC, mixed + i, n, 3, 4, 11 + i);
    }
    ulp_round_doubles(&format, ULP_ROUND_STOCHASTIC, other, N, 3, 5, 11);
    size_t differing = 0;
    for (size_t i = 0; i < N; i++) {
        ck_assert(same_double(all[i], pieces[i]) && same_double(all[i], narrow[i]) &&
                  same_double(all[i], mixed[i]));
        differing += all[i] != other[i];
    }
    ck_assert_uint_gt(differing, N / 8); /* another stream is another sequence */
    for (size_t i = 0; i < N; i++) {
        double again = all[i];
        ulp_round_doubles(&format, ULP_ROUND_STOCHASTIC, &again, 1, 8, 9, i);
        ck_assert(same_double(again, all[i])); /* a value of the format never moves */
    }
}
