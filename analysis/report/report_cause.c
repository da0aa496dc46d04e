/* Which node an error of the outputs comes from, and by which of its roundings. */
#include <math.h>
#include <string.h>

#include "analysis/audit/audit_keep.h"
#include "analysis/audit/audit_mixed.h"
#include "analysis/audit/audit_overflow.h"
#include "analysis/report/report.h"
#include "number/format/scaling.h"
#include "number/function/math.h"

/* The node that introduces most, and how much; NULL: none introduces anything. */
static const struct ulp_audit_node *find_source(const struct ulp_audit_lane *lane, double *most)
{
    const struct ulp_audit_node *source = NULL;
    *most = 0;
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            if (ulp_report_introduced(&lane->nodes[n].outputs[o]) > *most &&
                !ulp_audit_is_absorbed(lane, &lane->nodes[n])) {
                *most = ulp_report_introduced(&lane->nodes[n].outputs[o]);
                source = &lane->nodes[n];
            }
    return source;
}

/* Beyond this much that they do not explain, shares are no answer (doc/attribution.md). */
#define RESIDUAL_MAX 0.25

/* Parts that are so many times as large as the whole cancel each other, and are no answer. */
#define MANY 1.5

/* Nodes that cancel each other: each causes many times the error. */
struct group {
    size_t count;
    double joint;                                /* their shares' sum */
    const struct ulp_audit_node *first, *second; /* the largest, and the most negative */
};

static struct group find_group(const struct ulp_audit_lane *lane)
{
    struct group group = {0};
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_audit_node *node = &lane->nodes[n];
        if (!(fabs(node->share) > MANY))
            continue;
        group.count++;
        group.joint += node->share;
        if (!group.first || node->share > group.first->share)
            group.first = node;
        if (!group.second || node->share < group.second->share)
            group.second = node;
    }
    return group;
}

double ulp_report_joint(const struct ulp_audit_lane *lane, size_t *count)
{
    const struct group group = find_group(lane);
    *count = group.count;
    return group.joint;
}

double ulp_report_part(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    const double most = ulp_math_max(node->share, node->decision);
    if (!(fabs(node->share) > MANY) || node->decision > MANY)
        return most;
    const struct group group = find_group(lane);
    return group.count < 2 ? most : group.first == node ? group.joint : node->decision;
}

static const struct ulp_audit_node *find_largest(const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_node *cause = NULL;
    double most = 0;
    for (size_t n = 0; n < lane->node_count; n++) {
        const double part = ulp_report_part(lane, &lane->nodes[n]);
        if (part > most) {
            most = part;
            cause = &lane->nodes[n];
        }
    }
    return cause;
}

/* The node of the largest share in the error of the outputs, or of the largest decision; NULL: they
 * are not known. */
const struct ulp_audit_node *ulp_report_find_cause(const struct ulp_audit_lane *lane)
{
    return lane->attribution.given && fabs(lane->attribution.residual) <= RESIDUAL_MAX
               ? find_largest(lane)
               : NULL;
}

/* From these parts of a node's share, and of all shares, a cause is named. */
#define CAUSE_NAMED 0.2
#define CAUSE_OF_ALL 0.5

/* The causes that have most of the share, at most two: *first, and *second or -1. */
static void find_causes(const double *causes, double share, int *first, int *second)
{
    *first = *second = -1;
    for (int c = 0; c < ULP_SHARE_CAUSES; c++) {
        if (!(causes[c] >= CAUSE_NAMED * share))
            continue;
        if (*first < 0 || causes[c] > causes[*first]) {
            *second = *first;
            *first = c;
        } else if (*second < 0 || causes[c] > causes[*second]) {
            *second = c;
        }
    }
}

static const char *name_cause(int cause, bool of_all)
{
    const char *all, *node;
    ulp_share_cause_name((enum ulp_share_cause)cause, &all, &node);
    return of_all ? all : node;
}

