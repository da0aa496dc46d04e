/* Attention as a GPU's kernels go through its keys: in tiles, with the largest score so far. When a
 * tile brings a larger one, what has been summed is scaled down by exp2 of the difference, which is
 * why the bits are other ones than of all keys at once. The tiles, their order, which
 * multiplications are fused and how few queries share many keys were found from what an H200
 * returned (PyTorch 2.11, cuDNN 9.19; lab/compare_attention.py has the figures). All steps are
 * FP32, 2^x the GPU's exponent unit; factors of the second product are rounded to storage, its sums
 * go on in the matrix unit's accumulator. */
#include "ops/attention/tiles.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "number/function/cuda.h"
#include "number/function/math.h"
#include "number/round/odd.h"
#include "number/round/round.h"

enum {
    THREADS = 4,
    COLUMNS = 2
}; /* of a warp that share a row; neighbours that each has at once */

static const struct kernel {
    int64_t keys[2];  /* a tile, for heads of at most 64 features, and for larger ones */
    int64_t split[2]; /* the same where keys are split; 0: they never are */
    bool descending;  /* from the last tile down */
    bool fused;       /* score scale - top scale with one rounding; else score scale is rounded */
    bool twice;       /* score times scale, then times log2(e): two roundings */
    bool neighbours; /* threads' sums are added to the neighbour's first; else to the second next */
    bool estimates;  /* the sum's reciprocal is the GPU's unit's; else the nearest float */
} kernels[] = {
    [ULP_ATTENTION_FLASH2] = {.keys = {128, 64},
                              .split = {256, 128},
                              .descending = true,
                              .fused = true},
    [ULP_ATTENTION_CUDNN] = {.keys = {128, 128}, .neighbours = true, .estimates = true},
    [ULP_ATTENTION_EFFICIENT] = {.keys = {64, 128}, .twice = true},
};

#define LOG2_E 1.44269504088896340736

/* What one pass over some tiles holds; rows are queries of a head. */
struct tiles {
    const struct kernel *kernel;
    const struct ulp_format *storage;
    const float *scores; /* [row][total]; -inf: not seen, where seen is NULL */
    const uint8_t *seen;
    float *factors;        /* [row][total] */
    float *weighted;       /* [row][size] */
    float *top, *sums;     /* [row], [row][THREADS] */
    float scale, exponent; /* of scores; the same for powers of 2 */
    int64_t total, size;
    int64_t from, to; /* the tile's keys */
};

/* a b + c, rounded once. */
static float fuse(float a, float b, float c)
{
    return (float)ulp_odd_add((double)a * (double)b, c);
}

static float find_top(const struct tiles *t, const float *score, const uint8_t *seen, float *out)
{
    float top = -INFINITY;
    for (int64_t j = t->from; j < t->to; j++) {
        float x = score[j];
        if (!t->kernel->fused)
            x = (t->kernel->twice ? x * t->scale : x) *
                (t->kernel->twice ? (float)LOG2_E : t->exponent);
        if (seen && !seen[j])
            x = -INFINITY;
        out[j - t->from] = x;
        top = x > top || x != x ? x : top;
    }
    return top;
}

/* The row's factors of the tile; its sums and what is weighted so far, scaled down to a new top. */
static void take_row(const struct tiles *t, size_t row)
{
    const float *score = t->scores + (int64_t)row * t->total;
    const uint8_t *seen = t->seen ? t->seen + (int64_t)row * t->total : NULL;
    float *factor = t->factors + (int64_t)row * t->total + t->from, *sums = t->sums + THREADS * row,
          *weighted = t->weighted + (int64_t)row * t->size;
    const size_t count = (size_t)(t->to - t->from);
    const float here = find_top(t, score, seen, factor), before = t->top[row];
    const float top = here > before || here != here ? here : before;
    const float seat = top == -INFINITY ? 0 : top; /* -inf - -inf would be NaN */
    const float shift = t->kernel->fused ? seat * t->exponent : seat;
    float less = t->kernel->fused ? (before - seat) * t->exponent : before - seat;
    ulp_cuda_ex2(&less, &less, 1);
    for (size_t j = 0; j < count; j++)
        factor[j] = t->kernel->fused ? fuse(factor[j], t->exponent, -shift) : factor[j] - shift;
    ulp_cuda_ex2(factor, factor, count);
    for (int s = 0; s < THREADS; s++)
        sums[s] *= less;
    for (size_t j = 0; j < count; j++)
        sums[((size_t)t->from + j) / COLUMNS % THREADS] += factor[j];
    for (int64_t i = 0; i < t->size; i++)
        weighted[i] *= less;
    t->top[row] = top;
    ulp_round_floats(t->storage, ULP_ROUND_NEAREST_EVEN, factor, count, 0, 0, 0);
}

