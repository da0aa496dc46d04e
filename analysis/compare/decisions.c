/* Decisions: indices, comparisons, roundings to steps. Where another rounding changes one, later
 * values differ by the size of the choice and not by the size of roundings; such values are called
 * open. */
#include <stdio.h>
#include <string.h>

#include "analysis/compare/comparing.h"
#include "base/error.h"
#include "tensor/tensor.h"

bool ulp_is_open(const struct ulp_comparing *comparing, size_t arithmetic, const char *name)
{
    return ulp_names_find(&comparing->open[arithmetic], name) >= 0;
}

static enum ulp_status add_open(struct ulp_comparing *comparing, size_t arithmetic,
                                const char *name, struct ulp_error *error)
{
    struct ulp_names *open = &comparing->open[arithmetic];
    if (ulp_names_find(open, name) >= 0)
        return ULP_OK;
    /* trials' names end with their plans */
    const char *copy = ulp_arena_copy(comparing->arena, name);
    return copy && ulp_names_add(open, copy, 0) ? ULP_OK : ulp_out_of_memory(error);
}

static bool reads_float(const struct ulp_event *event)
{
    for (size_t i = 0; i < event->input_count; i++)
        if (event->inputs[i].entire && ulp_element_is_float(event->inputs[i].entire->element))
            return true;
    return false;
}

/* Integers that come from floats, and floats that can only be whole. */
static bool is_decision(const struct ulp_event *event, const struct ulp_tensor *value)
{
    return ulp_element_is_float(value->element) ? ulp_is_word(event->op, "Round Floor Ceil Sign")
                                                : reads_float(event);
}

bool ulp_is_index(const struct ulp_event *event, size_t o)
{
    const struct ulp_tensor *value = event->values[o].entire;
    return value && !event->quantizes && !ulp_element_is_float(value->element) &&
           reads_float(event);
}

/* NULL: a lane that takes another way. */
static bool is_equal(const struct ulp_tensor *a, const struct ulp_tensor *b)
{
    if (!a || !b || !ulp_tensor_same_shape(a, b))
        return false;
    if (!ulp_element_is_float(a->element))
        return memcmp(a->data, b->data, a->count * a->element_bytes) == 0;
    for (size_t i = 0; i < a->count; i++) {
        const double x = ulp_tensor_get(a, i), y = ulp_tensor_get(b, i);
        if (x != y && !(x != x && y != y))
            return false;
    }
    return true;
}

bool ulp_is_chosen(const struct ulp_comparing *comparing, const char *name)
{
    return ulp_names_find(&comparing->chosen, name) >= 0;
}

/* What reads a choice is behind it; a number that is rounded to a step stays in its place. */
static enum ulp_status follow_choice(struct ulp_comparing *comparing, const struct ulp_event *event,
                                     struct ulp_error *error)
{
    bool chosen = false;
    for (size_t i = 0; i < event->input_count; i++)
        chosen |= ulp_is_chosen(comparing, event->input_names[i]);
    for (size_t o = 0; o < event->output_count; o++)
        chosen |= is_decision(event, event->values[o].entire) &&
                  !ulp_element_is_float(event->values[o].entire->element) && !event->quantizes &&
                  !ulp_is_word(event->op, "Cast DynamicQuantizeLinear");
    for (size_t o = 0; o < event->output_count && chosen; o++) {
        const char *copy = ulp_arena_copy(comparing->arena, event->output_names[o]);
        if (!ulp_is_chosen(comparing, event->output_names[o]) &&
            (!copy || !ulp_names_add(&comparing->chosen, copy, 0)))
            return ulp_out_of_memory(error);
    }
    return ULP_OK;
}

static enum ulp_status keep_decision(struct ulp_comparing *comparing, const char *name,
                                     size_t execution, const struct ulp_tensor *value,
                                     struct ulp_error *error)
{
    const char *full =
        ulp_arena_say(comparing->arena, execution ? "%s[%zu]" : "%s", name, execution);
    ULP_TRY(ulp_taken(full, error));
    ULP_TRY(ulp_grow(&comparing->decisions, comparing->decision_count,
                     &comparing->decision_capacity, sizeof *comparing->decisions,
                     ulp_comparing_budget(comparing), "decisions", error));
    ULP_TRY(ulp_tensor_copy(&comparing->decisions[comparing->decision_count], value,
                            ulp_comparing_budget(comparing), error));
    return ulp_names_add(&comparing->decided, full, (int)comparing->decision_count++)
               ? ULP_OK
               : ulp_out_of_memory(error);
}

/* Is output o another decision in some of the lanes, or than in the run on the inputs? */
static enum ulp_status look_at_decisions(struct ulp_comparing *comparing,
                                         const struct ulp_event *event, size_t o, size_t first,
                                         size_t last, bool keep, bool *turned,
                                         struct ulp_error *error)
{
    const struct ulp_tensor *truth = event->values[o].entire;
    const bool decision = is_decision(event, truth);
    for (size_t l = first; l < last; l++) {
        const struct ulp_tensor *value = event->values[l * event->output_count + o].entire;
        *turned |=
            !value || !ulp_tensor_same_shape(value, truth) || (decision && !is_equal(value, truth));
    }
    if (!decision)
        return ULP_OK;
    if (keep)
        return keep_decision(comparing, event->output_names[o], event->execution, truth, error);
    const ptrdiff_t number =
        ulp_execution_find(&comparing->decided, event->output_names[o], event->execution);
    *turned |= !is_equal(number < 0 ? NULL : &comparing->decisions[number], truth);
    return ULP_OK;
}

static enum ulp_status keep_turning(struct ulp_comparing *comparing, const struct ulp_event *event,
                                    struct ulp_error *error)
{
    const size_t most = sizeof comparing->turnings / sizeof *comparing->turnings;
    size_t i = 0;
    while (i < event->input_count &&
           !(event->inputs[i].entire && ulp_element_is_float(event->inputs[i].entire->element)))
        i++;
    bool is_new = i < event->input_count && comparing->turning_count < most;
    for (size_t t = 0; t < comparing->turning_count; t++)
        is_new = is_new && strcmp(comparing->turnings[t].node, event->name) != 0;
    if (!is_new)
        return ULP_OK;
    struct ulp_turning *turning = &comparing->turnings[comparing->turning_count++];
    *turning = (struct ulp_turning){ulp_comparing_text(comparing, event->name),
                                    ulp_comparing_text(comparing, event->op),
                                    ulp_comparing_text(comparing, event->input_names[i])};
    return ulp_taken(turning->node && turning->op && turning->reads, error);
}

enum ulp_status ulp_decisions_follow(struct ulp_comparing *comparing, size_t arithmetic,
                                     const struct ulp_event *event, size_t first, size_t last,
                                     bool keep, struct ulp_error *error)
{
    bool open = false;
    if (keep)
        ULP_TRY(follow_choice(comparing, event, error));
    for (size_t i = 0; i < event->input_count; i++)
        open |= ulp_is_open(comparing, arithmetic, event->input_names[i]);
    for (size_t l = first; l < last && event->apart; l++)
        open |= event->apart[l];
    const bool before = open;
    for (size_t o = 0; o < event->output_count; o++)
        ULP_TRY(look_at_decisions(comparing, event, o, first, last, keep, &open, error));
    if (open && !before && arithmetic < comparing->asked)
        ULP_TRY(keep_turning(comparing, event, error));
    for (size_t o = 0; o < event->output_count && open; o++)
        ULP_TRY(add_open(comparing, arithmetic, event->output_names[o], error));
    return ULP_OK;
}
