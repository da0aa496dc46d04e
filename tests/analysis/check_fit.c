/* fit: schedules planted by the tests' own sums are found, recorded products are named, probes tell
 * apart what they say, and the order of masked sums is read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ulpscope.h>

#include "base/random.h"
#include "tests/support/test.h"
#include "tests/support/unit_schedule.h"

/* ---- products ---- */

struct product {
    size_t m, n, k;
    struct ulp_tensor a, b, c;
    double *left, *right; /* a [m][k] and columns of b [n][k] */
};

static struct ulp_tensor make_matrix(enum ulp_type type, size_t rows, size_t columns)
{
    struct ulp_tensor out;
    struct ulp_error error;
    const int64_t dims[] = {(int64_t)rows, (int64_t)columns};
    ck_ulp_ok(ulp_tensor_create(&out, type, ULP_ELEMENT_COUNT, 0, 2, dims, &error), error);
    return out;
}

static void put(struct ulp_tensor *tensor, size_t at, double x)
{
    if (tensor->element == ULP_ELEMENT_F64)
        ((double *)tensor->data)[at] = x;
    else
        ((float *)tensor->data)[at] = (float)x;
}

/* Numbers of the format, of sizes within 2^-range to 2^range. */
static double draw(const struct ulp_format *format, int range, uint64_t at)
{
    const double x = 2 * ulp_random_uniform(7, 2 * at) - 1,
                 e = (2 * ulp_random_uniform(7, 2 * at + 1) - 1) * range;
    return ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, ldexp(x, (int)e), 0, 0);
}

static struct product make_product(const char *format_name, enum ulp_type operands,
                                   enum ulp_type result, size_t m, size_t n, size_t k)
{
    struct product p = {.m = m, .n = n, .k = k};
    struct ulp_format format;
    struct ulp_error error;
    ck_ulp_ok(ulp_format_find(format_name, &format, &error), error);
    const int range = strncmp(format_name, "fp8", 3) == 0 ? 6 : 4;
    p.a = make_matrix(operands, m, k);
    p.b = make_matrix(operands, k, n);
    p.c = make_matrix(result, m, n);
    p.left = calloc(m * k, sizeof *p.left);
    p.right = calloc(n * k, sizeof *p.right);
    ck_assert(p.left && p.right);
    for (size_t i = 0; i < m * k; i++)
        put(&p.a, i, p.left[i] = draw(&format, range, i));
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < k; i++)
            put(&p.b, i * n + j, p.right[j * k + i] = draw(&format, range, (m + j) * k + i));
    return p;
}

static void free_product(struct product *p)
{
    ulp_tensor_free(&p->a);
    ulp_tensor_free(&p->b);
    ulp_tensor_free(&p->c);
    free(p->left);
    free(p->right);
}

static struct ulp_fit find(const struct product *p, const struct ulp_fit_options *options)
{
    const struct ulp_fit_product product = {.a = &p->a, .b = &p->b, .c = &p->c};
    struct ulp_fit fit;
    struct ulp_error error;
    ck_ulp_ok(ulp_fit_run(&product, 1, options, &fit, &error), error);
    ck_assert_uint_eq(fit.elements, p->m * p->n);
    for (size_t i = 0; i < fit.count; i++) {
        ck_assert(fit.candidates[i].consistent == (i < fit.consistent));
        ck_assert((fit.candidates[i].equal == fit.elements) == fit.candidates[i].consistent);
    }
    return fit;
}

static bool says(const struct ulp_fit *fit, const char *name)
{
    for (size_t i = 0; i < fit->consistent; i++)
        if (strcmp(fit->candidates[i].name, name) == 0)
            return true;
    return false;
}

/* ---- every unit of the table ---- */

struct planted {
    int slices, promote;
};

