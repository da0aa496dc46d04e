/* A factor rounded to a format with scales: its lines gathered, blocks measured, elements rounded.
 *
 * A line is cut into runs, within which blocks lie: the channels of a convolution at one position
 * of the kernel, else all of k. The elements of a run are a cell. Lines of a convolution share
 * cells, each of which is rounded once: cells are then the places of the tensor where a run begins,
 * else every line has its own. */
#pragma once

#include "base/memory/alloc.h"
#include "kernels/contract.h"
#include "number/format/scaling.h"

struct ulp_scaled {
    const struct ulp_scaling *scaling;
    /* Elements as floats, [group][cell][run], or [group][run][cell] of cells that lines share. A
     * group is a batch; one, when all batches are the same. A block whose scale is NaN has elements
     * that are NaN. */
    struct ulp_tensor elements;
    size_t group_count, line_count, cell_count, run, run_count;
    size_t block, run_blocks; /* places of a run that share a scale, and how many such blocks */
    size_t block_count;       /* of a line: those of its runs */
    bool shared;
    float *scale; /* [group][cell][block of the run] */
    float tensor_scale;
    /* of elements that a unit reads with their scales (kernels/scaled_contract.c); NULL: none */
    int16_t *exponent;
    /* the first cell of a line, and what each of its runs adds */
    int64_t *line_cell, *run_cell;
    /* of elements: of a batch, of a line, of k */
    int64_t *batch_offset, *line_offset, *k_offset;
    struct ulp_arena *memory; /* of all but the elements */
};

/* lines: a line is one run wherever the scaling has no blocks in it, also where one scale is the
 * whole tensor's and its elements could be rounded one by one. factor: batch_count x line_count x
 * problem->k elements in F32, or in F64 that hold floats, of which the a side (0) or the b side has
 * line_count. */
enum ulp_status ulp_scaled_make(struct ulp_scaled *out, const struct ulp_scaling *scaling,
                                const struct ulp_contraction *problem, int side, bool lines,
                                enum ulp_rounding rounding, struct ulp_pool *pool,
                                struct ulp_error *error);
/* The side's scaling: of a problem whose first factor is a weight and the second is none (Conv's),
 * the second has the first word's. Integers with one scale for the first word's tensors: the second
 * word is of weights alone, as Q/DQ files have it. */
static inline const struct ulp_scaling *ulp_scaled_choose(const struct ulp_arithmetic *arithmetic,
                                                          const struct ulp_contraction *problem,
                                                          int side)
{
    const bool of_weights = ulp_scaling_is_integer(&arithmetic->scaling[0]);
    return arithmetic->weights.name[0] ? &arithmetic->weights
           : of_weights                ? &arithmetic->scaling[problem->weights >> side & 1]
                                       : &arithmetic->scaling[problem->weights == 1 ? !side : side];
}
/* Where the scale of a line's block is. */
static inline size_t ulp_scaled_block(const struct ulp_scaled *s, size_t batch, size_t line,
                                      size_t block)
{
    const size_t group = s->group_count > 1 ? batch : 0,
                 cell = (size_t)(s->line_cell[line] + s->run_cell[block / s->run_blocks]);
    return (group * s->cell_count + cell) * s->run_blocks + block % s->run_blocks;
}
/* The factor as rounded. */
static inline struct ulp_factor ulp_scaled_factor(const struct ulp_scaled *s)
{
    return (struct ulp_factor){.tensor = &s->elements,
                               .batch_offset = s->batch_offset,
                               .line_offset = s->line_offset,
                               .k_offset = s->k_offset,
                               .exponent = s->exponent,
                               .ready = true};
}
void ulp_scaled_free(struct ulp_scaled *scaled);
void ulp_scaled_free_sides(struct ulp_scaled (*sides)[2]);
/* Elements as they lie: rows, and the scales of `count` elements of one from `first` on. */
size_t ulp_scaled_row_count(const struct ulp_scaled *s);
size_t ulp_scaled_row_length(const struct ulp_scaled *s);
void ulp_scaled_row_scales(const struct ulp_scaled *s, size_t row, size_t first, size_t count,
                           float *out);
/* Elements become the numbers they stand for, rounded to nearest even to the format, in that
 * element, F32 or F64. */
enum ulp_status ulp_scaled_back(struct ulp_scaled *scaled, const struct ulp_format *format,
                                enum ulp_element element, struct ulp_pool *pool,
                                struct ulp_error *error);
