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

/* Values for symbolic dimensions, by name. */
struct ulp_dim_value {
    const char *name;
    int64_t value;
};

/* Reproducible random inputs for every input of the model: uniform in [low, high] (floats; integers
 * uniform in the integers of that range, booleans fair), shapes from the model with `dims` for
 * symbolic dimensions and 1 for the rest. Same seed, same bits, on every machine. Charged to the
 * model's budget. */
ULP_API enum ulp_status ulp_model_random_inputs(const struct ulp_model *model,
                                                const struct ulp_dim_value *dims, size_t dim_count,
                                                double low, double high, uint64_t seed,
                                                struct ulp_tensor_set *out,
                                                struct ulp_error *error);

#endif
