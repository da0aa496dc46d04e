/* Running a study in tests. */
#pragma once

#include <ulpscope.h>

#include "tests/support/test.h"

static inline struct ulp_study run(const struct ulp_model *model,
                                   const struct ulp_tensor_set *inputs,
                                   struct ulp_study_options options, const char *const *sweeps)
{
    const struct ulp_sample sample = {.name = "0", .inputs = inputs};
    struct ulp_study study;
    struct ulp_error error;
    options.reference = test_arithmetic("mpfr:128");
    options.sweeps = sweeps;
    for (options.sweep_count = 0; sweeps[options.sweep_count];)
        options.sweep_count++;
    ck_ulp_ok(ulp_study_run(model, &sample, 1, &options, &study, &error), error);
    return study;
}
#define RUN(model, inputs, options, ...) \
    run(model, inputs, options, (const char *const[]){__VA_ARGS__, NULL})
static const struct ulp_study_options plain = {.thread_count = 1};
