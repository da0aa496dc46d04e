/* Every rule of the lint finds what it is for, and leaves alone what only looks like it: two models
 * for each, of which the first differs from the second in what the rule is about. A walk over the
 * rules fails for one without a pair. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/onnx_text.h"
#include "tests/support/test.h"

struct lint_case {
    const char *rule;
    int opset;
    const char *found, *clean; /* models; clean NULL: the options make the difference */
    size_t count;              /* findings in the first */
    const char *says;          /* part of the first finding's text, with the node's name */
    const char *runtimes;      /* --for; NULL: all */
    /* of the first and the second */
    const char *precisions[2], *output_types[2];
};

#define CHAIN                                                                                      \
    "(float[2] x) => (float[2] y) { [/norm/a] a = Relu(x) [/norm/b] b = Sigmoid(a) [c] i "         \
    "= Cast<to=7>(b) [shape] s = Shape(b) [split] p, q = Split<axis=0, num_outputs=2>(b) [d] y = " \
    "Neg(b) }"
#define QDQ(zero, axis, scales, dims)                                                             \
    "(float[1,2,4,4] x) => (float[1,2,4,4] y) <float s = {0.5}, int8 z = {" zero "}, float[" dims \
    "] ws = {" scales "}, int8[" dims "] wz = {0...}, int8[2,2,1,1] w = "                         \
    "{1...}> { [q] q = QuantizeLinear(x, s, z) [d] d = DequantizeLinear(q, s, z) [dw] dw = "      \
    "DequantizeLinear<axis=" axis ">(w, ws, wz) [conv] y = Conv(d, dw) }"

