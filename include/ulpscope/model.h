/* Loading an ONNX model (IR 3 to 13, external data included) into memory, and looking at it.
 * A loaded model is const: it may be shared between threads and planned any number of times. */
#ifndef ULPSCOPE_MODEL_H
#define ULPSCOPE_MODEL_H

#include <ulpscope/tensor.h>

struct ulp_model;

/* Read the model at path. Hostile files end in ULP_ERROR_INPUT (malformed; the place is named) or
 * ULP_ERROR_UNSUPPORTED. External data is mapped read-only and must lie inside the model's folder.
 * The model, and what is made from it, is charged to budget (NULL: to none), which must outlive all
 * of that. Free with ulp_model_free. */
ULP_API enum ulp_status ulp_model_load(const char *path, struct ulp_budget *budget,
                                       struct ulp_model **out, struct ulp_error *error);
ULP_API void ulp_model_free(struct ulp_model *model);

ULP_API const char *ulp_model_path(const struct ulp_model *model);
/* Whether the file at path, links followed, is the model's own or one of its external data: what
 * nobody wants to write to. */
ULP_API bool ulp_model_is_read_from(const struct ulp_model *model, const char *path);
/* The budget that it was loaded with, for what outlives the model; NULL: none. */
ULP_API struct ulp_budget *ulp_model_budget(const struct ulp_model *model);
ULP_API int64_t ulp_model_ir_version(const struct ulp_model *model);
/* Version of the operator set imported for a domain ("" is ai.onnx); 0 when not imported. */
ULP_API int64_t ulp_model_opset(const struct ulp_model *model, const char *domain);
ULP_API size_t ulp_model_node_count(const struct ulp_model *model);
ULP_API const char *ulp_model_node_name(const struct ulp_model *model, size_t index);
ULP_API const char *ulp_model_node_op(const struct ulp_model *model, size_t index);

/* Whether some node is of this operator, some value of this type: in the graph or in the bodies of
 * its If, Loop and Scan. */
ULP_API bool ulp_model_has_operator(const struct ulp_model *model, const char *op);
ULP_API bool ulp_model_has_type(const struct ulp_model *model, enum ulp_type type);
/* The type a value of the graph is declared with; ULP_TYPE_UNDEFINED: with none, or there is no
 * such value. */
ULP_API enum ulp_type ulp_model_value_type(const struct ulp_model *model, const char *name);

/* A graph input that the caller must give, or a graph output. */
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

/* Whether the arrays are all inputs of the model, and of the types (floats: any float type) and
 * shapes that it declares. ULP_ERROR_INPUT: the first that is not. */
ULP_API enum ulp_status ulp_model_check_inputs(const struct ulp_model *model,
                                               const struct ulp_tensor_set *inputs,
                                               struct ulp_error *error);
/* Give an input another shape than the model declares, of the same rank where that is declared:
 * planning says whether the graph allows it. Not while a plan of the model lives. ULP_ERROR_USAGE:
 * there is no such input. */
ULP_API enum ulp_status ulp_model_set_shape(struct ulp_model *model, const char *input, int rank,
                                            const int64_t *dims, struct ulp_error *error);

/* Values for symbolic dimensions, by name. */
struct ulp_dim_value {
    const char *name;
    int64_t value;
};
/* Of one input's random values; name NULL: of every input that has none of its own. */
struct ulp_input_range {
    const char *name;
    double low, high;
};
struct ulp_random_options {
    uint64_t seed;
    const struct ulp_dim_value *dims; /* for symbolic dimensions; others take 1 */
    size_t dim_count;
    const struct ulp_input_range *ranges; /* of two for one input the later counts */
    size_t range_count;
};
/* The range that random values of an input are taken from: that of its name; that of all; of
 * integers what reads them (a Gather's axis, a OneHot's depth); else 0 to 1. why: in the last case
 * but one what reads them, "Gather emb picks one of 30522"; else empty. */
struct ulp_chosen_range {
    double low, high;
    char why[200];
};
ULP_API struct ulp_chosen_range ulp_model_input_range(const struct ulp_model *model, size_t index,
                                                      const struct ulp_random_options *options);

/* Reproducible random inputs for every input of the model: uniform in its range (integers uniform
 * in the integers of it, booleans fair), shapes from the model. options NULL: all defaults. Same
 * seed, same bits, on every machine. Charged to the model's budget. */
ULP_API enum ulp_status ulp_model_random_inputs(const struct ulp_model *model,
                                                const struct ulp_random_options *options,
                                                struct ulp_tensor_set *out,
                                                struct ulp_error *error);

#endif
