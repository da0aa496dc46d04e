/* Moving elements as bytes. */
#include "ops/ops_move.h"

#include <string.h>

#include "base/error.h"
#include "base/tuning.h"

void ulp_move_run(struct ulp_tensor *out, size_t to, const struct ulp_tensor *in, size_t from,
                  size_t count)
{
    if (count)
        memcpy(ulp_element_at(out, to), ulp_element_at(in, from), count * out->element_bytes);
}

void ulp_move_all(struct ulp_tensor *out, const struct ulp_tensor *in)
{
    ulp_move_run(out, 0, in, 0, out->count);
}

void ulp_move_fill(struct ulp_tensor *out, size_t first, size_t count, const void *element)
{
    /* By copying what is there already, in pieces that stay in the first-level cache. */
    const size_t piece = 8192 / out->element_bytes + 1;
    char *to = ulp_element_at(out, first);
    if (out->element_bytes == sizeof(uint32_t) && count <= 16) { /* around a row of an image */
        for (size_t i = 0; i < count; i++)
            memcpy(to + i * sizeof(uint32_t), element, sizeof(uint32_t));
        return;
    }
    if (count)
        memcpy(to, element, out->element_bytes);
    for (size_t done = 1, next; done < count; done += next) {
        next = done < piece ? done : piece;
        next = next < count - done ? next : count - done;
        memcpy(to + done * out->element_bytes, to, next * out->element_bytes);
    }
}

enum ulp_status ulp_move_table(const struct ulp_call *call, int64_t **table, size_t count,
                               int64_t start, int64_t step)
{
    ULP_TRY(ulp_call_take(call, count, sizeof **table, table));
    for (size_t i = 0; i < count; i++)
        (*table)[i] = start + (int64_t)i * step;
    return ULP_OK;
}

/* Elements of these sizes, whatever their type. */
typedef uint32_t __attribute__((may_alias)) word32;
typedef uint64_t __attribute__((may_alias)) word64;

struct axes_job {
    struct ulp_tensor *out;
    const struct ulp_tensor *in;
    const int64_t *const *tables;
    const void *fill;
    size_t row; /* of out's last axis */
    /* a row is one block, at [first, last), with places that do not exist before and behind it */
    bool contiguous;
    size_t first, last;
};

/* out[i] = in[base + table[i]], i < count, specialised for the sizes that matter. */
static void move_row(char *out, const char *in, int64_t base, const int64_t *table, size_t count,
                     size_t bytes, const void *fill)
{
#define MOVE(type)                     \
    for (size_t i = 0; i < count; i++) \
    ((type *)out)[i] =                 \
        table[i] == ULP_NOWHERE ? *(const type *)fill : ((const type *)in)[base + table[i]]
    switch (bytes) {
    case 1: MOVE(uint8_t); return;
    case 4: MOVE(word32); return;
    case 8: MOVE(word64); return;
    default:
        for (size_t i = 0; i < count; i++)
            memcpy(out + i * bytes,
                   table[i] == ULP_NOWHERE ? fill
                                           : (const void *)(in + (size_t)(base + table[i]) * bytes),
                   bytes);
    }
#undef MOVE
}

/* A row that is one block, and what does not exist around it. */
static inline void move_block(const struct axes_job *job, size_t row, int64_t from)
{
    const size_t r = row * job->row;
    ulp_move_fill(job->out, r, job->first, job->fill);
    ulp_move_fill(job->out, r + job->last, job->row - job->last, job->fill);
    ulp_move_run(job->out, r + job->first, job->in, (size_t)from, job->last - job->first);
}

