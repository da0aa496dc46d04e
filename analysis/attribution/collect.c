/* On the way forward: what each lane's nodes introduce, and where derivatives are to be taken. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/attribution/attribution.h"
#include "analysis/measure/difference.h"
#include "base/memory/budget.h"
#include "base/error.h"
#include "run/lane.h"

const char ulp_attribution_parted[] = "a value has another shape than the reference's";

/* ---- differences ---- */

struct difference {
    const struct ulp_tensor *a, *b;
    float *out;           /* a - b, NULL: not wanted */
    double *exact;        /* the same in FP64; NULL: not wanted */
    float *value;         /* a, b where only that is finite; NULL: not wanted */
    _Atomic bool unequal; /* only one of them is finite */
};

/* Where not all are finite. */
static void subtract_strip(struct difference *job, double *difference, double *a, const double *b,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const bool finite = isfinite(a[i]) && isfinite(b[i]);
        if (!finite && !(a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))))
            job->unequal = true;
        difference[i] = finite ? difference[i] : 0;
        a[i] = isfinite(a[i]) ? a[i] : b[i];
    }
}

ULP_WORK(subtract_range)
{
    struct difference *job = context;
    struct ulp_metrics_side sides[2];
    double difference[ULP_METRICS_STRIP], *a = sides[0].nearest, *b = sides[1].nearest;
    for (size_t at = first, count; at < last; at += count) {
        size_t others = 0;
        count = ulp_size_min(last - at, ULP_METRICS_STRIP);
        ulp_side_open(&sides[0], job->a, at, count);
        ulp_side_open(&sides[1], job->b, at, count);
        ulp_sides_subtract(difference, &sides[0], &sides[1]);
        for (size_t i = 0; i < count; i++)
            others += !(fabs(a[i]) <= DBL_MAX) | !(fabs(b[i]) <= DBL_MAX);
        if (others)
            subtract_strip(job, difference, a, b, count);
        for (size_t i = 0; job->out && i < count; i++)
            job->out[at + i] = ulp_kept_error(difference[i]);
        if (job->exact)
            memcpy(job->exact + at, difference, count * sizeof *difference);
        for (size_t i = 0; job->value && i < count; i++)
            job->value[at + i] = (float)a[i];
    }
    return ULP_OK;
}

static enum ulp_status form_difference(struct ulp_attributor *attributor, struct difference *job,
                                       struct ulp_error *error)
{
    return ulp_parallel_for(attributor->pool, job->a->count, ulp_grain(8), subtract_range, job,
                            error);
}

void ulp_attribution_show(const struct ulp_attributed *lane, int slot)
{
    const struct ulp_tensor *value = &lane->values[slot];
    const float *floats = lane->kept[slot].data;
    lane->values[slot].data = lane->kept[slot].data;
    lane->differences[slot] =
        floats && ulp_element_is_float(value->element) ? floats + value->count : NULL;
}

void ulp_attribution_drop(struct ulp_attributor *attributor, struct ulp_attributed *lane)
{
    lane->owed_any = false;
    lane->parted = SIZE_MAX;
    const struct ulp_program *program = attributor->program;
    for (size_t s = 0; lane->values && s < program->main->slot_count; s++) {
        ulp_attribution_forget(&lane->kept[s]);
        ulp_free(lane->errors[s]);
        ulp_free(lane->borders[s]);
        lane->values[s] = (struct ulp_tensor){0};
        lane->differences[s] = NULL;
        lane->errors[s] = lane->borders[s] = NULL;
        lane->as_held[s] = false;
    }
    for (struct ulp_attributed_settled *item = lane->settled, *next; item; item = next) {
        next = item->next;
        ulp_attribution_forget(&item->value);
        ulp_attribution_forget(&item->introduced);
        ulp_free(item);
    }
    lane->settled = NULL;
    for (size_t n = 0; lane->introduced && lane->moved && n < program->node_count; n++) {
        for (struct ulp_introduced *item = lane->introduced[n], *next; item; item = next) {
            next = item->next;
            ulp_attribution_forget(&item->kept);
            ulp_free(item);
        }
        lane->introduced[n] = NULL;
        lane->decided[n] = false;
        ulp_free(lane->moved[n].terms);
        lane->moved[n] = (struct ulp_moved){0};
        ulp_causes_drop(lane, n);
    }
}

/* ---- one value ---- */

