/* The one entry point for all products-and-sums: MatMul, Gemm, Conv, ConvTranspose, recurrent
 * cells, attention. An operator only says which elements multiply which; the arithmetic says how
 * they are multiplied and added. */
#pragma once

#include "base/machine/thread.h"
#include "tensor/tensor.h"

/* One factor: element (batch g, line i, k) is tensor element batch_offset[g] + line_offset[i] +
 * k_offset[k]. A NULL table is all zeros (batch) or must not be NULL (line, k). */
struct ulp_factor {
    const struct ulp_tensor *tensor;
    const int64_t *batch_offset, *line_offset, *k_offset;
    /* NULL, or one byte per tensor element: 1 says the element does not exist (a convolution's
     * padding, where the tensor holds a zero): its product is skipped, never Inf * 0. With
     * padding_period it is of the first so many elements, and the next ones are like them: channels
     * of an image. */
    const uint8_t *padding;
    size_t padding_period;
    bool ready; /* elements are values of the factor's format: nothing is rounded */
    /* NULL, or the elements' exponents as a matrix unit reads them, where the unit adds those of
     * scales; elements are then their products with scales */
    const int16_t *exponent;
};

static inline bool ulp_factor_is_padding(const struct ulp_factor *factor, int64_t element)
{
    const size_t e = (size_t)element, period = factor->padding_period;
    return factor->padding && factor->padding[period ? e % period : e];
}

/* Unsigned by signed bytes, as INT32: `zero` more than an element of the unsigned factor has
 * (b_is_unsigned: b) is the byte that is multiplied, which padding has, too. */
struct ulp_pairs {
    bool b_is_unsigned;
    int32_t zero;
};

/* out(g, i, j) = sum over k of a(g, i, k) * b(g, j, k), in increasing k. Offsets of out as of
 * factors. */
struct ulp_contraction {
    size_t batch_count, m, n, k;
    struct ulp_factor a, b;
    struct ulp_tensor *out;
    const int64_t *out_batch_offset, *out_row_offset, *out_column_offset;
    /* true: out is rounded once to arithmetic->storage as it is written (no epilogue follows);
     * false: out holds accumulators, exact in ulp_accumulator_element(arithmetic). */
    bool store;
    /* out holds accumulators, which the sums begin with (a matrix unit's one chain, or blocks of
     * k, each of which is added to it; FP32; else ULP_ERROR_UNSUPPORTED) */
    bool onto;
    /* NULL, or integers whose neighbours in k (2 i and 2 i + 1) saturate: out is not set, but gains
     * what saturation takes from the sums */
    const struct ulp_pairs *pairs;
    /* > 0: blocks of factors with scales begin anew after so many k (the channels of a kernel's
     * position) */
    size_t k_run;
    /* products of matrices, as a library has them (split-k=cublas); turned: b lies as [n, k] */
    bool is_matrices, turned;
    bool is_cudnn;    /* of a convolution or a recurrence (matmul=scalar) */
    unsigned weights; /* bit 0: a, bit 1: b is a constant weight */
    /* of a and b: what the scale of the tensor is of; NULL: its own values. Of a weight: what is
     * rounded in its place */
    const struct ulp_factor_range *range[2];
    uint64_t node_key; /* of the node's stochastic stream */
};

/* The element that carries an accumulator of this arithmetic (F32 for fp16@h200, WIDE for mpfr:P,
 * ...). */
static inline enum ulp_element ulp_accumulator_element(const struct ulp_arithmetic *arithmetic)
{
    return ulp_storage_element(&arithmetic->accumulator);
}

/* Scalar chains over stored values, beside a matrix unit. */
void ulp_leave_unit(struct ulp_arithmetic *arithmetic);

/* Compute the contraction. Factors are in arithmetic->storage; they are rounded to
 * arithmetic->factor by the schedule's operand rounding while packing. Results depend only on
 * (arithmetic, problem): not on threads or instruction set. Integer tensors: exact sums modulo
 * 2^bits of out's type. mpfr:P: the exact sum, rounded once in arithmetic->rounding. */
enum ulp_status ulp_contract(const struct ulp_arithmetic *arithmetic,
                             const struct ulp_contraction *problem, struct ulp_pool *pool,
                             struct ulp_error *error);
