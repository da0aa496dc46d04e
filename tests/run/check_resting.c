/* run: threads that stay with programs: they serve the next run, are bounded over all programs of a
 * process, and a process that has forked has its own. */
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/carried.h"

TEST(a_pool_is_found_again)
{
    struct ulp_pool *pools[3];
    struct ulp_carried *kept;
    struct ulp_error error;
    ck_ok(ulp_carried_create(&kept, NULL, &why));
    for (int i = 0; i < 2; i++) /* two runs at once */
        ck_ok(ulp_carried_take_pool(kept, 2, &pools[i], &why));
    ck_assert_ptr_ne(pools[0], pools[1]);
    for (int i = 0; i < 2; i++)
        ulp_carried_return_pool(kept, pools[i]);
    ck_ok(ulp_carried_take_pool(kept, 2, &pools[2], &why));
    ck_assert_ptr_eq(pools[2], pools[1]);
    ulp_carried_return_pool(kept, pools[2]);
    ck_ok(ulp_carried_take_pool(kept, 3, &pools[0], &why));
    ck_assert_int_eq(ulp_pool_thread_count(pools[0]), 3);
    ulp_carried_return_pool(kept, pools[0]);
    ck_assert_int_eq(ulp_carried_take_pool(kept, -1, &pools[0], &error), ULP_ERROR_USAGE);
    ck_assert_ptr_null(pools[0]);
    ulp_carried_free(kept);
}

static enum ulp_status work_none(void *context, size_t first, size_t last, int worker,
                                 struct ulp_error *error)
{
    (void)context, (void)first, (void)last, (void)worker, (void)error;
    return ULP_OK;
}

/* A run that starts all of its threads; *kept is made where it is NULL. */
static void run_threads(struct ulp_carried **kept, int count)
{
    struct ulp_pool *pool;
    if (!*kept)
        ck_ok(ulp_carried_create(kept, NULL, &why));
    ck_ok(ulp_carried_take_pool(*kept, count, &pool, &why));
    ulp_pool_set_eager(pool);
    ck_ok(ulp_parallel_for(pool, (size_t)count, 1, work_none, NULL, &why));
    ulp_carried_return_pool(*kept, pool);
}

/* A sanitizer's own threads. */
static size_t others;

/* Of this process; threads that were joined are gone a moment later. */
static size_t count_threads(size_t expected)
{
    size_t count = 0;
    for (int turn = 0; turn < 1000 && count != expected; turn++) {
        DIR *tasks = opendir("/proc/self/task");
        ck_assert_ptr_nonnull(tasks);
        count = 0;
        for (const struct dirent *entry; (entry = readdir(tasks));)
            count += *entry->d_name != '.';
        closedir(tasks);
        count -= others;
        usleep(count == expected ? 0 : 2000);
    }
    return count;
}

enum { PLANS = 30, THREADS = 16, RESTING = ULP_TUNE_RESTING_THREADS / (THREADS - 1) };

static void find_others(void)
{
    others = 0;
    others = count_threads(1) - 1;
}

/* 17 pools of 15 threads beside their callers are within 256. */
TEST(resting_threads_have_a_bound)
{
    struct ulp_carried *kept[PLANS] = {NULL}, *more = NULL;
    const size_t most = RESTING * (THREADS - 1) + 1;
    int status = -1;
    if (access("/proc/self/task", R_OK) != 0)
        return;
    find_others();
    for (int turn = 0; turn < 2; turn++) /* what is taken is counted no more */
        for (int i = 0; i < PLANS; i++)
            run_threads(&kept[i], THREADS);
    ck_assert_uint_eq(count_threads(most), most);
    run_threads(&kept[0], 2); /* in place of 16 */
    ck_assert_uint_eq(count_threads(most - 14), most - 14);
    run_threads(&kept[PLANS - 1], 15);
    ck_assert_uint_eq(count_threads(most), most);
    const pid_t child = fork();
    if (child == 0) { /* which has none of them */
        find_others();
        for (int i = 0; i < PLANS; i++)
            run_threads(&kept[i], i ? THREADS : 1);
        const size_t own = count_threads(most);
        for (int i = 0; i < PLANS; i++)
            ulp_carried_free(kept[i]);
        _exit(own == most && count_threads(1) == 1 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    for (int i = 0; i < PLANS; i++)
        ulp_carried_free(kept[i]);
    ck_assert_uint_eq(count_threads(1), 1);
    run_threads(&more, ULP_TUNE_RESTING_THREADS + 2); /* alone it rests */
    ck_assert_uint_eq(count_threads(ULP_TUNE_RESTING_THREADS + 2), ULP_TUNE_RESTING_THREADS + 2);
    ulp_carried_free(more);
}

static unsigned long long hash_run(const struct ulp_program *program,
                                   const struct ulp_tensor_set *inputs)
{
    const struct ulp_run_options options = {.thread_count = 3};
    scoped_tensor_set outputs = {0};
    ck_ok(ulp_program_run(program, inputs, &options, NULL, 0, &outputs, NULL, &why));
    const struct ulp_tensor *y = &outputs.items[0].tensor;
    const unsigned long long hash = ulp_hash(y->data, y->count * y->element_bytes);
    return hash;
}

/* As Python's multiprocessing does; the program is freed there, too. */
TEST(a_child_runs_what_its_parent_ran)
{
    scoped_model *model = onnx_text_load(
        13, "(float[300,300] x) => (float[300,300] y) { a = MatMul(x, x)\n y = MatMul(a, a) }");
    const int64_t dims[] = {300, 300};
    scoped_tensor_set inputs = {0};
    struct ulp_tensor x;
    int status = -1;
    ck_ok(ulp_tensor_create(&x, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, dims, &why));
    for (size_t i = 0; i < x.count; i++)
        ((float *)x.data)[i] = (float)(i % 997) / 1000;
    ck_ok(ulp_tensor_set_add(&inputs, "x", &x, &why));
    struct ulp_program *program = test_plan(model, &inputs, "mpfr:128");
    const bool counts = access("/proc/self/task", R_OK) == 0;
    if (counts)
        find_others();
    const unsigned long long hash = hash_run(program, &inputs);
    if (counts)
        ck_assert_uint_eq(count_threads(3), 3);
    const pid_t child = fork();
    if (child == 0) {
        const bool same = hash_run(program, &inputs) == hash && hash_run(program, &inputs) == hash;
        ulp_program_free(program);
        _exit(same ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert(hash_run(program, &inputs) == hash);
    ulp_program_free(program);
}

TEST_SUITE("resting threads", 60)
