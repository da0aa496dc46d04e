/* Why the first unexplained tensor is not explained. */
#include <math.h>
#include <string.h>

#include "analysis/compare/cause/cause_change.h"
#include "analysis/compare/comparing.h"
#include "base/error.h"
#include "base/text/text.h"
#include "number/function/math.h"
#include "run/program/program.h"

/* Below this share of the reference's rms no wrong preprocessing is looked for: the mildest usual
 * mistakes, a pixel's shift or a missing deviation, move outputs by several percent. */
#define PREPROCESSING_MIN 1e-3
#define NODES_SHOWN 5

const char *ulp_cause_name(enum ulp_cause_kind kind)
{
    static const char *const names[] = {"none", "preprocessing", "inputs",   "format",
                                        "node", "shape",         "unjudged", "power"};
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "?";
}

/* ---- inputs that were not recorded ---- */

static enum ulp_status say_guess(const struct ulp_comparing *comparing, const char *input,
                                 const struct ulp_text *words, bool sure, struct ulp_cause *cause,
                                 struct ulp_error *error)
{
    struct ulp_text text = {0};
    ulp_text_show(&text,
                  sure ? "the input '%s' was prepared otherwise: %s. With an input like that "
                         "everything that was recorded is explained."
                       : "the inputs differ: '%s' was most likely prepared otherwise: %s. With "
                         "an input like that the outputs are near, though not all explained; "
                         "record the input to be sure.",
                  input, words->data);
    text.failed |= words->failed;
    return ulp_cause_set(comparing, cause, ULP_CAUSE_PREPROCESSING, &text, input, error);
}

static enum ulp_status guess(struct ulp_comparing *comparing, size_t file, size_t tensor,
                             const struct ulp_suspects *suspects, bool *sure,
                             struct ulp_cause *cause, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text order = {0};
    const char *input;
    *sure = false;
    for (size_t i = 0; i < suspects->input_count && !*sure; i++) {
        const struct ulp_tensor *given =
            ulp_tensor_set_find(comparing->inputs, suspects->inputs[i]);
        ULP_SCOPED(ulp_text_free) struct ulp_text words = {0};
        if (!given || !ulp_picture_of(given).image)
            continue;
        ULP_TRY(ulp_guess_input(comparing, file, tensor, suspects->inputs[i], &words, sure, error));
        if (words.length && (*sure || !cause->text))
            ULP_TRY(say_guess(comparing, suspects->inputs[i], &words, *sure, cause, error));
    }
    if (*sure)
        return ULP_OK;
    ULP_TRY(ulp_guess_order(comparing, file, tensor, suspects, &order, &input, error));
    *sure = order.length > 0;
    return *sure ? say_guess(comparing, input, &order, true, cause, error) : ULP_OK;
}

/* ---- nodes ---- */

static enum ulp_status keep_nodes(const struct ulp_comparing *comparing, struct ulp_cause *cause,
                                  const struct ulp_suspects *suspects, struct ulp_error *error)
{
    ULP_TAKE(cause->nodes, comparing->out->memory, suspects->count + 1, error);
    for (size_t s = 0; s < suspects->count; s++) {
        cause->nodes[s] = ulp_comparing_text(comparing, suspects->steps[s]->name);
        ULP_TRY(ulp_taken(cause->nodes[s], error));
    }
    cause->node_count = suspects->count;
    return ULP_OK;
}

static void list_nodes(const struct ulp_suspects *suspects, struct ulp_text *text)
{
    const size_t shown = suspects->count < NODES_SHOWN ? suspects->count : NODES_SHOWN;
    for (size_t n = suspects->count - shown; n < suspects->count; n++)
        ulp_text_show(text, "%s%s (%s)", n > suspects->count - shown ? ", " : "",
                      suspects->steps[n]->name, suspects->steps[n]->bound.node->op_type);
}

