/* ulp_scales_run: the reference's values once through the graph, each product's factors looked at
 * as they are rounded; then other choices, run side by side. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/judge.h"
#include "analysis/scales/scales.h"
#include "base/error.h"
#include "base/machine/clock.h"
#include "base/machine/environment.h"
#include "base/options.h"
#include "number/format/scaling.h"
#include "number/function/math.h"
#include "ops/call.h"
#include "ops/probe.h"
#include "run/pass/forward.h"
#include "run/program/program.h"
#include "run/program/stored_values.h"

struct looking {
    struct ulp_scales *out;
    const struct ulp_scales_options *options;
    struct ulp_scales_lane lane;
    const struct ulp_factor_taker *taker; /* who alone is told of factors; NULL: nobody */
    struct ulp_stored_values stored;      /* where there is one */
    struct ulp_forward forward;
    struct ulp_probe probe;
    const struct ulp_step *step;
    const struct ulp_tensor *const *inputs; /* as the step's call has them */
    struct ulp_scales_sums *sums;           /* of out->tensors */
    size_t capacity, sum_capacity;
};

static double decibels(double signal, double error)
{
    return error > 0 ? 10 * ulp_math_log2(signal / error) / ulp_math_log2(10) : INFINITY;
}

/* The tensor of that name at this step, which is new at the first of its products. */
static struct ulp_scaled_tensor *find_tensor(struct looking *looking, const char *name,
                                             const char *format, bool weight,
                                             struct ulp_scales_sums **sums)
{
    struct ulp_scales *out = looking->out;
    for (size_t t = out->tensor_count; t-- > 0;)
        if (strcmp(out->tensors[t].name, name) == 0 &&
            strcmp(out->tensors[t].node, looking->step->name) == 0) {
            *sums = &looking->sums[t];
            return &out->tensors[t];
        }
    if (!ULP_ARENA_GROWS(out->tensors, out->memory, out->tensor_count, looking->capacity) ||
        !ULP_ARENA_GROWS(looking->sums, out->memory, out->tensor_count, looking->sum_capacity))
        return NULL;
    struct ulp_scaled_tensor *tensor = &out->tensors[out->tensor_count];
    *sums = &looking->sums[out->tensor_count];
    **sums = (struct ulp_scales_sums){0};
    *tensor = (struct ulp_scaled_tensor){.name = ulp_arena_copy(looking->out->memory, name),
                                         .node = ulp_arena_copy(looking->out->memory,
                                                                looking->step->name),
                                         .op = ulp_arena_copy(looking->out->memory,
                                                              looking->step->bound.node->op_type),
                                         .format = ulp_arena_copy(looking->out->memory, format),
                                         .weight = weight};
    if (!tensor->name || !tensor->node || !tensor->op || !tensor->format)
        return NULL;
    out->tensor_count++;
    return tensor;
}

static void add_tensor(struct ulp_scaled_tensor *all, const struct ulp_scaled_tensor *one)
{
    const bool outlier = one->outlier_ratio > all->outlier_ratio;
    all->elements += one->elements;
    all->blocks += one->blocks;
    all->nonfinite += one->nonfinite;
    all->zeros += one->zeros;
    all->clipped += one->clipped;
    all->format_bits = one->format_bits;
    all->range_bits = ulp_math_max(all->range_bits, one->range_bits);
    if (outlier) {
        all->outlier = one->outlier;
        all->outlier_is_line = one->outlier_is_line;
        all->outlier_ratio = one->outlier_ratio;
        all->outlier_gain_db = one->outlier_gain_db;
    }
}

static const char *name_of_slot(const struct looking *looking, int slot)
{
    return looking->forward.program->main->slots[slot].name;
}

/* Is the factor all of a constant that nobody else reads, and no caller replaces? */
static bool is_own_weight(const struct looking *looking, size_t input,
                          const struct ulp_factor *factor)
{
    const struct ulp_program *program = looking->forward.program;
    const struct ulp_tensor *whole = looking->inputs[input];
    const struct ulp_node *node = looking->step->bound.node;
    return ulp_block_is_own(program->main, looking->step->inputs[input]) &&
           factor->tensor->data == whole->data && factor->tensor->count == whole->count &&
           !program->model->graph->values[node->inputs[input]].overridable;
}

