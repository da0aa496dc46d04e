/* A study from its start to its end. */
#include <math.h>
#include <string.h>

#include "analysis/study/studying.h"
#include "analysis/writing/columns.h"
#include "base/error.h"
#include "base/options.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "number/function/math.h"

enum { TRIALS_DEFAULT = 30 };

static enum ulp_status check_options(const struct ulp_study_options *options, size_t sample_count,
                                     struct ulp_error *error)
{
    const double chances[] = {options->probability, options->confidence};
    if (!sample_count)
        return ulp_fail(error, ULP_ERROR_USAGE, "a study needs a sample");
    if (options->trials == 1 || options->trials > ULP_STUDY_TRIALS_MAX)
        return ulp_fail(error, ULP_ERROR_USAGE, "%zu trials: from 2 to %d are possible",
                        options->trials, ULP_STUDY_TRIALS_MAX);
    for (int i = 0; i < 2; i++)
        if (chances[i] != 0 && !(chances[i] > 0 && chances[i] < 1))
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "%s %g: a number between 0 and 1 is needed, as 0.95",
                            i ? "confidence" : "probability", chances[i]);
    if (options->seed > INT64_MAX)
        return ulp_fail(error, ULP_ERROR_USAGE, "seed %llu: a number below 2^63 is needed",
                        (unsigned long long)options->seed);
    return options->tolerance >= 0 && isfinite(options->tolerance)
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_USAGE,
                          "tolerance %g: a relative error is needed, as 1e-3", options->tolerance);
}

/* Of plans of the reference and the first setting: names are those of every plan. Shapes that
 * cannot be planned are refused before anything runs. */
static enum ulp_status make_places(struct ulp_studying *s, struct ulp_error *error)
{
    const struct ulp_arithmetic lanes[] = {s->options->reference, s->out->settings[0].arithmetic};
    ULP_SCOPED(ulp_programs_free)
    struct ulp_programs programs = {.model = s->model, .lanes = lanes, .lane_count = 2};
    struct ulp_program *program;
    ULP_TRY(ulp_fail_at(error,
                        ulp_programs_choose(&programs, s->samples[0].inputs, &program, error), "%s",
                        s->out->settings[0].text));
    for (size_t i = 1; i < s->sample_count; i++)
        ULP_TRY(ulp_fail_at(error,
                            ulp_programs_choose(&programs, s->samples[i].inputs, &program, error),
                            "sample %s", s->samples[i].name));
    return ulp_study_make_places(s, programs.first, error);
}

static enum ulp_status read_kept(struct ulp_studying *s, struct ulp_error *error)
{
    ULP_TRY(ulp_study_open_folder(s, error));
    for (size_t i = 0; i < s->out->setting_count; i++)
        ULP_TRY(ulp_study_read_kept(s, i, error));
    return ULP_OK;
}

/* Of every series of bits or lengths, at every place. */
static enum ulp_status fit_all(const struct ulp_studying *s, struct ulp_error *error)
{
    struct ulp_study *out = s->out;
    double *relative = ulp_arena_take(out->memory, ULP_STUDY_SETTINGS_MAX, sizeof *relative);
    for (size_t i = 0; i < out->series_count && relative; i++) {
        struct ulp_study_series *series = &out->series[i];
        if (series->axis != ULP_AXIS_BITS && series->axis != ULP_AXIS_LENGTH)
            continue;
        series->fit_count = out->place_count;
        ULP_TAKE(series->fits, out->memory, out->place_count + 1, error);
        for (size_t p = 0; p < out->place_count; p++) {
            for (size_t j = 0; j < series->count; j++)
                relative[j] = out->settings[series->settings[j]].points[p].relative;
            ulp_study_fit(series->x, relative, series->count, series->axis == ULP_AXIS_LENGTH,
                          &series->fits[p]);
        }
    }
    return ulp_taken(relative, error);
}

static enum ulp_status run(struct ulp_studying *s, struct ulp_error *error)
{
    struct ulp_study *out = s->out;
    const struct ulp_study_options *options = s->options;
    const char *path = ulp_model_path(s->model);
    out->model_path = ulp_arena_text(out->memory, path, strlen(path));
    out->arguments = ulp_model_words(out->memory, s->model);
    out->reference =
        ulp_arena_text(out->memory, options->reference.name, strlen(options->reference.name));
    ULP_TRY(ulp_taken(out->model_path && out->arguments && out->reference, error));
    enum ulp_status status = ulp_study_make_settings(s, error);
    if (status == ULP_OK)
        status = make_places(s, error);
    if (status == ULP_OK &&
        !(s->sums = ulp_arena_take(out->memory, out->setting_count, sizeof *s->sums)))
        status = ulp_out_of_memory(error);
    if (status == ULP_OK && options->checkpoint)
        status = read_kept(s, error);
    if (status == ULP_OK)
        status = ulp_study_walk(s, error);
    for (size_t i = 0; s->sums && i < out->setting_count; i++)
        ulp_trial_sums_free(s->sums[i]);
    return status == ULP_OK ? fit_all(s, error) : status;
}

enum ulp_status ulp_study_run(const struct ulp_model *model, const struct ulp_sample *samples,
                              size_t sample_count, const struct ulp_study_options *options,
                              struct ulp_study *out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    ULP_OPTIONS_TAKE(ulp_study_options, options, error);
    const double started = ulp_seconds_now();
    struct ulp_studying s = {.model = model,
                             .samples = samples,
                             .sample_count = sample_count,
                             .options = options,
                             .out = out};
    *out =
        (struct ulp_study){.sample_count = sample_count,
                           .trials = options->trials ? options->trials : TRIALS_DEFAULT,
                           .seed = options->seed,
                           .probability = options->probability != 0 ? options->probability : 0.95,
                           .confidence = options->confidence != 0 ? options->confidence : 0.95,
                           .tolerance = options->tolerance > 0 ? options->tolerance : NAN};
    enum ulp_status status = check_options(options, sample_count, error);
    if (status == ULP_OK)
        status = ulp_arena_create(&out->memory, ulp_model_budget(model), error);
    if (status == ULP_OK)
        status = run(&s, error);
    out->seconds = ulp_seconds_now() - started;
    if (status != ULP_OK)
        ulp_study_free(out);
    return status;
}

void ulp_study_free(struct ulp_study *study)
{
    ulp_arena_free(study->memory);
    *study = (struct ulp_study){0};
}

size_t ulp_study_worst(const struct ulp_study *study, const struct ulp_study_series *series)
{
    ULP_ENTER_ENVIRONMENT;
    size_t worst = 0;
    double most = -INFINITY;
    for (size_t p = 0; p < study->place_count && study->places[p].kind == ULP_PLACE_OUTPUT; p++) {
        double sum = 0; /* of log2(error): the mean over the series decides */
        for (size_t i = 0; i < series->count; i++) {
            const struct ulp_study_point *point = &study->settings[series->settings[i]].points[p];
            const double relative = point->relative;
            sum += ulp_study_is_missing(point)           ? -INFINITY
                   : point->nonfinite || point->diverged ? 64
                   : relative > 0                        ? ulp_math_min(ulp_math_log2(relative), 64)
                                                         : -1100;
        }
        if (sum > most) {
            most = sum;
            worst = p;
        }
    }
    return worst;
}
