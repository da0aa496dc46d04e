/* Models written in ONNX's textual syntax (a part of it), for tests that need many small ones:
 *
 *     (float[N,8] x) => (float[N,8] y)
 *     <float[8] w = {1, 2...}, float eps = {1e-12}, float16[N] t>
 *     {
 *         t = Cast<to=10>(x)
 *         [named] y = Relu(t)
 *     }
 *
 * Types: float double float16 bfloat16 fp8 int8 uint8 int32 int64 bool. A free dimension is called
 * by its first letter; ? has no name. "..." repeats the last number, "2 * 8" is eight of 2,
 * "random" all numbers, in [-1/2, 1/2). A
 * node's name stands before it in brackets. Attributes: numbers (with '.', 'e' or "inf" a float),
 * [lists], "texts", tensors (float {1}), and graphs as above. Names may hold letters, digits and _
 * . / : and -. */
#pragma once

#include <ulpscope.h>

#include "tests/support/proto.h"

/* The model as a message, for proto_free. A mistake in the text ends the test. */
struct proto onnx_text(int64_t opset, const char *text);
/* The same, loaded, for ulp_model_free. */
struct ulp_model *onnx_text_load(int64_t opset, const char *text);
/* The same of a text whose inputs have values, "(float[2] x = {1, 2}, float[N=3] y = {3...})",
 * which become *given; budget: what the model is charged to, or NULL. */
struct ulp_model *onnx_text_given(int64_t opset, const char *text, struct ulp_tensor_set *given,
                                  struct ulp_budget *budget);
