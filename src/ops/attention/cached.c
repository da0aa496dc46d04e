/* Keys and values as a cache holds them in a format with scales (struct ulp_arithmetic.caches):
 * rounded, and scaled back to storage for the query that reads them. */
#include <math.h>

#include "base/error.h"
#include "kernels/operand/scaled.h"
#include "ops/attention/scores.h"
#include "ops/ops_move.h"

/* Which elements are lines and which are k, of so many batches of heads. */
struct laid {
    int64_t groups, lines, k, line_step, k_step;
    bool channels; /* lines are features */
};

static enum ulp_status lay(const struct ulp_call *call, const struct ulp_tensor *in,
                           const struct ulp_heads *h, const struct laid *laid, int64_t first,
                           struct ulp_contraction *out)
{
    int64_t *batch, *line, *k;
    ULP_TRY(ulp_call_take(call, (size_t)laid->groups, sizeof *batch, &batch));
    ULP_TRY(ulp_move_table(call, &line, (size_t)laid->lines, 0, laid->line_step));
    ULP_TRY(ulp_move_table(call, &k, (size_t)laid->k, 0, laid->k_step));
    for (int64_t g = 0; g < laid->groups; g++)
        batch[g] = (first + g) / h->heads * h->batch_step + (first + g) % h->heads * h->head_step;
    *out = (struct ulp_contraction){
        .batch_count = (size_t)laid->groups,
        .m = (size_t)laid->lines,
        .k = (size_t)laid->k,
        .a = {.tensor = in, .batch_offset = batch, .line_offset = line, .k_offset = k},
    };
    return ULP_OK;
}

/* The largest magnitude of one head. */
static float find_largest(const struct ulp_contraction *problem)
{
    double largest = 0;
    for (size_t l = 0; l < problem->m; l++)
        for (size_t i = 0; i < problem->k; i++) {
            const int64_t at =
                problem->a.batch_offset[0] + problem->a.line_offset[l] + problem->a.k_offset[i];
            const double x = ulp_tensor_get(problem->a.tensor, (size_t)at);
            if (isfinite(x) && fabs(x) > largest)
                largest = fabs(x);
        }
    return (float)largest;
}

/* The groups from `first` on, behind each other into `out`, whose rows are positions. */
static enum ulp_status round_groups(struct ulp_call *call, const struct ulp_scaling *scaling,
                                    const struct ulp_tensor *in, const struct ulp_heads *h,
                                    const struct laid *laid, int64_t first, struct ulp_tensor *out)
{
    struct ulp_contraction problem;
    ULP_SCOPED(ulp_scaled_free) struct ulp_scaled scaled = {0};
    struct ulp_factor_range range;
    ULP_TRY(lay(call, in, h, laid, first, &problem));
    if (call->arithmetic->cached == ULP_CACHED_HEAD) {
        range = (struct ulp_factor_range){.largest = find_largest(&problem)};
        problem.range[0] = &range;
    }
    ULP_TRY(ulp_scaled_make(&scaled, scaling, &problem, 0, true, ULP_ROUND_NEAREST_EVEN, call->pool,
                            call->error));
    ULP_TRY(ulp_scaled_back(&scaled, &call->arithmetic->storage, out->element, call->pool,
                            call->error));
    const int64_t size = h->length * h->size;
    for (int64_t i = 0; i < laid->groups * size; i++) {
        const int64_t rest = i % size, at = rest / h->size, c = rest % h->size;
        const size_t group = scaled.group_count > 1 ? (size_t)(i / size) : 0;
        ulp_move_run(out, (size_t)(first * size + i), &scaled.elements,
                     group * (size_t)size + (size_t)(laid->channels ? c * h->length + at : rest),
                     1);
    }
    return ULP_OK;
}

enum ulp_status ulp_attention_cached(struct ulp_call *call, int which, struct ulp_tensor *t,
                                     struct ulp_heads *h)
{
    const struct ulp_scaling *scaling = &call->arithmetic->caches[which];
    const int64_t dims[] = {h->batch, h->heads, h->length, h->size}, groups = h->batch * h->heads,
                  across = h->across ? h->across : 1;
    const bool channels = call->arithmetic->cached == ULP_CACHED_CHANNEL,
               apart = call->arithmetic->cached == ULP_CACHED_HEAD;
    const struct laid laid =
        channels ? (struct laid){groups, h->size, h->length, across, h->step, true}
                 : (struct laid){apart ? 1 : groups, h->length, h->size, h->step, across, false};
    struct ulp_tensor *out;
    if (!scaling->name[0] || !t->count || !ulp_element_is_float(t->element))
        return ULP_OK;
    ULP_TRY(ulp_call_make(call, t->type, 4, dims, &out));
    for (int64_t g = 0; g < groups; g += laid.groups)
        ULP_TRY(round_groups(call, scaling, t, h, &laid, g, out));
    *t = ulp_tensor_view(out);
    *h = ulp_heads_first(h->batch, h->heads, h->length, h->size);
    return ULP_OK;
}
