#include "run/pass/stages.h"

#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "number/format/scaling.h"
#include "number/round/round.h"

/* FP64 has 53 bits: what it rounds is below 2^-20 of what a storage of so many rounds. */
#define PRECISION_MAX 32

/* The lanes that a stage reads from, and what it is computed in. */
struct ladder {
    const struct ulp_stages *stages;
    struct ulp_arena *arena;
    struct ulp_arithmetic wide; /* FP64 */
    struct ulp_arithmetic own;  /* the lane's, of this step */
    struct ulp_mix wide_mix;
    struct ulp_lane lane, exact;  /* without values but what the step reads */
    struct ulp_inputs inputs;     /* as the lane reads them */
    struct ulp_tensor *rounded;   /* by input: as factors of products, constants only */
    struct ulp_tensor *widened;   /* by input: as the lane reads them, in FP64 */
    struct ulp_tensor *held;      /* by input: the same before a Cast at the border to this node */
    struct ulp_tensor *fitted;    /* by input: the same as the elements that a stage stores */
    const struct ulp_tensor **at; /* by input: what the next stage is given */
    const struct ulp_tensor **reads; /* by input: what it reads of that */
    struct ulp_tensor *outputs;
    bool gathers; /* from a constant: ulp_takes_table */
    bool refits;  /* some value is not in a format that factors of products hold */
    bool ran; /* outputs are a stage's; else there are none, and the results are the exact ones */
};

bool ulp_stages_apply(const struct ulp_stages *stages)
{
    const struct ulp_arithmetic *own = ulp_mix_computes(stages->mix, stages->step->number);
    return !stages->step->bound.blocks &&
           !ulp_step_integer(stages->mix, stages->block, stages->step) &&
           own->storage.carrier != ULP_CARRIER_MPFR && own->storage.precision <= PRECISION_MAX &&
           own->compute.carrier != ULP_CARRIER_MPFR;
}

static bool rounds_each_step(const struct ulp_arithmetic *own)
{
    return own->place == ULP_ROUND_EACH_STEP || ulp_format_holds(&own->storage, &own->compute);
}

/* Factors with scales are scaled back in FP64 up to the stage that sums elements: first the
 * weights, then all. */
static void round_scaled(struct ulp_arithmetic *out, const struct ulp_arithmetic *own,
                         enum ulp_stage stage)
{
    const bool weights = own->weights.name[0];
    if (weights || stage == ULP_STAGE_WEIGHTS)
        out->weights = weights ? own->weights : own->scaling[1];
    else
        memcpy(out->scaling, own->scaling, sizeof out->scaling);
    out->scales_static = own->scales_static;
    out->ranges = own->ranges;
    if (weights || ulp_scaling_is_fake(own))
        out->factor = own->factor;
}

/* What the stage is computed in. */
static struct ulp_arithmetic choose_arithmetic(const struct ladder *ladder, enum ulp_stage stage)
{
    struct ulp_arithmetic out = ladder->wide;
    if (ladder->gathers) { /* what it lowers of a constant is all that it rounds */
        out = ladder->own;
        out.as_declared = out.half_as_float = false;
        out.fuse = ULP_FUSE_NONE;
        return out;
    }
    /* attention multiplies its weights before or after it divides them by their sum, as this says
     */
    out.reduce = ladder->own.reduce;
    out.reduce_block = ladder->own.reduce_block;
    if (stage == ULP_STAGE_INPUTS) { /* keys and values as caches hold them */
        memcpy(out.caches, ladder->own.caches, sizeof out.caches);
        out.cached = ladder->own.cached;
    }
    if (ulp_scaling_is_used(&ladder->own) &&
        (stage == ULP_STAGE_WEIGHTS || stage == ULP_STAGE_INPUTS)) {
        round_scaled(&out, &ladder->own, stage);
    } else if (stage == ULP_STAGE_INPUTS) {
        out.factor = ladder->own.factor;
        out.schedule.levels_obeyed = ladder->own.schedule.levels_obeyed; /* they round inputs */
        out.schedule.operand_rounding = ladder->own.schedule.operand_rounding;
    } else if (stage >= ULP_STAGE_SUMS) {
        const bool holds = ulp_format_holds(&ladder->own.compute, &ladder->own.storage);
        out = ladder->own;
        out.storage =
            stage == ULP_STAGE_STEPS && holds ? ladder->own.compute : ladder->wide.storage;
        out.as_declared = out.half_as_float = false;
        out.fuse = ULP_FUSE_NONE;
    }
    if (stage == ULP_STAGE_SUMS) {
        out.compute = ladder->wide.compute;
        out.place = ladder->wide.place;
        out.cuda_functions = false;
        out.plain_exponentials = out.norms_torch = false;
        out.steps = ULP_STEPS_ALIKE;
    }
    return out;
}

