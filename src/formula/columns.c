/* Column mode: a strip runs across rows, positions are walked one after the other. Folds are then primitives on
 * strips of partial results: the first position's values, combined with each next one in order, which is what a
 * sequential fold does in each row. Rows whose windows have unlike positions are separated into classes. */
#include "formula/evaluate.h"

#include <string.h>

/* Rows of one strip under way. */
struct column {
    struct worker *worker;
    const struct plan *plan;
    size_t first_row, count;   /* rows first_row .. first_row + count - 1, or those of indices */
    const size_t *indices;     /* NULL: consecutive */
    size_t position_count;
    const int32_t *positions;  /* NULL: all */
};

/* A strip of rows in the tensor: element i is at base + (offsets ? offsets[i] : i * stride). */
struct row_address {
    int64_t base, stride;
    const int64_t *offsets;
};

/* Row tables are often progressions for a while (the columns of an image): strides load faster than offsets. */
static bool is_progression(const int64_t *offsets, size_t n)
{
    const int64_t stride = n > 1 ? offsets[1] - offsets[0] : 0;
    int64_t different = 0;
    for (size_t i = 1; i < n; i++)
        different |= (offsets[i] - offsets[i - 1]) ^ stride;
    return different == 0;
}

static struct row_address address_rows(const struct column *column, const struct ulp_operand *operand)
{
    const int64_t *offsets = operand->row_offset ? operand->row_offset + column->first_row : NULL;
    if (column->indices) {
        int64_t *gathered = slot_of(column->worker, column->plan->offsets_slot);
        for (size_t i = 0; i < column->count; i++)
            gathered[i] = row_base(operand, column->indices[i]);
        offsets = gathered;
    }
    if (!offsets)
        return (struct row_address){.base = (int64_t)column->first_row * operand->row_stride,
                                    .stride = operand->row_stride};
    if (is_progression(offsets, column->count))
        return (struct row_address){.base = offsets[0], .stride = column->count > 1 ? offsets[1] - offsets[0] : 0};
    return (struct row_address){.offsets = offsets};
}

static int64_t position_base(const struct column *column, const struct ulp_operand *operand, size_t number)
{
    const size_t position = column->positions ? (size_t)column->positions[number] : number;
    return operand->position_offset ? operand->position_offset[position] : (int64_t)position * operand->position_stride;
}

static void load_column(const struct column *column, int index, size_t number)
{
    const struct plan *plan = column->plan;
    const struct step *step = &plan->steps[index];
    const struct ulp_operand *operand = step->operand;
    const struct row_address address = address_rows(column, operand);
    const int64_t base = address.base + (step->reach == REACH_ELEMENT ? position_base(column, operand, number) : 0);
    if (step->direct)
        column->worker->values[index] = element_at(operand->tensor, base);
    else
        plan->table->load(&plan->rule, slot_of(column->worker, step->strip), operand->tensor, base, address.offsets,
                          address.stride, column->count);
}

static void run_step(const struct column *column, int index, size_t number)
{
    const struct plan *plan = column->plan;
    const struct step *step = &plan->steps[index];
    const void *arguments[3] = {NULL, NULL, NULL};
    void *out = slot_of(column->worker, step->strip);
    if (step->kind == ULP_TAPE_OPERAND) {
        load_column(column, index, number);
    } else if (step->kind == ULP_TAPE_ROW_SIZE) {
        column->worker->length = column->position_count;
        ulp_evaluate_row_size(column->worker, out, column->count, (struct ulp_strip_place){.stream = step->stream});
    } else {
        for (int k = 0; k < 3; k++)
            if (step->arguments[k] >= 0)
                arguments[k] = column->worker->values[step->arguments[k]];
        step->function(&plan->rule, out, arguments[0], arguments[1], arguments[2], column->count,
                       (struct ulp_strip_place){.stream = step->stream});
    }
}

static void add_column(const struct column *column, const struct step *step, size_t number)
{
    static const enum ulp_primitive combine[ULP_FOLD_COUNT] = {
        [ULP_FOLD_SUM] = ULP_PRIMITIVE_ADD, [ULP_FOLD_MAX] = ULP_PRIMITIVE_MAX,
        [ULP_FOLD_MIN] = ULP_PRIMITIVE_MIN, [ULP_FOLD_PRODUCT] = ULP_PRIMITIVE_MUL,
    };
    const struct plan *plan = column->plan;
    void *sums = slot_of(column->worker, step->fold);
    const void *values = ulp_evaluate_widen(column->worker, column->worker->values[step->arguments[0]], column->count);
    if (number == 0)
        memcpy(sums, values, column->count * plan->sum_bytes);
    else
        plan->sum_table->primitive[combine[step->fold_kind]](&plan->sum_rule, sums, sums, values, NULL, column->count,
                                                             (struct ulp_strip_place){.stream = step->stream});
}

