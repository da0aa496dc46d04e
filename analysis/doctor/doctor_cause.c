/* Where a wrong result comes from, by the rules of reason.def. */
#include <math.h>
#include <string.h>

#include "analysis/audit/audit_keep.h"
#include "analysis/audit/audit_mixed.h"
#include "analysis/audit/audit_overflow.h"
#include "analysis/compare/comparing.h"
#include "analysis/doctor/doctoring.h"
#include "analysis/measure/judge.h"
#include "analysis/overflow/meter.h"
#include "analysis/report/report.h"
#include "analysis/report/report_json.h"
#include "analysis/writing/columns.h"
#include "number/function/math.h"

/* From this part of the outputs' error on a node's share makes it a cause, and so many are named;
 * with less the largest, where nothing else is. */
#define SHARE_NAMED 0.2
enum { CAUSES_EACH = 3 };

const char *ulp_doctor_reason_name(enum ulp_doctor_reason reason)
{
    static const char *const names[ULP_DOCTOR_REASONS] = {
#define CAUSE(reason, word, function, what) [ULP_DOCTOR_##reason] = word,
#include "analysis/doctor/reason.def"
    };
    return names[reason];
}

static void add_node(struct ulp_text *text, const struct ulp_audit_node *node)
{
    ulp_text_show(text, "node %zu %s (%s)", node->index, node->name, node->op);
}

static bool is_named(const struct ulp_doctoring *x, const struct ulp_audit_node *node)
{
    bool named = false;
    for (size_t c = 0; c < x->doctor->cause_count; c++)
        named |= x->doctor->causes[c].index == (ptrdiff_t)node->index;
    return named;
}

static size_t count_reason(const struct ulp_doctoring *x, enum ulp_doctor_reason reason)
{
    size_t count = 0;
    for (size_t c = 0; c < x->doctor->cause_count; c++)
        count += x->doctor->causes[c].reason == reason;
    return count;
}

/* ---- inputs ---- */

void ulp_doctor_find_inputs(struct ulp_doctoring *x)
{
    const struct ulp_audit *audit = x->doctor->audit;
    for (size_t i = 0; i < audit->nonfinite_input_count && i < CAUSES_EACH; i++) {
        const struct ulp_audit_input *input = &audit->nonfinite_inputs[i];
        struct ulp_text text = {0};
        if (x->options->allow_nonfinite_inputs)
            return;
        ulp_text_show(&text, "input %s holds %zu value%s not finite, in sample %s", input->name,
                      input->count, input->count == 1 ? " that is" : "s that are",
                      audit->sample_names[input->sample]);
        ulp_doctor_add(x, ULP_DOCTOR_INPUT, NULL, input->name, &text);
    }
}

/* ---- the reference itself ---- */

/* Digits: a sum that drops a term, and a difference behind it. */
static void add_lost(struct ulp_doctoring *x)
{
    const struct ulp_certificate *certificate = &x->doctor->audit->certificate;
    struct ulp_text text = {0};
    const struct ulp_audit_node *node =
        certificate->lost ? &x->lane->nodes[certificate->lost_at] : NULL;
    if (node) {
        add_node(&text, node);
        ulp_text_show(&text,
                      " drops a term beyond the digits of %s, and a difference behind it "
                      "cancels",
                      x->doctor->reference);
    } else {
        ulp_text_show(&text, "%s is good for %.1f digits of the outputs", x->doctor->reference,
                      certificate->output_digits);
    }
    ulp_doctor_add(x, ULP_DOCTOR_BIRTH, node, NULL, &text)->fix =
        ulp_doctor_copy(x, "judge by a reference of more digits: --reference mpfr:512");
}

