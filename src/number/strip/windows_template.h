/* Reductions of windows over vectors of one width. Parameters, undefined again at the end:
 *   FAMILY              of the names: FAMILY_windows is an ulp_windows_fn, of rows side by side
 *                       FAMILY_reduce an ulp_reduce_fn
 *   ATTRIBUTE           target attribute of the instruction set
 *   REAL, BITS          float or double, and the unsigned integer of its size
 *   SIGN_BIT            its sign bit
 *   LANES               of a vector
 *   LOAD_PART(p, n)     the first n elements of a vector, 0 < n < LANES
 *   STORE_PART(p, n, x) the same, stored
 *   GREATER, LESSER     (u, w): primitives MAX and MIN of vectors; not defined: by comparisons
 * Instantiated by strip/windows.c. */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(FAMILY, vector)
#define PLACED JOIN(FAMILY, placed)
#define MASK JOIN(FAMILY, mask)
#define INLINE static inline __attribute__((always_inline))

typedef REAL VECTOR __attribute__((vector_size(LANES * sizeof(REAL))));
typedef REAL PLACED
    __attribute__((vector_size(LANES * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));
typedef BITS MASK __attribute__((vector_size(LANES * sizeof(REAL))));

#ifndef LOAD_PART
ATTRIBUTE INLINE VECTOR JOIN(FAMILY, load_part)(const REAL *p, size_t n)
{
    VECTOR x = {0};
    memcpy(&x, p, n * sizeof *p);
    return x;
}
#define LOAD_PART(p, n) JOIN(FAMILY, load_part)(p, n)
#define STORE_PART(p, n, x) memcpy(p, &(x), (n) * sizeof(REAL))
#endif

/* As greater_of and lesser_of in strip_template.h: two equal values differ in their bits only when
 * they are zeros. */
#ifndef GREATER
ATTRIBUTE INLINE VECTOR JOIN(FAMILY, choose)(VECTOR u, VECTOR w, MASK first, MASK second,
                                             MASK equal)
{
    const MASK unordered = (MASK)(u != u) | (MASK)(w != w), x = (MASK)u, y = (MASK)w;
    const MASK ordered = (first & x) | (second & y) | (~(first | second) & equal);
    return (VECTOR)((unordered & (MASK)(u + w)) | (~unordered & ordered));
}
#define GREATER(u, w) \
    JOIN(FAMILY, choose)(u, w, (MASK)((u) > (w)), (MASK)((u) < (w)), (MASK)(u) & (MASK)(w))
#define LESSER(u, w) \
    JOIN(FAMILY, choose)(u, w, (MASK)((u) < (w)), (MASK)((u) > (w)), (MASK)(u) | (MASK)(w))
#endif

/* n: elements of the vector that exist. */
ATTRIBUTE INLINE VECTOR JOIN(FAMILY, load)(const REAL *p, size_t n)
{
    if (n == LANES)
        return *(const PLACED *)p;
    return LOAD_PART(p, n);
}

/* A vector of the elements at p, p + stride, ...; nothing behind the last is read. */
ATTRIBUTE INLINE VECTOR JOIN(FAMILY, gather)(const REAL *p, size_t stride)
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

ATTRIBUTE INLINE VECTOR JOIN(FAMILY, add)(enum ulp_reduction kind, VECTOR u, VECTOR w)
{
    if (kind == ULP_REDUCTION_MAX)
        return GREATER(u, w);
    if (kind == ULP_REDUCTION_MIN)
        return LESSER(u, w);
    return u + w;
}

/* vector_count vectors of windows from number `first` on, each waiting only for itself; no window
 * behind number n - 1 is read. */
ATTRIBUTE INLINE void JOIN(FAMILY, reduction)(enum ulp_reduction kind, REAL *out, const REAL *in,
                                              const int64_t *offset, size_t offset_count,
                                              size_t stride, size_t first, size_t n,
                                              const int vector_count)
{
    VECTOR u[4];
    size_t at[4];
#pragma GCC unroll 4
    for (int v = 0; v < vector_count; v++) {
        at[v] = first + (size_t)v * LANES < n - LANES ? first + (size_t)v * LANES : n - LANES;
        u[v] = JOIN(FAMILY, gather)(in + offset[0] + at[v] * stride, stride);
    }
    for (size_t t = 1; t < offset_count; t++)
#pragma GCC unroll 4
        for (int v = 0; v < vector_count; v++)
            u[v] = JOIN(FAMILY, add)(kind, u[v],
                                     JOIN(FAMILY, gather)(in + offset[t] + at[v] * stride, stride));
#pragma GCC unroll 4
    for (int v = 0; v < vector_count; v++)
        *(PLACED *)(out + at[v]) = u[v];
}

/* The last vector may begin inside the one before: its windows are then reduced twice. Fewer
 * windows than a vector has come element by element. */
ATTRIBUTE static void JOIN(FAMILY, windows)(enum ulp_reduction kind, void *out, const void *in,
                                            const int64_t *offset, size_t offset_count,
                                            size_t stride, size_t n)
{
    const REAL *from = in;
    REAL *to = out;
    for (size_t done = 0, count; n >= LANES && done < n; done += count * LANES) {
        count = n - done > 3 * LANES ? 4 : 1;
        if (count == 4)
            JOIN(FAMILY, reduction)(kind, to, from, offset, offset_count, stride, done, n, 4);
        else
            JOIN(FAMILY, reduction)(kind, to, from, offset, offset_count, stride, done, n, 1);
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
        u = t ? JOIN(FAMILY, add)(kind, u, w) : w;
    }
    STORE_PART(to, n, u);
}

ATTRIBUTE static void JOIN(FAMILY, reduce)(enum ulp_reduction kind, void *sums, const void *in,
                                           size_t count, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        const size_t part = n - i < LANES ? n - i : LANES;
        const REAL *from = (const REAL *)in + i;
        REAL *to = (REAL *)sums + i;
        VECTOR u = JOIN(FAMILY, load)(to, part);
        for (size_t r = 0; r < count; r++, from += n)
            u = JOIN(FAMILY, add)(kind, u, JOIN(FAMILY, load)(from, part));
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
#undef INLINE
#undef FAMILY
#undef ATTRIBUTE
#undef REAL
#undef BITS
#undef SIGN_BIT
#undef LANES
#undef LOAD_PART
#undef STORE_PART
#undef GREATER
#undef LESSER
