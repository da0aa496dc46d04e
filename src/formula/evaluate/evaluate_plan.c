/* Preparing one run of a tape: carriers, how often each value changes, which strips share memory,
 * which instructions each phase needs. */
#include "formula/evaluate/evaluate.h"

#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "base/tuning.h"
#include "number/round/round.h"

/* Of a step that reads a tensor; NULL: it does not, or is not needed. */
static const struct ulp_operand *operand_of(const struct ulp_tape_plan *plan,
                                            const struct ulp_tape_step *step)
{
    return step->needed && step->operand >= 0 ? &plan->call->operands[step->operand] : NULL;
}

/* Rule and table of the compute format and of the accumulator. Integers when no tensor is a
 * float. */
static bool choose_integers(struct ulp_tape_plan *plan)
{
    const struct ulp_tape *tape = plan->call->tape;
    enum ulp_type type = ULP_TYPE_UNDEFINED;
    bool unsigned64 = false;
    for (int i = 0; i < tape->output_count + tape->operand_count; i++) {
        const struct ulp_operand *operand = i < tape->output_count
                                                ? &plan->call->outputs[i]
                                                : &plan->call->operands[i - tape->output_count];
        if (!operand->tensor)
            continue;
        if (ulp_element_is_float(operand->tensor->element))
            return false;
        if (type == ULP_TYPE_UNDEFINED && operand->tensor->type != ULP_TYPE_BOOL)
            type = operand->tensor->type;
        unsigned64 = unsigned64 || operand->tensor->type == ULP_TYPE_UINT64;
    }
    plan->rule = plan->sum_rule = plan->narrow_rule =
        ulp_strip_rule_integer(unsigned64                   ? ULP_TYPE_UINT64
                               : type == ULP_TYPE_UNDEFINED ? ULP_TYPE_BOOL
                                                            : type);
    return true;
}

/* Scans compute in the compute format; what the format of sums does not hold of it is rounded. */
static void describe_partial(struct ulp_tape_plan *plan, const struct ulp_format *rows,
                             const struct ulp_format *compute)
{
    if (ulp_format_holds(rows, compute))
        return;
    plan->partial_format = *rows;
    (void)ulp_tensor_describe(&plan->partial, ULP_TYPE_FLOAT, ulp_storage_element(rows),
                              rows->precision, 0, NULL, NULL);
}

static void choose_rules(struct ulp_tape_plan *plan)
{
    const struct ulp_arithmetic *arithmetic = plan->call->arithmetic;
    plan->order = (struct ulp_reduction_order){.order = arithmetic->reduce,
                                               .block = arithmetic->reduce_block,
                                               .parts = 1,
                                               .group = 1,
                                               .length = plan->call->rows->row_length};
    if (!choose_integers(plan)) {
        plan->rule = ulp_strip_rule_make(arithmetic, &arithmetic->compute);
        plan->sum_rule = ulp_strip_rule_make(arithmetic, &arithmetic->rows);
        plan->narrow = !ulp_format_holds(&arithmetic->compute, &arithmetic->rows);
        plan->narrow_rule = plan->sum_rule;
        plan->narrow_rule.each_step = true;
        plan->narrow_rule.format = arithmetic->compute;
        describe_partial(plan, &arithmetic->rows, &arithmetic->compute);
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
        [ULP_STRIP_FLOAT] = ULP_ELEMENT_F32, [ULP_STRIP_DOUBLE] = ULP_ELEMENT_F64,
        [ULP_STRIP_MPFR] = ULP_ELEMENT_WIDE, [ULP_STRIP_PAIR] = ULP_ELEMENT_COUNT,
        [ULP_STRIP_INT64] = ULP_ELEMENT_I64, [ULP_STRIP_UINT64] = ULP_ELEMENT_U64,
    };
    return elements[carrier];
}