void ulp_doctor_find_births(struct ulp_doctoring *x)
{
    const struct ulp_audit *audit = x->doctor->audit;
    if (ulp_certificate_is_lost(&audit->certificate))
        add_lost(x);
    for (size_t b = 0; b < audit->birth_count && b < CAUSES_EACH; b++) {
        const struct ulp_birth *birth = &audit->births[b];
        struct ulp_text text = {0}, todo = {0};
        ulp_birth_say(&text, birth, true);
        ulp_text_show(&text, ", with the inputs of %s", audit->sample_names[birth->sample]);
        ulp_birth_todo(&todo, birth);
        ulp_doctor_add(x, ULP_DOCTOR_BIRTH, &x->lane->nodes[birth->node], birth->value, &text)
            ->fix = ulp_doctor_keep(x, &todo);
    }
}

/* ---- overflow ---- */

/* The forecast of the same node. */
static const struct ulp_overflow_output *find_forecast(const struct ulp_doctoring *x,
                                                       const struct ulp_audit_node *node)
{
    const struct ulp_overflow_forecast *forecast = x->doctor->overflow;
    const struct ulp_overflow_output *found = NULL;
    for (size_t n = 0; forecast && n < forecast->lanes[0].node_count; n++) {
        const struct ulp_overflow_node *other = &forecast->lanes[0].nodes[n];
        for (size_t o = 0; strcmp(other->name, node->name) == 0 && o < other->output_count; o++)
            if (other->outputs[o].overflowed > 0 && (!found || !found->culprit))
                found = &other->outputs[o];
    }
    return found;
}

/* What becomes of it. */
static void add_fate(struct ulp_text *text, const struct ulp_audit_lane *lane,
                     const struct ulp_audit_overflow *overflow)
{
    if (overflow && overflow->reaches_output)
        ulp_text_add(text, "; an output is not finite because of it");
    else if (overflow && overflow->spoils >= 0) {
        ulp_text_add(text, "; finite results are wrong by it from ");
        add_node(text, &lane->nodes[overflow->spoils]);
        ulp_text_add(text, " on");
    }
}

/* What is only moved is too large already where it was made, which a fused kernel need not store.
 */
static const struct ulp_audit_node *find_origin(const struct ulp_doctoring *x,
                                                const struct ulp_audit_node *node)
{
    const struct ulp_audit *audit = x->doctor->audit;
    const struct ulp_format format = ulp_audit_node_format(x->lane, node);
    while (node->types.moves && audit->places[node->index].input_count) {
        const ptrdiff_t from = audit->places[node->index].inputs[0].node;
        if (from < 0 || !x->lane->nodes[from].output_count ||
            !(x->lane->nodes[from].outputs[0].range.ref_max > format.max_finite))
            break;
        node = &x->lane->nodes[from];
    }
    return node;
}

/* The input of the model that the node reads and whose values are beyond what the lane stores.
 * Into *reach how far; NULL: none. */
static const char *find_given(const struct ulp_doctoring *x, const struct ulp_audit_node *node,
                              double *reach)
{
    const struct ulp_place *place = &x->doctor->audit->places[node->index];
    const double largest = ulp_audit_node_arithmetic(x->lane, node)->storage.max_finite;
    for (size_t i = 0; i < place->input_count; i++) {
        *reach = 0;
        for (size_t s = 0; place->inputs[i].node < 0 && !place->inputs[i].constant &&
                           s < x->sample_count && x->samples[s].inputs;
             s++) {
            const struct ulp_tensor *given =
                ulp_tensor_set_find(x->samples[s].inputs, place->inputs[i].name);
            for (size_t e = 0; given && ulp_type_is_float(given->type) && e < given->count; e++)
                *reach = ulp_math_max(*reach, fabs(ulp_tensor_get(given, e)));
        }
        if (isfinite(*reach) && *reach > largest)
            return place->inputs[i].name;
    }
    return NULL;
}

