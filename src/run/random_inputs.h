/* Random inputs at sizes that are given; fitting_sizes.c finds sizes for ulp_model_random_inputs. */
#pragma once

#include <ulpscope/model.h>

/* Are the ranges and dimensions those of inputs? */
enum ulp_status ulp_random_options_check(const struct ulp_model *model,
                                         const struct ulp_random_options *options,
                                         struct ulp_error *error);
/* Open dimensions are of the sizes that options give, or 1. */
enum ulp_status ulp_random_inputs_at(const struct ulp_model *model,
                                     const struct ulp_random_options *options,
                                     struct ulp_tensor_set *out, struct ulp_error *error);
