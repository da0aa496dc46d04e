/* Fused runs and reductions of windows over vectors of one width. Parameters, undefined again at
 * the end:
 *   FUSED               name of the fused runs' function, an ulp_fused_fn
 *   FUSED_windows       that of the windows', an ulp_windows_fn
 *   FUSED_reduce        that of rows side by side, an ulp_reduce_fn
 *   ATTRIBUTE           target attribute of the instruction set
 *   REAL, BITS          float or double, and the unsigned integer of its size
 *   SIGN_BIT            its sign bit
 *   LANES               of a vector
 *   LOAD_PART(p, n)     the first n elements of a vector, 0 < n < LANES
 *   STORE_PART(p, n, x) the same, stored
 *   GREATER, LESSER     (u, w): primitives MAX and MIN of vectors; not defined: by comparisons
 * Instantiated by strip/fused.c. */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(FUSED, vector)
#define PLACED JOIN(FUSED, placed)
#define MASK JOIN(FUSED, mask)
#define VECTORS_MAX 8
#define INLINE static inline __attribute__((always_inline))

typedef REAL VECTOR __attribute__((vector_size(LANES * sizeof(REAL))));
typedef REAL PLACED
    __attribute__((vector_size(LANES * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
typedef BITS MASK __attribute__((vector_size(LANES * sizeof(REAL))));

#ifndef LOAD_PART
ATTRIBUTE INLINE VECTOR JOIN(FUSED, load_part)(const REAL *p, size_t n)
{
    VECTOR x = {0};
    memcpy(&x, p, n * sizeof *p);
    return x;
}
#define LOAD_PART(p, n) JOIN(FUSED, load_part)(p, n)
#define STORE_PART(p, n, x) memcpy(p, &(x), (n) * sizeof(REAL))
#endif

/* As greater_of and lesser_of in strip_template.h: two equal values differ in their bits only when
 * they are zeros. */
#ifndef GREATER
ATTRIBUTE INLINE VECTOR JOIN(FUSED, choose)(VECTOR u, VECTOR w, MASK first, MASK second, MASK equal)
{
    const MASK unordered = (MASK)(u != u) | (MASK)(w != w), x = (MASK)u, y = (MASK)w;
    const MASK ordered = (first & x) | (second & y) | (~(first | second) & equal);
    return (VECTOR)((unordered & (MASK)(u + w)) | (~unordered & ordered));
}
#define GREATER(u, w) \
    JOIN(FUSED, choose)(u, w, (MASK)((u) > (w)), (MASK)((u) < (w)), (MASK)(u) & (MASK)(w))
#define LESSER(u, w) \
    JOIN(FUSED, choose)(u, w, (MASK)((u) < (w)), (MASK)((u) > (w)), (MASK)(u) | (MASK)(w))
#endif

/* n: elements of the vector that exist. */
ATTRIBUTE INLINE VECTOR JOIN(FUSED, load)(const REAL *p, size_t n)
{
    if (n == LANES)
        return *(const PLACED *)p;
    return LOAD_PART(p, n);
}

#define EACH(EXPRESSION)                                                                      \
    {                                                                                         \
        _Pragma("GCC unroll 8") for (int v = 0; v < vector_count; v++)                        \
        {                                                                                     \
            const VECTOR u = x[v];                                                            \
            const VECTOR w =                                                                  \
                one ? all                                                                     \
                    : JOIN(FUSED, load)(p + v * LANES, v == vector_count - 1 ? last : LANES); \
            (void)w;                                                                          \
            x[v] = EXPRESSION;                                                                \
        }                                                                                     \
    }

/* One link on vector_count vectors, of the last of which `last` elements exist. p: the operand. */
ATTRIBUTE INLINE void JOIN(FUSED, link)(VECTOR *x, const int vector_count, size_t last,
                                        const struct ulp_fused_link *link, const REAL *p,
                                        const bool one)
{
    const VECTOR all = one ? *p - (VECTOR){0} : (VECTOR){0};
    switch (link->primitive) {
    case ULP_PRIMITIVE_NEG: EACH((VECTOR)((MASK)u ^ SIGN_BIT)) break;
    case ULP_PRIMITIVE_ABS: EACH((VECTOR)((MASK)u & ~SIGN_BIT)) break;
    case ULP_PRIMITIVE_ADD: EACH(u + w) break;
    case ULP_PRIMITIVE_MUL: EACH(u * w) break;
    case ULP_PRIMITIVE_MIN: EACH(LESSER(u, w)) break;
    case ULP_PRIMITIVE_MAX: EACH(GREATER(u, w)) break;
    case ULP_PRIMITIVE_SUB:
        if (link->reversed)
            EACH(w - u)
        else
            EACH(u - w)
        break;
    default:
        if (link->reversed)
            EACH(w / u)
        else
            EACH(u / w)
    }
}

/* Elements [at, ...) of a row, vector_count vectors of them. */
ATTRIBUTE INLINE void JOIN(FUSED, block)(REAL *out, const REAL *in,
                                         const struct ulp_fused_link *links, int link_count,
                                         size_t row, size_t at, const int vector_count, size_t last)
{
    static const REAL zero = 0;
    VECTOR x[VECTORS_MAX];
#pragma GCC unroll 8
    for (int v = 0; v < vector_count; v++)
        x[v] = JOIN(FUSED, load)(in + at + v * LANES, v == vector_count - 1 ? last : LANES);
    for (const struct ulp_fused_link *link = links; link < links + link_count; link++) {
        const REAL *operand =
            link->operand ? (const REAL *)link->operand + row * link->row_step : &zero;
        if (link->one || !link->operand)
            JOIN(FUSED, link)(x, vector_count, last, link, operand, true);
        else
            JOIN(FUSED, link)(x, vector_count, last, link, operand + at, false);
    }
    REAL *to = out + at;
#pragma GCC unroll 8
    for (int v = 0; v < vector_count - 1; v++)
        *(PLACED *)(to + v * LANES) = x[v];
    to += (vector_count - 1) * LANES;
    if (last == LANES)
        *(PLACED *)to = x[vector_count - 1];
    else
        STORE_PART(to, last, x[vector_count - 1]);
}

ATTRIBUTE static void FUSED(void *out, size_t out_step, const void *in, size_t in_step,
                            const struct ulp_fused_link *links, int link_count, size_t row_count,
                            size_t n)
{
    const REAL *from = in;
    REAL *to = out;
    for (size_t row = 0; row < row_count; row++, from += in_step, to += out_step) {
        size_t at = 0;
        for (; n - at >= VECTORS_MAX * LANES; at += VECTORS_MAX * LANES)
            JOIN(FUSED, block)(to, from, links, link_count, row, at, VECTORS_MAX, LANES);
        while (at < n) {
            const size_t rest = n - at, vectors = (rest + LANES - 1) / LANES,
                         count = vectors >= 4   ? 4
                                 : vectors >= 2 ? 2
                                                : 1;
            const size_t last = rest < count * LANES ? rest - (count - 1) * LANES : LANES;
            if (count == 4)
                JOIN(FUSED, block)(to, from, links, link_count, row, at, 4, last);
            else if (count == 2)
                JOIN(FUSED, block)(to, from, links, link_count, row, at, 2, last);
            else
                JOIN(FUSED, block)(to, from, links, link_count, row, at, 1, last);
            at += (count - 1) * LANES + last;
        }
    }
}

/* A vector of the elements at p, p + stride, ...; nothing behind the last is read. */
ATTRIBUTE INLINE VECTOR JOIN(FUSED, gather)(const REAL *p, size_t stride)
{
    if (stride == 1)
        return *(const PLACED *)p;
    VECTOR x = {0}; /* for a compiler that does not see that every lane is written */
    if (stride == 2) {
        const VECTOR low = *(const PLACED *)p, high = *(const PLACED *)(p + LANES - 1);
#ifndef __clang__
        MASK places = {0};
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            places[i] = (BITS)(i < LANES / 2 ? 2 * i : 2 * i + 1);
        return __builtin_shuffle(low, high, places);
#else /* clang makes a shuffle of the loop */
        for (int i = 0; i < LANES; i++)
            x[i] = i < LANES / 2 ? low[2 * i] : high[2 * i + 1 - LANES];
        return x;
#endif
    }
    for (size_t i = 0; i < LANES; i++)
        x[i] = p[i * stride];
    return x;
}

ATTRIBUTE INLINE VECTOR JOIN(FUSED, add)(enum ulp_reduction kind, VECTOR u, VECTOR w)
{
    if (kind == ULP_REDUCTION_MAX)
        return GREATER(u, w);
    if (kind == ULP_REDUCTION_MIN)
        return LESSER(u, w);
    return u + w;
}

/* vector_count vectors of windows from number `first` on, each waiting only for itself; no window
 * behind number n - 1 is read. */
ATTRIBUTE INLINE void JOIN(FUSED, reduction)(enum ulp_reduction kind, REAL *out, const REAL *in,
                                             const int64_t *offset, size_t offset_count,
                                             size_t stride, size_t first, size_t n,
                                             const int vector_count)
{
    VECTOR u[4];
    size_t at[4];
#pragma GCC unroll 4
    for (int v = 0; v < vector_count; v++) {
        at[v] = first + (size_t)v * LANES < n - LANES ? first + (size_t)v * LANES : n - LANES;
        u[v] = JOIN(FUSED, gather)(in + offset[0] + at[v] * stride, stride);
    }
    for (size_t t = 1; t < offset_count; t++)
#pragma GCC unroll 4
        for (int v = 0; v < vector_count; v++)
            u[v] = JOIN(FUSED, add)(kind, u[v],
                                    JOIN(FUSED, gather)(in + offset[t] + at[v] * stride, stride));
#pragma GCC unroll 4
    for (int v = 0; v < vector_count; v++)
        *(PLACED *)(out + at[v]) = u[v];
}

/* The last vector may begin inside the one before: its windows are then reduced twice. Fewer
 * windows than a vector has come element by element. */
ATTRIBUTE static void JOIN(FUSED, windows)(enum ulp_reduction kind, void *out, const void *in,
                                           const int64_t *offset, size_t offset_count,
                                           size_t stride, size_t n)
{
    const REAL *from = in;
    REAL *to = out;
    for (size_t done = 0, count; n >= LANES && done < n; done += count * LANES) {
        count = n - done > 3 * LANES ? 4 : 1;
        if (count == 4)
            JOIN(FUSED, reduction)(kind, to, from, offset, offset_count, stride, done, n, 4);
        else
            JOIN(FUSED, reduction)(kind, to, from, offset, offset_count, stride, done, n, 1);
    }
    if (n == 0 || n >= LANES)
        return;
    VECTOR u = {0};
    for (size_t t = 0; t < offset_count; t++) {
        VECTOR w = {0};
        if (n == 1 || stride == 1) /* as most at a border */
            w = LOAD_PART(from + offset[t], n);
        else
            for (size_t i = 0; i < n; i++)
                w[i] = from[offset[t] + (int64_t)(i * stride)];
        u = t ? JOIN(FUSED, add)(kind, u, w) : w;
    }
    STORE_PART(to, n, u);
}

ATTRIBUTE static void JOIN(FUSED, reduce)(enum ulp_reduction kind, void *sums, const void *in,
                                          size_t count, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        const size_t part = n - i < LANES ? n - i : LANES;
        const REAL *from = (const REAL *)in + i;
        REAL *to = (REAL *)sums + i;
        VECTOR u = JOIN(FUSED, load)(to, part);
        for (size_t r = 0; r < count; r++, from += n)
            u = JOIN(FUSED, add)(kind, u, JOIN(FUSED, load)(from, part));
        if (part == LANES)
            *(PLACED *)to = u;
        else
            STORE_PART(to, part, u);
    }
}

#undef JOIN
#undef JOIN_
#undef VECTOR
#undef PLACED
#undef MASK
#undef VECTORS_MAX
#undef INLINE
#undef EACH
#undef FUSED
#undef ATTRIBUTE
#undef REAL
#undef BITS
#undef SIGN_BIT
#undef LANES
#undef LOAD_PART
#undef STORE_PART
#undef GREATER
#undef LESSER
