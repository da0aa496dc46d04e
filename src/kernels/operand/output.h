/* The end of a contraction: sums, rounded to storage when the problem says so, go to their places
 * in the output. */
#pragma once

#include "kernels/contract.h"
#include "kernels/operand/draw.h"
#include "number/strip.h"

#define ULP_OUTPUT_STRIP 64

struct ulp_output {
    struct ulp_tensor *tensor;
    enum ulp_element source; /* of strips */
    bool round;              /* to `format` first */
    struct ulp_format format;
    struct ulp_strip_rule rule; /* rounding and seed */
    uint64_t stream;
};

/* For sums of format `sum` in strips of element `source`. ULP_ERROR_USAGE when the tensor's element
 * is not the one that problem->store asks for. */
enum ulp_status ulp_output_make(struct ulp_output *out, const struct ulp_arithmetic *arithmetic,
                                const struct ulp_contraction *problem, const struct ulp_format *sum,
                                enum ulp_element source, struct ulp_error *error);
/* Are the n places one after the other? */
bool ulp_output_is_run(const int64_t *offset, size_t n);
/* Sum j goes to element base + offset[j]; to offset[0] + j of a run, which is faster. NaN is stored
 * as the canonical quiet NaN, so that bits do not depend on which operand an instruction takes its
 * payload from. n <= ULP_OUTPUT_STRIP; the strip is rounded where it lies. */
void ulp_output_strip(const struct ulp_output *output, int64_t base, const int64_t *offset,
                      bool run, void *strip, size_t n, struct ulp_draw draw);
