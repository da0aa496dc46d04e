/* Number formats and arithmetics: which values a tensor can hold, and how an operator computes with
 * them.
 *
 * A format is one row of data; an arithmetic is a set of formats and rules, found by a name in
 * which every part can be set: "fp16", "fp16-strict", "tf32@a100", "mpfr:128", "fp16,acc=fp16",
 * "fp32,order=pairwise", "e5m7,round=rz", "fp16,round=sr,seed=3". Both are plain structs that own
 * nothing: they can be copied and stored. All functions here are thread-safe. */
#ifndef ULPSCOPE_FORMAT_H
#define ULPSCOPE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ulpscope/status.h>

/* Directions of rounding: those of IEEE 754-2019 section 4.3, and stochastic rounding, which goes
 * up with a probability equal to the fraction cut off (src/number/README.md section 1). */
enum ulp_rounding {
    ULP_ROUND_NEAREST_EVEN, /* rne */
    ULP_ROUND_NEAREST_AWAY, /* rna: ties away from zero */
    ULP_ROUND_TOWARD_ZERO,  /* rz */
    ULP_ROUND_UP,           /* ru: toward +infinity */
    ULP_ROUND_DOWN,         /* rd: toward -infinity */
    ULP_ROUND_STOCHASTIC,   /* sr: counter-based stream, equal for any thread count */
};

/* The result when a rounded magnitude is larger than max_finite. Where IEEE 754 section 7.4 sends a
 * directed rounding to the largest finite number, it goes there whatever this says. */
enum ulp_overflow {
    ULP_OVERFLOW_INFINITY,
    ULP_OVERFLOW_NAN,      /* formats without infinity, such as OCP E4M3 */
    ULP_OVERFLOW_SATURATE, /* the largest finite number, also for an infinite operand */
};

/* Special values that a format lacks, beside infinity. */
enum ulp_lack {
    ULP_LACKS_NOTHING,
    ULP_LACKS_NAN, /* FP4 and FP6 of OCP: NaN becomes -0 */
    /* E8M0: a positive number below 2^emin becomes 2^emin in every mode, zero NaN (2^emin with
     * saturation), a negative number NaN */
    ULP_LACKS_ZERO_AND_SIGN,
};

/* The carrier of a format: the C type in which its values lie in memory and are computed with.
 * There is code for these three only. The carrier represents every value of the format exactly. */
enum ulp_carrier {
    ULP_CARRIER_FLOAT,
    ULP_CARRIER_DOUBLE,
    ULP_CARRIER_MPFR,
};

#define ULP_MPFR_PRECISION_MIN 2
#define ULP_MPFR_PRECISION_MAX 4096

/* A binary floating-point format: (-1)^s * m * 2^(e - precision + 1), emin <= e <= emax. */
struct ulp_format {
    char name[24];
    int precision; /* significand bits with the hidden one: 11 for fp16 */
    /* exponent of the smallest and of the largest normal binade: -14 and 15 for fp16 */
    int emin, emax;
    double max_finite; /* stored, not derived: E4M3 is 448. Infinity when beyond double (mpfr) */
    enum ulp_overflow overflow;
    bool subnormals; /* kept; false: results below 2^emin are flushed to a zero of their sign */
    bool signed_zero;
    enum ulp_lack lacks;
    enum ulp_carrier carrier; /* the smallest one that holds every value */
    int storage_bits;         /* of one encoded value; 0 when the format has no encoding */
    /* of "pair": values lie in pairs of doubles where these hold them, else in MPFR records */
    bool pairs;
    /* of what pairs leave open: values in formulas carry a bound of their error */
    bool bounded;
};

/* Find a format by name: fp64, fp32, fp16, bf16, tf32, fp8-e4m3 (OCP, largest 448), fp8-e5m2,
 * fp8-e4m3fnuz, fp8-e5m2fnuz; fp8-e8m0 (powers of two), fp4-e2m1 (largest 6), fp6-e2m3 (7.5) and
 * fp6-e3m2 (28), which are for storage only; eXmY (2 <= X <= 11 exponent bits, 1 <= Y <= 52 stored
 * significand bits, IEEE-like: e4m3 ends at 240); mpfr:P. An unknown name: ULP_ERROR_USAGE, and the
 * message lists all. */
