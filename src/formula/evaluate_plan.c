/* Preparing one run of a tape: carriers, how often each value changes, which strips share memory,
 * which instructions each phase needs. */
#include "formula/evaluate.h"

#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "number/round/round.h"
#include "base/tuning.h"

static enum ulp_status fail_memory(struct ulp_error *error)
{
    return ulp_fail_memory(error, "out of memory while preparing a formula's run");
}

/* Rule and table of the compute format and of the accumulator. Integers when no tensor is a
 * float. */
static bool choose_integers(struct ulp_tape_plan *plan, const struct ulp_operand *operands,
                            int operand_count)
{
    enum ulp_type type = ULP_TYPE_UNDEFINED;
    bool unsigned64 = false;
    for (int i = 0; i < plan->output_count + operand_count; i++) {
        const struct ulp_tensor *tensor = i < plan->output_count
                                              ? &plan->outputs[i].tensor
                                              : operands[i - plan->output_count].tensor;
        if (!tensor)
            continue;
        if (ulp_element_is_float(tensor->element))
            return false;
        if (type == ULP_TYPE_UNDEFINED && tensor->type != ULP_TYPE_BOOL)
            type = tensor->type;
        unsigned64 = unsigned64 || tensor->type == ULP_TYPE_UINT64;
    }
    plan->rule = plan->sum_rule = plan->narrow_rule =
        ulp_strip_rule_integer(unsigned64                   ? ULP_TYPE_UINT64
                               : type == ULP_TYPE_UNDEFINED ? ULP_TYPE_BOOL
                                                            : type);
    return true;
}

/* Scans compute in the compute format; what the accumulator does not hold of it is rounded. */
static void describe_partial(struct ulp_tape_plan *plan, const struct ulp_format *accumulator,
                             const struct ulp_format *compute)
{
    if (ulp_format_holds(accumulator, compute))
        return;
    plan->partial_format = *accumulator;
    (void)ulp_tensor_describe(&plan->partial, ULP_TYPE_FLOAT, ulp_storage_element(accumulator),
                              accumulator->precision, 0, NULL, NULL);
}

static void choose_rules(struct ulp_tape_plan *plan, const struct ulp_arithmetic *arithmetic,
                         const struct ulp_operand *operands, int operand_count)
{
    plan->order = (struct ulp_fold_order){.order = arithmetic->reduce,
                                          .block = arithmetic->reduce_block,
                                          .parts = 1,
                                          .group = 1};
    if (!choose_integers(plan, operands, operand_count)) {
        plan->rule = ulp_strip_rule_make(arithmetic, &arithmetic->compute);
        plan->sum_rule = ulp_strip_rule_make(arithmetic, &arithmetic->accumulator);
        plan->narrow = !ulp_format_holds(&arithmetic->compute, &arithmetic->accumulator);
        plan->narrow_rule = plan->sum_rule;
        plan->narrow_rule.each_step = true;
        plan->narrow_rule.format = arithmetic->compute;
        describe_partial(plan, &arithmetic->accumulator, &arithmetic->compute);
    }
    plan->same_carrier =
        plan->rule.carrier == plan->sum_rule.carrier &&
        (plan->rule.carrier != ULP_STRIP_MPFR || plan->rule.precision == plan->sum_rule.precision);
    plan->table = ulp_strip_tables[plan->rule.carrier];
    plan->sum_table = ulp_strip_tables[plan->sum_rule.carrier];
    plan->element_bytes = ulp_strip_element_bytes(plan->rule.carrier, plan->rule.precision);
    plan->sum_bytes = ulp_strip_element_bytes(plan->sum_rule.carrier, plan->sum_rule.precision);
}

static enum ulp_element carrier_element(enum ulp_strip_carrier carrier)
{
    static const enum ulp_element elements[ULP_STRIP_CARRIER_COUNT] = {
        [ULP_STRIP_FLOAT] = ULP_ELEMENT_F32,  [ULP_STRIP_DOUBLE] = ULP_ELEMENT_F64,
        [ULP_STRIP_MPFR] = ULP_ELEMENT_WIDE,  [ULP_STRIP_INT64] = ULP_ELEMENT_I64,
        [ULP_STRIP_UINT64] = ULP_ELEMENT_U64,
    };
    return elements[carrier];
}

