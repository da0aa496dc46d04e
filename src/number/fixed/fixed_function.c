/* Which primitives have a fast path. */
#include "number/fixed/fixed_function.h"

#include "number/fixed/arithmetic.h"
#include "number/fixed/batch.h"
#include "number/fixed/element.h"
#include "number/fixed/limbs.h"

#ifdef ULP_LIMBS

/* x^2 is the correctly rounded product. */
#define SQUARE(LIMBS)                                                                     \
    static size_t run_pow_##LIMBS(int precision, void *out, const void *a, const void *b, \
                                  size_t n)                                               \
    {                                                                                     \
        size_t i = 0;                                                                     \
        while (i < n && is_two(ulp_limbs_record_const(b, i, LIMBS), LIMBS))               \
            i++;                                                                          \
        return ulp_wide_function(ULP_PRIMITIVE_MUL, precision)(precision, out, a, a, i);  \
    }
ULP_LIMBS_INLINE bool is_two(const struct ulp_record *x, int limbs)
{
    uint64_t rest = 0;
    for (int i = 0; i + 1 < limbs; i++)
        rest |= x->limbs[i];
    return x->kind == MPFR_REGULAR_KIND && x->exponent == 2 &&
           x->limbs[limbs - 1] == UINT64_C(1) << 63 && rest == 0;
}
SQUARE(1)
SQUARE(2)
SQUARE(3)
SQUARE(4)

ulp_wide_fn *ulp_wide_function(enum ulp_primitive primitive, int precision)
{
    static ulp_wide_fn *const squares[] = {run_pow_1, run_pow_2, run_pow_3, run_pow_4};
    if (precision > 256)
        return NULL;
    if (primitive == ULP_PRIMITIVE_POW)
        return squares[(precision - 1) / 64];
    ulp_wide_fn *const batch = ulp_wide_batch(primitive, precision);
    ulp_wide_fn *const arithmetic = batch ? batch : ulp_wide_arithmetic(primitive, precision);
    return arithmetic ? arithmetic : ulp_wide_element(primitive, precision);
}

#else

ulp_wide_fn *ulp_wide_function(enum ulp_primitive primitive, int precision)
{
    (void)primitive, (void)precision;
    return NULL;
}

#endif
