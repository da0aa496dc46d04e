/* The auditor: an observer that measures every node output of every lane and keeps the worst and
 * the mean over samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "analysis/metrics.h"
#include "analysis/parting.h"
#include "run/lane.h"
#include "analysis/taint.h"
#include "tensor/tensor.h"
#include "analysis/truth.h"

enum { SINGLE, ENTIRE, INTRODUCED, CARRIED, VIEW_COUNT };

/* What the current sample's rounds of a node gave for one output. Those of its first sample are in
 * the output already. */
struct sampled {
    size_t rounds, samples_before;
    struct later_sample {
        struct ulp_metrics views[VIEW_COUNT];
        struct ulp_range range;
        struct ulp_format format;
    } * later; /* NULL: no rounds of a later one yet */
};

struct ulp_auditor {
    const struct ulp_plan *plan;
    struct ulp_audit audit;
    struct ulp_taint_set *taints; /* per audited lane */
    /* [lane][node]: of each output; NULL until the lane has run the node */
    struct sampled ***sampled;
    struct ulp_pool *pool;
    size_t sample;                 /* the current one */
    const struct ulp_truth *truth; /* NULL: the model's own */
};

static enum ulp_status out_of_memory(struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory for the audit");
}

static enum ulp_status prepare_lane(struct ulp_audit_lane *lane, const struct ulp_plan *plan,
                                    size_t index, struct ulp_error *error)
{
    const struct ulp_arithmetic *arithmetic = &plan->lanes[index];
    *lane = (struct ulp_audit_lane){.arithmetic = *arithmetic,
                                    .node_count = ulp_plan_node_count(plan),
                                    .first_born = -1,
                                    .first_decided = -1,
                                    .parting = {.other = -1, .first = -1, .first_step = -1}};
    lane->nodes = calloc(lane->node_count + 1, sizeof *lane->nodes);
    if (!lane->nodes)
        return out_of_memory(error);
    for (size_t n = 0; n < lane->node_count; n++) {
        struct ulp_audit_node *node = &lane->nodes[n];
        node->index = n;
        ulp_plan_node_types(plan, index, n, &node->types);
        node->name = strdup(ulp_plan_node_name(plan, n));
        node->op = strdup(ulp_plan_node_op(plan, n));
        if (!node->name || !node->op)
            return out_of_memory(error);
    }
    return ULP_OK;
}

enum ulp_status ulp_auditor_create(const struct ulp_plan *plan, struct ulp_auditor **out,
                                   struct ulp_error *error)
{
    *out = NULL;
    if (plan->lane_count < 2)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "an audit needs a reference and at least one arithmetic");
    struct ulp_auditor *auditor = calloc(1, sizeof *auditor);
    if (!auditor)
        return out_of_memory(error);
    auditor->plan = plan;
    struct ulp_audit *audit = &auditor->audit;
    audit->lane_count = plan->lane_count - 1;
    audit->lanes = calloc(audit->lane_count, sizeof *audit->lanes);
    auditor->taints = calloc(audit->lane_count, sizeof *auditor->taints);
    auditor->sampled = calloc(audit->lane_count, sizeof *auditor->sampled);
    audit->model_path = strdup(ulp_model_path(plan->model));
    audit->reference = strdup(plan->lanes[0].name);
    audit->ir_version = ulp_model_ir_version(plan->model);
    audit->opset = ulp_model_opset(plan->model, "");
    enum ulp_status status =
        audit->lanes && auditor->taints && auditor->sampled && audit->model_path && audit->reference
            ? ULP_OK
            : out_of_memory(error);
    for (size_t l = 0; l < audit->lane_count && status == ULP_OK; l++) {
        status = prepare_lane(&audit->lanes[l], plan, l + 1, error);
        if (status == ULP_OK && !(auditor->sampled[l] = calloc(ulp_plan_node_count(plan) + 1,
                                                               sizeof **auditor->sampled)))
            status = out_of_memory(error);
    }
    if (status == ULP_OK)
        ulp_parting_prepare(audit);
    if (status == ULP_OK)
        *out = auditor;
    else
        ulp_auditor_free(auditor);
    return status;
}

