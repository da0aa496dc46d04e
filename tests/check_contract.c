/* Scalar-chain contractions, bit for bit: every arithmetic against an oracle of exact MPFR values, FP32 against a plain
 * loop of fmaf, every instruction set and thread count against each other; offsets, padding, integers, refusals. */
#include "test.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/random.h"
#include "kernels/chain_oracle.h"
#include "kernels/chains.h"
#include "kernels/pack.h"
#include "kernels/tile.h"
#include "number/round.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* A stream of random numbers. */
struct stream {
    uint64_t key, next;
};
static uint64_t draw(struct stream *stream) { return ulp_random_bits(stream->key, stream->next++); }
static size_t draw_below(struct stream *stream, size_t bound) { return (size_t)(draw(stream) % bound); }

/* How elements lie and what they are. */
enum layout { ROWS, COLUMNS, GATHERED, WINDOW, STRIDED_WINDOW, LAYOUT_COUNT };
enum values { NEAR_ONE, PATTERNS, SMALL_INTEGERS, WITH_SPECIALS, VALUES_COUNT };

struct setup {
    size_t batch_count, m, n, k;
    enum layout layout;
    enum values values;
    bool padding, store, transposed_out;
    uint64_t seed;
};

/* A contraction that owns everything it points to. */
struct instance {
    struct ulp_contraction problem;
    struct ulp_tensor a, b, out;
    int64_t *tables[9];
    uint8_t *padding;
};

static int64_t *table(struct instance *instance, int number, size_t count, int64_t base, int64_t step)
{
    int64_t *offsets = malloc((count + 1) * sizeof *offsets);
    for (size_t i = 0; i < count; i++)
        offsets[i] = base + (int64_t)i * step;
    return instance->tables[number] = offsets;
}

static int64_t *random_table(struct instance *instance, struct stream *stream, int number, size_t count, size_t bound)
{
    int64_t *offsets = table(instance, number, count, 0, 0);
    for (size_t i = 0; i < count; i++)
        offsets[i] = (int64_t)draw_below(stream, bound);
    return offsets;
}

static double random_value(struct stream *stream, const struct ulp_format *format, enum values values)
{
    static const double specials[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0};
    double x = (double)(int64_t)draw(stream) * 0x1p-63;
    if (values == SMALL_INTEGERS)
        x = (double)(int)draw_below(stream, 7) - 3;
    else if (values == WITH_SPECIALS && draw_below(stream, 40) == 0)
        x = specials[draw_below(stream, COUNT(specials))];
    else if (values == PATTERNS && format->storage_bits > 0 && format->storage_bits <= 32)
        x = ulp_format_decode(format, (uint32_t)draw(stream) & (uint32_t)((1ull << format->storage_bits) - 1));
    else if (values == PATTERNS)
        x = ldexp(x, format->emin + (int)draw_below(stream, (size_t)(format->emax - format->emin)));
    ulp_round_doubles(format, ULP_ROUND_NEAREST_EVEN, &x, 1, 0, 0, 0);
    return x;
}

static void put(struct ulp_tensor *tensor, size_t i, double x)
{
    if (tensor->element == ULP_ELEMENT_F32)
        ((float *)tensor->data)[i] = (float)x;
    else
        ((double *)tensor->data)[i] = x;
}

static void fill(struct ulp_tensor *tensor, const struct ulp_arithmetic *arithmetic, size_t count,
                 struct stream *stream, enum values values)
{
    int64_t dim = (int64_t)count;
    enum ulp_element element = ulp_storage_element(&arithmetic->storage);
    ck_assert_int_eq(ULP_OK, ulp_tensor_create(tensor, ULP_TYPE_FLOAT, element, 0, 1, &dim, NULL));
    for (size_t i = 0; i < count; i++)
        put(tensor, i, random_value(stream, &arithmetic->storage, values));
}

