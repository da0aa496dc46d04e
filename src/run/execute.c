/* The one walk: every node once, every lane computes it, observers see it, dead values go. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "run/lane.h"

/* Evaluations of one step by one lane; tensors are owned here until they move to the lane or are freed. */
struct evaluation {
    struct ulp_tensor *entire, *single, *here; /* output_count each */
    bool single_is_entire, here_is_reference;  /* views of others: inputs were equal */
    bool skipped;                              /* nothing was computed */
};

struct walk {
    const struct ulp_plan *plan;
    const struct ulp_run_options *options;
    const struct ulp_observer *observers;
    size_t observer_count;
    struct ulp_budget budget;
    struct ulp_pool *pool;
    struct ulp_packed *packed;
    struct ulp_lane *lanes;
    double started, cost_done;
};

static enum ulp_status out_of_memory(struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory");
}

/* The inputs a step has in one lane. */
static enum ulp_status own_inputs(struct ulp_lane *lane, const struct ulp_step *step, const struct ulp_tensor **inputs,
                                  struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < step->input_count && status == ULP_OK; i++)
        status = ulp_lane_input(lane, step, i, &inputs[i], error);
    return status;
}

static bool is_input(const struct ulp_block *block, int slot)
{
    for (size_t i = 0; i < block->input_count; i++)
        if (block->inputs[i] == slot)
            return true;
    return false;
}

/* The inputs of `source` for a step run in the arithmetic of `lane`: constants are lane's own. Conversions are kept in temporaries. */
static enum ulp_status foreign_inputs(struct ulp_lane *lane, struct ulp_lane *source, const struct ulp_step *step,
                                      struct ulp_tensor *temporaries, const struct ulp_tensor **inputs, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < step->input_count && status == ULP_OK; i++) {
        int slot = step->inputs[i];
        if (slot < 0 || lane->block->slots[slot].constant) {
            status = ulp_lane_input(lane, step, i, &inputs[i], error);
            continue;
        }
        const struct ulp_tensor *value = &source->values[slot];
        struct ulp_format from = {0};
        if (!lane->block->slots[slot].data && is_input(lane->block, slot)) {
            inputs[i] = value; /* every lane has it as it was given */
            continue;
        }
        if (ulp_element_is_float(value->element))
            status = ulp_lane_format(source->arithmetic, value->type, &from, error);
        if (status == ULP_OK)
            status = ulp_adapt(&temporaries[i], value, &from, lane->arithmetic, ulp_takes_mixed(step->bound.op), lane->budget, lane->pool,
                               error);
        inputs[i] = &temporaries[i];
    }
    return status;
}

static void free_tensors(struct ulp_tensor *tensors, size_t count)
{
    for (size_t i = 0; tensors && i < count; i++)
        ulp_tensor_free(&tensors[i]);
}

static bool same_bits(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    return a == b || (a && b && a->element == b->element && a->precision == b->precision && ulp_tensor_same_shape(a, b) &&
                      (a->data == b->data || memcmp(a->data, b->data, a->count * a->element_bytes) == 0));
}

static bool all_same(const struct ulp_tensor *const *a, const struct ulp_tensor *const *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!same_bits(a[i], b[i]))
            return false;
    return true;
}

static bool any_float_computed(const struct ulp_step *step, const struct ulp_tensor *const *inputs, const struct ulp_block *block)
{
    for (size_t i = 0; i < step->input_count; i++)
        if (inputs[i] && ulp_element_is_float(inputs[i]->element) && !block->slots[step->inputs[i]].constant)
            return true;
    return false;
}

/* Entire, single and here of one lane. The reference's inputs and results are known. */
static enum ulp_status evaluate_lane(struct walk *walk, const struct ulp_step *step, struct ulp_lane *lane,
                                     const struct ulp_tensor *const *reference_inputs, struct evaluation *out, struct ulp_arena *arena,
                                     struct ulp_error *error)
{
    const struct ulp_tensor **own = ulp_arena_take(arena, step->input_count + 1, sizeof *own);
    const struct ulp_tensor **foreign = ulp_arena_take(arena, step->input_count + 1, sizeof *foreign);
    struct ulp_tensor *temporaries = ulp_arena_take(arena, step->input_count + 1, sizeof *temporaries);
    if (!own || !foreign || !temporaries)
        return out_of_memory(error);
    struct ulp_lane *reference = &walk->lanes[0];
    if (walk->options->isolated && lane != reference) {
        out->skipped = !step->bound.op->mixed;
        if (out->skipped)
            return ULP_OK;
        enum ulp_status status = foreign_inputs(lane, reference, step, temporaries, foreign, error);
        if (status == ULP_OK)
            status = ulp_step_run(step, lane, foreign, out->entire, error);
        free_tensors(temporaries, step->input_count);
        return status;
    }
    enum ulp_status status = own_inputs(lane, step, own, error);
    if (status == ULP_OK)
        status = ulp_step_run(step, lane, own, out->entire, error);
    if (status != ULP_OK || lane == reference || !walk->options->audit)
        return status;

