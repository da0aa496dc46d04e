/* analysis: every measure against a direct computation at 400 bits, specials, limits. */
#include "tests/support/test.h"

#include "analysis/measure/median.h"
#include "analysis/measure/metrics.h"
#include "number/mpfr_record.h"
#include "tests/analysis/wide.h"

static void make_float(struct ulp_tensor *t, int64_t count)
{
    ck_ok(ulp_tensor_create(t, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, &count, &why));
}

static void make_double(struct ulp_tensor *t, int64_t count)
{
    ck_ok(ulp_tensor_create(t, ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, 1, &count, &why));
}

static void make_wide(struct ulp_tensor *t, int64_t count)
{
    ck_ok(ulp_tensor_create(t, ULP_TYPE_FLOAT, ULP_ELEMENT_WIDE, 128, 1, &count, &why));
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Direct sums at 400 bits; relative error of the library's double figures is a few 2^-53 times the
 * number of chunks and of chunk elements: 1e-11 covers 20,000 elements (20,000 * 2^-53 = 2.2e-12)
 * with room for the final square root and division. */
#define TOLERANCE 1e-11
#define CLOSE(a, b)                                                                                \
    ck_assert_msg(fabs((a) - (b)) <= TOLERANCE * fabs(b), #a " %.17g expected %.17g", (double)(a), \
                  (double)(b))

static void check_against_direct(const struct ulp_tensor *value, const struct ulp_tensor *base,
                                 const struct ulp_format *format, const struct ulp_metrics *got)
{
    scoped_mpfr d, b, v, t, sum_d, sum_d2, sum_b2, sum_v2, sum_vb;
    mpfr_inits2(400, d, b, v, t, sum_d, sum_d2, sum_b2, sum_v2, sum_vb, (mpfr_ptr)0);
    mpfr_set_zero(sum_d, 1), mpfr_set_zero(sum_d2, 1), mpfr_set_zero(sum_b2, 1),
        mpfr_set_zero(sum_v2, 1), mpfr_set_zero(sum_vb, 1);
    double max_abs = 0, max_rel = 0, max_ulp = 0, *ulps = malloc(value->count * sizeof *ulps);
    size_t worst = 0, n = value->count;
    for (size_t i = 0; i < n; i++) {
        mpfr_t record;
        mpfr_set_d(v, ulp_tensor_get(value, i), MPFR_RNDN);
        ulp_record_open_const(record, ulp_record_at_const(base->data, i, 128), 128);
        mpfr_set(b, record, MPFR_RNDN);
        mpfr_sub(d, v, b, MPFR_RNDN);
        mpfr_add(sum_d, sum_d, d, MPFR_RNDN);
        mpfr_fma(sum_d2, d, d, sum_d2, MPFR_RNDN);
        mpfr_fma(sum_b2, b, b, sum_b2, MPFR_RNDN);
        mpfr_fma(sum_v2, v, v, sum_v2, MPFR_RNDN);
        mpfr_fma(sum_vb, v, b, sum_vb, MPFR_RNDN);
        double magnitude = fabs(mpfr_get_d(d, MPFR_RNDN));
        if (magnitude > max_abs)
            max_abs = magnitude, worst = i;
        mpfr_div(t, d, b, MPFR_RNDN);
        max_rel = fmax(max_rel, fabs(mpfr_get_d(t, MPFR_RNDN)));
        ulps[i] = magnitude / ulp_format_ulp(format, mpfr_get_d(b, MPFR_RNDN));
        max_ulp = fmax(max_ulp, ulps[i]);
    }
    qsort(ulps, n, sizeof *ulps, compare_doubles);
    ck_assert(got->max_abs == max_abs);
    ck_assert_uint_eq(got->worst_index, worst);
    ck_assert(got->median_ulp == ulps[(n - 1) / 2]);
    ck_assert(got->max_ulp == max_ulp);
    CLOSE(got->max_rel, max_rel);
    CLOSE(got->rms, sqrt(mpfr_get_d(sum_d2, MPFR_RNDN) / (double)n));
    /* The mean may cancel: its error is bounded by that of a sum of terms of size max_abs. */
    ck_assert(fabs(got->mean - mpfr_get_d(sum_d, MPFR_RNDN) / (double)n) <= TOLERANCE * max_abs);
    mpfr_mul(t, sum_b2, sum_v2, MPFR_RNDN);
    mpfr_sqrt(t, t, MPFR_RNDN);
    mpfr_div(t, sum_vb, t, MPFR_RNDN);
    CLOSE(got->cosine, mpfr_get_d(t, MPFR_RNDN));
    mpfr_div(t, sum_b2, sum_d2, MPFR_RNDN);
    mpfr_log10(t, t, MPFR_RNDN);
    CLOSE(got->sqnr_db, 10 * mpfr_get_d(t, MPFR_RNDN));
    free(ulps);
}

/* Against plain loops; the tensor's elements are within 2^20 of one another, so that squares
 * neither overflow nor vanish. */
static void check_range(const struct ulp_tensor *base, const struct ulp_range *got)
{
    double max = 0, min = INFINITY, sum = 0;
    for (size_t i = 0; i < base->count; i++) {
        const double x = fabs(ulp_tensor_get(base, i));
        max = fmax(max, x);
        min = x > 0 ? fmin(min, x) : min;
        sum += x * x;
    }
    ck_assert(got->ref_max == max && got->ref_min_nonzero == min);
    /* n additions of positive numbers and a few roundings on each side: relative (n + 8) 2^-53
     * each, halved by the root */
    ck_assert(fabs(got->ref_rms / sqrt(sum / (double)base->count) - 1) <=
              ((double)base->count + 8) * 0x1p-53);
}

/* Without the elements that are NaN on both sides, which figures leave out. */
static void check_without_nan(const struct ulp_tensor *value, const struct ulp_tensor *base,
                              const struct ulp_format *format, struct ulp_metrics got)
{
    scoped_tensor values = {0}, bases = {0};
    size_t n = 0, worst = 0;
    ck_assert_uint_eq(got.nonfinite, 0);
    for (size_t i = 0; i < value->count; i++)
        n += !isnan(ulp_tensor_get(value, i));
    make_float(&values, (int64_t)n);
    make_wide(&bases, (int64_t)n);
    n = 0;
    for (size_t i = 0; i < value->count; i++) {
        if (isnan(ulp_tensor_get(value, i)))
            continue;
        worst = i == got.worst_index ? n : worst;
        memcpy(ulp_record_at(bases.data, n, 128), ulp_record_at_const(base->data, i, 128),
               base->element_bytes);
        ((float *)values.data)[n++] = ((const float *)value->data)[i];
    }
    ck_assert_uint_eq(got.unmeasured, value->count - n);
    got.worst_index = worst;
    check_against_direct(&values, &bases, format, &got);
}

/* Errors are alike everywhere; smaller in every eighth chunk of 4096 elements, those that say what
 * is kept for the median; alike, with NaN in between. Up to beyond what has the finest bins for its
 * median, and such chunks. */
TEST_LOOP(measures_equal_the_direct_computation, 0, 3)
{
    const struct ulp_format fp16 = test_format("fp16");
    const int64_t most_count = _i == 2 ? 30000 : 300000;
    for (int64_t count = _i == 1 ? 265720 : 1; count < most_count; count = count * 3 + 1) {
        scoped_tensor value = {0}, base = {0};
        struct ulp_metrics one, seven;
        struct ulp_range range, same_range;
        make_float(&value, count);
        make_wide(&base, count);
        for (int64_t i = 0; i < count; i++) {
            const bool is_nan = _i == 2 && i && ulp_random_bits(4, (uint64_t)i) % 200 == 0;
            const double most = _i == 1 && i / 4096 % 8 == 0 ? 1e-5 : 1e-3;
            double x = ldexp(ulp_random_uniform(1, (uint64_t)i) - 0.5,
                             (int)(ulp_random_bits(2, (uint64_t)i) % 40) - 20);
            test_set_wide(&base, (size_t)i, is_nan ? NAN : x, is_nan ? 0 : x * 0x1p-70);
            ((float *)value.data)[i] =
                is_nan ? NAN : (float)(x * (1 + most * (ulp_random_uniform(3, (uint64_t)i) - 0.5)));
        }
        ck_ok(ulp_metrics_measure(&value, &base, &fp16, &one, &why));
        check_without_nan(&value, &base, &fp16, one);
        scoped_pool *pool = test_pool(7);
        ck_ok(ulp_metrics_measure_on(&value, &base, &fp16, pool, &seven, &why));
        ck_assert_int_eq(memcmp(&one, &seven, sizeof one), 0);
        ulp_range_measure(&base, &fp16, NULL, &range);
        ulp_range_measure(&base, &fp16, pool, &same_range);
        ck_assert_int_eq(memcmp(&range, &same_range, sizeof range), 0);
        if (_i != 2)
            check_range(&base, &range);
    }
}

TEST(differences_below_double_are_seen)
{
    scoped_tensor value = {0}, base = {0};
    struct ulp_metrics m;
    const struct ulp_format fp32 = test_format("fp32");
    make_float(&value, 2);
    make_wide(&base, 2);
    ((float *)value.data)[0] = ((float *)value.data)[1] = 1;
    test_set_wide(&base, 0, 1, 0x1p-100);
    test_set_wide(&base, 1, 1, 0);
    ck_ok(ulp_metrics_measure(&value, &base, &fp32, &m, &why));
    ck_assert(m.max_abs == 0x1p-100);
    ck_assert(m.mean == -0x1p-101);
    ck_assert(fabs(m.rms - 0x1p-100 / sqrt(2)) <= 1e-15 * 0x1p-100);
}

/* Differences of 128-bit values at every depth of cancellation, and of floats against 128-bit
 * values close to them, against MPFR. */
TEST(differences_are_rounded_once)
{
    scoped_tensor a = {0}, b = {0}, f = {0};
    struct ulp_metrics wide, mixed;
    scoped_mpfr x, y, d;
    mpfr_inits2(128, x, y, (mpfr_ptr)0);
    mpfr_init2(d, 53);
    const struct ulp_format fp32 = test_format("fp32");
    make_wide(&a, 1);
    make_wide(&b, 1);
    make_float(&f, 1);
    for (uint64_t n = 0; n < 40000; n++) {
        int depth = (int)(n % 131), exponent = (int)(ulp_random_bits(5, n) % 300) - 150;
        mpfr_set_ui_2exp(x, ulp_random_bits(6, n) | 1ull << 63, exponent, MPFR_RNDN);
        mpfr_set_ui_2exp(y, ulp_random_bits(7, n), exponent - 64, MPFR_RNDN);
        mpfr_add(x, x, y, MPFR_RNDN);
        mpfr_set_ui_2exp(y, ulp_random_bits(8, n) >> (ulp_random_bits(9, n) % 64), exponent - depth,
                         MPFR_RNDN);
        mpfr_add(y, x, y, MPFR_RNDN);
        if (n & 1)
            mpfr_neg(x, x, MPFR_RNDN), mpfr_neg(y, y, MPFR_RNDN);
        mpfr_t record;
        ulp_record_begin(record, a.data, 128);
        mpfr_set(record, x, MPFR_RNDN);
        ulp_record_close(a.data, record);
        ck_assert(ulp_tensor_get(&a, 0) == mpfr_get_d(x, MPFR_RNDN));
        ulp_record_begin(record, b.data, 128);
        mpfr_set(record, y, MPFR_RNDN);
        ulp_record_close(b.data, record);
        ck_ok(ulp_metrics_measure(&a, &b, &fp32, &wide, &why));
        mpfr_sub(d, x, y, MPFR_RNDN);
        ck_assert(wide.mean == mpfr_get_d(d, MPFR_RNDN));
        float *value = f.data;
        *value = (float)mpfr_get_d(y, MPFR_RNDN);
        if (!isfinite(*value))
            continue;
        ck_ok(ulp_metrics_measure(&f, &b, &fp32, &mixed, &why));
        mpfr_d_sub(d, *value, y, MPFR_RNDN);
        ck_assert(mixed.mean == mpfr_get_d(d, MPFR_RNDN));
    }
}

/* Numbers of 20 bits times 2^shift: every step but the last conversions commutes with the shift, so
 * figures have equal significands. */
static void measure_shifted(int shift, struct ulp_metrics *out, struct ulp_range *range)
{
    enum { COUNT = 10000 };
    scoped_tensor value = {0}, base = {0};
    const struct ulp_format fp64 = test_format("fp64");
    make_double(&value, COUNT);
    make_double(&base, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        const int64_t x = 0x80000 + (int64_t)(ulp_random_bits(4, i) % 0x40000);
        ((double *)base.data)[i] = ldexp((double)x, shift);
        ((double *)value.data)[i] =
            ldexp((double)(x + (int64_t)(ulp_random_bits(5, i) % 64) - 30), shift);
    }
    ck_ok(ulp_metrics_measure(&value, &base, &fp64, out, &why));
    ulp_range_measure(&base, &fp64, NULL, range);
}

TEST(measures_reach_the_ends_of_double)
{
    static const int shifts[] = {-1070, -1030, -1000, -20, 500, 980, 1003};
    struct ulp_metrics one, other;
    struct ulp_range range, other_range;
    measure_shifted(0, &one, &range);
    ck_assert(one.rms > 0 && one.sqnr_db > 80 && one.cosine < 1);
    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
        const int shift = shifts[i];
        measure_shifted(shift, &other, &other_range);
        ck_assert_msg(other.max_abs == ldexp(one.max_abs, shift) && other.max_rel == one.max_rel &&
                          other.cosine == one.cosine && other.sqnr_db == one.sqnr_db &&
                          other.worst_index == one.worst_index,
                      "shift %d: sqnr %.17g, expected %.17g", shift, other.sqnr_db, one.sqnr_db);
        ck_assert_msg(other.rms == ldexp(one.rms, shift) && other.mean == ldexp(one.mean, shift),
                      "shift %d: rms %a mean %a, expected %a %a", shift, other.rms, other.mean,
                      ldexp(one.rms, shift), ldexp(one.mean, shift));
        ck_assert_msg(other_range.ref_rms == ldexp(range.ref_rms, shift) &&
                          other_range.ref_max == ldexp(range.ref_max, shift),
                      "shift %d: reference's rms %a, expected %a", shift, other_range.ref_rms,
                      ldexp(range.ref_rms, shift));
    }
}

