/* Wide contractions: every output, bit for bit, against mpfr_dot, over kinds of operands chosen to
 * break them: spread exponents, cancellation, exact ties, zeros, subnormals, specials; every
 * method, thread count and precision. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exact/world.h"
#include "kernels/digit/digit_tile.h"

static const int precisions[] = {2, 24, 53, 64, 113, 128, 256, 500, 1024, 4096};

/* Every method on one setup. */
static void check_setup(struct setup setup, int thread_count)
{
    struct world world;
    world_create(&world, setup);
    for (size_t method = 0; method < WORLD_METHODS; method++)
        world_compare(&world, (enum ulp_wide_method)method, thread_count);
    world_free(&world);
}

TEST_LOOP(equals_mpfr_dot, 0, KIND_COUNT)
{
    enum kind kind = (enum kind)_i;
    for (size_t p = 0; p < COUNT(precisions); p++)
        for (size_t pair = 0; pair < WORLD_PAIRS; pair++)
            for (uint64_t round = 0; round < (test_long() ? 4 : 1); round++)
                if (test_takes(p * WORLD_PAIRS + pair + (size_t)_i,
                               COUNT(precisions) * WORLD_PAIRS))
                    check_setup(world_setup(pair, precisions[p], kind,
                                            1000 * round + 100 * pair + p),
                                1);
}

#define BLOCK_SETUPS 14

/* Sizes with several blocks of k, panels of rows and of columns, and a last one of each that is not
 * full. The digit method must have decided nearly all outputs: only in this test is it known that
 * it did. */
TEST_LOOP(blocks_and_panels, 0, BLOCK_SETUPS)
{
    static const struct setup setups[] = {
        {1, 19, 53, 700, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 128, 128, 128, NORMAL, false, 1},
        {1, 53, 19, 1030, ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 0, 128, 128, NORMAL, true, 2},
        {2, 11, 29, 300, ULP_ELEMENT_WIDE, ULP_ELEMENT_F32, 256, 0, 256, NORMAL, false, 3},
        {1, 9, 25, 513, ULP_ELEMENT_F32, ULP_ELEMENT_F32, 0, 0, 53, NORMAL, false, 4},
        {1, 9, 25, 257, ULP_ELEMENT_F32, ULP_ELEMENT_F32, 0, 0, 128, SPREAD, false, 5},
        {1, 3, 26, 150, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 1024, 1024, 1024, NORMAL, false, 6},
        {1, 33, 1, 300, ULP_ELEMENT_F64, ULP_ELEMENT_WIDE, 0, 64, 64, NORMAL, false, 7},
        {1, 1, 33, 300, ULP_ELEMENT_F64, ULP_ELEMENT_F32, 0, 0, 100, NORMAL, false, 8},
        {1, 5, 30, 4500, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 128, 128, 128, FULL, false, 9},
        {1, 5, 30, 2000, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 400, 400, 400, FULL, false, 10},
        {60, 7, 3, 9, ULP_ELEMENT_WIDE, ULP_ELEMENT_F32, 128, 0, 128, NORMAL, true, 11},
        {1, 10, 30, 600, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 128, 128, 128, SPREAD, false, 12},
        {1, 2, 17, 40, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 4096, 4096, 4096, NORMAL, false, 13},
        {1, 6, 5, 32900, ULP_ELEMENT_F32, ULP_ELEMENT_F32, 0, 0, 24, FULL, false, 14},
    };
    struct world world;
    world_create(&world, setups[_i]);
    for (int method = ULP_WIDE_DIGITS; method < WORLD_METHODS; method++) {
        double share = world_compare(&world, (enum ulp_wide_method)method, 1 + _i % 3);
        if (share >= 0)
            ck_assert_msg(share > 0.9, "setup %d, %s: %.3f of the outputs by digits", _i,
                          world_methods[method], share);
    }
    world_free(&world);
}

/* Sums that lie beside the middle between two neighbours of P bits, at every distance around the
 * digit method's error bound, which is therefore neither too small nor forgotten: a's first element
 * is 1, and b's makes up the difference. */
