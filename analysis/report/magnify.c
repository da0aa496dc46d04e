/* Why a rounding counts: the node behind it that makes relative errors count for more, by values
 * and derivatives (magnify.def); in what steps, of how many terms, over which iterations. */
#include <math.h>
#include <stdlib.h>

#include "analysis/audit/audit_mixed.h"
#include "analysis/audit/auditor.h"
#include "analysis/report/report.h"
#include "number/function/math.h"

/* From this part of the outputs' error on what passes through a node is what it comes from. */
#define PASSES 0.5
/* A relative error counts so many times as much before the node as behind it. */
#define MAGNIFIES 8
/* And so many times at each of many nodes. */
#define SOMEWHAT 2
/* So many bits are lost where that node is named before those that round. */
#define LEADING 64
/* From this share on a node that rounds is named by itself. */
#define ALONE 0.5
#define SOME 0.2
enum { SEVERAL = 3, SINGLE = 24 }; /* bits of FP32's precision */

static const struct row {
    const char *operators, *said, *mends;
    bool leads;
} rows[] = {
#define LEADS(operators, said, mends) {operators, said, mends, true},
#define MAGNIFY(operators, said, mends) {operators, said, mends, false},
#include "analysis/report/magnify.def"
#undef MAGNIFY
#undef LEADS
};

static const struct row *find_row(const struct ulp_audit_node *node)
{
    const struct row *row = rows;
    while (*row->operators && !ulp_is_word(node->op, row->operators))
        row++;
    return row;
}

/* By how much more the outputs feel relative errors of what it reads than of its result. */
static double measure_magnification(const struct ulp_audit *audit,
                                    const struct ulp_audit_lane *lane, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < audit->places[n].input_count; i++) {
        const ptrdiff_t from = audit->places[n].inputs[i].node;
        if (from >= 0)
            most = ulp_math_max(most, lane->nodes[from].condition);
    }
    return most / lane->nodes[n].condition;
}

/* Nodes whose results follow from the cause's, itself among them. */
static void mark_behind(const struct ulp_audit *audit, size_t cause, bool *behind)
{
    behind[cause] = true;
    for (size_t n = cause + 1; n < audit->place_count; n++)
        for (size_t i = 0; i < audit->places[n].input_count && !behind[n]; i++) {
            const ptrdiff_t from = audit->places[n].inputs[i].node;
            behind[n] = from >= 0 && behind[from];
        }
}

double ulp_report_grows(const struct ulp_audit_node *node)
{
    const double times = node->last_error / node->first_error;
    return isfinite(times) ? times : 0;
}

bool ulp_report_magnifier(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                          const struct ulp_audit_node *cause, struct ulp_magnified *out)
{
    /* what shows at a decision counts by its margin */
    const bool none =
        ulp_audit_lane_grade(audit, lane) == ULP_GRADE_FINE || ulp_report_find_shows(lane, cause);
    bool *behind = calloc(audit->place_count + 1, sizeof *behind);
    *out = (struct ulp_magnified){.times = MAGNIFIES, .failed = !behind};
    if (behind && !none && cause->index < audit->place_count)
        mark_behind(audit, cause->index, behind);
    /* what it rounds of what it reads counts before it */
    const bool reads =
        cause->causes[ULP_SHARE_WEIGHTS] + cause->causes[ULP_SHARE_INPUTS] > cause->share / 2;
    for (size_t n = cause->index + !reads; behind && n < audit->place_count; n++) {
        const double times = measure_magnification(audit, lane, n);
        if (!behind[n] || !(lane->nodes[n].passes >= PASSES) || !isfinite(times))
            continue;
        out->several += times >= SOMEWHAT;
        if (times > out->times) {
            out->times = times;
            out->at = &lane->nodes[n];
        }
    }
    free(behind);
    out->in_all = cause->condition;
    out->grows = ulp_report_grows(cause) > MAGNIFIES;
    /* where a function of a large value magnifies, what rounded that value is, if it makes some */
    out->leads = out->at && out->times >= LEADING && out->at->passes > cause->share &&
                 cause->share < (find_row(out->at)->leads ? ALONE : SOME);
    return out->at != NULL;
}

/* The iterations of what gives it its results. */
static void add_iterations(struct ulp_text *out, const struct ulp_audit *audit,
                           const struct ulp_audit_lane *lane, const struct ulp_audit_node *at)
{
    const struct ulp_audit_node *most = NULL;
    for (size_t i = 0; i < audit->places[at->index].input_count; i++) {
        const ptrdiff_t from = audit->places[at->index].inputs[i].node;
        const struct ulp_audit_node *node = from >= 0 ? &lane->nodes[from] : NULL;
        if (node && ulp_report_grows(node) > (most ? ulp_report_grows(most) : MAGNIFIES))
            most = node;
    }
    if (most) {
        ulp_text_show(out, ", whose state is that of node %zu %s (%s)", most->index, most->name,
                      most->op);
        ulp_report_iterations(out, most);
    }
}

void ulp_report_iterations(struct ulp_text *out, const struct ulp_audit_node *node)
{
    if (ulp_report_grows(node) > MAGNIFIES)
        ulp_text_add(out, ", with a relative error of %.2g in its first %s and of %.2g in its last",
                     node->first_error,
                     ulp_is_word(node->op, "LSTM GRU RNN") ? "step" : "iteration",
                     node->last_error);
}

/* "node 17 v (Sub) subtracts nearly equal values: a relative error before it counts for 7.1e+05
 * times as much as one behind it" */
