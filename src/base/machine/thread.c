/* The pool. Each thread owns a part of a job's items, the same part in every job, so that its
 * caches still hold what it wrote; it takes chunks of that part, then of others' parts. The
 * failure of the lowest item is reported. The caller starts at once and waits only for workers
 * that joined: sleeping ones are woken when the remaining work is worth it, and may miss the job.
 */
#include "config.h"

#include "base/machine/thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <mpfr.h>

#include "base/memory/alloc.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "base/tuning.h"

/* Items [next, end) wait. On a cache line of its own. */
struct part {
    _Alignas(64) atomic_size_t next;
    size_t end;
};

struct job {
    ulp_work_fn *work;
    void *context;
    size_t count, grain;
    struct part *parts; /* the pool's */
    size_t part_count;
    /* SIZE_MAX: none; changes under the pool's lock, which guards the rest */
    atomic_size_t failed_first;
    atomic_size_t noted; /* by workers */
    struct ulp_error failed;
    enum ulp_status status;
};

struct ulp_pool {
    pid_t process;     /* threads are in this one alone */
    int thread_count;  /* of them there are, the caller included */
    int started_count; /* of them; the others start when they are first called */
    pthread_t *threads;
    struct part *parts;
    pthread_mutex_t lock; /* for those that go to sleep, start or fail */
    pthread_cond_t wake, done;
    struct job *job; /* for workers that joined */
    /* Which job this is, by number, whether it is too late to join it, and how many workers are at
     * it: one word, so that jobs are handed over without the lock. */
    _Atomic uint64_t gate;
    atomic_int sleeping; /* or about to */
    atomic_bool waits;   /* the caller, for the last worker's signal */
    atomic_bool stop;    /* from before the gate's last change on */
    bool spins;
    bool eager;
    double seen_saved; /* seconds that calls which were worth it would have saved */
    struct ulp_budget scratch;
};

struct worker {
    struct ulp_pool *pool;
    int number;
};

/* The pool whose job this thread is working on: nested calls run inline. */
static _Thread_local const struct ulp_pool *working;
static _Thread_local int working_number;

static _Thread_local size_t noted;

void ulp_note(size_t count)
{
    noted += count;
}

size_t ulp_notes_take(void)
{
    const size_t count = noted;
    noted = 0;
    return count;
}

static void record_failure(struct ulp_pool *pool, struct job *job, size_t first,
                           enum ulp_status status, const struct ulp_error *error)
{
    pthread_mutex_lock(&pool->lock);
    if (first < job->failed_first) {
        job->failed_first = first;
        job->failed = *error;
        job->status = status;
    }
    pthread_mutex_unlock(&pool->lock);
}

static size_t count_left(const struct part *part)
{
    const size_t next = atomic_load_explicit(&part->next, memory_order_relaxed);
    return next < part->end ? part->end - next : 0;
}

/* A chunk of one part of at most `most` items; false: none is left. */
static bool take_chunk(const struct job *job, struct part *part, size_t most, size_t *first,
                       size_t *last)
{
    const size_t left = count_left(part);
    size_t count = left / ULP_TUNE_CHUNK_SHARE < most ? left / ULP_TUNE_CHUNK_SHARE : most;
    if (left == 0)
        return false;
    if (count < job->grain)
        count = job->grain;
    *first = atomic_fetch_add(&part->next, count);
    *last = *first < part->end && part->end - *first > count ? *first + count : part->end;
    return *first < part->end;
}

/* After a failure only chunks before it still run, so that the lowest failure wins for any
 * timing. */
static bool work_on_chunk(struct ulp_pool *pool, struct job *job, int number, size_t most)
{
    size_t first = 0, last = 0;
    bool taken = false;
    for (size_t i = 0; i < job->part_count && !taken; i++)
        taken = take_chunk(job, &job->parts[((size_t)number + i) % job->part_count], most, &first,
                           &last);
    if (!taken)
        return false;
    struct ulp_error error = {0};
    if (first >= atomic_load_explicit(&job->failed_first, memory_order_relaxed))
        return true;
    enum ulp_status status = job->work(job->context, first, last, number, &error);
    if (status != ULP_OK)
        record_failure(pool, job, first, status, &error);
    return true;
}

