/* What fuzzing found, and what reaches furthest into each parser, read again: every file of
 * tests/fuzz/corpus/NAME by fuzz_NAME. */
#include <dirent.h>
#include <stdio.h>

#include "base/machine/file.h"
#include "base/memory/alloc.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/test.h"

#define BYTES_MAX ((size_t)1 << 24)

static void read_again(const struct fuzz_target *target, const char *path)
{
    unsigned char *bytes;
    size_t count;
    struct ulp_error error;
    ck_ulp_ok(ulp_file_read(path, BYTES_MAX, NULL, &bytes, &count, &error), error);
    const char *wrong = target->run(bytes, count);
    ck_expect(!wrong, "%s: %s", path, wrong);
    ulp_free(bytes);
}

START_TEST(test_corpus)
{
    const struct fuzz_target *target = fuzz_target((size_t)_i);
    char folder[4096], path[4096 + 300];
    size_t count = 0;
    snprintf(folder, sizeof folder, "%s/%s", test_source("tests/fuzz/corpus"), target->name);
    DIR *entries = opendir(folder);
    ck_assert_msg(entries, "%s: a target without a corpus", folder);
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        read_again(target, path);
        count++;
    }
    closedir(entries);
    ck_assert_msg(count > 0, "%s: an empty corpus", folder);
}
END_TEST

/* The tests of the functions themselves: what they exist to find, they see. */
START_TEST(test_failures_are_judged)
{
    struct ulp_error error = {.status = ULP_ERROR_INPUT, .message = "x.npz: is no archive"};
    ck_assert_ptr_null(fuzz_failure(ULP_ERROR_INPUT, FUZZ_FILE, &error));
    ck_assert_ptr_nonnull(fuzz_failure(ULP_ERROR_USAGE, FUZZ_FILE, &error));
    ck_assert_ptr_nonnull(fuzz_failure(ULP_ERROR_INPUT, FUZZ_ALLOW(ULP_ERROR_USAGE), &error));
    error.message[1] = '\n';
    ck_assert_ptr_nonnull(fuzz_failure(ULP_ERROR_INPUT, FUZZ_FILE, &error));
    error.message[1] = (char)0xff;
    ck_assert_ptr_nonnull(fuzz_failure(ULP_ERROR_INPUT, FUZZ_FILE, &error));
    error.message[0] = 0;
    ck_assert_ptr_nonnull(fuzz_failure(ULP_ERROR_INPUT, FUZZ_FILE, &error));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("corpus");
    TCase *tcase = tcase_create("corpus");
    int targets = 0;
    while (fuzz_target((size_t)targets))
        targets++;
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, test_corpus, 0, targets);
    tcase_add_test(tcase, test_failures_are_judged);
    suite_add_tcase(suite, tcase);
    return test_run(suite, NULL);
}
