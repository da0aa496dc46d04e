/* Rounding against the format's definition. Every value of a small format is listed by decoding all its patterns; the
 * numbers that round to one value are an interval between boundaries that follow from the mode alone. So the loops are
 * compared on all 2^32 floats with no second rounding routine. Larger formats: with the MPFR oracle, which is itself
 * compared with mpfr_subnormalize. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "number/round.h"
#include "test.h"

enum { MODE_COUNT = ULP_ROUND_STOCHASTIC }; /* the deterministic ones */
static const char *const mode_names[] = {"rne", "rna", "rz", "ru", "rd", "sr"};

static uint32_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float bits_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static bool same_double(double a, double b) { return (isnan(a) && isnan(b)) || double_bits(a) == double_bits(b); }

static struct ulp_format get_format(const char *name)
{
    struct ulp_format format;
    struct ulp_error error;
    ck_ulp_ok(ulp_format_find(name, &format, &error), error);
    return format;
}

/* The non-negative finite values in increasing order, and the one that would follow the largest. */
struct values {
    double *at;
    size_t count; /* without the one that would follow */
};

static struct values list_values(const struct ulp_format *format)
{
    const int unused = strcmp(format->name, "tf32") == 0 ? 13 : 0;
    const size_t limit = (size_t)1 << (format->storage_bits - unused - 1);
    struct values values = {.at = malloc((limit + 1) * sizeof(double))};
    ck_assert_ptr_nonnull(values.at);
    for (size_t pattern = 0; pattern < limit; pattern++) {
        const double x = ulp_format_decode(format, (uint32_t)(pattern << unused));
        if (!isfinite(x))
            continue;
        ck_expect(values.count == 0 || x > values.at[values.count - 1],
                  "%s: pattern %zx decodes to %a, not above the one before", format->name, pattern, x);
        values.at[values.count++] = x;
    }
    ck_assert(values.at[values.count - 1] == format->max_finite);
    values.at[values.count] = format->max_finite + (format->max_finite - values.at[values.count - 2]);
    return values;
}

/* Does a magnitude strictly between values i and i + 1 go up? x is exact. IEEE 754 section 4.3. */
static bool goes_up(const struct values *values, enum ulp_rounding mode, bool negative, size_t i, double x)
{
    const double middle = values->at[i] + (values->at[i + 1] - values->at[i]) / 2;
    switch (mode) {
    case ULP_ROUND_NEAREST_EVEN:
        return x > middle || (x == middle && i % 2 == 1); /* patterns' parity is the fraction's */
    case ULP_ROUND_NEAREST_AWAY: return x >= middle;
    case ULP_ROUND_TOWARD_ZERO: return false;
    case ULP_ROUND_UP: return !negative;
    case ULP_ROUND_DOWN: return negative;
    case ULP_ROUND_STOCHASTIC: break;
    }
    ck_abort_msg("not a deterministic mode");
    return false;
}

/* What value i becomes when it is stored: index values->count stands for everything beyond the largest. */
static double stored_value(const struct ulp_format *format, const struct values *values, enum ulp_rounding mode,
                           bool negative, size_t i)
{
    double x;
    const bool stays =
        mode == ULP_ROUND_TOWARD_ZERO || (mode == ULP_ROUND_UP && negative) || (mode == ULP_ROUND_DOWN && !negative);
    if (i < values->count)
        x = values->at[i];
    else if (stays || format->overflow == ULP_OVERFLOW_SATURATE)
        x = values->at[values->count - 1];
    else
        x = format->overflow == ULP_OVERFLOW_NAN ? NAN : INFINITY;
    if (!format->subnormals && x < ldexp(1.0, format->emin))
        x = 0;
    return negative && !(x == 0 && !format->signed_zero) ? -x : x;
}

static double infinite_value(const struct ulp_format *format, bool negative)
{
    const double x = format->overflow == ULP_OVERFLOW_SATURATE ? format->max_finite
                     : format->overflow == ULP_OVERFLOW_NAN    ? NAN
                                                               : INFINITY;
    return negative ? -x : x;
}

