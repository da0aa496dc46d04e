/* The observer of --quick: recomputes a part of each node of the reference at 128 bits, from the
 * values that the node had, and keeps how far off it was. */
#include <math.h>
#include <stdlib.h>

#include "analysis/measure/metrics.h"
#include "analysis/quick/quick_part.h"
#include "analysis/quick/quick.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/memory/alloc.h"
#include "number/function/math.h"
#include "tensor/tensor.h"

enum ulp_status ulp_quick_create(const struct ulp_program *program, int thread_count,
                                 struct ulp_quick **out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_budget *budget = ulp_model_budget(program->model);
    struct ulp_quick *quick = *out = calloc(1, sizeof *quick);
    ULP_TRY(ulp_taken(quick, error));
    quick->program = program;
    quick->nodes = calloc(program->node_count + 1, sizeof *quick->nodes);
    enum ulp_status status = quick->nodes ? ulp_pool_create(&quick->pool, thread_count, error)
                                          : ulp_out_of_memory(error);
    if (status == ULP_OK) {
        ulp_pool_set_root(quick->pool, budget);
        status = ulp_arithmetic_find("mpfr:128", &quick->exact, error);
    }
    if (status == ULP_OK) {
        quick->mix = (struct ulp_mix){.count = 1, .items = &quick->exact};
        status =
            ulp_lane_create(&quick->lane, &quick->mix, program->main, budget, quick->pool, error);
        quick->open = status == ULP_OK;
    }
    if (status != ULP_OK) {
        ulp_quick_free(quick);
        *out = NULL;
    }
    return status;
}

void ulp_quick_free(struct ulp_quick *quick)
{
    if (!quick)
        return;
    if (quick->open)
        ulp_lane_free(&quick->lane);
    ulp_pool_free(quick->pool);
    free(quick->nodes);
    free(quick);
}

/* A tensor's format by how it lies in memory. */
static enum ulp_status find_format(const struct ulp_quick *quick, const struct ulp_tensor *tensor,
                                   struct ulp_format *out, struct ulp_error *error)
{
    if (tensor->element == ULP_ELEMENT_WIDE) {
        *out = quick->exact.storage;
        return ULP_OK;
    }
    return ulp_format_find(tensor->element == ULP_ELEMENT_F64 ? "fp64" : "fp32", out, error);
}

/* What the node read in the reference: its constants as the model has them, its inputs as they are
 * held. false: more than a part has room for, or a value that observers are not shown. */
static bool list_inputs(const struct ulp_event *event, const struct ulp_program_node *node,
                        const struct ulp_tensor *inputs[ULP_QUICK_PART_INPUTS])
{
    const struct ulp_step *step = node->step;
    size_t given = 0;
    if (step->own_input_count > ULP_QUICK_PART_INPUTS)
        return false;
    for (size_t i = 0; i < step->own_input_count; i++) {
        const int slot = step->inputs[i];
        inputs[i] = NULL;
        if (slot < 0)
            continue;
        inputs[i] = node->block->slots[slot].constant;
        if (!inputs[i] && given < event->input_count)
            inputs[i] = event->inputs[given++].entire;
        if (!inputs[i] || !inputs[i]->data || inputs[i]->element == ULP_ELEMENT_PACKED)
            return false;
    }
    return true;
}

/* The node at 128 bits on the part's inputs. */
static enum ulp_status compute(struct ulp_quick *quick, const struct ulp_step *step,
                               const struct ulp_quick_part *part, struct ulp_tensor *outputs,
                               struct ulp_error *error)
{
    struct ulp_tensor converted[ULP_QUICK_PART_INPUTS] = {0};
    const struct ulp_tensor *at[ULP_QUICK_PART_INPUTS] = {0};
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < step->own_input_count && status == ULP_OK; i++) {
        const struct ulp_tensor *input = &part->inputs[i];
        struct ulp_format format = {0};
        if (!input->data)
            continue;
        at[i] = input;
        if (!ulp_element_is_float(input->element) || step->bound.inputs[i].kind == 'p')
            continue;
        status = find_format(quick, input, &format, error);
        if (status == ULP_OK)
            status = ulp_adapt(&converted[i], input, &format, &quick->exact,
                               ulp_takes_mixed(step, i), quick->lane.budget, quick->pool, error);
        at[i] = &converted[i];
    }
    if (status == ULP_OK)
        status = ulp_step_run(step, &quick->lane, at, outputs, error);
    for (size_t i = 0; i < ULP_QUICK_PART_INPUTS; i++)
        ulp_tensor_free(&converted[i]);
    return status;
}

