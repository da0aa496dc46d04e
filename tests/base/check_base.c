/* base: allocation budgets, arena, threads, random streams, text, files. */
#define _GNU_SOURCE
#include "tests/support/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/machine/available.h"
#include "base/machine/file.h"
#include "base/machine/sha256.h"

TEST(budget_is_charged_and_returned)
{
    struct ulp_budget budget = {.limit_bytes = 1000};
    struct ulp_error error;
    void *a, *b;
    ck_ok(ulp_allocate(&a, 100, 4, &budget, "a", &why));
    ck_assert_uint_eq((uintptr_t)a % 64, 0);
    ck_fails(ULP_ERROR_MEMORY, "tensor 'b'",
             ulp_allocate(&b, 1000, 1, &budget, "tensor 'b'", &why));
    ulp_free(a);
    ck_assert_uint_eq(budget.used_bytes, 0);
    ck_assert_uint_ge(budget.peak_bytes, 400);
    ck_assert_int_eq(ulp_allocate(&b, SIZE_MAX / 2, 4, NULL, "huge", &error), ULP_ERROR_MEMORY);
}

/* The message is written after several requests, where the last may have come through. */
TEST(the_limit_that_refused_is_named)
{
    struct ulp_budget budget = {.limit_bytes = 200000};
    scoped_arena *arena = NULL;
    struct ulp_error error;
    ck_ok(ulp_arena_create(&arena, &budget, &why));
    const void *large = ulp_arena_take(arena, 1, 1 << 20),
               *small = ulp_arena_take(arena, 1, 100000);
    ck_assert(!large && small);
    ck_assert_int_eq(ulp_taken(large && small, &error), ULP_ERROR_MEMORY);
    ck_assert_msg(strstr(error.message, "the memory limit of 0.1907 MiB is reached (0 in use, 1") &&
                      strstr(error.message, " asked for); raise --max-memory"),
                  "%s", error.message);
    /* a request as large: that refusal is past */
    budget.limit_bytes = 0;
    ck_assert_ptr_nonnull(ulp_arena_take(arena, 1, 2 << 20));
    ck_assert_int_eq(ulp_taken(false, &error), ULP_ERROR_MEMORY);
    ck_assert_str_eq(error.message, "out of memory");
}

/* root/path with that text, folders made on the way. */
static void write_under(const char *root, const char *path, const char *text)
{
    char whole[400];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

TEST(available_memory_is_the_least_of_all_limits)
{
    char root[] = "/tmp/ulpscope-available-XXXXXX", command[80];
    ck_assert_ptr_nonnull(mkdtemp(root));
    ck_assert_uint_eq(ulp_memory_available_under(root), 0);
    write_under(root, "/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    5000 kB\n");
    ck_assert_uint_eq(ulp_memory_available_under(root), 5000 * 1024);
    /* version 2: a group without a limit below one with, whose pages of files can go */
    write_under(root, "/proc/self/cgroup", "1:cpu,memory:/old\n0::/outer/inner\n");
    write_under(root, "/sys/fs/cgroup/outer/inner/memory.max", "max\n");
    write_under(root, "/sys/fs/cgroup/outer/inner/memory.current", "100\n");
    ck_assert_uint_eq(ulp_memory_available_under(root), 5000 * 1024);
    write_under(root, "/sys/fs/cgroup/outer/memory.max", "3000000\n");
    write_under(root, "/sys/fs/cgroup/outer/memory.current", "2500000\n");
    ck_assert_uint_eq(ulp_memory_available_under(root), 500000);
    write_under(root, "/sys/fs/cgroup/outer/memory.stat", "anon 7\ninactive_file 400000\n");
    ck_assert_uint_eq(ulp_memory_available_under(root), 900000);
    /* version 1 */
    write_under(root, "/sys/fs/cgroup/memory/old/memory.limit_in_bytes", "800000\n");
    write_under(root, "/sys/fs/cgroup/memory/old/memory.usage_in_bytes", "50000\n");
    ck_assert_uint_eq(ulp_memory_available_under(root), 750000);
    /* more than the limit is in use */
    write_under(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "800000\n");
    write_under(root, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "900000\n");
    ck_assert_uint_eq(ulp_memory_available_under(root), 1);
    snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}

/* A large block is the system's again once it is freed and not kept: mincore knows no such page. */
TEST(large_blocks_are_given_back)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)40 << 20;
    struct ulp_budget budget = {0};
    char *block;
    ck_ok(ulp_allocate((void **)&block, bytes, 1, &budget, "block", &why));
    ck_assert_uint_eq((uintptr_t)block % 64, 0);
    block[0] = block[bytes - 1] = 1;
    char *const inside = block + bytes / 2 - (uintptr_t)(block + bytes / 2) % page;
    unsigned char there;
    ck_assert_int_eq(mincore(inside, page, &there), 0);
    ulp_free(block);
