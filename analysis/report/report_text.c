/* summary.txt and the terminal: the verdicts first, then tables, in at most 100 columns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/audit/auditor.h"
#include "analysis/report/report_page.h"
#include "analysis/report/report.h"

#define SAMPLES_SHOWN 4

/* What products compute in beside what their weights are stored in, where these are integers or
 * were asked to be. */
static void add_types(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    size_t products = 0, integer_weights = 0, integer = 0;
    const char *compute = "";
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_node_types *types = &lane->nodes[n].types;
        products += types->product;
        integer += types->product && types->integer;
        integer_weights += types->product && types->weight != ULP_TYPE_UNDEFINED &&
                           !ulp_type_is_float(types->weight);
        if (types->product && !types->integer)
            compute = types->compute;
    }
    if (integer_weights || integer) {
        ulp_text_add(page->out, "  %zu product%s, %zu of integer weights: ", products,
                     products == 1 ? "" : "s", integer_weights);
        if (integer)
            ulp_text_add(page->out, "%zu computed in int8 with INT32 sums%s", integer,
                         products > integer ? ", " : "");
        if (products > integer)
            ulp_text_add(page->out, "%zu computed in %s", products - integer, compute);
        ulp_text_add(page->out, "\n");
    }
    if (lane->arithmetic.schedule.qdq_integer && !integer)
        ulp_text_add(page->out,
                     "  qdq=integer: nothing to fuse, no product has DequantizeLinear on both "
                     "factors\n");
}

static void add_qdq_divergence(const struct ulp_page *page, const struct ulp_audit *audit,
                               const struct ulp_audit_lane *lane)
{
    const struct ulp_qdq_divergence *divergence = &lane->qdq_divergence;
    if (divergence->other < 0)
        return;
    const char *other = audit->lanes[divergence->other].name;
    char name[ULP_SHOWN_BYTES];
    if (divergence->first < 0) {
        ulp_text_add(page->out, "  equals %s in every bit\n", other);
        return;
    }
    ulp_text_add(page->out, "  differs from %s first at node %td %s (%s)\n", other,
                 divergence->first,
                 ulp_show(name, sizeof name, lane->nodes[divergence->first].name, 60, 0),
                 lane->nodes[divergence->first].op);
    if (divergence->first_step >= 0)
        ulp_text_add(page->out,
                     "    first by a whole quantisation step at node %td %s (%s); %zu of %zu "
                     "integers differ\n",
                     divergence->first_step,
                     ulp_show(name, sizeof name, lane->nodes[divergence->first_step].name, 60, 0),
                     lane->nodes[divergence->first_step].op, divergence->steps, divergence->count);
    else if (divergence->count)
        ulp_text_add(page->out, "    only by rounding: all %zu integers are equal\n",
                     divergence->count);
}

/* Text under a title, broken at the width. */
static void add_wrapped(const struct ulp_page *page, const char *title, const char *text)
{
    const size_t indent = ulp_page_columns(title, strlen(title));
    struct ulp_text shown = {0};
    ulp_text_show(&shown, "%s", text);
    ulp_text_add(page->out, "%s", title);
    ulp_page_broken(page, &shown, indent, indent);
}

/* The conclusion about one arithmetic, before any table. */
static void add_verdict(const struct ulp_page *page, const struct ulp_audit *audit,
                        const struct ulp_audit_lane *lane)
{
    struct ulp_headline verdict = {0};
    const enum ulp_grade grade = ulp_audit_lane_grade(audit, lane);
    ulp_report_headline(audit, lane, &verdict);
    ulp_page_headline(page,
                      grade == ULP_GRADE_FINE     ? ""
                      : grade == ULP_GRADE_BROKEN ? page->red
                                                  : page->yellow,
                      &verdict);
    ulp_headline_free(page, &verdict);
}

/* What lessens the error also where nothing need be done. */
static void add_try(const struct ulp_page *page, const struct ulp_audit *audit,
                    const struct ulp_audit_lane *lane)
{
    struct ulp_headline verdict = {0};
    ULP_SCOPED(ulp_text_free) struct ulp_text hint = {0};
    ulp_report_headline(audit, lane, &verdict);
    ulp_report_todo(audit, lane, &hint);
    if (hint.length && verdict.todo.data && strcmp(verdict.todo.data, hint.data) != 0)
        ulp_text_add(page->out, "  Try %s\n", hint.data); /* on one line, to be copied */
    page->out->failed |= hint.failed;
    ulp_headline_free(page, &verdict);
}

/* What written-attention=kernel found. */
static void add_attention(const struct ulp_page *page, const struct ulp_audit *audit,
                          const struct ulp_audit_lane *lane)
{
    char name[ULP_SHOWN_BYTES];
    const size_t joined = audit->attentions_joined, apart = audit->attentions_apart;
    if (!lane->arithmetic.attention_joined)
        return;
    if (joined)
        ulp_text_add(page->out, "  %zu attention%s that the graph writes out: one kernel each\n",
                     joined, joined == 1 ? "" : "s");
    if (apart)
        ulp_text_add(page->out, "  %zu %s node by node: of %s, %s\n", apart,
                     joined       ? apart == 1 ? "more is" : "more are"
                     : apart == 1 ? "attention that the graph writes out is"
                                  : "attentions that the graph writes out are",
                     ulp_show(name, sizeof name, audit->attention_apart, 60, 0),
                     audit->attention_why);
    if (!joined && !apart)
        ulp_text_add(page->out, "  written-attention=kernel: the graph writes no attention out\n");
}