static void end_column(const struct column *column, const struct step *step)
{
    static const char *const empty[ULP_FOLD_COUNT] = {[ULP_FOLD_SUM] = "0", [ULP_FOLD_MAX] = "-inf",
                                                      [ULP_FOLD_MIN] = "inf", [ULP_FOLD_PRODUCT] = "1"};
    const struct plan *plan = column->plan;
    void *sums = slot_of(column->worker, step->fold);
    if (column->position_count == 0)
        plan->sum_table->constant(&plan->sum_rule, sums, empty[step->fold_kind], column->count);
    ulp_evaluate_narrow(column->worker, slot_of(column->worker, step->one), sums, column->count,
                        (struct ulp_strip_place){.stream = step->stream});
}

static void store_column(const struct column *column, const struct output *output, size_t number)
{
    const struct plan *plan = column->plan;
    const struct row_address address = address_rows(column, output->operand);
    struct ulp_tensor tensor = output->tensor;
    plan->table->store(&plan->rule, output->storage, &tensor,
                       address.base + (output->per_position ? position_base(column, output->operand, number) : 0),
                       address.offsets, address.stride, column->worker->values[output->step], column->count,
                       (struct ulp_strip_place){.stream = output->stream});
}

static void run_column(const struct column *column)
{
    const struct plan *plan = column->plan;
    for (int phase = 0; phase < plan->phase_count; phase++) {
        const struct step_list *row = &plan->row_part[phase], *folds = &plan->fold_part[phase];
        const struct step_list *elements = &plan->element_part[phase];
        const bool stores = phase == plan->phase_count - 1;
        for (int i = 0; i < row->count; i++)
            run_step(column, row->items[i], 0);
        for (size_t number = 0; number < column->position_count && (elements->count || stores); number++) {
            for (int i = 0; i < elements->count; i++) {
                const struct step *step = &plan->steps[elements->items[i]];
                if (step->kind == ULP_TAPE_FOLD)
                    add_column(column, step, number);
                else
                    run_step(column, elements->items[i], number);
            }
            for (int i = 0; i < plan->output_count && stores; i++)
                if (plan->outputs[i].per_position)
                    store_column(column, &plan->outputs[i], number);
        }
        for (int i = 0; i < folds->count; i++)
            end_column(column, &plan->steps[folds->items[i]]);
    }
    for (int i = 0; i < plan->output_count; i++)
        if (!plan->outputs[i].per_position)
            store_column(column, &plan->outputs[i], 0);
}

/* Put each of `count` rows into the class of its window; returns the number of classes. members[i] is the next row of
 * row i's class. */
static int classify_rows(struct worker *worker, size_t first, size_t count, struct window_class *classes, int *members)
{
    const struct plan *plan = worker->plan;
    const struct ulp_rows *rows = plan->rows;
    int32_t *positions = slot_of(worker, plan->positions_slot);
    int class_count = 0, recent = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t n = rows->window(rows->window_context, first + i, positions);
        int found = -1;
        for (int k = 0; k < class_count && found < 0; k++) {
            const int candidate = (recent + k) % class_count;
            if (classes[candidate].position_count == n && !memcmp(classes[candidate].positions, positions, n * sizeof *positions))
                found = candidate;
        }
        members[i] = -1;
        if (found < 0) {
            found = class_count++;
            classes[found] = (struct window_class){.position_count = n, .positions = positions, .first_row = (int)i,
                                                   .last_row = (int)i};
            positions += n;
        } else {
            members[classes[found].last_row] = (int)i;
            classes[found].last_row = (int)i;
        }
        recent = found;
    }
    return class_count;
}

static void run_classes(struct worker *worker, size_t first, size_t count)
{
    const struct plan *plan = worker->plan;
    struct window_class *classes = slot_of(worker, plan->classes_slot);
    int *members = slot_of(worker, plan->members_slot);
    size_t *indices = slot_of(worker, plan->indices_slot);
    const int class_count = classify_rows(worker, first, count, classes, members);
    for (int k = 0; k < class_count; k++) {
        struct column column = {.worker = worker, .plan = plan, .first_row = first + (size_t)classes[k].first_row,
                                .position_count = classes[k].position_count};
        for (int i = classes[k].first_row; i >= 0; i = members[i])
            indices[column.count++] = first + (size_t)i;
        if (indices[column.count - 1] - indices[0] + 1 != column.count)
            column.indices = indices;
        if (column.position_count < plan->rows->row_length)
            column.positions = classes[k].positions;
        run_column(&column);
    }
}

enum ulp_status ulp_evaluate_columns(void *context, size_t first, size_t last, int number, struct ulp_error *error)
{
    const struct plan *plan = context;
    struct worker *worker;
    const enum ulp_status status = ulp_evaluate_worker(&worker, plan, number, error);
    if (status != ULP_OK)
        return status;
    for (size_t row = first; row < last; row += plan->width) {
        const size_t count = last - row < plan->width ? last - row : plan->width;
        const struct column column = {.worker = worker, .plan = plan, .first_row = row, .count = count,
                                      .position_count = plan->rows->row_length};
        if (plan->rows->window)
            run_classes(worker, row, count);
        else
            run_column(&column);
    }
    return ULP_OK;
}
