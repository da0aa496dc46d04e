/* Operators that choose elements by an index tensor. */
#include <string.h>

#include "base/error.h"
#include "ops/combine.h"
#include "ops/ops_move.h"

/* ---- Gather ---- */

static enum ulp_status infer_gather(struct ulp_call *call)
{
    const struct ulp_tensor *data = call->in[0], *indices = call->in[1];
    int64_t dims[ULP_RANK_MAX];
    ULP_CALL_AXIS(axis, call);
    int rank = data->rank - 1 + indices->rank;
    ULP_TRY(ulp_check_rank((size_t)rank, call->error));
    memcpy(dims, data->dims, (size_t)axis * sizeof *dims);
    memcpy(dims + axis, indices->dims, (size_t)indices->rank * sizeof *dims);
    memcpy(dims + axis + indices->rank, data->dims + axis + 1,
           (size_t)(data->rank - axis - 1) * sizeof *dims);
    return ulp_call_describe(call, 0, data->type, rank, dims);
}

static enum ulp_status run_gather(struct ulp_call *call)
{
    const struct ulp_tensor *data = call->in[0], *indices = call->in[1];
    int64_t *outer, *chosen, *inner;
    ULP_CALL_AXIS(axis, call);
    const struct ulp_split split = ulp_split_at(data, axis);
    ULP_TRY(ulp_move_table(call, &outer, split.outer, 0, (int64_t)(split.size * split.inner)));
    ULP_TRY(ulp_move_table(call, &chosen, indices->count, 0, 0));
    ULP_TRY(ulp_move_table(call, &inner, split.inner, 0, 1));
    for (size_t i = 0; i < indices->count; i++) {
        ULP_TRY(ulp_read_index(indices, i, (int64_t)split.size, &chosen[i], call->error));
        chosen[i] *= (int64_t)split.inner;
    }
    struct ulp_tensor taken = ulp_tensor_view(&call->out[0]);
    if (call->lowering)
        ULP_TRY(ulp_call_taken(call, &taken, data));
    struct ulp_tensor out = ulp_tensor_view(&taken);
    out.rank = 3;
    out.dims[0] = (int64_t)split.outer, out.dims[1] = (int64_t)indices->count,
    out.dims[2] = (int64_t)split.inner;
    ULP_TRY(ulp_move_axes(&out, data, (const int64_t *const[]){outer, chosen, inner}, NULL,
                          call->pool, call->error));
    return call->lowering ? ulp_call_lower_taken(call, &taken) : ULP_OK;
}

/* ---- GatherElements, ScatterElements: one place of data per element of indices ---- */

static enum ulp_status check_elements(const struct ulp_tensor *data,
                                      const struct ulp_tensor *indices, int axis,
                                      struct ulp_error *error)
{
    bool fits = data->rank == indices->rank;
    for (int d = 0; fits && d < data->rank; d++)
        fits = d == axis || indices->dims[d] <= data->dims[d];
    char a[200], b[200];
    return fits ? ULP_OK
                : ulp_fail(error, ULP_ERROR_INPUT, "indices, %s, do not lie inside data, %s",
                           ulp_tensor_describe_text(indices, a, sizeof a),
                           ulp_tensor_describe_text(data, b, sizeof b));
}

/* places[i] = the element of data that position i of indices names. */
static enum ulp_status element_places(struct ulp_call *call, const struct ulp_tensor *data,
                                      const struct ulp_tensor *indices, int64_t **places)
{
    int64_t strides[ULP_RANK_MAX];
    ULP_CALL_AXIS(axis, call);
    ULP_TRY(check_elements(data, indices, axis, call->error));
    ULP_TRY(ulp_call_take(call, indices->count, sizeof **places, places));
    ulp_strides(data, strides);
    for (size_t i = 0; i < indices->count; i++) {
        int64_t index = 0, place = 0;
        size_t rest = i;
        for (int d = indices->rank - 1; d >= 0; d--) {
            place += d == axis ? 0 : (int64_t)(rest % (size_t)indices->dims[d]) * strides[d];
            rest /= (size_t)indices->dims[d];
        }
        ULP_TRY(ulp_read_index(indices, i, data->dims[axis], &index, call->error));
        (*places)[i] = place + index * strides[axis];
    }
    return ULP_OK;
}

