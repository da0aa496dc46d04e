/* A model with float types of its own for each node: what an arithmetic with kept nodes
 * (ulp_program_keep) is as an ONNX file, for runtimes that take types from the graph (TensorRT 11).
 */
#ifndef ULPSCOPE_MIXED_H
#define ULPSCOPE_MIXED_H

#include <ulpscope/run.h>

struct ulp_mixed_options {
    size_t size;                      /* ULP_OPTIONS */
    struct ulp_arithmetic arithmetic; /* of the nodes that are not kept */
    struct ulp_keeps keeps;
    /* the graph's float inputs and outputs get the type of `arithmetic`, too; else they keep
     * theirs, and Casts stand at the graph's ends */
    bool lower_io;
    int thread_count;
    const struct ulp_observer *progress; /* of each run; may be NULL */
    const char *name;                    /* of the file in the folder; NULL: mixed.onnx */
};

/* Why a node is FLOAT although it is not kept. */
enum ulp_widened {
    ULP_WIDENED_NOT,
    ULP_WIDENED_OPERATOR, /* ONNX has no such operator in the type, in this opset */
    ULP_WIDENED_LENGTH,   /* it computes a length, which plans compute in FP32 */
    ULP_WIDENED_NORM,     /* a BatchNormalization that the arithmetic folds, with parameters that
                           * the type does not hold */
    ULP_WIDENED_INPUT, /* it reads an initializer that is an input of the graph, too, and so keeps
                        * its type: a Cast rounds what the arithmetic lowers otherwise */
    ULP_WIDENED_COUNT
};
/* "operator", "length", "parameters", "input"; NULL: NOT. */
ULP_API const char *ulp_widened_name(enum ulp_widened why);

struct ulp_mixed_widened {
    size_t index; /* as in ulp_program_node_name */
    char *name, *op;
    enum ulp_widened why;
};

/* Strings and arrays belong to the result. */
struct ulp_mixed {
    char *path; /* [apart] */
    char *low_type;
    char *reason; /* why no file was written, and path is NULL; NULL: it was */
    size_t low_count, float_count, other_count; /* nodes in low_type, in FLOAT, in a third type */
    size_t cast_count;                          /* inserted */
    size_t constant_count, duplicate_count; /* converted constants; those that stand in two types */
    size_t widened_count;
    struct ulp_mixed_widened *widened; /* by index */
    size_t sample_count;               /* that the file was run with */
    char *checked;                     /* at which sizes it was; NULL: there is none */
    bool external;                     /* weights are in the file path.data */
    void *memory;                      /* private: holds the rest */
};

/* Write folder/mixed.onnx: the model with each node in the type that its arithmetic stores in
 * (FLOAT, FLOAT16, BFLOAT16), constants converted with one rounding to nearest even, and a Cast
 * where types meet; see doc/plan.md. External data stays external, in mixed.onnx.data. The file
 * is written only when the arithmetic `model` gives on it, for each sample, the bits that the
 * nodes' types give on the model (fp32, fp16 and bf16 as they are, without the parts of the
 * arithmetics' names): otherwise ULP_ERROR_UNSUPPORTED, with the first difference. Files that are
 * there are replaced whole.
 *
 * An arithmetic that stores in none of these types, or in FLOAT everywhere (TF32), has no such
 * file: ULP_OK, with the reason, and an earlier one is removed. Samples may have any shapes that
 * leave the same nodes to compute. Free *out with ulp_mixed_free. */
ULP_API enum ulp_status ulp_mixed_write(const struct ulp_model *model,
                                        const struct ulp_mixed_options *options,
                                        const struct ulp_sample *samples, size_t sample_count,
                                        const char *folder, struct ulp_mixed *out,
                                        struct ulp_error *error);
ULP_API void ulp_mixed_free(struct ulp_mixed *mixed);
/* The result as text that ends with what it is good for; free *out with free(). */
ULP_API enum ulp_status ulp_mixed_text(const struct ulp_mixed *mixed, char **out,
                                       struct ulp_error *error);

#endif
