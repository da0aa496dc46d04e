/* Judging outputs and arithmetics (ulpscope/verdict.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope/verdict.h>

#include "analysis/audit/auditor.h"
#include "analysis/audit/listed.h"
#include "analysis/measure/judge.h"
#include "analysis/measure/judged.h"
#include "analysis/measure/objects.h"
#include "base/error.h"
#include "base/machine/environment.h"

/* ---- of one sample ---- */

/* Hands its first input's values on, but for a rounding. */
static bool hands_on(const struct ulp_step *step)
{
    return ulp_is_word(step->bound.op->name,
                       "Identity Reshape Flatten Squeeze Unsqueeze Cast Transpose QuantizeLinear "
                       "DequantizeLinear");
}

/* The value whose elements it has, chosen and moved. */
static int find_origin(const struct ulp_block *block, int slot)
{
    const struct ulp_step *step = ulp_block_producer(block, slot);
    while (step && step->own_input_count &&
           (hands_on(step) || step->bound.op->work == ULP_WORK_MOVE)) {
        slot = step->inputs[0];
        step = ulp_block_producer(block, slot);
    }
    return slot;
}

/* Are these boxes among which NonMaxSuppression chooses, or those that it chose? */
static bool is_suppressed(const struct ulp_block *block, int slot, const struct ulp_tensor *truth)
{
    const int origin = find_origin(block, slot);
    bool any = false;
    for (size_t s = 0; s < block->step_count; s++) {
        const struct ulp_step *step = &block->steps[s];
        any |= strcmp(step->bound.op->name, "NonMaxSuppression") == 0 &&
               find_origin(block, step->inputs[0]) == origin;
    }
    return any && truth->rank > 1 && truth->dims[truth->rank - 1] == 4;
}

/* Is one of the step's inputs an integer input of the model, as it is? */
static bool takes_integers(const struct ulp_block *block, const struct ulp_step *step)
{
    bool any = false;
    for (size_t i = 0; i < step->own_input_count && !any; i++) {
        const int origin = step->inputs[i] < 0 ? -1 : find_origin(block, step->inputs[i]);
        any = origin >= 0 && block->slots[origin].given &&
              !ulp_type_is_float(block->slots[origin].info->type);
    }
    return any;
}

/* Does a row of it have a score for each token: as many elements as the table has rows that an
 * integer input chooses from? Where those are as long, they may be features. */
static enum ulp_vocabulary find_vocabulary(const struct ulp_block *block,
                                           const struct ulp_tensor *truth)
{
    enum ulp_vocabulary found = ULP_VOCABULARY_NONE;
    const int64_t length = truth->rank > 1 ? truth->dims[truth->rank - 1] : 0;
    for (size_t s = 0; s < block->step_count && length >= ULP_VOCABULARY_MIN; s++) {
        const struct ulp_step *step = &block->steps[s];
        for (size_t i = 0; i < step->own_input_count && found != ULP_VOCABULARY_SURE; i++) {
            const int slot = step->inputs[i] < 0 ? -1 : find_origin(block, step->inputs[i]);
            const struct ulp_tensor *table = slot < 0 ? NULL : block->slots[slot].constant;
            if (table && table->rank > 1 && table->dims[0] == length && takes_integers(block, step))
                found = table->dims[1] == length ? ULP_VOCABULARY_PERHAPS : ULP_VOCABULARY_SURE;
        }
    }
    return found;
}

