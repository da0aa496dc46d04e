/* Products of DynamicQuantizeLSTM: the first factor is quantised by its own range each time, the
 * sums are exact in INT32, and one multiplication by both scales makes them floats. */
#pragma once

#include "ops/contraction.h"

/* A direction's weights: k x lines codes less their zero points, as INT32. */
struct ulp_coded_weights {
    size_t k, lines;
    struct ulp_tensor codes;
    const struct ulp_tensor *bytes; /* the direction's weights as they are */
    struct ulp_operand scale;       /* one, or one for each line */
};

/* weights: directions x k x lines; scale, zero (NULL: 0): one for each direction, or for each of
 * its lines. */
enum ulp_status ulp_coded_weights_read(struct ulp_call *call, struct ulp_coded_weights *out,
                                       const struct ulp_tensor *weights,
                                       const struct ulp_tensor *scale,
                                       const struct ulp_tensor *zero, size_t direction);
/* out (rows x lines) = a (rows x k) times the weights. */
enum ulp_status ulp_coded_multiply(struct ulp_call *call, struct ulp_tensor *out,
                                   const struct ulp_tensor *a, size_t rows,
                                   const struct ulp_coded_weights *weights);

extern const struct ulp_formula ulp_coded_scaled; /* for the row's list */
