/* A forecast over all samples, and what is tried where an overflow does harm. */
#include <stdlib.h>
#include <string.h>

#include "analysis/overflow/meter.h"
#include "analysis/session/session.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/options.h"

struct forecasting {
    const struct ulp_overflow_options *options;
    const struct ulp_samples *samples;
    struct ulp_programs programs;
    struct ulp_program *program; /* of the current sample's shapes */
    struct ulp_overflow_meter meter;
};

static void begin_sample(const struct ulp_overflow_options *options, size_t s, size_t count)
{
    if (!options->begins)
        return;
    struct ulp_environment *paused = ulp_environment_pause();
    options->begins(options->progress ? options->progress->context : NULL, s, count);
    ulp_environment_resume(paused);
}

static enum ulp_status measure_inputs(struct forecasting *f, const char *name,
                                      const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    const struct ulp_program *before = f->program;
    ULP_TRY(ulp_programs_choose(&f->programs, inputs, &f->program, error));
    if (f->program != before)
        ULP_TRY(ulp_overflow_meter_take(&f->meter, f->program, f->options->thread_count, error));
    return ulp_overflow_meter_sample(&f->meter, name, inputs, f->options->progress, error);
}

static enum ulp_status measure_samples(struct forecasting *f, struct ulp_error *error)
{
    for (size_t s = 0; s < f->samples->count; s++) {
        const char *name = f->samples->items[s].name;
        const struct ulp_tensor_set *inputs;
        begin_sample(f->options, s, f->samples->count);
        enum ulp_status status = ulp_samples_open(f->samples, s, &inputs, error);
        if (status == ULP_OK) {
            status = measure_inputs(f, name, inputs, error);
            ulp_samples_close(f->samples, s);
        }
        ULP_TRY(ulp_fail_at(error, status, "%s", name));
    }
    return ULP_OK;
}

/* The sample of the first overflow: remedies are tried on it. */
static size_t find_sample(const struct ulp_overflow_lane *lane)
{
    for (size_t n = 0; n < lane->node_count; n++)
        if (lane->nodes[n].born && lane->nodes[n].output_count)
            return lane->nodes[n].outputs[0].sample;
    return 0;
}

static enum ulp_status try_remedies(struct forecasting *f, size_t l,
                                    struct ulp_overflow_forecast *forecast, struct ulp_error *error)
{
    const size_t s = find_sample(&forecast->lanes[l]);
    const struct ulp_tensor_set *inputs;
    struct ulp_program *program;
    ULP_TRY(ulp_samples_open(f->samples, s, &inputs, error));
    enum ulp_status status = ulp_programs_choose(&f->programs, inputs, &program, error);
    ULP_THEN(status, ulp_overflow_remedies(forecast, program, l, inputs, f->options, error));
    ulp_samples_close(f->samples, s);
    return status;
}

static enum ulp_status forecast_samples(struct forecasting *f, bool last,
                                        struct ulp_overflow_forecast *out, struct ulp_error *error)
{
    enum ulp_status status = measure_samples(f, error);
    ULP_THEN(status, ulp_overflow_meter_finish(&f->meter, out, error));
    ulp_overflow_meter_free(&f->meter);
    const bool tried = !f->options->no_remedies && (last || !out->beyond_reference);
    for (size_t l = 0; l < out->lane_count && status == ULP_OK && tried; l++)
        if (out->lanes[l].harmful_count)
            status = try_remedies(f, l, out, error);
    ulp_programs_free(&f->programs);
    if (status != ULP_OK)
        ulp_overflow_free(out);
    return status;
}

enum ulp_status ulp_overflow_run(const struct ulp_model *model, const struct ulp_arithmetic *lanes,
                                 size_t lane_count, const struct ulp_samples *samples,
                                 const struct ulp_overflow_options *options,
                                 struct ulp_overflow_forecast *out, struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_program_options plan;
    *out = (struct ulp_overflow_forecast){0};
    ULP_OPTIONS_TAKE(ulp_overflow_options, options, error);
    ULP_TRY(ulp_options_read(&plan, sizeof plan, sizeof plan, options->plan, error));
    if (lane_count < 2 || !samples->count)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "a forecast needs a sample, a reference and at least one arithmetic");
    ULP_SCOPED(ulp_scoped_free) struct ulp_arithmetic *own = calloc(lane_count, sizeof *own);
    ULP_TRY(ulp_taken(own, error));
    memcpy(own, lanes, lane_count * sizeof *own);
    for (bool last = !options->wider;; last = true) {
        struct forecasting f = {
            .options = options,
            .samples = samples,
            .programs = {.model = model, .lanes = own, .lane_count = lane_count, .options = plan}};
        ULP_TRY(forecast_samples(&f, last, out, error));
        if (last || !out->beyond_reference)
            return ULP_OK;
        ulp_overflow_free(out);
        own[0] = *options->wider;
    }
}

ULP_RESULT_FREE(ulp_overflow_free, struct ulp_overflow_forecast)
