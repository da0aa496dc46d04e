/* What becomes of an overflow. Behind it the node's own definition runs once more, on what the lane
 * has there: infinities and NaN where they have come so far, elsewhere the reference's values,
 * rounded. Where the results are finite again, they are right (it was absorbed) or wrong. */
#include <math.h>
#include <string.h>

#include "analysis/audit/audit_keep.h"
#include "analysis/audit/audit_overflow.h"
#include "analysis/overflow/meter.h"
#include "base/error.h"

/* More than an eighth of the rms is no rounding: as in an audit. */
#define WRONG 0.125

static bool is_wrong(const struct ulp_tensor *value, const struct ulp_tensor *truth)
{
    double error = 0, size = 0;
    if (!ulp_tensor_same_shape(value, truth))
        return true;
    for (size_t i = 0; i < value->count; i++) {
        const double t = ulp_tensor_get(truth, i), d = ulp_tensor_get(value, i) - t;
        if (isfinite(t)) {
            error += d * d;
            size += t * t;
        }
    }
    return !(error <= WRONG * WRONG * size);
}

/* The step on what the lane has, into tensors as it stores them. */
static enum ulp_status run_poisoned(struct ulp_overflow_meter *meter,
                                    const struct ulp_overflow_view *view,
                                    const struct ulp_tensor *const *replace,
                                    struct ulp_tensor *stored, struct ulp_error *error)
{
    struct ulp_forward *forward = &meter->forward;
    struct ulp_forward_inputs inputs = {0};
    struct ulp_tensor *exact =
        ulp_arena_take(view->arena, view->step->output_count + 1, sizeof *exact);
    enum ulp_status status = ulp_taken(exact, error);
    ULP_THEN(status, ulp_forward_widened(forward, view->lane, view->step, view->rounded, replace,
                                         view->arena, &inputs, error));
    ULP_THEN(status, ulp_step_run(view->step, &forward->wide, inputs.at, exact, error));
    for (size_t o = 0; o < view->step->output_count && exact; o++) {
        if (status == ULP_OK && view->step->outputs[o] >= 0)
            status =
                ulp_forward_store(forward, view->lane, view->step, &exact[o], &stored[o], error);
        if (stored[o].data == exact[o].data && exact[o].owned)
            stored[o].owned = true; /* a view of it: taken over */
        else
            ulp_tensor_free(&exact[o]);
    }
    ulp_forward_inputs_free(&inputs);
    return status;
}

/* What its inputs bear: replace[i] of those; the overflow they come from. */
static ptrdiff_t gather(struct ulp_overflow_course *lane, const struct ulp_step *step,
                        const struct ulp_tensor **replace)
{
    ptrdiff_t from = -1;
    for (size_t i = 0; i < step->input_count; i++) {
        const int slot = step->inputs[i];
        if (slot < 0 || lane->poisoned[slot].type == ULP_TYPE_UNDEFINED)
            continue;
        replace[i] = &lane->poisoned[slot];
        from = ulp_audit_overflow_join(&lane->audit, from, lane->overflow[slot]);
    }
    return from;
}

/* Keep what is not finite of the results. */
static enum ulp_status keep_poisoned(struct ulp_overflow_meter *meter,
                                     struct ulp_overflow_course *lane,
                                     const struct ulp_overflow_view *view,
                                     const struct ulp_tensor *results, ptrdiff_t overflow,
                                     struct ulp_error *error)
{
    for (size_t o = 0; o < view->step->output_count; o++) {
        const int slot = view->step->outputs[o];
        size_t first;
        if (slot < 0 ||
            !ulp_overflow_nonfinite(&results[o], ulp_overflow_truth(meter, slot), &first))
            continue;
        ULP_TRY(ulp_tensor_copy(&lane->poisoned[slot], &results[o], meter->forward.budget, error));
        lane->overflow[slot] = overflow;
    }
    return ULP_OK;
}

