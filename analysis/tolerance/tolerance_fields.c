/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */

static const struct ulp_field tolerance_element[] = {
    {.name = "index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_tolerance_element, index)},
    {.name = "reference", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_element, reference)},
    {.name = "error", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_element, error)},
    {.name = "random", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_element, random)},
    {.name = "bound", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_element, bound)},
};
const struct ulp_struct ulp_struct_tolerance_element = {
    "ulp_tolerance_element", sizeof(struct ulp_tolerance_element), tolerance_element, sizeof tolerance_element / sizeof *tolerance_element};

static const struct ulp_field tolerance_output[] = {
    {.name = "name", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_tolerance_output, name)},
    {.name = "sample", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_tolerance_output, sample)},
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_tolerance_output, count), .counts = true, .said = true},
    {.name = "ref_rms", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_output, ref_rms)},
    {.name = "ref_max", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_output, ref_max)},
    {.name = "rms", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_output, rms)},
    {.name = "max_abs", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_output, max_abs)},
    {.name = "own_max", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_output, own_max)},
    {.name = "freedom", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_output, freedom)},
    {.name = "random", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_output, random)},
    {.name = "bound", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_output, bound)},
    {.name = "nonfinite", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_tolerance_output, nonfinite)},
    {.name = "open", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_tolerance_output, open)},
    {.name = "atol", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_output, atol)},
    {.name = "element_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_tolerance_output, element_count), .counts = true},
    {.name = "elements", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_tolerance_output, elements), .type = &ulp_struct_tolerance_element, .points = true, .counted = true, .count = offsetof(struct ulp_tolerance_output, element_count)},
    {.name = "references", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_output, references), .points = true, .counted = true, .count = offsetof(struct ulp_tolerance_output, count), .apart = true},
    {.name = "errors", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance_output, errors), .points = true, .counted = true, .count = offsetof(struct ulp_tolerance_output, count), .apart = true},
    {.name = "next", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_tolerance_output, next), .type = &ulp_struct_tolerance_output, .points = true, .apart = true},
};
const struct ulp_struct ulp_struct_tolerance_output = {
    "ulp_tolerance_output", sizeof(struct ulp_tolerance_output), tolerance_output, sizeof tolerance_output / sizeof *tolerance_output};

static const struct ulp_field tolerance[] = {
    {.name = "model_path", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_tolerance, model_path)},
    {.name = "arguments", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_tolerance, arguments)},
    {.name = "arithmetic", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_tolerance, arithmetic)},
    {.name = "reference", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_tolerance, reference)},
    {.name = "trials", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_tolerance, trials)},
    {.name = "sample_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_tolerance, sample_count)},
    {.name = "narrow_products", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_tolerance, narrow_products)},
    {.name = "output_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_tolerance, output_count), .counts = true},
    {.name = "outputs", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_tolerance, outputs), .type = &ulp_struct_tolerance_output, .points = true, .counted = true, .count = offsetof(struct ulp_tolerance, output_count)},
    {.name = "unjudged", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_tolerance, unjudged), .type = &ulp_struct_unjudged_list},
    {.name = "no_bound", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_tolerance, no_bound)},
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_tolerance, seconds)},
};
const struct ulp_struct ulp_struct_tolerance = {
    "ulp_tolerance", sizeof(struct ulp_tolerance), tolerance, sizeof tolerance / sizeof *tolerance};