/* Tables of one side: lines and k of matrices, random places, or a window that slides over a row (as a convolution). */
static size_t lay_out(struct instance *instance, struct ulp_factor *factor, struct stream *stream,
                      const struct setup *setup, int first_table, size_t lines)
{
    size_t k = setup->k, batch_count = setup->batch_count, count = batch_count * lines * k + 1;
    if (setup->layout == GATHERED) {
        factor->batch_offset = random_table(instance, stream, first_table, batch_count, count);
        factor->line_offset = random_table(instance, stream, first_table + 1, lines, count);
        factor->k_offset = random_table(instance, stream, first_table + 2, k, count);
        return 3 * count;
    }
    bool columns = setup->layout == COLUMNS;
    size_t line_step = columns ? 1 : k, k_step = columns ? lines : 1;
    if (first_table == 0 && (setup->layout == WINDOW || setup->layout == STRIDED_WINDOW))
        line_step = setup->layout == WINDOW ? 1 : 2;
    factor->batch_offset = batch_count == 1 ? NULL : table(instance, first_table, batch_count, 0, (int64_t)(lines * k));
    factor->line_offset = table(instance, first_table + 1, lines, 0, (int64_t)line_step);
    factor->k_offset = table(instance, first_table + 2, k, 0, (int64_t)k_step);
    /* No element more than is used: what reads beyond is seen by the sanitizers. */
    return (batch_count - 1) * lines * k + (lines - 1) * line_step + (k ? k - 1 : 0) * k_step + 1;
}

static void instance_create(struct instance *instance, const struct ulp_arithmetic *arithmetic,
                            const struct setup *setup)
{
    struct stream stream = {.key = setup->seed};
    *instance = (struct instance){0};
    struct ulp_contraction *problem = &instance->problem;
    *problem = (struct ulp_contraction){.batch_count = setup->batch_count,
                                        .m = setup->m,
                                        .n = setup->n,
                                        .k = setup->k,
                                        .store = setup->store,
                                        .out = &instance->out,
                                        .node_key = 77};
    size_t a_count = lay_out(instance, &problem->a, &stream, setup, 0, setup->m);
    size_t b_count = lay_out(instance, &problem->b, &stream, setup, 3, setup->n);
    fill(&instance->a, arithmetic, a_count, &stream, setup->values);
    fill(&instance->b, arithmetic, b_count, &stream, setup->values);
    problem->a.tensor = &instance->a;
    problem->b.tensor = &instance->b;
    if (setup->padding) {
        problem->a.padding = instance->padding = calloc(a_count, 1);
        for (size_t i = 0; i < a_count; i++)
            if ((instance->padding[i] = draw_below(&stream, 5) == 0))
                put(&instance->a, i, 0);
    }
    size_t m = setup->m, n = setup->n;
    int64_t out_count = (int64_t)(setup->batch_count * m * n);
    enum ulp_element element = setup->store ? ulp_storage_element(&arithmetic->storage)
                                            : ulp_accumulator_element(arithmetic);
    ck_assert_int_eq(ULP_OK, ulp_tensor_create(&instance->out, ULP_TYPE_FLOAT, element, 0, 1, &out_count, NULL));
    problem->out_batch_offset = table(instance, 6, setup->batch_count, 0, (int64_t)(m * n));
    problem->out_row_offset = table(instance, 7, m, 0, setup->transposed_out ? 1 : (int64_t)n);
    problem->out_column_offset = table(instance, 8, n, 0, setup->transposed_out ? (int64_t)m : 1);
}

static void instance_free(struct instance *instance)
{
    for (size_t i = 0; i < COUNT(instance->tables); i++)
        free(instance->tables[i]);
    free(instance->padding);
    ulp_tensor_free(&instance->a);
    ulp_tensor_free(&instance->b);
    ulp_tensor_free(&instance->out);
}

/* x, y: what output (g, i, j) sums the products of. */
static void gather(const struct ulp_arithmetic *arithmetic, const struct ulp_contraction *problem, size_t g, size_t i,
                   size_t j, double *x, double *y)
{
    const struct ulp_format *factor = &arithmetic->factor;
    for (size_t k = 0; k < problem->k; k++) {
        size_t a = (size_t)ulp_factor_offset(&problem->a, g, i, k), b = (size_t)ulp_factor_offset(&problem->b, g, j, k);
        x[k] = ulp_tensor_get(problem->a.tensor, a);
        y[k] = ulp_tensor_get(problem->b.tensor, b);
        ulp_round_doubles(factor, arithmetic->schedule.operand_rounding, &x[k], 1, 0, 0, 0);
        ulp_round_doubles(factor, arithmetic->schedule.operand_rounding, &y[k], 1, 0, 0, 0);
        if (problem->a.padding && problem->a.padding[a] && !isfinite(y[k]))
            y[k] = 0;
    }
}

