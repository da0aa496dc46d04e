/* Packing for tiles of pairs. */
#include "kernels/pair/pair_panels.h"

#include <math.h>

#include "base/bits.h"
#include "kernels/operand/pack.h"
#include "kernels/operand/output.h"

void ulp_pair_side_make(struct ulp_pair_side *side, const struct ulp_factor *factor,
                        size_t line_count, size_t width)
{
    *side = (struct ulp_pair_side){
        .factor = factor,
        .line_count = line_count,
        .width = width,
        .parts = ulp_size_divide_up(factor->tensor->element_bytes, sizeof(double)),
    };
}

/* Of pairs and triples: high parts, then low parts, of each k. */
static void split_panel(double *out, const struct ulp_pair_side *side, size_t batch, size_t line,
                        size_t count, size_t k, size_t k_count)
{
    const struct ulp_factor *factor = side->factor;
    const size_t width = side->width, parts = side->parts;
    const int64_t *offset = factor->line_offset + line;
    const double *data = (const double *)factor->tensor->data +
                         (int64_t)parts * (factor->batch_offset ? factor->batch_offset[batch] : 0);
    const bool neighbours = ulp_output_is_run(offset, count);
    memset(out, 0, count < width ? k_count * parts * width * sizeof *out : 0);
    for (size_t at = 0; at < k_count; at++, out += parts * width) {
        const double *from = data + (int64_t)parts * factor->k_offset[k + at];
        if (neighbours && parts == 2) {
            from += 2 * offset[0];
            for (size_t i = 0; i < count; i++) {
                out[i] = from[2 * i];
                out[width + i] = from[2 * i + 1];
            }
        } else {
            for (size_t i = 0; i < count; i++)
                for (size_t part = 0; part < parts; part++)
                    out[part * width + i] = from[(int64_t)parts * offset[i] + (int64_t)part];
        }
    }
}

/* Magnitudes are ordered as their bits; a zero's, less 1, are the largest. */
static void look_at_magnitudes(struct ulp_pair_range *range, const double *panel, size_t step,
                               size_t k_count)
{
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t largest = 0, least = ulp_double_bits(INFINITY) - 1;
    for (size_t k = 0; k < k_count; k++) {
        const uint64_t bits = ulp_double_bits(panel[k * step]) & ~sign, less = (bits - 1) & ~sign;
        largest = bits > largest ? bits : largest;
        least = less < least ? less : least;
    }
    const double most = ulp_double_from(largest), few = ulp_double_from(least + 1);
    range->largest = most >= range->largest ? most : !(most < INFINITY) ? INFINITY : range->largest;
    range->least = few < range->least ? few : range->least;
}

void ulp_pair_panel(double *out, struct ulp_pair_range *ranges, const struct ulp_pair_side *side,
                    size_t batch, size_t line, size_t k, size_t k_count)
{
    const size_t rest = side->line_count - line, count = rest < side->width ? rest : side->width;
    if (side->parts > 1) {
        split_panel(out, side, batch, line, count, k, k_count);
    } else {
        const struct ulp_pack pack = {.factor = side->factor};
        ulp_pack_panels(out, ULP_ELEMENT_F64, &pack,
                        (struct ulp_pack_range){batch, line, count, k, k_count}, side->width);
    }
    for (size_t i = 0; i < side->width; i++)
        look_at_magnitudes(&ranges[i], out + i, ulp_pair_step(side), k_count);
}
