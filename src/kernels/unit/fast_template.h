/* A tile of a matrix unit's fast path in vectors; included once by a file that defines:
 *   NAME             of the instance
 *   TARGET           function attribute of the instruction set
 *   W                lanes of a vector, 8 or 16
 *   floats, ints     vectors of W floats and of W int32
 *   shorts           a vector of 2 W int16
 *   STRIP_ROWS       rows side by side whose sums and scales fit the registers, at least 2
 *   STRIP_BLOCKS     blocks of planes from which that is faster than row by row (measured)
 *   OP_REGISTER      a vector register as a constraint of asm
 *   op_*             the operations used below
 * A panel's columns are taken 2 W at a time: one vector of exponents, two (low and high columns) of
 * everything else. */
#include "kernels/unit/special_template.h"

#define INLINE TARGET static inline __attribute__((always_inline))

/* What a block needs of W lanes. */
struct lanes {
    floats up, down; /* 2^(F - e), 2^(e - F) */
    ints sum;
    ints overflow; /* sign bit: some addition left int32 */
    unsigned slow; /* a bit a lane: outside of the limits */
};

/* Scales for terms whose largest exponent is `raw`; the sum is 0. */
INLINE struct lanes scale_block(const struct ulp_unit_limits *limits, ints raw)
{
    struct lanes lanes = {.sum = op_set(0), .overflow = op_set(0)};
    const ints e = op_max(raw, op_set(limits->lowest));
    lanes.slow = op_outside(raw, limits);
    lanes.up = op_floats(op_shift_left_23(op_sub(op_set(127 + limits->fraction_bits), e)));
    lanes.down = op_floats(op_shift_left_23(op_add(op_set(127 - limits->fraction_bits), e)));
    return lanes;
}

/* top: the largest exponents of the products. c's truncated term starts the sum. */
INLINE struct lanes start_block(const struct ulp_unit_limits *limits, ints top, floats c)
{
    const ints magnitude = op_and(op_bits(c), op_set(0x7FFFFFFF));
    const ints field = op_max(op_shift_right_23(magnitude), op_set(limits->c_field));
    const ints c_e = op_select_zero(magnitude, op_set(ULP_UNIT_ZERO), op_sub(field, op_set(127)));
    struct lanes lanes = scale_block(limits, op_max(top, c_e));
    lanes.sum = op_truncate(op_mul(c, lanes.up));
    return lanes;
}

INLINE void add_checked(struct lanes *lanes, ints part)
{
    const ints sum = op_add(lanes->sum, part);
    lanes->overflow = op_or(lanes->overflow, op_and(op_xor(lanes->sum, sum), op_xor(part, sum)));
    lanes->sum = sum;
}

INLINE floats finish_block(const struct lanes *lanes, enum ulp_unit_output output)
{
    const floats x = op_truncate_sum(lanes->sum);
    if (output == ULP_UNIT_RZ_FP32)
        return op_mul(x, lanes->down);
    if (output == ULP_UNIT_RZ_E8M13)
        return op_mul(op_floats(op_and(op_bits(x), op_set((int)0xFFFFFC00))), lanes->down);
    /* rounded to odd at 24 bits first, so that rounding to 11 rounds once */
    const ints odd = op_not_equal_1(op_truncate(x), lanes->sum);
    return op_half(op_mul(op_floats(op_or(op_bits(x), odd)), lanes->down));
}

/* The lanes of x that are not finite, as bits from `place` on. */
INLINE struct lost read_lost(floats x, unsigned place)
{
    const ints bits = op_bits(x), magnitude = op_and(bits, op_set(0x7FFFFFFF));
    const uint32_t nan = op_signs(op_sub(op_set(0x7F800000), magnitude));
    const uint32_t infinity = op_signs(op_sub(op_set(0x7F7FFFFF), magnitude)) & ~nan,
                   sign = op_signs(bits);
    return (struct lost){nan << place, (infinity & ~sign) << place, (infinity & sign) << place};
}