struct ulp_purpose ulp_audit_purpose(const struct ulp_program *program, size_t output,
                                     enum ulp_task asked, const struct ulp_tensor *truth)
{
    const struct ulp_block *block = program->main;
    const struct ulp_step *step = ulp_block_producer(block, block->outputs[output]);
    const bool integer = !ulp_type_is_float(truth->type);
    while (step && !(integer && step->quantizes) && hands_on(step) &&
           ulp_block_producer(block, step->inputs[0]))
        step = ulp_block_producer(block, step->inputs[0]);
    if ((!asked || asked == ULP_TASK_DETECT) &&
        ulp_objects_columns(truth, &(struct ulp_objects){0}))
        return (struct ulp_purpose){ULP_TASK_OBJECTS, ULP_BASIS_COLUMNS};
    if (asked && (!integer || asked == ULP_TASK_SIGNAL))
        return (struct ulp_purpose){asked, ULP_BASIS_ASKED};
    if (integer)
        return (struct ulp_purpose){step && step->quantizes ? ULP_TASK_SIGNAL : ULP_TASK_INTEGER,
                                    ULP_BASIS_NONE};
    return is_suppressed(block, block->outputs[output], truth)
               ? (struct ulp_purpose){ULP_TASK_DETECT, ULP_BASIS_NON_MAX_SUPPRESSION}
               : ulp_task_recognise(truth, ulp_model_output(program->model, output).name,
                                    step ? step->bound.op->name : "",
                                    find_vocabulary(block, truth));
}

/* Which output of the graph it is; -1: none. */
static ptrdiff_t find_graph_output(const struct ulp_program *program, const struct ulp_event *event,
                                   size_t o)
{
    const struct ulp_block *block = program->main;
    for (size_t i = 0; i < block->output_count; i++) {
        const struct ulp_step *step = ulp_block_producer(block, block->outputs[i]);
        if (!step || step->number != event->index ||
            strcmp(block->slots[block->outputs[i]].name, event->output_names[o]) != 0)
            continue;
        return (ptrdiff_t)i;
    }
    return -1;
}

bool ulp_auditor_asks_steps(const struct ulp_auditor *auditor, const struct ulp_event *event,
                            size_t o)
{
    return auditor->task == ULP_TASK_SIGNAL && find_graph_output(auditor->program, event, o) >= 0;
}

enum ulp_status ulp_auditor_judge(struct ulp_auditor *auditor, const struct ulp_event *event,
                                  size_t lane, size_t o, bool amounts, struct ulp_error *error)
{
    const struct ulp_tensor *own = event->values[o].entire,
                            *value = event->values[(lane + 1) * event->output_count + o].entire,
                            *truth = auditor->truth
                                         ? ulp_truth_find(auditor->truth, event->output_names[o],
                                                          event->execution, own)
                                         : own;
    const ptrdiff_t index = find_graph_output(auditor->program, event, o);
    struct ulp_judged judged = {0};
    if (index < 0 || !value || !truth || value->rank != truth->rank)
        return ULP_OK;
    struct ulp_purpose purpose =
        ulp_audit_purpose(auditor->program, (size_t)index, auditor->task, truth);
    struct ulp_budget *budget = ulp_model_budget(auditor->program->model);
    if (amounts && purpose.task == ULP_TASK_INTEGER)
        purpose.task = ULP_TASK_SIGNAL;
    if (ulp_tensor_same_shape(value, truth))
        ULP_TRY(ulp_judged_measure(value, truth, purpose, budget, &judged, error));
    if (auditor->listed && ulp_objects_may_list(auditor->program, (size_t)index))
        return ulp_listed_keep(auditor, lane, (size_t)index, event->index, o, value, truth, &judged,
                               error);
    ulp_judged_add(&auditor->audit.lanes[lane].nodes[event->index].outputs[o].judged, &judged);
    return ULP_OK;
}

/* ---- of all samples ---- */

/* Beside the rules: what is no number, has another shape, or has nothing to compare. */
static enum ulp_grade grade_kind(const struct ulp_audit_output *output, struct ulp_text *text)
{
    const struct ulp_metrics *entire = ulp_view_limit_get(output, ULP_VIEW_ENTIRE);
    const enum ulp_crossing_kind kind =
        output->unpaired ? ULP_CROSSED_UNPAIRED : ulp_judge_metrics(entire);
    if (entire->nonfinite && !output->unpaired) { /* whatever has been decided otherwise */
        ulp_text_add(text, "%zu element%s not finite where the reference is", entire->nonfinite,
                     entire->nonfinite == 1 ? " is" : "s are");
        return ULP_GRADE_BROKEN;
    }
    if (output->divergence && output->divergence->reshaped &&
        output->judged.task != ULP_TASK_OBJECTS) {
        ulp_text_add(text, "its shape is another");
        return ULP_GRADE_BROKEN;
    }
    if (kind != ULP_CROSSED_VALUE && kind != ULP_CROSSED_DIVERGED) {
        ulp_text_add(text, "%s", ulp_judge_reason(kind));
        return ULP_GRADE_NOT;
    }
    return ULP_GRADE_FINE;
}

