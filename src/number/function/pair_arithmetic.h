/* Vectors of doubles and sums of two doubles, for function/pair_template.h. Leaves V, U, M (vectors
 * of WIDTH doubles, of unsigned integers, of masks), PAIR, FUNCTION, FUSE and ROOT defined. */
#define WIDTH (VECTOR_BITS / 64)
typedef double NAMED(vector) __attribute__((vector_size(8 * WIDTH)));
typedef uint64_t NAMED(bits) __attribute__((vector_size(8 * WIDTH)));
typedef int64_t NAMED(mask) __attribute__((vector_size(8 * WIDTH)));
#define V NAMED(vector)
#define U NAMED(bits)
#define M NAMED(mask)
#define FUNCTION ATTRIBUTES static inline __attribute__((always_inline))
#define PAIR struct NAMED(pair)
/* a b + c, rounded once, by which products find their residual and nothing else is computed: it is
 * Dekker's then, so that every instruction set gives the same bits. The root of a vector. */
#if VECTOR_BITS == 256
#define FUSE(a, b, c) (V) _mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c))
#define ROOT(x) (V) _mm256_sqrt_pd((__m256d)(x))
#elif VECTOR_BITS == 512
#define FUSE(a, b, c) (V) _mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c))
#define ROOT(x) (V) _mm512_sqrt_pd((__m512d)(x))
#endif

/* h + l, |l| <= 2^-52 |h|. */
PAIR
{
    V h, l;
};

FUNCTION V NAMED(spread)(double x)
{
    return (V){0} + x;
}
FUNCTION PAIR NAMED(single)(V x)
{
    return (PAIR){x, (V){0}};
}
FUNCTION PAIR NAMED(constant)(const double *x)
{
    return (PAIR){NAMED(spread)(x[0]), NAMED(spread)(x[1])};
}
FUNCTION V NAMED(choose)(M condition, V a, V b)
{
#if VECTOR_BITS == 256
    return (V)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)condition);
#else
    return (V)((condition & (M)a) | (~condition & (M)b));
#endif
}
FUNCTION PAIR NAMED(choose_pair)(M condition, PAIR a, PAIR b)
{
    return (PAIR){NAMED(choose)(condition, a.h, b.h), NAMED(choose)(condition, a.l, b.l)};
}
FUNCTION V NAMED(magnitude)(V x)
{
    return (V)((U)x & ~SIGN);
}
/* a, negated where x is. */
FUNCTION V NAMED(flip)(V a, V x)
{
    return (V)((U)a ^ ((U)x & SIGN));
}
FUNCTION PAIR NAMED(flip_pair)(PAIR a, V x)
{
    return (PAIR){NAMED(flip)(a.h, x), NAMED(flip)(a.l, x)};
}

FUNCTION V NAMED(take_root)(V x)
{
#ifdef ROOT
    return ROOT(x);
#else
    V y;
    for (int i = 0; i < WIDTH; i++)
        y[i] = __builtin_sqrt(x[i]);
    return y;
#endif
}
/* Neighbours in a table, of even index: loads of two doubles each, of which every other one starts
 * a vector; faster than the gather instructions of the processors at hand. */
FUNCTION PAIR NAMED(gather_pair)(const double *table, U index)
{
    uint64_t at[WIDTH];
    memcpy(at, &index, sizeof at);
#if VECTOR_BITS == 512
#define TWO(i) _mm_load_pd(table + at[i])
#define PUT(v, i, k) _mm512_insertf64x2(v, TWO(i), k)
    const __m512d even = PUT(PUT(PUT(_mm512_castpd128_pd512(TWO(0)), 2, 1), 4, 2), 6, 3);
    const __m512d odd = PUT(PUT(PUT(_mm512_castpd128_pd512(TWO(1)), 3, 1), 5, 2), 7, 3);
    return (PAIR){(V)_mm512_unpacklo_pd(even, odd), (V)_mm512_unpackhi_pd(even, odd)};
#elif VECTOR_BITS == 256
#define TWO(i) _mm_load_pd(table + at[i])
#define PUT(v, i, k) _mm256_insertf128_pd(v, TWO(i), k)
    const __m256d even = PUT(_mm256_castpd128_pd256(TWO(0)), 2, 1),
                  odd = PUT(_mm256_castpd128_pd256(TWO(1)), 3, 1);
    return (PAIR){(V)_mm256_unpacklo_pd(even, odd), (V)_mm256_unpackhi_pd(even, odd)};
#else
    const double *first = table + at[0], *second = table + at[1];
    return (PAIR){(V){first[0], second[0]}, (V){first[1], second[1]}};
#endif
#undef TWO
#undef PUT
}

