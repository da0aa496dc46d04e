/* Matrix units: the table, the oracle against recorded GPUs, the fast path against the oracle,
 * schedules. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/alloc.h"
#include "base/machine/cpu.h"
#include "base/random.h"
#include "base/machine/thread.h"

#include "kernels/unit/fast.h"
#include "number/round/round.h"
#include "tests/support/test.h"
#include "unit_operands.h"

enum { COLUMNS = ULP_UNIT_COLUMNS, ROWS = 8 };

/* ---- the fast path is the oracle ---- */

static const struct {
    const char *name;
    const struct ulp_unit_instance *instance;
    unsigned needs;
} instances[] = {
    {"portable C", &ulp_unit_c, 0},
#if defined(__x86_64__) && defined(__GNUC__)
    {"AVX2", &ulp_unit_avx2, ULP_CPU_AVX2 | ULP_CPU_F16C},
    {"AVX-512", &ulp_unit_avx512, ULP_CPU_AVX512},
#endif
};
#define INSTANCE_COUNT (sizeof instances / sizeof instances[0])

static bool same(float x, float y)
{
    uint32_t a, b;
    memcpy(&a, &x, sizeof a);
    memcpy(&b, &y, sizeof b);
    return a == b || (x != x && y != y);
}

struct tile_case {
    struct ulp_tensor a, b;
    int64_t *a_line, *b_line, *k_offset;
    struct ulp_unit_rows rows;
    struct ulp_unit_panel panel;
    float *before, *expected, *got, *scratch;
};

static void *take(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

static void case_create(struct tile_case *it, const struct ulp_unit_layout *layout, size_t k)
{
    struct ulp_error error;
    const size_t slots = layout->slot_stride;
    const int64_t a_dims[] = {ROWS, (int64_t)k}, b_dims[] = {COLUMNS, (int64_t)k};
    ck_ulp_ok(ulp_tensor_create(&it->a, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, a_dims, &error),
              error);
    ck_ulp_ok(ulp_tensor_create(&it->b, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, b_dims, &error),
              error);
    it->a_line = take(ROWS * sizeof *it->a_line);
    it->b_line = take(COLUMNS * sizeof *it->b_line);
    it->k_offset = take(k * sizeof *it->k_offset);
    for (size_t i = 0; i < ROWS; i++)
        it->a_line[i] = (int64_t)(i * k);
    for (size_t i = 0; i < COLUMNS; i++)
        it->b_line[i] = (int64_t)(i * k);
    for (size_t i = 0; i < k; i++)
        it->k_offset[i] = (int64_t)i;
    it->rows = (struct ulp_unit_rows){take(ROWS * slots * 4), take(ROWS * slots * 4),
                                      take(ROWS * layout->block_count)};
    it->panel = (struct ulp_unit_panel){take(COLUMNS * slots * 4), take(COLUMNS * slots * 2),
                                        take(layout->block_count),
                                        take(ULP_UNIT_SET_COUNT * slots * sizeof(uint32_t))};
    it->before = take(ROWS * COLUMNS * sizeof(float));
    it->expected = take(ROWS * COLUMNS * sizeof(float));
    it->got = take(ROWS * COLUMNS * sizeof(float));
    it->scratch = take(COLUMNS * k * sizeof(float));
}

static void case_free(struct tile_case *it)
{
    ulp_tensor_free(&it->a);
    ulp_tensor_free(&it->b);
    void *const memory[] = {it->a_line,      it->b_line,         it->k_offset,
                            it->rows.value,  it->rows.exponent,  it->rows.special,
                            it->panel.value, it->panel.exponent, it->panel.special,
                            it->panel.kinds, it->before,         it->expected,
                            it->got,         it->scratch};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        free(memory[i]);
}

/* The chain of layout's blocks by the oracle, block by block as the tile runs them. */
static float chain_oracle(const struct ulp_unit_layout *layout, const float *a, const float *b,
                          float c)
{
    double x[64], y[64], sum = c;
    const size_t block = (size_t)layout->unit.block;
    for (size_t first = 0; first < layout->slot_count; first += block) {
        for (size_t s = 0; s < block; s++) {
            const int64_t k = layout->slot_k[first + s];
            x[s] = k < 0 ? 0 : a[k];
            y[s] = k < 0 ? 0 : b[k];
        }
        sum = ulp_unit_chain(&layout->unit, x, y, NULL, NULL, block, sum);
    }
    return (float)sum;
}

static void compare_tile(struct tile_case *it, const struct ulp_unit *unit,
                         const struct ulp_unit_layout *layout,
                         const struct ulp_arithmetic *arithmetic, enum regime regime, size_t k,
                         uint64_t seed)
{
    uint64_t state = seed << 32;
    char name[64];
    for (size_t i = 0; i < ROWS; i++)
        draw_line((float *)it->a.data + i * k, &arithmetic->factor, regime, 0, k, &state);
    for (size_t i = 0; i < COLUMNS; i++)
        draw_line((float *)it->b.data + i * k, &arithmetic->factor, regime, 1, k, &state);
    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
        it->before[i] = draw_accumulator(&layout->unit, regime, &state);
        it->expected[i] = chain_oracle(layout, (float *)it->a.data + i / COLUMNS * k,
                                       (float *)it->b.data + i % COLUMNS * k, it->before[i]);
    }
    struct ulp_contraction problem = {.batch_count = 1,
                                      .m = ROWS,
                                      .n = COLUMNS,
                                      .k = k,
                                      .a = {&it->a, NULL, it->a_line, it->k_offset, NULL},
                                      .b = {&it->b, NULL, it->b_line, it->k_offset, NULL}};
    struct ulp_pack a = ulp_pack_make(arithmetic, &problem, 0),
                    b = ulp_pack_make(arithmetic, &problem, 1);
    for (size_t x = 0; x < INSTANCE_COUNT; x++) {
        if ((ulp_cpu_features() & instances[x].needs) != instances[x].needs)
            continue;
        const struct ulp_unit_instance *instance = instances[x].instance;
        const struct ulp_pack_range rows = {0, 0, ROWS, 0, k}, columns = {0, 0, COLUMNS, 0, k};
        ulp_unit_decode_rows(instance, &it->rows, layout, &a, rows, false, it->scratch);
        ulp_unit_decode_panel(instance, &it->panel, layout, &b, columns,
                              ulp_pack_may_be_special(&a, NULL), it->scratch);
        memcpy(it->got, it->before, ROWS * COLUMNS * sizeof(float));
        instance->run(&(struct ulp_unit_tile){.layout = layout,
                                              .rows = it->rows,
                                              .panel = it->panel,
                                              .slot_offset = layout->panel_offset,
                                              .place = &(const int64_t){0},
                                              .row_count = ROWS,
                                              .place_count = 1,
                                              .block_last = layout->block_count,
                                              .c = it->got});
        for (size_t i = 0; i < ROWS * COLUMNS; i++)
            ck_assert_msg(
                same(it->got[i], it->expected[i]),
                "%s, %s, regime %d, seed %llu, k %zu, element %zu: c %a, got %a, oracle %a",
                ulp_unit_name(unit, name, sizeof name), instances[x].name, (int)regime,
                (unsigned long long)seed, k, i, (double)it->before[i], (double)it->got[i],
                (double)it->expected[i]);
    }
}