static void work_on(struct ulp_pool *pool, struct job *job, int number)
{
    while (work_on_chunk(pool, job, number, SIZE_MAX))
        ;
}

enum { GATE_CLOSED = 1 << 15, GATE_WORKERS = GATE_CLOSED - 1, GATE_JOB = 1 << 16 };

/* The next node's work is often there before a thread would have come. */
#define SPIN_SECONDS (2 * ULP_TUNE_WAKE_SECONDS)

static void pause_processor(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static bool is_new(struct ulp_pool *pool, uint64_t seen)
{
    return atomic_load(&pool->gate) / GATE_JOB != seen;
}

static bool is_left(struct ulp_pool *pool)
{
    return (atomic_load(&pool->gate) & GATE_WORKERS) == 0;
}

/* Watch for a job other than the one seen, or for all workers to have left it, before going to
 * sleep. Not with more threads than processors: the one watched may need this processor. */
static void spin(struct ulp_pool *pool, bool for_job, uint64_t seen)
{
    if (!pool->spins)
        return;
    for (double end = ulp_seconds_now() + SPIN_SECONDS; ulp_seconds_now() < end;)
        for (int i = 0; i < 32; i++) {
            if (for_job ? is_new(pool, seen) : is_left(pool))
                return;
            pause_processor();
        }
}

/* The gate's number of a job other than the one seen. A caller that finds nobody asleep has changed
 * the gate before this looks at it again. */
static uint64_t wait_for_job(struct ulp_pool *pool, uint64_t seen)
{
    spin(pool, true, seen);
    if (!is_new(pool, seen)) {
        pthread_mutex_lock(&pool->lock);
        atomic_fetch_add(&pool->sleeping, 1);
        while (!is_new(pool, seen))
            pthread_cond_wait(&pool->wake, &pool->lock);
        atomic_fetch_sub(&pool->sleeping, 1);
        pthread_mutex_unlock(&pool->lock);
    }
    return atomic_load(&pool->gate) / GATE_JOB;
}

/* false: it is too late, or another job is there. */
static bool join_job(struct ulp_pool *pool, uint64_t number)
{
    uint64_t gate = atomic_load(&pool->gate);
    while (gate / GATE_JOB == number && !(gate & GATE_CLOSED))
        if (atomic_compare_exchange_weak(&pool->gate, &gate, gate + 1))
            return true;
    return false;
}

static void leave_job(struct ulp_pool *pool)
{
    if (((atomic_fetch_sub(&pool->gate, 1) - 1) & GATE_WORKERS) || !atomic_load(&pool->waits))
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->lock);
}

static void *run_worker(void *argument)
{
    struct worker worker = *(struct worker *)argument;
    struct ulp_pool *pool = worker.pool;
    ULP_ENTER_ENVIRONMENT; /* threads start with their creator's */
    free(argument);
    working = pool;
    working_number = worker.number;
    for (uint64_t seen = 0; !atomic_load(&pool->stop);) {
        seen = wait_for_job(pool, seen);
        if (join_job(pool, seen)) {
            work_on(pool, pool->job, worker.number);
            if (noted)
                atomic_fetch_add(&pool->job->noted, ulp_notes_take());
            leave_job(pool);
        }
    }
    mpfr_free_cache();
    return NULL;
}

/* Where the calling thread may run, as those that it starts. */
static int count_processors(void)
{
    long count = 0;
#ifdef HAVE_SCHED_GETAFFINITY
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        count = CPU_COUNT(&set);
#endif
    count = count ? count : sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 && count <= 1024 ? (int)count : 1;
}

static void free_pool(struct ulp_pool *pool)
{
    if (!pool)
        return;
    free(pool->threads);
    free(pool->parts);
    free(pool);
}

