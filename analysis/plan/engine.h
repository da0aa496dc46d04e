/* A plan as options and scripts of TensorRT's tools. */
#ifndef ULP_ANALYSIS_PLAN_ENGINE_H
#define ULP_ANALYSIS_PLAN_ENGINE_H

#include <ulpscope/plan.h>

#include "base/text/text.h"

/* Are both formats types that TensorRT gives a layer? TF32 is a setting of the whole engine. */
bool ulp_engine_has_formats(const struct ulp_found *found);
/* TensorRT up to 10: options of trtexec. */
enum ulp_status ulp_engine_trtexec(const struct ulp_found *found, struct ulp_text *out,
                                   struct ulp_error *error);
/* The same as a script for Polygraphy's --trt-npps. */
enum ulp_status ulp_engine_polygraphy(const struct ulp_found *found, struct ulp_text *out,
                                      struct ulp_error *error);
/* ModelOpt's AutoCast. */
enum ulp_status ulp_engine_autocast(const struct ulp_found *found, struct ulp_text *out,
                                    struct ulp_error *error);
/* TensorRT 11, which takes types from the graph alone: the Casts to put into it. */
enum ulp_status ulp_engine_strongly_typed(const struct ulp_found *found, struct ulp_text *out,
                                          struct ulp_error *error);

#endif
