/* Constant folding while compiling: shapes, the values of integer chains such as Shape -> Gather ->
 * Concat -> Reshape, and the branches of Ifs that such values decide. A step whose inputs are all
 * known is run here, once, in FP32. Integer and boolean results become constants of every lane: a
 * shape computed through FP16 would be another shape, and no deployment computes shapes in the
 * engine's precision. Float results serve shape inference only; lanes compute them in their own
 * arithmetic.
 *
 * Steps are in topological order, so one pass is enough: when a step is reached, all that can ever
 * be known of its inputs is. A step is described once from the shapes of its inputs, and computed
 * once, if their values are known and its results have FOLD_COUNT_MAX elements at most: the pass
 * costs no more than that for each step, whatever the model's tensors are. What is not folded is
 * only computed later; no value depends on where the limit lies. */
#include <string.h>

#include "base/error.h"
#include "data/data.h"
#include "run/program/open_program.h"
#include "tensor/stored.h"

/* Larger results are left to the run. */
#define FOLD_COUNT_MAX 65536
/* Of ConstantOfShape, which models with generated weights use for all of them. */
#define FILL_COUNT_MAX ((size_t)1 << 28)

/* The step's inputs as views: with data where known, shape only otherwise. */
struct inputs {
    size_t count;
    struct ulp_tensor *views;
    const struct ulp_tensor **pointers;
    bool shapes_known, values_known;
};

static enum ulp_status gather_inputs(const struct ulp_block *block, const struct ulp_step *step,
                                     struct ulp_arena *scratch, struct inputs *out,
                                     struct ulp_error *error)
{
    *out = (struct inputs){.count = step->input_count, .shapes_known = true, .values_known = true};
    ULP_TAKE(out->views, scratch, out->count + 1, error);
    ULP_TAKE(out->pointers, scratch, out->count + 1, error);
    for (size_t i = 0; i < out->count; i++) {
        if (step->inputs[i] < 0)
            continue;
        const struct ulp_program_slot *slot = &block->slots[step->inputs[i]];
        const struct ulp_tensor *value = slot->constant ? slot->constant : slot->known;
        out->views[i] = ulp_tensor_view(value ? value : &slot->shape);
        out->pointers[i] = &out->views[i];
        out->values_known = out->values_known && value;
        out->shapes_known = out->shapes_known && out->views[i].type != ULP_TYPE_UNDEFINED;
    }
    return ULP_OK;
}

/* Inputs that are in the file alone come into memory. */
static enum ulp_status read_stored(struct ulp_program *program, struct inputs *inputs,
                                   struct ulp_error *error)
{
    for (size_t i = 0; i < inputs->count; i++) {
        const struct ulp_tensor stored = inputs->views[i];
        if (ulp_is_stored(&stored))
            ULP_TRY(ulp_tensor_in_memory(&inputs->views[i], &stored, &program->budget,
                                         program->pool, error));
    }
    return ULP_OK;
}

static bool worth_folding(const struct ulp_step *step, const struct inputs *inputs,
                          const struct ulp_tensor *outputs)
{
    if (step->bound.blocks || (!inputs->values_known && !step->bound.op->shape_only))
        return false;
    for (size_t i = 0; i < step->output_count; i++)
        if (step->outputs[i] >= 0 &&
            (outputs[i].type == ULP_TYPE_UNDEFINED || outputs[i].count > FOLD_COUNT_MAX))
            return false;
    return true;
}

static bool is_constant_node(const struct ulp_step *step)
{
    return strcmp(step->bound.op->name, "Constant") == 0 && !step->bound.op->domain;
}

/* ConstantOfShape of a known shape is a constant as an initializer is: its value stands in the
 * model, and each lane rounds it once. One in FP64 is not, because planning computes in FP32. */
static bool is_constant_fill(const struct ulp_program *program, const struct ulp_step *step,
                             const struct ulp_tensor *output)
{
    return strcmp(step->bound.op->name, "ConstantOfShape") == 0 && !step->bound.op->domain &&
           output->type != ULP_TYPE_UNDEFINED && output->type != ULP_TYPE_DOUBLE &&
           output->count <= (program->opening ? FOLD_COUNT_MAX : FILL_COUNT_MAX);
}

/* The tensor a Constant node holds as the model has it, or NULL. */
static const struct ulp_tensor *constant_tensor(const struct ulp_step *step)
{
    const struct ulp_tensor *tensor = NULL;
    for (size_t i = 0; is_constant_node(step) && !tensor && i < step->bound.attribute_count; i++)
        tensor = step->bound.attributes[i].tensor;
    return tensor;
}

