/* Running an operator's contraction: ulp_contract, then the epilogue of its row. */
#pragma once

#include "ops/infer.h"

/* Where contractions put their sums: output 0 itself, rounded as it is stored, or accumulators for
 * an epilogue. */
struct ulp_sums {
    struct ulp_tensor acc;  /* with an epilogue */
    struct ulp_tensor *out; /* output 0, or acc */
    bool store;             /* as values in storage: output 0's, and acc's with epilogue=rounded */
    size_t begun; /* the input that they begin with, and the epilogue adds no more; 0: none */
    const struct ulp_pairs *pairs; /* NULL, or of bytes, whose saturation is added to the sums */
};

/* Sums of values of `type`, which may differ from output 0's when there is an epilogue.
 * with_epilogue false: it would change nothing, the sums are the result. */
enum ulp_status ulp_sums_begin(struct ulp_call *call, enum ulp_type type, bool with_epilogue,
                               struct ulp_sums *sums);
/* Where blocks of products are added to an input of the call, as ONNX Runtime's CPU provider does,
 * sums begin with it, times `factor`. */
enum ulp_status ulp_sums_begin_with(struct ulp_call *call, size_t input, float factor,
                                    struct ulp_sums *sums);
/* How far apart neighbours lie in the tensors of a product: lines and k of each factor, rows and
 * columns of the sums. */
struct ulp_product_steps {
    int64_t a_line, a_k, b_line, b_k, row, column;
};
/* The problem's tables for its m, n and k, but those that it has already. */
enum ulp_status ulp_product_lay(const struct ulp_call *call, struct ulp_contraction *problem,
                                struct ulp_product_steps steps);
/* One contraction into the sums; problem's out and store are set here. Several may each fill a
 * part. */
enum ulp_status ulp_sums_add(struct ulp_call *call, struct ulp_sums *sums,
                             struct ulp_contraction *problem);
/* The epilogue over all of output 0. places: a letter for each of the row's inputs: '-' it is no
 * number of the epilogue, 'b' it is broadcast, 'c' it lies along axis 1 (a bias), 'r' along the
 * last axis but one. Derived operands low and high are the ends of output 0's integer type,
 * parameter0 and parameter1 the entries of the attribute activation_params. */
enum ulp_status ulp_sums_end(struct ulp_call *call, struct ulp_sums *sums, const char *places);

/* MatMul and Conv for operators around them: a and b, x and w in place of the call's inputs 0 and
 * 1. */
enum ulp_status ulp_matmul_infer(struct ulp_call *call, const struct ulp_tensor *a,
                                 const struct ulp_tensor *b, enum ulp_type type);
/* MatMul whose sums begin with c, which is broadcast: no operator of a model. */
extern const struct ulp_operator ulp_operator_biased_matmul;
enum ulp_status ulp_matmul_sums(struct ulp_call *call, const struct ulp_tensor *a,
                                const struct ulp_tensor *b, struct ulp_sums *sums);
enum ulp_status ulp_gemm_infer(struct ulp_call *call, const struct ulp_tensor *a,
                               const struct ulp_tensor *b, enum ulp_type type);
enum ulp_status ulp_gemm_sums(struct ulp_call *call, const struct ulp_tensor *a,
                              const struct ulp_tensor *b, struct ulp_sums *sums);
/* DynamicQuantizeLinear of a tensor that is not empty: UINT8 values, their scale and zero point,
 * temporaries. The formula is for the row's list. */
extern const struct ulp_formula ulp_quantized_dynamic;
enum ulp_status ulp_quantize_dynamic(struct ulp_call *call, const struct ulp_tensor *in,
                                     struct ulp_tensor *values, struct ulp_tensor *scale,
                                     struct ulp_tensor *zero);
/* "x - zero" or "x + zero" as INT32 (of INT64: as that), a temporary; zero (NULL: 0) has one
 * element, or one for each index of axis. */
enum ulp_status ulp_integer_combine(struct ulp_call *call, struct ulp_tensor *out, const char *text,
                                    const struct ulp_tensor *in, const struct ulp_tensor *zero,
                                    int axis);
/* A product of integers after both factors have lost their zero points (NULL: 0), then the row's
 * epilogue (places NULL: none). The zero points of the first are one, or (MatMul) one for each of
 * its rows; those of the second are one, or one for each column of the result or channel. */
enum ulp_product { ULP_PRODUCT_MATMUL, ULP_PRODUCT_GEMM, ULP_PRODUCT_CONV };
enum ulp_status ulp_integer_sums(struct ulp_call *call, const struct ulp_tensor *const factors[2],
                                 const struct ulp_tensor *const zeros[2], enum ulp_product product,
                                 const char *places);
/* Do sums of a (with its zero point, NULL: 0) by b saturate in the call's arithmetic? pairs: how,
 * where a is the first factor. */
bool ulp_pairs_find(const struct ulp_call *call, const struct ulp_tensor *a,
                    const struct ulp_tensor *zero, const struct ulp_tensor *b,
                    struct ulp_pairs *pairs);
/* The sums alone, of factors without zero points, as INT32; of an INT16 first factor as INT64. */
enum ulp_status ulp_integer_product(struct ulp_call *call,
                                    const struct ulp_tensor *const factors[2],
                                    const struct ulp_tensor *const zeros[2],
                                    enum ulp_product product, bool with_epilogue,
                                    struct ulp_sums *sums);
enum ulp_status ulp_conv_infer(struct ulp_call *call, const struct ulp_tensor *x,
                               const struct ulp_tensor *w, enum ulp_type type);
enum ulp_status ulp_conv_sums(struct ulp_call *call, const struct ulp_tensor *x,
                              const struct ulp_tensor *w, struct ulp_sums *sums);