/* What there was no time for, and what is never tried. */
static void say_untried(const struct ulp_comparing *comparing, struct ulp_text *text)
{
    if (comparing->way_count && !comparing->ways_tried)
        ulp_text_add(text, " No usual way to prepare inputs was tried.");
    else if (comparing->ways_tried < comparing->way_count)
        ulp_text_add(text, " Of %zu usual ways to prepare inputs %zu were tried.",
                     comparing->way_count, comparing->ways_tried);
    if (comparing->inner_count)
        ulp_text_add(text,
                     " %zu of the nodes are in bodies of If, Loop or Scan, or in functions, where "
                     "no misreading is tried: record what these give.",
                     comparing->inner_count);
    if (comparing->nodes_tried >= comparing->node_count)
        return;
    if (comparing->nodes_tried)
        ulp_text_add(text,
                     " Of %zu of %zu nodes all usual misreadings were tried, and none explains "
                     "it; of the others it cannot be told",
                     comparing->nodes_tried, comparing->node_count);
    else
        ulp_text_add(text, " Of no node were all usual misreadings tried");
    ulp_text_add(text, "; %sinner tensors would tell, for fewer nodes lie between them.",
                 ulp_compare_limit(comparing) > 0 ? "a longer --max-time or " : "");
}

/* Where errors lie, if that is a part of an axis: those that are larger than the arithmetic's. */
static void say_where(const struct ulp_comparing *comparing, size_t file, size_t t,
                      struct ulp_text *text)
{
    enum { PLACES_MIN = 8, BEYOND = 2048, NEAR = 8 };
    const struct ulp_compared_tensor *tensor = &comparing->out->tensors[t];
    const struct ulp_compared_value *value = &tensor->values[file];
    const struct ulp_compared_work *work = &comparing->work[t];
    const struct ulp_tensor *recorded = ulp_recorded(work, file);
    const double least = ulp_expected_rms(comparing, t, file, value->by) * value->max_limit;
    int axis = -1;
    size_t from = 0, to = 0, inner = work->count;
    double part = 0.75;
    for (int d = 0; d < tensor->rank && recorded->count == work->count; d++) {
        const size_t places = (size_t)tensor->dims[d];
        size_t first = SIZE_MAX, last = 0;
        inner /= places ? places : 1;
        for (size_t i = 0; i < work->count; i++) {
            const size_t place = i / inner % places;
            if (!(fabs(ulp_tensor_get(recorded, i) - work->reference[i]) > least))
                continue;
            first = place < first ? place : first;
            last = place > last ? place : last;
        }
        if (first == SIZE_MAX || places < PLACES_MIN ||
            (double)(last - first + 1) > part * (double)places)
            continue;
        part = (double)(last - first + 1) / (double)places;
        axis = d, from = first, to = last;
    }
    if (axis < 0)
        return;
    const bool open = to + 1 == (size_t)tensor->dims[axis];
    ulp_text_add(text, " Its errors lie %s place %zu", open ? "from" : "at", from);
    if (!open && to > from)
        ulp_text_add(text, " to %zu", to);
    ulp_text_add(text, " of %lld%s along axis %d", (long long)tensor->dims[axis], open ? " on" : "",
                 axis);
    if (open && from + NEAR >= BEYOND && from <= BEYOND + NEAR)
        ulp_text_add(text, ", about where fp16 ceases to have every integer, as of an index that "
                           "is a float");
    ulp_text_add(text, ".");
}

/* A Dropout that is left on gives other values in every run: they are seen at its own result alone.
 */
static void say_dropped(const struct ulp_comparing *comparing, size_t file, size_t t,
                        const struct ulp_suspects *suspects, struct ulp_text *text)
{
    const struct ulp_compared_work *work = &comparing->work[t];
    const struct ulp_tensor *recorded = ulp_recorded(work, file);
    const char *dropout = NULL;
    size_t zeros = 0, others = 0;
    double least = INFINITY, most = 0;
    for (size_t s = 0; s < suspects->count; s++)
        if (strcmp(suspects->steps[s]->bound.node->op_type, "Dropout") == 0)
            dropout = suspects->steps[s]->name;
    for (size_t i = 0; i < work->count && recorded->count == work->count; i++) {
        const double is = ulp_tensor_get(recorded, i), was = work->reference[i];
        zeros += is == 0 && was != 0;
        others += is != 0;
        if (is != 0) {
            least = ulp_math_min(least, is / was);
            most = ulp_math_max(most, is / was);
        }
    }
    if (zeros && others > 1 && least > 1.01 && most < 1.01 * least)
        ulp_text_add(text,
                     " %zu of its values are 0 and the others %.3g times as large, as by a dropout "
                     "that was left on.",
                     zeros, least);
    else if (dropout)
        ulp_text_show(text,
                      " %s (Dropout) may have been left on, as in training: two recordings of the "
                      "same inputs then differ, and its own result would show it.",
                      dropout);
}

