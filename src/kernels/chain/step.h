/* One step of a scalar chain: what a multiplication and an addition are in an arithmetic, over
 * strips of independent outputs. This plain C is the definition; tiles (tile.h) are faster ways to
 * the same bits. */
#pragma once

#include "kernels/operand/draw.h"
#include "tensor/tensor.h"

/* How a step is computed. Values lie in the element beside it. */
enum ulp_step_kind {
    ULP_STEP_FLOAT,   /* F32: float operations are the arithmetic's */
    ULP_STEP_DOUBLE,  /* F64: double operations are */
    ULP_STEP_ROUNDED, /* F64: an exact or odd-rounded double, then one rounding to the format */
    ULP_STEP_EXACT,   /* F64: the same through MPFR, for formats that are too wide for ROUNDED */
    ULP_STEP_UINT32,  /* U32: integers modulo 2^32 */
    ULP_STEP_UINT64,  /* U64: integers modulo 2^64 */
    ULP_STEP_COUNT
};

struct ulp_step_rule {
    enum ulp_step_kind step;
    bool fused;                /* sum + a * b is rounded once, to `sum` */
    bool exact_products;       /* `product` holds every product */
    struct ulp_format factor;  /* of a and b */
    struct ulp_format product; /* a * b is rounded to this first when not fused */
    struct ulp_format sum;
    enum ulp_rounding rounding;
    uint64_t seed, stream; /* of stochastic rounding */
};

/* The scalar chain of an arithmetic: products are rounded to its compute format unless they are
 * fused, sums to its accumulator. A pairwise sum has no running sum to fuse with, so its products
 * are always rounded. The step is the cheapest that gives the single correct rounding. */
struct ulp_step_rule ulp_step_rule_make(const struct ulp_arithmetic *arithmetic);
/* The rule that adds partial sums in `format`. */
struct ulp_step_rule ulp_step_rule_partial(const struct ulp_step_rule *rule,
                                           const struct ulp_format *format);
enum ulp_element ulp_step_element(enum ulp_step_kind step);

/* Strips of n <= 64 outputs in the rule's element. An exact zero sum is +0 in every rounding mode,
 * unless both terms are -0. */
struct ulp_step_row {
    /* out[i] = a[0] * b[i] */
    void (*multiply)(const struct ulp_step_rule *rule, void *out, const void *a, const void *b,
                     size_t n, struct ulp_draw draw);
    /* out[i] = x[i] + y[i]; out may be x or y */
    void (*add)(const struct ulp_step_rule *rule, void *out, const void *x, const void *y, size_t n,
                struct ulp_draw draw);
    /* sum[i] = sum[i] + a[0] * b[i], rounded once. */
    void (*multiply_add)(const struct ulp_step_rule *rule, void *sum, const void *a, const void *b,
                         size_t n, struct ulp_draw draw);
};
extern const struct ulp_step_row ulp_step_rows[ULP_STEP_COUNT];
