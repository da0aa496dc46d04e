/* Measures of a difference of tensors.
 *
 * Each difference is formed exactly and rounded once to double (difference.h). Sums run over chunks
 * of fixed size that are added in order, so figures do not depend on threads; terms are scaled by
 * the power of two of the largest, so that squares neither overflow nor vanish. */
#include "analysis/measure/metrics.h"
#include "base/bits.h"
#include "analysis/measure/figure.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/machine/environment.h"
#include "base/error.h"
#include "analysis/measure/median.h"
#include "analysis/measure/difference.h"
#include "tensor/tensor.h"
#include "number/function/math.h"

#define CHUNK 4096

/* Of one chunk. */
struct partial {
    double max_abs, max_value, max_base, max_rel, max_ulp;
    struct ulp_metrics_sums sums; /* each magnitude is scaled by its maximum's scale_of */
    size_t nonfinite, first_nonfinite, worst, count;
    bool integer_differs;
};

struct measuring {
    const struct ulp_tensor *value, *base;
    const struct ulp_format *format;
    struct partial *partials;
    struct ulp_median ulps; /* |d| in ulps of every element; -1: left out */
    bool integers;
    bool units; /* ulps of the format and their inverses are normal doubles, and wanted */
    const struct ulp_metrics_code *code;
};

/* Equal non-finite values (the same infinity, or both NaN) agree; any other pair with a non-finite
 * side does not. */
static bool agree_not_finite(double value, double base)
{
    return (isnan(value) && isnan(base)) || (isinf(value) && value == base);
}

/* Patterns of doubles that are not negative order as they do. */
static void raise(double *maximum, int64_t bits)
{
    const double x = ulp_double_from((uint64_t)bits);
    if (x > *maximum)
        *maximum = x;
}

/* Measures a strip into the partial and m->ulps.values; whether all of it is finite. */
static bool measure_strip(const struct measuring *m, struct partial *p, const double *value,
                          const double *base, const double *difference, size_t first, size_t count)
{
    struct ulp_metrics_summary summary;
    double *ulps = m->ulps.values + first, before = p->max_abs;
    m->code->compare(&summary, ulps, value, base, difference, count, m->format->emin,
                     m->format->precision, m->units);
    raise(&p->max_abs, summary.max_abs);
    raise(&p->max_value, summary.max_value);
    raise(&p->max_base, summary.max_base);
    raise(&p->max_rel, summary.max_rel);
    if (m->units || m->integers)
        raise(&p->max_ulp, summary.max_ulp);
    else /* ulps that, or whose inverses, are no normal doubles; 0 of them stay 0 */
        for (size_t i = 0; i < count; i++)
            if (ulps[i] > 0) {
                ulps[i] /= ulp_format_ulp(m->format, base[i]);
                p->max_ulp = fmax(p->max_ulp, ulps[i]);
            }
    for (size_t i = 0; i < count && p->max_abs > before; i++)
        if (ulps[i] >= 0 && fabs(difference[i]) == p->max_abs) {
            p->worst = first + i;
            break;
        }
    p->integer_differs |= m->integers && summary.max_abs != 0;
    if ((size_t)summary.finite == count)
        return true;
    for (size_t i = 0; i < count; i++)
        if (ulps[i] == -1 && !agree_not_finite(value[i], base[i])) {
            p->nonfinite++;
            p->first_nonfinite = first + i < p->first_nonfinite ? first + i : p->first_nonfinite;
        }
    return false;
}

/* The exponent of the power of two that a maximum's terms are divided by. Held away from double's
 * ends, so that the inverse is a normal double; squares of what is beyond neither overflow nor
 * vanish either. */
static int scale_of(double maximum)
{
    if (maximum == 0)
        return 0;
    const int exponent = ilogb(maximum);
    return exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
}

