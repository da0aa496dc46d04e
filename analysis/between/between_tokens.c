/* Given tokens: which output scores them, which they are, and their log-probabilities. */
#include <string.h>

#include "analysis/audit/auditor.h"
#include "analysis/between/betweening.h"
#include "analysis/measure/difference.h"
#include "analysis/measure/judged.h"
#include "base/error.h"
#include "number/function/math.h"
#include "tensor/tensor.h"

/* ---- the output ---- */

static bool can_score(const struct ulp_betweening *b, const struct ulp_named_tensor *output,
                      enum ulp_task task)
{
    const struct ulp_tensor *t = &output->tensor;
    if (!ulp_element_is_float(t->element) || !t->count)
        return false;
    if (b->options->output)
        return strcmp(b->options->output, output->name) == 0;
    if (task == ULP_TASK_TOKENS || task == ULP_TASK_TEXT)
        return true;
    return t->rank == 3 && t->dims[2] >= ULP_VOCABULARY_MIN &&
           strncmp(output->name, "present", 7) != 0;
}

enum ulp_status ulp_between_find_output(struct ulp_betweening *b, const struct ulp_program *program,
                                        const struct ulp_tensor_set *outputs,
                                        struct ulp_error *error)
{
    int found = -1, count = 0, texts = 0;
    for (size_t o = 0; o < outputs->count; o++) {
        const enum ulp_task task =
            ulp_audit_purpose(program, o, ULP_TASK_UNKNOWN, &outputs->items[o].tensor).task;
        if (!can_score(b, &outputs->items[o], task))
            continue;
        const bool text = task == ULP_TASK_TEXT || task == ULP_TASK_TOKENS;
        found = found < 0 || (text && !texts) ? (int)o : found;
        texts += text;
        count++;
    }
    if (found < 0)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "no float output of the model %s: --output NAME says which one has a row "
                        "of scores, or a log-probability, for each position",
                        b->options->output ? "is called so" : "has batch x positions x tokens");
    if (count > 1 && texts != 1)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "several outputs may be the scores of tokens: say which one, --output %s",
                        outputs->items[found].name);
    b->output = found;
    return ULP_OK;
}

/* ---- the tokens ---- */

/* The integer input that has a token for each position, and no mask, place or kind; of an encoder's
 * and a decoder's the decoder's, whichever is first. */
static const struct ulp_named_tensor *find_ids(const struct ulp_tensor_set *inputs, size_t rows)
{
    static const char *const others[] = {"mask", "position", "type", "segment", "seqlens", NULL};
    const struct ulp_named_tensor *found = NULL;
    for (size_t i = 0; inputs && i < inputs->count; i++) {
        const struct ulp_named_tensor *input = &inputs->items[i];
        bool other = ulp_element_is_float(input->tensor.element) || input->tensor.rank != 2 ||
                     input->tensor.count != rows;
        for (int n = 0; others[n] && !other; n++)
            other = strstr(input->name, others[n]) != NULL;
        if (!other && (!found || (strstr(input->name, "ids") && !strstr(found->name, "decoder"))))
            found = input;
    }
    return found;
}

/* Does the output have a row of scores for each position, not a number? One of two axes does where
 * there are as many tokens as rows. */
static bool has_rows(const struct ulp_tensor *output, const struct ulp_tensor *given,
                     const struct ulp_tensor_set *inputs)
{
    if (output->rank != 2)
        return output->rank > 2 && output->dims[output->rank - 1] >= ULP_VOCABULARY_MIN;
    const size_t rows = (size_t)output->dims[0];
    return output->dims[1] >= ULP_VOCABULARY_MIN &&
           (given ? given->count < output->count && given->count % rows == 0
                  : find_ids(inputs, rows) != NULL);
}

static void shift(const struct ulp_tensor *ids, struct ulp_given_tokens *out)
{
    const size_t positions = (size_t)ids->dims[1];
    for (size_t r = 0; r < out->rows; r++)
        out->tokens[r] = (r + 1) % positions ? ulp_tensor_get_int(ids, r + 1) : -1;
}

/* Another token at the end of the first text than it has there, which is no padding on the left;
 * false: there is none. */
static bool change_last(struct ulp_tensor *ids, size_t last)
{
    size_t other = 0;
    while (other < ids->count && ulp_tensor_get_int(ids, other) == ulp_tensor_get_int(ids, last))
        other++;
    if (last == 0 || other >= ids->count)
        return false;
    ulp_tensor_set_int(ids, last, ulp_tensor_get_int(ids, other));
    return true;
}

/* A mask of -10 leaves a later position 1e-5 of what is read. */
#define LEAKS 0.01

/* Does the model read the next token where it scores it, as one of masked texts does? Where scales
 * are of all positions, it cannot be told. */
