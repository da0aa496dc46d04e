/* Rounding against the format's definition. Every value of a small format is listed by decoding all
 * its patterns; the numbers that round to one value are an interval between boundaries that follow
 * from the mode alone. So the loops are compared on all 2^32 floats with no second rounding
 * routine. Larger formats, with the MPFR oracle, and stochastic rounding: tests/round. */
#include "base/bits.h"
#include "round/round_test.h"

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
                  "%s: pattern %zx decodes to %a, not above the one before", format->name, pattern,
                  x);
        values.at[values.count++] = x;
    }
    ck_assert(values.at[values.count - 1] == format->max_finite);
    values.at[values.count] =
        format->max_finite + (format->max_finite - values.at[values.count - 2]);
    return values;
}

/* Does a magnitude strictly between values i and i + 1 go up? x is exact. IEEE 754 section 4.3. */
static bool goes_up(const struct values *values, enum ulp_rounding mode, bool negative, size_t i,
                    double x)
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

/* What value i becomes when it is stored: index values->count stands for everything beyond the
 * largest. */
static double stored_value(const struct ulp_format *format, const struct values *values,
                           enum ulp_rounding mode, bool negative, size_t i)
{
    double x;
    const bool stays = mode == ULP_ROUND_TOWARD_ZERO || (mode == ULP_ROUND_UP && negative) ||
                       (mode == ULP_ROUND_DOWN && !negative);
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
static uint32_t last_float(const struct values *values, enum ulp_rounding mode, bool negative,
                           size_t i)
{
    uint32_t low = ulp_float_bits((float)values->at[i]), high; /* low stays (values are floats) */
    if (!goes_up(values, mode, negative, i, (values->at[i] + values->at[i + 1]) / 2) &&
        mode != ULP_ROUND_NEAREST_EVEN) {
        high = ulp_float_bits((float)values->at[i + 1]); /* nothing between goes up */
        return high - 1;
    }
    high = ulp_float_bits((float)values->at[i + 1]); /* goes up, or is the next value */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (goes_up(values, mode, negative, i, ulp_float_from(middle)))
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
        wrong += ulp_float_bits(batch->out[i]) != ulp_float_bits(batch->want[i]);
    for (size_t i = 0; wrong && i < batch->count; i++)
        ck_expect(isnan(batch->want[i])
                      ? isnan(batch->out[i])
                      : ulp_float_bits(batch->out[i]) == ulp_float_bits(batch->want[i]),
                  "%s %s: %a gives %a, not %a", batch->format->name, mode_names[batch->mode],
                  batch->in[i], batch->out[i], batch->want[i]);
    batch->count = 0;
}

/* Add the floats with magnitude bits first, first + stride, ... below end, all of which must give
 * `want`. */
static void add_interval(struct batch *batch, bool negative, uint64_t first, uint64_t end,
                         uint64_t stride, double want)
{
    const uint32_t sign = negative ? UINT32_C(1) << 31 : 0;
    while (first < end) {
        const uint64_t wanted = (end - first + stride - 1) / stride, room = BATCH - batch->count;
        const size_t n = (size_t)(wanted < room ? wanted : room);
        float *in = batch->in + batch->count, *wants = batch->want + batch->count;
        for (size_t i = 0; i < n; i++) {
            in[i] = ulp_float_from((uint32_t)(first + i * stride) | sign);
            wants[i] = (float)want;
        }
        first += n * stride;
        batch->count += n;
        if (batch->count == BATCH)
            flush_batch(batch);
    }
}

/* All floats of a sign: each interval of equal results, with `stride` (1: all 2^31 of them) and its
 * ends. */
static void check_floats(const struct ulp_format *format, const struct values *values,
                         enum ulp_rounding mode, bool negative, uint64_t stride)
{
    static struct batch batch;
    const uint64_t infinity = 0x7f800000;
    uint64_t first = 0;
    batch = (struct batch){.format = format, .mode = mode};
    for (size_t i = 0; i < values->count; i++) {
        const uint64_t last = last_float(values, mode, negative, i);
        const double want = stored_value(format, values, mode, negative, i);
        ck_expect(first <= last, "%s %s: no float rounds to %a", format->name, mode_names[mode],
                  values->at[i]);
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

static const char *const small_formats[] = {"fp16",         "bf16",         "fp8-e4m3", "fp8-e5m2",
                                            "fp8-e4m3fnuz", "fp8-e5m2fnuz", "tf32",     "e2m1",
                                            "e2m5",         "e5m7",         "e7m8",     "e8m3"};
enum { SMALL_COUNT = sizeof small_formats / sizeof small_formats[0], PROVEN_COUNT = 4 };

TEST_LOOP(floats_of_small_formats, 0, SMALL_COUNT)
{
    const struct ulp_format format = get_format(small_formats[_i]);
    const struct values values = list_values(&format);
    for (int mode = 0; mode < MODE_COUNT; mode++)
        for (int negative = 0; negative < 2; negative++)
            if (test_takes((uint64_t)(2 * mode + negative + _i), 2 * MODE_COUNT))
                check_floats(&format, &values, (enum ulp_rounding)mode, negative, 1021);
    free(values.at);
}

TEST_LOOP(flushed_and_saturating, 0, SMALL_COUNT)
{
    struct ulp_format format = get_format(small_formats[_i]);
    const struct values values = list_values(&format);
    for (int overflow = 0; overflow <= ULP_OVERFLOW_SATURATE; overflow++)
        for (int subnormals = 0; subnormals < 2; subnormals++)
            for (int mode = 0; mode < MODE_COUNT; mode++) {
                if (overflow == ULP_OVERFLOW_INFINITY && !ulp_format_has_infinity(&format))
                    continue;
                if (!test_takes((uint64_t)(2 * mode + subnormals + _i), 2 * MODE_COUNT))
                    continue;
                format.overflow = (enum ulp_overflow)overflow;
                format.subnormals = subnormals;
                check_floats(&format, &values, (enum ulp_rounding)mode, mode % 2, 20011);
            }
    free(values.at);
}

/* Every one of the 2^32 floats, every deterministic mode. */
TEST_LOOP(all_floats, 0, test_long() ? PROVEN_COUNT *MODE_COUNT : 0)
{
    const struct ulp_format format = get_format(small_formats[_i / MODE_COUNT]);
    const struct values values = list_values(&format);
    check_floats(&format, &values, (enum ulp_rounding)(_i % MODE_COUNT), false, 1);
    check_floats(&format, &values, (enum ulp_rounding)(_i % MODE_COUNT), true, 1);
    free(values.at);
}

/* Each instruction set has its own loops. The features are read once a process, and each test is a
 * process. */
TEST_LOOP(every_instruction_set, 0, 3)
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
            if (!test_takes((uint64_t)mode + i + (uint64_t)_i, MODE_COUNT))
                continue;
            check_floats(&format, &values, (enum ulp_rounding)mode, mode % 2, 5003);
            check_floats(&flushed, &values, (enum ulp_rounding)mode, !(mode % 2), 20011);
        }
        free(values.at);
    }
}

/* At every value and every midpoint: one double below, it, one above. */
TEST_LOOP(doubles_at_boundaries, 0, SMALL_COUNT)
{
    const struct ulp_format format = get_format(small_formats[_i]);
    struct values values = list_values(&format);
    for (int mode = 0; mode < MODE_COUNT; mode++)
        for (int negative = 0; negative < 2; negative++)
            for (size_t i = 0; i < values.count; i++) {
                if (!test_takes(i, values.count))
                    continue;
                const double low = values.at[i], high = values.at[i + 1],
                             middle = low + (high - low) / 2;
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
                    const size_t at =
                        x != low && goes_up(&values, (enum ulp_rounding)mode, negative, i, x)
                            ? i + 1
                            : i;
                    check_double(&format, (enum ulp_rounding)mode, in[j], out[j],
                                 stored_value(&format, &values, (enum ulp_rounding)mode, negative,
                                              at));
                }
            }
    free(values.at);
}

TEST_SUITE("round", 600)
