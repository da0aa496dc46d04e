/* The verdict: one or two sentences that say what happened to an arithmetic, and where. */
#include "analysis/audit/audit_keep.h"
#include "analysis/audit/audit_overflow.h"
#include "analysis/audit/auditor.h"
#include "analysis/measure/judge.h"
#include "analysis/measure/judged.h"
#include "analysis/report/report.h"
#include "analysis/writing/columns.h"
#include "number/function/math.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const struct ulp_audit_output *find_diverged(const struct ulp_audit_node *node)
{
    for (size_t o = 0; o < node->output_count; o++)
        if (node->outputs[o].entire.diverged)
            return &node->outputs[o];
    return NULL;
}

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

static double largest_part(const struct ulp_audit_node *node)
{
    return ulp_math_max(node->share, node->decision);
}

/* The node of the largest share in the error of the outputs, or of the largest decision; NULL: they
 * are not known. */
static const struct ulp_audit_node *find_cause(const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_node *cause = NULL;
    if (!lane->attribution.given || !(fabs(lane->attribution.residual) <= RESIDUAL_MAX))
        return NULL;
    for (size_t n = 0; n < lane->node_count; n++)
        if (largest_part(&lane->nodes[n]) > (cause ? largest_part(cause) : 0))
            cause = &lane->nodes[n];
    return cause;
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

/* Parts of a share that are so many times as large as it cancel each other, and are no answer. */
#define MANY 1.5

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

/* ", by the rounding of its weights (51 %) and the rounding of its inputs (48 %)" */
static void add_causes(struct ulp_text *out, const struct ulp_audit_node *node)
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
    ulp_text_show(out, ", by %s", name_cause(first, false));
    if (first == ULP_SHARE_RESULT && second < 0 && node->condition >= SENSITIVE)
        ulp_text_add(out, " (outputs show %.3g times as much)", node->condition);
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

/* "node 4 fc (Gemm) causes 150 % of it, of which node 5 b (Mul) cancels a part": of a share that
 * is many times the whole there is no figure. */
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
                      constant->name, constant->largest,
                      ulp_audit_node_arithmetic(lane, node)->storage.name,
                      ulp_audit_node_arithmetic(lane, node)->storage.max_finite);
    return constant != NULL;
}

/* Does it decide by rounding to steps of a scale? */
static bool quantises(const struct ulp_audit_node *node)
{
    return strstr(node->op, "QuantizeLinear") && node->decision > node->share;
}

/* "; 98 % of it are quantised values that come out a step otherwise, most at node 4 q
 * (QuantizeLinear)": errors below a step, which arrive from everywhere, decide these. */
static void add_steps(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane, const struct ulp_audit_node *most)
{
    double steps = 0;
    size_t count = 0;
    for (size_t n = 0; n < lane->node_count; n++)
        if (quantises(&lane->nodes[n])) {
            steps += lane->nodes[n].decision;
            count++;
        }
    ulp_text_show(out,
                  "; quantised values that come out a step otherwise cause %.0f %% of it, most at "
                  "node %zu %s (%s), one of %zu such nodes",
                  100 * ulp_math_min(steps, 1), most->index, most->name, most->op, count);
    for (size_t l = 0; l < audit->lane_count; l++) {
        const struct ulp_audit_output *floor = ulp_audit_worst(&audit->lanes[l].outputs);
        if (strcmp(audit->lanes[l].name, "fp32") == 0 && &audit->lanes[l] != lane && floor)
            ulp_text_show(out, " (fp32 has %.1f dB: what is near it is chance)",
                          floor->entire.sqnr_db);
    }
}

void ulp_report_cause(struct ulp_text *out, const struct ulp_audit_lane *lane,
                      const struct ulp_audit_node *cause, const char *output, const char *what)
{
    const double part = largest_part(cause);
    const bool decides = cause->decision > cause->share;
    const char *explained = lane->attribution.output;
    const bool other = explained && strcmp(explained, output) != 0;
    ulp_text_show(out, "node %zu %s (%s) causes ", cause->index, cause->name, cause->op);
    if (part <= MANY)
        ulp_text_show(out, "%.0f %% of ", 100 * part);
    else
        ulp_text_add(out, "more than ");
    ulp_text_show(out, "%s%s", other ? "the error of " : what, other ? explained : "");
    if (decides)
        ulp_text_add(out, ", by deciding otherwise");
    else if (!add_constant(out, lane, cause))
        add_causes(out, cause);
    add_part(out, lane, part);
    if (part <= 1.005 && !decides && part < CAUSE_OF_ALL)
        add_common_cause(out, lane);
}

static void add_cause(struct ulp_text *out, const struct ulp_audit_lane *lane,
                      const struct ulp_audit_node *cause, const char *output, const char *what)
{
    ulp_text_add(out, "; ");
    ulp_report_cause(out, lane, cause, output, what);
}

