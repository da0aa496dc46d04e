/* Values of less than 8 bits, packed from the low bits up. */
#pragma once

#include "ops/call.h"

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

/* *a, whose lines have k elements, as ONNX Runtime's CPU provider multiplies it by bytes: each
 * block as signed bytes times a scale. What rows with it list: ulp_bits_coded. */
extern const struct ulp_formula ulp_bits_coded;
enum ulp_status ulp_bits_code_lines(struct ulp_call *call, size_t k, size_t block,
                                    const struct ulp_tensor **a);
