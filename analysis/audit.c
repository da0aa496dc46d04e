/* The auditor: an observer that measures every node output of every lane and keeps the worst and
 * the mean over samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "analysis/divergence.h"
#include "analysis/given.h"
#include "analysis/figure.h"
#include "analysis/metrics.h"
#include "analysis/mixed.h"
#include "analysis/overflow.h"
#include "analysis/parting.h"
#include "run/lane.h"
#include "analysis/taint.h"
#include "tensor/tensor.h"
#include "analysis/truth.h"

/* What the current sample's rounds of a node gave for one output. Those of its first sample are in
 * the output already. */
struct sampled {
    size_t rounds, samples_before;
    struct later_sample {
        struct ulp_metrics views[ULP_VIEW_COUNT];
        struct ulp_range range;
        struct ulp_format format;
    } * later; /* NULL: no rounds of a later one yet */
};

struct ulp_auditor {
    const struct ulp_plan *plan;
    struct ulp_audit audit;
    size_t sample_capacity;
    struct ulp_arena *arena;      /* of what is needed while collecting */
    struct ulp_taint_set *taints; /* per audited lane */
    /* [lane][node]: of each output; NULL until the lane has run the node */
    struct sampled ***sampled;
    struct ulp_pool *pool;
    size_t sample; /* the current one */
    bool diverged; /* something has, in it */
    struct ulp_given given;
    const struct ulp_truth *truth; /* NULL: the model's own */
};

static enum ulp_status out_of_memory(struct ulp_error *error)
{
    return ulp_fail_memory(error, "out of memory for the audit");
}

static char *copy_text(const struct ulp_audit *audit, const char *text)
{
    return ulp_arena_text(audit->memory, text, strlen(text));
}

/* Names are the same in every lane. */
static enum ulp_status prepare_lane(const struct ulp_audit *audit, struct ulp_audit_lane *lane,
                                    const struct ulp_plan *plan, size_t index,
                                    struct ulp_error *error)
{
    const struct ulp_arithmetic *arithmetic = &plan->lanes[index];
    *lane = (struct ulp_audit_lane){.arithmetic = *arithmetic,
                                    .node_count = ulp_plan_node_count(plan),
                                    .first_born = -1,
                                    .first_decided = -1,
                                    .parting = {.other = -1, .first = -1, .first_step = -1}};
    lane->nodes = ulp_arena_take(audit->memory, lane->node_count + 1, sizeof *lane->nodes);
    if (!lane->nodes)
        return out_of_memory(error);
    for (size_t n = 0; n < lane->node_count; n++) {
        struct ulp_audit_node *node = &lane->nodes[n];
        node->index = n;
        node->source = -1;
        node->grew = NAN;
        node->share = node->gain = node->condition = node->share_worst = NAN;
        ulp_plan_node_types(plan, index, n, &node->types);
        node->name = index > 1 ? audit->lanes[0].nodes[n].name
                               : copy_text(audit, ulp_plan_node_name(plan, n));
        node->op =
            index > 1 ? audit->lanes[0].nodes[n].op : copy_text(audit, ulp_plan_node_op(plan, n));
        if (!node->name || !node->op)
            return out_of_memory(error);
    }
    enum ulp_status status = ulp_mixed_prepare(lane, plan, index, audit->memory, error);
    return status == ULP_OK ? ulp_overflow_prepare(lane, plan, index, audit->memory, error)
                            : status;
}

