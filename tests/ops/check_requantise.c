/* Sums of integers made quantised again by an integer scale and a shift (requant=), against
 * gemmlowp's own formulas in exact integers (SaturatingRoundingDoublingHighMul, truncating
 * division; RoundingDivideByPOT, remainder and threshold) and quotients of GMP. */
#include "tests/support/test.h"

#include <gmp.h>

#include "ops/product/requantise.h"

static int32_t double_high(int32_t a, int32_t b)
{
    const int64_t ab = (int64_t)a * b, nudge = ab >= 0 ? 1 << 30 : 1 - (1 << 30);
    return a == INT32_MIN && b == INT32_MIN ? INT32_MAX : (int32_t)((ab + nudge) / (1LL << 31));
}

static int32_t divide_by_power(int32_t x, int exponent)
{
    const int64_t mask = (1LL << exponent) - 1, remainder = x & mask,
                  threshold = (mask >> 1) + (x < 0);
    int64_t quotient = x / (mask + 1); /* towards zero: down from there */
    quotient -= x < 0 && quotient * (mask + 1) != x;
    return (int32_t)(quotient + (remainder > threshold));
}

static int32_t twice_rounded(int32_t sum, struct ulp_fixed_scale scale)
{
    const int left = scale.shift > 0 ? scale.shift : 0, right = scale.shift < 0 ? -scale.shift : 0;
    const uint32_t bits = (uint32_t)sum << left;
    const int64_t signed_bits = bits < 0x80000000u ? (int64_t)bits : (int64_t)bits - 0x100000000;
    return divide_by_power(double_high((int32_t)signed_bits, scale.multiplier), right);
}

/* floor(sum * multiplier / 2^n + 1/2) */
static int32_t once_rounded(int64_t sum, int64_t multiplier, int n)
{
    mpz_t x, half;
    mpz_init_set_si(x, (long)sum);
    mpz_mul_si(x, x, (long)multiplier);
    mpz_init_set_ui(half, 1);
    mpz_mul_2exp(half, half, (mp_bitcnt_t)n - 1);
    mpz_add(x, x, half);
    mpz_fdiv_q_2exp(x, x, (mp_bitcnt_t)n);
    const int32_t result = (int32_t)mpz_get_si(x);
    mpz_clears(x, half, NULL);
    return result;
}

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11;
}

/* Of few bits and of many; ties, of which results that are to fit have their half below. */
static int64_t draw_sum(uint64_t *state, int bits)
{
    const int64_t sum = (int64_t)(draw(state) % (1ULL << (1 + draw(state) % (unsigned)bits)));
    return draw(state) % 2 ? sum : -sum;
}

TEST(scales_are_nearest)
{
    uint64_t state = 3;
    for (uint64_t i = 0; i < test_count(5000, 200000); i++) {
        const float a = (float)(1 + draw(&state) % 0xFFFFFF),
                    b = (float)(1 + draw(&state) % 0xFFFFFF);
        const double scale = ldexp((double)a * b, -48 - (int)(draw(&state) % 30));
        const struct ulp_fixed_scale fixed = ulp_fixed_scale_of(scale);
        if (scale < 0x1p-32) {
            ck_expect(fixed.multiplier == 0, "%a", scale);
            continue;
        }
        const double exact = ldexp(scale, 31 - fixed.shift); /* 53 bits: no rounding */
        ck_expect(fixed.multiplier >= 0x40000000 && exact - fixed.multiplier < 0.5 &&
                      fixed.multiplier - exact <= 0.5,
                  "%a", scale);
    }
    ck_assert(ulp_fixed_scale_of(1 - 0x1p-33).multiplier == 0x40000000 &&
              ulp_fixed_scale_of(1 - 0x1p-33).shift == 1);
    ck_assert(ulp_fixed_scale_of(0).multiplier == 0 && ulp_fixed_scale_of(0x1p-33).multiplier == 0);
}

TEST(sums_of_32_bits)
{
    static const int32_t ends[] = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX};
    uint64_t state = 5;
    for (uint64_t i = 0; i < test_count(20000, 2000000); i++) {
        struct ulp_fixed_scale scale = {(int32_t)(0x40000000 + draw(&state) % 0x40000000),
                                        (int)(draw(&state) % 32) - 24};
        if (i % 8 == 0)
            scale.multiplier = 0x40000000; /* powers of two: every second sum is a tie */
        const int32_t sum = i < 6 ? ends[i] : (int32_t)draw_sum(&state, 31);
        ck_expect(ulp_requantise(sum, scale, ULP_REQUANT_DOUBLE) == twice_rounded(sum, scale), "%d",
                  sum);
        ck_expect(ulp_requantise(sum, scale, ULP_REQUANT_SINGLE) ==
                      once_rounded(sum, scale.multiplier, 31 - scale.shift),
                  "%d", sum);
    }
}

TEST(sums_of_64_bits)
{
    uint64_t state = 7;
    for (uint64_t i = 0; i < test_count(20000, 1000000); i++) {
        const struct ulp_fixed_scale scale = {(int32_t)(0x40000000 + draw(&state) % 0x40000000),
                                              (int)(draw(&state) % 20) - 16};
        const int64_t sum = draw_sum(&state, 44 - (scale.shift > 0 ? scale.shift : 0)),
                      reduced = scale.multiplier < 0x7FFF0000
                                    ? (scale.multiplier + 0x8000LL) / 65536
                                    : 0x7FFF;
        ck_expect(ulp_requantise_wide(sum, scale, ULP_REQUANT_SINGLE) ==
                      once_rounded(sum, scale.multiplier, 31 - scale.shift),
                  "%lld", (long long)sum);
        ck_expect(ulp_requantise_wide(sum, scale, ULP_REQUANT_DOUBLE) ==
                      once_rounded(sum, reduced, 15 - scale.shift),
                  "%lld", (long long)sum);
    }
}

TEST_SUITE("requantise", 60)
