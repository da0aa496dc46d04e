/* What operators are written with: attributes and inputs, memory, contractions and formulas. */
#include "ops/call.h"

#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "ops/bounds.h"
#include "ops/probe.h"
#include "ops/trace/trace.h"
#include "tensor/lower.h"

/* ---- attributes and inputs ---- */

const struct ulp_attribute_value *ulp_call_attribute(const struct ulp_call *call, const char *name)
{
    static const struct ulp_attribute_value absent;
    const struct ulp_bound *bound = call->bound;
    for (size_t i = 0; i < bound->attribute_count; i++)
        if (strcmp(bound->attribute_slots[i].name, name) == 0)
            return &bound->attributes[i];
    return &absent;
}

int64_t ulp_call_int(const struct ulp_call *call, const char *name)
{
    return ulp_call_attribute(call, name)->i;
}

bool ulp_call_is(const struct ulp_call *call, const char *name, const char *text)
{
    const char *value = ulp_call_attribute(call, name)->s;
    return value && strcmp(value, text) == 0;
}

int ulp_call_input_index(const struct ulp_call *call, const char *name)
{
    const struct ulp_bound *bound = call->bound;
    for (size_t i = 0; i < bound->input_slot_count; i++)
        if (strcmp(bound->inputs[i].name, name) == 0)
            return (int)i;
    return -1;
}

const struct ulp_tensor *ulp_call_input(const struct ulp_call *call, const char *name)
{
    int index = ulp_call_input_index(call, name);
    return index < 0 ? NULL : ulp_call_in(call, (size_t)index);
}

enum ulp_status ulp_call_list(const struct ulp_call *call, const char *name, struct ulp_list *out,
                              struct ulp_error *error)
{
    *out = (struct ulp_list){.known = true};
    if (ulp_call_input_index(call, name) < 0) {
        const struct ulp_attribute_value *attribute = ulp_call_attribute(call, name);
        out->given = attribute->present;
        out->count = attribute->count;
        out->values = attribute->ints;
        return ULP_OK;
    }
    const struct ulp_tensor *tensor = ulp_call_input(call, name);
    int64_t *values;
    if (!tensor)
        return ULP_OK;
    if (tensor->rank > 1)
        return ulp_fail(error, ULP_ERROR_INPUT, "input %s has rank %d: expected a list", name,
                        tensor->rank);
    out->given = true;
    out->known = tensor->data != NULL;
    out->count = tensor->count;
    if (!out->known)
        return ULP_OK;
    enum ulp_status status = ulp_call_take(call, tensor->count, sizeof *values, &values, error);
    for (size_t i = 0; status == ULP_OK && i < tensor->count; i++)
        values[i] = ulp_tensor_get_int(tensor, i);
    out->values = values;
    return status;
}

enum ulp_status ulp_call_numbers(const struct ulp_call *call, const char *name, size_t count,
                                 int64_t fallback, int64_t *values, struct ulp_error *error)
{
    struct ulp_list list;
    enum ulp_status status = ulp_call_list(call, name, &list, error);
    if (status != ULP_OK)
        return status;
    bool given = list.given && list.known && list.count > 0;
    if (given && list.count != count)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s has %zu entries: expected %zu", name,
                        list.count, count);
    for (size_t i = 0; i < count; i++)
        values[i] = given ? list.values[i] : fallback;
    return ULP_OK;
}

enum ulp_status ulp_call_number(const struct ulp_call *call, const char *name, int64_t fallback,
                                bool *known, int64_t *out, struct ulp_error *error)
{
    const struct ulp_tensor *tensor = ulp_call_input(call, name);
    *known = !tensor || tensor->data;
    if (tensor && tensor->count != 1)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s has %zu elements: expected 1", name,
                        tensor->count);
    if (*known)
        *out = tensor ? ulp_tensor_get_int(tensor, 0) : fallback;
    return ULP_OK;
}

