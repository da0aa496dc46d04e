/* Pairs opened by every instance of the loops: none else than those near double's ends or not
 * finite are left out. Bins and magnitudes of doubles, by every instance. */
#include "analysis/measure/difference.h"
#include "analysis/measure/metrics_strip.h"
#include "base/bits.h"
#include "base/machine/cpu.h"
#include "number/double_pair.h"
#include "tests/support/test.h"

#define NEAR 800 /* exponents that doubles take in, with all parts */

static const unsigned sets[] = {0, ULP_CPU_AVX2, ~0u};

static void check_element(const struct ulp_metrics_side *side, size_t i, const mpfr_t x)
{
    const bool near = mpfr_zero_p(x) ||
                      (mpfr_regular_p(x) && mpfr_get_exp(x) >= -NEAR && mpfr_get_exp(x) <= NEAR);
    ck_assert_msg((side->hard[i] == 0) == near, "element %zu: hard %lld", i,
                  (long long)side->hard[i]);
    if (!near)
        return;
    const double nearest = mpfr_get_d(x, MPFR_RNDN);
    ck_assert(memcmp(&side->nearest[i], &nearest, sizeof nearest) == 0);
    scoped_mpfr sum;
    mpfr_init2(sum, 256);
    mpfr_set_d(sum, side->high[i], MPFR_RNDN);
    mpfr_add_d(sum, sum, side->middle[i], MPFR_RNDN);
    ck_assert_msg(mpfr_equal_p(sum, x), "element %zu: the parts are not the value", i);
}

/* Zeros, numbers of all exponents and both signs, infinities and NaN. */
static double draw_double(uint64_t n)
{
    const uint64_t kind = ulp_random_bits(6, n) % 16, bits = ulp_random_bits(7, n);
    const double x = ldexp((double)(bits >> 11 | (uint64_t)1 << 52), -52);
    return kind == 0   ? 0.0
           : kind == 1 ? NAN
           : kind == 2 ? -INFINITY
           : kind < 5  ? ldexp(x, (int)(ulp_random_bits(8, n) % 2098) - 1074)
                       : (bits & 1 ? -1 : 1) * ldexp(x, (int)(ulp_random_bits(8, n) % 300) - 160);
}

/* Of pairs the doubles are the parts; less a double, the difference is rounded once without MPFR
 * where the doubles' own is exact. */
TEST(pairs_open_and_differ_exactly)
{
    static struct ulp_double_pair pairs[ULP_METRICS_STRIP];
    static double value[ULP_METRICS_STRIP], difference[ULP_METRICS_STRIP];
    static int64_t undecided[ULP_METRICS_STRIP];
    const unsigned present = ulp_cpu_features();
    for (size_t i = 0; i < ULP_METRICS_STRIP; i++) {
        pairs[i].high = draw_double(i);
        const bool far = !(fabs(pairs[i].high) > 0x1p-900 && fabs(pairs[i].high) < 0x1p900);
        pairs[i].high =
            ulp_pair_join(pairs[i].high, far ? 0 : 0x1.7p-60 * draw_double(i), &pairs[i].low);
        value[i] = i % 2 ? pairs[i].high : (double)(float)pairs[i].high;
    }
    for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
        static struct ulp_metrics_side side;
        memset(&side, 0xA5, sizeof side);
        atomic_store(&ulp_cpu_found, present & sets[s]);
        ulp_metrics_code_find()->open_pairs(&side, pairs, ULP_METRICS_STRIP);
        (void)ulp_metrics_code_find()->subtract_from_plain(difference, undecided, value, &side,
                                                           ULP_METRICS_STRIP);
        atomic_store(&ulp_cpu_found, present);
        for (size_t i = 0; i < ULP_METRICS_STRIP; i++) {
            scoped_mpfr x, nearest;
            mpfr_inits2(300, x, nearest, (mpfr_ptr)0);
            ulp_pair_get(x, pairs[i].high, pairs[i].low);
            check_element(&side, i, x);
            mpfr_d_sub(x, value[i], x, MPFR_RNDN);
            ck_assert(side.hard[i] || !(value[i] == pairs[i].high && undecided[i]));
            ck_assert(side.hard[i] || undecided[i] || difference[i] == mpfr_get_d(x, MPFR_RNDN));
        }
    }
}