/* Elements of the tensor are values of the carrier, byte for byte. */
static bool is_native(const struct ulp_tape_plan *plan, const struct ulp_operand *operand)
{
    return operand->tensor->element == carrier_element(plan->rule.carrier) && !plan->rule.bounded &&
           (operand->tensor->element != ULP_ELEMENT_WIDE ||
            operand->tensor->precision == plan->rule.precision);
}

/* The carrier's own rounding is the format's. */
static bool rounds_natively(const struct ulp_tape_plan *plan, const struct ulp_format *format)
{
    if (plan->rule.each_step)
        return false;
    if (plan->rule.carrier == ULP_STRIP_MPFR || plan->rule.carrier == ULP_STRIP_PAIR)
        return format->carrier == ULP_CARRIER_MPFR && format->precision == plan->rule.precision;
    const bool single = plan->rule.carrier == ULP_STRIP_FLOAT;
    return ulp_format_is_ieee(format, single ? 24 : 53, single ? 127 : 1023);
}

/* What the store must do: nothing when the value is already one of the storage format. */
static const struct ulp_format *choose_storage(const struct ulp_tape_plan *plan,
                                               const struct ulp_tape_output *output,
                                               const struct ulp_instruction *instruction)
{
    const struct ulp_operand *operand = &plan->call->outputs[output->number];
    const struct ulp_format *storage =
        operand->storage ? operand->storage : &plan->call->arithmetic->storage;
    if (!ulp_element_is_float(operand->tensor->element) || rounds_natively(plan, storage))
        return NULL;
    if (plan->rule.each_step && instruction->kind == ULP_TAPE_PRIMITIVE &&
        ulp_primitive_rows[instruction->primitive].result != ULP_RESULT_EXACT &&
        ulp_format_holds(storage, &plan->rule.format))
        return NULL;
    return storage;
}

