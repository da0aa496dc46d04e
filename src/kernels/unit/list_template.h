/* Tiles of rows without their zeros, where nothing is special: included by unit/fast_template.h,
 * whose operations and start_block this uses.
 *
 * A row is summed by two spans at a time, of 2 W columns each: the end of a block and the start of
 * the next are one long chain of dependent operations, and two spans are what a processor overlaps
 * with it. All blocks are summed before it is known whether they could be: no sum left int32, no
 * exponent the limits. */

/* As start_block where c has FP32's bits and stays inside of the limits: exponents are kept as
 * fields of floats, in place, and top is a field, the lowest at least. Subnormals of FP32 are below
 * every lowest field. */
INLINE struct lanes start_narrow(const struct ulp_unit_limits *limits, ints top, floats c)
{
    const ints field = op_max(op_shift_left_23(top), op_and(op_bits(c), op_set(0x7F800000)));
    struct lanes lanes = {
        .up =
            op_floats(op_sub(op_set((int)((uint32_t)(254 + limits->fraction_bits) << 23)), field)),
        .down = op_floats(op_sub(field, op_set((int)((uint32_t)limits->fraction_bits << 23)))),
        .overflow = op_set(0)};
    lanes.sum = op_truncate(op_mul(c, lanes.up));
    return lanes;
}

/* Entries of a block of a row, and where two spans of columns begin. */
struct entries {
    const float *value, *b[2];
    const int32_t *exponent;
    const uint32_t *offset;
    const int16_t *b_exponent[2];
    size_t count;
};

/* least: what the largest exponents are at least. */
INLINE void find_tops(const struct entries *entries, shorts least, shorts top[2])
{
    shorts low = least, high = least;
    for (size_t s = 0; s < entries->count; s++) {
        const size_t offset = entries->offset[s];
        const shorts x = op_shorts_set(entries->exponent[s]);
        low = op_shorts_max(low, op_shorts_add(x, op_shorts_load(entries->b_exponent[0] + offset)));
        high =
            op_shorts_max(high, op_shorts_add(x, op_shorts_load(entries->b_exponent[1] + offset)));
    }
    top[0] = low;
    top[1] = high;
}

/* sum[i] += the terms of [first, last). */
INLINE void add_entries(const struct entries *entries, size_t first, size_t last, ints sum[4],
                        const struct lanes lanes[4])
{
    for (size_t s = first; s < last; s++) {
        const size_t offset = entries->offset[s];
        const floats x = op_broadcast(entries->value + s);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++) {
            const floats y = op_load(entries->b[i / 2] + offset + i % 2 * W);
            sum[i] = op_add(sum[i], op_truncate(op_mul(op_mul(x, y), lanes[i].up)));
        }
    }
}

/* The chain of a row and the spans 2 * pair and 2 * pair + 1 of the tile's columns; false: not all
 * of it is certain, and c is as it was. quick: start_narrow does, blocks have 16 products at most
 * and sums are FP32; then 15 terms below 2^27 and c's below 2^26 stay in int32, 16 are below 2^31 +
 * 2^26, and a sum that left int32 has a magnitude above 2^31 - 2^26. A constant after inlining. */
