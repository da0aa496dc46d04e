/* The figures of a node's outputs: how large they are, what the format makes of them, and why they
 * overflow. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/tried/tried.h"
#include "analysis/overflow/meter.h"
#include "analysis/measure/judge.h"
#include "base/error.h"
#include "number/function/math.h"

size_t ulp_overflow_nonfinite(const struct ulp_tensor *value, const struct ulp_tensor *truth,
                              size_t *first)
{
    size_t count = 0;
    if (!ulp_element_is_float(value->element) || value->count != truth->count)
        return 0;
    for (size_t i = 0; i < value->count; i++) {
        const double v = ulp_tensor_get(value, i);
        if (!isfinite(v) &&
            (isinf(v) ? ulp_judge_is_finite(truth, i) : !isnan(ulp_tensor_get(truth, i))))
            if (!count++)
                *first = i;
    }
    return count;
}

bool ulp_overflow_is_near(const struct ulp_tensor *exact, const struct ulp_format *format)
{
    const double low = format->max_finite / 2, high = format->max_finite * 2;
    for (size_t i = 0; i < exact->count; i++) {
        const double size = fabs(ulp_tensor_get(exact, i));
        if (size > low && size < high)
            return true;
    }
    return false;
}

/* Those that round to more than the largest number, of a format that has nothing beyond it. */
static size_t count_saturated(const struct ulp_tensor *exact, const struct ulp_format *format,
                              size_t *first)
{
    size_t count = 0;
    for (size_t i = 0; i < exact->count; i++)
        if (ulp_overflow_is_beyond(format, ulp_tensor_get(exact, i)))
            if (!count++)
                *first = i;
    return count;
}

/* The bounds below which a magnitude is subnormal, and up to which it rounds to zero (to nearest;
 * the tie goes to the even zero). */
struct floors {
    double normal, zero;
};

static struct floors find_floors(const struct ulp_format *format)
{
    const double normal = ldexp(1, format->emin);
    return (struct floors){normal, format->subnormals ? ldexp(1, format->emin - format->precision)
                                                      : normal};
}

/* Does element i stand for a value beyond the format that the arithmetic made finite: a mask, which
 * says nothing of how near real values come? A result that overflows is none. */
static bool is_mask(const struct ulp_format *format, double exact, double truth)
{
    return isfinite(truth) && fabs(truth) > format->max_finite && isfinite(exact) &&
           !ulp_overflow_is_beyond(format, exact);
}

/* The range with this sample's, masks left out; its largest magnitude. saturates: what is beyond
 * the format is made finite. exact NULL: the truth is all there is. */
static double add_range(struct ulp_overflow_output *output, const struct ulp_tensor *exact,
                        const struct ulp_tensor *truth, size_t sample, bool saturates)
{
    const struct floors floors = find_floors(&output->format);
    double largest = 0;
    output->count += (double)truth->count;
    for (size_t i = 0; i < truth->count; i++) {
        const double t = ulp_tensor_get(truth, i);
        double size = !exact             ? fabs(t)
                      : i < exact->count ? fabs(ulp_tensor_get(exact, i))
                                         : INFINITY;
        if (saturates && is_mask(&output->format, exact ? size : 0, t)) {
            output->masked = output->finite = true;
            continue;
        }
        if (!isfinite(size) && ulp_judge_is_finite(truth, i))
            size = ulp_math_min(fabs(t), DBL_MAX); /* or more */
        output->finite |= isfinite(size);
        if (!isfinite(size) || size == 0)
            continue;
        largest = ulp_math_max(largest, size);
        if (size > output->largest) {
            output->largest = size;
            if (!output->overflowed) {
                output->sample = sample;
                output->index = i;
            }
        }
        if (output->smallest == 0 || size < output->smallest)
            output->smallest = size;
        output->zero += size <= floors.zero;
        output->subnormal += size > floors.zero && size < floors.normal;
    }
    output->headroom_bits =
        output->largest > 0 ? ulp_math_log2(output->format.max_finite / output->largest) : INFINITY;
    return largest;
}