enum ulp_status ulp_call_int_within(const struct ulp_call *call, const char *name, int64_t low,
                                    int64_t high, int64_t *out, struct ulp_error *error)
{
    *out = ulp_call_int(call, name);
    return *out >= low && *out <= high
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_INPUT, "%s is %lld: expected %lld to %lld", name,
                          (long long)*out, (long long)low, (long long)high);
}

enum ulp_status ulp_call_axis(int64_t axis, int rank, int *out, struct ulp_error *error)
{
    if (axis < -(int64_t)rank || axis >= rank)
        return ulp_fail(error, ULP_ERROR_INPUT, "axis %lld is outside a tensor of rank %d",
                        (long long)axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return ULP_OK;
}

enum ulp_status ulp_call_first_axis(const struct ulp_call *call, int *out, struct ulp_error *error)
{
    return ulp_call_axis(ulp_call_int(call, "axis"), call->in[0]->rank, out, error);
}

/* ---- memory ---- */

enum ulp_status ulp_call_storage(const struct ulp_call *call, enum ulp_type type,
                                 struct ulp_format *out, struct ulp_error *error)
{
    const bool narrow = ulp_type_rows[type].file_bits <= 8;
    if (!narrow && !call->arithmetic->as_declared) {
        *out = call->arithmetic->storage;
        return ULP_OK;
    }
    enum ulp_status status = ulp_format_find(ulp_type_format(call->arithmetic, type), out, error);
    if (status == ULP_OK && !narrow)
        return ULP_OK;
    if (status != ULP_OK)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "tensors of type %s are not supported",
                        ulp_type_name(type));
    const struct ulp_attribute_value *saturate = ulp_call_attribute(call, "saturate");
    if (!saturate->present || saturate->i)
        out->overflow = ULP_OVERFLOW_SATURATE;
    return ULP_OK;
}

static enum ulp_status describe_in(struct ulp_tensor *out, enum ulp_type type,
                                   const struct ulp_format *format, int rank, const int64_t *dims,
                                   struct ulp_error *error)
{
    return ulp_tensor_describe(out, type, ulp_storage_element(format), format->precision, rank,
                               dims, error);
}

enum ulp_status ulp_call_describe_tensor(const struct ulp_call *call, struct ulp_tensor *out,
                                         enum ulp_type type, int rank, const int64_t *dims,
                                         struct ulp_error *error)
{
    if (ulp_type_is_float(type) && !call->arithmetic->as_declared)
        return describe_in(out, type, &call->arithmetic->storage, rank, dims, error);
    return ulp_tensor_describe(out, type, ULP_ELEMENT_COUNT, 0, rank, dims, error);
}

enum ulp_status ulp_call_describe(struct ulp_call *call, size_t index, enum ulp_type type, int rank,
                                  const int64_t *dims, struct ulp_error *error)
{
    if (index >= call->output_count)
        return ULP_OK;
    return ulp_call_describe_tensor(call, &call->out[index], type, rank, dims, error);
}

enum ulp_status ulp_call_take(const struct ulp_call *call, size_t count, size_t element_bytes,
                              void *out, struct ulp_error *error)
{
    void *memory = ulp_arena_take(call->scratch, count ? count : 1, element_bytes);
    memcpy(out, &memory, sizeof memory);
    return memory ? ULP_OK
                  : ulp_fail_memory(error, "out of memory for %zu elements of scratch", count);
}

/* Its memory is not the scratch's, which may be a step's alone. */
struct ulp_temporary {
    struct ulp_tensor tensor;
    struct ulp_temporary *next;
};

enum ulp_status ulp_call_temporary(struct ulp_call *call, struct ulp_tensor *tensor,
                                   struct ulp_error *error)
{
    void *memory;
    enum ulp_status status = ulp_tensor_allocate(tensor, call->budget, error);
    if (status != ULP_OK)
        return status;
    status = ulp_allocate(&memory, 1, sizeof(struct ulp_temporary), call->budget,
                          "what a node keeps while it runs", error);
    if (status != ULP_OK) {
        ulp_tensor_free(tensor);
        return status;
    }
    struct ulp_temporary *temporary = memory;
    *temporary = (struct ulp_temporary){.tensor = *tensor, .next = *call->temporaries};
    *call->temporaries = temporary;
    tensor->owned = false;
    return ULP_OK;
}