static enum ulp_status prepare(struct ulp_auditor *auditor, struct ulp_error *error)
{
    const struct ulp_plan *plan = auditor->plan;
    struct ulp_budget *budget = ulp_model_budget(plan->model);
    struct ulp_audit *audit = &auditor->audit;
    const size_t lanes = plan->lane_count - 1, nodes = ulp_plan_node_count(plan) + 1;
    enum ulp_status status = ulp_auditor_threads(auditor, 1, error);
    if (status == ULP_OK)
        status = ulp_arena_create(&auditor->arena, budget, error);
    if (status == ULP_OK)
        status = ulp_arena_create(&audit->memory, budget, error);
    if (status != ULP_OK)
        return status;
    audit->lanes = ulp_arena_take(audit->memory, lanes, sizeof *audit->lanes);
    audit->model_path = copy_text(audit, ulp_model_path(plan->model));
    audit->reference = copy_text(audit, plan->lanes[0].name);
    audit->ir_version = ulp_model_ir_version(plan->model);
    audit->opset = ulp_model_opset(plan->model, "");
    auditor->taints = ulp_arena_take(auditor->arena, lanes, sizeof *auditor->taints);
    auditor->sampled = ulp_arena_take(auditor->arena, lanes, sizeof *auditor->sampled);
    if (!audit->lanes || !audit->model_path || !audit->reference || !auditor->taints ||
        !auditor->sampled)
        return out_of_memory(error);
    for (audit->lane_count = 0; audit->lane_count < lanes && status == ULP_OK;
         audit->lane_count++) {
        const size_t l = audit->lane_count;
        auditor->taints[l].budget = budget;
        auditor->sampled[l] = ulp_arena_take(auditor->arena, nodes, sizeof **auditor->sampled);
        status = auditor->sampled[l] ? prepare_lane(audit, &audit->lanes[l], plan, l + 1, error)
                                     : out_of_memory(error);
    }
    if (status == ULP_OK)
        status = ulp_given_create(&auditor->given, plan, error);
    if (status == ULP_OK)
        ulp_parting_prepare(audit);
    return status;
}

enum ulp_status ulp_auditor_create(const struct ulp_plan *plan, struct ulp_auditor **out,
                                   struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    *out = NULL;
    if (plan->lane_count < 2)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "an audit needs a reference and at least one arithmetic");
    struct ulp_auditor *auditor = calloc(1, sizeof *auditor);
    if (!auditor)
        return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for the audit");
    auditor->plan = plan;
    enum ulp_status status = prepare(auditor, error);
    if (status == ULP_OK)
        *out = auditor;
    else
        ulp_auditor_free(auditor);
    return status;
}

enum ulp_status ulp_auditor_threads(struct ulp_auditor *auditor, int thread_count,
                                    struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    ulp_pool_free(auditor->pool);
    enum ulp_status status = ulp_pool_create(&auditor->pool, thread_count, error);
    if (status == ULP_OK)
        ulp_pool_set_root(auditor->pool, ulp_model_budget(auditor->plan->model));
    return status;
}

static void free_collecting(struct ulp_auditor *auditor, size_t lane_count)
{
    for (size_t l = 0; auditor->taints && l < lane_count; l++)
        ulp_taint_clear(&auditor->taints[l]);
    ulp_arena_free(auditor->arena);
    auditor->arena = NULL;
    ulp_given_free(&auditor->given);
    auditor->sampled = NULL;
    auditor->taints = NULL;
}

void ulp_auditor_free(struct ulp_auditor *auditor)
{
    if (!auditor)
        return;
    free_collecting(auditor, auditor->audit.lane_count);
    ulp_pool_free(auditor->pool);
    ulp_audit_free(&auditor->audit);
    free(auditor);
}

/* A round's figures, with those of the sample's rounds before. */
static enum ulp_status add_round(struct ulp_auditor *auditor, struct ulp_audit_output *output,
                                 struct sampled *sampled,
                                 const struct ulp_metrics views[ULP_VIEW_COUNT],
                                 const struct ulp_range *range, const struct ulp_format *format,
                                 struct ulp_error *error)
{
    struct ulp_metrics *all[ULP_VIEW_COUNT];
    for (int v = 0; v < ULP_VIEW_COUNT; v++)
        all[v] = ulp_view(output, v);
    struct ulp_range *all_range = &output->range;
    if (sampled->samples_before) {
        if (!sampled->later)
            sampled->later = ulp_arena_take(auditor->arena, 1, sizeof *sampled->later);
        if (!sampled->later)
            return out_of_memory(error);
        for (int v = 0; v < ULP_VIEW_COUNT; v++)
            all[v] = &sampled->later->views[v];
        all_range = &sampled->later->range;
        sampled->later->format = *format;
    }
    for (int v = 0; v < ULP_VIEW_COUNT; v++)
        if (sampled->rounds)
            ulp_metrics_join(all[v], &views[v]);
        else
            *all[v] = views[v];
    if (sampled->rounds)
        ulp_range_merge(all_range, range, sampled->rounds, format);
    else
        *all_range = *range;
    sampled->rounds++;
    return ULP_OK;
}