static enum ulp_status find_outputs(struct ulp_tape_plan *plan, struct ulp_error *error)
{
    const struct ulp_tape *tape = plan->call->tape;
    for (int i = 0; i < tape->output_count; i++) {
        if (!plan->call->outputs[i].tensor)
            continue;
        if (tape->outputs[i] < 0)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "formula:1: output %d is wanted, but the formula does not give it", i);
        plan->outputs[plan->output_count++] =
            (struct ulp_tape_output){.number = i,
                                     .step = tape->outputs[i],
                                     .per_position = ulp_has_positions(&plan->call->outputs[i])};
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

static enum ulp_reach find_reach(const struct ulp_tape_plan *plan,
                                 const struct ulp_instruction *step)
{
    enum ulp_reach reach = ULP_REACH_RUN;
    if (step->kind == ULP_TAPE_REDUCTION)
        return ULP_REACH_ROW;
    if (step->kind == ULP_TAPE_SCAN)
        return ULP_REACH_ELEMENT;
    if (step->kind == ULP_TAPE_ROW_SIZE)
        return plan->call->rows->window ? ULP_REACH_ROW : ULP_REACH_RUN;
    if (step->kind == ULP_TAPE_OPERAND)
        return operand_reach(plan->call->rows, &plan->call->operands[step->index]);
    for (int k = 0; k < 3; k++)
        if (step->arguments[k] >= 0 && plan->steps[step->arguments[k]].reach > reach)
            reach = plan->steps[step->arguments[k]].reach;
    return reach;
}

static void mark_needed(struct ulp_tape_plan *plan)
{
    const struct ulp_instruction *instructions = plan->call->tape->instructions;
    for (int i = 0; i < plan->output_count; i++)
        plan->steps[plan->outputs[i].step].needed = true;
    for (int i = plan->step_count - 1; i >= 0; i--)
        for (int k = 0; k < 3; k++)
            if (plan->steps[i].needed && instructions[i].arguments[k] >= 0)
                plan->steps[instructions[i].arguments[k]].needed = true;
}

/* The constant's value, once. */
static enum ulp_status make_value(const struct ulp_tape_plan *plan, struct ulp_tape_step *step,
                                  const char *text, struct ulp_arena *arena,
                                  struct ulp_error *error)
{
    void *value = ulp_arena_take(arena, 1, plan->element_bytes);
    ULP_TRY(ulp_taken(value, error));
    plan->table->constant(&plan->rule, value, text, 1);
    step->value = value;
    return ULP_OK;
}

static enum ulp_status make_step(struct ulp_tape_plan *plan, struct ulp_tape_step *step,
                                 const struct ulp_instruction *instruction, struct ulp_arena *arena,
                                 struct ulp_error *error)
{
    *step = (struct ulp_tape_step){.kind = instruction->kind,
                                   .phase = instruction->phase,
                                   .needed = true,
                                   .operand = -1,
                                   .reduction_kind = instruction->reduction,
                                   .kernel = instruction->kernel,
                                   .reach = find_reach(plan, instruction)};
    memcpy(step->arguments, instruction->arguments, sizeof step->arguments);
    if (step->kind == ULP_TAPE_OPERAND) {
        const struct ulp_operand *operand = &plan->call->operands[instruction->index];
        if (!operand->tensor && !operand->constant)
            return ulp_fail(error, ULP_ERROR_USAGE, "formula:%d: operand %d has no value",
                            instruction->column, instruction->index);
        if (!operand->tensor)
            ULP_TRY(make_value(plan, step, operand->constant, arena, error));
        else
            step->operand = instruction->index;
    } else if (step->kind == ULP_TAPE_CONSTANT) {
        ULP_TRY(
            make_value(plan, step, plan->call->tape->constants[instruction->index], arena, error));
    } else if (step->kind == ULP_TAPE_PRIMITIVE) {
        step->function = plan->table->primitive[instruction->primitive];
        if (!step->function)
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                            "formula:%d: '%s' has no meaning for integers", instruction->column,
                            ulp_primitive_rows[instruction->primitive].name);
    } else if (step->kind == ULP_TAPE_REDUCTION || step->kind == ULP_TAPE_SCAN) {
        plan->has_reductions = true;
        if (step->kernel && plan->sum_rule.carrier != ULP_STRIP_FLOAT)
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "formula:%d: a kernel of FP32 rows alone",
                            instruction->column);
        step->function = plan->table->primitive[ulp_reduction_rows[step->reduction_kind].combine];
    }
    if (step->phase >= plan->phase_count)
        plan->phase_count = step->phase + 1;
    return ULP_OK;
}

static enum ulp_status make_steps(struct ulp_tape_plan *plan, struct ulp_arena *arena,
                                  struct ulp_error *error)
{
    mark_needed(plan);
    for (int i = 0; i < plan->step_count; i++)
        if (plan->steps[i].needed)
            ULP_TRY(
                make_step(plan, &plan->steps[i], &plan->call->tape->instructions[i], arena, error));
    return ULP_OK;
}

static enum ulp_status check_addresses(struct ulp_tape_plan *plan, struct ulp_error *error)
{
    const struct ulp_tape *tape = plan->call->tape;
    const struct ulp_rows *rows = plan->call->rows;
    for (int i = 0; i < plan->output_count; i++) {
        struct ulp_tape_output *output = &plan->outputs[i];
        const struct ulp_tape_step *step = &plan->steps[output->step];
        output->storage = choose_storage(plan, output, &tape->instructions[output->step]);
        if (step->reach == ULP_REACH_ELEMENT) {
            if (!output->per_position && rows->row_length > 1)
                return ulp_fail(
                    error, ULP_ERROR_USAGE,
                    "formula:%d: an output with one element a row is given one value per position",
                    tape->instructions[output->step].column);
            output->per_position = true;
        }
        /* A reduction is ready in the phase after its own. */
        if (output->per_position && step->kind == ULP_TAPE_REDUCTION &&
            step->phase + 2 > plan->phase_count)
            plan->phase_count = step->phase + 2;
    }
    for (int i = 0; i < plan->step_count; i++) {
        const struct ulp_operand *operand = operand_of(plan, &plan->steps[i]);
        if (operand && operand->tensor->count == 0 && rows->row_length > 0 && rows->row_count > 0)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "formula:%d: the operand is empty, but the rows are not",
                            tape->instructions[i].column);
    }
    return ULP_OK;
}

