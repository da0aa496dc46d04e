/* The order of elements of one tensor. */
#include "ops/compare.h"

#include "number/double_pair.h"
#include "number/mpfr_record.h"

static int compare_doubles(double a, double b)
{
    bool a_nan = a != a, b_nan = b != b;
    return a_nan || b_nan ? a_nan - b_nan : (a > b) - (a < b);
}

static int compare_wide(const struct ulp_tensor *tensor, size_t i, size_t j)
{
    mpfr_t a, b;
    ulp_record_open_const(a, ulp_record_at_const(tensor->data, i, tensor->precision),
                          tensor->precision);
    ulp_record_open_const(b, ulp_record_at_const(tensor->data, j, tensor->precision),
                          tensor->precision);
    bool a_nan = mpfr_nan_p(a), b_nan = mpfr_nan_p(b);
    return a_nan || b_nan ? a_nan - b_nan : mpfr_cmp(a, b);
}

int ulp_compare(const struct ulp_tensor *tensor, size_t i, size_t j)
{
    switch (tensor->element) {
    case ULP_ELEMENT_F32: {
        const float *data = tensor->data;
        return compare_doubles((double)data[i], (double)data[j]);
    }
    case ULP_ELEMENT_F64: {
        const double *data = tensor->data;
        return compare_doubles(data[i], data[j]);
    }
    case ULP_ELEMENT_PAIR: {
        const struct ulp_double_pair *data = tensor->data;
        const int high = compare_doubles(data[i].high, data[j].high);
        return high ? high : compare_doubles(data[i].low, data[j].low);
    }
    case ULP_ELEMENT_WIDE: return compare_wide(tensor, i, j);
    case ULP_ELEMENT_U64: {
        const uint64_t *data = tensor->data;
        return (data[i] > data[j]) - (data[i] < data[j]);
    }
    default: {
        int64_t a = ulp_tensor_get_int(tensor, i), b = ulp_tensor_get_int(tensor, j);
        return (a > b) - (a < b);
    }
    }
}

bool ulp_is_zero(const struct ulp_tensor *tensor, size_t i)
{
    if (tensor->element == ULP_ELEMENT_WIDE) {
        int64_t kind = ulp_record_at_const(tensor->data, i, tensor->precision)->kind;
        return kind == MPFR_ZERO_KIND || kind == -MPFR_ZERO_KIND;
    }
    return ulp_element_is_float(tensor->element) ? ulp_tensor_read(tensor, i) == 0
                                                 : ulp_tensor_get_int(tensor, i) == 0;
}
