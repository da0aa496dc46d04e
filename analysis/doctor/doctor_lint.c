/* The lint's part in a diagnosis: what is wrong in any arithmetic, and rules that say the same of
 * the graph as a cause that was found by running it. */
#include <stdlib.h>
#include <string.h>

#include "analysis/audit/audit_mixed.h"
#include "analysis/doctor/doctoring.h"
#include "analysis/lint/refusal.h"
#include "analysis/report/report_json.h"

/* Findings about operators written out as several nodes are so far from any of these, others at
 * the node or beside it. */
enum { BESIDE = 1, IDIOM = 6, GRAPH_NAMED = 3 };

static bool is_wrong_anyway(const char *id)
{
    static const char ids[] =
#define GRAPH(rule) rule " "
#include "analysis/doctor/reason.def"
        ;
    return ulp_is_word(id, ids);
}

/* Is what the rule says of FP16 nothing to the node? */
static bool is_beside(const struct ulp_doctoring *x, const struct ulp_doctor_cause *cause,
                      const char *id)
{
    static const char ids[] =
#define HALF(rule) rule " "
#include "analysis/doctor/reason.def"
        ;
    const struct ulp_audit_node *node = &x->lane->nodes[cause->index];
    /* what is too large when it comes in, no operator makes so */
    const bool given = cause->reason == ULP_DOCTOR_OVERFLOW && cause->value &&
                       x->samples[0].inputs &&
                       ulp_tensor_set_find(x->samples[0].inputs, cause->value);
    return ulp_is_word(id, ids) &&
           (given || ulp_audit_node_format(x->lane, node).precision >= ULP_SINGLE);
}

/* Wrong only where the original's outputs are others. */
static bool is_wrong_beside(const char *id)
{
    return ulp_is_word(id, "constant-off eps-scaled");
}

/* Has another rule said it of the node? */
static bool is_found(const struct ulp_doctoring *x, const struct ulp_finding *finding)
{
    bool is = false;
    for (size_t c = 0; c < x->doctor->cause_count; c++)
        is |= finding->node && x->doctor->causes[c].reason == ULP_DOCTOR_GRAPH &&
              x->doctor->causes[c].node && strcmp(x->doctor->causes[c].node, finding->node) == 0;
    return is;
}

/* Is what a zero point cuts off no more than its steps round away? */
static bool is_harmless(const struct ulp_doctoring *x, const struct ulp_finding *finding)
{
    return strcmp(finding->rule, "qdq-clips") == 0 &&
           ulp_scaled_cuts_nothing(x->lane, finding->node);
}

const struct ulp_finding *ulp_doctor_find_refused(const struct ulp_doctor *doctor)
{
    return doctor->target ? ulp_lint_find_error(doctor->lint, is_wrong_anyway) : NULL;
}

static const struct ulp_audit_node *find_node(const struct ulp_doctoring *x, const char *name)
{
    for (size_t n = 0; name && n < x->lane->node_count; n++)
        if (strcmp(x->lane->nodes[n].name, name) == 0)
            return &x->lane->nodes[n];
    return NULL;
}

/* Does a result of the node have the original's values, but for a tenth of them? */
static bool is_original(const struct ulp_audit_node *node)
{
    const struct ulp_audit_output *output = node->output_count ? node->outputs : NULL;
    return output && !output->unpaired && !output->entire.diverged &&
           output->entire.rms < 0.1 * output->range.ref_rms;
}

static bool gives(const struct ulp_audit_node *node, const char *value)
{
    bool is = false;
    for (size_t o = 0; o < node->output_count; o++)
        is |= strcmp(node->outputs[o].name, value) == 0;
    return is;
}

/* Is everything that follows from the node the original's again, as where scales are moved from one
 * constant into the next? */
static bool is_made_up_for(struct ulp_doctoring *x, const struct ulp_audit_node *node)
{
    const struct ulp_audit *audit = x->doctor->audit;
    bool *open = calloc(audit->place_count + 1, sizeof *open), ends = false;
    x->failed |= !open;
    for (size_t n = node->index; open && n < audit->place_count && n < x->lane->node_count; n++) {
        bool follows = n == node->index;
        for (size_t i = 0; i < audit->places[n].input_count; i++)
            follows |=
                audit->places[n].inputs[i].node >= 0 && open[audit->places[n].inputs[i].node];
        open[n] = follows && !is_original(&x->lane->nodes[n]);
        for (size_t o = 0; open[n] && o < x->lane->outputs.output_count; o++)
            ends |= gives(&x->lane->nodes[n], x->lane->outputs.outputs[o].name);
    }
    free(open);
    return !ends;
}