static enum ulp_status blame_nodes(const struct ulp_comparing *comparing, size_t file,
                                   size_t tensor, const struct ulp_suspects *suspects,
                                   struct ulp_cause *cause, struct ulp_error *error)
{
    const struct ulp_compared_tensor *target = &comparing->out->tensors[tensor];
    const struct ulp_compared_value *value = &target->values[file];
    const double off = value->truth.rms / target->range.ref_rms;
    const char *input = suspects->input_count ? suspects->inputs[0] : NULL;
    struct ulp_text text = {0};
    if (input) {
        ulp_text_show(&text, "an input or a node differs, in which way cannot be told: '%s' is ",
                      target->name);
        if (isfinite(off))
            ulp_text_add(&text, off < 0.995 ? "%.2g %% off, and " : "%.0f %% off, and ", 100 * off);
        else
            ulp_text_add(&text, "off where it or the reference is no finite number, and ");
        if (suspects->count > 1)
            ulp_text_show(&text,
                          "nothing before it was recorded; what the middle one of %zu nodes gives, "
                          "%s, tells in which half. ",
                          suspects->count, suspects->steps[suspects->count / 2]->name);
        else
            ulp_text_show(&text,
                          "it comes from the input at once (or of its node, %s, attributes or "
                          "constants differ). ",
                          target->node);
        ulp_text_show(&text, "Record the input%s '%s'%s, too, to learn how %s prepared.",
                      suspects->input_count > 1 ? "s" : "", input,
                      suspects->input_count > 1 ? " and others" : "",
                      suspects->input_count > 1 ? "they were" : "it was");
    } else if (suspects->count == 1) {
        ulp_text_show(
            &text,
            "node %s (%s) computes something else than the graph says, or with other weights: what "
            "it reads is explained, what it gives is not. Look at its attributes and constants.",
            target->node, target->op);
    } else {
        ulp_text_show(&text,
                      "one or several of %zu nodes compute something else than the graph says, or "
                      "with other weights: %s",
                      suspects->count, suspects->count > NODES_SHOWN ? "... " : "");
        list_nodes(suspects, &text);
        ulp_text_show(&text,
                      ". Record what they give to learn which, first that of the middle one, %s.",
                      suspects->steps[suspects->count / 2]->name);
    }
    if (value->truth.nonfinite)
        ulp_text_show(&text,
                      " In being finite, infinite or NaN %zu of its values differ%s from the "
                      "reference's.",
                      value->truth.nonfinite, value->truth.nonfinite == 1 ? "s" : "");
    say_where(comparing, file, tensor, &text);
    say_dropped(comparing, file, tensor, suspects, &text);
    say_untried(comparing, &text);
    ULP_TRY(ulp_cause_set(comparing, cause, input ? ULP_CAUSE_INPUTS : ULP_CAUSE_NODE, &text, input,
                          error));
    return keep_nodes(comparing, cause, suspects, error);
}

