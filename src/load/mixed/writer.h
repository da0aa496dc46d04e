/* The inside of the writer of models with other types. */
#pragma once

#include "load/mixed/editor.h"
#include "load/mixed/mixed.h"

/* A place in the file where a value is named, and the type that is wanted there. */
struct mixed_use {
    struct mixed_use *next;
    ProtobufCBinaryData *where;
    enum ulp_type type;
    bool renames; /* the place names another value so far */
};

enum mixed_kind {
    MIXED_GIVEN,    /* an input of the graph, body or function */
    MIXED_TENSOR,   /* an initializer */
    MIXED_CONSTANT, /* of a Constant node, or a ConstantOfShape that is one */
    MIXED_COMPUTED
};

struct mixed_value {
    const char *name;
    enum mixed_kind kind;
    /* floats of 16 bits and more: as in the model, and as it is held now; others UNDEFINED */
    enum ulp_type declared, held;
    enum ulp_type output; /* of an output of the model: its type there; else UNDEFINED */
    bool declares;        /* its further names have been declared */
    /* the elements of a constant; NULL: it is only converted by Casts */
    const struct ulp_tensor *tensor;
    Ulp__TensorProto *proto;   /* of an initializer */
    Ulp__NodeProto *producer;  /* of what a node gives */
    ProtobufCBinaryData *slot; /* where producer names it */
    int position;              /* of producer in the file; -1: before all nodes */
    struct mixed_use *uses;
    struct mixed_value *origin; /* a narrower value that a Cast has only widened; NULL: none */
    /* the same before a Cast narrows it, which its producer only hands on; NULL: none */
    struct mixed_value *wide;
    /* what the Transpose that gives it and moves the first dimension reads; NULL: none does */
    struct mixed_use *transposed;
    const char *names[ULP_TYPE_COUNT]; /* in each type it is needed in, once settled */
};

/* A graph of the file, or the body of a function. */
struct mixed_scope {
    struct mixed *mixed;
    struct editor *editor;
    struct mixed_scope *parent; /* whose values it may capture */
    struct edit_graph *graph;
    const struct ulp_graph *source; /* the graph's */
    const struct ulp_call_path *call;
    int64_t opset;              /* of ai.onnx */
    struct mixed_value *values; /* by number in source */
};

/* A function as some calls need it. */
struct mixed_variant {
    const struct ulp_function *function;
    Ulp__FunctionProto *proto;
    ProtobufCBinaryData packed; /* with the function's own name */
    const char *name;
};

struct mixed {
    struct editor editor; /* first: it is what the change is given */
    const struct ulp_mixed_request *request;
    struct ulp_mixed_written *written;
    struct mixed_variant *variants;
    size_t variant_count, variant_capacity;
};

/* Floats that a node may have in another type. */
static inline bool mixed_is_float(enum ulp_type type)
{
    return type == ULP_TYPE_FLOAT || type == ULP_TYPE_DOUBLE || type == ULP_TYPE_FLOAT16 ||
           type == ULP_TYPE_BFLOAT16;
}

/* scope.c */
enum ulp_status mixed_open_scope(struct mixed_scope *scope);
/* What the node gives, by its types in the model and now. */
void mixed_set_output(struct mixed_scope *scope, const struct ulp_node *node, Ulp__NodeProto *proto,
                      size_t o, enum ulp_type declared, enum ulp_type held);
struct mixed_value *mixed_find(struct mixed_scope *scope, int number);
/* `where` names another value of the scope, and reads this one instead, in that type. */
enum ulp_status mixed_read_other(struct mixed_scope *scope, struct mixed_value *value,
                                 ProtobufCBinaryData *where, enum ulp_type type);
/* `where` names the value and wants it in that type; UNDEFINED: as declared. */
enum ulp_status mixed_read(struct mixed_scope *scope, int number, ProtobufCBinaryData *where,
                           enum ulp_type type);

/* node.c, body.c: types of all nodes of the scope, their bodies and the functions they call. */
enum ulp_status mixed_visit(struct mixed_scope *scope);
enum ulp_status mixed_visit_bodies(struct mixed_scope *scope, const struct ulp_node *node,
                                   Ulp__NodeProto *proto, const struct ulp_mixed_node *entry);
enum ulp_status mixed_visit_call(struct mixed_scope *scope, const struct ulp_node *node,
                                 Ulp__NodeProto *proto, const struct ulp_function *function);
/* A Constant, or a ConstantOfShape that is one, as a value. */
enum ulp_status mixed_visit_constant(struct mixed_scope *scope, const struct ulp_node *node,
                                     Ulp__NodeProto *proto);

/* settle.c: after all readers of the scope's values are known: Casts, constants in their types,
 * and the names that the readers use. */
enum ulp_status mixed_settle(struct mixed_scope *scope);
