/* Floats of at most 16 bits as files have them: ULP_ELEMENT_STORED; integers of less than 8 bits:
 * ULP_ELEMENT_PACKED. A model's large weights of such types stay in the mapped file, an eighth to a
 * half of their size in memory, and whoever computes with them decodes as much as it needs at a
 * time. */
#pragma once

#include "tensor/tensor.h"

/* The value of a code of a floating-point type of at most 16 bits: exact in float. NaN gives a
 * quiet NaN. */
float ulp_float_decode(enum ulp_type type, uint32_t bits);
/* `count` elements of raw_data's layout: little endian; FP4 packed from the low end. */
void ulp_stored_decode(enum ulp_type type, const unsigned char *raw, size_t count, float *out);
/* Elements [first, first + count) of a float tensor whose elements are F32 or STORED. */
void ulp_floats_read(const struct ulp_tensor *tensor, size_t first, size_t count, float *out);
/* One element. */
float ulp_stored_get(const struct ulp_tensor *tensor, size_t i);
/* Integer i of raw_data's layout: packed from the low end. */
int ulp_packed_read(enum ulp_type type, const unsigned char *raw, size_t i);
/* Is it as the file has it, not as memory? */
static inline bool ulp_is_stored(const struct ulp_tensor *tensor)
{
    return tensor->element == ULP_ELEMENT_STORED || tensor->element == ULP_ELEMENT_PACKED;
}
/* *tensor as a tensor in memory: a view, or decoded, charged to the budget. Freed with
 * ulp_tensor_free. */
enum ulp_status ulp_tensor_in_memory(struct ulp_tensor *out, const struct ulp_tensor *tensor,
                                     struct ulp_budget *budget, struct ulp_pool *pool,
                                     struct ulp_error *error);
