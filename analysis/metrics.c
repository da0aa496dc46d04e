/* Measures of a difference of tensors.
 *
 * Each difference is formed exactly and rounded once to double (in doubles where that is certain, else by MPFR subtraction into
 * 53 bits; between two float carriers the double subtraction is that rounding). Sums run over chunks of fixed size that are added in order, so figures do not depend on
 * threads; they are scaled by the largest term, so that squares neither overflow nor vanish. */
#include "metrics.h"

#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "number/mpfr_record.h"
#include "tensor/tensor.h"

#define CHUNK 4096

/* Of one chunk. Scaled sums are of (d / max_abs)^2 and so on with the chunk's own maxima. */
struct partial {
    double max_abs, max_value, max_base, max_rel, max_ulp;
    double sum_d2, sum_d, sum_b2, sum_v2, sum_vb; /* d scaled by max_abs, b by max_base, v by max_value; sum_d by max_abs */
    size_t nonfinite, first_nonfinite, worst, count;
    bool integer_differs;
};

struct measuring {
    const struct ulp_tensor *value, *base;
    const struct ulp_format *format;
    struct partial *partials;
    double *ulps; /* |d| in ulps of every element; -1: left out */
    bool integers;
};

static bool is_plain(const struct ulp_tensor *tensor)
{
    return tensor->element != ULP_ELEMENT_WIDE;
}

/* Element i; a finite one of the reference beyond double (exp(800)) is the largest double, for it is no infinity. */
static double read_finite(const struct ulp_tensor *tensor, size_t i)
{
    double x = ulp_tensor_get(tensor, i);
    if (!isinf(x) || is_plain(tensor))
        return x;
    int64_t kind = ulp_record_at_const(tensor->data, i, tensor->precision)->kind;
    return kind == MPFR_REGULAR_KIND || kind == -MPFR_REGULAR_KIND ? copysign(DBL_MAX, x) : x;
}

/* A value as an exact sum of doubles of falling size, at most 2^53 units of their last place each. */
struct parts {
    double high, middle, low;
};

