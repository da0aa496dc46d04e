/* The pool: workers wait for a job, take chunks from an atomic cursor, and report the lowest failed item. */
#define _GNU_SOURCE
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <mpfr.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

struct job {
    ulp_work_fn *work;
    void *context;
    size_t count, chunk;
    atomic_size_t next;
    /* guarded by the pool's lock */
    size_t failed_first;
    struct ulp_error failed;
    enum ulp_status status;
};

struct ulp_pool {
    int thread_count; /* the caller included */
    pthread_t *threads;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    struct job *job;
    _Atomic uint64_t generation; /* changes under the lock, like busy; both are watched without it */
    atomic_int busy;             /* workers that have not finished the current generation */
    bool stop;
    bool spins;
    struct ulp_budget scratch;
};

struct worker {
    struct ulp_pool *pool;
    int number;
};

/* The pool whose job this thread is working on: nested calls run inline. */
static _Thread_local const struct ulp_pool *working;
static _Thread_local int working_number;

static void record_failure(struct ulp_pool *pool, struct job *job, size_t first, enum ulp_status status,
                           const struct ulp_error *error)
{
    pthread_mutex_lock(&pool->lock);
    if (job->status == ULP_OK || first < job->failed_first) {
        job->failed_first = first;
        job->failed = *error;
        job->status = status;
    }
    pthread_mutex_unlock(&pool->lock);
}

/* After a failure only chunks before it still run, so that the lowest failure wins for any timing. */
static bool worth_running(struct ulp_pool *pool, struct job *job, size_t first)
{
    pthread_mutex_lock(&pool->lock);
    bool worth = job->status == ULP_OK || first < job->failed_first;
    pthread_mutex_unlock(&pool->lock);
    return worth;
}

static void work_on(struct ulp_pool *pool, struct job *job, int number)
{
    const struct ulp_pool *outer = working;
    int outer_number = working_number;
    working = pool;
    working_number = number;
    for (size_t first; (first = atomic_fetch_add(&job->next, job->chunk)) < job->count;) {
        size_t last = job->count - first < job->chunk ? job->count : first + job->chunk;
        struct ulp_error error = {0};
        if (!worth_running(pool, job, first))
            continue;
        enum ulp_status status = job->work(job->context, first, last, number, &error);
        if (status != ULP_OK)
            record_failure(pool, job, first, status, &error);
    }
    working = outer;
    working_number = outer_number;
}

/* A wait shorter than this is cheaper watched than slept: the next node's work comes within microseconds. */
#define SPIN_SECONDS 20e-6

static void pause_processor(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Watch for a new generation, or for all workers to be done, before the caller sleeps. Not with more threads than processors: the
 * one watched may need this processor. */
static void spin(struct ulp_pool *pool, bool for_job, uint64_t seen)
{
    if (!pool->spins)
        return;
    for (double end = ulp_seconds_now() + SPIN_SECONDS; ulp_seconds_now() < end;)
        for (int i = 0; i < 32; i++) {
            if (for_job ? atomic_load_explicit(&pool->generation, memory_order_relaxed) != seen
                        : atomic_load_explicit(&pool->busy, memory_order_relaxed) == 0)
                return;
            pause_processor();
        }
}

static void *run_worker(void *argument)
{
    struct worker worker = *(struct worker *)argument;
    struct ulp_pool *pool = worker.pool;
    free(argument);
    uint64_t seen = 0;
    for (;;) {
        spin(pool, true, seen);
        pthread_mutex_lock(&pool->lock);
        while (!pool->stop && pool->generation == seen)
            pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->stop)
            break;
        seen = pool->generation;
        struct job *job = pool->job;
        pthread_mutex_unlock(&pool->lock);
        work_on(pool, job, worker.number);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    mpfr_free_cache();
    return NULL;
}

static int processor_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    return 1;
}

enum ulp_status ulp_pool_create(struct ulp_pool **out, int thread_count, struct ulp_error *error)
{
    *out = NULL;
    if (thread_count < 0 || thread_count > 1024)
        return ulp_fail(error, ULP_ERROR_USAGE, "%d threads: expected 0 (one per processor) to 1024", thread_count);
    struct ulp_pool *pool = calloc(1, sizeof *pool);
    int wanted = thread_count ? thread_count : processor_count();
    if (!pool || !(pool->threads = calloc((size_t)wanted, sizeof *pool->threads))) {
        free(pool);
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for a pool of %d threads", wanted);
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->thread_count = 1;
    pool->spins = wanted <= processor_count();
    pool->scratch.keeps_blocks = true;
    for (int i = 1; i < wanted; i++) {
        struct worker *worker = malloc(sizeof *worker);
        if (worker)
            *worker = (struct worker){.pool = pool, .number = i};
        if (!worker || pthread_create(&pool->threads[i], NULL, run_worker, worker) != 0) {
            free(worker);
            ulp_pool_free(pool);
            return ulp_fail(error, ULP_ERROR_MEMORY, "cannot start thread %d of %d", i + 1, wanted);
        }
        pool->thread_count = i + 1;
    }
    *out = pool;
    return ULP_OK;
}

void ulp_pool_free(struct ulp_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 1; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->done);
    ulp_budget_clear(&pool->scratch);
    free(pool->threads);
    free(pool);
}

struct ulp_budget *ulp_pool_scratch(struct ulp_pool *pool)
{
    return pool ? &pool->scratch : NULL;
}

int ulp_pool_thread_count(const struct ulp_pool *pool)
{
    return pool ? pool->thread_count : 1;
}

static enum ulp_status run_inline(size_t count, ulp_work_fn *work, void *context, int number, struct ulp_error *error)
{
    return count ? work(context, 0, count, number, error) : ULP_OK;
}

enum ulp_status ulp_parallel_for(struct ulp_pool *pool, size_t count, size_t grain, ulp_work_fn *work, void *context,
                                 struct ulp_error *error)
{
    if (grain == 0)
        grain = 1;
    if (!pool || pool->thread_count == 1 || count <= grain || working)
        return run_inline(count, work, context, working ? working_number : 0, error);
    /* Eight chunks a thread even out unequal work; results do not depend on where the cuts are. */
    size_t chunk = count / ((size_t)pool->thread_count * 8);
    if (chunk < grain)
        chunk = grain;
    struct job job = {.work = work, .context = context, .count = count, .chunk = chunk};
    pthread_mutex_lock(&pool->lock);
    pool->job = &job;
    pool->generation++;
    pool->busy = pool->thread_count - 1;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    work_on(pool, &job, 0);
    spin(pool, false, 0);
    pthread_mutex_lock(&pool->lock);
    while (pool->busy)
        pthread_cond_wait(&pool->done, &pool->lock);
    pool->job = NULL;
    pthread_mutex_unlock(&pool->lock);
    if (job.status != ULP_OK && error)
        *error = job.failed;
    return job.status;
}