/* A constant that is a factor, rounded as products round it; *in stays what it is where nothing
 * changes. */
static enum ulp_status round_factor(struct ladder *ladder, const struct ulp_tensor *in,
                                    struct ulp_tensor *out, struct ulp_error *error)
{
    const struct ulp_arithmetic *own = &ladder->own;
    *out = ulp_tensor_view(in);
    if (ulp_scaling_is_used(own) || ulp_format_holds(&own->factor, &own->storage) ||
        ulp_type_rows[in->type].file_bits <= 8)
        return ULP_OK;
    ULP_TRY(
        ulp_tensor_create_like(out, in, in->element, in->precision, ladder->stages->budget, error));
    return ulp_tensor_convert(out, in, &own->factor, own->schedule.operand_rounding, 0,
                              ladder->stages->pool, error);
}

static bool is_constant(const struct ladder *ladder, size_t i)
{
    const int slot = ladder->stages->step->inputs[i];
    return slot >= 0 && ladder->stages->block->slots[slot].constant;
}

/* What the first stage is given of input i: a constant as the model has it, a value as its producer
 * left it. */
static enum ulp_status widen_exact(struct ladder *ladder, size_t i, struct ulp_error *error)
{
    const struct ulp_stages *stages = ladder->stages;
    const struct ulp_tensor *value = stages->values[i];
    const int slot = stages->step->inputs[i];
    struct ulp_format from;
    if (is_constant(ladder, i))
        return ulp_lane_input(&ladder->exact, stages->step, i, NULL, &ladder->at[i], error);
    if (ulp_lane_is_uniform(&ladder->lane) || ulp_slot_holder(stages->block, slot) == ULP_NO_NODE)
        return ULP_OK;
    enum ulp_status status = ulp_lane_held(&ladder->lane, slot, value, &from, error);
    ULP_THEN(status,
             ulp_adapt(&ladder->held[i], value, &from, &ladder->wide,
                       ulp_takes_mixed(stages->step, i), stages->budget, stages->pool, error));
    ladder->at[i] = &ladder->held[i];
    return status;
}

/* Input i as the lane reads it, in FP64, and what the first stage is given. */
static enum ulp_status widen_input(struct ladder *ladder, size_t i, struct ulp_error *error)
{
    const struct ulp_step *step = ladder->stages->step;
    const struct ulp_tensor *read = ladder->inputs.at[i];
    const int slot = step->inputs[i];
    const bool constant = is_constant(ladder, i);
    struct ulp_format from;
    enum ulp_status status = ULP_OK;
    ladder->at[i] = read;
    if (ulp_takes_table(&ladder->lane, step, i)) {
        const struct ulp_arithmetic *reads = ulp_lane_reads(&ladder->lane, step, i);
        if (!reads->as_declared)
            ladder->own = *reads;
        ladder->gathers = true;
        return ULP_OK;
    }
    if (!read || !ulp_element_is_float(read->element) || ulp_is_parameter(step, i) ||
        (!constant && ulp_is_as_given(ladder->stages->block, slot)))
        return ULP_OK;
    if (constant && ulp_is_weight(&step->bound, i)) {
        status = round_factor(ladder, read, &ladder->rounded[i], error);
        read = &ladder->rounded[i];
    }
    ULP_THEN(status,
             ulp_lane_format(ulp_lane_reads(&ladder->lane, step, i), read->type, &from, error));
    ladder->refits |= status == ULP_OK && !ulp_format_holds(&ladder->own.factor, &from);
    ULP_THEN(status,
             ulp_adapt(&ladder->widened[i], read, &from, &ladder->wide, ulp_takes_mixed(step, i),
                       ladder->stages->budget, ladder->stages->pool, error));
    ladder->at[i] = &ladder->widened[i];
    return status == ULP_OK ? widen_exact(ladder, i, error) : status;
}