static enum ulp_status infer_gather_elements(struct ulp_call *call)
{
    return ulp_call_describe(call, 0, call->in[0]->type, call->in[1]->rank, call->in[1]->dims);
}

static enum ulp_status run_gather_elements(struct ulp_call *call)
{
    int64_t *places;
    ULP_TRY(element_places(call, call->in[0], call->in[1], &places));
    return ulp_move_blocks(&call->out[0], call->in[0], places, 1, NULL, call->pool, call->error);
}

/* ---- GatherND, ScatterND: one block of data per row of indices ---- */

struct block_layout {
    int batch_dims, index_size; /* leading axes shared; axes that a row of indices names */
    size_t row_count, run;      /* rows of indices; elements of a block */
};

static enum ulp_status read_blocks(const struct ulp_call *call, struct block_layout *out)
{
    const struct ulp_tensor *data = call->in[0], *indices = call->in[1];
    int64_t batch = ulp_call_int(call, "batch_dims");
    int64_t last = indices->rank ? indices->dims[indices->rank - 1] : 0;
    bool fits = indices->rank >= 1 && batch >= 0 && batch < indices->rank && batch <= data->rank &&
                last <= data->rank - batch;
    for (int d = 0; fits && d < batch; d++)
        fits = data->dims[d] == indices->dims[d];
    if (!fits)
        return ULP_REFUSE(call, "indices with %lld numbers a row do not fit data of rank %d",
                          (long long)last, data->rank);
    *out = (struct block_layout){(int)batch, (int)last, 1, 1};
    for (int d = 0; d < indices->rank - 1; d++)
        out->row_count *= (size_t)indices->dims[d];
    for (int d = (int)(batch + last); d < data->rank; d++)
        out->run *= (size_t)data->dims[d];
    return ULP_OK;
}

static enum ulp_status block_places(struct ulp_call *call, const struct block_layout *layout,
                                    int64_t **places)
{
    const struct ulp_tensor *data = call->in[0], *indices = call->in[1];
    int64_t strides[ULP_RANK_MAX];
    size_t batches = 1;
    ULP_TRY(ulp_call_take(call, layout->row_count, sizeof **places, places));
    ulp_strides(data, strides);
    for (int d = 0; d < layout->batch_dims; d++)
        batches *= (size_t)data->dims[d];
    size_t per_batch = batches ? layout->row_count / batches : 0;
    int64_t batch_stride = layout->batch_dims ? strides[layout->batch_dims - 1] : 0;
    for (size_t r = 0; r < layout->row_count; r++) {
        int64_t place = (int64_t)(r / per_batch) * batch_stride;
        for (int k = 0; k < layout->index_size; k++) {
            int64_t index = 0;
            int axis = layout->batch_dims + k;
            ULP_TRY(ulp_read_index(indices, r * (size_t)layout->index_size + (size_t)k,
                                   data->dims[axis], &index, call->error));
            place += index * strides[axis];
        }
        (*places)[r] = place;
    }
    return ULP_OK;
}

static enum ulp_status infer_gather_nd(struct ulp_call *call)
{
    const struct ulp_tensor *data = call->in[0], *indices = call->in[1];
    struct block_layout layout;
    int64_t dims[2 * ULP_RANK_MAX];
    ULP_TRY(read_blocks(call, &layout));
    int first = layout.batch_dims + layout.index_size,
        rank = indices->rank - 1 + data->rank - first;
    ULP_TRY(ulp_check_rank((size_t)rank, call->error));
    memcpy(dims, indices->dims, (size_t)(indices->rank - 1) * sizeof *dims);
    memcpy(dims + indices->rank - 1, data->dims + first,
           (size_t)(data->rank - first) * sizeof *dims);
    return ulp_call_describe(call, 0, data->type, rank, dims);
}

