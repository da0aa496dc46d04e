/* Probes: they tell apart what they say, and what an H200 made of them names its kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope.h>

#include "tests/support/test.h"
#include "tests/support/unit_schedule.h"

/* ---- recorded products of probes ---- */

/* Of tests/data/unit/h200_probes.npz: the arithmetic, and what the masked sums must show. The
 * oracle is the kernels' launch: slices are the third number of its grid, and a slice has 512 /
 * slices products; E4M3 without fast accumulation is promoted after 128, as PyTorch documents;
 * lengths of blocks are the units' (measured with single instructions). */
static const struct {
    const char *kind, *name, *order;
} recorded[] = {
    {"f16", "fp16", "blocks of 16 products are added at once, in one chain over k"},
    {"bf16", "bf16", "blocks of 16 products are added at once, in one chain over k"},
    {"tf32", "tf32,split-k=16",
     "blocks of 8 products are added at once, in chains of 32 products (4 blocks); 16 of their "
     "sums are added in order"},
    {"f32", "fp32,split-k=16",
     "one product is added after the other, in chains of 32 products; 16 of their sums are added "
     "in order"},
    {"f16.acc16", "fp16,acc=fp16,split-k=8",
     "blocks of 16 products are added at once, in chains of 64 products (4 blocks); 8 of their "
     "sums are added in order"},
    {"e4m3.slow", "tf32,factor=fp8-e4m3,promote=128",
     "blocks of 32 products are added at once, in chains of 128 products (4 blocks); 4 of their "
     "sums are added in order"},
    {"e4m3.fast", "tf32,factor=fp8-e4m3",
     "blocks of 32 products are added at once, in one chain over k"},
};

START_TEST(recorded_probes)
{
    struct ulp_tensor_set set = {0};
    struct ulp_error error;
    ck_ulp_ok(ulp_tensor_set_read(test_data("unit/h200_probes.npz"), NULL, &set, &error), error);
    for (size_t r = 0; r < sizeof recorded / sizeof *recorded; r++) {
        const struct ulp_tensor *parts[3];
        const struct ulp_fit_options options = {.gpu = "h200", .thread_count = 2};
        struct ulp_fit fit;
        for (int i = 0; i < 3; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s.16x16x512.%c", recorded[r].kind, 'a' + i);
            parts[i] = ulp_tensor_set_find(&set, name);
            ck_assert_msg(parts[i] != NULL, "%s", name);
        }
        const struct ulp_fit_product product = {.a = parts[0], .b = parts[1], .c = parts[2]};
        ck_ulp_ok(ulp_fit_run(&product, 1, &options, &fit, &error), error);
        ck_assert_msg(fit.consistent == 1, "%s: %zu", recorded[r].kind, fit.consistent);
        ck_assert_str_eq(fit.candidates[0].name, recorded[r].name);
        ck_assert_ptr_nonnull(fit.order);
        ck_assert_msg(strstr(fit.order, recorded[r].order) != NULL, "%s: %s", recorded[r].kind,
                      fit.order);
        ulp_fit_free(&fit);
    }
    ulp_tensor_set_free(&set);
}
END_TEST

/* ---- a probe of products that tell little ---- */

enum { ROWS = 12, COLUMNS = 10, K = 192 };

/* Small whole numbers: every order and unit gives the same sums. */
static struct ulp_fit_product make_product(struct ulp_tensor tensors[3])
{
    static const int64_t shapes[3][2] = {{ROWS, K}, {K, COLUMNS}, {ROWS, COLUMNS}};
    struct ulp_error error;
    for (int t = 0; t < 3; t++) {
        ck_ulp_ok(ulp_tensor_create(&tensors[t], t < 2 ? ULP_TYPE_FLOAT16 : ULP_TYPE_FLOAT,
                                    ULP_ELEMENT_COUNT, 0, 2, shapes[t], &error),
                  error);
        for (size_t i = 0; i < tensors[t].count && t < 2; i++)
            ((float *)tensors[t].data)[i] = (float)((int)(i * 7 % 13) - 5);
    }
    const float *a = tensors[0].data, *b = tensors[1].data;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++) {
            float sum = 0;
            for (size_t k = 0; k < K; k++)
                sum += a[i * K + k] * b[k * COLUMNS + j];
            ((float *)tensors[2].data)[i * COLUMNS + j] = sum;
        }
    return (struct ulp_fit_product){.a = &tensors[0], .b = &tensors[1], .c = &tensors[2]};
}