/* Keep a computed output in its slot, as a constant of all lanes or for shape inference only. */
static enum ulp_status keep_output(struct ulp_program *program, struct ulp_program_slot *slot,
                                   struct ulp_tensor *output, bool constant,
                                   struct ulp_error *error)
{
    ULP_TAKE(slot->folded, program->arena, 1, error);
    *slot->folded = *output;
    *output = (struct ulp_tensor){0};
    slot->known = slot->folded;
    if (constant)
        slot->constant = slot->folded;
    return ULP_OK;
}

/* Whether the step's results are constants of all lanes: the node is one, or all are integers. What
 * comes with a float (TopK's indexes, a Dropout's mask) is computed with it in each lane. */
static bool gives_constants(const struct ulp_step *step, const struct ulp_tensor *outputs)
{
    bool floats = false;
    for (size_t i = 0; i < step->output_count; i++)
        floats = floats || (step->outputs[i] >= 0 && outputs[i].type != ULP_TYPE_UNDEFINED &&
                            ulp_element_is_float(outputs[i].element));
    return step->constant || !floats;
}

/* What does not fit in a body is an error only where the body is entered: exporters leave branches
 * for other inputs than these. The step's results are unknown then, and a run that enters the body
 * finds the same error. At drawn sizes anything may not fit. */
static bool may_wait(const struct ulp_program *program, const struct ulp_block *block,
                     enum ulp_status status, const struct ulp_error *error)
{
    return (block->parent && status == ULP_ERROR_INPUT) ||
           ulp_opening_refused(program->opening, status, error);
}

/* The shapes of the step's results. *known: they could be found. */
static enum ulp_status infer_step(const struct ulp_program *program, struct ulp_block *block,
                                  const struct ulp_step *step, struct ulp_call *call,
                                  struct ulp_tensor *views, bool *known, struct ulp_error *error)
{
    enum ulp_status status = ulp_call_infer(call, error);
    bool again = false;
    if (ulp_opening_refused(program->opening, status, error))
        status = ulp_opening_widen(program->opening, step, call, views, &again, error);
    if (again && status == ULP_OK)
        status = ulp_call_infer(call, error);
    *known = status == ULP_OK;
    for (size_t i = 0; i < step->output_count && *known; i++)
        if (step->outputs[i] >= 0) {
            block->slots[step->outputs[i]].shape = call->out[i];
            block->slots[step->outputs[i]].shape.data = NULL;
        }
    return may_wait(program, block, status, error) ? ULP_OK : status;
}

/* What an Identity gives is what it is given. */
static bool take_identity(struct ulp_block *block, struct ulp_step *step)
{
    if (strcmp(step->bound.op->name, "Identity") != 0 || step->bound.op->domain ||
        step->outputs[0] < 0)
        return false;
    const struct ulp_program_slot *in = &block->slots[step->inputs[0]];
    struct ulp_program_slot *out = &block->slots[step->outputs[0]];
    out->known = in->constant ? in->constant : in->known;
    if (!ulp_element_is_float(out->known->element))
        out->constant = out->known;
    step->folded = out->constant;
    return true;
}

/* The step is run, and its results kept in their slots. */
static enum ulp_status compute_step(struct ulp_program *program, struct ulp_block *block,
                                    struct ulp_step *step, struct ulp_call *call,
                                    struct inputs *inputs, struct ulp_error *error)
{
    if (take_identity(block, step))
        return ULP_OK;
    enum ulp_status status =
        step->bound.op->shape_only ? ULP_OK : read_stored(program, inputs, error);
    ULP_THEN(status, ulp_call_run(call, error));
    if (may_wait(program, block, status, error))
        return ULP_OK;
    step->folded = status == ULP_OK && gives_constants(step, call->out);
    for (size_t i = 0; i < step->output_count && status == ULP_OK; i++)
        if (step->outputs[i] >= 0 && call->out[i].type != ULP_TYPE_UNDEFINED)
            status = keep_output(program, &block->slots[step->outputs[i]], &call->out[i],
                                 step->folded, error);
    ulp_tensors_free(call->out, step->output_count);
    return status;
}

