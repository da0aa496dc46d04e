/* The verdict: what happened to an arithmetic, and where. */
#include <ulpscope/verdict.h>

#include "analysis/audit/audit_mixed.h"
#include "analysis/audit/audit_overflow.h"
#include "analysis/audit/auditor.h"
#include "analysis/measure/judge.h"
#include "analysis/measure/judged.h"
#include "analysis/report/report.h"
#include "analysis/writing/columns.h"
#include "base/machine/environment.h"
#include "number/function/math.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const struct ulp_audit_output *find_diverged(const struct ulp_audit_node *node)
{
    for (size_t o = 0; o < node->output_count; o++)
        if (node->outputs[o].entire.diverged)
            return &node->outputs[o];
    return NULL;
}

/* "logits is off by 1.2 % of its rms (38.4 dB)"; of several samples in the worst, which is judged.
 */
static void add_error(struct ulp_text *out, const struct ulp_audit_output *output)
{
    const double db = output->judged.sqnr_db,
                 relative = output->samples && isfinite(db)
                                ? ulp_math_pow(10, -db / 20)
                                : output->entire.rms / output->range.ref_rms;
    if (!(output->entire.rms > 0))
        ulp_text_show(out, "%s equals the reference", output->name);
    else if (isnan(db)) /* objects, which may stand in any order */
        ulp_text_show(out, "%s differs from the reference", output->name);
    else if (isfinite(relative))
        ulp_text_show(out, "%s is off by %.2g of its rms (%.1f dB)", output->name, relative,
                      ulp_tenths(db));
    else
        ulp_text_show(out, "%s is off by %.2g (rms) where the reference is 0", output->name,
                      output->entire.rms);
}

static void add_overflow(struct ulp_text *out, const struct ulp_audit *audit,
                         const struct ulp_audit_lane *lane, const struct ulp_audit_output *worst)
{
    const struct ulp_audit_node *born = &lane->nodes[lane->first_born];
    struct ulp_zeroed zeroed;
    double most = 0;
    bool fits = true;
    for (size_t o = 0; o < born->output_count; o++) {
        most = ulp_math_max(most, born->outputs[o].range.ref_max);
        fits &= !(born->outputs[o].range.headroom_bits < 0);
    }
    const struct ulp_audit_overflow *overflow = ulp_audit_overflow_root(lane, born->overflow);
    if (ulp_report_find_zeroed(audit, lane, born, &zeroed))
        ulp_report_zeroed(out, audit, lane, born, &zeroed);
    else
        ulp_text_show(out, "it %s at node %zu %s (%s), whose exact values reach %s%s",
                      fits ? "is not finite" : "overflows", born->index, born->name, born->op,
                      fits ? "only " : "", ULP_REACH(most));
    if (overflow && overflow->constant >= 0)
        ulp_text_show(out, ", by constant %s", lane->constants[overflow->constant].name);
    ulp_text_add(out, ". ");
    if (worst && worst->entire.nonfinite)
        ulp_text_show(out, "Output %s is not finite", worst->name);
    else if (worst)
        add_error(out, worst);
    else
        ulp_text_add(out, "No output can be compared");
    if (most > FLT_MAX)
        ulp_text_add(out, ". " ULP_BEYOND_FP32);
}

/* ". With 2 nodes in FP32 y is at 44.4 dB; node 52 sum (ReduceSum) causes 48 % of the error" */
static void add_fixed(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane)
{
    const struct ulp_attribution *attribution = &lane->attribution;
    const struct ulp_audit_node *cause = ulp_report_find_cause(lane);
    if (!attribution->kept_count || !attribution->kept_output)
        return;
    ulp_text_add(out, ". With %zu node%s in FP32 ", attribution->kept_count,
                 attribution->kept_count == 1 ? "" : "s");
    ulp_judged_say_sqnr(out, attribution->kept_output, attribution->kept_sqnr_db);
    if (!cause)
        return;
    ulp_text_add(out, "; ");
    ulp_report_cause(out, audit, lane, cause, attribution->kept_output, "what is left");
}

/* Do inputs hold what is not finite, and nobody said that this is meant? */
static bool is_unmeant(const struct ulp_audit *audit)
{
    return audit->nonfinite_input_count && !audit->nonfinite_inputs_meant;
}

