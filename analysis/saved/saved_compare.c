/* Two saved reports: finding what became better or worse. */
#include "analysis/saved/saved_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/judge.h"
#include "base/error.h"
#include "number/function/math.h"

#define FACTOR 1.1

const char *const ulp_change_names[] = {"equal", "better", "worse"};

/* Larger is worse; NaN: not known. */
static enum ulp_change compare_figures(double before, double after, double factor)
{
    if (isnan(before) || isnan(after))
        return isnan(before) == isnan(after) ? ULP_EQUAL : isnan(after) ? ULP_WORSE : ULP_BETTER;
    return after > before * factor ? ULP_WORSE : before > after * factor ? ULP_BETTER : ULP_EQUAL;
}

/* What stands against an output's figures, as in an audit's limits. Infinite errors are not known
 * in JSON. */
static enum ulp_crossing_kind judge_figures(const struct ulp_audit_output *output)
{
    struct ulp_metrics entire = output->entire;
    entire.count = isnan(entire.rms) ? 0 : entire.count;
    const enum ulp_crossing_kind kind = ulp_judge_metrics(&entire);
    return kind == ULP_CROSSED_VALUE && output->vacant.count ? ulp_judge_vacant(&output->vacant)
                                                             : kind;
}

void ulp_changed_verdict(const struct ulp_saved_changes *changes, struct ulp_text *out)
{
    const size_t count = changes->worse + changes->better + changes->equal;
    if (changes->worse)
        ulp_text_add(out, "worse at %zu of %zu outputs%s", changes->worse, count,
                     changes->better ? ", better at others" : "");
    else if (changes->better)
        ulp_text_add(out, "better at %zu of %zu outputs, worse at none", changes->better, count);
    else
        ulp_text_add(out, "no change at %zu output%s", count, count == 1 ? "" : "s");
}

/* Two outputs that have diverged: by their errors with the reference's decisions, else by how many
 * integers differ; not known: they have neither. */
static enum ulp_change compare_diverged(const struct ulp_divergence *old,
                                        const struct ulp_divergence *now, double factor)
{
    if (!old || !now)
        return ULP_WORSE;
    const double was = old->followed.given ? old->followed.metrics.rms : (double)NAN,
                 is = now->followed.given ? now->followed.metrics.rms : (double)NAN;
    const bool followed = was > 0 || is > 0; /* else the decision is all that it holds */
    return followed && !isnan(was) && !isnan(is)
               ? compare_figures(was, is, factor)
               : compare_figures((double)old->differing, (double)now->differing, 1);
}

/* Diverging is worse than values that are not finite, and these than any error; what says nothing
 * in both reports is not equal. */
static enum ulp_change compare_outputs(const struct ulp_audit_output *before,
                                       const struct ulp_audit_output *after, double factor,
                                       const char **reason)
{
    const struct ulp_metrics *old = &before->entire, *now = &after->entire;
    const enum ulp_crossing_kind was = judge_figures(before), is = judge_figures(after);
    const bool diverged = was == ULP_CROSSED_DIVERGED;
    if (diverged != (is == ULP_CROSSED_DIVERGED))
        return diverged ? ULP_BETTER : ULP_WORSE;
    if (diverged)
        return compare_diverged(before->divergence, after->divergence, factor);
    if (is == ULP_CROSSED_EMPTY || is == ULP_CROSSED_IDLE || is == ULP_CROSSED_NOTHING) {
        *reason = ulp_judge_reason(is);
        return ULP_WORSE;
    }
    const enum ulp_change nonfinite =
        compare_figures((double)old->nonfinite, (double)now->nonfinite, 1);
    return nonfinite != ULP_EQUAL ? nonfinite : compare_figures(old->rms, now->rms, factor);
}

/* The output of that name: at the same place, as in two reports of one model, or anywhere. NULL:
 * there is none. */
static const struct ulp_audit_output *find_saved_output(const struct ulp_audit_node *graph,
                                                        size_t place, const char *name)
{
    if (place < graph->output_count && strcmp(graph->outputs[place].name, name) == 0)
        return &graph->outputs[place];
    for (size_t o = 0; o < graph->output_count; o++)
        if (strcmp(graph->outputs[o].name, name) == 0)
            return &graph->outputs[o];
    return NULL;
}