ULP_API enum ulp_status ulp_format_find(const char *name, struct ulp_format *out,
                                        struct ulp_error *error);
/* The formats that have a name of their own, in the table's order: index 0, 1, ... until NULL.
 * Static storage. */
ULP_API const struct ulp_format *ulp_format_row(size_t index);
/* One ulp at x, the distance between neighbouring values of the format there:
 * 2^(max(floor(log2|x|), emin) - precision + 1). At x = 0 it is that of the smallest positive
 * number; for x not finite it is NaN; an ulp of mpfr:P below 2^-1074 is returned as 0. */
ULP_API double ulp_format_ulp(const struct ulp_format *format, double x);

/* Where an operator rounds to the storage format. */
enum ulp_rounding_place {
    /* once, when the result is stored; steps inside are in the compute format */
    ULP_ROUND_RESULT,
    ULP_ROUND_EACH_STEP, /* after every primitive operation */
};

/* In which order the terms of a sum are added. It is part of the arithmetic, since it changes the
 * result. */
enum ulp_order {
    ULP_ORDER_SEQUENTIAL, /* ((x0 + x1) + x2) + ... in increasing index */
    ULP_ORDER_PAIRWISE,   /* neighbours added level by level; an odd last one moves up unchanged */
    /* sequential inside blocks of order_block, block sums added sequentially */
    ULP_ORDER_BLOCKED,
    /* of rows only: partial sums as a GPU's threads form them, src/number/README.md section 5.1 */
    ULP_ORDER_WARP,
};

#define ULP_SPLIT_CUBLAS (-2)
#define ULP_SPLIT_RKNN (-3) /* private, of steps=: by the shape, sums of slices stored */

/* Of k that is cut into slices: where their sums are in the storage format. Libraries store them so
 * on Ampere and Ada where the output is BF16 or FP16. */
enum ulp_partials {
    ULP_PARTIALS_WIDE,      /* nowhere: they are FP32 until all are added */
    ULP_PARTIALS_WORKSPACE, /* each, in a workspace, from which they are added in FP32 */
    ULP_PARTIALS_SERIAL,    /* the sum, after each is added to it */
    ULP_PARTIALS_ROUNDED,   /* both */
};

/* How a sum of integers becomes a quantised result. */
enum ulp_requant {
    ULP_REQUANT_FLOAT,  /* times a scale in FP32, to the nearest, ties to even */
    ULP_REQUANT_DOUBLE, /* times a scale of 31 bits, rounded, then shifted, and rounded again */
    ULP_REQUANT_SINGLE, /* the same with one rounding, behind both */
};

/* How products are summed in MatMul, Gemm, Conv, ...: by a chain of scalar operations, or by a
 * GPU's matrix unit (src/kernels/unit/unit.c states what these compute). */
