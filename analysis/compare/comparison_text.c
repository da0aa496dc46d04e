/* A comparison in words: the verdict on each recording, and what stands beside it. */
#include <math.h>
#include <string.h>

#include "analysis/compare/comparing.h"
#include "analysis/measure/judge.h"
#include "analysis/measure/judged.h"
#include "analysis/writing/first_screen.h"

#define UNMATCHED_SHOWN 3
/* A part of the rms from which an explained error is worth a sentence: more than formats of 8 bits
 * leave behind deep networks. */
#define INACCURATE 0.05

static double excess(const struct ulp_compared_value *value)
{
    return value->reshaped && !value->rows_matched ? INFINITY : ulp_compared_excess(value);
}

/* "its error is 41 times what fp32 makes there; the limit is 4.5" */
static void add_measure(struct ulp_text *out, const struct ulp_comparison *comparison,
                        const struct ulp_compared_value *value)
{
    const char *arithmetic = comparison->arithmetics[value->by];
    const bool largest = value->ratio <= value->limit,
               small = largest && value->small_ratio > value->max_ratio;
    const double ratio = small     ? value->small_ratio
                         : largest ? value->max_ratio
                                   : value->ratio,
                 limit = largest ? value->max_limit : value->limit;
    if (value->reshaped && value->rows_matched && excess(value) <= 1)
        ulp_text_add(
            out,
            "it has another number of rows, which are %.3g times as far from the rows that "
            "they match as %s makes them; the limit is %.2g",
            value->ratio, arithmetic, value->limit);
    else if (value->reshaped)
        ulp_text_add(out, "it has another shape");
    else if (value->stored)
        ulp_text_add(out, "all its values are numbers of %s, in which %s does not store them",
                     value->stored, arithmetic);
    else if (value->nonfinite && excess(value) <= 1)
        ulp_text_add(out, "%zu of its values do not agree with %s in being finite, infinite or NaN",
                     value->nonfinite, arithmetic);
    else if (!value->truth.count && !value->explained)
        ulp_text_add(out, "it %s",
                     ulp_judge_reason(value->truth.nonfinite || value->truth.unmeasured
                                          ? ULP_CROSSED_NOTHING
                                          : ULP_CROSSED_EMPTY));
    else if (!value->explained && !value->reshaped && excess(value) <= 1)
        ulp_text_add(out,
                     "its error is %.2g times what %s makes there: not too large, but not of %s",
                     value->ratio, arithmetic, arithmetic);
    else if (isinf(ratio))
        ulp_text_add(out, "its error is %.2g where %s makes none", value->truth.max_abs,
                     arithmetic);
    else
        ulp_text_add(out, "its %s is %.3g times what %s makes there; the limit is %.2g",
                     small     ? "error in elements below a tenth of its rms"
                     : largest ? "largest error"
                               : "error",
                     ratio, arithmetic, limit);
}

static void note_unmatched(json_t **notes, const struct ulp_compared_file *file)
{
    struct ulp_text text = {0};
    if (!file->unmatched_count)
        return;
    ulp_text_show(&text,
                  "%zu of the arrays of %s %s not compared (no tensor that the graph computes): ",
                  file->unmatched_count, file->name, file->unmatched_count == 1 ? "is" : "are");
    for (size_t u = 0; u < file->unmatched_count && u < UNMATCHED_SHOWN; u++)
        ulp_text_show(&text, "%s'%s'", u ? ", " : "", file->unmatched[u]);
    ulp_text_add(&text, file->unmatched_count > UNMATCHED_SHOWN ? ", ..." : "");
    ulp_note_text(notes, "", &text);
}

const struct ulp_compared_tensor *ulp_comparison_worst(const struct ulp_comparison *comparison,
                                                       size_t file)
{
    const struct ulp_compared_tensor *worst = NULL;
    for (size_t t = 0; t < comparison->tensor_count; t++) {
        const struct ulp_judged *judged = &comparison->tensors[t].values[file].judged;
        if (judged->task != ULP_TASK_UNKNOWN &&
            (!worst || ulp_judged_is_worse(judged, &worst->values[file].judged)))
            worst = &comparison->tensors[t];
    }
    return worst;
}

/* The tensor of the file that comes nearest to its limit. */
static const struct ulp_compared_tensor *find_nearest_tensor(
    const struct ulp_comparison *comparison, size_t file)
{
    const struct ulp_compared_tensor *nearest = NULL;
    double most = -1;
    for (size_t t = 0; t < comparison->tensor_count; t++) {
        const struct ulp_compared_value *value = &comparison->tensors[t].values[file];
        if (value->recorded && (!value->reshaped || value->rows_matched) && excess(value) > most) {
            most = excess(value);
            nearest = &comparison->tensors[t];
        }
    }
    return nearest;
}

