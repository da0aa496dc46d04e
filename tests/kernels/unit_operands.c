#include "unit_operands.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "number/round/round.h"

uint64_t draw(uint64_t *state)
{
    return ulp_random_bits(17, (*state)++);
}

static double draw_bits(const struct ulp_format *format, uint64_t *state)
{
    const bool tf32 = strcmp(format->name, "tf32") == 0;
    const uint64_t bits = draw(state);
    if (!tf32)
        return ulp_format_decode(format, (uint32_t)(bits >> (64 - format->storage_bits)));
    const uint32_t pattern = (uint32_t)(bits >> 32) & 0xFFFFE000;
    float x;
    memcpy(&x, &pattern, sizeof x);
    return x;
}

double draw_finite(const struct ulp_format *format, uint64_t *state)
{
    double x;
    do
        x = draw_bits(format, state);
    while (!isfinite(x));
    return x;
}

static double draw_scaled(const struct ulp_format *format, uint64_t *state, int low, int high)
{
    const double significand = 1 + ulp_random_uniform(18, (*state)++);
    const int exponent = low + (int)(draw(state) % (uint64_t)(high - low + 1));
    const double x = ldexp(draw(state) & 1 ? significand : -significand, exponent);
    return ulp_format_round(format, ULP_ROUND_TOWARD_ZERO, x, 0, 0);
}

static double draw_edge(const struct ulp_format *format, uint64_t *state)
{
    const double least = ldexp(1, format->emin - format->precision + 1),
                 normal = ldexp(1, format->emin);
    const double values[] = {0,
                             least,
                             normal - least,
                             normal,
                             normal + least,
                             1,
                             1 + ldexp(1, 1 - format->precision),
                             2 - ldexp(1, 1 - format->precision),
                             format->max_finite,
                             format->max_finite / 2,
                             INFINITY,
                             NAN};
    const size_t count = sizeof values / sizeof values[0];
    double x = values[draw(state) % (draw(state) % 4 ? count - 2 : count)];
    if (isinf(x) && format->overflow != ULP_OVERFLOW_INFINITY)
        x = NAN;
    return draw(state) & 1 ? -x : x;
}

/* An infinity of either sign (a format without them: NaN), or, once in 8, NaN. */
static double draw_special(const struct ulp_format *format, uint64_t *state)
{
    if (draw(state) % 8 == 0 || format->overflow != ULP_OVERFLOW_INFINITY)
        return NAN;
    return draw(state) % 2 ? INFINITY : -INFINITY;
}

/* Element k of a line; side 0 for a, 1 for b. */
static double draw_operand(const struct ulp_format *format, enum regime regime, int side, size_t k,
                           uint64_t *state)
{
    const int lowest = format->emin / 2 - 30 > format->emin ? format->emin / 2 - 30 : format->emin;
    switch (regime) {
    case ANY_BITS: return draw_bits(format, state);
    case FINITE_BITS: return draw_finite(format, state);
    case SPARSE:
        return draw(state) % 3 ? (draw(state) & 1 ? -0.0 : 0.0) : draw_finite(format, state);
    case SUBNORMAL:
        return draw_scaled(format, state, format->emin - format->precision + 1, format->emin + 3);
    case LARGE: return draw_scaled(format, state, format->emax - 5, format->emax);
    case EDGES: return draw_edge(format, state);
    case DOMINANT: return draw_scaled(format, state, k == 5 && side ? 3 : -9, k == 5 ? 4 : -2);
    case FULL: return 2 - ldexp(1, 1 - format->precision);
    case RARE:
        return draw(state) % 500 ? draw_scaled(format, state, -6, 1) : draw_special(format, state);
    case SOME:
        return draw(state) % 100 ? draw_scaled(format, state, -6, 1) : draw_special(format, state);
    case HALF:
        return draw(state) % 2   ? draw_special(format, state)
               : draw(state) % 4 ? draw_scaled(format, state, -6, 1)
                                 : copysign(0, (double)(draw(state) % 2) - 0.5);
    case DEEP:
        return draw(state) % 4 ? draw_scaled(format, state, lowest, format->emin / 2 + 10)
                               : draw_scaled(format, state, format->emin, 0);
    default: return draw_scaled(format, state, -6, 1);
    }
}

void draw_line(float *line, const struct ulp_format *format, enum regime regime, int side,
               size_t k_count, uint64_t *state)
{
    for (size_t k = 0; k < k_count; k++) {
        line[k] = (float)draw_operand(format, regime, side, k, state);
        /* a alike, b opposite; now and then one of them differs */
        if (regime == CANCELLING && k % 2)
            line[k] = draw(state) % 8 ? (side ? -line[k - 1] : line[k - 1]) : line[k];
    }
    const double special = draw_special(format, state);
    const bool filled = regime == INFINITE_LINES && draw(state) % 4 == 0;
    for (size_t k = 0; filled && k < k_count; k += 1 + draw(state) % 8 / 7)
        line[k] = (float)special;
    for (size_t k = 0; regime == FULL && draw(state) % 2 && k < k_count; k++)
        line[k] = -line[k];
}

float draw_accumulator(const struct ulp_unit *unit, enum regime regime, uint64_t *state)
{
    struct ulp_format format;
    ulp_format_find(ulp_unit_accumulator_bits(unit) == 16 ? "fp16" : "fp32", &format, NULL);
    if (regime == FULL && draw(state) % 2)
        return (float)(draw(state) % 2 ? 2 - ldexp(1, 1 - format.precision)
                                       : ldexp(1, 1 - format.precision) - 2);
    switch (draw(state) % 4) {
    case 0: return 0;
    case 1: return (float)draw_operand(&format, regime == LARGE ? LARGE : EDGES, 0, 0, state);
    case 2:
        return (float)(regime == ANY_BITS ? draw_bits(&format, state)
                                          : draw_finite(&format, state));
    default: return (float)draw_scaled(&format, state, -12, 6);
    }
}
