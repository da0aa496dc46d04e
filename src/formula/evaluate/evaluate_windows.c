/* Which tiles of windows are reduced from the tensor, without strips. */
#include "formula/evaluate/evaluate.h"

#include "base/machine/cpu.h"
#include "base/tuning.h"

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
