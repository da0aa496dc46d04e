/* Operators that choose elements by their values. The choice is made on the lane's own values,
 * exactly; lanes may differ. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ops/compare.h"
#include "ops/ops_move.h"

/* ---- ArgMax, ArgMin (parameter 1, -1) and Hardmax ---- */

/* The winning position of a line of `size` elements, `step` apart; the last of equals when
 * `last`. */
static size_t find_extreme(const struct ulp_tensor *in, size_t base, size_t step, size_t size,
                           int sign, bool last)
{
    size_t best = 0;
    for (size_t i = 1; i < size; i++) {
        int order = sign * ulp_compare(in, base + i * step, base + best * step);
        if (order > 0 || (last && order == 0))
            best = i;
    }
    return best;
}

static enum ulp_status infer_arg(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t dims[ULP_RANK_MAX];
    int axis, rank = 0;
    ULP_TRY(ulp_call_first_axis(call, &axis));
    for (int d = 0; d < in->rank; d++)
        if (d != axis || ulp_call_int(call, "keepdims") == 1)
            dims[rank++] = d == axis ? 1 : in->dims[d];
    return ulp_call_describe(call, 0, ULP_TYPE_INT64, rank, dims);
}

static enum ulp_status run_arg(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    ULP_CALL_AXIS(axis, call);
    const struct ulp_split split = ulp_split_at(in, axis);
    if (split.size == 0 && call->out[0].count)
        return ULP_REFUSE(call, "axis %d is empty", axis);
    bool last = ulp_call_int(call, "select_last_index");
    for (size_t i = 0; i < call->out[0].count; i++) {
        size_t base = i / split.inner * split.size * split.inner + i % split.inner;
        size_t best =
            find_extreme(in, base, split.inner, split.size, call->bound->op->parameter, last);
        ulp_tensor_set_int(&call->out[0], i, (int64_t)best);
    }
    return ULP_OK;
}

/* parameter 1: the tensor is a matrix cut at axis, as before opset 13 */
static enum ulp_status run_hardmax(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_tensor zero, one;
    ULP_CALL_AXIS(axis, call);
    ULP_TRY(ulp_call_scalar(call, &zero, in->type, 0));
    ULP_TRY(ulp_call_scalar(call, &one, in->type, 1));
    if (in->count == 0)
        return ULP_OK;
    struct ulp_split split = ulp_split_at(in, axis);
    if (call->bound->op->parameter)
        split = (struct ulp_split){split.outer, split.size * split.inner, 1};
    ulp_move_fill(&call->out[0], 0, in->count, zero.data);
    for (size_t i = 0; i < split.outer * split.inner; i++) {
        size_t base = i / split.inner * split.size * split.inner + i % split.inner;
        size_t best = find_extreme(in, base, split.inner, split.size, 1, false);
        ulp_move_fill(&call->out[0], base + best * split.inner, 1, one.data);
    }
    return ULP_OK;
}

/* ---- TopK ---- */

static enum ulp_status read_k(const struct ulp_call *call, int64_t size, int64_t *k, bool *known)
{
    *k = 0;
    ULP_TRY(ulp_call_number(call, "k", ulp_call_int(call, "k"), known, k));
    if (*k < 0 || *k > size)
        return ULP_REFUSE(call, "k is %lld for an axis of %lld elements", (long long)*k,
                          (long long)size);
    return ULP_OK;
}

static enum ulp_status infer_top_k(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t dims[ULP_RANK_MAX], k;
    bool known;
    ULP_CALL_AXIS(axis, call);
    ULP_TRY(read_k(call, in->dims[axis], &k, &known));
    if (!known)
        return ULP_OK;
    memcpy(dims, in->dims, sizeof dims);
    dims[axis] = k;
    ULP_TRY(ulp_call_describe(call, 0, in->type, in->rank, dims));
    return ulp_call_describe(call, 1, ULP_TYPE_INT64, in->rank, dims);
}

struct line {
    const struct ulp_tensor *tensor;
    size_t base, step;
    int sign;
};

/* Best first; of equals the lower index. */
static int order_line(const void *a, const void *b, void *context)
{
    const struct line *line = context;
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    int order = line->sign *
                ulp_compare(line->tensor, line->base + j * line->step, line->base + i * line->step);
    return order ? order : (i > j) - (i < j);
}

