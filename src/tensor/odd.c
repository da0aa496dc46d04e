/* Elements on their way to a format of at most 51 bits (convert.c): as doubles rounded to odd. */
#include "tensor/odd.h"

#include <math.h>
#include <string.h>

#include "base/machine/cpu.h"
#include "number/double_pair.h"
#include "number/record_batch.h"
#include "number/round/odd.h"
#include "tensor/tensor.h"

#define EXPONENT_MAX 999 /* magnitudes that are far inside double */
/* Bytes of records asked for ahead: by itself the processor stops at the end of a page. */
#define READ_AHEAD 4096

static double make_odd(double truncated, bool inexact)
{
    uint64_t bits;
    memcpy(&bits, &truncated, sizeof bits);
    bits |= inexact;
    memcpy(&truncated, &bits, sizeof bits);
    return truncated;
}

/* By hand where double has the number's binade: the first 53 bits, and whether any follow. */
static double wide_to_odd(const struct ulp_tensor *tensor, size_t i)
{
    const struct ulp_record *record = ulp_record_at_const(tensor->data, i, tensor->precision);
    const bool regular = record->kind == MPFR_REGULAR_KIND || record->kind == -MPFR_REGULAR_KIND;
    if (regular && record->exponent >= -EXPONENT_MAX && record->exponent <= EXPONENT_MAX &&
        GMP_NUMB_BITS == 64) {
        const size_t top = ((size_t)tensor->precision + 63) / 64 - 1;
        const uint64_t limb = record->limbs[top];
        uint64_t below = limb & 0x7FF;
        for (size_t l = 0; l < top; l++)
            below |= record->limbs[l];
        const uint64_t sign = record->kind < 0, exponent = (uint64_t)(record->exponent - 1 + 1023);
        const uint64_t bits =
            sign << 63 | exponent << 52 | (limb >> 11 & (((uint64_t)1 << 52) - 1)) | (below != 0);
        double odd;
        memcpy(&odd, &bits, sizeof odd);
        return odd;
    }
    mpfr_t x;
    ulp_record_open_const(x, record, tensor->precision);
    double truncated = mpfr_get_d(x, MPFR_RNDZ);
    if (!mpfr_regular_p(x))
        return truncated;
    if (truncated == 0)
        return mpfr_signbit(x) ? -0x1p-1074 : 0x1p-1074;
    return make_odd(truncated, mpfr_cmp_d(x, truncated) != 0);
}

#ifdef __x86_64__
/* Eight records of two limbs as wide_to_odd takes them; false: one is to be asked for by itself. */
static __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) bool read_batch(
    const struct ulp_record *records, double *out)
{
    __m512i fields[4];
    ulp_records_load(fields, records);
    const __m512i kind = _mm512_abs_epi64(fields[1]);
    const __mmask8 zero = _mm512_cmpeq_epi64_mask(kind, _mm512_set1_epi64(MPFR_ZERO_KIND)),
                   kept = _mm512_cmpeq_epi64_mask(kind, _mm512_set1_epi64(MPFR_REGULAR_KIND)) &
                          _mm512_cmple_epu64_mask(_mm512_add_epi64(fields[0],
                                                                   _mm512_set1_epi64(EXPONENT_MAX)),
                                                  _mm512_set1_epi64(2 * EXPONENT_MAX));
    if ((zero | kept) != 0xFF)
        return false;
    const __m512i exponent =
        _mm512_slli_epi64(_mm512_add_epi64(fields[0], _mm512_set1_epi64(1022)), 52);
    const __m512i fraction = _mm512_and_si512(_mm512_srli_epi64(fields[3], 11),
                                              _mm512_set1_epi64(((int64_t)1 << 52) - 1));
    const __m512i below =
        _mm512_or_si512(_mm512_and_si512(fields[3], _mm512_set1_epi64(0x7FF)), fields[2]);
    const __m512i odd = _mm512_maskz_set1_epi64(_mm512_test_epi64_mask(below, below), 1);
    const __m512i magnitude = _mm512_maskz_or_epi64(kept, _mm512_or_si512(exponent, fraction), odd);
    const __m512i sign = _mm512_and_si512(fields[1], _mm512_set1_epi64(INT64_MIN));
    _mm512_storeu_si512(out, _mm512_or_si512(magnitude, sign));
    return true;
}

/* The same of four. */
static __attribute__((target("avx2"))) bool read_four(const struct ulp_record *records, double *out)
{
    ulp_four fields[4];
    ulp_records_load_four(fields, records);
    const ulp_four zero = ulp_four_zeros(fields), kept = ulp_four_regular(fields, EXPONENT_MAX);
    if (_mm256_movemask_epi8((__m256i)(zero | kept)) != -1)
        return false;
    const ulp_four fraction = ulp_four_right(fields[3], 11) & (((int64_t)1 << 52) - 1),
                   below = ((fields[3] & 0x7FF) | fields[2]) != 0;
    const ulp_four odd =
        ((((fields[0] + 1022) << 52 | fraction | (below & 1)) & kept) | (fields[1] & INT64_MIN));
    memcpy(out, &odd, sizeof odd);
    return true;
}
#endif

static void read_records(const struct ulp_tensor *in, size_t first, size_t count, double *out)
{
    size_t i = 0;
#ifdef __x86_64__
    const unsigned cpu = (in->precision + 63) / 64 == 2 ? ulp_cpu_features() : 0;
    const size_t batch = cpu & ULP_CPU_AVX512 ? 8 : cpu & ULP_CPU_AVX2 ? 4 : 0;
    for (; batch && i + batch <= count; i += batch) {
        const struct ulp_record *records = ulp_record_at_const(in->data, first + i, in->precision);
        for (size_t line = 0; line < batch * sizeof(double[4]); line += 64)
            __builtin_prefetch((const char *)records + READ_AHEAD + line);
        if (batch == 8 ? read_batch(records, out + i) : read_four(records, out + i))
            continue;
        for (size_t k = i; k < i + batch; k++)
            out[k] = wide_to_odd(in, first + k);
    }
#endif
    for (; i < count; i++)
        out[i] = wide_to_odd(in, first + i);
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
    case ULP_ELEMENT_WIDE: read_records(in, first, count, out); break;
    default:
        for (size_t i = 0; i < count; i++)
            out[i] = integer_to_odd(in, first + i);
    }
}
