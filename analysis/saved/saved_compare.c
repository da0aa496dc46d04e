/* Two saved reports: finding what became better or worse. */
#include "analysis/saved/saved_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/judge.h"
#include "base/error.h"

#define FACTOR 1.1

const char *const ulp_change_names[] = {"equal", "better", "worse"};

/* Larger is worse; NaN: not known. */
static enum ulp_change compare_figures(double before, double after, double factor)
{
    if (isnan(before) || isnan(after))
        return isnan(before) == isnan(after) ? ULP_EQUAL : isnan(after) ? ULP_WORSE : ULP_BETTER;
    return after > before * factor ? ULP_WORSE : before > after * factor ? ULP_BETTER : ULP_EQUAL;
}

/* What stands against an output's figures, as in an audit's limits. */
static enum ulp_crossing_kind judge(const json_t *output)
{
    const json_t *entire = json_object_get(output, "entire");
    const json_t *some = json_object_get(output, "vacant");
    const struct ulp_vacant vacant = {.count = ulp_saved_number(some, "count") > 0,
                                      .undefined = ulp_saved_true(some, "undefined")};
    const enum ulp_crossing_kind kind = ulp_judge_metrics(
        &(struct ulp_metrics){.diverged = ulp_saved_true(entire, "diverged"),
                              .nonfinite = ulp_saved_number(entire, "nonfinite") > 0,
                              .count = !isnan(ulp_saved_number(entire, "rms")),
                              .unmeasured = ulp_saved_number(entire, "unmeasured") > 0});
    return kind == ULP_CROSSED_VALUE && vacant.count ? ulp_judge_vacant(&vacant) : kind;
}

const char *ulp_changed_say(char text[32], const json_t *output)
{
    const json_t *entire = json_object_get(output, "entire");
    const double nonfinite = ulp_saved_number(entire, "nonfinite");
    if (!output)
        snprintf(text, 32, "not there");
    else if (ulp_saved_true(entire, "diverged"))
        snprintf(text, 32, "diverged");
    else if (nonfinite > 0)
        snprintf(text, 32, "%.0f not finite", nonfinite);
    else if (ulp_saved_true(entire, "exact"))
        snprintf(text, 32, "equal");
    else if (isnan(ulp_saved_number(entire, "rms")))
        snprintf(text, 32, "%s", ulp_judge_name(judge(output)));
    else if (isfinite(ulp_saved_number(entire, "sqnr_db")))
        snprintf(text, 32, "%.1f dB", ulp_saved_number(entire, "sqnr_db"));
    else
        snprintf(text, 32, "%.2g rms", ulp_saved_number(entire, "rms"));
    return text;
}

/* Two outputs that have diverged: by their errors with the reference's decisions, else by how many
 * integers differ; not known: they have neither. */
static enum ulp_change compare_diverged(const json_t *before, const json_t *after, double factor)
{
    const json_t *old = json_object_get(before, "divergence"),
                 *now = json_object_get(after, "divergence");
    const double old_rms =
                     ulp_saved_number(json_object_get(json_object_get(old, "followed"), "metrics"),
                                      "rms"),
                 rms =
                     ulp_saved_number(json_object_get(json_object_get(now, "followed"), "metrics"),
                                      "rms"),
                 old_count = ulp_saved_number(old, "differing"),
                 count = ulp_saved_number(now, "differing");
    const bool followed = old_rms > 0 || rms > 0; /* else the decision is all that it holds */
    if (followed && !isnan(old_rms) && !isnan(rms))
        return compare_figures(old_rms, rms, factor);
    return isnan(old_count) || isnan(count) ? ULP_WORSE : compare_figures(old_count, count, 1);
}

/* Diverging is worse than values that are not finite, and these than any error; what says nothing
 * in both reports is not equal. */