static void add_overflow(struct ulp_doctoring *x, const struct ulp_audit_node *stores)
{
    const struct ulp_audit_lane *lane = x->lane;
    const struct ulp_audit_node *node = find_origin(x, stores);
    const struct ulp_audit_overflow *overflow = ulp_audit_overflow_root(lane, stores->overflow);
    const struct ulp_audit_constant *constant =
        overflow && overflow->constant >= 0 ? &lane->constants[overflow->constant] : NULL;
    const struct ulp_overflow_output *forecast = find_forecast(x, node);
    const struct ulp_format format = ulp_audit_node_format(lane, stores);
    double most = 0;
    bool fits = true;
    for (size_t o = 0; o < node->output_count; o++) {
        most = ulp_math_max(most, node->outputs[o].range.ref_max);
        fits &= node == stores && !(node->outputs[o].range.headroom_bits < 0);
    }
    struct ulp_text text = {0};
    double reach;
    const char *given = constant ? NULL : find_given(x, stores, &reach);
    const char *value = constant   ? constant->name
                        : given    ? given
                        : forecast ? forecast->culprit
                                   : NULL;
    add_node(&text, node);
    if (given && node == stores) {
        ulp_text_show(&text, " reads input %s, which reaches %s: the largest %s is %.6g", given,
                      ULP_REACH(reach), ulp_audit_node_arithmetic(lane, node)->storage.name,
                      ulp_audit_node_arithmetic(lane, node)->storage.max_finite);
    } else if (node != stores) {
        ulp_text_add(&text, " overflows where ");
        add_node(&text, stores);
        ulp_text_show(&text, " stores it: its exact values reach %s, and the largest %s is %.6g",
                      ULP_REACH(most), format.name, format.max_finite);
    } else if (!fits)
        ulp_text_show(&text, " overflows: its exact values reach %s, and the largest %s is %.6g",
                      ULP_REACH(most), format.name, format.max_finite);
    else if (forecast &&
             (forecast->cause == ULP_OVERFLOW_HIDDEN || forecast->cause == ULP_OVERFLOW_SUM))
        ulp_text_show(&text,
                      " overflows inside (%s%s%s): its results reach only %s, and the largest %s "
                      "is %.6g",
                      ulp_overflow_cause_name(forecast->cause), value ? " " : "",
                      value ? value : "", ULP_REACH(most), format.name, format.max_finite);
    else
        ulp_text_show(&text, " is not finite, though its exact values reach only %s",
                      ULP_REACH(most));
    if (constant)
        ulp_text_show(&text, ", by constant %s, which reaches %.3g", constant->name,
                      constant->largest);
    else if (value && !given && node == stores && forecast->cause != ULP_OVERFLOW_HIDDEN &&
             forecast->cause != ULP_OVERFLOW_SUM) {
        ulp_text_add(&text, ", ");
        ulp_overflow_say_cause(&text, forecast->cause, value);
    }
    add_fate(&text, lane, overflow);
    ulp_doctor_add(x, ULP_DOCTOR_OVERFLOW, node, value, &text);
}

/* Behind another overflow: by its exact values it overflows, too, though nothing that it reads is
 * beyond the format. */
static bool overflows_too(const struct ulp_doctoring *x, const struct ulp_audit_node *node)
{
    const struct ulp_place *place = &x->doctor->audit->places[node->index];
    const double largest = ulp_audit_node_format(x->lane, node).max_finite;
    bool beyond = false;
    for (size_t o = 0; o < node->output_count && node->poisoned; o++)
        beyond |= node->outputs[o].range.ref_max > largest;
    for (size_t i = 0; i < place->input_count && beyond; i++) {
        const ptrdiff_t from = place->inputs[i].node;
        for (size_t o = 0; from >= 0 && o < x->lane->nodes[from].output_count; o++)
            beyond &= !(x->lane->nodes[from].outputs[o].range.ref_max > largest);
    }
    return beyond;
}

/* Do its exact values fit, so that it overflows inside alone? */
static bool fits_outside(const struct ulp_doctoring *x, const struct ulp_audit_node *node)
{
    const double largest = ulp_audit_node_format(x->lane, node).max_finite;
    bool fits = true;
    for (size_t o = 0; o < node->output_count; o++)
        fits &= !(node->outputs[o].range.ref_max > largest);
    return fits;
}

