/* Matrix units: single vectors whose sums were measured on GPUs and show how these add. */
#include <math.h>

#include "kernels/unit/unit.h"
#include "tests/support/test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static double dot(const char *name, const double *a, const double *b, size_t k, double c)
{
    const struct ulp_unit *unit = ulp_unit_find(name);
    ck_assert_msg(unit != NULL, "%s", name);
    return ulp_unit_chain(unit, a, b, NULL, NULL, k, c);
}

/* Exact: -0.875. Public tests of these GPUs. */
START_TEST(a_short_vector_tells_the_generations_apart)
{
    static const struct {
        const char *unit;
        double result;
    } rows[] = {{"v100.mma.f16.f32", 0},      {"t4.mma.f16.f32", -0.5},
                {"a100.mma.f16.f32", -0.5},   {"ada.mma.f16.f32", -0.5},
                {"a100.mma.tf32.f32", -0.5},  {"h100.mma.f16.f32", -0.75},
                {"h200.wgmma.f16.f32", -0.75}};
    const double a[] = {-0x1p13, -0.5, -0.25, -0.125}, b[] = {0x1p10, 1, 1, 1};
    for (size_t i = 0; i < COUNT(rows); i++)
        ck_assert_msg(dot(rows[i].unit, a, b, 4, 0x1p23) == rows[i].result, "%s", rows[i].unit);
}
END_TEST

/* Products {2^-25, 2^-47} and the like, measured on the H200: an FP16 accumulator's block is
 * aligned no lower than 2^-21. */
START_TEST(fp16_accumulators_have_a_floor)
{
    static const struct {
        double first, second, c, result;
    } rows[] = {{0x1p-25, 0x1p-47, 0, 0},
                {0x1p-25, 0x1p-46, 0, 0x1p-24},
                {0x1p-25, 0x1p-48, 0, 0},
                {0x1p-25, -0x1p-40, 0x1p-24, 0x1p-23}};
    static const char *const units[] = {"h200.mma.f16.f16", "h200.wgmma.f16.f16"};
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t j = 0; j < COUNT(units); j++) {
            const double a[] = {0x1p-13,
                                ldexp(rows[i].second < 0 ? -1 : 1, ilogb(rows[i].second) / 2)};
            const double b[] = {0x1p-12,
                                ldexp(1, ilogb(rows[i].second) - ilogb(rows[i].second) / 2)};
            ck_assert(a[0] * b[0] == rows[i].first && a[1] * b[1] == rows[i].second);
            ck_assert_msg(dot(units[j], a, b, 2, rows[i].c) == rows[i].result, "%s, vector %zu",
                          units[j], i);
        }
}
END_TEST

/* Measured on the H200, mma.sync and wgmma. */
START_TEST(a_sum_of_negative_zeros_is_positive)
{
    static const char *const units[] = {"h200.mma.f16.f32", "h200.mma.f16.f16",
                                        "h200.wgmma.f16.f32", "h200.mma.tf32.f32",
                                        "h200.wgmma.e4m3.f32"};
    const double a[] = {-0.0, -0.0, 0, 1}, b[] = {1, 0, -0.0, -0.0};
    for (size_t i = 0; i < COUNT(units); i++) {
        const double d = dot(units[i], a, b, 4, -0.0);
        ck_assert_msg(d == 0 && !signbit(d), "%s", units[i]);
    }
}
END_TEST

/* wgmma keeps 13 fraction bits of c; mma.sync adds it in FP32, so zero products leave it as it
 * is. */
START_TEST(fp8_keeps_c_on_mma_sync_only)
{
    const double zero[32] = {0}, c = 1 + 0x1p-13 + 0x1p-20;
    ck_assert(dot("h200.mma.e4m3.f32", zero, zero, 32, c) == c);
    ck_assert(dot("h200.wgmma.e4m3.f32", zero, zero, 32, c) == 1 + 0x1p-13);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unit-vectors");
    TCase *tests = tcase_create("vectors");
    tcase_add_test(tests, a_short_vector_tells_the_generations_apart);
    tcase_add_test(tests, fp16_accumulators_have_a_floor);
    tcase_add_test(tests, a_sum_of_negative_zeros_is_positive);
    tcase_add_test(tests, fp8_keeps_c_on_mma_sync_only);
    suite_add_tcase(suite, tests);
    return test_run(suite, NULL);
}
