/* Emulating an allocation, and what is remembered of it. */
#include <math.h>
#include <string.h>

#include "analysis/bits/allocation.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "number/function/math.h"

static const uint16_t *as_kept(const struct ulp_bits_search *search, const ulp_bits_of *of)
{
    for (size_t n = 0; n < search->emulation.plan->node_count; n++)
        search->kept[n] = search->layer_of[n] < 0 ? 0 : of[search->layer_of[n]];
    return search->kept;
}

static enum ulp_status remember(struct ulp_bits_search *search, const ulp_bits_of *of, double ratio,
                                struct ulp_error *error)
{
    const double cost = ulp_bits_cost(search, of);
    if (search->seen_count == search->seen_room) {
        const size_t room = 2 * search->seen_room + 256;
        struct ulp_bits_seen *seen = ulp_arena_take(search->emulation.memory, room, sizeof *seen);
        if (!seen)
            return ulp_out_of_memory(error);
        if (search->seen_count)
            memcpy(seen, search->seen, search->seen_count * sizeof *seen);
        search->seen = seen;
        search->seen_room = room;
    }
    search->seen[search->seen_count++] =
        (struct ulp_bits_seen){cost, ulp_bits_mean_mantissa(search, of), ratio};
    if (!(ratio <= 1) ||
        (search->given &&
         (cost > search->best_cost || (cost == search->best_cost && ratio >= search->best_ratio))))
        return ULP_OK;
    memcpy(search->best, of, search->layer_count * sizeof *of);
    search->best_cost = cost;
    search->best_ratio = ratio;
    search->given = true;
    search->minimal = false;
    return ULP_OK;
}

/* What is emulated, or what the model expects where that is limited and comes to more. */
static double find_ratio(const struct ulp_bits_search *search, const ulp_bits_of *of, double ratio)
{
    const double limit = search->options->expected;
    return limit > 0 && search->measured ? ulp_math_max(ratio, ulp_bits_expect(search, of) / limit)
                                         : ratio;
}

/* Something was tried before the time was over, so that there is a result. */
static bool is_over(struct ulp_bits_search *search)
{
    search->over |= search->seen_count > 0 && ulp_seconds_now() > search->deadline;
    return search->over;
}

enum ulp_status ulp_bits_emulate(struct ulp_bits_search *search, const ulp_bits_of *of,
                                 double *ratio, struct ulp_error *error)
{
    *ratio = INFINITY;
    if (is_over(search))
        return ULP_OK;
    const enum ulp_status status =
        ulp_emulation_judge_all(&search->emulation, as_kept(search, of), NULL, ratio, error);
    *ratio = find_ratio(search, of, *ratio);
    return status == ULP_OK ? remember(search, of, *ratio, error) : status;
}

enum ulp_status ulp_bits_try(struct ulp_bits_search *search, const ulp_bits_of *of, double *ratio,
                             struct ulp_error *error)
{
    bool all = false;
    *ratio = INFINITY;
    if (is_over(search))
        return ULP_OK;
    const double expected = find_ratio(search, of, 0);
    if (expected > 1) {
        *ratio = expected;
        return ULP_OK;
    }
    const enum ulp_status status =
        ulp_emulation_try(&search->emulation, as_kept(search, of), ratio, &all, error);
    return status == ULP_OK && all ? remember(search, of, *ratio, error) : status;
}

enum ulp_status ulp_bits_attempt(struct ulp_bits_search *search, const ulp_bits_of *of,
                                 double *ratio, struct ulp_error *error)
{
    return search->allowed == 1 ? ulp_bits_try(search, of, ratio, error)
                                : ulp_bits_emulate(search, of, ratio, error);
}

bool ulp_bits_same(const struct ulp_bits_search *search, ulp_bits_of choice, ulp_bits_of *out)
{
    bool fits = true;
    for (size_t l = 0; l < search->layer_count; l++) {
        fits &= search->layers[l].bits[choice] > 0;
        out[l] = choice;
    }
    return fits;
}
