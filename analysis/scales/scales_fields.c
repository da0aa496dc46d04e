/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */


static const struct ulp_field scaled_tensor[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_scaled_tensor, name)},
    {.name = "node", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_scaled_tensor, node)},
    {.name = "op", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_scaled_tensor, op)},
    {.name = "format", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_scaled_tensor, format)},
    {.name = "weight", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_scaled_tensor, weight)},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, elements)},
    {.name = "blocks", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, blocks)},
    {.name = "nonfinite", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, nonfinite)},
    {.name = "zeros", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, zeros)},
    {.name = "clipped", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, clipped)},
    {.name = "product_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, product_db)},
    {.name = "sqnr_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, sqnr_db)},
    {.name = "clipping", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, clipping)},
    {.name = "scaling", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, scaling)},
    {.name = "rounding", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, rounding)},
    {.name = "range_bits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, range_bits)},
    {.name = "range_bits_most", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, range_bits_most)},
    {.name = "format_bits", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, format_bits)},
    {.name = "worst_line", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, worst_line)},
    {.name = "worst_k", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, worst_k)},
    {.name = "worst_part", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, worst_part)},
    {.name = "outlier", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_scaled_tensor, outlier)},
    {.name = "outlier_is_line", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_scaled_tensor, outlier_is_line)},
    {.name = "outlier_ratio", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, outlier_ratio)},
    {.name = "outlier_gain_db", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_scaled_tensor, outlier_gain_db)},
};
const struct ulp_struct ulp_struct_scaled_tensor = {
    "ulp_scaled_tensor", sizeof(struct ulp_scaled_tensor), scaled_tensor, sizeof scaled_tensor / sizeof *scaled_tensor};

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
