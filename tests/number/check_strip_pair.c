/* The pair carrier: every primitive is within the bound that it gives of MPFR's result, for
 * operands as they are and for what they may be within their own errors; what it calls exact is;
 * decisions are MPFR's or unknown; and bits are the same without fused steps and vectors. */
#include <stdatomic.h>

#include "base/machine/cpu.h"
#include "number/strip/strip_pair.h"
#include "strip_oracle.h"
#include "tests/support/test.h"

#define COUNT 131 /* chunks of 64 and a rest */

static uint64_t state = 11;

static double draw_double(int exponents)
{
    const double x = 1 + (double)(oracle_random(&state) >> 12) * 0x1p-52;
    const int exponent = (int)(oracle_random(&state) % (uint64_t)(2 * exponents + 1)) - exponents;
    return ldexp(oracle_random(&state) % 2 ? x : -x, exponent);
}

/* Ordinary pairs, doubles, small integers and halves, pairs with a gap, ends of the range, what is
 * outside, zeros and what is not finite. */
static struct ulp_strip_pair draw_pair(void)
{
    static const double specials[] = {0,         -0.0,   INFINITY,  -INFINITY, NAN,
                                      0x1p-1074, 1e-300, 0x1p-900,  0x1p900,   0x1.8p899,
                                      0x1p1000,  1e300,  -0x1p-950, 700,       -750};
    struct ulp_strip_pair x = {draw_double(4), 0, 0};
    switch (oracle_random(&state) % 12) {
    case 0: x.high = specials[oracle_random(&state) % (sizeof specials / sizeof *specials)]; break;
    case 1: x.high = ((double)(oracle_random(&state) % 64) - 32) / 2; break;
    case 2: x.high = draw_double(880); break;
    case 3: x.high = ldexp(1, (int)(oracle_random(&state) % 100) - 50); break;
    case 4: break; /* a double */
    case 5:        /* far below */
        x.high = ulp_pair_join(x.high, draw_double(3) * 0x1p-120, &x.low);
        break;
    case 6: /* beside an integer or a half */
        x.high = ulp_pair_join(((double)(oracle_random(&state) % 64) - 32) / 2,
                               draw_double(3) * 0x1p-90, &x.low);
        break;
    default: x.high = ulp_pair_join(x.high, draw_double(3) * 0x1p-56, &x.low);
    }
    return x;
}

static void get(mpfr_t out, const struct ulp_strip_pair *x)
{
    ulp_pair_get(out, x->high, x->low);
}

struct operands {
    struct ulp_strip_pair x[3][COUNT];
};

/* Some are near each other, some cancel. */
static void draw_operands(struct operands *o)
{
    static const double powers[] = {2, 3, 0.5, -1, 1, 0};
    const uint64_t one = oracle_random(&state) % 12;
    for (size_t i = 0; i < COUNT; i++) {
        for (int k = 0; k < 3; k++)
            o->x[k][i] = draw_pair();
        if (i % 5 == 1)
            o->x[1][i] = o->x[0][i];
        if (i % 5 == 2 && isfinite(o->x[0][i].high))
            o->x[1][i].high =
                ulp_pair_join(-o->x[0][i].high, -o->x[0][i].low + 0x1p-100, &o->x[1][i].low);
        if (one < 6) /* all of one, as exponents are */
            o->x[1][i] = (struct ulp_strip_pair){powers[one], 0, 0};
    }
}

static void report(enum ulp_primitive p, const struct ulp_strip_pair *a,
                   const struct ulp_strip_pair *b, const struct ulp_strip_pair *y,
                   const mpfr_t wanted)
{
    char text[600];
    mpfr_snprintf(text, sizeof text,
                  "%s(%a + %a up to %g, %a + %a up to %g) = %a + %a up to %g: %Ra",
                  ulp_primitive_rows[p].name, a->high, a->low, a->error, b->high, b->low, b->error,
                  y->high, y->low, y->error, wanted);
    ck_abort_msg("%s", text);
}

static bool is_within(mpfr_t x, double most)
{
    mpfr_abs(x, x, MPFR_RNDA);
    return mpfr_cmp_d(x, most) <= 0;
}

