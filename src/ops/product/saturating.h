/* Integer products whose sums may saturate where processors have no VNNI (integers=saturating16),
 * found from the weights alone. */
#pragma once

#include "graph/graph.h"

/* Neighbours in k of one sign that add up to more than this leave 16 bits beside a byte of 255. */
#define ULP_PAIR_FITS 128

struct ulp_saturating {
    size_t product_count; /* of unsigned bytes by INT8 */
    size_t reaching;      /* of these: with weights that may saturate */
    size_t unknown;       /* with weights that are no constant bytes */
    int largest;          /* of neighbours of one sign, |w| + |w'| */
    const struct ulp_node *node; /* the first that may; NULL: none */
};
void ulp_saturating_find(const struct ulp_model *model, struct ulp_saturating *out);
/* The i-th weights that the node, no product between DequantizeLinear, multiplies by unsigned bytes:
 * their input and that of their zero points; false: there are no more. */
bool ulp_saturating_weights(const struct ulp_graph *graph, const struct ulp_node *node, size_t i,
                            int *weights, int *zero);
/* May any? */
static inline bool ulp_saturating_any(const struct ulp_model *model)
{
    struct ulp_saturating found;
    ulp_saturating_find(model, &found);
    return found.reaching || found.unknown;
}