void ulp_call_free_temporaries(struct ulp_temporary *list)
{
    for (struct ulp_temporary *next; list; list = next) {
        next = list->next;
        ulp_tensor_free(&list->tensor);
        ulp_free(list);
    }
}

enum ulp_status ulp_call_temporary_in(struct ulp_call *call, struct ulp_tensor *tensor,
                                      const struct ulp_format *format, int rank,
                                      const int64_t *dims, struct ulp_error *error)
{
    enum ulp_status status = describe_in(tensor, ULP_TYPE_FLOAT, format, rank, dims, error);
    return status == ULP_OK ? ulp_call_temporary(call, tensor, error) : status;
}

enum ulp_status ulp_call_convert(struct ulp_call *call, struct ulp_tensor *out,
                                 const struct ulp_tensor *in, struct ulp_error *error)
{
    struct ulp_format storage;
    const bool is_float = ulp_type_is_float(out->type);
    enum ulp_status status = is_float ? ulp_call_storage(call, out->type, &storage, error) : ULP_OK;
    /* floats that stay as wide as they are keep their names */
    if (status == ULP_OK && call->trace &&
        (!is_float || out->element != in->element || ulp_type_rows[out->type].file_bits <= 8))
        status = ulp_trace_numbers(call->trace, &in, error);
    if (status != ULP_OK)
        return status;
    enum ulp_rounding rounding = call->arithmetic->rounding;
    if (out->type == ULP_TYPE_FLOAT8E8M0)
        rounding = ulp_call_is(call, "round_mode", "nearest") ? ULP_ROUND_NEAREST_AWAY
                   : ulp_call_is(call, "round_mode", "down")  ? ULP_ROUND_TOWARD_ZERO
                                                              : ULP_ROUND_UP;
    return ulp_tensor_convert(out, in, is_float ? &storage : NULL, rounding,
                              call->arithmetic->seed ^ call->bound->key, call->pool, error);
}

enum ulp_status ulp_call_lower(struct ulp_call *call, struct ulp_tensor *out,
                               const struct ulp_tensor *in, struct ulp_error *error)
{
    struct ulp_format storage;
    struct ulp_tensor bounded = ulp_tensor_view(in);
    enum ulp_status status = ULP_OK;
    if (ulp_type_is_float(out->type))
        status = ulp_call_storage(call, out->type, &storage, error);
    if (status == ULP_OK && ulp_type_is_float(out->type))
        status = ulp_tensor_lower(&bounded, in, &storage, call->arithmetic->constants, call->budget,
                                  error);
    if (status == ULP_OK)
        status = ulp_call_convert(call, out, &bounded, error);
    ulp_tensor_free(&bounded);
    return status;
}

enum ulp_status ulp_call_numbers_of(const struct ulp_call *call, const struct ulp_tensor **tensor,
                                    struct ulp_error *error)
{
    return call->trace && *tensor ? ulp_trace_numbers(call->trace, tensor, error) : ULP_OK;
}

enum ulp_status ulp_call_as(struct ulp_call *call, const struct ulp_tensor **tensor,
                            enum ulp_type type, struct ulp_error *error)
{
    struct ulp_tensor *out;
    if (!*tensor)
        return ULP_OK;
    enum ulp_status status = ulp_call_take(call, 1, sizeof *out, &out, error);
    if (status == ULP_OK)
        status = ulp_call_describe_tensor(call, out, type, (*tensor)->rank, (*tensor)->dims, error);
    if (status != ULP_OK ||
        (out->element == (*tensor)->element && out->precision == (*tensor)->precision))
        return status;
    if ((status = ulp_call_temporary(call, out, error)) == ULP_OK)
        status = ulp_call_convert(call, out, *tensor, error);
    *tensor = out;
    return status;
}

