/* What a format with scales does to one factor: doc/scales.md says how blocks lie. */
#include <math.h>

#include "analysis/measure/quantile.h"
#include "analysis/scales/scales.h"
#include "base/error.h"
#include "base/memory/alloc.h"
#include "number/function/math.h"
#include "number/round/round.h"

struct measuring {
    const struct ulp_scaling *scaling;
    const struct ulp_factor *factor;
    const struct ulp_contraction *problem;
    struct ulp_scaled scaled;
    double *lines;  /* largest magnitude of each line, and then of each place along k */
    double *others; /* the other factor's squares, [group][k] */
    double *shared; /* largest magnitude of lines that share a scale, [block of a line] */
    size_t skipped_k, skipped_line; /* left out of sums; SIZE_MAX: none */
};

static double value_at(const struct ulp_factor *factor, size_t group, size_t line, size_t k)
{
    const int64_t at = (factor->batch_offset ? factor->batch_offset[group] : 0) +
                       factor->line_offset[line] + factor->k_offset[k];
    return factor->tensor->element == ULP_ELEMENT_F64
               ? (double)(float)((const double *)factor->tensor->data)[at]
               : (double)((const float *)factor->tensor->data)[at];
}

/* A block of a line: places of k that share a scale. */
struct place {
    size_t group, line, block; /* block: of all */
    size_t first, count;       /* of k */
    double scale;              /* with the tensor's */
};
static struct place find_place(const struct ulp_scaled *s, size_t group, size_t line, size_t block)
{
    const size_t run = block / s->run_blocks * s->run, at = block % s->run_blocks * s->block;
    return (struct place){group,
                          line,
                          (group * s->line_count + line) * s->block_count + block,
                          run + at,
                          ulp_size_min(s->block, s->run - at),
                          (double)s->scale[ulp_scaled_block(s, group, line, block)] *
                              (double)s->tensor_scale};
}
/* An element as it is multiplied. */
static float element_at(const struct ulp_scaled *s, const struct place *place, size_t k)
{
    return ((const float *)s->elements.data)[s->batch_offset[place->group] +
                                             s->line_offset[place->line] + s->k_offset[k]];
}

/* What each block of the factor is handed to. */
typedef void look_at_block(const struct measuring *m, const struct place *place, void *context);
static void look_at_each(const struct measuring *m, look_at_block *look, void *context)
{
    const struct ulp_scaled *s = &m->scaled;
    for (size_t g = 0; g < s->group_count; g++)
        for (size_t l = 0; l < s->line_count; l++)
            for (size_t b = 0; b < s->block_count; b++) {
                const struct place place = find_place(s, g, l, b);
                look(m, &place, context);
            }
}

/* ---- blocks ---- */

/* What all blocks come to. */
struct adding {
    struct ulp_scales_block *blocks;
    struct ulp_scaled_tensor *out;
    struct ulp_scales_sums *sums;
};

static void add_block(const struct measuring *m, const struct place *place, void *context)
{
    const struct adding *adding = context;
    const struct ulp_format *format = &m->scaling->element;
    /* beyond the elements' largest; of a scale that has become zero there is none, all become 0 */
    const bool integer = ulp_scaling_is_integer(m->scaling);
    const double largest =
        place->scale > 0
            ? (format->max_finite + ldexp(1, format->emax - format->precision)) * place->scale
            : INFINITY;
    double *lines = &m->lines[place->line], *places = m->lines + m->scaled.line_count;
    for (size_t k = place->first; k < place->first + place->count; k++) {
        const double x = value_at(m->factor, place->group, place->line, k), size = fabs(x),
                     other = m->others[place->group * m->problem->k + k];
        const float element = element_at(&m->scaled, place, k);
        const double d = (double)element * place->scale - x;
        /* an integer is at most half a step from what is not cut off, and its zero point says
         * where that is */
        const bool clipped = integer ? fabs(d) > 0.5000001 * place->scale : size > largest;
        if (!ulp_scales_add(&adding->blocks[place->block], x, d, element == 0, clipped, adding->out,
                            adding->sums))
            continue;
        adding->sums->exact += m->scaling->zero_point && !clipped ? d * d : 0;
        adding->sums->product_signal += x * x * other;
        adding->sums->product_error += d * d * other;
        *lines = size > *lines ? size : *lines;
        places[k] = size > places[k] ? size : places[k];
    }
}