TEST_LOOP(near_middles, 0, 18)
{
    static const struct {
        int precision;
        enum kind kind;
        size_t k;
        uint64_t seed;
        int bits; /* of a's elements */
    } rows[] = {{53, NORMAL, 37, 0, 300},    {53, FULL, 400, 0, 300},
                {128, NORMAL, 37, 0, 300},   {128, FULL, 400, 0, 300},
                {256, NORMAL, 37, 0, 300},   {256, FULL, 400, 0, 300},
                {128, PATTERN, 400, 0, 300}, {128, PATTERN, 400, 1, 300},
                {128, PATTERN, 400, 2, 300}, {128, PATTERN, 400, 3, 300},
                {128, PATTERN, 400, 4, 300}, {64, NORMAL, 37, 0, 300},
                {192, FULL, 400, 0, 300},    {128, FULL, 400, 0, 24},
                {128, NORMAL, 400, 1, 24},   {128, FULL, 400, 2, 11},
                {256, NORMAL, 700, 3, 24},   {64, FULL, 90, 4, 24}};
    const int precision = rows[_i].precision, columns = 240;
    struct world world;
    world_create(&world, (struct setup){1, 1, (size_t)columns, rows[_i].k, ULP_ELEMENT_WIDE,
                                        ULP_ELEMENT_WIDE, rows[_i].bits, 2000, precision,
                                        rows[_i].kind, false, rows[_i].seed});
    mpfr_t one, sum, target, step, rounded, factor;
    mpfr_inits2(4000, one, sum, target, step, (mpfr_ptr)NULL);
    mpfr_init2(rounded, precision);
    mpfr_init2(factor, 300); /* of b's elements but the first */
    mpfr_set_ui(one, 1, MPFR_RNDN);
    world_put(&world.a.tensor, 0, one);
    size_t k_count = world.setup.k;
    for (int j = 0; j < columns; j++) {
        mpfr_set_zero(sum, 1);
        for (size_t k = 1; k < k_count; k++) {
            world_get(target, &world.a.tensor, k);
            world_get(factor, &world.b.tensor, k * (size_t)columns + (size_t)j);
            mpfr_set(step, factor, MPFR_RNDN);
            world_put(&world.b.tensor, k * (size_t)columns + (size_t)j, factor);
            mpfr_mul(target, target, step, MPFR_RNDN);
            ck_assert_int_eq(mpfr_add(sum, sum, target, MPFR_RNDN), 0);
        }
        /* the middle above the sum rounded down, and j bits below that a step to either side */
        mpfr_set(rounded, sum, MPFR_RNDZ);
        mpfr_set(target, rounded, MPFR_RNDN);
        mpfr_set_si_2exp(step, mpfr_sgn(sum), mpfr_get_exp(sum) - precision - 1, MPFR_RNDN);
        ck_assert_int_eq(mpfr_add(target, target, step, MPFR_RNDN), 0);
        mpfr_div_2ui(step, step, (unsigned long)(1 + j / 2), MPFR_RNDN);
        if (j % 2)
            mpfr_neg(step, step, MPFR_RNDN);
        ck_assert_int_eq(mpfr_add(target, target, step, MPFR_RNDN), 0);
        ck_assert_int_eq(mpfr_sub(target, target, sum, MPFR_RNDN), 0);
        ck_assert_int_le((int)mpfr_min_prec(target), 2000); /* so that it is put exactly */
        world_put(&world.b.tensor, (size_t)j, target);
    }
    mpfr_clears(one, sum, target, step, rounded, factor, (mpfr_ptr)NULL);
    world_find_expected(&world);
    for (int method = ULP_WIDE_KULISCH; method < WORLD_METHODS; method++)
        world_compare(&world, (enum ulp_wide_method)method, 1);
    world_free(&world);
}

/* Sums just below powers of two, known exactly or nearly: all P bits carry into the exponent. */
TEST_LOOP(rounds_up_to_powers_of_two, 0, 8)
{
    const int precision = 64 * (1 + _i / 2);
    const bool exact = _i % 2;
    struct world world;
    mpfr_t x, tiny;
    world_create(&world, (struct setup){1, 1, 24, 3, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 300, 2000,
                                        precision, INTEGERS, false, 1});
    mpfr_inits2(2000, x, tiny, (mpfr_ptr)NULL);
    for (size_t k = 0; k < 3; k++) {
        mpfr_set_ui(x, k < 2, MPFR_RNDN);
        world_put(&world.a.tensor, k, x);
        for (long j = 0; j < 24; j++) {
            mpfr_set_ui_2exp(tiny, 1, j - precision - 2 - (j & 3), MPFR_RNDN);
            mpfr_set_ui_2exp(x, 1, k == 0 ? j : j - 1500, MPFR_RNDN);
            if (k == 0)
                mpfr_sub(x, x, tiny, MPFR_RNDN);
            else if (exact)
                mpfr_set_zero(x, 1);
            if (j % 3 == 1)
                mpfr_neg(x, x, MPFR_RNDN);
            world_put(&world.b.tensor, k * 24 + (size_t)j, x);
        }
    }
    mpfr_clears(x, tiny, (mpfr_ptr)NULL);
    world_find_expected(&world);
    for (int method = ULP_WIDE_KULISCH; method < WORLD_METHODS; method++) {
        const double share = world_compare(&world, (enum ulp_wide_method)method, 1);
        ck_assert(method == ULP_WIDE_KULISCH || share < 0 || share == 1);
    }
    world_free(&world);
}

