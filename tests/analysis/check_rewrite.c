/* Edits of the lint: each row of rewrite.def, and what integers.c converts, finds its pattern,
 * leaves its twin alone, and computes the same in exact arithmetic: on random inputs both models
 * are run in MPFR with 128 bits. Not all rows are exact in FP32 and narrower: that is why they are
 * there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/lint/proposal.h"
#include "tensor/tensor.h"
#include "tests/support/onnx_text.h"
#include "tests/support/test.h"

struct rewrite_case {
    const char *rule;
    int opset;
    const char *targets;
    const char *found, *clean; /* clean: is not edited by the rule; NULL: none */
    const char *op;            /* one of the edited model's, which the found one has not */
};

#define NORM \
    "float[2] s = {3, 0.5}, float[2] t = {-1, 7}, float[2] m = {2, 5}, float[2] v = {4, 16}"
#define XY(shape) "(float[" shape "] x) => (float[" shape "] y) "
static const struct rewrite_case cases[] = {
    {"log-of-softmax", 13, NULL, XY("2,5") "{ s = Softmax <axis = 0> (x) y = Log(s) }",
     XY("2,5") "{ s = Sigmoid(x) y = Log(s) }", "LogSoftmax"},
    {"exponential-plain", 13, "coreml-ane", XY("2,5") "{ s = Softmax <axis = 0> (x) y = Log(s) }",
     XY("2,5") "{ s = Sigmoid(x) y = Log(s) }", "ReduceMax"},
    {"exponential-plain", 17, "coreml-ane", XY("2,5") "{ y = Softplus(x) }",
     XY("2,5") "{ y = Softsign(x) }", "Relu"},
    {"exponential-plain", 13, "coreml-ane",
     "(float[2,5] x) => (float[2] y) { y = ReduceLogSumExp <axes = [1], keepdims = 0> (x) }",
     "(float[2,5] x) => (float[2] y) { y = ReduceSum <keepdims = 0> (x) }", "ReduceMax"},
    {"scale-after-product", 17, NULL,
     "(float[3,4] x, float[4,3] z) => (float[3,3] y) <float k = {0.125}> { p = MatMul(x, z) y = "
     "Mul(k, p) }",
     "(float[3,4] x, float[4,3] z) => (float[3,3] y) <float k = {8}> { p = MatMul(x, z) y = Mul(k, "
     "p) }",
     NULL},
    {"scale-after-product", 17, NULL,
     "(float[3,4] x, float[4,3] z) => (float[3,3] y) <float k = {8}> { p = MatMul(x, z) y = Div(p, "
     "k) }",
     "(float[3,4] x, float[4,3] z) => (float[3,3] y) <float k = {0.125}> { p = MatMul(x, z) y = "
     "Div(p, k) }",
     NULL},
    {"scale-after-product", 17, NULL,
     "(float[4,3] x) => (float[4,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}, float[2] k = {0.5, "
     "0.25}> { p = MatMul(x, w) y = Mul(p, k) }",
     /* one for each row */
     "(float[4,3] x) => (float[4,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}, float[4,1] k = {1, 2, "
     "3, 4}> { p = MatMul(x, w) y = Mul(p, k) }",
     NULL},
    {"scale-after-product", 17, NULL,
     "(float[4,3] x) => (float[4,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}, float[2] k = {0.5, "
     "0.25}> { p = MatMul(x, w) y = Div(p, k) }",
     /* one for each row */
     "(float[4,3] x) => (float[4,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}, float[4,1] k = {1, 2, "
     "3, 4}> { p = MatMul(x, w) y = Div(p, k) }",
     NULL},
    {"scale-after-product", 13, NULL,
     "(float[3,4] x, float[4,3] z) => (float[3,3] y) <int64[1] a = {1}> { e = Exp(x) s = "
     "ReduceSum(e, a) p = MatMul(e, z) y = Div(p, s) }",
     "(float[3,4] x, float[4,3] z) => (float[3,3] y) <int64[1] a = {0}> { e = Exp(z) s = "
     "ReduceSum(e, a) p = MatMul(x, z) y = Div(p, s) }",
     NULL},
    {"scale-after-product", 17, NULL,
     "(float[2,3,4] x, float[2,4,3] z) => (float[2,3,3] y) { e = Exp(x) d = ReduceMax <axes = "
     "[2]> (e) p = MatMul(x, z) y = Div(p, d) }",
     /* of a vector: the divisor's rows are no rows of the product */
     "(float[3,3,4] x, float[4] z, float[3,3,2] w) => (float[3,3,3] y) { d = ReduceMax <axes = "
     "[2]> (w) p = MatMul(x, z) y = Div(p, d) }",
     NULL},
    {"scale-after-product", 17, NULL,
     XY("2,5") "<float k = {127}, float[5] kk = {0.5, 0.25, 0.5, 0.25, 0.125}> { p = Mul(k, x) y = "
               "Mul(p, kk) }",
     XY("2,5") "<float k = {0.5}, float[5] kk = {0.5, 0.25, 0.5, 0.25, 0.125}> { p = Mul(k, x) y = "
               "Mul(p, kk) }",
     NULL},
    {"scale-after-sum", 13, NULL,
     "(float[2,5] x) => (float[2] y) <int64[1] a = {1}, float k = {5}> { s = ReduceSum <keepdims = "
     "0> (x, a) y = Div(s, k) }",
     "(float[2,5] x) => (float[2] y) <int64[1] a = {1}, float k = {0.5}> { s = ReduceSum <keepdims "
     "= 0> (x, a) y = Div(s, k) }",
     NULL},
    {"scale-after-sum", 11, NULL,
     "(float[2,5] x) => (float[2,1] y) <float k = {0.25}> { s = ReduceSum <axes = [1]> (x) y = "
     "Mul(s, k) }",
     "(float[2,5] x) => (float[2,1] y) <float k = {2}> { s = ReduceSum <axes = [1]> (x) y = Mul(s, "
     "k) }",
     NULL},
    {"inverse-scale", 13, NULL,
     XY("2,5") "<float k = {127}> { a = Abs(x) m = ReduceMax <axes = [1]> (a) i = Div(k, m) y = "
               "Mul(x, i) }",
     XY("2,5") "<float k = {127}> { a = Abs(x) m = ReduceMax <axes = [1]> (a) i = Div(m, k) y = "
               "Mul(x, i) }",
     NULL},
    {"inverse-scale", 18, NULL,
     XY("2,5") "<float k = {127}, int64[1] o = {1}> { a = Abs(x) m = ReduceMax(a, o) i = Div(k, m) "
               "y = Div(x, i) }",
     XY("2,5") "<float k = {127}, int64[1] o = {1}> { a = Abs(x) m = ReduceMax(a, o) i = Div(m, k) "
               "y = Div(x, i) }",
     NULL},
    /* numbers that FP32 holds after the division, too */
    {"batchnorm-apart", 17, "torch",
     XY("1,2,3,3") "<float[2,1,2,2] w = {1, -2, 3, 0.5, 4, 0.25, -1, 2}, float[2] b = {1, "
                   "-2}, " NORM
                   "> { c = Conv <group = 2, pads = [0, 0, 1, 1]> (x, w, b) y = BatchNormalization "
                   "<epsilon = 0.0> (c, s, t, m, v) }",
     XY("1,2,3,3") "<float[2,1,2,2] w = {1, -2, 3, 0.5, 4, 0.25, -1, 2}, float[2] b = {1, "
                   "-2}, " NORM
                   "> { c = Conv <group = 2, pads = [0, 0, 1, 1]> (x, w, b) n = BatchNormalization "
                   "<epsilon = 0.0> (c, s, t, m, v) y = Add(n, c) }",
     NULL},
    {"batchnorm-apart", 17, "torch",
     XY("2,2") "<float[2,2] w = {1, -2, 3, 0.5}, " NORM "> { c = Gemm <alpha = 0.5> (x, w) y = "
               "BatchNormalization <epsilon = 0.0> (c, s, t, m, v) }",
     XY("2,2") "<float[2,2] w = {1, -2, 3, 0.5}, " NORM "> { c = Gemm <alpha = 0.5> (w, x) y = "
               "BatchNormalization <epsilon = 0.0> (c, s, t, m, v) }",
     NULL},
    {"batchnorm-apart", 17, "torch",
     XY("2,2") "<float[2,2] w = {1, -2, 3, 0.5}, float[2] b = {1, -2}, " NORM "> { c = Gemm "
               "<transB = 1> (x, w, b) y = BatchNormalization <epsilon = 0.0> (c, s, t, m, v) }",
     XY("2,2") "<float[2,2] w = {1, -2, 3, 0.5}, float[2] b = {1, -2}, " NORM "> { c = Gemm "
               "<transB = 1, beta = 0.5> (x, w, b) y = BatchNormalization <epsilon = 0.0> (c, s, "
               "t, m, v) }",
     NULL},
    {"batchnorm-apart", 17, "torch", /* what is FLOAT16 stays as it is */
     XY("1,2,3,3") "<float[2,1,1,1] w = {1, -2}, " NORM
                   "> { c = Conv <group = 2> (x, w) y = BatchNormalization <epsilon = 0.0> (c, s, "
                   "t, m, v) }",
     "(float16[1,2,3,3] x) => (float16[1,2,3,3] y) <float16[2,1,1,1] w = {1, -2}, " NORM
     "> { c = Conv <group = 2> (x, w) y = BatchNormalization <epsilon = 0.0> (c, s, t, m, v) }",
     NULL},
    {"decomposed-groupnorm", 21, NULL,
     XY("1,4,2,3") "<float[2] u = {1, 1}, float[2] o = {0, 0}, float[4,1,1] g = {1, -2, 3, 0.5}, "
                   "float[4,1,1] b = {0.5, 1, -1, 2}, int64[3] f = {0, 2, -1}> { r = Reshape(x, f) "
                   "n = InstanceNormalization(r, u, o) s = Shape(x) t = Reshape(n, s) m = Mul(t, "
                   "g) "
                   "y = Add(m, b) }",
     /* its scale is of groups */
     XY("1,4,2,3") "<float[2] u = {1, 2}, float[2] o = {0, 0}, float[4,1,1] g = {1, -2, 3, 0.5}, "
                   "float[4,1,1] b = {0.5, 1, -1, 2}, int64[3] f = {0, 2, -1}> { r = Reshape(x, f) "
                   "n = InstanceNormalization(r, u, o) s = Shape(x) t = Reshape(n, s) m = Mul(t, "
                   "g) "
                   "y = Add(m, b) }",
     "GroupNormalization"},
    {"decomposed-groupnorm", 21, NULL,
     XY("2,4,3") "<float e = {1e-5}, float two = {2}, float[1,4,1] g = {1, -2, 3, 0.5}, float[4,1] "
                 "b = {0.5, 1, -1, 2}, int64[3] f = {2, 2, 6}, int64[3] z = {2, 4, 3}, int64[1] a "
                 "= "
                 "{-1}> { r = Reshape(x, f) n = ReduceMean(r, a) d = Sub(r, n) q = Pow(d, two) v = "
                 "ReduceMean(q, a) w = Add(v, e) h = Sqrt(w) i = Div(d, h) t = Reshape(i, z) m = "
                 "Mul(g, t) y = Add(b, m) }",
     /* of channels that lie otherwise */
     XY("2,4,3") "<float e = {1e-5}, float two = {2}, float[1,1,3] g = {1, -2, 3}, float[4,1] "
                 "b = {0.5, 1, -1, 2}, int64[3] f = {2, 2, 6}, int64[3] z = {2, 4, 3}, int64[1] a "
                 "= "
                 "{-1}> { r = Reshape(x, f) n = ReduceMean(r, a) d = Sub(r, n) q = Pow(d, two) v = "
                 "ReduceMean(q, a) w = Add(v, e) h = Sqrt(w) i = Div(d, h) t = Reshape(i, z) m = "
                 "Mul(g, t) y = Add(b, m) }",
     "GroupNormalization"},
    {"variance-cancels", 13, NULL,
     "(float[2,5] x) => (float[2,1] y) { q = Mul(x, x) r = ReduceMean <axes = [1]> (q) n = "
     "ReduceMean <axes = [1]> (x) m = Mul(n, n) y = Sub(r, m) }",
     "(float[2,5] x) => (float[2,5] y) { q = Mul(x, x) r = ReduceMean <axes = [1]> (q) n = "
     "ReduceMean <axes = [0]> (x) m = Mul(n, n) y = Sub(r, m) }",
     NULL},
    {"variance-cancels", 18, NULL,
     "(float[2,5] x) => (float[2,1] y) <float two = {2}, int64[1] a = {1}> { q = Pow(x, two) r = "
     "ReduceMean(q, a) n = ReduceMean(x, a) m = Pow(n, two) y = Sub(r, m) }",
     "(float[2,5] x) => (float[2,1] y) <float two = {3}, int64[1] a = {1}> { q = Pow(x, two) r = "
     "ReduceMean(q, a) n = ReduceMean(x, a) m = Pow(n, two) y = Sub(r, m) }",
     "Mul"},
    {"square-in-half", 13, NULL,
     XY("2,5") "<float e = {1e-5}> { q = Mul(x, x) r = ReduceMean <axes = [1]> (q) s = Add(e, r) d "
               "= Sqrt(s) y = Div(x, d) }",
     XY("2,5") "<float e = {1e-5}> { q = Mul(x, x) r = ReduceMean <axes = [1]> (q) s = Add(e, r) d "
               "= Sqrt(s) y = Div(q, d) }",
     "ReduceMax"},
    {"square-in-half", 18, NULL,
     XY("2,5") "<float e = {1e-5}, float two = {2}, int64[1] a = {0}> { q = Pow(x, two) r = "
               "ReduceMean(q, a) s = Add(r, e) d = Sqrt(s) y = Div(x, d) }",
     XY("2,5") "<float e = {1e-5}, float two = {3}, int64[1] a = {0}> { q = Pow(x, two) r = "
               "ReduceMean(q, a) s = Add(r, e) d = Sqrt(s) y = Div(x, d) }",
     "ReduceMax"},
    {"exp-in-half", 13, NULL,
     "(float[2,5] x) => (float[2] y) <int64[1] a = {1}> { e = Exp(x) s = ReduceSum <keepdims = 0> "
     "(e, a) y = Log(s) }",
     "(float[2,5] x) => (float[2] y) <int64[1] a = {1}> { e = Sigmoid(x) s = ReduceSum <keepdims = "
     "0> (e, a) y = Log(s) }",
     "ReduceMax"},
    {"exp-in-half", 18, NULL,
     XY("2,5") "<int64 a = {1}> { e = Exp(x) s = CumSum <reverse = 1> (e, a) y = Log(s) }",
     XY("2,5") "<int64 a = {1}> { e = Sigmoid(x) s = CumSum(e, a) y = Log(s) }", "ReduceMax"},
    {"exp-in-half", 13, NULL,
     XY("2,5") "<int64 a = {1}, float k = {0.7}> { e = Exp(x) s = CumSum(e, a) m = Max(s, k) y = "
               "Log(m) }",
     XY("2,5") "<int64 a = {1}, float k = {0.7}> { e = Exp(x) s = CumSum(e, a) m = Min(s, k) y = "
               "Log(m) }",
     "ReduceMax"},
    {"exp-in-half", 13, NULL,
     "(float[2,5] x) => (float[2,1] y) <int64[1] a = {1}, float k = {4}> { e = Exp(x) s = "
     "ReduceSum(e, a) m = Max(k, s) y = Log(m) }",
     "(float[2,5] x) => (float[2,1] y) <int64[1] a = {1}, float k = {4}> { e = Exp(x) s = "
     "ReduceSum(e, a) m = Min(k, s) y = Log(m) }",
     "ReduceMax"},
    {"decomposed-layernorm", 14, NULL,
     XY("2,5") "<float e = {1e-5}, float two = {2}, float[5] g = {1, 2, 3, 4, 5}, int64[2] f = {2, "
               "5}> { r = Reshape(x, f) "
               "m = ReduceMean <axes = [1]> (r) d = Sub(r, m) q = Pow(d, two) v = ReduceMean <axes "
               "= [1]> (q) s = Add(v, e) t = Sqrt(s) n = Div(d, t) y = Mul(n, g) }",
     XY("2,5") "<float e = {1e-5}, float two = {2}, float[5] g = {1, 2, 3, 4, 5}, float[1,1,2,5] "
               "a = {1...}, float[1,4] b = {0, 0, 1, 1}, int64[1] c = {0}> { "
               "m = ReduceMean <axes = [1]> (x) d = Sub(x, m) q = Pow(d, two) v = ReduceMean <axes "
               "= [1]> (q) s = Add(v, e) t = Sqrt(s) "
               "n = Div(d, t) y = Mul(n, g) [grid] u = RoiAlign(a, b, c) }",
     "LayerNormalization"},
    {"length-in-float", 13, NULL,
     "(int64[9] n) => (int64[9] y) <float one = {1}, float two = {2}> { f = Cast <to = 1> (n) a = "
     "Sub(f, one) b = Div(a, two) c = Floor(b) d = Add(c, one) y = Cast <to = 7> (d) }",
     "(int64[9] n) => (int64[9] y) <float one = {0.5}, float two = {2}> { f = Cast <to = 1> (n) a "
     "= Sub(f, one) b = Div(a, two) c = Floor(b) d = Add(c, one) y = Cast <to = 7> (d) }",
     "Mod"},
    {"length-in-float", 17, NULL,
     "(int64[9] n) => (int32[9] y) <float third = {0.25}, float[1] two = {2}> { f = Cast <to = 1> "
     "(n) a = Mul(two, f) b = Mul(a, third) c = Ceil(b) y = Cast <to = 6> (c) }",
     "(int64[9] n) => (int32[9] y) <float third = {0.25}, float[1] two = {2}> { f = Cast <to = 1> "
     "(n) a = Mul(two, f) b = Mul(a, third) c = Round(b) y = Cast <to = 6> (c) }",
     "Neg"},
    {"constant-beyond-fp16", 13, NULL,
     "(int64[9] n) => (float[9] y) <float k = {65535}> { w = Cast <to = 5> (n) c = Cast <to = 1> "
     "(w) y = Sub(c, k) }",
     "(int64[9] n) => (float[9] y) <float k = {65535}> { c = Cast <to = 1> (n) y = Sub(c, k) }",
     NULL},
    {"constant-beyond-fp16", 13, NULL,
     "(float[2,5] x) => (float[2,5] y) <float s = {0.125}, float k = {65535}> { q = "
     "QuantizeLinear(x, s) w = Cast <to = 6> (q) c = Cast <to = 1> (w) y = Sub(c, k) }",
     "(float[2,5] x) => (float[2,5] y) <float s = {0.125}, float k = {65535.5}> { q = "
     "QuantizeLinear(x, s) w = Cast <to = 6> (q) c = Cast <to = 1> (w) y = Sub(c, k) }",
     NULL},
    {"square-in-half", 13, NULL,
     "(float[2,5] x, float[2,5] z) => (float[2] y) <int64[1] a = {1}> { c = Mul(x, x) d = Mul(z, "
     "z) s = ReduceSum <keepdims = 0> (c, a) t = ReduceSum <keepdims = 0> (d, a) p = Mul(s, t) y = "
     "Sqrt(p) }",
     /* of what may be negative */
     "(float[2,5] x, float[2,5] z) => (float[2] y) <int64[1] a = {1}> { c = Mul(x, z) d = Mul(z, "
     "z) s = ReduceSum <keepdims = 0> (c, a) t = ReduceSum <keepdims = 0> (d, a) p = Mul(s, t) y = "
     "Sqrt(p) }",
     NULL},
    {"square-in-half", 13, NULL,
     "(float[2,5] x) => (float[2] y) <int64[1] a = {1}> { c = Mul(x, x) s = ReduceSum <keepdims = "
     "0> (c, a) y = Sqrt(s) }",
     "(float[2,5] x) => (float[2] y) <int64[1] a = {1}> { c = Exp(x) s = ReduceSum <keepdims = 0> "
     "(c, a) y = Sqrt(s) }",
     "ReduceMax"},
    {"square-in-half", 17, NULL,
     "(float[2,5] x, int64[1] b) => (float[2,1] y) <float k = {2}, int64[1] a = {1}> { c = Pow(x, "
     "k) s = ReduceSum(c, a) y = Sqrt(s) }",
     /* axes that are not known */
     "(float[2,5] x, int64[1] b) => (float[2,1] y) <float k = {2}> { c = Pow(x, k) s = "
     "ReduceSum(c, b) y = Sqrt(s) }",
     "ReduceMax"},
    {"square-in-half", 18, NULL, "(float[2,5] x) => (float[1,1] y) { y = ReduceL2(x) }",
     "(float[2,5] x) => (float[1,1] y) { y = ReduceL1(x) }", "ReduceMax"},
    {"decomposed-attention", 23, "trt11",
     "(float[2,2,3,4] q, float[2,2,4,5] k, float[2,2,5,6] v) => (float[2,2,3,6] y) "
     "<float c = {0.5}> { s = MatMul(q, k) a = Mul(s, c) p = Softmax(a) y = MatMul(p, v) }",
     "(float[2,2,3,4] q, float[2,2,4,5] k, float[2,2,5,6] v) => (float[2,2,3,6] y) "
     "<float c = {0.5}> { s = MatMul(q, k) a = Mul(s, c) p = Relu(a) y = MatMul(p, v) }",
     "Attention"},
    {"decomposed-attention", 23, "ort-cuda",
     "(float[1,2,3,4] q, float[1,5,2,4] k, float[1,2,5,6] v, float[3,5] m) => (float[1,2,3,6] y) "
     "<float c = {0.5}> { t = Transpose <perm = [0, 2, 3, 1]> (k) s = MatMul(q, t) a = Mul(s, c) "
     "b = Add(a, m) p = Softmax(b) y = MatMul(p, v) }",
     /* kernels do not broadcast a mask along the queries */
     "(float[1,2,3,4] q, float[1,5,2,4] k, float[1,2,5,6] v, float[1,5] m) => (float[1,2,3,6] y) "
     "<float c = {0.5}> { t = Transpose <perm = [0, 2, 3, 1]> (k) s = MatMul(q, t) a = Mul(s, c) "
     "b = Add(a, m) p = Softmax(b) y = MatMul(p, v) }",
     "Attention"},
    {"decomposed-attention", 18, "ort",
     "(float[2,2,3,4] q, float[2,2,4,5] k, float[2,2,5,6] v) => (float[2,2,3,6] y) { s = MatMul(q, "
     "k) p = Softmax(s) y = MatMul(p, v) }",
     /* nor heads of the values */
     "(float[2,2,3,4] q, float[2,2,4,5] k, float[2,1,5,6] v) => (float[2,2,3,6] y) { s = MatMul(q, "
     "k) p = Softmax(s) y = MatMul(p, v) }",
     "Attention"},
    {"decomposed-attention", 23, "ort",
     "(float[2,2,3,4] q, float[2,2,4,5] k, float[2,2,5,6] v) => (float[2,2,3,6] y) "
     "<float c = {2.0}> { s = MatMul(q, k) a = Mul(s, c) p = Softmax(a) y = MatMul(p, v) }",
     /* ONNX Runtime refuses such a scale */
     "(float[2,2,3,4] q, float[2,2,4,5] k, float[2,2,5,6] v) => (float[2,2,3,6] y) "
     "<float c = {-2.0}> { s = MatMul(q, k) a = Mul(s, c) p = Softmax(a) y = MatMul(p, v) }",
     "Attention"},
    {"decomposed-attention", 23, "ort",
     "(float[2,2,3,4] q, float[2,2,4,5] k, float[2,2,5,6] v) => (float[2,2,3,6] y) "
     "<float c = {0.5}> { s = MatMul(q, k) a = Div(s, c) p = Softmax(a) y = MatMul(p, v) }",
     /* 1e40 is no float */
     "(float[2,2,3,4] q, float[2,2,4,5] k, float[2,2,5,6] v) => (float[2,2,3,6] y) "
     "<float c = {1e-40}> { s = MatMul(q, k) a = Div(s, c) p = Softmax(a) y = MatMul(p, v) }",
     "Attention"},
};
enum { CASES = sizeof cases / sizeof *cases };

