/* Packing panels of 32-bit elements with AVX-512: lines in runs, of neighbours or of every second
 * element, by masked loads, lines with neighbours in k by transposing 16 x 16 blocks in registers,
 * anything else by gathering. */
#include "base/machine/cpu.h"
#include "kernels/operand/pack_panel.h"

#if ULP_X86_VECTORS

#include <immintrin.h>

#include "base/tuning.h"
#include "kernels/operand/turn_x86.h"

#define AVX512 __attribute__((target("avx2,avx512f,avx512bw,avx512dq,avx512vl")))
#define LANES 16

/* Lanes [first, first + count) of a panel: what one vector holds. */
struct vector_lanes {
    size_t first, count;
    __mmask16 present, stored;
    size_t part_count;
    struct lane_run {
        __mmask16 mask;
        /* 1 or 2 elements from lane to lane; of lane 0, were it in the same run */
        int64_t step, offset;
    } parts[LANES];
};

/* Bit i: offset i + 1 is offset i + step. */
AVX512 static inline __mmask16 find_steps(__m512i low, __m512i high, int64_t step)
{
    const __m512i wanted = _mm512_set1_epi64(step);
    return (__mmask16)(_mm512_cmpeq_epi64_mask(low, wanted) | _mm512_cmpeq_epi64_mask(high, wanted)
                                                                  << 8);
}

AVX512 static void cut_lanes(struct vector_lanes *out, const struct ulp_lanes *lanes, size_t first,
                             size_t width)
{
    const size_t stored = width - first < LANES ? width - first : LANES,
                 left = lanes->count > first ? lanes->count - first : 0,
                 count = left < LANES ? left : LANES;
    const unsigned all = (1u << count) - 1;
    const __mmask8 low = (__mmask8)all, high = (__mmask8)(all >> 8),
                   next_low = (__mmask8)(all >> 1), next_high = (__mmask8)(all >> 9);
    const int64_t *offset = lanes->offset + first;
    const __m512i steps_low = _mm512_sub_epi64(_mm512_maskz_loadu_epi64(next_low, offset + 1),
                                               _mm512_maskz_loadu_epi64(low, offset)),
                  steps_high = _mm512_sub_epi64(_mm512_maskz_loadu_epi64(next_high, offset + 9),
                                                _mm512_maskz_loadu_epi64(high, offset + 8));
    const unsigned steps[] = {find_steps(steps_low, steps_high, 1) & all >> 1,
                              find_steps(steps_low, steps_high, 2) & all >> 1};
    out->first = first;
    out->count = count;
    out->stored = (__mmask16)((1u << stored) - 1);
    out->present = (__mmask16)all;
    out->part_count = 0;
    for (unsigned i = 0, end; i < count; i = end) {
        const int64_t step = !(steps[0] >> i & 1) && steps[1] >> i & 1 ? 2 : 1;
        end = i + 1 + (unsigned)__builtin_ctz(~(steps[step - 1] >> i));
        out->parts[out->part_count++] =
            (struct lane_run){.mask = (__mmask16)((1u << end) - (1u << i)),
                              .step = step,
                              .offset = offset[i] - step * (int64_t)i};
    }
}

/* data + offset, which may lie outside the tensor when the lanes that are read do not. */
static const void *address(const ulp_move32 *data, int64_t offset)
{
    return (const void *)((uintptr_t)data + (uintptr_t)offset * sizeof *data);
}

/* Bit i of the lower eight to bit 2 i. */
static __mmask16 spread_mask(unsigned mask)
{
    unsigned spread = 0;
    for (unsigned i = 0; i < 8; i++)
        spread |= (mask >> i & 1) << 2 * i;
    return (__mmask16)spread;
}

/* Ask for the first run's elements some steps ahead of k: those of each step may lie in a page of
 * their own, which no processor guesses. Inlined always: gcc takes a function that only asks ahead
 * for one without effects. */