static bool same_bits(double x, double y) { return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y)); }

/* Every output against the oracle. */
static void compare_with_oracle(const char *name, const struct ulp_arithmetic *arithmetic, const struct setup *setup,
                                const struct ulp_contraction *problem)
{
    double *x = malloc((problem->k + 1) * 2 * sizeof *x), *y = x + problem->k + 1;
    for (size_t g = 0, p = 0; g < problem->batch_count; g++)
        for (size_t i = 0; i < problem->m; i++)
            for (size_t j = 0; j < problem->n; j++, p++) {
                gather(arithmetic, problem, g, i, j, x, y);
                double wanted = chain_oracle(arithmetic, x, y, problem->k, problem->node_key, p);
                if (problem->store)
                    ulp_round_doubles(&arithmetic->storage, arithmetic->rounding, &wanted, 1, arithmetic->seed,
                                      problem->node_key + problem->k * ULP_DRAWS + ULP_DRAW_STORE, p);
                double got = ulp_tensor_get(problem->out,
                                            (size_t)(problem->out_batch_offset[g] + problem->out_row_offset[i] +
                                                     problem->out_column_offset[j]));
                ck_assert_msg(same_bits(got, wanted),
                              "%s %zu x %zu x %zu x %zu layout %d values %d padding %d seed %llu: "
                              "(%zu, %zu, %zu) is %a, not %a",
                              name, problem->batch_count, problem->m, problem->n, problem->k, (int)setup->layout,
                              (int)setup->values, setup->padding, (unsigned long long)setup->seed, g, i, j, got,
                              wanted);
            }
    free(x);
}

/* The sets of features that choose different tiles. */
static const char *const disabled_sets[] = {"", "avx512fp16", "avx512", "f16c", "avx2", "plain"};

static unsigned features_without(const char *disabled)
{
    return strcmp(disabled, "plain") == 0 ? ULP_TILE_PLAIN : ulp_cpu_without(ulp_cpu_features(), disabled);
}

/* Run with every feature set; all must give the bytes of the first. Returns in instance->out. */
static void run_everywhere(const char *name, const struct ulp_arithmetic *arithmetic, struct instance *instance)
{
    struct ulp_error error = {0};
    size_t bytes = instance->out.count * instance->out.element_bytes;
    struct ulp_chains chains = ulp_chains_make(arithmetic, &instance->problem);
    void *first = malloc(bytes + 1);
    for (size_t i = 0; i < COUNT(disabled_sets); i++) {
        memset(instance->out.data, 0xA5, bytes);
        unsigned cpu = features_without(disabled_sets[i]);
        ck_ulp_ok(ulp_chains_run(&chains, arithmetic, &instance->problem, cpu, NULL, &error), error);
        if (i == 0)
            memcpy(first, instance->out.data, bytes);
        ck_assert_msg(memcmp(first, instance->out.data, bytes) == 0, "%s: other bits without '%s'", name,
                      disabled_sets[i]);
    }
    memset(instance->out.data, 0xA5, bytes);
    ck_ulp_ok(ulp_contract(arithmetic, &instance->problem, NULL, &error), error);
    ck_assert(memcmp(first, instance->out.data, bytes) == 0);
    free(first);
}

static struct ulp_arithmetic arithmetic_of(const char *name)
{
    struct ulp_arithmetic arithmetic;
    struct ulp_error error = {0};
    ck_ulp_ok(ulp_arithmetic_find(name, &arithmetic, &error), error);
    return arithmetic;
}

static void check_setup(const char *name, const struct setup *setup)
{
    struct ulp_arithmetic arithmetic = arithmetic_of(name);
    struct instance instance;
    instance_create(&instance, &arithmetic, setup);
    run_everywhere(name, &arithmetic, &instance);
    compare_with_oracle(name, &arithmetic, setup, &instance.problem);
    instance_free(&instance);
}

