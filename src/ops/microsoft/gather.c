/* com.microsoft's GatherBlockQuantized: Gather from a table of integers that share a scale and a
 * zero point in blocks along one axis, and what they stand for, (q - zero) * scale. UINT8 tables
 * hold values of `bits` bits, packed from the low bits up along the last axis. */
#include <string.h>

#include "base/error.h"
#include "ops/microsoft/bits.h"
#include "ops/ops_move.h"
#include "ops/spatial/window.h"

struct table {
    int rank, gather, quantize; /* the axes */
    int64_t bits, packed;       /* values in an element of the table */
    int64_t block;
    int64_t dims[ULP_RANK_MAX],
        scale_dims[ULP_RANK_MAX]; /* in values; in blocks along `quantize` */
};

static enum ulp_status read_axes(const struct ulp_call *call, struct table *t)
{
    const struct ulp_tensor *data = call->in[0];
    *t = (struct table){.rank = data->rank,
                        .bits = ulp_call_int(call, "bits"),
                        .block = ulp_call_int(call, "block_size")};
    const bool bytes = data->type == ULP_TYPE_UINT8;
    if (t->block < 16 || t->block & (t->block - 1) ||
        (bytes ? t->bits != 2 && t->bits != 4 && t->bits != 8 : t->bits != 4))
        return ulp_fail(call->error, ULP_ERROR_UNSUPPORTED,
                        "%s of %lld bits in blocks of %lld: expected 4 bits (of UINT8 also 2 or 8) "
                        "and blocks of a power of two, at least 16",
                        ulp_type_name(data->type), (long long)t->bits, (long long)t->block);
    t->packed = bytes ? 8 / t->bits : 1;
    ULP_TRY(ulp_call_axis(ulp_call_int(call, "gather_axis"), t->rank, &t->gather, call->error));
    ULP_TRY(ulp_call_axis(ulp_call_int(call, "quantize_axis"), t->rank, &t->quantize, call->error));
    if (bytes && (t->quantize != t->rank - 1 || t->gather == t->quantize))
        return ULP_REFUSE(
            call, "a UINT8 table is quantised along its last axis and gathered along another");
    return ULP_OK;
}

static enum ulp_status read_table(const struct ulp_call *call, struct table *t)
{
    const struct ulp_tensor *data = call->in[0], *scales = call->in[2],
                            *zero = ulp_call_in(call, 3);
    ULP_TRY(read_axes(call, t));
    bool fits = scales->rank == t->rank && (!zero || zero->rank == t->rank);
    for (int d = 0; d < t->rank && fits; d++) {
        const bool last = d == t->rank - 1;
        t->dims[d] = last ? ulp_dim_mul(data->dims[d], t->packed) : data->dims[d];
        t->scale_dims[d] =
            d == t->quantize ? t->dims[d] / t->block + (t->dims[d] % t->block != 0) : t->dims[d];
        const int64_t zeros =
            last ? (t->scale_dims[d] + t->packed - 1) / t->packed : t->scale_dims[d];
        fits = scales->dims[d] == t->scale_dims[d] && (!zero || zero->dims[d] == zeros);
    }
    return fits ? ULP_OK
                : ULP_REFUSE(call,
                             "scales or zero points do not fit the table in blocks of %lld along "
                             "axis %d",
                             (long long)t->block, t->quantize);
}

static enum ulp_status infer_blocks(struct ulp_call *call)
{
    const struct ulp_tensor *indices = call->in[1];
    struct table t;
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(read_table(call, &t));
    const int rank = t.rank - 1 + indices->rank;
    ULP_TRY(ulp_check_rank((size_t)rank, call->error));
    memcpy(dims, t.dims, (size_t)t.gather * sizeof *dims);
    memcpy(dims + t.gather, indices->dims, (size_t)indices->rank * sizeof *dims);
    memcpy(dims + t.gather + indices->rank, t.dims + t.gather + 1,
           (size_t)(t.rank - t.gather - 1) * sizeof *dims);
    return ulp_call_describe(call, 0, call->in[2]->type, rank, dims);
}

/* Where the scale of a value lies, by the value's number among those of axes [first, last): the
 * part of the offset that these axes make. */
static int64_t scale_offset(const struct table *t, int first, int last, int64_t number)
{
    int64_t stride = 1, offset = 0;
    for (int d = t->rank - 1; d >= first; d--) {
        if (d < last) {
            const int64_t at = number % t->dims[d];
            offset += (d == t->quantize ? at / t->block : at) * stride;
            number /= t->dims[d];
        }
        stride *= t->scale_dims[d];
    }
    return offset;
}

