/* What a verdict says of a decision that came out otherwise than the reference's: where, by how
 * much, and what outputs are when it is taken as the reference takes it. */
#include <math.h>
#include <string.h>

#include "analysis/report/report.h"
#include "number/function/math.h"

double ulp_report_introduced(const struct ulp_audit_output *output)
{
    const double relative = output->introduced.rms / output->range.ref_rms;
    return ulp_type_is_float(output->type) && !output->introduced.diverged && isfinite(relative)
               ? relative
               : 0;
}

/* Of outputs that have diverged the one that is worst with the reference's decisions. */
void ulp_report_followed(struct ulp_text *out, const struct ulp_audit_node *outputs)
{
    const struct ulp_metrics *worst = NULL;
    const char *name = NULL;
    for (size_t o = 0; o < outputs->output_count; o++) {
        const struct ulp_divergence *divergence = outputs->outputs[o].divergence;
        if (!divergence || !divergence->followed.given || divergence->followed.metrics.diverged ||
            (worst && !(divergence->followed.metrics.sqnr_db < worst->sqnr_db)))
            continue;
        worst = &divergence->followed.metrics;
        name = outputs->outputs[o].name;
    }
    if (!worst)
        return;
    if (worst->rms > 0)
        ulp_text_show(out, "; with the reference's decisions %s is at %.1f dB", name,
                      ulp_tenths(worst->sqnr_db));
    else if (worst->count && !worst->nonfinite)
        ulp_text_add(out, "; with the reference's decisions they are equal");
}

/* What it decides, in so many of so many. */
static const char *find_unit(const struct ulp_audit_node *node)
{
    return strcmp(node->op, "TopK") == 0                ? "sets"
           : strcmp(node->op, "QMoE") == 0              ? "sets of experts"
           : strcmp(node->op, "NonMaxSuppression") == 0 ? "boxes"
                                                        : "elements";
}

/* " in 9 of 16 sets: what the reference takes is ahead by 0.0024 there, and the error of that is
 * 0.003" */
void ulp_report_decided(struct ulp_text *out, const struct ulp_audit_node *decided)
{
    const struct ulp_choices *choices = &decided->choices;
    if (choices->differing && strcmp(decided->op, "NonMaxSuppression") == 0)
        ulp_text_add(out, " in %zu boxes, where it has %zu", choices->differing, choices->count);
    else if (choices->differing)
        ulp_text_add(out, " in %zu of %zu %s", choices->differing, choices->count,
                     find_unit(decided));
    else if (choices->count)
        ulp_text_add(out, " in the order alone");
    for (size_t o = 0; o < decided->output_count; o++) {
        const struct ulp_divergence *divergence = decided->outputs[o].divergence;
        if (divergence && isfinite(divergence->margin) && isfinite(divergence->margin_error)) {
            ulp_text_add(out,
                         ": what the reference decides is ahead by %.3g in the first, and the "
                         "error of that is %.3g",
                         divergence->margin, divergence->margin_error);
            return;
        }
    }
}

void ulp_report_turns(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_node *node)
{
    const struct ulp_place *place = &audit->places[node->index];
    const char *constant = NULL;
    for (size_t i = 0; i < place->input_count && node->choices.count; i++)
        if (place->inputs[i].constant)
            constant = place->inputs[i].name;
    ulp_text_add(out, ", by deciding otherwise");
    /* a comparison rounds nothing else */
    if (constant && ulp_is_word(node->op, "Greater Less GreaterOrEqual LessOrEqual Equal"))
        ulp_text_show(out, ", as constant %s that it compares with is rounded", constant);
}

/* From this part of the error on. */
#define SHOWS_NAMED 0.2

static bool quantises(const struct ulp_audit_node *node)
{
    return strstr(node->op, "QuantizeLinear") != NULL;
}

const struct ulp_audit_node *ulp_report_find_shows(const struct ulp_audit_lane *lane,
                                                   const struct ulp_audit_node *cause)
{
    const struct ulp_audit_node *most = NULL;
    for (size_t n = cause ? cause->index + 1 : 0; n < lane->node_count; n++)
        if (lane->nodes[n].shows >= SHOWS_NAMED && !quantises(&lane->nodes[n]) &&
            (!most || lane->nodes[n].shows > most->shows))
            most = &lane->nodes[n];
    return most;
}

/* "; 93 % of it shows in quantised values that come out a step otherwise, most at node 4 q
 * (QuantizeLinear), one of 3 such nodes" */
static void add_steps(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_node *most = NULL;
    double steps = 0;
    size_t count = 0;
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_audit_node *node = &lane->nodes[n];
        if (!quantises(node) || !(node->shows >= ULP_DECISION_SHOWN))
            continue;
        steps += node->shows;
        count++;
        if (!most || node->shows > most->shows)
            most = node;
    }
    if (!(steps >= SHOWS_NAMED))
        return;
    ulp_text_show(
        out,
        "; %.0f %% of the error shows in quantised values that come out a step otherwise, "
        "most at node %zu %s (%s), one of %zu such node%s",
        100 * ulp_math_min(steps, 1), most->index, most->name, most->op, count,
        count == 1 ? "" : "s");
    for (size_t l = 0; l < audit->lane_count; l++) {
        const struct ulp_audit_output *floor = ulp_audit_worst(&audit->lanes[l].outputs);
        if (strcmp(audit->lanes[l].name, "fp32") == 0 && &audit->lanes[l] != lane && floor &&
            isfinite(floor->entire.sqnr_db))
            ulp_text_show(out, " (fp32 has %.1f dB: what is near it is chance)",
                          ulp_tenths(floor->entire.sqnr_db));
    }
}

/* "; it shows at node 81 top (TopK), which decides otherwise than the reference in 9 of 16 sets" */
void ulp_report_shows(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane, const struct ulp_audit_node *cause)
{
    const struct ulp_audit_node *shows = ulp_report_find_shows(lane, cause);
    if (shows) {
        ulp_text_show(out,
                      "; it shows at node %zu %s (%s), which decides otherwise than the reference",
                      shows->index, shows->name, shows->op);
        ulp_report_decided(out, shows);
    } else {
        add_steps(out, audit, lane);
    }
}
