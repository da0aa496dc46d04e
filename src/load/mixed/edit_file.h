/* A copy of a model's file with some nodes replaced by others, and constants by other numbers: of
 * the main graph and of bodies, not of functions. */
#pragma once

#include "graph/graph.h"

#define ULP_EDIT_INPUTS_MAX 12    /* a DynamicQuantizeLSTM has them */
#define ULP_EDIT_ATTRIBUTES_MAX 8 /* a Conv has 6 */

/* What a new node reads. */
struct ulp_edit_input {
    enum { ULP_EDIT_VALUE, ULP_EDIT_PART, ULP_EDIT_TENSOR } kind;
    int number; /* of a value of the graph (-1: omitted), or of an earlier part of the edit */
    const struct ulp_tensor *tensor; /* a new constant, of its type */
};
/* A new node, of ai.onnx. */
struct ulp_edit_part {
    const char *op; /* NULL, of the last part: the node's own, with its attributes */
    struct ulp_edit_input inputs[ULP_EDIT_INPUTS_MAX];
    size_t input_count;
    struct ulp_attribute
        attributes[ULP_EDIT_ATTRIBUTES_MAX]; /* numbers, texts, lists of integers */
    size_t attribute_count;
};
struct ulp_edit {
    const struct ulp_graph *graph; /* where it is made */
    /* these take its place, the last of them under its name and with its outputs. NULL: the edit is
     * of a constant */
    const struct ulp_node *node;
    const struct ulp_edit_part *parts;
    size_t part_count;
    int64_t opset; /* of ai.onnx, that the model has at least from now on; 0: as it is */
    /* a constant of the graph, and its elements from now on, in the type that it has */
    int value;
    const struct ulp_tensor *tensor;
};

/* Write the copy, without nodes and initializers that nothing reads any more; external data goes to
 * path.data. Errors as of ulp_mixed_write_file; ULP_ERROR_USAGE: path is the model. */
enum ulp_status ulp_edit_file(const struct ulp_model *model, const struct ulp_edit *edits,
                              size_t count, const char *path, struct ulp_error *error);
/* The same as a model in memory, which reads the weights of the given one's file of external data.
 * written: it is to be written with other types, and keeps its bytes. */
enum ulp_status ulp_edit_load(const struct ulp_model *model, const struct ulp_edit *edits,
                              size_t count, bool written, struct ulp_model **out,
                              struct ulp_error *error);