static enum ulp_overflow_verdict judge_headroom(const struct ulp_overflow_output *output)
{
    return output->overflowed > 0                 ? ULP_OVERFLOW_HAPPENS
           : output->count > 0 && !output->finite ? ULP_OVERFLOW_UNKNOWN
           : !(output->headroom_bits >= 1)        ? ULP_OVERFLOW_1_BIT
           : !(output->headroom_bits >= 3)        ? ULP_OVERFLOW_3_BITS
                                                  : ULP_OVERFLOW_SAFE;
}

/* ---- in bodies ---- */

static enum ulp_status make_inner_outputs(struct ulp_overflow_meter *meter,
                                          struct ulp_overflow_node *node,
                                          const struct ulp_program_node *where,
                                          const struct ulp_tensor *outputs, struct ulp_error *error)
{
    const struct ulp_step *step = where->step;
    struct ulp_arena *memory = meter->forecast.memory;
    if (node->outputs)
        return ULP_OK;
    ULP_TAKE(node->outputs, memory, step->output_count + 1, error);
    for (size_t o = 0; o < step->output_count; o++) {
        const int slot = step->outputs[o];
        if (slot < 0 || !ulp_type_is_float(outputs[o].type))
            continue;
        const char *name = where->block->slots[slot].name;
        struct ulp_overflow_output *output = &node->outputs[node->output_count++];
        output->name = ulp_arena_copy(memory, name);
        ULP_TRY(output->name ? ulp_forward_format(&meter->forward, meter->lane + 1, step,
                                                  outputs[o].type, &output->format, error)
                             : ulp_out_of_memory(error));
    }
    return ULP_OK;
}

static bool is_beyond(const struct ulp_tensor *value, double most)
{
    for (size_t i = 0; value && ulp_element_is_float(value->element) && i < value->count; i++)
        if (fabs(ulp_tensor_get(value, i)) > most)
            return true;
    return false;
}

/* Values of an iteration, exact from what the If, Loop or Scan reads. Where one comes near the end
 * of the format, that node's result is the arithmetic's own. */
static void look_at_inner(struct ulp_overflow_meter *meter, struct ulp_overflow_output *output,
                          const struct ulp_tensor *value, bool upstream)
{
    size_t first = 0;
    const double most = output->format.max_finite;
    const double largest = add_range(output, value, value, meter->sample, false);
    const size_t count = count_saturated(value, &output->format, &first);
    meter->near_inside |= largest > most / 2;
    if (count && !output->overflowed) {
        output->sample = meter->sample;
        output->index = first;
        output->cause = upstream ? ULP_OVERFLOW_UPSTREAM : ULP_OVERFLOW_RESULT;
    }
    if (count && !meter->inside.any) {
        meter->inside.any = true;
        snprintf(meter->inside.words, sizeof meter->inside.words, "%s", output->name);
    }
    output->overflowed += (double)count;
    output->verdict = judge_headroom(output);
}

enum ulp_status ulp_overflow_give(void *context, size_t number,
                                  const struct ulp_tensor *const *inputs, size_t input_count,
                                  const struct ulp_tensor *outputs, struct ulp_error *error)
{
    struct ulp_overflow_meter *meter = context;
    const struct ulp_program_node *where = &meter->forward.program->nodes[number];
    struct ulp_overflow_node *node;
    bool upstream = false;
    ULP_TRY(ulp_overflow_node(meter, meter->lane, number, &node, error));
    ULP_TRY(make_inner_outputs(meter, node, where, outputs, error));
    for (size_t i = 0; i < input_count; i++)
        upstream |= where->step->inputs[i] >= 0 &&
                    !where->block->slots[where->step->inputs[i]].constant &&
                    is_beyond(inputs[i], meter->probe.format.max_finite);
    for (size_t o = 0, n = 0; o < where->step->output_count; o++) {
        if (where->step->outputs[o] < 0 || !ulp_type_is_float(outputs[o].type))
            continue;
        look_at_inner(meter, &node->outputs[n], &outputs[o], upstream);
        if (ulp_overflow_is_worse(node->outputs[n].verdict, node->verdict))
            node->verdict = node->outputs[n].verdict;
        n++;
    }
    return ULP_OK;
}

