/* The lists of what each phase executes, and a worker's memory. */
#include "formula/evaluate.h"

#include <string.h>

static size_t take_slot(struct ulp_tape_plan *plan, size_t bytes)
{
    const size_t slot = plan->slots.bytes;
    plan->slots.bytes += (bytes + 63) / 64 * 64;
    return slot;
}

/* The registers of operands that step i, or a member of the chain that ends with it, reads last. */
static void free_registers(const struct ulp_tape_plan *plan, int i, int *last_use,
                           size_t *free_slots, int *free_count)
{
    for (int m = plan->steps[i].chain ? 0 : i; m <= i; m++)
        for (int k = 0; k < 3; k++) {
            const int argument = plan->steps[m].needed && plan->steps[m].head == i
                                     ? plan->steps[m].arguments[k]
                                     : -1;
            if (argument < 0 || last_use[argument] != i)
                continue;
            const struct ulp_tape_step *operand = &plan->steps[argument];
            last_use[argument] = -1;
            if (operand->strip && operand->reach == ULP_REACH_ELEMENT && !operand->kept)
                free_slots[(*free_count)++] = operand->strip;
        }
}

/* Registers for strips of elements: one is free again after the last instruction that reads it. A
 * result may take the register of its own operand. The order of all phases is that of the tape, so
 * one assignment serves every phase. */
static void assign_registers(struct ulp_tape_plan *plan, size_t row_length, int *last_use,
                             size_t *free_slots)
{
    int free_count = 0;
    for (int i = 0; i < plan->step_count; i++) {
        last_use[i] = i;
        for (int k = 0; k < 3; k++) {
            const int argument = plan->steps[i].needed ? plan->steps[i].arguments[k] : -1;
            if (argument >= 0 && last_use[argument] < plan->steps[i].head)
                last_use[argument] = plan->steps[i].head;
        }
    }
    for (int i = 0; i < plan->output_count; i++)
        last_use[plan->outputs[i].step] = plan->step_count;
    for (int i = 0; i < plan->step_count; i++) {
        struct ulp_tape_step *step = &plan->steps[i];
        if (!step->needed || step->inside)
            continue;
        free_registers(plan, i, last_use, free_slots, &free_count);
        if (step->kept)
            step->strip = take_slot(plan, plan->cut.tile_rows * row_length * plan->numbers.bytes);
        else if (step->reach == ULP_REACH_ELEMENT && !step->in_place && step->output < 0)
            step->strip = free_count ? free_slots[--free_count]
                                     : take_slot(plan, plan->cut.width * plan->numbers.bytes);
    }
}

static void lay_windows(struct ulp_tape_plan *plan, size_t row_length, size_t tensor_count)
{
    struct ulp_tape_slots *slots = &plan->slots;
    const size_t rows = plan->cut.tile_rows;
    slots->positions = take_slot(plan, row_length * sizeof(int32_t));
    if (!plan->cut.across)
        return;
    slots->gathered = take_slot(plan, tensor_count * rows * sizeof(int64_t));
    slots->classes = take_slot(plan, rows * sizeof(struct ulp_window_class));
    slots->members = take_slot(plan, rows * sizeof(int));
    slots->ids = take_slot(plan, rows * sizeof(uint64_t));
    slots->indices = take_slot(plan, rows * sizeof(size_t));
}