/* Half of the columns cancel in pairs of k to sums of zero, which cannot be estimated: only these
 * are computed one by one. */
TEST(sums_of_zero_leave_the_others_fast)
{
    enum { M = 20, N = 60, K = 100 };
    struct world world;
    mpfr_t x;
    world_create(&world, (struct setup){1, M, N, K, ULP_ELEMENT_WIDE, ULP_ELEMENT_WIDE, 128, 128,
                                        128, NORMAL, false, 3});
    mpfr_init2(x, 128);
    for (size_t k = 0; k < K; k += 2) {
        for (size_t i = 0; i < M; i++) {
            world_get(x, &world.a.tensor, k * M + i);
            world_put(&world.a.tensor, (k + 1) * M + i, x);
        }
        for (size_t j = 0; j < N; j += 2) {
            world_get(x, &world.b.tensor, k * N + j);
            mpfr_neg(x, x, MPFR_RNDN);
            world_put(&world.b.tensor, (k + 1) * N + j, x);
        }
    }
    mpfr_clear(x);
    world_find_expected(&world);
    const double share = world_compare(&world, ULP_WIDE_AUTO, 1);
    ck_assert_msg(share > 0.45 && share <= 0.5, "%.3f of the outputs by digits", share);
    world_free(&world);
}

/* With features switched off AUTO takes what is left, and the tiles that need them are refused. */
TEST_LOOP(disabled_features, 0, 3)
{
    static const char *const lists[] = {"avx512ifma", "avx512", "avx2"};
    setenv("ULPSCOPE_DISABLE_CPU", lists[_i], 1);
    struct world world;
    world_create(&world, (struct setup){1, 20, 30, 100, ULP_ELEMENT_WIDE, ULP_ELEMENT_F32, 128, 0,
                                        128, NORMAL, false, 3});
    ck_assert_double_ge(world_compare(&world, ULP_WIDE_AUTO, 1), 0.9);
#ifdef __x86_64__
    for (int tile = 0; tile <= _i; tile++)
        ck_assert_double_eq(world_compare(&world, ULP_WIDE_DIGITS + (enum ulp_wide_method)tile, 1),
                            -1);
#endif
    world_free(&world);
}

TEST(threads_do_not_matter)
{
    for (int kind = 0; kind < KIND_COUNT; kind++)
        for (int threads = 2; threads <= 7; threads += 5)
            if (test_takes((uint64_t)(kind * 2 + threads % 2), 2 * KIND_COUNT))
                check_setup((struct setup){3, 31, 70, 40, ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 0, 128,
                                           128, (enum kind)kind, false, (uint64_t)threads},
                            threads);
}

/* Enough panels of columns that threads pack some each and meet rows they packed together, or in
 * turn when there is one thread. */
TEST_LOOP(many_columns_meet_shared_rows, 0, KIND_COUNT)
{
    static const size_t batch_counts[] = {1, 3};
    for (size_t i = 0; i < COUNT(batch_counts); i++)
        for (int threads = 1; threads <= 2; threads++)
            check_setup((struct setup){batch_counts[i], 37, 400, 9, ULP_ELEMENT_F32,
                                       ULP_ELEMENT_WIDE, 0, 128, 128, (enum kind)_i, threads == 2,
                                       (uint64_t)threads},
                        threads);
}

/* A sum rounded in each mode equals the oracle's rounding of the exact sum; factors are rounded to
 * the factor format. */
