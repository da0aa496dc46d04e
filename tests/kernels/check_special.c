/* Looking for numbers beyond a limit, against comparison one by one. */
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