static void name_arithmetic(char *text, size_t size, const struct ulp_unit *unit)
{
    snprintf(text, size, "%s@%s,unit=%s,acc=%s", ulp_unit_input(unit)->format, unit->gpu,
             unit->unit_class, unit->output == ULP_UNIT_RNE_FP16 ? "fp16" : "fp32");
}

static bool has_fast_path(const struct ulp_unit *unit)
{
    return unit->kind == ULP_UNIT_TRUNCATED || unit->kind == ULP_UNIT_HALVES;
}

/* The first row of the table with these parameters. */
static bool is_first_alike(size_t index)
{
    const struct ulp_unit *unit = ulp_unit_row(index);
    for (size_t i = 0; i < index; i++) {
        const struct ulp_unit *other = ulp_unit_row(i);
        if (other->kind == unit->kind && other->output == unit->output &&
            other->block == unit->block && other->fraction_bits == unit->fraction_bits &&
            other->floor == unit->floor && strcmp(other->input, unit->input) == 0)
            return false;
    }
    return true;
}

START_TEST(fast_path_equals_the_oracle_on_every_bit)
{
    const struct ulp_unit *unit = ulp_unit_row((size_t)_i);
    if (!has_fast_path(unit) || !is_first_alike((size_t)_i))
        return;
    char name[96];
    struct ulp_arithmetic arithmetic;
    struct ulp_error error;
    name_arithmetic(name, sizeof name, unit);
    arithmetic = test_arithmetic(name);
    ck_assert_ptr_eq(ulp_unit_of(&arithmetic, &error), unit);
    struct ulp_unit_layout layout;
    struct tile_case it;
    const size_t k = 2 * (size_t)unit->block + 3;
    const size_t products = ROWS * COLUMNS * k * REGIME_COUNT,
                 wanted = test_count(300000, 40000000);
    ck_ulp_ok(ulp_unit_layout_create(&layout, unit, &arithmetic.schedule, k, NULL, &error), error);
    case_create(&it, &layout, k);
    for (size_t repeat = 0; repeat < wanted / products + 1; repeat++)
        for (enum regime regime = 0; regime < REGIME_COUNT; regime++)
            compare_tile(&it, unit, &layout, &arithmetic, regime, k,
                         repeat * REGIME_COUNT + (size_t)regime + 1);
    case_free(&it);
    ulp_unit_layout_free(&layout);
}
END_TEST

/* ---- the table ---- */

static size_t count_rows(void)
{
    size_t count = 0;
    while (ulp_unit_row(count))
        count++;
    return count;
}

