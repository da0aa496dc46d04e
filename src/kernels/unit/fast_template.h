/* Chains of a tile in vectors of W lanes, two of which are columns that share a vector of
 * exponents. Included by base/machine/each_cpu_template.h. */
#define W (VECTOR_BITS / 32)
#define INLINE ATTRIBUTES static inline __attribute__((always_inline))
#define floats NAMED(floats)
#define ints NAMED(ints)
#define words NAMED(words)
#define shorts NAMED(shorts)

typedef float floats __attribute__((vector_size(4 * W)));
typedef int32_t ints __attribute__((vector_size(4 * W)));
typedef uint32_t words __attribute__((vector_size(4 * W))); /* sums may leave int32 */
typedef int16_t shorts __attribute__((vector_size(4 * W)));
typedef int16_t NAMED(half_shorts) __attribute__((vector_size(2 * W)));

/* What a block needs of W columns. */
struct NAMED(lanes) {
    floats up, down; /* 2^(F - e), 2^(e - F) */
    ints sum;
};

INLINE ints NAMED(choose)(ints set, ints x, ints y)
{
    return (x & set) | (y & ~set);
}

INLINE ints NAMED(larger)(ints x, ints y)
{
    return NAMED(choose)(x > y, x, y);
}

/* Compilers make a comparison and a choice of this, which takes five times as long to wait for. */
INLINE shorts NAMED(larger_shorts)(shorts x, shorts y)
{
#if VECTOR_BITS == 512
    return (shorts)_mm512_max_epi16((__m512i)x, (__m512i)y);
#elif VECTOR_BITS == 256
    return (shorts)_mm256_max_epi16((__m256i)x, (__m256i)y);
#else
    const shorts more = x > y;
    return (x & more) | (y & ~more);
#endif
}

INLINE ints NAMED(truncate)(floats x)
{
    return __builtin_convertvector(x, ints);
}

/* The sum truncated to 24 bits. Clearing the half bit (and some below it) makes rounding to nearest
 * truncate; the leading bit, when it is bit 24 or above, is what finds the half bit. */
INLINE floats NAMED(truncate_sum)(ints sum)
{
    const words sign = (words)(sum >> 31), magnitude = ((words)sum ^ sign) - sign;
    const floats x = __builtin_convertvector((ints)(magnitude & ~(magnitude >> 24)), floats);
    return (floats)(((ints)x & INT32_MAX) | (sum & INT32_MIN));
}

/* To FP16, nearest even, by adding 1.5 * 2^(13 + Exp(x)), whose last bit is worth 2^(Exp(x) -
 * 10); zero is +0. */
INLINE floats NAMED(round_to_half)(floats x)
{
    const ints field = (ints)x >> 23 & 255, least = (ints){0} + 113;
    const floats magic = (floats)(((NAMED(larger)(field, least) + 13) << 23) | 0x400000),
                 magnitude = (floats)((ints)x & INT32_MAX), rounded = magnitude + magic - magic;
    const ints infinity = (ints)((floats){0} + INFINITY),
               size = NAMED(choose)(magnitude < 65520.0F, (ints)rounded, infinity);
    return (floats)(size | ((ints)x & INT32_MIN)) + 0.0F;
}

/* top: the largest exponents of the products. c's truncated term begins the sum. */
INLINE void NAMED(start_block)(struct NAMED(lanes) * lanes, ints *bad,
                               const struct ulp_unit_limits *limits, ints top, floats c)
{
    const ints magnitude = (ints)c & INT32_MAX, none = {0},
               field = NAMED(larger)(magnitude >> 23, none + limits->c_field),
               c_e = NAMED(choose)(magnitude == 0, none + ULP_UNIT_ZERO, field - 127),
               raw = NAMED(larger)(top, c_e), e = NAMED(larger)(raw, none + limits->lowest);
    *bad |= ((raw > ULP_UNIT_NO_TERM) & (raw < limits->low)) | (raw > limits->high);
    lanes->up = (floats)((127 + limits->fraction_bits - e) << 23);
    lanes->down = (floats)((127 - limits->fraction_bits + e) << 23);
    lanes->sum = NAMED(truncate)(c * lanes->up);
}

