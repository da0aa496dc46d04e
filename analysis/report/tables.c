/* The tables of a text report: figures first and names last, so that names are whole in files and
 * cut at their front on a terminal. */
#include "analysis/report/report_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/metrics.h"
#include "analysis/audit/audit_overflow.h"

/* ---- the graph's outputs ---- */

/* What stands in place of figures; NULL: there are figures. */
static const char *find_remark(const struct ulp_audit_output *output)
{
    if (output->entire.diverged)
        return ulp_is_float_output(output) ? "diverged: follows other indices or decisions"
                                           : "diverged: other values than the reference's";
    if (output->unpaired)
        return "has no value of this name in the reference model";
    if (output->entire.count == 0 && output->entire.nonfinite == 0)
        return "has no finite element to compare";
    return ulp_is_float_output(output) || output->entire.max_abs > 0 ? NULL
                                                                     : "equals the reference";
}

/* Under an output that has diverged: how, and what it is when decisions are the reference's. */
static void add_divergence(const struct ulp_page *page, const struct ulp_audit_output *output)
{
    const struct ulp_divergence *divergence = output->divergence;
    const struct ulp_metrics *followed = &divergence->followed.metrics;
    const struct ulp_matched *matched = &divergence->matched;
    struct ulp_text *out = page->out;
    if (divergence->reshaped)
        ulp_text_add(out, "      its shape differs\n");
    else if (divergence->differing)
        ulp_text_add(out, "      %zu of %zu differ, first at element %zu\n", divergence->differing,
                     divergence->count, divergence->first);
    if (divergence->followed.given && followed->diverged)
        ulp_text_add(out, "      it differs with the reference's decisions, too\n");
    else if (divergence->followed.given && followed->nonfinite)
        ulp_text_add(out, "      with the reference's decisions: %zu values are not finite\n",
                     followed->nonfinite);
    else if (divergence->followed.given && !(followed->rms > 0))
        ulp_text_add(out, "      with the reference's decisions: equal\n");
    else if (divergence->followed.given)
        ulp_text_add(out, "      with the reference's decisions: rms %.2e, max abs %.2e, %.1f dB\n",
                     followed->rms, followed->max_abs, ulp_tenths(followed->sqnr_db));
    if (matched->given && matched->differing && !ulp_type_is_float(output->type))
        ulp_text_add(out, "      as a list: %zu of %zu in another place, %zu others\n",
                     matched->moved, matched->rows, matched->differing);
    else if (matched->given && matched->differing)
        ulp_text_add(out,
                     "      as a list: %zu of %zu rows in another place; rms %.2e, max abs %.2e\n",
                     matched->moved, matched->rows, matched->rms, matched->max_abs);
    else if (matched->given)
        ulp_text_add(out, "      as a list: the same %zu rows, %zu in another place\n",
                     matched->rows, matched->moved);
}

void ulp_page_outputs(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    ulp_text_add(page->out, "  %s%10s %9s %9s %9s %8s %9s  %s%s\n", page->dim, "ref rms", "rms",
                 "max abs", "/ref max", "sqnr dB", "nonfinite", "output", page->off);
    for (size_t o = 0; o < lane->outputs.output_count; o++) {
        const struct ulp_audit_output *output = &lane->outputs.outputs[o];
        const struct ulp_metrics *m = &output->entire;
        const char *remark = find_remark(output);
        ulp_text_add(page->out, "  %s", m->nonfinite || m->diverged ? page->red : "");
        if (remark)
            ulp_text_add(page->out, "%59s  ", remark);
        else
            ulp_text_add(page->out, " %9s %9s %9s %9s %8s %9zu  ",
                         ULP_FIGURE("%.2e", output->range.ref_rms), ULP_FIGURE("%.2e", m->rms),
                         ULP_FIGURE("%.2e", m->max_abs),
                         ULP_FIGURE("%.2e", m->max_abs / output->range.ref_max),
                         ULP_FIGURE("%.1f", m->sqnr_db), m->nonfinite);
        ulp_page_name(page, output->name, 63);
        ulp_text_add(page->out, "%s\n", m->nonfinite || m->diverged ? page->off : "");
        if (m->diverged && output->divergence)
            add_divergence(page, output);
    }
}

/* ---- rankings ---- */

/* A node of a lane and its output that is worst, for ranking. */
struct ranked {
    const struct ulp_audit_node *node;
    const struct ulp_audit_output *output;
    double relative; /* rms of the ranked view over the reference's rms */
    size_t movers;   /* further nodes that only move the value */
};

/* "MatMul", of a node that runs several times for a sample "MatMul x16". */
static const char *fit_op(const struct ulp_audit *audit, const struct ulp_audit_node *node,
                          int width, char *buffer, size_t size)
{
    char count[24] = "";
    size_t samples = audit->sample_count ? audit->sample_count : 1;
    if (node->executions > samples)
        snprintf(count, sizeof count, " x%zu", (node->executions + samples / 2) / samples);
    int room = width - (int)strlen(count);
    ulp_show(buffer, size, node->op, room > 0 ? (size_t)room : 0, 0);
    return strcat(buffer, count);
}

