/* Declarations shared by the files of kernels/exact. */
#pragma once

#include <string.h>

#include "kernels/reference.h"
#include "number/double_pair.h"
#include "number/mpfr_record.h"

/* One call: the problem and how its outputs are rounded and written. Const while workers run. */
struct ulp_wide_call {
    const struct ulp_arithmetic *arithmetic;
    struct ulp_contraction problem;
    struct ulp_pool *pool;
    int precision;     /* P */
    bool nearest;      /* the rounding is to nearest even */
    bool same_storage; /* storage is mpfr:P: storing rounds nothing more */
};

/* Exact sums come with this many bits more than P, rounded to odd (cut off, and the
 * last bit set when anything was lost): rounding that to P in any mode, stochastic with 64 bits
 * too, is a single rounding of the exact sum. */
#define ULP_WIDE_EXTRA_BITS 64

struct ulp_wide_place {
    size_t batch, i, j;
};

static inline int64_t ulp_wide_line(const struct ulp_factor *factor, size_t batch, size_t line)
{
    return (factor->batch_offset ? factor->batch_offset[batch] : 0) + factor->line_offset[line];
}

static inline int64_t ulp_wide_out(const struct ulp_contraction *problem,
                                   struct ulp_wide_place place)
{
    return (problem->out_batch_offset ? problem->out_batch_offset[place.batch] : 0) +
           problem->out_row_offset[place.i] + problem->out_column_offset[place.j];
}

/* A factor's element as an mpfr_t that aliases the tensor, or `limbs` for F32, F64 and pairs. */
struct ulp_wide_view {
    mpfr_t value;
    mp_limb_t limbs[ULP_PAIR_RECORD_BITS / GMP_NUMB_BITS];
};
void ulp_wide_view_element(struct ulp_wide_view *view, const struct ulp_tensor *tensor,
                           int64_t element);

/* Round a sum (P + ULP_WIDE_EXTRA_BITS bits, rounded to odd; or NaN, Inf, 0) and
 * write it to an element of out. */
void ulp_wide_store(const struct ulp_wide_call *call, int64_t element, const mpfr_t sum);

/* x was rounded toward zero and lost something: set its last bit. */
static inline void ulp_wide_make_odd(mpfr_t x)
{
    mpfr_prec_t unused = -mpfr_get_prec(x) & (GMP_NUMB_BITS - 1);
    *(mp_limb_t *)mpfr_custom_get_significand(x) |= (mp_limb_t)1 << unused;
}

/* One worker's memory. */
struct ulp_wide_sum;
enum ulp_status ulp_wide_sum_create(struct ulp_wide_sum **out, const struct ulp_wide_call *call,
                                    struct ulp_error *error);
void ulp_wide_sum_free(struct ulp_wide_sum *sum);
/* Computes and stores one output. */
void ulp_wide_sum_element(struct ulp_wide_sum *sum, const struct ulp_wide_call *call,
                          struct ulp_wide_place place);
