/* Search of fit_cuda_functions.py: the COUNT float coefficients of a polynomial, evaluated by
 * Horner's rule with fused multiply-adds, for which its value lies in a given range at as many
 * points as possible. Simulated annealing over the coefficients' last bits: a coefficient moves,
 * the lower ones follow so that the polynomial hardly changes. */
#include <math.h>
#include <stdint.h>
#include <string.h>

struct points {
    long count;
    const float *at, *low, *high, *weight;
};

static uint64_t state;
static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}
static double draw_unit(void)
{
    return (double)(draw() >> 11) * 0x1p-53;
}
static float draw_neighbour(float x)
{
    return nextafterf(x, draw() & 1 ? INFINITY : -INFINITY);
}

/* Points outside their range, each with up to a half more by its distance. */
static double judge(const struct points *points, const float *c, long *outside)
{
    int count = 0;
    float distances = 0;
    for (long i = 0; i < points->count; i++) {
        const float x = points->at[i];
        float p = c[COUNT - 1];
        for (int k = COUNT - 2; k >= 0; k--)
            p = __builtin_fmaf(p, x, c[k]);
        const float below = points->low[i] - p, above = p - points->high[i];
        float distance = below > above ? below : above;
        distance = distance > 0 ? distance : 0;
        count += distance > 0;
        distance *= points->weight[i];
        distances += distance < 1 ? distance : 1;
    }
    *outside = count;
    return count + 0.5 * (double)distances;
}

/* follow[j][k]: what coefficient k < j adds when j moves by one. The first `fixed` coefficients
 * stay. c: the start, then the best found, lowest first. Returns how many points lie outside
 * then. */
long fit_search(long count, const float *at, const float *low, const float *high,
                const float *weight, const double follow[COUNT][COUNT], int fixed, float *c,
                uint64_t seed, long steps)
{
    const struct points points = {count, at, low, high, weight};
    float now[COUNT], next[COUNT];
    long outside, best_outside;
    double cost = judge(&points, c, &best_outside), best = cost;
    memcpy(now, c, sizeof now);
    state = seed * UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < 9; i++)
        draw();
    for (long step = 0; step < steps && best_outside > 0; step++) {
        const double round = fmod(4.0 * (double)step / (double)steps, 1),
                     temperature = 3 * pow(0.05, round);
        if (step % (steps / 4 + 1) == 0) {
            memcpy(now, c, sizeof now);
            cost = best;
        }
        memcpy(next, now, sizeof next);
        const int j = fixed + (int)(draw() % (uint64_t)(COUNT - fixed));
        if (draw() % 4 == 0) {
            for (int n = 1 + (int)(draw() % 2); n > 0; n--) {
                const int k = fixed + (int)(draw() % (uint64_t)(COUNT - fixed));
                next[k] = draw_neighbour(next[k]);
            }
        } else {
            const int width = j == fixed ? 2 : j < 3 ? 6 : 12;
            double moves[COUNT] = {0};
            moves[j] = ldexp(exp2(draw_unit() * width), ilogb((double)now[j]) - 23) *
                       (draw() & 1 ? 1 : -1);
            for (int k = fixed; k < j; k++)
                moves[k] = follow[j][k] * moves[j];
            for (int k = j; k >= fixed; k--) {
                const double wanted = (double)next[k] + moves[k];
                next[k] = (float)wanted;
                if (k < j && draw() % 8 == 0)
                    next[k] = draw_neighbour(next[k]);
                for (int l = fixed; l < k; l++)
                    moves[l] += follow[k][l] * ((double)next[k] - wanted);
            }
        }
        const double found = judge(&points, next, &outside);
        if (found <= cost || draw_unit() < exp((cost - found) / temperature)) {
            cost = found;
            memcpy(now, next, sizeof now);
        }
        if (found < best) {
            best = found;
            best_outside = outside;
            memcpy(c, next, sizeof next);
        }
    }
    return best_outside;
}