/* The rows' elements are neighbours in memory, in an operand at least. */
static bool is_contiguous(const struct ulp_tape_plan *plan)
{
    const struct ulp_rows *rows = plan->call->rows;
    for (int i = 0; i < plan->step_count && rows->row_count > 0 && rows->row_length > 1; i++) {
        const struct ulp_operand *operand = operand_of(plan, &plan->steps[i]);
        if (operand && ulp_operand_place(operand, 0, 1) - ulp_operand_place(operand, 0, 0) == 1)
            return true;
    }
    return false;
}

/* Rows on a processor: a kernel's, which the operator's row may name. Others, and what is too long
 * to be held, are added in turn. */
static bool choose_kernel(struct ulp_tape_plan *plan)
{
    enum { LONGEST = 1 << 22 };
    const struct ulp_rows *rows = plan->call->rows;
    const int own = plan->order.block;
    if (plan->call->arithmetic->steps != ULP_STEPS_ORT_CPU ||
        plan->sum_rule.carrier != ULP_STRIP_FLOAT || plan->sum_rule.each_step)
        return false;
    plan->order =
        (struct ulp_reduction_order){.parts = 1, .group = 1, .length = plan->order.length};
    if (!rows->window && !rows->window_classes && rows->row_length <= LONGEST &&
        is_contiguous(plan))
        plan->order.kernel = own ? (enum ulp_row_kernel)own : ULP_ROW_EIGEN;
    return true;
}

/* Sums of pairs have no order of their own: so many parts that vectors are full. */
static bool choose_parts(struct ulp_tape_plan *plan)
{
    enum { PARTS = 64 };
    const struct ulp_rows *rows = plan->call->rows;
    if (plan->sum_rule.carrier != ULP_STRIP_PAIR || rows->window || rows->row_length < 16)
        return false;
    plan->order = (struct ulp_reduction_order){.order = ULP_ORDER_WARP, .parts = 8, .group = 1};
    while (plan->order.parts < PARTS && 4 * (size_t)plan->order.parts <= rows->row_length)
        plan->order.parts *= 2;
    return true;
}

/* ULP_ORDER_WARP is of whole rows of floats: a window, also one inside the input everywhere, is
 * summed by one thread, in order. */
static void choose_order(struct ulp_tape_plan *plan)
{
    const struct ulp_tape *tape = plan->call->tape;
    const bool integers =
        plan->rule.carrier == ULP_STRIP_INT64 || plan->rule.carrier == ULP_STRIP_UINT64;
    if (choose_kernel(plan) || choose_parts(plan) || plan->order.order != ULP_ORDER_WARP)
        return;
    const int threads = plan->order.block < 0 ? -plan->order.block : plan->order.block;
    if (plan->order.block < 0 && (plan->call->rows->row_count > (size_t)threads ||
                                  plan->call->rows->row_length < (size_t)threads))
        plan->order.order = ULP_ORDER_SEQUENTIAL;
    if (integers || plan->call->rows->window || plan->call->rows->window_classes) {
        plan->order.order = ULP_ORDER_SEQUENTIAL;
        return;
    }
    const int group = plan->call->arithmetic->reduce_group;
    if (group) {
        plan->stored_rule =
            ulp_strip_rule_make(plan->call->arithmetic, &plan->call->arithmetic->storage);
        plan->order.parts = threads;
        plan->order.group = group;
        plan->order.stored = &plan->stored_rule;
        return;
    }
    if (threads) {
        plan->order.parts = plan->order.order == ULP_ORDER_WARP ? threads : 1;
        plan->order.rest = threads / 64; /* the sums of one of 64 threads, or one more step */
        return;
    }
    plan->order = ulp_reduction_order_warp(plan->call->rows->row_length, is_contiguous(plan));
    for (int i = 0; i < plan->step_count; i++) {
        const int *arguments = tape->instructions[i].arguments;
        if (plan->steps[i].needed && plan->steps[i].kind == ULP_TAPE_PRIMITIVE &&
            tape->instructions[i].primitive == ULP_PRIMITIVE_DIV &&
            tape->instructions[arguments[0]].kind == ULP_TAPE_REDUCTION &&
            tape->instructions[arguments[1]].kind == ULP_TAPE_ROW_SIZE)
            plan->steps[i].function = ulp_evaluate_scale;
    }
}

