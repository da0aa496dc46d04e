/* The auditor's observer: measures every output of every node in every lane, and says what the node
 * did with what its inputs brought along. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/audit/auditor.h"
#include "analysis/audit/divergence/divergence.h"
#include "analysis/audit/audit_overflow.h"
#include "analysis/audit/place.h"
#include "analysis/audit/divergence/qdq.h"
#include "analysis/audit/divergence/turned.h"
#include "analysis/audit/views.h"
#include "analysis/audit/zero.h"
#include "analysis/measure/figure.h"
#include "analysis/measure/metrics.h"
#include "base/error.h"
#include "ops/operator.h"
#include "run/lane.h"
#include "number/function/math.h"

/* The truth of one output; NULL: the reference model has none. */
static const struct ulp_tensor *find_truth(const struct ulp_auditor *auditor,
                                           const struct ulp_event *event, size_t output)
{
    const struct ulp_tensor *own = event->values[output].entire;
    return auditor->truth
               ? ulp_truth_find(auditor->truth, event->output_names[output], event->execution, own)
               : own;
}

static enum ulp_status prepare_outputs(struct ulp_auditor *auditor, struct ulp_audit_node *node,
                                       struct ulp_sampled **sampled, const struct ulp_event *event,
                                       struct ulp_error *error)
{
    if (node->outputs)
        return ULP_OK;
    const struct ulp_audit *audit = &auditor->audit;
    const size_t room = event->output_count ? event->output_count : 1;
    ULP_TAKE(node->outputs, audit->memory, room, error);
    ULP_TAKE(*sampled, auditor->arena, room, error);
    node->output_count = event->output_count;
    for (size_t o = 0; o < event->output_count; o++) {
        const struct ulp_tensor *tensor = event->values[o].entire;
        struct ulp_audit_output *output = &node->outputs[o];
        output->name = ulp_arena_copy(audit->memory, event->output_names[o]);
        ULP_TRY(ulp_taken(output->name, error));
        output->type = tensor->type;
        output->rank = tensor->rank;
        memcpy(output->dims, tensor->dims, sizeof output->dims);
    }
    return ULP_OK;
}

/* Of a value without a truth nothing is known but what its node does by itself. */
static void clear_unpaired(struct ulp_metrics views[ULP_VIEW_COUNT])
{
    views[ULP_VIEW_ENTIRE] = views[ULP_VIEW_CARRIED] = ulp_metrics_undefined();
}

/* Integers that differ are amounts, to be measured like floats, when the node quantises or only
 * passes such amounts on (Reshape, MaxPool); other integers are indices and decisions. */
static bool clear_amounts(struct ulp_metrics views[ULP_VIEW_COUNT], bool amounts)
{
    bool stepped = false;
    for (int v = 0; v < ULP_VIEW_COUNT; v++)
        if (amounts && views[v].count) { /* none are counted when the shapes differ */
            stepped |= views[v].diverged;
            views[v].diverged = false;
        }
    return stepped;
}

/* What the node's inputs bring along. */
static struct ulp_taint gather_taints(struct ulp_audit_lane *audited,
                                      const struct ulp_taint_set *taints,
                                      const struct ulp_event *event, size_t lane,
                                      struct ulp_audit_node *node)
{
    struct ulp_taint from = {.diverged = event->apart && event->apart[lane + 1], .overflow = -1};
    for (size_t i = 0; i < event->input_count; i++) {
        const struct ulp_taint *taint = ulp_taint_find(taints, event->input_names[i]);
        if (!taint || !event->inputs[(lane + 1) * event->input_count + i].entire)
            continue;
        if (i == 0)
            node->source = (ptrdiff_t)taint->node;
        from.relative = ulp_math_max(from.relative, taint->relative);
        from.nonfinite |= taint->nonfinite;
        from.beyond |= taint->beyond;
        from.within |= taint->within;
        from.overflow = ulp_audit_overflow_join(audited, from.overflow, taint->overflow);
        from.diverged |= taint->diverged;
        if (taint->stepped)
            from.stepped = true, from.type = taint->type;
    }
    return from;
}

