/* The matrix units of GPUs: a list of them, and products of raw bit patterns as a unit computes
 * them, bit for bit. In an arithmetic such as "fp16@a100" contractions run on them. All functions
 * are thread-safe. */
#ifndef ULPSCOPE_UNIT_H
#define ULPSCOPE_UNIT_H

#include <ulpscope/tensor.h>

struct ulp_unit_info {
    char name[64];     /* "h200.mma.f16.f32": GPU, class of instructions, operands, accumulator */
    int block;         /* products added at once; a longer sum is a chain of blocks */
    int fraction_bits; /* bits kept below the largest exponent of a block */
    int operand_bits, accumulator_bits; /* width of a raw pattern; FP4 one to a byte */
    int scale_block;                    /* products that share a pair of scales; 0: no scales */
    const char *source;                 /* source of these parameters, one line of text; static */
};
/* The units: index 0, 1, ... until it returns false. */
ULP_API bool ulp_unit_info(size_t index, struct ulp_unit_info *out);
/* The GPUs that `fp16@GPU` may name: index 0, 1, ... until it returns false. */
struct ulp_gpu_info {
    const char *name;
    const char *unit;  /* the GPU whose units it has: its own name, or that of one like it */
    const char *known; /* why that one; "": its own units are listed. Texts are static */
};
ULP_API bool ulp_gpu_info(size_t index, struct ulp_gpu_info *out);
/* The unit that an arithmetic's contractions run on; false: none, they are scalar chains. */
ULP_API bool ulp_arithmetic_unit(const struct ulp_arithmetic *arithmetic,
                                 struct ulp_unit_info *out);

/* Compute d[t](m, n) = c[t](m, n) + sum over k of a[t](m, k) * b[t](n, k) on the unit of that name
 * (also with another GPU that has it: "rtx3090.mma.f16.f32"), for T products, block after block in
 * increasing k. `arrays` holds raw patterns as unsigned integers as wide as the formats: a [T,M,K],
 * b [T,N,K], c [T,M,N] (may be missing: zero), and for block-scaled units scale_a [T,M,K/block] and
 * scale_b [T,N,K/block]. d becomes [T,M,N], patterns of the accumulator's format, charged to the
 * budget (NULL: none); free it with ulp_tensor_free. thread_count 0: all processors. An unknown
 * unit: ULP_ERROR_USAGE. */
ULP_API enum ulp_status ulp_unit_multiply(const char *name, const struct ulp_tensor_set *arrays,
                                          int thread_count, struct ulp_budget *budget,
                                          struct ulp_tensor *d, struct ulp_error *error);

#endif
