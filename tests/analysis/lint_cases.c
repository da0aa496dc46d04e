#include "lint_cases.h"

/* Weights of 2 x 2 in blocks along an axis. */
#define SCALES(scales, weights, axis, block)                                                 \
    "(float[1,2] x) => (float[1,2] y) <int8[2,2] w = {" weights "}, float[1,2] s = {" scales \
    "}> { "                                                                                  \
    "[d] d = DequantizeLinear <axis = " axis ", block_size = " block "> (w, s) y = MatMul(x, d) }"

#define ZEROS_8 "0, 0, 0, 0, 0, 0, 0, 0"
#define ZEROS_24 ZEROS_8 ", " ZEROS_8 ", " ZEROS_8

/* A MatMul by 2 x 2 weights, as floats and as codes; and by 16 x 16 codes, of which 80 are the
 * first number and 176 the second. */
#define FLOATS(weights) \
    "(float[1,2] x) => (float[1,2] y) <float[2,2] w = {" weights "}> { [m] y = MatMul(x, w) }"
#define CODES(type, codes, scale, zero)                                                  \
    "(float[1,2] x) => (float[1,2] y) <" type "[2,2] c = {" codes "}, float s = {" scale \
    "}, " type " z = {" zero "}> { [d] w = DequantizeLinear(c, s, z) [m] y = MatMul(x, w) }"
#define OPERANDS(codes)                                                                            \
    "(float[1,2] x) => (float[1,2] y) <int8[2,2] c = {" codes "}, float s = {0.01}, float[2] t = " \
    "{0.01, 0.02}, int8 z = {0}, int8[2] zz = {0, 0}> { q = QuantizeLinear(x, s, z) [m_quant] "    \
    "y_quantized = QLinearMatMul(q, s, z, c, t, zz, s, z) y = DequantizeLinear(y_quantized, s, "   \
    "z) }"
#define BIASED(code)                                                                             \
    "(float[1,1,1] x) => (float[1,1,1] y) <int8[1,1,1] c = {100}, float s = {0.1}, float t = "   \
    "{0.01}, int8 z = {0}, int32[1] b = {" code "}> { q = QuantizeLinear(x, s, z) [k_quant] "    \
    "y_quantized = QLinearConv(q, s, z, c, t, z, s, z, b) y = DequantizeLinear(y_quantized, s, " \
    "z) }"
#define TEN(code)                                                                                  \
    code ", " code ", " code ", " code ", " code ", " code ", " code ", " code ", " code ", " code \
         ", "
#define CACHES(scale)                                                                              \
    "(float[1,1,16] q, int8[1,1,2,16] pk, int8[1,1,2,16] pv, int32[1] l, int32[1] t) => "          \
    "(float[1,1,16] y, int8[1,1,3,16] nk, int8[1,1,3,16] nv) <float[1] s = {0.02}, float[1] v = "  \
    "{" scale                                                                                      \
    "}> { [a] y, nk, nv = com.microsoft.GroupQueryAttention <num_heads = 1, kv_num_heads = "       \
    "1, k_quant_type = \"PER_TENSOR\", v_quant_type = \"PER_TENSOR\", kv_cache_bit_width = 8>(q, " \
    "q, q, pk, pv, l, t, , , , , , s, v) }"
#define MANY(type, first, second, zero)                                                          \
    "(float[1,16] x) => (float[1,16] y) <" type "[16,16] c = {" TEN(first) TEN(first) TEN(first) \
        TEN(first) TEN(first) TEN(first) TEN(first) TEN(first) second                            \
        "...}, float s = {0.01}, " type " z = {" zero                                            \
        "}> { [d] w = DequantizeLinear(c, s, z) y = MatMul(x, w) }"