/* Not finite in the reference already. */
static enum ulp_grade grade_birth(const struct ulp_birth *birth, struct ulp_text *text)
{
    ulp_birth_say(text, birth, true);
    return ULP_GRADE_BROKEN;
}

bool ulp_audit_grade(const struct ulp_audit *audit, struct ulp_audit_output *output)
{
    struct ulp_judged *judged = &output->judged;
    struct ulp_text text = {0};
    judged->sqnr_db =
        ulp_judged_decibels(judged, ulp_view_limit_get(output, ULP_VIEW_ENTIRE)->sqnr_db);
    if (isnan(judged->sqnr_db)) /* of a sample in which there is nothing to compare */
        judged->sqnr_db = ulp_judged_decibels(judged, output->entire.sqnr_db);
    const struct ulp_birth *birth =
        output->unpaired ? NULL : ulp_birth_of(audit->births, audit->birth_count, output->name);
    if (birth)
        judged->grade = grade_birth(birth, &text);
    else
        judged->grade = grade_kind(output, &text);
    if (!text.length && judged->task != ULP_TASK_UNKNOWN) {
        judged->grade = ulp_judged_grade(judged, &text);
    } else if (!text.length) {
        judged->grade = ULP_GRADE_NOT;
        ulp_text_add(&text, "%s", ulp_judge_reason(ULP_CROSSED_NOTHING));
    }
    /* what the rules find fine in some samples may have nothing to be judged by in others */
    if (judged->grade < ULP_GRADE_BROKEN && output->vacant.count) {
        ulp_text_free(&text);
        judged->grade = ULP_GRADE_NOT;
        ulp_text_add(&text, "%s", ulp_judge_reason(ulp_judge_vacant(&output->vacant)));
    }
    if (judged->task == ULP_TASK_UNKNOWN)
        judged->task = ULP_TASK_NONE;
    return (judged->text = ulp_text_keep(&text, audit->memory)) != NULL;
}

const struct ulp_audit_output *ulp_audit_judged_worst(const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_output *worst = NULL;
    for (size_t o = 0; o < lane->outputs.output_count; o++)
        if (!worst || ulp_judged_is_worse(&lane->outputs.outputs[o].judged, &worst->judged))
            worst = &lane->outputs.outputs[o];
    return worst;
}

bool ulp_audit_loses_score(const struct ulp_audit_lane *lane)
{
    return lane->score.sample_count && !(lane->score.lost <= lane->score.allowed);
}

void ulp_audit_say_score(struct ulp_text *out, const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_score *score = &lane->score;
    ulp_text_add(out, "by --metric %g, the reference %g", score->mean, score->reference);
    if (score->sample_count > 1)
        ulp_text_add(out, " (means of %zu samples)", score->sample_count);
    ulp_text_add(out, "; at most %g less in one, of %g that may be",
                 score->lost > 0 ? score->lost : 0.0, score->allowed);
}

static enum ulp_grade grade_lane(const struct ulp_audit *audit, const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_output *worst = ulp_audit_judged_worst(lane);
    return !worst                        ? ULP_GRADE_NOT
           : ulp_audit_loses_score(lane) ? ULP_GRADE_BROKEN
           : worst->judged.grade == ULP_GRADE_FINE && (lane->first_born >= 0 || audit->birth_count)
               ? ULP_GRADE_BORDERLINE
               : worst->judged.grade;
}

