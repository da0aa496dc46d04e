/* What is decided before a tape runs: carriers, how often each value changes, how rows are cut. */
#include "formula/evaluate.h"

#include <string.h>

#include "base/error.h"

/* Integers when no tensor is a float. */
static bool choose_integers(struct ulp_tape_numbers *numbers, const struct ulp_tape_call *call)
{
    enum ulp_type type = ULP_TYPE_UNDEFINED;
    bool unsigned64 = false;
    const int output_count = call->tape->output_count;
    for (int i = 0; i < output_count + call->tape->operand_count; i++) {
        const struct ulp_tensor *tensor =
            i < output_count ? call->outputs[i].tensor : call->operands[i - output_count].tensor;
        if (!tensor)
            continue;
        if (ulp_element_is_float(tensor->element))
            return false;
        if (type == ULP_TYPE_UNDEFINED && tensor->type != ULP_TYPE_BOOL)
            type = tensor->type;
        unsigned64 = unsigned64 || tensor->type == ULP_TYPE_UINT64;
    }
    numbers->rule = numbers->sum_rule = numbers->narrow_rule =
        ulp_strip_rule_integer(unsigned64                   ? ULP_TYPE_UINT64
                               : type == ULP_TYPE_UNDEFINED ? ULP_TYPE_BOOL
                                                            : type);
    return true;
}

/* Every value of `inner` is one of `outer`. */
static bool is_subset(const struct ulp_format *inner, const struct ulp_format *outer)
{
    if (inner->carrier == ULP_CARRIER_MPFR && outer->carrier == ULP_CARRIER_MPFR)
        return inner->precision <= outer->precision;
    return inner->precision <= outer->precision && inner->emax <= outer->emax &&
           inner->emin >= outer->emin && inner->max_finite <= outer->max_finite &&
           (!inner->subnormals || outer->subnormals) &&
           (!inner->signed_zero || outer->signed_zero) &&
           (inner->overflow == outer->overflow || outer->overflow == ULP_OVERFLOW_INFINITY);
}