struct ulp_schedule {
    char gpu[16];        /* "h200"; "" for scalar chains */
    char unit_class[16]; /* "mma", "wgmma", "tcgen05"; "" for scalar chains */
    bool fused;          /* scalar chains: fused multiply-add (one rounding per step) */
    enum ulp_rounding operand_rounding; /* how factors are rounded to the factor format */
    /* > 0: after this many products the chain's sum is added to an FP32 sum, and the chain restarts
     * from 0 */
    int promote;
    /* > 1: k is cut into this many contiguous slices; each is a chain from 0, and the slices' sums
     * are added in order. ULP_SPLIT_CUBLAS: as cuBLAS was recorded to on an H100, of MatMul and
     * Gemm by their shape (doc/arithmetics.md), in FP32 and TF32 with the kernel that the shape
     * got, on an H200; other products are not cut */
    int split_k;
    int rows; /* of ULP_SPLIT_CUBLAS: products are cut as if they had that many times their rows */
    enum ulp_partials partials;
    int slice_tile; /* private: slices are whole multiples of so many k; 0: as they come */
    /* products that have one row or one column (a matrix times a vector, a depthwise Conv) are
     * scalar chains of fused multiply-adds over the stored values: libraries have no kernel on a
     * matrix unit for them */
    bool vectors_scalar;
    /* MatMul, Gemm and what else is no convolution and no recurrence are such chains, too: a
     * library may have TF32 allowed for cuDNN's kernels alone */
    bool matmul_scalar;
    /* DequantizeLinear -> MatMul, Gemm or Conv (-> Relu) -> QuantizeLinear is computed as an INT8
     * kernel does: INT32 sums of the quantised values. false: in floats, as the graph is written */
    bool qdq_integer;
    /* Conv and Gemm round their sum to storage before they add the bias */
    bool epilogue_rounded;
    /* sums of unsigned by signed bytes as x86-64 without VNNI forms them: the products of two
     * neighbours in k are added with saturation to 16 bits, the pairs' sums exactly */
    bool integers_saturate;
    /* "ort-cpu": MatMulNBits quantises activations where accuracy_level is 4 */
    bool levels_obeyed;
    /* how sums of integers are quantised again */
    enum ulp_requant requant;
};

/* Which nodes are computed together, as one kernel: values inside a group are not rounded to
 * storage (doc/fusion.md). */
enum ulp_fuse {
    ULP_FUSE_NONE, /* each node stores its result */
    /* trees of elementwise work; and a contraction with what follows it, where the epilogue is
     * fused */
    ULP_FUSE_POINTWISE,
    ULP_FUSE_REDUCE,   /* with them reductions of rows (LayerNormalization, Softmax, ...) */
    ULP_FUSE_GROUPS,   /* those that the plan is given (struct ulp_groups) */
    ULP_FUSE_BIAS,     /* a contraction with Adds of constants and BatchNormalizations behind it */
    ULP_FUSE_TENSORRT, /* as ULP_FUSE_REDUCE, by the rules of TensorRT's compiler */
    /* what ONNX Runtime's optimiser makes one operator of; BatchNormalizations go into weights */
    ULP_FUSE_ORT,
    /* by the rules of OpenVINO's CPU plugin; BatchNormalizations go into weights */
    ULP_FUSE_OPENVINO,
};

/* How constants (initializers, Constant nodes, ConstantOfShape's value) are lowered to the storage
 * format, when they are finite and not zero, but larger than its largest value or smaller than its
 * smallest. Infinities, NaN and zeros stay. */
enum ulp_constants {
    /* too large: the largest finite value; too small: rounded */
    ULP_CONSTANTS_SATURATED,
    ULP_CONSTANTS_IEEE, /* rounded, to infinity or to zero, as PyTorch's half() */
    /* the largest finite value, or the smallest subnormal, as TensorRT's warnings say */
    ULP_CONSTANTS_TENSORRT,
    /* as convert_float_to_float16 of onnxconverter-common: magnitudes are clamped to 1e-7 to 1e4,
     * then rounded; FP16 only */
    ULP_CONSTANTS_ONNXCONVERTER,
};

/* How attention (Attention, MultiHeadAttention, GroupQueryAttention) goes through its keys. All but
 * WHOLE are kernels of a GPU as PyTorch 2.11 runs them, found from what an H200 returned
 * (doc/accuracy.md says how many bits are equal). */
enum ulp_attention_kernel {
    ULP_ATTENTION_WHOLE,     /* all keys of a query at once */
    ULP_ATTENTION_FLASH2,    /* FlashAttention 2: tiles of keys, from the last one down; few queries
                              * beside many keys are split over the keys */
    ULP_ATTENTION_CUDNN,     /* cuDNN 9: tiles of 128 keys */
    ULP_ATTENTION_EFFICIENT, /* memory-efficient attention: tiles of 64 or 128 keys */
    ULP_ATTENTION_MATH,      /* written out, every step in FP32 */
};

