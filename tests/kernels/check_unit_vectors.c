/* Matrix units: single vectors whose sums were measured on GPUs and show how these add. */
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
TEST(a_short_vector_tells_the_generations_apart)
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

/* Products {2^-25, 2^-47} and the like, measured on the H200: an FP16 accumulator's block is
 * aligned no lower than 2^-21. */
TEST(fp16_accumulators_have_a_floor)
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

/* Measured on the H200, mma.sync and wgmma. */
TEST(a_sum_of_negative_zeros_is_positive)
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

/* Measured on the H200 (h200_units.npz); that the units of other GPUs do the same is MMA-Sim's. The
 * smallest operands of every type, with the smallest scales. */
TEST(a_negative_sum_that_underflows_is_positive_zero)
{
    const struct ulp_unit *unit;
    size_t underflows = 0;
    for (size_t i = 0; (unit = ulp_unit_row(i)); i++) {
        const struct ulp_unit_input *input = ulp_unit_input(unit, 0),
                                    *other = ulp_unit_input(unit, 1);
        const double smallest = ldexp(1, input->emin - input->precision + 1),
                     smallest_b = ldexp(1, other->emin - other->precision + 1);
        const double scale = strcmp(input->scale, "fp8-e8m0") == 0 ? 0x1p-127 : 0x1p-9;
        if (unit->kind == ULP_UNIT_FMA || unit->kind == ULP_UNIT_INTEGER)
            continue;
        for (size_t count = 0; count <= 64; count += count < 2 ? 1 : 31)
            for (int c = 0; c < 4; c++) {
                double a[64], b[64], scales[64];
                const double before = (c & 2 ? smallest * smallest_b : 0) * (c & 1 ? -1 : 1);
                for (size_t k = 0; k < 64; k++) {
                    a[k] = -smallest;
                    b[k] = k < count ? smallest_b : 0;
                    scales[k] = scale;
                }
                const double start =
                    unit->output == ULP_UNIT_RNE_FP16 ? copysign(0, before) : (double)(float)before;
                const double d = ulp_unit_chain(unit, a, b, scales, scales, 64, start);
                ck_assert_msg(d <= start + 0 && (d != 0 || !signbit(d)),
                              "%s.%s.%s.%s, %zu products, c %a: %a", unit->gpu, unit->unit_class,
                              unit->input, unit->accumulator, count, start, d);
                underflows += d == 0 && count > 0;
            }
    }
    ck_assert_uint_gt(underflows, 500);
}

/* wgmma keeps 13 fraction bits of c; mma.sync adds it in FP32, so zero products leave it as it
 * is. */
TEST(fp8_keeps_c_on_mma_sync_only)
{
    const double zero[32] = {0}, c = 1 + 0x1p-13 + 0x1p-20;
    ck_assert(dot("h200.mma.e4m3.f32", zero, zero, 32, c) == c);
    ck_assert(dot("h200.wgmma.e4m3.f32", zero, zero, 32, c) == 1 + 0x1p-13);
}

TEST_SUITE("unit-vectors", 0)