/* As the unit's oracle, an integer definition that no kernel uses, forms the whole sum. */
static void multiply(struct product *p, const struct ulp_unit *unit, struct planted planted)
{
    struct ulp_schedule schedule = {.split_k = planted.slices, .promote = planted.promote};
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++)
            put(&p->c, i * p->n + j,
                (double)unit_schedule(unit, &schedule, p->left + i * p->k, p->right + j * p->k,
                                      p->k));
}

/* The arithmetic with that schedule is among those found: its name, or another name's `also`. */
static void expect_planted(const struct ulp_fit *fit, const struct ulp_unit *unit,
                           struct planted planted, const char *what)
{
    char slices[32], promote[32];
    size_t found = 0;
    snprintf(slices, sizeof slices, "split-k=%d", planted.slices);
    snprintf(promote, sizeof promote, "promote=%d", planted.promote);
    for (size_t i = 0; i < fit->consistent; i++) {
        const struct ulp_fit_candidate *candidate = &fit->candidates[i];
        const struct ulp_arithmetic arithmetic = test_arithmetic(candidate->name);
        const struct ulp_schedule *schedule = &arithmetic.schedule;
        const bool same = (schedule->split_k > 1 ? schedule->split_k : 1) == planted.slices &&
                          schedule->promote == planted.promote;
        ck_assert_ptr_nonnull(strstr(candidate->gpus, *schedule->gpu ? schedule->gpu : ""));
        found += strstr(candidate->gpus, unit->gpu) &&
                 (same || (planted.slices > 1 && strstr(candidate->also, slices)) ||
                  (planted.promote && strstr(candidate->also, promote)));
    }
    ck_assert_msg(found > 0, "%s: %zu are consistent, the first %s", what, fit->consistent,
                  fit->consistent ? fit->candidates[0].name : "-");
    /* these operands tell schedules apart: what remains is nearly always the one */
    ck_assert_msg(fit->consistent <= 6, "%s: %zu candidates remain, the last %s", what,
                  fit->consistent, fit->candidates[fit->consistent - 1].name);
}

START_TEST(every_unit)
{
    static const struct planted schedules[] = {{1, 0}, {4, 0}, {1, 64}, {2, 32}};
    const struct planted planted = schedules[_i];
    const struct ulp_unit *unit;
    size_t units = 0;
    for (size_t row = 0; (unit = ulp_unit_row(row)) != NULL; row++) {
        char name[64], what[128];
        /* fit knows no tensors of FP6 and FP4 */
        if ((unit->kind != ULP_UNIT_TRUNCATED && unit->kind != ULP_UNIT_HALVES) ||
            !ulp_unit_is_plain(unit) || strstr("e3m2 e2m3 e2m1", unit->input))
            continue;
        if (!test_takes(7 * units++ + (size_t)_i, 60))
            continue;
        const char *format = ulp_unit_input(unit, 0)->format;
        const bool half = unit->output == ULP_UNIT_RNE_FP16;
        struct product p = make_product(format, ULP_TYPE_FLOAT,
                                        half ? ULP_TYPE_FLOAT16 : ULP_TYPE_FLOAT, 10, 12, 256);
        const struct ulp_fit_options options = {.gpu = unit->gpu,
                                                .operands = format,
                                                .result = half ? "fp16" : "fp32",
                                                .thread_count = 1};
        multiply(&p, unit, planted);
        if (half) /* a promoted sum is FP32 */
            for (size_t i = 0; i < p.c.count; i++) {
                const struct ulp_arithmetic fp16 = test_arithmetic("fp16");
                put(&p.c, i,
                    ulp_format_round(&fp16.storage, ULP_ROUND_NEAREST_EVEN, ulp_tensor_get(&p.c, i),
                                     0, 0));
            }
        struct ulp_fit fit = find(&p, &options);
        snprintf(what, sizeof what, "%s split-k=%d promote=%d",
                 ulp_unit_name(unit, name, sizeof name), planted.slices, planted.promote);
        expect_planted(&fit, unit, planted, what);
        ulp_fit_free(&fit);
        free_product(&p);
    }
    ck_assert_uint_ge(units, 60);
}
END_TEST

