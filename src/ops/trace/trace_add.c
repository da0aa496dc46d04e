/* The passes over numbers and cotangents that only add and multiply, on all threads. */
#include "base/machine/thread.h"
#include "ops/trace/trace.h"

struct pass {
    double *to, weight;
    const double *from, *by;
    bool add;
};

ULP_WORK(pass_range)
{
    const struct pass *job = context;
    const double *from = job->from, *by = job->by, weight = job->weight;
    double *to = job->to;
    for (size_t i = first; i < last && by && job->add; i++)
        to[i] += by[i] * from[i];
    for (size_t i = first; i < last && by && !job->add; i++)
        to[i] = by[i] * from[i];
    for (size_t i = first; i < last && !by && job->add; i++)
        to[i] += weight * from[i];
    for (size_t i = first; i < last && !by && !job->add; i++)
        to[i] = weight * from[i];
    return ULP_OK;
}

static void run_pass(struct ulp_pool *pool, struct pass *job, size_t count)
{
    struct ulp_error error; /* none fails */
    ulp_parallel_for(pool, count, ulp_grain(1), pass_range, job, &error);
}

void ulp_add_weighted(struct ulp_pool *pool, double *to, bool add, double weight,
                      const double *from, size_t count)
{
    run_pass(pool, &(struct pass){.to = to, .weight = weight, .from = from, .add = add}, count);
}

void ulp_add_products(struct ulp_pool *pool, double *to, bool add, const double *by,
                      const double *from, size_t count)
{
    run_pass(pool, &(struct pass){.to = to, .by = by, .from = from, .add = add}, count);
}
