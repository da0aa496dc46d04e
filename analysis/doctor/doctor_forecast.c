/* The doctor's forecast: what overflows, why, and what helps. */
#include "analysis/doctor/doctoring.h"
#include "base/error.h"

static enum ulp_status meter_samples(const struct ulp_doctoring *x, struct ulp_programs *programs,
                                     struct ulp_overflow_meter **meter, struct ulp_error *error)
{
    const struct ulp_doctor_options *options = x->options;
    struct ulp_program *program = NULL;
    for (size_t s = 0; s < x->sample_count; s++) {
        const struct ulp_program *before = program;
        ULP_TRY(ulp_programs_choose(programs, x->samples[s].inputs, &program, error));
        if (program != before)
            ULP_TRY(*meter
                        ? ulp_overflow_meter_reshape(*meter, program, error)
                        : ulp_overflow_meter_create(program, options->thread_count, meter, error));
        ULP_TRY(ulp_overflow_meter_sample(*meter, x->samples[s].name, x->samples[s].inputs,
                                          options->progress, error));
    }
    return ULP_OK;
}

/* The forecast of all samples, and remedies on the one that overflows first. */
static enum ulp_status forecast(const struct ulp_doctoring *x, struct ulp_arithmetic lanes[2],
                                struct ulp_overflow_forecast *out, struct ulp_error *error)
{
    const struct ulp_doctor_options *options = x->options;
    ULP_SCOPED(ulp_programs_free)
    struct ulp_programs programs = {.model = x->model,
                                    .lanes = lanes,
                                    .lane_count = 2,
                                    .options = {.dims = options->dims,
                                                .dim_count = options->dim_count}};
    const struct ulp_run_options run = {.thread_count = options->thread_count};
    struct ulp_overflow_meter *meter = NULL;
    struct ulp_program *program;
    enum ulp_status status = meter_samples(x, &programs, &meter, error);
    if (status == ULP_OK)
        status = ulp_overflow_meter_finish(meter, out, error);
    ulp_overflow_meter_free(meter);
    ULP_TRY(status);
    if (!out->lanes[0].harmful_count)
        return ULP_OK;
    const struct ulp_tensor_set *inputs = x->samples[ulp_overflow_sample(&out->lanes[0])].inputs;
    ULP_TRY(ulp_programs_choose(&programs, inputs, &program, error));
    return ulp_overflow_remedies(out, program, 0, inputs, &run, options->progress, error);
}

/* Where something overflows: why it does. What FP64 does not hold either is asked of the audit's
 * reference. */
enum ulp_status ulp_doctor_forecast(struct ulp_doctoring *x,
                                    const struct ulp_arithmetic *arithmetic,
                                    struct ulp_error *error)
{
    struct ulp_arithmetic lanes[2] = {*arithmetic, *arithmetic};
    struct ulp_overflow_forecast *out = ulp_arena_take(x->doctor->memory, 1, sizeof *out);
    bool overflows = false;
    for (size_t n = 0; n < x->lane->node_count; n++)
        overflows |= x->lane->nodes[n].born;
    if (!overflows || x->options->engine)
        return ULP_OK;
    ulp_doctor_begin(x, "overflow", 2);
    enum ulp_status status =
        out ? ulp_arithmetic_find("fp64", &lanes[0], error) : ulp_out_of_memory(error);
    if (status == ULP_OK)
        status = forecast(x, lanes, out, error);
    if (status == ULP_OK && out->beyond_reference) {
        ulp_overflow_free(out);
        lanes[0] = x->options->reference;
        status = forecast(x, lanes, out, error);
    }
    if (status == ULP_OK)
        x->doctor->overflow = out;
    else if (out)
        ulp_overflow_free(out);
    return status == ULP_ERROR_MEMORY || status == ULP_ERROR_CANCELLED ? status : ULP_OK;
}
