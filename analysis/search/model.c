/* What the powers of the layers say: the error of an allocation, and the fewest bits for an error.
 *
 * With weights w, bits b and powers p(b) of the layers, minimise sum w b under sum p <= r^2. For
 * p = c 4^-b and any b that is the condition p = mu w for one mu. Here b comes from a list: of all
 * choices each layer takes the one of least w b + p / mu, and mu is as large as the error allows
 * (the least of the Lagrangian, exact for the bits that it ends at); what is left of the error is
 * given away bit by bit, where it saves most. */
#include <math.h>

#include "analysis/search/searcher.h"
#include "number/function/math.h"

double ulp_search_power(const struct ulp_searcher *search, size_t index, ulp_pick choice)
{
    const struct ulp_searched_layer *layer = &search->layers[index];
    return layer->power * layer->relative[choice];
}

double ulp_search_cost(const struct ulp_searcher *search, const ulp_pick *of)
{
    double cost = 0;
    for (size_t l = 0; l < search->layer_count; l++)
        cost += search->layers[l].cost[of[l]];
    return cost;
}

double ulp_search_mean_bits(const struct ulp_searcher *search, const ulp_pick *of)
{
    double sum = 0;
    for (size_t l = 0; l < search->layer_count; l++)
        sum += search->layers[l].weight * search->layers[l].bits[of[l]];
    return sum / search->total_weight;
}

static double total_power(const struct ulp_searcher *search, const ulp_pick *of)
{
    double power = 0;
    for (size_t l = 0; l < search->layer_count; l++)
        power += ulp_search_power(search, l, of[l]);
    return power;
}

double ulp_search_predict(const struct ulp_searcher *search, const ulp_pick *of)
{
    return sqrt(total_power(search, of));
}

double ulp_search_expect(const struct ulp_searcher *search, const ulp_pick *of)
{
    double power = 0;
    for (size_t l = 0; l < search->layer_count; l++)
        power += search->layers[l].prior * search->layers[l].relative[of[l]];
    return sqrt(power);
}

/* The layer's choice of least w b + p / mu. */
static ulp_pick choose_for_layer(const struct ulp_searcher *search, size_t index, double mu)
{
    const struct ulp_searched_layer *layer = &search->layers[index];
    size_t best = 0;
    double least = INFINITY;
    for (size_t c = 0; c < search->choice_count; c++) {
        const double sum = layer->cost[c] + ulp_search_power(search, index, (ulp_pick)c) / mu;
        if (layer->bits[c] && sum < least) {
            least = sum;
            best = c;
        }
    }
    return (ulp_pick)best;
}

/* Every layer's choice for mu, into `out` (may be NULL); returns the sum of their powers. */
static double choose_all(const struct ulp_searcher *search, double mu, ulp_pick *out)
{
    double sum = 0;
    for (size_t l = 0; l < search->layer_count; l++) {
        const ulp_pick choice = choose_for_layer(search, l, mu);
        sum += ulp_search_power(search, l, choice);
        if (out)
            out[l] = choice;
    }
    return sum;
}

