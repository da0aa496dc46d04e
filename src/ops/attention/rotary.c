/* RotaryEmbedding: pairs of features turned by the angle of their position. */
#include "ops/attention/rotary.h"

#include "base/error.h"
#include "ops/infer.h"
#include "ops/ops_move.h"

const struct ulp_formula ulp_rotate_pairs = {
    "x1 x2 cos sin", "real imaginary", "imaginary = sin * x1 + cos * x2; cos * x1 - sin * x2"};

enum ulp_status ulp_rotate(struct ulp_call *call, const struct ulp_rotation *rotation,
                           struct ulp_tensor *out, const struct ulp_heads *out_heads,
                           const struct ulp_tensor *in, const struct ulp_heads *h)
{
    const struct ulp_tensor *ids = rotation->ids;
    const int64_t turned = rotation->turned, half = turned / 2, positions = h->batch * h->length;
    const int64_t caches = half > 0 ? (int64_t)rotation->cosines->count / half : 0,
                  rows_count = positions * h->heads;
    int64_t *in_row, *out_row, *cache_row;
    if (turned < 2 || turned % 2 != 0 || turned > h->size ||
        rotation->cosines->count != rotation->sines->count ||
        (int64_t)rotation->cosines->count % half != 0 ||
        (ids ? ids->count != (size_t)positions : !rotation->counted && caches != positions))
        return ULP_REFUSE(call,
                          "the caches or position_ids do not fit %lld positions of %lld features",
                          (long long)positions, (long long)turned);
    if (rotation->counted && (rotation->first < 0 || rotation->first > caches)) /* sums fit */
        return ULP_REFUSE(call, "position %lld is outside the cache of %lld",
                          (long long)rotation->first, (long long)caches);
    ULP_TRY(ulp_call_as(call, &in, out->type));
    ULP_TRY(ulp_heads_rows(call, h, &in_row));
    ULP_TRY(ulp_heads_rows(call, out_heads, &out_row));
    ULP_TRY(ulp_call_take(call, (size_t)rows_count, sizeof *cache_row, &cache_row));
    for (int64_t r = 0; r < rows_count; r++) {
        const int64_t batch = r / (h->heads * h->length), at = batch * h->length + r % h->length,
                      begin = rotation->first + (rotation->starts ? rotation->starts[batch] : 0),
                      id = ids                 ? ulp_tensor_get_int(ids, (size_t)at)
                           : rotation->counted ? begin + r % h->length
                                               : at;
        if (id < 0 || id >= caches)
            return ULP_REFUSE(call, "position %lld is outside the cache of %lld", (long long)id,
                              (long long)caches);
        cache_row[r] = id * half;
        ulp_move_run(out, (size_t)out_row[r], in, (size_t)in_row[r], (size_t)h->size);
    }
    const int64_t step = rotation->interleaved ? 2 : 1;
    const size_t second = rotation->interleaved ? 1 : (size_t)half;
    const struct ulp_tensor x2 = ulp_tensor_view_from(in, second),
                            y2 = ulp_tensor_view_from(out, second);
    const struct ulp_rows rows = {.row_count = (size_t)rows_count, .row_length = (size_t)half};
    const struct ulp_named_operand operands[] = {
        {"x1", {.tensor = in, .row_offset = in_row, .position_stride = step}},
        {"x2", {.tensor = &x2, .row_offset = in_row, .position_stride = step}},
        {"cos", {.tensor = rotation->cosines, .row_offset = cache_row, .position_stride = 1}},
        {"sin", {.tensor = rotation->sines, .row_offset = cache_row, .position_stride = 1}},
    };
    const struct ulp_named_operand outputs[] = {
        {"real", {.tensor = out, .row_offset = out_row, .position_stride = step}},
        {"imaginary", {.tensor = &y2, .row_offset = out_row, .position_stride = step}},
    };
    return ulp_call_formula(call, &ulp_rotate_pairs, call->arithmetic, &rows, 4, operands, 2,
                            outputs);
}

enum ulp_status ulp_rotate_heads(struct ulp_call *call, const struct ulp_rotation *rotation,
                                 const struct ulp_tensor **in, struct ulp_heads *h)
{
    const struct ulp_heads to = ulp_heads_packed(h->batch, h->heads, h->length, h->size);
    const int64_t shape[] = {h->batch, h->length, h->heads, h->size};
    struct ulp_tensor *turned;
    ULP_TRY(ulp_call_make(call, (*in)->type, 4, shape, &turned));
    ULP_TRY(ulp_rotate(call, rotation, turned, &to, *in, h));
    *in = turned;
    *h = to;
    return ULP_OK;
}

static enum ulp_status run_rotary(struct ulp_call *call)
{
    const int64_t turned = ulp_call_int(call, "rotary_embedding_dim");
    struct ulp_heads h;
    ULP_TRY(ulp_heads_read(call->in[0], ulp_call_int(call, "num_heads"), &h, call->error));
    const struct ulp_rotation rotation = {.cosines = call->in[1],
                                          .sines = call->in[2],
                                          .ids = ulp_call_in(call, 3),
                                          .turned = turned ? turned : h.size,
                                          .interleaved = ulp_call_int(call, "interleaved")};
    return ulp_rotate(call, &rotation, &call->out[0], &h, call->in[0], &h);
}

/* clang-format off */
const struct ulp_operator ulp_ops_rotary[] = {
    {.name = "RotaryEmbedding", .since = 23, .inputs = "x cos_cache sin_cache position_ids:i?",
     .outputs = "y",
     .attributes = "interleaved:int=0; num_heads:int; rotary_embedding_dim:int=0",
     .infer = ulp_infer_first,
     .run = run_rotary, .formulas = ULP_FORMULAS(&ulp_rotate_pairs)},
    {0},
};
/* clang-format on */