static void add_lane(const struct ulp_page *page, const struct ulp_audit *audit,
                     const struct ulp_audit_lane *lane)
{
    ulp_text_add(page->out, "\n%s", page->bold);
    ulp_page_name(page, lane->name, 0);
    ulp_text_add(page->out, "%s\n", page->off);
    if (strcmp(lane->arithmetic.asked, lane->arithmetic.name) != 0)
        ulp_text_add(page->out, "  %s\n", lane->arithmetic.name);
    add_try(page, audit, lane);
    ulp_page_kept(page, lane);
    ulp_page_kernels(page, lane);
    ulp_page_shares(page, lane);
    ulp_page_pairs(page, lane);
    ulp_page_stored(page, audit, lane);
    ulp_page_scaled(page, audit, lane);
    ulp_page_outputs(page, lane);
    add_types(page, lane);
    add_attention(page, audit, lane);
    add_qdq_divergence(page, audit, lane);
    ulp_page_overflow(page, lane);
    ulp_page_introduced(page, audit, lane);
    ulp_page_carried(page, audit, lane);
}

static void add_reference(const struct ulp_page *page, const struct ulp_audit *audit)
{
    const struct ulp_audit_cost *cost = audit->cost_count ? &audit->costs[0] : NULL;
    const bool pairs = strcmp(audit->reference, "pair") == 0;
    char name[ULP_SHOWN_BYTES];
    ulp_text_add(page->out, "reference %s: ", audit->reference);
    if (pairs && cost && cost->by_pairs + cost->by_mpfr)
        ulp_text_add(page->out, "mpfr, by pairs (106 bits); %zu of %zu values by MPFR;\n  ",
                     cost->by_mpfr, cost->by_pairs + cost->by_mpfr);
    ulp_text_add(page->out, "every operation of every node, from the model's exact constants");
    if (audit->certificate.given)
        ulp_text_add(page->out,
                     ";\n  against %s it is good for %.1f digits on the outputs, "
                     "%.1f at the worst node%s%s\n",
                     pairs ? "192 bits" : "twice the precision", audit->certificate.output_digits,
                     audit->certificate.node_digits, audit->certificate.node ? "\n  " : "",
                     audit->certificate.node
                         ? ulp_show(name, sizeof name, audit->certificate.node, 80, 0)
                         : "");
    else if (!pairs && strncmp(audit->reference, "mpfr:", 5) != 0)
        ulp_text_add(page->out, ";\n  its own rounding is part of every figure\n");
    else
        ulp_text_add(page->out, ";\n  its own error is not certified: --certify recomputes it %s\n",
                     pairs ? "at 192 bits" : "at twice the precision");
}

/* Which model the truth is of, and what it does not tell. */
static void add_reference_model(const struct ulp_page *page, const struct ulp_audit *audit)
{
    const struct ulp_audit_lane *lane = &audit->lanes[0];
    char name[ULP_SHOWN_BYTES];
    if (!audit->reference_model)
        return;
    ulp_text_add(
        page->out,
        "reference model %s: %zu of %zu node outputs have a value of the same name there\n",
        ulp_show(name, sizeof name, audit->reference_model, 60, 0), audit->paired_count,
        audit->paired_count + audit->unpaired_count);
    size_t shown = 0;
    for (size_t n = 0; n < lane->node_count && shown < ULP_PAGE_RANKED; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count && shown < ULP_PAGE_RANKED; o++)
            if (lane->nodes[n].outputs[o].unpaired)
                ulp_text_add(page->out, "%s%s",
                             shown++ ? ", " : "  without one (entire and carried unknown): ",
                             ulp_show(name, sizeof name, lane->nodes[n].outputs[o].name, 30, 0));
    if (shown)
        ulp_text_add(page->out, "%s\n", audit->unpaired_count > shown ? ", ..." : "");
}

