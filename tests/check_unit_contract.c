/* Contractions on matrix units against the oracle of their schedules: shapes, batches, padding, schedules, threads,
 * rounding of the results; every instruction set gives the same bits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/random.h"
#include "kernels/step.h"
#include "kernels/unit_fast.h"
#include "number/round.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct setup {
    size_t batch_count, m, n, k;
    size_t a_special, b_special; /* one element in so many is infinite or NaN; 0: none */
    bool shared;  /* all batches use the same b */
    bool padding; /* one element in five of a does not exist */
    bool store;
};

struct instance {
    struct ulp_tensor a, b, out;
    uint8_t *padding;
    int64_t *tables[9];
    struct ulp_contraction problem;
};

static int64_t *steps(size_t count, int64_t step)
{
    int64_t *offset = malloc((count + 1) * sizeof *offset);
    ck_assert_ptr_nonnull(offset);
    for (size_t i = 0; i < count; i++)
        offset[i] = (int64_t)i * step;
    return offset;
}

static void fill(struct ulp_tensor *out, const struct ulp_format *format, size_t count, uint64_t key, size_t special)
{
    const int64_t dims[] = {(int64_t)count};
    ck_assert_int_eq(ulp_tensor_create(out, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, dims, NULL), ULP_OK);
    float *x = out->data;
    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = ulp_random_bits(key, 2 * i);
        x[i] = (float)ldexp(2 * ulp_random_uniform(key, 2 * i + 1) - 1, (int)(bits % 8) - 4);
        if (bits >> 32 & 1 && bits >> 33 & 1)
            x[i] = 0;
        if (special && (bits >> 8) % special == 0)
            x[i] = bits & 16 && format->overflow == ULP_OVERFLOW_INFINITY ? (bits & 32 ? INFINITY : -INFINITY) : NAN;
    }
    ulp_round_floats(format, ULP_ROUND_NEAREST_EVEN, x, count, 0, 0, 0);
}

static void instance_create(struct instance *it, const struct ulp_arithmetic *arithmetic, const struct setup *s,
                            uint64_t key)
{
    const size_t a_count = s->batch_count * s->m * s->k, b_count = (s->shared ? 1 : s->batch_count) * s->n * s->k;
    *it = (struct instance){0};
    fill(&it->a, &arithmetic->storage, a_count + 1, key, s->a_special);
    fill(&it->b, &arithmetic->storage, b_count + 1, key + 1, s->b_special);
    it->padding = calloc(a_count + 1, 1);
    for (size_t i = 0; s->padding && i < a_count; i++)
        if (ulp_random_bits(key + 2, i) % 5 == 0) {
            it->padding[i] = 1;
            ((float *)it->a.data)[i] = 0;
        }
    const int64_t dims[] = {(int64_t)(s->batch_count * s->m * s->n)};
    ck_assert_int_eq(ulp_tensor_create(&it->out, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 1, dims, NULL), ULP_OK);
    const int64_t m = (int64_t)s->m, n = (int64_t)s->n, k = (int64_t)s->k;
    int64_t *const tables[] = {steps(s->batch_count, m * k), steps(s->m, k), steps(s->k, 1),
                               steps(s->batch_count, s->shared ? 0 : n * k), steps(s->n, 1), steps(s->k, n),
                               steps(s->batch_count, m * n), steps(s->m, n), steps(s->n, 1)};
    memcpy(it->tables, tables, sizeof tables);
    it->problem = (struct ulp_contraction){
        .batch_count = s->batch_count, .m = s->m, .n = s->n, .k = s->k, .store = s->store, .node_key = 5,
        .out = &it->out,
        .a = {&it->a, it->tables[0], it->tables[1], it->tables[2], s->padding ? it->padding : NULL},
        .b = {&it->b, it->tables[3], it->tables[4], it->tables[5], NULL},
        .out_batch_offset = it->tables[6], .out_row_offset = it->tables[7], .out_column_offset = it->tables[8]};
}

