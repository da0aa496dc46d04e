/* The order of a sum's blocks, and decoding factors into planes of values and exponents. */
#include <string.h>

#include "base/memory/alloc.h"
#include "base/error.h"
#include "kernels/unit/fast.h"

enum { CHUNK = ULP_UNIT_COLUMNS };

/* How places of a sum hold k: runs of `run`, each filled up to `padded` places. */
struct runs {
    size_t run, padded;
};

/* One block with the k of places from `first` on, of halves those whose place mod 4 is 2 * half or
 * the next; with layout->slot_k NULL it is only counted. */
static void add_block(struct ulp_unit_layout *layout, struct runs runs, size_t first, size_t count,
                      size_t half)
{
    const size_t block = (size_t)layout->unit.block;
    if (layout->slot_k) {
        int64_t *slot_k = layout->slot_k + layout->block_count * block;
        size_t used = 0;
        for (size_t i = 0; i < count; i++) {
            const size_t in_run = (first + i) % runs.padded;
            if ((!layout->halves || i % 4 / 2 == half) && in_run < runs.run)
                slot_k[used++] = (int64_t)((first + i) / runs.padded * runs.run + in_run);
        }
        layout->block_used[layout->block_count] = (uint8_t)used;
        while (used < block)
            slot_k[used++] = -1;
        layout->block_end[layout->block_count] = 0;
    }
    layout->block_count++;
}

