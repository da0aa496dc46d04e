/* The part of summary.txt about overflows: where they begin, where they end, and which constants
 * were changed. */
#include <stdio.h>
#include <string.h>

#include "analysis/audit/audit_mixed.h"
#include "analysis/audit/audit_overflow.h"
#include <math.h>

#include "analysis/report/report_page.h"

/* "  BEFORE: node N NAME (OP)" on a line of its own. */
static void add_line(const struct ulp_page *page, const char *colour, const char *before,
                     const struct ulp_audit_node *node)
{
    ulp_text_add(page->out, "  %s%s: ", colour, before);
    ulp_page_node(page, node->index, node->name, node->op, 4 + (int)strlen(before));
    ulp_text_add(page->out, "%s\n", *colour ? page->off : "");
}

/* By which constant, by which node it is absorbed, what it spoils. */
static void add_fate(const struct ulp_page *page, const struct ulp_audit_lane *lane,
                     const struct ulp_audit_overflow *overflow)
{
    if (overflow->constant >= 0) {
        const struct ulp_audit_constant *constant = &lane->constants[overflow->constant];
        ulp_text_add(page->out, "    by a constant that reaches %.3g: ", constant->largest);
        ulp_page_name(page, constant->name, 46);
        ulp_text_add(page->out, "\n");
    }
    if (overflow->absorbed_by >= 0) {
        const struct ulp_audit_node *absorbed = &lane->nodes[overflow->absorbed_by];
        ulp_text_add(page->out, "    absorbed by ");
        ulp_page_node(page, absorbed->index, absorbed->name, absorbed->op, 32);
        ulp_text_add(page->out, overflow->absorber_count > 1 ? " and %zu more\n" : "\n",
                     overflow->absorber_count - 1);
    }
    if (overflow->spoils >= 0)
        add_line(page, "", "  first finite result that is wrong by it",
                 &lane->nodes[overflow->spoils]);
    if (overflow->reaches_output)
        ulp_text_add(page->out, "    reaches an output\n");
}

static void add_born(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    size_t born = 0, listed = 0;
    const struct ulp_audit_node *node = &lane->nodes[lane->first_born];
    for (size_t n = 0; n < lane->node_count; n++)
        born += lane->nodes[n].born && !ulp_audit_is_absorbed(lane, &lane->nodes[n]);
    add_line(page, page->red, "first non-finite value", node);
    for (size_t o = 0; o < node->output_count; o++) {
        struct ulp_format format = ulp_audit_format(lane, node, &node->outputs[o]);
        if (node->outputs[o].entire.nonfinite && isnan(node->outputs[o].range.ref_max))
            ulp_text_add(page->out, "    the reference has no finite element there\n");
        else if (node->outputs[o].entire.nonfinite)
            ulp_text_add(page->out,
                         "    reference max %.3g against a largest %s of %.6g (headroom %.1f "
                         "bits), first at element %zu\n",
                         node->outputs[o].range.ref_max, format.name, format.max_finite,
                         ulp_tenths(node->outputs[o].range.headroom_bits),
                         node->outputs[o].entire.worst_index);
    }
    ulp_text_add(page->out, "    %zu node%s Inf or NaN from finite inputs, %zu more %s them on\n",
                 born, born == 1 ? " makes" : "s make", lane->poisoned_count,
                 lane->poisoned_count == 1 ? "passes" : "pass");
    if (node->zeroed) {
        ulp_text_add(page->out, "    its input has become 0: ");
        ulp_page_name(page, node->zeroed, 28);
        ulp_text_add(page->out, "\n");
    }
    add_fate(page, lane, ulp_audit_overflow_root(lane, node->overflow));
    for (size_t n = (size_t)lane->first_born + 1; n < lane->node_count && listed < ULP_PAGE_RANKED;
         n++)
        if (lane->nodes[n].born && !ulp_audit_is_absorbed(lane, &lane->nodes[n]) && ++listed)
            add_line(page, "", "  also", &lane->nodes[n]);
}