/* Do operators round their steps as the arithmetic says, or some of them otherwise, as a runtime's
 * kernels were recorded to (src/number/format/steps.def)? */
enum ulp_steps {
    ULP_STEPS_ALIKE,
    ULP_STEPS_ORT_CUDA, /* ONNX Runtime's CUDA provider in FP16 */
    ULP_STEPS_WEBGPU,   /* its WebGPU provider in FP16 */
    /* ONNX Runtime's CPU provider in FP32: rows whose elements are neighbours are added to eight
     * partial sums, but for the table's operators; sigmoid, tanh and BatchNormalization its own */
    ULP_STEPS_ORT_CPU,
    ULP_STEPS_HTP,      /* Qualcomm's HTP in FP16: errors of that size, not its bits */
    ULP_STEPS_RKNN,     /* Rockchip's RKNN in FP16 */
    ULP_STEPS_TENSORRT, /* TensorRT's kernels, where values inside are FP16 or BF16 */
    /* OpenVINO's CPU plugin: nodes that no product follows to an output are FP32 */
    ULP_STEPS_OPENVINO,
    /* what no runtime's record says: rows inside operators are added in the storage format, in all
     * that add any, in those but RMS normalisations, or in no normalisation */
    ULP_STEPS_STORED_ROWS,
    ULP_STEPS_STORED_MOMENTS,
    ULP_STEPS_STORED_REDUCTIONS,
};

/* How a Conv is summed beside a matrix unit. */
enum ulp_conv {
    ULP_CONV_PLAIN, /* on the unit, as other products */
    /* by shape as cuDNN's kernels were recorded to: one channel a group, or 1 to 3 channels, in
     * scalar chains */
    ULP_CONV_CUDNN,
    ULP_CONV_TORCH, /* but one channel a group by PyTorch's own, whose chains begin with the bias */
    /* on the unit where cuDNN's search was recorded to find a TF32 kernel under ONNX Runtime, in
     * scalar chains over the stored values elsewhere */
    ULP_CONV_SEARCHED,
    /* private, of steps=: in scalar chains over the positions, in each of them the channels */
    ULP_CONV_NHWC,
    ULP_CONV_NCHWC, /* private, too: the same in blocks of 16 channels */
};

/* How the scale of a block follows from m, its largest magnitude (doc/scales.md). */
enum ulp_scale_rule {
    ULP_SCALE_FLOOR, /* 2^(floor(log2 m) - emax of the elements): OCP MX 1.0, section 6.3 */
    ULP_SCALE_UP,    /* the smallest power of two that clips nothing */
    ULP_SCALE_EVEN,  /* FLOOR of m rounded to the elements' precision, to nearest even */
    /* m over the elements' largest, rounded to nearest even */
    ULP_SCALE_LARGEST,
    /* LARGEST, or m over 4, whichever leaves the smaller sum of squared errors: NVFP4 alone */
    ULP_SCALE_FOUR_SIX,
    ULP_SCALE_ONE, /* 1, whatever m is: a cast */
};

/* Of caches whose format has a scale for a row, or blocks along one: what a row is; of those with
 * one for the tensor: what a tensor is. */
enum ulp_cached {
    ULP_CACHED_TOKEN,   /* the features of a token in one head; all heads */
    ULP_CACHED_CHANNEL, /* a feature of all tokens in one head; all heads */
    ULP_CACHED_HEAD,    /* as TOKEN; a head */
};

/* A format with scales: elements of a block share one. */
struct ulp_scaling {
    char name[24]; /* "mxfp8"; "": no scales */
    struct ulp_format element, scale;
    int k, lines;      /* a block is so many k of so many lines; 0: all */
    bool tensor_scale; /* all blocks of a tensor share an FP32 scale, too */
    /* a block has a zero point, too: elements are numbers from -z to max_finite - z, z an integer
     * of its own (UINT8: 0 to 255 less z); false: -max_finite to max_finite */
    bool zero_point;
    enum ulp_scale_rule rule;
    float fixed; /* the scale of all blocks, beyond whose largest number values are clipped; 0: by
                  * the rule */
};