/* y is wanted, to odd, within its error; what is not finite, and a zero's sign, are that. */
static void check_result(enum ulp_primitive p, const struct ulp_strip_pair *a,
                         const struct ulp_strip_pair *b, const struct ulp_strip_pair *y,
                         const mpfr_t wanted, bool signs)
{
    scoped_mpfr got, apart;
    mpfr_inits2(ORACLE_PRECISION, got, apart, (mpfr_ptr)0);
    bool good = y->error == INFINITY;
    if (!good && y->error >= 0) {
        get(got, y);
        mpfr_sub(apart, got, wanted, MPFR_RNDA);
        const bool zero = mpfr_zero_p(wanted) && mpfr_zero_p(got) && y->error == 0 && signs;
        good = !mpfr_number_p(wanted) || !isfinite(y->high)
                   ? oracle_same(got, wanted)
                   : (zero ? oracle_same(got, wanted) : is_within(apart, y->error));
        good = good && (!isfinite(y->high) || y->high + y->low == y->high);
    }
    if (!good)
        report(p, a, b, y, wanted);
}

/* Functions to what is far below a pair's least low part. */
static int find_precision(enum ulp_primitive p)
{
    return ulp_primitive_rows[p].result == ULP_RESULT_FUNCTION ? 1500 : ORACLE_PRECISION;
}

static size_t unknown_count, exact_count;

static void check_operands(enum ulp_primitive p, const struct operands *o)
{
    static const struct ulp_strip_rule rule = {.carrier = ULP_STRIP_PAIR};
    const int arity = ulp_primitive_rows[p].arity;
    struct ulp_strip_pair y[COUNT], other[COUNT];
    const unsigned present = ulp_cpu_features();
    mpfr_t x[3], wanted;
    ulp_strip_pair.primitive[p](&rule, y, o->x[0], arity > 1 ? o->x[1] : NULL,
                                arity > 2 ? o->x[2] : NULL, COUNT, (struct ulp_strip_place){0});
    for (int set = 0; set < 2; set++) { /* AVX2 alone, and neither */
        atomic_store(&ulp_cpu_found, set ? 0 : present & (ULP_CPU_AVX2 | ULP_CPU_F16C));
        memcpy(other, o->x[0], sizeof other); /* in place, too */
        ulp_strip_pair.primitive[p](&rule, other, other, arity > 1 ? o->x[1] : NULL,
                                    arity > 2 ? o->x[2] : NULL, COUNT, (struct ulp_strip_place){0});
        atomic_store(&ulp_cpu_found, present);
        for (size_t i = 0; i < COUNT; i++)
            ck_expect(memcmp(&y[i], &other[i], sizeof *y) == 0 ||
                          (isnan(y[i].high) && isnan(other[i].high) &&
                           y[i].error == other[i].error),
                      "%s(%a + %a, %a + %a) = %a + %a up to %g, without vectors %a + %a up to %g",
                      ulp_primitive_rows[p].name, o->x[0][i].high, o->x[0][i].low, o->x[1][i].high,
                      o->x[1][i].low, y[i].high, y[i].low, y[i].error, other[i].high, other[i].low,
                      other[i].error);
    }
    for (int k = 0; k < 3; k++)
        mpfr_init2(x[k], ORACLE_PRECISION);
    mpfr_init2(wanted, find_precision(p));
    for (size_t i = 0; i < COUNT; i++) {
        const struct ulp_strip_pair *a = &o->x[0][i], *b = &o->x[1][i];
        unknown_count += y[i].error == INFINITY;
        exact_count += y[i].error == 0;
        /* as they are, and at the ends of what they may be */
        for (int end = 0; end < 5; end++) {
            bool errors = false;
            for (int k = 0; k < 3; k++) {
                const double move = end == 0 ? 0 : (end >> (k > 0) & 1 ? 1 : -1) * o->x[k][i].error;
                get(x[k], &o->x[k][i]);
                errors = errors || (k < arity && o->x[k][i].error != 0);
                if (mpfr_number_p(x[k]) && move != 0 && isfinite(move))
                    mpfr_add_d(x[k], x[k], move, MPFR_RNDN);
            }
            oracle_compute(p, wanted, x[0], x[1], x[2]);
            /* the reference's exponents have ends, too */
            mpfr_check_range(wanted, 0, MPFR_RNDN);
            if (mpfr_regular_p(wanted) && mpfr_get_exp(wanted) == mpfr_get_emax())
                mpfr_set_inf(wanted, mpfr_sgn(wanted)); /* to odd it was the largest number */
            check_result(p, a, b, &y[i], wanted, !errors);
            if (!errors)
                break;
        }
    }
    mpfr_clears(x[0], x[1], x[2], wanted, (mpfr_ptr)0);
}

