/* What an audit says beside its headlines and tables: sentences, of the whole and of each lane. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/audit/audit_overflow.h"
#include "analysis/report/report.h"
#include "analysis/report/report_json.h"
#include "analysis/writing/first_screen.h"

#define S(count) ((count) == 1 ? "" : "s")

/* ---- of an arithmetic ---- */

/* What products compute in beside what their weights are stored in, where these are integers or
 * were asked to be. */
static void add_types(json_t **notes, const struct ulp_audit_lane *lane)
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
    if (integer && products > integer)
        ulp_note_add(
            notes, "",
            "%zu product%s, %zu of integer weights: %zu computed in int8 with INT32 sums, %zu "
            "computed in %s",
            products, S(products), integer_weights, integer, products - integer, compute);
    else if (integer || integer_weights)
        ulp_note_add(notes, "", "%zu product%s, %zu of integer weights: %zu computed in %s",
                     products, S(products), integer_weights, products,
                     integer ? "int8 with INT32 sums" : compute);
    if (lane->arithmetic.schedule.qdq_integer && !integer)
        ulp_note_add(
            notes, "",
            "qdq=integer: nothing to fuse, no product has DequantizeLinear on both factors");
}

static void add_qdq_divergence(json_t **notes, const struct ulp_audit *audit,
                               const struct ulp_audit_lane *lane)
{
    const struct ulp_qdq_divergence *d = &lane->qdq_divergence;
    const char *other = d->other < 0 ? NULL : audit->lanes[d->other].name;
    const struct ulp_audit_node *first = d->first < 0 ? NULL : &lane->nodes[d->first],
                                *step = d->first_step < 0 ? NULL : &lane->nodes[d->first_step];
    if (!other)
        return;
    if (!first)
        ulp_note_add(notes, "", "equals %s in every bit", other);
    else if (step)
        ulp_note_add(
            notes, "",
            "differs from %s first at node %td %s (%s), first by a whole quantisation step at node "
            "%td %s (%s); %zu of %zu integers differ",
            other, d->first, first->name, first->op, d->first_step, step->name, step->op, d->steps,
            d->count);
    else
        ulp_note_add(notes, "", "differs from %s first at node %td %s (%s)%s", other, d->first,
                     first->name, first->op,
                     d->count ? ", only by rounding: all integers are equal" : "");
}

/* What written-attention=kernel found. */
static void add_attention(json_t **notes, const struct ulp_audit *audit,
                          const struct ulp_audit_lane *lane)
{
    const size_t joined = audit->attentions_joined, apart = audit->attentions_apart;
    if (!lane->arithmetic.attention_joined)
        return;
    if (joined)
        ulp_note_add(notes, "", "%zu attention%s that the graph writes out: one kernel each",
                     joined, S(joined));
    if (apart)
        ulp_note_add(notes, "",
                     "%zu attention%s that the graph writes out %s node by node: of %s, %s", apart,
                     S(apart), apart == 1 ? "is" : "are", audit->attention_apart,
                     audit->attention_why);
    if (!joined && !apart)
        ulp_note_add(notes, "", "written-attention=kernel: the graph writes no attention out");
}

static void add_kernels(json_t **notes, const struct ulp_audit_lane *lane)
{
    size_t kernels = 0, together = 0, unstored = 0;
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_node_kernel *kernel = &lane->nodes[n].kernel;
        kernels = kernel->kernel > kernels ? kernel->kernel : kernels;
        together += kernel->kernel != 0;
        unstored += kernel->unstored;
    }
    if (lane->arithmetic.fuse != ULP_FUSE_NONE)
        ulp_note_add(notes, "",
                     "fused: %zu of %zu nodes in %zu kernels; the results of %zu are never stored",
                     together, lane->node_count, kernels, unstored);
}

static void add_kept(json_t **notes, const struct ulp_audit_lane *lane)
{
    struct ulp_text text = {0};
    size_t all = 0;
    ulp_text_add(&text, "of %zu nodes", lane->node_count);
    for (size_t k = 0; k < lane->kept_count; k++) {
        size_t nodes = 0;
        for (size_t n = 0; n < lane->node_count; n++)
            nodes += lane->nodes[n].kept == (ptrdiff_t)k;
        ulp_text_show(&text, "%s %zu in %s", k ? "," : "", nodes, lane->kept[k].name);
        all += nodes;
    }
    ulp_text_add(&text, "; %zu value%s cross%s a border", lane->border_count, S(lane->border_count),
                 lane->border_count == 1 ? "es" : "");
    if (all)
        ulp_note_text(notes, "", &text);
    else
        ulp_text_free(&text);
}

/* ---- shares ---- */

/* From here on the report says where the rest of the sum is; and that shares say nothing, as more
 * is off than explained. */
#define MISSING_FROM 0.02
#define MISSING_MOST 1

