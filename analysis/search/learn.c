/* The model's powers, from shares to what emulations show of single layers. */
#include <math.h>

#include "analysis/search/searcher.h"
#include "base/error.h"
#include "number/function/math.h"

/* The power of what does no harm. */
#define NO_POWER 1e-12

/* The power with the layer alone in that choice; infinite when something is not finite. */
static enum ulp_status measure(struct ulp_searcher *search, size_t layer, size_t choice,
                               ulp_pick *work, double *power, struct ulp_error *error)
{
    double ratio;
    work[layer] = (ulp_pick)choice;
    const enum ulp_status status = ulp_search_emulate(search, work, &ratio, error);
    work[layer] = 0;
    *power = ulp_math_max(ratio * ratio - search->full * search->full, NO_POWER);
    return status;
}

/* Each choice is measured but the widest, which has what its precision says beside the others. */
static enum ulp_status measure_choices(struct ulp_searcher *search, size_t index, ulp_pick *work,
                                       struct ulp_error *error)
{
    struct ulp_searched_layer *layer = &search->layers[index];
    for (size_t c = 1; c < search->choice_count && !search->over; c++) {
        double power;
        if (!layer->bits[c])
            continue;
        ULP_TRY(measure(search, index, c, work, &power, error));
        if (!search->over && layer->power > 0)
            layer->relative[c] = power / layer->power;
    }
    return ULP_OK;
}

enum ulp_status ulp_search_measure(struct ulp_searcher *search, ulp_pick *work,
                                   struct ulp_error *error)
{
    ulp_search_same(search, 0, work);
    for (size_t l = 0; l < search->layer_count && !search->over; l++)
        ULP_TRY(measure_choices(search, l, work, error));
    for (size_t l = 0; l < search->layer_count; l++)
        search->layers[l].prior = search->layers[l].power;
    return ULP_OK;
}

/* Roundings of a single value fall now so, now so: by no more than so many times at once. */
#define LEARN_MOST 16

void ulp_search_learn(struct ulp_searcher *search)
{
    for (size_t l = 0; l < search->layer_count; l++) {
        struct ulp_searched_layer *layer = &search->layers[l];
        const double without = search->without[l];
        if (search->fewer[l] < 0 || !isfinite(without) || !(without > search->best_ratio))
            continue;
        const double more = without * without - search->best_ratio * search->best_ratio,
                     steps = layer->relative[search->fewer[l]] - layer->relative[search->best[l]];
        if (!(steps > 0) || !isfinite(steps))
            continue;
        const double power = ulp_math_max(layer->power, 1e-300);
        layer->power =
            ulp_math_min(ulp_math_max(more / steps, power / LEARN_MOST), power * LEARN_MOST);
    }
}
