/* What a study looks at: outputs, named nodes and layer groups; and an audited lane's figures at
 * these places. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/judge.h"
#include "analysis/measure/figure.h"
#include "analysis/measure/grouping.h"
#include "analysis/measure/judged.h"
#include "analysis/measure/metrics.h"
#include "analysis/study/studying.h"
#include "base/error.h"
#include "base/text/suggest.h"

enum { GROUPS_LEAST = 2, GROUPS_MOST = 12, PREFIX_MOST = 8 };

/* ---- nodes by name ---- */

static const char *name_of(const void *context, size_t i)
{
    return ulp_program_node_name(context, i);
}

static enum ulp_status fail_node(const struct ulp_program *program, const char *name,
                                 struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text hint = {0};
    ulp_suggest_names(&hint, name, ulp_program_node_count(program), name_of, program);
    return ulp_fail(error, ULP_ERROR_USAGE, "no node is called %s%s", name,
                    hint.data && !hint.failed ? hint.data : "");
}

/* By name, the first of several; or "#12". */
static enum ulp_status find_node(const struct ulp_program *program, const char *name, size_t *out,
                                 struct ulp_error *error)
{
    const size_t count = ulp_program_node_count(program);
    for (*out = 0; *out < count; ++*out)
        if (strcmp(ulp_program_node_name(program, *out), name) == 0)
            return ULP_OK;
    char *end = NULL;
    if (name[0] == '#' && name[1] >= '0' && name[1] <= '9') {
        const unsigned long index = strtoul(name + 1, &end, 10);
        *out = index;
        if (!*end && index < count)
            return ULP_OK;
    }
    return fail_node(program, name, error);
}

/* ---- groups ---- */

/* Nodes that compute floats; what only moves them has the errors of what it reads. */
static bool is_grouped(const struct ulp_program *program, size_t node)
{
    struct ulp_node_types types;
    ulp_program_node_types(program, 0, node, &types);
    return !types.moves && strcmp(ulp_program_node_op(program, node), "Constant") != 0;
}

static const char *group_text(const struct ulp_program *program, size_t node, int parts,
                              size_t *length)
{
    const char *text =
        parts ? ulp_program_node_name(program, node) : ulp_program_node_op(program, node);
    *length = parts ? ulp_grouping_cut(text, parts) : strlen(text);
    return text;
}

/* In the order in which they are first computed. */
static enum ulp_status make_groups(struct ulp_studying *s, const struct ulp_program *program,
                                   int parts, struct ulp_study_place *groups, size_t *count,
                                   struct ulp_error *error)
{
    *count = 0;
    for (size_t n = 0; n < s->node_count; n++) {
        size_t length, g = 0;
        const char *text = group_text(program, n, parts, &length);
        s->node_group[n] = -1;
        if (!length || !is_grouped(program, n))
            continue;
        while (g < *count && (strncmp(groups[g].name, text, length) != 0 || groups[g].name[length]))
            g++;
        if (g == *count) {
            groups[g] =
                (struct ulp_study_place){.kind = ULP_PLACE_GROUP,
                                         .name = ulp_arena_text(s->out->memory, text, length)};
            ULP_TRY(ulp_taken(groups[g].name, error));
            ++*count;
        }
        groups[g].node_count++;
        s->node_group[n] = (ptrdiff_t)g;
    }
    return ULP_OK;
}

/* The first prefix:N with few groups, else op. */
static enum ulp_status choose_groups(struct ulp_studying *s, const struct ulp_program *program,
                                     struct ulp_study_place *groups, size_t *count,
                                     struct ulp_error *error)
{
    char by[] = "prefix:0";
    for (int parts = 1; parts <= PREFIX_MOST; parts++) {
        ULP_TRY(make_groups(s, program, parts, groups, count, error));
        if (*count < GROUPS_LEAST)
            continue;
        if (*count > GROUPS_MOST)
            break;
        by[sizeof by - 2] = (char)('0' + parts);
        s->out->grouping = ulp_arena_text(s->out->memory, by, strlen(by));
        return ulp_taken(s->out->grouping, error);
    }
    s->out->grouping = ulp_arena_text(s->out->memory, "op", 2);
    return s->out->grouping ? make_groups(s, program, 0, groups, count, error)
                            : ulp_out_of_memory(error);
}

