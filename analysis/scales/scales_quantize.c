/* What a QuantizeLinear of the graph does to its tensor: the scales are given, and a
 * DequantizeLinear of the same scales gives its values back, rounded. */
#include <math.h>

#include "analysis/scales/scales.h"
#include "analysis/scales/scales_stored.h"
#include "base/error.h"
#include "number/function/math.h"
#include "number/round/round.h"
#include "tensor/tensor.h"

#define STRIP ((size_t)512)

struct quantised {
    struct ulp_stored x;
    const struct ulp_tensor *zero, *codes;
    double *scales, *zeros;   /* by place of a scale */
    double values[STRIP];     /* of the strip that is looked at */
    double low, high, half;   /* of the type's numbers, and half of the step at their ends */
    double least;             /* above zero */
    struct ulp_format format; /* of floats; name "": integers */
};

static bool read_type(struct quantised *q)
{
    const struct ulp_type_row *row = &ulp_type_rows[q->codes->type];
    if (row->format) {
        if (ulp_format_find(row->format, &q->format, NULL) != ULP_OK)
            return false;
        q->format.overflow = ULP_OVERFLOW_SATURATE;
        q->high = q->format.max_finite;
        q->low = -q->high;
        q->half = ldexp(1, q->format.emax - q->format.precision);
        q->least = ldexp(1, ulp_format_lowest_bit(&q->format));
        return true;
    }
    const bool is_signed = row->name[0] == 'I'; /* INT8, UINT8 */
    q->high = ldexp(1, row->file_bits - is_signed) - 1;
    q->low = is_signed ? -q->high - 1 : 0;
    q->half = 0.5;
    q->least = 1;
    return row->file_bits > 0 && row->file_bits <= 16;
}

static double round_to(const struct quantised *q, double x)
{
    if (!q->format.name[0])
        return ulp_math_min(ulp_math_max(rint(x), q->low), q->high);
    return ulp_format_round(&q->format, ULP_ROUND_NEAREST_EVEN, x, 0, 0);
}

/* A zero point at the type's lower end cuts negative values off as the Relu before it would. */
static bool is_cut(const struct quantised *q, size_t at, double x)
{
    return q->zeros[at] == q->low && x < 0;
}

/* The error with a scale that takes the block's largest to the type's end. */
static double measure_exactly(const struct quantised *q, size_t at, double x, double largest)
{
    const double zero = q->zeros[at], above = q->high - zero, below = zero - q->low,
                 scale = largest / (below > 0 ? ulp_math_min(above, below) : above);
    return scale > 0 ? (round_to(q, x / scale + zero) - zero) * scale - x : 0;
}

static void add_element(const struct quantised *q, size_t at, double x, double code,
                        struct ulp_scales_block *block, struct ulp_scaled_tensor *out,
                        struct ulp_scales_sums *sums)
{
    const double scale = q->scales[at], zero = q->zeros[at], place = x / scale + zero;
    const bool clipped = scale != 0 && (place > q->high + q->half || place < q->low - q->half);
    ulp_scales_add(block, x, (code - zero) * scale - x, code == zero, clipped, out, sums);
}

/* The strip from element `first` on, of the values; returns its length. */
static size_t read_strip(struct quantised *q, size_t first)
{
    const size_t count = ulp_size_min(q->x.values->count - first, STRIP);
    ulp_tensor_read_range(q->values, q->x.values, first, count);
    return count;
}

static enum ulp_status look_at_quantized(struct quantised *q, struct ulp_arena *arena,
                                         struct ulp_scaled_tensor *out,
                                         struct ulp_scales_sums *sums, struct ulp_error *error)
{
    const size_t scales = q->x.scale->count, elements = q->x.values->count;
    struct ulp_scales_block *blocks = ulp_arena_take(arena, scales + 1, sizeof *blocks);
    double *ranges = ulp_arena_take(arena, scales + 1, sizeof *ranges), codes[STRIP];
    q->scales = ulp_arena_take(arena, scales + 1, sizeof *q->scales);
    q->zeros = ulp_arena_take(arena, scales + 1, sizeof *q->zeros);
    ULP_TRY(ulp_taken(blocks && ranges && q->scales && q->zeros, error));
    for (size_t s = 0; s < scales; s++) {
        q->scales[s] = ulp_stored_scale(&q->x, s);
        q->zeros[s] = q->zero ? ulp_tensor_read(q->zero, q->zero->count == 1 ? 0 : s) : 0;
    }
    out->elements = elements;
    out->blocks = scales;
    out->format_bits = ulp_math_log2(q->high / q->least);
    for (size_t first = 0, count; first < elements; first += count) {
        count = read_strip(q, first);
        ulp_tensor_read_range(codes, q->codes, first, count);
        for (size_t i = 0; i < count; i++) {
            const size_t at = ulp_stored_find(&q->x, first + i);
            if (is_cut(q, at, q->values[i]))
                out->elements--;
            else
                add_element(q, at, q->values[i], codes[i], &blocks[at], out, sums);
        }
    }
    for (size_t first = 0, count; first < elements; first += count) {
        count = read_strip(q, first);
        for (size_t i = 0; i < count; i++) {
            const size_t at = ulp_stored_find(&q->x, first + i);
            const double d = is_cut(q, at, q->values[i])
                                 ? 0
                                 : measure_exactly(q, at, q->values[i], blocks[at].largest);
            sums->exact += isfinite(d) ? d * d : 0;
        }
    }
    ulp_scales_look(blocks, ranges, out);
    return ULP_OK;
}

enum ulp_status ulp_scales_quantise(const struct ulp_node *node,
                                    const struct ulp_tensor *const inputs[3],
                                    const struct ulp_tensor *codes, struct ulp_budget *budget,
                                    struct ulp_scaled_tensor *out, struct ulp_scales_sums *sums,
                                    bool *known, struct ulp_error *error)
{
    struct quantised q = {.zero = inputs[2], .codes = codes};
    ULP_SCOPED(ulp_arena_free_of) struct ulp_arena *arena = NULL;
    *known = ulp_stored_read(node, inputs[0], inputs[1], &q.x) && read_type(&q);
    if (!*known)
        return ULP_OK;
    ULP_TRY(ulp_arena_create(&arena, budget, error));
    return look_at_quantized(&q, arena, out, sums, error);
}