/* ---- scalar chains, by definition ---- */

static float chain(const double *a, const double *b, size_t first, size_t last, bool fused)
{
    float sum = 0;
    for (size_t k = first; k < last; k++) {
        const float x = (float)a[k], y = (float)b[k];
        const float product = x * y;
        sum = fused ? fmaf(x, y, sum) : sum + product;
    }
    return sum;
}

static float pairwise(const double *a, const double *b, size_t first, size_t last)
{
    float terms[256];
    size_t count = last - first;
    for (size_t i = 0; i < count; i++)
        terms[i] = (float)a[first + i] * (float)b[first + i];
    for (; count > 1; count = (count + 1) / 2)
        for (size_t i = 0; i < (count + 1) / 2; i++)
            terms[i] = 2 * i + 1 < count ? terms[2 * i] + terms[2 * i + 1] : terms[2 * i];
    return terms[0];
}

START_TEST(scalar_chains)
{
    static const struct {
        const char *name;
        size_t length;
        bool fused, pairwise;
    } cases[] = {{"fp32", 192, true, false},
                 {"fp32,nofma", 192, false, false},
                 {"fp32,split-k=3", 64, true, false},
                 {"fp32,nofma,split-k=12", 16, false, false},
                 {"fp32,order=pairwise", 192, false, true}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct product p = make_product("fp32", ULP_TYPE_FLOAT, ULP_TYPE_FLOAT, 9, 7, 192);
        const struct ulp_fit_options options = {.thread_count = 2};
        for (size_t i = 0; i < p.m; i++)
            for (size_t j = 0; j < p.n; j++) {
                const double *a = p.left + i * p.k, *b = p.right + j * p.k;
                float sum = 0;
                for (size_t k = 0; k < p.k; k += cases[c].length) {
                    const float part = cases[c].pairwise
                                           ? pairwise(a, b, k, k + cases[c].length)
                                           : chain(a, b, k, k + cases[c].length, cases[c].fused);
                    sum = k ? sum + part : part;
                }
                put(&p.c, i * p.n + j, (double)sum);
            }
        struct ulp_fit fit = find(&p, &options);
        /* pairs of 192 are those of three slices of 64, these added in order */
        ck_assert_msg(fit.consistent == (cases[c].pairwise ? 2 : 1) && says(&fit, cases[c].name),
                      "%s: %zu, first %s", cases[c].name, fit.consistent, fit.candidates[0].name);
        ulp_fit_free(&fit);
        free_product(&p);
    }
}
END_TEST

/* ---- how operands are rounded ---- */

START_TEST(operand_rounding)
{
    static const struct {
        enum ulp_rounding rounding;
        const char *name;
    } cases[] = {{ULP_ROUND_NEAREST_EVEN, "tf32,split-k=2"},
                 {ULP_ROUND_NEAREST_AWAY, "tf32,operands=rna,split-k=2"},
                 {ULP_ROUND_TOWARD_ZERO, "tf32-trunc,split-k=2"}};
    const struct ulp_unit *unit = ulp_unit_find("h200.mma.tf32.f32");
    for (size_t c = 0; c < 3; c++) {
        /* factors of 12 bits: half of them are ties */
        struct product p = make_product("e8m11", ULP_TYPE_FLOAT, ULP_TYPE_FLOAT, 8, 8, 64);
        const struct ulp_arithmetic tf32 = test_arithmetic("tf32");
        const struct ulp_fit_options options = {.thread_count = 1};
        for (size_t i = 0; i < p.m * p.k; i++)
            p.left[i] = ulp_format_round(&tf32.factor, cases[c].rounding, p.left[i], 0, 0);
        for (size_t i = 0; i < p.n * p.k; i++)
            p.right[i] = ulp_format_round(&tf32.factor, cases[c].rounding, p.right[i], 0, 0);
        multiply(&p, unit, (struct planted){2, 0});
        struct ulp_fit fit = find(&p, &options);
        ck_assert_msg(fit.consistent == 1 && says(&fit, cases[c].name), "%s: %zu, first %s",
                      cases[c].name, fit.consistent, fit.candidates[0].name);
        ck_assert_ptr_nonnull(strstr(fit.candidates[0].also, "promote=32"));
        ulp_fit_free(&fit);
        free_product(&p);
    }
}
END_TEST