/* ---- why ---- */

struct reason {
    enum ulp_overflow_cause cause;
    int slot;          /* of the culprit; -1: none */
    const char *words; /* of a hidden one; NULL: none */
};

static bool is_weight(const struct ulp_step *step, size_t i)
{
    return i < step->own_input_count && ulp_is_weight(&step->bound, i);
}

/* What the lane's reading made of input i. */
static bool find_input_reason(const struct ulp_overflow_meter *meter,
                              const struct ulp_overflow_view *view, size_t i, struct reason *out)
{
    const int slot = view->step->inputs[i];
    const struct ulp_program_slot *planned = &meter->forward.program->main->slots[slot];
    const struct ulp_tensor *truth =
        planned->constant ? planned->constant : ulp_overflow_truth(meter, slot);
    size_t first;
    if (!ulp_overflow_nonfinite(view->rounded[i], truth, &first))
        return false;
    *out = (struct reason){planned->constant ? is_weight(view->step, i) ? ULP_OVERFLOW_WEIGHT
                                                                        : ULP_OVERFLOW_CONSTANT
                           : planned->given  ? ULP_OVERFLOW_INPUT
                                             : ULP_OVERFLOW_UPSTREAM,
                           slot, NULL};
    return true;
}

static bool has_become_zero(const struct ulp_tensor *value, const struct ulp_tensor *truth)
{
    for (size_t e = 0;
         ulp_element_is_float(value->element) && value->count == truth->count && e < value->count;
         e++)
        if (ulp_tensor_get(value, e) == 0 && ulp_tensor_get(truth, e) != 0)
            return true;
    return false;
}

int ulp_overflow_find_zero(const struct ulp_overflow_meter *meter,
                           const struct ulp_overflow_view *view)
{
    for (size_t i = 0; i < view->step->input_count; i++) {
        const int slot = view->step->inputs[i];
        if (!view->rounded[i])
            continue;
        const struct ulp_program_slot *planned = &meter->forward.program->main->slots[slot];
        if (has_become_zero(view->rounded[i], planned->constant ? planned->constant
                                                                : ulp_overflow_truth(meter, slot)))
            return slot;
    }
    return -1;
}

/* A constant that is finite in the lane although it lies beyond the lane's storage, also where a
 * kernel reads it that computes in more: it was clipped. -1: there is none. */
static int find_clipped(const struct ulp_overflow_meter *meter,
                        const struct ulp_overflow_view *view)
{
    const struct ulp_format *format = &meter->forecast.lanes[view->lane - 1].arithmetic.storage;
    for (size_t i = 0; i < view->step->input_count; i++) {
        const int slot = view->step->inputs[i];
        const struct ulp_tensor *value = view->rounded[i];
        const struct ulp_tensor *constant =
            value && slot >= 0 ? meter->forward.program->main->slots[slot].constant : NULL;
        if (!constant || !ulp_element_is_float(constant->element) ||
            value->count != constant->count)
            continue;
        for (size_t e = 0; e < constant->count; e++)
            if (fabs(ulp_tensor_get(constant, e)) > format->max_finite &&
                fabs(ulp_tensor_get(value, e)) <= format->max_finite)
                return slot;
    }
    return -1;
}

/* An error that is no rounding, as an audit judges it. */
#define WRONG 0.125

static bool is_graphs(const struct ulp_overflow_meter *meter, int slot)
{
    const struct ulp_block *block = meter->forward.program->main;
    for (size_t o = 0; o < block->output_count; o++)
        if (block->outputs[o] == slot)
            return true;
    return false;
}

/* How many results that the format holds are wrong because of such a constant: of a variance, not
 * of a mask, whose results lie beyond the format as well. As an output of the graph nothing is a
 * mask: nobody reads it who absorbs it. */
