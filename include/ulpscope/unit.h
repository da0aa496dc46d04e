/* The matrix units of GPUs by themselves: which there are, and products on raw bit patterns as a
 * unit computes them, bit for bit. In arithmetics such as "fp16@a100" they are found by name. */
#ifndef ULPSCOPE_UNIT_H
#define ULPSCOPE_UNIT_H

#include <ulpscope/tensor.h>

struct ulp_unit_info {
    char name[64];     /* "h200.mma.f16.f32": GPU, class of instructions, operands, accumulator */
    int block;         /* products in one sum; more are a chain of blocks */
    int fraction_bits; /* kept below the largest exponent of a block */
    int operand_bits, accumulator_bits; /* of a raw pattern; FP4 lies one to a byte */
    int scale_block;                    /* products that share a pair of scales; 0: no scales */
    const char *source; /* where the parameters come from, one line of text; static */
};
/* The units, index 0, 1, ... until false. */
ULP_API bool ulp_unit_info(size_t index, struct ulp_unit_info *out);
/* The unit an arithmetic's contractions run on; false: scalar chains. */
ULP_API bool ulp_arithmetic_unit(const struct ulp_arithmetic *arithmetic,
                                 struct ulp_unit_info *out);

/* d[t](m, n) = c[t](m, n) + sum over k of a[t](m, k) * b[t](n, k) on the unit of that name, a stack
 * of products with blocks in increasing k. The set holds unsigned integers of the formats' widths,
 * which are raw patterns: a [T,M,K], b [T,N,K], c [T,M,N] (zero without it), of block-scaled units
 * also scale_a [T,M,K/block] and scale_b [T,N,K/block]. d is [T,M,N] in the accumulator's format.
 * Unknown unit: ULP_ERROR_USAGE. thread_count 0: all processors. */
ULP_API enum ulp_status ulp_unit_multiply(const char *name, const struct ulp_tensor_set *arrays,
                                          int thread_count, struct ulp_tensor *d,
                                          struct ulp_error *error);

#endif
