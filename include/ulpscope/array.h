/* Arithmetic on arrays, without a model: numbers rounded to a format, their bit patterns, and
 * products of matrices in any arithmetic. Arrays are tensors, usually views of memory that the
 * caller has (ulp_tensor_wrap). All functions are thread-safe; thread_count 0: all processors.
 * Results do not depend on the number of threads. */
#ifndef ULPSCOPE_ARRAY_H
#define ULPSCOPE_ARRAY_H

#include <ulpscope/tensor.h>

/* Round every element of `in`, a float or integer tensor, to the format: once, from its exact
 * value. out: a tensor with memory, as many elements as `in` and ULP_ELEMENT_F32 or ULP_ELEMENT_F64
 * whose type holds the format (F32 where format->carrier is ULP_CARRIER_FLOAT); it may lie in the
 * memory of `in` when both have the same element. Element i draws the random number (seed, i) of
 * stochastic rounding, as ulp_format_round does; other modes ignore the seed. A wrong `out`:
 * ULP_ERROR_USAGE. */
ULP_API enum ulp_status ulp_array_round(struct ulp_tensor *out, const struct ulp_tensor *in,
                                        const struct ulp_format *format, enum ulp_rounding rounding,
                                        uint64_t seed, int thread_count, struct ulp_error *error);

/* The bit patterns of values of the format, as ONNX's type of that name stores them, and back.
 * patterns: a tensor with memory of unsigned integers that are at least as wide as the format
 * (format->storage_bits; FP4 one to a byte). values: with memory, ULP_ELEMENT_F32 or
 * ULP_ELEMENT_F64. A value that is not the format's is rounded to nearest first, ties to even; NaN
 * becomes the format's quiet NaN. A format without patterns (mpfr:P, more than 32 bits) or a
 * pattern beyond them: ULP_ERROR_USAGE. */
ULP_API enum ulp_status ulp_array_encode(struct ulp_tensor *patterns,
                                         const struct ulp_tensor *values,
                                         const struct ulp_format *format, int thread_count,
                                         struct ulp_error *error);
ULP_API enum ulp_status ulp_array_decode(struct ulp_tensor *values,
                                         const struct ulp_tensor *patterns,
                                         const struct ulp_format *format, int thread_count,
                                         struct ulp_error *error);

/* The product a b as a MatMul node computes it in the arithmetic, with the shapes of numpy.matmul:
 * float elements are rounded once to the arithmetic's storage, then multiplied and added as it
 * says. (With stochastic rounding the draws are those of a model whose only node is called
 * "MatMul".) Integers of one type are multiplied exactly, modulo 2^bits. a and b have one type,
 * FLOAT, FLOAT16, BFLOAT16, DOUBLE or an integer type. *out has that type and the carrier of the
 * storage as element; free it with ulp_tensor_free. `model` and `ort-cpu` take their types from a
 * model: ULP_ERROR_USAGE. */
ULP_API enum ulp_status ulp_array_matmul(struct ulp_tensor *out,
                                         const struct ulp_arithmetic *arithmetic,
                                         const struct ulp_tensor *a, const struct ulp_tensor *b,
                                         int thread_count, struct ulp_error *error);

#endif