#ifndef __SANITIZE_ADDRESS__
    ck_assert_int_eq(mincore(inside, page, &there), -1);
    ck_assert_int_eq(errno, ENOMEM);
#endif
    ck_assert_uint_eq(budget.used_bytes, 0);
}

TEST(arena_blocks_are_zero_and_aligned)
{
    scoped_arena *arena = NULL;
    ck_ok(ulp_arena_create(&arena, NULL, &why));
    for (size_t i = 1; i < 3000; i += 7) {
        unsigned char *block = ulp_arena_take(arena, i, 3);
        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq((uintptr_t)block % 16, 0);
        for (size_t j = 0; j < 3 * i; j++)
            ck_expect(block[j] == 0, "byte %zu of block %zu", j, i);
        memset(block, 0xff, 3 * i);
    }
    ck_assert_ptr_null(ulp_arena_take(arena, SIZE_MAX / 2, 3));
    ck_assert_str_eq(ulp_arena_text(arena, "abcdef", 3), "abc");
}

ULP_WORK(mark)
{
    for (size_t i = first; i < last; i++)
        ((unsigned char *)context)[i]++;
    if (first <= 777 && 777 < last)
        return ulp_fail(error, ULP_ERROR_INPUT, "at 777");
    if (last > 900)
        return ulp_fail(error, ULP_ERROR_USAGE, "late");
    return ULP_OK;
}

TEST(every_item_once_and_the_lowest_failure_wins)
{
    static const size_t grains[] = {1, 7, 64};
    struct ulp_error error;
    for (int threads = 1; threads <= 7; threads += 3) {
        scoped_pool *pool = NULL;
        ck_ok(ulp_pool_create(&pool, threads, &why));
        if (threads == 4)
            ulp_pool_set_eager(pool);
        for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
            for (size_t count = 0; count < 700; count += 13) {
                unsigned char seen[1000] = {0};
                ck_ok(ulp_parallel_for(pool, count, grains[g], mark, seen, &why));
                for (size_t i = 0; i < sizeof seen; i++)
                    ck_assert_uint_eq(seen[i], i < count);
            }
            for (int repeat = 0; repeat < 50; repeat++) {
                unsigned char seen[1000] = {0};
                ck_assert_int_eq(ulp_parallel_for(pool, 1000, grains[g], mark, seen, &error),
                                 ULP_ERROR_INPUT);
                ck_assert_str_eq(error.message, "at 777");
            }
        }
    }
}

ULP_WORK(wait_and_note)
{
    for (size_t i = first; i < last; i++) {
        usleep(2000);
        atomic_fetch_add(&((atomic_int *)context)[worker], 1);
    }
    return ULP_OK;
}

/* Slow items are handed over whether there are few or many, and again after the threads have gone
 * to sleep. */
TEST(slow_work_is_shared)
{
    static const size_t counts[] = {2, 3, 40};
    scoped_pool *pool = NULL;
    ck_ok(ulp_pool_create(&pool, 2, &why));
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        atomic_int items[2] = {0, 0};
        ck_ok(ulp_parallel_for(pool, counts[c], 1, wait_and_note, items, &why));
        ck_assert_uint_eq((size_t)(items[0] + items[1]), counts[c]);
        ck_expect(counts[c] < 40 || (items[0] > 0 && items[1] > 0), "%d and %d of %zu", items[0],
                  items[1], counts[c]);
        usleep(2000);
    }
}

/* Jobs whose workers come late, or when the next has begun. */
TEST(short_jobs_follow_one_another)
{
    scoped_pool *pool = test_pool(2);
    for (int job = 0; job < 20000; job++) {
        unsigned char seen[3] = {0};
        ck_ok(ulp_parallel_for(pool, 2, 1, mark, seen, &why));
        ck_expect(seen[0] == 1 && seen[1] == 1 && seen[2] == 0, "job %d: %d and %d", job, seen[0],
                  seen[1]);
        if (job % 1000 == 0)
            usleep(500); /* they sleep */
    }
}