INLINE bool run_list(const struct ulp_unit_list_tile *tile, const struct ulp_unit_limits *limits,
                     size_t row, size_t pair, const bool quick)
{
    enum { SPAN = 2 * W, PANEL_SPANS = ULP_UNIT_COLUMNS / SPAN };
    const struct ulp_unit_lists *lists = &tile->lists;
    const enum ulp_unit_output output = quick ? ULP_UNIT_RZ_FP32 : tile->layout->unit.output;
    float *const to = tile->c + row * tile->stride + 2 * pair * SPAN;
    struct entries entries;
    for (size_t i = 0; i < 2; i++) {
        const size_t panel = (2 * pair + i) / PANEL_SPANS,
                     column = (2 * pair + i) % PANEL_SPANS * SPAN;
        entries.b[i] = tile->value[panel] + column;
        entries.b_exponent[i] = tile->exponent[panel] + column;
    }
    floats c[4];
    for (size_t i = 0; i < 4; i++)
        c[i] = op_load(to + i * W);
    const shorts bias = op_shorts_set(127 * 0x10001),
                 lowest = op_shorts_set((int32_t)((uint32_t)(uint16_t)limits->lowest * 0x10001u));
    ints overflow = op_set(0);
    unsigned slow = 0;
    for (size_t block = row * lists->blocks; block < (row + 1) * lists->blocks; block++) {
        const size_t at = block * lists->length;
        const bool narrow =
            quick && block > row * lists->blocks; /* c may be from anywhere before */
        shorts top[2];
        struct lanes lanes[4];
        ints sum[4];
        entries.value = lists->value + at;
        entries.exponent = lists->exponent + at;
        entries.offset = lists->offset + at;
        entries.count = lists->count[block];
        find_tops(&entries, narrow ? lowest : op_shorts_set(ULP_UNIT_NO_TERMS), top);
        for (size_t i = 0; i < 2 && narrow; i++)
            top[i] = op_shorts_add(top[i], bias);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++) {
            const ints e = i % 2 ? op_widen_high(top[i / 2]) : op_widen_low(top[i / 2]);
            if (narrow) {
                lanes[i] = start_narrow(limits, e, c[i]);
            } else {
                lanes[i] = start_block(limits, e, c[i]);
                slow |= lanes[i].slow;
            }
            sum[i] = lanes[i].sum;
        }
        if (quick)
            add_entries(&entries, 0, entries.count, sum, lanes);
        for (size_t first = 0; !quick && first < entries.count; first += 16) {
            const size_t last = entries.count < first + 16 ? entries.count : first + 16;
            for (size_t i = 0; i < 4; i++)
                sum[i] = op_set(0);
            add_entries(&entries, first, last, sum, lanes);
            for (size_t i = 0; i < 4; i++)
                add_checked(&lanes[i], sum[i]);
        }
        for (size_t i = 0; quick && entries.count > 15 && i < 4; i++)
            overflow = op_largest(overflow, sum[i]);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++) {
            if (quick) {
                lanes[i].sum = sum[i];
            } else {
                overflow = op_or(overflow, lanes[i].overflow);
            }
            c[i] = finish_block(&lanes[i], output);
        }
    }
    if (quick)
        overflow = op_or(overflow, op_add(overflow, op_set(1 << 26)));
    if (slow | op_signs(overflow))
        return false;
    for (size_t i = 0; i < 4; i++)
        op_store(to + i * W, c[i]);
    return true;
}

INLINE size_t run_list_rows(const struct ulp_unit_list_tile *tile, size_t row, const bool quick)
{
    enum { PAIRS = ULP_UNIT_COLUMNS / (2 * W) };
    const struct ulp_unit_limits limits = tile->layout->limits;
    for (; row < tile->row_count; row++) {
        float *const c = tile->c + row * tile->stride, before[4 * W * (PAIRS - 1) + 1];
        memcpy(before, c, 4 * W * (PAIRS - 1) * sizeof *c);
        for (size_t pair = 0; pair < PAIRS; pair++)
            if (!run_list(tile, &limits, row, pair, quick)) {
                memcpy(c, before, pair * 4 * W * sizeof *c);
                return row;
            }
    }
    return row;
}

TARGET static size_t run_lists(const struct ulp_unit_list_tile *tile, size_t row)
{
    const struct ulp_unit *unit = &tile->layout->unit;
    const unsigned mode = op_set_rounding(_MM_ROUND_TOWARD_ZERO);
    row = tile->layout->limits.narrow && unit->block <= 16 && unit->output == ULP_UNIT_RZ_FP32
              ? run_list_rows(tile, row, true)
              : run_list_rows(tile, row, false);
    op_set_rounding(mode);
    return row;
}
