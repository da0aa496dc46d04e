/* Tiles of stochastic rounding for one instruction set: the steps of ROUNDED, whose random numbers
 * (base/random.h) are formed beside the values that they round. Parameters, undefined again at the
 * end:
 *   NAME(kind)   of a function: joins kind and the instruction set
 *   TILE_ATTRIBUTE, TILE_VECTOR, TILE_LANES  as ATTRIBUTE, ... of tile_template.h
 *   TILE_BITS    TILE_LANES uint64_t (vector_size attribute)
 *   COUNTERS     what a vector's counters have beside its first: in the order of pairs unpacked
 *   MULTIPLY(x, y)                        products of the lower halves of lanes
 *   ABOVE(x, y, most)                     is a lane of x or y above? As int64_t
 *   BELOW(x, least)                       is a lane neither 0 nor at least that? As int64_t
 *   UNIFORM(words)                        words / 2^64 without the last 11 bits, as doubles
 *   UNPACK_LOW(x, y), UNPACK_HIGH(x, y)   pairs of x's and y's doubles, of each 128 bits
 *   ROUNDER, MAKE, ROUND, ADD_ODD         as in rounded_tiles_template.h
 * Instantiated by tile_rounded.c.
 *
 * A counter has the numbers of an even output and the next. So columns and sums are taken apart
 * into even and odd ones where they are read, which serves all rows and both numbers of a step.
 *
 * A magnitude's last `cut` bits F are below the format's ulp there. It goes up where the number U
 * of 53 bits has U / 2^53 < F / 2^cut; that is where U's first cut bits are less than F, so where F
 * and the complement of these bits carry into the bits above. All normal numbers have the same cut;
 * see enum drawn_below for the others. Magnitudes beyond the largest are rounded as ROUND does. */

/* A vector of counters after two of Philox's rounds, without what the lower half of the stream has
 * to do with them. */
struct NAME(counted) {
    TILE_BITS word[3], upper; /* words 0, 1, 2; the counters' upper halves */
};

TILE_ATTRIBUTE static void NAME(count)(struct NAME(counted) * counted, const struct draw_keys *keys,
                                       uint64_t low, uint64_t stream)
{
    const TILE_BITS counter = (TILE_BITS)COUNTERS + low;
    const TILE_BITS a = MULTIPLY(counter, (TILE_BITS){0} + ULP_PHILOX_MULTIPLIER0),
                    b = MULTIPLY((a >> 32) ^ (stream >> 32) ^ keys->high[0],
                                 (TILE_BITS){0} + ULP_PHILOX_MULTIPLIER1);
    *counted =
        (struct NAME(counted)){{(b >> 32) ^ keys->low[1], b, a ^ keys->high[1]}, counter >> 32};
}

/* The complements of the 64 bits that even and odd outputs of `count` vectors of counters draw: two
 * are computed while the other's products wait. carries: a counter's upper half is not 0. */
TILE_ATTRIBUTE static inline __attribute__((always_inline)) void NAME(draw)(
    TILE_BITS *words, const struct draw_keys *keys, const struct NAME(counted) * counted,
    const int count, uint64_t stream, bool carries)
{
    const TILE_BITS m0 = (TILE_BITS){0} + ULP_PHILOX_MULTIPLIER0,
                    m1 = (TILE_BITS){0} + ULP_PHILOX_MULTIPLIER1;
    const uint64_t first = (uint32_t)stream * ULP_PHILOX_MULTIPLIER1,
                   second = first >> 32 ^ keys->low[0];
    TILE_BITS c[2][4];
#pragma GCC unroll 2
    for (int i = 0; i < count; i++) {
        c[i][3] = (TILE_BITS){0} + second * ULP_PHILOX_MULTIPLIER0;
        if (carries)
            c[i][3] = MULTIPLY(counted[i].upper ^ second, m0);
        c[i][0] = counted[i].word[0] ^ (uint32_t)first;
        c[i][1] = counted[i].word[1];
        c[i][2] = counted[i].word[2] ^ c[i][3] >> 32;
    }
#pragma GCC unroll 10
    for (int round = 2; round < ULP_PHILOX_ROUNDS - 1; round++)
#pragma GCC unroll 2
        for (int i = 0; i < count; i++) {
            const TILE_BITS a = MULTIPLY(c[i][0], m0), b = MULTIPLY(c[i][2], m1);
            c[i][0] = (b >> 32) ^ c[i][1] ^ keys->low[round];
            c[i][1] = b;
            c[i][2] = (a >> 32) ^ c[i][3] ^ keys->high[round];
            c[i][3] = a;
        }
#pragma GCC unroll 2
    for (int i = 0; i < count; i++) {
        words[2 * i] = MULTIPLY(c[i][2], m1) ^ c[i][1] << 32 ^ keys->last_low;
        words[2 * i + 1] = MULTIPLY(c[i][0], m0) ^ c[i][3] << 32 ^ keys->last_high;
    }
}