/* The compute format and the accumulator. */
static void choose_numbers(struct ulp_tape_numbers *numbers, const struct ulp_tape_call *call)
{
    const struct ulp_arithmetic *arithmetic = call->arithmetic;
    numbers->order = (struct ulp_fold_order){.order = arithmetic->reduce,
                                             .block = arithmetic->reduce_block,
                                             .parts = 1,
                                             .group = 1};
    if (!choose_integers(numbers, call)) {
        numbers->rule = ulp_strip_rule_make(arithmetic, &arithmetic->compute);
        numbers->sum_rule = ulp_strip_rule_make(arithmetic, &arithmetic->accumulator);
        numbers->narrow = !is_subset(&arithmetic->accumulator, &arithmetic->compute);
        numbers->narrow_rule = numbers->sum_rule;
        numbers->narrow_rule.each_step = true;
        numbers->narrow_rule.format = arithmetic->compute;
    }
    const struct ulp_strip_rule *rule = &numbers->rule, *sum_rule = &numbers->sum_rule;
    numbers->same_carrier =
        rule->carrier == sum_rule->carrier &&
        (rule->carrier != ULP_STRIP_MPFR || rule->precision == sum_rule->precision);
    numbers->table = ulp_strip_tables[rule->carrier];
    numbers->sum_table = ulp_strip_tables[sum_rule->carrier];
    numbers->bytes = ulp_strip_element_bytes(rule->carrier, rule->precision);
    numbers->sum_bytes = ulp_strip_element_bytes(sum_rule->carrier, sum_rule->precision);
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
static bool is_native(const struct ulp_strip_rule *rule, const struct ulp_tensor *tensor)
{
    return tensor->element == carrier_element(rule->carrier) &&
           (tensor->element != ULP_ELEMENT_WIDE || tensor->precision == rule->precision);
}

/* The carrier's own rounding is the format's. */
static bool is_carriers(const struct ulp_strip_rule *rule, const struct ulp_format *format)
{
    if (rule->each_step)
        return false;
    if (rule->carrier == ULP_STRIP_MPFR)
        return format->carrier == ULP_CARRIER_MPFR && format->precision == rule->precision;
    const bool single = rule->carrier == ULP_STRIP_FLOAT;
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

/* The store rounds nothing when the value is already one of the storage format. */
static void choose_storage(struct ulp_tape_output *output, const struct ulp_tape_call *call,
                           const struct ulp_strip_rule *rule)
{
    const struct ulp_operand *operand = &call->outputs[output->number];
    const struct ulp_instruction *instruction = &call->tape->instructions[output->step];
    const bool rounded = rule->each_step && instruction->kind == ULP_TAPE_PRIMITIVE &&
                         ulp_primitive_rows[instruction->primitive].result != ULP_RESULT_EXACT;
    output->native = is_native(rule, operand->tensor);
    output->storage = operand->storage ? *operand->storage : call->arithmetic->storage;
    output->rounds = ulp_element_is_float(operand->tensor->element) &&
                     !is_carriers(rule, &output->storage) &&
                     !(rounded && is_same_format(&rule->format, &output->storage));
}

static enum ulp_status find_outputs(struct ulp_tape_plan *plan, const struct ulp_tape_call *call,
                                    struct ulp_error *error)
{
    for (int i = 0; i < call->tape->output_count; i++) {
        if (!call->outputs[i].tensor)
            continue;
        if (call->tape->outputs[i] < 0)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "formula:1: output %d is wanted, but the formula does not give it", i);
        struct ulp_tape_output *output = &plan->outputs[plan->output_count++];
        *output =
            (struct ulp_tape_output){.number = i,
                                     .step = call->tape->outputs[i],
                                     .per_position = ulp_operand_has_positions(&call->outputs[i])};
        choose_storage(output, call, &plan->numbers.rule);
        plan->steps[output->step].needed = true;
    }
    return ULP_OK;
}

/* How often an operand's value changes. One without elements, beside rows without positions, must
 * not be loaded for a row: it counts as changing from position to position. */
static enum ulp_reach operand_reach(const struct ulp_rows *rows, const struct ulp_operand *operand)
{
    if (!operand->tensor)
        return ULP_REACH_RUN;
    if (ulp_operand_has_positions(operand) || (operand->tensor->count == 0 && rows->row_count > 0))
        return ULP_REACH_ELEMENT;
    return (operand->row_offset || operand->row_stride) && rows->row_count > 1 ? ULP_REACH_ROW
                                                                               : ULP_REACH_RUN;
}

static enum ulp_reach find_reach(const struct ulp_tape_plan *plan, const struct ulp_tape_step *step,
                                 const struct ulp_tape_call *call)
{
    enum ulp_reach reach = ULP_REACH_RUN;
    if (step->kind == ULP_TAPE_FOLD)
        return ULP_REACH_ROW;
    if (step->kind == ULP_TAPE_ROW_SIZE)
        return call->rows->window ? ULP_REACH_ROW : ULP_REACH_RUN;
    if (step->kind == ULP_TAPE_OPERAND)
        return operand_reach(call->rows, &call->operands[step->operand]);
    for (int k = 0; k < 3; k++)
        if (step->arguments[k] >= 0 && plan->steps[step->arguments[k]].reach > reach)
            reach = plan->steps[step->arguments[k]].reach;
    return reach;
}

static enum ulp_status make_step(struct ulp_tape_plan *plan, const struct ulp_tape_call *call,
                                 int index, struct ulp_error *error)
{
    const struct ulp_instruction *instruction = &call->tape->instructions[index];
    struct ulp_tape_step *step = &plan->steps[index];
    *step = (struct ulp_tape_step){.kind = instruction->kind,
                                   .phase = instruction->phase,
                                   .operand = -1,
                                   .output = -1,
                                   .needed = true,
                                   .fold_kind = instruction->fold};
    memcpy(step->arguments, instruction->arguments, sizeof step->arguments);
    if (step->kind == ULP_TAPE_OPERAND) {
        const struct ulp_operand *operand = &call->operands[instruction->index];
        step->operand = instruction->index;
        if (!operand->tensor && !operand->constant)
            return ulp_fail(error, ULP_ERROR_USAGE, "formula:%d: operand %d has no value",
                            instruction->column, instruction->index);
        if (operand->tensor && operand->tensor->count == 0 && call->rows->row_length > 0 &&
            call->rows->row_count > 0)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "formula:%d: the operand is empty, but the rows are not",
                            instruction->column);
    } else if (step->kind == ULP_TAPE_CONSTANT) {
        step->constant = call->tape->constants[instruction->index];
    } else if (step->kind == ULP_TAPE_PRIMITIVE) {
        step->function = plan->numbers.table->primitive[instruction->primitive];
        if (!step->function)
            return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                            "formula:%d: '%s' has no meaning for integers", instruction->column,
                            ulp_primitive_rows[instruction->primitive].name);
    }
    step->reach = find_reach(plan, step, call);
    if (step->phase >= plan->phase_count)
        plan->phase_count = step->phase + 1;
    return ULP_OK;
}