/* Is one of the parts many times the whole? *most, *least: the parts that cancel. */
static bool find_cancelling(const double *causes, double whole, int *most, int *least)
{
    *most = *least = 0;
    for (int c = 1; c < ULP_SHARE_CAUSES; c++) {
        if (causes[c] > causes[*most])
            *most = c;
        if (causes[c] < causes[*least])
            *least = c;
    }
    return causes[*most] > MANY * whole;
}

/* From this condition on a result's rounding is more than a rounding: an angle of many turns, a
 * difference that cancels. */
#define SENSITIVE 8

/* The formats of keys and values of a node that has some. */
static const struct ulp_scaling *find_caches(const struct ulp_audit *audit,
                                             const struct ulp_audit_lane *lane,
                                             const struct ulp_audit_node *node)
{
    const struct ulp_arithmetic *own = ulp_audit_node_arithmetic(lane, node);
    const size_t inputs =
        node->index < audit->place_count ? audit->places[node->index].input_count : 0;
    const bool written = strcmp(node->op, "MatMul") == 0 && inputs >= 3; /* several nodes are one */
    return ulp_scaling_is_cached(own) && (written || strstr(node->op, "Attention")) ? own->caches
                                                                                    : NULL;
}

/* ", by the rounding of its weights (51 %) and the rounding of its inputs (48 %)" */
static void add_causes(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane, const struct ulp_audit_node *node,
                       bool magnified)
{
    int first, second;
    if (find_cancelling(node->causes, node->share, &first, &second)) {
        ulp_text_show(out, ", left of %s and %s, which cancel each other", name_cause(first, false),
                      name_cause(second, false));
        return;
    }
    find_causes(node->causes, node->share, &first, &second);
    if (first < 0 || (first == ULP_SHARE_INSIDE && second < 0)) /* which says nothing */
        return;
    ulp_text_show(out, ", by %s%s", name_cause(first, false),
                  first == ULP_SHARE_RESULT && node->state
                      ? " in the state that every iteration reads"
                      : "");
    if (first == ULP_SHARE_INPUTS && strcmp(node->op, "MatMulNBits") == 0 &&
        ulp_audit_node_arithmetic(lane, node)->schedule.levels_obeyed)
        ulp_text_add(out, " to INT8, a scale for each block, as accuracy_level=4 has it (1: FP32)");
    const struct ulp_scaling *caches = find_caches(audit, lane, node);
    if (first == ULP_SHARE_INPUTS && caches) {
        const char *keys = caches[0].name, *values = caches[1].name;
        const bool both = keys[0] && values[0] && strcmp(keys, values) != 0;
        ulp_text_show(out, " to caches of %s%s%s", keys[0] ? keys : values, both ? " and " : "",
                      both ? values : "");
    } else if (magnified || (node->condition >= SENSITIVE && isfinite(node->condition)))
        ulp_report_rounded(out, audit, lane, node, first);
    if (second >= 0)
        ulp_text_show(out, " (%.0f %%) and %s (%.0f %%)", 100 * node->causes[first],
                      name_cause(second, false), 100 * node->causes[second]);
}

/* Where no node causes most of it: what all of them have in common. */
static void add_common_cause(struct ulp_text *out, const struct ulp_audit_lane *lane)
{
    double causes[ULP_SHARE_CAUSES] = {0};
    int first, second;
    for (size_t n = 0; n < lane->node_count; n++)
        for (int c = 0; c < ULP_SHARE_CAUSES; c++)
            causes[c] += lane->nodes[n].causes[c];
    if (find_cancelling(causes, 1, &first, &second)) {
        ulp_text_show(out, "; over all nodes the %s and the %s cancel each other",
                      name_cause(first, true), name_cause(second, true));
        return;
    }
    find_causes(causes, 1, &first, &second);
    if (first >= 0 && first != ULP_SHARE_INSIDE && causes[first] >= CAUSE_OF_ALL)
        ulp_text_show(out, "; over all nodes %.0f %% is the %s", 100 * causes[first],
                      name_cause(first, true));
}

/* The node whose share takes most away from the others', where one takes half of what is too much;
 * NULL: many do. */