static const struct lint_case cases[] = {
    {.rule = "option-removed",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "refused",
     .runtimes = "trt11",
     .precisions = {"/norm/a:fp32", NULL}},
    {.rule = "option-unknown-name",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "no node is called '/norm/aa' (did you mean \"/norm/a\"",
     .precisions = {"/norm/aa:fp32", "/norm/a:fp32"},
     .output_types = {"*:fp32", "*:fp32"}},
    {.rule = "option-unknown-name",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "LayerNorm*",
     .precisions = {"LayerNorm*:fp32", "/norm/*:fp32"}},
    {.rule = "option-unknown-name",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "it is a value, of node '/norm/b'",
     .precisions = {"b:fp32", "node_of_b:fp32"}},
    {.rule = "option-fused-name",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "fused kernel",
     .precisions = {"__myl_CastMeanSub_myl0_3:fp32", "/norm/a:fp32"}},
    {.rule = "option-fused-name",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "fused kernel",
     .precisions = {"/norm/a + /norm/b:fp32", "/norm/a:fp32"}},
    {.rule = "option-repeated",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "asked for fp16 and later for fp32",
     .precisions = {"*:fp16,*:fp32", "*:fp32,*:fp32"}},
    {.rule = "option-overlap",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "/norm/a: --layerPrecisions: '/norm/*' asks for fp32 and '*/a' for fp16",
     .precisions = {"/norm/*:fp32,*/a:fp16", "/norm/*:fp32,*/a:fp16,/norm/a:fp16"}},
    {.rule = "option-second-star",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "only the first",
     .precisions = {"*norm*:fp32", "/norm*:fp32"}},
    {.rule = "option-pattern-8",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "before 8.5",
     .runtimes = "trt8",
     .precisions = {"/norm/*:fp32", "*:fp32"}},
    {.rule = "option-cast",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "c: --layerPrecisions '*:fp16' conflicts with the Cast from FP32 to INT64",
     .precisions = {"*:fp16", "*:fp32"}},
    {.rule = "option-integer",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "shape: --layerPrecisions: 'shape' gives INT64",
     .precisions = {"shape:fp16", "shape:int64,/norm/a:fp16"}},
    {.rule = "option-output-pattern",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "'/norm/*:fp16' sets fp32",
     .output_types = {"/norm/*:fp16", "/norm/*:fp16,*:fp16"}},
    {.rule = "option-output-count",
     .opset = 18,
     .found = CHAIN,
     .count = 1,
     .says = "split: 'split' has 2 outputs and is given 3 types",
     .output_types = {"split:fp16+fp16+fp16", "split:fp16+fp32,/norm/a:fp16"}},
    {.rule = "option-half-asked",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "without --layerOutputTypes",
     .precisions = {"/norm/a:fp32", "/norm/a:fp32"},
     .output_types = {NULL, "/norm/a:fp32"}},
    {.rule = "option-half-asked",
     .opset = 17,
     .found = CHAIN,
     .count = 2,
     .says = "'/norm/a' is in --layerPrecisions only",
     .precisions = {"/norm/a:fp32", "/norm/a:fp32"},
     .output_types = {"/norm/b:fp32", "/norm/a:fp32"}},

    {.rule = "type-conflict",
     .opset = 17,
     .count = 1,
     .says = "n: input 0 is FP16 and input 1 is FP32",
     .found = "(float[2] x) => (float16[2] y) { a = Cast<to=10>(x) [n] y = Add(a, x) }",
     .clean = "(float[2] x) => (float16[2] y) { a = Cast<to=10>(x) [n] y = Add(a, a) }"},
    {.rule = "type-conflict",
     .opset = 17,
     .count = 1,
     .says = "'y' is declared FP32, and the node gives FP16",
     .found = "(float[2] x) => (float[2] y) { [n] y = Cast<to=10>(x) }",
     .clean = "(float[2] x) => (float16[2] y) { [n] y = Cast<to=10>(x) }"},
    {.rule = "cast-rounds-twice",
     .opset = 17,
     .count = 1,
     .says = "second: FP64 -> FP32 -> FP16",
     .found = "(double[2] x) => (float16[2] y) { [first] a = Cast<to=1>(x) [second] y = "
              "Cast<to=10>(a) }",
     .clean = "(float[2] x) => (float16[2] y) { [first] a = Cast<to=11>(x) [second] y = "
              "Cast<to=10>(a) }"},
    {.rule = "cast-rounds-twice",
     .opset = 17,
     .count = 1,
     .says = "FP32 -> BF16 -> FP16",
     .found = "(float[2] x) => (float16[2] y) { a = Cast<to=16>(x) y = Cast<to=10>(a) }",
     .clean = "(float[2] x) => (float[2] y) { a = Cast<to=16>(x) y = Cast<to=1>(a) }"},
    {.rule = "cast-down-up",
     .opset = 17,
     .count = 1,
     .says = "up: FP32 -> FP16 -> FP32",
     .found = "(float[2] x) => (float[2] y) { a = Cast<to=10>(x) [up] y = Cast<to=1>(a) }",
     .clean =
         "(float[2] x) => (float[2] y) { a = Cast<to=10>(x) b = Neg(a) [up] y = Cast<to=1>(b) }"},
    {.rule = "cast-up-down",
     .opset = 17,
     .count = 1,
     .says = "FP16 -> FP32 -> FP16",
     .found = "(float16[2] x) => (float16[2] y) { a = Cast<to=1>(x) y = Cast<to=10>(a) }",
     .clean =
         "(float16[2] x) => (float16[2] y) { a = Cast<to=1>(x) b = Neg(a) y = Cast<to=10>(b) }"},
    {.rule = "cast-constant-up",
     .opset = 17,
     .count = 1,
     .says = "the FP16 constant 'w' (4 elements)",
     .found = "(float[2,2] x) => (float[2,2] y) <float16[2,2] w = {1...}> { [c] v = Cast<to=1>(w) "
              "y = MatMul(x, v) }",
     .clean = "(float[2,2] x) => (float[2,2] y) <float16 w = {2}> { [c] v = Cast<to=1>(w) y = "
              "Pow(x, v) }"},
    {.rule = "cast-to-integer",
     .opset = 17,
     .count = 1,
     .says = "may come from 'div' (Div)",
     .found = "(float[2] x, float[2] z) => (int64[2] y) { [div] d = Div(x, z) f = Floor(d) [c] y = "
              "Cast<to=7>(f) }",
     .clean = "(float[2] x, float[2] z) => (int64[2] y) <float[2] k = {2, 3}> { [div] d = Div(x, "
              "k) f = Floor(d) [c] y = Cast<to=7>(f) }"},
    {.rule = "length-in-half",
     .opset = 17,
     .count = 1,
     .says = "c: a length is cast to BF16, exact up to 256",
     .found =
         "(float[2,N] x) => (bfloat16[2] y) { s = Shape(x) [c] h = Cast<to=16>(s) y = Sqrt(h) }",
     .clean = "(float[2,N] x) => (float[2] y) { s = Shape(x) [c] h = Cast<to=1>(s) y = Sqrt(h) }"},
    {.rule = "length-in-float",
     .opset = 17,
     .count = 1,
     .says = "end: ends a computation of a length",
     .found = "(float[2,N] x) => (int64[2] y) <float h = {0.5}> { s = Shape(x) f = Cast<to=1>(s) g "
              "= Mul(f, h) [end] y = Cast<to=7>(g) }",
     .clean = "(int64[2] s) => (int64[2] y) <float h = {0.5}> { f = Cast<to=1>(s) g = Mul(f, h) "
              "[end] y = Cast<to=7>(g) }"},
    {.rule = "fp64-narrowed",
     .opset = 17,
     .count = 1,
     .says = "n: 2 nodes in FP64, this is the first",
     .found = "(float[2] x) => (double[2] y) { [n] a = Cast<to=11>(x) y = Neg(a) }",
     .clean = "(float[2] x) => (float[2] y) { y = Neg(x) }"},
    /* 1 + 2^-11 + 2^-30 lies above a tie of FP16 and rounds up; FP32 makes it that tie, which
       rounds down */
    {.rule = "fp64-rounds-twice",
     .opset = 17,
     .count = 1,
     .says = "'w': 1 of 2 elements",
     .found = "(double[2] x) => (double[2] y) <double[2] w = {1.00048828218132257, 1.5}> { y = "
              "Add(x, w) }",
     .clean = "(double[2] x) => (double[2] y) <double[2] w = {1.0005, 1.5}> { y = Add(x, w) }"},

    {.rule = "constant-beyond-fp16",
     .opset = 17,
     .count = 1,
     .says = "m: constant 'k' reaches 3.4e+38",
     .found = "(float[2] x) => (float[2] y) <float k = {-3.4e38}> { [m] y = Add(x, k) }",
     .clean = "(float[2] x) => (float[2] y) <float k = {-65504}> { [m] y = Add(x, k) }"},
    {.rule = "constant-beyond-fp16",
     .opset = 17,
     .count = 1,
     .says = "fill: fills a tensor with -1e+12",
     .found = "(float[2] x) => (float[2] y) { s = Shape(x) [fill] k = "
              "ConstantOfShape<value=float[1] {-1e12}>(s) y = Add(x, k) }",
     .clean = "(float[2] x) => (float[2] y) { s = Shape(x) [fill] k = "
              "ConstantOfShape<value=int64[1] {-1000000}>(s) y = Neg(x) }"},
    /* kept in FP32 by a model that says what is in FP16, and a bound, which saturates */
    {.rule = "constant-beyond-fp16",
     .opset = 17,
     .count = 1,
     .says = "'k'",
     .found = "(float[2] x) => (float[2] y) <float k = {3e38}> { h = Neg(x) y = Mul(h, k) }",
     .clean = "(float[2] x) => (float[2] y) <float k = {3e38}, float low = {-3e38}> { h = "
              "Cast<to=10>(x) g = Cast<to=1>(h) a = Mul(g, k) y = Clip(a, low, k) }"},
    {.rule = "mask-infinite",
     .opset = 17,
     .count = 1,
     .says = "constant 'k' has 1 infinite",
     .found = "(float[2] x) => (float[2] y) <float[2] k = {0, -inf}> { y = Add(x, k) }",
     .clean = "(float[2] x) => (float[2] y) <float[2] k = {0, -1e4}> { y = Add(x, k) }"},
    {.rule = "eps-zero",
     .opset = 17,
     .count = 1,
     .says = "n: epsilon 1e-12 is 0 in FP16",
     .found = "(float[2] x) => (float[2] y) <float e = {1e-12}> { [n] a = Add(x, e) y = Sqrt(a) }",
     .clean = "(float[2] x) => (float[2] y) <float e = {1e-12}> { [n] a = Add(x, e) y = Neg(a) }"},
    {.rule = "eps-zero",
     .opset = 17,
     .count = 1,
     .says = "a conversion has lost it",
     .found = "(float16[2] x) => (float16[2] y) <float16 e = {0}> { a = Max(x, e) y = Div(x, a) }",
     .clean =
         "(float16[2] x) => (float16[2] y) <float16 e = {0.001}> { a = Max(x, e) y = Div(x, a) }"},
    {.rule = "eps-subnormal",
     .opset = 17,
     .count = 1,
     .says = "epsilon 1e-05 is subnormal",
     .found = "(float[2] x) => (float[2] y) <float e = {1e-5}> { a = Add(x, e) y = Reciprocal(a) }",
     .clean =
         "(float[2] x) => (float[2] y) <float e = {1e-4}> { a = Add(x, e) y = Reciprocal(a) }"},
    {.rule = "pow-integer",
     .opset = 17,
     .count = 1,
     .says = "the exponent is 2",
     .found = "(float[2] x) => (float[2] y) <float e = {2}> { y = Pow(x, e) }",
     .clean = "(float[2] x) => (float[2] y) <float e = {0.5}> { y = Pow(x, e) }"},
    {.rule = "square-in-half",
     .opset = 17,
     .count = 1,
     .says = "n: adds up the squares of 'square'",
     .found = "(float16[2] x) => (float16[1] y) { [square] s = Mul(x, x) [n] y = "
              "ReduceMean<axes=[0]>(s) }",
     .clean = "(float16[2] x, float16[2] z) => (float16[1] y) { [square] s = Mul(x, z) [n] y = "
              "ReduceMean<axes=[0]>(s) }"},
    {.rule = "reduce-in-half",
     .opset = 17,
     .count = 1,
     .says = "n: ReduceL2 in FP16",
     .found = "(float16[2] x) => (float16[1] y) { [n] y = ReduceL2<axes=[0]>(x) }",
     .clean = "(float[2] x) => (float[1] y) { [n] y = ReduceL2<axes=[0]>(x) }"},
    {.rule = "exp-in-half",
     .opset = 17,
     .count = 1,
     .says = "n: Exp in FP16",
     .found = "(float16[2] x) => (float16[2] y) { [n] y = Exp(x) }",
     .clean = "(float16[2] x) => (float16[2] y) { m = ReduceMax<axes=[0]>(x) d = Sub(x, m) [n] y = "
              "Exp(d) }"},
    {.rule = "softmax-unscaled",
     .opset = 17,
     .count = 1,
     .says = "n: the scores are those of 'qk'",
     .found = "(float16[2,2] q, float16[2,2] k) => (float16[2,2] y) { [qk] s = MatMul(q, k) [n] y "
              "= Softmax(s) }",
     .clean = "(float16[2,2] q, float16[2,2] k) => (float16[2,2] y) <float16 c = {0.125}> { [qk] s "
              "= MatMul(q, k) t = Mul(s, c) [n] y = Softmax(t) }"},

    {.rule = "decomposed-layernorm",
     .opset = 17,
     .count = 1,
     .says = "out: 7 nodes that end in 'out' are one LayerNormalization",
     .found = "(float[2,8] x) => (float[2,8] y) <float two = {2}, float e = {1e-5}> { m = "
              "ReduceMean<axes=[-1]>(x) d = Sub(x, m) q = Pow(d, two) v = ReduceMean<axes=[-1]>(q) "
              "w = Add(v, e) r = Sqrt(w) [out] y = Div(d, r) }",
     .clean = "(float[2,8] x) => (float[2,8] y) <float two = {2}, float e = {1e-5}> { m = "
              "ReduceMax<axes=[-1]>(x) d = Sub(x, m) q = Pow(d, two) v = ReduceMean<axes=[-1]>(q) "
              "w = Add(v, e) r = Sqrt(w) [out] y = Div(d, r) }"},
    /* its Pow is no finding of its own */
    {.rule = "pow-integer",
     .opset = 17,
     .count = 1,
     .says = "two: the exponent is 2",
     .found = "(float[2,8] x) => (float[2,8] y) <float two = {2}> { [two] y = Pow(x, two) }",
     .clean = "(float[2,8] x) => (float[2,8] y) <float two = {2}, float e = {1e-5}> { m = "
              "ReduceMean<axes=[-1]>(x) d = Sub(x, m) q = Pow(d, two) v = ReduceMean<axes=[-1]>(q) "
              "w = Add(v, e) r = Sqrt(w) [out] y = Div(d, r) }"},
    {.rule = "decomposed-rmsnorm",
     .opset = 17,
     .count = 1,
     .says = "out: 5 nodes",
     .found = "(float[2,8] x) => (float[2,8] y) <float e = {1e-5}> { q = Mul(x, x) v = "
              "ReduceMean<axes=[-1]>(q) w = Add(v, e) r = Sqrt(w) [out] y = Div(x, r) }",
     .clean = "(float[2,8] x, float[2,8] z) => (float[2,8] y) <float e = {1e-5}> { q = Mul(x, z) v "
              "= ReduceMean<axes=[-1]>(q) w = Add(v, e) r = Sqrt(w) [out] y = Div(x, r) }"},
    {.rule = "decomposed-gelu",
     .opset = 17,
     .count = 1,
     .says = "out: 5 nodes",
     .found =
         "(float[2,8] x) => (float[2,8] y) <float s = {1.4142135}, float one = {1}, float half = "
         "{0.5}> { a = Div(x, s) b = Erf(a) c = Add(b, one) d = Mul(x, c) [out] y = Mul(d, half) }",
     .clean = "(float[2,8] x) => (float[2,8] y) <float s = {1.4142135}, float one = {2}, float "
              "half = {0.5}> { a = Div(x, s) b = Erf(a) c = Add(b, one) d = Mul(x, c) [out] y = "
              "Mul(d, half) }"},
    {.rule = "decomposed-softmax",
     .opset = 17,
     .count = 1,
     .says = "out: 3 nodes",
     .found = "(float[2,8] x) => (float[2,8] y) <int64[1] axes = {-1}> { a = Exp(x) b = "
              "ReduceSum(a, axes) [out] y = Div(a, b) }",
     .clean = "(float[2,8] x) => (float[2,8] y) { [out] y = Softmax(x) }"},
    {.rule = "decomposed-attention",
     .opset = 17,
     .count = 1,
     .says = "out: ",
     .found = "(float[2,4,8] q, float[2,8,4] k, float[2,4,8] v) => (float[2,4,8] y) <float s = "
              "{0.125}> { a = MatMul(q, k) b = Mul(a, s) c = Softmax(b) [out] y = MatMul(c, v) }",
     .clean = "(float[2,4,8] q, float[2,8,4] k, float[2,4,8] v) => (float[2,4,8] y) <float s = "
              "{0.125}> { a = MatMul(q, k) b = Mul(a, s) c = Sigmoid(b) [out] y = MatMul(c, v) }"},

    {.rule = "weight-infinite",
     .opset = 17,
     .count = 1,
     .says = "'w': 1 of 4 elements, the largest is 7e+04",
     .found =
         "(float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 70000}> { y = MatMul(x, w) }",
     .clean =
         "(float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 65519}> { y = MatMul(x, w) }"},
    {.rule = "weight-vanishes",
     .opset = 17,
     .count = 1,
     .says = "'w': of 4 elements 1 become 0 and 3 subnormal (the smallest is 1e-08)",
     .found = "(float[2,2] x) => (float[2,2] y) <float[2,2] w = {1.2e-7, 1.3e-6, 1.3e-7, 1e-8}> { "
              "y = MatMul(x, w) }",
     .clean = "(float[2,2] x) => (float[2,2] y) <float[2,2] w = {1.2e-7, 1.3e-6, 1.3e-7, 1}> { y = "
              "MatMul(x, w) }"},
    /* added to what has the same grid, and products that are nothing anyway */
    {.rule = "weight-vanishes",
     .opset = 17,
     .count = 1,
     .says = "'w'",
     .found = "(float[2] x) => (float[2] y) <float[2] w = {1.2e-7, 1.3e-7}> { y = Mul(x, w) }",
     .clean = "(float[2] x) => (float[2] y) <float[2] w = {1.2e-7, 1.3e-7}, float[2] v = {1e-40, "
              "1e-40}> { z = Add(x, w) y = Mul(z, v) }"},
    {.rule = "weight-subnormal",
     .opset = 17,
     .count = 1,
     .says = "in 1 tensors of 4 elements 2 become subnormal and 1 zero",
     .found = "(float[2,2] x) => (float[2,2] y) <float[2,2] w = {1.2e-7, 3e-8, 1e-9, 1}> { y = "
              "MatMul(x, w) }",
     .clean = "(float[2,2] x) => (float[2,2] y) <float[2,2] w = {6.2e-5, 0, 0, 1}> { y = MatMul(x, "
              "w) }"},

    {.rule = "reshape-zero",
     .opset = 17,
     .count = 1,
     .says = "dimension 0 of the new shape is 0",
     .found =
         "(float[2,2] x) => (float y) <int64[2] s = {0, 4}> { y = Reshape<allowzero=1>(x, s) }",
     .clean = "(float[2,2] x) => (float y) <int64[2] s = {0, 2}> { y = Reshape(x, s) }"},
    {.rule = "shape-fixed",
     .opset = 17,
     .count = 1,
     .says = "'N' can be 1, and cannot be 2",
     .found = "(float[N,4] x) => (float y) <int64[2] s = {1, 4}> { y = Reshape(x, s) }",
     .clean = "(float[N,4] x) => (float y) <int64[2] s = {-1, 4}> { y = Reshape(x, s) }"},

    {.rule = "qdq-asymmetric",
     .opset = 17,
     .count = 2,
     .says = "q: the zero point is 3 (INT8)",
     .found = QDQ("3", "0", "0.5, 0.25", "2"),
     .clean = QDQ("0", "0", "0.5, 0.25", "2")},
    {.rule = "qdq-axis",
     .opset = 17,
     .count = 1,
     .says = "dw: axis 1, while the output channels of 'conv' (Conv) are along axis 0",
     .found = QDQ("0", "1", "0.5, 0.25", "2"),
     .clean = QDQ("0", "0", "0.5, 0.25", "2")},
    {.rule = "qdq-axis",
     .opset = 17,
     .count = 2,
     .says = "q: an activation has 2 scales",
     .found = "(float[1,2] x) => (float[1,2] y) <float[2] s = {1, 2}, int8[2] z = {0, 0}> { [q] q "
              "= QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }",
     .clean = "(float[1,2] x) => (float[1,2] y) <float[1] s = {1}, int8[1] z = {0}> { [q] q = "
              "QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }"},
    {.rule = "qdq-branch",
     .opset = 17,
     .count = 1,
     .says = "n: 'd' is quantised, 'r' is not",
     .found =
         "(float[2] x) => (float[2] y) <float s = {1}, int8 z = {0}> { [q] q = QuantizeLinear(x, "
         "s, z) [d] d = DequantizeLinear(q, s, z) [r] r = Relu(x) [n] y = Add(d, r) }",
     .clean =
         "(float[2] x) => (float[2] y) <float s = {1}, int8 z = {0}, float[2] r = {1, 2}> { [q] q "
         "= QuantizeLinear(x, s, z) [d] d = DequantizeLinear(q, s, z) [n] y = Add(d, r) }"},
    {.rule = "qdq-unfused",
     .opset = 17,
     .count = 1,
     .says = "d: read by 'n' (Erf)",
     .found = "(float[2] x) => (float[2] y) <float s = {1}, int8 z = {0}> { q = QuantizeLinear(x, "
              "s, z) [d] d = DequantizeLinear(q, s, z) [n] y = Erf(d) }",
     .clean = "(float[2] x) => (float[2] y) <float s = {1}, int8 z = {0}> { q = QuantizeLinear(x, "
              "s, z) [d] d = DequantizeLinear(q, s, z) [n] y = Relu(d) }"},
    {.rule = "qdq-twice",
     .opset = 17,
     .count = 1,
     .says = "q: what 'd' dequantises is quantised again",
     .found = "(float[2] x) => (float[2] y) <float s = {1}, float t = {3}, int8 z = {0}, int8[2] w "
              "= {1, 2}> { [d] d = DequantizeLinear(w, s, z) [q] q = QuantizeLinear(d, t, z) e = "
              "DequantizeLinear(q, t, z) y = Mul(x, e) }",
     .clean = "(float[2] x) => (float[2] y) <float s = {1}, float t = {1}, int8 z = {0}, int8[2] w "
              "= {1, 2}> { [d] d = DequantizeLinear(w, s, z) [q] q = QuantizeLinear(d, t, z) e = "
              "DequantizeLinear(q, t, z) y = Mul(x, e) }"},
};
enum { CASE_COUNT = sizeof cases / sizeof *cases };

