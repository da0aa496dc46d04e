/* What a verdict says of a decision that came out otherwise than the reference's: by how much, from
 * whose error, and what outputs are when it is taken as the reference takes it. */
#include <math.h>
#include <stdlib.h>

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
static void add_followed(struct ulp_text *out, const struct ulp_audit_node *outputs)
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

/* The nodes that its inputs come from, and itself. */
static void mark_before(const struct ulp_audit *audit, size_t node, bool *before)
{
    before[node] = true;
    for (size_t n = node + 1; n-- > 0;)
        for (size_t i = 0; before[n] && n < audit->place_count && i < audit->places[n].input_count;
             i++)
            if (audit->places[n].inputs[i].node >= 0 &&
                audit->places[n].inputs[i].node < (ptrdiff_t)n)
                before[audit->places[n].inputs[i].node] = true;
}

/* ", for its choice is ahead by 0.0106, and the error of that is 0.013; before it node 0 fc (Gemm)
 * introduces most" */
void ulp_report_decided(struct ulp_text *out, const struct ulp_audit *audit,
                        const struct ulp_audit_lane *lane, const struct ulp_audit_node *decided)
{
    const struct ulp_audit_node *source = NULL;
    bool *before = calloc(lane->node_count + 1, sizeof *before);
    double most = 0;
    if (!before) {
        out->failed = true;
        return;
    }
    for (size_t o = 0; o < decided->output_count; o++) {
        const struct ulp_divergence *divergence = decided->outputs[o].divergence;
        if (divergence && isfinite(divergence->margin) && isfinite(divergence->margin_error)) {
            ulp_text_show(out,
                          ", for what the reference decides is ahead by %.3g there, and the "
                          "error of that is %.3g",
                          divergence->margin, divergence->margin_error);
            break;
        }
    }
    mark_before(audit, decided->index, before);
    before[decided->index] = false;
    for (size_t n = 0; n < decided->index; n++) {
        double introduced = 0;
        for (size_t o = 0; o < lane->nodes[n].output_count && before[n]; o++)
            introduced =
                ulp_math_max(introduced, ulp_report_introduced(&lane->nodes[n].outputs[o]));
        if (introduced > most) {
            most = introduced;
            source = &lane->nodes[n];
        }
    }
    if (source)
        ulp_text_show(out, "; before it node %zu %s (%s) introduces most", source->index,
                      source->name, source->op);
    free(before);
    add_followed(out, &lane->outputs);
}
