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
#include "base/memory/budget.h"
#include "base/tuning.h"
#include "analysis/measure/median.h"
#include "analysis/measure/difference.h"
#include "tensor/tensor.h"
#include "number/function/math.h"

#define CHUNK 4096
#define PAIRS_MAX ULP_VIEW_COUNT

/* Of one chunk of one pair. */
struct partial {
    double max_abs, max_value, max_base, max_rel, max_ulp;
    struct ulp_metrics_sums sums; /* each magnitude is scaled by its maximum's scale */
    size_t nonfinite, first_nonfinite, worst, count;
    bool integer_differs;
};

struct pair {
    size_t value, base; /* of the tensors */
    bool integers;
    bool units; /* ulps of the format and their inverses are normal doubles, and wanted */
    struct partial *partials;
    struct ulp_median ulps; /* |d| in ulps of every element; -1: left out */
};

/* Each tensor is read once for all pairs. */
struct measuring {
    const struct ulp_tensor *tensors[2 * PAIRS_MAX];
    struct pair pairs[PAIRS_MAX];
    size_t tensor_count, pair_count;
    size_t count; /* of every tensor's elements */
    const struct ulp_format *format;
    const struct ulp_metrics_code *code;
    char *desks;
    size_t desk_count;
};

/* ---- where a worker reads ---- */

/* The elements of a chunk, rounded up to what sums take at once. */
static size_t find_room(const struct measuring *m)
{
    return (ulp_size_min(m->count, CHUNK) + 7) / 8 * 8;
}

/* Of each tensor an open strip and a chunk of nearest doubles, of each pair a chunk of differences,
 * and three chunks for those of them that are finite. */
static size_t find_desk_bytes(const struct measuring *m)
{
    return m->tensor_count * sizeof(struct ulp_metrics_side) +
           (m->tensor_count + m->pair_count + 3) * find_room(m) * sizeof(double);
}

struct desk {
    struct ulp_metrics_side *sides; /* by tensor */
    double *nearest, *differences;  /* by tensor, by pair: `room` each */
    double *finite;
    size_t room;
};

static struct desk find_desk(const struct measuring *m, int worker)
{
    /* Without a pool of its own the caller may be any worker of another. */
    char *memory = m->desks + (size_t)worker % m->desk_count * find_desk_bytes(m);
    struct desk desk = {.sides = (struct ulp_metrics_side *)memory, .room = find_room(m)};
    desk.nearest = (double *)(memory + m->tensor_count * sizeof(struct ulp_metrics_side));
    desk.differences = desk.nearest + m->tensor_count * desk.room;
    desk.finite = desk.differences + m->pair_count * desk.room;
    return desk;
}

/* ---- a chunk ---- */

/* The exponent of the power of two that a maximum's terms are divided by. Held away from double's
 * ends, so that the inverse is a normal double; squares of what is beyond neither overflow nor
 * vanish either. */
int ulp_metrics_scale(double maximum)
{
    if (maximum == 0)
        return 0;
    const int exponent = ilogb(maximum);
    return exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
}

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

