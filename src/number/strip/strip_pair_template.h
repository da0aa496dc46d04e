/* Primitives on planes of pairs, branch-free, for one instruction set
 * (base/machine/each_cpu_template.h). Each gives high, low and error: a bound of what the result
 * differs by from that of exact operands, 0 where it is exact, NaN where nothing is said. The
 * errors of the steps are those of Joldes, Muller and Popescu, "Tight and rigorous error bounds for
 * basic building blocks of double-word arithmetic", ACM TOMS 44(2), 2017 (number/README.md, section
 * 9.2); what the operands' errors make of it is added, and SLACK takes the roundings of this sum
 * itself. */

#if defined __FP_FAST_FMA || VECTOR_BITS >= 256
#define FUSED true /* ulp_pair_multiply takes the processor's fused step */
#else
#define FUSED false
#endif
#define SLACK (1 + 0x1p-48)
#define KERNEL(name)                                                                               \
    ATTRIBUTES static void NAMED(name)(struct planes *restrict z, const struct planes *restrict x, \
                                       const struct planes *restrict y, size_t n)
#define EACH _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++)

/* Algorithm 6: 3 u^2 + 13 u^3, u = 2^-53. Exact where no sum below the first loses anything, as of
 * doubles. */
KERNEL(add)
{
    EACH
    {
        double se, te, vl, zl;
        const double s = ulp_pair_add(x->high[i], y->high[i], &se);
        const double t = ulp_pair_add(x->low[i], y->low[i], &te);
        const double v = ulp_pair_join(s, se + t, &vl);
        const double w = te + vl, h = ulp_pair_join(v, w, &zl);
        const bool exact = te == 0 && (se == 0 || t == 0);
        const double own = exact ? 0 : 0x1.9p-105 * fabs(h), errors = x->error[i] + y->error[i];
        /* an infinite operand is the sum, as what a mask hides; an infinite sum of others is not */
        const bool infinite = fabs(s) == INFINITY && errors < INFINITY &&
                              (fabs(x->high[i]) == INFINITY || fabs(y->high[i]) == INFINITY);
        z->high[i] = infinite || (h == 0 && s == 0) ? s : h; /* -0 - 0 */
        z->low[i] = infinite ? 0 : zl;
        z->error[i] = infinite ? 0 : s - s == 0 ? (errors + own) * SLACK : NAN;
    }
}

/* Algorithm 10: 7 u^2. */
KERNEL(mul)
{
    EACH
    {
        const double a = x->high[i], b = y->high[i], al = x->low[i], bl = y->low[i];
        double rest, l;
        const double p = ulp_pair_multiply(FUSED, a, b, &rest);
        const double cross = a * bl + al * b, h = ulp_pair_join(p, rest + cross, &l);
        const double size = fabs(h), ea = x->error[i], eb = y->error[i];
        const bool zero = a == 0 || b == 0,
                   fits = fabs(a) <= ULP_PAIR_MOST && fabs(b) <= ULP_PAIR_MOST &&
                          (zero || (size >= ULP_PAIR_LEAST && size <= ULP_PAIR_MOST)),
                   exact = zero || (al == 0 && bl == 0),
                   certain = (a == 0 && ea == 0) || (b == 0 && eb == 0); /* zero, whatever else */
        const double own = exact ? 0 : 0x1.cp-104 * size;
        z->high[i] = zero ? p : h;
        z->low[i] = zero ? 0 : l;
        z->error[i] = fits ? ((fabs(a) + ea) * eb * SLACK + fabs(b) * ea * SLACK + own) * SLACK +
                                 (ea + eb > 0 && !certain ? TINY : 0)
                           : NAN;
    }
}

/* 16 u^2 (number/README.md, section 9.2). */
KERNEL(div)
{
    EACH
    {
        const double a = x->high[i], b = y->high[i], al = x->low[i], bl = y->low[i];
        double re, rl, de, l;
        const double q = a / b, p = ulp_pair_multiply(FUSED, q, b, &re);
        const double r = ulp_pair_join(p, re + q * bl, &rl);
        const double d = ulp_pair_add(al, -rl, &de), rest = (a - r) + d;
        const double h = ulp_pair_join(q, rest / b, &l);
        const double size = fabs(h), ea = x->error[i], eb = y->error[i], wide = fabs(b);
        const bool zero = a == 0,
                   fits = wide >= ULP_PAIR_LEAST && wide <= ULP_PAIR_MOST && eb <= wide / 4 &&
                          (zero || (fabs(a) >= ULP_PAIR_LEAST && fabs(a) <= ULP_PAIR_MOST &&
                                    size >= ULP_PAIR_LEAST && size <= ULP_PAIR_MOST));
        /* q b is the dividend: without a low part of b its product has no rounding but that of d */
        const bool exact = zero || (bl == 0 && de == 0 && rest == 0);
        const double own = exact ? 0 : 0x1p-102 * size;
        z->high[i] = zero ? q : h;
        z->low[i] = zero ? 0 : l;
        z->error[i] = fits
                          ? ((ea / (wide - eb) + size * (eb / (wide - eb))) * SLACK + own) * SLACK +
                                (ea > 0 || (eb > 0 && !zero) ? TINY : 0)
                          : NAN;
    }
}

