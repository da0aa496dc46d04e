/* Arithmetics of one audit that differ by one choice, side by side: what it changes. */
#include <math.h>
#include <stdlib.h>

#include "analysis/report/report.h"
#include "analysis/report/report.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "number/function/math.h"

enum { COLUMN = 13 };

static const struct ulp_audit_lane *lane_of(const struct ulp_audit *audit,
                                            const struct ulp_choice *choice, size_t i)
{
    return &audit->lanes[choice->lanes[i]];
}

/* The error relative to the reference's rms; infinite: the value is not finite where it should be;
 * NaN: it diverged, or has no error that can be told. */
static double relative(const struct ulp_audit_output *output)
{
    const struct ulp_metrics *m = &output->entire;
    return !ulp_type_is_float(output->type) || m->diverged ? NAN
           : m->nonfinite                                  ? INFINITY
           : output->range.ref_rms > 0                     ? m->rms / output->range.ref_rms
                                                           : NAN;
}

static void add_figure(const struct ulp_page *page, double figure)
{
    if (isinf(figure))
        ulp_text_add(page->out, " %s%*s%s", page->red, COLUMN - 1, "not finite", page->off);
    else if (isnan(figure))
        ulp_text_add(page->out, " %*s", COLUMN - 1, "-");
    else
        ulp_text_add(page->out, " %*.2e", COLUMN - 1, figure);
}

static void add_heads(const struct ulp_page *page, const struct ulp_choice *choice,
                      const char *what)
{
    ulp_text_add(page->out, "  %s", page->dim);
    for (size_t i = 0; i < choice->count; i++)
        ulp_text_add(page->out, " %*s", COLUMN - 1, choice->words[i]);
    ulp_text_add(page->out, "  %s%s\n", what, page->off);
}

static void add_row(const struct ulp_page *page, const struct ulp_audit *audit,
                    const struct ulp_choice *choice, size_t node, size_t output)
{
    const struct ulp_audit_node *first = NULL;
    ulp_text_add(page->out, "  ");
    for (size_t i = 0; i < choice->count; i++) {
        const struct ulp_audit_lane *lane = lane_of(audit, choice, i);
        first = node < lane->node_count ? &lane->nodes[node] : &lane->outputs;
        add_figure(page, relative(&first->outputs[output]));
    }
    ulp_text_add(page->out, "  ");
    if (first && first != &lane_of(audit, choice, 0)->outputs && node != SIZE_MAX)
        ulp_text_add(page->out, "%zu ", first->index);
    if (first)
        ulp_page_name(page, node == SIZE_MAX ? first->outputs[output].name : first->name,
                      8 + COLUMN * (int)choice->count);
    ulp_text_add(page->out, "\n");
}

/* ---- nodes that every lane stores ---- */

struct compared {
    size_t node, output;
    double ratio; /* of the largest figure to the smallest */
};

static bool is_stored(const struct ulp_audit *audit, const struct ulp_choice *choice, size_t n)
{
    bool stored = true;
    for (size_t i = 0; i < choice->count; i++)
        stored &= !lane_of(audit, choice, i)->nodes[n].kernel.unstored;
    return stored;
}

/* 0: the figures cannot be compared. */
static double find_ratio(const struct ulp_audit *audit, const struct ulp_choice *choice, size_t n,
                         size_t o)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < choice->count; i++) {
        const struct ulp_audit_node *node = &lane_of(audit, choice, i)->nodes[n];
        const double figure = o < node->output_count ? relative(&node->outputs[o]) : NAN;
        if (isnan(figure))
            return 0;
        low = ulp_math_min(low, figure);
        high = ulp_math_max(high, figure);
    }
    return low > 0 && isfinite(low) ? high / low : 0;
}