static enum ulp_status explain_tensor(struct ulp_comparing *comparing, size_t file, size_t tensor,
                                      struct ulp_cause *cause, struct ulp_error *error)
{
    const struct ulp_compared_tensor *target = &comparing->out->tensors[tensor];
    const double off = target->values[file].truth.rms / target->range.ref_rms;
    struct ulp_suspects suspects;
    struct ulp_cause likely = {0}; /* inputs with which not all is explained */
    bool sure = false;
    ULP_TRY(ulp_suspects_find(comparing, file, tensor, &suspects, error));
    ULP_TRY(ulp_explain_order(comparing, file, cause, error));
    if (!cause->text)
        ULP_TRY(ulp_explain_format(comparing, file, tensor, true, cause, error));
    if (!cause->text && !(off < PREPROCESSING_MIN))
        ULP_TRY(guess(comparing, file, tensor, &suspects, &sure, &likely, error));
    if (sure)
        *cause = likely;
    if (!cause->text)
        ULP_TRY(ulp_explain_reading(comparing, file, tensor, &suspects, cause, error));
    if (!cause->text && likely.text)
        *cause = likely;
    if (!cause->text)
        ULP_TRY(ulp_explain_format(comparing, file, tensor, false, cause, error));
    if (!cause->text)
        ULP_TRY(blame_nodes(comparing, file, tensor, &suspects, cause, error));
    return ULP_OK;
}

static enum ulp_status explain_shape(const struct ulp_comparing *comparing, size_t file,
                                     size_t tensor, struct ulp_cause *cause,
                                     struct ulp_error *error)
{
    const struct ulp_compared_tensor *target = &comparing->out->tensors[tensor];
    struct ulp_text text = {0};
    char one[200];
    ulp_text_show(&text, "'%s' was recorded as %s, and the graph gives %s[", target->name,
                  ulp_tensor_describe_text(comparing->work[tensor].recorded[file], one, sizeof one),
                  ulp_type_name(target->type));
    for (int d = 0; d < target->rank; d++)
        ulp_text_show(&text, d ? ",%lld" : "%lld", (long long)target->dims[d]);
    ulp_text_show(&text, "]: %sanother model, batch size or layout.",
                  comparing->work[tensor].chosen
                      ? "other rows were chosen, as of another input; or "
                      : "");
    const struct ulp_ranked *best = comparing->out->files[file].ranked;
    if (best && best->explains && best->arithmetic >= comparing->asked)
        ulp_text_show(&text, " %s explains it: its roundings choose as many or as few rows.",
                      comparing->out->arithmetics[best->arithmetic]);
    return ulp_cause_set(comparing, cause, ULP_CAUSE_SHAPE, &text, NULL, error);
}

/* Behind a choice another shape comes of other rows: of an input that was prepared otherwise. */
static enum ulp_status explain_choice(struct ulp_comparing *comparing, size_t file, size_t tensor,
                                      struct ulp_cause *cause, struct ulp_error *error)
{
    struct ulp_suspects suspects;
    bool sure;
    if (!comparing->work[tensor].chosen || !comparing->out->tensors[tensor].values[file].reshaped)
        return ULP_OK;
    ULP_TRY(ulp_suspects_find(comparing, file, tensor, &suspects, error));
    return guess(comparing, file, tensor, &suspects, &sure, cause, error);
}

/* ---- nothing to explain ---- */

/* Whose bits it has; or that the arithmetic's errors are much larger than those found: was it used
 * at all? */
static enum ulp_status explain_nothing(const struct ulp_comparing *comparing, size_t file,
                                       struct ulp_cause *cause, struct ulp_error *error)
{
    const ptrdiff_t by = comparing->out->files[file].by;
    struct ulp_text text = {0};
    double most = 0;
    bool any = false;
    for (size_t t = 0; t < comparing->out->tensor_count && by >= 0; t++) {
        const struct ulp_compared_tensor *tensor = &comparing->out->tensors[t];
        const double expected = tensor->expected[by].rms;
        /* behind an open decision it errs by a choice, which another run of it may take as exactly
         */
        if (!tensor->values[file].recorded || !tensor->node || !(expected > 0) ||
            tensor->expected[by].open)
            continue;
        most = ulp_math_max(most, tensor->values[file].truth.rms / expected);
        any = true;
    }
    ulp_text_show(&text, "%s", "");
    const struct ulp_ranked *best = comparing->out->files[file].ranked;
    const char *name = comparing->out->arithmetics[best->arithmetic];
    if (ulp_has_all_bits(best) && (ptrdiff_t)best->arithmetic == by)
        ulp_text_add(&text, "all %zu values have its bits.", best->elements);
    else if (ulp_has_all_bits(best))
        ulp_text_add(&text, "all %zu values have the bits of %s, which was not asked about.",
                     best->elements, name);
    else if (any && most < 0.05)
        ulp_text_show(&text,
                      "its errors are %.1g of what %s makes at most: it does not look as if it was "
                      "computed in %s.",
                      most, comparing->out->arithmetics[by], comparing->out->arithmetics[by]);
    return ulp_cause_set(comparing, cause, ULP_CAUSE_NONE, &text, NULL, error);
}

