/* A factor rounded to a format with scales: its lines gathered, blocks measured, elements rounded.
 */
#ifndef ULP_KERNELS_OPERAND_SCALED_H
#define ULP_KERNELS_OPERAND_SCALED_H

#include "kernels/contract.h"
#include "number/format/scaling.h"

struct ulp_scaled {
    const struct ulp_scaling *scaling;
    /* Elements as floats, [group][line][stride]: k in the problem's order, each of its runs filled
     * up with zeros to whole blocks. A group is a batch; one, when all batches are the same. A
     * block whose scale is NaN has elements that are NaN. */
    struct ulp_tensor elements;
    size_t group_count, line_count, stride, block_count; /* blocks of a line */
    float *scale;   /* [group][line][block], powers of two among them as they are */
    int16_t *shift; /* of power-of-two scales: their exponents */
    float tensor_scale;
    /* of elements: of a batch, of a line, of the problem's k, and of all places of a line */
    int64_t *batch_offset, *line_offset, *k_offset, *place_offset;
};

/* factor: batch_count x line_count x problem->k elements in F32, or in F64 that hold floats, of
 * which the a side (0) or the b side has line_count. */
enum ulp_status ulp_scaled_make(struct ulp_scaled *out, const struct ulp_scaling *scaling,
                                const struct ulp_contraction *problem, int side,
                                enum ulp_rounding rounding, struct ulp_pool *pool,
                                struct ulp_error *error);
/* The side's scaling: of a problem whose first factor is a weight and the second is none (Conv's),
 * the second has the first word's. */
static inline const struct ulp_scaling *ulp_scaled_choose(const struct ulp_arithmetic *arithmetic,
                                                          const struct ulp_contraction *problem,
                                                          int side)
{
    return arithmetic->weights.name[0] ? &arithmetic->weights
                                       : &arithmetic->scaling[problem->weights == 1 ? !side : side];
}
/* The factor as rounded: k as the problem has it, or all places. */
static inline struct ulp_factor ulp_scaled_factor(const struct ulp_scaled *s, bool all_places)
{
    return (struct ulp_factor){.tensor = &s->elements,
                               .batch_offset = s->batch_offset,
                               .line_offset = s->line_offset,
                               .k_offset = all_places ? s->place_offset : s->k_offset,
                               .shift = all_places ? s->shift : NULL,
                               .ready = true};
}
void ulp_scaled_free(struct ulp_scaled *scaled);
/* Elements become the numbers they stand for, rounded to nearest even to the format, in that
 * element, F32 or F64. */
enum ulp_status ulp_scaled_back(struct ulp_scaled *scaled, const struct ulp_format *format,
                                enum ulp_element element, struct ulp_pool *pool,
                                struct ulp_error *error);

#endif