/* Those that are between two numbers, in order. */
TEST(numbers_are_gathered)
{
    const unsigned present = ulp_cpu_features();
    const double least = 0x1.8p-20, beyond = 0x1p-3;
    size_t inside = 0;
    for (uint64_t round = 0; round < test_count(20, 500); round++) {
        double values[ULP_METRICS_STRIP], within[ULP_METRICS_STRIP];
        const size_t count = ulp_random_bits(5, round) % ULP_METRICS_STRIP + 1;
        size_t found = 0, below = 0, negative = 0;
        for (size_t i = 0; i < count; i++) {
            values[i] = draw_double(round * ULP_METRICS_STRIP + i);
            values[i] = isnan(values[i]) ? 0 : isinf(values[i]) ? -1 : values[i];
            if (values[i] >= least && values[i] < beyond)
                within[found++] = values[i];
            below += values[i] >= 0 && values[i] < least;
            negative += values[i] < 0;
        }
        for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
            double got[ULP_METRICS_STRIP];
            size_t counted[2] = {0};
            atomic_store(&ulp_cpu_found, present & sets[s]);
            const struct ulp_metrics_code *code = ulp_metrics_code_find();
            for (int in_place = 0; in_place < 2; in_place++) {
                memcpy(got, values, count * sizeof *got);
                counted[0] = counted[1] = 0;
                ck_assert_uint_eq(code->gather(got, in_place ? got : values, count,
                                               (int64_t)ulp_double_bits(least),
                                               (int64_t)ulp_double_bits(beyond), &counted[0],
                                               &counted[1]),
                                  found);
                ck_assert(memcmp(got, within, found * sizeof *got) == 0);
                ck_assert(counted[0] == below && counted[1] == negative);
            }
            inside += found;
        }
        atomic_store(&ulp_cpu_found, present);
    }
    ck_assert(inside);
}

TEST(magnitudes_keep_to_finite_ones)
{
    const unsigned present = ulp_cpu_features();
    size_t nothing = 0;
    const uint64_t rounds = test_count(60, 3000);
    for (uint64_t round = 0; round < rounds; round++) {
        double x[ULP_METRICS_STRIP], least = INFINITY, largest = 0;
        const size_t count = ulp_random_bits(5, round) % (round % 2 ? 3 : ULP_METRICS_STRIP) + 1;
        size_t finite = 0;
        for (size_t i = 0; i < count; i++) {
            x[i] = draw_double(round * ULP_METRICS_STRIP + i);
            if (!isfinite(x[i]))
                continue;
            finite++;
            largest = fmax(largest, fabs(x[i]));
            least = x[i] != 0 ? fmin(least, fabs(x[i])) : least;
        }
        nothing += !finite;
        for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
            double got[ULP_METRICS_STRIP], before[2] = {0, INFINITY};
            int64_t bounds[2];
            memcpy(got, x, count * sizeof *x);
            memcpy(bounds, before, sizeof bounds);
            atomic_store(&ulp_cpu_found, present & sets[s]);
            ck_assert_uint_eq(ulp_metrics_code_find()->magnitudes(got, count, &bounds[0],
                                                                  &bounds[1]),
                              finite);
            ck_assert(memcmp(&bounds[0], &largest, sizeof largest) == 0);
            ck_assert(memcmp(&bounds[1], &least, sizeof least) == 0);
            for (size_t i = 0; i < count; i++)
                ck_expect(isnan(x[i]) ? isnan(got[i]) : got[i] == fabs(x[i]), "magnitude %zu", i);
        }
        atomic_store(&ulp_cpu_found, present);
    }
    ck_assert(nothing > 0 || rounds < 60); /* a sample may have none */
}

TEST_SUITE("strips of measures", 600)