/* ". Input x has 3 values that are not finite" */
static void add_inputs(struct ulp_text *out, const struct ulp_audit *audit)
{
    const struct ulp_audit_input *first = audit->nonfinite_inputs;
    if (!audit->nonfinite_input_count)
        return;
    ulp_text_show(out, ". Input %s has %zu value%s not finite", first->name, first->count,
                  first->count == 1 ? " that is" : "s that are");
    if (audit->sample_count > 1)
        ulp_text_show(out, " in sample %s", audit->sample_names[first->sample]);
    if (audit->nonfinite_input_count > 1)
        ulp_text_show(out, ", and so have %zu more", audit->nonfinite_input_count - 1);
    if (is_unmeant(audit))
        ulp_text_add(out, " (when that is meant: --allow-nonfinite-inputs)");
}

/* ". Output y has no element to compare in 1 of 3 samples, the first of them es/b.npz" */
static void add_vacant(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_node *outputs)
{
    for (size_t o = 0; o < outputs->output_count; o++) {
        const struct ulp_vacant *vacant = &outputs->outputs[o].vacant;
        if (!vacant->count || audit->sample_count == 1)
            continue;
        ulp_text_show(out, ". Output %s %s in %zu of %zu samples, the first of them %s",
                      outputs->outputs[o].name, ulp_judge_reason(ulp_judge_vacant(vacant)),
                      vacant->count, audit->sample_count, audit->sample_names[vacant->sample]);
        return;
    }
}

/* Do outputs follow other decisions, of which no share says what moved them? */
static bool is_unfollowed(const struct ulp_audit_lane *lane)
{
    return find_diverged(&lane->outputs) && lane->first_decided >= 0 &&
           !ulp_report_find_cause(lane);
}

/* What is said behind the grade and the error: "; node 4 fc (Gemm) causes 97 % of the error"; of
 * what is not finite or decided otherwise the error, too. */
static void add_reasons(struct ulp_text *out, const struct ulp_audit *audit,
                        const struct ulp_audit_lane *lane, const struct ulp_audit_output *worst)
{
    const struct ulp_audit_output *diverged = find_diverged(&lane->outputs);
    if (lane->first_born >= 0) {
        add_overflow(out, audit, lane, worst);
        add_fixed(out, audit, lane);
    } else if (is_unfollowed(lane)) {
        const struct ulp_audit_node *decided = &lane->nodes[lane->first_decided];
        ulp_text_show(out,
                      "it diverges from the reference at node %zu %s (%s): output %s "
                      "follows other indices or branches",
                      decided->index, decided->name, decided->op, diverged->name);
        ulp_report_decided(out, decided);
        ulp_report_followed(out, &lane->outputs);
        if (worst) {
            ulp_text_add(out, "; ");
            add_error(out, worst);
        }
    } else if ((worst && worst->entire.rms > 0) || diverged) {
        ulp_report_source(out, audit, lane, worst);
        if (diverged)
            ulp_report_followed(out, &lane->outputs);
    }
}

/* ". Blocks of w1 ..." */
static void add_stored(struct ulp_text *out, const struct ulp_audit *audit,
                       const struct ulp_audit_lane *lane)
{
    if (!audit->stored_fault_count)
        return;
    ulp_text_add(out, ". ");
    ulp_report_stored(out, audit, lane, audit->stored_faults);
}

/* The birth that the verdict is about, and whether an output bears it. */
static const struct ulp_birth *find_birth(const struct ulp_audit *audit,
                                          const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_output *judged = ulp_audit_judged_worst(lane);
    const struct ulp_birth *birth =
        judged ? ulp_birth_of(audit->births, audit->birth_count, judged->name) : NULL;
    return is_unmeant(audit) || ulp_certificate_is_lost(&audit->certificate) ? NULL
           : birth                                                           ? birth
                   : ulp_audit_hidden(audit, lane);
}

/* "all of c is 0. Of its 4 elements 2 are not finite, nor is output y" */
static void add_birth(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane, const struct ulp_birth *birth)
{
    if (birth->why)
        ulp_text_show(out, "%s", birth->why);
    if (audit->sample_count > 1)
        ulp_text_show(out, "%sin sample %s", out->length ? ", " : "",
                      audit->sample_names[birth->sample]);
    ulp_text_add(out, "%s%zu of its %zu elements %s not finite", out->length ? "; " : "",
                 birth->count, birth->elements, birth->count == 1 ? "is" : "are");
    if (birth->output_count)
        ulp_text_show(out, ", nor is output %s, in the reference as in %s", birth->outputs[0],
                      lane->name);
    else
        ulp_text_add(out, ", and outputs depend on that although they are finite");
}