    status = foreign_inputs(lane, reference, step, temporaries, foreign, error);
    out->single_is_entire = status == ULP_OK && all_same(own, foreign, step->input_count);
    if (status == ULP_OK && !out->single_is_entire)
        status = ulp_step_run(step, lane, foreign, out->single, error);
    free_tensors(temporaries, step->input_count);
    if (status != ULP_OK)
        return status;

    /* With integer inputs only, equal to the reference's, R(p) is R(r). */
    if (!any_float_computed(step, own, lane->block)) {
        bool equal = true;
        for (size_t i = 0; i < step->input_count; i++)
            equal = equal && (step->inputs[i] < 0 || lane->block->slots[step->inputs[i]].constant ||
                              same_bits(own[i], reference_inputs[i]));
        out->here_is_reference = equal;
    }
    if (!out->here_is_reference) {
        status = foreign_inputs(reference, lane, step, temporaries, foreign, error);
        if (status == ULP_OK)
            status = ulp_step_run(step, reference, foreign, out->here, error);
        free_tensors(temporaries, step->input_count);
    }
    return status;
}

/* What observers are told about a step. */
static enum ulp_status tell(struct walk *walk, size_t index, const struct ulp_step *step, const struct evaluation *evaluations,
                            double seconds, struct ulp_arena *arena, struct ulp_error *error)
{
    const struct ulp_block *block = walk->plan->main;
    size_t lanes = walk->plan->lane_count, outputs = 0, inputs = 0;
    const char **output_names = ulp_arena_take(arena, step->output_count + 1, sizeof *output_names);
    int *positions = ulp_arena_take(arena, step->output_count + 1, sizeof *positions);
    const char **input_names = ulp_arena_take(arena, step->input_count + 1, sizeof *input_names);
    struct ulp_lane_value *values = ulp_arena_take(arena, lanes * step->output_count + 1, sizeof *values);
    struct ulp_lane_value *input_values = ulp_arena_take(arena, lanes * step->input_count + 1, sizeof *input_values);
    if (!output_names || !positions || !input_names || !values || !input_values)
        return out_of_memory(error);
    for (size_t o = 0; o < step->output_count; o++)
        if (step->outputs[o] >= 0) {
            output_names[outputs] = block->slots[step->outputs[o]].name;
            positions[outputs++] = (int)o;
        }
    int *input_slots = ulp_arena_take(arena, step->input_count + 1, sizeof *input_slots);
    if (!input_slots)
        return out_of_memory(error);
    for (size_t i = 0; i < (step->bound.blocks ? step->input_count : step->own_input_count); i++)
        if (step->inputs[i] >= 0 && !block->slots[step->inputs[i]].constant) {
            input_names[inputs] = block->slots[step->inputs[i]].name;
            input_slots[inputs++] = step->inputs[i];
        }
    for (size_t l = 0; l < lanes; l++) {
        for (size_t i = 0; i < inputs; i++)
            input_values[l * inputs + i].entire = &walk->lanes[l].values[input_slots[i]];
        for (size_t o = 0; o < outputs; o++) {
            int slot = step->outputs[positions[o]];
            struct ulp_lane_value *value = &values[l * outputs + o];
            const struct evaluation *evaluation = &evaluations[l];
            if (step->folded || !evaluation->entire) {
                const struct ulp_tensor *constant = block->slots[slot].constant;
                *value = (struct ulp_lane_value){constant, l ? constant : NULL, l ? constant : NULL};
                continue;
            }
            value->entire = evaluation->skipped ? NULL : &evaluation->entire[positions[o]];
            if (l == 0 || !walk->options->audit)
                continue;
            value->single = evaluation->single_is_entire ? value->entire : &evaluation->single[positions[o]];
            value->here = evaluation->here_is_reference ? &evaluations[0].entire[positions[o]] : &evaluation->here[positions[o]];
        }
    }
    struct ulp_event event = {
        .index = index,
        .node_count = block->step_count,
        .name = step->name,
        .op = step->bound.node->op_type,
        .quantizes = step->bound.op->quantizes,
        .output_count = outputs,
        .output_names = output_names,
        .output_positions = positions,
        .lane_count = lanes,
        .arithmetics = walk->plan->lanes,
        .values = values,
        .input_count = inputs,
        .input_names = input_names,
        .inputs = input_values,
        .seconds = seconds,
        .progress = walk->plan->cost > 0 ? walk->cost_done / walk->plan->cost : 1,
    };
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < walk->observer_count && status == ULP_OK; i++)
        if (walk->observers[i].node_done)
            status = walk->observers[i].node_done(walk->observers[i].context, &event, error);
    return status;
}