/* A heap of `count` positions with the last in order_line's order on top: order[top] sinks to where
 * it belongs. */
static void sift(size_t *order, size_t top, size_t count, struct line *line)
{
    const size_t moved = order[top];
    for (size_t child; (child = 2 * top + 1) < count; top = child) {
        if (child + 1 < count && order_line(&order[child + 1], &order[child], line) > 0)
            child++;
        if (order_line(&order[child], &moved, line) < 0)
            break;
        order[top] = order[child];
    }
    order[top] = moved;
}

/* The first k positions of the line of `size` in order: a heap keeps the best seen, and most others
 * only meet its top. */
static void find_best(size_t *order, size_t k, size_t size, struct line *line)
{
    for (size_t i = 0; i < k; i++)
        order[i] = i;
    for (size_t top = k / 2; top-- > 0;)
        sift(order, top, k, line);
    for (size_t i = k; i < size && k > 0; i++)
        if (order_line(&i, order, line) < 0) {
            order[0] = i;
            sift(order, 0, k, line);
        }
    qsort_r(order, k, sizeof *order, order_line, line);
}

static enum ulp_status run_top_k(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    const struct ulp_attribute_value *largest = ulp_call_attribute(call, "largest");
    int64_t k;
    bool known;
    ULP_CALL_AXIS(axis, call);
    ULP_TRY(read_k(call, in->dims[axis], &k, &known));
    ULP_CALL_TAKE(size_t, order, call, (size_t)k);
    const struct ulp_split split = ulp_split_at(in, axis);
    for (size_t l = 0; l < split.outer * split.inner; l++) {
        size_t outer = l / split.inner, inner = l % split.inner;
        struct line line = {in, outer * split.size * split.inner + inner, split.inner,
                            largest->present && !largest->i ? -1 : 1};
        find_best(order, (size_t)k, split.size, &line);
        for (size_t i = 0; i < (size_t)k; i++) {
            size_t to = (outer * (size_t)k + i) * split.inner + inner;
            if (ulp_call_wants(call, 0))
                ulp_move_run(&call->out[0], to, in, line.base + order[i] * line.step, 1);
            if (ulp_call_wants(call, 1))
                ulp_tensor_set_int(&call->out[1], to, (int64_t)order[i]);
        }
    }
    return ULP_OK;
}

/* ---- NonZero, Compress ---- */

static enum ulp_status infer_non_zero(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    int64_t count = 0;
    if (!in->data && in->count)
        return ULP_OK;
    for (size_t i = 0; i < in->count; i++)
        count += !ulp_is_zero(in, i);
    return ulp_call_describe(call, 0, ULP_TYPE_INT64, 2, (int64_t[]){in->rank, count});
}

static enum ulp_status run_non_zero(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct ulp_tensor *out = &call->out[0];
    size_t found = 0, count = (size_t)out->dims[1];
    for (size_t i = 0; i < in->count; i++) {
        if (ulp_is_zero(in, i))
            continue;
        size_t rest = i;
        for (int d = in->rank - 1; d >= 0; d--) {
            ulp_tensor_set_int(out, (size_t)d * count + found,
                               (int64_t)(rest % (size_t)in->dims[d]));
            rest /= (size_t)in->dims[d];
        }
        found++;
    }
    return ULP_OK;
}

/* Without an axis the tensor is one line. */
static enum ulp_status compress_split(const struct ulp_call *call, struct ulp_split *split,
                                      int *axis)
{
    const struct ulp_tensor *in = call->in[0];
    *axis = -1;
    *split = (struct ulp_split){1, in->count, 1};
    if (!ulp_call_attribute(call, "axis")->present)
        return ULP_OK;
    ULP_TRY(ulp_call_first_axis(call, axis));
    *split = ulp_split_at(in, *axis);
    return ULP_OK;
}

static size_t count_true(const struct ulp_tensor *condition, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < condition->count && i < size; i++)
        count += ulp_tensor_get_int(condition, i) != 0;
    return count;
}

static enum ulp_status infer_compress(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0], *condition = call->in[1];
    struct ulp_split split;
    int64_t dims[ULP_RANK_MAX];
    int axis;
    ULP_TRY(compress_split(call, &split, &axis));
    if ((!condition->data && condition->count))
        return ULP_OK;
    memcpy(dims, in->dims, sizeof dims);
    dims[axis < 0 ? 0 : axis] = (int64_t)count_true(condition, split.size);
    return ulp_call_describe(call, 0, in->type, axis < 0 ? 1 : in->rank, dims);
}