static enum ulp_status open_ladder(struct ladder *ladder, const struct ulp_stages *stages,
                                   struct ulp_error *error)
{
    const struct ulp_step *step = stages->step;
    const size_t room = step->input_count + 1;
    ladder->stages = stages;
    ladder->wide_mix = (struct ulp_mix){.count = 1, .items = &ladder->wide};
    ULP_TRY(ulp_arena_create(&ladder->arena, stages->budget, error));
    if (!(ladder->rounded = ulp_arena_take(ladder->arena, room, sizeof *ladder->rounded)) ||
        !(ladder->widened = ulp_arena_take(ladder->arena, room, sizeof *ladder->widened)) ||
        !(ladder->held = ulp_arena_take(ladder->arena, room, sizeof *ladder->held)) ||
        !(ladder->fitted = ulp_arena_take(ladder->arena, room, sizeof *ladder->fitted)) ||
        !(ladder->reads = ulp_arena_take(ladder->arena, room, sizeof *ladder->reads)) ||
        !(ladder->at = ulp_arena_take(ladder->arena, room, sizeof *ladder->at)) ||
        !(ladder->outputs =
              ulp_arena_take(ladder->arena, step->output_count + 1, sizeof *ladder->outputs)))
        return ulp_out_of_memory(error);
    ULP_TRY(ulp_arithmetic_find("fp64", &ladder->wide, error));
    ULP_TRY(ulp_lane_create(&ladder->lane, stages->mix, stages->block, stages->budget, stages->pool,
                            error));
    ULP_TRY(ulp_lane_create(&ladder->exact, &ladder->wide_mix, stages->block, stages->budget,
                            stages->pool, error));
    ULP_TRY(ulp_inputs_create(&ladder->inputs, &ladder->lane, step, ladder->arena, error));
    for (size_t i = 0; i < step->own_input_count; i++)
        if (stages->values[i])
            ladder->lane.values[step->inputs[i]] = ulp_tensor_view(stages->values[i]);
    ULP_TRY(ulp_lane_inputs(&ladder->lane, step, &ladder->inputs, error));
    ULP_TRY(ulp_step_arithmetic(step, &ladder->lane, ladder->inputs.at, &ladder->own, error));
    for (size_t i = 0; i < step->own_input_count; i++)
        ULP_TRY(widen_input(ladder, i, error));
    return ULP_OK;
}

static void close_ladder(struct ladder *ladder)
{
    const size_t count = ladder->stages->step->input_count;
    ulp_inputs_free(&ladder->inputs);
    for (size_t i = 0; ladder->outputs && i < count; i++) { /* it was taken last */
        ulp_tensor_free(&ladder->rounded[i]);
        ulp_tensor_free(&ladder->widened[i]);
        ulp_tensor_free(&ladder->held[i]);
        ulp_tensor_free(&ladder->fitted[i]);
    }
    ulp_lane_free(&ladder->lane);
    ulp_lane_free(&ladder->exact);
    ulp_arena_free(ladder->arena);
}

static enum ulp_status copy_exact(const struct ladder *ladder, size_t o, struct ulp_error *error)
{
    const struct ulp_tensor *exact = &ladder->stages->exact[o];
    struct ulp_tensor *out = &ladder->outputs[o];
    *out = ulp_tensor_view(exact);
    out->data = NULL;
    return ulp_tensor_allocate(out, ladder->stages->budget, error);
}

/* The results of the stage before, rounded to what the lane stores. */
static enum ulp_status round_results(struct ladder *ladder, struct ulp_error *error)
{
    const struct ulp_stages *stages = ladder->stages;
    for (size_t o = 0; o < stages->step->output_count; o++) {
        const struct ulp_tensor *from = ladder->ran ? &ladder->outputs[o] : &stages->exact[o];
        if (!from->data || !ulp_element_is_float(from->element) ||
            ulp_type_rows[from->type].file_bits <= 8)
            continue;
        if (!ladder->ran)
            ULP_TRY(copy_exact(ladder, o, error));
        ULP_TRY(ulp_tensor_convert(&ladder->outputs[o], from, &ladder->own.storage,
                                   ladder->own.rounding, ladder->own.seed, stages->pool, error));
    }
    return ULP_OK;
}

static void free_results(struct ladder *ladder)
{
    ulp_tensors_free(ladder->outputs, ladder->stages->step->output_count);
}

/* What the stage reads of input i: values in FP64 also as the elements of the stage's storage, for
 * operators that copy them beside what they compute. The storage holds each of them. */
