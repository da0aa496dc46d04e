/* TensorRT's calibration cache: a line "TRT-101401-EntropyCalibration2", then "TENSOR: SCALE" for
 * each tensor, the bits of an FP32 number in hexadecimal, which is a 127th of the largest
 * magnitude. 0: the tensor has none. */
#pragma once

#include "base/memory/alloc.h"

struct ulp_calibration_cache {
    size_t count;
    struct ulp_tensor_scale {
        const char *name;
        float scale; /* finite, 0 or above */
    } * items;       /* by name, each once */
};

/* Into memory. ULP_ERROR_INPUT: it is none. */
enum ulp_status ulp_calibration_cache_read(const char *path, struct ulp_arena *memory,
                                           struct ulp_calibration_cache *out,
                                           struct ulp_error *error);
/* Of the tensor; 0: none. */
float ulp_calibration_cache_find(const struct ulp_calibration_cache *cache, const char *name);