/* Elements of the tensor are values of the carrier, byte for byte. */
static bool is_native(const struct ulp_tape_plan *plan, const struct ulp_tensor *tensor)
{
    return tensor->element == carrier_element(plan->rule.carrier) &&
           (tensor->element != ULP_ELEMENT_WIDE || tensor->precision == plan->rule.precision);
}

/* The carrier's own rounding is the format's. */
static bool rounds_natively(const struct ulp_tape_plan *plan, const struct ulp_format *format)
{
    if (plan->rule.each_step)
        return false;
    if (plan->rule.carrier == ULP_STRIP_MPFR)
        return format->carrier == ULP_CARRIER_MPFR && format->precision == plan->rule.precision;
    const bool single = plan->rule.carrier == ULP_STRIP_FLOAT;
    return format->precision == (single ? 24 : 53) && format->emax == (single ? 127 : 1023) &&
           format->emin == (single ? -126 : -1022) && format->subnormals && format->signed_zero &&
           format->overflow == ULP_OVERFLOW_INFINITY;
}

static bool is_same_format(const struct ulp_format *a, const struct ulp_format *b)
{
    return a->precision == b->precision && a->emin == b->emin && a->emax == b->emax &&
           a->max_finite == b->max_finite && a->overflow == b->overflow &&
           a->subnormals == b->subnormals && a->signed_zero == b->signed_zero;
}

/* What the store must do: nothing when the value is already one of the storage format. */
static const struct ulp_format *choose_storage(const struct ulp_tape_plan *plan,
                                               const struct ulp_tape_output *output,
                                               const struct ulp_arithmetic *arithmetic,
                                               const struct ulp_instruction *instruction)
{
    const struct ulp_format *storage =
        output->operand->storage ? output->operand->storage : &arithmetic->storage;
    if (!ulp_element_is_float(output->tensor.element) || rounds_natively(plan, storage))
        return NULL;
    if (plan->rule.each_step && instruction->kind == ULP_TAPE_PRIMITIVE &&
        ulp_primitive_rows[instruction->primitive].result != ULP_RESULT_EXACT &&
        is_same_format(&plan->rule.format, storage))
        return NULL;
    return storage;
}

/* Streams of different instructions and nodes must not meet. */
static uint64_t make_stream(uint64_t node_key, int number)
{
    return ulp_mix(node_key + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(number + 1));
}

static enum ulp_status find_outputs(struct ulp_tape_plan *plan, const struct ulp_tape *tape,
                                    const struct ulp_operand *outputs, uint64_t node_key,
                                    struct ulp_error *error)
{
    for (int i = 0; i < tape->output_count; i++) {
        if (!outputs[i].tensor)
            continue;
        if (tape->outputs[i] < 0)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "formula:1: output %d is wanted, but the formula does not give it", i);
        plan->outputs[plan->output_count++] =
            (struct ulp_tape_output){.operand = &outputs[i],
                                     .tensor = ulp_tensor_view(outputs[i].tensor),
                                     .step = tape->outputs[i],
                                     .per_position = ulp_has_positions(&outputs[i]),
                                     .stream = make_stream(node_key, tape->instruction_count + i)};
    }
    return ULP_OK;
}

/* How often an operand's value changes. One without elements, beside rows without positions, must
 * not be loaded for a row: it counts as changing from position to position. */
static enum ulp_reach operand_reach(const struct ulp_rows *rows, const struct ulp_operand *operand)
{
    if (!operand->tensor)
        return ULP_REACH_RUN;
    if (ulp_has_positions(operand) || (operand->tensor->count == 0 && rows->row_count > 0))
        return ULP_REACH_ELEMENT;
    return ulp_has_rows(operand) && rows->row_count > 1 ? ULP_REACH_ROW : ULP_REACH_RUN;
}

static enum ulp_reach find_reach(const struct ulp_tape_plan *plan, const struct ulp_tape_step *step)
{
    enum ulp_reach reach = ULP_REACH_RUN;
    if (step->kind == ULP_TAPE_FOLD)
        return ULP_REACH_ROW;
    if (step->kind == ULP_TAPE_SCAN)
        return ULP_REACH_ELEMENT;
    if (step->kind == ULP_TAPE_ROW_SIZE)
        return plan->rows->window ? ULP_REACH_ROW : ULP_REACH_RUN;
    if (step->kind == ULP_TAPE_OPERAND)
        return operand_reach(plan->rows, step->operand);
    for (int k = 0; k < 3; k++)
        if (step->arguments[k] >= 0 && plan->steps[step->arguments[k]].reach > reach)
            reach = plan->steps[step->arguments[k]].reach;
    return reach;
}

