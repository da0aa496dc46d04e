/* From an operator to ulp_contract and through its row's epilogue. */
#include "ops/contraction.h"

#include "base/error.h"

enum ulp_status ulp_sums_begin(struct ulp_call *call, bool with_epilogue, struct ulp_sums *sums, struct ulp_error *error)
{
    const struct ulp_tensor *out = &call->out[0];
    *sums = (struct ulp_sums){.out = &call->out[0], .store = true};
    if (!with_epilogue)
        return ULP_OK;
    bool is_float = ulp_type_is_float(out->type);
    enum ulp_status status =
        ulp_tensor_describe(&sums->acc, out->type, is_float ? ulp_accumulator_element(call->arithmetic) : out->element,
                            call->arithmetic->accumulator.precision, out->rank, out->dims, error);
    if (status == ULP_OK)
        status = ulp_call_temporary(call, &sums->acc, error);
    sums->out = &sums->acc;
    sums->store = false;
    return status;
}

enum ulp_status ulp_sums_add(struct ulp_call *call, struct ulp_sums *sums, struct ulp_contraction *problem,
                             struct ulp_error *error)
{
    problem->out = sums->out;
    problem->store = sums->store;
    return ulp_contract(call->arithmetic, problem, call->pool, error);
}

enum ulp_status ulp_sums_end(struct ulp_call *call, struct ulp_sums *sums, int along, int broadcast, struct ulp_error *error)
{
    if (sums->store)
        return ULP_OK;
    const struct ulp_bound *bound = call->bound;
    struct ulp_operand *operands, output = {.tensor = &call->out[0]};
    struct ulp_rows rows = {0};
    enum ulp_status status = ulp_call_take(call, (size_t)bound->tape->operand_count, sizeof *operands, &operands, error);
    if (status != ULP_OK)
        return status;
    operands[0] = (struct ulp_operand){.tensor = &sums->acc};
    ulp_call_operands(call, operands + 1);
    for (int i = 0; i < (int)bound->input_slot_count; i++)
        if (i != along && i != broadcast)
            operands[1 + i] = (struct ulp_operand){0};
    if (along >= 0)
        status = ulp_call_along(call, &operands[1 + along], call->out[0].rank, 1, error);
    const struct ulp_layout layout = ulp_call_layout(call, &rows, operands, &output);
    if (status == ULP_OK)
        status = ulp_layout_elementwise(&layout, error);
    return status == ULP_OK ? ulp_call_tape(call, &rows, operands, &output, error) : status;
}