void ulp_doctor_find_overflows(struct ulp_doctoring *x)
{
    const struct ulp_audit_lane *lane = x->lane;
    for (int turn = 0; turn < 3; turn++) /* the last: by a sum inside, as its rule is known */
        for (size_t n = 0; n < lane->node_count; n++) {
            const struct ulp_audit_node *node = &lane->nodes[n];
            struct ulp_zeroed zeroed;
            if ((turn == 0   ? node->born && !fits_outside(x, node)
                 : turn == 1 ? overflows_too(x, node)
                             : node->born) &&
                !is_named(x, node) &&
                !ulp_report_find_zeroed(x->doctor->audit, lane, node, &zeroed) &&
                !ulp_audit_is_absorbed(lane, node) &&
                count_reason(x, ULP_DOCTOR_OVERFLOW) < CAUSES_EACH)
                add_overflow(x, node);
        }
    static const char *const becomes[] = {[ULP_CONSTANTS_SATURATED] = "that is what it becomes",
                                          [ULP_CONSTANTS_IEEE] = "it becomes infinite",
                                          [ULP_CONSTANTS_TENSORRT] = "that is what it becomes",
                                          [ULP_CONSTANTS_ONNXCONVERTER] =
                                              "the converter makes it 10000"};
    for (size_t n = 0; n < lane->node_count; n++) {
        const struct ulp_audit_node *node = &lane->nodes[n];
        const struct ulp_audit_constant *constant = ulp_audit_spoiling(lane, node);
        struct ulp_text text = {0};
        if (!constant || is_named(x, node) || count_reason(x, ULP_DOCTOR_OVERFLOW) >= CAUSES_EACH)
            continue;
        add_node(&text, node);
        ulp_text_show(&text,
                      " reads constant %s, which reaches %.3g: the largest %s is %.6g, and %s",
                      constant->name, constant->largest, ulp_audit_node_format(lane, node).name,
                      ulp_audit_node_format(lane, node).max_finite,
                      becomes[ulp_audit_node_arithmetic(lane, node)->constants]);
        ulp_doctor_add(x, ULP_DOCTOR_OVERFLOW, node, constant->name, &text);
    }
}

/* ---- what became 0, or negative ---- */

static bool is_zeroed_named(const struct ulp_doctoring *x, const char *value)
{
    bool named = false;
    for (size_t c = 0; c < x->doctor->cause_count; c++)
        named |= x->doctor->causes[c].value && strcmp(x->doctor->causes[c].value, value) == 0;
    return named;
}

static void find_faint(struct ulp_doctoring *x)
{
    const struct ulp_audit_lane *lane = x->lane;
    const struct ulp_audit_node *node = NULL;
    while (x->doctor->grade != ULP_GRADE_FINE && (node = ulp_report_find_faint(lane, node))) {
        const struct ulp_audit_node *by = &lane->nodes[node->faint_by];
        struct ulp_text text = {0}, fix = {0};
        if (is_named(x, by) || count_reason(x, ULP_DOCTOR_ZERO) >= CAUSES_EACH)
            continue;
        ulp_report_faint(&text, lane, node);
        ulp_text_show_whole(&fix, "compute ");
        ulp_text_show_whole(&fix, by->name);
        ulp_text_add(&fix, " and ");
        ulp_text_show_whole(&fix, node->name);
        ulp_text_add(&fix,
                     " in FP32, or multiply what the first reads by a power of two and divide "
                     "by it behind the second");
        ulp_doctor_add(x, ULP_DOCTOR_ZERO, by, by->outputs[0].name, &text)->fix =
            ulp_doctor_keep(x, &fix);
    }
}

void ulp_doctor_find_zeros(struct ulp_doctoring *x)
{
    const struct ulp_audit_lane *lane = x->lane;
    /* before what has become negative what is 0 */
    for (size_t i = 0; i < 2 * lane->node_count; i++) {
        const struct ulp_audit_node *node = &lane->nodes[i % lane->node_count];
        struct ulp_text text = {0};
        struct ulp_zeroed zeroed;
        if (!ulp_report_find_zeroed(x->doctor->audit, lane, node, &zeroed) ||
            (zeroed.value != NULL) != (i < lane->node_count) || ulp_audit_is_absorbed(lane, node) ||
            count_reason(x, ULP_DOCTOR_ZERO) >= CAUSES_EACH ||
            (zeroed.value ? is_zeroed_named(x, zeroed.value) : is_named(x, zeroed.by)))
            continue;
        ulp_report_zeroed(&text, x->doctor->audit, lane, node, &zeroed);
        ulp_doctor_add(x, ULP_DOCTOR_ZERO, zeroed.by ? zeroed.by : node, zeroed.value, &text);
    }
    find_faint(x);
}