static const char *const names[] = {
    "fp32",
    "fp32,nofma",
    "fp64",
    "fp64,nofma",
    "fp16-strict",
    "fp16-strict,fma",
    "fp16,unit=none",
    "fp16,unit=none,acc=fp16",
    "fp16-strict,acc=fp32",
    "bf16-strict",
    "bf16-strict,fma",
    "bf16,unit=none",
    "tf32-strict",
    "tf32,unit=none",
    "fp8-e4m3-strict",
    "fp8-e5m2-strict",
    "fp16-strict,overflow=saturate",
    "fp16-strict,subnormals=flush",
    "bf16-strict,round=rna",
    "fp16-strict,round=rd",
    "e5m7,round=rz",
    "e4m3,round=ru",
    "e8m23,nofma",
    "e8m20",
    "e11m20",
    "e11m52",
    "fp32,round=ru",
    "fp32,nofma,round=rz",
    "fp64,round=rd",
    "fp64,nofma,round=rz",
    "e11m20,acc=fp32,round=ru",
    "fp32,acc=fp64",
    "fp32,acc=fp16",
    "fp32,order=pairwise",
    "fp64,order=pairwise",
    "fp16-strict,order=pairwise",
    "fp16,unit=none,order=pairwise",
    "e11m20,order=pairwise",
    "fp32,order=blocked:5",
    "fp32,split-k=3",
    "fp32,split-k=4,promote=3",
    "fp32,promote=4",
    "fp16-strict,promote=4",
    "fp16-strict,split-k=2",
    "bf16-strict,split-k=3,promote=5",
    "fp32,order=blocked:2,promote=5,split-k=2",
    "fp32,split-k=3,order=pairwise",
    "fp64,split-k=4",
    "tf32-strict,promote=4,split-k=3",
    "fp16-strict,order=blocked:4",
    "fp16-strict,round=sr,seed=3",
    "fp32,round=sr",
    "fp32,nofma,round=sr,seed=9",
    "fp16,unit=none,round=sr",
};

/* Every arithmetic, small shapes of every kind. */
START_TEST(every_arithmetic_equals_the_oracle)
{
    struct stream stream = {.key = 1000 + (uint64_t)_i};
    int rounds = test_long() ? 400 : 12;
    for (int round = 0; round < rounds; round++) {
        struct setup setup = {
            .batch_count = 1 + draw_below(&stream, 3),
            .m = 1 + draw_below(&stream, round % 3 == 0 ? 40 : 9),
            .n = 1 + draw_below(&stream, round % 3 == 0 ? 2 : 9),
            .k = draw_below(&stream, 24),
            .layout = (enum layout)draw_below(&stream, LAYOUT_COUNT),
            .values = (enum values)(round % VALUES_COUNT),
            .padding = draw_below(&stream, 2),
            .store = draw_below(&stream, 2),
            .transposed_out = draw_below(&stream, 2),
            .seed = draw(&stream),
        };
        check_setup(names[_i], &setup);
    }
}
END_TEST

/* Chains across blocks of k, row and column blocks, and cuts that do not fall on them. */
START_TEST(long_chains_equal_the_oracle)
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
END_TEST

/* FP32 against the loop that defines it. */
static void check_fmaf(const struct setup *setup, struct ulp_pool *pool, unsigned cpu)
{
    struct ulp_arithmetic arithmetic = arithmetic_of("fp32");
    struct instance instance;
    struct ulp_error error = {0};
    instance_create(&instance, &arithmetic, setup);
    const struct ulp_contraction *p = &instance.problem;
    struct ulp_chains chains = ulp_chains_make(&arithmetic, p);
    ck_ulp_ok(ulp_chains_run(&chains, &arithmetic, p, cpu, pool, &error), error);
    const float *a = instance.a.data, *b = instance.b.data, *out = instance.out.data;
    for (size_t g = 0; g < p->batch_count; g++)
        for (size_t i = 0; i < p->m; i++)
            for (size_t j = 0; j < p->n; j++) {
                float sum = 0;
                for (size_t k = 0; k < p->k; k++)
                    sum = fmaf(a[ulp_factor_offset(&p->a, g, i, k)], b[ulp_factor_offset(&p->b, g, j, k)], sum);
                float got = out[p->out_batch_offset[g] + p->out_row_offset[i] + p->out_column_offset[j]];
                ck_assert_msg(same_bits(got, sum), "%zu x %zu x %zu: (%zu, %zu) is %a, not %a", p->m, p->n, p->k, i, j,
                              (double)got, (double)sum);
            }
    instance_free(&instance);
}

