/* FP32 functions as CUDA's library computes them, in every bit as far as recordings tell (README.md
 * section 7.1): not correctly rounded. */
#pragma once

#include "number/strip.h"

/* out[i] = f(a[i]) as on a GPU; out may be a. False, with nothing written, when the function is not
 * modelled. n <= ULP_STRIP. */
bool ulp_cuda_function(enum ulp_primitive primitive, float *out, const float *a, size_t n);

/* out[i] = 2^a[i] by the GPU's exponent unit, results below 2^-126 being 0 (ex2.approx.ftz.f32);
 * out may be a. Equal for all 2^23 fractions, of which an H200 was asked each. */
void ulp_cuda_ex2(float *out, const float *a, size_t n);

/* out[i] = 1 / a[i] by the GPU's reciprocal unit, 1 <= a[i] <= 2^126; out may be a. Equal for all
 * 2^23 significands. */
void ulp_cuda_rcp(float *out, const float *a, size_t n);
