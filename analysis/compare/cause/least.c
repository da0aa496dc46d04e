/* The number at which a distance is least: walked to from a first one in steps that grow, then
 * by golden sections, all in the number's logarithm. */
#include "analysis/compare/cause/reread.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "number/function/math.h"

/* Doublings of the step, from a factor of e: to 1e13 times the first number. */
#define STEPS_MAX 6
/* So near two logarithms are one number of FP32. */
#define NEAR 1e-8
/* With steps so small the number is known well enough to leave it where little is gained. */
#define COARSE 0.05
#define GOLDEN 0.381966
/* A plainer number is taken that leaves so many times as much at most. */
#define AS_GOOD 1.2

struct point {
    double at, distance;
};
struct walk {
    const struct ulp_least *least;
    double sign;
};

static enum ulp_status look(const struct walk *walk, double at, struct point *out,
                            struct ulp_error *error)
{
    out->at = at;
    return walk->least->distance(walk->least->context, walk->sign * ulp_math_exp(at),
                                 &out->distance, error);
}

/* p[1] is the nearest, p[0] and p[2] lie around it. */
static enum ulp_status bracket(const struct walk *walk, struct point p[3], bool *found,
                               struct ulp_error *error)
{
    for (int way = 1; way >= -1 && !*found; way -= 2) {
        double step = way;
        p[0] = way > 0 ? p[1] : p[2];
        for (int s = 0; s < STEPS_MAX && !*found; s++, step *= 2) {
            ULP_TRY(look(walk, p[1].at + step, &p[2], error));
            const bool rises = p[2].distance >= p[1].distance;
            *found = rises && (way < 0 || s > 0);
            if (rises)
                break;
            p[0] = p[1];
            p[1] = p[2];
        }
    }
    return ULP_OK;
}

/* The golden section: of four points the one beside the nearest is looked at next, until it is
 * known well enough to leave it where little is gained, or as FP32 has it. */
static enum ulp_status refine(const struct walk *walk, struct point p[3], double enough,
                              struct ulp_error *error)
{
    double wide = fabs(p[2].at - p[0].at);
    for (; wide > NEAR && (wide > COARSE || p[1].distance <= enough);
         wide = fabs(p[2].at - p[0].at)) {
        const bool ahead = fabs(p[2].at - p[1].at) > fabs(p[1].at - p[0].at);
        struct point next;
        ULP_TRY(look(walk, p[1].at + GOLDEN * (p[ahead ? 2 : 0].at - p[1].at), &next, error));
        const bool nearer = next.distance < p[1].distance;
        p[nearer == ahead ? 0 : 2] = nearer ? p[1] : next;
        p[1] = nearer ? next : p[1];
    }
    return ULP_OK;
}

/* The number of fewest digits that leaves about as little. */
static enum ulp_status make_plain(const struct walk *walk, const struct point *best, double *number,
                                  struct ulp_error *error)
{
    *number = walk->sign * ulp_math_exp(best->at);
    for (int digits = 0; digits < 6; digits++) {
        char text[32];
        double distance;
        snprintf(text, sizeof text, "%.*e", digits, *number);
        ULP_TRY(walk->least->distance(walk->least->context, strtod(text, NULL), &distance, error));
        if (distance <= best->distance * AS_GOOD) {
            *number = strtod(text, NULL);
            break;
        }
    }
    return ULP_OK;
}

enum ulp_status ulp_find_least(const struct ulp_least *least, double first, double *number,
                               struct ulp_error *error)
{
    const struct walk walk = {least, first < 0 ? -1 : 1};
    struct point p[3] = {{0}};
    bool found = false;
    *number = 0;
    ULP_TRY(look(&walk, ulp_math_log(fabs(first)), &p[1], error));
    const double before = p[1].distance;
    ULP_TRY(bracket(&walk, p, &found, error));
    if (!found)
        return ULP_OK;
    ULP_TRY(refine(&walk, p, before / 2, error));
    return p[1].distance < before / 2 ? make_plain(&walk, &p[1], number, error) : ULP_OK;
}
