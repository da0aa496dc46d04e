/* Made by scripts/result_fields.py of the public headers: change these. */
#include "analysis/writing/structs.h"

#include <ulpscope.h>

/* clang-format off */

static const struct ulp_field fit_candidate[] = {
    {.name = "name", .kind = ULP_FIELD_LETTERS, .offset = offsetof(struct ulp_fit_candidate, name)},
    {.name = "gpus", .kind = ULP_FIELD_LETTERS, .offset = offsetof(struct ulp_fit_candidate, gpus)},
    {.name = "also", .kind = ULP_FIELD_LETTERS, .offset = offsetof(struct ulp_fit_candidate, also)},
    {.name = "operands", .kind = ULP_FIELD_LETTERS, .offset = offsetof(struct ulp_fit_candidate, operands)},
    {.name = "result", .kind = ULP_FIELD_LETTERS, .offset = offsetof(struct ulp_fit_candidate, result)},
    {.name = "consistent", .kind = ULP_FIELD_FLAG, .offset = offsetof(struct ulp_fit_candidate, consistent)},
    {.name = "equal", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fit_candidate, equal)},
    {.name = "product", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fit_candidate, product)},
    {.name = "index", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fit_candidate, index)},
    {.name = "recorded", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_fit_candidate, recorded)},
    {.name = "computed", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_fit_candidate, computed)},
    {.name = "max_ulps", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_fit_candidate, max_ulps)},
    {.name = "first_row", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fit_candidate, first_row)},
    {.name = "last_row", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fit_candidate, last_row)},
    {.name = "first_column", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fit_candidate, first_column)},
    {.name = "last_column", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fit_candidate, last_column)},
};
const struct ulp_struct ulp_struct_fit_candidate = {
    "ulp_fit_candidate", sizeof(struct ulp_fit_candidate), fit_candidate, sizeof fit_candidate / sizeof *fit_candidate};

static const struct ulp_field fit[] = {
    {.name = "product_count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fit, product_count)},
    {.name = "elements", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fit, elements)},
    {.name = "tried", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fit, tried)},
    {.name = "consistent", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fit, consistent)},
    {.name = "count", .kind = ULP_FIELD_SIZE, .offset = offsetof(struct ulp_fit, count), .counts = true},
    {.name = "candidates", .kind = ULP_FIELD_STRUCT, .offset = offsetof(struct ulp_fit, candidates), .type = &ulp_struct_fit_candidate, .points = true, .counted = true, .count = offsetof(struct ulp_fit, count)},
    {.name = "order", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fit, order)},
    {.name = "parts", .kind = ULP_FIELD_TEXT, .offset = offsetof(struct ulp_fit, parts)},
    {.name = "seconds", .kind = ULP_FIELD_DOUBLE, .offset = offsetof(struct ulp_fit, seconds)},
};
const struct ulp_struct ulp_struct_fit = {
    "ulp_fit", sizeof(struct ulp_fit), fit, sizeof fit / sizeof *fit};