/* What a static scale is of: the largest magnitude of a factor of a node's products, as samples had
 * it; where elements have a zero point, the largest and the least value, 0 among them. */
struct ulp_factor_range {
    const char *node; /* as of ulp_program_node_name */
    /* "input 0" to "input 5"; of a factor that is none of them "first factor", "second factor" */
    const char *factor;
    float largest;
    float least; /* at most 0; read where elements have a zero point */
    /* of a weight, which needs no range: what is rounded in its place, in its order; else NULL */
    const float *elements;
    size_t element_count;
    const char *value; /* whose scale it is, by name; NULL: its own, or not known */
};
/* Those of a model. */
struct ulp_factor_ranges {
    size_t count;
    const struct ulp_factor_range *items; /* sorted by node, then by factor */
    const char *name; /* NAME in the lane's name "bf16,factor=fp8-tensor,scales=NAME" */
};

/* An arithmetic: how every operator of a model computes. */
struct ulp_arithmetic {
    /* canonical: finding it by this name gives it again, and equal arithmetics have equal names */
    char name[256];
    /* the name, but of a runtime's as it was asked for: "trt11:fp8,acc=fp32", by which it is found
     * again, too; what sentences say */
    char asked[256];
    bool as_declared; /* "model": every tensor has the format its declared ONNX type names, and each
                         node computes in the arithmetic of its first float input's type (fp32,
                         fp16, bf16, fp64); the rest of this struct is fp32's */
    /* "ort-cpu": as "model", but FLOAT16 values are FP32 wherever ONNX Runtime's CPU provider
     * computes and keeps them so */
    bool half_as_float;
    /* "types=declared": of the nodes whose results the model declares in the storage's type; the
     * others compute as in "model". What a runtime makes of a graph with types. */
    bool types_declared;
    /* of those that are FLOAT: the arithmetic by name, "trt10:tf32", on this one's GPU; NULL: fp32.
     * Static */
    const char *floats;
    struct ulp_format storage;     /* of every floating-point tensor */
    struct ulp_format factor;      /* of the operands of products in contractions */
    struct ulp_format accumulator; /* of sums of products */
    /* of the operands: of the first, and of the second (the weights, where one is); factor is the
     * first's elements, or storage, where operands are scaled back before they are multiplied, as
     * fake quantisation does */
    struct ulp_scaling scaling[2];
    struct ulp_scaling weights; /* of constant weights alone, which are scaled back to storage */
    /* of keys and values as attention's caches hold them: what a query reads is scaled back */
    struct ulp_scaling caches[2];
    enum ulp_cached cached;
    /* only products that ModelOpt quantises for TensorRT have scales, the others' factors are as
     * stored (doc/scales.md); false: all have */
    bool scaled_modelopt;
    /* the scale of a tensor that is no weight is of its range in `ranges`, which stay the caller's
     * and plans need; false: of its own largest magnitude */
    bool scales_static;
    const struct ulp_factor_ranges *ranges;
    /* of the steps inside an operator; equals storage when place is EACH_STEP */
    struct ulp_format compute;
    /* of sums of rows (ReduceSum, Softmax, normalisations): compute, or the accumulator where that
     * is the wider */
    struct ulp_format rows;
    /* of the sum of a contraction before its bias, where schedule.epilogue_rounded: storage */
    struct ulp_format sum;
    enum ulp_fuse fuse;
    struct ulp_format inner; /* of values inside a group of fused nodes, and of their steps */
    /* constants that such a kernel reads are in the inner format; false: lowered to storage */
    bool inner_constants;
    /* Casts between the formats of nodes that are computed otherwise (kept) are steps of such a
     * kernel, which round nothing inside; false: a kept node is a kernel of its own */
    bool inner_casts;
    enum ulp_rounding rounding; /* of every rounding to storage, and to accumulator and compute */
    enum ulp_rounding_place place;
    enum ulp_order order;  /* of sums of products in scalar chains */
    int order_block;       /* elements of a block, for ULP_ORDER_BLOCKED */
    enum ulp_order reduce; /* of sums of rows: ReduceSum, Softmax, normalisations, ... */
    /* private, with ULP_ORDER_WARP: so many parts; below 0 only where rows are no more, and no
     * shorter; 0: as PyTorch has them */
    int reduce_block;
    /* private, with ULP_ORDER_WARP: so many neighbours of the parts are added in order, and these
     * sums are stored and added in storage, one after the other; 0: not */
    int reduce_group;
    uint64_t seed; /* of stochastic rounding */
    /* erf, exp, sigmoid and tanh are CUDA's, 1 to 3 FP32 ulps off (src/number/README.md
     * section 7.1); false: every function is correctly rounded */
    bool cuda_functions;
    bool tanh_rounded; /* but tanh; no name has it: a kernel of a recurrence sets it */
    /* Softplus, Mish, ReduceLogSumExp and LogSoftmax by their plain formulas, in which an
     * exponential overflows or a probability vanishes; false: by those that cannot */
    bool plain_exponentials;
    enum ulp_attention_kernel attention;
    /* an attention that a graph writes out (MatMul, scale, mask, Softmax, MatMul) is computed as
     * one Attention; false: node by node */
    bool attention_joined;
    /* LSTM and GRU round where cuDNN's kernels do, as far as recorded (doc/accuracy.md); false:
     * sums of products go into the cell as they are, states are stored */
    bool recurrence_cudnn;
    enum ulp_conv conv;
    enum ulp_steps steps;
    /* BatchNormalization as PyTorch's kernel computes it, with CUDA's reciprocal root; false: as
     * the operator is written, each step rounded */
    bool norms_torch;
    enum ulp_constants constants;
    /* BatchNormalization's known parameters become scale / sqrt(variance + epsilon) and a shift in
     * FP32, as a converter folds them, and these are lowered; false: the parameters are */
    bool batchnorm_folded;
    /* scales of QuantizeLinear and DequantizeLinear are lowered to storage like other constants;
     * false: they stay in their declared type, as in engines */
    bool scales_lowered;
    struct ulp_schedule schedule;
};

