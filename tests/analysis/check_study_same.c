/* A study has the same bits for any threads, walks, memory and interruptions. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <ulpscope.h>

#include "tests/analysis/study_test.h"
#include "tests/support/networks.h"

static char *as_json(const struct ulp_study *study)
{
    struct ulp_error error;
    const char *path = test_folder("study.json");
    ck_ulp_ok(ulp_study_write(study, ULP_OUTPUT_JSON, path, &error), error);
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_gt(fread(text, 1, (1 << 20) - 1, file), 1000);
    fclose(file);
    return text;
}

/* More than one, so that there is a spread. */
static size_t count_trials(void)
{
    return 1 + (size_t)test_count(6, 6);
}

#define SWEEPS "e5m{4..8}", "e8m6,round={rne,sr}", "e8m{5,7},order={sequential,pairwise}"

static void expect_same(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                        struct ulp_study_options options, const char *expected, size_t kept)
{
    struct ulp_study study = RUN(model, inputs, options, SWEEPS);
    char *text = as_json(&study);
    size_t found = 0;
    for (size_t i = 0; i < study.setting_count; i++)
        found += study.settings[i].kept;
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(found, kept);
    free(text);
    ulp_study_free(&study);
}

START_TEST(any_threads_and_walks)
{
    struct ulp_model *model;
    struct ulp_tensor_set inputs;
    ck_assert(network_load(0, &model, &inputs));
    struct ulp_study_options options = plain;
    options.trials = count_trials();
    struct ulp_study study = RUN(model, &inputs, options, SWEEPS);
    ck_assert_uint_eq(study.walks, 1);
    char *expected = as_json(&study);
    ulp_study_free(&study);
    options.thread_count = 5;
    expect_same(model, &inputs, options, expected, 0);
    options.lanes = 3;
    expect_same(model, &inputs, options, expected, 0);
    options.lanes = 1;
    options.thread_count = 2;
    expect_same(model, &inputs, options, expected, 0);
    free(expected);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* Memory for a few lanes at a time: smaller walks, equal bits. */
START_TEST(little_memory)
{
    struct ulp_model *model, *within;
    struct ulp_tensor_set inputs;
    struct ulp_budget *budget;
    struct ulp_error error;
    ck_assert(network_load(0, &model, &inputs));
    struct ulp_study_options options = plain;
    options.trials = count_trials();
    struct ulp_study study = RUN(model, &inputs, options, SWEEPS);
    char *expected = as_json(&study);
    ulp_study_free(&study);
    size_t smallest = 0;
    for (size_t limit = (size_t)1 << 25; limit > 1 << 18; limit = limit * 3 / 4) {
        ck_ulp_ok(ulp_budget_create(limit, &budget, &error), error);
        struct ulp_study_options own = options;
        const char *const sweeps[] = {SWEEPS};
        const struct ulp_sample sample = {.name = "0", .inputs = &inputs};
        own.reference = test_arithmetic("mpfr:128");
        own.sweeps = sweeps;
        own.sweep_count = 3;
        enum ulp_status status =
            ulp_model_load(test_source("examples/digits/model.onnx"), budget, &within, &error);
        if (status == ULP_OK) {
            status = ulp_study_run(within, &sample, 1, &own, &study, &error);
            if (status == ULP_OK) {
                char *text = as_json(&study), *model_of = strstr(text, "\"model_path\""),
                     *other = strstr(expected, "\"model_path\"");
                ck_assert_str_eq(model_of, other);
                smallest = study.walks;
                free(text);
                ulp_study_free(&study);
            }
            ulp_model_free(within);
        }
        ulp_budget_free(budget);
        ck_assert_msg(status == ULP_OK || status == ULP_ERROR_MEMORY, "%s", error.message);
        if (status == ULP_ERROR_MEMORY)
            break;
    }
    ck_assert_uint_gt(smallest, 1);
    free(expected);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

/* Names of files in the folder; how many. */
static size_t list_files(const char *folder, char names[][100], size_t most)
{
    DIR *stream = opendir(folder);
    size_t count = 0;
    ck_assert_ptr_nonnull(stream);
    for (struct dirent *entry; (entry = readdir(stream)) != NULL && count < most;)
        if (entry->d_name[0] != '.')
            snprintf(names[count++], sizeof *names, "%.99s", entry->d_name);
    closedir(stream);
    return count;
}

START_TEST(resumed)
{
    struct ulp_model *model;
    struct ulp_tensor_set inputs;
    char folder[300], names[40][100], path[700];
    ck_assert(network_load(0, &model, &inputs));
    struct ulp_study_options options = plain;
    options.trials = count_trials();
    struct ulp_study study = RUN(model, &inputs, options, SWEEPS);
    char *expected = as_json(&study);
    const size_t settings = study.setting_count;
    ulp_study_free(&study);
    snprintf(folder, sizeof folder, "%s", test_folder("kept"));
    options.checkpoint = folder;
    expect_same(model, &inputs, options, expected, 0);
    const size_t count = list_files(folder, names, 40);
    ck_assert_uint_eq(count, settings);
    expect_same(model, &inputs, options, expected, settings);
    for (size_t i = 0; i < count; i += 2) {
        snprintf(path, sizeof path, "%.299s/%.99s", folder, names[i]);
        ck_assert_int_eq(unlink(path), 0);
    }
    expect_same(model, &inputs, options, expected, count / 2);
    /* other trials are other figures, but only where there are trials */
    options.trials = count_trials() + 1;
    study = RUN(model, &inputs, options, SWEEPS);
    size_t kept = 0;
    for (size_t i = 0; i < study.setting_count; i++)
        kept += study.settings[i].kept;
    ck_assert_uint_eq(kept, settings - 1);
    ulp_study_free(&study);
    /* a damaged file is refused, and names itself */
    options.trials = count_trials();
    snprintf(path, sizeof path, "%.299s/%.99s", folder, names[1]);
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, 400, SEEK_SET);
    fputs("damaged", file);
    fclose(file);
    struct ulp_study_options own = options;
    struct ulp_error error;
    const char *const sweeps[] = {SWEEPS};
    const struct ulp_sample sample = {.name = "0", .inputs = &inputs};
    own.reference = test_arithmetic("mpfr:128");
    own.sweeps = sweeps;
    own.sweep_count = 3;
    ck_assert_int_eq(ulp_study_run(model, &sample, 1, &own, &study, &error), ULP_ERROR_INPUT);
    ck_assert_ptr_nonnull(strstr(error.message, names[1]));
    free(expected);
    ulp_tensor_set_free(&inputs);
    ulp_model_free(model);
}
END_TEST

TEST_MAIN("studies", 60)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
    tcase_add_test(tests, any_threads_and_walks);
    tcase_add_test(tests, little_memory);
    tcase_add_test(tests, resumed);
}
