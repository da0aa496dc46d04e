/* The first table of a text report: what causes the error of the outputs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/report.h"
#include "analysis/report/report_page.h"
#include "number/function/math.h"

#define SHARES_SHOWN 10
#define CHOICES_SHOWN 40 /* a model has so many layers */

/* In tenths of a percent, and without a sign where that is nothing. */
static double percent(double part)
{
    return fabs(part) < 0.0005 ? 0 : 100 * part;
}

/* "-" where a derivative that is infinite leaves none. For one use in its block. */
#define PERCENT(part) ULP_FIGURE("%.1f%%", percent(part))

static int by_share(const void *a, const void *b)
{
    const struct ulp_audit_node *x = *(const struct ulp_audit_node *const *)a,
                                *y = *(const struct ulp_audit_node *const *)b;
    const double a_size = ulp_math_max(fabs(x->share), fabs(x->decision)),
                 b_size = ulp_math_max(fabs(y->share), fabs(y->decision));
    if (a_size != b_size)
        return a_size < b_size ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Which of the columns that are not always there the table has. */
struct columns {
    bool several, decided;
};

/* The largest of its causes. */
static const char *find_cause(const struct ulp_audit_node *node)
{
    int largest = 0;
    for (int c = 1; c < ULP_SHARE_CAUSES; c++)
        if (fabs(node->causes[c]) > fabs(node->causes[largest]))
            largest = c;
    return node->share != 0 ? ulp_share_cause_name((enum ulp_share_cause)largest, NULL, NULL) : "";
}

static void add_node(const struct ulp_page *page, const struct ulp_audit_node *node,
                     struct columns columns)
{
    char worst[24] = "", decision[24] = "";
    if (columns.several)
        snprintf(worst, sizeof worst, " %8s", PERCENT(node->share_worst));
    if (columns.decided)
        snprintf(decision, sizeof decision, " %9s", PERCENT(node->decision));
    ulp_text_add(page->out, "  %10s%s %8s%s %10.3g  %-7s %-14.14s ", PERCENT(node->share), decision,
                 PERCENT(node->gain), worst, node->condition, find_cause(node), node->op);
    ulp_page_name(page, node->name, 56 + (columns.several ? 9 : 0) + (columns.decided ? 10 : 0));
    ulp_text_add(page->out, "\n");
}

static void add_stops(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    size_t count = 0;
    for (size_t n = 0; n < lane->node_count; n++)
        if (lane->nodes[n].stops && count++ < ULP_PAGE_RANKED) {
            ulp_text_add(page->out, "  %sno share passes node %zu ", page->yellow, n);
            ulp_page_name(page, lane->nodes[n].name, 50);
            ulp_text_add(page->out, " (%s): its derivative stops%s\n", lane->nodes[n].op,
                         page->off);
        }
    if (count > ULP_PAGE_RANKED)
        ulp_text_add(page->out, "    nor %zu more\n", count - ULP_PAGE_RANKED);
}

/* What sets of TopK and QMoE are, layer by layer, and where the error shows first. */
static void add_choices(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    size_t count = 0;
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_audit_node *node = &lane->nodes[n];
        const struct ulp_choices *choices = &node->choices;
        char near[24] = "-";
        if ((!choices->differing && !(fabs(node->shows) >= ULP_DECISION_SHOWN)) ||
            count++ >= CHOICES_SHOWN)
            continue;
        if (count == 1)
            ulp_text_add(page->out,
                         "  %swhat comes out otherwise: sets, boxes, elements; near: sets whose "
                         "margin in the reference is below the rms of its error%s\n"
                         "  %s%10s %9s %9s %9s  %-14s %s%s\n",
                         page->bold, page->off, page->dim, "shows", "others", "near", "of", "op",
                         "node", page->off);
        if (ulp_is_word(node->op, "TopK QMoE ArgMax ArgMin"))
            snprintf(near, sizeof near, "%zu", choices->near);
        ulp_text_add(page->out, "  %10s %9zu %9s %9zu  %-14.14s ", PERCENT(node->shows),
                     choices->differing, near, choices->count, node->op);
        ulp_page_name(page, node->name, 58);
        ulp_text_add(page->out, "\n");
    }
    if (count > CHOICES_SHOWN)
        ulp_text_add(page->out, "    %zu more nodes in report.json\n", count - CHOICES_SHOWN);
}