static void add_missing(json_t **notes, const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_node *most = NULL, *decides = lane->first_decided >= 0
                                                             ? &lane->nodes[lane->first_decided]
                                                             : NULL;
    if (!(fabs(lane->attribution.residual) >= MISSING_FROM))
        return;
    for (size_t n = 0; n < lane->node_count; n++)
        if (!most || fabs(lane->nodes[n].missing) > fabs(most->missing))
            most = &lane->nodes[n];
    if (most && fabs(lane->attribution.residual) > MISSING_MOST)
        ulp_note_add(notes, "",
                     "shares say nothing here: errors are too large for derivatives, most at node "
                     "%zu %s (%s)",
                     most->index, most->name, most->op);
    else if (most)
        ulp_note_add(
            notes, "",
            "shares lack %.1f %%: errors are too large for derivatives, most at node %zu %s (%s)",
            100 * lane->attribution.residual, most->index, most->name, most->op);
    if (decides)
        ulp_note_add(notes, "", "node %zu %s (%s) decides otherwise: shares are of the rest",
                     decides->index, decides->name, decides->op);
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

static void add_shares(json_t **notes, const struct ulp_audit_lane *lane)
{
    const struct ulp_attribution *attribution = &lane->attribution;
    size_t cancelling, stops = 0, first = 0, left = 0;
    const double joint = ulp_report_joint(lane, &cancelling);
    if (!attribution->given)
        return;
    if (!attribution->output && !attribution->output_count && lane->outputs.output_count > 1)
        ulp_note_add(notes, "",
                     "shares are of the error of all outputs together: %zu of them and %zu nodes "
                     "are too many for shares of each",
                     lane->outputs.output_count, lane->node_count);
    if (attribution->kept_count)
        ulp_note_add(notes, "", "shares are of what is left with %zu node%s in FP32",
                     attribution->kept_count, S(attribution->kept_count));
    if (cancelling > 1)
        ulp_note_add(notes, "", "%zu nodes cancel each other: together their share is %.1f %%",
                     cancelling, 100 * joint);
    add_missing(notes, lane);
    for (size_t n = lane->node_count; n-- > 0;)
        if (lane->nodes[n].stops) {
            first = n;
            stops++;
        }
    if (stops)
        ulp_note_add(notes, "",
                     "no share passes node %zu %s (%s): its derivative stops; nor %zu more", first,
                     lane->nodes[first].name, lane->nodes[first].op, stops - 1);
    for (size_t o = 0; o < attribution->output_count; o++)
        left += !attribution->outputs[o].sample_count && errs(lane, attribution->outputs[o].output);
    if (left)
        ulp_note_add(
            notes, "",
            "%zu output%s not among the four worst with half of the largest relative error: "
            "--attribute explains %s, too",
            left, left == 1 ? " is" : "s are", left == 1 ? "it" : "them");
}

/* ---- range ---- */

static void add_born(json_t **notes, const struct ulp_audit_lane *lane)
{
    size_t born = 0, poisoned = lane->poisoned_count;
    if (lane->first_born < 0) {
        if (!lane->overflow_count)
            ulp_note_add(notes, "",
                         "no overflow: every value that is finite in the reference stays finite");
        return;
    }
    const struct ulp_audit_node *node = &lane->nodes[lane->first_born];
    for (size_t n = 0; n < lane->node_count; n++)
        born += lane->nodes[n].born && !ulp_audit_is_absorbed(lane, &lane->nodes[n]);
    ulp_note_add(
        notes, "",
        "first non-finite value: node %zu %s (%s)%s%s; %zu node%s Inf or NaN from finite inputs, "
        "%zu more %s them on",
        node->index, node->name, node->op, node->zeroed ? ", whose input has become 0: " : "",
        node->zeroed ? node->zeroed : "", born, born == 1 ? " makes" : "s make", poisoned,
        poisoned == 1 ? "passes" : "pass");
}

/* What becomes of constants beyond the largest, and too small to hold. */
static void add_constants(json_t **notes, const struct ulp_audit_lane *lane, bool overflowed)
{
    static const char *const became[][2] = {
        [ULP_CONSTANTS_SATURATED] = {"the largest", "0"},
        [ULP_CONSTANTS_IEEE] = {"infinite", "0"},
        [ULP_CONSTANTS_TENSORRT] = {"the largest", "the smallest"},
        [ULP_CONSTANTS_ONNXCONVERTER] = {"1e4", "1e-7"},
    };
    size_t count = 0, elements = 0, first = 0;
    for (size_t c = 0; c < lane->constant_count; c++) {
        const size_t changed =
            overflowed ? lane->constants[c].overflowed : lane->constants[c].underflowed;
        elements += changed;
        if (changed && !count++)
            first = c;
    }
    if (count)
        ulp_note_add(notes, "", "%zu constant%s changed: %zu value%s %s became %s, first: %s",
                     count, S(count), elements, S(elements),
                     overflowed ? "beyond the largest" : "too small to hold",
                     became[lane->arithmetic.constants][!overflowed], lane->constants[first].name);
}

/* How near the decision was; false: it is not known. */
static bool add_margin(json_t **notes, const struct ulp_audit_node *node)
{
    bool any = false;
    for (size_t o = 0; o < node->output_count; o++) {
        const struct ulp_divergence *divergence = node->outputs[o].divergence;
        char here[64] = "here it is no number";
        if (!divergence || isnan(divergence->margin))
            continue;
        if (!isnan(divergence->margin_error))
            snprintf(here, sizeof here, "the error of that is %.3g", divergence->margin_error);
        ulp_note_add(notes, "",
                     "at element %zu what the reference decides is ahead by %.3g, and %s",
                     divergence->first, divergence->margin, here);
        any = true;
    }
    return any;
}

static void add_decided(json_t **notes, const struct ulp_audit_lane *lane)
{
    if (lane->first_decided < 0)
        return;
    const struct ulp_audit_node *decided = &lane->nodes[lane->first_decided];
    ulp_note_add(notes, "", "first to diverge from the reference: node %zu %s (%s)", decided->index,
                 decided->name, decided->op);
    /* a Cast of what a Round gave */
    if (!add_margin(notes, decided) && decided->source >= 0)
        add_margin(notes, &lane->nodes[decided->source]);
}

json_t *ulp_report_lane_notes(const struct ulp_audit *audit, const struct ulp_audit_lane *lane)
{
    json_t *notes = json_array();
    if (strcmp(lane->arithmetic.asked, lane->arithmetic.name) != 0)
        ulp_note_add(&notes, "", "is %s", lane->arithmetic.name);
    add_kept(&notes, lane);
    add_kernels(&notes, lane);
    add_shares(&notes, lane);
    ulp_report_scaled_notes(&notes, audit, lane);
    add_types(&notes, lane);
    add_attention(&notes, audit, lane);
    add_qdq_divergence(&notes, audit, lane);
    add_born(&notes, lane);
    add_decided(&notes, lane);
    add_constants(&notes, lane, true);
    add_constants(&notes, lane, false);
    return notes;
}

/* ---- of the whole ---- */

static void add_reference(json_t **notes, const struct ulp_audit *audit)
{
    const struct ulp_audit_cost *cost = audit->cost_count ? &audit->costs[0] : NULL;
    const bool pairs = strcmp(audit->reference, "pair") == 0;
    struct ulp_text text = {0};
    ulp_text_show(&text, "reference %s: ", audit->reference);
    if (pairs && cost && cost->by_pairs + cost->by_mpfr)
        ulp_text_add(&text, "mpfr, by pairs (106 bits); %zu of %zu values by MPFR; ", cost->by_mpfr,
                     cost->by_pairs + cost->by_mpfr);
    ulp_text_add(&text, "every operation of every node, from the model's exact constants; ");
    if (audit->certificate.given)
        ulp_text_show(&text,
                      "against %s it is good for %.1f digits on the outputs, %.1f at the worst "
                      "node%s%s",
                      pairs ? "192 bits" : "twice the precision", audit->certificate.output_digits,
                      audit->certificate.node_digits, audit->certificate.node ? " " : "",
                      audit->certificate.node ? audit->certificate.node : "");
    else if (!pairs && strncmp(audit->reference, "mpfr:", 5) != 0)
        ulp_text_add(&text, "its own rounding is part of every figure");
    else
        ulp_text_add(&text, "its own error is not certified: --certify recomputes it at %s",
                     pairs ? "192 bits" : "twice the precision");
    ulp_note_text(notes, "", &text);
}

/* Values of the model that the truth is not of. */
static void add_unpaired(json_t **notes, const struct ulp_audit *audit,
                         const struct ulp_audit_lane *lane)
{
    struct ulp_text text = {0};
    size_t shown = 0;
    for (size_t n = 0; audit->reference_model && n < lane->node_count && shown < ULP_PAGE_RANKED;
         n++)
        for (size_t o = 0; o < lane->nodes[n].output_count && shown < ULP_PAGE_RANKED; o++)
            if (lane->nodes[n].outputs[o].unpaired)
                ulp_text_show(&text, "%s%s",
                              shown++ ? ", "
                                      : "without a value in the reference model (entire and "
                                        "carried unknown): ",
                              lane->nodes[n].outputs[o].name);
    ulp_text_add(&text, "%s", audit->unpaired_count > shown ? ", ..." : "");
    if (shown)
        ulp_note_text(notes, "", &text);
    else
        ulp_text_free(&text);
}

json_t *ulp_report_notes(const struct ulp_audit *audit)
{
    json_t *notes = json_array();
    const struct ulp_audit_lane *lane = audit->lane_count ? &audit->lanes[0] : NULL;
    size_t idle = 0;
    for (size_t n = 0; lane && n < lane->node_count; n++)
        idle += lane->nodes[n].executions == 0;
    if (lane)
        ulp_note_add(&notes, "", "%zu node%s, %zu sample%s", lane->node_count, S(lane->node_count),
                     audit->sample_count, audit->sample_count == 1 ? "" : "s (the worst is shown)");
    if (idle)
        ulp_note_add(
            &notes, "",
            "%zu node%s in branches or loops that no sample enters: nothing is known of them", idle,
            idle == 1 ? " is" : "s are");
    add_reference(&notes, audit);
    if (lane)
        add_unpaired(&notes, audit, lane);
    return notes;
}