ULP_WORK(move_rows)
{
    const struct axes_job *job = context;
    const struct ulp_tensor *out = job->out;
    const int rows = out->rank - 2; /* the axis of neighbours among rows; negative: there is none */
    const int64_t *const last_table = out->rank ? job->tables[out->rank - 1] : NULL,
                         *const row_table = rows < 0 ? NULL : job->tables[rows];
    const int64_t block = job->contiguous && last_table ? last_table[job->first] : 0;
    int64_t index[ULP_RANK_MAX] = {0};
    size_t rest = first;
    for (int d = rows; d >= 0; d--) {
        index[d] = (int64_t)(rest % (size_t)out->dims[d]);
        rest /= (size_t)out->dims[d];
    }
    for (size_t r = first; r < last;) {
        int64_t outer = 0;
        bool exists = true;
        for (int d = 0; d < rows; d++) {
            const int64_t offset = job->tables[d] ? job->tables[d][index[d]] : 0;
            exists = exists && offset != ULP_NOWHERE;
            outer += exists ? offset : 0;
        }
        const size_t here = rows < 0 ? 1 : (size_t)(out->dims[rows] - index[rows]),
                     end = here < last - r ? r + here : last;
        for (size_t i = rows < 0 ? 0 : (size_t)index[rows]; r < end; r++, i++) {
            const int64_t offset = row_table ? row_table[i] : 0, base = outer + offset;
            char *to = ulp_element_at(out, r * job->row);
            if (!exists || offset == ULP_NOWHERE)
                ulp_move_fill(job->out, r * job->row, job->row, job->fill);
            else if (job->contiguous)
                move_block(job, r, base + block);
            else if (!last_table)
                ulp_move_fill(job->out, r * job->row, job->row,
                              ulp_element_at(job->in, (size_t)base));
            else
                move_row(to, job->in->data, base, last_table, job->row, out->element_bytes,
                         job->fill);
        }
        if (rows >= 0)
            index[rows] = out->dims[rows];
        for (int d = rows; d >= 0 && index[d] == out->dims[d]; d--) {
            index[d] = 0;
            if (d > 0)
                index[d - 1]++;
        }
    }
    return ULP_OK;
}

/* Does the table count up by one, but for places that do not exist at its ends? */
static bool find_block(struct axes_job *job, const int64_t *table)
{
    job->last = job->row;
    if (!table)
        return job->row == 1;
    while (job->first < job->last && table[job->first] == ULP_NOWHERE)
        job->first++;
    while (job->last > job->first && table[job->last - 1] == ULP_NOWHERE)
        job->last--;
    for (size_t i = job->first + 1; i < job->last; i++)
        if (table[i] == ULP_NOWHERE || table[i] != table[i - 1] + 1)
            return false;
    return job->first < job->last;
}

enum ulp_status ulp_move_axes(struct ulp_tensor *out, const struct ulp_tensor *in,
                              const int64_t *const *tables, const void *fill, struct ulp_pool *pool,
                              struct ulp_error *error)
{
    if (out->count == 0)
        return ULP_OK;
    size_t row = out->rank ? (size_t)out->dims[out->rank - 1] : 1;
    struct axes_job job = {.out = out, .in = in, .tables = tables, .fill = fill, .row = row};
    job.contiguous = find_block(&job, out->rank ? tables[out->rank - 1] : NULL);
    return ulp_parallel_for(pool, out->count / row, ULP_TUNE_MOVE_GRAIN / row + 1, move_rows, &job,
                            error);
}

enum ulp_status ulp_move_permuted(struct ulp_call *call, struct ulp_tensor *out,
                                  const struct ulp_tensor *in, int rank, const int64_t *dims,
                                  const int *perm)
{
    struct ulp_tensor from = ulp_tensor_view(in), to = ulp_tensor_view(out);
    int64_t strides[ULP_RANK_MAX], *tables[ULP_RANK_MAX];
    from.rank = to.rank = rank;
    memcpy(from.dims, dims, (size_t)rank * sizeof *dims);
    ulp_strides(&from, strides);
    for (int d = 0; d < rank; d++) {
        to.dims[d] = dims[perm[d]];
        ULP_TRY(ulp_move_table(call, &tables[d], (size_t)to.dims[d], 0, strides[perm[d]]));
    }
    return ulp_move_axes(&to, &from, (const int64_t *const *)tables, NULL, call->pool, call->error);
}

enum ulp_status ulp_move_transposed(struct ulp_call *call, struct ulp_tensor *out,
                                    const struct ulp_tensor *in, const int *perm, bool shape_only)
{
    int64_t dims[ULP_RANK_MAX];
    for (int d = 0; d < in->rank; d++)
        dims[d] = in->dims[perm[d]];
    ULP_TRY(ulp_tensor_describe(out, in->type, in->element, in->precision, in->rank, dims,
                                call->error));
    if (!shape_only)
        ULP_TRY(ulp_call_temporary(call, out));
    return !shape_only ? ulp_move_permuted(call, out, in, in->rank, in->dims, perm) : ULP_OK;
}

