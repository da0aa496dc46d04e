/* R(p) of a Conv or MatMul with constant weights w, from R(r) and d = p - r: for it is linear in
 * what it reads, R(p) = R(r) + w d. Products of p in pairs cost several of doubles each. Those of
 * d, which is smaller than p by as many bits as the lane's arithmetic has, cost one in FP64, and
 * the error of their sum is as much smaller. With u = 2^-53, K products in a result, and W, D, R
 * the largest |w|, |d|, |r|, a result errs by less than
 *
 *   B = K (K + 8) u W D + 2^-91 K W R.
 *
 * r is a pair. Two subtractions make of it d within 3 u |d| + 2^-103 |r|; K products and their sum
 * err by (K + 2) u of the sum of their magnitudes, K W D at most; sums of R(r) itself by
 * 2^-91 K W R (number/README.md, section 9.3). The result is R(p) - R(r) in doubles, for observers
 * that take that; what measuring R(p) rounds is less than 2^-102 of the larger of both, which must
 * not be more than B.
 *
 * So it is taken where a quarter of the results have introduced 2^24 B or more, and have carried as
 * much: then the rms of either is 2^23 B or more. Figures of single results ask for more: the
 * largest relative error for results that are far above B, and the median for half of the errors
 * to be so, or to be zero where nothing moves. Else the node is computed in pairs, as where some
 * result is not finite.
 *
 * A BatchNormalization of constants is taken as one product, with w = scale / sqrt(var + epsilon):
 * K is 1. In FP64 sum, root, quotient and product err by less than 4 u, which B's 9 u hold with d's
 * 3. In pairs r - mean is rounded, too, so R is the largest |r| and the largest |mean|: each of
 * six steps errs by less than 2^-101 W R, or of the result. */
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/machine/cpu.h"
#include "base/memory/alloc.h"
#include "number/function/math.h"
#include "number/double_pair.h"
#include "run/walk.h"

/* Fewer products take no time in pairs; a normalised result takes as long as so many. */
#define PRODUCTS_MIN 0x1p20
#define NORM_PRODUCTS 32
#define CLEAR 0x1p24
#define TOLD 0x1p12

#define STRIP 256
#define INFINITE ((int64_t)0x7FF << 52)
/* Without branches, and of patterns, so that compilers make vectors. */
#define LOOP static inline __attribute__((always_inline))

/* Errors of the results: what was introduced, or what was carried. */
struct errors {
    size_t clear, small;       /* CLEAR times the bound or more; less than TOLD times it */
    size_t zero;               /* none, where R(p) is R(r) */
    int64_t relative, nearest; /* the largest; the smallest |base| where R(p) is not R(r) */
};

/* What a worker has seen. Magnitudes are patterns, which order as these do, NaN above infinity. */
struct seen {
    int64_t largest[2];
    struct errors introduced, carried;
    bool failed;
};
static const struct seen nothing = {.introduced.nearest = INFINITE, .carried.nearest = INFINITE};

struct work {
    const struct ulp_tensor *p, *r; /* what the node reads, or its results P(p) and R(r) */
    const double *moved;            /* of the results: R(p) - R(r) */
    struct ulp_tensor *out;
    double bound;
    struct seen *seen; /* by worker */
    size_t worker_count;
};

static void read_plain(double *out, const struct ulp_tensor *tensor, size_t first, size_t count)
{
    if (tensor->element == ULP_ELEMENT_F64)
        memcpy(out, (const double *)tensor->data + first, count * sizeof *out);
    else
        for (size_t i = 0; i < count; i++)
            out[i] = (double)((const float *)tensor->data)[first + i];
}

/* Of a strip, the numbers p, and r in two parts. */
struct strip {
    size_t count;
    double p[STRIP], high[STRIP], low[STRIP];
};

/* All bits, or none. */
LOOP int64_t mask(bool is)
{
    return -(int64_t)is;
}