/* The magnitude bits of the largest float that does not go up from value i. */
static uint32_t last_float(const struct values *values, enum ulp_rounding mode, bool negative, size_t i)
{
    uint32_t low = float_bits((float)values->at[i]), high; /* low stays (values are floats) */
    if (!goes_up(values, mode, negative, i, (values->at[i] + values->at[i + 1]) / 2) &&
        mode != ULP_ROUND_NEAREST_EVEN) {
        high = float_bits((float)values->at[i + 1]); /* nothing between goes up */
        return high - 1;
    }
    high = float_bits((float)values->at[i + 1]); /* goes up, or is the next value */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (goes_up(values, mode, negative, i, bits_float(middle)))
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* Floats waiting to be rounded together, each with what it must give. */
enum { BATCH = 4096 };
struct batch {
    const struct ulp_format *format;
    enum ulp_rounding mode;
    size_t count;
    float in[BATCH], out[BATCH], want[BATCH];
};

static void flush_batch(struct batch *batch)
{
    memcpy(batch->out, batch->in, sizeof batch->out);
    ulp_round_floats(batch->format, batch->mode, batch->out, batch->count, 0, 0, 0);
    size_t wrong = 0;
    for (size_t i = 0; i < batch->count; i++)
        wrong += float_bits(batch->out[i]) != float_bits(batch->want[i]);
    for (size_t i = 0; wrong && i < batch->count; i++)
        ck_expect(isnan(batch->want[i]) ? isnan(batch->out[i])
                                        : float_bits(batch->out[i]) == float_bits(batch->want[i]),
                  "%s %s: %a gives %a, not %a", batch->format->name, mode_names[batch->mode], batch->in[i],
                  batch->out[i], batch->want[i]);
    batch->count = 0;
}

/* Add the floats with magnitude bits first, first + stride, ... below end, all of which must give `want`. */
static void add_interval(struct batch *batch, bool negative, uint64_t first, uint64_t end, uint64_t stride, double want)
{
    const uint32_t sign = negative ? UINT32_C(1) << 31 : 0;
    while (first < end) {
        const uint64_t wanted = (end - first + stride - 1) / stride, room = BATCH - batch->count;
        const size_t n = (size_t)(wanted < room ? wanted : room);
        float *in = batch->in + batch->count, *wants = batch->want + batch->count;
        for (size_t i = 0; i < n; i++) {
            in[i] = bits_float((uint32_t)(first + i * stride) | sign);
            wants[i] = (float)want;
        }
        first += n * stride;
        batch->count += n;
        if (batch->count == BATCH)
            flush_batch(batch);
    }
}

/* All floats of a sign: each interval of equal results, with `stride` (1: all 2^31 of them) and its ends. */
static void check_floats(const struct ulp_format *format, const struct values *values, enum ulp_rounding mode,
                         bool negative, uint64_t stride)
{
    static struct batch batch;
    const uint64_t infinity = 0x7f800000;
    uint64_t first = 0;
    batch = (struct batch){.format = format, .mode = mode};
    for (size_t i = 0; i < values->count; i++) {
        const uint64_t last = last_float(values, mode, negative, i);
        const double want = stored_value(format, values, mode, negative, i);
        ck_expect(first <= last, "%s %s: no float rounds to %a", format->name, mode_names[mode], values->at[i]);
        add_interval(&batch, negative, first, last + 1, stride, want);
        if (stride > 1)
            add_interval(&batch, negative, last, last + 1, 1, want);
        first = last + 1;
    }
    const double beyond = stored_value(format, values, mode, negative, values->count);
    add_interval(&batch, negative, first, infinity, stride, beyond);
    add_interval(&batch, negative, infinity - 1, infinity, 1, beyond);
    add_interval(&batch, negative, infinity, infinity + 1, 1, infinite_value(format, negative));
    add_interval(&batch, negative, infinity + 1, UINT64_C(1) << 31, stride, NAN);
    flush_batch(&batch);
}

static const char *const small_formats[] = {"fp16", "bf16", "fp8-e4m3", "fp8-e5m2", "fp8-e4m3fnuz", "fp8-e5m2fnuz",
                                            "tf32", "e2m1", "e2m5",     "e5m7",     "e7m8",         "e8m3"};
enum { SMALL_COUNT = sizeof small_formats / sizeof small_formats[0], PROVEN_COUNT = 4 };

START_TEST(floats_of_small_formats)
{
    const struct ulp_format format = get_format(small_formats[_i]);
    const struct values values = list_values(&format);
    for (int mode = 0; mode < MODE_COUNT; mode++)
        for (int negative = 0; negative < 2; negative++)
            check_floats(&format, &values, (enum ulp_rounding)mode, negative, 1021);
    free(values.at);
}
END_TEST

START_TEST(flushed_and_saturating)
{
    struct ulp_format format = get_format(small_formats[_i]);
    const struct values values = list_values(&format);
    for (int overflow = 0; overflow <= ULP_OVERFLOW_SATURATE; overflow++)
        for (int subnormals = 0; subnormals < 2; subnormals++)
            for (int mode = 0; mode < MODE_COUNT; mode++) {
                if (overflow == ULP_OVERFLOW_INFINITY && !ulp_format_has_infinity(&format))
                    continue;
                format.overflow = (enum ulp_overflow)overflow;
                format.subnormals = subnormals;
                check_floats(&format, &values, (enum ulp_rounding)mode, mode % 2, 20011);
            }
    free(values.at);
}
END_TEST

/* Every one of the 2^32 floats, every deterministic mode. */
START_TEST(all_floats)
{
    const struct ulp_format format = get_format(small_formats[_i / MODE_COUNT]);
    const struct values values = list_values(&format);
    check_floats(&format, &values, (enum ulp_rounding)(_i % MODE_COUNT), false, 1);
    check_floats(&format, &values, (enum ulp_rounding)(_i % MODE_COUNT), true, 1);
    free(values.at);
}
END_TEST

/* Each instruction set has its own loops. The features are read once a process, and each test is a process. */
START_TEST(every_instruction_set)
{
    static const char *const disabled[] = {"", "avx512", "avx2"};
    static const char *const names[] = {"fp16", "bf16", "fp8-e4m3fnuz"};
    ck_assert_int_eq(setenv("ULPSCOPE_DISABLE_CPU", disabled[_i], 1), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct ulp_format format = get_format(names[i]);
        const struct values values = list_values(&format);
        for (int mode = 0; mode < MODE_COUNT; mode++) {
            struct ulp_format flushed = format;
            flushed.subnormals = false;
            check_floats(&format, &values, (enum ulp_rounding)mode, mode % 2, 5003);
            check_floats(&flushed, &values, (enum ulp_rounding)mode, !(mode % 2), 20011);
        }
        free(values.at);
    }
}
END_TEST

static void check_double(const struct ulp_format *format, enum ulp_rounding mode, double x, double got, double want)
{
    ck_expect(same_double(got, want), "%s %s: %a gives %a, not %a", format->name, mode_names[mode], x, got, want);
    const double alone = ulp_format_round(format, mode, x, 0, 0);
    ck_expect(same_double(alone, want), "%s %s: ulp_format_round %a gives %a, not %a", format->name, mode_names[mode],
              x, alone, want);
}

/* At every value and every midpoint: one double below, it, one above. */
START_TEST(doubles_at_boundaries)
{
    const struct ulp_format format = get_format(small_formats[_i]);
    struct values values = list_values(&format);
    for (int mode = 0; mode < MODE_COUNT; mode++)
        for (int negative = 0; negative < 2; negative++)
            for (size_t i = 0; i < values.count; i++) {
                const double low = values.at[i], high = values.at[i + 1], middle = low + (high - low) / 2;
                double in[8] = {low,
                                nextafter(low, high),
                                nextafter(middle, low),
                                middle,
                                nextafter(middle, high),
                                nextafter(high, low),
                                low,
                                middle},
                       out[8];
                for (int j = 0; j < 8; j++)
                    out[j] = in[j] = negative ? -in[j] : in[j];
                ulp_round_doubles(&format, (enum ulp_rounding)mode, out, 8, 0, 0, 0);
                for (int j = 0; j < 8; j++) {
                    const double x = fabs(in[j]);
                    const size_t at = x != low && goes_up(&values, (enum ulp_rounding)mode, negative, i, x) ? i + 1 : i;
                    check_double(&format, (enum ulp_rounding)mode, in[j], out[j],
                                 stored_value(&format, &values, (enum ulp_rounding)mode, negative, at));
                }
            }
    free(values.at);
}
END_TEST

/* A double with random bits whose exponent is near the format's range, or anywhere. */
static double random_double(const struct ulp_format *format, uint64_t index)
{
    const uint64_t bits = ulp_random_bits(17, 2 * index), choice = ulp_random_bits(17, 2 * index + 1);
    double x = 1 + (double)(bits >> 12) * 0x1p-52;
    if (choice & 1) /* few bits: ties and exact values are frequent */
        x = 1 + (double)(bits >> (64 - (format->precision < 50 ? format->precision : 50))) *
                    ldexp(1.0, -(format->precision < 50 ? format->precision : 50));
    const int reach = (int)(choice >> 8 & 63) - 32 - format->precision * (int)(choice >> 16 & 1);
    const int low = format->emin < -1100 ? -1022 : format->emin, high = format->emax > 1100 ? 1023 : format->emax;
    const int exponent = choice & 2   ? low + reach
                         : choice & 4 ? high - (int)(choice >> 8 & 7) + 2
                                      : (int)(choice >> 20 & 2047) - 1074;
    x = ldexp(x, exponent);
    return choice & 8 ? -x : x;
}

/* The formats in which both float and double loops, every kind of them, meet the oracle. */
static const char *const wide_formats[] = {
    "fp32",   "fp64",  "tf32",  "bf16",    "fp16",   "e8m22",   "e8m23",    "e7m22",       "e7m23",  "e5m23",
    "e2m23",  "e5m10", "e9m10", "e10m51",  "e10m52", "e9m52",   "e5m52",    "e2m52",       "e11m10", "e11m51",
    "e11m52", "e2m1",  "e11m1", "mpfr:24", "mpfr:2", "mpfr:53", "fp8-e4m3", "fp8-e4m3fnuz",
    "fp4-e2m1", "fp8-e8m0"};
enum { WIDE_COUNT = sizeof wide_formats / sizeof wide_formats[0] };

static double round_by_mpfr(const struct ulp_format *format, enum ulp_rounding mode, double x, uint64_t index)
{
    mpfr_t in, out;
    mpfr_init2(in, 53);
    mpfr_init2(out, 53);
    mpfr_set_d(in, x, MPFR_RNDN);
    ulp_round_mpfr(format, mode, out, in, 5, 7, index);
    const double result = mpfr_get_d(out, MPFR_RNDN);
    mpfr_clear(in);
    mpfr_clear(out);
    return result;
}

START_TEST(random_against_mpfr)
{
    enum { CHUNK = 1000 };
    struct ulp_format format = get_format(wide_formats[_i]);
    const bool mpfr = format.carrier == ULP_CARRIER_MPFR;
    for (int variant = 0; variant < (mpfr ? 1 : 3); variant++) {
        format.subnormals = variant != 1 && !mpfr;
        format.overflow = variant == 2 ? ULP_OVERFLOW_SATURATE : get_format(wide_formats[_i]).overflow;
        for (int mode = 0; mode <= ULP_ROUND_STOCHASTIC; mode++) {
            double in[CHUNK], out[CHUNK];
            float narrow[CHUNK];
            const size_t count = test_long() ? 100 : 4;
            for (size_t chunk = 0; chunk < count; chunk++) {
                const uint64_t first = chunk * CHUNK + 1;
                for (size_t i = 0; i < CHUNK; i++)
                    out[i] = in[i] = random_double(&format, first + i + (uint64_t)mode * 1000003);
                ulp_round_doubles(&format, (enum ulp_rounding)mode, out, CHUNK, 5, 7, first);
                for (size_t i = 0; i < CHUNK; i++) {
                    const double want = round_by_mpfr(&format, (enum ulp_rounding)mode, in[i], first + i);
                    ck_expect(same_double(out[i], want), "%s %s: %a gives %a, not %a", format.name, mode_names[mode],
                              in[i], out[i], want);
                    if (!(mpfr && fabs(in[i]) > 0x1p1000) && mode < ULP_ROUND_STOCHASTIC)
                        check_double(&format, (enum ulp_rounding)mode, in[i], out[i], want);
                }
                if (format.carrier != ULP_CARRIER_FLOAT)
                    continue;
                for (size_t i = 0; i < CHUNK; i++)
                    in[i] = narrow[i] = (float)in[i];
                ulp_round_floats(&format, (enum ulp_rounding)mode, narrow, CHUNK, 5, 7, first);
                for (size_t i = 0; i < CHUNK; i++) {
                    const double want = round_by_mpfr(&format, (enum ulp_rounding)mode, in[i], first + i);
                    ck_expect(same_double(narrow[i], want), "%s %s: %a gives %a, not %a", format.name, mode_names[mode],
                              in[i], narrow[i], want);
                }
            }
        }
    }
}
END_TEST

/* The oracle against MPFR's own emulation of formats with subnormals. */
START_TEST(oracle_against_subnormalize)
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
        mpfr_t x, want, got;
        mpfr_init2(x, 120);
        mpfr_init2(want, format.precision);
        mpfr_init2(got, format.precision + 3);
        for (int m = 0; m < 4; m++)
            for (uint64_t i = 0; i < 4000; i++) {
                mpfr_set_d(x, random_double(&format, i), MPFR_RNDN);
                if (i % 3 == 0 && mpfr_regular_p(x)) { /* bits far below */
                    mpfr_t tiny;
                    mpfr_init2(tiny, 2);
                    mpfr_set_ui_2exp(tiny, 1, mpfr_get_exp(x) - 110, MPFR_RNDN);
                    mpfr_add(x, x, tiny, MPFR_RNDN);
                    mpfr_clear(tiny);
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
                          mpfr_get_d(x, MPFR_RNDN), mpfr_get_d(got, MPFR_RNDN), mpfr_get_d(want, MPFR_RNDN));
            }
        mpfr_clear(x);
        mpfr_clear(want);
        mpfr_clear(got);
    }
}
END_TEST