static struct ulp_lint_result run_lint(const struct lint_case *c, int which)
{
    struct ulp_model *model = onnx_text_load(c->opset, which && c->clean ? c->clean : c->found);
    struct ulp_lint_options options = {.layer_precisions = c->precisions[which],
                                       .layer_output_types = c->output_types[which]};
    struct ulp_lint_result result;
    struct ulp_error error;
    options.runtimes = c->runtimes ? ulp_lint_runtime_find(c->runtimes) : 0;
    ck_ulp_ok(ulp_lint_model(model, &options, &result, &error), error);
    ulp_model_free(model);
    return result;
}

/* How many findings of the rule; *text becomes "NODE: TEXT" of the first. */
static size_t count_findings(const struct ulp_lint_result *result, const char *id, char text[1000])
{
    size_t count = 0;
    *text = 0;
    for (size_t f = 0; f < result->finding_count; f++) {
        const struct ulp_finding *finding = &result->findings[f];
        if ((ptrdiff_t)finding->rule != ulp_lint_rule_find(id))
            continue;
        if (count++ == 0)
            snprintf(text, 1000, "%s%s%s", finding->node ? finding->node : "",
                     finding->node ? ": " : "", finding->text);
    }
    return count;
}

START_TEST(pairs)
{
    const struct lint_case *c = &cases[_i];
    char text[1000];
    struct ulp_lint_result found = run_lint(c, 0), clean = run_lint(c, 1);
    size_t count = count_findings(&found, c->rule, text);
    ck_assert_msg(count == c->count, "%s, case %d: %zu findings of %zu: %s", c->rule, _i, count,
                  c->count, text);
    ck_assert_msg(strstr(text, c->says), "%s, case %d: '%s' does not say '%s'", c->rule, _i, text,
                  c->says);
    count = count_findings(&clean, c->rule, text);
    ck_assert_msg(count == 0, "%s, case %d: found in the clean model: %s", c->rule, _i, text);
    ulp_lint_free(&found);
    ulp_lint_free(&clean);
}
END_TEST