static inline __attribute__((always_inline)) void fetch(const ulp_move32 *data,
                                                        const struct vector_lanes *lanes,
                                                        const int64_t *k_offset, size_t k,
                                                        size_t k_count)
{
    if (k + ULP_TUNE_PACKED_AHEAD >= k_count || lanes->part_count == 0)
        return;
    const ulp_move32 *source =
        address(data, lanes->parts[0].offset + k_offset[k + ULP_TUNE_PACKED_AHEAD]);
    __builtin_prefetch(source);
    __builtin_prefetch(source + LANES);
}

/* Every second element of the 32 from source on: lane i takes number 2 i where the run has it;
 * nothing else is read. */
AVX512 static inline __attribute__((always_inline)) __m512i load_even(const ulp_move32 *source,
                                                                      __mmask16 low, __mmask16 high)
{
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_epi32(_mm512_maskz_loadu_epi32(low, source), even,
                                     _mm512_maskz_loadu_epi32(high, source + LANES));
}

AVX512 static void pack_even_runs(ulp_move32 *out, const ulp_move32 *data,
                                  const struct vector_lanes *lanes, const int64_t *k_offset,
                                  size_t k_count, size_t width)
{
    __mmask16 low[LANES], high[LANES];
    for (size_t part = 0; part < lanes->part_count; part++) {
        low[part] = spread_mask(lanes->parts[part].mask);
        high[part] = spread_mask(lanes->parts[part].mask >> 8);
    }
    for (size_t k = 0; k < k_count; k++, out += width) {
        __m512i x = _mm512_setzero_si512();
        fetch(data, lanes, k_offset, k, k_count);
        for (size_t part = 0; part < lanes->part_count; part++) {
            const struct lane_run *run = &lanes->parts[part];
            const ulp_move32 *source = address(data, run->offset + k_offset[k]);
            x = run->step == 1
                    ? _mm512_mask_loadu_epi32(x, run->mask, source)
                    : _mm512_mask_mov_epi32(x, run->mask, load_even(source, low[part], high[part]));
        }
        _mm512_mask_storeu_epi32(out, lanes->stored, x);
    }
}

AVX512 static void pack_runs(ulp_move32 *out, const ulp_move32 *data,
                             const struct vector_lanes *lanes, const int64_t *k_offset,
                             size_t k_count, size_t width)
{
    for (size_t k = 0; k < k_count; k++, out += width) {
        __m512i x = _mm512_setzero_si512();
        for (size_t part = 0; part < lanes->part_count; part++)
            x = _mm512_mask_loadu_epi32(x, lanes->parts[part].mask,
                                        address(data, lanes->parts[part].offset + k_offset[k]));
        _mm512_mask_storeu_epi32(out, lanes->stored, x);
    }
}

/* As pack_runs for both halves of a panel of two vectors, whose cache lines they share. */
AVX512 static void pack_run_pairs(ulp_move32 *out, const ulp_move32 *data,
                                  const struct vector_lanes *low, const struct vector_lanes *high,
                                  const int64_t *k_offset, size_t k_count)
{
    for (size_t k = 0; k < k_count; k++, out += 2 * LANES) {
        __m512i x = _mm512_setzero_si512(), y = x;
        fetch(data, low, k_offset, k, k_count);
        for (size_t part = 0; part < low->part_count; part++)
            x = _mm512_mask_loadu_epi32(x, low->parts[part].mask,
                                        address(data, low->parts[part].offset + k_offset[k]));
        for (size_t part = 0; part < high->part_count; part++)
            y = _mm512_mask_loadu_epi32(y, high->parts[part].mask,
                                        address(data, high->parts[part].offset + k_offset[k]));
        _mm512_storeu_si512(out, x);
        _mm512_storeu_si512(out + LANES, y);
    }
}