static void name_graph(struct ulp_doctoring *x, bool made_up_for)
{
    const struct ulp_lint_result *lint = x->doctor->lint;
    size_t named = 0;
    for (size_t f = 0; f < lint->finding_count && named < GRAPH_NAMED; f++) {
        const struct ulp_finding *finding = &lint->findings[f];
        struct ulp_text text = {0};
        struct ulp_lint_rule rule;
        const bool refused = finding == ulp_doctor_find_refused(x->doctor);
        /* where the outputs are the original's, something makes up for it */
        const bool beside = is_wrong_beside(finding->rule) && x->options->original &&
                            x->doctor->grade != ULP_GRADE_FINE;
        const struct ulp_audit_node *node = find_node(x, finding->node);
        if ((!is_wrong_anyway(finding->rule) && !refused && !beside) || is_found(x, finding) ||
            is_harmless(x, finding) || (beside && node && is_made_up_for(x, node)) != made_up_for)
            continue;
        if (node)
            ulp_text_show(&text, "node %zu %s (%s): ", node->index, node->name, node->op);
        else if (finding->node)
            ulp_text_show(&text, "node %s: ", finding->node);
        ulp_lint_rule((size_t)ulp_lint_rule_find(finding->rule), &rule);
        ulp_text_show(&text, "%s; %s", finding->text,
                      refused                          ? rule.why
                      : rule.targets == ULP_TARGET_ALL ? "in any arithmetic"
                                                       : "figures here are without it");
        struct ulp_doctor_cause *cause =
            ulp_doctor_add(x, ULP_DOCTOR_GRAPH, node, finding->value, &text);
        cause->rule = ulp_doctor_copy(x, finding->rule);
        cause->fix = ulp_doctor_copy(x, finding->fix);
        if (!cause->node)
            cause->node = ulp_doctor_copy(x, finding->node);
        named++;
    }
}

void ulp_doctor_find_graph(struct ulp_doctoring *x)
{
    const size_t before = x->doctor->cause_count;
    name_graph(x, false);
    if (x->doctor->cause_count == before && !x->failed)
        name_graph(x, true); /* of little weight, but all there is */
}

/* ---- rules beside causes ---- */

/* Steps from the node along the graph's edges, either way or ahead only; more than `most`: one more
 * than that. */
static void measure_steps(const struct ulp_audit *audit, size_t from, bool ahead, int most,
                          int *steps)
{
    for (size_t n = 0; n < audit->place_count; n++)
        steps[n] = most + 1;
    steps[from] = 0;
    for (int round = 1; round <= most; round++)
        for (size_t n = 0; n < audit->place_count; n++)
            for (size_t i = 0; i < audit->places[n].input_count; i++) {
                const ptrdiff_t source = audit->places[n].inputs[i].node;
                if (source < 0)
                    continue;
                if (steps[source] == round - 1 && steps[n] > round)
                    steps[n] = round;
                if (!ahead && steps[n] == round - 1 && steps[source] > round)
                    steps[source] = round;
            }
}

static bool reads(const struct ulp_place *place, const char *value)
{
    bool is = false;
    for (size_t i = 0; value && i < place->input_count; i++)
        is |= strcmp(place->inputs[i].name, value) == 0;
    return is;
}

/* How far the finding is from the cause; more than is allowed: it says nothing of it. */
static int find_distance(const struct ulp_doctoring *x, const struct ulp_doctor_cause *cause,
                         const struct ulp_finding *finding, const int *steps, const int *ahead)
{
    const struct ulp_audit_node *node = find_node(x, finding->node);
    /* what is written out is named by its last node, so that its parts lie before, from its first
     * on */
    const bool written_out = strncmp(finding->rule, "decomposed-", 11) == 0;
    const int allowed = written_out ? IDIOM : BESIDE, *of = written_out ? ahead : steps;
    if (ulp_lint_rows[ulp_lint_rule_find(finding->rule)].harmless)
        return IDIOM + 1;
    if ((cause->value && finding->value && strcmp(cause->value, finding->value) == 0) ||
        (cause->index >= 0 && reads(&x->doctor->audit->places[cause->index], finding->value)))
        return 0;
    return node && node->index < x->doctor->audit->place_count && of[node->index] <= allowed &&
                   (!written_out || (size_t)cause->index >= finding->begins)
               ? of[node->index]
               : IDIOM + 1;
}

static void match(struct ulp_doctoring *x, struct ulp_doctor_cause *cause, int *steps, int *ahead)
{
    const struct ulp_lint_result *lint = x->doctor->lint;
    const struct ulp_finding *best = NULL;
    int least = IDIOM + 1;
    measure_steps(x->doctor->audit, (size_t)cause->index, false, BESIDE, steps);
    measure_steps(x->doctor->audit, (size_t)cause->index, true, IDIOM, ahead);
    for (size_t f = 0; f < lint->finding_count; f++) {
        const struct ulp_finding *finding = &lint->findings[f];
        const struct ulp_audit_node *said = find_node(x, finding->node);
        const int distance = said && (ptrdiff_t)said->index == ulp_doctor_through(x, cause)
                                 ? 0
                                 : find_distance(x, cause, finding, steps, ahead);
        if ((x->processors && strcmp(finding->rule, "bytes-saturate") == 0) ||
            is_beside(x, cause, finding->rule) || is_harmless(x, finding))
            continue; /* the former is a cause of its own, where it is one */
        if (distance <= IDIOM &&
            (distance < least || (distance == least && finding->severity > best->severity))) {
            least = distance;
            best = finding;
        }
    }
    if (!best || (cause->fix && best->severity != ULP_SEVERITY_ERROR)) /* results stay right */
        return;
    cause->rule = ulp_doctor_copy(x, best->rule);
    cause->fix = ulp_doctor_copy(x, best->fix);
}

void ulp_doctor_match_lint(struct ulp_doctoring *x)
{
    struct ulp_doctor *doctor = x->doctor;
    const size_t count = doctor->audit->place_count + 1;
    int *steps = calloc(2 * count, sizeof *steps);
    x->failed |= !steps;
    for (size_t c = 0; c < doctor->cause_count && !x->failed; c++)
        if (doctor->causes[c].index >= 0 &&
            (size_t)doctor->causes[c].index < doctor->audit->place_count && !doctor->causes[c].rule)
            match(x, &doctor->causes[c], steps, steps + count);
    free(steps);
}
