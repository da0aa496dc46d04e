/* summary.txt and the terminal: what a reader must know first, in at most 100 columns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report_internal.h"
#include "tensor/tensor.h"

#define WIDTH 100
#define RANKED 5
#define SAMPLES_SHOWN 4
#define NAME_WIDTH 40
#define SHOWN_BYTES (4 * WIDTH + 1) /* of a line: four bytes of UTF-8 a column */

struct style {
    const char *bold, *red, *yellow, *dim, *off;
};
static const struct style plain_style = {"", "", "", "", ""};
static const struct style colour_style = {"\033[1m", "\033[31m", "\033[33m", "\033[2m", "\033[0m"};

/* A node of a lane and its output that is worst, for ranking. */
struct ranked {
    const struct ulp_audit_node *node;
    const struct ulp_audit_output *output;
    double relative; /* rms of the ranked view over the reference's rms */
};

/* "MatMul", of a node that runs several times for a sample "MatMul x16". */
static const char *fit_op(const struct ulp_audit *audit, const struct ulp_audit_node *node,
                          int width, char *buffer, size_t size)
{
    char count[24] = "";
    size_t samples = audit->sample_count ? audit->sample_count : 1;
    if (node->rounds > samples)
        snprintf(count, sizeof count, " x%zu", (node->rounds + samples / 2) / samples);
    int room = width - (int)strlen(count);
    ulp_show(buffer, size, node->op, room > 0 ? (size_t)room : 0, 0);
    return strcat(buffer, count);
}

static bool is_float_output(const struct ulp_audit_output *output)
{
    return ulp_type_is_float(output->type);
}

static double relative_rms(const struct ulp_metrics *metrics, const struct ulp_range *range)
{
    if (metrics->diverged || !(metrics->rms > 0))
        return 0;
    return range->ref_rms > 0 ? metrics->rms / range->ref_rms : INFINITY;
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
        const double relative =
            is_float_output(output)
                ? relative_rms(introduced ? &output->introduced : &output->carried, &output->range)
                : 0;
        if (relative > worst.relative)
            worst = (struct ranked){node, output, relative};
    }
    return worst;
}

static void add_ranking(struct ulp_text *out, const struct ulp_audit *audit,
                        const struct ulp_audit_lane *lane, bool introduced,
                        const struct style *style)
{
    struct ranked *ranking = calloc(lane->node_count + 1, sizeof *ranking);
    size_t count = 0;
    if (!ranking) {
        out->failed = true;
        return;
    }
    for (size_t n = 0; n < lane->node_count; n++) {
        ranking[count] = rank_node(&lane->nodes[n], introduced);
        count += ranking[count].output != NULL;
    }
    qsort(ranking, count, sizeof *ranking, by_relative);
    ulp_text_add(out, "  %s%-57s%10s%10s%10s%9s%s\n", style->dim,
                 introduced ? "introduce most (rms relative to the reference's)" : "carry most",
                 "relative", "rms", "max abs", "max ulp", style->off);
    for (size_t i = 0; i < count && i < RANKED; i++) {
        const struct ulp_metrics *m =
            introduced ? &ranking[i].output->introduced : &ranking[i].output->carried;
        char name[SHOWN_BYTES], op[SHOWN_BYTES];
        ulp_text_add(out, "    %s %-14s%10.2e%10.2e%10.2e%9.3g\n",
                     ulp_show(name, sizeof name, ranking[i].node->name, NAME_WIDTH, NAME_WIDTH),
                     fit_op(audit, ranking[i].node, 14, op, sizeof op), ranking[i].relative, m->rms,
                     m->max_abs, m->max_ulp);
    }
    if (count == 0)
        ulp_text_add(out, "    none%s\n",
                     lane->first_born < 0 && lane->first_decided < 0
                         ? ": every result equals the reference"
                         : " with a measure");
    free(ranking);
}

