/* com.microsoft's MatMulNBits: a product with weights of 2, 4 or 8 bits, which share a scale and a
 * zero point in blocks. B is (N, blocks, bytes of a block), K values packed from the low bits up;
 * where ONNX Runtime makes it of a Q/DQ graph (integer_form.c), the dequantised matrix. */
#include "ops/microsoft/bits.h"

#include <string.h>

#include "base/error.h"
#include "ops/contraction.h"
#include "ops/steps.h"

struct packed {
    int64_t n, k, bits, block, blocks;
};

static enum ulp_status read_packed(const struct ulp_call *call, struct packed *p)
{
    *p = (struct packed){.n = ulp_call_int(call, "N"),
                         .k = ulp_call_int(call, "K"),
                         .bits = ulp_call_int(call, "bits"),
                         .block = ulp_call_int(call, "block_size")};
    const struct ulp_tensor *a = call->in[0], *b = call->in[1], *zero = ulp_call_in(call, 3),
                            *groups = ulp_call_in(call, 4);
    const int64_t size_max = 1 << 30, block_max = 1 << 16;
    if (p->n < 1 || p->n > size_max || p->k < 1 || p->k > size_max || p->block < 16 ||
        p->block > block_max || (p->block & (p->block - 1)) ||
        (p->bits != 2 && p->bits != 4 && p->bits != 8))
        return ulp_fail(
            call->error, ULP_ERROR_UNSUPPORTED,
            "N %lld, K %lld, %lld bits, blocks of %lld: expected N and K from 1 to 2^30, 2, 4 or 8 "
            "bits, blocks of 2^4 to 2^16",
            (long long)p->n, (long long)p->k, (long long)p->bits, (long long)p->block);
    p->blocks = (p->k + p->block - 1) / p->block;
    const int64_t packed_zeros = p->n * ((p->blocks * p->bits + 7) / 8), entries = p->n * p->blocks;
    if (a->rank < 1 || a->dims[a->rank - 1] != p->k ||
        (int64_t)b->count != ulp_dim_mul(entries, p->block * p->bits / 8) ||
        (int64_t)call->in[2]->count != entries ||
        (zero && (int64_t)zero->count != (zero->type == ULP_TYPE_UINT8 ? packed_zeros : entries)) ||
        (groups && (int64_t)groups->count < p->k))
        return ULP_REFUSE(
            call, "A, B, scales or zero points do not fit N %lld, K %lld and blocks of %lld",
            (long long)p->n, (long long)p->k, (long long)p->block);
    return ULP_OK;
}

static enum ulp_status infer_packed(struct ulp_call *call)
{
    struct packed p;
    const struct ulp_tensor *a = call->in[0];
    int64_t dims[ULP_RANK_MAX];
    ULP_TRY(read_packed(call, &p));
    memcpy(dims, a->dims, sizeof dims);
    dims[a->rank - 1] = p.n;
    return ulp_call_describe(call, 0, a->type, a->rank, dims);
}

void ulp_unpack_bits(const struct ulp_tensor *in, int64_t first_row, int64_t rows, int64_t columns,
                     int64_t row_bytes, int64_t bits, struct ulp_tensor *out)
{
    const unsigned char *from = (const unsigned char *)in->data + first_row * row_bytes;
    unsigned char *to = out->data;
    const int mask = (1 << bits) - 1;
    for (int64_t row = 0; row < rows; row++, from += row_bytes, to += columns)
        for (int64_t i = 0; i < columns; i++)
            to[i] = (unsigned char)(from[i * bits / 8] >> i * bits % 8 & mask);
}

const char *const ulp_bits_middle[9] = {[2] = "2", [4] = "8", [8] = "128"};

static const struct ulp_formula unpacked = {"q scale zero", "y", "(q - zero) * scale"},
                                unpacked_fused = {"q scale zero", "y",
                                                  "fma(q, scale, -(scale * zero))"},
                                summed = {"x", "y", "row_sum(x)"};

/* How a kernel multiplies: by which weights, and what it adds them in. */
enum kernel {
    ROUNDED, /* the difference times the scale, rounded once */
    FUSED,   /* the product and what the zero point makes of it are rounded, as they are in FP16 */
    FLOATS,  /* not rounded to FP16 */
    EIGHTHS, /* as FUSED, 32 threads add every eighth product in FP16, then these */
    HALVES,  /* as FUSED, 32 threads add every other product in FP16 */
};