/* Nothing differs, and nothing is there that could. */
static enum ulp_status explain_unjudged(const struct ulp_comparing *comparing, size_t tensor,
                                        struct ulp_cause *cause, struct ulp_error *error)
{
    struct ulp_text text = {0};
    ulp_text_show(
        &text, "it cannot be judged: what can be compared is explained, but of '%s' nothing can.",
        comparing->out->tensors[tensor].name);
    return ulp_cause_set(comparing, cause, ULP_CAUSE_UNJUDGED, &text, NULL, error);
}

/* Which mistakes are hidden, by what, and what would show them. */
static enum ulp_status explain_hidden(const struct ulp_comparing *comparing, size_t file,
                                      struct ulp_cause *cause, struct ulp_error *error)
{
    const struct ulp_compared_file *out = &comparing->out->files[file];
    const char *input = NULL;
    struct ulp_text text = {0};
    for (size_t p = 0; p < out->power_count; p++) {
        const struct ulp_power *power = &out->power[p];
        if (!power->harms || power->least > 0)
            continue;
        ulp_text_show(&text, "%s", input ? "; " : "these would not be noticed: ");
        ulp_text_show(&text, "'%s' with %s", power->input, power->what);
        input = power->input;
    }
    if (!input) /* of an arithmetic that explains, if not of the first */
        ulp_text_show(&text, "%s", "mistakes in preparing the inputs would not be noticed");
    ulp_text_show(&text, ". ");
    if (comparing->turning_count)
        ulp_text_show(&text,
                      "What was recorded lies behind %s (%s), which decides otherwise by a "
                      "rounding. ",
                      comparing->turnings[0].node, comparing->turnings[0].op);
    else
        ulp_text_show(&text, "What they do to it is no more than what %s's roundings do. ",
                      comparing->out->arithmetics[0]);
    input = input ? input : comparing->inputs->count ? comparing->inputs->items[0].name : NULL;
    ulp_text_show(&text, "%s", "Record ");
    for (size_t t = 0; t < comparing->turning_count && t < 2; t++)
        ulp_text_show(&text, "'%s', ", comparing->turnings[t].reads);
    ulp_text_show(&text, "%s'%s' as it was given.", comparing->turning_count ? "or " : "",
                  input ? input : "");
    return ulp_cause_set(comparing, cause, ULP_CAUSE_POWER, &text, input, error);
}

enum ulp_status ulp_compare_cause(struct ulp_comparing *comparing, size_t file,
                                  struct ulp_error *error)
{
    struct ulp_compared_file *out = &comparing->out->files[file];
    comparing->way_count = comparing->ways_tried = 0;
    if (!out->cause.text) /* of equal values (compare_replay.c) */
        ULP_TRY(ulp_explain_outside(comparing, file, out, error));
    if (out->cause.text)
        return ULP_OK;
    if (out->explained)
        return explain_nothing(comparing, file, &out->cause, error);
    if (out->hidden)
        return explain_hidden(comparing, file, &out->cause, error);
    const size_t first = (size_t)out->first_unexplained;
    const struct ulp_compared_tensor *tensor = &comparing->out->tensors[first];
    ULP_TRY(explain_choice(comparing, file, first, &out->cause, error));
    if (out->cause.text)
        return ULP_OK;
    if (ulp_is_unjudged(tensor, file))
        return explain_unjudged(comparing, first, &out->cause, error);
    if (tensor->index < 0)
        return ulp_explain_input(comparing, file, first, &out->cause, error);
    if (tensor->values[file].reshaped)
        return explain_shape(comparing, file, first, &out->cause, error);
    return explain_tensor(comparing, file, first, &out->cause, error);
}
