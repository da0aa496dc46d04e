#include "tests/support/test.h"

#include <stdarg.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

int test_run(Suite *first, ...)
{
    SRunner *runner = srunner_create(first);
    va_list list;
    va_start(list, first);
    for (Suite *suite; (suite = va_arg(list, Suite *)) != NULL;)
        srunner_add_suite(runner, suite);
    va_end(list);
    if (!test_shared(""))
        fprintf(stderr,
                "ULPSCOPE_TEST_DATA is unset: tests that need the measured data are skipped\n");
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* What TEST has added. */
enum { ADDED_MAX = 100 };
static struct {
    const TTest *test;
    int first, end;
} added[ADDED_MAX];
static size_t added_count;

void test_add(const TTest *test, int first, int end)
{
    if (added_count == ADDED_MAX)
        abort();
    added[added_count].test = test;
    added[added_count].first = first;
    added[added_count++].end = end;
}

int test_main(const char *name, int seconds, void (*add)(TCase *tests))
{
    Suite *suite = suite_create(name);
    TCase *tests = tcase_create(name);
    if (seconds)
        tcase_set_timeout(tests, seconds);
    for (size_t t = 0; t < added_count; t++)
        tcase_add_loop_test(tests, added[t].test, added[t].first, added[t].end);
    if (add)
        add(tests);
    suite_add_tcase(suite, tests);
    return test_run(suite, NULL);
}

bool test_long(void)
{
    const char *value = getenv("ULPSCOPE_TEST_LONG");
    return value && strcmp(value, "0") != 0 && *value;
}

/* FIRST and STEP, read once a process, which is once a test: then the log says so. */
static struct {
    uint64_t first, step;
} sample;

static void read_sample(void)
{
    const char *value = getenv("ULPSCOPE_TEST_SAMPLE");
    unsigned first = 0, step = 1;
    if (sample.step)
        return;
    if (value && *value)
        ck_assert_msg(sscanf(value, "%u/%u", &first, &step) == 2 && step > 0,
                      "ULPSCOPE_TEST_SAMPLE=%s is no FIRST/STEP", value);
    if (step > 1) {
        printf("sampled: %s takes one case in %u\n", tcase_name(), step);
        fflush(stdout);
    }
    sample.first = first;
    sample.step = step;
}

uint64_t test_count(uint64_t few, uint64_t many)
{
    const uint64_t count = test_long() ? many : few;
    read_sample();
    return count < sample.step ? count > 0 : count / sample.step;
}

bool test_takes(uint64_t i, uint64_t count)
{
    read_sample();
    const uint64_t step = count > 0 && sample.step > count ? count : sample.step;
    return i % step == sample.first % step;
}

static const char *join(const char *folder, const char *relative)
{
    static char ring[16][4096];
    static unsigned next;
    char *path = ring[next++ % 16];
    snprintf(path, sizeof ring[0], "%s/%s", folder, relative);
    return path;
}

const char *test_data(const char *relative)
{
    return join(TEST_SOURCE_DIR "/tests/data", relative);
}

const char *test_source(const char *relative)
{
    return join(TEST_SOURCE_DIR, relative);
}

const char *test_shared(const char *relative)
{
    const char *folder = getenv("ULPSCOPE_TEST_DATA");
    return folder && *folder ? join(folder, relative) : NULL;
}

static char temporary[64];

void test_folder_create(void)
{
    snprintf(temporary, sizeof temporary, "/tmp/ulpscope_test_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(temporary));
}

void test_folder_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", temporary);
    ck_assert_int_eq(system(command), 0);
}

const char *test_folder(const char *name)
{
    return join(temporary, name);
}

bool test_crosses(const struct ulp_audit *audit, const char *limit)
{
    struct ulp_crossing_list crossings;
    ck_ok(ulp_audit_check(audit, limit, false, &crossings, &why));
    free(crossings.items);
    return crossings.count > 0;
}

struct ulp_pool *test_pool(int thread_count)
{
    struct ulp_pool *pool;
    ck_ok(ulp_pool_create(&pool, thread_count, &why));
    ulp_pool_set_eager(pool);
    return pool;
}

struct ulp_arithmetic test_arithmetic(const char *name)
{
    struct ulp_arithmetic arithmetic;
    ck_ok(ulp_arithmetic_find(name, &arithmetic, &why));
    return arithmetic;
}

struct ulp_format test_format(const char *name)
{
    struct ulp_format format;
    ck_ok(ulp_format_find(name, &format, &why));
    return format;
}

bool test_same_bits(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    return a->element == b->element && ulp_tensor_same_shape(a, b) &&
           memcmp(a->data, b->data, a->count * a->element_bytes) == 0;
}

void test_fill_memory(int byte)
{
#ifdef M_PERTURB
    mallopt(M_PERTURB, byte);
#else
    (void)byte;
#endif
}
