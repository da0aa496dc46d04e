/* Fused runs in a tape: primitives on strips whose results only the next one reads are run
 * together, with the value in a register (number/strip/fused.h). Neither operands that are one
 * value a row nor the values between need a strip then.
 *
 * The tape is gone through once, and a primitive joins the run that ends at one of its arguments,
 * if nothing else reads that: each primitive is in one run, so of k of them a run reads and writes
 * memory once instead of k times. The operations and their order are those of the tape, hence the
 * bits. */
#include "formula/evaluate/evaluate.h"

#include "base/machine/cpu.h"
#include "base/tuning.h"

/* The step that reads the running value of a fused run that ends with `tail`, so that the fused run
 * can go on with it. */
static bool goes_on(const struct ulp_tape_plan *plan, int tail, const int *uses)
{
    return tail >= 0 && plan->steps[tail].fused && uses[tail] == 1 &&
           plan->steps[tail].fused->link_count < ULP_TAPE_LINKS_MAX;
}

static bool is_element(const struct ulp_tape_plan *plan, int index)
{
    return index >= 0 && plan->steps[index].reach == ULP_REACH_ELEMENT;
}

static void add_link(struct ulp_tape_plan *plan, struct ulp_tape_fused *fused, int index,
                     enum ulp_primitive primitive, int place)
{
    const struct ulp_tape_step *step = &plan->steps[index];
    const int operand = step->arguments[1 - place];
    const enum ulp_reach reach = operand < 0 ? ULP_REACH_RUN : plan->steps[operand].reach;
    fused->arguments[fused->link_count] = operand;
    fused->links[fused->link_count++] =
        (struct ulp_fused_link){.primitive = primitive,
                                .reversed = place == 1,
                                .one = reach == ULP_REACH_RUN ||
                                       (reach == ULP_REACH_ROW && !plan->tiles)};
}

bool ulp_evaluate_find_fused(struct ulp_tape_plan *plan, struct ulp_arena *arena)
{
    const struct ulp_tape *tape = plan->made_for.tape;
    int *uses = ulp_arena_take(arena, (size_t)plan->step_count, sizeof *uses);
    if (!uses)
        return false;
    plan->fused =
        plan->rule.each_step ? NULL : ulp_fused_of(plan->rule.carrier, ulp_cpu_features());
    for (int i = 0; i < plan->step_count; i++) {
        plan->steps[i].head = i;
        for (int k = 0; k < 3; k++)
            if (plan->steps[i].needed && plan->steps[i].arguments[k] >= 0)
                uses[plan->steps[i].arguments[k]]++;
    }
    for (int i = 0; i < plan->output_count; i++)
        uses[plan->outputs[i].step]++;
    for (int i = 0; i < plan->step_count && plan->fused; i++) {
        struct ulp_tape_step *step = &plan->steps[i];
        const enum ulp_primitive primitive = tape->instructions[i].primitive;
        if (!step->needed || step->kind != ULP_TAPE_PRIMITIVE || step->reach != ULP_REACH_ELEMENT ||
            !ulp_primitive_rows[primitive].fusible)
            continue;
        int place =
            goes_on(plan, step->arguments[0], uses) || !goes_on(plan, step->arguments[1], uses) ? 0
                                                                                                : 1;
        const int before = step->arguments[place];
        if (goes_on(plan, before, uses)) {
            step->fused = plan->steps[before].fused;
            plan->steps[before].fused = NULL;
            plan->steps[before].inside = true;
        } else {
            place = is_element(plan, step->arguments[0]) ? 0 : 1;
            step->fused = ulp_arena_take(arena, 1, sizeof *step->fused);
            if (!step->fused)
                return false;
            step->fused->input = step->arguments[place];
        }
        add_link(plan, step->fused, i, primitive, place);
    }
    /* Members know the step that computes them: the one that reads their value, and so on. */
    for (int i = plan->step_count - 1; i >= 0; i--)
        for (int k = 0; k < 3; k++) {
            const int argument = plan->steps[i].needed ? plan->steps[i].arguments[k] : -1;
            if (argument >= 0 && plan->steps[argument].inside)
                plan->steps[argument].head = plan->steps[i].head;
        }
    return true;
}

void ulp_evaluate_fused(const struct ulp_tape_worker *worker, const struct ulp_tape_step *step,
                        void *out, size_t n)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_fused *fused = step->fused;
    struct ulp_fused_link links[ULP_TAPE_LINKS_MAX];
    for (int i = 0; i < fused->link_count; i++) {
        const int argument = fused->arguments[i];
        links[i] = fused->links[i];
        if (argument >= 0)
            links[i].operand = plan->steps[argument].reach == ULP_REACH_ROW && links[i].one
                                   ? ulp_row_value(worker, &plan->steps[argument])
                                   : worker->values[argument];
    }
    plan->fused(out, 0, worker->values[fused->input], 0, links, fused->link_count, 1, n);
}