START_TEST(every_row_is_found_by_its_name)
{
    char name[64];
    for (size_t i = 0; i < count_rows(); i++) {
        const struct ulp_unit *unit = ulp_unit_row(i);
        /* so names are unique */
        ck_assert_ptr_eq(ulp_unit_find(ulp_unit_name(unit, name, sizeof name)), unit);
        ck_assert_uint_lt(strlen(name), 32);
        ck_assert_ptr_nonnull(ulp_unit_input(unit));
        ck_assert_ptr_nonnull(ulp_unit_status(unit));
        ck_assert(unit->block > 0 && unit->block <= 64);
        if (has_fast_path(unit))
            ck_assert_msg(unit->block == 4 || unit->block == 8 || unit->block == 16 ||
                              unit->block == 32,
                          "%s", name);
    }
    ck_assert_ptr_null(ulp_unit_find("h200.mma.f16"));
}
END_TEST

/* ---- block scales, FP64, integers ---- */

static const struct ulp_unit *unit_of(const char *name)
{
    const struct ulp_unit *unit = ulp_unit_find(name);
    ck_assert_msg(unit != NULL, "%s", name);
    return unit;
}

/* Scales of one pair for all blocks shift every exponent alike, so the result is the unscaled
 * unit's, shifted. */
START_TEST(equal_block_scales_shift_the_result)
{
    static const char *const units[][2] = {{"b200.tcgen05.mxe4m3.f32", "b200.tcgen05.e4m3.f32"},
                                           {"b200.tcgen05.mxe5m2.f32", "b200.tcgen05.e5m2.f32"}};
    uint64_t state = 1;
    for (size_t i = 0; i < 2; i++) {
        const struct ulp_unit *scaled = unit_of(units[i][0]), *plain = unit_of(units[i][1]);
        struct ulp_format format;
        ck_assert_int_eq(ulp_format_find(ulp_unit_input(plain)->format, &format, NULL), ULP_OK);
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
END_TEST

/* Exponents of scales close together lose no bit in 35, so one block is the exact sum, truncated to
 * 24 bits. Sums of 64 products of FP4 by two scales of 4 bits have fewer than 53 bits: double is
 * exact. */
START_TEST(fp4_blocks_are_exact_sums_of_groups)
{
    static const char *const units[] = {"b200.tcgen05.mxf4.f32", "b200.tcgen05.nvf4.f32"};
    uint64_t state = 1;
    for (size_t i = 0; i < 2; i++)
        for (size_t repeat = 0; repeat < 500; repeat++) {
            const struct ulp_unit *unit = unit_of(units[i]);
            const size_t per_scale = (size_t)unit->scale_block;
            uint8_t raw[2][64], raw_scale[2][4];
            double x[2][64], scale[2][4];
            struct ulp_error error;
            for (size_t side = 0; side < 2; side++) {
                for (size_t k = 0; k < 64; k++)
                    raw[side][k] = (uint8_t)(draw(&state) >> 60);
                for (size_t j = 0; j < 4; j++) /* E8M0 near 1; UE4M3 from 2^-3 to 2^3 */
                    raw_scale[side][j] = (uint8_t)(per_scale == 32 ? 124 + draw(&state) % 7
                                                                   : 0x20 + draw(&state) % 0x30);
                ck_ulp_ok(ulp_unit_decode(unit, x[side], raw[side], 64, &error), error);
                ck_ulp_ok(ulp_unit_decode_scales(unit, scale[side], raw_scale[side], 4, &error),
                          error);
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
END_TEST

/* A group 35 binades below the largest is cut to multiples of 2^(e - 35). */
START_TEST(fp4_groups_are_truncated)
{
    const struct ulp_unit *unit = unit_of("b200.tcgen05.mxf4.f32");
    double a[64] = {[0] = 1, [32] = 1}, b[64] = {[0] = 1, [32] = 1}, scale_a[2] = {0x1p36, 1},
           scale_b[2] = {1, 1};
    /* 1 is below 2^(36 - 35) */
    ck_assert(ulp_unit_chain(unit, a, b, scale_a, scale_b, 64, -0x1p36) == 0);
    scale_a[0] = 0x1p35;
    ck_assert(ulp_unit_chain(unit, a, b, scale_a, scale_b, 64, -0x1p35) == 1);
}
END_TEST

START_TEST(raw_block_scaled_products)
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
    ck_ulp_ok(ulp_unit_run(unit, &problem, NULL, &error), error);
    for (size_t i = 0; i < 6; i++)
        ck_assert(d[i] == (i % 3 == 1 ? 16 * 4 + 4 * 8 : 80));
}
END_TEST

START_TEST(integers_wrap_and_fp64_is_a_chain)
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
END_TEST

int main(void)
{
    Suite *suite = suite_create("unit");
    TCase *tests = tcase_create("unit");
    tcase_set_timeout(tests, test_long() ? 3600 : 60);
    tcase_add_test(tests, every_row_is_found_by_its_name);
    tcase_add_loop_test(tests, fast_path_equals_the_oracle_on_every_bit, 0, (int)count_rows());
    tcase_add_test(tests, equal_block_scales_shift_the_result);
    tcase_add_test(tests, fp4_blocks_are_exact_sums_of_groups);
    tcase_add_test(tests, fp4_groups_are_truncated);
    tcase_add_test(tests, raw_block_scaled_products);
    tcase_add_test(tests, integers_wrap_and_fp64_is_a_chain);
    suite_add_tcase(suite, tests);
    return test_run(suite, NULL);
}