void ulp_report_magnified(struct ulp_text *out, const struct ulp_audit *audit,
                          const struct ulp_audit_lane *lane, const struct ulp_magnified *magnified)
{
    const struct ulp_audit_node *at = magnified->at;
    ulp_text_show(out,
                  "node %zu %s (%s) %s: a relative error before it counts for %.2g times as much "
                  "as one behind it",
                  at->index, at->name, at->op, find_row(at)->said, magnified->times);
    if (magnified->several >= SEVERAL && magnified->in_all >= MAGNIFIES * magnified->times)
        ulp_text_add(out, ", and errors grow at each of %zu nodes, in all %.2g times",
                     magnified->several, magnified->in_all);
    if (!magnified->grows)
        add_iterations(out, audit, lane, at);
}

void ulp_report_mends(struct ulp_text *out, const struct ulp_audit_lane *lane,
                      const struct ulp_audit_node *at)
{
    const bool narrow =
        lane->arithmetic.storage.precision < SINGLE || lane->arithmetic.factor.precision < SINGLE;
    ulp_text_add(out, "%s in %s", find_row(at)->mends, narrow ? "FP32" : "FP64");
}

/* ---- where no derivative tells ---- */

static double relative_of(const struct ulp_audit_node *node, bool introduced)
{
    double most = 0;
    for (size_t o = 0; o < node->output_count; o++) {
        const struct ulp_audit_output *output = &node->outputs[o];
        const double relative =
            (introduced ? output->introduced.rms : output->entire.rms) / output->range.ref_rms;
        most = isfinite(relative) ? ulp_math_max(most, relative) : most;
    }
    return most;
}

/* The node before it with the largest relative error; NULL: none has one. */
static const struct ulp_audit_node *find_worst_read(const struct ulp_audit *audit,
                                                    const struct ulp_audit_lane *lane,
                                                    const struct ulp_audit_node *node)
{
    const struct ulp_audit_node *worst = NULL;
    for (size_t i = 0;
         node->index < audit->place_count && i < audit->places[node->index].input_count; i++) {
        const ptrdiff_t from = audit->places[node->index].inputs[i].node;
        const struct ulp_audit_node *read =
            from >= 0 && (size_t)from < node->index ? &lane->nodes[from] : NULL;
        if (read && relative_of(read, false) > (worst ? relative_of(worst, false) : 0))
            worst = read;
    }
    return worst;
}

const struct ulp_audit_node *ulp_report_jump(const struct ulp_audit *audit,
                                             const struct ulp_audit_lane *lane,
                                             struct ulp_magnified *out)
{
    const struct ulp_audit_node *at = NULL, *read;
    *out = (struct ulp_magnified){0};
    for (size_t n = 0; n < lane->node_count; n++)
        if (lane->nodes[n].missing >= PASSES && (!at || lane->nodes[n].missing > at->missing))
            at = &lane->nodes[n];
    for (; at && (read = find_worst_read(audit, lane, at)); at = read) {
        out->times = relative_of(at, false) / relative_of(read, false);
        if (out->times < MAGNIFIES || relative_of(at, true) > relative_of(at, false) / 2)
            continue;
        out->at = at;
        while (relative_of(read, true) < relative_of(read, false) / 2 &&
               (at = find_worst_read(audit, lane, read)))
            read = at;
        return read;
    }
    return NULL;
}

void ulp_report_jumped(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane, const struct ulp_audit_node *cause,
                       const struct ulp_magnified *jump)
{
    const struct ulp_audit_node *at = jump->at, *read = find_worst_read(audit, lane, at);
    ulp_text_show(out,
                  "node %zu %s (%s) rounds by %.2g of its result's rms, and node %zu %s (%s) %s: "
                  "%.2g of their rms is error before it, %.2g behind it",
                  cause->index, cause->name, cause->op, relative_of(cause, true), at->index,
                  at->name, at->op, find_row(at)->said, relative_of(read, false),
                  relative_of(at, false));
}

/* ---- by what ---- */

/* The largest magnitude among what it reads. */
static double find_largest_read(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                                const struct ulp_audit_node *node)
{
    double most = 0;
    for (size_t i = 0;
         node->index < audit->place_count && i < audit->places[node->index].input_count; i++) {
        const ptrdiff_t from = audit->places[node->index].inputs[i].node;
        for (size_t o = 0; from >= 0 && o < lane->nodes[from].output_count; o++)
            most = ulp_math_max(most, lane->nodes[from].outputs[o].range.ref_max);
    }
    return most;
}

static void add_steps(struct ulp_text *out, const struct ulp_format *format, double largest,
                      size_t terms)
{
    if (!(largest > 0) || !(largest <= format->max_finite) || !isfinite(largest))
        return;
    const int exponent = ilogb(largest) > format->emin ? ilogb(largest) : format->emin;
    ulp_text_add(out, " (");
    if (terms > 1)
        ulp_text_add(out, "sums of %zu terms, ", terms);
    ulp_text_add(out, "values of up to %.3g, where %s has steps of %.3g)", largest, format->name,
                 ldexp(1, exponent - format->precision + 1));
}

void ulp_report_rounded(struct ulp_text *out, const struct ulp_audit *audit,
                        const struct ulp_audit_lane *lane, const struct ulp_audit_node *node,
                        int cause)
{
    const struct ulp_format format = ulp_audit_node_format(lane, node);
    if (node->index >= audit->place_count)
        return;
    const size_t terms = audit->places[node->index].terms;
    if (cause == ULP_SHARE_RESULT && node->output_count)
        add_steps(out, &format, node->outputs[0].range.ref_max, terms);
    else if (cause == ULP_SHARE_INPUTS)
        add_steps(out, &ulp_audit_node_arithmetic(lane, node)->factor,
                  find_largest_read(audit, lane, node), 0);
    else if (cause == ULP_SHARE_SUMS && terms > 1)
        ulp_text_add(out, " of %zu terms", terms);
}
