/* The GPUs of gpu.def. */
#pragma once

#include "number/format/request.h"

/* Formats that a matrix unit takes, as bits. */
enum { FP16 = 1, BF16 = 2, TF32 = 4, FP8 = 8, FP64 = 16, FP6 = 32 };

struct ulp_gpu_row {
    const char *name;
    unsigned formats;
    enum ulp_unit_class fp8_class; /* every GPU has mma, too */
    enum ulp_rounding tf32;        /* of TF32 operands */
    const char *other;             /* "@GPU": of another generation */
    const char *unit;              /* the GPU whose rows its matrix unit is; name: its own */
    const char *known;             /* why it is; "" for its own */
};
extern const struct ulp_gpu_row ulp_gpus[ULP_GPU_COUNT];

/* The row of that name; NULL: there is none. */
const struct ulp_gpu_row *ulp_gpu_find(const char *name);

/* Is a Conv summed as cuDNN's kernel for its shape? */
static inline bool ulp_convolves_as_cudnn(const struct ulp_arithmetic *arithmetic)
{
    return arithmetic->conv == ULP_CONV_CUDNN || arithmetic->conv == ULP_CONV_TORCH;
}
