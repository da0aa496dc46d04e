/* Which value of the graph each recorded array is. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/comparing.h"
#include "base/error.h"
#include "base/text.h"
#include "run/plan.h"

enum { UNKNOWN = -1, CONSTANT = -2 }; /* beside indices of a value */

/* A value's name and what it is. */
struct value {
    const char *name;
    bool constant, input;
};

struct values {
    struct value *items;
    size_t count, capacity;
    struct ulp_names numbers;
};

static bool add_value(struct values *values, struct value value)
{
    if (ulp_names_find(&values->numbers, value.name) >= 0)
        return true; /* of another branch or body: the first stands for all */
    if (values->count == values->capacity) {
        const size_t capacity = 2 * values->capacity + 64;
        struct value *items = realloc(values->items, capacity * sizeof *items);
        if (!items)
            return false;
        values->items = items;
        values->capacity = capacity;
    }
    values->items[values->count] = value;
    return ulp_names_add(&values->numbers, value.name, (int)values->count++);
}

static bool is_input(const struct ulp_block *block, int slot)
{
    for (size_t i = 0; i < block->input_count; i++)
        if (block->inputs[i] == slot)
            return true;
    return false;
}

/* Every value of the plan that nodes or the user give, and constants. */
static enum ulp_status list_values(const struct ulp_plan *plan, struct values *out,
                                   struct ulp_error *error)
{
    for (size_t b = 0; b < plan->block_count; b++) {
        const struct ulp_block *block = plan->blocks[b];
        for (size_t v = 0; v < block->slot_count && !block->inlined_in; v++) {
            const struct ulp_plan_slot *slot = &block->slots[v];
            const struct value value = {slot->name, slot->constant != NULL,
                                        block == plan->main && is_input(block, (int)v)};
            if (slot->name && *slot->name && slot->outer < 0 && slot->same_as < 0 &&
                !add_value(out, value))
                return ulp_comparing_memory(error);
        }
    }
    return ULP_OK;
}

/* Equal when everything but letters and digits is taken as '_', as names of files must. */
static bool is_alike(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        const char x = isalnum((unsigned char)*a) ? *a : '_',
                   y = isalnum((unsigned char)*b) ? *b : '_';
        if (x != y)
            return false;
    }
    return !*a && !*b;
}

/* The value an array is called after. UNKNOWN: none, or several are alike. */
static int find_value(const struct values *values, const char *name)
{
    int found = ulp_names_find(&values->numbers, name);
    if (found >= 0)
        return found;
    for (size_t v = 0; v < values->count; v++) {
        if (!is_alike(values->items[v].name, name))
            continue;
        if (found >= 0)
            return UNKNOWN;
        found = (int)v;
    }
    return found;
}

/* "NAME[k]" of a later round: its place in the text; NULL: it is none. */
static const char *find_round(const char *name)
{
    const size_t length = strlen(name);
    const char *open = strrchr(name, '[');
    if (!open || open == name || name[length - 1] != ']' || open[1] == '0' ||
        strspn(open + 1, "0123456789") != length - (size_t)(open - name) - 2)
        return NULL;
    return open;
}

/* The name under which the run will come to the array's value; freed with free(). *kind: index of
 * the value, UNKNOWN or CONSTANT. */
static char *resolve(const struct values *values, const char *name, int *kind)
{
    const char *round = NULL;
    char *base = NULL, *resolved = NULL;
    *kind = find_value(values, name);
    if (*kind == UNKNOWN && (round = find_round(name)) != NULL) {
        base = strndup(name, (size_t)(round - name));
        *kind = base ? find_value(values, base) : UNKNOWN;
        free(base);
    }
    if (*kind >= 0) {
        const char *found = values->items[*kind].name;
        const size_t size = strlen(found) + (round ? strlen(round) : 0) + 1;
        if ((resolved = malloc(size)) != NULL)
            snprintf(resolved, size, "%s%s", found, round ? round : "");
        if (values->items[*kind].constant)
            *kind = CONSTANT;
    } else {
        resolved = strdup(name);
    }
    return resolved;
}

static enum ulp_status add_unmatched(struct ulp_compared_file *file, char *name,
                                     struct ulp_error *error)
{
    char **names = realloc(file->unmatched, (file->unmatched_count + 1) * sizeof *names);
    if (!names) {
        free(name);
        return ulp_comparing_memory(error);
    }
    file->unmatched = names;
    names[file->unmatched_count++] = name;
    return ULP_OK;
}

static enum ulp_status prepare_tensor(const struct ulp_comparing *comparing,
                                      struct ulp_compared_tensor *tensor,
                                      struct ulp_compared_work *work, struct ulp_error *error)
{
    const size_t files = comparing->recording_count, lanes = comparing->out->arithmetic_count;
    tensor->index = -1;
    work->order = SIZE_MAX;
    tensor->expected = calloc(lanes, sizeof *tensor->expected);
    tensor->values = calloc(files, sizeof *tensor->values);
    work->recorded = calloc(files, sizeof *work->recorded);
    work->stored = calloc(files, sizeof *work->stored);
    work->members = calloc(lanes, sizeof *work->members);
    if (!tensor->expected || !tensor->values || !work->recorded || !work->stored || !work->members)
        return ulp_comparing_memory(error);
    for (size_t f = 0; f < files; f++) {
        tensor->values[f].arithmetics = calloc(lanes, sizeof *tensor->values[f].arithmetics);
        tensor->values[f].others = calloc(files, sizeof *tensor->values[f].others);
        if (!tensor->values[f].arithmetics || !tensor->values[f].others)
            return ulp_comparing_memory(error);
    }
    return ULP_OK;
}

