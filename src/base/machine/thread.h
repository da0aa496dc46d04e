/* A fixed pool of threads that splits independent work. Results never depend on the thread count:
 * only outputs are split, never sums. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <ulpscope/status.h>

#include "base/error.h"
#include "base/tuning.h"

struct ulp_pool;
struct ulp_budget;

/* thread_count 0: as many as the machine has processors available to this process. */
enum ulp_status ulp_pool_create(struct ulp_pool **out, int thread_count, struct ulp_error *error);
void ulp_pool_free(struct ulp_pool *pool);
ULP_FREES(ulp_pool_free, struct ulp_pool)
int ulp_pool_thread_count(const struct ulp_pool *pool);
/* For tests: hand over any work, in grains of one item. */
void ulp_pool_set_eager(struct ulp_pool *pool);
/* The budget to charge scratch memory to. NULL for no pool. What is charged to it is freed before
 * the pool. */
struct ulp_budget *ulp_pool_scratch(struct ulp_pool *pool);
/* Put that budget below a root, before anything is charged to it. */
void ulp_pool_set_root(struct ulp_pool *pool, struct ulp_budget *root);

/* Work on items [first, last); worker is 0 .. thread_count - 1 and stable during the call, for
 * per-worker scratch. Returns a status; the error of the lowest item that failed is kept. */
typedef enum ulp_status ulp_work_fn(void *context, size_t first, size_t last, int worker,
                                    struct ulp_error *error);
/* The head of such a function, static, which uses of it what it needs. */
#define ULP_WORK(name)                                                    \
    static enum ulp_status name(void *context, size_t first, size_t last, \
                                __attribute__((unused)) int worker,       \
                                __attribute__((unused)) struct ulp_error *error)

/* The grain for items that take so many nanoseconds: about ULP_TUNE_GRAIN_NANOSECONDS of work,
 * since to hand over less takes longer than to do it. At least 1. */
static inline size_t ulp_grain(double item_nanoseconds)
{
    double grain = ULP_TUNE_GRAIN_NANOSECONDS / item_nanoseconds;
    return grain >= 1e9 ? 1000000000 : grain >= 1 ? (size_t)grain : 1;
}
/* Splits [0, count) into chunks of `grain` items or more (the last of a part may be shorter) and
 * runs them on the pool, the caller working too; each thread begins in its own part, the first
 * thread with the first items. pool NULL: runs in the caller. Calls from inside a worker run in
 * that worker, with a pool of its own as worker 0; otherwise one thread at a time may call with a
 * pool. */
enum ulp_status ulp_parallel_for(struct ulp_pool *pool, size_t count, size_t grain,
                                 ulp_work_fn *work, void *context, struct ulp_error *error);

/* What the calling thread, and those that worked for its calls of ulp_parallel_for, noted since it
 * last asked: a count that work hands up beside its status. */
void ulp_note(size_t count);
size_t ulp_notes_take(void);

/* For work that costs something to split: into how many parts, all of the pool's threads or 1. */
int ulp_pool_threads_for(const struct ulp_pool *pool, double nanoseconds);
