/* Reproducible random inputs: element i of input n is a pure function of (seed, n, i). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "data/data.h"
#include "number/function/math.h"
#include "number/strip/access.h"
#include "run/random_inputs.h"
#include "tensor/stored.h"

struct range {
    double low, high;
    uint64_t key;
};

/* The largest integers within the type, and within [low, high]; false when there are none. Doubles
 * hold every bound but the tops of 64-bit types, which stay exact because only the comparison is in
 * double. */
static bool find_integers(enum ulp_type type, enum ulp_element element, double low, double high,
                          uint64_t *first, uint64_t *count)
{
    const struct ulp_integer_kind kind = ulp_integer_kind(type, element);
    const int bits = kind.bits - kind.is_signed;
    const double end = ldexp(1, bits); /* one beyond the largest */
    const double least = kind.is_signed ? -end : 0;
    low = ulp_math_max(ceil(low), least);
    high = floor(high);
    if (!(low <= high) || low >= end || high < least)
        return false;
    *first = low < 0 ? (uint64_t)(int64_t)low : (uint64_t)low;
    const uint64_t top = UINT64_MAX >> (64 - bits);
    uint64_t last = high >= end ? top : high < 0 ? (uint64_t)(int64_t)high : (uint64_t)high;
    *count = last - *first + 1; /* 0: all 2^64 */
    return true;
}

static enum ulp_status fill_integers(struct ulp_tensor *tensor, const struct range *range,
                                     struct ulp_error *error)
{
    uint64_t first, count;
    if (!find_integers(tensor->type, tensor->element, range->low, range->high, &first, &count))
        return ulp_fail(error, ULP_ERROR_USAGE, "no integer of type %s lies in [%g, %g]",
                        ulp_type_name(tensor->type), range->low, range->high);
    for (size_t i = 0; i < tensor->count; i++) {
        uint64_t bits = ulp_random_bits(range->key, i);
        if (count) /* the upper half of the product: uniform but for 2^-64 * count */
            bits = (uint64_t)((unsigned __int128)bits * count >> 64);
        ulp_tensor_set_int(tensor, i, (int64_t)(first + bits));
    }
    return ULP_OK;
}

/* Floats of 8 and fewer bits without a format row (FP4 E2M1, E8M0): the nearest of all their
 * values. */
static float find_nearest_code(enum ulp_type type, double x)
{
    float best = NAN;
    for (uint32_t code = 0; code < 1u << ulp_type_rows[type].file_bits; code++) {
        float value = ulp_float_decode(type, code);
        if (isfinite(value) && !(fabs((double)value - x) >= fabs((double)best - x)))
            best = value;
    }
    return best;
}

static void fill_floats(struct ulp_tensor *tensor, const struct range *range)
{
    struct ulp_format format;
    bool has_format = ulp_format_find(ulp_type_rows[tensor->type].format, &format, NULL) == ULP_OK;
    /* a range beyond the format must not give infinities */
    double top = has_format ? format.max_finite : HUGE_VAL;
    double low = ulp_math_min(ulp_math_max(range->low, -top), top),
           high = ulp_math_min(ulp_math_max(range->high, -top), top);
    for (size_t i = 0; i < tensor->count; i++) {
        double u = ulp_random_uniform(range->key, i);
        double x = (1 - u) * low + u * high; /* cannot overflow */
        if (has_format)
            x = ulp_format_round(&format, ULP_ROUND_NEAREST_EVEN, x, 0, 0);
        if (tensor->element == ULP_ELEMENT_F64)
            ((double *)tensor->data)[i] = x;
        else
            ((float *)tensor->data)[i] = has_format ? (float)x : find_nearest_code(tensor->type, x);
    }
}

static enum ulp_status fill(struct ulp_tensor *tensor, const struct range *range,
                            struct ulp_error *error)
{
    if (ulp_type_is_float(tensor->type))
        fill_floats(tensor, range);
    else if (tensor->element == ULP_ELEMENT_BOOL)
        for (size_t i = 0; i < tensor->count; i++)
            ulp_tensor_set_int(tensor, i, (int64_t)(ulp_random_bits(range->key, i) & 1));
    else
        return fill_integers(tensor, range, error);
    return ULP_OK;
}

static enum ulp_status make_input(struct ulp_tensor *out, const struct ulp_value_info *info,
                                  const struct ulp_dim_value *dims, size_t dim_count,
                                  const struct range *range, struct ulp_budget *budget,
                                  struct ulp_error *error)
{
    int64_t shape[ULP_RANK_MAX];
    if (info->type == ULP_TYPE_UNDEFINED)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "is declared without a tensor type, so it cannot be filled");
    if (info->rank < 0)
        return ulp_fail(error, ULP_ERROR_UNSUPPORTED,
                        "has no declared shape; give the inputs from a file");
    for (int d = 0; d < info->rank; d++)
        shape[d] = ulp_dim_size(info, d, dims, dim_count);
    ULP_TRY(ulp_tensor_describe(out, info->type, ULP_ELEMENT_COUNT, 0, info->rank, shape, error));
    ULP_TRY(ulp_tensor_allocate(out, budget, error));
    return fill(out, range, error);
}

static enum ulp_status check_ranges(const struct ulp_model *model,
                                    const struct ulp_random_options *options,
                                    struct ulp_error *error)
{
    for (size_t r = 0; r < options->range_count; r++) {
        const struct ulp_input_range *range = &options->ranges[r];
        bool found = !range->name;
        for (size_t i = 0; i < ulp_model_input_count(model) && !found; i++)
            found = strcmp(range->name, ulp_model_input(model, i).name) == 0;
        if (!found)
            return ulp_fail_input_name(model, range->name, error);
        if (!isfinite(range->low) || !isfinite(range->high) || range->low > range->high)
            return ulp_fail(error, ULP_ERROR_USAGE, "[%g, %g] is no range of finite numbers",
                            range->low, range->high);
    }
    return ULP_OK;
}

enum ulp_status ulp_random_options_check(const struct ulp_model *model,
                                         const struct ulp_random_options *options,
                                         struct ulp_error *error)
{
    ULP_TRY(check_ranges(model, options, error));
    return ulp_dims_check(model, options->dims, options->dim_count, error);
}

enum ulp_status ulp_random_inputs_at(const struct ulp_model *model,
                                     const struct ulp_random_options *options,
                                     struct ulp_tensor_set *out, struct ulp_error *error)
{
    enum ulp_status status = ULP_OK;
    *out = (struct ulp_tensor_set){0};
    for (size_t i = 0; status == ULP_OK && i < ulp_model_input_count(model); i++) {
        struct ulp_value_info info = ulp_model_input(model, i);
        const struct ulp_chosen_range chosen = ulp_model_input_range(model, i, options);
        const struct range range = {chosen.low, chosen.high, ulp_random_bits(options->seed, i)};
        ULP_SCOPED(ulp_tensor_free) struct ulp_tensor tensor = {0};
        status = make_input(&tensor, &info, options->dims, options->dim_count, &range,
                            ulp_model_budget(model), error);
        ulp_fail_at(error, status, "input '%.100s'", info.name);
        ULP_THEN(status, ulp_tensor_set_add(out, info.name, &tensor, error));
    }
    out->drawn = out->count;
    if (status != ULP_OK)
        ulp_tensor_set_free(out);
    return status;
}