/* m and n in 1 .. 35, k too: every remainder of every tile. */
START_TEST(fp32_equals_fmaf_at_every_remainder)
{
    struct stream stream = {.key = 5};
    for (size_t m = 1; m <= 35; m++)
        for (size_t n = 1; n <= 35; n++) {
            struct setup setup = {.batch_count = 1,
                                  .m = m,
                                  .n = n,
                                  .k = 1 + draw_below(&stream, 35),
                                  .store = true,
                                  .layout = (enum layout)draw_below(&stream, LAYOUT_COUNT),
                                  .values = PATTERNS,
                                  .transposed_out = draw_below(&stream, 2),
                                  .seed = draw(&stream)};
            unsigned cpu = features_without(disabled_sets[draw_below(&stream, COUNT(disabled_sets))]);
            for (size_t k = 1; k <= (test_long() ? 35 : 1); k++) {
                setup.k = test_long() ? k : setup.k;
                check_fmaf(&setup, NULL, cpu);
            }
        }
}
END_TEST

START_TEST(fp32_equals_fmaf_across_blocks)
{
    static const struct setup setups[] = {
        {.batch_count = 1, .m = 300, .n = 530, .k = 270, .layout = ROWS},
        {.batch_count = 1, .m = 530, .n = 300, .k = 261, .layout = COLUMNS, .transposed_out = true},
        {.batch_count = 1, .m = 1, .n = 1100, .k = 600, .layout = ROWS},
        {.batch_count = 1, .m = 1100, .n = 1, .k = 513, .layout = WINDOW, .transposed_out = true},
        {.batch_count = 3, .m = 133, .n = 1, .k = 9, .layout = WINDOW, .transposed_out = true, .values = PATTERNS},
        {.batch_count = 3, .m = 133, .n = 2, .k = 9, .layout = STRIDED_WINDOW, .transposed_out = true},
        {.batch_count = 2, .m = 1500, .n = 1, .k = 25, .layout = STRIDED_WINDOW, .values = PATTERNS},
        {.batch_count = 40, .m = 33, .n = 17, .k = 19, .layout = COLUMNS},
    };
    for (size_t i = 0; i < COUNT(setups); i++)
        for (size_t set = 0; set < COUNT(disabled_sets); set++)
            check_fmaf(&setups[i], NULL, features_without(disabled_sets[set]));
}
END_TEST

START_TEST(bits_do_not_depend_on_threads)
{
    static const int thread_counts[] = {1, 2, 7};
    static const char *const thread_names[] = {"fp32", "fp16-strict", "fp32,order=pairwise", "fp16-strict,round=sr"};
    struct setup setup = {.batch_count = 3,
                          .m = 70,
                          .n = 90,
                          .k = 40,
                          .layout = ROWS,
                          .values = WITH_SPECIALS,
                          .padding = true,
                          .seed = 8};
    struct ulp_error error = {0};
    for (size_t i = 0; i < COUNT(thread_names); i++) {
        struct ulp_arithmetic arithmetic = arithmetic_of(thread_names[i]);
        struct instance instance;
        instance_create(&instance, &arithmetic, &setup);
        size_t bytes = instance.out.count * instance.out.element_bytes;
        void *first = malloc(bytes);
        for (size_t t = 0; t < COUNT(thread_counts); t++) {
            struct ulp_pool *pool;
            ck_ulp_ok(ulp_pool_create(&pool, thread_counts[t], &error), error);
            ulp_pool_set_eager(pool);
            ck_ulp_ok(ulp_contract(&arithmetic, &instance.problem, pool, &error), error);
            ulp_pool_free(pool);
            if (t == 0)
                memcpy(first, instance.out.data, bytes);
            ck_assert_msg(memcmp(first, instance.out.data, bytes) == 0, "%s with %d threads", thread_names[i],
                          thread_counts[t]);
        }
        free(first);
        instance_free(&instance);
    }
}
END_TEST

