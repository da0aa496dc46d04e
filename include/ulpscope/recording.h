/* Recordings: what a framework wrote to files while it ran a model: its outputs, inner tensors,
 * perhaps its inputs, by the graph's names. */
#ifndef ULPSCOPE_RECORDING_H
#define ULPSCOPE_RECORDING_H

#include <ulpscope/model.h>

/* One run of one framework. */
struct ulp_recording {
    char *name;       /* the path; of a file with several runners PATH:RUNNER */
    size_t iteration; /* 0 is the first; files without iterations have one */
    struct ulp_tensor_set tensors;
};
struct ulp_recording_list {
    size_t count;
    struct ulp_recording *items;
};
ULP_API void ulp_recording_list_free(struct ulp_recording_list *list);

/* Read `path` and add what it holds to *list (zero-initialise before the first):
 *   X.npz      arrays by name
 *   X.json     Polygraphy's: --save-outputs (each runner and iteration is a recording), or
 *              --save-inputs (each iteration is one). Pickled torch tensors are refused
 *   X.npy      one array, named X without its folder
 *   a folder   an ONNX test_data_set_N (input_i.pb and output_i.pb, named by the model's inputs and
 *              outputs); or .npy files, each named by its path in the folder without ".npy"
 * Names are not looked up in the graph. model may be NULL: a .pb file's tensor then keeps its own
 * name, or is called input_i or output_i. budget may be NULL. Errors: ULP_ERROR_INPUT with file and
 * member. */
ULP_API enum ulp_status ulp_recording_read(const char *path, const struct ulp_model *model,
                                           struct ulp_budget *budget,
                                           struct ulp_recording_list *list,
                                           struct ulp_error *error);
/* Write tensors as Polygraphy writes the outputs of one iteration of `runner`, for its
 * --load-outputs. Elements as ulp_tensor_set_write_npz writes them. */
ULP_API enum ulp_status ulp_recording_write_json(const char *path, const char *runner,
                                                 const struct ulp_tensor_set *tensors,
                                                 struct ulp_error *error);

/* One side of an ONNX test_data_set_N: the files PREFIX_0.pb, PREFIX_1.pb, ... of a folder (prefix
 * "input" or "output"), in order. A tensor whose own name is no input (or output) of the model gets
 * the name of the model's input of the same number. model NULL: it keeps its own name, or without
 * one is called PREFIX_i. */
ULP_API enum ulp_status ulp_test_data_set_read(const char *folder, const char *prefix,
                                               const struct ulp_model *model,
                                               struct ulp_budget *budget,
                                               struct ulp_tensor_set *out, struct ulp_error *error);

#endif
