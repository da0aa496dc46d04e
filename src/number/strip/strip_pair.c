/* The pair carrier: every primitive on pairs of doubles with a running bound of each value
 * (number/README.md, section 9). What the fast steps say nothing of (not finite, out of range) is
 * computed by MPFR and rounded to a pair; what no pair holds, and what hangs on the error, becomes
 * unknown, which a store notes. */
#include "number/strip/strip_pair.h"

#include <string.h>

#include "base/bits.h"
#include "base/machine/cpu.h"
#include "number/function/pair.h"
#include "number/strip/strip_bound.h"

#define CHUNK 64
/* Above what a bound may lose by underflow. */
#define TINY 0x1p-1060

/* Values as structure of arrays. */
struct planes {
    _Alignas(64) double high[CHUNK];
    double low[CHUNK], error[CHUNK];
};
typedef void kernel_fn(struct planes *restrict z, const struct planes *restrict x,
                       const struct planes *restrict y, size_t n);
struct kernels {
    kernel_fn *add, *mul, *div, *sqrt, *max, *min, *round;
    unsigned (*look)(const double *restrict error, size_t n);
    void (*split)(struct planes *restrict out, const struct ulp_strip_pair *restrict x, size_t n);
    void (*unite)(struct ulp_strip_pair *restrict out, const struct planes *restrict x, size_t n);
};

#define TEMPLATE "number/strip/strip_pair_template.h"
#include "base/machine/each_cpu_template.h"

static const struct kernels *find_kernels(void)
{
    return ULP_BY_CPU(&kernels_avx512, &kernels_avx2, &kernels_portable);
}

/* ---- what is left to MPFR ---- */

/* |x| < 2^this, and at least half of that where it is a pair's high part. */
static int64_t size_of(double x)
{
    return x == 0 ? ULP_BOUND_NONE : (int64_t)(ulp_double_bits(x) >> 52 & 0x7FF) - 1022;
}

/* The size of what ulp_bound_edge separates; what the low part or a rounding may take from it is
 * below its 2^-40th or makes it nothing. */
static int64_t edge_of(enum ulp_primitive primitive, const struct ulp_strip_pair *x)
{
    const double a = x->high, size = fabs(a);
    const double edge = primitive == ULP_PRIMITIVE_LOG1P   ? 1 + a
                        : primitive == ULP_PRIMITIVE_ACOSH ? a - 1
                                                           : 1 - size;
    return edge > 0x1p-40 ? size_of(edge * (1 - 0x1p-10)) : ULP_BOUND_NONE;
}

/* What the operands' errors make of the result y, at most. */
static double carried(enum ulp_primitive primitive, bool one, const struct ulp_strip_pair *a,
                      const struct ulp_strip_pair *b, double y)
{
    const struct ulp_bounded x[3] = {{size_of(a->high), size_of(a->error)},
                                     {size_of(b->high), one ? ULP_BOUND_NONE : size_of(b->error)}};
    if (x[0].error == ULP_BOUND_NONE && x[1].error == ULP_BOUND_NONE)
        return 0;
    const bool known = a->error < INFINITY && (one || b->error < INFINITY),
               finite = isfinite(a->high) && isfinite(b->high);
    if (!known || !(finite || primitive == ULP_PRIMITIVE_ADD))
        return INFINITY;
    const int64_t error = ulp_bound_carried(primitive, size_of(y), x, edge_of(primitive, a));
    return error >= 1024 ? INFINITY : ldexp(1, (int)(error < -1074 ? -1074 : error)) + TINY;
}

static struct ulp_strip_pair at(const struct planes *x, size_t i)
{
    return (struct ulp_strip_pair){x->high[i], x->low[i], x->error[i]};
}
static void put(struct planes *z, size_t i, struct ulp_strip_pair value)
{
    z->high[i] = value.high;
    z->low[i] = value.low;
    z->error[i] = value.error;
}

/* A result beside a double, as 1 less 2^-300 is, has a low part that is certain only by many more
 * bits: a least low part is 2^-1074. */
enum { LIMBS = ULP_PAIR_RECORD_BITS / 64, MORE_BITS = 1280, RECORD_MAX = 16 + MORE_BITS / 8 };