static enum ulp_change compare_outputs(const json_t *before, const json_t *after, double factor,
                                       const char **reason)
{
    const json_t *old = json_object_get(before, "entire"), *now = json_object_get(after, "entire");
    const enum ulp_crossing_kind was = judge(before), is = judge(after);
    const bool diverged = was == ULP_CROSSED_DIVERGED;
    if (diverged != (is == ULP_CROSSED_DIVERGED))
        return diverged ? ULP_BETTER : ULP_WORSE;
    if (diverged)
        return compare_diverged(before, after, factor);
    if (is == ULP_CROSSED_EMPTY || is == ULP_CROSSED_NOTHING) {
        *reason = ulp_judge_reason(is);
        return ULP_WORSE;
    }
    const enum ulp_change nonfinite =
        compare_figures(ulp_saved_number(old, "nonfinite"), ulp_saved_number(now, "nonfinite"), 1);
    return nonfinite != ULP_EQUAL ? nonfinite
                                  : compare_figures(ulp_saved_number(old, "rms"),
                                                    ulp_saved_number(now, "rms"), factor);
}

/* The member of a list with that name: at the same place, as in two reports of one model, or
 * anywhere. */
static const json_t *find(const json_t *list, size_t place, const char *name)
{
    const json_t *item = json_array_get(list, place);
    size_t i;
    if (item && strcmp(ulp_saved_text(item, "name"), name) == 0)
        return item;
    json_array_foreach(list, i,
                       item) if (strcmp(ulp_saved_text(item, "name"), name) == 0) return item;
    return NULL;
}

static void add_output(struct ulp_changed_lane *lane, const json_t *before, const json_t *after,
                       double factor)
{
    const char *reason = NULL;
    const enum ulp_change change =
        before && after ? compare_outputs(before, after, factor, &reason) : ULP_WORSE;
    lane->outputs[lane->output_count++] =
        (struct ulp_changed_output){ulp_saved_text(before ? before : after, "name"),
                                    before,
                                    after,
                                    change,
                                    ulp_saved_number(json_object_get(after, "entire"), "rms") /
                                        ulp_saved_number(json_object_get(before, "entire"), "rms"),
                                    reason};
    lane->changes.worse += change == ULP_WORSE;
    lane->changes.better += change == ULP_BETTER;
    lane->changes.equal += change == ULP_EQUAL;
}

/* NULLs: the arithmetic is not in that report, and all outputs of the other are worse. */
static bool add_outputs(struct ulp_changed *all, struct ulp_changed_lane *lane,
                        const json_t *before, const json_t *after)
{
    const json_t *old = json_object_get(before, "outputs"),
                 *now = json_object_get(after, "outputs"), *output;
    size_t o;
    lane->outputs = ulp_arena_take(all->memory, json_array_size(old) + json_array_size(now) + 1,
                                   sizeof *lane->outputs);
    if (!lane->outputs)
        return false;
    json_array_foreach(old, o, output)
        add_output(lane, output, find(now, o, ulp_saved_text(output, "name")), all->factor);
    json_array_foreach(now, o, output) if (!find(old, o, ulp_saved_text(output, "name")))
        add_output(lane, NULL, output, all->factor);
    return true;
}

/* ---- nodes ---- */

static int by_growth(const void *x, const void *y)
{
    const struct ulp_changed_node *a = x, *b = y;
    const double grown = (b->after - b->before) - (a->after - a->before);
    const double i = ulp_saved_number(a->node, "index"), j = ulp_saved_number(b->node, "index");
    return grown != 0 ? (grown > 0) - (grown < 0) : (i > j) - (i < j);
}

