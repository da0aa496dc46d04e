#include "tensor/lower.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "number/round/round.h"
#include "tensor/stored.h"

/* The magnitudes that finite constants other than zero are put into. */
struct bounds {
    double low, high;
};

/* onnxconverter-common's min_positive_val and max_finite_val, in the FP32 it computes them in. */
#define CONVERTER_LOW ((double)1e-7f)
#define CONVERTER_HIGH 1e4

static double least_number(const struct ulp_format *storage)
{
    return storage->subnormals ? ulp_format_ulp(storage, 0) : ldexp(1, storage->emin);
}

/* False: the storage holds every value of the constant's type, or the type is kept in every lane.
 */
static bool find_bounds(const struct ulp_tensor *constant, const struct ulp_format *storage,
                        enum ulp_constants rule, struct bounds *out)
{
    struct ulp_format own;
    const struct ulp_type_row *row = &ulp_type_rows[constant->type];
    if (!row->format || row->file_bits <= 8 || constant->element == ULP_ELEMENT_WIDE ||
        ulp_format_find(row->format, &own, NULL) != ULP_OK || ulp_format_holds(storage, &own))
        return false;
    *out = (struct bounds){0, storage->max_finite};
    if (rule == ULP_CONSTANTS_TENSORRT)
        out->low = least_number(storage);
    if (rule == ULP_CONSTANTS_ONNXCONVERTER)
        *out = (struct bounds){CONVERTER_LOW, CONVERTER_HIGH};
    return true;
}

static bool is_above(const struct bounds *bounds, double x)
{
    return fabs(x) > bounds->high && isfinite(x);
}

static bool is_below(const struct bounds *bounds, double x)
{
    return fabs(x) < bounds->low && x != 0;
}

/* The least magnitude but zero, and the largest finite one. */
#define FIND_MAGNITUDES(NAME, TYPE, MAGNITUDE, LARGEST)                           \
    static void NAME(const TYPE *x, size_t count, double *least, double *largest) \
    {                                                                             \
        TYPE high = 0, low = INFINITY;                                            \
        for (size_t i = 0; i < count; i++) {                                      \
            const TYPE size = MAGNITUDE(x[i]);                                    \
            high = size > high && size <= LARGEST ? size : high;                  \
            low = size > 0 && size < low ? size : low;                            \
        }                                                                         \
        *least = low;                                                             \
        *largest = high;                                                          \
    }
FIND_MAGNITUDES(find_float_magnitudes, float, fabsf, FLT_MAX)
FIND_MAGNITUDES(find_double_magnitudes, double, fabs, DBL_MAX)

/* Elements that are read together. */
#define READ ((size_t)1024)

static void find_stored_magnitudes(const struct ulp_tensor *tensor, double *least, double *largest)
{
    float part[READ];
    *least = INFINITY;
    *largest = 0;
    for (size_t first = 0, count; first < tensor->count; first += count) {
        double low, high;
        count = tensor->count - first < READ ? tensor->count - first : READ;
        ulp_floats_read(tensor, first, count, part);
        find_float_magnitudes(part, count, &low, &high);
        *least = low < *least ? low : *least;
        *largest = high > *largest ? high : *largest;
    }
}

/* Must any element change? */
static bool any_outside(const struct ulp_tensor *tensor, const struct bounds *bounds,
                        struct ulp_magnitudes *magnitudes)
{
    double least, largest;
    if (magnitudes && atomic_load(&magnitudes->of) == tensor) {
        least = atomic_load(&magnitudes->least);
        largest = atomic_load(&magnitudes->largest);
        return largest > bounds->high || least < bounds->low;
    }
    if (tensor->element == ULP_ELEMENT_F64)
        find_double_magnitudes(tensor->data, tensor->count, &least, &largest);
    else if (tensor->element == ULP_ELEMENT_STORED)
        find_stored_magnitudes(tensor, &least, &largest);
    else
        find_float_magnitudes(tensor->data, tensor->count, &least, &largest);
    if (magnitudes) {
        atomic_store(&magnitudes->least, least);
        atomic_store(&magnitudes->largest, largest);
        atomic_store(&magnitudes->of, tensor);
    }
    return largest > bounds->high || least < bounds->low;
}

static double put_into(const struct bounds *bounds, double x)
{
    return is_above(bounds, x)   ? copysign(bounds->high, x)
           : is_below(bounds, x) ? copysign(bounds->low, x)
                                 : x;
}

enum ulp_status ulp_tensor_lower(struct ulp_tensor *out, const struct ulp_tensor *in,
                                 const struct ulp_format *storage, enum ulp_constants rule,
                                 struct ulp_magnitudes *magnitudes, struct ulp_budget *budget,
                                 struct ulp_error *error)
{
    struct bounds bounds;
    *out = ulp_tensor_view(in);
    if (rule == ULP_CONSTANTS_IEEE || !find_bounds(in, storage, rule, &bounds) ||
        !any_outside(in, &bounds, magnitudes))
        return ULP_OK;
    ULP_TRY(in->element == ULP_ELEMENT_STORED ? ulp_tensor_in_memory(out, in, budget, NULL, error)
                                              : ulp_tensor_copy(out, in, budget, error));
    for (size_t i = 0; i < in->count; i++)
        if (out->element == ULP_ELEMENT_F64)
            ((double *)out->data)[i] = put_into(&bounds, ((const double *)out->data)[i]);
        else
            ((float *)out->data)[i] = (float)put_into(&bounds, ((const float *)out->data)[i]);
    return ULP_OK;
}

/* What lowering does to some elements. */
static void count_lowered(struct ulp_lowered *lowered, const double *x, size_t count,
                          const struct bounds *bounds, bool raises,
                          const struct ulp_format *storage, enum ulp_rounding rounding)
{
    for (size_t i = 0; i < count; i++) {
        if (isfinite(x[i]) && fabs(x[i]) > lowered->largest)
            lowered->largest = fabs(x[i]);
        lowered->overflowed += is_above(bounds, x[i]);
        if (is_below(bounds, x[i]))
            lowered->underflowed += raises || ulp_format_round(storage, rounding, x[i], 0, 0) == 0;
    }
}

struct ulp_lowered ulp_tensor_count_lowered(const struct ulp_tensor *in,
                                            const struct ulp_format *storage,
                                            enum ulp_constants rule, enum ulp_rounding rounding)
{
    struct ulp_lowered lowered = {0};
    struct bounds bounds;
    if (!find_bounds(in, storage, rule, &bounds))
        return lowered;
    /* where no rule raises it, only what is below the least number may become zero */
    const bool raises = bounds.low > 0;
    if (!raises)
        bounds.low = least_number(storage);
    const size_t count = any_outside(in, &bounds, NULL) ? in->count : 0;
    for (size_t first = 0, n; first < count; first += n) {
        float part[READ];
        double x[READ];
        n = count - first < READ ? count - first : READ;
        if (in->element != ULP_ELEMENT_F64)
            ulp_floats_read(in, first, n, part);
        for (size_t i = 0; i < n; i++)
            x[i] = in->element == ULP_ELEMENT_F64 ? ((const double *)in->data)[first + i]
                                                  : (double)part[i];
        count_lowered(&lowered, x, n, &bounds, raises, storage, rounding);
    }
    return lowered;
}
