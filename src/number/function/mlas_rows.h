/* Sums of rows in FP32 as ONNX Runtime's CPU provider adds them with AVX2 and AVX-512
 * (microsoft/onnxruntime, core/mlas; Eigen's redux). */
#pragma once

#include <stddef.h>

/* How a row is added: by Eigen's vectors of four, two at a time, the first of which is aligned in
 * memory; by four or sixteen partial sums; LayerNormalization's mean, and squares of what is left,
 * by vectors of eight; the same in one walk, by B. P. Welford, as short rows are. Of squares the
 * result is their sum. */
enum ulp_row_kernel {
    ULP_ROW_PLAIN, /* no kernel */
    ULP_ROW_IN_TURN,
    ULP_ROW_EIGEN,
    ULP_ROW_FOURS,
    ULP_ROW_SIXTEENS,
    ULP_ROW_MEAN,
    ULP_ROW_SQUARES,
    ULP_ROW_WELFORD_MEAN,
    ULP_ROW_WELFORD_SQUARES
};
/* n > 0; head: elements before the first aligned one. */
float ulp_mlas_row(enum ulp_row_kernel kernel, const float *x, size_t n, size_t head);
