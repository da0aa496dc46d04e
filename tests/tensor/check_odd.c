/* Wide elements as doubles, rounded to odd with and without vectors, and to nearest: against MPFR's
 * own conversions. */
#include "base/machine/cpu.h"
#include "number/mpfr_record.h"
#include "tensor/odd.h"
#include "tests/support/test.h"

#define COUNT 400

static double expect_odd(const mpfr_t x)
{
    double y = mpfr_get_d(x, MPFR_RNDZ);
    if (!mpfr_regular_p(x) || mpfr_cmp_d(x, y) == 0)
        return y;
    if (y == 0)
        return copysign(0x1p-1074, mpfr_sgn(x));
    uint64_t bits;
    memcpy(&bits, &y, sizeof bits);
    bits |= 1;
    memcpy(&y, &bits, sizeof y);
    return y;
}

/* Of full significands, exact doubles, doubles and the last bit more or less; mostly of ordinary
 * size, else around the ends of double and beyond; often zeros, infinities and NaN. */
static void draw(mpfr_t x, uint64_t n, bool ordinary)
{
    const uint64_t kind = ulp_random_bits(1, n) % 16, bits = ulp_random_bits(2, n);
    long exponent = (long)(bits >> 8) % 300 - 150;
    if (!ordinary && bits % 8 == 0)
        exponent = (bits & 8 ? 1 : -1) * (900 + (long)(bits >> 8) % 200);
    mpfr_set_ui_2exp(x, ulp_random_bits(3, n) | (uint64_t)1 << 63, -64, MPFR_RNDZ);
    if (kind < 6) {
        scoped_mpfr low;
        mpfr_init2(low, 64);
        mpfr_set_ui_2exp(low, ulp_random_bits(4, n), -128, MPFR_RNDZ);
        mpfr_add(x, x, low, MPFR_RNDZ);
    } else if (kind < 10) {
        mpfr_prec_round(x, 53, MPFR_RNDZ);
    } else if (kind == 10) {
        mpfr_set_zero(x, 1);
    } else if (!ordinary && kind == 11) {
        mpfr_set_inf(x, 1);
    } else if (!ordinary && kind == 12) {
        mpfr_set_nan(x);
    }
    if (mpfr_regular_p(x))
        mpfr_set_exp(x, exponent);
    if (!mpfr_nan_p(x))
        mpfr_setsign(x, x, bits >> 40 & 1, MPFR_RNDN);
}

TEST_LOOP(wide_elements_become_doubles, 0, 5)
{
    static const int precisions[] = {64, 65, 100, 128, 192};
    const int precision = precisions[_i];
    static const unsigned sets[] = {0, ULP_CPU_AVX2, ~0u};
    const unsigned present = ulp_cpu_features();
    scoped_tensor tensor = {0};
    ck_ok(ulp_tensor_describe(&tensor, ULP_TYPE_DOUBLE, ULP_ELEMENT_WIDE, precision, 1,
                              (int64_t[]){COUNT}, &why));
    ck_ok(ulp_tensor_allocate(&tensor, NULL, &why));
    for (uint64_t round = 0; round < test_count(40, 4000); round++) {
        double expected[COUNT];
        for (size_t i = 0; i < COUNT; i++) {
            mpfr_t drawn, x;
            mpfr_init2(drawn, precision);
            draw(drawn, round * COUNT + i, round % 2);
            struct ulp_record *record = ulp_record_at(tensor.data, i, precision);
            ulp_record_begin(x, record, precision);
            mpfr_set(x, drawn, MPFR_RNDZ);
            mpfr_clear(drawn);
            ulp_record_close(record, x);
            expected[i] = expect_odd(x);
            const double found = ulp_tensor_get(&tensor, i), nearest = mpfr_get_d(x, MPFR_RNDN);
            ck_expect(isnan(nearest) ? isnan(found) : memcmp(&found, &nearest, sizeof found) == 0,
                      "element %zu of %d bits: %a instead of %a, the nearest", i, precision, found,
                      nearest);
        }
        for (int set = 0; set < 3; set++) {
            double found[COUNT + 1];
            const size_t first = round % 9, count = COUNT - first - round % 5;
            found[count] = 42;
            atomic_store(&ulp_cpu_found, present & sets[set]);
            ulp_odd_read(&tensor, first, count, found);
            atomic_store(&ulp_cpu_found, present);
            for (size_t i = 0; i < count; i++)
                ck_assert_msg(isnan(expected[first + i])
                                  ? isnan(found[i])
                                  : memcmp(&found[i], &expected[first + i], sizeof *found) == 0,
                              "element %zu of %d bits: %a instead of %a", first + i, precision,
                              found[i], expected[first + i]);
            ck_assert(found[count] == 42);
        }
    }
}

TEST_SUITE("rounding to odd", 600)