/* Put a sample that is not the first together with those before. */
static enum ulp_status keep_later(struct ulp_arena *memory, struct ulp_audit_output *output,
                                  const struct sampled *sampled, size_t sample,
                                  struct ulp_error *error)
{
    size_t before = sampled->samples_before;
    const struct ulp_metrics *views = sampled->later->views;
    if (!output->samples) {
        if (!(output->samples = ulp_arena_take(memory, 1, sizeof *output->samples)))
            return out_of_memory(error);
        for (int v = 0; v < ULP_VIEW_COUNT; v++)
            *ulp_view_mean(output->samples, v) = *ulp_view_limit(output->samples, v) =
                *ulp_view(output, v);
    }
    bool worse = ulp_metrics_worse(&views[ULP_VIEW_ENTIRE], &output->entire);
    for (int v = 0; v < ULP_VIEW_COUNT; v++) {
        struct ulp_metrics *worst = ulp_view(output, v), *mean = ulp_view_mean(output->samples, v);
        if (worse)
            *worst = views[v];
        ulp_metrics_merge_limit(ulp_view_limit(output->samples, v), &views[v], before);
        ulp_metrics_merge_mean(mean, &views[v], before);
        mean->worst_index = worst->worst_index;
    }
    if (worse)
        output->worst_sample = sample;
    ulp_range_merge(&output->range, &sampled->later->range, before, &sampled->later->format);
    return ULP_OK;
}

static enum ulp_status keep_sample(struct ulp_arena *memory, struct ulp_audit_output *output,
                                   struct sampled *sampled, size_t sample, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    if (sampled->samples_before)
        status = keep_later(memory, output, sampled, sample, error);
    else
        output->worst_sample = sample;
    sampled->rounds = 0;
    sampled->samples_before++;
    return status;
}

/* Which overflows the graph's outputs bear. */
static void reach_outputs(struct ulp_auditor *auditor, size_t lane)
{
    const struct ulp_block *block = auditor->plan->main;
    for (size_t i = 0; i < block->output_count; i++) {
        const struct ulp_taint *taint =
            ulp_taint_find(&auditor->taints[lane], block->slots[block->outputs[i]].name);
        if (taint)
            ulp_overflow_reach(&auditor->audit.lanes[lane], taint->overflow);
    }
}

/* The sample is over. */
static enum ulp_status keep_samples(struct ulp_auditor *auditor, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < auditor->audit.lane_count; l++)
        reach_outputs(auditor, l);
    for (size_t l = 0; l < auditor->audit.lane_count; l++)
        for (size_t n = 0; n < auditor->audit.lanes[l].node_count; n++) {
            struct ulp_audit_node *node = &auditor->audit.lanes[l].nodes[n];
            for (size_t o = 0; o < node->output_count && status == ULP_OK; o++)
                if (auditor->sampled[l][n][o].rounds)
                    status = keep_sample(auditor->audit.memory, &node->outputs[o],
                                         &auditor->sampled[l][n][o], auditor->sample, error);
        }
    return status;
}

enum ulp_status ulp_auditor_sample(struct ulp_auditor *auditor, const char *name,
                                   struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_audit *audit = &auditor->audit;
    enum ulp_status status = keep_samples(auditor, error);
    if (status != ULP_OK)
        return status;
    if (!ulp_plan_grow(audit->memory, &audit->sample_names, audit->sample_count,
                       &auditor->sample_capacity, sizeof *audit->sample_names) ||
        !(audit->sample_names[audit->sample_count] = copy_text(audit, name)))
        return out_of_memory(error);
    auditor->sample = audit->sample_count++;
    auditor->diverged = false;
    for (size_t l = 0; l < audit->lane_count; l++)
        ulp_taint_clear(&auditor->taints[l]);
    ulp_given_start(&auditor->given);
    return ULP_OK;
}

/* The truth of one output; NULL: the reference model has none. */
static const struct ulp_tensor *find_truth(const struct ulp_auditor *auditor,
                                           const struct ulp_event *event, size_t output)
{
    const struct ulp_tensor *own = event->values[output].entire;
    return auditor->truth
               ? ulp_truth_find(auditor->truth, event->output_names[output], event->round, own)
               : own;
}

/* The four views of one output in one lane, single of the model's own reference, the others of the
 * truth. Views of the same pair of tensors are measured once. */
