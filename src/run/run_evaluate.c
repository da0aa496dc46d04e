/* Evaluating one step in one lane: P(p), P(r) and R(p) (ulpscope/run.h). */
#include <string.h>

#include "base/machine/clock.h"
#include "base/memory/alloc.h"
#include "base/error.h"
#include "number/round/round.h"
#include "run/walk.h"

/* Input i of a step run in the arithmetic of `lane`, of which the lane `source` has the value (and
 * source_own, the step's inputs there): converted into *temporary. What a body captures is held as
 * in `lane`; an input of the model, which lanes may hold as given, is what the step reads of it in
 * `source`. */
static enum ulp_status foreign_input(struct ulp_lane *lane, const struct ulp_lane *source,
                                     const struct ulp_tensor *const *source_own,
                                     const struct ulp_step *step, size_t i,
                                     struct ulp_tensor *temporary, const struct ulp_tensor **out,
                                     struct ulp_error *error)
{
    const int slot = step->inputs[i];
    const size_t holder = ulp_slot_holder(lane->block, slot);
    const bool captured = ulp_is_captured(step, i), given = holder == ULP_NO_NODE;
    const struct ulp_tensor *value = given ? source_own[i] : &source->values[slot];
    *out = value;
    if (!ulp_element_is_float(value->element) || ulp_is_as_given(lane->block, slot))
        return ULP_OK;
    if (captured && given && !ulp_lane_is_uniform(lane)) {
        *out = &lane->values[slot];
        return ULP_OK;
    }
    struct ulp_format from;
    ULP_TRY(given && !captured
                ? ulp_lane_format(ulp_lane_arithmetic(source, step), value->type, &from, error)
                : ulp_lane_held(source, slot, value, &from, error));
    *out = temporary;
    return ulp_adapt(temporary, value, &from,
                     captured ? ulp_lane_holder(lane, slot) : ulp_lane_reads(lane, step, i),
                     ulp_takes_mixed(step, i), lane->budget, lane->pool, error);
}

/* What the reference has of a constant, lowered to another lane, is that lane's own view of it. */
static bool is_own_view(const struct ulp_lane *lane, int slot)
{
    return ulp_lane_is_uniform(lane) && ulp_is_alias(lane->block, slot) &&
           lane->values[slot].type != ULP_TYPE_UNDEFINED;
}

/* A step's evaluations in a lane and in the reference, and what each of the two has of its inputs.
 * `foreign` are the inputs of one for a step run in the other, conversions among them kept in
 * temporaries. */
struct views {
    struct ulp_lane *lane, *reference;
    const struct ulp_step *step;
    const struct ulp_tensor *const *own, *const *reference_inputs;
    const struct ulp_tensor *results; /* the reference's */
    const struct ulp_tensor **foreign;
    struct ulp_tensor *temporaries;
};

/* The foreign inputs of the lane from the reference, or the other way round: constants are own. */
static enum ulp_status foreign_inputs(const struct views *views, bool from_reference,
                                      struct ulp_error *error)
{
    const struct ulp_step *step = views->step;
    struct ulp_lane *lane = from_reference ? views->lane : views->reference;
    const struct ulp_lane *source = from_reference ? views->reference : views->lane;
    const struct ulp_tensor *const *own = from_reference ? views->reference_inputs : views->own;
    for (size_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] >= 0 && from_reference && is_own_view(lane, step->inputs[i]))
            views->foreign[i] = &lane->values[step->inputs[i]];
        else
            ULP_TRY(step->inputs[i] < 0 || lane->block->slots[step->inputs[i]].constant
                        ? ulp_lane_input(lane, step, i, &views->temporaries[i], &views->foreign[i],
                                         error)
                        : foreign_input(lane, source, own, step, i, &views->temporaries[i],
                                        &views->foreign[i], error));
    return ULP_OK;
}

static void free_temporaries(const struct views *views)
{
    ulp_tensors_free(views->temporaries, views->step->input_count);
}

static bool same_bits(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    return a == b ||
           (a && b && a->element == b->element && a->precision == b->precision &&
            ulp_tensor_same_shape(a, b) &&
            (a->data == b->data || memcmp(a->data, b->data, a->count * a->element_bytes) == 0));
}

static bool all_same(const struct ulp_tensor *const *a, const struct ulp_tensor *const *b,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!same_bits(a[i], b[i]))
            return false;
    return true;
}

