/* Between strips and tensors: what the carriers' load and store share. */
#pragma once

#include "number/double_pair.h"
#include "number/mpfr_record.h"
#include "number/strip.h"

/* The pair carrier's element: high + low is within error of what exact arithmetic makes of a tape's
 * operands; 0: it is that, infinite: nothing is known (a decision hung on the error, or no pair
 * holds it). */
struct ulp_strip_pair {
    double high, low, error;
};

/* The carriers' tables; others find them through ulp_strip_tables. */
extern const struct ulp_strip_table ulp_strip_float, ulp_strip_double, ulp_strip_mpfr,
    ulp_strip_pair, ulp_strip_int64, ulp_strip_uint64;

/* Loads draw their stochastic numbers (only for values the carrier cannot hold) from this stream,
 * at the element's place in the tensor; constants at 0. */
#define ULP_STRIP_LOAD_STREAM UINT64_C(0x6c6f6164)

/* Limbs of an MPFR value on the stack, of at most this precision. */
#define ULP_STRIP_LIMBS(precision) (((precision) + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS)

/* An element of any tensor, exactly: on these limbs, or on the tensor's own record. */
struct ulp_exact {
    mpfr_t value;
    mp_limb_t limbs[ULP_STRIP_LIMBS(ULP_PAIR_RECORD_BITS_MAX)];
};
void ulp_exact_open(struct ulp_exact *x, const struct ulp_tensor *tensor, size_t at);

/* x rounded by the rule, as FLOAT and DOUBLE carry it. */
double ulp_strip_round_mpfr(const struct ulp_strip_rule *rule, const mpfr_t x, uint64_t index);
double ulp_strip_round_int64(const struct ulp_strip_rule *rule, int64_t value, uint64_t index);
double ulp_strip_round_uint64(const struct ulp_strip_rule *rule, uint64_t value, uint64_t index);
double ulp_strip_round_double(const struct ulp_strip_rule *rule, double value, uint64_t index);
/* The value of a constant's text rounded by the rule. */
double ulp_strip_round_text(const struct ulp_strip_rule *rule, const char *text);

/* A constant's text as a value of out's precision, rounded to odd: what was cut off shows in the
 * last bit. */
void ulp_strip_parse(mpfr_t out, const char *text);

/* The magnitude has at most so many significant bits. */
static inline bool ulp_strip_fits(uint64_t magnitude, int bits)
{
    return magnitude == 0 || 64 - __builtin_clzll(magnitude) - __builtin_ctzll(magnitude) <= bits;
}

/* Bits and sign of integers of the type in such elements; INT4 and INT2 lie in wider ones. */
struct ulp_integer_kind {
    int bits; /* 0: no integers */
    bool is_signed;
};
struct ulp_integer_kind ulp_integer_kind(enum ulp_type type, enum ulp_element element);
/* x toward zero into the range of the tensor's integer type: beyond it the nearest end, NaN 0 (as
 * CUDA's cvt.rzi). */
int64_t ulp_strip_truncate(const struct ulp_tensor *tensor, double x);
int64_t ulp_strip_truncate_pair(const struct ulp_tensor *tensor, double high, double low);
/* Element `at` of an integer or boolean tensor, and writing it modulo 2^bits of the tensor's
 * type. */
int64_t ulp_strip_get_int(const struct ulp_tensor *tensor, size_t at);
void ulp_strip_set_int(struct ulp_tensor *tensor, size_t at, int64_t value);
/* The same for the strip of n elements at (base, offset, stride); reals are truncated as above. */
void ulp_strip_get_ints(int64_t *y, const struct ulp_tensor *tensor, int64_t base,
                        const int64_t *offset, int64_t stride, size_t n);
void ulp_strip_set_ints(struct ulp_tensor *tensor, int64_t base, const int64_t *offset,
                        int64_t stride, const int64_t *x, size_t n);
void ulp_strip_set_truncated(struct ulp_tensor *tensor, int64_t base, const int64_t *offset,
                             int64_t stride, const double *x, size_t n);

/* The tensor element of strip element i. */
static inline size_t ulp_strip_at(int64_t base, const int64_t *offset, int64_t stride, size_t i)
{
    return (size_t)(base + (offset ? offset[i] : (int64_t)i * stride));
}
