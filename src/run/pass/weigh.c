#include "run/pass/weigh.h"

#include <float.h>
#include <math.h>

#include "base/memory/alloc.h"

/* The least number that lets many threads work; their sums are added one after the other. */
#define PARTS 64

struct weighing {
    ulp_weigh_fn *part;
    const void *context;
    size_t count, length;
    double sums[PARTS];
};

ULP_WORK(weigh_parts)
{
    struct weighing *job = context;
    for (size_t p = first; p < last; p++)
        job->sums[p] = job->part(job->context, p * job->length,
                                 ulp_size_min((p + 1) * job->length, job->count));
    return ULP_OK;
}

double ulp_weigh(struct ulp_pool *pool, size_t count, ulp_weigh_fn *part, const void *context)
{
    const size_t length =
        ulp_size_round_up(ulp_size_divide_up(count ? count : 1, PARTS), ULP_WEIGH_STEP);
    struct weighing job = {.part = part, .context = context, .count = count, .length = length};
    const size_t parts = ulp_size_divide_up(count, length);
    double sum = 0;
    /* none fails */
    ulp_parallel_for(pool, parts, ulp_grain((double)length), weigh_parts, &job, NULL);
    for (size_t p = 0; p < parts; p++)
        sum += job.sums[p];
    return sum;
}

struct factors {
    const double *a;
    const float *b, *less; /* less: twice what b is too large by */
};

static double square_finite(double product)
{
    return fabs(product) <= DBL_MAX ? product * product : 0;
}

#define WHOLE(f, i) (double)(f)->b[i]
#define MIDDLE(f, i) ((double)(f)->b[i] - (double)(f)->less[i] / 2)

/* The sum of the terms that products make. */
#define ADDS(name, term, factor)                                       \
    static double name(const void *context, size_t first, size_t last) \
    {                                                                  \
        const struct factors *f = context;                             \
        double sums[8] = {0};                                          \
        size_t i = first;                                              \
        for (; i + 8 <= last; i += 8)                                  \
            for (size_t j = 0; j < 8; j++)                             \
                sums[j] += term(f->a[i + j] * factor(f, i + j));       \
        for (size_t j = 0; i < last; i++, j++)                         \
            sums[j] += term(f->a[i] * factor(f, i));                   \
        return ulp_weigh_eight(sums);                                  \
    }
ADDS(add_products, , WHOLE)
ADDS(add_magnitudes, fabs, WHOLE)
ADDS(add_squares, square_finite, MIDDLE)

double ulp_weigh_errors(struct ulp_pool *pool, const double *cotangents, const float *errors,
                        size_t count)
{
    const struct factors factors = {cotangents, errors, NULL};
    return cotangents && errors ? ulp_weigh(pool, count, add_products, &factors) : 0;
}

double ulp_weigh_magnitudes(struct ulp_pool *pool, const double *cotangents, const float *errors,
                            size_t count)
{
    const struct factors factors = {cotangents, errors, NULL};
    return ulp_weigh(pool, count, add_magnitudes, &factors);
}

double ulp_weigh_squares(struct ulp_pool *pool, const double *cotangents, const float *values,
                         const float *errors, size_t count)
{
    const struct factors factors = {cotangents, values, errors};
    return cotangents && values ? ulp_weigh(pool, count, add_squares, &factors) : 0;
}
