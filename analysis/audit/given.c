/* Counting NaN and infinities in the graph's inputs, sample by sample. */
#include "analysis/audit/given.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "tensor/tensor.h"

static enum ulp_status look_at_input(struct ulp_given *given, struct ulp_audit *audit,
                                     const char *name, size_t sample,
                                     const struct ulp_tensor *tensor, struct ulp_error *error)
{
    size_t count = 0;
    for (size_t i = 0; ulp_element_is_float(tensor->element) && i < tensor->count; i++)
        count += !isfinite(ulp_tensor_read(tensor, i));
    if (!count)
        return ULP_OK;
    char *copy = ulp_arena_copy(audit->memory, name);
    ULP_TRY(ulp_taken(copy, error));
    ULP_GROW(audit->nonfinite_inputs, audit->memory, audit->nonfinite_input_count, given->capacity,
             error);
    audit->nonfinite_inputs[audit->nonfinite_input_count++] =
        (struct ulp_audit_input){.name = copy, .sample = sample, .count = count};
    return ULP_OK;
}

enum ulp_status ulp_given_create(struct ulp_given *out, const struct ulp_program *program,
                                 struct ulp_error *error)
{
    const struct ulp_block *block = program->main;
    struct ulp_budget *budget = ulp_model_budget(program->model);
    void *seen;
    *out = (struct ulp_given){.count = block->input_count, .names.budget = budget};
    enum ulp_status status = ulp_allocate_zero(&seen, block->input_count, sizeof *out->seen, budget,
                                               "inputs of the audit", error);
    out->seen = seen;
    for (size_t g = 0; g < block->input_count && status == ULP_OK; g++)
        if (!ulp_names_add(&out->names, block->slots[block->inputs[g]].name, (int)g))
            status = ulp_out_of_memory(error);
    if (status != ULP_OK)
        ulp_given_free(out);
    return status;
}

void ulp_given_free(struct ulp_given *given)
{
    ulp_names_free(&given->names);
    ulp_free(given->seen);
    *given = (struct ulp_given){0};
}

void ulp_given_start(struct ulp_given *given)
{
    memset(given->seen, 0, given->count * sizeof *given->seen);
}

enum ulp_status ulp_given_look(struct ulp_given *given, struct ulp_audit *audit, size_t sample,
                               const struct ulp_event *event, struct ulp_error *error)
{
    for (size_t i = 0; i < event->input_count; i++) {
        const char *name = event->input_names[i];
        const int number = event->inputs[i].entire ? ulp_names_find(&given->names, name) : -1;
        if (number < 0 || given->seen[number])
            continue;
        given->seen[number] = true;
        ULP_TRY(look_at_input(given, audit, name, sample, event->inputs[i].entire, error));
    }
    return ULP_OK;
}
