/* Names of arithmetics, drawn from bases, formats, GPUs and parts. */
#include "builder.h"
#include "tests/support/test.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define PARTS_MAX 5

static const char *const bases[] = {
    "fp16",        "fp16",     "fp16",       "bf16",         "bf16",         "fp32",
    "fp64",        "tf32",     "tf32-trunc", "tf32-strict",  "fp16-strict",  "fp16-strict",
    "bf16-strict", "fp8-e4m3", "fp8-e5m2",   "fp8-e4m3fnuz", "fp8-e5m2fnuz", "fp8-e4m3-strict",
    "e5m7",        "e4m3",     "e8m3",       "e3m4",         "e6m9-strict",  "model",
    "ort-cpu",
#define TARGET(...)
#define RULES(...)
#define CHOICE(...)
#define PROCESSORS(...)
#define TF32(...)
#define INTEGERS(...)
#define RULES(...)
#define ARITHMETIC(name, ...) name,
#include "number/format/target.def"
    "mpfr:30",     "mpfr:60",  "mpfr:128",   "mpfr:200",     "pair",
};
static const char *const gpus[] = {"v100", "t4",   "a100", "a2",   "ada",
                                   "l40s", "h100", "h200", "b200", "rtx5090"};
static const char *const parts[] = {
    "round=rne",
    "round=rna",
    "round=rz",
    "round=rz",
    "round=ru",
    "round=rd",
    "round=sr,seed=7",
    "result-only",
    "each-step",
    "subnormals=flush",
    "subnormals=keep",
    "overflow=inf",
    "overflow=nan",
    "overflow=saturate",
    "overflow=saturate",
    "compute=fp32",
    "compute=fp16",
    "compute=bf16",
    "factor=fp16",
    "factor=bf16",
    "factor=fp8-e4m3",
    "factor=fp8-e5m2",
    "factor=tf32",
    "acc=fp16",
    "acc=fp32",
    "acc=bf16",
    "acc=fp8-e5m2",
    "acc=e5m7",
    "unit=none",
    "unit=mma",
    "unit=wgmma",
    "unit=tcgen05",
    "vectors=unit",
    "vectors=scalar",
    "operands=rne",
    "operands=rna",
    "operands=rz",
    "order=sequential",
    "order=pairwise",
    "order=blocked:3",
    "reduce=sequential",
    "reduce=pairwise",
    "reduce=blocked:4",
    "reduce=warp",
    "nofma",
    "fma",
    "promote=4",
    "split-k=2",
    "split-k=auto",
    "split-k=cublas",
    "epilogue=fused",
    "epilogue=rounded",
    "integers=saturating16",
    "qdq=float",
    "qdq=integer",
    "requant=double",
    "requant=single",
    "functions=rounded",
    "functions=cuda",
    "constants=saturated",
    "constants=ieee",
    "constants=tensorrt",
    "constants=onnxconverter-common",
    "exponentials=shifted",
    "exponentials=plain",
    "norms=plain",
    "norms=torch",
    "batchnorm=computed",
    "batchnorm=folded",
    "qdq-scales=declared",
    "qdq-scales=lowered",
    "attention=flash2",
    "attention=cudnn",
    "attention=efficient",
    "attention=math",
    "written-attention=kernel",
    "recurrence=cudnn",
    "conv=torch",
    "conv=searched",
    "matmul=scalar",
    "fuse=none",
    "fuse=pointwise",
    "fuse=reduce",
    "fuse-inner=fp32",
    "fuse-inner=fp16",
    "fuse-constants=stored",
    "fuse-constants=inner",
    "fuse-casts=stored",
    "fuse-casts=inner",
};

void random_arithmetic(uint64_t key, char *out, size_t size)
{
    struct stream stream = {.key = ulp_mix(key + 17)};
    struct ulp_arithmetic arithmetic;
    for (int attempt = 0; attempt < 200; attempt++) {
        int length = snprintf(out, size, "%s", bases[stream_draw_below(&stream, COUNT(bases))]);
        if (stream_draw_below(&stream, 10) < 3)
            length += snprintf(out + length, size - (size_t)length, "@%s",
                               gpus[stream_draw_below(&stream, COUNT(gpus))]);
        for (size_t count = (size_t)stream_draw_below(&stream, PARTS_MAX); count > 0; count--)
            length += snprintf(out + length, size - (size_t)length, ",%s",
                               parts[stream_draw_below(&stream, COUNT(parts))]);
        if (ulp_arithmetic_find(out, &arithmetic, NULL) == ULP_OK)
            return;
    }
    snprintf(out, size, "fp16");
}