/* A pair as a record; adds what this has no room for to the pair's error. False: there was such. */
static bool to_record(char *out, int precision, struct ulp_strip_pair *x)
{
    mpfr_t y;
    struct ulp_record *record = (struct ulp_record *)(void *)out;
    ulp_record_begin(y, record, precision);
    const bool exact = ulp_pair_get(y, x->high, x->low) == 0;
    if (!exact)
        x->error += ldexp(fabs(x->high), -precision) + TINY;
    ulp_record_close(record, y);
    return exact;
}

/* The elements at `places` by MPFR with that many bits; returns how many, first in places, these
 * leave without a certain low part. */
static size_t compute_places(enum ulp_primitive primitive, bool one, struct planes *z,
                             const struct planes *x, const struct planes *y, size_t *places,
                             size_t count, int precision)
{
    const struct ulp_strip_rule rule = {.carrier = ULP_STRIP_MPFR, .precision = precision};
    const size_t bytes = ulp_record_bytes(precision);
    _Alignas(8) char a[CHUNK * RECORD_MAX] = {0}, b[CHUNK * RECORD_MAX] = {0};
    _Alignas(8) char out[CHUNK * RECORD_MAX];
    struct ulp_strip_pair operands[2][CHUNK];
    bool whole[CHUNK];
    size_t unclear = 0;
    for (size_t k = 0; k < count; k++) {
        operands[0][k] = at(x, places[k]);
        operands[1][k] = at(y, places[k]);
        whole[k] = to_record(a + k * bytes, precision, &operands[0][k]);
        whole[k] &= to_record(b + k * bytes, precision, &operands[1][k]);
    }
    ulp_strip_mpfr.primitive[primitive](&rule, out, a, b, NULL, count, (struct ulp_strip_place){0});
    for (size_t k = 0; k < count; k++) {
        const size_t i = places[k];
        mpfr_t result;
        ulp_record_open_const(result, (const struct ulp_record *)(const void *)(out + k * bytes),
                              precision);
        struct ulp_strip_pair pair = ulp_strip_pair_from(result);
        const double most = carried(primitive, one, &operands[0][k], &operands[1][k], pair.high);
        if (!isfinite(pair.high)) /* itself, if it is that for all that the operands may be */
            pair.error = pair.error > 0 || !(most < INFINITY) ? INFINITY : 0;
        else
            pair.error = pair.error +
                         (pair.high == 0 ? 0 : ldexp(fabs(pair.high), 1 - precision) + TINY) + most;
        put(z, i, pair);
        const bool beside = most == 0 && fabs(pair.low) < 0x1p-200 * fabs(pair.high);
        if (precision < MORE_BITS && isfinite(pair.high) && (beside || !whole[k]))
            places[unclear++] = i;
    }
    return unclear;
}

/* The elements whose error is NaN. */
static void compute_rest(enum ulp_primitive primitive, bool one, struct planes *z,
                         const struct planes *x, const struct planes *y, size_t n)
{
    size_t places[CHUNK], count = 0;
    for (size_t i = 0; i < n; i++)
        if (isnan(z->error[i]))
            places[count++] = i;
    if (count)
        count = compute_places(primitive, one, z, x, y, places, count, ULP_PAIR_RECORD_BITS);
    if (count)
        compute_places(primitive, one, z, x, y, places, count, MORE_BITS);
}

/* ---- rounded primitives ---- */

/* Up to CHUNK operands and results of a primitive; y is x where there is one operand. */
struct chunk {
    const struct kernels *k;
    enum ulp_primitive primitive;
    bool one;
    size_t n;
    struct planes x, y, z;
};
typedef void chunk_fn(struct chunk *c);

static void run_chunks(enum ulp_primitive primitive, chunk_fn *compute, void *out, const void *a,
                       const void *b, size_t n)
{
    const struct ulp_strip_pair *xs = a, *ys = b ? b : a;
    struct ulp_strip_pair *zs = out;
    struct chunk c;
    c.k = find_kernels();
    c.primitive = primitive;
    c.one = !b;
    for (size_t i = 0; i < n; i += CHUNK) {
        c.n = n - i < CHUNK ? n - i : CHUNK;
        c.k->split(&c.x, xs + i, c.n);
        c.k->split(&c.y, ys + i, c.n);
        compute(&c);
        if (c.k->look(c.z.error, c.n) & 2)
            compute_rest(primitive, c.one, &c.z, &c.x, &c.y, c.n);
        c.k->unite(zs + i, &c.z, c.n);
    }
}

