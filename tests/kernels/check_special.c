/* Looking for numbers beyond a limit, against comparison one by one; and products whose factors are
 * subnormal, against the chain that they are. */
#include "instance.h"
#include "kernels/operand/operand_special.h"
#include "number/mpfr_record.h"

#define COUNT_MAX 20000

/* Is one number among many finite ones within the limit found, wherever it lies? */
static void check_number(struct ulp_tensor *tensor, double x, double limit, struct ulp_pool *pool)
{
    static const size_t places[] = {0, 1, 4095, 4096, 9999, COUNT_MAX - 1};
    const bool expected = !(fabs(x) <= limit) || isinf(x);
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        const size_t at = places[p];
        if (tensor->element == ULP_ELEMENT_F32)
            ((float *)tensor->data)[at] = (float)x;
        else
            ((double *)tensor->data)[at] = x;
        ck_expect(ulp_any_beyond(tensor, limit, pool) == expected, "%a at %zu, limit %a", x, at,
                  limit);
        if (tensor->element == ULP_ELEMENT_F32)
            ((float *)tensor->data)[at] = -1;
        else
            ((double *)tensor->data)[at] = -1;
    }
}

TEST_LOOP(numbers_beyond_a_limit, 0, 2)
{
    static const double limits[] = {1, 448, 65504, 65536 - 0x1p-15, 0x1.fep127, FLT_MAX, INFINITY};
    static const double numbers[] = {0,       -0.0,     0x1p-149, 1,         448,    -448,
                                     449,     65504,    65505,    65536,     -65536, 0x1.fep127,
                                     FLT_MAX, -FLT_MAX, INFINITY, -INFINITY, NAN,    -NAN};
    const enum ulp_element element = _i ? ULP_ELEMENT_F64 : ULP_ELEMENT_F32;
    scoped_tensor tensor = {0};
    scoped_pool *pool = test_pool(2);
    const int64_t count = COUNT_MAX;
    ck_ok(ulp_tensor_create(&tensor, _i ? ULP_TYPE_DOUBLE : ULP_TYPE_FLOAT, element, 0, 1, &count,
                            &why));
    for (size_t i = 0; i < COUNT_MAX; i++)
        if (_i)
            ((double *)tensor.data)[i] = 1;
        else
            ((float *)tensor.data)[i] = 1;
    for (size_t l = 0; l < sizeof limits / sizeof *limits; l++)
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            for (int pooled = 0; pooled < 2; pooled++)
                check_number(&tensor, numbers[i], limits[l], pooled ? pool : NULL);
    if (_i) {
        check_number(&tensor, 0x1p1023, INFINITY, pool);
        check_number(&tensor, DBL_MAX, INFINITY, pool);
        check_number(&tensor, DBL_MAX, 0x1p1023, pool);
    }
    tensor.count = 0;
    ck_assert(!ulp_any_beyond(&tensor, 1, pool));
    tensor.count = COUNT_MAX;
}

/* Of records only NaN and the infinities are found, whatever the exponents. */
TEST(special_records)
{
    static const int precisions[] = {24, 64, 65, 256};
    for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++) {
        scoped_tensor tensor = {0};
        ck_ok(ulp_tensor_create(&tensor, ULP_TYPE_FLOAT, ULP_ELEMENT_WIDE, precisions[p], 1,
                                (const int64_t[]){9000}, &why));
        for (size_t i = 0; i < tensor.count; i++)
            ulp_tensor_set_int(&tensor, i, 0);
        for (int kind = 0; kind < 6; kind++)
            for (size_t at = 4000; at < 9000; at += 999) {
                mpfr_t x;
                struct ulp_record *record = ulp_record_at(tensor.data, at, precisions[p]);
                ulp_record_begin(x, record, precisions[p]);
                if (kind < 2)
                    mpfr_set_si_2exp(x, -3, kind ? 100000 : -100000, MPFR_RNDN);
                else if (kind == 2)
                    mpfr_set_zero(x, -1);
                else if (kind == 3)
                    mpfr_set_nan(x);
                else
                    mpfr_set_inf(x, kind == 4 ? 1 : -1);
                ulp_record_close(record, x);
                ck_expect(ulp_any_beyond(&tensor, INFINITY, NULL) == (kind >= 3), "kind %d at %zu",
                          kind, at);
                ulp_record_begin(x, record, precisions[p]);
                mpfr_set_zero(x, 1);
                ulp_record_close(record, x);
            }
    }
}