/* How many of the proposals are of the case's rule. */
static size_t propose(const struct rewrite_case *c, const struct ulp_model *model,
                      struct ulp_lint_proposals *out)
{
    const struct ulp_lint_options options = {.targets =
                                                 c->targets ? ulp_target_find(c->targets)->bit : 0};
    ck_ok(ulp_lint_propose(model, &options, 0x1p-24, out, &why));
    size_t count = 0;
    for (size_t i = 0; i < out->count; i++)
        count += strcmp(out->items[i].said.rule, c->rule) == 0;
    return count;
}

/* In the graph, or in a body. */
static bool has(const struct ulp_graph *graph, const char *op)
{
    bool found = false;
    for (size_t n = 0; n < graph->node_count && !found; n++) {
        const struct ulp_node *node = &graph->nodes[n];
        found = strcmp(node->op_type, op) == 0;
        for (size_t a = 0; a < node->attribute_count && !found; a++)
            found = node->attributes[a].graph && has(node->attributes[a].graph, op);
    }
    return found;
}

/* Where a case's graph stands. */
enum { MAIN, BRANCHES, CAPTURING, PLACES };

/* "(INPUTS) => (TYPE y) CONSTANTS { NODES }" as both branches of an If, with its constants inside
 * or around it. */
static void place_text(const char *text, int place, char out[4000])
{
    const char *arrow = strstr(text, ") => "), *result = arrow + 5, *end = strstr(result, " y) "),
               *rest = end + 4, *nodes = strstr(rest, "{ ");
    if (*rest == '<') /* constants have braces, too */
        for (nodes = strchr(rest, '>'); strncmp(nodes, "> { ", 4) != 0;)
            nodes = strchr(nodes + 1, '>');
    nodes += *nodes == '>' ? 2 : 0;
    const int inputs = (int)(arrow - text), type = (int)(end - result),
              constants = (int)(nodes - rest);
    const char *inner = place == BRANCHES ? rest : nodes;
    if (place == MAIN)
        snprintf(out, 4000, "%s", text);
    else
        snprintf(out, 4000,
                 "%.*s, bool[1] chosen) => %.*s given) %.*s { given = If <then_branch = () => %.*s "
                 "y) %s, else_branch = () => %.*s y) %s> (chosen) }",
                 inputs, text, type, result, place == CAPTURING ? constants : 0, rest, type, result,
                 inner, type, result, inner);
}