/* The rms of what the reference has less what is exact. */
static enum ulp_status measure(struct ulp_quick *quick, struct ulp_quick_node *node,
                               const struct ulp_tensor *own, const struct ulp_tensor *exact,
                               struct ulp_error *error)
{
    struct ulp_format format;
    struct ulp_metrics metrics;
    if (!ulp_element_is_float(own->element)) {
        return ULP_OK; /* decisions and amounts: said of the whole, not of errors */
    }
    ULP_TRY(ulp_format_find("fp64", &format, error));
    ULP_TRY(ulp_metrics_measure_on(own, exact, &format, quick->pool, &metrics, error));
    const double rms = metrics.diverged || metrics.nonfinite ? INFINITY
                       : metrics.count                       ? metrics.rms
                                                             : 0;
    node->rms = ulp_math_max(node->rms, rms);
    quick->elements += own->count;
    return ULP_OK;
}

static enum ulp_status compare_part(struct ulp_quick *quick, struct ulp_quick_node *node,
                                    const struct ulp_quick_part *part, const struct ulp_tensor *own,
                                    const struct ulp_tensor *exact, struct ulp_error *error)
{
    struct ulp_budget *budget = quick->lane.budget;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor a = {0};
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor b = {0};
    const int64_t dims[] = {(int64_t)(part->count * part->length)};
    ULP_TRY(
        ulp_blocks_copy(&a, own, part->of_node, part->count, part->length, 1, dims, budget, error));
    ULP_TRY(ulp_blocks_copy(&b, exact, part->of_part, part->count, part->length, 1, dims, budget,
                            error));
    return measure(quick, node, &a, &b, error);
}

static enum ulp_status check_node(struct ulp_quick *quick, const struct ulp_event *event,
                                  const struct ulp_step *step,
                                  const struct ulp_tensor *const *inputs, struct ulp_error *error)
{
    struct ulp_quick_node *node = &quick->nodes[event->index];
    struct ulp_quick_part part;
    void *memory = NULL;
    enum ulp_status status = ulp_quick_part_choose(&part, step, inputs, event->values[0].entire, 1,
                                                   quick->lane.budget, error);
    if (status == ULP_OK)
        status = ulp_allocate_zero(&memory, step->output_count + 1, sizeof(struct ulp_tensor),
                                   quick->lane.budget, "outputs of a node", error);
    struct ulp_tensor *outputs = memory;
    if (status == ULP_OK)
        status = compute(quick, step, &part, outputs, error);
    for (size_t o = 0; o < event->output_count && status == ULP_OK; o++) {
        const struct ulp_tensor *exact = &outputs[event->output_positions[o]],
                                *own = event->values[o].entire;
        status = part.whole ? measure(quick, node, own, exact, error)
                            : compare_part(quick, node, &part, own, exact, error);
    }
    node->seen = part.whole ? ULP_QUICK_WHOLE : ULP_QUICK_SAMPLED;
    for (size_t o = 0; outputs && o < step->output_count; o++)
        ulp_tensor_free(&outputs[o]);
    ulp_free(memory);
    ulp_quick_part_free(&part);
    return status;
}

static bool has_float(const struct ulp_event *event)
{
    for (size_t o = 0; o < event->output_count; o++)
        if (ulp_element_is_float(event->values[o].entire->element))
            return true;
    return false;
}

/* Nodes of bodies, and those that own some, are not looked at. */
static enum ulp_status look(void *context, const struct ulp_event *event, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_quick *quick = context;
    const struct ulp_program_node *node = &quick->program->nodes[event->index];
    const struct ulp_operator *op = node->step->bound.op;
    const struct ulp_tensor *inputs[ULP_QUICK_PART_INPUTS];
    struct ulp_quick_node *seen = &quick->nodes[event->index];
    if (node->block != quick->program->main || node->step->bound.blocks || !event->output_count)
        return ULP_OK;
    if (node->step->folded || !has_float(event) ||
        (op->work == ULP_WORK_MOVE && !ulp_is_word(op->name, "Cast CastLike"))) {
        seen->seen = ULP_QUICK_EXACT;
        return ULP_OK;
    }
    return list_inputs(event, node, inputs) ? check_node(quick, event, node->step, inputs, error)
                                            : ULP_OK;
}

struct ulp_observer ulp_quick_observer(struct ulp_quick *quick)
{
    return (struct ulp_observer){.context = quick, .node_done = look};
}
