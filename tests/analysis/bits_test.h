/* Searching for the fewest bits in tests. */
#pragma once

#include <ulpscope.h>

#include "tests/support/test.h"
#include "tests/support/text_model.h"

static const struct text_graph three = {"x",
                                        "y",
                                        {NODE("MatMul", "first", "x w", "a"),
                                         NODE("Softmax", "middle", "a", "b"),
                                         NODE("MatMul", "last", "b w", "y")}};
enum { SAMPLES = 2 };

/* The last sample is held out, too. */
static inline enum ulp_status find(const struct ulp_model *model, struct ulp_search_options options,
                                   const char *tolerance, const struct ulp_tensor_set *samples,
                                   size_t sample_count, struct ulp_search *out,
                                   struct ulp_error *error)
{
    struct ulp_sample list[SAMPLES];
    for (size_t s = 0; s < sample_count; s++)
        list[s] = (struct ulp_sample){s ? "two" : "one", &samples[s], 0};
    options.reference = test_arithmetic("mpfr:128");
    options.tolerances = &tolerance;
    options.tolerance_count = 1;
    options.frontier = true;
    if (!options.thread_count)
        options.thread_count = 1;
    return ulp_search_run(model, &options, list, sample_count, &list[sample_count - 1], 1, out,
                          error);
}