static bool same_integers(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    return a->element == b->element && memcmp(a->data, b->data, a->count * a->element_bytes) == 0;
}

/* The value, its error, and (wanted) that in FP64. */
static enum ulp_status keep_floats(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                                   int slot, const struct ulp_tensor *own,
                                   const struct ulp_tensor *reference, bool wanted, float *value,
                                   struct ulp_error *error)
{
    struct difference job = {.a = own, .b = reference, .value = value, .out = value + own->count};
    double norm = 0;
    enum ulp_status status = ULP_OK;
    if (wanted)
        status = ulp_attribution_room(attributor, lane, own->count, sizeof(double),
                                      &lane->errors[slot], error);
    job.exact = lane->errors[slot];
    if (status == ULP_OK && !lane->reason)
        status = form_difference(attributor, &job, error);
    for (size_t i = 0; wanted && status == ULP_OK && i < reference->count; i++) {
        const double r = ulp_tensor_read(reference, i);
        norm += isfinite(r) ? r * r : 0;
    }
    lane->norms[slot] = sqrt(norm);
    lane->nonfinite |= job.unequal;
    if (job.unequal && wanted)
        lane->reason = ulp_attribution_nonfinite;
    return status;
}

/* What is explained, and the model's inputs (wanted), stay in memory. */
static enum ulp_status keep_value(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                                  int slot, const struct ulp_tensor *own,
                                  const struct ulp_tensor *reference, bool wanted,
                                  struct ulp_attributed_settled *settled, struct ulp_error *error)
{
    struct ulp_tensor *value = &lane->values[slot];
    struct ulp_attributed_bytes *kept = settled ? &settled->value : &lane->kept[slot];
    const bool integers = !ulp_element_is_float(reference->element),
               floats = !integers || attributor->amounts[slot];
    enum ulp_status status = ULP_OK;
    if (floats)
        status = ulp_tensor_describe(value, integers ? ULP_TYPE_FLOAT : reference->type,
                                     ULP_ELEMENT_F32, 0, reference->rank, reference->dims, error);
    else
        *value = ulp_tensor_view(reference);
    value->data = NULL;
    lane->as_held[slot] =
        integers ? !floats && same_integers(own, reference) : own->element == ULP_ELEMENT_F32;
    const size_t bytes = floats ? 2 * sizeof(float) : value->element_bytes;
    const bool known = settled && kept->bytes;
    if (status == ULP_OK && !known)
        status = ulp_attribution_room(attributor, lane, value->count, bytes, &kept->data, error);
    if (status != ULP_OK || lane->reason)
        return status;
    if (floats && !known)
        status = keep_floats(attributor, lane, slot, own, reference, wanted, kept->data, error);
    else if (value->count && !known)
        memcpy(kept->data, reference->data, value->count * value->element_bytes);
    if (status == ULP_OK && !lane->reason && !wanted && !known)
        status = ulp_attribution_settle(attributor, lane, kept, value->count * bytes,
                                        &attributor->room, error);
    if (settled)
        lane->kept[slot] = (struct ulp_attributed_bytes){.data = kept->data, .shared = true};
    ulp_attribution_show(lane, slot);
    return status;
}

/* The rounding of a value that leaves the graph, which nodes in its kernel do not read. */
static enum ulp_status keep_border(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                                   int slot, const struct ulp_lane_value *value,
                                   struct ulp_error *error)
{
    struct difference job = {.a = value->entire, .b = value->held};
    enum ulp_status status = ulp_attribution_room(attributor, lane, value->held->count,
                                                  sizeof(double), &lane->borders[slot], error);
    job.exact = lane->borders[slot];
    if (status == ULP_OK && !lane->reason)
        status = form_difference(attributor, &job, error);
    if (job.unequal) {
        lane->nonfinite = true;
        lane->reason = ulp_attribution_nonfinite;
    }
    for (size_t i = 0; i < value->held->count && status == ULP_OK && !lane->reason; i++)
        lane->errors[slot][i] += lane->borders[slot][i];
    return status;
}

/* It turns at the format's values, to which results come nearer than FP64 tells (Softsign to 1). */
static bool is_directed(enum ulp_rounding rounding)
{
    return rounding == ULP_ROUND_TOWARD_ZERO || rounding == ULP_ROUND_UP ||
           rounding == ULP_ROUND_DOWN;
}