static const struct ulp_audit_node *find_canceller(const struct ulp_audit_lane *lane, double excess)
{
    const struct ulp_audit_node *least = NULL;
    for (size_t n = 0; n < lane->node_count; n++)
        if (lane->nodes[n].share <= -excess / 2 && (!least || lane->nodes[n].share < least->share))
            least = &lane->nodes[n];
    return least;
}

/* "node 4 fc (Gemm) causes 150 % of the error, of which node 5 b (Mul) cancels a part": of a share
 * that is many times the whole there is no figure. */
static void add_part(struct ulp_text *out, const struct ulp_audit_lane *lane, double part)
{
    const struct ulp_audit_node *canceller = part > 1.005 ? find_canceller(lane, part - 1) : NULL;
    if (canceller)
        ulp_text_show(out, ", of which node %zu %s (%s) cancels %s", canceller->index,
                      canceller->name, canceller->op, part > MANY ? "most" : "a part");
    else if (part > 1.005)
        ulp_text_add(out, ", of which others cancel %s", part > MANY ? "most" : "a part");
}

/* ", by constant v, which reaches 7.2e+07 beyond the largest fp16" */
static bool add_constant(struct ulp_text *out, const struct ulp_audit_lane *lane,
                         const struct ulp_audit_node *node)
{
    const struct ulp_audit_constant *constant = ulp_audit_spoiling(lane, node);
    if (constant)
        ulp_text_show(out, ", by constant %s, which reaches %.3g: %s has no more than %.6g",
                      constant->name, constant->largest, ulp_audit_node_format(lane, node).name,
                      ulp_audit_node_format(lane, node).max_finite);
    return constant != NULL;
}

/* What the shares are of: `what` it is of the output of that name. */
static void add_explained(struct ulp_text *out, const struct ulp_audit_lane *lane,
                          const char *output, const char *what)
{
    const char *explained = lane->attribution.output,
               *other = !explained && lane->outputs.output_count > 1  ? "all outputs"
                        : explained && strcmp(explained, output) != 0 ? explained
                                                                      : NULL;
    if (lane->attribution.of_decisions)
        ulp_text_add(out, "the errors by which outputs follow other decisions");
    else
        ulp_text_show(out, "%s%s", other ? "the error of " : what, other ? other : "");
}

/* "node 4 b (Add) and node 3 a (Add), which cancel each other, together cause 82 % of ...; the
 * first by itself is 508 times it" */
static void add_group(struct ulp_text *out, const struct ulp_audit_lane *lane,
                      const struct group *group, const char *output, const char *what)
{
    const struct ulp_audit_node *first = group->first, *second = group->second;
    ulp_text_show(out, "node %zu %s (%s) and ", first->index, first->name, first->op);
    if (group->count == 2)
        ulp_text_show(out, "node %zu %s (%s)", second->index, second->name, second->op);
    else
        ulp_text_show(out, "%zu others", group->count - 1);
    ulp_text_show(out, ", which cancel each other, together cause %.0f %% of ", 100 * group->joint);
    add_explained(out, lane, output, what);
    ulp_text_add(out, "; the first by itself is %.3g times it", first->share);
}

void ulp_report_cause(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane, const struct ulp_audit_node *cause,
                      const char *output, const char *what)
{
    const struct group group = find_group(lane);
    const double part = ulp_report_part(lane, cause);
    const bool decides = cause->decision > cause->share;
    struct ulp_magnified magnified = {0};
    if (!decides)
        ulp_report_magnifier(audit, lane, cause, &magnified);
    out->failed |= magnified.failed;
    if (magnified.leads) {
        ulp_report_magnified(out, audit, lane, &magnified);
        ulp_text_add(out, ", and %.0f %% of ", 100 * ulp_math_min(magnified.at->passes, 1));
        add_explained(out, lane, output, what);
        ulp_text_add(out, " passes through it; ");
    }
    if (group.count > 1 && group.first == cause && !decides) {
        add_group(out, lane, &group, output, what);
        ulp_report_shows(out, audit, lane, cause);
        return;
    }
    ulp_text_show(out, "node %zu %s (%s) causes ", cause->index, cause->name, cause->op);
    if (part < 0.005)
        ulp_text_add(out, "less than 1 %% of ");
    else if (part <= MANY)
        ulp_text_show(out, "%.0f %% of ", 100 * part);
    else
        ulp_text_add(out, "more than ");
    add_explained(out, lane, output, what);
    if (decides)
        ulp_report_turns(out, audit, cause);
    else if (!add_constant(out, lane, cause))
        add_causes(out, audit, lane, cause, magnified.at != NULL);
    ulp_report_iterations(out, cause);
    add_part(out, lane, part);
    if (magnified.at && !magnified.leads) {
        ulp_text_add(out, magnified.at == cause ? ": " : "; ");
        ulp_report_magnified(out, audit, lane, &magnified);
    }
    if (part <= 1.005 && !decides && part < CAUSE_OF_ALL)
        add_common_cause(out, lane);
    ulp_report_shows(out, audit, lane, cause);
}

