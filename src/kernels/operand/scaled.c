/* Factors with scales: how their cells lie. doc/scales.md states the rules. */
#include "kernels/operand/scaled.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/alloc.h"
#include "base/tuning.h"
#include "base/vectorise.h"
#include "kernels/operand/scaled_round.h"
#include "number/function/math.h"
#include "number/round/round.h"

/* What the workers share. */
struct making {
    struct ulp_scaled *out;
    const struct ulp_factor *factor;
    struct ulp_scaled_rule rule;
    int64_t first;       /* where the first of shared cells begins, from the batch's offset */
    const uint8_t *used; /* of shared cells, [group][cell] */
    size_t tile;         /* cells that are rounded at once */
    size_t tile_lines;   /* lines whose blocks share scales; 0: none do */
    float *scratch;      /* of each worker: a tile of shared cells, and what rounding needs */
    size_t scratch_floats;
};

static size_t group_elements(const struct ulp_scaled *s)
{
    return s->cell_count * s->run;
}

/* ---- gathering ---- */

/* Elements of cells that follow each other, [cell][run]: pieces of their runs, as neighbours of one
 * are in other cells where lines follow each other. */
ULP_VECTORISE static void gather(const struct making *making, float *out, size_t group,
                                 size_t first, size_t count)
{
    enum { PIECE = 128 };
    const struct ulp_factor *factor = making->factor;
    const struct ulp_scaled *s = making->out;
    const int64_t base = factor->batch_offset ? factor->batch_offset[group] : 0;
    const float *narrow = factor->tensor->data;
    const double *wide = factor->tensor->element == ULP_ELEMENT_F64 ? factor->tensor->data : NULL;
    if (s->shared && s->run == 1 && !wide) { /* all lie between two that are used */
        const uint8_t *const used = making->used + group * s->cell_count + first;
        narrow += base + making->first + (int64_t)first;
        for (size_t c = 0; c < count; c++) {
            const float x = narrow[c];
            out[c] = used[c] ? x : 0;
        }
        return;
    }
    for (size_t piece = 0; piece < s->run; piece += PIECE)
        for (size_t c = 0; c < count; c++) {
            const size_t cell = first + c, end = ulp_size_min(s->run, piece + PIECE);
            const int64_t *k = factor->k_offset + (s->shared ? 0 : cell % s->run_count * s->run);
            const int64_t at = base + (s->shared ? making->first + (int64_t)cell - k[0]
                                                 : factor->line_offset[cell / s->run_count]);
            const bool absent =
                s->shared && !making->used[group * s->cell_count + cell]; /* may lie outside */
            for (size_t i = piece; i < end; i++)
                out[c * s->run + i] = absent ? 0
                                      : wide ? (float)wide[at + k[i]]
                                             : narrow[at + k[i]];
        }
}

/* Shared cells from `first` on, by way of a tile of their own. */
static void round_shared(const struct making *making, float *tile, size_t group, size_t first,
                         size_t count)
{
    struct ulp_scaled *s = making->out;
    float *const elements = (float *)s->elements.data + group * group_elements(s) + first,
                 *const scale = s->scale + (group * s->cell_count + first) * s->run_blocks;
    float *const x = s->run == 1 ? elements : tile;
    gather(making, x, group, first, count);
    ulp_scaled_round(&making->rule, x, scale, count, 0, tile + making->tile * s->run);
    for (size_t i = 0; i < s->run && x == tile; i++)
        for (size_t c = 0; c < count; c++)
            elements[i * s->cell_count + c] = tile[c * s->run + i];
}

