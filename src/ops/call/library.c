/* The order of k in a library's products of FP32 and TF32. */
#include "base/error.h"
#include "ops/call/library.h"

#include "kernels/cublas.h"
#include "ops/ops_move.h"

enum { BLOCK = 8 }; /* products that TF32's instruction adds at once */

/* Of chunks the even ones, then the odd ones; how many terms the even ones have. */
static size_t order_chunks(int64_t *places, size_t k, size_t chunk)
{
    size_t at = 0, even = 0;
    for (size_t first = 0; first < 2; first++) {
        for (size_t c = first * chunk; c < k; c += 2 * chunk)
            for (size_t i = c; i < k && i < c + chunk; i++)
                places[at++] = (int64_t)i;
        even = first == 0 ? at : even;
    }
    return even;
}

/* A slice's k with what is over whole tiles first, filled up to whole blocks; their number. NULL:
 * only that is wanted. */
static size_t order_slice(int64_t *places, size_t first, size_t count, size_t tile)
{
    const size_t over = count % tile, filled = (over + BLOCK - 1) / BLOCK * BLOCK;
    for (size_t i = 0; places && i < filled; i++)
        places[i] = i < over ? (int64_t)(first + i) : -1;
    for (size_t i = over; places && i < count; i++)
        places[filled + i - over] = (int64_t)(first + i);
    return filled + count - over;
}

enum ulp_status ulp_reorder(const struct ulp_call *call, const int64_t *places, size_t count,
                            const int64_t **table)
{
    int64_t *ordered;
    ULP_TRY(ulp_move_table(call, &ordered, count, 0, 0));
    for (size_t i = 0; i < count; i++)
        ordered[i] = (*table)[places[i] < 0 ? 0 : places[i]];
    *table = ordered;
    return ULP_OK;
}

void ulp_make_flat(struct ulp_tensor *out, const struct ulp_tensor *model, float *values,
                   size_t lines, size_t count)
{
    *out = *model;
    out->data = values;
    out->count = lines * count;
    out->rank = 2;
    out->dims[0] = (int64_t)lines;
    out->dims[1] = (int64_t)count;
}

enum ulp_status ulp_fill_lines(const struct ulp_call *call, const int64_t *places, size_t count,
                               size_t lines, struct ulp_factor *factor)
{
    uint8_t *padding;
    int64_t *line, *along;
    const float *from = factor->tensor->data;
    ULP_CALL_TAKE(struct ulp_tensor, filled, call, 1);
    ULP_CALL_TAKE(float, values, call, (lines * count));
    ULP_TRY(ulp_call_take(call, lines * count, 1, &padding));
    ULP_TRY(ulp_move_table(call, &line, lines, 0, (int64_t)count));
    ULP_TRY(ulp_move_table(call, &along, count, 0, 1));
    for (size_t i = 0, at = 0; i < lines; i++)
        for (size_t j = 0; j < count; j++, at++) {
            padding[at] = places[j] < 0;
            values[at] =
                padding[at] ? 0 : from[factor->line_offset[i] + factor->k_offset[places[j]]];
        }
    ulp_make_flat(filled, factor->tensor, values, lines, count);
    factor->tensor = filled;
    factor->line_offset = line;
    factor->k_offset = along;
    factor->padding = padding;
    factor->padding_period = 0;
    return ULP_OK;
}

/* Is b a constant, whose copy no derivative misses? */
static bool is_constant(const struct ulp_call *call, const struct ulp_factor *b)
{
    for (size_t i = 0; !call->lowering && i < call->input_count && i < 32; i++)
        if (call->constants >> i & 1 && call->in[i] && call->in[i]->data == b->tensor->data)
            return b->tensor->element == ULP_ELEMENT_F32 && !b->padding;
    return false;
}

static enum ulp_status lay_tiles(const struct ulp_call *call, const struct ulp_cublas_order *order,
                                 struct ulp_arithmetic *arithmetic, struct ulp_contraction *problem)
{
    const size_t k = problem->k, whole = order_slice(NULL, 0, order->slice, order->tile);
    const size_t slices = (k + order->slice - 1) / order->slice;
    int64_t *places;
    ULP_TRY(ulp_move_table(call, &places, slices * whole, -1, 0));
    size_t count = 0;
    for (size_t s = 0; s < slices; s++) {
        const size_t first = s * order->slice, rest = k - first;
        const size_t own = rest < order->slice ? rest : order->slice;
        count = s * whole + order_slice(places + s * whole, first, own, order->tile);
    }
    ULP_TRY(ulp_reorder(call, places, count, &problem->a.k_offset));
    ULP_TRY(ulp_fill_lines(call, places, count, problem->n, &problem->b));
    problem->k = count;
    arithmetic->schedule.split_k = (int)slices;
    arithmetic->schedule.slice_tile = (int)whole;
    return ULP_OK;
}

enum ulp_status ulp_lay_library(const struct ulp_call *call, struct ulp_arithmetic *arithmetic,
                                struct ulp_contraction *problem)
{
    const bool tf32 = arithmetic->schedule.unit_class[0];
    const size_t rows = problem->m * (size_t)arithmetic->schedule.rows, k = problem->k;
    const struct ulp_cublas_order order =
        ulp_cublas_find(tf32, problem->batch_count, rows, problem->n, k, problem->turned);
    if (k == 0)
        return ULP_OK;
    if (order.chain)
        ulp_leave_unit(arithmetic);
    if (order.chunk) {
        int64_t *places;
        size_t even = 0;
        ULP_TRY(ulp_move_table(call, &places, k, 0, 0));
        even = order_chunks(places, k, order.chunk);
        ULP_TRY(ulp_reorder(call, places, k, &problem->a.k_offset));
        ULP_TRY(ulp_reorder(call, places, k, &problem->b.k_offset));
        arithmetic->schedule.split_k = 2;
        arithmetic->schedule.slice_tile = (int)even;
        return ULP_OK;
    }
    if (order.tile && (k % BLOCK || order.slice % BLOCK) && is_constant(call, &problem->b) &&
        problem->batch_count == 1)
        return lay_tiles(call, &order, arithmetic, problem);
    arithmetic->schedule.split_k = (int)((k + order.slice - 1) / order.slice);
    arithmetic->schedule.slice_tile = (int)order.slice;
    return ULP_OK;
}