/* x rounded to odd at 53 bits: truncated, and the last bit set when that was inexact. */
static double round_to_odd(const mpfr_t x)
{
    mpfr_t cut;
    mpfr_init2(cut, 53);
    const bool inexact = mpfr_set(cut, x, MPFR_RNDZ) != 0;
    double result = mpfr_get_d(cut, MPFR_RNDZ);
    uint64_t bits = double_bits(result) | inexact;
    memcpy(&result, &bits, sizeof result);
    mpfr_clear(cut);
    return result;
}

/* number/README.md section 3: odd at 53 bits, then any mode, is one rounding for precisions <= 51; nearest at 53 bits
 * is not. */
START_TEST(after_rounding_to_odd)
{
    static const char *const names[] = {"fp16", "fp32", "tf32", "bf16", "e8m40", "e9m50", "e5m50"};
    const struct ulp_format format = get_format(names[_i]);
    mpfr_t exact, want;
    mpfr_init2(exact, 400);
    mpfr_init2(want, 53);
    size_t nearest_wrong = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        /* A tie or a value of the format, and a crumb far below 53 bits, on either side. */
        const uint64_t choice = ulp_random_bits(23, i);
        double x = ldexp((double)((choice >> 8 & ((UINT64_C(1) << format.precision) - 1)) | 1), -format.precision);
        x = ldexp(1 + x, (int)(choice % 9) - (choice & 128 ? 0 : 4 - format.emin));
        mpfr_set_d(exact, x, MPFR_RNDN);
        mpfr_t crumb;
        mpfr_init2(crumb, 2);
        mpfr_set_ui_2exp(crumb, 1, mpfr_get_exp(exact) - 60 - (mpfr_exp_t)(choice >> 60), MPFR_RNDN);
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
            ck_expect(same_double(odd[0], expected), "%s %s: odd %a gives %a, not %a", format.name, mode_names[mode],
                      round_to_odd(exact), odd[0], expected);
            nearest_wrong += !same_double(nearest[0], expected);
        }
    }
    ck_expect(nearest_wrong > 0, "%s: no input on which double rounding shows", format.name);
    mpfr_clear(exact);
    mpfr_clear(want);
}
END_TEST

