/* What the pair carrier's files share: primitives (strip_pair.c), integer parts
 * (strip_pair_whole.c), loads and stores (strip_pair_access.c). */
#pragma once

#include "number/double_pair.h"
#include "number/strip/access.h"

/* a < b, by the pairs alone. */
static inline bool ulp_strip_pair_less(const struct ulp_strip_pair *a,
                                       const struct ulp_strip_pair *b)
{
    return a->high < b->high || (a->high == b->high && a->low < b->low);
}
static inline struct ulp_strip_pair ulp_strip_pair_unknown(void)
{
    return (struct ulp_strip_pair){NAN, 0, INFINITY};
}
/* x as the nearest pair; unknown where none holds it. */
struct ulp_strip_pair ulp_strip_pair_from(const mpfr_t x);
static inline struct ulp_strip_pair ulp_strip_pair_negate(struct ulp_strip_pair x)
{
    return (struct ulp_strip_pair){-x.high, x.low == 0 ? 0 : -x.low, x.error};
}
/* Integers below, above, toward zero and nearest (ties to even); unknown where the error leaves
 * open which. */
struct ulp_strip_pair ulp_strip_pair_floor(struct ulp_strip_pair x);
struct ulp_strip_pair ulp_strip_pair_ceil(struct ulp_strip_pair x);
struct ulp_strip_pair ulp_strip_pair_truncate(struct ulp_strip_pair x);
struct ulp_strip_pair ulp_strip_pair_round(struct ulp_strip_pair x);
/* 0, 1, or -1: the error leaves open whether x is zero. NaN is not. */
static inline int ulp_strip_pair_truth(const struct ulp_strip_pair *x)
{
    const double size = fabs(x->high);
    return x->error == 0 || size > x->error * (1 + 0x1p-40) ? size != 0
           : isnan(x->high) && x->error < INFINITY          ? 1
                                                            : -1;
}

void ulp_strip_pair_load(const struct ulp_strip_rule *rule, void *out,
                         const struct ulp_tensor *tensor, int64_t base, const int64_t *offset,
                         int64_t stride, size_t n);
void ulp_strip_pair_store(const struct ulp_strip_rule *rule, const struct ulp_format *storage,
                          struct ulp_tensor *tensor, int64_t base, const int64_t *offset,
                          int64_t stride, const void *in, size_t n, struct ulp_strip_place place);