/* Does rounding the model's inputs cause most of it? */
static bool rounds_inputs(const struct ulp_audit_lane *lane, const struct ulp_audit_node *cause)
{
    const double inputs = lane->attribution.inputs;
    return lane->attribution.given && inputs >= CAUSE_OF_ALL &&
           inputs > (cause ? largest_part(cause) : 0);
}

/* The model's input, where nodes read one alone. */
static const char *find_only_input(const struct ulp_audit *audit)
{
    const char *only = NULL;
    for (size_t p = 0; p < audit->place_count; p++)
        for (size_t i = 0; i < audit->places[p].input_count; i++) {
            const struct ulp_link *link = &audit->places[p].inputs[i];
            if (link->constant || link->node >= 0)
                continue;
            if (only && strcmp(only, link->name) != 0)
                return NULL;
            only = link->name;
        }
    return only;
}

static void add_source(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane, const struct ulp_audit_output *worst)
{
    double most;
    const char *only = find_only_input(audit);
    const struct ulp_audit_node *cause = find_cause(lane), *source = find_source(lane, &most);
    if (ulp_report_pair(out, lane))
        return;
    if (rounds_inputs(lane, cause))
        ulp_text_show(out, "; the rounding of %s%s to %s causes %.0f %% of it",
                      only ? "input " : "the model's inputs", only ? only : "",
                      lane->arithmetic.storage.name,
                      100 * ulp_math_min(lane->attribution.inputs, 1));
    else if (cause && quantises(cause))
        add_steps(out, audit, lane, cause);
    else if (cause)
        add_cause(out, lane, cause, worst->name, "it");
    else if (!ulp_report_change(out, lane, worst, most) && source)
        ulp_text_show(out, "; node %zu %s (%s) introduces most", source->index, source->name,
                      source->op);
}

/* "logits is off by 1.2 % of its rms (38.4 dB)" */
static void add_error(struct ulp_text *out, const struct ulp_audit_output *output)
{
    const double relative = output->entire.rms / output->range.ref_rms;
    if (!(output->entire.rms > 0))
        ulp_text_show(out, "%s equals the reference", output->name);
    else if (isfinite(relative))
        ulp_text_show(out, "%s is off by %.2g of its rms (%.1f dB)", output->name, relative,
                      output->entire.sqnr_db);
    else
        ulp_text_show(out, "%s is off by %.2g (rms) where the reference is 0", output->name,
                      output->entire.rms);
}

/* The node whose result, a difference, the node reads; NULL: it reads none. */
static const struct ulp_audit_node *find_difference(const struct ulp_audit_lane *lane,
                                                    ptrdiff_t maker)
{
    const struct ulp_audit_node *node = maker >= 0 ? &lane->nodes[maker] : NULL;
    return node && (strcmp(node->op, "Sub") == 0 || strcmp(node->op, "Add") == 0) && node->grew > 2
               ? node
               : NULL;
}

/* ", whose input v has become 0, as the difference of node 4 variance (Sub) cancels" */
static void add_undefined(struct ulp_text *out, const struct ulp_audit_lane *lane,
                          const struct ulp_audit_node *born)
{
    const struct ulp_audit_node *difference =
        find_difference(lane, born->zeroed ? born->zeroed_by : born->source);
    if (born->zeroed)
        ulp_text_show(out, "whose input %s has become 0", born->zeroed);
    else
        ulp_text_add(out, "whose input has become negative");
    if (difference)
        ulp_text_show(out, ", as the difference of node %zu %s (%s) cancels", difference->index,
                      difference->name, difference->op);
}

/* Of numbers that fit it is not finite by a 0 or, of these, by a negative one. */
static bool is_undefined(const struct ulp_audit_node *born, bool fits)
{
    return born->zeroed ||
           (fits && (strcmp(born->op, "Sqrt") == 0 || strcmp(born->op, "Log") == 0));
}

static void add_overflow(struct ulp_text *out, const struct ulp_audit_lane *lane,
                         const struct ulp_audit_output *worst)
{
    const struct ulp_audit_node *born = &lane->nodes[lane->first_born];
    double most = 0;
    bool fits = true;
    for (size_t o = 0; o < born->output_count; o++) {
        most = ulp_math_max(most, born->outputs[o].range.ref_max);
        fits &= !(born->outputs[o].range.headroom_bits < 0);
    }
    const struct ulp_audit_overflow *overflow = ulp_audit_overflow_root(lane, born->overflow);
    ulp_text_show(out, "%s at node %zu %s (%s), ", fits ? "is not finite" : "overflows",
                  born->index, born->name, born->op);
    if (is_undefined(born, fits))
        add_undefined(out, lane, born);
    else
        ulp_text_show(out, "whose exact values reach %s%s", fits ? "only " : "", ULP_REACH(most));
    if (overflow && overflow->constant >= 0)
        ulp_text_show(out, ", by constant %s", lane->constants[overflow->constant].name);
    ulp_text_add(out, ". ");
    if (worst && worst->entire.nonfinite)
        ulp_text_show(out, "Output %s is not finite", worst->name);
    else if (worst)
        add_error(out, worst);
    else
        ulp_text_add(out, "No output can be compared");
    if (most > FLT_MAX)
        ulp_text_add(out, ". " ULP_BEYOND_FP32);
}