/* sum * 2^(e - F) converted. */
INLINE floats NAMED(finish_block)(const struct NAMED(lanes) * lanes, enum ulp_unit_output output)
{
    const floats x = NAMED(truncate_sum)(lanes->sum);
    if (output == ULP_UNIT_RZ_FP32)
        return x * lanes->down;
    if (output == ULP_UNIT_RZ_E8M13)
        return (floats)((ints)x & (int32_t)0xFFFFFC00) * lanes->down;
    /* rounded to odd at 24 bits first, so that rounding to 11 rounds once */
    const ints odd = (NAMED(truncate)(x) != lanes->sum) & 1;
    return NAMED(round_to_half)((floats)((ints)x | odd) * lanes->down);
}

/* What the rows of a strip multiply in a block: `rows` <= ROWS of them, and 2 W columns. rows and
 * `length`, the block's, are constants after inlining. */
struct NAMED(strip) {
    const float *a, *b;
    const int16_t *a_exponent, *b_exponent;
    size_t stride; /* between rows */
};

/* The largest exponents of products, half by half. */
INLINE void NAMED(find_tops)(NAMED(half_shorts) (*tops)[2], const struct NAMED(strip) * strip,
                             const size_t rows, const size_t length)
{
    shorts top[ROWS];
#pragma GCC unroll 2
    for (size_t r = 0; r < rows; r++)
        top[r] = (shorts){0} + ULP_UNIT_NONE;
#pragma GCC unroll 32
    for (size_t s = 0; s < length; s++) {
        shorts e;
        memcpy(&e, strip->b_exponent + s * COLUMNS, sizeof e);
#pragma GCC unroll 2
        for (size_t r = 0; r < rows; r++)
            top[r] = NAMED(larger_shorts)(top[r], e + strip->a_exponent[r * strip->stride + s]);
    }
    memcpy(tops, top, rows * sizeof *top);
}

/* The terms of one half onto sums; a sign of *bad: one left int32. */
INLINE void NAMED(add_terms)(struct NAMED(lanes) * lanes, ints *bad,
                             const struct NAMED(strip) * strip, const size_t rows, int half,
                             const size_t length)
{
    for (size_t first = 0; first < length; first += TERMS) {
        const size_t last = length < first + TERMS ? length : first + TERMS;
        words part[ROWS] = {{0}};
#pragma GCC unroll 16
        for (size_t s = first; s < last; s++) {
            floats y;
            memcpy(&y, strip->b + s * COLUMNS + half * W, sizeof y);
#pragma GCC unroll 2
            for (size_t r = 0; r < rows; r++)
                part[r] +=
                    (words)NAMED(truncate)(strip->a[r * strip->stride + s] * y * lanes[r].up);
        }
#pragma GCC unroll 2
        for (size_t r = 0; r < rows; r++) {
            const words sum = (words)lanes[r].sum, all = sum + part[r];
            *bad |= (ints)((sum ^ all) & (part[r] ^ all));
            lanes[r].sum = (ints)all;
        }
    }
}

/* The chains of the tile's blocks onto sums. Lanes of which some row's is outside of the limits, as
 * one that is not finite always is, and those of the other half beside them, which may be inside.
 */
INLINE uint32_t NAMED(run_columns)(const struct ulp_unit_tile *tile, size_t row, const size_t rows,
                                   size_t column, const size_t length, float (*sums)[COLUMNS])
{
    const struct ulp_unit_layout *layout = tile->layout;
    const struct ulp_unit_limits limits = layout->limits;
    floats sum[ROWS][2];
    ints bad = {0};
    for (size_t r = 0; r < rows; r++)
        memcpy(sum[r], sums[r] + column, sizeof sum[r]);
    for (size_t block = tile->block_first; block < tile->block_last; block++) {
        const size_t a = row * layout->slot_stride + block * length,
                     b = block * length * COLUMNS + column;
        const struct NAMED(strip)
            strip = {tile->rows.value + a, tile->panel.value + b, tile->rows.exponent + a,
                     tile->panel.exponent + b, layout->slot_stride};
        NAMED(half_shorts) tops[ROWS][2];
        NAMED(find_tops)(tops, &strip, rows, length);
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
            struct NAMED(lanes) lanes[ROWS];
#pragma GCC unroll 2
            for (size_t r = 0; r < rows; r++) {
                const ints top = __builtin_convertvector(tops[r][half], ints);
                NAMED(start_block)(&lanes[r], &bad, &limits, top, sum[r][half]);
            }
            NAMED(add_terms)(lanes, &bad, &strip, rows, half, length);
#pragma GCC unroll 2
            for (size_t r = 0; r < rows; r++)
                sum[r][half] = NAMED(finish_block)(&lanes[r], layout->unit.output);
        }
    }
    int32_t signs = 0;
    uint32_t outside = 0;
    for (size_t r = 0; r < rows; r++)
        memcpy(sums[r] + column, sum[r], sizeof sum[r]);
    for (int lane = 0; lane < W; lane++)
        signs |= bad[lane];
    for (int lane = 0; lane < W && signs < 0; lane++)
        outside |= (uint32_t)(bad[lane] < 0) << lane;
    return (outside | outside << W) << column;
}