enum ulp_status ulp_call_scalar(struct ulp_call *call, struct ulp_tensor *tensor,
                                enum ulp_type type, float value, struct ulp_error *error)
{
    const struct ulp_tensor in = {.type = ULP_TYPE_FLOAT,
                                  .element = ULP_ELEMENT_F32,
                                  .count = 1,
                                  .element_bytes = sizeof value,
                                  .data = &value};
    enum ulp_status status = ulp_call_describe_tensor(call, tensor, type, 0, NULL, error);
    if (status == ULP_OK)
        status = ulp_call_temporary(call, tensor, error);
    return status == ULP_OK ? ulp_call_convert(call, tensor, &in, error) : status;
}

/* ---- formulas ---- */

struct ulp_arithmetic ulp_call_unrounded(const struct ulp_call *call)
{
    struct ulp_arithmetic arithmetic = *call->arithmetic;
    arithmetic.storage = arithmetic.compute;
    return arithmetic;
}

/* Mixed: streams of contractions are ranges of numbers from here on, which must not
 * meet. */
uint64_t ulp_call_stream(struct ulp_call *call)
{
    return ulp_mix(call->bound->key + UINT64_C(0xd1342543de82ef95) * ++call->draws);
}

enum ulp_status ulp_call_contract(struct ulp_call *call, struct ulp_contraction *problem,
                                  struct ulp_error *error)
{
    enum ulp_status status = ulp_bounds_check_contraction(problem, error);
    if (status == ULP_OK && call->probe)
        status = ulp_probe_contract(call, problem, error);
    if (status != ULP_OK)
        return status;
    problem->node_key = ulp_call_stream(call);
    problem->packed = call->packed;
    return call->trace
               ? ulp_trace_contract(call->trace, call->arithmetic, problem, call->pool, error)
               : ulp_contract(call->arithmetic, problem, call->pool, error);
}

/* plans NULL: the tape is for this run alone. */
static enum ulp_status run_tape(struct ulp_call *call, const struct ulp_tape *tape,
                                struct ulp_tape_plans *plans,
                                const struct ulp_arithmetic *arithmetic,
                                const struct ulp_rows *rows, const struct ulp_operand *operands,
                                const struct ulp_operand *outputs, struct ulp_error *error)
{
    enum ulp_status status =
        ulp_bounds_check_rows(rows, operands, (size_t)tape->operand_count, error);
    if (status == ULP_OK)
        status = ulp_bounds_check_rows(rows, outputs, (size_t)tape->output_count, error);
    if (status != ULP_OK)
        return status;
    const struct ulp_tape_call run = {.tape = tape,
                                      .arithmetic = arithmetic,
                                      .rows = rows,
                                      .operands = operands,
                                      .outputs = outputs,
                                      .node_key = ulp_call_stream(call),
                                      .pool = call->pool,
                                      .plans = plans};
    if (call->probe && (status = ulp_probe_tape(call, &run, error)) != ULP_OK)
        return status;
    return call->trace ? ulp_trace_tape(call->trace, &run, error) : ulp_tape_run(&run, error);
}