/* 2^k for |k| < 1000. */
static double power_of_two(int64_t k)
{
    uint64_t bits = (uint64_t)(1023 + k) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* false: not finite, more than 128 bits, or exponents near the ends of double. */
static bool open_parts(const struct ulp_tensor *tensor, size_t i, struct parts *out)
{
    if (is_plain(tensor)) {
        *out = (struct parts){.high = ulp_tensor_get(tensor, i)};
        return isfinite(out->high);
    }
    const struct ulp_record *record = ulp_record_at_const(tensor->data, i, tensor->precision);
    const int64_t kind = record->kind < 0 ? -record->kind : record->kind, e = record->exponent;
    *out = (struct parts){0};
    if (kind == MPFR_ZERO_KIND)
        return true;
    if (kind != MPFR_REGULAR_KIND || tensor->precision > 128 || e < -800 || e > 800 || GMP_NUMB_BITS != 64)
        return false;
    const bool two = tensor->precision > 64;
    const uint64_t upper = record->limbs[two], lower = two ? record->limbs[0] : 0;
    const double sign = record->kind < 0 ? -1 : 1;
    out->high = sign * (double)(upper >> 11) * power_of_two(e - 53);
    out->middle = sign * (double)((upper & 0x7FF) << 42 | lower >> 22) * power_of_two(e - 106);
    out->low = sign * (double)(lower & 0x3FFFFF) * power_of_two(e - 128);
    return true;
}

/* The difference rounded once, when that is certain without MPFR: the highest parts are subtracted exactly (Knuth's two-sum), all
 * that is left is t up to u (four roundings of sums of those magnitudes, doubled), and both ends of t +- u round to one number. */
static bool subtract_quickly(const struct ulp_tensor *value, const struct ulp_tensor *base, size_t i, double *difference)
{
    struct parts a, b;
    if (!open_parts(value, i, &a) || !open_parts(base, i, &b))
        return false;
    const double sum = a.high - b.high, back = sum - a.high, rest = (a.high - (sum - back)) - (b.high + back);
    const double t = rest + (a.middle - b.middle) + (a.low - b.low);
    const double u = 0x1p-50 * (fabs(rest) + fabs(a.middle) + fabs(b.middle) + fabs(a.low) + fabs(b.low));
    const double below = sum + (t - u), above = sum + (t + u);
    *difference = below;
    return below == above;
}

/* Value and base of element i as doubles, and their difference rounded once. */
static void read_element(const struct measuring *m, size_t i, double *value, double *base, double *difference)
{
    *value = read_finite(m->value, i);
    *base = read_finite(m->base, i);
    if (is_plain(m->value) && is_plain(m->base)) {
        *difference = *value - *base;
        return;
    }
    if (subtract_quickly(m->value, m->base, i, difference))
        return;
    mp_limb_t limbs[3][1];
    mpfr_t difference53, sides[2];
    const struct ulp_tensor *tensors[2] = {m->value, m->base};
    const double plain[2] = {*value, *base};
    for (int side = 0; side < 2; side++) {
        if (is_plain(tensors[side])) {
            mpfr_custom_init_set(sides[side], MPFR_NAN_KIND, 0, 53, limbs[side]);
            mpfr_set_d(sides[side], plain[side], MPFR_RNDN);
        } else {
            ulp_record_open_const(sides[side], ulp_record_at_const(tensors[side]->data, i, tensors[side]->precision),
                                  tensors[side]->precision);
        }
    }
    mpfr_custom_init_set(difference53, MPFR_NAN_KIND, 0, 53, limbs[2]);
    mpfr_sub(difference53, sides[0], sides[1], MPFR_RNDN);
    *difference = mpfr_get_d(difference53, MPFR_RNDN);
    if (isinf(*difference) && mpfr_number_p(difference53))
        *difference = copysign(DBL_MAX, *difference);
}

/* Equal non-finite values (the same infinity, or both NaN) agree; any other pair with a non-finite side does not. */
static bool agree_not_finite(double value, double base)
{
    return (isnan(value) && isnan(base)) || (isinf(value) && value == base);
}

static void measure_chunk(const struct measuring *m, size_t chunk)
{
    struct partial *p = &m->partials[chunk];
    size_t first = chunk * CHUNK, count = m->value->count - first < CHUNK ? m->value->count - first : CHUNK;
    double values[CHUNK], bases[CHUNK], differences[CHUNK];
    size_t kept = 0;
    *p = (struct partial){.first_nonfinite = SIZE_MAX, .worst = first};
    for (size_t i = first; i < first + count; i++) {
        double value, base, d;
        read_element(m, i, &value, &base, &d);
        m->ulps[i] = -1;
        if (!isfinite(value) || !isfinite(base) || !isfinite(d)) {
            if (!agree_not_finite(value, base)) {
                p->nonfinite++;
                p->first_nonfinite = i < p->first_nonfinite ? i : p->first_nonfinite;
            }
            continue;
        }
        double magnitude = fabs(d), ulps = m->integers ? magnitude : magnitude / ulp_format_ulp(m->format, base);
        p->integer_differs |= m->integers && d != 0;
        if (magnitude > p->max_abs) {
            p->max_abs = magnitude;
            p->worst = i;
        }
        if (base != 0 && magnitude / fabs(base) > p->max_rel)
            p->max_rel = magnitude / fabs(base);
        p->max_ulp = fmax(p->max_ulp, ulps);
        p->max_value = fmax(p->max_value, fabs(value));
        p->max_base = fmax(p->max_base, fabs(base));
        m->ulps[i] = ulps;
        values[kept] = value;
        bases[kept] = base;
        differences[kept++] = d;
    }
    p->count = kept;
    double scale_d = p->max_abs > 0 ? p->max_abs : 1, scale_b = p->max_base > 0 ? p->max_base : 1;
    double scale_v = p->max_value > 0 ? p->max_value : 1;
    for (size_t i = 0; i < kept; i++) {
        double d = differences[i] / scale_d, b = bases[i] / scale_b, v = values[i] / scale_v;
        p->sum_d += d;
        p->sum_d2 += d * d;
        p->sum_b2 += b * b;
        p->sum_v2 += v * v;
        p->sum_vb += v * b;
    }
}

static enum ulp_status measure_chunks(void *context, size_t first, size_t last, int worker, struct ulp_error *error)
{
    (void)worker;
    (void)error;
    for (size_t chunk = first; chunk < last; chunk++)
        measure_chunk(context, chunk);
    return ULP_OK;
}

/* The k-th smallest of a[0 .. count), which is reordered (Hoare's selection). After each pass a[low .. j] <= pivot <= a[j + 1 .. high]
 * and low <= j < high. */
static double select_kth(double *a, size_t count, size_t k)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        double pivot = a[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (a[i] < pivot)
                i++;
            while (pivot < a[j])
                j--;
            if (i >= j)
                break;
            double swap = a[i];
            a[i++] = a[j];
            a[j--] = swap;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return a[k];
}

static double median_ulp(double *ulps, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (ulps[i] >= 0)
            ulps[kept++] = ulps[i];
    return kept ? select_kth(ulps, kept, (kept - 1) / 2) : NAN;
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
        all.first_nonfinite = p->first_nonfinite < all.first_nonfinite ? p->first_nonfinite : all.first_nonfinite;
        all.integer_differs |= p->integer_differs;
    }
    for (size_t c = 0; c < chunk_count; c++) {
        const struct partial *p = &m->partials[c];
        double d = all.max_abs > 0 ? p->max_abs / all.max_abs : 0, b = all.max_base > 0 ? p->max_base / all.max_base : 0;
        double v = all.max_value > 0 ? p->max_value / all.max_value : 0;
        all.sum_d += p->sum_d * d;
        all.sum_d2 += p->sum_d2 * d * d;
        all.sum_b2 += p->sum_b2 * b * b;
        all.sum_v2 += p->sum_v2 * v * v;
        all.sum_vb += p->sum_vb * v * b;
    }
    double n = (double)all.count, norm_d = all.max_abs * sqrt(all.sum_d2), norm_b = all.max_base * sqrt(all.sum_b2);
    *out = (struct ulp_metrics){
        .max_abs = all.max_abs, .rms = norm_d / sqrt(n), .mean = all.max_abs * (all.sum_d / n), .max_rel = all.max_rel,
        .max_ulp = all.max_ulp, .cosine = clamp(all.sum_vb / (sqrt(all.sum_v2) * sqrt(all.sum_b2))),
        .sqnr_db = norm_d > 0 ? 20 * log10(norm_b / norm_d) : INFINITY, .nonfinite = all.nonfinite,
        .worst_index = all.nonfinite ? all.first_nonfinite : all.worst, .count = all.count, .diverged = all.integer_differs,
    };
    if (all.count == 0)
        out->max_abs = out->rms = out->mean = out->max_rel = out->max_ulp = out->cosine = out->sqnr_db = NAN;
}