/* "logits is at 2.2 dB" */
static void add_figure(struct ulp_text *out, const struct ulp_audit_output *judged,
                       const struct ulp_audit_output *worst,
                       const struct ulp_audit_output *diverged)
{
    if (judged->entire.nonfinite)
        ulp_text_show(out, "%s is not finite", judged->name);
    else if (worst && !(worst->entire.rms > 0))
        ulp_text_show(out, "%s equals the reference", worst->name);
    else if (worst && isfinite(worst->judged.sqnr_db))
        ulp_text_show(out, "%s is at %.1f dB", worst->name, ulp_tenths(worst->judged.sqnr_db));
    else if (worst && worst->judged.task != ULP_TASK_OBJECTS) /* which may stand in any order */
        ulp_text_show(out, "%s is off by %.2g where it should be 0", worst->name,
                      worst->entire.rms);
    else if (diverged)
        ulp_text_show(out, "%s follows other decisions", diverged->name);
}

/* "broken (classify by name): logits is at 2.2 dB, 1 of 4 first choices change"; where a line has
 * room for one of them only, it is what decides. */
static void add_what(struct ulp_text *out, const struct ulp_audit *audit,
                     const struct ulp_audit_lane *lane)
{
    enum { LINE = 80 }; /* columns that are read at once */
    const struct ulp_audit_output *judged = ulp_audit_judged_worst(lane),
                                  *worst = ulp_audit_worst(&lane->outputs),
                                  *diverged = find_diverged(&lane->outputs);
    ULP_SCOPED(ulp_text_free) struct ulp_text figure = {0};
    ULP_SCOPED(ulp_text_free) struct ulp_text told = {0};
    if (!judged) {
        ulp_text_add(out, "no output can be compared");
        return;
    }
    ulp_text_add(out, "%s", ulp_grade_name(ulp_audit_lane_grade(audit, lane)));
    const struct ulp_birth *birth = find_birth(audit, lane);
    if (ulp_certificate_is_lost(&audit->certificate) && !is_unmeant(audit)) {
        ulp_text_add(out, ": ");
        ulp_audit_say_lost(out, audit);
        return;
    }
    if (birth) {
        ulp_text_add(out, ": ");
        ulp_birth_say(out, birth, false);
        return;
    }
    if (judged->judged.grade == ULP_GRADE_NOT) {
        ulp_text_show(out, ": %s %s", judged->name, judged->judged.text);
        return;
    }
    if (judged->judged.task != ULP_TASK_NONE && !is_unmeant(audit)) {
        ulp_text_add(out, " (");
        ulp_judged_say_task(out, &judged->judged);
        ulp_text_add(out, ")");
    }
    if (ulp_audit_loses_score(lane)) {
        ulp_text_add(&figure, "by --metric %g, the reference %g, ", lane->score.mean,
                     lane->score.reference);
    }
    add_figure(&figure, judged, worst, diverged);
    if (ulp_judged_tells(&judged->judged) && !judged->entire.nonfinite)
        ulp_text_show(&told, "%s%s%s", worst == judged ? "" : judged->name,
                      worst == judged ? "" : ": ", judged->judged.text);
    const size_t columns = strlen(lane->name) + strlen(": : ") + out->length +
                           (told.data ? strcspn(told.data, ",") : 0);
    const bool swaps =
        told.length && columns <= LINE && columns + figure.length + strlen(", ") > LINE;
    struct ulp_text *first = swaps ? &told : &figure, *second = swaps ? &figure : &told;
    if (first->length)
        ulp_text_add(out, ": %s", first->data);
    if (second->length)
        ulp_text_add(out, "%s%s", first->length ? ", " : ": ", second->data);
    out->failed |= figure.failed || told.failed;
}

/* Texts begin with what joins them to the sentence before: ". ", "; ". */
static void add_begun(struct ulp_text *out, struct ulp_text *text)
{
    if (text->length)
        ulp_text_add(out, "%s%s", out->length ? ". " : "", text->data + strspn(text->data, ".;, "));
    out->failed |= text->failed;
    ulp_text_free(text);
}

