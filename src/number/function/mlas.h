/* FP32 functions as ONNX Runtime's CPU provider computes them where processors have fused
 * multiply-adds: not correctly rounded, and of sigmoid the error is absolute, 6e-8, so that little
 * is left of what is small. */
#pragma once

#include "number/strip.h"

/* out[i] = f(a[i]); out may be a. False, with nothing written, when the function is not modelled. */
bool ulp_mlas_function(enum ulp_primitive primitive, float *out, const float *a, size_t n);