/* Every rule has a pair, and says all it should. */
START_TEST(rules)
{
    struct ulp_lint_rule rule;
    size_t r = 0;
    for (; ulp_lint_rule(r, &rule); r++) {
        bool has = false;
        for (int c = 0; c < CASE_COUNT; c++)
            has |= strcmp(cases[c].rule, rule.id) == 0;
        ck_assert_msg(has, "rule %s has no pair of models", rule.id);
        ck_assert_int_eq(ulp_lint_rule_find(rule.id), (ptrdiff_t)r);
        ck_assert(*rule.what && *rule.why && *rule.fix && *rule.source && rule.runtimes);
        ck_assert(rule.what[strlen(rule.what) - 1] != '.');
        ck_assert(rule.why[strlen(rule.why) - 1] == '.' && rule.fix[strlen(rule.fix) - 1] == '.');
    }
    for (int c = 0; c < CASE_COUNT; c++)
        ck_assert_msg(ulp_lint_rule_find(cases[c].rule) >= 0, "no rule %s", cases[c].rule);
    ck_assert_uint_gt(r, 30);
    ck_assert_int_eq(ulp_lint_rule_find("no-such"), -1);
}
END_TEST

/* A rule of others' runtimes is left out. */
START_TEST(runtimes)
{
    struct lint_case c = {.opset = 17, .found = QDQ("3", "0", "0.5, 0.25", "2"), .runtimes = "ort"};
    char text[1000];
    struct ulp_lint_result result = run_lint(&c, 0);
    ck_assert_uint_eq(count_findings(&result, "qdq-asymmetric", text), 0);
    ck_assert_uint_eq(result.runtimes, ULP_LINT_ORT);
    ulp_lint_free(&result);
    ck_assert_uint_eq(ulp_lint_runtime_find("trt9"), 0);
}
END_TEST

