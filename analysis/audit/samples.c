/* Figures of a node's output over executions and samples: the worst, the mean, the limit. */
#include <string.h>

#include "analysis/audit/auditor.h"
#include "analysis/audit/audit_shares.h"
#include "analysis/audit/audit_overflow.h"
#include "analysis/audit/listed.h"
#include "analysis/measure/figure.h"
#include "analysis/measure/judge.h"
#include "analysis/measure/metrics.h"

enum ulp_status ulp_auditor_add_round(struct ulp_auditor *auditor, struct ulp_audit_output *output,
                                      struct ulp_sampled *sampled, const struct ulp_round *round,
                                      struct ulp_error *error)
{
    struct ulp_round *later = sampled->later;
    if (sampled->samples_before && !later &&
        !(later = sampled->later = ulp_arena_take(auditor->arena, 1, sizeof *later)))
        return ulp_out_of_memory(error);
    if (!sampled->samples_before)
        later = NULL;
    else if (!sampled->executions)
        *later = *round;
    else
        later->format = round->format;
    struct ulp_range *range = later ? &later->range : &output->range;
    for (int v = 0; v < ULP_VIEW_COUNT; v++) {
        struct ulp_metrics *all = later ? &later->views[v] : ulp_view(output, v);
        if (sampled->executions)
            ulp_metrics_join(all, &round->views[v]);
        else
            *all = round->views[v];
    }
    if (sampled->executions)
        ulp_range_merge(range, &round->range, sampled->executions, &round->format);
    else
        *range = round->range;
    if (!later && sampled->passed && !sampled->executions) {
        output->rank = round->rank;
        memcpy(output->dims, round->dims, sizeof output->dims);
    }
    sampled->executions++;
    return ULP_OK;
}

/* Put a sample that is not the first together with those before. */
static enum ulp_status keep_later(struct ulp_arena *memory, struct ulp_audit_output *output,
                                  const struct ulp_sampled *sampled, size_t sample,
                                  struct ulp_error *error)
{
    size_t before = sampled->samples_before;
    const struct ulp_metrics *views = sampled->later->views;
    if (!output->samples) {
        ULP_TAKE(output->samples, memory, 1, error);
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
    if (worse) {
        output->worst_sample = sample;
        output->rank = sampled->later->rank;
        memcpy(output->dims, sampled->later->dims, sizeof output->dims);
    }
    ulp_range_merge(&output->range, &sampled->later->range, before, &sampled->later->format);
    return ULP_OK;
}

/* Without elements, as of an empty batch, and without a difference. */
static bool is_empty(const struct ulp_metrics *entire, int rank, const int64_t *dims)
{
    bool empty = false;
    for (int d = 0; d < rank; d++)
        empty |= dims[d] == 0;
    return empty && !entire->diverged;
}

/* Of a graph's output, whose task is known. */
static bool is_idle(const struct ulp_audit_output *output, const struct ulp_metrics *entire,
                    const struct ulp_range *range)
{
    return ulp_type_is_float(output->type) && output->judged.task != ULP_TASK_UNKNOWN &&
           output->judged.task != ULP_TASK_NONE && entire->count > 1 && range->ref_max == 0;
}

static void count_vacant(struct ulp_audit_output *output, const struct ulp_metrics *entire,
                         const struct ulp_range *range, bool drawn, size_t sample)
{
    struct ulp_vacant *vacant = &output->vacant;
    const enum ulp_crossing_kind kind = ulp_judge_metrics(entire);
    const bool idle = drawn && kind == ULP_CROSSED_VALUE && is_idle(output, entire, range);
    if ((kind == ULP_CROSSED_EMPTY || kind == ULP_CROSSED_NOTHING || idle) && !vacant->count++) {
        vacant->sample = sample;
        vacant->undefined = kind == ULP_CROSSED_NOTHING;
        vacant->idle = idle;
    }
}

/* A sample in which the output is empty counts only where all are like that. */
static enum ulp_status keep_sample(struct ulp_auditor *auditor, struct ulp_audit_output *output,
                                   struct ulp_sampled *sampled, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    struct ulp_arena *memory = auditor->audit.memory;
    const size_t sample = auditor->sample;
    const struct ulp_round *later = sampled->samples_before ? sampled->later : NULL;
    count_vacant(output, later ? &later->views[ULP_VIEW_ENTIRE] : &output->entire,
                 later ? &later->range : &output->range, auditor->audit.drawn, sample);
    if (later ? is_empty(&later->views[ULP_VIEW_ENTIRE], later->rank, later->dims)
              : is_empty(&output->entire, output->rank, output->dims)) {
        output->worst_sample = later ? output->worst_sample : sample;
        sampled->executions = 0;
        sampled->passed = true;
        return ULP_OK;
    }
    if (sampled->samples_before)
        status = keep_later(memory, output, sampled, sample, error);
    else
        output->worst_sample = sample;
    sampled->executions = 0;
    sampled->samples_before++;
    return status;
}

/* Which overflows the graph's outputs bear. */
static void reach_outputs(struct ulp_auditor *auditor, size_t lane)
{
    const struct ulp_block *block = auditor->program->main;
    for (size_t i = 0; i < block->output_count; i++) {
        const struct ulp_taint *taint =
            ulp_taint_find(&auditor->taints[lane], block->slots[block->outputs[i]].name);
        if (taint)
            ulp_audit_overflow_reach(&auditor->audit.lanes[lane], taint->overflow);
    }
}

enum ulp_status ulp_auditor_keep_samples(struct ulp_auditor *auditor, struct ulp_error *error)
{
    ULP_TRY(ulp_listed_settle(auditor, error));
    for (size_t l = 0; l < auditor->audit.lane_count; l++)
        reach_outputs(auditor, l);
    for (size_t l = 0; l < auditor->audit.lane_count; l++)
        for (size_t n = 0; n < auditor->audit.lanes[l].node_count; n++) {
            struct ulp_audit_node *node = &auditor->audit.lanes[l].nodes[n];
            for (size_t o = 0; o < node->output_count; o++)
                if (auditor->sampled[l][n][o].executions)
                    ULP_TRY(
                        keep_sample(auditor, &node->outputs[o], &auditor->sampled[l][n][o], error));
        }
    return ULP_OK;
}

void ulp_auditor_finish_added(struct ulp_audit *audit)
{
    for (size_t l = 0; l < audit->lane_count; l++) {
        struct ulp_audit_lane *lane = &audit->lanes[l];
        struct ulp_attribution *attribution = &lane->attribution;
        if (!attribution->outputs)
            continue; /* there are no shares */
        for (size_t o = 0; o < attribution->output_count; o++)
            ulp_shares_divide(&attribution->outputs[o], lane->node_count);
        if (attribution->output_count) {
            ulp_shares_name(lane);
        } else {
            ulp_shares_divide(attribution->outputs, lane->node_count);
            ulp_shares_take(lane, attribution->outputs);
        }
    }
}
