/* Quantiles of Fisher's F distribution. */

#include "analysis/compare/comparing.h"
#include "analysis/measure/quantile.h"
#include "number/function/math.h"

double ulp_ratio_limit(double freedom, double trials, double probability)
{
    const double above = freedom, below = freedom * trials;
    double low = 0, high = 200; /* of log F; P(F > f) = I_{below / (below + above f)} */
    for (int step = 0; step < 60; step++) {
        const double middle = (low + high) / 2;
        const double tail = ulp_incomplete_beta(below / 2, above / 2,
                                                below / (below + above * ulp_math_exp(middle)));
        *(tail > probability ? &low : &high) = middle;
    }
    return ulp_math_exp(high / 2);
}