/* What the node did with what its inputs brought along. own: what is not finite is so by its own
 * arithmetic. */
static void judge_node(struct ulp_audit_lane *lane, struct ulp_audit_node *node,
                       const struct ulp_taint *from, bool own, bool nonfinite, bool diverged)
{
    const ptrdiff_t index = (ptrdiff_t)node->index;
    node->reads_overflow |= from->beyond;
    node->poisoned |= nonfinite && from->nonfinite;
    node->born |= own && !from->nonfinite;
    if (diverged && !from->diverged) {
        node->decided = true;
        if (lane->first_decided < 0 || lane->first_decided > index)
            lane->first_decided = index;
    }
}

/* An error that is no rounding: an eighth of the rms. */
static bool is_wrong(const struct ulp_metrics *view, const struct ulp_range *range)
{
    return view->nonfinite || !(ulp_relative_rms(view, range) <= 0.125);
}

/* Add what one output tells of an overflow. */
static void look_at_output(struct ulp_audit_overflow_look *look, const struct ulp_taint *from,
                           const struct ulp_taint *taint, const struct ulp_range *range,
                           const struct ulp_metrics views[ULP_VIEW_COUNT])
{
    if (!ulp_type_is_float(taint->type)) {
        look->wrong |= taint->diverged && !from->diverged;
        return;
    }
    look->born |= taint->nonfinite && !from->nonfinite &&
                  (!from->diverged || views[ULP_VIEW_INTRODUCED].nonfinite > 0);
    look->shows |= taint->shows;
    look->wrong |= !taint->diverged && is_wrong(&views[ULP_VIEW_ENTIRE], range) &&
                   (from->within || is_wrong(&views[ULP_VIEW_SINGLE], range));
    look->introduces |= !taint->diverged && is_wrong(&views[ULP_VIEW_INTRODUCED], range);
}

/* The node's results bear its overflow, as far as they show it. */
static void mark_overflow(struct ulp_taint_set *taints, const struct ulp_event *event,
                          ptrdiff_t overflow)
{
    for (size_t o = 0; o < event->output_count && overflow >= 0; o++) {
        struct ulp_taint *taint = ulp_taint_find(taints, event->output_names[o]);
        if (taint && taint->shows)
            taint->overflow = overflow;
    }
}

/* One output in one lane. */
struct looked {
    const struct ulp_lane_value *value;
    const struct ulp_tensor *truth; /* NULL: the reference model has none */
    struct ulp_round round;
    bool stepped; /* by whole steps only */
};

/* What is measured of a node before it is judged. */
struct observed {
    struct ulp_range *ranges;  /* by output, of the truth */
    struct looked *looked;     /* by lane, then output */
    struct ulp_viewed *viewed; /* by lane, of one output */
    size_t *nonfinite;         /* elements of the outputs, in the truth */
};

static enum ulp_status look_at_value(const struct ulp_event *event, size_t l, size_t o,
                                     const struct ulp_tensor *truth, struct looked *out,
                                     struct ulp_error *error)
{
    const struct ulp_arithmetic *arithmetic = &event->arithmetics[l + 1];
    *out =
        (struct looked){.value = &event->values[(l + 1) * event->output_count + o], .truth = truth};
    struct ulp_round *round = &out->round;
    const struct ulp_tensor *value = out->value->entire;
    if (!value)
        return ULP_OK;
    round->format = arithmetic->storage;
    round->rank = value->rank;
    memcpy(round->dims, value->dims, sizeof round->dims);
    return ulp_type_is_float(value->type)
               ? ulp_lane_format(arithmetic, value->type, &round->format, error)
               : ULP_OK;
}

