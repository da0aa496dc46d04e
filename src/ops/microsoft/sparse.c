/* Domain com.microsoft: SparseAttention, grouped queries that see blocks of keys. */
#include "base/error.h"
#include "ops/microsoft/cache.h"
#include "ops/microsoft/microsoft_attention.h"

enum { PAST = 3, ROWS = 5, COLUMNS = 6, TOTAL = 7, LENGTHS = 8, COSINES = 9 }; /* inputs */

static enum ulp_status read_sparse(const struct ulp_call *call, struct ulp_attention *a)
{
    const struct ulp_tensor *rows = call->in[ROWS], *columns = call->in[COLUMNS];
    *a = (struct ulp_attention){.query = call->in[0],
                                .key = ulp_call_in(call, 1),
                                .value = ulp_call_in(call, 2),
                                .causal = true,
                                .left = -1,
                                .right = -1,
                                .scale = ulp_microsoft_scale(call)};
    ULP_TRY(ulp_grouped_heads(call, a));
    for (size_t i = 0; i < 2; i++) {
        const struct ulp_tensor *past = call->in[PAST + i];
        const struct ulp_heads *h = i ? &a->v : &a->k;
        if (past->rank != 4 || past->dims[0] != h->batch || past->dims[1] != h->heads ||
            past->dims[2] != call->in[PAST]->dims[2] || past->dims[3] != h->size)
            return ULP_REFUSE(call, "the caches do not fit key and value");
    }
    if (rows->rank != 2 || columns->rank != 2 || rows->dims[0] != columns->dims[0] ||
        rows->dims[0] < 1 || a->q.heads % rows->dims[0] || a->k.length != a->q.length ||
        call->in[TOTAL]->count != 1 || call->in[LENGTHS]->count != (size_t)a->q.batch)
        return ULP_REFUSE(call, "block indices, lengths and heads do not fit each other");
    return ulp_attention_check(a, call->error);
}

static enum ulp_status infer_sparse(struct ulp_call *call)
{
    struct ulp_attention a;
    ULP_TRY(read_sparse(call, &a));
    const int64_t y[] = {a.q.batch, a.q.length, a.q.heads * a.v.size};
    ULP_TRY(ulp_call_describe(call, 0, call->in[0]->type, 3, y));
    for (size_t i = 0; i < 2; i++)
        ULP_TRY(
            ulp_call_describe(call, 1 + i, call->in[PAST + i]->type, 4, call->in[PAST + i]->dims));
    return ULP_OK;
}

/* Does a layout have the block of that row and column? */
static bool has_block(const struct ulp_call *call, int64_t layout, int64_t row, int64_t column)
{
    const struct ulp_tensor *rows = call->in[ROWS], *columns = call->in[COLUMNS];
    const int64_t width = rows->dims[1], most = columns->dims[1];
    if (row + 1 >= width)
        return false;
    const int64_t end = ulp_tensor_get_int(rows, (size_t)(layout * width + row + 1));
    for (int64_t i = ulp_tensor_get_int(rows, (size_t)(layout * width + row)); i < end; i++)
        if (i >= 0 && i < most &&
            ulp_tensor_get_int(columns, (size_t)(layout * most + i)) == column)
            return true;
    return false;
}

/* Which keys of the buffer each query sees; heads take the layouts in turn. */
static enum ulp_status lay_blocks(struct ulp_call *call, struct ulp_attention *a, int64_t buffer,
                                  struct ulp_tensor *mask)
{
    const int64_t dims[] = {a->q.batch, a->q.heads, a->q.length, buffer},
                  layouts = call->in[ROWS]->dims[0];
    int64_t block;
    ULP_TRY(ulp_call_int_within(call, "sparse_block_size", 1, INT32_MAX, &block));
    ULP_TRY(ulp_call_make_here(call, mask, ULP_TYPE_BOOL, 4, dims));
    for (int64_t row = 0; row < (int64_t)mask->count / buffer; row++) {
        const int64_t at = a->starts[row / a->q.length / a->q.heads] + row % a->q.length,
                      layout = row / a->q.length % a->q.heads % layouts;
        for (int64_t key = 0; key < buffer; key++)
            ((uint8_t *)mask->data)[row * buffer + key] =
                key % block ? ((uint8_t *)mask->data)[row * buffer + key - 1]
                            : has_block(call, layout, at / block, key / block);
    }
    a->mask = mask;
    return ULP_OK;
}

static enum ulp_status run_sparse(struct ulp_call *call)
{
    struct ulp_attention a;
    struct ulp_tensor mask;
    ULP_TRY(read_sparse(call, &a));
    const int64_t buffer = call->in[PAST]->dims[2], total = ulp_tensor_get_int(call->in[TOTAL], 0);
    ULP_CALL_TAKE(int64_t, lengths, call, (size_t)a.q.batch);
    ULP_CALL_TAKE(int64_t, starts, call, (size_t)a.q.batch);
    for (int64_t b = 0; b < a.q.batch; b++) {
        lengths[b] = ulp_tensor_get_int(call->in[LENGTHS], (size_t)b);
        starts[b] = total == a.q.length ? 0 : lengths[b] - a.q.length;
        if (starts[b] < 0 || lengths[b] < 1 || lengths[b] > total || total > buffer)
            return ULP_REFUSE(call,
                              "key_total_sequence_lengths[%lld] is %lld of %lld in a cache of %lld",
                              (long long)b, (long long)lengths[b], (long long)total,
                              (long long)buffer);
    }
    a.lengths = lengths;
    a.starts = starts;
    if (ulp_call_int(call, "do_rotary"))
        ULP_TRY(ulp_grouped_rotate(call, &a, COSINES, NULL, false));
    for (size_t i = 0; i < 2; i++) {
        const struct ulp_cache cache = {.past = call->in[PAST + i],
                                        .present =
                                            ulp_call_wants(call, 1 + i) ? &call->out[1 + i] : NULL,
                                        .length = buffer,
                                        .starts = starts,
                                        .in_place = true};
        ULP_TRY(ulp_cache_join(call, &cache, i ? &a.value : &a.key, i ? &a.v : &a.k));
    }
    a.out = ulp_call_wants(call, 0) ? &call->out[0] : NULL;
    ULP_TRY(buffer ? lay_blocks(call, &a, buffer, &mask) : ULP_OK);
    return ulp_attend(call, &a);
}

/* clang-format off */
const struct ulp_operator ulp_ops_microsoft_sparse[] = {
    {.name = "SparseAttention", .domain = "com.microsoft", .since = 1, .kernel = "attention",
     .inputs = "query:m key:m? value:m? past_key:m past_value:m block_row_indices:i "
               "block_col_indices:i total_sequence_length:i key_total_sequence_lengths:i "
               "cos_cache:m? sin_cache:m?",
     .outputs = "output present_key? present_value?",
     .attributes = "do_rotary:int=0; kv_num_heads:!int; num_heads:!int; rotary_interleaved:int=0; "
                   "scale:float=0; sparse_block_size:!int",
     .infer = infer_sparse, .run = run_sparse, .work = ULP_WORK_CONTRACTION,
     .formulas = ULP_FORMULAS(&ulp_attend_average, &ulp_rotate_pairs)},
    {0},
};
/* clang-format on */