static enum ulp_status look_at_factors(void *context, size_t node,
                                       const struct ulp_contraction *problem,
                                       struct ulp_error *error)
{
    struct looking *looking = context;
    const struct ulp_arithmetic *arithmetic =
        ulp_lane_arithmetic(&looking->forward.lanes[1], looking->step);
    (void)node;
    const size_t input_count = looking->step->own_input_count;
    const ptrdiff_t inputs[2] = {ulp_factor_input(looking->inputs, input_count, problem->a.tensor),
                                 ulp_factor_input(looking->inputs, input_count, problem->b.tensor)};
    struct ulp_contraction own = *problem;
    own.weights = 0;
    for (int side = 0; side < 2; side++)
        if (inputs[side] >= 0 &&
            (ulp_is_weight(&looking->step->bound, (size_t)inputs[side]) ||
             ulp_scaling_is_integer(&arithmetic->scaling[0])) &&
            looking->forward.program->main->slots[looking->step->inputs[inputs[side]]].constant)
            own.weights |= 1U << side;
    if (!ulp_product_is_scaled(arithmetic, looking->step->bound.op->name, looking->inputs, &own))
        return ULP_OK;
    if (!looking->taker)
        ULP_TRY(ulp_product_take_ranges(arithmetic, looking->step->name, looking->inputs,
                                        input_count, &own, error));
    for (int side = 0; side < 2; side++) {
        const struct ulp_scaling *scaling = ulp_scaled_choose(arithmetic, &own, side);
        const bool weight = own.weights >> side & 1;
        if (looking->taker) {
            const ptrdiff_t place = ulp_factor_place(looking->inputs, input_count, problem, side);
            const int slot = place >= 0 ? looking->step->inputs[place] : -1;
            if (weight && looking->taker->weigh &&
                is_own_weight(looking, (size_t)inputs[side], side ? &problem->b : &problem->a))
                ULP_TRY(looking->taker->weigh(looking->taker->context, looking->step->name,
                                              ulp_factor_name(looking->inputs, input_count, problem,
                                                              side),
                                              scaling, &own, side, error));
            if (!weight)
                ULP_TRY(looking->taker->take(
                    looking->taker->context, looking->step->name,
                    ulp_factor_name(looking->inputs, input_count, problem, side),
                    slot >= 0 ? name_of_slot(looking, looking->stored.as[slot]) : NULL, scaling,
                    side ? &problem->b : &problem->a, error));
            continue;
        }
        struct ulp_scaled_tensor one = {0};
        struct ulp_scales_sums *sums;
        if (!scaling->name[0] || (arithmetic->weights.name[0] && !weight))
            continue;
        const char *name = inputs[side] >= 0
                               ? name_of_slot(looking, looking->step->inputs[inputs[side]])
                           : side ? "second factor"
                                  : "first factor";
        struct ulp_scaled_tensor *all = find_tensor(looking, name, scaling->name, weight, &sums);
        ULP_TRY(ulp_taken(all, error));
        ULP_TRY(
            ulp_scales_measure(scaling, &own, side, looking->forward.budget, &one, sums, error));
        add_tensor(all, &one);
    }
    return ULP_OK;
}

/* The values that lane 1 reads, quantised by it. */
static enum ulp_status look_at_quantize(struct looking *looking, const struct ulp_step *step,
                                        const struct ulp_tensor *const *inputs,
                                        const struct ulp_tensor *codes, struct ulp_error *error)
{
    const struct ulp_tensor *const parts[3] = {inputs[0], inputs[1],
                                               step->own_input_count > 2 ? inputs[2] : NULL};
    struct ulp_scaled_tensor one = {0};
    struct ulp_scales_sums own = {0}, *sums;
    bool known;
    ULP_TRY(ulp_scales_quantise(step->bound.node, parts, codes, looking->forward.budget, &one, &own,
                                &known, error));
    if (!known)
        return ULP_OK;
    looking->step = step;
    struct ulp_scaled_tensor *all =
        find_tensor(looking, looking->forward.program->main->slots[step->inputs[0]].name,
                    ulp_type_name(codes->type), false, &sums);
    ULP_TRY(ulp_taken(all, error));
    add_tensor(all, &one);
    *sums = own;
    sums->product_signal = own.signal;
    sums->product_error = own.error;
    return ULP_OK;
}

/* What the step gives, where it is a product's result that is stored. */
static enum ulp_status look_at_result(struct looking *looking, const struct ulp_step *step,
                                      struct ulp_error *error)
{
    const struct ulp_factor_taker *taker = looking->taker;
    const struct ulp_step *product =
        taker ? looking->stored.product[step - looking->forward.program->main->steps] : NULL;
    if (!product)
        return ULP_OK;
    const struct ulp_arithmetic *arithmetic =
        ulp_lane_arithmetic(&looking->forward.lanes[1], product);
    const struct ulp_factor result = {.tensor =
                                          &looking->forward.lanes[0].values[step->outputs[0]]};
    return ulp_scaling_is_integer(&arithmetic->scaling[0])
               ? taker->take(taker->context, product->name, ULP_FACTOR_RESULT,
                             name_of_slot(looking, looking->stored.as[step->outputs[0]]),
                             &arithmetic->scaling[0], &result, error)
               : ULP_OK;
}

