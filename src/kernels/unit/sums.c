/* Whole sums of tiles: chains, slices and promotions as the layout's blocks end them, and storing
 * panels of them. */
#include <string.h>

#include "kernels/unit/work.h"
#include "number/round/round.h"
#include "base/tuning.h"

enum { COLUMNS = ULP_UNIT_COLUMNS };

size_t ulp_unit_lay_rows(struct ulp_unit_rows *rows, const struct ulp_unit_layout *layout,
                         size_t row_count, char *memory)
{
    const size_t count = row_count * layout->slot_stride,
                 value = ulp_unit_align(count * sizeof *rows->value),
                 exponent = ulp_unit_align(count * sizeof *rows->exponent);
    if (memory) {
        rows->value = (float *)(void *)memory;
        rows->exponent = (int16_t *)(void *)(memory + value);
        rows->special = (uint8_t *)(memory + value + exponent);
    }
    return value + exponent + ulp_unit_align(row_count * layout->block_count);
}

size_t ulp_unit_lay_panel(struct ulp_unit_panel *panel, const struct ulp_unit_layout *layout,
                          char *memory)
{
    const size_t value = ulp_unit_align(layout->slot_count * COLUMNS * sizeof *panel->value);
    const size_t exponent = ulp_unit_align(layout->slot_count * COLUMNS * sizeof *panel->exponent);
    const size_t special = ulp_unit_align(layout->block_count + 1); /* never 0, also when k is */
    if (memory) {
        panel->value = (float *)(void *)memory;
        panel->exponent = (int16_t *)(void *)(memory + value);
        panel->special = (uint8_t *)(memory + value + exponent);
        panel->kinds = (uint32_t *)(void *)(memory + value + exponent + special);
    }
    return value + exponent + special +
           ulp_unit_align(ULP_UNIT_SET_COUNT * layout->slot_count * sizeof *panel->kinds);
}

size_t ulp_unit_lay_sums(struct ulp_unit_sums *sums, size_t count, char *memory)
{
    if (memory) {
        sums->c = (float *)(void *)memory;
        sums->chain = sums->c + count;
        sums->sum = sums->chain + count;
        sums->total = sums->sum + count;
    }
    return 4 * count * sizeof(float);
}

/* target += source in FP32, rounded to a narrower format if one is given; source = 0. */
static void add_sums(float *restrict target, float *restrict source, size_t count,
                     const struct ulp_format *round)
{
    for (size_t i = 0; i < count; i++) {
        target[i] += source[i];
        source[i] = 0;
    }
    if (round)
        ulp_round_floats(round, ULP_ROUND_NEAREST_EVEN, target, count, 0, 0, 0);
}

/* One chain is the whole sum: 0 + (0 + c), or what tile->c holds. */
static void sum_chain(const struct ulp_unit_work *work, struct ulp_unit_tile *tile, size_t count)
{
    const size_t block_count = work->layout.block_count,
                 step = ULP_TUNE_UNIT_TILE_SLOTS / (size_t)work->layout.unit.block;
    tile->fresh = !work->problem->onto;
    if (block_count == 0 && tile->fresh)
        memset(tile->c, 0, count * sizeof *tile->c);
    for (tile->block_first = 0; tile->block_first < block_count;
         tile->block_first = tile->block_last) {
        tile->block_last =
            block_count - tile->block_first < step ? block_count : tile->block_first + step;
        work->instance->run(tile);
        tile->fresh = false;
    }
}

void ulp_unit_sum(const struct ulp_unit_work *work, const struct ulp_unit_sums *sums,
                  struct ulp_unit_tile *tile)
{
    const struct ulp_unit_layout *layout = &work->layout;
    const size_t count = tile->row_count * COLUMNS;
    const struct ulp_format *accumulator =
        layout->unit.output == ULP_UNIT_RNE_FP16 ? &work->arithmetic->accumulator : NULL;
    /* Is the sum of slices rounded to FP16 as it grows? Measured on the H200 (cutlass h16816gemm
     * and h161616gemm). */
    const bool half = accumulator && work->arithmetic->schedule.promote <= 0;
    const enum ulp_partials partials = work->arithmetic->schedule.partials;
    const struct ulp_format *storage = &work->arithmetic->storage;
    if (layout->one_chain) {
        tile->c = sums->total;
        sum_chain(work, tile, count);
        return;
    }
    tile->c = layout->halves ? sums->chain : sums->c;
    memset(sums->c, 0, count * sizeof(float));
    memset(sums->chain, 0, count * sizeof(float));
    memset(sums->sum, 0, count * sizeof(float));
    memset(sums->total, 0, count * sizeof(float));
    tile->block_first = 0;
    while (tile->block_first < layout->block_count) {
        tile->block_last = tile->block_first;
        while (!layout->block_end[tile->block_last++] && tile->block_last < layout->block_count &&
               (tile->block_last - tile->block_first) * (size_t)layout->unit.block <
                   ULP_TUNE_UNIT_TILE_SLOTS)
            continue;
        work->instance->run(tile);
        const unsigned end = layout->block_end[tile->block_last - 1];
        if (end & ULP_UNIT_ENDS_INSTRUCTION)
            add_sums(sums->c, tile->c, count, accumulator);
        if (end & ULP_UNIT_ENDS_CHAIN)
            add_sums(sums->sum, sums->c, count, NULL);
        if (end & ULP_UNIT_ENDS_SLICE) {
            if (partials & ULP_PARTIALS_WORKSPACE)
                ulp_round_floats(storage, ULP_ROUND_NEAREST_EVEN, sums->sum, count, 0, 0, 0);
            add_sums(sums->total, sums->sum, count,
                     partials & ULP_PARTIALS_SERIAL ? storage
                     : half                         ? accumulator
                                                    : NULL);
        }
        tile->block_first = tile->block_last;
    }
}

void ulp_unit_load_panel(const struct ulp_unit_work *work, float *total, size_t batch, size_t row,
                         size_t row_count, size_t column, size_t column_count)
{
    const struct ulp_contraction *p = work->problem;
    const int64_t base = p->out_batch_offset ? p->out_batch_offset[batch] : 0;
    const float *out = p->out->data;
    for (size_t i = 0; i < row_count; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            total[i * COLUMNS + j] = j < column_count ? out[base + work->rows.out_offset[row + i] +
                                                            work->columns.out_offset[column + j]]
                                                      : 0;
}

/* Stochastic rounding numbers outputs along b's lines, which are the columns then. */
void ulp_unit_store_panel(const struct ulp_unit_work *work, float *total, size_t batch, size_t row,
                          size_t row_count, size_t column, size_t column_count)
{
    const struct ulp_contraction *p = work->problem;
    const int64_t base = p->out_batch_offset ? p->out_batch_offset[batch] : 0;
    struct ulp_draw draw = {.first = (batch * p->m + row) * p->n + column,
                            .number = p->k * ULP_DRAWS + ULP_DRAW_STORE};
    const int64_t *out = work->columns.out_offset + column;
    for (size_t i = 0; i < row_count; i++, draw.first += p->n)
        ulp_output_strip(&work->output, base + work->rows.out_offset[row + i], out,
                         work->out_is_run, total + i * COLUMNS, column_count, draw);
}