/* ---- patterns, transposed operands, several products ---- */

START_TEST(transposed_patterns)
{
    const struct ulp_unit *unit = ulp_unit_find("h200.mma.bf16.f32");
    struct product p = make_product("bf16", ULP_TYPE_FLOAT, ULP_TYPE_FLOAT, 8, 12, 128);
    struct ulp_tensor a = make_matrix(ULP_TYPE_UINT16, 128, 8),
                      b = make_matrix(ULP_TYPE_UINT16, 12, 128);
    struct ulp_fit fit;
    struct ulp_error error;
    multiply(&p, unit, (struct planted){2, 0});
    for (size_t k = 0; k < 128; k++) {
        for (size_t i = 0; i < 12; i++) {
            const float x = (float)p.right[i * 128 + k], y = i < 8 ? (float)p.left[i * 128 + k] : 0;
            uint32_t bits[2];
            memcpy(&bits[0], &x, 4);
            memcpy(&bits[1], &y, 4);
            ((uint16_t *)b.data)[i * 128 + k] = (uint16_t)(bits[0] >> 16);
            if (i < 8)
                ((uint16_t *)a.data)[k * 8 + i] = (uint16_t)(bits[1] >> 16);
        }
    }
    const struct ulp_fit_product product = {&a, &b, &p.c, true, true};
    const struct ulp_fit_options options = {.thread_count = 1};
    ck_ulp_ok(ulp_fit_run(&product, 1, &options, &fit, &error), error);
    ck_assert_uint_ge(fit.consistent, 1);
    ck_assert_str_eq(fit.candidates[0].operands, "bf16");
    ck_assert(says(&fit, "tf32,factor=bf16,split-k=2"));
    ulp_fit_free(&fit);
    ulp_tensor_free(&a);
    ulp_tensor_free(&b);
    free_product(&p);
}
END_TEST

/* 256 in two slices is 256 promoted after 128; 384 is not. */
START_TEST(several_products)
{
    const struct ulp_unit *unit = ulp_unit_find("h200.mma.f16.f32");
    struct product p[] = {make_product("fp16", ULP_TYPE_FLOAT16, ULP_TYPE_FLOAT, 8, 8, 256),
                          make_product("fp16", ULP_TYPE_FLOAT16, ULP_TYPE_FLOAT, 8, 8, 384)};
    const struct ulp_fit_options options = {.thread_count = 1};
    const struct ulp_fit_product products[] = {{.a = &p[0].a, .b = &p[0].b, .c = &p[0].c},
                                               {.a = &p[1].a, .b = &p[1].b, .c = &p[1].c}};
    struct ulp_fit fit;
    struct ulp_error error;
    for (int i = 0; i < 2; i++)
        multiply(&p[i], unit, (struct planted){1, 128});
    fit = find(&p[0], &options);
    ck_assert_str_eq(fit.candidates[0].name, "tf32,factor=fp16,split-k=2");
    ck_assert_str_eq(fit.candidates[0].also, "promote=128");
    ulp_fit_free(&fit);
    ck_ulp_ok(ulp_fit_run(products, 2, &options, &fit, &error), error);
    ck_assert_uint_eq(fit.elements, 128);
    ck_assert(fit.consistent == 1 && says(&fit, "tf32,factor=fp16,promote=128"));
    ulp_fit_free(&fit);
    free_product(&p[0]);
    free_product(&p[1]);
}
END_TEST

/* ---- nothing fits ---- */

