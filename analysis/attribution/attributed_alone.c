/* What each node's error makes of the outputs where no other errs, of arithmetics with scales. */
#include <float.h>
#include <math.h>

#include "analysis/attribution/attribution.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/random.h"
#include "number/format/scaling.h"
#include "run/pass/backward.h"

/* The squares of what an error makes of sums of the outputs' elements with signs at random have the
 * squared error as their mean (Hutchinson's estimate), which the one direction of the whole error
 * has not. Each sum has elements of its own; where all are alike, the relative standard deviation
 * is sqrt(2 / 8): 2 dB, over 16 samples 0.5 dB. Of no more elements than sums it is 0. */
enum { PROJECTIONS = 8 };

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

size_t ulp_alone_count(const struct ulp_attributor *attributor, const struct ulp_attributed *lane)
{
    size_t count = 0;
    for (size_t t = 0; t < attributor->target_count; t++)
        count += count_elements(lane, &attributor->targets[t]);
    return !ulp_alone_wanted(attributor, lane) ? 0 : ulp_size_min(count, PROJECTIONS);
}

/* That which has least of the outputs' error gets the next element: large ones lie in one each. */
static size_t take_place(double *sizes, size_t projections, double error)
{
    size_t least = 0;
    for (size_t p = 1; p < projections; p++)
        least = sizes[p] < sizes[least] ? p : least;
    sizes[least] += error * error + DBL_MIN;
    return least;
}

/* Signs are those of the sample, whichever shard has it. */
enum ulp_status ulp_alone_seed(const struct ulp_course *course, const struct ulp_reverse *sweep,
                               struct ulp_error *error)
{
    const struct ulp_attributed *lane = course->lane;
    const size_t projections = ulp_alone_count(course->attributor, lane);
    double sizes[PROJECTIONS] = {0};
    for (size_t t = 0; t < course->attributor->target_count; t++) {
        const struct ulp_attributed_value *target = &course->attributor->targets[t];
        const size_t count = count_elements(lane, target), first = target->one ? target->index : 0;
        const double norm = lane->norms[target->slot];
        const uint64_t key = ulp_mix(ulp_double_bits(norm));
        double *seeds;
        if (!count)
            continue;
        ULP_TRY(ulp_reverse_cotangents(sweep, target->slot, lane->values[target->slot].count,
                                       &seeds, error));
        for (size_t i = first; i < first + count; i++)
            if (take_place(sizes, projections, lane->errors[target->slot][i] / norm) ==
                course->projection - 1)
                seeds[i] += (ulp_random_uniform(key, i) < 0.5 ? -1 : 1) / norm;
    }
    return ULP_OK;
}

void ulp_alone_add(const struct ulp_course *courses, size_t groups, size_t projections)
{
    for (size_t n = 0; n < courses->attributor->program->node_count; n++) {
        double sum = projections ? 0 : NAN;
        for (size_t p = groups; p < groups + projections; p++)
            sum += courses[p].nodes[n].share * courses[p].nodes[n].share;
        for (size_t g = 0; g < groups; g++)
            courses[g].nodes[n].alone = sum;
    }
}