ULP_WORK(round_tiles)
{
    const struct making *making = context;
    struct ulp_scaled *s = making->out;
    float *const scratch = making->scratch + (size_t)worker * making->scratch_floats;
    const size_t tiles = ulp_size_divide_up(s->cell_count, making->tile);
    for (size_t item = first; item < last; item++) {
        const size_t group = item / tiles, cell = item % tiles * making->tile,
                     count = ulp_size_min(making->tile, s->cell_count - cell);
        if (s->shared) {
            round_shared(making, scratch, group, cell, count);
            continue;
        }
        float *const x = (float *)s->elements.data + group * group_elements(s) + cell * s->run;
        gather(making, x, group, cell, count);
        ulp_scaled_round(&making->rule, x,
                         s->scale + (group * s->cell_count + cell) * s->run_blocks, count,
                         making->tile_lines ? count / s->run_count : 0, scratch);
    }
    return ULP_OK;
}

/* ---- how cells lie ---- */

/* Batches that are all the same are one group. */
static size_t count_groups(const struct ulp_factor *factor, size_t batch_count)
{
    for (size_t g = 1; factor->batch_offset && g < batch_count; g++)
        if (factor->batch_offset[g] != factor->batch_offset[0])
            return batch_count;
    return 1;
}

/* Is every run the first one, moved? */
static bool runs_are_moved(const struct ulp_factor *factor, size_t run, size_t run_count)
{
    for (size_t r = 1; r < run_count; r++)
        for (size_t i = 1; i < run; i++)
            if (factor->k_offset[r * run + i] - factor->k_offset[r * run] !=
                factor->k_offset[i] - factor->k_offset[0])
                return false;
    return true;
}

/* Cells by the tensor's places where that are fewer than lines have. */
static void find_cells(struct making *making)
{
    struct ulp_scaled *s = making->out;
    const int64_t *line = making->factor->line_offset, *k = making->factor->k_offset;
    s->cell_count = s->line_count * s->run_count;
    if (s->run_count < 2 || making->tile_lines || s->line_count == 0 ||
        !runs_are_moved(making->factor, s->run, s->run_count))
        return;
    int64_t low[2] = {line[0], k[0]}, high[2] = {line[0], k[0]};
    for (size_t l = 1; l < s->line_count; l++) {
        low[0] = line[l] < low[0] ? line[l] : low[0];
        high[0] = line[l] > high[0] ? line[l] : high[0];
    }
    for (size_t r = 1; r < s->run_count; r++) {
        low[1] = k[r * s->run] < low[1] ? k[r * s->run] : low[1];
        high[1] = k[r * s->run] > high[1] ? k[r * s->run] : high[1];
    }
    const size_t span = (size_t)(high[0] - low[0] + high[1] - low[1]) + 1;
    if (span >= s->cell_count)
        return;
    s->shared = true;
    s->cell_count = span;
    making->first = low[0] + low[1];
}

/* Lines are runs of that length. */
static void cut_runs(struct making *making, size_t run, size_t k_count)
{
    struct ulp_scaled *s = making->out;
    s->run = making->rule.run = run;
    s->run_count = run ? k_count / run : 0;
    s->block = s->scaling->k ? (size_t)s->scaling->k : run;
    making->rule.block = ulp_size_min(s->block, run);
    s->run_blocks = run ? ulp_size_divide_up(run, s->block) : 0;
    s->block_count = s->run_count * s->run_blocks;
    find_cells(making);
}

static void mark_used(const struct making *making, uint8_t *used)
{
    const struct ulp_scaled *s = making->out;
    for (size_t l = 0; l < s->line_count; l++)
        for (size_t r = 0; r < s->run_count; r++)
            used[s->line_cell[l] + s->run_cell[r]] = 1;
    for (size_t g = 1; g < s->group_count; g++)
        memcpy(used + g * s->cell_count, used, s->cell_count);
}

