/* A worker's memory and the orders in which it executes instructions. */
#include "formula/evaluate/evaluate.h"

static size_t take_slot(struct ulp_tape_plan *plan, size_t bytes)
{
    const size_t slot = plan->worker_bytes;
    plan->worker_bytes += (bytes + 63) / 64 * 64;
    return slot;
}

/* The registers of operands that step i reads last. */
static void free_registers(const struct ulp_tape_plan *plan, int i, int *last_use,
                           size_t *free_slots, int *free_count)
{
    for (int k = 0; k < 3; k++) {
        const int argument = plan->steps[i].arguments[k];
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
static void assign_registers(struct ulp_tape_plan *plan, int *last_use, size_t *free_slots)
{
    const size_t strip_bytes = plan->width * plan->element_bytes;
    int free_count = 0;
    for (int i = 0; i < plan->step_count; i++) {
        last_use[i] = i;
        for (int k = 0; k < 3; k++) {
            const int argument = plan->steps[i].needed ? plan->steps[i].arguments[k] : -1;
            if (argument >= 0)
                last_use[argument] = i;
        }
    }
    for (int i = 0; i < plan->output_count; i++)
        last_use[plan->outputs[i].step] = plan->step_count;
    for (int i = 0; i < plan->step_count; i++) {
        struct ulp_tape_step *step = &plan->steps[i];
        if (!step->needed)
            continue;
        free_registers(plan, i, last_use, free_slots, &free_count);
        if (step->kept)
            step->strip = take_slot(plan, plan->tile_rows * plan->call->rows->row_length *
                                              plan->element_bytes);
        else if (step->reach == ULP_REACH_ELEMENT)
            step->strip = free_count ? free_slots[--free_count] : take_slot(plan, strip_bytes);
    }
}

/* What tiles need besides: addresses of every operand and output, classes of windows. */
static void lay_tiles(struct ulp_tape_plan *plan)
{
    const size_t tensors = (size_t)plan->step_count + (size_t)plan->output_count;
    plan->addresses_slot = take_slot(plan, tensors * sizeof(struct ulp_row_address));
    bool gathers = false;
    for (int i = 0; i < plan->call->tape->operand_count; i++)
        gathers |= plan->call->operands[i].row_period != 0;
    if (gathers)
        plan->gathered_slot = take_slot(plan, tensors * plan->tile_rows * sizeof(int64_t));
    if (plan->call->rows->window)
        plan->ids_slot = take_slot(plan, plan->tile_rows * sizeof(uint64_t));
}

static void lay_worker(struct ulp_tape_plan *plan)
{
    const size_t strip_bytes = plan->width * plan->element_bytes, rows = plan->tile_rows;
    for (int i = 0; i < plan->step_count; i++) {
        struct ulp_tape_step *step = &plan->steps[i];
        if (step->needed && step->kind == ULP_TAPE_SCAN)
            step->reduction = take_slot(plan, rows * plan->element_bytes);
        if (!step->needed || step->reach == ULP_REACH_ELEMENT)
            continue;
        if (step->reach == ULP_REACH_ROW)
            step->one = take_slot(plan, rows * plan->element_bytes);
        if (step->reach == ULP_REACH_RUN || step->spread)
            step->strip = take_slot(plan, strip_bytes);
        if (step->reach == ULP_REACH_RUN)
            step->one = step->strip;
        if (step->kind == ULP_TAPE_REDUCTION)
            step->reduction =
                take_slot(plan, plan->tiles ? rows * (size_t)plan->order.parts * plan->sum_bytes
                                            : ulp_reduction_bytes(&plan->sum_rule,
                                                                  ulp_evaluate_order(plan, step)));
    }
    plan->partial_slot = take_slot(plan, rows * plan->partial.element_bytes);
    plan->size_slot = take_slot(plan, plan->element_bytes);
    plan->offsets_slot = take_slot(plan, plan->width * sizeof(int64_t));
    if (plan->call->rows->window)
        plan->positions_slot = take_slot(plan, plan->call->rows->row_length * sizeof(int32_t));
    if (plan->tiles)
        lay_tiles(plan);
    if (!plan->has_reductions)
        return;
    plan->converted_slot = plan->same_carrier ? 0 : take_slot(plan, plan->width * plan->sum_bytes);
    plan->sum_slot = take_slot(plan, plan->sum_bytes);
    plan->unit_slot = plan->narrow ? take_slot(plan, rows * plan->sum_bytes) : 0;
}

static void mark_spread(struct ulp_tape_plan *plan)
{
    for (int i = 0; i < plan->step_count; i++)
        for (int k = 0; k < 3; k++) {
            const struct ulp_tape_step *step = &plan->steps[i];
            if (step->needed && step->arguments[k] >= 0 &&
                (step->reach == ULP_REACH_ELEMENT || step->kind == ULP_TAPE_REDUCTION))
                plan->steps[step->arguments[k]].spread = true;
        }
    for (int i = 0; i < plan->output_count; i++)
        if (plan->outputs[i].per_position)
            plan->steps[plan->outputs[i].step].spread = true;
}

static bool list_steps(struct ulp_tape_plan *plan, struct ulp_tape_steps *list,
                       struct ulp_arena *arena,
                       bool (*wanted)(const struct ulp_tape_step *step, int phase), int phase)
{
    *list = (struct ulp_tape_steps){
        .items = ulp_arena_take(arena, (size_t)plan->step_count, sizeof *list->items)};
    for (int i = 0; i < plan->step_count && list->items; i++)
        if (plan->steps[i].needed && wanted(&plan->steps[i], phase))
            list->items[list->count++] = i;
    return list->items != NULL;
}

static bool is_once(const struct ulp_tape_step *step, int phase)
{
    (void)phase;
    return step->reach == ULP_REACH_RUN;
}
static bool is_repeated(const struct ulp_tape_step *step, int phase)
{
    (void)phase;
    return step->reach != ULP_REACH_RUN;
}
static bool is_row_part(const struct ulp_tape_step *step, int phase)
{
    return step->reach == ULP_REACH_ROW && step->kind != ULP_TAPE_REDUCTION && step->phase == phase;
}
static bool is_reduction_part(const struct ulp_tape_step *step, int phase)
{
    return step->kind == ULP_TAPE_REDUCTION && step->phase == phase;
}

/* A computed value is kept for later phases, unless it is an operand that can be read in place. */
static bool is_kept(const struct ulp_tape_plan *plan, const struct ulp_tape_step *step)
{
    return plan->keep && !(step->native && plan->width < 2 * plan->tile_rows);
}

/* A phase's reductions, and the elements that they and in the last phase the outputs need, directly
 * or through others. All outputs are stored in the last phase, so that one may lie over an operand
 * that earlier phases read again. made: the elements that earlier phases made. */
static bool list_elements(struct ulp_tape_plan *plan, int phase, bool *made,
                          struct ulp_arena *arena)
{
    struct ulp_tape_steps *list = &plan->element_part[phase];
    bool *marked = ulp_arena_take(arena, (size_t)plan->step_count, sizeof *marked);
    list->items = ulp_arena_take(arena, (size_t)plan->step_count, sizeof *list->items);
    if (!marked || !list->items)
        return false;
    for (int i = 0; i < plan->reduction_part[phase].count; i++)
        marked[plan->steps[plan->reduction_part[phase].items[i]].arguments[0]] = true;
    for (int i = 0; i < plan->output_count && phase == plan->phase_count - 1; i++)
        marked[plan->outputs[i].step] = true;
    for (int i = plan->step_count - 1; i >= 0; i--) {
        struct ulp_tape_step *step = &plan->steps[i];
        if (!marked[i] || step->reach != ULP_REACH_ELEMENT)
            continue;
        if (made[i] && is_kept(plan, step)) {
            step->kept = true;
            marked[i] = false;
        }
        for (int k = 0; k < 3; k++)
            if (marked[i] && step->arguments[k] >= 0)
                marked[step->arguments[k]] = true;
    }
    for (int i = 0; i < plan->step_count; i++) {
        const bool element = marked[i] && plan->steps[i].reach == ULP_REACH_ELEMENT;
        if (element || (plan->steps[i].needed && is_reduction_part(&plan->steps[i], phase)))
            list->items[list->count++] = i;
        made[i] = made[i] || element;
    }
    return true;
}

static bool list_all(struct ulp_tape_plan *plan, struct ulp_arena *arena)
{
    const size_t phases = (size_t)plan->phase_count;
    plan->row_part = ulp_arena_take(arena, phases, sizeof *plan->row_part);
    plan->reduction_part = ulp_arena_take(arena, phases, sizeof *plan->reduction_part);
    plan->element_part = ulp_arena_take(arena, phases, sizeof *plan->element_part);
    bool *made = ulp_arena_take(arena, (size_t)plan->step_count, sizeof *made);
    if (!made || !plan->row_part || !plan->reduction_part || !plan->element_part ||
        !list_steps(plan, &plan->once, arena, is_once, 0) ||
        !list_steps(plan, &plan->program, arena, is_repeated, 0))
        return false;
    for (int p = 0; p < plan->phase_count; p++)
        if (!list_steps(plan, &plan->row_part[p], arena, is_row_part, p) ||
            !list_steps(plan, &plan->reduction_part[p], arena, is_reduction_part, p) ||
            !list_elements(plan, p, made, arena))
            return false;
    return true;
}

bool ulp_evaluate_lay(struct ulp_tape_plan *plan, struct ulp_arena *arena)
{
    const size_t step_count = (size_t)plan->step_count;
    int *last_use = ulp_arena_take(arena, step_count, sizeof *last_use);
    size_t *free_slots = ulp_arena_take(arena, step_count, sizeof *free_slots);
    if (!last_use || !free_slots)
        return false;
    if (!list_all(plan, arena))
        return false;
    mark_spread(plan);
    take_slot(plan, sizeof(struct ulp_tape_worker));
    plan->values_slot = take_slot(plan, step_count * sizeof(void *));
    assign_registers(plan, last_use, free_slots);
    lay_worker(plan);
    return true;
}