/* ONNX Runtime's CUDA provider by shape (recorded: lab/record_ort_cuda.py). */
static enum kernel find_kernel(const struct ulp_call *call, const struct packed *p)
{
    enum { ROWS_MAX = 16, ROWS_MAX_BYTES = 5, BLOCK_MAX = 128 };
    const struct ulp_arithmetic *as = call->arithmetic;
    const int64_t rows = (int64_t)(call->in[0]->count / (size_t)p->k);
    if (as->steps != ULP_STEPS_ORT_CUDA || as->storage.precision > 11)
        return ROUNDED;
    if (p->n % 8 || p->k % 8 || p->block > BLOCK_MAX || ulp_call_in(call, 4) ||
        ulp_call_in(call, 5) || p->bits == 2)
        return FUSED;
    if (p->bits == 4)
        return rows == 1 ? EIGHTHS : rows <= ROWS_MAX ? HALVES : FUSED;
    if (p->k % p->block || rows > ROWS_MAX_BYTES)
        return FUSED;
    return rows == 1 && as->storage.precision == 11 ? ROUNDED : FLOATS;
}

/* B, a block of columns at a time: (q - zero) * scale, rounded once. */
struct dequantizing {
    struct packed p;
    enum kernel kernel;
    int64_t columns; /* of a block */
    struct ulp_tensor values, zeros, out;
    const struct ulp_tensor *a;    /* the first factor */
    const struct ulp_tensor *zero; /* NULL: the middle of q's range */
    const struct ulp_arithmetic *arithmetic;
    int64_t *block_of; /* of each of the k rows */
};

/* The blocks depend on sizes alone, so that stochastic draws do not depend on anything else. */
static int64_t block_columns(const struct ulp_call *call, const struct packed *p)
{
    const int64_t count_max = 1 << 22, most = count_max / p->k < 64 ? 64 : count_max / p->k;
    if (call->trace || p->n <= most)
        return p->n; /* what a trace records stays in memory */
    const int64_t blocks = (p->n + most - 1) / most;
    return (p->n + blocks - 1) / blocks;
}

/* ONNX Runtime's CPU provider widens FP16 activations and scales, and rounds its FP32 sums once. */
static bool widens(const struct ulp_call *call)
{
    return call->arithmetic->schedule.levels_obeyed && !call->trace &&
           call->in[0]->type == ULP_TYPE_FLOAT16;
}

/* A wide lane holds the products in FP64, which has room for the 9 bits of q - zero times the 24 of
 * a scale that the model has; one that is computed is as wide as the lane. */
static enum ulp_status describe_block(struct ulp_call *call, struct dequantizing *d,
                                      struct ulp_arithmetic *fp64)
{
    const int64_t dims[] = {d->columns, d->p.k};
    const enum ulp_type type = call->in[0]->type;
    const bool integers = !d->zero || !ulp_element_is_float(d->zero->element);
    d->arithmetic = call->arithmetic;
    if (integers && call->in[2]->element == ULP_ELEMENT_F32 &&
        call->arithmetic->storage.carrier == ULP_CARRIER_MPFR &&
        call->arithmetic->storage.precision >= 53) {
        d->arithmetic = fp64;
        ULP_TRY(ulp_arithmetic_find("fp64", fp64, call->error));
        return ulp_call_temporary_in(call, &d->out, &fp64->storage, 2, dims);
    }
    if (widens(call) || d->kernel == FLOATS) {
        d->arithmetic = fp64;
        ULP_TRY(ulp_arithmetic_find("fp32", fp64, call->error));
        return ulp_call_temporary_in(call, &d->out, &fp64->storage, 2, dims);
    }
    if (d->kernel != ROUNDED) {
        *fp64 = *call->arithmetic;
        ulp_steps_make_strict(fp64);
        d->arithmetic = fp64;
    }
    return ulp_call_make_here(call, &d->out, type, 2, dims);
}

static enum ulp_status take_bytes(struct ulp_call *call, struct ulp_tensor *out, int64_t rows,
                                  int64_t columns)
{
    return ulp_call_make_here(call, out, ULP_TYPE_UINT8, 2, (int64_t[]){rows, columns});
}