static enum ulp_status measure_views(struct ulp_auditor *auditor, const struct ulp_lane_value *lane,
                                     const struct ulp_tensor *own, const struct ulp_tensor *truth,
                                     const struct ulp_format *format,
                                     struct ulp_metrics views[ULP_VIEW_COUNT],
                                     struct ulp_error *error)
{
    const struct ulp_tensor *pairs[ULP_VIEW_COUNT][2] = {
        [ULP_VIEW_SINGLE] = {lane->single, own},
        [ULP_VIEW_ENTIRE] = {lane->entire, truth},
        [ULP_VIEW_INTRODUCED] = {lane->entire, lane->here},
        [ULP_VIEW_CARRIED] = {lane->here, truth},
    };
    enum ulp_status status = ULP_OK;
    for (int v = 0; v < ULP_VIEW_COUNT && status == ULP_OK; v++) {
        int same = 0;
        while (same < v && (pairs[same][0] != pairs[v][0] || pairs[same][1] != pairs[v][1]))
            same++;
        if (same < v)
            views[v] = views[same];
        else
            status = ulp_metrics_measure_on(pairs[v][0], pairs[v][1], format, auditor->pool,
                                            &views[v], error);
    }
    return status;
}

static enum ulp_status prepare_outputs(struct ulp_auditor *auditor, struct ulp_audit_node *node,
                                       struct sampled **sampled, const struct ulp_event *event,
                                       struct ulp_error *error)
{
    if (node->outputs)
        return ULP_OK;
    const struct ulp_audit *audit = &auditor->audit;
    const size_t room = event->output_count ? event->output_count : 1;
    node->outputs = ulp_arena_take(audit->memory, room, sizeof *node->outputs);
    *sampled = ulp_arena_take(auditor->arena, room, sizeof **sampled);
    if (!node->outputs || !*sampled)
        return out_of_memory(error);
    node->output_count = event->output_count;
    for (size_t o = 0; o < event->output_count; o++) {
        const struct ulp_tensor *tensor = event->values[o].entire;
        struct ulp_audit_output *output = &node->outputs[o];
        output->name = copy_text(audit, event->output_names[o]);
        if (!output->name)
            return out_of_memory(error);
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
        from.relative = fmax(from.relative, taint->relative);
        from.nonfinite |= taint->nonfinite;
        from.beyond |= taint->beyond;
        from.within |= taint->within;
        from.overflow = ulp_overflow_join(audited, from.overflow, taint->overflow);
        from.diverged |= taint->diverged;
        if (taint->stepped)
            from.stepped = true, from.type = taint->type;
    }
    return from;
}