/* An error as large as one that an output may not have. */
#define FAINT_ERROR 0.01

static double faint_error(const struct ulp_audit_lane *lane, const struct ulp_audit_node *node)
{
    const struct ulp_audit_node *by = node->faint_by >= 0 ? &lane->nodes[node->faint_by] : NULL;
    return by && by->output_count ? by->outputs[0].introduced.rms / by->outputs[0].range.ref_rms
                                  : 0;
}

const struct ulp_audit_node *ulp_report_find_faint(const struct ulp_audit_lane *lane,
                                                   const struct ulp_audit_node *after)
{
    for (size_t n = after ? after->index + 1 : 0; n < lane->node_count; n++)
        if (faint_error(lane, &lane->nodes[n]) > FAINT_ERROR)
            return &lane->nodes[n];
    return NULL;
}

void ulp_report_faint(struct ulp_text *out, const struct ulp_audit_lane *lane,
                      const struct ulp_audit_node *node)
{
    const struct ulp_audit_node *by = &lane->nodes[node->faint_by];
    ulp_text_show(out, "node %zu %s (%s) is subnormal or 0 in %s in %zu of %zu elements", by->index,
                  by->name, by->op, ulp_audit_node_format(lane, by).name, node->faint_count,
                  node->faint_of);
    if (node->faint_zeros)
        ulp_text_add(out, " (0 in %zu)", node->faint_zeros);
    ulp_text_show(out, ", and node %zu %s (%s) divides by it: of that divisor %.2g %% is error",
                  node->index, node->name, node->op, 100 * faint_error(lane, node));
}

static void add_why(struct ulp_text *out, const struct ulp_audit *audit,
                    const struct ulp_audit_lane *lane)
{
    struct ulp_text born = {0}, inputs = {0}, faint = {0}, reasons = {0}, stored = {0},
                    vacant = {0};
    const bool fine = ulp_audit_lane_grade(audit, lane) == ULP_GRADE_FINE;
    const struct ulp_audit_node *divides = fine ? NULL : ulp_report_find_faint(lane, NULL);
    const struct ulp_birth *birth = find_birth(audit, lane);
    if (birth)
        add_birth(&born, audit, lane, birth);
    add_inputs(&inputs, audit);
    if (ulp_certificate_is_lost(&audit->certificate) && !is_unmeant(audit)) {
        /* what the lane did is not known either */
        ulp_text_add(out, audit->certificate.lost
                              ? "a sum drops a term beyond the reference's digits there, and a "
                                "difference behind it cancels"
                              : "of the reference fewer digits are right than FP32 has");
        ulp_text_free(&born);
        ulp_text_free(&inputs);
        return;
    }
    if (divides)
        ulp_report_faint(&faint, lane, divides);
    add_reasons(&reasons, audit, lane, ulp_audit_worst(&lane->outputs));
    add_stored(&stored, audit, lane);
    add_vacant(&vacant, audit, &lane->outputs);
    if (is_unmeant(audit)) /* before all that may follow from it */
        add_begun(out, &inputs);
    add_begun(out, &born);
    if (lane->first_born < 0)
        add_begun(out, &faint);
    add_begun(out, &reasons);
    add_begun(out, &faint);
    add_begun(out, &stored);
    add_begun(out, &vacant);
    add_begun(out, &inputs);
    if (!out->length)
        ulp_text_add(out, ulp_audit_worst(&lane->outputs) ? "no node's rounding reaches an output"
                                                          : "there is nothing to measure");
}

/* The audit again by a reference of more digits. */
static void add_wider(struct ulp_text *out, const struct ulp_audit *audit,
                      const struct ulp_audit_lane *lane)
{
    const struct ulp_asked asked = ulp_audit_asked(lane);
    ulp_command_add(out, "audit", audit->arguments);
    ulp_text_show(out, " -a %.*s", asked.length, asked.text);
    ulp_judge_wider(out, audit->reference);
}

void ulp_report_uncompared(struct ulp_text *out, const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_node *outputs = &lane->outputs;
    for (size_t o = 0; o < outputs->output_count && !out->length; o++)
        if (outputs->outputs[o].vacant.count)
            ulp_text_show(out, "give inputs for which output %s has something to compare",
                          outputs->outputs[o].name);
}