static enum ulp_status begin_dequantizing(struct ulp_call *call, struct dequantizing *d,
                                          struct ulp_arithmetic *fp64)
{
    const struct ulp_tensor *groups = ulp_call_in(call, 4);
    const struct packed *p = &d->p;
    d->columns = block_columns(call, p);
    d->zero = ulp_call_in(call, 3);
    if (groups && call->arithmetic->schedule.levels_obeyed && d->zero &&
        d->zero->type == ULP_TYPE_UINT8)
        d->zero = NULL; /* beside g_idx ONNX Runtime's CPU provider reads no zero points of bits */
    ULP_TRY(take_bytes(call, &d->values, d->columns, p->k));
    if (d->zero && d->zero->type == ULP_TYPE_UINT8) {
        ULP_TRY(take_bytes(call, &d->zeros, p->n, p->blocks));
        ulp_unpack_bits(d->zero, 0, p->n, p->blocks, (p->blocks * p->bits + 7) / 8, p->bits,
                        &d->zeros);
        d->zero = &d->zeros;
    }
    ULP_TRY(describe_block(call, d, fp64));
    ULP_TRY(ulp_call_take(call, (size_t)p->k, sizeof *d->block_of, &d->block_of));
    for (int64_t i = 0; i < p->k; i++) {
        d->block_of[i] = groups ? ulp_tensor_get_int(groups, (size_t)i) : i / p->block;
        if (d->block_of[i] < 0 || d->block_of[i] >= p->blocks)
            return ULP_REFUSE(call, "g_idx[%lld] is %lld: there are %lld blocks", (long long)i,
                              (long long)d->block_of[i], (long long)p->blocks);
    }
    return ULP_OK;
}

/* Columns [first, first + count) into d->out, one after the other. */
static enum ulp_status dequantize(struct ulp_call *call, struct dequantizing *d, int64_t first,
                                  int64_t count)
{
    const struct packed *p = &d->p;
    ulp_unpack_bits(call->in[1], first, count, p->k, p->blocks * (p->block * p->bits / 8), p->bits,
                    &d->values);
    const struct ulp_rows rows = {.row_count = (size_t)count, .row_length = (size_t)p->k};
    const struct ulp_operand lines = {.row_stride = p->k, .position_stride = 1},
                             blocks = {.row_stride = p->blocks, .position_offset = d->block_of};
    struct ulp_named_operand operands[] = {{"q", lines}, {"scale", blocks}, {"zero", blocks}};
    struct ulp_named_operand result = {"y", lines};
    struct ulp_tensor scales = ulp_tensor_view_from(call->in[2], (size_t)(first * p->blocks)),
                      zeros;
    operands[0].operand.tensor = &d->values;
    operands[1].operand.tensor = &scales;
    if (d->zero) {
        zeros = ulp_tensor_view_from(d->zero, (size_t)(first * p->blocks));
        operands[2].operand.tensor = &zeros;
    } else {
        operands[2].operand = (struct ulp_operand){.constant = ulp_bits_middle[p->bits]};
    }
    result.operand.tensor = &d->out;
    const bool fused = d->kernel != ROUNDED && d->kernel != FLOATS;
    return ulp_call_formula(call, fused ? &unpacked_fused : &unpacked, d->arithmetic, &rows, 3,
                            operands, 1, &result);
}

/* Columns [first, first + count) of the product. */
static enum ulp_status add_columns(struct ulp_call *call, const struct dequantizing *d,
                                   int64_t first, int64_t count, struct ulp_sums *sums)
{
    const struct packed *p = &d->p;
    const size_t m = call->in[0]->count / (size_t)p->k;
    struct ulp_contraction problem = {
        .batch_count = 1,
        .m = m,
        .n = (size_t)count,
        .k = (size_t)p->k,
        .a = {.tensor = d->a},
        .b = {.tensor = &d->out},
        .out_batch_offset = &first,
    };
    const struct ulp_product_steps steps = {p->k, 1, p->k, 1, p->n, 1};
    ULP_TRY(ulp_product_lay(call, &problem, steps));
    return ulp_sums_add(call, sums, &problem);
}

/* ---- sums of a kernel's threads ---- */

enum { THREADS = 32, THREAD_K = 8, STEP_K = THREADS * THREAD_K };

