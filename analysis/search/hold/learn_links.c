/* The weights of links from runs. An audit knows what each node introduces and how far it is
 * amplified, but not how the elements of an error go together: that of a weight is the same at
 * every place of an image and adds up. So each layer's power is measured, with it alone released,
 * and that of whole allocations in draws; each weight is multiplied by the mean of what the powers
 * it enters are over what the links say of them, again and again (Richardson, JOSA 62, 1972; Lucy,
 * Astron. J. 79, 1974: nonnegative parts that explain noisy sums). */
#include <math.h>
#include <string.h>

#include "analysis/search/hold/hold.h"
#include "base/error.h"

enum { ROUNDS = 30 };
/* So much of each layer's power is its own, whatever the audit says. */
#define OWN 0.02

/* What the links say of each layer alone. */
static void say_alone(const struct ulp_links *links, double *out)
{
    memset(out, 0, links->search->layer_count * sizeof *out);
    for (size_t l = 0; l < links->count; l++)
        for (size_t i = 0; i < links->items[l].count; i++)
            out[links->layers[links->items[l].first + i]] += links->items[l].weight;
}

enum ulp_status ulp_links_scale(struct ulp_links *links, const double *alone,
                                struct ulp_error *error)
{
    const size_t layers = links->search->layer_count;
    struct ulp_arena *memory = links->search->emulation.memory;
    double *said = ulp_arena_take(memory, layers + 1, sizeof *said), sum = 0, measured = 0;
    ULP_TRY(ulp_taken(said, error));
    say_alone(links, said);
    for (size_t l = 0; l < layers; l++) {
        sum += isfinite(alone[l]) ? said[l] : 0;
        measured += isfinite(alone[l]) ? alone[l] : 0;
    }
    for (size_t l = 0; l < links->count && sum > 0; l++)
        links->items[l].weight *= measured / sum;
    for (size_t l = 0; l < layers; l++)
        ULP_TRY(ulp_links_add(links, isfinite(alone[l]) ? OWN * alone[l] : ULP_LINK_REQUIRED, &l, 1,
                              error));
    return ULP_OK;
}

struct learning {
    struct ulp_links *links;
    const double *alone;
    double alone_count;
    const struct ulp_watched *watched;
    size_t watched_count;
    double *said, *whole; /* by layer and by allocation: what the links say */
    bool *broken;         /* by allocation and link */
};

static void say(struct learning *learning)
{
    const struct ulp_links *links = learning->links;
    say_alone(links, learning->said);
    for (size_t w = 0; w < learning->watched_count; w++) {
        const bool *broken = &learning->broken[w * links->count];
        learning->whole[w] = 0;
        for (size_t l = 0; l < links->count; l++)
            learning->whole[w] += broken[l] ? links->items[l].weight : 0;
    }
}

static void add_power_ratio(double power, double said, double count, double *sum, double *of)
{
    if (!isfinite(power) || !(said > 0))
        return;
    *sum += count * power / said;
    *of += count;
}

static void correct(struct learning *learning)
{
    const struct ulp_links *links = learning->links;
    for (size_t l = 0; l < links->count; l++) {
        struct ulp_error_link *link = &links->items[l];
        double sum = 0, of = 0;
        for (size_t i = 0; i < link->count; i++) {
            const size_t layer = links->layers[link->first + i];
            add_power_ratio(learning->alone[layer], learning->said[layer], learning->alone_count,
                            &sum, &of);
        }
        for (size_t w = 0; w < learning->watched_count; w++)
            if (learning->broken[w * links->count + l])
                add_power_ratio(learning->watched[w].power, learning->whole[w],
                                learning->watched[w].count, &sum, &of);
        link->weight *= of > 0 ? sum / of : 1;
    }
}

enum ulp_status ulp_links_learn(struct ulp_links *links, const double *alone, double alone_count,
                                const struct ulp_watched *watched, size_t watched_count,
                                struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *memory = NULL;
    ULP_TRY(ulp_arena_create(&memory, links->budget, error));
    struct learning learning = {.links = links,
                                .alone = alone,
                                .alone_count = alone_count,
                                .watched = watched,
                                .watched_count = watched_count};
    ULP_TAKE(learning.said, memory, links->search->layer_count + 1, error);
    ULP_TAKE(learning.whole, memory, watched_count + 1, error);
    ULP_TAKE(learning.broken, memory, watched_count * links->count + 1, error);
    for (size_t w = 0; w < watched_count; w++)
        for (size_t l = 0; l < links->count; l++)
            learning.broken[w * links->count + l] =
                ulp_link_is_broken(links, &links->items[l], watched[w].of);
    for (int round = 0; round < ROUNDS; round++) {
        say(&learning);
        correct(&learning);
    }
    return ULP_OK;
}
