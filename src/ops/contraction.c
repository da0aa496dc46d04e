/* Running an operator's contraction: ulp_contract, then the epilogue of its row. */
#include "ops/contraction.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "ops/ops_move.h"

/* May the epilogue put its results in the place of the sums? Those who look at the call's parts
 * (trace, probe) see both. */
static bool become_outputs(const struct ulp_call *call, const struct ulp_tensor *acc)
{
    const struct ulp_tensor *out = &call->out[0];
    return !call->trace && !call->probe && acc->type == out->type && acc->element == out->element &&
           acc->precision == out->precision;
}

enum ulp_status ulp_sums_begin(struct ulp_call *call, enum ulp_type type, bool with_epilogue,
                               struct ulp_sums *sums)
{
    const struct ulp_tensor *out = &call->out[0];
    *sums = (struct ulp_sums){.out = &call->out[0], .store = true};
    if (!with_epilogue && !call->unscale)
        return ULP_OK;
    bool floats = ulp_type_is_float(type),
         rounded = floats && call->arithmetic->schedule.epilogue_rounded;
    enum ulp_element element = rounded  ? ulp_storage_element(&call->arithmetic->sum)
                               : floats ? ulp_accumulator_element(call->arithmetic)
                                        : ULP_ELEMENT_COUNT;
    int precision =
        rounded ? call->arithmetic->sum.precision : call->arithmetic->accumulator.precision;
    ULP_TRY(ulp_tensor_describe(&sums->acc, type, element, precision, out->rank, out->dims,
                                call->error));
    sums->out = &sums->acc;
    sums->store = rounded;
    if (!become_outputs(call, &sums->acc))
        return ulp_call_temporary(call, &sums->acc);
    sums->acc = ulp_tensor_view(out);
    return ULP_OK;
}

enum ulp_status ulp_sums_begin_with(struct ulp_call *call, size_t input, float factor,
                                    struct ulp_sums *sums)
{
    const struct ulp_arithmetic *arithmetic = call->arithmetic;
    char number[40];
    struct ulp_rows rows = {0};
    struct ulp_operand operands[] = {{.tensor = ulp_call_in(call, input)}, {.constant = number}},
                       output = {.tensor = &sums->acc, .storage = &arithmetic->accumulator};
    if (arithmetic->steps != ULP_STEPS_ORT_CPU || arithmetic->order != ULP_ORDER_BLOCKED ||
        !operands[0].tensor || sums->out != &sums->acc || sums->acc.element != ULP_ELEMENT_F32 ||
        call->trace || call->probe)
        return ULP_OK;
    snprintf(number, sizeof number, "%a", (double)factor);
    const struct ulp_layout layout = {&rows, operands, &output, 2, 1, call->scratch};
    ULP_TRY(ulp_layout_elementwise(&layout, call->error));
    const struct ulp_named_operand named[] = {{"x", operands[0]}, {"factor", operands[1]}};
    sums->begun = input;
    return ulp_call_text(call, "x * factor", arithmetic, &rows, 2, named, 1,
                         &(struct ulp_named_operand){"", output});
}

enum ulp_status ulp_product_lay(const struct ulp_call *call, struct ulp_contraction *problem,
                                struct ulp_product_steps steps)
{
    const struct {
        const int64_t **table;
        size_t count;
        int64_t step;
    } wanted[] = {
        {&problem->a.line_offset, problem->m, steps.a_line},
        {&problem->a.k_offset, problem->k, steps.a_k},
        {&problem->b.line_offset, problem->n, steps.b_line},
        {&problem->b.k_offset, problem->k, steps.b_k},
        {&problem->out_row_offset, problem->m, steps.row},
        {&problem->out_column_offset, problem->n, steps.column},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        int64_t *table = NULL;
        if (!*wanted[i].table) {
            ULP_TRY(ulp_move_table(call, &table, wanted[i].count, 0, wanted[i].step));
            *wanted[i].table = table;
        }
    }
    return ULP_OK;
}