enum ulp_status ulp_overflow_follow(struct ulp_overflow_meter *meter,
                                    const struct ulp_overflow_view *view, bool born,
                                    struct ulp_error *error)
{
    struct ulp_overflow_course *lane = &meter->lanes[view->lane - 1];
    const size_t outputs = view->step->output_count;
    ULP_TAKE_ARRAY(const struct ulp_tensor *, replace, view->arena, view->step->input_count + 1,
                   error);
    ULP_TAKE_ARRAY(struct ulp_tensor, stored, view->arena, outputs + 1, error);
    struct ulp_audit_overflow_look look = {.born = born, .from = gather(lane, view->step, replace)};
    if (look.from < 0 && !born)
        return ULP_OK;
    enum ulp_status status = ULP_OK;
    const struct ulp_tensor *results = view->stored;
    if (look.from >= 0) {
        status = run_poisoned(meter, view, replace, stored, error);
        results = stored;
    }
    for (size_t o = 0; o < outputs && status == ULP_OK; o++) {
        const int slot = view->step->outputs[o];
        size_t first;
        if (slot < 0)
            continue;
        const struct ulp_tensor *truth = ulp_overflow_truth(meter, slot);
        look.shows |= ulp_overflow_nonfinite(&results[o], truth, &first) > 0;
        look.wrong |= is_wrong(&results[o], truth);
        for (size_t i = 0; i < view->step->input_count && !look.shows && !look.wrong; i++)
            look.wrong |= replace[i] && ulp_element_is_float(truth->element) &&
                          ulp_audit_overflow_misleads(
                              &(struct ulp_pair){ulp_overflow_truth(meter, view->step->inputs[i]),
                                                 replace[i]},
                              &(struct ulp_pair){truth, &results[o]});
    }
    if (status == ULP_OK) {
        const ptrdiff_t overflow =
            ulp_audit_overflow_follow(&lane->audit, &lane->audit.nodes[view->step->number], &look);
        if (overflow >= 0)
            status = keep_poisoned(meter, lane, view, results, overflow, error);
    }
    ulp_tensors_free(stored, outputs);
    return status;
}

/* Is an element of the lane's no rounding of the reference's? Finite, where that is beyond the
 * format; zero (zeros: by one that the node has read), where that is not. */
static bool is_held(const struct ulp_tensor *stored, const struct ulp_tensor *truth,
                    const struct ulp_format *format, bool saturates, bool zeros)
{
    for (size_t i = 0; i < stored->count && ulp_element_is_float(stored->element); i++) {
        const double own = ulp_tensor_get(stored, i), t = ulp_tensor_get(truth, i);
        if (saturates && isfinite(own) && isfinite(t) && ulp_overflow_is_beyond(format, t))
            return true;
        if (zeros && own == 0 && t != 0 &&
            ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, t, 0, 0) != 0)
            return true;
    }
    return false;
}

enum ulp_status ulp_overflow_hold(struct ulp_overflow_meter *meter,
                                  const struct ulp_overflow_view *view, struct ulp_error *error)
{
    struct ulp_overflow_course *lane = &meter->lanes[view->lane - 1];
    const bool zeros = ulp_overflow_find_zero(meter, view) >= 0;
    for (size_t o = 0; o < view->step->output_count; o++) {
        const int slot = view->step->outputs[o];
        struct ulp_format format;
        if (!lane->saturates && !zeros)
            break;
        if (slot < 0 || !ulp_type_is_float(view->exact[o].type) ||
            view->stored[o].count != ulp_overflow_truth(meter, slot)->count)
            continue;
        ULP_TRY(ulp_forward_format(&meter->forward, view->lane, view->step, view->exact[o].type,
                                   &format, error));
        if (is_held(&view->stored[o], ulp_overflow_truth(meter, slot), &format, lane->saturates,
                    zeros))
            ULP_TRY(
                ulp_tensor_copy(&lane->held[slot], &view->stored[o], meter->forward.budget, error));
    }
    return ULP_OK;
}

void ulp_overflow_drop(struct ulp_overflow_course *lane, const struct ulp_step *step)
{
    for (size_t i = 0; i < step->dead_count; i++) {
        ulp_tensor_free(&lane->poisoned[step->dead[i]]);
        ulp_tensor_free(&lane->held[step->dead[i]]);
    }
}