/* Integers and floats on both sides of 0; masked: the first row of five is -inf, and one more. */
static void run(const struct ulp_model *model, bool masked, struct ulp_tensor_set *out)
{
    struct ulp_tensor_set inputs = {0};
    struct ulp_arithmetic exact;
    struct ulp_program *program = NULL;
    for (size_t i = 0; i < ulp_model_input_count(model); i++) {
        const struct ulp_value_info info = ulp_model_input(model, i);
        struct ulp_tensor tensor = {0};
        ck_ok(ulp_tensor_create(&tensor, info.type, ULP_ELEMENT_COUNT, 0, info.rank, info.dims,
                                &why));
        for (size_t e = 0; e < tensor.count; e++)
            if (info.type == ULP_TYPE_BOOL)
                *(unsigned char *)tensor.data = 1;
            else if (info.type == ULP_TYPE_INT64)
                ((int64_t *)tensor.data)[e] = (int64_t)e - 4;
            else
                ((float *)tensor.data)[e] =
                    masked && e < 6 ? -INFINITY : (float)(((e + 3 * i) * 7 % 11) - 4.75F) / 3;
        ck_ok(ulp_tensor_set_add(&inputs, info.name, &tensor, &why));
    }
    ck_ok(ulp_arithmetic_find("mpfr:128", &exact, &why));
    ck_ok(ulp_program_create(model, &exact, 1, NULL, &program, &why));
    const struct ulp_run_options options = {.thread_count = 1};
    ck_ok(ulp_program_run(program, &inputs, &options, NULL, 0, out, NULL, &why));
    ulp_program_free(program);
    ulp_tensor_set_free(&inputs);
}

