/* Which keys a query sees: masks, windows, lengths and the causal order. */
#include "ops/attention/mask.h"

#include <math.h>

#include "base/error.h"

/* Index of (batch, head, query, key) in a mask that broadcasts to them; -1 where its last axis is
 * too short. */
static int64_t mask_index(const struct ulp_tensor *mask, const int64_t place[4])
{
    int64_t index = 0, stride = 1;
    for (int d = mask->rank - 1; d >= 0; d--) {
        int64_t at = place[4 - mask->rank + d], size = mask->dims[d];
        if (d == mask->rank - 1 ? at >= size && size != 1 : size != 1 && at >= size)
            return -1;
        index += size == 1 && d != mask->rank - 1 ? 0 : (at < size ? at : 0) * stride;
        stride *= size;
    }
    return index;
}

enum ulp_status ulp_attention_allowed(struct ulp_call *call, const struct ulp_attention *a,
                                      const struct ulp_heads *keys, struct ulp_tensor *allowed)
{
    const struct ulp_tensor *mask = a->mask;
    const int64_t dims[] = {a->q.batch, a->q.heads, a->q.length, keys->length};
    ULP_TRY(ulp_call_make_here(call, allowed, ULP_TYPE_BOOL, 4, dims));
    if (mask && mask->rank > 4)
        return ULP_REFUSE(call, "the mask has rank %d: expected at most 4", mask->rank);
    for (size_t n = 0; n < allowed->count; n++) {
        int64_t place[4], rest = (int64_t)n;
        for (int d = 3; d >= 0; d--) {
            place[d] = rest % dims[d];
            rest /= dims[d];
        }
        const int64_t length = a->lengths ? a->lengths[place[0]] : keys->length, key = place[3];
        const int64_t at = place[2] + (a->starts ? a->starts[place[0]] : a->past);
        bool sees = key < length && (!a->causal || key <= at) &&
                    (a->left < 0 || at - key <= a->left) && (a->right < 0 || key - at <= a->right);
        int64_t index = mask ? mask_index(mask, place) : 0;
        if (mask && sees)
            sees = index >= 0 && (mask->type == ULP_TYPE_BOOL
                                      ? ulp_tensor_get_int(mask, (size_t)index) != 0
                                      : !(ulp_tensor_read(mask, (size_t)index) == -HUGE_VAL));
        if (a->seen && sees)
            sees = ulp_tensor_get_int(a->seen, (size_t)mask_index(a->seen, place)) != 0;
        ((uint8_t *)allowed->data)[n] = sees;
    }
    return ULP_OK;
}

enum ulp_status ulp_attention_lay_mask(struct ulp_call *call, const struct ulp_attention *a,
                                       int64_t total, const struct ulp_tensor *mask,
                                       struct ulp_operand *out)
{
    *out = (struct ulp_operand){.constant = "0"};
    if (!mask || !mask->count)
        return ULP_OK;
    const int64_t rows = a->q.batch * a->q.heads * a->q.length,
                  keys = mask->rank ? mask->dims[mask->rank - 1] : 1;
    ULP_CALL_TAKE(int64_t, row, call, (size_t)rows);
    ULP_CALL_TAKE(int64_t, column, call, (size_t)total);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t place[4] = {r / (a->q.heads * a->q.length), r / a->q.length % a->q.heads,
                                  r % a->q.length, 0};
        row[r] = mask_index(mask, place);
        if (row[r] < 0)
            return ULP_REFUSE(call, "the mask does not broadcast to the scores");
    }
    for (int64_t j = 0; j < total; j++)
        column[j] = j < keys ? j : 0; /* what lies beyond is not allowed */
    *out = (struct ulp_operand){.tensor = mask, .row_offset = row, .position_offset = column};
    return ULP_OK;
}

enum ulp_status ulp_attention_lay_sink(struct ulp_call *call, const struct ulp_attention *a,
                                       struct ulp_operand *out)
{
    const int64_t rows = a->q.batch * a->q.heads * a->q.length;
    *out = (struct ulp_operand){.constant = "0"};
    if (a->sink && a->sink->rank == 4) {
        ULP_TRY(ulp_attention_lay_mask(call, a, 1, a->sink, out));
        out->position_offset = NULL; /* one for all keys */
        return ULP_OK;
    }
    if (!a->sink)
        return ULP_OK;
    if (a->sink->count != (size_t)a->q.heads)
        return ULP_REFUSE(call, "a sink of %zu elements: expected one for each of %lld heads",
                          a->sink->count, (long long)a->q.heads);
    ULP_CALL_TAKE(int64_t, row, call, (size_t)rows);
    for (int64_t r = 0; r < rows; r++)
        row[r] = r / a->q.length % a->q.heads;
    *out = (struct ulp_operand){.tensor = a->sink, .row_offset = row};
    return ULP_OK;
}
