/* Where a model is to run: a target, as `--for` names it. Each is a row of one table
 * (src/number/format/target.def): what it stores, accumulates and fuses, how it lowers constants,
 * which rules of the lint are about it, and which of a plan's files it takes. What it computes in
 * is said by arithmetics whose names begin with its own ("trt10:fp16"), and how each of their rules
 * is known stands beside it. */
#ifndef ULPSCOPE_TARGET_H
#define ULPSCOPE_TARGET_H

#include <ulpscope/format.h>

/* As bits, for sets of targets. */
enum ulp_target_bit {
    ULP_TARGET_TRT8 = 1,
    ULP_TARGET_TRT10 = 2,
    ULP_TARGET_TRT11 = 4,
    ULP_TARGET_ORT = 8,
    ULP_TARGET_TORCH = 16,
    ULP_TARGET_TORCH_COMPILE = 32,
    ULP_TARGET_ORT_CUDA = 64,
    ULP_TARGET_ORT_WEBGPU = 128,
    ULP_TARGET_ORT_DML = 256,
    ULP_TARGET_OPENVINO_CPU = 512,
    ULP_TARGET_OPENVINO_GPU = 1024,
    ULP_TARGET_COREML_ANE = 2048,
    ULP_TARGET_COREML_GPU = 4096,
    ULP_TARGET_QNN = 8192,
    ULP_TARGET_RKNN = 16384,
    ULP_TARGET_TRT_RTX = 32768,
    ULP_TARGET_ORT_COREML = 65536,
    ULP_TARGET_TFLITE = 131072,
    ULP_TARGET_ALL = 262143
};

/* What keeps single nodes in FP32 there. */
enum ulp_target_keeps {
    ULP_KEEPS_TYPES,  /* the types in the graph */
    ULP_KEEPS_LAYERS, /* options that name layers: the graph's types are not obeyed */
    ULP_KEEPS_NOTHING
};

struct ulp_target {
    const char *name;    /* "trt10" */
    const char *alias;   /* "trt", of the newest; NULL: none */
    const char *product; /* "TensorRT 10" */
    enum ulp_target_bit bit;
    const char *lowered; /* the arithmetic that a plan for it is searched in: "trt10:fp16" */
    /* sentences: */
    const char *stores, *accumulates, *fuses, *constants, *rules, *files;
    enum ulp_target_keeps keeps;
    const char *wider; /* what computes more in FP32, where the graph's types do not; else NULL */
};
/* Index 0, 1, ... until NULL; by name or alias, as ulp_target_read takes it: NULL: there is none.
 * Static. */
ULP_API const struct ulp_target *ulp_target(size_t index);
ULP_API const struct ulp_target *ulp_target_find(const char *name);
/* The error that there is none: it lists those there are. */
ULP_API enum ulp_status ulp_target_refuse(const char *name, struct ulp_error *error);

/* FP32 on a GPU is TF32 unless someone says no. */
enum ulp_tf32 {
    ULP_TF32_USUAL, /* as the runtime does where nothing is said */
    ULP_TF32_ALLOWED,
    ULP_TF32_FORBIDDEN,
};
/* Of a target where FP32 products may be TF32; NULL: they never are. */
struct ulp_target_tf32 {
    const char *target;
    const char *usual, *allowed;  /* arithmetics: what FP32 is by default, and with TF32 allowed */
    const char *forbids, *python; /* what is said to the runtime so that it is FP32 */
};
ULP_API const struct ulp_target_tf32 *ulp_target_tf32(const struct ulp_target *target);

/* Of a target whose own quantiser makes integers: the format of factors, as factor= takes it, and
 * whether signed codes are to be written as unsigned ones with a zero point in the middle, the same
 * numbers; NULL: nothing is known. Its integer kernels of the operators `results`, words of a list,
 * end in QuantizeLinear: without one they compute in floats. */
struct ulp_target_integers {
    const char *target, *format;
    bool unsigned_codes;
    const char *results;
};
ULP_API const struct ulp_target_integers *ulp_target_integers(const struct ulp_target *target);

/* A target as it is named: "trt10", "trt10@a100", "trt10@a100,tf32=off", "ort-cuda,version=1.31".
 */
struct ulp_target_name {
    const struct ulp_target *target;
    char gpu[20]; /* "@a100"; "": none was named */
    enum ulp_tf32 tf32;
    char version[16]; /* "1.31"; "": none was named. Rules recorded on another are told so */
};
/* False: there is no such target, or FP32 is never TF32 there. */
ULP_API bool ulp_target_read(const char *name, struct ulp_target_name *out);
/* Does a graph of FLOAT stay one there where nobody converts it? Others lower every model, and of
 * the CPU provider of ONNX Runtime the target's arithmetic is of the graph as it is. */
ULP_API bool ulp_target_leaves_floats(const struct ulp_target *target);
/* What FLOAT nodes are computed in there: FP32 where the GPU has no TF32. */
ULP_API enum ulp_status ulp_target_floats(const struct ulp_target_name *name,
                                          struct ulp_arithmetic *out, struct ulp_error *error);

/* What is assumed of a target and can be otherwise: both sides as arithmetics. */
struct ulp_target_choice {
    const char *target;             /* its name */
    const char *arithmetic, *word;  /* what is assumed, and what heads its column */
    const char *other, *other_word; /* the other choice */
    const char *question;           /* what was assumed, and how to know */
    /* kinds of processors, which differ in sums of bytes alone: no choice but of models whose sums
     * may saturate, which are judged on the worse of both */
    bool processors;
    /* sums of rows inside operators, kept in FP32 or in the storage format: no record says which.
     * No choice but of models that have such operators */
    bool inside;
};
ULP_API const struct ulp_target_choice *ulp_target_choice(size_t index);

/* How a rule is known, the surest first. */
enum ulp_known {
    ULP_KNOWN_RECORDED,   /* a script recorded the runtime, or compares with such a recording */
    ULP_KNOWN_DOCUMENTED, /* the runtime's makers say so */
    ULP_KNOWN_STATED,     /* someone says so in a thread */
    ULP_KNOWN_INFERRED,   /* it follows from something else, or nothing else is known */
};
/* "recorded", "documented", "stated", "inferred". */
ULP_API const char *ulp_known_name(enum ulp_known known);

/* One rule of a target: that its arithmetic has this base or part, or that an operator rounds as a
 * row of steps.def says. */
struct ulp_rule {
    const char *of;   /* "torch:fp16", "ort-cpu"; of an operator's steps "ort-cuda", as in steps= */
    const char *rule; /* "fp16", "epilogue=rounded"; "CumSum: every step is rounded" */
    enum ulp_known known;
    const char *by;    /* the script ("lab/compare_operators.py"), document or thread */
    const char *on;    /* version and hardware; may be "" where it was not recorded */
    const char *shown; /* what was found; may be "" */
};
/* Index 0, 1, ... until false. Texts are static. */
ULP_API bool ulp_target_rule(size_t index, struct ulp_rule *out);
/* Is it one of an arithmetic of that name ("ort-cuda:fp16@h100"), where no part that follows takes
 * its place? */
ULP_API bool ulp_rule_holds(const struct ulp_rule *rule, const char *name);
/* The rules of an arithmetic of that name: as ulp_arithmetic_describe. */
ULP_API size_t ulp_rules_describe(const char *name, char *buffer, size_t size);

/* The target in English, its arithmetics and their rules: as ulp_arithmetic_describe. */
ULP_API size_t ulp_target_describe(const struct ulp_target *target, char *buffer, size_t size);

#endif