/* Each node rounds to 128 bits, and nothing here cancels more than a few of them: what is left is
 * that elements are read as doubles, of which those of nearly equal values may be neighbours. */
static void compare(const struct ulp_tensor_set *a, const struct ulp_tensor_set *b, int number)
{
    ck_assert_uint_eq(a->count, b->count);
    for (size_t o = 0; o < a->count; o++) {
        const struct ulp_tensor *x = &a->items[o].tensor, *y = &b->items[o].tensor;
        double largest = 0;
        ck_assert_uint_eq(x->count, y->count);
        ck_assert_int_eq(x->rank, y->rank);
        for (size_t e = 0; e < x->count; e++)
            if (isfinite(ulp_tensor_get(x, e)))
                largest = fmax(largest, fabs(ulp_tensor_get(x, e)));
        ck_assert(largest > 0);
        for (size_t e = 0; e < x->count; e++) {
            if (isinf(ulp_tensor_get(x, e)) && ulp_tensor_get(x, e) == ulp_tensor_get(y, e))
                continue;
            const double difference = fabs(ulp_tensor_get(x, e) - ulp_tensor_get(y, e));
            ck_assert_msg(difference <= 0x1p-51 * largest,
                          "case %d: element %zu is %.17g, not %.17g", number, e,
                          ulp_tensor_get(y, e), ulp_tensor_get(x, e));
        }
    }
}

