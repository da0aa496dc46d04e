/* The loops of metrics.c over strips of elements, one instance for each instruction set; all give
 * the same bits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ulp_tensor;
struct ulp_double_pair;

/* Open strips of an output's four tensors stay in the first cache together. */
#define ULP_METRICS_STRIP 128

/* Elements as exact sums of doubles of falling size, at most 2^53 units of their last place each,
 * and as the nearest doubles. Where hard is not 0 there is nothing: a record, or a pair near the
 * ends of double. plain: the nearest doubles are the elements, and nothing else is filled. */
struct ulp_metrics_side {
    const struct ulp_tensor *tensor; /* NULL: the parts are all that there is */
    size_t first, count;
    bool plain;
    _Alignas(64) double nearest[ULP_METRICS_STRIP], high[ULP_METRICS_STRIP],
        middle[ULP_METRICS_STRIP];
    int64_t hard[ULP_METRICS_STRIP];
};

/* Of a strip. Maxima are patterns of doubles that are not negative, ordered as those are;
 * differences' magnitudes. */
struct ulp_metrics_summary {
    int64_t max_abs, max_value, max_base, max_rel, max_ulp, finite;
};

/* Factors, powers of two that bring the largest magnitudes near 1. */
struct ulp_metrics_scales {
    double value, base, difference;
};
/* Of scaled elements: differences, their squares, the squares of base and value, value times
 * base. */
struct ulp_metrics_sums {
    double d, d2, b2, v2, vb;
};
/* These on their way: of each, a sum of every eighth element for each remainder. So the order is
 * the same for every width of vectors. */
struct ulp_metrics_running {
    double lanes[5][8];
};

struct ulp_metrics_code {
    void (*open_pairs)(struct ulp_metrics_side *side, const struct ulp_double_pair *pairs,
                       size_t count);
    /* Differences rounded once, where undecided[i] is 0; whether that is everywhere. */
    bool (*subtract)(double *difference, int64_t *undecided, const struct ulp_metrics_side *a,
                     const struct ulp_metrics_side *b, size_t count);
    /* The same of doubles, finite or not, less b. */
    bool (*subtract_from_plain)(double *difference, int64_t *undecided, const double *a,
                                const struct ulp_metrics_side *b, size_t count);
    /* ulps[i] = |difference[i]| in units of the last place of base[i], in a format whose ulps and
     * their inverses are normal doubles; units false: in units of 1. -1 where a number is not
     * finite. A largest quotient of a difference by its base that is no more than known_rel need
     * not be found. */
    void (*compare)(struct ulp_metrics_summary *out, double *ulps, const double *value,
                    const double *base, const double *difference, size_t count, int64_t emin,
                    int64_t precision, bool units, double known_rel);
    /* Adds the elements; only the last call's count need not be a multiple of eight. The arrays
     * have room for one; what is behind count becomes 0, which changes no sum, for none is -0. */
    void (*sum)(struct ulp_metrics_running *running, double *value, double *base,
                double *difference, size_t count, const struct ulp_metrics_scales *by);
    /* Copies the values whose patterns lie in [least, beyond), 0 <= least, in order; their number.
     * out has room for count, and may be values. Those of the others that have a sign are added to
     * *negative, the rest of those below `least` to *below. */
    size_t (*gather)(double *out, const double *values, size_t count, int64_t least, int64_t beyond,
                     size_t *below, size_t *negative);
    /* x becomes its magnitudes; how many are finite. *max and *min, patterns of doubles, are raised
     * and lowered to the finite ones, *min to those that are not 0. */
    size_t (*magnitudes)(double *x, size_t count, int64_t *max, int64_t *min);
    void (*widen)(double *out, const float *x, size_t count);
};

/* The lanes added in pairs. */
struct ulp_metrics_sums ulp_metrics_add_up(const struct ulp_metrics_running *running);

/* The best instance for this processor. */
const struct ulp_metrics_code *ulp_metrics_code_find(void);
