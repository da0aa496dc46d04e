/* Checking that every element of a layout or a contraction lies inside its tensor. */
#include "ops/bounds.h"

#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/vectorise.h"

/* A pool's table has an entry for each output. */
ULP_VECTORISE static void find_ends(const int64_t *table, size_t count, int64_t *low, int64_t *high)
{
    int64_t least = table[0], most = table[0];
    for (size_t i = 1; i < count; i++) {
        least = table[i] < least ? table[i] : least;
        most = table[i] > most ? table[i] : most;
    }
    *low = least;
    *high = most;
}

void ulp_offsets_add(struct ulp_offset_range *range, const int64_t *table, int64_t step,
                     size_t count)
{
    int64_t low = 0, high = 0;
    if (count == 0)
        return;
    if (table) {
        find_ends(table, count, &low, &high);
    } else if (step) {
        int64_t last;
        range->fits = range->fits && !__builtin_mul_overflow(step, count - 1, &last);
        low = range->fits && last < 0 ? last : 0;
        high = range->fits && last > 0 ? last : 0;
    }
    range->fits = range->fits && !__builtin_add_overflow(range->low, low, &range->low) &&
                  !__builtin_add_overflow(range->high, high, &range->high);
}

void ulp_offsets_add_rows(struct ulp_offset_range *range, const struct ulp_operand *operand,
                          size_t row_count)
{
    const size_t period = operand->row_period;
    ulp_offsets_add(range, operand->row_offset, operand->row_stride,
                    period ? ulp_size_min(period, row_count) : row_count);
    if (period)
        ulp_offsets_add(range, NULL, operand->row_stride, ulp_size_divide_up(row_count, period));
}

static enum ulp_status check_offsets(const struct ulp_offset_range *range,
                                     const struct ulp_tensor *tensor, struct ulp_error *error)
{
    char shape[200];
    return range->fits && range->low >= 0 && (uint64_t)range->high < tensor->count
               ? ULP_OK
               : ulp_fail(error, ULP_ERROR_INPUT,
                          "elements are asked for that %s does not have: the inputs' shapes do not "
                          "fit each other",
                          ulp_tensor_describe_text(tensor, shape, sizeof shape));
}

enum ulp_status ulp_bounds_check_rows(const struct ulp_rows *rows,
                                      const struct ulp_operand *operands, size_t count,
                                      struct ulp_error *error)
{
    if (rows->window || !rows->row_count || !rows->row_length)
        return ULP_OK;
    for (size_t i = 0; i < count; i++) {
        const struct ulp_operand *operand = &operands[i];
        struct ulp_offset_range range = {.fits = true};
        if (!operand->tensor)
            continue;
        ulp_offsets_add_rows(&range, operand, rows->row_count);
        ulp_offsets_add(&range, operand->position_offset, operand->position_stride,
                        rows->row_length);
        ULP_TRY(check_offsets(&range, operand->tensor, error));
    }
    return ULP_OK;
}

enum ulp_status ulp_bounds_check_contraction(const struct ulp_contraction *p,
                                             struct ulp_error *error)
{
    const struct {
        const struct ulp_tensor *tensor;
        const int64_t *tables[3];
        size_t counts[3];
    } sides[] = {
        {p->a.tensor,
         {p->a.batch_offset, p->a.line_offset, p->a.k_offset},
         {p->batch_count, p->m, p->k}},
        {p->b.tensor,
         {p->b.batch_offset, p->b.line_offset, p->b.k_offset},
         {p->batch_count, p->n, p->k}},
        {p->out,
         {p->out_batch_offset, p->out_row_offset, p->out_column_offset},
         {p->batch_count, p->m, p->n}},
    };
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        struct ulp_offset_range range = {.fits = true};
        if (!sides[i].counts[0] || !sides[i].counts[1] || !sides[i].counts[2])
            continue;
        for (int t = 0; t < 3; t++)
            ulp_offsets_add(&range, sides[i].tables[t], 0, sides[i].counts[t]);
        ULP_TRY(check_offsets(&range, sides[i].tensor, error));
    }
    return ULP_OK;
}