ULP_WORK(take_rows)
{
    for (size_t row = first; row < last; row++)
        take_row(context, row);
    return ULP_OK;
}

/* A row's sum, as the threads that share it add theirs; divided by, NaN and 0 are 1. */
static float add_threads(const struct kernel *kernel, const float *sums)
{
    return kernel->neighbours ? (sums[0] + sums[1]) + (sums[2] + sums[3])
                              : (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

/* What is weighted of one slice of the keys, divided by its sums; logs: log of the sum of
 * exp(score), a row (NULL: not wanted). */
static void divide_by_sums(const struct tiles *t, size_t rows, float natural, float *logs)
{
    for (size_t row = 0; row < rows; row++) {
        const float sum = add_threads(t->kernel, t->sums + THREADS * row);
        const bool none = sum == 0 || sum != sum;
        float inverse = none ? 1 : 1 / sum;
        if (!none && t->kernel->estimates)
            ulp_cuda_rcp(&inverse, &sum, 1);
        for (int64_t i = 0; i < t->size; i++)
            t->weighted[(int64_t)row * t->size + i] *= inverse;
        if (logs)
            logs[row] = none ? -INFINITY
                             : (float)((double)t->top[row] * (double)natural +
                                       (double)(float)ulp_math_log(sum));
    }
}

static enum ulp_status run_tiles(struct ulp_call *call, struct tiles *t, size_t rows, int64_t first,
                                 int64_t last, int64_t keys, struct ulp_attention_product *second)
{
    for (size_t row = 0; row < rows; row++)
        t->top[row] = -INFINITY;
    memset(t->sums, 0, THREADS * rows * sizeof *t->sums);
    memset(t->weighted, 0, rows * (size_t)t->size * sizeof *t->weighted);
    for (int64_t n = first; n < last; n++) {
        const int64_t tile = t->kernel->descending ? first + last - 1 - n : n;
        t->from = tile * keys;
        t->to = t->total - t->from < keys ? t->total : t->from + keys;
        second->first = t->from;
        second->k = t->to - t->from;
        ULP_TRY(ulp_parallel_for(call->pool, rows, ulp_grain(3.0 * (double)keys), take_rows, t,
                                 call->error));
        ULP_TRY(ulp_attention_multiply(call, second));
    }
    return ULP_OK;
}

static int64_t over(int64_t x, int64_t y)
{
    return (x + y - 1) / y;
}

/* In how many slices the keys are cut: the fewest that leave at most 15 % more multiprocessors idle
 * than the best count does (an H200 has 132); one where the queries alone keep 80 % of them busy.
 */
static int64_t count_slices(int64_t work, int64_t tiles)
{
    enum { PROCESSORS = 132 };
    const int64_t most = tiles < 128 ? tiles : 128;
    double best = 0;
    if ((double)work >= 0.8 * PROCESSORS)
        return 1;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t n = 1; n <= most; n++) {
            const double waves = (double)(work * n) / PROCESSORS, busy = waves / ceil(waves);
            if (n > 1 && over(tiles, n) == over(tiles, n - 1))
                continue;
            if (pass && busy >= 0.85 * best)
                return n;
            best = !pass && busy > best ? busy : best;
        }
    return 1;
}

/* parts[slice][row][size] and logs[slice][row] as one. */
static void join_slices(const struct tiles *t, size_t rows, int64_t slices, const float *parts,
                        const float *logs)
{
    const size_t size = (size_t)t->size, step = rows * size;
    memset(t->weighted, 0, step * sizeof *t->weighted);
    for (size_t row = 0; row < rows; row++) {
        float top = -INFINITY, sum = 0;
        for (int64_t s = 0; s < slices; s++)
            top = ulp_math_max(top, logs[(size_t)s * rows + row]);
        const float seat = top == -INFINITY ? 0 : top;
        for (int64_t s = 0; s < slices; s++)
            sum += (float)ulp_math_exp(logs[(size_t)s * rows + row] - seat);
        const float all = sum == 0 || sum != sum ? INFINITY : (float)ulp_math_log(sum) + seat;
        for (int64_t s = 0; s < slices; s++) {
            const float weight = (float)ulp_math_exp(logs[(size_t)s * rows + row] - all);
            const float *part = parts + (size_t)s * step + row * size;
            for (size_t i = 0; i < size; i++)
                t->weighted[row * size + i] = fuse(weight, part[i], t->weighted[row * size + i]);
        }
    }
}

static enum ulp_status run_slices(struct ulp_call *call, struct tiles *t, size_t rows, int64_t keys,
                                  int64_t slices, struct ulp_attention_product *second,
                                  float natural)
{
    const int64_t tiles = over(t->total, keys), each = over(tiles, slices);
    const size_t count = rows * (size_t)t->size;
    ULP_CALL_TAKE(float, parts, call, (size_t)slices *count + 1);
    ULP_CALL_TAKE(float, logs, call, (size_t)slices *rows + 1);
    for (int64_t s = 0; s < slices; s++) {
        const int64_t first = s * each, last = (s + 1) * each;
        ULP_TRY(run_tiles(call, t, rows, first < tiles ? first : tiles, last < tiles ? last : tiles,
                          keys, second));
        divide_by_sums(t, rows, natural, logs + (size_t)s * rows);
        memcpy(parts + (size_t)s * count, t->weighted, count * sizeof *parts);
    }
    join_slices(t, rows, slices, parts, logs);
    return ULP_OK;
}

bool ulp_attention_is_tiled(const struct ulp_call *call, const struct ulp_attention *a)
{
    const enum ulp_attention_kernel kernel = call->arithmetic->attention;
    return kernel != ULP_ATTENTION_WHOLE && kernel != ULP_ATTENTION_MATH && a->out && !a->sink &&
           !a->smooth && !a->shown;
}

enum ulp_status ulp_attend_tiles(struct ulp_call *call, const struct ulp_attention *a,
                                 int64_t total, const struct ulp_tensor *acc,
                                 const struct ulp_tensor *allowed,
                                 struct ulp_attention_product *second)
{
    const struct kernel *kernel = &kernels[call->arithmetic->attention];
    const size_t rows = (size_t)(a->q.batch * a->q.heads * a->q.length);
    const bool large = a->q.size > 64, plain = !(a->softcap > 0) && !a->hidden &&
                                               !(a->between && a->between[0]) &&
                                               !(a->mask && ulp_type_is_float(a->mask->type));
    float natural = isnan(a->scale) ? (float)(1 / sqrt((double)a->q.size)) : (float)a->scale;
    struct ulp_tensor masked = *acc;
    if (!plain) { /* the mask is added to scores that have the scale */
        masked.data = NULL;
        masked.owned = false;
        ULP_TRY(ulp_call_temporary(call, &masked));
        const struct ulp_arithmetic whole = ulp_call_unrounded(call);
        struct ulp_call unrounded = *call;
        unrounded.arithmetic = &whole;
        ULP_TRY(ulp_attention_scores(&unrounded, a, total, acc, allowed, "masked", &masked, NULL));
        natural = 1;
    }
    struct tiles t = {.kernel = kernel,
                      .storage = &call->arithmetic->storage,
                      .scores = masked.data,
                      .seen = allowed->data,
                      .factors = second->a->data,
                      .weighted = second->out->data,
                      .scale = natural,
                      .exponent = (float)((double)natural * LOG2_E),
                      .total = total,
                      .size = second->n};
    ULP_TRY(ulp_call_take(call, rows + 1, sizeof *t.top, &t.top));
    ULP_TRY(ulp_call_take(call, THREADS * rows + 1, sizeof *t.sums, &t.sums));
    const int64_t split = kernel->split[large],
                  slices = split ? count_slices(a->q.batch * a->q.heads * over(a->q.length, 64),
                                                over(total, split))
                                 : 1;
    second->onto = true;
    second->store = false;
    if (slices > 1)
        return run_slices(call, &t, rows, split, slices, second, natural);
    ULP_TRY(run_tiles(call, &t, rows, 0, over(total, kernel->keys[large]), kernel->keys[large],
                      second));
    divide_by_sums(&t, rows, natural, NULL);
    return ULP_OK;
}
