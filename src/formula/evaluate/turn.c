/* Rows of a tensor to positions of a strip, and back, and one row for all: a block of 4 x 4
 * elements at a time, so that a cache line is used while it is there. Rows a power of two apart
 * share few lines of the first cache: element by element down the rows each access would miss it.
 */
#include "formula/evaluate/evaluate.h"

#include <string.h>

#define SIDE 4

#define TURN(TYPE)                                                                           \
    static void turn_##TYPE(TYPE *restrict out, int64_t out_stride, const TYPE *restrict in, \
                            int64_t in_stride, size_t rows, size_t columns)                  \
    {                                                                                        \
        for (size_t r = 0; r < rows; r++)                                                    \
            for (size_t c = 0; c < columns; c++)                                             \
                out[(int64_t)c * out_stride + (int64_t)r] =                                  \
                    in[(int64_t)r * in_stride + (int64_t)c];                                 \
    }
TURN(uint32_t)
TURN(uint64_t)

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAVE_SHUFFLES 1
typedef uint32_t quad __attribute__((vector_size(16)));

static inline quad load_quad(const uint32_t *in)
{
    quad x;
    memcpy(&x, in, sizeof x);
    return x;
}

static void turn_block(uint32_t *out, int64_t out_stride, const uint32_t *in, int64_t in_stride)
{
    const quad a = load_quad(in), b = load_quad(in + in_stride), c = load_quad(in + 2 * in_stride),
               d = load_quad(in + 3 * in_stride);
    const quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
               cd = __builtin_shufflevector(c, d, 0, 4, 1, 5),
               ab_behind = __builtin_shufflevector(a, b, 2, 6, 3, 7),
               cd_behind = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    const quad turned[SIDE] = {__builtin_shufflevector(ab, cd, 0, 1, 4, 5),
                               __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
                               __builtin_shufflevector(ab_behind, cd_behind, 0, 1, 4, 5),
                               __builtin_shufflevector(ab_behind, cd_behind, 2, 3, 6, 7)};
    for (int i = 0; i < SIDE; i++)
        memcpy(out + i * out_stride, &turned[i], sizeof turned[i]);
}

static void turn_quads(uint32_t *out, int64_t out_stride, const uint32_t *in, int64_t in_stride,
                       size_t rows, size_t columns)
{
    const size_t whole_rows = rows - rows % SIDE, whole_columns = columns - columns % SIDE;
    for (size_t r = 0; r < whole_rows; r += SIDE) {
        const uint32_t *from = in + (int64_t)r * in_stride;
        for (size_t c = 0; c < whole_columns; c += SIDE)
            turn_block(out + (int64_t)c * out_stride + r, out_stride, from + c, in_stride);
        turn_uint32_t(out + (int64_t)whole_columns * out_stride + r, out_stride,
                      from + whole_columns, in_stride, SIDE, columns - whole_columns);
    }
    turn_uint32_t(out + whole_rows, out_stride, in + (int64_t)whole_rows * in_stride, in_stride,
                  rows - whole_rows, columns);
}
#endif
#endif
#ifndef HAVE_SHUFFLES
#define turn_quads turn_uint32_t
#endif

bool ulp_turn(void *out, int64_t out_stride, const void *in, int64_t in_stride, size_t rows,
              size_t columns, size_t element_bytes)
{
    if (element_bytes == sizeof(uint32_t))
        turn_quads(out, out_stride, in, in_stride, rows, columns);
    else if (element_bytes == sizeof(uint64_t))
        turn_uint64_t(out, out_stride, in, in_stride, rows, columns);
    else
        return false;
    return true;
}

#define REPEAT(TYPE)                                                                          \
    static void repeat_##TYPE(TYPE *restrict out, const TYPE *restrict in, int64_t in_stride, \
                              size_t rows, size_t columns)                                    \
    {                                                                                         \
        for (size_t c = 0; c < columns; c++)                                                  \
            for (size_t r = 0; r < rows; r++)                                                 \
                out[c * rows + r] = in[(int64_t)c * in_stride];                               \
    }
REPEAT(uint32_t)
REPEAT(uint64_t)

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
