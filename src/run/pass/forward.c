#include "run/pass/forward.h"

#include "base/memory/alloc.h"
#include "base/error.h"

enum ulp_status ulp_forward_open(struct ulp_forward *out, const struct ulp_program *program,
                                 int thread_count, struct ulp_error *error)
{
    struct ulp_budget *budget = ulp_model_budget(program->model);
    void *lanes = NULL, *fitted = NULL;
    *out = (struct ulp_forward){.program = program, .budget = budget, .mix = {.count = 1}};
    out->mix.items = &out->arithmetic;
    enum ulp_status status = ulp_pool_create(&out->pool, thread_count, error);
    if (status == ULP_OK) {
        ulp_pool_set_root(out->pool, budget);
        status = ulp_allocate_zero(&lanes, program->lane_count, sizeof *out->lanes, budget,
                                   "lanes of a run", error);
    }
    out->lanes = lanes;
    ULP_THEN(status, ulp_allocate_zero(&fitted, program->main->input_count + 1, sizeof *out->fitted,
                                       budget, "inputs of a run", error));
    out->fitted = fitted;
    ULP_THEN(status, ulp_arithmetic_find("fp64", &out->arithmetic, error));
    for (size_t l = 0; l < program->lane_count && status == ULP_OK; l++)
        status = ulp_lane_create(&out->lanes[l], &program->mixes[l], program->main, budget,
                                 out->pool, error);
    ULP_THEN(status,
             ulp_lane_create(&out->wide, &out->mix, program->main, budget, out->pool, error));
    if (status != ULP_OK)
        ulp_forward_close(out);
    return status;
}

void ulp_forward_end(struct ulp_forward *forward)
{
    for (size_t l = 0; forward->lanes && l < forward->program->lane_count; l++)
        if (forward->lanes[l].values)
            ulp_lane_clear(&forward->lanes[l]);
    if (forward->fitted)
        ulp_tensors_free(forward->fitted, forward->program->main->input_count);
}

void ulp_forward_close(struct ulp_forward *forward)
{
    ulp_forward_end(forward);
    for (size_t l = 0; forward->lanes && l < forward->program->lane_count; l++)
        ulp_lane_free(&forward->lanes[l]);
    if (forward->wide.values)
        ulp_lane_free(&forward->wide);
    ulp_free(forward->fitted);
    ulp_free(forward->lanes);
    ulp_pool_free(forward->pool);
    *forward = (struct ulp_forward){0};
}

static enum ulp_status begin_input(struct ulp_forward *forward, size_t i,
                                   const struct ulp_tensor *given, struct ulp_error *error)
{
    const struct ulp_block *block = forward->program->main;
    const int slot = block->inputs[i];
    struct ulp_tensor *fitted = &forward->fitted[i];
    struct ulp_lane *reference = &forward->lanes[0];
    struct ulp_format from;
    char found[200], planned[200];
    if (!given || !ulp_tensor_same_shape(given, &block->slots[slot].shape))
        return ulp_fail(error, ULP_ERROR_INPUT, "it is %s, but the program was made for %s",
                        given ? ulp_tensor_describe_text(given, found, sizeof found) : "not there",
                        ulp_tensor_describe_text(&block->slots[slot].shape, planned,
                                                 sizeof planned));
    ULP_TRY(ulp_fit_input(fitted, given, block->slots[slot].shape.type, forward->budget,
                          forward->pool, error));
    reference->values[slot] = ulp_tensor_view(fitted);
    if (!block->slots[slot].data || !ulp_element_is_float(fitted->element))
        return ULP_OK;
    ULP_TRY(ulp_format_find(ulp_type_rows[fitted->type].format, &from, error));
    return ulp_adapt(&reference->values[slot], fitted, &from, reference->mix->items, false,
                     forward->budget, forward->pool, error);
}

enum ulp_status ulp_forward_begin(struct ulp_forward *forward, const struct ulp_tensor_set *inputs,
                                  struct ulp_error *error)
{
    const struct ulp_block *block = forward->program->main;
    ulp_forward_end(forward);
    ULP_TRY(ulp_model_check_inputs(forward->program->model, inputs, error));
    for (size_t i = 0; i < block->input_count; i++) {
        const char *name = block->slots[block->inputs[i]].name;
        ULP_TRY(ulp_fail_at(error,
                            begin_input(forward, i, ulp_tensor_set_find(inputs, name), error),
                            "input '%s'", name));
    }
    return ULP_OK;
}

enum ulp_status ulp_forward_step(struct ulp_forward *forward, const struct ulp_step *step,
                                 struct ulp_arena *arena, struct ulp_error *error)
{
    struct ulp_lane *lane = &forward->lanes[0];
    struct ulp_inputs inputs;
    struct ulp_tensor *outputs = ulp_arena_take(arena, step->output_count + 1, sizeof *outputs);
    ULP_TRY(outputs ? ulp_inputs_create(&inputs, lane, step, arena, error)
                    : ulp_out_of_memory(error));
    ULP_TRY(ulp_lane_inputs(lane, step, &inputs, error));
    ULP_TRY(ulp_step_run(step, lane, inputs.at, outputs, error));
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0)
            lane->values[step->outputs[o]] = outputs[o];
        else
            ulp_tensor_free(&outputs[o]);
    return ULP_OK;
}