static void add_graph_outputs(struct ulp_text *out, const struct ulp_audit_lane *lane,
                              const struct style *style)
{
    ulp_text_add(out, "  %s%-38s%10s%10s%10s%10s%10s%10s%s\n", style->dim, "output", "ref rms",
                 "rms", "max abs", "max rel", "sqnr dB", "nonfinite", style->off);
    for (size_t o = 0; o < lane->outputs.output_count; o++) {
        const struct ulp_audit_output *output = &lane->outputs.outputs[o];
        char name[SHOWN_BYTES];
        const char *colour = output->entire.nonfinite || output->entire.diverged ? style->red : "";
        ulp_text_add(out, "  %s%-38s", colour, ulp_show(name, sizeof name, output->name, 37, 0));
        if (output->entire.diverged && is_float_output(output))
            ulp_text_add(out,
                         "%10.2e  diverged: follows other indices or decisions than the reference",
                         output->range.ref_rms);
        else if (output->entire.diverged)
            ulp_text_add(out, "  diverged: %s values differ from the reference's",
                         ulp_type_name(output->type));
        else if (output->unpaired)
            ulp_text_add(out, "  has no partner in the reference model");
        else if (output->entire.count == 0 && output->entire.nonfinite == 0)
            ulp_text_add(out, "  has no finite element to compare");
        else if (!is_float_output(output))
            ulp_text_add(out, "  %s values equal to the reference's", ulp_type_name(output->type));
        else
            ulp_text_add(out, "%10.2e%10.2e%10.2e%10.2e%10.1f%10zu", output->range.ref_rms,
                         output->entire.rms, output->entire.max_abs, output->entire.max_rel,
                         output->entire.sqnr_db, output->entire.nonfinite);
        ulp_text_add(out, "%s\n", *colour ? style->off : "");
    }
}

/* The format whose largest value bounds this output in this lane. */
static struct ulp_format find_format(const struct ulp_audit_lane *lane,
                                     const struct ulp_audit_output *output)
{
    struct ulp_format format = lane->arithmetic.storage;
    if (lane->arithmetic.as_declared && is_float_output(output))
        ulp_format_find(ulp_type_rows[output->type].format, &format, NULL);
    return format;
}

static void add_overflow(struct ulp_text *out, const struct ulp_audit_lane *lane,
                         const struct style *style)
{
    size_t born = 0, tight = 0, first_tight = 0;
    for (size_t n = 0; n < lane->node_count; n++) {
        born += lane->nodes[n].born;
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            if (is_float_output(&lane->nodes[n].outputs[o]) &&
                lane->nodes[n].outputs[o].range.headroom_bits < 1 && !tight++)
                first_tight = n;
    }
    char name[SHOWN_BYTES];
    if (lane->first_born >= 0) {
        const struct ulp_audit_node *node = &lane->nodes[lane->first_born];
        ulp_text_add(out, "  %sfirst non-finite value: node %zu %s (%s)%s\n", style->red,
                     node->index, ulp_show(name, sizeof name, node->name, 60, 0), node->op,
                     style->off);
        for (size_t o = 0; o < node->output_count; o++) {
            struct ulp_format format = find_format(lane, &node->outputs[o]);
            if (node->outputs[o].entire.nonfinite)
                ulp_text_add(out,
                             "    reference max %.3g against a largest %s of %.6g (headroom %.1f "
                             "bits), first at element %zu\n",
                             node->outputs[o].range.ref_max, format.name, format.max_finite,
                             node->outputs[o].range.headroom_bits,
                             node->outputs[o].entire.worst_index);
        }
        ulp_text_add(
            out, "    %zu node%s such values from finite inputs, %zu more %s poisoned by them\n",
            born, born == 1 ? " bears" : "s bear", lane->poisoned_count,
            lane->poisoned_count == 1 ? "is" : "are");
        size_t listed = 0;
        for (size_t n = (size_t)lane->first_born + 1; n < lane->node_count && listed < RANKED; n++)
            if (lane->nodes[n].born && ++listed)
                ulp_text_add(out, "    also: node %zu %s (%s)\n", n,
                             ulp_show(name, sizeof name, lane->nodes[n].name, 60, 0),
                             lane->nodes[n].op);
    } else {
        ulp_text_add(out,
                     "  no overflow: every value that is finite in the reference stays finite\n");
    }
    if (lane->first_decided >= 0)
        ulp_text_add(out, "  %sfirst to decide otherwise than the reference: node %td %s (%s)%s\n",
                     style->yellow, lane->first_decided,
                     ulp_show(name, sizeof name, lane->nodes[lane->first_decided].name, 36, 0),
                     lane->nodes[lane->first_decided].op, style->off);
    if (tight)
        ulp_text_add(
            out, "  %s%zu output%s within 1 bit of the largest value or beyond, the first: %s%s\n",
            style->yellow, tight, tight == 1 ? "" : "s",
            ulp_show(name, sizeof name, lane->nodes[first_tight].name, 40, 0), style->off);
}

/* What products compute in beside what their weights are stored in, where these are integers or
 * were asked to be. */