static enum ulp_status run_gather_nd(struct ulp_call *call)
{
    struct block_layout layout;
    int64_t *places;
    ULP_TRY(read_blocks(call, &layout));
    if (call->out[0].count)
        ULP_TRY(block_places(call, &layout, &places));
    return call->out[0].count ? ulp_move_blocks(&call->out[0], call->in[0], places, layout.run,
                                                NULL, call->pool, call->error)
                              : ULP_OK;
}

/* ---- Scatter: updates combined into a copy of data, in the order of indices ---- */

static const struct reduction {
    const char *name;
    struct ulp_formula formula; /* text NULL: the last update stays */
} reductions[] = {
    {"none", {.text = NULL}},
    {"add", {"old update", "new", "old + update"}},
    {"mul", {"old update", "new", "old * update"}},
    {"max", {"old update", "new", "max(old, update)"}},
    {"min", {"old update", "new", "min(old, update)"}},
};
#define REDUCTIONS                                                                       \
    ULP_FORMULAS(&reductions[1].formula, &reductions[2].formula, &reductions[3].formula, \
                 &reductions[4].formula)

static const struct reduction *find_reduction(const struct ulp_call *call)
{
    const char *name = ulp_call_attribute(call, "reduction")->s;
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (strcmp(name ? name : "none", reductions[i].name) == 0)
            return &reductions[i];
    return NULL;
}

static enum ulp_status check_scatter(struct ulp_call *call)
{
    return find_reduction(call)
               ? ULP_OK
               : ULP_REFUSE(call, "reduction %s: expected none, add, mul, max or min",
                            ulp_call_attribute(call, "reduction")->s);
}

static enum ulp_status scatter(struct ulp_call *call, const int64_t *places, size_t update_count,
                               size_t run)
{
    const struct reduction *reduction = find_reduction(call);
    const struct ulp_tensor *updates = call->in[2];
    struct ulp_tensor *out = &call->out[0];
    ulp_move_all(out, call->in[0]);
    if (updates->count && reduction->formula.text)
        return ulp_combine(call, &reduction->formula, call->arithmetic, out, updates, places,
                           update_count, run);
    for (size_t u = 0; updates->count && u < update_count; u++)
        ulp_move_run(out, (size_t)places[u], updates, u * run, run);
    return ULP_OK;
}

static enum ulp_status check_updates(const struct ulp_call *call, size_t update_count, size_t run)
{
    size_t wanted;
    const size_t count = call->in[2]->count;
    return ulp_size_mul(update_count, run, &wanted) && wanted == count
               ? ULP_OK
               : ULP_REFUSE(call, "updates have %zu elements: indices ask for %zu times %zu", count,
                            update_count, run);
}

static enum ulp_status run_scatter_elements(struct ulp_call *call)
{
    int64_t *places;
    if (!ulp_tensor_same_shape(call->in[1], call->in[2]))
        return ULP_REFUSE(call, "indices and updates have different shapes");
    ULP_TRY(element_places(call, call->in[0], call->in[1], &places));
    return scatter(call, places, call->in[1]->count, 1);
}

static enum ulp_status run_scatter_nd(struct ulp_call *call)
{
    struct block_layout layout;
    int64_t *places;
    ULP_TRY(read_blocks(call, &layout));
    ULP_TRY(check_updates(call, layout.row_count, layout.run));
    ULP_TRY(block_places(call, &layout, &places));
    return scatter(call, places, layout.row_count, layout.run);
}

/* ---- TensorScatter: a run of positions written into a cache, for each item of the batch at its
 * own place ---- */