/* The overflows but that of the first birth. */
static void add_fates(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_overflow *said =
        lane->first_born < 0
            ? NULL
            : ulp_audit_overflow_root(lane, lane->nodes[lane->first_born].overflow);
    size_t listed = 0, more = 0;
    for (size_t i = 0; i < lane->overflow_count; i++) {
        const struct ulp_audit_overflow *overflow = &lane->overflows[i];
        const bool harmless = ulp_audit_overflow_is_harmless(overflow);
        if (overflow->joins >= 0 || overflow == said)
            continue;
        if (listed == ULP_PAGE_RANKED) {
            more++;
            continue;
        }
        listed++;
        add_line(page, harmless ? "" : page->red, harmless ? "overflow, absorbed" : "overflow",
                 &lane->nodes[overflow->node]);
        add_fate(page, lane, overflow);
    }
    if (more)
        ulp_text_add(page->out, "    %s%zu more overflows in report.json%s\n", page->dim, more,
                     page->off);
}

/* What becomes of constants beyond the largest, and too small to hold. */
static const char *const became[][2] = {
    [ULP_CONSTANTS_SATURATED] = {"the largest", "0"},
    [ULP_CONSTANTS_IEEE] = {"infinite", "0"},
    [ULP_CONSTANTS_TENSORRT] = {"the largest", "the smallest"},
    [ULP_CONSTANTS_ONNXCONVERTER] = {"1e4", "1e-7"},
};

static void add_constants(const struct ulp_page *page, const struct ulp_audit_lane *lane,
                          bool overflowed)
{
    size_t count = 0, elements = 0, first = 0;
    for (size_t c = 0; c < lane->constant_count; c++) {
        const size_t changed =
            overflowed ? lane->constants[c].overflowed : lane->constants[c].underflowed;
        elements += changed;
        if (changed && !count++)
            first = c;
    }
    if (!count)
        return;
    ulp_text_add(page->out, "  %zu constant%s changed: %zu value%s %s became %s, first: ", count,
                 count == 1 ? "" : "s", elements, elements == 1 ? "" : "s",
                 overflowed ? "beyond the largest" : "too small to hold",
                 became[lane->arithmetic.constants][!overflowed]);
    ulp_page_name(page, lane->constants[first].name, 75);
    ulp_text_add(page->out, "\n");
}

static void add_tight(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    size_t tight = 0, first = 0;
    char count[100];
    for (size_t n = 0; n < lane->node_count; n++)
        for (size_t o = 0; o < lane->nodes[n].output_count; o++)
            if (ulp_is_float_output(&lane->nodes[n].outputs[o]) &&
                lane->nodes[n].outputs[o].range.headroom_bits < 1 &&
                !ulp_audit_is_absorbed(lane, &lane->nodes[n]) && !tight++)
                first = n;
    snprintf(count, sizeof count, "%zu output%s less than 1 bit below the largest value, first",
             tight, tight == 1 ? "" : "s");
    if (tight)
        add_line(page, page->yellow, count, &lane->nodes[first]);
}

/* How near the decision was; false: it is not known. */
static bool add_margin(const struct ulp_page *page, const struct ulp_audit_node *node)
{
    bool any = false;
    for (size_t o = 0; o < node->output_count; o++) {
        const struct ulp_divergence *divergence = node->outputs[o].divergence;
        if (!divergence || isnan(divergence->margin))
            continue;
        ulp_text_add(page->out, "    at element %zu what the reference decides is ahead by %.3g",
                     divergence->first, divergence->margin);
        if (isnan(divergence->margin_error))
            ulp_text_add(page->out, ", and here it is no number\n");
        else
            ulp_text_add(page->out, ", and the error of that is %.3g\n", divergence->margin_error);
        any = true;
    }
    return any;
}

void ulp_page_overflow(const struct ulp_page *page, const struct ulp_audit_lane *lane)
{
    if (lane->first_born >= 0)
        add_born(page, lane);
    else if (!lane->overflow_count)
        ulp_text_add(page->out,
                     "  no overflow: every value that is finite in the reference stays finite\n");
    add_fates(page, lane);
    if (lane->first_decided >= 0) {
        add_line(page, page->yellow, "first to diverge from the reference",
                 &lane->nodes[lane->first_decided]);
        const struct ulp_audit_node *decided = &lane->nodes[lane->first_decided];
        /* a Cast of what a Round gave */
        if (!add_margin(page, decided) && decided->source >= 0)
            add_margin(page, &lane->nodes[decided->source]);
    }
    add_tight(page, lane);
    add_constants(page, lane, true);
    add_constants(page, lane, false);
}