static void lay_worker(struct ulp_tape_plan *plan, const struct ulp_tape_call *call)
{
    const struct ulp_tape_cut *cut = &plan->cut;
    const struct ulp_tape_numbers *numbers = &plan->numbers;
    const size_t tensor_count = (size_t)plan->operand_count + (size_t)call->tape->output_count,
                 row_length = call->rows->row_length;
    struct ulp_tape_slots *slots = &plan->slots;
    bool folds = false;
    for (int i = 0; i < plan->step_count; i++) {
        struct ulp_tape_step *step = &plan->steps[i];
        if (!step->needed || step->reach == ULP_REACH_ELEMENT)
            continue;
        if (step->reach == ULP_REACH_ROW)
            step->one = take_slot(plan, cut->tile_rows * numbers->bytes);
        if (step->reach == ULP_REACH_RUN)
            step->one = step->strip = take_slot(plan, cut->once_width * numbers->bytes);
        else if (step->spread)
            step->strip = take_slot(plan, cut->width * numbers->bytes);
        if (step->kind != ULP_TAPE_FOLD)
            continue;
        folds = true;
        step->fold =
            take_slot(plan, ulp_fold_bytes(&numbers->sum_rule, numbers->order, cut->tile_rows));
    }
    slots->addresses = take_slot(plan, tensor_count * sizeof(struct ulp_tape_address));
    slots->size = take_slot(plan, numbers->bytes);
    slots->offsets =
        take_slot(plan, (plan->fold_windows && row_length > cut->width ? row_length : cut->width) *
                            sizeof(int64_t));
    if (call->rows->window)
        lay_windows(plan, row_length, tensor_count);
    if (!folds)
        return;
    slots->converted = numbers->same_carrier ? 0 : take_slot(plan, cut->width * numbers->sum_bytes);
    slots->sums = take_slot(plan, cut->tile_rows * numbers->sum_bytes);
    slots->unit = numbers->narrow ? take_slot(plan, cut->tile_rows * numbers->sum_bytes) : 0;
}

static void mark_spread(struct ulp_tape_plan *plan)
{
    for (int i = 0; i < plan->step_count; i++)
        for (int k = 0; k < 3; k++) {
            const struct ulp_tape_step *step = &plan->steps[i];
            const bool in_chain = (step->inside || step->chain) && !plan->cut.across;
            if (step->needed && step->arguments[k] >= 0 && !in_chain &&
                (step->reach == ULP_REACH_ELEMENT || step->kind == ULP_TAPE_FOLD))
                plan->steps[step->arguments[k]].spread = true;
        }
    for (int i = 0; i < plan->output_count; i++)
        if (plan->outputs[i].per_position)
            plan->steps[plan->outputs[i].step].spread = true;
}

static bool is_once(const struct ulp_tape_step *step, int phase)
{
    (void)phase;
    return step->reach == ULP_REACH_RUN;
}
static bool is_kept(const struct ulp_tape_step *step, int phase)
{
    (void)phase;
    return step->kept;
}
static bool is_row(const struct ulp_tape_step *step, int phase)
{
    return step->reach == ULP_REACH_ROW && step->kind != ULP_TAPE_FOLD && step->phase == phase;
}
static bool is_spread(const struct ulp_tape_step *step, int phase)
{
    return step->reach == ULP_REACH_ROW && step->spread &&
           step->phase + (step->kind == ULP_TAPE_FOLD) == phase;
}
static bool is_fold(const struct ulp_tape_step *step, int phase)
{
    return step->kind == ULP_TAPE_FOLD && step->phase == phase;
}

/* Lists lie one after the other in memory for all of them: an item that is added belongs to the
 * last one begun. */
static void begin_list(struct ulp_tape_list *list, int **items)
{
    *list = (struct ulp_tape_list){.items = *items};
}
static void add_item(struct ulp_tape_list *list, int **items, int item)
{
    list->items[list->count++] = item;
    *items += 1;
}

static void list_steps(const struct ulp_tape_plan *plan, struct ulp_tape_list *list, int **items,
                       bool (*wanted)(const struct ulp_tape_step *step, int phase), int phase)
{
    begin_list(list, items);
    for (int i = 0; i < plan->step_count; i++)
        if (plan->steps[i].needed && wanted(&plan->steps[i], phase))
            add_item(list, items, i);
}

static void list_operands(const struct ulp_tape_plan *plan, struct ulp_tape_list *list, int **items,
                          bool per_position)
{
    begin_list(list, items);
    for (int i = 0; i < plan->step_count; i++)
        if (plan->steps[i].needed && plan->steps[i].operand >= 0 &&
            plan->steps[i].reach == (per_position ? ULP_REACH_ELEMENT : ULP_REACH_ROW))
            add_item(list, items, plan->steps[i].operand);
    for (int i = 0; i < plan->output_count; i++)
        if (plan->outputs[i].per_position == per_position)
            add_item(list, items, plan->operand_count + plan->outputs[i].number);
}

/* A phase's folds, and the elements that they and in the last phase the outputs need, directly or
 * through others. All outputs are stored in the last phase, so that one may lie over an operand
 * that earlier phases read again. made: the elements that earlier phases made. Keeping a value
 * spares computing it again, unless it is an operand that whole strips are used of in place. */