LOOP double number(int64_t bits)
{
    return ulp_double_from((uint64_t)bits);
}

LOOP int64_t magnitude(double x)
{
    return (int64_t)ulp_double_bits(x) & INT64_MAX;
}

LOOP int64_t larger(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* False: one is not finite, or far from 1, where products of doubles may leave their range. */
LOOP bool split_pairs(double *restrict high, double *restrict low,
                      const struct ulp_double_pair *restrict x, size_t count)
{
    int64_t far = 0;
    for (size_t i = 0; i < count; i++) {
        const double size = fabs(x[i].high);
        high[i] = x[i].high;
        low[i] = x[i].low;
        far |= ~mask((size == 0) | ((size >= 0x1p-301) & (size <= 0x1p300)));
    }
    return far == 0;
}

/* Of elements from `first` on. */
LOOP bool open_strip(struct strip *strip, const struct work *work, size_t first, size_t last)
{
    strip->count = ulp_size_min(last - first, STRIP);
    read_plain(strip->p, work->p, first, strip->count);
    if (work->r->element == ULP_ELEMENT_PAIR)
        return split_pairs(strip->high, strip->low,
                           (const struct ulp_double_pair *)work->r->data + first, strip->count);
    read_plain(strip->high, work->r, first, strip->count);
    memset(strip->low, 0, sizeof strip->low);
    return true;
}

static struct seen *seen_by(const struct work *work, int worker)
{
    return &work->seen[(size_t)worker % work->worker_count];
}

static void join_errors(struct errors *all, const struct errors *more)
{
    all->clear += more->clear;
    all->small += more->small;
    all->zero += more->zero;
    all->relative = larger(all->relative, more->relative);
    all->nearest = more->nearest < all->nearest ? more->nearest : all->nearest;
}

static void join_seen(struct seen *all, const struct seen *more)
{
    for (int i = 0; i < 2; i++)
        all->largest[i] = larger(all->largest[i], more->largest[i]);
    join_errors(&all->introduced, &more->introduced);
    join_errors(&all->carried, &more->carried);
    all->failed |= more->failed;
}

ULP_WORK(find_largest)
{
    const struct work *work = context;
    struct seen *seen = seen_by(work, worker);
    const float *x = work->p->data;
    int32_t most = 0;
    for (size_t i = first; i < last; i++) {
        int32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= INT32_MAX;
        most = bits > most ? bits : most;
    }
    float largest;
    memcpy(&largest, &most, sizeof largest);
    seen->largest[0] = larger(seen->largest[0], magnitude((double)largest));
    seen->failed |= seen->largest[0] >= INFINITE;
    return ULP_OK;
}

LOOP enum ulp_status subtract(void *context, size_t first, size_t last, int worker)
{
    const struct work *work = context;
    struct seen all = nothing;
    struct strip strip;
    for (size_t begin = first; begin < last; begin += strip.count) {
        double *restrict out = (double *)work->out->data + begin;
        all.failed |= !open_strip(&strip, work, begin, last);
        int64_t most[2] = {0};
        for (size_t i = 0; i < strip.count; i++) {
            out[i] = (strip.p[i] - strip.high[i]) - strip.low[i];
            most[0] = larger(most[0], magnitude(out[i]));
            most[1] = larger(most[1], magnitude(strip.high[i]));
        }
        for (int i = 0; i < 2; i++)
            all.largest[i] = larger(all.largest[i], most[i]);
    }
    all.failed |= all.largest[0] >= magnitude(0x1p300);
    join_seen(seen_by(work, worker), &all);
    return ULP_OK;
}

LOOP void note(struct errors *errors, int64_t error, int64_t base, int64_t moved, double bound)
{
    const int64_t own = base | (mask(moved == 0) & INT64_MAX),
                  quotient = magnitude(number(error) / number(base)) & mask(base > 0);
    errors->clear -= (size_t)mask(error >= magnitude(CLEAR * bound));
    errors->small -= (size_t)mask(error < magnitude(TOLD * bound));
    errors->zero -= (size_t)mask((error | moved) == 0);
    errors->nearest = own < errors->nearest ? own : errors->nearest;
    errors->relative = larger(errors->relative, quotient);
}

LOOP void note_strip(struct seen *seen, const struct strip *strip, const double *restrict moved,
                     double bound)
{
    struct errors introduced = seen->introduced, carried = seen->carried;
    int64_t most[3] = {seen->largest[0], seen->largest[1]};
    for (size_t i = 0; i < strip->count; i++) {
        const double high = strip->high[i], low = strip->low[i];
        const int64_t off = magnitude((strip->p[i] - high) - low - moved[i]),
                      base = magnitude((high + moved[i]) + low), by = magnitude(moved[i]),
                      r = magnitude(high);
        note(&introduced, off, base, by, bound);
        note(&carried, by, r | (mask(r == 0) & INFINITE), by, bound);
        most[0] = larger(most[0], r);
        most[1] = larger(most[1], by);
        most[2] = larger(most[2], off);
    }
    seen->introduced = introduced;
    seen->carried = carried;
    memcpy(seen->largest, most, sizeof seen->largest);
    seen->failed |= most[2] >= INFINITE;
}

LOOP enum ulp_status add(void *context, size_t first, size_t last, int worker)
{
    const struct work *work = context;
    struct seen all = nothing;
    struct strip strip;
    for (size_t begin = first; begin < last; begin += strip.count) {
        all.failed |= !open_strip(&strip, work, begin, last);
        note_strip(&all, &strip, work->moved + begin, work->bound);
    }
    join_seen(seen_by(work, worker), &all);
    return ULP_OK;
}

#define INSTANCE(loop, suffix, target)             \
    target ULP_WORK(loop##_##suffix)               \
    {                                              \
        return loop(context, first, last, worker); \
    }
INSTANCE(subtract, portable, )
INSTANCE(add, portable, )
#if ULP_X86_VECTORS
#define AVX2 __attribute__((target("avx2" ULP_VECTOR_WIDTH(256))))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl" ULP_VECTOR_WIDTH(512))))
INSTANCE(subtract, avx2, AVX2)
INSTANCE(add, avx2, AVX2)
INSTANCE(subtract, avx512, AVX512)
INSTANCE(add, avx512, AVX512)
#endif

/* One of these over all elements of work->p. */
static struct seen go_over(struct work *work, ulp_work_fn *function, struct ulp_pool *pool)
{
    struct seen all = nothing;
    for (size_t i = 0; i < work->worker_count; i++)
        work->seen[i] = all;
    /* never fails */
    ulp_parallel_for(pool, work->p->count, ulp_grain(4), function, work, NULL);
    for (size_t i = 0; i < work->worker_count; i++)
        join_seen(&all, &work->seen[i]);
    return all;
}

/* Are figures of so many results' errors known, where each may be off by so much? */
static bool are_known(const struct errors *errors, size_t count, double bound)
{
    return errors->clear >= count - count / 4 * 3 &&
           (errors->small < count - count / 2 || errors->zero > count / 2) &&
           TOLD * bound <= number(errors->nearest) * ulp_math_min(number(errors->relative), 1);
}

static bool is_plain(const struct ulp_tensor *x)
{
    return x->element == ULP_ELEMENT_F32 || x->element == ULP_ELEMENT_F64;
}

static bool is_pairs(const struct ulp_tensor *x)
{
    return x->element == ULP_ELEMENT_PAIR;
}

/* Not with the statistics of what it reads. */
static bool is_norm(const struct ulp_step *step)
{
    return strcmp(step->bound.op->name, "BatchNormalization") == 0 && !step->bound.op->parameter;
}

/* The one input that is no constant, which results are linear in; -1: there is none such. */
static int find_linear(const struct ulp_step *step, const struct ulp_lane *reference,
                       const struct ulp_tensor *const *inputs)
{
    const struct ulp_operator *op = step->bound.op;
    const bool conv = strcmp(op->name, "Conv") == 0, norm = is_norm(step);
    int varies = -1;
    if (op->domain || !(conv || norm || strcmp(op->name, "MatMul") == 0))
        return -1;
    for (size_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] >= 0 && !reference->block->slots[step->inputs[i]].constant) {
            if (varies >= 0)
                return -1;
            varies = (int)i;
        } else if (norm && inputs[i]->element != ULP_ELEMENT_F32) {
            return -1;
        }
    return varies >= 0 && varies <= !(conv || norm) &&
                   inputs[!varies]->element == ULP_ELEMENT_F32 &&
                   !ulp_takes_blocks(reference, step, !varies)
               ? varies
               : -1;
}

/* The reference's step in FP64. */
static enum ulp_status run_in_doubles(const struct ulp_lane *reference, const struct ulp_step *step,
                                      const struct ulp_tensor *const *inputs,
                                      struct ulp_tensor *out, struct ulp_error *error)
{
    struct ulp_arithmetic doubles;
    struct ulp_lane lane = *reference;
    const struct ulp_mix mix = {.count = 1, .items = &doubles};
    lane.mix = &mix;
    ULP_TRY(ulp_arithmetic_find("fp64", &doubles, error));
    return ulp_step_run(step, &lane, inputs, out, error);
}

static enum ulp_status allocate(struct ulp_tensor *out, const struct ulp_tensor *like,
                                enum ulp_element element, struct ulp_budget *budget,
                                struct ulp_error *error)
{
    ULP_TRY(ulp_tensor_describe(out, like->type, element, 0, like->rank, like->dims, error));
    return ulp_tensor_allocate(out, budget, error);
}

/* Of a BatchNormalization, the largest |w| and |mean|. */
static struct seen find_factors(const struct ulp_step *step, const struct ulp_tensor *const *inputs)
{
    const double epsilon = (double)step->bound.attributes[0].f;
    const float *scale = inputs[1]->data, *mean = inputs[3]->data, *var = inputs[4]->data;
    struct seen all = {.failed = inputs[3]->count != inputs[1]->count ||
                                 inputs[4]->count != inputs[1]->count};
    for (size_t i = 0; i < inputs[1]->count && !all.failed; i++) {
        const double w = fabs((double)scale[i]) / sqrt((double)var[i] + epsilon);
        all.largest[0] = larger(all.largest[0], magnitude(w));
        all.largest[1] = larger(all.largest[1], magnitude((double)mean[i]));
    }
    return all;
}

/* The tensors on the way. */
struct parts {
    struct ulp_tensor difference, moved, zeros;
    struct seen *seen;
};

static enum ulp_status move(struct ulp_lane *reference, const struct ulp_step *step,
                            const struct ulp_linear *from, int varies, struct parts *parts,
                            struct ulp_evaluation *out, bool *done, struct ulp_error *error)
{
    const struct ulp_tensor *p = from->inputs[varies], *w = from->inputs[!varies],
                            *r = from->reference_inputs[varies], *results = from->results;
    const bool norm = is_norm(step);
    const double k = norm ? 1
                     : strcmp(step->bound.op->name, "Conv") == 0
                         ? (double)w->count / (double)w->dims[0]
                         : (double)from->inputs[0]->dims[from->inputs[0]->rank - 1];
    struct ulp_pool *pool = reference->pool;
    struct work work = {.p = p, .r = r, .out = &parts->difference};
    void *seen;
    if ((norm ? NORM_PRODUCTS : k) * (double)results->count < PRODUCTS_MIN || k > 0x1p24)
        return ULP_OK;
    work.worker_count = (size_t)ulp_pool_thread_count(pool);
    ULP_TRY(ulp_allocate(&seen, work.worker_count, sizeof *work.seen, reference->budget,
                         "what threads have seen", error));
    work.seen = parts->seen = seen;
    ULP_TRY(allocate(&parts->difference, p, ULP_ELEMENT_F64, reference->budget, error));
    const struct seen d =
        go_over(&work, ULP_BY_CPU(subtract_avx512, subtract_avx2, subtract_portable), pool);
    *done = out->here_is_reference = !d.failed && d.largest[0] == 0 && is_plain(r);
    if (d.failed || *done)
        return ULP_OK;
    work.p = w;
    const struct seen weights =
        norm ? find_factors(step, from->inputs) : go_over(&work, find_largest, pool);
    const double largest = number(d.largest[1]) + number(weights.largest[1]),
                 bound = k * number(weights.largest[0]) *
                         ((k + 8) * 0x1p-53 * number(d.largest[0]) + 0x1p-91 * largest);
    if (weights.failed || !(bound > 0x1p-500))
        return ULP_OK;
    const struct ulp_tensor *at[5] = {w, w}; /* and no bias */
    at[varies] = &parts->difference;
    if (norm) {
        ULP_TRY(allocate(&parts->zeros, w, ULP_ELEMENT_F32, reference->budget, error));
        memset(parts->zeros.data, 0, w->count * sizeof(float));
        at[2] = at[3] = &parts->zeros;
        at[4] = from->inputs[4];
    }
    ULP_TRY(run_in_doubles(reference, step, at, &parts->moved, error));
    ulp_tensor_free(&parts->difference);
    work.p = out->entire;
    work.r = results;
    work.moved = parts->moved.data;
    work.bound = bound;
    const struct seen sum = go_over(&work, ULP_BY_CPU(add_avx512, add_avx2, add_portable), pool);
    *done = !sum.failed && are_known(&sum.introduced, results->count, bound) &&
            are_known(&sum.carried, results->count, bound) &&
            0x1p-102 * number(larger(sum.largest[0], sum.largest[1])) <= bound;
    out->here_is_moved = *done;
    if (*done) {
        out->here[0] = parts->moved;
        parts->moved = (struct ulp_tensor){0};
    }
    return ULP_OK;
}

/* Is R(p) of one output no more than what the node makes of p in another arithmetic? */
static bool evaluates_plainly(const struct ulp_lane *reference, const struct ulp_step *step,
                              const struct ulp_linear *from, const struct ulp_evaluation *out)
{
    const struct ulp_fusion *fusion = from->lane->mix->fusion;
    return ulp_lane_is_uniform(reference) && !(fusion && fusion->nodes[step->number].leaves) &&
           !reference->trace && !reference->probe && step->output_count == 1 &&
           is_pairs(from->results) && is_plain(out->entire) &&
           ulp_tensor_same_shape(from->results, out->entire);
}

enum ulp_status ulp_evaluate_linear(struct ulp_lane *reference, const struct ulp_step *step,
                                    const struct ulp_linear *from, struct ulp_evaluation *out,
                                    bool *done, struct ulp_error *error)
{
    struct parts parts = {.seen = NULL};
    *done = false;
    if (!evaluates_plainly(reference, step, from, out))
        return ULP_OK;
    const int varies = find_linear(step, reference, from->inputs);
    if (varies < 0 || !is_plain(from->inputs[varies]) ||
        !(is_plain(from->reference_inputs[varies]) || is_pairs(from->reference_inputs[varies])) ||
        !ulp_tensor_same_shape(from->inputs[varies], from->reference_inputs[varies]))
        return ULP_OK;
    enum ulp_status status = move(reference, step, from, varies, &parts, out, done, error);
    ulp_tensor_free(&parts.difference);
    ulp_tensor_free(&parts.moved);
    ulp_tensor_free(&parts.zeros);
    ulp_free(parts.seen);
    return status;
}