/* a + b exactly, |a| >= |b| or a = 0. */
FUNCTION PAIR NAMED(sum_ordered)(V a, V b)
{
    const V s = a + b;
    return (PAIR){s, b - (s - a)};
}
/* a + b exactly. */
FUNCTION PAIR NAMED(sum_two)(V a, V b)
{
    const V s = a + b, t = s - a;
    return (PAIR){s, (a - (s - t)) + (b - t)};
}
/* a b exactly, for magnitudes within 2^+-900. */
FUNCTION PAIR NAMED(product)(V a, V b)
{
    const V p = a * b;
#ifdef FUSE
    return (PAIR){p, FUSE(a, b, -p)};
#else
    const V ca = a * 0x8000001p0, cb = b * 0x8000001p0;
    const V ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh;
    return (PAIR){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
#endif
}

/* The following err by less than 2^-101 of the result, and sums of the larger operand. */
FUNCTION PAIR NAMED(add)(PAIR a, PAIR b)
{
    const PAIR s = NAMED(sum_two)(a.h, b.h);
    return NAMED(sum_ordered)(s.h, s.l + (a.l + b.l));
}
FUNCTION PAIR NAMED(subtract)(PAIR a, PAIR b)
{
    return NAMED(add)(a, (PAIR){-b.h, -b.l});
}
FUNCTION PAIR NAMED(add_number)(PAIR a, double b)
{
    const PAIR s = NAMED(sum_two)(a.h, NAMED(spread)(b));
    return NAMED(sum_ordered)(s.h, s.l + a.l);
}
FUNCTION PAIR NAMED(halve)(PAIR a)
{
    return (PAIR){a.h * 0.5, a.l * 0.5};
}
FUNCTION PAIR NAMED(multiply)(PAIR a, PAIR b)
{
    const PAIR p = NAMED(product)(a.h, b.h);
    return NAMED(sum_ordered)(p.h, p.l + (a.h * b.l + a.l * b.h));
}
/* The same with |l| <= 2^-50 |h| only, for factors and terms. */
FUNCTION PAIR NAMED(multiply_loosely)(PAIR a, PAIR b)
{
    const PAIR p = NAMED(product)(a.h, b.h);
    return (PAIR){p.h, p.l + (a.h * b.l + a.l * b.h)};
}
FUNCTION PAIR NAMED(scale_loosely)(PAIR a, V b)
{
    const PAIR p = NAMED(product)(a.h, b);
    return (PAIR){p.h, p.l + a.l * b};
}
FUNCTION PAIR NAMED(add_loosely)(PAIR a, PAIR b)
{
    const PAIR s = NAMED(sum_two)(a.h, b.h);
    return (PAIR){s.h, s.l + (a.l + b.l)};
}
/* The square of a, loosely; 0 where it is below 2^-400, as products leave residuals behind that
 * are no doubles then. */
FUNCTION PAIR NAMED(square)(PAIR a)
{
    const V h = NAMED(choose)(NAMED(magnitude)(a.h) >= 0x1p-200, a.h, (V){0});
    const PAIR p = NAMED(product)(h, h);
    return (PAIR){p.h, p.l + (h + h) * a.l};
}
FUNCTION PAIR NAMED(divide)(PAIR a, PAIR b)
{
    const V q = a.h / b.h;
    const PAIR p = NAMED(product)(q, b.h);
    return NAMED(sum_ordered)(q, (((a.h - p.h) - p.l) + (a.l - q * b.l)) / b.h);
}
FUNCTION PAIR NAMED(root)(PAIR a)
{
    const V s = NAMED(take_root)(a.h);
    const PAIR p = NAMED(product)(s, s);
    const V rest = (((a.h - p.h) - p.l) + a.l) / (s + s);
    return NAMED(sum_ordered)(s, NAMED(choose)(s > 0, rest, (V){0}));
}

/* c[0] + c[1] x + ..., each operation rounded. */
FUNCTION V NAMED(evaluate)(const double *c, int count, V x)
{
    V y = NAMED(spread)(c[count - 1]);
    for (int k = count - 2; k >= 0; k--)
        y = y * x + NAMED(spread)(c[k]);
    return y;
}
/* c[0] + c[1] x + ... + tail x^count: the pairs c outweigh what follows them. */
FUNCTION PAIR NAMED(sum_series)(const double (*c)[2], int count, PAIR x, V tail)
{
    const double *last = c[count - 1];
    PAIR y = NAMED(sum_ordered)(NAMED(spread)(last[0]), x.h * tail);
    y.l += last[1];
    for (int k = count - 2; k >= 0; k--) {
        const PAIR p = NAMED(multiply_loosely)(x, y),
                   s = NAMED(sum_ordered)(NAMED(spread)(c[k][0]), p.h);
        y = (PAIR){s.h, s.l + (c[k][1] + p.l)};
    }
    return y;
}
/* a + b c, |a| >= |b c| or a = 0. */
FUNCTION PAIR NAMED(sum_product)(PAIR a, PAIR b, PAIR c)
{
    const PAIR p = NAMED(multiply_loosely)(b, c), s = NAMED(sum_ordered)(a.h, p.h);
    return NAMED(sum_ordered)(s.h, s.l + (a.l + p.l));
}
#define EVALUATE(coefficients, x) NAMED(evaluate)(coefficients, COUNT(coefficients), x)
#define SUM_SERIES(pairs, x, tail) NAMED(sum_series)(pairs, COUNT(pairs), x, tail)