TEST_LOOP(primitives_keep_their_bounds, 0, ULP_PRIMITIVE_COUNT)
{
    const enum ulp_primitive p = (enum ulp_primitive)_i;
    const bool function = ulp_primitive_rows[p].result == ULP_RESULT_FUNCTION;
    struct operands o;
    if (!ulp_strip_pair.primitive[p])
        return;
    state = (uint64_t)_i;
    for (uint64_t round = 0; round < test_count(function ? 3 : 20, function ? 300 : 5000);
         round++) {
        draw_operands(&o);
        check_operands(p, &o);
        for (int k = 0; k < 3; k++) /* operands that are not exact */
            for (size_t i = 0; i < COUNT; i++)
                if (isfinite(o.x[k][i].high) && oracle_random(&state) % 3)
                    o.x[k][i].error =
                        ldexp(fabs(o.x[k][i].high), -(int)(oracle_random(&state) % 110));
        check_operands(p, &o);
    }
}

/* ---- records that carry bounds ---- */

enum { BITS = ULP_PAIR_RECORD_BITS, BYTES = 16 + BITS / 8 };
struct records {
    _Alignas(8) char at[COUNT * BYTES];
};

static struct ulp_record *record_at(struct records *records, size_t i)
{
    return (struct ulp_record *)(void *)(records->at + i * BYTES);
}

/* Pairs as records, whose errors are the next powers of two. */
static void put_records(struct records *out, struct ulp_strip_pair *x)
{
    for (size_t i = 0; i < COUNT; i++) {
        mpfr_t y;
        struct ulp_record *const record = record_at(out, i);
        const int exponent = x[i].error > 0 ? ilogb(x[i].error) + 1 : 0;
        ulp_record_begin(y, record, BITS);
        if (ulp_pair_get(y, x[i].high, x[i].low) != 0) { /* too far apart */
            x[i].low = 0;
            get(y, &x[i]);
        }
        ulp_record_close(record, y);
        x[i].error = x[i].error > 0 ? ldexp(1, exponent == 0 ? 1 : exponent) : 0;
        ulp_record_set_error(record, exponent == 0 && x[i].error > 0 ? 1 : exponent);
    }
}

/* The record is f(x), to odd, within its error. */
static void check_record(enum ulp_primitive p, struct records *y, size_t i,
                         const struct operands *o, const mpfr_t wanted)
{
    const int32_t error = ulp_record_error(record_at(y, i));
    mpfr_t got, apart, most;
    ulp_record_open(got, record_at(y, i), BITS);
    mpfr_inits2(ORACLE_PRECISION, apart, most, (mpfr_ptr)0);
    mpfr_set_ui_2exp(most, error != 0, error, MPFR_RNDN);
    mpfr_sub(apart, got, wanted, MPFR_RNDA);
    const bool numbers = mpfr_number_p(got) && mpfr_number_p(wanted),
               good = error == INT32_MAX ||
                      (numbers ? mpfr_cmpabs(apart, most) <= 0 : oracle_same(got, wanted));
    if (!good) {
        char text[600];
        mpfr_snprintf(text, sizeof text, "%s(%a up to %g, %a up to %g) = %.10Re up to 2^%d: %.10Re",
                      ulp_primitive_rows[p].name, o->x[0][i].high, o->x[0][i].error,
                      o->x[1][i].high, o->x[1][i].error, got, error, wanted);
        ck_abort_msg("%s", text);
    }
    mpfr_clears(apart, most, (mpfr_ptr)0);
}

static size_t bounded_count;