static enum ulp_status fold_step(struct ulp_program *program, struct ulp_block *block,
                                 struct ulp_step *step, struct ulp_error *error)
{
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *scratch = NULL;
    ULP_TRY(ulp_arena_create(&scratch, &program->budget, error));
    struct inputs inputs = {0};
    struct ulp_tensor *outputs = ulp_arena_take(scratch, step->output_count + 1, sizeof *outputs);
    enum ulp_status status =
        outputs ? gather_inputs(block, step, scratch, &inputs, error) : ulp_out_of_memory(error);
    struct ulp_call call = {.bound = &step->bound,
                            .arithmetic = &program->exact,
                            .input_count = status == ULP_OK ? inputs.count : 0,
                            .in = inputs.pointers,
                            .output_count = step->output_count,
                            .out = outputs,
                            .scratch = scratch,
                            .budget = &program->constants,
                            .pool = program->pool};
    bool known = false;
    if (status == ULP_OK && inputs.shapes_known)
        status = infer_step(program, block, step, &call, inputs.views, &known, error);
    known &= status == ULP_OK;
    step->constant =
        known && (is_constant_node(step) ||
                  (inputs.values_known && is_constant_fill(program, step, &outputs[0])));
    if (step->constant && constant_tensor(step) && step->outputs[0] >= 0) {
        struct ulp_program_slot *slot = &block->slots[step->outputs[0]];
        slot->known = slot->constant = constant_tensor(step);
        step->folded = true;
    } else if (known && (step->constant || worth_folding(step, &inputs, outputs))) {
        status = compute_step(program, block, step, &call, &inputs, error);
    }
    ulp_tensors_free(inputs.views, inputs.count);
    return status;
}

/* Steps stand in order, so that one walk hands on what a caller may give. */
static void set_producers(struct ulp_block *block)
{
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        bool given = false;
        for (size_t i = 0; i < step->own_input_count; i++) {
            const int slot = step->inputs[i];
            given |= slot >= 0 && (block->slots[slot].overridable || block->slots[slot].of_default);
        }
        for (size_t o = 0; o < step->output_count; o++)
            if (step->outputs[o] >= 0) {
                block->slots[step->outputs[o]].producer = (int)s;
                block->slots[step->outputs[o]].of_default = given;
            }
    }
}

/* Constant nodes are values, not work: they leave the list of steps. */
static void drop_constant_nodes(struct ulp_block *block)
{
    size_t kept = 0;
    for (size_t s = 0; s < block->step_count; s++)
        if (!(block->steps[s].folded && block->steps[s].constant))
            block->steps[kept++] = block->steps[s];
    block->step_count = kept;
}

/* Shapes of the model's inputs: those given, else declared with `dims` for the symbolic ones. */
static enum ulp_status describe_inputs(struct ulp_program *program,
                                       const struct ulp_program_options *options,
                                       struct ulp_error *error)
{
    for (size_t i = 0; i < program->main->input_count; i++) {
        struct ulp_program_slot *slot = &program->main->slots[program->main->inputs[i]];
        const struct ulp_tensor *given =
            options->inputs ? ulp_tensor_set_find(options->inputs, slot->name) : NULL;
        int64_t dims[ULP_RANK_MAX] = {0};
        int rank = given ? given->rank : slot->info->rank;
        if (rank < 0 && program->opening)
            continue;
        if (rank < 0)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "%s: input '%s' has no declared shape: give inputs with --inputs",
                            program->model->path, slot->name);
        for (int d = 0; d < rank; d++)
            dims[d] =
                given ? given->dims[d]
                : slot->info->dims[d] < 0 && program->opening
                    ? ulp_opening_size(program->opening, slot->name, slot->info->dim_names[d], d)
                    : ulp_dim_size(slot->info, d, options->dims, options->dim_count);
        enum ulp_type type =
            slot->info->type == ULP_TYPE_UNDEFINED && given ? given->type : slot->info->type;
        enum ulp_status status =
            ulp_tensor_describe(&slot->shape, type, ULP_ELEMENT_COUNT, 0, rank, dims, error);
        if (ulp_opening_refused(program->opening, status, error))
            program->opening->refused++;
        else
            ULP_TRY(ulp_fail_at(error, status, "%s: input '%s'", program->model->path, slot->name));
    }
    return ULP_OK;
}

struct step_list {
    struct ulp_step *steps;
    size_t count, capacity;
};

/* Fold steps in order into a list. The branch that a known condition picks takes the place of its
 * If. */
static enum ulp_status fold_steps(struct ulp_program *program, struct ulp_block *block,
                                  const struct ulp_block *from, struct step_list *list,
                                  struct ulp_error *error)
{
    for (size_t s = 0; s < from->step_count; s++) {
        struct ulp_step step = from->steps[s];
        ULP_TRY(ulp_program_resolve_step(program, block, &step, error));
        struct ulp_block *branch = ulp_program_known_branch(block, &step);
        if (branch) {
            ULP_TRY(ulp_program_inline(program, block, &step, branch, error));
            ULP_TRY(fold_steps(program, block, branch, list, error));
            continue;
        }
        ULP_GROW(list->steps, program->arena, list->count, list->capacity, error);
        list->steps[list->count] = step;
        ULP_TRY(fold_step(program, block, &list->steps[list->count++], error));
    }
    return ULP_OK;
}

