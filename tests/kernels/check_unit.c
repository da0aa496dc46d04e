/* Matrix units: the table, the oracle against recorded GPUs, the fast path against the oracle,
 * schedules. */
#include "base/machine/cpu.h"

#include "kernels/unit/fast.h"
#include "number/round/round.h"
#include "tests/support/test.h"
#include "unit_tile.h"

/* ---- the fast path is the oracle ---- */

static void compare_regime(struct unit_tile *it, enum regime regime, uint64_t seed)
{
    uint64_t state = seed << 32;
    char what[64];
    snprintf(what, sizeof what, "regime %d, seed %llu", (int)regime, (unsigned long long)seed);
    unit_tile_draw(it, regime, &state);
    unit_tile_compare(it, what);
}

static size_t count_rows(void)
{
    size_t count = 0;
    while (ulp_unit_row(count))
        count++;
    return count;
}

TEST_LOOP(fast_path_equals_the_oracle_on_every_bit, 0, (int)count_rows())
{
    const struct ulp_unit *unit = ulp_unit_row((size_t)_i);
    if (!unit_tile_serves(unit) || !unit_is_first_alike((size_t)_i))
        return;
    struct unit_tile it;
    const size_t k = 2 * (size_t)unit->block + 3;
    const size_t products = UNIT_TILE_ROWS * ULP_UNIT_COLUMNS * k * REGIME_COUNT,
                 wanted = test_count(300000, 40000000);
    unit_tile_create(&it, unit, k);
    for (size_t repeat = 0; repeat < wanted / products + 1; repeat++)
        for (enum regime regime = 0; regime < REGIME_COUNT; regime++)
            compare_regime(&it, regime, repeat * REGIME_COUNT + (size_t)regime + 1);
    unit_tile_free(&it);
}

/* ---- the table ---- */

TEST(every_row_is_found_by_its_name)
{
    char name[64];
    for (size_t i = 0; i < count_rows(); i++) {
        const struct ulp_unit *unit = ulp_unit_row(i);
        /* so names are unique */
        ck_assert_ptr_eq(ulp_unit_find(ulp_unit_name(unit, name, sizeof name)), unit);
        ck_assert_uint_lt(strlen(name), 32);
        ck_assert_ptr_nonnull(ulp_unit_input(unit, 0));
        ck_assert_ptr_nonnull(ulp_unit_input(unit, 1));
        ck_assert_ptr_nonnull(ulp_unit_status(unit));
        ck_assert(unit->block > 0 && unit->block <= 64);
        if (unit_tile_serves(unit))
            ck_assert_msg(unit->block == 4 || unit->block == 8 || unit->block == 16 ||
                              unit->block == 32,
                          "%s", name);
    }
    ck_assert_ptr_null(ulp_unit_find("h200.mma.f16"));
}

/* A GPU that was not measured has the units of one that has rows, for what it is said to multiply.
 */
TEST(every_gpu_has_units)
{
    struct ulp_gpu_info gpu;
    size_t taken = 0;
    for (size_t i = 0; ulp_gpu_info(i, &gpu); i++) {
        char name[64];
        size_t rows = 0;
        for (size_t r = 0; r < count_rows(); r++)
            rows += strcmp(ulp_unit_row(r)->gpu, gpu.unit) == 0;
        ck_assert_msg(rows > 0, "%s", gpu.name);
        ck_assert_int_eq(*gpu.known != 0, strcmp(gpu.unit, gpu.name) != 0);
        ck_assert_str_eq(ulp_unit_gpu(gpu.name), gpu.unit);
        snprintf(name, sizeof name, "%s.mma.f16.f32", gpu.name);
        const struct ulp_unit *unit = ulp_unit_find(name);
        ck_assert_ptr_nonnull(unit);
        ck_assert_str_eq(unit->gpu, gpu.unit);
        for (size_t f = 0; f < 6; f++) {
            static const char *const formats[] = {"fp16",     "bf16",     "tf32",
                                                  "fp8-e4m3", "fp4-e2m1", "fp16,acc=fp16"};
            struct ulp_arithmetic own, other;
            snprintf(name, sizeof name, "%s%s@%s", f == 4 ? "fp16,factor=" : "", formats[f],
                     gpu.name);
            if (f == 5)
                snprintf(name, sizeof name, "fp16@%s,acc=fp16", gpu.name);
            const bool has = ulp_arithmetic_find(name, &own, NULL) == ULP_OK;
            snprintf(strchr(name, '@'), 32, "@%s%s", gpu.unit, f == 5 ? ",acc=fp16" : "");
            ck_assert_int_eq(ulp_arithmetic_find(name, &other, NULL) == ULP_OK, has);
            ck_assert(!has || ulp_unit_of(&own, NULL) == ulp_unit_of(&other, NULL));
        }
        taken += *gpu.known != 0;
    }
    ck_assert_uint_gt(taken, 0);
    ck_assert_ptr_null(ulp_unit_find("rtx3091.mma.f16.f32"));
    ck_assert_ptr_null(ulp_unit_find("a gpu of a name that is too long.mma.f16.f32"));
}

