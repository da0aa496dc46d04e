/* Several rows of a tile side by side, where nothing is special: included by unit/fast_template.h,
 * whose operations and start_block this uses.
 *
 * STRIP_ROWS rows share the loads of their columns. The end of a block, and the start of the next,
 * are one long chain of dependent operations; so the halves of the columns (W each) take turns:
 * while one half's chain is under way, the other half's terms are formed.
 *
 * Exponents are kept as the exponent fields of floats, in place, so that a scale is one subtraction
 * away: E = (e + 127) << 23 is the largest of the products' and of c's bits without sign and
 * fraction. A strip stops before a block with a lane that run_row has to decide. */

/* x is in a register here. Without it GCC loads what rows share once for each, and forms all terms
 * of a block before it adds them, in memory. */
#define PIN(x) __asm__("" : "+" OP_REGISTER(x))

/* The constants of a strip: exponent fields, in place. */
struct strip_limits {
    ints up, down;      /* 2^(F - e) = up - E, 2^(e - F) = E - down */
    ints low, high;     /* lanes with E below or above are looked at */
    shorts least, most; /* what the products' exponents are clamped to */
    ints kept;          /* bits of a converted sum */
};

INLINE struct strip_limits limit_strip(const struct ulp_unit_limits *limits,
                                       enum ulp_unit_output output)
{
    const int lowest = limits->lowest + 127, fraction = limits->fraction_bits;
    /* At the lowest field there may be terms below it, unless a floor takes these. */
    const int low = limits->low == ULP_UNIT_NO_TERM ? lowest : lowest + 1;
    return (struct strip_limits){
        .up = op_set((int)((uint32_t)(254 + fraction) << 23)),
        .down = op_set(fraction << 23),
        .low = op_set(low << 23),
        .high = op_set((limits->high + 127) << 23),
        .least = op_shorts_set((int32_t)((uint32_t)(uint16_t)limits->lowest * 0x10001u)),
        .most = op_shorts_set(128 * 0x10001),
        .kept = op_set(output == ULP_UNIT_RZ_E8M13 ? (int)0xFFFFFC00 : -1),
    };
}

/* What a strip works on, and what its blocks have in common. */
struct strip {
    const struct ulp_unit_tile *tile;
    const float *a, *b;
    const int32_t *a_exponent;
    const int16_t *b_exponent;
    size_t a_stride, length;
    bool packed; /* the columns are a panel's */
    bool half;   /* sums are FP16 */
    bool narrow; /* of the limits */
    bool joined; /* 32 terms may leave int32: they are added by 16, and these sums checked */
    struct strip_limits limits;
    size_t next;            /* the block that starts when this one ends, */
    shorts top[STRIP_ROWS]; /* and its products' largest exponents */
    ints least, most;       /* of its fields */
    ints overflow;          /* sign bit: a joined sum of the block that ends left int32 */
    ints largest;           /* of the magnitudes of the others, unsigned */
};

/* W columns of the strip. */
struct strip_half {
    floats c[STRIP_ROWS], up[STRIP_ROWS];
    ints field[STRIP_ROWS], sum[STRIP_ROWS], term[STRIP_ROWS];
};

INLINE struct strip make_strip(const struct ulp_unit_tile *tile,
                               const struct ulp_unit_limits *limits, size_t row, size_t place,
                               size_t column, const size_t length, const bool packed,
                               const bool half)
{
    const size_t stride = tile->layout->slot_stride,
                 lane = (packed ? 0 : (size_t)tile->place[place]) + column;
    const struct strip_limits fields = limit_strip(limits, tile->layout->unit.output);
    return (struct strip){.tile = tile,
                          .a = tile->rows.value + row * stride,
                          .a_exponent = tile->rows.exponent + row * stride,
                          .b = tile->panel.value + lane,
                          .b_exponent = tile->panel.exponent + lane,
                          .a_stride = stride,
                          .length = length,
                          .packed = packed,
                          .half = half,
                          .narrow = !half && limits->narrow,
                          .joined = length > 16 && limits->fraction_bits > 13,
                          .limits = fields,
                          .least = fields.high,
                          .most = fields.high};
}

/* Where the columns of a block's slot are, from those of slot 0 of a panel or from the place. */
INLINE size_t find_slot(const struct strip *strip, size_t block, size_t s)
{
    const size_t slot = block * strip->length + s;
    return strip->packed ? slot * ULP_UNIT_COLUMNS : (size_t)strip->tile->slot_offset[slot];
}

/* Slots of a block that are looked at, a multiple of 4: planes have no more than are in use. */
INLINE size_t count_slots(const struct strip *strip, size_t block)
{
    return strip->packed ? strip->length
                         : ((size_t)strip->tile->layout->block_used[block] + 3) / 4 * 4;
}