static bool is_cancelled(const struct walk *walk)
{
    for (size_t i = 0; i < walk->observer_count; i++)
        if (walk->observers[i].cancelled && walk->observers[i].cancelled(walk->observers[i].context))
            return true;
    return false;
}

static enum ulp_status walk_step(struct walk *walk, size_t index, struct ulp_arena *arena, struct ulp_error *error)
{
    const struct ulp_step *step = &walk->plan->main->steps[index];
    size_t lanes = walk->plan->lane_count, outputs = step->output_count;
    double started = ulp_seconds_now();
    struct evaluation *evaluations = ulp_arena_take(arena, lanes, sizeof *evaluations);
    const struct ulp_tensor **reference_inputs = ulp_arena_take(arena, step->input_count + 1, sizeof *reference_inputs);
    if (!evaluations || !reference_inputs)
        return out_of_memory(error);
    enum ulp_status status = own_inputs(&walk->lanes[0], step, reference_inputs, error);
    for (size_t l = 0; l < lanes && !step->folded && status == ULP_OK; l++) {
        evaluations[l].entire = ulp_arena_take(arena, outputs + 1, sizeof(struct ulp_tensor));
        evaluations[l].single = ulp_arena_take(arena, outputs + 1, sizeof(struct ulp_tensor));
        evaluations[l].here = ulp_arena_take(arena, outputs + 1, sizeof(struct ulp_tensor));
        if (!evaluations[l].entire || !evaluations[l].single || !evaluations[l].here) {
            evaluations[l].entire = NULL;
            status = out_of_memory(error);
        } else {
            status = evaluate_lane(walk, step, &walk->lanes[l], reference_inputs, &evaluations[l], arena, error);
            if (status != ULP_OK)
                ulp_fail_at(error, status, "in %s", walk->lanes[l].arithmetic->name);
        }
    }
    walk->cost_done += step->cost;
    if (status == ULP_OK)
        status = tell(walk, index, step, evaluations, ulp_seconds_now() - started, arena, error);
    for (size_t l = 0; l < lanes; l++) {
        if (!evaluations[l].entire)
            continue;
        bool keeps = l == 0 || !walk->options->isolated;
        for (size_t o = 0; o < outputs && status == ULP_OK && keeps; o++)
            if (step->outputs[o] >= 0) {
                walk->lanes[l].values[step->outputs[o]] = evaluations[l].entire[o];
                evaluations[l].entire[o] = (struct ulp_tensor){0};
            }
        free_tensors(evaluations[l].entire, outputs);
        free_tensors(evaluations[l].single, outputs);
        free_tensors(evaluations[l].here, outputs);
    }
    for (size_t l = 0; l < lanes; l++)
        ulp_lane_drop(&walk->lanes[l], step);
    return status;
}

/* Give the lanes the model's inputs, rounded once to each one's storage unless they are parameters alone (the scales of
 * Resize and QuantizeLinear, thresholds). */
static enum ulp_status set_inputs(struct walk *walk, const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    const struct ulp_block *block = walk->plan->main;
    for (size_t i = 0; i < block->input_count; i++) {
        const struct ulp_plan_slot *slot = &block->slots[block->inputs[i]];
        const struct ulp_tensor *given = ulp_tensor_set_find(inputs, slot->name);
        if (!ulp_tensor_same_shape(given, &slot->shape)) {
            char found[200], planned[200];
            return ulp_fail(error, ULP_ERROR_INPUT,
                            "input '%s' is %s, but the plan was made for %s; plan again for other shapes", slot->name,
                            ulp_tensor_describe_text(given, found, sizeof found),
                            ulp_tensor_describe_text(&slot->shape, planned, sizeof planned));
        }
        struct ulp_format from = {0};
        enum ulp_status status = ULP_OK;
        if (ulp_element_is_float(given->element))
            status = ulp_format_find(ulp_type_rows[given->type].format, &from, error);
        for (size_t l = 0; l < walk->plan->lane_count && !slot->data; l++)
            walk->lanes[l].values[block->inputs[i]] = ulp_tensor_view(given);
        for (size_t l = 0; l < walk->plan->lane_count && slot->data && status == ULP_OK; l++)
            status = ulp_adapt(&walk->lanes[l].values[block->inputs[i]], given, &from, walk->lanes[l].arithmetic, false, &walk->budget,
                               walk->pool, error);
        if (status != ULP_OK)
            return ulp_fail_at(error, status, "input '%s'", slot->name);
    }
    return ULP_OK;
}

