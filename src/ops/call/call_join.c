/* Joining formulas: see join.h. */
#include "ops/join.h"

#include "base/error.h"
#include "base/text/text.h"
#include "number/round/round.h"
#include "ops/infer.h"

bool ulp_join_serves(const struct ulp_arithmetic *arithmetic)
{
    const struct ulp_format *storage = &arithmetic->storage;
    const struct ulp_schedule *schedule = &arithmetic->schedule;
    return ulp_format_holds(storage, &arithmetic->compute) &&
           ulp_format_holds(&arithmetic->compute, storage) &&
           ulp_storage_element(storage) == ulp_storage_element(&arithmetic->accumulator) &&
           storage->precision == arithmetic->accumulator.precision &&
           arithmetic->rounding != ULP_ROUND_STOCHASTIC &&
           schedule->operand_rounding != ULP_ROUND_STOCHASTIC && !schedule->epilogue_rounded &&
           !schedule->qdq_integer && !arithmetic->as_declared && !arithmetic->half_as_float;
}

/* Blocks, quantised values and optional outputs are left alone. */
static bool is_plain(const struct ulp_bound *bound)
{
    return bound->op && bound->node && bound->node->output_count == 1 &&
           bound->derived_count == 0 && !bound->blocks;
}

bool ulp_join_begins(const struct ulp_bound *bound)
{
    if (!is_plain(bound) || bound->op->domain || bound->op->work != ULP_WORK_CONTRACTION)
        return ulp_join_follows(bound);
    return ulp_is_word(bound->op->name, "Conv ConvTranspose Gemm MatMul") &&
           (!bound->tape || ulp_tape_is_elementwise(bound->tape));
}

bool ulp_join_follows(const struct ulp_bound *bound)
{
    if (!is_plain(bound) || !bound->op->formula || bound->op->run || !bound->tape ||
        (bound->op->rows && bound->op->rows != ulp_rows_channels))
        return false;
    for (int v = 0; v < ULP_VARIANT_COUNT; v++)
        if (bound->variants[v] && !ulp_tape_is_elementwise(bound->variants[v]))
            return false;
    return ulp_tape_is_elementwise(bound->tape);
}

bool ulp_join_lays_rows(const struct ulp_bound *bound)
{
    return is_plain(bound) && bound->op->formula && !bound->op->run && bound->op->rows &&
           bound->op->rows != ulp_rows_channels;
}

size_t ulp_join_operand_count(const struct ulp_bound *bound)
{
    return bound->tape ? (size_t)bound->tape->operand_count : 0;
}

bool ulp_join_place(struct ulp_join *join, struct ulp_tensor *out)
{
    if (join->waits) {
        out->data = &join->marks[join->count]; /* an address of its own: nobody reads there */
        return true;
    }
    if (!join->sums.data || !ulp_tensor_same_shape(&join->sums, out))
        return false;
    out->data = join->sums.data;
    out->owned = join->sums.owned;
    join->sums.owned = false;
    return true;
}

static int find_source(const struct ulp_join *join, const struct ulp_operand *operand)
{
    for (size_t i = join->count; operand->tensor && i-- > 0;)
        if (operand->tensor->data == join->marks[i])
            return (int)i;
    return -1;
}

static void add_operand(struct ulp_join *join, const struct ulp_operand *operand)
{
    const size_t at = join->operand_count++;
    join->operands[at] = *operand;
    if (operand->tensor) { /* views live as long as the call */
        join->tensors[at] = ulp_tensor_view(operand->tensor);
        join->operands[at].tensor = &join->tensors[at];
    }
}

static bool lies_in_table(const struct ulp_operand *operand)
{
    return operand->row_offset || operand->position_offset || operand->storage;
}

void ulp_join_note(struct ulp_join *join, const struct ulp_tape *tape, const struct ulp_rows *rows,
                   const struct ulp_operand *output)
{
    bool may = tape->output_count == 1 && !rows->window && !rows->window_classes &&
               !rows->window_run && !lies_in_table(output);
    for (size_t i = 0; i < join->operand_count && may; i++)
        may = !lies_in_table(&join->operands[i]);
    join->tape = may ? tape : NULL;
    join->rows = *rows;
    join->output = *output;
}

void ulp_join_alone(struct ulp_join *join, const struct ulp_tape *tape, const struct ulp_rows *rows,
                    const struct ulp_operand *operands, const struct ulp_operand *outputs)
{
    for (int o = 0; o < tape->operand_count && o < ULP_JOIN_OPERANDS_MAX; o++) {
        join->source[join->source_count++] = -1;
        add_operand(join, &operands[o]);
    }
    if (tape->operand_count <= ULP_JOIN_OPERANDS_MAX)
        ulp_join_note(join, tape, rows, outputs);
}

enum ulp_status ulp_join_add(struct ulp_join *join, const struct ulp_tape *tape,
                             const struct ulp_operand *operands, const struct ulp_tensor *out,
                             struct ulp_error *error)
{
    if (join->count >= ULP_JOIN_MEMBERS_MAX ||
        join->source_count + (size_t)tape->operand_count > ULP_JOIN_OPERANDS_MAX)
        return ulp_fail(error, ULP_ERROR_USAGE, "more formulas than one run joins");
    for (int o = 0; o < tape->operand_count; o++) {
        const int source = find_source(join, &operands[o]);
        join->source[join->source_count++] = source;
        if (source < 0)
            add_operand(join, &operands[o]);
    }
    join->marks[join->count] = out->data;
    join->tapes[join->count++] = tape;
    return ULP_OK;
}

void ulp_join_take(struct ulp_join *join, struct ulp_tensor *sums)
{
    if (!sums->owned)
        return;
    join->sums = *sums;
    sums->owned = false;
}

void ulp_join_clear(struct ulp_join *join)
{
    ulp_tensor_free(&join->sums);
    join->count = join->operand_count = join->source_count = 0;
    join->tape = NULL;
}
