/* The doctor's forecast: what overflows, why, and what helps. */
#include "analysis/doctor/doctoring.h"

/* Where something overflows: why it does. What FP64 does not hold either is asked of the audit's
 * reference. */
enum ulp_status ulp_doctor_forecast(struct ulp_doctoring *x,
                                    const struct ulp_arithmetic *arithmetic,
                                    struct ulp_error *error)
{
    struct ulp_arithmetic lanes[2] = {*arithmetic, *arithmetic};
    struct ulp_overflow_forecast *out = ulp_arena_take(x->doctor->memory, 1, sizeof *out);
    const struct ulp_samples samples = {.count = x->sample_count, .items = x->samples};
    const struct ulp_program_options plan = {.dims = x->options->dims,
                                             .dim_count = x->options->dim_count};
    const struct ulp_overflow_options wanted = {.plan = &plan,
                                                .wider = &x->options->reference,
                                                .thread_count = x->options->thread_count,
                                                .progress = x->options->progress};
    bool overflows = x->only_inside; /* in its other choice */
    for (size_t n = 0; n < x->lane->node_count; n++)
        overflows |= x->lane->nodes[n].born;
    if (!overflows || x->options->engine)
        return ULP_OK;
    ulp_doctor_begin(x, "overflow", 2);
    enum ulp_status status =
        out ? ulp_arithmetic_find("fp64", &lanes[0], error) : ulp_out_of_memory(error);
    ULP_THEN(status, ulp_overflow_run(x->model, lanes, 2, &samples, &wanted, out, error));
    if (status == ULP_OK)
        x->doctor->overflow = out;
    return status == ULP_ERROR_MEMORY || status == ULP_ERROR_CANCELLED ? status : ULP_OK;
}