/* A scale of all lines, or of several, is that of the largest of them: found at their first. */
static double share_largest(const struct measuring *m, const struct ulp_scales_block *blocks,
                            const struct place *place)
{
    const size_t lines = m->scaled.line_count, per_line = m->scaled.block_count,
                 tile = m->scaling->k + m->scaling->lines == 0 ? lines : (size_t)m->scaling->lines;
    double *largest = &m->shared[place->block % per_line];
    if (tile <= 1)
        return blocks[place->block].largest;
    if (place->line % tile == 0) {
        *largest = 0;
        for (size_t l = 0; l < tile && place->line + l < lines; l++)
            *largest = ulp_math_max(*largest, blocks[place->block + l * per_line].largest);
    }
    return *largest;
}

/* The error with scales that are not rounded. */
static void add_exactly(const struct measuring *m, const struct place *place, void *context)
{
    enum { PIECE = 64 };
    const struct adding *adding = context;
    const double scale = share_largest(m, adding->blocks, place) / m->scaling->element.max_finite;
    float elements[PIECE];
    for (size_t first = 0; first < place->count; first += PIECE) {
        const size_t count = ulp_size_min(PIECE, place->count - first), k = place->first + first;
        for (size_t i = 0; i < count; i++)
            elements[i] =
                scale > 0 ? (float)(value_at(m->factor, place->group, place->line, k + i) / scale)
                          : 0;
        ulp_round_floats(&m->scaling->element, ULP_ROUND_NEAREST_EVEN, elements, count, 0, 0, 0);
        for (size_t i = 0; i < count; i++) {
            const double d =
                (double)elements[i] * scale - value_at(m->factor, place->group, place->line, k + i);
            adding->sums->exact += isfinite(d) ? d * d : 0;
        }
    }
}

/* ---- the outlier ---- */

static double find_ratio(const double *sizes, size_t count, double *sorted, size_t *which)
{
    *which = 0;
    for (size_t i = 0; i < count; i++) {
        *which = sizes[i] > sizes[*which] ? i : *which;
        sorted[i] = sizes[i];
    }
    ulp_numbers_sort(sorted, count);
    return count > 2 && sorted[count / 2] > 0 ? sizes[*which] / sorted[count / 2] : 0;
}

/* The squared error of all elements but those left out. */
static void add_error(const struct measuring *m, const struct place *place, void *context)
{
    double *sum = context;
    for (size_t k = place->first; k < place->first + place->count; k++) {
        const double d = (double)element_at(&m->scaled, place, k) * place->scale -
                         value_at(m->factor, place->group, place->line, k);
        *sum += k == m->skipped_k || place->line == m->skipped_line || !isfinite(d) ? 0 : d * d;
    }
}
static double sum_error(const struct measuring *m, const struct ulp_scaled *scaled)
{
    struct measuring own = *m;
    double sum = 0;
    own.scaled = *scaled;
    look_at_each(&own, add_error, &sum);
    return sum;
}

/* How much less the others' error is where the outlier is zero. */
static enum ulp_status weigh_outlier(struct measuring *m, int side, struct ulp_budget *budget,
                                     struct ulp_scaled_tensor *out, struct ulp_error *error)
{
    struct ulp_contraction without = *m->problem;
    struct ulp_factor *factor = side ? &without.b : &without.a;
    struct ulp_scaled scaled = {0};
    struct ulp_tensor copy;
    ULP_TRY(ulp_tensor_copy(&copy, factor->tensor, budget, error));
    *(out->outlier_is_line ? &m->skipped_line : &m->skipped_k) = out->outlier;
    const double before = sum_error(m, &m->scaled);
    for (size_t g = 0; g < m->scaled.group_count; g++)
        for (size_t i = 0; i < (out->outlier_is_line ? m->problem->k : m->scaled.line_count); i++) {
            const size_t line = out->outlier_is_line ? out->outlier : i,
                         k = out->outlier_is_line ? i : out->outlier;
            const int64_t at = (factor->batch_offset ? factor->batch_offset[g] : 0) +
                               factor->line_offset[line] + factor->k_offset[k];
            if (copy.element == ULP_ELEMENT_F64)
                ((double *)copy.data)[at] = 0;
            else
                ((float *)copy.data)[at] = 0;
        }
    factor->tensor = &copy;
    enum ulp_status status = ulp_scaled_make(&scaled, m->scaling, &without, side, true,
                                             ULP_ROUND_NEAREST_EVEN, NULL, error);
    if (status == ULP_OK) {
        const double after = sum_error(m, &scaled);
        out->outlier_gain_db =
            before > 0 && after > 0 ? 10 * ulp_math_log2(before / after) / ulp_math_log2(10) : 0;
    }
    ulp_scaled_free(&scaled);
    ulp_tensor_free(&copy);
    return status;
}