/* Tiles form sums in sequential order or in parts (extremes do not depend on the order), many rows
 * at a time. */
static bool can_tile(const struct ulp_tape_plan *plan)
{
    const struct ulp_rows *rows = plan->call->rows;
    const enum ulp_order order = plan->order.order;
    const bool wide = plan->sum_rule.carrier == ULP_STRIP_MPFR ||
                      plan->sum_rule.carrier == ULP_STRIP_PAIR ||
                      plan->rule.carrier == ULP_STRIP_MPFR;
    if (!plan->has_reductions || plan->order.stored || rows->row_count < ULP_TUNE_TILE_ROWS_MIN ||
        rows->row_length == 0 || plan->rule.rounding == ULP_ROUND_STOCHASTIC ||
        (rows->window && !rows->window_classes))
        return false;
    for (int i = 0; i < plan->step_count; i++) {
        const struct ulp_tape_step *step = &plan->steps[i];
        const bool ordered = step->reduction_kind == ULP_REDUCTION_SUM ||
                             step->reduction_kind == ULP_REDUCTION_PRODUCT;
        if (step->needed && step->kind == ULP_TAPE_REDUCTION &&
            (wide || ulp_evaluate_order(plan, step).kernel ||
             (ordered && order != ULP_ORDER_SEQUENTIAL && order != ULP_ORDER_WARP)))
            return false;
    }
    return true;
}

/* How many rows make a tile. Where neighbouring rows are neighbours in memory: as many as a strip
 * holds, fewer when all positions can then be kept. Else so few that the cache lines of all rows
 * stay in the first-level cache while their positions are walked. */
static void choose_tiles(struct ulp_tape_plan *plan)
{
    const size_t row_count = plan->call->rows->row_count, row_length = plan->call->rows->row_length,
                 worker_count = (size_t)ulp_pool_thread_count(plan->call->pool);
    bool adjacent = plan->call->rows->window;
    plan->tiles = can_tile(plan);
    plan->tile_rows = 1;
    if (!plan->tiles)
        return;
    for (int i = 0; i < plan->step_count; i++) {
        const struct ulp_tape_step *step = &plan->steps[i];
        const struct ulp_operand *operand = operand_of(plan, step);
        if (operand && step->reach == ULP_REACH_ELEMENT)
            adjacent |= ulp_row_base(operand, 1) - ulp_row_base(operand, 0) == 1;
    }
    const size_t least = adjacent ? ULP_TUNE_TILE_ROWS_ADJACENT : ULP_TUNE_TILE_ROWS_APART,
                 most = adjacent ? ULP_STRIP : ULP_TUNE_TILE_ROWS_APART_MAX;
    const size_t keeping = ULP_TUNE_TILE_ELEMENTS / row_length;
    size_t count = keeping < least || plan->phase_count == 1 ? most
                   : keeping < most ? keeping - keeping % ULP_TUNE_TILE_ROWS_APART
                                    : most;
    const size_t share = (row_count + worker_count - 1) / worker_count;
    if (count > ULP_TUNE_TILE_ELEMENTS / (size_t)plan->order.parts)
        count = ULP_TUNE_TILE_ELEMENTS / (size_t)plan->order.parts;
    if (count > share)
        count = share > ULP_TUNE_TILE_ROWS_MIN ? share : ULP_TUNE_TILE_ROWS_MIN;
    plan->tile_rows = count;
    plan->keep = plan->phase_count > 1 && count * row_length <= ULP_TUNE_TILE_ELEMENTS;
}

