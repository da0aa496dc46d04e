/* Elements on their way to a format of at most 51 bits (convert.c): as doubles rounded to odd. */
#include "tensor/odd.h"

#include <math.h>
#include <string.h>

#include "number/double_pair.h"
#include "number/mpfr_record.h"
#include "number/round/odd.h"
#include "tensor/tensor.h"

static double make_odd(double truncated, bool inexact)
{
    uint64_t bits;
    memcpy(&bits, &truncated, sizeof bits);
    bits |= inexact;
    memcpy(&truncated, &bits, sizeof bits);
    return truncated;
}

static double wide_to_odd(const struct ulp_tensor *tensor, size_t i)
{
    const struct ulp_record *record = ulp_record_at_const(tensor->data, i, tensor->precision);
    mpfr_t x;
    ulp_record_open_const(x, record, tensor->precision);
    double truncated = mpfr_get_d(x, MPFR_RNDZ);
    if (!mpfr_regular_p(x))
        return truncated;
    if (truncated == 0)
        return mpfr_signbit(x) ? -0x1p-1074 : 0x1p-1074;
    return make_odd(truncated, mpfr_cmp_d(x, truncated) != 0);
}

static double integer_to_odd(const struct ulp_tensor *tensor, size_t i)
{
    int64_t value = ulp_tensor_get_int(tensor, i);
    bool negative = tensor->element != ULP_ELEMENT_U64 && value < 0;
    uint64_t magnitude = negative ? -(uint64_t)value : (uint64_t)value;
    int cut = magnitude >> 53 ? 11 - __builtin_clzll(magnitude) : 0;
    uint64_t kept = magnitude >> cut;
    double truncated = make_odd(ldexp((double)kept, cut), kept << cut != magnitude);
    return negative ? -truncated : truncated;
}

void ulp_odd_read(const struct ulp_tensor *in, size_t first, size_t count, double *out)
{
    switch (in->element) {
    case ULP_ELEMENT_F32:
        for (size_t i = 0; i < count; i++)
            out[i] = (double)((const float *)in->data)[first + i];
        break;
    case ULP_ELEMENT_F64: memcpy(out, (const double *)in->data + first, count * sizeof *out); break;
    case ULP_ELEMENT_PAIR:
        for (size_t i = 0; i < count; i++) {
            const struct ulp_double_pair *x = (const struct ulp_double_pair *)in->data + first + i;
            out[i] = ulp_odd(x->high, x->low);
        }
        break;
    case ULP_ELEMENT_WIDE:
        for (size_t i = 0; i < count; i++)
            out[i] = wide_to_odd(in, first + i);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            out[i] = integer_to_odd(in, first + i);
    }
}
