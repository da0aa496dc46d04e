/* The model's allocations, corrected by what they measure. */
#include <math.h>
#include <string.h>

#include "analysis/search/formats/formats.h"
#include "base/error.h"
#include "number/function/math.h"

#define APPROACHES 8

double ulp_search_factor(const struct ulp_searcher *search)
{
    const double factor = search->given && search->best_ratio > 0
                              ? ulp_search_predict(search, search->best) / search->best_ratio
                              : 1;
    return ulp_math_min(ulp_math_max(factor, 1.0 / 8), 8);
}

void ulp_search_offer(const struct ulp_searcher *search, struct ulp_search_found *found,
                      const ulp_pick *of, double ratio)
{
    const double cost = ulp_search_cost(search, of);
    if (!(ratio <= 1) || (found->given && cost >= found->cost))
        return;
    memcpy(found->of, of, search->layer_count * sizeof *of);
    found->given = true;
    found->cost = cost;
    found->ratio = ratio;
}

/* The model is right up to a factor that depends little on the ratio: bisection for it. */
enum ulp_status ulp_search_approach(struct ulp_searcher *search, ulp_pick *work,
                                    struct ulp_search_found *found, struct ulp_error *error)
{
    const double nearly = 0.97;
    double asked = ulp_search_factor(search), met = 0, failed = INFINITY;
    for (int i = 0; i < APPROACHES && !search->over; i++) {
        double now;
        if (!ulp_search_solve(search, asked, work))
            break;
        ULP_TRY(ulp_search_emulate(search, work, &now, error));
        ulp_search_offer(search, found, work, now);
        if (now <= 1)
            met = ulp_math_max(met, asked);
        else
            failed = ulp_math_min(failed, asked);
        if (met > 0 && failed < INFINITY)
            asked = sqrt(met * failed);
        else if (now <= 1)
            asked *= ulp_math_min(4, ulp_math_max(nearly / ulp_math_max(now, 1e-300), 1.02));
        else
            asked *= ulp_math_max(1.0 / 16, nearly / now);
    }
    return ULP_OK;
}