TEST(other_roundings_and_stores)
{
    static const mpfr_rnd_t modes[] = {[ULP_ROUND_TOWARD_ZERO] = MPFR_RNDZ,
                                       [ULP_ROUND_UP] = MPFR_RNDU,
                                       [ULP_ROUND_DOWN] = MPFR_RNDD};
    for (int mode = ULP_ROUND_TOWARD_ZERO; mode <= ULP_ROUND_DOWN; mode++) {
        struct world world;
        world_create(&world, (struct setup){1, 3, 5, 17, ULP_ELEMENT_WIDE, ULP_ELEMENT_F32, 100, 0,
                                            100, NORMAL, false, 5});
        world.arithmetic.rounding = (enum ulp_rounding)mode;
        mpfr_t x[17], y[17], sum;
        mpfr_ptr xs[17], ys[17];
        for (size_t k = 0; k < 17; k++) {
            mpfr_inits2(100, xs[k] = x[k], ys[k] = y[k], (mpfr_ptr)NULL);
            world_get(x[k], &world.a.tensor, k * 3 + 2);
            world_get(y[k], &world.b.tensor, k * 5 + 4);
        }
        mpfr_init2(sum, 100);
        mpfr_dot(sum, xs, ys, 17, modes[mode]);
        size_t at = (size_t)(world.out_row[2] + world.out_column[4]);
        world_put(&world.expected, at, sum);
        ck_ok(ulp_contract_wide(&world.arithmetic, &world.problem, NULL, &why));
        ck_assert(world_same_record(ulp_record_at_const(world.out.data, at, 100),
                                    ulp_record_at_const(world.expected.data, at, 100), 100));
        for (size_t k = 0; k < 17; k++)
            mpfr_clears(x[k], y[k], (mpfr_ptr)NULL);
        mpfr_clear(sum);
        world_free(&world);
    }
}

TEST(stores_into_a_narrow_format)
{
    struct world world;
    struct ulp_error error;
    world_create(&world, (struct setup){1, 4, 6, 400, ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 0, 200,
                                        200, NORMAL, false, 9});
    int64_t dims[] = {24};
    struct ulp_tensor narrow;
    ck_ok(ulp_tensor_create(&narrow, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, dims, &why));
    struct ulp_format fp32 = {.name = "fp32",
                              .precision = 24,
                              .emin = -126,
                              .emax = 127,
                              .max_finite = 0x1.fffffep127,
                              .subnormals = true,
                              .signed_zero = true,
                              .carrier = ULP_CARRIER_FLOAT,
                              .storage_bits = 32};
    world.arithmetic.storage = world.arithmetic.factor = fp32;
    world.problem.out = &narrow;
    ck_assert_int_eq(ulp_contract_wide(&world.arithmetic, &world.problem, NULL, &error),
                     ULP_ERROR_USAGE);
    world.problem.store = true;
    ck_ok(ulp_contract_wide(&world.arithmetic, &world.problem, NULL, &why));
    mpfr_t sum;
    mpfr_init2(sum, 200);
    for (size_t i = 0; i < 24; i++) {
        world_get(sum, &world.expected, i);
        ck_assert_float_eq(((float *)narrow.data)[i], mpfr_get_flt(sum, MPFR_RNDN));
    }
    mpfr_clear(sum);
    ulp_tensor_free(&narrow);
    world_free(&world);
}

/* With factors of 5 bits the sum is that of the rounded elements, exactly. */
TEST(rounds_factors)
{
    struct world world, rounded;
    struct setup setup = {1, 4,  6,  30,     ULP_ELEMENT_F32, ULP_ELEMENT_WIDE,
                          0, 90, 90, NORMAL, false,           11};
    world_create(&world, setup);
    world_create(&rounded, setup);
    struct ulp_format e5m4 = {.name = "e5m4",
                              .precision = 5,
                              .emin = -14,
                              .emax = 15,
                              .max_finite = 63488,
                              .subnormals = true,
                              .signed_zero = true,
                              .carrier = ULP_CARRIER_FLOAT,
                              .storage_bits = 10};
    mpfr_t x, five;
    mpfr_init2(x, 90);
    mpfr_init2(five, 5);
    struct ulp_tensor *tensors[] = {&rounded.a.tensor, &rounded.b.tensor};
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < tensors[side]->count; i++) {
            world_get(x, tensors[side], i);
            mpfr_set(five, x, MPFR_RNDN);
            world_put(tensors[side], i, five);
        }
    world_find_expected(&rounded);
    world.arithmetic.factor = e5m4;
    ck_ok(ulp_contract_wide(&world.arithmetic, &world.problem, NULL, &why));
    for (size_t i = 0; i < 24; i++)
        ck_assert(world_same_record(ulp_record_at_const(world.out.data, i, 90),
                                    ulp_record_at_const(rounded.expected.data, i, 90), 90));
    mpfr_clears(x, five, (mpfr_ptr)NULL);
    world_free(&world);
    world_free(&rounded);
}

