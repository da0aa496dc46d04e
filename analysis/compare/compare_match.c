/* Finding the value of the graph that each recorded array belongs to. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analysis/compare/comparing.h"
#include "base/error.h"
#include "base/text/text.h"
#include "run/program/program.h"

enum { UNKNOWN = -1, CONSTANT = -2 }; /* beside indices of a value */

/* A value's name and what it is. */
struct value {
    const char *name;
    bool constant, input;
};

struct values {
    struct value *items;
    size_t count;
    struct ulp_names numbers;
};

static bool add_value(struct values *values, struct value value)
{
    if (ulp_names_find(&values->numbers, value.name) >= 0)
        return true; /* of another branch or body: the first stands for all */
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

/* Every value of the program that nodes or the user give, and constants. */
static enum ulp_status list_values(const struct ulp_comparing *comparing, struct values *out,
                                   struct ulp_error *error)
{
    const struct ulp_program *program = comparing->program;
    size_t most = 0;
    for (size_t b = 0; b < program->block_count; b++)
        most += program->blocks[b]->slot_count;
    out->numbers.budget = ulp_comparing_budget(comparing);
    ULP_TAKE(out->items, comparing->arena, most + 1, error);
    for (size_t b = 0; b < program->block_count; b++) {
        const struct ulp_block *block = program->blocks[b];
        for (size_t v = 0; v < block->slot_count && !block->inlined_in; v++) {
            const struct ulp_program_slot *slot = &block->slots[v];
            const struct value value = {slot->name, slot->constant != NULL,
                                        block == program->main && is_input(block, (int)v)};
            if (slot->name && *slot->name && slot->outer < 0 && slot->same_as < 0 &&
                !add_value(out, value))
                return ulp_out_of_memory(error);
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
static int find_array_value(const struct values *values, const char *name)
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

/* "NAME[k]" of a later execution: its place in the text; NULL: it is none. */
static const char *find_execution(const char *name)
{
    const size_t length = strlen(name);
    const char *open = strrchr(name, '[');
    if (!open || open == name || name[length - 1] != ']' || open[1] == '0' ||
        strspn(open + 1, "0123456789") != length - (size_t)(open - name) - 2)
        return NULL;
    return open;
}

/* The name under which the run will come to the array's value; NULL: out of memory. *kind: index of
 * the value, UNKNOWN or CONSTANT. */
static char *resolve(const struct ulp_comparing *comparing, const struct values *values,
                     const char *name, int *kind)
{
    const char *execution = NULL;
    *kind = find_array_value(values, name);
    if (*kind == UNKNOWN && (execution = find_execution(name)) != NULL) {
        const char *base = ulp_arena_text(comparing->arena, name, (size_t)(execution - name));
        *kind = base ? find_array_value(values, base) : UNKNOWN;
    }
    if (*kind < 0)
        return ulp_comparing_text(comparing, name);
    const char *found = values->items[*kind].name;
    if (values->items[*kind].constant)
        *kind = CONSTANT;
    return ulp_arena_say(comparing->out->memory, "%s%s", found, execution ? execution : "");
}

/* A tensor of the comparison under that name. */
static enum ulp_status add_tensor(struct ulp_comparing *comparing, char *name, size_t *number,
                                  struct ulp_error *error)
{
    struct ulp_comparison *out = comparing->out;
    const size_t files = out->file_count, lanes = out->arithmetic_count;
    *number = out->tensor_count++;
    struct ulp_compared_tensor *tensor = &out->tensors[*number];
    struct ulp_compared_work *work = &comparing->work[*number];
    *tensor = (struct ulp_compared_tensor){.name = name,
                                           .index = -1,
                                           .expected = ulp_arena_take(out->memory, lanes,
                                                                      sizeof *tensor->expected),
                                           .values = ulp_arena_take(out->memory, files,
                                                                    sizeof *tensor->values)};
    *work = (struct ulp_compared_work){
        .order = SIZE_MAX,
        .recorded = ulp_arena_take(comparing->arena, files, sizeof *work->recorded),
        .turned = ulp_arena_take(comparing->arena, files, sizeof *work->turned),
        .stored = ulp_arena_take(comparing->arena, files, sizeof *work->stored),
        .matched_stored = ulp_arena_take(comparing->arena, files, sizeof *work->matched_stored),
        .members = ulp_arena_take(comparing->arena, lanes, sizeof *work->members)};
    bool whole = tensor->expected && tensor->values && work->recorded && work->turned &&
                 work->stored && work->matched_stored && work->members &&
                 ulp_names_add(&comparing->numbers, name, (int)*number);
    for (size_t f = 0; whole && f < files; f++) {
        struct ulp_compared_value *value = &tensor->values[f];
        value->arithmetics = ulp_arena_take(out->memory, lanes, sizeof *value->arithmetics);
        value->others = ulp_arena_take(out->memory, files, sizeof *value->others);
        whole = value->arithmetics && value->others;
    }
    for (size_t a = 0; whole && a < lanes; a++) {
        size_t *equal = ulp_arena_take(comparing->arena, files, sizeof *equal);
        work->members[a].equal = equal;
        whole = equal;
    }
    return ulp_taken(whole, error);
}

static enum ulp_status match_array(struct ulp_comparing *comparing, const struct values *values,
                                   size_t file, const struct ulp_named_tensor *array,
                                   bool only_inputs, struct ulp_error *error)
{
    struct ulp_compared_file *out = &comparing->out->files[file];
    int kind;
    char *name = resolve(comparing, values, array->name, &kind);
    ULP_TRY(ulp_taken(name, error));
    if (only_inputs && !(kind >= 0 && values->items[kind].input))
        return ulp_fail(error, ULP_ERROR_INPUT, "recorded inputs: '%s' is no input of the model",
                        name);
    if (kind < 0) {
        out->unmatched[out->unmatched_count++] = name;
        return ULP_OK;
    }
    const int known = ulp_names_find(&comparing->numbers, name);
    size_t number = (size_t)(known < 0 ? 0 : known);
    ULP_TRY(known < 0 ? add_tensor(comparing, name, &number, error) : ULP_OK);
    if (comparing->work[number].recorded[file] && !only_inputs)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s: '%s' is a second array of '%s'",
                        comparing->recordings[file].name, array->name, name);
    comparing->work[number].recorded[file] = &array->tensor;
    return ULP_OK;
}

static enum ulp_status match_file(struct ulp_comparing *comparing, const struct values *values,
                                  size_t file, struct ulp_error *error)
{
    const struct ulp_recording *recording = &comparing->recordings[file];
    const struct ulp_tensor_set *inputs = comparing->options->recorded_inputs;
    for (size_t t = 0; t < recording->tensors.count; t++)
        ULP_TRY(match_array(comparing, values, file, &recording->tensors.items[t], false, error));
    for (size_t t = 0; inputs && t < inputs->count; t++)
        ULP_TRY(match_array(comparing, values, file, &inputs->items[t], true, error));
    return ULP_OK;
}

/* The graph's first output that is no constant and no input; NULL: there is none. */
static const char *find_first_output(const struct ulp_comparing *comparing,
                                     const struct values *values)
{
    for (size_t o = 0; o < ulp_model_output_count(comparing->model); o++) {
        const char *name = ulp_model_output(comparing->model, o).name;
        const int value = ulp_names_find(&values->numbers, name);
        if (value >= 0 && !values->items[value].constant && !values->items[value].input)
            return name;
    }
    return NULL;
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
    ULP_SCOPED(ulp_text_free) struct ulp_text names = {0};
    for (size_t u = 0; u < out->unmatched_count && u < 3; u++)
        ulp_text_add(&names, "%s'%.60s'", u ? ", " : "", out->unmatched[u]);
    const char *first = find_first_output(comparing, values);
    return ulp_fail(
        error, ULP_ERROR_INPUT,
        "%s: nothing to compare: no array has the name of a tensor that the graph computes (its "
        "arrays: %s%s; %s%s%s)",
        comparing->recordings[file].name, names.length ? names.data : "none but inputs",
        out->unmatched_count > 3 ? ", ..." : "",
        first ? "the first output that it computes: '" : "no node computes an output of the graph",
        first ? first : "", first ? "'" : "");
}

/* Room for what every array may be: a tensor of the comparison, or none. */
static enum ulp_status take_room(struct ulp_comparing *comparing, struct ulp_error *error)
{
    struct ulp_comparison *out = comparing->out;
    const struct ulp_tensor_set *inputs = comparing->options->recorded_inputs;
    size_t most = inputs ? inputs->count : 0;
    bool whole = true;
    for (size_t f = 0; f < out->file_count && whole; f++) {
        const size_t arrays = comparing->recordings[f].tensors.count;
        out->files[f].unmatched =
            ulp_arena_take(out->memory, arrays + 1, sizeof *out->files[f].unmatched);
        whole = out->files[f].unmatched;
        most += arrays;
    }
    out->tensors = ulp_arena_take(out->memory, most + 1, sizeof *out->tensors);
    comparing->work = ulp_arena_take(comparing->arena, most + 1, sizeof *comparing->work);
    return ulp_taken(whole && out->tensors && comparing->work, error);
}

enum ulp_status ulp_compare_match(struct ulp_comparing *comparing, struct ulp_error *error)
{
    struct values values = {0};
    enum ulp_status status = take_room(comparing, error);
    ULP_THEN(status, list_values(comparing, &values, error));
    for (size_t f = 0; f < comparing->recording_count && status == ULP_OK; f++) {
        status = match_file(comparing, &values, f, error);
        ULP_THEN(status, check_file(comparing, &values, f, error));
    }
    ulp_names_free(&values.numbers);
    return status;
}