/* One bit of one element; then a kernel whose tiles are cut differently. */
START_TEST(no_candidate)
{
    const struct ulp_unit *unit = ulp_unit_find("a100.mma.f16.f32");
    struct product p = make_product("fp16", ULP_TYPE_FLOAT16, ULP_TYPE_FLOAT, 16, 16, 256), q;
    const struct ulp_fit_options options = {.gpu = "a100", .thread_count = 1};
    float *c = p.c.data;
    char *text;
    struct ulp_error error;
    multiply(&p, unit, (struct planted){4, 0});
    c[5 * 16 + 7] = nextafterf(c[5 * 16 + 7], INFINITY);
    struct ulp_fit fit = find(&p, &options);
    ck_assert_uint_eq(fit.consistent, 0);
    ck_assert_str_eq(fit.candidates[0].name, "fp32@a100,factor=fp16,split-k=4");
    ck_assert_uint_eq(fit.candidates[0].equal, 255);
    ck_assert_uint_eq(fit.candidates[0].index, 5 * 16 + 7);
    ck_assert(fit.candidates[0].max_ulps > 0.4 && fit.candidates[0].max_ulps < 2.1);
    ck_assert(fit.candidates[0].first_row == 5 && fit.candidates[0].last_row == 5);
    ck_assert_ptr_null(fit.parts);
    ck_ulp_ok(ulp_fit_text(&fit, NULL, NULL, 0, &text, &error), error);
    ck_assert_ptr_nonnull(strstr(text, "None of "));
    ck_assert_ptr_nonnull(strstr(text, "gives 255 of 256 elements (99.61 %)"));
    ck_assert_ptr_nonnull(strstr(text, "rows 5-5, columns 7-7"));
    free(text);
    ulp_fit_free(&fit);

    q = make_product("fp16", ULP_TYPE_FLOAT16, ULP_TYPE_FLOAT, 16, 16, 256);
    multiply(&p, unit, (struct planted){4, 0});
    multiply(&q, unit, (struct planted){2, 0});
    memcpy(c + 128, (const float *)q.c.data + 128, 128 * sizeof *c);
    fit = find(&p, &options);
    ck_assert_uint_eq(fit.consistent, 0);
    ck_assert_ptr_nonnull(fit.parts);
    ck_assert_ptr_nonnull(strstr(fit.parts, "split-k=4"));
    ck_assert_ptr_nonnull(strstr(fit.parts, "split-k=2"));
    ulp_fit_free(&fit);
    free_product(&p);
    free_product(&q);
}
END_TEST

START_TEST(refused)
{
    struct product p = make_product("fp16", ULP_TYPE_FLOAT, ULP_TYPE_FLOAT, 4, 4, 16);
    struct ulp_fit_product product = {.a = &p.a, .b = &p.a, .c = &p.c};
    struct ulp_fit_options options = {.thread_count = 1};
    struct ulp_tensor counts = make_matrix(ULP_TYPE_INT64, 4, 4);
    struct ulp_fit fit;
    struct ulp_error error;
    ck_assert_int_eq(ulp_fit_run(&product, 1, &options, &fit, &error), ULP_ERROR_USAGE);
    ck_assert_ptr_nonnull(strstr(error.message, "transposed"));
    ck_assert_int_eq(ulp_fit_run(&product, 0, &options, &fit, &error), ULP_ERROR_USAGE);
    product = (struct ulp_fit_product){.a = &p.a, .b = &p.b, .c = &counts};
    ck_assert_int_eq(ulp_fit_run(&product, 1, &options, &fit, &error), ULP_ERROR_USAGE);
    product.c = &p.c;
    options.operands = "mpfr:64";
    ck_assert_int_eq(ulp_fit_run(&product, 1, &options, &fit, &error), ULP_ERROR_USAGE);
    options.operands = NULL;
    options.gpu = "h300";
    ck_assert_int_eq(ulp_fit_run(&product, 1, &options, &fit, &error), ULP_ERROR_USAGE);
    ulp_tensor_free(&counts);
    free_product(&p);
}
END_TEST

