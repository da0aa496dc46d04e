/* Which schedule gave these bits? A product of two matrices that a GPU computed is compared, bit
 * for bit, with what an arithmetic gives: of the operands alone a library's choice (in how many
 * slices it cut k, say) cannot be told, of operands and result it often can. All functions are
 * thread-safe. */
#ifndef ULPSCOPE_SCHEDULE_H
#define ULPSCOPE_SCHEDULE_H

#include <ulpscope/format.h>
#include <ulpscope/tensor.h>

/* How many elements of d are, bit for bit, those of a times b in the arithmetic: a [m, k],
 * b [k, n], d [m, n], of float types; NaN equals NaN. Operands are rounded to the arithmetic's
 * storage first. thread_count 0: all processors. Other ranks, sizes or types, or split-k=auto:
 * ULP_ERROR_USAGE. */
ULP_API enum ulp_status ulp_product_compare(const struct ulp_arithmetic *arithmetic,
                                            const struct ulp_tensor *a, const struct ulp_tensor *b,
                                            const struct ulp_tensor *d, int thread_count,
                                            size_t *equal, struct ulp_error *error);

/* The counts of slices that split-k=auto tries, at most, ascending from 1. */
#define ULP_SLICES_TRIED_MAX 40

/* Beside the i-th of these: how many of the elements have the recorded bits. */
struct ulp_slices {
    size_t elements;
    size_t equal[ULP_SLICES_TRIED_MAX];
    /* the fewest slices that give every bit; 0: none of those tried does. Counts of one length of
     * slices (8 and 10 of k = 512 are 64 long each) cannot be told apart */
    int found;
};
/* In how many slices was k cut? Of the arithmetic everything but split-k counts. Operands as in
 * ulp_product_compare. */
ULP_API enum ulp_status ulp_slices_find(const struct ulp_arithmetic *arithmetic,
                                        const struct ulp_tensor *a, const struct ulp_tensor *b,
                                        const struct ulp_tensor *d, int thread_count,
                                        struct ulp_slices *out, struct ulp_error *error);

#endif