static void measure_chunk(struct measuring *m, size_t chunk, int worker)
{
    struct partial *p = &m->partials[chunk];
    const size_t begin = chunk * CHUNK,
                 end = m->value->count - begin < CHUNK ? m->value->count : begin + CHUNK;
    double values[CHUNK], bases[CHUNK], differences[CHUNK];
    size_t kept = 0;
    *p = (struct partial){.first_nonfinite = SIZE_MAX, .worst = begin};
    for (size_t first = begin; first < end; first += ULP_METRICS_STRIP) {
        const size_t count = end - first < ULP_METRICS_STRIP ? end - first : ULP_METRICS_STRIP;
        double *value = values + kept, *base = bases + kept, *difference = differences + kept;
        ulp_difference_read(difference, value, base, m->value, m->base, first, count);
        if (measure_strip(m, p, value, base, difference, first, count)) {
            kept += count;
            continue;
        }
        for (size_t i = 0; i < count; i++)
            if (isfinite(value[i]) && isfinite(base[i]) && isfinite(difference[i])) {
                values[kept] = value[i];
                bases[kept] = base[i];
                differences[kept++] = difference[i];
            }
    }
    p->count = kept;
    const struct ulp_metrics_scales by = {ldexp(1, -scale_of(p->max_value)),
                                          ldexp(1, -scale_of(p->max_base)),
                                          ldexp(1, -scale_of(p->max_abs))};
    m->code->sum(&p->sums, values, bases, differences, kept, &by);
    ulp_median_count(&m->ulps, begin, end, worker);
}

static enum ulp_status measure_chunks(void *context, size_t first, size_t last, int worker,
                                      struct ulp_error *error)
{
    (void)error;
    for (size_t chunk = first; chunk < last; chunk++)
        measure_chunk(context, chunk, worker);
    return ULP_OK;
}

/* The rounding of its sums must not carry a cosine beyond 1; NaN stays. */
static double clamp(double cosine)
{
    return cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
}

static void combine(const struct measuring *m, size_t chunk_count, struct ulp_metrics *out)
{
    struct partial all = {.first_nonfinite = SIZE_MAX};
    for (size_t c = 0; c < chunk_count; c++) {
        const struct partial *p = &m->partials[c];
        if (p->max_abs > all.max_abs) {
            all.max_abs = p->max_abs;
            all.worst = p->worst;
        }
        all.max_rel = fmax(all.max_rel, p->max_rel);
        all.max_ulp = fmax(all.max_ulp, p->max_ulp);
        all.max_value = fmax(all.max_value, p->max_value);
        all.max_base = fmax(all.max_base, p->max_base);
        all.count += p->count;
        all.nonfinite += p->nonfinite;
        all.first_nonfinite =
            p->first_nonfinite < all.first_nonfinite ? p->first_nonfinite : all.first_nonfinite;
        all.integer_differs |= p->integer_differs;
    }
    const int abs_scale = scale_of(all.max_abs), base_scale = scale_of(all.max_base),
              value_scale = scale_of(all.max_value);
    struct ulp_metrics_sums sums = {0};
    for (size_t c = 0; c < chunk_count; c++) {
        const struct partial *p = &m->partials[c];
        const double d = ldexp(1, scale_of(p->max_abs) - abs_scale),
                     b = ldexp(1, scale_of(p->max_base) - base_scale);
        const double v = ldexp(1, scale_of(p->max_value) - value_scale);
        sums.d += p->sums.d * d;
        sums.d2 += p->sums.d2 * d * d;
        sums.b2 += p->sums.b2 * b * b;
        sums.v2 += p->sums.v2 * v * v;
        sums.vb += p->sums.vb * v * b;
    }
    const double n = (double)all.count, rms = ldexp(sqrt(sums.d2) / sqrt(n), abs_scale);
    int exponent; /* of norms' quotient, which may lie beyond double */
    const double quotient = sums.d2 > 0 ? frexp(sqrt(sums.b2) / sqrt(sums.d2), &exponent) : 0;
    *out = (struct ulp_metrics){
        .max_abs = all.max_abs,
        .rms = fmin(rms, all.max_abs) /* but for roundings it is */,
        .mean = ldexp(sums.d / n, abs_scale),
        .max_rel = all.max_rel,
        .max_ulp = all.max_ulp,
        .cosine = clamp(sums.vb / (sqrt(sums.v2) * sqrt(sums.b2))),
        .sqnr_db = sums.d2 > 0 ? 20 * (ulp_math_log10(quotient) +
                                       (exponent + base_scale - abs_scale) * ulp_math_log10(2))
                               : INFINITY,
        .nonfinite = all.nonfinite,
        .unmeasured = m->value->count - all.count - all.nonfinite,
        .worst_index = all.nonfinite ? all.first_nonfinite : all.worst,
        .count = all.count,
        .diverged = all.integer_differs,
        .value_norm = ldexp(sqrt(sums.v2), value_scale),
        .base_norm = ldexp(sqrt(sums.b2), base_scale),
    };
    if (all.count == 0)
        out->max_abs = out->rms = out->mean = out->max_rel = out->max_ulp = out->cosine =
            out->sqnr_db = NAN;
}