/* Is `name` word number `i` of the text? */
static bool is_word(const char *text, size_t i, const char *name)
{
    const size_t length = strlen(name);
    text += strspn(text, " ");
    for (; i && *text; i--) {
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    return strcspn(text, " ") == length && strncmp(text, name, length) == 0;
}

static struct ulp_tape *find_formula(const struct ulp_call *call, const struct ulp_formula *formula)
{
    const struct ulp_formula *const *formulas = call->bound->op->formulas;
    for (size_t i = 0; formulas && formulas[i]; i++)
        if (formulas[i] == formula)
            return call->bound->formulas[i];
    return NULL;
}

/* Operands, then all outputs of the tape, those that are not given without a tensor. */
static enum ulp_status lay_named(const struct ulp_call *call, const struct ulp_tape *tape,
                                 const struct ulp_named_operand *operands, size_t output_count,
                                 const struct ulp_named_operand *outputs, struct ulp_operand **out,
                                 struct ulp_error *error)
{
    const size_t count = (size_t)tape->operand_count;
    const enum ulp_status status =
        ulp_call_take(call, count + (size_t)tape->output_count, sizeof **out, out, error);
    for (size_t i = 0; status == ULP_OK && i < count; i++)
        (*out)[i] = operands[i].operand;
    for (size_t i = 0; status == ULP_OK && i < output_count; i++)
        (*out)[count + i] = outputs[i].operand;
    return status;
}

enum ulp_status ulp_call_formula(struct ulp_call *call, const struct ulp_formula *formula,
                                 const struct ulp_arithmetic *arithmetic,
                                 const struct ulp_rows *rows, size_t operand_count,
                                 const struct ulp_named_operand *operands, size_t output_count,
                                 const struct ulp_named_operand *outputs, struct ulp_error *error)
{
    struct ulp_operand *laid;
    const struct ulp_tape *tape = find_formula(call, formula);
    bool fits = tape && (size_t)tape->operand_count == operand_count &&
                (size_t)tape->output_count >= output_count;
    for (size_t i = 0; fits && i < operand_count; i++)
        fits = is_word(formula->operands, i, operands[i].name);
    for (size_t i = 1; fits && i < output_count; i++)
        fits = is_word(formula->outputs, i, outputs[i].name);
    if (!fits)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "the row does not list the formula \"%s\", or not with these operands",
                        formula->text);
    const enum ulp_status status =
        lay_named(call, tape, operands, output_count, outputs, &laid, error);
    return status == ULP_OK ? run_tape(call, tape, &call->bound->prepared->plans, arithmetic, rows,
                                       laid, laid + operand_count, error)
                            : status;
}

enum ulp_status ulp_call_text(struct ulp_call *call, const char *text,
                              const struct ulp_arithmetic *arithmetic, const struct ulp_rows *rows,
                              size_t operand_count, const struct ulp_named_operand *operands,
                              size_t output_count, const struct ulp_named_operand *outputs,
                              struct ulp_error *error)
{
    struct ulp_prepared *prepared = call->bound->prepared;
    const char **names;
    struct ulp_operand *laid;
    struct ulp_tape *tape;
    bool kept;
    enum ulp_status status =
        ulp_call_take(call, operand_count + output_count, sizeof *names, &names, error);
    if (status != ULP_OK)
        return status;
    for (size_t i = 0; i < operand_count + output_count; i++)
        names[i] = i < operand_count ? operands[i].name : outputs[i - operand_count].name;
    status = ulp_prepared_tape(prepared, text, names, operand_count, output_count, call->budget,
                               &tape, &kept, error);
    if (status != ULP_OK)
        return status;
    status = lay_named(call, tape, operands, output_count, outputs, &laid, error);
    if (status == ULP_OK)
        status = run_tape(call, tape, kept ? &prepared->plans : NULL, arithmetic, rows, laid,
                          laid + operand_count, error);
    if (!kept)
        ulp_tape_free(tape);
    return status;
}

void ulp_call_operands(const struct ulp_call *call, struct ulp_operand *operands)
{
    const struct ulp_bound *bound = call->bound;
    for (size_t i = 0; i < bound->input_slot_count; i++)
        operands[i] =
            (struct ulp_operand){.tensor = ulp_call_in(call, i),
                                 .constant = ulp_call_in(call, i) ? NULL : bound->inputs[i].text};
    for (size_t i = 0; i < bound->attribute_count; i++)
        operands[bound->input_slot_count + i] =
            (struct ulp_operand){.constant = bound->attribute_slots[i].text};
}

enum ulp_status ulp_call_tape(struct ulp_call *call, const struct ulp_rows *rows,
                              const struct ulp_operand *operands, const struct ulp_operand *outputs,
                              struct ulp_error *error)
{
    struct ulp_arithmetic arithmetic = *call->arithmetic;
    enum ulp_status status = ULP_OK;
    if (ulp_type_is_float(call->out[0].type))
        status = ulp_call_storage(call, call->out[0].type, &arithmetic.storage, error);
    return status == ULP_OK ? run_tape(call, call->bound->tape, &call->bound->prepared->plans,
                                       &arithmetic, rows, operands, outputs, error)
                            : status;
}