struct NAME(drawn) {
    enum drawn_below below;
    TILE_BITS shift, kept; /* where numbers lose all but the cut's bits; bits above the cut */
    TILE_BITS most;        /* the largest magnitude */
    TILE_VECTOR smallest;  /* normal number */
    ROUNDER rounder;
};

TILE_ATTRIBUTE static struct NAME(drawn)
    NAME(make_drawn)(const struct ulp_format *format, int lowest)
{
    const TILE_BITS zeros = {0};
    const int cut = 53 - format->precision;
    return (struct NAME(drawn)){.below = find_below(format, lowest),
                                .shift = zeros + (uint64_t)(64 - cut),
                                .kept = zeros + (~UINT64_C(0) << cut),
                                .most = (TILE_BITS)((TILE_VECTOR){0} + format->max_finite),
                                .smallest = (TILE_VECTOR){0} + ldexp(1, format->emin),
                                .rounder = MAKE(format, ULP_ROUND_STOCHASTIC)};
}

TILE_ATTRIBUTE static __attribute__((noinline, cold)) void NAME(round_edge)(
    TILE_VECTOR x[2], const struct NAME(drawn) * drawn, const TILE_BITS words[2])
{
    for (int v = 0; v < 2; v++) {
        const TILE_VECTOR uniform = UNIFORM(~words[v]);
        x[v] = ROUND(&drawn->rounder, x[v], false, &uniform);
    }
}

/* words: their complements. */
TILE_ATTRIBUTE static inline __attribute__((always_inline)) void NAME(round_drawn)(
    TILE_VECTOR x[2], const struct NAME(drawn) * drawn, const TILE_BITS words[2])
{
    const uint64_t sign = (uint64_t)1 << 63;
    const TILE_BITS m[2] = {(TILE_BITS)x[0] & ~sign, (TILE_BITS)x[1] & ~sign};
    if (ABOVE(m[0], m[1], drawn->most) ||
        (drawn->below == DRAWN_RARE &&
         (BELOW(m[0], drawn->smallest) || BELOW(m[1], drawn->smallest)))) {
        TILE_VECTOR edge[2] = {x[0], x[1]};
        NAME(round_edge)(edge, drawn, words);
        x[0] = edge[0];
        x[1] = edge[1];
        return;
    }
#pragma GCC unroll 2
    for (int v = 0; v < 2; v++) {
        const TILE_BITS up = words[v] >> drawn->shift;
        const TILE_BITS below = (TILE_BITS)((TILE_VECTOR)m[v] < drawn->smallest);
        if (drawn->below == DRAWN_LIFTED) {
            const TILE_VECTOR lift = (TILE_VECTOR)(below & (TILE_BITS)drawn->smallest);
            const TILE_BITS y = (TILE_BITS)((TILE_VECTOR)m[v] + lift) + up;
            x[v] = (TILE_VECTOR)((TILE_BITS)((TILE_VECTOR)(y & drawn->kept) - lift) |
                                 ((TILE_BITS)x[v] & sign));
        } else {
            const TILE_BITS y = ((TILE_BITS)x[v] + up) & drawn->kept;
            const TILE_BITS kept = drawn->below == DRAWN_KEPT ? below : (TILE_BITS){0};
            x[v] = (TILE_VECTOR)((kept & (TILE_BITS)x[v]) | (~kept & y));
        }
    }
}

