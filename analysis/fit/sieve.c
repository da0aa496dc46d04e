/* The sieve: candidates against a few elements, then more, then all. */
#include <math.h>
#include <string.h>

#include <ulpscope/array.h>

#include "analysis/fit/fit.h"
#include "analysis/schedule/slices.h"
#include "base/error.h"
#include "base/machine/thread.h"
#include "base/random.h"
#include "number/function/math.h"

enum { SAMPLE_MAX = 48 };
/* Rows and columns of each product in the samples: most candidates differ in the first. */
static const size_t sample_rows[ULP_FIT_STAGES] = {2, 12, 48},
                    sample_columns[ULP_FIT_STAGES] = {4, 24, 48};
_Static_assert(SAMPLE_MAX >= 48, "a sample's lines");

/* `wanted` different lines of `count`, drawn by a counter; all where there are no more. */
static size_t draw(size_t out[SAMPLE_MAX], size_t count, size_t wanted, uint64_t key)
{
    size_t drawn = 0;
    for (uint64_t i = 0; drawn < wanted && drawn < count; i++) {
        size_t line = count <= wanted ? drawn : (size_t)(ulp_random_bits(key, i) % count);
        bool repeated = false;
        for (size_t d = 0; d < drawn; d++)
            repeated |= out[d] == line;
        if (!repeated)
            out[drawn++] = line;
    }
    return drawn;
}

/* Samples of every product under every case, as ulp_fit_problem's values. */
struct samples {
    struct ulp_fit_values *values;
    size_t count;
};

static void free_samples(struct samples *samples)
{
    for (size_t i = 0; i < samples->count && samples->values; i++) {
        ulp_tensor_free(&samples->values[i].a);
        ulp_tensor_free(&samples->values[i].b);
        ulp_tensor_free(&samples->values[i].c);
    }
    ulp_free(samples->values);
}

static enum ulp_status take_sample(const struct ulp_fit_problem *problem, int stage, size_t at,
                                   struct ulp_fit_values *out, struct ulp_error *error)
{
    size_t rows[SAMPLE_MAX], columns[SAMPLE_MAX];
    const size_t product = at / problem->case_count;
    const struct ulp_fit_shape *shape = &problem->shapes[product];
    const struct ulp_fit_values *values = &problem->values[at];
    struct ulp_fit_sample sample = {.rows = rows, .columns = columns};
    sample.row_count = draw(rows, shape->m, sample_rows[stage], 2 * product);
    sample.column_count = draw(columns, shape->n, sample_columns[stage], 2 * product + 1);
    const struct ulp_fit_sample of_a = {.rows = rows, .row_count = sample.row_count},
                                of_b = {.columns = columns, .column_count = sample.column_count};
    ULP_TRY(ulp_fit_take(&out->a, &values->a, &of_a, error));
    ULP_TRY(ulp_fit_take(&out->b, &values->b, &of_b, error));
    return ulp_fit_take(&out->c, &values->c, &sample, error);
}

static enum ulp_status take_samples(const struct ulp_fit_problem *problem, int stage,
                                    struct samples *out, struct ulp_error *error)
{
    *out = (struct samples){.count = problem->product_count * problem->case_count};
    ULP_TRY(ulp_allocate_zero((void **)&out->values, out->count, sizeof *out->values, NULL,
                              "samples", error));
    for (size_t i = 0; i < out->count; i++)
        ULP_TRY(take_sample(problem, stage, i, &out->values[i], error));
    return ULP_OK;
}

struct scoring {
    const struct ulp_fit_problem *problem;
    const struct ulp_fit_ways *ways;
    const struct samples *samples;
    struct ulp_fit_score *scores;
};

static enum ulp_status score_one(const struct scoring *scoring, struct ulp_fit_score *score,
                                 struct ulp_error *error)
{
    const struct ulp_fit_problem *problem = scoring->problem;
    const size_t base = scoring->ways->ways[score->way].base;
    const size_t at = scoring->ways->bases[base].case_index;
    const struct ulp_arithmetic arithmetic = ulp_fit_arithmetic(scoring->ways, score->way);
    score->equal = 0;
    for (size_t p = 0; p < problem->product_count; p++) {
        const struct ulp_fit_values *values =
            &scoring->samples->values[p * problem->case_count + at];
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor out = {0};
        ULP_TRY(ulp_array_matmul(&out, &arithmetic, &values->a, &values->b, 1, error));
        score->equal += ulp_equal_elements(&out, &values->c);
    }
    return ULP_OK;
}

