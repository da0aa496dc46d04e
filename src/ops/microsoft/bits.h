/* Values of less than 8 bits, packed from the low bits up. */
#pragma once

#include "tensor/tensor.h"

/* `rows` rows of `columns` values of `bits` bits as UINT8, each row starting at a byte of `in`;
 * out has room for them. */
void ulp_unpack_bits(const struct ulp_tensor *in, int64_t first_row, int64_t rows, int64_t columns,
                     int64_t row_bytes, int64_t bits, struct ulp_tensor *out);

/* The zero point that stands for one that is left out, by bits: the middle of their range. */
extern const char *const ulp_bits_middle[9];
/* Bounds of packed integers (ops/trace/trace_enclose.h) say nothing of the values inside. */
static inline bool ulp_bits_are_known(const struct ulp_tensor *integers)
{
    return !ulp_element_is_float(integers->element);
}