struct named_node {
    const char *name;
    const json_t *node;
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

/* The nodes that introduce more than before, most first, and those that newly make Inf or NaN. */
static bool add_nodes(struct ulp_changed *all, struct ulp_changed_lane *lane, const json_t *before,
                      const json_t *after)
{
    const json_t *old = json_object_get(before, "nodes"), *now = json_object_get(after, "nodes"),
                 *node;
    const size_t old_count = json_array_size(old), now_count = json_array_size(now);
    struct named_node *named = ulp_arena_take(all->memory, old_count + 1, sizeof *named);
    size_t n;
    lane->grown = ulp_arena_take(all->memory, now_count + 1, sizeof *lane->grown);
    lane->born = ulp_arena_take(all->memory, now_count + 1, sizeof *lane->born);
    if (!named || !lane->grown || !lane->born)
        return false;
    json_array_foreach(old, n, node) named[n] =
        (struct named_node){ulp_saved_text(node, "name"), node, n};
    const size_t name_count = sort_names(named, old_count);
    json_array_foreach(now, n, node)
    {
        const struct named_node wanted = {ulp_saved_text(node, "name"), NULL, 0},
                                *paired =
                                    bsearch(&wanted, named, name_count, sizeof *named, match_name);
        if (!paired) {
            lane->unpaired_count++;
            continue;
        }
        const struct ulp_changed_node both = {node, ulp_saved_worst(paired->node, "introduced"),
                                              ulp_saved_worst(node, "introduced")};
        if (ulp_saved_true(node, "born") && !ulp_saved_true(paired->node, "born"))
            lane->born[lane->born_count++] = both;
        if (compare_figures(both.before, both.after, all->factor) == ULP_WORSE &&
            !isnan(both.after))
            lane->grown[lane->grown_count++] = both;
    }
    qsort(lane->grown, lane->grown_count, sizeof *lane->grown, by_growth);
    return true;
}

/* ---- arithmetics ---- */

static bool add_lane(struct ulp_changed *all, const json_t *before, const json_t *after)
{
    struct ulp_changed_lane *lane = &all->lanes[all->lane_count++];
    lane->before = before ? ulp_saved_text(before, "name") : NULL;
    lane->after = after ? ulp_saved_text(after, "name") : NULL;
    const bool added = add_outputs(all, lane, before, after) &&
                       (!before || !after || add_nodes(all, lane, before, after));
    all->changes.worse += lane->changes.worse;
    all->changes.better += lane->changes.better;
    all->changes.equal += lane->changes.equal;
    return added;
}

static bool add_lanes(struct ulp_changed *all)
{
    const json_t *old = all->before->lanes, *now = all->after->lanes, *lane;
    const size_t old_count = json_array_size(old), now_count = json_array_size(now);
    bool added = true;
    size_t l;
    all->lanes = ulp_arena_take(all->memory, old_count + now_count, sizeof *all->lanes);
    if (!all->lanes)
        return false;
    if (old_count == 1 && now_count == 1)
        return add_lane(all, json_array_get(old, 0), json_array_get(now, 0));
    json_array_foreach(now, l, lane)
    {
        const json_t *paired = ulp_saved_arithmetic(all->before, ulp_saved_text(lane, "name"));
        if (paired)
            added &= add_lane(all, paired, lane);
    }
    json_array_foreach(old, l,
                       lane) if (!ulp_saved_arithmetic(all->after, ulp_saved_text(lane, "name")))
        added &= add_lane(all, lane, NULL);
    json_array_foreach(now, l,
                       lane) if (!ulp_saved_arithmetic(all->before, ulp_saved_text(lane, "name")))
        added &= add_lane(all, NULL, lane);
    return added;
}

static size_t count_inputs(const struct ulp_saved *saved)
{
    return json_array_size(json_object_get(saved->root, "nonfinite_inputs"));
}

enum ulp_status ulp_saved_find_changes(const struct ulp_saved *before,
                                       const struct ulp_saved *after, double factor,
                                       struct ulp_changed *out, struct ulp_error *error)
{
    *out = (struct ulp_changed){.before = before,
                                .after = after,
                                .factor = factor > 0 ? factor : FACTOR};
    const enum ulp_status status = ulp_arena_create(&out->memory, after->budget, error);
    if (status != ULP_OK)
        return status;
    out->changes.nonfinite_inputs = count_inputs(before) + count_inputs(after);
    return add_lanes(out) ? ULP_OK : ulp_out_of_memory(error);
}
