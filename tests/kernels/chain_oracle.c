/* The oracle of scalar chains: each product and sum as an exact MPFR value, rounded once where the
 * arithmetic rounds, in its order of summation. See chain_oracle.h. */
#include "chain_oracle.h"

#include <mpfr.h>
#include <stdlib.h>

#include "kernels/chain/step.h"
#include "number/round/round.h"

/* Exact for every sum of two products of doubles: exponents from -2148 to 2048. */
#define EXACT_BITS 4300

struct oracle {
    const struct ulp_arithmetic *arithmetic;
    const double *x, *y;
    uint64_t stream, output;
    mpfr_t exact, other, rounded;
};

static double round_once(struct oracle *o, const struct ulp_format *format, uint64_t number)
{
    ulp_round_mpfr(format, o->arithmetic->rounding, o->rounded, o->exact, o->arithmetic->seed,
                   o->stream + number, o->output);
    return mpfr_get_d(o->rounded, MPFR_RNDN);
}

static double multiply(struct oracle *o, size_t k)
{
    mpfr_set_d(o->exact, o->x[k], MPFR_RNDN);
    mpfr_mul_d(o->exact, o->exact, o->y[k], MPFR_RNDN);
    return round_once(o, &o->arithmetic->compute, k * ULP_DRAWS + ULP_DRAW_PRODUCT);
}

static double add(struct oracle *o, const struct ulp_format *format, double a, double b,
                  uint64_t number)
{
    mpfr_set_d(o->exact, a, MPFR_RNDN);
    mpfr_add_d(o->exact, o->exact, b, MPFR_RNDN);
    return round_once(o, format, number);
}

static double fuse(struct oracle *o, double sum, size_t k)
{
    mpfr_set_d(o->other, sum, MPFR_RNDN);
    mpfr_set_d(o->exact, o->x[k], MPFR_RNDN);
    mpfr_mul_d(o->exact, o->exact, o->y[k], MPFR_RNDN);
    mpfr_add(o->exact, o->exact, o->other, MPFR_RNDN);
    return round_once(o, &o->arithmetic->accumulator, k * ULP_DRAWS + ULP_DRAW_SUM);
}

static double sum_chain(struct oracle *o, size_t first, size_t last)
{
    const struct ulp_arithmetic *arithmetic = o->arithmetic;
    double sum = 0;
    for (size_t k = first; k < last; k++)
        sum = arithmetic->schedule.fused ? fuse(o, sum, k)
                                         : add(o, &arithmetic->accumulator, sum, multiply(o, k),
                                               k * ULP_DRAWS + ULP_DRAW_SUM);
    return sum;
}

static double sum_pairwise(struct oracle *o, size_t first, size_t last)
{
    size_t count = last - first;
    double *level = malloc((count + 1) * sizeof *level), sum;
    for (size_t k = 0; k < count; k++)
        level[k] = multiply(o, first + k);
    for (; count > 1; count = count / 2 + count % 2)
        for (size_t i = 0; i < count; i += 2)
            level[i / 2] = i + 1 < count
                               ? add(o, &o->arithmetic->accumulator, level[i], level[i + 1], 0)
                               : level[i];
    sum = last > first ? level[0] : 0;
    free(level);
    return sum;
}

/* Segments of `length`, their sums added in order in `format`. depth 2: slices; 1: promotion; 0:
 * blocks. */
static double sum_segments(struct oracle *o, int depth, size_t first, size_t last)
{
    const struct ulp_arithmetic *a = o->arithmetic;
    struct ulp_format fp32;
    ulp_format_find("fp32", &fp32, NULL);
    if (depth < 0)
        return a->order == ULP_ORDER_PAIRWISE ? sum_pairwise(o, first, last)
                                              : sum_chain(o, first, last);
    size_t split = (size_t)a->schedule.split_k, count = last - first;
    size_t length = depth == 2   ? (split > 1 ? (count + split - 1) / split : 0)
                    : depth == 1 ? (size_t)a->schedule.promote
                                 : (a->order == ULP_ORDER_BLOCKED ? (size_t)a->order_block : 0);
    if (length == 0)
        length = count ? count : 1;
    bool narrow = ulp_format_holds(&fp32, &a->accumulator);
    bool promoted =
        a->schedule.promote > 0 && (size_t)a->schedule.promote < (split > 1 ? length : count);
    const struct ulp_format *format = depth == 0 || !narrow ? &a->accumulator
                                      : depth == 2 && a->place == ULP_ROUND_EACH_STEP && !promoted
                                          ? &a->accumulator
                                          : &fp32;
    double sum = 0;
    for (size_t k = first; k < last; k += length) {
        double part = sum_segments(o, depth - 1, k, last - k < length ? last : k + length);
        sum = k == first ? part : add(o, format, sum, part, 0);
    }
    return sum;
}

double chain_oracle(const struct ulp_arithmetic *arithmetic, const double *x, const double *y,
                    size_t count, uint64_t stream, uint64_t output)
{
    struct oracle o = {
        .arithmetic = arithmetic, .x = x, .y = y, .stream = stream, .output = output};
    mpfr_inits2(EXACT_BITS, o.exact, o.other, (mpfr_ptr)0);
    mpfr_init2(o.rounded, EXACT_BITS);
    double sum = sum_segments(&o, 2, 0, count);
    mpfr_clears(o.exact, o.other, o.rounded, (mpfr_ptr)0);
    return sum;
}