static size_t count_spoiled(const struct ulp_overflow_meter *meter,
                            const struct ulp_overflow_view *view, size_t o,
                            const struct ulp_format *format, size_t *first)
{
    const struct ulp_tensor *value = &view->stored[o],
                            *truth = ulp_overflow_truth(meter, view->step->outputs[o]);
    const bool outermost = is_graphs(meter, view->step->outputs[o]);
    double error = 0, size = 0;
    size_t count = 0;
    if (value->count != truth->count || find_clipped(meter, view) < 0)
        return 0;
    for (size_t i = 0; i < value->count; i++) {
        const double t = ulp_tensor_get(truth, i), d = ulp_tensor_get(value, i) - t;
        if (!(fabs(t) <= (outermost ? DBL_MAX : format->max_finite)))
            continue;
        error += d * d;
        size += t * t;
        if (fabs(d) > WRONG * fabs(t) && !count++)
            *first = i;
    }
    return error <= WRONG * WRONG * size ? 0 : count;
}

/* What is read decides before what is computed: an infinite mask or weight, then an input. */
static struct reason find_reason(const struct ulp_overflow_meter *meter,
                                 const struct ulp_overflow_view *view, size_t o, bool spoiled)
{
    struct reason found = {ULP_OVERFLOW_RESULT, -1, NULL}, reason;
    size_t first;
    bool any = false;
    for (size_t i = 0; i < view->step->input_count; i++)
        if (view->rounded[i] && find_input_reason(meter, view, i, &reason))
            if (!any || reason.cause > found.cause) /* upstream is the last */
                any = true, found = reason;
    if (any)
        return found;
    const struct ulp_tensor *truth = ulp_overflow_truth(meter, view->step->outputs[o]);
    const bool beyond = ulp_overflow_nonfinite(&view->exact[o], truth, &first);
    if (beyond && isinf(ulp_tensor_get(truth, first)))
        return found; /* beyond FP64, in which the exact result was computed, too */
    if (beyond)
        return (struct reason){ULP_OVERFLOW_ZERO, ulp_overflow_find_zero(meter, view), NULL};
    if (spoiled)
        return (struct reason){ULP_OVERFLOW_CONSTANT, find_clipped(meter, view), NULL};
    if (meter->inside.any)
        return (struct reason){meter->inside.sum ? ULP_OVERFLOW_SUM : ULP_OVERFLOW_HIDDEN, -1,
                               meter->inside.words};
    return found;
}

static enum ulp_status add_overflow(struct ulp_overflow_meter *meter,
                                    struct ulp_overflow_output *output,
                                    const struct ulp_overflow_view *view, size_t o, size_t count,
                                    size_t first, bool spoiled, bool *born, struct ulp_error *error)
{
    const struct reason reason = find_reason(meter, view, o, spoiled);
    *born |= reason.cause != ULP_OVERFLOW_UPSTREAM;
    if (!output->overflowed) {
        output->sample = meter->sample;
        output->index = first;
        output->cause = reason.cause;
        if (reason.slot >= 0 || reason.words) {
            const char *name =
                reason.words ? reason.words : meter->forward.program->main->slots[reason.slot].name;
            output->culprit = ulp_arena_copy(meter->forecast.memory, name);
            ULP_TRY(ulp_taken(output->culprit, error));
        }
    }
    output->overflowed += (double)count;
    return ULP_OK;
}

static enum ulp_status look_at_output(struct ulp_overflow_meter *meter,
                                      struct ulp_overflow_output *output,
                                      const struct ulp_overflow_view *view, size_t o, bool *born,
                                      struct ulp_error *error)
{
    const struct ulp_tensor *truth = ulp_overflow_truth(meter, view->step->outputs[o]);
    size_t first = 0;
    add_range(output, &view->exact[o], truth, meter->sample,
              meter->lanes[view->lane - 1].saturates && !is_graphs(meter, view->step->outputs[o]));
    size_t count = output->format.overflow == ULP_OVERFLOW_SATURATE
                       ? count_saturated(&view->exact[o], &output->format, &first)
                       : ulp_overflow_nonfinite(&view->stored[o], truth, &first);
    const size_t spoiled = count ? 0 : count_spoiled(meter, view, o, &output->format, &first);
    count += spoiled;
    output->sample_count++;
    if (count)
        ULP_TRY(add_overflow(meter, output, view, o, count, first, spoiled > 0, born, error));
    output->vanishes |= has_become_zero(&view->stored[o], truth);
    output->verdict = judge_headroom(output);
    return ULP_OK;
}