enum ulp_status ulp_metrics_measure_on(const struct ulp_tensor *value,
                                       const struct ulp_tensor *base,
                                       const struct ulp_format *format, struct ulp_pool *pool,
                                       struct ulp_metrics *out, struct ulp_error *error)
{
    *out = ulp_metrics_undefined();
    if (!ulp_tensor_same_shape(value, base)) {
        out->diverged = true;
        return ULP_OK;
    }
    struct measuring m = {.value = value,
                          .base = base,
                          .format = format,
                          .integers = !ulp_element_is_float(value->element),
                          .code = ulp_metrics_code_find()};
    m.units = !m.integers && format->emin - format->precision + 1 >= -1022 && format->precision > 1;
    size_t chunk_count = (value->count + CHUNK - 1) / CHUNK;
    void *partials;
    enum ulp_status status = ulp_allocate(&partials, chunk_count, sizeof(struct partial),
                                          ulp_pool_scratch(pool), "measures", error);
    m.partials = partials;
    if (status == ULP_OK)
        status = ulp_median_create(&m.ulps, value->count, pool, error);
    if (status == ULP_OK)
        status = ulp_parallel_for(pool, chunk_count, 1, measure_chunks, &m, error);
    if (status == ULP_OK && chunk_count) {
        combine(&m, chunk_count, out);
        status = ulp_median_find(&m.ulps, pool, &out->median_ulp, error);
    }
    ulp_median_free(&m.ulps);
    ulp_free(partials);
    return status;
}

enum ulp_status ulp_metrics_measure(const struct ulp_tensor *value, const struct ulp_tensor *base,
                                    const struct ulp_format *format, struct ulp_metrics *out,
                                    struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return ulp_metrics_measure_on(value, base, format, NULL, out, error);
}

double ulp_range_headroom(double ref_max, const struct ulp_format *format)
{
    return ref_max > 0 ? ulp_math_log2(format->max_finite / ref_max) : INFINITY;
}

/* A piece of a tensor: its elements' magnitudes, and the sum of their squares, each over the power
 * of two of scale_of(max). */
struct range_piece {
    double max, min, sum;
    size_t count;
};
/* Cut the same way for any number of threads, so that sums have the same bits. */
enum { RANGE_PIECES = 64 };
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
    const int before = scale_of(piece->max);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const double magnitude = fabs(x[i]);
        if (!isfinite(magnitude))
            continue;
        piece->max = magnitude > piece->max ? magnitude : piece->max;
        piece->min = magnitude > 0 && magnitude < piece->min ? magnitude : piece->min;
        x[kept++] = magnitude;
    }
    const double by = ldexp(1, -scale_of(piece->max));
    struct ulp_metrics_sums sums;
    code->sum(&sums, x, x, x, kept, &(struct ulp_metrics_scales){by, by, by});
    piece->sum = ldexp(piece->sum, 2 * (before - scale_of(piece->max))) + sums.b2;
    piece->count += kept;
}

static enum ulp_status range_pieces(void *context, size_t first, size_t last, int worker,
                                    struct ulp_error *error)
{
    (void)worker, (void)error;
    struct ranging *r = context;
    struct ulp_exponents exponents;
    if (r->exponents)
        memset(&exponents, 0, sizeof exponents);
    for (size_t p = first; p < last; p++) {
        const size_t begin = p * r->piece_length,
                     left = r->base->count > begin ? r->base->count - begin : 0;
        const size_t end = begin + (left < r->piece_length ? left : r->piece_length);
        struct range_piece piece = {.min = INFINITY};
        double strip[ULP_METRICS_STRIP];
        for (size_t i = begin, count; i < end; i += count) {
            count = end - i < ULP_METRICS_STRIP ? end - i : ULP_METRICS_STRIP;
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
    const int scale = scale_of(all.max);
    for (size_t p = 0; p < RANGE_PIECES; p++)
        all.sum += ldexp(r.pieces[p].sum, 2 * (scale_of(r.pieces[p].max) - scale));
    *out = (struct ulp_range){
        .ref_rms = all.count ? fmin(ldexp(sqrt(all.sum / (double)all.count), scale), all.max) : NAN,
        .ref_max = all.count ? all.max : NAN,
        .ref_min_nonzero = isfinite(all.min) ? all.min : NAN,
        .headroom_bits = ulp_range_headroom(all.max, format)};
}
