/* Number formats and arithmetics: what a value can be, and how an operator computes with it.
 *
 * A format is one row of data; an arithmetic is a set of formats and rules, found by a name in
 * which every part can be set: "fp16", "fp16-strict", "tf32@a100", "mpfr:128", "fp16,acc=fp16",
 * "fp32,order=pairwise", "e5m7,round=rz", "fp16,round=sr,seed=3". Both are plain values: copy them,
 * compare them, keep them; nothing is owned. All functions here are thread-safe. */
#ifndef ULPSCOPE_FORMAT_H
#define ULPSCOPE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ulpscope/status.h>

/* IEEE 754-2019 section 4.3, and stochastic: up with probability equal to the fraction cut off. */
enum ulp_rounding {
    ULP_ROUND_NEAREST_EVEN, /* rne */
    ULP_ROUND_NEAREST_AWAY, /* rna: ties away from zero */
    ULP_ROUND_TOWARD_ZERO,  /* rz */
    ULP_ROUND_UP,           /* ru: toward +infinity */
    ULP_ROUND_DOWN,         /* rd: toward -infinity */
    ULP_ROUND_STOCHASTIC,   /* sr: counter-based stream, equal for any thread count */
};

/* What a result beyond max_finite becomes (a directed rounding that IEEE 754 section 7.4 sends to
 * the largest finite number stays there in every case). */
enum ulp_overflow {
    ULP_OVERFLOW_INFINITY,
    ULP_OVERFLOW_NAN,      /* formats without infinity, such as OCP E4M3 */
    ULP_OVERFLOW_SATURATE, /* the largest finite number, also for an infinite operand */
};

/* What a format is without, beside infinity. */
enum ulp_lack {
    ULP_LACKS_NOTHING,
    ULP_LACKS_NAN, /* FP4 E2M1: NaN becomes -0 */
    /* E8M0: what rounds to zero becomes 2^emin (NaN without saturation), a negative NaN */
    ULP_LACKS_ZERO_AND_SIGN,
};

/* Which C type carries the format's values: code exists for these three only. A value is always
 * exactly representable in its carrier. */
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
    int storage_bits;         /* of the encoding; 0 when the format has none */
};

/* Find a format: fp64, fp32, fp16, bf16, tf32, fp8-e4m3 (OCP, largest 448), fp8-e5m2, fp8-e4m3fnuz,
 * fp8-e5m2fnuz, fp8-e8m0 (powers of two) and fp4-e2m1 (largest 6), which are for storage only, eXmY
 * (2 <= X <= 11 exponent bits, 1 <= Y <= 52 stored significand bits, IEEE-like: e4m3 ends at 240),
 * mpfr:P. Unknown: ULP_ERROR_USAGE with the list. */
ULP_API enum ulp_status ulp_format_find(const char *name, struct ulp_format *out,
                                        struct ulp_error *error);
/* The named rows, in the table's order: index 0, 1, ... until NULL. Static storage. */
ULP_API const struct ulp_format *ulp_format_row(size_t index);
/* The distance between neighbours of |x| in the format (one ulp): 2^(max(floor(log2|x|), emin) -
 * precision + 1). x = 0 gives the smallest positive number's; non-finite x gives NaN; mpfr:P's
 * below 2^-1074 gives 0. */
ULP_API double ulp_format_ulp(const struct ulp_format *format, double x);

enum ulp_rounding_place {
    /* inside an operator the compute format; one rounding when the result is stored */
    ULP_ROUND_RESULT,
    ULP_ROUND_EACH_STEP, /* every primitive operation's result is rounded to the storage format */
};

/* The order of a sum belongs to the arithmetic. */
enum ulp_order {
    ULP_ORDER_SEQUENTIAL, /* ((x0 + x1) + x2) + ... in increasing index */
    ULP_ORDER_PAIRWISE,   /* neighbours added level by level; an odd last one moves up unchanged */
    /* sequential inside blocks of order_block, block sums added sequentially */
    ULP_ORDER_BLOCKED,
    /* of rows only: the partial sums of a GPU's threads, src/number/README.md section 5.1 */
    ULP_ORDER_WARP,
};

/* How products are summed in MatMul, Gemm, Conv, ...: a chain of scalar operations, or a matrix
 * unit of section 1 of the paper cited in src/kernels/unit/unit.c. */
struct ulp_schedule {
    char gpu[16];        /* "h200"; "" for scalar chains */
    char unit_class[16]; /* "mma", "wgmma", "tcgen05"; "" for scalar chains */
    bool fused;          /* scalar chains: fused multiply-add (one rounding per step) */
    enum ulp_rounding operand_rounding; /* of factors, to the factor format, while packing */
    /* > 0: after so many k the chain's sum is added to an FP32 sum and restarts */
    int promote;
    int split_k; /* > 1: contiguous slices of k, each a chain from 0, added in order */
    /* DequantizeLinear -> MatMul, Gemm or Conv (-> Relu) -> QuantizeLinear in INT32 sums over the
     * quantised values, as an INT8 kernel does; false: in floats, as the graph is written */
    bool qdq_integer;
    /* the sum is rounded to storage before the bias and what else Conv and Gemm add */
    bool epilogue_rounded;
};