/* ---- decisions ---- */

void ulp_doctor_find_decision(struct ulp_doctoring *x)
{
    const struct ulp_audit_lane *lane = x->lane;
    bool diverged = false;
    for (size_t o = 0; o < lane->outputs.output_count; o++)
        diverged |= lane->outputs.outputs[o].entire.diverged;
    if (!diverged || lane->first_decided < 0 || ulp_report_find_cause(lane))
        return;
    const struct ulp_audit_node *node = &lane->nodes[lane->first_decided];
    struct ulp_text text = {0};
    add_node(&text, node);
    ulp_text_add(&text, " decides otherwise than the reference");
    ulp_report_decided(&text, node);
    ulp_doctor_add(x, ULP_DOCTOR_DECISION, node, NULL, &text);
}

/* ---- recordings ---- */

void ulp_doctor_find_recording(struct ulp_doctoring *x)
{
    const struct ulp_comparison *comparison = x->doctor->comparison;
    const size_t count = comparison ? comparison->file_count : 0;
    for (size_t i = 0; i < 2 * count; i++) { /* those of which nodes are told first */
        const struct ulp_compared_file *file = &comparison->files[i % count];
        if (file->explained || (file->cause.node_count > 0) != (i < count))
            continue;
        const struct ulp_compared_tensor *tensor =
            file->first_unexplained >= 0 ? &comparison->tensors[file->first_unexplained] : NULL;
        ptrdiff_t index = tensor ? tensor->index : -1;
        for (size_t n = 0; n < x->lane->node_count && file->cause.todo; n++)
            if (strcmp(x->lane->nodes[n].name, file->cause.nodes[0]) == 0)
                index = (ptrdiff_t)n;
        const struct ulp_audit_node *node =
            index >= 0 && (size_t)index < x->lane->node_count ? &x->lane->nodes[index] : NULL;
        struct ulp_headline head = {0};
        struct ulp_text text = {0};
        const struct ulp_page page = {.out = &text};
        ulp_comparison_headline(comparison, i % count, &head);
        ulp_text_show(&text, "recording %s%s: %s", file->name,
                      file->hidden ? ", of which it cannot be told" : ", which is NOT explained",
                      head.why.data ? head.why.data : "");
        char *todo = ulp_doctor_copy(x, head.todo.data);
        ulp_headline_free(&page, &head);
        ulp_doctor_add(x, ULP_DOCTOR_RECORDING, node, tensor ? tensor->name : NULL, &text)->fix =
            todo;
    }
}

/* ---- shares ---- */

/* Of what is left with other nodes kept, decisions may be those of what these did. */
static double part_of(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    return lane->attribution.kept_count ? node->share : ulp_report_part(lane, node);
}

/* Exact values so small that the format has no more than its least digits for them. */
static void add_small(struct ulp_text *text, const struct ulp_audit_lane *lane,
                      const struct ulp_audit_node *node)
{
    const struct ulp_format format = ulp_audit_node_format(lane, node);
    for (size_t o = 0; o < node->output_count; o++) {
        const double most = node->outputs[o].range.ref_max;
        if (most > 0 && most < ldexp(1, format.emin)) {
            ulp_text_add(text,
                         "; its exact values reach only %.3g, below the normal numbers of %s: "
                         "they are subnormal or 0 there",
                         most, format.name);
            return;
        }
    }
}

