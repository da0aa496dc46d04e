/* Whether FP64 was enough: each node's own error, and what the errors before it make of its value,
 * beside the errors of the arithmetics. What errors become is taken from how the arithmetics' own
 * are carried on in this audit (carried / entire of the inputs), so it is an estimate: for errors
 * small enough to be linear, that lie to the arithmetics' errors as roundings do. */
#include <math.h>
#include <string.h>

#include "analysis/quick/quick.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "number/function/math.h"

/* A reference's error of this part of an arithmetic's, or of the value's size, is said to be
 * enough; then a figure of an error is off by no more than it. */
#define ENOUGH 0.1

/* What is carried is taken so many times: an estimate from one arithmetic's errors may fall short,
 * most for values of few elements, whose errors happen to be small. */
#define CAUTION 8

static const struct ulp_audit_output *find_output(const struct ulp_audit_node *node,
                                                  const char *name)
{
    for (size_t o = 0; o < node->output_count; o++)
        if (!name ? ulp_type_is_float(node->outputs[o].type)
                  : strcmp(node->outputs[o].name, name) == 0)
            return &node->outputs[o];
    return NULL;
}

/* The largest error of the node's inputs, as a part of the lane's errors there. */
static double find_ratio(const struct ulp_quick *quick, const struct ulp_audit *audit,
                         const struct ulp_audit_lane *lane, size_t n)
{
    const struct ulp_place *place = &audit->places[n];
    double ratio = 0;
    for (size_t i = 0; i < place->input_count; i++) {
        const ptrdiff_t from = place->inputs[i].node;
        if (from < 0 || (size_t)from >= n)
            continue;
        const struct ulp_audit_output *output =
            find_output(&lane->nodes[from], place->inputs[i].name);
        const double error = quick->nodes[from].error;
        if ((output && !ulp_type_is_float(output->type)) || error == 0)
            continue;
        const double own = output ? output->entire.rms : 0;
        ratio = ulp_math_max(ratio, own > 0 ? error / own : INFINITY);
    }
    return ratio;
}

/* Sums, and what moves values: their errors add up at most, whatever the arithmetics' errors do.
 * These may cancel where they are the same error (x + b - b), which the reference's need not. */
static double bound_sum(const struct ulp_quick *quick, const struct ulp_audit *audit, size_t n)
{
    const struct ulp_place *place = &audit->places[n];
    const bool adds = quick->nodes[n].seen == ULP_QUICK_EXACT ||
                      ulp_is_word(audit->lanes[0].nodes[n].op, "Add Sub Sum");
    double sum = 0;
    for (size_t i = 0; i < place->input_count && adds; i++) {
        const ptrdiff_t from = place->inputs[i].node;
        if (from >= 0 && (size_t)from < n && isfinite(quick->nodes[from].error))
            sum += quick->nodes[from].error;
    }
    return sum;
}

/* Do the lane's figures of the output say something? */
static bool is_measured(const struct ulp_audit_output *output)
{
    return output->entire.count && !output->entire.diverged && isfinite(output->entire.rms);
}

/* What is estimated of the reference's value at the node; false: no arithmetic tells. */
static bool estimate(struct ulp_quick *quick, const struct ulp_audit *audit, size_t n)
{
    struct ulp_quick_node *node = &quick->nodes[n];
    bool told = false, any = false;
    double carried = bound_sum(quick, audit, n);
    for (size_t l = 0; l < audit->lane_count; l++) {
        const struct ulp_audit_lane *lane = &audit->lanes[l];
        const struct ulp_audit_output *output = find_output(&lane->nodes[n], NULL);
        const double ratio = find_ratio(quick, audit, lane, n);
        any |= ratio > 0;
        if (!output || !is_measured(output))
            continue;
        told = true;
        if (ratio > 0)
            carried = ulp_math_max(carried, isinf(ratio) ? INFINITY : ratio * output->carried.rms);
    }
    node->error = told ? node->rms + carried : any ? INFINITY : node->rms;
    return told;
}

/* error / least, the worst so far; whether that is too much. */
static bool compare(double error, double least, double *worst)
{
    const double ratio = error == 0 ? 0 : least > 0 ? error / least : INFINITY;
    *worst = ulp_math_max(*worst, ratio);
    return !(ratio <= ENOUGH);
}

/* The largest of the node's ratios. */
static double judge_node(struct ulp_quick *quick, const struct ulp_audit *audit, size_t n)
{
    struct ulp_quick_node *node = &quick->nodes[n];
    const double error =
        isfinite(node->error) ? node->rms + CAUTION * (node->error - node->rms) : INFINITY;
    double worst = 0;
    for (size_t l = 0; l < audit->lane_count; l++) {
        const struct ulp_audit_output *output = find_output(&audit->lanes[l].nodes[n], NULL);
        if (!output || !is_measured(output))
            continue;
        const double introduced = ulp_math_max(output->single.rms, output->introduced.rms);
        node->doubtful |= compare(node->rms, introduced, &worst);
        node->doubtful |= compare(error, output->entire.rms, &worst);
        node->doubtful |= compare(error, output->range.ref_rms, &worst);
    }
    return worst;
}

enum ulp_status ulp_quick_judge(struct ulp_quick *quick, struct ulp_audit *audit,
                                struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_quick_check *check = &audit->quick;
    if (audit->place_count != quick->program->node_count || !audit->lane_count)
        return ulp_fail(error, ULP_ERROR_USAGE, "the audit is of another plan");
    *check = (struct ulp_quick_check){.given = true, .worst_node = -1};
    check->elements = quick->elements;
    for (size_t n = 0; n < audit->place_count; n++) {
        struct ulp_quick_node *node = &quick->nodes[n];
        const bool ran = audit->lanes[0].nodes[n].executions > 0;
        node->doubtful = false;
        if (node->seen == ULP_QUICK_UNSEEN && ran)
            node->rms = INFINITY; /* of bodies: nothing is known */
        const bool told = estimate(quick, audit, n);
        check->exact += node->seen == ULP_QUICK_EXACT;
        check->sampled += node->seen == ULP_QUICK_SAMPLED;
        check->whole += node->seen == ULP_QUICK_WHOLE;
        check->unjudged += ran && node->seen != ULP_QUICK_EXACT && !told;
        const double ratio = judge_node(quick, audit, n);
        if (ratio > check->worst_ratio) {
            check->worst_ratio = ratio;
            check->worst_node = (ptrdiff_t)n;
        }
        check->doubtful += node->doubtful;
    }
    return ULP_OK;
}
