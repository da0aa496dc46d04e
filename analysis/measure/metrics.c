/* Measures of a difference of tensors.
 *
 * Each difference is formed exactly and rounded once to double (difference.h). Sums run over chunks
 * of fixed size that are added in order, so figures do not depend on threads. A chunk's strips stay
 * in the first cache: no array of differences is ever made. */
#include "analysis/measure/metrics.h"

#include "analysis/measure/difference.h"
#include "analysis/measure/figure.h"
#include "analysis/measure/median.h"
#include "analysis/measure/partial.h"
#include "base/error.h"
#include "base/machine/environment.h"
#include "base/memory/alloc.h"
#include "base/memory/budget.h"
#include "base/tuning.h"
#include "number/round/round.h"
#include "tensor/tensor.h"

#define CHUNK 4096

struct pair {
    size_t value, base; /* of the tensors */
    struct ulp_partial_rule rule;
    struct ulp_partial *partials;
    double *ulps; /* |d| in ulps of every element; -1: left out */
};

/* Each tensor is read once for all pairs. */
struct measuring {
    const struct ulp_tensor *tensors[3 * ULP_METRICS_PAIRS];
    struct pair pairs[ULP_METRICS_PAIRS];
    size_t tensor_count, pair_count;
    size_t count; /* of every tensor's elements */
    size_t chunk_count;
    char *desks;
    size_t desk_count;
};

/* ---- where a worker works ---- */

struct desk {
    struct ulp_metrics_side *sides; /* an open strip of each tensor */
    struct ulp_partial_desk *pairs;
};

static size_t find_desk_bytes(const struct measuring *m)
{
    return ulp_size_round_up(m->tensor_count * sizeof(struct ulp_metrics_side) +
                                 m->pair_count * sizeof(struct ulp_partial_desk),
                             ULP_ALIGNMENT);
}

static struct desk find_desk(const struct measuring *m, int worker)
{
    /* Without a pool of its own the caller may be any worker of another. */
    char *memory = m->desks + (size_t)worker % m->desk_count * find_desk_bytes(m);
    struct desk desk = {.sides = (struct ulp_metrics_side *)memory};
    desk.pairs = (struct ulp_partial_desk *)(desk.sides + m->tensor_count);
    return desk;
}

/* ---- a chunk ---- */

static void measure_strip(const struct pair *pair, struct ulp_partial *partial,
                          const struct desk *desk, struct ulp_partial_desk *own)
{
    struct ulp_metrics_side *value = &desk->sides[pair->value], *base = &desk->sides[pair->base];
    _Alignas(64) double difference[ULP_METRICS_STRIP];
    const struct ulp_partial_strip strip = {value->nearest, base->nearest,
                                            difference,     pair->ulps + value->first,
                                            value->first,   value->count};
    ulp_sides_subtract(difference, value, base);
    ulp_partial_add(partial, own, &pair->rule, &strip);
}

static void measure_chunk(struct measuring *m, size_t chunk, int worker)
{
    const struct desk desk = find_desk(m, worker);
    const size_t begin = chunk * CHUNK, end = begin + ulp_size_min(m->count - begin, CHUNK);
    for (size_t p = 0; p < m->pair_count; p++)
        ulp_partial_begin(&m->pairs[p].partials[chunk], &desk.pairs[p], begin);
    for (size_t first = begin, count; first < end; first += count) {
        count = ulp_size_min(end - first, ULP_METRICS_STRIP);
        for (size_t t = 0; t < m->tensor_count; t++)
            ulp_side_open(&desk.sides[t], m->tensors[t], first, count);
        for (size_t p = 0; p < m->pair_count; p++)
            measure_strip(&m->pairs[p], &m->pairs[p].partials[chunk], &desk, &desk.pairs[p]);
    }
    for (size_t p = 0; p < m->pair_count; p++)
        ulp_partial_end(&m->pairs[p].partials[chunk], &desk.pairs[p], &m->pairs[p].rule);
}

ULP_WORK(measure_chunks)
{
    for (size_t chunk = first; chunk < last; chunk++)
        measure_chunk(context, chunk, worker);
    return ULP_OK;
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
    const struct ulp_format *format = pair->format;
    m->pairs[m->pair_count++] =
        (struct pair){.value = find_tensor(m, pair->value),
                      .base = find_tensor(m, pair->base),
                      .rule = {.code = ulp_metrics_code_find(),
                               .format = format,
                               .integers = integers,
                               .units = !integers && ulp_format_lowest_bit(format) >= -1022 &&
                                        format->precision > 1}};
}

