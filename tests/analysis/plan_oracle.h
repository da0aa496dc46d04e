/* What tests of searches measure for themselves, by the public functions of ulpscope/run.h and in
 * doubles of their own. */
#pragma once

#include <ulpscope.h>

/* sqnr_db; -infinity when something is not finite. */
double oracle_power_db(const struct ulp_tensor *value, const struct ulp_tensor *truth);
/* The least of all outputs of a run with that plan. */
double oracle_outputs_db(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                         const struct ulp_precision_plan *read);
bool oracle_file_has(const char *path, const char *text);