static void instance_free(struct instance *it)
{
    for (size_t i = 0; i < COUNT(it->tables); i++)
        free(it->tables[i]);
    free(it->padding);
    ulp_tensor_free(&it->a);
    ulp_tensor_free(&it->b);
    ulp_tensor_free(&it->out);
}

static float expect(const struct ulp_arithmetic *arithmetic, const struct ulp_unit *unit,
                    const struct ulp_contraction *p, size_t g, size_t i, size_t j)
{
    double *x = malloc((2 * p->k + 1) * sizeof *x), *y = x + p->k;
    for (size_t k = 0; k < p->k; k++) {
        const int64_t at = ulp_factor_offset(&p->a, g, i, k);
        x[k] = ulp_tensor_get(p->a.tensor, (size_t)at);
        y[k] = ulp_tensor_get(p->b.tensor, (size_t)ulp_factor_offset(&p->b, g, j, k));
        if (p->a.padding && p->a.padding[at])
            x[k] = y[k] = 0;
    }
    ulp_round_doubles(&arithmetic->factor, arithmetic->schedule.operand_rounding, x, 2 * p->k, 0, 0, 0);
    float value = ulp_unit_schedule(unit, &arithmetic->schedule, x, y, p->k);
    if (p->store)
        ulp_round_floats(&arithmetic->storage, arithmetic->rounding, &value, 1, arithmetic->seed,
                         p->node_key + p->k * ULP_DRAWS + ULP_DRAW_STORE, (g * p->m + i) * p->n + j);
    free(x);
    return value;
}

static const char *const arithmetics[] = {
    "fp16", "bf16", "tf32", "tf32-trunc", "fp8-e4m3", "fp8-e5m2", "fp16,acc=fp16", "fp16@v100", "fp16@a100",
    "tf32@a100", "fp16@v100,acc=fp16", "fp8-e4m3@l40s", "fp8-e4m3,unit=mma", "fp8-e5m2,unit=mma,acc=fp16",
    "fp16,round=sr,seed=3", "fp16,split-k=3", "tf32,split-k=4", "fp16,acc=fp16,split-k=5", "fp8-e4m3,promote=128",
    "fp16,promote=24",
    "fp8-e4m3,unit=mma,promote=48,split-k=2", "fp16,acc=fp16,promote=32,split-k=2", "fp16,split-k=100",
};
static const struct setup setups[] = {
    {1, 1, 1, 1, 0, 0, false, false, true},
    {1, 5, 7, 0, 0, 0, false, false, true},
    {1, 9, 40, 33, 0, 0, false, false, true},
    {1, 70, 3, 150, 0, 0, false, false, false}, /* sides swapped */
    {3, 6, 33, 64, 0, 0, false, false, true},
    {3, 4, 35, 70, 0, 0, true, false, false},
    {2, 17, 20, 45, 0, 0, false, true, true},
    {2, 17, 20, 45, 0, 40, false, true, true},
    {1, 40, 12, 45, 0, 40, false, true, false},
    {1, 12, 64, 300, 0, 40, false, false, true},
    {1, 3, 5, 513, 0, 0, false, false, false},
    {1, 30, 40, 70, 100, 100, false, false, true},
    {2, 20, 34, 45, 3, 2, false, true, true},
    {1, 40, 33, 200, 400, 50, false, true, false},
};

