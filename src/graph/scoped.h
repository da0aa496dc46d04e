/* Models and programs that ULP_SCOPED frees, for the library and the program alike. */
#pragma once

#include <ulpscope/run.h>

#include "base/error.h"

ULP_FREES(ulp_model_free, struct ulp_model)
ULP_FREES(ulp_program_free, struct ulp_program)
