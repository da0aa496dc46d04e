/* Magnitudes of a tensor's elements. */
#include "analysis/measure/metrics.h"

#include <math.h>
#include <string.h>

#include "analysis/measure/difference.h"
#include "base/bits.h"
#include "number/function/math.h"

double ulp_range_headroom(double ref_max, const struct ulp_format *format)
{
    return ref_max > 0 ? ulp_math_log2(format->max_finite / ref_max) : INFINITY;
}

/* A piece of a tensor: its elements' magnitudes, and the sum of their squares, each over the power
 * of two of ulp_metrics_scale(max). */
struct range_piece {
    double max, min, sum;
    size_t count;
};
/* Cut the same way for any number of threads, so that sums have the same bits. */
enum { RANGE_PIECES = 64, RANGE_STRIP = 512 };
struct ranging {
    const struct ulp_tensor *base;
    const struct ulp_metrics_code *code;
    size_t piece_length;
    struct ulp_exponents *exponents; /* NULL: not counted */
    struct range_piece pieces[RANGE_PIECES];
};

/* x is overwritten. */
static void range_strip(const struct ulp_metrics_code *code, struct range_piece *piece, double *x,
                        size_t count)
{
    const int before = ulp_metrics_scale(piece->max);
    int64_t max = (int64_t)ulp_double_bits(piece->max), min = (int64_t)ulp_double_bits(piece->min);
    size_t kept = code->magnitudes(x, count, &max, &min);
    piece->max = ulp_double_from((uint64_t)max);
    piece->min = ulp_double_from((uint64_t)min);
    if (kept < count) {
        kept = 0;
        for (size_t i = 0; i < count; i++)
            if (isfinite(x[i]))
                x[kept++] = x[i];
    }
    const double by = ulp_metrics_inverse(piece->max);
    struct ulp_metrics_running running = {0};
    code->sum(&running, x, x, x, kept, &(struct ulp_metrics_scales){by, by, by});
    piece->sum = ldexp(piece->sum, 2 * (before - ulp_metrics_scale(piece->max))) +
                 ulp_metrics_add_up(&running).b2;
    piece->count += kept;
}

ULP_WORK(range_pieces)
{
    struct ranging *r = context;
    struct ulp_exponents exponents;
    if (r->exponents)
        memset(&exponents, 0, sizeof exponents);
    for (size_t p = first; p < last; p++) {
        const size_t begin = p * r->piece_length,
                     left = r->base->count > begin ? r->base->count - begin : 0;
        const size_t end = begin + (left < r->piece_length ? left : r->piece_length);
        struct range_piece piece = {.min = INFINITY};
        double strip[RANGE_STRIP];
        for (size_t i = begin, count; i < end; i += count) {
            count = end - i < RANGE_STRIP ? end - i : RANGE_STRIP;
            ulp_side_read(strip, r->base, i, count);
            if (r->exponents)
                ulp_exponents_count(&exponents, strip, count);
            range_strip(r->code, &piece, strip, count);
        }
        r->pieces[p] = piece;
    }
    if (r->exponents)
        ulp_exponents_join(r->exponents, &exponents);
    return ULP_OK;
}

void ulp_range_measure(const struct ulp_tensor *base, const struct ulp_format *format,
                       struct ulp_pool *pool, struct ulp_range *out)
{
    ulp_range_count(base, format, pool, out, NULL);
}

void ulp_range_count(const struct ulp_tensor *base, const struct ulp_format *format,
                     struct ulp_pool *pool, struct ulp_range *out, struct ulp_exponents *exponents)
{
    struct ranging r = {.base = base,
                        .exponents = exponents,
                        .code = ulp_metrics_code_find(),
                        .piece_length = (base->count + RANGE_PIECES - 1) / RANGE_PIECES};
    struct range_piece all = {.min = INFINITY};
    const size_t piece_nanoseconds = 2 * r.piece_length + 1; /* some 2 ns an element */
    /* never fails */
    ulp_parallel_for(pool, RANGE_PIECES, ulp_grain(piece_nanoseconds), range_pieces, &r, NULL);
    for (size_t p = 0; p < RANGE_PIECES; p++) {
        all.max = r.pieces[p].max > all.max ? r.pieces[p].max : all.max;
        all.min = r.pieces[p].min < all.min ? r.pieces[p].min : all.min;
        all.count += r.pieces[p].count;
    }
    const int scale = ulp_metrics_scale(all.max);
    for (size_t p = 0; p < RANGE_PIECES; p++)
        all.sum += ldexp(r.pieces[p].sum, 2 * (ulp_metrics_scale(r.pieces[p].max) - scale));
    *out = (struct ulp_range){
        .ref_rms = all.count
                       ? ulp_math_min(ldexp(sqrt(all.sum / (double)all.count), scale), all.max)
                       : NAN,
        .ref_max = all.count ? all.max : NAN,
        .ref_min_nonzero = isfinite(all.min) ? all.min : NAN,
        .headroom_bits = ulp_range_headroom(all.max, format)};
}
