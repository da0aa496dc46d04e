/* The GPUs by name. */
#include "number/format/gpu.h"

#include <string.h>

const struct ulp_gpu_row ulp_gpus[ULP_GPU_COUNT] = {
#define GPU(NAME, name, formats, class, tf32, other, unit, known)                            \
    [ULP_GPU_##                                                                              \
        NAME] = {name, formats, ULP_UNIT_CLASS_##class, ULP_ROUND_NEAREST_##tf32, "@" other, \
                 unit, known},
#include "number/format/gpu.def"
#undef GPU
};

const struct ulp_gpu_row *ulp_gpu_find(const char *name)
{
    for (int i = 0; i < ULP_GPU_COUNT; i++)
        if (strcmp(ulp_gpus[i].name, name) == 0)
            return &ulp_gpus[i];
    return NULL;
}
