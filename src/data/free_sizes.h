/* The sizes that a model leaves open: what is drawn, tried or given for its free dimensions. */
#pragma once

#include <ulpscope/model.h>

#include "base/memory/alloc.h"
#include "graph/graph.h"

struct ulp_free_size {
    const char *name; /* of the symbol, which other inputs may have, too; NULL: it has none */
    const char *input;
    int dimension; /* of the input */
    int64_t size;
};
struct ulp_sizes {
    struct ulp_free_size *items;
    size_t count;
    bool unranked; /* an input has not even a rank */
};

/* The free dimensions of the model's inputs, and of its initializers that are inputs, a symbol
 * once, the first 200; with the sizes of inputs (may be NULL) or dims, or else 1. Texts are the
 * model's. */
enum ulp_status ulp_sizes_list(const struct ulp_model *model, const struct ulp_tensor_set *inputs,
                               const struct ulp_dim_value *dims, size_t dim_count,
                               struct ulp_arena *arena, struct ulp_sizes *out,
                               struct ulp_error *error);
/* NULL: the list has no such dimension. */
struct ulp_free_size *ulp_sizes_find(const struct ulp_sizes *sizes, const char *input,
                                     const char *name, int dimension);
/* What messages call it: "batch", "x[2]". */
const char *ulp_free_size_text(const struct ulp_free_size *size, char *buffer, size_t bytes);
