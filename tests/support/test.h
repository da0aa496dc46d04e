/* What every check program shares: the standard's headers and ours, the runner, the long switch,
 * data folders. */
#pragma once

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "tests/support/scoped.h"

/* Runs the suites (NULL-terminated) and returns main's exit code. */
int test_run(Suite *first, ...) __attribute__((sentinel));
/* A test, and one for each _i from `first` up to `end`, which the program has without being told:
 * TEST(name) { ... }. They run in the order of their file. */
#define TEST(name) TEST_LOOP(name, 0, 1)
#define TEST_LOOP(name, first, end)                                          \
    static void name##_fn(int _i);                                           \
    static const TTest name##_test = {#name, name##_fn, __FILE__, __LINE__}; \
    __attribute__((constructor)) static void name##_add(void)                \
    {                                                                        \
        test_add(&name##_test, (int)(first), (int)(end));                    \
    }                                                                        \
    static void name##_fn(int _i CK_ATTRIBUTE_UNUSED)
void test_add(const TTest *test, int first, int end);
/* The main of a program of these tests; seconds: how long each may take, 0: Check's default. */
#define TEST_SUITE(name, seconds)              \
    int main(void)                             \
    {                                          \
        return test_main(name, seconds, NULL); \
    }
/* The same with a block, which sets up `tests` or adds others. */
#define TEST_MAIN(name, seconds)                    \
    static void add_tests(TCase *tests);            \
    int main(void)                                  \
    {                                               \
        return test_main(name, seconds, add_tests); \
    }                                               \
    static void add_tests(TCase *tests)
int test_main(const char *name, int seconds, void (*add)(TCase *tests));
/* make check-long sets ULPSCOPE_TEST_LONG=1: add the exhaustive cases. */
bool test_long(void);
/* How many of a loop's independent cases there are: few; many in make check-long. Programs that run
 * under an emulator, ten to twenty times slower, take a sample where
 * ULPSCOPE_TEST_SAMPLE=FIRST/STEP is set (scripts/test --arch sets it): one in STEP, at least one.
 * The log names every such test. */
uint64_t test_count(uint64_t few, uint64_t many);
/* The same for cases in a list: whether case i of count is in the sample. It holds the case FIRST
 * and each STEP-th from there (modulo count where that is less). */
bool test_takes(uint64_t i, uint64_t count);
/* The folder of the tests' own files (tests/data in the source tree), and path joining into a
 * static ring of buffers. */
const char *test_data(const char *relative);
/* The same for a path from the top of the source tree. */
const char *test_source(const char *relative);
/* The measured data outside the project (ULPSCOPE_TEST_DATA/relative), or NULL when that is unset
 * (test_run says so once). */
const char *test_shared(const char *relative);
/* A temporary folder, as a checked fixture; test_folder("") is its path, test_folder(name) that of
 * a file in it, in a static ring of buffers. */
void test_folder_create(void);
void test_folder_remove(void);
const char *test_folder(const char *name);
/* Whether something in the audit does not meet the limit. */
struct ulp_audit;
bool test_crosses(const struct ulp_audit *audit, const char *limit);
/* The arithmetic of that name, and the format, which there must be. */
struct ulp_arithmetic;
struct ulp_arithmetic test_arithmetic(const char *name);
struct ulp_format;
struct ulp_format test_format(const char *name);
/* A program of these lanes, or of arithmetics by their names; inputs may be NULL. */
struct ulp_program *test_plan_lanes(const struct ulp_model *model,
                                    const struct ulp_tensor_set *inputs,
                                    const struct ulp_arithmetic *lanes, size_t count);
#define test_plan(model, inputs, ...)                                  \
    test_plan_names(model, inputs, (const char *const[]){__VA_ARGS__}, \
                    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
struct ulp_program *test_plan_names(const struct ulp_model *model,
                                    const struct ulp_tensor_set *inputs, const char *const *names,
                                    size_t count);
/* The outputs in one arithmetic, by one thread. */
struct ulp_tensor_set test_outputs(const struct ulp_model *model,
                                   const struct ulp_tensor_set *inputs, const char *name);
/* The audit of one sample, the program's first lane being the reference; also: another observer of
 * the run, or NULL. */
struct ulp_audit test_audit(const struct ulp_program *program, const struct ulp_tensor_set *inputs,
                            const struct ulp_observer *also);
/* The same type, shape and bits. */
struct ulp_tensor;
bool test_same_bits(const struct ulp_tensor *a, const struct ulp_tensor *b);
/* What freed memory holds from now on, where the C library can be told (glibc), and of new memory
 * the complement; 0: what was there. */
void test_fill_memory(int byte);
/* An eager pool (base/machine/thread.h), for ulp_pool_free. */
struct ulp_pool *test_pool(int thread_count);
/* Fails the test with the library's message unless the call, which is given &why to write it to,
 * returns ULP_OK. */
#define ck_ok(...)                     \
    do {                               \
        struct ulp_error why;          \
        ck_ulp_ok((__VA_ARGS__), why); \
    } while (0)
/* The same of a status and the error that came with it. */
#define ck_ulp_ok(status, error) ck_assert_msg((status) == ULP_OK, "%s", (error).message)
/* The call, which is given &why, must fail with this status and a message that has these words. */
#define ck_fails(status, words, ...)                                  \
    do {                                                              \
        struct ulp_error why;                                         \
        ck_assert_int_eq((__VA_ARGS__), status);                      \
        ck_assert_msg(strstr(why.message, words), "%s", why.message); \
    } while (0)
/* ck_assert_msg for loops of many iterations: Check's own macros write to a file at every call,
 * this at failures only. */
#define ck_expect(condition, ...)      \
    do {                               \
        if (!(condition))              \
            ck_abort_msg(__VA_ARGS__); \
    } while (0)