static void add_output_change(struct ulp_changed_lane *lane, const struct ulp_audit_output *before,
                              const struct ulp_audit_output *after, double factor)
{
    const char *reason = NULL;
    const enum ulp_change change =
        before && after ? compare_outputs(before, after, factor, &reason) : ULP_WORSE;
    lane->outputs[lane->output_count++] =
        (struct ulp_changed_output){before ? before->name : after->name,
                                    before,
                                    after,
                                    change,
                                    before && after ? after->entire.rms / before->entire.rms
                                                    : (double)NAN,
                                    reason};
    lane->changes.worse += change == ULP_WORSE;
    lane->changes.better += change == ULP_BETTER;
    lane->changes.equal += change == ULP_EQUAL;
}

/* NULLs: the arithmetic is not in that report, and all outputs of the other are worse. */
static bool add_outputs(struct ulp_changed *all, struct ulp_changed_lane *lane,
                        const struct ulp_audit_lane *before, const struct ulp_audit_lane *after)
{
    static const struct ulp_audit_node none;
    const struct ulp_audit_node *old = before ? &before->outputs : &none,
                                *now = after ? &after->outputs : &none;
    lane->outputs = ulp_arena_take(all->memory, old->output_count + now->output_count + 1,
                                   sizeof *lane->outputs);
    if (!lane->outputs)
        return false;
    for (size_t o = 0; o < old->output_count; o++)
        add_output_change(lane, &old->outputs[o], find_saved_output(now, o, old->outputs[o].name),
                          all->factor);
    for (size_t o = 0; o < now->output_count; o++)
        if (!find_saved_output(old, o, now->outputs[o].name))
            add_output_change(lane, NULL, &now->outputs[o], all->factor);
    return true;
}

/* ---- nodes ---- */

static int by_growth(const void *x, const void *y)
{
    const struct ulp_changed_node *a = x, *b = y;
    const double grown = (b->after - b->before) - (a->after - a->before);
    return grown != 0 ? (grown > 0) - (grown < 0)
                      : (a->node->index > b->node->index) - (a->node->index < b->node->index);
}

struct named_node {
    const char *name;
    const struct ulp_audit_node *node;
    size_t place;
};

static int by_name(const void *x, const void *y)
{
    const struct named_node *a = x, *b = y;
    const int order = strcmp(a->name, b->name);
    return order ? order : (a->place > b->place) - (a->place < b->place);
}

static int match_name(const void *x, const void *y)
{
    return strcmp(((const struct named_node *)x)->name, ((const struct named_node *)y)->name);
}

/* Sorted by name; of nodes of one name the first alone is kept. */
static size_t sort_names(struct named_node *named, size_t count)
{
    size_t kept = 0;
    qsort(named, count, sizeof *named, by_name);
    for (size_t n = 0; n < count; n++)
        if (kept == 0 || match_name(&named[kept - 1], &named[n]) != 0)
            named[kept++] = named[n];
    return kept;
}

/* The rms of what the node introduces over the reference's, where that is largest; NaN: none is
 * known. */
static double introduces(const struct ulp_audit_node *node)
{
    double worst = NAN;
    for (size_t o = 0; o < node->output_count; o++)
        worst =
            ulp_math_max(worst, node->outputs[o].introduced.rms / node->outputs[o].range.ref_rms);
    return worst;
}

