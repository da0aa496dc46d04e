/* What FLOAT nodes are computed in where a model runs: FP32, or TF32 where no one forbids it. */
#include <stdio.h>
#include <string.h>
#include <ulpscope/target.h>

#include "number/format/request.h"

enum ulp_status ulp_floats_find(const char *floats, const char *gpu, struct ulp_arithmetic *out,
                                struct ulp_error *error)
{
    char name[80];
    snprintf(name, sizeof name, "%s%s%s", floats, *gpu && *gpu != '@' ? "@" : "", gpu);
    if (strcmp(floats, "fp32") != 0 && ulp_arithmetic_find(name, out, NULL) == ULP_OK)
        return ULP_OK;
    return ulp_arithmetic_find("fp32", out, error);
}

bool ulp_target_leaves_floats(const struct ulp_target *target)
{
    return target->bit != ULP_TARGET_ORT && (!target->wider || ulp_target_tf32(target));
}

enum ulp_status ulp_target_floats(const struct ulp_target_name *name, struct ulp_arithmetic *out,
                                  struct ulp_error *error)
{
    const struct ulp_target_tf32 *row = ulp_target_tf32(name->target);
    return ulp_floats_find(!row || name->tf32 == ULP_TF32_FORBIDDEN ? "fp32"
                           : name->tf32 == ULP_TF32_ALLOWED         ? row->allowed
                                                                    : row->usual,
                           name->gpu, out, error);
}