/* In all lanes. */
static enum ulp_status measure_output(struct ulp_auditor *auditor, const struct ulp_event *event,
                                      size_t o, const struct observed *out, struct ulp_error *error)
{
    const size_t lane_count = auditor->audit.lane_count;
    const struct ulp_tensor *own = event->values[o].entire, *truth = find_truth(auditor, event, o);
    struct ulp_exponents counts = {0};
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < lane_count && status == ULP_OK; l++) {
        struct looked *looked = &out->looked[l * event->output_count + o];
        status = look_at_value(event, l, o, truth, looked, error);
        out->viewed[l] =
            (struct ulp_viewed){looked->value, &looked->round.format, looked->round.views};
    }
    if (status == ULP_OK) {
        ulp_range_count(truth ? truth : own, &event->arithmetics[0].storage, auditor->pool,
                        &out->ranges[o], &counts);
        status = ulp_views_measure(out->viewed, lane_count, own, truth ? truth : own, auditor->pool,
                                   error);
    }
    *out->nonfinite += counts.fields[ULP_EXPONENT_NONFINITE];
    return status == ULP_OK ? ulp_place_count(&auditor->audit, event, o, &counts, error) : status;
}

/* What the node's inputs say about an output's views. */
static void clear_views(struct looked *looked, const struct ulp_event *event, bool diverged,
                        const struct ulp_taint *from, bool steps)
{
    struct ulp_metrics *views = looked->round.views;
    looked->stepped =
        clear_amounts(views, steps || event->quantizes ||
                                 (from->stepped && from->type == looked->value->entire->type));
    if (diverged)
        views[ULP_VIEW_ENTIRE].diverged = views[ULP_VIEW_CARRIED].diverged = true;
    for (int v = 0; v < ULP_VIEW_COUNT; v++) /* class numbers have no decibels */
        if (views[v].diverged && !ulp_type_is_float(looked->value->entire->type))
            views[v].sqnr_db = NAN;
}

static struct ulp_taint make_taint(const struct ulp_event *event, size_t o,
                                   const struct looked *looked, const struct ulp_range *range)
{
    const struct ulp_metrics *entire = &looked->round.views[ULP_VIEW_ENTIRE];
    const double relative = ulp_relative_rms(entire, range);
    const bool nonfinite = entire->nonfinite > 0,
               beyond = range->ref_max > looked->round.format.max_finite;
    const enum ulp_type type = looked->value->entire->type;
    return (struct ulp_taint){.name = event->output_names[o],
                              .nonfinite = nonfinite,
                              .beyond = nonfinite && beyond,
                              .within = nonfinite && !beyond,
                              .shows = ulp_type_is_float(type) && (nonfinite || beyond),
                              .diverged = entire->diverged,
                              .stepped = looked->stepped,
                              .overflow = -1,
                              .type = type,
                              .node = event->index,
                              .relative = isfinite(relative) ? relative : 0};
}

/* The figures of one output into the audit's. */
static enum ulp_status keep_looked(struct ulp_auditor *auditor, const struct ulp_event *event,
                                   size_t l, size_t o, struct looked *looked,
                                   const struct ulp_range *range, struct ulp_error *error)
{
    struct ulp_audit_output *output = &auditor->audit.lanes[l].nodes[event->index].outputs[o];
    struct ulp_round *round = &looked->round;
    output->unpaired |= !looked->truth;
    if (!looked->truth)
        clear_unpaired(round->views);
    round->range = *range;
    round->range.headroom_bits =
        range->ref_max > 0 ? ulp_math_log2(round->format.max_finite / range->ref_max) : INFINITY;
    return ulp_auditor_add_round(auditor, output, &auditor->sampled[l][event->index][o], round,
                                 error);
}

/* What chooses is looked at in any case, what rounds where it has come out otherwise. decides: its
 * inputs have not diverged. */