static void compute_add(struct chunk *c)
{
    c->k->add(&c->z, &c->x, &c->y, c->n);
}
static void compute_sub(struct chunk *c)
{
    for (size_t i = 0; i < c->n; i++) {
        c->y.high[i] = -c->y.high[i];
        c->y.low[i] = -c->y.low[i];
    }
    compute_add(c);
}
static void compute_mul(struct chunk *c)
{
    c->k->mul(&c->z, &c->x, &c->y, c->n);
}
static void compute_div(struct chunk *c)
{
    c->k->div(&c->z, &c->x, &c->y, c->n);
}
static void compute_sqrt(struct chunk *c)
{
    c->k->sqrt(&c->z, &c->x, &c->y, c->n);
}
/* All by MPFR. */
static void compute_nothing(struct chunk *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->z.error[i] = NAN;
}

/* The one exact power of all n; NaN: there are others. */
static double find_power(const struct planes *y, size_t n)
{
    bool same = y->low[0] == 0 && y->error[0] == 0;
    for (size_t i = 1; i < n && same; i++)
        same = y->high[i] == y->high[0] && y->low[i] == 0 && y->error[i] == 0;
    return same ? y->high[0] : NAN;
}

/* Squares, cubes, roots and reciprocals, as formulas have them, by the steps; false: another. */
static bool take_power(struct chunk *c)
{
    const struct kernels *k = c->k;
    const struct planes *x = &c->x;
    struct planes *z = &c->z;
    const size_t n = c->n;
    const double power = find_power(&c->y, n);
    struct planes other;
    if (power == 2 || power == 3)
        k->mul(power == 2 ? z : &other, x, x, n);
    if (power == 3)
        k->mul(z, &other, x, n);
    if (power == 0.5)
        k->sqrt(z, x, x, n);
    for (size_t i = 0; i < n && power == -1; i++) {
        other.high[i] = 1;
        other.low[i] = other.error[i] = 0;
    }
    if (power == -1)
        k->div(z, &other, x, n);
    return power == 2 || power == 3 || power == 0.5 || power == -1;
}

/* Results that may be doubles, for all that the error says, are MPFR's: then they are exact where
 * they are that. */
static void leave_doubles(struct planes *z, size_t n)
{
    for (size_t i = 0; i < n; i++)
        z->error[i] = z->error[i] > 0 && fabs(z->low[i]) <= z->error[i] ? NAN : z->error[i];
}

static void compute_function(struct chunk *c)
{
    if (c->primitive == ULP_PRIMITIVE_POW && take_power(c))
        return;
    ulp_function_pairs(c->primitive, c->z.high, c->z.low, c->z.error, c->x.high, c->x.low,
                       c->y.high, c->y.low, c->n);
    leave_doubles(&c->z, c->n);
    for (size_t i = 0; c->primitive == ULP_PRIMITIVE_EXP && i < c->n; i++)
        if (c->x.high[i] == -INFINITY) /* of what a mask hides */
            c->z.high[i] = c->z.low[i] = c->z.error[i] = 0;
    const bool errors = c->k->look(c->x.error, c->n) | c->k->look(c->y.error, c->n);
    for (size_t i = 0; errors && i < c->n; i++) {
        const struct ulp_strip_pair u = at(&c->x, i), v = at(&c->y, i);
        if (u.error != 0 || v.error != 0)
            c->z.error[i] += carried(c->primitive, c->one, &u, &v, c->z.high[i]);
    }
}

#define STRIP(NAME)                                                                     \
    static void run_##NAME(const struct ulp_strip_rule *rule, void *out, const void *a, \
                           const void *b, const void *c, size_t n, struct ulp_strip_place place)