/* A number of the least magnitude or above, up to 2^span times that; some are zero, in the first
 * cache line one is the least. */
static float draw(double least, int span, uint64_t seed, uint64_t i)
{
    const double u = ulp_random_uniform(seed, 3 * i), v = ulp_random_uniform(seed, 3 * i + 1),
                 sign = ulp_random_uniform(seed, 3 * i + 2) < 0.5 ? -1 : 1;
    return (float)(i == 1 ? least : u < 0.05 ? 0 : sign * least * exp2(v * span));
}

/* Within, at and beyond the magnitudes that are multiplied by a power of two. */
TEST_LOOP(products_of_subnormal_factors, 0, 20)
{
    enum { M = 20, N = 9, K = 50 };
    static const struct {
        double least[2];
        int span[2];
    } cases[] = {{{0x1p-149, 0x1p-20}, {149, 30}},  {{0x1p-149, 0x1p-62}, {140, 60}},
                 {{0x1p-149, 0x1p-63}, {140, 1}},   {{0x1p-149, 0x1p-90}, {140, 60}},
                 {{0x1p-149, 0x1p-40}, {212, 20}},  {{0x1p-149, 0x1p-20}, {214, 1}},
                 {{0x1p-149, 0x1p-149}, {40, 40}},  {{0x1p-149, 0x1p0}, {20, 120}},
                 {{0x1.8p-140, 0x1p-30}, {60, 60}}, {{0x1p-126, 0x1p-30}, {60, 60}}};
    const int turned = _i % 2;
    struct ulp_tensor factors[2], out;
    const struct ulp_arithmetic fp32 = test_arithmetic("fp32");
    int64_t lines[2][M], k_offset[K], columns[N];
    for (int side = 0; side < 2; side++) {
        const int64_t dims[2] = {side ? N : M, K};
        ck_ok(ulp_tensor_create(&factors[side], ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, dims, &why));
        for (size_t i = 0; i < factors[side].count; i++)
            ((float *)factors[side].data)[i] =
                draw(cases[_i / 2].least[side ^ turned], cases[_i / 2].span[side ^ turned],
                     (uint64_t)side + 5, i);
    }
    ck_ok(ulp_tensor_create(&out, ULP_TYPE_FLOAT, ULP_ELEMENT_F32, 0, 2, (int64_t[]){M, N}, &why));
    for (int i = 0; i < K; i++)
        k_offset[i] = i;
    for (int i = 0; i < M; i++) {
        lines[0][i] = i * K;
        lines[1][i] = i * N;
    }
    for (int i = 0; i < N; i++)
        columns[i] = i;
    const struct ulp_contraction problem = {
        .batch_count = 1,
        .m = M,
        .n = N,
        .k = K,
        .a = {.tensor = &factors[0], .line_offset = lines[0], .k_offset = k_offset},
        .b = {.tensor = &factors[1], .line_offset = lines[0], .k_offset = k_offset},
        .out = &out,
        .out_row_offset = lines[1],
        .out_column_offset = columns,
        .store = true};
    ck_ok(ulp_contract(&fp32, &problem, NULL, &why));
    for (int i = 0; i < M * N; i++) {
        const float *a = (float *)factors[0].data + i / N * K,
                    *b = (float *)factors[1].data + i % N * K, *found = (float *)out.data + i;
        float sum = 0;
        for (int k = 0; k < K; k++)
            sum = fmaf(a[k], b[k], sum);
        ck_expect(memcmp(&sum, found, sizeof sum) == 0, "case %d, output %d: %a, not %a", _i, i,
                  (double)*found, (double)sum);
    }
    ulp_tensor_free(&factors[0]);
    ulp_tensor_free(&factors[1]);
    ulp_tensor_free(&out);
}
