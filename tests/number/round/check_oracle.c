/* Both kinds of loops against the MPFR oracle, the oracle against MPFR's own emulation of subnormal
 * numbers, and roundings that meet two formats one after the other. */
#include "round_test.h"

/* A double with random bits whose exponent is near the format's range, or anywhere. */
static double random_double(const struct ulp_format *format, uint64_t index)
{
    const uint64_t bits = ulp_random_bits(17, 2 * index),
                   choice = ulp_random_bits(17, 2 * index + 1);
    double x = 1 + (double)(bits >> 12) * 0x1p-52;
    if (choice & 1) /* few bits: ties and exact values are frequent */
        x = 1 + (double)(bits >> (64 - (format->precision < 50 ? format->precision : 50))) *
                    ldexp(1.0, -(format->precision < 50 ? format->precision : 50));
    const int reach = (int)(choice >> 8 & 63) - 32 - format->precision * (int)(choice >> 16 & 1);
    const int low = format->emin < -1100 ? -1022 : format->emin,
              high = format->emax > 1100 ? 1023 : format->emax;
    const int exponent = choice & 2   ? low + reach
                         : choice & 4 ? high - (int)(choice >> 8 & 7) + 2
                                      : (int)(choice >> 20 & 2047) - 1074;
    x = ldexp(x, exponent);
    return choice & 8 ? -x : x;
}

/* The formats in which both float and double loops, every kind of them, meet the oracle. */
static const char *const wide_formats[] = {"fp32",     "fp64",     "tf32",     "bf16",
                                           "fp16",     "e8m22",    "e8m23",    "e7m22",
                                           "e7m23",    "e5m23",    "e2m23",    "e5m10",
                                           "e9m10",    "e10m51",   "e10m52",   "e9m52",
                                           "e5m52",    "e2m52",    "e11m10",   "e11m51",
                                           "e11m52",   "e2m1",     "e11m1",    "mpfr:24",
                                           "mpfr:2",   "mpfr:53",  "fp8-e4m3", "fp8-e4m3fnuz",
                                           "fp4-e2m1", "fp8-e8m0", "fp6-e2m3", "fp6-e3m2"};
enum { WIDE_COUNT = sizeof wide_formats / sizeof wide_formats[0] };

static double round_by_mpfr(const struct ulp_format *format, enum ulp_rounding mode, double x,
                            uint64_t index)
{
    scoped_mpfr in, out;
    mpfr_init2(in, 53);
    mpfr_init2(out, 53);
    mpfr_set_d(in, x, MPFR_RNDN);
    ulp_round_mpfr(format, mode, out, in, 5, 7, index);
    const double result = mpfr_get_d(out, MPFR_RNDN);
    return result;
}

TEST_LOOP(random_against_mpfr, 0, WIDE_COUNT)
{
    enum { CHUNK = 1000 };
    struct ulp_format format = get_format(wide_formats[_i]);
    const bool mpfr = format.carrier == ULP_CARRIER_MPFR;
    for (int variant = 0; variant < (mpfr ? 1 : 3); variant++) {
        format.subnormals = variant != 1 && !mpfr;
        format.overflow =
            variant == 2 ? ULP_OVERFLOW_SATURATE : get_format(wide_formats[_i]).overflow;
        for (int mode = 0; mode <= ULP_ROUND_STOCHASTIC; mode++) {
            double in[CHUNK], out[CHUNK];
            float narrow[CHUNK];
            const size_t count = test_count(4, 100);
            for (size_t chunk = 0; chunk < count; chunk++) {
                const uint64_t first = chunk * CHUNK + 1;
                for (size_t i = 0; i < CHUNK; i++)
                    out[i] = in[i] = random_double(&format, first + i + (uint64_t)mode * 1000003);
                ulp_round_doubles(&format, (enum ulp_rounding)mode, out, CHUNK, 5, 7, first);
                for (size_t i = 0; i < CHUNK; i++) {
                    const double want =
                        round_by_mpfr(&format, (enum ulp_rounding)mode, in[i], first + i);
                    ck_expect(same_double(out[i], want), "%s %s: %a gives %a, not %a", format.name,
                              mode_names[mode], in[i], out[i], want);
                    if (!(mpfr && fabs(in[i]) > 0x1p1000) && mode < ULP_ROUND_STOCHASTIC)
                        check_double(&format, (enum ulp_rounding)mode, in[i], out[i], want);
                }
                if (format.carrier != ULP_CARRIER_FLOAT)
                    continue;
                for (size_t i = 0; i < CHUNK; i++)
                    in[i] = narrow[i] = (float)in[i];
                ulp_round_floats(&format, (enum ulp_rounding)mode, narrow, CHUNK, 5, 7, first);
                for (size_t i = 0; i < CHUNK; i++) {
                    const double want =
                        round_by_mpfr(&format, (enum ulp_rounding)mode, in[i], first + i);
                    ck_expect(same_double(narrow[i], want), "%s %s: %a gives %a, not %a",
                              format.name, mode_names[mode], in[i], narrow[i], want);
                }
            }
        }
    }
}