/* Find an arithmetic by name:
 *   BASE[@GPU][,PART]..., or RUNTIME:BASE[@GPU][,PART]... (ulp_arithmetic_runtime)
 * BASE, the storage format and how it is used:
 *   fp64, fp32          every step in that format
 *   fp16, bf16, fp8-*   FP32 inside an operator, one rounding when the result is stored, products
 *                       on a matrix unit
 *   tf32, tf32-trunc    FP32, with the operands of products rounded or truncated to 10 bits; ties
 *                       to even with h200, as recorded there, else away from zero
 *   eXmY, NAME-strict   every step rounded to that format, also in the accumulator; scalar chains
 *   mpfr:P              P bits, correctly rounded sums: the reference
 *   model               the types that the model declares; takes no parts
 *   ort-cpu             the model's types as ONNX Runtime's CPU provider computes them: FP16 graphs
 *                       in FP32; takes no parts
 * PART: round=rne|rna|rz|ru|rd|sr, seed=N, each-step, result-only, subnormals=keep|flush,
 *   overflow=inf|nan|saturate, acc=FORMAT, compute=FORMAT, factor=FORMAT,
 *   factor=SCALED, factor-b=SCALED, weights=SCALED (mxfp8, mxfp8-e5m2, mxfp6, mxfp6-e3m2, mxfp4,
 *   nvfp4, fp8-tensor, fp8-row, fp8-1x128, fp8-128x128, fp8-e5m2-tensor, fp8-e5m2-row),
 *   scale=floor|up|even|largest|four-six, scaled=all|modelopt, scales=dynamic|static,
 *   order=sequential|pairwise|blocked:N, reduce=sequential|pairwise|blocked:N|warp, fma, nofma,
 *   unit=mma|wgmma|tcgen05|none, vectors=unit|scalar, operands=rna|rne|rz, promote=N,
 * split-k=N|auto, epilogue=fused|rounded, qdq=float|integer, integers=exact|saturating16,
 * fuse=none|pointwise|reduce|groups|bias|tensorrt|ort|openvino, fuse-inner=FORMAT (default: that
 * of compute),
 * fuse-constants=stored|inner, fuse-casts=stored|inner, functions=rounded|cuda (cuda beside a
 * matrix unit where compute is FP32, else rounded), exponentials=shifted|plain,
 * attention=whole|flash2|cudnn|efficient|math, written-attention=nodes|kernel,
 * recurrence=plain|cudnn, steps=alike|ort-cuda|webgpu|ort-cpu|htp|rknn|
 * tensorrt|openvino,
 * conv=plain|cudnn|torch|searched, norms=plain|torch (beside a matrix unit that sums in
 * FP32), constants=saturated|ieee|tensorrt|onnxconverter-common, batchnorm=computed|folded,
 * qdq-scales=declared|lowered. compute=F implies result-only. subnormals= and overflow= apply to
 * storage and to every part that has the same format, except a unit's accumulator. A matrix unit
 * takes neither fma nor nofma, and mpfr:P takes no parts. More in src/number/README.md section 5. A
 * contradiction or an unknown part: ULP_ERROR_USAGE, and the message lists the known ones. */