/* ". With 2 nodes in FP32 y is at 44.4 dB; node 52 sum (ReduceSum) causes 48 % of it" */
static void add_fixed(struct ulp_text *out, const struct ulp_audit_lane *lane)
{
    const struct ulp_attribution *attribution = &lane->attribution;
    const struct ulp_audit_node *cause = find_cause(lane);
    if (!attribution->kept_count || !attribution->kept_output)
        return;
    ulp_text_show(out, ". With %zu node%s in FP32 %s ", attribution->kept_count,
                  attribution->kept_count == 1 ? "" : "s", attribution->kept_output);
    if (isinf(attribution->kept_sqnr_db))
        ulp_text_add(out, "equals the reference");
    else
        ulp_text_add(out, "is at %.1f dB", attribution->kept_sqnr_db);
    if (cause)
        add_cause(out, lane, cause, attribution->kept_output, "what is left");
}

/* Do inputs hold what is not finite, and nobody said that this is meant? */
static bool is_unmeant(const struct ulp_audit *audit)
{
    return audit->nonfinite_input_count && !audit->nonfinite_inputs_meant;
}

/* ". Input x has 3 values that are not finite" */
static void add_inputs(struct ulp_text *out, const struct ulp_audit *audit)
{
    const struct ulp_audit_input *first = audit->nonfinite_inputs;
    if (!audit->nonfinite_input_count)
        return;
    ulp_text_show(out, ". Input %s has %zu value%s not finite", first->name, first->count,
                  first->count == 1 ? " that is" : "s that are");
    if (audit->sample_count > 1)
        ulp_text_show(out, " in sample %s", audit->sample_names[first->sample]);
    if (audit->nonfinite_input_count > 1)
        ulp_text_show(out, ", and so have %zu more", audit->nonfinite_input_count - 1);
    if (is_unmeant(audit))
        ulp_text_add(out, " (when that is meant: --allow-nonfinite-inputs)");
}

/* ". Output y has no element to compare in 1 of 3 samples, the first of them es/b.npz" */
static void add_vacant(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_node *outputs)
{
    for (size_t o = 0; o < outputs->output_count; o++) {
        const struct ulp_vacant *vacant = &outputs->outputs[o].vacant;
        if (!vacant->count || audit->sample_count == 1)
            continue;
        ulp_text_show(out, ". Output %s %s in %zu of %zu samples, the first of them %s",
                      outputs->outputs[o].name, ulp_judge_reason(ulp_judge_vacant(vacant)),
                      vacant->count, audit->sample_count, audit->sample_names[vacant->sample]);
        return;
    }
}

/* "fine (classify: 0 of 3 first choices change): ", by the output that is worst by its rules. Where
 * the rule is about decibels alone, which follow, it is not said. more: something follows. */
static void add_grade(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane, bool more)
{
    const struct ulp_audit_output *worst = ulp_audit_judged_worst(lane);
    if (!worst) {
        ulp_text_add(out, "%s", more ? "" : "no output can be compared");
        return;
    }
    const enum ulp_grade grade = ulp_audit_lane_grade(audit, lane);
    if (worst->entire.nonfinite || is_unmeant(audit) ||
        (worst->vacant.count && audit->sample_count > 1)) /* which the rest says */
        ulp_text_add(out, "%s", ulp_grade_name(grade));
    else
        ulp_judged_say(out, grade, &worst->judged,
                       lane->outputs.output_count > 1 || worst->judged.grade == ULP_GRADE_NOT
                           ? worst->name
                           : NULL);
    ulp_text_add(out, "%s", more ? ": " : "");
}

void ulp_report_verdict(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                        struct ulp_text *out)
{
    const struct ulp_audit_output *worst = ulp_audit_worst(&lane->outputs),
                                  *diverged = find_diverged(&lane->outputs);
    const bool decides = diverged && lane->first_decided >= 0;
    add_grade(out, audit, lane, lane->first_born >= 0 || decides || worst);
    if (lane->first_born >= 0) {
        add_overflow(out, lane, worst);
        add_fixed(out, lane);
    } else if (decides) {
        const struct ulp_audit_node *decided = &lane->nodes[lane->first_decided];
        ulp_text_show(out,
                      "diverges from the reference at node %zu %s (%s): output %s "
                      "follows other indices or branches",
                      decided->index, decided->name, decided->op, diverged->name);
        ulp_report_decided(out, audit, lane, decided);
        if (worst) {
            ulp_text_add(out, "; ");
            add_error(out, worst);
        }
    } else if (worst) {
        add_error(out, worst);
        if (worst->entire.rms > 0)
            add_source(out, audit, lane, worst);
    }
    add_vacant(out, audit, &lane->outputs);
    add_inputs(out, audit);
}