static enum ulp_status find_groups(struct ulp_studying *s, const struct ulp_program *program,
                                   struct ulp_study_place *groups, size_t *count,
                                   struct ulp_error *error)
{
    const char *by = s->options->group;
    int parts;
    if (!by)
        return choose_groups(s, program, groups, count, error);
    ULP_TRY(ulp_grouping_read(by, &parts, error));
    if (parts == ULP_GROUPING_CAUSE)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "groups by cause are of shares: expected op or prefix:N");
    if (!(s->out->grouping = ulp_arena_text(s->out->memory, by, strlen(by))))
        return ulp_out_of_memory(error);
    return make_groups(s, program, parts, groups, count, error);
}

/* ---- all ---- */

static enum ulp_status add_place(struct ulp_study *out, enum ulp_study_place_kind kind,
                                 const char *name, struct ulp_error *error)
{
    struct ulp_study_place *place = &out->places[out->place_count];
    *place = (struct ulp_study_place){.kind = kind,
                                      .name = ulp_arena_text(out->memory, name, strlen(name))};
    ULP_TRY(ulp_taken(place->name, error));
    out->place_count++;
    return ULP_OK;
}

enum ulp_status ulp_study_make_places(struct ulp_studying *s, const struct ulp_program *program,
                                      struct ulp_error *error)
{
    struct ulp_study *out = s->out;
    const size_t outputs = ulp_model_output_count(s->model), nodes = s->options->node_count;
    size_t group_count = 0;
    s->node_count = ulp_program_node_count(program);
    ULP_TAKE(out->places, out->memory, outputs + nodes + s->node_count + 1, error);
    ULP_TAKE(s->node_group, out->memory, s->node_count + 1, error);
    ULP_TAKE(s->place_nodes, out->memory, outputs + nodes + 1, error);
    for (size_t i = 0; i < outputs; i++)
        ULP_TRY(add_place(out, ULP_PLACE_OUTPUT, ulp_model_output(s->model, i).name, error));
    for (size_t i = 0; i < nodes; i++) {
        ULP_TRY(find_node(program, s->options->nodes[i], &s->place_nodes[out->place_count], error));
        ULP_TRY(add_place(out, ULP_PLACE_NODE, s->options->nodes[i], error));
    }
    ULP_TRY(find_groups(s, program, out->places + out->place_count, &group_count, error));
    for (size_t n = 0; n < s->node_count; n++)
        s->node_group[n] += s->node_group[n] < 0 ? 0 : (ptrdiff_t)out->place_count;
    out->place_count += group_count;
    for (size_t i = 0; i < out->setting_count; i++) {
        out->settings[i].point_count = out->place_count;
        ULP_TAKE(out->settings[i].points, out->memory, out->place_count + 1, error);
    }
    return ULP_OK;
}

/* ---- figures ---- */

static double relative_of(const struct ulp_audit_output *output)
{
    return ulp_judge_metrics(&output->entire) == ULP_CROSSED_VALUE
               ? ulp_relative_rms(&output->entire, &output->range)
               : NAN;
}

/* One run's: sums of squares, worst figures. judged: the inputs are what was meant. */
static void add_point(struct ulp_study_point *point, const struct ulp_audit_output *output,
                      bool judged, size_t trial)
{
    const double relative = relative_of(output), delta = relative - point->trials.mean;
    point->trials.mean += delta / (double)(trial + 1);
    /* the sum of squares, until all are there */
    point->trials.deviation += delta * (relative - point->trials.mean);
    if (!trial || ulp_metrics_worse(&output->entire, &point->metrics))
        point->metrics = output->entire;
    /* NaN is of outputs that are not there; one of which nothing is finite is, and has no rms */
    point->ref_rms = isnan(output->range.ref_rms) ? 0 : output->range.ref_rms;
    point->relative += relative * relative;
    point->nonfinite = point->metrics.nonfinite;
    point->diverged |= output->entire.diverged;
    /* of a value that is no output of the graph nothing is known */
    const enum ulp_grade grade =
        judged && output->judged.text ? output->judged.grade : ULP_GRADE_NOT;
    if (!trial || ulp_grade_weigh(grade) > ulp_grade_weigh(point->grade))
        point->grade = grade;
}

