#include "analysis/measure/judge.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/machine/environment.h"
#include "number/mpfr_record.h"
#include "run/program/program.h"
#include "tensor/tensor.h"

static const struct {
    const char *name, *reason;
} rows[] = {
    [ULP_CROSSED_NOTHING] = {"undefined", "has no finite element to compare"},
    [ULP_CROSSED_UNPAIRED] = {"unpaired", "has no value of this name in the reference model"},
    [ULP_CROSSED_DIVERGED] = {"diverged",
                              "has diverged: its shape or integers differ from the reference's"},
    [ULP_CROSSED_INPUT] = {"input", "holds NaN or infinity"},
    [ULP_CROSSED_EMPTY] = {"empty", "has no element to compare"},
    [ULP_CROSSED_IDLE] = {"idle", "is 0 everywhere in the reference"},
    [ULP_CROSSED_NONFINITE] = {"nonfinite",
                               "is not finite where the reference is, or the other way round"},
    [ULP_CROSSED_REFERENCE] = {"reference", "is not finite in the reference already"},
    [ULP_CROSSED_HIDDEN] = {"hidden", "outputs depend on what is not finite in the reference"},
    [ULP_CROSSED_LOST] = {"lost", "the reference lost its digits: it is good for too few of them"},
    [ULP_CROSSED_NO_FIGURE] = {"no figure",
                               "no output has this figure, by what it is for (--task)"},
    [ULP_CROSSED_NO_OUTPUT] = {"no output", "there is no output to compare: no node computes one"},
};
enum { ROWS = sizeof rows / sizeof *rows };

const char *ulp_judge_name(enum ulp_crossing_kind kind)
{
    return rows[kind].name;
}

const char *ulp_judge_reason(enum ulp_crossing_kind kind)
{
    return rows[kind].reason;
}

const char *ulp_judge_find_reason(const char *name)
{
    for (size_t r = 0; r < ROWS; r++)
        if (rows[r].name && strcmp(rows[r].name, name) == 0)
            return rows[r].reason;
    return NULL;
}

enum ulp_crossing_kind ulp_judge_metrics(const struct ulp_metrics *metrics)
{
    return metrics->diverged     ? ULP_CROSSED_DIVERGED
           : metrics->nonfinite  ? ULP_CROSSED_NONFINITE
           : metrics->count      ? ULP_CROSSED_VALUE
           : metrics->unmeasured ? ULP_CROSSED_NOTHING
                                 : ULP_CROSSED_EMPTY;
}

enum ulp_crossing_kind ulp_judge_vacant(const struct ulp_vacant *vacant)
{
    return vacant->undefined ? ULP_CROSSED_NOTHING
           : vacant->idle    ? ULP_CROSSED_IDLE
                             : ULP_CROSSED_EMPTY;
}

bool ulp_judge_is_finite(const struct ulp_tensor *tensor, size_t i)
{
    if (tensor->element != ULP_ELEMENT_WIDE)
        return isfinite(ulp_tensor_get(tensor, i));
    const int64_t kind = ulp_record_at_const(tensor->data, i, tensor->precision)->kind;
    return kind != MPFR_NAN_KIND && kind != MPFR_INF_KIND && kind != -MPFR_INF_KIND;
}

size_t ulp_judge_count_nonfinite(const struct ulp_tensor *tensor)
{
    size_t count = 0;
    for (size_t i = 0; ulp_element_is_float(tensor->element) && i < tensor->count; i++)
        count += !ulp_judge_is_finite(tensor, i);
    return count;
}

/* Floats that are all 0. */
static bool is_idle(const struct ulp_tensor *output)
{
    bool zero = ulp_element_is_float(output->element) && output->count > 1;
    for (size_t i = 0; i < output->count && zero; i++)
        zero = ulp_tensor_get(output, i) == 0;
    return zero;
}

enum ulp_crossing_kind ulp_judge_reference(const struct ulp_tensor *reference,
                                           const struct ulp_tensor_set *inputs)
{
    return !reference->count                                          ? ULP_CROSSED_EMPTY
           : ulp_judge_count_nonfinite(reference) == reference->count ? ULP_CROSSED_NOTHING
           : inputs && inputs->drawn && is_idle(reference)            ? ULP_CROSSED_IDLE
                                                                      : ULP_CROSSED_VALUE;
}

bool ulp_unjudged_is_lost(const struct ulp_unjudged *unjudged)
{
    return unjudged->reason == rows[ULP_CROSSED_LOST].reason;
}

void ulp_unjudged_say(struct ulp_text *out, const struct ulp_unjudged *unjudged)
{
    if (unjudged->name)
        ulp_text_show(out, "%s %s ", unjudged->is_input ? "input" : "output", unjudged->name);
    if (unjudged->name && unjudged->sample)
        ulp_text_show(out, "of %s ", unjudged->sample);
    if (!ulp_unjudged_is_lost(unjudged) || !unjudged->because) /* which says it, too */
        ulp_text_add(out, "%s%s", unjudged->reason, unjudged->because ? ": " : "");
    if (unjudged->is_input)
        ulp_text_add(out, " (when that is meant: --allow-nonfinite-inputs)");
    if (unjudged->because)
        ulp_text_show(out, "%s", unjudged->because);
}

enum ulp_status ulp_unjudged_text(const struct ulp_unjudged *unjudged, char **out,
                                  struct ulp_error *error)
{
    ULP_ENTER(error);
    struct ulp_text text = {0};
    ulp_unjudged_say(&text, unjudged);
    *out = text.failed ? NULL : text.data;
    if (*out)
        return ULP_OK;
    ulp_text_free(&text);
    return ulp_out_of_memory(error);
}