/* A TF32 product formed in float is rounded twice where TF32 is subnormal. */
START_TEST(tf32_double_rounding)
{
    const struct ulp_format tf32 = get_format("tf32");
    const double exact = 0x1.6f4p-78 * 0x1.358p-53; /* 11 + 10 bits: exact in double */
    float in_float = 0x1.6f4p-78f * 0x1.358p-53f;
    double in_double = exact;
    ck_assert_double_eq(ulp_format_round(&tf32, ULP_ROUND_NEAREST_EVEN, 0x1.6f4p-78, 0, 0), 0x1.6f4p-78);
    ck_assert_double_eq(ulp_format_round(&tf32, ULP_ROUND_NEAREST_EVEN, 0x1.358p-53, 0, 0), 0x1.358p-53);
    ulp_round_floats(&tf32, ULP_ROUND_NEAREST_EVEN, &in_float, 1, 0, 0, 0);
    ulp_round_doubles(&tf32, ULP_ROUND_NEAREST_EVEN, &in_double, 1, 0, 0, 0);
    ck_assert_double_eq(in_double, 0x1.b8p-131);
    ck_assert_double_eq(in_float, 0x1.cp-131);
    ck_assert_double_eq(round_by_mpfr(&tf32, ULP_ROUND_NEAREST_EVEN, exact, 0), 0x1.b8p-131);
}
END_TEST

