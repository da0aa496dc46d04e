/* Tiles of stochastic rounding for one instruction set: the steps of ROUNDED, whose random numbers
 * (base/random.h) are formed beside the values that they round. Parameters, undefined again at the
 * end:
 *   NAME(kind)   of a function: joins kind and the instruction set
 *   TILE_ATTRIBUTE, TILE_VECTOR, TILE_LANES  as ATTRIBUTE, ... of tile_template.h
 *   TILE_BITS    TILE_LANES uint64_t (vector_size attribute)
 *   COUNTERS     what a vector's counters have beside its first: pairs unpack in order
 *   MULTIPLY(x, y)                        products of the lower halves of lanes
 *   SHIFT_LEFT(x, n), SHIFT_RIGHT(x, n)   by each lane's own n, 0 from 64 on
 *   MAX_SHIFT(x, y)                       the larger of int64_t that fit int32_t
 *   OUTSIDE(x, least, most)               is a lane neither 0 nor in [least, most]?
 *   UNIFORM(words)                        words / 2^64 without the last 11 bits, as doubles
 *   UNPACK_LOW(x, y), UNPACK_HIGH(x, y)   pairs of x's and y's doubles, of each 128 bits
 *   ROUNDER, MAKE, ROUND, ADD_ODD         as in rounded_tiles_template.h
 * Instantiated by tile_rounded.c.
 *
 * A magnitude's last `cut` bits F are below the format's ulp there. It goes up where the number U
 * of 53 bits has U / 2^53 < F / 2^cut; with cut <= 53 that is where U's first cut bits are less
 * than F, so where F and the complement of these bits carry into the bits above. Magnitudes below
 * the least of the format, of which cut would be more, and beyond the largest are rounded as ROUND
 * does. */

/* The words of TILE_LANES counters from `low` on, in lower halves of lanes. */
TILE_ATTRIBUTE static inline __attribute__((always_inline)) void NAME(draw_words)(
    TILE_BITS c[4], const struct draw_keys *keys, uint64_t low, uint64_t stream)
{
    const TILE_BITS m0 = (TILE_BITS){0} + ULP_PHILOX_MULTIPLIER0,
                    m1 = (TILE_BITS){0} + ULP_PHILOX_MULTIPLIER1;
    c[0] = (TILE_BITS)COUNTERS + low;
    c[1] = c[0] >> 32;
    c[2] = (TILE_BITS){0} + stream;
    c[3] = c[2] >> 32;
#pragma GCC unroll 10
    for (int round = 0; round < ULP_PHILOX_ROUNDS; round++) {
        const TILE_BITS a = MULTIPLY(c[0], m0), b = MULTIPLY(c[2], m1);
        c[0] = (b >> 32) ^ c[1] ^ keys->low[round];
        c[1] = b;
        c[2] = (a >> 32) ^ c[3] ^ keys->high[round];
        c[3] = a;
    }
}

/* The upper 64 bits that 2 TILE_LANES outputs from `first` on draw. A counter has those of an even
 * output and the next. */
TILE_ATTRIBUTE static inline __attribute__((always_inline)) void NAME(draw)(
    TILE_BITS words[2], const struct draw_keys *keys, uint64_t first, uint64_t stream)
{
    TILE_BITS c[4];
    NAME(draw_words)(c, keys, first / 2, stream);
    TILE_BITS x = c[0] << 32 | (c[1] & UINT32_MAX), y = c[2] << 32 | (c[3] & UINT32_MAX);
    if (first % 2) {
        NAME(draw_words)(c, keys, first / 2 + 1, stream);
        x = y;
        y = c[0] << 32 | (c[1] & UINT32_MAX);
    }
    words[0] = (TILE_BITS)UNPACK_LOW((TILE_VECTOR)x, (TILE_VECTOR)y);
    words[1] = (TILE_BITS)UNPACK_HIGH((TILE_VECTOR)x, (TILE_VECTOR)y);
}

struct NAME(drawn) {
    /* bits below the ulp of normal numbers; of magnitudes with an exponent field: edge less it */
    TILE_BITS cut, edge;
    TILE_BITS least, most; /* magnitudes that round inside the format */
    ROUNDER rounder;
};

TILE_ATTRIBUTE static struct NAME(drawn) NAME(make_drawn)(const struct ulp_format *format)
{
    const int cut = 53 - format->precision,
              least = format->subnormals ? format->emin - format->precision + 1 : format->emin;
    const TILE_BITS zeros = {0};
    return (struct NAME(drawn)){.cut = zeros + (uint64_t)cut,
                                .edge = zeros + (uint64_t)(cut + format->emin + 1023),
                                .least = (TILE_BITS)((TILE_VECTOR){0} + ldexp(1, least)),
                                .most = (TILE_BITS)((TILE_VECTOR){0} + format->max_finite),
                                .rounder = MAKE(format, ULP_ROUND_STOCHASTIC)};
}