/* What the node did with what its inputs brought along. */
static void judge_node(struct ulp_audit_lane *lane, struct ulp_audit_node *node,
                       const struct ulp_taint *from, bool nonfinite, bool diverged)
{
    const ptrdiff_t index = (ptrdiff_t)node->index;
    node->reads_overflow |= from->beyond;
    node->poisoned |= nonfinite && from->nonfinite;
    node->born |= nonfinite && !from->nonfinite && !from->diverged;
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
static void look_at_output(struct ulp_overflow_look *look, const struct ulp_taint *from,
                           const struct ulp_taint *taint, const struct ulp_range *range,
                           const struct ulp_metrics views[ULP_VIEW_COUNT])
{
    if (!ulp_type_is_float(taint->type)) {
        look->wrong |= taint->diverged && !from->diverged;
        return;
    }
    look->born |= taint->nonfinite && !from->nonfinite && !from->diverged;
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

static enum ulp_status audit_lane(struct ulp_auditor *auditor, const struct ulp_event *event,
                                  size_t l, const struct ulp_range *ranges, struct ulp_error *error)
{
    struct ulp_audit_lane *lane = &auditor->audit.lanes[l];
    struct ulp_audit_node *node = &lane->nodes[event->index];
    struct ulp_taint_set *taints = &auditor->taints[l];
    const struct ulp_lane_value *values = &event->values[(l + 1) * event->output_count];
    if (event->output_count && !values[0].entire)
        return ULP_OK; /* inside a branch or round the lane does not take */
    const struct ulp_taint from = gather_taints(lane, taints, event, l, node);
    struct ulp_overflow_look look = {.from = from.overflow};
    enum ulp_status status =
        prepare_outputs(auditor, node, &auditor->sampled[l][event->index], event, error);
    bool nonfinite = false, diverged = false;
    for (size_t o = 0; o < event->output_count && status == ULP_OK; o++) {
        const struct ulp_lane_value *value = &values[o];
        struct ulp_metrics views[ULP_VIEW_COUNT] = {0};
        const struct ulp_arithmetic *arithmetic = &event->arithmetics[l + 1];
        struct ulp_format format = arithmetic->storage;
        const struct ulp_tensor *own = event->values[o].entire;
        const struct ulp_tensor *truth = find_truth(auditor, event, o);
        if (ulp_type_is_float(value->entire->type))
            status = ulp_lane_format(arithmetic, value->entire->type, &format, error);
        if (status == ULP_OK)
            status = measure_views(auditor, value, own, truth ? truth : own, &format, views, error);
        if (status != ULP_OK)
            break;
        bool stepped = clear_amounts(views, event->quantizes ||
                                                (from.stepped && from.type == value->entire->type));
        if (from.diverged)
            views[ULP_VIEW_ENTIRE].diverged = views[ULP_VIEW_CARRIED].diverged = true;
        const double relative = ulp_relative_rms(&views[ULP_VIEW_ENTIRE], &ranges[o]);
        const struct ulp_taint taint = {.name = event->output_names[o],
                                        .nonfinite = views[ULP_VIEW_ENTIRE].nonfinite > 0,
                                        .beyond = views[ULP_VIEW_ENTIRE].nonfinite > 0 &&
                                                  ranges[o].ref_max > format.max_finite,
                                        .diverged = views[ULP_VIEW_ENTIRE].diverged,
                                        .stepped = stepped,
                                        .within = views[ULP_VIEW_ENTIRE].nonfinite > 0 &&
                                                  ranges[o].ref_max <= format.max_finite,
                                        .shows = ulp_type_is_float(value->entire->type) &&
                                                 (views[ULP_VIEW_ENTIRE].nonfinite > 0 ||
                                                  ranges[o].ref_max > format.max_finite),
                                        .overflow = -1,
                                        .type = value->entire->type,
                                        .node = event->index,
                                        .relative = isfinite(relative) ? relative : 0};
        look_at_output(&look, &from, &taint, &ranges[o], views);
        nonfinite |= taint.nonfinite;
        diverged |= taint.diverged;
        if (taint.diverged ||
            (ulp_rounds_to_whole(event->op) && views[ULP_VIEW_ENTIRE].max_abs >= 0.5))
            status = ulp_divergence_look(&node->outputs[o], auditor->plan, event, l, o,
                                         !from.diverged, auditor->audit.memory, error);
        auditor->diverged |= taint.diverged;
        if (from.relative > 0)
            node->grew = fmax(node->grew, relative / from.relative);
        if (status == ULP_OK && !ulp_taint_add(taints, taint))
            status = out_of_memory(error);
        node->outputs[o].unpaired |= !truth;
        if (!truth)
            clear_unpaired(views);
        struct ulp_range range = ranges[o];
        range.headroom_bits =
            range.ref_max > 0 ? log2(format.max_finite / range.ref_max) : INFINITY;
        if (status == ULP_OK)
            status = add_round(auditor, &node->outputs[o], &auditor->sampled[l][event->index][o],
                               views, &range, &format, error);
    }
    node->rounds++;
    judge_node(lane, node, &from, nonfinite, diverged);
    mark_overflow(taints, event, ulp_overflow_follow(lane, node, &look));
    return status;
}

static enum ulp_status audit_node(void *context, const struct ulp_event *event,
                                  struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_auditor *auditor = context;
    void *memory;
    enum ulp_status status =
        ulp_allocate(&memory, event->output_count, sizeof(struct ulp_range),
                     ulp_model_budget(auditor->plan->model), "ranges of outputs", error);
    if (status != ULP_OK)
        return status;
    struct ulp_range *ranges = memory;
    for (size_t o = 0; o < event->output_count; o++) {
        const struct ulp_tensor *truth = find_truth(auditor, event, o);
        ulp_range_measure(truth ? truth : event->values[o].entire, &event->arithmetics[0].storage,
                          auditor->pool, &ranges[o]);
    }
    status = ulp_given_look(&auditor->given, &auditor->audit, auditor->sample, event, error);
    for (size_t l = 0; l < auditor->audit.lane_count && status == ULP_OK; l++)
        if ((status = audit_lane(auditor, event, l, ranges, error)) == ULP_OK)
            ulp_parting_measure(&auditor->audit.lanes[l], event, l);
    ulp_free(ranges);
    return status;
}

enum ulp_status ulp_auditor_truth(struct ulp_auditor *auditor, const struct ulp_truth *truth,
                                  const char *path, struct ulp_error *error)
{
    auditor->audit.reference_model = copy_text(&auditor->audit, path);
    auditor->truth = truth;
    return auditor->audit.reference_model ? ULP_OK : out_of_memory(error);
}

/* How many node outputs have a partner: the same in every lane. */
static void count_pairs(struct ulp_audit *audit)
{
    const struct ulp_audit_lane *lane = &audit->lanes[0];
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            if (lane->nodes[n].outputs[o].unpaired)
                audit->unpaired_count++;
            else
                audit->paired_count++;
}

struct ulp_observer ulp_auditor_observer(struct ulp_auditor *auditor)
{
    return (struct ulp_observer){.context = auditor, .node_done = audit_node};
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
    enum ulp_status status = ULP_OK;
    if (!value || !truth || o >= node->output_count || !node->outputs[o].divergence)
        return ULP_OK;
    if (ulp_type_is_float(value->type))
        status = ulp_lane_format(&event->arithmetics[l + 1], value->type, &format, error);
    return status == ULP_OK ? ulp_divergence_follow(&node->outputs[o], value, truth, &format,
                                                    auditor->pool, error)
                            : status;
}

static enum ulp_status follow_node(void *context, const struct ulp_event *event,
                                   struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    struct ulp_auditor *auditor = context;
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < auditor->audit.lane_count; l++)
        for (size_t o = 0; o < event->output_count && status == ULP_OK; o++)
            status = follow_output(auditor, event, l, o, error);
    return status;
}

struct ulp_observer ulp_auditor_follower(struct ulp_auditor *auditor)
{
    return (struct ulp_observer){.context = auditor, .node_done = follow_node};
}

/* The figures of a value of the main graph; NULL: no node computes it. */
static const struct ulp_audit_output *find_output(const struct ulp_audit_lane *lane,
                                                  const struct ulp_block *block, int slot)
{
    const struct ulp_step *step = ulp_block_producer(block, slot);
    for (size_t i = 0, o = 0; step && i < step->output_count; o += step->outputs[i++] >= 0)
        if (step->outputs[i] == slot && o < lane->nodes[step->number].output_count)
            return &lane->nodes[step->number].outputs[o];
    return NULL;
}

/* The graph's outputs, under their names. One that is a constant or an input has nothing to measure
 * and is left out. */
static enum ulp_status collect_outputs(const struct ulp_audit *audit, struct ulp_audit_lane *lane,
                                       const struct ulp_plan *plan, struct ulp_error *error)
{
    size_t count = plan->main->output_count;
    lane->outputs.outputs = ulp_arena_take(audit->memory, count + 1, sizeof *lane->outputs.outputs);
    if (!lane->outputs.outputs)
        return out_of_memory(error);
    for (size_t i = 0; i < count; i++) {
        const struct ulp_audit_output *from = find_output(lane, plan->main, plan->main->outputs[i]);
        if (!from)
            continue;
        struct ulp_audit_output *to = &lane->outputs.outputs[lane->outputs.output_count];
        *to = *from;
        if (!(to->name = copy_text(audit, ulp_model_output(plan->model, i).name)))
            return out_of_memory(error);
        lane->outputs.output_count++;
    }
    return ULP_OK;
}

enum ulp_status ulp_auditor_finish(struct ulp_auditor *auditor, struct ulp_audit *out,
                                   struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    enum ulp_status status = keep_samples(auditor, error);
    for (size_t l = 0; l < auditor->audit.lane_count && status == ULP_OK; l++)
        if ((status = collect_outputs(&auditor->audit, &auditor->audit.lanes[l], auditor->plan,
                                      error)) == ULP_OK)
            ulp_overflow_finish(&auditor->audit.lanes[l]);
    if (status == ULP_OK && auditor->truth)
        status = ulp_truth_check(auditor->truth, &auditor->audit, error);
    if (status != ULP_OK)
        return status;
    if (auditor->truth)
        count_pairs(&auditor->audit);
    *out = auditor->audit;
    auditor->audit = (struct ulp_audit){0};
    free_collecting(auditor, out->lane_count);
    return ULP_OK;
}

void ulp_audit_free(struct ulp_audit *audit)
{
    if (!audit)
        return;
    free(audit->certificate.node);
    for (size_t i = 0; i < audit->spread_count; i++)
        ulp_spreads_free(&audit->spreads[i]);
    free(audit->spreads);
    ulp_arena_free(audit->memory);
    *audit = (struct ulp_audit){0};
}
