/* Packing: gathers the elements of a factor through its offset tables into contiguous memory,
 * converted to the arithmetic's factor format on the way. Every contraction path (tiles, matrix
 * units) starts here. */
#pragma once

#include "kernels/contract.h"

/* A factor and how its elements are converted. */
struct ulp_pack {
    const struct ulp_factor *factor;
    struct ulp_format format;
    bool round; /* false: every storage value is one of `format`, nothing to do */
    enum ulp_rounding rounding;
    int side; /* 0: a, 1: b */
    /* of stochastic operand rounding: element e of the tensor draws number (stream, e) */
    uint64_t seed, stream;
};

/* side: 0 for a, 1 for b (they draw different numbers). */
struct ulp_pack ulp_pack_make(const struct ulp_arithmetic *arithmetic,
                              const struct ulp_contraction *problem, int side);

/* The part of a factor that is packed. */
struct ulp_pack_range {
    size_t batch, line, line_count, k, k_count;
};

/* Panels of `width` lines, k-major: (line i, k) of the range goes to
 * out[(i / width) * width * k_count + k * width + i % width]. Lines missing from the last panel are
 * zeros. `target` is the element of out: F32 when format.carrier is ULP_CARRIER_FLOAT, F64 unless
 * it is ULP_CARRIER_MPFR; U32 or U64 when the tensor has that element, which is then moved as it
 * is. */
void ulp_pack_panels(void *out, enum ulp_element target, const struct ulp_pack *pack,
                     struct ulp_pack_range range, size_t width);

static inline void ulp_pack_panels_float(float *out, const struct ulp_pack *pack,
                                         struct ulp_pack_range range, size_t width)
{
    ulp_pack_panels(out, ULP_ELEMENT_F32, pack, range, width);
}
/* Rows: (line i, k) goes to out[i * stride + k]; stride >= k_count, positions from k_count on are
 * zeros. */
void ulp_pack_rows(float *out, const struct ulp_pack *pack, struct ulp_pack_range range,
                   size_t stride);

/* Does the tensor hold a value that may be NaN or Inf in the factor format? Conservative: a value
 * above max_finite may still round down to it, and elements the contraction does not use count
 * too. */
bool ulp_pack_may_be_special(const struct ulp_pack *pack, struct ulp_pool *pool);

/* The padding rule. A padding element stands for the zero the tensor holds, and its product with a
 * finite element is a zero, which cannot change a sum except the sign of a sum that is itself zero.
 * Its product with Inf or NaN does not exist; it counts as +0. So packed zeros give every output
 * right except those where padding of one factor meets a non-finite element of the other, and these
 * can only exist when ulp_pack_meets_padding says so. */
bool ulp_pack_meets_padding(const struct ulp_pack *a, const struct ulp_pack *b,
                            struct ulp_pool *pool);
/* Has the line any padding element / only elements that are finite after conversion? For k in [0,
 * k_count). */
bool ulp_pack_line_has_padding(const struct ulp_pack *pack, size_t batch, size_t line,
                               size_t k_count);
bool ulp_pack_line_is_finite(const struct ulp_pack *pack, size_t batch, size_t line,
                             size_t k_count);
/* One line of each factor over k in [0, k_count), with 0 in place of what padding meets and must
 * not multiply. */
void ulp_pack_pair(double *a_out, double *b_out, const struct ulp_pack *a, const struct ulp_pack *b,
                   size_t batch, size_t a_line, size_t b_line, size_t k_count);

/* Offset of an element in its tensor. */
static inline int64_t ulp_factor_offset(const struct ulp_factor *factor, size_t batch, size_t line,
                                        size_t k)
{
    return (factor->batch_offset ? factor->batch_offset[batch] : 0) + factor->line_offset[line] +
           factor->k_offset[k];
}
