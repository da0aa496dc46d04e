/* The one search for what mends a model where it is to run, of the doctor, which promises it, and
 * of fix, which does it. */
#pragma once

#include <ulpscope/search.h>
#include <ulpscope/target.h>

#include "base/text/text.h"

#define ULP_REMEDY_KEPT_IN "fp32"
/* The share of draws that must hold where nothing is asked. */
#define ULP_REMEDY_CONFIDENCE 0.99

struct ulp_remedy {
    const struct ulp_arithmetic *reference;
    const char *arithmetic;          /* that it is judged in, as it is named */
    const struct ulp_target *target; /* NULL: none */
    const char *named; /* the target as it is named, of which the arithmetic is; NULL */
    const char *const *tolerances;
    size_t tolerance_count;
    double confidence;
    bool alone; /* nothing can be kept in FP32: the model is only judged in draws */
    bool allow_nonfinite_inputs;
    enum ulp_task task;
    const struct ulp_scorer *scorer; /* NULL: none */
    int thread_count;
    const struct ulp_observer *progress;
    double seconds;
};
enum ulp_status ulp_remedy_search(const struct ulp_model *model, const struct ulp_remedy *wanted,
                                  const struct ulp_sample *samples, size_t sample_count,
                                  struct ulp_search *out, struct ulp_error *error);
/* What a target has that lowers every model itself, and that no file helps; NULL: out of memory. */
void ulp_remedy_add_wider(struct ulp_text *out, const struct ulp_target *target);
char *ulp_remedy_say_wider(const struct ulp_target *target, struct ulp_arena *memory);