static enum ulp_status look_at_step(struct looking *looking, const struct ulp_step *step,
                                    struct ulp_error *error)
{
    struct ulp_forward *forward = &looking->forward;
    struct ulp_forward_inputs rounded = {0}, widened = {0};
    struct ulp_arena *arena;
    ULP_TRY(ulp_arena_create(&arena, forward->budget, error));
    struct ulp_tensor *results = ulp_arena_take(arena, step->output_count + 1, sizeof *results);
    enum ulp_status status = ULP_OK;
    if (!results)
        status = ulp_out_of_memory(error);
    if (status == ULP_OK && !looking->taker &&
        strcmp(step->bound.op->name, "QuantizeLinear") == 0) {
        status = ulp_forward_rounded(forward, 1, step, arena, &rounded, error);
        ULP_THEN(status, ulp_step_run(step, &forward->lanes[1], rounded.at, results, error));
        ULP_THEN(status, look_at_quantize(looking, step, rounded.at, &results[0], error));
        ulp_tensor_free(&results[0]);
        ulp_forward_inputs_free(&rounded);
    }
    if (status == ULP_OK && step->bound.op->work == ULP_WORK_CONTRACTION &&
        ulp_scaling_is_used(ulp_lane_arithmetic(&forward->lanes[1], step))) {
        status = ulp_forward_rounded(forward, 1, step, arena, &rounded, error);
        ULP_THEN(status,
                 ulp_forward_widened(forward, 1, step, rounded.at, NULL, arena, &widened, error));
        looking->step = step;
        looking->inputs = widened.at;
        forward->wide.probe = &looking->probe;
        ULP_THEN(status, ulp_step_run(step, &forward->wide, widened.at, results, error));
        forward->wide.probe = NULL;
        ulp_tensors_free(results, step->output_count);
        ulp_forward_inputs_free(&widened);
        ulp_forward_inputs_free(&rounded);
    }
    ULP_THEN(status, ulp_forward_step(forward, step, arena, error));
    ULP_THEN(status, look_at_result(looking, step, error));
    ulp_forward_drop(forward, step);
    ulp_arena_free(arena);
    return status;
}

static enum ulp_status look_at_all(struct looking *looking, const struct ulp_tensor_set *inputs,
                                   struct ulp_error *error)
{
    const struct ulp_observer *progress = looking->options->progress;
    const struct ulp_block *block = looking->forward.program->main;
    enum ulp_status status = ulp_forward_begin(&looking->forward, inputs, error);
    for (size_t s = 0; s < block->step_count && status == ULP_OK; s++) {
        if (ulp_observer_cancels(progress))
            status = ulp_fail(error, ULP_ERROR_CANCELLED, "cancelled before node '%s'",
                              block->steps[s].name);
        else if (!block->steps[s].folded)
            status = look_at_step(looking, &block->steps[s], error);
    }
    ulp_forward_end(&looking->forward);
    return status;
}

/* ---- the result ---- */

static int by_error(const void *a, const void *b)
{
    const struct ulp_scaled_tensor *x = a, *y = b;
    if ((x->nonfinite > 0) != (y->nonfinite > 0))
        return x->nonfinite ? -1 : 1;
    if (x->product_db != y->product_db)
        return x->product_db < y->product_db ? -1 : 1;
    const int nodes = strcmp(x->node, y->node);
    return nodes ? nodes : strcmp(x->name, y->name);
}

static void finish_figures(struct looking *looking)
{
    struct ulp_scales *out = looking->out;
    for (size_t t = 0; t < out->tensor_count; t++) {
        struct ulp_scaled_tensor *tensor = &out->tensors[t];
        const struct ulp_scales_sums *sums = &looking->sums[t];
        tensor->sqnr_db = decibels(sums->signal, sums->error);
        tensor->product_db = decibels(sums->product_signal, sums->product_error);
        if (!(sums->error > 0))
            continue;
        tensor->clipping = sums->clipping / sums->error;
        const double rest = 1 - tensor->clipping;
        tensor->scaling = ulp_math_min(
            ulp_math_max((sums->error - sums->exact) / sums->error - tensor->clipping, 0), rest);
        tensor->rounding = rest - tensor->scaling;
    }
    if (out->tensor_count) /* qsort takes no NULL */
        qsort(out->tensors, out->tensor_count, sizeof *out->tensors, by_error);
}