/* ---- all of it ---- */

/* Squares of the other factor's elements by place along k: of a batch, or of all for a factor that
 * they share. */
static void sum_others(const struct measuring *m, int side)
{
    const struct ulp_contraction *p = m->problem;
    const struct ulp_factor *other = side ? &p->a : &p->b;
    const size_t lines = side ? p->m : p->n;
    for (size_t g = 0; g < p->batch_count; g++) {
        double *sums = m->others + (m->scaled.group_count > 1 ? g * p->k : 0);
        for (size_t l = 0; l < lines; l++)
            for (size_t k = 0; k < p->k; k++) {
                const double x = value_at(other, g, l, k);
                sums[k] += isfinite(x) ? x * x : 0;
            }
    }
}

static enum ulp_status look_at_factor(struct measuring *m, int side, struct ulp_arena *arena,
                                      struct ulp_scaled_tensor *out, struct ulp_scales_sums *sums,
                                      struct ulp_error *error)
{
    const struct ulp_scaled *s = &m->scaled;
    const size_t depth = m->problem->k, count = s->line_count + depth;
    out->format_bits =
        ulp_math_log2(m->scaling->element.max_finite) - ulp_format_lowest_bit(&m->scaling->element);
    out->blocks = s->group_count * s->line_count * s->block_count;
    out->elements = s->group_count * s->line_count * depth;
    ULP_TAKE_ARRAY(struct ulp_scales_block, blocks, arena, out->blocks + 1, error);
    ULP_TAKE_ARRAY(double, ranges, arena, out->blocks + 1, error);
    ULP_TAKE_ARRAY(double, sorted, arena, count + 1, error);
    ULP_TAKE(m->lines, arena, count + 1, error);
    ULP_TAKE(m->others, arena, s->group_count * depth + 1, error);
    ULP_TAKE(m->shared, arena, s->block_count + 1, error);
    sum_others(m, side);
    struct adding adding = {blocks, out, sums};
    look_at_each(m, add_block, &adding);
    if (!m->scaling->zero_point) /* its FP32 scale is as good as exact */
        look_at_each(m, add_exactly, &adding);
    ulp_scales_look(blocks, ranges, out);
    size_t line, k;
    const double of_lines = find_ratio(m->lines, s->line_count, sorted, &line),
                 of_k = find_ratio(m->lines + s->line_count, depth, sorted, &k);
    out->outlier_is_line = of_lines > of_k;
    out->outlier = out->outlier_is_line ? line : k;
    out->outlier_ratio = ulp_math_max(of_lines, of_k);
    return out->outlier_ratio >= 4 ? weigh_outlier(m, side, ulp_arena_budget(arena), out, error)
                                   : ULP_OK;
}

enum ulp_status ulp_scales_measure(const struct ulp_scaling *scaling,
                                   const struct ulp_contraction *problem, int side,
                                   struct ulp_budget *budget, struct ulp_scaled_tensor *out,
                                   struct ulp_scales_sums *sums, struct ulp_error *error)
{
    struct measuring m = {.scaling = scaling,
                          .factor = side ? &problem->b : &problem->a,
                          .problem = problem,
                          .skipped_k = SIZE_MAX,
                          .skipped_line = SIZE_MAX};
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    ULP_TRY(ulp_arena_create(&arena, budget, error));
    enum ulp_status status = ulp_scaled_make(&m.scaled, scaling, problem, side, true,
                                             ULP_ROUND_NEAREST_EVEN, NULL, error);
    ULP_THEN(status, look_at_factor(&m, side, arena, out, sums, error));
    ulp_scaled_free(&m.scaled);
    return status;
}
