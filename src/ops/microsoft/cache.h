/* The caches of GroupQueryAttention. */
#pragma once

#include "ops/attention/heads.h"

/* Keys or values: a buffer in which every batch has its own end. It holds floats, or codes that
 * stand for themselves times a scale: INT8, UINT8 (4 bits: two in a byte, each plus 8) or
 * FLOAT8E4M3FN. */
struct ulp_cache {
    const struct ulp_tensor *past;  /* heads first; NULL: none */
    struct ulp_tensor *present;     /* NULL: not wanted */
    const struct ulp_tensor *scale; /* one, or one for each feature of each head; NULL: floats */
    enum ulp_type codes;            /* UNDEFINED: floats */
    int64_t length;                 /* positions of the buffer */
    const int64_t *starts;          /* of each batch: the place of its first new position */
    bool in_place; /* behind the new positions the buffer has what the past had there, not 0 */
};

/* What rows with ulp_cache_join list: a whole code and its value, a code of FLOAT8E4M3FN, and the
 * value of a code. */
extern const struct ulp_formula ulp_cache_quantize, ulp_cache_lower, ulp_cache_dequantize;

/* How many elements of the buffer hold the codes of `size` features. */
int64_t ulp_cache_size(enum ulp_type codes, int64_t size);

/* The past and behind it the new positions *now, as the buffer and present get them: *now and *h
 * become the buffer's values, heads first. */
enum ulp_status ulp_cache_join(struct ulp_call *call, const struct ulp_cache *cache,
                               const struct ulp_tensor **now, struct ulp_heads *h);