static void add_groups(const struct ulp_page *page, const struct ulp_attribution *attribution)
{
    for (size_t i = 0; i < attribution->group_count && i < SHARES_SHOWN; i++) {
        const struct ulp_share_group *group = &attribution->groups[i];
        if (i == 0)
            ulp_text_add(page->out, "  %s%10s %7s  %s%s\n", page->dim, "share", "nodes", "group",
                         page->off);
        ulp_text_add(page->out, "  %10s %7zu  ", PERCENT(group->share), group->node_count);
        ulp_page_name(page, group->name, 24);
        ulp_text_add(page->out, "\n");
    }
}

/* From here on the report says where the rest of the sum is. */
#define MISSING_FROM 0.02
#define MISSING_SHOWN 3

static int by_missing(const void *a, const void *b)
{
    const struct ulp_audit_node *x = *(const struct ulp_audit_node *const *)a,
                                *y = *(const struct ulp_audit_node *const *)b;
    if (fabs(x->missing) != fabs(y->missing))
        return fabs(x->missing) < fabs(y->missing) ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Why the sum is not whole: `order` has room for all nodes. */
static void add_missing(const struct ulp_page *page, const struct ulp_audit_lane *lane,
                        const struct ulp_audit_node **order)
{
    const struct ulp_audit_node *decides =
        lane->first_decided >= 0 ? &lane->nodes[lane->first_decided] : NULL;
    for (size_t n = 0; n < lane->node_count; n++)
        order[n] = &lane->nodes[n];
    qsort(order, lane->node_count, sizeof *order, by_missing);
    ulp_text_add(page->out,
                 "  %9.1f%%  missing: errors that arrive here are too large for derivatives\n",
                 100 * lane->attribution.residual);
    for (size_t n = 0; n < lane->node_count && n < MISSING_SHOWN; n++) {
        ulp_text_add(page->out, "  %10s    at node %zu ", PERCENT(order[n]->missing),
                     order[n]->index);
        ulp_page_name(page, order[n]->name, 44);
        ulp_text_add(page->out, " (%s)\n", order[n]->op);
    }
    if (!decides)
        return;
    ulp_text_add(page->out, "             since node %zu ", decides->index);
    ulp_page_name(page, decides->name, 60);
    ulp_text_add(page->out, " (%s)\n             decides otherwise: shares above are of the rest\n",
                 decides->op);
}

/* How many of the shares from here on were right, so nearly. */
#define VERIFIED_FROM 0.01
#define VERIFIED_WITHIN 0.1

static void count_verified(const struct ulp_page *page, const struct ulp_attribution *attribution)
{
    size_t count = 0, right = 0;
    for (size_t i = 0; i < attribution->verified_count; i++) {
        const struct ulp_verified *verified = &attribution->verified[i];
        if (!(fabs(verified->share) >= VERIFIED_FROM))
            continue;
        count++;
        right += fabs(verified->held - verified->share) <= VERIFIED_WITHIN * fabs(verified->share);
    }
    ulp_text_add(page->out,
                 "  held is within 10 %% of share for %zu of the %zu verified nodes above 1 %%\n",
                 right, count);
}

static void add_verified(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    const struct ulp_attribution *attribution = &lane->attribution;
    if (attribution->verified_count)
        ulp_text_add(page->out, "  %s%10s %9s %9s %9s  %s%s\n", page->dim, "share", "held", "gain",
                     "kept", "verified: without this node's error alone", page->off);
    if (attribution->verified_count && attribution->verified_output) {
        ulp_text_add(page->out, "    of ");
        ulp_page_name(page, attribution->verified_output, 8);
        ulp_text_add(page->out, "\n");
    }
    for (size_t i = 0; i < attribution->verified_count; i++) {
        const struct ulp_verified *verified = &attribution->verified[i];
        ulp_text_add(page->out, "  %10s %9s %9s %9s  ", ULP_FIGURE("%.2f%%", 100 * verified->share),
                     ULP_FIGURE("%.2f%%", 100 * verified->held),
                     ULP_FIGURE("%.2f%%", 100 * verified->gain),
                     ULP_FIGURE("%.2f%%", 100 * verified->kept));
        ulp_page_name(page, lane->nodes[verified->node].name, 44);
        ulp_text_add(page->out, "\n");
    }
    if (attribution->verified_count)
        count_verified(page, attribution);
}

/* Of each other output of several: the nodes of the largest shares. */
#define OF_OUTPUT_SHOWN 3
#define OUTPUTS_SHOWN 10

static void add_output(const struct ulp_page *page, const struct ulp_audit_lane *lane,
                       const struct ulp_output_shares *shares)
{
    size_t taken[OF_OUTPUT_SHOWN];
    ulp_text_add(page->out, "    %s", page->dim);
    ulp_page_name(page, shares->output, 6);
    ulp_text_add(page->out, "%s\n", page->off);
    for (size_t i = 0; i < OF_OUTPUT_SHOWN; i++) {
        size_t best = lane->node_count;
        for (size_t n = 0; n < lane->node_count; n++) {
            bool before = false;
            for (size_t k = 0; k < i; k++)
                before |= taken[k] == n;
            if (!before && shares->nodes[n].share > 0 &&
                (best == lane->node_count || shares->nodes[n].share > shares->nodes[best].share))
                best = n;
        }
        if (best == lane->node_count)
            return;
        taken[i] = best;
        ulp_text_add(page->out, "  %10s  node %zu ", PERCENT(shares->nodes[best].share), best);
        ulp_page_name(page, lane->nodes[best].name, 44);
        ulp_text_add(page->out, " (%s)\n", lane->nodes[best].op);
    }
}

/* Has the output an error that shares could explain? */
static bool errs(const struct ulp_audit_lane *lane, const char *output)
{
    for (size_t o = 0; o < lane->outputs.output_count; o++) {
        const struct ulp_metrics *entire = &lane->outputs.outputs[o].entire;
        if (strcmp(lane->outputs.outputs[o].name, output) == 0)
            return entire->rms > 0 && !entire->nonfinite && !entire->diverged;
    }
    return false;
}

static void add_outputs(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    const struct ulp_attribution *attribution = &lane->attribution;
    size_t listed = 0, left = 0;
    for (size_t o = 0; o < attribution->output_count; o++) {
        const struct ulp_output_shares *shares = &attribution->outputs[o];
        left += !shares->sample_count && errs(lane, shares->output);
        if (!shares->sample_count || strcmp(shares->output, attribution->output) == 0)
            continue;
        if (!listed++)
            ulp_text_add(page->out, "  %swhat causes the error of the other outputs%s\n",
                         page->bold, page->off);
        if (listed <= OUTPUTS_SHOWN)
            add_output(page, lane, shares);
    }
    if (listed > OUTPUTS_SHOWN)
        ulp_text_add(page->out, "    %zu more outputs in report.json\n", listed - OUTPUTS_SHOWN);
    if (left)
        ulp_text_add(page->out,
                     "    %zu output%s less than half of its relative error: --attribute explains "
                     "%s, too\n",
                     left, left == 1 ? " has" : "s have", left == 1 ? "it" : "them");
}

void ulp_page_shares(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    const struct ulp_attribution *attribution = &lane->attribution;
    if (!attribution->given) {
        if (attribution->reason)
            ulp_text_add(page->out, "  no shares of the error: %s\n", attribution->reason);
        return;
    }
    const struct ulp_audit_node **order = calloc(lane->node_count + 1, sizeof *order);
    if (!order) {
        page->out->failed = true;
        return;
    }
    size_t count = 0;
    for (size_t n = 0; n < lane->node_count; n++)
        if (lane->nodes[n].share != 0 || lane->nodes[n].decision != 0)
            order[count++] = &lane->nodes[n];
    qsort(order, count, sizeof *order, by_share);
    struct columns columns = {.several = attribution->sample_count > 1};
    for (size_t i = 0; i < count; i++)
        columns.decided |= fabs(order[i]->decision) >= ULP_DECISION_SHOWN;
    ulp_text_add(page->out, "  %swhat causes the error of ", page->bold);
    if (attribution->output)
        ulp_page_name(page, attribution->output, 40);
    else
        ulp_text_add(page->out, "the outputs");
    ulp_text_add(page->out, "%s%s", page->off, columns.several ? ", means over the samples" : "");
    if (attribution->kept_count)
        ulp_text_add(page->out, ", with the %zu node%s of Try in FP32", attribution->kept_count,
                     attribution->kept_count == 1 ? "" : "s");
    ulp_text_add(page->out, "\n");
    ulp_text_add(page->out, "  %s%10s%s %8s%s %10s  %-7s %-14s %s%s\n", page->dim, "share",
                 columns.decided ? "  decision" : "", "gain", columns.several ? "    worst" : "",
                 "condition", "mostly", "op", "node", page->off);
    for (size_t i = 0; i < count && i < SHARES_SHOWN; i++)
        add_node(page, order[i], columns);
    double rest = 0;
    for (size_t i = SHARES_SHOWN; i < count; i++)
        rest += order[i]->share + order[i]->decision;
    if (count > SHARES_SHOWN)
        ulp_text_add(page->out, "  %10s  %zu more node%s\n", PERCENT(rest), count - SHARES_SHOWN,
                     count - SHARES_SHOWN == 1 ? "" : "s");
    size_t cancelling;
    const double joint = ulp_report_joint(lane, &cancelling);
    if (cancelling > 1)
        ulp_text_add(page->out, "  %10s  of these the %zu that cancel each other, together\n",
                     PERCENT(joint), cancelling);
    ulp_text_add(page->out, "  %10s  rounding the inputs\n  %10s  sum%s\n",
                 PERCENT(attribution->inputs), ULP_FIGURE("%.1f%%", 100 * attribution->sum),
                 columns.decided ? " with decisions" : "");
    if (fabs(attribution->residual) >= MISSING_FROM)
        add_missing(page, lane, order);
    add_choices(page, lane);
    add_groups(page, attribution);
    add_verified(page, lane);
    add_stops(page, lane);
    add_outputs(page, lane);
    free(order);
}

#define PAIRS_SHOWN 10

/* Which pair of a quantised model costs what, beside the original. */
void ulp_page_pairs(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    if (!lane->qdq_pair_count)
        return;
    ulp_text_add(page->out,
                 "  %sQ/DQ: what the worst output of the first sample gains when the floats pass "
                 "by a pair%s\n"
                 "  %s%10s %9s %9s %9s %9s  %s%s\n",
                 page->bold, page->off, page->dim, "gains dB", "channels", "clipped", "of", "steps",
                 "read as", page->off);
    for (size_t p = 0; p < lane->qdq_pair_count && p < PAIRS_SHOWN; p++) {
        const struct ulp_qdq_pair *pair = &lane->qdq_pairs[p];
        ulp_text_add(page->out, "  %10s %9s %9zu %9zu %9s  ", ULP_FIGURE("%.1f", pair->gained_db),
                     ULP_FIGURE("%.1f", pair->channels_db), pair->clipped, pair->elements,
                     ULP_FIGURE("%.2f", pair->step_rms));
        ulp_page_name(page, pair->value, 44);
        ulp_text_add(page->out, pair->quantizer < 0 ? " (weights)\n" : "\n");
    }
    if (lane->qdq_pair_count > PAIRS_SHOWN)
        ulp_text_add(page->out, "    %zu more pairs in report.json\n",
                     lane->qdq_pair_count - PAIRS_SHOWN);
}

/* Which weights have other scales than their blocks ask for. */
void ulp_page_stored(const struct ulp_page *page, const struct ulp_audit *audit,
                     const struct ulp_audit_lane *lane)
{
    if (!audit->stored_fault_count)
        return;
    ulp_text_add(
        page->out,
        "  %sweights whose stored scales are not what their blocks ask for: scales twice "
        "too large,\n  and the axes of blocks and of sums%s\n  %s%10s %9s %9s %9s %9s  %s%s\n",
        page->bold, page->off, page->dim, "gains dB", "too large", "of", "blocks on", "sums on",
        "read as", page->off);
    for (size_t f = 0; f < audit->stored_fault_count && f < PAIRS_SHOWN; f++) {
        const struct ulp_stored_fault *fault = &audit->stored_faults[f];
        char summed[24] = "same";
        if (fault->summed >= 0)
            snprintf(summed, sizeof summed, "%td", fault->summed);
        ulp_text_add(page->out, "  %10s %9zu %9zu %9td %9s  ",
                     ULP_FIGURE("%.2f", ulp_report_stored_gain(lane, fault)), fault->loose,
                     fault->blocks, fault->axis, summed);
        ulp_page_name(page, fault->value, 44);
        ulp_text_add(page->out, "\n");
    }
    if (audit->stored_fault_count > PAIRS_SHOWN)
        ulp_text_add(page->out, "    %zu more in report.json\n",
                     audit->stored_fault_count - PAIRS_SHOWN);
}
