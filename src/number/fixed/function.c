/* Which primitives have a fast path, and their instances for records of one to four limbs. */
#include "number/fixed/function.h"

#include "number/fixed/arithmetic.h"
#include "number/fixed/batch.h"
#include "number/fixed/series.h"

#ifdef ULP_WIDE_LIMBS

/* In ulps, of every fraction before its rounding (README.md, section 8). */
#define ERROR (UINT64_C(1) << 13)
#define SHIFT_MAX 40 /* leading zeros of a fraction that leave enough bits behind the result's */
#define ARGUMENT_BITS 14     /* of arguments that are reduced: |x| < 2^14 */
#define EXPONENT_MAX 0x10000 /* of operands and results, far inside MPFR's range */
#define EXPONENT_MIN (-0x10000)

WIDE_INLINE bool is_regular(const struct ulp_record *x)
{
    return x->kind == MPFR_REGULAR_KIND || x->kind == -MPFR_REGULAR_KIND;
}

#define WIDE_TEMPLATE "number/fixed/element_template.h"
#include "number/fixed/instances.h"

ulp_wide_fn *ulp_wide_function(enum ulp_primitive primitive, int precision)
{
    ulp_wide_fn *const *const functions[] = {functions_1, functions_2, functions_3, functions_4};
    ulp_wide_fn *const batch = ulp_wide_batch(primitive, precision);
    ulp_wide_fn *const arithmetic = batch ? batch : ulp_wide_arithmetic(primitive, precision);
    return arithmetic || precision > 256 ? arithmetic : functions[(precision - 1) / 64][primitive];
}

#else

ulp_wide_fn *ulp_wide_function(enum ulp_primitive primitive, int precision)
{
    (void)primitive, (void)precision;
    return NULL;
}

#endif