static enum ulp_status run_tensor_scatter(struct ulp_call *call)
{
    const struct ulp_tensor *cache = call->in[0], *update = call->in[1],
                            *indices = ulp_call_in(call, 2);
    struct ulp_tensor *out = &call->out[0];
    const bool circular = ulp_call_is(call, "mode", "circular");
    ULP_CALL_AXIS(axis, call);
    ULP_TRY(update->rank == cache->rank && axis > 0
                ? check_elements(cache, update, axis, call->error)
                : ULP_REFUSE(call, "axis %d or the update's rank does not fit", axis));
    if (out->count == 0)
        return ULP_OK;
    const struct ulp_split to = ulp_split_at(cache, axis), from = ulp_split_at(update, axis);
    const size_t batches = (size_t)cache->dims[0];
    if (to.outer != from.outer || to.inner != from.inner || (indices && indices->count != batches))
        return ULP_REFUSE(call, "the update or write_indices do not fit the cache");
    ulp_move_all(out, cache);
    for (size_t o = 0; o < to.outer; o++)
        for (size_t i = 0; i < from.size; i++) {
            const int64_t first =
                indices ? ulp_tensor_get_int(indices, o / (to.outer / batches)) : 0;
            if (first < 0 || (!circular && first + i >= to.size))
                return ULP_REFUSE(call, "%zu positions from %lld are outside the cache of %zu",
                                  from.size, (long long)first, to.size);
            const size_t at = ((size_t)first + i) % to.size;
            ulp_move_run(out, (o * to.size + at) * to.inner, update, (o * from.size + i) * to.inner,
                         to.inner);
        }
    return ULP_OK;
}

#define SCATTER_ELEMENTS                                                               \
    .inputs = "data indices:i updates", .outputs = "output", .infer = ulp_infer_first, \
    .check = check_scatter, .run = run_scatter_elements, .formulas = REDUCTIONS
#define SCATTER_ND                                                                     \
    .inputs = "data indices:i updates", .outputs = "output", .infer = ulp_infer_first, \
    .check = check_scatter, .run = run_scatter_nd, .formulas = REDUCTIONS

/* clang-format off */
const struct ulp_operator ulp_ops_gather[] = {
    {.name = "Gather", .since = 1, .inputs = "data:t indices:i", .outputs = "output",
     .attributes = "axis:int=0",
     .infer = infer_gather, .run = run_gather, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_COPIED},
    {.name = "GatherElements", .since = 11, .inputs = "data indices:i", .outputs = "output",
     .attributes = "axis:int=0",
     .infer = infer_gather_elements, .run = run_gather_elements, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_COPIED},
    {.name = "GatherND", .since = 11, .inputs = "data indices:i", .outputs = "output",
     .infer = infer_gather_nd,
     .run = run_gather_nd, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_COPIED},
    {.name = "GatherND", .since = 12, .inputs = "data indices:i", .outputs = "output",
     .attributes = "batch_dims:int=0",
     .infer = infer_gather_nd, .run = run_gather_nd, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_COPIED},
    {.name = "Scatter", .since = 9, .until = 10, SCATTER_ELEMENTS, .attributes = "axis:int=0"},
    {.name = "ScatterElements", .since = 11, SCATTER_ELEMENTS, .attributes = "axis:int=0"},
    {.name = "ScatterElements", .since = 16, SCATTER_ELEMENTS,
     .attributes = "axis:int=0; reduction:string=none"},
    {.name = "ScatterND", .since = 11, SCATTER_ND},
    {.name = "ScatterND", .since = 16, SCATTER_ND, .attributes = "reduction:string=none"},
    {.name = "TensorScatter", .since = 24, .inputs = "past_cache update write_indices:i?",
     .outputs = "present_cache",
     .attributes = "axis:int=-2; mode:string=linear", .infer = ulp_infer_first,
     .run = run_tensor_scatter, .work = ULP_WORK_MOVE, .route = ULP_ROUTE_COPIED},
    {0},
};
/* clang-format on */