/* The even and the odd ones of 2 TILE_LANES. */
TILE_ATTRIBUTE static inline void NAME(take_apart)(TILE_VECTOR out[2], const double *x)
{
    const TILE_VECTOR low = *(const TILE_VECTOR *)x, high = *(const TILE_VECTOR *)(x + TILE_LANES);
    out[0] = UNPACK_LOW(low, high);
    out[1] = UNPACK_HIGH(low, high);
}

TILE_ATTRIBUTE static void NAME(run_drawn)(const struct ulp_step_rule *rule, double *sums,
                                           const double *rows, const double *columns,
                                           size_t k_count, struct ulp_tile_place place,
                                           size_t row_count)
{
    const struct draw_keys keys = make_draw_keys(rule->seed);
    const bool rounds = !rule->fused && !rule->exact_products,
               exact = rounds && adds_exactly(&rule->product, &rule->sum);
    const int products = 2 * ulp_format_lowest_bit(&rule->factor);
    const struct NAME(drawn)
        p = NAME(make_drawn)(&rule->product, products),
        r = NAME(make_drawn)(&rule->sum, rounds ? ulp_format_lowest_bit(&rule->product) : products);
    struct NAME(counted) counted[2 * DRAWN_ROWS];
    size_t at[DRAWN_ROWS], vectors = 0; /* of a row's first words; vectors of counters */
    TILE_VECTOR s[DRAWN_ROWS][2];
    uint64_t low[2 * DRAWN_ROWS], upper = 0;
    for (size_t i = 0; i < row_count; i++) {
        const uint64_t output = place.output + i * place.row_pitch;
        at[i] = 2 * vectors + output % 2;
        low[vectors++] = output / 2;
        if (output % 2)
            low[vectors++] = output / 2 + 1;
        upper |= (output / 2 + TILE_LANES) >> 32;
        NAME(take_apart)(s[i], sums + 2 * i * TILE_LANES);
    }
    uint64_t stream = rule->stream + place.k * ULP_DRAWS, half = UINT64_MAX; /* that is counted */
    for (size_t k = 0; k < k_count; k++, columns += 2 * TILE_LANES, stream += ULP_DRAWS) {
        TILE_BITS words[2][4 * DRAWN_ROWS];
        TILE_VECTOR b[2];
        NAME(take_apart)(b, columns);
        for (int draw = rounds ? ULP_DRAW_PRODUCT : ULP_DRAW_SUM; draw <= ULP_DRAW_SUM; draw++) {
            const uint64_t number = stream + (uint64_t)draw;
            for (size_t i = 0; number >> 32 != half && i < vectors; i++)
                NAME(count)(&counted[i], &keys, low[i], number);
            half = number >> 32;
            size_t i = 0;
            for (; i + 1 < vectors; i += 2)
                NAME(draw)(words[draw] + 2 * i, &keys, counted + i, 2, number, upper != 0);
            if (i < vectors)
                NAME(draw)(words[draw] + 2 * i, &keys, counted + i, 1, number, upper != 0);
        }
        for (size_t i = 0; i < row_count; i++) {
            const TILE_VECTOR a = *rows++ - (TILE_VECTOR){0};
            TILE_VECTOR product[2] = {a * b[0], a * b[1]};
            if (rounds)
                NAME(round_drawn)(product, &p, words[ULP_DRAW_PRODUCT] + at[i]);
            for (int v = 0; v < 2; v++)
                if (exact)
                    s[i][v] += product[v];
                else
                    s[i][v] = ADD_ODD(s[i][v], product[v]);
            NAME(round_drawn)(s[i], &r, words[ULP_DRAW_SUM] + at[i]);
        }
    }
    for (size_t i = 0; i < row_count; i++) {
        TILE_VECTOR *const to = (TILE_VECTOR *)(sums + 2 * i * TILE_LANES);
        to[0] = UNPACK_LOW(s[i][0], s[i][1]);
        to[1] = UNPACK_HIGH(s[i][0], s[i][1]);
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
#undef ABOVE
#undef BELOW
#undef UNIFORM
#undef UNPACK_LOW
#undef UNPACK_HIGH