static bool has_bodies(const struct ulp_block *block)
{
    for (size_t s = 0; s < block->step_count; s++)
        if (block->steps[s].bound.blocks)
            return true;
    return false;
}

static enum ulp_status fold_block_steps(struct ulp_program *program, struct ulp_block *block,
                                        struct ulp_error *error)
{
    if (has_bodies(block)) {
        struct step_list list = {0};
        ULP_TRY(fold_steps(program, block, block, &list, error));
        block->steps = list.steps;
        block->step_count = list.count;
        block->folded = true;
        return ulp_program_resolve(program, block, error);
    }
    for (size_t s = 0; s < block->step_count; s++)
        ULP_TRY(fold_step(program, block, &block->steps[s], error));
    return ULP_OK;
}

/* What a body captures is in it what it is outside. A constant is the body's own then, and no input
 * of the step any more. */
static enum ulp_status give_captured(struct ulp_program *program, const struct ulp_block *block,
                                     struct ulp_step *step, struct ulp_error *error)
{
    const size_t room = step->input_count + ULP_INPUTS_LOOKED_AT;
    ULP_TAKE_ARRAY(int, inputs, program->arena, room, error);
    memcpy(inputs, step->inputs, room * sizeof *inputs);
    size_t at = step->own_input_count;
    for (int a = 0; a < ULP_ATTRIBUTES_MAX; a++) {
        struct ulp_block *body = step->bound.blocks[a];
        for (size_t i = 0; body && i < body->captured_count; i++, at++) {
            const struct ulp_program_slot *outer =
                &block->slots[body->slots[body->captured[i]].outer];
            struct ulp_program_slot *slot = &body->slots[body->captured[i]];
            slot->shape = outer->shape;
            slot->known = outer->known;
            ulp_slot_set_constant(slot, outer->constant);
            if (outer->constant)
                inputs[at] = -1;
        }
    }
    step->inputs = inputs;
    return ULP_OK;
}

static enum ulp_status fold_block(struct ulp_program *program, struct ulp_block *block,
                                  struct ulp_error *error)
{
    for (size_t v = 0; v < block->slot_count; v++)
        ulp_slot_set_constant(&block->slots[v], block->slots[v].constant);
    ULP_TRY(fold_block_steps(program, block, error));
    drop_constant_nodes(block);
    set_producers(block);
    ULP_TRY(ulp_block_find_readers(program, block, error));
    if (program->joins_attention) {
        ULP_TRY(ulp_program_join_attention(program, block, error));
        set_producers(block);
        ULP_TRY(ulp_block_find_readers(program, block, error));
    }
    ULP_TRY(ulp_program_integer_forms(program, block, error));
    ULP_TRY(ulp_program_ort_forms(program, block, error));
    ULP_TRY(ulp_program_fold_norms(program, block, error));
    for (size_t s = 0; s < block->step_count; s++) {
        struct ulp_step *step = &block->steps[s];
        if (step->bound.blocks)
            ULP_TRY(give_captured(program, block, step, error));
        for (int a = 0; a < ULP_ATTRIBUTES_MAX && step->bound.blocks; a++)
            if (step->bound.blocks[a])
                ULP_TRY(fold_block(program, step->bound.blocks[a], error));
    }
    ULP_TRY(ulp_program_fold_convs(program, block, error)); /* who captures what is known */
    ULP_TRY(ulp_program_order(program, block, error));
    ulp_program_amounts(block);
    return ULP_OK;
}

enum ulp_status ulp_program_fold(struct ulp_program *program,
                                 const struct ulp_program_options *options, struct ulp_error *error)
{
    ULP_TRY(describe_inputs(program, options, error));
    ULP_TRY(
        ulp_fail_at(error, fold_block(program, program->main, error), "%s", program->model->path));
    program->slots.budget = &program->budget;
    for (size_t v = 0; v < program->main->slot_count; v++) {
        const char *name = program->main->slots[v].name;
        if (name && ulp_names_find(&program->slots, name) < 0)
            ULP_TRY(ulp_taken(ulp_names_add(&program->slots, name, (int)v), error));
    }
    return ulp_program_number(program, error);
}