static enum ulp_status make_steps(struct ulp_tape_plan *plan, const struct ulp_tape *tape,
                                  const struct ulp_operand *operands, uint64_t node_key,
                                  struct ulp_error *error)
{
    for (int i = 0; i < plan->output_count; i++)
        plan->steps[plan->outputs[i].step].needed = true;
    for (int i = tape->instruction_count - 1; i >= 0; i--)
        for (int k = 0; k < 3; k++)
            if (plan->steps[i].needed && tape->instructions[i].arguments[k] >= 0)
                plan->steps[tape->instructions[i].arguments[k]].needed = true;
    for (int i = 0; i < tape->instruction_count; i++) {
        const struct ulp_instruction *instruction = &tape->instructions[i];
        struct ulp_tape_step *step = &plan->steps[i];
        if (!step->needed)
            continue;
        *step = (struct ulp_tape_step){.kind = instruction->kind,
                                       .phase = instruction->phase,
                                       .needed = true,
                                       .direct_output = -1,
                                       .fold_kind = instruction->fold,
                                       .stream = make_stream(node_key, i)};
        memcpy(step->arguments, instruction->arguments, sizeof step->arguments);
        if (step->kind == ULP_TAPE_OPERAND) {
            step->operand = &operands[instruction->index];
            step->constant = step->operand->tensor ? NULL : step->operand->constant;
            if (!step->operand->tensor && !step->constant)
                return ulp_fail(error, ULP_ERROR_USAGE, "formula:%d: operand %d has no value",
                                instruction->column, instruction->index);
        } else if (step->kind == ULP_TAPE_CONSTANT) {
            step->constant = tape->constants[instruction->index];
        } else if (step->kind == ULP_TAPE_PRIMITIVE) {
            step->function = plan->table->primitive[instruction->primitive];
            if (!step->function)
                return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                                "formula:%d: '%s' has no meaning for integers", instruction->column,
                                ulp_primitive_rows[instruction->primitive].name);
        } else if (step->kind == ULP_TAPE_FOLD || step->kind == ULP_TAPE_SCAN) {
            plan->has_folds = true;
            step->function = plan->table->primitive[ulp_fold_rows[step->fold_kind].combine];
        }
        step->reach = find_reach(plan, step);
        if (step->phase >= plan->phase_count)
            plan->phase_count = step->phase + 1;
    }
    return ULP_OK;
}

static enum ulp_status check_addresses(struct ulp_tape_plan *plan,
                                       const struct ulp_arithmetic *arithmetic,
                                       const struct ulp_tape *tape, struct ulp_error *error)
{
    for (int i = 0; i < plan->output_count; i++) {
        struct ulp_tape_output *output = &plan->outputs[i];
        const struct ulp_tape_step *step = &plan->steps[output->step];
        output->storage =
            choose_storage(plan, output, arithmetic, &tape->instructions[output->step]);
        if (step->reach == ULP_REACH_ELEMENT) {
            if (!output->per_position && plan->rows->row_length > 1)
                return ulp_fail(
                    error, ULP_ERROR_USAGE,
                    "formula:%d: an output with one element a row is given one value per position",
                    tape->instructions[output->step].column);
            output->per_position = true;
        }
        /* A fold is ready in the phase after its own. */
        if (output->per_position && step->kind == ULP_TAPE_FOLD &&
            step->phase + 2 > plan->phase_count)
            plan->phase_count = step->phase + 2;
    }
    for (int i = 0; i < plan->step_count; i++) {
        const struct ulp_operand *operand = plan->steps[i].needed ? plan->steps[i].operand : NULL;
        if (operand && operand->tensor && operand->tensor->count == 0 &&
            plan->rows->row_length > 0 && plan->rows->row_count > 0)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "formula:%d: the operand is empty, but the rows are not",
                            tape->instructions[i].column);
    }
    return ULP_OK;
}

/* The rows' elements are neighbours in memory, in an operand at least. */
static bool is_contiguous(const struct ulp_tape_plan *plan)
{
    for (int i = 0; i < plan->step_count; i++) {
        const struct ulp_operand *operand = plan->steps[i].needed ? plan->steps[i].operand : NULL;
        if (!operand || !operand->tensor || !ulp_has_positions(operand) ||
            plan->rows->row_length < 2)
            continue;
        if (operand->position_offset
                ? operand->position_offset[1] - operand->position_offset[0] == 1
                : operand->position_stride == 1)
            return true;
    }
    return false;
}