static enum ulp_status fit_input(struct ladder *ladder, const struct ulp_arithmetic *arithmetic,
                                 size_t i, const struct ulp_tensor **out, struct ulp_error *error)
{
    const struct ulp_stages *stages = ladder->stages;
    const struct ulp_tensor *value = ladder->at[i];
    *out = value;
    if (value != &ladder->widened[i] && value != &ladder->held[i])
        return ULP_OK;
    ulp_tensor_free(&ladder->fitted[i]);
    *out = &ladder->fitted[i];
    return ulp_adapt(&ladder->fitted[i], value, &ladder->wide.storage, arithmetic,
                     ulp_takes_mixed(stages->step, i), stages->budget, stages->pool, error);
}

static bool is_read_at(const struct ladder *ladder, size_t i, enum ulp_stage stage)
{
    return ladder->widened[i].type != ULP_TYPE_UNDEFINED &&
           stage == (is_constant(ladder, i) ? ULP_STAGE_WEIGHTS : ULP_STAGE_INPUTS);
}

/* Is some value another from this stage on? */
static bool changes_values(const struct ladder *ladder, enum ulp_stage stage)
{
    for (size_t i = 0; i < ladder->stages->step->own_input_count; i++) {
        const struct ulp_tensor *was = ladder->at[i], *is = &ladder->widened[i];
        if (is_read_at(ladder, i, stage) && was != is &&
            (was->element != is->element || was->count != is->count ||
             (is->count && memcmp(was->data, is->data, is->count * is->element_bytes) != 0)))
            return true;
    }
    return false;
}

/* Does the stage round anything that the ones before do not? A formula multiplies no factors, and
 * one without reductions has no sums. What is not one product of what it reads, with one weight,
 * multiplies values that it has made itself. */
static bool rounds_more(const struct ladder *ladder, enum ulp_stage stage)
{
    const struct ulp_bound *bound = &ladder->stages->step->bound;
    const struct ulp_operator *op = bound->op;
    const bool formula = op->formula != NULL,
               scaled = !formula && ulp_scaling_is_used(&ladder->own),
               makes_factors = !formula && (op->kernel || op->formulas || !bound->weights ||
                                            (bound->weights & (bound->weights - 1)) != 0);
    if (ladder->gathers)
        return stage == ULP_STAGE_WEIGHTS;
    if (stage == ULP_STAGE_SUMS)
        return !formula || ulp_tape_reduces(bound->tape);
    return stage == ULP_STAGE_STEPS || scaled || changes_values(ladder, stage) ||
           (stage == ULP_STAGE_INPUTS && !formula && (ladder->refits || makes_factors));
}

static enum ulp_status run_stage(struct ladder *ladder, enum ulp_stage stage,
                                 struct ulp_error *error)
{
    const struct ulp_stages *stages = ladder->stages;
    struct ulp_arithmetic arithmetic = choose_arithmetic(ladder, stage);
    const struct ulp_mix mix = {.count = 1, .items = &arithmetic};
    /* which needs no memory for values: all that the step reads is given */
    struct ulp_lane lane = {.mix = &mix,
                            .block = stages->block,
                            .lowered_bytes_max = SIZE_MAX,
                            .budget = stages->budget,
                            .pool = stages->pool};
    free_results(ladder);
    ladder->ran = true;
    for (size_t i = 0; i < stages->step->own_input_count; i++)
        ULP_TRY(fit_input(ladder, &arithmetic, i, &ladder->reads[i], error));
    return ulp_step_run(stages->step, &lane, ladder->reads, ladder->outputs, error);
}

enum ulp_status ulp_stages_run(const struct ulp_stages *stages, bool *results_first,
                               struct ulp_error *error)
{
    struct ladder ladder = {0};
    enum ulp_status status = open_ladder(&ladder, stages, error);
    *results_first = rounds_each_step(&ladder.own);
    for (enum ulp_stage stage = 0; stage < ULP_STAGE_COUNT && status == ULP_OK; stage++) {
        const bool more = rounds_more(&ladder, stage);
        for (size_t i = 0; i < stages->step->own_input_count; i++)
            if (is_read_at(&ladder, i, stage))
                ladder.at[i] = &ladder.widened[i];
        if (stage == ULP_STAGE_STEPS && *results_first)
            status = round_results(&ladder, error);
        else if (more)
            status = run_stage(&ladder, stage, error);
        else
            continue;
        ULP_THEN(status, stages->stage(stages->context, stage, ladder.outputs, error));
    }
    free_results(&ladder);
    close_ladder(&ladder);
    return status;
}
