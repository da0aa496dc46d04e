/* Scalar-chain contractions, bit for bit: every arithmetic against an oracle of exact MPFR values,
 * FP32 against a plain loop of fmaf, every instruction set and thread count against each other;
 * refusals. Integers and packing: tests/kernels. */
#include "base/machine/cpu.h"
#include "chain_oracle.h"
#include "kernels/chain/chains.h"
#include "instance.h"
#include "kernels/operand/pack.h"
#include "kernels/chain/tile.h"
#include "number/round/round.h"
#include "tests/support/text_cases.h"

/* x, y: what output (g, i, j) sums the products of. */
static void gather(const struct ulp_arithmetic *arithmetic, const struct ulp_contraction *problem,
                   size_t g, size_t i, size_t j, double *x, double *y)
{
    const struct ulp_format *factor = &arithmetic->factor;
    for (size_t k = 0; k < problem->k; k++) {
        size_t a = (size_t)ulp_factor_offset(&problem->a, g, i, k),
               b = (size_t)ulp_factor_offset(&problem->b, g, j, k);
        x[k] = ulp_tensor_get(problem->a.tensor, a);
        y[k] = ulp_tensor_get(problem->b.tensor, b);
        ulp_round_doubles(factor, arithmetic->schedule.operand_rounding, &x[k], 1, 0, 0, 0);
        ulp_round_doubles(factor, arithmetic->schedule.operand_rounding, &y[k], 1, 0, 0, 0);
        if (problem->a.padding && problem->a.padding[a] && !isfinite(y[k]))
            y[k] = 0;
    }
}

