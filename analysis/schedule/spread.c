/* The spread of a contraction's results over the schedules a library might pick. */
#include <math.h>
#include <string.h>

#include "base/machine/environment.h"
#include "base/memory/alloc.h"
#include "base/error.h"
#include "analysis/measure/metrics.h"
#include "analysis/schedule/schedule.h"
#include "number/format/request.h"
#include "number/function/math.h"
#include "run/program/program.h"
#include "tensor/tensor.h"

static bool add_changed(struct ulp_arithmetic *set, size_t *count,
                        const struct ulp_arithmetic *base, const char *part)
{
    struct ulp_error ignored;
    /* a GPU without the unit for factors with scales multiplies other numbers */
    const bool exists = ulp_arithmetic_change(&set[*count], base, part, &ignored) == ULP_OK &&
                        strcmp(set[*count].factor.name, base->factor.name) == 0;
    *count += exists;
    return exists;
}

size_t ulp_schedules_make(const struct ulp_arithmetic *base, struct ulp_arithmetic *set,
                          ptrdiff_t *other_gpu)
{
    static const char *const slices[] = {"split-k=2", "split-k=4", "split-k=8", "split-k=16"};
    const char *const gpu = ulp_arithmetic_other_gpu(base);
    size_t count = 1;
    set[0] = *base;
    for (size_t i = 0; i < sizeof slices / sizeof *slices && base->schedule.split_k <= 1; i++)
        add_changed(set, &count, base, slices[i]);
    if (base->schedule.fused)
        add_changed(set, &count, base, "nofma");
    *other_gpu = gpu && add_changed(set, &count, base, gpu) ? (ptrdiff_t)count - 1 : -1;
    return count;
}

/* Sums over the elements of one output, of every execution of its node. */
struct widths {
    double max_abs, max_ulp, sum2, error2, gpu2;
    size_t differing, nonfinite, count, executions;
    struct ulp_range range;
};

struct spreading {
    struct ulp_spreads *spreads;
    struct widths *widths; /* of the items; in an arena of their own */
    struct ulp_arena *arena;
    size_t item_capacity, width_capacity;
    /* By number of the plan's nodes: where its outputs are in `item`, which holds 1 + the item of
     * each, 0 for those that have none. */
    size_t *first, *item;
};

static void add_element(struct widths *widths, const struct ulp_event *event, size_t output,
                        size_t i, ptrdiff_t other_gpu)
{
    double reference = ulp_tensor_get(event->values[output].entire, i), low = INFINITY,
           high = -INFINITY, first = 0, other = 0;
    size_t finite = 0, lanes = event->lane_count - 1;
    for (size_t l = 0; l < lanes; l++) {
        double x = ulp_tensor_get(event->values[(l + 1) * event->output_count + output].entire, i);
        finite += isfinite(x) != 0;
        low = x < low ? x : low;
        high = x > high ? x : high;
        first = l == 0 ? x : first;
        other = (ptrdiff_t)l == other_gpu ? x : other;
    }
    if (finite < lanes || !isfinite(reference)) {
        widths->nonfinite += finite > 0 && finite < lanes;
        return;
    }
    double width = high - low, ulp = ulp_format_ulp(&event->arithmetics[1].storage, reference);
    widths->count++;
    widths->differing += width > 0;
    widths->max_abs = ulp_math_max(widths->max_abs, width);
    widths->max_ulp = ulp_math_max(widths->max_ulp, width / ulp);
    widths->sum2 += width * width;
    widths->error2 += (first - reference) * (first - reference);
    widths->gpu2 += (first - other) * (first - other);
}

/* The item of a node's output: a new one in the node's first execution. */
static enum ulp_status find_item(struct spreading *spreading, const struct ulp_event *event,
                                 size_t output, size_t *item, struct ulp_error *error)
{
    struct ulp_spreads *spreads = spreading->spreads;
    size_t *kept =
        &spreading->item[spreading->first[event->index] + (size_t)event->output_positions[output]];
    *item = *kept - 1;
    if (*kept)
        return ULP_OK;
    *item = spreads->count;
    ULP_GROW(spreads->items, spreads->memory, spreads->count, spreading->item_capacity, error);
    ULP_GROW(spreading->widths, spreading->arena, spreads->count, spreading->width_capacity, error);
    spreading->widths[*item] = (struct widths){0};
    spreads->items[*item] =
        (struct ulp_spread){.index = event->index,
                            .name = ulp_arena_copy(spreads->memory, event->name),
                            .op = ulp_arena_copy(spreads->memory, event->op),
                            .output = ulp_arena_copy(spreads->memory, event->output_names[output])};
    *kept = ++spreads->count;
    const struct ulp_spread *spread = &spreads->items[*item];
    return ulp_taken(spread->name && spread->op && spread->output, error);
}

