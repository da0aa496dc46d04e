/* Numbers of MPFR as pairs of doubles. */
#include "number/double_pair.h"

static _Thread_local size_t settled;

void ulp_pairs_settled(size_t count)
{
    settled += count;
}
size_t ulp_pairs_settled_take(void)
{
    const size_t count = settled;
    settled = 0;
    return count;
}

bool ulp_pair_set(struct ulp_double_pair *out, const mpfr_t x, bool *exact)
{
    *exact = true;
    *out = (struct ulp_double_pair){mpfr_get_d(x, MPFR_RNDN), 0};
    if (!mpfr_regular_p(x))
        return true;
    if (mpfr_get_exp(x) > 900 || mpfr_get_exp(x) < -898)
        return false;
    mp_limb_t limbs[(4096 + 63) / 64];
    mpfr_t rest;
    mpfr_custom_init_set(rest, MPFR_NAN_KIND, 0, mpfr_get_prec(x), limbs);
    mpfr_sub_d(rest, x, out->high, MPFR_RNDN); /* exact: no bit of x is above its own */
    out->low = mpfr_get_d(rest, MPFR_RNDN);
    *exact = mpfr_cmp_d(rest, out->low) == 0;
    out->high = ulp_pair_join(out->high, out->low, &out->low);
    return true;
}