INLINE struct lost read_both(floats low, floats high, size_t column)
{
    const struct lost x = read_lost(low, (unsigned)column),
                      y = read_lost(high, (unsigned)column + W);
    return (struct lost){x.nan | y.nan, x.positive | y.positive, x.negative | y.negative};
}

/* x with the values of lost lanes, whose bits are from `place` on. */
INLINE floats write_lost(floats x, struct lost lost, unsigned place)
{
    x = op_choose(lost.positive >> place, op_floats(op_set(0x7F800000)), x);
    x = op_choose(lost.negative >> place, op_floats(op_set((int)0xFF800000)), x);
    return op_choose(lost.nan >> place, op_floats(op_set(0x7FFFFFFF)), x); /* the canonical NaN */
}

/* What a block multiplies. */
struct block {
    const float *a, *b;
    const int32_t *a_exponent;
    const int16_t *b_exponent;
    const int64_t *offset; /* of a slot's columns, from b and b_exponent */
    bool packed;           /* they lie as in a panel instead; a constant after inlining */
};

INLINE size_t find_columns(const struct block *block, size_t s)
{
    return block->packed ? s * ULP_UNIT_COLUMNS : (size_t)block->offset[s];
}

/* The largest exponents of `count` products. */
INLINE shorts find_top(const struct block *block, size_t count)
{
    shorts top = op_shorts_set(ULP_UNIT_NO_TERMS);
#pragma GCC unroll 32
    for (size_t s = 0; s < count; s++)
        top = op_shorts_max(top, op_shorts_add(op_shorts_set(block->a_exponent[s]),
                                               op_shorts_load(block->b_exponent +
                                                              find_columns(block, s))));
    return top;
}

/* `count` terms, at most 16: they cannot leave int32 before they are added. `empty`: the sums are
 * 0. */
INLINE void add_terms(struct lanes *low, struct lanes *high, const struct block *block,
                      size_t first, size_t count, const bool empty)
{
    ints part_low = op_set(0), part_high = op_set(0);
#pragma GCC unroll 16
    for (size_t s = first; s < first + count; s++) {
        const float *y = block->b + find_columns(block, s);
        const floats x = op_broadcast(block->a + s);
        part_low = op_add(part_low, op_truncate(op_mul(op_mul(x, op_load(y)), low->up)));
        part_high = op_add(part_high, op_truncate(op_mul(op_mul(x, op_load(y + W)), high->up)));
    }
    if (empty) {
        low->sum = part_low;
        high->sum = part_high;
    } else {
        add_checked(low, part_low);
        add_checked(high, part_high);
    }
}

/* 2 W sums, and which of them are not finite unless the last block's overflowed. */
struct chain {
    floats low, high;
    struct lost lost;
};

/* The chain goes on with the sums of a block. */
INLINE void end_block(struct chain *chain, const struct ulp_unit_tile *tile,
                      const struct lanes *low, const struct lanes *high, size_t row, size_t block,
                      size_t place, size_t column)
{
    const enum ulp_unit_output output = tile->layout->unit.output;
    floats d_low = finish_block(low, output), d_high = finish_block(high, output);
    const uint32_t slow_low = low->slow | op_signs(low->overflow),
                   slow_high = high->slow | op_signs(high->overflow);
    const uint32_t kept = lost_lanes(chain->lost) >> column,
                   slow = (slow_low | slow_high << W) & ~kept;
    if (kept) {
        d_low = op_choose(kept, chain->low, d_low);
        d_high = op_choose(kept >> W, chain->high, d_high);
    }
    if (slow) {
        float before[2 * W], after[2 * W];
        op_store(before, chain->low);
        op_store(before + W, chain->high);
        op_store(after, d_low);
        op_store(after + W, d_high);
        const unsigned mode = op_set_rounding(_MM_ROUND_NEAREST);
        sum_lanes_by_oracle(tile, row, block, place, column, slow, before, after);
        op_set_rounding(mode);
        d_low = op_load(after);
        d_high = op_load(after + W);
        chain->lost = read_both(d_low, d_high, column);
    }
    chain->low = d_low;
    chain->high = d_high;
}

