/* Laying out convolutions: which elements multiply which. */
#include "ops/product/conv_layout.h"

#include <string.h>

#include "base/error.h"
#include "ops/ops_move.h"
#include "ops/spatial/window.h"

/* 1 where an axis' table says ULP_NOWHERE, for every element of a channel. */
static void mark_padding(uint8_t *mark, const int64_t *dims, const int64_t *const *tables, int rank)
{
    size_t channel = (size_t)ulp_product(dims + 2, rank - 2),
           row = rank > 2 ? (size_t)dims[rank - 1] : 1;
    for (size_t r = 0; r * row < channel; r++) {
        size_t rest = r;
        bool exists = true;
        for (int d = rank - 2; d >= 2; d--) {
            exists = exists && tables[d][rest % (size_t)dims[d]] != ULP_NOWHERE;
            rest /= (size_t)dims[d];
        }
        for (size_t i = 0; i < row; i++)
            mark[r * row + i] = !exists || (rank > 2 && tables[rank - 1][i] == ULP_NOWHERE);
    }
}

enum ulp_status ulp_pad_input(struct ulp_call *call, const struct ulp_tensor *in, int rank,
                              const int64_t *before, const int64_t *size, struct ulp_padded *out)
{
    int64_t dims[ULP_RANK_MAX], strides[ULP_RANK_MAX], *tables[ULP_RANK_MAX];
    bool same = true;
    memcpy(dims, in->dims, 2 * sizeof *dims);
    for (int d = 0; d < rank; d++) {
        dims[2 + d] = size[d];
        same = same && size[d] == in->dims[2 + d];
    }
    *out = (struct ulp_padded){.tensor = ulp_tensor_view(in), .channel = ulp_product(size, rank)};
    struct ulp_tensor zero;
    if (!same)
        ULP_TRY(ulp_tensor_describe(&out->tensor, in->type, in->element, in->precision, rank + 2,
                                    dims, call->error));
    ulp_strides(&out->tensor, strides);
    memcpy(out->strides, strides + 2, (size_t)rank * sizeof *strides);
    if (same)
        return ULP_OK;
    ULP_TRY(ulp_call_temporary(call, &out->tensor));
    ULP_TRY(ulp_call_take(call, (size_t)out->channel, 1, &out->padding));
    zero = (struct ulp_tensor){.type = in->type,
                               .element = in->element,
                               .precision = in->precision,
                               .count = 1,
                               .element_bytes = in->element_bytes};
    ULP_TRY(ulp_call_temporary(call, &zero));
    ulp_tensor_set_int(&zero, 0, 0);
    ulp_strides(in, strides);
    for (int d = 0; d < rank + 2; d++) {
        int64_t start = d < 2 ? 0 : -before[d - 2];
        ULP_TRY(ulp_call_take(call, (size_t)dims[d], sizeof *tables[d], &tables[d]));
        for (int64_t i = 0; i < dims[d]; i++)
            tables[d][i] =
                start + i >= 0 && start + i < in->dims[d] ? (start + i) * strides[d] : ULP_NOWHERE;
    }
    ULP_TRY(ulp_move_axes(&out->tensor, in, (const int64_t *const *)tables, zero.data, call->pool,
                          call->error));
    mark_padding(out->padding, dims, (const int64_t *const *)tables, rank + 2);
    return ULP_OK;
}

enum ulp_status ulp_box_table(const struct ulp_call *call, int rank, const int64_t *counts,
                              const int64_t *start, const int64_t *step, const int64_t *strides,
                              int64_t **table)
{
    int64_t steps[ULP_RANK_MAX], first = 0;
    ULP_TRY(ulp_call_take(call, (size_t)ulp_product(counts, rank), sizeof **table, table));
    for (int d = 0; d < rank; d++) {
        first += start[d] * strides[d];
        steps[d] = step[d] * strides[d];
    }
    ulp_box_offsets(*table, rank, counts, steps, first);
    return ULP_OK;
}

enum ulp_status ulp_conv_group_tables(const struct ulp_call *call, const struct ulp_conv_groups *g,
                                      int64_t weights, int64_t in_channel, int64_t out_channel,
                                      int64_t *tables[3])
{
    const int64_t steps[3] = {weights, g->in * in_channel, g->out * out_channel};
    for (int t = 0; t < 3; t++)
        ULP_TRY(ulp_move_table(call, &tables[t], (size_t)(g->batch * g->count), 0, steps[t]));
    for (int64_t i = 0; i < g->batch * g->count; i++)
        tables[0][i] = i % g->count * weights; /* the same for every image */
    return ULP_OK;
}

enum ulp_status ulp_conv_channel_table(const struct ulp_call *call, int64_t channels, int64_t step,
                                       int64_t positions, const int64_t *offsets, int64_t **table)
{
    ULP_TRY(ulp_call_take(call, (size_t)(channels * positions), sizeof **table, table));
    for (int64_t c = 0; c < channels; c++)
        for (int64_t p = 0; p < positions; p++)
            (*table)[c * positions + p] = c * step + offsets[p];
    return ULP_OK;
}

enum ulp_status ulp_conv_describe(struct ulp_call *call, enum ulp_type type,
                                  const struct ulp_conv_groups *g, const int64_t *spatial, int rank)
{
    int64_t dims[ULP_RANK_MAX] = {g->batch, g->count * g->out};
    memcpy(dims + 2, spatial, (size_t)rank * sizeof *dims);
    return ulp_call_describe(call, 0, type, rank + 2, dims);
}
