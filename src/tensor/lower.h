/* Constants as converters lower them to a storage format: enum ulp_constants. */
#pragma once

#include "tensor/tensor.h"

/* Of the finite elements other than zero: the least and the largest magnitude. Found when they are
 * first asked for; several threads may ask. */
struct ulp_magnitudes {
    _Atomic(const struct ulp_tensor *) of; /* NULL: not known */
    _Atomic double least, largest;         /* without such elements: infinity and 0 */
};

/* *in with its finite elements put into the rule's magnitudes, to be rounded to `storage`; a view
 * where nothing changes. Floats of 8 bits and fewer, which lanes keep, do not. magnitudes: of *in,
 * for further calls; NULL: there are none. */
enum ulp_status ulp_tensor_lower(struct ulp_tensor *out, const struct ulp_tensor *in,
                                 const struct ulp_format *storage, enum ulp_constants rule,
                                 struct ulp_magnitudes *magnitudes, struct ulp_budget *budget,
                                 struct ulp_error *error);

/* What lowering does to a constant, beside rounding. */
struct ulp_lowered {
    size_t overflowed;  /* finite elements beyond the rule's, or the format's, largest */
    size_t underflowed; /* elements that are raised, or that become zero */
    double largest;     /* magnitude of the finite elements; 0: no element changes */
};
struct ulp_lowered ulp_tensor_count_lowered(const struct ulp_tensor *in,
                                            const struct ulp_format *storage,
                                            enum ulp_constants rule, enum ulp_rounding rounding);