bool ulp_unjudged_add(struct ulp_arena *arena, struct ulp_unjudged_list *list,
                      struct ulp_unjudged unjudged)
{
    const char **const texts[] = {&unjudged.name, &unjudged.sample, &unjudged.because};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        if (*texts[t] && !(*texts[t] = ulp_arena_copy(arena, *texts[t])))
            return false;
    if (!ULP_ARENA_GROWS(list->items, arena, list->count, list->capacity))
        return false;
    list->items[list->count++] = unjudged;
    return true;
}

bool ulp_unjudged_add_inputs(struct ulp_arena *arena, struct ulp_unjudged_list *list,
                             const struct ulp_tensor_set *inputs, const char *sample)
{
    bool added = true;
    for (size_t i = 0; inputs && i < inputs->count; i++)
        if (ulp_judge_count_nonfinite(&inputs->items[i].tensor))
            added &=
                ulp_unjudged_add(arena, list,
                                 (struct ulp_unjudged){true, inputs->items[i].name, sample,
                                                       ulp_judge_reason(ULP_CROSSED_INPUT), NULL});
    return added;
}

enum ulp_status ulp_judge_inputs(const struct ulp_tensor_set *inputs, const char *sample,
                                 struct ulp_error *error)
{
    for (size_t i = 0; inputs && i < inputs->count; i++)
        if (ulp_judge_count_nonfinite(&inputs->items[i].tensor))
            return ulp_judge_fail(&(struct ulp_unjudged){true, inputs->items[i].name, sample,
                                                         ulp_judge_reason(ULP_CROSSED_INPUT), NULL},
                                  error);
    return ULP_OK;
}

enum ulp_status ulp_judge_fail(const struct ulp_unjudged *unjudged, struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ulp_unjudged_say(&text, unjudged);
    return text.failed ? ulp_out_of_memory(error)
                       : ulp_fail(error, ULP_ERROR_LIMIT, "cannot be judged: %s", text.data);
}

/* ---- where the reference stops being finite ---- */

const struct ulp_birth *ulp_birth_of(const struct ulp_birth *births, size_t count, const char *name)
{
    const struct ulp_birth *hidden = NULL;
    for (size_t b = 0; b < count; b++) {
        for (size_t o = 0; o < births[b].output_count; o++)
            if (!name || strcmp(births[b].outputs[o], name) == 0)
                return &births[b];
        if (!births[b].output_count && !hidden)
            hidden = &births[b];
    }
    return name ? NULL : hidden;
}

void ulp_birth_say(struct ulp_text *out, const struct ulp_birth *birth, bool why)
{
    ulp_text_show(out, "node %zu %s (%s) is %s, in the reference already", birth->node, birth->name,
                  birth->op, birth->is);
    if (why && birth->why)
        ulp_text_show(out, ": %s", birth->why);
}

void ulp_birth_todo(struct ulp_text *out, const struct ulp_birth *birth)
{
    ulp_text_show(out, "give inputs with which %s is finite, or mend the model there", birth->name);
}

/* What is said of it, behind which a sentence may go on. */
static struct ulp_text say_birth(const struct ulp_birth *birth)
{
    struct ulp_text text = {0};
    if (birth)
        ulp_birth_say(&text, birth, true);
    return text;
}

enum ulp_status ulp_judge_fail_birth(enum ulp_crossing_kind kind, const struct ulp_birth *birth,
                                     const char *output, const char *sample,
                                     struct ulp_error *error)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = say_birth(birth);
    return text.failed ? ulp_out_of_memory(error)
                       : ulp_judge_fail(&(struct ulp_unjudged){.name = output,
                                                               .sample = sample,
                                                               .reason = ulp_judge_reason(kind),
                                                               .because = text.data},
                                        error);
}

bool ulp_unjudged_add_birth(struct ulp_arena *arena, struct ulp_unjudged_list *list,
                            enum ulp_crossing_kind kind, const struct ulp_birth *birth,
                            const char *output, const char *sample)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = say_birth(birth);
    return !text.failed && ulp_unjudged_add(arena, list,
                                            (struct ulp_unjudged){.name = output,
                                                                  .sample = sample,
                                                                  .reason = ulp_judge_reason(kind),
                                                                  .because = text.data});
}

void ulp_judge_wider(struct ulp_text *out, const char *name)
{
    struct ulp_arithmetic reference;
    const bool known = ulp_arithmetic_find(name, &reference, NULL) == ULP_OK;
    ulp_text_add(out, " --reference mpfr:%d",
                 known && !reference.storage.pairs ? 4 * reference.storage.precision : 512);
}

void ulp_certificate_say(struct ulp_text *out, const struct ulp_certificate *certificate,
                         const char *name, const char *op, const char *reference)
{
    ulp_text_add(out, "the reference lost its digits");
    if (certificate->lost)
        ulp_text_show(out, " at node %zu %s (%s)", certificate->lost_at, name, op);
    ulp_text_show(out, ": %s is good for %.1f digits of the outputs", reference,
                  certificate->output_digits);
}

bool ulp_unjudged_add_lost(struct ulp_arena *arena, struct ulp_unjudged_list *list,
                           const struct ulp_certificate *certificate, const char *name,
                           const char *op, const char *reference, const char *sample)
{
    ULP_SCOPED(ulp_text_free) struct ulp_text text = {0};
    ulp_certificate_say(&text, certificate, name, op, reference);
    return !text.failed &&
           ulp_unjudged_add(arena, list,
                            (struct ulp_unjudged){.sample = sample,
                                                  .reason = ulp_judge_reason(ULP_CROSSED_LOST),
                                                  .because = text.data});
}
