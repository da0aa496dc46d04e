/* Histograms: counts beside those that frexp gives one element after the other, in any number of
 * threads, in any order of tensors. */
#include "tests/support/test.h"

#include "analysis/measure/metrics.h"
#include "number/mpfr_record.h"

enum { BINS = 4096, MIDDLE = 2048 };

/* Counts by exponent, at MIDDLE + exponent. */
struct counted {
    size_t bins[BINS], zeros, nonfinite;
};

static void count_plainly(struct counted *out, double x)
{
    int exponent;
    if (!isfinite(x)) {
        out->nonfinite++;
    } else if (x == 0) {
        out->zeros++;
    } else {
        frexp(x, &exponent); /* |x| = f 2^exponent, 1/2 <= f < 1 */
        exponent--;
        out->bins[MIDDLE + (exponent < -1022 ? -1023 : exponent)]++;
    }
}

static void check_equal(const struct ulp_histogram *got, const struct counted *want)
{
    ck_assert_uint_eq(got->zeros, want->zeros);
    ck_assert_uint_eq(got->nonfinite, want->nonfinite);
    for (int bin = 0; bin < BINS; bin++) {
        const int at = bin - MIDDLE - got->first;
        const size_t count = at >= 0 && (size_t)at < got->count ? got->counts[at] : 0;
        ck_assert_msg(count == want->bins[bin], "2^%d: %zu, expected %zu", bin - MIDDLE, count,
                      want->bins[bin]);
    }
    if (got->count) {
        ck_assert_uint_gt(got->counts[0], 0);
        ck_assert_uint_gt(got->counts[got->count - 1], 0);
    }
}

/* Any pattern of doubles, so that zeros, subnormals, infinities and NaN are among them. */
static double random_double(uint64_t seed, uint64_t i)
{
    static const double special[] = {0.0,
                                     -0.0,
                                     INFINITY,
                                     -INFINITY,
                                     NAN,
                                     0x1p-1074,
                                     0x1p-1022,
                                     -0x1.fffffffffffffp-1023,
                                     1,
                                     2,
                                     0x1.fffffffffffffp1023};
    const uint64_t pattern = ulp_random_bits(seed, i);
    double x;
    if (pattern % 16 == 0)
        return special[pattern / 16 % (sizeof special / sizeof *special)];
    memcpy(&x, &pattern, sizeof x);
    return x;
}

static void make(struct ulp_tensor *t, enum ulp_type type, enum ulp_element element, int precision,
                 int64_t count)
{
    ck_ok(ulp_tensor_create(t, type, element, precision, 1, &count, &why));
}

static void add(struct ulp_histogram *all, const struct ulp_tensor *t, struct ulp_arena *memory,
                struct ulp_pool *pool)
{
    struct ulp_exponents counts = {0};
    struct ulp_range range;
    const struct ulp_format fp32 = test_format("fp32");
    ulp_range_count(t, &fp32, pool, &range, &counts);
    ck_ok(ulp_histogram_add(all, &counts, memory, &why));
}

TEST(counts_are_exact_in_any_number_of_threads)
{
    static const int64_t sizes[] = {0, 1, 7, 511, 512, 513, 40000};
    for (int threads = 1; threads <= 7; threads += 3) {
        scoped_pool *pool = NULL;
        ck_ok(ulp_pool_create(&pool, threads, &why));
        ulp_pool_set_eager(pool);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            SCOPED_MEMORY struct counted *want = calloc(1, sizeof *want);
            struct ulp_histogram got = {0};
            scoped_arena *memory = NULL;
            scoped_tensor t = {0};
            ck_ok(ulp_arena_create(&memory, NULL, &why));
            make(&t, ULP_TYPE_DOUBLE, ULP_ELEMENT_F64, 0, sizes[s]);
            for (size_t i = 0; i < t.count; i++)
                count_plainly(want, ((double *)t.data)[i] = random_double(s + 1, i));
            add(&got, &t, memory, pool);
            check_equal(&got, want);
        }
    }
}

/* Ranges that do not touch, so that the counts have to be widened at both ends. */
TEST(tensors_add_up_in_any_order)
{
    static const int exponents[][2] = {{-3, 4}, {100, 120}, {-140, -90}, {-3, 121}};
    enum { TENSORS = 4, COUNT = 700 };
    SCOPED_MEMORY struct counted *want = calloc(1, sizeof *want);
    struct ulp_tensor t[TENSORS];
    for (int k = 0; k < TENSORS; k++) {
        make(&t[k], ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            const uint64_t bits = ulp_random_bits(90 + (uint64_t)k, i);
            const int width = exponents[k][1] - exponents[k][0];
            const float x = (float)ldexp(1 + (double)(bits % 1000) / 1001,
                                         exponents[k][0] + (int)(bits / 1000 % (uint64_t)width));
            ((float *)t[k].data)[i] = bits >> 63 ? -x : x;
            count_plainly(want, x);
        }
    }
    for (int turn = 0; turn < TENSORS; turn++) {
        struct ulp_histogram got = {0};
        scoped_arena *memory = NULL;
        ck_ok(ulp_arena_create(&memory, NULL, &why));
        for (int k = 0; k < TENSORS; k++)
            add(&got, &t[(k + turn) % TENSORS], memory, NULL);
        check_equal(&got, want);
    }
    for (int k = 0; k < TENSORS; k++)
        ulp_tensor_free(&t[k]);
}

/* Records of more digits are rounded to double first: 2 - 2^-60 is 2. */
TEST(records_are_rounded_to_double)
{
    struct ulp_histogram got = {0};
    scoped_arena *memory = NULL;
    scoped_tensor t = {0};
    ck_ok(ulp_arena_create(&memory, NULL, &why));
    make(&t, ULP_TYPE_FLOAT, ULP_ELEMENT_WIDE, 128, 3);
    for (size_t i = 0; i < 3; i++) {
        struct ulp_record *record = ulp_record_at(t.data, i, 128);
        mpfr_t x;
        ulp_record_begin(x, record, 128);
        mpfr_set_d(x, i < 2 ? 2 : 0, MPFR_RNDN);
        if (i == 0)
            mpfr_sub_d(x, x, 0x1p-60, MPFR_RNDN);
        if (i == 1)
            mpfr_sub_d(x, x, 0x1p-52, MPFR_RNDN);
        ulp_record_close(record, x);
    }
    add(&got, &t, memory, NULL);
    ck_assert_uint_eq(got.zeros, 1);
    ck_assert_int_eq(got.first, 0);
    ck_assert_uint_eq(got.count, 2);
    ck_assert_uint_eq(got.counts[0], 1);
    ck_assert_uint_eq(got.counts[1], 1);
}

TEST_SUITE("histogram", 60)
