/* Rows of a tensor to positions of a strip, and back, and one row for all: a block of elements at a
 * time, so that a cache line is used while it is there. Rows a power of two apart share few lines
 * of the first cache: element by element down the rows each access would miss it. */
#include "formula/evaluate/evaluate.h"

#include <string.h>

#include "base/machine/cpu.h"

#define INLINE static inline __attribute__((always_inline))

#define MOVES(TYPE)                                                                           \
    INLINE void turn_##TYPE(TYPE *restrict out, int64_t out_stride, const TYPE *restrict in,  \
                            int64_t in_stride, size_t rows, size_t columns)                   \
    {                                                                                         \
        for (size_t r = 0; r < rows; r++)                                                     \
            for (size_t c = 0; c < columns; c++)                                              \
                out[(int64_t)c * out_stride + (int64_t)r] =                                   \
                    in[(int64_t)r * in_stride + (int64_t)c];                                  \
    }                                                                                         \
    INLINE void repeat_##TYPE(TYPE *restrict out, const TYPE *restrict in, int64_t in_stride, \
                              size_t rows, size_t columns)                                    \
    {                                                                                         \
        for (size_t c = 0; c < columns; c++)                                                  \
            for (size_t r = 0; r < rows; r++)                                                 \
                out[c * rows + r] = in[(int64_t)c * in_stride];                               \
    }
MOVES(uint32_t)
MOVES(uint64_t)

/* With vectors: columns 0 to 3 of SIDE rows as 4 rows of SIDE, and all such blocks. LOW and HIGH
 * take turns of two rows' elements, EVEN and ODD pairs of both. */
#define TURN(NAME, TARGET, VECTOR, SIDE, LOW, HIGH, EVEN, ODD)                                    \
    TARGET INLINE void NAME##_block(uint32_t *out, int64_t out_stride, const uint32_t *in,        \
                                    int64_t in_stride)                                            \
    {                                                                                             \
        const VECTOR a = NAME##_load(in, in_stride), b = NAME##_load(in + in_stride, in_stride),  \
                     c = NAME##_load(in + 2 * in_stride, in_stride),                              \
                     d = NAME##_load(in + 3 * in_stride, in_stride);                              \
        const VECTOR ab = SHUFFLE(a, b, LOW), cd = SHUFFLE(c, d, LOW),                            \
                     ab_behind = SHUFFLE(a, b, HIGH), cd_behind = SHUFFLE(c, d, HIGH);            \
        NAME##_store(out, SHUFFLE(ab, cd, EVEN));                                                 \
        NAME##_store(out + out_stride, SHUFFLE(ab, cd, ODD));                                     \
        NAME##_store(out + 2 * out_stride, SHUFFLE(ab_behind, cd_behind, EVEN));                  \
        NAME##_store(out + 3 * out_stride, SHUFFLE(ab_behind, cd_behind, ODD));                   \
    }                                                                                             \
    TARGET static void NAME(uint32_t *out, int64_t out_stride, const uint32_t *in,                \
                            int64_t in_stride, size_t rows, size_t columns)                       \
    {                                                                                             \
        const size_t whole_rows = rows - rows % SIDE, whole_columns = columns - columns % 4;      \
        for (size_t r = 0; r < whole_rows; r += SIDE) {                                           \
            const uint32_t *from = in + (int64_t)r * in_stride;                                   \
            for (size_t c = 0; c < whole_columns; c += 4)                                         \
                NAME##_block(out + (int64_t)c * out_stride + r, out_stride, from + c, in_stride); \
            turn_uint32_t(out + (int64_t)whole_columns * out_stride + r, out_stride,              \
                          from + whole_columns, in_stride, SIDE, columns - whole_columns);        \
        }                                                                                         \
        turn_uint32_t(out + whole_rows, out_stride, in + (int64_t)whole_rows * in_stride,         \
                      in_stride, rows - whole_rows, columns);                                     \
    }