/* P(p) - R(p), and (both) P(p) - R(p) rounded to what P stores. */
static enum ulp_status form_introduced(struct ulp_attributor *attributor,
                                       struct ulp_attributed *lane, size_t node,
                                       const struct ulp_tensor *own, const struct ulp_tensor *here,
                                       bool both, float *out, struct ulp_error *error)
{
    const struct ulp_arithmetic *arithmetic = ulp_attribution_holder(attributor, lane, node);
    struct difference job = {.a = own, .b = here, .out = out};
    struct ulp_format format;
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor stored = {0};
    ULP_TRY(form_difference(attributor, &job, error));
    lane->nonfinite |= job.unequal;
    if (!both)
        return ULP_OK;
    if (own->element == ULP_ELEMENT_F32 && !is_directed(arithmetic->rounding))
        return ulp_attribution_beyond(attributor, lane, node, own, out, out + own->count, error);
    if (!ulp_element_is_float(own->element)) { /* amounts are not rounded again */
        memcpy(out + own->count, out, own->count * sizeof *out);
        return ULP_OK;
    }
    ULP_TRY(ulp_lane_format(arithmetic, own->type, &format, error));
    ULP_TRY(ulp_tensor_create_like(&stored, own, own->element, own->precision, attributor->budget,
                                   error));
    ULP_TRY(ulp_tensor_convert(&stored, here, &format, arithmetic->rounding, 0, attributor->pool,
                               error));
    job = (struct difference){.a = own, .b = &stored, .out = out + own->count};
    return form_difference(attributor, &job, error);
}

/* The original's value of an output of the main graph; NULL: it is not known. */
static const struct ulp_tensor *find_beside(const struct ulp_attributor *attributor,
                                            const struct ulp_program_node *node,
                                            const struct ulp_event *event, size_t o)
{
    const struct ulp_tensor *computed = event->values[o].entire,
                            *value = attributor->beside && node->block == attributor->program->main
                                         ? ulp_tensor_set_find(attributor->beside,
                                                               event->output_names[o])
                                         : NULL;
    return value && ulp_element_is_float(computed->element) &&
                   ulp_tensor_same_shape(value, computed)
               ? value
               : NULL;
}

/* What the node makes of the original's values otherwise than the original; zeros where those are
 * not known. */
static enum ulp_status add_graph(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                                 const struct ulp_tensor *computed, const struct ulp_tensor *truth,
                                 float *out, struct ulp_error *error)
{
    const size_t count = computed->count;
    float *graph = out + 2 * count;
    struct difference job = {.a = computed, .b = truth, .out = graph};
    if (!truth) {
        memset(graph, 0, count * sizeof *graph);
        return ULP_OK;
    }
    const enum ulp_status status = form_difference(attributor, &job, error);
    lane->nonfinite |= job.unequal;
    for (size_t i = 0; i < count; i++)
        out[i] += graph[i];
    return status;
}

static enum ulp_status keep_introduced(struct ulp_attributor *attributor,
                                       struct ulp_attributed *lane, const struct ulp_event *event,
                                       size_t l, size_t o, struct ulp_attributed_settled *settled,
                                       struct ulp_error *error)
{
    const struct ulp_lane_value *value = &event->values[l * event->output_count + o];
    const struct ulp_program_node *node = &attributor->program->nodes[event->index];
    const bool both = attributor->beside || node->block != attributor->program->main ||
                      value->held->element != ULP_ELEMENT_F32 ||
                      is_directed(ulp_attribution_holder(attributor, lane, event->index)->rounding);
    const bool single = !attributor->beside && !settled && value->single &&
                        ulp_tensor_same_shape(value->single, event->values[o].entire) &&
                        ulp_alone_wanted(attributor, lane);
    const size_t count = value->entire->count,
                 bytes = (attributor->beside ? 3 : 1 + both + single) * sizeof(float);
    const bool known = settled && settled->introduced.bytes;
    struct ulp_introduced *item;
    if (value->held == value->here && !attributor->beside)
        return ULP_OK; /* it introduces nothing */
    ULP_TRY(ulp_attribution_room(attributor, lane, 1, sizeof *item, &item, error));
    if (!item)
        return ULP_OK;
    *item = (struct ulp_introduced){.next = lane->introduced[event->index],
                                    .execution = event->execution,
                                    .count = count,
                                    .position = event->output_positions[o],
                                    .both = both,
                                    .single = single};
    lane->introduced[event->index] = item;
    struct ulp_attributed_bytes *kept = settled ? &settled->introduced : &item->kept;
    enum ulp_status status = ULP_OK;
    if (!known)
        status = ulp_attribution_room(attributor, lane, count, bytes, &kept->data, error);
    if (status == ULP_OK && !lane->reason && !known)
        status = form_introduced(attributor, lane, event->index, value->held, value->here, both,
                                 kept->data, error);
    if (status == ULP_OK && !lane->reason && single) {
        struct difference job = {.a = value->single,
                                 .b = event->values[o].entire,
                                 .out = (float *)kept->data + (1 + both) * count};
        status = form_difference(attributor, &job, error);
    }
    if (status == ULP_OK && !lane->reason && attributor->beside)
        status = add_graph(attributor, lane, event->values[o].entire,
                           find_beside(attributor, node, event, o), kept->data, error);
    if (status == ULP_OK && !lane->reason && !known)
        status =
            ulp_attribution_settle(attributor, lane, kept, count * bytes, &attributor->room, error);
    if (settled)
        item->kept = (struct ulp_attributed_bytes){.data = kept->data, .shared = true};
    return status;
}