/* How many values are in a strip. */
static void choose_width(struct ulp_tape_plan *plan)
{
    const size_t length = plan->call->rows->row_length, rows = plan->tile_rows;
    plan->width = length < 1                  ? 1
                  : length < ULP_STRIP / rows ? rows * length
                                              : ULP_STRIP / rows * rows;
}

/* Operands that lie in memory as a strip does. */
static void find_native(struct ulp_tape_plan *plan)
{
    for (int i = 0; i < plan->step_count; i++) {
        struct ulp_tape_step *step = &plan->steps[i];
        const struct ulp_operand *operand = operand_of(plan, step);
        step->native = operand && step->reach == ULP_REACH_ELEMENT && is_native(plan, operand);
    }
}

/* Nanoseconds of all instructions on one element, roughly (doc/performance.md): only who works on
 * it depends on them. */
static double estimate_element(const struct ulp_tape_plan *plan)
{
    static const struct cost {
        double step, function;
    } costs[ULP_STRIP_CARRIER_COUNT] = {
        [ULP_STRIP_FLOAT] = {0.2, 2},   [ULP_STRIP_DOUBLE] = {1, 20},
        [ULP_STRIP_MPFR] = {60, 2000},  [ULP_STRIP_PAIR] = {4, 40},
        [ULP_STRIP_INT64] = {0.5, 0.5}, [ULP_STRIP_UINT64] = {0.5, 0.5}};
    const struct cost *cost = &costs[plan->rule.carrier];
    double sum = 0;
    for (int i = 0; i < plan->step_count; i++) {
        const struct ulp_instruction *instruction = &plan->call->tape->instructions[i];
        const bool function =
            instruction->kind == ULP_TAPE_PRIMITIVE && !instruction->per_row &&
            ulp_primitive_rows[instruction->primitive].result == ULP_RESULT_FUNCTION;
        sum += function ? cost->function : cost->step;
    }
    return sum;
}

static void choose_grain(struct ulp_tape_plan *plan)
{
    const size_t row = plan->call->rows->row_length;
    const bool strips = !plan->has_reductions && !plan->call->rows->window;
    const size_t length = strips && row > plan->width ? plan->width : row;
    const size_t grain =
        ulp_grain(estimate_element(plan) * (double)length + 20 * (double)plan->step_count);
    plan->grain = grain < plan->tile_rows ? plan->tile_rows : grain;
}

enum ulp_status ulp_evaluate_plan(struct ulp_tape_plan *plan, const struct ulp_tape_call *call,
                                  struct ulp_arena *arena, struct ulp_error *error)
{
    const struct ulp_tape *tape = call->tape;
    *plan = (struct ulp_tape_plan){.call = call, .step_count = tape->instruction_count};
    ULP_TAKE(plan->steps, arena, (size_t)plan->step_count, error);
    ULP_TAKE(plan->outputs, arena, (size_t)tape->output_count + 1, error);
    choose_rules(plan);
    ULP_TRY(find_outputs(plan, error));
    ULP_TRY(make_steps(plan, arena, error));
    ULP_TRY(check_addresses(plan, error));
    choose_order(plan);
    choose_tiles(plan);
    choose_width(plan);
    find_native(plan);
    choose_grain(plan);
    return ulp_evaluate_lay(plan, arena) ? ULP_OK : ulp_out_of_memory(error);
}