/* The one batch's lines one after the other, k along each. */
static void lay_along_k(struct side *side, size_t lines, size_t k_count)
{
    struct ulp_tensor turned;
    uint8_t *padding = side->padding ? calloc(lines * k_count + 1, 1) : NULL;
    ck_ok(ulp_tensor_create(&turned, side->tensor.type, side->tensor.element,
                            side->tensor.precision, 1, side->tensor.dims, &why));
    const size_t each = turned.element_bytes;
    for (size_t i = 0; i < lines; i++)
        for (size_t k = 0; k < k_count; k++) {
            const size_t from = (size_t)(side->line_offset[i] + side->k_offset[k]),
                         to = i * k_count + k;
            memcpy((char *)turned.data + to * each, (const char *)side->tensor.data + from * each,
                   each);
            if (padding)
                padding[to] = side->padding[from];
        }
    for (size_t i = 0; i < lines; i++)
        side->line_offset[i] = (int64_t)(i * k_count);
    for (size_t k = 0; k < k_count; k++)
        side->k_offset[k] = (int64_t)k;
    ulp_tensor_free(&side->tensor);
    free(side->padding);
    side->tensor = turned;
    side->padding = padding;
}

/* A few rows times floats that are cut in registers, along columns and along k: partial vectors,
 * and more products than an accumulator holds. */
TEST_LOOP(vectors_times_floats, 0, 2 * KIND_COUNT)
{
    static const size_t sizes[][2] = {{5, 1},   {8, 7},   {9, 8},    {16, 15},  {17, 16},
                                      {24, 33}, {40, 90}, {6, 2100}, {5, 32900}};
    const enum kind kind = (enum kind)(_i / 2);
    for (size_t size = 0; size < COUNT(sizes); size++)
        for (size_t pair = 0; pair < 5; pair++) {
            const bool large = sizes[size][1] > 1000;
            if (large && (pair > 1 || (kind != FULL && !(kind == NORMAL && sizes[size][1] < 3000))))
                continue;
            if (!test_takes(size * 5 + pair + (size_t)_i, COUNT(sizes) * 5))
                continue;
            static const int x_precisions[] = {0, 0, 128, 160, 300};
            static const int sum_precisions[] = {24, 64, 128, 128, 256};
            const enum ulp_element x = pair == 0   ? ULP_ELEMENT_F32
                                       : pair == 1 ? ULP_ELEMENT_F64
                                                   : ULP_ELEMENT_WIDE;
            struct world world;
            world_create(&world, (struct setup){1, 1 + (size + pair) % 4, sizes[size][0],
                                                sizes[size][1], x, ULP_ELEMENT_F32,
                                                x_precisions[pair], 0, sum_precisions[pair], kind,
                                                size % 4 == 3, 50 * size + pair});
            if (_i % 2)
                lay_along_k(&world.b, sizes[size][0], sizes[size][1]);
            world.problem.b = side_factor(&world.b);
            for (int method = ULP_WIDE_DIGITS; method < WORLD_METHODS; method++) {
                const double share =
                    world_compare(&world, (enum ulp_wide_method)method, 1 + (int)pair % 2);
                /* a plan for a few short columns has seen one or two of their sums: only digits of
                 * 52 bits leave room enough for the others */
                const struct ulp_wide_tile *tile =
                    ulp_wide_tile_row((size_t)(method - ULP_WIDE_DIGITS));
                const bool known = (tile && tile->integer) || sizes[size][1] >= 90;
                if (share >= 0 && known && (kind == NORMAL || kind == FULL))
                    ck_assert_msg(share > 0.9, "%s, %zu columns of %zu: %.3f by digits",
                                  world_methods[method], sizes[size][0], sizes[size][1], share);
            }
            world_free(&world);
        }
}

TEST_SUITE("wide", test_long() ? 600 : 60)