#define LIST(...) __VA_ARGS__

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAVE_SHUFFLES 1
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
typedef uint32_t quad __attribute__((vector_size(16)));
INLINE quad turn_quads_load(const uint32_t *in, int64_t in_stride)
{
    quad x;
    (void)in_stride;
    memcpy(&x, in, sizeof x);
    return x;
}
INLINE void turn_quads_store(uint32_t *out, quad x)
{
    memcpy(out, &x, sizeof x);
}
TURN(turn_quads, , quad, 4, LIST(0, 4, 1, 5), LIST(2, 6, 3, 7), LIST(0, 1, 4, 5), LIST(2, 3, 6, 7))
#endif
#endif
#ifndef HAVE_SHUFFLES
#define turn_quads turn_uint32_t
#endif

#if defined(__x86_64__) && defined(HAVE_SHUFFLES)
#define WIDE __attribute__((target("avx2")))
typedef uint32_t octet __attribute__((vector_size(32)));
/* Four elements of a row, and of the fourth row behind it. */
WIDE INLINE octet turn_octets_load(const uint32_t *in, int64_t in_stride)
{
    return SHUFFLE(turn_quads_load(in, 0), turn_quads_load(in + 4 * in_stride, 0), 0, 1, 2, 3, 4, 5,
                   6, 7);
}
WIDE INLINE void turn_octets_store(uint32_t *out, octet x)
{
    memcpy(out, &x, sizeof x);
}
TURN(turn_octets, WIDE, octet, 8, LIST(0, 8, 1, 9, 4, 12, 5, 13), LIST(2, 10, 3, 11, 6, 14, 7, 15),
     LIST(0, 1, 8, 9, 4, 5, 12, 13), LIST(2, 3, 10, 11, 6, 7, 14, 15))

WIDE static void repeat_wide(uint32_t *out, const uint32_t *in, int64_t in_stride, size_t rows,
                             size_t columns)
{
    repeat_uint32_t(out, in, in_stride, rows, columns);
}

static bool is_wide(void)
{
    return ulp_cpu_features() & ULP_CPU_AVX2;
}
#else
#define turn_octets turn_quads
#define repeat_wide repeat_uint32_t
static bool is_wide(void)
{
    return false;
}
#endif

bool ulp_turn(void *out, int64_t out_stride, const void *in, int64_t in_stride, size_t rows,
              size_t columns, size_t element_bytes)
{
    if (element_bytes == sizeof(uint32_t) && is_wide())
        turn_octets(out, out_stride, in, in_stride, rows, columns);
    else if (element_bytes == sizeof(uint32_t))
        turn_quads(out, out_stride, in, in_stride, rows, columns);
    else if (element_bytes == sizeof(uint64_t))
        turn_uint64_t(out, out_stride, in, in_stride, rows, columns);
    else
        return false;
    return true;
}

bool ulp_repeat(void *out, const void *in, int64_t in_stride, size_t rows, size_t columns,
                size_t element_bytes)
{
    if (element_bytes == sizeof(uint32_t) && is_wide())
        repeat_wide(out, in, in_stride, rows, columns);
    else if (element_bytes == sizeof(uint32_t))
        repeat_uint32_t(out, in, in_stride, rows, columns);
    else if (element_bytes == sizeof(uint64_t))
        repeat_uint64_t(out, in, in_stride, rows, columns);
    else
        return false;
    return true;
}

/* In pieces that stay in registers while they are written. */
void ulp_repeat_rows(void *out, const void *in, size_t bytes, size_t count)
{
    enum { PIECE = 64 };
    const char *from = in;
    char *to = out;
    size_t at = 0;
    for (; at + PIECE <= bytes; at += PIECE) {
        char piece[PIECE];
        memcpy(piece, from + at, PIECE);
        for (size_t i = 0; i < count; i++)
            memcpy(to + i * bytes + at, piece, PIECE);
    }
    for (size_t i = 0; i < count && at < bytes; i++)
        memcpy(to + i * bytes + at, from + at, bytes - at);
}
