/* A part of a model's main graph as a model of its own, and tensors as files of ONNX's. */
#pragma once

#include "graph/graph.h"

/* A value by name. Of inputs and outputs the type and shape count, of constants the elements too.
 */
struct ulp_extract_value {
    const char *name;
    const struct ulp_tensor *tensor;
};

struct ulp_extract_request {
    const struct ulp_model *model;
    const bool *nodes; /* by index in the main graph: is it in the part? */
    const struct ulp_extract_value *inputs, *outputs, *constants;
    size_t input_count, output_count, constant_count;
    const char *path; /* of the new file; external data goes to path.data */
};

/* Which values of the main graph the nodes read, what their bodies capture included: used[], by
 * number. */
void ulp_extract_used(const struct ulp_graph *graph, const bool *nodes, bool *used);

/* Nodes, functions and what the part uses of the initializers are as in the file. Errors as of
 * ulp_mixed_write_file. */
enum ulp_status ulp_extract_file(const struct ulp_extract_request *request,
                                 struct ulp_error *error);

/* The tensor as the .pb files of a test_data_set folder have them. ULP_ERROR_UNSUPPORTED: its
 * elements are smaller than a byte. */
enum ulp_status ulp_tensor_write_pb(const struct ulp_tensor *tensor, const char *name,
                                    struct ulp_budget *budget, const char *path,
                                    struct ulp_error *error);