/* Explained is not accurate: an arithmetic that overflows explains what has overflowed. */
static void add_inaccurate(struct ulp_headline *head, const struct ulp_comparison *comparison,
                           size_t f)
{
    const struct ulp_compared_tensor *worst = NULL;
    double most = INACCURATE;
    for (size_t t = 0; t < comparison->tensor_count; t++) {
        const struct ulp_compared_tensor *tensor = &comparison->tensors[t];
        const struct ulp_compared_value *value = &tensor->values[f];
        if (!value->recorded || tensor->range.ref_rms <= 0 || !isfinite(value->truth.rms) ||
            value->truth.diverged /* class numbers */ ||
            value->judged.task == ULP_TASK_OBJECTS /* in any order */ ||
            value->truth.rms <= most * tensor->range.ref_rms)
            continue;
        worst = tensor;
        most = value->truth.rms / tensor->range.ref_rms;
    }
    if (!worst)
        return;
    const size_t by = worst->values[f].by;
    const double own = worst->expected[by].rms / worst->range.ref_rms;
    ulp_command_add(&head->todo, "audit", comparison->arguments);
    ulp_option_add(&head->todo, " -a", comparison->arithmetics[by]);
    ulp_text_show(&head->what, ", but '%s' is off by %.2g of its rms", worst->name, most);
    if (isfinite(own))
        ulp_text_show(&head->what, ", and %s by itself by %.2g", comparison->arithmetics[by], own);
}

/* What "explained by fp16" leaves open: what was not compared, or behind a decision; whether it
 * looks computed so; whether it is accurate. */
static void say_qualified(struct ulp_headline *head, const struct ulp_comparison *comparison,
                          size_t f)
{
    const struct ulp_compared_file *file = &comparison->files[f];
    const char *text = file->cause.text ? file->cause.text : "";
    size_t open = 0;
    for (size_t t = 0; t < comparison->tensor_count; t++) {
        const struct ulp_compared_value *value = &comparison->tensors[t].values[f];
        open += value->recorded && comparison->tensors[t].expected[value->by].open;
    }
    ulp_text_add(&head->what, " (%zu tensor%s", file->tensor_count,
                 file->tensor_count == 1 ? "" : "s");
    if (file->unmatched_count)
        ulp_text_add(&head->what, ", %zu not compared", file->unmatched_count);
    if (file->choices)
        ulp_text_show(&head->what, ", with %s", file->choices);
    if (open)
        ulp_text_add(&head->what, ", %zu behind a decision that other roundings turn", open);
    ulp_text_add(&head->what, ")");
    if (*text)
        ulp_text_show(&head->what, ": %.*s", (int)(strlen(text) - ulp_text_ends(text, ".")), text);
    add_inaccurate(head, comparison, f);
}

/* "; it would notice 'images' with wrong scale (0.1 % of it), channels (10 % of it)" */
static void add_power(struct ulp_text *out, const struct ulp_compared_file *file)
{
    const char *input = NULL;
    for (size_t p = 0; p < file->power_count; p++) {
        const struct ulp_power *power = &file->power[p];
        if (!(power->least > 0))
            continue;
        if (!input)
            ulp_text_add(out, "; it would notice ");
        if (!input || strcmp(input, power->input) != 0)
            ulp_text_show(out, "%s'%s' with wrong ", input ? "; " : "", power->input);
        else
            ulp_text_add(out, ", ");
        ulp_text_add(out, "%s", power->kind);
        if (power->least < 1)
            ulp_text_add(out, " (%g %% of it)", 100 * power->least);
        input = power->input;
    }
}

/* What is explained, by what, and how narrowly. */
static void say_explained(struct ulp_headline *head, const struct ulp_comparison *comparison,
                          size_t f)
{
    const struct ulp_compared_file *file = &comparison->files[f];
    const struct ulp_compared_tensor *nearest = find_nearest_tensor(comparison, f);
    ulp_text_add(&head->what, "explained by %s",
                 file->by >= 0 ? comparison->arithmetics[file->by] : "the arithmetics together");
    say_qualified(head, comparison, f);
    ulp_text_show(&head->why, "at '%s' ", nearest->name);
    add_measure(&head->why, comparison, &nearest->values[f]);
    add_power(&head->why, file);
    if (comparison->unseen)
        ulp_text_add(&head->why, "; there was no time for %zu usual mistakes in preparing inputs",
                     comparison->unseen);
    if (!head->todo.length)
        ulp_text_add(&head->todo, "nothing");
}

/* What to do about a cause. */
static const char *const todo[] = {
    [ULP_CAUSE_NONE] = "record inner tensors, too: the first that differs leads to the cause",
    [ULP_CAUSE_PREPROCESSING] = "prepare the input as the reference's is, and record again",
    [ULP_CAUSE_INPUTS] = "record what is named; --recorded-inputs takes the inputs that were given",
    [ULP_CAUSE_FORMAT] = "where that arithmetic is meant, ask about it: --arith ",
    [ULP_CAUSE_NODE] = "look at what the runtime makes of these nodes: weights, fusions",
    [ULP_CAUSE_SHAPE] = "record the tensor as the graph computes it",
    [ULP_CAUSE_POWER] = "record what is named, and compare again",
    [ULP_CAUSE_UNJUDGED] = "give samples whose outputs have elements to compare",
};