/* Is every product 0, as with inputs of zeros? Then no choice is better than another. */
static bool shows_nothing(const struct looking *looking)
{
    for (size_t t = 0; t < looking->out->tensor_count; t++)
        if (looking->sums[t].product_signal != 0 || looking->out->tensors[t].nonfinite)
            return false;
    return true;
}

static enum ulp_status look_at_graph(struct looking *looking, const struct ulp_model *model,
                                     const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    struct ulp_arithmetic lanes[2] = {{.as_declared = false}, looking->options->arithmetic};
    const struct ulp_keeps keeps[2] = {{0}, looking->lane.keeps};
    const struct ulp_groups groups[2] = {{0}, looking->lane.groups};
    const struct ulp_program_options plan_options = {.inputs = inputs,
                                                     .keeps = keeps,
                                                     .groups = groups};
    struct ulp_program *program = NULL;
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    ULP_TRY(ulp_arena_create(&arena, ulp_model_budget(model), error));
    enum ulp_status status = ulp_arithmetic_find("fp64", &lanes[0], error);
    ULP_THEN(status, ulp_program_create(model, lanes, 2, &plan_options, &program, error));
    if (status == ULP_OK && looking->taker)
        status = ulp_stored_values_find(program, looking->taker->results, arena, &looking->stored,
                                        error);
    ULP_THEN(status,
             ulp_forward_open(&looking->forward, program, looking->options->thread_count, error));
    looking->probe = (struct ulp_probe){.factors = look_at_factors, .context = looking};
    ULP_THEN(status, look_at_all(looking, inputs, error));
    ulp_forward_close(&looking->forward);
    ulp_program_free(program);
    return status;
}

enum ulp_status ulp_scales_tell(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                                const struct ulp_scales_options *options,
                                const struct ulp_factor_taker *taker, struct ulp_error *error)
{
    struct looking looking = {.options = options, .taker = taker};
    return look_at_graph(&looking, model, inputs, error);
}

enum ulp_status ulp_scales_list(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                                const struct ulp_scales_options *options,
                                const struct ulp_scales_lane *lane, struct ulp_scales *out,
                                struct ulp_error *error)
{
    struct looking looking = {.out = out, .options = options, .lane = *lane};
    ULP_TRY(look_at_graph(&looking, model, inputs, error));
    finish_figures(&looking);
    return ULP_OK;
}

static enum ulp_status run_scales(const struct ulp_model *model,
                                  const struct ulp_tensor_set *inputs,
                                  const struct ulp_scales_options *options, struct ulp_scales *out,
                                  struct ulp_error *error)
{
    struct looking looking = {.out = out, .options = options};
    ULP_TRY(ulp_arena_create(&out->memory, ulp_model_budget(model), error));
    out->drawn = inputs && inputs->drawn;
    out->model_path = ulp_arena_copy(out->memory, ulp_model_path(model));
    out->arithmetic = ulp_arena_copy(out->memory, options->arithmetic.asked);
    ULP_TRY(ulp_taken(out->model_path && out->arithmetic, error));
    ULP_TRY(look_at_graph(&looking, model, inputs, error));
    if (!out->tensor_count)
        return ulp_fail(error, ULP_ERROR_LIMIT,
                        "no product in the main graph takes %s, and no QuantizeLinear is there: "
                        "nothing to look at",
                        options->arithmetic.asked);
    if (shows_nothing(&looking))
        return ulp_fail(error, ULP_ERROR_LIMIT,
                        "every product is 0 with these inputs, whatever is rounded: give inputs "
                        "that are no zeros");
    finish_figures(&looking);
    return ulp_scales_choose(model, inputs, options, out, error);
}

enum ulp_status ulp_scales_run(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                               const struct ulp_scales_options *options, struct ulp_scales *out,
                               struct ulp_error *error)
{
    ULP_ENTER(error);
    const double started = ulp_seconds_now();
    *out = (struct ulp_scales){0};
    ULP_OPTIONS_TAKE(ulp_scales_options, options, error);
    if (!ulp_scaling_is_used(&options->arithmetic) &&
        !ulp_model_has_operator(model, "QuantizeLinear"))
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "%s has no format with scales, and the graph no QuantizeLinear: give "
                        "factor= or weights=, as bf16,factor=nvfp4 (doc/scales.md)",
                        options->arithmetic.asked);
    enum ulp_status status =
        options->allow_nonfinite_inputs ? ULP_OK : ulp_judge_inputs(inputs, NULL, error);
    ULP_THEN(status, run_scales(model, inputs, options, out, error));
    out->seconds = ulp_seconds_now() - started;
    if (status != ULP_OK)
        ulp_scales_free(out);
    return status;
}

ULP_RESULT_FREE(ulp_scales_free, struct ulp_scales)
