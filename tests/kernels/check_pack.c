/* Packed panels against their definition, element by element: lines in runs of steps 1 and 2, in
 * pieces and anywhere, k in runs and anywhere, in memory that ends with the last element that is
 * used. */
#include <sys/mman.h>
#include <unistd.h>

#include "instance.h"
#include "kernels/operand/pack.h"

#define LINES 70
#define KS 40
#define ELEMENTS_MAX 40000

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Offsets in pieces of one step each, as an image's rows, strided windows or a matrix have them. */
static void draw_offsets(int64_t *offset, size_t count, int kind, uint64_t *state)
{
    static const int64_t steps[] = {1, 2, 1, 2, 3, 30, 0};
    const size_t piece_max = kind == 0 ? count : kind == 1 ? 28 : 9;
    int64_t at = (int64_t)(next_random(state) % 5);
    for (size_t i = 0; i < count;) {
        const size_t length = kind == 0 ? count : 1 + next_random(state) % piece_max;
        const int64_t step = steps[next_random(state) % (kind == 2 ? 7 : 2)];
        for (size_t j = 0; j < length && i < count; j++, i++, at += step)
            offset[i] = at;
        at += (int64_t)(next_random(state) % 40);
    }
}

TEST_LOOP(panels_are_their_definition, 0, 4)
{
    static const size_t widths[] = {1, 6, 14, 16, 32, 64};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE),
                 bytes = (ELEMENTS_MAX * sizeof(float) / page + 1) * page;
    char *memory =
        mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(memory != MAP_FAILED && mprotect(memory + bytes, page, PROT_NONE) == 0);
    uint64_t state = (uint64_t)_i + 1;
    static float out[(LINES + 64) * KS];
    for (int round = 0; round < (int)test_count(400, 20000); round++) {
        int64_t line[LINES], k[KS], largest = 0, largest_k = 0;
        const size_t line_count = 1 + next_random(&state) % LINES,
                     k_count = 1 + next_random(&state) % KS;
        const size_t width = widths[next_random(&state) % (sizeof widths / sizeof *widths)];
        draw_offsets(line, line_count, (int)(next_random(&state) % 3), &state);
        draw_offsets(k, k_count, (int)(next_random(&state) % 3), &state);
        if (next_random(&state) % 2) /* lines of a matrix */
            for (size_t i = 0; i < line_count; i++)
                line[i] = (int64_t)(i * (KS + 3));
        for (size_t i = 0; i < line_count; i++)
            largest = line[i] > largest ? line[i] : largest;
        for (size_t i = 0; i < k_count; i++)
            largest_k = k[i] > largest_k ? k[i] : largest_k;
        const size_t count = (size_t)(largest + largest_k) + 1;
        ck_assert(count <= ELEMENTS_MAX);
        float *data = (float *)(void *)(memory + bytes) - count;
        for (size_t i = 0; i < count; i++)
            data[i] = (float)(next_random(&state) % 100000) + 1;
        const struct ulp_tensor tensor = {.type = ULP_TYPE_FLOAT,
                                          .element = ULP_ELEMENT_F32,
                                          .rank = 1,
                                          .dims = {(int64_t)count},
                                          .count = count,
                                          .element_bytes = sizeof(float),
                                          .data = data};
        const struct ulp_factor factor = {.tensor = &tensor, .line_offset = line, .k_offset = k};
        const struct ulp_pack pack = {.factor = &factor};
        ulp_pack_panels_float(out, &pack,
                              (struct ulp_pack_range){.line_count = line_count, .k_count = k_count},
                              width);
        for (size_t i = 0; i < (line_count + width - 1) / width * width; i++)
            for (size_t j = 0; j < k_count; j++) {
                const float want = i < line_count ? data[line[i] + k[j]] : 0,
                            got = out[i / width * width * k_count + j * width + i % width];
                if (got != want)
                    ck_abort_msg("round %d: line %zu of %zu, k %zu, panels of %zu: %g, expected %g",
                                 round, i, line_count, j, width, (double)got, (double)want);
            }
    }
    munmap(memory, bytes + page);
}