/* Makes an element of an integer tensor: number `at` of side 0 or 1. */
typedef int64_t make_integer(struct stream *stream, int side, size_t at, const void *context);

/* A contraction of integers against a loop modulo 2^64; what it does not compute it does not write. */
static void check_integers(const struct setup *setup, const enum ulp_type types[3], make_integer *make, const void *context,
                           struct ulp_pool *pool)
{
    struct ulp_arithmetic arithmetic = arithmetic_of("fp16");
    struct stream stream = {.key = setup->seed + 1000};
    struct ulp_error error = {0};
    struct instance instance;
    instance_create(&instance, &arithmetic, setup);
    struct ulp_contraction *p = &instance.problem;
    struct ulp_tensor factors[2], out;
    for (int side = 0; side < 2; side++) {
        const struct ulp_tensor *shape = side ? &instance.b : &instance.a;
        ck_ulp_ok(ulp_tensor_create(&factors[side], types[side], ULP_ELEMENT_COUNT, 0, 1, shape->dims, &error), error);
        for (size_t i = 0; i < shape->count; i++)
            ulp_tensor_set_int(&factors[side], i, side == 0 && p->a.padding && p->a.padding[i] ? 0 : make(&stream, side, i, context));
    }
    const int64_t out_count = (int64_t)instance.out.count + 3;
    ck_ulp_ok(ulp_tensor_create(&out, types[2], ULP_ELEMENT_COUNT, 0, 1, &out_count, &error), error);
    for (size_t i = 0; i < out.count; i++)
        ulp_tensor_set_int(&out, i, 77);
    p->a.tensor = &factors[0], p->b.tensor = &factors[1], p->out = &out;
    ck_ulp_ok(ulp_contract(&arithmetic, p, pool, &error), error);
    for (size_t g = 0; g < p->batch_count; g++)
        for (size_t i = 0; i < p->m; i++)
            for (size_t j = 0; j < p->n; j++) {
                uint64_t sum = 0;
                for (size_t k = 0; k < p->k; k++)
                    sum += (uint64_t)ulp_tensor_get_int(&factors[0], (size_t)ulp_factor_offset(&p->a, g, i, k)) *
                           (uint64_t)ulp_tensor_get_int(&factors[1], (size_t)ulp_factor_offset(&p->b, g, j, k));
                const size_t at = (size_t)(p->out_batch_offset[g] + p->out_row_offset[i] + p->out_column_offset[j]);
                const int64_t got = ulp_tensor_get_int(&out, at);
                ulp_tensor_set_int(&out, at, (int64_t)sum);
                ck_expect(got == ulp_tensor_get_int(&out, at),
                          "%zu x %zu x %zu x %zu: (%zu, %zu, %zu) is %lld, expected %lld", p->batch_count, p->m, p->n,
                          p->k, g, i, j, (long long)got, (long long)ulp_tensor_get_int(&out, at));
            }
    for (size_t i = instance.out.count; i < out.count; i++)
        ck_assert_int_eq(ulp_tensor_get_int(&out, i), 77);
    ulp_tensor_free(&factors[0]);
    ulp_tensor_free(&factors[1]);
    ulp_tensor_free(&out);
    instance_free(&instance);
}

static int64_t make_any(struct stream *stream, int side, size_t at, const void *context)
{
    (void)side, (void)at, (void)context;
    return (int64_t)draw(stream);
}

/* Integers of every pair of types. */
START_TEST(integers_are_exact)
{
    static const enum ulp_type types[] = {ULP_TYPE_INT8, ULP_TYPE_UINT8, ULP_TYPE_INT32, ULP_TYPE_INT64,
                                          ULP_TYPE_UINT64};
    static const enum ulp_type out_types[] = {ULP_TYPE_INT32, ULP_TYPE_INT64, ULP_TYPE_INT8, ULP_TYPE_UINT32};
    struct stream stream = {.key = 11};
    for (size_t round = 0; round < 100; round++) {
        struct setup setup = {.batch_count = 1 + round % 2,
                              .m = 1 + draw_below(&stream, 20),
                              .n = 1 + draw_below(&stream, 40),
                              .k = draw_below(&stream, 300),
                              .layout = (enum layout)(round % 2),
                              .seed = round};
        check_integers(&setup, (enum ulp_type[]){types[draw_below(&stream, 5)], types[draw_below(&stream, 5)], out_types[round % 4]},
                       make_any, NULL, NULL);
    }
}
END_TEST

