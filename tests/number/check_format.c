/* Formats by name and their bit patterns, against tables made by counting. */
#include "number/round/round.h"
#include "tests/support/test.h"

static struct ulp_format get_format(const char *name)
{
    const struct ulp_format format = test_format(name);
    return format;
}

/* The encodings by counting: from one positive pattern to the next the value grows by one ulp, and
 * the ulp doubles whenever the exponent field is increased past 1. NaN and infinity patterns are
 * listed as the standards list them. */
static const struct encoding {
    const char *format;
    int fraction_bits, exponent_bits, unused;
    double smallest;
    uint32_t finite_last;         /* the last pattern of a finite positive number */
    uint32_t infinity;            /* 0: none */
    uint32_t nan_first, nan_last; /* positive NaN patterns; 0: none */
    bool minus_zero;              /* false: 1 followed by zeros is NaN */
} encodings[] = {
    {"fp16", 10, 5, 0, 0x1p-24, 0x7bff, 0x7c00, 0x7c01, 0x7fff, true},
    {"bf16", 7, 8, 0, 0x1p-133, 0x7f7f, 0x7f80, 0x7f81, 0x7fff, true},
    {"tf32", 10, 8, 13, 0x1p-136, 0x3fbff, 0x3fc00, 0x3fc01, 0x3ffff, true},
    {"fp8-e4m3", 3, 4, 0, 0x1p-9, 0x7e, 0, 0x7f, 0x7f, true},
    {"fp8-e5m2", 2, 5, 0, 0x1p-16, 0x7b, 0x7c, 0x7d, 0x7f, true},
    {"fp8-e4m3fnuz", 3, 4, 0, 0x1p-10, 0x7f, 0, 0, 0, false},
    {"fp8-e5m2fnuz", 2, 5, 0, 0x1p-17, 0x7f, 0, 0, 0, false},
    {"fp4-e2m1", 1, 2, 0, 0.5, 0x7, 0, 0, 0, true},
    {"fp6-e2m3", 3, 2, 0, 0x1p-3, 0x1f, 0, 0, 0, true},
    {"fp6-e3m2", 2, 3, 0, 0x1p-4, 0x1f, 0, 0, 0, true},
    {"e2m3", 3, 2, 0, 0x1p-3, 0x17, 0x18, 0x19, 0x1f, true},
    {"e5m10", 10, 5, 0, 0x1p-24, 0x7bff, 0x7c00, 0x7c01, 0x7fff, true},
};
enum { ENCODING_COUNT = sizeof encodings / sizeof encodings[0] };

static void expect_pattern(const struct ulp_format *format, uint32_t pattern, double want,
                           bool canonical)
{
    const double got = ulp_format_decode(format, pattern);
    ck_expect(isnan(want) ? isnan(got) : got == want && !signbit(got) == !signbit(want),
              "%s: %#x decodes to %a, not %a", format->name, pattern, got, want);
    if (canonical)
        ck_expect(ulp_format_encode(format, want) == pattern, "%s: %a encodes as %#x, not %#x",
                  format->name, want, ulp_format_encode(format, want), pattern);
    else /* one of several patterns of NaN */
        ck_expect(isnan(ulp_format_decode(format, ulp_format_encode(format, want))),
                  "%s: NaN is lost", format->name);
}