enum ulp_status ulp_pool_create(struct ulp_pool **out, int thread_count, struct ulp_error *error)
{
    *out = NULL;
    if (thread_count < 0 || thread_count > 1024)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%d threads: expected 0 (one per processor) to 1024", thread_count);
    struct ulp_pool *pool = calloc(1, sizeof *pool);
    const int processors = count_processors(), wanted = thread_count ? thread_count : processors;
    if (pool) {
        pool->threads = calloc((size_t)wanted, sizeof *pool->threads);
        pool->parts = aligned_alloc(_Alignof(struct part), (size_t)wanted * sizeof *pool->parts);
    }
    if (!pool || !pool->threads || !pool->parts) {
        free_pool(pool);
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for a pool of %d threads", wanted);
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->process = getpid();
    pool->thread_count = wanted;
    pool->started_count = 1;
    pool->gate = GATE_CLOSED;
    pool->spins = wanted <= processors;
    *out = pool;
    return ULP_OK;
}

static void wake_workers(struct ulp_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

static void end_workers(struct ulp_pool *pool)
{
    atomic_store(&pool->stop, true);
    atomic_fetch_add(&pool->gate, GATE_JOB);
    wake_workers(pool);
    for (int i = 1; i < pool->started_count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->done);
}

void ulp_pool_free(struct ulp_pool *pool)
{
    if (!pool)
        return;
    if (pool->process == getpid()) /* else one that is gone may hold the lock */
        end_workers(pool);
    free_pool(pool);
}

struct ulp_budget *ulp_pool_scratch(struct ulp_pool *pool)
{
    return pool ? &pool->scratch : NULL;
}

void ulp_pool_set_root(struct ulp_pool *pool, struct ulp_budget *root)
{
    ulp_budget_open(&pool->scratch, root);
}

int ulp_pool_thread_count(const struct ulp_pool *pool)
{
    return pool ? pool->thread_count : 1;
}

void ulp_pool_set_eager(struct ulp_pool *pool)
{
    pool->eager = true;
}

static enum ulp_status run_inline(size_t count, ulp_work_fn *work, void *context, int number,
                                  struct ulp_error *error)
{
    return count ? work(context, 0, count, number, error) : ULP_OK;
}

/* Workers outlive the calls of their pool's owner, who may wait for a signal meanwhile: they take
 * none but those of their own faults. */
static void block_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}

/* What the system does not start is done without: results do not depend on it. */
static void start_workers(struct ulp_pool *pool)
{
    sigset_t before;
    if (pool->started_count == pool->thread_count)
        return;
    block_signals(&before); /* a thread has its creator's */
    while (pool->started_count < pool->thread_count) {
        struct worker *worker = malloc(sizeof *worker);
        if (worker)
            *worker = (struct worker){.pool = pool, .number = pool->started_count};
        if (!worker ||
            pthread_create(&pool->threads[pool->started_count], NULL, run_worker, worker) != 0) {
            free(worker);
            pool->thread_count = pool->started_count;
        } else {
            pool->started_count++;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void call_workers(struct ulp_pool *pool)
{
    if (atomic_load(&pool->sleeping))
        wake_workers(pool);
    start_workers(pool);
}

/* Calling costs the caller some microseconds, starting threads and joining them in the end some
 * tens of them each: threads start when as much would have been saved by those not there. */

/* What sleeping workers would save of that much work. */
static double find_saved(const struct ulp_pool *pool, double seconds)
{
    return (seconds - ULP_TUNE_WAKE_SECONDS) * (pool->thread_count - 1) / pool->thread_count;
}

/* For work left of one job, before which the pool had seen `before` saved: a job counts once, as
 * much as it was at its most. */
static bool is_worth_calling(struct ulp_pool *pool, double seconds, double before)
{
    if (pool->eager)
        return true;
    const double saved = find_saved(pool, seconds);
    if (saved < ULP_TUNE_CALL_SECONDS)
        return false;
    if (pool->seen_saved < before + saved)
        pool->seen_saved = before + saved;
    return pool->started_count == pool->thread_count || pool->seen_saved >= ULP_TUNE_START_SECONDS;
}

/* The caller's work while others sleep: chunks of `most` items, until what is left, at the pace so
 * far, is worth calling them. */
static void work_alone(struct ulp_pool *pool, struct job *job)
{
    const double started = ulp_seconds_now(), seen = pool->seen_saved;
    const size_t even = job->count / (8 * (size_t)pool->thread_count),
                 most = even > job->grain ? even : job->grain;
    if (job->count / most < ULP_TUNE_WATCHED_CHUNKS_MIN) {
        double grains = (double)job->count / (double)job->grain;
        /* One item may be any amount of work. */
        if (job->grain == 1 ||
            is_worth_calling(pool, grains * 1e-9 * ULP_TUNE_GRAIN_NANOSECONDS, seen))
            call_workers(pool);
        return;
    }
    while (work_on_chunk(pool, job, 0, most)) {
        size_t left = 0;
        for (size_t i = 0; i < job->part_count; i++)
            left += count_left(&job->parts[i]);
        double pace = (ulp_seconds_now() - started) / (double)(job->count - left);
        if (is_worth_calling(pool, pace * (double)left, seen)) {
            call_workers(pool);
            return;
        }
    }
}

/* As many parts as threads, unless there are fewer grains. */
static void cut_parts(struct job *job, size_t thread_count)
{
    const size_t grains = job->count / job->grain;
    job->part_count = grains < thread_count ? grains : thread_count;
    const size_t each = job->count / job->part_count, more = job->count % job->part_count;
    size_t first = 0;
    for (size_t i = 0; i < job->part_count; i++) {
        atomic_init(&job->parts[i].next, first);
        job->parts[i].end = first += each + (i < more);
    }
}

static void wait_for_workers(struct ulp_pool *pool)
{
    spin(pool, false, 0);
    if (is_left(pool))
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->waits, true);
    while (!is_left(pool))
        pthread_cond_wait(&pool->done, &pool->lock);
    atomic_store(&pool->waits, false);
    pthread_mutex_unlock(&pool->lock);
}

enum ulp_status ulp_parallel_for(struct ulp_pool *pool, size_t count, size_t grain,
                                 ulp_work_fn *work, void *context, struct ulp_error *error)
{
    if (grain == 0 || (pool && pool->eager))
        grain = 1;
    /* a worker of another pool is the only one that this pool has here */
    const bool own = working && (!pool || pool == working);
    if (!pool || pool->thread_count == 1 || count <= grain || working)
        return run_inline(count, work, context, own ? working_number : 0, error);
    struct job job = {.work = work,
                      .context = context,
                      .count = count,
                      .grain = grain,
                      .parts = pool->parts,
                      .failed_first = SIZE_MAX};
    cut_parts(&job, (size_t)pool->thread_count);
    pool->job = &job;
    /* closed, without workers: the next job, open */
    atomic_fetch_add(&pool->gate, GATE_JOB - GATE_CLOSED);
    const bool alone = atomic_load(&pool->sleeping) || pool->started_count < pool->thread_count;
    working = pool;
    working_number = 0;
    if (alone)
        work_alone(pool, &job);
    work_on(pool, &job, 0);
    working = NULL;
    if (atomic_fetch_add(&pool->gate, GATE_CLOSED) & GATE_WORKERS)
        wait_for_workers(pool);
    ulp_note(job.noted);
    if (job.status != ULP_OK && error)
        *error = job.failed;
    return job.status;
}

int ulp_pool_threads_for(const struct ulp_pool *pool, double nanoseconds)
{
    return !pool || (!pool->eager && find_saved(pool, 1e-9 * nanoseconds) < ULP_TUNE_CALL_SECONDS)
               ? 1
               : pool->thread_count;
}