/* A process that has forked frees a pool whose threads it has not. */
TEST(a_pool_is_freed_in_another_process)
{
    struct ulp_pool *pool;
    atomic_int items[2] = {0, 0};
    int status = -1;
    ck_ok(ulp_pool_create(&pool, 2, &why));
    ck_ok(ulp_parallel_for(pool, 40, 1, wait_and_note, items, &why));
    const pid_t child = fork();
    if (child == 0) {
        ulp_pool_free(pool); /* waits for no thread, for there is none */
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ulp_pool_free(pool);
}

ULP_WORK(note_signals)
{
    atomic_int items = 0;
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    ((int *)context)[worker] = sigismember(&blocked, SIGTERM) + 2 * sigismember(&blocked, SIGBUS);
    return wait_and_note(&items, first, last, 0, error);
}

/* Else SIGTERM ends the process of a caller that blocks it and waits for it. */
TEST(signals_are_the_callers)
{
    scoped_pool *pool = NULL;
    int blocked[2] = {-1, -1};
    ck_ok(ulp_pool_create(&pool, 2, &why));
    ck_ok(ulp_parallel_for(pool, 40, 1, note_signals, blocked, &why));
    ck_assert_int_eq(blocked[0], 0);
    ck_assert_int_eq(blocked[1], 1);
}

#ifdef __GLIBC__
/* What the system does not start is done without. */
TEST(a_pool_may_lack_threads)
{
    scoped_pool *pool = NULL;
    pthread_attr_t vast;
    atomic_int items[2] = {0, 0};
    pthread_attr_init(&vast);
    ck_assert_int_eq(pthread_attr_setstacksize(&vast, SIZE_MAX / 2 & ~(size_t)65535), 0);
    ck_assert_int_eq(pthread_setattr_default_np(&vast), 0);
    ck_ok(ulp_pool_create(&pool, 2, &why));
    ck_ok(ulp_parallel_for(pool, 10, 1, wait_and_note, items, &why));
    ck_assert_int_eq(items[0], 10);
    ck_assert_int_eq(ulp_pool_thread_count(pool), 1);
}
#endif

/* Known answers of the Random123 distribution (kat_vectors, philox4x32 10). */
TEST(philox_known_answers)
{
    uint32_t out[4];
    ulp_philox(out, 0, 0, 0);
    ck_assert(out[0] == 0x6627e8d5 && out[1] == 0xe169c58d && out[2] == 0xbc57ac4c &&
              out[3] == 0x9b00dbd8);
    ulp_philox(out, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    ck_assert(out[0] == 0x408f276d && out[1] == 0x41c83b0e && out[2] == 0xa20bc7c6 &&
              out[3] == 0x6d5451fd);
    ulp_philox(out, 0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e);
    ck_assert(out[0] == 0xd16cfe09 && out[1] == 0x94fdcceb && out[2] == 0x5001e420 &&
              out[3] == 0x24126ea1);
}

/* A block is what its counters give, with each instruction set, also where their lower half ends.
 */
TEST_LOOP(philox_blocks, 0, 2)
{
    const uint64_t firsts[] = {0, UINT32_MAX - 7, UINT64_MAX - 4, 0x85a308d3243f6a88};
    ck_assert_int_eq(setenv("ULPSCOPE_DISABLE_CPU", _i ? "avx512" : "", 1), 0);
    for (size_t f = 0; f < sizeof firsts / sizeof firsts[0]; f++) {
        const uint64_t key = 0x299f31d0a4093822 + f, high = firsts[f] * 77;
        uint32_t words[4][ULP_PHILOX_BLOCK], one[4];
        ulp_philox_block(words, key, firsts[f], high);
        for (uint64_t i = 0; i < ULP_PHILOX_BLOCK; i++) {
            ulp_philox(one, key, firsts[f] + i, high);
            for (int w = 0; w < 4; w++)
                ck_assert(words[w][i] == one[w]);
        }
    }
}

TEST(files_are_whole_and_text_grows)
{
    char folder[] = "/tmp/check_base_XXXXXX", path[64];
    struct ulp_error error;
    scoped_text text = {0};
    unsigned char *bytes;
    size_t count;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    for (int i = 0; i < 10000; i++)
        ulp_text_add(&text, "%d,", i);
    ck_ok(ulp_file_write(path, text.data, text.length, &why));
    ck_ok(ulp_file_read(path, 1 << 20, NULL, &bytes, &count, &why));
    ck_assert_uint_eq(count, text.length);
    ck_assert_int_eq(memcmp(bytes, text.data, count), 0);
    ulp_free(bytes);
    ck_assert_int_eq(ulp_file_read(path, 10, NULL, &bytes, &count, &error), ULP_ERROR_INPUT);
    ck_assert_int_eq(ulp_file_read(folder, 10, NULL, &bytes, &count, &error), ULP_ERROR_INPUT);
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0); /* nothing was left beside */
    ck_assert_int_eq(ulp_file_write("/nonexistent/x", "", 0, &error), ULP_ERROR_INPUT);
}

TEST(words_are_whole)
{
    ck_assert(ulp_is_word("Add", "Add Sub") && ulp_is_word("Sub", "Add Sub"));
    ck_assert(!ulp_is_word("Ad", "Add Sub") && !ulp_is_word("Subs", "Add Sub"));
    ck_assert(!ulp_is_word("", "Add Sub") && !ulp_is_word("Add Sub", "Add Sub"));
}

static void add_numbers(struct ulp_text *text, int count)
{
    for (int i = 0; i < count; i++)
        ulp_text_add(text, "%d,", i);
}

/* A text that goes to a file gives the same bytes; one that is not kept, or cannot be written,
 * leaves nothing. */
TEST(text_goes_to_a_file)
{
    char folder[] = "/tmp/check_base_XXXXXX", path[64];
    struct ulp_error error;
    struct ulp_text whole = {0}, text;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    static const int counts[] = {0, 3, 100000};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        void *bytes;
        size_t count;
        add_numbers(&whole, counts[c]);
        ck_ok(ulp_text_open(&text, path, &why));
        add_numbers(&text, counts[c]);
        ck_assert_uint_lt(text.capacity, 300000);
        ck_ok(ulp_text_close(&text, true, &why));
        ck_ok(ulp_file_map(path, 1 << 20, &bytes, &count, &why));
        ck_assert_uint_eq(count, whole.length);
        ck_assert(count == 0 ? !bytes : memcmp(bytes, whole.data, count) == 0);
        if (count)
            munmap(bytes, count);
        ulp_text_free(&whole);
        unlink(path);
    }
    ck_ok(ulp_text_open(&text, path, &why));
    add_numbers(&text, 100000);
    ck_ok(ulp_text_close(&text, false, &why));
    ck_ok(ulp_text_open(&text, path, &why));
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, RLIM_INFINITY});
    add_numbers(&text, 100000);
    ck_fails(ULP_ERROR_INPUT, "cannot write", ulp_text_close(&text, true, &why));
    ck_assert_int_eq(rmdir(folder), 0);
    ck_assert_int_eq(ulp_text_open(&text, "/nonexistent/x", &error), ULP_ERROR_INPUT);
}