const struct lint_case lint_cases[] = {
    {.rule = "option-removed",
     .opset = 17,
     .found = CHAIN,
     .count = 1,
     .says = "refused",
     .targets = "trt11",
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
     .targets = "trt8",
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
    /* the attribute says the type, and not the scale */
    {.rule = "type-conflict",
     .opset = 23,
     .count = 1,
     .says = "n: input 0 is FP32 and input 1 is FP16",
     .found = "(float[2] x) => (float[2] y) <float16 s = {1}, int8[2] w = {1, 2}> { d = "
              "DequantizeLinear(w, s) [n] y = Mul(x, d) }",
     .clean = "(float[2] x) => (float[2] y) <float16 s = {1}, int8[2] w = {1, 2}> { d = "
              "DequantizeLinear<output_dtype=1>(w, s) [n] y = Mul(x, d) }"},
    {.rule = "type-later",
     .opset = 10,
     .count = 1,
     .says = "of FP32, which it takes from opset 11 on: here it is 10",
     .targets = "ort-cuda",
     .found = "(float[2] x) => (bool[2] y) { [n] y = Equal(x, x) }",
     .clean = "(float[2] x) => (bool[2] y) { a = Cast<to=6>(x) [n] y = Equal(a, a) }"},
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
    /* a mask is cut to the length of the text; what is multiplied behind a view is a weight */
    {.rule = "constant-beyond-fp16",
     .opset = 17,
     .count = 1,
     .says = "m: constant 'k' reaches 3.4e+38",
     .found = "(float[2] x) => (float[2] y) <float[3] k = {0, -3.4e38, 0}, int64[1] b = {0}, "
              "int64[1] e = {2}> { c = Slice(k, b, e) [m] y = Add(x, c) }",
     .clean = "(float[2,2] x) => (float[2,2] y) <float[2,2] k = {0, -3.4e38, 0, 0}> { c = "
              "Transpose(k) [m] y = MatMul(x, c) }"},
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
    {.rule = "eps-scaled",
     .opset = 17,
     .count = 1,
     .says = "e: epsilon 0.001 is added to what 'd' has divided by its largest element",
     .found =
         "(float[2,4] x) => (float[2,4] y) <float e = {0.001}> { a = Abs(x) m = "
         "ReduceMax<axes=[-1]>(a) [d] d = Div(x, m) s = Mul(d, d) r = ReduceMean<axes=[-1]>(s) "
         "[e] t = Add(r, e) q = Sqrt(t) y = Div(d, q) }",
     .clean = "(float[2,4] x, float[2,1] m) => (float[2,4] y) <float e = {0.001}> { [d] d = Div(x, "
              "m) s = Mul(d, d) r = ReduceMean<axes=[-1]>(s) [e] t = Add(r, e) q = Sqrt(t) y = "
              "Div(d, q) }"},
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
    {.rule = "scale-after-product",
     .opset = 17,
     .count = 1,
     .says = "n: scales the product 'p', which is stored before",
     .found = "(float[2,2] q, float[2,2] k) => (float[2,2] y) <float c = {0.125}> { [p] p = "
              "MatMul(q, k) [n] y = Mul(c, p) }",
     .clean = "(float[2,2] q, float[2,2] k) => (float[2,2] y, float[2,2] p) <float c = {0.125}> { "
              "[p] p = MatMul(q, k) [n] y = Mul(c, p) }"},
    {.rule = "scale-after-product",
     .opset = 17,
     .count = 1,
     .says = "n: scales the product 'p', which is stored before",
     .found = "(float[2,2] q, float[2,2] k) => (float[2,2] y) <float c = {8}> { [p] p = MatMul(q, "
              "k) [n] y = Div(p, c) }",
     .clean = "(float[2,2] q, float[2,2] k) => (float[2,2] y) <float c = {8}> { [p] p = MatMul(q, "
              "k) [n] y = Div(c, p) }"},
    {.rule = "log-of-softmax",
     .opset = 17,
     .count = 1,
     .says = "n: the logarithm of 's'",
     .found = "(float[2] x) => (float[2] y) { [s] s = Softmax(x) [n] y = Log(s) }",
     .clean = "(float[2] x) => (float[2] y) { [s] s = Sigmoid(x) [n] y = Log(s) }"},
    {.rule = "variance-cancels",
     .opset = 17,
     .count = 1,
     .says = "n: the mean of squares 'm' less the square 'q'",
     .found = "(float[2] x) => (float[1] y) { s = Mul(x, x) [m] m = ReduceMean<axes=[0]>(s) a = "
              "ReduceMean<axes=[0]>(x) [q] q = Mul(a, a) [n] y = Sub(m, q) }",
     .clean = "(float[2] x, float[2] z) => (float[1] y) { s = Mul(z, z) [m] m = "
              "ReduceMean<axes=[0]>(s) a = ReduceMean<axes=[0]>(x) [q] q = Mul(a, a) [n] y = "
              "Sub(m, q) }"},
    {.rule = "exponential-plain",
     .opset = 17,
     .count = 1,
     .says = "n: Softplus is 0 where",
     .targets = "coreml-ane",
     .found = "(float[2] x) => (float[2] y) { [n] y = Softplus(x) }",
     .clean = "(float[2] x) => (float[2] y) { [n] y = Sigmoid(x) }"},
    {.rule = "conv-webgpu",
     .opset = 17,
     .count = 1,
     .says = "of 6 input channels and 4 output channels",
     .targets = "ort-webgpu",
     .found =
         "(float[1,6,5,5] x) => (float[1,4,3,3] y) <float[4,6,1,1] w = {" ZEROS_24 "}> { [n] y = "
         "Conv <strides = [2, 2]> (x, w) }",
     .clean =
         "(float[1,6,5,5] x) => (float[1,4,5,5] y) <float[4,6,1,1] w = {" ZEROS_24 "}> { [n] y = "
         "Conv (x, w) }"},
    {.rule = "norm-webgpu",
     .opset = 17,
     .count = 1,
     .says = "n: its first factor is a BatchNormalization of [n, c]",
     .targets = "ort-webgpu",
     .found = "(float[3,2] x) => (float[3,1] y) <float[2] s = {1, 2}, float[2,1] w = {1, 2}, "
              "float[1] b = {1}> { [m] t = BatchNormalization(x, s, s, s, s) [n] p = MatMul(t, w) "
              "y = Add(p, b) }",
     .clean = "(float[3,2] x) => (float[3,1] y) <float[2] s = {1, 2}, float[2,1] w = {1, 2}, "
              "float[1] b = {1}> { [m] t = BatchNormalization(x, s, s, s, s) u = Relu(t) [n] p = "
              "MatMul(u, w) y = Add(p, b) }"},
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
    /* no operator normalises over the first axis */
    {.rule = "decomposed-layernorm",
     .opset = 17,
     .count = 1,
     .says = "out: 7 nodes",
     .found =
         "(float[2,8] x) => (float[2,8] y) <float two = {2}, float e = {1e-5}> { m = "
         "ReduceMean<axes=[0,1]>(x) d = Sub(x, m) q = Pow(d, two) v = ReduceMean<axes=[0,1]>(q) "
         "w = Add(v, e) r = Sqrt(w) [out] y = Div(d, r) }",
     .clean = "(float[2,8] x) => (float[2,8] y) <float two = {2}, float e = {1e-5}> { m = "
              "ReduceMean<axes=[0]>(x) d = Sub(x, m) q = Pow(d, two) v = ReduceMean<axes=[0]>(q) "
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
    /* time first; sizes that follow from each other are no fault */
    {.rule = "shape-fixed",
     .opset = 17,
     .count = 1,
     .says = "'N' can be 1, and cannot be 2",
     .found = "(float[T,N,4] x) => (float y) <int64[2] s = {-1, 4}, int64[3] f = {0, 1, 4}> { a = "
              "Reshape(x, f) y = Reshape(a, s) }",
     .clean = "(float[N,4] x, float[M,4] z) => (float y) { y = Add(x, z) }"},

    {.rule = "qdq-asymmetric",
     .opset = 17,
     .count = 1,
     .says = "q: the zero point is 3 (INT8), and of 2 nodes in all it is not 0",
     .found = QDQ("3", "0", "0.5, 0.25", "2"),
     .clean = QDQ("0", "0", "0.5, 0.25", "2")},
    {.rule = "qdq-type",
     .opset = 17,
     .count = 1,
     .targets = "trt10",
     .says = "b: the type is INT32, and of 1 node in all it is one that TensorRT 10 does not take",
     .found = "(float[2] x) => (float[2] y) <float s = {1}, int32[2] c = {1, 2}> { [b] b = "
              "DequantizeLinear(c, s) y = Add(x, b) }",
     .clean = QDQ("0", "0", "0.5, 0.25", "2")},
    {.rule = "qdq-type",
     .opset = 17,
     .count = 1,
     .targets = "trt-rtx",
     .says = "b: the type is UINT8",
     .found = "(float[2] x) => (float[2] y) <float s = {1}, uint8[2] c = {1, 2}> { [b] b = "
              "DequantizeLinear(c, s) y = Add(x, b) }",
     .clean = "(float[2] x) => (float[2] y) <float s = {1}, uint8 z = {0}> { q = "
              "QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }"},
    {.rule = "operator-missing",
     .opset = 17,
     .count = 2,
     .targets = "trt10",
     .says = "q: TensorRT 10's parser does not have DynamicQuantizeLinear (1 node)",
     .found = "(float[1,2] x) => (int32[1,1] y) <int8[2,1] w = {1, 2}> { [q] q, s, z = "
              "DynamicQuantizeLinear(x) y = MatMulInteger(q, w, z) }",
     .clean = QDQ("0", "0", "0.5, 0.25", "2")},
    /* TensorRT 8 has none that came later */
    {.rule = "operator-missing",
     .opset = 20,
     .count = 1,
     .targets = "trt8",
     .says = "g: TensorRT has Gelu (1 node) from 10.0 on",
     .found = "(float[2] x) => (float[2] y) { [g] y = Gelu(x) }",
     .clean = "(float[2] x) => (float[2] y) { [g] y = Relu(x) }"},
    {.rule = "operator-missing",
     .opset = 17,
     .count = 1,
     .targets = "trt-rtx",
     .says = "n: TensorRT-RTX's parser does not have NonZero",
     .found = "(float[2] x) => (int64[1,n] y) { [n] y = NonZero(x) }",
     .clean = "(float[2] x) => (float[2] y) { [n] y = Relu(x) }"},
    {.rule = "parser-argument",
     .opset = 18,
     .count = 1,
     .targets = "trt-rtx",
     .says = "r: TensorRT-RTX's parser takes this input of ReduceSum as a constant alone",
     .found = "(float[2] x, int64[1] a) => (float[1] y) { [r] y = ReduceSum(x, a) }",
     .clean = "(float[2] x) => (float[1] y) <int64 a = {0}> { [r] y = ReduceSum(x, a) }"},
    {.rule = "parser-argument",
     .opset = 19,
     .count = 1,
     .targets = "trt10",
     .says = "c: TensorRT 10's parser takes no FLOAT8E5M2",
     .found = "(float[2] x) => (float[2] y) { [c] q = Cast<to = 19>(x) y = Cast<to = 1>(q) }",
     .clean = "(float[2] x) => (float[2] y) { [c] q = Cast<to = 17>(x) y = Cast<to = 1>(q) }"},
    {.rule = "parser-argument",
     .opset = 23,
     .count = 1,
     .targets = "trt11",
     .says = "s: TensorRT 11's parser takes no softcap of Attention",
     .found =
         "(float16[1,2,4,8] q, float16[1,2,4,8] k, float16[1,2,4,8] v) => (float16[1,2,4,8] y) { "
         "[s] y = Attention<softcap = 2.0>(q, k, v) }",
     .clean =
         "(float16[1,2,4,8] q, float16[1,2,4,8] k, float16[1,2,4,8] v) => (float16[1,2,4,8] y) { "
         "[s] y = Attention<scale = 2.0>(q, k, v) }"},
    {.rule = "operator-newer",
     .opset = 23,
     .count = 1,
     .targets = "trt10",
     .says = "n: TensorRT has RMSNormalization (1 node) from 10.15 on",
     .found = "(float[2,2] x, float[2] s) => (float[2,2] y) { [n] y = RMSNormalization(x, s) }",
     .clean = "(float[2,2] x, float[2] s) => (float[2,2] y) { [n] y = LayerNormalization(x, s) }"},
    {.rule = "qdq-clips",
     .opset = 17,
     .count = 1,
     .says =
         "q: the zero point is 127, the largest INT8: every positive value of 'n' (Mul) becomes 0",
     .found =
         "(float[2] x) => (float[2] y) <float s = {0.5}, int8 z = {127}> { [n] n = Mul(x, x) [q] q "
         "= QuantizeLinear(n, s, z) y = DequantizeLinear(q, s, z) }",
     .clean = "(float[2] x) => (float[2] y) <float s = {0.5}, int8 z = {127}> { [n] n = "
              "LogSoftmax(x) [q] q = QuantizeLinear(n, s, z) y = DequantizeLinear(q, s, z) }"},
    {.rule = "constant-cut",
     .opset = 17,
     .count = 1,
     .says = "d: 1 of 4 INT32 codes of 'c' are the largest there is",
     .found = "(float[1,4] x) => (float[1,4] y) <int32[4] c = {2147483647, -5, 7, 9}, float s = "
              "{1e-9}> { [d] b = DequantizeLinear(c, s) y = Add(x, b) }",
     .clean = "(float[1,4] x) => (float[1,4] y) <int32[4] c = {2147483646, -5, 7, 9}, float s = "
              "{1e-9}> { [d] b = DequantizeLinear(c, s) y = Add(x, b) }"},
    {.rule = "codes-misread",
     .opset = 17,
     .count = 1,
     .says = "d: of 256 UINT8 codes of 'c' 176 are in the lower third, 0 in the middle and 80 in "
             "the upper one",
     .found = MANY("uint8", "250", "3", "0"),
     .clean = MANY("uint8", "120", "131", "128")},
    {.rule = "codes-misread",
     .opset = 17,
     .count = 1,
     .says = "d: of 256 INT8 codes of 'c' 80 are the zero point, 0, and none is below it",
     .found = MANY("int8", "0", "9", "0"),
     .clean = MANY("int8", "-4", "9", "0")},
    {.rule = "cache-scale-one",
     .opset = 17,
     .count = 1,
     .says = "a: the scale of its values is 1: its cache holds whole numbers",
     .found = CACHES("1"),
     .clean = CACHES("0.03")},
    /* codes read as another type, lost signs, another zero point or scale; a value a step away is
     * the original's, and so is a transposed one */
    {.rule = "constant-off",
     .opset = 17,
     .count = 1,
     .original = FLOATS("0.5, -0.25, 1, -1"),
     .says = "d: 2 of 4 values that 'm' (MatMul) reads of 'c' are not those of the original's 'w' "
             "within a step, by up to 256 steps: which all codes of the type make at once",
     .found = CODES("uint8", "50, 231, 100, 156", "0.01", "0"),
     .clean = CODES("int8", "50, -24, 100, -100", "0.01", "0")},
    {.rule = "constant-off",
     .opset = 17,
     .count = 1,
     .original = FLOATS("0.5, -0.25, 1, -1"),
     .says = "by up to 100 steps: negative ones are 0",
     .found = CODES("int8", "50, 0, 100, 0", "0.01", "0"),
     .clean = "(float[1,2] x) => (float[1,2] y) <int8[2,2] c = {50, 100, -25, -100}, float s = "
              "{0.01}> { d = DequantizeLinear(c, s) w = Transpose(d) [m] y = MatMul(x, w) }"},
    {.rule = "constant-off",
     .opset = 17,
     .count = 1,
     .original = FLOATS("0.5, -0.25, 1, -1"),
     .says = "all by 128 steps: another zero point",
     .found = CODES("uint8", "178, 103, 228, 28", "0.01", "0"),
     .clean = CODES("uint8", "178, 103, 228, 28", "0.01", "128")},
    {.rule = "constant-off",
     .opset = 17,
     .count = 1,
     .original = FLOATS("0.5, -0.25, 1, -1"),
     .says = "m: 4 of 4 values that 'm' (MatMul) reads of 'w' are not those of the original's 'w' "
             "within a step, by up to 4.19e+06 steps: all are the original's times 2",
     .found = FLOATS("1, -0.5, 2, -2"),
     .clean = FLOATS("0.50000006, -0.25, 1, -1")},
    {.rule = "constant-off",
     .opset = 17,
     .count = 1,
     .original = FLOATS("0.5, -0.25, 1, -1"),
     .says = "m_quant: 2 of 4 values that 'm_quant' (QLinearMatMul) reads of 'c' are not those of "
             "the original's 'w' within a step, by up to 50 steps: negative ones are 0",
     .found = OPERANDS("50, 0, 100, 0"),
     .clean = OPERANDS("50, -12, 100, -50")},
    /* a bias counts in steps of both scales */
    {.rule = "constant-off",
     .opset = 17,
     .count = 1,
     .original = "(float[1,1,1] x) => (float[1,1,1] y) <float[1,1,1] w = {1}, float[1] b = {3}> { "
                 "[k] y = Conv(x, w, b) }",
     .says =
         "k_quant: 1 of 1 values that 'k_quant' (QLinearConv) reads of 'b' are not those of the "
         "original's 'b' within a step, by up to 3e+03 steps",
     .found = BIASED("0"),
     .clean = BIASED("3000")},
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
    {.rule = "qdq-passed",
     .opset = 21,
     .count = 1,
     .says = "'n' (Transpose) behind it is not quantised again",
     .targets = "ort",
     .found = "(float[2,3] x) => (float[3,2] y) <float s = {1}, int8 z = {0}> { q = "
              "QuantizeLinear(x, s, z) [d] d = DequantizeLinear(q, s, z) [n] y = Transpose(d) }",
     .clean = "(float[2,3] x) => (float[3,2] y) <float s = {1}, int8 z = {0}> { q = "
              "QuantizeLinear(x, s, z) [d] d = DequantizeLinear(q, s, z) [n] t = Transpose(d) [m] "
              "e = QuantizeLinear(t, s, z) [o] y = DequantizeLinear(e, s, z) }"},
    {.rule = "qdq-passed",
     .opset = 21,
     .count = 1,
     .says = "'n' (MatMul) behind it becomes a Gemm behind a Reshape",
     .targets = "ort",
     .found = "(float[2,3,2] x) => (float[2,3,1] y) <float s = {1}, int8 z = {0}, float[2,1] w = "
              "{1, 2}, float[1] b = {1}> { q = QuantizeLinear(x, s, z) [d] d = DequantizeLinear(q, "
              "s, z) [n] p = MatMul(d, w) y = Add(b, p) }",
     .clean = "(float[3,2] x) => (float[3,1] y) <float s = {1}, int8 z = {0}, float[2,1] w = {1, "
              "2}, float[1] b = {1}> { q = QuantizeLinear(x, s, z) [d] d = DequantizeLinear(q, s, "
              "z) [n] p = MatMul(d, w) y = Add(b, p) }"},
    {.rule = "qdq-rows",
     .opset = 17,
     .count = 1,
     .targets = "ort",
     .says = "n: its weights have a scale for each row",
     .found =
         "(float[1,2] x) => (float[1,1] y) <float s = {1}, uint8 z = {3}, int8[2,1] w = {1, "
         "2}, float[2] t = {1, 2}> { q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) "
         "e = DequantizeLinear<axis = 0>(w, t) [n] y = MatMul(d, e) }",
     .clean =
         "(float[1,2] x) => (float[1,1] y) <float s = {1}, uint8 z = {3}, int8[2,1] w = {1, "
         "2}, float[2] t = {1, 2}> { q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) "
         "e = DequantizeLinear<axis = 0>(w, t) [n] m = MatMul(d, e) r = QuantizeLinear(m, s, z) "
         "y = DequantizeLinear(r, s, z) }"},
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
    /* 100 and 29 beside 255 are 32,895; 100 and 28 fit */
    {.rule = "bytes-saturate",
     .opset = 17,
     .count = 1,
     .targets = "ort",
     .says = "n: neighbouring weights add up to 129, more than 128, in 1 of 1 product of unsigned "
             "by signed bytes",
     .found = "(uint8[1,3] x) => (int32[1,1] y) <int8[3,1] w = {100, 29, 127}> { [n] y = "
              "MatMulInteger(x, w) }",
     .clean = "(uint8[1,3] x) => (int32[1,1] y) <int8[3,1] w = {100, 28, 127}> { [n] y = "
              "MatMulInteger(x, w) }"},
    /* neighbours are channels of a position; one channel in and out of a group is exact */
    {.rule = "bytes-saturate",
     .opset = 17,
     .count = 1,
     .targets = "ort",
     .says = "n: neighbouring weights add up to 200, more than 128, in 1 of 1 product",
     .found = "(float[1,2,1,2] x) => (float y) <float s = {0.5}, uint8 z = {3}, int8 o = {0}, "
              "int8[1,2,1,2] w = {100, 0, 100, 0}> { q = QuantizeLinear(x, s, z) d = "
              "DequantizeLinear(q, s, z) dw = DequantizeLinear(w, s, o) [n] y = Conv(d, dw) }",
     .clean = "(float[1,2,1,2] x) => (float y) <float s = {0.5}, uint8 z = {3}, int8 o = {0}, "
              "int8[1,2,1,2] w = {100, 100, 0, 0}> { q = QuantizeLinear(x, s, z) d = "
              "DequantizeLinear(q, s, z) dw = DequantizeLinear(w, s, o) [n] y = Conv(d, dw) }"},
    {.rule = "bytes-saturate",
     .opset = 17,
     .count = 1,
     .targets = "ort",
     .says = "n: neighbouring weights add up to 200",
     .found = "(float[1,1,1,2] x) => (float y) <float s = {0.5}, int8 z = {3}, int8 o = {0}, "
              "int8[2,1,1,2] w = {100, 100, 0, 0}> { q = QuantizeLinear(x, s, z) d = "
              "DequantizeLinear(q, s, z) dw = DequantizeLinear(w, s, o) [n] y = Conv(d, dw) }",
     .clean = "(float[1,2,1,2] x) => (float y) <float s = {0.5}, int8 z = {3}, int8 o = {0}, "
              "int8[2,1,1,2] w = {100, 100, 0, 0}> { q = QuantizeLinear(x, s, z) d = "
              "DequantizeLinear(q, s, z) dw = DequantizeLinear(w, s, o) [n] y = Conv<group = 2>(d, "
              "dw) }"},
    /* UINT8 weights, and signed bytes that stay signed, are exact */
    {.rule = "bytes-saturate",
     .opset = 17,
     .count = 1,
     .targets = "ort",
     .says = "n: neighbouring weights add up to 254",
     .found = "(uint8[1,2] x) => (int32[1,1] y) <int8[2,1] w = {127, 127}> { [n] y = "
              "MatMulInteger(x, w) }",
     .clean = "(uint8[1,2] x, int8[1,2] t) => (int32[1,1] y, int32[1,1] u) <uint8[2,1] w = {255, "
              "255}, int8[2,1] v = {127, 127}, int8 z = {0}> { [n] y = MatMulInteger(x, w) u = "
              "MatMulInteger(t, v, z) }"},
    /* a Gemm that turns its weights stays as it is */
    {.rule = "weights-coded",
     .opset = 21,
     .count = 1,
     .targets = "ort",
     .says = "1 product of dequantised weights rounds the other factor to INT8",
     .found = "(float[1,2] x) => (float[1,1] y) <float s = {1}, int8[2,1] w = {1, 2}> { d = "
              "DequantizeLinear(w, s) [n] y = MatMul(x, d) }",
     .clean = "(float[1,2] x) => (float[1,1] y) <float s = {1}, int8[1,2] w = {1, 2}> { d = "
              "DequantizeLinear(w, s) [n] y = Gemm<transB = 1>(x, d) }"},
    /* a NaN among scales */
    {.rule = "scale-nan",
     .opset = 21,
     .count = 1,
     .says = "d: 1 of 2 scales is NaN or infinite, the first is number 1: all that they scale "
             "becomes NaN",
     .found = SCALES("1, nan", "127, 1, 100, 2", "0", "2"),
     .clean = SCALES("1, 0.5", "127, 1, 100, 2", "0", "2")},
    {.rule = "scale-nan",
     .opset = 21,
     .count = 1,
     .says = "d: 1 of 2 stored numbers is NaN or infinite, the first is number 1",
     .found = "(float[1,2] x) => (float[1,2] y) <fp8[2] w = {1, nan}, float s = {2}> "
              "{ [d] d = DequantizeLinear(w, s) y = Mul(x, d) }",
     .clean = SCALES("1, 0.5", "127, 1, 100, 2", "0", "2")},
    {.rule = "scale-zero",
     .opset = 21,
     .count = 1,
     .says = "d: 2 elements that are not zero have a scale of zero, the first such scale is number "
             "1: they become 0",
     .found = SCALES("1, 0", "127, 1, 100, 2", "0", "2"),
     .clean = SCALES("1, 0", "127, 0, 100, 0", "0", "2")},
    {.rule = "scale-subnormal",
     .opset = 21,
     .count = 1,
     .says = "d: 1 of 2 scales are below 2^-126, the smallest normal FLOAT",
     .found = SCALES("1, 1e-40", "127, 1, 100, 2", "0", "2"),
     .clean = SCALES("1, 1e-30", "127, 1, 100, 2", "0", "2")},
    {.rule = "scale-axis",
     .opset = 21,
     .count = 1,
     .says = "d: blocks of 2 lie along axis 1, and 'm' (MatMul) sums along the other one",
     .found =
         "(float[1,2] x) => (float[1,2] y) <int8[2,2] w = {127, 1, 100, 2}, float[2,1] s = {1, 1}> "
         "{ [d] d = DequantizeLinear <axis = 1, block_size = 2> (w, s) [m] y = MatMul(x, d) }",
     .clean = SCALES("1, 1", "127, 1, 100, 2", "0", "2")},
    {.rule = "scale-axis", /* a bias is summed along no axis */
     .opset = 21,
     .count = 1,
     .says = "d: blocks of 2 lie along axis 0, and 'm' (Gemm) sums along the other one",
     .found = "(float[2,2] x, float[2,2] c) => (float[2,2] y) <int8[2,2] w = {127, 1, 100, 2}, "
              "float[1,2] s = {1, 1}> { [d] d = DequantizeLinear <axis = 0, block_size = 2> (w, s) "
              "[m] y = Gemm(d, x, c) }",
     .clean = "(float[2,2] x, float[2,2] c) => (float[2,2] y) <int8[2,2] w = {127, 1, 100, 2}, "
              "float[1,2] s = {1, 1}> { [d] d = DequantizeLinear <axis = 0, block_size = 2> (w, s) "
              "[m] y = Gemm(c, x, d) }"},
    {.rule = "scale-off",
     .opset = 21,
     .count = 1,
     .says = "d: in 1 of 4 blocks no element is above 63.5, half of the largest INT8, as one is in "
             "the others; the first has scale number 3",
     .found = "(float[1,2] x) => (float[1,4] y) <int8[2,4] w = {127, 127, 127, 1, 100, 2, 3, 63}, "
              "float[1,4] s = "
              "{1, 1, 1, 1}> { [d] d = DequantizeLinear <axis = 0, block_size = 2> (w, s) y = "
              "MatMul(x, d) }",
     .clean = "(float[1,2] x) => (float[1,4] y) <int8[2,4] w = {127, 127, 127, 1, 100, 2, 3, 64}, "
              "float[1,4] s = "
              "{1, 1, 1, 1}> { [d] d = DequantizeLinear <axis = 0, block_size = 2> (w, s) y = "
              "MatMul(x, d) }"},
};
const int lint_case_count = sizeof lint_cases / sizeof *lint_cases;