/* ---- block scales, FP64, integers ---- */

static const struct ulp_unit *unit_of(const char *name)
{
    const struct ulp_unit *unit = ulp_unit_find(name);
    ck_assert_msg(unit != NULL, "%s", name);
    return unit;
}

/* Scales of one pair for all blocks shift every exponent alike, so the result is the unscaled
 * unit's, shifted. */
TEST(equal_block_scales_shift_the_result)
{
    static const char *const units[][2] = {{"b200.tcgen05.mxe4m3.f32", "b200.tcgen05.e4m3.f32"},
                                           {"b200.tcgen05.mxe5m2.f32", "b200.tcgen05.e5m2.f32"}};
    uint64_t state = 1;
    for (size_t i = 0; i < 2; i++) {
        const struct ulp_unit *scaled = unit_of(units[i][0]), *plain = unit_of(units[i][1]);
        struct ulp_format format;
        ck_assert_int_eq(ulp_format_find(ulp_unit_input(plain, 0)->format, &format, NULL), ULP_OK);
        for (size_t repeat = 0; repeat < 200; repeat++) {
            double a[96], b[96], scale_a[3], scale_b[3];
            const int shift_a = (int)(draw(&state) % 20) - 10,
                      shift_b = (int)(draw(&state) % 20) - 10;
            for (size_t k = 0; k < 96; k++) {
                a[k] = draw_finite(&format, &state);
                b[k] = draw_finite(&format, &state);
                scale_a[k / 32] = ldexp(1, shift_a);
                scale_b[k / 32] = ldexp(1, shift_b);
            }
            const double c = ldexp(1 + ulp_random_uniform(3, state), 4);
            const double rounded = (float)c,
                         wanted = ulp_unit_chain(plain, a, b, NULL, NULL, 96, rounded);
            const double got = ulp_unit_chain(scaled, a, b, scale_a, scale_b, 96,
                                              ldexp(rounded, shift_a + shift_b));
            ck_assert_msg(got == ldexp(wanted, shift_a + shift_b), "%s: %a and %a", units[i][0],
                          got, wanted);
        }
    }
}

/* Exponents of scales close together lose no bit in 35, so one block is the exact sum, truncated to
 * 24 bits. Sums of 64 products of FP4 by two scales of 4 bits have fewer than 53 bits: double is
 * exact. */
