/* What the files wide*.c share; nobody else includes it. */
#ifndef ULP_KERNELS_WIDE_PARTS_H
#define ULP_KERNELS_WIDE_PARTS_H

#include <string.h>

#include "kernels/wide.h"
#include "number/mpfr_record.h"

/* One call: the problem and how its outputs are rounded and written. Const while workers run. */
struct ulp_wide_call {
    const struct ulp_arithmetic *arithmetic;
    struct ulp_contraction problem;
    int precision;     /* P */
    bool nearest;      /* the rounding is to nearest even */
    bool same_storage; /* storage is mpfr:P: storing rounds nothing more */
};

/* Exact sums leave the methods with this many bits more than P, rounded to odd (cut off, and the last bit set when anything
 * was lost): rounding that to P in any mode, stochastic with 64 bits too, is a single rounding of the exact sum. */
#define ULP_WIDE_EXTRA_BITS 64

struct ulp_wide_place {
    size_t batch, i, j;
};

static inline bool ulp_wide_is_padding(const struct ulp_factor *factor, int64_t element)
{
    return factor->padding && factor->padding[element];
}
static inline int64_t ulp_wide_line(const struct ulp_factor *factor, size_t batch, size_t line)
{
    return (factor->batch_offset ? factor->batch_offset[batch] : 0) + factor->line_offset[line];
}

static inline int64_t ulp_wide_out(const struct ulp_contraction *problem, struct ulp_wide_place place)
{
    return (problem->out_batch_offset ? problem->out_batch_offset[place.batch] : 0) + problem->out_row_offset[place.i] +
           problem->out_column_offset[place.j];
}

/* A factor's element as an mpfr_t that aliases the tensor, or `limb` for F32 and F64. */
struct ulp_wide_view {
    mpfr_t value;
    mp_limb_t limb;
};
int ulp_wide_factor_precision(const struct ulp_tensor *tensor);
void ulp_wide_view_element(struct ulp_wide_view *view, const struct ulp_tensor *tensor, int64_t element);

/* Round a sum (P + ULP_WIDE_EXTRA_BITS bits, rounded to odd; or NaN, Inf, 0) and write it to its place in out. */
void ulp_wide_store(const struct ulp_wide_call *call, struct ulp_wide_place place, const mpfr_t sum);

/* ULP_WIDE_SUM. One worker's memory. */
struct ulp_wide_sum;
enum ulp_status ulp_wide_sum_create(struct ulp_wide_sum **out, const struct ulp_wide_call *call, struct ulp_error *error);
void ulp_wide_sum_free(struct ulp_wide_sum *sum);
/* Computes and stores one output. */
void ulp_wide_sum_element(struct ulp_wide_sum *sum, const struct ulp_wide_call *call, struct ulp_wide_place place);

#endif
