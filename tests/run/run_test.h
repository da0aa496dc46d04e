/* What the parts of check_run share. */
#pragma once

#include <ulpscope.h>

#include "tensor/tensor.h"
#include "tests/support/test.h"

void find_lanes(struct ulp_arithmetic *lanes, const char *const *names, size_t count);
/* The model in these arithmetics (at most 8), one set of outputs each unless outputs is NULL. */
void run_network(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                 const char *const *names, size_t count, const struct ulp_run_options *options,
                 struct ulp_observer observer, struct ulp_tensor_set *outputs);
/* The audit of one arithmetic beside pair. */
void audit_one(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
               const char *arithmetic, struct ulp_audit *out);

/* Graphs of a few nodes (check_small.c). */