TEST_LOOP(patterns_by_counting, 0, ENCODING_COUNT)
{
    const struct encoding *e = &encodings[_i];
    const struct ulp_format format = get_format(e->format);
    const uint32_t sign = UINT32_C(1) << (e->fraction_bits + e->exponent_bits);
    double value = 0, step = e->smallest;
    ck_assert_double_eq(ulp_format_ulp(&format, 0), e->smallest);
    for (uint32_t pattern = 0; pattern < sign; pattern++) {
        if (pattern >> e->fraction_bits > 1 && pattern % (UINT32_C(1) << e->fraction_bits) == 0)
            step *= 2;
        double want = value;
        if (e->infinity && pattern == e->infinity)
            want = INFINITY;
        else if (e->nan_first && pattern >= e->nan_first && pattern <= e->nan_last)
            want = NAN;
        else
            ck_expect(pattern <= e->finite_last && ulp_format_ulp(&format, value) == step,
                      "%s: pattern %#x, ulp %a not %a", e->format, pattern,
                      ulp_format_ulp(&format, value), step);
        if (pattern == e->finite_last)
            ck_assert_double_eq(value, format.max_finite);
        expect_pattern(&format, pattern << e->unused, want, !isnan(want));
        if (e->minus_zero || pattern)
            expect_pattern(&format, (pattern | sign) << e->unused, -want, !isnan(want));
        value += step;
    }
    if (!e->minus_zero) {
        expect_pattern(&format, sign, NAN, true);
        ck_assert_uint_eq(ulp_format_encode(&format, -0.0), 0);
    }
}

/* E8M0: pattern p is 2^(p - 127), 255 is NaN. What it lacks is replaced, in each carrier and by the
 * oracle alike. */
TEST(powers_of_two)
{
    static const struct {
        enum ulp_rounding rounding;
        bool saturate;
        double x, want;
    } cases[] = {
        {ULP_ROUND_UP, true, 0, 0x1p-127},
        {ULP_ROUND_UP, true, 0x1p-140, 0x1p-127},
        {ULP_ROUND_UP, true, INFINITY, 0x1p127},
        {ULP_ROUND_UP, true, 0x1.8p127, 0x1p127},
        {ULP_ROUND_UP, true, NAN, NAN},
        {ULP_ROUND_UP, true, 1.0625, 2},
        {ULP_ROUND_UP, true, -1, NAN},
        {ULP_ROUND_NEAREST_AWAY, false, 0, NAN},
        {ULP_ROUND_NEAREST_AWAY, false, INFINITY, NAN},
        {ULP_ROUND_NEAREST_AWAY, false, 0x1.8p127, NAN},
        {ULP_ROUND_NEAREST_AWAY, false, 0x1p-129, 0x1p-127},
        {ULP_ROUND_NEAREST_EVEN, false, 0x1p-149, 0x1p-127},
        {ULP_ROUND_DOWN, false, 0x1p-130, 0x1p-127},
        {ULP_ROUND_NEAREST_EVEN, false, -0x1p-149, NAN},
        {ULP_ROUND_NEAREST_EVEN, true, -0x1p-149, NAN},
        {ULP_ROUND_NEAREST_EVEN, false, -0.0, NAN},
        {ULP_ROUND_NEAREST_EVEN, true, -0.0, 0x1p-127},
        {ULP_ROUND_NEAREST_EVEN, false, -INFINITY, NAN},
        {ULP_ROUND_NEAREST_EVEN, true, -INFINITY, NAN},
        {ULP_ROUND_NEAREST_AWAY, false, 1.5, 2},
        {ULP_ROUND_NEAREST_AWAY, true, 0x1.7fffp-3, 0x1p-3},
        {ULP_ROUND_TOWARD_ZERO, true, 1.99, 1},
        {ULP_ROUND_TOWARD_ZERO, true, 0x1p-130, 0x1p-127},
    };
    struct ulp_format format = get_format("fp8-e8m0");
    for (uint32_t pattern = 0; pattern < 256; pattern++)
        expect_pattern(&format, pattern, pattern == 255 ? NAN : ldexp(1.0, (int)pattern - 127),
                       true);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double x = cases[i].x, want = cases[i].want;
        double got[3];
        float lanes[16];
        mpfr_t exact;
        format.overflow = cases[i].saturate ? ULP_OVERFLOW_SATURATE : ULP_OVERFLOW_NAN;
        got[0] = ulp_format_round(&format, cases[i].rounding, x, 0, 0);
        for (int j = 0; j < 16; j++)
            lanes[j] = (float)x;
        ulp_round_floats(&format, cases[i].rounding, lanes, 16, 0, 0, 0);
        got[1] = lanes[15];
        mpfr_init2(exact, 64);
        mpfr_set_d(exact, x, MPFR_RNDN);
        ulp_round_mpfr(&format, cases[i].rounding, exact, exact, 0, 0, 0);
        got[2] = mpfr_get_d(exact, MPFR_RNDN);
        mpfr_clear(exact);
        for (int j = 0; j < 3; j++)
            ck_expect(isnan(want) ? isnan(got[j]) : got[j] == want,
                      "%a, case %zu, way %d: %a, not %a", x, i, j, got[j], want);
    }
}

