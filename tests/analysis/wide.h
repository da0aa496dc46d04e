/* Elements of wide tensors that tests of measures write. */
#pragma once

#include "number/mpfr_record.h"
#include "tensor/tensor.h"

/* high + low, exactly: an element of 128 bits. */
static inline void test_set_wide(struct ulp_tensor *t, size_t i, double high, double low)
{
    struct ulp_record *record = ulp_record_at(t->data, i, 128);
    mpfr_t x;
    ulp_record_begin(x, record, 128);
    mpfr_set_d(x, high, MPFR_RNDN);
    mpfr_add_d(x, x, low, MPFR_RNDN);
    ulp_record_close(record, x);
}