TEST_LOOP(records_keep_their_bounds, 0, ULP_PRIMITIVE_COUNT)
{
    static const struct ulp_strip_rule rule = {.carrier = ULP_STRIP_MPFR,
                                               .precision = BITS,
                                               .bounded = true};
    const enum ulp_primitive p = (enum ulp_primitive)_i;
    static struct records x[3], y;
    struct operands o;
    if (!ulp_strip_mpfr.primitive[p])
        return;
    state = (uint64_t)_i;
    for (uint64_t round = 0; round < test_count(8, 800); round++) {
        draw_operands(&o);
        for (int k = 0; k < 3; k++) {
            for (size_t i = 0; i < COUNT; i++)
                if (isfinite(o.x[k][i].high) && oracle_random(&state) % 3)
                    o.x[k][i].error =
                        ldexp(fabs(o.x[k][i].high), -(int)(oracle_random(&state) % 110));
            put_records(&x[k], o.x[k]);
        }
        ulp_strip_mpfr.primitive[p](&rule, &y, &x[0], &x[1], &x[2], COUNT,
                                    (struct ulp_strip_place){0});
        mpfr_t v[3], wanted;
        mpfr_inits2(ORACLE_PRECISION, v[0], v[1], v[2], (mpfr_ptr)0);
        mpfr_init2(wanted, find_precision(p));
        for (size_t i = 0; i < COUNT; i++) {
            bounded_count += ulp_record_error(record_at(&y, i)) != INT32_MAX;
            for (int end = 0; end < 5; end++) {
                for (int k = 0; k < 3; k++) {
                    get(v[k], &o.x[k][i]);
                    if (end > 0 && o.x[k][i].error > 0)
                        mpfr_add_d(v[k], v[k], (end >> (k > 0) & 1 ? 1 : -1) * o.x[k][i].error,
                                   MPFR_RNDN);
                }
                oracle_compute(p, wanted, v[0], v[1], v[2]);
                mpfr_check_range(wanted, 0, MPFR_RNDN);
                check_record(p, &y, i, &o, wanted);
            }
        }
        mpfr_clears(v[0], v[1], v[2], wanted, (mpfr_ptr)0);
    }
    ck_assert_uint_gt(bounded_count, 0);
}

/* What is exact in doubles and in pairs is called exact: decisions hang on nothing then. */
TEST(doubles_are_exact)
{
    static const struct ulp_strip_rule rule = {.carrier = ULP_STRIP_PAIR};
    static const struct {
        enum ulp_primitive primitive;
        double a, b, y;
    } rows[] = {
        {ULP_PRIMITIVE_ADD, 1, 0x1p-80, 1},
        {ULP_PRIMITIVE_SUB, 3, 3, 0},
        {ULP_PRIMITIVE_MUL, 0.1, 0.3, 0.03},
        {ULP_PRIMITIVE_DIV, 7.5, 2.5, 3},
        {ULP_PRIMITIVE_DIV, 0.75, -0.5, -1.5},
        {ULP_PRIMITIVE_DIV, 0, 5, 0},
        {ULP_PRIMITIVE_SQRT, 6.25, 0, 2.5},
        {ULP_PRIMITIVE_MAX, -3, 0, 0},
        {ULP_PRIMITIVE_ROUND, 2.5, 0, 2},
        {ULP_PRIMITIVE_ROUND, -3.5, 0, -4},
        {ULP_PRIMITIVE_FLOOR, -0.5, 0, -1},
        {ULP_PRIMITIVE_TRUNC, -0.5, 0, -0.0},
        {ULP_PRIMITIVE_LESS, 1, 1, 0},
        {ULP_PRIMITIVE_MIN, 0, -0.0, -0.0},
        {ULP_PRIMITIVE_MUL, INFINITY, -2, -INFINITY},
        {ULP_PRIMITIVE_ADD, -INFINITY, 3, -INFINITY},
        {ULP_PRIMITIVE_EXP, -INFINITY, 0, 0},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct ulp_strip_pair a = {rows[r].a, 0, 0}, b = {rows[r].b, 0, 0};
        struct ulp_strip_pair y;
        ulp_strip_pair.primitive[rows[r].primitive](&rule, &y, &a, &b, NULL, 1,
                                                    (struct ulp_strip_place){0});
        ck_assert_msg(fabs(y.high - rows[r].y) <= 0x1p-52 || y.high == rows[r].y, "row %zu: %g", r,
                      y.high);
        ck_assert_msg(y.error == 0 && signbit(y.high) == signbit(rows[r].y), "row %zu: up to %g", r,
                      y.error);
    }
}