static void add_types(struct ulp_text *out, const struct ulp_audit_lane *lane)
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
        ulp_text_add(out, "  %zu product%s, %zu of integer weights: ", products,
                     products == 1 ? "" : "s", integer_weights);
        if (integer)
            ulp_text_add(out, "%zu computed in int8 with INT32 sums%s", integer,
                         products > integer ? ", " : "");
        if (products > integer)
            ulp_text_add(out, "%zu computed in %s", products - integer, compute);
        ulp_text_add(out, "\n");
    }
    if (lane->arithmetic.schedule.qdq_integer && !integer)
        ulp_text_add(out, "  qdq=integer: nothing to fuse, no product has DequantizeLinear on both "
                          "factors\n");
}

static void add_parting(struct ulp_text *out, const struct ulp_audit *audit,
                        const struct ulp_audit_lane *lane)
{
    const struct ulp_parting *parting = &lane->parting;
    if (parting->other < 0)
        return;
    const char *other = audit->lanes[parting->other].arithmetic.name;
    char name[SHOWN_BYTES];
    if (parting->first < 0) {
        ulp_text_add(out, "  equals %s in every bit\n", other);
        return;
    }
    ulp_text_add(out, "  parts from %s at node %td %s (%s)\n", other, parting->first,
                 ulp_show(name, sizeof name, lane->nodes[parting->first].name, 60, 0),
                 lane->nodes[parting->first].op);
    if (parting->first_step >= 0)
        ulp_text_add(
            out,
            "    by quantisation steps first at node %td %s (%s); %zu of %zu integers differ\n",
            parting->first_step,
            ulp_show(name, sizeof name, lane->nodes[parting->first_step].name, 60, 0),
            lane->nodes[parting->first_step].op, parting->steps, parting->count);
    else if (parting->count)
        ulp_text_add(out, "    by roundings only: all %zu integers are equal\n", parting->count);
}

static void add_lane(struct ulp_text *out, const struct ulp_audit *audit,
                     const struct ulp_audit_lane *lane, const struct style *style)
{
    ulp_text_add(out, "\n%s%s%s\n", style->bold, lane->arithmetic.name, style->off);
    add_graph_outputs(out, lane, style);
    add_types(out, lane);
    add_parting(out, audit, lane);
    add_overflow(out, lane, style);
    add_ranking(out, audit, lane, true, style);
    add_ranking(out, audit, lane, false, style);
}

static void add_reference(struct ulp_text *out, const struct ulp_audit *audit)
{
    char name[SHOWN_BYTES];
    ulp_text_add(out,
                 "reference %s: every operation of every node, from the model's exact constants",
                 audit->reference);
    if (audit->certificate.given)
        ulp_text_add(out,
                     ";\n  against twice the precision it is good for %.1f digits on the outputs, "
                     "%.1f at the worst node%s%s\n",
                     audit->certificate.output_digits, audit->certificate.node_digits,
                     audit->certificate.node ? "\n  " : "",
                     audit->certificate.node
                         ? ulp_show(name, sizeof name, audit->certificate.node, 80, 0)
                         : "");
    else if (strncmp(audit->reference, "mpfr:", 5) != 0)
        ulp_text_add(out, ";\n  its own rounding is part of every figure\n");
    else
        ulp_text_add(out, ";\n  its own error is not certified: --certify recomputes it at twice "
                          "the precision\n");
}

/* Which model the truth is of, and what it does not tell. */
static void add_reference_model(struct ulp_text *out, const struct ulp_audit *audit)
{
    const struct ulp_audit_lane *lane = &audit->lanes[0];
    char name[SHOWN_BYTES];
    if (!audit->reference_model)
        return;
    ulp_text_add(out, "reference model %s: %zu of %zu values have a partner of their name there\n",
                 ulp_show(name, sizeof name, audit->reference_model, 60, 0), audit->paired_count,
                 audit->paired_count + audit->unpaired_count);
    size_t shown = 0;
    for (size_t n = 0; n < lane->node_count && shown < RANKED; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count && shown < RANKED; o++)
            if (lane->nodes[n].outputs[o].unpaired)
                ulp_text_add(out, "%s%s",
                             shown++ ? ", " : "  no partner (entire and carried unknown): ",
                             ulp_show(name, sizeof name, lane->nodes[n].outputs[o].name, 30, 0));
    if (shown)
        ulp_text_add(out, "%s\n", audit->unpaired_count > shown ? ", ..." : "");
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

/* Which contractions depend most on the schedule, and whether that is much beside their own
 * error. */
static void add_spreads(struct ulp_text *out, const struct ulp_spreads *spreads,
                        const struct style *style)
{
    const struct ulp_spread **order = calloc(spreads->count + 1, sizeof *order);
    size_t dependent = 0;
    if (!order) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < spreads->count; i++) {
        order[i] = &spreads->items[i];
        dependent += spreads->items[i].differing > 0;
    }
    qsort(order, spreads->count, sizeof *order, by_width);
    ulp_text_add(
        out,
        "\n%sschedules of %s%s: %zu of %zu contractions depend on which of %zu a library picks\n",
        style->bold, spreads->base, style->off, dependent, spreads->count, spreads->schedule_count);
    for (size_t s = 1; s < spreads->schedule_count; s++)
        ulp_text_add(out, "%s%s", "  ", spreads->schedules[s]);
    ulp_text_add(out, "\n  %s%-50s%10s%10s%10s%9s%8s%s\n", style->dim,
                 "most dependent (rms relative to the reference's)", "width", "error", "other GPU",
                 "max ulp", "differ", style->off);
    for (size_t i = 0; i < spreads->count && i < RANKED; i++) {
        char name[SHOWN_BYTES];
        const struct ulp_spread *spread = order[i];
        ulp_text_add(out, "    %s %-7.7s%10.2e%10.2e",
                     ulp_show(name, sizeof name, spread->name, NAME_WIDTH, NAME_WIDTH), spread->op,
                     spread->width_rms / spread->ref_rms, spread->error_rms / spread->ref_rms);
        if (spreads->other_gpu < 0)
            ulp_text_add(out, "%10s", "-");
        else
            ulp_text_add(out, "%10.2e", spread->gpu_rms / spread->ref_rms);
        ulp_text_add(out, "%9.3g%7.1f%%\n", spread->width_max_ulp, 100 * spread->differing);
    }
    free(order);
}

