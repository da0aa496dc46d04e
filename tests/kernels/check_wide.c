/* Wide contractions: every output, bit for bit, against mpfr_dot, over kinds of operands chosen to
 * break them: spread exponents, cancellation, exact ties, zeros, subnormals, specials; every
 * thread count and precision. */
#include "exact/world.h"

static const int precisions[] = {2, 24, 53, 64, 113, 128, 256, 500, 1024, 4096};

static void check_setup(struct setup setup, int thread_count)
{
    struct world world;
    world_create(&world, setup);
    world_compare(&world, thread_count);
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
    world_compare(&world, 1);
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
    scoped_mpfr sum;
    mpfr_init2(sum, 200);
    for (size_t i = 0; i < 24; i++) {
        world_get(sum, &world.expected, i);
        ck_assert_float_eq(((float *)narrow.data)[i], mpfr_get_flt(sum, MPFR_RNDN));
    }
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
    scoped_mpfr x, five;
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
    world_free(&world);
    world_free(&rounded);
}

TEST_SUITE("wide", test_long() ? 600 : 60)
