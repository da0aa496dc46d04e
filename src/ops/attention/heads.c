/* Where the heads of attention lie in a tensor. */
#include "ops/attention/heads.h"

#include "base/error.h"

struct ulp_heads ulp_heads_first(int64_t batch, int64_t heads, int64_t length, int64_t size)
{
    return (struct ulp_heads){batch,         heads, length, size, heads * length * size,
                              length * size, size,  0};
}

struct ulp_heads ulp_heads_packed(int64_t batch, int64_t heads, int64_t length, int64_t size)
{
    return (struct ulp_heads){batch, heads,        length, size, heads * length * size,
                              size,  heads * size, 0};
}

enum ulp_status ulp_heads_read(const struct ulp_tensor *t, int64_t heads, struct ulp_heads *out,
                               struct ulp_error *error)
{
    if (t->rank == 4) {
        *out = ulp_heads_first(t->dims[0], t->dims[1], t->dims[2], t->dims[3]);
        return ULP_OK;
    }
    if (t->rank != 3 || heads < 1 || heads > ULP_HEADS_MAX || t->dims[2] % heads != 0)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "an input of rank %d and %lld heads: expected rank 4, or 3 and heads that "
                        "divide its last axis",
                        t->rank, (long long)heads);
    *out = ulp_heads_packed(t->dims[0], heads, t->dims[1], t->dims[2] / heads);
    return ULP_OK;
}

enum ulp_status ulp_heads_rows(struct ulp_call *call, const struct ulp_heads *h, int64_t **out)
{
    const int64_t count = h->batch * h->heads * h->length;
    ULP_TRY(ulp_call_take(call, (size_t)count, sizeof **out, out));
    for (int64_t r = 0; r < count; r++)
        (*out)[r] = r / (h->heads * h->length) * h->batch_step +
                    r / h->length % h->heads * h->head_step + r % h->length * h->step;
    return ULP_OK;
}
