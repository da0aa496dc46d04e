/* Elements of tensors by number. */
#pragma once

#include <ulpscope/tensor.h>

/* Element e, of any integers or of floats in FP32 or FP64: the value as the tensor's type has it,
 * rounded to nearest or truncated. */
void test_set_element(struct ulp_tensor *tensor, size_t e, double value);
