/* One evaluation of a bound row: inputs are checked, outputs described and allocated, the run
 * function called, temporaries freed. */

#include "base/error.h"
#include "ops/call.h"
#include "ops/infer.h"
#include "ops/product/quantize_rows.h"
#include "ops/trace/trace.h"

static enum ulp_status run_formula(struct ulp_call *call)
{
    const struct ulp_bound *bound = call->bound;
    size_t operand_count = bound->input_slot_count + bound->attribute_count + bound->derived_count;
    size_t output_count = (size_t)bound->tape->output_count;
    struct ulp_rows rows = {0};
    ULP_CALL_TAKE(struct ulp_operand, operands, call, operand_count);
    ULP_CALL_TAKE(struct ulp_operand, outputs, call, output_count);
    ulp_call_operands(call, operands);
    for (size_t i = 0; i < output_count; i++)
        outputs[i].tensor = ulp_call_wants(call, i) ? &call->out[i] : NULL;
    const struct ulp_layout layout = ulp_call_layout(call, &rows, operands, outputs);
    if (bound->op->rows)
        ULP_TRY(bound->op->rows(call, &layout));
    else
        ULP_TRY(ulp_layout_elementwise(&layout, call->error));
    return ulp_call_tape(call, &rows, operands, outputs);
}

static bool type_fits(char kind, enum ulp_type type)
{
    switch (kind) {
    case 'i':
        return !ulp_type_is_float(type) && type != ULP_TYPE_BOOL &&
               ulp_type_rows[type].element != ULP_ELEMENT_COUNT;
    case 'b': return type == ULP_TYPE_BOOL;
    case 'f':
    case 'p': return ulp_type_is_float(type);
    default: return true;
    }
}

static enum ulp_status check_inputs(const struct ulp_call *call)
{
    static const char *const expected[] = {['i'] = "integers",
                                           ['b'] = "BOOL",
                                           ['f'] = "floating-point numbers",
                                           ['p'] = "floating-point numbers"};
    const struct ulp_bound *bound = call->bound;
    const struct ulp_tensor *common = NULL;
    for (size_t i = 0; i < bound->input_slot_count; i++) {
        const struct ulp_tensor *tensor = ulp_call_in(call, i);
        const struct ulp_slot *slot = &bound->inputs[i];
        if (!tensor && !slot->optional)
            return ULP_REFUSE(call, "input %zu, %s, is missing", i, slot->name);
        if (!tensor)
            continue;
        if (!type_fits(slot->kind, tensor->type))
            return ULP_REFUSE(call, "input %zu, %s, is %s: expected %s", i, slot->name,
                              ulp_type_name(tensor->type), expected[(int)slot->kind]);
        if (slot->kind == 0 && common && common->type != tensor->type)
            return ULP_REFUSE(call, "input %zu, %s, is %s where the inputs before it are %s", i,
                              slot->name, ulp_type_name(tensor->type), ulp_type_name(common->type));
        if (slot->kind == 0)
            common = tensor;
    }
    return ULP_OK;
}

static enum ulp_status infer(struct ulp_call *call)
{
    const struct ulp_operator *op = call->bound->op;
    for (size_t i = 0; i < call->output_count; i++)
        call->out[i] = (struct ulp_tensor){0};
    ULP_TRY(check_inputs(call));
    if (op->check)
        ULP_TRY(op->check(call));
    return op->infer(call);
}

static bool node_wants(const struct ulp_call *call, size_t i)
{
    return i < call->bound->node->output_count && call->bound->node->outputs[i] >= 0;
}

static void drop_unwanted(struct ulp_call *call)
{
    for (size_t i = 0; i < call->output_count; i++)
        if (!node_wants(call, i))
            ulp_tensor_free(&call->out[i]);
}

