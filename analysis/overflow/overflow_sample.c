/* What a forecast asks of each sample before anything is said of it: is there something to judge,
 * and does the reference itself hold it? */
#include <math.h>
#include <stdlib.h>

#include "analysis/audit/certify.h"
#include "analysis/measure/judge.h"
#include "analysis/overflow/meter.h"
#include "base/error.h"

static const struct ulp_tensor *find_slot_value(const struct ulp_overflow_meter *meter, int slot)
{
    const struct ulp_program_slot *planned = &meter->forward.program->main->slots[slot];
    return planned->constant ? planned->constant : ulp_overflow_truth(meter, slot);
}

/* Infinities alone: NaN is no overflow. */
static bool has_infinity(const struct ulp_tensor *value)
{
    bool any = false;
    for (size_t i = 0; ulp_element_is_float(value->element) && i < value->count; i++)
        any |= isinf(ulp_tensor_get(value, i)) != 0;
    return any;
}

static bool is_wide(const struct ulp_overflow_meter *meter)
{
    return meter->forward.program->lanes[0].storage.carrier == ULP_CARRIER_MPFR;
}

/* Magnitudes are judged, of which a byte is enough. */
#define BITS_LEFT 8

static enum ulp_status look_for_loss(struct ulp_overflow_meter *meter, const struct ulp_step *step,
                                     struct ulp_arena *arena, struct ulp_error *error)
{
    const struct ulp_program *program = meter->forward.program;
    const size_t room = step->input_count + step->output_count + 1;
    size_t inputs = 0, outputs = 0;
    ULP_TAKE_ARRAY(const char *, names, arena, room, error);
    ULP_TAKE_ARRAY(struct ulp_lane_value, values, arena, room, error);
    for (size_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] >= 0) {
            names[inputs] = program->main->slots[step->inputs[i]].name;
            values[inputs++].entire = find_slot_value(meter, step->inputs[i]);
        }
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0) {
            names[inputs + outputs] = program->main->slots[step->outputs[o]].name;
            values[inputs + outputs++].entire = ulp_overflow_truth(meter, step->outputs[o]);
        }
    const struct ulp_event event = {.index = step->number,
                                    .input_count = inputs,
                                    .input_names = names,
                                    .inputs = values,
                                    .output_count = outputs,
                                    .output_names = names + inputs,
                                    .values = values + inputs};
    return ulp_lost_look(&meter->lost, &event, NULL, error);
}

enum ulp_status ulp_overflow_look_at_reference(struct ulp_overflow_meter *meter,
                                               const struct ulp_step *step, struct ulp_arena *arena,
                                               struct ulp_error *error)
{
    bool infinite = false, finite = true;
    ULP_TRY(look_for_loss(meter, step, arena, error));
    for (size_t o = 0; o < step->output_count; o++) {
        const int slot = step->outputs[o];
        const struct ulp_tensor *value = slot < 0 ? NULL : ulp_overflow_truth(meter, slot);
        if (!value || (meter->nonfinite && (is_wide(meter) || meter->forecast.beyond_reference)) ||
            !ulp_judge_count_nonfinite(value))
            continue;
        meter->nonfinite = true;
        infinite |= has_infinity(value);
    }
    for (size_t i = 0; i < step->input_count && infinite && finite; i++)
        finite = step->inputs[i] < 0 ||
                 !ulp_judge_count_nonfinite(find_slot_value(meter, step->inputs[i]));
    if (!infinite || !finite || is_wide(meter) || meter->forecast.beyond_reference)
        return ULP_OK;
    meter->forecast.beyond_reference = ulp_arena_copy(meter->forecast.memory, step->name);
    return ulp_taken(meter->forecast.beyond_reference, error);
}

/* Where digits may be lost, MPFR says whether they are; of FP64 nothing is known behind that sum.
 */
static enum ulp_status judge_digits(struct ulp_overflow_meter *meter,
                                    const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    struct ulp_overflow_forecast *forecast = &meter->forecast;
    const struct ulp_program *program = meter->forward.program;
    const struct ulp_run_options run = {.thread_count = meter->thread_count};
    const size_t at = meter->lost.node;
    struct ulp_certificate certificate = {.lost = true, .lost_at = at};
    if (!meter->lost.suspected)
        return ULP_OK;
    if (!is_wide(meter)) {
        if (!forecast->beyond_reference)
            forecast->beyond_reference =
                ulp_arena_copy(forecast->memory, ulp_program_node_name(program, at));
        return ulp_taken(forecast->beyond_reference, error);
    }
    const enum ulp_status status =
        ulp_certify(program->model, &program->lanes[0], inputs, &run, NULL, &certificate, error);
    free(certificate.node);
    ULP_TRY(status);
    return ulp_taken(!ulp_certificate_is_lost(&certificate) ||
                         ulp_unjudged_add_lost(forecast->memory, &forecast->unjudged, &certificate,
                                               ulp_program_node_name(program, at),
                                               ulp_program_node_op(program, at),
                                               forecast->reference,
                                               forecast->sample_names[meter->sample]),
                     error);
}

