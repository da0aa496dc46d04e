/* Writing a model again with other float types: the file that it was loaded from, with each node in
 * a type of its own and Casts where types meet. Everything else of the file stays: names, comments,
 * metadata and fields that this program does not know. */
#pragma once

#include "graph/graph.h"

/* What becomes of a node. Those that are not listed keep the types they have, and so do the values
 * they read. */
struct ulp_mixed_node {
    const struct ulp_node *node;
    const struct ulp_call_path *call; /* of a node in a function; else NULL */
    /* what floats of 16 bits and more become in it; UNDEFINED: they stay as declared */
    enum ulp_type type;
    uint64_t fixed; /* bit i: input i keeps its declared type all the same */
    bool hands_on;  /* its output has elements of its first input, as they are */
    bool squares;   /* a Pow of exponent 2, which becomes a Mul: the same numbers */
    /* the declared type of each output; UNDEFINED: not known */
    const enum ulp_type *outputs;
    /* of an If that is not computed, because this branch has taken its place; else NULL */
    const char *branch;
};

struct ulp_mixed_request {
    const struct ulp_model *model;
    const struct ulp_mixed_node *nodes; /* in the order of ulp_mixed_sort */
    size_t node_count;
    enum ulp_type low;            /* the type whose constants are lowered by the rule */
    enum ulp_constants constants; /* of other types: ULP_CONSTANTS_SATURATED */
    /* no Cast stands between a Transpose and what reads it: the Transpose is written once for each
     * type, behind the Cast */
    bool casts_first;
    enum ulp_type io; /* that float inputs and outputs of the graph get; UNDEFINED: their own */
    const char *path; /* of the new file; external data goes to path.data */
};

struct ulp_mixed_written {
    size_t casts;      /* nodes that were inserted */
    size_t converted;  /* constants in another type than in the file */
    size_t duplicated; /* of these: beside the constant as it was, or in a further type */
    bool external;     /* there is a file path.data */
};

void ulp_mixed_sort(struct ulp_mixed_node *nodes, size_t count);

/* Write the model. Constants are lowered by the rule and rounded once, to nearest even, from the
 * values in the file. A value has one Cast for each type that it is read in, behind the node that
 * computes it; a Cast of the model reads what there is before any other Cast. What only hands a
 * value on does so in front of the Cast that narrows it: of a Cast, a Transpose and a MatMul ONNX
 * Runtime 1.32 dies on a CPU. For CUDA it refuses a Transpose, a Cast and a MatMul (casts_first):
 * its MatmulTransposeFusion makes a Cast that has no version, for which no kernel is found.
 * Functions are written once for each way in which their nodes have types. ULP_ERROR_INPUT: the
 * file is not the one that the model was loaded from any more. */
enum ulp_status ulp_mixed_write_file(const struct ulp_mixed_request *request,
                                     struct ulp_mixed_written *out, struct ulp_error *error);
