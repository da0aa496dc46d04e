/* Loading an ONNX model (IR 3 to 14, external data included), and asking what it contains. A loaded
 * model is const: it may be shared between threads and compiled any number of times. Names and
 * paths returned here belong to the model. */
#ifndef ULPSCOPE_MODEL_H
#define ULPSCOPE_MODEL_H

#include <ulpscope/tensor.h>

struct ulp_model;

/* Read the model at path. A malformed file ends in ULP_ERROR_INPUT, with the place named, or in
 * ULP_ERROR_UNSUPPORTED; files need not be trusted. External data is mapped read-only and must lie
 * inside the model's folder; where another process cuts such a file short meanwhile, reading what
 * is gone raises SIGBUS, which the caller takes if it must go on (the program ends with a line and
 * exit code 3). The model and everything that is made from it (programs, runs, audits) is charged
 * to budget, which must outlive them; NULL: no budget. Free with ulp_model_free. */
ULP_API enum ulp_status ulp_model_load(const char *path, struct ulp_budget *budget,
                                       struct ulp_model **out, struct ulp_error *error);
/* The same from the bytes of the file. path: for messages, and its folder is where external data
 * lies; it need not exist. The bytes are not needed afterwards. */
ULP_API enum ulp_status ulp_model_load_bytes(const char *path, const void *bytes, size_t count,
                                             struct ulp_budget *budget, struct ulp_model **out,
                                             struct ulp_error *error);
ULP_API void ulp_model_free(struct ulp_model *model);

ULP_API const char *ulp_model_path(const struct ulp_model *model);
/* What a command line says of the inputs, behind the model: " -i a.npz --dim n=3"; whether NaN and
 * infinities in them are meant. Commands that results propose have it, so that they can be copied.
 * Default: nothing. */
ULP_API enum ulp_status ulp_model_set_arguments(struct ulp_model *model, const char *arguments,
                                                bool nonfinite_inputs_meant,
                                                struct ulp_error *error);
/* Whether the file at path, links followed, is the model file or holds its external data, so that
 * nothing should be written to it. */
ULP_API bool ulp_model_is_read_from(const struct ulp_model *model, const char *path);
/* The budget that the model was loaded with; NULL: none. */
ULP_API struct ulp_budget *ulp_model_budget(const struct ulp_model *model);
ULP_API int64_t ulp_model_ir_version(const struct ulp_model *model);
/* Version of the operator set that the model imports for a domain ("" is ai.onnx); 0: none. */
ULP_API int64_t ulp_model_opset(const struct ulp_model *model, const char *domain);
/* The nodes of the main graph, index 0 to count - 1. */
ULP_API size_t ulp_model_node_count(const struct ulp_model *model);
ULP_API const char *ulp_model_node_name(const struct ulp_model *model, size_t index);
ULP_API const char *ulp_model_node_op(const struct ulp_model *model, size_t index);

/* Whether any node has this operator, in the graph or in the bodies of its If, Loop and Scan. */
ULP_API bool ulp_model_has_operator(const struct ulp_model *model, const char *op);

/* A graph input that the caller must provide, or a graph output. */
struct ulp_value_info {
    const char *name;
    enum ulp_type type;
    int rank;                            /* -1: not declared */
    int64_t dims[ULP_RANK_MAX];          /* -1: symbolic or unknown */
    const char *dim_names[ULP_RANK_MAX]; /* of a symbolic dimension; NULL when it has none */
};
ULP_API size_t ulp_model_input_count(const struct ulp_model *model);
ULP_API struct ulp_value_info ulp_model_input(const struct ulp_model *model, size_t index);
ULP_API size_t ulp_model_output_count(const struct ulp_model *model);
ULP_API struct ulp_value_info ulp_model_output(const struct ulp_model *model, size_t index);

/* Check that every array is an input of the model and has a type (of a float input: any float type)
 * and a shape that it allows. ULP_ERROR_INPUT names the first that does not. */
ULP_API enum ulp_status ulp_model_check_inputs(const struct ulp_model *model,
                                               const struct ulp_tensor_set *inputs,
                                               struct ulp_error *error);
/* Take arrays as people have them, in place. Where their names are numbers alone (arr_0, arr_1,
 * ..., from 0 or 1 on), they are the model's inputs in that order. Arrays that are no inputs are
 * left out where they are constants of the model. Numbers of another type than the model declares
 * become that type, which must hold each exactly: an INT64 for FLOAT, a whole number for INT32, 0
 * and 1 for BOOL; floats for floats stay as they are, to be rounded. What was done is said in
 * *notes (may be NULL), a line for each, NULL: nothing; free it with free(). Charged to the model's
 * budget. ULP_ERROR_INPUT: a shape or an element that does not fit. ulp_model_check_inputs still
 * says whether all are there. */
ULP_API enum ulp_status ulp_model_take_inputs(const struct ulp_model *model,
                                              struct ulp_tensor_set *arrays, char **notes,
                                              struct ulp_error *error);
/* The same of recorded arrays of which none has the name of a value: as many as there are outputs,
 * their names numbers alone, are the outputs in that order. Types and shapes stay. */
ULP_API enum ulp_status ulp_model_take_outputs(const struct ulp_model *model,
                                               struct ulp_tensor_set *arrays, char **notes,
                                               struct ulp_error *error);
/* Give an input another shape than the model declares, of the same rank when a rank is declared.
 * Compiling refuses a shape that the graph does not allow. Call it while no program of the model
 * exists. ULP_ERROR_USAGE: there is no such input. */
ULP_API enum ulp_status ulp_model_set_shape(struct ulp_model *model, const char *input, int rank,
                                            const int64_t *dims, struct ulp_error *error);

/* The size of a symbolic dimension, by name. */
struct ulp_dim_value {
    const char *name;
    int64_t value;
};
/* The range of an input's random values; name NULL: of every input that has no range of its own. */
struct ulp_input_range {
    const char *name;
    double low, high;
};
/* Initialise with zeros and set the wanted ones. */
struct ulp_random_options {
    size_t size; /* ULP_OPTIONS */
    uint64_t seed;
    const struct ulp_dim_value *dims; /* open dimensions, by symbol or as "x[2]" */
    size_t dim_count;
    const struct ulp_input_range *ranges; /* of two for one input the later applies */
    size_t range_count;
};
/* The range of an input's random values: the one given for its name; the one given for all; for
 * integers that are indexes, the size of what they index (a Gather's axis, a OneHot's depth); for
 * lengths that positions are compared with, the largest size; else 0 to 1. why: for indexes and
 * lengths the reason, as "Gather emb picks one of 30522"; else empty. */
struct ulp_chosen_range {
    double low, high;
    char why[200];
};
ULP_API struct ulp_chosen_range ulp_model_input_range(const struct ulp_model *model, size_t index,
                                                      const struct ulp_random_options *options);

/* Make a random tensor for every input of the model: floats uniform in the input's range, integers
 * uniform in the integers of that range, booleans true with probability 1/2. Shapes are the
 * model's, with `dims` for open dimensions. Of other open ones the first of an input, the batch, is
 * 1, and the others have sizes that the model takes, found by running it in FP64 at some hundred at
 * most (64 first, then others and those of its weights); where it takes none of these, 1. options NULL: all defaults. The same seed gives
 * the same bits on every machine. Charged to the model's budget. Free *out with
 * ulp_tensor_set_free. */
ULP_API enum ulp_status ulp_model_random_inputs(const struct ulp_model *model,
                                                const struct ulp_random_options *options,
                                                struct ulp_tensor_set *out,
                                                struct ulp_error *error);

#endif
