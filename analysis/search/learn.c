/* The model's powers, from shares to what emulations show of single layers. */
#include <math.h>

#include "analysis/search/searcher.h"
#include "base/error.h"
#include "number/function/math.h"

/* The choice with the exponents of the widest that is expected to make about as much error as is
 * allowed: where the power is to be known. */
static ulp_pick find_probe(const struct ulp_searcher *search, size_t layer)
{
    const struct ulp_search_room *room = &search->layers[layer];
    size_t best = 0;
    double nearest = INFINITY;
    for (size_t c = 1; c < search->choice_count; c++) {
        const double away =
            fabs(ulp_math_log(ulp_math_max(ulp_search_power(search, layer, (ulp_pick)c), 1e-300)));
        if (room->bits[c] && away < nearest &&
            (!search->grid || search->choices[c].exponent == search->choices[0].exponent)) {
            nearest = away;
            best = c;
        }
    }
    return (ulp_pick)best;
}

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

/* Underflow that does no harm is left out of the model. */
#define HARMLESS 1.25

/* From the fewest exponents that hold the layer's values on: what they add to the power that the
 * probe has with all of them, until it is nothing. */
static enum ulp_status measure_exponents(struct ulp_searcher *search, size_t layer, size_t probe,
                                         double power, ulp_pick *work, struct ulp_error *error)
{
    struct ulp_search_room *room = &search->layers[layer];
    const int mantissa = search->choices[probe].mantissa, most = search->choices[probe].exponent;
    bool harms = power > NO_POWER;
    for (int e = 2; e <= most && !search->over; e++) {
        double now = power;
        size_t choice = search->choice_count;
        for (size_t c = 0; c < search->choice_count; c++)
            if (search->choices[c].exponent == e && search->choices[c].mantissa == mantissa)
                choice = c;
        if (harms && e < most && room->bits[choice]) {
            ULP_TRY(measure(search, layer, choice, work, &now, error));
            harms = now > HARMLESS * power;
        }
        for (size_t c = 0; c < search->choice_count; c++)
            if (search->choices[c].exponent == e)
                room->relative[c] =
                    ldexp(harms && e < most ? now / power : 1, -2 * search->choices[c].mantissa);
    }
    return ULP_OK;
}

static enum ulp_status measure_grid(struct ulp_searcher *search, size_t layer, ulp_pick *work,
                                    struct ulp_error *error)
{
    struct ulp_search_room *room = &search->layers[layer];
    const size_t probe = find_probe(search, layer);
    double power;
    if (!probe)
        return ULP_OK;
    ULP_TRY(measure(search, layer, probe, work, &power, error));
    if (search->over || !isfinite(power))
        return ULP_OK;
    enum ulp_status status = measure_exponents(search, layer, probe, power, work, error);
    room->power = power / room->relative[probe];
    return status;
}

/* Of a list each; of the widest what its precision says beside the others. */
static enum ulp_status measure_list(struct ulp_searcher *search, size_t layer, ulp_pick *work,
                                    struct ulp_error *error)
{
    struct ulp_search_room *room = &search->layers[layer];
    for (size_t c = 1; c < search->choice_count && !search->over; c++) {
        double power;
        if (!room->bits[c])
            continue;
        ULP_TRY(measure(search, layer, c, work, &power, error));
        if (!search->over && room->power > 0)
            room->relative[c] = power / room->power;
    }
    return ULP_OK;
}

enum ulp_status ulp_search_measure(struct ulp_searcher *search, ulp_pick *work,
                                   struct ulp_error *error)
{
    ulp_search_same(search, 0, work);
    for (size_t l = 0; l < search->layer_count && !search->over; l++)
        ULP_TRY(search->grid ? measure_grid(search, l, work, error)
                             : measure_list(search, l, work, error));
    for (size_t l = 0; l < search->layer_count; l++)
        search->layers[l].prior = search->layers[l].power;
    return ULP_OK;
}

/* Roundings of a single value fall now so, now so: by no more than so many times at once. */
#define LEARN_MOST 16

void ulp_search_learn(struct ulp_searcher *search)
{
    for (size_t l = 0; l < search->layer_count; l++) {
        struct ulp_search_room *room = &search->layers[l];
        const double without = search->without[l];
        if (search->fewer[l] < 0 || !isfinite(without) || !(without > search->best_ratio))
            continue;
        const double more = without * without - search->best_ratio * search->best_ratio,
                     steps = room->relative[search->fewer[l]] - room->relative[search->best[l]];
        if (!(steps > 0) || !isfinite(steps))
            continue;
        const double power = ulp_math_max(room->power, 1e-300);
        room->power =
            ulp_math_min(ulp_math_max(more / steps, power / LEARN_MOST), power * LEARN_MOST);
    }
}