/* The share of draws that go up is a mean of n independent bits of expectation f (up to 2^-53): Hoeffding gives
 * P(|share - f| > t) <= 2 exp(-2 n t^2), which is 1e-9 at t = sqrt(ln(2e9) / (2 n)). */
START_TEST(stochastic_mean)
{
    enum { N = 1 << 16 };
    static const char *const names[] = {"fp16", "bf16", "fp8-e4m3", "e5m23"};
    static const double fractions[] = {0.5, 0.25, 0.1, 0.015625, 0.9, 0.75};
    static float x[N];
    static double y[N];
    const double bound = sqrt(log(2e9) / (2.0 * N));
    for (size_t f = 0; f < sizeof names / sizeof names[0]; f++) {
        const struct ulp_format format = get_format(names[f]);
        for (size_t k = 0; k < sizeof fractions / sizeof fractions[0]; k++)
            for (int subnormal = 0; subnormal < 2; subnormal++) {
                const double low = subnormal ? 3 * ulp_format_ulp(&format, 0) : -1.5;
                const double step = copysign(ulp_format_ulp(&format, low), low);
                double in = low + fractions[k] * step, up = 0, up_float = 0;
                if (format.precision < 24)
                    in = (float)in;
                const double fraction = (in - low) / step;
                for (size_t i = 0; i < N; i++) {
                    y[i] = in;
                    x[i] = (float)in;
                }
                ulp_round_doubles(&format, ULP_ROUND_STOCHASTIC, y, N, 99 + k, f, 0);
                ulp_round_floats(&format, ULP_ROUND_STOCHASTIC, x, N, 99 + k, f, 0);
                for (size_t i = 0; i < N; i++) {
                    ck_expect(y[i] == low || y[i] == low + step, "%s: %a gives %a", format.name, in, y[i]);
                    up += y[i] != low;
                    up_float += x[i] != (float)low;
                }
                ck_expect(fabs(up / N - fraction) <= bound, "%s: %g of draws of %a go up", format.name, up / N, in);
                ck_assert(format.precision == 24 || up_float == up);
            }
    }
}
END_TEST