/* The chain of the tile's blocks from `first` on, for one row and 2 W columns of a panel; `length`
 * is the block's and a constant after inlining. */
INLINE void run_row(const struct ulp_unit_tile *tile, const struct ulp_unit_limits *limits,
                    size_t row, size_t column, const size_t length, size_t first)
{
    const struct ulp_unit_layout *layout = tile->layout;
    const uint8_t *a_special = tile->rows.special + row * layout->block_count,
                  *b_special = tile->panel.special;
    float *c = tile->c + row * ULP_UNIT_COLUMNS + column;
    const uint32_t all = (uint32_t)(((uint64_t)1 << 2 * W) - 1) << column;
    struct chain chain = {.low = op_load(c), .high = op_load(c + W)};
    chain.lost = read_both(chain.low, chain.high, column);
    for (size_t block = first; block < tile->block_last; block++) {
        const size_t slot = block * length, a_place = row * layout->slot_stride + slot;
        if (a_special[block] | b_special[block]) {
            chain.lost =
                lose_lanes(read_both(chain.low, chain.high, column), tile, row, slot, length);
            chain.low = write_lost(chain.low, chain.lost, (unsigned)column);
            chain.high = write_lost(chain.high, chain.lost, (unsigned)column + W);
        }
        if ((chain.lost.nan & all) == all)
            break;
        if ((lost_lanes(chain.lost) & all) == all)
            continue;
        const struct block terms = {.a = tile->rows.value + a_place,
                                    .a_exponent = tile->rows.exponent + a_place,
                                    .b = tile->panel.value + slot * ULP_UNIT_COLUMNS + column,
                                    .b_exponent =
                                        tile->panel.exponent + slot * ULP_UNIT_COLUMNS + column,
                                    .packed = true};
        const shorts top = find_top(&terms, length);
        struct lanes low = start_block(limits, op_widen_low(top), chain.low);
        struct lanes high = start_block(limits, op_widen_high(top), chain.high);
        add_terms(&low, &high, &terms, 0, length < 16 ? length : 16, false);
        if (length > 16)
            add_terms(&low, &high, &terms, 16, length - 16, false);
        end_block(&chain, tile, &low, &high, row, block, 0, column);
    }
    op_store(c, chain.low);
    op_store(c + W, chain.high);
}

/* As run_row for a place in planes, where nothing is special: blocks of any length, without their
 * empty slots. */
INLINE void run_place(const struct ulp_unit_tile *tile, const struct ulp_unit_limits *limits,
                      size_t row, size_t place, size_t column, size_t block)
{
    const struct ulp_unit_layout *layout = tile->layout;
    const size_t length = (size_t)layout->unit.block, a_first = row * layout->slot_stride;
    const size_t lane = (size_t)tile->place[place];
    float *c = tile->c + (row * tile->place_count + place) * ULP_UNIT_COLUMNS + column;
    struct block terms = {.b = tile->panel.value + lane + column,
                          .b_exponent = tile->panel.exponent + lane + column};
    struct chain chain = {0};
    if (tile->fresh && block == tile->block_first) {
        const size_t slot = block * length, used = layout->block_used[block];
        terms.a = tile->rows.value + a_first + slot;
        terms.a_exponent = tile->rows.exponent + a_first + slot;
        terms.offset = tile->slot_offset + slot;
        const shorts top = find_top(&terms, used);
        struct lanes low = scale_block(limits, op_widen_low(top)),
                     high = scale_block(limits, op_widen_high(top));
        add_terms(&low, &high, &terms, 0, used < 16 ? used : 16, true);
        if (used > 16)
            add_terms(&low, &high, &terms, 16, used - 16, false);
        end_block(&chain, tile, &low, &high, row, block, lane, column);
        block++;
    } else {
        chain.low = op_load(c);
        chain.high = op_load(c + W);
        chain.lost = read_both(chain.low, chain.high, column);
    }
    for (; block < tile->block_last; block++) {
        const size_t slot = block * length, used = layout->block_used[block];
        terms.a = tile->rows.value + a_first + slot;
        terms.a_exponent = tile->rows.exponent + a_first + slot;
        terms.offset = tile->slot_offset + slot;
        const shorts top = find_top(&terms, used);
        struct lanes low = start_block(limits, op_widen_low(top), chain.low);
        struct lanes high = start_block(limits, op_widen_high(top), chain.high);
        add_terms(&low, &high, &terms, 0, used < 16 ? used : 16, false);
        if (used > 16)
            add_terms(&low, &high, &terms, 16, used - 16, false);
        end_block(&chain, tile, &low, &high, row, block, lane, column);
    }
    op_store(c, chain.low);
    op_store(c + W, chain.high);
}