static int by_ratio(const void *a, const void *b)
{
    const struct compared *x = a, *y = b;
    if (x->ratio != y->ratio)
        return x->ratio < y->ratio ? 1 : -1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static void add_nodes(const struct ulp_page *page, const struct ulp_audit *audit,
                      const struct ulp_choice *choice)
{
    const struct ulp_audit_lane *first = lane_of(audit, choice, 0);
    size_t stored = 0, compared = 0, doubled = 0;
    struct compared *list = calloc(first->node_count + 1, sizeof *list);
    if (!list) {
        page->out->failed = true;
        return;
    }
    for (size_t n = 0; n < first->node_count; n++) {
        if (!is_stored(audit, choice, n))
            continue;
        stored++;
        struct compared *at = &list[compared];
        *at = (struct compared){n, 0, 0};
        for (size_t o = 0; o < first->nodes[n].output_count; o++) {
            const double ratio = find_ratio(audit, choice, n, o);
            if (ratio > at->ratio)
                *at = (struct compared){n, o, ratio};
        }
        doubled += at->ratio >= 2;
        compared += at->ratio > 0;
    }
    qsort(list, compared, sizeof *list, by_ratio);
    struct ulp_text text = {0};
    ulp_text_add(&text,
                 "%zu of %zu nodes have a stored value in all; at %zu of them errors differ by a "
                 "factor of 2 and more",
                 stored, first->node_count, doubled);
    ulp_text_add(page->out, "  ");
    ulp_page_broken(page, &text, 4, 2);
    if (compared && list[0].ratio > 1)
        add_heads(page, choice, "most different nodes");
    for (size_t c = 0; c < compared && c < ULP_PAGE_RANKED && list[c].ratio > 1; c++)
        add_row(page, audit, choice, list[c].node, list[c].output);
    free(list);
}

/* ---- overflows ---- */

/* Nodes where an overflow begins in one lane and not in the other; *node: the first. */
static size_t count_born(const struct ulp_audit_lane *in, const struct ulp_audit_lane *not_in,
                         size_t *node)
{
    size_t count = 0;
    for (size_t n = 0; n < in->node_count; n++)
        if (in->nodes[n].born && !not_in->nodes[n].born && count++ == 0)
            *node = n;
    return count;
}

static void add_born(const struct ulp_page *page, const struct ulp_audit_lane *lane, size_t count,
                     size_t node, const char *what)
{
    if (!count)
        return;
    ulp_text_add(page->out, "%zu overflow%s %s (first at node %zu ", count, count == 1 ? "" : "s",
                 what, node);
    ulp_page_name(page, lane->nodes[node].name, 60);
    ulp_text_add(page->out, ")");
}

static void add_overflows(const struct ulp_page *page, const struct ulp_audit *audit,
                          const struct ulp_choice *choice)
{
    const struct ulp_audit_lane *first = lane_of(audit, choice, 0);
    for (size_t i = 1; i < choice->count; i++) {
        const struct ulp_audit_lane *lane = lane_of(audit, choice, i);
        size_t gone_at = 0, new_at = 0;
        const size_t gone = count_born(first, lane, &gone_at),
                     new = count_born(lane, first, &new_at);
        ulp_text_add(page->out, "  %s: ", choice->words[i]);
        add_born(page, first, gone, gone_at, "vanish");
        ulp_text_add(page->out, gone && new ? "; " : "");
        add_born(page, lane, new, new_at, "appear");
        ulp_text_add(page->out, gone || new ? "\n" : "the same overflows, or none\n");
    }
}

/* ---- the sentence ---- */

/* The largest error of an output; infinite when one is not finite. */
static double worst(const struct ulp_audit_lane *lane)
{
    double figure = NAN;
    for (size_t o = 0; o < lane->outputs.output_count; o++)
        figure = ulp_math_max(figure, relative(&lane->outputs.outputs[o]));
    return figure;
}

/* "with compiled", but "without VNNI" as it stands. */
static const char *with(const char *word)
{
    return strncmp(word, "with", 4) == 0 ? "" : "with ";
}

static void add_sentence(const struct ulp_page *page, const struct ulp_audit *audit,
                         const struct ulp_choice *choice)
{
    const size_t last = choice->count - 1;
    const double a = worst(lane_of(audit, choice, 0)), b = worst(lane_of(audit, choice, last));
    const char *x = choice->words[0], *y = choice->words[last];
    struct ulp_text text = {0};
    if (isnan(a) || isnan(b))
        ulp_text_add(&text, "no output can be compared in both");
    else if (isinf(a) && isinf(b))
        ulp_text_add(&text, "an output is not finite in either: the choice does not help");
    else if (isinf(a) || isinf(b))
        ulp_text_add(&text,
                     "an output is not finite %s%s and is %s%s: make sure which of the two you "
                     "deploy",
                     with(isinf(a) ? x : y), isinf(a) ? x : y, with(isinf(a) ? y : x),
                     isinf(a) ? y : x);
    else if (!(a > 0) && !(b > 0))
        ulp_text_add(&text, "the outputs are exact in both");
    else if (!(a > 0) || !(b > 0))
        ulp_text_add(&text, "the outputs are exact %s%s alone", with(a > 0 ? y : x), a > 0 ? y : x);
    else if (b / a > 0.8 && b / a < 1.25)
        ulp_text_add(&text,
                     "the worst output's error is %.2f times as large %s%s as %s%s: the choice "
                     "changes little",
                     b / a, with(y), y, with(x), x);
    else
        ulp_text_add(&text, "the worst output's error is %.3g times as large %s%s as %s%s", b / a,
                     with(y), y, with(x), x);
    ulp_text_add(page->out, "  %s", page->bold);
    ulp_page_broken(page, &text, 4, 2);
    ulp_text_add(page->out, "%s", page->off);
}

/* Where the two are sums that nobody recorded, and one of them is fine. */
static void add_assumed(const struct ulp_page *page, const struct ulp_audit *audit,
                        const struct ulp_choice *choice)
{
    struct ulp_assumed assumed;
    for (size_t h = 0; ulp_report_assumed(audit, h, &assumed); h++) {
        const size_t *lanes = choice->lanes;
        if ((lanes[0] != assumed.fine || lanes[1] != assumed.wrong) &&
            (lanes[0] != assumed.wrong || lanes[1] != assumed.fine))
            continue;
        struct ulp_text text = {0};
        ulp_report_assumed_say(&text, audit, &assumed);
        ulp_text_add(page->out, "  ");
        ulp_page_broken(page, &text, 4, 2);
    }
}

enum ulp_status ulp_report_choice(const struct ulp_audit *audit, const struct ulp_choice *choice,
                                  int width, bool colour, char **out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    struct ulp_text text = {0};
    const struct ulp_page sheet = ulp_page_make(&text, width, colour), *page = &sheet;
    *out = NULL;
    if (choice->count < 2)
        return ulp_fail(error, ULP_ERROR_USAGE, "a choice is between two arithmetics or more");
    for (size_t i = 0; i < choice->count; i++)
        if (choice->lanes[i] >= audit->lane_count)
            return ulp_fail(error, ULP_ERROR_USAGE, "the audit has %zu arithmetics, no number %zu",
                            audit->lane_count, choice->lanes[i]);
    ulp_text_add(page->out, "\n%s", page->bold);
    ulp_page_wrapped(page, choice->title, 2, 0);
    ulp_text_add(page->out, "%s", page->off);
    add_sentence(page, audit, choice);
    add_assumed(page, audit, choice);
    add_heads(page, choice, "output (rms of its error / rms)");
    for (size_t o = 0; o < lane_of(audit, choice, 0)->outputs.output_count; o++)
        add_row(page, audit, choice, SIZE_MAX, o);
    if (choice->nodes) {
        add_nodes(page, audit, choice);
        add_overflows(page, audit, choice);
    }
    return ulp_page_take(&text, ULP_OK, out, error);
}