/* Where the processors that are judged are those whose sums saturate, that is the error's cause. */
static void find_saturation(struct ulp_doctoring *x)
{
    const struct ulp_lint_result *lint = x->doctor->lint;
    const bool saturates = x->processors && !x->exact_is_worse && !x->sums_alike;
    for (size_t f = 0; saturates && f < lint->finding_count; f++) {
        const struct ulp_finding *finding = &lint->findings[f];
        struct ulp_text text = {0};
        if (strcmp(finding->rule, "bytes-saturate") != 0)
            continue;
        ulp_text_show(&text, "%s: %s", finding->what, finding->text);
        struct ulp_doctor_cause *cause = ulp_doctor_add(x, ULP_DOCTOR_ERROR, NULL, NULL, &text);
        cause->rule = ulp_doctor_copy(x, finding->rule);
        cause->fix = ulp_doctor_copy(x, finding->fix);
        cause->node = ulp_doctor_copy(x, finding->node);
    }
}

/* Beside an original: the first of the nodes that it has not which give what the node reads. NULL:
 * there is none, or the node does not err by the graph. */
static const struct ulp_audit_node *find_converted(const struct ulp_doctoring *x,
                                                   const struct ulp_audit_node *node)
{
    const struct ulp_audit *audit = x->doctor->audit;
    const struct ulp_audit_node *found = NULL;
    bool further = x->options->original && !node->outputs[0].unpaired &&
                   node->causes[ULP_SHARE_GRAPH] > node->share / 2;
    while (further) {
        const struct ulp_place *place = &audit->places[found ? found->index : node->index];
        further = false;
        for (size_t i = 0; i < place->input_count && !further; i++) {
            const ptrdiff_t from = place->inputs[i].node;
            further = from >= 0 && x->lane->nodes[from].output_count &&
                      x->lane->nodes[from].outputs[0].unpaired;
            found = further ? &x->lane->nodes[from] : found;
        }
    }
    return found;
}

/* Does its error pass through a node that is named for that? */
static bool is_told(struct ulp_doctoring *x, const struct ulp_audit_node *node)
{
    struct ulp_magnified magnified = {0};
    const struct ulp_audit_node *converted = find_converted(x, node);
    bool told = is_named(x, node) || (converted && is_named(x, converted));
    if (told || !x->through_count || part_of(x->lane, node) < SHARE_NAMED)
        return told;
    ulp_report_magnifier(x->doctor->audit, x->lane, node, &magnified);
    x->failed |= magnified.failed;
    for (size_t t = 0; magnified.at && t < x->through_count; t++)
        told |= x->through[t].at == magnified.at->index;
    return told;
}

static void keep_through(struct ulp_doctoring *x, const struct ulp_magnified *magnified)
{
    if (magnified->at && !x->failed)
        x->through[x->through_count++] =
            (struct ulp_doctor_through){x->doctor->cause_count - 1, magnified->at->index};
}

/* What to do by what makes errors count for more, where no rule says it, no plan was tried and FP32
 * does not help. */
static void add_mends(struct ulp_doctoring *x)
{
    for (size_t t = 0; t < x->through_count && !x->doctor->plan && !x->doctor->fine_beside; t++) {
        struct ulp_doctor_cause *cause = &x->doctor->causes[x->through[t].cause];
        struct ulp_text fix = {0};
        if (cause->fix)
            continue;
        ulp_report_mends(&fix, x->lane, &x->lane->nodes[x->through[t].at]);
        cause->fix = ulp_doctor_keep(x, &fix);
    }
}

/* Where shares lack most of it: by the sizes of errors. */
static bool find_jump(struct ulp_doctoring *x)
{
    struct ulp_magnified jump;
    struct ulp_text text = {0};
    const struct ulp_audit_node *cause = ulp_report_jump(x->doctor->audit, x->lane, &jump);
    if (!cause)
        return false;
    ulp_report_jumped(&text, x->doctor->audit, x->lane, cause, &jump);
    ulp_doctor_add(x, ULP_DOCTOR_ERROR, cause, NULL, &text);
    keep_through(x, &jump);
    return true;
}