TEST(fp4_blocks_are_exact_sums_of_groups)
{
    static const char *const units[] = {"b200.tcgen05.mxf4.f32", "b200.tcgen05.nvf4.f32"};
    uint64_t state = 1;
    for (size_t i = 0; i < 2; i++)
        for (size_t repeat = 0; repeat < 500; repeat++) {
            const struct ulp_unit *unit = unit_of(units[i]);
            const size_t per_scale = (size_t)unit->scale_block;
            uint8_t raw[2][64], raw_scale[2][4];
            double x[2][64], scale[2][4];
            for (size_t side = 0; side < 2; side++) {
                for (size_t k = 0; k < 64; k++)
                    raw[side][k] = (uint8_t)(draw(&state) >> 60);
                for (size_t j = 0; j < 4; j++) /* E8M0 near 1; UE4M3 from 2^-3 to 2^3 */
                    raw_scale[side][j] = (uint8_t)(per_scale == 32 ? 124 + draw(&state) % 7
                                                                   : 0x20 + draw(&state) % 0x30);
                ck_ok(ulp_unit_decode(unit, side, x[side], raw[side], 64, &why));
                ck_ok(ulp_unit_decode_scales(unit, scale[side], raw_scale[side], 4, &why));
            }
            double sum = ldexp((double)(draw(&state) >> 44), -16);
            const double c = sum;
            for (size_t k = 0; k < 64; k++)
                sum += x[0][k] * x[1][k] * scale[0][k / per_scale] * scale[1][k / per_scale];
            float wanted = (float)sum;
            if (fabs((double)wanted) > fabs(sum))
                wanted = nextafterf(wanted, 0);
            const double got = ulp_unit_chain(unit, x[0], x[1], scale[0], scale[1], 64, c);
            ck_assert_msg(got == (double)wanted, "%s: %a, exact %a", units[i], got, sum);
            scale[1][0] = NAN;
            ck_assert(isnan(ulp_unit_chain(unit, x[0], x[1], scale[0], scale[1], 64, c)));
        }
}

/* A group 35 binades below the largest is cut to multiples of 2^(e - 35). */
TEST(fp4_groups_are_truncated)
{
    const struct ulp_unit *unit = unit_of("b200.tcgen05.mxf4.f32");
    double a[64] = {[0] = 1, [32] = 1}, b[64] = {[0] = 1, [32] = 1}, scale_a[2] = {0x1p36, 1},
           scale_b[2] = {1, 1};
    /* 1 is below 2^(36 - 35) */
    ck_assert(ulp_unit_chain(unit, a, b, scale_a, scale_b, 64, -0x1p36) == 0);
    scale_a[0] = 0x1p35;
    ck_assert(ulp_unit_chain(unit, a, b, scale_a, scale_b, 64, -0x1p35) == 1);
}

TEST(raw_block_scaled_products)
{
    const struct ulp_unit *unit = unit_of("b200.tcgen05.nvf4.f32");
    uint8_t a[2 * 20], b[3 * 20], scale_a[2 * 2], scale_b[3 * 2];
    float c[6] = {0}, d[6];
    struct ulp_error error;
    memset(a, 2, sizeof a);                /* 1 */
    memset(b, 4, sizeof b);                /* 2 */
    memset(scale_a, 0x38, sizeof scale_a); /* 1 */
    memset(scale_b, 0x40, sizeof scale_b); /* 2 */
    scale_b[3] = 0x48;                     /* line 1, products 16 to 19: 4 */
    struct ulp_unit_problem problem = {
        .t = 1, .m = 2, .n = 3, .k = 20, .a = a, .b = b, .c = c, .d = d};
    ck_assert_int_eq(ulp_unit_run(unit, &problem, NULL, &error), ULP_ERROR_USAGE);
    problem.scale_a = scale_a;
    problem.scale_b = scale_b;
    ck_ok(ulp_unit_run(unit, &problem, NULL, &why));
    for (size_t i = 0; i < 6; i++)
        ck_assert(d[i] == (i % 3 == 1 ? 16 * 4 + 4 * 8 : 80));
}

TEST(integers_wrap_and_fp64_is_a_chain)
{
    double a[3] = {-128, 127, 1}, b[3] = {-128, 127, 1};
    ck_assert(ulp_unit_chain(unit_of("h200.mma.s8.s32"), a, b, NULL, NULL, 3, 0) ==
              16384 + 16129 + 1);
    ck_assert(ulp_unit_chain(unit_of("h200.mma.s8.s32"), a, b, NULL, NULL, 3, INT32_MAX) ==
              (double)INT32_MIN + 16384 + 16129);
    /* (1 + 2^-30)^2 - (1 + 2^-29) is 2^-60 when the square is not rounded. */
    double x[2] = {1 + 0x1p-30, 1}, y[2] = {1 + 0x1p-30, 0x1p-61}, c = -1 - 0x1p-29;
    ck_assert(ulp_unit_chain(unit_of("a100.mma.f64.f64"), x, y, NULL, NULL, 2, c) ==
              0x1p-60 + 0x1p-61);
}

TEST_SUITE("unit", test_long() ? 3600 : 60)
