/* In what a model is judged that is to run at a target. */
#include <stdio.h>
#include <string.h>
#include <ulpscope/doctor.h>

#include "analysis/emulation/emulation.h"
#include "base/machine/environment.h"

static bool declares_half(const struct ulp_model *model)
{
    bool half = false;
    for (size_t v = 0; v < model->graph->value_count; v++) {
        const struct ulp_value *value = &model->graph->values[v];
        const enum ulp_type type = value->initializer ? value->initializer->type : value->info.type;
        half |= type == ULP_TYPE_FLOAT16 || type == ULP_TYPE_BFLOAT16;
    }
    return half;
}

enum ulp_status ulp_judged_in(const struct ulp_model *model, const char *target_name,
                              const char *arithmetic, char name[ULP_JUDGED_IN_BYTES],
                              struct ulp_arithmetic *out, struct ulp_error *error)
{
    ULP_ENTER_ENVIRONMENT;
    const struct ulp_target *target = target_name ? ulp_target_find(target_name) : NULL;
    if (target_name && !target)
        return ulp_target_refuse(target_name, error);
    const char *gpu = target ? target_name + strcspn(target_name, "@") : "";
    if (arithmetic)
        snprintf(name, ULP_JUDGED_IN_BYTES, "%s", arithmetic);
    else if (declares_half(model) && /* ORT follows them in an arithmetic of its own */
             !(target && (target->wider || target->bit == ULP_TARGET_ORT)))
        snprintf(name, ULP_JUDGED_IN_BYTES, "model%s", gpu);
    else
        snprintf(name, ULP_JUDGED_IN_BYTES, "%s%s", target ? target->lowered : "fp16", gpu);
    return ulp_arithmetic_find(name, out, error);
}
