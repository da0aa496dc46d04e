/* A model as a converter rewrites it: FLOAT becomes FLOAT16 but for the nodes that are kept, with
 * Casts where the two meet. What the arithmetic `model` computes of it is what a lane that keeps
 * these nodes must. */
#ifndef ULP_TESTS_SUPPORT_LOWER_H
#define ULP_TESTS_SUPPORT_LOWER_H

#include <stdbool.h>
#include <ulpscope.h>

/* Changes the main graph of the model, which has no bodies. keeps[node]: by position. float_names:
 * names of the values that are floats (those of initializers are seen). False: a node has a type
 * in an attribute that this does not rewrite; the model is as it was. */
bool lower_model(struct ulp_model *model, const bool *keeps, const char *const *float_names,
                 size_t float_count);
size_t lower_node_count(const struct ulp_model *model);
const char *lower_node_name(const struct ulp_model *model, size_t node);

#endif