/* An output of the model. */
static enum ulp_status judge_output(struct ulp_overflow_meter *meter, const char *name,
                                    const struct ulp_tensor *value,
                                    const struct ulp_birth_watch *births, struct ulp_error *error)
{
    struct ulp_overflow_forecast *forecast = &meter->forecast;
    const struct ulp_birth *birth = ulp_birth_of(births->items, births->count, name);
    enum ulp_crossing_kind kind = ulp_judge_reference(value, NULL); /* 0 overflows nowhere */
    if (kind == ULP_CROSSED_VALUE && birth)
        kind = ULP_CROSSED_REFERENCE;
    return ulp_taken(kind == ULP_CROSSED_VALUE ||
                         ulp_unjudged_add_birth(forecast->memory, &forecast->unjudged, kind, birth,
                                                name, forecast->sample_names[meter->sample]),
                     error);
}

enum ulp_status ulp_overflow_judge_outputs(struct ulp_overflow_meter *meter,
                                           const struct ulp_tensor_set *inputs,
                                           struct ulp_error *error)
{
    const struct ulp_program *program = meter->forward.program;
    const struct ulp_block *block = program->main;
    struct ulp_overflow_forecast *forecast = &meter->forecast;
    struct ulp_birth_watch births = {.memory = meter->memory};
    ULP_TRY(judge_digits(meter, inputs, error));
    if (meter->nonfinite)
        ULP_TRY(ulp_birth_find(&births, program->model, &program->lanes[0], inputs,
                               meter->thread_count, NULL, error));
    for (size_t o = 0; o < block->output_count; o++)
        if (ulp_block_computes(block, block->outputs[o]))
            ULP_TRY(judge_output(meter, ulp_model_output(program->model, o).name,
                                 find_slot_value(meter, block->outputs[o]), &births, error));
    const struct ulp_birth *hidden = ulp_birth_of(births.items, births.count, NULL);
    return ulp_taken(!hidden || hidden->output_count ||
                         ulp_unjudged_add_birth(forecast->memory, &forecast->unjudged,
                                                ULP_CROSSED_HIDDEN, hidden, NULL,
                                                forecast->sample_names[meter->sample]),
                     error);
}

static bool computes_output(const struct ulp_block *block)
{
    for (size_t o = 0; o < block->output_count; o++)
        if (ulp_block_computes(block, block->outputs[o]))
            return true;
    return false;
}

enum ulp_status ulp_overflow_begin(struct ulp_overflow_meter *meter, const char *name,
                                   const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    struct ulp_overflow_forecast *forecast = &meter->forecast;
    if (!ULP_ARENA_GROWS(forecast->sample_names, forecast->memory, forecast->sample_count,
                         meter->sample_capacity) ||
        !(forecast->sample_names[forecast->sample_count] = ulp_arena_copy(forecast->memory, name)))
        return ulp_out_of_memory(error);
    forecast->drawn |= inputs->drawn;
    const struct ulp_arithmetic *const lane = &meter->forward.program->lanes[0];
    const int bits = ulp_lost_bits(lane);
    meter->sample = forecast->sample_count++;
    meter->nonfinite = false;
    meter->lost = (struct ulp_lost){.program = meter->forward.program,
                                    .bits = bits ? bits : lane->storage.precision,
                                    .left = BITS_LEFT,
                                    .values = meter->lost.values};
    ulp_lost_start(&meter->lost);
    const bool added =
        ulp_unjudged_add_inputs(forecast->memory, &forecast->unjudged, inputs, name) &&
        (computes_output(meter->forward.program->main) || forecast->sample_count > 1 ||
         ulp_unjudged_add(forecast->memory, &forecast->unjudged,
                          (struct ulp_unjudged){.reason =
                                                    ulp_judge_reason(ULP_CROSSED_NO_OUTPUT)}));
    return ulp_taken(added, error);
}