ULP_API enum ulp_status ulp_arithmetic_find(const char *name, struct ulp_arithmetic *out,
                                            struct ulp_error *error);

/* The arithmetic that `base` is with another part, as it follows a comma or "@GPU": "split-k=4",
 * "nofma", "@a100", "fuse=none". Parts of the name of base stay; what it leaves to defaults may
 * change with the part. `model` and `ort-cpu` take none: ULP_ERROR_USAGE. */
ULP_API enum ulp_status ulp_arithmetic_change(struct ulp_arithmetic *out,
                                              const struct ulp_arithmetic *base, const char *part,
                                              struct ulp_error *error);

/* Describe the arithmetic in English: its name on a line, then sentences in lines of at most 96
 * columns, written into buffer (truncated to size, always terminated). Returns the length needed,
 * without the final zero. */
ULP_API size_t ulp_arithmetic_describe(const struct ulp_arithmetic *arithmetic, char *buffer,
                                       size_t size);

/* Preset names shown to users, index 0, 1, ... until NULL. */
ULP_API const char *ulp_arithmetic_preset(size_t index);
/* Arithmetics named by the runtime that computes so: ulp_arithmetic_find takes `name`, "@GPU" and
 * parts after it, as an abbreviation of `expansion` with these parts set. Static storage. */
struct ulp_runtime {
    const char *name;      /* "torch-compile:fp16" */
    const char *expansion; /* "fp16,epilogue=rounded,constants=ieee,fuse=reduce" */
};
/* Index 0, 1, ... until NULL. */
ULP_API const struct ulp_runtime *ulp_arithmetic_runtime(size_t index);
/* The one that an arithmetic's name begins with, before "@" or ","; NULL: none. */
ULP_API const struct ulp_runtime *ulp_runtime_find(const char *name);

/* The parts that may follow a base, separated by commas (a GPU by "@"): how part `index` is spelled
 * ("round=rne|rna|rz|ru|rd|sr", cut to size), and what it sets; NULL beyond the last. */
ULP_API const char *ulp_arithmetic_part(size_t index, char *spelled, size_t size);

/* Round x to the format, once: x is taken as exact, and the result is the correct rounding. seed
 * and index select the random number of stochastic rounding; other modes ignore them. */
ULP_API double ulp_format_round(const struct ulp_format *format, enum ulp_rounding rounding,
                                double x, uint64_t seed, uint64_t index);

#endif