/* A row by its own, block by block: after each, lanes outside of the limits get the oracle's sum,
 * and those that NaN or Inf decides what these make. */
ATTRIBUTES static void NAMED(run_row)(const struct ulp_unit_tile *tile, size_t row)
{
    const size_t length = (size_t)tile->layout->unit.block;
    float *c = tile->c + row * COLUMNS;
    struct lost lost = read_lost(c); /* all that are not finite, unless the last sum overflowed */
    struct ulp_unit_tile one = *tile;
    for (size_t block = tile->block_first; block < tile->block_last; block++) {
        float after[1][COLUMNS];
        uint32_t slow = 0;
        one.block_first = block;
        one.block_last = block + 1;
        if (is_special(&one, row)) {
            lost = lose_lanes(read_lost(c), tile, row, block * length, length);
            write_lost(c, lost);
        }
        if (lost.nan == UINT32_MAX)
            break;
        memcpy(after, c, sizeof after);
        for (size_t column = 0; column < COLUMNS; column += 2 * W)
            slow |= NAMED(run_columns)(&one, row, 1, column, length, after);
        write_lost(after[0], lost);
        slow &= ~lost_lanes(lost);
        if (slow) {
            sum_lanes_by_oracle(tile, row, block, slow, c, after[0]);
            lost = read_lost(after[0]);
        }
        memcpy(c, after, sizeof after);
    }
}

INLINE void NAMED(run_rows)(const struct ulp_unit_tile *tile, size_t row, const size_t rows,
                            const size_t length)
{
    float sums[ROWS][COLUMNS];
    bool fast = true;
    for (size_t r = 0; r < rows; r++)
        fast &= !is_special(tile, row + r);
    memcpy(sums, tile->c + row * COLUMNS, rows * sizeof *sums);
    for (size_t column = 0; column < COLUMNS && fast; column += 2 * W)
        fast = !NAMED(run_columns)(tile, row, rows, column, length, sums);
    if (fast)
        memcpy(tile->c + row * COLUMNS, sums, rows * sizeof *sums);
    for (size_t r = 0; r < rows && !fast; r++)
        NAMED(run_row)(tile, row + r);
}

INLINE void NAMED(run_blocks)(const struct ulp_unit_tile *tile, const size_t length)
{
    size_t row = 0;
    for (; row + ROWS <= tile->row_count; row += ROWS)
        NAMED(run_rows)(tile, row, ROWS, length);
    for (; row < tile->row_count; row++)
        NAMED(run_rows)(tile, row, 1, length);
}

ATTRIBUTES static void NAMED(run_tile)(const struct ulp_unit_tile *tile)
{
    if (tile->fresh)
        memset(tile->c, 0, tile->row_count * COLUMNS * sizeof *tile->c);
    switch (tile->layout->unit.block) {
    case 4: NAMED(run_blocks)(tile, 4); break;
    case 8: NAMED(run_blocks)(tile, 8); break;
    case 16: NAMED(run_blocks)(tile, 16); break;
    case 32: NAMED(run_blocks)(tile, 32); break;
    default:
        for (size_t row = 0; row < tile->row_count; row++)
            NAMED(run_row)(tile, row);
    }
}

ATTRIBUTES ULP_VECTORISE static bool NAMED(find_exponents)(int16_t *restrict exponent,
                                                           const float *restrict x, size_t count,
                                                           int emin)
{
    int32_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        const int32_t magnitude = (int32_t)(ulp_float_bits(x[i]) & 0x7FFFFFFF),
                      own = (magnitude >> 23) - 127, e = own > emin ? own : emin;
        largest = magnitude > largest ? magnitude : largest;
        exponent[i] = (int16_t)(magnitude == 0 ? ULP_UNIT_ZERO : e);
    }
    return largest < 0x7F800000;
}

static const struct ulp_unit_instance NAMED(instance) = {NAMED(run_tile), NAMED(find_exponents)};

#undef W
#undef INLINE
#undef floats
#undef ints
#undef words
#undef shorts