/* What is explained is kept for each node. */
static enum ulp_status find_settled(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                                    const struct ulp_event *event, size_t o, int slot,
                                    struct ulp_attributed_settled **out, struct ulp_error *error)
{
    const int position = event->output_positions[o];
    *out = NULL;
    if (!event->settled || attributor->wanted[slot])
        return ULP_OK;
    for (*out = lane->settled; *out; *out = (*out)->next)
        if ((*out)->mark == event->settled && (*out)->position == position)
            return ULP_OK;
    ULP_TRY(ulp_allocate_zero(out, 1, sizeof **out, attributor->budget, "values of an attribution",
                              error));
    **out = (struct ulp_attributed_settled){.next = lane->settled,
                                            .mark = event->settled,
                                            .position = position};
    lane->settled = *out;
    return ULP_OK;
}

static enum ulp_status collect_output(struct ulp_attributor *attributor, size_t l,
                                      const struct ulp_event *event, size_t o,
                                      struct ulp_error *error)
{
    const struct ulp_program_node *node = &attributor->program->nodes[event->index];
    const struct ulp_lane_value *value = &event->values[l * event->output_count + o];
    const struct ulp_tensor *beside = find_beside(attributor, node, event, o),
                            *reference = beside ? beside : event->values[o].entire;
    struct ulp_attributed *lane = &attributor->lanes[l - 1];
    const int slot = node->step->outputs[event->output_positions[o]];
    const bool main = node->block == attributor->program->main;
    struct ulp_attributed_settled *settled = NULL;
    if (main)
        ULP_TRY(find_settled(attributor, lane, event, o, slot, &settled, error));
    if (!ulp_tensor_same_shape(value->entire, reference) ||
        !ulp_tensor_same_shape(value->entire, value->here)) {
        lane->parted = main ? event->index : lane->parted;
        lane->reason = main ? NULL : ulp_attribution_parted;
        return ULP_OK;
    }
    if (!ulp_element_is_float(reference->element) && !(main && attributor->amounts[slot]))
        lane->decided[event->index] |= !same_integers(value->entire, reference);
    else
        ULP_TRY(keep_introduced(attributor, lane, event, l, o, settled, error));
    if (!lane->reason && main)
        ULP_TRY(keep_value(attributor, lane, slot, value->held, reference, attributor->wanted[slot],
                           settled, error));
    if (!lane->reason && main && attributor->wanted[slot] && value->held != value->entire &&
        ulp_element_is_float(reference->element))
        ULP_TRY(keep_border(attributor, lane, slot, value, error));
    return ULP_OK;
}

/* The arithmetic that rounds an input: the lane's, or that of the kept nodes which read it. NULL:
 * they differ, and what each rounds is missing in the shares; or a body may read it. */