static enum ulp_status run_compress(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0], *condition = call->in[1];
    struct ulp_split split;
    int axis;
    ULP_TRY(compress_split(call, &split, &axis));
    size_t kept = count_true(condition, split.size), b = 0;
    ULP_CALL_TAKE(int64_t, from, call, split.outer * kept);
    for (size_t o = 0; o < split.outer; o++)
        for (size_t i = 0; i < condition->count && i < split.size; i++)
            if (ulp_tensor_get_int(condition, i))
                from[b++] = (int64_t)((o * split.size + i) * split.inner);
    return ulp_move_blocks(&call->out[0], in, from, split.inner, NULL, call->pool, call->error);
}

/* ---- Unique: slices along an axis (or elements), first occurrences ---- */

struct slices {
    const struct ulp_tensor *tensor;
    struct ulp_split split;
};

static int order_slices(const void *a, const void *b, void *context)
{
    const struct slices *s = context;
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    for (size_t o = 0; o < s->split.outer; o++)
        for (size_t n = 0; n < s->split.inner; n++) {
            size_t base = o * s->split.size * s->split.inner + n;
            int order =
                ulp_compare(s->tensor, base + i * s->split.inner, base + j * s->split.inner);
            if (order)
                return order;
        }
    return 0;
}

static int order_stable(const void *a, const void *b, void *context)
{
    int order = order_slices(a, b, context);
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    return order ? order : (i > j) - (i < j);
}

/* first[u]: the slice that value u is taken from; value[i]: which value slice i has; counts[u]. */
struct unique {
    struct slices slices;
    int axis;
    size_t count, *first, *value, *counts;
};

static int order_numbers(const void *a, const void *b, void *context)
{
    const size_t *first = context;
    size_t i = first[*(const size_t *)a], j = first[*(const size_t *)b];
    return (i > j) - (i < j);
}

static enum ulp_status find_unique(const struct ulp_call *call, struct unique *u)
{
    ULP_TRY(compress_split(call, &u->slices.split, &u->axis));
    size_t size = u->slices.split.size;
    u->slices.tensor = call->in[0];
    u->count = 0;
    ULP_CALL_TAKE(size_t, order, call, size);
    ULP_CALL_TAKE(size_t, rank, call, size);
    ULP_CALL_TAKE(size_t, place, call, size);
    ULP_TRY(ulp_call_take(call, size, sizeof *u->first, &u->first));
    ULP_TRY(ulp_call_take(call, size, sizeof *u->value, &u->value));
    ULP_TRY(ulp_call_take(call, size, sizeof *u->counts, &u->counts));
    for (size_t i = 0; i < size; i++)
        order[i] = i;
    qsort_r(order, size, sizeof *order, order_stable, &u->slices);
    for (size_t i = 0; i < size; i++) {
        if (i == 0 || order_slices(&order[i - 1], &order[i], &u->slices) != 0)
            u->first[u->count++] = order[i];
        u->value[order[i]] = u->count - 1;
    }
    for (size_t i = 0; i < size; i++)
        u->counts[u->value[i]]++;
    if (ulp_call_int(call, "sorted"))
        return ULP_OK;
    /* in order of appearance: renumber the values by their first slices */
    size_t *first = order, *counts;
    ULP_TRY(ulp_call_take(call, u->count, sizeof *counts, &counts));
    for (size_t i = 0; i < u->count; i++)
        rank[i] = i;
    qsort_r(rank, u->count, sizeof *rank, order_numbers, u->first);
    for (size_t i = 0; i < u->count; i++) {
        first[i] = u->first[rank[i]];
        counts[i] = u->counts[rank[i]];
        place[rank[i]] = i;
    }
    for (size_t i = 0; i < size; i++)
        u->value[i] = place[u->value[i]];
    u->first = first;
    u->counts = counts;
    return ULP_OK;
}

