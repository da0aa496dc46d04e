/* A copy of a model's file with some nodes of the main graph replaced by others, and constants by
 * other numbers. */
#ifndef ULP_LOAD_EDIT_FILE_H
#define ULP_LOAD_EDIT_FILE_H

#include "graph/graph.h"

#define ULP_EDIT_INPUTS_MAX 3

struct ulp_edit {
    /* becomes this operator of ai.onnx, of values of the main graph; its outputs stay. NULL: the
     * edit is of a constant */
    const struct ulp_node *node;
    const char *op;
    int inputs[ULP_EDIT_INPUTS_MAX];
    size_t input_count;
    bool has_axis, has_epsilon;
    int64_t axis;
    float epsilon;
    const char *approximate; /* of a Gelu; NULL: it has none */
    /* a constant of the main graph, and its elements from now on, in the type that it has */
    int value;
    const struct ulp_tensor *tensor;
};

/* Write the copy, without nodes and initializers that nothing reads any more; external data goes to
 * path.data. Errors as of ulp_mixed_write_file; ULP_ERROR_USAGE: path is the model. */
enum ulp_status ulp_edit_file(const struct ulp_model *model, const struct ulp_edit *edits,
                              size_t count, const char *path, struct ulp_error *error);

#endif