/* The largest exponents of the next block's products, raised by those of `count` slots. */
INLINE void raise_tops(struct strip *strip, size_t first, size_t count)
{
    const int32_t *const a = strip->a_exponent + strip->next * strip->length;
#pragma GCC unroll 32
    for (size_t s = first; s < first + count; s++) {
        shorts e = op_shorts_load(strip->b_exponent + find_slot(strip, strip->next, s));
        PIN(e);
#pragma GCC unroll 8
        for (size_t r = 0; r < STRIP_ROWS; r++)
            strip->top[r] =
                op_shorts_max(strip->top[r],
                              op_shorts_add(op_shorts_set(a[r * strip->a_stride + s]), e));
    }
}

INLINE void begin_tops(struct strip *strip, size_t next)
{
    strip->next = next;
    for (size_t r = 0; r < STRIP_ROWS; r++)
        strip->top[r] = op_shorts_set(ULP_UNIT_NO_TERMS);
}

/* The field of a chain's sum, which is FP16 or else FP32. Zero has none; subnormals of FP32 are
 * below every lowest field. */
INLINE ints find_field(const struct strip *strip, floats c)
{
    const ints field = op_and(op_bits(c), op_set(0x7F800000));
    return strip->half ? op_select_zero(field, field, op_max(field, op_set((127 - 14) << 23)))
                       : field;
}

/* Scales of a block, and c's terms. watched: the fields count for find_edges. */
INLINE void start_half(struct strip *strip, struct strip_half *half, bool high, bool watched)
{
#pragma GCC unroll 8
    for (size_t r = 0; r < STRIP_ROWS; r++) {
        const shorts clamped =
            op_shorts_min(op_shorts_max(strip->top[r], strip->limits.least), strip->limits.most);
        const ints e = high ? op_widen_high(clamped) : op_widen_low(clamped);
        const ints field =
            op_max(op_shift_left_23(op_add(e, op_set(127))), find_field(strip, half->c[r]));
        half->field[r] = field;
        if (watched) {
            strip->least = op_min(strip->least, field);
            strip->most = op_max(strip->most, field);
        }
        half->up[r] = op_floats(op_sub(strip->limits.up, field));
        half->term[r] = op_truncate(op_mul(half->c[r], half->up[r]));
        half->sum[r] = strip->joined ? op_set(0) : half->term[r];
    }
}

/* sum = term = sum + term. */
INLINE void join_terms(struct strip *strip, struct strip_half *half)
{
#pragma GCC unroll 8
    for (size_t r = 0; r < STRIP_ROWS; r++) {
        const ints sum = op_add(half->sum[r], half->term[r]);
        strip->overflow = op_or(strip->overflow, op_overflow(sum, half->sum[r], half->term[r]));
        half->sum[r] = half->term[r] = sum;
    }
}

/* The terms of `count` slots from `first` on, a constant after inlining, at most 16; tops: beside
 * the next block's exponents there, which load more than they compute. */
INLINE void add_terms_of(struct strip *strip, struct strip_half *half, size_t block, size_t first,
                         const size_t count, size_t column, const bool tops)
{
    const float *a = strip->a + block * strip->length;
    /* no keeping of one half's broadcasts for the other, in memory */
    __asm__ volatile("" : "+r"(a));
#pragma GCC unroll 16
    for (size_t s = first; s < first + count; s++) {
        if (tops)
            raise_tops(strip, s, 1);
        floats y = op_load(strip->b + find_slot(strip, block, s) + column);
        PIN(y);
#pragma GCC unroll 8
        for (size_t r = 0; r < STRIP_ROWS; r++) {
            const floats x = op_broadcast(a + r * strip->a_stride + s);
            half->sum[r] = op_add(half->sum[r], op_truncate(op_mul(op_mul(x, y), half->up[r])));
            PIN(half->sum[r]);
        }
    }
}

/* The block's terms onto c's; tops: those of block `next` are found. */
INLINE void add_half(struct strip *strip, struct strip_half *half, size_t block, size_t column,
                     const bool tops)
{
    const size_t part = strip->length < 16 ? strip->length : 16, count = count_slots(strip, block),
                 next_count = tops ? count_slots(strip, strip->next) : 0;
#pragma GCC unroll 2
    for (size_t first = 0; first < strip->length; first += part) {
        if (first && strip->joined)
            for (size_t r = 0; r < STRIP_ROWS; r++)
                half->sum[r] = op_set(0);
        if (strip->packed)
            add_terms_of(strip, half, block, first, part, column, tops);
        size_t s = strip->packed ? first + part : first;
        for (; s < first + part && s < count && (!tops || s < next_count); s += 4)
            add_terms_of(strip, half, block, s, 4, column, tops);
        for (; s < first + part && s < count; s += 4)
            add_terms_of(strip, half, block, s, 4, column, false);
        for (; s < first + part && s < next_count; s += 4)
            raise_tops(strip, s, 4);
        if (strip->joined)
            join_terms(strip, half);
    }
}

/* c = the block's sums, converted. With c, 16 terms below 2^27 are below 2^31 + 2^26: a sum that
 * left int32 has a magnitude above 2^31 - 2^26 there. */
