/* What each node's error makes of the outputs where no other errs, of arithmetics with scales. */
#include <math.h>

#include "analysis/attribution/attribution.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/random.h"
#include "number/format/scaling.h"
#include "run/pass/backward.h"

/* The squares of what an error makes of the outputs weighed by signs at random have the squared
 * error as their mean (Hutchinson's estimate), which the one direction of the whole error has not.
 * The mean over n of them has a relative standard deviation of at most sqrt(2 / n): 1.5 dB of 16,
 * 0.8 dB of 64. Of no more elements each is taken by itself, which is exact. */
enum { PROJECTIONS = 64, LEAST = 4, MOST = 16 };

/* Of one of so many samples. */
static size_t share_projections(const struct ulp_attributor *attributor)
{
    const size_t each = PROJECTIONS / (attributor->sample_count + !attributor->sample_count);
    return each < LEAST ? LEAST : ulp_size_min(each, MOST);
}

static size_t count_elements(const struct ulp_attributed *lane,
                             const struct ulp_attributed_value *target)
{
    return !lane->errors[target->slot] || !(lane->norms[target->slot] > 0) ? 0
           : target->one                                                   ? 1
                         : lane->values[target->slot].count;
}

bool ulp_alone_wanted(const struct ulp_attributor *attributor, const struct ulp_attributed *lane)
{
    const struct ulp_mix *mix = &attributor->program->mixes[1 + (lane - attributor->lanes)];
    bool scales = false;
    for (size_t i = 0; i < mix->count; i++)
        scales |= ulp_scaling_is_used(&mix->items[i]);
    return scales && !attributor->difference && !attributor->weights;
}

size_t ulp_alone_count(const struct ulp_attributor *attributor, const struct ulp_attributed *lane,
                       bool *elements)
{
    const size_t most = share_projections(attributor);
    size_t count = 0;
    for (size_t t = 0; t < attributor->target_count; t++)
        count += count_elements(lane, &attributor->targets[t]);
    *elements = count <= most;
    return !ulp_alone_wanted(attributor, lane) ? 0 : ulp_size_min(count, most);
}

/* Signs are those of the sample, whichever shard has it. */
enum ulp_status ulp_alone_seed(const struct ulp_course *course, const struct ulp_reverse *sweep,
                               struct ulp_error *error)
{
    const struct ulp_attributed *lane = course->lane;
    bool elements;
    size_t place = 0;
    ulp_alone_count(course->attributor, lane, &elements);
    for (size_t t = 0; t < course->attributor->target_count; t++) {
        const struct ulp_attributed_value *target = &course->attributor->targets[t];
        const size_t count = count_elements(lane, target), first = target->one ? target->index : 0;
        const double norm = lane->norms[target->slot];
        const uint64_t key = ulp_mix(ulp_double_bits(norm) + course->projection);
        double *seeds;
        if (!count)
            continue;
        ULP_TRY(ulp_reverse_cotangents(sweep, target->slot, lane->values[target->slot].count,
                                       &seeds, error));
        for (size_t i = 0; i < count; i++, place++)
            seeds[first + i] += elements ? (place + 1 == course->projection) / norm
                                         : (ulp_random_uniform(key, i) < 0.5 ? -1 : 1) / norm;
    }
    return ULP_OK;
}

void ulp_alone_add(const struct ulp_course *courses, size_t groups, size_t projections,
                   bool elements)
{
    for (size_t n = 0; n < courses->attributor->program->node_count; n++) {
        double sum = projections ? 0 : NAN;
        for (size_t p = groups; p < groups + projections; p++) {
            const double one = courses[p].nodes[n].share + courses[p].nodes[n].decision;
            sum += one * one / (elements ? 1 : (double)projections);
        }
        for (size_t g = 0; g < groups; g++)
            courses[g].nodes[n].alone = sum;
    }
}
