/* Multiplying a tensor's elements by random factors near 1, to see how an error varies. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text/text.h"
#include "tensor/stored.h"

/* The largest relative change: two to four units in the last place of that many bits, so that how a
 * number is rounded is drawn anew; an eighth at most, so that numbers of few bits stay alike. */
static double relative_change(int precision)
{
    return ldexp(1, precision < 5 ? -3 : 2 - precision);
}

static bool is_whole(const struct ulp_tensor *tensor)
{
    for (size_t i = 0; i < tensor->count; i++) {
        const double x = ulp_tensor_get(tensor, i);
        if (x != floor(x)) /* NaN: no whole number */
            return false;
    }
    return true;
}

static void set_element(struct ulp_tensor *tensor, size_t i, double x)
{
    if (tensor->element == ULP_ELEMENT_F32)
        ((float *)tensor->data)[i] = (float)x;
    else
        ((double *)tensor->data)[i] = x;
}

enum ulp_status ulp_tensor_perturb(struct ulp_tensor *out, const struct ulp_tensor *in,
                                   int precision, uint64_t seed, const char *name,
                                   struct ulp_budget *budget, struct ulp_error *error)
{
    struct ulp_format format;
    *out = ulp_tensor_view(in);
    if (!ulp_type_is_float(in->type) || in->element == ULP_ELEMENT_WIDE || is_whole(in))
        return ULP_OK;
    enum ulp_status status = ulp_format_find(ulp_type_rows[in->type].format, &format, error);
    if (status == ULP_OK)
        status = in->element == ULP_ELEMENT_STORED
                     ? ulp_tensor_in_memory(out, in, budget, NULL, error)
                     : ulp_tensor_copy(out, in, budget, error);
    if (status != ULP_OK)
        return status;
    const double most =
        relative_change(precision < format.precision ? precision : format.precision);
    const uint64_t key = seed ^ ulp_hash(name, strlen(name));
    for (size_t i = 0; i < in->count; i++) {
        const double x = ulp_tensor_get(in, i);
        const double moved =
            ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN,
                             x * (1 + most * (2 * ulp_random_uniform(key, i) - 1)), 0, 0);
        if (isfinite(moved) && fabs(moved) <= format.max_finite)
            set_element(out, i, moved);
    }
    return ULP_OK;
}