/* Measures a strip into the partial and the pair's ulps; whether all of it is finite. */
static bool measure_strip(const struct measuring *m, const struct pair *pair, struct partial *p,
                          const double *value, const double *base, const double *difference,
                          size_t first, size_t count)
{
    struct ulp_metrics_summary summary;
    double *ulps = pair->ulps.values + first, before = p->max_abs;
    m->code->compare(&summary, ulps, value, base, difference, count, m->format->emin,
                     m->format->precision, pair->units);
    raise(&p->max_abs, summary.max_abs);
    raise(&p->max_value, summary.max_value);
    raise(&p->max_base, summary.max_base);
    raise(&p->max_rel, summary.max_rel);
    if (pair->units || pair->integers)
        raise(&p->max_ulp, summary.max_ulp);
    else /* ulps that, or whose inverses, are no normal doubles; 0 of them stay 0 */
        for (size_t i = 0; i < count; i++)
            if (ulps[i] > 0) {
                ulps[i] /= ulp_format_ulp(m->format, base[i]);
                p->max_ulp = ulp_math_max(p->max_ulp, ulps[i]);
            }
    for (size_t i = 0; i < count && p->max_abs > before; i++)
        if (ulps[i] >= 0 && fabs(difference[i]) == p->max_abs) {
            p->worst = first + i;
            break;
        }
    p->integer_differs |= pair->integers && summary.max_abs != 0;
    if ((size_t)summary.finite == count)
        return true;
    for (size_t i = 0; i < count; i++)
        if (ulps[i] == -1 && !agree_not_finite(value[i], base[i])) {
            p->nonfinite++;
            p->first_nonfinite = first + i < p->first_nonfinite ? first + i : p->first_nonfinite;
        }
    return false;
}

/* The sums of a pair's chunk of `count` elements, those left out that are not finite. */
static void sum_chunk(const struct measuring *m, const struct pair *pair, struct partial *p,
                      const struct desk *desk, double *difference, size_t count, bool all_finite)
{
    double *value = desk->nearest + pair->value * desk->room,
           *base = desk->nearest + pair->base * desk->room;
    p->count = count;
    if (!all_finite) {
        double *values = desk->finite, *bases = values + desk->room,
               *differences = bases + desk->room;
        p->count = 0;
        for (size_t i = 0; i < count; i++)
            if (isfinite(value[i]) && isfinite(base[i]) && isfinite(difference[i])) {
                values[p->count] = value[i];
                bases[p->count] = base[i];
                differences[p->count++] = difference[i];
            }
        value = values, base = bases, difference = differences;
    }
    const struct ulp_metrics_scales by = {ldexp(1, -ulp_metrics_scale(p->max_value)),
                                          ldexp(1, -ulp_metrics_scale(p->max_base)),
                                          ldexp(1, -ulp_metrics_scale(p->max_abs))};
    m->code->sum(&p->sums, value, base, difference, p->count, &by);
}