void ulp_overflow_reach(struct ulp_overflow_meter *meter, size_t l)
{
    const struct ulp_block *block = meter->forward.program->main;
    struct ulp_overflow_course *lane = &meter->lanes[l];
    for (size_t o = 0; o < block->output_count; o++)
        if (lane->poisoned[block->outputs[o]].type != ULP_TYPE_UNDEFINED)
            ulp_audit_overflow_reach(&lane->audit, lane->overflow[block->outputs[o]]);
}

/* An overflow's end, for the node it begins at. */
static void judge_effect(const struct ulp_audit_lane *audit, struct ulp_overflow_node *node)
{
    const struct ulp_audit_overflow *root =
        ulp_audit_overflow_root(audit, audit->nodes[node->index].overflow);
    if (root && root->reaches_output) {
        node->effect = ULP_OVERFLOW_POISONS;
    } else if (root && root->spoils >= 0) {
        node->effect = ULP_OVERFLOW_SPOILS;
        node->effect_node = root->spoils;
    } else if (root && root->absorbed_by >= 0) {
        node->effect = ULP_OVERFLOW_ABSORBED;
        node->effect_node = root->absorbed_by;
    } else if (!root) {
        node->effect = ULP_OVERFLOW_SPOILS; /* finite, and wrong where it is */
        node->effect_node = (ptrdiff_t)node->index;
    } else {
        node->effect = ULP_OVERFLOW_UNUSED;
    }
}

static bool does_harm(const struct ulp_overflow_node *node)
{
    return node->effect == ULP_OVERFLOW_POISONS || node->effect == ULP_OVERFLOW_SPOILS;
}

static bool vanishes(const struct ulp_overflow_node *node)
{
    for (size_t o = 0; o < node->output_count; o++)
        if (node->outputs[o].vanishes)
            return true;
    return false;
}

/* The node that computes the slot, and in front of it those whose results round to zero: were one
 * of them not kept, it would be zero before it is read. */
static void keep_zeros(const struct ulp_program *program, const struct ulp_overflow_course *from,
                       int slot)
{
    const struct ulp_step *step = ulp_block_producer(program->main, slot);
    if (!step || !from->nodes[step->number] || from->nodes[step->number]->keep)
        return;
    from->nodes[step->number]->keep = true;
    for (size_t i = 0; i < step->input_count; i++) {
        const struct ulp_step *before =
            step->inputs[i] < 0 ? NULL : ulp_block_producer(program->main, step->inputs[i]);
        if (before && from->nodes[before->number] && vanishes(from->nodes[before->number]))
            keep_zeros(program, from, step->inputs[i]);
    }
}

/* What a node is divided by, or the like, that became zero. */
static void keep_divisor(const struct ulp_program *program, const struct ulp_overflow_course *from,
                         const struct ulp_overflow_node *node)
{
    const struct ulp_block *block = program->main;
    for (size_t o = 0; o < node->output_count; o++)
        for (size_t v = 0; node->outputs[o].cause == ULP_OVERFLOW_ZERO &&
                           node->outputs[o].culprit && v < block->slot_count;
             v++)
            if (strcmp(block->slots[v].name, node->outputs[o].culprit) == 0)
                keep_zeros(program, from, (int)v);
}

void ulp_overflow_judge(const struct ulp_program *program, const struct ulp_overflow_course *from,
                        struct ulp_overflow_lane *to)
{
    const struct ulp_audit_lane *audit = &from->audit;
    for (size_t n = 0; n < program->node_count; n++) {
        struct ulp_overflow_node *node = from->nodes[n];
        if (!node)
            continue;
        node->effect_node = -1;
        if (node->born)
            judge_effect(audit, node);
        node->keep |= ulp_audit_overflow_needs_range(audit, &audit->nodes[n], node->born,
                                                     node->reads_overflow);
        if (node->born && does_harm(node))
            keep_divisor(program, from, node);
    }
    for (size_t n = 0; n < program->node_count; n++) {
        struct ulp_overflow_node *node = from->nodes[n];
        if (!node)
            continue;
        ulp_overflow_judge_hidden(node);
        to->narrow_counts[node->narrow]++;
        to->nodes[to->node_count++] = *node;
        to->counts[node->verdict]++;
        to->born_count += node->born;
        to->harmful_count += node->born && does_harm(node);
        to->keep_count += node->keep;
    }
}
