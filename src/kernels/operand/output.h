/* The end of a contraction: sums, rounded to storage when the problem says so, go to their places
 * in the output. */
#pragma once

#include "kernels/contract.h"
#include "kernels/operand/draw.h"

struct ulp_output {
    struct ulp_tensor *tensor;
    enum ulp_element source; /* of strips */
    bool round;              /* to `format` first */
    struct ulp_format format;
    enum ulp_rounding rounding;
    uint64_t seed, stream;
};

/* For sums of format `sum` in strips of element `source`. ULP_ERROR_USAGE when the tensor's element
 * is not the one that problem->store asks for. */
enum ulp_status ulp_output_make(struct ulp_output *out, const struct ulp_arithmetic *arithmetic,
                                const struct ulp_contraction *problem, const struct ulp_format *sum,
                                enum ulp_element source, struct ulp_error *error);
/* Sum j goes to element base + offset[j]. NaN is stored as the canonical quiet NaN, so that bits do
 * not depend on which operand an instruction takes its payload from. n <= 64. */
void ulp_output_strip(const struct ulp_output *output, int64_t base, const int64_t *offset,
                      const void *strip, size_t n, struct ulp_draw draw);
bool ulp_output_has_nan(const float *x, size_t n);
/* Are the n places one after the other? Then ulp_output_run is faster. */
bool ulp_output_is_run(const int64_t *offset, size_t n);
/* Sums 0 .. n - 1 go to elements first, first + 1, ...; the strip may be rounded where it lies. Not
 * for stochastic rounding. */
void ulp_output_run(const struct ulp_output *output, int64_t first, void *strip, size_t n);