static bool same_bits(double x, double y)
{
    return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

/* Every output against the oracle. */
static void compare_with_oracle(const char *name, const struct ulp_arithmetic *arithmetic,
                                const struct setup *setup, const struct ulp_contraction *problem)
{
    double *x = malloc((problem->k + 1) * 2 * sizeof *x), *y = x + problem->k + 1;
    for (size_t g = 0, p = 0; g < problem->batch_count; g++)
        for (size_t i = 0; i < problem->m; i++)
            for (size_t j = 0; j < problem->n; j++, p++) {
                gather(arithmetic, problem, g, i, j, x, y);
                double wanted = chain_oracle(arithmetic, x, y, problem->k, problem->node_key, p);
                if (problem->store)
                    ulp_round_doubles(&arithmetic->storage, arithmetic->rounding, &wanted, 1,
                                      arithmetic->seed,
                                      problem->node_key + problem->k * ULP_DRAWS + ULP_DRAW_STORE,
                                      p);
                double got = ulp_tensor_get(problem->out, (size_t)(problem->out_batch_offset[g] +
                                                                   problem->out_row_offset[i] +
                                                                   problem->out_column_offset[j]));
                ck_expect(same_bits(got, wanted),
                          "%s %zu x %zu x %zu x %zu layout %d values %d padding %d seed %llu: "
                          "(%zu, %zu, %zu) is %a, not %a",
                          name, problem->batch_count, problem->m, problem->n, problem->k,
                          (int)setup->layout, (int)setup->values, setup->padding,
                          (unsigned long long)setup->seed, g, i, j, got, wanted);
            }
    free(x);
}

/* The sets of features that choose different tiles, those that this processor has. */
#define FEATURE_SETS_MAX 6

static size_t feature_sets(unsigned sets[FEATURE_SETS_MAX])
{
    static const char *const disabled[] = {"", "avx512fp16", "avx512", "f16c", "avx2", "neon"};
    size_t count = 0;
    for (size_t i = 0; i < COUNT(disabled); i++) {
        const unsigned set = ulp_cpu_without(ulp_cpu_features(), disabled[i]);
        size_t seen = 0;
        while (seen < count && sets[seen] != set)
            seen++;
        if (seen == count)
            sets[count++] = set;
    }
    sets[count++] = ULP_TILE_PLAIN;
    return count;
}

/* Run with every feature set; all must give the bytes of the first. Returns in instance->out. */
static void run_everywhere(const char *name, const struct ulp_arithmetic *arithmetic,
                           struct instance *instance)
{
    size_t bytes = instance->out.count * instance->out.element_bytes;
    struct ulp_chains chains = ulp_chains_make(arithmetic, &instance->problem);
    SCOPED_MEMORY void *first = malloc(bytes + 1);
    unsigned sets[FEATURE_SETS_MAX];
    const size_t set_count = feature_sets(sets);
    for (size_t i = 0; i < set_count; i++) {
        memset(instance->out.data, 0xA5, bytes);
        ck_ok(ulp_chains_run(&chains, arithmetic, &instance->problem, sets[i], NULL, &why));
        if (i == 0)
            memcpy(first, instance->out.data, bytes);
        ck_assert_msg(memcmp(first, instance->out.data, bytes) == 0, "%s: other bits with set %x",
                      name, sets[i]);
    }
    memset(instance->out.data, 0xA5, bytes);
    ck_ok(ulp_contract(arithmetic, &instance->problem, NULL, &why));
    ck_assert(memcmp(first, instance->out.data, bytes) == 0);
}

static void check_setup(const char *name, const struct setup *setup)
{
    struct ulp_arithmetic arithmetic = instance_arithmetic(name);
    struct instance instance;
    instance_create(&instance, &arithmetic, setup);
    run_everywhere(name, &arithmetic, &instance);
    compare_with_oracle(name, &arithmetic, setup, &instance.problem);
    instance_free(&instance);
}

#define CASES "contract.cases"

/* Every arithmetic, small shapes of every kind. */
TEST_LOOP(every_arithmetic_equals_the_oracle, 0, text_case_count(CASES))
{
    const char *name = text_case(CASES, (size_t)_i, "", 0);
    struct stream stream = {.key = 1000 + (uint64_t)_i};
    const int rounds = test_long() ? 400 : 12;
    for (int round = 0; round < rounds; round++) {
        struct setup setup = {
            .batch_count = 1 + stream_draw_below(&stream, 3),
            .m = 1 + stream_draw_below(&stream, round % 3 == 0 ? 40 : 9),
            .n = 1 + stream_draw_below(&stream, round % 3 == 0 ? 2 : 9),
            .k = stream_draw_below(&stream, 24),
            .layout = (enum layout)stream_draw_below(&stream, LAYOUT_COUNT),
            .values = (enum values)(round % VALUES_COUNT),
            .padding = stream_draw_below(&stream, 2),
            .store = stream_draw_below(&stream, 2),
            .transposed_out = stream_draw_below(&stream, 2),
            .seed = stream_draw(&stream),
        };
        if (test_takes((uint64_t)(round + _i), (uint64_t)rounds))
            check_setup(name, &setup);
    }
}

/* Chains across blocks of k, row and column blocks, and cuts that do not fall on them. */
TEST(long_chains_equal_the_oracle)
{
    static const char *const long_names[] = {"fp32",
                                             "fp16-strict",
                                             "fp32,split-k=7",
                                             "fp32,promote=100,split-k=3",
                                             "fp32,order=pairwise",
                                             "bf16-strict,promote=128",
                                             "tf32-strict"};
    for (size_t i = 0; i < COUNT(long_names); i++) {
        struct setup setup = {.batch_count = 1,
                              .m = 3,
                              .n = 5,
                              .k = 259 + 256 * i,
                              .layout = (enum layout)(i % LAYOUT_COUNT),
                              .values = i % 2 ? NEAR_ONE : WITH_SPECIALS,
                              .padding = i % 2,
                              .seed = 40 + i};
        check_setup(long_names[i], &setup);
    }
}

/* The sums by the loop that defines them, where the output has them; NaN is the canonical one. */
static float *find_sums(const struct instance *instance)
{
    const struct ulp_contraction *p = &instance->problem;
    const float *a = instance->a.data, *b = instance->b.data;
    float *sums = calloc(instance->out.count, sizeof *sums);
    for (size_t g = 0; g < p->batch_count; g++)
        for (size_t i = 0; i < p->m; i++)
            for (size_t j = 0; j < p->n; j++) {
                float sum = 0;
                for (size_t k = 0; k < p->k; k++)
                    sum = fmaf(a[ulp_factor_offset(&p->a, g, i, k)],
                               b[ulp_factor_offset(&p->b, g, j, k)], sum);
                sums[p->out_batch_offset[g] + p->out_row_offset[i] + p->out_column_offset[j]] =
                    isnan(sum) ? NAN : sum;
            }
    return sums;
}

/* FP32 with each of these sets of features against the loop that defines it. */
static void check_fmaf(const struct setup *setup, struct ulp_pool *pool, const unsigned *sets,
                       size_t set_count)
{
    struct ulp_arithmetic arithmetic = instance_arithmetic("fp32");
    struct instance instance;
    instance_create(&instance, &arithmetic, setup);
    const struct ulp_contraction *p = &instance.problem;
    struct ulp_chains chains = ulp_chains_make(&arithmetic, p);
    float *sums = find_sums(&instance), *got = instance.out.data;
    for (size_t set = 0; set < set_count; set++) {
        memset(got, 0x5a, instance.out.count * sizeof *got);
        ck_ok(ulp_chains_run(&chains, &arithmetic, p, sets[set], pool, &why));
        for (size_t i = 0; i < instance.out.count; i++)
            ck_expect(memcmp(&got[i], &sums[i], sizeof *got) == 0,
                      "%zu x %zu x %zu, set %zu: %zu is %a, not %a", p->m, p->n, p->k, set, i,
                      (double)got[i], (double)sums[i]);
    }
    free(sums);
    instance_free(&instance);
}

/* m and n in 1 .. 35, k too: every remainder of every tile. */
TEST(fp32_equals_fmaf_at_every_remainder)
{
    struct stream stream = {.key = 5};
    unsigned sets[FEATURE_SETS_MAX];
    const size_t set_count = feature_sets(sets);
    for (size_t m = 1; m <= 35; m++)
        for (size_t n = 1; n <= 35; n++) {
            struct setup setup = {.batch_count = 1,
                                  .m = m,
                                  .n = n,
                                  .k = 1 + stream_draw_below(&stream, 35),
                                  .store = true,
                                  .layout = (enum layout)stream_draw_below(&stream, LAYOUT_COUNT),
                                  .values = PATTERNS,
                                  .transposed_out = stream_draw_below(&stream, 2),
                                  .seed = stream_draw(&stream)};
            const unsigned cpu = sets[stream_draw_below(&stream, set_count)];
            if (!test_takes(35 * m + n, 35 * 35))
                continue;
            for (size_t k = 1; k <= (test_long() ? 35 : 1); k++) {
                setup.k = test_long() ? k : setup.k;
                check_fmaf(&setup, NULL, &cpu, 1);
            }
        }
}

TEST(fp32_equals_fmaf_across_blocks)
{
    static const struct setup setups[] = {
        {.batch_count = 1, .m = 300, .n = 530, .k = 270, .layout = ROWS},
        {.batch_count = 1, .m = 530, .n = 300, .k = 261, .layout = COLUMNS, .transposed_out = true},
        {.batch_count = 1, .m = 1, .n = 1100, .k = 600, .layout = ROWS},
        {.batch_count = 1, .m = 1100, .n = 1, .k = 513, .layout = WINDOW, .transposed_out = true},
        {.batch_count = 3,
         .m = 133,
         .n = 1,
         .k = 9,
         .layout = WINDOW,
         .transposed_out = true,
         .values = PATTERNS},
        {.batch_count = 3,
         .m = 133,
         .n = 2,
         .k = 9,
         .layout = STRIDED_WINDOW,
         .transposed_out = true},
        {.batch_count = 2,
         .m = 1500,
         .n = 1,
         .k = 25,
         .layout = STRIDED_WINDOW,
         .values = PATTERNS},
        {.batch_count = 40, .m = 33, .n = 17, .k = 19, .layout = COLUMNS},
        {.batch_count = 2, .m = 100, .n = 400, .k = 600, .layout = IMAGE},
        {.batch_count = 1, .m = 80, .n = 1200, .k = 300, .layout = STRIDED_IMAGE},
        {.batch_count = 2, .m = 45, .n = 208, .k = 70, .layout = COLUMNS, .values = PATTERNS},
        {.batch_count = 1, .m = 113, .n = 48, .k = 290, .layout = COLUMNS},
    };
    unsigned sets[FEATURE_SETS_MAX];
    const size_t set_count = feature_sets(sets);
    for (size_t i = 0; i < COUNT(setups); i++)
        if (test_takes(i, COUNT(setups)))
            check_fmaf(&setups[i], NULL, sets, set_count);
}

/* One side packed for all threads; blocks left over, and pieces of fewer tiles than threads; two
 * rows of columns. */
TEST(fp32_equals_fmaf_on_threads)
{
    static const struct setup setups[] = {
        {.batch_count = 1, .m = 130, .n = 401, .k = 270, .layout = ROWS, .store = true},
        {.batch_count = 1, .m = 401, .n = 130, .k = 261, .layout = WINDOW, .transposed_out = true},
        {.batch_count = 1, .m = 20, .n = 3001, .k = 190, .layout = COLUMNS},
        {.batch_count = 1, .m = 3001, .n = 20, .k = 190, .layout = ROWS},
        {.batch_count = 3, .m = 200, .n = 100, .k = 300, .layout = STRIDED_WINDOW},
        {.batch_count = 2, .m = 48, .n = 1500, .k = 90, .layout = IMAGE},
        {.batch_count = 2, .m = 100, .n = 304, .k = 90, .layout = COLUMNS},
        {.batch_count = 1, .m = 2, .n = 313, .k = 40, .layout = COLUMNS},
        {.batch_count = 2, .m = 201, .n = 2, .k = 30, .layout = WINDOW, .transposed_out = true},
    };
    static const int thread_counts[] = {2, 3, 7};
    unsigned sets[FEATURE_SETS_MAX];
    const size_t set_count = feature_sets(sets);
    for (size_t t = 0; t < COUNT(thread_counts); t++) {
        scoped_pool *pool = test_pool(thread_counts[t]);
        for (size_t i = 0; i < COUNT(setups); i++)
            if (test_takes(t + i, COUNT(setups)))
                check_fmaf(&setups[i], pool, sets, set_count);
    }
}

static void check_threads(const char *name, const struct setup *setup)
{
    static const int thread_counts[] = {1, 2, 7};
    struct ulp_arithmetic arithmetic = instance_arithmetic(name);
    struct instance instance;
    instance_create(&instance, &arithmetic, setup);
    size_t bytes = instance.out.count * instance.out.element_bytes;
    SCOPED_MEMORY void *first = malloc(bytes);
    for (size_t t = 0; t < COUNT(thread_counts); t++) {
        struct ulp_pool *pool = test_pool(thread_counts[t]);
        ck_ok(ulp_contract(&arithmetic, &instance.problem, pool, &why));
        ulp_pool_free(pool);
        if (t == 0)
            memcpy(first, instance.out.data, bytes);
        ck_assert_msg(memcmp(first, instance.out.data, bytes) == 0, "%s with %d threads", name,
                      thread_counts[t]);
    }
    instance_free(&instance);
}

TEST(bits_do_not_depend_on_threads)
{
    static const char *const thread_names[] = {"fp32", "fp16-strict", "fp32,order=pairwise",
                                               "fp16-strict,round=sr"};
    const struct setup small = {.batch_count = 3,
                                .m = 70,
                                .n = 90,
                                .k = 40,
                                .layout = ROWS,
                                .values = WITH_SPECIALS,
                                .padding = true,
                                .seed = 8};
    /* So large that a side is packed for all threads. */
    struct setup large = {.batch_count = 2,
                          .m = 130,
                          .n = 401,
                          .k = 270,
                          .layout = WINDOW,
                          .values = WITH_SPECIALS,
                          .padding = true,
                          .seed = 9};
    for (size_t i = 0; i < COUNT(thread_names); i++)
        check_threads(thread_names[i], &small);
    for (uint64_t turned = 0; turned < 2; turned++) {
        large.transposed_out = turned;
        if (test_takes(turned, 4))
            check_threads("fp32", &large);
        if (test_takes(2 + turned, 4))
            check_threads("fp16-strict", &large);
    }
}

TEST(what_has_no_meaning_is_refused)
{
    struct ulp_arithmetic fp32 = instance_arithmetic("fp32"), fp64 = instance_arithmetic("fp64");
    struct setup setup = {.batch_count = 1, .m = 2, .n = 2, .k = 2};
    struct instance instance;
    struct ulp_error error = {0};
    int64_t dim = 4;
    instance_create(&instance, &fp32, &setup);
    scoped_tensor integers = {0}, doubles = {0};
    ck_ok(ulp_tensor_create(&integers, ULP_TYPE_INT32, ULP_ELEMENT_COUNT, 0, 1, &dim, &why));
    ck_ok(ulp_tensor_create(&doubles, ULP_TYPE_DOUBLE, ULP_ELEMENT_COUNT, 0, 1, &dim, &why));
    instance.problem.out = &integers;
    ck_fails(ULP_ERROR_USAGE, "INT32", ulp_contract(&fp32, &instance.problem, NULL, &why));
    instance.problem.out = &doubles;
    ck_assert_int_eq(ULP_ERROR_USAGE, ulp_contract(&fp32, &instance.problem, NULL, &error));
    ck_assert_int_eq(ULP_ELEMENT_F32, ulp_accumulator_element(&fp32));
    ck_assert_int_eq(ULP_ELEMENT_F64, ulp_accumulator_element(&fp64));
    instance_free(&instance);
}

TEST(features_are_switched_off_with_what_builds_on_them)
{
    unsigned all = ULP_CPU_AVX2 | ULP_CPU_F16C | ULP_CPU_AVX512 | ULP_CPU_AVX512FP16;
    ck_assert_uint_eq(all, ulp_cpu_without(all, NULL));
    ck_assert_uint_eq(all, ulp_cpu_without(all, "avx51,avx"));
    ck_assert_uint_eq(0, ulp_cpu_without(all, "avx2"));
    ck_assert_uint_eq(ULP_CPU_AVX2, ulp_cpu_without(all, "f16c"));
    ck_assert_uint_eq(ULP_CPU_AVX2 | ULP_CPU_F16C, ulp_cpu_without(all, "avx512"));
    ck_assert_uint_eq(ULP_CPU_AVX2 | ULP_CPU_F16C | ULP_CPU_AVX512,
                      ulp_cpu_without(all, "f16, avx512fp16"));
    ck_assert_uint_eq(0, ulp_cpu_without(ULP_CPU_AVX512, NULL));
}

TEST_SUITE("contract", test_long() ? 600 : 300)
