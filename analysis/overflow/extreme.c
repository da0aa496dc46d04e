/* The chance that an unseen sample's largest value is beyond a limit: a generalised extreme-value
 * distribution fitted to the samples' largest values by probability-weighted moments (Hosking,
 * Wallis, Wood, "Estimation of the generalized extreme-value distribution by the method of
 * probability-weighted moments", Technometrics 27, 1985), its interval by parametric bootstrap. */
#include <math.h>
#include <string.h>

#include "analysis/measure/quantile.h"
#include "analysis/overflow/meter.h"
#include "base/memory/alloc.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/random.h"
#include "number/function/function.h"
#include "number/function/math.h"

#define RESAMPLES 1000
/* Below this the shape is 0, Gumbel's distribution, whose formulas are the limits. */
#define SHAPE_LEAST 1e-7

/* Of sorted values. Shape by Hosking's approximation, within 9e-4 for shapes of -0.5 to 0.5. */
static void fit(const double *sorted, size_t count, struct ulp_extreme *out)
{
    const double n = (double)count;
    double b0 = 0, b1 = 0, b2 = 0;
    for (size_t i = 0; i < count; i++) {
        const double j = (double)i;
        b0 += sorted[i] / n;
        b1 += j / (n - 1) * sorted[i] / n;
        b2 += j * (j - 1) / ((n - 1) * (n - 2)) * sorted[i] / n;
    }
    const double c = (2 * b1 - b0) / (3 * b2 - b0) - ulp_math_log(2) / ulp_math_log(3);
    const double k = ulp_math_max(-0.95, 7.8590 * c + 2.9554 * c * c);
    out->shape = k;
    if (fabs(k) < SHAPE_LEAST) {
        out->scale = (2 * b1 - b0) / ulp_math_log(2);
        out->location = b0 - 0.57721566490153286 * out->scale;
    } else {
        const double gamma = ulp_math_exp(ulp_math_log_gamma(1 + k));
        out->scale = (2 * b1 - b0) * k / (gamma * (1 - ulp_math_exp2(-k)));
        out->location = b0 + out->scale * (gamma - 1) / k;
    }
}

/* 1 - F(x) */
static double exceed(const struct ulp_extreme *fitted, double x)
{
    const double z = (x - fitted->location) / fitted->scale, k = fitted->shape;
    if (fabs(k) < SHAPE_LEAST)
        return -ulp_math_expm1(-ulp_math_exp(-z));
    const double y = 1 - k * z;
    if (y <= 0)
        return k > 0 ? 0 : 1; /* beyond the end of the distribution */
    return -ulp_math_expm1(-ulp_math_exp(ulp_math_log(y) / k));
}

/* Quantiles at uniform numbers, number and those behind it. */
static void draw(const struct ulp_extreme *fitted, double *values, size_t count, uint64_t key,
                 uint64_t number)
{
    const double k = fitted->shape;
    for (size_t done = 0, n; done < count; done += n, number += n) {
        double u[ULP_STRIP], e[ULP_STRIP], *y = values + done;
        n = count - done < ULP_STRIP ? count - done : ULP_STRIP;
        for (size_t i = 0; i < n; i++)
            u[i] = ulp_math_max(ulp_random_uniform(key, number + i), 0x1p-54);
        ulp_function_binary64(ULP_PRIMITIVE_LOG, e, u, NULL, n);
        for (size_t i = 0; i < n; i++)
            e[i] = -e[i];
        ulp_function_binary64(ULP_PRIMITIVE_LOG, u, e, NULL, n);
        const bool gumbel = fabs(k) < SHAPE_LEAST;
        for (size_t i = 0; i < n; i++)
            u[i] *= gumbel ? -1 : k;
        if (!gumbel)
            ulp_function_binary64(ULP_PRIMITIVE_EXPM1, e, u, NULL, n);
        for (size_t i = 0; i < n; i++)
            y[i] = fitted->location + fitted->scale * (gumbel ? u[i] : -e[i] / k);
    }
}

/* Values of samples like those that were seen, fitted in their turn. */
static void resample(struct ulp_extreme *out, double limit, uint64_t seed, double *values,
                     double *chances)
{
    for (size_t r = 0; r < RESAMPLES; r++) {
        struct ulp_extreme again;
        draw(out, values, out->count, ulp_mix(seed), r * out->count);
        ulp_numbers_sort(values, out->count);
        fit(values, out->count, &again);
        chances[r] = again.scale > 0 ? exceed(&again, limit) : 0;
    }
    ulp_numbers_sort(chances, RESAMPLES);
    out->low = chances[RESAMPLES / 40];
    out->high = chances[RESAMPLES - 1 - RESAMPLES / 40];
}

enum ulp_status ulp_extreme_estimate(const double *largest, size_t count, double limit,
                                     uint64_t seed, struct ulp_extreme *out,
                                     struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    void *memory;
    *out = (struct ulp_extreme){.chance = NAN, .low = NAN, .high = NAN};
    if (count < ULP_EXTREME_SAMPLES_MIN)
        return ULP_OK;
    ULP_TRY(ulp_allocate(&memory, count + RESAMPLES, sizeof(double), NULL,
                         "largest values of samples", error));
    double *values = memory;
    memcpy(values, largest, count * sizeof *values);
    ulp_numbers_sort(values, count);
    const bool all_finite = isfinite(values[0]) && isfinite(values[count - 1]);
    if (all_finite && values[0] < values[count - 1])
        fit(values, count, out);
    out->count = count;
    if (out->scale > 0 && isfinite(out->scale)) {
        out->chance = exceed(out, limit);
        resample(out, limit, seed, values, values + count);
        out->low = ulp_math_min(out->low, out->chance);
        out->high = ulp_math_max(out->high, out->chance);
    }
    ulp_free(memory);
    return ULP_OK;
}