ULP_WORK(score_some)
{
    const struct scoring *scoring = context;
    for (size_t i = first; i < last; i++)
        ULP_TRY(score_one(scoring, &scoring->scores[i], error));
    return ULP_OK;
}

enum ulp_status ulp_fit_score_sample(const struct ulp_fit_problem *problem,
                                     const struct ulp_fit_ways *ways, int stage,
                                     struct ulp_fit_score *scores, size_t count, size_t *total,
                                     struct ulp_error *error)
{
    ULP_SCOPED(free_samples) struct samples samples = {0};
    struct scoring scoring = {problem, ways, &samples, scores};
    ULP_SCOPED(ulp_pool_free_of) struct ulp_pool *pool = NULL;
    *total = 0;
    ULP_TRY(take_samples(problem, stage, &samples, error));
    ULP_TRY(ulp_pool_create(&pool, problem->thread_count, error));
    for (size_t p = 0; p < problem->product_count; p++)
        *total += samples.values[p * problem->case_count].c.count;
    return ulp_parallel_for(pool, count, 1, score_some, &scoring, error);
}

/* ---- all elements ---- */

static bool equal_values(double x, double y)
{
    return isnan(x) ? isnan(y) : x == y && signbit(x) == signbit(y);
}

/* One element that differs. */
static void add_difference(struct ulp_fit_candidate *out, const struct ulp_format *format,
                           size_t product, size_t index, size_t width, double recorded,
                           double computed)
{
    const size_t row = index / width, column = index % width;
    const double ulps = fabs(computed - recorded) / ulp_format_ulp(format, recorded);
    if (out->product == SIZE_MAX) {
        out->product = product;
        out->index = index;
        out->recorded = recorded;
        out->computed = computed;
        out->first_row = out->last_row = row;
        out->first_column = out->last_column = column;
    }
    out->max_ulps = isnan(ulps) ? INFINITY : ulp_math_max(out->max_ulps, ulps);
    if (product != out->product)
        return;
    out->first_row = ulp_size_min(out->first_row, row);
    out->last_row = row > out->last_row ? row : out->last_row;
    out->first_column = ulp_size_min(out->first_column, column);
    out->last_column = column > out->last_column ? column : out->last_column;
}

enum ulp_status ulp_fit_score_all(const struct ulp_fit_problem *problem,
                                  const struct ulp_fit_ways *ways, size_t way,
                                  struct ulp_fit_candidate *out, uint8_t *differs,
                                  struct ulp_error *error)
{
    const struct ulp_fit_base *base = &ways->bases[ways->ways[way].base];
    const struct ulp_fit_case *fit_case = &problem->cases[base->case_index];
    struct ulp_arithmetic arithmetic = {0};
    struct ulp_format format = {0};
    size_t total = 0;
    *out = (struct ulp_fit_candidate){.product = SIZE_MAX};
    memcpy(out->gpus, base->gpus, sizeof out->gpus);
    ulp_fit_also(ways, way, out->also, sizeof out->also);
    ULP_TRY(ulp_fit_name(ways, way, &arithmetic, error));
    ULP_TRY(ulp_format_find(fit_case->result, &format, error));
    memcpy(out->name, arithmetic.name, sizeof out->name);
    strncpy(out->operands, fit_case->operands, sizeof out->operands - 1);
    strncpy(out->result, fit_case->result, sizeof out->result - 1);
    for (size_t p = 0; p < problem->product_count; p++) {
        const struct ulp_fit_values *values =
            &problem->values[p * problem->case_count + base->case_index];
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor computed = {0};
        ULP_TRY(ulp_array_matmul(&computed, &arithmetic, &values->a, &values->b,
                                 problem->thread_count, error));
        for (size_t i = 0; i < computed.count; i++) {
            const double x = ulp_tensor_get(&computed, i), y = ulp_tensor_get(&values->c, i);
            const bool equal = equal_values(x, y);
            out->equal += equal;
            if (differs)
                differs[total + i] = !equal;
            if (!equal)
                add_difference(out, &format, p, i, problem->shapes[p].n, y, x);
        }
        total += computed.count;
    }
    out->consistent = out->equal == total;
    return ULP_OK;
}