enum ulp_status ulp_between_look_ahead(struct ulp_betweening *b, struct ulp_program *program,
                                       const struct ulp_tensor_set *outputs,
                                       struct ulp_error *error)
{
    const struct ulp_tensor_set *inputs = b->samples[0].inputs;
    const struct ulp_tensor *rows = &outputs->items[b->output].tensor;
    struct ulp_run_options run = {.thread_count = b->options->thread_count};
    struct ulp_tensor_set changed = *inputs, others = {0};
    if (b->options->tokens || !has_rows(rows, NULL, inputs) ||
        ulp_model_has_operator(b->model, "DynamicQuantizeLinear"))
        return ULP_OK;
    const size_t length = (size_t)rows->dims[rows->rank - 1];
    const struct ulp_named_tensor *ids = find_ids(inputs, rows->count / length);
    if (!ids)
        return ULP_OK;
    ULP_TAKE(changed.items, b->out->memory, inputs->count, error);
    memcpy(changed.items, inputs->items, inputs->count * sizeof *changed.items);
    struct ulp_tensor *copy = &changed.items[ids - inputs->items].tensor;
    copy->data = NULL;
    ULP_TRY(ulp_tensor_copy_typed(copy, &ids->tensor, ulp_model_budget(b->model), error));
    enum ulp_status status = ULP_OK;
    const size_t last = (size_t)copy->dims[1] - 1, from = last > 0 ? (last - 1) * length : 0;
    if (change_last(copy, last))
        status = ulp_program_run(program, &changed, &run, NULL, 0, &others, NULL, error);
    const struct ulp_tensor *now = others.count ? &others.items[b->output].tensor : NULL;
    double changes = 0, all = 0;
    for (size_t i = from; now && now->count == rows->count && i < from + length; i++) {
        const double y = ulp_tensor_get(rows, i), d = ulp_tensor_get(now, i) - y;
        changes += d * d;
        all += y * y;
    }
    b->ahead = changes > LEAKS * LEAKS * all;
    ulp_tensor_set_free(&others);
    ulp_tensor_free(copy);
    return status;
}

enum ulp_status ulp_between_find_tokens(struct ulp_betweening *b,
                                        const struct ulp_tensor_set *inputs,
                                        const struct ulp_tensor *rows, struct ulp_arena *memory,
                                        struct ulp_given_tokens *out, struct ulp_error *error)
{
    const struct ulp_tensor *given = b->options->tokens;
    const bool scored = has_rows(rows, given, inputs);
    *out = (struct ulp_given_tokens){.length = scored ? (size_t)rows->dims[rows->rank - 1] : 1};
    out->rows = rows->count / out->length;
    ULP_TAKE(out->tokens, memory, out->rows, error);
    const struct ulp_named_tensor *texts = find_ids(inputs, out->rows),
                                  *ids = given || !scored ? NULL : texts;
    /* without such an input the last axis of rows that is longer than one has the positions */
    int axis = rows->rank - 1 - scored;
    while (axis > 0 && rows->dims[axis] == 1)
        axis--;
    out->positions = texts      ? (size_t)texts->tensor.dims[1]
                     : axis < 0 ? 1
                                : (size_t)rows->dims[axis];
    const char *from = given ? b->options->tokens_name ? b->options->tokens_name : "the given ones"
                       : ids ? ids->name
                             : "the output itself";
    if (given && given->count < b->tokens_taken + out->rows)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "%s has %zu tokens: expected one for each of the %zu positions so far",
                        from, given->count, b->tokens_taken + out->rows);
    if (scored && !given && !ids)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "which tokens are given is not known: no integer input has the %zu "
                        "positions of output %s. --tokens FILE.npy says them",
                        out->rows, b->out->output);
    if (ids)
        shift(&ids->tensor, out);
    for (size_t r = 0; r < out->rows; r++) {
        if (given)
            out->tokens[r] = ulp_tensor_get_int(given, b->tokens_taken + r);
        if (!scored && !given)
            out->tokens[r] = 0;
        if (scored && out->tokens[r] >= (int64_t)out->length)
            return ulp_fail(error, ULP_ERROR_INPUT, "token %lld of position %zu: there are %zu",
                            (long long)out->tokens[r], r, out->length);
        out->count += out->tokens[r] >= 0;
    }
    b->tokens_taken += given ? out->rows : 0;
    if (!out->count)
        return ulp_fail(error, ULP_ERROR_USAGE, "no position has a given token: %s",
                        ids ? "a text of one token has no next one" : "all are negative");
    if (!b->out->tokens) {
        b->out->tokens =
            ulp_arena_say(b->out->memory, ids ? "input %s, the next position's%s" : "%s", from,
                          b->ahead
                              ? ", which this model has read there: --tokens FILE.npy says which "
                                "it is asked for, as the masked ones"
                              : "");
        ULP_TRY(ulp_taken(b->out->tokens, error));
    }
    return ULP_OK;
}

/* ---- their log-probabilities ---- */

enum ulp_status ulp_between_logs(const struct ulp_given_tokens *given,
                                 const struct ulp_tensor *value, double *logs, const double *scale,
                                 double *gradient, struct ulp_error *error)
{
    ULP_SCOPED(ulp_free_of) void *memory = NULL;
    const size_t length = given->length;
    if (value->count != given->rows * length)
        return ulp_fail(error, ULP_ERROR_INPUT, "an output has another shape in one arithmetic");
    ULP_TRY(ulp_allocate(&memory, 2 * length, sizeof(double), NULL, "a row of scores", error));
    double *row = memory, *before = row + length;
    for (size_t r = 0; r < given->rows; r++) {
        logs[r] = 0;
        if (given->tokens[r] < 0)
            continue;
        const size_t at = length > 1 ? (size_t)given->tokens[r] : 0;
        ulp_side_read(row, value, r * length, length);
        memcpy(before, row, length * sizeof *row);
        const bool shares = length > 1 && ulp_judged_logs(row, length);
        logs[r] = row[at];
        double *to = gradient ? gradient + r * length : NULL;
        for (size_t i = 0; i < length && to && length > 1 && !shares; i++)
            to[i] -= scale[r] * ulp_math_exp(row[i]);
        if (to)
            to[at] += scale[r] / (shares ? ulp_math_max(before[at], 1e-12) : 1);
    }
    return ULP_OK;
}