#define ROUNDED(NAME, AS, COMPUTE)                                       \
    STRIP(NAME)                                                          \
    {                                                                    \
        (void)rule, (void)c, (void)place;                                \
        run_chunks(ULP_PRIMITIVE_##AS, compute_##COMPUTE, out, a, b, n); \
    }
#define FUNCTION(NAME) ROUNDED(NAME, NAME, function)
ROUNDED(ADD, ADD, add)
ROUNDED(SUB, ADD, sub)
ROUNDED(MUL, MUL, mul)
ROUNDED(DIV, DIV, div)
ROUNDED(SQRT, SQRT, sqrt)
/* Exact where the operands are, else unknown (carried). */
ROUNDED(FMOD, FMOD, nothing)
ROUNDED(MOD, MOD, nothing)
ULP_UNARY_FUNCTIONS(FUNCTION)
FUNCTION(POW)

STRIP(FMA)
{
    struct ulp_strip_pair product[ULP_STRIP];
    run_MUL(rule, product, a, b, NULL, n, place);
    run_ADD(rule, out, product, c, NULL, n, place);
}

/* ---- exact primitives ---- */

#define EXACT(NAME, RESULT)                                                    \
    STRIP(NAME)                                                                \
    {                                                                          \
        (void)rule, (void)b, (void)c, (void)place;                             \
        const struct ulp_strip_pair *as = a, *bs = b ? b : a, *cs = c ? c : a; \
        struct ulp_strip_pair *y = out;                                        \
        for (size_t i = 0; i < n; i++) {                                       \
            const struct ulp_strip_pair u = as[i], v = bs[i], w = cs[i];       \
            (void)v, (void)w;                                                  \
            y[i] = RESULT;                                                     \
        }                                                                      \
    }
static struct ulp_strip_pair flag(int value)
{
    return value < 0 ? ulp_strip_pair_unknown() : (struct ulp_strip_pair){value, 0, 0};
}
static struct ulp_strip_pair sign_of(struct ulp_strip_pair x)
{
    if (ulp_strip_pair_truth(&x) < 0)
        return ulp_strip_pair_unknown();
    return (struct ulp_strip_pair){isnan(x.high) ? NAN : (x.high > 0) - (x.high < 0), 0, 0};
}
/* -1: the errors leave open which is less, or whether they are equal. */
static int compare_pairs(const struct ulp_strip_pair *a, const struct ulp_strip_pair *b, bool equal)
{
    const double errors = a->error + b->error;
    const int less = ulp_strip_pair_less(a, b), same = a->high == b->high && a->low == b->low;
    if (errors == INFINITY)
        return -1;
    if (errors != 0 && isfinite(a->high) && isfinite(b->high)) {
        const double apart = fabs((a->high - b->high) + (a->low - b->low));
        if (!(apart > errors * (1 + 0x1p-40) + 0x1p-140 * (fabs(a->high) + fabs(b->high))))
            return -1;
    }
    return equal ? same : less;
}
static int less_or_equal(const struct ulp_strip_pair *a, const struct ulp_strip_pair *b)
{
    const int less = compare_pairs(a, b, false), same = compare_pairs(a, b, true);
    return less < 0 ? -1 : less || same;
}
static struct ulp_strip_pair extremum(struct ulp_strip_pair a, struct ulp_strip_pair b,
                                      bool greater)
{
    const int less = compare_pairs(&a, &b, false);
    if (a.error == INFINITY || b.error == INFINITY)
        return ulp_strip_pair_unknown();
    if (isnan(a.high) || isnan(b.high))
        return (struct ulp_strip_pair){NAN, 0, 0};
    if (a.high == 0 && b.high == 0 && less == 0)
        return signbit(a.high) == greater ? b : a;
    struct ulp_strip_pair y = ulp_strip_pair_less(&a, &b) == greater ? b : a;
    if (less < 0) /* either may be: it is as far from the other's true value as from its own */
        y.error = a.error > b.error ? a.error : b.error;
    return y;
}
static int is_kind(const struct ulp_strip_pair *x, bool kind)
{
    return x->error == INFINITY ? -1 : kind;
}
static int both(int a, int b)
{
    return a == 0 || b == 0 ? 0 : a < 0 || b < 0 ? -1 : 1;
}
static int either(int a, int b)
{
    return a > 0 || b > 0 ? 1 : a < 0 || b < 0 ? -1 : 0;
}
static struct ulp_strip_pair choose_by_condition(int condition, struct ulp_strip_pair a,
                                                 struct ulp_strip_pair b)
{
    return condition < 0 ? ulp_strip_pair_unknown() : condition ? a : b;
}

#define TRUTH(x) ulp_strip_pair_truth(&(x))
EXACT(COPY, u)
EXACT(NEG, ulp_strip_pair_negate(u))
EXACT(ABS, signbit(u.high) ? ulp_strip_pair_negate(u) : u)
EXACT(SIGN, sign_of(u))
EXACT(FLOOR, ulp_strip_pair_floor(u))
EXACT(CEIL, ulp_strip_pair_ceil(u))
EXACT(TRUNC, ulp_strip_pair_truncate(u))
EXACT(IS_NAN, flag(is_kind(&u, isnan(u.high))))
EXACT(IS_INF, flag(is_kind(&u, isinf(u.high))))
EXACT(NOT, flag(TRUTH(u) < 0 ? -1 : !TRUTH(u)))

static void compute_extremum(struct chunk *c)
{
    const bool greater = c->primitive == ULP_PRIMITIVE_MAX;
    (greater ? c->k->max : c->k->min)(&c->z, &c->x, &c->y, c->n);
    const bool rest = c->k->look(c->z.error, c->n) & 2;
    for (size_t i = 0; rest && i < c->n; i++)
        if (isnan(c->z.error[i]))
            put(&c->z, i, extremum(at(&c->x, i), at(&c->y, i), greater));
}
static void compute_round(struct chunk *c)
{
    c->k->round(&c->z, &c->x, &c->y, c->n);
    const bool rest = c->k->look(c->z.error, c->n) & 2;
    for (size_t i = 0; rest && i < c->n; i++)
        if (isnan(c->z.error[i]))
            put(&c->z, i, ulp_strip_pair_round(at(&c->x, i)));
}
ROUNDED(ROUND, ROUND, round)
ROUNDED(MIN, MIN, extremum)
ROUNDED(MAX, MAX, extremum)
EXACT(LESS, flag(compare_pairs(&u, &v, false)))
EXACT(LESS_EQUAL, flag(less_or_equal(&u, &v)))
EXACT(EQUAL, flag(compare_pairs(&u, &v, true)))
EXACT(AND, flag(both(TRUTH(u), TRUTH(v))))
EXACT(OR, flag(either(TRUTH(u), TRUTH(v))))
EXACT(XOR, flag(TRUTH(u) < 0 || TRUTH(v) < 0 ? -1 : TRUTH(u) != TRUTH(v)))
EXACT(SELECT, choose_by_condition(TRUTH(u), v, w))

/* ---- the rest of the table ---- */

static void spread(const struct ulp_strip_rule *rule, void *out, const void *in, size_t index,
                   size_t n)
{
    (void)rule;
    struct ulp_strip_pair *y = out;
    const struct ulp_strip_pair value = ((const struct ulp_strip_pair *)in)[index];
    for (size_t i = 0; i < n; i++)
        y[i] = value;
}

static void constant(const struct ulp_strip_rule *rule, void *out, const char *text, size_t n)
{
    mp_limb_t limbs[LIMBS + 1];
    mpfr_t x;
    mpfr_custom_init_set(x, MPFR_NAN_KIND, 0, ULP_PAIR_RECORD_BITS + 64, limbs);
    ulp_strip_parse(x, text);
    const struct ulp_strip_pair value = ulp_strip_pair_from(x);
    spread(rule, out, &value, 0, n);
}

#define ENTRY(NAME) [ULP_PRIMITIVE_##NAME] = run_##NAME,
const struct ulp_strip_table ulp_strip_pair = {
    .primitive = {ULP_UNARY_FUNCTIONS(ENTRY) ENTRY(POW) ENTRY(FMOD) ENTRY(MOD) ENTRY(ADD) ENTRY(SUB)
                      ENTRY(MUL) ENTRY(DIV) ENTRY(SQRT) ENTRY(FMA) ENTRY(COPY) ENTRY(NEG) ENTRY(ABS)
                          ENTRY(SIGN) ENTRY(FLOOR) ENTRY(CEIL) ENTRY(TRUNC) ENTRY(ROUND)
                              ENTRY(IS_NAN) ENTRY(IS_INF) ENTRY(NOT) ENTRY(MIN) ENTRY(MAX)
                                  ENTRY(LESS) ENTRY(LESS_EQUAL) ENTRY(EQUAL) ENTRY(AND) ENTRY(OR)
                                      ENTRY(XOR) ENTRY(SELECT)},
    .load = ulp_strip_pair_load,
    .store = ulp_strip_pair_store,
    .constant = constant,
    .spread = spread,
};
