/* Models run and audited in one call each. */
#pragma once

#include <ulpscope.h>

/* For these arithmetics, at most 16. */
struct ulp_program *test_plan(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                              const char *const *names, size_t count);
/* The outputs in one arithmetic, by one thread. */
struct ulp_tensor_set test_outputs(const struct ulp_model *model,
                                   const struct ulp_tensor_set *inputs, const char *name);
/* The audit of one sample, the first arithmetic being the reference. */
void test_audit(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                const char *const *names, size_t count, struct ulp_audit *out);