TEST_LOOP(edits, 0, CASES *PLACES)
{
    const struct rewrite_case *c = &cases[_i / PLACES];
    const int place = _i % PLACES;
    char text[4000];
    place_text(c->found, place, text);
    struct proto bytes = onnx_text(c->opset, text);
    struct ulp_model *model = NULL, *edited = NULL;
    struct ulp_lint_proposals proposals;
    proto_write(&bytes, test_folder("found.onnx"));
    proto_free(&bytes);
    ck_ok(ulp_model_load(test_folder("found.onnx"), NULL, &model, &why));
    const size_t count = propose(c, model, &proposals);
    bool *taken = calloc(proposals.count + 1, sizeof *taken);
    ck_assert_msg(count == (place == MAIN ? 1 : 2), "case %d (%s, place %d): %zu edits",
                  _i / PLACES, c->rule, place, count);
    for (size_t i = 0; i < proposals.count; i++) {
        taken[i] = strcmp(proposals.items[i].said.rule, c->rule) == 0;
        ck_assert(!taken[i] || proposals.items[i].said.exact);
    }
    ck_ok(ulp_lint_write_edited(&proposals, taken, test_folder("edited.onnx"), &why));
    ck_ok(ulp_model_load(test_folder("edited.onnx"), NULL, &edited, &why));
    ck_assert_msg(!c->op || (has(edited->graph, c->op) && !has(model->graph, c->op)),
                  "case %d: no %s", _i / PLACES, c->op);
    /* a mask leaves a row without a largest element */
    const bool maskable = strcmp(c->rule, "exp-in-half") == 0 || strstr(c->found, "LogSumExp");
    for (int masked = 0; masked <= maskable; masked++) {
        struct ulp_tensor_set before = {0}, after = {0};
        run(model, masked, &before);
        run(edited, masked, &after);
        compare(&before, &after, _i / PLACES);
        ulp_tensor_set_free(&before);
        ulp_tensor_set_free(&after);
    }
    ulp_lint_proposals_free(&proposals);
    ulp_model_free(edited);
    ulp_model_free(model);
    free(taken);
}