/* What becomes of constants (initializers, Constant nodes, ConstantOfShape's value) that are finite
 * and not zero, but beyond the storage format's largest value or below its least, when they are
 * lowered to it. Infinities and NaN stay what they are, zeros too. */
enum ulp_constants {
    /* beyond the largest: the largest finite value; below the least: rounded */
    ULP_CONSTANTS_SATURATED,
    ULP_CONSTANTS_IEEE, /* rounded, to infinity and to zero, as PyTorch's half() */
    /* the largest finite value, and the least subnormal, as TensorRT's warnings say */
    ULP_CONSTANTS_TENSORRT,
    /* convert_float_to_float16 of onnxconverter-common: magnitudes are put into 1e-7 to 1e4, then
     * rounded; FP16 alone */
    ULP_CONSTANTS_ONNXCONVERTER,
};

/* The parts of an arithmetic. */
struct ulp_arithmetic {
    /* canonical: parsing it gives this arithmetic again; equal names, equal arithmetics */
    char name[256];
    bool as_declared; /* "model": every tensor has the format its declared ONNX type names, and each
                         node computes in the arithmetic of its first float input's type (fp32,
                         fp16, bf16, fp64); the rest of this struct is fp32's */
    /* "ort-cpu": as "model", but FLOAT16 values are FP32 wherever ONNX Runtime's CPU provider
     * computes and keeps them so */
    bool half_as_float;
    struct ulp_format storage;     /* of every floating-point tensor */
    struct ulp_format factor;      /* of the operands of products in contractions */
    struct ulp_format accumulator; /* of sums: contractions and row reductions */
    /* of steps inside an operator; equals storage when place is EACH_STEP */
    struct ulp_format compute;
    enum ulp_rounding rounding; /* of every rounding to storage, and to accumulator and compute */
    enum ulp_rounding_place place;
    enum ulp_order order; /* of scalar chains of products; and what reduce is unless it is set */
    int order_block;
    enum ulp_order reduce; /* of rows: ReduceSum, Softmax, normalisations, ... */
    int reduce_block;
    uint64_t seed; /* of stochastic rounding */
    /* erf, exp, sigmoid as CUDA's library computes them in FP32, 1 to 3 ulps off; false: every
     * function is correctly rounded */
    bool cuda_functions;
    enum ulp_constants constants;
    /* scales of QuantizeLinear and DequantizeLinear are lowered like other constants; false: they
     * stay as the model declares them, as engines keep them */
    bool scales_lowered;
    struct ulp_schedule schedule;
};

/* Find an arithmetic by name:
 *   BASE[@GPU][,PART]...
 * BASE: a format's name (storage; the meaning of design: fp64, fp32, each step in that format;
 *   fp16, bf16, fp8-*, FP32 inside an operator and one rounding at its end, products on a matrix
 *   unit; tf32, FP32 with products' operands rounded to 10 bits; eXmY, every step rounded), or
 *   NAME-strict (every step rounded, accumulator of that format, scalar chains), tf32-trunc,
 *   mpfr:P, or without parts "model", the types the model declares, and "ort-cpu", what ONNX
 *   Runtime's CPU provider makes of them: FP16 graphs in FP32.
 * PART: round=rne|rna|rz|ru|rd|sr, seed=N, each-step, result-only, subnormals=keep|flush,
 *   overflow=inf|nan|saturate, acc=FORMAT, compute=FORMAT, factor=FORMAT,
 *   order=sequential|pairwise|blocked:N, reduce=sequential|pairwise|blocked:N|warp, fma, nofma,
 *   unit=mma|wgmma|tcgen05|none, operands=rna|rne|rz, promote=N, split-k=N,
 *   epilogue=fused|rounded, qdq=float|integer,
 *   functions=rounded|cuda (cuda beside a matrix unit where compute is FP32, else rounded),
 *   constants=saturated|ieee|tensorrt|onnxconverter-common, qdq-scales=declared|lowered.
 * compute=F implies result-only; subnormals= and overflow= are storage's and those of every part of
 * the same format but a unit's accumulator; a matrix unit takes neither fma nor nofma; mpfr:P takes
 * no parts. More in src/number/README.md section 5.
 * A contradiction or an unknown part: ULP_ERROR_USAGE with what is known. */
ULP_API enum ulp_status ulp_arithmetic_find(const char *name, struct ulp_arithmetic *out,
                                            struct ulp_error *error);

/* What the arithmetic means: its name on a line, then sentences in lines of at most 96 columns,
 * written into buffer (truncated to size, always terminated). Returns the length needed without the
 * final zero. */
ULP_API size_t ulp_arithmetic_describe(const struct ulp_arithmetic *arithmetic, char *buffer,
                                       size_t size);

/* Preset names shown to users, index 0, 1, ... until NULL. */
ULP_API const char *ulp_arithmetic_preset(size_t index);

/* Round x once to the format (exact double in, no double rounding). index and seed are the place in
 * the stochastic stream; ignored otherwise. The exhaustively tested scalar form of what strips
 * do. */
ULP_API double ulp_format_round(const struct ulp_format *format, enum ulp_rounding rounding,
                                double x, uint64_t seed, uint64_t index);

#endif