/* A store notes what is not settled, and nothing else. */
TEST(stores_note_what_is_open)
{
    static const struct ulp_strip_rule rule = {.carrier = ULP_STRIP_PAIR};
    static const struct {
        enum ulp_element element;
        enum ulp_type type;
        const char *storage;
        struct ulp_strip_pair x;
        double stored;
        size_t noted;
    } rows[] = {
        {ULP_ELEMENT_PAIR, ULP_TYPE_FLOAT, NULL, {1.5, 0x1p-80, 0x1p-100}, 1.5, 0},
        {ULP_ELEMENT_PAIR, ULP_TYPE_FLOAT, NULL, {0x1p-90, 0, 0x1p-100}, 0x1p-90, 1},
        {ULP_ELEMENT_PAIR, ULP_TYPE_FLOAT, NULL, {0, 0, 0x1p-500}, 0, 1},
        {ULP_ELEMENT_PAIR, ULP_TYPE_FLOAT, NULL, {0x1p-901, 0, 0}, 0x1p-901, ULP_NOTE_OUTSIDE},
        {ULP_ELEMENT_PAIR, ULP_TYPE_FLOAT, NULL, {-INFINITY, 0, 0}, -INFINITY, 0},
        {ULP_ELEMENT_PAIR, ULP_TYPE_FLOAT, NULL, {NAN, 0, INFINITY}, NAN, 1},
        /* halfway in FP16 (1 + 2^-11), but for what is far below, and but for the error */
        {ULP_ELEMENT_F32, ULP_TYPE_FLOAT16, "fp16", {1 + 0x1p-11, 0, 0}, 1, 0},
        {ULP_ELEMENT_F32, ULP_TYPE_FLOAT16, "fp16", {1 + 0x1p-11, 0x1p-90, 0}, 1 + 0x1p-10, 0},
        {ULP_ELEMENT_F32, ULP_TYPE_FLOAT16, "fp16", {1 + 0x1p-11, 0, 0x1p-99}, 1, 1},
        {ULP_ELEMENT_F32, ULP_TYPE_FLOAT16, "fp16", {1 + 0x1p-20, 0, 0x1p-99}, 1, 0},
        {ULP_ELEMENT_F64, ULP_TYPE_DOUBLE, "fp64", {1, -0x1p-70, 0x1p-99}, 1, 0},
        {ULP_ELEMENT_I32, ULP_TYPE_INT32, NULL, {3, -0x1p-70, 0}, 2, 0},
        {ULP_ELEMENT_I32, ULP_TYPE_INT32, NULL, {3, -0x1p-70, 0x1p-60}, 0, 1},
        {ULP_ELEMENT_I32, ULP_TYPE_INT32, NULL, {-0x1p40 - 0.5, 0, 0x1p-9}, -0x1p31, 0},
        {ULP_ELEMENT_I64, ULP_TYPE_INT64, NULL, {0x1p62, -1, 0}, 0x1p62, 0},
        {ULP_ELEMENT_BOOL, ULP_TYPE_BOOL, NULL, {0, 0, 0x1p-300}, 0, 1},
        {ULP_ELEMENT_BOOL, ULP_TYPE_BOOL, NULL, {0x1p-200, 0, 0x1p-300}, 1, 0},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        scoped_tensor out = {0};
        struct ulp_format storage;
        ck_ok(ulp_tensor_create(&out, rows[r].type, rows[r].element, 0, 0, NULL, &why));
        if (rows[r].storage)
            ck_ok(ulp_format_find(rows[r].storage, &storage, &why));
        (void)ulp_notes_take();
        ulp_strip_pair_store(&rule, rows[r].storage ? &storage : NULL, &out, 0, NULL, 1, &rows[r].x,
                             1, (struct ulp_strip_place){0});
        const size_t noted = ulp_notes_take();
        const double stored = ulp_tensor_get(&out, 0);
        ck_assert_msg(noted == rows[r].noted, "row %zu: %zu noted", r, noted);
        ck_assert_msg(noted || stored == rows[r].stored, "row %zu: %a", r, stored);
    }
}

TEST_SUITE("pairs of doubles", 600)