/* ULP_ORDER_WARP is of whole rows of floats: a window, also one inside the input everywhere, is
 * summed by one thread, in order. */
static void choose_order(struct ulp_tape_plan *plan, const struct ulp_tape *tape)
{
    const bool integers =
        plan->rule.carrier == ULP_STRIP_INT64 || plan->rule.carrier == ULP_STRIP_UINT64;
    if (plan->order.order != ULP_ORDER_WARP)
        return;
    if (integers || plan->rows->window || plan->rows->window_classes) {
        plan->order.order = ULP_ORDER_SEQUENTIAL;
        return;
    }
    plan->order = ulp_fold_order_warp(plan->rows->row_length, is_contiguous(plan));
    for (int i = 0; i < plan->step_count; i++) {
        const int *arguments = tape->instructions[i].arguments;
        if (plan->steps[i].needed && plan->steps[i].kind == ULP_TAPE_PRIMITIVE &&
            tape->instructions[i].primitive == ULP_PRIMITIVE_DIV &&
            tape->instructions[arguments[0]].kind == ULP_TAPE_FOLD &&
            tape->instructions[arguments[1]].kind == ULP_TAPE_ROW_SIZE)
            plan->steps[i].function = ulp_evaluate_scale;
    }
}

/* Tiles form sums in sequential order or in parts (extremes do not depend on the order), many rows
 * at a time. */
static bool can_tile(const struct ulp_tape_plan *plan)
{
    const struct ulp_rows *rows = plan->rows;
    const enum ulp_order order = plan->order.order;
    const bool wide =
        plan->rule.carrier == ULP_STRIP_MPFR || plan->sum_rule.carrier == ULP_STRIP_MPFR;
    if (!plan->has_folds || rows->row_count < ULP_TUNE_TILE_ROWS_MIN || rows->row_length == 0 ||
        plan->rule.rounding == ULP_ROUND_STOCHASTIC || (rows->window && !rows->window_classes))
        return false;
    for (int i = 0; i < plan->step_count; i++) {
        const struct ulp_tape_step *step = &plan->steps[i];
        const bool ordered = step->fold_kind == ULP_FOLD_SUM || step->fold_kind == ULP_FOLD_PRODUCT;
        if (step->needed && step->kind == ULP_TAPE_FOLD &&
            (wide || (ordered && order != ULP_ORDER_SEQUENTIAL && order != ULP_ORDER_WARP)))
            return false;
    }
    return true;
}

/* How many rows make a tile. Where neighbouring rows are neighbours in memory: as many as a strip
 * holds, fewer when all positions can then be kept. Else so few that the cache lines of all rows
 * stay in the first-level cache while their positions are walked. */
static void choose_tiles(struct ulp_tape_plan *plan)
{
    const struct ulp_rows *rows = plan->rows;
    bool adjacent = rows->window;
    plan->tiles = can_tile(plan);
    if (!plan->tiles)
        return;
    for (int i = 0; i < plan->step_count; i++) {
        const struct ulp_tape_step *step = &plan->steps[i];
        if (step->needed && step->kind == ULP_TAPE_OPERAND && step->reach == ULP_REACH_ELEMENT)
            adjacent =
                adjacent || ulp_row_base(step->operand, 1) - ulp_row_base(step->operand, 0) == 1;
    }
    const size_t least = adjacent ? ULP_TUNE_TILE_ROWS_ADJACENT : ULP_TUNE_TILE_ROWS_APART,
                 most = adjacent ? ULP_STRIP : ULP_TUNE_TILE_ROWS_APART_MAX;
    const size_t keeping = ULP_TUNE_TILE_ELEMENTS / rows->row_length;
    size_t count = keeping < least || plan->phase_count == 1 ? most
                   : keeping < most                          ? keeping
                                                             : most;
    const size_t share =
        (rows->row_count + (size_t)plan->worker_count - 1) / (size_t)plan->worker_count;
    if (count > ULP_TUNE_TILE_ELEMENTS / (size_t)plan->order.parts)
        count = ULP_TUNE_TILE_ELEMENTS / (size_t)plan->order.parts;
    if (count > share)
        count = share > ULP_TUNE_TILE_ROWS_MIN ? share : ULP_TUNE_TILE_ROWS_MIN;
    plan->tile_rows = count;
    plan->keep = plan->phase_count > 1 && count * rows->row_length <= ULP_TUNE_TILE_ELEMENTS;
}