static enum ulp_status make_steps(struct ulp_tape_plan *plan, const struct ulp_tape_call *call,
                                  struct ulp_error *error)
{
    const struct ulp_tape *tape = call->tape;
    enum ulp_status status = ULP_OK;
    for (int i = tape->instruction_count - 1; i >= 0; i--)
        for (int k = 0; k < 3; k++)
            if (plan->steps[i].needed && tape->instructions[i].arguments[k] >= 0)
                plan->steps[tape->instructions[i].arguments[k]].needed = true;
    for (int i = 0; i < tape->instruction_count && status == ULP_OK; i++)
        if (plan->steps[i].needed)
            status = make_step(plan, call, i, error);
    for (int i = 0; i < plan->output_count && status == ULP_OK; i++) {
        struct ulp_tape_output *output = &plan->outputs[i];
        const struct ulp_tape_step *step = &plan->steps[output->step];
        if (step->reach == ULP_REACH_ELEMENT) {
            if (!output->per_position && call->rows->row_length > 1)
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
    return status;
}

/* The rows' elements are neighbours in memory, in an operand at least. */
static bool is_contiguous(const struct ulp_tape_plan *plan, const struct ulp_tape_call *call)
{
    for (int i = 0; i < plan->step_count && call->rows->row_length > 1; i++) {
        const struct ulp_tape_step *step = &plan->steps[i];
        const struct ulp_operand *operand =
            step->needed && step->operand >= 0 ? &call->operands[step->operand] : NULL;
        if (operand && operand->tensor &&
            ulp_operand_position(operand, 1) - ulp_operand_position(operand, 0) == 1)
            return true;
    }
    return false;
}

/* ULP_ORDER_WARP is of whole rows of floats: a window, also one inside the input everywhere, is
 * summed by one thread, in order. */
static void choose_order(struct ulp_tape_plan *plan, const struct ulp_tape_call *call)
{
    const struct ulp_instruction *all = call->tape->instructions;
    struct ulp_tape_numbers *numbers = &plan->numbers;
    const bool integers =
        numbers->rule.carrier == ULP_STRIP_INT64 || numbers->rule.carrier == ULP_STRIP_UINT64;
    if (numbers->order.order != ULP_ORDER_WARP)
        return;
    if (integers || call->rows->window || call->rows->window_classes) {
        numbers->order.order = ULP_ORDER_SEQUENTIAL;
        return;
    }
    numbers->order = ulp_fold_order_warp(call->rows->row_length, is_contiguous(plan, call));
    for (int i = 0; i < plan->step_count; i++)
        if (plan->steps[i].needed && all[i].kind == ULP_TAPE_PRIMITIVE &&
            all[i].primitive == ULP_PRIMITIVE_DIV &&
            all[all[i].arguments[0]].kind == ULP_TAPE_FOLD &&
            all[all[i].arguments[1]].kind == ULP_TAPE_ROW_SIZE)
            plan->steps[i].function = ulp_evaluate_scale;
}

#define TILE_ROWS_MIN 8
#define ROWS_AHEAD 64
/* Kept values of one instruction: some of them fit in the second-level cache. */
#define TILE_ELEMENTS 16384

/* Many rows are folded at a time, where there are many and the order of sums allows it. */
static bool can_go_across(const struct ulp_tape_plan *plan, const struct ulp_tape_call *call)
{
    const struct ulp_rows *rows = call->rows;
    const struct ulp_tape_numbers *numbers = &plan->numbers;
    bool folds = false;
    if (rows->row_count < TILE_ROWS_MIN || rows->row_length == 0 ||
        numbers->rule.rounding == ULP_ROUND_STOCHASTIC || (rows->window && !rows->window_classes))
        return false;
    for (int i = 0; i < plan->step_count; i++) {
        const struct ulp_tape_step *step = &plan->steps[i];
        if (!step->needed || step->kind != ULP_TAPE_FOLD)
            continue;
        folds = true;
        if (!ulp_fold_takes_rows(step->fold_kind, numbers->order))
            return false;
    }
    return folds;
}

/* How many rows make a tile that is walked across; 0: that would be slower. Where neighbouring rows
 * are neighbours in memory: as many as a strip holds, fewer when all positions can then be kept.
 * Else so few that the cache lines of all rows stay in the first-level cache while their positions
 * are walked; rows too long to be kept gain only where one row's sum waits for each rounding. */
static size_t count_rows_across(const struct ulp_tape_plan *plan, const struct ulp_tape_call *call)
{
    const struct ulp_rows *rows = call->rows;
    bool adjacent = rows->window;
    for (int i = 0; i < plan->step_count && !adjacent; i++) {
        const struct ulp_tape_step *step = &plan->steps[i];
        if (!step->needed || step->operand < 0 || step->reach != ULP_REACH_ELEMENT)
            continue;
        const struct ulp_operand *operand = &call->operands[step->operand];
        adjacent = ulp_operand_row(operand, 1) - ulp_operand_row(operand, 0) == 1;
    }
    const size_t least = adjacent ? 64 : 16, most = adjacent ? ULP_STRIP : 64,
                 keeping = TILE_ELEMENTS / rows->row_length,
                 workers = (size_t)ulp_pool_thread_count(call->pool),
                 share = (rows->row_count + workers - 1) / workers,
                 parts = TILE_ELEMENTS / (size_t)plan->numbers.order.parts;
    if (plan->phase_count > 1 && !adjacent && keeping <= least && !plan->numbers.sum_rule.each_step)
        return 0;
    size_t count = keeping < least || plan->phase_count == 1 ? most
                   : keeping < most                          ? keeping
                                                             : most;
    if (count > parts)
        count = parts;
    if (count > share)
        count = share > TILE_ROWS_MIN ? share : TILE_ROWS_MIN;
    return count;
}

/* Nanoseconds of all instructions on one element, roughly (doc/performance.md): only who works on
 * it depends on them. */
static double estimate_element(const struct ulp_tape_plan *plan, const struct ulp_tape *tape)
{
    static const struct cost {
        double step, function;
    } costs[ULP_STRIP_CARRIER_COUNT] = {[ULP_STRIP_FLOAT] = {0.2, 2},
                                        [ULP_STRIP_DOUBLE] = {1, 20},
                                        [ULP_STRIP_MPFR] = {60, 2000},
                                        [ULP_STRIP_INT64] = {0.5, 0.5},
                                        [ULP_STRIP_UINT64] = {0.5, 0.5}},
      few_limbs = {6, 130};
    const struct ulp_strip_rule *rule = &plan->numbers.rule;
    const bool fast = rule->carrier == ULP_STRIP_MPFR && rule->precision <= 256;
    const struct cost *cost = fast ? &few_limbs : &costs[rule->carrier];
    double sum = 0;
    for (int i = 0; i < tape->instruction_count; i++) {
        const struct ulp_instruction *instruction = &tape->instructions[i];
        const bool function =
            instruction->kind == ULP_TAPE_PRIMITIVE && !instruction->per_row &&
            ulp_primitive_rows[instruction->primitive].result == ULP_RESULT_FUNCTION;
        sum += function ? cost->function : cost->step;
    }
    return sum;
}

static void choose_cut(struct ulp_tape_plan *plan, const struct ulp_tape_call *call)
{
    const struct ulp_rows *rows = call->rows;
    const size_t length = rows->row_length;
    struct ulp_tape_cut *cut = &plan->cut;
    bool folds = false;
    for (int i = 0; i < plan->step_count; i++)
        folds = folds || (plan->steps[i].needed && plan->steps[i].kind == ULP_TAPE_FOLD);
    *cut = (struct ulp_tape_cut){.tile_rows = 1,
                                 .width = length < 1           ? 1
                                          : length < ULP_STRIP ? length
                                                               : ULP_STRIP,
                                 .strips = 1};
    const size_t across = can_go_across(plan, call) ? count_rows_across(plan, call) : 0;
    if (across) {
        cut->across = true;
        cut->tile_rows = across;
        cut->width = length < ULP_STRIP / cut->tile_rows
                         ? cut->tile_rows * length
                         : ULP_STRIP / cut->tile_rows * cut->tile_rows;
    } else if (!folds && !rows->window) {
        cut->strips = (length + cut->width - 1) / cut->width + (length == 0);
        if (plan->numbers.rule.rounding != ULP_ROUND_STOCHASTIC)
            cut->tile_rows = ROWS_AHEAD;
    }
    cut->keep = plan->phase_count > 1 && cut->tile_rows * length <= TILE_ELEMENTS;
    cut->once_width = cut->width > cut->tile_rows ? cut->width : cut->tile_rows;
    cut->nanoseconds =
        estimate_element(plan, call->tape) * (double)(cut->strips > 1 ? cut->width : length) +
        20 * (double)plan->step_count;
}

/* Operands that lie in memory as a strip does, and the one result that can be computed where it
 * belongs. */
static void choose_in_place(struct ulp_tape_plan *plan, const struct ulp_tape_call *call)
{
    const bool along = !plan->cut.across && !call->rows->window;
    int last = -1, found = -1, users = 0;
    for (int i = 0; i < plan->step_count; i++) {
        struct ulp_tape_step *step = &plan->steps[i];
        if (!step->needed || step->reach != ULP_REACH_ELEMENT)
            continue;
        last = i;
        if (step->operand < 0)
            continue;
        const struct ulp_operand *operand = &call->operands[step->operand];
        step->native = is_native(&plan->numbers.rule, operand->tensor);
        step->in_place =
            step->native && along && operand->position_stride == 1 && !operand->position_offset;
    }
    if (last < 0 || plan->steps[last].kind != ULP_TAPE_PRIMITIVE || !along)
        return;
    for (int i = last + 1; i < plan->step_count; i++)
        if (plan->steps[i].needed && plan->steps[i].kind == ULP_TAPE_FOLD &&
            plan->steps[i].arguments[0] == last)
            return;
    for (int i = 0; i < plan->output_count; i++)
        if (plan->outputs[i].step == last) {
            users++;
            found = i;
        }
    const struct ulp_tape_output *output = &plan->outputs[found < 0 ? 0 : found];
    const struct ulp_operand *operand = &call->outputs[output->number];
    if (users == 1 && !output->rounds && output->native && operand->position_stride == 1 &&
        !operand->position_offset)
        plan->steps[last].output = output->number;
}

enum ulp_status ulp_evaluate_plan(struct ulp_tape_plan *plan, const struct ulp_tape_call *call,
                                  struct ulp_arena *arena, struct ulp_error *error)
{
    const struct ulp_tape *tape = call->tape;
    *plan = (struct ulp_tape_plan){.arena = arena,
                                   .operand_count = tape->operand_count,
                                   .step_count = tape->instruction_count};
    plan->steps = ulp_arena_take(arena, (size_t)plan->step_count, sizeof *plan->steps);
    plan->outputs = ulp_arena_take(arena, (size_t)tape->output_count, sizeof *plan->outputs);
    if (plan->steps && plan->outputs) {
        choose_numbers(&plan->numbers, call);
        enum ulp_status status = find_outputs(plan, call, error);
        if (status == ULP_OK)
            status = make_steps(plan, call, error);
        if (status != ULP_OK)
            return status;
        choose_order(plan, call);
        choose_cut(plan, call);
        choose_in_place(plan, call);
        plan->fold_windows = ulp_evaluate_find_windows(plan, call);
        if (ulp_evaluate_find_chains(plan, tape) && ulp_evaluate_lay(plan, call))
            return ULP_OK;
    }
    return ulp_fail(error, ULP_ERROR_MEMORY, "out of memory while preparing a formula's run");
}
