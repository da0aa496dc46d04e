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
    const float *floats = tensor->element == ULP_ELEMENT_F32 ? tensor->data : NULL;
    for (size_t i = 0; i < tensor->count; i++) {
        const double x = floats ? (double)floats[i] : ulp_tensor_get(tensor, i);
        if (x != floor(x)) /* NaN: no whole number */
            return false;
    }
    return true;
}

/* The element times 1 + change, as the tensor's type rounds it; what becomes too large stays. */
static void move_element(struct ulp_tensor *tensor, size_t i, double change,
                         const struct ulp_format *format)
{
    const double moved = ulp_tensor_get(tensor, i) * (1 + change),
                 rounded = ulp_format_round(format, ULP_ROUND_NEAREST_EVEN, moved, 0, 0);
    if (!isfinite(rounded) || fabs(rounded) > format->max_finite)
        return;
    if (tensor->element == ULP_ELEMENT_F32)
        ((float *)tensor->data)[i] = (float)rounded;
    else
        ((double *)tensor->data)[i] = rounded;
}

/* The same of what is FP32. */
static void move_float(float *x, double change)
{
    const float moved = (float)((double)*x * (1 + change));
    if (isfinite(moved))
        *x = moved;
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
    const bool is_float = in->type == ULP_TYPE_FLOAT && out->element == ULP_ELEMENT_F32;
    for (size_t first = 0; first < in->count; first += ULP_PHILOX_BLOCK) {
        uint32_t words[4][ULP_PHILOX_BLOCK]; /* ulp_random_uniform's */
        ulp_philox_block(words, key, first, 0);
        for (size_t i = first; i < in->count && i < first + ULP_PHILOX_BLOCK; i++) {
            const uint64_t bits = (uint64_t)words[1][i - first] << 32 | words[0][i - first];
            const double change = most * (2 * ((double)(bits >> 11) * 0x1p-53) - 1);
            if (is_float)
                move_float((float *)out->data + i, change);
            else
                move_element(out, i, change, &format);
        }
    }
    return ULP_OK;
}
