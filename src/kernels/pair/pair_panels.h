/* Factors packed for tiles of pairs and triples: panels of `width` lines, k-major; each k has the
 * lines' high parts and then, if the factor is of pairs or triples, their low parts. And what tiles
 * must know of a line's magnitudes. */
#pragma once

#include "kernels/operand/packed.h"

#define ULP_PAIR_WIDTH_MAX 16

/* Of a line: the largest magnitude (infinite: some element is not finite) and the least that is not
 * zero (infinite: all are). */
struct ulp_pair_range {
    double largest, least;
};
#define ULP_PAIR_ZEROS ((struct ulp_pair_range){0, (double)__builtin_inff()})

/* One factor of a call. */
struct ulp_pair_side {
    const struct ulp_factor *factor;
    size_t line_count, k_count, width;
    size_t parts;               /* doubles of an element */
    struct ulp_pair_form *form; /* panels from earlier calls, or NULL */
};

/* A panel's doubles for each k. */
static inline size_t ulp_pair_step(const struct ulp_pair_side *side)
{
    return side->width * side->parts;
}

void ulp_pair_side_make(struct ulp_pair_side *side, const struct ulp_factor *factor,
                        size_t line_count, size_t k_count, size_t width);
/* Finds or makes the side's form, where its factor stays as it is; ulp_pair_form_end releases it.
 */
void ulp_pair_form_find(struct ulp_pair_side *side, const struct ulp_contraction *problem,
                        int number, struct ulp_pool *pool);
void ulp_pair_form_end(const struct ulp_pair_side *side, const struct ulp_contraction *problem);

/* The panel that begins with `line`, from k on, of k_count: the form's, or packed into out.
 * ranges[0 .. width) take in what is seen. */
const double *ulp_pair_panel(double *out, struct ulp_pair_range *ranges,
                             const struct ulp_pair_side *side, size_t batch, size_t line, size_t k,
                             size_t k_count);
