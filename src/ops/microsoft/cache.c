/* Past and new positions in one buffer, as floats or as codes. Attention reads what the buffer
 * holds: of new positions, too, the value of their code. */
#include "ops/microsoft/cache.h"

#include "base/error.h"
#include "ops/ops_move.h"

int64_t ulp_cache_size(enum ulp_type codes, int64_t size)
{
    return codes == ULP_TYPE_UINT8 ? (size + 1) / 2 : size;
}

/* ---- one buffer of many elements of a kind ---- */

/* The first starts[b] positions of the past, the new ones behind them, `empty` (or what the past
 * has there) to the end. All have one element type. */
static void join_positions(const struct ulp_cache *cache, const struct ulp_tensor *past,
                           const struct ulp_tensor *now, const struct ulp_heads *h,
                           struct ulp_tensor *out, const void *empty)
{
    const int64_t past_length = past ? past->dims[2] : 0, rows = h->batch * h->heads;
    const size_t size = (size_t)h->size;
    for (int64_t i = 0; size && i < rows * cache->length; i++) {
        const int64_t row = i / cache->length, at = i % cache->length;
        const int64_t b = row / h->heads, fresh = at - cache->starts[b];
        const size_t to = (size_t)i * size;
        if (fresh >= 0 && fresh < h->length)
            ulp_move_run(out, to, now,
                         (size_t)(b * h->batch_step + row % h->heads * h->head_step +
                                  fresh * h->step),
                         size);
        else if ((fresh < 0 || cache->in_place) && at < past_length)
            ulp_move_run(out, to, past, (size_t)(row * past_length + at) * size, size);
        else
            ulp_move_fill(out, to, size, empty);
    }
}

/* A temporary of batch x heads x length x features. */
static enum ulp_status make(struct ulp_call *call, enum ulp_type type, const struct ulp_heads *h,
                            int64_t length, struct ulp_tensor **out)
{
    const int64_t dims[] = {h->batch, h->heads, length, h->size};
    return ulp_call_make(call, type, 4, dims, out);
}

static enum ulp_status join_floats(struct ulp_call *call, const struct ulp_cache *cache,
                                   const struct ulp_tensor **now, const struct ulp_heads *h)
{
    struct ulp_tensor zero, *out = cache->present;
    const struct ulp_tensor *past = cache->past;
    const enum ulp_type type = out ? out->type : (*now)->type;
    ULP_TRY(ulp_call_scalar(call, &zero, type, 0));
    ULP_TRY(ulp_call_as(call, now, type));
    ULP_TRY(ulp_call_as(call, &past, type));
    if (!out)
        ULP_TRY(make(call, type, h, cache->length, &out));
    join_positions(cache, past, *now, h, out, zero.data);
    *now = out;
    return ULP_OK;
}

/* ---- codes ---- */

const struct ulp_formula ulp_cache_quantize = {
    "x scale low high", "code value",
    "q = min(max(round(x * (scale == 0 ? 0 : 1 / scale)), low), high); value = q * scale; q"};
/* The storage of this one is FLOAT8E4M3FN, to whose largest number it saturates. */
const struct ulp_formula ulp_cache_lower = {"x scale", "code", "x * (scale == 0 ? 0 : 1 / scale)"};
const struct ulp_formula ulp_cache_dequantize = {"code scale", "value", "code * scale"};

/* The scale of each row (batch, head, position). */
static enum ulp_status lay_scale(const struct ulp_call *call, const struct ulp_cache *cache,
                                 const struct ulp_heads *h, struct ulp_operand *out)
{
    const int64_t rows = h->batch * h->heads * h->length;
    *out = (struct ulp_operand){.tensor = cache->scale};
    if (cache->scale->count == 1)
        return ULP_OK;
    ULP_CALL_TAKE(int64_t, places, call, (size_t)rows);
    for (int64_t r = 0; r < rows; r++)
        places[r] = r / h->length % h->heads * h->size;
    *out = (struct ulp_operand){.tensor = cache->scale, .row_offset = places, .position_stride = 1};
    return ULP_OK;
}

static struct ulp_rows rows_of(const struct ulp_heads *h)
{
    return (struct ulp_rows){.row_count = (size_t)(h->batch * h->heads * h->length),
                             .row_length = (size_t)h->size};
}

/* The new positions' codes, heads first, and what they stand for; FLOAT8E4M3FN is left to
 * dequantize. */
static enum ulp_status quantize(struct ulp_call *call, const struct ulp_cache *cache,
                                const struct ulp_tensor *now, const struct ulp_heads *h,
                                struct ulp_tensor **codes, struct ulp_tensor **values)
{
    const bool nibbles = cache->codes == ULP_TYPE_UINT8,
               floats = cache->codes == ULP_TYPE_FLOAT8E4M3FN;
    const struct ulp_rows rows = rows_of(h);
    struct ulp_operand scale;
    int64_t *places;
    ULP_TRY(make(call, floats ? cache->codes : ULP_TYPE_INT8, h, h->length, codes));
    if (!floats)
        ULP_TRY(make(call, now->type, h, h->length, values));
    ULP_TRY(ulp_heads_rows(call, h, &places));
    ULP_TRY(lay_scale(call, cache, h, &scale));
    if ((*codes)->count == 0)
        return ULP_OK;
    const struct ulp_named_operand operands[] = {
        {"x", {.tensor = now, .row_offset = places, .position_stride = 1}},
        {"scale", scale},
        {"low", {.constant = nibbles ? "-8" : "-128"}},
        {"high", {.constant = nibbles ? "7" : "127"}},
    };
    const struct ulp_named_operand outputs[] = {
        {"code", {.tensor = *codes, .row_stride = h->size, .position_stride = 1}},
        {"value", {.tensor = *values, .row_stride = h->size, .position_stride = 1}},
    };
    if (!floats)
        return ulp_call_formula(call, &ulp_cache_quantize, call->arithmetic, &rows, 4, operands, 2,
                                outputs);
    struct ulp_arithmetic arithmetic = *call->arithmetic;
    ULP_TRY(ulp_call_storage(call, cache->codes, &arithmetic.storage));
    return ulp_call_formula(call, &ulp_cache_lower, &arithmetic, &rows, 2, operands, 1, outputs);
}