/* ---- integers ---- */

/* The entry of integers behind those of floats, made when it is new. */
static enum ulp_status find_decided(struct ulp_overflow_meter *meter,
                                    struct ulp_overflow_node *node,
                                    const struct ulp_overflow_view *view, size_t o,
                                    struct ulp_overflow_output **out, struct ulp_error *error)
{
    const char *name = meter->forward.program->main->slots[view->step->outputs[o]].name;
    for (size_t n = 0; n < node->output_count; n++)
        if (node->outputs[n].decides && strcmp(node->outputs[n].name, name) == 0) {
            *out = &node->outputs[n];
            return ULP_OK;
        }
    *out = &node->outputs[node->output_count++];
    **out =
        (struct ulp_overflow_output){.name = ulp_arena_copy(meter->forecast.memory, name),
                                     .format =
                                         meter->forecast.lanes[view->lane - 1].arithmetic.storage,
                                     .decides = true};
    return ulp_taken((*out)->name, error);
}

/* A comparison of an input or a constant that the format does not hold: no float shows it. */
static enum ulp_status look_at_integers(struct ulp_overflow_meter *meter,
                                        struct ulp_overflow_node *node,
                                        const struct ulp_overflow_view *view, size_t o, bool *born,
                                        struct ulp_error *error)
{
    struct reason found = {ULP_OVERFLOW_UPSTREAM, -1, NULL}, reason;
    struct ulp_overflow_output *output;
    size_t first;
    for (size_t i = 0; i < view->step->input_count; i++)
        if (view->rounded[i] && find_input_reason(meter, view, i, &reason) &&
            reason.cause < found.cause)
            found = reason;
    if (found.cause == ULP_OVERFLOW_UPSTREAM)
        return ULP_OK;
    const struct ulp_tensor *truth = ulp_overflow_truth(meter, view->step->outputs[o]);
    const size_t count = ulp_outcome_turned(&view->stored[o], truth, &first);
    if (!count)
        return ULP_OK;
    ULP_TRY(find_decided(meter, node, view, o, &output, error));
    const struct ulp_program_slot *planned = &meter->forward.program->main->slots[found.slot];
    add_range(output, NULL,
              planned->constant ? planned->constant : ulp_overflow_truth(meter, found.slot),
              meter->sample, false);
    if (!output->overflowed) {
        output->cause = found.cause;
        output->sample = meter->sample;
        output->index = first;
        output->culprit = ulp_arena_copy(meter->forecast.memory, planned->name);
        ULP_TRY(ulp_taken(output->culprit, error));
    }
    output->overflowed += (double)count;
    output->verdict = judge_headroom(output);
    *born = true;
    return ULP_OK;
}

enum ulp_status ulp_overflow_look(struct ulp_overflow_meter *meter, struct ulp_overflow_node *node,
                                  const struct ulp_overflow_view *view, bool *born,
                                  struct ulp_error *error)
{
    size_t n = 0;
    *born = false;
    for (size_t o = 0; o < view->step->output_count; o++) {
        if (view->step->outputs[o] < 0)
            continue;
        if (ulp_type_is_float(view->exact[o].type))
            ULP_TRY(look_at_output(meter, &node->outputs[n++], view, o, born, error));
        else
            ULP_TRY(look_at_integers(meter, node, view, o, born, error));
    }
    for (size_t o = 0; o < node->output_count; o++)
        if (ulp_overflow_is_worse(node->outputs[o].verdict, node->verdict))
            node->verdict = node->outputs[o].verdict;
    for (size_t i = 0; i < view->step->input_count; i++) {
        struct reason reason;
        node->reads_overflow |= view->rounded[i] && find_input_reason(meter, view, i, &reason) &&
                                reason.cause == ULP_OVERFLOW_UPSTREAM;
    }
    node->born |= *born;
    return ULP_OK;
}