/* The oracle against MPFR's own emulation of formats with subnormals. */
TEST(oracle_against_subnormalize)
{
    static const char *const names[] = {"fp64", "fp32",   "fp16",  "bf16",   "fp8-e5m2",
                                        "e2m1", "e11m52", "e4m20", "mpfr:40"};
    static const struct {
        enum ulp_rounding ours;
        mpfr_rnd_t theirs;
    } modes[] = {{ULP_ROUND_NEAREST_EVEN, MPFR_RNDN},
                 {ULP_ROUND_TOWARD_ZERO, MPFR_RNDZ},
                 {ULP_ROUND_UP, MPFR_RNDU},
                 {ULP_ROUND_DOWN, MPFR_RNDD}};
    const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    for (size_t f = 0; f < sizeof names / sizeof names[0]; f++) {
        const struct ulp_format format = get_format(names[f]);
        const bool ieee = format.carrier != ULP_CARRIER_MPFR;
        scoped_mpfr x, want, got;
        mpfr_init2(x, 120);
        mpfr_init2(want, format.precision);
        mpfr_init2(got, format.precision + 3);
        for (int m = 0; m < 4; m++)
            for (uint64_t i = 0; i < 4000; i++) {
                mpfr_set_d(x, random_double(&format, i), MPFR_RNDN);
                if (i % 3 == 0 && mpfr_regular_p(x)) { /* bits far below */
                    scoped_mpfr tiny;
                    mpfr_init2(tiny, 2);
                    mpfr_set_ui_2exp(tiny, 1, mpfr_get_exp(x) - 110, MPFR_RNDN);
                    mpfr_add(x, x, tiny, MPFR_RNDN);
                }
                int ternary = mpfr_set(want, x, modes[m].theirs);
                if (ieee) {
                    mpfr_set_emin(format.emin - format.precision + 2);
                    mpfr_set_emax(format.emax + 1);
                    ternary = mpfr_check_range(want, ternary, modes[m].theirs);
                    mpfr_subnormalize(want, ternary, modes[m].theirs);
                    mpfr_set_emin(emin);
                    mpfr_set_emax(emax);
                }
                ulp_round_mpfr(&format, modes[m].ours, got, x, 0, 0, 0);
                ck_expect(mpfr_equal_p(got, want) && mpfr_signbit(got) == mpfr_signbit(want),
                          "%s %s: %a gives %a, not %a", format.name, mode_names[modes[m].ours],
                          mpfr_get_d(x, MPFR_RNDN), mpfr_get_d(got, MPFR_RNDN),
                          mpfr_get_d(want, MPFR_RNDN));
            }
    }
}

/* x rounded to odd at 53 bits: truncated, and the last bit set when that was inexact. */
static double round_to_odd(const mpfr_t x)
{
    scoped_mpfr cut;
    mpfr_init2(cut, 53);
    const bool inexact = mpfr_set(cut, x, MPFR_RNDZ) != 0;
    double result = mpfr_get_d(cut, MPFR_RNDZ);
    uint64_t bits = double_bits(result) | inexact;
    memcpy(&result, &bits, sizeof result);
    return result;
}