static void lay_cells(const struct making *making, size_t batch_count)
{
    const struct ulp_scaled *s = making->out;
    const int64_t *k = making->factor->k_offset, cell_step = s->shared ? 1 : (int64_t)s->run,
                  step = s->shared ? (int64_t)s->cell_count : 1;
    int64_t low = s->run_count ? k[0] : 0;
    for (size_t r = 1; r < s->run_count; r++)
        low = k[r * s->run] < low ? k[r * s->run] : low;
    for (size_t g = 0; g < batch_count; g++)
        s->batch_offset[g] = s->group_count > 1 ? (int64_t)(g * group_elements(s)) : 0;
    for (size_t l = 0; l < s->line_count; l++) {
        s->line_cell[l] = s->shared ? making->factor->line_offset[l] - (making->first - low)
                                    : (int64_t)(l * s->run_count);
        s->line_offset[l] = s->line_cell[l] * cell_step;
    }
    for (size_t r = 0; r < s->run_count; r++) {
        s->run_cell[r] = s->shared ? k[r * s->run] - low : (int64_t)r;
        for (size_t i = 0; i < s->run; i++)
            s->k_offset[r * s->run + i] = s->run_cell[r] * cell_step + (int64_t)i * step;
    }
}

static enum ulp_status allocate(struct ulp_scaled *out, size_t batch_count, size_t k_count,
                                struct ulp_budget *budget, struct ulp_error *error)
{
    const int64_t dims[] = {(int64_t)out->group_count, (int64_t)out->cell_count, (int64_t)out->run};
    size_t scales;
    if (!ulp_size_mul(out->group_count, out->cell_count, &scales) ||
        !ulp_size_mul(scales, out->run_blocks, &scales))
        return ulp_fail(error, ULP_ERROR_MEMORY, "a factor has too many blocks");
    ULP_TRY(
        ulp_tensor_describe(&out->elements, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 3, dims, error));
    ULP_TRY(ulp_tensor_allocate(&out->elements, budget, error));
    ULP_TRY(ulp_arena_create(&out->memory, budget, error));
    ULP_TAKE(out->scale, out->memory, scales, error);
    ULP_TAKE(out->line_cell, out->memory, out->line_count, error);
    ULP_TAKE(out->run_cell, out->memory, out->run_count, error);
    ULP_TAKE(out->batch_offset, out->memory, batch_count, error);
    ULP_TAKE(out->line_offset, out->memory, out->line_count, error);
    ULP_TAKE(out->k_offset, out->memory, k_count, error);
    return ULP_OK;
}

/* ---- all of it ---- */

static float find_largest_magnitude(const struct ulp_tensor *tensor)
{
    float largest = 0;
    const double *x = tensor->data;
    if (tensor->element == ULP_ELEMENT_F32)
        return ulp_scaled_largest(tensor->data, tensor->count);
    for (size_t i = 0; i < tensor->count; i++) {
        const float magnitude = fabsf((float)x[i]);
        largest = magnitude > largest && isfinite(magnitude) ? magnitude : largest;
    }
    return largest;
}

static void find_tensor_ends(const struct ulp_tensor *tensor, struct ulp_scaled_rule *rule)
{
    const double *x = tensor->data;
    if (tensor->element == ULP_ELEMENT_F32)
        ulp_scaled_ends(tensor->data, tensor->count, &rule->least, &rule->largest);
    for (size_t i = 0; i < tensor->count && tensor->element != ULP_ELEMENT_F32; i++) {
        const float value = (float)x[i];
        ulp_scaled_ends(&value, 1, &rule->least, &rule->largest);
    }
}

/* What is the tensor's: its largest magnitude, or the one given, and the scale that all blocks have
 * besides. */
static void scale_tensor(struct making *making, const struct ulp_factor_range *range)
{
    const struct ulp_scaling *scaling = making->out->scaling;
    struct ulp_scaled_rule *rule = &making->rule;
    const bool of_tensor = scaling->k + scaling->lines == 0;
    if (scaling->zero_point && of_tensor && range) {
        rule->largest = range->largest;
        rule->least = range->least;
    } else if (scaling->zero_point && of_tensor) {
        find_tensor_ends(making->factor->tensor, rule);
    } else if (scaling->tensor_scale || of_tensor) { /* of magnitudes */
        rule->largest = range ? (-range->least > range->largest ? -range->least : range->largest)
                              : find_largest_magnitude(making->factor->tensor);
    }
    if (scaling->tensor_scale && rule->largest > 0) {
        const float top = scaling->rule == ULP_SCALE_FOUR_SIX ? 256 : 448;
        rule->tensor_scale =
            (float)ulp_math_max(rule->largest / ((float)scaling->element.max_finite * top),
                                0x1p-126);
    }
    making->out->tensor_scale = rule->tensor_scale;
}