static enum ulp_status add_spread(struct spreading *spreading, const struct ulp_event *event,
                                  size_t output, struct ulp_error *error)
{
    const struct ulp_tensor *reference = event->values[output].entire;
    const struct ulp_format *format = &event->arithmetics[1].storage;
    struct ulp_range range;
    size_t item;
    for (size_t l = 1; l < event->lane_count; l++)
        if (!ulp_tensor_same_shape(event->values[l * event->output_count + output].entire,
                                   reference))
            return ULP_OK;
    ULP_TRY(find_item(spreading, event, output, &item, error));
    struct widths *widths = &spreading->widths[item];
    struct ulp_spread *spread = &spreading->spreads->items[item];
    const ptrdiff_t other_gpu = spreading->spreads->other_gpu;
    for (size_t i = 0; i < reference->count; i++)
        add_element(widths, event, output, i, other_gpu);
    ulp_range_measure(reference, format, NULL, &range);
    if (widths->executions)
        ulp_range_merge(&widths->range, &range, widths->executions, format);
    else
        widths->range = range;
    widths->executions++;
    double n = (double)widths->count;
    spread->ref_rms = widths->range.ref_rms;
    spread->width_max_abs = widths->max_abs;
    spread->width_rms = sqrt(widths->sum2 / n);
    spread->width_max_ulp = widths->max_ulp;
    spread->differing = (double)widths->differing / n;
    spread->error_rms = sqrt(widths->error2 / n);
    spread->gpu_rms = other_gpu >= 0 ? sqrt(widths->gpu2 / n) : NAN;
    spread->nonfinite = widths->nonfinite;
    return ULP_OK;
}

static enum ulp_status measure_node(void *context, const struct ulp_event *event,
                                    struct ulp_error *error)
{
    struct spreading *spreading = context;
    for (size_t o = 0; o < event->output_count; o++) {
        const struct ulp_tensor *first = event->values[event->output_count + o].entire;
        if (first && ulp_element_is_float(first->element) && event->values[o].entire != first)
            ULP_TRY(add_spread(spreading, event, o, error));
    }
    return ULP_OK;
}

static enum ulp_status name_set(struct ulp_spreads *spreads, const struct ulp_arithmetic *set,
                                size_t count, struct ulp_error *error)
{
    spreads->base = ulp_arena_copy(spreads->memory, set[0].name);
    spreads->schedules = ulp_arena_take(spreads->memory, count, sizeof *spreads->schedules);
    ULP_TRY(ulp_taken(spreads->base && spreads->schedules, error));
    spreads->schedule_count = count;
    for (size_t s = 0; s < count; s++)
        if (!(spreads->schedules[s] = ulp_arena_copy(spreads->memory, set[s].name)))
            return ulp_out_of_memory(error);
    return ULP_OK;
}

static enum ulp_status make_places(struct spreading *spreading, const struct ulp_program *program,
                                   struct ulp_error *error)
{
    size_t outputs = 0;
    spreading->first =
        ulp_arena_take(spreading->arena, program->node_count + 1, sizeof *spreading->first);
    for (size_t n = 0; n < program->node_count && spreading->first; n++) {
        spreading->first[n] = outputs;
        outputs += program->nodes[n].step->output_count;
    }
    spreading->item = ulp_arena_take(spreading->arena, outputs + 1, sizeof *spreading->item);
    return ulp_taken(spreading->first && spreading->item, error);
}

enum ulp_status ulp_spreads_measure(const struct ulp_model *model,
                                    const struct ulp_arithmetic *reference,
                                    const struct ulp_arithmetic *base,
                                    const struct ulp_tensor_set *inputs,
                                    const struct ulp_run_options *options,
                                    const struct ulp_observer *progress, struct ulp_spreads *out,
                                    struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_arithmetic lanes[1 + ULP_SCHEDULES_MAX] = {*reference};
    struct ulp_program_options plan_options = {.inputs = inputs};
    struct ulp_run_options run = *options;
    struct spreading spreading = {.spreads = out};
    const struct ulp_observer looking = {.context = &spreading,
                                         .node_done = measure_node,
                                         .modes_unused = true};
    struct ulp_program *program = NULL;
    *out = (struct ulp_spreads){0};
    size_t count = ulp_schedules_make(base, lanes + 1, &out->other_gpu);
    run.audit = false;
    run.isolated = true;
    enum ulp_status status = ulp_arena_create(&out->memory, ulp_model_budget(model), error);
    ULP_THEN(status, ulp_arena_create(&spreading.arena, ulp_model_budget(model), error));
    ULP_THEN(status, name_set(out, lanes + 1, count, error));
    ULP_THEN(status, ulp_program_create(model, lanes, count + 1, &plan_options, &program, error));
    ULP_THEN(status, make_places(&spreading, program, error));
    ULP_THEN(status, ulp_program_look(program, inputs, &run, &looking, progress, NULL, error));
    ulp_program_free(program);
    ulp_arena_free(spreading.arena);
    if (status != ULP_OK)
        ulp_spreads_free(out);
    return status;
}

ULP_RESULT_FREE(ulp_spreads_free, struct ulp_spreads)
