/* Many samples at FP32's speed: of each the largest values in FP32, and the reference only where
 * one is larger than any before and near the end of a format. */
#include <math.h>
#include <string.h>

#include "analysis/overflow/meter.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "number/function/math.h"

/* Within these bits of a format's largest number. */
#define NEAR_BITS 3

/* One pass over a sample. */
struct scan {
    struct ulp_overflow_meter *meter;
    bool near, keep; /* keep: its figures are wanted */
};

static struct ulp_overflow_output *find_output(const struct ulp_overflow_node *node,
                                               const char *name)
{
    for (size_t o = 0; node && o < node->output_count; o++)
        if (strcmp(node->outputs[o].name, name) == 0)
            return &node->outputs[o];
    return NULL;
}

static double find_largest_value(const struct ulp_tensor *value)
{
    double largest = 0;
    for (size_t i = 0; i < value->count; i++) {
        const double size = fabs(ulp_tensor_get(value, i));
        if (!(size <= largest))
            largest = size; /* NaN stays: no comparison with it holds */
    }
    return largest;
}

static enum ulp_status look_at_event(void *context, const struct ulp_event *event,
                                     struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    (void)error;
    struct scan *scan = context;
    struct ulp_overflow_meter *meter = scan->meter;
    for (size_t o = 0; o < event->output_count; o++) {
        const struct ulp_tensor *value = event->values[o].entire;
        if (!value || !ulp_element_is_float(value->element))
            continue;
        const double largest = find_largest_value(value);
        for (size_t l = 0; l < meter->forecast.lane_count; l++) {
            struct ulp_overflow_output *output =
                find_output(meter->lanes[l].nodes[event->index], event->output_names[o]);
            if (!output)
                continue;
            const double near = ldexp(output->format.max_finite, -NEAR_BITS);
            scan->near |= !(largest <= ulp_math_max(near, output->scanned));
            output->scanned = ulp_math_max(output->scanned, largest);
            if (scan->keep)
                ulp_overflow_add(meter, output, value);
        }
    }
    return ULP_OK;
}

static enum ulp_status scan_sample(struct ulp_overflow_meter *meter,
                                   const struct ulp_tensor_set *inputs, bool keep, bool *near,
                                   struct ulp_error *error)
{
    const struct ulp_run_options options = {.thread_count = meter->thread_count};
    struct scan scan = {.meter = meter, .keep = keep};
    const struct ulp_observer observer = {.context = &scan, .node_done = look_at_event};
    const struct ulp_program_options plan_options = {.inputs = inputs};
    if (!meter->fast) {
        struct ulp_arithmetic fp32;
        ULP_TRY(ulp_arithmetic_find("fp32", &fp32, error));
        ULP_TRY(ulp_program_create(meter->forward.program->model, &fp32, 1, &plan_options,
                                   &meter->fast, error));
    }
    ULP_SCOPED(ulp_tensor_set_free) struct ulp_tensor_set outputs = {0};
    ULP_TRY(ulp_program_run(meter->fast, inputs, &options, &observer, 1, keep ? &outputs : NULL,
                            NULL, error));
    const struct ulp_block *main = meter->fast ? meter->fast->main : NULL;
    for (size_t o = 0; o < outputs.count; o++)
        if (ulp_block_computes(main, main->outputs[o]))
            ULP_TRY(ulp_overflow_judge_output(meter, outputs.items[o].name,
                                              &outputs.items[o].tensor, NULL, error));
    *near = scan.near;
    return ULP_OK;
}

/* An input beyond a format may turn a comparison, which no float shows. */
static bool is_input_beyond(const struct ulp_overflow_meter *meter,
                            const struct ulp_tensor_set *inputs)
{
    bool beyond = false;
    for (size_t i = 0; inputs && i < inputs->count; i++)
        for (size_t l = 0; l < meter->forecast.lane_count; l++)
            beyond |= ulp_element_is_float(inputs->items[i].tensor.element) &&
                      !(find_largest_value(&inputs->items[i].tensor) <=
                        meter->forecast.lanes[l].arithmetic.storage.max_finite);
    return beyond;
}

enum ulp_status ulp_overflow_meter_scan(struct ulp_overflow_meter *meter, const char *name,
                                        const struct ulp_tensor_set *inputs,
                                        const struct ulp_observer *observer,
                                        struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    const bool first = meter->forecast.sample_count == 0;
    bool near = true;
    if (first)
        ULP_TRY(ulp_overflow_meter_sample(meter, name, inputs, observer, error));
    ULP_TRY(scan_sample(meter, inputs, false, &near, error));
    if (first)
        return ULP_OK;
    if (near || is_input_beyond(meter, inputs))
        return ulp_overflow_meter_sample(meter, name, inputs, observer, error);
    ULP_TRY(ulp_overflow_begin(meter, name, inputs, error));
    ULP_TRY(scan_sample(meter, inputs, true, &near, error));
    meter->forecast.scanned_count++;
    return ULP_OK;
}
