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

/* A name cut in the middle so that both its ends stay readable. Bytes that are no visible ASCII are
 * shown as "?": a model's names must neither move the cursor nor be cut inside a character. */
static const char *fit_name(const char *name, int width, char *buffer, size_t size)
{
    size_t length = strlen(name), wanted = (size_t)width < size - 1 ? (size_t)width : size - 1;
    if (length <= wanted) {
        memcpy(buffer, name, length + 1);
    } else {
        size_t head = (wanted - 3) / 3, tail = wanted - 3 - head;
        memcpy(buffer, name, head);
        memcpy(buffer + head, "...", 3);
        memcpy(buffer + head + 3, name + length - tail, tail + 1);
    }
    for (char *c = buffer; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return buffer;
}

/* "MatMul", of a node that runs several times for a sample "MatMul x16". */
static const char *fit_op(const struct ulp_audit *audit, const struct ulp_audit_node *node,
                          int width, char *buffer, size_t size)
{
    char count[24] = "";
    size_t samples = audit->sample_count ? audit->sample_count : 1;
    if (node->rounds > samples)
        snprintf(count, sizeof count, " x%zu", (node->rounds + samples / 2) / samples);
    int room = width - (int)strlen(count);
    snprintf(buffer, size, "%.*s%s", room > 0 ? room : 0, node->op, count);
    return buffer;
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
        char name[NAME_WIDTH + 1], op[48];
        ulp_text_add(out, "    %-*s %-14s%10.2e%10.2e%10.2e%9.3g\n", NAME_WIDTH,
                     fit_name(ranking[i].node->name, NAME_WIDTH, name, sizeof name),
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
        char name[39];
        const char *colour = output->entire.nonfinite || output->entire.diverged ? style->red : "";
        ulp_text_add(out, "  %s%-38s", colour, fit_name(output->name, 37, name, sizeof name));
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
    char name[61];
    if (lane->first_born >= 0) {
        const struct ulp_audit_node *node = &lane->nodes[lane->first_born];
        ulp_text_add(out, "  %sfirst non-finite value: node %zu %s (%s)%s\n", style->red,
                     node->index, fit_name(node->name, 60, name, sizeof name), node->op,
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
                             fit_name(lane->nodes[n].name, 60, name, sizeof name),
                             lane->nodes[n].op);
    } else {
        ulp_text_add(out,
                     "  no overflow: every value that is finite in the reference stays finite\n");
    }
    if (lane->first_decided >= 0)
        ulp_text_add(out, "  %sfirst to decide otherwise than the reference: node %td %s (%s)%s\n",
                     style->yellow, lane->first_decided,
                     fit_name(lane->nodes[lane->first_decided].name, 36, name, sizeof name),
                     lane->nodes[lane->first_decided].op, style->off);
    if (tight)
        ulp_text_add(
            out, "  %s%zu output%s within 1 bit of the largest value or beyond, the first: %s%s\n",
            style->yellow, tight, tight == 1 ? "" : "s",
            fit_name(lane->nodes[first_tight].name, 40, name, sizeof name), style->off);
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
    char name[61];
    if (parting->first < 0) {
        ulp_text_add(out, "  equals %s in every bit\n", other);
        return;
    }
    ulp_text_add(out, "  parts from %s at node %td %s (%s)\n", other, parting->first,
                 fit_name(lane->nodes[parting->first].name, 60, name, sizeof name),
                 lane->nodes[parting->first].op);
    if (parting->first_step >= 0)
        ulp_text_add(
            out,
            "    by quantisation steps first at node %td %s (%s); %zu of %zu integers differ\n",
            parting->first_step,
            fit_name(lane->nodes[parting->first_step].name, 60, name, sizeof name),
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
    char name[81];
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
                         ? fit_name(audit->certificate.node, 80, name, sizeof name)
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
    char name[81];
    if (!audit->reference_model)
        return;
    ulp_text_add(out, "reference model %s: %zu of %zu values have a partner of their name there\n",
                 fit_name(audit->reference_model, 60, name, sizeof name), audit->paired_count,
                 audit->paired_count + audit->unpaired_count);
    size_t shown = 0;
    for (size_t n = 0; n < lane->node_count && shown < RANKED; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count && shown < RANKED; o++)
            if (lane->nodes[n].outputs[o].unpaired)
                ulp_text_add(out, "%s%s",
                             shown++ ? ", " : "  no partner (entire and carried unknown): ",
                             fit_name(lane->nodes[n].outputs[o].name, 30, name, sizeof name));
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
        char name[NAME_WIDTH + 1];
        const struct ulp_spread *spread = order[i];
        ulp_text_add(out, "    %-*s %-7.7s%10.2e%10.2e", NAME_WIDTH,
                     fit_name(spread->name, NAME_WIDTH, name, sizeof name), spread->op,
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
    size_t indent = strlen(title), length = strlen(text), room = WIDTH - indent;
    for (size_t first = 0; first < length || first == 0;) {
        char line[WIDTH + 1];
        size_t count = length - first < room ? length - first : room;
        for (size_t cut = count; count < length - first && cut > room / 2; cut--)
            if (text[first + cut] == ' ') {
                count = cut;
                break;
            }
        memcpy(line, text + first, count);
        line[count] = '\0';
        char clean[WIDTH + 1];
        ulp_text_add(out, "%*s%s\n", (int)indent, first ? "" : title,
                     fit_name(line, WIDTH, clean, sizeof clean));
        first += count + (text[first + count] == ' ');
        if (count == 0)
            break;
    }
}

enum ulp_status ulp_report_text(const struct ulp_audit *audit, bool colour, struct ulp_text *out,
                                struct ulp_error *error)
{
    (void)error;
    const struct style *style = colour ? &colour_style : &plain_style;
    char name[81];
    size_t nodes = audit->lane_count ? audit->lanes[0].node_count : 0, idle = 0;
    for (size_t n = 0; n < nodes; n++)
        idle += audit->lanes[0].nodes[n].rounds == 0;
    ulp_text_add(out, "%s%s%s  opset %lld, %zu nodes, %zu sample%s\n", style->bold,
                 fit_name(audit->model_path, 60, name, sizeof name), style->off,
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