/* FP32 to E8M0 as ml_dtypes does it, whose float8_e8m0fnu has neither zero nor sign: halfway goes
 * up, beyond 2^127 is NaN, and every positive number up to 2^-127 is 2^-127. Between 2^-127 and 1.5
 * * 2^-127 ml_dtypes rounds the fraction of FP32's subnormal as if it were a normal number's and
 * gives 2^-126; here it is the nearest. */
static uint32_t power_nearest(uint32_t bits)
{
    const uint32_t field = bits >> 23, fraction = bits & 0x7FFFFF;
    if (bits == 0 || field >= 255) /* the sign is part of the field */
        return 255;
    if (field == 0)
        return fraction >= 0x600000; /* 1.5 * 2^-127 */
    return field + (fraction >= 0x400000);
}

TEST(powers_of_two_from_floats)
{
    enum { CHUNK = 4096 };
    const uint32_t low[] = {0, 1, 0x7F}, step = 0x80;
    struct ulp_format format = get_format("fp8-e8m0");
    for (int rounding = 0; rounding < 2; rounding++)
        for (size_t part = 0; part < 3; part++)
            for (uint64_t first = 0; first <= UINT32_MAX; first += (uint64_t)CHUNK * step) {
                float x[CHUNK];
                for (uint32_t i = 0; i < CHUNK; i++) {
                    const uint32_t bits = (uint32_t)first + i * step + low[part];
                    memcpy(&x[i], &bits, sizeof bits);
                }
                ulp_round_floats(&format,
                                 rounding ? ULP_ROUND_NEAREST_AWAY : ULP_ROUND_NEAREST_EVEN, x,
                                 CHUNK, 0, 0, 0);
                for (uint32_t i = 0; i < CHUNK; i++) {
                    const uint32_t bits = (uint32_t)first + i * step + low[part],
                                   want = power_nearest(bits);
                    if (ulp_format_encode(&format, x[i]) != want)
                        ck_abort_msg("%#x: %a, not pattern %u", bits, (double)x[i], want);
                }
            }
}

/* All of FP4's neighbours, halfway points and NaN, which it lacks. */
TEST(four_bits)
{
    static const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const struct ulp_format format = get_format("fp4-e2m1");
    for (int i = 0; i + 1 < 8; i++)
        for (int part = 0; part <= 4; part++) {
            const double x = values[i] + (values[i + 1] - values[i]) * part / 4;
            const double want = part < 2 || (part == 2 && i % 2 == 0) ? values[i] : values[i + 1];
            ck_assert_double_eq(ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, x, 0, 0), want);
            ck_assert_double_eq(ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, -x, 0, 0), -want);
        }
    ck_assert_double_eq(ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, INFINITY, 0, 0), 6);
    ck_assert_double_eq(ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, -1e30, 0, 0), -6);
    ck_assert_double_eq(ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, NAN, 0, 0), 0);
    ck_assert_uint_eq(ulp_format_encode(&format, NAN), 8);
}

TEST(for_storage_only)
{
    static const char *const names[] = {"fp4-e2m1", "fp8-e8m0", "fp4-e2m1-strict",
                                        "fp16,acc=fp4-e2m1", "fp32,factor=fp8-e8m0"};
    struct ulp_arithmetic arithmetic;
    struct ulp_error error;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ck_assert_int_eq(ulp_arithmetic_find(names[i], &arithmetic, &error), ULP_ERROR_USAGE);
        ck_expect(strstr(error.message, "for storage only"), "%s: %s", names[i], error.message);
    }
}

