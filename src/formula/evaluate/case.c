/* What a plan follows from, and the list of plans that are kept. */
#include <stdatomic.h>
#include <string.h>

#include "formula/evaluate/evaluate.h"

static struct ulp_tape_access find_access(const struct ulp_operand *operand,
                                          const struct ulp_rows *rows)
{
    const struct ulp_tensor *tensor = operand->tensor;
    const int64_t *position = operand->position_offset;
    struct ulp_tape_access access = {.given = tensor || operand->constant,
                                     .constant = tensor ? NULL : operand->constant,
                                     .storage = operand->storage};
    if (!tensor)
        return access;
    access.type = tensor->type;
    access.element = tensor->element;
    access.precision = tensor->precision;
    access.empty = tensor->count == 0;
    access.row_table = operand->row_offset;
    access.row_period = operand->row_period;
    access.row_step = !operand->row_offset  ? operand->row_stride
                      : rows->row_count > 1 ? ulp_row_base(operand, 1) - ulp_row_base(operand, 0)
                                            : 0;
    access.position_table = position;
    access.position_step = !position              ? operand->position_stride
                           : rows->row_length > 1 ? position[1] - position[0]
                                                  : 0;
    return access;
}

void ulp_evaluate_describe(struct ulp_tape_case *out, const struct ulp_tape_call *call,
                           struct ulp_tape_access *accesses)
{
    const struct ulp_tape *tape = call->tape;
    const struct ulp_rows *rows = call->rows;
    *out = (struct ulp_tape_case){.tape = tape,
                                  .arithmetic = call->arithmetic,
                                  .row_count = rows->row_count,
                                  .row_length = rows->row_length,
                                  .windows = rows->window,
                                  .window_classes = rows->window_classes,
                                  .worker_count = ulp_pool_thread_count(call->pool),
                                  .operands = accesses,
                                  .outputs = accesses + tape->operand_count};
    for (int i = 0; i < tape->operand_count; i++)
        out->operands[i] = find_access(&call->operands[i], rows);
    for (int i = 0; i < tape->output_count; i++)
        out->outputs[i] = find_access(&call->outputs[i], rows);
}

bool ulp_evaluate_copy_case(struct ulp_tape_case *out, const struct ulp_tape_case *in,
                            struct ulp_arena *arena)
{
    const size_t count = (size_t)in->tape->operand_count + (size_t)in->tape->output_count;
    struct ulp_tape_access *accesses = ulp_arena_take(arena, count, sizeof *accesses);
    struct ulp_arithmetic *arithmetic = ulp_arena_take(arena, 1, sizeof *arithmetic);
    if (!accesses || !arithmetic)
        return false;
    *arithmetic = *in->arithmetic;
    *out = *in;
    out->arithmetic = arithmetic;
    out->operands = accesses;
    out->outputs = accesses + in->tape->operand_count;
    for (size_t i = 0; i < count; i++) {
        struct ulp_tape_access *access = &accesses[i];
        struct ulp_format *storage = NULL;
        *access = in->operands[i];
        if (access->constant)
            access->constant = ulp_arena_copy(arena, access->constant);
        if (access->storage && (storage = ulp_arena_take(arena, 1, sizeof *storage)))
            *storage = *access->storage;
        if ((in->operands[i].constant && !access->constant) || (access->storage && !storage))
            return false;
        access->storage = storage;
    }
    return true;
}

bool ulp_evaluate_same_format(const struct ulp_format *a, const struct ulp_format *b)
{
    return a->precision == b->precision && a->emin == b->emin && a->emax == b->emax &&
           a->max_finite == b->max_finite && a->overflow == b->overflow &&
           a->subnormals == b->subnormals && a->signed_zero == b->signed_zero &&
           a->lacks == b->lacks && a->carrier == b->carrier && a->pairs == b->pairs &&
           a->bounded == b->bounded;
}

/* What computing a tape takes of an arithmetic. */
static bool is_same_arithmetic(const struct ulp_arithmetic *a, const struct ulp_arithmetic *b)
{
    return a == b ||
           (ulp_evaluate_same_format(&a->storage, &b->storage) &&
            ulp_evaluate_same_format(&a->compute, &b->compute) &&
            ulp_evaluate_same_format(&a->rows, &b->rows) && a->rounding == b->rounding &&
            a->seed == b->seed && a->reduce == b->reduce && a->reduce_block == b->reduce_block &&
            a->reduce_group == b->reduce_group && a->cuda_functions == b->cuda_functions &&
            a->tanh_rounded == b->tanh_rounded && a->steps == b->steps);
}

static bool is_same_access(const struct ulp_tape_access *a, const struct ulp_tape_access *b)
{
    if (a->given != b->given || !a->constant != !b->constant || !a->storage != !b->storage)
        return false;
    if (a->constant && strcmp(a->constant, b->constant) != 0)
        return false;
    if (a->storage && !ulp_evaluate_same_format(a->storage, b->storage))
        return false;
    return a->type == b->type && a->element == b->element && a->precision == b->precision &&
           a->empty == b->empty && a->row_table == b->row_table && a->row_period == b->row_period &&
           a->position_table == b->position_table && a->row_step == b->row_step &&
           a->position_step == b->position_step;
}

bool ulp_evaluate_is_case(const struct ulp_tape_case *a, const struct ulp_tape_case *b)
{
    if (a->tape != b->tape || a->row_count != b->row_count || a->row_length != b->row_length ||
        a->windows != b->windows || a->window_classes != b->window_classes ||
        a->worker_count != b->worker_count || !is_same_arithmetic(a->arithmetic, b->arithmetic))
        return false;
    for (int i = 0; i < a->tape->operand_count + a->tape->output_count; i++)
        if (!is_same_access(&a->operands[i], &b->operands[i]))
            return false;
    return true;
}