static const struct ulp_arithmetic *find_reader(const struct ulp_program *program,
                                                const struct ulp_mix *mix, int slot,
                                                enum ulp_type type)
{
    const struct ulp_block *block = program->main;
    const struct ulp_arithmetic *reader = mix->of_node ? NULL : mix->items;
    const struct ulp_reading *all;
    const size_t count = mix->of_node ? ulp_block_readings(block, slot, &all) : 0;
    for (size_t r = 0; r < count && all[r].step >= 0; r++) {
        const struct ulp_step *step = &block->steps[all[r].step];
        const struct ulp_arithmetic *own = ulp_mix_arithmetic(mix, step->number);
        if ((size_t)all[r].input >= step->own_input_count ||
            (reader && ulp_stored_apart(reader, own, type)))
            return NULL;
        reader = own;
    }
    return reader;
}

/* A lane whose values the memory limit refuses has a reason; the run goes on. */
static enum ulp_status go_on(struct ulp_attributor *attributor, struct ulp_attributed *lane,
                             size_t refusals, enum ulp_status status)
{
    const bool refused = ulp_budget_refused(attributor->budget, refusals, status);
    if (refused)
        lane->reason = attributor->folder ? ulp_attribution_no_memory : ulp_attribution_too_large;
    if (lane->reason)
        ulp_attribution_drop(attributor, lane);
    return refused ? ULP_OK : status;
}

/* One input of the model, rounded as the lane holds it: execute.c. */
static enum ulp_status collect_input(struct ulp_attributor *attributor, size_t l, int slot,
                                     const struct ulp_tensor *given, struct ulp_error *error)
{
    const struct ulp_mix *mix = &attributor->program->mixes[l];
    const struct ulp_arithmetic *reader = find_reader(attributor->program, mix, slot, given->type);
    struct ulp_attributed *lane = &attributor->lanes[l - 1];
    ULP_SCOPED(ulp_tensor_free) struct ulp_tensor own = ulp_tensor_view(given);
    struct ulp_format from = {0};
    if (ulp_element_is_float(given->element) && attributor->program->main->slots[slot].data &&
        reader) {
        ULP_TRY(ulp_format_find(ulp_type_rows[given->type].format, &from, error));
        ULP_TRY(ulp_adapt(&own, given, &from, reader, false, attributor->budget, attributor->pool,
                          error));
    }
    return keep_value(attributor, lane, slot, &own, given, true, NULL, error);
}

enum ulp_status ulp_attribution_inputs(struct ulp_attributor *attributor,
                                       const struct ulp_tensor_set *inputs, struct ulp_error *error)
{
    const struct ulp_block *block = attributor->program->main;
    enum ulp_status status = ULP_OK;
    for (size_t i = 0; i < block->input_count && status == ULP_OK; i++) {
        const int slot = block->inputs[i];
        const struct ulp_tensor *given = ulp_tensor_set_find(inputs, block->slots[slot].name);
        struct ulp_tensor fitted;
        if (!given)
            continue; /* the run says so */
        status = ulp_fit_input(&fitted, given, block->slots[slot].shape.type, attributor->budget,
                               attributor->pool, error);
        for (size_t l = 1; l < attributor->program->lane_count && status == ULP_OK; l++) {
            struct ulp_attributed *lane = &attributor->lanes[l - 1];
            const size_t refusals = ulp_budget_refusals(attributor->budget);
            if (!lane->reason)
                status = go_on(attributor, lane, refusals,
                               collect_input(attributor, l, slot, &fitted, error));
        }
        ulp_tensor_free(&fitted);
    }
    return status;
}

enum ulp_status ulp_attribution_collect(void *context, const struct ulp_event *event,
                                        struct ulp_error *error)
{
    struct ulp_attributor *attributor = context;
    enum ulp_status status = ULP_OK;
    for (size_t l = 1; l < event->lane_count && status == ULP_OK; l++) {
        struct ulp_attributed *lane = &attributor->lanes[l - 1];
        if (event->output_count && !event->values[l * event->output_count].entire)
            continue; /* inside a branch or iteration the lane does not take */
        const size_t refusals = ulp_budget_refusals(attributor->budget);
        for (size_t o = 0; o < event->output_count && status == ULP_OK && !lane->reason &&
                           lane->parted == SIZE_MAX;
             o++)
            status = collect_output(attributor, l, event, o, error);
        if (status == ULP_OK && !lane->reason &&
            (lane->parted == SIZE_MAX || lane->parted == event->index) &&
            attributor->program->nodes[event->index].block == attributor->program->main)
            status = ulp_attribution_moved(attributor, l, event, error);
        status = go_on(attributor, lane, refusals, status);
    }
    return status;
}