static enum ulp_status allocate_outputs(struct ulp_call *call)
{
    for (size_t i = 0; i < call->output_count; i++) {
        const bool wanted = node_wants(call, i);
        if (!wanted && i >= call->bound->required_output_count)
            call->out[i] = (struct ulp_tensor){0};
        else if (call->out[i].type == ULP_TYPE_UNDEFINED)
            return ULP_REFUSE(call, "output %zu does not exist", i);
        else
            ULP_TRY(wanted ? ulp_tensor_allocate(&call->out[i], call->budget, call->error)
                           : ulp_call_temporary(call, &call->out[i]));
    }
    return ULP_OK;
}

static enum ulp_status add_place(const struct ulp_call *call, enum ulp_status status)
{
    const struct ulp_node *node = call->bound->node;
    if (status == ULP_ERROR_USAGE) /* a kernel's word for what the model's types and shapes ask */
        status = ULP_ERROR_INPUT;
    return ulp_fail_at(call->error, status, "node %s (%s)", node->name, node->op_type);
}

enum ulp_status ulp_call_infer(struct ulp_call *call, struct ulp_error *error)
{
    call->error = error;
    enum ulp_status status = infer(call);
    drop_unwanted(call);
    for (size_t i = 0; status != ULP_OK && i < call->output_count; i++)
        call->out[i] = (struct ulp_tensor){0};
    return add_place(call, status);
}

enum ulp_status ulp_call_open(struct ulp_call *call, struct ulp_temporary **temporaries,
                              struct ulp_error *error)
{
    *temporaries = NULL;
    call->temporaries = temporaries;
    call->error = error;
    return infer(call);
}

enum ulp_status ulp_call_close(struct ulp_call *call, enum ulp_status status)
{
    if (call->temporaries)
        ulp_call_free_temporaries(*call->temporaries);
    call->temporaries = NULL;
    drop_unwanted(call);
    if (status != ULP_OK)
        ulp_tensors_free(call->out, call->output_count);
    return add_place(call, status);
}

/* Nothing is to be computed: no output that is wanted has elements. */
static bool is_all_empty(const struct ulp_call *call)
{
    for (size_t i = 0; i < call->output_count; i++)
        if (ulp_call_wants(call, i) && call->out[i].count)
            return false;
    return true;
}

/* With a trace: inputs at which derivatives stop as numbers again, those that are compared with
 * names in their order. */
static enum ulp_status adapt_names(struct ulp_call *call)
{
    const struct ulp_bound *bound = call->bound;
    const struct ulp_tensor **in;
    ULP_TRY(ulp_call_take(call, call->input_count, sizeof *in, &in));
    for (size_t i = 0; i < call->input_count; i++) {
        in[i] = call->in[i];
        if (!in[i] || !in[i]->data || i >= bound->input_slot_count)
            continue;
        if (bound->inputs[i].kind == 'p' || bound->inputs[i].number)
            ULP_TRY(ulp_trace_numbers(call->trace, &in[i], call->error));
        else if (bound->inputs[i].compared)
            ULP_TRY(ulp_trace_order(call->trace, &in[i], call->error));
    }
    call->in = in;
    return ULP_OK;
}

enum ulp_status ulp_call_run(struct ulp_call *call, struct ulp_error *error)
{
    const struct ulp_operator *op = call->bound->op;
    struct ulp_temporary *temporaries;
    call->error = error;
    enum ulp_status status = call->trace ? adapt_names(call) : ULP_OK;
    if (status != ULP_OK)
        return ulp_call_close(call, status);
    status = ulp_call_open(call, &temporaries, error);
    if (status == ULP_OK && call->trace && ulp_trace_passes_steps(call->trace) &&
        ulp_is_quantizer(op))
        status = ulp_call_describe(call, 0, ULP_TYPE_FLOAT, call->in[0]->rank, call->in[0]->dims);
    if (status == ULP_OK && !op->allocates)
        status = allocate_outputs(call);
    if (status == ULP_OK && (op->allocates || !is_all_empty(call)))
        status = op->run ? op->run(call) : run_formula(call);
    return ulp_call_close(call, status);
}