/* Stretches of different sizes: sums move from one scale to another in both directions, within a
 * piece too. Expected sums have 400 bits and exponents without end; the bound is TOLERANCE's. */
TEST(chunks_of_different_sizes_add_up)
{
    enum { STRETCH = 20000, COUNT = 6 * STRETCH };
    static const int exponents[] = {-1050, 1, 3, 1000, 998, -1050};
    struct ulp_tensor value, base;
    struct ulp_format fp64;
    struct ulp_metrics got;
    struct ulp_range range;
    mpfr_t d2, b2, t;
    for (int parts = 1; parts <= 6; parts++) {
        mpfr_inits2(400, d2, b2, t, (mpfr_ptr)0);
        mpfr_set_zero(d2, 1), mpfr_set_zero(b2, 1);
        ck_ok(ulp_format_find("fp64", &fp64, &why));
        make_double(&value, COUNT);
        make_double(&base, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            const int part = (int)(i / STRETCH);
            const double x =
                part < parts ? ldexp((double)(1 + ulp_random_bits(6, i) % 64), exponents[part]) : 0;
            const double y =
                part < parts ? ldexp((double)(1 + ulp_random_bits(7, i) % 64), exponents[part]) : 0;
            ((double *)base.data)[i] = x;
            ((double *)value.data)[i] = y;
            mpfr_set_d(t, y - x, MPFR_RNDN); /* exact */
            mpfr_fma(d2, t, t, d2, MPFR_RNDN);
            mpfr_set_d(t, x, MPFR_RNDN);
            mpfr_fma(b2, t, t, b2, MPFR_RNDN);
        }
        ck_ok(ulp_metrics_measure(&value, &base, &fp64, &got, &why));
        ulp_range_measure(&base, &fp64, NULL, &range);
        mpfr_div(t, b2, d2, MPFR_RNDN);
        mpfr_log10(t, t, MPFR_RNDN);
        ck_assert(fabs(got.sqnr_db - 10 * mpfr_get_d(t, MPFR_RNDN)) <= 10 * TOLERANCE);
        mpfr_div_ui(t, d2, COUNT, MPFR_RNDN);
        mpfr_sqrt(t, t, MPFR_RNDN);
        /* a subnormal rms is rounded to multiples of 2^-1074 */
        ck_assert(fabs(got.rms - mpfr_get_d(t, MPFR_RNDN)) <= fmax(TOLERANCE * got.rms, 0x1p-1074));
        mpfr_div_ui(t, b2, COUNT, MPFR_RNDN);
        mpfr_sqrt(t, t, MPFR_RNDN);
        ck_assert(fabs(range.ref_rms - mpfr_get_d(t, MPFR_RNDN)) <=
                  fmax(TOLERANCE * range.ref_rms, 0x1p-1074));
        ulp_tensor_free(&value);
        ulp_tensor_free(&base);
        mpfr_clears(d2, b2, t, (mpfr_ptr)0);
    }
}