enum ulp_status ulp_auditor_threads(struct ulp_auditor *auditor, int thread_count,
                                    struct ulp_error *error)
{
    ulp_pool_free(auditor->pool);
    return ulp_pool_create(&auditor->pool, thread_count, error);
}

static void free_collecting(struct ulp_auditor *auditor, const struct ulp_audit *audit)
{
    for (size_t l = 0; l < audit->lane_count; l++) {
        for (size_t n = 0;
             auditor->sampled && auditor->sampled[l] && n < audit->lanes[l].node_count; n++) {
            for (size_t o = 0; auditor->sampled[l][n] && o < audit->lanes[l].nodes[n].output_count;
                 o++)
                free(auditor->sampled[l][n][o].later);
            free(auditor->sampled[l][n]);
        }
        if (auditor->sampled)
            free(auditor->sampled[l]);
        if (auditor->taints)
            free(auditor->taints[l].slots);
    }
    free(auditor->sampled);
    free(auditor->taints);
    auditor->sampled = NULL;
    auditor->taints = NULL;
}

void ulp_auditor_free(struct ulp_auditor *auditor)
{
    if (!auditor)
        return;
    free_collecting(auditor, &auditor->audit);
    ulp_pool_free(auditor->pool);
    ulp_audit_free(&auditor->audit);
    free(auditor);
}

/* A round's figures, with those of the sample's rounds before. */
static enum ulp_status add_round(struct ulp_audit_output *output, struct sampled *sampled,
                                 const struct ulp_metrics views[VIEW_COUNT],
                                 const struct ulp_range *range, const struct ulp_format *format,
                                 struct ulp_error *error)
{
    struct ulp_metrics *all[VIEW_COUNT] = {&output->single, &output->entire, &output->introduced,
                                           &output->carried};
    struct ulp_range *all_range = &output->range;
    if (sampled->samples_before) {
        if (!sampled->later && !(sampled->later = calloc(1, sizeof *sampled->later)))
            return out_of_memory(error);
        for (int v = 0; v < VIEW_COUNT; v++)
            all[v] = &sampled->later->views[v];
        all_range = &sampled->later->range;
        sampled->later->format = *format;
    }
    for (int v = 0; v < VIEW_COUNT; v++)
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
static enum ulp_status keep_later(struct ulp_audit_output *output, const struct sampled *sampled,
                                  size_t sample, struct ulp_error *error)
{
    size_t before = sampled->samples_before;
    const struct ulp_metrics *views = sampled->later->views;
    struct ulp_metrics *worst[VIEW_COUNT] = {&output->single, &output->entire, &output->introduced,
                                             &output->carried};
    if (!output->samples) {
        if (!(output->samples = malloc(sizeof *output->samples)))
            return out_of_memory(error);
        *output->samples =
            (struct ulp_audit_samples){output->single,     output->entire, output->introduced,
                                       output->carried,    output->single, output->entire,
                                       output->introduced, output->carried};
    }
    struct ulp_audit_samples *all = output->samples;
    struct ulp_metrics *limits[VIEW_COUNT] = {&all->single_limit, &all->entire_limit,
                                              &all->introduced_limit, &all->carried_limit};
    struct ulp_metrics *means[VIEW_COUNT] = {&all->single_mean, &all->entire_mean,
                                             &all->introduced_mean, &all->carried_mean};
    bool worse = ulp_metrics_worse(&views[ENTIRE], &output->entire);
    for (int v = 0; v < VIEW_COUNT; v++) {
        if (worse)
            *worst[v] = views[v];
        ulp_metrics_merge_limit(limits[v], &views[v], before);
        ulp_metrics_merge_mean(means[v], &views[v], before);
        means[v]->worst_index = worst[v]->worst_index;
    }
    if (worse)
        output->worst_sample = sample;
    ulp_range_merge(&output->range, &sampled->later->range, before, &sampled->later->format);
    return ULP_OK;
}

static enum ulp_status keep_sample(struct ulp_audit_output *output, struct sampled *sampled,
                                   size_t sample, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    if (sampled->samples_before)
        status = keep_later(output, sampled, sample, error);
    else
        output->worst_sample = sample;
    free(sampled->later);
    sampled->later = NULL;
    sampled->rounds = 0;
    sampled->samples_before++;
    return status;
}

/* The sample is over. */
static enum ulp_status keep_samples(struct ulp_auditor *auditor, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < auditor->audit.lane_count; l++)
        for (size_t n = 0; n < auditor->audit.lanes[l].node_count; n++) {
            struct ulp_audit_node *node = &auditor->audit.lanes[l].nodes[n];
            for (size_t o = 0; o < node->output_count && status == ULP_OK; o++)
                if (auditor->sampled[l][n][o].rounds)
                    status = keep_sample(&node->outputs[o], &auditor->sampled[l][n][o],
                                         auditor->sample, error);
        }
    return status;
}