static enum ulp_status infer_unique(struct ulp_call *call)
{
    const struct ulp_tensor *in = call->in[0];
    struct unique u;
    int64_t dims[ULP_RANK_MAX];
    if (!in->data && in->count)
        return ULP_OK;
    ULP_TRY(find_unique(call, &u));
    const int64_t counts[] = {0, (int64_t)u.count, (int64_t)u.slices.split.size, (int64_t)u.count};
    memcpy(dims, in->dims, sizeof dims);
    dims[u.axis < 0 ? 0 : u.axis] = (int64_t)u.count;
    ULP_TRY(ulp_call_describe(call, 0, in->type, u.axis < 0 ? 1 : in->rank, dims));
    for (size_t i = 1; i < 4; i++)
        ULP_TRY(ulp_call_describe(call, i, ULP_TYPE_INT64, 1, &counts[i]));
    return ULP_OK;
}

static enum ulp_status run_unique(struct ulp_call *call)
{
    struct unique u;
    ULP_TRY(find_unique(call, &u));
    const struct ulp_split s = u.slices.split;
    ULP_CALL_TAKE(int64_t, from, call, s.outer * u.count);
    for (size_t i = 0; i < s.outer * u.count; i++)
        from[i] = (int64_t)((i / u.count * s.size + u.first[i % u.count]) * s.inner);
    const size_t *const lists[] = {NULL, u.first, u.value, u.counts};
    for (size_t i = 1; i < 4; i++)
        for (size_t j = 0; ulp_call_wants(call, i) && j < call->out[i].count; j++)
            ulp_tensor_set_int(&call->out[i], j, (int64_t)lists[i][j]);
    return ulp_call_wants(call, 0) ? ulp_move_blocks(&call->out[0], call->in[0], from, s.inner,
                                                     NULL, call->pool, call->error)
                                   : ULP_OK;
}

#define ARG                                                                       \
    .inputs = "data:c", .outputs = "reduced", .infer = infer_arg, .run = run_arg, \
    .work = ULP_WORK_MOVE
#define WITH_LAST "axis:int=0; keepdims:int=1; select_last_index:int=0"
#define TOP_K \
    .outputs = "values indices", .infer = infer_top_k, .run = run_top_k, .work = ULP_WORK_MOVE

/* clang-format off */
const struct ulp_operator ulp_ops_select[] = {
    {.name = "ArgMax", .since = 1, ARG, .attributes = "axis:int=0; keepdims:int=1", .parameter = 1},
    {.name = "ArgMax", .since = 12, ARG, .attributes = WITH_LAST, .parameter = 1},
    {.name = "ArgMin", .since = 1, ARG, .attributes = "axis:int=0; keepdims:int=1",
     .parameter = -1},
    {.name = "ArgMin", .since = 12, ARG, .attributes = WITH_LAST, .parameter = -1},
    {.name = "Compress", .since = 9, .inputs = "input condition:b", .outputs = "output",
     .attributes = "axis:int",
     .infer = infer_compress, .run = run_compress, .work = ULP_WORK_MOVE},
    {.name = "Hardmax", .since = 1, .inputs = "input:c", .outputs = "output",
     .attributes = "axis:int=1",
     .infer = ulp_infer_first, .run = run_hardmax, .work = ULP_WORK_MOVE, .parameter = 1},
    {.name = "Hardmax", .since = 13, .inputs = "input:c", .outputs = "output",
     .attributes = "axis:int=-1",
     .infer = ulp_infer_first, .run = run_hardmax, .work = ULP_WORK_MOVE},
    {.name = "NonZero", .since = 9, .inputs = "x:n", .outputs = "y", .infer = infer_non_zero,
     .run = run_non_zero, .work = ULP_WORK_MOVE},
    {.name = "TopK", .since = 1, .inputs = "x:c", TOP_K, .attributes = "axis:int=-1; k:!int"},
    {.name = "TopK", .since = 10, .inputs = "x:c k:i", TOP_K, .attributes = "axis:int=-1"},
    {.name = "TopK", .since = 11, .inputs = "x:c k:i", TOP_K,
     .attributes = "axis:int=-1; largest:int=1; sorted:int=1"},
    {.name = "Unique", .since = 11, .inputs = "x:c", .outputs = "y indices? inverse_indices? counts?",
     .attributes = "axis:int; sorted:int=1", .infer = infer_unique, .run = run_unique,
     .work = ULP_WORK_MOVE},
    {0},
};
/* clang-format on */