/* Numbers of all sizes, zeros, and those left out, in all mixtures of a few kinds, against sorting;
 * what a sample shows may mislead. */
TEST(medians_equal_sorting)
{
    static const double kinds[] = {0,        0x1p-1074,
                                   0x1p-200, 0x1.fffffffffffffp-129,
                                   0x1p-128, 0x1.08p-128,
                                   0.5,      1,
                                   1.0001,   0x1.fffffffffffffp63,
                                   0x1p64,   0x1p65,
                                   1e300,    INFINITY,
                                   -1,       3};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    static const size_t counts[] = {1, 2, 100, 4095, 4096, 131071, 131072, 200000};
    uint64_t draw = 0;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int round = 0; round < (counts[c] > 100 ? 12 : 200); round++) {
            const size_t count = counts[c], some = 1 + ulp_random_bits(8, draw++) % 4;
            double *sorted = malloc(count * sizeof *sorted), mix[4], got;
            size_t kept = 0;
            for (size_t k = 0; k < some; k++)
                mix[k] = kinds[ulp_random_bits(8, draw++) % KINDS];
            SCOPED_MEMORY double *values = malloc(count * sizeof *values);
            for (size_t i = 0; i < count; i++) {
                const uint64_t bits = ulp_random_bits(9, draw++);
                const double spread = round % 3 ? 1 : 1 + (double)(bits >> 40) * 0x1p-24,
                             /* round % 4: the first part is as the others */
                    x = mix[round % 4 || i >= count / 8 ? bits % some : 0];
                values[i] = x < 0 ? x : x * spread;
                if (values[i] >= 0)
                    sorted[kept++] = values[i];
            }
            qsort(sorted, kept, sizeof *sorted, compare_doubles);
            got = ulp_median_find(values, count);
            ck_assert_msg(kept ? got == sorted[(kept - 1) / 2] : isnan(got),
                          "%zu of %zu kinds, round %d: %a, expected %a", count, some, round, got,
                          kept ? sorted[(kept - 1) / 2] : NAN);
            free(sorted);
        }
}

