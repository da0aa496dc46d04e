/* Factors that stay as they are between calls: the packed forms that earlier calls left change no
 * bit, are made once, and give their memory up to tensors. */
#include "world.h"

#include "kernels/operand/packed.h"

/* What earlier calls left of a factor that stays as it is changes no bit, whatever the other factor
 * becomes: new elements of the same kind, of far exponents, infinities and NaN, and the first ones
 * again. */
static void check_kept(struct setup setup, unsigned kept, enum ulp_wide_method method,
                       int thread_count, struct ulp_packed *packed)
{
    static const enum kind kinds[] = {NORMAL, SPREAD, SPECIALS, CANCELLING, KIND_COUNT};
    struct world world;
    world_create(&world, setup);
    struct side *sides[] = {&world.a, &world.b};
    for (int side = 0; side < 2; side++)
        if (kept >> side & 1)
            ck_ok(ulp_packed_keep(packed, &sides[side]->tensor, &why));
    world.problem.packed = packed;
    double share = world_compare(&world, method, thread_count);
    for (size_t i = 0; i < COUNT(kinds) && share >= 0; i++) {
        struct setup other = setup;
        other.kind = kinds[i] == KIND_COUNT ? setup.kind : kinds[i];
        other.seed += i;
        for (int side = 0; side < 2; side++)
            if (!(kept >> side & 1)) {
                struct stream stream = {other.seed, 1000};
                side_free(sides[side]);
                *sides[side] = (struct side){0};
                side_create(sides[side], &other, side, &stream);
            }
        world.problem.a = side_factor(&world.a);
        world.problem.b = side_factor(&world.b);
        world_find_expected(&world);
        world_compare(&world, method, thread_count);
        world_compare(&world, method, 1);
    }
    for (int side = 0; side < 2; side++)
        if (kept >> side & 1)
            ulp_packed_drop(packed, &sides[side]->tensor);
    world_free(&world);
}

TEST_LOOP(kept_factors_change_no_bit, 0, KIND_COUNT)
{
    const enum kind kind = (enum kind)_i;
    struct ulp_budget budget = {.keeps_blocks = true};
    struct ulp_packed *packed;
    ck_ok(ulp_packed_create(&packed, &budget, SIZE_MAX, &why));
    for (size_t pair = 0; pair < WORLD_PAIRS; pair++) {
        static const int chosen[] = {24, 128, 256};
        struct setup setup =
            world_setup(pair, chosen[(pair + (size_t)kind) % COUNT(chosen)], kind, 100 * pair + 7);
        setup.m += 4, setup.n += 4, setup.k += 3;
        for (unsigned kept = 1; kept <= 3; kept++)
            for (int method = ULP_WIDE_DIGITS; method < WORLD_METHODS; method++)
                check_kept(setup, kept, (enum ulp_wide_method)method, kept == 2 ? 3 : 1, packed);
        check_kept(setup, 2, ULP_WIDE_AUTO, 1, packed);
        setup.n += 400; /* so many that threads pack some each, or find them */
        for (unsigned kept = 1; kept <= 2 && pair == (size_t)kind % WORLD_PAIRS; kept++)
            check_kept(setup, kept, ULP_WIDE_AUTO, 2, packed);
    }
    ck_assert_uint_eq(budget.used_bytes, 0); /* every form went with its factor */
    ulp_packed_free(packed);
    ulp_budget_close(&budget);
}

/* The weights of two images are packed once, at the first call, and found at the second by either
 * tile; not when a factor is rounded first, padded, or meets lines that were not kept. */
TEST(kept_factors_are_packed_once)
{
    struct ulp_packed *packed;
    struct world world;
    world_create(&world, (struct setup){2, 20, 30, 100, ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 0, 128,
                                        128, NORMAL, false, 3});
    ck_ok(ulp_packed_create(&packed, NULL, SIZE_MAX, &why));
    world.problem.packed = packed;
    world_compare(&world, ULP_WIDE_AUTO, 1);
    ck_assert_uint_eq(ulp_packed_count(packed).made, 0);
    ck_ok(ulp_packed_keep(packed, &world.a.tensor, &why));
    for (size_t call = 0; call < 3; call++) {
        world_compare(&world, ULP_WIDE_AUTO, 1);
        ck_assert_uint_eq(ulp_packed_count(packed).made, 1);
        ck_assert_uint_eq(ulp_packed_count(packed).used, call);
    }
    /* Another view of the same memory is another form. */
    world.problem.m -= 3;
    struct ulp_wide_counts counts = {0, 0};
    ck_ok(ulp_contract_wide_by(ULP_WIDE_AUTO, &world.arithmetic, &world.problem, &counts, NULL,
                               &why));
    ck_assert_uint_eq(ulp_packed_count(packed).made, 2);
    world.problem.m += 3;
    world_compare(&world, ULP_WIDE_AUTO, 1);
    ck_assert_uint_eq(ulp_packed_count(packed).made, 2);
    /* Kept twice, dropped once: still there; dropped again: gone. */
    ck_ok(ulp_packed_keep(packed, &world.a.tensor, &why));
    ulp_packed_drop(packed, &world.a.tensor);
    world_compare(&world, ULP_WIDE_AUTO, 1);
    ck_assert_uint_eq(ulp_packed_count(packed).made, 2);
    ulp_packed_drop(packed, &world.a.tensor);
    const size_t used = ulp_packed_count(packed).used;
    world_compare(&world, ULP_WIDE_AUTO, 1);
    ck_assert_uint_eq(ulp_packed_count(packed).made, 2);
    ck_assert_uint_eq(ulp_packed_count(packed).used, used);
    ulp_packed_free(packed);
    world_free(&world);
}

/* Forms are given up before an allocation fails, and are not made where there is no room for
 * them. */
TEST(forms_yield_to_tensors)
{
    struct ulp_error error;
    struct ulp_budget budget = {.limit_bytes = 1 << 20};
    struct ulp_packed *packed;
    struct world world;
    void *block, *other;
    world_create(&world, (struct setup){1, 20, 30, 100, ULP_ELEMENT_F32, ULP_ELEMENT_WIDE, 0, 128,
                                        128, NORMAL, false, 3});
    ck_ok(ulp_packed_create(&packed, &budget, SIZE_MAX, &why));
    ck_ok(ulp_packed_keep(packed, &world.a.tensor, &why));
    world.problem.packed = packed;
    world_compare(&world, ULP_WIDE_AUTO, 1);
    const size_t form = budget.used_bytes;
    ck_assert_uint_ge(form, 20 * 100 * sizeof(uint64_t));
    ck_ok(ulp_allocate(&block, (1 << 20) - 1000, 1, &budget, "a tensor", &why));
    ck_assert_uint_lt(budget.used_bytes, (1 << 20) + 1);
    world_compare(&world, ULP_WIDE_AUTO, 1); /* there is no room for it */
    ck_assert_uint_eq(ulp_packed_count(packed).made, 1);
    ck_assert_int_eq(ulp_allocate(&other, 2000, 1, &budget, "a tensor", &error), ULP_ERROR_MEMORY);
    ulp_free(block);
    ck_assert_uint_eq(budget.used_bytes, 0);
    world_compare(&world, ULP_WIDE_AUTO, 1);
    ck_assert_uint_eq(ulp_packed_count(packed).made, 2);
    ck_assert_uint_eq(budget.used_bytes, form);
    ulp_packed_free(packed);
    ck_assert_uint_eq(budget.used_bytes, 0);
    world_free(&world);
}