static bool any_float_computed(const struct ulp_step *step, const struct ulp_tensor *const *inputs,
                               const struct ulp_block *block)
{
    for (size_t i = 0; i < step->input_count; i++)
        if (inputs[i] && ulp_element_is_float(inputs[i]->element) &&
            !block->slots[step->inputs[i]].constant)
            return true;
    return false;
}

enum ulp_status ulp_evaluation_create(struct ulp_evaluation *out, const struct ulp_step *step,
                                      struct ulp_arena *arena, struct ulp_error *error)
{
    ULP_TAKE_ARRAY(struct ulp_tensor, tensors, arena, 3 * step->output_count + 1, error);
    *out = (struct ulp_evaluation){.entire = tensors,
                                   .single = tensors + step->output_count,
                                   .here = tensors + 2 * step->output_count};
    return ULP_OK;
}

/* P(r) alone, of a contraction. */
static enum ulp_status evaluate_isolated(const struct views *views, struct ulp_evaluation *out,
                                         struct ulp_error *error)
{
    out->skipped = views->step->bound.op->work != ULP_WORK_CONTRACTION;
    if (out->skipped)
        return ULP_OK;
    enum ulp_status status = foreign_inputs(views, true, error);
    ULP_THEN(status, ulp_step_run(views->step, views->lane, views->foreign, out->entire, error));
    free_temporaries(views);
    return status;
}

/* Whether values of that type keep their bits from an input to an output: what the step computes in
 * holds the lane's format, and so does the reference's. */
static bool keeps_format(const struct ulp_step *step, const struct ulp_lane *lane,
                         const struct ulp_lane *reference, const struct ulp_arithmetic *computes,
                         enum ulp_type type)
{
    struct ulp_format own, exact;
    return ulp_lane_format(ulp_lane_arithmetic(lane, step), type, &own, NULL) == ULP_OK &&
           ulp_lane_format(ulp_lane_arithmetic(reference, step), type, &exact, NULL) == ULP_OK &&
           ulp_format_holds(&exact, &own) && ulp_format_holds(&computes->compute, &own) &&
           ulp_format_holds(&computes->rows, &own);
}

/* Whether R(p) has P(p)'s values: the node moves or chooses what it reads, and the lane reads
 * floats, all of one type, as it holds them. */
static bool is_exact(const struct ulp_step *step, const struct ulp_lane *lane,
                     const struct ulp_lane *reference, const struct ulp_tensor *const *own,
                     const struct ulp_tensor *results)
{
    const struct ulp_bound *bound = &step->bound;
    const bool moves = bound->op->work == ULP_WORK_MOVE && bound->op->route != ULP_ROUTE_OTHER,
               chooses = bound->op->formula && bound->tape &&
                         ulp_tape_is_exact(bound->tape, (int)bound->input_slot_count);
    if (!(moves || chooses) || !ulp_lane_is_uniform(lane) || !ulp_lane_is_uniform(reference))
        return false;
    enum ulp_type type = ULP_TYPE_UNDEFINED;
    for (size_t i = 0; i < step->input_count; i++) {
        if (!own[i] || !ulp_element_is_float(own[i]->element))
            continue;
        if (lane->block->slots[step->inputs[i]].constant ||
            (type != ULP_TYPE_UNDEFINED && own[i]->type != type))
            return false;
        type = own[i]->type;
    }
    for (size_t o = 0; o < step->output_count; o++)
        if (ulp_element_is_float(results[o].element) && results[o].type != type)
            return false;
    struct ulp_arithmetic computes;
    return type != ULP_TYPE_UNDEFINED &&
           ulp_step_arithmetic(step, lane, own, &computes, NULL) == ULP_OK &&
           keeps_format(step, lane, reference, &computes, type);
}

/* P(r) and R(p), where inputs are not equal. */
static enum ulp_status evaluate_views(const struct views *views,
                                      const struct ulp_run_options *options,
                                      struct ulp_evaluation *out, struct ulp_error *error)
{
    const struct ulp_step *step = views->step;
    const struct ulp_lane *lane = views->lane;
    const struct ulp_tensor *const *own = views->own, *const *theirs = views->reference_inputs;
    enum ulp_status status = foreign_inputs(views, true, error);
    out->single_is_entire = status == ULP_OK && all_same(own, views->foreign, step->input_count);
    if (status == ULP_OK && !out->single_is_entire)
        status = ulp_step_run(step, views->lane, views->foreign, out->single, error);
    free_temporaries(views);
    if (status != ULP_OK)
        return status;