/* An mpfr:P lane's ulps at 0 are below double: exact zeros are 0 of them, and no NaN. */
TEST(zeros_of_wide_lanes_count)
{
    const int64_t count = 9;
    scoped_tensor value = {0}, base = {0};
    struct ulp_metrics got;
    const struct ulp_format wide = test_format("mpfr:64");
    make_wide(&value, count);
    make_wide(&base, count);
    for (size_t i = 0; i < 9; i++) {
        test_set_wide(&base, i, i < 5 ? 0 : 1, 0);
        test_set_wide(&value, i, i < 5 ? 0 : 1, i < 5 ? 0 : 0x1p-63);
    }
    ck_ok(ulp_metrics_measure(&value, &base, &wide, &got, &why));
    ck_assert(got.median_ulp == 0 && got.max_ulp == 1 && got.nonfinite == 0);
}

TEST(nonfinite_pairs_are_counted)
{
    scoped_tensor value = {0}, base = {0};
    struct ulp_metrics m;
    const float values[] = {1, INFINITY, NAN, INFINITY, INFINITY, NAN, 2, 0};
    const float bases[] = {1, 1, 1, INFINITY, -INFINITY, NAN, INFINITY, 0};
    const struct ulp_format fp32 = test_format("fp32");
    make_float(&value, 8);
    make_float(&base, 8);
    memcpy(value.data, values, sizeof values);
    memcpy(base.data, bases, sizeof bases);
    ck_ok(ulp_metrics_measure(&value, &base, &fp32, &m, &why));
    /* positions 1, 2, 4, 6; an equal infinity and NaN against NaN agree */
    ck_assert_uint_eq(m.nonfinite, 4);
    ck_assert_uint_eq(m.worst_index, 1);
    ck_assert_uint_eq(m.count, 2);
    ck_assert(m.max_abs == 0 && m.rms == 0 && m.sqnr_db == INFINITY && m.cosine == 1);
    value.dims[0] = base.dims[0] = 4;
    value.count = base.count = 4;
    memcpy(value.data, values + 2, 4 * sizeof(float));
    base.dims[0] = 3;
    ck_ok(ulp_metrics_measure(&value, &base, &fp32, &m, &why));
    ck_assert(m.diverged && isnan(m.rms));
    base.dims[0] = 0, base.count = 0, value.dims[0] = 0, value.count = 0;
    ck_ok(ulp_metrics_measure(&value, &base, &fp32, &m, &why));
    ck_assert(!m.diverged && isnan(m.rms) && m.count == 0);
}