static void add_missing(struct ulp_study_point *point)
{
    point->metrics = ulp_metrics_undefined();
    point->grade = ULP_GRADE_NOT;
    point->relative = point->ref_rms = NAN;
}

/* The output that is the place: a graph's by its name, a node's that is worst. */
static const struct ulp_audit_output *find_output(const struct ulp_studying *s,
                                                  const struct ulp_audit_lane *lane, size_t place)
{
    if (s->out->places[place].kind == ULP_PLACE_NODE) {
        const struct ulp_audit_node *node = &lane->nodes[s->place_nodes[place]];
        const struct ulp_audit_output *worst = ulp_audit_worst(node);
        return worst || !node->output_count ? worst : &node->outputs[0];
    }
    for (size_t o = 0; o < lane->outputs.output_count; o++)
        if (strcmp(lane->outputs.outputs[o].name, s->out->places[place].name) == 0)
            return &lane->outputs.outputs[o];
    return NULL;
}

/* The mean square over the group's nodes; of a node its first float output. */
struct grouped {
    double sum;
    size_t count, nonfinite;
    bool diverged;
};

static void add_node(struct grouped *group, const struct ulp_audit_node *node)
{
    for (size_t o = 0; o < node->output_count; o++) {
        const struct ulp_audit_output *output = &node->outputs[o];
        if (!ulp_type_is_float(output->type))
            continue;
        const double relative = relative_of(output);
        group->diverged |= output->entire.diverged;
        group->nonfinite += output->entire.nonfinite;
        if (isfinite(relative)) { /* not where the reference is 0 */
            group->sum += relative * relative;
            group->count++;
        }
        return;
    }
}

static void add_groups(const struct ulp_studying *s, const struct ulp_audit_lane *lane,
                       struct ulp_study_point *points, size_t first)
{
    for (size_t p = first; p < s->out->place_count; p++) {
        struct grouped group = {0};
        for (size_t n = 0; n < lane->node_count && n < s->node_count; n++)
            if (s->node_group[n] == (ptrdiff_t)p)
                add_node(&group, &lane->nodes[n]);
        const double square = group.nonfinite || group.diverged || !group.count
                                  ? NAN
                                  : group.sum / (double)group.count;
        points[p].relative += square;
        points[p].nonfinite =
            group.nonfinite > points[p].nonfinite ? group.nonfinite : points[p].nonfinite;
        points[p].diverged |= group.diverged;
        points[p].ref_rms = NAN;
        points[p].metrics = ulp_metrics_undefined();
    }
}

void ulp_study_add_lane(const struct ulp_studying *s, const struct ulp_audit *audit, size_t l,
                        size_t setting, size_t trial)
{
    const struct ulp_audit_lane *lane = &audit->lanes[l];
    const bool judged = !audit->nonfinite_input_count || s->options->allow_nonfinite_inputs;
    struct ulp_study_setting *to = &s->out->settings[setting];
    size_t p = 0;
    for (; p < s->out->place_count && s->out->places[p].kind != ULP_PLACE_GROUP; p++) {
        const struct ulp_audit_output *output = find_output(s, lane, p);
        if (output)
            add_point(&to->points[p], output, judged, trial);
        else
            add_missing(&to->points[p]);
    }
    add_groups(s, lane, to->points, p);
    if (lane->first_born >= 0 && !to->overflows) {
        const char *name = lane->nodes[lane->first_born].name;
        to->overflows = ulp_arena_text(s->out->memory, name, strlen(name));
    }
}

void ulp_study_forget_points(const struct ulp_studying *s, size_t setting)
{
    struct ulp_study_setting *of = &s->out->settings[setting];
    memset(of->points, 0, s->out->place_count * sizeof *of->points);
    of->overflows = NULL;
}

void ulp_study_finish_points(const struct ulp_studying *s, size_t setting)
{
    struct ulp_study_setting *of = &s->out->settings[setting];
    const double runs = (double)ulp_study_run_count(of);
    for (size_t p = 0; p < s->out->place_count; p++) {
        struct ulp_study_point *point = &of->points[p];
        point->relative = runs > 1 ? sqrt(point->relative / runs) : sqrt(point->relative);
        point->trials.deviation = runs > 1 ? sqrt(point->trials.deviation / (runs - 1)) : 0;
    }
}