    /* With integer inputs only, equal to the reference's, R(p) is R(r). */
    if (!any_float_computed(step, own, lane->block)) {
        bool equal = true;
        for (size_t i = 0; i < step->input_count; i++)
            equal = equal && (step->inputs[i] < 0 || lane->block->slots[step->inputs[i]].constant ||
                              same_bits(own[i], theirs[i]));
        out->here_is_reference = equal;
    }
    out->here_is_entire = !out->here_is_reference && !options->follow &&
                          is_exact(step, lane, views->reference, own, out->entire);
    if (!out->here_is_reference && !out->here_is_entire) {
        const double started = ulp_seconds_now();
        status = foreign_inputs(views, false, error);
        ULP_THEN(status, ulp_step_run(step, views->reference, views->foreign, out->here, error));
        free_temporaries(views);
        out->seconds.reference = ulp_seconds_now() - started;
    }
    return status;
}

static enum ulp_status evaluate(struct ulp_walk *walk, const struct ulp_frame *frame,
                                const struct ulp_step *step, size_t lane_index,
                                const struct ulp_tensor *const *reference_inputs,
                                const struct ulp_tensor *results, struct ulp_evaluation *out,
                                struct ulp_arena *arena, struct ulp_error *error)
{
    struct ulp_lane *reference = &frame->lanes[0], *lane = &frame->lanes[lane_index];
    ULP_SCOPED(ulp_inputs_free) struct ulp_inputs own = {0};
    struct views views = {lane, reference, step, .reference_inputs = reference_inputs,
                          .results = results};
    if (ulp_walk_compares(walk) && lane != reference) {
        ULP_TAKE(views.foreign, arena, step->input_count + 1, error);
        ULP_TAKE(views.temporaries, arena, step->input_count + 1, error);
    }
    if (walk->options->isolated && lane != reference)
        return evaluate_isolated(&views, out, error);
    ULP_TRY(ulp_inputs_create(&own, lane, step, arena, error));
    ULP_TRY(ulp_lane_inputs(lane, step, &own, error));
    views.own = own.at;
    lane->followed = walk->options->follow && lane != reference ? reference_inputs : NULL;
    const enum ulp_status status = ulp_step_run(step, lane, own.at, out->entire, error);
    lane->followed = NULL;
    ULP_TRY(status);
    if (lane == reference && walk->options->decided && !frame->outer)
        ULP_TRY(ulp_follow_decided(walk, step, lane, own.at, out->entire, arena, error));
    const bool reads_floats = lane != reference && any_float_computed(step, own.at, frame->block);
    if (reads_floats && walk->options->follow)
        ULP_TRY(ulp_follow(step, lane, own.at, results, out->entire, error));
    const bool orders = lane != reference && walk->options->in_order && !frame->outer;
    if (orders)
        ULP_TRY(ulp_follow_order(step, lane, own.at[0], results, out->entire, error));
    if (lane == reference || !walk->options->audit)
        return ULP_OK;
    ULP_TRY(evaluate_views(&views, walk->options, out, error));
    struct ulp_tensor *const more[] = {out->single, out->here};
    for (int v = 0; orders && v < 2; v++)
        ULP_TRY(ulp_follow_order(step, lane, own.at[0], results, more[v], error));
    return ULP_OK;
}

enum ulp_status ulp_evaluate(struct ulp_walk *walk, const struct ulp_frame *frame,
                             const struct ulp_step *step, size_t lane,
                             const struct ulp_tensor *const *reference_inputs,
                             const struct ulp_tensor *results, struct ulp_evaluation *out,
                             struct ulp_arena *arena, struct ulp_error *error)
{
    const double started = walk->clock;
    const enum ulp_status status =
        evaluate(walk, frame, step, lane, reference_inputs, results, out, arena, error);
    walk->clock = ulp_seconds_now();
    out->seconds.own = walk->clock - started - out->seconds.reference;
    ulp_pairs_counts_take(&out->seconds.by_pairs, &out->seconds.by_mpfr);
    return status;
}