/* Nibbles less 8: the rows of `size` codes begin at a byte. */
static void unpack(const struct ulp_tensor *in, struct ulp_tensor *out, int64_t size)
{
    const int64_t bytes = ulp_cache_size(ULP_TYPE_UINT8, size);
    const uint8_t *from = in->data;
    for (int64_t i = 0; i < (int64_t)out->count; i++) {
        const int byte = from[i / size * bytes + i % size / 2];
        ((int8_t *)out->data)[i] = (int8_t)((i % size % 2 ? byte >> 4 : byte & 15) - 8);
    }
}

/* A last high nibble of none is 0 plus 8. A pass over bounds leaves codes unset: any of them. */
static void pack(const struct ulp_tensor *in, struct ulp_tensor *out, int64_t size)
{
    const int64_t bytes = ulp_cache_size(ULP_TYPE_UINT8, size);
    const int8_t *from = in->data;
    for (int64_t i = 0; i < (int64_t)out->count; i++) {
        const int64_t at = i / bytes * size + i % bytes * 2;
        const unsigned low = from[at] + 8U,
                       high = i % bytes * 2 + 1 < size ? from[at + 1] + 8U : 8U;
        ((uint8_t *)out->data)[i] = (uint8_t)((low & 15) | high << 4);
    }
}

/* What codes, heads first, stand for. */
static enum ulp_status dequantize(struct ulp_call *call, const struct ulp_cache *cache,
                                  enum ulp_type type, const struct ulp_heads *h,
                                  const struct ulp_tensor *codes, struct ulp_tensor **values)
{
    struct ulp_operand scale;
    const struct ulp_rows rows = rows_of(h);
    ULP_TRY(make(call, type, h, h->length, values));
    ULP_TRY(lay_scale(call, cache, h, &scale));
    if ((*values)->count == 0)
        return ULP_OK;
    struct ulp_operand line = {.tensor = codes, .row_stride = h->size, .position_stride = 1};
    const struct ulp_named_operand operands[] = {{"code", line}, {"scale", scale}};
    line.tensor = *values;
    const struct ulp_named_operand result = {"value", line};
    return ulp_call_formula(call, &ulp_cache_dequantize, call->arithmetic, &rows, 2, operands, 1,
                            &result);
}

/* The past's codes, one an element, and what they stand for. */
static enum ulp_status read_past(struct ulp_call *call, const struct ulp_cache *cache,
                                 enum ulp_type type, struct ulp_heads h,
                                 const struct ulp_tensor **codes, struct ulp_tensor **values)
{
    struct ulp_tensor *unpacked;
    h.length = cache->past->dims[2];
    *codes = cache->past;
    if (cache->codes == ULP_TYPE_FLOAT8E4M3FN)
        ULP_TRY(ulp_call_as(call, codes, cache->codes));
    if (cache->codes == ULP_TYPE_UINT8) {
        ULP_TRY(make(call, ULP_TYPE_INT8, &h, h.length, &unpacked));
        unpack(cache->past, unpacked, h.size);
        *codes = unpacked;
    }
    return dequantize(call, cache, type, &h, *codes, values);
}

static enum ulp_status join_codes(struct ulp_call *call, const struct ulp_cache *cache,
                                  const struct ulp_tensor **now, const struct ulp_heads *h)
{
    const struct ulp_heads packed = ulp_heads_first(h->batch, h->heads, h->length, h->size);
    const struct ulp_tensor *past_codes = NULL;
    const enum ulp_type type = (*now)->type;
    struct ulp_tensor *codes, *values, *past_values = NULL, *all = cache->present, none;
    ULP_TRY(quantize(call, cache, *now, h, &codes, &values));
    if (cache->codes == ULP_TYPE_FLOAT8E4M3FN)
        ULP_TRY(dequantize(call, cache, type, h, codes, &values));
    if (cache->past)
        ULP_TRY(read_past(call, cache, type, *h, &past_codes, &past_values));
    struct ulp_cache floats = *cache;
    floats.past = past_values;
    floats.present = NULL;
    *now = values;
    ULP_TRY(join_floats(call, &floats, now, &packed));
    if (!cache->present)
        return ULP_OK;
    if (cache->codes == ULP_TYPE_UINT8)
        ULP_TRY(make(call, codes->type, h, cache->length, &all));
    /* bytes of 0 */
    ULP_TRY(ulp_call_scalar(call, &none, codes->type, all != cache->present ? -8 : 0));
    join_positions(cache, past_codes, codes, &packed, all, none.data);
    if (all != cache->present)
        pack(all, cache->present, h->size);
    return ULP_OK;
}

enum ulp_status ulp_cache_join(struct ulp_call *call, const struct ulp_cache *cache,
                               const struct ulp_tensor **now, struct ulp_heads *h)
{
    ULP_TRY(cache->scale ? join_codes(call, cache, now, h) : join_floats(call, cache, now, h));
    *h = ulp_heads_first(h->batch, h->heads, cache->length, h->size);
    return ULP_OK;
}