static enum ulp_status round_all(struct making *making, struct ulp_pool *pool,
                                 struct ulp_error *error)
{
    struct ulp_scaled *s = making->out;
    struct ulp_budget *budget = ulp_pool_scratch(pool);
    const size_t tiles = ulp_size_divide_up(s->cell_count, making->tile);
    ULP_SCOPED(ulp_free_of) float *scratch = NULL;
    ULP_SCOPED(ulp_free_of) uint8_t *used = NULL;
    making->scratch_floats =
        ulp_scaled_spare(&making->rule, making->tile) + (s->shared ? making->tile * s->run : 0);
    if (s->shared) {
        ULP_TRY(ulp_allocate_zero(&used, s->group_count, s->cell_count, budget,
                                  "a factor with scales", error));
        mark_used(making, used);
    }
    ULP_TRY(ulp_allocate(&scratch, making->scratch_floats,
                         (size_t)ulp_pool_thread_count(pool) * sizeof(float), budget,
                         "a factor with scales", error));
    making->used = used;
    making->scratch = scratch;
    return ulp_parallel_for(pool, s->group_count * tiles,
                            ulp_grain((double)(s->run * making->tile) * 2), round_tiles, making,
                            error);
}

enum ulp_status ulp_scaled_make(struct ulp_scaled *out, const struct ulp_scaling *scaling,
                                const struct ulp_contraction *problem, int side, bool lines,
                                enum ulp_rounding rounding, struct ulp_pool *pool,
                                struct ulp_error *error)
{
    const struct ulp_factor *factor = side ? &problem->b : &problem->a;
    const struct ulp_factor_range *range = problem->range[side];
    const size_t k_count = problem->k;
    struct ulp_factor instead = *factor;
    struct ulp_tensor elements;
    if (range && range->elements) { /* a weight's, as samples rounded them */
        elements = ulp_tensor_list(ULP_TYPE_FLOAT, (float *)(uintptr_t)range->elements, 1,
                                   range->element_count);
        instead.tensor = &elements;
        factor = &instead;
        range = NULL;
    }
    *out = (struct ulp_scaled){.scaling = scaling,
                               .group_count = count_groups(factor, problem->batch_count),
                               .line_count = side ? problem->n : problem->m};
    if (factor->tensor->element != ULP_ELEMENT_F32 && factor->tensor->element != ULP_ELEMENT_F64)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "factors with scales (%s) are rounded from values in FP32 or narrower",
                        scaling->name);
    struct making making = {.out = out,
                            .factor = factor,
                            .rule = {scaling, rounding, .tensor_scale = 1},
                            .tile_lines = scaling->lines > 1 ? (size_t)scaling->lines : 0};
    /* one scale for all: every element may be a run, where lines share these */
    if (!lines && scaling->k + scaling->lines == 0 && k_count > 1)
        cut_runs(&making, 1, k_count);
    if (!out->shared)
        cut_runs(&making, problem->k_run && scaling->k ? problem->k_run : k_count, k_count);
    const size_t run = out->run;
    making.tile = making.tile_lines
                      ? making.tile_lines * out->run_count
                      : ULP_TUNE_SCALED_CELLS_MIN + ULP_TUNE_SCALED_ELEMENTS / (run + 1);
    ULP_TRY(allocate(out, problem->batch_count, k_count, ulp_pool_scratch(pool), error));
    lay_cells(&making, problem->batch_count);
    scale_tensor(&making, range);
    return run ? round_all(&making, pool, error) : ULP_OK;
}