/* An input of the model that is rounded as it is stored. */
static void find_rounded(struct ulp_doctoring *x, const char *output)
{
    const struct ulp_audit_node *reader = ulp_report_find_reader(x->lane);
    struct ulp_text text = {0};
    struct ulp_magnified magnified = {0};
    if (!reader || is_named(x, reader))
        return;
    ulp_report_reads(&text, x->doctor->audit, x->lane, reader, output);
    ulp_report_magnifier(x->doctor->audit, x->lane, reader, &magnified);
    x->failed |= magnified.failed;
    ulp_doctor_add(x, ULP_DOCTOR_ERROR, reader, NULL, &text);
    keep_through(x, &magnified);
}

void ulp_doctor_find_errors(struct ulp_doctoring *x)
{
    const struct ulp_audit_lane *lane = x->lane;
    const struct ulp_audit_output *worst = ulp_audit_worst(&lane->outputs);
    /* shares are of what is left when no value overflows: another fault, where that is not fine */
    const bool kept = lane->attribution.kept_count > 0;
    if (!lane->attribution.given || x->doctor->grade == ULP_GRADE_FINE || x->only_inside ||
        x->doctor->grade == ULP_GRADE_NOT ||
        (kept && x->doctor->cause_count &&
         !(lane->attribution.kept_output &&
           lane->attribution.kept_sqnr_db < ulp_doctor_tolerance(x))))
        return;
    find_saturation(x);
    if (!kept)
        find_rounded(x, worst ? worst->name : "");
    for (int c = 0; c < CAUSES_EACH; c++) {
        const struct ulp_audit_node *most = NULL;
        const bool any = !x->doctor->cause_count;
        for (size_t n = 0; n < lane->node_count; n++)
            if (part_of(lane, &lane->nodes[n]) >= (any ? 0 : SHARE_NAMED) &&
                !is_told(x, &lane->nodes[n]) &&
                (!most || part_of(lane, &lane->nodes[n]) > part_of(lane, most)))
                most = &lane->nodes[n];
        if (!most || !(part_of(lane, most) > 0))
            return;
        struct ulp_text text = {0}, fix = {0};
        struct ulp_magnified magnified = {0};
        if (part_of(lane, most) < SHARE_NAMED && find_jump(x))
            return;
        const struct ulp_audit_node *converted = find_converted(x, most);
        if (converted) {
            add_node(&text, converted);
            ulp_text_add(&text, " is not the original's, and gives what this reads: ");
            ulp_text_show(&fix, "hold what %s computes, and its constants, against the original's",
                          converted->name);
        }
        if (part_of(lane, most) < SHARE_NAMED)
            ulp_text_add(&text, "many nodes, and none alone causes a fifth of it: ");
        ulp_report_cause(&text, x->doctor->audit, lane, most,
                         kept    ? lane->attribution.kept_output
                         : worst ? worst->name
                                 : "",
                         kept ? "what is left with the nodes that overflow in FP32"
                              : "the error of its output");
        add_small(&text, lane, most);
        ulp_scaled_remedy(&fix, x->doctor->audit, lane, most->name);
        if (!fix.length)
            ulp_scaled_quantiser(&text, &fix, lane, most);
        if (most->share >= most->decision)
            ulp_report_magnifier(x->doctor->audit, lane, most, &magnified);
        x->failed |= magnified.failed;
        ulp_doctor_add(x,
                       ulp_report_find_shows(lane, most) ? ULP_DOCTOR_DECISION : ULP_DOCTOR_ERROR,
                       magnified.leads ? magnified.at
                       : converted     ? converted
                                       : most,
                       NULL, &text)
            ->fix = ulp_doctor_keep(x, &fix);
        keep_through(x, &magnified);
    }
}

enum ulp_status ulp_doctor_find_causes(struct ulp_doctoring *x, struct ulp_error *error)
{
#define CAUSE(reason, word, function, what) function(x);
#include "analysis/doctor/reason.def"
    ulp_doctor_match_lint(x);
    if (!x->failed)
        add_mends(x);
    return x->failed ? ulp_out_of_memory(error) : ULP_OK;
}