const struct ulp_audit_node *ulp_report_find_reader(const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_node *most = NULL, *cause = ulp_report_find_cause(lane);
    for (size_t n = 0; n < lane->node_count && lane->attribution.given; n++)
        if (lane->nodes[n].given >= CAUSE_NAMED && (!most || lane->nodes[n].given > most->given))
            most = &lane->nodes[n];
    return most && !(cause && most->given <= ulp_report_part(lane, cause)) ? most : NULL;
}

/* Those of the model that the node reads. */
static void add_inputs(struct ulp_text *out, const struct ulp_place *place)
{
    enum { NAMED = 4 };
    size_t count = 0;
    for (size_t i = 0; i < place->input_count; i++)
        if (!place->inputs[i].constant && place->inputs[i].node < 0 && count++ < NAMED)
            ulp_text_show(out, "%s%s", count > 1 ? ", " : " ", place->inputs[i].name);
    if (count > NAMED)
        ulp_text_add(out, " and %zu more", count - NAMED);
}

void ulp_report_reads(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane, const struct ulp_audit_node *reader,
                      const char *output)
{
    struct ulp_magnified magnified = {0};
    ulp_text_add(out, "the rounding of input");
    add_inputs(out, &audit->places[reader->index]);
    ulp_text_show(out, " to %s causes %.0f %% of ", lane->arithmetic.storage.name,
                  100 * ulp_math_min(reader->given, 1));
    add_explained(out, lane, output, "the error");
    if (ulp_report_magnifier(audit, lane, reader, &magnified)) {
        ulp_text_add(out, "; ");
        ulp_report_magnified(out, audit, lane, &magnified);
    }
    out->failed |= magnified.failed;
    ulp_report_shows(out, audit, lane, NULL);
}

void ulp_report_source(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane, const struct ulp_audit_output *worst)
{
    double most;
    const char *output = worst ? worst->name : "";
    struct ulp_magnified jump;
    const struct ulp_audit_node *cause = ulp_report_find_cause(lane),
                                *source = find_source(lane, &most),
                                *reader = ulp_report_find_reader(lane);
    if (ulp_report_pair(out, audit, lane))
        return;
    if (reader) {
        ulp_text_add(out, "; ");
        ulp_report_reads(out, audit, lane, reader, output);
    } else if (cause) {
        ulp_text_add(out, "; ");
        ulp_report_cause(out, audit, lane, cause, output, "the error");
    } else if (lane->attribution.given && (cause = find_largest(lane)) &&
               (ulp_report_magnifier(audit, lane, cause, &jump) || jump.failed)) {
        /* half of the error passes there, whatever derivatives miss behind it */
        ulp_text_add(out, "; ");
        ulp_report_cause(out, audit, lane, cause, output, "the error");
    } else if ((cause = ulp_report_jump(audit, lane, &jump))) {
        ulp_text_add(out, "; ");
        ulp_report_jumped(out, audit, lane, cause, &jump);
    } else if (!(worst && ulp_report_change(out, lane, worst, most)) && source)
        ulp_text_show(out, "; node %zu %s (%s) introduces most", source->index, source->name,
                      source->op);
}