void ulp_scaled_free(struct ulp_scaled *scaled)
{
    ulp_tensor_free(&scaled->elements);
    ulp_arena_free(scaled->memory);
    *scaled = (struct ulp_scaled){0};
}

void ulp_scaled_free_sides(struct ulp_scaled (*sides)[2])
{
    ulp_scaled_free(&(*sides)[0]);
    ulp_scaled_free(&(*sides)[1]);
}

/* ---- elements in rows ---- */

size_t ulp_scaled_row_count(const struct ulp_scaled *s)
{
    return s->group_count * (s->shared ? s->run : s->cell_count);
}
size_t ulp_scaled_row_length(const struct ulp_scaled *s)
{
    return s->shared ? s->cell_count : s->run;
}

void ulp_scaled_row_scales(const struct ulp_scaled *s, size_t row, size_t first, size_t count,
                           float *out)
{
    if (s->shared) {
        const float *scale =
            s->scale + row / s->run * s->cell_count * s->run_blocks + row % s->run / s->block;
        if (s->run_blocks == 1)
            memcpy(out, scale + first, count * sizeof *out);
        for (size_t i = 0; i < count && s->run_blocks > 1; i++)
            out[i] = scale[(first + i) * s->run_blocks];
        return;
    }
    const float *scale = s->scale + row * s->run_blocks + first / s->block;
    size_t left = s->block - first % s->block; /* of the block */
    for (size_t i = 0; i < count; left = s->block, scale++)
        for (const size_t end = i + ulp_size_min(left, count - i); i < end; i++)
            out[i] = *scale;
}

struct back {
    struct ulp_scaled *scaled;
    const struct ulp_format *format;
    double *wide; /* NULL: in place */
};

ULP_WORK(scale_back)
{
    enum { PIECE = 512 };
    const struct back *back = context;
    const struct ulp_scaled *s = back->scaled;
    const size_t length = ulp_scaled_row_length(s);
    for (size_t row = first; row < last; row++)
        for (size_t at = 0; at < length; at += PIECE) {
            const size_t count = ulp_size_min(PIECE, length - at);
            float *x = (float *)s->elements.data + row * length + at, scale[PIECE];
            double *wide = back->wide ? back->wide + row * length + at : NULL;
            ulp_scaled_row_scales(s, row, at, count, scale);
            for (size_t i = 0; i < count; i++) {
                const float whole = scale[i] * s->tensor_scale;
                if (wide)
                    wide[i] = (double)x[i] * (double)whole;
                else
                    x[i] *= whole;
            }
            if (wide)
                ulp_round_doubles(back->format, ULP_ROUND_NEAREST_EVEN, wide, count, 0, 0, 0);
            else
                ulp_round_floats(back->format, ULP_ROUND_NEAREST_EVEN, x, count, 0, 0, 0);
        }
    return ULP_OK;
}

enum ulp_status ulp_scaled_back(struct ulp_scaled *scaled, const struct ulp_format *format,
                                enum ulp_element element, struct ulp_pool *pool,
                                struct ulp_error *error)
{
    struct back back = {scaled, format, NULL};
    struct ulp_tensor wide = {0};
    enum ulp_status status = ULP_OK;
    if (element == ULP_ELEMENT_F64) {
        status = ulp_tensor_describe(&wide, ULP_TYPE_DOUBLE, element, 0, 3, scaled->elements.dims,
                                     error);
        ULP_THEN(status, ulp_tensor_allocate(&wide, ulp_pool_scratch(pool), error));
        back.wide = wide.data;
    }
    ULP_THEN(status, ulp_parallel_for(pool, ulp_scaled_row_count(scaled),
                                      ulp_grain((double)ulp_scaled_row_length(scaled) * 2),
                                      scale_back, &back, error));
    if (element == ULP_ELEMENT_F64) {
        ulp_tensor_free(&scaled->elements);
        scaled->elements = wide;
    }
    return status;
}