static enum ulp_status count_choices(struct ulp_auditor *auditor, const struct ulp_event *event,
                                     size_t l, bool decides, struct ulp_error *error)
{
    struct ulp_audit_node *node = &auditor->audit.lanes[l].nodes[event->index];
    struct ulp_divergence *divergence = NULL;
    struct ulp_choices choices;
    for (size_t o = 0; o < event->output_count && !divergence; o++)
        divergence = node->outputs[o].divergence;
    if (!divergence && !ulp_is_word(event->op, "TopK QMoE") &&
        !(event->quantizes && strcmp(event->op, "Cast") == 0))
        return ULP_OK;
    const struct ulp_deciding deciding = {.program = auditor->program,
                                          .event = event,
                                          .lane = l,
                                          .original = auditor->truth,
                                          .turned = ulp_divergence_margin,
                                          .context = decides ? divergence : NULL};
    ULP_TRY(ulp_choices_look(&deciding, &choices, error));
    node->choices.count += choices.count;
    node->choices.differing += choices.differing;
    node->choices.near += choices.near;
    return ULP_OK;
}

/* Does it choose other experts inside? What it gives follows other decisions then. */
static enum ulp_status find_experts(struct ulp_auditor *auditor, const struct ulp_event *event,
                                    size_t l, bool *others, struct ulp_error *error)
{
    const struct ulp_deciding deciding = {.program = auditor->program,
                                          .event = event,
                                          .lane = l,
                                          .original = auditor->truth};
    struct ulp_choices choices = {0};
    if (strcmp(event->op, "QMoE") == 0)
        ULP_TRY(ulp_choices_look(&deciding, &choices, error));
    *others = choices.differing > 0;
    return ULP_OK;
}

/* How the error of a state goes on. */
static void note_iteration(struct ulp_audit_node *node, const struct ulp_event *event,
                           double relative)
{
    if (!event->execution)
        node->first_error = node->last_error = NAN;
    if (!(relative > 0))
        return;
    if (isnan(node->first_error))
        node->first_error = relative;
    else
        node->last_error = relative;
}

/* The relative error of the elements from `first` on. */
static double step_error(const struct ulp_tensor *value, const struct ulp_tensor *truth,
                         size_t first, size_t count)
{
    double errors = 0, squares = 0;
    for (size_t i = first; i < first + count; i++) {
        const double r = ulp_tensor_get(truth, i), off = ulp_tensor_get(value, i) - r;
        errors += off * off;
        squares += r * r;
    }
    return squares > 0 ? sqrt(errors / squares) : 0;
}

/* Of a recurrence's first direction its steps are what iterations are of a loop: Y is of steps,
 * directions, batch and hidden. */
static void note_steps(const struct ulp_auditor *auditor, const struct ulp_event *event, size_t l,
                       struct ulp_audit_node *node)
{
    const struct ulp_bound *bound = &auditor->program->nodes[event->index].step->bound;
    const struct ulp_attribute *direction = ulp_node_attribute(bound->node, "direction"),
                               *layout = ulp_node_attribute(bound->node, "layout");
    const struct ulp_tensor *truth = event->output_count ? event->values[0].entire : NULL,
                            *value =
                                truth ? event->values[(l + 1) * event->output_count].entire : NULL;
    if (!value || !ulp_is_word(event->op, "LSTM GRU RNN") || event->output_positions[0] != 0 ||
        truth->rank != 4 || !ulp_tensor_same_shape(value, truth) || truth->dims[0] < 2 ||
        (layout && layout->i) || auditor->truth)
        return;
    const size_t steps = (size_t)truth->dims[0], each = truth->count / steps,
                 count = each / (size_t)(truth->dims[1] ? truth->dims[1] : 1);
    const bool reversed =
        direction && direction->s && strncmp(direction->s, "reverse", strlen("reverse")) == 0;
    const double head = step_error(value, truth, 0, count),
                 tail = step_error(value, truth, (steps - 1) * each, count);
    node->first_error = reversed ? tail : head;
    node->last_error = reversed ? head : tail;
}