/* number/README.md section 3: odd at 53 bits, then any mode, is one rounding for precisions <= 51;
 * nearest at 53 bits is not. */
TEST_LOOP(after_rounding_to_odd, 0, 7)
{
    static const char *const names[] = {"fp16", "fp32", "tf32", "bf16", "e8m40", "e9m50", "e5m50"};
    const struct ulp_format format = get_format(names[_i]);
    scoped_mpfr exact, want;
    mpfr_init2(exact, 400);
    mpfr_init2(want, 53);
    size_t nearest_wrong = 0;
    for (uint64_t i = 0; i < test_count(20000, 20000); i++) {
        /* A tie or a value of the format, and a crumb far below 53 bits, on either side. */
        const uint64_t choice = ulp_random_bits(23, i);
        double x = ldexp((double)((choice >> 8 & ((UINT64_C(1) << format.precision) - 1)) | 1),
                         -format.precision);
        x = ldexp(1 + x, (int)(choice % 9) - (choice & 128 ? 0 : 4 - format.emin));
        mpfr_set_d(exact, x, MPFR_RNDN);
        mpfr_t crumb;
        mpfr_init2(crumb, 2);
        mpfr_set_ui_2exp(crumb, 1, mpfr_get_exp(exact) - 60 - (mpfr_exp_t)(choice >> 60),
                         MPFR_RNDN);
        if (i % 3)
            (i % 3 == 1 ? mpfr_add : mpfr_sub)(exact, exact, crumb, MPFR_RNDN);
        mpfr_clear(crumb);
        for (int mode = 0; mode < MODE_COUNT; mode++) {
            double odd[8], nearest[8];
            for (int j = 0; j < 8; j++) {
                odd[j] = round_to_odd(exact);
                nearest[j] = mpfr_get_d(exact, MPFR_RNDN);
            }
            ulp_round_mpfr(&format, (enum ulp_rounding)mode, want, exact, 0, 0, 0);
            ulp_round_doubles(&format, (enum ulp_rounding)mode, odd, 8, 0, 0, 0);
            ulp_round_doubles(&format, (enum ulp_rounding)mode, nearest, 8, 0, 0, 0);
            const double expected = mpfr_get_d(want, MPFR_RNDN);
            ck_expect(same_double(odd[0], expected), "%s %s: odd %a gives %a, not %a", format.name,
                      mode_names[mode], round_to_odd(exact), odd[0], expected);
            nearest_wrong += !same_double(nearest[0], expected);
        }
    }
    ck_expect(nearest_wrong > 0, "%s: no input on which double rounding shows", format.name);
}

/* A TF32 product formed in float is rounded twice where TF32 is subnormal. */
TEST(tf32_double_rounding)
{
    const struct ulp_format tf32 = get_format("tf32");
    const double exact = 0x1.6f4p-78 * 0x1.358p-53; /* 11 + 10 bits: exact in double */
    float in_float = 0x1.6f4p-78f * 0x1.358p-53f;
    double in_double = exact;
    ck_assert_double_eq(ulp_format_round(&tf32, ULP_ROUND_NEAREST_EVEN, 0x1.6f4p-78, 0, 0),
                        0x1.6f4p-78);
    ck_assert_double_eq(ulp_format_round(&tf32, ULP_ROUND_NEAREST_EVEN, 0x1.358p-53, 0, 0),
                        0x1.358p-53);
    ulp_round_floats(&tf32, ULP_ROUND_NEAREST_EVEN, &in_float, 1, 0, 0, 0);
    ulp_round_doubles(&tf32, ULP_ROUND_NEAREST_EVEN, &in_double, 1, 0, 0, 0);
    ck_assert_double_eq(in_double, 0x1.b8p-131);
    ck_assert_double_eq(in_float, 0x1.cp-131);
    ck_assert_double_eq(round_by_mpfr(&tf32, ULP_ROUND_NEAREST_EVEN, exact, 0), 0x1.b8p-131);
}