enum ulp_status ulp_auditor_sample(struct ulp_auditor *auditor, const char *name,
                                   struct ulp_error *error)
{
    struct ulp_audit *audit = &auditor->audit;
    enum ulp_status status = keep_samples(auditor, error);
    if (status != ULP_OK)
        return status;
    char **names = realloc(audit->sample_names, (audit->sample_count + 1) * sizeof *names);
    if (!names)
        return out_of_memory(error);
    audit->sample_names = names;
    if (!(names[audit->sample_count] = strdup(name)))
        return out_of_memory(error);
    auditor->sample = audit->sample_count++;
    for (size_t l = 0; l < audit->lane_count; l++) {
        free(auditor->taints[l].slots);
        auditor->taints[l] = (struct ulp_taint_set){0};
    }
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
                                     struct ulp_metrics views[VIEW_COUNT], struct ulp_error *error)
{
    const struct ulp_tensor *pairs[VIEW_COUNT][2] = {
        [SINGLE] = {lane->single, own},
        [ENTIRE] = {lane->entire, truth},
        [INTRODUCED] = {lane->entire, lane->here},
        [CARRIED] = {lane->here, truth},
    };
    enum ulp_status status = ULP_OK;
    for (int v = 0; v < VIEW_COUNT && status == ULP_OK; v++) {
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

static enum ulp_status prepare_outputs(struct ulp_audit_node *node, struct sampled **sampled,
                                       const struct ulp_event *event, struct ulp_error *error)
{
    if (node->outputs)
        return ULP_OK;
    const size_t room = event->output_count ? event->output_count : 1;
    node->outputs = calloc(room, sizeof *node->outputs);
    *sampled = calloc(room, sizeof **sampled);
    if (!node->outputs || !*sampled)
        return out_of_memory(error);
    node->output_count = event->output_count;
    for (size_t o = 0; o < event->output_count; o++) {
        const struct ulp_tensor *tensor = event->values[o].entire;
        struct ulp_audit_output *output = &node->outputs[o];
        output->name = strdup(event->output_names[o]);
        if (!output->name)
            return out_of_memory(error);
        output->type = tensor->type;
        output->rank = tensor->rank;
        memcpy(output->dims, tensor->dims, sizeof output->dims);
    }
    return ULP_OK;
}

/* Of a value without a truth nothing is known but what its node does by itself. */
static void clear_unpaired(struct ulp_metrics views[VIEW_COUNT])
{
    const struct ulp_metrics undefined = {.max_abs = NAN,
                                          .rms = NAN,
                                          .mean = NAN,
                                          .max_rel = NAN,
                                          .max_ulp = NAN,
                                          .median_ulp = NAN,
                                          .cosine = NAN,
                                          .sqnr_db = NAN};
    views[ENTIRE] = views[CARRIED] = undefined;
}

/* Integers that differ are amounts, to be measured like floats, when the node quantises or only
 * passes such amounts on (Reshape, MaxPool); other integers are indices and decisions. */
static bool clear_amounts(struct ulp_metrics views[VIEW_COUNT], bool amounts)
{
    bool stepped = false;
    for (int v = 0; v < VIEW_COUNT; v++)
        if (amounts && views[v].count) { /* none are counted when the shapes differ */
            stepped |= views[v].diverged;
            views[v].diverged = false;
        }
    return stepped;
}

/* What the node's inputs bring along. */
static struct ulp_taint gather_taints(const struct ulp_taint_set *taints,
                                      const struct ulp_event *event, size_t lane)
{
    struct ulp_taint from = {.diverged = event->apart && event->apart[lane + 1]};
    for (size_t i = 0; i < event->input_count; i++) {
        const struct ulp_taint *taint = ulp_taint_find(taints, event->input_names[i]);
        if (!taint || !event->inputs[(lane + 1) * event->input_count + i].entire)
            continue;
        from.nonfinite |= taint->nonfinite;
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
    if (nonfinite && from->nonfinite && !node->poisoned) {
        node->poisoned = true;
        lane->poisoned_count++;
    }
    if (diverged && !from->diverged) {
        node->decided = true;
        if (lane->first_decided < 0 || lane->first_decided > index)
            lane->first_decided = index;
    }
    if (nonfinite && !from->nonfinite && !from->diverged) {
        node->born = true;
        if (lane->first_born < 0 || lane->first_born > index)
            lane->first_born = index;
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
    const struct ulp_taint from = gather_taints(taints, event, l);
    enum ulp_status status =
        prepare_outputs(node, &auditor->sampled[l][event->index], event, error);
    bool nonfinite = false, diverged = false;
    for (size_t o = 0; o < event->output_count && status == ULP_OK; o++) {
        const struct ulp_lane_value *value = &values[o];
        struct ulp_metrics views[VIEW_COUNT] = {0};
        struct ulp_format format = lane->arithmetic.storage;
        const struct ulp_tensor *own = event->values[o].entire;
        const struct ulp_tensor *truth = find_truth(auditor, event, o);
        if (ulp_type_is_float(value->entire->type))
            status = ulp_lane_format(&lane->arithmetic, value->entire->type, &format, error);
        if (status == ULP_OK)
            status = measure_views(auditor, value, own, truth ? truth : own, &format, views, error);
        if (status != ULP_OK)
            break;
        bool stepped = clear_amounts(views, event->quantizes ||
                                                (from.stepped && from.type == value->entire->type));
        if (from.diverged)
            views[ENTIRE].diverged = views[CARRIED].diverged = true;
        struct ulp_taint taint = {event->output_names[o], views[ENTIRE].nonfinite > 0,
                                  views[ENTIRE].diverged, stepped, value->entire->type};
        nonfinite |= taint.nonfinite;
        diverged |= taint.diverged;
        if ((taint.nonfinite || taint.diverged || taint.stepped) && !ulp_taint_add(taints, taint))
            status = out_of_memory(error);
        node->outputs[o].unpaired |= !truth;
        if (!truth)
            clear_unpaired(views);
        struct ulp_range range = ranges[o];
        range.headroom_bits =
            range.ref_max > 0 ? log2(format.max_finite / range.ref_max) : INFINITY;
        if (status == ULP_OK)
            status = add_round(&node->outputs[o], &auditor->sampled[l][event->index][o], views,
                               &range, &format, error);
    }
    node->rounds++;
    judge_node(lane, node, &from, nonfinite, diverged);
    return status;
}

static enum ulp_status audit_node(void *context, const struct ulp_event *event,
                                  struct ulp_error *error)
{
    struct ulp_auditor *auditor = context;
    struct ulp_range *ranges = calloc(event->output_count + 1, sizeof *ranges);
    if (!ranges)
        return out_of_memory(error);
    for (size_t o = 0; o < event->output_count; o++) {
        const struct ulp_tensor *truth = find_truth(auditor, event, o);
        ulp_range_measure(truth ? truth : event->values[o].entire, &event->arithmetics[0].storage,
                          auditor->pool, &ranges[o]);
    }
    enum ulp_status status = ULP_OK;
    for (size_t l = 0; l < auditor->audit.lane_count && status == ULP_OK; l++)
        if ((status = audit_lane(auditor, event, l, ranges, error)) == ULP_OK)
            ulp_parting_measure(&auditor->audit.lanes[l], event, l);
    free(ranges);
    return status;
}

enum ulp_status ulp_auditor_truth(struct ulp_auditor *auditor, const struct ulp_truth *truth,
                                  const char *path, struct ulp_error *error)
{
    free(auditor->audit.reference_model);
    auditor->audit.reference_model = strdup(path);
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
static enum ulp_status collect_outputs(struct ulp_audit_lane *lane, const struct ulp_plan *plan,
                                       struct ulp_error *error)
{
    size_t count = plan->main->output_count;
    lane->outputs.outputs = calloc(count + 1, sizeof *lane->outputs.outputs);
    if (!lane->outputs.outputs)
        return out_of_memory(error);
    for (size_t i = 0; i < count; i++) {
        const struct ulp_audit_output *from = find_output(lane, plan->main, plan->main->outputs[i]);
        if (!from)
            continue;
        struct ulp_audit_output *to = &lane->outputs.outputs[lane->outputs.output_count];
        *to = *from;
        to->samples = NULL;
        if (!(to->name = strdup(ulp_model_output(plan->model, i).name)))
            return out_of_memory(error);
        lane->outputs.output_count++;
        if (from->samples && !(to->samples = malloc(sizeof *to->samples)))
            return out_of_memory(error);
        if (from->samples)
            *to->samples = *from->samples;
    }
    return ULP_OK;
}

enum ulp_status ulp_auditor_finish(struct ulp_auditor *auditor, struct ulp_audit *out,
                                   struct ulp_error *error)
{
    enum ulp_status status = keep_samples(auditor, error);
    for (size_t l = 0; l < auditor->audit.lane_count && status == ULP_OK; l++)
        status = collect_outputs(&auditor->audit.lanes[l], auditor->plan, error);
    if (status == ULP_OK && auditor->truth)
        status = ulp_truth_check(auditor->truth, &auditor->audit, error);
    if (status != ULP_OK)
        return status;
    if (auditor->truth)
        count_pairs(&auditor->audit);
    *out = auditor->audit;
    auditor->audit = (struct ulp_audit){0};
    free_collecting(auditor, out);
    return ULP_OK;
}

static void free_node(struct ulp_audit_node *node)
{
    for (size_t o = 0; o < node->output_count; o++) {
        free(node->outputs[o].name);
        free(node->outputs[o].samples);
    }
    free(node->outputs);
    free(node->name);
    free(node->op);
}

void ulp_audit_free(struct ulp_audit *audit)
{
    if (!audit)
        return;
    for (size_t l = 0; audit->lanes && l < audit->lane_count; l++) {
        for (size_t n = 0; audit->lanes[l].nodes && n < audit->lanes[l].node_count; n++)
            free_node(&audit->lanes[l].nodes[n]);
        free(audit->lanes[l].nodes);
        free_node(&audit->lanes[l].outputs);
    }
    free(audit->lanes);
    for (size_t s = 0; s < audit->sample_count; s++)
        free(audit->sample_names[s]);
    free(audit->sample_names);
    free(audit->model_path);
    free(audit->reference);
    free(audit->reference_model);
    free(audit->certificate.node);
    for (size_t i = 0; i < audit->spread_count; i++)
        ulp_spreads_free(&audit->spreads[i]);
    free(audit->spreads);
    *audit = (struct ulp_audit){0};
}