/* log2 of the largest mu whose allocation keeps to the power; its neighbour above does not. */
static double find_mu(const struct ulp_searcher *search, double power)
{
    double low = -400, high = 400; /* beyond what 4^-23 and 2^42 elements can make */
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        if (choose_all(search, ulp_math_exp2(middle), NULL) <= power)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The choice of fewer bits that saves most for its error, while there is one within the power. */
static void give_away(const struct ulp_searcher *search, double power, ulp_pick *of)
{
    for (bool again = true; again;) {
        const double now = total_power(search, of);
        double most = 0;
        size_t index = 0;
        ulp_pick best = 0;
        again = false;
        for (size_t l = 0; l < search->layer_count; l++) {
            ptrdiff_t lower;
            for (size_t n = 0; (lower = ulp_search_lower(search, l, of[l], n)) >= 0; n++) {
                const struct ulp_searched_layer *layer = &search->layers[l];
                const double more = ulp_search_power(search, l, (ulp_pick)lower) -
                                    ulp_search_power(search, l, of[l]),
                             saved = layer->cost[of[l]] - layer->cost[lower],
                             merit = saved / ulp_math_max(more, 1e-300);
                if (now + more <= power && (!again || merit > most)) {
                    most = merit;
                    index = l;
                    best = (ulp_pick)lower;
                    again = true;
                }
            }
        }
        if (again)
            of[index] = best;
    }
}

bool ulp_search_solve(const struct ulp_searcher *search, double ratio, ulp_pick *out)
{
    const double power = ratio * ratio;
    if (choose_all(search, ulp_math_exp2(find_mu(search, power)), out) > power)
        return false;
    give_away(search, power, out);
    return true;
}

/* ---- the least error for a cost ---- */

/* Of all changes that go in that direction the one of least error for what it saves, or of most
 * error saved for what it costs, within the limit. */
static bool step_limit(const struct ulp_searcher *search, size_t fixed, bool dearer, ulp_pick *of)
{
    const double now = ulp_search_cost(search, of);
    double most = -INFINITY;
    size_t index = 0;
    ulp_pick best = 0;
    for (size_t l = 0; l < search->layer_count; l++)
        for (size_t c = 0; c < search->choice_count && l != fixed; c++) {
            const struct ulp_searched_layer *layer = &search->layers[l];
            const double paid = layer->cost[c] - layer->cost[of[l]],
                         less = ulp_search_power(search, l, of[l]) -
                                ulp_search_power(search, l, (ulp_pick)c),
                         merit = less / ulp_math_max(fabs(paid), 1e-300);
            if (!layer->bits[c] || c == of[l] ||
                (dearer ? !(less > 0) || paid < 0 || now + paid > search->limit : !(paid < 0)))
                continue;
            if (merit > most) {
                most = merit;
                index = l;
                best = (ulp_pick)c;
            }
        }
    if (most > -INFINITY)
        of[index] = best;
    return most > -INFINITY;
}

bool ulp_search_fit_limit(const struct ulp_searcher *search, size_t fixed, ulp_pick *of)
{
    while (ulp_search_cost(search, of) > search->limit)
        if (!step_limit(search, fixed, false, of))
            return false;
    while (step_limit(search, fixed, true, of))
        continue;
    return true;
}

/* The Lagrangian's choices for the smallest mu that keeps to the limit, and what is left of it
 * given away. */
bool ulp_search_solve_limit(const struct ulp_searcher *search, ulp_pick *out)
{
    double low = -400, high = 400;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        choose_all(search, ulp_math_exp2(middle), out);
        if (ulp_search_cost(search, out) <= search->limit)
            high = middle;
        else
            low = middle;
    }
    choose_all(search, ulp_math_exp2(high), out);
    return ulp_search_fit_limit(search, search->layer_count, out);
}

/* ---- one step ---- */

enum ulp_status ulp_search_rank(struct ulp_searcher *search, struct ulp_searched_layer *layer,
                                struct ulp_error *error)
{
    const size_t choices = search->choice_count, most = choices + 1;
    ULP_TAKE(layer->lower, search->emulation.memory, choices * most, error);
    for (size_t from = 0; from < choices; from++) {
        size_t count = 0;
        double next = -1;
        for (size_t c = 0; c < choices; c++)
            if (layer->bits[c] && layer->cost[c] < layer->cost[from] && layer->cost[c] > next)
                next = layer->cost[c];
        for (size_t c = 0; c < choices && next >= 0; c++)
            if (layer->bits[c] && layer->cost[c] == next)
                layer->lower[from * most + count++] = (int16_t)c;
        layer->lower[from * most + count] = -1;
    }
    return ULP_OK;
}

ptrdiff_t ulp_search_lower(const struct ulp_searcher *search, size_t layer, ulp_pick from, size_t n)
{
    return search->layers[layer].lower[from * (search->choice_count + 1) + n];
}

ptrdiff_t ulp_search_higher(const struct ulp_searcher *search, size_t index, ulp_pick from)
{
    const struct ulp_searched_layer *layer = &search->layers[index];
    ptrdiff_t best = -1;
    for (size_t c = 0; c < search->choice_count; c++)
        if (layer->bits[c] && layer->cost[c] > layer->cost[from] &&
            (best < 0 || layer->cost[c] < layer->cost[best] ||
             (layer->cost[c] == layer->cost[best] && layer->relative[c] < layer->relative[best])))
            best = (ptrdiff_t)c;
    return best;
}
