/* One panel of packing: what pack.c shares with its faster ways. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ULP_PACK_WIDTH_MAX 64

/* Elements that only move are moved as bits. */
typedef uint32_t ulp_move32 __attribute__((may_alias));
typedef uint64_t ulp_move64 __attribute__((may_alias));

/* The lines of one panel: offsets of their first elements. */
struct ulp_lanes {
    size_t count;
    int64_t offset[ULP_PACK_WIDTH_MAX];
};

/* Pieces of 16 are what compilers turn into vectors. */
static inline bool ulp_pack_is_contiguous(const int64_t *offset, size_t count)
{
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        int64_t differences = 0;
        for (size_t j = 0; j < 16; j++)
            differences |= offset[i + j] - offset[0] - (int64_t)(i + j);
        if (differences)
            return false;
    }
    for (; i < count; i++)
        if (offset[i] != offset[0] + (int64_t)i)
            return false;
    return true;
}

/* data[lane offset i + k_offset[k]] to out[k * width + i], zeros for lanes->count <= i < width. */
void ulp_pack_panel_avx512(ulp_move32 *out, const ulp_move32 *data, const struct ulp_lanes *lanes,
                           const int64_t *k_offset, size_t k_count, size_t width);