ulp_windows_fn *ulp_evaluate_find_windows(const struct ulp_tape_plan *plan)
{
    const struct ulp_tape_case *made_for = &plan->made_for;
    const struct ulp_tape_step *reduction = NULL;
    if (!plan->tiles || !made_for->window_runs[0] || !plan->same_carrier || plan->order.parts > 1)
        return NULL;
    for (int i = 0; i < plan->step_count; i++) {
        const struct ulp_tape_step *step = &plan->steps[i];
        if (!step->needed)
            continue;
        /* The number of positions is that of the whole window unless all windows have it. */
        if (step->kind == ULP_TAPE_ROW_SIZE && made_for->windows)
            return NULL;
        if (step->kind == ULP_TAPE_REDUCTION && reduction)
            return NULL;
        if (step->kind == ULP_TAPE_REDUCTION)
            reduction = step;
        else if (step->reach == ULP_REACH_ELEMENT &&
                 !(step->native && made_for->operands[step->operand].row_table &&
                   made_for->operands[step->operand].position_table))
            return NULL;
    }
    for (int i = 0; i < plan->output_count; i++)
        if (plan->outputs[i].per_position)
            return NULL;
    if (made_for->window_runs[0] < ULP_TUNE_WINDOW_RUN_MIN &&
        made_for->window_runs[1] < ULP_TUNE_WINDOW_RUN_MIN)
        return NULL;
    const bool sum =
        reduction && reduction->reduction_kind == ULP_REDUCTION_SUM && !plan->sum_rule.each_step;
    if (!reduction ||
        !(sum || reduction->reduction_kind == ULP_REDUCTION_MAX ||
          reduction->reduction_kind == ULP_REDUCTION_MIN) ||
        plan->steps[reduction->arguments[0]].kind != ULP_TAPE_OPERAND)
        return NULL;
    return ulp_windows_of(plan->rule.carrier, ulp_cpu_features());
}

/* Elements of row r lie at base + r * row_stride. */
static bool is_regular(const struct ulp_tape_access *access)
{
    return !access->row_table;
}

bool ulp_evaluate_is_batch(const struct ulp_tape_plan *plan)
{
    const struct ulp_tape_steps *elements = &plan->element_part[0];
    if (!plan->fused || plan->has_reductions || plan->made_for.windows || plan->output_count != 1 ||
        plan->made_for.row_length > plan->width ||
        !is_regular(&plan->made_for.outputs[plan->outputs[0].number]))
        return false;
    for (int i = 0; i < elements->count; i++) {
        const struct ulp_tape_step *step = &plan->steps[elements->items[i]];
        if (step->kind == ULP_TAPE_OPERAND
                ? !step->direct || !is_regular(&plan->made_for.operands[step->operand])
                : !step->fused || step->direct_output < 0)
            return false;
    }
    return elements->count > 0 && plan->steps[elements->items[elements->count - 1]].fused;
}

void ulp_evaluate_batch(const struct ulp_tape_worker *worker, size_t row_count)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_steps *elements = &plan->element_part[0];
    const struct ulp_tape_fused *fused = plan->steps[elements->items[elements->count - 1]].fused;
    const struct ulp_operand *output = ulp_output_operand(worker, &plan->outputs[0]);
    struct ulp_fused_link links[ULP_TAPE_LINKS_MAX];
    for (int i = 0; i < fused->link_count; i++) {
        const int argument = fused->arguments[i];
        links[i] = fused->links[i];
        if (argument < 0)
            continue;
        const struct ulp_tape_step *step = &plan->steps[argument];
        if (step->reach == ULP_REACH_ELEMENT) {
            const struct ulp_operand *operand = ulp_step_operand(worker, step);
            links[i].operand =
                ulp_tape_element(operand->tensor, ulp_row_base(operand, worker->first_row));
            links[i].row_step = (size_t)operand->row_stride;
        } else {
            links[i].operand = step->reach == ULP_REACH_ROW ? ulp_row_value(worker, step)
                                                            : worker->values[argument];
            links[i].row_step = step->reach == ULP_REACH_ROW;
        }
    }
    const struct ulp_operand *input = ulp_step_operand(worker, &plan->steps[fused->input]);
    plan->fused(ulp_tape_element(output->tensor, ulp_row_base(output, worker->first_row)),
                (size_t)output->row_stride,
                ulp_tape_element(input->tensor, ulp_row_base(input, worker->first_row)),
                (size_t)input->row_stride, links, fused->link_count, row_count,
                plan->made_for.row_length);
}