/* All places for one row. */
TARGET static void run_places(const struct ulp_unit_tile *tile, size_t row)
{
    const struct ulp_unit_limits limits = tile->layout->limits;
    for (size_t place = 0; place < tile->place_count; place++)
        for (size_t column = 0; column < ULP_UNIT_COLUMNS; column += 2 * W)
            run_place(tile, &limits, row, place, column, tile->block_first);
}

#include "kernels/unit/strip_template.h"

/* The blocks of a strip from `block` on, row by row. */
TARGET static void finish_strip(const struct ulp_unit_tile *tile,
                                const struct ulp_unit_limits *limits, size_t row, size_t place,
                                size_t column, size_t block)
{
    for (size_t r = row; r < row + STRIP_ROWS; r++)
        run_place(tile, limits, r, place, column, block);
}

/* Is one of a tile's blocks special, of which there are few? */
INLINE bool is_special(const struct ulp_unit_tile *tile, const uint8_t *blocks)
{
    unsigned special = 0;
    for (size_t block = tile->block_first; block < tile->block_last; block++)
        special |= blocks[block];
    return special != 0;
}

/* Is there no NaN and no Inf in the blocks of the rows of a strip? */
INLINE bool is_plain(const struct ulp_unit_tile *tile, size_t row)
{
    bool special = false;
    for (size_t r = row; r < row + STRIP_ROWS; r++)
        special |= is_special(tile, tile->rows.special + r * tile->layout->block_count);
    return !special;
}

/* All chains of a tile of a panel's columns. length and half (sums are FP16) are constants after
 * inlining, here and below. */
INLINE void run_panel(const struct ulp_unit_tile *tile, const size_t length, const bool half)
{
    const struct ulp_unit_limits limits = tile->layout->limits;
    const bool plain = !is_special(tile, tile->panel.special);
    for (size_t row = 0, count; row < tile->row_count; row += count) {
        const bool strip = plain && tile->row_count - row >= STRIP_ROWS && is_plain(tile, row);
        count = strip ? STRIP_ROWS : 1;
        for (size_t column = 0; column < ULP_UNIT_COLUMNS; column += 2 * W) {
            size_t block = tile->block_first;
            if (strip)
                block = run_strip(tile, &limits, row, 0, column, length, true, half);
            for (size_t r = row; r < row + count && block < tile->block_last; r++)
                run_row(tile, &limits, r, column, length, block);
        }
    }
}

/* All chains of a tile of columns in planes, whose blocks are run four slots at a time: their length
 * need not be a constant. */
INLINE void run_planes(const struct ulp_unit_tile *tile, const bool half)
{
    const size_t length = (size_t)tile->layout->unit.block;
    const struct ulp_unit_limits limits = tile->layout->limits;
    const bool strips = tile->block_last - tile->block_first >= STRIP_BLOCKS;
    size_t row = 0;
    for (; strips && row + STRIP_ROWS <= tile->row_count; row += STRIP_ROWS)
        for (size_t place = 0; place < tile->place_count; place++)
            for (size_t column = 0; column < ULP_UNIT_COLUMNS; column += 2 * W) {
                const size_t block =
                    run_strip(tile, &limits, row, place, column, length, false, half);
                if (block < tile->block_last)
                    finish_strip(tile, &limits, row, place, column, block);
            }
    for (; row < tile->row_count; row++)
        run_places(tile, row);
}

