/* From one allocation towards another, as far as the error allows. */
#include <string.h>

#include "analysis/bits/allocation.h"
#include "base/error.h"

/* Layers first to last get the target's choice; `dearer`: where that has more bits, else where it
 * has fewer. False: there are none. */
static bool take(const struct ulp_bits_search *search, const ulp_bits_of *target, size_t first,
                 size_t last, bool dearer, ulp_bits_of *of)
{
    bool any = false;
    for (size_t l = first; l < last && l < search->layer_count; l++) {
        const int *bits = search->layers[l].bits;
        if (bits[target[l]] == bits[of[l]] || (bits[target[l]] > bits[of[l]]) != dearer)
            continue;
        of[l] = target[l];
        any = true;
    }
    return any;
}

/* *of becomes `next` if that is allowed, else next *of. */
static enum ulp_status settle(struct ulp_bits_search *search, ulp_bits_of *of, ulp_bits_of *next,
                              double *ratio, struct ulp_error *error)
{
    const size_t bytes = search->layer_count * sizeof *of;
    double now;
    const enum ulp_status status = ulp_bits_attempt(search, next, &now, error);
    if (status != ULP_OK || !(now <= search->allowed)) {
        memcpy(next, of, bytes);
        return status;
    }
    *ratio = now;
    memcpy(of, next, bytes);
    return ULP_OK;
}

enum ulp_status ulp_bits_merge(struct ulp_bits_search *search, const ulp_bits_of *target,
                               ulp_bits_of *of, double *ratio, struct ulp_error *error)
{
    const size_t layers = search->layer_count;
    struct ulp_arena *memory;
    enum ulp_status status =
        ulp_arena_create(&memory, ulp_model_budget(search->emulation.given.model), error);
    if (status != ULP_OK)
        return status;
    ulp_bits_of *next = ulp_arena_take(memory, layers + 1, sizeof *next);
    if (!next)
        status = ulp_out_of_memory(error);
    else
        memcpy(next, of, layers * sizeof *next);
    if (status == ULP_OK && take(search, target, 0, layers, true, next))
        status = settle(search, of, next, ratio, error);
    for (size_t group = layers; group > 0 && status == ULP_OK; group /= 2)
        for (size_t i = 0; i < layers && status == ULP_OK && !search->over; i += group)
            if (take(search, target, i, i + group, false, next))
                status = settle(search, of, next, ratio, error);
    ulp_arena_free(memory);
    return status;
}