/* Nodes in bodies and functions are looked at, by the names an audit gives them; captured values
 * are followed. */
START_TEST(bodies)
{
    static const char model[] = "(float[2] x, bool c) => (float[2] y) { [down] h = Cast<to=10>(x) "
                                "[if] y = If<then_branch = () => "
                                "(float[2] t) { [up] t = Cast<to=1>(h) }, else_branch = () => "
                                "(float[2] e) { [/own] e = Cast<to=1>(h) "
                                "}>(c) }";
    const struct lint_case c = {.opset = 17, .found = model};
    struct ulp_lint_result result = run_lint(&c, 0);
    size_t seen = 0;
    for (size_t f = 0; f < result.finding_count; f++)
        if ((ptrdiff_t)result.findings[f].rule == ulp_lint_rule_find("cast-down-up"))
            seen += strcmp(result.findings[f].node, "if/up") == 0  ? 1
                    : strcmp(result.findings[f].node, "/own") == 0 ? 10
                                                                   : 100;
    ck_assert_uint_eq(seen, 11);
    ck_assert_uint_eq(result.node_count, 4);
    ulp_lint_free(&result);
}
END_TEST

/* A long chain: 30,000 nodes take no more than 20 times as long as 3,000, and a second at most on
 * any machine that runs tests. */
