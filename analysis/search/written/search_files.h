/* The files that stand beside plan.json. */
#pragma once

#include <ulpscope/search.h>
#include <ulpscope/target.h>

#include "base/text/text.h"

/* ---- trt_files.c: an allocation as options and scripts of TensorRT's tools ---- */

/* search_say.c: the target that the arithmetic is named after, as "qnn:fp16"; NULL: none. */
const struct ulp_target *ulp_search_target(const char *arithmetic);
/* Is TensorRT among the targets, or none named? */
bool ulp_trt_is_meant(const struct ulp_search *found);
/* Are all formats types that TensorRT gives a layer? TF32 is a setting of the whole engine. */
bool ulp_trt_has_formats(const struct ulp_search *found);
/* TensorRT 10: scales of INT8 for trtexec --calib and IInt8EntropyCalibrator2. */
bool ulp_trt_has_cache(const struct ulp_search *found);
enum ulp_status ulp_trt_cache(const struct ulp_search *found, struct ulp_text *out,
                              struct ulp_error *error);
/* TensorRT up to 10: options of trtexec. */
enum ulp_status ulp_trt_trtexec(const struct ulp_search *found, struct ulp_text *out,
                                struct ulp_error *error);
/* The same as a script for Polygraphy's --trt-npps. */
enum ulp_status ulp_trt_polygraphy(const struct ulp_search *found, struct ulp_text *out,
                                   struct ulp_error *error);
/* ModelOpt's AutoCast, which keeps nodes in FLOAT and lowers the others to one type. */
bool ulp_trt_has_two_formats(const struct ulp_search *found);
enum ulp_status ulp_trt_autocast(const struct ulp_search *found, struct ulp_text *out,
                                 struct ulp_error *error);
/* Python's re: the name and nothing else, quoted as the function does. */
typedef void ulp_trt_quote(struct ulp_text *out, const char *text);
void ulp_trt_put_expression(struct ulp_text *out, const char *name, ulp_trt_quote *quote);
/* TensorRT 11, which takes types from the graph alone: the Casts to put into it. */
enum ulp_status ulp_trt_strongly_typed(const struct ulp_search *found, struct ulp_text *out,
                                       struct ulp_error *error);

/* ---- exclude.c: products that are not quantised, nodes that stay in FP32, as other tools' options
 * take them ---- */

bool ulp_exclude_has_any(const struct ulp_search *found);
enum ulp_status ulp_exclude_write(const struct ulp_search *found, struct ulp_text *out,
                                  struct ulp_error *error);

/* ---- modelopt.c: the configuration of ModelOpt ---- */

bool ulp_modelopt_has_modules(const struct ulp_search *found);
enum ulp_status ulp_modelopt_write(const struct ulp_search *found, struct ulp_text *out,
                                   struct ulp_error *error);