static void list_elements(struct ulp_tape_plan *plan, int phase, bool *made, bool *marked,
                          int **items)
{
    const struct ulp_tape_cut *cut = &plan->cut;
    const struct ulp_tape_list *folds = &plan->phases[phase].folds;
    struct ulp_tape_list *list = &plan->phases[phase].elements;
    memset(marked, 0, (size_t)plan->step_count * sizeof *marked);
    for (int i = 0; i < folds->count; i++)
        marked[plan->steps[folds->items[i]].arguments[0]] = true;
    for (int i = 0; i < plan->output_count && phase == plan->phase_count - 1; i++)
        marked[plan->outputs[i].step] = true;
    for (int i = plan->step_count - 1; i >= 0; i--) {
        struct ulp_tape_step *step = &plan->steps[i];
        if (!marked[i] || step->reach != ULP_REACH_ELEMENT)
            continue;
        if (made[i] && cut->keep &&
            !(step->in_place || (step->native && cut->across && cut->width < 2 * cut->tile_rows))) {
            step->kept = true;
            marked[i] = false;
        }
        for (int k = 0; k < 3; k++)
            if (marked[i] && step->arguments[k] >= 0)
                marked[step->arguments[k]] = true;
    }
    begin_list(list, items);
    for (int i = 0; i < plan->step_count; i++) {
        const struct ulp_tape_step *step = &plan->steps[i];
        const bool element = marked[i] && step->reach == ULP_REACH_ELEMENT && !step->inside;
        if (element || (step->needed && is_fold(step, phase)))
            add_item(list, items, i);
        made[i] = made[i] || element;
    }
}

static bool list_all(struct ulp_tape_plan *plan)
{
    /* A step is in at most one phase's rows, folds and spreads, and in each one's elements. */
    const size_t steps = (size_t)plan->step_count, outputs = (size_t)plan->output_count,
                 phases = (size_t)plan->phase_count;
    int *items = ulp_arena_take(plan->arena, steps * (phases + 7) + 3 * outputs, sizeof *items);
    bool *made = ulp_arena_take(plan->arena, 2 * steps, sizeof *made);
    plan->phases = ulp_arena_take(plan->arena, phases, sizeof *plan->phases);
    if (!items || !made || !plan->phases)
        return false;
    list_steps(plan, &plan->once, &items, is_once, 0);
    for (int p = 0; p < plan->phase_count; p++) {
        struct ulp_tape_phase *phase = &plan->phases[p];
        list_steps(plan, &phase->rows, &items, is_row, p);
        list_steps(plan, &phase->folds, &items, is_fold, p);
        list_steps(plan, &phase->spreads, &items, is_spread, p);
        list_elements(plan, p, made, made + steps, &items);
    }
    list_steps(plan, &plan->kept, &items, is_kept, 0);
    list_operands(plan, &plan->row_tensors, &items, false);
    list_operands(plan, &plan->element_tensors, &items, true);
    begin_list(&plan->stored, &items);
    for (int i = 0; i < plan->output_count; i++) {
        const struct ulp_tape_output *output = &plan->outputs[i];
        if (output->per_position && plan->steps[output->step].output != output->number)
            add_item(&plan->stored, &items, i);
    }
    return true;
}

bool ulp_evaluate_lay(struct ulp_tape_plan *plan, const struct ulp_tape_call *call)
{
    const size_t step_count = (size_t)plan->step_count;
    int *last_use = ulp_arena_take(plan->arena, step_count, sizeof *last_use);
    size_t *free_slots = ulp_arena_take(plan->arena, step_count, sizeof *free_slots);
    mark_spread(plan);
    if (!last_use || !free_slots || !list_all(plan))
        return false;
    plan->batch = ulp_evaluate_is_batch(plan, call);
    /* No memory is of a tile's rows when no tensor has one element for each. */
    if (!plan->cut.across && !plan->row_tensors.count && plan->cut.tile_rows > 1)
        plan->cut.tile_rows = call->rows->row_count;
    take_slot(plan, sizeof(struct ulp_tape_worker));
    plan->slots.values = take_slot(plan, step_count * sizeof(void *));
    assign_registers(plan, call->rows->row_length, last_use, free_slots);
    lay_worker(plan, call);
    return true;
}