/* A copy of the value under the graph output's name. */
static enum ulp_status keep_output(struct ulp_lane *lane, int slot, const char *name, struct ulp_tensor_set *outputs,
                                   struct ulp_error *error)
{
    const struct ulp_tensor *value;
    struct ulp_tensor copy = {0};
    enum ulp_status status = ulp_lane_value(lane, slot, false, &value, error);
    if (status == ULP_OK)
        status = ulp_tensor_copy(&copy, value, NULL, error);
    if (status == ULP_OK)
        status = ulp_tensor_set_add(outputs, name, &copy, error);
    ulp_tensor_free(&copy);
    return status;
}

static enum ulp_status run_walk(struct walk *walk, const struct ulp_tensor_set *inputs, struct ulp_tensor_set *outputs,
                                struct ulp_error *error)
{
    const struct ulp_plan *plan = walk->plan;
    enum ulp_status status = ulp_pool_create(&walk->pool, walk->options->thread_count, error);
    walk->lanes = calloc(plan->lane_count, sizeof *walk->lanes);
    if (status == ULP_OK && !walk->lanes)
        status = out_of_memory(error);
    if (status == ULP_OK)
        status = ulp_packed_create(&walk->packed, &walk->budget, error);
    for (size_t l = 0; l < plan->lane_count && status == ULP_OK; l++) {
        status = ulp_lane_create(&walk->lanes[l], &plan->lanes[l], plan->main, &walk->budget, walk->pool, error);
        walk->lanes[l].packed = walk->packed;
        walk->lanes[l].repeats = walk->options->audit;
    }
    if (status == ULP_OK)
        status = set_inputs(walk, inputs, error);
    for (size_t s = 0; s < plan->main->step_count && status == ULP_OK; s++) {
        struct ulp_arena *arena;
        if (is_cancelled(walk))
            status = ulp_fail(error, ULP_ERROR_CANCELLED, "cancelled before node '%s'", plan->main->steps[s].name);
        else if ((status = ulp_arena_create(&arena, error)) == ULP_OK) {
            status = walk_step(walk, s, arena, error);
            ulp_arena_free(arena);
        }
    }
    for (size_t l = 0; l < plan->lane_count && outputs && status == ULP_OK; l++)
        for (size_t i = 0; i < plan->main->output_count && status == ULP_OK; i++)
            status = keep_output(&walk->lanes[l], plan->main->outputs[i], ulp_model_output(plan->model, i).name, &outputs[l], error);
    return status;
}

enum ulp_status ulp_plan_run(const struct ulp_plan *plan, const struct ulp_tensor_set *inputs, const struct ulp_run_options *options,
                             const struct ulp_observer *observers, size_t observer_count, struct ulp_tensor_set *outputs,
                             struct ulp_run_cost *cost, struct ulp_error *error)
{
    static const struct ulp_run_options defaults;
    static const struct ulp_tensor_set no_inputs;
    if (!inputs)
        inputs = &no_inputs;
    struct walk walk = {.plan = plan, .options = options ? options : &defaults, .observers = observers,
                        .observer_count = observer_count, .started = ulp_seconds_now()};
    walk.budget.limit_bytes = walk.options->max_memory_bytes ? walk.options->max_memory_bytes : plan->max_memory_bytes;
    walk.budget.keeps_blocks = true;
    walk.budget.used_bytes = walk.budget.peak_bytes = plan->budget.used_bytes;
    for (size_t l = 0; outputs && l < plan->lane_count; l++)
        outputs[l] = (struct ulp_tensor_set){0};
    enum ulp_status status = ulp_plan_check_inputs(plan, inputs, error);
    if (status == ULP_OK)
        status = ulp_plan_check_memory(plan, walk.options->audit, walk.budget.limit_bytes, error);
    if (status == ULP_OK)
        status = run_walk(&walk, inputs, outputs, error);
    for (size_t l = 0; walk.lanes && l < plan->lane_count; l++)
        ulp_lane_free(&walk.lanes[l]);
    free(walk.lanes);
    const struct ulp_packed_counts packed = ulp_packed_count(walk.packed);
    ulp_packed_free(walk.packed);
    ulp_budget_clear(&walk.budget);
    ulp_pool_free(walk.pool);
    if (cost)
        *cost = (struct ulp_run_cost){ulp_seconds_now() - walk.started, walk.budget.peak_bytes, packed.made, packed.used};
    for (size_t l = 0; outputs && status != ULP_OK && l < plan->lane_count; l++)
        ulp_tensor_set_free(&outputs[l]);
    return status;
}
