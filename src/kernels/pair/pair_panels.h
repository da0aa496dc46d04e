/* Factors packed for tiles of pairs and triples: panels of `width` lines, k-major; each k has the
 * lines' high parts and then, if the factor is of pairs or triples, their low parts. And what tiles
 * must know of a line's magnitudes. */
#pragma once

#include "kernels/contract.h"

/* Of a line: the largest magnitude (infinite: some element is not finite) and the least that is not
 * zero (infinite: all are). */
struct ulp_pair_range {
    double largest, least;
};
#define ULP_PAIR_ZEROS ((struct ulp_pair_range){0, (double)__builtin_inff()})

/* One factor of a call. */
struct ulp_pair_side {
    const struct ulp_factor *factor;
    size_t line_count, width;
    size_t parts; /* doubles of an element */
};

/* A panel's doubles for each k. */
static inline size_t ulp_pair_step(const struct ulp_pair_side *side)
{
    return side->width * side->parts;
}

void ulp_pair_side_make(struct ulp_pair_side *side, const struct ulp_factor *factor,
                        size_t line_count, size_t width);
/* The panel that begins with `line`, from k on, of k_count. ranges[0 .. width) take in what is
 * seen. */
void ulp_pair_panel(double *out, struct ulp_pair_range *ranges, const struct ulp_pair_side *side,
                    size_t batch, size_t line, size_t k, size_t k_count);
