/* Functions, one element after the other, and their instances for records of one to four limbs. */
#include "number/fixed/element.h"

#include "number/fixed/series.h"

#ifdef ULP_LIMBS

#define ERROR ULP_SERIES_ERROR
#define SHIFT_MAX 40 /* leading zeros of a fraction that leave enough bits behind the result's */
#define ARGUMENT_BITS 14     /* of arguments that are reduced: |x| < 2^14 */
#define EXPONENT_MAX 0x10000 /* of operands and results, far inside MPFR's range */
#define EXPONENT_MIN (-0x10000)

ULP_LIMBS_INLINE bool is_regular(const struct ulp_record *x)
{
    return x->kind == MPFR_REGULAR_KIND || x->kind == -MPFR_REGULAR_KIND;
}

#define WIDE_TEMPLATE "number/fixed/element_template.h"
#include "number/fixed/instances.h"

ulp_wide_fn *ulp_wide_element(enum ulp_primitive primitive, int precision)
{
    static ulp_wide_fn *const *const functions[] = {functions_1, functions_2, functions_3,
                                                    functions_4};
    return precision <= 256 ? functions[(precision - 1) / 64][primitive] : NULL;
}

#else

ulp_wide_fn *ulp_wide_element(enum ulp_primitive primitive, int precision)
{
    (void)primitive, (void)precision;
    return NULL;
}

#endif
