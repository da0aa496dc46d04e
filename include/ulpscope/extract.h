/* A part of a model as a model of its own, with inputs and exact outputs: what a bug report needs.
 * The inputs are what the part reads in an exact run of the whole model, rounded once to their
 * types; the outputs are those of an exact run of the part on them. */
#ifndef ULPSCOPE_EXTRACT_H
#define ULPSCOPE_EXTRACT_H

#include <ulpscope/run.h>

struct ulp_extract_options {
    size_t size; /* ULP_OPTIONS */
    /* NODE, or FIRST,LAST: both and all nodes on a way from the one to the other. A node in a body
     * or function stands for the node of the main graph that has it */
    const char *part;
    struct ulp_arithmetic reference; /* computes "exactly": pair */
    int thread_count;
    const struct ulp_observer *progress; /* of both runs; may be NULL */
};

struct ulp_extracted {
    size_t node_count, input_count, output_count, constant_count;
};

/* Write into folder, which is made:
 *   model.onnx       the nodes with the constants they read; integers that follow from shapes are
 *                    constants, too
 *   test_data_set_0  input_i.pb and output_i.pb, in the types of the model
 *   inputs.npz       the inputs
 *   outputs.npz      the outputs in FP64, not rounded to the types of the model
 *   outputs.json     as Polygraphy's --load-outputs reads them, in the types of the model
 *   load_data.py     the inputs for Polygraphy's --data-loader-script
 * ULP_ERROR_USAGE: no node is called so, or nothing lies between the two. ULP_ERROR_UNSUPPORTED: a
 * node is inside the branch of an If that planning has decided, or a value is no tensor of whole
 * bytes. */
ULP_API enum ulp_status ulp_extract(const struct ulp_model *model,
                                    const struct ulp_extract_options *options,
                                    const struct ulp_tensor_set *inputs, const char *folder,
                                    struct ulp_extracted *out, struct ulp_error *error);

#endif
