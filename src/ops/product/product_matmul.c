/* Products of matrices. */

#include "base/error.h"
#include "ops/contraction.h"
#include "ops/ops_move.h"
#include "ops/spatial/window.h"

/* ---- MatMul: numpy.matmul ---- */

struct matmul {
    int64_t m, n, k;
    int batch_rank;
    int64_t batch[ULP_RANK_MAX];
    bool a_is_vector, b_is_vector;
};

static enum ulp_status read_matmul(const struct ulp_tensor *a, const struct ulp_tensor *b,
                                   struct matmul *out, struct ulp_error *error)
{
    if (a->rank == 0 || b->rank == 0)
        return ulp_fail(error, ULP_ERROR_INPUT, "a scalar is not a matrix");
    *out = (struct matmul){.a_is_vector = a->rank == 1, .b_is_vector = b->rank == 1};
    out->m = out->a_is_vector ? 1 : a->dims[a->rank - 2];
    out->k = a->dims[a->rank - 1];
    out->n = out->b_is_vector ? 1 : b->dims[b->rank - 1];
    int64_t b_k = b->dims[out->b_is_vector ? 0 : b->rank - 2];
    char first[200], second[200];
    if (out->k != b_k)
        return ulp_fail(error, ULP_ERROR_INPUT, "%s times %s: %lld columns meet %lld rows",
                        ulp_tensor_describe_text(a, first, sizeof first),
                        ulp_tensor_describe_text(b, second, sizeof second), (long long)out->k,
                        (long long)b_k);
    struct ulp_tensor outer_a = *a, outer_b = *b;
    outer_a.rank = out->a_is_vector ? 0 : a->rank - 2;
    outer_b.rank = out->b_is_vector ? 0 : b->rank - 2;
    return ulp_broadcast_shape(2, (const struct ulp_tensor *[]){&outer_a, &outer_b},
                               &out->batch_rank, out->batch, error);
}

enum ulp_status ulp_matmul_infer(struct ulp_call *call, const struct ulp_tensor *a,
                                 const struct ulp_tensor *b, enum ulp_type type)
{
    struct matmul shape;
    ULP_TRY(read_matmul(a, b, &shape, call->error));
    int rank = shape.batch_rank;
    if (!shape.a_is_vector)
        shape.batch[rank++] = shape.m;
    if (!shape.b_is_vector)
        shape.batch[rank++] = shape.n;
    return ulp_call_describe(call, 0, type, rank, shape.batch);
}

static enum ulp_status infer_matmul(struct ulp_call *call)
{
    return ulp_matmul_infer(call, call->in[0], call->in[1], call->in[0]->type);
}

/* Offsets of the factor's matrices over the broadcast batch. */
static enum ulp_status batch_offsets(const struct ulp_call *call, const struct matmul *shape,
                                     const struct ulp_tensor *factor, int64_t **out)
{
    int64_t strides[ULP_RANK_MAX], count = ulp_product(shape->batch, shape->batch_rank);
    int shift = shape->batch_rank - (factor->rank - 2);
    ULP_TRY(ulp_call_take(call, (size_t)count, sizeof **out, out));
    ulp_strides(factor, strides);
    for (int64_t i = 0; i < count && factor->rank > 2; i++) {
        int64_t rest = i;
        for (int d = shape->batch_rank - 1; d >= 0; d--) {
            if (d >= shift && factor->dims[d - shift] != 1)
                (*out)[i] += rest % shape->batch[d] * strides[d - shift];
            rest /= shape->batch[d];
        }
    }
    return ULP_OK;
}

enum ulp_status ulp_matmul_sums(struct ulp_call *call, const struct ulp_tensor *a,
                                const struct ulp_tensor *b, struct ulp_sums *sums)
{
    struct matmul s;
    int64_t *a_batch, *b_batch, *o_batch;
    ULP_TRY(read_matmul(a, b, &s, call->error));
    if (call->out[0].count == 0)
        return ULP_OK;
    int64_t batches = ulp_product(s.batch, s.batch_rank);
    if (b->rank <= 2) { /* one matrix for all: the batch becomes rows */
        s.m *= batches;
        s.batch_rank = 0;
        batches = 1;
    }
    ULP_TRY(batch_offsets(call, &s, a, &a_batch));
    ULP_TRY(batch_offsets(call, &s, b, &b_batch));
    ULP_TRY(ulp_move_table(call, &o_batch, (size_t)batches, 0, s.m * s.n));
    struct ulp_contraction problem = {
        .batch_count = (size_t)batches,
        .m = (size_t)s.m,
        .n = (size_t)s.n,
        .k = (size_t)s.k,
        .a = {.tensor = a, .batch_offset = a_batch},
        .b = {.tensor = b, .batch_offset = b_batch},
        .out_batch_offset = o_batch,
        .is_matrices = true,
    };
    const struct ulp_product_steps steps = {s.k, 1, 1, s.n, s.n, 1};
    ULP_TRY(ulp_product_lay(call, &problem, steps));
    return ulp_sums_add(call, sums, &problem);
}

static enum ulp_status run_matmul(struct ulp_call *call)
{
    struct ulp_sums sums;
    ULP_TRY(ulp_sums_begin(call, call->in[0]->type, false, &sums));
    return ulp_matmul_sums(call, call->in[0], call->in[1], &sums);
}

/* ---- Gemm ---- */

