/* Weights that are rounded by what samples multiply them with (kernels/operand/scaled_fit.h). */
#include <math.h>
#include <string.h>

#include "analysis/measure/judge.h"
#include "analysis/scales/calibrate.h"
#include "base/error.h"
#include "base/machine/thread.h"
#include "kernels/operand/scaled_fit.h"
#include "number/function/math.h"
#include "run/program/program.h"

/* Of a product in one sample so many rows are looked at as take this many multiply-adds, and of all
 * samples about so many for each weight of a line, which settle it. */
enum { ROWS_EACH = 512 };
#define PAIRS_MOST 0x1p27

/* A weight of one node. */
struct ulp_fit {
    const char *node, *factor;
    struct ulp_scaling scaling;
    size_t k, lines, element_count;
    int64_t *k_offset, *line_offset;
    float *elements;
    struct ulp_fit_group { /* of a convolution's groups one each */
        int64_t offset;
        double *gram;
    } * groups;
    size_t group_count, group_capacity;
    double *room; /* k */
    bool several; /* the node sums it in several ways, or several matrices of it */
};

static const struct ulp_factor *side_of(const struct ulp_contraction *problem, int side)
{
    return side ? &problem->b : &problem->a;
}

static size_t lines_of(const struct ulp_contraction *problem, int side)
{
    return side ? problem->n : problem->m;
}

static enum ulp_status add_fit(struct ulp_calibrating *c, const char *node, const char *name,
                               const struct ulp_scaling *scaling,
                               const struct ulp_contraction *problem, int side,
                               struct ulp_fit **out, struct ulp_error *error)
{
    const struct ulp_factor *weight = side_of(problem, side);
    const size_t lines = lines_of(problem, side);
    ULP_GROW(c->fits, c->memory, c->fit_count, c->fit_capacity, error);
    struct ulp_fit *fit = *out = &c->fits[c->fit_count];
    *fit = (struct ulp_fit){.node = ulp_arena_copy(c->memory, node),
                            .factor = name,
                            .scaling = *scaling,
                            .k = problem->k,
                            .lines = lines,
                            .element_count = weight->tensor->count,
                            .several = ulp_judge_count_nonfinite(weight->tensor) > 0};
    ULP_TAKE(fit->k_offset, c->memory, fit->k, error);
    ULP_TAKE(fit->line_offset, c->memory, lines, error);
    ULP_TAKE(fit->elements, c->memory, fit->element_count, error);
    ULP_TRY(ulp_taken(fit->node, error));
    memcpy(fit->k_offset, weight->k_offset, fit->k * sizeof *fit->k_offset);
    memcpy(fit->line_offset, weight->line_offset, lines * sizeof *fit->line_offset);
    for (size_t i = 0; i < fit->element_count; i++)
        fit->elements[i] = (float)ulp_tensor_get(weight->tensor, i);
    c->fit_count++;
    return ULP_OK;
}

static bool is_same(const struct ulp_fit *fit, const struct ulp_contraction *problem, int side)
{
    const struct ulp_factor *weight = side_of(problem, side);
    return fit->k == problem->k && fit->lines == lines_of(problem, side) &&
           fit->element_count == weight->tensor->count &&
           memcmp(fit->k_offset, weight->k_offset, fit->k * sizeof *fit->k_offset) == 0 &&
           memcmp(fit->line_offset, weight->line_offset, fit->lines * sizeof *fit->line_offset) ==
               0;
}

static enum ulp_status find_gram(struct ulp_calibrating *c, struct ulp_fit *fit, int64_t offset,
                                 double **out, struct ulp_error *error)
{
    for (size_t g = fit->group_count; g-- > 0;)
        if (fit->groups[g].offset == offset) {
            *out = fit->groups[g].gram;
            return ULP_OK;
        }
    ULP_GROW(fit->groups, c->memory, fit->group_count, fit->group_capacity, error);
    struct ulp_fit_group *group = &fit->groups[fit->group_count];
    *group = (struct ulp_fit_group){.offset = offset};
    ULP_TAKE(group->gram, c->memory, ulp_gram_room(fit->k), error);
    fit->group_count++;
    *out = group->gram;
    return ULP_OK;
}