/* The nodes that introduce more than before, most first, and those that newly make Inf or NaN. */
static bool compare_nodes(struct ulp_changed *all, struct ulp_changed_lane *lane,
                          const struct ulp_audit_lane *old, const struct ulp_audit_lane *now)
{
    struct named_node *named = ulp_arena_take(all->memory, old->node_count + 1, sizeof *named);
    lane->nodes = ulp_arena_take(all->memory, now->node_count + 1, sizeof *lane->nodes);
    lane->grown = ulp_arena_take(all->memory, now->node_count + 1, sizeof *lane->grown);
    lane->born = ulp_arena_take(all->memory, now->node_count + 1, sizeof *lane->born);
    if (!named || !lane->nodes || !lane->grown || !lane->born)
        return false;
    for (size_t n = 0; n < old->node_count; n++)
        named[n] = (struct named_node){old->nodes[n].name, &old->nodes[n], n};
    const size_t name_count = sort_names(named, old->node_count);
    for (size_t n = 0; n < now->node_count; n++) {
        const struct ulp_audit_node *node = &now->nodes[n];
        const struct named_node wanted = {node->name, NULL, 0},
                                *paired =
                                    bsearch(&wanted, named, name_count, sizeof *named, match_name);
        if (!paired) {
            lane->unpaired_count++;
            continue;
        }
        const double before = introduces(paired->node), after = introduces(node);
        const struct ulp_changed_node both = {node, paired->node,
                                              compare_figures(before, after, all->factor), before,
                                              after};
        lane->nodes[lane->node_count++] = both;
        if (node->born && !paired->node->born)
            lane->born[lane->born_count++] = both;
        if (both.change == ULP_WORSE && !isnan(after))
            lane->grown[lane->grown_count++] = both;
    }
    qsort(lane->grown, lane->grown_count, sizeof *lane->grown, by_growth);
    return true;
}

/* ---- arithmetics ---- */

static bool compare_lanes(struct ulp_changed *all, const struct ulp_audit_lane *before,
                          const struct ulp_audit_lane *after)
{
    struct ulp_changed_lane *lane = &all->lanes[all->lane_count++];
    lane->before = before ? before->name : NULL;
    lane->after = after ? after->name : NULL;
    const bool added = add_outputs(all, lane, before, after) &&
                       (!before || !after || compare_nodes(all, lane, before, after));
    all->changes.worse += lane->changes.worse;
    all->changes.better += lane->changes.better;
    all->changes.equal += lane->changes.equal;
    return added;
}

static const struct ulp_audit_lane *find_lane(const struct ulp_audit *audit, const char *name)
{
    for (size_t l = 0; l < audit->lane_count; l++)
        if (strcmp(audit->lanes[l].name, name) == 0)
            return &audit->lanes[l];
    return NULL;
}

static bool add_lanes(struct ulp_changed *all)
{
    const struct ulp_audit *old = all->before, *now = all->after;
    bool added = true;
    all->lanes = ulp_arena_take(all->memory, old->lane_count + now->lane_count, sizeof *all->lanes);
    if (!all->lanes)
        return false;
    if (old->lane_count == 1 && now->lane_count == 1)
        return compare_lanes(all, &old->lanes[0], &now->lanes[0]);
    for (size_t l = 0; l < now->lane_count; l++) {
        const struct ulp_audit_lane *paired = find_lane(old, now->lanes[l].name);
        if (paired)
            added &= compare_lanes(all, paired, &now->lanes[l]);
    }
    for (size_t l = 0; l < old->lane_count; l++)
        if (!find_lane(now, old->lanes[l].name))
            added &= compare_lanes(all, &old->lanes[l], NULL);
    for (size_t l = 0; l < now->lane_count; l++)
        if (!find_lane(old, now->lanes[l].name))
            added &= compare_lanes(all, NULL, &now->lanes[l]);
    return added;
}

enum ulp_status ulp_saved_find_changes(struct ulp_saved *before, struct ulp_saved *after,
                                       double factor, struct ulp_changed *out,
                                       struct ulp_error *error)
{
    *out = (struct ulp_changed){.paths = {before->path, after->path},
                                .factor = factor > 0 ? factor : FACTOR};
    ULP_TRY(ulp_saved_audit(before, &out->before, error));
    ULP_TRY(ulp_saved_audit(after, &out->after, error));
    ULP_TRY(ulp_arena_create(&out->memory, after->budget, error));
    out->changes.nonfinite_inputs =
        out->before->nonfinite_input_count + out->after->nonfinite_input_count;
    return add_lanes(out) ? ULP_OK : ulp_out_of_memory(error);
}
