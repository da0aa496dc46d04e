/* The fast path of the MPFR carrier: equal bits to MPFR's own results at every precision it serves,
 * and that it is taken. ULPSCOPE_TEST_LONG=1: a hundred times as many arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number/function/function.h"
#include "number/mpfr_record.h"
#include "number/fixed/batch.h"
#include "number/fixed/fixed_function.h"
#include "number/fixed/series.h"
#include "strip_oracle.h"
#include "tests/support/test.h"

#define COUNT 256
#define LIMBS_MAX 4
#define RECORD_MAX (sizeof(struct ulp_record) + LIMBS_MAX * sizeof(mp_limb_t))

/* Arguments are drawn from both signs of 2^[low, high]; at most one in `spared` may need MPFR. */
static const struct row {
    enum ulp_primitive primitive;
    int low, high;
    size_t spared;
    bool negative; /* often: else nearly never, for others have no result */
} rows[] = {
    {ULP_PRIMITIVE_EXP, -80, 15, 20, true},    {ULP_PRIMITIVE_EXPM1, -26, 14, 20, true},
    {ULP_PRIMITIVE_SIGMOID, -20, 8, 20, true}, {ULP_PRIMITIVE_TANH, -80, 6, 20, true},
    {ULP_PRIMITIVE_ERF, -80, 5, 20, true},     {ULP_PRIMITIVE_LOG, -90, 90, 5, false},
    {ULP_PRIMITIVE_LOG1P, -20, 14, 5, false},  {ULP_PRIMITIVE_SOFTPLUS, -20, 5, 10, true},
    {ULP_PRIMITIVE_SIN, -20, 14, 20, true},    {ULP_PRIMITIVE_COS, -80, 14, 20, true},
    {ULP_PRIMITIVE_ADD, -30, 30, 10, true},    {ULP_PRIMITIVE_SUB, -4, 4, 5, true},
    {ULP_PRIMITIVE_MUL, -90, 90, 20, true},    {ULP_PRIMITIVE_DIV, -90, 90, 20, true},
    {ULP_PRIMITIVE_SQRT, -90, 90, 1, false},   {ULP_PRIMITIVE_POW, -9, 9, 20, true},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static const int precisions[] = {24,  53,  63,  64,  65,  100, 113, 127,
                                 128, 129, 160, 191, 192, 200, 255, 256};
enum { PRECISIONS = sizeof precisions / sizeof precisions[0] };

struct strips {
    _Alignas(64) unsigned char a[COUNT * RECORD_MAX], b[COUNT * RECORD_MAX],
        out[COUNT * RECORD_MAX], expected[COUNT * RECORD_MAX];
};

static struct ulp_strip_rule wide_rule(int precision)
{
    char name[32];
    snprintf(name, sizeof name, "mpfr:%d", precision);
    return oracle_rule(name);
}

/* x = a random value with exponent in low .. high: full significand, or of few bits, or beside a
 * power of two, or beside an integer. */
static void draw(mpfr_t x, const struct row *row, uint64_t *state)
{
    const uint64_t kind = oracle_random(state) % 8, bits = oracle_random(state);
    const long exponent =
        row->low + (long)(oracle_random(state) % (uint64_t)(row->high - row->low + 1));
    mpfr_set_ui_2exp(x, 1, 0, MPFR_RNDN);
    if (kind < 4) {
        for (int i = 0; i < 5; i++) {
            mpfr_div_2ui(x, x, 61, MPFR_RNDN);
            mpfr_add_ui(x, x, (unsigned long)(oracle_random(state) >> 3), MPFR_RNDZ);
        }
    } else if (kind == 4) {
        mpfr_set_flt(x, (float)(bits >> 40 | 1), MPFR_RNDN);
    } else if (kind == 5) {
        mpfr_set_ui(x, (unsigned long)(bits % 64) + 1, MPFR_RNDN);
    } else {
        for (uint64_t i = 0; i <= bits % 3; i++)
            bits >> 60 & 1 ? mpfr_nextabove(x) : mpfr_nextbelow(x);
        if (bits & 1024)
            mpfr_add_ui(x, x, (unsigned long)(bits >> 32 & 15), MPFR_RNDN);
    }
    if (kind != 7) /* these stay about 1 */
        mpfr_mul_2si(x, x, exponent - mpfr_get_exp(x), MPFR_RNDN);
    mpfr_setsign(x, x, (bits >> 20 & (row->negative ? 1 : 31)) == 0, MPFR_RNDN);
}

static void draw_record(struct ulp_record *record, int precision, const struct row *row,
                        uint64_t *state)
{
    mpfr_t x;
    ulp_record_begin(x, record, precision);
    draw(x, row, state);
    ulp_record_close(record, x);
}

static void compute_expected(enum ulp_primitive primitive, struct ulp_record *out,
                             const struct ulp_record *a, const struct ulp_record *b, int precision)
{
    mpfr_t x, y, z;
    ulp_record_open_const(x, a, precision);
    ulp_record_open_const(y, b, precision);
    ulp_record_begin(z, out, precision);
    switch (primitive) {
    case ULP_PRIMITIVE_ADD: mpfr_add(z, x, y, MPFR_RNDN); break;
    case ULP_PRIMITIVE_SUB: mpfr_sub(z, x, y, MPFR_RNDN); break;
    case ULP_PRIMITIVE_MUL: mpfr_mul(z, x, y, MPFR_RNDN); break;
    case ULP_PRIMITIVE_DIV: mpfr_div(z, x, y, MPFR_RNDN); break;
    case ULP_PRIMITIVE_SIGMOID:
    case ULP_PRIMITIVE_SOFTPLUS: { /* MPFR has none: from a result to odd */
        mpfr_t odd;
        if (!mpfr_regular_p(x) || mpfr_get_exp(x) > 20 || mpfr_get_exp(x) < -60) {
            ulp_function_mpfr(primitive, z, x, y, MPFR_RNDN);
            break;
        }
        mpfr_init2(odd, ORACLE_FUNCTION_PRECISION);
        oracle_compute(primitive, odd, x, y, y);
        mpfr_set(z, odd, MPFR_RNDN);
        mpfr_clear(odd);
        break;
    }
    default: ulp_function_mpfr(primitive, z, x, y, MPFR_RNDN);
    }
    ulp_record_close(out, z);
}

static void check_strip(const struct ulp_strip_rule *rule, enum ulp_primitive primitive,
                        struct strips *s, size_t n)
{
    const int precision = rule->precision;
    const size_t bytes = ulp_record_bytes(precision);
    for (size_t i = 0; i < n; i++)
        compute_expected(primitive, ulp_record_at(s->expected, i, precision),
                         ulp_record_at(s->a, i, precision), ulp_record_at(s->b, i, precision),
                         precision);
    ulp_strip_tables[rule->carrier]->primitive[primitive](rule, s->out, s->a, s->b, NULL, n,
                                                          (struct ulp_strip_place){0, 0});
    for (size_t i = 0; i < n; i++) {
        if (memcmp(s->out + i * bytes, s->expected + i * bytes, bytes) == 0)
            continue;
        mpfr_t x, y, z, w;
        char text[2048];
        ulp_record_open(x, ulp_record_at(s->a, i, precision), precision);
        ulp_record_open(w, ulp_record_at(s->b, i, precision), precision);
        ulp_record_open(y, ulp_record_at(s->out, i, precision), precision);
        ulp_record_open(z, ulp_record_at(s->expected, i, precision), precision);
        mpfr_snprintf(text, sizeof text, "%s at %d bits of %Ra (and %Ra): %Ra instead of %Ra",
                      ulp_primitive_rows[primitive].name, precision, x, w, y, z);
        ck_abort_msg("%s", text);
    }
}

/* How many of the strip's elements the fast path decides. */
static size_t count_spared(enum ulp_primitive primitive, struct strips *s, int precision, size_t n)
{
    ulp_wide_fn *const fast = ulp_wide_function(primitive, precision);
    const size_t bytes = ulp_record_bytes(precision);
    size_t done = 0;
    for (size_t i = 0; fast && i < n; i++)
        done += fast(precision, s->out + i * bytes, s->a + i * bytes, s->b + i * bytes, 1);
    return done;
}

START_TEST(equals_mpfr)
{
    const struct row *row = &rows[_i];
    static struct strips s;
    uint64_t state = 1000 + (uint64_t)_i;
    size_t seen = 0, spared = 0;
    for (int p = 0; p < PRECISIONS; p++) {
        const int precision = precisions[p],
                  rounds =
                      (int)test_count(precision == 128 ? 200 : 20, precision == 128 ? 20000 : 2000);
        const struct ulp_strip_rule rule = wide_rule(precision);
        for (int round = 0; round < rounds; round++) {
            for (size_t i = 0; i < COUNT; i++) {
                draw_record(ulp_record_at(s.a, i, precision), precision, row, &state);
                draw_record(ulp_record_at(s.b, i, precision), precision, row, &state);
            }
            for (size_t i = 0;
                 row->primitive == ULP_PRIMITIVE_POW && i < COUNT - (size_t)(round % 3); i++) {
                mpfr_t two; /* squares, which are what powers are served */
                ulp_record_begin(two, ulp_record_at(s.b, i, precision), precision);
                mpfr_set_ui(two, 2, MPFR_RNDN);
                ulp_record_close(ulp_record_at(s.b, i, precision), two);
            }
            check_strip(&rule, row->primitive, &s, COUNT);
            if (round < 4) {
                seen += COUNT;
                spared += count_spared(row->primitive, &s, precision, COUNT);
            }
        }
    }
    const size_t lost = seen - spared;
    ck_assert_msg(lost * row->spared <= seen, "%s: %zu of %zu by MPFR",
                  ulp_primitive_rows[row->primitive].name, lost, seen);
}
END_TEST

/* Zeros come besides, where `spared` says that they are a batch's own. */
static const struct row rows_of_batches[] = {
    {ULP_PRIMITIVE_EXP, -48, 14, 1, true},      {ULP_PRIMITIVE_SIGMOID, -48, 14, 1, true},
    {ULP_PRIMITIVE_EXP, -9, 5, 1, true},        {ULP_PRIMITIVE_SIGMOID, -9, 5, 1, true},
    {ULP_PRIMITIVE_EXPM1, -28, 14, 1, true},    {ULP_PRIMITIVE_EXPM1, -9, 5, 1, true},
    {ULP_PRIMITIVE_TANH, -28, 13, 1, true},     {ULP_PRIMITIVE_TANH, -9, 5, 1, true},
    {ULP_PRIMITIVE_ERF, -28, 14, 1, true},      {ULP_PRIMITIVE_ERF, -9, 4, 1, true},
    {ULP_PRIMITIVE_LOG, -9000, 9000, 0, false}, {ULP_PRIMITIVE_LOG1P, -28, 14, 1, false},
    {ULP_PRIMITIVE_SOFTPLUS, -28, 4, 1, true},
};
enum { ROWS_OF_BATCHES = sizeof rows_of_batches / sizeof rows_of_batches[0] };

/* Has the argument no result, or one that is a single element's or MPFR's: of log beside 1, of
 * log1p beside -1? */
static bool is_apart(enum ulp_primitive primitive, const mpfr_t x)
{
    mpfr_t rest;
    mpfr_init2(rest, 300);
    mpfr_sub_ui(rest, x, 1, MPFR_RNDN);
    const bool near = mpfr_cmp_d(rest, 0x1p-30) < 0 && mpfr_cmp_d(rest, -0x1p-30) > 0;
    mpfr_clear(rest);
    return primitive == ULP_PRIMITIVE_LOG
               ? near || mpfr_sgn(x) < 0
               : primitive == ULP_PRIMITIVE_LOG1P && mpfr_cmp_d(x, -0.9) < 0;
}

/* Arguments that are all a batch's own, zeros among them: MPFR's bits, and at 128 bits, where next
 * to none is too near a tie, nearly nothing is left to one element after the other, which stops at
 * zeros. */
START_TEST(batches)
{
    const struct row *row = &rows_of_batches[_i];
    static const int precisions_of_batches[] = {65, 100, 113, 127, 128};
    static struct strips s;
    uint64_t state = 2000 + (uint64_t)_i;
    size_t strips = 0, left = 0;
    for (int p = 0; p < 5; p++) {
        const int precision = precisions_of_batches[p];
        const struct ulp_strip_rule rule = wide_rule(precision);
        ulp_wide_fn *const batch = ulp_wide_batch(row->primitive, precision);
        for (int round = 0; round < (int)test_count(20, 2000); round++) {
            for (size_t i = 0; i < COUNT; i++) {
                struct ulp_record *record = ulp_record_at(s.a, i, precision);
                mpfr_t x;
                do {
                    ulp_record_begin(x, record, precision);
                    draw(x, row, &state);
                } while (mpfr_get_exp(x) < row->low || mpfr_get_exp(x) > row->high ||
                         is_apart(row->primitive, x));
                if (row->spared && oracle_random(&state) % 8 == 0)
                    mpfr_set_zero(x, oracle_random(&state) % 2 ? 1 : -1);
                ulp_record_close(record, x);
            }
            check_strip(&rule, row->primitive, &s, COUNT);
            if (batch && precision == 128) {
                strips++;
                left += batch(precision, s.out, s.a, s.a, COUNT) < COUNT;
            }
        }
    }
    /* with the most leading zeros, one element in 2^18 */
    ck_assert_uint_le(500 * left, strips);
}
END_TEST

static void add_expected(struct ulp_record *sum, const struct ulp_record *term, int precision)
{
    _Alignas(64) unsigned char next[RECORD_MAX];
    compute_expected(ULP_PRIMITIVE_ADD, (struct ulp_record *)(void *)next, sum, term, precision);
    memcpy(sum, next, ulp_record_bytes(precision));
}

/* A sum of records one after the other is that of MPFR's additions, and stops at what these alone
 * decide: zeros, infinities and NaN, exponents too far apart, sums that cancel. */
START_TEST(adds_in_a_chain)
{
    static const struct row near = {ULP_PRIMITIVE_ADD, -3, 3, 0, true},
                            far = {ULP_PRIMITIVE_ADD, -90, 90, 0, true};
    static struct strips s;
    uint64_t state = 3000;
    size_t fast = 0, terms = 0;
    for (int p = 0; p < PRECISIONS; p++) {
        const int precision = precisions[p];
        const size_t bytes = ulp_record_bytes(precision);
        struct ulp_record *const sum = ulp_record_at(s.out, 0, precision),
                                 *const expected = ulp_record_at(s.expected, 0, precision);
        for (int round = 0; round < (int)test_count(200, 20000); round++) {
            for (size_t i = 0; i < COUNT; i++) {
                struct ulp_record *record = ulp_record_at(s.a, i, precision);
                const uint64_t kind = oracle_random(&state) % 64;
                draw_record(record, precision, round % 4 ? &near : &far, &state);
                if (kind == 0 && i > 0) { /* all or nearly all of it cancels */
                    memcpy(record, ulp_record_at(s.a, i - 1, precision), bytes);
                    record->kind = -record->kind;
                } else if (kind == 1 || (kind == 2 && round % 50 == 0)) {
                    record->kind = kind == 1     ? MPFR_ZERO_KIND
                                   : round % 100 ? MPFR_INF_KIND
                                                 : MPFR_NAN_KIND;
                }
            }
            memcpy(sum, s.a, bytes);
            memcpy(expected, s.a, bytes);
            for (size_t i = 1, done; i < COUNT; i++) {
                done = ulp_wide_add_chain(precision, sum, s.a + i * bytes, COUNT - i);
                ck_assert_uint_le(done, COUNT - i);
                for (size_t end = i + done; i < end; i++)
                    add_expected(expected, ulp_record_at(s.a, i, precision), precision);
                ck_assert_mem_eq(sum, expected, bytes);
                fast += done;
                if (i < COUNT)
                    add_expected(expected, ulp_record_at(s.a, i, precision), precision);
                memcpy(sum, expected, bytes);
            }
            terms += COUNT - 1;
        }
    }
#ifdef ULP_LIMBS
    ck_assert_uint_ge(4 * fast, 3 * terms);
#endif
}
END_TEST

/* Specials, the ends of ranges and of cells, each with its neighbours and both signs. */
START_TEST(edges)
{
    const struct row *row = &rows[_i];
    static const double values[] = {0,
                                    1,
                                    2,
                                    3,
                                    0.5,
                                    0.25,
                                    0.03125,
                                    0.015625,
                                    0.75,
                                    4,
                                    6.78,
                                    8,
                                    9.49,
                                    10,
                                    11.6,
                                    12,
                                    13.4,
                                    14,
                                    16,
                                    44.5,
                                    45,
                                    88.7,
                                    89,
                                    90,
                                    133.5,
                                    177,
                                    178,
                                    256,
                                    1024,
                                    16383,
                                    16384,
                                    1e5,
                                    0x1p30,
                                    0x1p-20,
                                    0x1p-30,
                                    0x1p-40,
                                    0x1p-60,
                                    0x1p-61,
                                    0x1p-64,
                                    0x1p-128,
                                    0x1p-200,
                                    0x1p-1000,
                                    0x1p100,
                                    0.693147180559945309417,
                                    1.57079632679489661923,
                                    3.14159265358979323846,
                                    1e-300,
                                    1e300};
    enum { VALUES = sizeof values / sizeof values[0] };
    static struct strips s;
    for (int p = 0; p < PRECISIONS; p++) {
        const int precision = precisions[p];
        const struct ulp_strip_rule rule = wide_rule(precision);
        for (size_t v = 0; v <= VALUES; v++) {
            size_t n = 0;
            for (int near = -2; near <= 2; near++)
                for (int negative = 0; negative < 2; negative++, n++) {
                    struct ulp_record *record = ulp_record_at(s.a, n, precision);
                    mpfr_t x;
                    ulp_record_begin(x, record, precision);
                    if (v < VALUES)
                        mpfr_set_d(x, values[v], MPFR_RNDN);
                    else if (near)
                        mpfr_set_inf(x, 1);
                    for (int k = 0; k < abs(near) && v < VALUES && v > 0; k++)
                        near > 0 ? mpfr_nextabove(x) : mpfr_nextbelow(x);
                    mpfr_setsign(x, x, negative, MPFR_RNDN);
                    ulp_record_close(record, x);
                    memcpy(ulp_record_at(s.b, COUNT - 1 - n, precision), record,
                           ulp_record_bytes(precision));
                }
            if (row->primitive == ULP_PRIMITIVE_EXP && values[v < VALUES ? v : 0] > 1e9)
                /* huge results: MPFR's exponents have no end here, and it takes its time */
                continue;
            memmove(s.b, ulp_record_at(s.b, COUNT - n, precision), n * ulp_record_bytes(precision));
            check_strip(&rule, row->primitive, &s, n);
        }
    }
}
END_TEST

#ifdef ULP_LIMBS
/* An eighth of x 2^(64 limbs) rounded to an integer. */
static void eighth(mpz_t out, mpfr_t x, int limbs)
{
    mpfr_mul_2si(x, x, 64 * limbs - 3, MPFR_RNDN);
    mpfr_get_z(out, x, MPFR_RNDN);
}

/* A coefficient of `limbs` limbs in two's complement. */
static void read_fixed(mpz_t out, const uint64_t *limb, int limbs)
{
    mpz_import(out, (size_t)limbs, -1, sizeof *limb, 0, 0, limb);
    if (limb[limbs - 1] >> 63) {
        mpz_t power;
        mpz_init(power);
        mpz_ui_pow_ui(power, 2, 64 * (unsigned long)limbs);
        mpz_sub(out, out, power);
        mpz_clear(power);
    }
}

/* erf and its slope at the beginning of every cell are those of MPFR, rounded: each cell is made
 * from the one before. */
START_TEST(erf_cells_equal_mpfr)
{
    const int limbs = _i;
    const struct ulp_series *series = ulp_series_get(ULP_SERIES_ERF, limbs);
    ck_assert(series && series->steps[limbs] >= 2);
    const size_t cells = (size_t)ulp_series_erf_end(limbs) << series->width_bits;
    mpz_t expected, found;
    mpfr_t x, y, slope;
    mpz_inits(expected, found, NULL);
    mpfr_inits2(64 * limbs + 400, x, y, slope, (mpfr_ptr)0);
    for (size_t cell = 0; cell <= cells; cell++) {
        const uint64_t *const end = series->coefficients + (cell + 1) * series->stride;
        mpfr_set_ui_2exp(x, cell, -series->width_bits, MPFR_RNDN);
        mpfr_erf(y, x, MPFR_RNDN);
        eighth(expected, y, limbs);
        read_fixed(found, end - limbs, limbs);
        ck_expect(mpz_cmp(expected, found) == 0, "erf of cell %zu, %d limbs", cell, limbs);
        mpfr_sqr(x, x, MPFR_RNDN);
        mpfr_neg(x, x, MPFR_RNDN);
        mpfr_exp(y, x, MPFR_RNDN);
        mpfr_const_pi(slope, MPFR_RNDN);
        mpfr_rec_sqrt(slope, slope, MPFR_RNDN);
        mpfr_mul(y, y, slope, MPFR_RNDN);
        mpfr_mul_2si(y, y, 1 - series->width_bits, MPFR_RNDN);
        eighth(expected, y, limbs);
        read_fixed(found, end - 2 * limbs, limbs);
        ck_expect(mpz_cmp(expected, found) == 0, "erf' of cell %zu, %d limbs", cell, limbs);
    }
    mpfr_clears(x, y, slope, (mpfr_ptr)0);
    mpz_clears(expected, found, NULL);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("wide functions");
    TCase *random = tcase_create("random"), *special = tcase_create("edges");
    tcase_set_timeout(random, 3600);
    tcase_add_loop_test(random, equals_mpfr, 0, ROWS);
    tcase_add_loop_test(random, batches, 0, ROWS_OF_BATCHES);
    tcase_add_loop_test(special, edges, 0, ROWS);
    tcase_add_test(special, adds_in_a_chain);
#ifdef ULP_LIMBS
    tcase_add_loop_test(special, erf_cells_equal_mpfr, ULP_SERIES_LIMBS_MIN,
                        ULP_SERIES_LIMBS_MAX + 1);
#endif
    suite_add_tcase(suite, random);
    suite_add_tcase(suite, special);
    return test_run(suite, NULL);
}
