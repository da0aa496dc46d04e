/* Files of checkpoints, and what a study reads. */
#include <stdlib.h>
#include <string.h>

#include "analysis/study/studying.h"
#include "tests/fuzz/fuzz.h"
#include "analysis/audit/part.h"

/* What is read is written again as it was. */
static const char *check_written(const struct ulp_study *study, const uint8_t *bytes, size_t count)
{
    struct ulp_error error;
    struct ulp_text again = {0};
    const char *wrong = NULL;
    if (ulp_study_encode(study, 0, &again, &error) != ULP_OK)
        wrong = "figures that cannot be written";
    else if (again.length != count || memcmp(again.data, bytes, count) != 0)
        wrong = "figures that are others when they are written again";
    ulp_text_free(&again);
    return wrong;
}

const char *fuzz_setting(const uint8_t *bytes, size_t count)
{
    struct ulp_study_point points[2] = {0};
    struct ulp_study_setting setting = {.points = points};
    struct ulp_study study = {.place_count = 2, .settings = &setting, .setting_count = 1};
    struct ulp_arena *arena;
    struct ulp_error error = {0};
    if (ulp_arena_create(&arena, fuzz_budget(), &error) != ULP_OK)
        abort();
    study.memory = arena;
    const enum ulp_status status = ulp_study_decode(&study, 0, bytes, count, &error);
    const char *wrong = status == ULP_OK ? check_written(&study, bytes, count)
                                         : fuzz_failure(status, FUZZ_FILE, &error);
    ulp_arena_free(arena);
    return wrong;
}

const char *fuzz_kept(const uint8_t *bytes, size_t count)
{
    struct ulp_error error = {0};
    char *key;
    unsigned char *figures;
    size_t figure_count;
    const char *wrong = NULL;
    const enum ulp_status status =
        ulp_part_read(fuzz_file(bytes, count), NULL, &key, &figures, &figure_count, &error);
    if (status != ULP_OK)
        return fuzz_failure(status, FUZZ_FILE, &error);
    if (strlen(key) + figure_count >= count)
        wrong = "a file that holds more than its bytes";
    free(key);
    free(figures);
    return wrong;
}

const char *fuzz_sweep(const uint8_t *bytes, size_t count)
{
    char *text = fuzz_text(bytes, count);
    struct ulp_sweep sweep;
    struct ulp_error error = {0};
    const char *wrong = NULL;
    const enum ulp_status status = ulp_sweep_expand(text, &sweep, &error);
    if (status != ULP_OK)
        wrong = fuzz_failure(status, FUZZ_ALLOW(ULP_ERROR_USAGE), &error);
    else if (!sweep.count || sweep.count > ULP_STUDY_SETTINGS_MAX)
        wrong = "a sweep of no settings or too many";
    if (status == ULP_OK)
        ulp_sweep_free(&sweep);
    free(text);
    return wrong;
}
