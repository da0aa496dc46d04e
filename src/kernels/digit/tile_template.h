/* One tile kernel for every number of rows and vectors. Parameters, undefined at the end:
 *   SUFFIX           of the names made here
 *   TARGET           attribute of the functions, may be empty
 *   LANES            columns in a vector
 *   VECTOR, DIGIT    type of LANES digits or sums; of a digit in memory
 *   SPREAD(p)        the digit at p in all lanes; LOAD(p): LANES digits from p
 *   ADD_HIGH(s,a,b), ADD_LOW(s,a,b)    the sum with the product's upper or lower part added
 *   FLUSH(carries, sums, s)    adds s to LANES elements of sums and carries
 *   INSTANCES(F)     F(rows, vectors) for each wanted */
#define RUN_(suffix) run_##suffix
#define RUN(suffix) RUN_(suffix)
#define CARRY_(suffix) carry_##suffix
#define CARRY(suffix) CARRY_(suffix)
#define CARRY_VECTOR__(suffix) carry_vector_##suffix
#define CARRY_VECTOR_(suffix) CARRY_VECTOR__(suffix)
#define RUN_SIZE_(suffix, rows, vectors) run_##suffix##_r##rows##v##vectors
#define RUN_SIZE(suffix, rows, vectors) RUN_SIZE_(suffix, rows, vectors)

static inline __attribute__((always_inline)) TARGET void RUN(SUFFIX)(
    const size_t rows, const size_t vectors, int64_t *carries, int64_t *sums,
    const struct ulp_wide_term *terms, size_t term_count, size_t k_count)
{
    VECTOR sum[ULP_WIDE_ROWS_MAX][ULP_WIDE_VECTORS_MAX], b[ULP_WIDE_VECTORS_MAX];
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (size_t v = 0; v < vectors; v++)
            sum[r][v] = (VECTOR){0};
#define SUM_TERM(ADD)                                                                \
    for (size_t k = 0; k < k_count; k++, left += rows, right += vectors * LANES) {   \
        _Pragma("GCC unroll 3") for (size_t v = 0; v < vectors; v++) b[v] =          \
            LOAD(right + v * LANES);                                                 \
        _Pragma("GCC unroll 8") for (size_t r = 0; r < rows; r++)                    \
        {                                                                            \
            VECTOR a = SPREAD(left + r);                                             \
            _Pragma("GCC unroll 3") for (size_t v = 0; v < vectors; v++) sum[r][v] = \
                ADD(sum[r][v], a, b[v]);                                             \
        }                                                                            \
    }
    for (size_t t = 0; t < term_count; t++) {
        const DIGIT *left = terms[t].a, *right = terms[t].b;
        if (terms[t].high) {
            SUM_TERM(ADD_HIGH)
        } else {
            SUM_TERM(ADD_LOW)
        }
    }
#undef SUM_TERM
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (size_t v = 0; v < vectors; v++)
            FLUSH(carries + (r * vectors + v) * LANES, sums + (r * vectors + v) * LANES, sum[r][v]);
}

typedef int64_t CARRY_VECTOR_(SUFFIX) __attribute__((vector_size(8 * LANES)));

/* See struct ulp_wide_tile. A vector of columns at a time; the sums are carried from the last
 * position up and the digits gathered into limbs as they come. */
TARGET static void CARRY(SUFFIX)(uint64_t *limbs, const int64_t *sums, size_t position_stride,
                                 const int64_t *row, const int64_t *column, int positions,
                                 const uint8_t *gaps, size_t columns)
{
    for (size_t c = 0; c < columns; c += LANES) {
        CARRY_VECTOR_(SUFFIX) carry = {0}, gathered = {0}, x = {0};
        int have = 0;
        uint64_t *out = limbs + c;
        for (int p = positions; p >= 0; p--) {
            memcpy(&x, sums + (size_t)p * position_stride + c, sizeof x);
            x += carry;
            if (row) {
                CARRY_VECTOR_(SUFFIX) y;
                memcpy(&y, column + (size_t)p * columns + c, sizeof y);
                x += row[p] - y;
            }
            if (p == 0)
                break;
            const int bits = gaps[p - 1];
            carry = x >> bits;
            x &= ((int64_t)1 << bits) - 1;
            gathered |= x << have;
            have += bits;
            if (have >= 64) {
                memcpy(out, &gathered, sizeof gathered);
                out += columns;
                have -= 64;
                gathered = have ? x >> (bits - have) : x & 0;
            }
        }
        gathered |= x << have;
        memcpy(out, &gathered, sizeof gathered);
        gathered = have ? x >> (64 - have) : x >> 63;
        memcpy(out + columns, &gathered, sizeof gathered);
    }
}

#define INSTANCE(rows, vectors)                                                           \
    TARGET static void RUN_SIZE(SUFFIX, rows, vectors)(int64_t * carries, int64_t * sums, \
                                                       const struct ulp_wide_term *terms, \
                                                       size_t term_count, size_t k_count) \
    {                                                                                     \
        RUN(SUFFIX)(rows, vectors, carries, sums, terms, term_count, k_count);            \
    }
INSTANCES(INSTANCE)
#undef INSTANCE
#undef INSTANCES
#undef RUN_
#undef RUN
#undef CARRY_
#undef CARRY
#undef CARRY_VECTOR__
#undef CARRY_VECTOR_
#undef RUN_SIZE_
#undef RUN_SIZE
#undef SUFFIX
#undef TARGET
#undef LANES
#undef VECTOR
#undef DIGIT
#undef SPREAD
#undef LOAD
#undef ADD_HIGH
#undef ADD_LOW
#undef FLUSH