static void measure_chunk(struct measuring *m, size_t chunk, int worker)
{
    const struct desk desk = find_desk(m, worker);
    const size_t begin = chunk * CHUNK, end = begin + ulp_size_min(m->count - begin, CHUNK);
    bool all_finite[PAIRS_MAX];
    for (size_t p = 0; p < m->pair_count; p++) {
        m->pairs[p].partials[chunk] = (struct partial){.first_nonfinite = SIZE_MAX, .worst = begin};
        all_finite[p] = true;
    }
    for (size_t first = begin, count; first < end; first += count) {
        count = ulp_size_min(end - first, ULP_METRICS_STRIP);
        for (size_t t = 0; t < m->tensor_count; t++) {
            ulp_side_open(&desk.sides[t], m->tensors[t], first, count);
            memcpy(desk.nearest + t * desk.room + (first - begin), desk.sides[t].nearest,
                   count * sizeof(double));
        }
        for (size_t p = 0; p < m->pair_count; p++) {
            const struct pair *pair = &m->pairs[p];
            const struct ulp_metrics_side *value = &desk.sides[pair->value],
                                          *base = &desk.sides[pair->base];
            double *difference = desk.differences + p * desk.room + (first - begin);
            ulp_sides_subtract(difference, value, base);
            all_finite[p] &= measure_strip(m, pair, &pair->partials[chunk], value->nearest,
                                           base->nearest, difference, first, count);
        }
    }
    for (size_t p = 0; p < m->pair_count; p++) {
        sum_chunk(m, &m->pairs[p], &m->pairs[p].partials[chunk], &desk,
                  desk.differences + p * desk.room, end - begin, all_finite[p]);
        ulp_median_count(&m->pairs[p].ulps, begin, end, worker);
    }
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

static void combine(const struct pair *pair, size_t count, size_t chunk_count,
                    struct ulp_metrics *out)
{
    struct partial all = {.first_nonfinite = SIZE_MAX};
    for (size_t c = 0; c < chunk_count; c++) {
        const struct partial *p = &pair->partials[c];
        if (p->max_abs > all.max_abs) {
            all.max_abs = p->max_abs;
            all.worst = p->worst;
        }
        all.max_rel = ulp_math_max(all.max_rel, p->max_rel);
        all.max_ulp = ulp_math_max(all.max_ulp, p->max_ulp);
        all.max_value = ulp_math_max(all.max_value, p->max_value);
        all.max_base = ulp_math_max(all.max_base, p->max_base);
        all.count += p->count;
        all.nonfinite += p->nonfinite;
        all.first_nonfinite =
            p->first_nonfinite < all.first_nonfinite ? p->first_nonfinite : all.first_nonfinite;
        all.integer_differs |= p->integer_differs;
    }
    const int abs_scale = ulp_metrics_scale(all.max_abs),
              base_scale = ulp_metrics_scale(all.max_base),
              value_scale = ulp_metrics_scale(all.max_value);
    struct ulp_metrics_sums sums = {0};
    for (size_t c = 0; c < chunk_count; c++) {
        const struct partial *p = &pair->partials[c];
        const double d = ldexp(1, ulp_metrics_scale(p->max_abs) - abs_scale),
                     b = ldexp(1, ulp_metrics_scale(p->max_base) - base_scale);
        const double v = ldexp(1, ulp_metrics_scale(p->max_value) - value_scale);
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
        .rms = ulp_math_min(rms, all.max_abs) /* but for roundings it is */,
        .mean = ldexp(sums.d / n, abs_scale),
        .max_rel = all.max_rel,
        .max_ulp = all.max_ulp,
        .cosine = clamp(sums.vb / (sqrt(sums.v2) * sqrt(sums.b2))),
        .sqnr_db = sums.d2 > 0 ? 20 * (ulp_math_log10(quotient) +
                                       (exponent + base_scale - abs_scale) * ulp_math_log10(2))
                               : INFINITY,
        .nonfinite = all.nonfinite,
        .unmeasured = count - all.count - all.nonfinite,
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

/* ---- pairs ---- */

static size_t find_tensor(struct measuring *m, const struct ulp_tensor *tensor)
{
    size_t t = 0;
    while (t < m->tensor_count && m->tensors[t] != tensor)
        t++;
    if (t == m->tensor_count)
        m->tensors[m->tensor_count++] = tensor;
    return t;
}

static void add_pair(struct measuring *m, const struct ulp_metrics_pair *pair)
{
    const bool integers = !ulp_element_is_float(pair->value->element);
    const struct ulp_format *format = m->format;
    m->pairs[m->pair_count++] =
        (struct pair){.value = find_tensor(m, pair->value),
                      .base = find_tensor(m, pair->base),
                      .integers = integers,
                      .units = !integers && format->emin - format->precision + 1 >= -1022 &&
                               format->precision > 1};
}

/* Pairs of one shape. */
static enum ulp_status measure_together(const struct ulp_metrics_pair *pairs, size_t pair_count,
                                        const struct ulp_format *format, struct ulp_pool *pool,
                                        struct ulp_error *error)
{
    struct measuring m = {.format = format,
                          .count = pairs[0].value->count,
                          .desk_count = (size_t)ulp_pool_thread_count(pool),
                          .code = ulp_metrics_code_find()};
    for (size_t p = 0; p < pair_count; p++)
        add_pair(&m, &pairs[p]);
    const size_t chunk_count = (m.count + CHUNK - 1) / CHUNK;
    void *memory;
    enum ulp_status status = ulp_allocate(&memory, m.desk_count, find_desk_bytes(&m),
                                          ulp_pool_scratch(pool), "measures", error);
    m.desks = memory;
    for (size_t p = 0; p < pair_count && status == ULP_OK; p++) {
        status = ulp_allocate(&memory, chunk_count, sizeof(struct partial), ulp_pool_scratch(pool),
                              "measures", error);
        m.pairs[p].partials = memory;
        if (status == ULP_OK)
            status = ulp_median_create(&m.pairs[p].ulps, m.count, pool, error);
    }
    if (status == ULP_OK)
        status = ulp_parallel_for(pool, chunk_count, 1, measure_chunks, &m, error);
    for (size_t p = 0; p < pair_count; p++) {
        if (status == ULP_OK && chunk_count) {
            combine(&m.pairs[p], m.count, chunk_count, pairs[p].out);
            status = ulp_median_find(&m.pairs[p].ulps, pool, &pairs[p].out->median_ulp, error);
        }
        ulp_median_free(&m.pairs[p].ulps);
        ulp_free(m.pairs[p].partials);
    }
    ulp_free(m.desks);
    return status;
}

static bool is_wide(const struct ulp_metrics_pair *pair)
{
    return pair->value->element == ULP_ELEMENT_WIDE || pair->base->element == ULP_ELEMENT_WIDE;
}

/* Pairs that can be measured side by side come first; how many they are. Of doubles and floats each
 * by itself is faster: they are read in less time than so many arrays take in the caches. */
static size_t find_alike(struct ulp_metrics_pair *pairs, size_t count)
{
    const size_t room = ULP_TUNE_MEASURE_BYTES / sizeof(double) / (pairs[0].value->count + 1),
                 most = is_wide(&pairs[0]) ? room : 1;
    size_t alike = 1;
    for (size_t p = 1; p < count && alike < most; p++)
        if (pairs[p].value->count == pairs[0].value->count) {
            const struct ulp_metrics_pair other = pairs[alike];
            pairs[alike++] = pairs[p];
            pairs[p] = other;
        }
    return alike;
}

enum ulp_status ulp_metrics_measure_pairs(const struct ulp_metrics_pair *pairs, size_t count,
                                          const struct ulp_format *format, struct ulp_pool *pool,
                                          struct ulp_error *error)
{
    struct ulp_metrics_pair open[PAIRS_MAX];
    size_t open_count = 0;
    enum ulp_status status = ULP_OK;
    for (size_t p = 0; p < count; p++) {
        *pairs[p].out = ulp_metrics_undefined();
        if (ulp_tensor_same_shape(pairs[p].value, pairs[p].base))
            open[open_count++] = pairs[p];
        else
            pairs[p].out->diverged = true;
    }
    for (size_t p = 0, together; p < open_count && status == ULP_OK; p += together) {
        together = find_alike(open + p, open_count - p);
        const size_t refusals = ulp_budget_refusals(ulp_pool_scratch(pool));
        status = measure_together(open + p, together, format, pool, error);
        if (status == ULP_ERROR_MEMORY && together > 1 &&
            ulp_budget_refusals(ulp_pool_scratch(pool)) > refusals)
            status = measure_together(open + p, together = 1, format, pool, error);
    }
    return status;
}

enum ulp_status ulp_metrics_measure_on(const struct ulp_tensor *value,
                                       const struct ulp_tensor *base,
                                       const struct ulp_format *format, struct ulp_pool *pool,
                                       struct ulp_metrics *out, struct ulp_error *error)
{
    return ulp_metrics_measure_pairs(&(struct ulp_metrics_pair){value, base, out}, 1, format, pool,
                                     error);
}

enum ulp_status ulp_metrics_measure(const struct ulp_tensor *value, const struct ulp_tensor *base,
                                    const struct ulp_format *format, struct ulp_metrics *out,
                                    struct ulp_error *error)
{
    struct ulp_environment caller ULP_LEFT_ON_RETURN;
    ulp_environment_enter(&caller);
    return ulp_metrics_measure_on(value, base, format, NULL, out, error);
}