enum ulp_status ulp_metrics_measure_on(const struct ulp_tensor *value, const struct ulp_tensor *base, const struct ulp_format *format,
                                       struct ulp_pool *pool, struct ulp_metrics *out, struct ulp_error *error)
{
    *out = (struct ulp_metrics){.max_abs = NAN, .rms = NAN, .mean = NAN, .max_rel = NAN, .max_ulp = NAN, .median_ulp = NAN,
                                .cosine = NAN, .sqnr_db = NAN};
    if (!ulp_tensor_same_shape(value, base)) {
        out->diverged = true;
        return ULP_OK;
    }
    size_t chunk_count = (value->count + CHUNK - 1) / CHUNK;
    void *partials, *ulps = NULL;
    enum ulp_status status = ulp_allocate(&partials, chunk_count, sizeof(struct partial), NULL, "measures", error);
    if (status == ULP_OK)
        status = ulp_allocate(&ulps, value->count, sizeof(double), NULL, "measures", error);
    struct measuring m = {value, base, format, partials, ulps, !ulp_element_is_float(value->element)};
    if (status == ULP_OK)
        status = ulp_parallel_for(pool, chunk_count, 1, measure_chunks, &m, error);
    if (status == ULP_OK && chunk_count) {
        combine(&m, chunk_count, out);
        out->median_ulp = median_ulp(ulps, value->count);
    }
    ulp_free(ulps);
    ulp_free(partials);
    return status;
}

enum ulp_status ulp_metrics_measure(const struct ulp_tensor *value, const struct ulp_tensor *base, const struct ulp_format *format,
                                    struct ulp_metrics *out, struct ulp_error *error)
{
    return ulp_metrics_measure_on(value, base, format, NULL, out, error);
}

static double headroom(double ref_max, const struct ulp_format *format)
{
    return ref_max > 0 ? log2(format->max_finite / ref_max) : INFINITY;
}

void ulp_range_measure(const struct ulp_tensor *base, const struct ulp_format *format, struct ulp_range *out)
{
    double max = 0, min = INFINITY, sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < base->count; i++) {
        double magnitude = fabs(read_finite(base, i));
        if (!isfinite(magnitude))
            continue;
        max = fmax(max, magnitude);
        if (magnitude > 0 && magnitude < min)
            min = magnitude;
        count++;
    }
    for (size_t i = 0; i < base->count && max > 0; i++) {
        double scaled = read_finite(base, i) / max;
        if (isfinite(scaled))
            sum += scaled * scaled;
    }
    *out = (struct ulp_range){.ref_rms = count ? max * sqrt(sum / (double)count) : NAN, .ref_max = count ? max : NAN,
                              .ref_min_nonzero = isfinite(min) ? min : NAN, .headroom_bits = headroom(max, format)};
}

void ulp_range_merge(struct ulp_range *range, const struct ulp_range *sample, size_t before, const struct ulp_format *format)
{
    double n = (double)before;
    range->ref_rms = sqrt((range->ref_rms * range->ref_rms * n + sample->ref_rms * sample->ref_rms) / (n + 1));
    range->ref_max = fmax(range->ref_max, sample->ref_max);
    range->ref_min_nonzero = fmin(range->ref_min_nonzero, sample->ref_min_nonzero);
    range->headroom_bits = headroom(range->ref_max, format);
}