/* A candidate's product by the oracle of its unit, of the probe's numbers. */
static void multiply(const struct ulp_fit_candidate *candidate, const struct ulp_fit_probe *probe,
                     float out[ROWS * COLUMNS])
{
    const struct ulp_arithmetic arithmetic = test_arithmetic(candidate->name);
    struct ulp_error error;
    const struct ulp_unit *unit = ulp_unit_of(&arithmetic, &error);
    ck_assert_msg(unit != NULL, "%s", candidate->name);
    double a[K], b[K];
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++) {
            for (size_t k = 0; k < K; k++) {
                a[k] = ulp_tensor_get(&probe->a, i * K + k);
                b[k] = ulp_tensor_get(&probe->b, k * COLUMNS + j);
            }
            out[i * COLUMNS + j] = unit_schedule(unit, &arithmetic.schedule, a, b, K);
        }
}

/* Candidates of one class have the same product, those of different ones do not: by the oracle.
 * Then one of them is the truth, and both products together name it. */
START_TEST(probe_tells)
{
    struct ulp_tensor tensors[3], probed;
    const struct ulp_fit_product product = make_product(tensors);
    struct ulp_fit_options options = {.operands = "fp16", .result = "fp32", .thread_count = 2};
    struct ulp_fit fit, second;
    struct ulp_fit_probe probe;
    struct ulp_error error;
    float *products;
    size_t units = 0, pairs = 0, chosen = SIZE_MAX;
    ck_ulp_ok(ulp_fit_run(&product, 1, &options, &fit, &error), error);
    ck_assert_uint_gt(fit.consistent, 50);
    ck_ulp_ok(ulp_fit_probe_make(&fit, &product, &options, &probe, &error), error);
    ck_assert_uint_eq(probe.count, fit.consistent);
    ck_assert(probe.a.type == ULP_TYPE_FLOAT16 && probe.a.dims[0] == ROWS && probe.a.dims[1] == K);
    ck_assert(probe.b.dims[0] == K && probe.b.dims[1] == COLUMNS);
    products = calloc(probe.count, sizeof *products * ROWS * COLUMNS);
    ck_assert_ptr_nonnull(products);
    for (size_t i = 0; i < probe.count; i++) {
        const struct ulp_fit_candidate *candidate = &fit.candidates[i];
        if (!*candidate->gpus || strstr(candidate->name, "acc=fp16"))
            continue;
        multiply(candidate, &probe, products + i * ROWS * COLUMNS);
        for (size_t j = 0; j < i; j++) {
            const struct ulp_fit_candidate *other = &fit.candidates[j];
            if (!*other->gpus || strstr(other->name, "acc=fp16"))
                continue;
            const bool same = memcmp(products + i * ROWS * COLUMNS, products + j * ROWS * COLUMNS,
                                     sizeof *products * ROWS * COLUMNS) == 0;
            ck_expect(same == (probe.classes[i] == probe.classes[j]), "%s and %s", candidate->name,
                      other->name);
            pairs++;
        }
        units++;
        if (strcmp(candidate->name, "fp32@t4,factor=fp16,split-k=3") == 0)
            chosen = i;
    }
    ck_assert(units > 20 && pairs > 200 && chosen != SIZE_MAX);
    /* nearly all of them */
    ck_assert_uint_gt(2 * probe.class_count, probe.count);
    const int64_t dims[] = {ROWS, COLUMNS};
    ck_ulp_ok(ulp_tensor_wrap(&probed, ULP_TYPE_FLOAT, 2, dims, products + chosen * ROWS * COLUMNS,
                              &error),
              error);
    const struct ulp_fit_product both[] = {product, {.a = &probe.a, .b = &probe.b, .c = &probed}};
    ck_ulp_ok(ulp_fit_run(both, 2, &options, &second, &error), error);
    ck_assert_uint_eq(second.elements, 2 * ROWS * COLUMNS);
    ck_assert_uint_le(second.consistent, 2);
    ck_assert_str_eq(second.candidates[0].name, fit.candidates[chosen].name);
    ck_assert_ptr_nonnull(second.order);
    ck_assert_ptr_nonnull(strstr(second.order,
                                 "blocks of 8 products are added at once, in chains of "
                                 "64 products (8 blocks); 3 of their sums are added in order"));
    ck_assert_ptr_null(fit.order);
    free(products);
    ulp_fit_free(&second);
    ulp_fit_probe_free(&probe);
    ulp_fit_free(&fit);
    for (int t = 0; t < 3; t++)
        ulp_tensor_free(&tensors[t]);
}
END_TEST

TEST_MAIN("fit's probes", 120)
{
    tcase_add_test(tests, recorded_probes);
    tcase_add_test(tests, probe_tells);
}
