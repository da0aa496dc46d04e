/* Sums of products of pairs of doubles by pairs or doubles: the reference's contraction. */
#pragma once

#include "kernels/contract.h"

/* More products than these are left to exact sums: the bound below is proven up to here. */
#define ULP_PAIR_K_MAX ((size_t)1 << 20)

/* Computes the contraction: factors are F32, F64 or pairs (elements of 16 bytes: high, low = two
 * doubles, high being their sum rounded to nearest), out is of such pairs. Each sum errs by at most
 * 2^-91 times the sum of its products' magnitudes (pair_tile_template.h), and is +0 where it is
 * zero; its bits depend on nothing but the operands. exceptions[(batch * m + i) * n + j], of zeros,
 * becomes 1 where that is not said, and the sum is to be found exactly: a factor of its lines is
 * not finite; k times the largest product that its lines may have is above 2^900, or the least that
 * is not zero below 2^-969; the sum is not zero, but below 2^-900; or k > ULP_PAIR_K_MAX. */
enum ulp_status ulp_pair_tile(const struct ulp_contraction *problem, unsigned char *exceptions,
                              struct ulp_pool *pool, struct ulp_error *error);

/* The same of triples: factors are F32, F64 or of elements of 24 bytes (three doubles, each at most
 * half of the last bit of the one before it, and none but 0 below 2^-192 of the first), out is of
 * records. Each sum errs by at most 2^-114 times the sum of its products' magnitudes, and by what
 * the record has no bits for. It is an exception where the least product that is not zero may be
 * below ULP_TRIPLE_PRODUCT_LEAST: products of low parts have exact residuals above it. */
#define ULP_TRIPLE_PRODUCT_LEAST 0x1p-750
enum ulp_status ulp_triple_tile(const struct ulp_contraction *problem, unsigned char *exceptions,
                                struct ulp_pool *pool, struct ulp_error *error);