TILE_ATTRIBUTE static __attribute__((noinline, cold)) void NAME(round_edge)(
    TILE_VECTOR *x, const struct NAME(drawn) * drawn, const TILE_BITS *words)
{
    const TILE_VECTOR uniform = UNIFORM(*words);
    *x = ROUND(&drawn->rounder, *x, false, &uniform);
}

TILE_ATTRIBUTE static inline __attribute__((always_inline)) TILE_VECTOR NAME(round_drawn)(
    const struct NAME(drawn) * drawn, TILE_VECTOR x, TILE_BITS words)
{
    const TILE_BITS sign = (TILE_BITS)x & (uint64_t)1 << 63, magnitude = (TILE_BITS)x ^ sign;
    if (OUTSIDE(magnitude, drawn->least, drawn->most)) {
        TILE_VECTOR edge = x;
        NAME(round_edge)(&edge, drawn, &words);
        return edge;
    }
    const TILE_BITS cut = MAX_SHIFT(drawn->edge - (magnitude >> 52), drawn->cut);
    const TILE_BITS up = magnitude + SHIFT_RIGHT(~words, 64 - cut);
    return (TILE_VECTOR)((up & SHIFT_LEFT(~(TILE_BITS){0}, cut)) | sign);
}

TILE_ATTRIBUTE static void NAME(run_drawn)(const struct ulp_step_rule *rule, double *sums,
                                           const double *rows, const double *columns,
                                           size_t k_count, struct ulp_tile_place place,
                                           size_t row_count)
{
    const struct draw_keys keys = make_draw_keys(rule->seed);
    const struct NAME(drawn) p = NAME(make_drawn)(&rule->product), r = NAME(make_drawn)(&rule->sum);
    const bool rounds = !rule->fused && !rule->exact_products,
               exact = rounds && adds_exactly(&rule->product, &rule->sum);
    uint64_t stream = rule->stream + place.k * ULP_DRAWS;
    for (size_t k = 0; k < k_count; k++, columns += 2 * TILE_LANES, stream += ULP_DRAWS) {
        /* all rows' numbers first, whose rounds depend on nothing but each other */
        TILE_BITS words[2][DRAWN_ROWS][2];
        for (size_t i = 0; i < row_count; i++) {
            const uint64_t first = place.output + i * place.row_pitch;
            if (rounds)
                NAME(draw)(words[0][i], &keys, first, stream + ULP_DRAW_PRODUCT);
            NAME(draw)(words[1][i], &keys, first, stream + ULP_DRAW_SUM);
        }
        for (size_t i = 0; i < row_count; i++) {
            const TILE_VECTOR a = *rows++ - (TILE_VECTOR){0};
            for (int v = 0; v < 2; v++) {
                TILE_VECTOR *const s = (TILE_VECTOR *)(sums + (2 * i + (size_t)v) * TILE_LANES);
                TILE_VECTOR product = a * *(const TILE_VECTOR *)(columns + v * TILE_LANES);
                if (rounds)
                    product = NAME(round_drawn)(&p, product, words[0][i][v]);
                TILE_VECTOR sum = *s + product;
                if (!exact)
                    sum = ADD_ODD(*s, product);
                *s = NAME(round_drawn)(&r, sum, words[1][i][v]);
            }
        }
    }
}

TILE_ATTRIBUTE static void NAME(drawn_1)(const struct ulp_step_rule *rule, void *sums,
                                         const void *rows, const void *columns, size_t k_count,
                                         struct ulp_tile_place place)
{
    NAME(run_drawn)(rule, sums, rows, columns, k_count, place, 1);
}
TILE_ATTRIBUTE static void NAME(drawn_4)(const struct ulp_step_rule *rule, void *sums,
                                         const void *rows, const void *columns, size_t k_count,
                                         struct ulp_tile_place place)
{
    NAME(run_drawn)(rule, sums, rows, columns, k_count, place, DRAWN_ROWS);
}

#undef TILE_BITS
#undef COUNTERS
#undef MULTIPLY
#undef SHIFT_LEFT
#undef SHIFT_RIGHT
#undef MAX_SHIFT
#undef OUTSIDE
#undef UNIFORM
#undef UNPACK_LOW
#undef UNPACK_HIGH
