/* The layout of a sum's blocks, and decoding of factors into value and exponent planes. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernels/unit_fast.h"

/* Calls per block in order; with layout->slot_k NULL only counts. */
static void add_block(struct ulp_unit_layout *layout, size_t first, size_t count, size_t k_step_half)
{
    const size_t block = (size_t)layout->unit.block;
    if (layout->slot_k) {
        int64_t *slot_k = layout->slot_k + layout->block_count * block;
        size_t used = 0;
        for (size_t i = 0; i < count; i++)
            if (!layout->halves || i % 4 / 2 == k_step_half)
                slot_k[used++] = (int64_t)(first + i);
        while (used < block)
            slot_k[used++] = -1;
        layout->block_end[layout->block_count] = 0;
    }
    layout->block_count++;
}

static void lay_out(struct ulp_unit_layout *layout, const struct ulp_unit *unit, const struct ulp_schedule *schedule, size_t k)
{
    const size_t length = ulp_unit_slice_length(unit, k, schedule->split_k), block = (size_t)unit->block;
    const size_t interval = schedule->promote > 0 ? (size_t)schedule->promote : length;
    layout->block_count = 0;
    for (size_t slice = 0, slice_end; slice < k; slice = slice_end) {
        slice_end = k - slice < length ? k : slice + length;
        for (size_t chain = slice, chain_end; chain < slice_end; chain = chain_end) {
            chain_end = slice_end - chain < interval ? slice_end : chain + interval;
            for (size_t first = chain; first < chain_end; first += block) {
                size_t count = chain_end - first < block ? chain_end - first : block;
                add_block(layout, first, count, 0);
                if (layout->halves)
                    add_block(layout, first, count, 1);
                if (layout->halves && layout->slot_k)
                    layout->block_end[layout->block_count - 1] |= ULP_UNIT_ENDS_INSTRUCTION;
            }
            if (layout->slot_k)
                layout->block_end[layout->block_count - 1] |= ULP_UNIT_ENDS_CHAIN;
        }
        if (layout->slot_k)
            layout->block_end[layout->block_count - 1] |= ULP_UNIT_ENDS_SLICE;
    }
}

enum ulp_status ulp_unit_layout_create(struct ulp_unit_layout *layout, const struct ulp_unit *unit,
                                       const struct ulp_schedule *schedule, size_t k, struct ulp_error *error)
{
    *layout = (struct ulp_unit_layout){.unit = *unit, .halves = unit->kind == ULP_UNIT_HALVES};
    if (layout->halves) {
        layout->unit.kind = ULP_UNIT_TRUNCATED;
        layout->unit.input = "f16";
        layout->unit.block = unit->block / 2;
    }
    lay_out(layout, unit, schedule, k);
    void *slot_k = NULL, *block_end = NULL;
    if (!ulp_size_mul(layout->block_count, (size_t)layout->unit.block, &layout->slot_count))
        return ulp_fail(error, ULP_ERROR_MEMORY, "a sum over %zu products is too long", k);
    enum ulp_status status = ulp_allocate(&slot_k, layout->slot_count, sizeof *layout->slot_k, NULL, "block layout", error);
    if (status == ULP_OK)
        status = ulp_allocate(&block_end, layout->block_count, 1, NULL, "block layout", error);
    layout->slot_k = slot_k;
    layout->block_end = block_end;
    if (status != ULP_OK)
        ulp_unit_layout_free(layout);
    else
        lay_out(layout, unit, schedule, k);
    return status;
}

void ulp_unit_layout_free(struct ulp_unit_layout *layout)
{
    ulp_free(layout->slot_k);
    ulp_free(layout->block_end);
    layout->slot_k = NULL;
    layout->block_end = NULL;
}

static int16_t decode_special(float x)
{
    return x != x ? ULP_UNIT_NAN : x > 0 ? ULP_UNIT_POSITIVE_INFINITY : ULP_UNIT_NEGATIVE_INFINITY;
}

/* Planes of count values; the return value says whether there is NaN or Inf among them. */
static bool decode(float *restrict value, int16_t *restrict exponent, const float *restrict x, size_t count, int emin)
{
    int special = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        int field = (int)(bits >> 23 & 255), e = field - 127 > emin ? field - 127 : emin;
        special |= field == 255;
        value[i] = x[i];
        exponent[i] = (int16_t)((bits & 0x7FFFFFFF) == 0 ? ULP_UNIT_ZERO : e);
    }
    for (size_t i = 0; special && i < count; i++)
        if (!(x[i] - x[i] == 0)) {
            exponent[i] = decode_special(x[i]);
            value[i] = 0;
        }
    return special;
}

static bool is_padding(const struct ulp_pack *pack, size_t batch, size_t line, size_t k)
{
    const struct ulp_factor *factor = pack->factor;
    return factor->padding && factor->padding[ulp_factor_offset(factor, batch, line, k)];
}

void ulp_unit_decode_rows(struct ulp_unit_rows *rows, const struct ulp_unit_layout *layout, const struct ulp_pack *pack,
                          struct ulp_pack_range range, bool padding, float *scratch)
{
    const size_t block = (size_t)layout->unit.block;
    const int emin = ulp_unit_input(&layout->unit)->emin;
    for (size_t i = 0; i < range.line_count; i++) {
        struct ulp_pack_range line = {range.batch, range.line + i, 1, 0, range.k_count};
        ulp_pack_rows_float(scratch, pack, line, range.k_count);
        for (size_t b = 0; b < layout->block_count; b++) {
            const int64_t *slot_k = layout->slot_k + b * block;
            float x[32];
            int16_t exponent[32];
            for (size_t s = 0; s < block; s++)
                x[s] = slot_k[s] < 0 ? 0 : scratch[slot_k[s]];
            size_t place = i * layout->slot_count + b * block;
            rows->special[i * layout->block_count + b] = decode(rows->value + place, exponent, x, block, emin);
            for (size_t s = 0; padding && s < block; s++)
                if (slot_k[s] >= 0 && is_padding(pack, line.batch, line.line, (size_t)slot_k[s]))
                    exponent[s] = ULP_UNIT_PADDING;
            for (size_t s = 0; s < block; s++)
                rows->exponent[place + s] = (int32_t)((uint32_t)(uint16_t)exponent[s] * 0x10001u);
        }
    }
}

void ulp_unit_decode_panel(struct ulp_unit_panel *panel, const struct ulp_unit_layout *layout, const struct ulp_pack *pack,
                           struct ulp_pack_range range, bool padding, float *scratch)
{
    enum { COLUMNS = ULP_UNIT_COLUMNS };
    const size_t block = (size_t)layout->unit.block;
    const int emin = ulp_unit_input(&layout->unit)->emin;
    static const float zeros[COLUMNS];
    ulp_pack_panels_float(scratch, pack, range, COLUMNS);
    for (size_t b = 0; b < layout->block_count; b++) {
        bool special = false;
        for (size_t s = b * block; s < (b + 1) * block; s++) {
            const int64_t k = layout->slot_k[s];
            float *value = panel->value + s * COLUMNS;
            int16_t *exponent = panel->exponent + s * COLUMNS;
            special |= decode(value, exponent, k < 0 ? zeros : scratch + (size_t)k * COLUMNS, COLUMNS, emin);
            for (size_t j = 0; padding && k >= 0 && j < range.line_count; j++)
                if (is_padding(pack, range.batch, range.line + j, (size_t)k))
                    exponent[j] = ULP_UNIT_PADDING;
        }
        panel->special[b] = special;
    }
}