/* Values of a factor less its zero point: nine bits, often the ends. */
static int64_t make_quantised(struct stream *stream, int side, size_t at, const void *context)
{
    (void)side, (void)at;
    const int64_t end = *(const int64_t *)context;
    const size_t choice = draw_below(stream, 4);
    return choice == 0 ? end : choice == 1 ? -end : (int64_t)draw_below(stream, (size_t)(2 * end + 1)) - end;
}

/* Every layout, padding, long sums on several threads, one row (a depthwise convolution) and many. */
START_TEST(quantised_values_are_exact)
{
    static const int64_t ends[] = {255, 128, 7};
    struct stream stream = {.key = 12};
    struct ulp_error error = {0};
    struct ulp_pool *pool;
    ck_ulp_ok(ulp_pool_create(&pool, 3, &error), error);
    ulp_pool_set_eager(pool);
    for (size_t round = 0; round < 300; round++) {
        struct setup setup = {.batch_count = 1 + draw_below(&stream, 3),
                              .m = 1 + draw_below(&stream, round % 3 ? 3 : 70),
                              .n = 1 + draw_below(&stream, round % 5 ? 100 : 2),
                              .k = draw_below(&stream, round % 4 ? 40 : 900),
                              .layout = (enum layout)(round % LAYOUT_COUNT),
                              .padding = round % 2,
                              .transposed_out = draw_below(&stream, 2),
                              .seed = round};
        check_integers(&setup,
                       (enum ulp_type[]){ULP_TYPE_INT32, ULP_TYPE_INT32, round % 7 ? ULP_TYPE_INT32 : ULP_TYPE_INT64},
                       make_quantised, &ends[round % COUNT(ends)], round % 2 ? pool : NULL);
    }
    ulp_pool_free(pool);
}
END_TEST

static int64_t make_constant(struct stream *stream, int side, size_t at, const void *context)
{
    (void)stream, (void)at;
    return ((const int64_t *)context)[side];
}

/* Sums at and around 2^24 and 2^53, where floats end, and across 2^31, where INT32 wraps. 3 (2^24 - 1) is no FP32 value,
 * 3 (2^53 - 1) no FP64 value. */
START_TEST(integers_are_exact_where_floats_end)
{
    static const int bits[] = {8, 22, 23, 24, 25, 26, 31, 32, 51, 52, 53, 54, 62, 63};
    static const int64_t others[] = {0, 1, -1, 3, 255, -4097, (int64_t)1 << 29, INT64_MIN};
    static const size_t lengths[] = {0, 1, 2, 3, 5, 65, 257, 258, 300};
    static const enum ulp_type out_types[] = {ULP_TYPE_INT32, ULP_TYPE_INT64, ULP_TYPE_INT8, ULP_TYPE_UINT64};
    for (size_t b = 0; b < COUNT(bits); b++)
        for (int64_t difference = -1; difference <= 1; difference++)
            for (size_t o = 0; o < COUNT(others); o++)
                for (size_t l = 0; l < COUNT(lengths); l++) {
                    const int64_t values[] = {(int64_t)(((uint64_t)1 << bits[b]) + (uint64_t)difference), others[o]};
                    struct setup setup = {.batch_count = 1, .m = 2 + l % 2 * 3, .n = 3, .k = lengths[l], .layout = (enum layout)(l % 2)};
                    check_integers(&setup, (enum ulp_type[]){ULP_TYPE_INT64, ULP_TYPE_INT64, out_types[(b + o + l) % 4]}, make_constant,
                                   values, NULL);
                }
}
END_TEST