static enum ulp_status audit_lane(struct ulp_auditor *auditor, const struct ulp_event *event,
                                  size_t l, const struct observed *observed,
                                  struct ulp_error *error)
{
    const struct ulp_range *ranges = observed->ranges;
    struct ulp_audit_lane *lane = &auditor->audit.lanes[l];
    struct ulp_audit_node *node = &lane->nodes[event->index];
    struct ulp_taint_set *taints = &auditor->taints[l];
    if (event->output_count && !event->values[(l + 1) * event->output_count].entire)
        return ULP_OK; /* inside a branch or iteration the lane does not take */
    const struct ulp_taint from = gather_taints(lane, taints, event, l, node);
    struct ulp_audit_overflow_look look = {.from = from.overflow};
    enum ulp_status status =
        prepare_outputs(auditor, node, &auditor->sampled[l][event->index], event, error);
    bool nonfinite = false, diverged = false, fits = true, own = false, others = false;
    ULP_THEN(status, find_experts(auditor, event, l, &others, error));
    for (size_t o = 0; o < event->output_count && status == ULP_OK; o++) {
        struct looked *looked = &observed->looked[l * event->output_count + o];
        clear_views(looked, event, from.diverged || others, &from,
                    ulp_auditor_asks_steps(auditor, event, o));
        const struct ulp_taint taint = make_taint(event, o, looked, &ranges[o]);
        const struct ulp_metrics *entire = &looked->round.views[ULP_VIEW_ENTIRE];
        look_at_output(&look, &from, &taint, &ranges[o], looked->round.views);
        look.wrong |= from.within && !taint.diverged && ulp_audit_overflow_misleads_at(event, l, o);
        nonfinite |= taint.nonfinite;
        /* behind another decision exact arithmetic may make infinities, too */
        own |= taint.nonfinite &&
               (!from.diverged || looked->round.views[ULP_VIEW_INTRODUCED].nonfinite > 0);
        fits &= !taint.beyond;
        diverged |= taint.diverged;
        if (taint.diverged || (ulp_choices_round(event) &&
                               entire->max_abs >= (ulp_rounds_to_whole(event->op) ? 0.5 : DBL_MIN)))
            status = ulp_divergence_look(&node->outputs[o], auditor->program, event, l, o,
                                         auditor->audit.memory, error);
        auditor->reordered |= taint.diverged && from.diverged && auditor->lists &&
                              ulp_is_word(event->op, "TopK ArgMax ArgMin NonMaxSuppression");
        auditor->lists |= taint.diverged && !from.diverged && strcmp(event->op, "TopK") == 0;
        if (from.relative > 0)
            node->grew =
                ulp_math_max(node->grew, ulp_relative_rms(entire, &ranges[o]) / from.relative);
        note_iteration(node, event, ulp_relative_rms(entire, &ranges[o]));
        if (status == ULP_OK && !ulp_taint_add(taints, taint))
            status = ulp_out_of_memory(error);
        ULP_THEN(status, keep_looked(auditor, event, l, o, looked, &ranges[o], error));
        if (status == ULP_OK && looked->truth)
            status = ulp_auditor_judge(auditor, event, l, o, looked->stepped, error);
    }
    note_steps(auditor, event, l, node);
    auditor->diverged |= diverged;
    node->executions++;
    ULP_THEN(status, count_choices(auditor, event, l, !from.diverged, error));
    if (status == ULP_OK)
        ulp_zero_look(auditor, event, l);
    if (status == ULP_OK && own && !from.nonfinite && fits)
        status = ulp_zero_find(auditor, event, l, error);
    judge_node(lane, node, &from, own, nonfinite, diverged);
    mark_overflow(taints, event, ulp_audit_overflow_follow(lane, node, &look));
    return status;
}

