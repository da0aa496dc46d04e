/* Multiplying a tensor's elements by random factors near 1, to see how an error varies. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text/text.h"
#include "base/vectorise.h"
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

/* ---- FP32 in memory, most of a large model ---- */

static inline double change_of(const uint32_t words[4][ULP_PHILOX_BLOCK], size_t i, double most)
{
    const uint64_t bits = (uint64_t)words[1][i] << 32 | words[0][i]; /* ulp_random_uniform's */
    return most * (2 * ((double)(int64_t)(bits >> 11) * 0x1p-53) - 1);
}

/* count is at most a block's. */
ULP_VECTORISE static void move_floats(float *out, const float *in, size_t count, double most,
                                      const uint32_t words[4][ULP_PHILOX_BLOCK])
{
    for (size_t i = 0; i < count; i++) {
        const float moved = (float)((double)in[i] * (1 + change_of(words, i, most)));
        out[i] = isfinite(moved) ? moved : in[i];
    }
}

enum ulp_status ulp_tensor_perturb(struct ulp_tensor *out, const struct ulp_tensor *in,
                                   int precision, uint64_t seed, const char *name,
                                   struct ulp_budget *budget, struct ulp_error *error)
{
    struct ulp_format format;
    *out = ulp_tensor_view(in);
    if (!ulp_type_is_float(in->type) || in->element == ULP_ELEMENT_WIDE || is_whole(in))
        return ULP_OK;
    const bool is_float = in->type == ULP_TYPE_FLOAT && in->element == ULP_ELEMENT_F32;
    ULP_TRY(ulp_format_find(ulp_type_rows[in->type].format, &format, error));
    ULP_TRY(is_float                            ? ulp_tensor_allocate(out, budget, error)
            : in->element == ULP_ELEMENT_STORED ? ulp_tensor_in_memory(out, in, budget, NULL, error)
                                                : ulp_tensor_copy(out, in, budget, error));
    const double most =
        relative_change(precision < format.precision ? precision : format.precision);
    const uint64_t key = seed ^ ulp_hash(name, strlen(name));
    for (size_t first = 0; first < in->count; first += ULP_PHILOX_BLOCK) {
        const size_t left = in->count - first,
                     count = left < ULP_PHILOX_BLOCK ? left : ULP_PHILOX_BLOCK;
        uint32_t words[4][ULP_PHILOX_BLOCK];
        ulp_philox_block(words, key, first, 0);
        if (is_float)
            move_floats((float *)out->data + first, (const float *)in->data + first, count, most,
                        words);
        for (size_t i = 0; i < count && !is_float; i++)
            move_element(out, first + i, change_of(words, i, most), &format);
    }
    return ULP_OK;
}

/* To that many bits, to nearest; what is subnormal in the type keeps its own. */
static double shorten(double x, int precision)
{
    int exponent;
    if (x == 0 || !isfinite(x))
        return x;
    const double fraction = frexp(x, &exponent);
    return ldexp(nearbyint(ldexp(fraction, precision)), exponent - precision);
}

void ulp_tensor_shorten(struct ulp_tensor *moved, const struct ulp_tensor *in, int precision)
{
    if (moved->data == in->data || in->element == ULP_ELEMENT_STORED)
        return;
    for (size_t i = 0; i < in->count; i++) {
        const double x = ulp_tensor_get(in, i);
        if (isfinite(x) && shorten(x, precision) != x)
            return;
    }
    for (size_t i = 0; i < in->count; i++) {
        const double x = shorten(ulp_tensor_get(moved, i), precision);
        if (moved->element == ULP_ELEMENT_F32)
            ((float *)moved->data)[i] = (float)x;
        else
            ((double *)moved->data)[i] = x;
    }
}