/* exp(800) is finite in the reference though beyond double: a lane's infinity there is an
 * overflow. */
TEST(finite_values_beyond_double_are_no_infinities)
{
    scoped_tensor value = {0}, base = {0};
    struct ulp_metrics m;
    struct ulp_range range;
    const struct ulp_format fp32 = test_format("fp32");
    make_float(&value, 3);
    make_wide(&base, 3);
    for (size_t i = 0; i < 3; i++) {
        struct ulp_record *record = ulp_record_at(base.data, i, 128);
        mpfr_t x;
        ulp_record_begin(x, record, 128);
        if (i < 2)
            mpfr_set_si_2exp(x, i ? -1 : 1, 3000, MPFR_RNDN);
        else
            mpfr_set_inf(x, 1);
        ulp_record_close(record, x);
        ((float *)value.data)[i] = i == 1 ? -INFINITY : INFINITY;
    }
    ck_ok(ulp_metrics_measure(&value, &base, &fp32, &m, &why));
    ck_assert_uint_eq(m.nonfinite, 2); /* the last is an infinity on both sides */
    ck_assert_uint_eq(m.worst_index, 0);
    ck_ok(ulp_metrics_measure(&base, &base, &fp32, &m, &why));
    ck_assert(m.nonfinite == 0 && m.max_abs == 0 && m.count == 2);
    ulp_range_measure(&base, &fp32, NULL, &range);
    ck_assert(range.headroom_bits < -800);
}

TEST_SUITE("analysis", 60)
