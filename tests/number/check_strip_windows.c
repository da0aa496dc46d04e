/* Reductions of windows against their definition, one primitive of the strip tables after the
 * other: every bit, whatever the vectors and the lengths. NaN is NaN. */
#include "base/machine/cpu.h"
#include "number/strip/windows.h"
#include "strip_oracle.h"
#include "tests/support/test.h"

#define LENGTH 300

/* Values of every kind, small integers among them so that equal ones, zeros and cancellation are
 * frequent. */
static double draw(uint64_t *state)
{
    static const double specials[] = {0,        -0.0,       INFINITY,       -INFINITY, NAN,
                                      0x1p-149, -0x1p-1074, 0x1.fffffep127, 1,         -1};
    const uint64_t x = oracle_random(state), pick = x >> 60;
    if (pick < 3)
        return specials[x % (sizeof specials / sizeof *specials)];
    if (pick < 8)
        return (double)(int64_t)(x % 17) - 8;
    return ldexp((double)(x & 0xffffffffffff) - 0x1p47, (int)(x >> 48 & 63) - 80);
}

static void fill(bool doubles, void *out, size_t n, uint64_t *state)
{
    for (size_t i = 0; i < n; i++)
        if (doubles)
            ((double *)out)[i] = draw(state);
        else
            ((float *)out)[i] = (float)draw(state);
}

static double read_element(bool doubles, const void *x, size_t i)
{
    return doubles ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static void check_same(bool doubles, const void *got, const void *want, size_t n, size_t length)
{
    for (size_t i = 0; i < n; i++) {
        const double x = read_element(doubles, got, i), y = read_element(doubles, want, i);
        if (!((isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y))))
            ck_abort_msg("element %zu of %s, rows of %zu: %a, expected %a", i,
                         doubles ? "doubles" : "floats", length, x, y);
    }
}

static _Alignas(64) double out[LENGTH], want[LENGTH], work[LENGTH], spread[LENGTH];

/* Reductions of windows as primitives on gathered strips; the elements end where the last window's
 * last one does. */
TEST_LOOP(windows_are_their_primitives, 0, 6)
{
    static const struct {
        enum ulp_reduction kind;
        enum ulp_primitive primitive;
    } reductions[] = {{ULP_REDUCTION_SUM, ULP_PRIMITIVE_ADD},
                      {ULP_REDUCTION_MAX, ULP_PRIMITIVE_MAX},
                      {ULP_REDUCTION_MIN, ULP_PRIMITIVE_MIN}};
    static const unsigned sets[] = {0, ULP_CPU_AVX2, ~0u};
    const bool doubles = _i % 2;
    const enum ulp_strip_carrier carrier = doubles ? ULP_STRIP_DOUBLE : ULP_STRIP_FLOAT;
    const size_t bytes = doubles ? sizeof(double) : sizeof(float);
    const struct ulp_strip_rule rule = oracle_rule(doubles ? "fp64" : "fp32");
    const unsigned cpu = ulp_cpu_features() & sets[_i / 2];
    uint64_t state = (uint64_t)_i;
    for (size_t n = 1; n <= 130; n++)
        for (size_t stride = 1; stride <= 3; stride++) {
            const size_t offset_count = 1 + oracle_random(&state) % 9,
                         reduction = oracle_random(&state) % 3;
            int64_t offset[9], largest = 0;
            for (size_t t = 0; t < offset_count; t++) {
                offset[t] = (int64_t)(oracle_random(&state) % 60);
                largest = offset[t] > largest ? offset[t] : largest;
            }
            const size_t count = (size_t)largest + (n - 1) * stride + 1;
            SCOPED_MEMORY char *data =
                malloc(count * bytes); /* exact: sanitizers see what is read behind it */
            ck_assert_ptr_nonnull(data);
            fill(doubles, data, count, &state);
            for (size_t t = 0; t < offset_count; t++) {
                for (size_t i = 0; i < n; i++)
                    memcpy((char *)spread + i * bytes,
                           data + ((size_t)offset[t] + i * stride) * bytes, bytes);
                if (t == 0) {
                    memcpy(want, spread, n * bytes);
                    continue;
                }
                memcpy(work, want, n * bytes);
                ulp_strip_tables[carrier]->primitive[reductions[reduction].primitive](
                    &rule, want, work, spread, NULL, n, (struct ulp_strip_place){0});
            }
            memset(out, 0x55, sizeof out);
            ulp_windows_of(carrier, cpu)(reductions[reduction].kind, out, data, offset,
                                         offset_count, stride, n);
            check_same(doubles, out, want, n, n);
            ck_assert_int_eq(((const unsigned char *)out)[n * bytes], 0x55);
        }
}

TEST(only_native_carriers_have_windows)
{
    ck_assert_ptr_null(ulp_windows_of(ULP_STRIP_MPFR, ulp_cpu_features()));
    ck_assert_ptr_null(ulp_windows_of(ULP_STRIP_INT64, ulp_cpu_features()));
}
