/* Arrays of the caller: rounding them, and their bit patterns. */
#include <ulpscope/array.h>

#include "base/error.h"
#include "base/machine/environment.h"
#include "number/round/round.h"
#include "tensor/tensor.h"

enum { PATTERN_BITS_MAX = 32 }; /* of ulp_format_encode */

/* Values of the format as `values` must lie in memory. */
static enum ulp_status check_values(const struct ulp_tensor *values,
                                    const struct ulp_format *format, struct ulp_error *error)
{
    const bool holds =
        values->element == ULP_ELEMENT_F64
            ? format->carrier != ULP_CARRIER_MPFR
            : values->element == ULP_ELEMENT_F32 && format->carrier == ULP_CARRIER_FLOAT;
    return holds ? ULP_OK
                 : ulp_fail(error, ULP_ERROR_USAGE,
                            "values of %s do not lie in elements of %s: expected %s", format->name,
                            ulp_type_name(values->type),
                            format->carrier == ULP_CARRIER_FLOAT    ? "FLOAT or DOUBLE"
                            : format->carrier == ULP_CARRIER_DOUBLE ? "DOUBLE"
                                                                    : "a format of at most 53 bits "
                                                                      "and double's exponents");
}

static enum ulp_status check_counts(const struct ulp_tensor *out, const struct ulp_tensor *in,
                                    struct ulp_error *error)
{
    if (out->count != in->count)
        return ulp_fail(error, ULP_ERROR_USAGE, "%zu elements do not fit an array of %zu",
                        in->count, out->count);
    if (in->count && (!in->data || !out->data))
        return ulp_fail(error, ULP_ERROR_USAGE, "an array of %zu elements has no memory",
                        in->count);
    return ULP_OK;
}

enum ulp_status ulp_array_round(struct ulp_tensor *out, const struct ulp_tensor *in,
                                const struct ulp_format *format, enum ulp_rounding rounding,
                                uint64_t seed, int thread_count, struct ulp_error *error)
{
    ULP_ENTER(error);
    ULP_SCOPED(ulp_pool_free_of) struct ulp_pool *pool = NULL;
    ULP_TRY(check_values(out, format, error));
    ULP_TRY(check_counts(out, in, error));
    ULP_TRY(ulp_pool_create(&pool, thread_count, error));
    return ulp_tensor_convert(out, in, format, rounding, seed, pool, error);
}

struct coding {
    const struct ulp_format *format;
    const struct ulp_tensor *values, *patterns;
    bool encodes;
};

ULP_WORK(code_range)
{
    const struct coding *coding = context;
    const struct ulp_format *format = coding->format;
    struct ulp_tensor patterns = *coding->patterns;
    const bool is_float = coding->values->element == ULP_ELEMENT_F32;
    float *floats = coding->values->data;
    double *doubles = coding->values->data;
    for (size_t i = first; i < last; i++) {
        if (coding->encodes) {
            double x = is_float ? (double)floats[i] : doubles[i];
            ulp_round_doubles(format, ULP_ROUND_NEAREST_EVEN, &x, 1, 0, 0, 0);
            ulp_tensor_set_int(&patterns, i, ulp_format_encode(format, x));
            continue;
        }
        const uint32_t bits = (uint32_t)ulp_tensor_get_int(&patterns, i);
        if (format->storage_bits < PATTERN_BITS_MAX && bits >> format->storage_bits)
            return ulp_fail(error, ULP_ERROR_USAGE,
                            "element %zu, %#x, is no pattern of the %d bits of %s", i, bits,
                            format->storage_bits, format->name);
        const double x = ulp_format_decode(format, bits);
        if (is_float)
            floats[i] = (float)x;
        else
            doubles[i] = x;
    }
    return ULP_OK;
}

static enum ulp_status code(struct coding *coding, int thread_count, struct ulp_error *error)
{
    const struct ulp_format *format = coding->format;
    const struct ulp_tensor *patterns = coding->patterns;
    const int bits = patterns->element == ULP_ELEMENT_U8    ? 8
                     : patterns->element == ULP_ELEMENT_U16 ? 16
                     : patterns->element == ULP_ELEMENT_U32 ? 32
                                                            : 0;
    ULP_SCOPED(ulp_pool_free_of) struct ulp_pool *pool = NULL;
    if (format->storage_bits == 0 || format->storage_bits > PATTERN_BITS_MAX)
        return ulp_fail(error, ULP_ERROR_USAGE, "%s has no bit patterns of at most %d bits",
                        format->name, PATTERN_BITS_MAX);
    if (bits < format->storage_bits)
        return ulp_fail(error, ULP_ERROR_USAGE,
                        "patterns of %s in elements of %s: expected unsigned integers of at least "
                        "%d bits, and at most 32",
                        format->name, ulp_type_name(patterns->type), format->storage_bits);
    ULP_TRY(check_values(coding->values, format, error));
    ULP_TRY(check_counts(coding->values, patterns, error));
    ULP_TRY(ulp_pool_create(&pool, thread_count, error));
    return ulp_parallel_for(pool, patterns->count, ulp_grain(20), code_range, coding, error);
}

enum ulp_status ulp_array_encode(struct ulp_tensor *patterns, const struct ulp_tensor *values,
                                 const struct ulp_format *format, int thread_count,
                                 struct ulp_error *error)
{
    ULP_ENTER(error);
    return code(&(struct coding){format, values, patterns, true}, thread_count, error);
}

enum ulp_status ulp_array_decode(struct ulp_tensor *values, const struct ulp_tensor *patterns,
                                 const struct ulp_format *format, int thread_count,
                                 struct ulp_error *error)
{
    ULP_ENTER(error);
    return code(&(struct coding){format, values, patterns, false}, thread_count, error);
}