/* ---- recorded products ---- */

/* What cuBLAS did on the H200, as its launches and the kernels' names said (doc/accuracy.md): of
 * each result of h200_gemm.npz the slices by k. */
static const struct recorded {
    const char *result, *base, *cut;
    struct {
        int k, slices;
    } cuts[4];
} recorded[] = {
    {"f32", "fp32", "split-k=", {{8, 2}, {16, 4}, {1024, 16}}},
    {"tf32", "tf32", "split-k=", {{8, 2}, {16, 4}, {64, 2}, {1024, 16}}},
    {"f16.red0", "fp16", "", {{0}}},
    {"f16.red1", "fp16", "", {{0}}},
    {"f16.acc16", "fp16,acc=fp16", "split-k=", {{16, 2}, {32, 4}, {1024, 8}}},
    {"bf16", "bf16", "", {{0}}},
    {"e4m3.fast1", "tf32,factor=fp8-e4m3", "", {{0}}},
    {"e4m3.fast0", "tf32,factor=fp8-e4m3", "promote=", {{1024, 128}}},
};

static const struct ulp_tensor *member(const struct ulp_tensor_set *set, int k, const char *part)
{
    char name[64];
    snprintf(name, sizeof name, "gemm.%d.%s", k, part);
    return ulp_tensor_set_find(set, name);
}

static size_t name_recorded(const struct ulp_tensor_set *set, const struct recorded *row, int k)
{
    const bool eight = strncmp(row->result, "e4m3", 4) == 0;
    const struct ulp_fit_product product = {.a = member(set, k, eight ? "e4m3.A" : "A"),
                                            .b = member(set, k, eight ? "e4m3.B" : "B"),
                                            .c = member(set, k, row->result)};
    const struct ulp_fit_options options = {.gpu = "h200", .thread_count = 2};
    char name[64];
    struct ulp_fit fit;
    struct ulp_error error;
    if (!product.c)
        return 0;
    snprintf(name, sizeof name, "%s", row->base);
    for (size_t i = 0; i < 4; i++)
        if (row->cuts[i].k == k)
            snprintf(name, sizeof name, "%s,%s%d", row->base, row->cut, row->cuts[i].slices);
    ck_ulp_ok(ulp_fit_run(&product, 1, &options, &fit, &error), error);
    /* FP16 sums of one instruction, which was half as long: with FP32 sums the same bits */
    ck_assert_msg(says(&fit, name), "%s of k = %d: %zu are consistent, the first %s", name, k,
                  fit.consistent, fit.consistent ? fit.candidates[0].name : "-");
    ulp_fit_free(&fit);
    return 1;
}

static void name_all(const char *path)
{
    static const int lengths[] = {8, 16, 32, 64, 1024};
    struct ulp_tensor_set set = {0};
    struct ulp_error error;
    size_t named = 0;
    ck_ulp_ok(ulp_tensor_set_read(path, NULL, &set, &error), error);
    for (size_t r = 0; r < sizeof recorded / sizeof *recorded; r++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            named += name_recorded(&set, &recorded[r], lengths[i]);
    ck_assert_uint_eq(named, 38);
    ulp_tensor_set_free(&set);
}

START_TEST(recorded_samples)
{
    name_all(test_data("unit/h200_gemm.npz"));
}
END_TEST

START_TEST(recorded_products)
{
    const char *path = test_shared("gpu/h200_gemm.npz");
    if (path)
        name_all(path);
}
END_TEST

TEST_MAIN("fit", 120)
{
    tcase_add_loop_test(tests, every_unit, 0, 4);
    tcase_add_test(tests, scalar_chains);
    tcase_add_test(tests, operand_rounding);
    tcase_add_test(tests, transposed_patterns);
    tcase_add_test(tests, several_products);
    tcase_add_test(tests, no_candidate);
    tcase_add_test(tests, refused);
    tcase_add_test(tests, recorded_samples);
    tcase_add_test(tests, recorded_products);
}