INLINE void run_length(const struct ulp_unit_tile *tile, const size_t length, bool half)
{
    if (half)
        run_panel(tile, length, true);
    else
        run_panel(tile, length, false);
}

/* A function, so that nothing in it is computed before or after. */
TARGET static __attribute__((noinline)) void run_blocks(const struct ulp_unit_tile *tile)
{
    const bool half = tile->layout->unit.output == ULP_UNIT_RNE_FP16;
    if (tile->slot_offset != tile->layout->panel_offset) {
        if (half)
            run_planes(tile, true);
        else
            run_planes(tile, false);
        return;
    }
    if (tile->fresh)
        memset(tile->c, 0, tile->row_count * ULP_UNIT_COLUMNS * sizeof *tile->c);
    switch (tile->layout->unit.block) {
    case 4: run_length(tile, 4, half); break;
    case 8: run_length(tile, 8, half); break;
    case 16: run_length(tile, 16, half); break;
    case 32: run_length(tile, 32, half); break;
    default: break;
    }
}

TARGET static void run_tile(const struct ulp_unit_tile *tile)
{
    const int block = tile->layout->unit.block;
    if (block != 4 && block != 8 && block != 16 && block != 32) {
        ulp_unit_c.run(tile);
        return;
    }
    const unsigned mode = op_set_rounding(_MM_ROUND_TOWARD_ZERO);
    run_blocks(tile);
    op_set_rounding(mode);
}

TARGET static struct ulp_unit_kinds decode(float *value, int16_t *exponent, const float *x,
                                           int emin)
{
    struct ulp_unit_kinds kinds = {0};
    for (size_t i = 0; i < ULP_UNIT_COLUMNS; i += 2 * W) {
        ints code[2];
        for (size_t half = 0; half < 2; half++) {
            const size_t place = i + half * W;
            const floats y = op_load(x + place);
            const ints magnitude = op_and(op_bits(y), op_set(0x7FFFFFFF));
            const ints field = op_shift_right_23(magnitude);
            const ints e = op_max(op_sub(field, op_set(127)), op_set(emin));
            const uint32_t nan = op_signs(op_sub(op_set(0x7F800000), magnitude));
            kinds.nan |= nan << place;
            kinds.infinity |= (op_signs(op_sub(op_set(0x7F7FFFFF), magnitude)) & ~nan) << place;
            kinds.zero |= (uint32_t)op_signs(op_sub(magnitude, op_set(1))) << place;
            kinds.negative |= (uint32_t)op_signs(op_bits(y)) << place;
            code[half] = op_select_zero(magnitude, op_set(ULP_UNIT_ZERO), e);
            op_store(value + place, y);
        }
        op_shorts_store(exponent + i, code[0], code[1]);
    }
    return kinds;
}

TARGET static bool find_exponents(int16_t *exponent, const float *x, size_t count, int emin)
{
    ints largest = op_set(0);
    for (size_t i = 0; i < count; i += 2 * W) {
        ints code[2];
        for (size_t half = 0; half < 2; half++) {
            const ints magnitude = op_and(op_bits(op_load(x + i + half * W)), op_set(0x7FFFFFFF));
            const ints e = op_max(op_sub(op_shift_right_23(magnitude), op_set(127)), op_set(emin));
            code[half] = op_select_zero(magnitude, op_set(ULP_UNIT_ZERO), e);
            largest = op_max(largest, magnitude);
        }
        op_shorts_store(exponent + i, code[0], code[1]);
    }
    return op_signs(op_sub(op_set(0x7F7FFFFF), largest)) == 0;
}

const struct ulp_unit_instance NAME = {run_tile, decode, find_exponents};