enum ulp_grade ulp_audit_lane_grade(const struct ulp_audit *audit,
                                    const struct ulp_audit_lane *lane)
{
    return (audit->nonfinite_input_count && !audit->nonfinite_inputs_meant) ||
                   ulp_certificate_is_lost(&audit->certificate)
               ? ULP_GRADE_NOT
               : grade_lane(audit, lane);
}

const struct ulp_birth *ulp_audit_hidden(const struct ulp_audit *audit,
                                         const struct ulp_audit_lane *lane)
{
    const struct ulp_audit_output *worst = ulp_audit_judged_worst(lane);
    const struct ulp_birth *birth = ulp_birth_of(audit->births, audit->birth_count, NULL);
    return worst && worst->judged.grade <= ULP_GRADE_BORDERLINE ? birth : NULL;
}

void ulp_audit_say_lost(struct ulp_text *out, const struct ulp_audit *audit)
{
    const size_t at = audit->certificate.lost ? audit->certificate.lost_at : 0;
    const struct ulp_place *place = at < audit->place_count ? &audit->places[at] : NULL;
    ulp_certificate_say(out, &audit->certificate, place ? place->name : "", place ? place->op : "",
                        audit->reference);
}

enum ulp_status ulp_audit_judge(const struct ulp_audit *audit, size_t index,
                                bool allow_nonfinite_inputs, struct ulp_verdict *out,
                                struct ulp_error *error)
{
    ULP_ENTER(error);
    const struct ulp_audit_output *worst = ulp_audit_judged_worst(&audit->lanes[index]);
    const struct ulp_birth *hidden = ulp_audit_hidden(audit, &audit->lanes[index]);
    struct ulp_text text = {0};
    *out = (struct ulp_verdict){.grade = ULP_GRADE_NOT, .sqnr_db = INFINITY};
    if (audit->nonfinite_input_count && !allow_nonfinite_inputs) {
        ulp_text_show(&text, "input %s %s", audit->nonfinite_inputs[0].name,
                      ulp_judge_reason(ULP_CROSSED_INPUT));
    } else if (ulp_certificate_is_lost(&audit->certificate)) {
        ulp_audit_say_lost(&text, audit);
    } else if (!worst) {
        ulp_text_add(&text, "%s", ulp_judge_reason(ULP_CROSSED_NO_OUTPUT));
    } else if (hidden) {
        out->grade = ULP_GRADE_BORDERLINE;
        ulp_birth_say(&text, hidden, true);
        ulp_text_show(&text, ", and output %s depends on it although it is finite", worst->name);
    } else {
        out->grade = grade_lane(audit, &audit->lanes[index]);
        out->task = worst->judged.task;
        out->output = worst->name;
        const double db = ulp_decibels(&worst->entire, worst->judged.sqnr_db);
        out->sqnr_db = isnan(db) ? (double)INFINITY : db;
        if (ulp_audit_loses_score(&audit->lanes[index])) {
            ulp_audit_say_score(&text, &audit->lanes[index]);
            ulp_text_add(&text, "; ");
        }
        ulp_text_show(&text, "output %s", worst->name);
        if (worst->judged.task != ULP_TASK_NONE && worst->judged.grade != ULP_GRADE_NOT) {
            ulp_text_add(&text, " (");
            ulp_judged_say_task(&text, &worst->judged);
            ulp_text_add(&text, ")");
        }
        ulp_text_add(&text, ": %s", worst->judged.text);
        if (out->grade != ULP_GRADE_NOT)
            ulp_judged_say_whole(&text, worst->judged.text, out->sqnr_db);
        if (out->grade != worst->judged.grade && !ulp_audit_loses_score(&audit->lanes[index]))
            ulp_text_add(&text, ", and yet a node overflows");
    }
    out->text = text.failed ? NULL : text.data;
    if (out->text)
        return ULP_OK;
    ulp_text_free(&text);
    return ulp_out_of_memory(error);
}

void ulp_verdict_free(struct ulp_verdict *verdict)
{
    free(verdict->text);
    *verdict = (struct ulp_verdict){0};
}
