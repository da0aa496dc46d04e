/* Rows that are windows: those of the same positions are one tile; the folds of windows that lie
 * side by side are taken from the tensor. */
#include "formula/evaluate.h"

#include "base/cpu.h"

/* Shorter runs of windows are faster one position of many rows after the other. */
#define RUN_MIN 12

ulp_windows_fn *ulp_evaluate_find_windows(const struct ulp_tape_plan *plan,
                                          const struct ulp_tape_call *call)
{
    const struct ulp_rows *rows = call->rows;
    const struct ulp_tape_numbers *numbers = &plan->numbers;
    const struct ulp_tape_step *fold = NULL;
    if (!plan->cut.across || !rows->window_run || !numbers->same_carrier ||
        numbers->order.parts > 1)
        return NULL;
    for (int i = 0; i < plan->step_count; i++) {
        const struct ulp_tape_step *step = &plan->steps[i];
        if (!step->needed)
            continue;
        /* The number of positions is that of the whole window unless all windows have it. */
        if (step->kind == ULP_TAPE_ROW_SIZE && rows->window)
            return NULL;
        if (step->kind == ULP_TAPE_FOLD && fold)
            return NULL;
        if (step->kind == ULP_TAPE_FOLD)
            fold = step;
        else if (step->reach == ULP_REACH_ELEMENT &&
                 !(step->native && call->operands[step->operand].row_offset &&
                   call->operands[step->operand].position_offset))
            return NULL;
    }
    for (int i = 0; i < plan->output_count; i++)
        if (plan->outputs[i].per_position)
            return NULL;
    const size_t first = rows->window_run(rows->window_context, 0);
    if (first < RUN_MIN &&
        (first >= rows->row_count || rows->window_run(rows->window_context, first) < RUN_MIN))
        return NULL;
    const bool sum = fold && fold->fold_kind == ULP_FOLD_SUM && !numbers->sum_rule.each_step;
    if (!fold || !(sum || fold->fold_kind == ULP_FOLD_MAX || fold->fold_kind == ULP_FOLD_MIN) ||
        plan->steps[fold->arguments[0]].kind != ULP_TAPE_OPERAND)
        return NULL;
    return ulp_windows_of(numbers->rule.carrier, ulp_cpu_features());
}

void ulp_evaluate_fold_windows(const struct ulp_tape_worker *worker, int index)
{
    const struct ulp_tape_plan *plan = worker->plan;
    const struct ulp_tape_numbers *numbers = &plan->numbers;
    const struct ulp_tape_tile *tile = &worker->tile;
    const struct ulp_tape_step *step = &plan->steps[index];
    const struct ulp_rows *rows = worker->job->call->rows;
    const struct ulp_operand *operand =
        ulp_evaluate_tensor(worker, plan->steps[step->arguments[0]].operand);
    int32_t *positions = rows->window ? ulp_evaluate_slot(worker, plan->slots.positions) : NULL;
    int64_t *offsets = ulp_evaluate_slot(worker, plan->slots.offsets);
    char *sums = ulp_evaluate_slot(worker, plan->slots.sums);
    const size_t last = tile->first_row + tile->row_count;
    for (size_t row = tile->first_row, n; row < last; row += n, sums += n * numbers->sum_bytes) {
        const size_t run = rows->window_run(rows->window_context, row);
        const size_t count =
            positions ? rows->window(rows->window_context, row, positions) : rows->row_length;
        const int64_t *bases = operand->row_offset + row;
        n = run < last - row ? run : last - row;
        for (size_t t = 0; t < count; t++)
            offsets[t] = operand->position_offset[positions ? positions[t] : (int32_t)t];
        if (count) {
            plan->fold_windows(step->fold_kind, sums, ulp_operand_at(operand, bases[0]), offsets,
                               count, n > 1 ? (size_t)(bases[1] - bases[0]) : 0, n);
        } else {
            struct ulp_fold_state *state = ulp_evaluate_slot(worker, step->fold);
            ulp_fold_begin(state, &numbers->sum_rule, step->fold_kind, numbers->order, n);
            ulp_fold_end(state, sums);
        }
    }
}

/* Put each of the tile's rows into the class of its window; returns the number of classes.
 * members[i] is the next row of row i's class. */
static int classify_rows(const struct ulp_tape_worker *worker, struct ulp_window_class *classes,
                         int *members)
{
    const struct ulp_rows *rows = worker->job->call->rows;
    const struct ulp_tape_tile *tile = &worker->tile;
    uint64_t *ids = ulp_evaluate_slot(worker, worker->plan->slots.ids);
    int class_count = 0, found = 0;
    rows->window_classes(rows->window_context, tile->first_row, tile->row_count, ids);
    for (size_t i = 0; i < tile->row_count; i++) {
        if (class_count == 0 || classes[found].id != ids[i])
            for (found = class_count - 1; found >= 0 && classes[found].id != ids[i];)
                found--;
        members[i] = -1;
        if (found < 0) {
            found = class_count++;
            classes[found] =
                (struct ulp_window_class){.id = ids[i], .first_row = (int)i, .last_row = (int)i};
        } else {
            members[classes[found].last_row] = (int)i;
            classes[found].last_row = (int)i;
        }
    }
    return class_count;
}

void ulp_evaluate_open_window(struct ulp_tape_worker *worker)
{
    const struct ulp_rows *rows = worker->job->call->rows;
    struct ulp_tape_tile *tile = &worker->tile;
    int32_t *positions = ulp_evaluate_slot(worker, worker->plan->slots.positions);
    tile->position_count = tile->end =
        rows->window(rows->window_context, tile->first_row, positions);
    tile->positions = tile->end < rows->row_length ? positions : NULL;
}

void ulp_evaluate_classes(struct ulp_tape_worker *worker,
                          void (*run)(struct ulp_tape_worker *worker))
{
    const struct ulp_tape_slots *slots = &worker->plan->slots;
    const struct ulp_tape_tile tile = worker->tile;
    struct ulp_window_class *classes = ulp_evaluate_slot(worker, slots->classes);
    int *members = ulp_evaluate_slot(worker, slots->members);
    size_t *indices = ulp_evaluate_slot(worker, slots->indices);
    const int class_count = classify_rows(worker, classes, members);
    for (int k = 0; k < class_count; k++) {
        size_t count = 0;
        for (int i = classes[k].first_row; i >= 0; i = members[i])
            indices[count++] = tile.first_row + (size_t)i;
        worker->tile =
            (struct ulp_tape_tile){.first_row = indices[0],
                                   .row_count = count,
                                   .indices = indices[count - 1] - indices[0] + 1 == count
                                                  ? NULL
                                                  : indices};
        ulp_evaluate_open_window(worker);
        run(worker);
    }
    worker->tile = tile;
}