TEST_LOOP(twins, 0, CASES *PLACES)
{
    const struct rewrite_case *c = &cases[_i / PLACES];
    char text[4000];
    place_text(c->clean, _i % PLACES, text);
    struct ulp_model *model = onnx_text_load(c->opset, text);
    struct ulp_lint_proposals proposals;
    ck_assert_msg(!propose(c, model, &proposals), "case %d (%s): its twin is edited", _i / PLACES,
                  c->rule);
    ulp_lint_proposals_free(&proposals);
    ulp_model_free(model);
}

/* A row without a case fails. */
TEST(rows)
{
    const char *rule;
    size_t count = 0;
    for (size_t r = 0; (rule = ulp_lint_rewrite_rule(r)); r++, count++) {
        size_t of_rows = 0, of_cases = 0;
        for (size_t k = 0; ulp_lint_rewrite_rule(k); k++)
            of_rows += strcmp(ulp_lint_rewrite_rule(k), rule) == 0;
        for (size_t c = 0; c < CASES; c++)
            of_cases += strcmp(cases[c].rule, rule) == 0;
        ck_assert_msg(of_cases >= of_rows, "%s: %zu rows, %zu cases", rule, of_rows, of_cases);
    }
    ck_assert_uint_gt(count, 15);
}

TEST_MAIN("rewrite", 0)
{
    tcase_add_checked_fixture(tests, test_folder_create, test_folder_remove);
}
