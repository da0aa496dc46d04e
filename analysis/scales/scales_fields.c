/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */

static const struct ulp_field scales_choice[] = {
    {.name = "words", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_scales_choice, words)},
    {.name = "arithmetic", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_scales_choice, arithmetic)},
    {.name = "keep", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_scales_choice, keep)},
    {.name = "sqnr_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scales_choice, sqnr_db)},
    {.name = "gain_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scales_choice, gain_db)},
};
const struct ulp_struct ulp_struct_scales_choice = {
    "ulp_scales_choice", sizeof(struct ulp_scales_choice), scales_choice, sizeof scales_choice / sizeof *scales_choice};

static const struct ulp_field scales[] = {
    {.name = "model_path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_scales, model_path)},
    {.name = "arithmetic", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_scales, arithmetic)},
    {.name = "sqnr_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scales, sqnr_db)},
    {.name = "tensor_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scales, tensor_count), .counts = true},
    {.name = "tensors", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_scales, tensors), .type = &ulp_struct_scaled_tensor, .points = true, .counted = true, .count = offsetof(struct ulp_scales, tensor_count)},
    {.name = "choice_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scales, choice_count), .counts = true},
    {.name = "choices", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_scales, choices), .type = &ulp_struct_scales_choice, .points = true, .counted = true, .count = offsetof(struct ulp_scales, choice_count)},
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scales, seconds)},
};
const struct ulp_struct ulp_struct_scales = {
    "ulp_scales", sizeof(struct ulp_scales), scales, sizeof scales / sizeof *scales};