/* 255 * -128 * k passes INT32's end at k = 65,794. */
START_TEST(long_sums_wrap)
{
    static const int64_t values[] = {255, -128};
    static const enum ulp_type types[] = {ULP_TYPE_UINT8, ULP_TYPE_INT8, ULP_TYPE_INT32};
    for (size_t k = 65792; k <= 65796; k++)
        check_integers(&(struct setup){.batch_count = 1, .m = 3, .n = 2, .k = k}, types, make_constant, values, NULL);
    check_integers(&(struct setup){.batch_count = 1, .m = 1, .n = 1, .k = 1000003}, types, make_constant, values, NULL);
}
END_TEST

START_TEST(what_has_no_meaning_is_refused)
{
    struct ulp_arithmetic fp32 = arithmetic_of("fp32"), fp64 = arithmetic_of("fp64");
    struct setup setup = {.batch_count = 1, .m = 2, .n = 2, .k = 2};
    struct instance instance;
    struct ulp_error error = {0};
    int64_t dim = 4;
    instance_create(&instance, &fp32, &setup);
    struct ulp_tensor integers, doubles;
    ck_ulp_ok(ulp_tensor_create(&integers, ULP_TYPE_INT32, ULP_ELEMENT_COUNT, 0, 1, &dim, &error), error);
    ck_ulp_ok(ulp_tensor_create(&doubles, ULP_TYPE_DOUBLE, ULP_ELEMENT_COUNT, 0, 1, &dim, &error), error);
    instance.problem.out = &integers;
    ck_assert_int_eq(ULP_ERROR_USAGE, ulp_contract(&fp32, &instance.problem, NULL, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "INT32"));
    instance.problem.out = &doubles;
    ck_assert_int_eq(ULP_ERROR_USAGE, ulp_contract(&fp32, &instance.problem, NULL, &error));
    ck_assert_int_eq(ULP_ELEMENT_F32, ulp_accumulator_element(&fp32));
    ck_assert_int_eq(ULP_ELEMENT_F64, ulp_accumulator_element(&fp64));
    ulp_tensor_free(&integers);
    ulp_tensor_free(&doubles);
    instance_free(&instance);
}
END_TEST

START_TEST(features_are_switched_off_with_what_builds_on_them)
{
    unsigned all = ULP_CPU_AVX2 | ULP_CPU_F16C | ULP_CPU_AVX512 | ULP_CPU_AVX512IFMA | ULP_CPU_AVX512FP16;
    ck_assert_uint_eq(all, ulp_cpu_without(all, NULL));
    ck_assert_uint_eq(all, ulp_cpu_without(all, "avx51,avx"));
    ck_assert_uint_eq(0, ulp_cpu_without(all, "avx2"));
    ck_assert_uint_eq(ULP_CPU_AVX2, ulp_cpu_without(all, "f16c"));
    ck_assert_uint_eq(ULP_CPU_AVX2 | ULP_CPU_F16C, ulp_cpu_without(all, "avx512"));
    ck_assert_uint_eq(ULP_CPU_AVX2 | ULP_CPU_F16C | ULP_CPU_AVX512, ulp_cpu_without(all, "avx512ifma, avx512fp16"));
    ck_assert_uint_eq(0, ulp_cpu_without(ULP_CPU_AVX512, NULL));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("contract");
    TCase *tests = tcase_create("chains");
    tcase_set_timeout(tests, test_long() ? 600 : 60);
    tcase_add_loop_test(tests, every_arithmetic_equals_the_oracle, 0, (int)COUNT(names));
    tcase_add_test(tests, long_chains_equal_the_oracle);
    tcase_add_test(tests, fp32_equals_fmaf_at_every_remainder);
    tcase_add_test(tests, fp32_equals_fmaf_across_blocks);
    tcase_add_test(tests, bits_do_not_depend_on_threads);
    tcase_add_test(tests, integers_are_exact);
    tcase_add_test(tests, quantised_values_are_exact);
    tcase_add_test(tests, integers_are_exact_where_floats_end);
    tcase_add_test(tests, long_sums_wrap);
    tcase_add_test(tests, what_has_no_meaning_is_refused);
    tcase_add_test(tests, features_are_switched_off_with_what_builds_on_them);
    suite_add_tcase(suite, tests);
    return test_run(suite, pack_suite(), NULL);
}