enum ulp_status ulp_sums_add(struct ulp_call *call, struct ulp_sums *sums,
                             struct ulp_contraction *problem)
{
    problem->out = sums->out;
    problem->store = sums->store;
    problem->pairs = sums->pairs;
    problem->onto = sums->begun;
    if (sums->pairs) /* what gates see is the exact sum */
        return ulp_contract(call->arithmetic, problem, call->pool, call->error);
    if (sums->out == &call->out[0] || !sums->store)
        return ulp_call_contract(call, problem);
    /* a sum before its epilogue has a format of its own */
    const struct ulp_arithmetic *whole = call->arithmetic;
    struct ulp_arithmetic before = *whole;
    before.storage = whole->sum;
    call->arithmetic = &before;
    const enum ulp_status status = ulp_call_contract(call, problem);
    call->arithmetic = whole;
    return status;
}

static enum ulp_status place_operand(const struct ulp_call *call, struct ulp_operand *operand,
                                     char place)
{
    const int rank = call->out[0].rank;
    if (place == '-')
        *operand = (struct ulp_operand){0};
    if (place == 'c')
        return ulp_call_along(call, operand, rank, 1);
    if (place == 'r' && rank >= 2 && operand->tensor && operand->tensor->rank < 2)
        return ulp_call_along(call, operand, rank, rank - 2);
    return ULP_OK;
}

/* Derived operands parameter0 and parameter1: the entries of activation_params. */
static enum ulp_status set_parameters(struct ulp_call *call, struct ulp_operand *operands)
{
    const struct ulp_bound *bound = call->bound;
    for (size_t i = 0; i < bound->derived_count; i++) {
        if (strncmp(bound->derived[i].name, "parameter", 9) != 0)
            continue;
        const struct ulp_attribute_value *given = ulp_call_attribute(call, "activation_params");
        const size_t index = (size_t)(bound->derived[i].name[9] - '0');
        ULP_CALL_SAY(text, call, "%a", index < given->count ? (double)given->floats[index] : 0.0);
        operands[bound->input_slot_count + bound->attribute_count + i] =
            (struct ulp_operand){.constant = text};
    }
    return ULP_OK;
}

/* The sums, stored where the arithmetic stores them, without what the weights were multiplied by:
 * the BatchNormalization behind multiplies by that in the same kernel, and adds. */
static enum ulp_status unscale(struct ulp_call *call, const struct ulp_sums *sums)
{
    static const char *const names[] = {"sum", "k", "bias"};
    const int rank = call->out[0].rank;
    struct ulp_rows rows = {0};
    struct ulp_operand operands[] = {{.tensor = &sums->acc},
                                     {.tensor = call->unscale},
                                     {.tensor = ulp_call_in(call, 2), .constant = "-0"}},
                       output = {.tensor = &call->out[0]};
    struct ulp_named_operand named[3];
    for (int i = 1; i < 3; i++)
        ULP_TRY(ulp_call_along(call, &operands[i], rank, 1));
    const struct ulp_layout layout = {&rows, operands, &output, 3, 1, call->scratch};
    ULP_TRY(ulp_layout_elementwise(&layout, call->error));
    for (int i = 0; i < 3; i++)
        named[i] = (struct ulp_named_operand){names[i], operands[i]};
    return ulp_call_text(call, "y = sum * k + bias; y", call->arithmetic, &rows, 3, named, 1,
                         &(struct ulp_named_operand){"y", output});
}

enum ulp_status ulp_sums_end(struct ulp_call *call, struct ulp_sums *sums, const char *places)
{
    if (sums->out == &call->out[0])
        return ULP_OK;
    if (call->unscale)
        return unscale(call, sums);
    const struct ulp_bound *bound = call->bound;
    struct ulp_rows rows = {0};
    ULP_CALL_TAKE(struct ulp_operand, operands, call, (size_t)bound->tape->operand_count);
    ULP_CALL_TAKE(struct ulp_operand, outputs, call, (size_t)bound->tape->output_count);
    outputs[0].tensor = &call->out[0];
    operands[0] = (struct ulp_operand){.tensor = &sums->acc};
    ulp_call_operands(call, operands + 1);
    if (sums->begun)
        operands[1 + sums->begun] = (struct ulp_operand){.constant = "-0"};
    for (size_t i = 0; i < bound->input_slot_count; i++)
        ULP_TRY(place_operand(call, &operands[1 + i], places[i]));
    ULP_TRY(ulp_call_set_range(call, operands + 1, call->out[0].type));
    ULP_TRY(set_parameters(call, operands + 1));
    const struct ulp_layout layout = ulp_call_layout(call, &rows, operands, outputs);
    ULP_TRY(ulp_layout_elementwise(&layout, call->error));
    return ulp_call_tape(call, &rows, operands, outputs);
}