void ulp_forward_drop(struct ulp_forward *forward, const struct ulp_step *step)
{
    for (size_t l = 0; l < forward->program->lane_count; l++)
        ulp_lane_drop(&forward->lanes[l], step);
    ulp_lane_drop(&forward->wide, step);
}

/* ---- what other lanes read ---- */

static enum ulp_status take_inputs(struct ulp_forward_inputs *out, const struct ulp_step *step,
                                   struct ulp_arena *arena, struct ulp_error *error)
{
    *out = (struct ulp_forward_inputs){.count = step->input_count,
                                       .at = ulp_arena_take(arena, step->input_count + 1,
                                                            sizeof *out->at),
                                       .own = ulp_arena_take(arena, step->input_count + 1,
                                                             sizeof *out->own)};
    if (out->at && out->own)
        return ULP_OK;
    out->count = 0;
    return ulp_out_of_memory(error);
}

void ulp_forward_inputs_free(struct ulp_forward_inputs *inputs)
{
    ulp_tensors_free(inputs->own, inputs->count);
    inputs->count = 0;
}

static const struct ulp_arithmetic *reader_of(const struct ulp_lane *lane,
                                              const struct ulp_step *step, size_t i)
{
    return ulp_is_captured(step, i) ? ulp_lane_holder(lane, step->inputs[i])
                                    : ulp_lane_arithmetic(lane, step);
}

static enum ulp_status round_input(struct ulp_forward *forward, size_t l,
                                   const struct ulp_step *step, size_t i, struct ulp_tensor *own,
                                   const struct ulp_tensor **out, struct ulp_error *error)
{
    struct ulp_lane *lane = &forward->lanes[l], *reference = &forward->lanes[0];
    const int slot = step->inputs[i];
    struct ulp_format from;
    if (slot < 0)
        return ULP_OK;
    if (lane->block->slots[slot].constant)
        return ulp_lane_input(lane, step, i, own, out, error);
    *out = &reference->values[slot];
    if (!ulp_element_is_float((*out)->element) || ulp_is_as_given(lane->block, slot))
        return ULP_OK;
    enum ulp_status status = ulp_lane_held(reference, slot, *out, &from, error);
    ULP_THEN(status, ulp_adapt(own, *out, &from, reader_of(lane, step, i), ulp_takes_mixed(step, i),
                               forward->budget, forward->pool, error));
    *out = own;
    return status;
}

enum ulp_status ulp_forward_rounded(struct ulp_forward *forward, size_t l,
                                    const struct ulp_step *step, struct ulp_arena *arena,
                                    struct ulp_forward_inputs *out, struct ulp_error *error)
{
    ULP_TRY(take_inputs(out, step, arena, error));
    for (size_t i = 0; i < step->input_count; i++)
        ULP_TRY(round_input(forward, l, step, i, &out->own[i], &out->at[i], error));
    return ULP_OK;
}

enum ulp_status ulp_forward_widened(struct ulp_forward *forward, size_t l,
                                    const struct ulp_step *step,
                                    const struct ulp_tensor *const *rounded,
                                    const struct ulp_tensor *const *replace,
                                    struct ulp_arena *arena, struct ulp_forward_inputs *out,
                                    struct ulp_error *error)
{
    const struct ulp_block *block = forward->program->main;
    struct ulp_format from;
    ULP_TRY(take_inputs(out, step, arena, error));
    for (size_t i = 0; i < step->input_count; i++) {
        const int slot = step->inputs[i];
        out->at[i] = replace && replace[i] ? replace[i] : rounded[i];
        if (!out->at[i] || !ulp_element_is_float(out->at[i]->element) ||
            ulp_is_parameter(step, i) ||
            (!block->slots[slot].constant && ulp_is_as_given(block, slot)))
            continue;
        ULP_TRY(ulp_lane_format(reader_of(&forward->lanes[l], step, i), out->at[i]->type, &from,
                                error));
        ULP_TRY(ulp_adapt(&out->own[i], out->at[i], &from, &forward->arithmetic, false,
                          forward->budget, forward->pool, error));
        out->at[i] = &out->own[i];
    }
    return ULP_OK;
}

enum ulp_status ulp_forward_format(const struct ulp_forward *forward, size_t l,
                                   const struct ulp_step *step, enum ulp_type type,
                                   struct ulp_format *out, struct ulp_error *error)
{
    return ulp_type_rows[type].file_bits <= 8
               ? ulp_format_find(ulp_type_rows[type].format, out, error)
               : ulp_lane_format(ulp_lane_arithmetic(&forward->lanes[l], step), type, out, error);
}

enum ulp_status ulp_forward_store(struct ulp_forward *forward, size_t l,
                                  const struct ulp_step *step, const struct ulp_tensor *value,
                                  struct ulp_tensor *out, struct ulp_error *error)
{
    const struct ulp_arithmetic *arithmetic = ulp_lane_arithmetic(&forward->lanes[l], step);
    return ulp_adapt(out, value, &forward->arithmetic.storage, arithmetic, false, forward->budget,
                     forward->pool, error);
}