/* Patterns that the standards print. */
TEST(known_patterns)
{
    static const struct {
        const char *format;
        uint32_t pattern;
        double value;
    } known[] = {
        {"fp16", 0x3555, 0.333251953125},
        {"fp16", 0x7bff, 65504},
        {"fp16", 0x0400, 0x1p-14},
        {"fp16", 0xc000, -2},
        {"bf16", 0x3f80, 1},
        {"bf16", 0x4049, 3.140625},
        {"tf32", 0x40490000, 3.140625},
        {"fp8-e4m3", 0x7e, 448},
        {"fp8-e4m3", 0x38, 1},
        {"fp8-e5m2", 0x7b, 57344},
        {"fp8-e5m2", 0x3c, 1},
        {"fp8-e4m3fnuz", 0x7f, 240},
        {"fp8-e4m3fnuz", 0x40, 1},
        {"fp8-e5m2fnuz", 0x40, 1},
        {"fp32", 0x3f800001, 0x1.000002p0},
        {"fp16", 0x7e00, NAN},
        {"bf16", 0x7fc0, NAN},
        {"fp32", 0x7fc00000, NAN},
        {"tf32", 0x7fc00000, NAN},
        {"fp8-e4m3", 0x7f, NAN},
        {"fp8-e4m3fnuz", 0x80, NAN},
        {"fp8-e5m2", 0x7e, NAN},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const struct ulp_format format = get_format(known[i].format);
        expect_pattern(&format, known[i].pattern, known[i].value, true);
    }
    const struct ulp_format fp32 = get_format("fp32");
    for (uint64_t i = 0; i < 1000000; i++) {
        const uint32_t bits = (uint32_t)ulp_random_bits(1, i);
        float x;
        memcpy(&x, &bits, sizeof x);
        expect_pattern(&fp32, bits, x, !isnan(x));
    }
}

TEST(formats_by_name)
{
    struct ulp_format format = get_format("e11m52");
    const struct ulp_format fp64 = get_format("fp64"), fp32 = get_format("fp32"),
                            fp16 = get_format("fp16");
    ck_assert(format.precision == 53 && format.emin == fp64.emin && format.emax == fp64.emax &&
              format.max_finite == fp64.max_finite && format.carrier == ULP_CARRIER_DOUBLE &&
              format.storage_bits == 64);
    format = get_format("e8m23");
    ck_assert(format.precision == 24 && format.emin == fp32.emin && format.emax == fp32.emax &&
              format.max_finite == fp32.max_finite && format.carrier == ULP_CARRIER_FLOAT &&
              format.storage_bits == 32);
    ck_assert_int_eq(get_format("e9m2").carrier, ULP_CARRIER_DOUBLE);
    ck_assert_int_eq(get_format("e5m24").carrier, ULP_CARRIER_DOUBLE);
    format = get_format("mpfr:4096");
    ck_assert(format.precision == 4096 && format.carrier == ULP_CARRIER_MPFR &&
              isinf(format.max_finite));
    size_t count = 0;
    for (const struct ulp_format *row; (row = ulp_format_row(count)) != NULL; count++) {
        const struct ulp_format found = get_format(row->name);
        ck_assert_int_eq(memcmp(&found, row, sizeof found), 0);
        ck_assert_double_eq(ulp_format_round(row, ULP_ROUND_NEAREST_EVEN, row->max_finite, 0, 0),
                            row->max_finite);
    }
    ck_assert_uint_eq(count, 13);
    ck_assert_double_eq(ulp_format_ulp(&fp16, 1), 0x1p-10);
    ck_assert_double_eq(ulp_format_ulp(&fp16, -0x1.ffep0), 0x1p-10);
    ck_assert_double_eq(ulp_format_ulp(&fp16, 0x1p-30), 0x1p-24);
    ck_assert_double_eq(ulp_format_ulp(&fp64, 0), 0x1p-1074);
    ck_assert_double_eq(ulp_format_ulp(&fp64, 0x1p1023), 0x1p971);
    ck_assert(isnan(ulp_format_ulp(&fp16, INFINITY)) && isnan(ulp_format_ulp(&fp16, NAN)));

    static const char *const wrong[] = {
        "",         "fp",      "fp15",  "FP16",   "e1m3",      "e12m3",
        "e5m0",     "e5m53",   "e5",    "e5m",    "em",        "e5m7x",
        "e05m7",    "e5m07",   "mpfr:", "mpfr:1", "mpfr:4097", "mpfr:99999999999",
        "mpfr:12x", "mpfr:-5", "e-5m7"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct ulp_error error = {.status = ULP_OK};
        ck_assert_msg(ulp_format_find(wrong[i], &format, &error) == ULP_ERROR_USAGE,
                      "\"%s\" was found", wrong[i]);
        ck_assert_int_eq(error.status, ULP_ERROR_USAGE);
    }
}