START_TEST(stochastic_is_reproducible)
{
    enum { N = 300 };
    const struct ulp_format format = get_format("fp16");
    double all[N], pieces[N], other[N];
    float narrow[N];
    for (size_t i = 0; i < N; i++)
        all[i] = pieces[i] = other[i] = narrow[i] = (float)(1 + (double)i * 0x1.357p-14);
    ulp_round_doubles(&format, ULP_ROUND_STOCHASTIC, all, N, 3, 4, 11);
    ulp_round_floats(&format, ULP_ROUND_STOCHASTIC, narrow, N, 3, 4, 11);
    for (size_t i = 0, n; i < N; i += n) {
        n = i % 7 + 1 < N - i ? i % 7 + 1 : N - i;
        ulp_round_doubles(&format, ULP_ROUND_STOCHASTIC, pieces + i, n, 3, 4, 11 + i);
    }
    ulp_round_doubles(&format, ULP_ROUND_STOCHASTIC, other, N, 3, 5, 11);
    size_t differing = 0;
    for (size_t i = 0; i < N; i++) {
        ck_assert(same_double(all[i], pieces[i]) && same_double(all[i], narrow[i]));
        differing += all[i] != other[i];
    }
    ck_assert_uint_gt(differing, N / 8); /* another stream is another sequence */
    for (size_t i = 0; i < N; i++) {
        double again = all[i];
        ulp_round_doubles(&format, ULP_ROUND_STOCHASTIC, &again, 1, 8, 9, i);
        ck_assert(same_double(again, all[i])); /* a value of the format never moves */
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("round");
    TCase *tests = tcase_create("round");
    tcase_set_timeout(tests, 600);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, floats_of_small_formats, 0, SMALL_COUNT);
    tcase_add_loop_test(tests, flushed_and_saturating, 0, SMALL_COUNT);
    tcase_add_loop_test(tests, every_instruction_set, 0, 3);
    tcase_add_loop_test(tests, doubles_at_boundaries, 0, SMALL_COUNT);
    tcase_add_loop_test(tests, random_against_mpfr, 0, WIDE_COUNT);
    tcase_add_test(tests, oracle_against_subnormalize);
    tcase_add_loop_test(tests, after_rounding_to_odd, 0, 7);
    tcase_add_test(tests, tf32_double_rounding);
    tcase_add_test(tests, stochastic_mean);
    tcase_add_test(tests, stochastic_is_reproducible);
    if (test_long())
        tcase_add_loop_test(tests, all_floats, 0, PROVEN_COUNT * MODE_COUNT);
    return test_run(suite, NULL);
}