/* Text under a title, broken at WIDTH. */
static void add_wrapped(struct ulp_text *out, const char *title, const char *text)
{
    const size_t indent = strlen(title), room = WIDTH - indent;
    struct ulp_text shown = {0};
    ulp_text_show(&shown, "%s", text);
    if (shown.failed) {
        out->failed = true;
        return;
    }
    const char *at = shown.data, *end = at + shown.length;
    do {
        const char *next = at, *cut = NULL; /* the last space in the line's second half */
        for (size_t columns = 0; next < end && columns < room;) {
            struct ulp_shown character;
            const char *after = ulp_show_character(&character, next, end);
            if ((columns += (size_t)character.columns) > room)
                break;
            if (*next == ' ' && columns > room / 2)
                cut = next;
            next = after;
        }
        if (next == end || *next == ' ' || !cut)
            cut = next;
        ulp_text_add(out, "%*s%.*s\n", (int)indent, at == shown.data ? title : "", (int)(cut - at),
                     at);
        at = cut + (cut < end && *cut == ' ');
    } while (at < end);
    ulp_text_free(&shown);
}

enum ulp_status ulp_report_text(const struct ulp_audit *audit, bool colour, struct ulp_text *out,
                                struct ulp_error *error)
{
    (void)error;
    const struct style *style = colour ? &colour_style : &plain_style;
    char name[SHOWN_BYTES];
    size_t nodes = audit->lane_count ? audit->lanes[0].node_count : 0, idle = 0;
    for (size_t n = 0; n < nodes; n++)
        idle += audit->lanes[0].nodes[n].rounds == 0;
    ulp_text_add(out, "%s%s%s  opset %lld, %zu nodes, %zu sample%s\n", style->bold,
                 ulp_show(name, sizeof name, audit->model_path, 60, 0), style->off,
                 (long long)audit->opset, nodes, audit->sample_count,
                 audit->sample_count == 1 ? "" : "s (the worst is shown)");
    if (idle)
        ulp_text_add(
            out,
            "  %zu node%s in branches or loops that no sample enters: nothing is known of them\n",
            idle, idle == 1 ? " is" : "s are");
    for (size_t s = 0; s < audit->sample_count && s < SAMPLES_SHOWN; s++)
        add_wrapped(out, "  sample  ", audit->sample_names[s]);
    if (audit->sample_count > SAMPLES_SHOWN)
        ulp_text_add(out, "  and %zu more\n", audit->sample_count - SAMPLES_SHOWN);
    add_reference(out, audit);
    add_reference_model(out, audit);
    for (size_t l = 0; l < audit->lane_count; l++)
        add_lane(out, audit, &audit->lanes[l], style);
    for (size_t i = 0; i < audit->spread_count; i++)
        add_spreads(out, &audit->spreads[i], style);
    ulp_text_add(out,
                 "\n%sEvery figure is of entire = introduced + carried: introduced by the node's "
                 "own arithmetic, carried\n"
                 "on from the error of its inputs. single (in the report): the node alone, on "
                 "reference inputs.%s\n",
                 style->dim, style->off);
    return ULP_OK;
}