static enum ulp_status allocate(struct measuring *m, struct ulp_pool *pool, struct ulp_error *error)
{
    ULP_TRY(ulp_allocate(&m->desks, m->desk_count, find_desk_bytes(m), ulp_pool_scratch(pool),
                         "measures", error));
    for (size_t p = 0; p < m->pair_count; p++) {
        ULP_TRY(ulp_allocate(&m->pairs[p].partials, m->chunk_count, sizeof(struct ulp_partial),
                             ulp_pool_scratch(pool), "measures", error));
        ULP_TRY(ulp_allocate(&m->pairs[p].ulps, m->count, sizeof(double), ulp_pool_scratch(pool),
                             "measures", error));
    }
    return ULP_OK;
}

/* What its chunks come to. */
struct combining {
    struct measuring *measuring;
    const struct ulp_metrics_pair *pairs;
};

ULP_WORK(combine_pairs)
{
    const struct combining *job = context;
    const struct measuring *m = job->measuring;
    for (size_t p = first; p < last; p++) {
        ulp_partial_combine(m->pairs[p].partials, m->chunk_count, m->count, job->pairs[p].out);
        job->pairs[p].out->median_ulp = ulp_median_find(m->pairs[p].ulps, m->count);
    }
    return ULP_OK;
}

/* Pairs of one shape. */
static enum ulp_status measure_together(const struct ulp_metrics_pair *pairs, size_t pair_count,
                                        struct ulp_pool *pool, struct ulp_error *error)
{
    struct measuring m = {.count = pairs[0].value->count,
                          .desk_count = (size_t)ulp_pool_thread_count(pool)};
    struct combining combining = {&m, pairs};
    m.chunk_count = ulp_size_divide_up(m.count, CHUNK);
    for (size_t p = 0; p < pair_count; p++)
        add_pair(&m, &pairs[p]);
    enum ulp_status status = allocate(&m, pool, error);
    ULP_THEN(status, ulp_parallel_for(pool, m.chunk_count, 1, measure_chunks, &m, error));
    if (status == ULP_OK && m.chunk_count)
        status = ulp_parallel_for(pool, pair_count, 1, combine_pairs, &combining, error);
    for (size_t p = 0; p < pair_count; p++) {
        ulp_free(m.pairs[p].ulps);
        ulp_free(m.pairs[p].partials);
    }
    ulp_free(m.desks);
    return status;
}

/* Pairs that can be measured side by side come first; how many they are. */
static size_t find_alike(struct ulp_metrics_pair *pairs, size_t count)
{
    const size_t room = ULP_TUNE_MEASURE_BYTES / (pairs[0].value->count * sizeof(double) + 1),
                 most = ulp_size_min(room, ULP_METRICS_PAIRS);
    size_t alike = 1;
    for (size_t p = 1; p < count && alike < most; p++)
        if (pairs[p].value->count == pairs[0].value->count) {
            const struct ulp_metrics_pair other = pairs[alike];
            pairs[alike++] = pairs[p];
            pairs[p] = other;
        }
    return alike;
}

enum ulp_status ulp_metrics_measure_pairs(struct ulp_metrics_pair *pairs, size_t count,
                                          struct ulp_pool *pool, struct ulp_error *error)
{
    size_t open_count = 0;
    enum ulp_status status = ULP_OK;
    for (size_t p = 0; p < count; p++) {
        *pairs[p].out = ulp_metrics_undefined();
        if (ulp_tensor_same_shape(pairs[p].value, pairs[p].base))
            pairs[open_count++] = pairs[p];
        else
            pairs[p].out->diverged = true;
    }
    for (size_t p = 0, together; p < open_count && status == ULP_OK; p += together) {
        together = find_alike(pairs + p, open_count - p);
        const size_t refusals = ulp_budget_refusals(ulp_pool_scratch(pool));
        status = measure_together(pairs + p, together, pool, error);
        if (together > 1 && ulp_budget_refused(ulp_pool_scratch(pool), refusals, status))
            status = measure_together(pairs + p, together = 1, pool, error);
    }
    return status;
}

enum ulp_status ulp_metrics_measure_on(const struct ulp_tensor *value,
                                       const struct ulp_tensor *base,
                                       const struct ulp_format *format, struct ulp_pool *pool,
                                       struct ulp_metrics *out, struct ulp_error *error)
{
    return ulp_metrics_measure_pairs(&(struct ulp_metrics_pair){value, base, format, .out = out}, 1,
                                     pool, error);
}

enum ulp_status ulp_metrics_measure(const struct ulp_tensor *value, const struct ulp_tensor *base,
                                    const struct ulp_format *format, struct ulp_metrics *out,
                                    struct ulp_error *error)
{
    ULP_ENTER(error);
    return ulp_metrics_measure_on(value, base, format, NULL, out, error);
}
