/* Records opened as exact sums of doubles, by every instance of the loops: the sum is the record's
 * value and the nearest double MPFR's, and none else than those near double's ends or not finite
 * are left out. */
#include <math.h>
#include <string.h>

#include "analysis/measure/metrics_strip.h"
#include "base/machine/cpu.h"
#include "base/random.h"
#include "tests/support/test.h"

#define NEAR 800 /* exponents that doubles take in, with all parts */

static const unsigned sets[] = {0, ULP_CPU_AVX2, ~0u};

/* Of full significands, of few bits, ties of the nearest double and their neighbours; exponents
 * inside and around what doubles take in; zeros, infinities and NaN. */
static void draw(mpfr_t x, uint64_t n)
{
    const uint64_t kind = ulp_random_bits(1, n) % 16, bits = ulp_random_bits(2, n);
    const long exponent = bits % 4 ? (long)(bits >> 8) % 200 - 100
                                   : (bits & 4 ? 1 : -1) * (NEAR - 2 + (long)(bits >> 8) % 5);
    if (kind < 8) {
        mpfr_set_ui_2exp(x, ulp_random_bits(3, n) | (uint64_t)1 << 63, -64, MPFR_RNDN);
        mpfr_t low;
        mpfr_init2(low, 64);
        mpfr_set_ui_2exp(low, ulp_random_bits(4, n), -128, MPFR_RNDN);
        mpfr_add(x, x, low, MPFR_RNDZ);
        mpfr_clear(low);
    } else if (kind < 12) { /* a double and a half of its last place, or a bit more or less */
        mpfr_set_ui_2exp(x, (ulp_random_bits(3, n) | (uint64_t)1 << 63) >> 11 << 11 | 0x400, -64,
                         MPFR_RNDN);
        if (kind == 9)
            mpfr_nextabove(x);
        if (kind == 10)
            mpfr_nextbelow(x);
    } else if (kind == 12) {
        mpfr_set_ui(x, 1, MPFR_RNDN);
        mpfr_nextbelow(x); /* its nearest double is of the next binade */
    } else if (kind == 13) {
        mpfr_set_zero(x, 1);
    } else if (kind == 14) {
        mpfr_set_inf(x, 1);
    } else {
        mpfr_set_nan(x);
    }
    if (mpfr_regular_p(x))
        mpfr_set_exp(x, exponent);
    if (!mpfr_nan_p(x))
        mpfr_setsign(x, x, bits >> 40 & 1, MPFR_RNDN);
}

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
    mpfr_t sum;
    mpfr_init2(sum, 256);
    mpfr_set_d(sum, side->high[i], MPFR_RNDN);
    mpfr_add_d(sum, sum, side->middle[i], MPFR_RNDN);
    mpfr_add_d(sum, sum, side->low[i], MPFR_RNDN);
    ck_assert_msg(mpfr_equal_p(sum, x), "element %zu: the parts are not the value", i);
    mpfr_clear(sum);
}

/* Precisions of one limb and of two, and strips that are and are not of whole vectors. */
START_TEST(records_open_exactly)
{
    static const int precisions[] = {53, 64, 100, 128};
    static _Alignas(64) unsigned char records[ULP_METRICS_STRIP * 32];
    const int precision = precisions[_i];
    const unsigned present = ulp_cpu_features();
    size_t opened = 0;
    for (uint64_t round = 0; round < test_count(60, 3000); round++) {
        const size_t count =
            round % 3 ? ulp_random_bits(5, round) % ULP_METRICS_STRIP + 1 : ULP_METRICS_STRIP;
        const bool easy = round % 4 == 0;
        for (size_t i = 0; i < count; i++) {
            struct ulp_record *record = ulp_record_at(records, i, precision);
            mpfr_t x;
            ulp_record_begin(x, record, precision);
            draw(x, round * ULP_METRICS_STRIP + i);
            if (easy && !mpfr_zero_p(x) &&
                !(mpfr_regular_p(x) && mpfr_get_exp(x) < NEAR / 2 && mpfr_get_exp(x) > -NEAR / 2))
                mpfr_set_ui(x, 3, MPFR_RNDN);
            ulp_record_close(record, x);
        }
        for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
            static struct ulp_metrics_side side;
            memset(&side, 0xA5, sizeof side);
            atomic_store(&ulp_cpu_found, present & sets[s]);
            const bool all =
                ulp_metrics_code_find()->open_wide(&side, records, (precision + 63) / 64, count);
            bool none_hard = true;
            for (size_t i = 0; i < count; i++) {
                mpfr_t x;
                ulp_record_open_const(x, ulp_record_at_const(records, i, precision), precision);
                check_element(&side, i, x);
                none_hard &= side.hard[i] == 0;
            }
            ck_assert(all == none_hard && (all || !easy));
            opened += all;
        }
        atomic_store(&ulp_cpu_found, present);
    }
    ck_assert_uint_gt(opened, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("strips of measures");
    TCase *opening = tcase_create("opening");
    tcase_set_timeout(opening, 600);
    tcase_add_loop_test(opening, records_open_exactly, 0, 4);
    suite_add_tcase(suite, opening);
    return test_run(suite, NULL);
}