/* Threads [from, to) go through `count` products for each of their `parts` sums, of which they lay
 * `out`, one thread's sums or one sum's threads side by side. */
static enum ulp_status add_threads(struct ulp_call *call, const struct dequantizing *d,
                                   int64_t columns, int64_t from, int64_t to, int64_t count,
                                   int64_t parts, struct ulp_tensor *out)
{
    static const int order[THREAD_K] = {0, 2, 4, 6, 1, 3, 5, 7}; /* 0 4 1 5 2 6 3 7 are added */
    const int64_t sums = (to - from) * parts, k = d->p.k, all = THREADS * parts;
    if (!sums)
        return ULP_OK;
    ULP_CALL_TAKE(int64_t, begin, call, (size_t)sums);
    ULP_CALL_TAKE(int64_t, at, call, (size_t)sums);
    ULP_CALL_TAKE(int64_t, step, call, (size_t)count + 1);
    for (int64_t s = 0; s < sums; s++) {
        const int64_t thread = from + s / parts, part = s % parts;
        begin[s] = thread * THREAD_K + part;
        at[s] = parts == THREAD_K ? thread * parts + order[part] : part * THREADS + thread;
    }
    for (int64_t i = 0; i < count; i++)
        step[i] = i * parts / THREAD_K * STEP_K + i * parts % THREAD_K;
    struct ulp_contraction problem = {
        .batch_count = (size_t)sums,
        .m = call->in[0]->count / (size_t)k,
        .n = (size_t)columns,
        .k = (size_t)count,
        .a = {.tensor = d->a, .batch_offset = begin, .k_offset = step},
        .b = {.tensor = &d->out, .batch_offset = begin, .k_offset = step},
        .out = out,
        .out_batch_offset = at,
        .store = true,
    };
    const struct ulp_product_steps steps = {k, 1, k, 1, columns * all, all};
    ULP_TRY(ulp_product_lay(call, &problem, steps));
    return ulp_call_contract(call, &problem);
}

/* Rows of `length` sums of `in`, one for each of `out`, which lie `columns` in a line of `line`
 * from `first` on. */
static enum ulp_status add_rows(struct ulp_call *call, const struct ulp_arithmetic *as,
                                const struct ulp_tensor *in, int64_t length, struct ulp_tensor *out,
                                int64_t columns, int64_t line, int64_t first)
{
    const size_t count = in->count / (size_t)length;
    ULP_CALL_TAKE(int64_t, place, call, count);
    for (size_t i = 0; i < count; i++)
        place[i] = (int64_t)i / columns * line + first + (int64_t)i % columns;
    const struct ulp_rows rows = {.row_count = count, .row_length = (size_t)length};
    struct ulp_named_operand x = {"x", {.tensor = in, .row_stride = length, .position_stride = 1}},
                             y = {"y", {.tensor = out, .row_offset = place}};
    return ulp_call_formula(call, &summed, as, &rows, 1, &x, 1, &y);
}

/* Columns [first, first + count) of the product, into output 0: threads' sums in FP16, those of all
 * threads by halves in FP32. */
static enum ulp_status add_columns_by_threads(struct ulp_call *call, const struct dequantizing *d,
                                              int64_t first, int64_t count)
{
    const struct ulp_arithmetic *const given = call->arithmetic;
    struct ulp_arithmetic strict = *given, wide = *given;
    const int64_t k = d->p.k, m = (int64_t)call->in[0]->count / k,
                  parts = d->kernel == EIGHTHS ? THREAD_K : 2, more = k % STEP_K / THREAD_K,
                  products = THREAD_K / parts, dims[] = {m, count, THREADS * parts},
                  threads[] = {m, count, THREADS};
    struct ulp_tensor sums, halved;
    ulp_steps_make_strict(&strict);
    strict.schedule.fused = true;
    wide.reduce = ULP_ORDER_WARP;
    wide.reduce_block = THREADS;
    ULP_TRY(ulp_call_make_here(call, &sums, call->in[0]->type, 3, dims));
    call->arithmetic = &strict;
    enum ulp_status status =
        add_threads(call, d, count, 0, more, (k / STEP_K + 1) * products, parts, &sums);
    ULP_THEN(status,
             add_threads(call, d, count, more, THREADS, k / STEP_K * products, parts, &sums));
    call->arithmetic = given;
    ULP_TRY(status);
    if (parts == THREAD_K) {
        ULP_TRY(ulp_call_make_here(call, &halved, call->in[0]->type, 3, threads));
        ULP_TRY(add_rows(call, &strict, &sums, parts, &halved, THREADS, THREADS, 0));
        sums = halved;
    }
    return add_rows(call, &wide, &sums, sums.dims[2], &call->out[0], count, d->p.n, first);
}