static int by_relative(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->relative != y->relative)
        return x->relative < y->relative ? 1 : -1;
    return x->node->index < y->node->index ? -1 : x->node->index > y->node->index;
}

/* A node is ranked once, by its output that is worst. */
static struct ranked rank_node(const struct ulp_audit_node *node, bool introduced)
{
    struct ranked worst = {.node = node};
    for (size_t o = 0; o < node->output_count; o++) {
        const struct ulp_audit_output *output = &node->outputs[o];
        const struct ulp_metrics *view = introduced ? &output->introduced : &output->carried;
        const double relative =
            ulp_is_float_output(output) ? ulp_relative_rms(view, &output->range) : 0;
        if (relative > worst.relative)
            worst = (struct ranked){node, output, relative, 0};
    }
    return worst;
}

/* The node that computes what a chain of movers hands on. */
static size_t find_root(const struct ulp_audit_lane *lane, size_t node)
{
    while (lane->nodes[node].types.moves && lane->nodes[node].source >= 0 &&
           (size_t)lane->nodes[node].source < node)
        node = (size_t)lane->nodes[node].source;
    return node;
}

/* The nodes that have the view, worst first; movers are counted with the first of their chain that
 * has it. NULL: out of memory. */
static struct ranked *rank_nodes(const struct ulp_audit_lane *lane, bool introduced, size_t *count)
{
    struct ranked *ranking = calloc(lane->node_count + 1, sizeof *ranking);
    struct ranked **chains = calloc(lane->node_count + 1, sizeof *chains); /* by root */
    *count = 0;
    for (size_t n = 0; ranking && chains && n < lane->node_count; n++) {
        const struct ranked ranked = rank_node(&lane->nodes[n], introduced);
        const size_t root = introduced ? n : find_root(lane, n);
        if (!ranked.output || ulp_audit_is_absorbed(lane, &lane->nodes[n]))
            continue;
        if (chains[root]) {
            chains[root]->movers++;
            if (ranked.relative > chains[root]->relative) {
                chains[root]->relative = ranked.relative;
                chains[root]->output = ranked.output;
            }
            continue;
        }
        chains[root] = &ranking[*count];
        ranking[(*count)++] = ranked;
    }
    if (!chains) {
        free(ranking);
        ranking = NULL;
    }
    free(chains);
    if (ranking)
        qsort(ranking, *count, sizeof *ranking, by_relative);
    return ranking;
}

static void add_ranking(const struct ulp_page *page, const struct ulp_audit *audit,
                        const struct ulp_audit_lane *lane, bool introduced)
{
    size_t count;
    struct ranked *ranking = rank_nodes(lane, introduced, &count);
    if (!ranking) {
        page->out->failed = true;
        return;
    }
    ulp_text_add(page->out, "  %s%-14s %9s %9s %9s %7s  %-14s %s%s\n", page->dim,
                 introduced ? "introduce most" : "carry most", "rms / ref", "max abs", "/ref max",
                 introduced ? "" : "grew", "op", "node", page->off);
    for (size_t i = 0; i < count && i < ULP_PAGE_RANKED; i++) {
        const struct ulp_audit_output *output = ranking[i].output;
        const struct ulp_metrics *m = introduced ? &output->introduced : &output->carried;
        char op[ULP_SHOWN_BYTES], grew[16] = "", movers[48] = "";
        if (!introduced && isfinite(ranking[i].node->grew))
            snprintf(grew, sizeof grew, "%.2g", ranking[i].node->grew);
        if (ranking[i].movers)
            snprintf(movers, sizeof movers, " (+%zu that move it)", ranking[i].movers);
        ulp_text_add(page->out, "  %14s %9s %9s %9s %7s  %-14s ", "",
                     ULP_FIGURE("%.2e", ranking[i].relative), ULP_FIGURE("%.2e", m->max_abs),
                     ULP_FIGURE("%.2e", m->max_abs / output->range.ref_max), grew,
                     fit_op(audit, ranking[i].node, 14, op, sizeof op));
        ulp_page_name(page, ranking[i].node->name, 71 + (int)strlen(movers));
        ulp_text_add(page->out, "%s\n", movers);
    }
    if (count == 0)
        ulp_text_add(page->out, "    none%s\n",
                     lane->first_born < 0 && lane->first_decided < 0
                         ? ": every result equals the reference"
                         : " that can be compared");
    free(ranking);
}

void ulp_page_introduced(const struct ulp_page *page, const struct ulp_audit *audit,
                         const struct ulp_audit_lane *lane)
{
    add_ranking(page, audit, lane, true);
}

void ulp_page_carried(const struct ulp_page *page, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane)
{
    add_ranking(page, audit, lane, false);
}