/* Rounding to wide changes no value of narrow: those of its patterns that rounding to it can give.
 */
static bool is_unchanged(const struct ulp_format *wide, const struct ulp_format *narrow)
{
    for (uint32_t pattern = 0; pattern < UINT32_C(1) << narrow->storage_bits; pattern++) {
        const double x = ulp_format_decode(narrow, pattern);
        if (isnan(x) || (isinf(x) && narrow->overflow != ULP_OVERFLOW_INFINITY) ||
            (!narrow->subnormals && x != 0 && fabs(x) < ldexp(1, narrow->emin)))
            continue;
        const double y = ulp_format_round(wide, ULP_ROUND_NEAREST_EVEN, x, 0, 0);
        if (!(x == y) || !signbit(x) != !signbit(y))
            return false;
    }
    return true;
}

/* holds(wide, narrow) against the definition, all ways of underflow and overflow. */
TEST(formats_hold_formats)
{
    static const char *const names[] = {"fp16",         "bf16",         "fp8-e4m3", "fp8-e5m2",
                                        "fp8-e4m3fnuz", "fp8-e5m2fnuz", "e2m1",     "e4m3",
                                        "e5m7",         "e6m9",         "e8m3",     "e3m10",
                                        "e4m9"};
    static const enum ulp_overflow overflows[] = {ULP_OVERFLOW_INFINITY, ULP_OVERFLOW_NAN,
                                                  ULP_OVERFLOW_SATURATE};
    enum { COUNT = sizeof names / sizeof names[0], WAYS = 2 * 2 * 3 * 3 };
    for (int w = 0; w < COUNT; w++)
        for (int n = 0; n < COUNT; n++)
            for (int way = 0; way < WAYS; way++) {
                struct ulp_format wide = get_format(names[w]), narrow = get_format(names[n]);
                wide.subnormals = way & 1;
                narrow.subnormals = way & 2;
                if (wide.overflow == ULP_OVERFLOW_INFINITY)
                    wide.overflow = overflows[way / 4 % 3];
                if (narrow.overflow == ULP_OVERFLOW_INFINITY)
                    narrow.overflow = overflows[way / 12];
                const bool holds = is_unchanged(&wide, &narrow);
                ck_expect(ulp_format_holds(&wide, &narrow) == holds, "%s holds %s (%d): %d",
                          wide.name, narrow.name, way, holds);
            }
    const struct ulp_format fp64 = get_format("fp64"), fp32 = get_format("fp32"),
                            wide = get_format("mpfr:53");
    ck_assert(ulp_format_holds(&fp64, &fp32) && !ulp_format_holds(&fp32, &fp64) &&
              !ulp_format_holds(&fp64, &wide));
}

TEST_SUITE("format", 300)