/* ---- accuracy_level 4 ---- */

/* A block of A as MLAS quantises it: signed bytes, to nearest even, of the largest magnitude over
 * 127. */
const struct ulp_formula ulp_bits_coded = {
    "x", "y", "top = row_max(abs(x)); round(x * (top == 0 ? 0 : 127 / top)) * (top / 127)"};

/* Does ONNX Runtime's CPU provider multiply bytes here? Where B is a constant that it packs,
 * without g_idx and with zero points of bits (recorded: lab/record_saturating.py), FP16
 * activations, too. It has no such kernel for 2 bits in blocks of 16. */
static bool quantises(const struct ulp_call *call)
{
    const struct ulp_tensor *zero = ulp_call_in(call, 3);
    return call->arithmetic->schedule.levels_obeyed && !call->trace &&
           ulp_call_int(call, "accuracy_level") == 4 &&
           (call->in[0]->element == ULP_ELEMENT_F32 || call->in[0]->element == ULP_ELEMENT_F64) &&
           call->constants >> 1 & 1 && !ulp_call_in(call, 4) &&
           (!zero || zero->type == ULP_TYPE_UINT8) &&
           (ulp_call_int(call, "bits") > 2 || ulp_call_int(call, "block_size") > 16);
}

/* Of each of `lines` lines of k elements the blocks that begin at `first`, of one length. */
static enum ulp_status code_blocks(struct ulp_call *call, const struct ulp_tensor *in,
                                   struct ulp_tensor *out, size_t k, size_t first, size_t length,
                                   size_t blocks)
{
    const size_t lines = in->count / k;
    struct ulp_arithmetic stored = *call->arithmetic;
    if (widens(call))
        stored.storage = stored.compute;
    ULP_CALL_TAKE(int64_t, row, call, lines * blocks + 1);
    for (size_t r = 0; r < lines * blocks; r++)
        row[r] = (int64_t)(r / blocks * k + first + r % blocks * length);
    const struct ulp_rows rows = {.row_count = lines * blocks, .row_length = length};
    const struct ulp_operand laid = {.row_offset = row, .position_stride = 1};
    struct ulp_named_operand x = {"x", laid}, y = {"y", laid};
    x.operand.tensor = in;
    y.operand.tensor = out;
    return lines * blocks == 0 || length == 0
               ? ULP_OK
               : ulp_call_formula(call, &ulp_bits_coded, &stored, &rows, 1, &x, 1, &y);
}

enum ulp_status ulp_bits_code_lines(struct ulp_call *call, size_t k, size_t block,
                                    const struct ulp_tensor **a)
{
    struct ulp_tensor *out;
    const size_t whole = k / block;
    const enum ulp_type type = widens(call) ? ULP_TYPE_FLOAT : (*a)->type;
    ULP_TRY(ulp_call_make(call, type, (*a)->rank, (*a)->dims, &out));
    ULP_TRY(code_blocks(call, *a, out, k, 0, block, whole));
    ULP_TRY(code_blocks(call, *a, out, k, whole * block, k % block, 1));
    *a = out;
    return ULP_OK;
}

static enum ulp_status run_columns(struct ulp_call *call)
{
    struct dequantizing d = {0};
    struct ulp_arithmetic fp64;
    struct ulp_sums sums;
    ULP_TRY(read_packed(call, &d.p));
    d.a = call->in[0];
    d.kernel = find_kernel(call, &d.p);
    if (quantises(call))
        ULP_TRY(ulp_bits_code_lines(call, (size_t)d.p.k, (size_t)d.p.block, &d.a));
    ULP_TRY(begin_dequantizing(call, &d, &fp64));
    ULP_TRY(ulp_sums_begin(call, call->in[0]->type, ulp_call_in(call, 5), &sums));
    for (int64_t first = 0; first < d.p.n; first += d.columns) {
        const int64_t count = d.p.n - first < d.columns ? d.p.n - first : d.columns;
        ULP_TRY(dequantize(call, &d, first, count));
        ULP_TRY(d.kernel >= EIGHTHS ? add_columns_by_threads(call, &d, first, count)
                                    : add_columns(call, &d, first, count, &sums));
    }
    return ulp_sums_end(call, &sums, "-----b");
}