static enum ulp_status read_gemm(const struct ulp_call *call, const struct ulp_tensor *a,
                                 const struct ulp_tensor *b, int64_t *m, int64_t *n, int64_t *k)
{
    bool turn_a = ulp_call_int(call, "transA"), turn_b = ulp_call_int(call, "transB");
    if (a->rank != 2 || b->rank != 2)
        return ULP_REFUSE(call, "A and B have ranks %d and %d: expected 2", a->rank, b->rank);
    *m = a->dims[turn_a];
    *k = a->dims[!turn_a];
    *n = b->dims[!turn_b];
    if (*k != b->dims[turn_b])
        return ULP_REFUSE(call, "A has %lld columns where B has %lld rows", (long long)*k,
                          (long long)b->dims[turn_b]);
    return ULP_OK;
}

enum ulp_status ulp_gemm_infer(struct ulp_call *call, const struct ulp_tensor *a,
                               const struct ulp_tensor *b, enum ulp_type type)
{
    int64_t m = 0, n = 0, k = 0;
    ULP_TRY(read_gemm(call, a, b, &m, &n, &k));
    return ulp_call_describe(call, 0, type, 2, (int64_t[]){m, n});
}

static enum ulp_status infer_gemm(struct ulp_call *call)
{
    return ulp_gemm_infer(call, call->in[0], call->in[1], call->in[0]->type);
}

enum ulp_status ulp_gemm_sums(struct ulp_call *call, const struct ulp_tensor *a,
                              const struct ulp_tensor *b, struct ulp_sums *sums)
{
    bool turn_a = ulp_call_int(call, "transA"), turn_b = ulp_call_int(call, "transB");
    int64_t m = 0, n = 0, k = 0;
    ULP_TRY(read_gemm(call, a, b, &m, &n, &k));
    if (call->out[0].count == 0)
        return ULP_OK;
    struct ulp_contraction problem = {
        .batch_count = 1,
        .m = (size_t)m,
        .n = (size_t)n,
        .k = (size_t)k,
        .a = {.tensor = a},
        .b = {.tensor = b},
        .is_matrices = true,
        .turned = turn_b,
    };
    const struct ulp_product_steps steps = {
        turn_a ? 1 : k, turn_a ? m : 1, turn_b ? k : 1, turn_b ? 1 : n, n, 1};
    ULP_TRY(ulp_product_lay(call, &problem, steps));
    return ulp_sums_add(call, sums, &problem);
}

/* ONNX Runtime's CUDA provider adds C to the stored sum where beta is 1. */
static bool adds_stored(const struct ulp_call *call)
{
    return ulp_call_in(call, 2) && call->arithmetic->steps == ULP_STEPS_ORT_CUDA &&
           call->arithmetic->sum.precision == call->arithmetic->storage.precision &&
           ulp_call_attribute(call, "alpha")->f == 1 && ulp_call_attribute(call, "beta")->f == 1;
}

static enum ulp_status run_gemm(struct ulp_call *call)
{
    struct ulp_sums sums;
    struct ulp_arithmetic rounded = *call->arithmetic;
    struct ulp_call own = *call;
    if (adds_stored(call)) {
        rounded.schedule.epilogue_rounded = true;
        own.arithmetic = &rounded;
        call = &own;
    }
    bool plain = !ulp_call_in(call, 2) && ulp_call_attribute(call, "alpha")->f == 1;
    ULP_TRY(ulp_sums_begin(call, call->in[0]->type, !plain, &sums));
    if (ulp_call_attribute(call, "alpha")->f == 1)
        ULP_TRY(ulp_sums_begin_with(call, 2, ulp_call_attribute(call, "beta")->f, &sums));
    ULP_TRY(ulp_gemm_sums(call, call->in[0], call->in[1], &sums));
    return ulp_sums_end(call, &sums, "--b");
}

#define GEMM                                                                                 \
    .outputs = "y", .attributes = "alpha:float=1; beta:float=1; transA:int=0; transB:int=0", \
    .infer = infer_gemm, .run = run_gemm, .work = ULP_WORK_CONTRACTION, .weights = "b",      \
    .epilogue = "alpha * acc + beta * c"

static enum ulp_status run_biased(struct ulp_call *call)
{
    struct ulp_sums sums;
    ULP_TRY(ulp_sums_begin(call, call->in[0]->type, true, &sums));
    ULP_TRY(ulp_sums_begin_with(call, 2, 1, &sums));
    ULP_TRY(ulp_matmul_sums(call, call->in[0], call->in[1], &sums));
    return ulp_sums_end(call, &sums, "--b");
}

/* clang-format off */
const struct ulp_operator ulp_operator_biased_matmul =
    {.name = "MatMul", .since = 1, .inputs = "a:m b:k c:m", .outputs = "y", .infer = infer_matmul,
     .run = run_biased, .work = ULP_WORK_CONTRACTION, .weights = "b", .epilogue = "acc + c"};
const struct ulp_operator ulp_ops_matmul[] = {
    {.name = "Gemm", .since = 7, .inputs = "a:m b:k c:m", GEMM},
    {.name = "Gemm", .since = 11, .inputs = "a:m b:k c:m?=-0", GEMM},
    {.name = "MatMul", .since = 1, .inputs = "a:m b:k", .outputs = "y", .infer = infer_matmul,
     .run = run_matmul, .work = ULP_WORK_CONTRACTION, .weights = "b"},
    {0},
};
/* clang-format on */