/* Rows of the values, as far apart as leaves few enough; room: k doubles. */
static void add_rows(double *gram, const struct ulp_contraction *problem, int side, size_t batch,
                     size_t samples, double *room)
{
    const struct ulp_factor *values = side_of(problem, !side);
    const size_t k = problem->k, rows = lines_of(problem, !side),
                 most = (size_t)ulp_math_min(PAIRS_MOST / ((double)k * (double)ulp_gram_part(k)),
                                             ROWS_EACH * (double)k / (double)samples) +
                        1,
                 step = (rows + most - 1) / most;
    const int64_t base = values->batch_offset ? values->batch_offset[batch] : 0;
    const double *wide = values->tensor->element == ULP_ELEMENT_F64 ? values->tensor->data : NULL;
    for (size_t row = 0; row < rows; row += step) {
        const int64_t line = base + values->line_offset[row];
        bool finite = true;
        for (size_t i = 0; i < k; i++) {
            const size_t at = (size_t)(line + values->k_offset[i]);
            room[i] = wide ? wide[at] : ulp_tensor_get(values->tensor, at);
            finite &= isfinite(room[i]) != 0;
        }
        if (finite)
            ulp_gram_add_line(gram, k, room);
    }
}

enum ulp_status ulp_calibrate_weight(void *calibrating, const char *node, const char *name,
                                     const struct ulp_scaling *scaling,
                                     const struct ulp_contraction *problem, int side,
                                     struct ulp_error *error)
{
    struct ulp_calibrating *c = calibrating;
    const int64_t *offsets = side_of(problem, side)->batch_offset;
    struct ulp_fit *fit = NULL;
    double *room, *gram;
    if (!c->fits_now || !ulp_scaled_fits(scaling) || !problem->k)
        return ULP_OK;
    for (size_t i = 0; i < c->fit_count; i++)
        if (strcmp(c->fits[i].node, node) == 0)
            fit = &c->fits[i];
    if (!fit)
        ULP_TRY(add_fit(c, node, name, scaling, problem, side, &fit, error));
    fit->several |= strcmp(fit->factor, name) != 0 || !is_same(fit, problem, side);
    if (fit->several)
        return ULP_OK;
    if (!fit->room)
        ULP_TAKE(fit->room, c->memory, fit->k, error);
    room = fit->room;
    /* of matrices side by side a file has one scale for a column of all */
    for (size_t batch = 1; offsets && !problem->is_cudnn && batch < problem->batch_count; batch++)
        fit->several |= offsets[batch] != offsets[0];
    for (size_t batch = 0; batch < problem->batch_count && !fit->several; batch++) {
        ULP_TRY(find_gram(c, fit, offsets ? offsets[batch] : 0, &gram, error));
        add_rows(gram, problem, side, batch, c->samples->count, room);
    }
    return ULP_OK;
}

static enum ulp_status fit_weight(const struct ulp_calibrating *c, struct ulp_fit *fit,
                                  struct ulp_pool *pool, struct ulp_error *error)
{
    ULP_TAKE_ARRAY(float, lines, c->memory, fit->lines * fit->k, error);
    for (size_t g = 0; g < fit->group_count; g++) {
        float *const of = fit->elements + fit->groups[g].offset;
        for (size_t l = 0; l < fit->lines; l++)
            for (size_t i = 0; i < fit->k; i++)
                lines[l * fit->k + i] = of[fit->line_offset[l] + fit->k_offset[i]];
        ULP_TRY(ulp_scaled_fit(&fit->scaling, fit->groups[g].gram, fit->k, lines, fit->lines, pool,
                               ulp_arena_budget(c->memory), error));
        for (size_t l = 0; l < fit->lines; l++)
            for (size_t i = 0; i < fit->k; i++)
                of[fit->line_offset[l] + fit->k_offset[i]] = lines[l * fit->k + i];
    }
    return ULP_OK;
}

enum ulp_status ulp_calibrate_fit(const struct ulp_calibrating *c, struct ulp_arena *memory,
                                  struct ulp_factor_ranges *out, struct ulp_error *error)
{
    ULP_SCOPED(ulp_pool_free_of) struct ulp_pool *pool = NULL;
    *out = (struct ulp_factor_ranges){0};
    ULP_TAKE_ARRAY(struct ulp_factor_range, items, memory, c->fit_count + 1, error);
    ULP_TRY(ulp_pool_create(&pool, c->options->thread_count, error));
    for (size_t i = 0; i < c->fit_count; i++) {
        struct ulp_fit *fit = &c->fits[i];
        if (fit->several || !fit->group_count)
            continue;
        ULP_TRY(fit_weight(c, fit, pool, error));
        ULP_TAKE_ARRAY(float, elements, memory, fit->element_count, error);
        memcpy(elements, fit->elements, fit->element_count * sizeof *elements);
        items[out->count++] = (struct ulp_factor_range){.node = ulp_arena_copy(memory, fit->node),
                                                        .factor = fit->factor,
                                                        .elements = elements,
                                                        .element_count = fit->element_count};
        ULP_TRY(ulp_taken(items[out->count - 1].node, error));
    }
    out->items = items;
    return ULP_OK;
}