/* V. Lefevre, N. Louvet, J.-M. Muller, J. Picot, L. Rideau, "Accurate calculation of Euclidean
 * norms using double-word arithmetic", ACM TOMS 49(1), 2023, algorithm 8: 25/8 u^2. */
KERNEL(sqrt)
{
    (void)y;
    EACH
    {
        const double a = x->high[i], ea = x->error[i];
        double re, l;
        const double s = __builtin_sqrt(a), p = ulp_pair_multiply(FUSED, s, s, &re);
        const double rest = x->low[i] + ((a - p) - re), h = ulp_pair_join(s, rest / (2 * s), &l);
        const bool fits = a >= ULP_PAIR_LEAST && a <= ULP_PAIR_MOST && ea <= a / 4;
        const double own = rest == 0 ? 0 : 0x1.ap-105 * h;
        z->high[i] = h;
        z->low[i] = l;
        /* the root's slope is at most 1 / (2 sqrt(3/4 a)) there */
        z->error[i] = fits ? (0.625 * ea / h + own) * SLACK + (ea > 0 ? TINY : 0) : NAN;
    }
}

/* The larger or the lesser, as extremum (strip_pair.c) chooses where both are finite and not zero;
 * of others, and where nothing is known, the error is NaN. */
#define EXTREMUM(name, greater)                                                          \
    KERNEL(name)                                                                         \
    {                                                                                    \
        EACH                                                                             \
        {                                                                                \
            const double a = x->high[i], b = y->high[i], al = x->low[i], bl = y->low[i]; \
            const double ea = x->error[i], eb = y->error[i], errors = ea + eb;           \
            const double apart = fabs((a - b) + (al - bl)),                              \
                         own = errors * (1 + 0x1p-40) + 0x1p-140 * (fabs(a) + fabs(b));  \
            const bool less = a < b || (a == b && al < bl), second = less == (greater),  \
                       open = errors != 0 && !(apart > own),                             \
                       fits = errors < INFINITY && fabs(a) + fabs(b) < INFINITY &&       \
                              !(a == 0 && b == 0);                                       \
            const double error = open ? (ea > eb ? ea : eb) : second ? eb : ea;          \
            z->high[i] = second ? b : a;                                                 \
            z->low[i] = second ? bl : al;                                                \
            z->error[i] = fits ? error : NAN;                                            \
        }                                                                                \
    }
EXTREMUM(max, true)
EXTREMUM(min, false)
#undef EXTREMUM

/* To the nearest integer where it is surely nearer than any other; else the error is NaN. Numbers
 * below 2^50 lose their fractions beside 2^52. */
KERNEL(round)
{
    (void)y;
    EACH
    {
        const double a = x->high[i], size = fabs(a), whole = copysign((size + 0x1p52) - 0x1p52, a);
        const double rest = (a - whole) + x->low[i];
        const bool clear = size < 0x1p50 && fabs(rest) + x->error[i] < 0.5 - 0x1p-50;
        z->high[i] = whole;
        z->low[i] = 0;
        z->error[i] = clear ? 0 : NAN;
    }
}

/* Is some error NaN; is some not 0? */
ATTRIBUTES static unsigned NAMED(look)(const double *restrict error, size_t n)
{
    uint64_t lost = 0, some = 0;
    for (size_t i = 0; i < n; i++) {
        lost |= (uint64_t) !(error[i] >= 0);
        some |= (uint64_t)(error[i] != 0);
    }
    return (unsigned)(2 * lost + some);
}

ATTRIBUTES static void NAMED(split)(struct planes *restrict out,
                                    const struct ulp_strip_pair *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out->high[i] = x[i].high;
        out->low[i] = x[i].low;
        out->error[i] = x[i].error;
    }
}

ATTRIBUTES static void NAMED(unite)(struct ulp_strip_pair *restrict out,
                                    const struct planes *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i].high = x->high[i];
        out[i].low = x->low[i];
        out[i].error = x->error[i];
    }
}

static const struct kernels NAMED(kernels) = {
    .add = NAMED(add),
    .mul = NAMED(mul),
    .div = NAMED(div),
    .sqrt = NAMED(sqrt),
    .max = NAMED(max),
    .min = NAMED(min),
    .round = NAMED(round),
    .look = NAMED(look),
    .split = NAMED(split),
    .unite = NAMED(unite),
};
#undef SLACK
#undef KERNEL
#undef EACH
#undef FUSED