/* A tensor of the comparison under that name, which becomes its own. */
static enum ulp_status add_tensor(struct ulp_comparing *comparing, char *name, size_t *number,
                                  struct ulp_error *error)
{
    struct ulp_comparison *out = comparing->out;
    const size_t count = out->tensor_count + 1;
    struct ulp_compared_tensor *tensors = realloc(out->tensors, count * sizeof *tensors);
    out->tensors = tensors ? tensors : out->tensors;
    struct ulp_compared_work *work = realloc(comparing->work, count * sizeof *work);
    comparing->work = work ? work : comparing->work;
    if (!tensors || !work) {
        free(name);
        return ulp_comparing_memory(error);
    }
    *number = out->tensor_count++;
    tensors[*number] = (struct ulp_compared_tensor){.name = name};
    work[*number] = (struct ulp_compared_work){0};
    if (!ulp_names_add(&comparing->numbers, name, (int)*number))
        return ulp_comparing_memory(error);
    return prepare_tensor(comparing, &tensors[*number], &work[*number], error);
}

static enum ulp_status match_array(struct ulp_comparing *comparing, const struct values *values,
                                   size_t file, const struct ulp_named_tensor *array,
                                   bool only_inputs, struct ulp_error *error)
{
    int kind;
    char *name = resolve(values, array->name, &kind);
    if (!name)
        return ulp_comparing_memory(error);
    if (only_inputs && !(kind >= 0 && values->items[kind].input)) {
        enum ulp_status status = ulp_fail(error, ULP_ERROR_INPUT,
                                          "recorded inputs: '%s' is no input of the model", name);
        free(name);
        return status;
    }
    if (kind < 0)
        return add_unmatched(&comparing->out->files[file], name, error);
    const int known = ulp_names_find(&comparing->numbers, name);
    size_t number = (size_t)(known < 0 ? 0 : known);
    enum ulp_status status = ULP_OK;
    if (known < 0)
        status = add_tensor(comparing, name, &number, error);
    else
        free(name);
    if (status != ULP_OK)
        return status;
    if (comparing->work[number].recorded[file] && !only_inputs)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: '%s' is a second array of '%s'",
                        comparing->recordings[file].name, array->name,
                        comparing->out->tensors[number].name);
    comparing->work[number].recorded[file] = &array->tensor;
    return ULP_OK;
}

static enum ulp_status match_file(struct ulp_comparing *comparing, const struct values *values,
                                  size_t file, struct ulp_error *error)
{
    const struct ulp_recording *recording = &comparing->recordings[file];
    const struct ulp_tensor_set *inputs = comparing->options->recorded_inputs;
    enum ulp_status status = ULP_OK;
    for (size_t t = 0; t < recording->tensors.count && status == ULP_OK; t++)
        status = match_array(comparing, values, file, &recording->tensors.items[t], false, error);
    for (size_t t = 0; inputs && t < inputs->count && status == ULP_OK; t++)
        status = match_array(comparing, values, file, &inputs->items[t], true, error);
    return status;
}

/* Something that nodes compute must be there: inputs alone say nothing about a framework. */
static enum ulp_status check_file(const struct ulp_comparing *comparing,
                                  const struct values *values, size_t file, struct ulp_error *error)
{
    const struct ulp_compared_file *out = &comparing->out->files[file];
    for (size_t t = 0; t < comparing->out->tensor_count; t++) {
        const int value = ulp_names_find(&values->numbers, comparing->out->tensors[t].name);
        if (comparing->work[t].recorded[file] && !(value >= 0 && values->items[value].input))
            return ULP_OK;
    }
    struct ulp_text names = {0};
    for (size_t u = 0; u < out->unmatched_count && u < 3; u++)
        ulp_text_add(&names, "%s'%.60s'", u ? ", " : "", out->unmatched[u]);
    enum ulp_status status = ulp_fail(
        error, ULP_ERROR_INPUT,
        "%s: nothing to compare: no array has the name of a tensor that the graph computes (its "
        "arrays: %s%s; the graph's first output: '%s')",
        comparing->recordings[file].name, names.length ? names.data : "inputs only",
        out->unmatched_count > 3 ? ", ..." : "",
        ulp_model_output_count(comparing->model) ? ulp_model_output(comparing->model, 0).name
                                                 : "none");
    ulp_text_free(&names);
    return status;
}

enum ulp_status ulp_compare_match(struct ulp_comparing *comparing, struct ulp_error *error)
{
    struct values values = {0};
    enum ulp_status status = list_values(comparing->plan, &values, error);
    for (size_t f = 0; f < comparing->recording_count && status == ULP_OK; f++) {
        status = match_file(comparing, &values, f, error);
        if (status == ULP_OK)
            status = check_file(comparing, &values, f, error);
    }
    ulp_names_free(&values.numbers);
    free(values.items);
    return status;
}
