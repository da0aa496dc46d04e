/* Rows of a tensor to positions of a strip, and back, and one row for all. */
#include "formula/evaluate/evaluate.h"

#include <string.h>

#define MOVES(TYPE)                                                                           \
    static void turn_##TYPE(TYPE *restrict out, int64_t out_stride, const TYPE *restrict in,  \
                            int64_t in_stride, size_t rows, size_t columns)                   \
    {                                                                                         \
        for (size_t r = 0; r < rows; r++)                                                     \
            for (size_t c = 0; c < columns; c++)                                              \
                out[(int64_t)c * out_stride + (int64_t)r] =                                   \
                    in[(int64_t)r * in_stride + (int64_t)c];                                  \
    }                                                                                         \
    static void repeat_##TYPE(TYPE *restrict out, const TYPE *restrict in, int64_t in_stride, \
                              size_t rows, size_t columns)                                    \
    {                                                                                         \
        for (size_t c = 0; c < columns; c++)                                                  \
            for (size_t r = 0; r < rows; r++)                                                 \
                out[c * rows + r] = in[(int64_t)c * in_stride];                               \
    }
MOVES(uint32_t)
MOVES(uint64_t)

bool ulp_turn(void *out, int64_t out_stride, const void *in, int64_t in_stride, size_t rows,
              size_t columns, size_t element_bytes)
{
    if (element_bytes == sizeof(uint32_t))
        turn_uint32_t(out, out_stride, in, in_stride, rows, columns);
    else if (element_bytes == sizeof(uint64_t))
        turn_uint64_t(out, out_stride, in, in_stride, rows, columns);
    else
        return false;
    return true;
}

bool ulp_repeat(void *out, const void *in, int64_t in_stride, size_t rows, size_t columns,
                size_t element_bytes)
{
    if (element_bytes == sizeof(uint32_t))
        repeat_uint32_t(out, in, in_stride, rows, columns);
    else if (element_bytes == sizeof(uint64_t))
        repeat_uint64_t(out, in, in_stride, rows, columns);
    else
        return false;
    return true;
}

void ulp_repeat_rows(void *out, const void *in, size_t bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy((char *)out + i * bytes, in, bytes);
}
