/* A copy of a model's file in which factors of products are quantised to formats with scales in
 * front of their nodes, by ONNX's own operators. */
#pragma once

#include "base/machine/thread.h"
#include "graph/graph.h"
#include "number/format/scaling.h"

/* Names of all nodes that are put in begin so. */
#define ULP_QUANTISED_PREFIX "quantise/"

struct ulp_quantised {
    const struct ulp_node *node; /* of the main graph */
    size_t input;
    bool result; /* the node's first output instead, for all that read it */
    const struct ulp_scaling *scaling;
    enum ulp_type type; /* that the value has: FLOAT, FLOAT16, BFLOAT16 */
    /* by a node; else an input of the model, which a node of its own stores first, as the plan's
     * format does */
    bool computed;
    /* the constant is an input's default: integers have its scales, and quantise what is given */
    bool overridable;
    int rank, axis; /* the axis that is summed, and its length */
    size_t k;
    /* the largest magnitude of a value, where scales of tensors are constants; of integers the
     * least and the largest value, 0 among them */
    float largest, least;
    /* of integers: the axis of a constant whose places have scales of their own; the node's bias
     * where this factor is its weights, and its input; NULL: none */
    int channel;
    bool as_unsigned; /* signed codes are written as unsigned ones, zero at the middle */
    const struct ulp_tensor *bias;
    size_t bias_input;
    /* of a constant: the values as the plan stores them, which are rounded here once; NULL: scales
     * are computed whenever the model runs */
    const struct ulp_tensor *constant;
};

struct ulp_quantise_written {
    size_t constants, values; /* that are quantised: each value once for its format and axis */
    int64_t opset;            /* of the new file */
};

/* NULL; or why factors in the format have no form in a file: static storage. */
const char *ulp_quantise_refuses(const struct ulp_scaling *scaling, bool tensorrt);
/* The first opset that has the operators and types. */
int64_t ulp_quantise_opset(const struct ulp_scaling *scaling, bool tensorrt);
/* tensorrt: by operators of TensorRT's. Write the copy; of the opset `opset` where the model has an
 * older one, which all its nodes must mean the same in (ULP_ERROR_UNSUPPORTED, with the first that
 * does not). Other errors as of ulp_mixed_write_file. */
enum ulp_status ulp_quantise_file(const struct ulp_model *model, const struct ulp_quantised *items,
                                  size_t count, bool tensorrt, int64_t opset, const char *path,
                                  struct ulp_pool *pool, struct ulp_quantise_written *out,
                                  struct ulp_error *error);