static enum ulp_status fail_unknown(struct ulp_error *error)
{
    return ulp_fail(error, ULP_ERROR_UNSUPPORTED, "its packed integers are not known");
}

/* The zero points as values, in the scales' places. */
static enum ulp_status lay_zeros(struct ulp_call *call, const struct table *t,
                                 struct ulp_operand *operand)
{
    const struct ulp_tensor *zero = ulp_call_in(call, 3), *scales = call->in[2];
    if (!zero && call->in[0]->type == ULP_TYPE_UINT8)
        operand->constant = ulp_bits_middle[t->bits];
    if (!zero || t->packed == 1)
        return ULP_OK;
    if (!ulp_bits_are_known(zero))
        return fail_unknown(call->error);
    struct ulp_tensor *out;
    ULP_TRY(ulp_call_make(call, ULP_TYPE_UINT8, scales->rank, scales->dims, &out));
    const int64_t columns = scales->dims[t->rank - 1];
    if (out->count)
        ulp_unpack_bits(zero, 0, (int64_t)scales->count / columns, columns, zero->dims[t->rank - 1],
                        t->bits, out);
    operand->tensor = out;
    return ULP_OK;
}

/* A row is what one index chooses for one index of the axes before: whole in the table. */
static enum ulp_status rows_blocks(struct ulp_call *call, const struct ulp_layout *layout)
{
    const struct ulp_tensor *data = call->in[0], *indices = call->in[1];
    struct table t;
    ULP_TRY(read_table(call, &t));
    const int64_t outer = ulp_product(t.dims, t.gather), size = t.dims[t.gather],
                  inner = ulp_product(t.dims + t.gather + 1, t.rank - t.gather - 1),
                  chosen = (int64_t)indices->count;
    int64_t *data_row, *scale_row, *scale_at;
    struct ulp_tensor *values = NULL;
    if (t.packed > 1 && !ulp_bits_are_known(data))
        return fail_unknown(call->error);
    *layout->rows =
        (struct ulp_rows){.row_count = (size_t)(outer * chosen), .row_length = (size_t)inner};
    ULP_TRY(ulp_move_table(call, &data_row, layout->rows->row_count, 0, 0));
    ULP_TRY(ulp_move_table(call, &scale_row, layout->rows->row_count, 0, 0));
    ULP_TRY(ulp_move_table(call, &scale_at, (size_t)inner, 0, 0));
    ULP_TRY(lay_zeros(call, &t, &layout->operands[3]));
    if (t.packed > 1)
        ULP_TRY(
            ulp_call_make(call, ULP_TYPE_UINT8, 1, (int64_t[]){outer * chosen * inner}, &values));
    for (int64_t p = 0; p < inner; p++)
        scale_at[p] = scale_offset(&t, t.gather + 1, t.rank, p);
    for (int64_t r = 0; r < outer * chosen; r++) {
        int64_t index;
        ULP_TRY(ulp_read_index(indices, (size_t)(r % chosen), size, &index, call->error));
        const int64_t from = r / chosen * size + index;
        scale_row[r] = scale_offset(&t, 0, t.gather + 1, from);
        data_row[r] = (values ? r : from) * inner;
        if (values) {
            struct ulp_tensor row = ulp_tensor_view_from(values, (size_t)(r * inner));
            ulp_unpack_bits(data, from, 1, inner, inner / t.packed, t.bits, &row);
        }
    }
    layout->operands[0] = (struct ulp_operand){.tensor = values ? values : data,
                                               .row_offset = data_row,
                                               .position_stride = 1};
    layout->operands[1] = (struct ulp_operand){0};
    for (int i = 2; i < 4; i++)
        if (layout->operands[i].tensor)
            layout->operands[i].row_offset = scale_row,
            layout->operands[i].position_offset = scale_at;
    layout->outputs[0].row_stride = inner, layout->outputs[0].position_stride = 1;
    return ULP_OK;
}

/* clang-format off */
const struct ulp_operator ulp_ops_microsoft_gather[] = {
    {.name = "GatherBlockQuantized", .domain = "com.microsoft", .since = 1,
     .inputs = "data:i indices:i scales zero_points:i?=0", .outputs = "y",
     .attributes = "bits:int=4; block_size:int=128; gather_axis:int=0; quantize_axis:int=1",
     .infer = infer_blocks, .rows = rows_blocks, .formula = "(data - zero_points) * scales"},
    {0},
};
/* clang-format on */