static bool same(float x, float y)
{
    return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

static void compare(const char *name, const struct setup *setup, uint64_t key)
{
    static const unsigned features[] = {0, ULP_CPU_AVX2 | ULP_CPU_F16C, ~0u};
    struct ulp_arithmetic arithmetic;
    struct ulp_error error;
    struct instance it;
    ck_ulp_ok(ulp_arithmetic_find(name, &arithmetic, &error), error);
    const struct ulp_unit *unit = ulp_unit_of(&arithmetic, &error);
    ck_assert_msg(unit != NULL, "%s", error.message);
    instance_create(&it, &arithmetic, setup, key);
    const struct ulp_contraction *p = &it.problem;
    const float *out = it.out.data;
    for (size_t f = 0; f < COUNT(features); f++) {
        memset(it.out.data, 0xA5, it.out.count * sizeof(float));
        ck_ulp_ok(ulp_unit_contract(ulp_cpu_features() & features[f], unit, &arithmetic, p, NULL, &error), error);
        for (size_t i = 0; i < it.out.count; i++) {
            const float wanted = expect(&arithmetic, unit, p, i / (p->m * p->n), i / p->n % p->m, i % p->n);
            ck_assert_msg(same(out[i], wanted), "%s, %zu x %zu x %zu x %zu, features %x, output %zu: %a, oracle %a",
                          name, p->batch_count, p->m, p->n, p->k, features[f], i, (double)out[i], (double)wanted);
        }
    }
    instance_free(&it);
}

START_TEST(contractions_follow_the_oracle)
{
    for (size_t i = 0; i < COUNT(setups); i++)
        for (uint64_t repeat = 0; repeat < (test_long() ? 20 : 1); repeat++)
            compare(arithmetics[_i], &setups[i], 100 * repeat + i);
}
END_TEST

START_TEST(bits_do_not_depend_on_threads)
{
    static const struct setup setup = {3, 90, 70, 200, 1000, 40, false, true, true};
    static const int threads[] = {1, 2, 7};
    struct ulp_arithmetic arithmetic;
    struct ulp_error error;
    struct instance it;
    ck_ulp_ok(ulp_arithmetic_find("fp16", &arithmetic, &error), error);
    instance_create(&it, &arithmetic, &setup, 9);
    float *first = malloc(it.out.count * sizeof *first);
    ck_ulp_ok(ulp_contract_unit(&arithmetic, &it.problem, NULL, &error), error);
    memcpy(first, it.out.data, it.out.count * sizeof *first);
    for (size_t i = 0; i < COUNT(threads); i++) {
        struct ulp_pool *pool;
        ck_ulp_ok(ulp_pool_create(&pool, threads[i], &error), error);
        ulp_pool_set_eager(pool);
        memset(it.out.data, 0xA5, it.out.count * sizeof *first);
        ck_ulp_ok(ulp_contract_unit(&arithmetic, &it.problem, pool, &error), error);
        ck_assert_int_eq(memcmp(first, it.out.data, it.out.count * sizeof *first), 0);
        ulp_pool_free(pool);
    }
    free(first);
    instance_free(&it);
}
END_TEST

START_TEST(slices_cover_the_sum)
{
    const struct ulp_unit *unit = ulp_unit_find("h200.mma.tf32.f32");
    ck_assert_uint_eq(ulp_unit_slice_length(unit, 8, 2), 4);   /* whole: shorter than a block */
    ck_assert_uint_eq(ulp_unit_slice_length(unit, 256, 8), 32);
    ck_assert_uint_eq(ulp_unit_slice_length(unit, 100, 3), 40); /* 34, up to a block */
    ck_assert_uint_eq(ulp_unit_slice_length(unit, 100, 1), 100);
    ck_assert_uint_eq(ulp_unit_slice_length(unit, 100, 0), 100);
    ck_assert_uint_eq(ulp_unit_slice_length(unit, 3, 7), 8);
}
END_TEST

START_TEST(what_no_unit_does_is_refused)
{
    struct ulp_arithmetic arithmetic;
    struct ulp_error error;
    ck_ulp_ok(ulp_arithmetic_find("bf16@a100", &arithmetic, &error), error);
    snprintf(arithmetic.schedule.gpu, sizeof arithmetic.schedule.gpu, "v100");
    ck_assert_ptr_null(ulp_unit_of(&arithmetic, &error));
    ck_assert_int_eq(error.status, ULP_ERROR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.message, "mma fp16 -> fp32"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unit-contract");
    TCase *tests = tcase_create("contract");
    tcase_set_timeout(tests, test_long() ? 600 : 60);
    tcase_add_loop_test(tests, contractions_follow_the_oracle, 0, (int)COUNT(arithmetics));
    tcase_add_test(tests, bits_do_not_depend_on_threads);
    tcase_add_test(tests, slices_cover_the_sum);
    tcase_add_test(tests, what_no_unit_does_is_refused);
    suite_add_tcase(suite, tests);
    return test_run(suite, NULL);
}