START_TEST(speed)
{
    double seconds[2];
    for (int k = 0; k < 2; k++) {
        const int count = k ? 30000 : 3000;
        char *text = malloc((size_t)count * 60 + 200), *at = text;
        at += sprintf(at, "(float[2] x) => (float[2] y) <float e = {1e-12}> { v0 = Neg(x) ");
        for (int i = 0; i < count / 3; i++)
            at += sprintf(at, "[/l/a%d] a%d = Add(v%d, e) s%d = Sqrt(a%d) v%d = Neg(s%d) ", i, i, i,
                          i, i, i + 1, i);
        sprintf(at, "y = Neg(v%d) }", count / 3);
        const struct lint_case c = {.opset = 17,
                                    .found = text,
                                    .precisions = {"/l/*:fp32,*9:fp16,nobody:fp32"},
                                    .output_types = {"*:fp32"}};
        struct ulp_lint_result result = run_lint(&c, 0);
        ck_assert_uint_ge(result.finding_count, (size_t)count / 3);
        seconds[k] = result.seconds;
        ulp_lint_free(&result);
        free(text);
    }
    ck_assert_msg(seconds[1] < 1 || seconds[1] < 20 * seconds[0], "%g s, %g s", seconds[0],
                  seconds[1]);
}
END_TEST

