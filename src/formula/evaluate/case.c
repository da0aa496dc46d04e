/* What a plan follows from. */
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

bool ulp_evaluate_same_format(const struct ulp_format *a, const struct ulp_format *b)
{
    return a->precision == b->precision && a->emin == b->emin && a->emax == b->emax &&
           a->max_finite == b->max_finite && a->overflow == b->overflow &&
           a->subnormals == b->subnormals && a->signed_zero == b->signed_zero &&
           a->lacks == b->lacks && a->carrier == b->carrier && a->pairs == b->pairs &&
           a->bounded == b->bounded;
}