static void lay_out(struct ulp_unit_layout *layout, const struct ulp_unit *unit,
                    const struct ulp_schedule *schedule, size_t k_count, struct runs runs)
{
    const size_t k = k_count / runs.run * runs.padded,
                 length = ulp_unit_slice_length(unit, k, schedule), block = (size_t)unit->block;
    const size_t interval = schedule->promote > 0 ? (size_t)schedule->promote : length;
    layout->block_count = 0;
    for (size_t slice = 0, slice_end; slice < k; slice = slice_end) {
        slice_end = k - slice < length ? k : slice + length;
        for (size_t chain = slice, chain_end; chain < slice_end; chain = chain_end) {
            chain_end = slice_end - chain < interval ? slice_end : chain + interval;
            for (size_t first = chain; first < chain_end; first += block) {
                size_t count = chain_end - first < block ? chain_end - first : block;
                add_block(layout, runs, first, count, 0);
                if (layout->halves)
                    add_block(layout, runs, first, count, 1);
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
                                       const struct ulp_schedule *schedule, size_t k, size_t run,
                                       struct ulp_budget *budget, struct ulp_error *error)
{
    const size_t own = run ? run
                       : k ? k
                           : 1,
                 multiple = unit->scale_block ? (size_t)unit->scale_block : 1;
    const struct runs runs = {own, ulp_size_round_up(own, multiple)};
    *layout = (struct ulp_unit_layout){.unit = *unit, .halves = unit->kind == ULP_UNIT_HALVES};
    if (layout->halves) {
        layout->unit.kind = ULP_UNIT_TRUNCATED;
        layout->unit.input = "f16";
        layout->unit.block = unit->block / 2;
    }
    layout->limits = ulp_unit_limits(&layout->unit);
    lay_out(layout, unit, schedule, k, runs);
    if (!ulp_size_mul(layout->block_count, (size_t)layout->unit.block, &layout->slot_count) ||
        !ulp_size_add(layout->slot_count, CHUNK - 1, &layout->slot_stride))
        return ulp_fail(error, ULP_ERROR_MEMORY, "a sum over %zu products is too long", k);
    layout->slot_stride -= layout->slot_stride % CHUNK;
    ULP_TRY(ulp_arena_create(&layout->memory, budget, error));
    ULP_TAKE(layout->slot_k, layout->memory, layout->slot_stride, error);
    ULP_TAKE(layout->block_used, layout->memory, layout->block_count, error);
    ULP_TAKE(layout->block_end, layout->memory, layout->block_count, error);
    lay_out(layout, unit, schedule, k, runs);
    layout->one_chain = layout->dense = !layout->halves;
    for (size_t slot = 0; slot < k; slot++)
        layout->dense &= layout->slot_k[slot] == (int64_t)slot;
    for (size_t block = 0; block + 1 < layout->block_count; block++)
        layout->one_chain &= !layout->block_end[block];
    for (size_t slot = layout->slot_count; slot < layout->slot_stride; slot++)
        layout->slot_k[slot] = -1;
    return ULP_OK;
}

void ulp_unit_layout_free(struct ulp_unit_layout *layout)
{
    ulp_arena_free(layout->memory);
    *layout = (struct ulp_unit_layout){.memory = NULL};
}

static int16_t decode_special(float x)
{
    return x != x ? ULP_UNIT_NAN : x > 0 ? ULP_UNIT_POSITIVE_INFINITY : ULP_UNIT_NEGATIVE_INFINITY;
}

/* Kinds of values as sets of lanes: bit j is column j. */
struct kinds {
    uint32_t nan, infinity, zero, negative; /* negative: the sign bit of any value */
};

/* The kinds of CHUNK values, of which NaN and Inf get codes. */
static struct kinds mark_special(float *value, int16_t *exponent)
{
    struct kinds kinds = {0};
    for (size_t i = 0; i < CHUNK; i++) {
        const uint32_t bits = ulp_float_bits(value[i]), magnitude = bits & 0x7FFFFFFF;
        kinds.nan |= (uint32_t)(magnitude > 0x7F800000) << i;
        kinds.infinity |= (uint32_t)(magnitude == 0x7F800000) << i;
        kinds.zero |= (uint32_t)(magnitude == 0) << i;
        kinds.negative |= (bits >> 31) << i;
        if (magnitude >= 0x7F800000) {
            exponent[i] = decode_special(value[i]);
            value[i] = 0;
        }
    }
    return kinds;
}

static bool is_padding(const struct ulp_pack *pack, size_t batch, size_t line, int64_t k)
{
    const struct ulp_factor *factor = pack->factor;
    return k >= 0 &&
           ulp_factor_is_padding(factor, ulp_factor_offset(factor, batch, line, (size_t)k));
}

/* Exponents that the factor has, for those found from values: of a row, and of a panel. */
static void take_row(int16_t *exponent, const struct ulp_unit_layout *layout,
                     const struct ulp_pack *pack, size_t batch, size_t line)
{
    for (size_t slot = 0; slot < layout->slot_count; slot++)
        if (layout->slot_k[slot] >= 0)
            exponent[slot] =
                pack->factor->exponent[ulp_factor_offset(pack->factor, batch, line,
                                                         (size_t)layout->slot_k[slot])];
}

static void take_panel(const struct ulp_unit_panel *panel, const struct ulp_unit_layout *layout,
                       const struct ulp_pack *pack, struct ulp_pack_range range)
{
    for (size_t slot = 0; slot < layout->slot_count; slot++)
        for (size_t j = 0; layout->slot_k[slot] >= 0 && j < range.line_count; j++)
            if (panel->value[slot * CHUNK + j] != 0) /* not what is special */
                panel->exponent[slot * CHUNK + j] = pack->factor->exponent[ulp_factor_offset(
                    pack->factor, range.batch, range.line + j, (size_t)layout->slot_k[slot])];
}

/* A row's codes where it has NaN, Inf or marked padding; the others are found. */
static void mark_row(struct ulp_unit_rows *rows, const struct ulp_unit_layout *layout,
                     const struct ulp_pack *pack, size_t batch, size_t line, size_t row,
                     bool padding)
{
    float *const value = rows->value + row * layout->slot_stride;
    int16_t *const exponent = rows->exponent + row * layout->slot_stride;
    for (size_t slot = 0; slot < layout->slot_count; slot++) {
        int16_t code = ULP_UNIT_PADDING;
        if (!(value[slot] - value[slot] == 0)) {
            code = decode_special(value[slot]);
            value[slot] = 0;
            rows->special[row * layout->block_count + slot / (size_t)layout->unit.block] = 1;
        } else if (!padding || !is_padding(pack, batch, line, layout->slot_k[slot])) {
            continue;
        }
        exponent[slot] = code;
    }
}

/* Slots from a line's elements. */
static void spread_row(float *value, const struct ulp_unit_layout *layout, const float *line)
{
    for (size_t slot = 0; slot < layout->slot_stride; slot++)
        value[slot] = layout->slot_k[slot] < 0 ? 0 : line[layout->slot_k[slot]];
}

void ulp_unit_decode_rows(const struct ulp_unit_instance *instance, struct ulp_unit_rows *rows,
                          const struct ulp_unit_layout *layout, const struct ulp_pack *pack,
                          struct ulp_pack_range range, bool padding, float *scratch)
{
    const int emin = ulp_unit_input(&layout->unit, pack->side)->emin;
    const size_t stride = layout->slot_stride;
    if (range.k_count == 0)
        return;
    if (layout->dense)
        ulp_pack_rows(rows->value, pack, range, stride);
    memset(rows->special, 0, range.line_count * layout->block_count);
    for (size_t i = 0; i < range.line_count; i++) {
        float *const value = rows->value + i * stride;
        if (!layout->dense) {
            ulp_pack_rows(scratch, pack,
                          (struct ulp_pack_range){range.batch, range.line + i, 1, 0, range.k_count},
                          range.k_count);
            spread_row(value, layout, scratch);
        }
        const bool finite =
            instance->find_exponents(rows->exponent + i * stride, value, stride, emin);
        if (pack->factor->exponent)
            take_row(rows->exponent + i * stride, layout, pack, range.batch, range.line + i);
        if (!finite || padding)
            mark_row(rows, layout, pack, range.batch, range.line + i, i, padding);
    }
}

/* The kinds of a panel's elements, and codes for NaN, Inf and padding; the other codes are
 * found. */
static void mark_panel(struct ulp_unit_panel *panel, const struct ulp_unit_layout *layout,
                       const struct ulp_pack *pack, struct ulp_pack_range range)
{
    for (size_t slot = 0; slot < layout->slot_count; slot++) {
        float *const value = panel->value + slot * CHUNK;
        int16_t *const exponent = panel->exponent + slot * CHUNK;
        uint32_t absent = 0;
        const struct kinds kinds = mark_special(value, exponent);
        for (size_t j = 0; pack->factor->padding && j < range.line_count; j++)
            if (is_padding(pack, range.batch, range.line + j, layout->slot_k[slot])) {
                exponent[j] = ULP_UNIT_PADDING;
                absent |= (uint32_t)1 << j;
            }
        panel->special[slot / (size_t)layout->unit.block] |= (kinds.nan | kinds.infinity) != 0;
        panel->kinds[ULP_UNIT_SET_NAN * layout->slot_count + slot] = kinds.nan;
        panel->kinds[ULP_UNIT_SET_INFINITY * layout->slot_count + slot] = kinds.infinity;
        panel->kinds[ULP_UNIT_SET_ZERO * layout->slot_count + slot] = kinds.zero;
        panel->kinds[ULP_UNIT_SET_NEGATIVE * layout->slot_count + slot] = kinds.negative;
        panel->kinds[ULP_UNIT_SET_PADDING * layout->slot_count + slot] = absent;
    }
}

/* Slots from lines' elements. */
static void spread_panel(float *value, const struct ulp_unit_layout *layout, const float *lines)
{
    for (size_t slot = 0; slot < layout->slot_count; slot++)
        if (layout->slot_k[slot] < 0)
            memset(value + slot * CHUNK, 0, CHUNK * sizeof *value);
        else
            memcpy(value + slot * CHUNK, lines + (size_t)layout->slot_k[slot] * CHUNK,
                   CHUNK * sizeof *value);
}

void ulp_unit_decode_panel(const struct ulp_unit_instance *instance, struct ulp_unit_panel *panel,
                           const struct ulp_unit_layout *layout, const struct ulp_pack *pack,
                           struct ulp_pack_range range, bool special_rows, float *scratch)
{
    const int emin = ulp_unit_input(&layout->unit, pack->side)->emin;
    const size_t k_count = range.k_count;
    if (k_count > 0)
        ulp_pack_panels_float(layout->dense ? panel->value : scratch, pack, range, CHUNK);
    if (layout->dense)
        memset(panel->value + k_count * CHUNK, 0,
               (layout->slot_count - k_count) * CHUNK * sizeof *panel->value);
    else
        spread_panel(panel->value, layout, scratch);
    memset(panel->special, 0, layout->block_count);
    if (!instance->find_exponents(panel->exponent, panel->value, layout->slot_count * CHUNK,
                                  emin) ||
        special_rows)
        mark_panel(panel, layout, pack, range);
    if (pack->factor->exponent)
        take_panel(panel, layout, pack, range);
}