/* FIPS 180-4's examples, and their million of letters; a folder has no digest. */
TEST(sha256_known_answers)
{
    static const struct {
        const char *text, *digest;
        size_t times;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 1},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 1},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", 1},
        {"a", "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", 1000000},
    };
    char digest[65];
    uint64_t bytes;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        FILE *file = fopen("digested", "wb");
        ck_assert_ptr_nonnull(file);
        for (size_t i = 0; i < cases[c].times; i++)
            fputs(cases[c].text, file);
        ck_assert_int_eq(fclose(file), 0);
        ck_assert(ulp_file_sha256("digested", digest, &bytes));
        ck_assert_str_eq(digest, cases[c].digest);
        ck_assert_uint_eq(bytes, cases[c].times * strlen(cases[c].text));
    }
    remove("digested");
    ck_assert(!ulp_file_sha256(".", digest, &bytes));
    ck_assert(!ulp_file_sha256("not there", digest, &bytes));
}

TEST(errors_gain_their_place)
{
    struct ulp_error error;
    ck_assert_int_eq(ulp_fail(&error, ULP_ERROR_INPUT, "bad %d", 3), ULP_ERROR_INPUT);
    ck_assert_int_eq(ulp_fail_at(&error, ULP_ERROR_INPUT, "file '%s'", "x"), ULP_ERROR_INPUT);
    ck_assert_str_eq(error.message, "file 'x': bad 3");
    ck_assert_int_eq(ulp_fail_at(&error, ULP_OK, "nothing"), ULP_OK);
    ck_assert_str_eq(error.message, "file 'x': bad 3");
    ck_assert_int_eq(ulp_fail(NULL, ULP_ERROR_INPUT, "x"), ULP_ERROR_INPUT);
    memset(error.message, 'y', sizeof error.message - 1);
    error.message[sizeof error.message - 1] = '\0';
    ulp_fail_at(&error, ULP_ERROR_USAGE, "p");
    ck_assert_uint_eq(strlen(error.message), sizeof error.message - 1);
    ck_assert_int_eq(strncmp(error.message, "p: yyy", 6), 0);
}

TEST_SUITE("base", 60)