INLINE void finish_half(struct strip *strip, struct strip_half *half)
{
#pragma GCC unroll 8
    for (size_t r = 0; r < STRIP_ROWS; r++) {
        if (strip->length == 16)
            strip->largest = op_largest(strip->largest, half->sum[r]);
        const floats down = op_floats(op_sub(half->field[r], strip->limits.down));
        const floats x = op_truncate_sum(half->sum[r]);
        if (strip->half) {
            /* rounded to odd at 24 bits first, so that rounding to 11 rounds once */
            const ints odd = op_not_equal_1(op_truncate(x), half->sum[r]);
            half->c[r] = op_half(op_mul(op_floats(op_or(op_bits(x), odd)), down));
        } else {
            half->c[r] = op_mul(op_floats(op_and(op_bits(x), strip->limits.kept)), down);
        }
    }
}

/* Sign bit: a lane of the block that starts may be outside of the limits. */
INLINE ints find_edges(const struct strip *strip)
{
    return op_or(op_sub(strip->least, strip->limits.low), op_sub(strip->limits.high, strip->most));
}

/* Does a lane of the block hold a term outside of the limits? c is in the tile. A function, so that
 * nothing is kept in registers for it. */
TARGET static __attribute__((noinline, cold)) bool is_block_outside(
    const struct ulp_unit_tile *tile, const struct ulp_unit_limits *limits, size_t row,
    size_t place, size_t column, size_t block)
{
    const struct ulp_unit_layout *layout = tile->layout;
    const size_t slot = block * (size_t)layout->unit.block,
                 lane = (size_t)tile->place[place] + column;
    unsigned slow = 0;
    for (size_t r = row; r < row + STRIP_ROWS; r++) {
        const struct block terms = {.a_exponent =
                                        tile->rows.exponent + r * layout->slot_stride + slot,
                                    .b_exponent = tile->panel.exponent + lane,
                                    .offset = tile->slot_offset + slot};
        const shorts top = find_top(&terms, layout->block_used[block]);
        const float *c = tile->c + (r * tile->place_count + place) * ULP_UNIT_COLUMNS + column;
        slow |= start_block(limits, op_widen_low(top), op_load(c)).slow |
                start_block(limits, op_widen_high(top), op_load(c + W)).slow;
    }
    return slow != 0;
}

INLINE void store_halves(float *const *c, const struct strip_half *low,
                         const struct strip_half *high)
{
    for (size_t r = 0; r < STRIP_ROWS; r++) {
        op_store(c[r], low->c[r]);
        op_store(c[r] + W, high->c[r]);
    }
}

/* STRIP_ROWS rows from `row` on, 2 W columns of a place: all blocks, or those before one that
 * run_row has to do; the first block that was not done is returned. packed, half and a
 * panel's length are constants after inlining. */
INLINE size_t run_strip(const struct ulp_unit_tile *tile, const struct ulp_unit_limits *limits,
                        size_t row, size_t place, size_t column, const size_t length,
                        const bool packed, const bool half)
{
    struct strip strip = make_strip(tile, limits, row, place, column, length, packed, half);
    struct strip_half low, high;
    float *c[STRIP_ROWS];
    for (size_t r = 0; r < STRIP_ROWS; r++) {
        c[r] = tile->c + ((row + r) * tile->place_count + place) * ULP_UNIT_COLUMNS + column;
        low.c[r] = tile->fresh ? op_floats(op_set(0)) : op_load(c[r]);
        high.c[r] = tile->fresh ? op_floats(op_set(0)) : op_load(c[r] + W);
    }
    size_t block = tile->block_first;
    begin_tops(&strip, block);
    for (size_t s = 0; s < count_slots(&strip, block); s += 4)
        raise_tops(&strip, s, 4);
    start_half(&strip, &low, false, true);
    start_half(&strip, &high, true, true);
    store_halves(c, &low, &high);
    if (op_signs(find_edges(&strip)) && is_block_outside(tile, limits, row, place, column, block))
        return block;
    for (;;) {
        const bool more = block + 1 < tile->block_last, watched = !strip.narrow;
        strip.overflow = strip.largest = op_set(0);
        strip.least = strip.most = strip.limits.high;
        begin_tops(&strip, more ? block + 1 : block);
        add_half(&strip, &low, block, 0, true);
        finish_half(&strip, &low);
        if (more)
            start_half(&strip, &low, false, watched);
        add_half(&strip, &high, block, W, false);
        finish_half(&strip, &high);
        if (more)
            start_half(&strip, &high, true, watched);
        strip.overflow =
            op_or(strip.overflow, op_or(strip.largest, op_add(strip.largest, op_set(1 << 26))));
        if (op_signs(strip.overflow))
            return block; /* c is as it was before the block */
        store_halves(c, &low, &high);
        block++;
        if (!more || (watched && op_signs(find_edges(&strip)) &&
                      is_block_outside(tile, limits, row, place, column, block)))
            return block;
    }
}