static int by_width(const void *a, const void *b)
{
    const struct ulp_spread *x = *(const struct ulp_spread *const *)a,
                            *y = *(const struct ulp_spread *const *)b;
    double p = x->ref_rms > 0 ? x->width_rms / x->ref_rms : 0,
           q = y->ref_rms > 0 ? y->width_rms / y->ref_rms : 0;
    if (p != q)
        return p < q ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* A figure over the reference's; "-" where there is no such number. */
static void add_relative(const struct ulp_page *page, double rms, double reference)
{
    if (isfinite(rms / reference))
        ulp_text_add(page->out, " %9.2e", rms / reference);
    else
        ulp_text_add(page->out, " %9s", "-");
}

/* Which contractions depend most on the schedule, and whether that is much beside their own
 * error. */
static void add_spreads(const struct ulp_page *page, const struct ulp_spreads *spreads)
{
    const struct ulp_spread **order = calloc(spreads->count + 1, sizeof *order);
    size_t dependent = 0;
    if (!order) {
        page->out->failed = true;
        return;
    }
    for (size_t i = 0; i < spreads->count; i++) {
        order[i] = &spreads->items[i];
        dependent += spreads->items[i].differing > 0;
    }
    qsort(order, spreads->count, sizeof *order, by_width);
    ulp_text_add(
        page->out,
        "\n%sschedules of %s%s: %zu of %zu contractions depend on which of %zu a library picks\n",
        page->bold, spreads->base, page->off, dependent, spreads->count, spreads->schedule_count);
    for (size_t s = 1; s < spreads->schedule_count; s++)
        ulp_text_add(page->out, "%s%s", "  ", spreads->schedules[s]);
    ulp_text_add(page->out, "\n  %s%-50s %9s %9s %9s %8s %7s%s\n", page->dim,
                 "most dependent (rms relative to the reference's)", "width", "error", "other GPU",
                 "max ulp", "differ", page->off);
    for (size_t i = 0; i < spreads->count && i < ULP_PAGE_RANKED; i++) {
        char name[ULP_SHOWN_BYTES];
        const struct ulp_spread *spread = order[i];
        ulp_text_add(page->out, "    %s %-7.7s",
                     ulp_show(name, sizeof name, spread->name, ULP_PAGE_NAME, ULP_PAGE_NAME),
                     spread->op);
        add_relative(page, spread->width_rms, spread->ref_rms);
        add_relative(page, spread->error_rms, spread->ref_rms);
        add_relative(page, spreads->other_gpu < 0 ? NAN : spread->gpu_rms, spread->ref_rms);
        if (isfinite(spread->differing))
            ulp_text_add(page->out, " %8.3g %6.1f%%\n", spread->width_max_ulp,
                         100 * spread->differing);
        else
            ulp_text_add(page->out, " %8s %7s\n", "-", "-");
    }
    free(order);
}

static void add_nonfinite_inputs(const struct ulp_page *page, const struct ulp_audit *audit)
{
    if (!audit->nonfinite_input_count)
        return;
    const struct ulp_audit_input *first = &audit->nonfinite_inputs[0];
    ulp_text_add(page->out, "  %sNaN or infinity in input ", page->yellow);
    ulp_page_name(page, first->name, 60);
    ulp_text_add(page->out, " of sample %zu%s", first->sample, page->off);
    if (audit->nonfinite_input_count > 1)
        ulp_text_add(page->out, " and %zu more", audit->nonfinite_input_count - 1);
    ulp_text_add(page->out, "\n");
}

enum ulp_status ulp_report_add_text(const struct ulp_audit *audit, int width, bool colour,
                                    struct ulp_text *out, struct ulp_error *error)
{
    (void)error;
    const struct ulp_page sheet = ulp_page_make(out, width, colour), *page = &sheet;
    size_t nodes = audit->lane_count ? audit->lanes[0].node_count : 0, idle = 0;
    for (size_t n = 0; n < nodes; n++)
        idle += audit->lanes[0].nodes[n].executions == 0;
    for (size_t l = 0; l < audit->lane_count; l++)
        add_verdict(page, audit, &audit->lanes[l]);
    ulp_text_add(out, "\n%s", page->bold);
    ulp_page_name(page, audit->model_path, 40);
    ulp_text_add(out, "%s  opset %lld, %zu node%s, %zu sample%s\n", page->off,
                 (long long)audit->opset, nodes, nodes == 1 ? "" : "s", audit->sample_count,
                 audit->sample_count == 1 ? "" : "s (the worst is shown)");
    if (idle)
        ulp_text_add(
            out,
            "  %zu node%s in branches or loops that no sample enters: nothing is known of them\n",
            idle, idle == 1 ? " is" : "s are");
    for (size_t s = 0; s < audit->sample_count && s < SAMPLES_SHOWN; s++)
        add_wrapped(page, "  sample  ", audit->sample_names[s]);
    if (audit->sample_count > SAMPLES_SHOWN)
        ulp_text_add(out, "  and %zu more\n", audit->sample_count - SAMPLES_SHOWN);
    add_nonfinite_inputs(page, audit);
    add_reference(page, audit);
    add_reference_model(page, audit);
    for (size_t l = 0; l < audit->lane_count; l++)
        add_lane(page, audit, &audit->lanes[l]);
    for (size_t i = 0; i < audit->spread_count; i++)
        add_spreads(page, &audit->spreads[i]);
    ulp_text_add(
        out,
        "\n%sintroduced: what the node's own arithmetic adds to the exact result of its inputs\n"
        "carried: what exact arithmetic makes of the errors of its inputs; introduced + carried = "
        "entire\n"
        "diverged: an index, a decision, a branch or a shape differs from the reference's, here or "
        "earlier\n"
        "grew: the node's relative error divided by the largest of its inputs'%s\n",
        page->dim, page->off);
    return ULP_OK;
}