/* Why it is not explained, and then where. */
static void say_unexplained(struct ulp_headline *head, const struct ulp_comparison *comparison,
                            size_t f)
{
    const struct ulp_compared_file *file = &comparison->files[f];
    const struct ulp_compared_tensor *tensor = &comparison->tensors[file->first_unexplained];
    if (file->hidden) {
        ulp_text_add(&head->what, "cannot tell");
        ulp_text_show(&head->why, "%s", file->cause.text);
        ulp_text_add(&head->todo, "%s", todo[file->cause.kind]);
        return;
    }
    ulp_text_show(&head->what, "NOT explained%s%s, first '%s'", file->choices ? " with " : "",
                  file->choices ? file->choices : "", tensor->name);
    if (tensor->node)
        ulp_text_show(&head->what, " (node %td, %s)", tensor->index, tensor->op);
    else
        ulp_text_add(&head->what, " (an input)");
    if (file->cause.text && *file->cause.text)
        ulp_text_show(&head->why, "%s", file->cause.text);
    if (!tensor->values[f].explained) { /* by equal values it is */
        if (head->why.length)
            ulp_text_show(&head->why, " At '%s' ", tensor->name);
        add_measure(&head->why, comparison, &tensor->values[f]);
    }
    const enum ulp_cause_kind kind = !tensor->node && file->cause.kind == ULP_CAUSE_INPUTS
                                         ? ULP_CAUSE_PREPROCESSING /* it has been recorded */
                                         : file->cause.kind;
    ulp_text_show(&head->todo, "%s%s", file->cause.todo ? file->cause.todo : todo[kind],
                  file->cause.kind == ULP_CAUSE_FORMAT ? file->cause.arithmetic : "");
}

/* "; outputs: broken (logits, classify by name: 1 of 3 first choices change)": of the worst. */
static void add_grade(struct ulp_text *what, const struct ulp_comparison *comparison, size_t f)
{
    const struct ulp_compared_tensor *worst = ulp_comparison_worst(comparison, f);
    if (!worst || (comparison->ill && worst->values[f].judged.grade == ULP_GRADE_FINE))
        return; /* of what is finite alone */
    ulp_text_add(what, "; outputs: ");
    ulp_judged_say(what, worst->values[f].judged.grade, &worst->values[f].judged, worst->name);
}

void ulp_comparison_headline(const struct ulp_comparison *comparison, size_t f,
                             struct ulp_headline *head)
{
    const struct ulp_compared_file *file = &comparison->files[f];
    ulp_text_show_whole(&head->what, file->name);
    ulp_text_add(&head->what, ": ");
    if (comparison->ill &&
        (comparison->lost || file->explained || file->cause.kind == ULP_CAUSE_UNJUDGED))
        ulp_text_show(&head->what, "%s; ", comparison->ill);
    if (file->explained)
        say_explained(head, comparison, f);
    else
        say_unexplained(head, comparison, f);
    add_grade(&head->what, comparison, f);
}

/* Where two files are furthest apart. */
static void note_pair(json_t **notes, const struct ulp_comparison *comparison, size_t file,
                      size_t other)
{
    const struct ulp_compared_tensor *furthest = NULL;
    double most = -1;
    for (size_t t = 0; t < comparison->tensor_count; t++) {
        const struct ulp_compared_tensor *tensor = &comparison->tensors[t];
        const struct ulp_metrics *between = &tensor->values[file].others[other];
        const double apart = between->rms / tensor->range.ref_rms;
        if (between->count && apart > most) {
            most = apart;
            furthest = tensor;
        }
    }
    const char *one = comparison->files[other].name, *two = comparison->files[file].name;
    if (!furthest)
        ulp_note_add(notes, "", "%s and %s have no tensor in common.", one, two);
    else if (!(most > 0))
        ulp_note_add(notes, "", "%s and %s are equal.", one, two);
    else
        ulp_note_add(notes, "",
                     "%s and %s are furthest apart in '%s': rms %.2e, %.2g of the reference's.",
                     one, two, furthest->name, furthest->values[file].others[other].rms, most);
}

json_t *ulp_comparison_notes(const struct ulp_comparison *comparison)
{
    json_t *notes = json_array();
    for (size_t f = 0; f < comparison->file_count; f++)
        note_unmatched(&notes, &comparison->files[f]);
    if (comparison->unranked)
        ulp_note_add(&notes, "", "(neighbours are not ranked: %s)", comparison->unranked);
    if (comparison->ended)
        ulp_note_add(&notes, "",
                     "(%zu trials ended early, the first by: %s; what lies behind is taken as "
                     "behind a decision)",
                     comparison->ended, comparison->ended_by);
    for (size_t f = 0; f < comparison->file_count; f++)
        for (size_t other = 0; other < f; other++)
            note_pair(&notes, comparison, f, other);
    return notes;
}