struct blocks_job {
    struct ulp_tensor *out;
    const struct ulp_tensor *in;
    const int64_t *from;
    size_t run;
    const void *fill;
};

ULP_WORK(move_blocks)
{
    const struct blocks_job *job = context;
    size_t bytes = job->out->element_bytes;
    if (job->run == 1) {
        move_row(ulp_element_at(job->out, first), job->in->data, 0, job->from + first, last - first,
                 bytes, job->fill);
        return ULP_OK;
    }
    for (size_t b = first; b < last; b++) {
        if (job->from[b] == ULP_NOWHERE)
            ulp_move_fill(job->out, b * job->run, job->run, job->fill);
        else
            memcpy(ulp_element_at(job->out, b * job->run),
                   ulp_element_at(job->in, (size_t)job->from[b]), job->run * bytes);
    }
    return ULP_OK;
}

enum ulp_status ulp_move_blocks(struct ulp_tensor *out, const struct ulp_tensor *in,
                                const int64_t *from, size_t run, const void *fill,
                                struct ulp_pool *pool, struct ulp_error *error)
{
    if (out->count == 0 || run == 0)
        return ULP_OK;
    struct blocks_job job = {out, in, from, run, fill};
    return ulp_parallel_for(pool, out->count / run, ULP_TUNE_MOVE_GRAIN / run + 1, move_blocks,
                            &job, error);
}

/* In bytes; a long run is several pieces. */
struct runs_job {
    char *to;
    const char *from;
    size_t to_step, from_step, run, piece, pieces;
};

ULP_WORK(move_runs)
{
    const struct runs_job *job = context;
    for (size_t i = first; i < last; i++) {
        const size_t run = job->pieces > 1 ? i / job->pieces : i,
                     at = (i - run * job->pieces) * job->piece;
        memcpy(job->to + run * job->to_step + at, job->from + run * job->from_step + at,
               ulp_size_min(job->run - at, job->piece));
    }
    return ULP_OK;
}

enum ulp_status ulp_move_runs(struct ulp_tensor *out, size_t to, size_t to_step,
                              const struct ulp_tensor *in, size_t from, size_t from_step,
                              size_t count, size_t run, struct ulp_pool *pool,
                              struct ulp_error *error)
{
    const size_t bytes = out->element_bytes, piece = ulp_size_min(run, ULP_TUNE_MOVE_GRAIN);
    if (run == 0 || count == 0)
        return ULP_OK;
    struct runs_job job = {.to = ulp_element_at(out, to),
                           .from = ulp_element_at(in, from),
                           .to_step = to_step * bytes,
                           .from_step = from_step * bytes,
                           .run = run * bytes,
                           .piece = piece * bytes,
                           .pieces = ulp_size_divide_up(run, piece)};
    return ulp_parallel_for(pool, count * job.pieces, ULP_TUNE_MOVE_GRAIN / piece, move_runs, &job,
                            error);
}

int64_t ulp_pad_constant(int64_t i, int64_t n)
{
    return i >= 0 && i < n ? i : ULP_NOWHERE;
}

int64_t ulp_pad_edge(int64_t i, int64_t n)
{
    return ulp_clamp(i, 0, n - 1);
}

int64_t ulp_pad_reflect(int64_t i, int64_t n)
{
    int64_t j = n == 1 ? 0 : ulp_pad_wrap(i, 2 * (n - 1));
    return j < n ? j : 2 * (n - 1) - j;
}

int64_t ulp_pad_symmetric(int64_t i, int64_t n)
{
    int64_t j = ulp_pad_wrap(i, 2 * n);
    return j < n ? j : 2 * n - 1 - j;
}

int64_t ulp_pad_wrap(int64_t i, int64_t n)
{
    int64_t rest = i % n;
    return rest < 0 ? rest + n : rest;
}

enum ulp_status ulp_read_index(const struct ulp_tensor *indices, size_t i, int64_t size,
                               int64_t *out, struct ulp_error *error)
{
    int64_t index = ulp_tensor_get_int(indices, i);
    if (index < -size || index >= size)
        return ulp_fail(error, ULP_ERROR_INPUT,
                        "index %lld at position %zu is outside an axis of %lld elements",
                        (long long)index, i, (long long)size);
    *out = index < 0 ? index + size : index;
    return ULP_OK;
}