/* Operands that lie in memory as a strip does, and the one result that can be computed where it
 * belongs. */
static void choose_direct(struct ulp_tape_plan *plan)
{
    int last = -1;
    for (int i = 0; i < plan->output_count; i++)
        plan->outputs[i].native = is_native(plan, &plan->outputs[i].tensor);
    for (int i = 0; i < plan->step_count; i++) {
        struct ulp_tape_step *step = &plan->steps[i];
        if (!step->needed || step->reach != ULP_REACH_ELEMENT)
            continue;
        last = i;
        step->native = step->kind == ULP_TAPE_OPERAND && is_native(plan, step->operand->tensor);
        step->direct = step->native && !plan->tiles && !plan->rows->window &&
                       step->operand->position_stride == 1 && !step->operand->position_offset;
    }
    if (last < 0 || plan->steps[last].kind != ULP_TAPE_PRIMITIVE || plan->tiles ||
        plan->rows->window)
        return;
    for (int i = last + 1; i < plan->step_count; i++)
        if (plan->steps[i].needed && plan->steps[i].kind == ULP_TAPE_FOLD &&
            plan->steps[i].arguments[0] == last)
            return;
    int found = -1, users = 0;
    for (int i = 0; i < plan->output_count; i++)
        if (plan->outputs[i].step == last) {
            users++;
            found = i;
        }
    const struct ulp_tape_output *output = found < 0 ? NULL : &plan->outputs[found];
    if (users == 1 && !output->storage && output->native && output->operand->position_stride == 1 &&
        !output->operand->position_offset)
        plan->steps[last].direct_output = found;
}

enum ulp_status ulp_evaluate_plan(struct ulp_tape_plan *plan, const struct ulp_tape_call *call,
                                  struct ulp_arena *arena, struct ulp_error *error)
{
    const struct ulp_tape *tape = call->tape;
    const struct ulp_rows *rows = call->rows;
    const size_t step_count = (size_t)tape->instruction_count;
    *plan = (struct ulp_tape_plan){.rows = rows,
                                   .step_count = tape->instruction_count,
                                   .worker_count = ulp_pool_thread_count(call->pool)};
    plan->steps = ulp_arena_take(arena, step_count, sizeof *plan->steps);
    plan->outputs = ulp_arena_take(arena, (size_t)tape->output_count + 1, sizeof *plan->outputs);
    plan->workers = ulp_arena_take(arena, (size_t)plan->worker_count, sizeof *plan->workers);
    if (!plan->steps || !plan->outputs || !plan->workers)
        return fail_memory(error);
    enum ulp_status status = find_outputs(plan, tape, call->outputs, call->node_key, error);
    if (status != ULP_OK)
        return status;
    choose_rules(plan, call->arithmetic, call->operands, tape->operand_count);
    status = make_steps(plan, tape, call->operands, call->node_key, error);
    if (status == ULP_OK)
        status = check_addresses(plan, call->arithmetic, tape, error);
    if (status != ULP_OK)
        return status;
    choose_order(plan, tape);
    choose_tiles(plan);
    plan->width = rows->row_length < 1           ? 1
                  : rows->row_length < ULP_STRIP ? rows->row_length
                                                 : ULP_STRIP;
    if (plan->tiles)
        plan->width = rows->row_length < ULP_STRIP / plan->tile_rows
                          ? plan->tile_rows * rows->row_length
                          : ULP_STRIP / plan->tile_rows * plan->tile_rows;
    /* Strips of ULP_REACH_RUN values, their operands, are as long as the width. */
    plan->rows_ahead =
        plan->has_folds || rows->window || plan->rule.rounding == ULP_ROUND_STOCHASTIC ? 1
        : plan->width < ULP_TUNE_ROWS_AHEAD                                            ? plan->width
                                            : ULP_TUNE_ROWS_AHEAD;
    choose_direct(plan);
    plan->fold_windows = ulp_evaluate_find_windows(plan);
    return ulp_evaluate_find_chains(plan, tape, arena) && ulp_evaluate_lay(plan, arena)
               ? ULP_OK
               : fail_memory(error);
}
