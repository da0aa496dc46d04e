/* What single operators need beyond the row's own text. Derivations of bounds: u is what a step
 * rounds by (unit_of in check_operators.c), values lie in [-2, 2] unless a range is given, K is the
 * number of products of a sum and its magnitude sum |a||b| at most 4 K. */
#include "cases.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* most rows end early */

#define Q(shape) shape " f[]{0.0625} u[]{128} "
#define POOL "g[1,2,5,5]", "kernel_shape=3,3; strides=2,2; pads=1,1,1,1"

/* clang-format off */
const struct exemption exemptions[] = {
    {"If", "runs a graph: tests/run/check_bodies.c"},
    {"Loop", "runs a graph: tests/run/check_bodies.c"},
    {"Scan", "runs a graph: tests/run/check_bodies.c"},
    {0},
};
/* clang-format on */

/* clang-format off */
const struct hint hints[] = {
    /* domains of functions, so that most values are numbers */
    {"Acos", 0, "f[2,3,4](-1,1)"},
    {"Acosh", 0, "f[2,3,4](1,4)"},
    {"Asin", 0, "f[2,3,4](-1,1)"},
    {"Atanh", 0, "f[2,3,4](-1,1)"},
    {"Log", 0, "f[2,3,4](0,4)"},
    {"Sqrt", 0, "f[2,3,4](0,4)"},
    {"Pow", 0, "f[2,3,4](0.0625,2) g[2,3,4]"},
    {"Pow", 0, "g[2,3,4] i[2,3,4](0,4)"},
    {"ReduceLogSum", 0, "f[2,3,4](0.0625,2)"},
    {"Mod", 0, "f[2,3,4] f[2,3,4](0.5,2)"},
    {"Exp", 0, "f[2,3,4](-20,12)"}, /* overflows and underflows FP16 */
    {"Exp", 0, "g[2,3,4]"},

    /* integers */
    {"BitShift", 0, "u[2,3](0,255) u[2,3](0,7)"},
    {"BitwiseAnd", 0, "u[2,3](0,255) u[2,3](0,255)"},
    {"BitwiseNot", 0, "u[2,3](0,255)"},
    {"BitwiseOr", 0, "u[2,3](0,255) u[2,3](0,255)"},
    {"BitwiseXor", 0, "u[2,3](0,255) u[2,3](0,255)"},

    /* normalisations and pools */
    {"BatchNormalization", 7, "g[2,3] g[3] g[3] g[3] f[3](0.5,2)"},
    {"BatchNormalization", 9, "g[2,3,4] g[3] g[3] g[3] f[3](0.5,2)"},
    {"BatchNormalization", 14, "g[2,3,4] g[3] g[3] g[3] f[3](0.5,2)"},
    {"GroupNormalization", 18, "g[2,4,3] g[2] g[2]", "num_groups=2"},
    {"GroupNormalization", 21, "g[2,4,3] g[4] g[4]", "num_groups=2"},
    {"InstanceNormalization", 0, "g[2,3,4] g[3] g[3]"},
    {"LRN", 0, "g[1,5,2,2]", "size=3"},
    {"LayerNormalization", 0, "g[2,3,4] g[4] g[4]"},
    {"MeanVarianceNormalization", 0, "g[2,3,2,2]"},
    {"RMSNormalization", 0, "g[2,3,4] g[4]"},
    {"SimplifiedLayerNormalization", 0, "g[2,3,4] g[4]"},
    {"ms.SkipLayerNormalization", 0, "g[2,3,4] g[2,3,4] g[4] g[4] g[4]"},
    {"ms.SkipSimplifiedLayerNormalization", 0, "g[2,3,4] g[2,3,4] g[4] g[4]"},
    {"ms.BranchwiseRMSNorm", 0, "g[2,3,4] g[3,4]"},
    {"ms.GatedAdd", 0, "g[2,3,4] g[2,3,4] g[2,3,1]"},
    {"ms.GatedRMSNorm", 0, "g[2,3,4] g[2] g[2,3,4]"},
    {"ms.LinearAttentionGate", 0, "g[2,3,4] g[4] g[4] g[2,3,4]"},
    {"ms.ScaledSiLU", 0, "g[2,3,4] f[]{0.75}"},
    {"ms.EmbedLayerNormalization", 0, "j[2,3](0,4) j[2,3](0,1) g[5,4] g[6,4] g[2,4] g[4] g[4] "
                                      "j[2,3](0,1)"},
    {"ms.BiasGelu", 0, "g[2,3,4] g[4]"},
    {"ms.BiasSoftmax", 0, "g[2,3,4] g[2,1,4]", "axis=2; is_inner_broadcast=1"},
    {"AveragePool", 0, POOL},
    {"LpPool", 0, POOL},
    {"LpPool", 0, "g[1,2,5,5]", "kernel_shape=2,2; p=3"},
    {"GlobalLpPool", 0, "g[2,3,4]"},
    {"GlobalLpPool", 0, "g[2,3,4]", "p=3"},
    {"MaxPool", 0, POOL},
    {"MaxUnpool", 0, "f[1,1,2,2] i[1,1,2,2]{5,7,13,15}", "kernel_shape=2,2; strides=2,2"},

    /* made from sizes, or random */
    {"BlackmanWindow", 0, "i[]{10}"},
    {"HammingWindow", 0, "i[]{10}"},
    {"HannWindow", 0, "i[]{10}"},
    {"Bernoulli", 0, "f[2,3,4](0,1)"},
    {"Multinomial", 0, "f[2,4]", "sample_size=3"},
    {"RandomNormal", 0, NULL, "shape=2,3"},
    {"RandomUniform", 0, NULL, "shape=2,3"},
    {"Range", 0, "f[]{1} f[]{4} f[]{0.5}"},
    {"AffineGrid", 0, "f[1,2,3] i[4]{1,1,3,4}"},
    {"Constant", 0, NULL, "value=f[2,2]{1,-2,3,0.5}"},
    {"ConstantOfShape", 0, "i[2]{2,3}"},
    {"EyeLike", 0, "f[3,4]"},
    {"OneHot", 0, "i[3](0,3) i[]{4} f[2]{0,1}"},
    {"MelWeightMatrix", 0, "i[]{4} i[]{16} i[]{8000} f[]{0} f[]{4000}", NULL, 8, 1},

    /* quantised */
    {"DequantizeLinear", 0, Q("u[2,3](0,255)")},
    {"QuantizeLinear", 0, Q("f[2,3]")},
    {"QuantizeLinear", 21, "f[2,3] f[]{0.0625} e[]{0}"},
    {"ms.DequantizeLinear", 0, Q("u[2,3](0,255)")},
    {"ms.QuantizeLinear", 0, Q("f[2,3]")},
    {"trt.DequantizeLinear", 0, "n[2,3](-8,7) f[]{0.0625}"},
    {"trt.QuantizeLinear", 0, "f[2,3] f[]{0.0625} e[1]{0}"},
    {"trt.TRT_FP4DynamicQuantize", 0, "g[2,32] f[]{0.0078125}"},
    {"trt.TRT_FP8DequantizeLinear", 0, "e[2,3](-0.9375,0.9375) f[]{0.5}"},
    {"trt.TRT_FP8QuantizeLinear", 0, "f[2,3] f[]{0.0625}"},
    {"trt.TRT_INT4DequantizeLinear", 0, "n[2,4](-8,7) f[2,2](0.0625,1)", "block_size=2"},
    {"trt.TRT_INT4QuantizeLinear", 0, "f[2,3] f[]{0.5}"},
    {"trt.TRT_MXFP8DequantizeLinear", 0, "e[2,64](-0.9375,0.9375) u[2,2](120,130)"},
    {"trt.TRT_MXFP8DynamicQuantize", 0, "g[2,64]"},
    {"ms.QLinearAdd", 0, Q("u[2,3](0,255)") Q("u[2,3](0,255)") "f[]{0.125} u[]{100}"},
    {"ms.QLinearMul", 0, Q("u[2,3](0,255)") Q("u[2,3](0,255)") "f[]{0.5} u[]{100}"},
    {"ms.QLinearAveragePool", 0, Q("u[1,2,5,5](0,255)") "f[]{0.125} u[]{100}",
     "kernel_shape=3,3; strides=2,2; pads=1,1,1,1"},
    {"ms.QLinearGlobalAveragePool", 0, Q("u[1,2,5,5](0,255)") "f[]{0.125} u[]{100}"},
    {"ms.QLinearLeakyRelu", 0, Q("u[2,3](0,255)") "f[]{0.0625} u[]{100}"},
    {"ms.QLinearSigmoid", 0, Q("u[2,3](0,255)") "f[]{0.00390625} u[]{0}"},
    {"ms.QLinearSoftmax", 0, Q("u[2,3](0,255)") "f[]{0.00390625} u[]{0}", "opset=13"},
    {"ms.QLinearConcat", 0, "f[]{0.5} u[]{128} " Q("u[2,3](0,255)") "u[2,4](0,255) f[]{0.25} "
                                        "u[]{120}", "axis=1"},
    /* sums of integers below 256 and scales that are powers of two: exact in every arithmetic, one
     * rounding to integer */
    {"ConvInteger", 0, "u[1,1,4,4](0,255) u[1,1,2,2](0,255)"},
    {"MatMulInteger", 0, "u[3,4](0,255) u[4,2](0,255)"},
    {"QLinearConv", 0, "u[1,1,4,4](126,130) f[]{0.5} u[]{128} u[2,1,2,2](118,122) f[]{0.25} "
                       "u[]{120} f[]{0.5} u[]{100}"},
    {"ms.QLinearConv", 0, "u[1,1,4,4](126,130) f[]{0.5} u[]{128} u[2,1,2,2](118,122) f[]{0.25} "
                          "u[]{120} f[]{0.5} u[]{100}"},
    {"QLinearMatMul", 0, "u[3,4](126,130) f[]{0.5} u[]{128} u[4,2](118,122) f[]{0.25} u[]{120} "
                         "f[]{0.5} u[]{100}"},

    /* movement, selection, shapes: exact */
    {"Reshape", 0, "f[2,3,4] i[2]{6,4}"},
    {"Squeeze", 1, "f[1,3,4]", "axes=0"},
    {"Squeeze", 13, "f[1,3,4] i[1]{0}"},
    {"Unsqueeze", 1, "f[3,4]", "axes=0"},
    {"Unsqueeze", 13, "f[3,4] i[1]{0}"},
    {"CenterCropPad", 0, "f[4,5] i[2]{2,7}"},
    {"DynamicSlice", 0, "f[4,5] i[2]{1,0} i[2]{3,4}"},
    {"Expand", 0, "f[3,1] i[3]{2,3,4}"},
    {"Pad", 2, "f[2,3]", "pads=0,1,0,1; value=1.5"},
    {"Pad", 11, "f[2,3] i[4]{0,1,1,0} f[]{1.5}"},
    {"Pad", 18, "f[2,3] i[4]{0,1,1,0} f[]{1.5}"},
    {"Slice", 1, "f[4,5]", "starts=0,1; ends=2,3"},
    {"Slice", 10, "f[4,5] i[2]{0,1} i[2]{4,5} i[2]{0,1} i[2]{1,2}"},
    {"Tile", 0, "f[2,3] i[2]{2,2}"},
    {"Concat", 0, NULL, "axis=1"},
    {"DepthToSpace", 0, "f[1,8,2,3]", "blocksize=2"},
    {"SpaceToDepth", 0, "f[1,2,4,6]", "blocksize=2"},
    {"ReverseSequence", 0, "f[4,3] i[3]{4,2,1}"},
    {"Split", 0, "f[4,3]", "num_outputs=2; #outputs=2"},
    {"Gather", 0, "f[4,3] i[2]{2,0}"},
    {"GatherElements", 0, "f[3,3] i[2,3](0,2)"},
    {"GatherND", 0, "f[3,4] i[2,2](0,2)"},
    {"Scatter", 0, "f[4,3] i[2,3]{0,2,1,3,1,2} f[2,3]"},
    {"ScatterElements", 0, "f[4,3] i[2,3]{0,2,1,3,1,2} f[2,3]"},
    {"ScatterElements", 16, "f[4,3] i[2,3]{0,2,1,3,1,2} f[2,3]", "reduction=add"},
    {"ScatterND", 0, "f[4,3] i[2,1]{2,0} f[2,3]"},
    {"ScatterND", 16, "f[4,3] i[2,1]{2,0} f[2,3]", "reduction=mul"},
    {"TensorScatter", 0, "f[2,2,4,3] f[2,2,1,3] i[2]{1,2}"},
    {"Compress", 0, "f[2,3,4] b[3]{1,0,1}", "axis=1"},
    {"TopK", 1, "f[2,3,4]", "k=2"},
    {"TopK", 10, "f[2,3,4] i[1]{2}"},
    {"TopK", 11, "f[2,3,4] i[1]{2}"},
    {"Unique", 0, "f[8]"},
    {"BitCast", 0, "j[2,3](0,9)", "to=12"},
    {"Cast", 0, "f[2,3,4]", "to=6"},
    {"Cast", 0, "i[2,3,4](-99,99)", "to=1"},
    {"CastLike", 0, "f[2,3,4] j[1]"},
    {"CastLike", 0, "i[2,3,4](-99,99) f[1]"},
    {"MaxRoiPool", 0, "f[1,1,6,6] f[1,5]{0,0,0,3,3}", "pooled_shape=2,2"},
    {"NonMaxSuppression", 0,
     "f[1,4,4]{0,0,1,1,0,0.25,1,1.25,2,2,3,3,2,2,3,3.5} f[1,1,4]{0.875,0.75,0.625,0.5} i[1]{3} "
     "f[1]{0.5} f[1]{0}"},
    {"TfIdfVectorizer", 0, "i[5]{1,2,3,1,2}",
     "max_gram_length=2; max_skip_count=0; min_gram_length=1; mode=TF; ngram_counts=0,2; "
     "ngram_indexes=0,1,2; pool_int64s=1,2,1,2"},

    /* one sum of K products and a bias: K + 2 roundings of at most 4 K + 2 */
    {"Gemm", 0, "g[3,4] g[4,5] g[5]", NULL, 6, 18, true},
    {"MatMul", 0, "g[2,3,8] g[8,5]", NULL, 10, 32, true},
    {"Conv", 0, "g[1,2,5,5] g[3,2,3,3] g[3]", NULL, 20, 74, true},
    {"ConvTranspose", 0, "g[1,2,3,3] g[2,3,3,3] g[3]", NULL, 20, 74, true},
    {"Einsum", 0, "g[3,4] g[4,5]", "equation=ij,jk->ik", 6, 16, true},
    /* activations: slopes of 1 at most, rounded twice */
    {"ms.FusedConv", 0, "g[1,2,5,5] g[3,2,3,3] g[3]", "activation_params=0.25,0.5", 22, 74},
    {"ms.NhwcConv", 0, "g[1,5,5,2] g[3,3,3,2] g[3]", NULL, 20, 74, true},
    {"ms.FusedMatMul", 0, "g[2,3,4] g[2,4,5]", NULL, 6, 16, true},
    /* |w| <= 8 */
    {"ms.MatMulNBits", 0, "g[3,32] u[5,2,8](0,255) f[5,2](0,1)",
     "K=32; N=5; bits=4; block_size=16", 36, 512},
    /* codes are taken to be as exact as the formula says they are */
    {"ms.DequantizedMatMul", 0, "g[3,20] g[20,5] g[5]", "block_size=16", 28, 100},
    /* The largest router values of a row stay so. |w| <= 0.5: the first sums are at most 16 and their
     * bias 2, 19 roundings of 18; the second ones multiply that error by 8, and have 20 roundings of
     * 144 of their own; softmax and mixing are the rest */
    {"ms.QMoE", 0,
     "g[3,16] g[3,3]{1,0,-1,-1,1,0,0,-1,1} u[3,16,8](0,255) f[3,16](0,0.0625) g[3,16] "
     "u[3,16,8](0,255) f[3,16](0,0.0625)",
     "k=2", 48, 160},
    {"ms.MoE", 0,
     "g[3,16] g[3,3]{1,0,-1,-1,1,0,0,-1,1} f[3,16,16](-0.5,0.5) g[3,16] f[3,16,16](-0.5,0.5)",
     "k=2", 48, 160},
    /* gate and linear part up to 4: their product's slopes are 1.1 * 4 and 4, so that the first
     * errors count 8.4 * 8 times: 19 roundings of 1210, and less from there on */
    {"ms.QMoE", 0,
     "g[3,16] g[3,3]{1,0,-1,-1,1,0,0,-1,1} u[3,32,16](120,136) f[3,32,1](0,0.0625) g[3,32] "
     "u[3,16,16](120,136) f[3,16,1](0,0.0625)",
     "k=1; expert_weight_bits=8; block_size=16; activation_type=swiglu; swiglu_fusion=1; "
     "swiglu_limit=4",
     48, 1280},
    {"ms.QGemm", 0, "u[3,4](126,130) f[]{0.5} u[]{128} u[4,2](118,122) f[2]{0.25,0.5} u[]{120} "
                    "j[2](0,8) f[]{0.125} u[]{100}"},
    {"ms.QGemm", 0, "u[3,8](0,8) f[]{0.0625} u[]{0} s[8,5](-8,8) f[]{0.125} s[]{0} j[5](0,8)", NULL,
     12, 4},
    {"ms.GatherBlockQuantized", 0, "u[4,16](0,255) i[2,3](0,3) f[4,2](0.0625,1) u[4,1](0,255)",
     "block_size=16"},
    {"ms.GatherBlockQuantized", 0, "u[4,3,32](0,255) i[3](-4,3) f[4,3,2](0.0625,1)",
     "block_size=16; bits=8; quantize_axis=-1"},
    {"ms.MatMulIntegerToFloat", 0, "u[3,8](0,8) s[8,5](-8,8) f[]{0.0625} f[]{0.125}", NULL, 12, 4},
    /* 8 values of [-2, 2] as steps of 4 / 255, which a rounding may move by one: 8 * 4 / 255 * 20 /
     * 16 is 0.16, 16 u * 20 in FP16 */
    {"ms.DynamicQuantizeMatMul", 0, "g[3,8] s[8,5](-20,20) f[]{0.0625}", NULL, 30, 20},
    {"CausalConvWithState", 0, "g[1,2,6] g[2,1,3]", NULL, 8, 14}, /* slope of silu: 1.1 */
    {"ms.CausalConvWithState", 0, "g[1,2,6] g[2,1,3] g[2] g[1,2,4]", "dilation=2", 8, 14},
    {"Col2Im", 0, "g[1,4,4] i[2]{3,3} i[2]{2,2}", NULL, 4, 8},
    {"CumSum", 0, "g[3,4] i[]{1}", NULL, 4, 8},
    {"CumProd", 0, "g[3,4] i[]{1}", NULL, 4, 16},
    /* sums of 8 products with sines, which are rounded themselves */
    {"DFT", 0, "g[1,8,1]", NULL, 12, 16},
    {"STFT", 0, "g[1,16,1] i[]{4} f[8](0,1)", NULL, 14, 16},
    {"LinearAttention", 0, "f[1,3,8](-0.5,0.5) f[1,3,8](-0.5,0.5) f[1,3,8](-0.5,0.5)",
     "q_num_heads=2; kv_num_heads=2; update_rule=linear", 20, 1},
    {"ms.LinearAttention", 0, "f[1,3,8](-0.5,0.5) f[1,3,8](-0.5,0.5) f[1,3,8](-0.5,0.5)",
     "q_num_heads=2; kv_num_heads=2; update_rule=linear", 20, 1},
    {"ms.GatedDeltaNet", 0, "f[3,1,4](-0.5,0.5) f[3,1,4](-0.5,0.5) f[3,2,4](-0.5,0.5) j[3]{0,1,3} _ "
                            "f[3,2](0,1) f[2,2,4,4](-0.5,0.5)", "update_rule=delta; #outputs=2", 40, 1},
    {"ms.MRotaryEmbedding", 0, "f[2,3,32](-1,1) i[3,2,3](0,9) f[16,8](-1,1) f[16,8](-1,1)",
     "mrope_section=4,2,2; mrope_layout=1", 4, 2},
    {"ms.RotaryEmbedding", 0, "f[2,3,32](-1,1) i[2,3](0,9) f[16,8](-1,1) f[16,8](-1,1)", NULL, 4,
     2},
    {"RotaryEmbedding", 0, "g[1,2,3,8] g[5,4] g[5,4] i[1,3](0,4)", NULL, 4, 8},

    /* interpolation: weights add up to 1 (cubic: their magnitudes to 1.9); a coordinate of a few
     * pixels is off by some u of it and moves the result by the largest difference of neighbours,
     * 4, times that */
    {"Resize", 10, "f[1,1,3,3] f[4]{1,1,2,2}", "mode=nearest"},
    {"Resize", 11, "f[1,1,3,3] _ f[4]{1,1,1.5,2}", "mode=nearest"},
    {"Resize", 18, "f[1,1,3,3] _ f[4]{1,1,1.5,2}", "mode=nearest"},
    {"Resize", 10, "f[1,1,3,3] f[4]{1,1,1.5,2}", "mode=linear", 32, 4},
    {"Resize", 11, "f[1,1,3,3] _ f[4]{1,1,1.5,2}", "mode=linear", 32, 4},
    {"Resize", 18, "f[1,1,3,3] _ f[4]{1,1,1.5,2}", "mode=cubic", 64, 4},
    {"Upsample", 7, "f[1,1,2,3]", "mode=nearest; scales=1,1,2,2"},
    {"Upsample", 9, "f[1,1,2,3] f[4]{1,1,2,2}", "mode=nearest"},
    {"Upsample", 9, "f[1,1,2,3] f[4]{1,1,2,2}", "mode=linear", 32, 4},
    {"GridSample", 0, "g[1,1,4,4] f[1,3,3,2](-1,1)", NULL, 32, 4},
    {"RoiAlign", 0, "g[1,1,6,6] f[1,4]{0.5,0.5,4,4.5} i[1]{0}",
     "output_height=2; output_width=2; sampling_ratio=2", 48, 4},
    {"DeformConv", 0, "g[1,2,4,4] g[3,2,2,2] f[1,8,3,3](-1,1) g[3]", NULL, 40, 34},
    /* six products of three; elimination divides by pivots, which are as large as the column
     * allows */
    {"Det", 0, "g[2,3,3]", NULL, 40, 48},

    /* recurrent: sums of 7 products of magnitude 2.5 at most, 9 roundings, activations of slope 1,
     * two steps of which the second repeats the first's error with weights that add up to 1: 2 * (9
     * * 2.5 + 4) < 64 */
    {"RNN", 0, "g[2,1,3] f[1,4,3](-0.25,0.25) f[1,4,4](-0.25,0.25)", "hidden_size=4", 32, 2},
    {"GRU", 0, "g[2,1,3] f[1,12,3](-0.25,0.25) f[1,12,4](-0.25,0.25)", "hidden_size=4", 64, 2},
    {"LSTM", 0, "g[2,1,3] f[1,16,3](-0.25,0.25) f[1,16,4](-0.25,0.25)", "hidden_size=4", 64, 2},
    /* the same, and codes that a rounding may move by one: in a step gates of weights up to 0.25 are
     * off by (3 * 4 + 4 * 2) / 255 * 0.25 = 0.02, in two steps by 0.04 = 80 u in FP16 */
    {"ms.DynamicQuantizeLSTM", 0, "g[2,1,3] s[1,3,16](-16,16) s[1,4,16](-16,16) f[32](-0.25,0.25) "
                                  "i[1]{2} g[1,1,4] g[1,1,4] f[12]{0,0,0,0,0,0,0,0,0,0,0,0} "
                                  "f[1]{0.015625} s[1]{0} f[1]{0.015625} s[1]{0}",
     "hidden_size=4", 144, 2},

    /* attention: scores of magnitude S, off by D = (K + 3) S u; weights, which add up to 1, are off
     * by 2 D + (n + 4) u relatively, values by as much of their magnitude V */
    /* S 8, D 56 u, V 2 */
    {"Attention", 0, "g[1,2,3,4] g[1,2,5,4] g[1,2,5,4]", "#outputs=1", 140, 2},
    /* S 2, D 14 u, V 1 */
    {"ms.MultiHeadAttention", 0, "f[2,3,8](-1,1) f[2,5,8](-1,1) f[2,5,8](-1,1)",
     "num_heads=2; #outputs=1", 60, 1},
    /* projections before it: |q| <= 1.25 off by 12.5 u, so that D is 85 u */
    {"ms.Attention", 0, "f[2,3,8](-0.5,0.5) f[8,24](-0.25,0.25) f[24](-0.25,0.25)",
     "num_heads=2; #outputs=1", 160, 2},
    /* turned: |q| <= 1.8 off by 23 u (the angles' FP32 is finer), S 6.3, D 207 u, V 1.25 off by
     * 12.5 u: 421 * 1.25 + 12.5 < 800 */
    {"ms.Attention", 0, "f[2,3,8](-0.5,0.5) f[8,24](-0.25,0.25) f[24](-0.25,0.25)",
     "num_heads=2; do_rotary=1; #outputs=1", 400, 2},
    {"ms.QAttention", 0, "u[2,3,8](0,4) s[8,24](-2,2) f[24](-0.5,0.5) f[]{0.0625} f[]{0.125}",
     "num_heads=2; #outputs=1", 160, 2},
    {"ms.GroupQueryAttention", 0, "f[2,5,64](-0.5,0.5) f[2,5,32](-0.5,0.5) f[2,5,32](-0.5,0.5) _ "
                                  "_ j[2]{4,4} j[1]{5}",
     "num_heads=4; kv_num_heads=2; #outputs=3", 100, 0.5}, /* S 1, D 19 u, V 0.5 */
    /* codes: numbers over their scale are integers, so that every lane has the same ones, which
     * stand for 0.5 at most; the second saturates */
    {"ms.GroupQueryAttention", 0, "f[1,2,64](-0.5,0.5) f[1,2,32](-0.5,0.5) f[1,2,32](-0.5,0.5) "
                                  "s[1,2,3,16](-8,8) s[1,2,3,16](-8,8) j[1]{4} j[1]{5} "
                                  "_ _ _ _ _ f[1]{0.0625} f[1]{0.0625}",
     "num_heads=4; kv_num_heads=2; k_quant_type=PER_TENSOR; v_quant_type=PER_TENSOR; "
     "kv_cache_bit_width=8; #outputs=3", 100, 0.5},
    {"ms.GroupQueryAttention", 0, "f[1,2,8](-0.5,0.5) f[1,2,4](-0.5,0.5) f[1,2,4](-0.5,0.5) "
                                  "u[1,1,3,2](0,255) u[1,1,3,2](0,255) j[1]{4} j[1]{5} "
                                  "_ _ _ _ _ f[1,1,1,4]{0.0625,0.03125,0.0625,0.03125} f[1]{0.0625}",
     "num_heads=2; kv_num_heads=1; k_quant_type=PER_CHANNEL; v_quant_type=PER_TENSOR; "
     "kv_cache_bit_width=4; #outputs=3", 100, 0.5},
    /* a cache of one position more than the window */
    {"ms.GroupQueryAttention", 0, "f[1,2,32](-0.5,0.5) f[1,2,16](-0.5,0.5) f[1,2,16](-0.5,0.5) "
                                  "f[1,1,4,16](-0.5,0.5) f[1,1,4,16](-0.5,0.5) j[1]{6} j[1]{7}",
     "num_heads=2; kv_num_heads=1; local_window_size=3; sliding_window_cache=1; #outputs=3", 100, 1},
    {"ms.SparseAttention", 0, "f[1,1,32](-0.5,0.5) f[1,1,16](-0.5,0.5) f[1,1,16](-0.5,0.5) "
                              "f[1,1,32,16](-0.5,0.5) f[1,1,32,16](-0.5,0.5) j[1,3]{0,1,2} j[1,2]{0,1} "
                              "j[1]{18} j[1]{18}",
     "num_heads=2; kv_num_heads=1; sparse_block_size=16; #outputs=3", 100, 1},
    /* keys and queries that are padding; scores are shown as they are */
    {"ms.GroupQueryAttention", 0, "f[1,3,32](-0.5,0.5) f[1,3,16](-0.5,0.5) f[1,3,16](-0.5,0.5) "
                                  "f[1,1,6,16](-0.5,0.5) f[1,1,6,16](-0.5,0.5) j[1]{3} j[1]{5} "
                                  "_ _ _ _ _ _ _ _ _ j[1]{2}",
     "num_heads=2; kv_num_heads=1; qk_output=1", 100, 1}, /* S 1, D 19 u, V 0.5 */
    {0},
};
/* clang-format on */
