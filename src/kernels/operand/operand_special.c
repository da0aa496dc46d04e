/* Looking for what arithmetic treats apart. */
#include "kernels/operand/operand_special.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "number/mpfr_record.h"
#include "base/tuning.h"

struct look {
    const struct ulp_tensor *tensor;
    double limit;
    atomic_bool found;
};

/* Patterns of magnitudes are ordered as the numbers are, those of NaN above all. */
static bool any_float(const float *x, size_t count, float limit)
{
    uint32_t any = 0, bound;
    memcpy(&bound, &limit, sizeof bound);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        any |= bound - (bits & INT32_MAX); /* both below 2^31 */
    }
    return any >> 31;
}

static bool any_double(const double *x, size_t count, double limit)
{
    uint64_t any = 0, bound;
    memcpy(&bound, &limit, sizeof bound);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, x + i, sizeof bits);
        any |= bound - (bits & INT64_MAX);
    }
    return any >> 63;
}

static bool any_record(const int64_t *record, size_t step, size_t count)
{
    _Static_assert(MPFR_NAN_KIND == 0 && MPFR_INF_KIND == 1,
                   "kinds from -1 to 1 are NaN and the infinities");
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any |= (uint64_t)(record[i * step + 1] + 1) <= 2;
    return any;
}

/* The largest finite float that is not above limit >= 0. */
static float float_below(double limit)
{
    const float x = limit < (double)FLT_MAX ? (float)limit : FLT_MAX;
    return (double)x > limit ? nextafterf(x, 0) : x;
}

/* Items are stretches of ULP_TUNE_SPECIAL_GRAIN elements. */
ULP_WORK(look_at)
{
    struct look *look = context;
    const struct ulp_tensor *tensor = look->tensor;
    const size_t each = tensor->element_bytes;
    for (size_t i = first; i < last && !atomic_load_explicit(&look->found, memory_order_relaxed);
         i++) {
        const size_t from = i * ULP_TUNE_SPECIAL_GRAIN, left = tensor->count - from,
                     count = left < ULP_TUNE_SPECIAL_GRAIN ? left : ULP_TUNE_SPECIAL_GRAIN;
        const void *data = (const char *)tensor->data + from * each;
        if (tensor->element == ULP_ELEMENT_F32 ? any_float(data, count, float_below(look->limit))
            : tensor->element == ULP_ELEMENT_F64
                ? any_double(data, count, look->limit < DBL_MAX ? look->limit : DBL_MAX)
                : any_record(data, each / sizeof(int64_t), count))
            atomic_store_explicit(&look->found, true, memory_order_relaxed);
    }
    return ULP_OK;
}

bool ulp_any_beyond(const struct ulp_tensor *tensor, double limit, struct ulp_pool *pool)
{
    struct look look = {.tensor = tensor, .limit = limit};
    const double element_nanoseconds =
        tensor->element == ULP_ELEMENT_F32 ? 0.3 : 0.1 * (double)tensor->element_bytes;
    const size_t stretches = (tensor->count + ULP_TUNE_SPECIAL_GRAIN - 1) / ULP_TUNE_SPECIAL_GRAIN;
    /* never fails */
    ulp_parallel_for(pool, stretches, ulp_grain(ULP_TUNE_SPECIAL_GRAIN * element_nanoseconds),
                     look_at, &look, NULL);
    return look.found;
}