AVX512 static void pack_gathered(ulp_move32 *out, const ulp_move32 *data,
                                 const struct ulp_lanes *all, const struct vector_lanes *lanes,
                                 const int64_t *k_offset, size_t k_count, size_t width)
{
    const __mmask8 low = (__mmask8)lanes->present, high = (__mmask8)(lanes->present >> 8);
    int64_t offset[LANES] = {0};
    for (size_t i = 0; i < lanes->count; i++)
        offset[i] = all->offset[lanes->first + i];
    const __m512i at_low = _mm512_loadu_si512(offset), at_high = _mm512_loadu_si512(offset + 8);
    for (size_t k = 0; k < k_count; k++, out += width) {
        const void *source = address(data, k_offset[k]);
        __m256i x = _mm512_mask_i64gather_epi32(_mm256_setzero_si256(), low, at_low, source, 4);
        __m256i y = _mm512_mask_i64gather_epi32(_mm256_setzero_si256(), high, at_high, source, 4);
        _mm512_mask_storeu_epi32(out, lanes->stored,
                                 _mm512_inserti64x4(_mm512_castsi256_si512(x), y, 1));
    }
}

/* data points at k = 0; k is contiguous. */
AVX512 static void pack_transposed(ulp_move32 *out, const ulp_move32 *data,
                                   const struct ulp_lanes *all, const struct vector_lanes *lanes,
                                   size_t k_count, size_t width)
{
    for (size_t k = 0; k < k_count; k += LANES, out += LANES * width) {
        size_t length = k_count - k < LANES ? k_count - k : LANES;
        const __mmask16 read = (__mmask16)((1u << length) - 1);
        __m512i r[LANES];
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++)
            r[i] = i < lanes->count
                       ? _mm512_maskz_loadu_epi32(read, data + all->offset[lanes->first + i] + k)
                       : _mm512_setzero_si512();
        ulp_turn_avx512(r);
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++)
            if (i < length)
                _mm512_mask_storeu_epi32(out + i * width, lanes->stored, r[i]);
    }
}

static bool has_even_runs(const struct vector_lanes *lanes)
{
    bool found = false;
    for (size_t part = 0; part < lanes->part_count; part++)
        found |= lanes->parts[part].step == 2;
    return found;
}

/* Are they so few runs of neighbours that they are loaded one by one? */
static bool are_runs(const struct vector_lanes *lanes)
{
    return lanes->part_count <= 6 && !has_even_runs(lanes);
}

AVX512 void ulp_pack_panel_avx512(ulp_move32 *out, const ulp_move32 *data,
                                  const struct ulp_lanes *lanes, const int64_t *k_offset,
                                  size_t k_count, size_t width)
{
    bool contiguous = k_count >= 4 && ulp_pack_is_contiguous(k_offset, k_count);
    if (!contiguous && width == 2 * LANES) {
        struct vector_lanes low, high;
        cut_lanes(&low, lanes, 0, width);
        cut_lanes(&high, lanes, LANES, width);
        if (are_runs(&low) && are_runs(&high)) {
            pack_run_pairs(out, data, &low, &high, k_offset, k_count);
            return;
        }
    }
    for (size_t first = 0; first < width; first += LANES) {
        struct vector_lanes cut;
        cut_lanes(&cut, lanes, first, width);
        if (contiguous && cut.part_count > 2)
            pack_transposed(out + first, data + k_offset[0], lanes, &cut, k_count, width);
        else if (cut.part_count <= 4 && has_even_runs(&cut))
            pack_even_runs(out + first, data, &cut, k_offset, k_count, width);
        else if (are_runs(&cut))
            pack_runs(out + first, data, &cut, k_offset, k_count, width);
        else
            pack_gathered(out + first, data, lanes, &cut, k_offset, k_count, width);
    }
}

#else

void ulp_pack_panel_avx512(ulp_move32 *out, const ulp_move32 *data, const struct ulp_lanes *lanes,
                           const int64_t *k_offset, size_t k_count, size_t width)
{
    (void)out, (void)data, (void)lanes, (void)k_offset, (void)k_count, (void)width;
}

#endif