void ulp_report_conclude(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                         struct ulp_headline *verdict)
{
    const char *crossed = ulp_report_crossed(audit, lane);
    const enum ulp_grade grade = ulp_audit_lane_grade(audit, lane);
    const bool fine = grade == ULP_GRADE_FINE && !crossed;
    const struct ulp_birth *birth = find_birth(audit, lane);
    add_what(&verdict->what, audit, lane);
    if (crossed)
        ulp_text_show(&verdict->what, ", and crosses the limit %s", crossed);
    ulp_headline_drawn(verdict, audit->drawn);
    add_why(&verdict->why, audit, lane);
    if (ulp_certificate_is_lost(&audit->certificate) && !is_unmeant(audit))
        add_wider(&verdict->todo, audit, lane);
    else if (birth)
        ulp_birth_todo(&verdict->todo, birth);
    else if (grade == ULP_GRADE_NOT && !is_unmeant(audit))
        ulp_report_uncompared(&verdict->todo, lane);
    if (!verdict->todo.length && !fine)
        ulp_report_todo(audit, lane, &verdict->todo);
    if (!fine && !verdict->todo.length && audit->stored_fault_count &&
        !(ulp_report_stored_gain(lane, audit->stored_faults) <= 0))
        ulp_text_show(&verdict->todo, "quantise the original's weights of %s again",
                      audit->stored_faults->value);
    if (verdict->todo.length)
        return;
    const struct ulp_asked asked = ulp_audit_asked(lane);
    if (fine)
        ulp_text_add(&verdict->todo, "nothing");
    else if (is_unmeant(audit))
        ulp_text_add(&verdict->todo, "give inputs that are finite");
    else if (!ulp_audit_worst(&lane->outputs))
        ulp_text_add(&verdict->todo, "give inputs of which an output has elements");
    else {
        ulp_command_add(&verdict->todo, "doctor", audit->arguments);
        ulp_text_show(&verdict->todo, " -a %.*s", asked.length, asked.text);
    }
}

void ulp_report_headline(const struct ulp_audit *audit, const struct ulp_audit_lane *lane,
                         struct ulp_headline *verdict)
{
    char name[ULP_SHOWN_BYTES];
    ulp_text_add(&verdict->what, "%s: ", ulp_show(name, sizeof name, lane->name, 64, 0));
    ulp_report_conclude(audit, lane, verdict);
}

enum ulp_status ulp_report_why(const struct ulp_audit *audit, size_t lane, int width, bool colour,
                               char **out, struct ulp_error *error)
{
    ULP_ENTER(error);
    ULP_SCOPED(ulp_verdict_free) struct ulp_verdict verdict = {0};
    struct ulp_text text = {0};
    struct ulp_headline said = {0}, why = {0};
    struct ulp_assumed assumed;
    const struct ulp_page page = ulp_page_make(&text, width, colour);
    *out = NULL;
    if (lane >= audit->lane_count)
        return ulp_fail(error, ULP_ERROR_USAGE, "the audit has %zu arithmetics, no number %zu",
                        audit->lane_count, lane);
    ULP_TRY(ulp_audit_judge(audit, lane, audit->nonfinite_inputs_meant, &verdict, error));
    ulp_report_conclude(audit, &audit->lanes[lane], &said);
    ulp_text_show_whole(&why.why, audit->lane_count == 1 ? "" : "the worst is ");
    ulp_text_show_whole(&why.why, audit->lanes[lane].name);
    ulp_text_add(&why.why, ": ");
    ulp_text_show_whole(&why.why, verdict.text);
    if (verdict.grade != ULP_GRADE_FINE && said.why.length) {
        ulp_text_add(&why.why, "; ");
        ulp_text_show_whole(&why.why, said.why.data);
    }
    ulp_page_headline(&page, "", &why);
    ulp_headline_free(&page, &said);
    ulp_headline_free(&page, &why);
    for (size_t h = 0; ulp_report_assumed(audit, h, &assumed); h++) {
        struct ulp_text rests = {0};
        ulp_report_assumed_say(&rests, audit, &assumed);
        ulp_text_add(page.out, "        ");
        ulp_page_broken(&page, &rests, ULP_HEADLINE_INDENT, ULP_HEADLINE_INDENT);
    }
    return ulp_page_take(&text, ULP_OK, out, error);
}
