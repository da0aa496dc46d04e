/* Recordings: tensors that a framework wrote to files while it ran a model, under the graph's
 * names: outputs, inner tensors, perhaps inputs. */
#ifndef ULPSCOPE_RECORDING_H
#define ULPSCOPE_RECORDING_H

#include <ulpscope/model.h>

/* One run of one framework. */
struct ulp_recording {
    char *name;       /* the path; PATH:RUNNER in a file with several runners */
    size_t iteration; /* from 0; a file without iterations has one */
    struct ulp_tensor_set tensors;
};
struct ulp_recording_list {
    size_t count;
    struct ulp_recording *items;
};
ULP_API void ulp_recording_list_free(struct ulp_recording_list *list);

/* Read `path` and append its recordings to *list (zeros before the first call):
 *   X.npz      arrays by name
 *   X.json     Polygraphy's: --save-outputs (each runner and iteration is a recording), or
 *              --save-inputs (each iteration is one). Pickled torch tensors are refused
 *   X.npy      one array, named X without its folder
 *   a folder   an ONNX test_data_set_N (input_i.pb and output_i.pb, named by the model's inputs and
 *              outputs); what Polygraphy streams into (0000000000.json, ..., one for each
 *              iteration); or .npy files, each named by its path in the folder without ".npy"
 * Names are not looked up in the graph. model may be NULL: a .pb file's tensor then keeps its own
 * name, or is called input_i or output_i. Charged to budget, which may be NULL. Fails with
 * ULP_ERROR_INPUT, naming file and member. Free with ulp_recording_list_free. */
ULP_API enum ulp_status ulp_recording_read(const char *path, const struct ulp_model *model,
                                           struct ulp_budget *budget,
                                           struct ulp_recording_list *list,
                                           struct ulp_error *error);
/* Write tensors as Polygraphy writes the outputs of one iteration of `runner`, so that its
 * --load-outputs can read them. Element types are those of ulp_tensor_set_write_npz. */
ULP_API enum ulp_status ulp_recording_write_json(const char *path, const char *runner,
                                                 const struct ulp_tensor_set *tensors,
                                                 struct ulp_error *error);
/* The same, iteration by iteration: open, add each, and close, which frees the writer (NULL is
 * fine). keep false: there is no file then; else it is complete or unchanged. */
struct ulp_recording_writer;
ULP_API enum ulp_status ulp_recording_writer_open(const char *path, const char *runner,
                                                  struct ulp_recording_writer **out,
                                                  struct ulp_error *error);
ULP_API enum ulp_status ulp_recording_writer_add(struct ulp_recording_writer *writer,
                                                 const struct ulp_tensor_set *tensors,
                                                 struct ulp_error *error);
ULP_API enum ulp_status ulp_recording_writer_close(struct ulp_recording_writer *writer, bool keep,
                                                   struct ulp_error *error);

/* Read one side of an ONNX test_data_set_N: the files PREFIX_0.pb, PREFIX_1.pb, ... of a folder, in
 * order; prefix is "input" or "output". A tensor whose own name is no input (or output) of the
 * model gets the name of the model's input (or output) of the same number. With model NULL it keeps
 * its own name, and without one it is called PREFIX_i. Charged to budget (may be NULL). */
ULP_API enum ulp_status ulp_test_data_set_read(const char *folder, const char *prefix,
                                               const struct ulp_model *model,
                                               struct ulp_budget *budget,
                                               struct ulp_tensor_set *out, struct ulp_error *error);

#endif