static enum ulp_status audit_lanes(struct ulp_auditor *auditor, const struct ulp_event *event,
                                   const struct observed *observed, struct ulp_error *error)
{
    for (size_t o = 0; o < event->output_count; o++)
        ULP_TRY(measure_output(auditor, event, o, observed, error));
    if (!auditor->truth) { /* of the model's own reference, not of an original */
        ULP_TRY(ulp_lost_look(&auditor->lost, event, observed->ranges, error));
        ULP_TRY(ulp_birth_look(&auditor->births, event, *observed->nonfinite, error));
    }
    ULP_TRY(ulp_given_look(&auditor->given, &auditor->audit, auditor->sample, event, error));
    for (size_t l = 0; l < auditor->audit.lane_count; l++) {
        ULP_TRY(audit_lane(auditor, event, l, observed, error));
        ulp_qdq_divergence_measure(&auditor->audit.lanes[l], event, l);
    }
    return ULP_OK;
}

static enum ulp_status audit_node(void *context, const struct ulp_event *event,
                                  struct ulp_error *error)
{
    struct ulp_auditor *auditor = context;
    struct ulp_budget *budget = ulp_model_budget(auditor->program->model);
    const size_t output_count = event->output_count, lane_count = auditor->audit.lane_count;
    for (size_t l = 0; l < event->lane_count; l++) {
        auditor->audit.costs[l].seconds += event->lane_seconds[l].own;
        auditor->audit.costs[0].seconds += event->lane_seconds[l].reference;
        auditor->audit.costs[0].by_pairs += event->lane_seconds[l].by_pairs;
        auditor->audit.costs[0].by_mpfr += event->lane_seconds[l].by_mpfr;
    }
    ULP_SCOPED(ulp_free_of) void *ranges = NULL;
    ULP_SCOPED(ulp_free_of) void *looked = NULL;
    ULP_SCOPED(ulp_free_of) void *viewed = NULL;
    ULP_TRY(ulp_allocate(&ranges, output_count, sizeof(struct ulp_range), budget,
                         "ranges of outputs", error));
    ULP_TRY(ulp_allocate(&looked, output_count * lane_count, sizeof(struct looked), budget,
                         "figures of outputs", error));
    ULP_TRY(ulp_allocate(&viewed, lane_count, sizeof(struct ulp_viewed), budget,
                         "figures of outputs", error));
    size_t nonfinite = 0;
    return audit_lanes(auditor, event, &(struct observed){ranges, looked, viewed, &nonfinite},
                       error);
}

struct ulp_observer ulp_auditor_observer(struct ulp_auditor *auditor)
{
    return (struct ulp_observer){.context = auditor, .node_done = audit_node, .modes_unused = true};
}

bool ulp_auditor_has_diverged(const struct ulp_auditor *auditor)
{
    return auditor->diverged;
}

/* One output in one lane of the run that follows the reference. */
static enum ulp_status follow_output(struct ulp_auditor *auditor, const struct ulp_event *event,
                                     size_t l, size_t o, struct ulp_error *error)
{
    const struct ulp_audit_node *node = &auditor->audit.lanes[l].nodes[event->index];
    const struct ulp_tensor *value = event->values[(l + 1) * event->output_count + o].entire,
                            *truth = find_truth(auditor, event, o);
    struct ulp_format format = event->arithmetics[l + 1].storage;
    if (!value || !truth || o >= node->output_count || !node->outputs[o].divergence)
        return ULP_OK;
    if (ulp_type_is_float(value->type))
        ULP_TRY(ulp_lane_format(&event->arithmetics[l + 1], value->type, &format, error));
    return ulp_divergence_follow(&node->outputs[o], value, truth, &format, auditor->pool, error);
}

static enum ulp_status follow_node(void *context, const struct ulp_event *event,
                                   struct ulp_error *error)
{
    struct ulp_auditor *auditor = context;
    for (size_t l = 0; l < auditor->audit.lane_count; l++)
        for (size_t o = 0; o < event->output_count; o++)
            ULP_TRY(follow_output(auditor, event, l, o, error));
    return ULP_OK;
}

struct ulp_observer ulp_auditor_follower(struct ulp_auditor *auditor)
{
    return (
        struct ulp_observer){.context = auditor, .node_done = follow_node, .modes_unused = true};
}