static enum ulp_status run_packed(struct ulp_call *call)
{
    const struct ulp_arithmetic *const given = call->arithmetic;
    struct ulp_arithmetic wide;
    struct packed p;
    ULP_TRY(read_packed(call, &p));
    const bool floats = find_kernel(call, &p) == FLOATS;
    if (!widens(call) && !floats)
        return run_columns(call);
    ULP_TRY(ulp_arithmetic_find("fp32", &wide, call->error));
    wide.storage = given->storage;
    wide.as_declared = given->as_declared;
    wide.steps = given->steps;
    wide.schedule.levels_obeyed = !floats;
    call->arithmetic = &wide;
    const enum ulp_status status = run_columns(call);
    call->arithmetic = given;
    return status;
}

static enum ulp_status infer_unpacked(struct ulp_call *call)
{
    const struct ulp_tensor *a = call->in[0], *b = call->in[1];
    int64_t dims[ULP_RANK_MAX];
    if (a->rank < 1 || b->rank != 2 || a->dims[a->rank - 1] != b->dims[0])
        return ULP_REFUSE(call, "A and B do not fit");
    if (ulp_call_int(call, "block_size") < 1)
        return ULP_REFUSE(call, "block_size is %lld: expected 1 or more",
                          (long long)ulp_call_int(call, "block_size"));
    memcpy(dims, a->dims, sizeof dims);
    dims[a->rank - 1] = b->dims[1];
    return ulp_call_describe(call, 0, a->type, a->rank, dims);
}

/* accuracy_level 4, of B as it was dequantised. */
static enum ulp_status run_unpacked(struct ulp_call *call)
{
    const struct ulp_tensor *a = call->in[0], *b = call->in[1];
    const struct packed p = {.n = b->dims[1], .k = b->dims[0]};
    const size_t block = (size_t)ulp_call_int(call, "block_size");
    struct ulp_sums sums;
    if (call->arithmetic->schedule.levels_obeyed && !call->trace && p.k > 0)
        ULP_TRY(ulp_bits_code_lines(call, (size_t)p.k, block, &a));
    struct ulp_contraction problem = {.batch_count = 1,
                                      .m = p.k ? a->count / (size_t)p.k : 0,
                                      .n = (size_t)p.n,
                                      .k = (size_t)p.k,
                                      .a = {.tensor = a},
                                      .b = {.tensor = b}};
    const struct ulp_product_steps steps = {p.k, 1, 1, p.n, p.n, 1};
    ULP_TRY(ulp_sums_begin(call, call->in[0]->type, ulp_call_in(call, 2), &sums));
    ULP_TRY(ulp_product_lay(call, &problem, steps));
    ULP_TRY(ulp_sums_add(call, &sums, &problem));
    return ulp_sums_end(call, &sums, "--b");
}

/* clang-format off */
const struct ulp_operator ulp_ops_microsoft_bits[] = {
    /* no operator of a model */
    {.name = "DequantizedMatMul", .domain = "com.microsoft", .since = 1, .inputs = "a:m b:m bias:m?=-0", .outputs = "y",
     .attributes = "block_size:!int",
     .infer = infer_unpacked, .run = run_unpacked, .work = ULP_WORK_CONTRACTION, .weights = "b",
     .formulas = ULP_FORMULAS(&ulp_bits_coded), .epilogue = "acc + bias"},
    {.name = "MatMulNBits", .domain = "com.microsoft", .since = 1, .inputs = "a:m b:i scales:m zero_points:*m? g_idx:i? bias:m?=-0",
     .outputs = "y",
     .attributes = "K:!int; N:!int; accuracy_level:int=0; bits:int=4; block_size:!int; "
                   "weight_prepacked:int=0",
     .infer = infer_packed, .run = run_packed, .work = ULP_WORK_CONTRACTION, .weights = "b",
     .formulas = ULP_FORMULAS(&unpacked, &unpacked_fused, &summed, &ulp_bits_coded), .epilogue = "acc + bias"},
    {.name = NULL},
};
/* clang-format on */