/* What trtexec refuses ends the lint. */
START_TEST(usage)
{
    struct ulp_model *model = onnx_text_load(17, CHAIN);
    const struct ulp_lint_options options = {.layer_precisions = "a:float16"};
    struct ulp_lint_result result;
    struct ulp_error error;
    ck_assert_int_eq(ulp_lint_model(model, &options, &result, &error), ULP_ERROR_USAGE);
    ck_assert(strstr(error.message, "it is called fp16") != NULL);
    ulp_model_free(model);
}
END_TEST

/* The text: the verdict first, and no more findings of a rule than asked for. */
START_TEST(summary)
{
    struct lint_case plain = {.opset = 17,
                              .found = "(float16[2] x) => (float16[2] y) { [a] a = Exp(x) [b] b = "
                                       "Exp(a) [c] y = Exp(b) }"};
    struct ulp_lint_result result = run_lint(&plain, 0);
    struct ulp_error error;
    char *text;
    ck_ulp_ok(ulp_lint_summary(&result, 1, 0, false, &text, &error), error);
    ck_assert_msg(strncmp(text, "text.onnx: 3 warnings in 3 nodes. Begin with exp-in-half: ", 50) ==
                      0,
                  "%s", text);
    ck_assert_msg(strstr(text, "a (Exp): ") && strstr(text, "and 2 more") &&
                      !strstr(text, "b (Exp)"),
                  "%s", text);
    free(text);
    ulp_lint_free(&result);
    plain.found = "(float[2] x) => (float[2] y) { y = Neg(x) }";
    result = run_lint(&plain, 0);
    ck_ulp_ok(ulp_lint_summary(&result, 1, 0, false, &text, &error), error);
    ck_assert_str_eq(text, "text.onnx: nothing found in 1 nodes.\n");
    free(text);
    ulp_lint_free(&result);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lint");
    TCase *tests = tcase_create("lint");
    tcase_add_loop_test(tests, pairs, 0, CASE_COUNT);
    tcase_add_test(tests, rules);
    tcase_add_test(tests, runtimes);
    tcase_add_test(tests, bodies);
    tcase_add_test(tests, speed);
    tcase_add_test(tests, usage);
    tcase_add_test(tests, summary);
    suite_add_tcase(suite, tests);
    return test_run(suite, NULL);
}
